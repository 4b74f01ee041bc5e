//! Every item that a row is stored as, by the old model and by the new.

use std::collections::BTreeMap;

use singlet_face::Face;
use singlet_item::{Item, Value};
use singlet_model::Model;
use singlet_model::model::Entity;
use singlet_runtime::load::{KeptItem, KeptKind, entity_of_item, is_known, is_of_singlet, kept_items, oversize_of};
use singlet_runtime::{Attributes, Caller, Engine, GUARD_OWNER, Scope, key_in, primary_key, row};

use crate::error::RowMisfit;
use crate::mapping::{ModelMap, source_of, stored_name};
use crate::row_refusal::RowRefusal;

/// Two models on one table.
#[derive(Debug)]
pub(crate) struct Models<'e> {
    pub old: &'e Engine,
    pub new: &'e Engine,
    pub map: ModelMap<'e>,
    pub faces: (Face, Face),
    /// Whether what the new model does not have is removed.
    pub drops: bool,
    nothing: Attributes,
    nobody: Caller,
}

/// What an item is to the old model.
pub(crate) enum OldKind<'m> {
    /// A row that becomes one of an entity of the new model.
    Row(&'m Entity, &'m Entity),
    /// The record of a request, shaped by an entity.
    Record(&'m Entity, &'m Entity),
    /// A row, a record or a mirror of an entity that is gone.
    Gone(&'m Entity),
    /// A mirror: its row brings it along.
    Mirror,
    /// A guard: its row brings it along.
    Guard,
    /// The control row, which says how far the migration is.
    Control,
    /// Something else that Singlet keeps for itself.
    Kept,
    /// Nothing.
    Unknown,
}

/// What an item of a row stands for, and the item.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Image {
    pub kind: KeptKind,
    pub item: Item,
}

/// Every item of a row by its key, before and after.
#[derive(Clone, Debug)]
pub(crate) struct RowImages {
    /// The entity, by the name that the old model has for it.
    pub entity: String,
    pub old: BTreeMap<Item, Image>,
    pub new: BTreeMap<Item, Image>,
}

impl RowImages {
    fn own(images: &BTreeMap<Item, Image>) -> Option<(&Item, &Item)> {
        let mut own = images.iter().filter(|(_, image)| image.kind == KeptKind::Own);
        own.next().map(|(key, image)| (key, &image.item))
    }

    /// The row's own item of before, and its key.
    pub fn old_own(&self) -> Option<(&Item, &Item)> {
        Self::own(&self.old)
    }

    /// The row's own item to come, and its key.
    pub fn new_own(&self) -> Option<(&Item, &Item)> {
        Self::own(&self.new)
    }

    /// Whether nothing about the row changes.
    pub fn is_same(&self) -> bool {
        self.old == self.new
    }
}

impl<'e> Models<'e> {
    pub fn new(old: &'e Engine, new: &'e Engine, faces: (Face, Face), drops: bool) -> Self {
        let map = ModelMap {
            old: old.model(),
            new: new.model(),
        };
        Models {
            old,
            new,
            map,
            faces,
            drops,
            nothing: Attributes::new(),
            nobody: Caller::anonymous(),
        }
    }

    pub fn image_scope<'s>(&'s self, engine: &'s Engine, now: i64) -> Scope<'s> {
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

    /// What an item is to the old model.
    pub fn old_kind(&self, item: &Item) -> OldKind<'e> {
        let old: &'e Model = self.map.old;
        if is_of_singlet(old, item) {
            let says_unique = |name: &String| item.get(name).and_then(Value::as_str) == Some("$unique");
            return match item {
                item if item.contains_key("$epoch") => OldKind::Control,
                item if item.contains_key(GUARD_OWNER) => OldKind::Guard,
                _ if old.table.type_attribute.as_ref().is_some_and(says_unique) => OldKind::Guard,
                _ => OldKind::Kept,
            };
        }
        let Some(entity) = entity_of_item(old, item) else {
            return OldKind::Unknown;
        };
        match self.map.counterpart_of(entity) {
            // Its row takes it away.
            _ if entity.mirror.is_some() && self.map.counterpart_of(old.source_of(entity)).is_some() => OldKind::Mirror,
            None => OldKind::Gone(entity),
            Some(new) if entity.role.is_some() => OldKind::Record(entity, new),
            Some(new) => OldKind::Row(entity, new),
        }
    }

