//! Opening a model on its table.

use std::fmt;

use singlet_face::{Company, Difference, Face, face_differences};

use super::migration::Migration;
use super::relocation::Relocation;
use super::rows::{Control, ControlPlace, ControlState};
use super::table_differences::table_differences;
use crate::audit::{AuditDepth, Finding, audit_rows};
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::guard_form::GuardForm;
use crate::table;
use singlet_store::{IndexKind, TableSpec};

/// How often the control row is read anew because somebody else changed it.
const ATTEMPTS_MAX: u32 = 8;

/// How many models may have written the rows of a table; more than that asks for `--adopt`.
const FACES_MAX: usize = 100;

/// How many rows that do not fit are shown.
const MISFITS_SHOWN_MAX: usize = 5;

/// What the table is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableUse {
    /// To read: nothing is written, the control row included.
    Reading,
    /// To read and write.
    Writing,
    /// To take it over: every row is looked at, and the model becomes the only one that it knows.
    Adopting,
}

/// How a table is opened.
#[derive(Clone, Copy, Debug)]
pub struct TableOpening {
    /// Whether a missing table is made.
    pub makes_tables: bool,
    /// Whether others may be at work on it.
    pub company: Company,
    /// For what.
    pub used_for: TableUse,
    /// The instant, in epoch milliseconds.
    pub now: i64,
}

/// How the table was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableState {
    /// It was not there, and was made.
    Made,
    /// It knows this model, or one that goes together with it.
    Known,
    /// It was adopted, with so many rows.
    Adopted(u64),
    /// It knows no model, and stays so.
    Unknown,
}

/// Why a table cannot be opened.
#[derive(Debug)]
pub enum OpenError {
    /// It is not there.
    NoTable,
    /// The table itself is another than the model needs.
    Table(Vec<String>),
    /// Another model wrote its rows.
    Model(Vec<Difference>),
    /// It has rows that the model would not have written: how many, and the first.
    Rows(u64, Vec<Finding>),
    /// Its rows are being changed from one model to another.
    Migrating(Migration),
    /// It is carried to another store, or was.
    Relocated(Relocation),
    /// The store failed, or others stayed in the way.
    Failed(RuntimeError),
}

