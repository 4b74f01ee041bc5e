//! All attacks at once, and a client beside them that means well.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::attacks::{self, Target};
use crate::client::{Client, request};
use crate::drawn::{Chance, Operations};
use crate::figures::{Seen, megabytes, millis, setting};
use crate::service::{Service, Usage};

/// Requests of a usual run; `SINGLET_REQUESTS` says otherwise, and then times and memory are judged too.
const REQUESTS_USUAL: u64 = 1_500;
/// Clients of each kind that hold a connection for as long as they can.
const HOLDERS: usize = 24;
const SYSTEMS: [(&str, &[&str]); 5] = [
    ("todo", &["--as", "ada"]),
    ("wardrobe", &["--as", "tomas"]),
    ("country", &["--claim", "role=writer"]),
    ("booking", &["--as", "elena", "--claim", "role=admin"]),
    ("ecobid", &["--as", "kasia"]),
];
const LEFT_BYTES_MAX: u64 = 30_000_000;
const ANSWERED_WITHIN: Duration = Duration::from_secs(1);
/// How long what was held by attackers may take to be given back: the service's own patience, and some.
const RELEASE_TIME_MAX: Duration = Duration::from_secs(60);

#[test]
fn nothing_that_is_sent_brings_it_down() {
    let requests = setting("SINGLET_REQUESTS", REQUESTS_USUAL);
    let seed = setting("SINGLET_SEED", 1);
    println!("{requests} requests, seed {seed}");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut service = Service::start("hostile", &[]);
        // What was never used is not in memory yet.
        attack(&service, requests.min(REQUESTS_USUAL) / 5, seed).await;
        let before = released(&service).await;
        let (attacked, beside) = attack(&service, requests, seed + 1).await;
        let after = released(&service).await;
        println!(
            "{} requests: {:?}, without an answer {:?}",
            attacked.count(),
            attacked.statuses,
            attacked.lost
        );
        println!(
            "beside them {} requests that meant well: {:?} {:?}, median {}, p99 {}, longest {}",
            beside.count(),
            beside.statuses,
            beside.lost,
            millis(beside.percentile(50.0)),
            millis(beside.percentile(99.0)),
            millis(beside.percentile(100.0)),
        );
        println!(
            "memory {} before, {} after; open files {} and {}",
            megabytes(before.memory_bytes),
            megabytes(after.memory_bytes),
            before.open_files,
            after.open_files
        );
        assert!(service.is_running());
        assert!(attacked.count() >= requests);
        assert_eq!(attacked.faults() + beside.faults(), 0, "{}", service.log(40));
        assert_eq!(
            beside.of(200) + beside.of(201),
            beside.count(),
            "{:?} {:?}",
            beside.statuses,
            beside.lost
        );
        assert!(after.open_files <= before.open_files + 2);
        assert!(!service.log(usize::MAX).contains("panic"), "{}", service.log(40));
        if requests > REQUESTS_USUAL {
            assert!(beside.percentile(99.0) <= ANSWERED_WITHIN);
            assert!(after.memory_bytes <= before.memory_bytes + LEFT_BYTES_MAX);
        }
    });
}

/// All attacks at once until so many requests were made; what they and the client beside them saw.
async fn attack(service: &Service, requests: u64, seed: u64) -> (Seen, Seen) {
    let ended = Arc::new(AtomicBool::new(false));
    let target = Target {
        address: service.address,
        credentials: service.credentials("todo", &["--as", "grace"]),
    };
    let beside = tokio::spawn(well_meant(
        service.address,
        // Nobody else acts as this caller: drawn requests delete users too.
        service.credentials("todo", &["--as", "mei"]),
        Arc::clone(&ended),
    ));
    let holders: Vec<_> = (0..4 * HOLDERS)
        .map(|at| {
            let (target, ended) = (target.clone(), Arc::clone(&ended));
            tokio::spawn(async move {
                while !ended.load(Ordering::Relaxed) {
                    match at % 4 {
                        0 => attacks::silent(&target).await,
                        1 => attacks::slow(&target, false).await,
                        2 => attacks::slow(&target, true).await,
                        _ => attacks::deaf(&target).await,
                    }
                }
            })
        })
        .collect();
    let broken = tokio::spawn(broken(target, Arc::clone(&ended)));
    let mut drawing = Vec::new();
    for (at, (system, claims)) in SYSTEMS.into_iter().enumerate() {
        let credentials = service.credentials(system, claims);
        let share = requests.div_ceil(SYSTEMS.len() as u64);
        drawing.push(tokio::spawn(drawn(
            service.address,
            system,
            credentials,
            share,
            seed * 10 + at as u64,
        )));
    }
    let mut seen = Seen::default();
    for drawn in drawing {
        seen.merge(drawn.await.unwrap());
    }
    ended.store(true, Ordering::Relaxed);
    seen.merge(broken.await.unwrap());
    holders.iter().for_each(tokio::task::JoinHandle::abort);
    (seen, beside.await.unwrap())
}

