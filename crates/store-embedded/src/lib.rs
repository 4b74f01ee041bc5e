//! The embedded store: one process, in memory or in a folder.
//!
//! DynamoDB's data model on an ordered key space of bytes ([`singlet_keyspace`]). Items are bytes ([`codec`]) under keys that
//! sort as DynamoDB sorts them ([`order`], [`layout`]); index entries, changes, expiry times, tokens and the catalogue lie in the same
//! space, so that every change is one atomic commit. Conditions, updates, projections and key ranges are evaluated as
//! the trees they are: there is no expression text.
//!
//! # How calls run
//!
//! A read looks at a snapshot, which waits for nobody. What is short runs where it is asked; what turns out to be long goes on at a
//! blocking thread of the runtime, from the same snapshot. A write is checked and encoded where it is asked, then done by the
//! one writer of the space for all who wait, and answered when it is on the disk. A condition that does not hold in
//! what everybody sees is refused without waiting.
//!
//! # What it is not
//!
//! It is not shared between processes: opening a folder that another process has open is refused. Expired items stay until
//! [`EmbeddedStore::delete_expired`] is called. Changes of a stream go with later writes, or by [`EmbeddedStore::trim_old_changes`],
//! as [`Retention`] says.

mod bounds;
mod catalogue;
mod check;
mod codec;
mod entry;
mod expiry;
mod expression;
mod inspect;
mod layout;
mod order;
mod page;
mod reads;
mod select;
mod stream;
mod tables;
mod takeover;
mod tasks;
mod tokens;
mod totals;
mod trim;
mod update;
mod upkeep;
mod view;
mod wait;
mod words;
mod write;
mod writes;

pub use inspect::{Flaw, FlawKind, Inspection, RowsSize, TableSize};
pub use takeover::{OLD_FILE, OLD_FILE_KEPT, TakeoverProgress};
pub use trim::Retention;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use singlet_keyspace::disk::Disk;
use singlet_keyspace::{Draft, Keyspace, Options, Snapshot};
use singlet_store::{
    BatchGetAnswer, BatchGetRequest, BatchWriteAnswer, BatchWriteRequest, DeleteRequest, ErrorKind, GetAnswer,
    GetRequest, ItemLookup, PageAnswer, PutRequest, QueryRequest, Result, ScanRequest, Store, StoreError, StreamPage,
    StreamRequest, TableChange, TableDescription, TableSpec, TransactGetAnswer, TransactGetRequest,
    TransactWriteRequest, UpdateRequest, WantedItem, WriteAnswer,
};

use catalogue::Catalogue;
use page::{Page, Step};
use stream::Moment;
use tokens::OldestToken;
use view::{NotDone, from_space};
use write::Asked;

/// The most items that are read by their keys where they are asked for.
const SHORT_GETS_MAX: usize = 25;
/// The most changes that are read where they are asked for.
const SHORT_RECORDS_MAX: u32 = 50;

/// A store inside this process. Clones are the same store.
#[derive(Clone)]
pub struct EmbeddedStore {
    inner: Arc<Inner>,
}

struct Inner {
    space: Keyspace,
    catalogue: Arc<Catalogue>,
    oldest_token: Arc<OldestToken>,
    /// Which changes writes keep.
    retention: RwLock<Arc<Retention>>,
    is_in_folder: bool,
}

impl EmbeddedStore {
    /// An empty store in memory, gone when the last clone is dropped.
    pub fn memory() -> Result<Self> {
        Self::on(Keyspace::in_memory(), false)
    }

    /// The store in a folder, which is created if it is not there. A folder of before is taken over.
    pub fn open(folder: &Path) -> Result<Self> {
        Self::open_with_progress(folder, &mut |_| {})
    }

    /// The store in a folder that holds one, or one of before; nothing is made where there is none.
    pub fn open_existing(folder: &Path) -> Result<Self> {
        match Keyspace::is_in(folder) || folder.join(takeover::OLD_FILE).is_file() {
            true => Self::open(folder),
            false => Err(StoreError::new(
                ErrorKind::NotFound,
                format!("there is no data in `{}`", folder.display()),
            )),
        }
    }

    /// The store on a disk of one's own, as tests put one beneath.
    pub fn open_on(disk: Arc<dyn Disk>, options: Options) -> Result<Self> {
        Self::on(Keyspace::open_on(disk, options).map_err(from_space)?, true)
    }

