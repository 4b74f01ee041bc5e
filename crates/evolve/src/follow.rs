//! What happens beside requests: who may call, states, what follows changes, tallies, searches, columns of a lake.

use std::collections::BTreeSet;

use singlet_face::TypeFace;
use singlet_model::Model;
use singlet_model::expression::Expr;
use singlet_model::model::{Entity, Write};
use singlet_model::types::Type;
use singlet_plan::show::expression_in;
use singlet_plan::write::trigger_text;

use crate::contract::ContractChange;

/// Compares what two models promise beside the shape of requests and answers.
pub fn compare_followers(old: &Model, new: &Model) -> Vec<ContractChange> {
    let mut found = Vec::new();
    callers(old, new, &mut found);
    triggers(old, new, &mut found);
    tallies(old, new, &mut found);
    searches(old, new, &mut found);
    for entity in &old.entities {
        let now = new
            .entity_named(&entity.name)
            .or_else(|| new.entities.iter().find(|known| is_from(known, &entity.name)));
        if let Some(now) = now {
            states(entity, now, &mut found);
        }
        columns(entity, now, &mut found);
    }
    found
}

fn is_from(entity: &Entity, name: &str) -> bool {
    entity.was.as_ref().is_some_and(|was| was.text == name)
}

/// The write that one of before is now.
fn write_now<'m>(new: &'m Model, old: &Write) -> Option<&'m Write> {
    let named = new.writes.iter().find(|write| write.name == old.name);
    named.or_else(|| {
        let mut writes = new.writes.iter();
        writes.find(|write| write.was.as_ref().is_some_and(|was| was.text == old.name))
    })
}

fn callers(old: &Model, new: &Model, found: &mut Vec<ContractChange>) {
    let mut allowed = |kind: &str, name: &str, was: &Expr, is: &Expr| {
        let (was, is) = (expression_in(&old.catalog, was), expression_in(&new.catalog, is));
        if was == is {
            return;
        }
        let at = format!("{kind} {name}");
        let what = format!("who may: was `{was}`, is `{is}`");
        // Whether fewer may cannot be told from two formulas, unless everybody may.
        found.push(match is.as_str() {
            "true" => ContractChange::noted_change(&at, what),
            _ => ContractChange::breaking_change(&at, what),
        });
    };
    for read in &old.reads {
        if let Some(now) = new.reads.iter().find(|now| now.name == read.name) {
            allowed("read", &read.name, &read.allow, &now.allow);
        }
    }
    for write in &old.writes {
        if let Some(now) = write_now(new, write) {
            allowed("write", &write.name, &write.allow, &now.allow);
        }
    }
}

fn triggers(old: &Model, new: &Model, found: &mut Vec<ContractChange>) {
    let told = |model: &Model, write: &Write| match (&write.after, &write.every) {
        (Some(trigger), _) => Some(format!("after {}", trigger_text(model, trigger))),
        (None, Some(_)) => Some("by the clock".to_owned()),
        (None, None) => None,
    };
    for write in &old.writes {
        let Some(was) = told(old, write) else { continue };
        let at = format!("write {}", write.name);
        let now = write_now(new, write);
        let is = now.and_then(|now| told(new, now));
        match (now, is) {
            (None, _) => found.push(ContractChange::breaking_change(
                &at,
                format!("runs no more: it ran {was}"),
            )),
            (Some(_), None) => found.push(ContractChange::breaking_change(
                &at,
                format!("runs no more by itself: it ran {was}"),
            )),
            (Some(now), Some(_)) if now.name != write.name => {
                let what = format!(
                    "is `{}` now: how far it is stands under its name, so that it begins with changes from then on",
                    now.name
                );
                found.push(ContractChange::breaking_change(&at, what));
            }
            (Some(_), Some(is)) if is != was => {
                found.push(ContractChange::noted_change(&at, format!("ran {was}, and runs {is}")));
            }
            (Some(now), Some(_)) if now.every != write.every => {
                found.push(ContractChange::noted_change(&at, "runs at other times"));
            }
            (Some(_), Some(_)) => {}
        }
    }
    for write in &new.writes {
        let is_known = old
            .writes
            .iter()
            .any(|known| write_now(new, known).is_some_and(|now| now.name == write.name) && told(old, known).is_some());
        if let Some(is) = told(new, write).filter(|_| !is_known) {
            let what = format!("runs {is}, and not for changes of before");
            found.push(ContractChange::noted_change(&format!("write {}", write.name), what));
        }
    }
}

fn tallies(old: &Model, new: &Model, found: &mut Vec<ContractChange>) {
    for tally in &old.tallies {
        let at = format!("tally {}", tally.name);
        match new.tallies.iter().find(|known| known.name == tally.name) {
            None => found.push(ContractChange::breaking_change(&at, "is kept no more")),
            Some(now) if now.definition != tally.definition => {
                found.push(ContractChange::noted_change(
                    &at,
                    "counts something else: it is counted anew from the rows",
                ));
            }
            Some(_) => {}
        }
    }
    for tally in &new.tallies {
        if old.tallies.iter().all(|known| known.name != tally.name) {
            let what = "is counted from the rows when it is first followed";
            found.push(ContractChange::noted_change(&format!("tally {}", tally.name), what));
        }
    }
}

