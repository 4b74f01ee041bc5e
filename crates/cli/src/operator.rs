//! What an operator asks of the process that has a folder open: a socket in that folder, which its owner alone may use.
//!
//! A folder has one process, so a command that works on it while a service runs cannot open it: it asks the service instead.
//! A line of JSON is asked, a line is answered, as often as one likes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use singlet_store::StoreError;
use singlet_store_embedded::EmbeddedStore;

use crate::served_store::StoreCall;

/// The socket in the folder of the data.
const SOCKET_FILE: &str = "singlet.sock";

/// The longest line: 16 MB of items, each letter of which JSON may write as six.
const LINE_BYTES_MAX: u64 = 128 * 1024 * 1024;

/// How many commands are answered at once; one more waits.
const OPERATORS_MAX: usize = 64;

/// How long nobody is taken after one could not be, as where no file can be opened.
const TAKING_PAUSE: Duration = Duration::from_millis(100);

/// What is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Asked {
    /// Write a copy of the data to a folder.
    Backup(PathBuf),
    /// Give the room back that deleted and replaced rows left.
    Compact,
    /// Do what is asked of a store.
    Store(Box<StoreCall>),
}

/// What came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Said {
    Done,
    Failed(String),
    Store(Result<Json, StoreError>),
}

/// Does what is asked on a store.
async fn done_on(store: &EmbeddedStore, asked: &Asked) -> Said {
    let done = match asked {
        Asked::Backup(folder) => store.backup(folder).await,
        Asked::Compact => store.compact().await,
        Asked::Store(call) => return Said::Store(call.done_on(store).await),
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
            Said::Store(_) => Err(OTHER_ANSWER.to_owned()),
        }
    }

    fn into_answer(self) -> Result<Json, StoreError> {
        match self {
            Said::Store(answer) => answer,
            Said::Failed(reason) => Err(StoreError::unavailable(reason)),
            Said::Done => Err(StoreError::unavailable(OTHER_ANSWER)),
        }
    }
}

const OTHER_ANSWER: &str = "the service answers something else than was asked";

#[cfg(unix)]
mod socket {
    use std::fs::{File, Permissions};
    use std::io;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use serde::{Deserialize, Serialize};
    use singlet_store_embedded::EmbeddedStore;
    use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream};
    use tokio::net::{UnixListener, UnixStream};
    use tokio::sync::Mutex;
    use tokio::task::{AbortHandle, JoinSet};

    use super::{Asked, LINE_BYTES_MAX, OPERATORS_MAX, SOCKET_FILE, Said, TAKING_PAUSE, done_on};

    /// The longest path that every system takes for a socket.
    const SOCKET_PATH_BYTES_MAX: usize = 100;

    /// The user who may do everything.
    const ROOT: u32 = 0;

    /// The socket of a folder; nobody is answered after it is dropped.
    #[derive(Debug)]
    pub(crate) struct Operator {
        path: PathBuf,
        task: AbortHandle,
    }

    impl Drop for Operator {
        fn drop(&mut self) {
            // What is under way is dropped with it: whoever asked hears that the service ended.
            self.task.abort();
            let _ = std::fs::remove_file(&self.path);
        }
    }

    /// The path by which the socket of a folder is reached. One that is too long goes through the folder's own descriptor, which must
    /// stay open meanwhile.
    struct SocketPath {
        path: PathBuf,
        _folder: Option<File>,
    }

    impl SocketPath {
        fn within(folder: &Path) -> io::Result<Self> {
            let path = folder.join(SOCKET_FILE);
            if path.as_os_str().len() <= SOCKET_PATH_BYTES_MAX || !cfg!(target_os = "linux") {
                return Ok(SocketPath { path, _folder: None });
            }
            let folder = File::open(folder)?;
            let path = PathBuf::from(format!("/proc/self/fd/{}/{SOCKET_FILE}", folder.as_raw_fd()));
            Ok(SocketPath {
                path,
                _folder: Some(folder),
            })
        }
    }

    /// Answers operators until the process ends.
    ///
    /// # Errors
    ///
    /// Where the socket cannot be made; the service can do without.
    pub(crate) fn listen_for_operators(folder: &Path, store: EmbeddedStore) -> io::Result<Operator> {
        let path = folder.join(SOCKET_FILE);
        // The folder is ours alone while it is open, so this was left by a process that was killed.
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&SocketPath::within(folder)?.path)?;
        std::fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        let owner = std::fs::metadata(&path)?.uid();
        let task = tokio::spawn(take_operators(listener, store, owner)).abort_handle();
        Ok(Operator { path, task })
    }

    async fn take_operators(listener: UnixListener, store: EmbeddedStore, owner: u32) {
        let mut asking = JoinSet::new();
        // Each of these may take the whole disk.
        let upkeep = Arc::new(Mutex::new(()));
        loop {
            tokio::select! {
                taken = listener.accept(), if asking.len() < OPERATORS_MAX => match taken {
                    Ok((stream, _)) => {
                        let (store, upkeep) = (store.clone(), Arc::clone(&upkeep));
                        asking.spawn(async move {
                            if let Err(error) = answer(stream, &store, &upkeep, owner).await {
                                tracing::debug!(%error, "an operator was not answered");
                            }
                        });
                    }
                    Err(error) => {
                        tracing::debug!(%error, "an operator was not taken");
                        tokio::time::sleep(TAKING_PAUSE).await;
                    }
                },
                _ = asking.join_next(), if !asking.is_empty() => {}
            }
        }
    }

    async fn answer(stream: UnixStream, store: &EmbeddedStore, upkeep: &Mutex<()>, owner: u32) -> io::Result<()> {
        let peer = stream.peer_cred()?;
        let mut line = OperatorLine(BufStream::new(stream));
        // The mode of the socket says so too; but it was made a moment before it had one.
        if peer.uid() != owner && peer.uid() != ROOT {
            return line
                .write(&Said::Failed("the folder belongs to another user".to_owned()))
                .await;
        }
        let mut has_written = false;
        while let Some(asked) = line.read::<Asked>().await? {
            let said = match &asked {
                Asked::Store(call) => {
                    if call.is_write() && !has_written {
                        has_written = true;
                        tracing::info!(process = peer.pid(), "a command writes through this process");
                    }
                    done_on(store, &asked).await
                }
                Asked::Backup(_) | Asked::Compact => {
                    let _alone = upkeep.lock().await;
                    tracing::info!(?asked, "a command asks");
                    let said = done_on(store, &asked).await;
                    tracing::info!(?asked, ?said, "answered a command");
                    said
                }
            };
            line.write(&said).await?;
        }
        Ok(())
    }

    /// One connection to the process that has a folder open.
    #[derive(Debug)]
    pub(crate) struct OperatorLine(BufStream<UnixStream>);

    impl OperatorLine {
        /// Connects; nothing, where none listens.
        ///
        /// # Errors
        ///
        /// Where who asks may not.
        pub(crate) async fn connect_line(folder: &Path) -> io::Result<Option<Self>> {
            let Ok(socket) = SocketPath::within(folder) else {
                return Ok(None);
            };
            match UnixStream::connect(&socket.path).await {
                Ok(stream) => Ok(Some(OperatorLine(BufStream::new(stream)))),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(error),
                // There is none, or one of a process that was killed.
                Err(_) => Ok(None),
            }
        }

        pub(super) async fn ask(&mut self, asked: &Asked) -> io::Result<Said> {
            self.write(asked).await?;
            self.read().await?.ok_or_else(|| io::Error::other("it ended"))
        }

        /// Reads a line; nothing, where there are no more.
        async fn read<T: for<'a> Deserialize<'a>>(&mut self) -> io::Result<Option<T>> {
            let mut line = Vec::new();
            (&mut self.0).take(LINE_BYTES_MAX).read_until(b'\n', &mut line).await?;
            match line.last() {
                None => Ok(None),
                Some(b'\n') => serde_json::from_slice(&line).map(Some).map_err(io::Error::other),
                Some(_) => Err(io::Error::other("it broke off")),
            }
        }

        async fn write(&mut self, value: &impl Serialize) -> io::Result<()> {
            let mut line = serde_json::to_vec(value).map_err(io::Error::other)?;
            line.push(b'\n');
            self.0.write_all(&line).await?;
            self.0.flush().await
        }
    }
}

