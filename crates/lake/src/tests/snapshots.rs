//! Snapshots of more rows than are held in memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use serde_json::json;
use singlet_changes::{Beside, ChangeSource, ItemsBeside, KeptPut, ScanItems};
use singlet_item::Item;
use singlet_store::{ErrorKind, StoreError, StreamPage, StreamRequest};
use tokio::sync::Mutex;

use super::kills::{EndingFiles, assert_versions_readable, write_something};
use super::support::{Folder, ForgetfulSource, MODEL, Shop, assert_same_rows, change_rows, current_rows, item};
use crate::table_log::TableLog;
use crate::{LakeFiles, LakeFollower};

/// How many rows are held here.
const HELD_ROWS: usize = 16;

/// How many rows there are where snapshots are killed: more than a page of the scan has.
const KILLED_ROWS: usize = 600;

/// How many rows are held there, so that some steps are at the border of two parts and others within one.
const KILLED_HELD_ROWS: usize = 40;

/// How many rows change between two kills, and how many of them go.
const CHANGED_ROWS: usize = 40;
const GONE_ROWS: usize = 3;

/// Says how many kills there are; 200 end a snapshot before and after each of its steps.
const KILLS_VARIABLE: &str = "SINGLET_LAKE_KILLS";

/// A row with every type that a row in the file must keep.
fn task(number: usize, title: &str) -> Item {
    let attributes = json!({
        "title": {"S": title}, "count": {"N": (number % 100).to_string()}, "price": {"N": "12.50"},
        "big": {"N": "99999999999999999999999999999999999999"}, "free": {"N": "1E-130"}, "isDone": {"BOOL": true},
        "due": {"S": "2026-02-03"}, "tags": {"SS": ["a", "żółw"]}, "at": {"S": "2026-02-03T04:05:06.789Z"},
        "address": {"M": {"street": {"S": "\n\"\\"}, "lines": {"L": [{"S": ""}]}, "rooms": {"M": {"x": {"N": "1"}}}}},
        "anything": {"M": {"bytes": {"B": "AAEC/w=="}, "none": {"NULL": true}, "sets": {"NS": ["1.5", "-2"]}}},
    });
    item("Task", &number.to_string(), attributes)
}

/// Somebody writes while all rows are read.
struct BusySource {
    source: Arc<dyn ChangeSource>,
    shop: Arc<Shop>,
    random: Mutex<fastrand::Rng>,
    writes: AtomicUsize,
}

#[async_trait]
impl ChangeSource for BusySource {
    async fn read_records(&self, request: &StreamRequest) -> singlet_store::Result<StreamPage> {
        self.source.read_records(request).await
    }

    async fn items_beside(&self, beside: &Beside) -> singlet_store::Result<ItemsBeside> {
        self.source.items_beside(beside).await
    }

    async fn scan_items(&self, request: &ScanItems) -> singlet_store::Result<ItemsBeside> {
        let page = self.source.scan_items(request).await;
        for _ in 0..10 {
            write_something(&self.shop, &mut *self.random.lock().await).await;
            self.writes.fetch_add(1, Ordering::Relaxed);
        }
        page
    }

    async fn get_row(&self, table: &str, key: &Item) -> singlet_store::Result<Option<Item>> {
        self.source.get_row(table, key).await
    }

    async fn put_row(&self, put: &KeptPut) -> singlet_store::Result<bool> {
        self.source.put_row(put).await
    }
}

fn kinds(files: &dyn LakeFiles) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for row in change_rows(files, "Task") {
        *kinds.entry(row[2].as_text().unwrap().to_owned()).or_default() += 1;
    }
    kinds
}

