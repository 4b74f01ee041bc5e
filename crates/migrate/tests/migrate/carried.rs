//! A table that is carried from one store to another: killed at any call, aborted, run by two at once. Never do both tables open.

use std::collections::BTreeMap;
use std::sync::Arc;

use singlet_changes::{Follower, Followers, is_of_following};
use singlet_face::Company;
use singlet_item::{Item, Value};
use singlet_migrate::{CopiedTable, CopyError, CopyOptions, TableCopier};
use singlet_runtime::{
    AuditDepth, Engine, OpenError, RelocationPhase, TableOpening, TableState, TableUse, audit_rows, load, table,
};
use singlet_store::PutRequest;
use singlet_store_embedded::EmbeddedStore;
use singlet_testing::DyingStore;

use super::pairs::{OLD, old_lines};
use super::place;
use super::support::{NOW, Table, assert_same, open_to_write};

/// The same with a stream, and something that was counted from it.
fn followed_model() -> String {
    OLD.replace("  ttl: ends\n", "  ttl: ends\n  stream: both_images\n")
}

/// Both ends: what is carried lies in a store of this process, and goes to the one of the tests.
struct Ends {
    source_table: Table,
    target_table: Table,
    source: Engine,
    target: Engine,
}

impl Ends {
    async fn of(model: &str) -> Self {
        let target_table = Table::named(place::target_store().await);
        let source_table = Table {
            store: Arc::new(EmbeddedStore::memory().unwrap()),
            name: target_table.name.clone(),
        };
        let (source, target) = (source_table.engine(model), target_table.engine(model));
        open_to_write(&source).await.unwrap();
        load::load_text(&source, &old_lines(place::TASKS), NOW).await.unwrap();
        // As `deploy` makes it: it knows the model, and has a key for guards of its own.
        open_to_write(&target).await.unwrap();
        Ends {
            source_table,
            target_table,
            source,
            target,
        }
    }

    async fn carried(&self) -> Result<CopiedTable, CopyError> {
        copier(&self.source, &self.target, "there").run().await
    }

    /// In a process that ends after some calls of either store; none, where it did.
    async fn dying(&self, calls: (usize, usize), aborts: bool) -> Option<Result<(), CopyError>> {
        let source = DyingStore::after_calls(Arc::clone(self.source.store()), calls.0);
        let target = DyingStore::after_calls(Arc::clone(self.target.store()), calls.1);
        let ended = (source.ended(), target.ended());
        let (source, target) = (
            self.source.on_store(Arc::new(source)),
            self.target.on_store(Arc::new(target)),
        );
        let work = async {
            let copier = copier(&source, &target, "there");
            match aborts {
                true => copier.abort_copy().await,
                false => copier.run().await.map(drop),
            }
        };
        tokio::select! {
            done = work => Some(done),
            () = ended.0.notified() => None,
            () = ended.1.notified() => None,
        }
    }

    /// What lies in either table, but for the control row and what speaks of a stream.
    async fn contents(&self) -> [BTreeMap<String, Item>; 2] {
        let mut all = [self.source_table.contents().await, self.target_table.contents().await];
        for contents in &mut all {
            contents.retain(|_, item| !is_of_following(self.source.model(), item));
        }
        all
    }

    async fn opens(&self) -> [Result<TableState, OpenError>; 2] {
        let opening = TableOpening {
            makes_tables: false,
            company: Company::Alone,
            used_for: TableUse::Writing,
            now: NOW,
        };
        [
            self.source.open_table(&opening).await,
            self.target.open_table(&opening).await,
        ]
    }

    /// The target is what the source was, and the only one that opens.
    async fn assert_moved(&self, before: &BTreeMap<String, Item>) {
        let [_, there] = self.contents().await;
        assert_same("moved", &there, before);
        let [here, there] = self.opens().await;
        let OpenError::Relocated(relocation) = here.unwrap_err() else {
            panic!("it opens for another reason");
        };
        assert_eq!(relocation.phase, RelocationPhase::Moved);
        assert_eq!(there.unwrap(), TableState::Known);
        let audit = audit_rows(&self.target, NOW, AuditDepth::Whole).await.unwrap();
        assert_eq!(audit.misfit_count(), 0, "{:?}", audit.first);
    }

    /// Both open only before anything was begun.
    async fn assert_one_or_none_opens(&self) {
        let opened = self.opens().await.map(|opened| opened.is_ok());
        assert!(
            opened != [true, true] || self.is_target_empty().await,
            "both tables open"
        );
    }

    /// Nothing but the key of its guards is there.
    async fn is_target_empty(&self) -> bool {
        self.contents().await[1].len() <= 1
    }

