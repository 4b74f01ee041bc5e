//! New rows: what is given, what is made up, what follows; and the rows that come with them.

use singlet_item::{Number, Value};
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Attribute, Entity, Step};
use singlet_model::types::{EntityId, Type};
use singlet_plan::write::{Default as Why, StepPlan, step_refusal};
use singlet_store::Condition;

use super::attempt::Attempt;
use super::guards::Guards;
use super::refuse::{Denial, Rule};
use super::touched::{Action, Change, Check, Doing, absent_now};
use super::{Refused, Stop};
use crate::error::RuntimeError;
use crate::scope::Attributes;
use crate::{row, values};

impl<'a> Attempt<'a> {
    /// A new row, of what the step gives and what is known of it already.
    pub async fn create(
        &mut self,
        step: &'a Step,
        plan: &'a StepPlan,
        entity: &'a Entity,
        known: Attributes,
    ) -> Result<(), Stop> {
        let row = self.new_row(step, entity, known).await?;
        if entity.history.is_some() {
            return self.create_version(step, entity, row).await;
        }
        for (requirement, clauses) in step.requirements.iter().zip(&plan.requirements) {
            for clause in clauses {
                if !self.holds(&clause.expr, Some(&row))? {
                    let status = singlet_plan::write::requirement_status(requirement);
                    return Err(self
                        .denied(Rule::required(&requirement.refusal, status), Some(&row))
                        .await);
                }
            }
        }
        let Some(at) = self.touch(entity, row.clone())? else {
            return Err(Stop::Failed(RuntimeError::no_key(entity)));
        };
        if step.or_skip || self.must_read(at) {
            self.read(at).await?;
        }
        let Some(touched) = self.rows.get_mut(at) else {
            return Ok(());
        };
        if touched.change != Change::Nothing {
            return Err(Stop::Refused(Refused::new("same_item", 409)));
        }
        if touched.is_read() {
            if touched.row().is_some() {
                return match step.or_skip {
                    true => Ok(()),
                    false => {
                        let rule = Rule::of(entity, step_refusal(step, &Why::Exists), &Why::Exists);
                        Err(self.denied(rule, None).await)
                    }
                };
            }
        } else {
            let condition = absent_now(
                self.operation.model,
                entity.expires.is_some(),
                self.operation.request.now,
            );
            let check = self.step_check(step, at, &Why::Exists, condition);
            self.add_check(at, check);
        }
        self.excluded(step, entity, &row).await?;
        let others = self.beside(step, entity, &row)?;
        self.became(step, at, &row, true);
        if let Some(touched) = self.rows.get_mut(at) {
            touched.change = Change::Create;
            touched.after = Some(row);
            touched.others.extend(others);
        }
        Ok(())
    }

    /// Remembers what a step made of a row: under its name, and as what is answered.
    pub fn became(&mut self, step: &Step, at: usize, row: &Attributes, created: bool) {
        if let Some(name) = &step.named {
            self.bound.insert(name.clone(), row::as_value(row));
            self.names.insert(name.clone(), at);
        }
        if self.first.is_none() {
            self.first = Some((at, created));
        }
    }

    /// Every attribute of a new row.
    pub async fn new_row(&mut self, step: &'a Step, entity: &'a Entity, known: Attributes) -> Result<Attributes, Stop> {
        let mut row = known;
        self.given(step, entity, &mut row).await?;
        if let Some(states) = &entity.states {
            row.insert(states.of.clone(), Value::S(states.start.clone()));
        }
        for attribute in &entity.attributes {
            if row.contains_key(&attribute.name) || attribute.is.is_some() || attribute.copy.is_some() {
                continue;
            }
            let made = match (&attribute.always, &attribute.default) {
                (Some(expr), _) | (None, Some(expr)) => self.value_as(expr, &attribute.ty, Some(&row))?,
                (None, None) if attribute.ty == Type::Version => Some(Value::N(Number::from(1))),
                (None, None) => None,
            };
            row.extend(made.map(|value| (attribute.name.clone(), value)));
        }
        if let Some(states) = &entity.states {
            for (during, held) in &states.holding {
                if !during.contains(&states.start) {
                    continue;
                }
                for (name, expr) in held {
                    if let (Some(attribute), false) = (entity.attribute(name), row.contains_key(name)) {
                        let value = self.value_as(expr, &attribute.ty, Some(&row))?;
                        row.extend(value.map(|value| (name.clone(), value)));
                    }
                }
            }
        }
        self.added(step, entity, &mut row).await?;
        self.copied(step, entity, &mut row).await?;
        Ok(row::completed(entity, row, self.scope(None))?)
    }