#[tokio::test]
async fn more_rows_than_are_held_are_brought_in_parts() {
    let (shop, folder) = (Shop::open(MODEL).await, Folder::new());
    let files = folder.files();
    let source = ForgetfulSource::new(shop.source());
    let follower =
        |held: usize| LakeFollower::new(files.clone(), Arc::clone(&shop.model), source.clone(), 0).with_held_rows(held);
    // Small at first: one file, which keys of every part lie in later.
    for number in 0..10 {
        shop.put(task(number, "few")).await;
    }
    shop.follow(&mut follower(100)).await.unwrap();
    assert_eq!(TableLog::load_log(files.as_ref(), "Task").unwrap().files.len(), 1);
    for number in 5..300 {
        shop.put(task(number, "many")).await;
    }
    shop.delete("Task", "3").await;
    shop.put(item("Note", "1", json!({"text": {"S": "x"}}))).await;
    source.forget();
    shop.follow(&mut follower(HELD_ROWS)).await.unwrap();
    let hold = async || {
        for entity in ["Task", "Note"] {
            assert_same_rows(&shop, files.as_ref(), entity).await;
        }
    };
    hold().await;
    assert_eq!(current_rows(files.as_ref(), "Task").len(), 299);
    assert!(TableLog::load_log(files.as_ref(), "Task").unwrap().files.len() >= 300 / HELD_ROWS);
    assert_eq!(TableLog::load_log(files.as_ref(), "Note").unwrap().files.len(), 1);
    let told = |snapshots: usize| BTreeMap::from([("deleted".to_owned(), 1), ("snapshot".to_owned(), snapshots)]);
    assert_eq!(kinds(files.as_ref()), told(10 + 295));
    // Nothing has changed: nothing is brought, and no file is written anew.
    let before = TableLog::load_log(files.as_ref(), "Task").unwrap();
    source.forget();
    shop.follow(&mut follower(HELD_ROWS)).await.unwrap();
    assert_eq!(kinds(files.as_ref()), told(10 + 295));
    assert_eq!(TableLog::load_log(files.as_ref(), "Task").unwrap().files, before.files);
    // Other sizes of parts, and then changes one by one, in the files that there are.
    for held in [150, 40, 5, 1_000] {
        shop.put(task(held, "again")).await;
        shop.delete("Task", &(held + 1).to_string()).await;
        source.forget();
        let mut follower = follower(held);
        shop.follow(&mut follower).await.unwrap();
        hold().await;
        shop.put(task(held + 2, "told")).await;
        shop.follow(&mut follower).await.unwrap();
        follower.tidy(shop.now()).await.unwrap();
        hold().await;
    }
    assert_versions_readable(files.as_ref(), "Task");
}

#[tokio::test]
async fn what_is_told_while_rows_are_read_counts_in_every_part() {
    let (shop, folder) = (Arc::new(Shop::open(MODEL).await), Folder::new());
    let files = folder.files();
    for number in 0..1_200 {
        shop.put(task(number, "there")).await;
    }
    let source = Arc::new(BusySource {
        source: shop.source(),
        shop: Arc::clone(&shop),
        random: Mutex::new(fastrand::Rng::with_seed(5)),
        writes: AtomicUsize::new(0),
    });
    let follower = LakeFollower::new(files.clone(), Arc::clone(&shop.model), source.clone(), 0);
    let mut follower = follower.with_held_rows(HELD_ROWS);
    shop.follow(&mut follower).await.unwrap();
    assert!(source.writes.load(Ordering::Relaxed) > 20);
    for entity in ["Task", "Note"] {
        assert_same_rows(&shop, files.as_ref(), entity).await;
    }
}

/// The table as a process sees it that ends at one of its steps: those with the table count as those with files do.
struct EndingSource {
    source: Arc<dyn ChangeSource>,
    ending: Arc<EndingFiles>,
}

impl EndingSource {
    async fn step<T>(&self, work: impl Future<Output = singlet_store::Result<T>>) -> singlet_store::Result<T> {
        let life = self.ending.next_step();
        let ended = || StoreError::new(ErrorKind::Unavailable, "the process has ended");
        if !life.begins {
            return Err(ended());
        }
        let done = work.await?;
        if life.ends { Ok(done) } else { Err(ended()) }
    }
}

#[async_trait]
impl ChangeSource for EndingSource {
    async fn read_records(&self, request: &StreamRequest) -> singlet_store::Result<StreamPage> {
        self.step(self.source.read_records(request)).await
    }

    async fn items_beside(&self, beside: &Beside) -> singlet_store::Result<ItemsBeside> {
        self.step(self.source.items_beside(beside)).await
    }

    async fn scan_items(&self, request: &ScanItems) -> singlet_store::Result<ItemsBeside> {
        self.step(self.source.scan_items(request)).await
    }

    async fn get_row(&self, table: &str, key: &Item) -> singlet_store::Result<Option<Item>> {
        self.step(self.source.get_row(table, key)).await
    }

    async fn put_row(&self, put: &KeptPut) -> singlet_store::Result<bool> {
        self.step(self.source.put_row(put)).await
    }
}

/// A lake whose snapshots are killed.
struct KilledLake {
    shop: Shop,
    folder: Folder,
    source: Arc<ForgetfulSource>,
}

impl KilledLake {
    async fn new() -> Self {
        let shop = Shop::open(MODEL).await;
        for number in 0..KILLED_ROWS {
            shop.put(task(number, "there")).await;
        }
        let source = ForgetfulSource::new(shop.source());
        KilledLake {
            shop,
            folder: Folder::new(),
            source,
        }
    }

