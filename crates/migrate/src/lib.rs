//! Changes the rows of a table from those of one model to those of another, while writes stop.
//!
//! # Terms
//!
//! - A row's *images* are every item that it is stored as: its own, its mirrors' and its guards', by the old model and by the new.
//! - A *stamp* (`$was`) is what an item that was changed remembers of what it was. It tells rows that were changed from those that
//!   were not, whatever the models are, and gives back the old item byte for byte.
//!
//! # How it goes
//!
//! The table's control row names the migration and its phase; whoever opens the table meanwhile is refused.
//!
//! 1. *look*: every row is read, and what it would become is made. Where one cannot become anything, nothing was changed.
//! 2. *rows*: each row is changed with its mirrors and guards in one transaction, under the condition that every item is as it was
//!    read. Then the table is audited by the new model.
//! 3. *finish*: stamps go, and with `drops` whatever the new model does not have; then indexes are made. There is no way back.
//! 4. *abort*, instead of the third: rows become again what their stamps say.
//!
//! Each phase reads the whole table until nothing is left to do, so that whoever goes on after a kill needs to know nothing but the
//! control row, and two may work side by side. Who has read a page looks at the control row before acting on it: what was read while
//! a phase lasted was not yet touched by the next.
//!
//! # What it is not
//!
//! No terminal, no file, and no models: it is given the old one and the new one.

mod archived_item;
mod bridge;
mod circles;
mod copied_items;
mod copies;
mod copy_error;
mod deploy;
mod error;
mod gate;
mod images;
mod indexing;
mod mapping;
mod migrator;
mod pass;
mod report;
mod restore_abort;
mod restore_error;
mod restore_terms;
mod row_refusal;
mod stamp;
mod step;
mod survey;
mod table_copy;
mod table_dump;
mod table_restore;
mod table_steps;
mod verify;

pub use bridge::{Bridge, BridgeGoal, BridgePlan, BridgeSide, ProcessTimes, TableMember};
pub use copy_error::CopyError;
pub use deploy::{DeployError, DeployOptions, DeployPlan, Deployer};
pub use error::{MigrateError, RowMisfit};
pub use gate::{GATE_BEAT, GATE_STALE, behind_gate};
pub use indexing::{IndexBuilder, IndexesBuilt, before_indexes};
pub use migrator::{MigrateOptions, MigrateProgress, Migrated, Migrator};
pub use report::{EntityCount, MigrationPlan};
pub use restore_abort::{AbandonedRestore, abort_restore};
pub use restore_error::RestoreError;
pub use restore_terms::{RestoreOptions, RestorePlan, RestoreStage, RestoredTable};
pub use stamp::STAMP;
pub use table_copy::{CopiedTable, CopyOptions, CopyPlan, CopyStage, TableCopier};
pub use table_dump::{DumpError, dump_table};
pub use table_restore::TableRestorer;
