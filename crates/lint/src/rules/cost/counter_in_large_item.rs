use std::collections::HashSet;

use crate::context::grouped_thousands;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A counter is kept in a large item.
    ///
    /// An update costs a write unit for each KB of the whole item, and one more for each index entry that carries the counter
    /// along: adding 1 to a counter beside 8 KB of text costs 8 units and more. In an item of its own it costs 1.
    ///
    /// ```yaml
    /// description: string ..2000
    /// views: int 0.. = 0                    # add: {views: 1}
    /// ```
    ///
    /// Reported where the limits allow more than 4 KB, or where `estimates` say that a row usually has as much.
    ///
    /// Way out: if it is counted often, keep the counter in a row of its own under the same partition key
    /// (`SK: "COUNTERS"`), and read both in one query.
    "C003" "counter-in-large-item" Hint
}

/// Items up to this size are small.
const SMALL_BYTES_MAX: u64 = 4096;

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let mut reported = HashSet::new();
    for (write, step) in context.write_steps() {
        let entity = step.entity().and_then(|entity| context.model.entity(entity));
        let Some(entity) = entity.filter(|_| !step.add.is_empty()) else {
            continue;
        };
        let usual = context.row_traffic().bytes(context.model, entity).map(|bytes| bytes as u64);
        let bound = context.size_bound(entity).map(|bound| bound.bytes);
        let Some(bytes) = usual.or(bound).filter(|bytes| *bytes > SMALL_BYTES_MAX) else {
            continue;
        };
        let numbers = step.add.iter().filter(|add| {
            entity
                .attribute(&add.attribute)
                .is_some_and(|known| known.ty.is_number())
        });
        for add in numbers.filter(|add| reported.insert(add.span)) {
            let has = if usual.is_some() { "usually has" } else { "can have" };
            let kilobytes = bytes.div_ceil(1024);
            let message = format!(
                "`{}` adds to `{}` in an item that {has} {} KB, which costs as many write units each time",
                write.name,
                add.attribute,
                grouped_thousands(kilobytes)
            );
            findings.push(
                findings
                    .at(add.span, write.name.clone(), message)
                    .help("if it is counted often, keep the counter in a row of its own under the same partition key"),
            );
        }
    }
}
