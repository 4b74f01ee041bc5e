//! Tables of rows that a model allows.
//!
//! Values come from small pools, one for each attribute and those that refer to it, so that rows share keys, meet one another and
//! crowd partitions. A row whose items would stand where others stand is left out: so no unique value is there twice.

use std::collections::BTreeMap;
use std::sync::Arc;

use fastrand::Rng;
use singlet_item::limits::{ITEM_SIZE_BYTES_MAX, PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use singlet_item::{Item, Number, Value, item_size_bytes};
use singlet_model::Model;
use singlet_model::evaluate::{evaluate_as, time};
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Attribute, Entity, History, Kept, Stored};
use singlet_model::types::{EntityId, Type};
use singlet_plan::write::WriteCost;
use singlet_runtime::{Attributes, Caller, Scope, Setting, load};
use singlet_values as values;

use super::hints::{Hints, ValuedName};
use super::records::MadeUpRequest;
use super::values::ValueDraw;
use crate::writes::world::{self, Identity, Row};

/// The most rows of an entity that is looked at, and of others.
const FOCUS_ROWS_MAX: u8 = 12;
const OTHER_ROWS_MAX: u8 = 3;

/// How many of a hundred rows are beside another, and of tables for a list with a limit, have more rows than that.
const SIBLINGS_PERCENT: u8 = 45;
const CROWDED_PERCENT: u8 = 30;

/// How many ids a pool has: they are seldom equal by themselves.
const IDS: usize = 7;

/// Instants of calls: between two seconds, at the ends of days, months and years, on a leap day, when clocks are put forward.
const INSTANTS: [&str; 8] = [
    "2026-11-16T12:00:00.500Z",
    "2026-11-16T12:00:00.500Z",
    "2026-01-31T23:30:00.000Z",
    "2028-02-29T00:00:00.000Z",
    "2026-12-31T23:59:59.999Z",
    "2026-03-29T01:00:00.000Z",
    "2026-10-25T00:30:00.001Z",
    "2027-02-28T22:59:59.000Z",
];

/// What decides, and what its expressions say of values.
#[derive(Debug)]
pub(super) struct Judge<'m> {
    pub model: &'m Arc<Model>,
    pub setting: &'m Setting,
    pub hints: &'m Hints,
    /// What writes cost, as plans say, where they are held to it.
    pub write_costs: &'m Option<Arc<[WriteCost]>>,
}

/// Rows, and the instant at which they are looked at.
#[derive(Clone, Debug, Default)]
pub(super) struct ProbeTable {
    pub rows: Vec<Row>,
    pub now: i64,
}

impl<'m> Judge<'m> {
    /// A scope without a request.
    pub fn scope<'a>(&self, now: i64, nothing: &'a Attributes, nobody: &'a Caller) -> Scope<'a>
    where
        'm: 'a,
    {
        Scope {
            setting: self.setting,
            now,
            args: nothing,
            caller: nobody,
            attributes: None,
            row: None,
            bound: nothing,
        }
    }

    /// Every item that rows are kept as; none where a row has no key.
    pub fn items(&self, table: &ProbeTable) -> Option<Vec<Item>> {
        let mut all = Vec::new();
        for (id, row) in &table.rows {
            all.extend(self.items_of(*id, row, table.now)?);
        }
        Some(all)
    }

    /// The items of one row.
    pub fn items_of(&self, id: EntityId, row: &Attributes, now: i64) -> Option<Vec<Item>> {
        let nothing = Attributes::new();
        let entity = self.model.entity(id)?;
        let made = MadeUpRequest::of(entity, row);
        let scope = Scope {
            bound: &made.words,
            row: made.answered.as_ref(),
            ..self.scope(now, &nothing, &made.caller)
        };
        load::items_of_row(self.model, entity, row, scope).ok()
    }

    /// Whether rows can stand beside one another, each as its entity allows.
    pub fn allows_table(&self, table: &ProbeTable) -> bool {
        let mut places = TablePlaces::default();
        table.rows.iter().all(|(id, row)| {
            let fits = self.model.entity(*id).is_some_and(|entity| fits(entity, row));
            let items = self.items_of(*id, row, table.now).filter(|_| fits);
            let thing = (*id, world::row_identity(self.model, *id, row));
            items.is_some_and(|items| places.take(self.model, &thing, vec![items]))
        })
    }

    /// The first instant of a table.
    pub fn first_instant(rng: &mut Rng) -> i64 {
        let text = rng.choice(INSTANTS).unwrap_or_default();
        time::parse_iso(text).unwrap_or_default()
    }
}

