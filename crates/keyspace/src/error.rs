use std::fmt;
use std::io;
use std::sync::Arc;

/// What a key space answers, or why not.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a key space did not do what it was asked.
#[derive(Clone, Debug)]
pub struct Error {
    kind: Kind,
    message: Arc<str>,
    help: Option<Arc<str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Busy,
    TooLarge,
    Panicked,
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
        self.kind == Kind::Busy
    }

    /// A key, a value or a commit is larger than [`crate::limits`] allow.
    pub fn is_too_large(&self) -> bool {
        self.kind == Kind::TooLarge
    }

    /// The space takes no more writes, since the disk failed, its folder was taken away, or it was closed. Whether the
    /// work is kept is not known until the folder is opened again, unless it came after the failure.
    pub fn is_stopped(&self) -> bool {
        self.kind == Kind::Stopped
    }

    /// Another process, or this one, has the folder open.
    pub fn is_locked(&self) -> bool {
        self.kind == Kind::Locked
    }

    /// The folder was written by a newer version.
    pub fn is_newer(&self) -> bool {
        self.kind == Kind::Newer
    }

    /// What the folder holds is not what was written there.
    pub fn is_damaged(&self) -> bool {
        self.kind == Kind::Damaged
    }

    /// The way out, where there is one.
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }

    pub(crate) fn busy(message: String) -> Self {
        Self::new(Kind::Busy, message).with_help("try again later, with fewer writes at a time")
    }

    pub(crate) fn too_large(message: String) -> Self {
        Self::new(Kind::TooLarge, message)
    }

    pub(crate) fn panicked(message: &str) -> Self {
        Self::new(
            Kind::Panicked,
            format!("the work panicked, and nothing of it is kept: {message}"),
        )
    }

    /// The disk failed while something was written.
    pub(crate) fn failed(message: String) -> Self {
        Self::new(Kind::Stopped, message).with_help("mend the cause and open it again: what was answered is kept")
    }

    /// What a work is answered that came after the failure.
    pub(crate) fn stopped_by(reason: &Self) -> Self {
        Self {
            message: format!("no more writes are taken, since {reason}").into(),
            ..reason.clone()
        }
    }

    pub(crate) fn closed() -> Self {
        Self::new(Kind::Stopped, "it was closed")
    }

    pub(crate) fn abandoned() -> Self {
        Self::new(Kind::Stopped, "the writer ended before the work was done")
    }

    pub(crate) fn io(folder: &str, what: &str, error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::WouldBlock {
            return Self::locked(folder);
        }
        Self::failed(format!("{what} in `{folder}`: {error}"))
    }

    /// Why a file that must be there could not be opened.
    pub(crate) fn opening(folder: &str, file: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::damaged(format!("`{file}` is missing in `{folder}`")),
            _ => Self::io(folder, &format!("cannot open `{file}`"), error),
        }
    }

    pub(crate) fn locked(folder: &str) -> Self {
        Self::new(Kind::Locked, format!("`{folder}` is open in another process"))
            .with_help("end that process, or use another folder")
    }

    pub(crate) fn newer(folder: &str, found: u32, known: u32) -> Self {
        let message = format!("`{folder}` has format {found}, and this version knows those up to {known}");
        Self::new(Kind::Newer, message).with_help("open it with the version that wrote it, or a newer one")
    }

    pub(crate) fn damaged(message: String) -> Self {
        Self::new(Kind::Damaged, message).with_help("restore a backup: nothing was changed")
    }

    pub(crate) fn unreadable(what: &str, error: &redb::Error) -> Self {
        match error {
            redb::Error::Io(error) if error.kind() != io::ErrorKind::InvalidData => {
                Self::new(Kind::Unreadable, format!("cannot read {what}: {error}"))
            }
            redb::Error::PreviousIo => Self::new(
                Kind::Unreadable,
                format!("cannot read {what} since an earlier failure of the disk"),
            )
            .with_help("open it again"),
            error => Self::damaged(format!("{what} is not what was written there: {error}")),
        }
    }

    pub(crate) fn refused(message: String) -> Self {
        Self::new(Kind::Refused, message)
    }

    fn new(kind: Kind, message: impl Into<Arc<str>>) -> Self {
        Self {
            kind,
            message: message.into(),
            help: None,
        }
    }

    fn with_help(mut self, help: &str) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
