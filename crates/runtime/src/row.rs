//! Between rows as entities see them and items as the table stores them.
//!
//! Six ways lead from an item to its row. They differ in what they say of a row whose time has come, and in whose the item is:
//!
//! | | expired | lapsed states | the item |
//! |---|---|---|---|
//! | [`decode_live`] | none | the later state | borrowed |
//! | [`decode_even_expired`] | the row | the later state | borrowed |
//! | [`decode_as_stored`] | the row | as stored | borrowed |
//! | [`take_live_with_key`] | none | the later state | taken; its key beside the row |
//! | [`take_live_without_keys`] | none | the later state | taken; it was asked for without keys |
//! | [`take_row_alone`] | the store gave none | the later state | taken; the store looked at whether it is [wanted](wanted_item) |
//!
//! **Invariant: what a read answers is live.** The engine removes expired items when it likes, so that a reader who saw them would
//! answer otherwise from one moment to the next. What is about the item itself (changes of it, audits, dumps, updates that must
//! leave the rest as it is) takes it as it is stored.
#![deny(
    clippy::wildcard_enum_match_arm,
    reason = "a type or function that is forgotten must not compile"
)]

use std::borrow::Cow;
use std::cmp::Ordering;

use singlet_item::{Item, Number, Value};
use singlet_model::Model;
use singlet_model::evaluate::geo::Place;
use singlet_model::evaluate::{EvaluateError, evaluate_as, holds_condition, time};
use singlet_model::model::{Attribute, Entity, KeyChoice, KeyTemplate, Lapse, PartFunction, States, Stored};
use singlet_model::types::{EntityId, Type};
use singlet_plan::read::{Held, Layout};
use singlet_store::WantedItem;

use crate::error::RuntimeError;
use crate::range_rows::Key;
use crate::scope::{Attributes, Scope};

/// The row that an item holds, as it is at the scope's instant: states that have lapsed are the later ones. None where the row
/// has expired, whether or not its item is still there.
pub fn decode_live(
    model: &Model,
    entity: &Entity,
    item: &Item,
    scope: Scope<'_>,
) -> Result<Option<Attributes>, RuntimeError> {
    // Before anything is decoded: an item whose time has come need not be as the model has it.
    match has_expired(model, item, scope.now) {
        true => Ok(None),
        false => decode_even_expired(model, entity, item, scope).map(Some),
    }
}

/// The row that an item holds, as it is at the scope's instant, whether or not it has expired.
pub(crate) fn decode_even_expired(
    model: &Model,
    entity: &Entity,
    item: &Item,
    scope: Scope<'_>,
) -> Result<Attributes, RuntimeError> {
    let mut row = decode_as_stored(entity, item)?;
    // A mirror has no states of its own: its row lapses as that of its source does.
    lapse(model.source_of(entity), &mut row, scope)?;
    Ok(row)
}

/// The row of an item that is not needed any more, none where it has expired, beside its key on the path that it came by. Its
/// values become the row's: what both the row and the key have is all that is copied.
pub(crate) fn take_live_with_key<'k>(
    (model, entity): (&Model, &Entity),
    item: Item,
    layout: &'k Layout,
    scope: Scope<'_>,
) -> Result<Option<(Attributes, Key<'k>)>, RuntimeError> {
    let mut from_keys = Attributes::new();
    if layout.has_key_only {
        from_keys = match decode_keys(entity, &item) {
            // What has expired need not be as the model has it.
            Err(_) if has_expired(model, &item, scope.now) => return Ok(None),
            decoded => decoded?,
        };
        let is_missing = |attribute: &Attribute| match &attribute.stored {
            Stored::Own => !item.contains_key(&attribute.name),
            Stored::No => true,
            Stored::As(_) => false,
        };
        // What is stored wins over what a key says: a key may have it folded or rounded.
        from_keys.retain(|name, _| entity.attribute(name).is_some_and(is_missing));
    }
    for told in &layout.told_by_keys {
        let template = told.template(entity);
        let Some((template, value)) = template.zip(item.get(&told.key)) else {
            continue;
        };
        let read = template
            .template
            .decode_key(value)
            .map_err(|error| RuntimeError::stored_misfit(entity, &error))?;
        from_keys.extend(read.into_iter().filter(|(name, _)| told.attributes.contains(name)));
    }
    let (mut own, mut key) = (Vec::with_capacity(item.len()), Vec::new());
    let mut held = layout.held.as_slice();
    for (mut name, value) in item {
        let Some(held) = next_named(&mut held, &name) else {
            continue;
        };
        // As soon as it is met, whatever else is in the item.
        if held.is_expiry && is_over(&value, scope.now) {
            return Ok(None);
        }
        let Some(attribute) = held.attribute.as_ref().filter(|_| !value.is_null()) else {
            if held.is_key {
                key.push((held.name.as_str(), value));
            }
            continue;
        };
        if held.is_key {
            // Both need it: the row has the attribute, and the position of a cursor the key.
            key.push((held.name.as_str(), value.clone()));
        }
        if *attribute != name {
            name.clone_from(attribute);
        }
        own.push((name, value));
    }
    let mut row: Attributes = own.into_iter().collect();
    // Null is absent to the model, wherever it comes from.
    row.extend(from_keys.into_iter().filter(|(_, value)| !value.is_null()));
    name_again(entity, &mut row);
    // Last: a lapse looks at attributes of the row, also at those that are other names of some.
    lapse(model.source_of(entity), &mut row, scope)?;
    Ok(Some((row, key)))
}

