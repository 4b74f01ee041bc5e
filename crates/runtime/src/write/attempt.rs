//! One attempt at an operation: names are bound, clauses checked, steps taken, and all of it sent at once.

use std::collections::{BTreeMap, HashSet};

use singlet_item::{Item, Number, Value};
use singlet_model::evaluate::{evaluate, evaluate_as, holds};
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Entity, Let, LetValue, Refusal, Return, Selection, StepKind};
use singlet_model::types::{EntityId, Type};
use singlet_plan::read::SelectionPlan;
use singlet_plan::write::{Clause, Default as Why, Place, Used, default_name, requirement_status};
use singlet_store::{Consumed, GetRequest};

use super::generate::Generating;
use super::refuse::{self, Denial, Rule};
use super::touched::{Action, Before, Change, Check, Touched, absent_now, present_now};
use super::{Operation, Refused, Stop, Written, send};
use crate::error::RuntimeError;
use crate::find::{Reading, primary_key};
use crate::lower::{self, Lowered};
use crate::scope::{Attributes, Scope};
use crate::{retry, row, stream};

/// What is said first: a missing row, then who may, then the version, then requirements, then steps.
pub(super) const ORDER_MISSING: u32 = 10;
const ORDER_ALLOW: u32 = 20;
pub(super) const ORDER_VERSION: u32 = 30;
const ORDER_REQUIRE: u32 = 100;
pub(super) const ORDER_STEP: u32 = 100_000;

/// One attempt.
pub(super) struct Attempt<'a> {
    pub operation: &'a Operation<'a>,
    /// Rows that must be read though the plan does not say so.
    pub read_first: &'a HashSet<Item>,
    /// The arguments in scope: the operation's, or a named step's.
    pub args: Attributes,
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
    pub version_checked: bool,
    pub consumed: Consumed,
}

