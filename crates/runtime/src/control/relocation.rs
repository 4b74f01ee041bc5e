//! What the control row says of a table that is carried to another store, and how it comes to say so.
//!
//! Both tables say it, the one that is carried and the one that it is carried to, and whoever opens either is refused. Afterwards the
//! first says for good that its rows are elsewhere: two tables that both count as the one would each take writes that the other lacks.

use singlet_item::{Item, Value};
use singlet_model::Model;

use super::hold::HeldTable;
use super::migration::TableControl;
use super::rows::{Control, ControlPlace, ControlState, system_of_row};
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::retry;
use singlet_store::{DeleteRequest, TransactWrite, TransactWriteRequest};

/// Items that are removed in one transaction, beside what is looked at.
const REMOVED_AT_ONCE: usize = 99;

/// A table that is carried to another store, or was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// How far it is.
    pub phase: RelocationPhase,
    /// Drawn where it begins, so that a table is known as the one that this one is carried to.
    pub id: String,
    /// The other place, in words: where it goes, or, of a table that is restored, where it comes from.
    pub to: String,
}

/// How far a table is on its way to another store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelocationPhase {
    /// A table is to take the items of another, and it is not known yet whether it is free.
    Claimed,
    /// Its items are copied.
    Copying,
    /// It is there, and this is no longer the table.
    Moved,
    /// A table is to take the items of files, and it is not known yet whether it is free.
    Preparing,
    /// The items of files are put into it.
    Restoring,
    /// Items of files were put into it, and are removed again.
    Abandoning,
}

impl RelocationPhase {
    const ALL: [RelocationPhase; 6] = [
        RelocationPhase::Claimed,
        RelocationPhase::Copying,
        RelocationPhase::Moved,
        RelocationPhase::Preparing,
        RelocationPhase::Restoring,
        RelocationPhase::Abandoning,
    ];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            RelocationPhase::Claimed => "claim",
            RelocationPhase::Copying => "copy",
            RelocationPhase::Moved => "moved",
            RelocationPhase::Preparing => "prepare",
            RelocationPhase::Restoring => "restore",
            RelocationPhase::Abandoning => "abandon",
        }
    }

    /// Whether the table is restored from files.
    pub fn is_restoring(self) -> bool {
        matches!(self, RelocationPhase::Preparing | RelocationPhase::Restoring)
    }

    pub(super) fn from_word(word: &str) -> Option<Self> {
        RelocationPhase::ALL.into_iter().find(|phase| phase.word() == word)
    }
}

impl std::fmt::Display for Relocation {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.phase {
            RelocationPhase::Claimed | RelocationPhase::Copying => write!(out, "it is being copied to {}", self.to),
            RelocationPhase::Moved => write!(out, "it was copied to {}, and its rows are there now", self.to),
            RelocationPhase::Preparing | RelocationPhase::Restoring => {
                write!(out, "it is being restored from {}", self.to)
            }
            RelocationPhase::Abandoning => write!(out, "what was restored from {} is being removed", self.to),
        }
    }
}

impl TableControl {
    /// Where the table is carried to, or was.
    pub fn current_relocation(&self) -> Option<&Relocation> {
        match &self.control().state {
            ControlState::Relocating(relocation) => Some(relocation),
            ControlState::Still | ControlState::Migrating(_) => None,
        }
    }

    /// The table in which the control row lies: the model's own, or the one beside.
    pub fn table(&self) -> &str {
        self.place().table()
    }

    /// Whether an item of that table is the control row.
    pub fn is_row(&self, item: &Item) -> bool {
        self.place().is_control_row(item)
    }

    /// What an item says of a model's table, where it is the control row of the model's system.
    ///
    /// # Errors
    ///
    /// Where another version of Singlet wrote it.
    pub fn of_row(model: &Model, table: &str, item: &Item) -> Result<Option<Self>, RuntimeError> {
        let places = ControlPlace::within_table(model)
            .into_iter()
            .chain([ControlPlace::beside_table(model)]);
        let mut places = places.filter(|place| place.table() == table && place.is_control_row(item));
        let Some(place) = places.next() else {
            return Ok(None);
        };
        let control = place.control_of(item)?;
        Ok(Some(TableControl::new(place, control)))
    }

    /// The system whose control row an item is, by the values of its key.
    pub fn system_of_row<'v>(item: &Item, key: impl IntoIterator<Item = &'v Value>) -> Option<String> {
        system_of_row(item, key)
    }
}

