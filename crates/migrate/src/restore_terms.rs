//! How a table is restored, and what is told of that.

use std::time::Duration;

/// How a table is restored.
#[derive(Clone, Copy, Debug)]
pub struct RestoreOptions {
    /// Write units a second that it may take; as many as it can, unless said.
    pub rate: Option<f64>,
    /// How many items a page has at most.
    pub page_items: u32,
    /// Whether the table is made where it is not there.
    pub makes_tables: bool,
    /// How long it waits, once the table says that it is restored, until who serves it has read that.
    pub settles_for: Duration,
    /// How long it waits after the last item where something follows the changes of the table: [`crate::CopyOptions::QUIET`] where a store
    /// tells what was before a follower by its time.
    pub quiet_for: Duration,
}

impl Default for RestoreOptions {
    fn default() -> Self {
        RestoreOptions {
            rate: None,
            page_items: 500,
            makes_tables: true,
            settles_for: Duration::ZERO,
            quiet_for: Duration::ZERO,
        }
    }
}

/// What a restoring does just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreStage {
    /// It reads the files.
    Reading,
    /// It waits until everybody knows.
    Settling,
    /// Items are put.
    Putting,
    /// The table is held against the files.
    Verifying,
    /// It waits until what was put counts as before.
    Quiet,
    /// What was put is removed again.
    Removing,
}

/// What would be restored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestorePlan {
    /// Items.
    pub items: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What it takes to put them, the indexes apart.
    pub write_units: u64,
    /// Items that are left out: they speak of the stream of the table that was exported.
    pub left_out: u64,
    /// Whether the files say which models wrote the items.
    pub knows_models: bool,
}

/// What a restoring came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestoredTable {
    /// Whether there was nothing to do: it had been restored, and is not released yet.
    pub was_done: bool,
    /// Items of the files that the table has.
    pub items: u64,
    /// Items that this process put.
    pub put: u64,
}
