//! The processes that share a table, and how far each has come.
//!
//! All of them lie in one row beside the control row, an attribute for each, so that who has to wait for them reads them at once and as they
//! are. A process that says nothing more is forgotten by whoever has watched it long enough: no clock of another machine is believed.

use std::collections::BTreeMap;
use std::sync::Arc;

use singlet_item::{Item, Number, Value};
use singlet_plan::Bounds;
use singlet_store::{Condition, DeleteRequest, Path, Store, Update, UpdateRequest};

use super::migration::TableControl;
use super::rows::ControlPlace;
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::retry;

/// What follows the system's name in the key of the row.
const PROCESSES: &str = ".processes";

/// How the attribute of a process begins.
const PROCESS: &str = "$process.";

const FACE: &str = "face";
const EPOCH: &str = "epoch";
const BEAT: &str = "beat";
const NAME: &str = "name";

/// A process at work on a table, as it says itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableProcess {
    /// What tells it from others.
    pub id: String,
    /// The hash of its model's face; empty for one that has no model of its own.
    pub face: String,
    /// The epoch of the control row by which it works. No write of before is under way.
    pub epoch: u64,
    /// Raised each time that it says so.
    pub beat: u64,
    /// What people find it by.
    pub name: String,
}

impl TableProcess {
    fn attribute(&self) -> String {
        format!("{PROCESS}{}", self.id)
    }

    fn value(&self) -> Value {
        let number = |count: u64| Value::N(Number::from(i64::try_from(count).unwrap_or(i64::MAX)));
        Value::M(BTreeMap::from([
            (FACE.to_owned(), Value::S(self.face.clone())),
            (EPOCH.to_owned(), number(self.epoch)),
            (BEAT.to_owned(), number(self.beat)),
            (NAME.to_owned(), Value::S(self.name.clone())),
        ]))
    }

    fn from_attribute((name, value): (&String, &Value)) -> Option<Self> {
        let id = name.strip_prefix(PROCESS)?.to_owned();
        let said = value.as_map()?;
        let text = |name: &str| said.get(name).and_then(Value::as_str).map(str::to_owned);
        let count = |name: &str| {
            let number = said.get(name).and_then(Value::as_number).and_then(Number::to_i64);
            number.and_then(|number| u64::try_from(number).ok())
        };
        Some(TableProcess {
            id,
            face: text(FACE)?,
            epoch: count(EPOCH)?,
            beat: count(BEAT)?,
            name: text(NAME)?,
        })
    }
}

impl ControlPlace {
    async fn change_processes(
        &self,
        store: &Arc<dyn Store>,
        update: Update,
        condition: Option<Condition>,
    ) -> Result<bool, RuntimeError> {
        let key = self.key(PROCESSES);
        let beside = self.item(PROCESSES).into_iter();
        // A key attribute in an update is refused.
        let beside = beside.filter(|(name, _)| !key.contains_key(name));
        let update = beside.fold(update, |update, (name, value)| update.set(Path::attribute(name), value));
        let request = UpdateRequest {
            table: self.table().to_owned(),
            key: key.clone(),
            update,
            condition,
            ..UpdateRequest::default()
        };
        match retry::retried_past_conflicts(&Bounds::USUAL, || store.update(&request)).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_condition_failed() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the row: the control row is kept elsewhere from now on.
    pub(super) async fn delete_processes(&self, store: &Arc<dyn Store>) -> Result<(), RuntimeError> {
        let request = DeleteRequest {
            table: self.table().to_owned(),
            key: self.key(PROCESSES),
            ..DeleteRequest::default()
        };
        retry::retried_past_conflicts(&Bounds::USUAL, || store.delete(&request)).await?;
        Ok(())
    }
}

impl Engine {
    /// Has a process be known, over what it said before.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn say_process(&self, known: &TableControl, process: &TableProcess) -> Result<(), RuntimeError> {
        let update = Update::new().set(Path::attribute(process.attribute()), process.value());
        known
            .place()
            .change_processes(self.store(), update, None)
            .await
            .map(drop)
    }

    /// The processes at work on the table, as they last said themselves.
    ///
    /// # Errors
    ///
    /// Where the store fails, or what is said of one cannot be read.
    pub async fn table_processes(&self, known: &TableControl) -> Result<Vec<TableProcess>, RuntimeError> {
        let row = known.place().get(self.store(), PROCESSES).await?;
        let row: Item = row.unwrap_or_default();
        let said = row.iter().filter(|(name, _)| name.starts_with(PROCESS));
        said.map(|process| {
            TableProcess::from_attribute(process).ok_or_else(|| {
                RuntimeError::Stored(
                    "what a process says of itself cannot be read: another version of Singlet wrote it".to_owned(),
                )
            })
        })
        .collect()
    }

    /// Has a process be known no more, where it has said nothing since; whether it is so.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn forget_process(&self, known: &TableControl, process: &TableProcess) -> Result<bool, RuntimeError> {
        let path = Path::attribute(process.attribute());
        // As it was seen: a process that has said something since is not forgotten.
        let as_seen = Condition::equal(path.clone(), process.value());
        known
            .place()
            .change_processes(self.store(), Update::new().remove(path), Some(as_seen))
            .await
    }
}