/// What is held under a name, where names are asked for in their order.
fn next_named<'k>(held: &mut &'k [Held], name: &str) -> Option<&'k Held> {
    while let Some((first, others)) = held.split_first() {
        match first.name.as_str().cmp(name) {
            Ordering::Less => *held = others,
            Ordering::Equal => {
                *held = others;
                return Some(first);
            }
            Ordering::Greater => return None,
        }
    }
    None
}

/// The row of an item that was asked for without its keys: with what is no attribute taken out, the item is the row. None where it
/// has expired, or is a row of another entity.
pub(crate) fn take_live_without_keys(
    (model, entity): (&Model, &Entity),
    mut item: Item,
    layout: &Layout,
    scope: Scope<'_>,
) -> Result<Option<Attributes>, RuntimeError> {
    for held in layout.held.iter().filter(|held| held.is_type || held.is_expiry) {
        let removed;
        let value = match &held.attribute {
            Some(_) => item.get(&held.name),
            None => {
                removed = item.remove(&held.name);
                removed.as_ref()
            }
        };
        let Some(value) = value else { continue };
        // Only a type that is there and another one: without it the item may be a row of before.
        let is_strange = held.is_type && value.as_str().is_some_and(|name| name != entity.name);
        if is_strange || held.is_expiry && is_over(value, scope.now) {
            return Ok(None);
        }
    }
    // Attributes stand under other names, so that the item is not the row yet.
    if layout.has_renamed {
        return Ok(take_live_with_key((model, entity), item, layout, scope)?.map(|(row, _)| row));
    }
    take_row_alone((model, entity), item, scope).map(Some)
}

/// What a store that looks at items itself is told of those that are rows of an entity, and not over.
pub(crate) fn wanted_item<'m>(model: &'m Model, entity: &'m Entity, now: i64) -> WantedItem<'m> {
    let kind = model.table.type_attribute.as_deref();
    WantedItem {
        kind: kind.map(|name| (name, entity.name.as_str())),
        end: model.table.ttl.as_deref().map(|name| (name, now)),
    }
}

/// The row of an item of which only its attributes were asked for, and which is known to be a row that is there.
pub(crate) fn take_row_alone(
    (model, entity): (&Model, &Entity),
    mut item: Item,
    scope: Scope<'_>,
) -> Result<Attributes, RuntimeError> {
    if item.values().any(Value::is_null) {
        item.retain(|_, value| !value.is_null());
    }
    name_again(entity, &mut item);
    lapse(model.source_of(entity), &mut item, scope)?;
    Ok(item)
}

/// The row as its item has it, expired and lapsed or not.
pub fn decode_as_stored(entity: &Entity, item: &Item) -> Result<Attributes, RuntimeError> {
    let mut row = decode_keys(entity, item)?;
    row.retain(|name, _| {
        let attribute = entity.attribute(name);
        // What stands under a name of its own is read from there below; the key may have it in another form.
        attribute.is_some_and(|attribute| !matches!(attribute.stored, Stored::As(_)))
    });
    for attribute in &entity.attributes {
        let name = match &attribute.stored {
            Stored::Own => &attribute.name,
            Stored::As(name) => name,
            Stored::No => continue,
        };
        if let Some(value) = item.get(name) {
            row.insert(attribute.name.clone(), value.clone());
        }
    }
    row.retain(|_, value| !value.is_null());
    name_again(entity, &mut row);
    Ok(row)
}

/// The row with everything that follows from its other attributes.
pub fn complete_row(entity: &Entity, mut row: Attributes, scope: Scope<'_>) -> Result<Attributes, RuntimeError> {
    compute(entity, &mut row, scope)?;
    name_again(entity, &mut row);
    Ok(row)
}

