//! What the control row says of a migration, and how it comes to say so.
//!
//! While a migration is under way the control row names it, and whoever opens the table is refused. Each change of the row has its
//! epoch as a condition, so that of two who begin, go on or abort at once one is told; both may then work on the rows side by side.

use singlet_face::Face;

use super::opening::OpenError;
use super::rows::{Control, ControlPlace, ControlState};
use crate::engine::Engine;
use crate::error::RuntimeError;

/// The attribute of an item that a migration has changed or made, until it is over: what it was. What it does to items is no change of
/// any row.
pub const MIGRATED: &str = "$was";

/// The attribute of a row in which the epoch stands at which it was last written for both models of a bridge. Who follows changes tells by it
/// which of the two items of a row is its own.
pub const BRIDGED: &str = "$bridge";

/// A migration that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migration {
    /// How far it is.
    pub phase: MigrationPhase,
    /// The hash of the face to which it leads.
    pub target: String,
    /// The hash of the face from which a bridge leads: who opens the table meanwhile finds the other model by it.
    pub source: Option<String>,
    /// Whether it removes what the model to which it leads does not have.
    pub drops: bool,
}

/// How far a migration is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MigrationPhase {
    /// Rows are looked at: whether every one of them can be changed.
    Look,
    /// Rows are changed; each remembers what it was.
    Rows,
    /// Rows forget what they were: there is no way back.
    Finish,
    /// Rows become again what they were.
    Abort,
    /// Of a bridge, on which both models run: whoever reads drops what is the other model's, though nobody writes it yet.
    Announce,
    /// Of a bridge: whoever writes keeps the images of both.
    Expand,
    /// Of a bridge: rows that nobody writes get the images of the new model.
    Backfill,
    /// Of a bridge: what the new model would read is looked at.
    Verify,
    /// Of a bridge: the new model serves beside the old one.
    Switch,
    /// Of a bridge: the old model serves no more, and the images of both are still kept.
    Settle,
    /// Of a bridge whose changes something follows: nobody writes, until all that the old model told is done.
    Rest,
    /// Of a bridge: the images of the old model go. There is no way back.
    Contract,
    /// Of a bridge that is given up: the new model serves no more, and the images of both are still kept.
    Withdraw,
    /// Of a bridge that is given up: the images of the new model go.
    Retreat,
}

impl MigrationPhase {
    const ALL: [MigrationPhase; 14] = [
        MigrationPhase::Look,
        MigrationPhase::Rows,
        MigrationPhase::Finish,
        MigrationPhase::Abort,
        MigrationPhase::Announce,
        MigrationPhase::Expand,
        MigrationPhase::Backfill,
        MigrationPhase::Verify,
        MigrationPhase::Switch,
        MigrationPhase::Settle,
        MigrationPhase::Rest,
        MigrationPhase::Contract,
        MigrationPhase::Withdraw,
        MigrationPhase::Retreat,
    ];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            MigrationPhase::Look => "look",
            MigrationPhase::Rows => "rows",
            MigrationPhase::Finish => "finish",
            MigrationPhase::Abort => "abort",
            MigrationPhase::Announce => "announce",
            MigrationPhase::Expand => "expand",
            MigrationPhase::Backfill => "backfill",
            MigrationPhase::Verify => "verify",
            MigrationPhase::Switch => "switch",
            MigrationPhase::Settle => "settle",
            MigrationPhase::Rest => "rest",
            MigrationPhase::Contract => "contract",
            MigrationPhase::Withdraw => "withdraw",
            MigrationPhase::Retreat => "retreat",
        }
    }

    /// Whether models run meanwhile: a bridge, not a migration for which writes stop.
    pub fn is_bridge(self) -> bool {
        !matches!(
            self,
            MigrationPhase::Look | MigrationPhase::Rows | MigrationPhase::Finish | MigrationPhase::Abort
        )
    }

    pub(super) fn from_word(word: &str) -> Option<Self> {
        MigrationPhase::ALL.into_iter().find(|phase| phase.word() == word)
    }
}

/// What a table knows of its models at some moment.
#[derive(Clone, Debug)]
pub struct TableControl {
    place: ControlPlace,
    control: Control,
}

impl TableControl {
    pub(super) fn new(place: ControlPlace, control: Control) -> Self {
        TableControl { place, control }
    }

    /// Raised by every change of what the table knows.
    pub fn epoch(&self) -> u64 {
        self.control.epoch
    }

    /// The hashes of the faces that wrote rows still there.
    pub fn faces(&self) -> &[String] {
        &self.control.faces
    }

    /// The migration that is under way.
    pub fn current_migration(&self) -> Option<&Migration> {
        match &self.control.state {
            ControlState::Migrating(migration) => Some(migration),
            ControlState::Still | ControlState::Relocating(_) => None,
        }
    }

    pub(super) fn place(&self) -> &ControlPlace {
        &self.place
    }

