//! A model on a store: what embedding programs, the service and the command line call.

mod groups;

use std::collections::HashMap;
use std::sync::Arc;

use singlet_item::Value;
use singlet_model::Model;
use singlet_model::evaluate::{evaluate, holds};
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Let, LetValue, Read, Return, Selection, SelectionKind};
use singlet_plan::read::{PartPlan, ReadPlan, SelectionPlan, plan_read, plan_selection};
use singlet_store::{Consumed, GetRequest, Store};

use crate::cursor::{Belongs, Cursor, Sealer};
use crate::error::RuntimeError;
use crate::find::{Found, PAGES_PER_ANSWER_MAX, Reading, primary_key};
use crate::scope::{Attributes, Caller, Scope, Setting};
use crate::{retry, row, stream, values};

/// Rows in a page, where neither the caller nor the read says.
pub const PAGE_ROWS_USUAL: usize = 20;

/// The most rows in a page.
pub const PAGE_ROWS_MAX: usize = 100;

/// The most rows that are counted, or gathered without pages.
const GATHERED_ROWS_MAX: usize = 10_000;

/// A model, opened on a store. Plans are made once.
#[derive(Debug)]
pub struct Engine {
    model: Arc<Model>,
    store: Arc<dyn Store>,
    plans: HashMap<String, ReadPlan>,
    setting: Setting,
    sealer: Sealer,
}

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The arguments, as their types store them.
    pub args: Attributes,
    /// Who calls.
    pub caller: Caller,
    /// Rows in a page.
    pub limit: Option<usize>,
    /// Where to go on.
    pub cursor: Option<String>,
    /// The instant, in epoch milliseconds.
    pub now: i64,
}

/// What is answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// A row as a map, rows as a list, counts, or groups.
    pub value: Option<Value>,
    /// Where the next page begins.
    pub next: Option<String>,
    /// What it consumed.
    pub consumed: Consumed,
}

impl Engine {
    /// Opens a model that has no errors.
    pub fn open(model: Arc<Model>, store: Arc<dyn Store>, settings: Attributes, cursor_key: [u8; 32]) -> Self {
        let plans = model
            .reads
            .iter()
            .map(|read| (read.name.clone(), plan_read(&model, read)))
            .collect();
        Engine {
            setting: Setting::of(&model, settings),
            sealer: Sealer::new(cursor_key),
            plans,
            model,
            store,
        }
    }

    /// The model.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Zone and settings.
    pub fn setting(&self) -> &Setting {
        &self.setting
    }

    /// The plan of a read.
    pub fn plan(&self, name: &str) -> Option<&ReadPlan> {
        self.plans.get(name)
    }

    /// Answers a read.
    ///
    /// # Errors
    ///
    /// Where the request is wrong or not allowed, nothing is there, or the store fails for good.
    pub async fn read(&self, name: &str, request: &Request) -> Result<Answer, RuntimeError> {
        let read = self.model.reads.iter().find(|read| read.name == name);
        let (Some(read), Some(plan)) = (read, self.plans.get(name)) else {
            return Err(RuntimeError::Request(format!("there is no read `{name}`")));
        };
        let args = self.arguments(read, &request.args)?;
        let belongs = Belongs {
            read: name,
            args: &args,
            caller: &request.caller,
        };
        let cursor = request
            .cursor
            .as_ref()
            .map(|text| self.sealer.open(text, &belongs))
            .transpose()?;
        let mut call = Call {
            engine: self,
            read,
            plan,
            now: cursor.as_ref().map_or(request.now, |cursor| cursor.now),
            args: &args,
            request,
            bound: Attributes::new(),
            consumed: Consumed::default(),
        };
        let answer = call.answer(cursor, &belongs).await?;
        Ok(Answer {
            consumed: call.consumed,
            ..answer
        })
    }

