//! Reads through all layers (a work's own changes, memory, what is being written, the base), held against a plain map: every
//! kind of bounds, both directions, while checkpoints and compactions go on.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop"
)]

mod common;

use common::block_on;
use singlet_keyspace::simulated::{Random, SimulatedDisk};
use singlet_keyspace::{Direction, Draft, Error, Key, Keyspace, Result, Snapshot, Value};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;
type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// Short keys of few letters, so that many are prefixes of others and bounds lie on and between them; the empty one too.
fn key(random: &mut Random) -> Vec<u8> {
    (0..random.number_below(4))
        .map(|_| [0, b'a', b'b', 0xff][random.number_below(4) as usize])
        .collect()
}

fn bounds(random: &mut Random) -> Bounds {
    let bound = |random: &mut Random| match random.number_below(3) {
        0 => Bound::Included(key(random)),
        1 => Bound::Excluded(key(random)),
        _ => Bound::Unbounded,
    };
    (bound(random), bound(random))
}

fn as_slices(bounds: &Bounds) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (
        bounds.0.as_ref().map(Vec::as_slice),
        bounds.1.as_ref().map(Vec::as_slice),
    )
}

/// By brute force, since a map refuses bounds that are the wrong way around.
fn expected(rows: &Rows, bounds: &Bounds) -> Vec<(Vec<u8>, Vec<u8>)> {
    use std::ops::RangeBounds;
    let within = |(key, _): &(&Vec<u8>, &Vec<u8>)| RangeBounds::<[u8]>::contains(&as_slices(bounds), key.as_slice());
    rows.iter()
        .filter(within)
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn read<'a>(range: impl Iterator<Item = Result<(Key, Value)>> + 'a) -> Vec<(Vec<u8>, Vec<u8>)> {
    range
        .map(|row| row.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap())
        .collect()
}

fn check(
    rows: &Rows,
    random: &mut Random,
    get: impl Fn(&[u8]) -> Option<Vec<u8>>,
    range: impl Fn(&Bounds, Direction) -> Vec<(Vec<u8>, Vec<u8>)>,
) {
    for _ in 0..6 {
        let (key, bounds) = (key(random), bounds(random));
        assert_eq!(get(&key).as_ref(), rows.get(&key));
        let mut expected = expected(rows, &bounds);
        assert_eq!(range(&bounds, Direction::Forward), expected, "{bounds:?}");
        expected.reverse();
        assert_eq!(range(&bounds, Direction::Backward), expected, "{bounds:?}");
    }
}

fn check_snapshot(snapshot: &Snapshot, rows: &Rows, random: &mut Random) {
    let get = |key: &[u8]| snapshot.get(key).unwrap().map(|value| value.to_vec());
    check(rows, random, get, |bounds, direction| {
        read(snapshot.range(as_slices(bounds), direction))
    });
}

fn run(space: &Keyspace, seed: u64, commits: u64) {
    let mut random = Random(seed);
    let mut rows = Rows::new();
    let mut older: Vec<(Snapshot, Rows)> = Vec::new();
    for number in 1..=commits {
        let mut changed = rows.clone();
        let mut changes = Vec::new();
        for _ in 0..=random.number_below(4) {
            let (key, value) = (
                key(&mut random),
                (random.number_below(3) > 0).then(|| number.to_be_bytes().to_vec()),
            );
            match &value {
                Some(value) => changed.insert(key.clone(), value.clone()),
                None => changed.remove(&key),
            };
            changes.push((key, value));
        }
        let refused = random.number_below(4) == 0;
        let (mut within, seen) = (random.clone(), changed.clone());
        let answer = block_on(space.commit(move |draft: &mut Draft<'_>| {
            for (key, value) in changes {
                match value {
                    Some(value) => draft.put_row(key, value)?,
                    None => draft.delete_row(key)?,
                }
            }
            let get = |key: &[u8]| draft.get(key).unwrap().map(|value| value.to_vec());
            check(&seen, &mut within, get, |bounds, direction| {
                read(draft.range(as_slices(bounds), direction))
            });
            if refused { Err(Refused::OnPurpose) } else { Ok(()) }
        }));
        match answer {
            Ok(()) => rows = changed,
            Err(Refused::OnPurpose) => assert!(refused),
            Err(Refused::Failed(error)) => panic!("{error}"),
        }
        check_snapshot(&space.snapshot(), &rows, &mut random);
        if random.number_below(8) == 0 {
            older.push((space.snapshot(), rows.clone()));
        }
        if random.number_below(60) == 0 {
            space.compact().unwrap();
        }
        if older.len() > 4 {
            let (snapshot, rows) = older.remove(0);
            check_snapshot(&snapshot, &rows, &mut random);
        }
    }
}

#[derive(Debug)]
enum Refused {
    OnPurpose,
    Failed(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

#[test]
fn in_memory() {
    run(&Keyspace::in_memory(), 1, 600);
}

#[test]
fn over_a_base() {
    let mut options = common::small();
    options.memory_bytes = 1_500;
    let disk = SimulatedDisk::default();
    for seed in 0..4 {
        let space = Keyspace::open_on(Arc::new(disk.next_process()), options.clone()).unwrap();
        empty(&space);
        run(&space, seed, 300);
    }
}

fn empty(space: &Keyspace) {
    let emptied = space.commit(|draft: &mut Draft<'_>| {
        let keys: Result<Vec<Key>> = draft.range(.., Direction::Forward).map(|row| Ok(row?.0)).collect();
        for key in keys? {
            draft.delete_row(key.into_shared())?;
        }
        Ok::<_, Error>(())
    });
    block_on(emptied).unwrap();
    assert_eq!(space.snapshot().range(.., Direction::Forward).count(), 0);
}
