//! Values of a type, biased to where designs break: beside a delimiter, at the ends of limits, on the last day of a month, at
//! the instant of the call.

use std::collections::BTreeMap;
use std::sync::Arc;

use fastrand::Rng;
use jiff::tz::TimeZone;
use singlet_item::{Number, Value};
use singlet_model::evaluate::time;
use singlet_model::types::{LengthLimits, NumberLimits, ObjectType, TextLimits, Type};
use singlet_runtime::Attributes;
use singlet_values as values;

use super::pattern::matching_text;

/// How often a value is drawn until one fits its type.
const TRIES: usize = 12;

/// How deep lists and objects are filled.
const DEPTH_MAX: u8 = 4;

/// The longest text that is drawn, in characters: keys near their limits need no more.
const TEXT_CHARS_MAX: u64 = 1_100;

/// The longest text of a type without a limit, in characters.
const TEXT_CHARS_USUAL: u64 = 40;

/// Elements of a list that are drawn beyond the least.
const ELEMENTS_MORE_MAX: u64 = 3;

/// Minutes, hours, days and months around the instant of a call, in milliseconds.
const SHIFTS: [i64; 21] = [
    0,
    0,
    0,
    1,
    -1,
    999,
    -999,
    1_000,
    -1_000,
    -60_000,
    60_000,
    -3_600_000,
    3_600_000,
    -86_400_000,
    86_400_000,
    -90_000_000,
    2 * 86_400_000,
    -31 * 86_400_000,
    31 * 86_400_000,
    -91 * 86_400_000,
    -400 * 86_400_000,
];

/// Days around the day of a call.
const DAYS: [i64; 13] = [0, 0, 1, -1, 2, -2, 7, -7, 30, -30, 31, -31, 365];

/// Places: in a city, its neighbourhood, across the antimeridian, far north, at the equator.
const PLACES: [(f64, f64); 9] = [
    (52.2297, 21.0122),
    (52.2297, 21.0122),
    (52.2746, 21.0122),
    (52.2297, 21.0853),
    (52.1848, 20.9391),
    (0.0, 179.999),
    (0.0, -179.999),
    (69.65, 18.96),
    (-33.8688, 151.2093),
];

/// Draws values.
#[derive(Clone, Debug)]
pub(super) struct ValueDraw {
    pub rng: Rng,
    /// The instant of the calls.
    pub now: i64,
    pub zone: TimeZone,
    pub delimiter: char,
}

impl ValueDraw {
    /// True so often in a hundred.
    pub fn percent_chance(&mut self, percent: u8) -> bool {
        self.rng.u8(..100) < percent
    }

    /// A value of a type; none where none that fits came up.
    pub fn fresh_value(&mut self, ty: &Type) -> Option<Value> {
        self.of_type(ty, 0)
    }

    fn of_type(&mut self, ty: &Type, depth: u8) -> Option<Value> {
        if depth > DEPTH_MAX {
            return None;
        }
        (0..TRIES).find_map(|_| {
            let value = self.candidate(ty, depth)?;
            values::checked_value(&value, ty).ok()
        })
    }