/// Attributes that are other names of some: a key may be made of them, though they are not stored.
fn name_again(entity: &Entity, row: &mut Attributes) {
    for attribute in &entity.attributes {
        let Some(alias) = &attribute.alias else { continue };
        // Anew each time, since the attribute that it is another name of may have changed.
        match row.get(alias).cloned() {
            Some(value) => row.insert(attribute.name.clone(), value),
            None => row.remove(&attribute.name),
        };
    }
}

/// The mark of an item that was removed because its time had come, before it is: its expiry.
pub(crate) const ENDED: &str = "$ended";

/// Whether an item says that its time has come. One whose expiry was moved since has another.
pub fn is_marked_ended(model: &Model, item: &Item) -> bool {
    let ttl = model.table.ttl.as_ref().and_then(|ttl| item.get(ttl));
    // Equal to the expiry as it is now: one that was moved after the mark has not ended.
    ttl.is_some() && item.get(ENDED) == ttl
}

/// Whether the item's expiry has passed: the engine removes it when it likes, readers must not see it.
pub fn has_expired(model: &Model, item: &Item, now: i64) -> bool {
    let ttl = model.table.ttl.as_ref().and_then(|ttl| item.get(ttl));
    ttl.is_some_and(|seconds| is_over(seconds, now))
}

/// Whether a time in seconds has passed.
fn is_over(seconds: &Value, now: i64) -> bool {
    let seconds = seconds.as_number().and_then(Number::to_i64);
    seconds.is_some_and(|seconds| WantedItem::is_over(seconds, now))
}

/// Attributes that stand only in keys, and what else those keys have.
fn decode_keys(entity: &Entity, item: &Item) -> Result<Attributes, RuntimeError> {
    let mut found = Attributes::new();
    for key in entity.keys_to_read() {
        if let Some(value) = item.get(&key.attribute) {
            let parts = key
                .template
                .decode_key(value)
                .map_err(|error| RuntimeError::stored_misfit(entity, &error))?;
            found.extend(parts);
        }
    }
    Ok(found)
}

/// Past its time, a state is the later one, and what held only during it is gone.
fn lapse(entity: &Entity, row: &mut Attributes, scope: Scope<'_>) -> Result<(), RuntimeError> {
    let Some(states) = &entity.states else {
        return Ok(());
    };
    // In order and on the row as it becomes, because one state may lapse into another that has lapsed too.
    for lapse in &states.lapses {
        if is_due(states, lapse, row, scope)? {
            end_state(states, lapse, row);
        }
    }
    Ok(())
}

/// A row after the first of its lapses that are due; none where none is. One state may lapse to another that has lapsed since.
pub(crate) fn lapsed_once(
    entity: &Entity,
    stored: &Attributes,
    scope: Scope<'_>,
) -> Result<Option<Attributes>, RuntimeError> {
    let Some(states) = &entity.states else {
        return Ok(None);
    };
    for lapse in &states.lapses {
        if is_due(states, lapse, stored, scope)? {
            let mut row = stored.clone();
            end_state(states, lapse, &mut row);
            return Ok(Some(row));
        }
    }
    Ok(None)
}

fn is_due(states: &States, lapse: &Lapse, row: &Attributes, scope: Scope<'_>) -> Result<bool, RuntimeError> {
    if row.get(&states.of).and_then(Value::as_str) != Some(lapse.from.as_str()) {
        return Ok(false);
    }
    let at = evaluate_as(&lapse.at, &Type::Millis, &scope.with_row(row)).map_err(RuntimeError::from)?;
    let millis = at.and_then(|value| value.as_number()).and_then(Number::to_i64);
    Ok(millis.is_some_and(|millis| millis <= scope.now))
}

fn end_state(states: &States, lapse: &Lapse, row: &mut Attributes) {
    row.insert(states.of.clone(), Value::S(lapse.to.clone()));
    let gone = states
        .holding
        .iter()
        // What the later state holds too stays.
        .filter(|(during, _)| during.contains(&lapse.from) && !during.contains(&lapse.to));
    for (name, _) in gone.flat_map(|(_, held)| held) {
        row.remove(name);
    }
}

/// Every item that a row of an entity is stored as: its own, and those of its mirrors.
pub(crate) fn encode_with_mirrors(
    model: &Model,
    entity: &Entity,
    row: &Attributes,
    scope: Scope<'_>,
) -> Result<Vec<Item>, RuntimeError> {
    let items = encode_each(model, entity, row, scope)?;
    Ok(items.into_iter().map(|(_, item)| item).collect())
}

