//! Files for their owner alone: what this command makes, and what it takes secrets from.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// What others may do with a file: anything but nothing is too much.
#[cfg(unix)]
const OTHERS: u32 = 0o077;

/// Who may read a file that holds a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Its owner.
    OwnerAlone,
    /// Also its group and others, as the deployment says: mounted secrets often are so.
    Others,
}

impl Readers {
    /// Refuses a file that others can read, unless that is meant. One that is missing is for its reader to name.
    pub(crate) fn check(self, path: &Path) -> Result<(), String> {
        let Some(mode) = mode_for_others(path).filter(|_| self == Readers::OwnerAlone) else {
            return Ok(());
        };
        let shown = path.display();
        Err(format!(
            "others can read `{shown}` (mode {mode:04o}): `chmod 600 {shown}`, or say `--secret-files-shared` where it must be so"
        ))
    }
}

/// Makes a folder and those above it that are missing, for their owner alone. One that is there stays as it is.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Writes a file that is not there yet.
pub(crate) fn create_new(path: &Path, text: &str) -> io::Result<()> {
    private().create_new(true).open(path)?.write_all(text.as_bytes())
}

/// Begins a file anew. One that is there keeps its mode.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    private().create(true).truncate(true).open(path)
}

/// Goes on at the end of a file, which is made where it is not there.
pub(crate) fn append_private(path: &Path) -> io::Result<File> {
    private().create(true).append(true).open(path)
}

/// Says in the log where others can look into a folder of data that somebody else made. Its mode is not ours to change.
pub(crate) fn warn_of_others(folder: &Path) {
    if let Some(mode) = mode_for_others(folder) {
        let folder = folder.display();
        tracing::warn!(
            %folder,
            mode = format!("{mode:04o}"),
            "others can look into the folder of the data: `chmod 700 {folder}` keeps it to its owner"
        );
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// The mode of what others can reach; none where they cannot, or where there is nothing.
#[cfg(unix)]
fn mode_for_others(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(path).ok()?.permissions().mode() & 0o7777;
    (mode & OTHERS != 0).then_some(mode)
}

/// There files have no modes.
#[cfg(not(unix))]
fn mode_for_others(_: &Path) -> Option<u32> {
    None
}
