//! Writes: sequences of them on a table that begins with rows, each done by the engine and by the oracle.

use std::collections::BTreeMap;
use std::sync::Arc;

use singlet_model::model::Write;
use singlet_runtime::{Engine, Precondition, WriteRequest};

use super::edges::{Edges, with_edge};
use super::finding::{Call, Finding, Kind, given_rows, sent_lines};
use super::hints::Hints;
use super::request::{RequestDraw, entities_of_write};
use super::shrink;
use super::table::{Focus, Judge, ProbeTable, TableDraw};
use super::witness::mended_request;
use super::worker::{Worker, seeded_rng};
use super::{OperationReport, Options, cases_per_table};
use crate::writes::{Op, WriteSequence};

/// Operations of the write that is tried, on one table: on the first ones, and on all others.
const OPERATIONS_PER_TABLE: [usize; 2] = [4, 12];

/// How many of a hundred tables are made so that the write can be done.
const WITNESSES_PERCENT: u8 = 80;

/// How many requests are drawn until one comes to what is wanted.
const REQUESTS_TRIED: usize = 6;

/// Spans by which the clock moves on, in milliseconds: mostly none, then within a second, and past leases and days.
const JUMPS: [i64; 20] = [
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    1,
    1,
    350,
    1_000,
    1_000,
    61_000,
    3_600_000,
    20_000_000,
    90_000_000,
    8 * 86_400_000,
];

/// A table, and operations on it.
#[derive(Clone, Debug)]
pub(super) struct WriteCase {
    pub table: ProbeTable,
    pub ops: Vec<Op>,
    /// How they are done: by the engine, or by the calls that a document names.
    pub kind: Kind,
}

impl WriteCase {
    /// The table before the first operation, in the worker's store.
    fn begun(&self, judge: &Judge<'_>, engine: &Arc<Engine>) -> WriteSequence {
        let by_hand = self.kind == Kind::Calls;
        let rows = self.table.rows.clone();
        WriteSequence::on_table(Arc::clone(judge.model), Arc::clone(engine), rows)
            .held_to_costs(judge.write_costs.clone().filter(|_| !by_hand))
            .done_by_hand(by_hand)
    }
}

/// Tries a write in as many cases as are wanted, until one differs.
pub(super) async fn try_write(
    worker: &mut Worker<'_>,
    judge: &Judge<'_>,
    (write, kind): (&Write, Kind),
    options: &Options<'_>,
) -> OperationReport {
    let mut report = OperationReport::new(&write.name, kind);
    let known: Vec<(&Write, Hints)> = judge
        .model
        .writes
        .iter()
        .map(|write| (write, Hints::of_write(judge.model, write)))
        .collect();
    let nothing = Hints::default();
    let own = known
        .iter()
        .find(|(known, _)| std::ptr::eq(*known, write))
        .map_or(&nothing, |(_, hints)| hints);
    let focus = Focus {
        entities: entities_of_write(judge.model, write),
        ..Focus::default()
    };
    let mut edges = Edges::of(judge, &write.args);
    for round in 0u64.. {
        if report.cases >= options.cases || options.is_over() {
            break;
        }
        let rng = seeded_rng(options.seed, &write.name, round);
        let mut table = TableDraw::new(judge, own, rng.clone(), &focus);
        let witness = match table.values.percent_chance(WITNESSES_PERCENT) {
            true => mended_request(&mut table, write, own),
            false => None,
        };
        let mut draw = ProbeDraw {
            judge,
            known: &known,
            write,
            kind,
            rng: table.values.rng,
            now: table.table.now,
            last: None,
            witness,
            // Half of the operations on a table.
            variants: cases_per_table(round, OPERATIONS_PER_TABLE) / 2,
            edges: &mut edges,
        };
        let table = table.table;
        let before = report.cases;
        if let Err(reason) = worker.fill_subject(judge, &table).await {
            report.skipped = Some(reason.to_string());
            break;
        }
        if let Err(case) = run_sequence(worker, &mut draw, (table, round), &mut report, options.cases).await {
            report.finding = Some(Box::new(found(worker, judge, case, &report, options).await));
            return report;
        }
        options.advance(&write.name, kind, report.cases - before);
    }
    report
}