    /// The images of an item that stands for itself, with the copies that it lacks; none where nothing about it can change.
    pub fn images_of(&self, item: &Item, copies: &Attributes, now: i64) -> Result<Option<RowImages>, RowMisfit> {
        let misfit = |entity: &str, reason: String| RowMisfit {
            key: key_in(self.map.old, item),
            entity: entity.to_owned(),
            reason,
        };
        match self.old_kind(item) {
            OldKind::Row(old, new) => {
                let images = self.row_images((old, new), item, copies, now);
                images
                    .map(Some)
                    .map_err(|refusal| misfit(&old.name, refusal.to_string()))
            }
            OldKind::Record(old, new) => Ok(Some(self.record_images((old, new), item))),
            OldKind::Kept if self.has_other_delimiter(item) => Err(misfit(
                "$",
                "what Singlet keeps for itself lies under a key with the old delimiter".to_owned(),
            )),
            OldKind::Kept => Ok(self.kept_images(item)),
            OldKind::Gone(_) | OldKind::Mirror | OldKind::Guard | OldKind::Control | OldKind::Unknown => Ok(None),
        }
    }

    /// Whether an item that Singlet keeps for itself has a key that the new model would look for elsewhere.
    fn has_other_delimiter(&self, item: &Item) -> bool {
        let (old, new) = (&self.map.old.table, &self.map.new.table);
        let partition = old.key.first().and_then(|key| item.get(&key.name));
        let has_delimiter = match partition {
            Some(Value::S(text)) => text.contains(old.delimiter),
            // What stands for the text does not tell.
            _ => true,
        };
        old.delimiter != new.delimiter && has_delimiter
    }

    fn row_images(
        &self,
        (old, new): (&Entity, &Entity),
        item: &Item,
        copies: &Attributes,
        now: i64,
    ) -> Result<RowImages, RowRefusal> {
        let (old_scope, new_scope) = (self.image_scope(self.old, now), self.image_scope(self.new, now));
        let was = row::decode_as_stored(old, item)?;
        let mut is = self.map.mapped_row((old, new), item, &was, new_scope)?;
        for (name, value) in copies {
            is.entry(name.clone()).or_insert_with(|| value.clone());
        }
        if let Some(missing) = self.map.missing_value(new, &is) {
            return Err(RowRefusal::Missing(missing));
        }
        let mut before = kept_items(self.map.old, old, &was, old_scope)?;
        let mut after = kept_items(self.map.new, new, &is, new_scope)?;
        for own in after.iter_mut().filter(|one| one.kind == KeptKind::Own) {
            self.keep_rest((old, new), item, &mut own.item);
        }
        for own in before.iter_mut().filter(|one| one.kind == KeptKind::Own) {
            own.key = key_in(self.map.old, item);
            own.item = item.clone();
        }
        self.keep_expiry((old, new), item, &mut before, &mut after);
        if let Some(misfit) = oversize_of(self.map.new, &after) {
            return Err(RowRefusal::Oversize(misfit.reason));
        }
        Ok(RowImages {
            entity: old.name.clone(),
            old: by_key(before, &old.name)?,
            new: by_key(after, &new.name)?,
        })
    }

    /// What the row has that the new model does not know: it stays, unless it is dropped. What Singlet notes there stays always.
    fn keep_rest(&self, (old, new): (&Entity, &Entity), item: &Item, own: &mut Item) {
        let accounted = self.map.accounted_names(old, new);
        for (name, value) in item {
            let is_noted = name.starts_with('$');
            let is_left = !accounted.contains(name) && !is_known(self.map.new, new, name);
            if !own.contains_key(name) && (is_noted || is_left && !self.drops) {
                own.insert(name.clone(), value.clone());
            }
        }
    }

