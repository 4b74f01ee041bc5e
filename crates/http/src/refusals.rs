//! What is said of an operation that the engine did not do: the status and the name that a client gets, also where the console asks.

use axum::http::{StatusCode, header};
use singlet_runtime::{Refused, RuntimeError};
use singlet_values::json_text;

use crate::admission::overloaded_problem;
use crate::problem::{self, FieldError, FieldErrors, Problem, RequestPlace};
use crate::system::System;

/// What is said of a read that failed.
pub fn problem_of_read(system: &System, operation: &str, error: RuntimeError, request_id: &str) -> Problem {
    match error {
        // Nothing is stored under a key that no table holds.
        RuntimeError::Store(error) if error.is_too_large() => Problem::new(
            StatusCode::BAD_REQUEST,
            "invalid_input",
            "a value is longer than a key can be",
        ),
        error => problem_of(system, operation, error, request_id),
    }
}

/// What is said of a failure. Only what the model shows is told; the rest is in the log.
pub fn problem_of(system: &System, operation: &str, error: RuntimeError, request_id: &str) -> Problem {
    match error {
        RuntimeError::Request(reason) => Problem::new(StatusCode::BAD_REQUEST, "invalid_input", reason),
        RuntimeError::Evaluate(error) => Problem::new(
            StatusCode::BAD_REQUEST,
            "out_of_range",
            format!("a value leaves its range: {error}"),
        ),
        RuntimeError::Cursor => {
            let place = RequestPlace::Query("cursor".to_owned());
            let detail = "this cursor does not belong to this request";
            Problem {
                errors: Box::new(FieldErrors::only_error(FieldError::new(place, detail))),
                ..Problem::new(StatusCode::BAD_REQUEST, "invalid_cursor", detail)
            }
        }
        RuntimeError::Unauthenticated => system.authenticator.credentials_missing(),
        RuntimeError::Forbidden => Problem::new(StatusCode::FORBIDDEN, "forbidden", "this caller may not do this"),
        RuntimeError::NotFound => Problem::new(StatusCode::NOT_FOUND, "not_found", "there is no such row"),
        RuntimeError::Several(_) => {
            let detail = "more than one row fits where one is expected";
            Problem::new(StatusCode::CONFLICT, "several_rows", detail)
        }
        RuntimeError::Refused(refused) => refusal(system, *refused),
        RuntimeError::Conflict => conflict(),
        RuntimeError::VersionMismatch => version_differs(),
        RuntimeError::VersionRequired => {
            let detail = "`If-Match` must say which version of the row is meant";
            let place = RequestPlace::Header("If-Match".to_owned());
            Problem {
                errors: Box::new(FieldErrors::only_error(FieldError::new(place, "this is missing"))),
                ..Problem::new(StatusCode::PRECONDITION_REQUIRED, "version_required", detail)
            }
        }
        RuntimeError::IdempotencyKeyReused => {
            let detail = "this idempotency key was used before, with another request";
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_reused", detail)
        }
        RuntimeError::TooManyRows { .. } => Problem::new(StatusCode::BAD_REQUEST, "too_many_rows", error.to_string()),
        RuntimeError::TooSlow { .. } => {
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "read_too_slow", error.to_string())
                .with_header(header::RETRY_AFTER, "1")
        }
        RuntimeError::TallyNotKept { ref reason, .. } => {
            let (code, wait) = match reason {
                None => ("tally_not_counted_yet", "1"),
                Some(_) => ("tally_not_kept", "60"),
            };
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, code, error.to_string())
                .with_header(header::RETRY_AFTER, wait)
        }
        RuntimeError::SearchBehind { is_ready } => {
            let code = match is_ready {
                true => "search_behind",
                false => "search_not_ready",
            };
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, code, error.to_string()).with_header(header::RETRY_AFTER, "1")
        }
        RuntimeError::SearchNotFollowed => Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "search_not_followed",
            error.to_string(),
        )
        .with_header(header::RETRY_AFTER, "60"),
        RuntimeError::NoRoom => overloaded_problem(error.to_string()),
        RuntimeError::AlreadyDone => {
            let detail = "this was done before under this idempotency key; its answer is kept for callers with an id";
            Problem::new(StatusCode::CONFLICT, "already_done", detail)
        }
        RuntimeError::Store(error) => store_problem(operation, request_id, &error),
        RuntimeError::Internal(reason) => {
            tracing::error!(request_id, operation, reason, "a mistake of Singlet");
            internal_problem()
        }
        RuntimeError::Stored(reason) => {
            tracing::error!(
                request_id,
                operation,
                reason,
                "a stored item does not fit the model; `singlet audit` lists all that do not"
            );
            let mut problem = internal_problem();
            problem.extra.is_misfit = true;
            problem
        }
        RuntimeError::Typed(reason) => {
            tracing::error!(request_id, operation, reason, "an answer is not of its type");
            internal_problem()
        }
    }
}

/// A rule of the model said no: its name is the type, and what the model shows stands beside it.
fn refusal(system: &System, refused: Refused) -> Problem {
    let status = StatusCode::from_u16(refused.status).unwrap_or(StatusCode::CONFLICT);
    let shown: Vec<String> = refused
        .shown
        .iter()
        .map(|(name, value)| format!("{name} is {}", json_text::json_of(value)))
        .collect();
    let detail = match shown.is_empty() {
        true => problem::title_of(&refused.name),
        false => format!("{}: {}", problem::title_of(&refused.name), shown.join(", ")),
    };
    let mut problem = Problem {
        name: refused.name.into(),
        namespace: Some(system.name.clone()),
        ..Problem::new(status, "", detail)
    };
    for (name, value) in refused.shown {
        problem = problem.with_member(&name, value);
    }
    problem
}

fn conflict() -> Problem {
    let detail = "other requests keep changing the same rows; send it again";
    Problem::new(StatusCode::CONFLICT, "conflict", detail).with_header(header::RETRY_AFTER, "1")
}

fn store_problem(operation: &str, request_id: &str, error: &singlet_store::StoreError) -> Problem {
    if error.is_conflict() {
        return conflict();
    }
    if error.is_too_large() {
        return Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            "the row or its key would be larger than a table holds",
        );
    }
    tracing::error!(request_id, operation, %error, "the store failed");
    // What a client may have caused was refused before: a request that no store takes is a mistake of this service.
    if error.is_bad_request() {
        return internal_problem();
    }
    let detail = match error.told_publicly() {
        Some(told) => told,
        None if error.is_throttled() => "the store is busy",
        None => "the store cannot be reached",
    };
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", detail).with_header(header::RETRY_AFTER, "1")
}

/// The row is not of the version that `If-Match` names, or is there against `If-None-Match`.
pub(crate) fn version_differs() -> Problem {
    let detail = "the row is not as `If-Match` or `If-None-Match` says";
    Problem::new(StatusCode::PRECONDITION_FAILED, "version_differs", detail)
}

/// A mistake of ours, or of the machine: nothing of it is told.
pub(crate) fn internal_problem() -> Problem {
    Problem::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "internal",
        "something is wrong here; the log says what",
    )
}
