//! The analytic rate at which 1 in 100 requests is throttled, against a simulation: seeded arrivals, a token bucket for each
//! partition, one key busier than the others.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

use singlet_cost::{AlikePartitions, THROTTLED_SHARE, throttling_rate};

/// How far the two may be apart.
const TOLERANCE: f64 = 0.1;
/// How long is looked, after the bursts are used up.
const SECONDS: f64 = 60.0;

#[derive(Clone, Copy, Debug)]
struct Case {
    /// Units a second that a partition serves.
    limit: f64,
    /// Units of a request.
    units: f64,
    /// The share of the busiest key.
    top_share: f64,
    /// How many keys there are.
    keys: usize,
    /// How many seconds of its units a partition saves up.
    burst_seconds: f64,
}

const CASES: [Case; 8] = [
    case(3000.0, 8.0, 1.0, 1, 5.0),
    case(1000.0, 4.0, 1.0, 1, 5.0),
    case(3000.0, 16.0, 0.5, 2, 5.0),
    case(1000.0, 6.0, 0.5, 10, 1.0),
    case(3000.0, 30.0, 0.2, 50, 5.0),
    case(1000.0, 9.0, 0.2, 8, 5.0),
    case(1000.0, 20.0, 0.1, 200, 1.0),
    case(3000.0, 40.0, 0.05, 20, 5.0),
];

const fn case(limit: f64, units: f64, top_share: f64, keys: usize, burst_seconds: f64) -> Case {
    Case {
        limit,
        units,
        top_share,
        keys,
        burst_seconds,
    }
}

/// How many cases are drawn beside those that are named.
const DRAWN_CASES: usize = 60;

/// A busiest key of 4 in 100 to all, up to 100 others, requests of 5 to 60 units, bursts of up to 10 seconds.
fn drawn_case(rng: &mut fastrand::Rng) -> Case {
    let keys = rng.usize(1..=100);
    let even = 1.0 / keys as f64;
    Case {
        limit: *rng.choice(&[1000.0, 3000.0]).unwrap(),
        units: 5.0 + rng.f64() * 55.0,
        top_share: even.max(0.04) + rng.f64() * (1.0 - even.max(0.04)),
        keys,
        burst_seconds: 1.0 + rng.f64() * 9.0,
    }
}

#[test]
fn the_analytic_rate_is_that_of_the_simulation() {
    let mut rng = fastrand::Rng::with_seed(20_261_117);
    let drawn: Vec<Case> = (0..DRAWN_CASES).map(|_| drawn_case(&mut rng)).collect();
    for (seed, case) in CASES.iter().chain(&drawn).enumerate() {
        let others = (case.keys - 1) as f64;
        let partitions = [
            AlikePartitions {
                share: case.top_share,
                count: 1.0,
            },
            AlikePartitions {
                share: (1.0 - case.top_share) / others.max(1.0),
                count: others,
            },
        ];
        let analytic = throttling_rate(&partitions, case.units, case.limit, THROTTLED_SHARE).unwrap();
        let simulated = simulated_rate(case, seed as u64, analytic);
        let apart = (analytic / simulated - 1.0).abs();
        assert!(
            apart <= TOLERANCE,
            "{case:?}: {analytic} is worked out, {simulated} simulated"
        );
    }
}

#[test]
fn where_the_limit_is_never_met_there_is_no_rate() {
    let quiet = AlikePartitions { share: 0.0, count: 5.0 };
    assert_eq!(throttling_rate(&[quiet], 1.0, 1000.0, THROTTLED_SHARE), None);
    assert_eq!(throttling_rate(&[], 1.0, 1000.0, THROTTLED_SHARE), None);
    let one = AlikePartitions { share: 1.0, count: 1.0 };
    assert_eq!(throttling_rate(&[one], 0.0, 1000.0, THROTTLED_SHARE), None);
}

#[test]
fn a_key_of_less_than_the_share_is_throttled_with_the_others() {
    // The busiest key gets 0.5 %: were all its requests refused, that were less than 1 in 100.
    let partitions = [
        AlikePartitions {
            share: 0.005,
            count: 1.0,
        },
        AlikePartitions {
            share: 0.995 / 1000.0,
            count: 1000.0,
        },
    ];
    let rate = throttling_rate(&partitions, 1.0, 1000.0, THROTTLED_SHARE).unwrap();
    // All 1,001 are then over their limits: rate × 1 − 1,001 × 1,000 = rate / 100.
    assert!((rate - 1_001_000.0 / 0.99).abs() < 1.0, "{rate}");
}

/// The rate at which the simulation throttles 1 in 100, found by halving.
fn simulated_rate(case: &Case, seed: u64, near: f64) -> f64 {
    let (mut low, mut high) = (near * 0.5, near * 2.0);
    for _ in 0..8 {
        let middle = f64::midpoint(low, high);
        match throttled_share(case, seed, middle) < THROTTLED_SHARE {
            true => low = middle,
            false => high = middle,
        }
    }
    f64::midpoint(low, high)
}

struct Bucket {
    tokens: f64,
    filled_at: f64,
}

/// The share of requests that a partition refuses. Buckets begin empty: what was saved up before is used up.
fn throttled_share(case: &Case, seed: u64, rate: f64) -> f64 {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut buckets: Vec<Bucket> = (0..case.keys)
        .map(|_| Bucket {
            tokens: 0.0,
            filled_at: 0.0,
        })
        .collect();
    let (mut at, mut sent, mut refused) = (0.0, 0_u64, 0_u64);
    while at < SECONDS {
        at += -(1.0 - rng.f64()).ln() / rate;
        let key = match case.keys == 1 || rng.f64() < case.top_share {
            true => 0,
            false => rng.usize(1..case.keys),
        };
        let bucket = &mut buckets[key];
        let saved = bucket.tokens + (at - bucket.filled_at) * case.limit;
        bucket.tokens = saved.min(case.burst_seconds * case.limit);
        bucket.filled_at = at;
        sent += 1;
        match bucket.tokens >= case.units {
            true => bucket.tokens -= case.units,
            false => refused += 1,
        }
    }
    refused as f64 / sent as f64
}
