//! Reads and writes as forms, and what comes of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use singlet_http::etag;
use singlet_http::metrics::OperationLabels;
use singlet_http::problem::Problem;
use singlet_http::refusals::{problem_of, problem_of_read};
use singlet_item::{Item, Number};
use singlet_model::Model;
use singlet_model::model::{Argument, IdempotencyNeed, Read, Route, SelectionKind, Write};
use singlet_plan::plan_json;
use singlet_plan::read::plan_read;
use singlet_plan::show::expression_in;
use singlet_runtime::load::row_line;
use singlet_runtime::{Attributes, Precondition, Request, WriteRequest, range_text};
use singlet_store::{Consumed, GetRequest, Store};

use super::engine_on;
use super::outcome::{refusal_json, rows_in, value_json};
use super::rows::Shown;
use crate::answer::ConsoleError;
use crate::arguments::{CallerAsked, is_json, typed_arguments};
use crate::noting_store::{Notes, NotingStore};
use crate::routes::Asking;
use crate::typed_json::{consumed_json, read_units, typed_map};

/// A read or a write, with what its form says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Asked {
    /// Its name.
    pub name: String,
    /// Its arguments, as texts; lists and objects as JSON.
    #[serde(default)]
    pub args: BTreeMap<String, String>,
    /// Arguments as JSON, whatever their types.
    #[serde(default)]
    pub json: BTreeMap<String, String>,
    /// Who calls.
    #[serde(default)]
    pub caller: CallerAsked,
    /// Of a read: rows in a page.
    #[serde(default)]
    pub limit: Option<usize>,
    /// Of a read: where an earlier page ended.
    #[serde(default)]
    pub cursor: Option<String>,
    /// Of a write: by which a retry is told from a new request.
    #[serde(default)]
    pub key: Option<String>,
    /// Of a write: the version that the row must have.
    #[serde(default)]
    pub version: Option<String>,
    /// Whether the rows that it meets are told, for a scenario.
    #[serde(default)]
    pub record: bool,
    /// The instant; now, unless said.
    #[serde(default)]
    pub now: Option<i64>,
}

/// Every form: `{callers, operations}`.
pub(super) fn operation_forms(asking: &Asking<'_>) -> Json {
    let model = asking.system.model();
    let callers = &model.callers;
    let claims = callers.claim_types();
    let reads = model.reads.iter().map(|read| read_form(model, read));
    // What runs after changes or by the clock alone is nobody's to call.
    let writes = model.writes.iter().filter(|write| !write.is_uncalled());
    let writes = writes.map(|write| write_form(model, write));
    json!({
        "readOnly": asking.is_read_only(),
        "callers": {
            "claims": claims.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            "types": claims.iter().map(|(_, ty)| ty.to_string()).collect::<Vec<_>>(),
            "roles": callers.roles,
            "apiKeys": callers.api_key_header.is_some(),
        },
        "operations": reads.chain(writes).collect::<Vec<_>>(),
    })
}

fn read_form(model: &Model, read: &Read) -> Json {
    let pages = read
        .selection
        .as_ref()
        .is_some_and(|own| own.kind == SelectionKind::Find);
    let filter = read.selection.as_ref().and_then(|own| own.filter.as_ref());
    json!({
        "name": read.name,
        "kind": "read",
        "args": read.args.iter().map(|argument| argument_json(model, argument)).collect::<Vec<_>>(),
        "where": filter.map(|filter| expression_in(&model.catalog, filter)),
        "allow": expression_in(&model.catalog, &read.allow),
        "http": read.http.as_ref().map(route_text),
        "pages": pages,
    })
}

fn write_form(model: &Model, write: &Write) -> Json {
    json!({
        "name": write.name,
        "kind": "write",
        "args": write.args.iter().map(|argument| argument_json(model, argument)).collect::<Vec<_>>(),
        "allow": expression_in(&model.catalog, &write.allow),
        "http": write.http.as_ref().map(route_text),
        "bulk": write.bulk,
        "idempotency": match write.idempotency.need {
            IdempotencyNeed::None => "none",
            IdempotencyNeed::Optional => "optional",
            IdempotencyNeed::Required => "required",
        },
    })
}

