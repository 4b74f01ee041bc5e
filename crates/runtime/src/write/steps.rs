//! The steps of an operation: which are taken, on which rows, how often.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use singlet_item::Value;
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{LetValue, Step, StepKind};
use singlet_model::types::Type;
use singlet_plan::write::{DefaultRefusal, Place, StepPlan, requirement_status, step_refusal};
use singlet_store::Condition;

use super::attempt::{Attempt, ORDER_STEP, rows_most};
use super::refuse::{Denial, RefusalRule};
use super::touched::{Doing, RowCheck, Touched, TouchedChange, WriteAction, absent_now, present_now};
use super::{AttemptStop, Refused, internal_mistake, refuse};
use crate::row;
use crate::scope::Attributes;

/// An element of a loop: its value, and the row that it is.
pub(super) type Element = (Value, Option<usize>);

/// What few operations do is boxed, and what reads or refuses in all of them: an attempt has room for the largest of its parts, which is moved
/// from each of them to the next.
impl<'a> Attempt<'a> {
    /// Takes some steps, in order.
    pub async fn steps(&mut self, steps: &'a [Step], plans: &'a [StepPlan]) -> Result<(), AttemptStop> {
        for (step, plan) in steps.iter().zip(plans) {
            match &step.repeat {
                None => self.turn(step, plan).await?,
                Some((name, list)) => {
                    for element in Box::pin(self.elements(list, plan)).await? {
                        self.bind_element(name, element);
                        self.turn(step, plan).await?;
                    }
                    // The name of a loop ends with it: a later step must not see its last element.
                    self.bound.remove(name);
                    self.names.remove(name);
                }
            }
        }
        Ok(())
    }