/// Every item that a row of an entity is stored as, each with the entity that it is a row of: its own, or a mirror.
pub(crate) fn encode_each(
    model: &Model,
    entity: &Entity,
    row: &Attributes,
    scope: Scope<'_>,
) -> Result<Vec<(EntityId, Item)>, RuntimeError> {
    let mut items = vec![(entity.id, encode_own(model, entity, row, scope)?)];
    items.extend(encode_mirrors(model, entity, row, scope)?);
    Ok(items)
}

/// The item of a row itself.
pub fn encode_own(model: &Model, entity: &Entity, row: &Attributes, scope: Scope<'_>) -> Result<Item, RuntimeError> {
    let whole = whole(entity, row, scope)?;
    let ttl = expiry_of(model, entity, &whole, scope)?;
    item_of(model, entity, &whole, ttl, scope)
}

/// The items of its mirrors. A mirror has a row when the parts of its key are there.
pub(crate) fn encode_mirrors(
    model: &Model,
    entity: &Entity,
    row: &Attributes,
    scope: Scope<'_>,
) -> Result<Vec<(EntityId, Item)>, RuntimeError> {
    let mut items = Vec::new();
    if model.mirrors_of(entity.id).next().is_none() {
        return Ok(items);
    }
    let whole = whole(entity, row, scope)?;
    let ttl = expiry_of(model, entity, &whole, scope)?;
    for mirror in model.mirrors_of(entity.id) {
        let carried: Attributes = whole
            .iter()
            .filter(|(name, _)| mirror.attribute(name).is_some())
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        // Without a part of its key there is no mirror, and what is there is removed by whoever compares before and after.
        if has_key(mirror, &carried) {
            items.push((mirror.id, item_of(model, mirror, &carried, ttl, scope)?));
        }
    }
    Ok(items)
}

/// The row with what follows from its other attributes, where anything does.
fn whole<'r>(entity: &Entity, row: &'r Attributes, scope: Scope<'_>) -> Result<Cow<'r, Attributes>, RuntimeError> {
    let follows = |attribute: &Attribute| attribute.is.is_some() || attribute.alias.is_some();
    match entity.attributes.iter().any(follows) {
        true => complete_row(entity, row.clone(), scope).map(Cow::Owned),
        false => Ok(Cow::Borrowed(row)),
    }
}

/// Fills in computed attributes; they may build on one another, so they are tried until none changes.
fn compute(entity: &Entity, row: &mut Attributes, scope: Scope<'_>) -> Result<(), RuntimeError> {
    let computed: Vec<&Attribute> = entity
        .attributes
        .iter()
        .filter(|attribute| attribute.is.is_some() && attribute.alias.is_none())
        .collect();
    // One round for each that may build on another: the bound ends it, whatever they are made of.
    for _ in 0..=computed.len() {
        let mut changed = false;
        for attribute in &computed {
            let Some(expr) = &attribute.is else { continue };
            let value = evaluate_as(expr, &attribute.ty, &scope.with_row(row)).map_err(RuntimeError::from)?;
            changed |= row.get(&attribute.name) != value.as_ref();
            match value {
                Some(value) => row.insert(attribute.name.clone(), value),
                None => row.remove(&attribute.name),
            };
        }
        if !changed {
            return Ok(());
        }
    }
    Ok(())
}

pub(crate) fn expiry_of(
    model: &Model,
    entity: &Entity,
    row: &Attributes,
    scope: Scope<'_>,
) -> Result<Option<i64>, EvaluateError> {
    let (Some(_), Some(expires)) = (&model.table.ttl, &entity.expires) else {
        return Ok(None);
    };
    let value = evaluate_as(expires, &Type::Millis, &scope.with_row(row))?;
    let millis = value.and_then(|value| value.as_number()).and_then(Number::to_i64);
    // Rounded up: the second in which a row ends is still its own.
    // Also before 1970, where dividing would round the other way.
    Ok(millis.map(|millis| millis.div_euclid(1_000) + i64::from(millis.rem_euclid(1_000) > 0)))
}

