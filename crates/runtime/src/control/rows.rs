//! The control row and the faces beside it.
//!
//! Their keys begin with `$singlet.` and the system's name, so that two systems may share a table, and have no delimiter in them:
//! a model with another one finds them too. They have a type value of their own, so that no read takes them for a row. Where
//! that is not enough (the table has no type attribute, its partition key is a number, or the key of some entity could be
//! such a text) they stand in a small table beside, `TABLE.singlet`.

use std::sync::Arc;

use singlet_face::Face;
use singlet_item::key::{Delimiter, Part, Template, Verdict, decide_collision};
use singlet_item::{Item, Number, Value};
use singlet_model::Model;
use singlet_plan::Bounds;
use singlet_store::{
    Condition, DeleteRequest, GetRequest, KeySchema, KeyType, Path, PutRequest, Store, TableSpec, TransactWrite,
};

use super::hold::HeldTable;
use super::migration::{Migration, MigrationPhase};
use super::relocation::{Relocation, RelocationPhase};
use crate::error::RuntimeError;
use crate::guard_form::GuardKey;
use crate::{retry, table};

/// How the keys of these rows begin, and what their type is.
const KIND: &str = "$singlet";

/// The partition key of a table beside.
const BESIDE_KEY: &str = "PK";

/// How much of a face or a model one row holds; an item holds 400 KB.
const PART_BYTES_MAX: usize = 300_000;

/// In how many rows each of them may lie.
const PARTS_MAX: usize = 64;

const EPOCH: &str = "$epoch";
const FACES: &str = "$faces";
/// The phase of a migration or of a copy to another store that is under way; absent where none is.
const PHASE: &str = "$phase";
/// The face of the model to which it leads, of a bridge the one from which, and whether it drops what the model does not have.
const TARGET: &str = "$target";
const SOURCE: &str = "$source";
const DROPS: &str = "$drops";
/// What tells a copy to another store from others, and where it goes.
const COPY: &str = "$copy";
const TO: &str = "$to";
const FACE: &str = "$face";
const MODEL: &str = "$model";
const PARTS: &str = "$parts";
const GUARD_KEY: &str = "$guard_key";

/// Where the key of a table's guards is, after what names a system: it is of all systems, and no system is called so.
const OF_GUARDS: &str = ".guards";

/// Where it says that nothing runs by itself on the table: of all systems, too.
const OF_HOLD: &str = ".held";
const HELD: &str = "$held";
const HELD_FROM: &str = "$from";
const HELD_AT: &str = "$at";

/// What the control row says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Control {
    /// Raised by every change, so that of two who change it at once one is told.
    pub epoch: u64,
    /// The hashes of the faces that wrote rows still there.
    pub faces: Vec<String>,
    /// What is under way.
    pub state: ControlState,
}

/// What is under way with a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ControlState {
    /// Nothing: it can be opened.
    Still,
    /// Its rows are changed from one model to another.
    Migrating(Migration),
    /// It is carried to another store, or was.
    Relocating(Relocation),
}

/// Where the control rows of a system are.
#[derive(Clone, Debug)]
pub(super) struct ControlPlace {
    table: String,
    /// Key attributes of the table, partition first, with their types.
    key: Vec<(String, KeyType)>,
    type_attribute: Option<String>,
    system: String,
}

impl ControlPlace {
    /// Where a control row is kept for this model: in its own table, unless it could be mistaken there.
    pub fn chosen_for(model: &Model) -> Self {
        let is_told_apart = model.table.type_attribute.is_some() && !entity_could_be_there(model);
        match ControlPlace::within_table(model) {
            // Where it could be taken for a row of an entity, a read would show it and a write change it.
            Some(within) if is_told_apart => within,
            _ => ControlPlace::beside_table(model),
        }
    }

    /// In the model's own table, where another model may have had it put.
    pub fn within_table(model: &Model) -> Option<Self> {
        let key = model.table.key.iter();
        let key: Vec<(String, KeyType)> = key.map(|key| (key.name.clone(), table::key_type(model, key))).collect();
        let has_room = key.first().is_some_and(|(_, key_type)| *key_type != KeyType::Number);
        has_room.then(|| ControlPlace {
            table: model.table.name.clone(),
            key,
            type_attribute: model.table.type_attribute.clone(),
            system: model.name.clone(),
        })
    }

    /// In a table beside the model's own.
    pub fn beside_table(model: &Model) -> Self {
        ControlPlace {
            table: format!("{}.singlet", model.table.name),
            key: vec![(BESIDE_KEY.to_owned(), KeyType::String)],
            type_attribute: None,
            system: model.name.clone(),
        }
    }

