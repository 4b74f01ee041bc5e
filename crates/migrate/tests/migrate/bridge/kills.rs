//! The process ends at any call of its store, and the next one goes on.

use std::sync::Arc;

use singlet_migrate::{BridgeGoal, BridgeSide, MigrateError};
use singlet_store::Store;
use singlet_testing::DyingStore;

use super::super::support::open_to_write;
use super::models::*;

/// How many kills; `SINGLET_BRIDGE_KILLS` asks for more.
pub fn kills() -> usize {
    let asked = std::env::var("SINGLET_BRIDGE_KILLS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(10)
}

/// A process that serves both models, writes through them, and goes to a goal, until it ends at some call; none, where it does.
async fn dying(
    table: &super::super::support::Table,
    new: &str,
    (goal, calls): (BridgeGoal, usize),
) -> Option<Result<(), MigrateError>> {
    let dying = DyingStore::after_calls(Arc::clone(&table.store), calls);
    let ended = dying.ended();
    let store: Arc<dyn Store> = Arc::new(dying);
    let work = async {
        let bridge = bridge_on(table, &store, new).await?;
        let writing = async {
            for _ in 0..12 {
                let side = if fastrand::bool() {
                    BridgeSide::Old
                } else {
                    BridgeSide::New
                };
                let engine = bridge.engine(side);
                let at = [("owner", text("ada")), ("number", number(fastrand::i64(0..8)))];
                let [owner, id] = at.clone();
                // Whether it is done does not matter here, only that it is done whole.
                let _ = match fastrand::u32(0..4) {
                    0 => write(&engine, "remove", at).await,
                    1 => write(&engine, "score", [owner, id, ("points", number(1))]).await,
                    2 => {
                        write(
                            &engine,
                            "retitle",
                            [owner, id, ("title", text(&format!("t{}", fastrand::u64(..))))],
                        )
                        .await
                    }
                    _ => {
                        write(
                            &engine,
                            "add",
                            [owner, id, ("title", text(&format!("n{}", fastrand::u64(..))))],
                        )
                        .await
                    }
                };
            }
        };
        let (done, ()) = tokio::join!(reach(&bridge, goal), writing);
        done
    };
    tokio::select! {
        done = work => Some(done),
        () = ended.notified() => None,
    }
}

#[tokio::test]
async fn a_process_that_is_killed_leaves_both_models_whole() {
    let mut killed = 0;
    while killed < kills() {
        for new in [new_model(), filled_model()] {
            let table = old_table(3).await;
            loop {
                match dying(&table, &new, (BridgeGoal::NewAlone, fastrand::usize(1..250))).await {
                    Some(done) => {
                        done.unwrap();
                        break;
                    }
                    None => killed += 1,
                }
                // Whoever comes next sees the same in both models, where both serve.
                if let Ok(bridge) = bridge_on(&table, &table.store, &new).await
                    && bridge.phase().await.unwrap() == Some(singlet_runtime::MigrationPhase::Switch)
                {
                    let (old, new) = sides(&bridge);
                    for owner in ["ada", "bob"] {
                        assert_eq!(shared(tasks(&new, owner).await), tasks(&old, owner).await);
                    }
                }
            }
            assert_new(&table, &new).await;
        }
    }
    println!("{killed} kills");
}

#[tokio::test]
async fn a_bridge_that_is_killed_while_it_is_given_up_leaves_the_old_model() {
    let mut killed = 0;
    while killed < kills() {
        for new in [new_model(), filled_model()] {
            let table = old_table(3).await;
            let went = dying(&table, &new, (BridgeGoal::Both, fastrand::usize(30..250))).await;
            killed += usize::from(went.is_none());
            loop {
                match dying(&table, &new, (BridgeGoal::OldAlone, fastrand::usize(1..200))).await {
                    Some(done) => {
                        done.unwrap();
                        break;
                    }
                    None => killed += 1,
                }
            }
            let old = table.engine(OLD);
            open_to_write(&old).await.unwrap();
            let audit = singlet_runtime::audit_rows(&old, clock(), singlet_runtime::AuditDepth::Whole)
                .await
                .unwrap();
            assert_eq!(audit.misfit_count(), 0, "{:?}", audit.first);
            for (key, item) in table.contents().await {
                assert!(
                    !item.contains_key(singlet_runtime::BRIDGED) && !item.contains_key("size"),
                    "{key}"
                );
                assert!(!item["SK"].as_str().unwrap().starts_with("TASK#000"), "{key}");
            }
        }
    }
    println!("{killed} kills");
}
