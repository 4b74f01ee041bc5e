//! A bridge from its beginning to its end on the foreign endpoint, led by somebody who is killed now and then.

use std::time::Duration;

use singlet_migrate::{BridgeGoal, MigrateError, ProcessTimes};
use singlet_runtime::{Engine, NOT_IN_BOTH_MODELS, Request, RuntimeError};

use super::super::place;
use super::super::support::{NOW, Table};
use super::models::*;
use super::processes::*;

const TIMES: ProcessTimes = ProcessTimes {
    reads: Duration::from_millis(200),
    stale: Duration::from_secs(8),
    beats: Duration::from_secs(1),
    unheard: Duration::from_secs(8),
    gone: Duration::from_secs(10),
    late: Duration::from_secs(3),
};

/// Leads until a goal is reached; how often whoever led was killed.
async fn led(table: &Table, new: &str, goal: BridgeGoal) -> usize {
    let mut killed = 0;
    while killed < place::kills() {
        let calls = fastrand::usize(10..120);
        match dying_leader(table, new, (goal, calls, TIMES)).await {
            Some(done) => {
                done.unwrap();
                return killed;
            }
            None => killed += 1,
        }
    }
    lead(table, new, goal, TIMES).await.unwrap();
    killed
}

/// Numbers of an owner's tasks, page by page, from one process and then from another.
async fn walked(first: &Engine, then: &Engine) -> Vec<i64> {
    let (mut numbers, mut cursor, mut engine) = (Vec::new(), None, first);
    loop {
        let request = Request {
            args: [("owner".to_owned(), text("eve"))].into(),
            limit: Some(1),
            cursor: cursor.take(),
            now: NOW,
            ..Request::default()
        };
        let answer = engine.read("tasks", &request).await.unwrap();
        let Some(singlet_item::Value::L(rows)) = &answer.value else {
            panic!("no rows");
        };
        for row in rows {
            numbers.push(row.as_map().unwrap()["number"].as_number().unwrap().to_i64().unwrap());
        }
        cursor = answer.next;
        if cursor.is_none() {
            return numbers;
        }
        engine = then;
    }
}

async fn over(new: &str) {
    let table = old_table(place::TASKS).await;
    let (one, other) = (
        Process::start(&table, OLD, TIMES).await,
        Process::start(&table, OLD, TIMES).await,
    );
    let mut killed = led(&table, new, BridgeGoal::Both).await;
    let fresh = Process::start(&table, new, TIMES).await;
    let at = |number_of: i64| [("owner", text("ada")), ("number", number(number_of))];
    for (place, engine) in [&one.engine, &other.engine, &fresh.engine].into_iter().enumerate() {
        let place = i64::try_from(place).unwrap();
        let [owner, id] = at(place);
        write(engine, "score", [owner, id, ("points", number(10))])
            .await
            .unwrap();
        add(engine, 30 + place, &format!("made {place}")).await.unwrap();
    }
    write(&one.engine, "remove", at(3)).await.unwrap();
    write(&fresh.engine, "remove", at(4)).await.unwrap();
    let of_old = tasks(&other.engine, "ada").await;
    assert_eq!(shared(tasks(&fresh.engine, "ada").await), of_old);
    assert_eq!(of_old.keys().copied().collect::<Vec<i64>>(), [0, 1, 2, 30, 31, 32]);
    for place in 0..3 {
        assert_eq!(of_old[&place]["points"], number(place + 10));
    }
    let count = i64::try_from(place::TASKS).unwrap();
    assert_eq!(
        walked(&one.engine, &other.engine).await,
        (0..count).collect::<Vec<i64>>()
    );
    let taken = add(&other.engine, 60, "MADE 2").await;
    assert!(matches!(taken, Err(RuntimeError::Refused(_))), "{taken:?}");
    if new.contains("number: int 0..9999") {
        let wide = add(&fresh.engine, 100, "wide").await;
        assert!(
            matches!(&wide, Err(RuntimeError::Refused(refused)) if refused.name == NOT_IN_BOTH_MODELS),
            "{wide:?}"
        );
    }
    let early = lead(&table, new, BridgeGoal::NewAlone, TIMES).await;
    assert!(matches!(early, Err(MigrateError::Serving(_))), "{early:?}");
    one.end().await;
    other.end().await;
    killed += led(&table, new, BridgeGoal::NewAlone).await;
    assert_eq!(shared(tasks(&fresh.engine, "ada").await), of_old);
    fresh.end().await;
    assert_new(&table, new).await;
    println!("{killed} kills");
    table.remove().await;
}

#[tokio::test]
async fn both_models_are_served_by_processes_of_their_own() {
    over(&new_model()).await;
    over(&filled_model()).await;
}

#[tokio::test]
async fn a_bridge_is_given_up_among_processes() {
    let table = old_table(3).await;
    let before = table.contents().await;
    let old = Process::start(&table, OLD, TIMES).await;
    led(&table, &new_model(), BridgeGoal::Both).await;
    let fresh = Process::start(&table, &new_model(), TIMES).await;
    led(&table, &new_model(), BridgeGoal::OldAlone).await;
    super::super::support::assert_same("abort", &table.contents().await, &before);
    fresh.end().await;
    old.end().await;
    table.remove().await;
}
