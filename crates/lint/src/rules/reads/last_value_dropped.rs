use singlet_item::key::{Domain, Form, Part};
use singlet_model::expression::{BinaryOp, FunctionId};
use singlet_model::model::{Comparison, KeyPart, KeyTemplate, UsingKey};
use singlet_plan::alignment::{Alignment, Given, align_templates};
use singlet_plan::by_hand::ByHand;
use singlet_plan::example::example_key;
use singlet_plan::facts::{Facts, Relation};

use crate::{Context, Findings, design_rule};

design_rule! {
    /// A range by hand ends before the keys of its last value.
    ///
    /// Keys sort by their bytes, and a longer key sorts after the text with which it begins. A range up to `DUEDATE#2026-02-13#`
    /// therefore ends before `DUEDATE#2026-02-13#01J…`: every row of the last day is missing, though the meaning includes it.
    /// `<` is right where the meaning says `<`.
    ///
    /// ```yaml
    /// where: user_id == caller.id && due_date >= args.from && due_date <= args.to
    /// using:
    ///   index: GSI2
    ///   key:
    ///     GSI2PK: "USER#{caller.id}"
    ///     GSI2SK: {between: ["DUEDATE#{args.from}#", "DUEDATE#{args.to}#"]}
    /// ```
    ///
    /// Way out: end the range after every key of the last value, `DUEDATE#{args.to}$` (`$` is the byte after `#`); or leave
    /// `using` out.
    "R002" "last-value-dropped" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for by_hand in context.by_hand() {
        let facts = by_hand.meaning_facts();
        for key in &by_hand.using.key {
            for end in ends(&key.comparison) {
                report(by_hand, &facts, key, &end, findings);
            }
        }
    }
}

/// Whether the rule speaks of a condition.
pub(crate) fn speaks_of(by_hand: &ByHand<'_>) -> bool {
    let facts = by_hand.meaning_facts();
    let mut ends = by_hand.using.key.iter().flat_map(|key| ends(&key.comparison).into_iter().map(move |end| (key, end)));
    ends.any(|(key, end)| first_dropped(by_hand, &facts, key, &end).is_some())
}

/// An end of a range.
struct End<'a> {
    given: &'a KeyTemplate,
    upper: bool,
    strict: bool,
}

fn ends(comparison: &Comparison) -> Vec<End<'_>> {
    let end = |given, upper, strict| End { given, upper, strict };
    match comparison {
        Comparison::Less(given) => vec![end(given, true, true)],
        Comparison::LessOrEqual(given) => vec![end(given, true, false)],
        Comparison::Greater(given) => vec![end(given, false, true)],
        Comparison::GreaterOrEqual(given) => vec![end(given, false, false)],
        Comparison::Between(low, high) => vec![end(low, false, false), end(high, true, false)],
        Comparison::Equal(_) | Comparison::BeginsWith(_) => Vec::new(),
    }
}

fn report(by_hand: &ByHand<'_>, facts: &Facts<'_>, key: &UsingKey, end: &End<'_>, findings: &mut Findings<'_>) {
    let Some((stored, value)) = first_dropped(by_hand, facts, key, end) else {
        return;
    };
    let (asked, kept) = (example_key(&end.given.template), example_key(&stored.template));
    let bound = if end.upper { "up to" } else { "from" };
    let message = match goes_on(stored, end) {
        true => format!(
            "`{}` {bound} `{asked}` drops the rows of `{value}` itself: their keys go on, such as `{kept}`",
            key.attribute
        ),
        false => format!(
            "`{}` {bound} `{asked}` leaves out `{value}` itself, which the meaning includes",
            key.attribute
        ),
    };
    findings.push(
        findings
            .at(end.given.span, &by_hand.read.name, message)
            .help(way_out(stored, end)),
    );
}

/// The stored template of whose rows an end leaves out the last value, and that value.
fn first_dropped<'s>(
    by_hand: &ByHand<'s>,
    facts: &Facts<'_>,
    key: &UsingKey,
    end: &'s End<'_>,
) -> Option<(&'s KeyTemplate, &'s str)> {
    let mut stored = by_hand.met.iter().filter_map(|path| path.choice.attribute_template(&key.attribute));
    stored.find_map(|stored| Some((stored, dropped(facts, stored, end)?)))
}

fn goes_on(stored: &KeyTemplate, end: &End<'_>) -> bool {
    align_templates(&stored.template, &end.given.template).is_some_and(|aligned| aligned.goes_on)
}

/// The value whose rows the end leaves out though the meaning includes them.
fn dropped<'e>(facts: &Facts<'_>, stored: &KeyTemplate, end: &'e End<'_>) -> Option<&'e str> {
    let aligned = align_templates(&stored.template, &end.given.template)?;
    let (part, value) = last(stored, &aligned)?;
    let leaves_out = match end.upper {
        true => aligned.goes_on || end.strict,
        false => !aligned.goes_on && end.strict,
    };
    let including = if end.upper { BinaryOp::Le } else { BinaryOp::Ge };
    let included = facts.facts_about(part.root_attribute()).any(|fact| match &fact.relation {
        Relation::Compared(op, with) => {
            let whole = matches!(
                fact.function,
                None | Some(FunctionId::Day | FunctionId::Month | FunctionId::Year)
            );
            whole && (*op == including || *op == BinaryOp::Eq) && with.path().as_deref() == Some(value)
        }
        _ => false,
    });
    let given = end.given.parts.iter().find(|given| given.path == value)?;
    (leaves_out && included).then_some(given.path.as_str())
}

/// The last variable of the stored key that the end reaches, and the value that it is compared with.
fn last<'s, 't>(stored: &'s KeyTemplate, aligned: &Alignment<'t>) -> Option<(&'s KeyPart, &'t str)> {
    let pair = aligned.pairs.last()?;
    let Given::Variable(given) = pair.given else {
        return None;
    };
    let part = stored.parts.iter().find(|part| part.position == pair.position)?;
    let Some(Part::Variable(variable)) = stored.template.parts().get(pair.position) else {
        return None;
    };
    let descends = matches!(variable.form, Form::Descending(_));
    (!descends).then_some((part, given.name.as_str()))
}

fn way_out(stored: &KeyTemplate, end: &End<'_>) -> String {
    let template = &end.given.template;
    let delimiter = template.delimiter();
    let within_an_instant = matches!(
        (template.parts(), stored.template.parts().last()),
        ([.., Part::Variable(given)], Some(Part::Variable(last))) if given.domain != last.domain && last.domain == Domain::Time
    );
    match (goes_on(stored, end), end.upper) {
        (true, _) if within_an_instant => "end the range at the start of the next day".to_owned(),
        (true, _) => {
            let text = end.given.text.trim_end_matches(delimiter.character());
            format!(
                "end it with `{text}{}`, which sorts after every key of that value",
                delimiter.escape()
            )
        }
        (false, true) => "write `<=`".to_owned(),
        (false, false) => "write `>=`".to_owned(),
    }
}
