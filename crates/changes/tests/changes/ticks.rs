//! Writes that run by the clock: which ticks, once, killed at any call, and clocks that jump.

use std::sync::{Arc, Mutex};

use serde_json::json;
use singlet_changes::{ParkedChanges, ParkedOrder, RunEnd, Ticker, TriggerObserver, Unobserved, noted_ticks};
use singlet_item::{Item, Value};
use singlet_model::Source;
use singlet_runtime::{Attributes, Engine};

use crate::dying::dying_engine;
use crate::support::{NOW, System, followers_of};
use crate::triggers::rows;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// A model without a stream: the clock needs none.
fn clockwork(every: &str, zone: &str) -> String {
    format!(
        r#"
singlet: 1
name: clockwork
zone: {zone}
table: {{name: clockwork, key: {{partition: PK, sort: SK}}, type: kind, ttl: ttl}}
entities:
  Draft:
    attributes: {{id: string 1..8, size: int 0..9 = 0}}
    key: {{PK: "DRAFTS", SK: "DRAFT#{{id}}"}}
  Done:
    attributes: {{at: time, runs: int 0..1 = 0}}
    key: {{PK: "DONE", SK: "{{at}}"}}
  Sum:
    attributes: {{id: string 1..8, runs: int 0..5 = 0}}
    key: {{PK: "SUM#{{id}}", SK: "SUM"}}
writes:
  draft: {{allow: true, do: [{{create: Draft, take: [id]}}]}}
  reset: {{allow: true, do: [{{update: 'Sum("all")', set: {{runs: 0}}}}]}}
  drop: {{args: {{id: string 1..8}}, allow: true, do: [{{delete: Draft(args.id)}}]}}
  note:
    every: {every}
    do: [{{upsert: Done(now), add: {{runs: 1}}}}]
"#
    )
}

/// The same with a write in chunks in its place.
fn bulk_clockwork(every: &str) -> String {
    clockwork(every, "UTC").replace(
        "do: [{upsert: Done(now), add: {runs: 1}}]",
        "bulk: true\n    do: [{for: {d: {find: Draft}}, update: d, add: {size: 1}}, {upsert: Done(now), add: {runs: 1}}]",
    )
}

