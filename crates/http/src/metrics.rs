//! Figures for Prometheus: how often, how long, at what cost, and what was refused.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use singlet_store::{Consumed, Units};

/// The upper ends of the latency buckets, in seconds.
const BUCKETS: [f64; 14] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// The figures of a service.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    seconds: Family<Operation, Histogram, fn() -> Histogram>,
    read_units: Family<Operation, Counter<f64, std::sync::atomic::AtomicU64>>,
    write_units: Family<Operation, Counter>,
    place_read_units: Family<Placed, Counter<f64, std::sync::atomic::AtomicU64>>,
    place_write_units: Family<Placed, Counter>,
    refusals: Family<Refused, Counter>,
    runs: Family<Ran, Counter>,
    deliveries: Family<Delivered, Counter>,
    parked: Family<Followed, Gauge>,
    retried: Family<Followed, Gauge>,
    tally_groups: Family<Followed, Counter>,
    tally_lag_seconds: Family<Followed, Gauge>,
    search_lag_seconds: Family<Followed, Gauge>,
    lag_seconds: Family<Followed, Gauge>,
    /// Requests that are being answered.
    pub in_flight: Gauge,
    /// Bytes that requests hold beyond the little that each may.
    pub held_bytes: Gauge,
}

/// A read or a write of a system; both empty for what belongs to none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Operation {
    /// The system.
    pub system: String,
    /// The read's or write's name.
    pub operation: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    system: String,
    operation: String,
    status: u16,
}

/// What an operation consumed at one place: `table`, or the name of an index.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Placed {
    system: String,
    operation: String,
    place: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Refused {
    system: String,
    operation: String,
    problem: String,
}

/// A write that ran after a change, and how that ended: `done`, `refused`, `later` or `parked`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ran {
    system: String,
    operation: String,
    outcome: String,
}

/// An attempt to tell another system of a change, and how that ended: `delivered`, `later`, `failed` or `gone`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Delivered {
    system: String,
    webhook: String,
    outcome: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Followed {
    system: String,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("singlet");
        let buckets: fn() -> Histogram = || Histogram::new(BUCKETS);
        let metrics = Metrics {
            requests: Family::default(),
            seconds: Family::new_with_constructor(buckets),
            read_units: Family::default(),
            write_units: Family::default(),
            place_read_units: Family::default(),
            place_write_units: Family::default(),
            refusals: Family::default(),
            runs: Family::default(),
            deliveries: Family::default(),
            parked: Family::default(),
            retried: Family::default(),
            tally_groups: Family::default(),
            tally_lag_seconds: Family::default(),
            search_lag_seconds: Family::default(),
            lag_seconds: Family::default(),
            in_flight: Gauge::default(),
            held_bytes: Gauge::default(),
            registry: Registry::default(),
        };
        registry.register("requests", "Answers, by status", metrics.requests.clone());
        registry.register("request_seconds", "How long an answer took", metrics.seconds.clone());
        registry.register("read_units", "Read capacity units consumed", metrics.read_units.clone());
        registry.register(
            "write_units",
            "Write capacity units consumed",
            metrics.write_units.clone(),
        );
        registry.register(
            "place_read_units",
            "Read capacity units consumed, by table and index",
            metrics.place_read_units.clone(),
        );
        registry.register(
            "place_write_units",
            "Write capacity units consumed, by table and index",
            metrics.place_write_units.clone(),
        );
        registry.register(
            "refusals",
            "Requests that were not done, by the problem",
            metrics.refusals.clone(),
        );
        registry.register(
            "runs",
            "Writes that ran after changes, by outcome",
            metrics.runs.clone(),
        );
        registry.register(
            "deliveries",
            "Attempts to tell other systems of changes, by outcome",
            metrics.deliveries.clone(),
        );
        registry.register(
            "parked_changes",
            "Changes after which a write cannot be done",
            metrics.parked.clone(),
        );
        registry.register(
            "retried_changes",
            "Changes after which a write was refused for now, and those behind them",
            metrics.retried.clone(),
        );
        registry.register(
            "tally_groups",
            "Groups of tallies whose figures changed",
            metrics.tally_groups.clone(),
        );
        registry.register(
            "tally_lag_seconds",
            "How long ago the change happened that was counted last; 0 where none is waiting",
            metrics.tally_lag_seconds.clone(),
        );
        registry.register(
            "search_lag_seconds",
            "How far the words of rows are behind their changes",
            metrics.search_lag_seconds.clone(),
        );
        registry.register(
            "follow_lag_seconds",
            "How long ago the change happened that was followed last; 0 where none is waiting",
            metrics.lag_seconds.clone(),
        );
        registry.register(
            "requests_in_flight",
            "Requests being answered",
            metrics.in_flight.clone(),
        );
        registry.register(
            "held_bytes",
            "Bytes of bodies and answers that requests hold beyond the first 16 KB of each",
            metrics.held_bytes.clone(),
        );
        Metrics { registry, ..metrics }
    }
}