/// Whether every value is one of its attribute, and nothing that must be there is missing.
fn fits(entity: &Entity, row: &Attributes) -> bool {
    entity
        .attributes
        .iter()
        .all(|attribute| match row.get(&attribute.name) {
            Some(value) => values::checked_value(value, &attribute.ty).is_ok(),
            None => {
                attribute.optional
                    || attribute.is.is_some()
                    || attribute.copy.is_some()
                    || attribute.stored == Stored::No
            }
        })
}

/// What stands where.
#[derive(Debug, Default)]
struct TablePlaces {
    taken: BTreeMap<Vec<Value>, (Thing, Item)>,
}

/// What rows are versions of.
type Thing = (EntityId, Identity);

impl TablePlaces {
    /// Takes the places of rows' items, unless another stands in one, or the store would not take one. Versions of one thing
    /// share the guard of its identity.
    fn take(&mut self, model: &Model, thing: &Thing, rows: Vec<Vec<Item>>) -> bool {
        let mut placed: BTreeMap<Vec<Value>, (Thing, Item)> = BTreeMap::new();
        for items in rows {
            for (at, item) in items.into_iter().enumerate() {
                let key: Option<Vec<Value>> = model.table.key.iter().map(|key| item.get(&key.name).cloned()).collect();
                let Some(key) = key.filter(|_| is_storable(model, &item)) else {
                    return false;
                };
                let other = self.taken.get(&key).or_else(|| placed.get(&key));
                if other.is_some_and(|(of, other)| at == 0 || of != thing || *other != item) {
                    return false;
                }
                placed.insert(key, (thing.clone(), item));
            }
        }
        self.taken.extend(placed);
        true
    }
}

/// Whether an item and its keys are within the store's limits.
fn is_storable(model: &Model, item: &Item) -> bool {
    let indexes = model.table.indexes.iter();
    let partitions = indexes
        .clone()
        .flat_map(|index| &index.partition)
        .chain(model.table.key.first());
    let sorts = indexes.flat_map(|index| &index.sort).chain(model.table.key.get(1));
    let within = |name: &str, most: usize| match item.get(name) {
        Some(Value::S(text)) => !text.is_empty() && text.len() <= most,
        Some(Value::B(bytes)) => !bytes.is_empty() && bytes.len() <= most,
        _ => true,
    };
    item_size_bytes(item) <= ITEM_SIZE_BYTES_MAX
        && partitions
            .into_iter()
            .all(|key| within(&key.name, PARTITION_KEY_BYTES_MAX))
        && sorts.into_iter().all(|key| within(&key.name, SORT_KEY_BYTES_MAX))
}

/// What a table is drawn for.
#[derive(Debug, Default)]
pub(super) struct Focus {
    /// The entities that are looked at.
    pub entities: Vec<EntityId>,
    /// Those of which a list has so many rows at most.
    pub limited: Vec<(EntityId, u64)>,
    /// Whether rows of the engine's own entities are drawn, where they are looked at. Writes make theirs.
    pub records: bool,
}

/// Draws a table.
pub(super) struct TableDraw<'j> {
    pub judge: &'j Judge<'j>,
    /// What the operation that is tried says of values.
    own: &'j Hints,
    pub values: ValueDraw,
    pools: BTreeMap<String, Vec<Value>>,
    /// How many values a pool has.
    width: usize,
    places: TablePlaces,
    pub table: ProbeTable,
}

impl<'j> TableDraw<'j> {
    /// A table with rows, most of them of the entities that are looked at.
    pub fn new(judge: &'j Judge<'j>, own: &'j Hints, mut rng: Rng, focus: &Focus) -> Self {
        let now = Judge::first_instant(&mut rng);
        let width = usize::from(rng.u8(1..5));
        let mut draw = TableDraw {
            judge,
            own,
            values: ValueDraw {
                rng,
                now,
                zone: judge.setting.zone.clone(),
                delimiter: judge.model.table.delimiter,
            },
            pools: BTreeMap::new(),
            width,
            places: TablePlaces::default(),
            table: ProbeTable { rows: Vec::new(), now },
        };
        draw.fill(focus);
        draw
    }