async fn tickers(engine: &Arc<Engine>, now: i64) -> Ticker {
    let observer: Arc<dyn TriggerObserver> = Arc::new(Unobserved);
    let mut all = Ticker::start_all(engine, &observer, now).await.unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn millis(text: &str) -> i64 {
    singlet_model::evaluate::time::parse_iso(text).unwrap()
}

/// The instants at which the write was done, as it knew them. More than one run of one tick is out of the model's range.
async fn done(engine: &Engine) -> Vec<String> {
    let items = rows(engine).await;
    let instant = |item: &Item| item.get("SK").and_then(Value::as_str).map(str::to_owned);
    let mut all: Vec<String> = items
        .iter()
        .filter(|item| item["kind"] == Value::S("Done".to_owned()))
        .filter_map(instant)
        .collect();
    all.sort();
    all
}

async fn sizes(engine: &Engine) -> Vec<i64> {
    let items = rows(engine).await;
    let drafts = items.iter().filter(|item| item["kind"] == Value::S("Draft".to_owned()));
    drafts
        .map(|item| item["size"].as_number().unwrap().to_i64().unwrap())
        .collect()
}

#[tokio::test]
async fn a_write_runs_at_its_ticks_and_knows_the_planned_instant() {
    let system = System::open(&clockwork("day at 03:30", "Europe/Warsaw")).await;
    // 13:00 in Warsaw: today's tick is past, and nobody was there before.
    let mut ticker = tickers(&system.engine, NOW).await;
    assert!(ticker.run_due(NOW).await.unwrap().is_none());
    let next = ticker.next_instant().unwrap();
    assert_eq!(next, millis("2026-11-17T02:30:00Z"));
    assert!(ticker.run_due(next - 1).await.unwrap().is_none());
    // Seven seconds late.
    assert!(matches!(
        ticker.run_due(next + 7_000).await.unwrap(),
        Some(RunEnd::Done)
    ));
    assert!(ticker.run_due(next + 8_000).await.unwrap().is_none());
    assert_eq!(done(&system.engine).await, ["2026-11-17T02:30:00.000Z"]);
    assert_eq!(ticker.next_instant().unwrap(), millis("2026-11-18T02:30:00Z"));
}

#[tokio::test]
async fn missed_ticks_are_one_the_last() {
    let system = System::open(&clockwork("1h", "UTC")).await;
    tickers(&system.engine, NOW).await;
    // Nobody was there for three days.
    let mut late = tickers(&system.engine, NOW + 3 * DAY + 10 * MINUTE).await;
    assert!(matches!(
        late.run_due(NOW + 3 * DAY + 10 * MINUTE).await.unwrap(),
        Some(RunEnd::Done)
    ));
    assert!(late.run_due(NOW + 3 * DAY + 11 * MINUTE).await.unwrap().is_none());
    assert_eq!(done(&system.engine).await, ["2026-11-19T12:00:00.000Z"]);
    // The same process sleeps for three more.
    late.run_due(NOW + 6 * DAY + 59 * MINUTE).await.unwrap();
    assert_eq!(done(&system.engine).await.len(), 2);
}

#[tokio::test]
async fn a_clock_that_goes_back_does_no_tick_again() {
    let system = System::open(&clockwork("1h", "UTC")).await;
    let mut ticker = tickers(&system.engine, NOW).await;
    for hour in 1..=5 {
        ticker.run_due(NOW + hour * HOUR).await.unwrap();
    }
    assert_eq!(done(&system.engine).await.len(), 5);
    for minute in 0..330 {
        ticker.run_due(NOW + minute * MINUTE).await.unwrap();
        if minute % 50 == 0 {
            ticker = tickers(&system.engine, NOW + minute * MINUTE).await;
        }
    }
    assert_eq!(done(&system.engine).await.len(), 5);
    ticker.run_due(NOW + 6 * HOUR).await.unwrap();
    assert_eq!(done(&system.engine).await.len(), 6);
}

#[tokio::test]
async fn a_clock_that_was_years_ahead_does_not_stop_the_schedule() {
    let system = System::open(&clockwork("1h", "UTC")).await;
    let mut ticker = tickers(&system.engine, NOW).await;
    ticker.run_due(NOW + 3_650 * DAY).await.unwrap();
    assert!(ticker.run_due(NOW + 10 * MINUTE).await.unwrap().is_none());
    ticker.run_due(NOW + HOUR).await.unwrap();
    let all = done(&system.engine).await;
    assert!(all.contains(&"2026-11-16T13:00:00.000Z".to_owned()), "{all:?}");
    assert_eq!(all.len(), 2);
}

#[tokio::test]
async fn two_processes_that_both_tick_do_each_tick_once() {
    for text in [clockwork("15min", "UTC"), bulk_clockwork("15min")] {
        let system = System::open(&text).await;
        for id in ["a", "b", "c"] {
            system.write("draft", json!({"id": id})).await;
        }
        let mut one = tickers(&system.engine, NOW).await;
        let mut two = tickers(&system.engine, NOW).await;
        for step in 1..=8 {
            let now = NOW + step * 15 * MINUTE;
            let (first, second) = tokio::join!(one.run_due(now), two.run_due(now + 1));
            first.unwrap();
            second.unwrap();
        }
        assert_eq!(done(&system.engine).await.len(), 8);
        if text.contains("bulk") {
            assert_eq!(sizes(&system.engine).await, [8, 8, 8]);
        }
    }
}

/// Runs what is due until the store is gone for this process.
async fn dies(system: &System, now: i64, calls: usize) {
    let (engine, ended) = dying_engine(&system.engine, calls);
    let gone = async {
        let observer: Arc<dyn TriggerObserver> = Arc::new(Unobserved);
        for mut ticker in Ticker::start_all(&engine, &observer, now).await.unwrap() {
            ticker.run_due(now).await.unwrap();
        }
    };
    tokio::select! {
        () = gone => {}
        () = ended.notified() => {}
    }
}

#[tokio::test]
async fn killed_at_any_call_a_tick_is_done_once() {
    for text in [clockwork("1h", "UTC"), bulk_clockwork("1h")] {
        let is_bulk = text.contains("bulk");
        for calls in 1..40 {
            let system = System::open(&text).await;
            for id in ["a", "b", "c"] {
                system.write("draft", json!({"id": id})).await;
            }
            tickers(&system.engine, NOW).await;
            dies(&system, NOW + HOUR, calls).await;
            dies(&system, NOW + HOUR + 1, calls / 2 + 1).await;
            let mut last = tickers(&system.engine, NOW + HOUR + 2).await;
            last.run_due(NOW + HOUR + 2).await.unwrap();
            assert_eq!(done(&system.engine).await, ["2026-11-16T13:00:00.000Z"], "{calls}");
            if is_bulk {
                assert_eq!(sizes(&system.engine).await, [1, 1, 1], "{calls}");
            }
        }
    }
}

#[tokio::test]
async fn a_bulk_tick_that_has_begun_is_finished_before_the_next() {
    const DRAFTS: i64 = 25;
    let mut were_cut = 0;
    for calls in 1..40 {
        let system = System::open(&bulk_clockwork("1h")).await;
        // More than turns share a transaction: it can be cut between two.
        for id in 0..DRAFTS {
            system.write("draft", json!({"id": format!("d{id:02}")})).await;
        }
        tickers(&system.engine, NOW).await;
        dies(&system, NOW + HOUR, calls).await;
        let begun = sizes(&system.engine).await.iter().sum::<i64>();
        // It comes back three hours later.
        let mut last = tickers(&system.engine, NOW + 4 * HOUR).await;
        last.run_due(NOW + 4 * HOUR).await.unwrap();
        if begun > 0 {
            were_cut += usize::from(begun < DRAFTS);
            assert_eq!(
                done(&system.engine).await,
                ["2026-11-16T13:00:00.000Z", "2026-11-16T16:00:00.000Z"]
            );
            assert_eq!(sizes(&system.engine).await, [2; DRAFTS as usize], "{calls}");
        }
        let noted = noted_ticks(&followers_of(&system.engine), "note")
            .await
            .unwrap()
            .unwrap();
        assert_eq!((noted.passed, noted.begun), (NOW + 4 * HOUR, None));
    }
    assert!(were_cut >= 2, "{were_cut}");
}

/// The same table under another model.
fn with_model(system: &System, text: &str) -> Arc<Engine> {
    let loaded = singlet_model::load_source(&Source::new("model.yaml", text.to_owned()));
    assert!(!loaded.diagnostics.has_errors(), "{:?}", loaded.diagnostics);
    let model = Arc::new(loaded.model.unwrap());
    Arc::new(Engine::open(
        model,
        Arc::clone(system.engine.store()),
        Attributes::new(),
        [7; 32],
    ))
}

#[tokio::test]
async fn a_model_with_another_clock_goes_on_and_a_day_has_one_run() {
    let system = System::open(&clockwork("day at 03:30", "UTC")).await;
    tickers(&system.engine, NOW).await;
    let mut ticker = tickers(&system.engine, NOW + 16 * HOUR).await;
    ticker.run_due(NOW + 16 * HOUR).await.unwrap();
    assert_eq!(done(&system.engine).await, ["2026-11-17T03:30:00.000Z"]);
    // Later on the same day: that day had its run.
    let later = with_model(&system, &clockwork("day at 05:00", "UTC"));
    let mut ticker = tickers(&later, NOW + 16 * HOUR).await;
    assert!(matches!(
        ticker.run_due(NOW + 17 * HOUR).await.unwrap(),
        Some(RunEnd::DoneBefore)
    ));
    // By the hour: from the next hour on.
    let hourly = with_model(&system, &clockwork("1h", "UTC"));
    let mut ticker = tickers(&hourly, NOW + 17 * HOUR + MINUTE).await;
    assert!(ticker.run_due(NOW + 17 * HOUR + MINUTE).await.unwrap().is_none());
    ticker.run_due(NOW + 18 * HOUR).await.unwrap();
    assert_eq!(done(&system.engine).await.len(), 2);
}

#[tokio::test]
async fn over_daylight_saving_a_day_has_one_run() {
    for (begin, expected) in [
        (
            "2026-03-28T12:00:00Z",
            ["2026-03-29T01:00:00.000Z", "2026-03-30T00:30:00.000Z"],
        ),
        (
            "2026-10-24T12:00:00Z",
            ["2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z"],
        ),
    ] {
        let system = System::open(&clockwork("day at 02:30", "Europe/Warsaw")).await;
        let begin = millis(begin);
        let mut ticker = tickers(&system.engine, begin).await;
        for minute in 0..40 * 60 {
            ticker.run_due(begin + minute * MINUTE).await.unwrap();
        }
        assert_eq!(done(&system.engine).await, expected);
    }
}

/// Keeps what is said of runs.
#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl TriggerObserver for Heard {
    fn ran(&self, write: &str, change: &str, ended: &RunEnd) {
        let end = match ended {
            RunEnd::Done => "done",
            RunEnd::DoneBefore => "before",
            RunEnd::Refused(_) => "refused",
            RunEnd::Later(_) => "later",
            RunEnd::Parked(_) => "parked",
        };
        self.0.lock().unwrap().push(format!("{write} {change} {end}"));
    }
}

