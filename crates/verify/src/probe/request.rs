//! Requests, made up so that most of them are about rows that are there, and by somebody whom they concern.

use fastrand::Rng;
use singlet_item::{Number, Value};
use singlet_model::Model;
use singlet_model::evaluate::time;
use singlet_model::model::{Argument, Entity, IdempotencyNeed, Read, Write};
use singlet_model::types::{EntityId, LengthLimits, ObjectType, Type};
use singlet_runtime::{Attributes, Caller, Request, WriteRequest};
use singlet_values as values;

use super::hints::{AT, Hints, ValuedName};
use super::table::Judge;
use super::values::{ValueDraw, set_of};
use crate::writes::world::Row;

/// Sizes of pages, those that cut often first.
const PAGES: [Option<usize>; 6] = [Some(1), Some(2), Some(1), Some(3), Some(7), None];

/// Keys of requests: few, so that some come again.
const REQUEST_KEYS: [&str; 3] = ["k1", "k2", "k3"];

/// Draws requests about rows.
pub(super) struct RequestDraw<'j> {
    pub judge: &'j Judge<'j>,
    pub hints: &'j Hints,
    pub values: ValueDraw,
}

/// What one request is about: a row, and all that are there.
#[derive(Clone, Copy)]
struct About<'r> {
    focus: Option<&'r Row>,
    rows: &'r [Row],
}

impl<'j> RequestDraw<'j> {
    /// Requests at an instant.
    pub fn new(judge: &'j Judge<'j>, hints: &'j Hints, rng: Rng, now: i64) -> Self {
        let values = ValueDraw {
            rng,
            now,
            zone: judge.setting.zone.clone(),
            delimiter: judge.model.table.delimiter,
        };
        RequestDraw { judge, hints, values }
    }

    /// What is asked of a read.
    pub fn read(&mut self, read: &Read, about: &[EntityId], rows: &[Row]) -> Request {
        let about = self.about(about, rows);
        let caller = self.caller(about);
        let mut args = Attributes::new();
        let listed = self.values.rng.choice(&read.combinations).cloned();
        for arg in &read.args {
            let sent = match &listed {
                Some(listed) if arg.optional && arg.default.is_none() => listed.contains(&arg.name),
                _ => !(arg.optional || arg.default.is_some()) || self.values.rng.bool(),
            };
            if sent {
                args.extend(self.argument(arg, about).map(|value| (arg.name.clone(), value)));
            }
        }
        Request {
            args,
            caller,
            limit: self.values.rng.choice(PAGES).flatten(),
            cursor: None,
            now: self.values.now,
        }
    }

    /// What is asked of a write.
    pub fn write(&mut self, write: &Write, about: &[EntityId], rows: &[Row]) -> WriteRequest {
        let about = self.about(about, rows);
        let caller = self.caller(about);
        let mut args = Attributes::new();
        for arg in &write.args {
            let loose = arg.optional || arg.default.is_some();
            if loose && self.values.percent_chance(40) {
                continue;
            }
            let value = match loose && arg.optional && self.values.percent_chance(12) {
                true => Some(Value::Null),
                false => self.argument(arg, about),
            };
            args.extend(value.map(|value| (arg.name.clone(), value)));
        }
        WriteRequest {
            args,
            caller,
            now: self.values.now,
            idempotency_key: self.request_key(write),
            precondition: self.version(write, about).into(),
        }
    }

