//! A whole table is written to files, item for item, as DynamoDB's export to S3 writes it.
//!
//! What is written is what lies there: rows, mirrors, guards, records, and what the table knows of its model. A table beside, where the
//! model has one, is an archive of its own.

use std::fmt;
use std::path::Path;

use singlet_archive::{ArchiveError, ArchiveWriter, WrittenArchive};
use singlet_audit::Pacer;
use singlet_runtime::{Engine, Migration, OpenError, Relocation, RuntimeError, TableControl, retried_past_conflicts};
use singlet_store::{ScanRequest, StoreError};

use crate::table_copy::carried_tables;

/// Why a table was not written to files.
#[derive(Debug)]
pub enum DumpError {
    /// Its rows are being changed from one model to another.
    Migrating(Migration),
    /// It is carried to another place, or was.
    Relocated(Relocation),
    /// The files cannot be written.
    Archive(ArchiveError),
    /// The store failed.
    Failed(RuntimeError),
}

impl fmt::Display for DumpError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DumpError::Migrating(migration) => write!(
                out,
                "it is being migrated, in the phase `{}`: some of its rows are one model's, and some another's",
                migration.phase.word()
            ),
            DumpError::Relocated(relocation) => relocation.fmt(out),
            DumpError::Archive(error) => error.fmt(out),
            DumpError::Failed(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for DumpError {}

impl From<ArchiveError> for DumpError {
    fn from(error: ArchiveError) -> Self {
        DumpError::Archive(error)
    }
}

impl From<RuntimeError> for DumpError {
    fn from(error: RuntimeError) -> Self {
        DumpError::Failed(error)
    }
}

impl From<StoreError> for DumpError {
    fn from(error: StoreError) -> Self {
        DumpError::Failed(error.into())
    }
}

impl From<OpenError> for DumpError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Failed(error) => DumpError::Failed(error),
            other => DumpError::Failed(RuntimeError::Stored(other.to_string())),
        }
    }
}

/// Writes every item of a model's tables to a folder, at most so many read units a second: an archive for each table. The clock gives epoch
/// milliseconds; the progress is told how many items were written.
///
/// What lies in them is of one moment only where nobody writes meanwhile.
///
/// # Errors
///
/// Where the table is between two models or two places, or a store or the disk fails. Then there is no archive that anybody takes for a whole one.
pub async fn dump_table(
    engine: &Engine,
    folder: &Path,
    rate: Option<f64>,
    clock: &(dyn Fn() -> i64 + Sync),
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Vec<WrittenArchive>, DumpError> {
    check_still(engine.table_control().await?.as_ref())?;
    let pacer = Pacer::new(rate);
    let mut written = Vec::new();
    for table in carried_tables(engine).await? {
        let mut writer = ArchiveWriter::begin(folder, &table.name, clock())?;
        let mut request = ScanRequest {
            table: table.name.clone(),
            consistent: true,
            ..ScanRequest::default()
        };
        loop {
            pacer.wait_until_paid().await;
            let page = retried_past_conflicts(engine.bounds(), || engine.store().scan(&request)).await?;
            pacer.note_taken(page.consumed.total_units().read.half_count() as f64 / 2.0);
            for item in &page.items {
                writer.put_item(item)?;
            }
            progress(page.items.len() as u64);
            // Only a page without a last key is the end of the table.
            request.start = page.last_key;
            if request.start.is_none() {
                break;
            }
        }
        written.push(writer.finish(clock())?);
    }
    // It may have begun meanwhile.
    check_still(engine.table_control().await?.as_ref())?;
    Ok(written)
}

/// Half of what lies in a table that is on its way may be another's.
fn check_still(control: Option<&TableControl>) -> Result<(), DumpError> {
    let Some(control) = control else { return Ok(()) };
    if let Some(migration) = control.current_migration() {
        return Err(DumpError::Migrating(migration.clone()));
    }
    match control.current_relocation() {
        Some(relocation) => Err(DumpError::Relocated(relocation.clone())),
        None => Ok(()),
    }
}
