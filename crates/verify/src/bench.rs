//! One table, and cases on it: the plan's answer beside the oracle's.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use singlet_item::{Item, Value};
use singlet_model::{Model, Source};
use singlet_model::model::Read;
use singlet_plan::read::plan_text;
use singlet_runtime::{Attributes, Caller, Engine, Request, RuntimeError, Scope, load, row, table};
use singlet_store::Store;

use crate::oracle;

/// The most pages that one case may take: a cursor that does not move would never end.
const PAGES_MAX: usize = 2_000;

/// A row with the name of its entity.
pub type Row = (String, Attributes);

/// A table with rows, and what is known to be in it.
#[derive(Debug)]
pub struct Bench {
    engine: Engine,
    text: String,
    rows: Vec<Row>,
}

/// One read with its request.
#[derive(Clone, Debug)]
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
    /// Both answers are the same, with so many rows.
    Same(usize),
    /// No path answers the read.
    Unplanned,
    /// The read asks for more than one request may.
    Refused,
}

/// A case whose answers differ.
#[derive(Debug)]
pub struct Mismatch {
    /// What is wrong.
    pub what: String,
    /// The model.
    pub model: String,
    /// The rows of the table.
    pub rows: Vec<Row>,
    /// The case.
    pub case: Case,
    /// The plan.
    pub plan: String,
    /// What is meant.
    pub expected: Vec<Attributes>,
    /// What was answered.
    pub got: Vec<Attributes>,
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
        let model = load_model(text)?;
        store.create_table(&table::spec(&model)).await.map_err(RuntimeError::from)?;
        let engine = Engine::open(Arc::new(model), store, Attributes::new(), [7; 32]);
        let mut stored: BTreeMap<String, (Row, Vec<Item>)> = BTreeMap::new();
        for (name, attributes) in rows {
            let Some(entity) = engine.model().entity_named(&name) else { continue };
            let nothing = Attributes::new();
            let items = row::encode(engine.model(), entity, &attributes, scope(&engine, now, &nothing, &Caller::anonymous()))?;
            let key = items.first().map(|item| primary_key(engine.model(), item)).unwrap_or_default();
            stored.insert(key, ((name, attributes), items));
        }
        let items = stored.values().flat_map(|(_, items)| items.clone()).collect();
        load::put_all(engine.store(), &engine.model().table.name, items, |_| {}).await?;
        let rows = stored.into_values().map(|(row, _)| row).collect();
        Ok(Bench {
            engine,
            text: text.to_owned(),
            rows,
        })
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
            return Ok(Outcome::Unplanned);
        };
        if !self.is_planned(read, &case.args) {
            return Ok(Outcome::Unplanned);
        }
        let (expected, failed) = match self.expected(read, case) {
            Ok(expected) => (expected, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let mut got = Vec::new();
        let what = match (self.answer(case, &mut got).await, failed) {
            (Err(RuntimeError::Request(_)), _) => return Ok(Outcome::Refused),
            (Err(RuntimeError::Forbidden | RuntimeError::Unauthenticated), _) if expected.is_empty() => None,
            (Err(error), None) => Some(format!("the read fails: {error}")),
            (Err(_), Some(_)) => None,
            (Ok(()), Some(error)) => Some(format!("the meaning fails: {error}")),
            (Ok(()), None) => self.difference(read, &expected, &got),
        };
        match what {
            None => Ok(Outcome::Same(got.len())),
            Some(what) => Err(Box::new(Mismatch {
                what,
                model: self.text.clone(),
                rows: self.rows.clone(),
                case: case.clone(),
                plan: self.engine.plan(&case.read).map(|plan| plan_text(model, plan, false)).unwrap_or_default(),
                expected,
                got,
            })),
        }
    }

    fn is_planned(&self, read: &Read, args: &Attributes) -> bool {
        let optional = read.args.iter().filter(|arg| arg.optional && arg.default.is_none());
        let sent: Vec<&str> = optional.map(|arg| arg.name.as_str()).filter(|name| args.contains_key(*name)).collect();
        let plan = self.engine.plan(&read.name);
        let mut combinations = plan.into_iter().flat_map(|plan| &plan.combinations);
        combinations.any(|known| {
            let same = known.sent.len() == sent.len() && known.sent.iter().all(|name| sent.contains(&name.as_str()));
            same && known.parts.iter().all(|part| !part.plan.queries.is_empty())
        })
    }

    fn expected(&self, read: &Read, case: &Case) -> Result<Vec<Attributes>, RuntimeError> {
        let model = self.engine.model();
        let asked = read.selection.as_ref().and_then(|selection| model.entity(selection.entity()?));
        let of_entity = self.rows.iter().filter(|(name, _)| asked.is_some_and(|entity| entity.name == *name));
        let rows: Vec<Attributes> = of_entity.map(|(_, row)| row.clone()).collect();
        Ok(oracle::meant(model, read, &rows, scope(&self.engine, case.now, &case.args, &case.caller))?)
    }

    /// Every page of the answer.
    async fn answer(&self, case: &Case, rows: &mut Vec<Attributes>) -> Result<(), RuntimeError> {
        let mut cursor = None;
        for _ in 0..PAGES_MAX {
            let request = Request {
                args: case.args.clone(),
                caller: case.caller.clone(),
                limit: Some(case.page),
                cursor: cursor.take(),
                now: case.now,
            };
            let answer = self.engine.read(&case.read, &request).await?;
            if let Some(Value::L(page)) = answer.value {
                if page.len() > case.page {
                    return Err(RuntimeError::Stored("a page is longer than its limit".to_owned()));
                }
                rows.extend(page.iter().filter_map(|row| row.as_map().cloned()));
            }
            match answer.next {
                Some(next) => cursor = Some(next),
                None => return Ok(()),
            }
        }
        Err(RuntimeError::Stored(format!("there are more than {PAGES_MAX} pages")))
    }

    /// How an answer differs from what is meant. Equal rows may come in any order, each once; of a limit, any of them.
    fn difference(&self, read: &Read, expected: &[Attributes], got: &[Attributes]) -> Option<String> {
        let limit = read.selection.as_ref().and_then(|selection| selection.limit);
        let most = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
        if got.len() != expected.len().min(most) {
            return Some(format!("{} rows came, {} are meant", got.len(), expected.len().min(most)));
        }
        for (at, row) in got.iter().enumerate() {
            if !expected.contains(row) {
                return Some(format!("row {at} is not meant, or not so"));
            }
            if times(got, row) > times(expected, row) {
                return Some(format!("row {at} comes more than once"));
            }
        }
        let out_of_order = got.iter().zip(expected).position(|(got, expected)| {
            oracle::compare(self.engine.model(), read, got, expected).is_ok_and(|order| order.is_ne())
        });
        out_of_order.map(|at| format!("row {at} is out of order"))
    }
}

