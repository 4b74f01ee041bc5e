use singlet_plan::access::AccessPath;
use singlet_plan::by_hand::ByHand;

use crate::context::listed_names;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// An index leaves out rows without an optional attribute, and the read means them too.
    ///
    /// A row is in an index only with all of its key attributes. A key that is made of an optional attribute leaves out every
    /// row without it: a list of all rows over such an index is short, and nobody is told.
    ///
    /// ```yaml
    /// due_date: date?
    /// …
    /// GSI2: {GSI2PK: "USER#{user_id}", GSI2SK: "DUEDATE#{due_date}#{task_id}"}
    /// …
    /// where: user_id == caller.id               # all tasks
    /// using: {index: GSI2, key: {GSI2PK: "USER#{caller.id}"}}
    /// ```
    ///
    /// Way out: say what is meant, `due_date != absent`; or ask another path; or give the attribute a value in every row.
    "I008" "dropped-by-optional" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for by_hand in context.by_hand() {
        let Some((index, names)) = by_hand.index.zip(dropping_attributes(by_hand)) else {
            continue;
        };
        let shown = listed_names(names.iter().map(String::as_str));
        let message = format!(
            "rows without {shown} are not in index `{}`, and `{}` means them too",
            index.name, by_hand.read.name
        );
        let help = format!(
            "add `{} != absent` to `where`, or ask another path",
            names.first().map_or("", String::as_str)
        );
        findings.push(findings.at(by_hand.using.span, &by_hand.read.name, message).help(help));
    }
}

/// The optional attributes without which a row is in none of the places that the condition looks through.
pub(crate) fn dropping_attributes(by_hand: &ByHand<'_>) -> Option<Vec<String>> {
    by_hand.index?;
    let facts = by_hand.meaning_facts();
    let dropping = |path: &AccessPath<'_>| -> Vec<String> {
        let parts = path.choice.keys.iter().flat_map(|key| &key.parts);
        let dropped = parts.filter(|part| part.optional && !facts.excludes_absent(part.root_attribute()));
        dropped.map(|part| part.path.clone()).collect()
    };
    let each: Vec<Vec<String>> = by_hand.met.iter().map(dropping).collect();
    let all = each.iter().all(|names| !names.is_empty());
    each.into_iter().next().filter(|_| all)
}
