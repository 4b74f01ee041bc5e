//! The table knows its model: opening compares the model with those that wrote the rows that are there.
//!
//! A *control row* holds the hashes of every face that wrote rows still there ([`rows`]); the faces lie beside it. A model whose
//! face is among them is at home. Another one is held against each: where it reads rightly what they wrote (and, where others may
//! be at work, they what it writes), it joins them; else the table is refused with the differences.
//!
//! Rows without a control row are of before, or of another program. Where nobody else is at work they are looked at, and the
//! table is adopted where they fit ([`crate::audit`]); in a table that others share, only when that is asked for.

mod guard_key;
mod hold;
mod migration;
mod opening;
mod processes;
mod relocation;
mod rows;
mod table_differences;

pub use hold::HeldTable;
pub use migration::{BRIDGED, MIGRATED, Migration, MigrationPhase, TableControl};
pub use opening::{OpenError, TableOpening, TableState, TableUse};
pub use processes::TableProcess;
pub use relocation::{Relocation, RelocationPhase};
