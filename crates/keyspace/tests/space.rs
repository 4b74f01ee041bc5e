//! What a space answers, held against a plain map.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop"
)]

use singlet_keyspace::simulated::SimulatedDisk;
use singlet_keyspace::{Direction, Draft, Error, Keyspace, Options, Snapshot};
use std::ops::Bound;
use std::sync::Arc;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

fn put(space: &Keyspace, key: &str, value: &str) {
    let (key, value) = (key.as_bytes().to_vec(), value.as_bytes().to_vec());
    block_on(space.commit(move |draft| draft.put_row(key, value))).unwrap();
}

fn rows(snapshot: &Snapshot, direction: Direction) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let row = |row: singlet_keyspace::Result<_>| {
        let (key, value): (singlet_keyspace::Key, singlet_keyspace::Value) = row.unwrap();
        format!("{}={}", text(&key), text(&value))
    };
    snapshot.range(.., direction).map(row).collect()
}

#[test]
fn a_snapshot_keeps_what_it_shows() {
    let space = Keyspace::in_memory();
    put(&space, "a", "1");
    let before = space.snapshot();
    put(&space, "a", "2");
    put(&space, "b", "3");
    assert_eq!(rows(&before, Direction::Forward), ["a=1"]);
    assert_eq!(rows(&space.snapshot(), Direction::Forward), ["a=2", "b=3"]);
    assert_eq!(rows(&space.snapshot(), Direction::Backward), ["b=3", "a=2"]);
    assert_eq!((before.number(), space.snapshot().number()), (1, 3));
}

#[test]
fn a_refused_work_leaves_nothing() {
    let space = Keyspace::in_memory();
    put(&space, "a", "1");
    let refused = block_on(space.commit(|draft: &mut Draft<'_>| -> Result<(), Error> {
        draft.put_row(*b"a", *b"2")?;
        draft.delete_row(*b"a")?;
        draft.put_row(vec![0; 40_000], *b"too large")
    }));
    assert!(refused.unwrap_err().is_too_large());
    assert_eq!(rows(&space.snapshot(), Direction::Forward), ["a=1"]);
    assert_eq!(space.snapshot().number(), 1);
}

#[test]
fn a_refusal_that_a_work_overlooks_is_not_committed() {
    let space = Keyspace::in_memory();
    let overlooked = block_on(space.commit(|draft: &mut Draft<'_>| -> Result<(), Error> {
        draft.put_row(*b"a", *b"1")?;
        let _ = draft.put_row(vec![0; 40_000], *b"too large");
        Ok(())
    }));
    assert!(overlooked.unwrap_err().is_too_large());
    assert_eq!(space.snapshot().number(), 0);
}

#[test]
fn a_panic_concerns_its_own_work_only() {
    let space = Keyspace::in_memory();
    let panicked = block_on(space.commit(|draft: &mut Draft<'_>| -> Result<(), Error> {
        draft.put_row(*b"a", *b"1")?;
        panic!("on purpose")
    }));
    assert!(panicked.unwrap_err().to_string().contains("on purpose"));
    put(&space, "b", "2");
    assert_eq!(rows(&space.snapshot(), Direction::Forward), ["b=2"]);
}

#[test]
fn a_work_sees_its_own_changes_in_order() {
    let space = Keyspace::in_memory();
    for key in ["a", "c", "e"] {
        put(&space, key, "old");
    }
    let seen = block_on(space.commit(|draft: &mut Draft<'_>| -> Result<_, Error> {
        draft.put_row(*b"b", *b"new")?;
        draft.put_row(*b"c", *b"new")?;
        draft.delete_row(*b"e")?;
        let keys = |direction| {
            draft
                .range(.., direction)
                .map(|row| row.unwrap().0.to_vec())
                .collect::<Vec<_>>()
        };
        Ok((
            keys(Direction::Forward).concat(),
            keys(Direction::Backward).concat(),
            draft.get(b"c")?.unwrap().to_vec(),
            draft.number(),
        ))
    }));
    assert_eq!(seen.unwrap(), (b"abc".to_vec(), b"cba".to_vec(), b"new".to_vec(), 4));
}