    pub(super) fn control(&self) -> &Control {
        &self.control
    }
}

impl Engine {
    /// What the table knows of its models; none, where it knows none.
    ///
    /// # Errors
    ///
    /// Where the store fails, or what the table knows cannot be read.
    pub async fn table_control(&self) -> Result<Option<TableControl>, OpenError> {
        let found = self.find_control().await?;
        Ok(found.map(|(place, control)| TableControl { place, control }))
    }

    /// The phase of the table's migration, while one is under way: what is changed then is the migration's to change.
    ///
    /// # Errors
    ///
    /// As [`Engine::table_control`], and where the table is carried to another store.
    pub async fn migration_phase(&self) -> Result<Option<MigrationPhase>, OpenError> {
        let control = self.table_control().await?;
        match control.as_ref().and_then(TableControl::current_relocation) {
            Some(relocation) => Err(OpenError::Relocated(relocation.clone())),
            None => Ok(control.and_then(|control| control.current_migration().map(|migration| migration.phase))),
        }
    }

    /// The face of the model in its table: how the table has unique values in the keys of guards is part of it.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn face_in_table(&self) -> Result<Face, RuntimeError> {
        let key = self.stored_guard_key().await?;
        let form = key.map_or(
            crate::guard_form::GuardForm::Plain,
            crate::guard_form::GuardForm::Hashed,
        );
        self.setting().set_guard_form(form.clone());
        self.face_of_form(&form)
    }

    /// The texts of the models that wrote rows of the table, as far as they are kept: each by the hash of its face, the last first.
    ///
    /// # Errors
    ///
    /// As [`Engine::table_control`].
    pub async fn known_models(&self) -> Result<Vec<(String, String)>, OpenError> {
        let Some((place, control)) = self.find_control().await? else {
            return Ok(Vec::new());
        };
        let mut models = Vec::new();
        for hash in control.faces.iter().rev() {
            if let Some(text) = place.read_model(self.store(), hash).await? {
                models.push((hash.clone(), text));
            }
        }
        Ok(models)
    }

    /// The text of the model with a face, where the table keeps it.
    ///
    /// # Errors
    ///
    /// Where the store fails, or what the table keeps cannot be read.
    pub async fn kept_model(&self, known: &TableControl, hash: &str) -> Result<Option<String>, RuntimeError> {
        known.place.read_model(self.store(), hash).await
    }

    /// Has the table know a migration, or know none, in place of what it knew; whether nobody was faster. The models that wrote rows
    /// stay as they are.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn set_migration(
        &self,
        known: &TableControl,
        migration: Option<&Migration>,
    ) -> Result<bool, RuntimeError> {
        let TableControl { place, control } = known;
        let state = migration.map_or(ControlState::Still, |migration| {
            ControlState::Migrating(migration.clone())
        });
        place.write(self.store(), Some(control), &control.faces, &state).await
    }

    /// Has the table know this model's text beside those that wrote rows, and a bridge that leads to it; whether nobody was faster.
    ///
    /// # Errors
    ///
    /// Where the store fails, or the model is too large to be kept.
    pub async fn begin_bridge(&self, known: &TableControl, migration: &Migration) -> Result<bool, RuntimeError> {
        let face = self.face_in_table().await?;
        // Before the row names it, as when a table is opened.
        known.place.write_face(self.store(), &face, self.model()).await?;
        self.set_migration(known, Some(migration)).await
    }

    /// Has the table know no bridge any more, and forget the model to which it led; whether nobody was faster.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn abandon_bridge(&self, known: &TableControl) -> Result<bool, RuntimeError> {
        // First: while the row still names the other model, its face must be there.
        let is_written = self.set_migration(known, None).await?;
        if let Some(migration) = known.current_migration().filter(|_| is_written)
            // It may be one that has rows here, from before.
            && !known.faces().contains(&migration.target)
        {
            known.place.delete_face(self.store(), &migration.target).await?;
        }
        Ok(is_written)
    }

    /// Has the table know this model alone: every row is its own. Whether nobody was faster.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn end_migration(&self, known: &TableControl) -> Result<bool, OpenError> {
        let face = self.face_in_table().await?;
        let place = ControlPlace::chosen_for(self.model());
        place.make_table(self.model(), self.store()).await?;
        place.write_face(self.store(), &face, self.model()).await?;
        let faces = vec![face.face_hash()];
        let is_same_place = place.table() == known.place.table();
        let before = match is_same_place {
            true => Some(known.control.clone()),
            // Elsewhere there may be what an earlier attempt to end it left.
            // What an earlier attempt wrote there has an epoch, without which nothing can be written over it.
            false => place.read(self.store()).await?,
        };
        let is_written = place
            .write(self.store(), before.as_ref(), &faces, &ControlState::Still)
            .await?;
        if is_written {
            // Last: until then the old row is what an opening finds.
            self.forget(&known.place, &known.control, &place, &faces).await?;
        }
        Ok(is_written)
    }
}
