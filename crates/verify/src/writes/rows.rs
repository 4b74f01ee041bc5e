//! What steps make of rows: new ones, changed ones, versions.

use singlet_item::{Number, Value};
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Entity, Kept, MoveTo, Step};
use singlet_model::types::{EntityId, Type};
use singlet_plan::write::DefaultRefusal;
use singlet_runtime::{Attributes, Refused};
use singlet_values as values;

use super::change::{Fate, OracleEdits, PartChange};
use super::oracle::ExpectedOutcome;
use super::steps::{OperationSteps, first_version, same_item};
use super::world;

impl<'a> OperationSteps<'a> {
    pub(super) fn create(&mut self, step: &'a Step, id: EntityId, known: Attributes) -> Result<(), ExpectedOutcome> {
        let entity = self.entity(id)?;
        // Before a new row there is none: of one that is upserted only the key is known.
        let required = self.step_requirements(step, &known)?;
        let (row, mut problems) = self.new_row(step, entity, known)?;
        problems.extend(required);
        let Some(at) = self.touch_row(id, &row)? else {
            return Err(ExpectedOutcome::BadRequest);
        };
        let Some(touched) = self.touched.get(at) else {
            return Ok(());
        };
        if (problems.is_empty() || self.frame.lenient) && touched.fate != Fate::Looked {
            return Err(same_item());
        }
        if problems.is_empty() && touched.was.is_some() {
            problems.push(self.default_refusal(step, entity, &DefaultRefusal::Exists, None)?);
            self.note_in_the_way(id, &row);
        }
        if self.refuse_step(step, problems)? {
            return Ok(());
        }
        let row = self.dated(entity, at, row)?;
        self.become_row(step, at, Fate::Created, row)?;
        self.note_call(step, at);
        Ok(())
    }

    pub(super) fn update(&mut self, step: &'a Step, at: usize) -> Result<(), ExpectedOutcome> {
        let Some(touched) = self.touched.get(at).cloned() else {
            return Ok(());
        };
        let entity = self.entity(touched.entity)?;
        if matches!(touched.fate, Fate::Created | Fate::Deleted) {
            return Err(same_item());
        }
        let Some(was) = touched.was.or_else(|| self.stands_for_absent(step, at)) else {
            return self.absent_row(step);
        };
        self.check_version_of(at)?;
        let (mut edits, mut problems) = self.edits(step, entity, &was)?;
        problems.extend(self.moved(step, entity, &was, &mut edits)?);
        problems.extend(self.step_requirements(step, &was)?);
        // What every write sets is set once, however many steps change the row.
        if !touched.edits.names().is_empty() {
            let always = |name: &String| {
                let attribute = entity.attribute(name);
                attribute.is_some_and(|attribute| attribute.always.is_some() || attribute.ty == Type::Version)
            };
            edits.set.retain(|name, _| !always(name));
            edits.add.retain(|name, _| !always(name));
        }
        if touched.edits.clashes_with(&edits) {
            return match problems.is_empty() {
                true => Err(same_item()),
                false => self.refuse_step(step, problems).map(|_| ()),
            };
        }
        let mut joined = touched.edits;
        joined.join_edits(edits).ok_or(ExpectedOutcome::BadRequest)?;
        let row = joined.applied_to(&was).ok_or(ExpectedOutcome::BadRequest)?;
        let parts = joined.parts.iter().map(|(name, _)| name);
        for name in joined.add.keys().chain(parts) {
            problems.extend(self.limit(step, entity, name, row.get(name), Some(&was))?);
        }
        if self.refuse_step(step, problems)? {
            return Ok(());
        }
        if let Some(touched) = self.touched.get_mut(at) {
            touched.edits = joined;
        }
        let row = world::compute_row(entity, row, self.scope(None))?;
        if let Some(history) = &entity.history
            && !history.again
            && is_same(entity, &was, &row)
        {
            if let Some(touched) = self.touched.get_mut(at) {
                touched.becomes = Some(was.clone());
            }
            self.note_became(step, at, &was, false);
            return Ok(());
        }
        let row = self.dated(entity, at, row)?;
        self.become_row(step, at, Fate::Updated, row.clone())?;
        self.note_call(step, at);
        let is_done = self
            .touched
            .get(at)
            .is_some_and(|touched| touched.becomes.as_ref() == Some(&row));
        match is_done {
            true => self.copies_follow(entity, &was, &row),
            false => Ok(()),
        }
    }

