//! Problem documents (RFC 9457): what is said when a request is not done.

use std::borrow::Cow;

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde_json::{Map, Value as Json, json};
use singlet_item::Value;
use singlet_runtime::Attributes;
use singlet_values::json_text;

use crate::field_errors::shorten_text;
pub use crate::field_errors::{FieldError, FieldErrors, RequestPlace};

/// The longest sentence, and the longest path that is given back.
const TEXT_CHARS_MAX: usize = 2000;

/// The longest value that a model shows, with all others, as JSON: a document has at most 64 KB whatever was sent.
const MEMBERS_BYTES_MAX: usize = 16 * 1024;

/// The media type of problem documents.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// Why a request was not done.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The status.
    pub status: StatusCode,
    /// Its stable name.
    pub name: Cow<'static, str>,
    /// Whose problem it is: the model's, or everybody's.
    pub namespace: Option<String>,
    /// What happened this time.
    pub detail: String,
    /// The fields and parameters that are wrong.
    pub errors: Box<FieldErrors>,
    /// What few problems have. Boxed, so that a result is not mostly a problem.
    pub extra: Box<ProblemExtra>,
}

/// What few problems have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProblemExtra {
    /// What the model chose to show, and other members.
    pub members: Attributes,
    /// Headers that go with it.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Whether what is stored is not as the model has it: that is counted, and nobody is told.
    pub is_misfit: bool,
}

impl Problem {
    /// A problem that any system can have.
    pub fn new(status: StatusCode, name: &'static str, detail: impl Into<String>) -> Self {
        Problem {
            status,
            name: Cow::Borrowed(name),
            namespace: None,
            detail: detail.into(),
            errors: Box::default(),
            extra: Box::default(),
        }
    }

    /// Input that is not as the model has it.
    pub fn invalid_input(errors: FieldErrors) -> Self {
        let detail = match (errors.shown(), errors.found_count()) {
            ([one], 1) => one.in_words(),
            (_, found) => format!("{found} values are wrong"),
        };
        Problem {
            errors: Box::new(errors),
            ..Problem::new(StatusCode::BAD_REQUEST, "invalid_input", detail)
        }
    }

    /// No or bad credentials.
    pub fn unauthenticated(name: &'static str, detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::UNAUTHORIZED, name, detail)
    }

    /// With a header.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.extra.headers.push((name, value));
        }
        self
    }

    /// With another member.
    #[must_use]
    pub fn with_member(mut self, name: &str, value: Value) -> Self {
        self.extra.members.insert(name.to_owned(), value);
        self
    }

    /// Its type: a name that never changes.
    pub fn type_uri(&self) -> String {
        problem_uri(self.namespace.as_deref(), &self.name)
    }

    /// The answer.
    pub fn into_response(self, instance: &str, request_id: &str) -> Response {
        let mut body = Map::new();
        body.insert("type".to_owned(), json!(self.type_uri()));
        body.insert("title".to_owned(), json!(title_of(&self.name)));
        body.insert("status".to_owned(), json!(self.status.as_u16()));
        body.insert("detail".to_owned(), json!(shorten_text(&self.detail, TEXT_CHARS_MAX)));
        body.insert("instance".to_owned(), json!(shorten_text(instance, TEXT_CHARS_MAX)));
        body.insert("request_id".to_owned(), json!(request_id));
        if !self.errors.is_empty() {
            body.insert("errors".to_owned(), self.errors.json());
            if self.errors.found_count() > self.errors.shown().len() {
                body.insert("errors_found".to_owned(), json!(self.errors.found_count()));
            }
        }
        let more = self.extra.members.iter().filter(|(name, _)| !body.contains_key(*name));
        let more: Attributes = more.map(|(name, value)| (name.clone(), value.clone())).collect();
        let mut text = Json::Object(body).to_string();
        let shown = json_text::json_of(&Value::M(more.clone()));
        if !more.is_empty() && shown.len() <= MEMBERS_BYTES_MAX {
            // Beside the others, with every digit of a number.
            text.pop();
            text.push_str(&shown.replacen('{', ",", 1));
        }
        let mut response = Response::new(text.into());
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        headers.extend(self.extra.headers);
        response
    }
}

/// The type of a problem, by whose it is and its name.
pub fn problem_uri(namespace: Option<&str>, name: &str) -> String {
    format!("urn:problem-type:{}:{name}", namespace.unwrap_or("singlet"))
}

/// A name as a title: `task_not_pending` is "Task not pending".
pub fn title_of(name: &str) -> String {
    let mut text = name.replace('_', " ");
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}
