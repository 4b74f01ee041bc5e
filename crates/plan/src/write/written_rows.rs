//! The rows that a step writes: its own, and those that follow from it. Mirrors, guards, versions, copies, and the rows that must
//! or must not be there beside it.

use std::collections::BTreeMap;

use singlet_model::Model;
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Entity, History, Let, LetValue, States, Step, StepKind, Write};
use singlet_model::types::EntityId;

use super::change::Change;
use super::copies::{copy_holders, holder_key};
use super::cost::Units;
use super::named_rows::entities_named;
use super::possible::has_new_key;
use super::turns::{Turn, write_turns};
use crate::show::show_expression;

const CHECK_OF: &str = "the check of";
const GUARDS_OF: &str = "the guards of";

/// How far copies of copies are followed.
const COPIES_DEPTH_MAX: usize = 4;

/// A row that a step writes or checks, how many of them, and what happens in the indexes.
pub(super) struct Row<'a> {
    pub entity: &'a Entity,
    /// What it is to the entity, where it is not its own row: `the guards of`.
    pub what: &'static str,
    pub rows: Units,
    pub entries: Vec<EntryCost<'a>>,
}

/// What a write costs in one index.
pub(super) struct EntryCost<'a> {
    pub index: &'a str,
    pub units: Units,
    /// The same where a row that has expired and was not removed yet may stand where one is put: its entry goes, or is the same.
    pub over_expired: Units,
}

impl Row<'_> {
    /// Whether it is a small row that the model itself keeps.
    pub fn is_guard(&self) -> bool {
        self.what == GUARDS_OF
    }
}

/// The rows of one write.
pub(super) struct Rows<'a> {
    model: &'a Model,
    write: &'a Write,
}

impl<'a> Rows<'a> {
    pub fn new(model: &'a Model, write: &'a Write) -> Self {
        Rows { model, write }
    }

    /// The rows of a step.
    pub fn of(&self, step: &'a Step) -> Vec<Row<'a>> {
        let entity = step.entity().and_then(|id| self.model.entity(id));
        let Some(entity) = entity else { return Vec::new() };
        if matches!(step.kind, StepKind::Present(_) | StepKind::Absent(_)) {
            return vec![plain(CHECK_OF, entity, (1, 1))];
        }
        let change = Change::of(entity, step);
        let mut rows = match &entity.history {
            Some(history) => {
                let mut rows = self.versions(entity, history, &change);
                // Each version has mirrors of its own.
                let mirrors = self.model.mirrors_of(entity.id);
                rows.extend(mirrors.map(|mirror| self.row(mirror, &Change::whole_row(mirror), (0, 1))));
                rows
            }
            None => self.row_and_mirrors(entity, &change, step.rekey),
        };
        rows.extend(self.guards(entity, &change, step.rekey));
        if change.is_create() || change.is_upsert() {
            rows.extend(self.excluded(entity, step, &change));
            rows.extend(self.sources(entity, step, &change));
        }
        if change.is_update() || change.is_upsert() {
            rows.extend(self.copies(entity, &change, 0));
        }
        rows
    }

    fn row(&self, entity: &'a Entity, change: &Change<'a>, rows: Units) -> Row<'a> {
        // Where a part of the key is made up, nothing stands there.
        let is_new = change
            .created_by()
            .is_some_and(|(source, step)| has_new_key(self.write, source, entity, step));
        let puts = (change.is_create() || change.is_upsert()) && !is_new;
        let entries = entity.index.iter().filter_map(|entry| {
            let index = self.model.index(entry.index)?;
            let units = change.entry_units(entry, &index.projection);
            let units = (if rows.0 == 0 { 0 } else { units.0 }, units.1);
            let over_expired = match puts && self.expires(entity) {
                true => (0, units.1.max(change.index_presence(entry.key_choices()).1 + 1)),
                false => units,
            };
            Some(EntryCost {
                index: &index.name,
                units,
                over_expired,
            })
        });
        let unsaid = self.unsaid_entries(entity, change, rows);
        let entries = entries.chain(unsaid).collect();
        Row {
            entity,
            what: "",
            rows,
            entries,
        }
    }

