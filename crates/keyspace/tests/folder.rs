//! A space in a folder of the file system: one process, its owner's alone, there again after it was closed.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop"
)]

mod common;

use std::sync::mpsc;

use common::{Model, Temporary, commit, small};
use singlet_keyspace::{Keyspace, Options};

#[test]
fn a_space_is_there_again() {
    let folder = Temporary::new("again");
    let mut model = Model::default();
    for round in 1..=4 {
        let space = Keyspace::open(&folder.0, small()).unwrap();
        model.check(&space.snapshot()).unwrap();
        for _ in 0..50 {
            commit(&space).unwrap();
        }
        model.check(&space.snapshot()).unwrap();
        assert_eq!(space.snapshot().number(), round * 50);
        if round % 2 == 0 {
            space.close().unwrap();
        }
    }
}

#[test]
fn a_closed_space_takes_no_more_writes_and_has_all_in_its_base() {
    let folder = Temporary::new("closed");
    let space = Keyspace::open(&folder.0, Options::default()).unwrap();
    commit(&space).unwrap();
    assert!(space.size().unwrap().memory_bytes > 0);
    let other = space.clone();
    space.close().unwrap();
    assert!(commit(&other).unwrap_err().is_stopped());
    assert_eq!(other.snapshot().number(), 1);
    let size = other.size().unwrap();
    assert_eq!(size.memory_bytes, 0);
    assert!(size.log_bytes < 100 && size.base_bytes > 0, "{size:?}");
}

#[test]
fn a_copy_and_a_compaction_while_it_serves() {
    let (folder, copy) = (Temporary::new("copied"), Temporary::new("copy"));
    let mut model = Model::default();
    let space = Keyspace::open(&folder.0, small()).unwrap();
    for _ in 0..300 {
        commit(&space).unwrap();
    }
    let before = space.snapshot();
    std::thread::scope(|scope| {
        scope.spawn(|| (0..100).for_each(|_| assert!(commit(&space).is_ok())));
        space.compact().unwrap();
        let number = space.backup(&copy.0).unwrap();
        assert!((300..=400).contains(&number));
    });
    assert!(space.backup(&copy.0).unwrap_err().to_string().contains("already"));
    model.check(&before).unwrap();
    model.check(&space.snapshot()).unwrap();
    assert_eq!(space.snapshot().number(), 400);
    let restored = Keyspace::open(&copy.0, small()).unwrap();
    model.check(&restored.snapshot()).unwrap();
    commit(&restored).unwrap();
    model.check(&restored.snapshot()).unwrap();
}

#[test]
fn a_compaction_gives_room_back() {
    const STAYS: u32 = 40;
    let folder = Temporary::new("compact");
    let space = Keyspace::open(&folder.0, with_memory(1 << 20)).unwrap();
    // Rows that stay lie everywhere, so that the file cannot be cut by itself.
    put_rows(&space, |_| Some(vec![7; 4_000]));
    put_rows(&space, |key| (key % STAYS == 0).then(|| vec![8; 4_000]));
    let before = space.size().unwrap().base_bytes;
    space.compact().unwrap();
    let after = space.size().unwrap().base_bytes;
    assert!(after * 3 < before, "{before} bytes before, {after} after");
    assert_eq!(
        space.snapshot().range(.., singlet_keyspace::Direction::Forward).count() as u32,
        ROWS / STAYS
    );
}

#[test]
fn a_base_whose_rows_all_change_all_the_time_is_not_kept_several_times() {
    let folder = Temporary::new("rewritten");
    let space = Keyspace::open(&folder.0, with_memory(4 << 20)).unwrap();
    for round in 0..8 {
        put_rows(&space, move |_| Some(vec![round; 1_800]));
    }
    let before = space.size().unwrap().base_bytes;
    space.compact().unwrap();
    let after = space.size().unwrap().base_bytes;
    assert!(before < after * 2, "{before} bytes before, {after} after");
}

const ROWS: u32 = 2_000;

fn with_memory(memory_bytes: usize) -> Options {
    let mut options = Options::default();
    options.memory_bytes = memory_bytes;
    options
}

/// Writes each row, or deletes it, and all of them to the base.
fn put_rows(space: &Keyspace, value: impl Fn(u32) -> Option<Vec<u8>> + Send + 'static) {
    common::block_on(space.commit(move |draft| {
        for key in 0..ROWS {
            match value(key) {
                Some(value) => draft.put_row(key.to_be_bytes(), value)?,
                None => draft.delete_row(key.to_be_bytes())?,
            }
        }
        Ok::<_, singlet_keyspace::Error>(())
    }))
    .unwrap();
    space.checkpoint().unwrap();
}

