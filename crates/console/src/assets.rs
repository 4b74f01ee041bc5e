//! The page, its script and its style: what `web/` becomes, as it stands in `dist/`.

use std::io::Read;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;

use crate::answer::text_response;

/// The page and what it loads; none where there is nothing of that name. Every other path without an ending is the page too: the
/// page knows its views by their paths.
pub(crate) fn console_asset(path: &str, headers: &HeaderMap) -> Option<Response> {
    match path {
        "/console/" => Some(redirect("/console")),
        "/console/app.js" => Some(packed(
            "text/javascript; charset=utf-8",
            include_bytes!("../dist/app.js.gz"),
            headers,
        )),
        "/console/app.css" => Some(text_response(
            "text/css; charset=utf-8",
            include_str!("../dist/app.css"),
        )),
        "/console/icon.svg" => Some(text_response("image/svg+xml", include_str!("../dist/icon.svg"))),
        path if !path.contains('.') => Some(text_response(
            "text/html; charset=utf-8",
            include_str!("../dist/index.html"),
        )),
        _ => None,
    }
}

fn redirect(to: &'static str) -> Response {
    let mut response = text_response("text/plain", "");
    *response.status_mut() = StatusCode::SEE_OTHER;
    response
        .headers_mut()
        .insert(header::LOCATION, HeaderValue::from_static(to));
    response
}

/// What is stored compressed is sent so, or unpacked for a client that cannot.
fn packed(media_type: &'static str, bytes: &'static [u8], headers: &HeaderMap) -> Response {
    let accepted = headers
        .get(header::ACCEPT_ENCODING)
        .and_then(|value| value.to_str().ok());
    if accepted.is_some_and(|accepted| accepted.contains("gzip")) {
        let mut response = text_response(media_type, bytes);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        return response;
    }
    let mut plain = Vec::new();
    // Bytes that come with the binary unpack.
    let _ = flate2::read::GzDecoder::new(bytes).read_to_end(&mut plain);
    text_response(media_type, plain)
}
