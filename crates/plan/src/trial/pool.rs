//! Values to try: few of each type, near one another and near where keys break.

use std::collections::{BTreeMap, BTreeSet};

use jiff::tz::TimeZone;
use singlet_item::key::{Domain, Part, Pattern, Template, Variable, colliding_values};
use singlet_item::{Number, Value};
use singlet_model::evaluate::time;
use singlet_model::expression::{Expr, ExprKind, FunctionId, Literal};
use singlet_model::types::{LengthLimits, NumberLimits, TextLimits, Type};

/// Words beyond which a text's pool does not grow.
const WORDS_MAX: usize = 16;
/// Values of a small domain that are all tried.
const SMALL_DOMAIN_MAX: u64 = 33;
/// How deep objects and lists are made up.
const DEPTH_MAX: u8 = 3;
/// The instant of every trial, in the middle of a day and of a month.
pub(super) const NOW: i64 = 1_770_978_645_123;
const DAY_MILLIS: i64 = 86_400_000;
/// The place around which others lie, and how far they lie from it.
const PLACE: (f64, f64) = (52.2297, 21.0122);
const DISTANCES_KM: [f64; 11] = [0.0, 0.4, 0.9, 1.1, 2.4, 4.9, 5.1, 9.9, 10.1, 24.0, 26.0];
const KM_PER_DEGREE: f64 = 111.32;

/// Where values come from: what the model writes out, and how many neighbours are needed.
pub(super) struct Pool {
    words: BTreeSet<String>,
    numbers: BTreeSet<Number>,
    clocks: BTreeSet<String>,
    zone: TimeZone,
    delimiter: char,
    /// How many values that follow one another are tried, at least.
    spread: u64,
}

impl Pool {
    pub(super) fn new(zone: TimeZone, delimiter: char, queries: u64) -> Self {
        Pool {
            words: BTreeSet::new(),
            numbers: BTreeSet::new(),
            clocks: BTreeSet::new(),
            zone,
            delimiter,
            spread: queries.saturating_add(3).clamp(4, SMALL_DOMAIN_MAX),
        }
    }

    pub(super) fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// Takes the values that an expression writes out: rows differ where it looks.
    pub(super) fn learn_expression(&mut self, expr: &Expr) {
        expr.walk(&mut |part| match &part.kind {
            ExprKind::Literal(Literal::Text(text)) => {
                self.words.insert(text.clone());
            }
            ExprKind::Literal(Literal::Number(number)) => {
                self.numbers.insert(*number);
            }
            ExprKind::Call(FunctionId::Time, args) => {
                if let Some(Literal::Text(clock)) = args.get(1).and_then(Expr::as_literal) {
                    self.clocks.insert(clock.clone());
                }
            }
            _ => {}
        });
    }

    /// Takes the words that stand in the text of a template.
    pub(super) fn learn_template(&mut self, template: &Template) {
        for part in template.parts() {
            if let Part::Text(text) = part {
                let words = text.split(self.delimiter).filter(|word| !word.is_empty());
                self.words.extend(words.map(str::to_owned));
                self.numbers.extend(
                    text.split(self.delimiter)
                        .filter_map(|word| word.parse::<Number>().ok()),
                );
            }
        }
    }

    /// The values of a type that are tried, the most ordinary first. None where nothing is known of the type.
    pub(super) fn values(&self, ty: &Type) -> Vec<Value> {
        self.values_within(ty, 0)
    }

