//! Every answer that a test of the service gets is held against the OpenAPI document of its system: what comes with success fits its
//! schema, and a conflict is one of those that the document names.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value as Json;
use singlet_http::openapi::{Deployed, openapi_document};
use singlet_http::routing::Routes;

use crate::client::Reply;
use crate::running::{Options, SYSTEMS, model, start};

static DOCUMENTS: LazyLock<BTreeMap<&str, Json>> = LazyLock::new(|| {
    let systems = SYSTEMS.into_iter().chain(["notes", "shapes"]);
    let documents = systems.map(|system| {
        let model = model(system);
        (
            system,
            openapi_document(&model, &Routes::of(&model), Deployed::as_modelled(&model)),
        )
    });
    documents.collect()
});

/// Fails where a document does not have this answer.
pub fn hold_to_document(system: &str, method: &str, path: &str, reply: &Reply) {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    // A plan in place of an answer is for people.
    let is_plan = query.split('&').any(|name| name.starts_with("explain"));
    let is_text = method != "HEAD" && reply.header("content-encoding").is_none();
    let judged = matches!(reply.status, 200 | 201 | 409) && is_text && !is_plan;
    let Some(document) = DOCUMENTS.get(system).filter(|_| judged) else {
        return;
    };
    let wrong = answer_misfits(document, method, path, reply);
    let place = format!("{system} {method} {path} {}", reply.status);
    assert!(wrong.is_empty(), "{place}: {wrong:#?}\n{}", reply.text());
}

/// Where an answer is not what a document says of it.
pub fn answer_misfits(document: &Json, method: &str, path: &str, reply: &Reply) -> Vec<String> {
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    let paths = document["paths"].as_object().unwrap();
    let fits = |known: &str| {
        let (mut known, mut parts) = (known.split('/'), path.split('/'));
        let same = known
            .by_ref()
            .zip(parts.by_ref())
            .all(|(known, part)| known.starts_with('{') || known == part);
        same && known.next().is_none() && parts.next().is_none()
    };
    // A path in words comes before one with a variable.
    let mut fitting: Vec<&String> = paths.keys().filter(|known| fits(known)).collect();
    fitting.sort_by_key(|known| known.matches('{').count());
    let Some(operation) = fitting
        .first()
        .and_then(|known| paths[*known].get(method.to_lowercase()))
    else {
        return Vec::new();
    };
    let response = followed(document, &operation["responses"][reply.status.to_string()]);
    if response.is_null() {
        return vec![format!("the document has no status {}", reply.status)];
    }
    let content = response["content"]
        .as_object()
        .and_then(|content| content.values().next());
    let Some(content) = content else {
        let is_empty = reply.text().is_empty();
        return (!is_empty)
            .then(|| "the document has no body".to_owned())
            .into_iter()
            .collect();
    };
    let mut wrong = Vec::new();
    check(document, &content["schema"], &reply.json(), "$", &mut wrong);
    wrong
}

fn followed<'d>(document: &'d Json, mut schema: &'d Json) -> &'d Json {
    while let Some(reference) = schema.get("$ref").and_then(Json::as_str) {
        schema = document.pointer(reference.strip_prefix('#').unwrap()).unwrap();
    }
    schema
}

/// What of a schema is not looked at: it says nothing of shapes.
const NOT_LOOKED_AT: [&str; 10] = [
    "x-singlet-id",
    "contentEncoding",
    "description",
    "examples",
    "format",
    "pattern",
    "minProperties",
    "maxProperties",
    "minItems",
    "uniqueItems",
];

