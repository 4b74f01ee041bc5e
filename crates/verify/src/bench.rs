//! One table, and cases on it: the plan's answer beside the oracle's.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use singlet_item::{Item, Value};
use singlet_model::model::{LetValue, Read, Selection, SelectionKind};
use singlet_model::{Model, Source};
use singlet_plan::cost::Worked;
use singlet_plan::read::{Combination, Why, plan_selection, plan_text};
use singlet_runtime::{Answer, Attributes, Bounds, Caller, Engine, Request, RuntimeError, Scope, Setting, load, table};
use singlet_store::{KeyRange, SortRange, Store};
use singlet_values as values;

use crate::answer::{OracleRefusal, meant_read};
use crate::metered::Metered;
use crate::mismatch::Mismatch;
use crate::predicted::{WorkedCosts, page_difference, worked_costs};

/// The most pages that one case may take: a cursor that does not move would never end.
pub(crate) const PAGES_MAX: usize = 2_000;

/// The most ranges of keys that are shown of a case.
const RANGES_SHOWN_MAX: usize = 20;

/// A row with the name of its entity.
pub type Row = (String, Attributes);

/// A table with rows, and what is known to be in it.
#[derive(Debug)]
pub struct Bench {
    engine: Engine,
    meter: Arc<Metered>,
    text: String,
    rows: Vec<Row>,
    given: BenchGiven,
    /// What reads cost: it takes long to say, and is said once.
    worked: OnceLock<WorkedCosts>,
}

/// What an engine is opened with beside its model.
#[derive(Clone, Debug, Default)]
pub struct BenchGiven {
    /// Values of the model's settings.
    pub settings: Attributes,
    /// The bounds.
    pub bounds: Bounds,
    /// Whether what is consumed is held against what the plan says.
    pub costs: bool,
}

/// One read with its request.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// The read's name.
    pub read: String,
    /// The arguments.
    pub args: Attributes,
    /// Who calls.
    pub caller: Caller,
    /// Rows in a page.
    pub page: usize,
    /// The instant, in epoch milliseconds.
    pub now: i64,
}

/// What a case came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Both answers are the same, and so many rows are meant.
    Same(usize),
    /// No path answers the read, for this reason of the path that came nearest.
    Unplanned(&'static str),
    /// The read asks for more than one request may.
    Refused,
    /// The answer hangs on an order that the model leaves open.
    Ambiguous,
}

/// A failure of the bench itself.
#[derive(Debug)]
pub enum BenchError {
    /// The model has errors.
    Model(String),
    /// The rows could not be stored.
    Run(RuntimeError),
}

impl From<RuntimeError> for BenchError {
    fn from(error: RuntimeError) -> Self {
        BenchError::Run(error)
    }
}

impl Bench {
    /// Loads a model, creates its table on an empty store, and puts rows there. Of rows with one key the last stays.
    ///
    /// # Errors
    ///
    /// Where the model has errors, or a row cannot be stored.
    pub async fn open(text: &str, store: Arc<dyn Store>, rows: Vec<Row>, now: i64) -> Result<Self, BenchError> {
        Bench::open_with(text, store, rows, now, BenchGiven::default()).await
    }

    /// Opens as [`Bench::open`] does, with values of the model's settings, and with other bounds.
    ///
    /// # Errors
    ///
    /// Where the model has errors, or a row cannot be stored.
    pub async fn open_with(
        text: &str,
        store: Arc<dyn Store>,
        rows: Vec<Row>,
        now: i64,
        given: BenchGiven,
    ) -> Result<Self, BenchError> {
        let spec = table::table_spec(&load_model(text)?);
        store.create_table(&spec).await.map_err(RuntimeError::from)?;
        let (bench, items) = Bench::with_items(text, store, rows, now, given)?;
        load::put_all(bench.engine.store(), &spec.name, items, |_| {}).await?;
        Ok(bench)
    }

    /// Opens a model on a table in which another model put these rows, as this one sees them: nothing is written.
    ///
    /// # Errors
    ///
    /// Where the model has errors, or it has no such row.
    pub fn open_beside(
        text: &str,
        store: Arc<dyn Store>,
        rows: Vec<Row>,
        now: i64,
        given: BenchGiven,
    ) -> Result<Self, BenchError> {
        Bench::with_items(text, store, rows, now, given).map(|(bench, _)| bench)
    }

