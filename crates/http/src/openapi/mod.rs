//! OpenAPI 3.1 of a system: what a client needs to know, from the model alone.
//!
//! Several reads may share a path; the document has one operation for them, whose parameters are those of all and whose
//! description lists which are taken together. Beside that, each read is an operation of its own, at an address of its own.

mod access;
mod examples;
mod ids;
mod operation;
mod parameters;
mod problems;
mod schema;
mod shape;
mod webhooks;

use serde_json::{Map, Value as Json, json};
use singlet_model::Model;
use singlet_runtime::Bounds;

use crate::client::{self, ClientDocument};
use crate::routing::{QueryValue, Routes};

use examples::Samples;
pub(crate) use ids::{ID_EXTENSION, pascal_case};
use schema::Schemas;
pub(crate) use shape::changed_entity;

/// What of a deployment its document shows.
#[derive(Clone, Copy, Debug)]
pub struct Deployed<'a> {
    /// The path under which the model is served.
    pub prefix: &'a str,
    /// Rows that examples are taken from, a line each: `{"Entity": {…}}`.
    pub sample: Option<&'a str>,
    /// Whether writes are refused.
    pub read_only: bool,
    /// Whether each caller has so many requests in a time.
    pub is_rated: bool,
    /// Whether clients behind proxies have so many requests at once.
    pub is_proxied: bool,
}

impl Deployed<'_> {
    /// As the model says, at the root, without proxies.
    pub fn as_modelled(model: &Model) -> Self {
        Deployed {
            prefix: "",
            sample: None,
            read_only: false,
            is_rated: model.callers.rate.is_some(),
            is_proxied: false,
        }
    }

    /// Whether a request may be one too many.
    fn may_be_too_many(self) -> bool {
        self.is_rated || self.is_proxied
    }
}

/// The document of a model as it is deployed.
pub fn openapi_document(model: &Model, routes: &Routes, deployed: Deployed<'_>) -> Json {
    let samples = Samples::of(model, deployed.sample.unwrap_or_default());
    let mut schemas = Schemas::new(model);
    let mut paths = Map::new();
    for place in routes.route_paths() {
        let mut item = Map::new();
        for (method, endpoints) in &place.methods {
            let mut described = operation::describe_operation(model, endpoints, &mut schemas, &samples, deployed);
            if place.is_own_address {
                operation::name_alone(model, &mut described);
            }
            item.insert(method.as_str().to_lowercase(), described);
        }
        paths.insert(place.path.clone(), Json::Object(item));
    }
    paths.sort_keys();
    let webhooks = webhooks::webhook_documents(model, &mut schemas);
    let (mut schemas, responses) = schemas.finish();
    for entity in &model.entities {
        if let (Some(schema), Some(row)) = (schemas.get_mut(&entity.name), samples.row(entity)) {
            schema::insert_member(schema, "examples", json!([row]));
        }
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": model.name,
            "version": "1",
            "description": description(model),
        },
        "servers": [{"url": if deployed.prefix.is_empty() { "/" } else { deployed.prefix }}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": responses,
            "parameters": parameter_list(),
            "headers": headers(),
            "securitySchemes": security_schemes(model),
        },
    });
    if let Some(webhooks) = webhooks {
        schema::insert_member(&mut document, "webhooks", webhooks);
    }
    document
}

/// One operation as a client has it.
#[derive(Debug)]
pub(crate) struct ClientOperation {
    /// Its name.
    pub name: String,
    /// Whether it writes.
    pub is_write: bool,
    /// The method and the path at which it is asked for.
    pub method: String,
    pub path: String,
    /// The names of its arguments; other parameters are always the same.
    pub arguments: Vec<String>,
    /// What the document says of it.
    pub described: Json,
}

