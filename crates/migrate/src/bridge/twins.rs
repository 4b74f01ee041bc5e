//! What a row is to the model that runs beside, and what has to be written so that both find it.
//!
//! **Invariant: one item of a key, and all of a row or nothing.** Where both models have an item under one key it has the attributes of
//! both; where their keys differ there are two items, which are written in one transaction. Every item that is written or built upon
//! is pinned whole as it was read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use singlet_face::Face;
use singlet_item::{Item, Number, Value};
use singlet_model::Model;
use singlet_model::model::Entity;
use singlet_runtime::load::{KeptItem, KeptKind, entity_of_item, is_known, kept_items, oversize_of};
use singlet_runtime::{Attributes, BRIDGED, Caller, Engine, MigrationPhase, Scope, key_in, row};

use super::layout::Layout;
use crate::mapping::{ModelMap, source_of};
use crate::row_refusal::RowRefusal;
use crate::stamp::is_stamped;
use crate::step::COMPARED_MAX;

/// Why a row cannot be one of both models.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Withheld(pub String);

impl fmt::Display for Withheld {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Items by their keys, as they were read; one that was asked for and is not there is none.
pub(crate) type Found = BTreeMap<Item, Option<Item>>;

/// What an item becomes, by its key; none where it goes.
pub(crate) type Becoming = BTreeMap<Item, Option<Item>>;

/// Whether the images of the other model are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeping {
    /// Both models run.
    Both,
    /// The other one runs no more: what only it needs goes with each row that is written.
    OwnAlone,
}

/// A row to a write: as it was, or as it becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Before,
    After,
}

/// Whether the other model may have nothing of a row, since it runs no more. What was written for both says so, and what was not has gone
/// with the write that made it so.
pub(crate) fn has_no_twin(item: &Item, at: Side, keeping: Keeping) -> bool {
    keeping == Keeping::OwnAlone && (at == Side::After || !item.contains_key(BRIDGED))
}

/// What the other model has of a row: the row where it is known, and its items.
type ImagesBefore = (Option<Attributes>, BTreeMap<Item, Item>);

/// What is put on rows that were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamping {
    /// The epoch: whoever slept through it may not write the row any more.
    Epoch(u64),
    /// Nothing: nobody else works on the table, and rows are as one model has them again.
    Nothing,
}

impl Stamping {
    /// While images of one of the models go, rows lose what the bridge noted in them.
    pub fn in_phase(phase: MigrationPhase, epoch: u64) -> Self {
        match phase {
            MigrationPhase::Contract | MigrationPhase::Retreat => Stamping::Nothing,
            _ => Stamping::Epoch(epoch),
        }
    }
}

/// A model on a table, and the one that runs beside it.
#[derive(Debug)]
pub(crate) struct Twins {
    pub own: Arc<Engine>,
    pub other: Arc<Engine>,
    /// Entities of which a row is something else to the other model, by name; mirrors count with the entity that they mirror.
    concerned: BTreeSet<String>,
    /// Where rows of concerned entities lie, for this model.
    rows: Layout,
    /// What lies elsewhere in the other model: rows and mirrors.
    moved_here: Layout,
    moved_there: Layout,
    nothing: Attributes,
    nobody: Caller,
}

/// A row to the other model.
struct OtherRow<'t> {
    entity: &'t Entity,
    row: Attributes,
}