/// Adds where a value is not of a schema.
fn check(document: &Json, schema: &Json, value: &Json, at: &str, wrong: &mut Vec<String>) {
    let schema = followed(document, schema).as_object().unwrap();
    let no_less = |bound: &Json, length: usize| bound.as_u64().unwrap() <= length as u64;
    for (word, says) in schema {
        let holds = match word.as_str() {
            "type" => is_of_type(says, value),
            "enum" => says.as_array().unwrap().contains(value),
            "minimum" => value.as_f64().is_none_or(|number| number >= says.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= says.as_f64().unwrap()),
            "minLength" => value.as_str().is_none_or(|text| no_less(says, text.chars().count())),
            "maxLength" => value
                .as_str()
                .is_none_or(|text| text.chars().count() as u64 <= says.as_u64().unwrap()),
            "maxItems" => value
                .as_array()
                .is_none_or(|all| all.len() as u64 <= says.as_u64().unwrap()),
            "required" => {
                let names = says.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
                let missing: Vec<&str> = names
                    .filter(|name| value.as_object().is_some_and(|own| !own.contains_key(*name)))
                    .collect();
                wrong.extend(missing.iter().map(|name| format!("{at}: `{name}` is missing")));
                true
            }
            "anyOf" => says.as_array().unwrap().iter().any(|one| {
                let mut other = Vec::new();
                check(document, one, value, at, &mut other);
                other.is_empty()
            }),
            "allOf" => {
                says.as_array()
                    .unwrap()
                    .iter()
                    .for_each(|one| check(document, one, value, at, wrong));
                true
            }
            "items" => {
                let elements = value.as_array().into_iter().flatten().enumerate();
                elements.for_each(|(n, element)| check(document, says, element, &format!("{at}[{n}]"), wrong));
                true
            }
            "properties" => {
                for (name, member) in value.as_object().into_iter().flatten() {
                    if let Some(of) = says.get(name) {
                        check(document, of, member, &format!("{at}.{name}"), wrong);
                    }
                }
                true
            }
            "additionalProperties" => {
                let named = schema.get("properties").and_then(Json::as_object);
                let members = value.as_object().into_iter().flatten();
                let others = members.filter(|(name, _)| !named.is_some_and(|named| named.contains_key(*name)));
                for (name, member) in others {
                    match says {
                        Json::Bool(false) => wrong.push(format!("{at}: `{name}` is not known")),
                        of => check(document, of, member, &format!("{at}.{name}"), wrong),
                    }
                }
                true
            }
            "propertyNames" => {
                let names = value.as_object().into_iter().flat_map(|own| own.keys());
                names.for_each(|name| {
                    check(
                        document,
                        says,
                        &Json::from(name.as_str()),
                        &format!("{at}.{name}"),
                        wrong,
                    )
                });
                true
            }
            word => {
                assert!(NOT_LOOKED_AT.contains(&word), "`{word}` of {at} is not checked");
                true
            }
        };
        if !holds {
            wrong.push(format!("{at}: {value} is not `{word}: {says}`"));
        }
    }
}

fn is_of_type(says: &Json, value: &Json) -> bool {
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        other => panic!("there is no type `{other}`"),
    };
    match says {
        Json::Array(names) => names.iter().any(|name| is(name.as_str().unwrap())),
        name => is(name.as_str().unwrap()),
    }
}

#[test]
fn every_shape_of_an_answer_is_in_the_document() {
    let running = start(Options {
        only: Some(&["shapes"]),
        ..Options::default()
    });
    let post = |path: &str, body: &str| running.call("shapes", "ada", "POST", path, &[], body).status;
    assert_eq!(post("/shelves", r#"{"owner": "ada"}"#), 201);
    let things = [
        r#"{"owner": "ada", "id": "1", "n": 2, "pairs": [], "pair": {"a": 1, "b": "x"}, "word": "w"}"#,
        r#"{"owner": "ada", "id": "2", "colour": "blue", "pairs": [{"a": 1}]}"#,
        r#"{"owner": "bob", "id": "1", "pairs": []}"#,
    ];
    for thing in things {
        assert_eq!(post("/things", thing), 201);
    }
    for owner in ["ada", "bob", "cy"] {
        let reads = [
            "things",
            "named",
            "paired",
            "words",
            "count",
            "count-sums",
            "count-by",
            "count-by-two",
            "count-by-sums",
            "shelf",
            "shelf-or-none",
            "groups",
        ];
        for read in reads {
            let reply = running.get("shapes", "ada", &format!("/{read}/{owner}"));
            assert_eq!(reply.status, 200, "{read} {}", reply.text());
        }
    }
    let each = running.get("shapes", "ada", "/each?owners=%5B%22ada%22,%22cy%22%5D");
    assert_eq!(each.status, 200, "{}", each.text());
    // Each refusal is asked for until it comes.
    let refused = [
        ("/things/ada/1/pairs", r#"{"pair": {"a": 1}}"#),
        ("/things/ada/1/raise", r#"{"by": 4}"#),
        ("/only/ada", "{}"),
    ];
    for (path, body) in refused {
        assert!((0..3).any(|_| post(path, body) == 409), "{path}");
    }
    let tags = (0..3).map(|tag| post("/things/ada/1/tags", &format!("{{\"tag\": {tag}}}")));
    assert_eq!(tags.collect::<Vec<u16>>(), [200, 200, 409]);
}
