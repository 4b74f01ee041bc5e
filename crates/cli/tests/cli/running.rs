//! Starting the command, in folders of a test's own.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The command with arguments, as outside a terminal.
pub fn singlet<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_singlet"));
    command.args(args).env_remove("COLUMNS").env_remove("CLICOLOR_FORCE");
    let args: Vec<&OsStr> = command.get_args().collect();
    // Somebody may be serving on the usual port. Help would show the variable.
    if args.first() == Some(&OsStr::new("serve")) && !args.contains(&OsStr::new("--help")) {
        command.env("SINGLET_LISTEN", "127.0.0.1:0");
    }
    command
}

/// A folder that is removed at the end.
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// An empty folder for the test of that name.
    pub fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder { path }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts a file into it.
    pub fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}
