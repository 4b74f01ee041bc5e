//! The design: entities and their keys, the map of the key space, access patterns, findings, drawings.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use axum::response::Response;
use serde_json::{Value as Json, json};
use singlet_document::{Drawings, design_document};
use singlet_model::Model;
use singlet_model::model::{Attribute, Entity, Index, Projection, Stored};
use singlet_plan::plan_json;
use singlet_plan::read::plan_read;
use singlet_plan::show::expression_in;

use super::key_map;
use crate::answer::{ConsoleError, text_response};
use crate::routes::Asking;

/// All of the design.
pub(super) fn design_view(asking: &Asking<'_>) -> Json {
    let model = asking.system.model();
    let plans: Vec<_> = model.reads.iter().map(|read| plan_read(model, read)).collect();
    let drawings = asking.console.drawings.of(model);
    let drawings = drawings
        .iter()
        .map(|(name, svg)| json!({"name": name, "title": title_of(svg)}));
    json!({
        "name": model.name,
        "zone": model.zone,
        "table": table(model),
        "entities": model.entities.iter().map(|entity| entity_json(model, entity)).collect::<Vec<_>>(),
        "places": key_map::key_places(model),
        "patterns": plan_json::reads_json(model, &plans).get("reads"),
        "meanings": meanings(model),
        "writes": plan_json::writes_json(model),
        "findings": findings(asking),
        "accepted": model.accepted.len(),
        "drawings": drawings.collect::<Vec<_>>(),
    })
}

fn table(model: &Model) -> Json {
    let table = &model.table;
    json!({
        "name": table.name,
        "key": table.key.iter().map(|key| &key.name).collect::<Vec<_>>(),
        "indexes": table.indexes.iter().map(index_json).collect::<Vec<_>>(),
        "type": table.type_attribute,
        "ttl": table.ttl,
        "stream": table.stream,
        "delimiter": table.delimiter.to_string(),
    })
}

fn index_json(index: &Index) -> Json {
    json!({
        "name": index.name,
        "partition": index.partition.iter().map(|key| &key.name).collect::<Vec<_>>(),
        "sort": index.sort.iter().map(|key| &key.name).collect::<Vec<_>>(),
        "local": index.local,
        "carries": match &index.projection {
            Projection::All => "everything".to_owned(),
            Projection::Keys => "keys".to_owned(),
            Projection::Include(names) => format!("keys and {}", names.join(", ")),
        },
    })
}

fn entity_json(model: &Model, entity: &Entity) -> Json {
    let mirror = entity.mirror.as_ref().and_then(|mirror| model.entity(mirror.of));
    json!({
        "name": entity.name,
        "mirrorOf": mirror.map(|of| &of.name),
        "isKept": entity.role.is_some(),
        "attributes": entity.attributes.iter().map(|attribute| attribute_json(model, attribute)).collect::<Vec<_>>(),
        "states": entity.states.as_ref().map(|states| &states.of),
        "expires": entity.expires.as_ref().map(|expr| expression_in(&model.catalog, expr)),
    })
}

fn attribute_json(model: &Model, attribute: &Attribute) -> Json {
    let reference = attribute.reference.as_ref().and_then(|(entity, name)| {
        let target = model.entity(*entity)?;
        target
            .is_key_attribute(name)
            .then(|| json!({"entity": target.name, "attribute": name}))
    });
    json!({
        "name": attribute.name,
        "type": attribute.ty.to_string(),
        "optional": attribute.optional,
        "is": attribute.is.as_ref().map(|expr| expression_in(&model.catalog, expr)),
        "default": attribute.default.as_ref().map(|expr| expression_in(&model.catalog, expr)),
        "refersTo": reference,
        "stored": match &attribute.stored {
            Stored::Own => None,
            Stored::As(name) => Some(format!("as {name}")),
            Stored::No => Some("in keys only".to_owned()),
        },
    })
}

