//! A million rows: how much memory they take, and how long it takes to open them after a kill. It takes a minute or more, so
//! it is run when asked for: `cargo test -p singlet-keyspace --test million -- --ignored --nocapture`.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test may stop, and says what it saw"
)]

mod common;

use common::{Temporary, block_on};
use singlet_keyspace::simulated::Random;
use singlet_keyspace::{Direction, Draft, Error, Keyspace, Options};
use std::time::Instant;

const ROWS: u64 = 1_000_000;
const ROWS_PER_COMMIT: u64 = 500;
const MEMORY_MEGABYTES_MAX: u64 = 150;
const OPEN_SECONDS_MAX: f64 = 2.0;

#[test]
#[ignore = "it takes long"]
fn a_million_rows_take_little_memory_and_open_soon() {
    let folder = Temporary::new("million");
    let space = Keyspace::open(&folder.0, Options::default()).unwrap();
    // Created, and then as many of them written over in another order.
    for commit in 0..2 * ROWS / ROWS_PER_COMMIT {
        let written = space.commit(move |draft: &mut Draft<'_>| {
            let mut random = Random(commit);
            for row in commit * ROWS_PER_COMMIT..(commit + 1) * ROWS_PER_COMMIT {
                let row = if row < ROWS { row } else { random.number_below(ROWS) };
                let key = format!("table/{:016x}/{row:012}", Random(row).number_below(u64::MAX));
                draft.put_row(key.into_bytes(), vec![commit as u8; 280])?;
            }
            Ok::<_, Error>(())
        });
        block_on(written).unwrap();
    }
    let memory = peak_megabytes();
    let size = space.size().unwrap();
    // As a kill leaves it: what is in memory is only in the log.
    drop(space);
    let started = Instant::now();
    let space = Keyspace::open(&folder.0, Options::default()).unwrap();
    let seconds = started.elapsed().as_secs_f64();
    eprintln!("{memory} MB at most, opened in {seconds:.2} s, {size:?}");
    assert_eq!(space.snapshot().range(.., Direction::Forward).count() as u64, ROWS);
    assert!(memory < MEMORY_MEGABYTES_MAX, "{memory} MB");
    assert!(seconds < OPEN_SECONDS_MAX, "opened in {seconds:.2} s");
}

fn peak_megabytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() / 1024
}
