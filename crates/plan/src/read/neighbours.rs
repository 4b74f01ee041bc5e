//! Rows that lie side by side: one query reads what several selections ask for.
//!
//! A parent and its children often share an item collection. Where nothing else lies between them, one query that begins at the
//! right end reads all of them. What its first page does not reach is asked for on its own, so that a long list in the middle
//! never makes the answer dearer than two requests more.

use singlet_item::key::Part;
use singlet_model::Model;
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{KeyTemplate, Read, Selection, SelectionKind};

use super::candidate::Query;
use super::choose::PartPlan;
use crate::access::{self, AccessPath};
use crate::cost::selection_of;
use crate::values::Values;

/// Several selections that one query answers.
#[derive(Clone, Debug)]
pub struct Neighbours {
    /// The selections.
    pub parts: Vec<Neighbour>,
    /// Whether the query runs backwards.
    pub descending: bool,
}

/// One of the selections.
#[derive(Clone, Debug)]
pub struct Neighbour {
    /// Its place among the parts of the combination.
    pub part: usize,
    /// Its query, with what `row` stands for already known from the request.
    pub query: Query,
}

impl Neighbours {
    /// Whether a part is read by it.
    pub fn holds(&self, part: usize) -> bool {
        self.parts.iter().any(|neighbour| neighbour.part == part)
    }
}

/// The parts of a read that one query answers, if there are at least two.
pub(super) fn find(model: &Model, read: &Read, parts: &[PartPlan]) -> Option<Neighbours> {
    let lists = |selection: &Selection| selection.kind == SelectionKind::Find;
    if parts.len() < 2 || read.each.is_some() || read.together.is_some() || read.selection.as_ref().is_some_and(lists) {
        return None;
    }
    let known = parts.iter().find(|part| part.name.is_none()).and_then(lone_query);
    let mut group: Vec<(Neighbour, &Selection)> = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let candidate = selection_of(read, part).zip(lone_query(part));
        let Some((selection, query)) = candidate.filter(|(selection, _)| selection.kind != SelectionKind::Count) else {
            continue;
        };
        let Some(query) = from_request(query, known) else {
            continue;
        };
        let joins = group.iter().all(|(other, of)| {
            // With every one that is in already: one query has one partition, one direction and one consistency.
            shares_collection(model, &query, &other.query)
                && selection.consistent == of.consistent
                && (!is_directed(selection, &query)
                    || !is_directed(of, &other.query)
                    || query.descending == other.query.descending)
        });
        if joins {
            group.push((Neighbour { part: at, query }, selection));
        }
    }
    let directed = group
        .iter()
        .find(|(neighbour, selection)| is_directed(selection, &neighbour.query));
    let descending = directed.is_some_and(|(neighbour, _)| neighbour.query.descending);
    let parts: Vec<Neighbour> = group.into_iter().map(|(neighbour, _)| neighbour).collect();
    // What lies between them would be read and paid for by every request.
    (parts.len() > 1 && nothing_between(model, &parts)).then_some(Neighbours { parts, descending })
}

/// Whether it matters from which end the rows come: for a list, and for the first of several in an order.
fn is_directed(selection: &Selection, query: &Query) -> bool {
    selection.kind == SelectionKind::Find || !selection.order.is_empty() && !query.is_get()
}

pub(super) fn lone_query(part: &PartPlan) -> Option<&Query> {
    match (part.plan.queries.as_slice(), part.plan.covers.as_slice()) {
        ([query], []) if !query.follow && query.layout.told_by_keys.is_empty() && !query.scan => Some(query),
        _ => None,
    }
}

/// The query with the root's key in place of `row`; none where it is more than one range, or waits for the row.
fn from_request(query: &Query, root: Option<&Query>) -> Option<Query> {
    let sort = query.sort.as_ref()?;
    if sort.low.is_some() || sort.high.is_some() {
        return None;
    }
    let mut parts = query.partition.iter().chain(&sort.prefix);
    let one = parts.all(|part| matches!(part.values, Values::One(_)) && part.lapses.is_empty());
    with_known_row(query, root).filter(|_| one)
}