    /// The entries in indexes of which the entity says nothing, and which have its rows all the same: those over the table's own keys.
    fn unsaid_entries(&self, entity: &'a Entity, change: &Change<'a>, rows: Units) -> Vec<EntryCost<'a>> {
        let is_said = |id| {
            entity
                .index_entry(id)
                .is_some_and(|entry| !entry.key_choices().is_empty())
        };
        let indexes = self.model.table.indexes_of_all_items();
        let unsaid = indexes.filter(|(id, _)| !is_said(*id));
        let entries = unsaid.map(|(_, index)| {
            let (least, most) = change.entry_units_of_whole(&index.projection);
            let units = (rows.0.min(1) * least, rows.1.min(1) * most);
            EntryCost {
                index: &index.name,
                units,
                over_expired: units,
            }
        });
        entries.collect()
    }

    /// A row that may move to another key: it is then removed and put, and so are its index entries.
    fn moving(&self, entity: &'a Entity, change: &Change<'a>, rows: Units) -> Row<'a> {
        let mut row = self.row(entity, change, rows);
        for (entry, cost) in entity.index.iter().zip(&mut row.entries) {
            let (least, most) = change.index_presence(entry.key_choices());
            cost.units = (cost.units.0.min(2 * least), 2 * most);
            cost.over_expired = match self.expires(entity) {
                true => (cost.units.0.min(least), cost.units.1 + 1),
                false => cost.units,
            };
        }
        let unsaid = row.entries.iter_mut().skip(entity.index.len());
        unsaid.for_each(|cost| (cost.units.1, cost.over_expired.1) = (2, 2));
        row
    }

    /// Whether rows of an entity expire: a mirror's do with those that it mirrors.
    fn expires(&self, entity: &Entity) -> bool {
        self.model.source_of(entity).expires.is_some()
    }

    /// What stores a state that has lapsed, in a write before that of a step.
    pub fn lapse_of(&self, entity: &'a Entity, states: &'a States) -> Vec<Row<'a>> {
        let names = states.held_until_lapse().into_iter().chain([states.of.as_str()]);
        let change = Change::following_change(entity, names, false);
        let mut rows = self.row_and_mirrors(entity, &change, false);
        rows.extend(self.copies(entity, &change, 0));
        rows
    }

    fn row_and_mirrors(&self, entity: &'a Entity, change: &Change<'a>, rekey: bool) -> Vec<Row<'a>> {
        let mut rows = vec![match rekey {
            true => self.moving(entity, change, (1, 2)),
            false => self.row(entity, change, (1, 1)),
        }];
        for mirror in self.model.mirrors_of(entity.id) {
            let (written, moves) = change.mirror_rows(mirror);
            rows.push(match moves || rekey {
                true => self.moving(mirror, change, (0, 2)),
                false => self.row(mirror, change, written),
            });
        }
        rows
    }

    /// The next version and the end of the last; of a first version, and of one after the last end, the guard of the identity.
    fn versions(&self, entity: &'a Entity, history: &'a History, change: &Change<'a>) -> Vec<Row<'a>> {
        let next = Change::whole_row(entity);
        let closes = [history.until.as_str()];
        // An update that changes nothing only checks that the last version still is.
        let always = !change.is_update() || history.again;
        let closed = Change::following_change(entity, closes, true);
        let mut last = self.row(entity, &closed, (1, 1));
        last.what = if change.is_create() {
            "the identity or the tombstone of"
        } else {
            "the last version of"
        };
        if !always || change.is_create() || change.is_upsert() {
            // Or there is none, and the identity is claimed in its place.
            last.entries.iter_mut().for_each(|entry| {
                entry.units.0 = 0;
                entry.over_expired.0 = 0;
            });
        }
        if change.is_create() {
            return vec![self.row(entity, change, (1, 1)), last];
        }
        if change.is_upsert() {
            return vec![self.row(entity, &next, (0, 1)), last];
        }
        if change.is_update() {
            return vec![self.row(entity, &next, (u64::from(always), 1)), last];
        }
        match history.tombstone {
            Some(_) => vec![self.row(entity, &next, (1, 1)), last],
            None => vec![last, self.kept("the identity of", entity, (1, 1))],
        }
    }

    /// Guards that are claimed, released, or renewed for a row that moves.
    fn guards(&self, entity: &'a Entity, change: &Change<'a>, rekey: bool) -> Option<Row<'a>> {
        let each = entity.unique.iter().map(|guard| {
            let (least, most) = change.guard_rows(guard);
            (least, most.max(u64::from(rekey || change.is_upsert())))
        });
        let all = each.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        (all.1 > 0).then(|| self.kept(GUARDS_OF, entity, all))
    }

    /// Rows that the model itself keeps and writes: they are in the indexes that have every item.
    fn kept(&self, what: &'static str, entity: &'a Entity, rows: Units) -> Row<'a> {
        let indexes = self.model.table.indexes_of_all_items();
        let entries = indexes.map(|(_, index)| EntryCost {
            index: &index.name,
            units: rows,
            over_expired: rows,
        });
        Row {
            entries: entries.collect(),
            ..plain(what, entity, rows)
        }
    }

    /// The rows that must not be there beside a new one.
    fn excluded(&self, entity: &'a Entity, step: &'a Step, change: &Change<'a>) -> Option<Row<'a>> {
        let excludes = entity.excludes.as_ref()?;
        let (certain, most) = excluded_rows(self.model, excludes);
        let alone = entities_named(excludes)
            .into_iter()
            .all(|id| self.is_only_named_by(id, step));
        let least = if alone && change.is_create() { certain } else { 0 };
        (most > 0).then(|| plain("what must not be beside", entity, (least, most)))
    }

    /// The rows that a new row copies from: they are checked, where the write does not write them itself. Copies by different
    /// references may be of one row, so that of each entity one is certain.
    fn sources(&self, entity: &'a Entity, step: &'a Step, change: &Change<'a>) -> Vec<Row<'a>> {
        let mut found: Vec<(String, EntityId)> = Vec::new();
        let mut rows = Vec::new();
        for copy in entity.attributes.iter().filter_map(|attribute| attribute.copy.as_ref()) {
            let source = self.model.entity(copy.entity);
            // Several attributes of one row are one row, wherever in the model they are named.
            let text = show_expression(&copy.source);
            let Some(source) = source.filter(|_| !found.iter().any(|(known, _)| *known == text)) else {
                continue;
            };
            let first = !found.iter().any(|(_, known)| *known == source.id);
            found.push((text, source.id));
            if self.writes_source(step, &copy.source) {
                continue;
            }
            let certain = first && change.is_create() && self.is_only_named_by(source.id, step);
            let certain = certain && self.is_sent(entity, &copy.source, change);
            rows.push(plain(CHECK_OF, source, (u64::from(certain), 1)));
        }
        rows
    }

    /// Whether a reference is there for certain: nothing is copied by one that is absent.
    fn is_sent(&self, entity: &Entity, reference: &Expr, change: &Change<'_>) -> bool {
        let names = reference.attributes();
        names.iter().all(|name| {
            let attribute = entity.attribute(name);
            attribute.is_some_and(|attribute| !attribute.optional) || change.sets_for_certain(name)
        })
    }

    /// Whether no step before this one, no step that writes such rows, and no name stands for a row of an entity: else one check
    /// may be of the same row as another.
    fn is_only_named_by(&self, id: EntityId, step: &Step) -> bool {
        let turns = write_turns(self.model, self.write);
        let before = turns.iter().take_while(|turn| !std::ptr::eq(turn.step, step));
        let mut others = turns.iter().filter(|turn| !std::ptr::eq(turn.step, step));
        let names = |turn: &Turn<'_>| {
            let entity = turn.step.entity().and_then(|id| self.model.entity(id));
            entity.is_some_and(|entity| {
                let mut copies = entity.attributes.iter().filter_map(|known| known.copy.as_ref());
                copies.any(|copy| copy.entity == id)
                    || entity
                        .excludes
                        .as_ref()
                        .is_some_and(|excludes| entities_named(excludes).contains(&id))
            })
        };
        let is_bound = |bound: &Let| match &bound.value {
            LetValue::Value(expr) => entities_named(expr).contains(&id),
            LetValue::Read(selection) => selection.entities.contains(&id),
        };
        !self.write.lets.iter().any(is_bound)
            && !others.any(|turn| turn.step.entity() == Some(id))
            && !before.into_iter().any(names)
    }

    /// Whether another step writes the very row that is copied from: its key is set from that row's own.
    fn writes_source(&self, step: &Step, source: &Expr) -> bool {
        let ExprKind::Entity { key, .. } = &source.kind else {
            return false;
        };
        let row_of = |variable: &str, part: &Expr| {
            let ExprKind::Attribute(own) = &part.kind else {
                return None;
            };
            let set = step.set.iter().find(|set| set.attribute == *own)?;
            match &set.value.kind {
                ExprKind::Field(of, name) if name == variable => match &of.kind {
                    ExprKind::Bound(row) => Some(row.clone()),
                    _ => None,
                },
                _ => None,
            }
        };
        let rows: Option<Vec<String>> = key.iter().map(|(variable, part)| row_of(variable, part)).collect();
        let written = |row: &String| {
            self.write.all_steps().into_iter().any(|other| {
                let changed = match &other.kind {
                    StepKind::Update(target) | StepKind::Delete(target) => target.kind == ExprKind::Bound(row.clone()),
                    StepKind::Create(_) => other.named.as_ref() == Some(row),
                    _ => false,
                };
                changed && other.when.is_none()
            })
        };
        rows.is_some_and(|rows| !rows.is_empty() && rows.iter().all(written))
    }

    /// The rows that repeat what changes, in the same transaction: each is changed, or checked to be absent.
    fn copies(&self, source: &'a Entity, change: &Change<'a>, depth: usize) -> Vec<Row<'a>> {
        let model = self.model;
        type Held<'a> = BTreeMap<(EntityId, Vec<(&'a str, &'a str)>), (&'a Entity, Vec<&'a str>)>;
        let mut names: Held<'a> = BTreeMap::new();
        for (holder, name, copy) in copy_holders(model, source) {
            if let Some(key) = holder_key(model, holder, copy).filter(|_| change.touches_attribute(&copy.attribute)) {
                names
                    .entry((holder.id, key))
                    .or_insert((holder, Vec::new()))
                    .1
                    .push(name);
            }
        }
        let mut rows = Vec::new();
        for (holder, names) in names.into_values() {
            let follows = Change::following_change(holder, names, false);
            rows.push(self.row(holder, &follows, (0, 1)));
            for mirror in model.mirrors_of(holder.id) {
                let (written, _) = follows.mirror_rows(mirror);
                rows.push(self.moving(mirror, &follows, (0, written.1)));
            }
            rows.extend(self.guards(holder, &follows, false));
            if depth < COPIES_DEPTH_MAX {
                rows.extend(self.copies(holder, &follows, depth + 1));
            }
        }
        rows
    }
}

