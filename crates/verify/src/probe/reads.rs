//! Reads: each answered by the engine and by looking at every row.

use std::collections::BTreeSet;

use singlet_item::Value;
use singlet_model::model::Read;
use singlet_model::types::EntityId;
use singlet_runtime::{Request, RuntimeError};

use super::by_hand;
use super::capacity::PageCapacity;
use super::clauses::{ClauseCounts, Decided, decided_by};
use super::edges::{Edges, with_edge};
use super::finding::{Call, Finding, Kind, answer_lines, given_rows, key_lines, sent_lines};
use super::hints::Hints;
use super::meaning::{AskedRead, ExpectedRead, expected_read};
use super::request::{RequestDraw, entities_of_read};
use super::shrink;
use super::table::{Focus, Judge, ProbeTable, TableDraw};
use super::values::ValueDraw;
use super::worker::{Worker, seeded_rng};
use super::{OperationReport, Options, cases_per_table};
use crate::writes::world::Row;

/// The most pages of one answer: a cursor that does not move would never end.
const PAGES_MAX: usize = 2_000;

/// How many requests are drawn until one shows something new, and how many of a hundred are taken as they come.
const REQUESTS_TRIED: usize = 5;
const AS_THEY_COME_PERCENT: u8 = 20;

/// The greatest limit of a list that is exceeded.
const CROWD_LIMIT_MAX: u64 = 100;

/// Cases on one table: on the first ones, and on all others.
const CASES_PER_TABLE: [usize; 2] = [4, 16];

/// A table, and what is asked of it.
#[derive(Clone, Debug)]
pub(super) struct ReadCase {
    pub table: ProbeTable,
    pub request: Request,
}

/// What came of a case.
pub(super) struct ComparedCase {
    /// What differs; nothing where the answer is as it must be.
    pub difference: Option<String>,
    pub expected: ExpectedRead,
    pub got: Result<Option<Value>, RuntimeError>,
}

/// A read and how it is run.
#[derive(Clone, Copy)]
pub(super) struct TriedRead<'a> {
    pub judge: &'a Judge<'a>,
    pub read: &'a Read,
    pub kind: Kind,
    pub capacity: &'a PageCapacity,
}

/// Tries a read in as many cases as are wanted, until one differs.
pub(super) async fn try_read(worker: &mut Worker<'_>, tried: TriedRead<'_>, options: &Options<'_>) -> OperationReport {
    let (judge, read) = (tried.judge, tried.read);
    let mut report = OperationReport::new(&read.name, tried.kind);
    if read.all_selections().any(|selection| selection.matching.is_some()) {
        report.skipped = Some("it finds rows by words, whose index is kept from changes".to_owned());
        return report;
    }
    if read.all_selections().any(|selection| selection.tally.is_some()) {
        // Its figures are kept from changes, and the table of a probe has no stream.
        report.skipped = Some("it is answered by a tally, which is kept from changes".to_owned());
        return report;
    }
    let hints = Hints::of_read(read);
    let about = entities_of_read(read);
    let own = read.selection.iter().filter_map(|selection| selection.entity());
    let own: Vec<_> = own.chain(about.iter().copied()).collect();
    let focus = Focus {
        limited: limited_lists(read),
        entities: about,
        records: true,
    };
    let mut edges = Edges::of(judge, &read.args);
    let mut clauses = ClauseCounts::default();
    for round in 0u64.. {
        if report.cases >= options.cases || options.is_over() {
            break;
        }
        let rng = seeded_rng(options.seed, &read.name, round);
        let draw = TableDraw::new(judge, &hints, rng.clone(), &focus);
        let table = draw.table;
        if let Err(reason) = worker.fill_subject(judge, &table).await {
            report.skipped = Some(reason.to_string());
            break;
        }
        let before = report.cases;
        let mut requests = RequestDraw::new(judge, &hints, draw.values.rng, table.now);
        for _ in 0..cases_per_table(round, CASES_PER_TABLE).min(options.cases - report.cases) {
            let mut request = telling_request(tried, &mut requests, &own, &table.rows, &mut clauses);
            if is_edge_due(&edges, report.cases, &mut requests.values)
                && let Some(edge) = edges.next()
            {
                let parts = (&mut request.args, &mut request.caller);
                with_edge(edge, &read.args, parts, &mut requests.values);
            }
            let case = ReadCase {
                table: table.clone(),
                request,
            };
            report.cases += 1;
            let compared = compare_read(worker, tried, &case).await;
            report.saw(&word(&compared));
            if compared.difference.is_some() {
                let number = report.cases;
                report.finding = Some(Box::new(found(worker, tried, case, number, options).await));
                return report;
            }
        }
        options.advance(&read.name, tried.kind, report.cases - before);
    }
    report
}

