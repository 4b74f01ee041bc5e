//! A model's *face*: its stored side, resolved; and what of it keeps two models from sharing the rows of one table.
//!
//! # Terms
//!
//! - A [`Face`] says how rows are stored: keys as encoders (widths, ranks, folding), stored names and types, when an index has an
//!   entry, what is computed, when rows end, guards, mirrors, copies and versions. How a model is written, its reads, its routes
//!   and who may call are no part of it: two models with one face store the same bytes for the same rows.
//! - A [`Difference`] is something of which rows that one face wrote are not rightly read by another, in words.
//!
//! # What it is not
//!
//! It reads no table and writes none: the runtime keeps faces in the table, and opens it by what [`differences`] says. It changes
//! no rows.

mod compare;
mod encoder;
mod expression;
mod types;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use singlet_item::Value;
use singlet_model::Model;
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Attribute, Entity, Kept, KeyChoice, PartFunction, Role, Step, StepKind, Stored};

pub use compare::{Company, Difference, face_differences, shown_choices};
pub use encoder::key_attributes;
pub use types::{Lack, Numbers, Range, TypeFace};

/// The version of the encoders of keys: raised when the same template and value give another key than before.
pub(crate) const ENCODERS: u32 = 1;

/// The version of a table whose guards hold hashed values.
pub(crate) const ENCODERS_OF_HASHED_GUARDS: u32 = 2;

/// The stored side of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Face {
    /// The version of the encoders.
    pub encoders: u32,
    /// The key attributes of the table, partition first.
    pub table_key: Vec<String>,
    /// Between the parts of keys.
    pub delimiter: char,
    /// The attribute that names the entity of a row.
    pub type_attribute: Option<String>,
    /// The attribute that holds the expiry.
    pub ttl: Option<String>,
    /// What stands for the key with which the table's guards hash values; none where they hold values as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guards: Option<String>,
    /// The entities, by name.
    pub entities: BTreeMap<String, EntityFace>,
}

/// The stored side of an entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntityFace {
    /// The primary key: the choices in order.
    pub key: Vec<ChoiceFace>,
    /// The entries in indexes that it has, by the index's name.
    pub indexes: BTreeMap<String, Vec<ChoiceFace>>,
    /// The attributes, by the name under which they are stored; those that stand only in keys under their own.
    pub attributes: BTreeMap<String, AttributeFace>,
    /// Guards, by name: the value of each.
    pub unique: BTreeMap<String, String>,
    /// When a row ends.
    pub expires: Option<String>,
    /// The attributes of its versions: begin, end, tombstone.
    pub history: Option<Vec<String>>,
    /// The entity of which it is another row.
    pub mirrors: Option<String>,
    /// Whether it holds the records of requests.
    pub is_record: bool,
    /// Whether writes put its rows whole: what they do not know is dropped.
    pub rewrites: bool,
    /// The zone, where something stored depends on it.
    pub zone: Option<String>,
    /// The values of settings on which something stored depends; what ends a row is its own business.
    pub settings: BTreeMap<String, String>,
}

/// The templates of a key for rows of which a condition holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChoiceFace {
    /// The condition.
    pub when: Option<String>,
    /// Key attributes, each with its encoder.
    pub keys: BTreeMap<String, String>,
}

/// The stored side of an attribute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttributeFace {
    /// Its type, limits included.
    pub ty: TypeFace,
    /// Whether it may be absent.
    pub optional: bool,
    /// Whether it stands only in the key.
    pub in_key_only: bool,
    /// What it is computed from.
    pub is: Option<String>,
    /// What it copies, where the copy follows its source.
    pub copies: Option<String>,
    /// Of an attribute that stands in a key: what a create makes it of other attributes, where nothing is given. A table of before
    /// does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derived: Option<String>,
}

impl Face {
    /// The same without the entries of some indexes.
    #[must_use]
    pub fn without_indexes(&self, names: &[String]) -> Self {
        let mut face = self.clone();
        for entity in face.entities.values_mut() {
            entity.indexes.retain(|name, _| !names.contains(name));
        }
        face
    }