    /// A process that ends at a step; whether it did, and how many steps it took.
    async fn run(&self, step: usize, is_done_last: bool) -> (bool, usize) {
        let ending = Arc::new(EndingFiles {
            files: self.folder.files(),
            steps_left: AtomicUsize::new(step),
            is_done_last,
        });
        let source = Arc::new(EndingSource {
            source: self.source.clone(),
            ending: ending.clone(),
        });
        let follower = LakeFollower::new(ending.clone(), Arc::clone(&self.shop.model), source, 0);
        let mut follower = follower.with_held_rows(KILLED_HELD_ROWS);
        let followed = self.shop.follow(&mut follower).await;
        assert_eq!(followed.is_err(), ending.is_ended(), "step {step}: {followed:?}");
        (followed.is_err(), step - ending.steps_left.load(Ordering::Relaxed))
    }

    /// Goes on as the next process does: what it tells of the tasks are so many changes more, each once.
    async fn go_on(&self, told_before: usize, told: usize, step: usize) {
        let files = self.folder.files();
        for entity in ["Task", "Note"] {
            if TableLog::load_log(files.as_ref(), entity).unwrap().version.is_some() {
                assert_versions_readable(files.as_ref(), entity);
                assert_versions_readable(files.as_ref(), &format!("{entity}_changes"));
            }
        }
        self.run(usize::MAX, false).await;
        assert_same_rows(&self.shop, files.as_ref(), "Task").await;
        assert_eq!(
            change_rows(files.as_ref(), "Task").len(),
            told_before + told,
            "step {step}"
        );
    }

    /// Changes some rows, removes some, and puts those of the round before again; how many that are. Then what was told of it is gone.
    async fn change_rows(&self, round: usize) -> usize {
        let gone = |round: usize| (0..GONE_ROWS).map(move |at| 1 + (round * 31 + at * 197) % (KILLED_ROWS - 1));
        let mut changed: BTreeMap<usize, bool> = BTreeMap::new();
        for at in 0..CHANGED_ROWS {
            changed.insert((round * 53 + at * 29) % KILLED_ROWS, true);
        }
        if round > 0 {
            changed.extend(gone(round - 1).map(|number| (number, true)));
        }
        changed.extend(gone(round).map(|number| (number, false)));
        for (number, is_there) in &changed {
            match is_there {
                true => self.shop.put(task(*number, &format!("round {round}"))).await,
                false => self.shop.delete("Task", &number.to_string()).await,
            }
        }
        self.source.forget();
        changed.len()
    }
}

fn kills_wanted() -> usize {
    std::env::var(KILLS_VARIABLE).map_or(10, |kills| kills.parse().unwrap())
}

/// Steps from the first to the last, some left out where there are more than kills; the second time over they end when they are done.
fn killed_steps(steps: usize) -> impl Iterator<Item = (usize, bool)> {
    let kills = kills_wanted();
    let each = kills.div_ceil(2).min(steps);
    (0..each * 2).map(move |kill| (1 + kill % each * steps / each, kill >= each))
}

#[tokio::test]
async fn a_snapshot_in_parts_may_end_at_any_step() {
    let lake = KilledLake::new().await;
    lake.run(usize::MAX, false).await;
    let mut told = KILLED_ROWS;
    let changed = lake.change_rows(0).await;
    let (_, steps) = lake.run(usize::MAX, false).await;
    told += changed;
    assert_eq!(change_rows(lake.folder.files().as_ref(), "Task").len(), told);
    assert!(steps > 30, "{steps} steps");
    let mut kills = 0;
    for (round, (step, is_done_last)) in killed_steps(steps).enumerate() {
        let changed = lake.change_rows(round + 1).await;
        kills += usize::from(lake.run(step, is_done_last).await.0);
        // Whether it was published or not, what was told is gone.
        lake.source.forget();
        lake.go_on(told, changed, step).await;
        told += changed;
    }
    assert!(kills + 4 >= killed_steps(steps).count(), "{kills}");
}

#[tokio::test]
async fn the_first_snapshot_in_parts_may_end_at_any_step() {
    let mut lake = KilledLake::new().await;
    let (_, steps) = lake.run(usize::MAX, false).await;
    for (step, is_done_last) in killed_steps(steps) {
        lake.folder = Folder::new();
        assert!(lake.run(step, is_done_last).await.0, "step {step}");
        lake.go_on(0, KILLED_ROWS, step).await;
    }
}