#[cfg(not(unix))]
mod socket {
    use std::io;
    use std::path::Path;

    use singlet_store_embedded::EmbeddedStore;

    use super::{Asked, Said};

    /// There is none here.
    #[derive(Debug)]
    pub(crate) struct Operator;

    /// Nobody can ask a running service here.
    pub(crate) fn listen_for_operators(_: &Path, _: EmbeddedStore) -> io::Result<Operator> {
        Ok(Operator)
    }

    /// Nobody listens.
    #[derive(Debug)]
    pub(crate) struct OperatorLine;

    impl OperatorLine {
        pub(crate) async fn connect_line(_: &Path) -> io::Result<Option<Self>> {
            Ok(None)
        }

        pub(super) async fn ask(&mut self, _: &Asked) -> io::Result<Said> {
            Err(io::Error::other("nobody listens"))
        }
    }
}

pub(crate) use socket::{Operator, OperatorLine, listen_for_operators};

impl OperatorLine {
    /// Has a call of a store done.
    ///
    /// # Errors
    ///
    /// Why it was not done, or that nobody answered: a write may then have been done or not.
    pub(crate) async fn call_store(&mut self, folder: &Path, call: StoreCall) -> Result<Json, StoreError> {
        let said = self.ask(&Asked::Store(Box::new(call))).await;
        said.map_err(|error| StoreError::unavailable(unanswered(folder, &error)))?
            .into_answer()
    }
}

/// That the process which has a folder open says nothing.
pub(crate) fn unanswered(folder: &Path, error: &std::io::Error) -> String {
    format!(
        "the service that has `{}` open does not answer: {error}",
        folder.display()
    )
}

/// Connects to the process that has a folder open; nothing, where none listens.
///
/// # Errors
///
/// Where who asks may not.
pub(crate) async fn connect_operator(folder: &Path) -> Result<Option<OperatorLine>, String> {
    let connected = OperatorLine::connect_line(folder).await;
    connected.map_err(|error| unanswered(folder, &error))
}

/// Does what is asked on a folder: by the process that has it open, or by opening it.
///
/// # Errors
///
/// Where there is no data in the folder, or it cannot be done.
pub(crate) async fn done_in(folder: &Path, asked: &Asked) -> Result<(), String> {
    if !folder.is_dir() {
        return Err(format!("there is no folder `{}`", folder.display()));
    }
    if let Some(mut line) = connect_operator(folder).await? {
        let said = line.ask(asked).await;
        return said.map_err(|error| unanswered(folder, &error))?.into_done();
    }
    let store = EmbeddedStore::open_existing(folder).map_err(|error| error.to_string())?;
    done_on(&store, asked).await.into_done()
}
