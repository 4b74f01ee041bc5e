//! What an operator asks of the process that has a folder open: a socket in that folder, which its owner alone may use.
//!
//! A folder has one process, so a command that works on it while a service runs cannot open it: it asks the service instead.
//! One line of JSON is asked, one line is answered.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use singlet_store_embedded::EmbeddedStore;

use crate::folder_changes::{FolderRead, FolderTold};

/// The socket in the folder of the data.
const SOCKET_FILE: &str = "singlet.sock";

/// The longest line that is asked.
const ASKED_BYTES_MAX: u64 = 1024 * 1024;

/// The longest line that is answered: a page of changes with the images of items.
const ANSWER_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// How long who has connected may take to ask.
const ASKING_TIME_MAX: Duration = Duration::from_secs(5);

/// What is asked.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// Write a copy of the data to a folder.
    Backup(PathBuf),
    /// Give the room back that deleted and replaced rows left.
    Compact,
    /// Tell of a table's changes.
    Read(FolderRead),
}

/// What came of it.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Said {
    Done,
    Failed(String),
    Told(FolderTold),
}

/// Does what is asked on a store.
async fn done_on(store: &EmbeddedStore, asked: &Asked) -> Said {
    let done = match asked {
        Asked::Backup(folder) => store.backup(folder).await,
        Asked::Compact => store.compact().await,
        Asked::Read(read) => return Said::Told(read.told_by(store).await),
    };
    match done {
        Ok(()) => Said::Done,
        Err(error) => Said::Failed(error.to_string()),
    }
}

impl Said {
    fn into_done(self) -> Result<(), String> {
        match self {
            Said::Done => Ok(()),
            Said::Failed(reason) => Err(reason),
            Said::Told(_) => Err("the service answers something else than was asked".to_owned()),
        }
    }
}

#[cfg(unix)]
mod socket {
    use super::{
        ANSWER_BYTES_MAX, ASKED_BYTES_MAX, ASKING_TIME_MAX, Asked, SOCKET_FILE, Said, done_on, line_of, write_line,
    };
    use singlet_store_embedded::EmbeddedStore;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::{Path, PathBuf};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use tokio::runtime::Handle;

    /// The socket of a folder; nobody is answered after it is dropped.
    #[derive(Debug)]
    pub struct Operator {
        path: PathBuf,
        ended: Arc<AtomicBool>,
    }

    impl Drop for Operator {
        fn drop(&mut self) {
            self.ended.store(true, Ordering::Relaxed);
            // Wakes who waits for operators: it holds the store, and lets go of it now.
            let _ = UnixStream::connect(&self.path);
            let _ = std::fs::remove_file(&self.path);
        }
    }

    /// Answers operators until the process ends.
    ///
    /// # Errors
    ///
    /// Where the socket cannot be made; the service can do without.
    pub fn listen(folder: &Path, store: EmbeddedStore) -> std::io::Result<Operator> {
        let path = folder.join(SOCKET_FILE);
        // The folder is ours alone while it is open, so this was left by a process that was killed.
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        let runtime = Handle::current();
        let ended = Arc::new(AtomicBool::new(false));
        let ending = Arc::clone(&ended);
        std::thread::Builder::new().name("operator".to_owned()).spawn(move || {
            // One after the other: they are rare, and each may take the whole disk.
            for stream in listener.incoming().flatten() {
                if ending.load(Ordering::Relaxed) {
                    return;
                }
                if let Err(error) = answer(stream, &store, &runtime) {
                    tracing::debug!(%error, "an operator was not answered");
                }
            }
        })?;
        Ok(Operator { path, ended })
    }

    fn answer(mut stream: UnixStream, store: &EmbeddedStore, runtime: &Handle) -> std::io::Result<()> {
        stream.set_read_timeout(Some(ASKING_TIME_MAX))?;
        let asked: Asked = line_of(&stream, ASKED_BYTES_MAX)?;
        if matches!(asked, Asked::Read(_)) {
            // Whoever follows changes asks several times a second.
            return write_line(&mut stream, &runtime.block_on(done_on(store, &asked)));
        }
        tracing::info!(?asked, "an operator asks");
        let said = runtime.block_on(done_on(store, &asked));
        tracing::info!(?asked, ?said, "an operator is answered");
        write_line(&mut stream, &said)
    }

    /// Asks the process that has the folder open; nothing, where none listens.
    pub(super) fn ask(folder: &Path, asked: &Asked) -> Option<Result<Said, String>> {
        let mut stream = UnixStream::connect(folder.join(SOCKET_FILE)).ok()?;
        let said = write_line(&mut stream, asked).and_then(|()| line_of(&stream, ANSWER_BYTES_MAX));
        let unanswered = |error| {
            format!(
                "the service that has `{}` open does not answer: {error}",
                folder.display()
            )
        };
        Some(said.map_err(unanswered))
    }
}

#[cfg(not(unix))]
mod socket {
    use super::{Asked, Said};
    use singlet_store_embedded::EmbeddedStore;
    use std::path::Path;

    /// There is none here.
    #[derive(Debug)]
    pub struct Operator;

    /// Nobody can ask a running service here.
    pub fn listen(_: &Path, _: EmbeddedStore) -> std::io::Result<Operator> {
        Ok(Operator)
    }

    /// Nobody listens.
    pub(super) fn ask(_: &Path, _: &Asked) -> Option<Result<Said, String>> {
        None
    }
}

use socket::ask;
pub use socket::{Operator, listen};

fn line_of<T: for<'a> Deserialize<'a>>(stream: impl Read, bytes_max: u64) -> std::io::Result<T> {
    let mut line = String::new();
    BufReader::new(stream.take(bytes_max)).read_line(&mut line)?;
    serde_json::from_str(&line).map_err(std::io::Error::other)
}

fn write_line(stream: &mut impl Write, value: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_string(value).map_err(std::io::Error::other)?;
    line.push('\n');
    stream.write_all(line.as_bytes())
}

/// Does what is asked on a folder: by the process that has it open, or by opening it.
///
/// # Errors
///
/// Where there is no data in the folder, or it cannot be done.
pub async fn done_in(folder: &Path, asked: &Asked) -> Result<(), String> {
    if !folder.is_dir() {
        return Err(format!("there is no folder `{}`", folder.display()));
    }
    if let Some(said) = ask(folder, asked) {
        return said?.into_done();
    }
    let store = EmbeddedStore::open_existing(folder).map_err(|error| error.to_string())?;
    done_on(&store, asked).await.into_done()
}

/// Asks the process that has a folder open for changes; nothing, where none listens.
pub fn told_by_service(folder: &Path, read: &FolderRead) -> Option<Result<FolderTold, String>> {
    let said = ask(folder, &Asked::Read(read.clone()))?;
    Some(said.and_then(|said| match said {
        Said::Told(told) => Ok(told),
        Said::Failed(reason) => Err(reason),
        Said::Done => Err("the service answers something else than was asked".to_owned()),
    }))
}
