//! Whoever writes a lake may end between any two of its steps, and others may write at the same time.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use serde_json::json;

use super::support::{Folder, MODEL, Shop, assert_alike, current_rows, item, lake_ids, replayed};
use crate::data_file::rows_of_file;
use crate::layout::MISFITS;
use crate::table_log::TableLog;
use crate::{FileEntry, Lake, LakeFiles, LocalFiles};

/// Files of a process that ends with one of its steps: before it is done, or after, when nobody is told any more.
pub(super) struct EndingFiles {
    pub(super) files: Arc<dyn LakeFiles>,
    pub(super) steps_left: AtomicUsize,
    pub(super) is_done_last: bool,
}

/// Whether the process is there at the beginning of a step, and at its end.
pub(super) struct StepLife {
    pub(super) begins: bool,
    pub(super) ends: bool,
}

impl EndingFiles {
    /// Takes the next step.
    pub(super) fn next_step(&self) -> StepLife {
        let fewer = |left: usize| Some(left.saturating_sub(1));
        let left = self
            .steps_left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
        let left = left.unwrap_or_default();
        StepLife {
            begins: left > 1 || left == 1 && self.is_done_last,
            ends: left > 1,
        }
    }

    fn step<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let life = self.next_step();
        let done = life.begins.then(work).transpose()?;
        done.filter(|_| life.ends)
            .ok_or_else(|| io::Error::other("the process has ended"))
    }

    pub(super) fn is_ended(&self) -> bool {
        self.steps_left.load(Ordering::Relaxed) == 0
    }

    fn look<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match self.is_ended() {
            true => Err(io::Error::other("the process has ended")),
            false => work(),
        }
    }
}

impl LakeFiles for EndingFiles {
    fn put_new(&self, path: &str, bytes: &[u8]) -> io::Result<bool> {
        self.step(|| self.files.put_new(path, bytes))
    }

    fn put_over(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.step(|| self.files.put_over(path, bytes))
    }

