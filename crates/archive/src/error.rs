//! What is wrong with an archive, and where.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What is wrong with an archive, and where.
#[derive(Debug)]
pub struct ArchiveError {
    /// The file or folder.
    pub file: PathBuf,
    /// The line of the file, from one.
    pub line: Option<u64>,
    /// What.
    pub problem: ArchiveProblem,
}

/// What is wrong with an archive.
#[derive(Debug)]
pub enum ArchiveProblem {
    /// It cannot be read or written.
    Io(io::Error),
    /// There is no archive in the folder.
    NoArchive,
    /// There is no summary: whoever wrote it did not come to the end.
    Unfinished,
    /// A file that must be there is not.
    Missing,
    /// It is not what it should be: why.
    Shape(String),
    /// The items are in another format than DynamoDB's JSON: which.
    Format(String),
    /// It holds the changes of a while, and no whole table.
    Incremental,
    /// Its MD5 is another than the manifest says: the one said, and its own.
    Checksum(String, String),
    /// It has another number of items than is said: the number said, and its own.
    Count(u64, u64),
    /// It is no gzip, or breaks off: why.
    Compressed(io::Error),
    /// A line is longer than that of any item.
    TooLong,
    /// There is something already where it would be written.
    There,
}

impl ArchiveError {
    pub(crate) fn new(file: &Path, problem: ArchiveProblem) -> Self {
        ArchiveError {
            file: file.to_owned(),
            line: None,
            problem,
        }
    }

    pub(crate) fn at_line(file: &Path, line: u64, problem: ArchiveProblem) -> Self {
        ArchiveError {
            line: Some(line),
            ..ArchiveError::new(file, problem)
        }
    }

    pub(crate) fn io(file: &Path, error: io::Error) -> Self {
        ArchiveError::new(
            file,
            match error.kind() {
                io::ErrorKind::NotFound => ArchiveProblem::Missing,
                _ => ArchiveProblem::Io(error),
            },
        )
    }
}

impl fmt::Display for ArchiveError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "`{}`", self.file.display())?;
        if let Some(line) = self.line {
            write!(out, ", line {line}")?;
        }
        write!(out, ": {}", self.problem)
    }
}

impl fmt::Display for ArchiveProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArchiveProblem::Io(error) => error.fmt(out),
            ArchiveProblem::NoArchive => {
                out.write_str("there is no table in it as DynamoDB's export to S3 writes one: no `manifest-summary.json`, and no folder `AWSDynamoDB`")
            }
            ArchiveProblem::Unfinished => {
                out.write_str("it has no `manifest-summary.json`, which is written last: it was not written to its end, or not copied whole")
            }
            ArchiveProblem::Missing => out.write_str("it is not there"),
            ArchiveProblem::Shape(reason) => out.write_str(reason),
            ArchiveProblem::Format(format) => write!(
                out,
                "its items are in the format `{format}`, and only `DYNAMODB_JSON` is read: export the table in that format"
            ),
            ArchiveProblem::Incremental => {
                out.write_str("it is an incremental export, which holds changes and no whole table: make a full export")
            }
            ArchiveProblem::Checksum(said, own) => {
                write!(out, "its MD5 is `{own}`, and should be `{said}`: it was changed, or not copied whole")
            }
            ArchiveProblem::Count(said, own) => write!(out, "it has {own} items, and should have {said}"),
            ArchiveProblem::Compressed(error) => write!(out, "it is no gzip file, or breaks off: {error}"),
            ArchiveProblem::TooLong => out.write_str("the line is longer than that of any item"),
            ArchiveProblem::There => out.write_str("there is something already"),
        }
    }
}

impl std::error::Error for ArchiveError {}
