//! One attempt at an operation: names are bound, clauses checked, steps taken, and all of it sent at once.
//!
//! **Invariant: the refusal that comes first in the order is the one that is said**, whether the process finds it on what it has read or
//! the store on a condition. So each check carries its place: where a request fails in several conditions the lowest place speaks,
//! and what the process finds waits until nothing before it fails (`said_before`). Otherwise the answer would hang on which rows a
//! plan happens to read, and a later refusal would tell of a row to who may not see it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use singlet_item::{Item, Value};
use singlet_model::evaluate::evaluate_as;
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Entity, Let, LetValue, Selection, SelectionKind};
use singlet_model::types::{EntityId, Type};
use singlet_plan::read::SelectionPlan;
use singlet_plan::write::{DefaultRefusal, Used, default_name, requirement_status};
use singlet_store::{Consumed, GetRequest};

use super::generate::Generating;
use super::refuse::{Denial, RefusalRule};
use super::touched::{Before, NotPassedOver, RowCheck, Touched, TouchedChange, WriteAction, present_now};
use super::{AttemptStop, Refused, WriteOperation, Written, internal_mistake};
use crate::budget::ReadBudget;
use crate::by_key::primary_key;
use crate::error::RuntimeError;
use crate::find::{FoundRows, Onward, Reading};
use crate::read_on::{self, WholeRows};
use crate::scope::{Attributes, Scope};
use crate::{range_rows, retry, row};

/// What is said first: a missing row, in the order of `let`, then who may, then the version, then requirements, then steps. What a
/// rule says comes before all pins ([`ORDER_PIN`](super::touched::ORDER_PIN)).
const ORDER_MISSING: u32 = 10;
/// A row that an expression names by its key is missing after those that `let` names.
pub(super) const ORDER_MISSING_LAST: u32 = ORDER_ALLOW - 1;
pub(super) const ORDER_ALLOW: u32 = 10_000;
pub(super) const ORDER_VERSION: u32 = 10_001;
const ORDER_REQUIRE: u32 = 20_000;
pub(super) const ORDER_STEP: u32 = 100_000;

/// Room for the rows of most operations: rows are large.
const ROWS_USUAL: usize = 2;

/// The row that is answered: the first that the write makes or changes, though one whose numbers it only adds to comes last.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnsweredRow {
    pub at: usize,
    /// Whether it is new.
    pub created: bool,
    /// Whether its step only adds to numbers, as to a counter.
    pub counted: bool,
}

/// One attempt.
pub(super) struct Attempt<'a> {
    pub operation: &'a WriteOperation<'a>,
    /// Rows that must be read though the plan does not say so.
    pub read_first: &'a HashSet<Item>,
    /// The arguments in scope: the operation's, or a named step's.
    pub args: Cow<'a, Attributes>,
    /// Bound names; rows as they were, those of `as` as they become.
    pub bound: Attributes,
    /// Which row a name stands for.
    pub names: BTreeMap<String, usize>,
    pub rows: Vec<Touched<'a>>,
    /// The row that is answered, unless the write says what.
    pub first: Option<AnsweredRow>,
    /// Whether it has an answer: of a bulk operation only the end has.
    pub answers: bool,
    /// How many named steps are being taken within one another: what they make is not the write's own.
    pub calls: u32,
    /// How many steps were taken, for the order of refusals.
    pub step: u32,
    /// Whether the step that is being taken is passed over where it cannot be done.
    pub skipping: bool,
    /// Why steps were passed over, where the store would have refused them: that must still be so.
    pub passed_over: Vec<WriteAction<'a>>,
    /// Steps that would have been passed over, and were not.
    pub not_passed_over: NotPassedOver,
    pub version_checked: bool,
    /// What it may read of rows that no key names.
    budget: ReadBudget<'a>,
    pub consumed: Consumed,
}

impl<'a> Attempt<'a> {
    pub fn new(operation: &'a WriteOperation<'a>, read_first: &'a HashSet<Item>) -> Self {
        Attempt {
            operation,
            read_first,
            args: Cow::Borrowed(&operation.args),
            bound: operation.words(),
            names: BTreeMap::new(),
            rows: Vec::with_capacity(ROWS_USUAL),
            first: None,
            answers: true,
            calls: 0,
            step: 0,
            skipping: false,
            passed_over: Vec::new(),
            not_passed_over: NotPassedOver::default(),
            version_checked: false,
            budget: ReadBudget::new(operation.engine.turns(), None),
            consumed: Consumed::default(),
        }
    }

    pub async fn run(&mut self) -> Result<Written, AttemptStop> {
        self.prepare().await?;
        let operation = self.operation;
        self.steps(&operation.write.steps, &operation.plan.steps).await?;
        self.finish(Vec::new()).await
    }

