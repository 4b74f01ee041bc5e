//! A foreign endpoint for the tests: a given one, or DynamoDB Local or moto started for them.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Names an endpoint that runs already.
const ENDPOINT_VARIABLE: &str = "SINGLET_DYNAMODB_ENDPOINT";
/// How long installing and starting may take.
const START_SECONDS_MAX: u64 = 300;

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// Whatever the environment names; DynamoDB's own behaviour is expected of it.
    Given,
    /// DynamoDB Local by Amazon.
    DynamoDbLocal,
    /// Moto's server.
    Moto,
}

/// An endpoint, stopped when it is dropped if it was started here.
#[derive(Debug)]
pub struct Endpoint {
    /// Where it listens.
    pub url: String,
    /// Who answers.
    pub foreign: Foreign,
    child: Option<Child>,
}

impl Endpoint {
    /// The endpoint that the environment names, else DynamoDB Local, else moto; none, with a loud line, where nothing
    /// is there. DynamoDB Local that is there and does not start is a failure: a test that could have run is not skipped.
    pub fn start() -> Option<Self> {
        if let Ok(url) = std::env::var(ENDPOINT_VARIABLE) {
            return Some(Self {
                url,
                foreign: Foreign::Given,
                child: None,
            });
        }
        let java = runs("java", "-version") && (installed() || runs("mvn", "-version"));
        let spawned = || Self::spawn("dynamodb-local", Foreign::DynamoDbLocal);
        // Another process may have taken the port.
        let local = java.then(|| spawned().or_else(spawned)).flatten();
        assert!(
            local.is_some() || !java || !installed(),
            "DynamoDB Local is installed, and does not start"
        );
        let started = local.or_else(|| {
            let python = runs("python3", "--version");
            python.then(|| Self::spawn("moto-server", Foreign::Moto)).flatten()
        });
        if started.is_none() {
            skipped();
        }
        started
    }

    /// Moto's server, for what DynamoDB Local lacks; none, with a loud line, where it cannot be had.
    pub fn start_moto() -> Option<Self> {
        let python = runs("python3", "--version");
        let started = python.then(|| Self::spawn("moto-server", Foreign::Moto)).flatten();
        if started.is_none() {
            skipped();
        }
        started
    }

    fn spawn(script: &str, foreign: Foreign) -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port();
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("../../scripts")
            .join(script);
        let mut child = Command::new(script);
        child
            .arg(port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut endpoint = Self {
            url: format!("http://127.0.0.1:{port}"),
            foreign,
            child: Some(child.spawn().ok()?),
        };
        endpoint.answers(port).then_some(endpoint)
    }

    fn answers(&mut self, port: u16) -> bool {
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(START_SECONDS_MAX) {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return true;
            }
            let ended = self
                .child
                .as_mut()
                .is_none_or(|child| !matches!(child.try_wait(), Ok(None)));
            if ended {
                return false;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        false
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Written past the capture of the test harness, so that it is seen although the test passes.
fn skipped() {
    let _ = writeln!(
        std::io::stderr(),
        "\n!!! SKIPPED: no foreign endpoint. Install java and mvn, or python3, or name an endpoint in {ENDPOINT_VARIABLE}.\n"
    );
}

fn runs(program: &str, argument: &str) -> bool {
    let mut command = Command::new(program);
    command
        .arg(argument)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn installed() -> bool {
    let cache = std::env::var("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|_| std::env::var("HOME").map(|home| PathBuf::from(home).join(".cache")));
    cache.is_ok_and(|cache| cache.join("singlet/dynamodb-local/lib").is_dir())
}
