//! One table, and cases on it: the plan's answer beside the oracle's.

use std::collections::BTreeMap;
use std::sync::Arc;

use singlet_item::{Item, Value};
use singlet_model::model::{Read, SelectionKind};
use singlet_model::{Model, Source};
use singlet_plan::read::{Why, plan_text};
use singlet_runtime::{Attributes, Caller, Engine, Request, RuntimeError, Scope, load, row, table};
use singlet_store::Store;

use crate::answer::{Meant, meant};
use crate::mismatch::Mismatch;

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
    /// Both answers are the same, and so many rows are meant.
    Same(usize),
    /// No path answers the read, for this reason of the path that came nearest.
    Unplanned(&'static str),
    /// The read asks for more than one request may.
    Refused,
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
        store
            .create_table(&table::spec(&model))
            .await
            .map_err(RuntimeError::from)?;
        let engine = Engine::open(Arc::new(model), store, Attributes::new(), [7; 32]);
        let mut stored: BTreeMap<String, (Row, Vec<Item>)> = BTreeMap::new();
        let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
        for (name, attributes) in rows {
            let Some(entity) = engine.model().entity_named(&name) else {
                continue;
            };
            let scope = scope(&engine, now, &nothing, &nobody);
            let items = row::encode(engine.model(), entity, &attributes, scope)?;
            let own = items.first().map(|item| primary_key(engine.model(), item));
            stored.insert(own.unwrap_or_default(), ((name, attributes), items));
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
            return Ok(Outcome::Unplanned("unknown"));
        };
        if let Some(reason) = self.refusal(read, &case.args) {
            return Ok(Outcome::Unplanned(reason));
        }
        let scope = scope(&self.engine, case.now, &case.args, &case.caller);
        let (meant, failed) = match meant(model, read, &self.rows, scope) {
            Ok(meant) => (meant, None),
            Err(error) => (Meant::default(), Some(error.to_string())),
        };
        let mut got = Vec::new();
        let what = match (self.answer(read, case, &mut got).await, failed) {
            (Err(RuntimeError::Request(_)), _) => return Ok(Outcome::Refused),
            (Err(RuntimeError::Several(_)), None) if meant.is_ambiguous(read) => return Ok(Outcome::Refused),
            (Err(RuntimeError::Forbidden | RuntimeError::Unauthenticated), _) if meant.rows.is_empty() => None,
            (Err(error), None) => Some(format!("the read fails: {error}")),
            (Err(_), Some(_)) => None,
            (Ok(()), Some(error)) => Some(format!("the meaning fails: {error}")),
            (Ok(()), None) => meant.difference(model, read, &got),
        };
        match what {
            None => Ok(Outcome::Same(meant.rows.len())),
            Some(what) => Err(Box::new(Mismatch {
                what,
                model: self.text.clone(),
                rows: self.rows.clone(),
                case: case.clone(),
                plan: self
                    .engine
                    .plan(&case.read)
                    .map(|plan| plan_text(model, plan, false))
                    .unwrap_or_default(),
                expected: meant.shown(),
                got,
            })),
        }
    }

    /// Why the planner refuses a read with these arguments; none where it has a plan.
    fn refusal(&self, read: &Read, args: &Attributes) -> Option<&'static str> {
        let optional = read.args.iter().filter(|arg| arg.optional && arg.default.is_none());
        let sent: Vec<&str> = optional
            .map(|arg| arg.name.as_str())
            .filter(|name| args.contains_key(*name))
            .collect();
        let plan = self.engine.plan(&read.name);
        let known = plan.into_iter().flat_map(|plan| &plan.combinations).find(|known| {
            known.sent.len() == sent.len() && known.sent.iter().all(|name| sent.contains(&name.as_str()))
        });
        let Some(known) = known else { return Some("combination") };
        if let Some(Err(_)) = &known.together {
            return Some("no transaction");
        }
        let open = known.parts.iter().find(|part| part.plan.queries.is_empty())?;
        let nearest = open.plan.others.iter().map(|lost| reason(&lost.why)).max();
        Some(nearest.map_or("no path", |(_, reason)| reason))
    }

    /// Every page of the answer; one row or number where the read gives one.
    async fn answer(&self, read: &Read, case: &Case, got: &mut Vec<Value>) -> Result<(), RuntimeError> {
        let finds = read.selection.as_ref().map(|selection| selection.kind) == Some(SelectionKind::Find);
        let pages = finds && read.each.is_none();
        let mut cursor = None;
        for _ in 0..PAGES_MAX {
            let request = Request {
                args: case.args.clone(),
                caller: case.caller.clone(),
                limit: pages.then_some(case.page),
                cursor: cursor.take(),
                now: case.now,
            };
            let answer = match self.engine.read(&case.read, &request).await {
                Err(RuntimeError::NotFound) if !pages => return Ok(()),
                answer => answer?,
            };
            match answer.value {
                Some(Value::L(page)) if pages => {
                    if page.len() > case.page {
                        return Err(RuntimeError::Stored("a page is longer than its limit".to_owned()));
                    }
                    got.extend(page);
                }
                value => got.extend(value),
            }
            match answer.next {
                Some(next) => cursor = Some(next),
                None => return Ok(()),
            }
        }
        Err(RuntimeError::Stored(format!("there are more than {PAGES_MAX} pages")))
    }
}

/// A reason in a word, with how near to a plan it came.
fn reason(why: &Why) -> (u8, &'static str) {
    match why {
        Why::Eventual => (0, "strong read of an index"),
        Why::Unused => (1, "nothing known of the key"),
        Why::Open(_) => (2, "open partition"),
        Why::Zone(_) => (2, "day of another zone"),
        Why::Conditional => (3, "condition not implied"),
        Why::Sparse(_) => (4, "absent rows not in it"),
        Why::Order(_) => (5, "order not given"),
        Why::Ranges => (6, "too many ranges"),
        Why::Dearer => (7, "dearer"),
    }
}

fn load_model(text: &str) -> Result<Model, BenchError> {
    let loaded = singlet_model::load(&Source::new("made", text));
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