    /// Takes the steps inside a step, which may have others inside.
    fn inner_steps<'s>(
        &'s mut self,
        steps: &'a [Step],
        plans: &'a [StepPlan],
    ) -> Pin<Box<dyn Future<Output = Result<(), AttemptStop>> + Send + 's>>
    where
        'a: 's,
    {
        Box::pin(self.steps(steps, plans))
    }

    pub(crate) fn bind_element(&mut self, name: &str, (value, row): Element) {
        self.bound.insert(name.to_owned(), value);
        match row {
            Some(at) => self.names.insert(name.to_owned(), at),
            None => self.names.remove(name),
        };
    }

    async fn elements(&mut self, list: &'a LetValue, plan: &'a StepPlan) -> Result<Vec<Element>, AttemptStop> {
        match list {
            LetValue::Value(expr) => self.listed(expr).await,
            LetValue::Read(selection) => {
                let entity = selection
                    .entity()
                    .ok_or_else(|| internal_mistake("a loop has no entity"))?;
                let entity = self.entity(entity)?;
                let found = plan
                    .rows
                    .as_ref()
                    .ok_or_else(|| internal_mistake("a loop has no plan"))?;
                let most = rows_most(selection)?;
                let mut elements = Vec::new();
                for at in self.found_rows(entity, selection, found, most).await? {
                    let value = self.touched(at)?.row().map(|row| row::as_value(row));
                    elements.extend(value.map(|value| (value, Some(at))));
                }
                Ok(elements)
            }
        }
    }

    /// The elements of a list or set, each with its row where it is one.
    pub async fn listed(&mut self, expr: &Expr) -> Result<Vec<Element>, AttemptStop> {
        let values = match self.value(expr, None).await? {
            Some(Value::L(elements)) => elements,
            Some(Value::Ss(words)) => words.into_iter().map(Value::S).collect(),
            Some(Value::Ns(numbers)) => numbers.into_iter().map(Value::N).collect(),
            Some(Value::Bs(all)) => all.into_iter().map(Value::B).collect(),
            None => Vec::new(),
            Some(_) => return Err(internal_mistake("a loop goes through what is no list")),
        };
        values.into_iter().map(|value| self.element_of(expr, value)).collect()
    }

    /// An element of a list, with its row where it is one.
    pub fn element_of(&mut self, list: &Expr, value: Value) -> Result<Element, AttemptStop> {
        let row = match (list.ty.element_type(), &value) {
            (Some(Type::Row(entity)), Value::M(row)) => {
                let entity = self.entity(*entity)?;
                let at = self.touch(entity, row.clone())?;
                Some(at.ok_or_else(|| internal_mistake("a row of a list has no key"))?)
            }
            _ => None,
        };
        Ok((value, row))
    }

    /// Takes a step once.
    pub async fn turn(&mut self, step: &'a Step, plan: &'a StepPlan) -> Result<(), AttemptStop> {
        if let Some(when) = &step.when
            && !self.holds(when, None).await?
        {
            return Ok(());
        }
        // Also for steps that are passed over later: their place in the order of refusals stays theirs.
        self.step += 1;
        if step.or_skip && !matches!(step.kind, StepKind::Group(_) | StepKind::Call { .. }) {
            return Box::pin(self.unless_refused(step, plan)).await;
        }
        self.take(step, plan).await
    }

    /// Takes a step, or passes over it: then nothing of it stays.
    async fn unless_refused(&mut self, step: &'a Step, plan: &'a StepPlan) -> Result<(), AttemptStop> {
        // All that a step may change: what it did is taken back as a whole.
        let (rows, bound, names) = (self.rows.clone(), self.bound.clone(), self.names.clone());
        let first = self.first;
        self.skipping = true;
        let taken = self.take(step, plan).await;
        self.skipping = false;
        let order = self.order();
        let skipped = match taken {
            Ok(()) => {
                // Asked of the store now: whether it can be done decides what the later steps see.
                let failed = self.failing(|known| known == order || known == order - 1).await?;
                self.passed_over
                    .extend(failed.iter().filter_map(|(action, _)| still_failing(action)));
                !failed.is_empty()
            }
            Err(AttemptStop::Skipped) => true,
            Err(stop) => return Err(stop),
        };
        if !skipped {
            let places = self.places_beside_rows(|known| known == order || known == order - 1)?;
            self.not_passed_over.orders.extend([order - 1, order]);
            self.not_passed_over.places.extend(places);
            return Ok(());
        }
        (self.bound, self.names, self.first) = (bound, names, first);
        for at in self.undo(rows) {
            self.bind_names_of(at)?;
        }
        Ok(())
    }

    /// Takes back what was done to rows. What was read of them stays, for it decided that nothing is done: the rows that were not
    /// read before.
    fn undo(&mut self, known: Vec<Touched<'a>>) -> Vec<usize> {
        let mut known = known.into_iter();
        let mut read_meanwhile = Vec::new();
        for (at, touched) in self.rows.iter_mut().enumerate() {
            let unchanged = Touched::new(touched.entity, touched.key.clone(), Arc::clone(&touched.named));
            let read = std::mem::replace(touched, known.next().unwrap_or(unchanged));
            if read.is_read() {
                if !touched.is_read() {
                    read_meanwhile.push(at);
                }
                touched.before = read.before;
                // It decided that the step is passed over, so that all of it must still be so.
                touched.used.whole = true;
            }
        }
        read_meanwhile
    }

    async fn take(&mut self, step: &'a Step, plan: &'a StepPlan) -> Result<(), AttemptStop> {
        match &step.kind {
            StepKind::Group(inner) => self.inner_steps(inner, &plan.inner).await,
            StepKind::Call { step: name, args } => Box::pin(self.call(name, args, plan)).await,
            StepKind::Create(entity) => {
                let entity = self.entity(*entity)?;
                self.create_requirements(step, plan).await?;
                Box::pin(self.create(step, entity, Attributes::new())).await
            }
            StepKind::Update(target) => {
                let Some(at) = self.target(target, plan, step.or_skip).await? else {
                    return Err(self.absence(step).await);
                };
                self.update(step, plan, at).await
            }
            StepKind::Upsert(target) => {
                let at = self.target(target, plan, true).await?;
                Box::pin(self.key_within_limits(step, target, at)).await?;
                let Some(at) = at else {
                    return Err(self.absence(step).await);
                };
                Box::pin(self.upsert(step, plan, at)).await
            }
            StepKind::Delete(target) => {
                let Some(at) = self.target(target, plan, step.or_skip).await? else {
                    return Err(self.absence(step).await);
                };
                Box::pin(self.delete(step, plan, at)).await
            }
            StepKind::Present(target) => Box::pin(self.present(step, target, plan)).await,
            StepKind::Absent(target) => Box::pin(self.must_be_absent(step, target, plan)).await,
        }
    }

    async fn call(&mut self, name: &str, args: &'a [(String, Expr)], plan: &'a StepPlan) -> Result<(), AttemptStop> {
        let named = self.operation.model.steps.iter().find(|named| named.name == name);
        let named = named.ok_or_else(|| internal_mistake("a step is called that is not known"))?;
        let mut given = Attributes::new();
        for param in &named.args {
            let value = match args.iter().find(|(name, _)| *name == param.name) {
                Some((_, expr)) => self.value_as(expr, &param.ty, None).await?,
                None => match &param.default {
                    Some(default) => self.value(default, None).await?,
                    None => None,
                },
            };
            given.extend(value.map(|value| (param.name.clone(), value)));
        }
        // A named step sees its own arguments alone, and the caller's again afterwards.
        let outer = std::mem::replace(&mut self.args, Cow::Owned(given));
        self.calls += 1;
        let done = self.inner_steps(&named.steps, &plan.inner).await;
        self.calls -= 1;
        // Also where it failed: `else: skip` may go on from here.
        self.args = outer;
        done
    }

    /// The row that a step is about; none where its key has no value.
    async fn target(&mut self, target: &'a Expr, plan: &'a StepPlan, read: bool) -> Result<Option<usize>, AttemptStop> {
        let at = match &target.kind {
            ExprKind::Bound(name) => match (self.names.get(name), self.bound.get(name), &target.ty) {
                (Some(at), _, _) => Some(*at),
                // A row that a bulk operation knows from its beginning.
                (None, Some(Value::M(row)), Type::Row(entity)) => {
                    let (entity, row) = (self.entity(*entity)?, row.clone());
                    self.touch(entity, row)?
                }
                _ => None,
            },
            ExprKind::Entity { entity, key } => {
                let entity = self.entity(*entity)?;
                let known = self.key_values(entity, key).await?;
                self.touch(entity, known)?
            }
            _ => return Err(internal_mistake("a step is about what is no row")),
        };
        let Some(at) = at else { return Ok(None) };
        self.note_planned(at, &plan.own.used)?;
        // The plan says whether what the row was is needed; versions, and what an earlier attempt asked for, are read in any
        // case.
        if read || plan.own.is_read() || self.must_read(at)? {
            Box::pin(self.read(at)).await?;
        }
        Ok(Some(at))
    }

    /// The key of a row that an upsert would make is within its limits, as a create's is; else the refusal.
    async fn key_within_limits(
        &mut self,
        step: &'a Step,
        target: &'a Expr,
        at: Option<usize>,
    ) -> Result<(), AttemptStop> {
        let known = match at {
            Some(at) if self.touched(at)?.row().is_some() => return Ok(()),
            Some(at) if self.touched(at)?.change != TouchedChange::Nothing => return Ok(()),
            Some(at) => Arc::clone(&self.touched(at)?.named),
            None => Arc::new(self.named_key(target).await?),
        };
        let entity = step.entity().ok_or_else(|| internal_mistake("a step has no entity"))?;
        let entity = self.entity(entity)?;
        for (name, value) in known.iter() {
            if let Some(attribute) = entity.attribute(name) {
                self.within_limits(step, entity, attribute, value.clone(), None).await?;
            }
        }
        Ok(())
    }

    /// The values of the key by which a step, or the `let` that it is about, names its row.
    async fn named_key(&mut self, target: &'a Expr) -> Result<Attributes, AttemptStop> {
        let named = match &target.kind {
            ExprKind::Bound(name) => {
                let bound = self.operation.write.lets.iter().find(|bound| bound.name == *name);
                bound.and_then(|bound| match &bound.value {
                    LetValue::Value(expr) => Some(expr),
                    LetValue::Read(_) => None,
                })
            }
            _ => Some(target),
        };
        match named.map(|named| &named.kind) {
            Some(ExprKind::Entity { entity, key }) => {
                let entity = self.entity(*entity)?;
                self.key_values(entity, key).await
            }
            _ => Ok(Attributes::new()),
        }
    }

    /// What is said of a row that is not there.
    async fn absence(&mut self, step: &'a Step) -> AttemptStop {
        let entity = step.entity().ok_or_else(|| internal_mistake("a step has no entity"));
        let entity = match entity.and_then(|entity| self.entity(entity)) {
            Ok(entity) => entity,
            Err(stop) => return stop,
        };
        let rule = RefusalRule::of(
            entity,
            step_refusal(step, &DefaultRefusal::Absent),
            DefaultRefusal::Absent,
        );
        let order = self.order_missing();
        self.denied_at(order, rule, None).await
    }

    /// A refusal of the step that is being taken.
    pub async fn denied(&mut self, rule: RefusalRule<'a>, own: Option<&Attributes>) -> AttemptStop {
        let order = self.order();
        self.denied_at(order, rule, own).await
    }

    async fn denied_at(&mut self, order: u32, rule: RefusalRule<'a>, own: Option<&Attributes>) -> AttemptStop {
        let mut refused = Refused::new(rule.name(), rule.status);
        match refuse::shown_refusal(self.operation, rule.shown, &self.bound, own) {
            Ok(shown) => refused.shown = shown,
            Err(stop) => return stop,
        }
        self.refused(order, refused).await
    }

    /// Two steps that do not fit together on one row: what was said before speaks first, and `else: skip` does not mean this.
    pub async fn same_item(&mut self) -> AttemptStop {
        let order = self.order();
        // It is a mistake of the model and not a refusal to pass over.
        self.skipping = false;
        self.refused(order, Refused::new("same_item", 409)).await
    }

    pub fn order(&self) -> u32 {
        // Two places for each step: that its row is missing, and all the rest.
        ORDER_STEP + 2 * self.step + 1
    }

    /// That the row is not there is said before everything else of a step.
    fn order_missing(&self) -> u32 {
        self.order() - 1
    }

    /// A check of the step that is being taken.
    pub(crate) fn add_step_check(
        &mut self,
        step: &'a Step,
        at: usize,
        why: DefaultRefusal,
        condition: Condition,
    ) -> Result<(), AttemptStop> {
        let order = match why {
            DefaultRefusal::Absent => self.order_missing(),
            _ => self.order(),
        };
        let mut rule = RefusalRule::of(self.touched(at)?.entity, step_refusal(step, &why), why);
        if !rule.shown.is_empty() {
            rule.bound = self.bound.clone();
        }
        self.touched_mut(at)?.checks.push(RowCheck {
            order,
            condition,
            denial: Denial::Rule(Box::new(rule)),
        });
        Ok(())
    }

    /// The row of a step must be there: the refusal where it was read and is not, else a condition of it.
    pub(crate) async fn must_be_present(&mut self, step: &'a Step, at: usize) -> Result<(), AttemptStop> {
        let touched = self.touched(at)?;
        match (touched.is_read(), touched.row()) {
            (true, None) => Err(self.absence(step).await),
            (true, Some(_)) => Ok(()),
            (false, _) => {
                let condition = present_now(self.operation.model, touched.entity, self.operation.request.now);
                self.add_step_check(step, at, DefaultRefusal::Absent, condition)
            }
        }
    }

    /// The requirements of a step, on its row.
    pub async fn step_requirements(
        &mut self,
        step: &'a Step,
        plan: &'a StepPlan,
        at: usize,
    ) -> Result<(), AttemptStop> {
        for (requirement, clauses) in step.requirements.iter().zip(&plan.requirements) {
            let status = requirement_status(requirement);
            for clause in clauses {
                let mut rule = RefusalRule::required(&requirement.refusal, status);
                rule.entity = Some(self.touched(at)?.entity);
                match clause.place {
                    Place::Pushed(_) => {
                        let order = self.order();
                        if !rule.shown.is_empty() {
                            rule.bound = self.bound.clone();
                        }
                        Box::pin(self.push_at(at, &clause.expr, order, rule)).await?;
                    }
                    Place::Request | Place::Pinned => {
                        // Of a row that an upsert does not find only what its key says is there.
                        let own = self.touched(at)?.row_or_named();
                        if !self.holds(&clause.expr, Some(&own)).await? {
                            return Err(self.denied(rule, Some(&own)).await);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The requirements of a create: there is no row before it.
    async fn create_requirements(&mut self, step: &'a Step, plan: &'a StepPlan) -> Result<(), AttemptStop> {
        for (requirement, clauses) in step.requirements.iter().zip(&plan.requirements) {
            for clause in clauses {
                if !self.holds(&clause.expr, None).await? {
                    let rule = RefusalRule::required(&requirement.refusal, requirement_status(requirement));
                    return Err(self.denied(rule, None).await);
                }
            }
        }
        Ok(())
    }

    async fn present(&mut self, step: &'a Step, target: &'a Expr, plan: &'a StepPlan) -> Result<(), AttemptStop> {
        let Some(at) = self.target(target, plan, step.or_skip).await? else {
            return Err(self.absence(step).await);
        };
        self.must_be_present(step, at).await?;
        self.step_requirements(step, plan, at).await
    }

    async fn must_be_absent(
        &mut self,
        step: &'a Step,
        target: &'a Expr,
        plan: &'a StepPlan,
    ) -> Result<(), AttemptStop> {
        let Some(at) = self.target(target, plan, step.or_skip).await? else {
            // What no key can hold is not there.
            return Ok(());
        };
        let touched = self.touched(at)?;
        let entity = touched.entity;
        if !touched.is_read() {
            let expires = entity.expires.is_some();
            let condition = absent_now(self.operation.model, expires, self.operation.request.now);
            return self.add_step_check(step, at, DefaultRefusal::Exists, condition);
        }
        match touched.row().map(Arc::clone) {
            Some(row) => {
                let rule = RefusalRule::of(
                    entity,
                    step_refusal(step, &DefaultRefusal::Exists),
                    DefaultRefusal::Exists,
                );
                Err(self.denied(rule, Some(&row)).await)
            }
            None => Ok(()),
        }
    }
}

/// Checks that what the store would have refused it would refuse still.
fn still_failing<'a>(action: &WriteAction<'a>) -> Option<WriteAction<'a>> {
    let conditions = action.checks.iter().map(|check| check.condition.clone());
    let all = conditions.reduce(Condition::and)?;
    Some(WriteAction {
        key: action.key.clone(),
        doing: Doing::Check,
        checks: vec![RowCheck::pin(all.negate())],
    })
}
