//! Changes and removals of rows, with or without reading them first.

use std::collections::BTreeSet;

use singlet_item::{Item, Number, Value};
use singlet_model::model::{Entity, IndexEntry, MoveTo, Step, Stored};
use singlet_model::types::Type;
use singlet_plan::write::{
    Change as Planned, Default as Why, StepPlan, holder_key, holders, old_values_needed, step_refusal,
};
use singlet_store::{Comparison, Condition, Operand, Path, SetOperand, Update};

use super::attempt::Attempt;
use super::create::key_in;
use super::edits::{Edits, PartEdit};
use super::guards::Guards;
use super::refuse::Rule;
use super::touched::{Action, Change, Check, Doing, Touched, absent_now, present, present_now, stored_name};
use super::{Refused, Stop};
use crate::error::RuntimeError;
use crate::find::primary_key;
use crate::row;
use crate::scope::Attributes;

/// The states that a move may come from, and the one it goes to.
type Moved = (Vec<String>, String);

impl<'a> Attempt<'a> {
    pub async fn update(&mut self, step: &'a Step, plan: &'a StepPlan, at: usize) -> Result<(), Stop> {
        let Some(touched) = self.rows.get(at) else {
            return Ok(());
        };
        let entity = touched.entity;
        if matches!(touched.change, Change::Create | Change::Delete) {
            return Err(Stop::Refused(Refused::new("same_item", 409)));
        }
        if touched.is_read() && touched.row().is_none() {
            return self.absent(step).await;
        }
        if let (Some(version), false) = (self.operation.request.version, self.version_checked) {
            self.check_version(at, version).await?;
        }
        let own = self.rows.get(at).and_then(Touched::row).cloned();
        let mut edits = self.edits(step, entity, own.as_ref()).await?;
        let moved = self.moved(step, entity, own.as_ref()).await?;
        self.step_requirements(step, plan, at).await?;
        match self.rows.get(at).is_some_and(Touched::is_read) {
            true => {
                if let (Some(moved), Some(row)) = (&moved, &own) {
                    self.move_read(step, entity, moved, row, &mut edits).await?;
                    if let (Some(states), Some(touched)) = (&entity.states, self.rows.get_mut(at)) {
                        touched.used.attributes.insert(states.of.clone());
                    }
                }
                self.merge(step, at, entity, edits)?;
                if entity.history.is_some() {
                    return self.update_version(step, entity, at).await;
                }
                let after = self.after_read(step, entity, at).await?;
                self.became(step, at, &after, false);
                Ok(())
            }
            false => self.update_blind(step, entity, at, edits, moved).await,
        }
    }

    fn merge(&mut self, step: &'a Step, at: usize, entity: &Entity, edits: Edits) -> Result<(), Stop> {
        let always = |name: &str| {
            let attribute = entity.attribute(name);
            attribute.is_some_and(|attribute| attribute.always.is_some() || attribute.ty == Type::Version)
        };
        let order = self.order();
        let Some(touched) = self.rows.get_mut(at) else {
            return Ok(());
        };
        touched.by.get_or_insert((step, order));
        // The version rises once, however many steps change the row.
        let mut edits = edits;
        if touched.change == Change::Update {
            edits.add.retain(|name, _| !always(name));
        }
        touched.change = Change::Update;
        touched
            .edits
            .merge(edits, &always)
            .map_err(|_| Stop::Refused(Refused::new("same_item", 409)))
    }

    /// What the row becomes, from what it was.
    async fn after_read(&mut self, step: &'a Step, entity: &'a Entity, at: usize) -> Result<Attributes, Stop> {
        let Some(touched) = self.rows.get(at) else {
            return Ok(Attributes::new());
        };
        let before = touched.row().cloned().unwrap_or_default();
        let edits = touched.edits.clone();
        let mut after = before.clone();
        if edits.apply(&mut after).is_none() {
            return Err(Stop::Failed(RuntimeError::Request(
                "a number leaves its range".to_owned(),
            )));
        }
        let summed = edits.summed();
        let after = self
            .sums_within_limits(step, entity, summed.clone(), after, &before)
            .await?;
        let after = row::completed(entity, after, self.scope(None))?;
        if let Some(touched) = self.rows.get_mut(at) {
            touched.used.attributes.extend(summed);
            touched.after = Some(after.clone());
        }
        self.copies_follow(step, entity, &before, &after).await?;
        Ok(after)
    }