    /// Makes the table beside, where it is one and not there.
    pub async fn make_table(&self, model: &Model, store: &Arc<dyn Store>) -> Result<(), RuntimeError> {
        if self.table == model.table.name || store.list_tables().await?.contains(&self.table) {
            return Ok(());
        }
        let spec = TableSpec::new(self.table.clone(), KeySchema::partition(BESIDE_KEY, KeyType::String));
        match store.create_table(&spec).await {
            // Somebody else was faster.
            Err(error) if error.is_in_use() => Ok(()),
            made => Ok(made?),
        }
    }

    pub fn table(&self) -> &str {
        &self.table
    }

    /// The key of one of these rows.
    pub(super) fn key(&self, rest: &str) -> Item {
        let text = format!("{KIND}.{}{rest}", self.system);
        let mut key = Item::new();
        for (at, (name, key_type)) in self.key.iter().enumerate() {
            let value = match (at, key_type) {
                (0, KeyType::Binary) => Value::B(text.clone().into_bytes()),
                (0, _) => Value::S(text.clone()),
                (_, KeyType::String) => Value::S("$".to_owned()),
                (_, KeyType::Binary) => Value::B(b"$".to_vec()),
                (_, KeyType::Number) => Value::N(Number::from(0)),
            };
            key.insert(name.clone(), value);
        }
        key
    }

    /// Whether an item of the table is the control row itself.
    pub fn is_control_row(&self, item: &Item) -> bool {
        let key = self.key("");
        item.contains_key(EPOCH) && key.iter().all(|(name, value)| item.get(name) == Some(value))
    }

    pub(super) fn item(&self, rest: &str) -> Item {
        let mut item = self.key(rest);
        if let Some(name) = &self.type_attribute {
            item.insert(name.clone(), Value::S(KIND.to_owned()));
        }
        item
    }

    pub(super) async fn get(&self, store: &Arc<dyn Store>, rest: &str) -> Result<Option<Item>, RuntimeError> {
        let request = GetRequest {
            table: self.table.clone(),
            key: self.key(rest),
            // Who may open the table is decided by it.
            consistent: true,
            projection: Default::default(),
        };
        Ok(retry::with_retries(&Bounds::USUAL, || store.get(&request)).await?.item)
    }

    /// The control row.
    pub async fn read(&self, store: &Arc<dyn Store>) -> Result<Option<Control>, RuntimeError> {
        // Under that key may also be a row of an entity.
        let item = self.get(store, "").await?.filter(|item| item.contains_key(EPOCH));
        item.map(|item| self.control_of(&item)).transpose()
    }

    /// What a control row says.
    pub fn control_of(&self, item: &Item) -> Result<Control, RuntimeError> {
        let epoch = item.get(EPOCH).and_then(Value::as_number).and_then(Number::to_i64);
        let faces = match item.get(FACES) {
            Some(Value::L(faces)) => faces.iter().map(|face| face.as_str().map(str::to_owned)).collect(),
            _ => None,
        };
        match (epoch.and_then(|epoch| u64::try_from(epoch).ok()), faces, state_in(item)) {
            (Some(epoch), Some(faces), Some(state)) => Ok(Control { epoch, faces, state }),
            _ => Err(RuntimeError::Stored(format!(
                "the row by which table `{}` knows its model cannot be read: another version of Singlet wrote it",
                self.table
            ))),
        }
    }

    /// Writes the control row over the one that was read; whether nobody was faster.
    pub async fn write(
        &self,
        store: &Arc<dyn Store>,
        before: Option<&Control>,
        faces: &[String],
        state: &ControlState,
    ) -> Result<bool, RuntimeError> {
        let epoch = before.map_or(0, |before| before.epoch) + 1;
        let mut item = self.item("");
        item.insert(
            EPOCH.to_owned(),
            Value::N(Number::from(i64::try_from(epoch).unwrap_or(i64::MAX))),
        );
        item.insert(
            FACES.to_owned(),
            Value::L(faces.iter().cloned().map(Value::S).collect()),
        );
        match state {
            ControlState::Still => {}
            ControlState::Migrating(migration) => {
                item.insert(PHASE.to_owned(), Value::S(migration.phase.word().to_owned()));
                item.insert(TARGET.to_owned(), Value::S(migration.target.clone()));
                if let Some(source) = &migration.source {
                    item.insert(SOURCE.to_owned(), Value::S(source.clone()));
                }
                item.insert(DROPS.to_owned(), Value::Bool(migration.drops));
            }
            ControlState::Relocating(relocation) => {
                item.insert(PHASE.to_owned(), Value::S(relocation.phase.word().to_owned()));
                item.insert(COPY.to_owned(), Value::S(relocation.id.clone()));
                item.insert(TO.to_owned(), Value::S(relocation.to.clone()));
            }
        }
        // Of two who change it at once one is told.
        let condition = match before {
            None => Condition::not_exists(Path::attribute(EPOCH)),
            Some(before) => {
                let epoch = Value::N(Number::from(i64::try_from(before.epoch).unwrap_or(i64::MAX)));
                Condition::equal(Path::attribute(EPOCH), epoch)
            }
        };
        self.put(store, item, Some(condition)).await
    }

