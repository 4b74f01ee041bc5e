//! What the items of a path hold, name by name: what of them is asked for, and what a row takes from them.

use std::collections::{BTreeMap, BTreeSet};

use singlet_item::limits::EXPRESSION_SIZE_BYTES_MAX;
use singlet_item::{Path, Paths};
use singlet_model::Model;
use singlet_model::model::{Entity, Index, IndexId, KeyTemplate, Projection, Stored};

/// What an item of an entity holds, as far as it is looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// By name, in the order of names, as items have them.
    pub held: Vec<Held>,
    /// Whether an attribute stands only in a key.
    pub has_key_only: bool,
    /// Whether items hold more than that, which pages leave out: the keys of other indexes.
    pub has_others: bool,
    /// Whether the row follows from its attributes alone, and all of them can be asked for by name.
    pub may_be_bare: bool,
    /// Whether it was narrowed to what is looked at.
    pub is_narrowed: bool,
    /// Whether the row has another name for something than the item.
    pub has_renamed: bool,
    /// What is asked for by name, with the keys of rows and without.
    with_keys: Option<Paths>,
    without_keys: Option<Paths>,
    /// The attributes of the row alone, for a store that looks itself at whether an item is a row.
    row_alone: Option<Paths>,
    /// Of the entries of a thin index that tell all that is looked at: the keys from which attributes are read that they hold nowhere else.
    pub told_by_keys: Vec<ToldBy>,
}

/// A key from which attributes of a row are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldBy {
    /// The index whose key it is; the table's, if there is none.
    pub index: Option<IndexId>,
    /// Which of the entity's templates there.
    pub choice: usize,
    /// The key attribute.
    pub key: String,
    /// The attributes that are read from it.
    pub attributes: Vec<String>,
}

impl ToldBy {
    /// The template of the key.
    pub fn template<'e>(&self, entity: &'e Entity) -> Option<&'e KeyTemplate> {
        let choices = match self.index {
            Some(index) => entity.index_entry(index)?.key_choices(),
            None => &entity.key,
        };
        choices.get(self.choice)?.attribute_template(&self.key)
    }
}

/// The most attributes that are asked for by name: each takes up to six bytes of an expression, `#499, `.
const NAMES_MAX: usize = 500;
const _: () = assert!(NAMES_MAX * 6 <= EXPRESSION_SIZE_BYTES_MAX);

/// One attribute of an item.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Held {
    /// Its name in the item.
    pub name: String,
    /// The attribute of the row that it is, by the row's name for it.
    pub attribute: Option<String>,
    /// Whether it is part of the key by which a page goes on after the item.
    pub is_key: bool,
    /// Whether it says when the item expires.
    pub is_expiry: bool,
    /// Whether it says of which entity the item is a row.
    pub is_type: bool,
}

impl Layout {
    /// What an entity's items hold in the table or an index.
    pub fn of(model: &Model, entity: &Entity, index: Option<&Index>) -> Self {
        let mut held: BTreeMap<&str, Held> = BTreeMap::new();
        for attribute in &entity.attributes {
            let name = match &attribute.stored {
                Stored::Own => &attribute.name,
                Stored::As(name) => name,
                Stored::No => continue,
            };
            held.entry(name).or_default().attribute = Some(attribute.name.clone());
        }
        for key in model.table.key.iter().chain(index.into_iter().flat_map(Index::key)) {
            held.entry(&key.name).or_default().is_key = true;
        }
        if let Some(ttl) = &model.table.ttl {
            held.entry(ttl).or_default().is_expiry = true;
        }
        if let Some(name) = &model.table.type_attribute {
            held.entry(name).or_default().is_type = true;
        }
        let read_back = entity.keys_to_read();
        for key in &read_back {
            held.entry(&key.attribute).or_default();
        }
        let key_only = !read_back.is_empty();
        let carries_all = index.is_none_or(|index| index.projection == Projection::All);
        let choices = entity.index.iter().flat_map(|entry| entry.key_choices());
        let mut keys = choices.flat_map(|choice| &choice.keys);
        // What an index does not have all of cannot be asked of it by name.
        let is_named = carries_all && held.len() <= NAMES_MAX;
        let layout = Layout {
            has_key_only: key_only,
            may_be_bare: is_named && !key_only,
            is_narrowed: false,
            has_renamed: held
                .iter()
                .any(|(name, held)| held.attribute.as_deref().is_some_and(|own| own != *name)),
            has_others: is_named && keys.any(|key| !held.contains_key(key.attribute.as_str())),
            with_keys: None,
            without_keys: None,
            row_alone: None,
            told_by_keys: Vec::new(),
            held: held
                .into_iter()
                .map(|(name, held)| Held {
                    name: name.to_owned(),
                    ..held
                })
                .collect(),
        };
        layout.with_paths()
    }

    /// The same with the paths that follow from what is held, so that no request makes them.
    fn with_paths(self) -> Self {
        let paths = |keys: bool| -> Paths {
            let wanted = |held: &&Held| keys || held.attribute.is_some() || !held.is_key;
            let names = self.held.iter().filter(wanted).map(|held| &held.name);
            names.map(Path::attribute).collect()
        };
        let own = self.held.iter().filter(|held| held.attribute.is_some());
        let own: Paths = own.map(|held| Path::attribute(&held.name)).collect();
        // No paths are all paths.
        let is_told = self.may_be_bare && !self.has_renamed && !own.is_empty();
        Layout {
            with_keys: (self.has_others || self.is_narrowed).then(|| paths(true)),
            without_keys: self.may_be_bare.then(|| paths(false)),
            row_alone: is_told.then_some(own),
            ..self
        }
    }

    /// The same of entries from whose keys attributes are read.
    #[must_use]
    pub(crate) fn told_by(self, told_by_keys: Vec<ToldBy>) -> Self {
        Layout { told_by_keys, ..self }
    }

    /// Leaves out every attribute that is not one of these, where no more of a row is looked at. What says whether an item is a row of
    /// the entity stays.
    #[must_use]
    pub fn narrow(mut self, attributes: &BTreeSet<String>) -> Self {
        let before = self.held.len();
        let is_needed = |held: &Held| held.attribute.as_deref().is_none_or(|name| attributes.contains(name));
        self.held
            .retain(|held| held.is_key || held.is_expiry || held.is_type || is_needed(held));
        self.is_narrowed = self.held.len() < before;
        self.with_paths()
    }

    /// What is asked for by name, in the order of names; nothing where whole items are. Without keys no page can go on after a
    /// row in its middle.
    pub fn projection(&self, keys: bool) -> Option<&Paths> {
        match keys {
            true => self.with_keys.as_ref(),
            false => self.without_keys.as_ref(),
        }
    }

    /// What is asked for by name of a store that looks itself at whether an item is a row, where what it has there is the row.
    pub fn row_alone(&self) -> Option<&Paths> {
        self.row_alone.as_ref()
    }
}