    /// Killed once some of it is there.
    async fn begun(&self) {
        let mut calls = 5;
        while self.is_target_empty().await {
            calls += 1;
            assert!(self.dying((1_000, calls), false).await.is_none());
        }
    }
}

fn copier<'e>(source: &'e Engine, target: &'e Engine, place: &str) -> TableCopier<'e> {
    let options = CopyOptions {
        page_items: 7,
        ..CopyOptions::default()
    };
    TableCopier::new((source, target), place.to_owned(), options, &|| NOW, &|_, _| {})
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
    pairs
        .map(|(name, text)| (name.to_owned(), Value::S(text.to_owned())))
        .into()
}

#[tokio::test]
async fn a_table_moves_item_for_item() {
    let ends = Ends::of(OLD).await;
    let [before, _] = ends.contents().await;
    let plan = copier(&ends.source, &ends.target, "there").copy_plan().await.unwrap();
    assert_eq!(plan.items, before.len() as u64 + ends.faces().await);
    assert_eq!(plan.left_behind, 0);
    let copied = ends.carried().await.unwrap();
    assert_eq!(
        (copied.items, copied.put, copied.was_done),
        (plan.items, plan.items, false)
    );
    ends.assert_moved(&before).await;
    // Said again, there is nothing to do.
    let planned = copier(&ends.source, &ends.target, "there").copy_plan().await;
    assert!(matches!(planned, Err(CopyError::Moved(_))), "{planned:?}");
    assert!(ends.carried().await.unwrap().was_done);
    // The guards hold: a title that is taken stays taken.
    let line = r#"{"Task":{"owner":"x","number":1,"title":"TITLE 1","size":"small"}}"#;
    let error = load::load_text(&ends.target, line, NOW).await.unwrap_err();
    assert!(error.to_string().contains("title"), "{error}");
}

impl Ends {
    /// How many rows hold the faces that the source knows: they are carried as any.
    async fn faces(&self) -> u64 {
        let mut request = singlet_store::ScanRequest {
            table: self.source_table.name.clone(),
            ..Default::default()
        };
        let mut count = 0;
        loop {
            let page = self.source_table.store.scan(&request).await.unwrap();
            let is_face = |item: &&Item| item.contains_key("$face") || item.contains_key("$model");
            count += page.items.iter().filter(is_face).count() as u64;
            request.start = page.last_key;
            if request.start.is_none() {
                return count;
            }
        }
    }
}

#[tokio::test]
async fn a_copy_that_is_killed_goes_on_to_its_end() {
    let mut killed = 0;
    while killed < place::kills() {
        let ends = Ends::of(OLD).await;
        let [before, _] = ends.contents().await;
        let mut most = 40;
        loop {
            let calls = (fastrand::usize(1..most), fastrand::usize(1..most));
            // The last calls of all are reached by who goes on further.
            most += 10;
            match ends.dying(calls, false).await {
                Some(done) => {
                    done.unwrap();
                    break;
                }
                None => killed += 1,
            }
            ends.assert_one_or_none_opens().await;
        }
        ends.assert_moved(&before).await;
    }
    println!("{killed} kills");
}