impl Twins {
    /// Of two engines that know the form of the table's guards.
    pub fn new(own: Arc<Engine>, other: Arc<Engine>, faces: (&Face, &Face)) -> Self {
        let (own_model, other_model) = (own.model(), other.model());
        let is_other = |name: &String| match (faces.0.entities.get(name), faces.1.entities.get(name)) {
            (Some(own), Some(other)) => own != other,
            // A mirror of only one of the models concerns the rows that it mirrors.
            (one, other) => [one, other]
                .into_iter()
                .flatten()
                .any(|entity| entity.mirrors.is_some()),
        };
        let names: BTreeSet<&String> = faces.0.entities.keys().chain(faces.1.entities.keys()).collect();
        let mut concerned = BTreeSet::new();
        for name in names.into_iter().filter(|name| is_other(name)) {
            for model in [own_model, other_model] {
                concerned.extend(
                    model
                        .entity_named(name)
                        .map(|entity| model.source_of(entity).name.clone()),
                );
            }
        }
        concerned.retain(|name| own_model.entity_named(name).is_some() && other_model.entity_named(name).is_some());
        let is_row = |entity: &&Entity| concerned.contains(&entity.name) && entity.mirror.is_none();
        let rows = Layout::of(own_model.entities.iter().filter(is_row));
        let is_moved = |entity: &&Entity| {
            let key = |face: &Face| face.entities.get(&entity.name).map(|entity| entity.key.clone());
            key(faces.0) != key(faces.1)
        };
        let moved_here = Layout::of(own_model.entities.iter().filter(is_moved));
        let moved_there = Layout::of(other_model.entities.iter().filter(is_moved));
        Twins {
            rows,
            moved_here,
            moved_there,
            concerned,
            own,
            other,
            nothing: Attributes::new(),
            nobody: Caller::anonymous(),
        }
    }

    /// Whether rows of some entity lie in two places.
    pub fn moves_rows(&self) -> bool {
        !self.moved_there.is_empty()
    }

    /// Whether an item is the other model's alone: reads do not see it.
    pub fn is_others(&self, item: &Item) -> bool {
        // A key that both could have is one's own: that it can never be so was proved, and to drop a row is worse.
        self.moved_there.holds(self.other.model(), item) && !self.moved_here.holds(self.own.model(), item)
    }

    /// Whether a key could be that of a row which is something else to the other model.
    pub fn concerns(&self, key: &Item) -> bool {
        self.rows.entities_at(key).next().is_some()
    }

    /// The entity of an item that is a row of this model, where the other model has it otherwise.
    pub fn entity_of(&self, item: &Item) -> Option<&Entity> {
        let entity = entity_of_item(self.own.model(), item)?;
        let is_row = self.concerned.contains(&entity.name) && entity.mirror.is_none() && entity.role.is_none();
        (is_row && !self.is_others(item)).then_some(entity)
    }

    /// Whether an item is a row that lies in the other model's place.
    pub fn is_row_of_other(&self, item: &Item) -> bool {
        let entity = entity_of_item(self.other.model(), item);
        entity.is_some_and(|entity| entity.mirror.is_none()) && self.is_others(item)
    }

    fn scope<'s>(&'s self, engine: &'s Engine, now: i64) -> Scope<'s> {
        Scope {
            setting: engine.setting(),
            now,
            args: &self.nothing,
            caller: &self.nobody,
            attributes: None,
            row: None,
            bound: &self.nothing,
        }
    }

    /// Where the other model has a row; none where that is where this one has it.
    pub fn twin_key(&self, item: &Item, now: i64) -> Result<Option<Item>, Withheld> {
        let Some(entity) = self.entity_of(item) else {
            return Ok(None);
        };
        let other = self.other_row(entity, item, None, now)?;
        let key = singlet_runtime::primary_key(other.entity, &other.row).map_err(said)?;
        let key = key.ok_or_else(|| Withheld(format!("`{}` has no key in the other model", entity.name)))?;
        Ok((key != key_in(self.own.model(), item)).then_some(key))
    }

