//! How long a search takes, its rows included: `cargo test --release -p singlet-search --lib -- --ignored --nocapture speed`.

use std::time::Instant;

use fastrand::Rng;
use singlet_runtime::{Attributes, Caller, Request};

use super::support::{Bench, caller, text};
use crate::IndexPlace;

const ROWS: usize = 100_000;
const OWNERS: usize = 500;
const QUERIES: usize = 2_000;

/// Words as often as in a language: the n-th is as likely as one in n.
fn drawn_words(rng: &mut Rng, words: usize) -> String {
    let one = |rng: &mut Rng| format!("word{}", (50_000_f64.powf(rng.f64())) as u32);
    let all: Vec<String> = (0..words).map(|_| one(rng)).collect();
    all.join(" ")
}

#[tokio::test]
#[ignore = "measures, and takes minutes"]
#[allow(clippy::print_stdout, reason = "what it measures is what it is for")]
async fn speed_of_searches() {
    let rows = std::env::var("SINGLET_SEARCH_ROWS").map_or(ROWS, |rows| rows.parse().unwrap());
    let mut bench = Bench::new().await;
    let mut rng = Rng::with_seed(1);
    for at in 0..rows {
        let mut row = Attributes::from([("title".to_owned(), text(&drawn_words(&mut rng, 6)))]);
        row.insert("body".to_owned(), text(&drawn_words(&mut rng, 20)));
        bench
            .put(&format!("user{}", at % OWNERS), &format!("n{at}"), row, None)
            .await;
    }
    let mut follower = bench.follower(IndexPlace::Memory);
    bench.engine.search_by(follower.served_index());
    let began = Instant::now();
    bench.follow(&mut follower).await;
    println!("{rows} rows into the index: {:?}", began.elapsed());
    let cases = [
        ("mine", Caller::with_id("user7"), 2),
        ("seen", caller("root", "admin"), 1),
        ("seen", caller("root", "admin"), 2),
    ];
    for (read, caller, words) in cases {
        let mut times = Vec::with_capacity(QUERIES);
        for _ in 0..QUERIES {
            let mut query = drawn_words(&mut rng, words);
            if rng.bool() {
                query.pop();
            }
            let request = Request {
                args: Attributes::from([("q".to_owned(), text(&query))]),
                caller: caller.clone(),
                limit: Some(20),
                now: bench.millis(),
                ..Request::default()
            };
            let began = Instant::now();
            bench.engine.read(read, &request).await.unwrap();
            times.push(began.elapsed());
        }
        times.sort();
        let at = |share: usize| times[(QUERIES * share / 100).min(QUERIES - 1)];
        println!(
            "{read}, {words} words: p50 {:?}, p99 {:?}, most {:?}",
            at(50),
            at(99),
            at(100)
        );
    }
}
