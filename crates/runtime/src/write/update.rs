//! Changes and removals of rows, with or without reading them first.

use std::sync::Arc;

use singlet_item::{Number, Value};
use singlet_model::model::{Entity, Step};
use singlet_model::types::Type;
use singlet_plan::write::{Change as Planned, DefaultRefusal, StepPlan, copy_holders, holder_key, old_values_needed};
use singlet_store::{Comparison, Condition, Operand, Path};

use super::attempt::Attempt;
use super::edits::Edits;
use super::new_values::Moved;
use super::touched::{TouchedChange, stored_name};
use super::{AttemptStop, internal_mistake};
use crate::error::RuntimeError;
use crate::row;
use crate::scope::Attributes;

impl<'a> Attempt<'a> {
    /// Changes a row. Where it turns out on the way that an old value is needed, the row is read then: what was decided of it so far is
    /// decided anew, and nothing else.
    pub async fn update(&mut self, step: &'a Step, plan: &'a StepPlan, at: usize) -> Result<(), AttemptStop> {
        let touched = self.touched(at)?;
        let may_read = !touched.is_read() && touched.change == TouchedChange::Nothing;
        let (checks, version_checked) = (touched.checks.len(), self.version_checked);
        match self.update_as_known(step, plan, at).await {
            Err(AttemptStop::ReadFirst(keys)) if may_read && keys == [self.touched(at)?.key.clone()] => {
                let touched = self.touched_mut(at)?;
                touched.checks.truncate(checks);
                touched.change = TouchedChange::Nothing;
                touched.edits = Edits::default();
                touched.by = None;
                self.version_checked = version_checked;
                Box::pin(self.read(at)).await?;
                Box::pin(self.update_as_known(step, plan, at)).await
            }
            done => done,
        }
    }

    async fn update_as_known(&mut self, step: &'a Step, plan: &'a StepPlan, at: usize) -> Result<(), AttemptStop> {
        let touched = self.touched(at)?;
        let entity = touched.entity;
        if matches!(touched.change, TouchedChange::Create | TouchedChange::Delete) {
            return Err(self.same_item().await);
        }
        self.must_be_present(step, at).await?;
        self.check_version(at).await?;
        let own = self.touched(at)?.row_or_named();
        let mut edits = self.edits(step, entity, Some(&own)).await?;
        let moved = self.moved(step, entity, &own).await?;
        self.step_requirements(step, plan, at).await?;
        if !self.touched(at)?.is_read() {
            return self.update_blind(step, entity, at, edits, moved).await;
        }
        if let Some(moved) = &moved {
            self.move_read(step, entity, moved, &own, &mut edits).await?;
            if let Some(states) = &entity.states {
                self.touched_mut(at)?.used.attributes.insert(states.of.clone());
            }
        }
        self.merge(step, at, entity, edits).await?;
        if entity.history.is_some() {
            return Box::pin(self.update_version(step, entity, at)).await;
        }
        let after = Box::pin(self.after_read(step, entity, at)).await?;
        self.became(step, at, &after, false);
        Ok(())
    }

    /// What two steps make of one row is one change; what both would set is refused.
    pub async fn merge(
        &mut self,
        step: &'a Step,
        at: usize,
        entity: &Entity,
        edits: Edits<'a>,
    ) -> Result<(), AttemptStop> {
        let always = |name: &str| {
            let attribute = entity.attribute(name);
            attribute.is_some_and(|attribute| attribute.always.is_some() || attribute.ty == Type::Version)
        };
        let (order, skipping) = (self.order(), self.skipping);
        let touched = self.touched_mut(at)?;
        // The version rises once, however many steps change the row.
        let mut edits = edits;
        if touched.change == TouchedChange::Update {
            edits.add.retain(|name, _| !always(name));
        }
        // What cannot be merged leaves the row as it was: it is still looked at for what is said first.
        if touched.edits.clashes_with(&edits, &always) {
            return Err(self.same_item().await);
        }
        touched.edits.merge(edits);
        // The first step speaks for the row, unless a later one may be passed over: what is refused while it is tried is its own.
        // One that was not passed over has had its say.
        let unspoken = touched.by.is_none_or(|(known, _)| known.or_skip);
        if skipping || unspoken {
            touched.by = Some((step, order));
        }
        touched.change = TouchedChange::Update;
        Ok(())
    }