    /// The face of a model, with the settings that it is deployed with.
    pub fn of(model: &Model, settings: &BTreeMap<String, Value>) -> Self {
        let entities = model.entities.iter();
        let entities = entities.map(|entity| (entity.name.clone(), entity_face(model, entity, settings)));
        Face {
            encoders: ENCODERS,
            table_key: model.table.key.iter().map(|key| key.name.clone()).collect(),
            delimiter: model.table.delimiter,
            type_attribute: model.table.type_attribute.clone(),
            ttl: model.table.ttl.clone(),
            guards: None,
            entities: entities.collect(),
        }
    }

    /// The same face in a table whose guards hold hashed values: a program that does not know them must not write others.
    #[must_use]
    pub fn with_hashed_guards(mut self, fingerprint: String) -> Self {
        self.encoders = ENCODERS_OF_HASHED_GUARDS;
        self.guards = Some(fingerprint);
        self
    }

    /// The face as text, by which it is kept.
    pub fn to_text(&self) -> String {
        // A face is maps with text as keys, which JSON always has a form for.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// A face that was kept.
    ///
    /// # Errors
    ///
    /// Where it is none, or one of a later version.
    pub fn from_text(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// What stands for the whole face: two models with one hash store rows alike.
    pub fn face_hash(&self) -> String {
        hashed(&self.to_text())
    }

    /// What stands for each entity.
    pub fn entity_hashes(&self) -> BTreeMap<String, String> {
        let entities = self.entities.iter();
        let hash = |entity: &EntityFace| hashed(&serde_json::to_string(entity).unwrap_or_default());
        entities.map(|(name, entity)| (name.clone(), hash(entity))).collect()
    }
}

fn hashed(text: &str) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16);
    let bytes = Sha256::digest(text.as_bytes());
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(digit)
        .collect()
}

fn entity_face(model: &Model, entity: &Entity, settings: &BTreeMap<String, Value>) -> EntityFace {
    let of = model.source_of(entity);
    let text = |expr: &Expr| expression::expression_text(model, entity, expr);
    let choices = |choices: &[KeyChoice]| -> Vec<ChoiceFace> {
        let face = |choice: &KeyChoice| ChoiceFace {
            when: choice.when.as_ref().map(text),
            keys: choice
                .keys
                .iter()
                .map(|key| (key.attribute.clone(), encoder::encoder_text(entity, key)))
                .collect(),
        };
        choices.iter().map(face).collect()
    };
    let indexes = entity.index.iter().filter(|entry| !entry.key_choices().is_empty());
    let indexes =
        indexes.filter_map(|entry| Some((model.index(entry.index)?.name.clone(), choices(entry.key_choices()))));
    let stored = entity.attributes.iter().filter(|attribute| attribute.alias.is_none());
    let attributes = stored.map(|attribute| {
        let face = AttributeFace {
            ty: TypeFace::of(&attribute.ty),
            optional: attribute.optional,
            in_key_only: attribute.stored == Stored::No,
            is: attribute.is.as_ref().map(text),
            copies: copied(model, entity, attribute),
            derived: derived(entity, attribute).map(text),
        };
        (stored_name(attribute).to_owned(), face)
    });
    let name_of = |name: &String| stored_attribute(entity, name).to_owned();
    EntityFace {
        key: choices(&entity.key),
        indexes: indexes.collect(),
        attributes: attributes.collect(),
        unique: entity
            .unique
            .iter()
            .map(|guard| (guard.name.clone(), text(&guard.value)))
            .collect(),
        expires: of.expires.as_ref().filter(|_| model.table.ttl.is_some()).map(text),
        history: entity.history.as_ref().map(|history| {
            let names = [Some(&history.at), Some(&history.until), history.tombstone.as_ref()];
            names.into_iter().flatten().map(name_of).collect()
        }),
        mirrors: entity.mirror.as_ref().map(|_| of.name.clone()),
        is_record: entity.role == Some(Role::Idempotency),
        rewrites: entity.history.is_some() || is_rekeyed(model, entity),
        zone: uses_zone(entity).then(|| model.zone.clone()),
        settings: used_settings(entity, settings),
    }
}