/// Every operation by itself.
pub(crate) fn client_operations(model: &Model, routes: &Routes) -> ClientDocument {
    let samples = Samples::of(model, "");
    let mut schemas = Schemas::new(model);
    let deployed = Deployed::as_modelled(model);
    let mut operations = Vec::new();
    for (method, path, endpoint) in client::client_endpoints(routes) {
        let alone = std::slice::from_ref(endpoint);
        let in_query = endpoint.query.iter().filter_map(|parameter| match &parameter.value {
            QueryValue::Argument(_) => Some(parameter.name.clone()),
            QueryValue::Fixed(_) => None,
        });
        operations.push(ClientOperation {
            name: endpoint.name.clone(),
            is_write: endpoint.is_write,
            method,
            path,
            arguments: endpoint
                .path
                .iter()
                .map(|arg| arg.name.clone())
                .chain(in_query)
                .collect(),
            described: operation::describe_operation(model, alone, &mut schemas, &samples, deployed),
        });
    }
    let (schemas, responses) = schemas.finish();
    ClientDocument {
        operations,
        schemas,
        responses,
    }
}

fn description(model: &Model) -> String {
    let entities: Vec<String> = model
        .entities
        .iter()
        .filter(|entity| entity.mirror.is_none() && entity.role.is_none())
        .map(|entity| entity.name.clone())
        .collect();
    format!(
        "Entities: {}. Errors are problem documents (RFC 9457) with a stable `type`.",
        entities.join(", ")
    )
}

fn parameter_list() -> Json {
    json!({
        "limit": {
            "name": "limit", "in": "query", "description": "Rows in a page.",
            "schema": {"type": "integer", "minimum": 1, "maximum": Bounds::USUAL.page_rows_max},
        },
        "cursor": {
            "name": "cursor", "in": "query",
            "description": "Where to go on: `next` of the page before. It is good for this read, these parameters and this caller.",
            "schema": {"type": "string"},
        },
        "ticket": {
            "name": "ticket", "in": "query",
            "description": "`new` asks for a ticket, which comes in the header `Singlet-Ticket`. With `Accept: text/event-stream`, a ticket shows who calls in place of a header, for the same path and parameters.",
            "schema": {"type": "string"},
        },
        "Idempotency-Key": {
            "name": "Idempotency-Key", "in": "header",
            "description": "Tells a retry from a new request: the same key and request get the first answer again, for a day.",
            "schema": {"type": "string", "minLength": 1, "maxLength": 255},
        },
        "If-Match": {
            "name": "If-Match", "in": "header",
            "description": "Entity tags of which the row must have one, or `*`.",
            "schema": {"type": "string"},
        },
        "If-None-Match": {
            "name": "If-None-Match", "in": "header",
            "description": "Entity tags that the client has; the row is not sent again where it has one of them.",
            "schema": {"type": "string"},
        },
    })
}

fn headers() -> Json {
    let text = |description: &str| json!({"description": description, "schema": {"type": "string"}});
    json!({
        "X-Request-Id": text("The id under which the request is in the log."),
        "ETag": text("The version of the row."),
        "Location": text("Where the row can be read."),
        "Singlet-Ticket": text("By which the same list is watched without other credentials; good for a minute."),
        "Link": text("The next page, `rel=\"next\"`."),
        "Idempotent-Replay": text("`true` where this is the answer of an earlier request with the same key."),
        "Retry-After": text("In how many seconds to try again."),
        "WWW-Authenticate": text("Which credentials are taken."),
        "RateLimit-Policy": text("The limit of each caller."),
        "RateLimit": text("What is left of it."),
    })
}

fn security_schemes(model: &Model) -> Json {
    let mut schemes = Map::new();
    if !model.callers.claims.is_empty() {
        schemes.insert(
            "bearer".to_owned(),
            json!({"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}),
        );
    }
    if let Some(header) = &model.callers.api_key_header {
        schemes.insert(
            "apiKey".to_owned(),
            json!({"type": "apiKey", "in": "header", "name": header}),
        );
    }
    Json::Object(schemes)
}
