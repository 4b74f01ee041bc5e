//! One operation of the document: the reads that share a path, or a write.

use serde_json::{Map, Value as Json, json};
use singlet_model::Model;
use singlet_model::expression::Expr;
use singlet_model::model::{
    Entity, IdempotencyNeed, Let, LetValue, Read, Return, SelectionKind, Step, StepKind, Write,
};
use singlet_model::types::{EntityId, Type};
use singlet_plan::read::{OneRow, may_find_several, one_row, plan_selection};
use singlet_plan::write::possible_refusals;

use super::Deployed;
use super::access;
use super::examples::Samples;
use super::ids::{ids_of_arguments, pascal_case, with_id};
use super::parameters::{path_parameters, query_parameters};
use super::problems::Problems;
use super::schema::{Schemas, closed_object, insert_member, schema_reference};
use super::shape;
use crate::location::Location;
use crate::query::TICKET;
use crate::routing::RouteEndpoint;
use crate::system::patched_arguments;
use crate::watch;

/// Describes what a method of a path answers.
pub(crate) fn describe_operation(
    model: &Model,
    endpoints: &[RouteEndpoint],
    schemas: &mut Schemas<'_>,
    samples: &Samples,
    deployed: Deployed<'_>,
) -> Json {
    match endpoints {
        [one] if one.is_write => match model.writes.get(one.position) {
            Some(write) => of_write(model, one, write, schemas, samples, deployed),
            None => json!({}),
        },
        _ => of_reads(model, endpoints, schemas, samples, deployed),
    }
}

fn of_reads(
    model: &Model,
    endpoints: &[RouteEndpoint],
    schemas: &mut Schemas<'_>,
    samples: &Samples,
    deployed: Deployed<'_>,
) -> Json {
    let reads: Vec<&Read> = endpoints
        .iter()
        .filter_map(|endpoint| model.reads.get(endpoint.position))
        .collect();
    let pages = reads.iter().any(|read| crate::query::answers_pages(read));
    let tagged = reads.iter().any(|read| is_tagged(model, read));
    let mut parameters = path_parameters(model, endpoints, schemas, samples);
    parameters.extend(query_parameters(model, endpoints, schemas, samples));
    let common: &[&str] = match (pages, tagged) {
        (true, _) => &["limit", "cursor"],
        (false, true) => &["If-None-Match"],
        (false, false) => &[],
    };
    parameters.extend(
        common
            .iter()
            .map(|name| json!({"$ref": format!("#/components/parameters/{name}")})),
    );
    let is_watched = reads.iter().any(|read| watch::why_not(model, read).is_none());
    let has_own = |endpoint: &RouteEndpoint| endpoint.query.iter().any(|known| known.name == TICKET);
    if is_watched && !endpoints.iter().any(has_own) {
        parameters.push(json!({"$ref": "#/components/parameters/ticket"}));
    }
    let mut shapes: Vec<Json> = Vec::new();
    for read in &reads {
        let shape = shape::of_read(model, read, schemas);
        if !shapes.contains(&shape) {
            shapes.push(shape);
        }
    }
    let shape = match shapes.as_slice() {
        [one] => one.clone(),
        _ => json!({"anyOf": shapes}),
    };
    let mut names = vec!["X-Request-Id"];
    names.extend(pages.then_some("Link"));
    names.extend(tagged.then_some("ETag"));
    names.extend(is_watched.then_some("Singlet-Ticket"));
    let mut responses = Map::new();
    let mut content = json!({"application/json": {"schema": shape}});
    if is_watched {
        insert_member(&mut content, watch::EVENTS, json!({"schema": {"type": "string"}}));
    }
    let answer = json!({"description": "The answer", "headers": headers(deployed, &names), "content": content});
    responses.insert("200".to_owned(), answer);
    if tagged {
        let same = json!({"description": "The client has this version", "headers": headers(deployed, &["ETag"])});
        responses.insert("304".to_owned(), same);
    }
    let mut problems = Problems::default();
    problems.add_common(400, &["invalid_input"]);
    if reads.iter().any(|read| access::may_overflow(read)) {
        problems.add_common(400, &["out_of_range"]);
    }
    if endpoints.len() > 1 {
        problems.add_common(400, &["unknown_combination"]);
    }
    if pages {
        problems.add_common(400, &["invalid_cursor"]);
    }
    if reads.iter().any(|read| is_read_to_its_end(model, read)) {
        problems.add_common(400, &["too_many_rows"]);
        problems.add_common(503, &["read_too_slow"]);
    }
    let mut selections = reads.iter().flat_map(|read| read.all_selections());
    if selections.any(|selection| selection.tally.is_some()) {
        problems.add_common(503, &["tally_not_counted_yet", "tally_not_kept"]);
    }
    let mut selections = reads.iter().flat_map(|read| read.all_selections());
    if selections.any(|selection| selection.matching.is_some()) {
        problems.add_common(503, &["search_not_ready", "search_behind", "search_not_followed"]);
    }
    let allows: Vec<&Expr> = reads.iter().map(|read| &read.allow).collect();
    access::caller_problems(model, &allows, &mut problems);
    let may_miss = |read: &&Read| {
        let one = read
            .selection
            .as_ref()
            .is_some_and(|own| own.kind == SelectionKind::Get { optional: false });
        one || read.lets.iter().any(|bound| !bound.optional) || access::of_rows(&read.allow) || read.empty == Some(404)
    };
    if reads.iter().any(may_miss) {
        problems.add_common(404, &["not_found"]);
    }
    if reads.iter().any(|read| may_find_several(model, read)) {
        problems.add_common(409, &["several_rows"]);
    }
    common_problems(deployed, &mut problems);
    problems.problem_responses(schemas, &mut responses);
    let entity = reads
        .iter()
        .flat_map(|read| read.all_selections())
        .find_map(|own| own.entity());
    json!({
        "operationId": operation_id(endpoints),
        "summary": words(&operation_id(endpoints)),
        "tags": tags(model, entity),
        "description": combinations(endpoints),
        "parameters": parameters,
        "responses": responses,
        "security": access::needed_credentials(model, &allows),
    })
}

