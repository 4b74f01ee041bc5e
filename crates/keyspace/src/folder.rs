//! A folder of the file system as the disk of a space, for one process at a time.
//!
//! **Invariant: nothing is written through a path that may lead elsewhere.** A folder can be renamed and another put in its place while it
//! is open. So each file is locked by itself, and before a file is opened, renamed or removed the lock file is looked at again.

use crate::disk::{Disk, DiskFile, FileIdentity, SyncPoint};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file whose lock says that a process has the folder open.
pub(crate) const LOCK_FILE: &str = "lock";

/// A folder of the file system, which one process has open.
pub(crate) struct Folder {
    path: PathBuf,
    lock: File,
}

#[derive(Debug)]
struct FolderFile {
    file: File,
}

impl Folder {
    /// Opens a folder, which is made if it is not there, with its parents.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        create_folders(path)?;
        let lock = private().create(true).truncate(false).open(path.join(LOCK_FILE))?;
        // Not waited for: two processes that take turns would each write over what the other has shown.
        lock_now(&lock)?;
        let folder = Self {
            path: path.to_owned(),
            lock,
        };
        // Whoever removes the lock file between its opening and its lock leaves us with one that nobody else sees.
        folder.check_still_ours()?;
        Ok(folder)
    }
}

impl Disk for Folder {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if let (true, Ok(name)) = (entry.file_type()?.is_file(), entry.file_name().into_string()) {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        self.open_with(name, private().create_new(true))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        self.open_with(name, &mut private())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        // The path may lead to another folder by now, in which there is a space of somebody else.
        self.check_still_ours()?;
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.check_still_ours()?;
        fs::remove_file(self.path.join(name))
    }

    fn sync_entries(&self, _: SyncPoint) -> io::Result<()> {
        sync_folder(&self.path)
    }

    fn check_still_ours(&self) -> io::Result<()> {
        let gone = || {
            io::Error::other(format!(
                "`{}` was removed or replaced while it was open",
                self.path.display()
            ))
        };
        let found = fs::metadata(self.path.join(LOCK_FILE)).map_err(|_| gone())?;
        if folder_identity(&found) == folder_identity(&self.lock.metadata()?) {
            Ok(())
        } else {
            Err(gone())
        }
    }

    fn identity_of(&self, name: &str) -> io::Result<FileIdentity> {
        Ok(folder_identity(&fs::metadata(self.path.join(name))?))
    }
}

impl Folder {
    /// Opens a file and locks it: whoever removes the lock file and opens the folder anew meets these locks.
    fn open_with(&self, name: &str, options: &mut OpenOptions) -> io::Result<Arc<dyn DiskFile>> {
        // Files are reached by their path, which must not lead into the folder of somebody else.
        self.check_still_ours()?;
        let file = options.open(self.path.join(name))?;
        lock_now(&file)?;
        Ok(Arc::new(FolderFile { file }))
    }
}

impl DiskFile for FolderFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        read_exact_at(&self.file, offset, into)
    }

    #[cfg(unix)]
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.file, bytes, offset)
    }

    #[cfg(windows)]
    fn write_at(&self, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = std::os::windows::fs::FileExt::seek_write(&self.file, bytes, offset)?;
            offset += written as u64;
            bytes = match bytes.get(written..) {
                Some(rest) if written > 0 => rest,
                _ => return Err(io::ErrorKind::WriteZero.into()),
            };
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn identity(&self) -> io::Result<FileIdentity> {
        Ok(folder_identity(&self.file.metadata()?))
    }

    fn sync(&self, _: SyncPoint) -> io::Result<()> {
        self.file.sync_data()
    }

    fn write_back(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// Makes a folder and those above it that are missing, for their owner alone and each of them durable in the one above. A folder
/// that is there keeps its mode.
fn create_folders(path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = path
        .ancestors()
        .take_while(|folder| !folder.as_os_str().is_empty() && !folder.is_dir())
        .collect();
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    for folder in missing {
        if let Some(above) = folder.canonicalize()?.parent() {
            // Each in the one above: a folder whose entry is lost takes everything in it along.
            sync_folder(above)?;
        }
    }
    Ok(())
}

/// For reading and writing, by the owner alone.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(unix)]
pub(crate) fn read_exact_at(file: &File, offset: u64, into: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, into, offset)
}

#[cfg(windows)]
pub(crate) fn read_exact_at(file: &File, mut offset: u64, mut into: &mut [u8]) -> io::Result<()> {
    while !into.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, into, offset)?;
        offset += read as u64;
        into = match into.get_mut(read..) {
            Some(rest) if read > 0 => rest,
            _ => return Err(io::ErrorKind::UnexpectedEof.into()),
        };
    }
    Ok(())
}

pub(crate) fn lock_now(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        // Told apart from other failures, since it means another process and not a broken disk.
        Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// There a folder cannot be synced; its file system keeps entries in a journal of its own.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
pub(crate) fn folder_identity(file: &fs::Metadata) -> FileIdentity {
    use std::os::unix::fs::MetadataExt;
    FileIdentity {
        device: file.dev(),
        number: file.ino(),
    }
}

/// There an open file that is locked cannot be removed.
#[cfg(not(unix))]
pub(crate) fn folder_identity(_: &fs::Metadata) -> FileIdentity {
    FileIdentity { device: 0, number: 0 }
}