    /// The row, if what was added to is still within its limits.
    pub async fn sums_within_limits(
        &mut self,
        step: &'a Step,
        entity: &'a Entity,
        summed: Vec<String>,
        mut after: Attributes,
        before: &Attributes,
    ) -> Result<Attributes, Stop> {
        for name in summed {
            if let (Some(attribute), Some(value)) = (entity.attribute(&name), after.get(&name).cloned()) {
                let value = self.within_limits(step, entity, attribute, value, Some(before)).await?;
                after.insert(name, value);
            }
        }
        Ok(after)
    }

    /// Rows that repeat what changed, and whose key follows from the row, change with it.
    async fn copies_follow(
        &mut self,
        step: &'a Step,
        entity: &'a Entity,
        before: &Attributes,
        after: &Attributes,
    ) -> Result<(), Stop> {
        let model = self.operation.model;
        for (holder, name, copy) in holders(model, entity) {
            if before.get(&copy.attribute) == after.get(&copy.attribute) {
                continue;
            }
            let Some(key) = holder_key(model, holder, copy) else {
                continue;
            };
            let known: Attributes = key
                .into_iter()
                .filter_map(|(own, source)| Some((own.to_owned(), after.get(source)?.clone())))
                .collect();
            let Some(at) = self.touch(holder, known)? else { continue };
            self.read(at).await?;
            let there = self.rows.get(at).filter(|touched| touched.change != Change::Delete);
            if there.and_then(Touched::row).is_none() {
                // Nobody holds a copy; that nobody does by now is pinned.
                continue;
            }
            let mut edits = Edits::default();
            edits.set.insert(name.to_owned(), after.get(&copy.attribute).cloned());
            self.merge(step, at, holder, edits)?;
            Box::pin(self.after_read(step, holder, at)).await?;
        }
        Ok(())
    }

    async fn update_blind(
        &mut self,
        step: &'a Step,
        entity: &'a Entity,
        at: usize,
        mut edits: Edits,
        moved: Option<Moved>,
    ) -> Result<(), Stop> {
        let Some(touched) = self.rows.get(at) else {
            return Ok(());
        };
        let key = touched.key.clone();
        if let (Some(states), Some((from, to))) = (&entity.states, &moved) {
            edits.set.entry(states.of.clone()).or_insert(Some(Value::S(to.clone())));
            for (during, held) in &states.holding {
                let enters = during.contains(to) && !from.iter().any(|state| during.contains(state));
                let leaves = !during.contains(to) && from.iter().any(|state| during.contains(state));
                for (name, expr) in held {
                    let changes = (enters || leaves) && !edits.sets(name);
                    let Some(attribute) = entity.attribute(name).filter(|_| changes) else {
                        continue;
                    };
                    let value = match enters {
                        true => self.value_as(expr, &attribute.ty, Some(&touched.known))?,
                        false => None,
                    };
                    edits.set.insert(name.clone(), value);
                }
            }
        }
        let mut planned = Planned {
            moves: moved.clone(),
            ..Planned::default()
        };
        planned.touched.extend(edits.touched().map(str::to_owned));
        planned.known.extend(touched.known.keys().cloned());
        planned.known.extend(edits.set.keys().cloned());
        let held_unknown = !edits.parts.is_empty();
        // A row that moves to another key is written there whole.
        let moves = edits.touched().any(|name| entity.is_key_attribute(name));
        if held_unknown
            || moves
            || old_values_needed(self.operation.model, entity, &planned).is_some()
            || touched.change == Change::Update
        {
            return Err(Stop::ReadFirst(vec![key]));
        }
        let condition = present_now(self.operation.model, entity, self.operation.request.now);
        let check = self.step_check(step, at, &Why::Absent, condition);
        self.add_check(at, check);
        if let (Some(states), Some((from, _))) = (&entity.states, &moved) {
            let options = from.iter().map(|state| Operand::Value(Value::S(state.clone())));
            let name = entity.attribute(&states.of).map_or(states.of.as_str(), |attribute| {
                stored_name(&attribute.stored, &attribute.name)
            });
            let condition = Condition::In {
                operand: Operand::Path(Path::attribute(name)),
                options: options.collect(),
            };
            let check = self.step_check(step, at, &Why::State(from.clone()), condition);
            self.add_check(at, check);
        }
        for (name, number) in &edits.add {
            if let Some(condition) = limit_condition(entity, name, *number) {
                let check = self.step_check(step, at, &Why::Limit(name.clone()), condition);
                self.add_check(at, check);
            }
        }
        self.merge(step, at, entity, edits)?;
        if let Some(name) = &step.named {
            // The new row is not known before it is written: whoever names it needs it read.
            self.names.insert(name.clone(), at);
            return Err(Stop::ReadFirst(vec![key]));
        }
        if self.first.is_none() {
            self.first = Some((at, false));
        }
        Ok(())
    }