/// Broken clients, one after the other and then again.
async fn broken(target: Target, ended: Arc<AtomicBool>) -> Seen {
    let mut seen = Seen::default();
    loop {
        attacks::half_closed(&target, &mut seen).await;
        attacks::leaving(&target, &mut seen).await;
        attacks::pipelined(&target, &mut seen).await;
        attacks::oversize(&target, &mut seen).await;
        attacks::wrong(&target, &mut seen).await;
        if ended.load(Ordering::Relaxed) {
            return seen;
        }
    }
}

/// Requests over all operations of a system.
async fn drawn(address: std::net::SocketAddr, system: &str, credentials: String, count: u64, seed: u64) -> Seen {
    let mut client = Client::new(address);
    let described = client
        .send(&request("GET", &format!("/{system}/openapi.json"), &[], b""))
        .await
        .unwrap();
    let mut operations = Operations::of(serde_json::from_slice(&described.body).unwrap());
    let (mut chance, mut seen) = (Chance::new(seed), Seen::default());
    for at in 0..count as usize {
        let request = operations.draw(at % operations.count(), &mut chance, &credentials);
        let (answer, time) = client.timed(&request).await;
        if let Ok(answer) = &answer {
            let fault = answer.status >= 500 && answer.status != 503;
            assert!(
                !fault,
                "seed {seed}, request {at}: {}\n{}",
                String::from_utf8_lossy(&request),
                answer.status
            );
            if answer.status < 300 {
                operations.learn(&answer.body);
            }
        }
        seen.take(&answer, time);
    }
    seen
}

/// Gets and creates, every other time over a new connection.
async fn well_meant(address: std::net::SocketAddr, credentials: String, ended: Arc<AtomicBool>) -> Seen {
    let create = request(
        "POST",
        "/todo/api/v1/tasks",
        &[&credentials],
        br#"{"title": "meant well"}"#,
    );
    let (mut seen, mut client) = (Seen::default(), Client::new(address));
    let made = client.send(&create).await.unwrap();
    let made: serde_json::Value = serde_json::from_slice(&made.body).unwrap();
    let own = format!("/todo/api/v1/tasks/{}", made["task_id"].as_str().unwrap());
    let get = request("GET", &own, &[&credentials], b"");
    while !ended.load(Ordering::Relaxed) {
        for request in [&get, &create] {
            let (answer, time) = client.timed(request).await;
            seen.take(&answer, time);
        }
        client = Client::new(address);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    seen
}

/// What it takes once nobody holds anything any more.
async fn released(service: &Service) -> Usage {
    let began = Instant::now();
    loop {
        let mut client = Client::new(service.address);
        let figures = client.send(&request("GET", "/metrics", &[], b"")).await.unwrap();
        let text = String::from_utf8(figures.body).unwrap();
        let figure = |name: &str| -> u64 {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap().trim().parse().unwrap()
        };
        // The request for the figures is under way itself.
        let held = (figure("singlet_requests_in_flight"), figure("singlet_held_bytes"));
        if held == (1, 0) {
            break;
        }
        assert!(began.elapsed() < RELEASE_TIME_MAX, "still held: {held:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // Connections of clients that have gone are ended one by one.
    let mut usage = service.usage();
    while began.elapsed() < RELEASE_TIME_MAX {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let now = service.usage();
        let settled = now.open_files == usage.open_files && now.memory_bytes.abs_diff(usage.memory_bytes) < 1 << 20;
        usage = now;
        if settled {
            break;
        }
    }
    usage
}
