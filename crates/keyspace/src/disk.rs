//! The files of a space, as everything in this crate reaches them.
//!
//! Both the log and the base go through here, so that a disk that loses power, fills up or fails can be put beneath
//! them in tests.

use crate::{Error, Result};
use std::fmt;
use std::io;
use std::sync::Arc;

/// A folder of files. Its entries (what is in it under which name) are durable only after [`Disk::sync_entries`].
pub trait Disk: Send + Sync + 'static {
    /// How the folder is called in messages.
    fn name(&self) -> String;

    /// The names of all files.
    fn names(&self) -> io::Result<Vec<String>>;

    /// Makes an empty file; one of that name must not be there.
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;

    /// Opens a file that is there.
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;

    /// Gives a file another name, under which no file may be.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Takes a file out of the folder. Who has it open goes on using it.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes the entries durable.
    fn sync_entries(&self, point: SyncPoint) -> io::Result<()>;

    /// Fails where the folder is no longer the one that was opened: whatever is written then is lost.
    fn check_still_ours(&self) -> io::Result<()>;

    /// Which file has a name now.
    fn identity_of(&self, name: &str) -> io::Result<FileIdentity>;
}

/// What tells a file from another of the same name. Where a file that is open cannot be replaced, all are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    /// The device, or 0.
    pub device: u64,
    /// The number of the file on it, or 0.
    pub number: u64,
}

/// An open file. What is written is durable only after [`DiskFile::sync`].
#[allow(clippy::len_without_is_empty, reason = "nobody asks a file whether it is empty")]
pub trait DiskFile: fmt::Debug + Send + Sync + 'static {
    /// Its length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// Reads all of `into`, or fails.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()>;

    /// Writes all of `bytes`, or fails; then some of them may be written.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Cuts it, or fills it up with zeros.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Which file it is.
    fn identity(&self) -> io::Result<FileIdentity>;

    /// Makes all that was written before durable, with the length.
    fn sync(&self, point: SyncPoint) -> io::Result<()>;

    /// Sends to the disk what was written, where the system holds it back. Nothing depends on it but how long others wait.
    fn write_back(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Why something is synced. Each has its own name, so that a test can leave out one and see what is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SyncPoint {
    /// A group of commits, before it is shown and answered.
    LogAppended,
    /// The head of a new segment, before it gets its name.
    LogCreated,
    /// The entry of a new segment, before anything in it is answered; and whatever entries a killed process left, before they are relied on.
    LogEntry,
    /// What a killed process left in the log, before it is shown.
    LogOpened,
    /// Pages of the base, when the engine beneath asks for it.
    BaseWritten,
    /// The length of the base, before the engine beneath writes that it has grown.
    BaseGrown,
    /// The entry of a new base, before the old one or the log that it replaces is removed.
    BaseEntry,
    /// The file that says what the folder is, before it gets its name.
    FormatCreated,
    /// Its entry, before a new space is used.
    FormatEntry,
}

impl SyncPoint {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::LogAppended,
        Self::LogCreated,
        Self::LogEntry,
        Self::LogOpened,
        Self::BaseWritten,
        Self::BaseGrown,
        Self::BaseEntry,
        Self::FormatCreated,
        Self::FormatEntry,
    ];
}

/// What a file is called until all of it is there.
const UNFINISHED: &str = ".new";

/// The name under which a file is made that is called `name` once it is whole.
pub(crate) fn unfinished_name(name: &str) -> String {
    format!("{name}{UNFINISHED}")
}

pub(crate) fn is_unfinished(name: &str) -> bool {
    name.ends_with(UNFINISHED)
}

/// The name that a file has, or is to have once it is whole.
pub(crate) fn whole_name(name: &str) -> &str {
    name.strip_suffix(UNFINISHED).unwrap_or(name)
}

/// Makes a file with `bytes`, which has its name only once all of them are durable.
pub(crate) fn create_whole(
    disk: &dyn Disk,
    name: &str,
    bytes: &[u8],
    point: SyncPoint,
) -> io::Result<Arc<dyn DiskFile>> {
    let first = unfinished_name(name);
    let file = disk.create(&first)?;
    file.write_at(0, bytes)?;
    // Before the rename: a name may become durable before the bytes, and a whole name promises whole bytes.
    file.sync(point)?;
    disk.rename(&first, name)?;
    Ok(file)
}

/// Fails where a file that is open is no longer the one of its name, or is shorter than what was written to it.
pub(crate) fn check_file(disk: &dyn Disk, name: &str, file: &dyn DiskFile, bytes_min: u64) -> Result<()> {
    let folder = disk.name();
    let failed = |error: io::Error| Error::opening(&folder, name, &error);
    // The file and not its name is what is written to: one that was put in its place holds nothing of what was answered.
    if disk.identity_of(name).map_err(failed)? != file.identity().map_err(failed)? {
        return Err(Error::taken_away(format!(
            "`{name}` in `{folder}` was replaced while it was open"
        )));
    }
    let bytes = file.len().map_err(failed)?;
    // Longer is right: the engine lets its file grow before it says so.
    match bytes < bytes_min {
        true => Err(Error::taken_away(format!(
            "`{name}` in `{folder}` has {bytes} bytes, and {bytes_min} were written"
        ))),
        false => Ok(()),
    }
}

/// All bytes of a file.
pub(crate) fn read_all(file: &dyn DiskFile) -> io::Result<Vec<u8>> {
    let len = usize::try_from(file.len()?).map_err(io::Error::other)?;
    let mut bytes = vec![0; len];
    file.read_at(0, &mut bytes)?;
    Ok(bytes)
}
