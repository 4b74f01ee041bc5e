//! What a record means for the rows of a model.

use std::fmt;
use std::sync::Arc;

use singlet_item::key::{DecodeError, is_kept_number};
use singlet_item::{Item, Value};
use singlet_model::Model;
use singlet_model::model::{Entity, KeyChoice};
use singlet_runtime::load::{BY, entity_of_item, is_of_singlet};
use singlet_runtime::{Attributes, row};
use singlet_runtime::{BRIDGED, MIGRATED};
use singlet_store::{Result, StreamEvent, StreamRecord};
use singlet_values as values;
use singlet_values::json_text;

use crate::change::{Change, ChangeId, ChangeKind};
use crate::source::ChangeSource;
use crate::versions;

/// Tells the changes of one model's rows from the records of its table.
#[derive(Clone, Debug)]
pub struct ChangeDecoder {
    model: Arc<Model>,
}

/// What a record means.
#[derive(Clone, Debug, PartialEq)]
pub enum Decoded {
    /// Changes of rows: one, or two where a row took the place of another.
    Changes(Vec<Change>),
    /// Nothing for a row: a mirror, a guard, a record of a request or another row that Singlet keeps for itself.
    Nothing,
    /// An item of no entity of the model: several systems may share a table.
    Unknown,
    /// A row that is not as the model has it.
    Misfit(Box<Misfit>),
}

/// A record of an entity's row that is not as the model has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Misfit {
    /// The id that its change would have.
    pub id: ChangeId,
    /// The entity.
    pub entity: String,
    /// What does not fit.
    pub reason: String,
    /// The record itself.
    pub record: StreamRecord,
}

impl Misfit {
    /// As one JSON object: `id`, `entity`, `misfit` with the reason, and the images of the item, `key`, `old` and `new`.
    pub fn to_json(&self) -> String {
        let word = |text: &str| Value::S(text.to_owned());
        let mut fields = vec![
            ("id", word(self.id.as_str())),
            ("entity", word(&self.entity)),
            ("misfit", word(&self.reason)),
            ("key", Value::M(self.record.key.clone())),
        ];
        fields.extend(self.record.old.clone().map(|item| ("old", Value::M(item))));
        fields.extend(self.record.new.clone().map(|item| ("new", Value::M(item))));
        let mut out = Vec::new();
        json_text::write_object(&mut out, fields.iter().map(|(name, value)| (*name, value)));
        String::from_utf8(out).unwrap_or_default()
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = json_text::json_of(&Value::M(self.record.key.clone()));
        write!(out, "`{}` {key}: {}", self.entity, self.reason)
    }
}

/// What kind of item an image is of.
enum ItemKind<'m> {
    Row(&'m Entity),
    /// A mirror, or what Singlet keeps for itself.
    Kept,
    Unknown,
}

/// A row that does not fit, before it is known of which record.
pub(crate) struct Unfit(pub(crate) String);

impl ChangeDecoder {
    /// Of a model without errors.
    pub fn new(model: Arc<Model>) -> Self {
        ChangeDecoder { model }
    }

    /// The model.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// What a record means. The source is asked only about rows with versions, whose version before lies in the table.
    ///
    /// # Errors
    ///
    /// Where the source fails.
    pub async fn decode_change(&self, source: &dyn ChangeSource, record: StreamRecord) -> Result<Decoded> {
        // Before anything is decoded: none of these is a change of a row, whatever its images hold.
        if self.is_mark_of_end(&record) || is_of_migration(&record) || self.is_of_other_model(&record) {
            return Ok(Decoded::Nothing);
        }
        // What the item is now says what it is of; the key alone where the stream carries no image.
        let told = record.new.as_ref().or(record.old.as_ref()).unwrap_or(&record.key);
        let entity = match self.kind_of(told) {
            ItemKind::Row(entity) => entity,
            ItemKind::Kept => return Ok(self.end_of_another(record, Decoded::Nothing)),
            ItemKind::Unknown => return Ok(self.end_of_another(record, Decoded::Unknown)),
        };
        let decoded = match &entity.history {
            None => self.of_row(entity, &record),
            Some(history) => versions::decode_version(self, source, (entity, history), &record).await?,
        };
        Ok(match decoded {
            Ok(changes) if changes.is_empty() => Decoded::Nothing,
            Ok(changes) => Decoded::Changes(changes),
            Err(Unfit(reason)) => Decoded::Misfit(Box::new(Misfit {
                id: ChangeId::of_record(&record.sequence, &record.key),
                entity: entity.name.clone(),
                reason,
                record,
            })),
        })
    }

