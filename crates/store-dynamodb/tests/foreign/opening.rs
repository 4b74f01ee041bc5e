//! Loading, and tables that know their model, where others may be at work.

use std::sync::Arc;

use singlet_face::Company;
use singlet_model::Source;
use singlet_runtime::{Attributes, Engine, TableOpening, TableState, TableUse, load, table};
use singlet_store::Store;

use crate::place;

const NOW: i64 = 1_780_000_000_000;

const MODEL: &str = r##"
singlet: 1
name: opening
table: {name: Opening, key: {partition: PK, sort: SK}, type: kind, ttl: ttl}
entities:
  Agent:
    attributes:
      id: string 1..8
      name: string 1..20
      email: string 3..40
    key: {PK: "AGENT#{id}", SK: "AGENT"}
    unique: {email: lower(email)}
"##;

fn engine(text: &str, store: &Arc<dyn Store>) -> Engine {
    let model = singlet_model::load_source(&Source::new("opening.yaml", text))
        .model
        .unwrap();
    Engine::open(Arc::new(model), Arc::clone(store), Attributes::new(), [1; 32])
}

async fn open(text: &str, store: &Arc<dyn Store>, used_for: TableUse) -> Result<TableState, String> {
    let opening = TableOpening {
        makes_tables: false,
        company: Company::Shared,
        used_for,
        now: NOW,
    };
    engine(text, store)
        .open_table(&opening)
        .await
        .map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_table_of_others_is_served_as_it_is_until_it_is_adopted() {
    let store = place::streamed_store().await;
    let ours = engine(MODEL, &store);
    assert_eq!(
        open(MODEL, &store, TableUse::Writing).await,
        Err("it is not there".to_owned())
    );
    store.create_table(&table::table_spec(ours.model())).await.unwrap();
    let lines = (0..40).map(|at| format!(r#"{{"Agent": {{"id": "a{at}", "name": "A", "email": "a{at}@x"}}}}"#));
    let lines = lines.collect::<Vec<_>>().join("\n");
    let loaded = load::load_text(&ours, &lines, NOW).await.unwrap();
    assert_eq!((loaded.rows, loaded.items), (40, 80));
    let again = load::load_text(&ours, &lines, NOW).await.unwrap();
    assert_eq!((again.rows, again.there), (0, 40));
    let taken = r#"{"Agent": {"id": "b", "name": "B", "email": "A7@X"}}"#;
    assert_eq!(
        load::load_text(&ours, taken, NOW).await.unwrap_err().to_string(),
        "line 1: `Agent`: the table has another row with this `email`, which is unique"
    );
    assert_eq!(open(MODEL, &store, TableUse::Writing).await, Ok(TableState::Unknown));
    assert_eq!(
        open(MODEL, &store, TableUse::Adopting).await,
        Ok(TableState::Adopted(40))
    );
    assert_eq!(open(MODEL, &store, TableUse::Reading).await, Ok(TableState::Known));
    let moved = MODEL.replace("AGENT#{id}", "AG#{id}");
    assert!(
        open(&moved, &store, TableUse::Reading)
            .await
            .unwrap_err()
            .contains("`Agent`, the key")
    );
    // Old rows are read rightly, but a process of the first model would not find all of what this one writes.
    let optional = MODEL.replace("name: string 1..20", "name: string? 1..20");
    assert!(
        open(&optional, &store, TableUse::Writing)
            .await
            .unwrap_err()
            .contains("that still runs")
    );
    assert_eq!(
        open(&optional, &store, TableUse::Adopting).await,
        Ok(TableState::Adopted(40))
    );
    let mut out = Vec::new();
    assert_eq!(load::dump_rows(&ours, NOW, &mut out).await.unwrap().rows, 40);
}