fn of_write(
    model: &Model,
    endpoint: &RouteEndpoint,
    write: &Write,
    schemas: &mut Schemas<'_>,
    samples: &Samples,
    deployed: Deployed<'_>,
) -> Json {
    let endpoints = std::slice::from_ref(endpoint);
    let mut parameters = path_parameters(model, endpoints, schemas, samples);
    parameters.extend(query_parameters(model, endpoints, schemas, samples));
    let keyed = is_keyed(write);
    if keyed {
        parameters.push(match write.idempotency.need {
            IdempotencyNeed::Required => json!({
                "name": "Idempotency-Key", "in": "header", "required": true,
                "description": "Tells a retry from a new request: the same key and request get the first answer again, for a day.",
                "schema": {"type": "string", "pattern": "^[ !#-\\[\\]-~]{1,255}$"},
            }),
            _ => json!({"$ref": "#/components/parameters/Idempotency-Key"}),
        });
    }
    if write.if_match_required {
        parameters.push(json!({
            "name": "If-Match", "in": "header", "required": true,
            "description": "The entity tags of which the row must have one, or `*`.",
            "schema": {"type": "string", "pattern": "^(\\*|\"[!#-~]*\")$"},
        }));
    } else if is_versioned(model, write) {
        parameters.push(json!({"$ref": "#/components/parameters/If-Match"}));
    }
    let mut names = vec!["X-Request-Id"];
    names.extend(has_tag(model, write).then_some("ETag"));
    let located = shape::success_statuses(write).contains(&201) && Location::of(model, write).is_some();
    names.extend(located.then_some("Location"));
    names.extend(keyed.then_some("Idempotent-Replay"));
    let statuses = shape::success_statuses(write);
    let bare = json!({"description": "Done", "headers": headers(deployed, &names)});
    let mut answer = bare.clone();
    if let Some(shape) = shape::of_write(model, write, schemas).filter(|_| statuses != [204]) {
        insert_member(&mut answer, "content", json!({"application/json": {"schema": shape}}));
    }
    let mut responses = Map::new();
    let replayed = write.idempotency.replay.into_iter();
    for status in statuses.iter().map(|status| u64::from(*status)).chain(replayed) {
        let response = if status == 204 { &bare } else { &answer };
        responses.insert(status.to_string(), response.clone());
    }
    write_problems(model, write, deployed).problem_responses(schemas, &mut responses);
    let entity =
        shape::changed_entity(model, write).or_else(|| write.all_steps().iter().find_map(|step| step.entity()));
    let mut described = json!({
        "operationId": write.name,
        "summary": words(&write.name),
        "tags": tags(model, entity),
        "parameters": parameters,
        "responses": responses,
        "security": access::needed_credentials(model, &[&write.allow]),
    });
    if !endpoint.body.is_empty() {
        insert_member(
            &mut described,
            "requestBody",
            body(model, endpoint, write, schemas, samples),
        );
    }
    described
}