    /// What a step changes, evaluated on the row as it was.
    pub async fn edits(&mut self, step: &'a Step, entity: &'a Entity, own: Option<&Attributes>) -> Result<Edits, Stop> {
        let mut edits = Edits::default();
        let from = match &step.from {
            Some(from) => self.value(from, own)?,
            None => None,
        };
        for taken in &step.take {
            let value = match (&step.from, &from) {
                (Some(_), Some(Value::M(fields))) => fields.get(&taken.attribute).cloned(),
                (Some(_), _) => None,
                (None, _) => self.args.get(&taken.attribute).cloned(),
            };
            let value = value.filter(|value| !value.is_null());
            edits.set.insert(taken.attribute.clone(), value);
        }
        for taken in &step.patch {
            if let Some(value) = self.args.get(&taken.attribute) {
                let value = Some(value.clone()).filter(|value| !value.is_null());
                edits.set.insert(taken.attribute.clone(), value);
            }
        }
        for assignment in &step.set {
            let Some(attribute) = entity.attribute(&assignment.attribute) else {
                continue;
            };
            if let Some(entry) = &assignment.entry {
                let name = self.entry_name(entry, own)?;
                let value = self.value(&assignment.value, own)?;
                edits
                    .parts
                    .push((attribute.name.clone(), PartEdit::SetEntry(name, value)));
                continue;
            }
            let value = match self.value_as(&assignment.value, &attribute.ty, own)? {
                Some(value) => Some(self.within_limits(step, entity, attribute, value, own).await?),
                None => None,
            };
            edits.set.insert(attribute.name.clone(), value);
        }
        for assignment in &step.add {
            let Some(value) = self.value(&assignment.value, own)? else {
                continue;
            };
            let name = assignment.attribute.clone();
            match (value, &assignment.entry) {
                (Value::N(number), Some(entry)) => {
                    let entry = self.entry_name(entry, own)?;
                    edits.parts.push((name, PartEdit::AddEntry(entry, number)));
                }
                (Value::N(number), None)
                    if entity
                        .attribute(&name)
                        .is_some_and(|attribute| attribute.ty.is_number()) =>
                {
                    edits.add.insert(name, number);
                }
                (value, _) => edits.parts.push((name, PartEdit::Insert(value))),
            }
        }
        for assignment in &step.remove {
            let value = self.value(&assignment.value, own)?;
            edits
                .parts
                .extend(value.map(|value| (assignment.attribute.clone(), PartEdit::Remove(value))));
        }
        for assignment in &step.append {
            let value = self.value(&assignment.value, own)?;
            edits
                .parts
                .extend(value.map(|value| (assignment.attribute.clone(), PartEdit::Append(value))));
        }
        for attribute in &entity.attributes {
            if let Some(always) = &attribute.always {
                let value = self.value_as(always, &attribute.ty, own)?;
                edits.set.insert(attribute.name.clone(), value);
            } else if attribute.ty == Type::Version {
                edits.add.insert(attribute.name.clone(), Number::from(1));
            }
        }
        Ok(edits)
    }