    /// Rows that repeat what changed, and are kept with it, change with it.
    fn copies_follow(&mut self, entity: &Entity, was: &Attributes, row: &Attributes) -> Result<(), ExpectedOutcome> {
        let model = self.frame.model;
        let own = world::row_identity(model, entity.id, row);
        for holder in &model.entities {
            let copies = holder
                .attributes
                .iter()
                .filter_map(|attribute| Some((attribute, attribute.copy.as_ref()?)));
            let kept = copies.filter(|(_, copy)| copy.kept == Kept::Transaction && copy.entity == entity.id);
            for (attribute, copy) in kept {
                let ExprKind::Entity { key, .. } = &copy.source.kind else {
                    continue;
                };
                // A step before this one may have changed what this one changes back.
                let stays = was.get(&copy.attribute) == row.get(&copy.attribute);
                for held in self.seen(holder.id)? {
                    let source = self.key(entity.id, key, Some(&held))?;
                    if world::row_identity(model, entity.id, &source) != own {
                        continue;
                    }
                    let Some(at) = self.touch_row(holder.id, &held)? else {
                        continue;
                    };
                    let Some(touched) = self.touched.get_mut(at) else {
                        continue;
                    };
                    if touched.fate == Fate::Deleted || (stays && !touched.edits.set.contains_key(&attribute.name)) {
                        continue;
                    }
                    touched.fate = Fate::Updated;
                    let value = row.get(&copy.attribute).cloned();
                    touched.edits.set.insert(attribute.name.clone(), value);
                    let becomes = touched.edits.applied_to(&held).ok_or(ExpectedOutcome::BadRequest)?;
                    touched.becomes = Some(becomes);
                }
            }
        }
        Ok(())
    }

    pub(super) fn delete(&mut self, step: &'a Step, at: usize) -> Result<(), ExpectedOutcome> {
        let Some(touched) = self.touched.get(at) else {
            return Ok(());
        };
        if touched.fate != Fate::Looked {
            return Err(same_item());
        }
        let Some(was) = touched.was.clone().or_else(|| self.stands_for_absent(step, at)) else {
            return self.absent_row(step);
        };
        self.check_version_of(at)?;
        let problems = self.step_requirements(step, &was)?;
        if self.refuse_step(step, problems)? {
            return Ok(());
        }
        if let Some(touched) = self.touched.get_mut(at) {
            touched.fate = Fate::Deleted;
        }
        self.note_call(step, at);
        Ok(())
    }

    fn new_row(
        &mut self,
        step: &'a Step,
        entity: &'a Entity,
        known: Attributes,
    ) -> Result<(Attributes, Vec<Refused>), ExpectedOutcome> {
        let mut row = known;
        let mut problems = Vec::new();
        for taken in step.take.iter().chain(&step.patch) {
            let value = self.taken(step, &taken.attribute, None)?;
            row.extend(value.map(|value| (taken.attribute.clone(), value)));
        }
        for assignment in step.set.iter().filter(|assignment| assignment.entry.is_none()) {
            let Some(attribute) = entity.attribute(&assignment.attribute) else {
                continue;
            };
            if let Some(value) = self.value_as(&assignment.value, &attribute.ty, None)? {
                problems.extend(self.limit(step, entity, &attribute.name, Some(&value), None)?);
                row.insert(attribute.name.clone(), value);
            }
        }
        if let Some(states) = &entity.states {
            row.insert(states.of.clone(), Value::S(states.start.clone()));
        }
        for attribute in &entity.attributes {
            if row.contains_key(&attribute.name) || attribute.is.is_some() || attribute.copy.is_some() {
                continue;
            }
            let value = match attribute.always.as_ref().or(attribute.default.as_ref()) {
                Some(expr) => self.value_as(expr, &attribute.ty, Some(&row))?,
                None => (attribute.ty == Type::Version).then(first_version),
            };
            row.extend(value.map(|value| (attribute.name.clone(), value)));
        }
        if let Some(states) = &entity.states {
            let start = states
                .holding
                .iter()
                .filter(|(during, _)| during.contains(&states.start));
            for (name, expr) in start.flat_map(|(_, held)| held) {
                if let (Some(attribute), false) = (entity.attribute(name), row.contains_key(name)) {
                    let value = self.value_as(expr, &attribute.ty, Some(&row))?;
                    row.extend(value.map(|value| (name.clone(), value)));
                }
            }
        }
        let added = self.parts(step, entity, &row)?;
        row = added.applied_to(&row).ok_or(ExpectedOutcome::BadRequest)?;
        for name in added.names() {
            problems.extend(self.limit(step, entity, name, row.get(name), None)?);
        }
        problems.extend(self.copied(step, entity, &mut row)?);
        Ok((world::compute_row(entity, row, self.scope(None))?, problems))
    }

