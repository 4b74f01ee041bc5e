//! Given up in each phase, and begun again.

use singlet_migrate::{BridgeGoal, MigrateError};
use singlet_runtime::{Migration, MigrationPhase};

use super::super::support::{assert_same, open_to_write};
use super::models::*;

/// Has the table say another phase, as a process that was killed there would have left it.
pub async fn set_phase(table: &super::super::support::Table, phase: MigrationPhase) {
    let old = table.engine(OLD);
    let control = old.table_control().await.unwrap().unwrap();
    let migration = Migration {
        phase,
        ..control.current_migration().unwrap().clone()
    };
    assert!(old.set_migration(&control, Some(&migration)).await.unwrap());
}

#[tokio::test]
async fn what_is_given_up_leaves_what_was() {
    use MigrationPhase as Phase;
    let phases = [
        Phase::Announce,
        Phase::Expand,
        Phase::Backfill,
        Phase::Verify,
        Phase::Switch,
        Phase::Settle,
        Phase::Withdraw,
        Phase::Retreat,
    ];
    for (new, phases) in [(new_model(), &phases[..]), (filled_model(), &phases[2..5])] {
        for phase in phases.iter().copied() {
            let table = old_table(3).await;
            let before = table.contents().await;
            let bridge = bridge_on(&table, &table.store, &new).await.unwrap();
            reach(&bridge, BridgeGoal::Both).await.unwrap();
            set_phase(&table, phase).await;
            let bridge = bridge_on(&table, &table.store, &new).await.unwrap();
            reach(&bridge, BridgeGoal::OldAlone).await.unwrap();
            assert_same(phase.word(), &table.contents().await, &before);
            let old = table.engine(OLD);
            open_to_write(&old).await.unwrap();
            let spec = table.store.describe_table(&table.name).await.unwrap().spec;
            assert_eq!(spec.indexes.len(), 1);
            let bridge = bridge_on(&table, &table.store, &new).await.unwrap();
            reach(&bridge, BridgeGoal::NewAlone).await.unwrap();
            assert_new(&table, &new).await;
        }
    }
}

#[tokio::test]
async fn once_the_old_rows_go_there_is_no_way_back() {
    let table = old_table(3).await;
    let bridge = bridge(&table).await;
    reach(&bridge, BridgeGoal::Both).await.unwrap();
    set_phase(&table, MigrationPhase::Contract).await;
    let late = reach(&bridge, BridgeGoal::OldAlone).await;
    assert!(
        matches!(late, Err(MigrateError::TooLate(MigrationPhase::Contract))),
        "{late:?}"
    );
}

/// What was written meanwhile by either stays when the old model goes on alone.
#[tokio::test]
async fn an_abort_loses_no_write() {
    let table = old_table(5).await;
    let bridge = bridge(&table).await;
    let (old, new) = sides(&bridge);
    reach(&bridge, BridgeGoal::Both).await.unwrap();
    write(
        &new,
        "add",
        [
            ("owner", text("ada")),
            ("number", number(60)),
            ("title", text("by new")),
        ],
    )
    .await
    .unwrap();
    write(
        &old,
        "add",
        [
            ("owner", text("ada")),
            ("number", number(61)),
            ("title", text("by old")),
        ],
    )
    .await
    .unwrap();
    let both = tasks(&old, "ada").await;
    reach(&bridge, BridgeGoal::OldAlone).await.unwrap();
    assert_eq!(tasks(&old, "ada").await, both);
    assert!(tasks(&table.engine(OLD), "ada").await.contains_key(&60));
    assert!(read(&new, "tasks", [("owner", text("ada"))]).await.is_err());
}