    /// Checks that the arguments are those of the read, and fills in defaults.
    fn arguments(&self, read: &Read, given: &Attributes) -> Result<Attributes, RuntimeError> {
        if let Some(unknown) = given.keys().find(|name| read.arg(name).is_none()) {
            return Err(RuntimeError::Request(format!(
                "`{}` has no argument `{unknown}`",
                read.name
            )));
        }
        let mut args = Attributes::new();
        for arg in &read.args {
            if let Some(value) = given.get(&arg.name) {
                let value = values::checked(value, &arg.ty).map_err(|invalid| {
                    RuntimeError::Request(format!("the argument `{}` is wrong: {invalid}", arg.name))
                })?;
                args.insert(arg.name.clone(), value);
                continue;
            }
            match (&arg.default, arg.optional) {
                (Some(default), _) => {
                    let nothing = Attributes::new();
                    let scope = Scope {
                        setting: &self.setting,
                        now: 0,
                        args: &nothing,
                        caller: &Caller::anonymous(),
                        attributes: None,
                        row: None,
                        bound: &nothing,
                    };
                    if let Some(value) = evaluate(default, &scope)? {
                        args.insert(arg.name.clone(), value);
                    }
                }
                (None, true) => {}
                (None, false) => {
                    return Err(RuntimeError::Request(format!(
                        "`{}` needs the argument `{}`",
                        read.name, arg.name
                    )));
                }
            }
        }
        Ok(args)
    }
}

/// One read on its way.
struct Call<'a> {
    engine: &'a Engine,
    read: &'a Read,
    plan: &'a ReadPlan,
    now: i64,
    args: &'a Attributes,
    request: &'a Request,
    bound: Attributes,
    consumed: Consumed,
}

impl<'a> Call<'a> {
    async fn answer(&mut self, cursor: Option<Cursor>, belongs: &Belongs<'_>) -> Result<Answer, RuntimeError> {
        self.admit(false)?;
        for bound in &self.read.lets {
            self.bind(bound).await?;
        }
        self.admit(true)?;
        let parts = self.combination()?;
        if let Some(each) = &self.read.each {
            let Some(part) = parts.first() else {
                return Ok(Answer::default());
            };
            return self.each(each, &part.plan).await;
        }
        let own = parts.iter().find(|part| part.name.is_none()).map(|part| &part.plan);
        let (Some(selection), Some(plan)) = (&self.read.selection, own) else {
            let (value, next) = self.groups(parts, None, cursor, belongs).await?;
            return Ok(Answer {
                next,
                ..self.shaped(value)
            });
        };
        match selection.kind {
            SelectionKind::Get { .. } => self.get((selection, plan), parts, cursor, belongs).await,
            SelectionKind::Find => self.find(selection, plan, cursor, belongs).await,
            SelectionKind::Count => {
                let value = self.count(selection, plan).await?;
                Ok(self.shaped(value))
            }
        }
    }

    fn shaped(&self, value: Value) -> Answer {
        Answer {
            value: Some(value),
            ..Answer::default()
        }
    }

