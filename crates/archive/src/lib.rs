//! Whole tables as files, in the format of DynamoDB's export to S3: written for others to read, and read whoever wrote them.
//!
//! ```text
//! FOLDER/AWSDynamoDB/01788000000000-1a2b3c4d/
//!     _started                  empty
//!     data/….json.gz            a line an item: {"Item": {"PK": {"S": "…"}, …}}
//!     manifest-files.json       a line a data file: how many items it has, and its MD5
//!     manifest-summary.json     of which table, how many items, in which format
//!     manifest-….md5            the MD5 of either
//! ```
//!
//! DynamoDB's documentation calls the last two `manifest-….checksum`; what it writes is called `.md5`. Either name is read.
//!
//! # Terms
//!
//! - An *archive* is one such folder: one table, as it was exported once.
//! - Its *data files* are those that its manifest names; others that lie beside them are none of its.
//!
//! **Invariant: nothing is half believed.** A data file gives no item before the whole of it had the MD5 that the manifest says, and an
//! archive without its summary, which is written last, is none.
//!
//! # What it is not
//!
//! It knows no model and no store. MD5 tells that a file is as it was written, and nothing of who wrote it.

mod archive;
mod checksum;
mod error;
mod items;
mod manifest;
mod repeated_keys;
mod writer;

pub use archive::{Archive, archives_in};
pub use error::{ArchiveError, ArchiveProblem};
pub use items::{ArchivedItem, ArchivedItems, LINE_BYTES_MAX};
pub use repeated_keys::{RepeatedKey, repeated_key};
pub use writer::{ArchiveWriter, WrittenArchive};