#[tokio::test]
async fn a_refused_tick_is_recorded_and_stays_refused() {
    let refusing = clockwork("day at 13:00", "UTC").replace(
        "do: [{upsert: Done(now), add: {runs: 1}}]",
        "do: [{update: 'Draft(\"a\")', add: {size: 1}, else: no_draft}]",
    );
    let system = System::open(&refusing).await;
    let heard = Arc::new(Heard::default());
    let observer: Arc<dyn TriggerObserver> = heard.clone();
    Ticker::start_all(&system.engine, &observer, NOW).await.unwrap();
    let mut ticker = Ticker::start_all(&system.engine, &observer, NOW)
        .await
        .unwrap()
        .remove(0);
    ticker.run_due(NOW + HOUR).await.unwrap();
    system.write("draft", json!({"id": "a"})).await;
    // Another process that has not heard of it.
    let mut all = followers_note_back(&system, &observer).await;
    all.run_due(NOW + HOUR + 1).await.unwrap();
    assert_eq!(sizes(&system.engine).await, [0]);
    all.run_due(NOW + 25 * HOUR).await.unwrap();
    assert_eq!(sizes(&system.engine).await, [1]);
    assert_eq!(
        *heard.0.lock().unwrap(),
        [
            "note every 2026-11-16 refused",
            "note every 2026-11-16 before",
            "note every 2026-11-17 done"
        ]
    );
}