    fn entry_name(&self, entry: &singlet_model::expression::Expr, own: Option<&Attributes>) -> Result<String, Stop> {
        let name = self.value(entry, own)?.map(|value| super::refuse::text_of(&value));
        name.ok_or_else(|| Stop::Failed(RuntimeError::Request("the name of an entry is missing".to_owned())))
    }

    /// Where a step moves its row, and where from.
    async fn moved(
        &mut self,
        step: &'a Step,
        entity: &'a Entity,
        own: Option<&Attributes>,
    ) -> Result<Option<Moved>, Stop> {
        let (Some(states), Some(moves)) = (&entity.states, &step.moves) else {
            return Ok(None);
        };
        Ok(match moves {
            MoveTo::Named(name, _) => states
                .moves
                .iter()
                .find(|known| known.name == *name)
                .map(|known| (known.from.clone(), known.to.clone())),
            MoveTo::To(goal) => {
                let goal = self.value(goal, own)?;
                let to = goal.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
                let mut from: Vec<String> = Vec::new();
                for known in states.moves.iter().filter(|known| known.to == to) {
                    from.extend(
                        known
                            .from
                            .iter()
                            .filter(|state| !from.contains(state))
                            .cloned()
                            .collect::<Vec<_>>(),
                    );
                }
                if from.is_empty() {
                    let why = Why::State(vec![to]);
                    let rule = Rule::of(entity, step_refusal(step, &why), &why);
                    return Err(self.denied(rule, own).await);
                }
                Some((from, to))
            }
        })
    }

    /// Moves a row whose state is known.
    async fn move_read(
        &mut self,
        step: &'a Step,
        entity: &'a Entity,
        (from, to): &Moved,
        row: &Attributes,
        edits: &mut Edits,
    ) -> Result<(), Stop> {
        let Some(states) = &entity.states else { return Ok(()) };
        let current = row
            .get(&states.of)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        if !from.contains(&current) {
            let why = Why::State(from.clone());
            let rule = Rule::of(entity, step_refusal(step, &why), &why);
            return Err(self.denied(rule, Some(row)).await);
        }
        edits.set.insert(states.of.clone(), Some(Value::S(to.clone())));
        for (during, held) in &states.holding {
            let (was, is) = (during.contains(&current), during.contains(to));
            for (name, expr) in held {
                let Some(attribute) = entity.attribute(name).filter(|_| !edits.sets(name)) else {
                    continue;
                };
                if is && !was {
                    let value = self.value_as(expr, &attribute.ty, Some(row))?;
                    edits.set.insert(name.clone(), value);
                } else if was && !is {
                    edits.set.insert(name.clone(), None);
                }
            }
        }
        Ok(())
    }

    pub async fn upsert(&mut self, step: &'a Step, plan: &'a StepPlan, at: usize) -> Result<(), Stop> {
        let Some(touched) = self.rows.get(at) else {
            return Ok(());
        };
        if touched.row().is_some() {
            return self.update(step, plan, at).await;
        }
        let (entity, known) = (touched.entity, touched.known.clone());
        self.create(step, plan, entity, known).await
    }