    /// What a step sets and takes.
    async fn given(&mut self, step: &'a Step, entity: &'a Entity, row: &mut Attributes) -> Result<(), Stop> {
        let from = match &step.from {
            Some(from) => self.value(from, None)?,
            None => None,
        };
        for taken in step.take.iter().chain(&step.patch) {
            let value = match (&step.from, &from) {
                (Some(_), Some(Value::M(fields))) => fields.get(&taken.attribute).cloned(),
                (Some(_), _) => None,
                (None, _) => self.args.get(&taken.attribute).cloned(),
            };
            let value = value.filter(|value| !value.is_null());
            row.extend(value.map(|value| (taken.attribute.clone(), value)));
        }
        for assignment in &step.set {
            let Some(attribute) = entity.attribute(&assignment.attribute) else {
                continue;
            };
            if let Some(value) = self.value_as(&assignment.value, &attribute.ty, None)? {
                let value = self.within_limits(step, entity, attribute, value, None).await?;
                row.insert(attribute.name.clone(), value);
            }
        }
        Ok(())
    }

    /// What an upsert adds counts from what a new row starts with.
    async fn added(&mut self, step: &'a Step, entity: &'a Entity, row: &mut Attributes) -> Result<(), Stop> {
        if step.add.is_empty() && step.append.is_empty() {
            return Ok(());
        }
        let mut edits = self.edits(step, entity, Some(row)).await?;
        edits.set.clear();
        edits.add.retain(|name, _| {
            entity
                .attribute(name)
                .is_some_and(|attribute| attribute.ty != Type::Version)
        });
        let names: Vec<String> = edits.touched().map(str::to_owned).collect();
        if edits.apply(row).is_none() {
            return Err(Stop::Failed(RuntimeError::Request(
                "a number leaves its range".to_owned(),
            )));
        }
        for name in names {
            if let (Some(attribute), Some(value)) = (entity.attribute(&name), row.get(&name).cloned()) {
                let value = self.within_limits(step, entity, attribute, value, None).await?;
                row.insert(name, value);
            }
        }
        Ok(())
    }

    /// A value within the limits of its attribute, or the refusal.
    pub async fn within_limits(
        &mut self,
        step: &'a Step,
        entity: &'a Entity,
        attribute: &Attribute,
        value: Value,
        own: Option<&Attributes>,
    ) -> Result<Value, Stop> {
        match values::checked(&value, &attribute.ty) {
            Ok(value) => Ok(value),
            Err(_) => {
                let why = Why::Limit(attribute.name.clone());
                let rule = Rule::of(entity, step_refusal(step, &why), &why);
                Err(self.denied(rule, own).await)
            }
        }
    }

    /// Copies of what other rows say, as they become.
    async fn copied(&mut self, step: &'a Step, entity: &'a Entity, row: &mut Attributes) -> Result<(), Stop> {
        for attribute in &entity.attributes {
            let Some(copy) = &attribute.copy else { continue };
            let ExprKind::Entity { entity: source, key } = &copy.source.kind else {
                continue;
            };
            let source = self.entity(*source)?;
            let mut known = Attributes::new();
            for (name, expr) in key {
                known.extend(self.value(expr, Some(row))?.map(|value| (name.clone(), value)));
            }
            let Some(at) = self.touch(source, known)? else { continue };
            if self
                .rows
                .get(at)
                .is_some_and(|touched| touched.change != Change::Create)
            {
                self.read(at).await?;
            }
            let touched = self.rows.get_mut(at);
            let found = touched.and_then(|touched| {
                touched.used.attributes.insert(copy.attribute.clone());
                touched.after.as_ref().or(touched.row()).cloned()
            });
            match found {
                Some(found) => row.extend(
                    found
                        .get(&copy.attribute)
                        .map(|value| (attribute.name.clone(), value.clone())),
                ),
                None => {
                    let rule = match step_refusal(step, &Why::Source) {
                        Some(refusal) => Rule::of(source, Some(refusal), &Why::Source),
                        None => Rule::of(source, None, &Why::Absent),
                    };
                    return Err(self.denied(rule, None).await);
                }
            }
        }
        Ok(())
    }

