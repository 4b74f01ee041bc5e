//! Figures for Prometheus: how often, how long, at what cost, and what was refused.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
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

/// A counter of halves.
type FractionCounter = Counter<f64, AtomicU64>;

/// The figures of a service.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// Of each operation that was asked for: the model bounds how many there are.
    figures: RwLock<HashMap<OperationLabels, Arc<OperationFigures>>>,
    requests: Family<AnsweredLabels, Counter>,
    seconds: Family<OperationLabels, Histogram, fn() -> Histogram>,
    read_units: Family<OperationLabels, FractionCounter>,
    write_units: Family<OperationLabels, Counter>,
    place_read_units: Family<PlaceLabels, FractionCounter>,
    place_write_units: Family<PlaceLabels, Counter>,
    refusals: Family<RefusedLabels, Counter>,
    misfits: Family<OperationLabels, Counter>,
    runs: Family<Ran, Counter>,
    deliveries: Family<Delivered, Counter>,
    parked: Family<FollowedLabels, Gauge>,
    retried: Family<FollowedLabels, Gauge>,
    tally_groups: Family<FollowedLabels, Counter>,
    tally_lag_seconds: Family<FollowedLabels, Gauge>,
    search_lag_seconds: Family<FollowedLabels, Gauge>,
    lag_seconds: Family<FollowedLabels, Gauge>,
    /// Requests that are being answered.
    pub in_flight: Gauge,
    /// Bytes that requests hold beyond the little that each may.
    pub held_bytes: Gauge,
}

/// A read or a write of a system; both empty for what belongs to none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct OperationLabels {
    /// The system.
    pub system: String,
    /// The read's or write's name.
    pub operation: String,
}

/// The figures of one operation, found once: to look for each by its labels takes longer than to count.
#[derive(Debug)]
struct OperationFigures {
    answers: Few<u16, Counter>,
    seconds: Histogram,
    /// There from the first unit on, as what is shown is.
    read_units: OnceLock<FractionCounter>,
    write_units: OnceLock<Counter>,
    places: Few<String, UnitFigures>,
}

/// What an operation consumes at one place.
#[derive(Debug, Default)]
struct UnitFigures {
    read: OnceLock<FractionCounter>,
    write: OnceLock<Counter>,
}

/// Values of a few names, in the order in which these came up.
#[derive(Debug)]
struct Few<K, V>(RwLock<Vec<(K, V)>>);

impl<K, V> Default for Few<K, V> {
    fn default() -> Self {
        Few(RwLock::default())
    }
}