    /// Everything before the steps.
    pub async fn prepare(&mut self) -> Result<(), AttemptStop> {
        let operation = self.operation;
        // In order: a name may be made of those before it.
        for bound in &operation.write.lets {
            Box::pin(self.bind(bound)).await?;
        }
        // A change is nobody's request.
        if operation.change.is_none() {
            for clause in &operation.plan.allow {
                self.allow(clause).await?;
            }
        }
        // After `allow`: that the version differs is told only to who may see the row.
        self.check_version_read().await?;
        let requirements = operation.write.requirements.iter().zip(&operation.plan.requirements);
        for (at, (requirement, clauses)) in requirements.enumerate() {
            // More requirements than this leave the order of refusals open, and nothing else.
            let order = (ORDER_REQUIRE + u32::try_from(at).unwrap_or(u32::MAX / 2)).min(ORDER_STEP - 1);
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

    /// A value that an entity's own expressions give, from a row alone: computed attributes, defaults, what holds in a state.
    pub(crate) fn computed_as(&self, expr: &Expr, ty: &Type, row: &Attributes) -> Result<Option<Value>, AttemptStop> {
        Ok(evaluate_as(expr, ty, &Generating(self.scope(Some(row))))?)
    }

    pub fn touched(&self, at: usize) -> Result<&Touched<'a>, AttemptStop> {
        self.rows
            .get(at)
            .ok_or_else(|| internal_mistake("a row is touched that is not known"))
    }

    pub(crate) fn touched_mut(&mut self, at: usize) -> Result<&mut Touched<'a>, AttemptStop> {
        let touched = self.rows.get_mut(at);
        touched.ok_or_else(|| internal_mistake("a row is touched that is not known"))
    }