    fn candidate(&mut self, ty: &Type, depth: u8) -> Option<Value> {
        Some(match ty {
            Type::Text(limits) => Value::S(self.text(limits)?),
            Type::Int(limits) => Value::N(self.number(limits, true)?),
            Type::Number(limits) => Value::N(self.number(limits, false)?),
            Type::Bool => Value::Bool(self.rng.bool()),
            Type::Bytes(limits) => Value::B(self.bytes(*limits)),
            Type::Date => Value::S(self.near_day()?),
            Type::Month => Value::S(self.near_day()?.get(..7)?.to_owned()),
            Type::Time | Type::Seconds | Type::Millis | Type::Now => time::instant_as(self.near_instant()?, ty).ok()?,
            Type::Duration => {
                let millis = self.rng.choice([0, 1_000, 3_600_000, 86_400_000, 30 * 86_400_000])?;
                time::Duration::new(0, millis).ok()?.to_value()
            }
            Type::Ulid => Value::S(self.ulid()),
            Type::Ksuid => Value::S(format!("2Nk{:024}", self.rng.u8(..40))),
            Type::Uuid => Value::S(format!("3f2a0000-0000-7000-8000-{:012}", self.rng.u8(..40))),
            Type::Geo(None) => self.place(),
            Type::Geo(Some(object)) => {
                let place = self.place();
                self.object(object, depth, place.as_map().cloned().unwrap_or_default())?
            }
            Type::Object(object) => self.object(object, depth, Attributes::new())?,
            Type::Json => self.json(),
            Type::Version => Value::N(Number::from(self.rng.i64(1..4))),
            Type::Enum(words) => Value::S(self.rng.choice(&words.members)?.clone()),
            Type::List(element, limits) => Value::L(self.elements(element, *limits, depth)),
            Type::Set(element, limits) => set_of(self.elements(element, *limits, depth))?,
            Type::Map(element, limits) => {
                let names = ["a", "b", "a#b", "k", "é", "K"].into_iter().map(str::to_owned);
                let elements = self.elements(element, *limits, depth);
                Value::M(names.zip(elements).collect())
            }
            Type::OrWords(inner, words) => match self.percent_chance(35) {
                true => Value::S(self.rng.choice(words.iter())?.clone()),
                false => self.of_type(inner, depth)?,
            },
            Type::Row(_) | Type::Group(..) | Type::Absent | Type::Unknown => return None,
        })
    }

    /// A text: short, near others, around the delimiter and its escape, in another case, or as long as may be.
    fn text(&mut self, limits: &TextLimits) -> Option<String> {
        if let Some(pattern) = &limits.pattern {
            return matching_text(pattern.as_str(), &mut self.rng);
        }
        let (delimiter, escape) = (self.delimiter, next_char(self.delimiter));
        let base = self.rng.choice(["a", "b", "ab", "A", "é", "10", "9", "a b", "z"])?;
        let text = match self.rng.u8(..16) {
            0..5 => base.to_owned(),
            5 => format!("{base}{delimiter}"),
            6 => format!("{base}{delimiter}b"),
            7 => format!("{delimiter}{base}"),
            8 => format!("{base}{escape}"),
            9 => format!("{base}{escape}{:02X}b", u32::from(delimiter)),
            10 => format!("{base}{}", previous_char(delimiter)),
            11 => format!("{base}{}", next_char(escape)),
            12 => base.to_uppercase(),
            13 => format!("{base}{base}"),
            14 => String::new(),
            _ => format!("{base}\u{10FFFF}"),
        };
        Some(self.within(text, limits.length))
    }

    /// Makes a text as long as it must be at least, and no longer than it may; now and then as long as it may be.
    fn within(&mut self, text: String, limits: LengthLimits) -> String {
        let least = limits.min.unwrap_or(0).min(TEXT_CHARS_MAX);
        // Where nothing limits a text, no text is too long for the model, but many are for a key.
        let most = limits.max.unwrap_or(TEXT_CHARS_USUAL.max(least)).min(TEXT_CHARS_MAX);
        let mut chars: Vec<char> = text.chars().collect();
        let wanted = match self.rng.u8(..60) {
            0 => most,
            _ => (chars.len() as u64).clamp(least, most.max(least)),
        } as usize;
        chars.resize(wanted, 'x');
        chars.into_iter().collect()
    }

    fn number(&mut self, limits: &NumberLimits, whole: bool) -> Option<Number> {
        if let Some(only) = &limits.only {
            return self.rng.choice(only.iter().copied());
        }
        let step = smallest_step(limits, whole)?;
        let small = self.rng.choice([0, 1, 2, 5, 9, 10, 11, 99, 100, -1, -10])?;
        let near = match self.rng.u8(..8) {
            0 => limits.min,
            1 => limits.max,
            2 => limits.min.and_then(|least| least.checked_add(step).ok()),
            3 => limits.max.and_then(|most| most.checked_sub(step).ok()),
            4 if !whole => Number::from(small).checked_add(step).ok(),
            _ => None,
        };
        Some(near.unwrap_or_else(|| Number::from(small)))
    }

