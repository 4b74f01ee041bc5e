//! Where the files of a lake lie.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use bytes::Bytes;

/// The folder for files that are not whole yet. It lies beside the tables, so that nobody who lists a table sees them.
pub(crate) const UNFINISHED: &str = "_unfinished";

/// A file that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// Its name in its folder.
    pub name: String,
    /// When it was made, in milliseconds since 1970.
    pub made_at_millis: i64,
}

/// What a lake needs of the place where it lies. Paths are of the lake, with `/` between folders.
///
/// **Invariant:** a file is there whole or not at all, and of two who put a new one under the same path one is told that it is there.
pub trait LakeFiles: Send + Sync {
    /// Makes a file, unless it is there; whether it was made.
    ///
    /// # Errors
    ///
    /// Where it cannot be written; it may be there all the same.
    fn put_new(&self, path: &str, bytes: &[u8]) -> io::Result<bool>;

    /// Makes a file, in place of what is there.
    ///
    /// # Errors
    ///
    /// Where it cannot be written.
    fn put_over(&self, path: &str, bytes: &[u8]) -> io::Result<()>;

    /// Reads a file; nothing where there is none.
    ///
    /// # Errors
    ///
    /// Where it cannot be read.
    fn get(&self, path: &str) -> io::Result<Option<Bytes>>;

    /// The files of a folder; none where there is no folder.
    ///
    /// # Errors
    ///
    /// Where it cannot be read.
    fn list(&self, folder: &str) -> io::Result<Vec<FileEntry>>;

    /// Removes a file; one that is gone already is no mistake.
    ///
    /// # Errors
    ///
    /// Where it cannot be removed.
    fn remove(&self, path: &str) -> io::Result<()>;
}

/// Files in a folder of this machine.
#[derive(Clone, Debug)]
pub struct LocalFiles {
    folder: PathBuf,
}

impl LocalFiles {
    /// In a folder, which is made when something is put there.
    pub fn new(folder: PathBuf) -> Self {
        LocalFiles { folder }
    }

    /// Writes a file whole, under a name of its own.
    fn unfinished(&self, bytes: &[u8]) -> io::Result<PathBuf> {
        let folder = self.folder.join(UNFINISHED);
        fs::create_dir_all(&folder)?;
        let path = folder.join(drawn_name()?);
        let mut file = File::create_new(&path)?;
        file.write_all(bytes)?;
        // Before it has its name: a name must not stand for bytes that are not on the disk.
        file.sync_all()?;
        Ok(path)
    }

    fn place(&self, path: &str) -> io::Result<PathBuf> {
        let path = self.folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        Ok(path)
    }
}

/// A name that nobody else draws.
pub(crate) fn drawn_name() -> io::Result<String> {
    let mut drawn = [0; 16];
    getrandom::fill(&mut drawn).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(drawn.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A name is there for good only when its folder is.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

impl LakeFiles for LocalFiles {
    fn put_new(&self, path: &str, bytes: &[u8]) -> io::Result<bool> {
        let place = self.place(path)?;
        let unfinished = self.unfinished(bytes)?;
        // A second name for a file is refused where that name is taken: the one step that decides.
        let linked = fs::hard_link(&unfinished, &place);
        // Its other name stays.
        fs::remove_file(&unfinished)?;
        match linked {
            Ok(()) => sync_folder_of(&place).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn put_over(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let place = self.place(path)?;
        fs::rename(self.unfinished(bytes)?, &place)?;
        sync_folder_of(&place)
    }

    fn get(&self, path: &str) -> io::Result<Option<Bytes>> {
        match fs::read(self.folder.join(path)) {
            Ok(bytes) => Ok(Some(bytes.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn list(&self, folder: &str) -> io::Result<Vec<FileEntry>> {
        let entries = match fs::read_dir(self.folder.join(folder)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry?;
            let known = match entry.metadata() {
                Ok(known) => known,
                // Somebody removed it meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let (Ok(name), true) = (entry.file_name().into_string(), known.is_file()) else {
                continue;
            };
            let made_at = known.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
            found.push(FileEntry {
                name,
                made_at_millis: i64::try_from(made_at.as_millis()).unwrap_or(i64::MAX),
            });
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        match fs::remove_file(self.folder.join(path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}