/// Rows without index entries, or whose entries stay.
fn plain<'a>(what: &'static str, entity: &'a Entity, rows: Units) -> Row<'a> {
    Row {
        entity,
        what,
        rows,
        entries: Vec::new(),
    }
}

/// How many rows an `excludes` names, at least and at most. A row whose key no value can have is not looked for, and several
/// may be one row.
fn excluded_rows(model: &Model, excludes: &Expr) -> Units {
    match &excludes.kind {
        ExprKind::List(rows) => rows.iter().fold((0, 0), |all: Units, row| {
            let (least, most) = excluded_rows(model, row);
            (all.0.max(least), all.1 + most)
        }),
        ExprKind::Conditional(_, then, otherwise) => {
            let (one, other) = (excluded_rows(model, then), excluded_rows(model, otherwise));
            (one.0.min(other.0), one.1.max(other.1))
        }
        ExprKind::Entity { entity, key } => {
            let named = model.entity(*entity);
            let certain = |(name, part): &(String, Expr)| {
                let attribute = named.and_then(|named| named.attribute(name));
                let fits = part.as_literal().is_some() || attribute.is_some_and(|attribute| attribute.ty == part.ty);
                fits && !part.optional
            };
            (u64::from(key.iter().all(certain)), 1)
        }
        _ => (0, 0),
    }
}
