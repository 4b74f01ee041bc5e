//! What the console answers: JSON, or what is wrong with what was asked.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde_json::{Value as Json, json};
use singlet_changes::FollowError;
use singlet_runtime::RuntimeError;
use singlet_store::StoreError;

/// Why something is not shown or done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConsoleError {
    /// The status.
    pub status: StatusCode,
    /// In a word.
    pub name: &'static str,
    /// In a sentence.
    pub detail: String,
}

impl ConsoleError {
    pub fn new(status: StatusCode, name: &'static str, detail: impl Into<String>) -> Self {
        ConsoleError {
            status,
            name,
            detail: detail.into(),
        }
    }

    /// What was asked is wrong.
    pub fn invalid_request(detail: impl Into<String>) -> Self {
        ConsoleError::new(StatusCode::BAD_REQUEST, "invalid_input", detail)
    }

    /// What was asked for is not there.
    pub fn not_there(detail: impl Into<String>) -> Self {
        ConsoleError::new(StatusCode::NOT_FOUND, "not_found", detail)
    }

    pub fn into_response(self) -> Response {
        let mut response = json_response(&json!({"error": {"name": self.name, "detail": self.detail}}));
        *response.status_mut() = self.status;
        response
    }
}

impl From<StoreError> for ConsoleError {
    fn from(error: StoreError) -> Self {
        let status = match error.is_bad_request() {
            true => StatusCode::BAD_REQUEST,
            false => StatusCode::SERVICE_UNAVAILABLE,
        };
        ConsoleError::new(status, "store", error.to_string())
    }
}

impl From<FollowError> for ConsoleError {
    fn from(error: FollowError) -> Self {
        match error {
            FollowError::Store(error) => error.into(),
            error => ConsoleError::new(StatusCode::CONFLICT, "changes", error.to_string()),
        }
    }
}

impl From<RuntimeError> for ConsoleError {
    fn from(error: RuntimeError) -> Self {
        match error {
            RuntimeError::Store(error) => error.into(),
            error => ConsoleError::invalid_request(error.to_string()),
        }
    }
}

/// An answer as JSON.
pub(crate) fn json_response(body: &Json) -> Response {
    text_response("application/json", body.to_string())
}

/// A text with its media type.
pub(crate) fn text_response(media_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}
