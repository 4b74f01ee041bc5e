//! The folder that an assistant is given: no file outside it is read.

use std::path::{Path, PathBuf};

use crate::source;

/// How deep folders are looked into.
const DEPTH_MAX: usize = 6;

/// How many files are looked at.
const FILES_MAX: usize = 10_000;

/// How much of a file is looked at to tell whether it is a model.
const LOOK_BYTES_MAX: u64 = 4 * 1024;

/// The folder of the models.
#[derive(Debug)]
pub(super) struct ModelFolder {
    path: PathBuf,
}

impl ModelFolder {
    /// A folder that is there.
    ///
    /// # Errors
    ///
    /// Where it is none.
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let whole = path.canonicalize().ok().filter(|whole| whole.is_dir());
        let whole = whole.ok_or_else(|| format!("there is no folder `{}`", path.display()))?;
        Ok(ModelFolder { path: whole })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The file of a path within the folder, links followed.
    ///
    /// # Errors
    ///
    /// Where it is outside, or no file. Both say the same, so that nobody learns what there is outside.
    pub(super) fn file(&self, given: &str) -> Result<PathBuf, String> {
        let none = || format!("there is no file `{given}` in the folder of the models");
        let whole = self.path.join(given).canonicalize().map_err(|_| none())?;
        match whole.starts_with(&self.path) && whole.is_file() {
            true => Ok(whole),
            false => Err(none()),
        }
    }

    /// Whether there is a file beside another.
    ///
    /// # Errors
    ///
    /// Where it is a link that leads out of the folder.
    pub(super) fn has_beside(&self, file: &Path, name: &str) -> Result<bool, String> {
        let beside = file.with_file_name(name);
        match beside.is_file() {
            true => self.file(&beside.display().to_string()).map(|_| true),
            false => Ok(false),
        }
    }

    /// Every model in it, by its path within the folder.
    pub(super) fn models(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut looked = 0;
        self.look_into(&self.path, 0, &mut looked, &mut found);
        found.sort();
        found
    }

    fn look_into(&self, folder: &Path, depth: usize, looked: &mut usize, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            // Links are not followed: they may lead out of the folder, or round in it.
            let Some(kind) = entry.file_type().ok().filter(|kind| !kind.is_symlink() && !is_hidden) else {
                continue;
            };
            *looked += 1;
            if *looked > FILES_MAX {
                return;
            }
            let is_yaml = path
                .extension()
                .is_some_and(|extension| extension == "yaml" || extension == "yml");
            if kind.is_dir() && depth < DEPTH_MAX {
                self.look_into(&path, depth + 1, looked, found);
            } else if kind.is_file() && is_yaml && is_model(&path) {
                let within = path.strip_prefix(&self.path).unwrap_or(&path);
                found.push(within.to_owned());
            }
        }
    }
}

fn is_model(path: &Path) -> bool {
    let start = source::read_within(path, LOOK_BYTES_MAX).unwrap_or_default();
    String::from_utf8_lossy(&start)
        .lines()
        .any(|line| line.starts_with("singlet:"))
}
