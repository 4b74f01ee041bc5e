use singlet_model::expression::Expr;
use singlet_model::model::Selection;
use singlet_plan::Bounds;
use singlet_plan::read::Why;

use crate::answers::{self, Answer};
use crate::context::Asked;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// No key answers the read.
    ///
    /// A query needs the whole partition key before anything is read. What no path binds can only be found by reading the
    /// whole table, at a price that grows with the table; so it is refused, not done silently.
    ///
    /// ```yaml
    /// Reservation:
    ///   key: {PK: "ITEM#{itemId}", SK: "RESERVATION#{resId}"}
    /// …
    /// reservation:
    ///   get: Reservation
    ///   where: resId == args.resId              # whose item, nobody says
    /// ```
    ///
    /// A part with a small domain (an enum, a bool, `int 0..9`) needs no value: it is asked for value by value, if the meaning or
    /// the order names anything of the key, or names nothing at all. An index that lacks rows of the meaning does not answer it:
    /// those without an optional part of its key, or those of which its `when` is not true. An optional argument binds only while
    /// it is sent: each combination needs a path, or `combinations` lists those that there are.
    ///
    /// Branches of `||` are asked for one by one, 16 at most; `x in ["a", "b"]` is one branch.
    ///
    /// Way out: an index or a mirror whose partition the meaning fixes; or `scan: "why"` where the table is small.
    "R011" "only-a-scan" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for asked in context.asked() {
        if let Some(answer) = context.answers(&asked).iter().find(|answer| is_scan(answer)) {
            report(&asked, answer, findings);
        }
    }
}

/// Whether no path finds the rows. Where one does, but for the order or for a strong read, other rules say so.
fn is_scan(answer: &Answer<'_>) -> bool {
    let by_itself = |why: &Why| matches!(why, Why::Order(_) | Why::Eventual);
    answer.missing().is_some_and(|mut reasons| !reasons.any(by_itself))
}

fn report(asked: &Asked<'_>, answer: &Answer<'_>, findings: &mut Findings<'_>) {
    let most = Bounds::USUAL.alternatives_max;
    if let Some(branches) = branches(asked.selection).filter(|branches| *branches > most) {
        let message = format!(
            "only a scan finds `{}`{}: its meaning has {branches} branches of `||`, and at most {most} are asked for one by one",
            asked.entity.name,
            answers::in_combination(asked, answer),
        );
        let help = "ask for values of one attribute as a list, `x in [\"a\", \"b\"]`, or split the read";
        findings.push(findings.at(asked.selection.span, asked.name, message).help(help));
        return;
    }
    let message = format!(
        "only a scan finds `{}`{}: {}",
        asked.entity.name,
        answers::in_combination(asked, answer),
        answers::reasons(asked, &answer.plan),
    );
    let help = "add an index or a mirror whose partition the meaning fixes, or say `scan: \"why\"`";
    findings.push(findings.at(asked.selection.span, asked.name, message).help(help));
}

/// How many branches the meaning of a selection has; none where that is no number any more.
fn branches(selection: &Selection) -> Option<usize> {
    let conjuncts = selection.filter.iter().flat_map(Expr::conjuncts);
    let mut counts = conjuncts.map(|conjunct| conjunct.disjuncts().len());
    counts.try_fold(1_usize, usize::checked_mul)
}
