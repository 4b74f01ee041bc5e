//! What a call asks as JSON, beside the plan of its read. The shape is stable: fields are added, never renamed.

use serde_json::{Value as Json, json};
use singlet_model::Model;
use singlet_plan::read::PlanRow;
use singlet_runtime::{Preview, range_text};

use super::requests;

/// The same with the writes of the model.
pub(crate) fn with_writes(mut plans: Json, writes: Vec<Json>) -> Json {
    if let Some(object) = plans.as_object_mut() {
        object.insert("writes".to_owned(), Json::Array(writes));
    }
    plans
}

/// What a call asks: a list beside the plan of its read.
pub(crate) fn asked_json(_: &Model, asked: &[(PlanRow<'_>, Preview)]) -> Json {
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
pub(crate) fn with_asked(mut plans: Json, asked: Json) -> Json {
    if let Some(plans) = plans.as_object_mut() {
        plans.insert("asked".to_owned(), asked);
    }
    plans
}