    /// One of the rows of some entities.
    fn about<'r>(&mut self, entities: &[EntityId], rows: &'r [Row]) -> About<'r> {
        let model = self.judge.model;
        let sources: Vec<EntityId> = entities
            .iter()
            .filter_map(|id| model.entity(*id))
            .map(|entity| model.source_of(entity).id)
            .collect();
        let near: Vec<&Row> = rows.iter().filter(|(id, _)| sources.contains(id)).collect();
        About {
            focus: self.values.rng.choice(near),
            rows,
        }
    }

    /// Somebody: mostly one whom the row is about; now and then nobody, or one of whom less is known.
    fn caller(&mut self, about: About<'_>) -> Caller {
        if self.values.percent_chance(4) {
            return Caller::anonymous();
        }
        let model = self.judge.model;
        let mut caller = Caller {
            authenticated: true,
            ..Caller::default()
        };
        let mut known = model.callers.claim_types();
        known.sort_by_key(|(name, _)| *name);
        for (name, ty) in known {
            if name != "id" && self.values.percent_chance(8) {
                continue;
            }
            let value = match &ty {
                Type::List(element, limits) => self.claim_list(name, element, *limits, about),
                ty if ty.is_textual() => self.claim(name, about),
                ty => self.values.fresh_value(ty),
            };
            caller.claims.extend(value.map(|value| (name.to_owned(), value)));
        }
        caller
    }

    /// Some of the words that a claim is asked about, and a longer one that holds one of them.
    fn claim_list(&mut self, name: &str, element: &Type, limits: LengthLimits, about: About<'_>) -> Option<Value> {
        let count = self.values.count(limits);
        let mut elements = Vec::new();
        for _ in 0..count {
            let element = match element.is_textual() {
                true => self.claim(name, about),
                false => self.values.fresh_value(element),
            };
            let longer = element
                .as_ref()
                .and_then(Value::as_str)
                .map(|word| format!("x{word}-y"));
            match longer.filter(|_| self.values.percent_chance(20)) {
                Some(longer) => elements.push(Value::S(longer)),
                None => elements.extend(element),
            }
        }
        Some(Value::L(elements))
    }

    fn claim(&mut self, name: &str, about: About<'_>) -> Option<Value> {
        let own = ValuedName::Claim(name.to_owned());
        let words: Vec<&str> = match name {
            "role" => self.judge.model.callers.roles.iter().map(String::as_str).collect(),
            _ => Vec::new(),
        };
        let written = self.judge.hints.literal_values(&own).iter().filter_map(Value::as_str);
        let words: Vec<String> = words.into_iter().chain(written).map(str::to_owned).collect();
        if !words.is_empty() && self.values.percent_chance(85) {
            return self.values.rng.choice(words).map(Value::S);
        }
        // What this operation compares the claim with; else what any does.
        let hints = match self.hints.attributes(&own).next() {
            Some(_) => self.hints,
            None => self.judge.hints,
        };
        let texts = self.known(about, &|attribute| {
            hints.attributes(&own).any(|known| known == attribute)
        });
        let texts: Vec<Value> = texts.into_iter().filter(|value| value.as_str().is_some()).collect();
        match self.values.rng.choice(texts) {
            Some(value) if self.values.percent_chance(90) => Some(value),
            _ => self.values.rng.choice(["a", "ab", "a#", "b"]).map(Value::from),
        }
    }

    /// A value of an argument: what a row has that it is compared with, a neighbour of that, or anything that fits.
    fn argument(&mut self, arg: &Argument, about: About<'_>) -> Option<Value> {
        self.valued(&arg.name, &arg.ty, about, 0)
    }

    fn valued(&mut self, name: &str, ty: &Type, about: About<'_>, depth: u8) -> Option<Value> {
        match ty {
            Type::List(element, limits) => {
                let count = self.values.count(*limits);
                let elements = (0..count).filter_map(|_| self.element(name, element, about, depth));
                let value = Value::L(elements.collect());
                values::checked_value(&value, ty).ok()
            }
            Type::Set(element, limits) => {
                let count = self.values.count(*limits).max(1);
                let elements = (0..count).filter_map(|_| self.element(name, element, about, depth));
                let value = set_of(elements.collect())?;
                values::checked_value(&value, ty).ok()
            }
            Type::Object(object) if depth < 3 => self.object(object, about, depth),
            _ => self.scalar(name, ty, about),
        }
    }

    /// An element: of the row that the request is about, or of another.
    fn element(&mut self, name: &str, ty: &Type, about: About<'_>, depth: u8) -> Option<Value> {
        let focus = match self.values.rng.bool() {
            true => about.focus,
            false => self.values.rng.choice(about.rows),
        };
        self.valued(name, ty, About { focus, ..about }, depth + 1)
    }

    fn object(&mut self, object: &ObjectType, about: About<'_>, depth: u8) -> Option<Value> {
        let mut fields = Attributes::new();
        for field in &object.fields {
            if field.optional && self.values.percent_chance(40) {
                continue;
            }
            let value = self.valued(&field.name, &field.ty, about, depth + 1)?;
            fields.insert(field.name.clone(), value);
        }
        Some(Value::M(fields))
    }

    fn scalar(&mut self, name: &str, ty: &Type, about: About<'_>) -> Option<Value> {
        let own = ValuedName::Arg(name.to_owned());
        let hints = self.hints;
        let near = match self.values.percent_chance(80) {
            true => About { rows: &[], ..about },
            false => About { focus: None, ..about },
        };
        let compared = |attribute: &str| hints.attributes(&own).any(|known| known == attribute);
        let mut known = self.typed(near, ty, &compared);
        if known.is_empty() {
            known = self.typed(near, ty, &|attribute| attribute.eq_ignore_ascii_case(name));
        }
        if known.is_empty() && matches!(ty, Type::Ulid | Type::Ksuid | Type::Uuid) {
            known = self.typed(near, ty, &|_| true);
        }
        known.extend(
            hints
                .literal_values(&own)
                .iter()
                .filter(|_| self.values.percent_chance(15))
                .cloned(),
        );
        let value = self
            .values
            .rng
            .choice(known)
            .and_then(|value| values::checked_value(&value, ty).ok());
        match (value, self.values.rng.u8(..100)) {
            (Some(value), 0..75) => Some(value),
            (Some(value), 75..92) => self.values.neighbour_value(&value, ty).or(Some(value)),
            _ => self.values.fresh_value(ty),
        }
    }

    /// Values that rows have under names, made to fit a type.
    fn typed(&self, about: About<'_>, ty: &Type, wanted: &dyn Fn(&str) -> bool) -> Vec<Value> {
        let mut found = Vec::new();
        self.each_known(about, &mut |entity, name, value| {
            let is_version = entity.history.as_ref().is_some_and(|history| history.at == name);
            if wanted(name) || (is_version && wanted(AT)) {
                let from = entity.attribute(name).map(|attribute| &attribute.ty);
                found.extend(from.and_then(|from| fitted(value, from, ty, &self.values)));
            }
        });
        found
    }

    fn known(&self, about: About<'_>, wanted: &dyn Fn(&str) -> bool) -> Vec<Value> {
        let mut found = Vec::new();
        let mut take = |_: &Entity, name: &str, value: &Value| {
            if wanted(name) {
                found.push(value.clone());
            }
        };
        self.each_known(About { rows: &[], ..about }, &mut take);
        if found.is_empty() {
            let mut take = |_: &Entity, name: &str, value: &Value| {
                if wanted(name) {
                    found.push(value.clone());
                }
            };
            self.each_known(About { focus: None, ..about }, &mut take);
        }
        found
    }

    fn each_known(&self, about: About<'_>, see: &mut dyn FnMut(&Entity, &str, &Value)) {
        for (id, row) in about.focus.into_iter().chain(about.rows) {
            let Some(entity) = self.judge.model.entity(*id) else {
                continue;
            };
            for (name, value) in row {
                see(entity, name, value);
            }
        }
    }

    fn request_key(&mut self, write: &Write) -> Option<String> {
        let often = match write.idempotency.need {
            IdempotencyNeed::Required => 97,
            IdempotencyNeed::Optional => 15,
            IdempotencyNeed::None => 3,
        };
        if !self.values.percent_chance(often) {
            return None;
        }
        match self.values.percent_chance(35) {
            true => {
                let key = self.values.rng.choice(REQUEST_KEYS)?;
                let delimiter = self.values.delimiter;
                // A key beside the delimiter may meet another caller's.
                Some(match self.values.percent_chance(20) {
                    true => format!("b{delimiter}{key}"),
                    false => key.to_owned(),
                })
            }
            false => Some(format!("k{}", self.values.rng.u32(100..))),
        }
    }

    /// Now and then the version of the row, or the next one.
    fn version(&mut self, write: &Write, about: About<'_>) -> Option<Number> {
        let often = if write.if_match_required { 90 } else { 8 };
        if write.bulk || !self.values.percent_chance(often) {
            return None;
        }
        let (id, row) = about.focus?;
        let entity = self.judge.model.entity(*id)?;
        let attribute = entity
            .attributes
            .iter()
            .find(|attribute| attribute.ty == Type::Version)?;
        let current = row.get(&attribute.name)?.as_number()?;
        match self.values.percent_chance(70) {
            true => Some(current),
            false => current.checked_add(Number::from(1)).ok(),
        }
    }
}