#[test]
fn a_work_that_changes_nothing_has_no_number() {
    let space = Keyspace::in_memory();
    put(&space, "a", "1");
    block_on(space.commit(|draft: &mut Draft<'_>| draft.get(b"a").map(|_| ()))).unwrap();
    assert_eq!(space.snapshot().number(), 1);
}

#[test]
fn bounds_are_as_they_say() {
    let space = Keyspace::in_memory();
    for key in ["a", "b", "c", "d"] {
        put(&space, key, "");
    }
    let snapshot = space.snapshot();
    let between = |from: Bound<&'static [u8]>, to: Bound<&'static [u8]>| {
        let forward: Vec<_> = snapshot
            .range((from, to), Direction::Forward)
            .map(|row| row.unwrap().0[0])
            .collect();
        let mut backward: Vec<_> = snapshot
            .range((from, to), Direction::Backward)
            .map(|row| row.unwrap().0[0])
            .collect();
        backward.reverse();
        assert_eq!(forward, backward);
        String::from_utf8(forward).unwrap()
    };
    use Bound::{Excluded, Included, Unbounded};
    assert_eq!(between(Included(b"b"), Included(b"c")), "bc");
    assert_eq!(between(Excluded(b"b"), Included(b"c")), "c");
    assert_eq!(between(Included(b"b"), Excluded(b"b")), "");
    assert_eq!(between(Excluded(b"b"), Excluded(b"b")), "");
    assert_eq!(between(Included(b"b"), Included(b"b")), "b");
    assert_eq!(between(Included(b"c"), Included(b"a")), "");
    assert_eq!(between(Unbounded, Excluded(b"bb")), "ab");
    assert_eq!(between(Included(b"bb"), Unbounded), "cd");
}

#[test]
fn a_work_may_hand_in_another() {
    let space = Keyspace::in_memory();
    let again = space.clone();
    let second = block_on(space.commit(move |draft: &mut Draft<'_>| -> Result<_, Error> {
        draft.put_row(*b"a", *b"1")?;
        Ok(again.commit(|draft: &mut Draft<'_>| draft.put_row(*b"b", *b"2")))
    }));
    block_on(second.unwrap()).unwrap();
    assert_eq!(rows(&space.snapshot(), Direction::Forward), ["a=1", "b=2"]);
}

#[test]
fn more_than_the_queue_takes_is_refused() {
    let mut options = Options::default();
    options.queue_works_max = 2;
    let space = Keyspace::in_memory_with(&options);
    let inner = space.clone();
    let answers = block_on(space.commit(move |_: &mut Draft<'_>| -> Result<_, Error> {
        let one = |key: u8| inner.commit(move |draft: &mut Draft<'_>| draft.put_row([key], *b""));
        Ok([one(1), one(2), one(3)])
    }));
    let [first, second, third] = answers.unwrap();
    block_on(first).unwrap();
    block_on(second).unwrap();
    assert!(block_on(third).unwrap_err().is_busy());
}

#[test]
fn more_bytes_than_the_queue_takes_are_refused_but_one_work_is_not() {
    let mut options = Options::default();
    options.queue_bytes_max = 100;
    let space = Keyspace::in_memory_with(&options);
    let inner = space.clone();
    let answers = block_on(space.commit(move |_: &mut Draft<'_>| -> Result<_, Error> {
        let one = |bytes: usize| inner.commit_weighing(bytes, |draft: &mut Draft<'_>| draft.put_row(*b"a", *b""));
        Ok([one(60), one(40), one(1)])
    }));
    let [first, second, third] = answers.unwrap();
    block_on(first).unwrap();
    block_on(second).unwrap();
    assert!(block_on(third).unwrap_err().is_busy());
    block_on(space.commit_weighing(1_000, |draft: &mut Draft<'_>| draft.put_row(*b"b", *b""))).unwrap();
}

#[test]
fn a_work_that_changes_nothing_does_not_wait_for_the_disk() {
    let disk = SimulatedDisk::default();
    let space = Keyspace::open_on(Arc::new(disk.clone()), Options::default()).unwrap();
    put(&space, "a", "1");
    let before = disk.power_point();
    let refused = block_on(space.commit(|draft: &mut Draft<'_>| -> Result<(), Error> {
        draft.put_row(*b"a", *b"2")?;
        draft.put_row(vec![0; 40_000], *b"too large")
    }));
    assert!(refused.unwrap_err().is_too_large());
    block_on(space.commit(|draft: &mut Draft<'_>| draft.get(b"a").map(drop))).unwrap();
    assert_eq!(disk.power_point(), before);
    put(&space, "a", "3");
    assert!(disk.power_point() > before);
}

#[test]
fn commits_of_many_threads_are_all_there() {
    let space = Keyspace::in_memory();
    std::thread::scope(|scope| {
        for thread in 0..8_u8 {
            let space = &space;
            scope.spawn(move || {
                for i in 0..200_u8 {
                    block_on(space.commit(move |draft: &mut Draft<'_>| -> Result<(), Error> {
                        let count = draft
                            .get(b"count")?
                            .map_or(0, |count| u64::from_be_bytes((*count).try_into().unwrap()));
                        draft.put_row(*b"count", (count + 1).to_be_bytes())?;
                        draft.put_row([thread, i], *b"")
                    }))
                    .unwrap();
                }
            });
        }
    });
    let snapshot = space.snapshot();
    assert_eq!(*snapshot.get(b"count").unwrap().unwrap(), 1_600_u64.to_be_bytes());
    assert_eq!(
        (snapshot.number(), snapshot.range(.., Direction::Forward).count()),
        (1_600, 1_601)
    );
}
