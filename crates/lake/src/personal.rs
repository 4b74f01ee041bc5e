//! What tells of a person: how it stands in a lake, and what of it is shown where something does not fit.

use std::collections::BTreeSet;
use std::fmt;

use hmac::{Hmac, Mac};
use sha2::Sha256;
use singlet_item::{Item, Value};
use singlet_model::Model;
use singlet_model::model::{Attribute, Entity, Personal, Stored};
use singlet_runtime::Attributes;
use singlet_values::json_text;

use crate::cell::{Cell, Column, ColumnType};

/// How many bytes of a hash stand for a value: none meets another by chance.
const HASH_BYTES: usize = 16;

/// Makes what stands for values, under a key that the lake does not have.
///
/// Without the key nobody can try values until one fits; with it, as in the table itself, equal values are told to be equal.
#[derive(Clone)]
pub(crate) struct ValueHasher(Option<Hmac<Sha256>>);

impl fmt::Debug for ValueHasher {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("ValueHasher")
    }
}

impl ValueHasher {
    /// Under a key; one that is empty is none.
    pub(crate) fn new(secret: &[u8]) -> Self {
        let mac = Hmac::<Sha256>::new_from_slice(secret).ok();
        // Without a key there is no hash: an empty text is better than one that can be tried.
        ValueHasher(mac.filter(|_| !secret.is_empty()))
    }

