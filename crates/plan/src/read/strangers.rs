//! Rows of other entities among those that a query reads.

use singlet_item::key::{Effort, Part, Template, Verdict, collision_within};
use singlet_model::Model;
use singlet_model::model::{Entity, Index, IndexId, KeyChoice, KeyTemplate, Projection, Stored};
use singlet_model::types::EntityId;

use super::candidate::Query;
use crate::access::{self, AccessPath};

/// The steps that deciding may take for one query; what is not decided within them is taken for possible.
const DECISION_STEPS_MAX: u64 = 20_000;

/// Whether rows of other entities may be among those that a query reads, and no attribute tells them apart.
pub(super) fn is_mixed(model: &Model, query: &Query) -> bool {
    let index = query.index.and_then(|index| model.index(index));
    // A thin index may not have the word for the kind of a row.
    let is_told = model.table.type_attribute.as_ref().is_some_and(|name| {
        index.is_none_or(|index| match &index.projection {
            Projection::All => true,
            Projection::Keys => false,
            Projection::Include(names) => names.contains(name),
        })
    });
    !is_told && model.entities.len() > 1 && !query.scan && reads_strangers(model, query)
}

/// Whether rows of another entity are in an index because they have the attributes of its key. A mirror carries what its source has.
fn holds_others(model: &Model, entity: EntityId, index: &Index) -> bool {
    let stores = |other: &Entity, name: &str| {
        model.table.key.iter().any(|key| key.name == name)
            || other.attributes.iter().any(|attribute| match &attribute.stored {
                Stored::Own => attribute.name == name,
                Stored::As(stored) => stored == name,
                Stored::No => false,
            })
    };
    let mut others = model.entities.iter().filter(|other| other.id != entity);
    others.any(|other| index.key().all(|key| stores(other, &key.name)))
}

/// Whether rows of other entities, or of the entity under other templates, may lie in the range that a query reads: they are read
/// for nothing, and dropped.
pub(crate) fn reads_strangers(model: &Model, query: &Query) -> bool {
    let entity = model.entity(query.entity);
    let index = query.index.and_then(|index| model.index(index));
    let is_there = |path: &AccessPath<'_>| path.index.map(|index| &index.name) == index.map(|index| &index.name);
    let own = entity.and_then(|entity| {
        let mut paths = access::own_paths(model, entity).into_iter();
        paths.find(|path| is_there(path) && path.choice_at == query.choice)
    });
    if index.is_some_and(|index| holds_others(model, query.entity, index)) {
        return true;
    }
    let Some(own) = own else { return false };
    let Some(range) = range_of(&own, query) else {
        // What cannot be told counts as mixed: each row is then looked at by its key.
        return true;
    };
    let effort = Effort::new(DECISION_STEPS_MAX);
    let mut others = model.entities.iter().flat_map(|other| {
        let choices = choices_at(other, query.index).enumerate();
        choices.filter(move |(choice_at, _)| other.id != query.entity || *choice_at != query.choice)
    });
    others.any(|(_, other)| {
        let pairs = range.iter().zip(&other.keys);
        // A number that nothing bounds is any number.
        let pairs = pairs.filter_map(|(own, other)| Some((own.as_ref()?, &other.template)));
        // Most keys are told apart by the text that they begin with, and many entities have keys.
        if pairs.clone().any(|(own, other)| begin_differently(own, other)) {
            return false;
        }
        let (left, right): (Vec<Template>, Vec<Template>) =
            pairs.map(|(own, other)| (own.clone(), other.clone())).unzip();
        // Only what is proved; undecided is mixed.
        !matches!(collision_within(&left, &right, &effort), Verdict::Never)
    })
}

/// The templates of an entity in an index, or in the table.
fn choices_at(entity: &Entity, index: Option<IndexId>) -> impl Iterator<Item = &KeyChoice> {
    let of_table = entity.key.iter().filter(move |_| index.is_none());
    let entries = entity.index.iter().filter(move |entry| Some(entry.index) == index);
    of_table.chain(entries.flat_map(|entry| entry.key_choices()))
}

/// Whether the first text of either is not how the other begins: then no key is of both.
fn begin_differently(one: &Template, other: &Template) -> bool {
    let (one, other) = (leading_text(one), leading_text(other));
    !one.starts_with(other) && !other.starts_with(one)
}

fn leading_text(template: &Template) -> &str {
    match template.parts().first() {
        Some(Part::Text(text)) => text,
        _ => "",
    }
}

/// The templates of the keys that a query asks for, as far as they are bound; nothing in the place of one that is open.
fn range_of(path: &AccessPath<'_>, query: &Query) -> Option<Vec<Option<Template>>> {
    let partition = path.partition_templates().iter().map(|key| Some(key.template.clone()));
    let mut range: Vec<Option<Template>> = partition.collect();
    let mut bound = query.sort.as_ref().map_or(0, |sort| sort.prefix.len());
    for key in path.sort_templates() {
        let is_whole = bound >= key.parts.len();
        range.push(match is_whole {
            true => Some(key.template.clone()),
            false => beginning(key, bound)?,
        });
        if !is_whole {
            break;
        }
        bound -= key.parts.len();
    }
    Some(range)
}

/// Keys of which so many parts are bound, and what follows is anything; nothing where that is every key.
fn beginning(key: &KeyTemplate, bound: usize) -> Option<Option<Template>> {
    let mut seen = 0;
    let before = key.template.parts().iter().take_while(|part| {
        seen += usize::from(matches!(part, Part::Variable(_)));
        seen <= bound
    });
    let mut parts: Vec<Part> = before.cloned().collect();
    if parts.is_empty() {
        return Some(None);
    }
    parts.push(Part::Anything);
    Template::new(parts, key.template.delimiter()).ok().map(Some)
}
