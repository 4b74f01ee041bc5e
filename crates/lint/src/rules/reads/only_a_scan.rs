use singlet_model::expression::Expr;
use singlet_model::model::Selection;
use singlet_plan::Bounds;
use singlet_plan::access::access_paths;
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
    /// Way out: an index or a mirror whose partition the meaning fixes; `due != absent` in `where`, where an index lacks only rows
    /// without `due` and those are not meant; or, on a read, `scan: "why"` where the table is small.
    "R011" "only-a-scan" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for asked in context.asked_rows() {
        if let Some(answer) = context.answers_of(&asked).iter().find(|answer| is_scan(answer)) {
            report(context, &asked, answer, findings);
        }
    }
}

/// Whether no path finds the rows. Where one does, but for the order or for a strong read, other rules say so.
fn is_scan(answer: &Answer<'_>) -> bool {
    let by_itself = |why: &Why| matches!(why, Why::Order(_) | Why::Eventual);
    answer.missing_reasons().is_some_and(|mut reasons| !reasons.any(by_itself))
}

fn report(context: &Context<'_>, asked: &Asked<'_>, answer: &Answer<'_>, findings: &mut Findings<'_>) {
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
        answers::refusal_reasons(asked, &answer.plan),
    );
    let help = way_out(context, asked, answer);
    findings.push(findings.at(asked.selection.span, asked.name, message).help(help));
}

/// What leads on: where the meaning fixes the partition of an index that only lacks rows which may not be meant, that is nearer than
/// another index.
fn way_out(context: &Context<'_>, asked: &Asked<'_>, answer: &Answer<'_>) -> String {
    // Only a read of its own may say `scan`.
    let scan = match asked.own_read().is_some() {
        true => ", or say `scan: \"why\"`",
        false => "",
    };
    let lacking = answer.plan.others.iter().find_map(|lost| match &lost.why {
        Why::Sparse(part) if is_name(part) && names_partition(context, asked, &lost.path) => Some((part, &lost.path)),
        _ => None,
    });
    match lacking {
        Some((part, path)) => format!(
            "if rows without `{part}` are not meant, say `{part} != absent` in `where`, and {path} can answer; else make `{part}` required, or add an index without it{scan}"
        ),
        None => format!("add an index or a mirror whose partition the meaning fixes{scan}"),
    }
}

fn is_name(part: &str) -> bool {
    part.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
}

/// Whether the meaning names all of which the partition key of a path is made.
fn names_partition(context: &Context<'_>, asked: &Asked<'_>, name: &str) -> bool {
    let all = access_paths(context.model, asked.entity);
    let Some(path) = all.iter().find(|path| path.name() == name) else {
        return false;
    };
    let mut parts = path.partition_templates().iter().flat_map(|key| &key.parts);
    parts.all(|part| {
        let mut meaning = asked.selection.filter.iter();
        meaning.any(|filter| filter.mentions_attribute(part.root_attribute()))
    })
}

/// How many branches the meaning of a selection has; none where that is no number any more.
fn branches(selection: &Selection) -> Option<usize> {
    let conjuncts = selection.filter.iter().flat_map(Expr::conjuncts);
    let mut counts = conjuncts.map(|conjunct| conjunct.disjuncts().len());
    counts.try_fold(1_usize, usize::checked_mul)
}
