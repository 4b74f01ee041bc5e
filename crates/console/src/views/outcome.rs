//! How an operation ended, in the words of the service: the status that a client would get, and the name of the rule that refused.

use serde_json::{Value as Json, json};
use singlet_http::problem::Problem;
use singlet_item::Value;

use crate::typed_json::{typed_map, typed_value};

/// `{status, name, detail, shown}`: why nothing came of it.
pub(super) fn refusal_json(problem: &Problem) -> Json {
    let is_rule = problem.namespace.is_some();
    // What a rule shows stands beside it already.
    let detail = match is_rule {
        true => "a rule of the model refuses it",
        false => &problem.detail,
    };
    json!({
        "status": problem.status.as_u16(),
        "name": problem.name,
        "detail": detail,
        "shown": typed_map(&problem.extra.members),
        "isRule": is_rule,
    })
}

/// What was answered.
pub(super) fn value_json(value: Option<&Value>) -> Json {
    value.map_or(Json::Null, typed_value)
}

/// How many rows an answer has: those of a list, one of anything else.
pub(super) fn rows_in(value: Option<&Value>) -> usize {
    match value {
        Some(Value::L(rows)) => rows.len(),
        Some(Value::Null) | None => 0,
        Some(_) => 1,
    }
}