    fn values_within(&self, ty: &Type, depth: u8) -> Vec<Value> {
        match ty {
            Type::Text(limits) => self.texts(limits),
            Type::Int(limits) => self.wholes(limits),
            Type::Number(limits) => self.decimals(limits),
            Type::Version => [1, 2, 10].map(Value::from).to_vec(),
            Type::Bool => vec![Value::from(true), Value::from(false)],
            Type::Date => self.days().into_iter().map(Value::from).collect(),
            Type::Time | Type::Seconds | Type::Millis | Type::Now => self.instants(ty),
            Type::Month => ["2026-02", "2026-01", "2026-03", "2025-12"].map(Value::from).to_vec(),
            Type::Ulid => spread_ids("01JAZ3NDEKTSV4RRFFQ69G5FA", b"VWXYZ", "00000000000000000000000000"),
            Type::Ksuid => spread_ids("2NkUxAYJaRkYHWXSuwR2RDnuDC", b"ABCDEab", "000000000000000000000000000"),
            Type::Uuid => spread_ids(
                "3f2a8a4e-6f0b-4d5c-9a57-1d2f3b4c5d6",
                b"012345e",
                "00000000-0000-4000-8000-000000000000",
            ),
            Type::Enum(words) => words.members.iter().map(|word| Value::from(word.as_str())).collect(),
            Type::Geo(_) => places(),
            Type::OrWords(value, words) => {
                let mut all = self.values_within(value, depth);
                all.extend(words.iter().map(|word| Value::from(word.as_str())));
                all
            }
            Type::Object(object) if depth < DEPTH_MAX => {
                let mut map = BTreeMap::new();
                for field in object.fields.iter().filter(|field| !field.optional) {
                    let value = self.values_within(&field.ty, depth + 1).into_iter().next();
                    map.extend(value.map(|value| (field.name.clone(), value)));
                }
                vec![Value::M(map)]
            }
            Type::List(element, limits) if depth < DEPTH_MAX => self.lists(element, limits, depth),
            Type::Set(element, limits) if depth < DEPTH_MAX => self.sets(element, limits, depth),
            Type::Duration => {
                let day = time::Duration::new(0, DAY_MILLIS).ok();
                day.map(time::Duration::to_value).into_iter().collect()
            }
            Type::Json => vec![Value::M(BTreeMap::new())],
            Type::Bytes(_)
            | Type::Map(..)
            | Type::Object(_)
            | Type::List(..)
            | Type::Set(..)
            | Type::Row(_)
            | Type::Group(..)
            | Type::Absent
            | Type::Unknown => Vec::new(),
        }
    }

    fn texts(&self, limits: &TextLimits) -> Vec<Value> {
        let joined = format!("a{}b", self.delimiter);
        let open = format!("a{}", self.delimiter);
        let usual = [
            "a",
            "b",
            "ab",
            "A",
            joined.as_str(),
            "a b",
            open.as_str(),
            "aa",
            "B",
            "7",
        ];
        let folded = self.words.iter().flat_map(|word| {
            let longer = format!("{word}x");
            [word.clone(), word.to_lowercase(), word.to_uppercase(), longer]
        });
        let shortest = limits.length.min.unwrap_or(0);
        let mut words: Vec<String> = Vec::new();
        for word in usual.into_iter().map(str::to_owned).chain(folded) {
            let missing = usize::try_from(shortest)
                .unwrap_or(usize::MAX)
                .saturating_sub(word.chars().count());
            let padded = format!("{word}{}", "a".repeat(missing.min(64)));
            if is_text_within(limits, &padded) && !words.contains(&padded) {
                words.push(padded);
            }
        }
        if let Some(pattern) = limits.pattern.as_ref().filter(|_| words.len() < 4) {
            words.extend(pattern_words(pattern, limits));
        }
        words.truncate(WORDS_MAX.max(usize::try_from(self.spread).unwrap_or(WORDS_MAX)));
        words.into_iter().map(Value::from).collect()
    }

    fn wholes(&self, limits: &NumberLimits) -> Vec<Value> {
        if let Some(only) = &limits.only {
            return only.iter().map(|number| Value::from(*number)).collect();
        }
        let (min, max) = (
            limits.min.and_then(|min| min.to_i64()),
            limits.max.and_then(|max| max.to_i64()),
        );
        let small = self.spread.max(SMALL_DOMAIN_MAX);
        if let (Some(min), Some(max)) = (min, max)
            && max
                .checked_sub(min)
                .is_some_and(|span| u64::try_from(span).is_ok_and(|span| span < small))
        {
            return (min..=max).map(Value::from).collect();
        }
        let written = self.numbers.iter().filter_map(|number| number.to_i64());
        let near = written.flat_map(|number| [number.saturating_sub(1), number, number.saturating_add(1)]);
        let ends = min
            .into_iter()
            .chain(max)
            .flat_map(|end| [end.saturating_sub(1), end, end.saturating_add(1)]);
        let all = [1, 2, 10, 9, 0, 11, 100].into_iter().chain(near).chain(ends);
        let mut wholes: Vec<i64> = Vec::new();
        for number in all.filter(|number| is_number_within(limits, Number::from(*number))) {
            if !wholes.contains(&number) {
                wholes.push(number);
            }
        }
        wholes.into_iter().map(Value::from).collect()
    }

