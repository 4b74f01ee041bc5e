use singlet_item::limits;

use crate::transaction::actions;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A write can change more items than a transaction holds.
    ///
    /// A transaction has at most 100 items. Mirrors, guards, rows that are excluded and the record of the request count too:
    /// a loop over 40 rows of an entity with a mirror and a guard is 121. The write works in every test, and fails for the
    /// first customer with a full list.
    ///
    /// ```yaml
    /// args: {lines: "list(Line) 1..60"}
    /// do:
    ///   - for: {line: args.lines}
    ///     create: OrderLine               # with a mirror: 120 items
    /// ```
    ///
    /// Way out: lower the list's upper limit, or say `bulk: true`: chunks in order, resumable, but no longer all or nothing.
    "W012" "transaction-over-limit" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let most = limits::TRANSACTION_ITEMS_MAX as u64;
    for write in context.model.writes.iter().filter(|write| !write.bulk) {
        let actions = actions(context.model, write);
        if actions <= most {
            continue;
        }
        let message = format!("`{}` can write {actions} items at once, and a transaction holds {most}", write.name);
        let help = "lower the upper limit of the list, or say `bulk: true`; mirrors, guards and the record of the request count";
        findings.push(findings.at(write.span, &write.name, message).help(help));
    }
}
