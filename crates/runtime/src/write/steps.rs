//! The steps of an operation: which are taken, on which rows, how often.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;

use singlet_item::Value;
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{LetValue, Step, StepKind};
use singlet_plan::write::{Default as Why, Place, StepPlan, requirement_status, step_refusal};

use super::attempt::{Attempt, ORDER_STEP};
use super::refuse::{Denial, Rule};
use super::touched::{Action, Check, Doing, Touched, absent_now, present_now};
use super::{Refused, Stop, refuse};
use crate::row;
use crate::scope::Attributes;

/// An element of a loop: its value, and the row that it is.
pub(super) type Element = (Value, Option<usize>);

impl<'a> Attempt<'a> {
    /// Takes some steps, in order.
    pub async fn steps(&mut self, steps: &'a [Step], plans: &'a [StepPlan]) -> Result<(), Stop> {
        for (step, plan) in steps.iter().zip(plans) {
            match &step.repeat {
                None => self.turn(step, plan).await?,
                Some((name, list)) => {
                    for element in self.elements(list, plan).await? {
                        self.bind_element(name, element);
                        self.turn(step, plan).await?;
                    }
                    self.bound.remove(name);
                    self.names.remove(name);
                }
            }
        }
        Ok(())
    }

    /// Takes the steps inside a step. Only these are boxed: most operations have none, and what is boxed is large.
    fn inner_steps<'s>(
        &'s mut self,
        steps: &'a [Step],
        plans: &'a [StepPlan],
    ) -> Pin<Box<dyn Future<Output = Result<(), Stop>> + Send + 's>>
    where
        'a: 's,
    {
        Box::pin(self.steps(steps, plans))
    }

    pub fn bind_element(&mut self, name: &str, (value, row): Element) {
        self.bound.insert(name.to_owned(), value);
        match row {
            Some(at) => self.names.insert(name.to_owned(), at),
            None => self.names.remove(name),
        };
    }

    async fn elements(&mut self, list: &'a LetValue, plan: &'a StepPlan) -> Result<Vec<Element>, Stop> {
        match list {
            LetValue::Value(expr) => Ok(self.listed(expr)?.into_iter().map(|value| (value, None)).collect()),
            LetValue::Read(selection) => {
                let entity = selection.entity().map(|id| self.entity(id)).transpose()?;
                let (Some(entity), Some(found)) = (entity, &plan.rows) else {
                    return Ok(Vec::new());
                };
                let mut elements = Vec::new();
                for found in self.found_rows(selection, found).await? {
                    if let Some(at) = self.found_row(entity, found, selection).await? {
                        let value = self.rows.get(at).and_then(|touched| touched.row()).map(row::as_value);
                        elements.extend(value.map(|value| (value, Some(at))));
                    }
                }
                Ok(elements)
            }
        }
    }

    /// The elements of a list or set.
    pub fn listed(&self, expr: &Expr) -> Result<Vec<Value>, Stop> {
        Ok(match self.value(expr, None)? {
            Some(Value::L(elements)) => elements,
            Some(Value::Ss(words)) => words.into_iter().map(Value::S).collect(),
            Some(Value::Ns(numbers)) => numbers.into_iter().map(Value::N).collect(),
            Some(Value::Bs(all)) => all.into_iter().map(Value::B).collect(),
            _ => Vec::new(),
        })
    }

    /// Takes a step once.
    pub async fn turn(&mut self, step: &'a Step, plan: &'a StepPlan) -> Result<(), Stop> {
        if let Some(when) = &step.when
            && !self.holds(when, None)?
        {
            return Ok(());
        }
        self.step += 1;
        if step.or_skip && !matches!(step.kind, StepKind::Group(_) | StepKind::Call { .. }) {
            return self.unless_refused(step, plan).await;
        }
        self.take(step, plan).await
    }

    /// Takes a step, or passes over it: then nothing of it stays.
    async fn unless_refused(&mut self, step: &'a Step, plan: &'a StepPlan) -> Result<(), Stop> {
        let (rows, bound, names) = (self.rows.clone(), self.bound.clone(), self.names.clone());
        let first = self.first;
        self.skipping = true;
        let taken = self.take(step, plan).await;
        self.skipping = false;
        let order = self.order();
        let skipped = match taken {
            Ok(()) => {
                let failed = self.failing(|known| known == order).await?;
                self.passed_over
                    .extend(failed.iter().filter_map(|(action, _)| still_failing(action)));
                !failed.is_empty()
            }
            Err(Stop::Skipped) => true,
            Err(stop) => return Err(stop),
        };
        if skipped {
            (self.bound, self.names, self.first) = (bound, names, first);
            self.undo(rows);
        }
        Ok(())
    }

    /// Takes back what was done to rows. What was read of them stays, for it decided that nothing is done.
    fn undo(&mut self, known: Vec<Touched<'a>>) {
        let mut known = known.into_iter();
        for touched in &mut self.rows {
            let unchanged = Touched::new(touched.entity, touched.key.clone(), touched.known.clone());
            let read = std::mem::replace(touched, known.next().unwrap_or(unchanged));
            if read.is_read() {
                touched.before = read.before;
                touched.used.whole = true;
            }
        }
    }

    async fn take(&mut self, step: &'a Step, plan: &'a StepPlan) -> Result<(), Stop> {
        match &step.kind {
            StepKind::Group(inner) => self.inner_steps(inner, &plan.inner).await,
            StepKind::Call { step: name, args } => self.call(name, args, plan).await,
            StepKind::Create(entity) => {
                let entity = self.entity(*entity)?;
                self.create(step, plan, entity, Attributes::new()).await
            }
            StepKind::Update(target) => {
                let Some(at) = self.target(target, plan, step.or_skip).await? else {
                    return self.absent(step).await;
                };
                self.update(step, plan, at).await
            }
            StepKind::Upsert(target) => {
                let Some(at) = self.target(target, plan, true).await? else {
                    return self.absent(step).await;
                };
                self.upsert(step, plan, at).await
            }
            StepKind::Delete(target) => {
                let Some(at) = self.target(target, plan, step.or_skip).await? else {
                    return self.absent(step).await;
                };
                self.delete(step, plan, at).await
            }
            StepKind::Present(target) => self.present(step, target, plan).await,
            StepKind::Absent(target) => self.must_be_absent(step, target, plan).await,
        }
    }

    async fn call(&mut self, name: &str, args: &'a [(String, Expr)], plan: &'a StepPlan) -> Result<(), Stop> {
        let Some(named) = self.operation.model.steps.iter().find(|named| named.name == name) else {
            return Ok(());
        };
        let mut given = Attributes::new();
        for param in &named.args {
            let value = match args.iter().find(|(name, _)| *name == param.name) {
                Some((_, expr)) => self.value_as(expr, &param.ty, None)?,
                None => param
                    .default
                    .as_ref()
                    .map(|default| self.value(default, None))
                    .transpose()?
                    .flatten(),
            };
            given.extend(value.map(|value| (param.name.clone(), value)));
        }
        let outer = std::mem::replace(&mut self.args, Cow::Owned(given));
        let done = self.inner_steps(&named.steps, &plan.inner).await;
        self.args = outer;
        done
    }

    /// The row that a step is about; none where its key has no value.
    async fn target(&mut self, target: &'a Expr, plan: &'a StepPlan, read: bool) -> Result<Option<usize>, Stop> {
        let at = match &target.kind {
            ExprKind::Bound(name) => self.names.get(name).copied(),
            ExprKind::Entity { entity, key } => {
                let entity = self.entity(*entity)?;
                let known = self.key_values(entity, key)?;
                self.touch(entity, known)?
            }
            _ => None,
        };
        let Some(at) = at else { return Ok(None) };
        self.note(at, &plan.own.used);
        if read || plan.own.is_read() || self.must_read(at) {
            self.read(at).await?;
        }
        Ok(Some(at))
    }

    /// What is said of a row that is not there.
    pub async fn absent(&mut self, step: &'a Step) -> Result<(), Stop> {
        if step.or_skip {
            return Ok(());
        }
        let Some(entity) = step.entity().map(|id| self.entity(id)).transpose()? else {
            return Ok(());
        };
        let rule = Rule::of(entity, step_refusal(step, &Why::Absent), &Why::Absent);
        Err(self.denied(rule, None).await)
    }

    /// A refusal of the step that is being taken.
    pub async fn denied(&mut self, rule: Rule<'a>, own: Option<&Attributes>) -> Stop {
        let mut refused = Refused::new(rule.name(), rule.status);
        match refuse::shown(self.operation, rule.shown, &self.bound, own) {
            Ok(shown) => refused.shown = shown,
            Err(stop) => return stop,
        }
        let order = self.order();
        self.refused(order, refused).await
    }

    pub fn order(&self) -> u32 {
        ORDER_STEP + self.step
    }

    /// A check of the step that is being taken.
    pub fn step_check(
        &self,
        step: &'a Step,
        at: usize,
        why: &Why,
        condition: singlet_store::Condition,
    ) -> Option<Check<'a>> {
        let entity = self.rows.get(at)?.entity;
        let mut rule = Rule::of(entity, step_refusal(step, why), why);
        if !rule.shown.is_empty() {
            rule.bound = self.bound.clone();
        }
        Some(Check {
            order: self.order(),
            condition,
            denial: Denial::Rule(Box::new(rule)),
        })
    }

    pub fn add_check(&mut self, at: usize, check: Option<Check<'a>>) {
        if let Some(touched) = self.rows.get_mut(at) {
            touched.checks.extend(check);
        }
    }

    /// The requirements of a step, on its row.
    pub async fn step_requirements(&mut self, step: &'a Step, plan: &'a StepPlan, at: usize) -> Result<(), Stop> {
        for (requirement, clauses) in step.requirements.iter().zip(&plan.requirements) {
            let status = requirement_status(requirement);
            for clause in clauses {
                let mut rule = Rule::required(&requirement.refusal, status);
                rule.entity = self.rows.get(at).map(|touched| touched.entity);
                match clause.place {
                    Place::Pushed(_) => {
                        let order = self.order();
                        if !rule.shown.is_empty() {
                            rule.bound = self.bound.clone();
                        }
                        self.push_at(at, &clause.expr, order, rule).await?;
                    }
                    Place::Request | Place::Pinned => {
                        let own = self.rows.get(at).and_then(|touched| touched.row()).cloned();
                        if !self.holds(&clause.expr, own.as_ref())? {
                            return Err(self.denied(rule, own.as_ref()).await);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    async fn present(&mut self, step: &'a Step, target: &'a Expr, plan: &'a StepPlan) -> Result<(), Stop> {
        let Some(at) = self.target(target, plan, step.or_skip).await? else {
            return self.absent(step).await;
        };
        let Some(touched) = self.rows.get(at) else {
            return Ok(());
        };
        if touched.is_read() && touched.row().is_none() {
            return self.absent(step).await;
        }
        if !touched.is_read() {
            let condition = present_now(self.operation.model, touched.entity, self.operation.request.now);
            let check = self.step_check(step, at, &Why::Absent, condition);
            self.add_check(at, check);
        }
        self.step_requirements(step, plan, at).await
    }

    async fn must_be_absent(&mut self, step: &'a Step, target: &'a Expr, plan: &'a StepPlan) -> Result<(), Stop> {
        let Some(at) = self.target(target, plan, step.or_skip).await? else {
            return Ok(());
        };
        let Some(touched) = self.rows.get(at) else {
            return Ok(());
        };
        if touched.is_read() {
            return match touched.row().cloned() {
                Some(row) if !step.or_skip => {
                    let entity = touched.entity;
                    let rule = Rule::of(entity, step_refusal(step, &Why::Exists), &Why::Exists);
                    Err(self.denied(rule, Some(&row)).await)
                }
                _ => Ok(()),
            };
        }
        let expires = touched.entity.expires.is_some();
        let condition = absent_now(self.operation.model, expires, self.operation.request.now);
        let check = self.step_check(step, at, &Why::Exists, condition);
        self.add_check(at, check);
        Ok(())
    }
}

/// Checks that what the store would have refused it would refuse still.
fn still_failing<'a>(action: &Action<'a>) -> Option<Action<'a>> {
    let conditions = action.checks.iter().map(|check| check.condition.clone());
    let all = conditions.reduce(singlet_store::Condition::and)?;
    Some(Action {
        key: action.key.clone(),
        doing: Doing::Check,
        checks: vec![Check::pin(all.negate())],
    })
}
