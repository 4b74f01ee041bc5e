//! OpenAPI 3.1 of a system.

use serde_json::{Value as Json, json};
use singlet_model::Model;

use crate::routing::Routes;

/// The document.
pub fn document(model: &Model, _routes: &Routes, prefix: &str, _sample: Option<&str>) -> Json {
    json!({"openapi": "3.1.0", "info": {"title": model.name, "version": "1"}, "servers": [{"url": if prefix.is_empty() { "/" } else { prefix }}], "paths": {}})
}