    pub async fn delete(&mut self, step: &'a Step, plan: &'a StepPlan, at: usize) -> Result<(), Stop> {
        let Some(touched) = self.rows.get(at) else {
            return Ok(());
        };
        let entity = touched.entity;
        if touched.change != Change::Nothing {
            return Err(Stop::Refused(Refused::new("same_item", 409)));
        }
        let follows = !entity.unique.is_empty() || self.operation.model.mirrors_of(entity.id).next().is_some();
        if !touched.is_read() && follows {
            return Err(Stop::ReadFirst(vec![touched.key.clone()]));
        }
        if touched.is_read() && touched.row().is_none() {
            return self.absent(step).await;
        }
        if let (Some(version), false) = (self.operation.request.version, self.version_checked) {
            self.check_version(at, version).await?;
        }
        self.step_requirements(step, plan, at).await?;
        if entity.history.is_some() {
            return self.delete_version(step, entity, at).await;
        }
        let Some(touched) = self.rows.get_mut(at) else {
            return Ok(());
        };
        touched.change = Change::Delete;
        if !touched.is_read() {
            let condition = present_now(self.operation.model, entity, self.operation.request.now);
            let check = self.step_check(step, at, &Why::Absent, condition);
            self.add_check(at, check);
        }
        Ok(())
    }

