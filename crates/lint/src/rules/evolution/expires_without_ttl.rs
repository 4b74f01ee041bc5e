use crate::{Context, Findings, design_rule};

design_rule! {
    /// An entity expires, and the table has no TTL attribute.
    ///
    /// `expires` hides a row from reads and writes once its time has come, and writes that time to the table's TTL attribute
    /// so that DynamoDB removes the row. Without such an attribute the row is hidden, stays for ever, and is paid for: in
    /// storage, and in every query that reads over it.
    ///
    /// ```yaml
    /// expires: createdAt + days(30)
    /// ```
    ///
    /// Way out: `ttl: ttl` under `table`.
    "E008" "expires-without-ttl" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    if context.model.table.ttl.is_some() {
        return;
    }
    for entity in &context.model.entities {
        let Some(expires) = entity.expires.as_ref().filter(|_| entity.mirror.is_none()) else {
            continue;
        };
        let message = format!(
            "`{}` expires, but the table has no TTL attribute: expired rows stay for ever",
            entity.name
        );
        findings.push(
            findings
                .at(expires.span, entity.name.clone(), message)
                .note(context.model.table.span, "the table")
                .help("name one under `table`: `ttl: ttl`"),
        );
    }
}
