use singlet_item::limits;
use singlet_plan::size::size_bounds;
use singlet_plan::write::{TransactionBound, transaction_bound};

use crate::{Context, Findings, design_rule};

design_rule! {
    /// A write can change more items than a transaction holds.
    ///
    /// A transaction has at most 100 items. Mirrors, guards, rows that are excluded, rows that are copied from, rows that `let`,
    /// a loop or an expression looks at, and the record of the request count too: a loop over 40 rows of an entity with a
    /// mirror and a guard is 121. The write works in every test, and fails for the first customer with a full list.
    ///
    /// ```yaml
    /// args: {lines: "list(Line) 1..60"}
    /// do:
    ///   - for: {line: args.lines}
    ///     create: OrderLine               # with a mirror: 120 items
    /// ```
    ///
    /// It holds 4 MB too. Each row counts with as much as its limits allow, and with 400 KB where an attribute has none: twelve
    /// documents of any length are too much.
    ///
    /// Way out: lower the list's upper limit, give texts and lists a limit, or say `bulk: true`: chunks in order, resumable, but no longer all or nothing.
    "W012" "transaction-over-limit" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let sizes = size_bounds(context.model);
    for write in &context.model.writes {
        let bound = transaction_bound(context.model, write, &sizes);
        let Some(what) = too_much(&bound) else { continue };
        let name = &write.name;
        let (who, help) = match write.bulk {
            false => (
                format!("`{name}`"),
                "lower the upper limit of the list or of what its rows hold, or say `bulk: true`; mirrors, guards, rows that are looked at and the record of the request count",
            ),
            true => (
                format!("one turn of `{name}`"),
                "lower the limit of what one turn goes through or of what its rows hold; mirrors, guards, rows that are looked at and the progress count",
            ),
        };
        let message = format!("{who} can write {what}");
        findings.push(findings.at(write.span, &write.name, message).help(help));
    }
}

/// What is too much for one transaction.
fn too_much(bound: &TransactionBound) -> Option<String> {
    let (items, bytes) = (limits::TRANSACTION_ITEMS_MAX as u64, limits::TRANSACTION_BYTES_MAX as u64);
    let mega = |bytes: u64| bytes.div_ceil(1_024 * 1_024);
    match bound.items {
        u64::MAX => Some(format!("any number of items at once, and a transaction holds {items}")),
        many if many > items => Some(format!("{many} items at once, and a transaction holds {items}")),
        many if bound.bytes > bytes => Some(format!(
            "{many} items of {} MB at once, and a transaction holds {} MB",
            mega(bound.bytes),
            mega(bytes)
        )),
        _ => None,
    }
}
