//! Mixed load for some minutes, with rows that expire: what memory, folder and times become.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use tokio::sync::Mutex;

use crate::client::{Client, request};
use crate::figures::{Seen, megabytes, millis, setting};
use crate::service::Service;

const CALLERS: usize = 8;
/// How long a caller waits between two rounds: the load is steady, not the most that there could be.
const PAUSE: Duration = Duration::from_millis(20);

/// How long memory is looked at in the end of each part.
const LOOKED_AT: Duration = Duration::from_secs(60);

/// How long the token of a transaction is known.
const TEN_MINUTES: Duration = Duration::from_secs(600);

#[test]
#[ignore = "takes as long as `SINGLET_MINUTES` says, and judges memory and times: `scripts/soak`"]
fn memory_and_times_stay_as_they_are() {
    let minutes = setting("SINGLET_MINUTES", 30);
    let part = Duration::from_secs(setting("SINGLET_PART_SECONDS", 300));
    let parts = (minutes * 60).div_ceil(part.as_secs()).max(2);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        // What is completed expires ten seconds later.
        let service = Service::start("soak", &["--set", "todo.retention=10s"]);
        let ended = Arc::new(AtomicBool::new(false));
        let seen = Arc::new(Mutex::new(Seen::default()));
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| {
                let ada = service.credentials("todo", &["--as", "ada"]);
                tokio::spawn(caller(service.address, ada, Arc::clone(&ended), Arc::clone(&seen)))
            })
            .collect();
        let (mut all, mut created) = (Vec::new(), Vec::new());
        for at in 1..=parts {
            let began = Instant::now();
            tokio::time::sleep_until((began + part.saturating_sub(LOOKED_AT)).into()).await;
            let memory = usual_memory(&service, began + part).await;
            let figures = std::mem::take(&mut *seen.lock().await);
            let p99 = figures.percentile(99.0);
            println!(
                "after {} s: memory {}, folder {}, {} requests {:?} {:?}, median {}, p99 {}",
                at * part.as_secs(),
                megabytes(memory),
                megabytes(service.folder_bytes()),
                figures.count(),
                figures.statuses,
                figures.lost,
                millis(figures.percentile(50.0)),
                millis(p99),
            );
            assert!(figures.lost.is_empty() && figures.faults() == 0, "{}", service.log(20));
            all.push((memory, p99));
            created.push(figures.of(201));
        }
        ended.store(true, Ordering::Relaxed);
        for caller in callers {
            caller.await.unwrap();
        }
        let (first, second, last) = (all[0], all[1], all[all.len() - 1]);
        let folder = service.folder_bytes();
        let in_ten_minutes = (TEN_MINUTES.as_secs() / part.as_secs()) as usize;
        let transactions = created.iter().rev().take(in_ten_minutes).sum();
        let formula = formula_bytes(&service.kill_and_inspect(), transactions);
        println!("folder {}, by the formula {}", megabytes(folder), megabytes(formula));
        assert!(
            folder.abs_diff(formula) * 10 <= formula,
            "the folder is a tenth beside the formula of `docs/folder.md`"
        );
        assert!(last.0 <= first.0 + first.0 / 10, "memory grew by more than a tenth");
        assert!(
            last.1.as_secs_f64() <= second.1.as_secs_f64() * 1.2,
            "p99 grew by more than a fifth"
        );
    });
}

/// What is freed could not be given back otherwise. Systems before Linux 5.0 do not tell.
#[test]
fn memory_comes_in_small_pages() {
    let service = Service::start("pages", &[]);
    let takes_huge_pages = service.status("THP_enabled");
    assert!(takes_huge_pages.is_none_or(|said| said == "0"));
}

/// The median of the memory until an instant, looked at every second: a checkpoint and a merge of words each take a tenth more for a moment.
async fn usual_memory(service: &Service, until: Instant) -> u64 {
    let mut seen = vec![service.usage().memory_bytes];
    while Instant::now() < until {
        tokio::time::sleep(Duration::from_secs(1)).await;
        seen.push(service.usage().memory_bytes);
    }
    seen.sort_unstable();
    seen[seen.len() / 2]
}

/// What a folder takes by `docs/folder.md`, where `doctor` says what is in it, and so many transactions were made in ten minutes.
fn formula_bytes(inspected: &Json, transactions: u64) -> u64 {
    const FILES_PER_ROWS: f64 = 1.75;
    const TOKEN_BYTES: u64 = 110;
    const LOG_BYTES: u64 = 16_000_000;
    let rows = |table: &Json| -> u64 {
        let bytes = ["item_bytes", "index_bytes", "change_bytes", "expiry_bytes"];
        bytes.iter().map(|name| table[name].as_u64().unwrap()).sum()
    };
    let tables = inspected["tables"].as_array().unwrap();
    let rows = tables.iter().map(rows).sum::<u64>() + transactions * TOKEN_BYTES;
    (rows as f64 * FILES_PER_ROWS) as u64 + LOG_BYTES
}

/// Makes a task, reads it, lists, completes it, over and over.
async fn caller(address: std::net::SocketAddr, ada: String, ended: Arc<AtomicBool>, seen: Arc<Mutex<Seen>>) {
    let mut client = Client::new(address);
    let create = request(
        "POST",
        "/todo/api/v1/tasks",
        &[&ada],
        br#"{"title": "one of very many", "priority": "low"}"#,
    );
    let list = request("GET", "/todo/api/v1/tasks?status=in_progress", &[&ada], b"");
    while !ended.load(Ordering::Relaxed) {
        let (created, time) = client.timed(&create).await;
        seen.lock().await.take(&created, time);
        let row: Json = created.map_or(Json::Null, |answer| {
            serde_json::from_slice(&answer.body).unwrap_or_default()
        });
        let Some(id) = row["task_id"].as_str() else { continue };
        let get = request("GET", &format!("/todo/api/v1/tasks/{id}"), &[&ada], b"");
        let complete = request("POST", &format!("/todo/api/v1/tasks/{id}/complete"), &[&ada], b"");
        for request in [&get, &list, &get, &complete, &get] {
            let (answer, time) = client.timed(request).await;
            seen.lock().await.take(&answer, time);
        }
        tokio::time::sleep(PAUSE).await;
    }
}