impl Metrics {
    /// Counts an answer.
    pub fn answered(&self, of: &Operation, status: u16, took: Duration, consumed: &Consumed, problem: Option<&str>) {
        let units = consumed.total();
        let (system, operation) = (of.system.clone(), of.operation.clone());
        let answered = Answered {
            system,
            operation,
            status,
        };
        self.requests.get_or_create(&answered).inc();
        self.seconds.get_or_create(of).observe(took.as_secs_f64());
        if units.read.halves() > 0 {
            self.read_units
                .get_or_create(of)
                .inc_by(units.read.halves() as f64 / 2.0);
        }
        if units.write.get() > 0 {
            self.write_units.get_or_create(of).inc_by(units.write.get());
        }
        for table in consumed.tables.values() {
            self.consumed_at(of, "table", table.table);
            for (index, units) in &table.indexes {
                self.consumed_at(of, index, *units);
            }
        }
        if let Some(problem) = problem {
            let refused = Refused {
                system: of.system.clone(),
                operation: of.operation.clone(),
                problem: problem.to_owned(),
            };
            self.refusals.get_or_create(&refused).inc();
        }
    }

    fn consumed_at(&self, of: &Operation, place: &str, units: Units) {
        let placed = Placed {
            system: of.system.clone(),
            operation: of.operation.clone(),
            place: place.to_owned(),
        };
        if units.read.halves() > 0 {
            let read = units.read.halves() as f64 / 2.0;
            self.place_read_units.get_or_create(&placed).inc_by(read);
        }
        if units.write.get() > 0 {
            self.place_write_units.get_or_create(&placed).inc_by(units.write.get());
        }
    }

    /// Counts a write that ran after a change.
    pub fn ran(&self, system: &str, write: &str, outcome: &str) {
        let ran = Ran {
            system: system.to_owned(),
            operation: write.to_owned(),
            outcome: outcome.to_owned(),
        };
        self.runs.get_or_create(&ran).inc();
    }

    /// Counts an attempt to tell another system of a change.
    pub fn delivered(&self, system: &str, webhook: &str, outcome: &str) {
        let delivered = Delivered {
            system: system.to_owned(),
            webhook: webhook.to_owned(),
            outcome: outcome.to_owned(),
        };
        self.deliveries.get_or_create(&delivered).inc();
    }

    /// Says how far the changes of a system are followed.
    pub fn followed(&self, system: &str, lag_seconds: i64, parked: usize, retried: usize) {
        let followed = Followed {
            system: system.to_owned(),
        };
        self.lag_seconds.get_or_create(&followed).set(lag_seconds);
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.parked.get_or_create(&followed).set(count(parked));
        self.retried.get_or_create(&followed).set(count(retried));
    }

    /// Says how far the tallies of a system are kept, and how many groups a page of changes changed.
    pub fn tallied(&self, system: &str, lag_seconds: i64, groups: usize) {
        let followed = Followed {
            system: system.to_owned(),
        };
        self.tally_lag_seconds.get_or_create(&followed).set(lag_seconds);
        let groups = u64::try_from(groups).unwrap_or(u64::MAX);
        self.tally_groups.get_or_create(&followed).inc_by(groups);
    }

    /// Says how far the words of a system's rows are followed.
    pub fn searched(&self, system: &str, lag_seconds: i64) {
        let followed = Followed {
            system: system.to_owned(),
        };
        self.search_lag_seconds.get_or_create(&followed).set(lag_seconds);
    }

    /// The figures as text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing into memory cannot fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry);
        text
    }
}
