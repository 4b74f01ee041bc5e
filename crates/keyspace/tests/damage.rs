//! Files that are not what was written: refused with what and where, or, at the torn end of the log, cut.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop"
)]

mod common;

use common::{Model, commit, open_and_check};
use singlet_keyspace::disk::{Disk, SyncPoint};
use singlet_keyspace::simulated::SimulatedDisk;
use singlet_keyspace::{Keyspace, Options};
use std::sync::Arc;

/// The log of `commits` commits, none of which is in the base, and where each begins.
fn logged(commits: usize) -> (SimulatedDisk, String, Vec<u64>) {
    let disk = SimulatedDisk::default();
    let space = Keyspace::open_on(Arc::new(disk.clone()), Options::default()).unwrap();
    let name = disk
        .names()
        .unwrap()
        .into_iter()
        .find(|name| name.starts_with("log."))
        .unwrap();
    let file = disk.open(&name).unwrap();
    let mut begins = vec![file.len().unwrap()];
    for _ in 0..commits {
        commit(&space).unwrap();
        begins.push(file.len().unwrap());
    }
    drop(space);
    (disk, name, begins)
}

fn flip(disk: &SimulatedDisk, name: &str, at: u64) {
    let file = disk.next_process().open(name).unwrap();
    let mut byte = [0];
    file.read_at(at, &mut byte).unwrap();
    file.write_at(at, &[byte[0] ^ 0x10]).unwrap();
}

#[test]
fn a_flipped_bit_is_refused_unless_it_is_in_the_last_commit() {
    let mut model = Model::default();
    let (disk, name, begins) = logged(5);
    let (last, end) = (begins[4], begins[5]);
    for at in 0..end {
        flip(&disk, &name, at);
        let opened = Keyspace::open_on(Arc::new(disk.next_process()), Options::default());
        match opened {
            Err(error) => {
                assert!(error.is_damaged() && error.to_string().contains(&name), "{error}");
                assert!(at < last, "byte {at}: {error}");
                flip(&disk, &name, at);
            }
            Ok(space) => {
                assert!(at >= last, "byte {at} is not missed");
                assert_eq!(space.snapshot().number(), 4);
                model.check(&space.snapshot()).unwrap();
                return;
            }
        }
    }
    panic!("the last commit was never cut");
}

#[test]
fn a_log_that_ends_anywhere_ends_with_its_last_whole_commit() {
    let mut model = Model::default();
    let (disk, name, begins) = logged(4);
    for end in (begins[0]..=begins[4]).rev() {
        disk.next_process().open(&name).unwrap().set_len(end).unwrap();
        let space = Keyspace::open_on(Arc::new(disk.next_process()), Options::default()).unwrap();
        let whole = begins.iter().filter(|begin| **begin <= end).count() as u64 - 1;
        assert_eq!(space.snapshot().number(), whole, "cut at {end}");
        model.check(&space.snapshot()).unwrap();
    }
}

#[test]
fn garbage_after_the_end_is_cut() {
    let (disk, name, begins) = logged(3);
    let file = disk.open(&name).unwrap();
    file.write_at(begins[3], &[0; 700]).unwrap();
    file.write_at(begins[3] + 900, b"frm!frm!garbage").unwrap();
    let space = open_and_check(disk.next_process(), 3, &mut Model::default()).unwrap();
    commit(&space).unwrap();
    drop(space);
    open_and_check(disk.next_process(), 4, &mut Model::default()).unwrap();
}

/// A value may hold the bytes of a log: behind a torn frame they are no later commit.
#[test]
fn a_value_that_looks_like_a_log_is_none() {
    let (other, name, _) = logged(3);
    let file = other.open(&name).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(0, &mut bytes).unwrap();
    let (disk, name, begins) = logged(1);
    let space = Keyspace::open_on(Arc::new(disk.next_process()), Options::default()).unwrap();
    common::block_on(space.commit(move |draft| draft.put_row(*b"a log", bytes))).unwrap();
    drop(space);
    flip(&disk, &name, begins[1] + 5);
    open_and_check(disk.next_process(), 1, &mut Model::default()).unwrap();
}

#[test]
fn what_is_missing_is_said() {
    for (missing, said) in [
        ("log.", "no log"),
        ("base.", "no base"),
        ("keyspace", "without `keyspace`"),
    ] {
        let (disk, ..) = logged(2);
        let name = disk
            .names()
            .unwrap()
            .into_iter()
            .find(|name| name.starts_with(missing))
            .unwrap();
        disk.remove(&name).unwrap();
        let error = Keyspace::open_on(Arc::new(disk.next_process()), Options::default()).unwrap_err();
        assert!(error.is_damaged() && error.to_string().contains(said), "{error}");
    }
}

#[test]
fn a_segment_that_is_missing_in_between_is_said() {
    let disk = SimulatedDisk::default();
    let space = Keyspace::open_on(Arc::new(disk.clone()), Options::default()).unwrap();
    commit(&space).unwrap();
    space.checkpoint().unwrap();
    commit(&space).unwrap();
    drop(space);
    disk.rename("log.0000000000000002", "log.0000000000000004").unwrap();
    let error = Keyspace::open_on(Arc::new(disk.next_process()), Options::default()).unwrap_err();
    assert!(error.is_damaged() && error.to_string().contains("commit 2"), "{error}");
}

