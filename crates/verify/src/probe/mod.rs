//! Any model against its own meaning: rows that it allows are drawn, every read and write is run on a real engine and compared with
//! what it means, and what differs is made small.
//!
//! What decides (the *judge*, a model) and what is tried (the *subject*, an engine on a store) are apart: the subject may have
//! been opened with another model, with other plans, or on a store that does something else. Nothing here knows of it.
//!
//! # Terms
//!
//! - A *case* is one call, with drawn arguments and caller, on a drawn table.
//! - A *finding* is a case that differs, with the fewest rows and calls and the simplest values that still do.

mod by_hand;
mod capacity;
mod clauses;
mod counted;
mod edges;
mod finding;
mod hints;
mod loads;
mod meaning;
mod pattern;
mod reads;
mod records;
mod request;
mod shape;
mod shrink;
mod siblings;
mod subject;
mod table;
mod usual;
mod values;
mod witness;
mod worker;
mod writes;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use singlet_model::Model;
use singlet_model::model::Read;
use singlet_plan::read::plan_read;
use singlet_plan::write::write_costs;
use singlet_runtime::{Attributes, Setting};

pub use crate::writes::names_a_call;
pub use finding::{Call, Finding, Kind};
pub use loads::{LoadTally, try_loads};
pub use subject::Subject;
pub use usual::{example_value, usual_settings};

use capacity::PageCapacity;
use hints::Hints;
use reads::TriedRead;
use table::Judge;
use worker::Worker;

use crate::VerifyError;
use crate::writes::why_not_by_hand;

/// Makes what is tried: an engine on a table of its own, empty or not. It is asked once for each thread, and again where a
/// subject cannot be used any more.
pub type Subjects<'a> = dyn Fn() -> Pin<Box<dyn Future<Output = Result<Subject, VerifyError>> + 'a>> + Sync + 'a;

/// Hears how far it is: the operation, how it is run, and how many more of its cases were tried.
pub type Progress<'a> = dyn Fn(&str, Kind, usize) + Sync + 'a;

/// So many tables are met with few cases each, so that a short run has several; then more are tried on each.
const TABLES_SHORT: u64 = 12;

/// How many cases are tried on a table. It follows from the table's number alone, so that a case comes again in a run of any length.
fn cases_per_table(round: u64, [least, most]: [usize; 2]) -> usize {
    if round < TABLES_SHORT { least } else { most }
}

/// How much is tried.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// All that is drawn follows from it.
    pub seed: u64,
    /// Cases of each operation.
    pub cases: usize,
    /// The operations that are tried; all, if none is named.
    pub only: &'a [String],
    /// When no more cases are begun.
    pub until: Option<Instant>,
    /// Threads.
    pub workers: usize,
    /// Hears how far it is.
    pub progress: Option<&'a Progress<'a>>,
    /// Set when something differs: then nothing more is begun, and what differs is not made small. For those who only want to know
    /// whether.
    pub first_only: Option<&'a AtomicBool>,
    /// Whether writes are held to what their plans say they consume. Not every endpoint counts as DynamoDB does.
    pub holds_costs: bool,
    /// Once it is true no more cases are begun.
    pub stop: Option<&'a AtomicBool>,
}

impl Options<'_> {
    /// So many cases of each operation, on two threads.
    pub fn new(seed: u64, cases: usize) -> Self {
        Options {
            seed,
            cases,
            only: &[],
            until: None,
            workers: 2,
            progress: None,
            first_only: None,
            holds_costs: true,
            stop: None,
        }
    }

    fn is_over(&self) -> bool {
        let is_set = |flag: Option<&AtomicBool>| flag.is_some_and(|flag| flag.load(Ordering::Relaxed));
        is_set(self.first_only) || is_set(self.stop) || self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Hears that something differs; says whether it is to be made small.
    fn heard_difference(&self) -> bool {
        self.first_only
            .inspect(|found| found.store(true, Ordering::Relaxed))
            .is_none()
    }

    fn advance(&self, operation: &str, kind: Kind, cases: usize) {
        if let Some(progress) = self.progress {
            progress(operation, kind, cases);
        }
    }
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Each operation, in the order of the model: reads, conditions by hand, writes, calls by hand.
    pub operations: Vec<OperationReport>,
}

impl Report {
    /// What differs.
    pub fn all_findings(&self) -> impl Iterator<Item = &Finding> {
        self.operations
            .iter()
            .filter_map(|operation| operation.finding.as_deref())
    }

    /// How many cases were tried.
    pub fn case_count(&self) -> usize {
        self.operations.iter().map(|operation| operation.cases).sum()
    }
}