    fn get(&self, path: &str) -> io::Result<Option<Bytes>> {
        self.look(|| self.files.get(path))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<FileEntry>> {
        self.look(|| self.files.list(folder))
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.step(|| self.files.remove(path))
    }
}

/// A write of some row, drawn.
pub(super) async fn write_something(shop: &Shop, random: &mut fastrand::Rng) {
    let id = random.u8(0..12).to_string();
    match random.u8(0..8) {
        0 => shop.delete("Task", &id).await,
        1 => {
            let note = json!({"text": {"S": random.u32(..).to_string()}});
            shop.put(item("Note", &id, note)).await;
        }
        2 => shop.delete("Note", &id).await,
        _ => {
            let attributes = json!({
                "title": {"S": random.u32(..).to_string()},
                "count": {"N": random.u8(0..100).to_string()},
                "price": {"N": "1.25"},
                "tags": {"SS": [random.u8(0..3).to_string()]},
            });
            shop.put(item("Task", &id, attributes)).await;
        }
    }
}

/// Every version of a table that can be read has all its files.
pub(super) fn assert_versions_readable(files: &dyn LakeFiles, name: &str) {
    let newest = TableLog::load_log(files, name).unwrap();
    let Some(version) = newest.version else { return };
    let mut table = TableLog::default();
    table.name = name.to_owned();
    let mut known = BTreeSet::new();
    for version in 0..=version {
        assert!(table.read_version(files, version).unwrap(), "{name}: {version}");
        for path in table.files.keys().filter(|path| known.insert((*path).clone())) {
            let path = format!("{name}/{path}");
            let bytes = files.get(&path).unwrap().unwrap_or_else(|| panic!("{path} is gone"));
            rows_of_file(&table.columns, bytes).unwrap();
        }
    }
}

#[tokio::test]
async fn a_process_may_end_at_any_step() {
    let (shop, folder) = (Shop::open(MODEL).await, Folder::new());
    let files = folder.files();
    let mut random = fastrand::Rng::with_seed(11);
    let (mut kills, mut round, mut compacted) = (0, 0_usize, 0);
    // The lake begins with an empty table, so that every change must be found in it. Its beginning is killed, too.
    while kills < 320 {
        let ending = Arc::new(EndingFiles {
            files: files.clone(),
            steps_left: AtomicUsize::new(1 + round % 26),
            is_done_last: (round / 26).is_multiple_of(2),
        });
        let mut follower = shop.follower(ending.clone());
        let mut ended = shop.follow(&mut follower).await.is_err();
        if !ended && round > 26 {
            for _ in 0..random.usize(1..6) {
                write_something(&shop, &mut random).await;
            }
            ended = shop.follow(&mut follower).await.is_err();
            if !ended {
                let tidied = follower.tidy(shop.now()).await;
                compacted += tidied.as_ref().map_or(0, |tidied| tidied.compacted_files);
                ended = tidied.is_err();
            }
        }
        assert_eq!(ended, ending.is_ended(), "round {round}");
        kills += usize::from(ended);
        round += 1;
        if round.is_multiple_of(40) {
            shop.follow(&mut shop.follower(files.clone())).await.unwrap();
            for entity in ["Task", "Note"] {
                assert_alike(&shop, files.as_ref(), entity).await;
            }
        }
    }
    shop.follow(&mut shop.follower(files.clone())).await.unwrap();
    for entity in ["Task", "Note"] {
        assert_alike(&shop, files.as_ref(), entity).await;
    }
    for name in ["Task", "Task_changes", "Note", "Note_changes", MISFITS] {
        assert_versions_readable(files.as_ref(), name);
    }
    assert!(compacted > 0, "nothing was put together");
    let table = TableLog::load_log(files.as_ref(), "Task_changes").unwrap();
    assert!(!table.checkpoint_versions(files.as_ref()).unwrap().is_empty());
}

#[tokio::test]
async fn a_vacuum_may_end_at_any_step() {
    let (shop, folder) = (Shop::open(MODEL).await, Folder::new());
    let files = folder.files();
    let mut random = fastrand::Rng::with_seed(23);
    let (mut kills, mut round) = (0, 0_usize);
    while kills < 60 {
        let mut follower = shop.follower(files.clone());
        for _ in 0..3 {
            write_something(&shop, &mut random).await;
            shop.follow(&mut follower).await.unwrap();
        }
        if round.is_multiple_of(5) {
            follower.tidy(shop.now()).await.unwrap();
        }
        let ending = Arc::new(EndingFiles {
            files: files.clone(),
            steps_left: AtomicUsize::new(1 + round % 8),
            is_done_last: (round / 8).is_multiple_of(2),
        });
        // Nothing of before is kept: all that is in no table goes.
        let lake = Lake::open(ending, Arc::clone(&shop.model), &[], shop.now());
        kills += usize::from(lake.and_then(|mut lake| lake.vacuum(i64::MAX)).is_err());
        round += 1;
        if round.is_multiple_of(10) {
            for entity in ["Task", "Note"] {
                let scanned = shop.scanned(entity, files.as_ref()).await;
                assert_eq!(current_rows(files.as_ref(), entity), scanned);
                assert_eq!(replayed(files.as_ref(), entity).len(), scanned.len());
            }
        }
    }
    let mut lake = Lake::open(files.clone(), Arc::clone(&shop.model), &[], shop.now()).unwrap();
    lake.vacuum(i64::MAX).unwrap();
    for name in ["Task", "Task_changes"] {
        let there = files.list(name).unwrap().into_iter().map(|entry| entry.name);
        let known = TableLog::load_log(files.as_ref(), name).unwrap().files.into_keys();
        assert_eq!(there.collect::<BTreeSet<_>>(), known.collect::<BTreeSet<_>>(), "{name}");
    }
}

#[tokio::test]
async fn two_may_write_at_once() {
    let (shop, folder) = (Shop::open(MODEL).await, Folder::new());
    let files = folder.files();
    let mut random = fastrand::Rng::with_seed(5);
    shop.follow(&mut shop.follower(files.clone())).await.unwrap();
    let mut followers = [shop.follower(files.clone()), shop.follower(files.clone())];
    let mut overtaken = 0;
    for _ in 0..300 {
        write_something(&shop, &mut random).await;
        let follower = &mut followers[random.usize(0..2)];
        for _ in 0..random.usize(1..4) {
            match follower.follow_page(&|| shop.now()).await {
                Ok(_) => {}
                Err(error) if error.is_overtaken() => overtaken += 1,
                Err(error) => panic!("{error}"),
            }
        }
    }
    assert!(overtaken > 10, "{overtaken}");
    shop.follow(&mut shop.follower(files.clone())).await.unwrap();
    for entity in ["Task", "Note"] {
        assert_alike(&shop, files.as_ref(), entity).await;
    }
    for name in ["Task", "Task_changes", "Note", "Note_changes"] {
        assert_versions_readable(files.as_ref(), name);
    }
}

/// Files that let another process write just before something is put.
struct SleepingFiles {
    files: Arc<LocalFiles>,
    awake: std::sync::Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl LakeFiles for SleepingFiles {
    fn put_new(&self, path: &str, bytes: &[u8]) -> io::Result<bool> {
        if path.starts_with("_batches/")
            && let Some(meanwhile) = self.awake.lock().unwrap().take()
        {
            meanwhile();
        }
        self.files.put_new(path, bytes)
    }

    fn put_over(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.files.put_over(path, bytes)
    }

    fn get(&self, path: &str) -> io::Result<Option<Bytes>> {
        self.files.get(path)
    }

    fn list(&self, folder: &str) -> io::Result<Vec<FileEntry>> {
        self.files.list(folder)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.files.remove(path)
    }
}

#[tokio::test]
async fn whoever_slept_while_batches_went_by_and_were_removed_writes_nothing() {
    let (shop, folder) = (Shop::open(MODEL).await, Folder::new());
    let files = folder.files();
    shop.follow(&mut shop.follower(files.clone())).await.unwrap();
    let sleeping = Arc::new(SleepingFiles {
        files: files.clone(),
        awake: std::sync::Mutex::new(None),
    });
    let mut late = shop.follower(sleeping.clone());
    shop.follow(&mut late).await.unwrap();
    shop.put(item("Note", "1", json!({"text": {"S": "a"}}))).await;
    let (model, meanwhile) = (Arc::clone(&shop.model), files.clone());
    let position = Lake::open(files.clone(), model.clone(), &[], shop.now())
        .unwrap()
        .told_position()
        .unwrap();
    let now = shop.now();
    *sleeping.awake.lock().unwrap() = Some(Box::new(move || {
        let mut lake = Lake::open(meanwhile, model, &[], now).unwrap();
        // As many as are kept, and then some: the number that the sleeper puts is free again.
        for _ in 0..150 {
            lake.note_position(&position, now).unwrap();
        }
        lake.vacuum(0).unwrap();
    }));
    let error = loop {
        if let Err(error) = late.follow_page(&|| shop.now()).await {
            break error;
        }
    };
    assert!(error.is_overtaken(), "{error}");
    assert!(lake_ids(files.as_ref(), "Note").is_empty());
    shop.follow(&mut shop.follower(files.clone())).await.unwrap();
    assert_alike(&shop, files.as_ref(), "Note").await;
}