    /// A model with rows, and the items that it stores of them.
    fn with_items(
        text: &str,
        store: Arc<dyn Store>,
        rows: Vec<Row>,
        now: i64,
        given: BenchGiven,
    ) -> Result<(Self, Vec<Item>), BenchError> {
        let model = load_model(text)?;
        let meter = Metered::new(store);
        let store: Arc<dyn Store> = Arc::clone(&meter) as Arc<dyn Store>;
        let engine = Engine::open(Arc::new(model), store, given.settings.clone(), [7; 32]).bounded(given.bounds);
        let mut stored: BTreeMap<String, (Row, Vec<Item>)> = BTreeMap::new();
        let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
        for (name, attributes) in rows {
            let Some(entity) = engine.model().entity_named(&name) else {
                continue;
            };
            let scope = bench_scope(&engine, now, &nothing, &nobody);
            let items = load::items_of_row(engine.model(), entity, &attributes, scope)?;
            let own = items.first().map(|item| primary_key(engine.model(), item));
            stored.insert(own.unwrap_or_default(), ((name, attributes), items));
        }
        let items = stored.values().flat_map(|(_, items)| items.clone()).collect();
        let rows = stored.into_values().map(|(row, _)| row).collect();
        let bench = Bench {
            engine,
            meter,
            text: text.to_owned(),
            rows,
            given,
            worked: OnceLock::new(),
        };
        Ok((bench, items))
    }

    /// The engine.
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// A case that came out otherwise than it is meant.
    pub(crate) fn case_mismatch(&self, case: &Case, what: String) -> Mismatch {
        let plan = self.engine.plan(&case.read);
        Mismatch {
            what,
            model: self.text.clone(),
            rows: self.rows.clone(),
            case: case.clone(),
            given: self.given.clone(),
            plan: plan
                .map(|plan| plan_text(self.engine.model(), plan, false))
                .unwrap_or_default(),
            asked: self.asked(case),
            expected: Vec::new(),
            got: Vec::new(),
        }
    }

    /// The model.
    pub fn model(&self) -> &Model {
        self.engine.model()
    }

    /// One answer of a read, or its first page.
    ///
    /// # Errors
    ///
    /// Where the read fails.
    pub async fn read(&self, read: &str, request: &Request) -> Result<Answer, RuntimeError> {
        self.engine.read(read, request).await
    }

    /// The zone, the settings and the bounds.
    pub fn setting(&self) -> &Setting {
        self.engine.setting()
    }

    /// The rows of the table.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Answers a case twice and compares.
    ///
    /// # Errors
    ///
    /// The mismatch.
    pub async fn check(&self, case: &Case) -> Result<Outcome, Box<Mismatch>> {
        let model = self.engine.model();
        let Some(read) = model.reads.iter().find(|read| read.name == case.read) else {
            return Ok(Outcome::Unplanned("unknown"));
        };
        if let Some(reason) = self.planner_refusal(read, &case.args) {
            return Ok(Outcome::Unplanned(reason));
        }
        let scope = bench_scope(&self.engine, case.now, &case.args, &case.caller);
        let meant = meant_read(model, read, &self.rows, scope);
        if meant.as_ref().is_ok_and(|meant| meant.ambiguous) {
            return Ok(Outcome::Ambiguous);
        }
        let mut got = Vec::new();
        let answer = self.answer(read, case, &mut got).await;
        let what = match (&answer, &meant) {
            (Ok(()), Ok(meant)) => match meant.refusal {
                // Where a page may end before its first row, an empty list has pages too.
                Some(OracleRefusal::NotFound) if read.empty.is_some() && read.requests.is_some() && got.is_empty() => {
                    None
                }
                Some(refusal) => Some(format!("an answer comes where {refusal:?} is meant")),
                None => meant.answer_difference(model, read, &got),
            },
            (Ok(()), Err(error)) => Some(format!("the meaning fails: {error}")),
            (Err(RuntimeError::Stored(what)), _) => Some(what.clone()),
            (Err(_), Err(_)) => None,
            (Err(error), Ok(meant)) => match (error, meant.refusal) {
                (RuntimeError::Request(_), Some(OracleRefusal::Request))
                | (RuntimeError::NotFound, Some(OracleRefusal::NotFound))
                | (RuntimeError::Several(_), Some(OracleRefusal::Several))
                | (RuntimeError::Forbidden, Some(OracleRefusal::Forbidden))
                | (RuntimeError::Unauthenticated, Some(OracleRefusal::Unauthenticated)) => None,
                (RuntimeError::Request(_), _) => return Ok(Outcome::Refused),
                (error, refusal) => Some(format!("the read fails: {error} (meant: {refusal:?})")),
            },
        };
        match what {
            None => Ok(Outcome::Same(meant.map_or(0, |meant| meant.rows.len()))),
            Some(what) => Err(Box::new(Mismatch {
                expected: meant.map(|meant| meant.shown()).unwrap_or_default(),
                got,
                ..self.case_mismatch(case, what)
            })),
        }
    }

