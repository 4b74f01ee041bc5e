use singlet_model::model::{Comparison, UsingKey};
use singlet_plan::by_hand::{ByHand, Missed, template_beginning, can_meet};
use singlet_plan::example::example_key;

use crate::context::held_key;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A condition by hand meets no stored key.
    ///
    /// An equality must name a whole key. A key that goes on after the condition ends, with an id for instance, is another
    /// key: the query succeeds, costs a read, and returns nothing, on every call.
    ///
    /// ```yaml
    /// index:
    ///   GSI1: {GSI1PK: "USER#{user_id}", GSI1SK: "STATUS#{status}#{task_id}"}
    /// …
    /// using: {index: GSI1, key: {GSI1PK: "USER#{caller.id}", GSI1SK: "STATUS#{args.status}#"}}
    /// ```
    ///
    /// Templates are compared over every value that their variables can take; nothing is reported that cannot be proved.
    ///
    /// Way out: ask for what the keys begin with, `GSI1SK: {begins_with: "STATUS#{args.status}#"}`; or leave `using` out and
    /// let the condition be derived from `where`.
    "R001" "never-matches" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for by_hand in context.by_hand() {
        if let Some(missed) = &by_hand.missed {
            report(by_hand, missed, findings);
        }
        let Some(index) = by_hand.index.filter(|_| by_hand.met.is_empty()) else {
            continue;
        };
        if held_key(context.model, by_hand.entity, index).is_none() {
            let message = format!("no row of `{}` is in index `{}`", by_hand.entity.name, index.name);
            let help = format!(
                "say under `index:` of `{}` how it stands there, or ask another path",
                by_hand.entity.name
            );
            findings.push(findings.at(by_hand.using.span, &by_hand.read.name, message).help(help));
        }
    }
}

/// Whether the rule speaks of a condition.
pub(crate) fn speaks_of(context: &Context<'_>, by_hand: &ByHand<'_>) -> bool {
    let held = |index: &&singlet_model::model::Index| held_key(context.model, by_hand.entity, index).is_none();
    by_hand.missed.is_some() || by_hand.index.filter(|_| by_hand.met.is_empty()).as_ref().is_some_and(held)
}

fn report(by_hand: &ByHand<'_>, missed: &Missed<'_>, findings: &mut Findings<'_>) {
    let (asked, stored) = (example_key(&missed.given.template), example_key(&missed.stored.template));
    let condition = shown(missed.key, &asked);
    let goes_on =
        missed.equality && template_beginning(&missed.given.template).is_some_and(|all| can_meet(&all, &missed.stored.template));
    let (message, help) = match goes_on {
        true => (
            format!("`{condition}` equals no stored key: every key goes on, such as `{stored}`"),
            format!(
                "write `{}: {{begins_with: \"{}\"}}`",
                missed.key.attribute, missed.given.text
            ),
        ),
        false => (
            format!(
                "`{condition}` meets no key of `{}` in {}: they are like `{stored}`",
                by_hand.entity.name,
                by_hand.place_name()
            ),
            format!("its template is `{}`", missed.stored.text),
        ),
    };
    findings.push(findings.at(missed.given.span, &by_hand.read.name, message).help(help));
}

fn shown(key: &UsingKey, asked: &str) -> String {
    match &key.comparison {
        Comparison::BeginsWith(_) => format!("{} begins with {asked}", key.attribute),
        _ => format!("{} = {asked}", key.attribute),
    }
}
