//! Bodies of requests: bounded in size and time, JSON objects.

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use singlet_runtime::values::Tree;

use crate::problem::{FieldError, FieldErrors, Place, Problem};
use crate::settings::Limits;

/// The JSON object of a request; an empty one where nothing was sent.
///
/// # Errors
///
/// Where it is too large, too slow, or no JSON object.
pub async fn object(headers: &HeaderMap, body: Body, limits: &Limits) -> Result<Vec<(String, Tree)>, Problem> {
    let bytes = read(headers, body, limits).await?;
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    media_type(headers)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| "it is not UTF-8".to_owned());
    match text.and_then(Tree::parse) {
        Ok(Tree::Object(members)) => Ok(members),
        Ok(_) => {
            let whole = Place::Body(String::new());
            let error = FieldError::new(whole, "the body must be a JSON object");
            Err(Problem::invalid(FieldErrors::one(error)))
        }
        Err(error) => Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "invalid_json",
            format!("the body cannot be read as JSON: {error}"),
        )),
    }
}

async fn read(headers: &HeaderMap, body: Body, limits: &Limits) -> Result<axum::body::Bytes, Problem> {
    let too_large = || {
        let detail = format!("a body has at most {} bytes", limits.body_bytes_max);
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail)
    };
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok());
    let announced: Option<u64> = announced.and_then(|text| text.parse().ok());
    if announced.is_some_and(|bytes| bytes > limits.body_bytes_max as u64) {
        return Err(too_large());
    }
    // One byte more than is allowed tells a body that is too long from one that broke off.
    let reading = axum::body::to_bytes(body, limits.body_bytes_max);
    match tokio::time::timeout(limits.body_time_max, reading).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_length(&error) => Err(too_large()),
        Ok(Err(_)) => Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "incomplete_body",
            "the body broke off",
        )),
        Err(_) => {
            let detail = format!("the body took longer than {} seconds", limits.body_time_max.as_secs());
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow", detail).header(header::CONNECTION, "close"))
        }
    }
}

fn is_length(error: &axum::Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        if inner.to_string().contains("length limit") {
            return true;
        }
        source = inner.source();
    }
    false
}

fn media_type(headers: &HeaderMap) -> Result<(), Problem> {
    let sent = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = sent.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let encoded = headers.contains_key(header::CONTENT_ENCODING);
    match essence.as_str() {
        "application/json" | "application/merge-patch+json" if !encoded => Ok(()),
        _ => Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            "a body is `application/json`, uncompressed",
        )
        .header(header::ACCEPT, "application/json, application/merge-patch+json")),
    }
}