/// Operations until there are enough, or one differs.
async fn run_sequence(
    worker: &Worker<'_>,
    draw: &mut ProbeDraw<'_>,
    (table, round): (ProbeTable, u64),
    report: &mut OperationReport,
    cases: usize,
) -> Result<(), WriteCase> {
    let most = cases_per_table(round, OPERATIONS_PER_TABLE);
    let mut case = WriteCase {
        table,
        ops: Vec::new(),
        kind: draw.kind,
    };
    let Ok(engine) = worker.engine() else { return Ok(()) };
    let mut sequence = case.begun(draw.judge, engine);
    let mut own = 0;
    for number in 1..=(most as u64 * 2) {
        if own >= most || report.cases >= cases {
            break;
        }
        let Some((write, request)) = draw.operation(&sequence, &report.outcomes) else {
            break;
        };
        let op = Op {
            number,
            write: write.name.clone(),
            request: sequence.recorded_request(request),
        };
        case.ops.push(op.clone());
        let is_own = op.write == draw.write.name;
        let outcome = sequence.step(&op).await;
        if is_own {
            own += 1;
            report.cases += 1;
        }
        match outcome {
            Ok(outcome) if is_own => report.saw(&outcome.word()),
            Ok(_) => {}
            Err(_) => return Err(case),
        }
    }
    Ok(())
}

/// Which of some operations is the first to differ, and how.
pub(super) async fn first_difference(
    worker: &mut Worker<'_>,
    judge: &Judge<'_>,
    case: &WriteCase,
) -> Option<(usize, String)> {
    worker.fill_subject(judge, &case.table).await.ok()?;
    let engine = Arc::clone(worker.engine().ok()?);
    let mut sequence = case.begun(judge, &engine);
    for (at, op) in case.ops.iter().enumerate() {
        worker.watch_requests();
        if let Err(error) = sequence.step(op).await {
            return Some((at, error.to_string()));
        }
    }
    None
}

struct ProbeDraw<'d> {
    judge: &'d Judge<'d>,
    known: &'d [(&'d Write, Hints)],
    /// The write that is tried.
    write: &'d Write,
    /// How it is done.
    kind: Kind,
    rng: fastrand::Rng,
    now: i64,
    last: Option<(&'d Write, WriteRequest)>,
    /// A request that the table was made for.
    witness: Option<WriteRequest>,
    /// How many requests are still made of it that differ in one thing.
    variants: usize,
    edges: &'d mut Edges,
}

/// What an operation is drawn for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProbeGoal {
    /// To be done.
    Done,
    /// To come to what its write has come to least.
    Rare,
    /// To be whatever it is.
    Any,
}

impl<'d> ProbeDraw<'d> {
    /// The next operation: mostly of the write that is tried; now and then the last one again.
    fn operation(
        &mut self,
        sequence: &WriteSequence,
        outcomes: &BTreeMap<String, usize>,
    ) -> Option<(&'d Write, WriteRequest)> {
        if let Some(request) = self.of_witness() {
            return Some((self.write, request));
        }
        self.now += self.rng.choice(JUMPS).unwrap_or_default();
        if self.rng.u8(..100) < 6
            && let Some((write, request)) = &self.last
        {
            let now = self.now;
            return Some((write, WriteRequest { now, ..request.clone() }));
        }
        // Of other writes no calls need be named.
        let own = self.rng.u8(..10) < 8 || self.kind == Kind::Calls;
        let (write, hints) = match own {
            true => self.known.iter().find(|(write, _)| std::ptr::eq(*write, self.write))?,
            false => self.rng.choice(self.known)?,
        };
        let goal = match self.rng.u8(..100) {
            0..45 => ProbeGoal::Done,
            45..70 => ProbeGoal::Rare,
            _ => ProbeGoal::Any,
        };
        let request = self.request(sequence, (write, hints), goal, outcomes);
        if request.idempotency_key.is_some() {
            self.last = Some((write, request.clone()));
        }
        Some((write, request))
    }