impl Engine {
    /// The tables in which rows of the model's system may lie: its own, and the small one beside it.
    pub fn system_tables(&self) -> [String; 2] {
        let own = self.model().table.name.clone();
        let beside = ControlPlace::beside_table(self.model()).table().to_owned();
        [own, beside]
    }

    /// Makes the small table beside, where it is not there.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn make_table_beside(&self) -> Result<(), RuntimeError> {
        ControlPlace::beside_table(self.model())
            .make_table(self.model(), self.store())
            .await
    }

    /// Removes items for as long as a table knows what is known here; whether it did. Who was overtaken must not remove what others put.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn remove_while_known(
        &self,
        known: &TableControl,
        table: &str,
        keys: Vec<Item>,
    ) -> Result<bool, RuntimeError> {
        let delete = |key: &Item| {
            TransactWrite::Delete(DeleteRequest {
                table: table.to_owned(),
                key: key.clone(),
                ..DeleteRequest::default()
            })
        };
        // One after the other: all of them look at the control row, which lets one transaction at a time pass.
        for some in keys.chunks(REMOVED_AT_ONCE) {
            if !self.done_while_known(known, some.iter().map(delete).collect()).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Keeps everything from running by itself on the table, for as long as it knows what is known here; whether it did.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn hold_while_known(&self, known: &TableControl, held: &HeldTable) -> Result<bool, RuntimeError> {
        let place = ControlPlace::chosen_for(self.model());
        place.make_table(self.model(), self.store()).await?;
        self.done_while_known(known, vec![TransactWrite::Put(place.hold_request(held))])
            .await
    }

    async fn done_while_known(
        &self,
        known: &TableControl,
        mut actions: Vec<TransactWrite>,
    ) -> Result<bool, RuntimeError> {
        // In each transaction: whoever takes the table over meanwhile stops this one in the middle.
        actions.push(known.place().unchanged_action(known.control()));
        let request = TransactWriteRequest { actions, token: None };
        match retry::retried_past_conflicts(self.bounds(), || self.store().transact_write(&request)).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_condition_failed() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Has the table know no model; whether nobody was faster.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn remove_control(&self, known: &TableControl) -> Result<bool, RuntimeError> {
        known.place().delete_known(self.store(), known.control()).await
    }

    /// Has the table know that it is carried to another store, or no longer; whether nobody was faster.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn set_relocation(
        &self,
        known: &TableControl,
        relocation: Option<&Relocation>,
    ) -> Result<bool, RuntimeError> {
        let faces = &known.control().faces;
        self.put_relocation(known.place(), Some(known), faces, relocation).await
    }

    /// Has this table, which knows of no model, refuse everybody; whether nobody was faster.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn claim_unknown(&self, carried: &TableControl, relocation: &Relocation) -> Result<bool, RuntimeError> {
        self.claim_at(carried.place(), relocation).await
    }

    /// The same for a table to which items of files come, among which there is no control row.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn claim_new(&self, relocation: &Relocation) -> Result<bool, RuntimeError> {
        self.claim_at(&ControlPlace::chosen_for(self.model()), relocation).await
    }

    async fn claim_at(&self, place: &ControlPlace, relocation: &Relocation) -> Result<bool, RuntimeError> {
        place.make_table(self.model(), self.store()).await?;
        self.put_relocation(place, None, &[], Some(relocation)).await
    }

    /// Has this table know what the one knows that is carried here, and that it is carried, or no longer; whether nobody was faster. The
    /// models that wrote the rows are named, and not brought along.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn take_control_of(
        &self,
        carried: &TableControl,
        known: &TableControl,
        relocation: Option<&Relocation>,
    ) -> Result<bool, RuntimeError> {
        let place = carried.place();
        place.make_table(self.model(), self.store()).await?;
        let is_elsewhere = known.table() != place.table();
        let there = (!is_elsewhere).then_some(known);
        let faces = &carried.control().faces;
        let is_written = self.put_relocation(place, there, faces, relocation).await?;
        if is_written && is_elsewhere {
            // Of two that say different things the wrong one would be found.
            // After the new one is there: killed between the two, both say the same, and none is lost.
            known.place().delete_control(self.store()).await?;
        }
        Ok(is_written)
    }

    async fn put_relocation(
        &self,
        place: &ControlPlace,
        before: Option<&TableControl>,
        faces: &[String],
        relocation: Option<&Relocation>,
    ) -> Result<bool, RuntimeError> {
        let state = relocation.map_or(ControlState::Still, |relocation| {
            ControlState::Relocating(relocation.clone())
        });
        let before: Option<&Control> = before.map(TableControl::control);
        place.write(self.store(), before, faces, &state).await
    }
}