    /// A row that ends by the same rule ends when it was to end: a setting may have had another value then.
    fn keep_expiry(
        &self,
        (old, new): (&Entity, &Entity),
        item: &Item,
        before: &mut [KeptItem],
        after: &mut [KeptItem],
    ) {
        let (Some(was), Some(is)) = (&self.map.old.table.ttl, &self.map.new.table.ttl) else {
            return;
        };
        let rule = |face: &Face, entity: &Entity| face.entities.get(&entity.name).and_then(|face| face.expires.clone());
        if rule(&self.faces.0, old) != rule(&self.faces.1, new) {
            return;
        }
        let ends = item.get(was);
        for (images, name) in [(before, was), (after, is)] {
            let ending = images.iter_mut().filter(|one| one.kind != KeptKind::Identity);
            for one in ending {
                match ends {
                    Some(ends) => drop(one.item.insert(name.clone(), ends.clone())),
                    None => drop(one.item.remove(name)),
                }
            }
        }
    }

    /// The record of a request: what it says is of a request that is gone, so that nothing of it is computed anew.
    fn record_images(&self, (old, new): (&Entity, &Entity), item: &Item) -> RowImages {
        let (map, mut is) = (&self.map, item.clone());
        let was = row::decode_as_stored(old, item).unwrap_or_default();
        let mut named = Attributes::new();
        for attribute in &new.attributes {
            let Some(source) = source_of(old, attribute) else {
                continue;
            };
            let Some(value) = was.get(&source.name) else { continue };
            named.insert(attribute.name.clone(), value.clone());
            if let (Some(from), Some(to)) = (stored_name(source), stored_name(attribute))
                && from != to
                && let Some(value) = is.remove(from)
            {
                is.insert(to.to_owned(), value);
            }
        }
        // Where no key can be made the record stays where it is, and counts no longer.
        if let Ok(Some(key)) = primary_key(new, &named) {
            for part in &map.old.table.key {
                is.remove(&part.name);
            }
            is.extend(key);
            if let Some(name) = &map.old.table.type_attribute {
                is.insert(name.clone(), Value::S(new.name.clone()));
            }
        }
        self.rename_of_table(&mut is);
        self.alone(&old.name, item, is)
    }

    /// What Singlet keeps for itself, where the table has other names for what it says.
    fn kept_images(&self, item: &Item) -> Option<RowImages> {
        let mut is = item.clone();
        self.rename_of_table(&mut is);
        (is != *item).then(|| self.alone("$", item, is))
    }

    /// The attributes that the table itself has names for.
    fn rename_of_table(&self, item: &mut Item) {
        let (old, new) = (&self.map.old.table, &self.map.new.table);
        if let (Some(was), Some(is)) = (&old.ttl, &new.ttl)
            && was != is
            && let Some(value) = item.remove(was)
        {
            item.insert(is.clone(), value);
        }
        let kind = match (&old.type_attribute, &new.type_attribute) {
            (was, is) if was == is => return,
            (Some(was), Some(_)) => item.remove(was),
            (None, Some(_)) => kept_kind(self.map.old, item),
            (_, None) => return,
        };
        if let (Some(name), Some(kind)) = (&new.type_attribute, kind) {
            item.insert(name.clone(), kind);
        }
    }

    fn alone(&self, entity: &str, was: &Item, is: Item) -> RowImages {
        let image = |item: &Item| {
            let kind = KeptKind::Own;
            BTreeMap::from([(
                key_in(self.map.old, item),
                Image {
                    kind,
                    item: item.clone(),
                },
            )])
        };
        RowImages {
            entity: entity.to_owned(),
            old: image(was),
            new: image(&is),
        }
    }
}

/// The kind of something that Singlet keeps for itself, by its key: `$change#…`.
fn kept_kind(model: &Model, item: &Item) -> Option<Value> {
    let partition = model.table.key.first()?;
    let text = item.get(&partition.name)?.as_str()?;
    let end = text.find([model.table.delimiter, '.']).unwrap_or(text.len());
    Some(Value::S(text.get(..end)?.to_owned()))
}

fn by_key(kept: Vec<KeptItem>, entity: &str) -> Result<BTreeMap<Item, Image>, RowRefusal> {
    let mut all = BTreeMap::new();
    for KeptItem { kind, key, item } in kept {
        if all.insert(key, Image { kind, item }).is_some() {
            return Err(RowRefusal::SharedKey(entity.to_owned()));
        }
    }
    Ok(all)
}