    /// The request that the table was made for, and before it some that differ from it in one thing: what is refused leaves the
    /// table as it is.
    fn of_witness(&mut self) -> Option<WriteRequest> {
        let witness = self.witness.take()?;
        let often = if self.edges.were_all() { 25 } else { 80 };
        if self.variants == 0 || self.rng.u8(..100) >= often {
            return Some(witness);
        }
        self.variants -= 1;
        let edge = self.edges.next()?;
        let mut request = witness.clone();
        self.witness = Some(witness);
        let nothing = Hints::default();
        let mut requests = RequestDraw::new(self.judge, &nothing, self.rng.fork(), self.now);
        let parts = (&mut request.args, &mut request.caller);
        with_edge(edge, &self.write.args, parts, &mut requests.values);
        // Its key must not be taken when its time comes.
        if request.idempotency_key.is_some() {
            request.idempotency_key = Some(format!("v{}", self.rng.u32(..)));
        }
        Some(request)
    }

    fn request(
        &mut self,
        sequence: &WriteSequence,
        (write, hints): (&'d Write, &'d Hints),
        goal: ProbeGoal,
        outcomes: &BTreeMap<String, usize>,
    ) -> WriteRequest {
        let about = entities_of_write(self.judge.model, write);
        let mut requests = RequestDraw::new(self.judge, hints, self.rng.fork(), self.now);
        let mut rarest: Option<(usize, WriteRequest)> = None;
        for _ in 0..REQUESTS_TRIED {
            let drawn = requests.write(write, &about, sequence.rows());
            if goal == ProbeGoal::Any {
                return drawn;
            }
            let word = sequence.meant_outcome(write, &drawn).word();
            let seen = match goal {
                ProbeGoal::Done if word == "done" => return drawn,
                _ => outcomes.get(&word).copied().unwrap_or_default(),
            };
            if goal == ProbeGoal::Rare && seen == 0 {
                return drawn;
            }
            if rarest.as_ref().is_none_or(|(known, _)| seen < *known) {
                rarest = Some((seen, drawn));
            }
        }
        match rarest {
            Some((_, drawn)) => drawn,
            None => requests.write(write, &about, sequence.rows()),
        }
    }
}

/// A case that differs, made as small as it gets, and shown.
async fn found(
    worker: &mut Worker<'_>,
    judge: &Judge<'_>,
    case: WriteCase,
    report: &OperationReport,
    options: &Options<'_>,
) -> Finding {
    let mut case = match options.heard_difference() {
        true => shrink::smallest_write(worker, judge, case).await,
        false => case,
    };
    let difference = first_difference(worker, judge, &case).await;
    let mut sent = worker.sent_requests();
    // The table is read to be compared.
    sent.retain(|sent| !sent.text.starts_with("scan"));
    let what = match difference {
        Some((at, what)) => {
            case.ops.truncate(at + 1);
            what
        }
        None => "it differs, but not every time".to_owned(),
    };
    let operation = case.ops.last().map(|op| op.write.clone()).unwrap_or_default();
    let (what, expected, got) = told_apart(&what);
    let calls = case.ops.iter().map(|op| Call {
        operation: op.write.clone(),
        args: op.request.args.clone(),
        caller: op.request.caller.clone(),
        page: None,
        request_key: op.request.idempotency_key.clone(),
        version: match &op.request.precondition {
            Precondition::Version(versions) => versions.first().map(ToString::to_string),
            _ => None,
        },
        now: op.request.now,
    });
    Finding {
        kind: case.kind,
        drawn_for: report.name.clone(),
        case: report.cases.max(1),
        what,
        given: given_rows(judge.model, &case.table),
        calls: calls.collect(),
        expected,
        got,
        sent: sent_lines(&sent),
        keys: Vec::new(),
        operation,
    }
}

/// What differs in a line, what is expected, and what came, from the words of a sequence.
fn told_apart(what: &str) -> (String, Vec<String>, Vec<String>) {
    let mut lines = what.lines().map(|line| line.trim_start().to_owned());
    let first = lines.next().unwrap_or_default();
    let rest = lines.map(|line| match line.strip_prefix("got:") {
        Some(got) => got.trim_start().to_owned(),
        None => line,
    });
    let rest: Vec<String> = rest.collect();
    match first.strip_prefix("meant: ") {
        Some(meant) => ("it comes to something else".to_owned(), vec![meant.to_owned()], rest),
        None => (first, Vec::new(), rest),
    }
}