impl<K, V> Few<K, V> {
    /// Does something with the value of a name, which is made where there is none.
    fn of<Q: ToOwned<Owned = K> + PartialEq + ?Sized>(&self, name: &Q, make: impl Fn() -> V, with: impl Fn(&V))
    where
        K: Borrow<Q>,
    {
        let find = |known: &[(K, V)]| {
            let found = known.iter().find(|(known, _)| known.borrow() == name);
            found.map(|(_, value)| with(value)).is_some()
        };
        if find(&self.0.read().unwrap_or_else(PoisonError::into_inner)) {
            return;
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if !find(&known) {
            let value = make();
            with(&value);
            known.push((name.to_owned(), value));
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AnsweredLabels {
    system: String,
    operation: String,
    status: u16,
}

/// What an operation consumed at one place: `table`, or the name of an index.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PlaceLabels {
    system: String,
    operation: String,
    place: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RefusedLabels {
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
struct FollowedLabels {
    system: String,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("singlet");
        let buckets: fn() -> Histogram = || Histogram::new(BUCKETS);
        let metrics = Metrics {
            figures: RwLock::default(),
            requests: Family::default(),
            seconds: Family::new_with_constructor(buckets),
            read_units: Family::default(),
            write_units: Family::default(),
            place_read_units: Family::default(),
            place_write_units: Family::default(),
            refusals: Family::default(),
            misfits: Family::default(),
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
            "misfits",
            "Requests that came upon something stored otherwise than the model has it",
            metrics.misfits.clone(),
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
    pub fn count_answer(
        &self,
        of: &OperationLabels,
        status: u16,
        took: Duration,
        consumed: &Consumed,
        problem: Option<&str>,
    ) {
        let figures = self.figures_of(of);
        let answers = || {
            let answered = AnsweredLabels {
                system: of.system.clone(),
                operation: of.operation.clone(),
                status,
            };
            self.requests.get_or_create(&answered).clone()
        };
        figures.answers.of(&status, answers, |answers| _ = answers.inc());
        figures.seconds.observe(took.as_secs_f64());
        let units = consumed.total_units();
        if units.read.half_count() > 0 {
            let counter = || self.read_units.get_or_create(of).clone();
            let read = units.read.half_count() as f64 / 2.0;
            figures.read_units.get_or_init(counter).inc_by(read);
        }
        if units.write.get() > 0 {
            let counter = || self.write_units.get_or_create(of).clone();
            figures.write_units.get_or_init(counter).inc_by(units.write.get());
        }
        for table in consumed.tables.values() {
            self.consumed_at(&figures, of, "table", table.table);
            for (index, units) in &table.indexes {
                self.consumed_at(&figures, of, index, *units);
            }
        }
        if let Some(problem) = problem {
            let refused = RefusedLabels {
                system: of.system.clone(),
                operation: of.operation.clone(),
                problem: problem.to_owned(),
            };
            self.refusals.get_or_create(&refused).inc();
        }
    }

    fn figures_of(&self, of: &OperationLabels) -> Arc<OperationFigures> {
        let known = self
            .figures
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(of)
            .cloned();
        known.unwrap_or_else(|| {
            let mut all = self.figures.write().unwrap_or_else(PoisonError::into_inner);
            let new = || {
                Arc::new(OperationFigures {
                    answers: Few::default(),
                    seconds: self.seconds.get_or_create(of).clone(),
                    read_units: OnceLock::new(),
                    write_units: OnceLock::new(),
                    places: Few::default(),
                })
            };
            Arc::clone(all.entry(of.clone()).or_insert_with(new))
        })
    }

    fn consumed_at(&self, figures: &OperationFigures, of: &OperationLabels, place: &str, units: Units) {
        if units == Units::default() {
            return;
        }
        let placed = || PlaceLabels {
            system: of.system.clone(),
            operation: of.operation.clone(),
            place: place.to_owned(),
        };
        figures.places.of(place, UnitFigures::default, |counters| {
            if units.read.half_count() > 0 {
                let counter = || self.place_read_units.get_or_create(&placed()).clone();
                let read = units.read.half_count() as f64 / 2.0;
                counters.read.get_or_init(counter).inc_by(read);
            }
            if units.write.get() > 0 {
                let counter = || self.place_write_units.get_or_create(&placed()).clone();
                counters.write.get_or_init(counter).inc_by(units.write.get());
            }
        });
    }

    /// Counts a request that came upon something that is not as the model has it.
    pub fn met_misfit(&self, of: &OperationLabels) {
        self.misfits.get_or_create(of).inc();
    }

    /// Counts a write that ran after a change.
    pub fn count_triggered(&self, system: &str, write: &str, outcome: &str) {
        let ran = Ran {
            system: system.to_owned(),
            operation: write.to_owned(),
            outcome: outcome.to_owned(),
        };
        self.runs.get_or_create(&ran).inc();
    }

    /// Counts an attempt to tell another system of a change.
    pub fn count_delivery(&self, system: &str, webhook: &str, outcome: &str) {
        let delivered = Delivered {
            system: system.to_owned(),
            webhook: webhook.to_owned(),
            outcome: outcome.to_owned(),
        };
        self.deliveries.get_or_create(&delivered).inc();
    }

    /// Says how far the changes of a system are followed.
    pub fn set_followed(&self, system: &str, lag_seconds: i64, parked: usize, retried: usize) {
        let followed = FollowedLabels {
            system: system.to_owned(),
        };
        self.lag_seconds.get_or_create(&followed).set(lag_seconds);
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.parked.get_or_create(&followed).set(count(parked));
        self.retried.get_or_create(&followed).set(count(retried));
    }

    /// Says how far the tallies of a system are kept, and how many groups a page of changes changed.
    pub fn set_tallied(&self, system: &str, lag_seconds: i64, groups: usize) {
        let followed = FollowedLabels {
            system: system.to_owned(),
        };
        self.tally_lag_seconds.get_or_create(&followed).set(lag_seconds);
        let groups = u64::try_from(groups).unwrap_or(u64::MAX);
        self.tally_groups.get_or_create(&followed).inc_by(groups);
    }

    /// Says how far the words of a system's rows are followed.
    pub fn set_searched(&self, system: &str, lag_seconds: i64) {
        let followed = FollowedLabels {
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