    fn fill(&mut self, about: &Focus) {
        let model = self.judge.model;
        let mut entities: Vec<&Entity> = model.entities.iter().collect();
        entities.retain(|entity| {
            let is_drawn = entity.role.is_none() || (about.records && about.entities.contains(&entity.id));
            entity.mirror.is_none() && is_drawn
        });
        // What is copied must be there before its copies.
        entities.sort_by_key(|entity| {
            entity
                .attributes
                .iter()
                .filter(|attribute| attribute.copy.is_some())
                .count()
        });
        let source = |id: EntityId| model.entity(id).map(|entity| model.source_of(entity).id);
        let focus: Vec<EntityId> = about.entities.iter().filter_map(|id| source(*id)).collect();
        let limited = about
            .limited
            .iter()
            .filter_map(|(id, limit)| Some((source(*id)?, *limit)));
        let limited: Vec<(EntityId, u64)> = limited.collect();
        for entity in entities {
            let most = match focus.contains(&entity.id) {
                true => FOCUS_ROWS_MAX,
                false => OTHER_ROWS_MAX,
            };
            for _ in 0..self.values.rng.u8(..=most) {
                self.add_row(entity);
            }
            let limit = limited.iter().find(|(id, _)| *id == entity.id);
            if let Some((_, limit)) = limit
                && self.values.percent_chance(CROWDED_PERCENT)
            {
                self.crowd(entity, *limit);
            }
        }
    }

    fn add_row(&mut self, entity: &Entity) {
        let row = match entity.history.is_none() && self.values.percent_chance(SIBLINGS_PERCENT) {
            true => self.sibling(entity),
            false => None,
        };
        let Some(row) = row.or_else(|| self.row(entity)) else {
            return;
        };
        match &entity.history {
            Some(history) => self.add_versions(entity, history, row),
            None => {
                self.place(entity, vec![row]);
            }
        }
    }

    /// Puts rows where nothing else stands, all or none.
    pub(super) fn place(&mut self, entity: &Entity, rows: Vec<Attributes>) {
        let mut items = Vec::new();
        for row in &rows {
            match self.judge.items_of(entity.id, row, self.table.now) {
                Some(own) => items.push(own),
                None => return,
            }
        }
        let model = self.judge.model;
        let Some(first) = rows.first() else { return };
        let thing = (entity.id, world::row_identity(model, entity.id, first));
        if rows.iter().all(|row| fits(entity, row)) && self.places.take(model, &thing, items) {
            self.table.rows.extend(rows.into_iter().map(|row| (entity.id, row)));
        }
    }

    /// Versions of one thing, one after the other; the last may be a deletion.
    pub(super) fn add_versions(&mut self, entity: &Entity, history: &History, first: Attributes) {
        let same = world::row_identity(self.judge.model, entity.id, &first);
        let known = self.table.rows.iter();
        if known
            .clone()
            .any(|(id, row)| *id == entity.id && world::row_identity(self.judge.model, *id, row) == same)
        {
            return;
        }
        let Some(ty) = entity.attribute(&history.at).map(|attribute| attribute.ty.clone()) else {
            return;
        };
        let count = self.values.rng.i64(1..4);
        let step = self.values.rng.choice([1_000, 60_000, 86_400_000]).unwrap_or(1_000);
        let mut versions: Vec<Attributes> = Vec::new();
        for at in 0..count {
            let Ok(begun) = time::instant_as(self.table.now - (count - 1 - at) * step, &ty) else {
                return;
            };
            let mut version = match at {
                0 => first.clone(),
                _ => self.next_version(entity, &first),
            };
            if let Some(last) = versions.last_mut() {
                last.insert(history.until.clone(), begun.clone());
            }
            version.insert(history.at.clone(), begun);
            version.remove(&history.until);
            if let Some(tombstone) = &history.tombstone {
                let gone = at > 0 && at + 1 == count && self.values.percent_chance(25);
                version.insert(tombstone.clone(), Value::Bool(gone));
            }
            versions.push(version);
        }
        if history.tombstone.is_none() && self.values.percent_chance(10) {
            let until = time::instant_as(self.table.now, &ty).ok();
            versions.last_mut().into_iter().for_each(|last| {
                last.extend(until.clone().map(|until| (history.until.clone(), until)));
            });
        }
        let completed: Option<Vec<Attributes>> = versions.into_iter().map(|row| self.completed(entity, row)).collect();
        if let Some(versions) = completed {
            self.place(entity, versions);
        }
    }

