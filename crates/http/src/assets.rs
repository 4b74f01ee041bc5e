//! What describes a system: its OpenAPI document and the page that shows it.

use std::io::Read;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;

use crate::system::System;

/// What pages of the service may load: themselves, and nothing from elsewhere.
pub(crate) const PAGE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// How long a browser may keep what comes with the binary.
const KEPT: HeaderValue = HeaderValue::from_static("public, max-age=3600");

/// A text with its media type.
pub fn text_response(media_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    let value = HeaderValue::from_static(media_type);
    response.headers_mut().insert(header::CONTENT_TYPE, value);
    response
}

/// A page.
pub fn page_response(body: impl Into<Body>) -> Response {
    let mut response = text_response("text/html; charset=utf-8", body);
    response
        .headers_mut()
        .insert(header::CONTENT_SECURITY_POLICY, PAGE_POLICY);
    response
}

/// What a system says of itself.
pub fn of_system(system: &System, path: &str, headers: &HeaderMap) -> Option<Response> {
    Some(match path {
        "" | "/" => redirect(&format!("{}/docs", system.prefix)),
        "/openapi.json" => text_response("application/json", system.openapi.clone()),
        "/docs" => page_response(include_str!("../assets/docs.html")),
        "/docs/start.js" => kept(text_response(
            "text/javascript; charset=utf-8",
            include_str!("../assets/start.js"),
        )),
        "/docs/swagger-ui.css" => compressed(
            "text/css; charset=utf-8",
            include_bytes!("../assets/swagger-ui/swagger-ui.css.gz"),
            headers,
        ),
        "/docs/swagger-ui-bundle.js" => compressed(
            "text/javascript; charset=utf-8",
            include_bytes!("../assets/swagger-ui/swagger-ui-bundle.js.gz"),
            headers,
        ),
        _ => return None,
    })
}

fn redirect(to: &str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    if let Ok(value) = HeaderValue::from_str(to) {
        response.headers_mut().insert(header::LOCATION, value);
    }
    response
}

/// What is stored compressed is sent so, or unpacked for a client that cannot.
fn compressed(media_type: &'static str, bytes: &'static [u8], headers: &HeaderMap) -> Response {
    let accepted = headers
        .get(header::ACCEPT_ENCODING)
        .and_then(|value| value.to_str().ok());
    if accepted.is_some_and(|accepted| accepted.contains("gzip")) {
        let mut response = text_response(media_type, bytes);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        return kept(response);
    }
    let mut plain = Vec::new();
    // Bytes that come with the binary unpack.
    let _ = flate2::read::GzDecoder::new(bytes).read_to_end(&mut plain);
    kept(text_response(media_type, plain))
}

fn kept(mut response: Response) -> Response {
    response.headers_mut().insert(header::CACHE_CONTROL, KEPT);
    response
}
