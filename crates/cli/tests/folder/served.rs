//! The five systems as a process, and calls over its socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::running::singlet;

/// How long a test waits for what must come.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// A service that is killed with it. Its data is in `singlet-data` in the folder where it runs.
pub struct Served {
    child: Child,
    pub address: String,
    /// What a call of each system sends to say who calls.
    headers: Vec<(String, String)>,
    pub log: PathBuf,
}

impl Served {
    pub fn start(folder: &Path) -> Self {
        Self::with(folder, singlet(["serve"])).unwrap_or_else(|log| panic!("{log}"))
    }

    /// Starts `serve` with one model of a test's own.
    pub fn one(folder: &Path, command: Command) -> Self {
        Self::of_systems(folder, command, 1).unwrap_or_else(|log| panic!("{log}"))
    }

    /// Starts `serve` as a command has it; what it said, where it did not start.
    pub fn with(folder: &Path, command: Command) -> Result<Self, String> {
        Self::of_systems(folder, command, 5)
    }

    fn of_systems(folder: &Path, mut command: Command, systems: usize) -> Result<Self, String> {
        let log = folder.join("serve.log");
        let mut child = command
            .args(["--listen", "127.0.0.1:0", "--log-level", "warn"])
            .env_remove("SINGLET_SECRET")
            .env("SINGLET_SWEEP_SECONDS", "1")
            .current_dir(folder)
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (mut address, mut headers, mut system) = (String::new(), Vec::new(), String::new());
        for line in lines.map_while(Result::ok) {
            if let Some((_, rest)) = line
                .split_once(" systems at http://")
                .or(line.split_once(" system at http://"))
            {
                address = rest.to_owned();
            } else if let Some((name, _)) = line.split_once(" at http://") {
                system = name.to_owned();
            } else if let Some(call) = line.strip_prefix("  curl ") {
                headers.push((system.clone(), call.split('\'').nth(1).unwrap().to_owned()));
            }
            // One that anybody may call has no call to show.
            if headers.len() == systems || (systems == 1 && !system.is_empty()) {
                return Ok(Served {
                    child,
                    address,
                    headers,
                    log,
                });
            }
        }
        child.wait().unwrap();
        Err(std::fs::read_to_string(&log).unwrap())
    }

    /// Status and body; none, where nobody answered.
    pub fn ask(&self, method: &str, path: &str, body: &str) -> Option<(u16, Value)> {
        self.ask_with(method, path, "", body)
    }

    pub fn ask_with(&self, method: &str, path: &str, more: &str, body: &str) -> Option<(u16, Value)> {
        let system = path.split('/').nth(1).unwrap_or_default();
        let known = self.headers.iter().find(|(name, _)| name == system);
        let header = known.map_or("x-nobody: 1", |(_, header)| header.as_str());
        call(&self.address, method, path, &format!("{header}\r\n{more}"), body)
    }

    /// Whether it is ready, and what it says.
    pub fn ready(&self) -> (u16, String) {
        let (status, body) = self.ask("GET", "/ready", "").unwrap();
        (status, body["detail"].as_str().unwrap_or_default().to_owned())
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// `kill -9`.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }

    /// `kill -TERM`, and whether it ended well.
    pub fn end(mut self) -> bool {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        self.child.wait().unwrap().success()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One request over a connection of its own.
pub fn call(address: &str, method: &str, path: &str, headers: &str, body: &str) -> Option<(u16, Value)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\n{}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        headers.trim_end(),
        body.len()
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    // An answer that was cut is none.
    let length = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    if length.is_some_and(|length: usize| length != body.len()) {
        return None;
    }
    Some((status, serde_json::from_str(body).unwrap_or(Value::Null)))
}

/// Waits until something is so.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < DEADLINE, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

pub fn models() -> Vec<PathBuf> {
    let systems = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems");
    ["booking", "country", "ecobid", "todo", "wardrobe"]
        .map(|name| systems.join(name).join("model.yaml"))
        .to_vec()
}

/// What `doctor` says of a folder with all models: its exit code, and its report.
pub fn examined(data: &Path) -> (i32, Value) {
    let output = singlet(["doctor"])
        .arg(data)
        .args(models())
        .args(["--format", "json"])
        .output()
        .unwrap();
    let code = output.status.code().unwrap_or(-1);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let report = serde_json::from_slice(&output.stdout);
    (code, report.unwrap_or(Value::String(said)))
}
