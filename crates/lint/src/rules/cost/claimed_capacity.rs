use singlet_item::ReadUnits;
use singlet_item::capacity::{Consistency, get_units};
use singlet_model::Span;
use singlet_model::model::{Bounds, Entity, LetValue, Read, Selection, SelectionKind};

use crate::write_cost::{WriteCost, WriteCosts, span_of};
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A capacity figure in the document is not what the operation costs.
    ///
    /// A write pays for each row of the table (1 unit for each KB, 2 in a transaction) and for each index entry: 1 where one is
    /// made, removed or changed, 2 where its key changes, even in a transaction. With four indexes, creating a small item
    /// costs 5 units, changing the state that one of them is keyed by 6, and deleting it 5, not 1. A get costs half a unit for
    /// each 4 KB, a whole one if it is consistent.
    ///
    /// ```yaml
    /// createTask:
    ///   do: [{create: Task, take: [title, due_date]}]
    ///   claim: {write: 1}
    /// ```
    ///
    /// Computed is the range over optional index entries, for small items. A figure is wrong if it is below the least, if a
    /// range ends below the most, or if it is above what the largest items that limits allow can cost. Writes that this does
    /// not decide (history, `excludes`, copies in the transaction) and lists that are read are left out.
    ///
    /// Way out: correct the figure; or save: fewer indexes, a narrower projection, no transaction for one item.
    "C004" "claimed-capacity" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let costs = WriteCosts::new(context);
    for write in &context.model.writes {
        let Some((claimed, span)) = &write.claim.write else {
            continue;
        };
        let cost = costs.of(write);
        if is_wrong(claimed, &cost) {
            report_write(findings, &write.name, (claimed, *span), &cost);
        }
    }
    for read in &context.model.reads {
        if let Some((claimed, span)) = &read.claim.read {
            check_get(context, findings, read, (claimed, *span));
        }
    }
}

fn is_wrong(claimed: &Bounds, cost: &WriteCost) -> bool {
    let least = cost.least as f64;
    let too_low = claimed.min.is_some_and(|min| min < least) || claimed.max.is_some_and(|max| max < least);
    let one = claimed.min == claimed.max;
    let ends_low = !one && claimed.max.zip(cost.most).is_some_and(|(max, most)| max < most as f64);
    let too_high = claimed
        .min
        .zip(cost.ceiling)
        .is_some_and(|(min, ceiling)| min > ceiling as f64);
    too_low || ends_low || too_high
}

/// How many terms of the sum a message shows.
const TERMS_MAX: usize = 8;

fn report_write(findings: &mut Findings<'_>, name: &str, (claimed, span): (&Bounds, Span), cost: &WriteCost) {
    let costs = match cost.most {
        Some(most) => span_of((cost.least, most)),
        None => format!("at least {}", cost.least),
    };
    let more = if cost.terms.len() > TERMS_MAX { ", …" } else { "" };
    let terms: Vec<&str> = cost.terms.iter().take(TERMS_MAX).map(String::as_str).collect();
    let message = format!(
        "`{name}` is said to cost {} write units, and costs {costs} for small items: {}{more}",
        shown(claimed),
        terms.join(", ")
    );
    findings.push(findings.at(span, name, message).help(
        "correct the figure; each index entry costs 1 when made, removed or changed, and 2 when its key changes",
    ));
}

fn shown(bounds: &Bounds) -> String {
    match (bounds.min, bounds.max) {
        (Some(min), Some(max)) if min == max => min.to_string(),
        (Some(min), Some(max)) => format!("{min} to {max}"),
        (Some(min), None) => format!("at least {min}"),
        (None, Some(max)) => format!("at most {max}"),
        (None, None) => "any".to_owned(),
    }
}

/// A plain get: one row by its whole key, and nothing else.
fn check_get<'a>(context: &Context<'a>, findings: &mut Findings<'_>, read: &'a Read, (claimed, span): (&Bounds, Span)) {
    let Some((entity, selection)) = plain_get(context, read) else {
        return;
    };
    let consistency = match (read.together, read.consistent.is_some() || selection.consistent) {
        (true, _) => Consistency::Transactional,
        (false, true) => Consistency::Strong,
        (false, false) => Consistency::Eventual,
    };
    let least = get_units(0, consistency);
    let bound = context.size_bound(entity).filter(|bound| bound.complete);
    let ceiling = bound
        .and_then(|bound| usize::try_from(bound.bytes).ok())
        .map(|bytes| get_units(bytes, consistency));
    let units = |units: ReadUnits| units.halves() as f64 / 2.0;
    let too_low = claimed
        .min
        .or(claimed.max)
        .is_some_and(|claimed| claimed < units(least));
    let too_high = claimed
        .min
        .zip(ceiling)
        .is_some_and(|(claimed, ceiling)| claimed > units(ceiling));
    if !too_low && !too_high {
        return;
    }
    let kind = match consistency {
        Consistency::Eventual => "an eventually consistent get costs 0.5",
        Consistency::Strong => "a consistent get costs 1",
        Consistency::Transactional => "a get in a transaction costs 2",
    };
    let up_to = ceiling
        .filter(|ceiling| *ceiling > least)
        .map(|ceiling| format!(", up to {ceiling} for the largest `{}`", entity.name));
    let message = format!(
        "`{}` is said to cost {} read units, and {kind} for each 4 KB{}",
        read.name,
        shown(claimed),
        up_to.unwrap_or_default()
    );
    findings.push(findings.at(span, read.name.clone(), message).help("correct the figure"));
}

fn plain_get<'a>(context: &Context<'a>, read: &'a Read) -> Option<(&'a Entity, &'a Selection)> {
    let selection = read
        .selection
        .as_ref()
        .filter(|selection| matches!(selection.kind, SelectionKind::Get { .. }))?;
    let entity = context.model.entity(selection.entity()?)?;
    let rows = read
        .lets
        .iter()
        .any(|name| matches!(&name.value, LetValue::Read(_)) || is_row(&name.value));
    let alone = read.with.is_empty() && read.each.is_none() && !rows && selection.entities.len() == 1;
    let bindings = context.bindings(read, selection);
    let mut parts = entity.key_templates().flat_map(|key| &key.parts);
    let whole = parts.all(|part| bindings.fixes(part.root()));
    let by_table = read.using.as_ref().is_none_or(|using| using.index.is_none());
    (alone && whole && by_table && entity.history.is_none()).then_some((entity, selection))
}

fn is_row(value: &LetValue) -> bool {
    matches!(value, LetValue::Value(expr) if matches!(expr.ty, singlet_model::types::Type::Row(_)))
}
