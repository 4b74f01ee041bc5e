//! What an audit of rows finds beyond each row by itself: copies, guards and mirrors of nobody; and that what expires goes with
//! all that is beside it.

use std::sync::Arc;

use singlet_runtime::{AuditDepth, Engine, FindingGroup, Item, RowAudit, TableUse, Value, audit_rows};
use singlet_store::{DeleteRequest, PutRequest, Store};
use singlet_store_embedded::EmbeddedStore;

use crate::probe::{MODEL, NOW, engine_on, items, load, of_kind, opening, probe};

const ROWS: &str = r#"
{"Agent": {"id": "ada", "name": "Ada", "email": "a@x.org"}}
{"Agent": {"id": "bob", "name": "Bob", "email": "b@x.org"}}
{"Ticket": {"agent": "ada", "no": 1, "title": "one"}}
{"Ticket": {"agent": "bob", "no": 2, "title": "two"}}
{"Rate": {"code": "EUR", "from": "now-3d", "until": "now-1d", "amount": 1.5}}
{"Rate": {"code": "EUR", "from": "now-1d", "amount": 2.5}}
"#;

async fn audited(engine: &Engine, depth: AuditDepth) -> RowAudit {
    audit_rows(engine, NOW, depth).await.unwrap()
}

async fn put(engine: &Engine, item: Item) {
    let request = PutRequest {
        table: "Probe".to_owned(),
        item,
        ..PutRequest::default()
    };
    engine.store().put(&request).await.unwrap();
}

async fn delete(engine: &Engine, item: &Item) {
    let mut key = item.clone();
    key.retain(|name, _| name == "PK" || name == "SK");
    let request = DeleteRequest {
        table: "Probe".to_owned(),
        key,
        ..DeleteRequest::default()
    };
    engine.store().delete(&request).await.unwrap();
}

#[tokio::test]
async fn what_a_model_wrote_is_sound() {
    let engine = probe().await;
    load(&engine, ROWS).await.unwrap();
    let audit = audited(&engine, AuditDepth::Whole).await;
    assert_eq!((audit.rows, audit.first), (6, Vec::new()));
}

#[tokio::test]
async fn a_copy_unlike_its_source_is_found() {
    let engine = probe().await;
    load(&engine, ROWS).await.unwrap();
    let mut ticket = of_kind(&engine, "Ticket").await.remove(0);
    ticket.insert("by".to_owned(), "Eve".into());
    put(&engine, ticket).await;
    assert_eq!(audited(&engine, AuditDepth::Rows).await.misfit_count(), 0);
    let audit = audited(&engine, AuditDepth::Whole).await;
    assert_eq!(audit.counts.into_iter().collect::<Vec<_>>(), [(FindingGroup::Copy, 1)]);
    assert!(audit.first[0].reason.contains("`by` is \"Eve\""), "{}", audit.first[0]);
}

#[tokio::test]
async fn guards_and_mirrors_of_nobody_are_found() {
    let engine = probe().await;
    load(&engine, ROWS).await.unwrap();
    for item in items(&engine).await {
        if ["Agent", "Ticket"].contains(&item["kind"].as_str().unwrap()) {
            delete(&engine, &item).await;
        }
    }
    let audit = audited(&engine, AuditDepth::Whole).await;
    let found: Vec<_> = audit.counts.into_iter().collect();
    let wanted = [(FindingGroup::StrayMirror, 2), (FindingGroup::StrayGuard, 2)];
    assert_eq!(found, wanted, "{:?}", audit.first);
    // Whoever takes the table over looks at rows alone.
    assert_eq!(audited(&engine, AuditDepth::Rows).await.misfit_count(), 0);
}

/// A row that expires ends in the same second as its mirrors and guards, so that a sweep takes them all.
#[tokio::test]
async fn what_expires_is_swept_with_its_mirrors_and_guards() {
    let text = MODEL.replace(
        "    unique: {email: lower(email)}\n",
        "    unique: {email: lower(email)}\n    expires: updatedAt + days(1)\n",
    );
    let embedded = EmbeddedStore::memory().unwrap();
    let store: Arc<dyn Store> = Arc::new(embedded.clone());
    let engine = engine_on(&text, &store);
    engine.open_table(&opening(TableUse::Writing)).await.unwrap();
    let rows = r#"
{"Agent": {"id": "ada", "name": "Ada", "email": "a@x.org", "updatedAt": "now-9d"}}
{"Agent": {"id": "bob", "name": "Bob", "email": "b@x.org", "updatedAt": "now+9000d"}}
{"Ticket": {"agent": "bob", "no": 1, "title": "one", "state": "held", "heldUntil": "now-99d"}}
{"Ticket": {"agent": "bob", "no": 2, "title": "two", "state": "held", "heldUntil": "now+9000d"}}
"#;
    load(&engine, rows).await.unwrap();
    let ends = |items: Vec<Item>| -> Vec<Value> { items.into_iter().map(|item| item["ttl"].clone()).collect() };
    for (row, beside) in [("Agent", "$unique"), ("Ticket", "Board")] {
        let (mut row, mut beside) = (ends(of_kind(&engine, row).await), ends(of_kind(&engine, beside).await));
        row.sort_by_key(|end| format!("{end:?}"));
        beside.sort_by_key(|end| format!("{end:?}"));
        assert_eq!((row.len(), &row), (2, &beside));
    }
    assert_eq!(embedded.delete_expired().await.unwrap(), 4);
    for kind in ["Agent", "$unique", "Ticket", "Board"] {
        assert_eq!(of_kind(&engine, kind).await.len(), 1, "{kind}");
    }
    assert_eq!(audited(&engine, AuditDepth::Whole).await.misfit_count(), 0);
    assert!(embedded.inspect_rows().unwrap().flaws.is_empty());
}