#[test]
fn a_folder_within_others_that_are_missing_is_made_and_foreign_files_stay() {
    let folder = Temporary::new("nested");
    let inner = folder.0.join("a").join("b");
    let space = Keyspace::open(&inner, Options::default()).unwrap();
    commit(&space).unwrap();
    drop(space);
    std::fs::write(inner.join("notes.new"), "mine").unwrap();
    let space = Keyspace::open(&inner, Options::default()).unwrap();
    assert_eq!(space.snapshot().number(), 1);
    assert_eq!(std::fs::read_to_string(inner.join("notes.new")).unwrap(), "mine");
}

#[test]
fn a_compaction_that_is_asked_for_too_late_is_refused() {
    let folder = Temporary::new("late");
    let space = Keyspace::open(&folder.0, Options::default()).unwrap();
    let other = space.clone();
    std::thread::scope(|scope| {
        let (done, compacted) = mpsc::channel();
        let compacting = &other;
        scope.spawn(move || {
            while compacting.compact().is_ok() {
                // Only the first few are waited for.
                let _ = done.send(());
            }
        });
        compacted.iter().take(3).for_each(drop);
        space.close().unwrap();
    });
    assert!(other.compact().unwrap_err().is_stopped());
}

#[test]
fn one_process_a_folder_whatever_is_removed() {
    let folder = Temporary::new("locked");
    let space = Keyspace::open(&folder.0, Options::default()).unwrap();
    commit(&space).unwrap();
    assert!(Keyspace::open(&folder.0, Options::default()).unwrap_err().is_locked());
    // Without the lock file the other finds the files locked, and this one finds that it is alone no more.
    std::fs::remove_file(folder.0.join("lock")).unwrap();
    assert!(Keyspace::open(&folder.0, Options::default()).unwrap_err().is_locked());
    let error = commit(&space).unwrap_err();
    assert!(
        error.is_paused() && error.to_string().contains("removed or replaced"),
        "{error}"
    );
    assert_eq!(space.snapshot().number(), 1);
}

#[test]
fn a_folder_that_comes_back_is_written_to_again() {
    let (folder, elsewhere) = (Temporary::new("away"), Temporary::new("elsewhere"));
    let space = Keyspace::open(&folder.0, small()).unwrap();
    for _ in 0..60 {
        commit(&space).unwrap();
    }
    common::block_on(space.check_writes()).unwrap();
    std::fs::rename(&folder.0, &elsewhere.0).unwrap();
    let paused = common::block_on(space.check_writes()).unwrap_err();
    assert!(paused.is_paused(), "{paused}");
    assert_eq!(
        paused.told_publicly(),
        Some("the folder of the data was removed or replaced")
    );
    assert!(commit(&space).unwrap_err().is_paused());
    // Nobody else can write to it meanwhile.
    assert!(Keyspace::open(&elsewhere.0, small()).unwrap_err().is_locked());
    std::fs::rename(&elsewhere.0, &folder.0).unwrap();
    for _ in 0..60 {
        commit(&space).unwrap();
    }
    assert_eq!(space.snapshot().number(), 120);
    drop(space);
    let space = Keyspace::open(&folder.0, small()).unwrap();
    Model::default().check(&space.snapshot()).unwrap();
    assert_eq!(space.snapshot().number(), 120);
}

/// Whatever was answered of it is lost, so nothing more is: nothing is made anew.
#[test]
fn a_file_that_is_removed_emptied_or_cut_stops_writes() {
    common::expect_panics_beneath();
    type Damage = fn(&std::path::Path);
    let damage: [(&str, Damage); 6] = [
        ("log.", |file| std::fs::remove_file(file).unwrap()),
        ("log.", |file| std::fs::write(file, "").unwrap()),
        ("log.", |file| cut(file, 3)),
        ("base.", |file| std::fs::remove_file(file).unwrap()),
        ("base.", |file| std::fs::write(file, "").unwrap()),
        // What is cut off its end may be unused; half of it is not.
        ("base.", |file| cut(file, std::fs::metadata(file).unwrap().len() / 2)),
    ];
    for (number, (prefix, damage)) in damage.into_iter().enumerate() {
        let folder = Temporary::new(&format!("damage-{number}"));
        let space = Keyspace::open(&folder.0, Options::default()).unwrap();
        commit(&space).unwrap();
        space.checkpoint().unwrap();
        commit(&space).unwrap();
        let files = std::fs::read_dir(&folder.0).unwrap();
        let file = files
            .map(|entry| entry.unwrap().path())
            .find(|path| path.file_name().unwrap().to_str().unwrap().starts_with(prefix))
            .unwrap();
        damage(&file);
        let listed = || {
            let files = std::fs::read_dir(&folder.0).unwrap();
            let mut files: Vec<_> = files
                .map(|entry| entry.unwrap())
                .map(|entry| (entry.file_name(), entry.metadata().unwrap().len()))
                .collect();
            files.sort();
            files
        };
        let before = listed();
        let stopped = common::block_on(space.check_writes()).unwrap_err();
        assert!(stopped.is_damaged(), "{number}: {stopped}");
        assert_eq!(
            stopped.told_publicly(),
            Some("a file of the data was removed or cut short")
        );
        assert!(!commit(&space).unwrap_err().is_paused());
        assert!(space.checkpoint().is_err());
        assert_eq!(listed(), before, "{number}");
        drop(space);
        // A log that ends early cannot be told from one that a loss of power tore, unless a process knows better; and what was cut
        // off a base may have been unused.
        let opened = Keyspace::open(&folder.0, Options::default()).map(|space| space.snapshot().number());
        match opened {
            Err(error) => assert!(error.is_damaged(), "{number}: {error}"),
            Ok(commits) => assert!(
                (number, commits) == (2, 1) || (number, commits) == (5, 2),
                "{number}: {commits}"
            ),
        }
    }
}

