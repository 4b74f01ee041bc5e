use crate::context::index_subject;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// An index is said to make a value unique.
    ///
    /// An index keeps any number of entries with one key, and it follows the table with a delay. Two requests that both look,
    /// find nothing and write leave two rows with one value; the index then returns both.
    ///
    /// ```yaml
    /// GSI1:
    ///   partition: GSI1PK                 # EMAIL#{email}
    ///   sort: GSI1SK
    ///   claim: {unique: true}
    /// ```
    ///
    /// Way out: `unique: {email: lower(email)}` on the entity. A guard row of its own is claimed in the transaction that
    /// writes the entity, and released with it.
    "I007" "uniqueness-by-index" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for index in &context.model.table.indexes {
        let Some(span) = index.claims_unique else { continue };
        let message = format!(
            "index `{}` makes nothing unique: it keeps every row with one key, and sees a new one late",
            index.name
        );
        let help = "say `unique:` on the entity: a guard row is claimed in the same transaction";
        findings.push(findings.at(span, index_subject(index), message).help(help));
    }
}