/// What an attribute copies; a snapshot on purpose is an attribute like any other.
fn copied(model: &Model, entity: &Entity, attribute: &Attribute) -> Option<String> {
    let copy = attribute.copy.as_ref()?;
    match copy.kept {
        Kept::Transaction | Kept::Stream => Some(format!(
            "{}.{}",
            expression::expression_text(model, entity, &copy.source),
            copy.attribute
        )),
        Kept::Frozen | Kept::Unsaid => None,
    }
}

/// The default of an attribute in a key that is made of others, as a shard is: where it is another, so is the key.
fn derived<'e>(entity: &Entity, attribute: &'e Attribute) -> Option<&'e Expr> {
    let of_others = |default: &&Expr| default.any(|part| matches!(part.kind, ExprKind::Attribute(_)));
    let default = attribute.default.as_ref().filter(of_others)?;
    let entries = entity.index.iter().flat_map(|entry| entry.key_choices());
    let mut keys = entity.key.iter().chain(entries).flat_map(|choice| &choice.keys);
    let is_in_key = keys.any(|key| key.parts.iter().any(|part| part.root_attribute() == attribute.name));
    is_in_key.then_some(default)
}

fn is_rekeyed(model: &Model, entity: &Entity) -> bool {
    let rekeys = |step: &Step| step.rekey && step.entity() == Some(entity.id);
    let writes = model.writes.iter().flat_map(|write| &write.steps);
    let shared = model.steps.iter().flat_map(|step| &step.steps);
    writes.chain(shared).any(|step| any_step(step, &rekeys))
}

fn any_step(step: &Step, test: &dyn Fn(&Step) -> bool) -> bool {
    let inner = match &step.kind {
        StepKind::Group(steps) => steps.as_slice(),
        _ => &[],
    };
    test(step) || inner.iter().any(|inner| any_step(inner, test))
}

/// Under which name an attribute stands in the item.
pub(crate) fn stored_name(attribute: &Attribute) -> &str {
    match &attribute.stored {
        Stored::As(name) => name,
        Stored::Own | Stored::No => &attribute.name,
    }
}

/// The stored name of an attribute, another name of one included.
pub(crate) fn stored_attribute<'e>(entity: &'e Entity, name: &'e str) -> &'e str {
    let Some(attribute) = entity.attribute(name) else {
        return name;
    };
    match attribute.alias.as_ref().and_then(|alias| entity.attribute(alias)) {
        Some(of) => stored_name(of),
        None => stored_name(attribute),
    }
}

/// Every expression whose value decides what is stored, and not when it ends.
fn stored_expressions(entity: &Entity) -> impl Iterator<Item = &Expr> {
    let entries = entity.index.iter().flat_map(|entry| entry.key_choices());
    let whens = entity
        .key
        .iter()
        .chain(entries)
        .filter_map(|choice| choice.when.as_ref());
    let computed = entity.attributes.iter().filter_map(|attribute| attribute.is.as_ref());
    whens
        .chain(computed)
        .chain(entity.unique.iter().map(|guard| &guard.value))
}

fn uses_zone(entity: &Entity) -> bool {
    let by_zone = |expr: &Expr| {
        expr.any(|part| match &part.kind {
            ExprKind::Today => true,
            ExprKind::Call(function, _) => matches!(function.name(), "day" | "month" | "year" | "time"),
            _ => false,
        })
    };
    let entries = entity.index.iter().flat_map(|entry| entry.key_choices());
    let mut parts = entity
        .key
        .iter()
        .chain(entries)
        .flat_map(|choice| &choice.keys)
        .flat_map(|key| &key.parts);
    let dated = |function| matches!(function, PartFunction::Day | PartFunction::Month | PartFunction::Year);
    parts.any(|part| part.ty.is_instant() && part.function.is_some_and(dated))
        || stored_expressions(entity).any(by_zone)
}

fn used_settings(entity: &Entity, settings: &BTreeMap<String, Value>) -> BTreeMap<String, String> {
    let mut used = BTreeMap::new();
    for expr in stored_expressions(entity) {
        expr.walk(&mut |part| {
            if let ExprKind::Setting(name) = &part.kind {
                let value = settings
                    .get(name)
                    .map_or_else(|| "absent".to_owned(), |value| format!("{value:?}"));
                used.insert(name.clone(), value);
            }
        });
    }
    used
}
