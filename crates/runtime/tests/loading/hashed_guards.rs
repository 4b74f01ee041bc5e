//! Unique values in the keys of guards: hashed with the table's own key, or as they are in tables of before.

use std::sync::Arc;

use singlet_runtime::load::{self, LoadError};
use singlet_runtime::{Attributes, Caller, Engine, Item, OpenError, TableState, TableUse, Value, WriteRequest, table};
use singlet_store::{DeleteRequest, GetRequest, PutRequest, ScanRequest, Store};

use crate::probe::{MODEL, NOW, engine_on, items, load, memory, model, of_kind, opening};

const ADA: &str = r#"{"Agent": {"id": "ada", "name": "Ada", "email": "Ada@x.org"}}"#;
const SAME: &str = r#"{"Agent": {"id": "bob", "name": "Bob", "email": "ada@X.ORG"}}"#;

async fn made() -> Arc<dyn Store> {
    let store = memory();
    assert_eq!(open(&store, TableUse::Writing).await.unwrap(), TableState::Made);
    store
}

/// A process of its own on the table.
async fn open(store: &Arc<dyn Store>, used_for: TableUse) -> Result<TableState, OpenError> {
    engine_on(MODEL, store).open_table(&opening(used_for)).await
}

async fn opened(store: &Arc<dyn Store>) -> Engine {
    let engine = engine_on(MODEL, store);
    engine.open_table(&opening(TableUse::Writing)).await.unwrap();
    engine
}

/// Why the table does not take the line.
async fn taken(engine: &Engine, line: &str) -> String {
    let error = load(engine, line).await.unwrap_err();
    assert!(matches!(error, LoadError::Table { .. }), "{error:?}");
    error.to_string()
}

fn text(item: &Item, name: &str) -> String {
    item.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

async fn guards(engine: &Engine) -> Vec<String> {
    let found = of_kind(engine, "$unique").await;
    found.iter().map(|item| text(item, "PK")).collect()
}

fn key_row() -> Item {
    [("PK", "$singlet..guards"), ("SK", "$")]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), Value::S(value.to_owned())))
        .collect()
}

async fn stored_key(store: &Arc<dyn Store>) -> Option<Item> {
    let request = GetRequest {
        table: "Probe".to_owned(),
        key: key_row(),
        consistent: true,
        projection: Default::default(),
    };
    store.get(&request).await.unwrap().item
}

async fn lose_key(store: &Arc<dyn Store>) {
    let request = DeleteRequest {
        table: "Probe".to_owned(),
        key: key_row(),
        ..DeleteRequest::default()
    };
    store.delete(&request).await.unwrap();
}

#[tokio::test]
async fn in_a_table_that_is_made_no_key_holds_a_unique_value() {
    let store = made().await;
    let first = opened(&store).await;
    load(&first, ADA).await.unwrap();
    let guards = guards(&first).await;
    assert_eq!(guards.len(), 1);
    let hash = guards[0].strip_prefix("$unique#Agent#email#").unwrap();
    assert!(
        hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{hash}"
    );
    for item in items(&first).await {
        let keys = ["PK", "SK", "GP", "GS", "$of"].map(|name| text(&item, name).to_lowercase());
        assert!(keys.iter().all(|key| !key.contains("ada@")), "{keys:?}");
    }
    // Each process finds the key in the table: one that opens it, and one that only writes.
    for engine in [opened(&store).await, engine_on(MODEL, &store)] {
        let said = taken(&engine, SAME).await;
        assert!(
            said.contains("another row with this `email`, which is unique"),
            "{said}"
        );
    }
}

#[tokio::test]
async fn every_table_has_a_key_of_its_own_and_rows_go_from_one_to_another() {
    let (here, there) = (opened(&made().await).await, opened(&made().await).await);
    load(&here, ADA).await.unwrap();
    let mut lines = Vec::new();
    load::dump_rows(&here, NOW, &mut lines).await.unwrap();
    let lines = String::from_utf8(lines).unwrap();
    assert!(!lines.contains("$guard_key"), "{lines}");
    load(&there, &lines).await.unwrap();
    let (one, other) = (guards(&here).await, guards(&there).await);
    assert_eq!((one.len(), other.len()), (1, 1));
    assert_ne!(one, other);
    taken(&there, SAME).await;
}

