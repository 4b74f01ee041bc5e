//! Bodies of requests: bounded in size and time, JSON objects.

use axum::body::{Body, HttpBody as _};
use axum::http::{HeaderMap, StatusCode, header};
use futures_util::StreamExt;
use singlet_values::{JsonError, Members, Tree};

use crate::admission::RequestBytes;
use crate::problem::{FieldError, FieldErrors, Problem, RequestPlace};
use crate::settings::Limits;

/// Bytes that one value of a JSON text takes while the request is made of it, about: in the tree, as an argument, in the item.
const VALUE_BYTES: usize = 128;

/// How often a text is there while the request is made of it: as it came, in the tree, as an argument.
const TEXT_FACTOR: usize = 3;

/// A body that nobody has read yet. Where it is never read, because its request is refused or takes none, it is thrown away as it comes: a
/// client that sends all of it before it reads finds its answer, and its connection stays. What is larger than any body, or does
/// not come in time, ends the connection.
///
/// **Invariant:** nothing is thrown away of one who waits to be told to go on (`Expect: 100-continue`). After a refusal it sends its next
/// request, which would be taken for the body.
pub(crate) struct UnreadBody {
    body: Option<Body>,
    waits: bool,
    limits: Limits,
}

impl UnreadBody {
    pub(crate) fn new(headers: &HeaderMap, body: Body, limits: &Limits) -> Self {
        UnreadBody {
            waits: headers.contains_key(header::EXPECT),
            body: Some(body),
            limits: *limits,
        }
    }

    /// The body, to be read.
    pub(crate) fn taken(mut self) -> Body {
        self.body.take().unwrap_or_default()
    }
}

impl Drop for UnreadBody {
    fn drop(&mut self) {
        let Some(body) = self.body.take().filter(|body| !body.is_end_stream()) else {
            return;
        };
        // A connection is only used again where what was announced can be read past.
        let fits = body.size_hint().lower() <= self.limits.body_bytes_max as u64;
        if fits
            // Who waits to be told to send would be told so by this.
            && !self.waits
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(discard(body, self.limits));
        }
    }
}

/// The body of a request, as it was sent.
#[derive(Debug)]
pub(crate) struct RequestBody(Vec<u8>);

/// Reads the body of a request, and holds the memory for what is made of it.
///
/// # Errors
///
/// Where it is too large, too slow, or not said to be JSON; or where it does not fit beside what other requests hold.
pub(crate) async fn read_body(
    headers: &HeaderMap,
    body: UnreadBody,
    limits: &Limits,
    held: &RequestBytes,
) -> Result<RequestBody, Problem> {
    let bytes = read(headers, body, limits, held).await?;
    if !bytes.is_empty() {
        media_type(headers)?;
        held.cover_bytes(taken_apart_bytes(&bytes))?;
    }
    Ok(RequestBody(bytes))
}

impl RequestBody {
    /// The JSON object that it is; an empty one where nothing was sent.
    ///
    /// # Errors
    ///
    /// Where it is no JSON object.
    pub fn object_members(&self) -> Result<Members<'_>, Problem> {
        if self.0.is_empty() {
            return Ok(Members::new());
        }
        let text = std::str::from_utf8(&self.0).map_err(|_| JsonError::NoText);
        match text.and_then(Tree::parse) {
            Ok(Tree::Object(members)) => Ok(members),
            Ok(_) => {
                let whole = RequestPlace::Body(String::new());
                let error = FieldError::new(whole, "the body must be a JSON object");
                Err(Problem::invalid_input(FieldErrors::only_error(error)))
            }
            Err(error) => Err(Problem::new(
                StatusCode::BAD_REQUEST,
                "invalid_json",
                format!("the body cannot be read as JSON: {error}"),
            )),
        }
    }
}

/// Bytes that a text takes once it is taken apart: `[7,7,…]` is sixty times as large then.
fn taken_apart_bytes(text: &[u8]) -> usize {
    let values = text.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
    text.len().saturating_mul(TEXT_FACTOR) + values * VALUE_BYTES
}

/// Reads a body. Its bytes are held from the start where it announces them, for a body that was half taken and then refused would
/// have been read in vain.
async fn read(headers: &HeaderMap, body: UnreadBody, limits: &Limits, held: &RequestBytes) -> Result<Vec<u8>, Problem> {
    let too_large = || {
        let detail = format!("a body has at most {} bytes", limits.body_bytes_max);
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail)
    };
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok());
    let announced: Option<u64> = announced.and_then(|text| text.parse().ok());
    // Before a byte is read.
    if announced.is_some_and(|bytes| bytes > limits.body_bytes_max as u64) {
        return Err(too_large());
    }
    let announced = announced.map_or(0, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    // Held before it is read: bodies that come slowly hold memory all the while.
    held.cover_bytes(announced.saturating_mul(TEXT_FACTOR))?;
    let mut stream = body.taken().into_data_stream();
    let reading = async {
        let mut bytes = Vec::with_capacity(announced);
        while let Some(more) = stream.next().await {
            let more =
                more.map_err(|_| Problem::new(StatusCode::BAD_REQUEST, "incomplete_body", "the body broke off"))?;
            let length = bytes.len().saturating_add(more.len());
            // What was announced may be less than what comes.
            if length > limits.body_bytes_max {
                return Err(too_large());
            }
            held.cover_bytes(length.saturating_mul(TEXT_FACTOR))?;
            bytes.extend_from_slice(&more);
        }
        Ok(bytes)
    };
    match tokio::time::timeout(limits.body_time_max, reading).await {
        Ok(read) => read,
        Err(_) => {
            let detail = format!("the body took longer than {} seconds", limits.body_time_max.as_secs());
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow", detail)
                .with_header(header::CONNECTION, "close"))
        }
    }
}

/// Throws away what is still to come of a body, within the bounds of any.
async fn discard(body: Body, limits: Limits) {
    let mut stream = body.into_data_stream();
    let discarding = async {
        let mut bytes = 0_usize;
        while let Some(Ok(more)) = stream.next().await
            && bytes <= limits.body_bytes_max
        {
            bytes = bytes.saturating_add(more.len());
        }
    };
    // One that does not come in time is left.
    let _ = tokio::time::timeout(limits.body_time_max, discarding).await;
}

fn media_type(headers: &HeaderMap) -> Result<(), Problem> {
    let sent = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = sent.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    // A small body may be a large one when it is unpacked.
    let encoded = headers.contains_key(header::CONTENT_ENCODING);
    match essence.as_str() {
        "application/json" | "application/merge-patch+json" if !encoded => Ok(()),
        _ => Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            "a body is `application/json`, uncompressed",
        )
        .with_header(header::ACCEPT, "application/json, application/merge-patch+json")),
    }
}