fn route_text(route: &Route) -> String {
    let query = route.query.iter().map(|(name, value)| match value {
        singlet_model::model::ParamValue::Arg(arg) => format!("{name}={{{arg}}}"),
        singlet_model::model::ParamValue::Fixed(text) => format!("{name}={text}"),
    });
    let query: Vec<String> = query.collect();
    let path = &route.path;
    match query.is_empty() {
        true => format!("{} {path}", route.method),
        false => format!("{} {path}?{}", route.method, query.join("&")),
    }
}

fn argument_json(model: &Model, argument: &Argument) -> Json {
    json!({
        "name": argument.name,
        "type": argument.ty.to_string(),
        "json": is_json(&argument.ty),
        "members": argument.ty.enum_members(),
        "isBool": matches!(argument.ty, singlet_model::types::Type::Bool),
        "optional": argument.optional || argument.default.is_some(),
        "default": argument.default.as_ref().map(|default| expression_in(&model.catalog, default)),
    })
}

/// Runs a read, with its plan beside the answer.
pub(super) async fn ask_read(asking: &Asking<'_>, asked: Asked) -> Result<Json, ConsoleError> {
    let model = Arc::clone(asking.system.model());
    let read = model.reads.iter().find(|read| read.name == asked.name);
    let read = read.ok_or_else(|| ConsoleError::not_there(format!("there is no read `{}`", asked.name)))?;
    let now = asked.now.unwrap_or_else(|| asking.service.now());
    let request = Request {
        args: typed_arguments(&read.name, &read.args, &asked.args, &asked.json)?,
        caller: asked.caller.asked_caller(&model.callers)?,
        limit: asked.limit,
        cursor: asked.cursor.clone().filter(|cursor| !cursor.is_empty()),
        now,
    };
    asking.log_action("read", &read.name);
    let store = NotingStore::new(&asking.system.engine, asked.record);
    let engine = engine_on(asking, Arc::clone(&store) as Arc<dyn Store>);
    let started = Instant::now();
    let outcome = engine.read(&read.name, &request).await;
    let outcome = outcome.map_err(|error| problem_of_read(&asking.system, &read.name, error, &asking.request_id));
    let notes = std::mem::take(&mut *store.lock_notes());
    let mut consumed = Consumed::default();
    for call in &notes.calls {
        consumed += call.consumed.clone();
    }
    let status = outcome.as_ref().map_or_else(|problem| problem.status.as_u16(), |_| 200);
    note_metrics(asking, &read.name, status, started, &consumed);
    let mut answer = match &outcome {
        Ok(answer) => json!({
            "status": 200,
            "value": value_json(answer.value.as_ref()),
            "next": answer.next,
            "returned": rows_in(answer.value.as_ref()),
        }),
        Err(problem) => json!({"refusal": refusal_json(problem), "status": status}),
    };
    let looked: usize = notes.calls.iter().map(|call| call.looked).sum();
    insert_member(&mut answer, "now", json!(now));
    insert_member(&mut answer, "looked", json!(looked));
    insert_member(&mut answer, "consumed", consumed_json(&consumed));
    insert_member(&mut answer, "calls", calls_json(&notes));
    insert_member(&mut answer, "plan", plan(asking, &model, read, &request));
    if asked.record {
        insert_member(&mut answer, "met", met(&model, &notes));
    }
    Ok(answer)
}

/// The plan of a call: what it asks for, with which keys, what that is predicted to take, and why the other indexes lost.
fn plan(asking: &Asking<'_>, model: &Model, read: &Read, request: &Request) -> Json {
    let engine = &asking.system.engine;
    let planned = plan_json::reads_json(model, &[plan_read(model, read)]);
    let combinations = planned.pointer("/reads/0/combinations").and_then(Json::as_array);
    let Ok(previewed) = engine.preview(&read.name, request) else {
        return json!({"combination": combinations.and_then(|all| all.first())});
    };
    let sent = json!(previewed.combination.sent);
    let own = combinations.and_then(|all| all.iter().find(|one| one.get("sent") == Some(&sent)));
    let asked = previewed.requests.iter().map(|preview| {
        json!({
            "index": preview.index,
            "waitsFor": preview.waits_for,
            "ranges": preview.ranges.iter().map(range_text).collect::<Vec<_>>(),
        })
    });
    let predicted = previewed.combination.requests.iter().map(|cost| cost.formula_text());
    json!({
        "combination": own,
        "asked": asked.collect::<Vec<_>>(),
        "predicted": predicted.collect::<Vec<_>>(),
    })
}

