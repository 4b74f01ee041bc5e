//! From the one model to the other, and what each sees on the way.

use singlet_item::Item;
use singlet_migrate::{BridgeGoal, BridgeSide, MigrateError};
use singlet_runtime::{MigrationPhase, NOT_IN_BOTH_MODELS, RuntimeError};

use super::super::support::{NOW, assert_same, migrated};
use super::models::*;

pub fn is_refused(error: &RuntimeError) -> bool {
    matches!(error, RuntimeError::Refused(refused) if refused.name == NOT_IN_BOTH_MODELS)
}

#[tokio::test]
async fn both_models_have_every_row_until_the_old_one_goes() {
    let table = old_table(12).await;
    let bridge = bridge(&table).await;
    let (old, new) = sides(&bridge);
    let before = tasks(&old, "ada").await;
    assert!(read(&new, "tasks", [("owner", text("ada"))]).await.is_err());
    reach(&bridge, BridgeGoal::Both).await.unwrap();
    assert_eq!(bridge.phase().await.unwrap(), Some(MigrationPhase::Switch));
    assert_eq!(tasks(&old, "ada").await, before);
    assert_eq!(shared(tasks(&new, "ada").await), before);

    // Each writes, and both have it: blind changes, new rows, new titles, removals.
    let at = |number_of: i64| [("owner", text("ada")), ("number", number(number_of))];
    for (engine, side) in [(&old, 0), (&new, 1)] {
        let [owner, three] = at(3 + side);
        write(engine, "score", [owner.clone(), three.clone(), ("points", number(7))])
            .await
            .unwrap();
        write(
            engine,
            "retitle",
            [owner.clone(), three, ("title", text(&format!("Other {side}")))],
        )
        .await
        .unwrap();
        let title = ("title", text(&format!("made {side}")));
        write(engine, "add", [owner.clone(), ("number", number(20 + side)), title])
            .await
            .unwrap();
        write(engine, "remove", at(7 + side)).await.unwrap();
        write(engine, "charge", [("code", text("AB")), ("amount", number(10 + side))])
            .await
            .unwrap();
    }
    let (of_old, of_new) = (tasks(&old, "ada").await, tasks(&new, "ada").await);
    assert_eq!(shared(of_new), of_old);
    assert_eq!(of_old[&3]["points"], number(10));
    assert_eq!(of_old[&4]["points"], number(11));
    assert!(
        of_old.contains_key(&20) && of_old.contains_key(&21) && !of_old.contains_key(&7) && !of_old.contains_key(&8)
    );
    assert_eq!(
        rows(&old, "byPoints", []).await.len(),
        rows(&new, "byPoints", []).await.len()
    );
    for title in ["Other 0", "Other 1", "made 0", "ada 9"] {
        let of = |rows: Vec<Item>| shared(rows.into_iter().map(|row| (0, row)).collect());
        let found = of(rows(&old, "titled", [("title", text(title))]).await);
        assert_eq!(found.len(), 1, "{title}");
        assert_eq!(of(rows(&new, "titled", [("title", text(title))]).await), found);
    }
    let price =
        |engine: singlet_runtime::Engine| async move { read(&engine, "price", [("code", text("AB"))]).await.unwrap() };
    let at_old = price(bridge.engine(BridgeSide::Old)).await;
    assert_eq!(at_old.as_map().unwrap()["amount"], number(11));
    assert_eq!(price(bridge.engine(BridgeSide::New)).await, at_old);
    // A title that one of them gave is taken for the other.
    let taken = write(
        &old,
        "add",
        [
            ("owner", text("bob")),
            ("number", number(50)),
            ("title", text("MADE 1")),
        ],
    )
    .await;
    assert!(matches!(taken, Err(RuntimeError::Refused(_))), "{taken:?}");

    // What only the new model has of a row stays when the old one writes it.
    write(
        &new,
        "resize",
        [("owner", text("ada")), ("number", number(5)), ("size", text("large"))],
    )
    .await
    .unwrap();
    write(
        &old,
        "plan",
        [("owner", text("ada")), ("number", number(5)), ("due", number(9))],
    )
    .await
    .unwrap();
    let row = tasks(&new, "ada").await.remove(&5).unwrap();
    assert_eq!((&row["size"], &row["due"]), (&text("large"), &number(9)));
    assert_eq!(
        rows(&new, "bySize", [("size", text("large"))])
            .await
            .iter()
            .filter(|row| row["owner"] == text("ada") && row["number"] == number(5))
            .count(),
        1
    );

    // What only the new model can hold is refused until the old one is gone.
    let wide = || [("owner", text("ada")), ("number", number(100)), ("title", text("wide"))];
    let refused = write(&new, "add", wide()).await.unwrap_err();
    assert!(is_refused(&refused), "{refused}");
    reach(&bridge, BridgeGoal::NewAlone).await.unwrap();
    write(&new, "add", wide()).await.unwrap();
    let gone = read(&old, "tasks", [("owner", text("ada"))]).await.unwrap_err();
    assert!(gone.to_string().contains("no longer serves"), "{gone}");
    let late = reach(&bridge, BridgeGoal::OldAlone).await;
    assert!(matches!(late, Err(MigrateError::NothingToAbort)), "{late:?}");
    assert_new(&table, &new_model()).await;
}

