//! Why a migration did not come to its end.

use std::fmt;

use singlet_changes::{FollowError, Lag};
use singlet_item::Item;
use singlet_runtime::{Finding, Migration, MigrationPhase, OpenError, Relocation, RuntimeError};
use singlet_store::StoreError;

use crate::report::MigrationPlan;

/// A row that cannot become one of the new model.
#[derive(Clone, Debug, PartialEq)]
pub struct RowMisfit {
    /// Its key.
    pub key: Item,
    /// Its entity, by the old model's name.
    pub entity: String,
    /// Why.
    pub reason: String,
}

impl fmt::Display for RowMisfit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ", self.entity)?;
        for (at, (name, value)) in self.key.iter().enumerate() {
            let between = if at == 0 { "" } else { ", " };
            write!(
                out,
                "{between}{name} {}",
                singlet_runtime::values::json_text::json_of(value)
            )?;
        }
        write!(out, ": {}", self.reason)
    }
}

/// Why a migration did not come to its end.
#[derive(Debug)]
pub enum MigrateError {
    /// The table knows no model.
    Unknown,
    /// The old model did not write its rows: why not.
    NotFrom(String),
    /// The change cannot be made so: why not.
    Impossible(Vec<String>),
    /// Rows cannot become rows of the new model; nothing was changed.
    Misfits(Box<MigrationPlan>),
    /// Followers have not read all changes of before: who, and what each has before it. Nothing was changed.
    Behind(Vec<(String, Lag)>),
    /// Rows stand in one another's way: how many, and the first.
    Blocked(u64, Vec<RowMisfit>),
    /// What came of the rows is not what the new model says: how many findings, and the first. The migration can be aborted.
    Unsound(u64, Vec<Finding>),
    /// The two models cannot run at once: why not.
    NoBridge(Vec<String>),
    /// Rows cannot be rows of both models: how many, and the first. Nothing was changed.
    Unbridged(u64, Vec<RowMisfit>),
    /// Processes are at work on the table whose model stands in the way: who.
    Serving(Vec<String>),
    /// What the table says of it could not be read or said for a while: others may have gone on.
    Asleep,
    /// Another migration is under way.
    Another(Migration),
    /// The table is carried to another store, or was.
    Relocated(Relocation),
    /// It is being aborted.
    Aborting,
    /// Nothing is under way that could be aborted.
    NothingToAbort,
    /// It is past the point from which there is a way back, in this phase.
    TooLate(MigrationPhase),
    /// Others stayed in the way, or the store failed.
    Failed(RuntimeError),
}

impl fmt::Display for MigrateError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MigrateError::Unknown => out.write_str("the table knows no model"),
            MigrateError::NotFrom(why) => write!(out, "the old model did not write the rows: {why}"),
            MigrateError::Impossible(whys) => {
                write!(out, "the change cannot be made in this table: {}", whys.join("; "))
            }
            MigrateError::Misfits(plan) => {
                write!(
                    out,
                    "{} rows cannot become rows of the new model; nothing was changed",
                    plan.misfits
                )?;
                plan.first_misfits
                    .iter()
                    .try_for_each(|misfit| write!(out, "\n  {misfit}"))
            }
            MigrateError::Behind(followers) => {
                out.write_str("who follows its changes has not read all of them, and would not understand them later; nothing was changed")?;
                let mut all = followers.iter();
                all.try_for_each(|(name, lag)| write!(out, "\n  {name}: {lag}"))
            }
            MigrateError::NoBridge(whys) => {
                out.write_str("the two models cannot run at once")?;
                whys.iter().try_for_each(|why| write!(out, "\n  {why}"))
            }
            MigrateError::Unbridged(count, first) => {
                write!(out, "{count} rows cannot be rows of both models; nothing was changed")?;
                first.iter().try_for_each(|misfit| write!(out, "\n  {misfit}"))
            }
            MigrateError::Blocked(count, first) => {
                write!(out, "{count} rows stand in one another's way")?;
                first.iter().try_for_each(|misfit| write!(out, "\n  {misfit}"))
            }
            MigrateError::Unsound(count, first) => {
                write!(out, "{count} rows are not as the new model would have written them")?;
                first.iter().try_for_each(|finding| write!(out, "\n  {finding}"))
            }
            MigrateError::Another(migration) => {
                let phase = migration.phase.word();
                write!(out, "a migration to another model is under way, in its phase `{phase}`")
            }
            MigrateError::Relocated(relocation) => relocation.fmt(out),
            MigrateError::Aborting => out.write_str("the migration is being aborted"),
            MigrateError::NothingToAbort => out.write_str("no migration is under way"),
            MigrateError::TooLate(phase) => write!(
                out,
                "the migration is in its phase `{}`: rows have begun to forget what they were, and there is no way back",
                phase.word()
            ),
            MigrateError::Serving(processes) => {
                out.write_str("processes of another model are at work on it")?;
                processes.iter().try_for_each(|process| write!(out, "\n  {process}"))
            }
            MigrateError::Asleep => out.write_str(
                "the table could not be read for a while, and others may have gone on with the migration meanwhile",
            ),
            MigrateError::Failed(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for MigrateError {}

impl From<RuntimeError> for MigrateError {
    fn from(error: RuntimeError) -> Self {
        MigrateError::Failed(error)
    }
}

impl From<StoreError> for MigrateError {
    fn from(error: StoreError) -> Self {
        MigrateError::Failed(error.into())
    }
}

impl From<FollowError> for MigrateError {
    fn from(error: FollowError) -> Self {
        match error {
            FollowError::Store(error) => error.into(),
            FollowError::Runtime(error) => error.into(),
            // Nothing is noted here, so that neither comes up.
            FollowError::Overtaken | FollowError::Refused(_) | FollowError::Held(_) => RuntimeError::Conflict.into(),
        }
    }
}

impl From<OpenError> for MigrateError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Failed(error) => MigrateError::Failed(error),
            OpenError::NoTable => MigrateError::Unknown,
            OpenError::Migrating(migration) => MigrateError::Another(migration),
            OpenError::Relocated(relocation) => MigrateError::Relocated(relocation),
            other @ (OpenError::Table(_) | OpenError::Model(_) | OpenError::Rows(..)) => {
                MigrateError::Impossible(vec![other.to_string()])
            }
        }
    }
}
