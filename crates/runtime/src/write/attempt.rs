//! One attempt at an operation: names are bound, clauses checked, steps taken, and all of it sent at once.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use singlet_item::{Item, Value};
use singlet_model::evaluate::{evaluate, evaluate_as, evaluate_bound, holds};
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Entity, Let, LetValue, Selection};
use singlet_model::types::{EntityId, Type};
use singlet_plan::read::SelectionPlan;
use singlet_plan::write::{Default as Why, Used, default_name, requirement_status};
use singlet_store::{Consumed, GetRequest};

use super::generate::Generating;
use super::refuse::{Denial, Rule};
use super::touched::{Action, Before, Check, Touched, present_now};
use super::{Operation, Refused, Stop, Written};
use crate::by_key::primary_key;
use crate::error::RuntimeError;
use crate::find::{Found, Onward, Reading};
use crate::read_on::{self, Rows};
use crate::scope::{Attributes, Scope};
use crate::{retry, row, stream};

/// What is said first: a missing row, then who may, then the version, then requirements, then steps.
pub(super) const ORDER_MISSING: u32 = 10;
pub(super) const ORDER_ALLOW: u32 = 20;
pub(super) const ORDER_VERSION: u32 = 30;
const ORDER_REQUIRE: u32 = 100;
pub(super) const ORDER_STEP: u32 = 100_000;

/// Room for the rows of most operations: rows are large.
const ROWS_USUAL: usize = 2;

/// One attempt.
pub(super) struct Attempt<'a> {
    pub operation: &'a Operation<'a>,
    /// Rows that must be read though the plan does not say so.
    pub read_first: &'a HashSet<Item>,
    /// The arguments in scope: the operation's, or a named step's.
    pub args: Cow<'a, Attributes>,
    /// Bound names; rows as they were, those of `as` as they become.
    pub bound: Attributes,
    /// Which row a name stands for.
    pub names: BTreeMap<String, usize>,
    pub rows: Vec<Touched<'a>>,
    /// The row of the first create or update, and whether it was created.
    pub first: Option<(usize, bool)>,
    /// How many steps were taken, for the order of refusals.
    pub step: u32,
    /// Whether the step that is being taken is passed over where it cannot be done.
    pub skipping: bool,
    /// Why steps were passed over, where the store would have refused them: that must still be so.
    pub passed_over: Vec<Action<'a>>,
    pub version_checked: bool,
    pub consumed: Consumed,
}

impl<'a> Attempt<'a> {
    pub fn new(operation: &'a Operation<'a>, read_first: &'a HashSet<Item>) -> Self {
        Attempt {
            operation,
            read_first,
            args: Cow::Borrowed(&operation.args),
            bound: operation
                .record
                .as_ref()
                .map(|record| record.words().clone())
                .unwrap_or_default(),
            names: BTreeMap::new(),
            rows: Vec::with_capacity(ROWS_USUAL),
            first: None,
            step: 0,
            skipping: false,
            passed_over: Vec::new(),
            version_checked: false,
            consumed: Consumed::default(),
        }
    }

    pub async fn run(&mut self) -> Result<Written, Stop> {
        self.prepare().await?;
        let operation = self.operation;
        self.steps(&operation.write.steps, &operation.plan.steps).await?;
        self.finish(Vec::new()).await
    }

    /// Everything before the steps.
    pub async fn prepare(&mut self) -> Result<(), Stop> {
        let operation = self.operation;
        for bound in &operation.write.lets {
            self.bind(bound).await?;
        }
        for clause in &operation.plan.allow {
            self.allow(clause).await?;
        }
        self.check_version_read().await?;
        let requirements = operation.write.requirements.iter().zip(&operation.plan.requirements);
        for (at, (requirement, clauses)) in requirements.enumerate() {
            let order = ORDER_REQUIRE + u32::try_from(at).unwrap_or(0);
            for clause in clauses {
                let status = requirement_status(requirement);
                self.require(clause, &requirement.refusal, status, order).await?;
            }
        }
        Ok(())
    }

    /// The names in scope, and a row whose attributes stand bare.
    pub fn scope<'s>(&'s self, attributes: Option<&'s Attributes>) -> Scope<'s> {
        Scope {
            setting: self.operation.engine.setting(),
            now: self.operation.request.now,
            args: &self.args,
            caller: &self.operation.request.caller,
            attributes,
            row: None,
            bound: &self.bound,
        }
    }

    pub fn value(&self, expr: &Expr, attributes: Option<&Attributes>) -> Result<Option<Value>, Stop> {
        Ok(evaluate(expr, &Generating(self.scope(attributes)))?)
    }