/// Whether `Idempotency-Key` is looked at.
fn is_keyed(write: &Write) -> bool {
    write.idempotency.need != IdempotencyNeed::None && write.idempotency.key.is_none()
}

fn write_problems(model: &Model, write: &Write, deployed: Deployed<'_>) -> Problems {
    let mut problems = Problems::default();
    problems.add_common(
        400,
        &["invalid_input", "invalid_json", "incomplete_body", "out_of_range"],
    );
    if write.idempotency.need == IdempotencyNeed::Required {
        problems.add_common(400, &["idempotency_key_required"]);
    }
    if deployed.read_only {
        problems.add_common(403, &["read_only"]);
    }
    access::caller_problems(model, &[&write.allow], &mut problems);
    let found = possible_refusals(model, write);
    problems.add_common(408, &["body_too_slow"]);
    problems.add_common(409, &["conflict"]);
    if write.lets.iter().any(|bound| let_may_find_several(model, bound)) {
        problems.add_common(409, &["several_rows"]);
    }
    problems.add_common(413, &["too_large"]);
    problems.add_common(415, &["unsupported_media_type"]);
    for (status, name) in &found {
        problems.add_refusal(&model.name, *status, name);
    }
    if write.idempotency.need != IdempotencyNeed::None {
        problems.add_common(422, &["idempotency_key_reused"]);
        if access::admits_without_id(model, &write.allow) {
            problems.add_common(409, &["already_done"]);
        }
    }
    if is_versioned(model, write) {
        problems.add_common(412, &["version_differs"]);
    }
    if write.if_match_required {
        problems.add_common(428, &["version_required"]);
    }
    common_problems(deployed, &mut problems);
    problems
}

fn body(model: &Model, endpoint: &RouteEndpoint, write: &Write, schemas: &mut Schemas<'_>, samples: &Samples) -> Json {
    let patched = patched_arguments(model, write);
    let mut properties = Map::new();
    let ids = ids_of_arguments(model, endpoint);
    for arg in &endpoint.body {
        let schema = with_id(schemas.of(&arg.ty), ids.get(&arg.name));
        let clearable = patched.iter().any(|known| known.name == arg.name && known.clearable);
        let left_out = arg.optional && patched.iter().all(|known| known.name != arg.name);
        let schema = match clearable || left_out || arg.default.is_some() {
            true => json!({"anyOf": [schema, {"type": "null"}]}),
            false => schema,
        };
        properties.insert(arg.name.clone(), schema);
    }
    let needed = endpoint
        .body
        .iter()
        .filter(|arg| !arg.optional && arg.default.is_none());
    let required: Vec<String> = needed.map(|arg| arg.name.clone()).collect();
    let is_required = !required.is_empty();
    let entity = shape::changed_entity(model, write).and_then(|entity| model.entity(entity));
    // Under a name: clients are generated with one type for it, however many media types carry it.
    let mut name = write.name.clone();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let name = format!("{name}Request");
    schemas.add_schema(&name, closed_object(properties, required));
    let mut media = json!({"schema": schema_reference(&name)});
    if let Some(example) = samples.sample_body(entity, &endpoint.body) {
        insert_member(&mut media, "example", example);
    }
    let mut content = Map::new();
    content.insert("application/json".to_owned(), media.clone());
    if write.http.as_ref().is_some_and(|route| route.method == "PATCH") {
        content.insert("application/merge-patch+json".to_owned(), media);
    }
    json!({"required": is_required, "content": content})
}

fn headers(deployed: Deployed<'_>, names: &[&str]) -> Json {
    let limits: &[&str] = if deployed.is_rated {
        &["RateLimit", "RateLimit-Policy"]
    } else {
        &[]
    };
    let all = names.iter().chain(limits);
    let entries = all.map(|name| {
        (
            (*name).to_owned(),
            json!({"$ref": format!("#/components/headers/{name}")}),
        )
    });
    Json::Object(entries.collect())
}

/// The entity that an operation is about.
fn tags(model: &Model, entity: Option<EntityId>) -> Vec<&str> {
    let entity = entity.and_then(|entity| model.entity(entity));
    entity
        .iter()
        .map(|entity| model.source_of(entity).name.as_str())
        .collect()
}

