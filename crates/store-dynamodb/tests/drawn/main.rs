//! The same drawn requests to the embedded store, to the embedded store behind DynamoDB's protocol, and to DynamoDB Local, which judges.
//!
//! What is compared: answers, kinds of refusals, reasons of cancelled transactions, capacity, and in the end the whole table
//! and its stream. `SINGLET_DRAWN_SEEDS=100..400` draws others, and more.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

mod answers;
mod compare;
mod requests;
mod values;

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use singlet_protocol::Endpoint as Protocol;
use singlet_store::{ScanRequest, Store};
use singlet_store_dynamodb::{DynamoDbStore, Settings};
use singlet_store_embedded::EmbeddedStore;
use singlet_testing::{Endpoint, Foreign};

use answers::{ask, changes};
use requests::Request;

/// Which seeds are drawn, each for a table of its own.
const SEEDS_VARIABLE: &str = "SINGLET_DRAWN_SEEDS";
const SEEDS: std::ops::Range<u64> = 1..13;
const REQUESTS_PER_SEED: usize = 120;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drawn_requests_are_answered_as_dynamodb_local_answers_them() {
    let Some(endpoint) = Endpoint::start().filter(|endpoint| endpoint.foreign != Foreign::Moto) else {
        println!("!!! SKIPPED: only DynamoDB Local judges");
        return;
    };
    let judge = connect(&endpoint.url).await;
    let direct: Arc<dyn Store> = Arc::new(EmbeddedStore::memory().unwrap());
    let behind_protocol = connect(&serve_protocol().await).await;
    let sides = Sides {
        judge: &judge,
        direct: &*direct,
        behind_protocol: &behind_protocol,
    };
    let mut wrong = Vec::new();
    for seed in seeds() {
        wrong.extend(sides.run(seed).await);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

struct Sides<'s> {
    judge: &'s dyn Store,
    direct: &'s dyn Store,
    behind_protocol: &'s dyn Store,
}

impl Sides<'_> {
    /// What differs in the requests of a seed. It goes on until the tables may differ.
    async fn run(&self, seed: u64) -> Vec<String> {
        let mut rng = Rng::with_seed(seed);
        let spec = values::spec(format!("drawn-{}-{seed}", std::process::id()), &mut rng);
        for store in [self.judge, self.direct, self.behind_protocol] {
            store.create_table(&spec).await.unwrap();
        }
        let mut wrong = Vec::new();
        for number in 0..REQUESTS_PER_SEED {
            let request = requests::request(&mut rng, &spec);
            let theirs = ask(self.judge, &request).await;
            let ours = ask(self.direct, &request).await;
            let through = ask(self.behind_protocol, &request).await;
            for what in [
                compare::compare(&spec, &request, &theirs, &ours),
                compare::compare_same(&ours, &through),
            ] {
                let what = what.err();
                wrong.extend(
                    what.map(|what| format!("seed {seed}, request {number}: {what}\n{request:?}\n{:?}", spec.key)),
                );
            }
            if theirs.answer.is_ok() != ours.answer.is_ok() || ours.answer.is_ok() != through.answer.is_ok() {
                return wrong;
            }
        }
        let ended = self.compare_end(&spec.name).await.err();
        wrong.extend(ended.map(|what| format!("seed {seed}: {what}")));
        wrong
    }

    /// All rows, and all changes.
    async fn compare_end(&self, table: &str) -> Result<(), String> {
        let all = Request::Scan(ScanRequest {
            table: table.to_owned(),
            ..ScanRequest::default()
        });
        let ours = ask(self.direct, &all).await.answer;
        let told = changes(self.direct, table, usize::MAX).await?;
        let expected = told.iter().map(|(_, changes)| changes.len()).sum();
        for (side, store) in [("the judge", self.judge), ("the protocol", self.behind_protocol)] {
            let theirs = ask(store, &all).await.answer;
            if ours != theirs {
                return Err(format!("{side}, in the end\n{ours:?}\n{theirs:?}"));
            }
            let theirs = changes(store, table, expected)
                .await
                .map_err(|what| format!("{side}: {what}"))?;
            if let Some((ours, theirs)) = told.iter().zip(&theirs).find(|(ours, theirs)| ours != theirs) {
                return Err(format!("{side}, its stream\n{ours:?}\n{theirs:?}"));
            }
            if told.len() != theirs.len() {
                return Err(format!("the stream tells of {} and {} items", told.len(), theirs.len()));
            }
        }
        Ok(())
    }
}

async fn connect(url: &str) -> DynamoDbStore {
    let settings = Settings {
        attempt_timeout: Duration::from_secs(120),
        operation_timeout: Duration::from_secs(300),
        ..Settings::local_endpoint(url)
    };
    DynamoDbStore::connect(&settings).await.unwrap()
}

/// The embedded store behind the protocol. It ends with the test.
async fn serve_protocol() -> String {
    let store = Arc::new(EmbeddedStore::memory().unwrap());
    let router = Protocol::new(store, singlet_protocol::EndpointSettings::default()).router();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

fn seeds() -> std::ops::Range<u64> {
    let Ok(text) = std::env::var(SEEDS_VARIABLE) else {
        return SEEDS;
    };
    let (from, to) = text.split_once("..").expect("seeds as `1..13`");
    from.parse().unwrap()..to.parse().unwrap()
}
