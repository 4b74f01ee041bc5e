//! New rows: what is given, what is made up, what follows; and the rows that come with them.

use std::borrow::Cow;
use std::sync::Arc;

use singlet_item::{Number, Value};
use singlet_model::evaluate::holds_condition;
use singlet_model::expression::{Expr, ExprKind, Literal};
use singlet_model::model::{Attribute, Entity, Step};
use singlet_model::types::{EntityId, Type};
use singlet_plan::write::{DefaultRefusal, only_counts, step_refusal};
use singlet_store::Condition;

use super::attempt::{AnsweredRow, Attempt};
use super::generate::Generating;
use super::guards::Guards;
use super::refuse::{Denial, RefusalRule};
use super::touched::{Doing, RowCheck, TouchedChange, WriteAction, absent_now};
use super::{AttemptStop, internal_mistake};
use crate::error::RuntimeError;
use crate::scope::Attributes;
use crate::{row, values};

impl<'a> Attempt<'a> {
    /// A new row, of what the step gives and what is known of it already.
    pub async fn create(&mut self, step: &'a Step, entity: &'a Entity, known: Attributes) -> Result<(), AttemptStop> {
        let row = self.new_row(step, entity, known).await?;
        if entity.history.is_some() {
            return Box::pin(self.create_version(step, entity, row)).await;
        }
        let row = Arc::new(row);
        let Some(at) = self.touch(entity, Arc::clone(&row))? else {
            return Err(AttemptStop::Failed(RuntimeError::no_key(entity)));
        };
        if step.or_skip || self.must_read(at)? {
            Box::pin(self.read(at)).await?;
        }
        let touched = self.touched(at)?;
        // A second step on the same row cannot make it anew.
        if touched.change != TouchedChange::Nothing {
            return Err(self.same_item().await);
        }
        if !touched.is_read() {
            let now = self.operation.request.now;
            let condition = absent_now(self.operation.model, entity.expires.is_some(), now);
            // The store looks, in the condition of the put: a read before it would prove nothing.
            self.add_step_check(step, at, DefaultRefusal::Exists, condition)?;
        } else if touched.row().is_some() {
            let rule = RefusalRule::of(
                entity,
                step_refusal(step, &DefaultRefusal::Exists),
                DefaultRefusal::Exists,
            );
            return Err(self.denied(rule, None).await);
        }
        // Before the row counts as made: what it excludes is said first.
        self.excluded(step, entity, &row).await?;
        let others = self.beside(step, entity, &row)?;
        self.became(step, at, &row, true);
        let touched = self.touched_mut(at)?;
        touched.change = TouchedChange::Create;
        touched.after = Some(row);
        touched.others.extend(others);
        Ok(())
    }

    /// Remembers what a step made of a row: under its name, and as what is answered.
    pub fn became(&mut self, step: &Step, at: usize, row: &Attributes, created: bool) {
        if let Some(name) = &step.named {
            self.bound.insert(name.clone(), row::as_value(row));
            self.names.insert(name.clone(), at);
        }
        self.answer_with(step, at, created);
    }

    /// What is answered unless the write says: the row that its own steps first make or change. A counter that is only added to
    /// is not what was asked for, unless there is nothing else.
    pub(crate) fn answer_with(&mut self, step: &Step, at: usize, created: bool) {
        let counted = only_counts(step);
        let better = self.first.is_none_or(|known| known.counted && !counted);
        if self.calls == 0 && better {
            self.first = Some(AnsweredRow { at, created, counted });
        }
    }

    /// Every attribute of a new row.
    pub async fn new_row(
        &mut self,
        step: &'a Step,
        entity: &'a Entity,
        known: Attributes,
    ) -> Result<Attributes, AttemptStop> {
        let before = known;
        let mut row = before.clone();
        self.given(step, entity, &before, &mut row).await?;
        if let Some(states) = &entity.states {
            // Whatever was given: a row begins where its states begin.
            row.insert(states.of.clone(), Value::S(states.start.clone()));
        }
        for attribute in &entity.attributes {
            // What was given wins over a default, and a copy is made from its source alone.
            if row.contains_key(&attribute.name) || attribute.is.is_some() || attribute.copy.is_some() {
                continue;
            }
            let made = match (&attribute.always, &attribute.default) {
                (Some(expr), _) | (None, Some(expr)) => self.computed_as(expr, &attribute.ty, &row)?,
                (None, None) if attribute.ty == Type::Version => Some(Value::N(Number::from(1))),
                (None, None) => None,
            };
            row.extend(made.map(|value| (attribute.name.clone(), value)));
        }
        // After the defaults, from which they may be computed.
        if let Some(states) = &entity.states {
            for (during, held) in &states.holding {
                if !during.contains(&states.start) {
                    continue;
                }
                for (name, expr) in held {
                    if let (Some(attribute), false) = (entity.attribute(name), row.contains_key(name)) {
                        let value = self.computed_as(expr, &attribute.ty, &row)?;
                        row.extend(value.map(|value| (name.clone(), value)));
                    }
                }
            }
        }
        self.added(step, entity, &before, &mut row).await?;
        // After all that its source is named by.
        self.copied(step, entity, &mut row).await?;
        Ok(row::complete_row(entity, row, self.scope(None))?)
    }