impl fmt::Display for OpenError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::NoTable => out.write_str("it is not there"),
            OpenError::Table(found) => write!(out, "it is not what the model needs: {}", found.join("; ")),
            OpenError::Model(found) => {
                out.write_str("its rows were written by another model")?;
                found.iter().try_for_each(|difference| write!(out, "\n  {difference}"))
            }
            OpenError::Rows(count, first) => {
                write!(out, "it has {count} rows that the model would not have written so")?;
                first.iter().try_for_each(|misfit| write!(out, "\n  {misfit}"))
            }
            OpenError::Migrating(migration) => {
                write!(out, "it is being migrated, in the phase `{}`", migration.phase.word())
            }
            OpenError::Relocated(relocation) => relocation.fmt(out),
            OpenError::Failed(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for OpenError {}

impl<E: Into<RuntimeError>> From<E> for OpenError {
    fn from(error: E) -> Self {
        OpenError::Failed(error.into())
    }
}

impl Engine {
    /// Opens the model's table: makes it where it is missing, and compares what it is and who wrote its rows.
    ///
    /// # Errors
    ///
    /// Why the model cannot work on it.
    pub async fn open_table(&self, opening: &TableOpening) -> Result<TableState, OpenError> {
        let spec = table::table_spec(self.model());
        let is_missing = !self.store().list_tables().await?.contains(&spec.name);
        if is_missing {
            if !opening.makes_tables {
                return Err(OpenError::NoTable);
            }
            match self.store().create_table(&spec).await {
                // Somebody else was faster.
                Err(error) if error.is_in_use() => {}
                made => made?,
            }
        } else {
            let live = self.store().describe_table(&spec.name).await?;
            // Before any row is looked at: on another key all of them would be read wrongly.
            let found = table_differences(&spec, &live.spec);
            if !found.is_empty() {
                return Err(OpenError::Table(found));
            }
        }
        let known = self.join_table(opening, is_missing, &[]).await?;
        Ok(if is_missing { TableState::Made } else { known })
    }

    /// The same where the table may lack indexes of the model, and its rows the keys of these: their names. Reads by them have to wait until
    /// rows and table have them.
    ///
    /// # Errors
    ///
    /// As [`Engine::open_table`], for whatever else differs.
    pub async fn open_before_indexes(&self, opening: &TableOpening) -> Result<(TableState, Vec<String>), OpenError> {
        let mut spec = table::table_spec(self.model());
        if !self.store().list_tables().await?.contains(&spec.name) {
            return Ok((self.open_table(opening).await?, Vec::new()));
        }
        let live = self.store().describe_table(&spec.name).await?.spec;
        let wanted = spec.clone();
        spec.indexes
            .retain(|index| live.indexes.iter().any(|known| known.name == index.name));
        let found = table_differences(&spec, &live);
        if !found.is_empty() {
            return Err(OpenError::Table(found));
        }
        let pending = self.pending_indexes(&wanted, &live).await?;
        if pending.is_empty() {
            return Ok((self.open_table(opening).await?, pending));
        }
        let state = self.join_table(opening, false, &pending).await?;
        Ok((state, pending))
    }

    /// The global indexes of the model that the table lacks, or in which rows of before may be missing altogether.
    async fn pending_indexes(&self, wanted: &TableSpec, live: &TableSpec) -> Result<Vec<String>, OpenError> {
        let faces = self.known_faces().await?;
        let has = |face: &Face, name: &String| face.entities.values().any(|entity| entity.indexes.contains_key(name));
        let own = Face::of(self.model(), &self.setting().settings);
        let global = wanted.indexes.iter().filter(|index| index.kind == IndexKind::Global);
        let pending = global.map(|index| &index.name).filter(|name| {
            let is_missing = !live.indexes.iter().any(|known| known.name == **name);
            is_missing || has(&own, name) && faces.iter().any(|face| !has(face, name))
        });
        Ok(pending.cloned().collect())
    }

    /// The faces of every model that wrote rows of the table which are still there, as far as the table knows; none, where it knows no
    /// model. Nothing is written.
    ///
    /// # Errors
    ///
    /// Where the store fails, or what the table knows cannot be read.
    pub async fn known_faces(&self) -> Result<Vec<Face>, OpenError> {
        let Some((place, control)) = self.find_control().await? else {
            return Ok(Vec::new());
        };
        let mut faces = Vec::with_capacity(control.faces.len());
        for hash in &control.faces {
            faces.push(place.read_face(self.store(), hash).await?);
        }
        Ok(faces)
    }

    /// Compares the model with those that the table knows, but for the entries of some indexes, and has it known.
    async fn join_table(
        &self,
        opening: &TableOpening,
        is_new: bool,
        pending: &[String],
    ) -> Result<TableState, OpenError> {
        // Before the face, which says in what form unique values stand.
        let form = self.open_guard_form(opening, is_new).await?;
        let face = self.face_of_form(&form)?;
        let place = ControlPlace::chosen_for(self.model());
        // Of two who open at once one writes the row: the other looks again at what is there then.
        for _ in 0..ATTEMPTS_MAX {
            let found = self.find_control().await?;
            let step = match &found {
                Some((there, control)) => {
                    self.known_table(opening, (there, control), &place, (&face, pending))
                        .await?
                }
                None => self.unknown_table(opening, &face, is_new).await?,
            };
            let (faces, state) = match step {
                Step::Ends(state) => return Ok(state),
                Step::Writes(faces, state) => (faces, state),
            };
            place.make_table(self.model(), self.store()).await?;
            // The face first: a control row names none that is not there.
            place.write_face(self.store(), &face, self.model()).await?;
            let before = found.as_ref().filter(|(there, _)| there.table() == place.table());
            if place
                .write(
                    self.store(),
                    before.map(|(_, control)| control),
                    &faces,
                    &ControlState::Still,
                )
                .await?
            {
                if let Some((there, control)) = &found {
                    // After the row is written: what is left over where a process is killed here is found by nobody.
                    self.forget(there, control, &place, &faces).await?;
                }
                return Ok(state);
            }
        }
        Err(RuntimeError::Conflict.into())
    }

    /// The model's face in a table whose guards have this form.
    pub(super) fn face_of_form(&self, form: &GuardForm) -> Result<Face, RuntimeError> {
        let face = Face::of(self.model(), &self.setting().settings);
        Ok(match form {
            GuardForm::Hashed(key) => face.with_hashed_guards(key.key_fingerprint()?),
            GuardForm::Plain => face,
        })
    }

    /// Removes what a control row of before named and this one does not.
    pub(super) async fn forget(
        &self,
        there: &ControlPlace,
        control: &Control,
        place: &ControlPlace,
        faces: &[String],
    ) -> Result<(), OpenError> {
        let has_moved = there.table() != place.table();
        if has_moved {
            there.delete_control(self.store()).await?;
            there.delete_processes(self.store()).await?;
        }
        // Only those that the row no longer names: whoever reads the row reads the others too.
        for hash in control.faces.iter().filter(|hash| has_moved || !faces.contains(hash)) {
            there.delete_face(self.store(), hash).await?;
        }
        Ok(())
    }

    /// The control row, and where it is.
    pub(super) async fn find_control(&self) -> Result<Option<(ControlPlace, Control)>, OpenError> {
        // Within first, and both: what tells whether a row could stand there may have changed with the model.
        if let Some(place) = ControlPlace::within_table(self.model())
            && let Some(control) = place.read(self.store()).await?
        {
            return Ok(Some((place, control)));
        }
        let beside = ControlPlace::beside_table(self.model());
        if self
            .store()
            .list_tables()
            .await?
            .iter()
            .any(|name| name == beside.table())
            && let Some(control) = beside.read(self.store()).await?
        {
            return Ok(Some((beside, control)));
        }
        Ok(None)
    }

    async fn known_table(
        &self,
        opening: &TableOpening,
        (there, control): (&ControlPlace, &Control),
        place: &ControlPlace,
        (face, pending): (&Face, &[String]),
    ) -> Result<Step, OpenError> {
        let (hash, face) = (face.face_hash(), face.without_indexes(pending));
        // Half of the rows may be another model's: neither a reader nor a writer can tell which.
        match &control.state {
            ControlState::Still => {}
            ControlState::Migrating(migration) => return Err(OpenError::Migrating(migration.clone())),
            ControlState::Relocating(relocation) => return Err(OpenError::Relocated(relocation.clone())),
        }
        if opening.used_for == TableUse::Adopting {
            // Every row is looked at: to adopt a table is to say that the model has written it.
            let rows = self.fitting_rows(opening.now).await?;
            return Ok(Step::Writes(vec![hash], TableState::Adopted(rows)));
        }
        let mut found = Vec::new();
        for other in control.faces.iter().filter(|other| **other != hash) {
            let wrote = there.read_face(self.store(), other).await?;
            // Against every model that has written here and not the last alone: rows of all of them are there.
            found.extend(face_differences(&wrote, &face, opening.company));
        }
        if there.table() != place.table() && there.table() == self.model().table.name {
            found.push(Difference {
                entity: None,
                part: "the row by which the table knows its model".to_owned(),
                was: "told apart from every entity's".to_owned(),
                is: "not".to_owned(),
                so: "a read could show it, and a write change it".to_owned(),
            });
        }
        if !found.is_empty() {
            found.sort();
            found.dedup();
            return Err(OpenError::Model(found));
        }
        if opening.used_for == TableUse::Reading {
            return Ok(Step::Ends(TableState::Known));
        }
        if control.faces.contains(&hash) {
            // A table of before has its face alone.
            there.keep_model(self.store(), &hash, self.model()).await?;
            return Ok(Step::Ends(TableState::Known));
        }
        let mut faces = control.faces.clone();
        faces.push(hash);
        // Bounded, since every opening reads all of them.
        if faces.len() > FACES_MAX {
            let many = format!("{FACES_MAX} models wrote rows of this table: open it with `--adopt` once");
            return Err(RuntimeError::Request(many).into());
        }
        Ok(Step::Writes(faces, TableState::Known))
    }

    /// A table that knows no model: new, of before, or of another program.
    async fn unknown_table(&self, opening: &TableOpening, face: &Face, is_new: bool) -> Result<Step, OpenError> {
        let hash = face.face_hash();
        if is_new && opening.used_for != TableUse::Reading {
            return Ok(Step::Writes(vec![hash], TableState::Made));
        }
        match (opening.used_for, opening.company) {
            // Where others share the table, nobody may say for them that it is this model's.
            (TableUse::Reading, _) | (TableUse::Writing, Company::Shared) => Ok(Step::Ends(TableState::Unknown)),
            (TableUse::Writing, Company::Alone) | (TableUse::Adopting, _) => {
                let rows = self.fitting_rows(opening.now).await?;
                Ok(Step::Writes(vec![hash], TableState::Adopted(rows)))
            }
        }
    }

    /// How many rows there are, all of which fit.
    async fn fitting_rows(&self, now: i64) -> Result<u64, OpenError> {
        let mut audit = audit_rows(self, now, AuditDepth::Rows).await?;
        match audit.misfit_count() {
            0 => Ok(audit.rows),
            count => {
                audit.first.truncate(MISFITS_SHOWN_MAX);
                Err(OpenError::Rows(count, audit.first))
            }
        }
    }
}

/// What comes of looking at the control row.
enum Step {
    /// Nothing is written.
    Ends(TableState),
    /// The control row names these faces from now on.
    Writes(Vec<String>, TableState),
}