    fn bytes(&mut self, limits: LengthLimits) -> Vec<u8> {
        let least = limits.min.unwrap_or(0).max(1);
        let count = self.rng.u64(least..least + 3).min(limits.max.unwrap_or(u64::MAX));
        (0..count)
            .map(|_| self.rng.choice([0, 1, 35, 127, 255]).unwrap_or(0))
            .collect()
    }

    /// A day near the day of the call; often the last of a month.
    pub fn near_day(&mut self) -> Option<String> {
        let shift = self.rng.choice(DAYS)?;
        let day = time::day_of(self.now + shift * 86_400_000, &self.zone).ok()?;
        if !self.percent_chance(25) {
            return Some(day);
        }
        let day: jiff::civil::Date = day.parse().ok()?;
        let edge = match self.rng.u8(..3) {
            0 => day.first_of_month(),
            1 => day.last_of_month(),
            _ => day.last_of_month().tomorrow().ok()?,
        };
        Some(edge.to_string())
    }

    /// An instant near that of the call, or at the edge of a day of the model's zone.
    pub fn near_instant(&mut self) -> Option<i64> {
        let near = self.now + self.rng.choice(SHIFTS)?;
        if !self.percent_chance(20) {
            return Some(near);
        }
        let day = self.near_day()?;
        let midnight = time::at_clock(&day, "00:00", &self.zone).ok()?;
        Some(midnight + self.rng.choice([-1, 0, 1, 60_000, 86_399_999])?)
    }

    fn ulid(&mut self) -> String {
        format!("01JQ{:022}", self.rng.u8(..40))
    }

    fn place(&mut self) -> Value {
        let (lat, lon) = self.rng.choice(PLACES).unwrap_or((0.0, 0.0));
        // About as far as circles are wide, so that rows lie on both sides of an edge.
        let shift = self
            .rng
            .choice([0.0, 0.0, 0.0089, 0.0449, 0.0450, -0.0449, 0.0898, 0.2245])
            .unwrap_or(0.0);
        let degrees = |value: f64| {
            format!("{value:.6}")
                .parse::<Number>()
                .map(Value::N)
                .unwrap_or(Value::Null)
        };
        let (lat, lon) = ((lat + shift).clamp(-90.0, 90.0), lon);
        Value::M(BTreeMap::from([
            ("lat".to_owned(), degrees(lat)),
            ("lon".to_owned(), degrees(lon)),
        ]))
    }

    fn object(&mut self, object: &Arc<ObjectType>, depth: u8, known: Attributes) -> Option<Value> {
        let mut fields = known;
        for field in &object.fields {
            if fields.contains_key(&field.name) || (field.optional && self.percent_chance(40)) {
                continue;
            }
            let value = self.of_type(&field.ty, depth + 1)?;
            fields.insert(field.name.clone(), value);
        }
        Some(Value::M(fields))
    }

    fn json(&mut self) -> Value {
        match self.rng.u8(..4) {
            0 => Value::S("a#b".to_owned()),
            1 => Value::N(Number::from(3)),
            2 => Value::L(vec![Value::Bool(true)]),
            _ => Value::M(Attributes::from([("a".to_owned(), Value::N(Number::from(1)))])),
        }
    }

    /// How many elements: the fewest, few more, or as many as may be where that is a small number.
    pub fn count(&mut self, limits: LengthLimits) -> u64 {
        let least = limits.min.unwrap_or(0);
        let most = limits.max.unwrap_or(u64::MAX);
        match self.rng.u8(..20) {
            0 if most <= 30 => most,
            _ => least.saturating_add(self.rng.u64(..=ELEMENTS_MORE_MAX)).min(most),
        }
    }

    fn elements(&mut self, element: &Type, limits: LengthLimits, depth: u8) -> Vec<Value> {
        let count = self.count(limits);
        (0..count).filter_map(|_| self.of_type(element, depth + 1)).collect()
    }