fn times(rows: &[Attributes], row: &Attributes) -> usize {
    rows.iter().filter(|known| *known == row).count()
}

fn load_model(text: &str) -> Result<Model, BenchError> {
    let loaded = singlet_model::load(&Source::new("made", text));
    let errors = loaded.diagnostics.iter().filter(|finding| finding.rule.severity == singlet_model::Severity::Error);
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

fn scope<'a>(engine: &'a Engine, now: i64, args: &'a Attributes, caller: &'a Caller) -> Scope<'a> {
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

impl fmt::Display for Mismatch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}\n\n{}\nrows", self.what, self.model)?;
        self.rows.iter().try_for_each(|(name, row)| writeln!(out, "  {name} {}", shown(row)))?;
        let caller = shown(&self.case.caller.claims);
        writeln!(out, "read {} with {}, page {}, caller {caller}", self.case.read, shown(&self.case.args), self.case.page)?;
        writeln!(out, "plan {}", self.plan)?;
        for (title, rows) in [("expected", &self.expected), ("got", &self.got)] {
            writeln!(out, "{title}")?;
            rows.iter().try_for_each(|row| writeln!(out, "  {}", shown(row)))?;
        }
        Ok(())
    }
}

fn shown(row: &Attributes) -> String {
    let fields = row.iter().map(|(name, value)| format!("{name}: {}", shown_value(value)));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
}

fn shown_value(value: &Value) -> String {
    match value {
        Value::S(text) => format!("{text:?}"),
        Value::N(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        Value::L(values) => format!("[{}]", values.iter().map(shown_value).collect::<Vec<_>>().join(", ")),
        other => format!("{other:?}"),
    }
}