    fn scope(&self) -> Scope<'_> {
        Scope {
            setting: &self.engine.setting,
            now: self.now,
            args: self.args,
            caller: &self.request.caller,
            attributes: None,
            row: None,
            bound: &self.bound,
        }
    }

    /// Checks what `allow` says of the caller alone, before anything is read; then what it says of rows that `let` read, whose
    /// refusal looks as if they were not there.
    fn admit(&self, with_rows: bool) -> Result<(), RuntimeError> {
        for conjunct in self.read.allow.conjuncts() {
            let of_rows = mentions_bound(conjunct);
            if !conjunct.attributes().is_empty() || of_rows != with_rows {
                continue;
            }
            if !holds(conjunct, &self.scope())? {
                return Err(match (with_rows, self.request.caller.authenticated) {
                    (true, _) => RuntimeError::NotFound,
                    (false, true) => RuntimeError::Forbidden,
                    (false, false) => RuntimeError::Unauthenticated,
                });
            }
        }
        Ok(())
    }

    async fn bind(&mut self, bound: &'a Let) -> Result<(), RuntimeError> {
        let value = match &bound.value {
            LetValue::Value(expr) => match &expr.kind {
                ExprKind::Entity { entity, key } => self.row_by_key(*entity, key).await?,
                _ => evaluate(expr, &self.scope())?,
            },
            LetValue::Read(selection) => self.row_by_meaning(selection).await?,
        };
        match value {
            Some(value) => {
                self.bound.insert(bound.name.clone(), value);
                Ok(())
            }
            None if bound.optional => Ok(()),
            None => Err(RuntimeError::NotFound),
        }
    }

    async fn row_by_key(
        &mut self,
        entity: singlet_model::types::EntityId,
        key: &[(String, Expr)],
    ) -> Result<Option<Value>, RuntimeError> {
        let engine = self.engine;
        let Some(entity) = engine.model.entity(entity) else {
            return Ok(None);
        };
        let mut parts = Attributes::new();
        for (name, expr) in key {
            if let Some(value) = evaluate(expr, &self.scope())? {
                parts.insert(name.clone(), value);
            }
        }
        let Some(key) = primary_key(entity, &parts)? else {
            return Ok(None);
        };
        let request = GetRequest {
            table: engine.model.table.name.clone(),
            key,
            consistent: true,
            projection: Vec::new(),
        };
        let answer = retry::retried(|| engine.store.get(&request)).await?;
        self.consumed += &answer.consumed;
        let item = answer.item.filter(|item| stream::is_of(&engine.model, entity, item));
        let row = item
            .map(|item| row::decode(&engine.model, entity, &item, self.scope()))
            .transpose()?;
        Ok(row.flatten().map(|row| row::as_value(&row)))
    }

    async fn row_by_meaning(&mut self, selection: &'a Selection) -> Result<Option<Value>, RuntimeError> {
        let plan = plan_selection(&self.engine.model, selection, None, None, &|_| true);
        let Some(plan) = plan else { return Ok(None) };
        let rows = self
            .gather(
                selection,
                &plan,
                None,
                selection.limit.map_or(1, |limit| limit as usize),
            )
            .await?;
        Ok(rows.first().map(row::as_value))
    }

    /// The plans for the optional arguments that were sent.
    fn combination(&self) -> Result<&'a [PartPlan], RuntimeError> {
        let sent = |name: &str| self.args.contains_key(name);
        let optional: Vec<&str> = self
            .read
            .args
            .iter()
            .filter(|arg| arg.optional && arg.default.is_none() && sent(&arg.name))
            .map(|arg| arg.name.as_str())
            .collect();
        let known = self.plan.combinations.iter().find(|known| {
            known.sent.len() == optional.len() && known.sent.iter().all(|name| optional.contains(&name.as_str()))
        });
        known.map(|known| known.parts.as_slice()).ok_or_else(|| {
            let all: Vec<String> = self
                .plan
                .combinations
                .iter()
                .map(|known| format!("[{}]", known.sent.join(", ")))
                .collect();
            RuntimeError::Request(format!(
                "`{}` takes these arguments together: {}",
                self.read.name,
                all.join(" ")
            ))
        })
    }

    fn reading<'r>(
        &'r self,
        selection: &'r Selection,
        plan: &'r SelectionPlan,
        allow: Option<&'r Expr>,
    ) -> Reading<'r> {
        Reading {
            model: &self.engine.model,
            store: &self.engine.store,
            scope: self.scope(),
            selection,
            plan,
            allow,
            consistent: selection.consistent || self.read.consistent.is_some(),
        }
    }

    async fn get(
        &mut self,
        (selection, plan): (&'a Selection, &'a SelectionPlan),
        parts: &'a [PartPlan],
        cursor: Option<Cursor>,
        belongs: &Belongs<'_>,
    ) -> Result<Answer, RuntimeError> {
        let rows = self.gather(selection, plan, Some(&self.read.allow), 1).await?;
        let Some(row) = rows.into_iter().next() else {
            return Err(RuntimeError::NotFound);
        };
        let mut value = self.returned(&row, None)?;
        let mut next = None;
        if parts.len() > 1 {
            let (groups, more) = self.groups(parts, Some(&row), cursor, belongs).await?;
            next = more;
            if let (Value::M(map), Value::M(groups)) = (&mut value, groups) {
                map.extend(groups);
            }
        }
        Ok(Answer {
            next,
            ..self.shaped(value)
        })
    }

    async fn find(
        &mut self,
        selection: &'a Selection,
        plan: &'a SelectionPlan,
        cursor: Option<Cursor>,
        belongs: &Belongs<'_>,
    ) -> Result<Answer, RuntimeError> {
        let first = cursor.is_none();
        let reading = self.reading(selection, plan, Some(&self.read.allow));
        let (found, next) = self.page(reading, cursor, belongs).await?;
        self.consumed += &found.consumed;
        if found.rows.is_empty() && first && found.positions.is_empty() && self.read.empty == Some(404) {
            return Err(RuntimeError::NotFound);
        }
        let rows: Result<Vec<Value>, RuntimeError> = found.rows.iter().map(|row| self.returned(row, None)).collect();
        Ok(Answer {
            next,
            ..self.shaped(Value::L(rows?))
        })
    }

    /// One page of a list, and the cursor of the next.
    async fn page(
        &self,
        reading: Reading<'_>,
        cursor: Option<Cursor>,
        belongs: &Belongs<'_>,
    ) -> Result<(Found, Option<String>), RuntimeError> {
        let page = self
            .request
            .limit
            .or(self.read.page.map(|page| page as usize))
            .unwrap_or(PAGE_ROWS_USUAL);
        if page == 0 || page > PAGE_ROWS_MAX {
            return Err(RuntimeError::Request(format!("`limit` is from 1 to {PAGE_ROWS_MAX}")));
        }
        let given = cursor.as_ref().map_or(0, |cursor| cursor.given);
        let left = reading
            .selection
            .limit
            .map_or(usize::MAX, |limit| limit.saturating_sub(given) as usize);
        let positions = cursor.map(|cursor| cursor.positions).unwrap_or_default();
        let found = reading.rows(page.min(left), &positions).await?;
        let next = self.next(&found, given, left, belongs)?;
        Ok((found, next))
    }

    fn next(
        &self,
        found: &Found,
        given: u64,
        left: usize,
        belongs: &Belongs<'_>,
    ) -> Result<Option<String>, RuntimeError> {
        if found.positions.is_empty() || found.rows.len() >= left {
            return Ok(None);
        }
        let cursor = Cursor {
            now: self.now,
            positions: found.positions.iter().map(copy_position).collect(),
            given: given + found.rows.len() as u64,
        };
        self.engine.sealer.seal(&cursor, belongs).map(Some)
    }

    /// All rows of a selection, up to a bound.
    async fn gather(
        &mut self,
        selection: &Selection,
        plan: &SelectionPlan,
        allow: Option<&Expr>,
        most: usize,
    ) -> Result<Vec<Attributes>, RuntimeError> {
        let mut rows = Vec::new();
        let mut positions = Vec::new();
        for _ in 0..PAGES_PER_ANSWER_MAX {
            let found = self
                .reading(selection, plan, allow)
                .rows(most - rows.len(), &positions)
                .await?;
            self.consumed += &found.consumed;
            rows.extend(found.rows);
            positions = found.positions;
            if positions.is_empty() || rows.len() >= most {
                break;
            }
        }
        Ok(rows)
    }

    /// The answer's shape for one row, or for the rows of one element.
    fn returned(&mut self, of: &Attributes, rows: Option<Value>) -> Result<Value, RuntimeError> {
        if let Some(rows) = rows {
            self.bound.insert("rows".to_owned(), rows);
        }
        let scope = self.scope().with_row(of);
        Ok(match &self.read.returns {
            Return::Usual | Return::Nothing => row::as_value(of),
            Return::Value(expr) => evaluate(expr, &scope)?.unwrap_or(Value::Null),
            Return::Fields(fields) => {
                let mut map = std::collections::BTreeMap::new();
                for (name, expr) in fields {
                    if let Some(value) = evaluate(expr, &scope)? {
                        map.insert(name.clone(), value);
                    }
                }
                Value::M(map)
            }
        })
    }
}

fn mentions_bound(expr: &Expr) -> bool {
    expr.any(|part| matches!(part.kind, ExprKind::Bound(_)))
}

fn copy_position(position: &crate::cursor::Position) -> crate::cursor::Position {
    use crate::cursor::Position;
    match position {
        Position::Start => Position::Start,
        Position::After(key) => Position::After(key.clone()),
        Position::Done => Position::Done,
    }
}
