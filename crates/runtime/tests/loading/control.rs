//! Tables that know their model.

use std::sync::Arc;

use singlet_face::Company;
use singlet_runtime::{Engine, Item, OpenError, TableOpening, TableState, TableUse, Value, table};
use singlet_store::{PutRequest, ScanRequest, Store};
use singlet_store_embedded::EmbeddedStore;

use crate::probe::{MODEL, NOW, engine_on, load, memory, opening};

fn changed(from: &str, to: &str) -> String {
    assert!(MODEL.contains(from), "{from}");
    MODEL.replacen(from, to, 1)
}

async fn open(text: &str, store: &Arc<dyn Store>, used_for: TableUse) -> Result<TableState, String> {
    let engine = engine_on(text, store);
    engine
        .open_table(&opening(used_for))
        .await
        .map_err(|error| error.to_string())
}

/// Every control row of a table, by its partition key; the key of its guards is none of them.
async fn control_rows(store: &Arc<dyn Store>, table: &str) -> Vec<String> {
    let request = ScanRequest {
        table: table.to_owned(),
        ..ScanRequest::default()
    };
    let items = store.scan(&request).await.unwrap().items.into_iter();
    let keys = items.filter_map(|item| item.get("PK").and_then(Value::as_str).map(str::to_owned));
    keys.filter(|key| key.starts_with("$singlet.") && key != "$singlet..guards")
        .collect()
}

const ADA: &str = r#"{"Agent": {"id": "ada", "name": "Ada", "email": "a@x.org"}}"#;

async fn with_ada(text: &str) -> Arc<dyn Store> {
    let store = memory();
    let engine = engine_on(text, &store);
    assert_eq!(
        engine.open_table(&opening(TableUse::Writing)).await.unwrap(),
        TableState::Made
    );
    load(&engine, ADA).await.unwrap();
    store
}

#[tokio::test]
async fn a_model_that_goes_together_is_served_and_another_is_refused_with_what_differs() {
    let store = with_ada(MODEL).await;
    assert_eq!(open(MODEL, &store, TableUse::Writing).await, Ok(TableState::Known));
    let more = changed("      text: string?\n", "      text: string?\n      more: string?\n");
    assert_eq!(open(&more, &store, TableUse::Writing).await, Ok(TableState::Known));
    let moved = changed("PK: \"AGENT#{id}\", SK: \"AGENT\"", "PK: \"AG#{id}\", SK: \"AGENT\"");
    let said = open(&moved, &store, TableUse::Writing).await.unwrap_err();
    assert!(
        said.contains("`Agent`, the key: was PK `AGENT#{id}` SK `AGENT`, is PK `AG#{id}` SK `AGENT`"),
        "{said}"
    );
    let wider = changed("no: int 0..999", "no: int 0..9999");
    assert!(
        open(&wider, &store, TableUse::Reading)
            .await
            .unwrap_err()
            .contains("`Ticket`, the key")
    );
    let required = changed("      data: json?\n", "      data: json?\n      owner: string\n");
    assert!(
        open(&required, &store, TableUse::Writing)
            .await
            .unwrap_err()
            .contains("`Blob`, attribute `owner`")
    );
}

#[tokio::test]
async fn every_model_that_wrote_rows_counts_until_the_table_is_adopted() {
    let store = with_ada(MODEL).await;
    let wider = changed("name: string 1..20\n      email", "name: string 1..40\n      email");
    assert_eq!(open(&wider, &store, TableUse::Writing).await, Ok(TableState::Known));
    // Back to the first: rows of the second may be longer.
    let said = open(MODEL, &store, TableUse::Writing).await.unwrap_err();
    assert!(
        said.contains("`Agent`, attribute `name`: was string 1..40, is string 1..20"),
        "{said}"
    );
    // No row is: it may be taken over.
    assert_eq!(
        open(MODEL, &store, TableUse::Adopting).await,
        Ok(TableState::Adopted(1))
    );
    assert_eq!(open(MODEL, &store, TableUse::Writing).await, Ok(TableState::Known));
    assert_eq!(
        control_rows(&store, "Probe").await.len(),
        3,
        "the row, and one face with its model"
    );
}

