//! The same API on Node, in `bench/node`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::operations::SECRET;
use super::process::Process;
use crate::error::Outcome;

/// Node with what the API needs.
#[derive(Debug)]
pub struct Node {
    folder: PathBuf,
    /// What it calls its version.
    pub version: String,
}

impl Node {
    /// Node, with its packages installed as the lock file says.
    ///
    /// # Errors
    ///
    /// Why it cannot be had.
    pub fn install() -> Result<Self, String> {
        let version = said(Command::new("node").arg("--version"))?;
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("node");
        if !is_installed(&folder) {
            let mut install = Command::new("npm");
            install.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
            said(install.current_dir(&folder))?;
        }
        Ok(Node { folder, version })
    }

    /// Starts the API on the engine's server, in so many processes.
    pub fn start(&self, engine: SocketAddr, workers: usize) -> Outcome<Process> {
        let mut command = Command::new("node");
        command
            .arg("server.mjs")
            .current_dir(&self.folder)
            .env("NODE_ENV", "production")
            // The version that is measured is printed.
            .env("AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED", "true")
            .env("DYNAMODB_ENDPOINT", format!("http://{engine}"))
            .env("JWT_SECRET", SECRET)
            .env("WORKERS", workers.to_string());
        Process::start(command)
    }
}

/// Whether the packages are those of the lock file, as far as their times say.
fn is_installed(folder: &Path) -> bool {
    let changed = |file: &str| std::fs::metadata(folder.join(file)).and_then(|file| file.modified());
    match (changed("node_modules/.package-lock.json"), changed("package-lock.json")) {
        (Ok(installed), Ok(locked)) => installed >= locked,
        _ => false,
    }
}

/// What a command says.
fn said(command: &mut Command) -> Result<String, String> {
    let shown = command.get_program().to_string_lossy().into_owned();
    let ran = command.stdin(Stdio::null()).output();
    let output = ran.map_err(|error| format!("`{shown}` cannot be run: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(format!(
            "`{shown}` failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )),
    }
}
