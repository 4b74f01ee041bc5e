//! Values of arguments: those that rows have, or any that fit.

use singlet_item::{Number, Value};
use singlet_model::evaluate::time;
use singlet_model::model::{Argument, Attribute};
use singlet_model::types::{ObjectType, Type};
use singlet_runtime::Attributes;
use singlet_values as values;

use super::draw::Draw;
use super::sequence::WriteSequence;
use super::world::Row;

/// Texts that fit one type or another: names, codes, addresses, and characters that keys escape.
const TEXTS: &[&str] = &[
    "ada",
    "bob",
    "cyd",
    "Ada",
    "home",
    "home office",
    "a#b",
    "a$b",
    "x",
    "hello there",
    "ada@x.org",
    "ADA@x.org",
    "bob@x.org",
    "cyd@y.org",
    "AA",
    "BB",
    "CC",
    "AAA",
    "BBB",
    "CCC",
    "001",
    "002",
    "003",
    "12345678",
    "123456",
    "EUR",
];

/// A text for which no name has room: 41 characters.
const TEXT_LONG: &str = "longer than any name that stands in a key";

/// How many of the texts that fit are used, so that rows share some.
const TEXTS_USUAL: usize = 5;

impl Draw {
    pub(super) fn argument(&mut self, sequence: &WriteSequence, arg: &Argument, focus: Option<&Row>) -> Option<Value> {
        let odds = self.rng.u8(..100);
        if arg.optional || arg.default.is_some() {
            match odds {
                0..35 => return None,
                35..45 if arg.optional => return Some(Value::Null),
                _ => {}
            }
        } else if odds == 0 {
            return None;
        }
        let known = match self.rng.u8(..10) {
            0..8 => focus.and_then(|row| self.known(sequence, arg, &[row])),
            8 => self.known_anywhere(sequence, arg),
            _ => None,
        };
        // An id that nobody has is of little use.
        let known = known.or_else(|| {
            self.known_anywhere(sequence, arg)
                .filter(|_| arg.ty == Type::Ulid && odds < 90)
        });
        known.or_else(|| self.fresh(sequence, &arg.ty, 0))
    }

    fn known_anywhere(&mut self, sequence: &WriteSequence, arg: &Argument) -> Option<Value> {
        let all: Vec<&Row> = sequence.rows().iter().collect();
        self.known(sequence, arg, &all)
    }

    /// A value that some row has under that name, or else for an attribute of that type.
    fn known(&mut self, sequence: &WriteSequence, arg: &Argument, rows: &[&Row]) -> Option<Value> {
        let named = |attribute: &Attribute| attribute.name.eq_ignore_ascii_case(&arg.name);
        let typed = |attribute: &Attribute| attribute.ty == arg.ty && !matches!(arg.ty, Type::Bool | Type::Enum(_));
        let mut values = values_of(sequence, rows, &named);
        if values.is_empty() {
            values = values_of(sequence, rows, &typed);
        }
        values.retain(|value| values::checked_value(value, &arg.ty).is_ok());
        self.rng.choice(values).cloned()
    }

    /// An element: an id that some row has, or anything.
    fn element(&mut self, sequence: &WriteSequence, ty: &Type, depth: u8) -> Option<Value> {
        let rows: Vec<&Row> = sequence.rows().iter().collect();
        let known = values_of(sequence, &rows, &|attribute| attribute.ty == *ty);
        let known = self
            .rng
            .choice(known)
            .filter(|_| *ty == Type::Ulid && self.rng.u8(..10) < 9);
        known.cloned().or_else(|| self.fresh(sequence, ty, depth))
    }

    fn fresh(&mut self, sequence: &WriteSequence, ty: &Type, depth: u8) -> Option<Value> {
        if depth > 3 {
            return None;
        }
        let days = self.rng.i64(-2..4) * 86_400_000;
        Some(match ty {
            Type::Text(limits) if limits.length.max.is_none() && limits.pattern.is_none() && self.rng.u8(..6) == 0 => {
                Value::from(TEXT_LONG)
            }
            Type::Text(_) => {
                let fits = |text: &&str| values::checked_value(&Value::S((*text).to_owned()), ty).is_ok();
                let texts: Vec<&str> = TEXTS.iter().copied().filter(fits).collect();
                Value::S(self.rng.choice(texts.into_iter().take(TEXTS_USUAL))?.to_owned())
            }
            Type::Int(limits) | Type::Number(limits) => {
                let near = [limits.min, limits.max].into_iter().flatten();
                let mut numbers: Vec<Number> = near.chain((0..8).map(Number::from)).collect();
                numbers.extend(limits.only.iter().flat_map(|only| only.iter().copied()));
                numbers.retain(|number| values::checked_value(&Value::N(*number), ty).is_ok());
                Value::N(self.rng.choice(numbers)?)
            }
            Type::Bool => Value::Bool(self.rng.bool()),
            Type::Date => Value::S(time::iso_millis(self.now + days).ok()?.get(..10)?.to_owned()),
            Type::Time | Type::Seconds | Type::Millis => time::instant_as(self.now + days, ty).ok()?,
            Type::Ulid => Value::S(format!("{:026}", self.rng.u8(..3))),
            Type::Enum(words) => Value::S(self.rng.choice(&words.members)?.clone()),
            Type::Object(object) | Type::Geo(Some(object)) => self.object(sequence, object, depth)?,
            Type::List(element, limits) => {
                let least = limits.min.unwrap_or(0).max(1);
                let count = self.rng.u64(least..least + 3).min(limits.max.unwrap_or(u64::MAX));
                let elements = (0..count).filter_map(|_| self.element(sequence, element, depth + 1));
                Value::L(elements.collect())
            }
            Type::Set(element, _) => {
                let words: Vec<Value> = (0..2)
                    .filter_map(|_| self.element(sequence, element, depth + 1))
                    .collect();
                match words.first()? {
                    Value::N(_) => Value::Ns(words.iter().filter_map(Value::as_number).collect()),
                    _ => Value::Ss(
                        words
                            .iter()
                            .filter_map(|word| word.as_str().map(str::to_owned))
                            .collect(),
                    ),
                }
            }
            Type::Map(element, _) => {
                let value = self.element(sequence, element, depth + 1)?;
                Value::M(Attributes::from([("k".to_owned(), value)]))
            }
            _ => return None,
        })
    }

    fn object(&mut self, sequence: &WriteSequence, object: &ObjectType, depth: u8) -> Option<Value> {
        let mut fields = Attributes::new();
        for field in &object.fields {
            if !field.optional || self.rng.bool() {
                fields.insert(field.name.clone(), self.fresh(sequence, &field.ty, depth + 1)?);
            }
        }
        Some(Value::M(fields))
    }
}

fn values_of<'s>(sequence: &WriteSequence, rows: &[&'s Row], wanted: &dyn Fn(&Attribute) -> bool) -> Vec<&'s Value> {
    let mut values = Vec::new();
    for (id, row) in rows {
        let entity = sequence.model().entity(*id);
        let attributes = entity.into_iter().flat_map(|entity| &entity.attributes);
        let wanted = attributes.filter(|attribute| wanted(attribute));
        values.extend(wanted.filter_map(|attribute| row.get(&attribute.name)));
    }
    values
}
