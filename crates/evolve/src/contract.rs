//! What an old client loses: two OpenAPI documents.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value as Json;

use crate::schema::{Flow, Side, resolve_reference, schema_breaks};

/// Something that a client, a follower or a reader of a lake may notice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContractChange {
    /// Whether something that worked does so no more.
    pub breaking: bool,
    /// Of what: `GET /tasks`, `webhook reserved`.
    pub at: String,
    /// What differs.
    pub what: String,
}

impl ContractChange {
    pub(crate) fn breaking_change(at: &str, what: impl Into<String>) -> Self {
        ContractChange {
            breaking: true,
            at: at.to_owned(),
            what: what.into(),
        }
    }

    pub(crate) fn noted_change(at: &str, what: impl Into<String>) -> Self {
        ContractChange {
            breaking: false,
            at: at.to_owned(),
            what: what.into(),
        }
    }
}

const METHODS: [&str; 7] = ["get", "put", "post", "delete", "patch", "head", "options"];

/// Compares what two OpenAPI documents promise to clients.
pub fn compare_contracts(old: &Json, new: &Json) -> Vec<ContractChange> {
    let mut found = Vec::new();
    let (before, after) = (operations(old), operations(new));
    for (place, was) in &before {
        let at = was.name.as_str();
        match after.get(place) {
            None => found.push(ContractChange::breaking_change(at, "is gone")),
            Some(is) => {
                let documents = (old, new);
                parameters(at, documents, (was, is), &mut found);
                body(at, documents, (was.described, is.described), &mut found);
                answers(at, documents, (was.described, is.described), &mut found);
                credentials(at, (was.described, is.described), &mut found);
            }
        }
    }
    for (place, is) in &after {
        if !before.contains_key(place) {
            found.push(ContractChange::noted_change(&is.name, "is new"));
        }
    }
    webhooks(old, new, &mut found);
    found.sort_by(|one, other| (&one.at, !one.breaking, &one.what).cmp(&(&other.at, !other.breaking, &other.what)));
    found.dedup();
    found
}

/// An operation of a document.
struct Operation<'j> {
    /// As people call it: `GET /tasks/{id}`.
    name: String,
    path: &'j str,
    described: &'j Json,
}

