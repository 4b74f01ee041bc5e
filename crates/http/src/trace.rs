//! Which request an answer and a log line belong to: `X-Request-Id` and `traceparent`.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// The header of request ids.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The header of the W3C trace context.
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The longest request id that is taken from a client.
const REQUEST_ID_CHARS_MAX: usize = 128;

/// The client's request id, if it is fit for logs, else a new one.
pub fn request_id(headers: &HeaderMap) -> String {
    let sent = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok());
    let fit = |id: &&str| {
        (1..=REQUEST_ID_CHARS_MAX).contains(&id.len())
            && id
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    match sent.filter(fit) {
        Some(id) => id.to_owned(),
        None => format!("{:032x}", fastrand::u128(..)),
    }
}

/// The trace context of the answer: the client's trace, with a span of ours.
pub fn traceparent(headers: &HeaderMap) -> Option<HeaderValue> {
    let sent = headers.get(TRACEPARENT)?.to_str().ok()?;
    let mut parts = sent.split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let hex = |text: &str, length: usize| {
        text.len() == length
            && text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    let known = version == "00" && parts.next().is_none();
    let nonzero = |text: &str| text.bytes().any(|byte| byte != b'0');
    let valid = known && hex(trace, 32) && hex(span, 16) && hex(flags, 2) && nonzero(trace) && nonzero(span);
    let own = fastrand::u64(1..);
    valid
        .then(|| HeaderValue::from_str(&format!("00-{trace}-{own:016x}-{flags}")).ok())
        .flatten()
}
