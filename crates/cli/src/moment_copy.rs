//! A copy of a folder that a service has open, as of one moment, for who looks at more than one call can answer.

use std::path::{Path, PathBuf};

use crate::operator::{Asked, connect_operator, done_in};

/// What the names of such copies begin with; the number of the process that made one follows.
const COPY_PREFIX: &str = "doctor-copy-";

/// The copy; removed with it.
#[derive(Debug)]
pub(crate) struct MomentCopy {
    folder: PathBuf,
}

impl MomentCopy {
    /// The copy of a folder that a service has open; none where none has. It lies in the folder: there the service may write, and who may
    /// look at the one may look at the other.
    ///
    /// # Errors
    ///
    /// Where it cannot be made.
    pub(crate) async fn of_served(data: &Path) -> Result<Option<Self>, String> {
        if connect_operator(data).await?.is_none() {
            return Ok(None);
        }
        remove_left(data);
        let data = std::path::absolute(data).map_err(|error| format!("`{}`: {error}", data.display()))?;
        let copy = MomentCopy {
            folder: data.join(format!("{COPY_PREFIX}{}", std::process::id())),
        };
        done_in(&data, &Asked::Backup(copy.folder.clone())).await?;
        Ok(Some(copy))
    }

    /// Where it is.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for MomentCopy {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Removes the copies of processes that were killed; on systems that do not show which processes there are, they stay.
fn remove_left(data: &Path) {
    let processes = Path::new("/proc");
    if !processes.join(std::process::id().to_string()).exists() {
        return;
    }
    for entry in std::fs::read_dir(data).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker = name.to_str().and_then(|name| name.strip_prefix(COPY_PREFIX));
        let is_left = maker.is_some_and(|maker| maker.parse::<u32>().is_ok() && !processes.join(maker).exists());
        if is_left {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}