fn searches(old: &Model, new: &Model, found: &mut Vec<ContractChange>) {
    let named = |model: &Model| -> BTreeSet<(String, Vec<String>, Option<String>)> {
        let searches = model.searches.iter();
        let named = searches.filter_map(|search| {
            let entity = model.entity(search.entity)?;
            let language = search.language.map(|language| language.to_string());
            Some((entity.name.clone(), search.attributes.clone(), language))
        });
        named.collect()
    };
    for (entity, ..) in named(new).difference(&named(old)) {
        let what = "the index of words is built anew";
        found.push(ContractChange::noted_change(&format!("search {entity}"), what));
    }
}

/// Moves that clients could make.
fn states(old: &Entity, new: &Entity, found: &mut Vec<ContractChange>) {
    let (Some(was), is) = (&old.states, &new.states) else {
        return;
    };
    let at = format!("states of {}", new.name);
    let Some(is) = is else {
        found.push(ContractChange::breaking_change(&at, "are gone"));
        return;
    };
    for step in &was.moves {
        let now = is.moves.iter().find(|known| known.name == step.name);
        match now {
            None => found.push(ContractChange::breaking_change(
                &at,
                format!("move `{}` is gone", step.name),
            )),
            Some(now) => {
                let lost: Vec<&str> = step
                    .from
                    .iter()
                    .filter(|from| !now.from.contains(from))
                    .map(String::as_str)
                    .collect();
                if !lost.is_empty() || now.to != step.to {
                    let what = format!(
                        "move `{}` was {} -> {}, is {} -> {}",
                        step.name,
                        step.from.join(" | "),
                        step.to,
                        now.from.join(" | "),
                        now.to
                    );
                    found.push(ContractChange::breaking_change(&at, what));
                }
            }
        }
    }
    let ends = |states: &singlet_model::model::States| -> Vec<(String, String)> {
        let lapses = states.lapses.iter();
        lapses.map(|lapse| (lapse.from.clone(), lapse.to.clone())).collect()
    };
    if ends(was) != ends(is) {
        found.push(ContractChange::breaking_change(&at, "other states end by time"));
    }
}

/// Columns of a lake: a reader's query names them.
fn columns(old: &Entity, new: Option<&Entity>, found: &mut Vec<ContractChange>) {
    if old.mirror.is_some() || old.role.is_some() {
        return;
    }
    let at = format!("lake table {}", old.name);
    let Some(new) = new else {
        found.push(ContractChange::breaking_change(&at, "gets no more rows"));
        return;
    };
    if new.name != old.name {
        let what = format!("gets no more rows: they go to `{}`", new.name);
        found.push(ContractChange::breaking_change(&at, what));
        return;
    }
    for attribute in old.attributes.iter().filter(|attribute| attribute.alias.is_none()) {
        let now = new
            .attribute(&attribute.name)
            .filter(|attribute| attribute.alias.is_none());
        match now {
            None => {
                let what = format!("column `{}` is empty from then on", attribute.name);
                found.push(ContractChange::breaking_change(&at, what));
            }
            Some(now) => {
                if column(&attribute.ty) != column(&now.ty) {
                    let what = format!(
                        "column `{}` goes on as another one, since its type is another",
                        attribute.name
                    );
                    found.push(ContractChange::breaking_change(&at, what));
                }
            }
        }
    }
}

/// What decides the type of a column: limits do where they say how many digits there are, and words and ids are all text.
fn column(ty: &Type) -> String {
    match ty {
        Type::Bytes(_) => "bytes".to_owned(),
        Type::Bool | Type::Date | Type::Version => TypeFace::of(ty).words(),
        Type::Int(limits) => match limits.only.is_some() || (limits.min.is_some() && limits.max.is_some()) {
            true => "version".to_owned(),
            false => "decimal 0".to_owned(),
        },
        Type::Number(limits) => match limits.decimals {
            Some(decimals) => format!("decimal {decimals}"),
            None => "text".to_owned(),
        },
        Type::Time | Type::Seconds | Type::Millis | Type::Now => "timestamp".to_owned(),
        Type::Object(object) | Type::Geo(Some(object)) => {
            let fields = object.fields.iter();
            let mut fields: Vec<String> = fields
                .map(|field| format!("{} {}", field.name, column(&field.ty)))
                .collect();
            fields.sort();
            format!("struct {}", fields.join(", "))
        }
        Type::Geo(None) => "place".to_owned(),
        Type::List(element, _) | Type::Set(element, _) => format!("list of {}", column(element)),
        Type::Map(element, _) => format!("map of {}", column(element)),
        Type::Text(_)
        | Type::Enum(_)
        | Type::Ulid
        | Type::Ksuid
        | Type::Uuid
        | Type::Month
        | Type::Duration
        | Type::OrWords(..)
        | Type::Json
        | Type::Row(_)
        | Type::Group(..)
        | Type::Absent
        | Type::Unknown => "text".to_owned(),
    }
}
