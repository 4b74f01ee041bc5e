//! A command in a process of its own, ended where it takes too long or too much memory.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How much of a machine a command may take.
#[derive(Clone, Copy)]
pub struct Limits {
    /// Time on a processor: what others do meanwhile does not count.
    pub time: Duration,
    pub resident_bytes: u64,
}

/// What came of it.
pub enum Ended {
    /// It ended, or served.
    Within { time: Duration, resident_bytes: u64 },
    /// It was ended, or it crashed.
    Exceeded(String),
}

/// How often memory is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// How long a command is waited for, on a machine that has much else to do.
const WAITED_MAX: Duration = Duration::from_secs(600);

/// What `serve` prints once it listens.
const SERVING: &str = "described at";

/// Runs a command on a model until it ends, or until it serves.
pub fn run_limited(command: &str, model: &Path, limits: Limits) -> Ended {
    let mut singlet = Command::new(env!("CARGO_BIN_EXE_singlet"));
    singlet.arg(command).arg(model);
    if command == "serve" {
        singlet.args(["--listen", "127.0.0.1:0", "--store", "memory", "--accept-errors"]);
    }
    let mut child = singlet
        .env("SINGLET_SECRET", "0123456789abcdef0123456789abcdef")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let began = Instant::now();
    let mut time = Duration::ZERO;
    let lines = lines_of(&mut child);
    let mut resident_bytes = 0;
    let ended = loop {
        match lines.recv_timeout(LOOK_EVERY) {
            Ok(line) if command == "serve" && line.contains(SERVING) => break None,
            Ok(_) => {}
            Err(RecvTimeoutError::Disconnected) => break None,
            Err(RecvTimeoutError::Timeout) => {}
        }
        resident_bytes = resident_bytes.max(peak_bytes(child.id()));
        if resident_bytes > limits.resident_bytes {
            break Some(format!("more than {} MB", limits.resident_bytes / 1_000_000));
        }
        time = time.max(processor_time(child.id()));
        if time > limits.time || began.elapsed() > WAITED_MAX {
            break Some(format!("more than {} s", limits.time.as_secs()));
        }
    };
    let serves = child.try_wait().unwrap().is_none() && command == "serve";
    if ended.is_some() || serves {
        child.kill().unwrap();
    }
    let status = child.wait().unwrap();
    match ended {
        Some(how) => Ended::Exceeded(how),
        // Past 2 stand signals and panics.
        None if !serves && !matches!(status.code(), Some(0..=2)) => Ended::Exceeded(format!("{status}")),
        None => Ended::Within { time, resident_bytes },
    }
}

/// What a process prints, line by line, until it closes both of its outputs.
fn lines_of(child: &mut Child) -> Receiver<String> {
    let (sender, lines) = channel();
    let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let other = sender.clone();
    std::thread::spawn(move || {
        BufReader::new(out)
            .lines()
            .map_while(Result::ok)
            .for_each(|line| drop(sender.send(line)));
    });
    std::thread::spawn(move || {
        BufReader::new(err)
            .lines()
            .map_while(Result::ok)
            .for_each(|line| drop(other.send(line)));
    });
    lines
}

/// The most memory that a process had so far; nothing where the system does not tell.
fn peak_bytes(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1_024
}

/// How long a process ran on a processor so far; nothing where the system does not tell.
fn processor_time(id: u32) -> Duration {
    /// In which the system counts.
    const TICK: Duration = Duration::from_millis(10);
    let status = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    // Behind the name, which may hold anything, stand the state and then numbers.
    let numbers = status.rsplit(')').next().unwrap_or_default();
    let ticks = |at: usize| {
        numbers
            .split_whitespace()
            .nth(at)
            .and_then(|text| text.parse::<u32>().ok())
    };
    TICK * (ticks(11).unwrap_or(0) + ticks(12).unwrap_or(0))
}
