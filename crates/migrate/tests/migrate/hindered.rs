//! What cannot be done is said before anything is changed.

use singlet_migrate::MigrateError;

use super::pairs::{PAIRS, Pair};
use super::support::{aborted, assert_same, migrated, old_table, open_to_write, options};

async fn refused(edits: &'static [(&'static str, &'static str)]) -> String {
    let pair = Pair {
        name: "refused",
        edits,
        lines: &[],
        drops: false,
    };
    let (table, old) = old_table(20).await;
    let before = table.contents().await;
    let new = table.engine(&pair.new_model());
    let error = migrated(&old, &new, options(&pair)).await.unwrap_err();
    assert_same("refused", &table.contents().await, &before);
    // The table is open to the old model as before.
    open_to_write(&old).await.unwrap();
    assert!(matches!(
        aborted(&old, &new, options(&pair)).await,
        Err(MigrateError::NothingToAbort)
    ));
    error.to_string()
}

#[tokio::test]
async fn two_rows_of_one_key_are_found_first() {
    let said = refused(&[(
        "{PK: \"USER#{owner}\", SK: \"TASK#{number}\"}",
        "{PK: \"USER#{owner}\", SK: \"{size}\"}",
    )])
    .await;
    assert!(said.contains("another row would have the same key"), "{said}");
}

#[tokio::test]
async fn two_rows_of_one_unique_value_are_found_first() {
    let said = refused(&[(
        "unique: {title: lower(title)}",
        "unique: {title: lower(title), size: size}",
    )])
    .await;
    assert!(said.contains("which `size` makes unique"), "{said}");
}

#[tokio::test]
async fn a_value_that_rows_lack_is_asked_for() {
    let said = refused(&[("due: date?", "due: date")]).await;
    assert!(said.contains("`due` is required"), "{said}");
}

#[tokio::test]
async fn a_value_that_does_not_fit_is_found_first() {
    let said = refused(&[("title: string 1..200", "title: string 1..7")]).await;
    assert!(said.contains("`title`: "), "{said}");
}

#[tokio::test]
async fn a_value_of_another_meaning_is_not_taken_over() {
    let said = refused(&[("due: date?", "due: time?")]).await;
    assert!(said.contains("no `fill:`"), "{said}");
}

#[tokio::test]
async fn a_row_of_an_entity_that_is_gone_may_lie_in_the_way() {
    let said = refused(&[
        ("  Memo:\n    attributes:\n      id: string 1..20\n      text: string 1..100\n    key: {PK: \"MEMO#{id}\", SK: \"MEMO\"}\n    unique: {text: text}\n", ""),
        ("{PK: \"USER#{owner}\", SK: \"TASK#{number}\"}", "{PK: \"MEMO#m{number}\", SK: \"MEMO\"}"),
    ])
    .await;
    assert!(said.contains("something else lies where it is to come"), "{said}");
}

#[tokio::test]
async fn the_name_of_a_system_stays() {
    let said = refused(&[("name: work\ntable", "name: other\ntable")]).await;
    assert!(said.contains("the system is `work`"), "{said}");
}

/// Another target, and other options, are refused while one is under way; so is a model that did not write the rows.
#[tokio::test]
async fn one_migration_at_a_time() {
    let (index, key) = (&PAIRS[0], &PAIRS[1]);
    let (table, old) = old_table(10).await;
    let (by_index, by_key) = (table.engine(&index.new_model()), table.engine(&key.new_model()));
    let control = old.table_control().await.unwrap().unwrap();
    let migration = singlet_runtime::Migration {
        phase: singlet_runtime::MigrationPhase::Rows,
        target: by_index.face_in_table().await.unwrap().face_hash(),
        source: None,
        drops: false,
    };
    assert!(old.set_migration(&control, Some(&migration)).await.unwrap());
    // Who read the control row before is told.
    assert!(!old.set_migration(&control, None).await.unwrap());
    let error = migrated(&old, &by_key, options(key)).await.unwrap_err();
    assert!(matches!(error, MigrateError::Another(_)), "{error}");
    let drops = singlet_migrate::MigrateOptions {
        drops: true,
        ..options(index)
    };
    let error = migrated(&old, &by_index, drops).await.unwrap_err();
    assert!(matches!(error, MigrateError::Another(_)), "{error}");
    for engine in [&old, &by_index, &by_key] {
        let error = open_to_write(engine).await.unwrap_err();
        assert!(error.contains("migrated") || error.contains("index"), "{error}");
    }
    migrated(&old, &by_index, options(index)).await.unwrap();
    let error = migrated(&old, &by_key, options(key)).await.unwrap_err();
    assert!(matches!(error, MigrateError::NotFrom(_)), "{error}");
}