    /// What stands for a value. Without a key nothing does, so that no value is ever told by mistake.
    pub(crate) fn hashed_value(&self, value: &Value) -> String {
        let Some(mac) = &self.0 else { return String::new() };
        let mut mac = mac.clone();
        mac.update(json_text::json_of(value).as_bytes());
        let hash = mac.finalize().into_bytes();
        hash.iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Whether rows of any entity tell of a person.
pub(crate) fn has_personal(model: &Model) -> bool {
    let attributes = model.entities.iter().flat_map(|entity| &entity.attributes);
    attributes.into_iter().any(|attribute| attribute.personal.is_some())
}

/// What an entity's rows tell of a person.
pub(crate) struct EntityPersons {
    /// The attributes that do.
    names: BTreeSet<String>,
    /// What an item or a row may show of itself where it does not fit; none where it may show all.
    shown: Option<BTreeSet<String>>,
    hasher: ValueHasher,
}

impl EntityPersons {
    pub(crate) fn of_entity(entity: &Entity, hasher: &ValueHasher) -> Self {
        let is_personal = |attribute: &&Attribute| attribute.personal.is_some();
        let names: BTreeSet<String> = entity.attributes.iter().filter(is_personal).map(name_of).collect();
        let shown = (!names.is_empty()).then(|| {
            let hidden = entity.attributes.iter().filter(is_personal);
            let hidden: BTreeSet<&str> = hidden.flat_map(names_in_item).collect();
            let others = entity
                .attributes
                .iter()
                .filter(|attribute| attribute.personal.is_none());
            // Keys may be made of what is personal, and what the model does not know may be anything.
            let names = others.flat_map(names_in_item);
            // An attribute may be stored under the name of one that is personal.
            names.filter(|name| !hidden.contains(name)).map(str::to_owned).collect()
        });
        EntityPersons {
            names,
            shown,
            hasher: hasher.clone(),
        }
    }

    /// Whether what identifies a row tells of a person.
    pub(crate) fn is_in_key(&self, key: &Attributes) -> bool {
        key.keys().any(|name| self.names.contains(name))
    }

    /// What identifies a row, as text: nothing in it is readable that tells of a person.
    pub(crate) fn key_text(&self, key: &Attributes) -> String {
        if self.is_in_key(key) {
            let hidden = |(name, value): (&String, &Value)| match self.names.contains(name) {
                true => (name.clone(), Value::S(self.hasher.hashed_value(value))),
                false => (name.clone(), value.clone()),
            };
            return json_text::json_of(&Value::M(key.iter().map(hidden).collect()));
        }
        let mut text = Vec::new();
        json_text::write_object(&mut text, key.iter().map(|(name, value)| (name.as_str(), value)));
        String::from_utf8(text).unwrap_or_default()
    }

    /// A key of before, in which some attributes stood readable; nothing where it has none of them.
    pub(crate) fn hidden_key(
        &self,
        key: serde_json::Map<String, serde_json::Value>,
        readable: &BTreeSet<String>,
    ) -> Option<String> {
        if !key.keys().any(|name| readable.contains(name)) {
            return None;
        }
        let value = |name: &String, json: serde_json::Value| {
            let value = match json {
                serde_json::Value::String(text) => Value::S(text),
                other => other.to_string().parse().map_or(Value::Null, Value::N),
            };
            match readable.contains(name) {
                true => Value::S(self.hasher.hashed_value(&value)),
                false => value,
            }
        };
        let key = key.into_iter().map(|(name, json)| {
            let value = value(&name, json);
            (name, value)
        });
        Some(json_text::json_of(&Value::M(key.collect())))
    }

    /// The id of a change of before.
    pub(crate) fn hidden_id(&self, id: &str) -> String {
        self.hasher.hashed_value(&Value::S(id.to_owned()))
    }

    /// The id of a change, which has a plain hash of its item's key.
    pub(crate) fn id_text(&self, key: &Attributes, id: &str) -> String {
        match self.is_in_key(key) {
            true => self.hidden_id(id),
            false => id.to_owned(),
        }
    }

    /// What an item or a row shows of itself where it does not fit.
    pub(crate) fn shown_item(&self, item: Item) -> Item {
        match &self.shown {
            None => item,
            Some(shown) => item.into_iter().filter(|(name, _)| shown.contains(name)).collect(),
        }
    }

    /// Why something does not fit, without the value of which that is said.
    pub(crate) fn shown_reason(&self, reason: String) -> String {
        if self.shown.is_none() {
            return reason;
        }
        let named = reason.strip_prefix('`').and_then(|rest| rest.split_once('`'));
        match named {
            // The reason may have the value in it, so that only the name is told.
            Some((name, _)) if self.names.contains(name) => format!("`{name}` does not fit"),
            Some((name, _)) if self.shown.as_ref().is_some_and(|shown| shown.contains(name)) => reason,
            _ => "the row is not as the model has it".to_owned(),
        }
    }
}

fn name_of(attribute: &Attribute) -> String {
    attribute.name.clone()
}

/// Under which names items and rows have an attribute. One that stands in the key alone has none in items.
fn names_in_item(attribute: &Attribute) -> impl Iterator<Item = &str> {
    let stored = match &attribute.stored {
        Stored::As(name) => Some(name.as_str()),
        Stored::Own | Stored::No => None,
    };
    std::iter::once(attribute.name.as_str()).chain(stored)
}

/// Which cells of a row are emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Emptied {
    /// Those in columns that hold nothing any more.
    Omitted,
    /// All that tell of a person: the row they are of is gone.
    Personal,
}

/// Empties cells; whether any had something.
pub(crate) fn empty_cells(columns: &[Column], cells: &mut [Cell], which: Emptied) -> bool {
    let mut has_changed = false;
    for (column, cell) in columns.iter().zip(cells) {
        let is_meant = match which {
            Emptied::Omitted => column.personal == Some(Personal::Omitted),
            Emptied::Personal => column.personal.is_some(),
        };
        if is_meant {
            has_changed |= *cell != Cell::Null;
            *cell = Cell::Null;
        } else if let (ColumnType::Struct(fields), Cell::Struct(cells)) = (&column.ty, cell) {
            has_changed |= empty_cells(fields, cells, which);
        }
    }
    has_changed
}

/// Whether a column, or a field of one, tells of a person in a way.
pub(crate) fn any_personal(columns: &[Column], is_meant: &dyn Fn(Personal) -> bool) -> bool {
    columns.iter().any(|column| {
        let within = match &column.ty {
            ColumnType::Struct(fields) => any_personal(fields, is_meant),
            _ => false,
        };
        within || column.personal.is_some_and(is_meant)
    })
}
