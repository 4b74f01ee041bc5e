//! Which request an answer and a log line belong to: `X-Request-Id` and `traceparent`.

use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// The header of request ids.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The header of the W3C trace context.
pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

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

/// The trace that a request belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TraceContext {
    /// The trace.
    pub(crate) trace: u128,
    /// The span of who asked, if that was said.
    pub(crate) parent: Option<u64>,
    /// The span of ours.
    pub(crate) span: u64,
    flags: u8,
}

impl TraceContext {
    /// The client's trace, or one of our own, with a span of ours.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let span = fastrand::u64(1..);
        match sent_context(headers) {
            Some((trace, parent, flags)) => TraceContext {
                trace,
                parent: Some(parent),
                span,
                flags,
            },
            None => TraceContext {
                trace: fastrand::u128(1..),
                parent: None,
                span,
                flags: SAMPLED,
            },
        }
    }

    /// Whether the one who began the trace wants to see it.
    pub(crate) fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// The header of the answer, where the client sent one.
    pub(crate) fn answer_header(&self) -> Option<HeaderValue> {
        self.parent?;
        let (trace, span, flags) = (self.trace, self.span, self.flags);
        HeaderValue::from_str(&format!("00-{trace:032x}-{span:016x}-{flags:02x}")).ok()
    }
}

const SAMPLED: u8 = 1;

/// The trace, the span and the flags that a client sent, where they are well formed.
fn sent_context(headers: &HeaderMap) -> Option<(u128, u64, u8)> {
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
    if !(known && hex(trace, 32) && hex(span, 16) && hex(flags, 2)) {
        return None;
    }
    let trace = u128::from_str_radix(trace, 16).ok().filter(|trace| *trace != 0)?;
    let span = u64::from_str_radix(span, 16).ok().filter(|span| *span != 0)?;
    Some((trace, span, u8::from_str_radix(flags, 16).ok()?))
}

/// Now, in nanoseconds since 1970.
pub(crate) fn nanos_now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
