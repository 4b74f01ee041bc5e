use singlet_plan::access::AccessPath;
use singlet_plan::facts::Facts;

use crate::context::Asked;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A scan is asked for though a key answers the read.
    ///
    /// A scan reads, and bills, every row of the table to find the few of one partition; it grows with the table, not with
    /// the answer. Filters, projections and counts save nothing of that.
    ///
    /// ```yaml
    /// countByStatus:
    ///   count: Task
    ///   by: status
    ///   where: user_id == caller.id         # Task has the partition `USER#{user_id}`
    ///   scan: "counted in the background"
    /// ```
    ///
    /// Way out: remove `scan`; the read becomes a query of that partition.
    "R007" "scan-not-needed" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for asked in context.asked() {
        let Some((read, (_, span))) = asked.read.and_then(|read| Some((read, read.scan.as_ref()?))) else {
            continue;
        };
        let Some(path) = answering(context, &asked) else {
            continue;
        };
        let key = path
            .partition()
            .iter()
            .map(|key| format!("`{}`", key.text))
            .collect::<Vec<_>>()
            .join(", ");
        let message = format!(
            "`{}` scans the table, though its meaning fixes the partition {key} of {}",
            read.name,
            path.name()
        );
        findings.push(
            findings
                .at(*span, &read.name, message)
                .help("remove `scan`: a query reads that partition alone"),
        );
    }
}

/// A path that holds every row that is meant, and whose partition the meaning names.
fn answering<'a>(context: &Context<'a>, asked: &Asked<'a>) -> Option<AccessPath<'a>> {
    let bindings = asked.bindings();
    let facts = Facts::of(asked.entity, asked.selection.filter.iter().chain(asked.allow));
    context.paths(asked.entity.id).into_iter().find(|path| {
        let mut parts = path.partition().iter().flat_map(|key| &key.parts);
        let named = parts.clone().next().is_some() && parts.all(|part| bindings.names(part, path.entity));
        let mut held = path.choice.keys.iter().flat_map(|key| &key.parts);
        let complete = held.all(|part| !part.optional || facts.excludes_absent(part.root()));
        named && complete && path.choice.when.is_none()
    })
}