#[test]
fn a_newer_format_is_refused_with_a_way_out() {
    let (disk, ..) = logged(2);
    disk.remove("keyspace").unwrap();
    let file = disk.create("keyspace").unwrap();
    file.write_at(0, b"singlet keyspace 2\n").unwrap();
    file.sync(SyncPoint::FormatCreated).unwrap();
    let error = Keyspace::open_on(Arc::new(disk.next_process()), Options::default()).unwrap_err();
    assert!(
        error.is_newer() && error.help().unwrap().contains("newer one"),
        "{error}"
    );
}

#[test]
fn an_unfinished_copy_is_not_an_empty_space() {
    let (disk, ..) = logged(20);
    let space = Keyspace::open_on(Arc::new(disk.next_process()), Options::default()).unwrap();
    let whole = SimulatedDisk::default();
    assert_eq!(space.backup_on(&whole).unwrap(), 20);
    open_and_check(whole.next_process(), 20, &mut Model::default()).unwrap();
    let mut finished = 0;
    for changes in 1.. {
        let copy = SimulatedDisk::default();
        copy.die_after(changes);
        let copied = space.backup_on(&copy).is_ok();
        match Keyspace::open_on(Arc::new(copy.next_process()), Options::default()) {
            Ok(opened) => {
                assert!(
                    copied || opened.snapshot().number() == 20,
                    "a copy that died after {changes} changes"
                );
                finished += 1;
            }
            Err(error) => assert!(error.is_damaged() && !copied, "{error}"),
        }
        if copied {
            break;
        }
    }
    assert!(finished > 0);
}

/// The engine beneath does not hold pages against their checksums at every read, so a flipped bit in a row may be read. But
/// whatever it finds, nobody panics.
#[test]
fn a_base_that_is_not_what_was_written_is_an_error_or_another_row() {
    common::expect_panics_beneath();
    let disk = SimulatedDisk::default();
    let space = Keyspace::open_on(Arc::new(disk.clone()), common::small()).unwrap();
    for _ in 0..60 {
        commit(&space).unwrap();
    }
    space.close().unwrap();
    let mut refused = 0;
    for page in 0..160_u64 {
        let disk = disk.copy_files();
        let file = disk.open("base.0000000000000000").unwrap();
        let garbage = vec![0x5a; 700];
        let at = page * 4096 + 3;
        if at + 700 > file.len().unwrap() {
            break;
        }
        file.write_at(at, &garbage).unwrap();
        let Ok(space) = Keyspace::open_on(Arc::new(disk.clone()), common::small()) else {
            refused += 1;
            continue;
        };
        let snapshot = space.snapshot();
        let read = snapshot
            .range(.., singlet_keyspace::Direction::Forward)
            .find_map(Result::err);
        refused += u64::from(read.is_some());
        let _ = snapshot.get(b"number");
        let _ = commit(&space);
        let _ = space.checkpoint();
    }
    assert!(refused > 0);
}

/// Who looks at a folder changes nothing in it, finds each page that is not what was written, and meets who has it open.
#[test]
fn a_folder_is_looked_at_without_a_change() {
    common::expect_panics_beneath();
    let folder = common::Temporary::new("inspected");
    let files = || {
        let mut files: Vec<_> = std::fs::read_dir(&folder.0)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.clone(), std::fs::read(path).unwrap()))
            .collect();
        files.sort();
        files
    };
    assert!(Keyspace::open_to_inspect(&folder.0, common::small()).is_err());
    let space = Keyspace::open(&folder.0, common::small()).unwrap();
    for _ in 0..200 {
        commit(&space).unwrap();
    }
    assert!(
        Keyspace::open_to_inspect(&folder.0, common::small())
            .unwrap_err()
            .is_locked()
    );
    // As a kill leaves it, with a torn end.
    drop(space);
    let log = files()
        .into_iter()
        .rfind(|(path, _)| path.to_str().unwrap().contains("log."));
    let (path, mut bytes) = log.unwrap();
    bytes.extend([7; 90]);
    std::fs::write(path, bytes).unwrap();
    let before = files();
    let seen = Keyspace::open_to_inspect(&folder.0, common::small()).unwrap();
    Model::default().check(&seen.snapshot()).unwrap();
    assert_eq!(seen.snapshot().number(), 200);
    commit(&seen).unwrap();
    seen.compact().unwrap();
    Model::default().check(&seen.snapshot()).unwrap();
    drop(seen);
    assert!(before == files(), "something was changed");
    let (base, whole) = before
        .iter()
        .find(|(path, _)| path.to_str().unwrap().contains("base."))
        .unwrap();
    // A page within a row's value: its opening does not see that.
    let mut found = 0;
    for page in 1..whole.len() / 4096 {
        let mut bytes = whole.clone();
        bytes[page * 4096 + 2000] ^= 1;
        std::fs::write(base, &bytes).unwrap();
        let looked_at = Keyspace::open_to_inspect(&folder.0, common::small());
        if let Err(error) = looked_at {
            assert!(error.is_damaged(), "{error}");
            found += 1;
        }
        assert!(std::fs::read(base).unwrap() == bytes);
    }
    assert!(found > 3, "{found} pages found");
}
