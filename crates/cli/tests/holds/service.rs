//! `singlet serve` as a process of its own, and what the system says of it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value as Json;

/// What tokens are signed with.
const SECRET: &str = "a secret of the attack alone";

/// A service that is killed with it, in a folder that goes with it.
pub struct Service {
    child: Child,
    folder: PathBuf,
    pub address: SocketAddr,
}

/// The memory and the open files of a process.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    pub memory_bytes: u64,
    pub open_files: usize,
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_singlet"));
    command.args(args).env("SINGLET_SECRET", SECRET);
    command
}

/// An empty folder for a service.
pub fn new_folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Loads rows into the folder of a service that does not run yet.
pub fn load_rows(folder: &Path, system: &str, rows: &str) {
    fs::write(folder.join("rows.jsonl"), rows).unwrap();
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../systems/{system}/model.yaml"));
    let args = [
        "load",
        model.to_str().unwrap(),
        "rows.jsonl",
        "--store",
        "embedded:singlet-data",
    ];
    let loaded = command(&args).current_dir(folder).output().unwrap();
    assert!(loaded.status.success(), "{}", String::from_utf8_lossy(&loaded.stderr));
}

impl Service {
    /// Serves the five systems from a folder of its own.
    pub fn start(name: &str, args: &[&str]) -> Self {
        Service::start_in(new_folder(name), args)
    }

    /// Serves from a folder that has been prepared.
    pub fn start_in(folder: PathBuf, args: &[&str]) -> Self {
        let mut child = command(&[
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--rate",
            "off",
            "--log-level",
            "warn",
        ])
        .args(args)
        .current_dir(&folder)
        .stdout(Stdio::piped())
        .stderr(fs::File::create(folder.join("log")).unwrap())
        .spawn()
        .unwrap();
        let mut greeting = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = greeting.find_map(|line| line.ok()?.rsplit_once("http://")?.1.parse().ok());
        let address = address.unwrap_or_else(|| panic!("{}", fs::read_to_string(folder.join("log")).unwrap()));
        // What it still prints goes nowhere, but somebody takes it.
        std::thread::spawn(move || greeting.for_each(drop));
        Service { child, folder, address }
    }

    /// The header with which somebody calls a system.
    pub fn credentials(&self, system: &str, claims: &[&str]) -> String {
        let mut args = vec!["token", system];
        args.extend(claims);
        let made = command(&args).current_dir(&self.folder).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let token = String::from_utf8(made.stdout).unwrap();
        match system {
            "country" => format!("x-api-key: {}", token.trim()),
            _ => format!("authorization: Bearer {}", token.trim()),
        }
    }

    /// What it takes now.
    pub fn usage(&self) -> Usage {
        let resident = self.status("VmRSS").unwrap();
        let kilobytes: u64 = resident.trim_end_matches(" kB").parse().unwrap();
        Usage {
            memory_bytes: kilobytes * 1024,
            open_files: fs::read_dir(self.process().join("fd")).unwrap().count(),
        }
    }

    fn process(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}", self.child.id()))
    }

    /// What the system says of the process under a name, where it knows that name.
    pub fn status(&self, name: &str) -> Option<String> {
        let status = fs::read_to_string(self.process().join("status")).unwrap();
        let mut fields = status.lines().filter_map(|line| line.split_once(':'));
        let (_, said) = fields.find(|(known, _)| *known == name)?;
        Some(said.trim().to_owned())
    }

    /// What the folder that it keeps its rows in takes on the disk: files have holes.
    pub fn folder_bytes(&self) -> u64 {
        const BLOCK_BYTES: u64 = 512;
        let data = fs::read_dir(self.folder.join("singlet-data")).unwrap();
        let bytes = |metadata: fs::Metadata| std::os::unix::fs::MetadataExt::blocks(&metadata) * BLOCK_BYTES;
        data.filter_map(|entry| Some(bytes(entry.ok()?.metadata().ok()?))).sum()
    }

    /// Kills it and looks at its folder: what `doctor` says.
    pub fn kill_and_inspect(mut self) -> Json {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let args = ["doctor", "singlet-data", "--format", "json"];
        let looked = command(&args).current_dir(&self.folder).output().unwrap();
        assert!(looked.status.success(), "{}", String::from_utf8_lossy(&looked.stderr));
        serde_json::from_slice(&looked.stdout).unwrap()
    }

    /// What it has logged, at most so many lines.
    pub fn log(&self, lines_max: usize) -> String {
        let log = fs::read_to_string(self.folder.join("log")).unwrap();
        log.lines().take(lines_max).collect::<Vec<_>>().join("\n")
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
