//! Conditions written by hand (`using`), laid beside the keys that they are to meet.

use singlet_item::key::{Part, Template, Verdict, decide_collision};
use singlet_model::Model;
use singlet_model::model::{Comparison, Entity, Index, KeyTemplate, Read, Selection, Using, UsingKey};

use crate::access::{self, AccessPath};
use crate::facts::Facts;

/// A read whose condition is written by hand.
#[derive(Debug)]
pub struct ByHand<'a> {
    /// The read.
    pub read: &'a Read,
    /// Its meaning.
    pub selection: &'a Selection,
    /// The entity that it reads.
    pub entity: &'a Entity,
    /// The condition.
    pub using: &'a Using,
    /// The index; the table, if there is none.
    pub index: Option<&'a Index>,
    /// The paths on the table or that index whose stored keys the condition can meet.
    pub met: Vec<AccessPath<'a>>,
    /// The first part of the condition that no stored key meets.
    pub missed: Option<Missed<'a>>,
}

/// A part of a condition that no stored key meets.
#[derive(Debug)]
pub struct Missed<'a> {
    /// The part.
    pub key: &'a UsingKey,
    /// Its template.
    pub given: &'a KeyTemplate,
    /// Whether an equality is asked, not a prefix.
    pub equality: bool,
    /// A stored template that the part was compared with.
    pub stored: &'a KeyTemplate,
}

/// Every read with a condition by hand.
pub fn conditions_by_hand(model: &Model) -> Vec<ByHand<'_>> {
    model.reads.iter().filter_map(|read| ByHand::of(model, read)).collect()
}

impl<'a> ByHand<'a> {
    /// The read, where it has a condition by hand.
    pub fn of(model: &'a Model, read: &'a Read) -> Option<Self> {
        let using = read.using.as_ref()?;
        let selection = read.selection.as_ref()?;
        let entity = model.entity(selection.entity()?)?;
        let index = using.index.and_then(|index| model.index(index));
        let name = index.map(|index| index.name.as_str());
        let mut met = access::access_paths(model, entity);
        met.retain(|path| path.index.map(|index| index.name.as_str()) == name);
        let mut missed = None;
        for key in in_key_order(model, index, using) {
            missed = narrow(&mut met, key);
            if missed.is_some() {
                break;
            }
        }
        Some(ByHand {
            read,
            selection,
            entity,
            using,
            index,
            met,
            missed,
        })
    }

    /// What the read means: its `where`, and what `allow` says of the row.
    pub fn meaning_facts(&self) -> Facts<'a> {
        Facts::of(self.entity, self.selection.filter.iter().chain([&self.read.allow]))
    }

    /// How many queries are said to be made.
    pub fn query_count(&self) -> u64 {
        self.using.queries.map_or(1, |(queries, _)| queries)
    }

    /// The table or the index in messages.
    pub fn place_name(&self) -> String {
        match self.index {
            Some(index) => format!("index `{}`", index.name),
            None => "the table".to_owned(),
        }
    }
}

/// The parts of a condition in the order of the key attributes.
fn in_key_order<'a>(model: &'a Model, index: Option<&'a Index>, using: &'a Using) -> Vec<&'a UsingKey> {
    let names: Vec<&str> = match index {
        Some(index) => index.key().map(|attribute| attribute.name.as_str()).collect(),
        None => model
            .table
            .key
            .iter()
            .map(|attribute| attribute.name.as_str())
            .collect(),
    };
    let part = |name: &str| using.key.iter().find(|key| key.attribute == name);
    names.into_iter().filter_map(part).collect()
}

/// Keeps the paths whose keys the part can meet; says so where none is left, and keeps them then.
fn narrow<'a>(paths: &mut Vec<AccessPath<'a>>, key: &'a UsingKey) -> Option<Missed<'a>> {
    let (given, equality) = match &key.comparison {
        Comparison::Equal(given) => (given, true),
        Comparison::BeginsWith(given) => (given, false),
        _ => return None,
    };
    let asked = match equality {
        true => given.template.clone(),
        false => template_beginning(&given.template)?,
    };
    let meets = |path: &AccessPath<'a>| match path.choice.attribute_template(&key.attribute) {
        Some(stored) => can_meet(&asked, &stored.template),
        None => true,
    };
    let kept: Vec<AccessPath<'a>> = paths.iter().filter(|path| meets(path)).copied().collect();
    if kept.is_empty() {
        let stored = paths
            .iter()
            .find_map(|path| path.choice.attribute_template(&key.attribute));
        return stored.map(|stored| Missed {
            key,
            given,
            equality,
            stored,
        });
    }
    *paths = kept;
    None
}

/// Whether two templates can give the same key; also where nothing could be decided.
pub fn can_meet(one: &Template, other: &Template) -> bool {
    decide_collision(std::slice::from_ref(one), std::slice::from_ref(other)) != Verdict::Never
}

/// The keys that begin as a template's do; none for a value that is a whole key and never a beginning.
pub fn template_beginning(template: &Template) -> Option<Template> {
    let parts = template.parts().iter().cloned().chain([Part::Anything]).collect();
    Template::new(parts, template.delimiter()).ok()
}