    /// The keys that a case asks for, a line for each range.
    fn asked(&self, case: &Case) -> String {
        let request = Request {
            args: case.args.clone(),
            caller: case.caller.clone(),
            now: case.now,
            ..Request::default()
        };
        let Ok(previewed) = self.engine.preview(&case.read, &request) else {
            return String::new();
        };
        let ranges = previewed.requests.iter().flat_map(|preview| {
            let place = preview.index.clone().unwrap_or_else(|| "the table".to_owned());
            preview
                .ranges
                .iter()
                .map(move |range| format!("{place}: {}", range_text(range)))
        });
        ranges.take(RANGES_SHOWN_MAX).collect::<Vec<_>>().join("\n")
    }

    /// The plan for the arguments that a case sends.
    fn combination(&self, read: &Read, args: &Attributes) -> Option<&Combination> {
        let optional = read.args.iter().filter(|arg| arg.optional && arg.default.is_none());
        let sent: Vec<&str> = optional
            .map(|arg| arg.name.as_str())
            .filter(|name| args.contains_key(*name))
            .collect();
        let plan = self.engine.plan(&read.name);
        plan.into_iter()
            .flat_map(|plan| &plan.combinations)
            .find(|known| known.sent.len() == sent.len() && known.sent.iter().all(|name| sent.contains(&name.as_str())))
    }

    /// Why the planner refuses a read with these arguments; none where it has a plan.
    pub(crate) fn planner_refusal(&self, read: &Read, args: &Attributes) -> Option<&'static str> {
        let known = self.combination(read, args)?;
        let is_open = |selection: &Selection| {
            let plan = plan_selection(self.engine.model(), selection, None, None, &|_| true);
            plan.is_none_or(|plan| plan.is_unanswered())
        };
        let mut named = read.lets.iter().filter_map(|bound| match &bound.value {
            LetValue::Read(selection) => Some(selection),
            LetValue::Value(_) => None,
        });
        if named.any(is_open) {
            return Some("open name");
        }
        if let Some(Err(_)) = &known.together {
            return Some("no transaction");
        }
        let open = known.parts.iter().find(|part| part.plan.is_unanswered())?;
        let nearest = open.plan.others.iter().map(|lost| reason(&lost.why)).max();
        Some(nearest.map_or("no path", |(_, reason)| reason))
    }

    /// Every page of the answer; one row or number where the read gives one. What each page asks of the store is what the plan
    /// said.
    async fn answer(&self, read: &Read, case: &Case, got: &mut Vec<Value>) -> Result<(), RuntimeError> {
        let finds = read.selection.as_ref().map(|selection| selection.kind) == Some(SelectionKind::Find);
        let lists = finds && read.each.is_none();
        let pages = lists || read.pages.is_some();
        let mut cursor = None;
        let mut listed = Vec::new();
        for page in 0..PAGES_MAX {
            let request = Request {
                args: case.args.clone(),
                caller: case.caller.clone(),
                limit: pages.then_some(case.page),
                cursor: cursor.take(),
                now: case.now,
            };
            self.meter.taken_requests();
            let mut answer = self.engine.read(&case.read, &request).await?;
            self.check_cost(read, case, page == 0 && pages)?;
            let rows = match (&mut answer.value, &read.pages) {
                (Some(Value::L(rows)), _) if lists => Some(std::mem::take(rows)),
                (Some(Value::M(groups)), Some(list)) => match groups.get_mut(list) {
                    Some(Value::L(rows)) => Some(std::mem::take(rows)),
                    _ => None,
                },
                _ => None,
            };
            let rows = rows.unwrap_or_default();
            if pages && rows.len() > case.page {
                return Err(RuntimeError::Stored("a page is longer than its limit".to_owned()));
            }
            listed.extend(rows);
            if !lists {
                // What does not go on from page to page is the same on each.
                if !got.is_empty() && got.first() != answer.value.as_ref() {
                    return Err(RuntimeError::Stored("pages differ in what has no pages".to_owned()));
                }
                got.clear();
                got.extend(answer.value);
            }
            match answer.next {
                Some(next) => cursor = Some(next),
                None => {
                    merge_pages(read, lists, listed, got);
                    return Ok(());
                }
            }
        }
        Err(RuntimeError::Stored(format!("there are more than {PAGES_MAX} pages")))
    }

    fn worked(&self, read: &str, known: &Combination) -> Option<Worked> {
        let model = self.engine.model();
        let all = self.worked.get_or_init(|| {
            let plans = model.reads.iter().filter_map(|read| self.engine.plan(&read.name));
            worked_costs(model, plans)
        });
        let own = all.get(read)?.iter().find(|(sent, _)| *sent == known.sent);
        own.map(|(_, worked)| *worked)
    }

    fn check_cost(&self, read: &Read, case: &Case, first_page: bool) -> Result<(), RuntimeError> {
        let sent = self.meter.taken_requests();
        let Some(known) = self.combination(read, &case.args) else {
            return Ok(());
        };
        // Small steps cut one request of the plan into several.
        let usual_bounds = self.given.costs && self.given.bounds == Bounds::USUAL;
        let usual = read.page.map_or(Bounds::USUAL.page_rows_usual, |page| page as usize);
        let whole = usual_bounds && (first_page || read.pages.is_none()) && case.page <= usual;
        let worked = whole.then(|| self.worked(&read.name, known)).flatten();
        match page_difference(self.engine.model(), known, &sent, worked) {
            Some(what) => Err(RuntimeError::Stored(what)),
            None => Ok(()),
        }
    }
}

