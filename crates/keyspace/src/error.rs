use std::fmt;
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
    Unsupported,
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

    pub(crate) fn unsupported(message: String) -> Self {
        Self::new(Kind::Unsupported, message)
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
