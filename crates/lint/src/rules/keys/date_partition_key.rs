use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Attribute, Entity, KeyPart, PartFunction};
use singlet_model::types::Type;
use singlet_plan::access::AccessPath;

use crate::{Context, Findings, design_rule};

design_rule! {
    /// All writes of the present go to one partition: the day's.
    ///
    /// The only variable of the partition key is a day, a month or a year that a new row takes from the clock. The keys are
    /// many over the years, but at any moment all new rows have the same one, which takes 1,000 write units a second,
    /// while the partitions of other days lie idle. A date that callers choose, such as the day of an event, is another
    /// matter and not reported.
    ///
    /// ```yaml
    /// date: date = today
    /// key: {PK: "AUDIT#{date}", SK: "{at}#{auditId}"}
    /// ```
    ///
    /// Nothing is said where `estimates` show that one partition would carry it all ten times over.
    ///
    /// Way out: put the tenant, the owner or a shard (`int 0..9 = hash(auditId) % 10`) beside the date; reads of a day then
    /// ask for each shard. Where a day is small, give `estimates`, or accept it and say so.
    "K003" "date-partition-key" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for path in context.own_paths() {
        let Some((part, unit)) = clock_part(context, &path) else {
            continue;
        };
        if context.row_traffic().is_light(context.model, path.entity) {
            continue;
        }
        let Some(key) = path.partition_templates().first() else { continue };
        let message = format!(
            "every new `{}` goes to one partition of {}: `{}` is the present {unit}",
            path.entity.name,
            path.name(),
            part.path,
        );
        findings.push(
            findings
                .at(key.span, context.path_subject(&path), message)
                .help("put the tenant, the owner or a shard beside it; one partition takes 1,000 writes a second"),
        );
    }
}

/// The only variable of a partition key, where new rows take it from the clock, and its unit.
pub(crate) fn clock_part<'a>(context: &Context<'a>, path: &AccessPath<'a>) -> Option<(&'a KeyPart, &'static str)> {
    let mut parts = path.partition_templates().iter().flat_map(|key| &key.parts);
    let part = parts.next()?;
    let alone = parts.all(|other| other.path == part.path);
    let unit = match (part.function, &part.ty) {
        (Some(PartFunction::Day), _) | (None, Type::Date) => "day",
        (Some(PartFunction::Month), _) | (None, Type::Month) => "month",
        (Some(PartFunction::Year), _) => "year",
        _ => return None,
    };
    let entity = context.model.source_of(path.entity);
    let attribute = context.attribute(path.entity, part)?;
    (alone && is_of_clock(entity, attribute)).then_some((part, unit))
}

/// Whether a new row takes the attribute from the clock: itself, or through the attribute that it is computed from.
fn is_of_clock(entity: &Entity, attribute: &Attribute) -> bool {
    let clock = |expr: &Expr| expr.any(|part| matches!(part.kind, ExprKind::Now | ExprKind::Today));
    let own = |attribute: &Attribute| [&attribute.default, &attribute.always].into_iter().flatten().any(clock);
    let through = |expr: &Expr| {
        let mut sources = expr.attributes().into_iter().filter_map(|name| entity.attribute(name));
        sources.any(own)
    };
    own(attribute) || attribute.is.as_ref().is_some_and(|expr| clock(expr) || through(expr))
}
