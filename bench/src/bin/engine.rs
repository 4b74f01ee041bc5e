//! What a key space of our own does beside the engines that it could have been instead, with the same load.
//!
//! - `engine [ROWS [NAME…]]` measures all engines, or those named: each in a process of its own.
//! - `engine --measure NAME FOLDER ROWS` measures one; `engine --write NAME FOLDER` writes until it is killed.

use singlet_bench::engines::{self, Rows, Space};
use singlet_bench::error::{Failure, Outcome};
use singlet_bench::rounds;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const ROWS_USUAL: u64 = 60_000;
/// As a table with four indexes that project all: a row and an entry of each index.
const KEYS_PER_ROW: u64 = 5;
const VALUE_BYTES: usize = 280;
const TASKS: [u64; 3] = [1, 8, 16];
const TASKS_SUSTAINED: u64 = 64;
const SECONDS_PER_CASE: u64 = 3;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let ran = match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--measure", name, folder, rows] => measure(name, Path::new(folder), rows.parse().unwrap_or(ROWS_USUAL)),
        ["--write", name, folder] => write_until_killed(name, Path::new(folder)),
        [] => all(ROWS_USUAL, &engines::NAMES),
        [rows] => all(rows.parse().unwrap_or(ROWS_USUAL), &engines::NAMES),
        [rows, names @ ..] => all(rows.parse().unwrap_or(ROWS_USUAL), names),
    };
    rounds::exit(ran)
}

fn all(rows: u64, names: &[&str]) -> Outcome<()> {
    let program = std::env::current_exe()?;
    for name in names {
        let folder = std::env::temp_dir().join(format!("singlet-engine-{name}-{}", std::process::id()));
        println!("{name}");
        let status = Command::new(&program)
            .args(["--measure", name, &folder.to_string_lossy(), &rows.to_string()])
            .status()?;
        if !status.success() {
            return Err(Failure(format!("`{name}` could not be measured")));
        }
        open_after_kill(&program, name, &folder)?;
        std::fs::remove_dir_all(&folder)?;
    }
    Ok(())
}

fn measure(name: &str, folder: &Path, rows: u64) -> Outcome<()> {
    let space = engines::open(name, folder)?;
    let space = &*space;
    sustained("creates", space, folder, rows, |i| i)?;
    // Each row twice, in another order than that of their creation.
    sustained("updates", space, folder, 2 * rows, |i| mix(i) % rows)?;
    let started = Instant::now();
    space.compact()?;
    println!(
        "  compacted in {:.1} s: {:.0} MB",
        started.elapsed().as_secs_f64(),
        megabytes(folder)?
    );
    let next = AtomicU64::new(rows);
    for tasks in TASKS {
        timed("put of a new row", tasks, |_| {
            space.put(row(next.fetch_add(1, Ordering::Relaxed), 0))
        })?;
    }
    for tasks in TASKS {
        timed("put over a row", tasks, |turn| space.put(row(mix(turn) % rows, turn)))?;
    }
    let get = |turn: u64| match space.get(&key(mix(turn) % rows, 0))? {
        Some(VALUE_BYTES) => Ok(()),
        found => Err(Failure(format!("a row has {found:?} bytes"))),
    };
    for tasks in TASKS {
        timed("get", tasks, get)?;
    }
    for tasks in TASKS {
        timed("range of 20", tasks, |turn| {
            space.range(&key(mix(turn) % rows, 1), 20).map(drop)
        })?;
    }
    beside_writers(space, rows, get)?;
    println!(
        "  peak memory {:.0} MB",
        status_kb("/proc/self/status", "VmHWM:")? / 1024.0
    );
    Ok(())
}

/// Many tasks write without pause: how fast, how long the slowest waited, and how much reached the disk.
fn sustained(
    what: &str,
    space: &dyn Space,
    folder: &Path,
    rows: u64,
    which: impl Fn(u64) -> u64 + Sync,
) -> Outcome<()> {
    let written_before = status_kb("/proc/self/io", "write_bytes:")?;
    let cpu_before = cpu_seconds()?;
    let next = AtomicU64::new(0);
    let started = Instant::now();
    let times = in_tasks(TASKS_SUSTAINED, |_, times| {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= rows {
                return Ok(());
            }
            let started = Instant::now();
            space.put(row(which(i), i))?;
            times.push(started.elapsed());
        }
    })?;
    let seconds = started.elapsed().as_secs_f64();
    let written = status_kb("/proc/self/io", "write_bytes:")? - written_before;
    println!(
        "  {what}: {:.0} a second, {:.0} µs of processor each, p99 {:.1} ms, max {:.0} ms, {:.1} KB written each, {:.0} MB on disk, peak memory {:.0} MB",
        rows as f64 / seconds,
        (cpu_seconds()? - cpu_before) * 1e6 / rows as f64,
        at(&times, 0.99).as_secs_f64() * 1e3,
        at(&times, 1.0).as_secs_f64() * 1e3,
        written / 1024.0 / rows as f64,
        megabytes(folder)?,
        peak_megabytes()?,
    );
    Ok(())
}