    /// Another version: what is not in the key is drawn anew, some of it.
    fn next_version(&mut self, entity: &Entity, first: &Attributes) -> Attributes {
        let mut next = first.clone();
        let Some(other) = self.row(entity) else { return next };
        for attribute in entity.attributes.iter().filter(|attribute| !attribute.fixed) {
            if entity.is_key_attribute(&attribute.name) || self.values.rng.bool() {
                continue;
            }
            match other.get(&attribute.name) {
                Some(value) => next.insert(attribute.name.clone(), value.clone()),
                None => next.remove(&attribute.name),
            };
        }
        next
    }

    /// A row; none where a value that it needs has none.
    pub(super) fn row(&mut self, entity: &Entity) -> Option<Attributes> {
        let mut row = Attributes::new();
        let state = self.state(entity);
        for attribute in &entity.attributes {
            // What the engine's own rows are made of comes from requests.
            let follows = attribute.is.is_some() && entity.role.is_none();
            if follows || attribute.alias.is_some() || attribute.copy.is_some() {
                continue;
            }
            let held = held_in(entity, &attribute.name);
            let value = match (&state, held) {
                (Some((of, state)), _) if *of == attribute.name => Some(Value::S(state.clone())),
                (Some((_, state)), Some(during)) => match during.contains(&state) {
                    true => Some(self.value(entity, attribute)?),
                    false => None,
                },
                _ if attribute.optional && self.values.percent_chance(35) => None,
                _ => self.value(entity, attribute),
            };
            match value {
                Some(value) => {
                    row.insert(attribute.name.clone(), value);
                }
                None if attribute.optional => {}
                None => return None,
            }
        }
        self.copy(entity, &mut row)?;
        self.completed(entity, row)
    }

    /// With all that follows from other attributes.
    pub(super) fn completed(&self, entity: &Entity, row: Attributes) -> Option<Attributes> {
        if entity.role.is_some() {
            return Some(row);
        }
        let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
        let scope = self.judge.scope(self.table.now, &nothing, &nobody);
        world::compute_row(entity, row, scope).ok()
    }

    /// A state that a row can be in: the first, or one that a move or time leads to.
    pub(super) fn state(&mut self, entity: &Entity) -> Option<(String, String)> {
        let states = entity.states.as_ref()?;
        let moves = states.moves.iter().map(|step| &step.to);
        let lapses = states.lapses.iter().map(|lapse| &lapse.to);
        // What lapses is drawn more often.
        let lapsing = states.lapses.iter().map(|lapse| &lapse.from);
        let all = [&states.start].into_iter().chain(moves).chain(lapses).chain(lapsing);
        let mut all: Vec<&String> = all.collect();
        let asked = self.own.literal_values(&ValuedName::Attribute(states.of.clone()));
        if self.values.percent_chance(50)
            && all
                .iter()
                .any(|state| asked.iter().any(|word| word.as_str() == Some(state)))
        {
            all.retain(|state| asked.iter().any(|word| word.as_str() == Some(state)));
        }
        let state = self.values.rng.choice(all)?.clone();
        Some((states.of.clone(), state))
    }

    /// Copies of other rows' attributes. A copy that follows its source is what the source has.
    pub(super) fn copy(&mut self, entity: &Entity, row: &mut Attributes) -> Option<()> {
        for attribute in &entity.attributes {
            let Some(copy) = &attribute.copy else { continue };
            let mut value = self.copied(row, &copy.source, &copy.attribute);
            let loose = matches!(copy.kept, Kept::Frozen | Kept::Unsaid);
            if loose && self.values.percent_chance(30) {
                value = self.value(entity, attribute);
            }
            match value {
                Some(value) => {
                    row.insert(attribute.name.clone(), value);
                }
                // Who refers to a row that is not there has nothing to copy.
                None if attribute.optional && self.wanted_key(row, &copy.source).is_none() => {}
                None => return None,
            }
        }
        Some(())
    }

    fn copied(&self, row: &Attributes, source: &Expr, attribute: &str) -> Option<Value> {
        let (entity, wanted) = self.wanted_key(row, source)?;
        let described = self.judge.model.entity(entity)?;
        let identity = world::row_identity(self.judge.model, entity, &wanted);
        let mut rows = self.table.rows.iter().filter(|(id, _)| *id == entity);
        let known = rows.find(|(id, row)| {
            world::row_identity(self.judge.model, *id, row) == identity && world::is_current(described, row)
        });
        known?.1.get(attribute).cloned()
    }

