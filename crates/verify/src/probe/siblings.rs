//! Rows beside others: equal but for a thing or two, so that what a clause keeps and what it drops stand side by side.

use singlet_item::Value;
use singlet_model::expression::ExprKind;
use singlet_model::model::{Attribute, Entity};
use singlet_model::types::{EntityId, Type};
use singlet_runtime::Attributes;

use super::table::{TableDraw, held_in};
use crate::writes::world;

/// How many rows more than a limit a crowd has, at most.
const CROWD_MORE_MAX: u64 = 2;

/// Further than this before or after the call nothing lapses in a test.
const LATER_MILLIS: i64 = 3_600_000;

impl TableDraw<'_> {
    /// A row that differs from one that is there in its id and in a thing or two.
    pub(super) fn sibling(&mut self, entity: &Entity) -> Option<Attributes> {
        let rows = self.table.rows.iter().filter(|(id, _)| *id == entity.id);
        let known: Vec<&Attributes> = rows.map(|(_, row)| row).collect();
        let mut row = self.values.rng.choice(known)?.clone();
        self.give_another_key(entity, &mut row)?;
        for _ in 0..self.values.rng.u8(..=2) {
            self.change_something(entity, &mut row);
        }
        self.copy(entity, &mut row)?;
        self.completed(entity, row)
    }

    /// More rows than a limit has, all alike: in one partition, and in an order.
    pub(super) fn crowd(&mut self, entity: &Entity, limit: u64) {
        let rows = self.table.rows.iter().filter(|(id, _)| *id == entity.id);
        let known: Vec<Attributes> = rows.map(|(_, row)| row.clone()).collect();
        let Some(first) = self.values.rng.choice(known) else {
            return;
        };
        let Some(name) = self.telling_variable(entity) else {
            return;
        };
        let (Some(ty), Some(value)) = (entity.attribute(&name).map(|known| known.ty.clone()), first.get(&name)) else {
            return;
        };
        for at in 1..=limit + self.values.rng.u64(..=CROWD_MORE_MAX) {
            let mut row = first.clone();
            let Some(value) = self.values.nth_after(value, &ty, at) else {
                return;
            };
            row.insert(name.clone(), value);
            if let Some(row) = self.completed(entity, row) {
                self.place(entity, vec![row]);
            }
        }
    }

    /// The variable of the key in which rows of one partition differ: an id, or else the last.
    fn telling_variable(&self, entity: &Entity) -> Option<String> {
        let names = world::key_variables(self.judge.model, entity.id);
        let is_id = |name: &&String| {
            let attribute = entity.attribute(name);
            attribute.is_some_and(|known| {
                matches!(known.ty, Type::Ulid | Type::Ksuid | Type::Uuid) && known.reference.is_none()
            })
        };
        names.iter().find(is_id).or(names.last()).cloned()
    }

    fn give_another_key(&mut self, entity: &Entity, row: &mut Attributes) -> Option<()> {
        let name = self.telling_variable(entity)?;
        let attribute = entity.attribute(&name)?;
        let value = self.another_value(entity, attribute, row.get(&name))?;
        row.insert(name, value);
        Some(())
    }

    /// One attribute has another value, or none.
    pub(super) fn change_something(&mut self, entity: &Entity, row: &mut Attributes) {
        let free =
            |attribute: &&Attribute| attribute.is.is_none() && attribute.alias.is_none() && attribute.copy.is_none();
        let all: Vec<&Attribute> = entity.attributes.iter().filter(free).collect();
        // What conditions look at tells rows apart.
        let asked: Vec<&Attribute> = all
            .iter()
            .copied()
            .filter(|known| self.is_asked(entity, &known.name))
            .collect();
        let all = if !asked.is_empty() && self.values.percent_chance(75) {
            asked
        } else {
            all
        };
        if let Some(attribute) = self.values.rng.choice(all) {
            self.change_attribute(entity, attribute, row);
        }
    }

    /// That attribute has another value, or none.
    pub(super) fn change_attribute(&mut self, entity: &Entity, attribute: &Attribute, row: &mut Attributes) {
        if entity.states.as_ref().is_some_and(|states| states.of == attribute.name) {
            if let Some((_, state)) = self.state(entity) {
                self.put_in_state(entity, row, &state);
            }
            return;
        }
        let is_held = held_in(entity, &attribute.name).is_some();
        if attribute.optional && !is_held && self.values.percent_chance(25) {
            row.remove(&attribute.name);
            return;
        }
        if is_held && !row.contains_key(&attribute.name) {
            return;
        }
        if let Some(value) = self.another_value(entity, attribute, row.get(&attribute.name)) {
            row.insert(attribute.name.clone(), value);
        }
    }

    fn another_value(&mut self, entity: &Entity, attribute: &Attribute, known: Option<&Value>) -> Option<Value> {
        let near = match known.filter(|_| self.values.rng.bool()) {
            Some(known) => self.values.neighbour_value(known, &attribute.ty),
            None => None,
        };
        near.or_else(|| self.value(entity, attribute))
    }

    /// A row in a state, with what holds during it and not what does not. A state that lapses is mostly not over yet.
    pub(super) fn put_in_state(&mut self, entity: &Entity, row: &mut Attributes, state: &str) {
        let Some(states) = &entity.states else { return };
        row.insert(states.of.clone(), Value::from(state));
        let held: Vec<&String> = states
            .holding
            .iter()
            .flat_map(|(_, held)| held.iter().map(|(name, _)| name))
            .collect();
        for name in held {
            let during = held_in(entity, name).unwrap_or_default();
            let holds = during.iter().any(|known| *known == state);
            match (holds, row.contains_key(name)) {
                (true, false) => {
                    let attribute = entity.attribute(name);
                    let value = attribute.and_then(|attribute| self.value(entity, attribute));
                    row.extend(value.map(|value| (name.clone(), value)));
                }
                (false, true) => {
                    row.remove(name);
                }
                _ => {}
            }
        }
        let lapse = states.lapses.iter().find(|lapse| lapse.from == state);
        if let Some(ExprKind::Attribute(name)) = lapse.map(|lapse| &lapse.at.kind)
            && let Some(attribute) = entity.attribute(name)
            && self.values.percent_chance(75)
        {
            let later = singlet_model::evaluate::time::instant_as(self.table.now + LATER_MILLIS, &attribute.ty);
            row.extend(later.ok().map(|later| (name.clone(), later)));
        }
    }

    /// The row of an entity with that identity, the current one.
    pub(super) fn position(&self, (id, identity): &(EntityId, world::Identity)) -> Option<usize> {
        let entity = self.judge.model.entity(*id)?;
        self.table.rows.iter().position(|(known, row)| {
            known == id
                && world::row_identity(self.judge.model, *id, row) == *identity
                && world::is_current(entity, row)
        })
    }
}