impl<'a> Attempt<'a> {
    pub fn new(operation: &'a Operation<'a>, read_first: &'a HashSet<Item>) -> Self {
        Attempt {
            operation,
            read_first,
            args: operation.args.clone(),
            bound: operation
                .record
                .as_ref()
                .map(|record| record.words().clone())
                .unwrap_or_default(),
            names: BTreeMap::new(),
            rows: Vec::new(),
            first: None,
            step: 0,
            skipping: false,
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

    async fn bind(&mut self, bound: &'a Let) -> Result<(), Stop> {
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
                    if let Some(value) = self.value(expr, None)? {
                        self.bound.insert(bound.name.clone(), value);
                    }
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

    fn missing(&self, bound: &Let, entity: &Entity) -> Result<(), Stop> {
        match bound.optional {
            true => Ok(()),
            false => Err(Stop::Refused(not_found(entity))),
        }
    }

    async fn name_row(&mut self, bound: &'a Let, at: usize) -> Result<(), Stop> {
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
            None => primary_key(entity, &known)?,
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
        let row = row.filter(|row| !super::history::is_deleted(entity, row));
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
        let answer = retry::retried(|| self.operation.engine.store().get(&request)).await?;
        self.consumed += &answer.consumed;
        Ok(answer.item)
    }

    /// Rows by what is known of them.
    pub async fn find(
        &mut self,
        selection: &'a Selection,
        plan: &'a SelectionPlan,
        most: usize,
        positions: &crate::cursor::Positions,
    ) -> Result<crate::find::Found, Stop> {
        let on_table = plan.queries.iter().all(|query| query.index.is_none());
        let reading = Reading {
            model: self.operation.model,
            store: self.operation.engine.store(),
            scope: self.scope(None),
            selection,
            plan,
            allow: None,
            consistent: on_table,
            requests_max: None,
        };
        let found = reading.rows(most, positions).await?;
        self.consumed += &found.consumed;
        Ok(found)
    }

    async fn find_one(
        &mut self,
        entity: &'a Entity,
        selection: &'a Selection,
        plan: &'a SelectionPlan,
    ) -> Result<Option<usize>, Stop> {
        let found = self
            .find(selection, plan, 1, &crate::cursor::Positions::default())
            .await?;
        let Some(row) = found.rows.into_iter().next() else {
            return Ok(None);
        };
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
        let now = self.rows.get(at).and_then(Touched::row).cloned();
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

    async fn allow(&mut self, clause: &'a Clause) -> Result<(), Stop> {
        match &clause.place {
            // The caller alone was looked at before any I/O.
            Place::Request => Ok(()),
            Place::Pushed(row) => {
                let entity = row.as_ref().and_then(|name| self.row_entity(name));
                let denial = entity.map(|entity| Rule::of(entity, None, &Why::Absent));
                self.push(row.as_deref(), &clause.expr, ORDER_ALLOW, denial).await
            }
            Place::Pinned => match self.holds(&clause.expr, None)? {
                true => Ok(()),
                false => {
                    let name = bound_row(&clause.expr, &self.names);
                    let entity = name.and_then(|name| self.row_entity(&name));
                    let refused = entity.map_or_else(|| Refused::new("not_found", 404), not_found);
                    Err(self.refused(ORDER_ALLOW, refused).await)
                }
            },
        }
    }

    fn row_entity(&self, name: &str) -> Option<&'a Entity> {
        let at = self.names.get(name)?;
        self.rows.get(*at).map(|touched| touched.entity)
    }

    async fn require(&mut self, clause: &'a Clause, refusal: &'a Refusal, status: u16, order: u32) -> Result<(), Stop> {
        match &clause.place {
            Place::Request | Place::Pinned => {
                if self.holds(&clause.expr, None)? {
                    return Ok(());
                }
                let mut refused = Refused::new(refusal.name.clone(), status);
                refused.shown = refuse::shown(self.operation, &refusal.shown, &self.bound, None)?;
                Err(self.refused(order, refused).await)
            }
            Place::Pushed(row) => {
                let mut rule = Rule::required(refusal, status);
                rule.row = row.clone();
                rule.entity = row.as_ref().and_then(|name| self.row_entity(name));
                self.push(row.as_deref(), &clause.expr, order, Some(rule)).await
            }
        }
    }

    /// Puts a condition on a row that is not read.
    async fn push(
        &mut self,
        row: Option<&str>,
        expr: &'a Expr,
        order: u32,
        rule: Option<Rule<'a>>,
    ) -> Result<(), Stop> {
        let at = row.and_then(|name| self.names.get(name)).copied();
        let (Some(at), Some(mut rule)) = (at, rule) else {
            return Ok(());
        };
        if !rule.shown.is_empty() {
            rule.bound = self.bound.clone();
        }
        self.push_at(at, expr, order, rule).await
    }

    pub async fn push_at(&mut self, at: usize, expr: &'a Expr, order: u32, rule: Rule<'a>) -> Result<(), Stop> {
        let Some(touched) = self.rows.get(at) else {
            return Ok(());
        };
        if let (true, Some(row)) = (touched.is_read(), touched.row()) {
            // Read after all, because something else needed it.
            if self.holds(expr, Some(row))? {
                let mut used = Used::default();
                used.extend(expr);
                self.note(at, &used);
                return Ok(());
            }
            let refused = rule.refused(self.operation, touched.item())?;
            return Err(self.refused(order, refused).await);
        }
        let lowered = lower::condition(self.operation.model, touched.entity, expr, self.scope(None))?;
        match lowered {
            Lowered::True => Ok(()),
            Lowered::False => {
                // It holds of no row, but a missing row speaks first.
                let key = touched.key.clone();
                let old = self.get(key).await?;
                let refused = rule.refused(self.operation, old.as_ref())?;
                Err(self.refused(order, refused).await)
            }
            Lowered::No => Err(Stop::ReadFirst(vec![touched.key.clone()])),
            Lowered::Filter(condition) => {
                if let Some(touched) = self.rows.get_mut(at) {
                    touched.checks.push(Check {
                        order,
                        condition,
                        denial: Denial::Rule(Box::new(rule)),
                    });
                }
                Ok(())
            }
        }
    }

    /// A refusal that the process found; but what the store would have said first is said first.
    pub async fn refused(&mut self, order: u32, refused: Refused) -> Stop {
        if self.skipping {
            return Stop::Skipped;
        }
        let failed = match self.failing(|known| known < order).await {
            Ok(failed) => failed,
            Err(stop) => return stop,
        };
        if failed.is_empty() {
            return Stop::Refused(refused);
        }
        let failed: Vec<_> = failed.iter().map(|(action, item)| (action, item.clone())).collect();
        refuse::why(self.operation, &failed)
    }

    /// What the store would refuse of what was said so far, by the order of its checks.
    pub async fn failing(&mut self, wanted: impl Fn(u32) -> bool) -> Result<Vec<(Action<'a>, Option<Item>)>, Stop> {
        let mut actions = Vec::new();
        for at in 0..self.rows.len() {
            actions.extend(self.actions_of(at)?);
        }
        let mut failed = Vec::new();
        for mut action in actions {
            action.checks.retain(|check| wanted(check.order));
            if action.checks.is_empty() {
                continue;
            }
            let item = self.get(action.key.clone()).await?;
            if action.checks.iter().any(|check| !check.condition.holds(item.as_ref())) {
                failed.push((action, item));
            }
        }
        Ok(failed)
    }

    /// The version that the caller asked for: it speaks before requirements.
    async fn check_version_read(&mut self) -> Result<(), Stop> {
        let Some(version) = self.operation.request.version else {
            return Ok(());
        };
        let mut first = None;
        for step in self.operation.write.steps.iter().filter(|step| step.repeat.is_none()) {
            let taken = match &step.when {
                Some(when) => self.holds(when, None)?,
                None => true,
            };
            first = match &step.kind {
                StepKind::Update(target) | StepKind::Delete(target) | StepKind::Upsert(target) => Some(target),
                _ => None,
            }
            .filter(|_| taken);
            if first.is_some() {
                break;
            }
        }
        let at = match first.map(|target| &target.kind) {
            Some(ExprKind::Bound(name)) => self.names.get(name).copied(),
            Some(ExprKind::Entity { entity, key }) => {
                let entity = self.entity(*entity)?;
                let known = self.key_values(entity, key)?;
                self.touch(entity, known)?
            }
            _ => None,
        };
        let Some(at) = at else { return Ok(()) };
        if self.must_read(at) {
            self.read(at).await?;
        }
        self.check_version(at, version).await
    }

    /// Checks the version of a row, now or in its condition.
    pub async fn check_version(&mut self, at: usize, version: Number) -> Result<(), Stop> {
        // It is the version of the first row that changes, and of no other.
        self.version_checked = true;
        let Some(touched) = self.rows.get_mut(at) else {
            return Ok(());
        };
        let attribute = touched
            .entity
            .attributes
            .iter()
            .find(|attribute| attribute.ty == Type::Version);
        let Some(attribute) = attribute else { return Ok(()) };
        let name = super::touched::stored_name(&attribute.stored, &attribute.name);
        // A row that is not there has no other version: what is missing is said by who needs it.
        if touched.is_read() {
            let current = touched.item().and_then(|item| item.get(name));
            let other = touched.row().is_some() && current != Some(&Value::N(version));
            return match other {
                true => Err(Stop::Failed(RuntimeError::VersionMismatch)),
                false => Ok(()),
            };
        }
        let gone = absent_now(
            self.operation.model,
            touched.entity.expires.is_some(),
            self.operation.request.now,
        );
        touched.checks.push(Check {
            order: ORDER_VERSION,
            condition: gone.or(singlet_store::Condition::equal(name, Value::N(version))),
            denial: Denial::Version,
        });
        Ok(())
    }

    /// Sends everything, and says what came of it.
    pub async fn finish(&mut self, more: Vec<Action<'a>>) -> Result<Written, Stop> {
        self.mark_answered();
        let mut actions = Vec::new();
        for at in 0..self.rows.len() {
            actions.extend(self.actions_of(at)?);
        }
        actions.extend(more);
        unite(&mut actions)?;
        let several = actions.len() + usize::from(self.operation.record.is_some()) > 1;
        let blind = self.answered_blind();
        if several && !blind.is_empty() {
            return Err(Stop::ReadFirst(blind));
        }
        if let [at] = blind.as_slice() {
            let wanted = self.rows.iter().position(|touched| touched.key == *at);
            let item = send::send(self.operation, &actions, true, &mut self.consumed).await?;
            if let (Some(at), Some(item)) = (wanted, item) {
                let entity = self.rows.get(at).map(|touched| touched.entity);
                let row = match entity {
                    // A row that ends with this change is answered all the same.
                    Some(entity) => match row::decode(self.operation.model, entity, &item, self.scope(None))? {
                        Some(row) => Some(row),
                        None => Some(row::stored(entity, &item)?),
                    },
                    None => None,
                };
                if let Some(touched) = self.rows.get_mut(at) {
                    touched.after = row;
                }
            }
            return self.answer();
        }
        let written = self.answer()?;
        if let Some(record) = &self.operation.record {
            let answered = self.answered_row();
            actions.push(record.action(self.operation, &written, &answered)?);
        }
        send::send(self.operation, &actions, false, &mut self.consumed).await?;
        Ok(written)
    }

    /// The rows that the answer shows.
    fn mark_answered(&mut self) {
        let returns = &self.operation.write.returns;
        let mut shown: Vec<usize> = Vec::new();
        match returns {
            Return::Usual => shown.extend(self.first.map(|(at, _)| at)),
            Return::Nothing => {}
            Return::Value(expr) => shown.extend(self.rows_in(expr)),
            Return::Fields(fields) => shown.extend(fields.iter().flat_map(|(_, expr)| self.rows_in(expr))),
        }
        if self.operation.write.bulk {
            shown.clear();
        }
        for at in shown {
            if let Some(touched) = self.rows.get_mut(at) {
                touched.answered = true;
            }
        }
    }

    fn rows_in(&self, expr: &Expr) -> Vec<usize> {
        let mut found = Vec::new();
        expr.walk(&mut |part| {
            if let ExprKind::Bound(name) = &part.kind {
                found.extend(self.names.get(name).copied());
            }
        });
        found
    }

    /// The rows that the answer shows though it is not known what they become.
    fn answered_blind(&self) -> Vec<Item> {
        let blind =
            |touched: &&Touched<'a>| touched.answered && touched.after.is_none() && touched.change == Change::Update;
        self.rows
            .iter()
            .filter(blind)
            .map(|touched| touched.key.clone())
            .collect()
    }

    /// The row that the answer is, with the attributes of its item.
    fn answered_row(&self) -> Attributes {
        let Some(touched) = self.first.and_then(|(at, _)| self.rows.get(at)) else {
            return Attributes::new();
        };
        let mut row = touched
            .after
            .clone()
            .or_else(|| touched.row().cloned())
            .unwrap_or_default();
        for (name, value) in &touched.key {
            row.entry(name.clone()).or_insert_with(|| value.clone());
        }
        row
    }

    fn answer(&mut self) -> Result<Written, Stop> {
        // What is answered is what rows become.
        let after: Vec<(String, Value)> = self
            .names
            .iter()
            .filter_map(|(name, at)| {
                let after = self.rows.get(*at)?.after.as_ref()?;
                Some((name.clone(), row::as_value(after)))
            })
            .collect();
        self.bound.extend(after);
        let first = self.first.and_then(|(at, _)| self.rows.get(at));
        let created = self.first.is_some_and(|(_, created)| created);
        let said = self.operation.write.http.as_ref().and_then(|route| route.status);
        let value = match &self.operation.write.returns {
            Return::Nothing => None,
            Return::Usual => first.and_then(|touched| touched.after.as_ref().or(touched.row()).map(row::as_value)),
            Return::Value(expr) => self.value(expr, None)?,
            Return::Fields(fields) => {
                let mut map = BTreeMap::new();
                for (name, expr) in fields {
                    map.extend(self.value(expr, None)?.map(|value| (name.clone(), value)));
                }
                Some(Value::M(map))
            }
        };
        let status = said.unwrap_or(match (&value, created) {
            (None, _) => 204,
            (Some(_), true) => 201,
            (Some(_), false) => 200,
        });
        let version = first.and_then(|touched| {
            let attribute = touched
                .entity
                .attributes
                .iter()
                .find(|attribute| attribute.ty == Type::Version)?;
            touched.after.as_ref()?.get(&attribute.name)?.as_number()
        });
        Ok(Written {
            status,
            value: value.filter(|_| status != 204),
            version,
            replayed: false,
            consumed: Consumed::default(),
        })
    }
}

/// `booking_not_found`, which also stands for a row that the caller may not see.
pub(super) fn not_found(entity: &Entity) -> Refused {
    Refused::new(default_name(&entity.name, &Why::Absent), 404)
}

/// The first row that an expression looks at.
fn bound_row(expr: &Expr, names: &BTreeMap<String, usize>) -> Option<String> {
    let mut found = None;
    expr.walk(&mut |part| {
        if let ExprKind::Bound(name) = &part.kind
            && found.is_none()
            && names.contains_key(name)
        {
            found = Some(name.clone());
        }
    });
    found
}

/// No item may stand in a request twice: checks join what else is done with their item.
fn unite(actions: &mut Vec<Action<'_>>) -> Result<(), Stop> {
    let mut at = 0;
    while at < actions.len() {
        let Some(key) = actions.get(at).map(|action| action.key.clone()) else {
            break;
        };
        let other = actions
            .iter()
            .skip(at + 1)
            .position(|action| action.key == key)
            .map(|next| at + 1 + next);
        let Some(other) = other else {
            at += 1;
            continue;
        };
        let second = actions.remove(other);
        let Some(first) = actions.get_mut(at) else { break };
        use super::touched::Doing;
        match (&first.doing, &second.doing) {
            (_, Doing::Check) => {}
            (Doing::Check, _) => first.doing = second.doing,
            _ => return Err(Stop::Refused(Refused::new("same_item", 409))),
        }
        first.checks.extend(second.checks);
    }
    Ok(())
}