/// A name as words: `tasksByStatus` is "Tasks by status".
fn words(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 8);
    for (at, char) in name.chars().enumerate() {
        match char {
            char if at == 0 => text.extend(char.to_uppercase()),
            char if char.is_uppercase() => {
                text.push(' ');
                text.extend(char.to_lowercase());
            }
            char => text.push(char),
        }
    }
    text
}

fn operation_id(endpoints: &[RouteEndpoint]) -> String {
    let plainest = endpoints.iter().min_by_key(|endpoint| endpoint.query.len());
    plainest.map(|endpoint| endpoint.name.clone()).unwrap_or_default()
}

/// Gives a read at an address of its own a name of its own: where the model has it alone, its name is taken.
pub(crate) fn name_alone(model: &Model, described: &mut Json) {
    let Some(name) = described.get("operationId").and_then(Json::as_str) else {
        return;
    };
    let mut own = format!("read{}", pascal_case(name));
    let is_taken = |own: &str| {
        let reads = model.reads.iter().map(|read| read.name.as_str());
        reads
            .chain(model.writes.iter().map(|write| write.name.as_str()))
            .any(|known| known == own)
    };
    while is_taken(&own) {
        own.push('_');
    }
    let text = format!("`{name}`, alone at an address of its own.");
    insert_member(described, "operationId", json!(own));
    insert_member(described, "description", json!(text));
}

fn combinations(endpoints: &[RouteEndpoint]) -> String {
    if let [one] = endpoints {
        return format!("`{}`.", one.name);
    }
    let lines = endpoints.iter().map(|endpoint| match endpoint.query_combination() {
        text if text.is_empty() => format!("- without parameters: `{}`", endpoint.name),
        text => format!("- `{text}`: `{}`", endpoint.name),
    });
    let lines: Vec<String> = lines.collect();
    format!(
        "These parameters are taken together (those in brackets may be left out):\n\n{}",
        lines.join("\n")
    )
}

fn common_problems(deployed: Deployed<'_>, problems: &mut Problems) {
    if deployed.may_be_too_many() {
        problems.add_common(429, &["too_many_requests"]);
    }
    problems.is_rated = deployed.is_rated;
    problems.add_common(503, &["unavailable", "timed_out", "overloaded"]);
}

/// Whether a row that a write names by its meaning may meet a second one.
fn let_may_find_several(model: &Model, bound: &Let) -> bool {
    let LetValue::Read(selection) = &bound.value else {
        return false;
    };
    let plan = plan_selection(model, selection, None, None, &|_| true);
    matches!(selection.kind, SelectionKind::Get { .. })
        && plan.is_some_and(|plan| one_row(model, selection, &plan) == OneRow::Unproven)
}

/// Whether rows are read until there are no more, with no cursor to go on with.
fn is_read_to_its_end(model: &Model, read: &Read) -> bool {
    let own = read.selection.as_ref().map(|own| own.kind);
    let beside = read
        .with
        .iter()
        .any(|part| !matches!(part.selection.kind, SelectionKind::Get { .. }));
    beside || read.each.is_some() || own == Some(SelectionKind::Count) || may_find_several(model, read)
}

/// Whether the row's version is the answer's tag.
fn is_tagged(model: &Model, read: &Read) -> bool {
    let one = read
        .selection
        .as_ref()
        .filter(|own| matches!(own.kind, SelectionKind::Get { .. }));
    let entity = one.and_then(|own| own.entity()).and_then(|entity| model.entity(entity));
    let alone = read.with.is_empty() && matches!(read.returns, Return::Usual);
    let lapses = |entity: &Entity| entity.states.as_ref().is_some_and(|states| !states.lapses.is_empty());
    alone && entity.is_some_and(|entity| has_version(entity) && !lapses(entity))
}

/// Whether the row's version is the answer's tag.
fn has_tag(model: &Model, write: &Write) -> bool {
    let entity = shape::changed_entity(model, write).and_then(|entity| model.entity(entity));
    entity.is_some_and(has_version)
}

/// Whether `If-Match` can speak of a version.
fn is_versioned(model: &Model, write: &Write) -> bool {
    let changes = |step: &&Step| {
        !matches!(
            step.kind,
            StepKind::Create(_) | StepKind::Present(_) | StepKind::Absent(_)
        )
    };
    let mut changed = write.all_steps().into_iter().filter(changes);
    let entity = |step: &Step| step.entity().and_then(|id| model.entity(id));
    !write.bulk && changed.any(|step| entity(step).is_some_and(has_version))
}

fn has_version(entity: &Entity) -> bool {
    entity.attributes.iter().any(|attribute| attribute.ty == Type::Version)
}