    /// What the row becomes, from what it was.
    pub(crate) async fn after_read(
        &mut self,
        step: &'a Step,
        entity: &'a Entity,
        at: usize,
    ) -> Result<Arc<Attributes>, AttemptStop> {
        let touched = self.touched(at)?;
        let before = touched
            .row()
            .ok_or_else(|| internal_mistake("a row is changed that is not there"))?;
        let before = Arc::clone(before);
        let mut after = Attributes::clone(&before);
        if touched.edits.apply(&mut after).is_none() {
            return Err(AttemptStop::Failed(RuntimeError::Request(
                "a number leaves its range".to_owned(),
            )));
        }
        let summed = touched.edits.summed();
        let after = self
            .sums_within_limits(step, entity, summed.clone(), after, &before)
            .await?;
        let after = Arc::new(row::complete_row(entity, after, self.scope(None))?);
        let touched = self.touched_mut(at)?;
        touched.used.attributes.extend(summed.into_iter().map(str::to_owned));
        touched.after = Some(Arc::clone(&after));
        self.copies_follow(step, entity, &before, &after).await?;
        Ok(after)
    }

    /// The row, if what was added to is still within its limits.
    pub(crate) async fn sums_within_limits(
        &mut self,
        step: &'a Step,
        entity: &'a Entity,
        summed: Vec<&'a str>,
        mut after: Attributes,
        before: &Attributes,
    ) -> Result<Attributes, AttemptStop> {
        for name in summed {
            if let (Some(attribute), Some(value)) = (entity.attribute(name), after.get(name).cloned()) {
                let value = self.within_limits(step, entity, attribute, value, Some(before)).await?;
                after.insert(name.to_owned(), value);
            }
        }
        Ok(after)
    }

    /// Rows that repeat what changed, and whose key follows from the row, change with it.
    pub async fn copies_follow(
        &mut self,
        step: &'a Step,
        entity: &'a Entity,
        before: &Attributes,
        after: &Attributes,
    ) -> Result<(), AttemptStop> {
        let model = self.operation.model;
        for (holder, name, copy) in copy_holders(model, entity) {
            // A step before this one may have changed what this one changes back.
            let stays = before.get(&copy.attribute) == after.get(&copy.attribute);
            if stays && !self.follows_already(holder, name) {
                continue;
            }
            let Some(key) = holder_key(model, holder, copy) else {
                continue;
            };
            let known: Attributes = key
                .into_iter()
                .filter_map(|(own, source)| Some((own.to_owned(), after.get(source)?.clone())))
                .collect();
            // Where a part of its key is absent nobody holds one.
            let Some(at) = self.touch(holder, known)? else { continue };
            self.read(at).await?;
            let touched = self.touched(at)?;
            if touched.change == TouchedChange::Delete || touched.row().is_none() {
                // Nobody holds a copy; that nobody does by now is pinned.
                continue;
            }
            // No step writes a copy, so that one that is set already is from an earlier step on the source: the last counts.
            let known = self.touched_mut(at)?.edits.set.remove(name);
            if stays && known.is_none() {
                continue;
            }
            let mut edits = Edits::default();
            edits.set.insert(name, after.get(&copy.attribute).cloned());
            self.merge(step, at, holder, edits).await?;
            Box::pin(self.after_read(step, holder, at)).await?;
        }
        Ok(())
    }

    /// Whether a row of an entity was made to follow its source in an attribute.
    fn follows_already(&self, holder: &Entity, attribute: &str) -> bool {
        let rows = self.rows.iter();
        rows.filter(|touched| touched.entity.id == holder.id)
            .any(|touched| touched.edits.sets(attribute))
    }