fn calls_json(notes: &Notes) -> Json {
    let calls = notes.calls.iter().map(|call| {
        let units = call.consumed.total_units();
        json!({
            "call": call.call,
            "index": call.index,
            "looked": call.looked,
            "returned": call.returned,
            "read": read_units(units),
            "write": units.write.get(),
        })
    });
    calls.collect()
}

/// What a write request is, from its form; or what the service says of the key and the version that would come as headers.
pub(super) fn write_request(
    asking: &Asking<'_>,
    write: &Write,
    asked: &Asked,
) -> Result<Result<WriteRequest, Problem>, ConsoleError> {
    let given = |text: &Option<String>| {
        text.as_deref()
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    let mut headers = HeaderMap::new();
    if let Some(key) = given(&asked.key) {
        let key =
            HeaderValue::from_str(&key).map_err(|_| ConsoleError::invalid_request("a key is one line of text"))?;
        headers.insert(etag::IDEMPOTENCY_KEY, key);
    }
    if let Some(version) = given(&asked.version) {
        let number = version.parse::<Number>();
        let tag = number.ok().and_then(etag::version_tag);
        let tag = tag.ok_or_else(|| ConsoleError::invalid_request("a version is a number"))?;
        headers.insert(header::IF_MATCH, tag);
    }
    let args = typed_arguments(&write.name, &write.args, &asked.args, &asked.json)?;
    let caller = asked.caller.asked_caller(&asking.system.model().callers)?;
    let now = asked.now.unwrap_or_else(|| asking.service.now());
    // In the order of the service: who may ask at all, what is missing, and only then what the headers say.
    if let Err(error) = asking.system.engine.admits_caller(&write.name, &caller, now) {
        return Ok(Err(problem_of(&asking.system, &write.name, error, &asking.request_id)));
    }
    let is_needed = |argument: &Argument| !argument.optional && argument.default.is_none();
    let lacks_some = write
        .args
        .iter()
        .any(|argument| is_needed(argument) && !args.contains_key(&argument.name));
    let of_headers = match lacks_some {
        true => Ok((None, Precondition::Unsaid)),
        false => etag::write_key(write, &headers).and_then(|key| Ok((key, etag::write_precondition(write, &headers)?))),
    };
    Ok(of_headers.map(|(idempotency_key, precondition)| WriteRequest {
        args,
        caller,
        now,
        idempotency_key,
        precondition,
    }))
}

/// The write of a form.
pub(super) fn write_named<'m>(model: &'m Model, name: &str) -> Result<&'m Write, ConsoleError> {
    let write = model
        .writes
        .iter()
        .find(|write| write.name == name && !write.is_uncalled());
    write.ok_or_else(|| ConsoleError::not_there(format!("there is no write `{name}` to call")))
}

