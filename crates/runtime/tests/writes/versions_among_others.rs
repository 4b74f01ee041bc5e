//! The last version of a row, looked for among many other rows.

use std::sync::Arc;

use singlet_model::Source;
use singlet_runtime::{Attributes, Bounds, Caller, Engine, RuntimeError, Value, WriteRequest};
use singlet_store_embedded::EmbeddedStore;

const RATES: &str = r##"
singlet: 1
name: rates
table: {name: rates, key: {partition: PK, sort: SK}, type: kind}
callers: {jwt: {audience: rates, claims: {id: sub}}}
entities:
  Rate:
    attributes: {code: string 1..5, from: time, until: time?, amount: int}
    key: {PK: "RATE#{code}", SK: "{from}"}
    history: {at: from, until: until}
  Note:
    attributes: {code: string 1..5, id: int 0..99}
    key: {PK: "RATE#{code}", SK: "NOTE#{id}"}
writes:
  setRate:
    allow: caller.authenticated
    do: [{upsert: Rate(args.code), take: [amount]}]
    args: {code: Rate.code}
"##;

#[tokio::test]
async fn it_is_looked_for_only_so_far() {
    let loaded = singlet_model::load_source(&Source::new("rates.yaml", RATES));
    let model = Arc::new(loaded.model.filter(|_| !loaded.diagnostics.has_errors()).unwrap());
    let store = Arc::new(EmbeddedStore::memory().unwrap());
    let engine = |rounds_max| {
        let bounds = Bounds {
            versions_per_call: 1,
            rounds_max,
            ..Bounds::USUAL
        };
        Engine::open(Arc::clone(&model), store.clone(), Attributes::new(), [1; 32]).bounded(bounds)
    };
    let set = async |rounds_max: usize, now: i64| {
        let request = WriteRequest {
            args: Attributes::from([
                ("code".to_owned(), Value::from("A")),
                ("amount".to_owned(), Value::from(now)),
            ]),
            caller: Caller::with_id("ada"),
            now: 1_780_000_000_000 + now,
            ..WriteRequest::default()
        };
        engine(rounds_max).write("setRate", &request).await
    };
    engine(1).create_table().await.unwrap();
    set(1, 0).await.unwrap();
    // Five rows stand behind it, and so does its end.
    let notes: Vec<String> = (0..5)
        .map(|id| format!(r#"{{"Note": {{"code": "A", "id": {id}}}}}"#))
        .collect();
    engine(9).load_lines(&notes.join("\n")).await.unwrap();
    set(6, 1).await.unwrap();
    for rounds_max in [1, 2, 5] {
        match set(rounds_max, 2).await {
            Err(RuntimeError::Request(reason)) => assert!(
                reason.contains(&format!("more than {rounds_max} times for the last version of `Rate`")),
                "{reason}"
            ),
            other => panic!("{rounds_max}: {other:?}"),
        }
    }
}
