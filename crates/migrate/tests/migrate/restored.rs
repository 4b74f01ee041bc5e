//! A table that is written to files and restored from them: killed at any call, by two at once, into what is not empty, from what is not
//! whole. It never opens half, and nothing runs by itself on it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use singlet_archive::{ArchiveWriter, archives_in};
use singlet_changes::is_of_following;
use singlet_face::Company;
use singlet_item::{Item, Value};
use singlet_migrate::{DumpError, RestoreError, RestoreOptions, RestoredTable, TableRestorer, dump_table};
use singlet_runtime::{
    AuditDepth, Engine, Migration, MigrationPhase, OpenError, Relocation, RelocationPhase, TableOpening, TableState,
    TableUse, audit_rows, load, table,
};
use singlet_store::PutRequest;
use singlet_store_embedded::EmbeddedStore;
use singlet_testing::DyingStore;

use super::pairs::{OLD, old_lines};
use super::place;
use super::support::{NOW, Table, assert_same, open_to_write};

#[path = "given_up.rs"]
mod given_up;

/// A folder that goes with the test.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new() -> Self {
        static FOLDERS: AtomicU64 = AtomicU64::new(0);
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("singlet-restored-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        Scratch(folder)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A table that was written to files, and the place for it.
pub struct Dumped {
    pub source: Table,
    files: Scratch,
    pub target: Table,
    pub engine: Engine,
    model: String,
}

impl Dumped {
    pub async fn of(model: &str) -> Self {
        let target = Table::named(place::target_store().await);
        let source = Table {
            store: Arc::new(EmbeddedStore::memory().unwrap()),
            name: target.name.clone(),
        };
        let from = source.engine(model);
        open_to_write(&from).await.unwrap();
        load::load_text(&from, &old_lines(place::TASKS), NOW).await.unwrap();
        let files = Scratch::new();
        dump_table(&from, &files.0, None, &|| NOW, &|_| {}).await.unwrap();
        let engine = target.engine(model);
        Dumped {
            source,
            files,
            target,
            engine,
            model: model.to_owned(),
        }
    }

    async fn restored(&self) -> Result<RestoredTable, RestoreError> {
        restored(&self.engine, &self.files.0).await
    }

    async fn dying(&self, calls: usize) -> Option<Result<RestoredTable, RestoreError>> {
        let store = DyingStore::after_calls(Arc::clone(self.engine.store()), calls);
        let ended = store.ended();
        let engine = self.engine.on_store(Arc::new(store));
        tokio::select! {
            done = restored(&engine, &self.files.0) => Some(done),
            () = ended.notified() => None,
        }
    }

    /// What was exported, but for what speaks of its stream.
    async fn exported(&self) -> BTreeMap<String, Item> {
        let mut contents = self.source.contents().await;
        contents.retain(|_, item| !is_of_following(self.engine.model(), item));
        contents
    }

    /// What lies in the table, but for what it says of itself.
    async fn there(&self) -> BTreeMap<String, Item> {
        let mut contents = self.target.contents().await;
        contents.retain(|_, item| !item.contains_key("$held"));
        contents
    }

    async fn opens(&self) -> Result<TableState, OpenError> {
        opens(&self.target.engine(&self.model)).await
    }

    async fn assert_restored(&self) {
        assert_same("restored", &self.there().await, &self.exported().await);
        assert_eq!(self.opens().await.unwrap(), TableState::Known);
        let audit = audit_rows(&self.engine, NOW, AuditDepth::Whole).await.unwrap();
        assert_eq!(audit.misfit_count(), 0, "{:?}", audit.first);
        assert!(self.engine.held_table().await.unwrap().is_some());
    }
}

async fn opens(engine: &Engine) -> Result<TableState, OpenError> {
    let opening = TableOpening {
        makes_tables: false,
        company: Company::Alone,
        used_for: TableUse::Writing,
        now: NOW,
    };
    engine.open_table(&opening).await
}

async fn restored(engine: &Engine, files: &Path) -> Result<RestoredTable, RestoreError> {
    let options = RestoreOptions {
        page_items: 7,
        ..RestoreOptions::default()
    };
    TableRestorer::new(engine, files, options, &|| NOW, &|_, _| {})?
        .run()
        .await
}

async fn put(table: &Table, item: Item) {
    let request = PutRequest {
        table: table.name.clone(),
        item,
        ..PutRequest::default()
    };
    table.store.put(&request).await.unwrap();
}

fn memo(key: &str) -> Item {
    let pairs = [
        ("PK", key),
        ("SK", "MEMO"),
        ("kind", "Memo"),
        ("id", "m"),
        ("text", "?"),
    ];
    pairs.map(|(name, text)| (name.to_owned(), Value::from(text))).into()
}

/// Files with some items, as another program writes them.
fn written(name: &str, items: &[Item]) -> Scratch {
    let files = Scratch::new();
    let mut writer = ArchiveWriter::begin(&files.0, name, NOW).unwrap();
    for item in items {
        writer.put_item(item).unwrap();
    }
    writer.finish(NOW).unwrap();
    files
}

#[tokio::test]
async fn a_table_is_restored_item_for_item() {
    let dumped = Dumped::of(OLD).await;
    let options = RestoreOptions::default();
    let restorer = TableRestorer::new(&dumped.engine, &dumped.files.0, options, &|| NOW, &|_, _| {}).unwrap();
    let plan = restorer.restore_plan().await.unwrap();
    assert!(
        plan.items > dumped.exported().await.len() as u64 && plan.knows_models && plan.left_out == 0,
        "{plan:?}"
    );
    let done = restorer.run().await.unwrap();
    assert_eq!((done.items, done.put, done.was_done), (plan.items, plan.items, false));
    dumped.assert_restored().await;
    // And back to a store of this process.
    let (files, home) = (
        Scratch::new(),
        Table {
            store: Arc::new(EmbeddedStore::memory().unwrap()),
            name: dumped.target.name.clone(),
        },
    );
    dump_table(&dumped.engine, &files.0, None, &|| NOW, &|_| {})
        .await
        .unwrap();
    restored(&home.engine(OLD), &files.0).await.unwrap();
    let mut back = home.contents().await;
    back.retain(|_, item| !item.contains_key("$held"));
    assert_same("back", &back, &dumped.exported().await);
    // Said again, there is nothing to do, until it is released: from then on it is a table as any.
    assert!(dumped.restored().await.unwrap().was_done);
    assert!(dumped.engine.release_table().await.unwrap());
    assert!(!dumped.engine.release_table().await.unwrap());
    assert!(matches!(dumped.restored().await, Err(RestoreError::NotEmpty)));
    // The guards hold: a title that is taken stays taken.
    let line = r#"{"Task":{"owner":"x","number":1,"title":"TITLE 1","size":"small"}}"#;
    let error = load::load_text(&dumped.engine, line, NOW).await.unwrap_err();
    assert!(error.to_string().contains("title"), "{error}");
}

#[tokio::test]
async fn a_table_that_somebody_opened_while_it_was_empty_takes_the_guards_and_models_of_the_files() {
    let dumped = Dumped::of(OLD).await;
    open_to_write(&dumped.target.engine(OLD)).await.unwrap();
    dumped.restored().await.unwrap();
    dumped.assert_restored().await;
}

#[tokio::test]
async fn a_restoring_that_is_killed_goes_on_to_its_end() {
    let mut killed = 0;
    while killed < place::kills() {
        let dumped = Dumped::of(OLD).await;
        if killed % 2 == 0 {
            open_to_write(&dumped.target.engine(OLD)).await.unwrap();
        }
        let mut most = 40;
        loop {
            most += 10;
            match dumped.dying(fastrand::usize(1..most)).await {
                Some(done) => {
                    done.unwrap();
                    break;
                }
                None => killed += 1,
            }
            // It opens whole, or before anything was begun.
            if opens(&dumped.target.engine(OLD)).await.is_ok() {
                let there = dumped.there().await;
                let is_empty = there.values().all(|item| item.contains_key("$guard_key"));
                assert!(is_empty || there == dumped.exported().await, "half a table opens");
            }
        }
        dumped.assert_restored().await;
    }
    println!("{killed} kills");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_at_once_restore_one_table() {
    let dumped = Dumped::of(OLD).await;
    let (first, second) = tokio::join!(dumped.restored(), dumped.restored());
    for ended in [first, second] {
        // Whoever was overtaken is told.
        assert!(
            matches!(ended, Ok(_) | Err(RestoreError::Overtaken | RestoreError::NotEmpty)),
            "{ended:?}"
        );
    }
    dumped.restored().await.unwrap();
    dumped.assert_restored().await;
}

#[tokio::test]
async fn only_an_empty_table_of_the_model_is_restored() {
    let dumped = Dumped::of(OLD).await;
    open_to_write(&dumped.target.engine(OLD)).await.unwrap();
    put(&dumped.target, memo("MEMO#m")).await;
    let before = dumped.target.contents().await;
    assert!(matches!(dumped.restored().await, Err(RestoreError::NotEmpty)));
    assert_same("not empty", &dumped.target.contents().await, &before);
    assert!(dumped.opens().await.is_ok());
    // Another table under the name.
    let other = Dumped::of(OLD).await;
    open_to_write(&other.target.engine(&OLD.replace("ttl: ends", "ttl: over")))
        .await
        .unwrap();
    let said = other.restored().await.unwrap_err().to_string();
    assert!(said.contains("expire by `over`, not `ends`"), "{said}");
    // Nothing is made where that is not asked for.
    let missing = Dumped::of(OLD).await;
    let options = RestoreOptions {
        makes_tables: false,
        ..RestoreOptions::default()
    };
    let restorer = TableRestorer::new(&missing.engine, &missing.files.0, options, &|| NOW, &|_, _| {}).unwrap();
    assert!(matches!(restorer.run().await, Err(RestoreError::NoTarget)));
}

/// Whoever else begins with other files is told, and the first goes on.
#[tokio::test]
async fn a_table_that_is_restored_from_some_files_takes_no_others() {
    let dumped = Dumped::of(OLD).await;
    open_to_write(&dumped.target.engine(OLD)).await.unwrap();
    let mut calls = 5;
    while dumped.there().await.len() < 3 {
        calls += 1;
        assert!(dumped.dying(calls).await.is_none());
    }
    let Err(OpenError::Relocated(relocation)) = dumped.opens().await else {
        panic!("it opens half");
    };
    assert_eq!(relocation.phase, RelocationPhase::Restoring);
    assert!(
        relocation.to_string().starts_with("it is being restored from "),
        "{relocation}"
    );
    let others = written(&dumped.target.name, &[memo("MEMO#m")]);
    let said = restored(&dumped.engine, &others.0).await;
    assert!(matches!(said, Err(RestoreError::Elsewhere(_))), "{said:?}");
    // What is changed in it meanwhile is put again; what comes in from elsewhere is said, and not removed.
    let there = dumped.there().await;
    let mut changed = there.values().find(|item| item.contains_key("title")).unwrap().clone();
    changed.insert("title".to_owned(), Value::from("Another"));
    put(&dumped.target, changed).await;
    put(&dumped.target, memo("MEMO#of nobody")).await;
    assert!(matches!(dumped.restored().await, Err(RestoreError::NotStill)));
    assert!(dumped.opens().await.is_err());
}

/// Whoever slept between claiming a table and looking at it must not open it once another process has gone on.
#[tokio::test]
async fn a_table_is_freed_only_by_who_claimed_it() {
    let dumped = Dumped::of(OLD).await;
    let engine = &dumped.engine;
    engine
        .store()
        .create_table(&table::table_spec(engine.model()))
        .await
        .unwrap();
    let claim = |phase| Relocation {
        phase,
        id: "1".to_owned(),
        to: "there".to_owned(),
    };
    for (claimed, further) in [
        (RelocationPhase::Claimed, RelocationPhase::Copying),
        (RelocationPhase::Preparing, RelocationPhase::Restoring),
    ] {
        assert!(engine.claim_new(&claim(claimed)).await.unwrap());
        let stale = engine.table_control().await.unwrap().unwrap();
        assert!(engine.set_relocation(&stale, Some(&claim(further))).await.unwrap());
        assert!(!engine.remove_control(&stale).await.unwrap());
        put(&dumped.target, memo("MEMO#m")).await;
        let key = memo("MEMO#m")
            .into_iter()
            .filter(|(name, _)| name == "PK" || name == "SK")
            .collect::<Item>();
        assert!(
            !engine
                .remove_while_known(&stale, &dumped.target.name, vec![key.clone()])
                .await
                .unwrap()
        );
        let there = engine.table_control().await.unwrap().unwrap();
        assert_eq!(there.current_relocation(), Some(&claim(further)));
        assert_eq!(dumped.target.contents().await.len(), 1);
        assert!(
            engine
                .remove_while_known(&there, &dumped.target.name, vec![key])
                .await
                .unwrap()
        );
        assert!(engine.remove_control(&there).await.unwrap());
        assert!(engine.table_control().await.unwrap().is_none());
    }
}

/// What another program wrote, and nobody says which model: it is restored, and adopted by who looks at every row.
#[tokio::test]
async fn files_that_know_no_model_are_restored_and_adopted() {
    let dumped = Dumped::of(OLD).await;
    let rows: Vec<Item> = archives_in(&dumped.files.0).unwrap()[0]
        .items()
        .map(|item| item.unwrap().item)
        .filter(|item| {
            !["$epoch", "$face", "$model"]
                .iter()
                .any(|name| item.contains_key(*name))
        })
        .collect();
    let count = rows.iter().filter(|item| is_of_task_or_memo(item)).count() as u64;
    let files = written("AnotherName", &rows);
    let done = restored(&dumped.engine, &files.0).await.unwrap();
    assert_eq!(done.items, rows.len() as u64);
    assert!(dumped.engine.table_control().await.unwrap().is_none());
    let TableState::Adopted(adopted) = dumped.opens().await.unwrap() else {
        panic!("it is not adopted");
    };
    assert!(adopted >= count && count > 0, "{adopted} of {count}");
    assert!(dumped.engine.held_table().await.unwrap().is_some());
    // Where a model is known already, it is not the one that wrote them for all that the files say.
    let known = Dumped::of(OLD).await;
    open_to_write(&known.target.engine(OLD)).await.unwrap();
    assert!(matches!(
        restored(&known.engine, &files.0).await,
        Err(RestoreError::KnowsModel)
    ));
}

fn is_of_task_or_memo(item: &Item) -> bool {
    matches!(item["kind"].as_str(), Some("Task" | "Memo"))
}

#[tokio::test]
async fn items_that_the_table_cannot_hold_are_said_with_their_line_and_nothing_is_written() {
    let dumped = Dumped::of(OLD).await;
    let mut cases: Vec<(Item, &str)> = Vec::new();
    let changed = |name: &str, value: Option<Value>| {
        let mut item = memo("MEMO#n");
        match value {
            Some(value) => item.insert(name.to_owned(), value),
            None => item.remove(name),
        };
        item
    };
    cases.push((changed("SK", None), "the item has no `SK`"));
    cases.push((changed("SK", Some(Value::from(1))), "is of type `N`, not `S`"));
    cases.push((changed("PK", Some(Value::from(""))), "is empty"));
    cases.push((changed("PK", Some(Value::from("x".repeat(2049)))), "at most 2048"));
    cases.push((changed("SK", Some(Value::from("x".repeat(1025)))), "at most 1024"));
    cases.push((
        changed("text", Some(Value::from("x".repeat(400 * 1024)))),
        "larger than 400 KB",
    ));
    cases.push((memo("MEMO#m"), "it has the key of"));
    for (item, words) in cases {
        let files = written(&dumped.target.name, &[memo("MEMO#m"), item]);
        let said = restored(&dumped.engine, &files.0).await.unwrap_err().to_string();
        assert!(said.contains("line 2: ") && said.contains(words), "{words}: {said}");
    }
    assert!(
        !dumped
            .target
            .store
            .list_tables()
            .await
            .unwrap()
            .contains(&dumped.target.name)
    );
    // At the bounds they are taken.
    let files = written(
        &dumped.target.name,
        &[
            changed("PK", Some(Value::from("x".repeat(2048)))),
            changed("SK", Some(Value::from("x".repeat(1024)))),
        ],
    );
    restored(&dumped.engine, &files.0).await.unwrap();
}

#[tokio::test]
async fn a_table_on_its_way_or_of_two_systems_is_not_taken() {
    let dumped = Dumped::of(OLD).await;
    let source = dumped.source.engine(OLD);
    let control = source.table_control().await.unwrap().unwrap();
    let migration = Migration {
        phase: MigrationPhase::Rows,
        target: control.faces()[0].clone(),
        source: None,
        drops: false,
    };
    // Exported by somebody who did not ask.
    assert!(source.set_migration(&control, Some(&migration)).await.unwrap());
    let dump = dump_table(&source, &Scratch::new().0, None, &|| NOW, &|_| {}).await;
    assert!(matches!(dump, Err(DumpError::Migrating(_))), "{dump:?}");
    let all: Vec<Item> = dumped.source.contents_with_control().await;
    let files = written(&dumped.target.name, &all);
    let said = restored(&dumped.engine, &files.0).await;
    assert!(matches!(said, Err(RestoreError::OnTheWay(_))), "{said:?}");
    let mut other = all.iter().find(|item| item.contains_key("$epoch")).unwrap().clone();
    other.insert("PK".to_owned(), Value::from("$singlet.another"));
    other.remove("$phase");
    let files = written(&dumped.target.name, &[memo("MEMO#m"), other]);
    let said = restored(&dumped.engine, &files.0).await;
    assert!(
        matches!(&said, Err(RestoreError::Shared(system)) if system == "another"),
        "{said:?}"
    );
}

impl Table {
    async fn contents_with_control(&self) -> Vec<Item> {
        let request = singlet_store::ScanRequest {
            table: self.name.clone(),
            ..Default::default()
        };
        let page = self.store.scan(&request).await.unwrap();
        assert!(page.last_key.is_none());
        page.items
    }
}

/// Of several exports in a folder the model's is taken; of two of it neither.
#[tokio::test]
async fn the_export_of_the_table_is_found_among_others() {
    let dumped = Dumped::of(OLD).await;
    let mut other = ArchiveWriter::begin(&dumped.files.0, "Another", NOW + 1).unwrap();
    other.put_item(&memo("MEMO#other")).unwrap();
    let other = other.finish(NOW + 1).unwrap();
    dumped.restored().await.unwrap();
    dumped.assert_restored().await;
    let third = Dumped::of(OLD).await;
    let mut twice = ArchiveWriter::begin(&third.files.0, &third.target.name, NOW + 2).unwrap();
    twice.put_item(&memo("MEMO#twice")).unwrap();
    twice.finish(NOW + 2).unwrap();
    assert!(matches!(third.restored().await, Err(RestoreError::Several(found)) if found.len() == 2));
    // Named by its own folder, whatever the table was called.
    let fourth = Dumped::of(OLD).await;
    let done = restored(&fourth.engine, &other.folder).await.unwrap();
    assert_eq!(done.items, 1);
    let fifth = Dumped::of(OLD).await;
    let others = written("One", &[]);
    let mut two = ArchiveWriter::begin(&others.0, "Two", NOW + 3).unwrap();
    two.put_item(&memo("MEMO#two")).unwrap();
    two.finish(NOW + 3).unwrap();
    let said = restored(&fifth.engine, &others.0).await.unwrap_err().to_string();
    assert!(said.contains("of other tables: `One`, `Two`"), "{said}");
}
