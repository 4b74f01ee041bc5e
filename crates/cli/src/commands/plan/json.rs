//! Plans as JSON. The shape is stable: fields are added, never renamed.

use serde_json::{Value as Json, json};
use singlet_item::ReadUnits;
use singlet_item::capacity::Consistency;
use singlet_model::Model;
use singlet_plan::cost::Sizes;
use singlet_plan::read::{Combination, PlanRow, ReadPlan, plan_rows};
use singlet_runtime::Preview;

use super::{range_text, requests};

/// `{model, reads: [{name, combinations: [{sent, requests, not}]}]}`.
pub fn plans(model: &Model, plans: &[ReadPlan]) -> Json {
    let sizes = Sizes::of(model);
    let reads = plans.iter().map(|plan| {
        let rows = plan_rows(model, plan);
        let combinations = plan.combinations.iter().map(|combination| {
            let own = rows.iter().filter(|row| row.sent == combination.sent.as_slice());
            let requests: Vec<Json> = own.map(|row| request(row, &sizes)).collect();
            json!({"sent": combination.sent, "requests": requests, "not": others(combination)})
        });
        json!({"name": plan.read, "combinations": combinations.collect::<Vec<_>>()})
    });
    json!({"model": model.name, "reads": reads.collect::<Vec<_>>()})
}

/// The same with the writes of the model.
pub fn with_writes(mut plans: Json, writes: Vec<Json>) -> Json {
    if let Some(object) = plans.as_object_mut() {
        object.insert("writes".to_owned(), Json::Array(writes));
    }
    plans
}

fn request(row: &PlanRow<'_>, sizes: &Sizes<'_>) -> Json {
    let (least, most) = row.cost.sent();
    let worked = row.cost.worked(sizes);
    json!({
        "for": row.cost.parts,
        "call": row.cost.call.word(),
        "index": row.cost.index.map(|_| row.place.as_str()),
        "key": row.key,
        "descending": row.descending,
        "filter": Some(row.filter.as_str()).filter(|filter| !filter.is_empty()),
        "projection": Some(&row.projection).filter(|names| !names.is_empty()),
        "or": row.or,
        "consistency": match row.cost.consistency {
            Consistency::Eventual => "eventual",
            Consistency::Strong => "strong",
            Consistency::Transactional => "transactional",
        },
        "rows": row.cost.rows,
        "readsOn": row.cost.reads_on,
        "requests": {"least": least, "most": most},
        "capacity": {
            "formula": row.cost.formula(),
            "least": units(worked.least),
            "usual": worked.usual.map(units),
            "most": worked.most.map(units),
        },
    })
}

fn others(combination: &Combination) -> Vec<Json> {
    let parts = combination.parts.iter();
    parts
        .flat_map(|part| {
            let others = part.plan.others.iter();
            others.map(move |lost| json!({"for": part.name, "path": lost.path, "why": lost.why.to_string()}))
        })
        .collect()
}

fn units(units: ReadUnits) -> f64 {
    units.halves() as f64 / 2.0
}

/// What a call asks: a list beside the plan of its read.
pub fn asked(_: &Model, asked: &[(PlanRow<'_>, Preview)]) -> Json {
    let requests = asked.iter().map(|(row, preview)| {
        json!({
            "for": row.cost.parts,
            "call": row.cost.call.word(),
            "index": preview.index,
            "waitsFor": preview.waits_for,
            "ranges": preview.ranges.iter().map(range_text).collect::<Vec<_>>(),
            "requests": Some(requests(row, preview)).filter(|_| preview.waits_for.is_none()),
        })
    });
    requests.collect()
}

/// The plan with what a call asks.
pub fn with_asked(mut plans: Json, asked: Json) -> Json {
    if let Some(plans) = plans.as_object_mut() {
        plans.insert("asked".to_owned(), asked);
    }
    plans
}
