//! The ways to an entity's rows.

use singlet_item::key::Part;
use singlet_model::Model;
use singlet_model::model::{Entity, Index, IndexId, KeyChoice, KeyTemplate};

/// The table or one index, with the templates that one entity, or a mirror of it, has there.
#[derive(Clone, Copy, Debug)]
pub struct AccessPath<'a> {
    /// The entity whose rows lie on the path: the one asked for, or a mirror of it.
    pub entity: &'a Entity,
    /// The index; the table, if there is none.
    pub index: Option<&'a Index>,
    /// The templates.
    pub choice: &'a KeyChoice,
    /// Which of the entity's choices of templates that is.
    pub choice_at: usize,
    choices: &'a [KeyChoice],
    partition_attributes: usize,
}

impl<'a> AccessPath<'a> {
    /// The templates of the partition key.
    pub fn partition_templates(&self) -> &'a [KeyTemplate] {
        self.choice
            .keys
            .get(..self.partition_attributes)
            .unwrap_or(&self.choice.keys)
    }

    /// The templates of the sort key.
    pub fn sort_templates(&self) -> &'a [KeyTemplate] {
        self.choice.keys.get(self.partition_attributes..).unwrap_or_default()
    }

    /// The choices of templates that are tried before this one: the first whose condition holds is taken.
    pub(crate) fn choices_before(&self) -> &'a [KeyChoice] {
        self.choices.get(..self.choice_at).unwrap_or_default()
    }

    /// Whether no row that has other templates can lie among the path's: their texts begin differently. Else a key that is equal
    /// does not say that what it was made of is.
    pub(crate) fn stands_apart(&self) -> bool {
        let others = self.choices.iter().enumerate().filter(|(at, _)| *at != self.choice_at);
        others.into_iter().all(|(_, other)| {
            self.choice.keys.iter().any(|key| {
                other
                    .attribute_template(&key.attribute)
                    .is_none_or(|other| begin_differently(key, other))
            })
        })
    }

    /// The path's name in messages: `the table`, or the index's name.
    pub fn name(&self) -> String {
        match self.index {
            Some(index) => format!("index `{}`", index.name),
            None => "the table".to_owned(),
        }
    }

    /// The index, as the model numbers it.
    pub fn index_in(&self, model: &Model) -> Option<IndexId> {
        let name = &self.index?.name;
        let at = model.table.indexes.iter().position(|index| index.name == *name)?;
        Some(IndexId(u32::try_from(at).ok()?))
    }
}

/// Every path to the rows of an entity: its own, and those of its mirrors.
pub fn access_paths<'a>(model: &'a Model, entity: &'a Entity) -> Vec<AccessPath<'a>> {
    std::iter::once(entity)
        .chain(model.mirrors_of(entity.id))
        .flat_map(|entity| own_paths(model, entity))
        .collect()
}

/// The paths of an entity itself.
pub fn own_paths<'a>(model: &'a Model, entity: &'a Entity) -> Vec<AccessPath<'a>> {
    let table = entity.key.iter().enumerate().map(|(choice_at, choice)| AccessPath {
        entity,
        index: None,
        choice,
        choice_at,
        choices: &entity.key,
        partition_attributes: 1,
    });
    let indexes = entity.index.iter().flat_map(|entry| {
        let index = model.index(entry.index);
        entry
            .key_choices()
            .iter()
            .enumerate()
            .filter_map(move |(choice_at, choice)| {
                Some(AccessPath {
                    entity,
                    index: Some(index?),
                    choice,
                    choice_at,
                    choices: entry.key_choices(),
                    partition_attributes: index?.partition.len(),
                })
            })
    });
    table.chain(indexes).collect()
}

fn begin_differently(one: &KeyTemplate, other: &KeyTemplate) -> bool {
    let (one, other) = (leading_text(one), leading_text(other));
    !one.starts_with(other) && !other.starts_with(one)
}

fn leading_text(key: &KeyTemplate) -> &str {
    match key.template.parts().first() {
        Some(Part::Text(text)) => text,
        _ => "",
    }
}