fn item_of(
    model: &Model,
    entity: &Entity,
    row: &Attributes,
    ttl: Option<i64>,
    scope: Scope<'_>,
) -> Result<Item, RuntimeError> {
    let mut item = Item::new();
    for attribute in entity.attributes.iter().filter(|attribute| attribute.alias.is_none()) {
        let name = match &attribute.stored {
            Stored::Own => &attribute.name,
            Stored::As(name) => name,
            Stored::No => continue,
        };
        if let Some(value) = row.get(&attribute.name) {
            item.insert(name.clone(), value.clone());
        }
    }
    if let Some(name) = &model.table.type_attribute {
        item.insert(name.clone(), Value::S(entity.name.clone()));
    }
    if let (Some(name), Some(seconds)) = (&model.table.ttl, ttl) {
        item.insert(name.clone(), Value::N(Number::from(seconds)));
    }
    let lookup = |path: &str| at_path(row, path);
    let choice = template_choice(&entity.key, row, scope)?.ok_or_else(|| RuntimeError::no_key(entity))?;
    // The primary key before those of indexes: an index over the same attributes must not make them anew.
    put_keys(&mut item, entity, &choice.keys, &lookup)?;
    for entry in &entity.index {
        if let Some(choice) = template_choice(entry.key_choices(), row, scope)? {
            // An index over the table's own keys leaves them as the primary key has made them.
            let of_table = |key: &&KeyTemplate| model.table.key.iter().any(|known| known.name == key.attribute);
            put_keys(
                &mut item,
                entity,
                choice.keys.iter().filter(|key| !of_table(key)),
                &lookup,
            )?;
        }
    }
    let missing = model.table.key.iter().any(|key| !item.contains_key(&key.name));
    if missing {
        Err(RuntimeError::no_key(entity))
    } else {
        Ok(item)
    }
}

/// The first choice of templates whose condition holds.
pub(crate) fn template_choice<'a>(
    choices: &'a [KeyChoice],
    row: &Attributes,
    scope: Scope<'_>,
) -> Result<Option<&'a KeyChoice>, EvaluateError> {
    // The first that holds, here and wherever a key is made of a row: writes and reads must choose alike.
    for choice in choices {
        let applies = match &choice.when {
            Some(when) => holds_condition(when, &scope.with_row(row))?,
            None => true,
        };
        if applies {
            return Ok(Some(choice));
        }
    }
    Ok(None)
}

fn put_keys<'k>(
    item: &mut Item,
    entity: &Entity,
    keys: impl IntoIterator<Item = &'k KeyTemplate>,
    lookup: &dyn Fn(&str) -> Option<&'k Value>,
) -> Result<(), RuntimeError> {
    for key in keys {
        // An index key of which a part is absent is left out, and with it the entry: that is how a row is not in an index.
        if let Some(value) = encode_key(entity, key, lookup)? {
            item.insert(key.attribute.clone(), value);
        }
    }
    Ok(())
}

/// A key's value; none where one of its parts is absent. A place is hashed as finely as this key has it: another may have it coarser.
pub fn encode_key<'v>(
    entity: &Entity,
    key: &KeyTemplate,
    lookup: &dyn Fn(&str) -> Option<&'v Value>,
) -> Result<Option<Value>, RuntimeError> {
    let hashed = |path: &str| {
        let value = lookup(path)?;
        let mut parts = key.parts.iter().filter(|part| part.path == path);
        let precision = parts.find_map(|part| {
            let Some(PartFunction::Geohash(precision)) = part.function else {
                return None;
            };
            Some(precision)
        });
        match precision {
            Some(precision) => Some(Cow::Owned(Value::S(Place::from_value(value)?.geohash(precision)))),
            None => Some(Cow::Borrowed(value)),
        }
    };
    key.template
        .encode_key(hashed)
        .map_err(|error| RuntimeError::key(entity, &error))
}

pub(crate) fn at_path<'r>(row: &'r Attributes, path: &str) -> Option<&'r Value> {
    at_path_of(|name| row.get(name), path)
}

/// [`at_path`] of a row whose attributes are asked for by their names.
pub(crate) fn at_path_of<'r>(attribute: impl Fn(&str) -> Option<&'r Value>, path: &str) -> Option<&'r Value> {
    // A name with a dot may be an attribute of its own.
    if let Some(value) = attribute(path) {
        return Some(value);
    }
    let mut names = path.split('.');
    let first = attribute(names.next()?)?;
    names.try_fold(first, |value, name| value.as_map()?.get(name))
}

fn has_key(entity: &Entity, row: &Attributes) -> bool {
    let mut parts = entity.key_templates().flat_map(|key| &key.parts);
    parts.all(|part| at_path(row, &part.path).is_some())
}

/// An instant now, as ISO text: what `time` attributes hold.
pub fn iso_instant(millis: i64) -> Result<String, RuntimeError> {
    time::iso_millis(millis).map_err(RuntimeError::from)
}

/// A map of attributes as a value.
pub(crate) fn as_value(row: &Attributes) -> Value {
    Value::M(row.clone())
}