/// Of some requests, that which shows what was shown least: a clause that alone keeps a row or drops one.
fn telling_request(
    tried: TriedRead<'_>,
    requests: &mut RequestDraw<'_>,
    own: &[EntityId],
    rows: &[Row],
    clauses: &mut ClauseCounts,
) -> Request {
    let mut best: Option<(usize, Request, BTreeSet<Decided>)> = None;
    for _ in 0..REQUESTS_TRIED {
        let focus = own
            .get(..1.max(requests.values.rng.usize(..=own.len().min(2))))
            .unwrap_or(own);
        let request = requests.read(tried.read, focus, rows);
        let decided = decided_by(tried, &request, rows);
        let rank = clauses.rarest_clause(&decided).unwrap_or(usize::MAX);
        if best.as_ref().is_none_or(|(known, ..)| rank < *known) {
            best = Some((rank, request, decided));
        }
        // Some are taken as they come, and what shows something new is taken at once.
        if rank == 0 || requests.values.percent_chance(AS_THEY_COME_PERCENT) {
            break;
        }
    }
    match best {
        Some((_, request, decided)) => {
            clauses.count(decided);
            request
        }
        None => requests.read(tried.read, own, rows),
    }
}

/// Every third case is at an edge, until each was had; then every eighth.
fn is_edge_due(edges: &Edges, cases: usize, values: &mut ValueDraw) -> bool {
    match edges.were_all() {
        true => values.percent_chance(12),
        false => cases % 3 == 1,
    }
}

/// The lists of a read that have a limit within reach.
fn limited_lists(read: &Read) -> Vec<(EntityId, u64)> {
    let limited = read
        .all_selections()
        .filter_map(|selection| Some((selection.entity()?, selection.limit?)));
    limited.filter(|(_, limit)| *limit <= CROWD_LIMIT_MAX).collect()
}

/// What a case came to, in a word.
fn word(compared: &ComparedCase) -> String {
    expected_word(&compared.expected)
}

fn expected_word(expected: &ExpectedRead) -> String {
    match expected {
        ExpectedRead::OneOf(all) => all.first().map(expected_word).unwrap_or_default(),
        ExpectedRead::Answer(shape) if shape.is_full() => "rows".to_owned(),
        ExpectedRead::Answer(_) => "empty".to_owned(),
        ExpectedRead::NotFound => "not found".to_owned(),
        ExpectedRead::Forbidden => "forbidden".to_owned(),
        ExpectedRead::Unauthenticated => "unauthenticated".to_owned(),
        ExpectedRead::Several => "several".to_owned(),
        ExpectedRead::BadRequest => "bad request".to_owned(),
        ExpectedRead::Fails(_) => "fails".to_owned(),
    }
}

/// Answers a case twice, on the table that is filled.
pub(super) async fn compare_read(worker: &Worker<'_>, tried: TriedRead<'_>, case: &ReadCase) -> ComparedCase {
    let (judge, read) = (tried.judge, tried.read);
    if tried.kind == Kind::Using {
        return by_hand::compare_by_hand(worker, tried, case).await;
    }
    let mut asking = AskedRead::new(judge.model, judge.setting, read, &case.request, &case.table.rows);
    let expected = expected_read(&mut asking);
    let got = ask(worker, tried, &case.request).await;
    ComparedCase {
        difference: answer_difference(&expected, &got),
        expected,
        got,
    }
}

/// How what came differs from what must come.
pub(super) fn answer_difference(expected: &ExpectedRead, got: &Result<Option<Value>, RuntimeError>) -> Option<String> {
    match (expected, got) {
        (ExpectedRead::OneOf(all), got) => {
            let mut differences = all.iter().map(|expected| answer_difference(expected, got));
            let first = differences.next().flatten()?;
            differences.all(|other| other.is_some()).then_some(first)
        }
        (ExpectedRead::Answer(shape), Ok(value)) => shape.shape_difference(value.as_ref()),
        (ExpectedRead::Answer(_), Err(error)) => Some(format!("it fails: {error}")),
        (ExpectedRead::NotFound, Err(RuntimeError::NotFound))
        | (ExpectedRead::Forbidden, Err(RuntimeError::Forbidden))
        | (ExpectedRead::Unauthenticated, Err(RuntimeError::Unauthenticated))
        | (ExpectedRead::Several, Err(RuntimeError::Several(_)))
        | (ExpectedRead::BadRequest, Err(_))
        // Which rows an expression is evaluated on depends on how they are found.
        | (ExpectedRead::Fails(_), _) => None,
        (ExpectedRead::NotFound, Ok(_)) => Some("it answers, though there is no such row".to_owned()),
        (ExpectedRead::Forbidden | ExpectedRead::Unauthenticated, Ok(_)) => {
            Some("it answers a caller who may not ask".to_owned())
        }
        (ExpectedRead::Several, Ok(_)) => Some("it answers with one row, though several fit".to_owned()),
        (ExpectedRead::BadRequest, Ok(_)) => Some("it answers a request that is wrong".to_owned()),
        (_, Err(error)) => Some(format!("it fails otherwise: {error}")),
    }
}

