//! The problems that an operation may answer, by status.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use super::schema::{Schemas, schema_reference};
use crate::problem::{MEDIA_TYPE, problem_uri};

/// Problems by status: the types of each.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    by_status: BTreeMap<u16, Vec<String>>,
    /// Whether who sends too many requests is told how many are left.
    pub is_rated: bool,
}

impl Problems {
    /// Adds problems that any system can have.
    pub fn add_common(&mut self, status: u16, names: &[&str]) {
        for name in names {
            self.put(status, problem_uri(None, name));
        }
    }

    /// Adds a refusal of the model.
    pub fn add_refusal(&mut self, system: &str, status: u16, name: &str) {
        self.put(status, problem_uri(Some(system), name));
    }

    fn put(&mut self, status: u16, of: String) {
        let known = self.by_status.entry(status).or_default();
        if !known.contains(&of) {
            known.push(of);
        }
    }

    /// The responses.
    pub fn problem_responses(&self, schemas: &mut Schemas<'_>, into: &mut Map<String, Json>) {
        schemas.add_schema("Problem", schema());
        for (status, types) in &self.by_status {
            let mut headers = json!({"X-Request-Id": {"$ref": "#/components/headers/X-Request-Id"}});
            let more: &[&str] = match status {
                401 => &["WWW-Authenticate"],
                429 if self.is_rated => &["Retry-After", "RateLimit", "RateLimit-Policy"],
                429 | 503 => &["Retry-After"],
                _ => &[],
            };
            for name in more {
                super::schema::insert_member(
                    &mut headers,
                    name,
                    json!({"$ref": format!("#/components/headers/{name}")}),
                );
            }
            let response = json!({
                "description": meaning(*status),
                "headers": headers,
                "content": {
                    MEDIA_TYPE: {
                        "schema": {"allOf": [schema_reference("Problem"), {"properties": {"type": {"enum": types}}}]},
                    },
                },
            });
            into.insert(status.to_string(), schemas.response_reference(*status, response));
        }
    }
}

fn meaning(status: u16) -> &'static str {
    match status {
        400 => "The input is wrong",
        401 => "No or bad credentials",
        403 => "This caller may not do this",
        404 => "There is no such row, or none that this caller may see",
        408 => "The body took too long",
        409 => "A rule, a state or a uniqueness constraint said no",
        412 => "The row has another version than `If-Match` says",
        413 => "Too large",
        415 => "The body is not JSON",
        422 => "The idempotency key was used with another request",
        428 => "`If-Match` is needed",
        429 => "Too many requests",
        503 => "There is too much to do, or the store is busy or cannot be reached",
        _ => "The request was not done",
    }
}

fn schema() -> Json {
    json!({
        "type": "object",
        "description": "A problem document (RFC 9457).",
        "properties": {
            "type": {"type": "string", "format": "uri"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "instance": {"type": "string"},
            "request_id": {"type": "string"},
            "errors": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "pointer": {"type": "string", "description": "Where in the body, a JSON pointer."},
                        "in": {"type": "string", "enum": ["path", "query", "header"]},
                        "parameter": {"type": "string"},
                        "detail": {"type": "string"},
                    },
                    "required": ["detail"],
                },
            },
            "errors_found": {
                "type": "integer",
                "description": "How many errors there are, where `errors` has only the first of them.",
            },
            "combinations": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["type", "title", "status", "detail", "instance", "request_id"],
    })
}
