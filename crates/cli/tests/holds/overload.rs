//! A thousand requests at once: what the process takes while they are there, and what is left a minute later.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::client::{Client, request};
use crate::figures::{Seen, megabytes, millis, setting};
use crate::service::Service;

/// How many requests there are at once.
const AT_ONCE: usize = 1_000;
/// How often each of them is sent again.
const ROUNDS: usize = 5;
const MEMORY_BYTES_MAX: u64 = 200_000_000;
const LEFT_BYTES_MAX: u64 = 30_000_000;

#[test]
#[ignore = "takes minutes, and judges memory: `scripts/overload`"]
fn a_thousand_requests_at_once_stay_within_their_memory() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let service = Arc::new(Service::start("overload", &[]));
        let ada = service.credentials("todo", &["--as", "ada"]);
        let kasia = service.credentials("ecobid", &["--as", "kasia"]);
        let mix = mix(&ada, &kasia);
        // What was never used is not in memory yet.
        burst(&service, &mix, 16, 50).await;
        let before = service.usage().memory_bytes;
        println!("at rest: {}", megabytes(before));
        judge(&service, "the mix", &mix, before).await;
        let large = vec![large_body(&ada)];
        judge(&service, "bodies of 1 MB", &large, before).await;
        let nested = vec![many_values(&ada)];
        judge(&service, "bodies of 1 MB of small values", &nested, before).await;
    });
}

async fn judge(service: &Arc<Service>, name: &str, requests: &[Vec<u8>], before: u64) {
    let (seen, most) = burst(service, requests, AT_ONCE, ROUNDS).await;
    tokio::time::sleep(Duration::from_secs(setting("SINGLET_REST_SECONDS", 60))).await;
    let after = service.usage().memory_bytes;
    println!(
        "{name}, {AT_ONCE} at once: at most {}, a minute later {}; {} requests, {:?}, lost {:?}, median {}, p99 {}",
        megabytes(most),
        megabytes(after),
        seen.count(),
        seen.statuses,
        seen.lost,
        millis(seen.percentile(50.0)),
        millis(seen.percentile(99.0)),
    );
    assert_eq!(seen.faults(), 0, "{}", service.log(20));
    assert!(most <= MEMORY_BYTES_MAX, "{name}: {}", megabytes(most));
    assert!(after <= before + LEFT_BYTES_MAX, "{name}: {} before", megabytes(before));
}

/// Sends requests over so many connections, and says what came back and the most memory that was taken meanwhile.
async fn burst(service: &Arc<Service>, requests: &[Vec<u8>], at_once: usize, rounds: usize) -> (Seen, u64) {
    let ended = Arc::new(AtomicBool::new(false));
    let watching = tokio::spawn({
        let (service, ended) = (Arc::clone(service), Arc::clone(&ended));
        async move {
            let mut most = 0;
            while !ended.load(Ordering::Relaxed) {
                most = most.max(service.usage().memory_bytes);
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            most
        }
    });
    let clients = (0..at_once).map(|at| {
        let requests: Vec<Vec<u8>> = (0..rounds)
            .map(|round| requests[(at + round) % requests.len()].clone())
            .collect();
        let mut client = Client::new(service.address);
        tokio::spawn(async move {
            let mut seen = Seen::default();
            for request in &requests {
                let (answer, time) = client.timed(request).await;
                seen.take(&answer, time);
            }
            seen
        })
    });
    let clients: Vec<_> = clients.collect();
    let mut seen = Seen::default();
    for client in clients {
        seen.merge(client.await.unwrap());
    }
    ended.store(true, Ordering::Relaxed);
    (seen, watching.await.unwrap())
}

/// Six gets, three lists and a create of ten, of two systems, as the benchmark has them.
fn mix(ada: &str, kasia: &str) -> Vec<Vec<u8>> {
    let get = request("GET", "/todo/api/v1/tasks/01JQX8MNM83M51DFW44W3RPXTV", &[ada], b"");
    let list = request("GET", "/todo/api/v1/tasks?status=pending", &[ada], b"");
    let items = request("GET", "/ecobid/items?status=available", &[kasia], b"");
    let create = request("POST", "/todo/api/v1/tasks", &[ada], br#"{"title": "one of many"}"#);
    let all = [&get, &list, &get, &items, &get, &create, &get, &list, &get, &get];
    all.into_iter().cloned().collect()
}

fn large_body(ada: &str) -> Vec<u8> {
    let body = format!("{{\"title\": \"{}\"}}", "x".repeat(1_000_000));
    request("POST", "/todo/api/v1/tasks", &[ada], body.as_bytes())
}

fn many_values(ada: &str) -> Vec<u8> {
    let body = format!("{{\"title\": \"a\", \"tags\": [{}7]}}", "7,".repeat(499_000));
    request("POST", "/todo/api/v1/tasks", &[ada], body.as_bytes())
}
