//! The key of a table's guards: a row of the table itself, which every system and every process on it finds.

use singlet_face::Company;
use singlet_store::{ScanRequest, StoreError};

use super::opening::{TableOpening, TableUse};
use super::rows::ControlPlace;
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::guard_form::{GuardForm, GuardKey};
use crate::retry;

impl Engine {
    /// Finds out how the table has unique values in the keys of guards, unless that is known. Who opens the table knows it; who
    /// does not must not write guards of another form.
    pub(crate) async fn learn_guard_form(&self) -> Result<(), RuntimeError> {
        let has_guards = self.model().entities.iter().any(|entity| !entity.unique.is_empty());
        if !has_guards || self.setting().knows_guard_form() {
            return Ok(());
        }
        let key = Box::pin(self.stored_guard_key()).await?;
        self.setting()
            .set_guard_form(key.map_or(GuardForm::Plain, GuardForm::Hashed));
        Ok(())
    }

    /// The form that the table has, or begins with: a table in which nothing is yet gets a key.
    pub(super) async fn open_guard_form(
        &self,
        opening: &TableOpening,
        is_new: bool,
    ) -> Result<GuardForm, RuntimeError> {
        let begins = match (opening.used_for, opening.company) {
            (TableUse::Reading, _) => false,
            // Who writes to it without having adopted it knows of no key.
            (TableUse::Writing, Company::Shared) => is_new,
            (TableUse::Writing, Company::Alone) | (TableUse::Adopting, _) => true,
        };
        let form = match self.stored_guard_key().await? {
            Some(key) => GuardForm::Hashed(key),
            None if begins && self.is_untouched().await? => {
                let place = ControlPlace::chosen_for(self.model());
                place.make_table(self.model(), self.store()).await?;
                GuardForm::Hashed(place.put_guard_key(self.store(), GuardKey::random_key()).await?)
            }
            None => GuardForm::Plain,
        };
        self.setting().set_guard_form(form.clone());
        Ok(form)
    }

    pub(super) async fn stored_guard_key(&self) -> Result<Option<GuardKey>, RuntimeError> {
        let within = ControlPlace::within_table(self.model());
        for place in within.into_iter().chain([ControlPlace::beside_table(self.model())]) {
            match place.guard_key(self.store()).await {
                Ok(None) => {}
                Err(RuntimeError::Store(error)) if self.is_no_table(place.table(), &error) => {}
                found => return found,
            }
        }
        Ok(None)
    }

    /// Whether nothing is in the table, and nothing is known of it.
    async fn is_untouched(&self) -> Result<bool, RuntimeError> {
        for table in [
            &self.model().table.name,
            ControlPlace::beside_table(self.model()).table(),
        ] {
            let request = ScanRequest {
                table: table.to_owned(),
                consistent: true,
                limit: Some(1),
                ..ScanRequest::default()
            };
            match retry::with_retries(self.bounds(), || self.store().scan(&request)).await {
                Ok(page) if page.items.is_empty() && page.last_key.is_none() => {}
                Ok(_) => return Ok(false),
                Err(error) if self.is_no_table(table, &error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    /// Whether a table that need not be there is not. Who may use the model's own table alone is denied any other, whether or not
    /// it is there.
    fn is_no_table(&self, table: &str, error: &StoreError) -> bool {
        let own = self.model().table.name.as_str();
        let needs_none = ControlPlace::chosen_for(self.model()).table() == own;
        table != own && (error.is_not_found() || (error.is_denied() && needs_none))
    }
}