    pub fn entity(&self, id: EntityId) -> Result<&'a Entity, AttemptStop> {
        let entity = self.operation.model.entity(id);
        entity.ok_or_else(|| internal_mistake("an entity is not of this model"))
    }

    pub async fn bind(&mut self, bound: &'a Let) -> Result<(), AttemptStop> {
        let plan = self.operation.plan.rows.get(&bound.name);
        let planned = || plan.ok_or_else(|| internal_mistake("a row has no plan"));
        match &bound.value {
            LetValue::Value(expr) => match &expr.kind {
                ExprKind::Entity { entity, key } => {
                    let plan = planned()?;
                    let entity = self.entity(*entity)?;
                    let known = self.key_values(entity, key).await?;
                    let Some(at) = self.touch(entity, known)? else {
                        return self.missing(bound, entity).await;
                    };
                    self.note_planned(at, &plan.used)?;
                    // What a bulk operation knows of a row it keeps from its beginning on.
                    // Its turns come later, when the row may have changed: what was bound counts.
                    if plan.is_read() || self.must_read(at)? || self.operation.write.bulk {
                        self.read(at).await?;
                    }
                    self.name_row(bound, at).await
                }
                _ => {
                    let value = self.bound_value(expr).await?;
                    self.bound.extend(value.map(|value| (bound.name.clone(), value)));
                    Ok(())
                }
            },
            LetValue::Read(selection) => {
                let plan = planned()?;
                let found = plan
                    .found
                    .as_ref()
                    .ok_or_else(|| internal_mistake("rows have no plan"))?;
                let entity = selection
                    .entity()
                    .ok_or_else(|| internal_mistake("rows have no entity"))?;
                let entity = self.entity(entity)?;
                match selection.kind {
                    SelectionKind::Get { .. } => match self.found_one(entity, selection, found).await? {
                        Some(at) => {
                            self.note_planned(at, &plan.used)?;
                            self.name_row(bound, at).await
                        }
                        None => self.missing(bound, entity).await,
                    },
                    SelectionKind::Find => {
                        let most = rows_most(selection)?;
                        let mut list = Vec::new();
                        for at in self.found_rows(entity, selection, found, most).await? {
                            self.note_planned(at, &plan.used)?;
                            list.extend(self.touched(at)?.row().map(|row| row::as_value(row)));
                        }
                        self.bound.insert(bound.name.clone(), Value::L(list));
                        Ok(())
                    }
                    SelectionKind::Count => Err(internal_mistake("a write counts rows")),
                }
            }
        }
    }

    /// A row that `let` names is not there; but an earlier one, of which only the key is known so far, may be missing too.
    async fn missing(&mut self, bound: &Let, entity: &Entity) -> Result<(), AttemptStop> {
        match bound.optional {
            true => Ok(()),
            // Through `refused`, so that what would have been said before it is asked for first.
            false => {
                let order = self.order_if_missing(&bound.name);
                Err(self.refused(order, not_found(entity)).await)
            }
        }
    }

    /// When it is said that the row is missing for which a name stands.
    pub(crate) fn order_if_missing(&self, name: &str) -> u32 {
        let at = self.operation.write.lets.iter().position(|bound| bound.name == name);
        let at = at.and_then(|at| u32::try_from(at).ok());
        at.map_or(ORDER_MISSING_LAST, |at| (ORDER_MISSING + at).min(ORDER_MISSING_LAST))
    }

    async fn name_row(&mut self, bound: &'a Let, at: usize) -> Result<(), AttemptStop> {
        let (model, now) = (self.operation.model, self.operation.request.now);
        let order = self.order_if_missing(&bound.name);
        let touched = self.touched_mut(at)?;
        let entity = touched.entity;
        let Some(row) = touched.row() else {
            return self.missing(bound, entity).await;
        };
        let value = row::as_value(row);
        // Nobody has looked whether it is there, so that the store has to.
        if !touched.is_read() {
            touched.checks.push(RowCheck {
                order,
                condition: present_now(model, entity, now),
                denial: Denial::Rule(Box::new(RefusalRule::of(entity, None, DefaultRefusal::Absent))),
            });
        }
        self.bound.insert(bound.name.clone(), value);
        self.names.insert(bound.name.clone(), at);
        Ok(())
    }

    /// The values of a row's key variables.
    pub async fn key_values(&mut self, entity: &Entity, key: &[(String, Expr)]) -> Result<Attributes, AttemptStop> {
        let mut known = Attributes::new();
        for (name, expr) in key {
            let ty = entity.attribute(name).map(|attribute| &attribute.ty);
            let value = match ty {
                Some(ty) => self.value_as(expr, ty, None).await?,
                None => self.value(expr, None).await?,
            };
            known.extend(value.map(|value| (name.clone(), value)));
        }
        Ok(known)
    }

    /// The row with these key values, touched once; none where a part of its key is missing.
    pub fn touch(
        &mut self,
        entity: &'a Entity,
        known: impl Into<Arc<Attributes>>,
    ) -> Result<Option<usize>, AttemptStop> {
        let known = known.into();
        let key = match &entity.history {
            // A version's own instant is not known yet: its identity stands for it.
            Some(_) => Some(super::guards::identity_guard(self.operation.model, entity, &known)?),
            None => match primary_key(entity, &known) {
                Ok(key) => key,
                // What no key can hold, such as a caller's id that is too long, no row has.
                // No refusal: whether a row that cannot be there is missed is for who needs it to say.
                Err(RuntimeError::Request(_)) => None,
                Err(error) => return Err(error.into()),
            },
        };
        let Some(key) = key else { return Ok(None) };
        // Each row once, whatever it is named by: two of them would be two actions on one item.
        if let Some(at) = self.rows.iter().position(|touched| touched.key == key) {
            return Ok(Some(at));
        }
        self.rows.push(Touched::new(entity, key, known));
        Ok(Some(self.rows.len() - 1))
    }

    pub(crate) fn must_read(&self, at: usize) -> Result<bool, AttemptStop> {
        let touched = self.touched(at)?;
        Ok(touched.entity.history.is_some() || self.read_first.contains(&touched.key))
    }

    /// Notes what the plan says is looked at in a row.
    pub(crate) fn note_planned(&mut self, at: usize, used: &'a Used) -> Result<(), AttemptStop> {
        if !used.is_empty() {
            self.touched_mut(at)?.planned.push(used);
        }
        Ok(())
    }

    /// Notes what else is looked at in a row.
    pub(crate) fn note_used(&mut self, at: usize, used: Used) -> Result<(), AttemptStop> {
        let known = &mut self.touched_mut(at)?.used;
        known.attributes.extend(used.attributes);
        known.whole |= used.whole;
        Ok(())
    }

    /// Reads a row, once, strongly.
    pub async fn read(&mut self, at: usize) -> Result<(), AttemptStop> {
        let touched = self.touched(at)?;
        // Once: a second reading could differ from the one that decided something.
        if touched.is_read() {
            return Ok(());
        }
        if touched.change != TouchedChange::Nothing {
            // What becomes of it was decided without it: all is evaluated anew, with the row.
            return Err(AttemptStop::ReadFirst(vec![touched.key.clone()]));
        }
        let entity = touched.entity;
        let item = match &entity.history {
            Some(history) => Box::pin(self.last_version(entity, history, at)).await?,
            None => self.get(touched.key.clone()).await?,
        };
        let model = self.operation.model;
        // Under this key may stand a row of another entity: it counts as none, and the conditions are on the item.
        let item = item.filter(|item| range_rows::is_row_of(model, entity, item));
        let row = match &item {
            Some(item) => row::decode_live(model, entity, item, self.scope(None))?,
            None => None,
        };
        // A version that was closed is no row to whoever asks, though it is pinned as it is.
        let row = row.filter(|row| !super::history::is_over(entity, row)).map(Arc::new);
        self.touched_mut(at)?.before = Before::Read { item, row };
        self.bind_names_of(at)
    }

    pub async fn get(&mut self, key: Item) -> Result<Option<Item>, AttemptStop> {
        let request = GetRequest {
            table: self.operation.model.table.name.clone(),
            key,
            // Conditions are made of what is read here; an old copy would fail its own pins again and again.
            consistent: true,
            projection: Default::default(),
        };
        let answer = retry::with_retries(self.operation.engine.bounds(), || {
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
            is_whole: false,
            search: None,
            budget: &self.budget,
        }
    }

    /// A page of rows by what is known of them; only [`Onward::End`] says that it is the last one.
    pub(crate) async fn found_page(
        &mut self,
        selection: &'a Selection,
        plan: &'a SelectionPlan,
        most: usize,
        onward: &Onward,
    ) -> Result<FoundRows, AttemptStop> {
        // Before the page: the filter goes to the store with the names as they are bound, which needs their rows.
        self.look_through_filter(selection).await?;
        let found = self.reading(selection, plan).page(most, onward).await?;
        self.consumed += &found.consumed;
        Ok(found)
    }

    /// The first rows of a selection, each read again where it is stored, and only those that still are what was looked for.
    pub(crate) async fn found_rows(
        &mut self,
        entity: &'a Entity,
        selection: &'a Selection,
        plan: &'a SelectionPlan,
        most: usize,
    ) -> Result<Vec<usize>, AttemptStop> {
        self.look_through_filter(selection).await?;
        let WholeRows { rows, consumed } = read_on::first_rows(self.reading(selection, plan), most).await?;
        self.consumed += &consumed;
        let mut found = Vec::with_capacity(rows.len());
        // One after the other, in the order in which they were found: which of two is touched first decides what is said.
        for row in rows {
            found.extend(self.found_row(entity, row, selection).await?);
        }
        Ok(found)
    }

    /// The store takes names as they are bound: rows that it compares with are read first.
    async fn look_through_filter(&mut self, selection: &Selection) -> Result<(), AttemptStop> {
        match &selection.filter {
            Some(filter) => self.look_through(filter).await,
            None => Ok(()),
        }
    }

    async fn found_one(
        &mut self,
        entity: &'a Entity,
        selection: &'a Selection,
        plan: &'a SelectionPlan,
    ) -> Result<Option<usize>, AttemptStop> {
        self.look_through_filter(selection).await?;
        let (row, consumed) = match read_on::only_row(self.reading(selection, plan)).await {
            Err(several @ RuntimeError::Several(_)) => return Err(self.several(several).await),
            found => found?,
        };
        self.consumed += &consumed;
        match row {
            Some(row) => self.found_row(entity, row, selection).await,
            None => Ok(None),
        }
    }

    /// A row that was found, read again where it is stored; none where it no longer is what was looked for.
    pub async fn found_row(
        &mut self,
        entity: &'a Entity,
        row: Attributes,
        selection: &'a Selection,
    ) -> Result<Option<usize>, AttemptStop> {
        // How many there were, so that only a row that this search has touched is forgotten again.
        let known = self.rows.len();
        let at = self.touch(entity, row)?;
        let at = at.ok_or_else(|| internal_mistake("a row was found that has no key"))?;
        // It was found in an index or a page, which may be old: the table says what it is.
        self.read(at).await?;
        let row = self.touched(at)?.row().map(Arc::clone);
        let meant = match (&row, &selection.filter) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(row), Some(filter)) => self.holds(filter, Some(row)).await?,
        };
        if !meant {
            // It decides nothing, so that nothing of it is insisted on.
            self.rows.truncate(at.max(known));
            return Ok(None);
        }
        let mut used = Used::default();
        selection.filter.iter().for_each(|filter| used.extend(filter));
        // That it was meant is part of what decides, so that the filter's attributes are pinned.
        self.note_used(at, used)?;
        Ok(Some(at))
    }
}

/// How many rows a loop or a list may have: the checker asks for a limit.
pub(super) fn rows_most(selection: &Selection) -> Result<usize, AttemptStop> {
    let limit = selection.limit.and_then(|limit| usize::try_from(limit).ok());
    limit.ok_or_else(|| internal_mistake("rows have no limit"))
}

/// `booking_not_found`, which also stands for a row that the caller may not see.
pub(super) fn not_found(entity: &Entity) -> Refused {
    Refused::new(default_name(&entity.name, &DefaultRefusal::Absent), 404)
}