    /// The actions that a row's change becomes.
    pub fn actions_of(&self, at: usize) -> Result<Vec<Action<'a>>, Stop> {
        let Some(touched) = self.rows.get(at) else {
            return Ok(Vec::new());
        };
        let mut actions = match touched.change {
            Change::Nothing => self.check_of(touched),
            Change::Create => self.put_of(touched)?,
            Change::Update if touched.entity.history.is_some() => Vec::new(),
            Change::Update if touched.is_read() => self.update_of(touched)?,
            Change::Update => vec![self.blind_of(touched)?],
            Change::Delete => self.delete_of(touched)?,
        };
        actions.extend(touched.others.iter().cloned());
        Ok(actions)
    }

    fn check_of(&self, touched: &Touched<'a>) -> Vec<Action<'a>> {
        if touched.entity.history.is_some() {
            return self.check_of_version(touched);
        }
        let mut checks = touched.checks.clone();
        checks.extend(touched.pins(self.operation.model, &[]));
        match checks.is_empty() {
            true => Vec::new(),
            false => vec![Action {
                key: touched.key.clone(),
                doing: Doing::Check,
                checks,
            }],
        }
    }

    fn put_of(&self, touched: &Touched<'a>) -> Result<Vec<Action<'a>>, Stop> {
        if touched.entity.history.is_some() {
            return Ok(Vec::new());
        }
        let after = touched.after.clone().unwrap_or_default();
        let items = row::encode_each(self.operation.model, touched.entity, &after, self.scope(None))?;
        let Some((_, item)) = items.into_iter().next() else {
            return Ok(Vec::new());
        };
        let mut checks = touched.checks.clone();
        checks.extend(touched.pins(self.operation.model, &[]));
        Ok(vec![Action {
            key: touched.key.clone(),
            doing: Doing::Put(item),
            checks,
        }])
    }

    /// An update of a row that was read: what differs is written, what it follows from is pinned.
    fn update_of(&self, touched: &Touched<'a>) -> Result<Vec<Action<'a>>, Stop> {
        let model = self.operation.model;
        let entity = touched.entity;
        let (Some(item), Some(after)) = (touched.item(), &touched.after) else {
            return Ok(Vec::new());
        };
        let stored = row::stored(entity, item)?;
        let now = self.scope(None);
        let mut new: Vec<_> = row::encode_each(model, entity, after, now)?;
        let mut old: Vec<_> = row::encode_each(model, entity, &stored, now).unwrap_or_default();
        if new.is_empty() {
            return Ok(Vec::new());
        }
        let (_, new_item) = new.remove(0);
        if !old.is_empty() {
            old.remove(0);
        }
        let inputs = inputs(model, entity, &stored, after);
        let mut also: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let mut actions = Vec::new();
        let free = absent_now(model, entity.expires.is_some(), self.operation.request.now);
        // Mirrors: those that stay change, those that come or go or move are written whole.
        for (id, new_mirror) in &new {
            let old_mirror = old.iter().find(|(known, _)| known == id).map(|(_, item)| item);
            let key = key_in(model, new_mirror);
            let mirror = self.entity(*id)?;
            match old_mirror {
                Some(old_mirror) if key_in(model, old_mirror) == key => {
                    let update = difference(model, mirror, old_mirror, new_mirror);
                    if !update.is_empty() {
                        actions.push(Action {
                            key,
                            doing: Doing::Update(update),
                            checks: vec![Check::pin(present(model))],
                        });
                    }
                }
                _ => {
                    also.extend(mirror.attributes.iter().map(|attribute| attribute.name.as_str()));
                    let why = Why::Mirror(mirror.name.clone());
                    let check = touched.by.map(|by| self.rule_check(by, entity, &why, free.clone()));
                    actions.push(Action {
                        key,
                        doing: Doing::Put(new_mirror.clone()),
                        checks: check.into_iter().collect(),
                    });
                }
            }
        }
        for (id, old_mirror) in &old {
            let key = key_in(model, old_mirror);
            let stays = new
                .iter()
                .any(|(known, item)| known == id && key_in(model, item) == key);
            if !stays {
                actions.push(Action {
                    key,
                    doing: Doing::Delete,
                    checks: Vec::new(),
                });
            }
        }
        actions.extend(self.guards_moved(entity, touched.by, &stored, after)?);
        let mut checks = touched.checks.clone();
        checks.extend(touched.pins(model, &also));
        let new_key = primary_key(entity, after)?.unwrap_or_else(|| touched.key.clone());
        if new_key != touched.key {
            // The row moves to another key.
            let check = touched.by.map(|by| self.rule_check(by, entity, &Why::Exists, free));
            let gone = Action {
                key: touched.key.clone(),
                doing: Doing::Delete,
                checks,
            };
            // That its place is taken is said before that a mirror's is.
            let there = Action {
                key: new_key,
                doing: Doing::Put(new_item),
                checks: check.into_iter().collect(),
            };
            actions.splice(0..0, [gone, there]);
            return Ok(actions);
        }
        let update = difference(model, entity, item, &new_item);
        let doing = if update.is_empty() {
            Doing::Check
        } else {
            Doing::Update(update)
        };
        actions.insert(
            0,
            Action {
                key: touched.key.clone(),
                doing,
                checks,
            },
        );
        Ok(actions)
    }

    /// Guards released and claimed where a unique value changes, renewed where the row expires at another time or moves.
    pub fn guards_moved(
        &self,
        entity: &'a Entity,
        by: Option<(&'a Step, u32)>,
        before: &Attributes,
        after: &Attributes,
    ) -> Result<Vec<Action<'a>>, Stop> {
        let model = self.operation.model;
        let now = self.operation.request.now;
        let scope = self.scope(None);
        let old = Guards::of(model, entity, before, scope)?;
        let new = Guards::of(model, entity, after, scope)?;
        let mut actions = Vec::new();
        for (name, key) in &old.by_name {
            match new.by_name.get(name) {
                Some(kept) if kept == key => {
                    if old.ttl != new.ttl || old.owner != new.owner {
                        actions.push(new.renew(model, key));
                    }
                }
                _ => actions.push(old.release(key)),
            }
        }
        for (name, key) in &new.by_name {
            if old.by_name.get(name) != Some(key) {
                let why = Why::Taken(name.clone());
                let condition = absent_now(model, entity.expires.is_some(), now);
                let check = match by {
                    Some(by) => self.rule_check(by, entity, &why, condition),
                    None => Check::pin(condition),
                };
                actions.push(new.claim(model, key, entity.expires.is_some(), now, check));
            }
        }
        Ok(actions)
    }

    /// An update of a row that was not read.
    fn blind_of(&self, touched: &Touched<'a>) -> Result<Action<'a>, Stop> {
        let model = self.operation.model;
        let entity = touched.entity;
        let mut row = touched.known.clone();
        for (name, value) in &touched.edits.set {
            match value {
                Some(value) => row.insert(name.clone(), value.clone()),
                None => row.remove(name),
            };
        }
        let known = |name: &str| touched.known.contains_key(name) || touched.edits.sets(name);
        let mut update = Update::new();
        let mut put = |name: &str, value: Option<Value>| match value {
            Some(value) => update
                .set
                .push((Path::attribute(name), SetOperand::Value(value).into())),
            None => update.remove.push(Path::attribute(name)),
        };
        let mut touched_names: BTreeSet<String> = touched.edits.touched().map(str::to_owned).collect();
        for (name, value) in &touched.edits.set {
            let Some(attribute) = entity.attribute(name) else {
                continue;
            };
            if attribute.alias.is_none() && attribute.stored != Stored::No {
                put(stored_name(&attribute.stored, name), value.clone());
            }
        }
        for attribute in &entity.attributes {
            let (Some(is), None) = (&attribute.is, &attribute.alias) else {
                continue;
            };
            let sources = is.attributes();
            if sources.iter().any(|name| touched_names.contains(*name))
                && sources.iter().all(|name| known(name) || row.contains_key(*name))
            {
                let value = self.value_as(is, &attribute.ty, Some(&row))?;
                match &value {
                    Some(value) => row.insert(attribute.name.clone(), value.clone()),
                    None => row.remove(&attribute.name),
                };
                touched_names.insert(attribute.name.clone());
                if attribute.stored != Stored::No {
                    put(stored_name(&attribute.stored, &attribute.name), value);
                }
            }
        }
        for entry in &entity.index {
            for (name, value) in self.entry_keys(entity, entry, &row, &touched_names)? {
                put(&name, value);
            }
        }
        if let (Some(ttl), Some(expires)) = (&model.table.ttl, &entity.expires)
            && expires.attributes().iter().any(|name| touched_names.contains(*name))
        {
            let seconds = row::expiry(model, entity, &row, self.scope(None))?;
            put(ttl, seconds.map(|seconds| Value::N(Number::from(seconds))));
        }
        for (name, number) in &touched.edits.add {
            let stored = entity
                .attribute(name)
                .map_or(name.as_str(), |attribute| stored_name(&attribute.stored, name));
            update.add.push((Path::attribute(stored), Value::N(*number)));
        }
        Ok(Action {
            key: touched.key.clone(),
            doing: Doing::Update(update),
            checks: touched.checks.clone(),
        })
    }

    /// The key attributes of an index that follow from what changes; those of a template that is not complete are removed.
    fn entry_keys(
        &self,
        entity: &Entity,
        entry: &IndexEntry,
        row: &Attributes,
        touched: &BTreeSet<String>,
    ) -> Result<Vec<(String, Option<Value>)>, Stop> {
        let choices = entry.choices();
        let conditional = choices.iter().any(|choice| choice.when.is_some());
        let involved = choices.iter().any(|choice| {
            let parts = choice.keys.iter().flat_map(|key| &key.parts);
            let whens = choice.when.iter().flat_map(|when| when.attributes());
            parts
                .map(|part| part.root())
                .chain(whens)
                .any(|name| touched.contains(name))
        });
        if !involved {
            return Ok(Vec::new());
        }
        let chosen = row::holding(choices, row, self.scope(None))?;
        let lookup = |path: &str| row::at_path(row, path);
        let mut keys: Vec<(String, Option<Value>)> = Vec::new();
        for template in choices.iter().flat_map(|choice| &choice.keys) {
            let own = entity.attribute(&template.attribute).is_some();
            let follows = conditional || template.parts.iter().any(|part| touched.contains(part.root()));
            let table_key = self
                .operation
                .model
                .table
                .key
                .iter()
                .any(|key| key.name == template.attribute);
            if own || !follows || table_key || keys.iter().any(|(name, _)| *name == template.attribute) {
                continue;
            }
            let current = chosen.and_then(|choice| choice.template(&template.attribute));
            let value = match current {
                Some(current) => row::encode_key(entity, current, &lookup)?,
                None => None,
            };
            keys.push((template.attribute.clone(), value));
        }
        Ok(keys)
    }

    fn delete_of(&self, touched: &Touched<'a>) -> Result<Vec<Action<'a>>, Stop> {
        let model = self.operation.model;
        if touched.entity.history.is_some() {
            return Ok(Vec::new());
        }
        let mut actions = Vec::new();
        let mut also: Vec<String> = Vec::new();
        if let Some(item) = touched.item() {
            let stored = row::stored(touched.entity, item)?;
            let items = row::encode_each(model, touched.entity, &stored, self.scope(None)).unwrap_or_default();
            for (id, mirror_item) in items.into_iter().skip(1) {
                let mirror = self.entity(id)?;
                also.extend(
                    mirror
                        .key_templates()
                        .flat_map(|key| &key.parts)
                        .map(|part| part.root().to_owned()),
                );
                actions.push(Action {
                    key: key_in(model, &mirror_item),
                    doing: Doing::Delete,
                    checks: Vec::new(),
                });
            }
            let guards = Guards::of(model, touched.entity, &stored, self.scope(None))?;
            for guard in &touched.entity.unique {
                also.extend(guard.value.attributes().into_iter().map(str::to_owned));
            }
            actions.extend(guards.by_name.values().map(|key| guards.release(key)));
        }
        let also: Vec<&str> = also.iter().map(String::as_str).collect();
        let mut checks = touched.checks.clone();
        checks.extend(touched.pins(model, &also));
        actions.insert(
            0,
            Action {
                key: touched.key.clone(),
                doing: Doing::Delete,
                checks,
            },
        );
        Ok(actions)
    }
}

/// What differs between two items of an entity, as an update; attributes that the model does not know stay.
pub(super) fn difference(model: &singlet_model::Model, entity: &Entity, old: &Item, new: &Item) -> Update {
    let mut update = Update::new();
    let is_key = |name: &str| model.table.key.iter().any(|key| key.name == name);
    for (name, value) in new {
        if !is_key(name) && old.get(name) != Some(value) {
            update
                .set
                .push((Path::attribute(name), SetOperand::Value(value.clone()).into()));
        }
    }
    for name in old.keys().filter(|name| !new.contains_key(*name) && !is_key(name)) {
        if knows(model, entity, name) {
            update.remove.push(Path::attribute(name));
        }
    }
    update
}

/// Whether the model says what stands under a name.
fn knows(model: &singlet_model::Model, entity: &Entity, name: &str) -> bool {
    let attribute = entity
        .attributes
        .iter()
        .any(|attribute| stored_name(&attribute.stored, &attribute.name) == name);
    let ttl = model.table.ttl.as_deref() == Some(name);
    let mut keys = model.table.indexes.iter().flat_map(|index| index.key());
    attribute || ttl || keys.any(|key| key.name == name)
}

/// The attributes from which what changes follows: index keys, computed attributes, expiry, guards, mirrors.
fn inputs(model: &singlet_model::Model, entity: &Entity, before: &Attributes, after: &Attributes) -> Vec<String> {
    let names = before.keys().chain(after.keys());
    let changed: BTreeSet<&str> = names
        .filter(|name| before.get(*name) != after.get(*name))
        .map(String::as_str)
        .collect();
    let mut found: BTreeSet<String> = BTreeSet::new();
    let mut follow = |sources: Vec<&str>| {
        if sources.iter().any(|name| changed.contains(name)) {
            found.extend(sources.into_iter().map(str::to_owned));
        }
    };
    for attribute in &entity.attributes {
        if let Some(is) = &attribute.is {
            follow(is.attributes());
        }
    }
    if let Some(expires) = &entity.expires {
        follow(expires.attributes());
    }
    for guard in &entity.unique {
        follow(guard.value.attributes());
    }
    for row_of in std::iter::once(entity).chain(model.mirrors_of(entity.id)) {
        follow(
            row_of
                .key_templates()
                .flat_map(|key| &key.parts)
                .map(|part| part.root())
                .collect(),
        );
        for choice in row_of.index.iter().flat_map(|entry| entry.choices()) {
            let whens: Vec<&str> = choice.when.iter().flat_map(|when| when.attributes()).collect();
            for key in &choice.keys {
                let parts = key.parts.iter().map(|part| part.root());
                follow(parts.chain(whens.iter().copied()).collect());
            }
        }
    }
    found.into_iter().collect()
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