/// What came of one operation.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationReport {
    /// Its name.
    pub name: String,
    /// How it was run.
    pub kind: Kind,
    /// How many cases were tried.
    pub cases: usize,
    /// How many of them must come to what, in a word: `rows`, `empty`, `done`, a refusal's name.
    pub outcomes: BTreeMap<String, usize>,
    /// What differs.
    pub finding: Option<Box<Finding>>,
    /// Why it was not tried, or not to the end.
    pub skipped: Option<String>,
}

impl OperationReport {
    fn new(name: &str, kind: Kind) -> Self {
        OperationReport {
            name: name.to_owned(),
            kind,
            cases: 0,
            outcomes: BTreeMap::new(),
            finding: None,
            skipped: None,
        }
    }

    fn saw(&mut self, word: &str) {
        *self.outcomes.entry(word.to_owned()).or_default() += 1;
    }
}

/// Tries every read and write of a model, each in as many cases as are wanted or until one differs.
pub fn run_probe<'s>(
    judge: &Arc<Model>,
    settings: &Attributes,
    subjects: &'s Subjects<'s>,
    options: &Options<'_>,
) -> Report {
    let setting = Setting::of(judge, settings.clone());
    let hints = Hints::of_model(judge);
    let write_costs = options.holds_costs.then(|| write_costs(judge).into());
    let judge = Judge {
        model: judge,
        setting: &setting,
        hints: &hints,
        write_costs: &write_costs,
    };
    let jobs = jobs(&judge, options);
    let next = AtomicUsize::new(0);
    let done: Mutex<BTreeMap<usize, OperationReport>> = Mutex::default();
    let work = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else { return };
        let mut worker = Worker::new(subjects);
        while let Some((at, job)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            jobs.get(at).map(|job| (at, job))
        } {
            let report = runtime.block_on(try_job(&mut worker, &judge, *job, options));
            done.lock().unwrap_or_else(PoisonError::into_inner).insert(at, report);
        }
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..options.workers.max(1)).map(|_| scope.spawn(work)).collect();
        scope.spawn(work);
        drop(others);
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    Report {
        operations: done.into_values().collect(),
    }
}

#[derive(Clone, Copy)]
enum ProbeJob<'m> {
    Read(&'m Read, Kind),
    Write(&'m singlet_model::model::Write, Kind),
}

fn jobs<'m>(judge: &Judge<'m>, options: &Options<'_>) -> Vec<ProbeJob<'m>> {
    let wanted = |name: &String| options.only.is_empty() || options.only.contains(name);
    let model: &'m Model = judge.model;
    let reads = model.reads.iter().filter(|read| wanted(&read.name));
    let by_hand = reads.clone().filter(|read| read.using.is_some());
    // What only a change calls is called by nobody.
    let called = model.writes.iter().filter(|write| !write.is_uncalled());
    let writes = called.filter(|write| wanted(&write.name));
    let reads = reads.map(|read| ProbeJob::Read(read, Kind::Read));
    let by_hand = by_hand.map(|read| ProbeJob::Read(read, Kind::Using));
    let called = writes.clone().filter(|write| names_a_call(model, write));
    let writes = writes.map(|write| ProbeJob::Write(write, Kind::Write));
    let called = called.map(|write| ProbeJob::Write(write, Kind::Calls));
    reads.chain(by_hand).chain(writes).chain(called).collect()
}

async fn try_job(
    worker: &mut Worker<'_>,
    judge: &Judge<'_>,
    job: ProbeJob<'_>,
    options: &Options<'_>,
) -> OperationReport {
    match job {
        ProbeJob::Read(read, kind) => {
            if let Some(reason) = unplanned(judge, read).filter(|_| kind == Kind::Read) {
                let mut report = OperationReport::new(&read.name, kind);
                report.skipped = Some(reason);
                return report;
            }
            let capacity = PageCapacity::of(judge.model, read);
            let tried = TriedRead {
                judge,
                read,
                kind,
                capacity: &capacity,
            };
            reads::try_read(worker, tried, options).await
        }
        ProbeJob::Write(write, kind) => match why_not_by_hand(judge.model, write).filter(|_| kind == Kind::Calls) {
            Some(reason) => {
                let mut report = OperationReport::new(&write.name, kind);
                report.skipped = Some(reason);
                report
            }
            None => writes::try_write(worker, judge, (write, kind), options).await,
        },
    }
}

/// Why a read cannot be run by a plan: a combination of its arguments has none.
fn unplanned(judge: &Judge<'_>, read: &Read) -> Option<String> {
    let plan = plan_read(judge.model, read);
    let open = plan.combinations.iter().find(|combination| {
        let apart = matches!(&combination.together, Some(Err(_)));
        apart || combination.parts.iter().any(|part| part.plan.is_unanswered())
    })?;
    Some(match open.sent.is_empty() {
        true => "no key answers it".to_owned(),
        false => format!("no key answers it with [{}]", open.sent.join(", ")),
    })
}
