//! Every change of a model's rows in columns, once: Delta tables beside the table.
//!
//! A *lake* is a folder of Delta tables, two for each entity: `<entity>_changes` has every change, `<entity>` what is. Spark, Trino, Athena, DuckDB
//! and Polars read them.
//!
//! # Terms
//!
//! - A *batch* is one step of the lake: entries for the logs of several tables, and how far the changes are.
//! - A *bucket* is the part of a table of what is that one file holds: rows whose hashed keys begin alike.
//! - A *cell* is a value in a column; *shredding* takes rows apart into the leaves of their columns.
//!
//! # What it is not
//!
//! It reads no table for queries: that is what others do. It writes what the first useful version of Delta's protocol can say, and nothing else
//! writes to its tables.

mod actions;
mod batches;
mod buckets;
mod cell;
mod columns;
mod compaction;
mod data_file;
mod delta_schema;
mod drafts;
mod encode;
mod erasure;
mod error;
mod file_jobs;
mod files;
mod follower;
mod lake;
mod layout;
mod leaves;
mod personal;
mod place;
mod report;
mod s3_files;
mod shred;
mod snapshot_rows;
mod table_log;
#[cfg(test)]
mod tests;

pub use compaction::{KEPT_MILLIS, Tidied};
pub use error::LakeError;
pub use files::{FileEntry, LakeFiles, LocalFiles};
pub use follower::{LakeFollower, LakeStep};
pub use lake::{Appended, Lake, check_model};
pub use place::LakePlace;
pub use report::{LakeReport, ReportBar, ReportUnit, ReportView};
