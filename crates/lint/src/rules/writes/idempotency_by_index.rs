use singlet_model::model::Role;

use crate::{Context, Findings, design_rule};

design_rule! {
    /// A record of a request is looked for through an index.
    ///
    /// A global index is behind the table: a retry that comes at once does not find the record of the request before it, and
    /// is taken for a new one. Retries do come at once.
    ///
    /// ```yaml
    /// using: {index: GSI1, key: {GSI1PK: "USER#{caller.id}", GSI1SK: "IDEMPOTENCY#{args.key}"}}
    /// ```
    ///
    /// Way out: put the caller and the request's key into the primary key of the record, and read it there, strongly. To
    /// decide whether to write, do not read at all: a condition in the transaction decides.
    "W006" "idempotency-by-index" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for (read, selection, entity) in context.read_selections() {
        let own = read.selection.as_ref().is_some_and(|own| std::ptr::eq(own, selection));
        let Some(using) = read.using.as_ref().filter(|_| own && entity.role == Some(Role::Idempotency)) else {
            continue;
        };
        let Some(index) = using.index.and_then(|index| context.model.index(index)) else {
            continue;
        };
        let message = format!("`{}` looks for the record of a request in index `{}`, which a retry can overtake", read.name, index.name);
        let help = "read the record by its primary key with `consistent: true`, and let a condition decide the write";
        findings.push(findings.at(using.span, &read.name, message).help(help));
    }
}
