//! What the engine's file lacks: a way to the last change.
//!
//! The engine gives every change of a table with a stream the number after the last one's, and looks at all that were ever made
//! for it: a write would take longer with every write before it. An index makes it one look.

use std::path::Path;

use rusqlite::Connection;
use singlet_store::{Result, StoreError};

/// The index, by what the engine asks for.
const INDEX: &str = "CREATE INDEX IF NOT EXISTS singlet_changes \
                     ON _stream_records (table_name, CAST(sequence_number AS INTEGER))";

/// Makes the index, in a file that the engine has open.
pub(crate) fn prepare(file: &Path) -> Result<()> {
    let made = Connection::open(file).and_then(|connection| connection.execute_batch(INDEX));
    made.map_err(|error| StoreError::unavailable(format!("cannot write `{}`: {error}", file.display())))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn the_index_serves_what_the_engine_asks_for() {
        let folder = std::env::temp_dir().join(format!("singlet-upkeep-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("engine.db");
        let _engine = dynoxide::Database::new(file.to_str().unwrap()).unwrap();
        prepare(&file).unwrap();
        prepare(&file).unwrap();
        let connection = Connection::open(&file).unwrap();
        for question in [
            "SELECT COALESCE(MAX(CAST(sequence_number AS INTEGER)), 0) + 1 FROM _stream_records WHERE table_name = ?1",
            "SELECT event_name FROM _stream_records WHERE table_name = ?1 AND CAST(sequence_number AS INTEGER) > 7 \
             ORDER BY CAST(sequence_number AS INTEGER)",
        ] {
            let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {question}")).unwrap();
            let steps: Vec<String> = plan
                .query_map(["things"], |row| row.get("detail"))
                .unwrap()
                .map(|step| step.unwrap())
                .collect();
            assert!(steps.iter().all(|step| step.contains("singlet_changes")), "{steps:?}");
        }
        drop(connection);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