/// The rows of all pages, in the place of one page's.
fn merge_pages(read: &Read, lists: bool, listed: Vec<Value>, got: &mut Vec<Value>) {
    match (lists, &read.pages, got.first_mut()) {
        (true, ..) => *got = listed,
        (false, Some(list), Some(Value::M(groups))) => {
            // An answer in another shape, or of a row that may be missing and is, has no such list.
            if let Some(whole) = groups.get_mut(list) {
                *whole = Value::L(listed);
            }
        }
        _ => {}
    }
}

/// A range as a key condition is written.
fn range_text(range: &KeyRange) -> String {
    let shown = |value: &Value| values::to_json(value).to_string();
    let partition = range
        .partition
        .iter()
        .map(|(name, value)| format!("{name} = {}", shown(value)));
    let sort = range.sort.iter().map(|(name, range)| match range {
        SortRange::Equal(value) => format!("{name} = {}", shown(value)),
        SortRange::Less(value) => format!("{name} < {}", shown(value)),
        SortRange::LessOrEqual(value) => format!("{name} <= {}", shown(value)),
        SortRange::Greater(value) => format!("{name} > {}", shown(value)),
        SortRange::GreaterOrEqual(value) => format!("{name} >= {}", shown(value)),
        SortRange::Between(low, high) => format!("{name} between {} and {}", shown(low), shown(high)),
        SortRange::BeginsWith(value) => format!("begins_with({name}, {})", shown(value)),
    });
    partition.chain(sort).collect::<Vec<_>>().join(" and ")
}

/// A reason in a word, with how near to a plan it came.
fn reason(why: &Why) -> (u8, &'static str) {
    match why {
        Why::Eventual => (0, "strong read of an index"),
        Why::Unused => (1, "nothing known of the key"),
        Why::Open(_) => (2, "open partition"),
        Why::Zone(_) => (2, "day of another zone"),
        Why::Conditional | Why::Lapsed(..) => (3, "condition not implied"),
        Why::Unfollowed(_) => (3, "row not found from it"),
        Why::Sparse(_) => (4, "absent rows not in it"),
        Why::Order(_) => (5, "order not given"),
        Why::Ranges => (6, "too many ranges"),
        Why::Dearer(..) => (7, "dearer"),
        Why::Pinned(..) => (7, "another index is named"),
    }
}

fn load_model(text: &str) -> Result<Model, BenchError> {
    let loaded = singlet_model::load_source(&Source::new("made", text));
    let errors = loaded
        .diagnostics
        .iter()
        .filter(|finding| finding.rule.severity == singlet_model::Severity::Error);
    let errors: Vec<String> = errors.map(|finding| finding.message.clone()).collect();
    match loaded.model {
        Some(model) if errors.is_empty() => Ok(model),
        _ => Err(BenchError::Model(errors.join("\n"))),
    }
}

fn primary_key(model: &Model, item: &Item) -> String {
    let parts = model.table.key.iter().map(|key| format!("{:?}", item.get(&key.name)));
    parts.collect::<Vec<_>>().join(" ")
}

pub(crate) fn bench_scope<'a>(engine: &'a Engine, now: i64, args: &'a Attributes, caller: &'a Caller) -> Scope<'a> {
    static NOTHING: Attributes = Attributes::new();
    Scope {
        setting: engine.setting(),
        now,
        args,
        caller,
        attributes: None,
        row: None,
        bound: &NOTHING,
    }
}