/// Where nothing else happens a bridge comes to what a migration comes to for which writes stop.
#[tokio::test]
async fn a_bridge_comes_to_what_a_still_migration_comes_to() {
    for new in [new_model(), filled_model()] {
        let (one, other) = (old_table(9).await, old_table(9).await);
        let bridge = bridge_on(&one, &one.store, &new).await.unwrap();
        reach(&bridge, BridgeGoal::NewAlone).await.unwrap();
        migrated(&other.engine(OLD), &other.engine(&new), options())
            .await
            .unwrap();
        let without_guards =
            |table: std::collections::BTreeMap<String, Item>| -> std::collections::BTreeMap<String, Item> {
                // The values in guards are hashed with a key that each table has for itself.
                table
                    .into_iter()
                    .filter(|(key, item)| !item.contains_key("$guard_key") && !key.contains("$unique"))
                    .collect()
            };
        assert_same(
            "bridge",
            &without_guards(one.contents().await),
            &without_guards(other.contents().await),
        );
        assert_new(&one, &new).await;
    }
}

/// A cursor of the old model goes on to its end whatever phase it meets; the new model does not take it.
#[tokio::test]
async fn cursors_of_the_old_model_are_walked_to_their_end() {
    let table = old_table(40).await;
    let bridge = bridge(&table).await;
    let (old, new) = sides(&bridge);
    let page = |cursor: Option<String>, engine: singlet_runtime::Engine| async move {
        let request = singlet_runtime::Request {
            args: [("owner".to_owned(), text("ada"))].into(),
            limit: Some(3),
            cursor,
            now: NOW,
            ..Default::default()
        };
        engine.read("tasks", &request).await
    };
    let engine = || bridge.engine(BridgeSide::Old);
    let first = page(None, engine()).await.unwrap();
    let begun = first.next.clone().unwrap();
    reach(&bridge, BridgeGoal::Both).await.unwrap();
    let strange = page(Some(begun.clone()), bridge.engine(BridgeSide::New)).await;
    assert!(matches!(strange, Err(RuntimeError::Cursor)), "{strange:?}");
    let (mut numbers, mut cursor) = (Vec::new(), Some(begun));
    let take = |answer: &singlet_runtime::Answer, numbers: &mut Vec<i64>| {
        let Some(singlet_item::Value::L(rows)) = &answer.value else {
            panic!()
        };
        numbers.extend(
            rows.iter()
                .map(|row| row.as_map().unwrap()["number"].as_number().unwrap().to_i64().unwrap()),
        );
    };
    take(&first, &mut numbers);
    while let Some(at) = cursor {
        let answer = page(Some(at), engine()).await.unwrap();
        take(&answer, &mut numbers);
        cursor = answer.next;
    }
    assert_eq!(numbers, (0..40).collect::<Vec<i64>>());
    drop((old, new));
}

/// What only the new model can hold is taken as soon as nobody has the old one's keys any more, though they are still there.
#[tokio::test]
async fn what_only_the_new_model_holds_is_taken_while_the_old_keys_go() {
    let table = old_table(6).await;
    let bridge = bridge(&table).await;
    reach(&bridge, BridgeGoal::Both).await.unwrap();
    super::abort::set_phase(&table, MigrationPhase::Contract).await;
    let bridge = super::models::bridge(&table).await;
    let new = bridge.engine(BridgeSide::New);
    let at = |number_of: i64| [("owner", text("ada")), ("number", number(number_of))];
    for number_of in [100, 101] {
        let [owner, id] = at(number_of);
        let title = ("title", text(&format!("wide {number_of}")));
        write(&new, "add", [owner.clone(), id.clone(), title]).await.unwrap();
        write(&new, "score", [owner, id, ("points", number(7))]).await.unwrap();
    }
    write(&new, "remove", at(101)).await.unwrap();
    // Rows that are still kept for both are as before.
    let [owner, id] = at(3);
    write(&new, "score", [owner, id, ("points", number(5))]).await.unwrap();
    write(&new, "remove", at(4)).await.unwrap();
    reach(&bridge, BridgeGoal::NewAlone).await.unwrap();
    let found = tasks(&new, "ada").await;
    assert_eq!(found.keys().copied().collect::<Vec<i64>>(), [0, 1, 2, 3, 5, 100]);
    assert_eq!((&found[&100]["points"], &found[&3]["points"]), (&number(7), &number(8)));
    assert_new(&table, &new_model()).await;
}
