use singlet_model::model::Billing;

use crate::{Context, Findings, design_rule};

design_rule! {
    /// The table has provisioned units, and an index has none.
    ///
    /// Every global index of a provisioned table has read and write units of its own, and is paid for by itself. A write that an
    /// index has no units for is throttled on the table too. Where the model says nothing, an index is made with the figures of
    /// the table: five indexes beside a table of 25 units are 150.
    ///
    /// ```yaml
    /// table:
    ///   indexes:
    ///     GSI1: {partition: GSI1PK, sort: GSI1SK}
    ///   billing: {read: 25, write: 25}
    /// ```
    ///
    /// A local index takes from the units of its table.
    ///
    /// Way out: `billing: {read: 10, write: 5, indexes: {GSI1: {read: 5, write: 5}}}`; `singlet capacity` says how much each
    /// needs by the estimates.
    "C009" "unprovisioned-index" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let table = &context.model.table;
    let Billing::Provisioned { read, write } = table.billing else {
        return;
    };
    for index in table.indexes.iter().filter(|index| !index.local && index.units.is_none()) {
        let name = &index.name;
        let message = format!(
            "index `{name}` has no provisioned units, and would be made with the table's, {read} read and {write} write"
        );
        let mut finding = findings.at(index.span, format!("table.{name}"), message);
        if let Some(billing) = table.spans.billing {
            finding = finding.note(billing, "these units are the table's alone");
        }
        let help = format!("add `indexes: {{{name}: {{read: …, write: …}}}}` to `billing`; `singlet capacity` says how many");
        findings.push(finding.help(help));
    }
}