    /// The store in a folder, with word of how far a folder of before is taken over.
    pub fn open_with_progress(folder: &Path, progress: &mut dyn FnMut(&TakeoverProgress)) -> Result<Self> {
        let space = Keyspace::open(folder, Options::default()).map_err(from_space)?;
        let store = Self::on(space, true)?;
        // After the space is prepared, and before anybody may ask: until it is done the tables are not there.
        takeover::take_over(&store, folder, progress)?;
        Ok(store)
    }

    fn on(space: Keyspace, is_in_folder: bool) -> Result<Self> {
        let store = Self::unprepared(space, is_in_folder);
        store.prepare_space()?;
        Ok(store)
    }

    /// A store as it lies in a space, whatever was begun in it.
    fn unprepared(space: Keyspace, is_in_folder: bool) -> Self {
        Self {
            inner: Arc::new(Inner {
                space,
                catalogue: Arc::default(),
                oldest_token: Arc::default(),
                retention: RwLock::new(Arc::new(match is_in_folder {
                    true => Retention::default(),
                    false => Retention::in_memory(),
                })),
                is_in_folder,
            }),
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.inner.space.snapshot()
    }

    pub(crate) fn catalogue(&self) -> &Catalogue {
        &self.inner.catalogue
    }

    /// Does something as one commit. The third is when, in milliseconds since 1970.
    pub(crate) async fn commit<R, W>(&self, weight_bytes: usize, work: W) -> Result<R>
    where
        R: Send + 'static,
        W: FnOnce(&Catalogue, &mut Draft<'_>, u64) -> Result<R> + Send + 'static,
    {
        let catalogue = Arc::clone(&self.inner.catalogue);
        // Taken when the write is asked for, since the work may run long after.
        let retention = Arc::clone(&self.inner.retention.read().unwrap_or_else(PoisonError::into_inner));
        let work = move |draft: &mut Draft<'_>| {
            let now = now_millis();
            let done = work(&catalogue, draft, now)?;
            // Only writes of rows trim: what changes tables and what runs as upkeep must not wait for it.
            if weight_bytes > 0 {
                upkeep::trim_now_and_then(draft, &retention, now)?;
            }
            Ok::<_, NotDone>(done)
        };
        let done = self.inner.space.commit_weighing(weight_bytes, work).await;
        done.map_err(|NotDone(error)| error)
    }

    async fn read_page(&self, snapshot: Snapshot, mut page: Page) -> Result<PageAnswer> {
        // What is short never leaves the thread that asks; what is long must not hold it.
        if page.advance_page(&snapshot, page.short_step())? {
            return page.page_answer();
        }
        blocking(move || {
            page.advance_page(&snapshot, Step::WHOLE)?;
            page.page_answer()
        })
        .await
    }

    /// Reads something from a snapshot, elsewhere if it is long.
    async fn read<T, F>(&self, is_short: bool, read: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Catalogue, &Snapshot) -> Result<T> + Send + 'static,
    {
        let (catalogue, snapshot) = (Arc::clone(&self.inner.catalogue), self.snapshot());
        match is_short {
            true => read(&catalogue, &snapshot),
            false => blocking(move || read(&catalogue, &snapshot)).await,
        }
    }
}

/// Milliseconds since 1970.
fn now_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Runs something where it delays no other task.
async fn blocking<T, F>(call: F) -> Result<T>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T> + Send + 'static,
{
    let failed = |error| StoreError::unavailable(format!("the store stopped: {error}"));
    tokio::task::spawn_blocking(call).await.map_err(failed)?
}

impl fmt::Debug for EmbeddedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.inner.is_in_folder { "folder" } else { "memory" };
        f.debug_tuple("EmbeddedStore").field(&place).finish()
    }
}

#[async_trait]
impl Store for EmbeddedStore {
    async fn get(&self, request: &GetRequest) -> Result<GetAnswer> {
        reads::get_item(self.catalogue(), &self.snapshot(), request)
    }

    fn gives_at_once(&self) -> bool {
        true
    }

    fn get_at_once(&self, lookup: ItemLookup<'_>) -> Option<Result<GetAnswer>> {
        Some(reads::look_up(self.catalogue(), &self.snapshot(), lookup))
    }

    async fn batch_get(&self, request: &BatchGetRequest) -> Result<BatchGetAnswer> {
        let keys: usize = request.tables.iter().map(|table| table.keys.len()).sum();
        let request = request.clone();
        let read = move |catalogue: &Catalogue, snapshot: &Snapshot| reads::batch_get(catalogue, snapshot, &request);
        self.read(keys <= SHORT_GETS_MAX, read).await
    }

