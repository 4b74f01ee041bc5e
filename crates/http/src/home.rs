//! The page at `/`.

use std::sync::Arc;

use axum::response::Response;

use crate::assets;
use crate::system::System;

/// The systems with their entities, routes and links.
pub fn page(systems: &[Arc<System>]) -> Response {
    let names: Vec<&str> = systems.iter().map(|system| system.name.as_str()).collect();
    assets::text("text/html; charset=utf-8", names.join(", "))
}