    /// What a row of this model is to the other one. What only the other one has of it stays as it was, where that is known.
    fn other_row(
        &self,
        entity: &Entity,
        item: &Item,
        known: Option<&Attributes>,
        now: i64,
    ) -> Result<OtherRow<'_>, Withheld> {
        let map = ModelMap {
            old: self.own.model(),
            new: self.other.model(),
        };
        let missing = || Withheld(format!("the other model has no `{}`", entity.name));
        let other = map.new.entity_named(&entity.name).ok_or_else(missing)?;
        let was = row::decode_as_stored(entity, item).map_err(said)?;
        let made = map.mapped_row((entity, other), item, &was, self.scope(&self.other, now));
        let mut made = made.map_err(|refusal| Withheld(refusal.to_string()))?;
        let own = other.attributes.iter();
        for attribute in own.filter(|one| one.alias.is_none() && one.is.is_none()) {
            match (source_of(entity, attribute), known) {
                // A formula that fills what does not fit would be another row.
                // The formula gave another value than the row has, which the other model could not give back.
                (Some(source), _) if was.get(&source.name) != made.get(&attribute.name) => {
                    return Err(Withheld(format!(
                        "`{}` has a value that only one model has",
                        attribute.name
                    )));
                }
                // What only the other model has of the row stays as it is there.
                (None, Some(known)) => match known.get(&attribute.name) {
                    Some(value) => drop(made.insert(attribute.name.clone(), value.clone())),
                    None => drop(made.remove(&attribute.name)),
                },
                _ => {}
            }
        }
        match map.missing_value(other, &made) {
            Some(missing) => Err(Withheld(RowRefusal::Missing(missing).to_string())),
            None => Ok(OtherRow {
                entity: other,
                row: made,
            }),
        }
    }

    /// The row of the other model as it is, by the item that was read where it has it.
    fn known_row(&self, entity: &Entity, item: Option<&Item>) -> Option<Attributes> {
        // Without the mark nobody has written for both, and what stands there is not of this row.
        let item = item.filter(|item| item.contains_key(BRIDGED))?;
        let other = self.other.model().entity_named(&entity.name)?;
        row::decode_as_stored(other, item).ok()
    }

    /// Every item that a row of this model is to the other one, by its key.
    fn other_images(
        &self,
        entity: &Entity,
        item: &Item,
        known: Option<&Attributes>,
        now: i64,
    ) -> Result<BTreeMap<Item, Item>, Withheld> {
        let OtherRow { entity: other, row } = self.other_row(entity, item, known, now)?;
        let scope = self.scope(&self.other, now);
        let mut kept = kept_items(self.other.model(), other, &row, scope).map_err(said)?;
        let key = key_in(self.own.model(), item);
        for one in kept
            .iter_mut()
            .filter(|one| one.kind == KeptKind::Own && one.key != key)
        {
            self.keep_rest(entity, item, &mut one.item);
        }
        self.keep_expiry(item, &mut kept);
        match oversize_of(self.other.model(), &kept) {
            Some(misfit) => Err(Withheld(misfit.reason)),
            None => Ok(kept.into_iter().map(|one| (one.key, one.item)).collect()),
        }
    }

    /// Every item that a row is to this model, by its key.
    fn own_images(&self, entity: &Entity, item: &Item, now: i64) -> Result<BTreeMap<Item, Item>, Withheld> {
        let was = row::decode_as_stored(entity, item).map_err(said)?;
        let kept = kept_items(self.own.model(), entity, &was, self.scope(&self.own, now));
        let mut kept = kept.map_err(said)?;
        self.keep_expiry(item, &mut kept);
        Ok(kept.into_iter().map(|one| (one.key, one.item)).collect())
    }

    /// What neither model knows goes along.
    fn keep_rest(&self, entity: &Entity, item: &Item, twin: &mut Item) {
        let is_key = |name: &String| self.own.model().table.key.iter().any(|key| key.name == *name);
        for (name, value) in item {
            if name != BRIDGED && !is_key(name) && !is_known(self.own.model(), entity, name) && !twin.contains_key(name)
            {
                twin.insert(name.clone(), value.clone());
            }
        }
    }

    /// A row ends when it was to end: a setting may have had another value then.
    fn keep_expiry(&self, item: &Item, kept: &mut [KeptItem]) {
        let Some(name) = &self.own.model().table.ttl else {
            return;
        };
        for one in kept.iter_mut().filter(|one| one.kind != KeptKind::Identity) {
            match item.get(name) {
                Some(ends) => drop(one.item.insert(name.clone(), ends.clone())),
                None => drop(one.item.remove(name)),
            }
        }
    }

    /// The keys of what has to be read of a row before it can be said what becomes of its items.
    pub fn keys_beside(
        &self,
        item: &Item,
        (twin, may_have_none): (Option<&Item>, bool),
        now: i64,
    ) -> Result<Vec<Item>, Withheld> {
        let Some(entity) = self.entity_of(item) else {
            return Ok(Vec::new());
        };
        let known = self.known_row(entity, twin);
        let mut keys: Vec<Item> = self.own_images(entity, item, now)?.into_keys().collect();
        match self.other_images(entity, item, known.as_ref(), now) {
            Ok(images) => keys.extend(images.into_keys()),
            Err(_) if may_have_none => {}
            Err(withheld) => return Err(withheld),
        }
        Ok(keys)
    }

    /// The item in which the other model has a row, as it was read.
    pub fn twin_in<'f>(&self, item: &Item, found: &'f Found, now: i64) -> Result<Option<&'f Item>, Withheld> {
        let key = self.twin_key(item, now)?;
        let key = key.unwrap_or_else(|| key_in(self.own.model(), item));
        Ok(found.get(&key).and_then(Option::as_ref))
    }

    /// What becomes of every item that rows are to either model, where each was the one and becomes the other. `acted` says what the
    /// write itself makes of items.
    pub fn becoming(
        &self,
        rows: &[(Option<&Item>, Option<&Item>)],
        (acted, found): (&Becoming, &Found),
        (keeping, stamping): (Keeping, Stamping),
        now: i64,
    ) -> Result<Becoming, Withheld> {
        let (mut was, mut is, mut own, mut managed) =
            (BTreeMap::new(), BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        let mut own_rows = BTreeSet::new();
        for (before, after) in rows {
            // What has ended counts as not there, or a new row would take over what it had.
            let before = before.filter(|item| !row::has_expired(self.own.model(), item, now));
            let mut known = None;
            if let Some((item, entity)) = before.and_then(|item| Some((item, self.entity_of(item)?))) {
                if let Some(of_other) = self.images_before((entity, item), found, keeping, now)? {
                    known = of_other.0;
                    was.extend(of_other.1);
                }
                managed.extend(self.own_images(entity, item, now)?.into_keys());
            }
            if let Some((item, entity)) = after.and_then(|item| Some((item, self.entity_of(item)?))) {
                if keeping == Keeping::Both {
                    is.extend(self.other_images(entity, item, known.as_ref(), now)?);
                }
                own.extend(self.own_images(entity, item, now)?);
                own_rows.insert(key_in(self.own.model(), item));
            }
        }
        managed.extend(own.keys().cloned());
        let keys: BTreeSet<&Item> = was.keys().chain(is.keys()).chain(&own_rows).collect();
        let mut all = Becoming::new();
        for key in keys {
            let base = match acted.get(key) {
                Some(acted) => acted.clone(),
                // What this model keeps there, guards of an identity among it, is its own business.
                None if managed.contains(key) => found.get(key).cloned().flatten(),
                None => None,
            };
            let (was, is) = (was.get(key), is.get(key));
            let is_new = was.is_none() && is.is_some() && !acted.contains_key(key) && !managed.contains(key);
            if is_new {
                // Only a place that is new to the row: its own it may write over.
                self.check_place(is, found.get(key).and_then(Option::as_ref), now)?;
            }
            let mut item = merged(base, own.get(key), was, is)?;
            let is_row = own_rows.contains(key) || is.is_some_and(|is| self.is_row_of_other(is));
            if let Some(item) = item.as_mut().filter(|_| is_row) {
                item.remove(BRIDGED);
                if let Stamping::Epoch(epoch) = stamping {
                    let there = found.get(key).and_then(Option::as_ref);
                    let is_same = there.is_some_and(|there| unbridged(there) == *item);
                    // The stamp stays where nothing else changes, or each pass would write every row.
                    let epoch = there.filter(|_| is_same).and_then(epoch_of).unwrap_or(epoch);
                    item.insert(BRIDGED.to_owned(), epoch_value(epoch));
                }
            }
            if item
                .as_ref()
                // Withheld, because it could not be pinned: what cannot be compared could be written over.
                .is_some_and(|item| item.len() > COMPARED_MAX || is_stamped(item))
            {
                return Err(Withheld(
                    "it has more attributes than a condition can compare".to_owned(),
                ));
            }
            all.insert(key.clone(), item);
        }
        Ok(all)
    }

    /// What the other model has of a row as it was; nothing of one that it could not hold and need not any more.
    fn images_before(
        &self,
        (entity, item): (&Entity, &Item),
        found: &Found,
        keeping: Keeping,
        now: i64,
    ) -> Result<Option<ImagesBefore>, Withheld> {
        let images = self.twin_in(item, found, now).and_then(|twin| {
            let known = self.known_row(entity, twin);
            let images = self.other_images(entity, item, known.as_ref(), now)?;
            Ok((known, images))
        });
        match images {
            Ok(images) => Ok(Some(images)),
            Err(_) if has_no_twin(item, Side::Before, keeping) => Ok(None),
            Err(withheld) => Err(withheld),
        }
    }

    /// Where the other model has a row or a guard anew nothing else may be.
    fn check_place(&self, is: Option<&Item>, there: Option<&Item>, now: i64) -> Result<(), Withheld> {
        match there {
            // What has expired is in nobody's way.
            Some(there) if is.cloned() != Some(unbridged(there)) && !row::has_expired(self.own.model(), there, now) => {
                Err(Withheld(
                    "something else has the place or the unique value that it has in the other model".to_owned(),
                ))
            }
            _ => Ok(()),
        }
    }

    /// The names in a row that only the other model has for something.
    pub fn names_of_other(&self, item: &Item) -> Vec<String> {
        let Some(entity) = self.entity_of(item) else {
            return Vec::new();
        };
        let Some(other) = self.other.model().entity_named(&entity.name) else {
            return Vec::new();
        };
        let is_only_there =
            |name: &&String| !is_known(self.own.model(), entity, name) && is_known(self.other.model(), other, name);
        item.keys().filter(is_only_there).cloned().collect()
    }

    /// The keys of what only the other model has of a row.
    pub fn keys_of_other(&self, item: &Item, now: i64) -> Result<Vec<Item>, Withheld> {
        let Some(entity) = self.entity_of(item) else {
            return Ok(Vec::new());
        };
        let own = self.own_images(entity, item, now)?;
        let other = self.other_images(entity, item, None, now)?.into_keys();
        Ok(other.filter(|key| !own.contains_key(key)).collect())
    }

    pub fn table(&self) -> &str {
        &self.own.model().table.name
    }

    pub fn model(&self) -> &Model {
        self.own.model()
    }
}

