//! Answers as responses.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde_json::json;
use singlet_item::Value;
use singlet_model::Model;
use singlet_model::model::{Read, Return, SelectionKind};
use singlet_plan::read::ReadPlan;
use singlet_plan::read::plan_text;
use singlet_runtime::{Answer, Written};
use singlet_values::json_text;

use crate::admission::RequestBytes;
use crate::answer_text::AnswerText;
use crate::call::Incoming;
use crate::etag;
use crate::location::Location;
use crate::problem::Problem;
use crate::query::QueryParameters;

/// Room for the headers of most answers, so that it is made once.
const HEADERS_USUAL: usize = 12;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The response of a read: a row, `null` where it may be missing and is, `{"items": […], "next": …}`, or groups.
///
/// # Errors
///
/// Where the answer does not fit beside what other requests hold.
pub(crate) fn read_response(
    model: &Model,
    read: &Read,
    answer: Answer,
    (query, incoming): (&QueryParameters, &Incoming<'_>),
    held: Arc<RequestBytes>,
) -> Result<Response, Problem> {
    let tag = tag(model, read, &answer);
    if let Some(tag) = tag.as_ref().filter(|tag| etag::is_known(&incoming.headers, tag)) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response.headers_mut().insert(header::ETAG, tag.clone());
        return Ok(response);
    }
    let next = answer.next.as_deref();
    let body = text(read, answer.value, next).into_body(held)?;
    let mut response = response(StatusCode::OK, body);
    let headers = response.headers_mut();
    if let Some(tag) = tag {
        headers.insert(header::ETAG, tag);
    }
    if let Some(next) = next {
        let link = format!("<{}?{}>; rel=\"next\"", incoming.full_path, query.with_cursor(next));
        if let Ok(value) = HeaderValue::from_str(&link) {
            headers.insert(header::LINK, value);
        }
    }
    Ok(response)
}

fn text(read: &Read, value: Option<Value>, next: Option<&str>) -> AnswerText {
    let with_next = |before: &str| {
        let mut out = before.as_bytes().to_vec();
        match next {
            Some(next) => json_text::write_string(&mut out, next),
            None => out.extend_from_slice(b"null"),
        }
        out.push(b'}');
        out
    };
    let kind = read.selection.as_ref().map(|own| own.kind);
    let lists = read.each.is_some() || kind == Some(SelectionKind::Find);
    match value {
        // One row that may be missing, and is.
        None => AnswerText::of(Value::Null),
        Some(rows) if lists && read.bare => AnswerText::of(rows),
        Some(rows) if lists => AnswerText::of(rows).wrapped_in(b"{\"items\":", with_next(",\"next\":")),
        Some(Value::M(mut row)) if read.pages.is_some() => {
            // The cursor stands in a member of its own, which no attribute may take.
            row.remove("next");
            let comma = if row.is_empty() { "" } else { "," };
            AnswerText::of_members(row).wrapped_in(b"{", with_next(&format!("{comma}\"next\":")))
        }
        Some(count @ Value::N(_)) if kind == Some(SelectionKind::Count) => {
            AnswerText::of(count).wrapped_in(b"{\"count\":", vec![b'}'])
        }
        Some(value) => AnswerText::of(value),
    }
}

/// The tag of a row: its version, where the answer is that row and nothing else, and time alone does not change it.
fn tag(model: &Model, read: &Read, answer: &Answer) -> Option<HeaderValue> {
    let selection = read
        .selection
        .as_ref()
        .filter(|own| matches!(own.kind, SelectionKind::Get { .. }))?;
    let alone = read.with.is_empty() && matches!(read.returns, Return::Usual);
    let entity = model.entity(selection.entity()?).filter(|_| alone)?;
    let lapses = entity.states.as_ref().is_some_and(|states| !states.lapses.is_empty());
    etag::row_version(entity, answer.value.as_ref()?)
        .filter(|_| !lapses)
        .and_then(etag::version_tag)
}

/// The response of a write, with where its row can be read.
pub(crate) fn write_response(
    written: Written,
    location: Option<(&str, &Location)>,
    held: Arc<RequestBytes>,
) -> Response {
    let status = StatusCode::from_u16(written.status).unwrap_or(StatusCode::OK);
    let created = status == StatusCode::CREATED;
    let place = match (location, &written.value, created) {
        (Some((prefix, location)), Some(row), true) => location.path(row).map(|path| format!("{prefix}{path}")),
        _ => None,
    };
    let mut response = match written.value {
        Some(value) if status != StatusCode::NO_CONTENT => {
            self::response(status, AnswerText::of(value).into_body_anyway(held))
        }
        _ => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = status;
            response
        }
    };
    let headers = response.headers_mut();
    if let Some(tag) = written.version.and_then(etag::version_tag) {
        headers.insert(header::ETAG, tag);
    }
    if let Some(value) = place.and_then(|place| HeaderValue::from_str(&place).ok()) {
        headers.insert(header::LOCATION, value);
    }
    if written.replayed {
        headers.insert(
            HeaderName::from_static("idempotent-replay"),
            HeaderValue::from_static("true"),
        );
    }
    response
}

/// The plan of a read, in place of its answer.
pub(crate) fn plan_response(model: &Model, name: &str, plan: Option<&ReadPlan>) -> Response {
    let text = plan.map(|plan| plan_text(model, plan, false)).unwrap_or_default();
    let lines: Vec<&str> = text.lines().skip(1).map(str::trim_end).collect();
    response(StatusCode::OK, json!({"read": name, "plan": lines}).to_string().into())
}

fn response(status: StatusCode, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.reserve(HEADERS_USUAL);
    headers.insert(header::CONTENT_TYPE, JSON);
    response
}