/// A value in another type that it is compared with: an instant as another kind of instant, the day or the month of one.
fn fitted(value: &Value, from: &Type, to: &Type, draw: &ValueDraw) -> Option<Value> {
    let (from, wanted) = (time::without_words(from), time::without_words(to));
    let fitted = match wanted {
        Type::Time | Type::Seconds | Type::Millis if from.is_instant() => {
            time::instant_as(time::millis_of(value, from).ok()??, wanted).ok()?
        }
        Type::Time | Type::Seconds | Type::Millis if *from == Type::Date => {
            let midnight = time::at_clock(value.as_str()?, "00:00", &draw.zone).ok()?;
            time::instant_as(midnight, wanted).ok()?
        }
        Type::Date if from.is_instant() => {
            Value::S(time::day_of(time::millis_of(value, from).ok()??, &draw.zone).ok()?)
        }
        Type::Month if from.is_instant() => {
            let day = time::day_of(time::millis_of(value, from).ok()??, &draw.zone).ok()?;
            Value::S(day.get(..7)?.to_owned())
        }
        Type::Month if *from == Type::Date => Value::S(value.as_str()?.get(..7)?.to_owned()),
        Type::Geo(None) => {
            let place = value.as_map()?;
            let side = |name: &str| Some((name.to_owned(), place.get(name)?.clone()));
            Value::M([side("lat")?, side("lon")?].into_iter().collect())
        }
        _ => value.clone(),
    };
    values::checked_value(&fitted, to).ok()
}

/// The entities that a read looks at.
pub(super) fn entities_of_read(read: &Read) -> Vec<EntityId> {
    let lets = read.lets.iter().filter_map(|bound| entity_of_value(&bound.value));
    read.all_selections()
        .filter_map(|selection| selection.entity())
        .chain(lets)
        .collect()
}

/// The entities that a write looks at or changes.
pub(super) fn entities_of_write(model: &Model, write: &Write) -> Vec<EntityId> {
    let mut found: Vec<EntityId> = write
        .lets
        .iter()
        .filter_map(|bound| entity_of_value(&bound.value))
        .collect();
    for step in write.all_steps() {
        found.extend(step.entity());
        found.extend(step.repeat.iter().filter_map(|(_, list)| entity_of_value(list)));
    }
    found.retain(|id| model.entity(*id).is_some_and(|entity| entity.role.is_none()));
    found
}

fn entity_of_value(value: &singlet_model::model::LetValue) -> Option<EntityId> {
    use singlet_model::expression::ExprKind;
    use singlet_model::model::LetValue;
    match value {
        LetValue::Read(selection) => selection.entity(),
        LetValue::Value(expr) => match &expr.kind {
            ExprKind::Entity { entity, .. } => Some(*entity),
            _ => None,
        },
    }
}
