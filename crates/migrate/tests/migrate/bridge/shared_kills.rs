//! Processes that share a table, and the one that leads them, are killed at any call of the store.

use singlet_migrate::{BridgeGoal, MigrateError};

use super::super::support::open_to_write;
use super::kills::kills;
use super::models::*;
use super::processes::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_that_are_killed_leave_both_models_whole() {
    let mut killed = 0;
    while killed < kills() {
        for (new, goal) in [
            (new_model(), BridgeGoal::NewAlone),
            (filled_model(), BridgeGoal::NewAlone),
            (new_model(), BridgeGoal::OldAlone),
        ] {
            let table = old_table(3).await;
            let toward = |goal| {
                let (table, new) = (table.clone(), new.clone());
                async move {
                    let (mut killed, mut turns) = (0, 0);
                    loop {
                        let leading = dying_leader(&table, &new, (goal, fastrand::usize(1..600), SHORT));
                        // Nobody gets past the old model's end while somebody of it is there each time.
                        let is_old_there = goal != BridgeGoal::NewAlone || turns % 3 == 0;
                        let old = async {
                            is_old_there && dying_process(&table, OLD, (fastrand::usize(10..300), SHORT)).await
                        };
                        let fresh = dying_process(&table, &new, (fastrand::usize(10..300), SHORT));
                        let (led, old, fresh) = tokio::join!(leading, old, fresh);
                        killed += usize::from(old) + usize::from(fresh);
                        turns += 1;
                        assert!(turns < 500, "it does not come to its end");
                        match led {
                            None => killed += 1,
                            Some(Ok(())) => return killed,
                            // Somebody of the old model was at work just then, or this one was kept waiting for too long.
                            Some(Err(MigrateError::Serving(_) | MigrateError::Asleep)) => {}
                            Some(Err(error)) => panic!("{error}"),
                        }
                    }
                }
            };
            killed += toward(BridgeGoal::Both).await;
            let (old, fresh) = (
                Process::start(&table, OLD, PATIENT).await,
                Process::start(&table, &new, PATIENT).await,
            );
            for owner in ["ada", "bob"] {
                assert_eq!(
                    shared(tasks(&fresh.engine, owner).await),
                    tasks(&old.engine, owner).await
                );
            }
            old.end().await;
            fresh.end().await;
            killed += toward(goal).await;
            match goal {
                BridgeGoal::OldAlone => {
                    let old = table.engine(OLD);
                    open_to_write(&old).await.unwrap();
                    let audit = singlet_runtime::audit_rows(&old, clock(), singlet_runtime::AuditDepth::Whole).await;
                    let audit = audit.unwrap();
                    assert_eq!(audit.misfit_count(), 0, "{:?}", audit.first);
                    for (key, item) in table.contents().await {
                        assert!(
                            !item.contains_key(singlet_runtime::BRIDGED) && !item.contains_key("size"),
                            "{key}"
                        );
                        assert!(!item["SK"].as_str().unwrap().starts_with("TASK#000"), "{key}");
                    }
                }
                _ => assert_new(&table, &new).await,
            }
        }
    }
    println!("{killed} kills");
}
