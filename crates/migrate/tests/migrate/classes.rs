//! Each class of change.

use singlet_migrate::Migrator;

use super::pairs::{OLD, PAIRS};
use super::place::{self, TASKS};
use super::support::{NOW, Table, assert_new, assert_same, migrated, old_table, open_to_write, options};

#[tokio::test]
async fn a_table_becomes_what_the_new_model_would_have_written() {
    for pair in PAIRS {
        let (table, old) = old_table(TASKS).await;
        let new = table.engine(&pair.new_model());
        // What is only dropped keeps nobody from the rows, and who opens the table to write has the table know it.
        assert!(pair.drops || open_to_write(&new).await.is_err(), "{}", pair.name);
        let ended = migrated(&old, &new, options(pair)).await;
        let ended = ended.unwrap_or_else(|error| panic!("{}: {error}", pair.name));
        assert!(!ended.was_done);
        assert_new(pair, &table, TASKS).await;
        let again = migrated(&old, &new, options(pair)).await.unwrap();
        assert!(again.was_done, "{}", pair.name);
    }
}

/// What is planned is what is written, unit for unit.
#[tokio::test]
async fn what_is_planned_is_what_is_consumed() {
    for pair in PAIRS {
        let (table, old) = old_table(TASKS).await;
        let new = table.engine(&pair.new_model());
        let before = table.contents().await;
        let plan = Migrator::new((&old, &new), options(pair), &|| NOW, &|_| {})
            .plan()
            .await
            .unwrap();
        assert_same(pair.name, &table.contents().await, &before);
        assert_eq!(plan.misfits, 0, "{:?}", plan.first_misfits);
        let ended = migrated(&old, &new, options(pair)).await.unwrap();
        let written = ended.consumed.total().write.get();
        assert_eq!(plan.write_units(), written, "{}: {plan:?}", pair.name);
    }
}

/// A table in which nothing lies is migrated, too.
#[tokio::test]
async fn an_empty_table_is_migrated() {
    for pair in PAIRS {
        let table = Table::named(place::store().await);
        let old = table.engine(OLD);
        open_to_write(&old).await.unwrap();
        let new = table.engine(&pair.new_model());
        migrated(&old, &new, options(pair)).await.unwrap();
        open_to_write(&new).await.unwrap();
    }
}