#[tokio::test]
async fn a_table_is_adopted_only_where_its_rows_fit() {
    let store = with_ada(MODEL).await;
    let cases = [
        (
            "points: int 0..99 = 0",
            "points: int 1..99 = 1",
            "`points`: `0` must be",
        ),
        (
            "PK: \"AGENT#{id}\", SK: \"AGENT\"",
            "PK: \"AG#{id}\", SK: \"AGENT\"",
            "`PK` is \"AGENT#ada\", and would be \"AG#ada\"",
        ),
        (
            "    unique: {email: lower(email)}",
            "    unique: {email: email, name: name}",
            "the guard of its `name` is not there",
        ),
        (
            "      version: version\n",
            "      version: version\n      rank: int = 1\n",
            "`rank` is missing",
        ),
        (
            "    unique: {email: lower(email)}",
            "    unique: {email: lower(email)}\n    index: {GSI: {GP: \"A\", GS: \"{name}\"}}",
            "`GP` is absent, and would be \"A\"",
        ),
        (
            "      version: version\n",
            "      version: version\n      low: {is: lower(name)}\n",
            "`low`",
        ),
    ];
    for (from, to, words) in cases {
        let said = open(&changed(from, to), &store, TableUse::Adopting).await.unwrap_err();
        assert!(said.contains(words), "{to}: {said}");
        // And still its own.
        assert_eq!(
            open(MODEL, &store, TableUse::Writing).await,
            Ok(TableState::Known),
            "{to}"
        );
    }
}

#[tokio::test]
async fn a_table_of_before_is_adopted_where_nobody_else_is_and_reading_writes_nothing() {
    let store = memory();
    let engine = engine_on(MODEL, &store);
    store.create_table(&table::table_spec(engine.model())).await.unwrap();
    load(&engine, ADA).await.unwrap();
    assert_eq!(open(MODEL, &store, TableUse::Reading).await, Ok(TableState::Unknown));
    assert_eq!(control_rows(&store, "Probe").await, Vec::<String>::new());
    let shared = |used_for| TableOpening {
        company: Company::Shared,
        ..opening(used_for)
    };
    assert_eq!(
        engine.open_table(&shared(TableUse::Writing)).await.unwrap(),
        TableState::Unknown
    );
    assert_eq!(control_rows(&store, "Probe").await, Vec::<String>::new());
    let other = changed("name: string 1..20\n      email", "name: string 5..20\n      email");
    assert!(
        open(&other, &store, TableUse::Writing)
            .await
            .unwrap_err()
            .contains("1 rows that the model would not")
    );
    assert_eq!(open(MODEL, &store, TableUse::Writing).await, Ok(TableState::Adopted(1)));
    assert_eq!(
        engine.open_table(&shared(TableUse::Writing)).await.unwrap(),
        TableState::Known
    );
    assert_eq!(
        engine.open_table(&shared(TableUse::Adopting)).await.unwrap(),
        TableState::Adopted(1)
    );
}

#[tokio::test]
async fn in_company_a_model_must_be_read_by_those_that_run() {
    let store = with_ada(MODEL).await;
    let optional = changed("name: string 1..20\n      email", "name: string? 1..20\n      email");
    let optional = optional
        .replace("      by: {copy: Agent(agent).name, kept: transaction}\n", "")
        .replace("      first: {copy: Agent(agent).name, kept: frozen}\n", "");
    let engine = engine_on(&optional, &store);
    let shared = TableOpening {
        company: Company::Shared,
        ..opening(TableUse::Writing)
    };
    let said = engine.open_table(&shared).await.unwrap_err().to_string();
    assert!(said.contains("a process of the other model that still runs"), "{said}");
    assert_eq!(
        engine.open_table(&opening(TableUse::Writing)).await.unwrap(),
        TableState::Known
    );
}