    /// Puts one of these rows; whether its condition held.
    async fn put(
        &self,
        store: &Arc<dyn Store>,
        item: Item,
        condition: Option<Condition>,
    ) -> Result<bool, RuntimeError> {
        let request = PutRequest {
            table: self.table.clone(),
            item,
            condition,
            return_old: false,
        };
        match retry::retried_past_conflicts(&Bounds::USUAL, || store.put(&request)).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_condition_failed() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes one of these rows; whether its condition held.
    async fn remove(
        &self,
        store: &Arc<dyn Store>,
        key: Item,
        condition: Option<Condition>,
    ) -> Result<bool, RuntimeError> {
        let request = DeleteRequest {
            table: self.table.clone(),
            key,
            condition,
            return_old: false,
        };
        match retry::retried_past_conflicts(&Bounds::USUAL, || store.delete(&request)).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_condition_failed() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The action of a transaction that insists on a control row as it was read.
    pub fn unchanged_action(&self, control: &Control) -> TransactWrite {
        let epoch = Value::N(Number::from(i64::try_from(control.epoch).unwrap_or(i64::MAX)));
        TransactWrite::Check {
            table: self.table.clone(),
            key: self.key(""),
            condition: Condition::equal(Path::attribute(EPOCH), epoch),
        }
    }

    /// The same place, for what is of the table and of no one system.
    fn of_table(&self) -> Self {
        ControlPlace {
            system: String::new(),
            ..self.clone()
        }
    }

    /// The key of the table's guards.
    pub(crate) async fn guard_key(&self, store: &Arc<dyn Store>) -> Result<Option<GuardKey>, RuntimeError> {
        let item = self.of_table().get(store, OF_GUARDS).await?;
        // Under that key may also be a row of an entity.
        let Some(value) = item.as_ref().and_then(|item| item.get(GUARD_KEY)) else {
            return Ok(None);
        };
        let key = match value {
            Value::B(bytes) => GuardKey::from_bytes(bytes),
            _ => None,
        };
        key.map(Some).ok_or_else(|| {
            RuntimeError::Stored(format!(
                "the key of the guards of table `{}` cannot be read: another version of Singlet wrote it",
                self.table
            ))
        })
    }

    /// Puts the key of the table's guards where there is none; gives the one that is there then.
    pub(crate) async fn put_guard_key(&self, store: &Arc<dyn Store>, key: GuardKey) -> Result<GuardKey, RuntimeError> {
        let mut item = self.of_table().item(OF_GUARDS);
        item.insert(GUARD_KEY.to_owned(), Value::B(key.as_bytes().to_vec()));
        let condition = Condition::not_exists(Path::attribute(GUARD_KEY));
        // The first key stays: values hashed under another would be taken twice.
        if self.put(store, item, Some(condition)).await? {
            return Ok(key);
        }
        // Somebody else was faster, or an attempt of our own was.
        let there = self.guard_key(store).await?;
        there.ok_or_else(|| RuntimeError::Internal("a key of guards is there and is not".to_owned()))
    }

    /// Whether an item of the table says that nothing runs by itself on it.
    pub fn is_hold_row(&self, item: &Item) -> bool {
        let key = self.of_table().key(OF_HOLD);
        item.contains_key(HELD) && key.iter().all(|(name, value)| item.get(name) == Some(value))
    }

    /// What keeps everything from running by itself on the table.
    pub async fn read_hold(&self, store: &Arc<dyn Store>) -> Result<Option<HeldTable>, RuntimeError> {
        let item = self.of_table().get(store, OF_HOLD).await?;
        // Under that key may also be a row of an entity.
        let Some(item) = item.filter(|item| item.contains_key(HELD)) else {
            return Ok(None);
        };
        let text = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let at = item.get(HELD_AT).and_then(Value::as_number).and_then(Number::to_i64);
        Ok(Some(HeldTable {
            archive: text(HELD),
            from: text(HELD_FROM),
            since_millis: at.unwrap_or_default(),
        }))
    }

    /// Keeps everything from running by itself on the table.
    pub fn hold_request(&self, held: &HeldTable) -> PutRequest {
        let mut item = self.of_table().item(OF_HOLD);
        item.insert(HELD.to_owned(), Value::S(held.archive.clone()));
        item.insert(HELD_FROM.to_owned(), Value::S(held.from.clone()));
        item.insert(HELD_AT.to_owned(), Value::N(Number::from(held.since_millis)));
        PutRequest {
            table: self.table.clone(),
            item,
            ..PutRequest::default()
        }
    }

    /// Lets everything run by itself again.
    pub async fn delete_hold(&self, store: &Arc<dyn Store>) -> Result<(), RuntimeError> {
        let is_held = Condition::exists(Path::attribute(HELD));
        let key = self.of_table().key(OF_HOLD);
        self.remove(store, key, Some(is_held)).await.map(drop)
    }

    /// A face by its hash.
    pub(crate) async fn read_face(&self, store: &Arc<dyn Store>, hash: &str) -> Result<Face, RuntimeError> {
        let broken = |why: &str| RuntimeError::Stored(format!("a model that wrote rows of `{}` {why}", self.table));
        let text = self.read_parts(store, (hash, FACE)).await?;
        let text = text.ok_or_else(|| broken("is not kept with them"))?;
        Face::from_text(&text).map_err(|_| broken("was stored by another version of Singlet"))
    }

    /// The text of a model with a face, where it is kept.
    pub async fn read_model(&self, store: &Arc<dyn Store>, hash: &str) -> Result<Option<String>, RuntimeError> {
        self.read_parts(store, (hash, MODEL)).await
    }

    /// Keeps a face, and the text of a model with it.
    pub(crate) async fn write_face(
        &self,
        store: &Arc<dyn Store>,
        face: &Face,
        model: &Model,
    ) -> Result<(), RuntimeError> {
        let (hash, text) = (face.face_hash(), face.to_text());
        self.write_parts(store, (&hash, FACE), &text).await?;
        self.write_parts(store, (&hash, MODEL), &model.text).await
    }

    /// Keeps the text of a model where none with its face is kept.
    pub(crate) async fn keep_model(
        &self,
        store: &Arc<dyn Store>,
        hash: &str,
        model: &Model,
    ) -> Result<(), RuntimeError> {
        match self.get(store, &part_key((hash, MODEL), 0)).await? {
            Some(_) => Ok(()),
            None => self.write_parts(store, (hash, MODEL), &model.text).await,
        }
    }

    /// A text in as many rows as it takes; none where the first is not there.
    async fn read_parts(&self, store: &Arc<dyn Store>, of: (&str, &str)) -> Result<Option<String>, RuntimeError> {
        let broken = || RuntimeError::Stored(format!("a model that wrote rows of `{}` cannot be read", self.table));
        let mut text = String::new();
        let (mut at, mut parts) = (0, 1);
        while at < parts {
            let item = self.get(store, &part_key(of, at)).await?;
            let item = match (item, at) {
                (Some(item), _) => item,
                (None, 0) => return Ok(None),
                (None, _) => return Err(broken()),
            };
            let part = item.get(of.1).and_then(Value::as_str);
            text.push_str(part.ok_or_else(broken)?);
            let count = item.get(PARTS).and_then(Value::as_number).and_then(Number::to_i64);
            parts = count
                .and_then(|count| usize::try_from(count).ok())
                .unwrap_or(1)
                .min(PARTS_MAX);
            at += 1;
        }
        Ok(Some(text))
    }

    async fn write_parts(&self, store: &Arc<dyn Store>, of: (&str, &str), text: &str) -> Result<(), RuntimeError> {
        let parts = parts_of(text);
        if parts.len() > PARTS_MAX {
            return Err(RuntimeError::Request(
                "the model is too large to be kept with its rows".to_owned(),
            ));
        }
        // Face and model lie there whole before a control row names them, which `join_table` sees to.
        for (at, part) in parts.iter().enumerate() {
            let mut item = self.item(&part_key(of, at));
            item.insert(of.1.to_owned(), Value::S((*part).to_owned()));
            item.insert(
                PARTS.to_owned(),
                Value::N(Number::from(i64::try_from(parts.len()).unwrap_or(i64::MAX))),
            );
            self.put(store, item, None).await?;
        }
        Ok(())
    }

    /// Removes the control row as it was read; whether nobody was faster. Whoever claimed the table must not free it for others.
    pub async fn delete_known(&self, store: &Arc<dyn Store>, control: &Control) -> Result<bool, RuntimeError> {
        let epoch = Value::N(Number::from(i64::try_from(control.epoch).unwrap_or(i64::MAX)));
        let is_known = Condition::equal(Path::attribute(EPOCH), epoch);
        self.remove(store, self.key(""), Some(is_known)).await
    }

    /// Removes the control row, which is kept elsewhere from now on.
    pub async fn delete_control(&self, store: &Arc<dyn Store>) -> Result<(), RuntimeError> {
        let is_there = Condition::exists(Path::attribute(EPOCH));
        self.remove(store, self.key(""), Some(is_there)).await.map(drop)
    }

    /// Removes a face that no longer counts, and the model with it; what stays behind does no harm.
    pub(crate) async fn delete_face(&self, store: &Arc<dyn Store>, hash: &str) -> Result<(), RuntimeError> {
        for what in [FACE, MODEL] {
            for at in 0..PARTS_MAX {
                let rest = part_key((hash, what), at);
                if self.get(store, &rest).await?.is_none() {
                    break;
                }
                self.remove(store, self.key(&rest), None).await?;
            }
        }
        Ok(())
    }
}

/// The system whose control row an item is, by the values of its key.
pub(super) fn system_of_row<'v>(item: &Item, key: impl IntoIterator<Item = &'v Value>) -> Option<String> {
    let begins = format!("{KIND}.");
    let mut texts = key.into_iter().filter_map(|value| match value {
        Value::S(text) => Some(text.as_str()),
        Value::B(bytes) => std::str::from_utf8(bytes).ok(),
        _ => None,
    });
    item.get(EPOCH)
        .and_then(|_| texts.find_map(|text| text.strip_prefix(&begins).map(str::to_owned)))
}

/// What a control row says is under way; none where another version of Singlet wrote it.
fn state_in(item: &Item) -> Option<ControlState> {
    let Some(phase) = item.get(PHASE) else {
        return Some(ControlState::Still);
    };
    let text = |name: &str| item.get(name).and_then(Value::as_str).map(str::to_owned);
    if let Some(phase) = RelocationPhase::from_word(phase.as_str()?) {
        return Some(ControlState::Relocating(Relocation {
            phase,
            id: text(COPY)?,
            to: text(TO)?,
        }));
    }
    Some(ControlState::Migrating(Migration {
        phase: MigrationPhase::from_word(phase.as_str()?)?,
        target: text(TARGET)?,
        source: text(SOURCE),
        drops: item.get(DROPS)?.as_bool()?,
    }))
}

/// What follows the system's name in the key of a part of a face, or of the text of a model with that face.
fn part_key((hash, what): (&str, &str), at: usize) -> String {
    match what {
        MODEL => format!(".{hash}.model.{at}"),
        _ => format!(".{hash}.{at}"),
    }
}

/// A text in parts that rows hold.
fn parts_of(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while rest.len() > PART_BYTES_MAX {
        let end = (0..=PART_BYTES_MAX)
            .rev()
            .find(|end| rest.is_char_boundary(*end))
            .unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        parts.push(part);
        rest = after;
    }
    parts.push(rest);
    parts
}

/// Whether an entity could have a row in a partition whose key begins as those of control rows do.
fn entity_could_be_there(model: &Model) -> bool {
    let Some(delimiter) = Delimiter::new(model.table.delimiter) else {
        return true;
    };
    let parts = vec![Part::text(&format!("{KIND}.")), Part::Anything];
    let Ok(own) = Template::new(parts, delimiter) else {
        return true;
    };
    let partition = model.table.key.first().map(|key| key.name.as_str()).unwrap_or_default();
    let templates = model.entities.iter().flat_map(|entity| entity.key_templates());
    let mut templates = templates.filter(|key| key.attribute == partition);
    // What cannot be decided counts as possible.
    templates.any(|key| {
        !matches!(
            decide_collision(std::slice::from_ref(&own), std::slice::from_ref(&key.template)),
            Verdict::Never
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_face_lies_in_several_rows() {
        let text = "é".repeat(PART_BYTES_MAX);
        let parts = parts_of(&text);
        assert!(parts.iter().all(|part| part.len() <= PART_BYTES_MAX));
        assert_eq!((parts.len(), parts.concat()), (2, text));
        assert_eq!(parts_of(""), [""]);
    }
}
