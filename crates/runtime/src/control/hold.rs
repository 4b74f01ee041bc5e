//! A table on which nothing runs by itself: it was restored, and nobody has said yet that it is to take the place of the one it was exported from.
//!
//! A restored table has deliveries that are due, timers and clocks. Were they taken up by whoever opens it first, a rehearsal would tell the
//! world what the real table tells it, too. So a row beside the control row keeps whoever follows from beginning, until somebody releases the
//! table. It lies in the table, so that no process has to be told, and is of all systems on it.

use super::rows::ControlPlace;
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::retry;
use singlet_item::Item;

/// What keeps everything from running by itself on a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldTable {
    /// Tells what it was restored from.
    pub archive: String,
    /// The same in words.
    pub from: String,
    /// Since when, in epoch milliseconds.
    pub since_millis: i64,
}

impl Engine {
    /// What keeps everything from running by itself on the table; none, where nothing does.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn held_table(&self) -> Result<Option<HeldTable>, RuntimeError> {
        for place in self.hold_places_there().await? {
            if let Some(held) = place.read_hold(self.store()).await? {
                return Ok(Some(held));
            }
        }
        Ok(None)
    }

    /// Keeps everything from running by itself on the table.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn hold_table(&self, held: &HeldTable) -> Result<(), RuntimeError> {
        let place = ControlPlace::chosen_for(self.model());
        place.make_table(self.model(), self.store()).await?;
        let request = place.hold_request(held);
        // Without a condition: to hold a table twice is to hold it.
        retry::retried_past_conflicts(self.bounds(), || self.store().put(&request)).await?;
        Ok(())
    }

    /// Lets everything run by itself again; whether anything had kept it.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn release_table(&self) -> Result<bool, RuntimeError> {
        let was_held = self.held_table().await?.is_some();
        // Both places, or a table that is released would be held still by the other.
        for place in self.hold_places_there().await? {
            place.delete_hold(self.store()).await?;
        }
        Ok(was_held)
    }

    /// Whether an item of one of the model's tables is what keeps everything from running.
    pub fn is_hold_row(&self, table: &str, item: &Item) -> bool {
        self.hold_places()
            .any(|place| place.table() == table && place.is_hold_row(item))
    }

    /// Whoever may use the model's own table alone must not be asked for another one that is not there.
    async fn hold_places_there(&self) -> Result<Vec<ControlPlace>, RuntimeError> {
        let tables = self.store().list_tables().await?;
        let there = |place: &ControlPlace| {
            place.table() == self.model().table.name || tables.iter().any(|name| name == place.table())
        };
        Ok(self.hold_places().filter(there).collect())
    }

    /// Another model of the table may have chosen the other place.
    fn hold_places(&self) -> impl Iterator<Item = ControlPlace> {
        let within = ControlPlace::within_table(self.model());
        within.into_iter().chain([ControlPlace::beside_table(self.model())])
    }
}