/// A process was killed after it made the table, or after it kept its face, and before the control row.
#[tokio::test]
async fn what_was_begun_and_not_ended_is_ended_at_the_next_opening() {
    let store = memory();
    let engine = engine_on(MODEL, &store);
    store.create_table(&table::table_spec(engine.model())).await.unwrap();
    assert_eq!(open(MODEL, &store, TableUse::Writing).await, Ok(TableState::Adopted(0)));
    let request = ScanRequest {
        table: "Probe".to_owned(),
        ..ScanRequest::default()
    };
    for item in store
        .scan(&request)
        .await
        .unwrap()
        .items
        .iter()
        .filter(|item| item.contains_key("$epoch"))
    {
        let key: Item = ["PK", "SK"]
            .into_iter()
            .map(|name| (name.to_owned(), item[name].clone()))
            .collect();
        let request = singlet_store::DeleteRequest {
            table: "Probe".to_owned(),
            key,
            ..singlet_store::DeleteRequest::default()
        };
        store.delete(&request).await.unwrap();
    }
    assert_eq!(control_rows(&store, "Probe").await.len(), 2);
    assert_eq!(open(MODEL, &store, TableUse::Writing).await, Ok(TableState::Adopted(0)));
    assert_eq!(control_rows(&store, "Probe").await.len(), 3);
}

#[tokio::test]
async fn of_many_who_open_at_once_all_are_known_or_told() {
    let store = memory();
    let texts: Vec<String> = (0..6)
        .map(|at| {
            changed(
                "      text: string?\n",
                &format!("      text: string?\n      more{at}: string?\n"),
            )
        })
        .collect();
    let engines: Vec<Engine> = texts.iter().map(|text| engine_on(text, &store)).collect();
    let way = opening(TableUse::Writing);
    let opened = futures_util::future::join_all(engines.iter().map(|engine| engine.open_table(&way))).await;
    for state in opened {
        state.unwrap();
    }
    // The row, and a face and a model for each: none was lost to another.
    assert_eq!(control_rows(&store, "Probe").await.len(), 13);
}

/// Where a row of an entity could be taken for it, the control row is in a table beside.
#[tokio::test]
async fn the_control_row_is_never_mistaken_for_an_entity() {
    let bare = "singlet: 1\nname: bare\ntable: {name: Bare, key: {partition: id}, type: kind}\n\
        entities: {Thing: {attributes: {id: string 1..40, n: int}, key: {id: \"{id}\"}}}\n";
    let untyped = "singlet: 1\nname: bare\ntable: {name: Bare, key: {partition: PK, sort: SK}, type: none}\n\
        entities: {Thing: {attributes: {id: string 1..40, n: int}, key: {PK: \"T#{id}\", SK: \"T\"}}}\n";
    let number = "singlet: 1\nname: bare\ntable: {name: Bare, key: {partition: {name: n, type: number}}, type: kind}\n\
        entities: {Thing: {attributes: {id: string 1..40, n: int}, key: {n: \"{n}\"}}}\n";
    for text in [bare, untyped, number] {
        let store = memory();
        assert_eq!(
            open(text, &store, TableUse::Writing).await,
            Ok(TableState::Made),
            "{text}"
        );
        assert_eq!(store.list_tables().await.unwrap(), ["Bare", "Bare.singlet"], "{text}");
        let engine = engine_on(text, &store);
        load(&engine, r#"{"Thing": {"id": "$singlet.bare", "n": 1}}"#)
            .await
            .unwrap();
        assert_eq!(
            open(text, &store, TableUse::Writing).await,
            Ok(TableState::Known),
            "{text}"
        );
        let other = text.replace("n: int}", "n: int, m: int}");
        assert!(
            open(&other, &store, TableUse::Writing)
                .await
                .unwrap_err()
                .contains("attribute `m`"),
            "{text}"
        );
        let request = ScanRequest {
            table: "Bare".to_owned(),
            ..ScanRequest::default()
        };
        assert_eq!(store.scan(&request).await.unwrap().items.len(), 1, "{text}");
    }
}

#[tokio::test]
async fn two_systems_may_share_a_table() {
    let store = with_ada(MODEL).await;
    let other = MODEL
        .replace("name: probe\n", "name: second\n")
        .replace("AGENT#", "PERSON#");
    assert_eq!(open(&other, &store, TableUse::Reading).await, Ok(TableState::Unknown));
    // Rows of the first that have kinds of the second do not fit it.
    assert!(open(&other, &store, TableUse::Writing).await.is_err());
    let apart = other
        .replace("  Agent:", "  Person:")
        .replace("Agent.", "Person.")
        .replace("Agent(", "Person(");
    assert_eq!(
        open(&apart, &store, TableUse::Writing).await,
        Ok(TableState::Adopted(0))
    );
    assert_eq!(open(MODEL, &store, TableUse::Writing).await, Ok(TableState::Known));
}

#[tokio::test]
async fn a_folder_knows_its_model_when_it_is_opened_again() {
    let folder = std::env::temp_dir().join(format!("singlet-control-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    {
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(&folder).unwrap());
        assert_eq!(open(MODEL, &store, TableUse::Writing).await, Ok(TableState::Made));
        load(&engine_on(MODEL, &store), ADA).await.unwrap();
    }
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(&folder).unwrap());
    assert_eq!(open(MODEL, &store, TableUse::Reading).await, Ok(TableState::Known));
    let moved = changed("SK: \"TICKET#{no}\"", "SK: \"T#{no}\"");
    assert!(open(&moved, &store, TableUse::Reading).await.is_err());
    drop(store);
    let _ = std::fs::remove_dir_all(&folder);
}

