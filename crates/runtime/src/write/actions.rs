//! The actions that the changes of rows become: what is put, updated, deleted and checked, and under which conditions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use singlet_item::{Item, Number, Value};
use singlet_model::model::{Entity, IndexEntry, Step, Stored};
use singlet_plan::write::DefaultRefusal;
use singlet_store::{Path, SetOperand, Update};

use super::attempt::Attempt;
use super::create::key_in;
use super::guards::Guards;
use super::touched::{
    Before, Doing, Parts, RowCheck, Touched, TouchedChange, WriteAction, absent_now, present_item, stored_name,
};
use super::{AttemptStop, internal_mistake, send};
use crate::by_key::primary_key;
use crate::load::BY;
use crate::row;
use crate::scope::Attributes;

impl<'a> Attempt<'a> {
    /// The actions that a row's change becomes.
    pub(crate) fn actions_of(&self, at: usize, parts: Parts<'a>) -> Result<Vec<WriteAction<'a>>, AttemptStop> {
        let touched = self.touched(at)?;
        let Parts { key, checks, others } = parts;
        let mut actions = match touched.change {
            TouchedChange::Nothing => self.check_of(touched, key, checks)?,
            TouchedChange::Create => self.put_of(touched, key, checks)?,
            // What becomes of a version was put beside the row by the step.
            TouchedChange::Update if touched.entity.history.is_some() => Vec::new(),
            TouchedChange::Update if touched.is_read() => self.update_of(touched, key, checks)?,
            TouchedChange::Update => vec![self.blind_of(touched, key, checks)?],
            TouchedChange::Delete => self.delete_of(touched, key, checks)?,
        };
        actions.extend(others);
        Ok(actions)
    }

    /// Where something follows the changes of an entity, a state that time has ended is stored in a write of its own before the row
    /// is written: whoever follows sees both changes. Then all is evaluated anew.
    pub(crate) async fn store_lapses(&mut self) -> Result<(), AttemptStop> {
        let model = self.operation.model;
        for at in 0..self.rows.len() {
            let touched = self.touched(at)?;
            let entity = touched.entity;
            let is_changed = matches!(touched.change, TouchedChange::Update | TouchedChange::Delete);
            // Only for those who follow: a reader sees a lapsed state as the later one without it.
            if !is_changed || !model.is_followed(entity.id) || entity.history.is_some() {
                continue;
            }
            // One that has ended is not seen, and what is in its place is new.
            let Some(item) = touched.item().filter(|_| touched.row().is_some()) else {
                continue;
            };
            let Some(row) = row::lapsed_once(entity, &row::decode_as_stored(entity, item)?, self.scope(None))? else {
                continue;
            };
            let mut lapsed = Touched::new(entity, touched.key.clone(), Arc::clone(&touched.named));
            lapsed.before = Before::Read {
                item: Some(item.clone()),
                row: Some(Arc::new(row.clone())),
            };
            // In a request of its own, so that the change stream has two changes where two things happened.
            let actions = self.lapse_of(lapsed, row)?;
            Box::pin(send::send_actions(self.operation, actions, false, &mut self.consumed)).await?;
            // What was read is no longer what is stored, so that pins made of it would fail.
            return Err(AttemptStop::Again);
        }
        Ok(())
    }

    /// What stores a row as it is seen, on condition of what was read. Its version stays: for a reader nothing changes.
    pub(crate) fn lapse_of(
        &self,
        mut lapsed: Touched<'a>,
        row: Attributes,
    ) -> Result<Vec<WriteAction<'a>>, AttemptStop> {
        lapsed.after = Some(Arc::new(row::complete_row(lapsed.entity, row, self.scope(None))?));
        lapsed.change = TouchedChange::Update;
        // The state follows from the whole row, so that all of it must still be so.
        lapsed.used.whole = true;
        self.update_of(&lapsed, lapsed.key.clone(), Vec::new())
    }