#[tokio::test]
async fn a_table_of_before_keeps_its_values_as_they_are() {
    let store = memory();
    store.create_table(&table::table_spec(&model(MODEL))).await.unwrap();
    let before = engine_on(MODEL, &store);
    load(&before, ADA).await.unwrap();
    assert_eq!(open(&store, TableUse::Writing).await.unwrap(), TableState::Adopted(1));
    assert_eq!(open(&store, TableUse::Adopting).await.unwrap(), TableState::Adopted(1));
    assert!(stored_key(&store).await.is_none());
    let now = opened(&store).await;
    assert_eq!(guards(&now).await, ["$unique#Agent#email#ada@x.org"]);
    taken(&now, SAME).await;
    taken(&before, SAME).await;
}

#[tokio::test]
async fn an_empty_table_that_somebody_else_made_gets_a_key_when_it_is_adopted() {
    let store = memory();
    store.create_table(&table::table_spec(&model(MODEL))).await.unwrap();
    let shared = |used_for| singlet_runtime::TableOpening {
        company: singlet_face::Company::Shared,
        ..opening(used_for)
    };
    let engine = engine_on(MODEL, &store);
    // Nobody else would know of it.
    engine.open_table(&shared(TableUse::Reading)).await.unwrap();
    engine.open_table(&shared(TableUse::Writing)).await.unwrap();
    assert!(stored_key(&store).await.is_none());
    engine.open_table(&shared(TableUse::Adopting)).await.unwrap();
    assert!(stored_key(&store).await.is_some());
    load(&engine, ADA).await.unwrap();
    assert!(!guards(&engine).await[0].contains("ada@"));
    taken(&opened(&store).await, SAME).await;
}

#[tokio::test]
async fn a_table_whose_key_is_lost_or_another_is_refused() {
    let store = made().await;
    load(&opened(&store).await, ADA).await.unwrap();
    let key = stored_key(&store).await.unwrap();
    let refused = async |used_for| open(&store, used_for).await.unwrap_err().to_string();
    lose_key(&store).await;
    let put = async |value: Value| {
        let mut item = key.clone();
        item.insert("$guard_key".to_owned(), value);
        let request = PutRequest {
            table: "Probe".to_owned(),
            item,
            ..PutRequest::default()
        };
        store.put(&request).await.unwrap();
    };
    for used_for in [TableUse::Writing, TableUse::Reading] {
        let said = refused(used_for).await;
        assert!(said.contains("the key of the table's guards"), "{said}");
        assert!(said.contains("could be taken twice"), "{said}");
    }
    // Looking at the rows does not help: the guard of the value is not where it would be made.
    let said = refused(TableUse::Adopting).await;
    assert!(
        said.contains("1 rows that the model would not have written so"),
        "{said}"
    );
    put(Value::B(vec![7; 32])).await;
    assert!(
        refused(TableUse::Writing)
            .await
            .contains("the key of the table's guards")
    );
    for wrong in [Value::B(vec![7; 31]), Value::S("7".repeat(32))] {
        put(wrong).await;
        assert!(refused(TableUse::Writing).await.contains("cannot be read"));
        // Nor does who never opened it write guards of another form.
        let error = load(&engine_on(MODEL, &store), SAME).await.unwrap_err().to_string();
        assert!(error.contains("cannot be read"), "{error}");
    }
    put(key["$guard_key"].clone()).await;
    assert_eq!(open(&store, TableUse::Writing).await.unwrap(), TableState::Known);
}

#[tokio::test]
async fn of_many_who_make_a_table_at_once_all_have_one_key() {
    let store = memory();
    let engines: Vec<Engine> = (0..8).map(|_| engine_on(MODEL, &store)).collect();
    let way = opening(TableUse::Writing);
    let states = futures_util::future::join_all(engines.iter().map(|engine| engine.open_table(&way))).await;
    assert!(states.iter().all(Result::is_ok), "{states:?}");
    load(&engines[0], ADA).await.unwrap();
    for engine in &engines[1..] {
        taken(engine, SAME).await;
    }
}