/// One item with what both models have under its key. What neither of them has stays.
fn merged(
    base: Option<Item>,
    own: Option<&Item>,
    was: Option<&Item>,
    is: Option<&Item>,
) -> Result<Option<Item>, Withheld> {
    let Some(mut item) = base else {
        return Ok(is.cloned());
    };
    let is_of_own = |name: &String| own.is_some_and(|own| own.contains_key(name));
    // What is the row's own stays, though the other model had it too.
    for name in was.into_iter().flat_map(BTreeMap::keys).filter(|name| !is_of_own(name)) {
        item.remove(name);
    }
    for (name, value) in is.into_iter().flatten() {
        // One attribute cannot have two values: one of the models would read what it did not write.
        if is_of_own(name) && item.get(name) != Some(value) {
            return Err(Withheld(format!("`{name}` would have two values")));
        }
        item.insert(name.clone(), value.clone());
    }
    Ok(Some(item))
}

fn unbridged(item: &Item) -> Item {
    let mut item = item.clone();
    item.remove(BRIDGED);
    item
}

pub(crate) fn epoch_value(epoch: u64) -> Value {
    Value::N(Number::from(i64::try_from(epoch).unwrap_or(i64::MAX)))
}

/// The epoch at which a row was last written for both models.
pub(crate) fn epoch_of(item: &Item) -> Option<u64> {
    let epoch = item.get(BRIDGED)?.as_number()?.to_i64()?;
    u64::try_from(epoch).ok()
}

fn said(error: impl fmt::Display) -> Withheld {
    Withheld(error.to_string())
}