/// Operations by what they are asked for with: how a variable of the path is called is not sent.
fn operations(document: &Json) -> BTreeMap<(String, &'static str), Operation<'_>> {
    let mut found = BTreeMap::new();
    let paths = document.get("paths").and_then(Json::as_object);
    for (path, item) in paths.into_iter().flatten() {
        for method in METHODS {
            if let Some(described) = item.get(method) {
                let operation = Operation {
                    name: format!("{} {path}", method.to_uppercase()),
                    path,
                    described,
                };
                found.insert((without_names(path), method), operation);
            }
        }
    }
    found
}

fn without_names(path: &str) -> String {
    let steps = path.split('/').map(|step| match step.starts_with('{') {
        true => "{}",
        false => step,
    });
    steps.collect::<Vec<_>>().join("/")
}

/// Parameters by place and name; those of the path by their position.
fn named_parameters<'j>(document: &'j Json, operation: &Operation<'j>) -> BTreeMap<(String, String), &'j Json> {
    let listed = operation.described.get("parameters").and_then(Json::as_array);
    let text = |parameter: &Json, word: &str| {
        parameter
            .get(word)
            .and_then(Json::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let mut found = BTreeMap::new();
    for parameter in listed.into_iter().flatten() {
        let parameter = resolve_reference(document, parameter);
        let (place, name) = (text(parameter, "in"), text(parameter, "name"));
        let position = || {
            let mut steps = operation.path.split('/');
            steps.position(|step| step.trim_matches(['{', '}']) == name)
        };
        let name = match place.as_str() {
            "path" => position().map_or(name.clone(), |at| format!("step {at}")),
            _ => name,
        };
        found.insert((place, name), parameter);
    }
    found
}

fn parameters(
    at: &str,
    (old, new): (&Json, &Json),
    (was, is): (&Operation<'_>, &Operation<'_>),
    found: &mut Vec<ContractChange>,
) {
    let (before, after) = (named_parameters(old, was), named_parameters(new, is));
    let is_required = |parameter: &Json| parameter.get("required") == Some(&Json::Bool(true));
    let called = |parameter: &Json| {
        let name = parameter.get("name").and_then(Json::as_str).unwrap_or_default();
        let place = parameter.get("in").and_then(Json::as_str).unwrap_or_default();
        match place {
            "path" => format!("`{name}` of the path"),
            "header" => format!("header `{name}`"),
            _ => format!("parameter `{name}`"),
        }
    };
    for (key, parameter) in &before {
        let Some(now) = after.get(key) else {
            found.push(ContractChange::breaking_change(
                at,
                format!("{} is taken no more", called(parameter)),
            ));
            continue;
        };
        if is_required(now) && !is_required(parameter) {
            found.push(ContractChange::breaking_change(
                at,
                format!("{} must be sent now", called(now)),
            ));
        }
        if let (Some(one), Some(other)) = (parameter.get("schema"), now.get("schema")) {
            let (one, other) = (side(old, one), side(new, other));
            for reason in schema_breaks(one, other, Flow::Request) {
                let what = format!("{}: what was taken is refused: {reason}", called(now));
                found.push(ContractChange::breaking_change(at, what));
            }
        }
    }
    for (key, parameter) in &after {
        if !before.contains_key(key) {
            found.push(match is_required(parameter) {
                true => ContractChange::breaking_change(at, format!("{} must be sent now", called(parameter))),
                false => ContractChange::noted_change(at, format!("{} is new", called(parameter))),
            });
        }
    }
}

fn side<'j>(document: &'j Json, schema: &'j Json) -> Side<'j> {
    Side { document, schema }
}

fn body(at: &str, (old, new): (&Json, &Json), (was, is): (&Json, &Json), found: &mut Vec<ContractChange>) {
    let part = |document: &'_ Json, operation: &'_ Json| {
        let body = operation
            .get("requestBody")
            .map(|body| resolve_reference(document, body).clone());
        body.unwrap_or(Json::Null)
    };
    let (before, after) = (part(old, was), part(new, is));
    let is_required = |body: &Json| body.get("required") == Some(&Json::Bool(true));
    if is_required(&after) && !is_required(&before) {
        found.push(ContractChange::breaking_change(at, "a body must be sent now"));
    }
    let contents = before.get("content").and_then(Json::as_object);
    for (kind, content) in contents.into_iter().flatten() {
        let Some(now) = after.get("content").and_then(|contents| contents.get(kind)) else {
            found.push(ContractChange::breaking_change(
                at,
                format!("a body of `{kind}` is taken no more"),
            ));
            continue;
        };
        if let (Some(one), Some(other)) = (content.get("schema"), now.get("schema")) {
            for reason in schema_breaks(side(old, one), side(new, other), Flow::Request) {
                let what = format!("what was taken is refused: {reason}");
                found.push(ContractChange::breaking_change(at, what));
            }
            for reason in schema_breaks(side(new, other), side(old, one), Flow::Request) {
                if let Some(name) = reason.strip_suffix(" is taken no more") {
                    found.push(ContractChange::noted_change(at, format!("{name} can be sent")));
                }
            }
        }
    }
}

fn answers(at: &str, (old, new): (&Json, &Json), (was, is): (&Json, &Json), found: &mut Vec<ContractChange>) {
    let listed = |document: &'_ Json, operation: &'_ Json| -> BTreeMap<String, Json> {
        let answers = operation.get("responses").and_then(Json::as_object);
        let answers = answers.into_iter().flatten();
        answers
            .map(|(status, answer)| (status.clone(), resolve_reference(document, answer).clone()))
            .collect()
    };
    let (before, after) = (listed(old, was), listed(new, is));
    let is_success = |status: &str| !status.starts_with('4') && !status.starts_with('5');
    for (status, answer) in before.iter().filter(|(status, _)| is_success(status)) {
        let Some(now) = after.get(status) else {
            found.push(ContractChange::breaking_change(
                at,
                format!("{status} is answered no more"),
            ));
            continue;
        };
        let headers = answer.get("headers").and_then(Json::as_object);
        for name in headers.into_iter().flatten().map(|(name, _)| name) {
            if now.get("headers").and_then(|headers| headers.get(name)).is_none() {
                found.push(ContractChange::breaking_change(
                    at,
                    format!("header `{name}` of {status} is gone"),
                ));
            }
        }
        let contents = answer.get("content").and_then(Json::as_object);
        for (kind, content) in contents.into_iter().flatten() {
            let Some(content_now) = now.get("content").and_then(|contents| contents.get(kind)) else {
                found.push(ContractChange::breaking_change(
                    at,
                    format!("`{kind}` is answered no more"),
                ));
                continue;
            };
            if let (Some(one), Some(other)) = (content.get("schema"), content_now.get("schema")) {
                for reason in schema_breaks(side(new, other), side(old, one), Flow::Answer) {
                    found.push(ContractChange::breaking_change(
                        at,
                        format!("the answer is another: {reason}"),
                    ));
                }
                for reason in schema_breaks(side(old, one), side(new, other), Flow::Answer) {
                    if let Some(name) = reason.strip_suffix(" is gone") {
                        found.push(ContractChange::noted_change(at, format!("{name} is answered besides")));
                    }
                }
            }
        }
    }
    for status in after
        .keys()
        .filter(|status| is_success(status) && !before.contains_key(*status))
    {
        found.push(ContractChange::breaking_change(
            at,
            format!("{status} may be answered now"),
        ));
    }
    refusals(at, (&before, &after), found);
}

/// The names of refusals, with the status of each.
fn refusals(
    at: &str,
    (before, after): (&BTreeMap<String, Json>, &BTreeMap<String, Json>),
    found: &mut Vec<ContractChange>,
) {
    let named = |answers: &BTreeMap<String, Json>| -> BTreeSet<(String, String)> {
        let mut names = BTreeSet::new();
        for (status, answer) in answers {
            if status.starts_with('4') || status.starts_with('5') {
                problem_types(answer, &mut |name| {
                    names.insert((name.to_owned(), status.clone()));
                });
            }
        }
        names
    };
    let (before, after) = (named(before), named(after));
    let gone: Vec<&(String, String)> = before.difference(&after).collect();
    let new: Vec<&(String, String)> = after.difference(&before).collect();
    for (name, status) in &gone {
        let shown = name.rsplit(':').next().unwrap_or(name);
        let moved = new.iter().find(|(known, _)| known == name);
        match moved {
            Some((_, now)) => {
                let what = format!("refusal `{shown}` has status {now}, and had {status}");
                found.push(ContractChange::breaking_change(at, what));
            }
            // Where others come in its place, it may go on under another name.
            None if !new.is_empty() => {
                let what = format!("refusal {status} `{shown}` is gone, and others are there");
                found.push(ContractChange::breaking_change(at, what));
            }
            None => found.push(ContractChange::noted_change(
                at,
                format!("refusal {status} `{shown}` is gone"),
            )),
        }
    }
    for (name, status) in &new {
        if !gone.iter().any(|(known, _)| known == name) {
            let shown = name.rsplit(':').next().unwrap_or(name);
            found.push(ContractChange::noted_change(
                at,
                format!("refusal {status} `{shown}` is new"),
            ));
        }
    }
}

/// Calls back with each problem type that an answer names.
fn problem_types(answer: &Json, see: &mut dyn FnMut(&str)) {
    match answer {
        Json::Object(fields) => {
            let named = fields
                .get("type")
                .and_then(|ty| ty.get("enum"))
                .and_then(Json::as_array);
            named.into_iter().flatten().filter_map(Json::as_str).for_each(&mut *see);
            fields.values().for_each(|value| problem_types(value, see));
        }
        Json::Array(values) => values.iter().for_each(|value| problem_types(value, see)),
        _ => {}
    }
}

fn credentials(at: &str, (was, is): (&Json, &Json), found: &mut Vec<ContractChange>) {
    let listed = |operation: &Json| operation.get("security").and_then(Json::as_array).cloned();
    let (before, after) = (listed(was), listed(is));
    let Some(after) = after.filter(|after| !after.is_empty()) else {
        return;
    };
    let before = before.filter(|before| !before.is_empty());
    match before {
        None => found.push(ContractChange::breaking_change(at, "credentials must be sent now")),
        Some(before) => {
            for gone in before.iter().filter(|known| !after.contains(known)) {
                let names = gone.as_object().map(|schemes| {
                    let names: Vec<&str> = schemes.keys().map(String::as_str).collect();
                    names.join(" and ")
                });
                let names = names.filter(|names| !names.is_empty());
                let what = match names {
                    Some(names) => format!("`{names}` is no longer enough to call"),
                    None => "credentials must be sent now".to_owned(),
                };
                found.push(ContractChange::breaking_change(at, what));
            }
        }
    }
}

fn webhooks(old: &Json, new: &Json, found: &mut Vec<ContractChange>) {
    let told = |document: &Json| {
        document
            .get("webhooks")
            .and_then(Json::as_object)
            .cloned()
            .unwrap_or_default()
    };
    let (before, after) = (told(old), told(new));
    for (name, was) in &before {
        let at = format!("webhook {name}");
        let Some(is) = after.get(name) else {
            found.push(ContractChange::breaking_change(&at, "is gone"));
            continue;
        };
        let schema = |item: &Json| {
            item.pointer("/post/requestBody/content/application~1json/schema")
                .cloned()
        };
        if let (Some(one), Some(other)) = (schema(was), schema(is)) {
            for reason in schema_breaks(side(new, &other), side(old, &one), Flow::Answer) {
                found.push(ContractChange::breaking_change(
                    &at,
                    format!("what is told is another: {reason}"),
                ));
            }
        }
    }
    for name in after.keys().filter(|name| !before.contains_key(*name)) {
        found.push(ContractChange::noted_change(&format!("webhook {name}"), "is new"));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use serde_json::json;

    /// A document with one operation.
    fn document(path: &str, operation: Json) -> Json {
        json!({"paths": {path: {"post": operation}}, "components": {"schemas": {"Word": {"type": "string", "enum": ["a", "b"]}}}})
    }

    fn operation() -> Json {
        json!({
            "parameters": [{"in": "path", "name": "id", "required": true, "schema": {"type": "string"}}],
            "requestBody": {"required": true, "content": {"application/json": {"schema": {
                "type": "object",
                "properties": {"text": {"type": "string"}, "word": {"$ref": "#/components/schemas/Word"}},
                "required": ["text"],
                "additionalProperties": false,
            }}}},
            "responses": {
                "201": {"headers": {"ETag": {}}, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Word"}}}},
                "409": {"content": {"application/problem+json": {"schema": {"properties": {"type": {"enum": ["urn:x:taken"]}}}}}},
            },
            "security": [{"bearer": []}, {"apiKey": []}],
        })
    }

    /// What is said where a place of the document is another.
    fn said(pointer: &str, value: Json) -> Vec<(bool, String)> {
        let old = document("/notes/{id}", operation());
        let mut new = old.clone();
        let place = pointer.replace("OP", "/paths/~1notes~1{id}/post");
        *new.pointer_mut(&place).unwrap() = value;
        let found = compare_contracts(&old, &new);
        found.into_iter().map(|change| (change.breaking, change.what)).collect()
    }

    fn breaks(what: &str) -> Vec<(bool, String)> {
        vec![(true, what.to_owned())]
    }

    #[test]
    fn a_document_and_itself_differ_in_nothing() {
        let same = document("/notes/{id}", operation());
        assert_eq!(compare_contracts(&same, &same), []);
        // How a variable of the path is called is not sent.
        let mut named = operation();
        named["parameters"][0]["name"] = json!("no");
        assert_eq!(compare_contracts(&same, &document("/notes/{no}", named)), []);
    }

    #[test]
    fn what_is_gone_breaks_and_what_is_new_does_not() {
        let (old, new) = (
            document("/notes/{id}", operation()),
            document("/texts/{id}", operation()),
        );
        let found = compare_contracts(&old, &new);
        let found: Vec<(bool, &str)> = found
            .iter()
            .map(|change| (change.breaking, change.at.as_str()))
            .collect();
        assert_eq!(found, [(true, "POST /notes/{id}"), (false, "POST /texts/{id}")]);
    }

    #[test]
    fn words_break_by_the_way_that_they_go() {
        let more = said("/components/schemas/Word/enum", json!(["a", "b", "c"]));
        assert_eq!(more, breaks("the answer is another: the value may be `c`"));
        let fewer = said("/components/schemas/Word/enum", json!(["a"]));
        assert_eq!(fewer, breaks("what was taken is refused: `word` may be `b`"));
    }

    #[test]
    fn statuses_headers_and_credentials_break() {
        let answer = operation()["responses"]["201"].clone();
        let conflict = operation()["responses"]["409"].clone();
        let moved = said("OP/responses", json!({"200": answer, "409": conflict}));
        assert_eq!(moved.iter().filter(|(breaking, _)| *breaking).count(), 2, "{moved:?}");
        assert_eq!(
            said("OP/responses/201/headers", json!({})),
            breaks("header `ETag` of 201 is gone")
        );
        assert_eq!(
            said("OP/security", json!([{"bearer": []}])),
            breaks("`apiKey` is no longer enough to call")
        );
        assert_eq!(said("OP/security", json!([])), []);
    }

    #[test]
    fn refusals_are_known_by_their_names() {
        let types = "OP/responses/409/content/application~1problem+json/schema/properties/type/enum";
        assert_eq!(
            said(types, json!(["urn:x:taken", "urn:x:full"])),
            [(false, "refusal 409 `full` is new".to_owned())]
        );
        assert_eq!(
            said(types, json!([])),
            [(false, "refusal 409 `taken` is gone".to_owned())]
        );
        let renamed = said(types, json!(["urn:x:there"]));
        assert_eq!(
            renamed.first(),
            Some(&(true, "refusal 409 `taken` is gone, and others are there".to_owned()))
        );
    }
}
