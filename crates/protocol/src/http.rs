//! The protocol over HTTP: headers, bounds of a body, checksums.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, BodyDataStream, Bytes};
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use futures_util::{StreamExt, stream};
use serde_json::{Map, Value as Json};

use crate::admission::{HeldBytes, SMALL_BYTES};
use crate::endpoint::Endpoint;
use crate::fault::{Fault, FaultKind};

/// The longest body: DynamoDB takes 16 MB of items in a batch, and JSON is longer than what it says.
const BODY_BYTES_MAX: usize = 25 * 1024 * 1024;
/// How long a body may take to arrive.
const BODY_TIME_MAX: Duration = Duration::from_secs(30);
/// How long a call may take.
const CALL_TIME_MAX: Duration = Duration::from_secs(60);
/// How long a call that makes or changes a table may take: an index is filled meanwhile.
const TABLE_CALL_TIME_MAX: Duration = Duration::from_secs(600);

/// Bytes of a long answer that are handed on at once.
const PIECE_BYTES: usize = 64 * 1024;
/// The calls that change nothing and may be refused when their answer is ready.
const READS: [&[u8]; 7] = [
    b".GetItem",
    b".BatchGetItem",
    b".TransactGetItems",
    b".Query",
    b".Scan",
    b".GetRecords",
    b".DescribeStream",
];

const JSON_1_0: &str = "application/x-amz-json-1.0";

impl Endpoint {
    /// What answers HTTP requests.
    pub fn router(self: Arc<Self>) -> Router {
        Router::new().fallback(move |request: Request<Body>| {
            let endpoint = Arc::clone(&self);
            async move { endpoint.respond_http(request).await }
        })
    }

    pub(crate) async fn respond_http(&self, request: Request<Body>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        if parts.method == Method::GET {
            return plain(StatusCode::OK, "healthy: dynamodb");
        }
        if parts.method != Method::POST {
            return plain(StatusCode::NOT_FOUND, "");
        }
        let target = parts
            .headers
            .get("x-amz-target")
            .map(HeaderValue::as_bytes)
            .unwrap_or_default();
        let time = match target.ends_with(b"Table") {
            true => TABLE_CALL_TIME_MAX,
            false => CALL_TIME_MAX,
        };
        let mut held = self.admission.hold_bytes();
        let is_read = READS.iter().any(|call| target.ends_with(call));
        let answered = match tokio::time::timeout(time, self.call(&parts.headers, body, &mut held)).await {
            Ok(answered) => answered,
            Err(_) => Err(Fault::new(FaultKind::Internal, "the call took too long")),
        };
        let answered = answered.map(|answer| text_of(&answer)).and_then(|text| {
            // What was written is answered, whatever others hold.
            match held.cover_text(text.len()) {
                Err(fault) if is_read => Err(fault),
                _ => Ok(text),
            }
        });
        match answered {
            Ok(text) => respond_json(StatusCode::OK, text, held),
            Err(fault) => {
                if fault.kind() == FaultKind::Internal {
                    tracing::error!(reason = fault.message(), "a call failed");
                }
                let status = StatusCode::from_u16(fault.status()).unwrap_or(StatusCode::BAD_REQUEST);
                respond_json(status, text_of(&fault.fault_body()), held)
            }
        }
    }

    async fn call(&self, headers: &HeaderMap, body: Body, held: &mut HeldBytes) -> Result<Json, Fault> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let announced = text("content-length").and_then(|text| text.parse().ok());
        let bytes = match tokio::time::timeout(BODY_TIME_MAX, read_body(body, announced.unwrap_or(0), held)).await {
            Ok(read) => read?,
            Err(_) => return Err(Fault::serialization_fault("the body took too long")),
        };
        let Some(target) = text("x-amz-target") else {
            return Err(Fault::new(FaultKind::UnknownOperation, ""));
        };
        if !headers.contains_key(header::AUTHORIZATION) {
            return Err(Fault::new(
                FaultKind::MissingAuthentication,
                "Request is missing Authentication Token",
            ));
        }
        held.cover_parsed(&bytes)?;
        let _place = self.admission.enter_call()?;
        self.answer_call(target, &object(&bytes)?).await
    }
}

/// Reads a body. Its bytes are held from the start where it announces them: half of it would have been read in vain.
async fn read_body(body: Body, announced: usize, held: &mut HeldBytes) -> Result<Vec<u8>, Fault> {
    let too_large = || Fault::new(FaultKind::TooLargeBody, "Request body too large");
    if announced > BODY_BYTES_MAX {
        return Err(too_large());
    }
    let mut stream = body.into_data_stream();
    if let Err(refused) = held.cover_text(announced) {
        tokio::spawn(tokio::time::timeout(BODY_TIME_MAX, throw_away(stream)));
        return Err(refused);
    }
    let mut bytes = Vec::with_capacity(announced);
    while let Some(more) = stream.next().await {
        let more = more.map_err(|_| Fault::serialization_fault("the body broke off"))?;
        let length = bytes.len().saturating_add(more.len());
        if length > BODY_BYTES_MAX {
            return Err(too_large());
        }
        held.cover_text(length)?;
        bytes.extend_from_slice(&more);
    }
    Ok(bytes)
}

/// Throws away what is still to come of a body: a client that sends all of it and then reads finds its answer.
async fn throw_away(mut stream: BodyDataStream) {
    let mut bytes = 0_usize;
    while let Some(Ok(more)) = stream.next().await
        && bytes <= BODY_BYTES_MAX
    {
        bytes = bytes.saturating_add(more.len());
    }
}

/// The object that a body is. What nests deeper than any item can is no JSON here.
fn object(bytes: &[u8]) -> Result<Map<String, Json>, Fault> {
    if bytes.is_empty() {
        return Err(Fault::serialization_fault(""));
    }
    match serde_json::from_slice(bytes) {
        Ok(Json::Object(members)) => Ok(members),
        Ok(_) => Err(Fault::serialization_fault("Unexpected value type in payload")),
        Err(_) => Err(Fault::serialization_fault("")),
    }
}

fn text_of(json: &Json) -> Vec<u8> {
    serde_json::to_vec(json).unwrap_or_default()
}

fn respond_json(status: StatusCode, text: Vec<u8>, held: HeldBytes) -> Response<Body> {
    let mut checksum = flate2::Crc::new();
    checksum.update(&text);
    let length = text.len();
    let mut response = Response::new(held_body(text, held));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON_1_0));
    headers.insert("x-amz-crc32", HeaderValue::from(checksum.sum()));
    if let Ok(id) = HeaderValue::from_str(&request_id()) {
        headers.insert("x-amzn-requestid", id);
    }
    response
}

/// A body whose bytes are held until they are sent, or until the one who asked has gone.
fn held_body(text: Vec<u8>, held: HeldBytes) -> Body {
    if text.len() <= SMALL_BYTES {
        return Body::from(text);
    }
    let mut text = Bytes::from(text);
    let pieces = std::iter::from_fn(move || {
        let _held = &held;
        let piece = text.split_to(text.len().min(PIECE_BYTES));
        (!piece.is_empty()).then_some(Ok::<_, Infallible>(piece))
    });
    Body::from_stream(stream::iter(pieces))
}

fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response
}

/// 52 letters and digits, as DynamoDB has them.
fn request_id() -> String {
    const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ012345";
    let mut random = [0; 52];
    // Without randomness the id is the same each time, which harms nobody.
    let _ = getrandom::fill(&mut random);
    let letter = |byte: u8| LETTERS.get(usize::from(byte % 32)).copied().map_or('A', char::from);
    random.into_iter().map(letter).collect()
}