    /// An argument, or a field of what `from` names.
    fn taken(&self, step: &Step, name: &str, own: Option<&Attributes>) -> Result<Option<Value>, ExpectedOutcome> {
        let value = match &step.from {
            Some(from) => self
                .value(from, own)?
                .and_then(|from| from.as_map()?.get(name).cloned()),
            None => self.args.get(name).cloned(),
        };
        Ok(value.filter(|value| !value.is_null()))
    }

    fn edits(
        &self,
        step: &Step,
        entity: &Entity,
        was: &Attributes,
    ) -> Result<(OracleEdits, Vec<Refused>), ExpectedOutcome> {
        let own = Some(was);
        let mut edits = self.parts(step, entity, was)?;
        let mut problems = Vec::new();
        for taken in &step.take {
            let value = self.taken(step, &taken.attribute, own)?;
            edits.set.insert(taken.attribute.clone(), value);
        }
        for taken in &step.patch {
            if self.args.contains_key(&taken.attribute) {
                let value = self.taken(step, &taken.attribute, own)?;
                edits.set.insert(taken.attribute.clone(), value);
            }
        }
        for assignment in step.set.iter().filter(|assignment| assignment.entry.is_none()) {
            let Some(attribute) = entity.attribute(&assignment.attribute) else {
                continue;
            };
            let value = self.value_as(&assignment.value, &attribute.ty, own)?;
            problems.extend(self.limit(step, entity, &attribute.name, value.as_ref(), own)?);
            edits.set.insert(attribute.name.clone(), value);
        }
        for attribute in &entity.attributes {
            if let Some(always) = &attribute.always {
                let value = self.value_as(always, &attribute.ty, own)?;
                edits.set.insert(attribute.name.clone(), value);
            } else if attribute.ty == Type::Version {
                edits.add.insert(attribute.name.clone(), Number::from(1));
            }
        }
        Ok((edits, problems))
    }

    /// What a step adds, removes and appends.
    fn parts(&self, step: &Step, entity: &Entity, was: &Attributes) -> Result<OracleEdits, ExpectedOutcome> {
        let own = Some(was);
        let mut edits = OracleEdits::default();
        let entry_name = |entry: &Expr| match self.value(entry, own)? {
            Some(Value::S(text)) => Ok(text),
            Some(Value::N(number)) => Ok(number.to_string()),
            _ => Err(ExpectedOutcome::BadRequest),
        };
        for assignment in &step.set {
            if let Some(entry) = &assignment.entry {
                let part = PartChange::Entry(entry_name(entry)?, self.value(&assignment.value, own)?);
                edits.parts.push((assignment.attribute.clone(), part));
            }
        }
        for assignment in &step.add {
            let name = assignment.attribute.clone();
            let is_number = entity
                .attribute(&name)
                .is_some_and(|attribute| attribute.ty.is_number());
            match (self.value(&assignment.value, own)?, &assignment.entry) {
                (Some(Value::N(number)), Some(entry)) => {
                    edits
                        .parts
                        .push((name, PartChange::AddEntry(entry_name(entry)?, number)));
                }
                (Some(Value::N(number)), None) if is_number => {
                    edits.add.insert(name, number);
                }
                (Some(value), _) => edits.parts.push((name, PartChange::Insert(value))),
                (None, _) => {}
            }
        }
        for assignment in &step.remove {
            let value = self.value(&assignment.value, own)?;
            let part = value.map(|value| (assignment.attribute.clone(), PartChange::Remove(value)));
            edits.parts.extend(part);
        }
        for assignment in &step.append {
            let value = self.value(&assignment.value, own)?;
            let part = value.map(|value| (assignment.attribute.clone(), PartChange::Append(value)));
            edits.parts.extend(part);
        }
        Ok(edits)
    }