/// The whole answer, all pages in one.
async fn ask(worker: &Worker<'_>, tried: TriedRead<'_>, request: &Request) -> Result<Option<Value>, RuntimeError> {
    let read = tried.read;
    let engine = worker.engine()?;
    let mut whole: Option<Value> = None;
    let mut request = request.clone();
    for _ in 0..PAGES_MAX {
        let answer = engine.read(&read.name, &request).await?;
        let page = page_rows(read, answer.value.as_ref());
        if let (Some(limit), Some(rows)) = (request.limit, page)
            && read.each.is_none()
            && rows > limit
        {
            return Err(RuntimeError::Stored(format!(
                "a page has {rows} rows, asked for {limit}"
            )));
        }
        let consumed = answer.consumed.total_units().read;
        if let Some(excess) = tried.capacity.page_excess(read, &request.args, consumed) {
            return Err(RuntimeError::Stored(excess));
        }
        whole = joined(read, whole, answer.value);
        match answer.next {
            Some(next) => request.cursor = Some(next),
            None => return Ok(whole),
        }
    }
    Err(RuntimeError::Stored(format!("there are more than {PAGES_MAX} pages")))
}

fn page_rows(read: &Read, value: Option<&Value>) -> Option<usize> {
    let list = match (value?, &read.pages) {
        (Value::M(groups), Some(name)) => groups.get(name)?,
        (value, None) => value,
        _ => return None,
    };
    list.as_list().map(<[Value]>::len)
}

/// An answer with its next page.
fn joined(read: &Read, before: Option<Value>, page: Option<Value>) -> Option<Value> {
    match (before, page, &read.pages) {
        (Some(Value::L(mut rows)), Some(Value::L(more)), _) => {
            rows.extend(more);
            Some(Value::L(rows))
        }
        (Some(Value::M(mut before)), Some(Value::M(mut page)), Some(name)) => {
            let more = page.remove(name);
            if let (Some(Value::L(rows)), Some(Value::L(more))) = (before.get_mut(name), more) {
                rows.extend(more);
            }
            Some(Value::M(before))
        }
        (before, page, _) => page.or(before),
    }
}

/// A case that differs, made as small as it gets, and shown.
async fn found(
    worker: &mut Worker<'_>,
    tried: TriedRead<'_>,
    case: ReadCase,
    number: usize,
    options: &Options<'_>,
) -> Finding {
    let case = match options.heard_difference() {
        true => shrink::smallest_read(worker, tried, case).await,
        false => case,
    };
    let judge = tried.judge;
    // What is not filled anew may have been changed by what is tried.
    let filled = worker.fill_subject(judge, &case.table).await;
    worker.watch_requests();
    let compared = compare_read(worker, tried, &case).await;
    let mut sent = worker.sent_requests();
    if let Some(filter) = tried.read.using.as_ref().and_then(|using| using.filter.as_ref())
        && tried.kind == Kind::Using
    {
        let filter = singlet_plan::show::expression_in(&judge.model.catalog, filter);
        sent.iter_mut()
            .for_each(|sent| sent.text.push_str(&format!(", filter {filter}")));
    }
    let what = match (filled, compared.difference) {
        (Err(error), _) => error.to_string(),
        (Ok(()), Some(what)) => what,
        (Ok(()), None) => "it differs, but not every time".to_owned(),
    };
    let expected = expected_lines(&compared.expected);
    let got = match &compared.got {
        Ok(value) => answer_lines(value.as_ref()),
        Err(error) => vec![error.to_string()],
    };
    let request = &case.request;
    Finding {
        operation: tried.read.name.clone(),
        drawn_for: tried.read.name.clone(),
        kind: tried.kind,
        case: number,
        what,
        given: given_rows(judge.model, &case.table),
        calls: vec![Call {
            operation: tried.read.name.clone(),
            args: request.args.clone(),
            caller: request.caller.clone(),
            page: request.limit,
            request_key: None,
            version: None,
            now: request.now,
        }],
        expected,
        got,
        keys: key_lines(judge, &case.table, &sent),
        sent: sent_lines(&sent),
    }
}

/// What must come, one of it where several would do.
fn expected_lines(expected: &ExpectedRead) -> Vec<String> {
    match expected {
        ExpectedRead::Answer(shape) => answer_lines(shape.shown().as_ref()),
        ExpectedRead::Fails(reason) => vec![reason.clone()],
        ExpectedRead::OneOf(all) => all.first().map(expected_lines).unwrap_or_default(),
        other => vec![format!("{other:?}").to_lowercase()],
    }
}