    fn decimals(&self, limits: &NumberLimits) -> Vec<Value> {
        if let Some(only) = &limits.only {
            return only.iter().map(|number| Value::from(*number)).collect();
        }
        let usual = ["1", "2", "10", "9.99", "0.5", "1.5", "0.01", "0", "100"]
            .into_iter()
            .filter_map(|text| text.parse().ok());
        let ends = limits.min.into_iter().chain(limits.max);
        let mut decimals: Vec<Number> = Vec::new();
        for number in usual.chain(self.numbers.iter().copied()).chain(ends) {
            if is_number_within(limits, number) && !decimals.contains(&number) {
                decimals.push(number);
            }
        }
        decimals.into_iter().map(Value::from).collect()
    }

    /// Days that follow one another, one long before them, and those written out.
    fn days(&self) -> Vec<String> {
        let last = i64::try_from(self.spread).unwrap_or(4) - 1;
        let mut days: Vec<String> = Vec::new();
        for step in [0, 1].into_iter().chain(2..last).chain([-1, -400]) {
            days.extend(time::day_of(NOW + step * DAY_MILLIS, &self.zone));
        }
        let written = self.words.iter().filter(|word| time::parse_day(word).is_ok());
        days.extend(written.cloned());
        days
    }

    /// The first and last instants of days, in the model's zone and in UTC, and those around now.
    fn instants(&self, ty: &Type) -> Vec<Value> {
        let mut millis: Vec<i64> = vec![NOW, NOW - 1, NOW + 1, NOW - 1000, NOW + 3_600_000];
        let mut days: Vec<String> = (-1..=2)
            .filter_map(|step| time::day_of(NOW + step * DAY_MILLIS, &self.zone).ok())
            .collect();
        days.extend(self.words.iter().filter(|word| time::parse_day(word).is_ok()).cloned());
        let clocks = ["00:00", "12:00"]
            .into_iter()
            .chain(self.clocks.iter().map(String::as_str));
        let clocks: BTreeSet<&str> = clocks.collect();
        for day in &days {
            for zone in [&self.zone, &TimeZone::UTC] {
                for clock in &clocks {
                    let Ok(at) = time::at_clock(day, clock, zone) else {
                        continue;
                    };
                    millis.extend([at, at - 1]);
                }
                // The last minute of a day, of which a range up to `23:59:00` knows only the beginning.
                let last = time::at_clock(day, "23:59", zone);
                millis.extend(last.into_iter().flat_map(|at| [at, at + 30_000, at + 59_000]));
            }
        }
        millis.extend(self.words.iter().filter_map(|word| time::parse_iso(word)));
        let mut seen = BTreeSet::new();
        millis.retain(|at| seen.insert(*at));
        millis
            .into_iter()
            .filter_map(|at| time::instant_as(at, ty).ok())
            .collect()
    }

    fn lists(&self, element: &Type, limits: &LengthLimits, depth: u8) -> Vec<Value> {
        let values = self.values_within(element, depth + 1);
        let most = limits
            .max
            .map_or(usize::MAX, |max| usize::try_from(max).unwrap_or(usize::MAX));
        let least = limits.min.map_or(0, |min| usize::try_from(min).unwrap_or(usize::MAX));
        let sizes = [1, 2, 3, 0, most]
            .into_iter()
            .filter(|size| (least..=most).contains(size) && *size <= values.len());
        let sizes: BTreeSet<usize> = sizes.collect();
        let first = |size: usize| Value::L(values.iter().take(size).cloned().collect());
        sizes.into_iter().rev().map(first).collect()
    }

    fn sets(&self, element: &Type, limits: &LengthLimits, depth: u8) -> Vec<Value> {
        let as_set = |list: Value| {
            let list = list.as_list()?;
            let texts: Option<BTreeSet<String>> = list.iter().map(|value| value.as_str().map(str::to_owned)).collect();
            texts
                .filter(|texts| !texts.is_empty())
                .map(|texts| Value::Ss(texts.into_iter().collect()))
        };
        self.lists(element, limits, depth)
            .into_iter()
            .filter_map(as_set)
            .collect()
    }
}