    /// The entity whose row an item is.
    pub(crate) fn entity_of(&self, item: &Item) -> Option<&Entity> {
        match self.kind_of(item) {
            ItemKind::Row(entity) => Some(entity),
            ItemKind::Kept | ItemKind::Unknown => None,
        }
    }

    /// Whether an item is a row of an entity.
    pub(crate) fn is_row_of(&self, entity: &Entity, item: &Item) -> bool {
        matches!(self.kind_of(item), ItemKind::Row(of) if of.id == entity.id)
    }

    fn kind_of(&self, item: &Item) -> ItemKind<'_> {
        // Before entities are asked: a row that Singlet keeps must never be taken for one of the model.
        if is_of_singlet(&self.model, item) || self.has_kept_key(item) {
            return ItemKind::Kept;
        }
        match entity_of_item(&self.model, item) {
            Some(entity) if entity.mirror.is_some() || entity.role.is_some() => ItemKind::Kept,
            // The same row lies where this model has it.
            Some(entity) if item.contains_key(BRIDGED) && !has_key_of(entity, item) => ItemKind::Kept,
            Some(entity) => ItemKind::Row(entity),
            None => ItemKind::Unknown,
        }
    }

    /// Whether a record is of what another model has of a row, while both run on the table: this one has the same change where the row
    /// lies for it.
    fn is_of_other_model(&self, record: &StreamRecord) -> bool {
        let told = record.new.as_ref().or(record.old.as_ref());
        let entity = told.and_then(|item| entity_of_item(&self.model, item));
        is_of_bridge(record) && entity.is_some_and(|entity| !has_key_of(entity, &record.key))
    }

    /// Whether an item has a key that only Singlet makes. It is asked where the item does not say its kind: a stream may carry
    /// keys alone, and a table may have no type attribute.
    fn has_kept_key(&self, item: &Item) -> bool {
        // Only where the item does not say its kind, for a row of the model may have a key that begins so.
        let says_kind = |name: &String| item.contains_key(name);
        if self.model.table.type_attribute.as_ref().is_some_and(says_kind) {
            return false;
        }
        let partition = self.model.table.key.first().and_then(|key| item.get(&key.name));
        match partition {
            Some(Value::S(text)) => text.starts_with('$'),
            Some(Value::B(bytes)) => bytes.first() == Some(&b'$'),
            Some(Value::N(number)) => is_kept_number(number),
            _ => false,
        }
    }

    /// An item that is no row now may have been one: then that row has ended.
    fn end_of_another(&self, record: StreamRecord, otherwise: Decoded) -> Decoded {
        // Something stands there now: a record without a new image says itself that the row has ended.
        let (Some(old), Some(_)) = (&record.old, &record.new) else {
            return otherwise;
        };
        let ItemKind::Row(entity) = self.kind_of(old) else {
            return otherwise;
        };
        let id = ChangeId::of_record(&record.sequence, &record.key);
        match self.ended(entity, old, &record, id.of_the_end()) {
            Ok(change) => Decoded::Changes(vec![change]),
            Err(Unfit(reason)) => Decoded::Misfit(Box::new(Misfit {
                id,
                entity: entity.name.clone(),
                reason,
                record,
            })),
        }
    }

    fn of_row(&self, entity: &Entity, record: &StreamRecord) -> std::result::Result<Vec<Change>, Unfit> {
        let id = ChangeId::of_record(&record.sequence, &record.key);
        let mut changes = Vec::with_capacity(1);
        let mut old = record.old.as_ref();
        // Nobody sees a row past its time, so that a row in its place is a new one. So is a row of another entity.
        if let (Some(before), Some(after)) = (old, &record.new) {
            let was = match self.kind_of(before) {
                ItemKind::Row(was) => Some(was),
                ItemKind::Kept | ItemKind::Unknown => None,
            };
            // Both: a row that was given more time is the same row, and one that has ended twice is not new.
            let replaced = self.has_expired(before, record) && !self.has_expired(after, record);
            if was.is_none_or(|was| was.id != entity.id || replaced) {
                if let Some(was) = was {
                    changes.push(self.ended(was, before, record, id.of_the_end())?);
                }
                old = None;
            }
        }
        // Without images of before nothing is known of it, so that what the store says counts.
        let was_there = record.event != StreamEvent::Insert && (old.is_some() || record.old.is_none());
        let before = old.map(|item| fitting_row(entity, item)).transpose()?;
        let after = record.new.as_ref().map(|item| fitting_row(entity, item)).transpose()?;
        // What a bridge notes in a row, and what only another model has of it, changes nothing.
        // Only what is noted of a bridge or an index: an update that changes nothing is told otherwise, as the store tells it.
        if before.is_some() && before == after && (is_of_bridge(record) || self.is_of_index_fill(record)) {
            return Ok(changes);
        }
        let kind = match record.event {
            StreamEvent::Remove => self.kind_of_end(record),
            _ if was_there => ChangeKind::Updated,
            _ => ChangeKind::Created,
        };
        let key = match after.as_ref().or(before.as_ref()) {
            // From the row where there is one: a key may fold or round what it is made of.
            Some(row) => self.row_identity(entity, row),
            None => self.identity_of_key(entity, &record.key)?,
        };
        changes.push(Change {
            id,
            entity: entity.name.clone(),
            kind,
            key,
            before,
            after,
            at_seconds: record.at_seconds,
            by: made_by(record),
        });
        Ok(changes)
    }

    /// Whether an item differs in the keys of indexes alone: an index came to be, and the row is the same.
    fn is_of_index_fill(&self, record: &StreamRecord) -> bool {
        let (Some(old), Some(new)) = (&record.old, &record.new) else {
            return false;
        };
        let is_index_key = |name: &String| {
            let mut keys = self.model.table.indexes.iter().flat_map(|index| index.key());
            keys.any(|key| key.name == *name)
        };
        let names = old.keys().chain(new.keys());
        let mut changed = names.filter(|name| old.get(*name) != new.get(*name));
        // One other attribute is enough for a change.
        changed.all(is_index_key)
    }

    /// The end of a row whose place something else took.
    fn ended(
        &self,
        entity: &Entity,
        old: &Item,
        record: &StreamRecord,
        id: ChangeId,
    ) -> std::result::Result<Change, Unfit> {
        let before = fitting_row(entity, old)?;
        Ok(Change {
            id,
            entity: entity.name.clone(),
            kind: match self.has_expired(old, record) {
                true => ChangeKind::Expired,
                false => ChangeKind::Deleted,
            },
            key: self.row_identity(entity, &before),
            before: Some(before),
            after: None,
            at_seconds: record.at_seconds,
            by: None,
        })
    }

    /// How a row ended that a record removes: what a write removes past its time had expired, too.
    pub(crate) fn kind_of_end(&self, record: &StreamRecord) -> ChangeKind {
        let is_past = record.old.as_ref().is_some_and(|old| self.has_expired(old, record));
        match record.expired || is_past {
            true => ChangeKind::Expired,
            false => ChangeKind::Deleted,
        }
    }

    /// By the store's time of the change, or because who fired its end wrote that into it: its clock may be ahead of the store's.
    fn has_expired(&self, item: &Item, record: &StreamRecord) -> bool {
        row::has_expired(&self.model, item, record.at_seconds.saturating_mul(1_000))
            || row::is_marked_ended(&self.model, item)
    }

    /// Whether a record only marks a row that is about to be removed because its time has come.
    fn is_mark_of_end(&self, record: &StreamRecord) -> bool {
        let is_marked = |item: &Option<Item>| {
            item.as_ref()
                .is_some_and(|item| row::is_marked_ended(&self.model, item))
        };
        // The mark itself is no change; what comes after it is.
        record.event == StreamEvent::Modify && is_marked(&record.new) && !is_marked(&record.old)
    }

    /// What identifies the row that an item of an entity holds; nothing where it does not fit.
    pub fn fitting_key(&self, entity: &str, item: &Item) -> Option<Attributes> {
        let entity = self.model.entity_named(entity)?;
        let row = fitting_row(entity, item).ok()?;
        Some(self.row_identity(entity, &row))
    }

    /// What identifies the row of which an item's key names a version; nothing where the entity has no versions, or the key does not tell.
    pub fn versioned_key(&self, entity: &str, key: &Item) -> Option<Attributes> {
        let entity = self
            .model
            .entity_named(entity)
            .filter(|entity| entity.history.is_some())?;
        let key = self.identity_of_key(entity, key).ok()?;
        (!key.is_empty()).then_some(key)
    }

    /// What identifies a row.
    pub(crate) fn row_identity(&self, entity: &Entity, row: &Attributes) -> Attributes {
        let names = self.model.catalog.names(entity.id);
        let names = names.map_or(&[][..], |names| &names.key_variables);
        names
            .iter()
            .filter_map(|name| Some((name.clone(), row.get(name)?.clone())))
            .collect()
    }

    /// The same from the key of an item, as far as the key gives it back.
    fn identity_of_key(&self, entity: &Entity, key: &Item) -> std::result::Result<Attributes, Unfit> {
        let decoded = entity.key.iter().find_map(|choice| {
            let mut found = Attributes::new();
            for template in &choice.keys {
                // All templates of a choice, for one alone may fit by chance.
                found.extend(template.template.decode_key(key.get(&template.attribute)?).ok()?);
            }
            Some(found)
        });
        let decoded = decoded.ok_or_else(|| Unfit("its key is none that the model makes".to_owned()))?;
        Ok(self.row_identity(entity, &decoded))
    }
}