/// Does a write. It is done to its end though the browser leaves.
pub(super) async fn ask_write(asking: &Asking<'_>, asked: Asked) -> Result<Json, ConsoleError> {
    let model = Arc::clone(asking.system.model());
    let write = write_named(&model, &asked.name)?;
    let request = write_request(asking, write, &asked)?;
    asking.log_action("write", &write.name);
    let store = NotingStore::new(&asking.system.engine, asked.record);
    let engine = engine_on(asking, Arc::clone(&store) as Arc<dyn Store>);
    let now = asked_instant(asking, &request, &asked);
    let started = Instant::now();
    let outcome = match request {
        Ok(request) => {
            let name = write.name.clone();
            let running = tokio::spawn(async move { engine.write(&name, &request).await });
            let outcome = running.await.map_err(|_| {
                ConsoleError::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "internal",
                    "something is wrong here; the log says what",
                )
            })?;
            outcome.map_err(|error| problem_of(&asking.system, &write.name, error, &asking.request_id))
        }
        Err(problem) => Err(problem),
    };
    let notes = std::mem::take(&mut *store.lock_notes());
    let (status, consumed) = match &outcome {
        Ok(written) => (written.status, written.consumed.clone()),
        Err(problem) => (problem.status.as_u16(), Consumed::default()),
    };
    note_metrics(asking, &write.name, status, started, &consumed);
    let mut changes = Vec::new();
    for key in &notes.written {
        let before = notes
            .rows
            .iter()
            .find(|(known, _)| known == key)
            .and_then(|(_, row)| row.clone());
        let get = GetRequest {
            table: model.table.name.clone(),
            key: key.clone(),
            consistent: true,
            ..GetRequest::default()
        };
        let after = asking.system.engine.store().get(&get).await?.item;
        if before != after {
            changes.push(change_json(&model, key, before.as_ref(), after.as_ref()));
        }
    }
    let mut answer = written_json(&outcome);
    insert_member(&mut answer, "now", json!(now));
    insert_member(&mut answer, "changes", json!(changes));
    insert_member(&mut answer, "calls", calls_json(&notes));
    if asked.record {
        insert_member(&mut answer, "met", met(&model, &notes));
    }
    Ok(answer)
}

/// The instant at which a write is done, or would have been.
pub(super) fn asked_instant(asking: &Asking<'_>, request: &Result<WriteRequest, Problem>, asked: &Asked) -> i64 {
    match request {
        Ok(request) => request.now,
        Err(_) => asked.now.unwrap_or_else(|| asking.service.now()),
    }
}

/// How a write ended.
pub(super) fn written_json(outcome: &Result<singlet_runtime::Written, Problem>) -> Json {
    match outcome {
        Ok(written) => json!({
            "status": written.status,
            "value": value_json(written.value.as_ref()),
            "version": written.version.as_ref().map(ToString::to_string),
            "replayed": written.replayed,
            "consumed": consumed_json(&written.consumed),
        }),
        Err(problem) => json!({"status": problem.status.as_u16(), "refusal": refusal_json(problem)}),
    }
}

/// A row before and after.
pub(super) fn change_json(model: &Model, key: &Item, before: Option<&Item>, after: Option<&Item>) -> Json {
    let shown = before.or(after).map(|item| Shown::of(model, item));
    json!({
        "key": typed_map(key),
        "entity": shown.as_ref().and_then(|shown| shown.entity).map(|entity| &entity.name),
        "kind": shown.as_ref().map(|shown| shown.kind),
        "before": before.map(typed_map),
        "after": after.map(typed_map),
    })
}

/// The rows that an operation met, as they were before it: a line as `load` takes it, or none where there was no row.
fn met(model: &Model, notes: &Notes) -> Json {
    let met = notes.rows.iter().map(|(key, item)| {
        let shown = item.as_ref().map(|item| Shown::of(model, item));
        let own = shown.filter(|shown| shown.kind == "row");
        let line = own.and_then(|shown| shown.entity.zip(shown.row)).map(|(entity, row)| {
            let line: (_, Attributes) = (entity, row);
            String::from_utf8(row_line(line.0, &line.1))
                .unwrap_or_default()
                .trim_end()
                .to_owned()
        });
        json!({"key": typed_map(key).to_string(), "line": line, "there": item.is_some()})
    });
    met.collect()
}

fn note_metrics(asking: &Asking<'_>, name: &str, status: u16, started: Instant, consumed: &Consumed) {
    let of = OperationLabels {
        system: asking.system.name.clone(),
        operation: name.to_owned(),
    };
    asking
        .service
        .metrics()
        .count_answer(&of, status, started.elapsed(), consumed, None);
}

/// Adds a member to an object.
pub(super) fn insert_member(json: &mut Json, name: &str, value: Json) {
    if let Some(object) = json.as_object_mut() {
        object.insert(name.to_owned(), value);
    }
}