#[tokio::test]
async fn what_cannot_be_read_of_a_control_row_is_refused() {
    let store = with_ada(MODEL).await;
    let mut item = Item::new();
    for (name, value) in [
        ("PK", "$singlet.probe"),
        ("SK", "$"),
        ("kind", "$singlet"),
        ("$epoch", "later"),
    ] {
        item.insert(name.to_owned(), Value::from(value));
    }
    let request = PutRequest {
        table: "Probe".to_owned(),
        item,
        ..PutRequest::default()
    };
    store.put(&request).await.unwrap();
    assert!(
        open(MODEL, &store, TableUse::Writing)
            .await
            .unwrap_err()
            .contains("another version of Singlet")
    );
}

#[tokio::test]
async fn a_missing_table_is_made_only_where_that_is_wanted() {
    let engine = engine_on(MODEL, &memory());
    let way = TableOpening {
        makes_tables: false,
        ..opening(TableUse::Writing)
    };
    assert!(matches!(engine.open_table(&way).await, Err(OpenError::NoTable)));
    assert_eq!(NOW, way.now);
}

/// A table has the text of every model that wrote its rows, the last first; one of before gets it when it is opened to write.
#[tokio::test]
async fn the_text_of_a_model_is_kept_with_its_face() {
    let store = with_ada(MODEL).await;
    let wider = changed("name: string 1..20\n      email", "name: string 1..40\n      email");
    open(&wider, &store, TableUse::Writing).await.unwrap();
    let engine = engine_on(&wider, &store);
    let texts = |models: Vec<(String, String)>| -> Vec<String> { models.into_iter().map(|(_, text)| text).collect() };
    assert_eq!(texts(engine.known_models().await.unwrap()), [wider.as_str(), MODEL]);
    let request = ScanRequest {
        table: "Probe".to_owned(),
        ..ScanRequest::default()
    };
    for item in store.scan(&request).await.unwrap().items {
        if item.contains_key("$model") {
            let request = singlet_store::DeleteRequest {
                table: "Probe".to_owned(),
                key: singlet_runtime::key_in(engine.model(), &item),
                ..singlet_store::DeleteRequest::default()
            };
            store.delete(&request).await.unwrap();
        }
    }
    assert_eq!(engine.known_models().await.unwrap(), []);
    open(&wider, &store, TableUse::Reading).await.unwrap();
    assert_eq!(engine.known_models().await.unwrap(), []);
    open(&wider, &store, TableUse::Writing).await.unwrap();
    assert_eq!(texts(engine.known_models().await.unwrap()), [wider.as_str()]);
}
