//! What an audit keeps in files: how far it is, and what items were before they were mended.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use singlet_audit::{AuditKeeper, AuditProgress};
use singlet_item::Item;
use singlet_runtime::ItemChange;

use crate::{private_file, source};

/// The files of an audit.
pub(super) struct KeptFiles {
    progress: Option<PathBuf>,
    images: Option<PathBuf>,
    /// Opened with the first image: where nothing is mended there is no file.
    opened: Mutex<Option<fs::File>>,
}

/// A line of images, as `load --as-is` reads it.
#[derive(Serialize)]
struct ImageLine<'a> {
    #[serde(rename = "$image")]
    image: Image<'a>,
}

#[derive(Serialize)]
struct Image<'a> {
    before: Option<&'a Item>,
    after: Option<&'a Item>,
}

impl KeptFiles {
    pub(crate) fn new(progress: Option<PathBuf>, images: Option<PathBuf>) -> Self {
        KeptFiles {
            progress,
            images,
            opened: Mutex::new(None),
        }
    }

    /// How far an earlier audit came; none where there is no such file.
    pub(crate) fn progress_before(&self) -> Result<Option<AuditProgress>, String> {
        let Some(path) = self.progress.as_ref().filter(|path| path.exists()) else {
            return Ok(None);
        };
        let bytes = source::read_source(path)?;
        let read = serde_json::from_slice(&bytes);
        read.map(Some)
            .map_err(|error| format!("`{}` does not say how far an audit is: {error}", path.display()))
    }

    /// An audit that came to its end needs no progress.
    pub(crate) fn remove_progress(&self) {
        if let Some(path) = &self.progress {
            let _ = fs::remove_file(path);
        }
    }
}

impl AuditKeeper for KeptFiles {
    fn keep_progress(&self, progress: &AuditProgress) -> io::Result<()> {
        let Some(path) = &self.progress else { return Ok(()) };
        // Whole or not at all, whenever the process ends.
        let beside = beside(path);
        let mut file = private_file::create_private(&beside)?;
        file.write_all(&serde_json::to_vec(progress).map_err(io::Error::other)?)?;
        file.sync_data()?;
        fs::rename(&beside, path)
    }

    fn keep_images(&self, changes: &[ItemChange]) -> io::Result<()> {
        let path = self.images.as_ref();
        let path = path.ok_or_else(|| io::Error::other("no file was named for what items were before"))?;
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &mut *opened {
            Some(file) => file,
            empty => empty.insert(private_file::append_private(path)?),
        };
        let mut lines = Vec::new();
        for change in changes {
            let image = Image {
                before: change.before.as_ref(),
                after: change.after.as_ref(),
            };
            serde_json::to_writer(&mut lines, &ImageLine { image }).map_err(io::Error::other)?;
            lines.push(b'\n');
        }
        file.write_all(&lines)?;
        // Before anything is changed, it lies on the disk what it was.
        file.sync_data()
    }
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    PathBuf::from(name)
}

/// What tells one text of a model from another; which one, it does not tell.
pub(super) fn model_digest(text: &str) -> String {
    // FNV-1a over 64 bits: a slip is told, and nobody gains by another model that has the same.
    let number = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{number:016x}")
}