    pub(super) fn limit(
        &self,
        step: &Step,
        entity: &Entity,
        name: &str,
        value: Option<&Value>,
        own: Option<&Attributes>,
    ) -> Result<Option<Refused>, ExpectedOutcome> {
        let (Some(attribute), Some(value)) = (entity.attribute(name), value) else {
            return Ok(None);
        };
        match values::checked_value(value, &attribute.ty) {
            Ok(_) => Ok(None),
            Err(_) => self
                .default_refusal(step, entity, &DefaultRefusal::Limit(name.to_owned()), own)
                .map(Some),
        }
    }

    /// Moves a row to another state, with what is held there.
    fn moved(
        &self,
        step: &Step,
        entity: &Entity,
        was: &Attributes,
        edits: &mut OracleEdits,
    ) -> Result<Option<Refused>, ExpectedOutcome> {
        let (Some(states), Some(moves)) = (&entity.states, &step.moves) else {
            return Ok(None);
        };
        let (mut from, mut to): (Vec<String>, String) = Default::default();
        match moves {
            MoveTo::Named(name, _) => {
                for known in states.moves.iter().filter(|known| known.name == *name) {
                    (from, to) = (known.from.clone(), known.to.clone());
                }
            }
            MoveTo::To(goal) => {
                let goal = self.value(goal, Some(was))?;
                to = goal.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
                for state in states
                    .moves
                    .iter()
                    .filter(|known| known.to == to)
                    .flat_map(|known| &known.from)
                {
                    if !from.contains(state) {
                        from.push(state.clone());
                    }
                }
            }
        }
        let current = was
            .get(&states.of)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        if !from.contains(&current) && !self.is_unconditional(step) {
            let named = if from.is_empty() { vec![to] } else { from };
            self.note_state(entity, was, &named);
            return self
                .default_refusal(step, entity, &DefaultRefusal::State(named), Some(was))
                .map(Some);
        }
        for (during, held) in &states.holding {
            let (before, after) = (during.contains(&current), during.contains(&to));
            let unset: Vec<_> = held.iter().filter(|(name, _)| !edits.set.contains_key(name)).collect();
            for (name, expr) in unset.into_iter().filter(|_| before != after) {
                let ty = entity.attribute(name).map(|attribute| &attribute.ty);
                let value = match ty.filter(|_| after) {
                    Some(ty) => self.value_as(expr, ty, Some(was))?,
                    None => None,
                };
                edits.set.insert(name.clone(), value);
            }
        }
        edits.set.insert(states.of.clone(), Some(Value::S(to)));
        Ok(None)
    }

    /// Copies of what other rows say, as they become.
    fn copied(
        &mut self,
        step: &Step,
        entity: &Entity,
        row: &mut Attributes,
    ) -> Result<Option<Refused>, ExpectedOutcome> {
        for attribute in &entity.attributes {
            let Some(copy) = &attribute.copy else { continue };
            let ExprKind::Entity { entity: source, key } = &copy.source.kind else {
                continue;
            };
            let key = self.key(*source, key, Some(row))?;
            let Some(at) = self.touch_row(*source, &key)? else {
                continue;
            };
            let found = self
                .touched
                .get(at)
                .and_then(|touched| touched.becomes.as_ref().or(touched.was.as_ref()));
            match found {
                Some(found) => row.extend(
                    found
                        .get(&copy.attribute)
                        .map(|value| (attribute.name.clone(), value.clone())),
                ),
                None => {
                    let named = singlet_plan::write::step_refusal(step, &DefaultRefusal::Source);
                    let why = if named.is_some() {
                        DefaultRefusal::Source
                    } else {
                        DefaultRefusal::Absent
                    };
                    return self.default_refusal(step, self.entity(*source)?, &why, None).map(Some);
                }
            }
        }
        Ok(None)
    }
}

/// Whether an update changes nothing but what every write sets.
fn is_same(entity: &Entity, was: &Attributes, row: &Attributes) -> bool {
    let always = |name: &str| {
        entity
            .attribute(name)
            .is_some_and(|attribute| attribute.always.is_some())
    };
    let names = was.keys().chain(row.keys()).filter(|name| !always(name));
    names.into_iter().all(|name| was.get(name) == row.get(name))
}
