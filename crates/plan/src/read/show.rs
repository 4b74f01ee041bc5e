//! Plans as text.

use singlet_model::Model;
use singlet_model::model::{Entity, KeyChoice, KeyTemplate};

use super::candidate::{PartValues, Query};
use super::choose::{ReadPlan, SelectionPlan};
use super::sort::{End, SortBound};
use crate::show::{Piece, conjunction, expression, pieces};
use crate::values::Values;

/// The key condition of a query, as documents write it.
pub fn condition(model: &Model, query: &Query) -> String {
    if query.scan {
        return String::new();
    }
    let Some((choice, partitions)) = choice_of(model, query) else {
        return String::new();
    };
    let mut used = 0;
    let mut conditions: Vec<String> = Vec::new();
    for key in choice.keys.iter().take(partitions) {
        let values = query.partition.get(used..).unwrap_or_default();
        conditions.push(format!("{} = {}", key.attribute, filled(key, values)));
        used += key.parts.len();
    }
    if let Some(sort) = &query.sort {
        conditions.extend(sort_condition(choice.keys.get(partitions..).unwrap_or_default(), sort));
    }
    conditions.join(" and ")
}

/// A query in a line: where, by which key, what is left.
pub fn describe(model: &Model, query: &Query) -> String {
    let place = match query.index.and_then(|index| model.index(index)) {
        Some(index) => index.name.clone(),
        None => "table".to_owned(),
    };
    let mut text = match (query.scan, query.is_get()) {
        (true, _) => format!("scan {place}"),
        (false, true) => format!("get {place} {}", condition(model, query)),
        (false, false) => format!("query {place} {}", condition(model, query)),
    };
    if query.descending {
        text.push_str(" descending");
    }
    if !query.rest.is_empty() {
        text.push_str(&format!(" where {}", conjunction(&query.rest)));
    }
    if query.follow {
        text.push_str(", then the rows");
    }
    text
}

/// A whole plan, a line for each query; with the reasons for which the other paths lost, if wanted.
pub fn plan_text(model: &Model, plan: &ReadPlan, why: bool) -> String {
    let mut text = format!("{}\n", plan.read);
    for combination in &plan.combinations {
        if !combination.sent.is_empty() {
            text.push_str(&format!("  with {}\n", combination.sent.join(", ")));
        }
        for part in &combination.parts {
            let label = part.name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
            text.push_str(&selection_text(model, &part.plan, &label, why));
        }
    }
    text
}

fn selection_text(model: &Model, plan: &SelectionPlan, label: &str, why: bool) -> String {
    let mut text = String::new();
    if plan.queries.is_empty() {
        text.push_str(&format!("    {label}no key answers it\n"));
    }
    for query in &plan.queries {
        text.push_str(&format!("    {label}{}\n", describe(model, query)));
    }
    for query in &plan.covers {
        text.push_str(&format!("    {label}or {}\n", describe(model, query)));
    }
    if why || plan.queries.is_empty() {
        for (path, reason) in &plan.others {
            text.push_str(&format!("      not {path}: {reason}\n"));
        }
    }
    text
}

fn choice_of<'a>(model: &'a Model, query: &Query) -> Option<(&'a KeyChoice, usize)> {
    let entity: &Entity = model.entity(query.entity)?;
    match query.index {
        None => Some((entity.key.get(query.choice)?, 1)),
        Some(id) => {
            let entry = entity.entry(id)?;
            Some((entry.choices().get(query.choice)?, model.index(id)?.partition.len()))
        }
    }
}

/// A template with its values.
fn filled(key: &KeyTemplate, values: &[PartValues]) -> String {
    let text: String = pieces(key)
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => (*text).to_owned(),
            Piece::Part(at) => values.get(*at).map_or_else(|| "…".to_owned(), part_text),
        })
        .collect();
    format!("\"{text}\"")
}

fn part_text(part: &PartValues) -> String {
    let text = value_text(&part.values);
    match part.lapses.is_empty() || matches!(part.values, Values::All(_)) {
        true => text,
        false => text.replace('}', " and what lapses to it}"),
    }
}

fn value_text(values: &Values) -> String {
    match values {
        Values::One(value) | Values::Formed(value) => format!("{{{}}}", expression(value)),
        Values::Each(list) => format!("{{each of {}}}", expression(list)),
        Values::Days { from, to, .. } => format!("{{each day {} to {}}}", expression(from), expression(to)),
        Values::Cells { center, km, precision } => {
            format!(
                "{{each cell({precision}) near {}, {}}}",
                expression(center),
                expression(km)
            )
        }
        Values::All(words) => format!("{{each of {}}}", words.join("|")),
    }
}

/// The conditions on the sort key's attributes: equalities as far as they are whole, then at most one range.
fn sort_condition(keys: &[KeyTemplate], sort: &SortBound) -> Vec<String> {
    let mut conditions = Vec::new();
    let mut bound = sort.prefix.as_slice();
    for key in keys {
        let whole = bound.len() >= key.parts.len();
        if !(whole && (sort.whole || bound.len() > key.parts.len() || keys.len() > 1)) {
            conditions.extend(range_condition(key, bound, sort));
            break;
        }
        conditions.push(format!("{} = {}", key.attribute, filled(key, bound)));
        bound = bound.get(key.parts.len()..).unwrap_or_default();
    }
    conditions
}

fn range_condition(key: &KeyTemplate, bound: &[PartValues], sort: &SortBound) -> Option<String> {
    let prefix = prefix_text(key, bound);
    let end = |end: &End| format!("\"{prefix}{{{}}}\"", expression(&end.value));
    Some(match (&sort.low, &sort.high) {
        (None, None) if prefix.is_empty() => return None,
        (None, None) => format!("{} begins_with \"{prefix}\"", key.attribute),
        (Some(low), None) => format!("{} {} {}", key.attribute, sign(low, ">"), end(low)),
        (None, Some(high)) => format!("{} {} {}", key.attribute, sign(high, "<"), end(high)),
        (Some(low), Some(high)) => {
            let (low_end, high_end) = (end(low), end(high));
            format!(
                "{} {} {low_end} and {} {high_end}",
                key.attribute,
                sign(low, ">"),
                sign(high, "<")
            )
        }
    })
}

fn sign(end: &End, sign: &str) -> String {
    if end.excluded {
        sign.to_owned()
    } else {
        format!("{sign}=")
    }
}

/// The text before the first part that is not bound.
fn prefix_text(key: &KeyTemplate, bound: &[PartValues]) -> String {
    let mut text = String::new();
    for piece in pieces(key) {
        match piece {
            Piece::Text(literal) => text.push_str(literal),
            Piece::Part(at) => match bound.get(at) {
                Some(part) => text.push_str(&part_text(part)),
                None => break,
            },
        }
    }
    text
}