/// The query with the root's key in place of `row`; none where it waits for the row.
pub(super) fn with_known_row(query: &Query, root: Option<&Query>) -> Option<Query> {
    let mut query = query.clone();
    let sort = query.sort.iter_mut().flat_map(|sort| &mut sort.prefix);
    for part in query.partition.iter_mut().chain(sort) {
        match &mut part.values {
            Values::One(value) | Values::Formed(value) | Values::Each(value) | Values::EachFormed(value) => {
                *value = known_value(value, root)?;
            }
            Values::Days(range) => {
                for end in range.from.iter_mut().chain(&mut range.to) {
                    end.value = known_value(&end.value, root)?;
                }
            }
            Values::Cells { center, km, .. } => {
                *center = known_value(center, root)?;
                *km = known_value(km, root)?;
            }
            Values::All(_) => {}
        }
    }
    Some(query)
}

fn known_value(value: &Expr, root: Option<&Query>) -> Option<Expr> {
    if !value.any(|part| matches!(part.kind, ExprKind::Row)) {
        return Some(value.clone());
    }
    let ExprKind::Field(of, name) = &value.kind else {
        return None;
    };
    let root = root.filter(|_| of.kind == ExprKind::Row)?;
    let sort = root.sort.iter().flat_map(|sort| &sort.prefix);
    let part = root
        .partition
        .iter()
        .chain(sort)
        // Only what the key says exactly: a rounded value may be another row's.
        .find(|part| part.path == *name && part.exact)?;
    match &part.values {
        Values::One(value) => Some(value.clone()),
        _ => None,
    }
}

fn shares_collection(model: &Model, one: &Query, other: &Query) -> bool {
    let text = |query: &Query| {
        let path = path_of(model, query)?;
        let texts: Vec<String> = path
            .partition_templates()
            .iter()
            .map(|key| super::show::filled(key, &query.partition))
            .collect();
        let single = path.partition_templates().len() == 1 && path.sort_templates().len() == 1;
        single.then_some(texts)
    };
    one.index == other.index && text(one).is_some_and(|one| Some(one) == text(other))
}

/// Whether the item collection has no other rows between those of the parts, which the query would read for nothing.
fn nothing_between(model: &Model, parts: &[Neighbour]) -> bool {
    let mut starts = Vec::new();
    for part in parts {
        let Some(path) = path_of(model, &part.query) else {
            return false;
        };
        // Text that is the same for every row tells where the rows lie; without any they may lie anywhere.
        match path.sort_templates().first().map(literal_start) {
            Some(text) if !text.is_empty() => starts.push(text.to_owned()),
            _ => return false,
        }
    }
    let (Some(first), Some(last)) = (starts.iter().min(), starts.iter().max()) else {
        return false;
    };
    let Some(place) = parts.first().and_then(|part| path_of(model, &part.query)) else {
        return false;
    };
    let paths = model
        .entities
        .iter()
        .flat_map(|entity| access::own_paths(model, entity));
    paths
        .filter(|path| !parts.iter().any(|part| part.query.entity == path.entity.id))
        .filter(|path| is_same_place(path, &place))
        .all(|path| {
            let start = path.sort_templates().first().map_or("", literal_start);
            start < first.as_str() && !first.starts_with(start)
                || start > last.as_str() && !start.starts_with(last.as_str())
        })
}

/// Whether two paths may meet in one partition, as far as the text before the first variable tells.
fn is_same_place(one: &AccessPath<'_>, other: &AccessPath<'_>) -> bool {
    let start = |path: &AccessPath<'_>| path.partition_templates().first().map_or("", literal_start).to_owned();
    let (a, b) = (start(one), start(other));
    one.index.map(|index| &index.name) == other.index.map(|index| &index.name)
        && (a.starts_with(&b) || b.starts_with(&a))
}

fn literal_start(key: &KeyTemplate) -> &str {
    match key.template.parts().first() {
        Some(Part::Text(text)) => text,
        _ => "",
    }
}

fn path_of<'a>(model: &'a Model, query: &Query) -> Option<AccessPath<'a>> {
    let entity = model.entity(query.entity)?;
    let name = query
        .index
        .and_then(|index| model.index(index))
        .map(|index| &index.name);
    let mut paths = access::own_paths(model, entity).into_iter();
    paths.find(|path| path.index.map(|index| &index.name) == name && path.choice_at == query.choice)
}
