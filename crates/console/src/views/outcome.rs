//! How an operation ended, in the words of the service: the status that a client would get, and the name of the rule that refused.

use serde_json::{Value as Json, json};
use singlet_item::Value;
use singlet_runtime::RuntimeError;

use crate::typed_json::{typed, typed_map};

/// `{status, name, detail, shown}`: why nothing came of it.
pub(super) fn refusal(error: &RuntimeError) -> Json {
    let (status, name) = match error {
        RuntimeError::Refused(refused) => {
            return json!({
                "status": refused.status,
                "name": refused.name,
                "detail": "a rule of the model refuses it",
                "shown": typed_map(&refused.shown),
                "isRule": true,
            });
        }
        RuntimeError::Request(_) => (400, "invalid_input"),
        RuntimeError::Evaluate(_) => (400, "out_of_range"),
        RuntimeError::Cursor => (400, "invalid_cursor"),
        RuntimeError::TooManyRows { .. } => (400, "too_many_rows"),
        RuntimeError::Unauthenticated => (401, "unauthenticated"),
        RuntimeError::Forbidden => (403, "forbidden"),
        RuntimeError::NotFound => (404, "not_found"),
        RuntimeError::Several(_) => (409, "several_rows"),
        RuntimeError::Conflict => (409, "conflict"),
        RuntimeError::AlreadyDone => (409, "already_done"),
        RuntimeError::VersionMismatch => (412, "version_mismatch"),
        RuntimeError::IdempotencyKeyReused => (422, "idempotency_key_reused"),
        RuntimeError::VersionRequired => (428, "version_required"),
        RuntimeError::TooSlow { .. } => (503, "read_too_slow"),
        RuntimeError::TallyNotKept { .. } => (503, "tally_not_kept"),
        RuntimeError::SearchBehind { .. } => (503, "search_behind"),
        RuntimeError::SearchNotFollowed => (503, "search_not_followed"),
        RuntimeError::NoRoom => (503, "overloaded"),
        RuntimeError::Store(_) => (503, "store"),
        RuntimeError::Internal(_) | RuntimeError::Stored(_) | RuntimeError::Typed(_) => (500, "internal"),
    };
    json!({"status": status, "name": name, "detail": error.to_string(), "shown": {}, "isRule": false})
}

/// What was answered.
pub(super) fn value_json(value: Option<&Value>) -> Json {
    value.map_or(Json::Null, typed)
}

/// How many rows an answer has: those of a list, one of anything else.
pub(super) fn rows_in(value: Option<&Value>) -> usize {
    match value {
        Some(Value::L(rows)) => rows.len(),
        Some(Value::Null) | None => 0,
        Some(_) => 1,
    }
}