/// Whether a migration wrote it: the row is the same, and only lies otherwise.
fn is_of_migration(record: &StreamRecord) -> bool {
    let is_noted = |item: &Option<Item>| item.as_ref().is_some_and(|item| item.contains_key(MIGRATED));
    is_noted(&record.old) || is_noted(&record.new)
}

/// Whether the item was written for two models, or is so no more.
pub(crate) fn is_of_bridge(record: &StreamRecord) -> bool {
    let is_noted = |item: &Option<Item>| item.as_ref().is_some_and(|item| item.contains_key(BRIDGED));
    is_noted(&record.old) || is_noted(&record.new)
}

/// Whether an entity could have a row under a key. One that has several readings could be of it.
fn has_key_of(entity: &Entity, key: &Item) -> bool {
    let follows = |choice: &KeyChoice| {
        choice.keys.iter().all(|template| {
            let value = key.get(&template.attribute);
            value.is_some_and(|value| match template.template.decode_key(value) {
                // It could be of the entity, which is enough: to leave out a change of a row would lose it.
                Ok(_) | Err(DecodeError::Ambiguous { .. }) => true,
                Err(_) => false,
            })
        })
    };
    entity.key.iter().any(follows)
}

/// What wrote the item in place of a write. Later writes leave the mark as it is, so that only a new one says something.
pub(crate) fn made_by(record: &StreamRecord) -> Option<String> {
    let mark = |item: &Option<Item>| item.as_ref().and_then(|item| item.get(BY)).cloned();
    // A mark that was there before is of an earlier writing: later writes leave it as it is.
    let new = mark(&record.new).filter(|new| Some(new) != mark(&record.old).as_ref())?;
    new.as_str().map(str::to_owned)
}

/// The row that an item holds, where every value is of its type and none is missing.
pub(crate) fn fitting_row(entity: &Entity, item: &Item) -> std::result::Result<Attributes, Unfit> {
    let row = row::decode_as_stored(entity, item).map_err(|error| Unfit(error.to_string()))?;
    for attribute in entity.attributes.iter().filter(|attribute| attribute.alias.is_none()) {
        match row.get(&attribute.name) {
            Some(value) => {
                let fitting = values::as_stored(value, &attribute.ty);
                fitting.map_err(|invalid| Unfit(format!("`{}`: {invalid}", attribute.name)))?;
            }
            // A row that lacks what it must have is told as a misfit, for nobody could rely on it.
            None if !attribute.optional => return Err(Unfit(format!("`{}` is missing", attribute.name))),
            None => {}
        }
    }
    Ok(row)
}
