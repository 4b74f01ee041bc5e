//! Models made to blow up end within bounds of time and memory, whatever comes of them.
//!
//! A usual run tries 120 small ones. A long one, of the size that the bounds are promised for:
//! `SINGLET_BOMBS=2000 SINGLET_BOMB_BYTES=1000000 cargo test --profile long -p singlet --test bombs`. `SINGLET_SEED` begins elsewhere,
//! `SINGLET_BOMB=NAME` tries one kind alone, `SINGLET_BOMBS_KEPT=1` keeps the models.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test says so when something is not as it must be"
)]

#[path = "bombs/limits.rs"]
mod limits;
#[path = "bombs/models/mod.rs"]
mod models;

use std::path::Path;
use std::time::Duration;

use limits::{Ended, Limits, run_limited};
use models::{Draw, KINDS};

/// Two or three of each kind, small: most of the time goes into starting four commands for each.
const BOMBS_USUALLY: u64 = 120;
const BYTES_USUALLY: usize = 4_000;

/// What is promised of a release build on two cores.
const PROMISED: Limits = Limits {
    time: Duration::from_secs(10),
    resident_bytes: 500_000_000,
};

/// Builds without optimization are many times slower, and tests share the cores.
const UNOPTIMIZED: Limits = Limits {
    time: Duration::from_secs(90),
    ..PROMISED
};

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(usual)
}

/// What came of some bombs.
#[derive(Default)]
struct Blasts {
    exceeded: Vec<String>,
    slowest: (Duration, String),
    largest: (u64, String),
}

impl Blasts {
    fn join(mut self, other: Blasts) -> Self {
        self.exceeded.extend(other.exceeded);
        self.slowest = self.slowest.max(other.slowest);
        self.largest = self.largest.max(other.largest);
        self
    }
}

#[test]
fn bombs_end_within_bounds() {
    let folder = std::env::temp_dir().join(format!("singlet-bombs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let first = number("SINGLET_SEED", 1);
    let seeds = first..first + number("SINGLET_BOMBS", BOMBS_USUALLY);
    // One after the other on each core: what is promised is promised of a command that has a core to itself.
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(2);
    let blasts = std::thread::scope(|scope| {
        let shares: Vec<_> = (0..workers)
            .map(|worker| {
                let share = seeds.clone().skip(worker).step_by(workers);
                let folder = &folder;
                scope.spawn(move || {
                    share
                        .map(|seed| blast(seed, folder))
                        .fold(Blasts::default(), Blasts::join)
                })
            })
            .collect();
        shares
            .into_iter()
            .map(|share| share.join().unwrap())
            .fold(Blasts::default(), Blasts::join)
    });
    eprintln!("slowest: {:?}, {}", blasts.slowest.0, blasts.slowest.1);
    eprintln!("largest: {} MB, {}", blasts.largest.0 / 1_000_000, blasts.largest.1);
    let exceeded = blasts.exceeded;
    assert!(
        exceeded.is_empty(),
        "{} exceeded their bounds: {exceeded:#?}",
        exceeded.len()
    );
    if std::env::var_os("SINGLET_BOMBS_KEPT").is_none() {
        std::fs::remove_dir_all(folder).unwrap();
    }
}

/// Has four commands look at one bomb.
fn blast(seed: u64, folder: &Path) -> Blasts {
    let limits = if cfg!(debug_assertions) { UNOPTIMIZED } else { PROMISED };
    let bytes_max = usize::try_from(number("SINGLET_BOMB_BYTES", BYTES_USUALLY as u64)).unwrap();
    let wanted = std::env::var("SINGLET_BOMB").ok();
    let mut draw = Draw::new(seed);
    let (name, kind) = match &wanted {
        Some(wanted) => *KINDS.iter().find(|(name, _)| name == wanted).unwrap(),
        None => KINDS[usize::try_from(seed).unwrap() % KINDS.len()],
    };
    // As many small ones as large ones: what grows fast is past its bounds early, what grows slowly only at the end.
    let doublings = bytes_max.ilog2().saturating_sub(9) as usize;
    let bytes = bytes_max >> draw.number(0, doublings);
    let path = folder.join(format!("{seed}.yaml"));
    std::fs::write(&path, kind(&mut draw, bytes)).unwrap();
    let mut kept = std::env::var_os("SINGLET_BOMBS_KEPT").is_some();
    let mut blasts = Blasts::default();
    for command in ["check", "plan", "docs", "serve"] {
        let ended = run_limited(command, &path, limits);
        let what = format!("`{command}` of {name}, seed {seed}, {bytes} bytes");
        match ended {
            Ended::Within { time, resident_bytes } => {
                blasts.slowest = blasts.slowest.max((time, what.clone()));
                blasts.largest = blasts.largest.max((resident_bytes, what));
            }
            Ended::Exceeded(how) => {
                eprintln!("{what}: {how}; kept as {}", path.display());
                blasts.exceeded.push(what);
                kept = true;
            }
        }
    }
    if !kept {
        std::fs::remove_file(&path).unwrap();
    }
    blasts
}