/// Killed somewhere, then aborted, and the abort killed too: the source opens as before, or it had moved.
#[tokio::test]
async fn an_aborted_copy_leaves_the_source() {
    let (mut killed, mut aborted) = (0, 0);
    while killed < place::kills() {
        let ends = Ends::of(OLD).await;
        let [before, _] = ends.contents().await;
        if ends
            .dying((fastrand::usize(3..60), fastrand::usize(3..60)), false)
            .await
            .is_some()
        {
            continue;
        }
        killed += 1;
        loop {
            match ends.dying((fastrand::usize(1..8), 100), true).await {
                None => killed += 1,
                Some(Ok(()) | Err(CopyError::NothingToAbort)) => {
                    aborted += 1;
                    let [here, there] = ends.opens().await;
                    assert_eq!(here.unwrap(), TableState::Known);
                    // It is refused, unless nothing came to it.
                    if let Ok(known) = there {
                        assert_eq!(known, TableState::Known);
                        assert!(ends.is_target_empty().await);
                    }
                    assert_same("aborted", &ends.contents().await[0], &before);
                    break;
                }
                Some(Err(CopyError::Moved(_))) => {
                    ends.carried().await.unwrap();
                    ends.assert_moved(&before).await;
                    break;
                }
                Some(Err(error)) => panic!("{error}"),
            }
        }
    }
    assert!(aborted > 0);
    println!("{killed} kills, {aborted} aborted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_at_once_come_to_one_table() {
    let ends = Ends::of(OLD).await;
    let [before, _] = ends.contents().await;
    let (first, second) = tokio::join!(ends.carried(), ends.carried());
    for ended in [first, second] {
        // Whoever was overtaken is told.
        assert!(
            matches!(ended, Ok(_) | Err(CopyError::Overtaken | CopyError::Unfinished)),
            "{ended:?}"
        );
    }
    ends.carried().await.unwrap();
    ends.assert_moved(&before).await;
}

#[tokio::test]
async fn nothing_is_copied_over_rows() {
    let ends = Ends::of(OLD).await;
    put(&ends.target_table, memo("MEMO#m")).await;
    let [before, there] = ends.contents().await;
    assert!(matches!(ends.carried().await, Err(CopyError::NotEmpty)));
    let after = ends.contents().await;
    assert_same("source", &after[0], &before);
    assert_same("target", &after[1], &there);
    assert!(ends.opens().await.iter().all(Result::is_ok));
}

#[tokio::test]
async fn what_differs_on_the_target_is_put_again_and_what_is_too_much_goes() {
    let ends = Ends::of(OLD).await;
    let [before, _] = ends.contents().await;
    ends.begun().await;
    let mut changed = before.values().find(|item| item.contains_key("title")).unwrap().clone();
    changed.insert("title".to_owned(), Value::S("Another".to_owned()));
    put(&ends.target_table, changed).await;
    put(&ends.target_table, memo("MEMO#of nobody")).await;
    ends.carried().await.unwrap();
    ends.assert_moved(&before).await;
}

#[tokio::test]
async fn another_table_or_place_is_refused() {
    let ends = Ends::of(OLD).await;
    let other = OLD.replace("ttl: ends", "ttl: over");
    let target_table = Table::named(place::target_store().await);
    let missing = target_table.engine(OLD);
    let said = copier(&ends.source, &missing, "there").run().await;
    assert!(matches!(said, Err(CopyError::NoTarget)), "{said:?}");
    let mut spec = table::table_spec(target_table.engine(&other).model());
    spec.indexes.clear();
    target_table.store.create_table(&spec).await.unwrap();
    let said = copier(&ends.source, &missing, "there")
        .run()
        .await
        .unwrap_err()
        .to_string();
    assert!(
        said.contains("no index `GSI1`") && said.contains("expire by `over`, not `ends`"),
        "{said}"
    );
    assert!(ends.opens().await[0].is_ok());
    // Begun to one place, it does not go on to another.
    ends.begun().await;
    let said = copier(&ends.source, &ends.target, "elsewhere").run().await;
    assert!(matches!(said, Err(CopyError::Elsewhere(_))), "{said:?}");
    // And what it left behind is nobody else's to go on with.
    copier(&ends.source, &ends.target, "there").abort_copy().await.unwrap();
    let said = ends.carried().await;
    assert!(matches!(said, Err(CopyError::Unfinished)), "{said:?}");
    assert!(ends.opens().await[0].is_ok());
}

#[tokio::test]
async fn who_follows_catches_up_first_and_begins_anew_there() {
    let ends = Ends::of(&followed_model()).await;
    let followers = |engine: &Engine| Followers::new(Arc::clone(engine.model()), Arc::new(Arc::clone(engine.store())));
    let mut follower = Follower::start(followers(&ends.source), "mail", NOW / 1000)
        .await
        .unwrap();
    let line = r#"{"Memo":{"id":"late","text":"late"}}"#;
    load::load_text(&ends.source, line, NOW).await.unwrap();
    let said = ends.carried().await.unwrap_err();
    assert!(matches!(said, CopyError::Behind(_)), "{said}");
    assert!(ends.opens().await[0].is_ok(), "nothing was copied, so that it opens");
    while !follower.is_at_head() {
        follower.next_page(NOW / 1000).await.unwrap();
    }
    follower.note_progress(NOW / 1000).await.unwrap();
    let [before, _] = ends.contents().await;
    assert!(
        copier(&ends.source, &ends.target, "there")
            .copy_plan()
            .await
            .unwrap()
            .left_behind
            >= 2
    );
    ends.carried().await.unwrap();
    ends.assert_moved(&before).await;
    assert!(followers(&ends.target).names().await.unwrap().is_empty());
}

/// Where nothing tells a control row from a row of an entity, it lies in a table beside: that is carried too.
#[tokio::test]
async fn a_table_beside_is_carried_too() {
    let model = OLD.replace("  type: kind\n", "");
    let model = model.replace("key: {PK: \"MEMO#{id}\"", "key: {PK: \"{id}\"");
    let ends = Ends::of(&model).await;
    assert!(
        ends.source
            .table_control()
            .await
            .unwrap()
            .unwrap()
            .table()
            .ends_with(".singlet")
    );
    let [before, _] = ends.contents().await;
    ends.carried().await.unwrap();
    ends.assert_moved(&before).await;
}