/// Tasks that do the same for some seconds.
fn timed(what: &str, tasks: u64, run: impl Fn(u64) -> Outcome<()> + Sync) -> Outcome<()> {
    let started = Instant::now();
    let end = started + Duration::from_secs(SECONDS_PER_CASE);
    let times = in_tasks(tasks, |task, times| {
        for turn in 0.. {
            let started = Instant::now();
            if started >= end {
                break;
            }
            run(task + turn * tasks)?;
            times.push(started.elapsed());
        }
        Ok(())
    })?;
    let rate = times.len() as f64 / started.elapsed().as_secs_f64();
    println!(
        "  {what}, {tasks} tasks: {rate:.0} a second, median {:.1} µs, p99 {:.1} µs",
        at(&times, 0.5).as_secs_f64() * 1e6,
        at(&times, 0.99).as_secs_f64() * 1e6,
    );
    Ok(())
}

fn beside_writers(space: &dyn Space, rows: u64, get: impl Fn(u64) -> Outcome<()> + Sync) -> Outcome<()> {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..8_u64)
            .map(|writer| {
                let done = &done;
                scope.spawn(move || -> Outcome<()> {
                    let mut turn = writer;
                    while !done.load(Ordering::Relaxed) {
                        space.put(row(mix(turn) % rows, turn))?;
                        turn += 8;
                    }
                    Ok(())
                })
            })
            .collect();
        let measured = timed("get beside 8 writers", 8, get);
        done.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.join().map_err(|_| Failure("a writer stopped".to_owned()))??;
        }
        measured
    })
}

fn write_until_killed(name: &str, folder: &Path) -> Outcome<()> {
    let space = engines::open(name, folder)?;
    let next = AtomicU64::new(0);
    in_tasks(16, |_, _| {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            space.put(row(mix(i) % ROWS_USUAL, i))?;
        }
    })
    .map(drop)
}

fn open_after_kill(program: &Path, name: &str, folder: &Path) -> Outcome<()> {
    let mut times = Vec::new();
    for _ in 0..3 {
        let mut child = Command::new(program)
            .args(["--write", name, &folder.to_string_lossy()])
            .spawn()?;
        std::thread::sleep(Duration::from_secs(4));
        child.kill()?;
        child.wait()?;
        let started = Instant::now();
        let space = engines::open(name, folder)?;
        space.get(&key(0, 0))?;
        times.push(format!("{:.0}", started.elapsed().as_secs_f64() * 1e3));
    }
    println!("  open after a kill: {} ms", times.join(", "));
    Ok(())
}

fn in_tasks(tasks: u64, run: impl Fn(u64, &mut Vec<Duration>) -> Outcome<()> + Sync) -> Outcome<Vec<Duration>> {
    std::thread::scope(|scope| {
        let run = &run;
        let task = |task| {
            scope.spawn(move || {
                let mut times = Vec::new();
                run(task, &mut times).map(|()| times)
            })
        };
        let started: Vec<_> = (0..tasks).map(task).collect();
        let mut all = Vec::new();
        for task in started {
            all.extend(task.join().map_err(|_| Failure("a task stopped".to_owned()))??);
        }
        all.sort_unstable();
        Ok(all)
    })
}

fn row(i: u64, version: u64) -> Rows {
    (0..KEYS_PER_ROW)
        .map(|part| (key(i, part), value(i, version)))
        .collect()
}

fn key(i: u64, part: u64) -> Vec<u8> {
    format!("table/{part}/{:016x}/{i:012}", mix(i * KEYS_PER_ROW + part)).into_bytes()
}

/// Text that does not shrink much when it is compressed, as identifiers and times do not.
fn value(i: u64, version: u64) -> Vec<u8> {
    let mut value = Vec::with_capacity(VALUE_BYTES + 16);
    let mut word = mix(i ^ (version << 32));
    while value.len() < VALUE_BYTES {
        value.extend_from_slice(format!("{word:016x}").as_bytes());
        word = mix(word);
    }
    value.truncate(VALUE_BYTES);
    value
}

fn mix(i: u64) -> u64 {
    let mut mixed = i.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn at(times: &[Duration], share: f64) -> Duration {
    let last = times.len().saturating_sub(1);
    times.get((last as f64 * share) as usize).copied().unwrap_or_default()
}

fn megabytes(folder: &Path) -> Outcome<f64> {
    let mut bytes = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            // A file may be removed meanwhile.
            let Ok(about) = entry.metadata() else { continue };
            if about.is_dir() {
                folders.push(entry.path())
            } else {
                bytes += allocated(&about)
            }
        }
    }
    Ok(bytes as f64 / 1e6)
}

/// What a file takes on the disk, which may be less than its length.
fn allocated(about: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(about) * 512
}

/// A number of a file of the system, in KB where it is in bytes.
fn status_kb(file: &str, name: &str) -> Outcome<f64> {
    let text = std::fs::read_to_string(file)?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    number.ok_or_else(|| Failure(format!("`{file}` has no `{name}`")))
}

fn peak_megabytes() -> Outcome<f64> {
    Ok(status_kb("/proc/self/status", "VmHWM:")? / 1024.0)
}

fn cpu_seconds() -> Outcome<f64> {
    const TICKS_PER_SECOND: f64 = 100.0;
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let after_name = text.rsplit(')').next().unwrap_or_default();
    let field = |index: usize| {
        after_name
            .split_whitespace()
            .nth(index)
            .and_then(|text| text.parse::<f64>().ok())
    };
    match (field(11), field(12)) {
        (Some(user), Some(system)) => Ok((user + system) / TICKS_PER_SECOND),
        _ => Err(Failure(
            "the system does not say how long the processor was used".to_owned(),
        )),
    }
}
