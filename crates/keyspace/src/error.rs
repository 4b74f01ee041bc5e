//! Why a key space did not do what it was asked, and what a caller may conclude from it.

use std::fmt;
use std::io;
use std::sync::Arc;

/// What a key space answers, or why not.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a key space did not do what it was asked.
#[derive(Clone, Debug)]
pub struct Error {
    kind: SpaceErrorKind,
    message: Arc<str>,
    help: Option<Arc<str>>,
    told: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SpaceErrorKind {
    Busy,
    TooLarge,
    Panicked,
    Paused,
    Stopped,
    Locked,
    Newer,
    Damaged,
    Unreadable,
    Refused,
}

impl Error {
    /// Too many works wait: nothing was done, and trying again later may help.
    pub fn is_busy(&self) -> bool {
        self.kind == SpaceErrorKind::Busy
    }

    /// A key, a value or a commit is larger than [`crate::limits`] allow.
    pub fn is_too_large(&self) -> bool {
        self.kind == SpaceErrorKind::TooLarge
    }

    /// The space takes no more writes, since the disk failed, its folder was taken away, or it was closed. Whether the
    /// work is kept is not known until the folder is opened again, unless it came after the failure.
    pub fn is_stopped(&self) -> bool {
        self.kind == SpaceErrorKind::Stopped
    }

    /// The space takes no writes for now, since its disk is full or its folder is out of sight. Nothing of the work is kept, and
    /// writes are taken again by themselves once that is over: nothing was lost.
    pub fn is_paused(&self) -> bool {
        self.kind == SpaceErrorKind::Paused
    }

    /// Another process, or this one, has the folder open.
    pub fn is_locked(&self) -> bool {
        self.kind == SpaceErrorKind::Locked
    }

    /// The folder was written by a newer version.
    pub fn is_newer(&self) -> bool {
        self.kind == SpaceErrorKind::Newer
    }

    /// What the folder holds is not what was written there.
    pub fn is_damaged(&self) -> bool {
        self.kind == SpaceErrorKind::Damaged
    }

    /// Why no writes are taken, in words that name no place: what may be told to anybody.
    pub fn told_publicly(&self) -> Option<&'static str> {
        self.told
    }

    /// The way out, where there is one.
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }

    pub(crate) fn busy(message: String) -> Self {
        Self::new(SpaceErrorKind::Busy, message).with_help("try again later, with fewer writes at a time")
    }

    pub(crate) fn too_large(message: String) -> Self {
        Self::new(SpaceErrorKind::TooLarge, message)
    }

    pub(crate) fn panicked(message: &str) -> Self {
        Self::new(
            SpaceErrorKind::Panicked,
            format!("the work panicked, and nothing of it is kept: {message}"),
        )
    }

    /// The disk failed while something was written.
    pub(crate) fn failed(message: String) -> Self {
        Self::new(SpaceErrorKind::Stopped, message)
            .with_help("mend the cause and open it again: what was answered is kept")
            .telling("the disk failed to write")
    }

    /// There was no room on the disk, and nothing of what was to be written is kept.
    pub(crate) fn full(message: String) -> Self {
        Self::new(SpaceErrorKind::Paused, message)
            .with_help("make room: writes are taken again by themselves")
            .telling("the disk is full")
    }

    /// The folder is not where it was. What was to be written is not: the files that are open may be nobody's by now.
    pub(crate) fn out_of_sight(error: &io::Error) -> Self {
        Self::new(SpaceErrorKind::Paused, error.to_string())
            .with_help("put the folder back: writes are taken again by themselves; where it is lost, restore a backup")
            .telling("the folder of the data was removed or replaced")
    }

    /// A file that is open is not the one that was written: what was answered may be lost.
    pub(crate) fn taken_away(message: String) -> Self {
        Self::damaged(message).telling("a file of the data was removed or cut short")
    }

    /// What a work is answered that came after the failure.
    pub(crate) fn stopped_by(reason: &Self) -> Self {
        Self {
            message: match reason.kind {
                SpaceErrorKind::Paused => format!("no writes are taken for now, since {reason}").into(),
                _ => format!("no more writes are taken, since {reason}").into(),
            },
            ..reason.clone()
        }
    }

    pub(crate) fn closed() -> Self {
        Self::new(SpaceErrorKind::Stopped, "it was closed").telling("the store was closed")
    }

    pub(crate) fn abandoned() -> Self {
        Self::new(SpaceErrorKind::Stopped, "the writer ended before the work was done")
    }

    pub(crate) fn io(folder: &str, what: &str, error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::WouldBlock {
            return Self::locked(folder);
        }
        let message = format!("{what} in `{folder}`: {error}");
        match is_full(error) {
            true => Self::full(message),
            false => Self::failed(message),
        }
    }

    /// Why a file that must be there could not be opened.
    pub(crate) fn opening(folder: &str, file: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::taken_away(format!("`{file}` is missing in `{folder}`")),
            _ => Self::io(folder, &format!("cannot open `{file}`"), error),
        }
    }

    pub(crate) fn locked(folder: &str) -> Self {
        Self::new(SpaceErrorKind::Locked, format!("`{folder}` is open in another process"))
            .with_help("end that process, or use another folder")
    }

    pub(crate) fn newer(folder: &str, found: u32, known: u32) -> Self {
        let message = format!("`{folder}` has format {found}, and this version knows those up to {known}");
        Self::new(SpaceErrorKind::Newer, message).with_help("open it with the version that wrote it, or a newer one")
    }

    pub(crate) fn damaged(message: String) -> Self {
        Self::new(SpaceErrorKind::Damaged, message)
            .with_help("restore a backup: nothing was changed")
            .telling("a file of the data is damaged")
    }

    pub(crate) fn unreadable(what: &str, error: &redb::Error) -> Self {
        match error {
            redb::Error::Io(error) if error.kind() != io::ErrorKind::InvalidData => {
                Self::new(SpaceErrorKind::Unreadable, format!("cannot read {what}: {error}"))
            }
            redb::Error::PreviousIo => Self::new(
                SpaceErrorKind::Unreadable,
                format!("cannot read {what} since an earlier failure of the disk"),
            )
            .with_help("open it again"),
            error => Self::damaged(format!("{what} is not what was written there: {error}")),
        }
    }

    pub(crate) fn refused(message: String) -> Self {
        Self::new(SpaceErrorKind::Refused, message)
    }

    fn new(kind: SpaceErrorKind, message: impl Into<Arc<str>>) -> Self {
        Self {
            kind,
            message: message.into(),
            help: None,
            told: None,
        }
    }

    fn telling(mut self, told: &'static str) -> Self {
        self.told = Some(told);
        self
    }

    fn with_help(mut self, help: &str) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// Whether a write failed for want of room.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
