//! The follower ended at every step: at each file that it writes and each call of its store. Whoever comes next has every row once.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use singlet_changes::{Beside, ChangeSource, ItemsBeside, KeptPut, ScanItems};
use singlet_item::Item;
use singlet_model::words::WordQuery;
use singlet_runtime::{Attributes, Caller, SearchIndex, SearchRequest};
use singlet_store::{ErrorKind, StoreError, StreamPage, StreamRequest};
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    Directory, DirectoryLock, FileHandle, Lock, RamDirectory, WatchCallback, WatchHandle, WritePtr,
};

use super::support::{Bench, text};
use crate::{IndexPlace, SearchError, SearchFollower};

/// How many steps are left before everything fails.
#[derive(Clone, Debug)]
struct Steps(Arc<AtomicI64>);

impl Steps {
    fn new(steps: i64) -> Self {
        Steps(Arc::new(AtomicI64::new(steps)))
    }

    fn take(&self) -> bool {
        self.0.fetch_sub(1, Ordering::SeqCst) > 0
    }

    fn is_over(&self) -> bool {
        self.0.load(Ordering::SeqCst) <= 0
    }
}

fn killed() -> io::Error {
    io::Error::other("killed")
}

#[derive(Clone, Debug)]
struct KilledFiles {
    files: RamDirectory,
    steps: Steps,
}

impl Directory for KilledFiles {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.files.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        match self.steps.take() {
            true => self.files.delete(path),
            false => Err(DeleteError::IoError {
                io_error: Arc::new(killed()),
                filepath: path.to_owned(),
            }),
        }
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.files.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        match self.steps.take() {
            true => self.files.open_write(path),
            false => Err(OpenWriteError::wrap_io_error(killed(), path.to_owned())),
        }
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.files.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        match self.steps.take() {
            true => self.files.atomic_write(path, data),
            false => Err(killed()),
        }
    }

    fn sync_directory(&self) -> io::Result<()> {
        match self.steps.take() {
            true => self.files.sync_directory(),
            false => Err(killed()),
        }
    }

    /// A process that ends gives its locks back.
    fn acquire_lock(&self, _: &Lock) -> Result<DirectoryLock, LockError> {
        Ok(DirectoryLock::from(Box::new(())))
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.files.watch(callback)
    }
}

struct KilledSource {
    source: Arc<dyn ChangeSource>,
    steps: Steps,
}

impl KilledSource {
    fn step(&self) -> Result<(), StoreError> {
        match self.steps.take() {
            true => Ok(()),
            false => Err(StoreError::new(ErrorKind::Unavailable, "killed")),
        }
    }
}

#[async_trait]
impl ChangeSource for KilledSource {
    async fn read_records(&self, request: &StreamRequest) -> Result<StreamPage, StoreError> {
        self.step()?;
        self.source.read_records(request).await
    }

    async fn items_beside(&self, beside: &Beside) -> Result<ItemsBeside, StoreError> {
        self.step()?;
        self.source.items_beside(beside).await
    }

    async fn scan_items(&self, request: &ScanItems) -> Result<ItemsBeside, StoreError> {
        self.step()?;
        self.source.scan_items(request).await
    }

    async fn get_row(&self, table: &str, key: &Item) -> Result<Option<Item>, StoreError> {
        self.step()?;
        self.source.get_row(table, key).await
    }

    async fn put_row(&self, put: &KeptPut) -> Result<bool, StoreError> {
        self.step()?;
        let put = self.source.put_row(put).await?;
        // It may be done, and nobody hears of it.
        self.step()?;
        Ok(put)
    }
}

async fn follow_changes(bench: &mut Bench, follower: &mut SearchFollower) -> Result<(), SearchError> {
    let titled = |title: &str| Attributes::from([("title".to_owned(), text(title))]);
    for round in 0..4 {
        bench
            .put("ada", &format!("new{round}"), titled(&format!("milk {round}")), None)
            .await;
        bench
            .put("ada", "same", titled(&format!("milk round{round}")), None)
            .await;
        if round > 0 {
            bench.remove("ada", &format!("new{}", round - 1)).await;
        }
        let millis = bench.millis();
        let now = move || millis;
        follower.follow_to_head(&now).await?;
    }
    follower.erase_gone(bench.millis()).await
}

/// One life that ends after so many steps, of files or of the store, and the next. Whether the first one was over before its steps were.
async fn live_and_die(files_steps: i64, source_steps: i64) -> bool {
    let mut bench = Bench::new().await;
    let titled = |title: &str| Attributes::from([("title".to_owned(), text(title))]);
    for at in 0..5 {
        bench
            .put("bob", &format!("n{at}"), titled("milk of before"), None)
            .await;
    }
    let files = RamDirectory::create();
    let (of_files, of_source) = (Steps::new(files_steps), Steps::new(source_steps));
    let place = |steps: &Steps| {
        IndexPlace::Directory(Box::new(KilledFiles {
            files: files.clone(),
            steps: steps.clone(),
        }))
    };
    let source = Arc::new(KilledSource {
        source: bench.source(),
        steps: of_source.clone(),
    });
    let mut first = SearchFollower::new(place(&of_files), Arc::clone(bench.engine.model()), source, 0);
    let ended = follow_changes(&mut bench, &mut first).await;
    let is_killed = of_files.is_over() || of_source.is_over();
    assert!(ended.is_ok() || is_killed, "{ended:?}");
    drop(first);
    let mut next = bench.follower(place(&Steps::new(i64::MAX)));
    bench.engine.search_by(next.served_index());
    let titled_last = titled("milk last");
    bench.put("ada", "last", titled_last, None).await;
    bench.follow(&mut next).await;
    let request = SearchRequest {
        entity: "Note".to_owned(),
        query: WordQuery::parse("milk ", None).unwrap(),
        terms: Vec::new(),
        circles: Vec::new(),
        after: None,
        most: 1_000,
    };
    let hits = next.served_index().search(request).await.unwrap().hits;
    assert_eq!(
        hits.len(),
        bench.notes.len(),
        "files {files_steps}, store {source_steps}: {hits:?}"
    );
    for (owner, query) in [
        ("ada", "milk"),
        ("ada", "round"),
        ("ada", "round3 "),
        ("bob", "before"),
        ("ada", "last"),
    ] {
        bench.assert_same("mine", &Caller::with_id(owner), query, 2).await;
    }
    !is_killed
}

#[tokio::test]
async fn killed_at_every_call_of_the_store_nothing_is_lost_or_twice() {
    let mut lives = 0;
    for steps in 0..500 {
        lives += 1;
        if live_and_die(i64::MAX, steps).await {
            break;
        }
    }
    assert!((20..500).contains(&lives), "{lives}");
}

#[tokio::test]
async fn killed_at_every_file_nothing_is_lost_or_twice() {
    // Every file takes long to go through; the long run does, and this one takes every third.
    let every = if std::env::var_os("SINGLET_KILLS").is_some() {
        1
    } else {
        3
    };
    let mut lives = 0;
    for steps in (0..1_000).step_by(every) {
        lives += 1;
        if live_and_die(steps, i64::MAX).await {
            break;
        }
    }
    assert!((20..1_000).contains(&lives), "{lives}");
}