/// A page is looked at when it is needed: a read that meets it says so, and from then on nothing is written over it.
#[cfg(unix)]
#[test]
fn a_page_that_rots_while_it_is_open_stops_writes_once_a_read_meets_it() {
    common::expect_panics_beneath();
    let folder = Temporary::new("rotten");
    let space = Keyspace::open(&folder.0, small()).unwrap();
    for _ in 0..400 {
        commit(&space).unwrap();
    }
    space.checkpoint().unwrap();
    let base = std::fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().path());
    let base = base
        .into_iter()
        .find(|path| path.to_str().unwrap().contains("base."))
        .unwrap();
    let file = std::fs::File::options().write(true).open(base).unwrap();
    // All but the first page, in the length that it has.
    let garbage = vec![0x5a; usize::try_from(file.metadata().unwrap().len()).unwrap() - 4096];
    std::os::unix::fs::FileExt::write_all_at(&file, &garbage, 4096).unwrap();
    common::block_on(space.check_writes()).unwrap();
    let read = space
        .snapshot()
        .range(.., singlet_keyspace::Direction::Forward)
        .find_map(Result::err);
    assert!(read.unwrap().is_damaged());
    let stopped = common::block_on(space.check_writes()).unwrap_err();
    assert_eq!(
        stopped.told_publicly(),
        Some("a file of the data is damaged"),
        "{stopped}"
    );
    assert!(commit(&space).unwrap_err().is_damaged());
}

fn cut(file: &std::path::Path, bytes: u64) {
    let file = std::fs::File::options().write(true).open(file).unwrap();
    file.set_len(file.metadata().unwrap().len() - bytes).unwrap();
}

#[test]
fn a_folder_that_is_made_again_is_not_written_to() {
    let folder = Temporary::new("replaced");
    let space = Keyspace::open(&folder.0, Options::default()).unwrap();
    commit(&space).unwrap();
    std::fs::remove_dir_all(&folder.0).unwrap();
    let other = Keyspace::open(&folder.0, Options::default()).unwrap();
    assert!(commit(&space).unwrap_err().is_paused());
    assert!(space.checkpoint().is_err());
    assert_eq!(commit(&other).unwrap(), 1);
    drop(space);
    commit(&other).unwrap();
    other.checkpoint().unwrap();
    drop(other);
    let other = Keyspace::open(&folder.0, Options::default()).unwrap();
    Model::default().check(&other.snapshot()).unwrap();
    assert_eq!(other.snapshot().number(), 2);
}

#[cfg(unix)]
#[test]
fn files_are_the_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Temporary::new("private");
    let space = Keyspace::open(&folder.0, small()).unwrap();
    for _ in 0..60 {
        commit(&space).unwrap();
    }
    space.compact().unwrap();
    let mut files = 0;
    for entry in std::fs::read_dir(&folder.0).unwrap() {
        let mode = entry.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        files += 1;
    }
    assert!(files >= 4, "{files} files");
}

#[test]
fn a_work_may_hold_the_last_clone() {
    let folder = Temporary::new("last");
    let space = Keyspace::open(&folder.0, Options::default()).unwrap();
    let held = space.clone();
    let (others_are_gone, is_last) = mpsc::channel();
    let answer = space.commit(move |draft| {
        is_last.recv().unwrap();
        drop(held);
        draft.put_row(*b"a", *b"b")
    });
    drop(space);
    others_are_gone.send(()).unwrap();
    common::block_on(answer).unwrap();
}
