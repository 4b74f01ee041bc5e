use singlet_item::capacity::Consistency;
use singlet_model::Span;
use singlet_model::model::{Bounds, Comparison, Read};
use singlet_plan::cost::{Call, Origin, RequestCost, Times, Worked};
use singlet_plan::write::{WriteCost, WriteCosts, span_of};

use crate::context::unit_figure;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A capacity figure in the document is not what the operation costs.
    ///
    /// A write pays for each row of the table (1 unit for each KB, 2 in a transaction) and for each index entry: 1 where one is
    /// made, removed or changed, 2 where its key changes, even in a transaction. With four indexes, creating a small item
    /// costs 5 units, changing the state that one of them is keyed by 6, and deleting it 5, not 1. A get costs half a unit for
    /// each 4 KB, a whole one if it is consistent; a query the same for all rows that it reads together, not for each: twenty
    /// rows of 300 bytes are 1 unit, not 20.
    ///
    /// ```yaml
    /// createTask:
    ///   do: [{create: Task, take: [title, due_date]}]
    ///   claim: {write: 1}
    /// ```
    ///
    /// Computed for a write is the range over optional index entries, for small items. A figure is wrong if it is below the
    /// least, if a range ends below the most, or if it is above what the largest items that limits allow can cost. Writes that
    /// this does not decide (history, `excludes`, copies in the transaction) are left out.
    ///
    /// Computed for a read is one page of its plan, or of the query that `using` has. A figure is wrong below the least, and
    /// above what limits allow or estimates (`bytes`) say of the rows. Where neither says anything, one that has a unit for
    /// each row of a list is reported with the size that the rows would need.
    ///
    /// Way out: correct the figure; or save: fewer indexes, a narrower projection, no transaction for one item.
    "C004" "claimed-capacity" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let costs = WriteCosts::new(context.model);
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
            check_read(context, findings, read, (claimed, *span));
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
        claimed,
        terms.join(", ")
    );
    findings.push(findings.at(span, name, message).help(
        "correct the figure; each index entry costs 1 when made, removed or changed, and 2 when its key changes",
    ));
}

/// The dearest and the cheapest way to answer a read must agree with the figure.
fn check_read(context: &Context<'_>, findings: &mut Findings<'_>, read: &Read, (claimed, span): (&Bounds, Span)) {
    let ways = match by_hand(context, read) {
        Some(request) => vec![vec![request]],
        None => context.read_plan(read).combinations.iter().map(|way| way.requests.clone()).collect(),
    };
    let wrong: Option<Vec<String>> = ways.iter().map(|way| disagreement(context, claimed, way)).collect();
    let Some(why) = wrong.and_then(|all| all.into_iter().next()) else {
        return;
    };
    let message = format!("`{}` is said to cost {} read units, and {why}", read.name, claimed);
    findings.push(findings.at(span, read.name.clone(), message).help("correct the figure"));
}

/// The query that the document sends.
fn by_hand(context: &Context<'_>, read: &Read) -> Option<RequestCost> {
    let (using, selection) = (read.using.as_ref()?, read.selection.as_ref()?);
    let strong = using.index.is_none() && (selection.consistent || read.consistent.is_some());
    let entity = context.model.entity(selection.entity()?)?;
    let equal = using.key.iter().filter(|key| matches!(key.comparison, Comparison::Equal(_)));
    let whole = using.index.is_none() && equal.count() == context.model.table.key.len();
    let alone = using.queries.is_none() && read.each.is_none() && read.with.is_empty() && read.lets.is_empty();
    alone.then(|| RequestCost {
        origin: Origin::Query { part: 0, query: 0 },
        parts: Vec::new(),
        call: if whole { Call::Get } else { Call::Query },
        index: using.index,
        entities: vec![entity.id],
        consistency: if strong { Consistency::Strong } else { Consistency::Eventual },
        times: Times::sent_once(),
        rows: if whole { Some(1) } else { using.limit.map(|(limit, _)| limit) },
        rows_there: None,
        reads_on: using.filter.is_some(),
        asked_words: Vec::new(),
    })
}

/// What the requests cost, where that is not the figure.
fn disagreement(context: &Context<'_>, claimed: &Bounds, requests: &[RequestCost]) -> Option<String> {
    let worked = Worked::sum_requests(requests, context.row_sizes());
    let formulas: Vec<String> = requests.iter().map(RequestCost::formula_text).collect();
    let costs = |how: &str| format!("costs {how}: {}", formulas.join(" + "));
    let least = claimed.min.or(claimed.max)?;
    if requests.is_empty() {
        return None;
    }
    if least < unit_figure(worked.least) {
        return Some(costs(&format!("at least {}", worked.least)));
    }
    let above = |cost: &f64| claimed.min.is_some_and(|min| min > *cost);
    if let Some(most) = worked.most.map(unit_figure).filter(above) {
        return Some(costs(&format!("at most {most}")));
    }
    // An estimate is no more exact than the whole units of the figure.
    if let Some(usual) = worked.usual.map(unit_figure).filter(|usual| above(&usual.ceil())) {
        return Some(costs(&format!("{usual} by the estimates")));
    }
    match (requests, worked.usual.or(worked.most)) {
        ([list], None) => each_row_rounded(claimed, list),
        _ => None,
    }
}

/// Whether the figure has a unit or more for each row of a list, though nothing says that the rows are so large.
fn each_row_rounded(claimed: &Bounds, list: &RequestCost) -> Option<String> {
    let rows = list.rows.filter(|rows| *rows > 1 && list.call == Call::Query)?;
    let min = claimed.min.filter(|min| *min >= rows as f64)?;
    let blocks_per_unit = match list.consistency {
        Consistency::Eventual => 2.0,
        Consistency::Strong | Consistency::Transactional => 1.0,
    };
    let row_kb = min * blocks_per_unit * 4.0 / rows as f64;
    Some(format!(
        "costs that only where each of its {rows} rows has {row_kb:.0} KB: {} rounds up once for all of them, not for each",
        list.formula_text()
    ))
}
