//! Batches: the lake's own log, in which what is done to several tables, and how far the changes are, is one step.
//!
//! A batch names the entries that it makes in the log of each table. It counts from the moment its file is there; the tables follow, each once,
//! by the number that their logs keep (`txn`). Whoever opens the lake first has the last batch followed everywhere: so a process may end
//! between any two steps.
//!
//! **Invariant:** batch `n + 1` is put only by who has seen every table follow batch `n`, and only one can put it. Files of old batches go, and
//! a process that slept meanwhile might put one of those again: it looks afterwards whether there is a newer one, and then its own counts
//! for nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::actions::Action;
use crate::error::LakeError;
use crate::files::LakeFiles;

/// The folder of batches.
const FOLDER: &str = "_batches";

/// How many old batches are kept, for people who look.
const KEPT_BATCHES: u64 = 100;

/// How often the newest batch is looked for while others write.
const TRIES_MAX: usize = 16;

/// What is done in one step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Batch {
    /// The lake, which is drawn when it is made.
    pub lake: String,
    pub number: u64,
    /// What it is: `create`, `snapshot`, `append`, `compact`, `erase`.
    pub operation: String,
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// How far the changes are, in the words of the store; none before the first snapshot.
    pub position: Option<String>,
    /// How far they were with the batch before.
    pub position_before: Option<String>,
    /// How many rows all tables of changes were ever given.
    pub changes: u64,
    /// When history was last emptied of what told of rows that are gone, in milliseconds since 1970.
    #[serde(default)]
    pub erased_at: i64,
    /// What each table's log gets.
    pub tables: BTreeMap<String, Vec<Action>>,
}

/// The newest batch; nothing where there is no lake.
pub(crate) fn newest_batch(files: &dyn LakeFiles) -> Result<Option<Batch>, LakeError> {
    for _ in 0..TRIES_MAX {
        let Some(number) = newest_number(files)? else {
            return Ok(None);
        };
        let path = batch_path(number);
        // One that is gone by now was not the newest any more.
        let Some(bytes) = files.get(&path).map_err(LakeError::file(&path))? else {
            continue;
        };
        let batch = serde_json::from_slice(&bytes);
        return batch.map(Some).map_err(|error| LakeError::unreadable(&path, error));
    }
    Err(LakeError::Overtaken)
}

/// Puts a batch, unless another did; from then on it counts.
pub(crate) fn put_batch(files: &dyn LakeFiles, batch: &Batch) -> Result<(), LakeError> {
    let path = batch_path(batch.number);
    let bytes = serde_json::to_vec(batch).map_err(|error| LakeError::unreadable(&path, error))?;
    // Only where none of this number is there.
    let is_ours = files.put_new(&path, &bytes).map_err(LakeError::file(&path))?;
    // Looked at again afterwards: a file of a number that was cleaned away could be put a second time.
    match is_ours && newest_number(files)? == Some(batch.number) {
        true => Ok(()),
        false => Err(LakeError::Overtaken),
    }
}

/// Removes old batches.
pub(crate) fn remove_old_batches(files: &dyn LakeFiles, newest: u64) -> Result<(), LakeError> {
    // Some stay, so that who sleeps for a while finds its number taken.
    for number in numbers(files)?.filter(|number| number.saturating_add(KEPT_BATCHES) < newest) {
        let path = batch_path(number);
        files.remove(&path).map_err(LakeError::file(&path))?;
    }
    Ok(())
}

pub(crate) fn newest_number(files: &dyn LakeFiles) -> Result<Option<u64>, LakeError> {
    Ok(numbers(files)?.max())
}

fn numbers(files: &dyn LakeFiles) -> Result<impl Iterator<Item = u64>, LakeError> {
    let entries = files.list(FOLDER).map_err(LakeError::file(FOLDER))?;
    let number = |name: &str| name.strip_suffix(".json")?.parse().ok();
    Ok(entries.into_iter().filter_map(move |entry| number(&entry.name)))
}

fn batch_path(number: u64) -> String {
    format!("{FOLDER}/{number:020}.json")
}