/// Whether a value is one of a type, as far as an expression's value can miss it.
pub(super) fn is_within(ty: &Type, value: &Value) -> bool {
    match (ty, value) {
        (Type::Text(limits), Value::S(text)) => is_text_within(limits, text),
        (Type::Int(limits) | Type::Number(limits), Value::N(number)) => is_number_within(limits, *number),
        (Type::Enum(words), Value::S(text)) => words.members.contains(text),
        (Type::OrWords(inner, words), value) => {
            value.as_str().is_some_and(|text| words.iter().any(|word| word == text)) || is_within(inner, value)
        }
        (Type::Text(_) | Type::Enum(_) | Type::Int(_) | Type::Number(_), _) => false,
        _ => true,
    }
}

fn is_text_within(limits: &TextLimits, text: &str) -> bool {
    let length = text.chars().count() as u64;
    let long_enough =
        limits.length.min.is_none_or(|min| length >= min) && limits.length.max.is_none_or(|max| length <= max);
    long_enough
        && limits
            .pattern
            .as_ref()
            .is_none_or(|pattern| pattern.matches_whole(text))
}

fn is_number_within(limits: &NumberLimits, number: Number) -> bool {
    let listed = limits.only.as_ref().is_none_or(|only| only.contains(&number));
    let text = number.to_string();
    let decimals = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let coarse = limits.decimals.is_none_or(|most| decimals <= usize::from(most));
    listed && coarse && limits.min.is_none_or(|min| number >= min) && limits.max.is_none_or(|max| number <= max)
}

/// Words of a pattern: one for each of a few beginnings, and one that goes on after the first.
fn pattern_words(pattern: &Pattern, limits: &TextLimits) -> Vec<String> {
    let text = singlet_item::key::TextDomain {
        pattern: Some(pattern.clone()),
        min_chars: limits.length.min.and_then(|min| u32::try_from(min).ok()).unwrap_or(0),
        max_chars: limits.length.max.and_then(|max| u32::try_from(max).ok()),
    };
    let domain = Domain::Text(text);
    let beginning = |start: &str, rest: Part| {
        let delimiter = singlet_item::key::Delimiter::default();
        let words = Template::new(
            vec![Part::Variable(Variable::new(
                "w",
                singlet_item::key::Form::Raw,
                domain.clone(),
            ))],
            delimiter,
        );
        let asked = Template::new(vec![Part::text(start), rest], delimiter);
        let witness = colliding_values(&[words.ok()?], &[asked.ok()?])?;
        witness.keys.into_iter().next()
    };
    let mut words: Vec<String> = Vec::new();
    for start in ["", "a", "b", "A", "B", "1", "2", "u", "x", "AB", "12"] {
        words.extend(beginning(start, Part::Anything).filter(|word| !words.contains(word)));
    }
    let longer = words.first().and_then(|first| {
        let more = Part::Variable(Variable::new("m", singlet_item::key::Form::Raw, Domain::text(1, None)));
        beginning(first, more)
    });
    words.extend(longer);
    words
}

/// Ids that differ in their last character, and the least of all.
fn spread_ids(beginning: &str, last: &[u8], least: &str) -> Vec<Value> {
    let ids = last
        .iter()
        .map(|last| Value::S(format!("{beginning}{}", char::from(*last))));
    ids.chain([Value::from(least)]).collect()
}

fn places() -> Vec<Value> {
    let (lat, lon) = PLACE;
    let offset = |km: f64| {
        [
            (lat + km / KM_PER_DEGREE, lon),
            (lat, lon + km / (KM_PER_DEGREE * lat.to_radians().cos())),
        ]
    };
    let degrees = |degrees: f64| format!("{degrees:.6}").parse::<Number>().ok().map(Value::from);
    let place = |(lat, lon): (f64, f64)| {
        let map = [("lat".to_owned(), degrees(lat)?), ("lon".to_owned(), degrees(lon)?)];
        Some(Value::M(BTreeMap::from(map)))
    };
    DISTANCES_KM.into_iter().flat_map(offset).filter_map(place).collect()
}
