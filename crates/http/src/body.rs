//! Bodies of requests: bounded in size and time, JSON objects.

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use serde_json::{Map, Value as Json};

use singlet_item::Number;

use crate::problem::{FieldError, Place, Problem};
use crate::settings::Limits;

/// How much of a number is shown again.
const NUMBER_CHARS_SHOWN_MAX: usize = 60;

/// The JSON object of a request; an empty one where nothing was sent.
///
/// # Errors
///
/// Where it is too large, too slow, or no JSON object.
pub async fn object(headers: &HeaderMap, body: Body, limits: &Limits) -> Result<Map<String, Json>, Problem> {
    let bytes = read(headers, body, limits).await?;
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    media_type(headers)?;
    let whole = |detail: String| Problem::invalid(vec![FieldError::new(Place::Body(String::new()), detail)]);
    match serde_json::from_slice(&bytes) {
        Ok(Json::Object(entries)) => match inexact_number(&bytes) {
            Some(number) => Err(whole(format!("`{number}` has more digits than can be kept"))),
            None => Ok(entries),
        },
        Ok(_) => Err(whole("the body must be a JSON object".to_owned())),
        Err(error) => Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "invalid_json",
            format!("the body is not JSON: {error}"),
        )),
    }
}

/// A number of a JSON text that would not be itself any more: it is held as a double on its way.
fn inexact_number(text: &[u8]) -> Option<String> {
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        rest = match first {
            b'"' => after_string(after),
            b'-' | b'0'..=b'9' => {
                let part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
                let length = rest.iter().position(|byte| !part(byte)).unwrap_or(rest.len());
                let (token, after) = rest.split_at(length);
                let token = std::str::from_utf8(token).unwrap_or_default();
                if !is_kept(token) {
                    return Some(token.chars().take(NUMBER_CHARS_SHOWN_MAX).collect());
                }
                after
            }
            _ => after,
        };
    }
    None
}

/// What follows a string, its first quote left behind.
fn after_string(text: &[u8]) -> &[u8] {
    let mut escaped = false;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'"' if !escaped => return text.get(at + 1..).unwrap_or_default(),
            byte => escaped = *byte == b'\\' && !escaped,
        }
    }
    &[]
}

fn is_kept(token: &str) -> bool {
    let held: Option<serde_json::Number> = serde_json::from_str(token).ok();
    let held: Option<Number> = held.and_then(|number| number.to_string().parse().ok());
    held.is_some() && held == token.parse().ok()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_kept_exactly_or_refused() {
        let refused = |text: &str| inexact_number(text.as_bytes());
        assert_eq!(
            refused(r#"{"a": 0.1, "b": [1e5, -12.50, 18446744073709551615], "c": "1.00000000000000000001"}"#),
            None
        );
        assert_eq!(
            refused(r#"{"a\"": "\\", "b": 0.10000000000000000001}"#).as_deref(),
            Some("0.10000000000000000001")
        );
        assert_eq!(
            refused(r#"[18446744073709551617]"#).as_deref(),
            Some("18446744073709551617")
        );
        assert!(refused(&format!("[{}]", "9".repeat(50))).is_some());
        assert!(refused("[1e300]").is_some());
    }
}
