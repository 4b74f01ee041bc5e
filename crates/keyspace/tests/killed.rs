//! A process is killed while it writes, checkpoints and compacts: what it had been answered is there, and whole.
//!
//! `SINGLET_KILLS=500` kills more often than the usual run.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may stop, and its other process says how far it came"
)]

mod common;

use common::{Model, Temporary, commit, small, times};
use singlet_keyspace::Keyspace;
use singlet_keyspace::simulated::Random;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Where the process that is killed writes; the test passes it on.
const FOLDER: &str = "SINGLET_KILLED_KEYSPACE";
/// Begins a line with a commit that was answered: the frame of the tests prints lines of its own.
const ANSWERED: &str = "answered ";

#[test]
fn a_killed_process_loses_nothing_that_was_answered() {
    let folder = Temporary::new("killed");
    let mut random = Random(7);
    let mut model = Model::default();
    let mut before = 0;
    for kill in 0..times("SINGLET_KILLS", 10) {
        let after = Duration::from_millis(30 + random.number_below(400));
        let answered = write_and_kill(&folder.0, after);
        let space = Keyspace::open(&folder.0, small()).unwrap();
        let shown = space.snapshot().number();
        assert!(
            shown >= answered.max(before),
            "kill {kill}: {answered} was answered, {shown} is there"
        );
        model.check(&space.snapshot()).unwrap();
        before = shown;
    }
    assert!(before > 50, "only {before} commits were made");
}

/// Starts a process that writes, kills it, and answers the last commit that it had been answered.
fn write_and_kill(folder: &Path, after: Duration) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["the_process_that_is_killed", "--exact", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let reader = std::thread::spawn(move || {
        // The last line may be cut.
        let number = |line: String| line.strip_prefix(ANSWERED)?.strip_suffix('.')?.parse::<u64>().ok();
        lines.map_while(Result::ok).filter_map(number).max().unwrap_or(0)
    });
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

#[test]
#[ignore = "only the test above starts it"]
fn the_process_that_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let space = Keyspace::open(Path::new(&folder), small()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let number = commit(&space).unwrap();
                    let mut out = std::io::stdout().lock();
                    // One write, so that the line is there or is not.
                    out.write_all(format!("{ANSWERED}{number}.\n").as_bytes()).unwrap();
                    out.flush().unwrap();
                }
            });
        }
        loop {
            space.compact().unwrap();
            std::thread::sleep(Duration::from_millis(60));
        }
    });
}
