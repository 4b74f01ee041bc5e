//! The protocol over HTTP: headers, bounds of a body, checksums.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use serde_json::{Map, Value as Json};

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

const JSON_1_0: &str = "application/x-amz-json-1.0";

impl Endpoint {
    /// What answers HTTP requests.
    pub fn router(self: Arc<Self>) -> Router {
        Router::new().fallback(move |request: Request<Body>| {
            let endpoint = Arc::clone(&self);
            async move { endpoint.respond(request).await }
        })
    }

    pub(crate) async fn respond(&self, request: Request<Body>) -> Response<Body> {
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
        let answered = match tokio::time::timeout(time, self.call(&parts.headers, body)).await {
            Ok(answered) => answered,
            Err(_) => Err(Fault::new(FaultKind::Internal, "the call took too long")),
        };
        match answered {
            Ok(answer) => respond_json(StatusCode::OK, &answer),
            Err(fault) => {
                if fault.kind() == FaultKind::Internal {
                    tracing::error!(reason = fault.message(), "a call failed");
                }
                let status = StatusCode::from_u16(fault.status()).unwrap_or(StatusCode::BAD_REQUEST);
                respond_json(status, &fault.body())
            }
        }
    }

    async fn call(&self, headers: &HeaderMap, body: Body) -> Result<Json, Fault> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let bytes = match tokio::time::timeout(BODY_TIME_MAX, axum::body::to_bytes(body, BODY_BYTES_MAX)).await {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(_)) => return Err(Fault::new(FaultKind::TooLargeBody, "Request body too large")),
            Err(_) => return Err(Fault::serialization("the body took too long")),
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
        self.answer(target, &object(&bytes)?).await
    }
}

/// The object that a body is. What nests deeper than any item can is no JSON here.
fn object(bytes: &[u8]) -> Result<Map<String, Json>, Fault> {
    if bytes.is_empty() {
        return Err(Fault::serialization(""));
    }
    match serde_json::from_slice(bytes) {
        Ok(Json::Object(members)) => Ok(members),
        Ok(_) => Err(Fault::serialization("Unexpected value type in payload")),
        Err(_) => Err(Fault::serialization("")),
    }
}

fn respond_json(status: StatusCode, json: &Json) -> Response<Body> {
    let bytes = serde_json::to_vec(json).unwrap_or_default();
    let mut checksum = flate2::Crc::new();
    checksum.update(&bytes);
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON_1_0));
    headers.insert("x-amz-crc32", HeaderValue::from(checksum.sum()));
    if let Ok(id) = HeaderValue::from_str(&request_id()) {
        headers.insert("x-amzn-requestid", id);
    }
    response
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