    /// What a step sets and takes. Before it there is no row: of one that is upserted only the key is known.
    async fn given(
        &mut self,
        step: &'a Step,
        entity: &'a Entity,
        before: &Attributes,
        row: &mut Attributes,
    ) -> Result<(), AttemptStop> {
        let from = match &step.from {
            Some(from) => self.value(from, Some(before)).await?,
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
        for assignment in step.set.iter().filter(|assignment| assignment.entry.is_none()) {
            let attribute = entity.attribute(&assignment.attribute);
            let attribute = attribute.ok_or_else(|| internal_mistake("a step sets what its entity does not have"))?;
            if let Some(value) = self.value_as(&assignment.value, &attribute.ty, Some(before)).await? {
                let value = self.within_limits(step, entity, attribute, value, Some(before)).await?;
                row.insert(attribute.name.clone(), value);
            }
        }
        Ok(())
    }

    /// What is added, and entries of maps, count from what a new row starts with.
    async fn added(
        &mut self,
        step: &'a Step,
        entity: &'a Entity,
        before: &Attributes,
        row: &mut Attributes,
    ) -> Result<(), AttemptStop> {
        let entries = step.set.iter().any(|assignment| assignment.entry.is_some());
        if step.add.is_empty() && step.append.is_empty() && !entries {
            return Ok(());
        }
        let mut edits = Box::pin(self.edits(step, entity, Some(before))).await?;
        edits.set.clear();
        edits.add.retain(|name, _| {
            entity
                .attribute(name)
                .is_some_and(|attribute| attribute.ty != Type::Version)
        });
        let names: Vec<&str> = edits.touched().collect();
        if edits.apply(row).is_none() {
            return Err(AttemptStop::Failed(RuntimeError::Request(
                "a number leaves its range".to_owned(),
            )));
        }
        for name in names {
            if let (Some(attribute), Some(value)) = (entity.attribute(name), row.get(name).cloned()) {
                let value = self.within_limits(step, entity, attribute, value, Some(before)).await?;
                row.insert(name.to_owned(), value);
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
    ) -> Result<Value, AttemptStop> {
        let spelled = match values::as_stored(&value, &attribute.ty) {
            Ok(Cow::Borrowed(_)) => None,
            Ok(Cow::Owned(spelled)) => Some(spelled),
            Err(_) => {
                let why = DefaultRefusal::Limit(attribute.name.clone());
                let rule = RefusalRule::of(entity, step_refusal(step, &why), why);
                return Err(self.denied(rule, own).await);
            }
        };
        Ok(spelled.unwrap_or(value))
    }

    /// Copies of what other rows say, as they become.
    async fn copied(&mut self, step: &'a Step, entity: &'a Entity, row: &mut Attributes) -> Result<(), AttemptStop> {
        for attribute in &entity.attributes {
            let Some(copy) = &attribute.copy else { continue };
            let ExprKind::Entity { entity: source, key } = &copy.source.kind else {
                return Err(internal_mistake("a copy is of no row"));
            };
            let source = self.entity(*source)?;
            let known = self.row_key(source, key, row)?;
            // Where the reference is absent there is nothing to repeat.
            let Some(at) = self.touch(source, known)? else { continue };
            // One that this write makes itself is not in the table yet.
            if self.touched(at)?.change != TouchedChange::Create {
                Box::pin(self.read(at)).await?;
            }
            let touched = self.touched_mut(at)?;
            // Pinned: a copy of a value that changes meanwhile would be wrong from the beginning.
            touched.used.attributes.insert(copy.attribute.clone());
            let found = touched.row_after().map(Arc::clone);
            match found {
                Some(found) => row.extend(
                    found
                        .get(&copy.attribute)
                        .map(|value| (attribute.name.clone(), value.clone())),
                ),
                None => {
                    let rule = match step_refusal(step, &DefaultRefusal::Source) {
                        Some(refusal) => RefusalRule::of(source, Some(refusal), DefaultRefusal::Source),
                        None => RefusalRule::of(source, None, DefaultRefusal::Absent),
                    };
                    return Err(self.denied(rule, None).await);
                }
            }
        }
        Ok(())
    }

    /// Rows that must not exist beside a new one.
    pub async fn excluded(&mut self, step: &'a Step, entity: &'a Entity, row: &Attributes) -> Result<(), AttemptStop> {
        let Some(excludes) = &entity.excludes else {
            return Ok(());
        };
        let why = DefaultRefusal::Excludes;
        for (id, key) in self.named_rows(excludes, row)? {
            let other = self.entity(id)?;
            // What no key can hold is not there.
            let Some(at) = self.touch(other, key)? else { continue };
            let touched = self.touched(at)?;
            let there = match touched.change {
                // It is gone when the new row is there, for both happen at once.
                TouchedChange::Delete => continue,
                TouchedChange::Create | TouchedChange::Update => true,
                TouchedChange::Nothing => touched.is_read() && touched.row().is_some(),
            };
            let mut rule = RefusalRule::of(entity, step_refusal(step, &why), why.clone());
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
                let order = self.order();
                self.touched_mut(at)?.checks.push(RowCheck {
                    order,
                    condition,
                    denial: Denial::Rule(Box::new(rule)),
                });
            }
        }
        Ok(())
    }

    /// The rows that an expression names: lists and choices of `Entity(…)`.
    fn named_rows(&self, expr: &Expr, row: &Attributes) -> Result<Vec<(EntityId, Attributes)>, AttemptStop> {
        Ok(match &expr.kind {
            ExprKind::Entity { entity, key } => vec![(*entity, self.row_key(self.entity(*entity)?, key, row)?)],
            ExprKind::List(parts) => {
                let mut all = Vec::new();
                for part in parts {
                    all.extend(self.named_rows(part, row)?);
                }
                all
            }
            ExprKind::Conditional(test, then, otherwise) => {
                match holds_condition(test, &Generating(self.scope(Some(row))))? {
                    true => self.named_rows(then, row)?,
                    false => self.named_rows(otherwise, row)?,
                }
            }
            // `absent` in one branch excludes nothing.
            ExprKind::Literal(Literal::Absent) => Vec::new(),
            _ => return Err(internal_mistake("what is excluded is no row")),
        })
    }

    /// The key variables of a row that another row names.
    fn row_key(&self, entity: &Entity, key: &[(String, Expr)], row: &Attributes) -> Result<Attributes, AttemptStop> {
        let mut known = Attributes::new();
        for (name, part) in key {
            let attribute = entity.attribute(name);
            let attribute = attribute.ok_or_else(|| internal_mistake("a key has a part that is no attribute"))?;
            let value = self.computed_as(part, &attribute.ty, row)?;
            known.extend(value.map(|value| (name.clone(), value)));
        }
        Ok(known)
    }

    /// The mirrors and guards of a new row.
    pub fn beside(
        &self,
        step: &'a Step,
        entity: &'a Entity,
        row: &Attributes,
    ) -> Result<Vec<WriteAction<'a>>, AttemptStop> {
        let model = self.operation.model;
        let now = self.operation.request.now;
        let expires = entity.expires.is_some();
        let mut actions = Vec::new();
        for (id, item) in row::encode_mirrors(model, entity, row, self.scope(None))? {
            let mirror = self.entity(id)?;
            let why = DefaultRefusal::Mirror(mirror.name.clone());
            let check = self.rule_check((step, self.order()), entity, &why, absent_now(model, expires, now));
            actions.push(WriteAction {
                key: key_in(model, &item),
                doing: Doing::Put(item),
                checks: vec![check],
            });
        }
        let guards = Guards::of(model, entity, row, self.scope(None))?;
        for (name, key) in &guards.by_name {
            let why = DefaultRefusal::Taken(name.clone());
            let check = self.rule_check((step, self.order()), entity, &why, absent_now(model, expires, now));
            actions.push(guards.claim(model, key, expires, now, check));
        }
        Ok(actions)
    }

    /// A check of a step on another item than its row's.
    pub(crate) fn rule_check(
        &self,
        (step, order): (&'a Step, u32),
        entity: &'a Entity,
        why: &DefaultRefusal,
        condition: Condition,
    ) -> RowCheck<'a> {
        let mut rule = RefusalRule::of(entity, step_refusal(step, why), why.clone());
        if !rule.shown.is_empty() {
            rule.bound = self.bound.clone();
        }
        rule.entity = None;
        RowCheck {
            order,
            condition,
            denial: Denial::Rule(Box::new(rule)),
        }
    }
}

/// The primary key of an item.
pub fn key_in(model: &singlet_model::Model, item: &singlet_item::Item) -> singlet_item::Item {
    let names = model.table.key.iter().map(|key| &key.name);
    names
        .filter_map(|name| Some((name.clone(), item.get(name)?.clone())))
        .collect()
}
