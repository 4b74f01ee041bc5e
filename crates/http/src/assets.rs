//! What describes a system: its OpenAPI document and its pages.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;

use crate::system::System;

/// A text with its media type.
pub fn text(media_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// What a system says of itself.
pub fn of_system(system: &System, path: &str, _headers: &HeaderMap) -> Option<Response> {
    match path {
        "/openapi.json" => Some(text("application/json", system.openapi.clone())),
        _ => None,
    }
}