    pub(crate) async fn update_blind(
        &mut self,
        step: &'a Step,
        entity: &'a Entity,
        at: usize,
        mut edits: Edits<'a>,
        moved: Option<Moved<'a>>,
    ) -> Result<(), AttemptStop> {
        let touched = self.touched(at)?;
        if let (Some(states), Some((from, to))) = (&entity.states, &moved) {
            let state = edits.set.entry(states.of.as_str());
            state.or_insert_with(|| Some(Value::S(to.clone().into_owned())));
            for (during, held) in &states.holding {
                let is_during = during.iter().any(|state| state == to);
                let enters = is_during && !from.iter().any(|state| during.contains(state));
                let leaves = !is_during && from.iter().any(|state| during.contains(state));
                for (name, expr) in held {
                    let changes = (enters || leaves) && !edits.sets(name);
                    let Some(attribute) = entity.attribute(name).filter(|_| changes) else {
                        continue;
                    };
                    let value = match enters {
                        true => self.computed_as(expr, &attribute.ty, touched.known())?,
                        false => None,
                    };
                    edits.set.insert(name, value);
                }
            }
        }
        let mut planned = Planned {
            moves: moved.as_ref().map(|(from, to)| (&**from, &**to)),
            ..Planned::default()
        };
        planned.touched.extend(edits.touched());
        planned.known.extend(touched.known().keys().map(String::as_str));
        planned.known.extend(edits.set.keys().copied());
        let held_unknown = !edits.parts.is_empty();
        // A row that moves to another key is written there whole.
        let moves = edits.touched().any(|name| entity.is_key_attribute(name));
        if held_unknown
            || moves
            || old_values_needed(self.operation.model, entity, planned).is_some()
            || touched.change == TouchedChange::Update
        {
            return Err(AttemptStop::ReadFirst(vec![touched.key.clone()]));
        }
        if let (Some(states), Some((from, _))) = (&entity.states, &moved) {
            let name = entity.attribute(&states.of).map_or(states.of.as_str(), |attribute| {
                stored_name(&attribute.stored, &attribute.name)
            });
            let condition = match &**from {
                [one] => Condition::equal(name, Value::S(one.clone())),
                several => Condition::In {
                    operand: Operand::Path(Path::attribute(name)),
                    options: several
                        .iter()
                        .map(|state| Operand::Value(Value::S(state.clone())))
                        .collect(),
                },
            };
            self.add_step_check(step, at, DefaultRefusal::State(from.to_vec()), condition)?;
        }
        for (name, number) in &edits.add {
            if let Some(condition) = limit_condition(entity, name, *number) {
                self.add_step_check(step, at, DefaultRefusal::Limit((*name).to_owned()), condition)?;
            }
        }
        self.merge(step, at, entity, edits).await?;
        if let Some(name) = &step.named {
            // The new row is not known before it is written: whoever names it needs it read.
            self.names.insert(name.clone(), at);
            return Err(AttemptStop::ReadFirst(vec![self.touched(at)?.key.clone()]));
        }
        self.answer_with(step, at, false);
        Ok(())
    }

    pub async fn upsert(&mut self, step: &'a Step, plan: &'a StepPlan, at: usize) -> Result<(), AttemptStop> {
        let touched = self.touched(at)?;
        // Of a row that an earlier step makes or removes `update` says that it is one item.
        if touched.row().is_some() || matches!(touched.change, TouchedChange::Create | TouchedChange::Delete) {
            return self.update(step, plan, at).await;
        }
        let (entity, named) = (touched.entity, Attributes::clone(&touched.named));
        self.step_requirements(step, plan, at).await?;
        self.create(step, entity, named).await
    }

    pub async fn delete(&mut self, step: &'a Step, plan: &'a StepPlan, at: usize) -> Result<(), AttemptStop> {
        let touched = self.touched(at)?;
        let entity = touched.entity;
        if touched.change != TouchedChange::Nothing {
            return Err(self.same_item().await);
        }
        let follows = !entity.unique.is_empty() || self.operation.model.mirrors_of(entity.id).next().is_some();
        if !touched.is_read() && follows {
            self.read(at).await?;
        }
        self.must_be_present(step, at).await?;
        self.check_version(at).await?;
        self.step_requirements(step, plan, at).await?;
        if entity.history.is_some() {
            return self.delete_version(step, entity, at).await;
        }
        self.touched_mut(at)?.change = TouchedChange::Delete;
        Ok(())
    }
}

/// What must hold of a number before something is added to it, so that it stays within its limits.
fn limit_condition(entity: &Entity, name: &str, number: Number) -> Option<Condition> {
    let attribute = entity.attribute(name)?;
    let (Type::Int(limits) | Type::Number(limits)) = &attribute.ty else {
        return None;
    };
    let path = || Path::attribute(stored_name(&attribute.stored, name));
    let most = limits.max.and_then(|max| max.checked_sub(number).ok());
    let least = limits.min.and_then(|min| min.checked_sub(number).ok());
    // What is absent counts as zero.
    let zero = Number::from(0);
    let fits_absent = most.is_none_or(|most| zero <= most) && least.is_none_or(|least| zero >= least);
    let mut all = Vec::new();
    if !number.is_negative() {
        all.extend(most.map(|most| Condition::compare(path(), Comparison::LessOrEqual, Value::N(most))));
    }
    if number.is_negative() {
        all.extend(least.map(|least| Condition::compare(path(), Comparison::GreaterOrEqual, Value::N(least))));
    }
    let within = all.into_iter().reduce(Condition::and)?;
    Some(match fits_absent {
        true => Condition::not_exists(path()).or(within),
        false => within,
    })
}
