use singlet_item::limits::ITEM_SIZE_BYTES_MAX;
use singlet_model::model::Entity;

use crate::context::{enumerated_names, grouped_thousands};
use singlet_plan::size::SizeBound;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// An item can grow to, or near, the largest that DynamoDB stores.
    ///
    /// An item has at most 400 KB, names and values together. A write that would make it larger is refused, for that row from
    /// then on. The sum of the attributes' upper limits says how large a row can be: a character takes up to 4 bytes, so
    /// `string ..100000` alone is 400 KB. Reported from four fifths of the limit. Attributes without a limit are not in
    /// the sum; lists without one have a rule of their own.
    ///
    /// ```yaml
    /// body: string 1..100000
    /// ```
    ///
    /// Each read of such an item costs up to 100 units and each write up to 400, however little of it is wanted.
    ///
    /// Way out: lower the limits; split what is large into rows of its own, under the same partition key; keep files in
    /// object storage and their address here.
    "C001" "large-item" Warning
}

/// Reported from this share of the limit, in percent.
const NEAR_PERCENT: u64 = 80;
/// How many attributes the message names.
const NAMED_MAX: usize = 3;

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let limit = ITEM_SIZE_BYTES_MAX as u64;
    for entity in context.model.entities.iter().filter(|entity| entity.mirror.is_none()) {
        let Some(bound) = context.size_bound(entity) else {
            continue;
        };
        if bound.bytes.saturating_mul(100) >= limit * NEAR_PERCENT {
            report(findings, entity, bound);
        }
    }
}

fn report(findings: &mut Findings<'_>, entity: &Entity, bound: &SizeBound<'_>) {
    let largest = bound.attributes.iter().take(NAMED_MAX);
    let largest: Vec<String> = largest
        .map(|(attribute, bytes)| format!("`{}` {} KB", attribute.name, kilobytes(*bytes)))
        .collect();
    let span = bound
        .attributes
        .first()
        .map_or(entity.span, |(attribute, _)| attribute.span);
    let message = format!(
        "a `{}` can have {} KB, and an item holds 400: {}",
        entity.name,
        kilobytes(bound.bytes),
        enumerated_names(&largest),
    );
    findings.push(
        findings
            .at(span, entity.name.clone(), message)
            .help("lower the limits, or keep what is large in rows of its own or in object storage"),
    );
}

fn kilobytes(bytes: u64) -> String {
    grouped_thousands(bytes.div_ceil(1024))
}