    async fn query(&self, request: &QueryRequest) -> Result<PageAnswer> {
        let snapshot = self.snapshot();
        let page = Page::query_page(self.catalogue(), &snapshot, request)?;
        self.read_page(snapshot, page).await
    }

    fn looks_at_items(&self) -> bool {
        true
    }

    async fn query_wanted(&self, request: &QueryRequest, wanted: WantedItem<'_>) -> Result<PageAnswer> {
        let snapshot = self.snapshot();
        let page = Page::query_wanted(self.catalogue(), &snapshot, request, wanted)?;
        self.read_page(snapshot, page).await
    }

    async fn scan(&self, request: &ScanRequest) -> Result<PageAnswer> {
        let snapshot = self.snapshot();
        let page = Page::scan_page(self.catalogue(), &snapshot, request)?;
        self.read_page(snapshot, page).await
    }

    async fn transact_get(&self, request: &TransactGetRequest) -> Result<TransactGetAnswer> {
        let gets = request.gets.len();
        let request = request.clone();
        let read = move |catalogue: &Catalogue, snapshot: &Snapshot| reads::transact_get(catalogue, snapshot, &request);
        self.read(gets <= SHORT_GETS_MAX, read).await
    }

    async fn put(&self, request: &PutRequest) -> Result<WriteAnswer> {
        self.put_item(request).await
    }

    async fn update(&self, request: &UpdateRequest) -> Result<WriteAnswer> {
        self.update_item(request, None).await
    }

    async fn update_shared(&self, request: &Arc<UpdateRequest>) -> Result<WriteAnswer> {
        self.update_item(request, Some(Asked::Update(Arc::clone(request))))
            .await
    }

    async fn delete(&self, request: &DeleteRequest) -> Result<WriteAnswer> {
        self.delete_item(request).await
    }

    async fn batch_write(&self, request: &BatchWriteRequest) -> Result<BatchWriteAnswer> {
        self.write_batch(request).await
    }

    async fn transact_write(&self, request: &TransactWriteRequest) -> Result<WriteAnswer> {
        self.write_transaction(request, &|_| None).await
    }

    async fn transact_write_shared(&self, request: &Arc<TransactWriteRequest>) -> Result<WriteAnswer> {
        self.write_transaction(request, &|at| Some(Asked::Action(Arc::clone(request), at)))
            .await
    }

    async fn create_table(&self, spec: &TableSpec) -> Result<()> {
        let spec = spec.clone();
        self.commit(0, move |catalogue, draft, now| {
            tables::create_table(catalogue, draft, &spec, Moment::new(now))
        })
        .await
    }

    async fn describe_table(&self, table: &str) -> Result<TableDescription> {
        tables::describe_table(self.catalogue(), &self.snapshot(), table)
    }

    async fn update_table(&self, table: &str, change: &TableChange) -> Result<()> {
        let (table, change) = (table.to_owned(), change.clone());
        self.commit(0, move |catalogue, draft, _| {
            tables::change_table(catalogue, draft, &table, &change)
        })
        .await?;
        self.end_tasks().await
    }

    async fn delete_table(&self, table: &str) -> Result<()> {
        let name = table.to_owned();
        self.commit(0, move |catalogue, draft, _| {
            tables::delete_table(catalogue, draft, &name)
        })
        .await?;
        // After the commit: a table that was made anew under the name is read anew in any case.
        self.catalogue().forget_table(table);
        self.end_tasks().await
    }

    async fn list_tables(&self) -> Result<Vec<String>> {
        catalogue::table_names(&self.snapshot())
    }

    async fn update_ttl(&self, table: &str, attribute: Option<&str>) -> Result<()> {
        let (table, attribute) = (table.to_owned(), attribute.map(str::to_owned));
        self.commit(0, move |catalogue, draft, _| {
            tables::change_ttl(catalogue, draft, &table, attribute.as_deref())
        })
        .await?;
        self.end_tasks().await
    }

    async fn check_writes(&self) -> Result<()> {
        self.inner.space.check_writes().await.map_err(from_space)
    }

    async fn read_stream(&self, request: &StreamRequest) -> Result<StreamPage> {
        let is_short = request.limit <= SHORT_RECORDS_MAX;
        let request = request.clone();
        let read =
            move |catalogue: &Catalogue, snapshot: &Snapshot| stream::read_changes(catalogue, snapshot, &request);
        self.read(is_short, read).await
    }
}