/// A ticker as it was before anything was noted.
async fn followers_note_back(system: &System, observer: &Arc<dyn TriggerObserver>) -> Ticker {
    let followers = followers_of(&system.engine);
    let noted = noted_ticks(&followers, "note").await.unwrap().unwrap();
    assert_eq!(noted.passed, NOW + HOUR);
    let items = system
        .engine
        .store()
        .scan(&singlet_store::ScanRequest {
            table: "clockwork".to_owned(),
            consistent: true,
            ..singlet_store::ScanRequest::default()
        })
        .await
        .unwrap()
        .items;
    let row = items
        .into_iter()
        .find(|item| item["kind"] == Value::S("$schedule".to_owned()))
        .unwrap();
    system.delete(item_key(&row)).await;
    Ticker::start_all(&system.engine, observer, NOW)
        .await
        .unwrap()
        .remove(0)
}

fn item_key(item: &Item) -> Item {
    ["PK", "SK"]
        .iter()
        .map(|name| ((*name).to_owned(), item[*name].clone()))
        .collect()
}

/// A sum that leaves its range is a refusal; what cannot be computed at all is parked.
fn failing(every: &str) -> String {
    clockwork(every, "UTC").replace(
        "do: [{upsert: Done(now), add: {runs: 1}}]",
        "let: {d: 'Draft(\"a\")?'}\n    do: [{create: Done, set: {at: 'now + days(d == absent ? 99999999 : 0)'}}]",
    )
}

#[tokio::test]
async fn a_tick_that_cannot_be_done_is_parked_and_a_later_one_takes_its_place() {
    let system = System::open(&failing("1h")).await;
    let mut ticker = tickers(&system.engine, NOW).await;
    for hour in 1..=3 {
        let end = ticker.run_due(NOW + hour * HOUR).await.unwrap();
        assert!(matches!(end, Some(RunEnd::Parked(_))), "{end:?}");
    }
    let parked = ParkedChanges::new(followers_of(&system.engine));
    let listed = parked.list_parked().await.unwrap();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(listed[0].change, "every 2026-11-16T15:00:00.000Z");
    // What still cannot be done stays.
    assert_eq!(parked.order_parked(ParkedOrder::Retry, None).await.unwrap(), 1);
    ticker.follow_orders().await.unwrap();
    assert_eq!(parked.list_parked().await.unwrap().len(), 1);
    system.write("draft", json!({"id": "a"})).await;
    parked.order_parked(ParkedOrder::Retry, None).await.unwrap();
    ticker.follow_orders().await.unwrap();
    assert!(parked.list_parked().await.unwrap().is_empty());
    // Of the instant for which it was planned.
    assert_eq!(done(&system.engine).await, ["2026-11-16T15:00:00.000Z"]);
    // One that is parked goes with the next that is done.
    system.write("drop", json!({"id": "a"})).await;
    ticker.run_due(NOW + 4 * HOUR).await.unwrap();
    assert_eq!(parked.list_parked().await.unwrap().len(), 1);
    system.write("draft", json!({"id": "a"})).await;
    ticker.run_due(NOW + 5 * HOUR).await.unwrap();
    assert!(parked.list_parked().await.unwrap().is_empty());
    assert_eq!(done(&system.engine).await.len(), 2);
}
