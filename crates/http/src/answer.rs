//! Answers as responses.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde_json::json;
use singlet_item::Value;
use singlet_model::Model;
use singlet_model::model::{Read, Return, SelectionKind};
use singlet_plan::read::ReadPlan;
use singlet_plan::read::plan_text;
use singlet_runtime::values::json_text;
use singlet_runtime::{Answer, Written};

use crate::call::Incoming;
use crate::etag;
use crate::location::Location;
use crate::query::Query;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The response of a read: a row, `null` where it may be missing and is, `{"items": […], "next": …}`, or groups.
pub(crate) fn read(model: &Model, read: &Read, answer: Answer, query: &Query, incoming: &Incoming) -> Response {
    let tag = tag(model, read, &answer);
    if let Some(tag) = tag.as_ref().filter(|tag| etag::is_known(&incoming.headers, tag)) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response.headers_mut().insert(header::ETAG, tag.clone());
        return response;
    }
    let mut response = response(StatusCode::OK, text(read, &answer));
    let headers = response.headers_mut();
    if let Some(tag) = tag {
        headers.insert(header::ETAG, tag);
    }
    if let Some(next) = &answer.next {
        let link = format!("<{}?{}>; rel=\"next\"", incoming.full_path, query.with_cursor(next));
        if let Ok(value) = HeaderValue::from_str(&link) {
            headers.insert(header::LINK, value);
        }
    }
    response
}

fn text(read: &Read, answer: &Answer) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    let next = |out: &mut Vec<u8>| match &answer.next {
        Some(next) => json_text::string(out, next),
        None => out.extend_from_slice(b"null"),
    };
    let kind = read.selection.as_ref().map(|own| own.kind);
    let lists = read.each.is_some() || kind == Some(SelectionKind::Find);
    match &answer.value {
        // One row that may be missing, and is.
        None => out.extend_from_slice(b"null"),
        Some(rows) if lists && read.bare => json_text::write(&mut out, rows),
        Some(rows) if lists => {
            out.extend_from_slice(b"{\"items\":");
            json_text::write(&mut out, rows);
            out.extend_from_slice(b",\"next\":");
            next(&mut out);
            out.push(b'}');
        }
        Some(Value::M(row)) if read.pages.is_some() => {
            // The cursor stands in a member of its own, which no attribute may take.
            let others = row.iter().filter(|(name, _)| *name != "next");
            let others = others.map(|(name, value)| (name.clone(), value.clone())).collect();
            json_text::write(&mut out, &Value::M(others));
            if out.pop() == Some(b'}') && out.len() > 1 {
                out.push(b',');
            }
            out.extend_from_slice(b"\"next\":");
            next(&mut out);
            out.push(b'}');
        }
        Some(count @ Value::N(_)) if kind == Some(SelectionKind::Count) => {
            out.extend_from_slice(b"{\"count\":");
            json_text::write(&mut out, count);
            out.push(b'}');
        }
        Some(value) => json_text::write(&mut out, value),
    }
    out
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
    etag::version(entity, answer.value.as_ref()?)
        .filter(|_| !lapses)
        .and_then(etag::tag)
}

/// The response of a write, with where its row can be read.
pub(crate) fn write(written: Written, location: Option<(&str, &Location)>) -> Response {
    let status = StatusCode::from_u16(written.status).unwrap_or(StatusCode::OK);
    let mut response = match &written.value {
        Some(value) if status != StatusCode::NO_CONTENT => {
            let mut out = Vec::with_capacity(256);
            json_text::write(&mut out, value);
            self::response(status, out)
        }
        _ => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = status;
            response
        }
    };
    let headers = response.headers_mut();
    if let Some(tag) = written.version.and_then(etag::tag) {
        headers.insert(header::ETAG, tag);
    }
    let created = written.status == StatusCode::CREATED.as_u16();
    if let (Some((prefix, location)), Some(row), true) = (location, &written.value, created)
        && let Some(path) = location.path(row)
        && let Ok(value) = HeaderValue::from_str(&format!("{prefix}{path}"))
    {
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
pub(crate) fn plan(model: &Model, name: &str, plan: Option<&ReadPlan>) -> Response {
    let text = plan.map(|plan| plan_text(model, plan, false)).unwrap_or_default();
    let lines: Vec<&str> = text.lines().skip(1).map(str::trim_end).collect();
    response(
        StatusCode::OK,
        json!({"read": name, "plan": lines}).to_string().into_bytes(),
    )
}

fn response(status: StatusCode, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}