    pub fn value_as(&self, expr: &Expr, ty: &Type, attributes: Option<&Attributes>) -> Result<Option<Value>, Stop> {
        Ok(evaluate_as(expr, ty, &Generating(self.scope(attributes)))?)
    }

    pub fn holds(&self, expr: &Expr, attributes: Option<&Attributes>) -> Result<bool, Stop> {
        Ok(holds(expr, &Generating(self.scope(attributes)))?)
    }

    pub fn entity(&self, id: EntityId) -> Result<&'a Entity, Stop> {
        let entity = self.operation.model.entity(id);
        entity.ok_or_else(|| Stop::Failed(RuntimeError::Stored("an entity is not of this model".to_owned())))
    }

    pub async fn bind(&mut self, bound: &'a Let) -> Result<(), Stop> {
        let plan = self.operation.plan.rows.get(&bound.name);
        match &bound.value {
            LetValue::Value(expr) => match &expr.kind {
                ExprKind::Entity { entity, key } => {
                    let entity = self.entity(*entity)?;
                    let known = self.key_values(entity, key)?;
                    let read = plan.is_some_and(|plan| plan.is_read());
                    let at = match self.touch(entity, known)? {
                        Some(at) => at,
                        None => return self.missing(bound, entity),
                    };
                    if let Some(plan) = plan {
                        self.note(at, &plan.used);
                    }
                    if read || self.must_read(at) {
                        self.read(at).await?;
                    }
                    self.name_row(bound, at).await
                }
                _ => {
                    let value = evaluate_bound(expr, &Generating(self.scope(None)))?;
                    self.bound.extend(value.map(|value| (bound.name.clone(), value)));
                    Ok(())
                }
            },
            LetValue::Read(selection) => {
                let found = plan.and_then(|plan| plan.found.as_ref());
                let entity = selection.entity().map(|id| self.entity(id)).transpose()?;
                let (Some(found), Some(entity)) = (found, entity) else {
                    return Ok(());
                };
                match self.find_one(entity, selection, found).await? {
                    Some(at) => {
                        if let Some(plan) = plan {
                            self.note(at, &plan.used);
                        }
                        self.name_row(bound, at).await
                    }
                    None => self.missing(bound, entity),
                }
            }
        }
    }

    pub fn missing(&self, bound: &Let, entity: &Entity) -> Result<(), Stop> {
        match bound.optional {
            true => Ok(()),
            false => Err(Stop::Refused(not_found(entity))),
        }
    }

    pub async fn name_row(&mut self, bound: &'a Let, at: usize) -> Result<(), Stop> {
        let Some(touched) = self.rows.get_mut(at) else {
            return Ok(());
        };
        let entity = touched.entity;
        match touched.row() {
            Some(row) => {
                let value = row::as_value(row);
                self.bound.insert(bound.name.clone(), value);
                self.names.insert(bound.name.clone(), at);
                if !touched.is_read() {
                    touched.checks.push(Check {
                        order: ORDER_MISSING,
                        condition: present_now(self.operation.model, entity, self.operation.request.now),
                        denial: Denial::Rule(Box::new(Rule::of(entity, None, &Why::Absent))),
                    });
                }
                Ok(())
            }
            None => self.missing(bound, entity),
        }
    }

    /// The values of a row's key variables.
    pub fn key_values(&self, entity: &Entity, key: &[(String, Expr)]) -> Result<Attributes, Stop> {
        let mut known = Attributes::new();
        for (name, expr) in key {
            let ty = entity.attribute(name).map(|attribute| &attribute.ty);
            let value = match ty {
                Some(ty) => self.value_as(expr, ty, None)?,
                None => self.value(expr, None)?,
            };
            known.extend(value.map(|value| (name.clone(), value)));
        }
        Ok(known)
    }

    /// The row with these key values, touched once; none where a part of its key is missing.
    pub fn touch(&mut self, entity: &'a Entity, known: Attributes) -> Result<Option<usize>, Stop> {
        let key = match &entity.history {
            // A version's own instant is not known yet: its identity stands for it.
            Some(_) => Some(super::guards::identity(self.operation.model, entity, &known)?),
            None => match primary_key(entity, &known) {
                Ok(key) => key,
                // What no key can hold, such as a caller's id that is too long, no row has.
                Err(RuntimeError::Request(_)) => None,
                Err(error) => return Err(error.into()),
            },
        };
        let Some(key) = key else { return Ok(None) };
        if let Some(at) = self.rows.iter().position(|touched| touched.key == key) {
            return Ok(Some(at));
        }
        self.rows.push(Touched::new(entity, key, known));
        Ok(Some(self.rows.len() - 1))
    }

    pub fn must_read(&self, at: usize) -> bool {
        let Some(touched) = self.rows.get(at) else { return false };
        touched.entity.history.is_some() || self.read_first.contains(&touched.key)
    }

    pub fn note(&mut self, at: usize, used: &Used) {
        if let Some(touched) = self.rows.get_mut(at) {
            touched.used.attributes.extend(used.attributes.iter().cloned());
            touched.used.whole |= used.whole;
        }
    }

    /// Reads a row, once, strongly.
    pub async fn read(&mut self, at: usize) -> Result<(), Stop> {
        let Some(touched) = self.rows.get(at).filter(|touched| !touched.is_read()) else {
            return Ok(());
        };
        let entity = touched.entity;
        let item = match &entity.history {
            Some(history) => self.last_version(entity, history, at).await?,
            None => self.get(touched.key.clone()).await?,
        };
        let model = self.operation.model;
        let item = item.filter(|item| stream::is_of(model, entity, item));
        let row = match &item {
            Some(item) => row::decode(model, entity, item, self.scope(None))?,
            None => None,
        };
        let row = row.filter(|row| !super::history::is_over(entity, row));
        if let Some(touched) = self.rows.get_mut(at) {
            touched.before = Before::Read { item, row };
        }
        Ok(())
    }

    pub async fn get(&mut self, key: Item) -> Result<Option<Item>, Stop> {
        let request = GetRequest {
            table: self.operation.model.table.name.clone(),
            key,
            consistent: true,
            projection: Vec::new(),
        };
        let answer = retry::retried(self.operation.engine.bounds(), || {
            self.operation.engine.store().get(&request)
        })
        .await?;
        self.consumed += &answer.consumed;
        Ok(answer.item)
    }

    /// Reads strongly where that can be: an index is never up to date for certain.
    fn reading<'s>(&'s self, selection: &'s Selection, plan: &'s SelectionPlan) -> Reading<'s> {
        Reading {
            name: &self.operation.write.name,
            model: self.operation.model,
            store: self.operation.engine.store(),
            scope: self.scope(None),
            selection,
            plan,
            allow: None,
            consistent: plan.queries.iter().all(|query| query.index.is_none()),
            requests_max: None,
        }
    }

    /// A page of rows by what is known of them; only [`Onward::End`] says that it is the last one.
    pub async fn found_page(
        &mut self,
        selection: &'a Selection,
        plan: &'a SelectionPlan,
        most: usize,
        onward: &Onward,
    ) -> Result<Found, Stop> {
        let found = self.reading(selection, plan).page(most, onward).await?;
        self.consumed += &found.consumed;
        Ok(found)
    }

    /// Rows by what is known of them: to the limit of the selection, or all. Where they are more than one transaction goes
    /// through, nothing is done.
    pub async fn found_rows(
        &mut self,
        selection: &'a Selection,
        plan: &'a SelectionPlan,
    ) -> Result<Vec<Attributes>, Stop> {
        let reading = self.reading(selection, plan);
        let Rows { rows, consumed } = match selection.limit {
            Some(limit) => read_on::first_rows(reading, limit as usize).await?,
            None => read_on::all_rows(reading, reading.bounds().loop_rows_max).await?,
        };
        self.consumed += &consumed;
        Ok(rows)
    }

    pub async fn find_one(
        &mut self,
        entity: &'a Entity,
        selection: &'a Selection,
        plan: &'a SelectionPlan,
    ) -> Result<Option<usize>, Stop> {
        let (row, consumed) = read_on::only_row(self.reading(selection, plan)).await?;
        self.consumed += &consumed;
        let Some(row) = row else { return Ok(None) };
        self.found_row(entity, row, selection).await
    }

    /// A row that was found through an index, read again where it is stored; none where it no longer is what was looked for.
    pub async fn found_row(
        &mut self,
        entity: &'a Entity,
        row: Attributes,
        selection: &'a Selection,
    ) -> Result<Option<usize>, Stop> {
        let Some(at) = self.touch(entity, row)? else {
            return Ok(None);
        };
        self.read(at).await?;
        let now = self.rows.get(at).and_then(|touched| touched.row()).cloned();
        let Some(row) = now else { return Ok(None) };
        if let Some(filter) = &selection.filter {
            if !self.holds(filter, Some(&row))? {
                return Ok(None);
            }
            let mut used = Used::default();
            used.extend(filter);
            self.note(at, &used);
        }
        Ok(Some(at))
    }
}

/// `booking_not_found`, which also stands for a row that the caller may not see.
pub(super) fn not_found(entity: &Entity) -> Refused {
    Refused::new(default_name(&entity.name, &Why::Absent), 404)
}
