//! Commits that follow from their number, so that every state has one right answer.
#![allow(dead_code, reason = "not every test uses all of it")]

use singlet_keyspace::disk::Disk;
use singlet_keyspace::simulated::Random;
use singlet_keyspace::{Direction, Draft, Error, Keyspace, Options, Snapshot};
use std::collections::BTreeMap;
use std::sync::Arc;

pub type Row = (Vec<u8>, Arc<[u8]>);
pub type Rows = BTreeMap<Vec<u8>, Arc<[u8]>>;

pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

/// So small that there is a checkpoint every few commits, and that the base is read from its file.
pub fn small() -> Options {
    let mut options = Options::default();
    options.memory_bytes = 6_000;
    options.cache_bytes = 32 << 10;
    options.room_pause = std::time::Duration::from_millis(1);
    options
}

/// What commit `number` changes: a few small rows, and rarely a large one, so that files grow.
pub fn changes(number: u64) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let mut random = Random(number.wrapping_mul(0x1234_5678_9abc_def1));
    let mut changes = Vec::new();
    for _ in 0..=random.number_below(5) {
        let key = format!("key {:02}", random.number_below(60)).into_bytes();
        let value = vec![number as u8; random.number_below(200) as usize];
        changes.push((key, (random.number_below(4) > 0).then_some(value)));
    }
    if random.number_below(20) == 0 {
        let key = format!("large {:02}", random.number_below(30)).into_bytes();
        changes.push((
            key,
            Some(vec![number as u8; 50_000 + random.number_below(100_000) as usize]),
        ));
    }
    changes.push((b"number".to_vec(), Some(number.to_be_bytes().to_vec())));
    changes
}

/// Makes the next commit, whichever it is.
pub fn commit(space: &Keyspace) -> Result<u64, Error> {
    block_on(space.commit(|draft: &mut Draft<'_>| {
        for (key, value) in changes(draft.number()) {
            match value {
                Some(value) => draft.put_row(key, value)?,
                None => draft.delete_row(key)?,
            }
        }
        Ok(draft.number())
    }))
}

/// The states after each commit, of which some are kept and the others made again.
#[derive(Default)]
pub struct Model {
    kept: Vec<Rows>,
}

impl Model {
    pub fn rows(&mut self, number: u64) -> Rows {
        const APART: u64 = 64;
        while (self.kept.len() as u64) <= number / APART {
            let next = match self.kept.last() {
                Some(last) => after(last.clone(), (self.kept.len() as u64 - 1) * APART, APART),
                None => Rows::new(),
            };
            self.kept.push(next);
        }
        after(
            self.kept[(number / APART) as usize].clone(),
            number / APART * APART,
            number % APART,
        )
    }

    /// Whether a snapshot shows exactly what its number says, read in both directions.
    pub fn check(&mut self, snapshot: &Snapshot) -> Result<(), String> {
        let number = snapshot.number();
        let expected = self.rows(number);
        let forward = rows(snapshot, Direction::Forward)?;
        let mut backward = rows(snapshot, Direction::Backward)?;
        backward.reverse();
        if forward != backward {
            return Err(format!("commit {number} differs when read backwards"));
        }
        if forward.into_iter().collect::<Rows>() != expected {
            return Err(format!("commit {number} does not show what it made"));
        }
        Ok(())
    }
}

/// The rows that `commits` commits after commit `number` make of `rows`.
fn after(mut rows: Rows, number: u64, commits: u64) -> Rows {
    for number in number + 1..=number + commits {
        for (key, value) in changes(number) {
            match value {
                Some(value) => rows.insert(key, value.into()),
                None => rows.remove(&key),
            };
        }
    }
    rows
}

fn rows(snapshot: &Snapshot, direction: Direction) -> Result<Vec<Row>, String> {
    let row = |row: singlet_keyspace::Result<(singlet_keyspace::Key, singlet_keyspace::Value)>| {
        row.map(|(key, value)| (key.to_vec(), value.into_shared()))
            .map_err(|error| error.to_string())
    };
    snapshot.range(.., direction).map(row).collect()
}

/// Opens a space and holds it against the model: at least commit `at_least`, and nothing but whole commits.
pub fn open_and_check(disk: impl Disk, at_least: u64, model: &mut Model) -> Result<Keyspace, String> {
    let space = Keyspace::open_on(Arc::new(disk), small()).map_err(|error| format!("cannot open: {error}"))?;
    let snapshot = space.snapshot();
    if snapshot.number() < at_least {
        return Err(format!(
            "commit {at_least} was answered, and only {} is there",
            snapshot.number()
        ));
    }
    model.check(&snapshot)?;
    Ok(space)
}

/// A folder for one test, removed in the end.
pub struct Temporary(pub std::path::PathBuf);

impl Temporary {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("singlet-keyspace-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Says nothing of panics in the engine beneath: what it finds in a broken file is caught, and refused.
pub fn expect_panics_beneath() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|place| place.file().contains("redb")) {
            usual(panic);
        }
    }));
}

/// A number of the environment, for longer runs.
pub fn times(variable: &str, usual: u64) -> u64 {
    std::env::var(variable)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(usual)
}
