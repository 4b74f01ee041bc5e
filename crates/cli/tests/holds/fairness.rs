//! One caller counts very many rows several times at once: how the gets of others fare meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::client::{Client, request};
use crate::figures::{Seen, millis, setting};
use crate::service::{Service, load_rows, new_folder};

const COUNTS_AT_ONCE: usize = 4;
const COUNTS_TIME_MAX: Duration = Duration::from_secs(60);
const GETS_FACTOR_MAX: u32 = 3;
const GETS_TIME_MAX: Duration = Duration::from_millis(10);
/// Callers who get a row every so often, and how often.
const GETTERS: usize = 4;
const GET_PAUSE: Duration = Duration::from_millis(5);
const PRIORITIES: [&str; 4] = ["urgent", "high", "medium", "low"];

#[test]
#[ignore = "takes minutes, and judges times: `scripts/overload`"]
fn a_caller_who_counts_very_many_rows_does_not_slow_others() {
    let rows = setting("SINGLET_ROWS", 100_000);
    let folder = new_folder("fairness");
    load_rows(&folder, "todo", &(tasks("crowd", rows) + &tasks("ada", 10)));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let service = Service::start_in(folder, &[]);
        let ada = service.credentials("todo", &["--as", "ada"]);
        let get = request("GET", "/todo/api/v1/tasks/01JQX8MNM83M51DF0000000007", &[&ada], b"");
        let crowd = service.credentials("todo", &["--as", "crowd"]);
        let count = request("GET", "/todo/api/v1/tasks/counts", &[&crowd], b"");
        gets_for(&service, &get, Duration::from_secs(2)).await;
        let usual = gets_for(&service, &get, Duration::from_secs(10)).await;
        let (ended, getting) = gets_until(&service, &get);
        let began = Instant::now();
        let counts = (0..COUNTS_AT_ONCE).map(|_| {
            let (mut client, count) = (Client::new(service.address), count.clone());
            tokio::spawn(async move { client.timed(&count).await })
        });
        let counts: Vec<_> = counts.collect();
        let mut times = Vec::new();
        for counting in counts {
            let (answer, time) = counting.await.unwrap();
            let answer = answer.unwrap();
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            assert_eq!(answer.status, 200, "{text}");
            check_counts(&text, rows);
            times.push(time);
        }
        let whole = began.elapsed();
        ended.store(true, Ordering::Relaxed);
        let beside = getting.await.unwrap();
        let (before, beside_p99) = (usual.percentile(99.0), beside.percentile(99.0));
        println!(
            "gets alone: median {}, p99 {}; beside {COUNTS_AT_ONCE} counts of {rows} rows: median {}, p99 {} ({} gets, {:?}); the counts \
             took {times:?}",
            millis(usual.percentile(50.0)),
            millis(before),
            millis(beside.percentile(50.0)),
            millis(beside_p99),
            beside.count(),
            beside.statuses,
        );
        assert_eq!(beside.of(200), beside.count(), "{:?} {:?}", beside.statuses, beside.lost);
        assert!(whole <= COUNTS_TIME_MAX, "{whole:?}");
        assert!(beside_p99 <= GETS_TIME_MAX.max(before * GETS_FACTOR_MAX));
    });
}

fn tasks(user: &str, count: u64) -> String {
    let mut rows =
        format!("{{\"User\": {{\"user_id\": \"{user}\", \"email\": \"{user}@example.com\", \"name\": \"Many\"}}}}\n");
    for at in 0..count {
        let priority = PRIORITIES[at as usize % PRIORITIES.len()];
        let id = format!("01JQX8MNM83M51DF{at:010}");
        rows.push_str(&format!(
            "{{\"Task\": {{\"user_id\": \"{user}\", \"task_id\": \"{id}\", \"title\": \"task {at} of many\", \"priority\": \"{priority}\"}}}}\n"
        ));
    }
    rows
}

fn check_counts(text: &str, rows: u64) {
    let counts: Json = serde_json::from_str(text).unwrap();
    assert_eq!(counts["by_status"]["pending"], rows, "{text}");
    let by_priority = PRIORITIES
        .iter()
        .map(|name| counts["by_priority"][name].as_u64().unwrap());
    assert_eq!(by_priority.sum::<u64>(), rows, "{text}");
}

async fn gets_for(service: &Service, get: &[u8], time: Duration) -> Seen {
    let (ended, getting) = gets_until(service, get);
    tokio::time::sleep(time).await;
    ended.store(true, Ordering::Relaxed);
    getting.await.unwrap()
}

fn gets_until(service: &Service, get: &[u8]) -> (Arc<AtomicBool>, tokio::task::JoinHandle<Seen>) {
    let ended = Arc::new(AtomicBool::new(false));
    let getters = (0..GETTERS).map(|_| {
        let (mut client, get, ended) = (Client::new(service.address), get.to_vec(), Arc::clone(&ended));
        tokio::spawn(async move {
            let mut seen = Seen::default();
            while !ended.load(Ordering::Relaxed) {
                let (answer, time) = client.timed(&get).await;
                seen.take(&answer, time);
                tokio::time::sleep(GET_PAUSE).await;
            }
            seen
        })
    });
    let getters: Vec<_> = getters.collect();
    let all = tokio::spawn(async move {
        let mut seen = Seen::default();
        for getter in getters {
            seen.merge(getter.await.unwrap());
        }
        seen
    });
    (ended, all)
}
