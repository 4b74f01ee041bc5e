//! Rows that the model itself keeps beside those of its entities: guards of unique values, records of requests, progress.
//!
//! They have partitions of their own whose keys begin with `$`, the character that escapes: no part of a key that a caller
//! fills can begin so, except where a model leaves it unescaped. Where the partition key is a number, one of its own stands for the text.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use singlet_item::key::{Delimiter, kept_number};
use singlet_item::{Item, Number, Value};
use singlet_model::Model;
use singlet_model::evaluate::evaluate;
use singlet_model::model::{Entity, Guard};
use singlet_store::{Condition, KeyType, Path, Update};

use super::refuse::text_of;
use super::touched::{Doing, RowCheck, WriteAction, absent_now, present_item};
use crate::digest::hex_text;
use crate::error::RuntimeError;
use crate::row;
use crate::scope::{Attributes, Scope};
use crate::table;

/// The attribute of a guard that says whose it is.
pub const OWNER: &str = "$of";

/// The longest text in a key before it is hashed; a partition key holds 2048 bytes.
const TEXT_BYTES_MAX: usize = 1_024;

/// The key of a row of the model's own.
pub(super) fn own_row_key(model: &Model, kind: &str, parts: &[&str]) -> Result<Item, RuntimeError> {
    let delimiter = delimiter(model);
    let mut text = format!("${kind}");
    for part in parts {
        text.push(delimiter.character());
        // Each part, so that no value can end it: `a#b` and `a`, `b` would otherwise be one guard.
        text.push_str(&delimiter.escaped_text(part));
    }
    // Hashed with its length before it, in `texts_hash`: two long values meet only where their hashes do.
    if text.len() > TEXT_BYTES_MAX {
        text = format!("${kind}{delimiter}{}", texts_hash(&[&text]));
    }
    let mut key = Item::new();
    for (at, attribute) in model.table.key.iter().enumerate() {
        let value = match (at, table::key_type(model, attribute)) {
            (0, KeyType::String) => Value::S(text.clone()),
            (0, KeyType::Binary) => Value::B(text.clone().into_bytes()),
            (0, KeyType::Number) => Value::N(number_of(&text)?),
            (_, KeyType::String) => Value::S("$".to_owned()),
            (_, KeyType::Binary) => Value::B(b"$".to_vec()),
            (_, KeyType::Number) => Value::N(Number::from(0)),
        };
        key.insert(attribute.name.clone(), value);
    }
    Ok(key)
}

/// A row of the model's own that is no guard: its key, and a type that no entity has.
///
/// # Errors
///
/// Where the table's key has no room for it.
pub fn kept_row(model: &Model, kind: &str, parts: &[&str]) -> Result<Item, RuntimeError> {
    let mut item = own_row_key(model, kind, parts)?;
    if let Some(name) = &model.table.type_attribute {
        item.insert(name.clone(), Value::S(format!("${kind}")));
    }
    Ok(item)
}

/// The number that stands for a text.
fn number_of(text: &str) -> Result<Number, RuntimeError> {
    let hash = Sha256::digest(text.as_bytes());
    let first = hash
        .iter()
        .take(16)
        .fold(0_u128, |all, byte| all << 8 | u128::from(*byte));
    let unreachable = || RuntimeError::Stored("a hash has no number".to_owned());
    kept_number(first).ok_or_else(unreachable)
}

fn delimiter(model: &Model) -> Delimiter {
    Delimiter::new(model.table.delimiter).unwrap_or_default()
}

/// The SHA-256 of some texts, in hexadecimal; texts do not run into one another.
pub(super) fn texts_hash(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        // The length before each text, or `ab`, `c` and `a`, `bc` would be one.
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    }
    hex_text(&hash.finalize())
}

/// The guards of a row: of its unique values, and of its identity where it has versions.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Guards {
    /// By the guard's name.
    pub by_name: BTreeMap<String, Item>,
    pub owner: String,
    /// When they expire, as the row does.
    pub ttl: Option<Value>,
}

impl Guards {
    /// The guards of a row; none where it is no longer the current version.
    pub fn of(model: &Model, entity: &Entity, row: &Attributes, scope: Scope<'_>) -> Result<Self, RuntimeError> {
        let mut guards = Guards {
            owner: guard_owner(model, entity, row),
            ..Guards::default()
        };
        // A closed version has no unique values: they are free for others.
        if entity.unique.is_empty() || !is_current(entity, row) {
            return Ok(guards);
        }
        let whole = row::complete_row(entity, row.clone(), scope)?;
        guards.ttl = row::expiry_of(model, entity, &whole, scope)?.map(|seconds| Value::N(Number::from(seconds)));
        for guard in &entity.unique {
            if let Some(key) = key_of(model, entity, guard, &whole, scope)? {
                guards.by_name.insert(guard.name.clone(), key);
            }
        }
        Ok(guards)
    }

    fn item(&self, model: &Model, key: &Item) -> Item {
        item(model, key, &self.owner, self.ttl.clone())
    }

