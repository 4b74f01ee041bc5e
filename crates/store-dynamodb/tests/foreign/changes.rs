//! Changes of a model's rows, told from the stream of a foreign endpoint.

use std::collections::BTreeSet;
use std::sync::Arc;

use singlet_changes::{Change, ChangeReader, ChangeSource, FollowError, Follower, Followers, Told};
use singlet_model::Source;
use singlet_runtime::{Attributes, Caller, Engine, Value, WriteRequest, table};
use singlet_store::{Store, StreamPosition, TransactWrite, Update, UpdateRequest};

use crate::place;

const NOW: i64 = 1_794_830_400_000;

fn model(name: &str) -> String {
    format!(
        r#"
singlet: 1
name: changes
table: {{name: {name}, key: {{partition: PK, sort: SK}}, type: kind, stream: both_images}}
entities:
  Note:
    attributes: {{id: string 1..8, n: int 0.. = 0}}
    key: {{PK: "NOTE#{{id}}", SK: "NOTE"}}
    unique: {{id: id}}
  Price:
    attributes: {{sku: string 1..8, since: time, until: time?, gone: bool = false, cents: int 0..}}
    key: {{PK: "SKU#{{sku}}", SK: "{{since}}"}}
    history: {{at: since, until: until, tombstone: gone}}
writes:
  add: {{allow: true, do: [{{create: Note, take: [id]}}]}}
  raise: {{allow: true, args: {{id: string 1..8}}, do: [{{update: Note(args.id), add: {{n: 1}}}}]}}
  drop: {{allow: true, args: {{id: string 1..8}}, do: [{{delete: Note(args.id)}}]}}
  price: {{allow: true, args: {{sku: string 1..8}}, do: [{{create: Price, set: {{sku: args.sku, cents: 1}}}}]}}
  reprice: {{allow: true, args: {{sku: string 1..8}}, do: [{{update: Price(args.sku), add: {{cents: 1}}}}]}}
  unprice: {{allow: true, args: {{sku: string 1..8}}, do: [{{delete: Price(args.sku)}}]}}
"#
    )
}

async fn open(name: &str) -> (Engine, Arc<dyn Store>) {
    let store = place::streamed_store().await;
    let loaded = singlet_model::load_source(&Source::new("changes.yaml", model(name)));
    assert!(!loaded.diagnostics.has_errors(), "{:?}", loaded.diagnostics);
    let model = Arc::new(loaded.model.unwrap());
    store.create_table(&table::table_spec(&model)).await.unwrap();
    let engine = Engine::open(model, Arc::clone(&store), Attributes::new(), [1; 32]);
    (engine, store)
}

async fn write(engine: &Engine, at: i64, name: &str, argument: &str, value: &str) {
    let request = WriteRequest {
        args: Attributes::from([(argument.to_owned(), Value::S(value.to_owned()))]),
        caller: Caller::with_id("ada"),
        now: NOW + at * 1_000,
        ..WriteRequest::default()
    };
    engine.write(name, &request).await.unwrap();
}

fn changes(told: Vec<Told>) -> Vec<Change> {
    let change = |told| match told {
        Told::Change(change) => change,
        Told::Misfit(misfit) => panic!("{misfit}"),
    };
    told.into_iter().map(change).collect()
}

fn source(store: &Arc<dyn Store>) -> Arc<dyn ChangeSource> {
    Arc::new(Arc::clone(store))
}

#[tokio::test]
async fn what_happens_to_rows_is_told_as_on_the_embedded_store() {
    let (engine, store) = open("changes-told").await;
    for name in ["add", "raise", "drop"] {
        write(&engine, 0, name, "id", "a").await;
    }
    for (at, name) in ["price", "reprice", "unprice", "price"].into_iter().enumerate() {
        write(&engine, i64::try_from(at).unwrap(), name, "sku", "x").await;
    }
    let mut reader = ChangeReader::new(Arc::clone(engine.model()), source(&store), StreamPosition::Start);
    let mut all = Vec::new();
    while !reader.is_at_head() {
        all.extend(changes(reader.next_page().await.unwrap().told));
    }
    let number =
        |row: &Option<Attributes>, name: &str| row.as_ref().map(|row| row[name].as_number().unwrap().to_string());
    let of = |entity: &str, name: &str| -> Vec<_> {
        let own = all.iter().filter(|change| change.entity == entity);
        own.map(|change| {
            (
                change.kind.word(),
                number(&change.before, name),
                number(&change.after, name),
            )
        })
        .collect()
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        of("Note", "n"),
        [
            ("created", None, some("0")),
            ("updated", some("0"), some("1")),
            ("deleted", some("1"), None),
        ]
    );
    assert_eq!(
        of("Price", "cents"),
        [
            ("created", None, some("1")),
            ("updated", some("1"), some("2")),
            ("deleted", some("2"), None),
            ("created", None, some("1")),
        ]
    );
}

#[tokio::test]
async fn a_follower_goes_on_where_it_was_and_what_it_keeps_counts_once() {
    let (engine, store) = open("changes-followed").await;
    let followers = || Followers::new(Arc::clone(engine.model()), source(&store));
    drop(Follower::start(followers(), "count", NOW / 1_000).await.unwrap());
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let now = i64::try_from(now.as_secs()).unwrap();
    let mut seen = BTreeSet::new();
    for turn in 0..5 {
        write(&engine, 0, "add", "id", &format!("a{turn}")).await;
        let mut one = Follower::start(followers(), "count", now).await.unwrap();
        let mut other = Follower::start(followers(), "count", now).await.unwrap();
        for follower in [&mut one, &mut other] {
            let mut found = Vec::new();
            while found.is_empty() && !follower.is_at_head() {
                found = changes(follower.next_page(now).await.unwrap().told);
            }
            assert_eq!(found.len(), 1, "{found:?}");
            seen.insert(found[0].id.clone());
            let tally = TransactWrite::Update(UpdateRequest {
                table: engine.model().table.name.clone(),
                key: ["PK", "SK"].map(|name| (name.to_owned(), "TALLY".into())).into(),
                update: Update::new().add("n", 1_i64),
                ..UpdateRequest::default()
            });
            let done = follower.commit(store.as_ref(), vec![tally], now).await;
            assert!(matches!(done, Ok(()) | Err(FollowError::Overtaken)), "{done:?}");
        }
    }
    assert_eq!(seen.len(), 5);
    let get = singlet_store::GetRequest {
        table: engine.model().table.name.clone(),
        key: ["PK", "SK"].map(|name| (name.to_owned(), "TALLY".into())).into(),
        consistent: true,
        projection: Default::default(),
    };
    let tally = store.get(&get).await.unwrap().item.unwrap();
    assert_eq!(tally["n"], 5_i64.into());
}
