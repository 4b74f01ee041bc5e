//! A service behind a gate: nothing is let through while its table is migrated, nor once it is another model's.

use std::time::Duration;

use singlet_migrate::{GATE_BEAT, behind_gate};
use singlet_runtime::{Engine, Migration, MigrationPhase};
use singlet_store::{GetRequest, ItemLookup, WantedItem};

use super::pairs::{OLD, PAIRS};
use super::support::{Table, migrated, old_table, options};

/// Waits until a read is let through, or is not; what is told then.
async fn told_when(engine: &Engine, table: &Table, is_let_through: bool) -> Option<&'static str> {
    let request = GetRequest {
        table: table.name.clone(),
        key: table
            .contents()
            .await
            .into_values()
            .next()
            .map(|item| singlet_runtime::key_in(engine.model(), &item))
            .unwrap(),
        ..GetRequest::default()
    };
    for _ in 0..100 {
        let asked = engine.store().get(&request).await;
        let key: Vec<(&str, _)> = request
            .key
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone()))
            .collect();
        let at_once = engine.store().get_at_once(ItemLookup {
            table: &request.table,
            key: &key,
            consistent: false,
            projection: &request.projection,
            wanted: WantedItem::default(),
        });
        if asked.is_ok() == is_let_through {
            assert!(at_once.is_none_or(|at_once| at_once.is_ok() == is_let_through));
            return asked.err().and_then(|error| error.told_publicly());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("after five seconds");
}

#[tokio::test]
async fn a_gate_closes_while_the_table_is_migrated_and_stays_closed_to_the_old_model() {
    let pair = &PAIRS[1];
    let (table, old) = old_table(3).await;
    let new = table.engine(&pair.new_model());
    let served = behind_gate(table.engine(OLD)).await.unwrap();
    assert_eq!(told_when(&served, &table, true).await, None);
    let control = old.table_control().await.unwrap().unwrap();
    let migration = Migration {
        phase: MigrationPhase::Look,
        target: new.face_in_table().await.unwrap().face_hash(),
        source: None,
        drops: false,
    };
    assert!(old.set_migration(&control, Some(&migration)).await.unwrap());
    let told = told_when(&served, &table, false).await;
    assert_eq!(told, Some("the table is being migrated"));
    // Aborted, it goes on by itself.
    let control = old.table_control().await.unwrap().unwrap();
    assert!(old.set_migration(&control, None).await.unwrap());
    assert_eq!(told_when(&served, &table, true).await, None);
    migrated(&old, &new, options(pair)).await.unwrap();
    tokio::time::sleep(GATE_BEAT * 2).await;
    let told = told_when(&served, &table, false).await.unwrap();
    assert!(told.contains("another model"), "{told}");
}