    /// The claim of a guard, and what is said where it is taken.
    pub fn claim<'a>(
        &self,
        model: &Model,
        key: &Item,
        expires: bool,
        now: i64,
        check: RowCheck<'a>,
    ) -> WriteAction<'a> {
        let condition = absent_now(model, expires, now);
        WriteAction {
            key: key.clone(),
            doing: Doing::Put(self.item(model, key)),
            checks: vec![RowCheck { condition, ..check }],
        }
    }

    /// The release of a guard.
    pub fn release<'a>(&self, key: &Item) -> WriteAction<'a> {
        // Only its own: a value that somebody else has claimed since must stay claimed.
        let mine = Condition::equal(Path::attribute(OWNER), Value::S(self.owner.clone()));
        WriteAction {
            key: key.clone(),
            doing: Doing::Delete,
            checks: vec![RowCheck::pin(mine)],
        }
    }

    /// The guard again, for its row's new key, expiring as its row now does.
    pub(crate) fn renew<'a>(&self, model: &Model, key: &Item) -> WriteAction<'a> {
        let mut update = Update::new().set(OWNER, Value::S(self.owner.clone()));
        if let Some(ttl) = &model.table.ttl {
            update = match &self.ttl {
                Some(value) => update.set(ttl.as_str(), value.clone()),
                None => update.remove(ttl.as_str()),
            };
        }
        WriteAction {
            key: key.clone(),
            doing: Doing::Update(update),
            checks: vec![RowCheck::pin(present_item(model))],
        }
    }
}

fn item(model: &Model, key: &Item, owner: &str, ttl: Option<Value>) -> Item {
    let mut item = key.clone();
    item.insert(OWNER.to_owned(), Value::S(owner.to_owned()));
    if let Some(name) = &model.table.type_attribute {
        item.insert(name.clone(), Value::S("$unique".to_owned()));
    }
    if let (Some(name), Some(ttl)) = (&model.table.ttl, ttl) {
        item.insert(name.clone(), ttl);
    }
    item
}

fn key_of(
    model: &Model,
    entity: &Entity,
    guard: &Guard,
    row: &Attributes,
    scope: Scope<'_>,
) -> Result<Option<Item>, RuntimeError> {
    let Some(value) = evaluate(&guard.value, &scope.with_row(row))? else {
        return Ok(None);
    };
    let form = scope.setting.guard_form();
    let text = form.value_text(&entity.name, &guard.name, text_of(&value))?;
    own_row_key(model, "unique", &[&entity.name, &guard.name, &text]).map(Some)
}

/// Whose guards they are: the row's identity, without the instants of its versions.
pub(super) fn guard_owner(model: &Model, entity: &Entity, row: &Attributes) -> String {
    let delimiter = delimiter(model);
    let parts = identity_of(model, entity, row);
    let escaped: Vec<String> = parts.iter().map(|part| delimiter.escaped_text(part)).collect();
    escaped.join(&delimiter.to_string())
}

/// An entity's name and the values of its key variables.
fn identity_of(model: &Model, entity: &Entity, row: &Attributes) -> Vec<String> {
    let names = model.catalog.names(entity.id);
    let variables = names.map_or(&[][..], |names| &names.key_variables);
    let values = variables.iter().filter_map(|name| row.get(name)).map(text_of);
    std::iter::once(entity.name.clone()).chain(values).collect()
}

/// Whether a row is the current version of something that is not deleted.
fn is_current(entity: &Entity, row: &Attributes) -> bool {
    // Without versions a row is always the current one.
    entity.history.as_ref().is_none_or(|history| {
        let deleted = history
            .tombstone
            .as_ref()
            .and_then(|name| row.get(name))
            .and_then(Value::as_bool);
        !row.contains_key(&history.until) && deleted != Some(true)
    })
}

/// The place of the guard of an identity: two versions must not both be the first.
pub(crate) fn identity_guard(model: &Model, entity: &Entity, row: &Attributes) -> Result<Item, RuntimeError> {
    let parts = identity_of(model, entity, row);
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    own_row_key(model, "identity", &parts)
}

/// What the guard of an identity says once its last version was closed and none followed: until when that version was. A new
/// version may only follow the one that was read, and says so here.
pub(crate) const CLOSED: &str = "$closed";

/// Nothing was closed, or nothing but what was read to be closed, since.
pub(super) fn closed_at(until: &Value) -> Condition {
    let path = || Path::attribute(CLOSED);
    Condition::not_exists(path()).or(Condition::equal(path(), until.clone()))
}

/// The item of that guard.
pub(super) fn identity_item(model: &Model, entity: &Entity, row: &Attributes) -> Result<Item, RuntimeError> {
    let key = identity_guard(model, entity, row)?;
    Ok(item(model, &key, &guard_owner(model, entity, row), None))
}

/// What a guard keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GuardKind {
    /// A unique value, by its name.
    Unique(String),
    /// The identity that the versions of a row share.
    Identity,
}

/// Every guard that a row has, as items: what loading must put beside it.
pub(crate) fn of_row(
    model: &Model,
    entity: &Entity,
    row: &Attributes,
    scope: Scope<'_>,
) -> Result<Vec<(GuardKind, Item)>, RuntimeError> {
    let guards = Guards::of(model, entity, row, scope)?;
    let unique = guards.by_name.iter();
    let unique = unique.map(|(name, key)| (GuardKind::Unique(name.clone()), guards.item(model, key)));
    let mut items: Vec<(GuardKind, Item)> = unique.collect();
    if entity.history.is_some() {
        items.push((GuardKind::Identity, identity_item(model, entity, row)?));
    }
    Ok(items)
}
