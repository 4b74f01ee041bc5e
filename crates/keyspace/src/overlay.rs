//! A folder as it is, with what is written kept in memory: opening a space reads its log again and mends its base, and who
//! only looks at a folder must not change it.

use crate::backend::lay_over;
use crate::disk::{Disk, DiskFile, FileIdentity, SyncPoint};
use crate::folder::{LOCK_FILE, folder_identity, lock_now, read_exact_at};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The bytes of a file that are kept together.
const PAGE_BYTES: u64 = 4096;

/// A folder that is only looked at, while no process has it open.
pub(crate) struct Overlay {
    path: PathBuf,
    /// Files by name: those that were opened, made or removed here.
    files: Mutex<BTreeMap<String, Option<Arc<OverlayFile>>>>,
    _lock: Option<File>,
}

/// A file, and what was written over it.
#[derive(Debug)]
struct OverlayFile {
    under: Option<File>,
    over: Mutex<OverlaidFile>,
}

#[derive(Debug)]
struct OverlaidFile {
    len: u64,
    /// How far the file beneath counts: it was cut there, or ends there.
    under_len: u64,
    pages: BTreeMap<u64, Vec<u8>>,
}

impl Overlay {
    /// Looks at a folder.
    ///
    /// # Errors
    ///
    /// `WouldBlock`, where a process has it open.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let lock = match File::open(path.join(LOCK_FILE)) {
            Ok(lock) => Some(lock),
            // Nobody has opened it here, or the file was removed: the files themselves are locked too.
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        // Held as long as it is looked at, so that no process changes the files meanwhile.
        lock.as_ref().map_or(Ok(()), lock_now)?;
        Ok(Self {
            path: path.to_owned(),
            files: Mutex::default(),
            _lock: lock,
        })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Option<Arc<OverlayFile>>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, name: &str) -> io::Result<Arc<OverlayFile>> {
        let mut files = self.lock();
        match files.get(name) {
            Some(Some(file)) => Ok(Arc::clone(file)),
            Some(None) => Err(io::ErrorKind::NotFound.into()),
            None => {
                let under = File::open(self.path.join(name))?;
                // Also where the lock file is missing.
                lock_now(&under)?;
                let len = under.metadata()?.len();
                let file = Arc::new(OverlayFile::new(Some(under), len));
                files.insert(name.to_owned(), Some(Arc::clone(&file)));
                Ok(file)
            }
        }
    }
}

impl Disk for Overlay {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let files = self.lock();
        let mut names: Vec<String> = files
            .iter()
            .filter(|(_, file)| file.is_some())
            .map(|(name, _)| name.clone())
            .collect();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if let (true, Ok(name)) = (entry.file_type()?.is_file(), entry.file_name().into_string())
                // What was removed or renamed here is gone, though the folder still has it.
                && !files.contains_key(&name)
            {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        if self.find(name).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let file = Arc::new(OverlayFile::new(None, 0));
        self.lock().insert(name.to_owned(), Some(Arc::clone(&file)));
        Ok(file)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(self.find(name)?)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let file = self.find(from)?;
        let mut files = self.lock();
        files.insert(from.to_owned(), None);
        files.insert(to.to_owned(), Some(file));
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.find(name)?;
        self.lock().insert(name.to_owned(), None);
        Ok(())
    }

    fn sync_entries(&self, _: SyncPoint) -> io::Result<()> {
        Ok(())
    }

    fn check_still_ours(&self) -> io::Result<()> {
        Ok(())
    }

    fn identity_of(&self, name: &str) -> io::Result<FileIdentity> {
        self.find(name)?.identity()
    }
}

impl OverlayFile {
    fn new(under: Option<File>, len: u64) -> Self {
        Self {
            under,
            over: Mutex::new(OverlaidFile {
                len,
                under_len: len,
                pages: BTreeMap::new(),
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, OverlaidFile> {
        self.over.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what the file beneath has of some bytes; the rest is zeros.
    fn read_under(&self, over: &OverlaidFile, offset: u64, into: &mut [u8]) -> io::Result<()> {
        into.fill(0);
        let there = over.under_len.saturating_sub(offset);
        let there = usize::try_from(there).unwrap_or(usize::MAX).min(into.len());
        match (&self.under, into.get_mut(..there)) {
            (Some(under), Some(into)) if there > 0 => read_exact_at(under, offset, into),
            _ => Ok(()),
        }
    }
}

impl DiskFile for OverlayFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.lock().len)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let over = self.lock();
        let end = offset.saturating_add(into.len() as u64);
        if end > over.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // Beneath first, then the pages over it.
        self.read_under(&over, offset, into)?;
        for (page, bytes) in over.pages.range(offset / PAGE_BYTES..=end / PAGE_BYTES) {
            lay_over(into, offset, bytes, page * PAGE_BYTES);
        }
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut over = self.lock();
        let end = offset.saturating_add(bytes.len() as u64);
        over.len = over.len.max(end);
        for page in offset / PAGE_BYTES..=end.saturating_sub(1) / PAGE_BYTES {
            let mut kept = match over.pages.remove(&page) {
                Some(kept) => kept,
                None => {
                    let mut kept = vec![0; PAGE_BYTES as usize];
                    // A page is kept whole: what of it is not written here has to come from beneath.
                    self.read_under(&over, page * PAGE_BYTES, &mut kept)?;
                    kept
                }
            };
            lay_over(&mut kept, page * PAGE_BYTES, bytes, offset);
            over.pages.insert(page, kept);
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut over = self.lock();
        over.len = len;
        // It never grows again: what was cut off beneath must not come back when the file is made longer.
        over.under_len = over.under_len.min(len);
        over.pages.split_off(&len.div_ceil(PAGE_BYTES));
        let last = len / PAGE_BYTES;
        let kept = usize::try_from(len % PAGE_BYTES).unwrap_or(0);
        if let Some(page) = over.pages.get_mut(&last) {
            // What was cut off reads as zeros if the file grows again.
            page.iter_mut().skip(kept).for_each(|byte| *byte = 0);
        }
        Ok(())
    }

    fn identity(&self) -> io::Result<FileIdentity> {
        match &self.under {
            Some(under) => Ok(folder_identity(&under.metadata()?)),
            None => Ok(FileIdentity { device: 0, number: 0 }),
        }
    }

    fn sync(&self, _: SyncPoint) -> io::Result<()> {
        Ok(())
    }
}