    /// Rows that must not exist beside a new one.
    pub async fn excluded(&mut self, step: &'a Step, entity: &'a Entity, row: &Attributes) -> Result<(), Stop> {
        let Some(excludes) = &entity.excludes else {
            return Ok(());
        };
        let why = Why::Excludes;
        for (id, key) in self.named_rows(excludes, row)? {
            let other = self.entity(id)?;
            let Some(at) = self.touch(other, key)? else { continue };
            let Some(touched) = self.rows.get(at) else { continue };
            let there = match touched.change {
                Change::Delete => continue,
                Change::Create | Change::Update => true,
                Change::Nothing => touched.is_read() && touched.row().is_some(),
            };
            let mut rule = Rule::of(entity, step_refusal(step, &why), &why);
            if there {
                return Err(self.denied(rule, None).await);
            }
            if !touched.is_read() {
                rule.bound = self.bound.clone();
                rule.entity = Some(other);
                let condition = absent_now(
                    self.operation.model,
                    other.expires.is_some(),
                    self.operation.request.now,
                );
                let check = Check {
                    order: self.order(),
                    condition,
                    denial: Denial::Rule(Box::new(rule)),
                };
                self.add_check(at, Some(check));
            }
        }
        Ok(())
    }

    /// The rows that an expression names: lists and choices of `Entity(…)`.
    fn named_rows(&self, expr: &Expr, row: &Attributes) -> Result<Vec<(EntityId, Attributes)>, Stop> {
        Ok(match &expr.kind {
            ExprKind::Entity { entity, key } => {
                let mut known = Attributes::new();
                for (name, part) in key {
                    known.extend(self.value(part, Some(row))?.map(|value| (name.clone(), value)));
                }
                vec![(*entity, known)]
            }
            ExprKind::List(parts) => {
                let mut all = Vec::new();
                for part in parts {
                    all.extend(self.named_rows(part, row)?);
                }
                all
            }
            ExprKind::Conditional(test, then, otherwise) => match self.holds(test, Some(row))? {
                true => self.named_rows(then, row)?,
                false => self.named_rows(otherwise, row)?,
            },
            _ => Vec::new(),
        })
    }

    /// The mirrors and guards of a new row.
    pub fn beside(&self, step: &'a Step, entity: &'a Entity, row: &Attributes) -> Result<Vec<Action<'a>>, Stop> {
        let model = self.operation.model;
        let now = self.operation.request.now;
        let expires = entity.expires.is_some();
        let mut actions = Vec::new();
        for (id, item) in row::encode_mirrors(model, entity, row, self.scope(None))? {
            let mirror = self.entity(id)?;
            let why = Why::Mirror(mirror.name.clone());
            let check = self.rule_check((step, self.order()), entity, &why, absent_now(model, expires, now));
            actions.push(Action {
                key: key_in(model, &item),
                doing: Doing::Put(item),
                checks: vec![check],
            });
        }
        let guards = Guards::of(model, entity, row, self.scope(None))?;
        for (name, key) in &guards.by_name {
            let why = Why::Taken(name.clone());
            let check = self.rule_check((step, self.order()), entity, &why, absent_now(model, expires, now));
            actions.push(guards.claim(model, key, expires, now, check));
        }
        Ok(actions)
    }

    /// A check of a step on another item than its row's.
    pub fn rule_check(
        &self,
        (step, order): (&'a Step, u32),
        entity: &'a Entity,
        why: &Why,
        condition: Condition,
    ) -> Check<'a> {
        let mut rule = Rule::of(entity, step_refusal(step, why), why);
        if !rule.shown.is_empty() {
            rule.bound = self.bound.clone();
        }
        rule.entity = None;
        Check {
            order,
            condition,
            denial: Denial::Rule(Box::new(rule)),
        }
    }
}

/// The primary key of an item.
pub(crate) fn key_in(model: &singlet_model::Model, item: &singlet_item::Item) -> singlet_item::Item {
    let names = model.table.key.iter().map(|key| &key.name);
    names
        .filter_map(|name| Some((name.clone(), item.get(name)?.clone())))
        .collect()
}
