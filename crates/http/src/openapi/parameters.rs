//! Parameters of paths and queries.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use singlet_model::Model;
use singlet_model::model::Argument;
use singlet_model::types::Type;

use super::examples::Samples;
use super::ids::{ids_of_arguments, with_id};
use super::schema::{Schemas, insert_member};
use crate::routing::{QueryValue, RouteEndpoint};

/// The parameters of a path.
pub(crate) fn path_parameters(
    model: &Model,
    endpoints: &[RouteEndpoint],
    schemas: &mut Schemas<'_>,
    samples: &Samples,
) -> Vec<Json> {
    let Some(first) = endpoints.first() else {
        return Vec::new();
    };
    let ids = ids_of_arguments(model, first);
    let parameter = |arg: &Argument| {
        let schema = with_id(path_schema(schemas.of_text(&arg.ty)), ids.get(&arg.name));
        let mut parameter = json!({
            "name": arg.name, "in": "path", "required": true, "schema": schema,
        });
        if let Some(example) = samples.sample_argument(model, arg) {
            insert_member(&mut parameter, "example", example);
        }
        parameter
    };
    first.path.iter().map(parameter).collect()
}

/// An empty part of a path is another path.
fn path_schema(mut schema: Json) -> Json {
    let text = schema.get("type").is_some_and(|kind| kind == "string");
    if text && schema.get("minLength").is_none() {
        insert_member(&mut schema, "minLength", json!(1));
    }
    schema
}

/// The parameters of a query: those of all reads that share the path.
pub(crate) fn query_parameters(
    model: &Model,
    endpoints: &[RouteEndpoint],
    schemas: &mut Schemas<'_>,
    samples: &Samples,
) -> Vec<Json> {
    let mut names: Vec<&str> = Vec::new();
    for parameter in endpoints.iter().flat_map(|endpoint| &endpoint.query) {
        if !names.contains(&parameter.name.as_str()) {
            names.push(&parameter.name);
        }
    }
    let mut all = Vec::new();
    let ids: BTreeMap<&str, BTreeMap<String, String>> = endpoints
        .iter()
        .map(|endpoint| (endpoint.name.as_str(), ids_of_arguments(model, endpoint)))
        .collect();
    for name in names {
        let of_name = |endpoint: &RouteEndpoint| endpoint.query.iter().position(|parameter| parameter.name == name);
        let everywhere = endpoints.iter().all(|endpoint| {
            of_name(endpoint)
                .and_then(|at| endpoint.query.get(at))
                .is_some_and(|parameter| parameter.is_needed())
        });
        let mut fixed: Vec<&str> = Vec::new();
        let mut typed: Vec<Json> = Vec::new();
        let mut example = None;
        let of_all = endpoints
            .iter()
            .flat_map(|endpoint| endpoint.query.iter().map(move |known| (endpoint.name.as_str(), known)));
        for (endpoint, parameter) in of_all.filter(|(_, known)| known.name == name) {
            match &parameter.value {
                QueryValue::Fixed(text) => fixed.push(text),
                QueryValue::Argument(arg) => {
                    let id = ids.get(endpoint).and_then(|ids| ids.get(&arg.name));
                    let schema = with_id(schemas.of_text(&arg.ty), id);
                    if !typed.contains(&schema) {
                        typed.push(schema);
                    }
                    example = example.or_else(|| {
                        samples
                            .sample_argument(model, arg)
                            .filter(|_| !matches!(arg.ty, Type::Geo(_)))
                    });
                }
            }
        }
        if !fixed.is_empty() {
            typed.push(json!({"type": "string", "enum": fixed}));
        }
        let schema = match typed.as_slice() {
            [one] => one.clone(),
            _ => json!({"anyOf": typed}),
        };
        let mut parameter = json!({"name": name, "in": "query", "required": everywhere, "schema": schema});
        if let Some(example) = example.filter(|_| everywhere) {
            insert_member(&mut parameter, "example", example);
        }
        all.push(parameter);
    }
    all
}