    /// A value so many after another, so that values of one row are all different.
    pub(crate) fn nth_after(&mut self, value: &Value, ty: &Type, at: u64) -> Option<Value> {
        let shift = i64::try_from(at).ok()?;
        let after = match (value, ty) {
            (_, Type::Ulid) => Value::S(format!("01JQ{:022}", at + 100)),
            (_, Type::Ksuid) => Value::S(format!("2Nk{:024}", at + 100)),
            (_, Type::Uuid) => Value::S(format!("3f2a0000-0000-7000-8000-{:012}", at + 100)),
            (Value::S(text), Type::Date) => {
                let day: jiff::civil::Date = text.parse().ok()?;
                Value::S(
                    day.checked_add(jiff::Span::new().try_days(shift).ok()?)
                        .ok()?
                        .to_string(),
                )
            }
            (_, Type::Time | Type::Seconds | Type::Millis) => {
                time::instant_as(time::millis_of(value, ty).ok()?? + shift * 1_000, ty).ok()?
            }
            (Value::S(text), Type::Text(_)) => Value::S(format!("{text}{at}")),
            (Value::N(number), _) => Value::N(number.checked_add(Number::from(shift)).ok()?),
            _ => self.fresh_value(ty)?,
        };
        values::checked_value(&after, ty).ok()
    }

    /// A value beside another: the next day, a longer text, one more.
    pub fn neighbour_value(&mut self, value: &Value, ty: &Type) -> Option<Value> {
        let near = match (value, ty) {
            (Value::S(text), Type::Date) => {
                let day: jiff::civil::Date = text.parse().ok()?;
                let near = if self.rng.bool() {
                    day.tomorrow()
                } else {
                    day.yesterday()
                };
                Value::S(near.ok()?.to_string())
            }
            (Value::S(text), Type::Month) => {
                let first: jiff::civil::Date = format!("{text}-01").parse().ok()?;
                let near = if self.rng.bool() {
                    first.last_of_month().tomorrow()
                } else {
                    first.yesterday()
                };
                Value::S(near.ok()?.to_string().get(..7)?.to_owned())
            }
            (_, Type::Time | Type::Seconds | Type::Millis) => {
                let millis = time::millis_of(value, ty).ok()??;
                time::instant_as(millis + self.rng.choice([-1_000, -1, 1, 1_000])?, ty).ok()?
            }
            (Value::S(text), Type::Text(_)) => Value::S(match self.rng.u8(..4) {
                0 => text.chars().take(text.chars().count().saturating_sub(1)).collect(),
                1 => format!("{text}{}", self.delimiter),
                2 if *text != text.to_uppercase() => text.to_uppercase(),
                2 => text.to_lowercase(),
                _ => format!("{text}a"),
            }),
            (Value::N(number), _) => {
                let one = Number::from(1);
                let near = if self.rng.bool() {
                    number.checked_add(one)
                } else {
                    number.checked_sub(one)
                };
                Value::N(near.ok()?)
            }
            (_, Type::Geo(_)) => self.place(),
            (_, Type::OrWords(inner, _)) => return self.neighbour_value(value, inner),
            _ => return None,
        };
        values::checked_value(&near, ty).ok()
    }
}

/// The least by which two numbers differ.
pub(super) fn smallest_step(limits: &NumberLimits, whole: bool) -> Option<Number> {
    match if whole { 0 } else { limits.decimals.unwrap_or(2) } {
        0 => Some(Number::from(1)),
        many => format!("0.{}1", "0".repeat(usize::from(many) - 1)).parse().ok(),
    }
}

/// A set of elements; none where there are none.
pub(super) fn set_of(elements: Vec<Value>) -> Option<Value> {
    Some(match elements.first()? {
        Value::N(_) => Value::Ns(elements.iter().filter_map(Value::as_number).collect()),
        Value::B(_) => Value::Bs(
            elements
                .iter()
                .filter_map(|bytes| bytes.as_bytes().map(<[u8]>::to_vec))
                .collect(),
        ),
        _ => Value::Ss(
            elements
                .iter()
                .filter_map(|text| text.as_str().map(str::to_owned))
                .collect(),
        ),
    })
}

fn next_char(char: char) -> char {
    char::from_u32(u32::from(char) + 1).unwrap_or(char)
}

fn previous_char(char: char) -> char {
    char::from_u32(u32::from(char).saturating_sub(1)).unwrap_or(char)
}