/// What each read means, in the words of the model.
fn meanings(model: &Model) -> Json {
    let meanings = model.reads.iter().map(|read| {
        let selection = read.selection.as_ref();
        let entities = selection.map(|own| {
            let entities = own.entities.iter().filter_map(|id| model.entity(*id));
            entities
                .map(|entity| entity.name.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        });
        let order = selection.map(|own| {
            let order = own.order.iter();
            let order = order.map(|by| format!("{}{}", by.path, if by.descending { " desc" } else { "" }));
            order.collect::<Vec<_>>().join(", ")
        });
        let filter = selection.and_then(|own| own.filter.as_ref());
        let route = read.http.as_ref();
        let meaning = json!({
            "of": entities,
            "where": filter.map(|filter| expression_in(&model.catalog, filter)),
            "order": order.filter(|order| !order.is_empty()),
            "http": route.map(|route| format!("{} {}", route.method, route.path)),
        });
        (read.name.clone(), meaning)
    });
    Json::Object(meanings.collect())
}

/// What `check` finds in the model's file, as `singlet check --format json` has it.
fn findings(asking: &Asking<'_>) -> Json {
    let Some((name, bytes)) = (asking.console.settings.model_text)(&asking.system.name) else {
        return json!({"list": [], "unread": "the file of the model cannot be read"});
    };
    json!({"file": name, "list": findings_of(&name, bytes)})
}

/// The findings of a text, hints included.
pub(crate) fn findings_of(name: &str, bytes: Vec<u8>) -> Vec<Json> {
    let (source, found) = match singlet_model::decode_source(name, bytes) {
        Ok(source) => {
            let found = singlet_lint::check_design(singlet_model::load_source(&source)).into_sorted();
            (source, found)
        }
        Err(invalid) => (invalid.0, vec![invalid.1]),
    };
    let findings = found.iter().map(|finding| {
        let start = source.position_at(finding.span.start);
        json!({
            "code": finding.rule.code,
            "name": finding.rule.name,
            "severity": finding.rule.severity.word(),
            "message": finding.message,
            "help": finding.help,
            "subject": Some(finding.subject.as_str()).filter(|subject| !subject.is_empty()),
            "line": start.line,
            "column": start.column,
        })
    });
    findings.collect()
}

/// Name and SVG of each drawing.
type Drawn = Arc<Vec<(String, String)>>;

/// The drawings of models, kept while those are served: a page asks for each of them.
#[derive(Debug, Default)]
pub(crate) struct DrawnModels(Mutex<Vec<(Weak<Model>, Drawn)>>);

impl DrawnModels {
    fn of(&self, model: &Arc<Model>) -> Drawn {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(known, _)| known.strong_count() > 0);
        let found = kept
            .iter()
            .find(|(known, _)| std::ptr::eq(known.as_ptr(), Arc::as_ptr(model)));
        if let Some((_, drawn)) = found {
            return Arc::clone(drawn);
        }
        let drawn = Arc::new(drawings(model));
        kept.push((Arc::downgrade(model), Arc::clone(&drawn)));
        drawn
    }
}

/// The drawings of the design document: name and SVG.
fn drawings(model: &Model) -> Vec<(String, String)> {
    let drawings = design_document(model, Drawings::In("d".to_owned())).drawings;
    let named = drawings.into_iter().map(|(path, svg)| {
        let name = path
            .rsplit('/')
            .next()
            .unwrap_or(&path)
            .trim_end_matches(".svg")
            .to_owned();
        (name, svg)
    });
    named.collect()
}

fn title_of(svg: &str) -> String {
    let title = svg
        .split_once("<title>")
        .and_then(|(_, rest)| rest.split_once("</title>"));
    title.map_or_else(String::new, |(title, _)| unescaped(title))
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&")
}

/// One drawing: `drawing/light/states-task`. It is painted for the light or the dark page, whichever the reader chose.
pub(super) fn design_drawing(asking: &Asking<'_>, path: &str) -> Result<Response, ConsoleError> {
    let missing = || ConsoleError::not_there("there is no such drawing");
    let rest = path.strip_prefix("drawing/").ok_or_else(missing)?;
    let (theme, name) = rest.split_once('/').ok_or_else(missing)?;
    let drawings = asking.console.drawings.of(asking.system.model());
    let (_, svg) = drawings.iter().find(|(known, _)| known == name).ok_or_else(missing)?;
    let painted = match theme {
        "dark" => svg.replace("@media(prefers-color-scheme:dark)", "@media all"),
        "light" => svg.replace("@media(prefers-color-scheme:dark)", "@media not all"),
        _ => return Err(missing()),
    };
    Ok(text_response("image/svg+xml", painted))
}