    /// The row that a row refers to; nothing where it says none.
    fn wanted_key(&self, row: &Attributes, source: &Expr) -> Option<(EntityId, Attributes)> {
        let ExprKind::Entity { entity, key } = &source.kind else {
            return None;
        };
        let described = self.judge.model.entity(*entity)?;
        let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
        let scope = self.judge.scope(self.table.now, &nothing, &nobody);
        let mut wanted = Attributes::new();
        for (name, expr) in key {
            let ty = &described.attribute(name)?.ty;
            let value = evaluate_as(expr, ty, &scope.with_row(row)).ok()??;
            wanted.insert(name.clone(), value);
        }
        Some((*entity, wanted))
    }

    /// A value of an attribute: mostly one that others have too.
    pub(super) fn value(&mut self, entity: &Entity, attribute: &Attribute) -> Option<Value> {
        if attribute.ty == Type::Version {
            return Some(Value::N(Number::from(self.values.rng.i64(1..4))));
        }
        if let Some(value) = self.default_value(attribute) {
            return Some(value);
        }
        let name = ValuedName::Attribute(attribute.name.clone());
        let (written, often) = match self.own.literal_values(&name) {
            [] => (self.judge.hints.literal_values(&name), 12),
            asked => (asked, 40),
        };
        if !written.is_empty() && self.values.percent_chance(often) {
            let value = self.values.rng.choice(written).cloned();
            let fits = value.and_then(|value| values::checked_value(&value, &attribute.ty).ok());
            if fits.is_some() {
                return fits;
            }
        }
        if let Some((id, name)) = &attribute.reference
            && self.values.percent_chance(70)
        {
            let rows = self.table.rows.iter().filter(|(known, _)| known == id);
            let known: Vec<&Value> = rows.filter_map(|(_, row)| row.get(name)).collect();
            if let Some(value) = self.values.rng.choice(known) {
                return Some(value.clone());
            }
        }
        self.pooled(&self.domain(entity, attribute), &attribute.ty)
    }

    /// Whether the operation that is tried, or what becomes of rows by time, looks at an attribute.
    pub(super) fn is_asked(&self, entity: &Entity, name: &str) -> bool {
        let lapses = entity.states.iter().flat_map(|states| &states.lapses);
        let by_time = entity.expires.iter().chain(lapses.map(|lapse| &lapse.at));
        let is_state = entity.states.as_ref().is_some_and(|states| states.of == name);
        is_state || self.own.is_asked(name) || by_time.flat_map(Expr::attributes).any(|known| known == name)
    }

    /// Now and then what a create would fill in.
    fn default_value(&mut self, attribute: &Attribute) -> Option<Value> {
        let default = attribute.default.as_ref().or(attribute.always.as_ref())?;
        if default.any(Expr::is_generated) || !self.values.percent_chance(25) {
            return None;
        }
        let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
        let scope = self.judge.scope(self.table.now, &nothing, &nobody);
        let value = evaluate_as(default, &attribute.ty, &scope).ok()??;
        values::checked_value(&value, &attribute.ty).ok()
    }

    /// The name of the pool: that of the attribute whose type this one was declared with.
    fn domain(&self, entity: &Entity, attribute: &Attribute) -> String {
        let (mut entity, mut attribute) = (entity, attribute);
        // A reference to a reference; longer chains than there are entities go round.
        for _ in 0..self.judge.model.entities.len() {
            let Some((of, name)) = &attribute.reference else { break };
            let next = self.judge.model.entity(*of);
            match next.and_then(|next| Some((next, next.attribute(name)?))) {
                Some(next) => (entity, attribute) = next,
                None => break,
            }
        }
        format!("{}.{}", entity.name, attribute.name)
    }

    fn pooled(&mut self, domain: &str, ty: &Type) -> Option<Value> {
        if self.values.percent_chance(6) {
            return self.values.fresh_value(ty);
        }
        if !self.pools.contains_key(domain) {
            let count = match ty {
                Type::Ulid | Type::Ksuid | Type::Uuid => IDS,
                _ => self.width,
            };
            let values = (0..count).filter_map(|_| self.values.fresh_value(ty)).collect();
            self.pools.insert(domain.to_owned(), values);
        }
        let pool = self.pools.get(domain)?;
        self.values.rng.choice(pool).cloned()
    }
}

/// The states during which alone an attribute holds.
pub(super) fn held_in<'e>(entity: &'e Entity, name: &str) -> Option<Vec<&'e String>> {
    let states = entity.states.as_ref()?;
    let holding = states.holding.iter();
    let during = holding.filter(|(_, held)| held.iter().any(|(known, _)| known == name));
    let during: Vec<&String> = during.flat_map(|(during, _)| during).collect();
    (!during.is_empty()).then_some(during)
}