    fn check_of(
        &self,
        touched: &Touched<'a>,
        key: Item,
        mut checks: Vec<RowCheck<'a>>,
    ) -> Result<Vec<WriteAction<'a>>, AttemptStop> {
        if touched.entity.history.is_some() {
            return self.check_of_version(touched);
        }
        // A row that decided something is pinned also where nothing of it changes.
        checks.extend(touched.pins(self.operation.model, &[]));
        Ok(match checks.is_empty() {
            true => Vec::new(),
            false => vec![WriteAction {
                key,
                doing: Doing::Check,
                checks,
            }],
        })
    }

    fn put_of(
        &self,
        touched: &Touched<'a>,
        key: Item,
        mut checks: Vec<RowCheck<'a>>,
    ) -> Result<Vec<WriteAction<'a>>, AttemptStop> {
        if touched.entity.history.is_some() {
            return Ok(Vec::new());
        }
        let after = touched.after.as_ref();
        let after = after.ok_or_else(|| internal_mistake("a row is made of nothing"))?;
        let item = row::encode_own(self.operation.model, touched.entity, after, self.scope(None))?;
        checks.extend(touched.pins(self.operation.model, &[]));
        Ok(vec![WriteAction {
            key,
            doing: Doing::Put(item),
            checks,
        }])
    }

    /// An update of a row that was read: what differs is written, what it follows from is pinned.
    fn update_of(
        &self,
        touched: &Touched<'a>,
        own_key: Item,
        mut checks: Vec<RowCheck<'a>>,
    ) -> Result<Vec<WriteAction<'a>>, AttemptStop> {
        let model = self.operation.model;
        let entity = touched.entity;
        let Some(after) = &touched.after else {
            // What it becomes is not known yet; what must hold of it is.
            return self.check_of(touched, own_key, checks);
        };
        let item = touched.item();
        let item = item.ok_or_else(|| internal_mistake("a row is changed that is not there"))?;
        let stored = row::decode_as_stored(entity, item)?;
        let now = self.scope(None);
        // Both are encoded by the same rules, so that what differs between them is what this write changes.
        let mut new: Vec<_> = row::encode_each(model, entity, after, now)?;
        // From the row as it is stored, lapsed or not: it is compared with what is in the table, not with what readers see.
        let mut old: Vec<_> = row::encode_each(model, entity, &stored, now)?;
        if new.is_empty() || old.is_empty() {
            return Err(internal_mistake("a row has no item"));
        }
        let (_, mut new_item) = new.remove(0);
        old.remove(0);
        let mark = self.operation.change.and_then(|cause| cause.mark);
        let mark = mark.filter(|_| model.is_followed(entity.id));
        // Not only what was looked at: a key that is made of two attributes is wrong if somebody else changes the other.
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
                // By key: under the same key it is the same item, which may have attributes that this model does not know.
                Some(old_mirror) if key_in(model, old_mirror) == key => {
                    let update = item_update(model, mirror, old_mirror, new_mirror);
                    if !update.is_empty() {
                        actions.push(WriteAction {
                            key,
                            doing: Doing::Update(update),
                            // An update makes an item where there is none: one that was removed meanwhile would come back as a
                            // fragment.
                            checks: vec![RowCheck::pin(present_item(model))],
                        });
                    }
                }
                _ => {
                    also.extend(mirror.attributes.iter().map(|attribute| attribute.name.as_str()));
                    let why = DefaultRefusal::Mirror(mirror.name.clone());
                    let check = touched.by.map(|by| self.rule_check(by, entity, &why, free.clone()));
                    actions.push(WriteAction {
                        key,
                        doing: Doing::Put(new_mirror.clone()),
                        checks: check.into_iter().collect(),
                    });
                }
            }
        }
        // Only where no new mirror of that entity has this key, or what was just put would be removed in the same transaction.
        for (id, old_mirror) in &old {
            let key = key_in(model, old_mirror);
            let stays = new
                .iter()
                .any(|(known, item)| known == id && key_in(model, item) == key);
            if !stays {
                actions.push(WriteAction {
                    key,
                    doing: Doing::Delete,
                    checks: Vec::new(),
                });
            }
        }
        actions.extend(self.guards_moved(entity, touched.by, &stored, after)?);
        // With the inputs of what follows, or another write could change one of them between reading and writing.
        checks.extend(touched.pins(model, &also));
        let new_key = primary_key(entity, after)?;
        // A key cannot be updated: the row is put under its new one and removed from the old, in one transaction.
        if let Some(new_key) = new_key.filter(|key| *key != own_key) {
            // The row moves to another key.
            let check = touched
                .by
                .map(|by| self.rule_check(by, entity, &DefaultRefusal::Exists, free));
            let gone = WriteAction {
                key: own_key,
                doing: Doing::Delete,
                // The checks are on the old place: there stands what was read.
                checks,
            };
            new_item.extend(mark.map(|mark| (BY.to_owned(), Value::S(mark.to_owned()))));
            // That its place is taken is said before that a mirror's is.
            let there = WriteAction {
                key: new_key,
                doing: Doing::Put(new_item),
                checks: check.into_iter().collect(),
            };
            actions.splice(0..0, [gone, there]);
            return Ok(actions);
        }
        let update = item_update(model, entity, item, &new_item);
        let doing = match (update.is_empty(), mark) {
            // Nothing differs, but what was read still decided that: it must still hold.
            (true, _) => Doing::Check,
            (false, Some(mark)) => Doing::Update(update.set(BY, Value::S(mark.to_owned()))),
            (false, None) => Doing::Update(update),
        };
        actions.insert(
            0,
            WriteAction {
                key: own_key,
                doing,
                checks,
            },
        );
        Ok(actions)
    }

    /// Guards released and claimed where a unique value changes, renewed where the row expires at another time or moves.
    pub(crate) fn guards_moved(
        &self,
        entity: &'a Entity,
        by: Option<(&'a Step, u32)>,
        before: &Attributes,
        after: &Attributes,
    ) -> Result<Vec<WriteAction<'a>>, AttemptStop> {
        let model = self.operation.model;
        let now = self.operation.request.now;
        let scope = self.scope(None);
        let old = Guards::of(model, entity, before, scope)?;
        let new = Guards::of(model, entity, after, scope)?;
        let mut actions = Vec::new();
        for (name, key) in &old.by_name {
            match new.by_name.get(name) {
                Some(kept) if kept == key => {
                    // A guard that expires before its row would free the value while the row still has it.
                    if old.ttl != new.ttl || old.owner != new.owner {
                        actions.push(new.renew(model, key));
                    }
                }
                // The old one as well, or the value would stay taken by a row that no longer has it.
                _ => actions.push(old.release(key)),
            }
        }
        for (name, key) in &new.by_name {
            // Only what is new to the row: its own guard would otherwise refuse it.
            if old.by_name.get(name) != Some(key) {
                let why = DefaultRefusal::Taken(name.clone());
                let condition = absent_now(model, entity.expires.is_some(), now);
                let check = match by {
                    Some(by) => self.rule_check(by, entity, &why, condition),
                    None => RowCheck::pin(condition),
                };
                actions.push(new.claim(model, key, entity.expires.is_some(), now, check));
            }
        }
        Ok(actions)
    }

    /// An update of a row that was not read.
    fn blind_of(
        &self,
        touched: &Touched<'a>,
        key: Item,
        checks: Vec<RowCheck<'a>>,
    ) -> Result<WriteAction<'a>, AttemptStop> {
        let model = self.operation.model;
        let entity = touched.entity;
        let mut row = PartlyKnownRow::of(touched);
        let mut update = Update::new();
        let mut put = |name: &str, value: Option<Value>| match value {
            Some(value) => update
                .set
                .push((Path::attribute(name), SetOperand::Value(value).into())),
            None => update.remove.push(Path::attribute(name)),
        };
        let mut touched_names: BTreeSet<&str> = touched.edits.touched().collect();
        // Before what is computed, which is made of it.
        for (name, value) in &touched.edits.set {
            let attribute = entity.attribute(name);
            let attribute = attribute.ok_or_else(|| internal_mistake("what is set is no attribute"))?;
            if attribute.alias.is_none() && attribute.stored != Stored::No {
                put(stored_name(&attribute.stored, name), value.clone());
            }
        }
        for attribute in &entity.attributes {
            let (Some(is), None) = (&attribute.is, &attribute.alias) else {
                continue;
            };
            let sources = is.attributes();
            // What hangs on an attribute that nobody knows cannot be computed: the plan has such a row read.
            if sources.iter().any(|name| touched_names.contains(*name)) && sources.iter().all(|name| row.knows(name)) {
                let value = self.computed_as(is, &attribute.ty, row.whole())?;
                row.follows(&attribute.name, value.clone());
                touched_names.insert(&attribute.name);
                if attribute.stored != Stored::No {
                    put(stored_name(&attribute.stored, &attribute.name), value);
                }
            }
        }
        for entry in &entity.index {
            for (name, value) in self.entry_keys(entity, entry, &mut row, &touched_names)? {
                put(name, value);
            }
        }
        if let (Some(ttl), Some(expires)) = (&model.table.ttl, &entity.expires)
            && expires.attributes().iter().any(|name| touched_names.contains(*name))
        {
            let seconds = row::expiry_of(model, entity, row.whole(), self.scope(None))?;
            put(ttl, seconds.map(|seconds| Value::N(Number::from(seconds))));
        }
        for (name, number) in &touched.edits.add {
            let attribute = entity.attribute(name);
            let attribute = attribute.ok_or_else(|| internal_mistake("what is added to is no attribute"))?;
            let stored = stored_name(&attribute.stored, name);
            update.add.push((Path::attribute(stored), Value::N(*number)));
        }
        // Without pins, since nothing of the row was looked at.
        Ok(WriteAction {
            key,
            doing: Doing::Update(update),
            checks,
        })
    }

    /// The key attributes of an index that follow from what changes; those of a template that is not complete are removed.
    fn entry_keys<'e>(
        &self,
        entity: &Entity,
        entry: &'e IndexEntry,
        row: &mut PartlyKnownRow<'_>,
        touched: &BTreeSet<&str>,
    ) -> Result<Vec<(&'e str, Option<Value>)>, AttemptStop> {
        let choices = entry.key_choices();
        let conditional = choices.iter().any(|choice| choice.when.is_some());
        let involved = choices.iter().any(|choice| {
            let parts = choice.keys.iter().flat_map(|key| &key.parts);
            let whens = choice.when.iter().flat_map(|when| when.attributes());
            parts
                .map(|part| part.root_attribute())
                .chain(whens)
                .any(|name| touched.contains(name))
        });
        if !involved {
            return Ok(Vec::new());
        }
        let chosen = match conditional {
            true => row::template_choice(choices, row.whole(), self.scope(None))?,
            false => choices.first(),
        };
        let lookup = |path: &str| row::at_path_of(|name| row.attribute(name), path);
        let mut keys: Vec<(&'e str, Option<Value>)> = Vec::new();
        // All choices: a key of the choice that held before is removed where another holds now.
        for template in choices.iter().flat_map(|choice| &choice.keys) {
            let own = entity.attribute(&template.attribute).is_some();
            let follows = conditional
                || template
                    .parts
                    .iter()
                    .any(|part| touched.contains(part.root_attribute()));
            let table_key = self
                .operation
                .model
                .table
                .key
                .iter()
                .any(|key| key.name == template.attribute);
            // The key of the table cannot be updated.
            if own || !follows || table_key || keys.iter().any(|(name, _)| *name == template.attribute) {
                continue;
            }
            let current = chosen.and_then(|choice| choice.attribute_template(&template.attribute));
            let value = match current {
                Some(current) => row::encode_key(entity, current, &lookup)?,
                None => None,
            };
            // Also with no value: a key that is not complete any more has to go, or the row stays in the index under the old one.
            keys.push((&template.attribute, value));
        }
        Ok(keys)
    }

    fn delete_of(
        &self,
        touched: &Touched<'a>,
        key: Item,
        mut checks: Vec<RowCheck<'a>>,
    ) -> Result<Vec<WriteAction<'a>>, AttemptStop> {
        let model = self.operation.model;
        if touched.entity.history.is_some() {
            return Ok(Vec::new());
        }
        let mut actions = Vec::new();
        let mut also: Vec<String> = Vec::new();
        if let Some(item) = touched.item() {
            let stored = row::decode_as_stored(touched.entity, item)?;
            let items = row::encode_each(model, touched.entity, &stored, self.scope(None))?;
            // The first is the row itself.
            for (id, mirror_item) in items.into_iter().skip(1) {
                let mirror = self.entity(id)?;
                also.extend(
                    mirror
                        .key_templates()
                        .flat_map(|key| &key.parts)
                        .map(|part| part.root_attribute().to_owned()),
                );
                actions.push(WriteAction {
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
        // Keys of mirrors and guards follow from what was read: if it has changed, others would have to be removed.
        checks.extend(touched.pins(model, &also));
        actions.insert(
            0,
            WriteAction {
                key,
                doing: Doing::Delete,
                checks,
            },
        );
        Ok(actions)
    }
}

/// A row that was not read, as far as it is known by its key and by what is set in it: what follows from it is made of that.
struct PartlyKnownRow<'t> {
    known: &'t Attributes,
    set: &'t BTreeMap<&'t str, Option<Value>>,
    /// Both as one row, once somebody needs it; then what follows from it is there too.
    whole: Option<Attributes>,
}

impl<'t> PartlyKnownRow<'t> {
    fn of<'a: 't>(touched: &'t Touched<'a>) -> Self {
        PartlyKnownRow {
            known: touched.known(),
            set: &touched.edits.set,
            whole: None,
        }
    }

    fn attribute(&self, name: &str) -> Option<&Value> {
        match (&self.whole, self.set.get(name)) {
            (Some(whole), _) => whole.get(name),
            (None, Some(value)) => value.as_ref(),
            (None, None) => self.known.get(name),
        }
    }

    /// Whether it is known what the attribute becomes, be it nothing.
    fn knows(&self, name: &str) -> bool {
        self.set.contains_key(name) || self.known.contains_key(name) || self.attribute(name).is_some()
    }

    fn whole(&mut self) -> &Attributes {
        self.whole_mut()
    }

    fn whole_mut(&mut self) -> &mut Attributes {
        self.whole.get_or_insert_with(|| {
            let mut whole = self.known.clone();
            for (name, value) in self.set {
                match value {
                    Some(value) => whole.insert((*name).to_owned(), value.clone()),
                    None => whole.remove(*name),
                };
            }
            whole
        })
    }

    /// An attribute is computed of the others.
    fn follows(&mut self, name: &str, value: Option<Value>) {
        match value {
            Some(value) => self.whole_mut().insert(name.to_owned(), value),
            None => self.whole_mut().remove(name),
        };
    }
}

/// What differs between two items of an entity, as an update; attributes that the model does not know stay.
pub(super) fn item_update(model: &singlet_model::Model, entity: &Entity, old: &Item, new: &Item) -> Update {
    let mut update = Update::new();
    let is_key = |name: &str| model.table.key.iter().any(|key| key.name == name);
    for (name, value) in new {
        // A key attribute in an update is refused by DynamoDB, and equal here in any case.
        if !is_key(name) && old.get(name) != Some(value) {
            update
                .set
                .push((Path::attribute(name), SetOperand::Value(value.clone()).into()));
        }
    }
    for name in old.keys().filter(|name| !new.contains_key(*name) && !is_key(name)) {
        // Attributes that the model does not know are somebody else's, and stay.
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
        // Where one of the sources changes, all of them count: the result is made of all.
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
                .map(|part| part.root_attribute())
                .collect(),
        );
        for choice in row_of.index.iter().flat_map(|entry| entry.key_choices()) {
            let whens: Vec<&str> = choice.when.iter().flat_map(|when| when.attributes()).collect();
            for key in &choice.keys {
                let parts = key.parts.iter().map(|part| part.root_attribute());
                follow(parts.chain(whens.iter().copied()).collect());
            }
        }
    }
    found.into_iter().collect()
}
