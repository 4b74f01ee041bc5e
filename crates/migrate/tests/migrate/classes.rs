//! Each class of change.

use super::pairs::{OLD, PAIRS};
use super::place::{self, TASKS};
use super::support::{Table, assert_new, migrated, old_table, open_to_write, options};

#[tokio::test]
async fn a_table_becomes_what_the_new_model_would_have_written() {
    for pair in PAIRS.iter().filter(|pair| place::is_tried(pair.name)) {
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
        table.remove().await;
    }
}

/// A table in which nothing lies is migrated, too.
#[tokio::test]
async fn an_empty_table_is_migrated() {
    for pair in PAIRS.iter().filter(|pair| place::is_tried(pair.name)) {
        let table = Table::named(place::store().await);
        let old = table.engine(OLD);
        open_to_write(&old).await.unwrap();
        let new = table.engine(&pair.new_model());
        migrated(&old, &new, options(pair)).await.unwrap();
        open_to_write(&new).await.unwrap();
        table.remove().await;
    }
}
