//! What a call asks as JSON, beside the plan of its read. The shape is stable: fields are added, never renamed.

use serde_json::{Value as Json, json};
use singlet_item::ReadUnits;
use singlet_model::Model;
use singlet_plan::cost::Sizes;
use singlet_plan::read::PlanRow;
use singlet_runtime::{Preview, range_text};

use super::{requests, told_of};

/// The same with the writes of the model.
pub(crate) fn with_writes(mut plans: Json, writes: Vec<Json>) -> Json {
    if let Some(object) = plans.as_object_mut() {
        object.insert("writes".to_owned(), Json::Array(writes));
    }
    plans
}

/// What a call asks and takes, beside the plan of its read.
pub(crate) fn asked_json(model: &Model, asked: &[(PlanRow<'_>, Preview)]) -> (Json, Json) {
    let told = told_of(asked, &Sizes::of(model));
    let units = |units: ReadUnits| units.half_count() as f64 / 2.0;
    let told = json!({
        "least": units(told.least),
        "estimated": told.estimated.map(units),
        "most": told.most.map(units),
    });
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
    (requests.collect(), told)
}

/// The plan with what a call asks, and what it takes.
pub(crate) fn with_asked(mut plans: Json, (asked, units): (Json, Json)) -> Json {
    if let Some(plans) = plans.as_object_mut() {
        plans.insert("asked".to_owned(), asked);
        plans.insert("askedUnits".to_owned(), units);
    }
    plans
}

/// The plan of a write, with what one request takes.
pub(crate) fn with_asked_units(mut plan: Json, units: Json) -> Json {
    if let Some(plan) = plan.as_object_mut() {
        plan.insert("askedUnits".to_owned(), units);
    }
    plan
}