/// Killed between making the table and keeping its key.
#[tokio::test]
async fn a_table_that_was_made_by_half_gets_its_key_at_the_next_opening() {
    let store = memory();
    store.create_table(&table::table_spec(&model(MODEL))).await.unwrap();
    assert_eq!(open(&store, TableUse::Writing).await.unwrap(), TableState::Adopted(0));
    assert!(stored_key(&store).await.is_some());
}

/// Where no control row could be told from an entity's, the key is in the table beside.
#[tokio::test]
async fn the_key_is_beside_where_the_control_row_is() {
    let bare = "singlet: 1\nname: bare\ntable: {name: Bare, key: {partition: id}, type: kind}\n\
        entities: {Thing: {attributes: {id: string 1..40, n: int}, key: {id: \"{id}\"}, unique: {n: n}}}\n";
    let store = memory();
    let engine = engine_on(bare, &store);
    engine.open_table(&opening(TableUse::Writing)).await.unwrap();
    load(&engine, r#"{"Thing": {"id": "a", "n": 1}}"#).await.unwrap();
    let scan = async |table: &str| {
        let request = ScanRequest {
            table: table.to_owned(),
            ..ScanRequest::default()
        };
        store.scan(&request).await.unwrap().items
    };
    let own = scan("Bare").await;
    assert!(
        own.iter().all(|item| !text(item, "id").starts_with("$singlet")),
        "{own:?}"
    );
    assert!(
        own.iter()
            .any(|item| text(item, "id").starts_with("$unique#Thing#n#") && text(item, "id").len() == 16 + 64)
    );
    let beside = scan("Bare.singlet").await;
    assert!(beside.iter().any(|item| text(item, "PK") == "$singlet..guards"));
    // Another process, opened or not.
    let other = engine_on(bare, &store);
    taken(&other, r#"{"Thing": {"id": "b", "n": 1}}"#).await;
}

/// A system's own writes claim, move and release hashed guards.
#[tokio::test]
async fn a_value_is_claimed_moved_and_freed() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../systems/todo/model.yaml");
    let text = std::fs::read_to_string(path).unwrap();
    let store = memory();
    let engine = engine_on(&text, &store);
    engine.create_table().await.unwrap();
    let write = async |name: &str, caller: &str, args: &[(&str, &str)]| {
        let args: Attributes = args
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Value::S((*value).to_owned())))
            .collect();
        let request = WriteRequest {
            args,
            caller: Caller::with_id(caller),
            now: NOW,
            ..WriteRequest::default()
        };
        engine
            .write(name, &request)
            .await
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    let email = |email| [("email", email), ("name", "A")];
    let taken = Err("refused: email_taken".to_owned());
    write("registerUser", "ada", &email("ada@x.org")).await.unwrap();
    assert_eq!(write("registerUser", "bob", &email("ADA@x.org")).await, taken);
    write("registerUser", "bob", &email("bob@x.org")).await.unwrap();
    write("updateUser", "ada", &email("ada@y.org")).await.unwrap();
    assert_eq!(write("updateUser", "bob", &email("ada@Y.org")).await, taken);
    write("updateUser", "bob", &email("ada@x.org")).await.unwrap();
    write("deleteUser", "ada", &[]).await.unwrap();
    write("updateUser", "bob", &email("ada@y.org")).await.unwrap();
    write("deleteUser", "bob", &[]).await.unwrap();
    let request = ScanRequest {
        table: engine.model().table.name.clone(),
        ..ScanRequest::default()
    };
    let left = store.scan(&request).await.unwrap().items;
    let kinds: Vec<String> = left.iter().map(|item| self::text(item, "entity_type")).collect();
    assert!(kinds.iter().all(|kind| kind == "$singlet"), "{kinds:?}");
}
