//! Values of the language's types, from JSON and from text, and back to JSON: arguments, rows, settings, answers.
//!
//! Every digit of a number is kept on the way in and out. Whoever takes a value from outside takes it through here: [`from_text`] where
//! it comes as text (a query, the command line), [`from_tree`] where it comes as JSON, [`as_stored`] where a program has it already.
//! What they give is spelled as it is stored, within the limits of its type.
//!
//! It knows no model beyond its types, and neither an engine nor a store.

#![deny(
    clippy::wildcard_enum_match_arm,
    reason = "a type that is forgotten must not compile"
)]

mod checked;
mod json_pieces;
pub mod json_text;
mod tree;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use singlet_item::{Number, NumberError, Value};
use singlet_model::evaluate::{Duration, time};
use singlet_model::spelling::canonical_text;
use singlet_model::text_forms::TextForm;
use singlet_model::types::{LengthLimits, NumberLimits, ObjectType, TextLimits, Type};

pub use checked::{as_stored, checked_value};
pub use json_pieces::JsonPieces;
pub use tree::{JsonError, Members, Tree};

/// What is wrong with a value, and where in it: a JSON pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// Where.
    pub pointer: String,
    /// What.
    pub reason: String,
}

impl Invalid {
    fn new(reason: impl Into<String>) -> Self {
        Invalid {
            pointer: String::new(),
            reason: reason.into(),
        }
    }

    fn under(mut self, step: &str) -> Self {
        let step = step.replace('~', "~0").replace('/', "~1");
        self.pointer = format!("/{step}{}", self.pointer);
        self
    }
}

impl std::fmt::Display for Invalid {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.pointer.is_empty() {
            true => out.write_str(&self.reason),
            false => write!(out, "{}: {}", self.pointer, self.reason),
        }
    }
}

/// A value of a type from JSON, as it is stored.
///
/// # Errors
///
/// Where it is not of the type or outside its limits.
pub fn from_json(json: &Json, ty: &Type) -> Result<Value, Invalid> {
    from_tree(&Tree::from(json), ty)
}

/// A value of a type from JSON that was taken apart with every digit, as it is stored.
///
/// # Errors
///
/// Where it is not of the type or outside its limits.
pub fn from_tree(tree: &Tree<'_>, ty: &Type) -> Result<Value, Invalid> {
    match (ty, tree) {
        (Type::Json | Type::Unknown, tree) => free(tree),
        (Type::Bool, Tree::Bool(truth)) => Ok(Value::Bool(*truth)),
        (Type::Int(limits) | Type::Number(limits), Tree::Number(number)) => number_value(number, ty, limits),
        (Type::Version, Tree::Number(number)) => number_value(number, ty, &NumberLimits::default()),
        (Type::Seconds | Type::Millis, Tree::Number(number)) => number_value(number, ty, &instant_limits(ty)),
        (Type::Bytes(limits), Tree::Text(text)) => bytes(text, limits),
        (Type::List(element, limits), Tree::List(elements)) => list(elements, element, limits).map(Value::L),
        (Type::Set(element, limits), Tree::List(elements)) => set(list(elements, element, limits)?),
        (Type::Map(element, limits), Tree::Object(entries)) => map(entries, element, limits),
        (Type::Object(object), Tree::Object(entries)) => fields(entries, tree, object),
        (Type::Geo(Some(object)), Tree::Object(entries)) => on_earth(fields(entries, tree, object)?),
        (Type::Geo(None), Tree::Object(_)) => place(tree),
        (Type::OrWords(_, words), Tree::Text(text)) if words.iter().any(|word| word == text) => Ok(text_value(text)),
        (Type::OrWords(value, _), tree) => from_tree(tree, value),
        // What JSON has a form for is not taken as text.
        (
            Type::Bool
            | Type::Int(_)
            | Type::Number(_)
            | Type::Version
            | Type::Seconds
            | Type::Millis
            | Type::Geo(_)
            | Type::List(..)
            | Type::Set(..)
            | Type::Map(..)
            | Type::Object(_),
            Tree::Text(_),
        ) => Err(Invalid::new(format!("this must be {}", type_words(ty)))),
        (_, Tree::Text(text)) => from_text(text, ty),
        _ => Err(Invalid::new(format!("this must be {}", type_words(ty)))),
    }
}

fn text_value(text: &str) -> Value {
    Value::S(text.to_owned())
}

/// Bytes as base64, as DynamoDB spells them.
fn bytes(text: &str, limits: &LengthLimits) -> Result<Value, Invalid> {
    let bytes = STANDARD
        .decode(text)
        .map_err(|_| Invalid::new("this must be bytes in base64, with padding"))?;
    check_length(bytes.len() as u64, limits, "bytes")?;
    Ok(Value::B(bytes))
}

/// A value of a type from text, as query parameters and the command line have it.
///
/// # Errors
///
/// Where it is not of the type or outside its limits.
pub fn from_text(text: &str, ty: &Type) -> Result<Value, Invalid> {
    let wrong = || Invalid::new(format!("`{text}` must be {}", type_words(ty)));
    match ty {
        Type::Text(limits) => check_text(text, limits).map(|()| Value::S(text.to_owned())),
        Type::Enum(words) if words.members.iter().any(|member| member == text) => Ok(Value::S(text.to_owned())),
        Type::Date | Type::Month | Type::Time | Type::Now | Type::Ulid | Type::Ksuid | Type::Uuid => {
            let spelled = canonical_text(text, ty).ok_or_else(wrong)?;
            Ok(Value::S(spelled.into_owned()))
        }
        Type::Int(limits) | Type::Number(limits) => number_value(text, ty, limits),
        Type::Version => number_value(text, ty, &NumberLimits::default()),
        Type::Seconds | Type::Millis => number_value(text, ty, &instant_limits(ty)),
        Type::Bool => match text {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            _ => Err(wrong()),
        },
        Type::Bytes(limits) => bytes(text, limits),
        Type::Geo(_) => place_from_text(text).ok_or_else(wrong),
        Type::Duration => parse_duration(text).map(Duration::to_value).ok_or_else(wrong),
        Type::OrWords(value, words) => match words.iter().any(|word| word == text) {
            true => Ok(Value::S(text.to_owned())),
            false => from_text(text, value),
        },
        Type::List(..) | Type::Set(..) | Type::Map(..) | Type::Object(_) | Type::Json => {
            let tree = Tree::parse(text).map_err(|_| {
                let (shown, sample) = (shortened(text), json_sample(ty));
                Invalid::new(format!(
                    "`{shown}` must be {} in JSON, such as `{sample}`",
                    type_words(ty)
                ))
            })?;
            from_tree(&tree, ty)
        }
        Type::Enum(_) | Type::Row(_) | Type::Group(..) | Type::Absent | Type::Unknown => Err(wrong()),
    }
}

/// How a value that only JSON has a form for is written.
fn json_sample(ty: &Type) -> &'static str {
    let (Type::List(element, _) | Type::Set(element, _)) = ty else {
        return r#"{"a": 1}"#;
    };
    if element.is_number() { "[1, 2]" } else { r#"["a", "b"]"# }
}

/// The numbers that are instants.
fn instant_limits(ty: &Type) -> NumberLimits {
    let unit = if *ty == Type::Seconds { 1_000 } else { 1 };
    NumberLimits {
        min: Some(Number::from(time::INSTANT_MILLIS_MIN.div_euclid(unit))),
        max: Some(Number::from(time::INSTANT_MILLIS_MAX.div_euclid(unit))),
        ..NumberLimits::default()
    }
}

/// The two coordinates of a place, and what each may be.
fn place_degrees() -> [(&'static str, Type); 2] {
    [("lat", 90), ("lon", 180)].map(|(name, most)| {
        let limits = NumberLimits {
            min: Some(Number::from(-most)),
            max: Some(Number::from(most)),
            ..NumberLimits::default()
        };
        (name, Type::Number(limits.into()))
    })
}

/// A place with whatever else its object has, if its coordinates are degrees.
fn on_earth(place: Value) -> Result<Value, Invalid> {
    for (name, degrees) in place_degrees() {
        let number = place.as_map().and_then(|map| map.get(name)?.as_number());
        let number = number.ok_or_else(|| Invalid::new("this is missing").under(name))?;
        let Type::Number(limits) = &degrees else { continue };
        number_value(&number.to_string(), &degrees, limits).map_err(|invalid| invalid.under(name))?;
    }
    Ok(place)
}

fn check_text(text: &str, limits: &TextLimits) -> Result<(), Invalid> {
    let length = text.chars().count() as u64;
    check_length(length, &limits.length, "characters")?;
    if let Some(pattern) = &limits.pattern
        && !pattern.matches_whole(text)
    {
        return Err(Invalid::new(match TextForm::of(limits) {
            Some(form) => format!("this must be {}", form.what),
            None => format!("this must match `{pattern}`"),
        }));
    }
    Ok(())
}

fn check_length(length: u64, limits: &LengthLimits, what: &str) -> Result<(), Invalid> {
    let short = limits.min.is_some_and(|min| length < min);
    let long = limits.max.is_some_and(|max| length > max);
    if !short && !long {
        return Ok(());
    }
    let range = match (limits.min, limits.max) {
        (Some(min), Some(max)) => format!("from {min} to {max}"),
        (Some(min), None) => format!("at least {min}"),
        (None, Some(max)) => format!("at most {max}"),
        (None, None) => String::new(),
    };
    Err(Invalid::new(format!("this has {length} {what}, and must have {range}")))
}

fn number_value(text: &str, ty: &Type, limits: &NumberLimits) -> Result<Value, Invalid> {
    let wrong = || Invalid::new(format!("`{}` must be {}", shortened(text), type_words(ty)));
    let number = number_of(text).map_err(|invalid| invalid.unwrap_or_else(wrong))?;
    let whole = matches!(ty, Type::Int(_) | Type::Version | Type::Seconds | Type::Millis);
    if let Some(decimals) = limits
        .decimals
        .filter(|decimals| !whole && number.fraction_digits() > *decimals)
        && in_range(number, limits)
    {
        let shown = shortened(text);
        return Err(Invalid::new(match decimals {
            0 => format!("`{shown}` must have no digits after the point"),
            1 => format!("`{shown}` must have at most 1 digit after the point"),
            many => format!("`{shown}` must have at most {many} digits after the point"),
        }));
    }
    match number_fits(number, ty, limits) {
        true => Ok(Value::N(number)),
        false => Err(wrong()),
    }
}

/// Whether a number is one of a type, whatever the text that it stood in.
fn number_fits(number: Number, ty: &Type, limits: &NumberLimits) -> bool {
    let whole = matches!(ty, Type::Int(_) | Type::Version | Type::Seconds | Type::Millis);
    (!whole || number.is_integer())
        && in_range(number, limits)
        && limits
            .decimals
            .is_none_or(|decimals| number.fraction_digits() <= decimals)
        && limits.only.as_ref().is_none_or(|only| only.contains(&number))
}

fn in_range(number: Number, limits: &NumberLimits) -> bool {
    limits.min.is_none_or(|min| min <= number) && limits.max.is_none_or(|max| number <= max)
}

/// How much of a number that is not taken is shown again.
const NUMBER_CHARS_SHOWN_MAX: usize = 60;

fn shortened(text: &str) -> &str {
    text.char_indices()
        .nth(NUMBER_CHARS_SHOWN_MAX)
        .and_then(|(end, _)| text.get(..end))
        .unwrap_or(text)
}

/// A number with all of its digits; why not, where it is one, but not one that can be kept.
fn number_of(text: &str) -> Result<Number, Option<Invalid>> {
    text.parse().map_err(|error| {
        let is_number = !matches!(error, NumberError::Malformed(_));
        is_number.then(|| Invalid::new(format!("`{}` cannot be kept: {error}", shortened(text))))
    })
}

fn list(elements: &[Tree<'_>], element: &Type, limits: &LengthLimits) -> Result<Vec<Value>, Invalid> {
    check_length(elements.len() as u64, limits, "elements")?;
    let values = elements.iter().enumerate();
    values
        .map(|(at, tree)| from_tree(tree, element).map_err(|invalid| invalid.under(&at.to_string())))
        .collect()
}

fn set(values: Vec<Value>) -> Result<Value, Invalid> {
    let count = values.len();
    let texts: BTreeSet<String> = values.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let numbers: BTreeSet<Number> = values.iter().filter_map(Value::as_number).collect();
    let bytes: BTreeSet<Vec<u8>> = values.iter().filter_map(Value::as_bytes).map(<[u8]>::to_vec).collect();
    match count {
        0 => Err(Invalid::new(
            "a set has at least one element: DynamoDB keeps none without",
        )),
        count if count == texts.len() => Ok(Value::Ss(texts)),
        count if count == numbers.len() => Ok(Value::Ns(numbers)),
        count if count == bytes.len() => Ok(Value::Bs(bytes)),
        _ => Err(Invalid::new("a set has each element once")),
    }
}

/// A map of DynamoDB has no entry without a name.
fn named(name: &str) -> Result<(), Invalid> {
    match name.is_empty() {
        true => Err(Invalid::new("a name has at least one character").under(name)),
        false => Ok(()),
    }
}

fn map(entries: &Members<'_>, element: &Type, limits: &LengthLimits) -> Result<Value, Invalid> {
    check_length(entries.len() as u64, limits, "entries")?;
    let mut map = BTreeMap::new();
    for (name, tree) in entries {
        named(name)?;
        let value = from_tree(tree, element).map_err(|invalid| invalid.under(name))?;
        map.insert(name.to_string(), value);
    }
    Ok(Value::M(map))
}

fn fields(entries: &Members<'_>, tree: &Tree<'_>, object: &ObjectType) -> Result<Value, Invalid> {
    if let Some((unknown, _)) = entries.iter().find(|(name, _)| object.field_named(name).is_none()) {
        return Err(Invalid::new("there is no such field").under(unknown));
    }
    let mut map = BTreeMap::new();
    for field in &object.fields {
        match tree.get(&field.name).filter(|tree| !tree.is_null()) {
            Some(tree) => {
                let value = from_tree(tree, &field.ty).map_err(|invalid| invalid.under(&field.name))?;
                map.insert(field.name.clone(), value);
            }
            None if field.optional => {}
            None => return Err(Invalid::new("this is missing").under(&field.name)),
        }
    }
    Ok(Value::M(map))
}

fn place(tree: &Tree<'_>) -> Result<Value, Invalid> {
    let mut map = BTreeMap::new();
    for (name, degrees) in place_degrees() {
        let tree = tree
            .get(name)
            .ok_or_else(|| Invalid::new("this is missing").under(name))?;
        let value = from_tree(tree, &degrees).map_err(|invalid| invalid.under(name))?;
        map.insert(name.to_owned(), value);
    }
    Ok(Value::M(map))
}

/// `52.2297,21.0122`.
fn place_from_text(text: &str) -> Option<Value> {
    let (lat, lon) = text.split_once(',')?;
    let degrees = |text: &str, most: i32| {
        let number: Number = text.trim().parse().ok()?;
        (number >= Number::from(-most) && number <= Number::from(most)).then_some(Value::N(number))
    };
    let map = [
        ("lat".to_owned(), degrees(lat, 90)?),
        ("lon".to_owned(), degrees(lon, 180)?),
    ];
    Some(Value::M(BTreeMap::from(map)))
}

/// `30d`, `90m`, `2h30m`, `6mo`.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let (mut months, mut millis) = (0_i64, 0_i64);
    let mut rest = text;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|char: char| !char.is_ascii_digit())?;
        let (count, after) = rest.split_at(digits);
        let count: i64 = count.parse().ok()?;
        let letters = after
            .find(|char: char| !char.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let unit_millis = match unit {
            "mo" => {
                months = months.checked_add(count)?;
                0
            }
            "d" => 86_400_000,
            "h" => 3_600_000,
            "m" => 60_000,
            "s" => 1_000,
            _ => return None,
        };
        millis = millis.checked_add(count.checked_mul(unit_millis)?)?;
        rest = after;
    }
    Duration::new(months, millis).ok()
}

/// JSON of any shape, as far as DynamoDB holds its numbers.
fn free(tree: &Tree<'_>) -> Result<Value, Invalid> {
    Ok(match tree {
        Tree::Null => Value::Null,
        Tree::Bool(truth) => Value::Bool(*truth),
        Tree::Number(number) => {
            let wrong = || Invalid::new("this must be a number");
            Value::N(number_of(number).map_err(|invalid| invalid.unwrap_or_else(wrong))?)
        }
        Tree::Text(text) => text_value(text),
        Tree::List(elements) => {
            let each = elements.iter().enumerate();
            let each = each.map(|(at, tree)| free(tree).map_err(|invalid| invalid.under(&at.to_string())));
            Value::L(each.collect::<Result<_, _>>()?)
        }
        Tree::Object(entries) => {
            let entry = |(name, tree): &(Cow<'_, str>, Tree<'_>)| {
                named(name)?;
                Ok((name.to_string(), free(tree).map_err(|invalid| invalid.under(name))?))
            };
            Value::M(entries.iter().map(entry).collect::<Result<_, Invalid>>()?)
        }
    })
}

/// A value as JSON for people and programs that look at it; [`json_text`] keeps every digit of a number.
pub fn to_json(value: &Value) -> Json {
    match value {
        Value::S(text) => Json::String(text.clone()),
        Value::N(number) => serde_json::from_str(&number.to_string()).unwrap_or(Json::String(number.to_string())),
        Value::Bool(truth) => Json::Bool(*truth),
        Value::Null => Json::Null,
        Value::B(bytes) => Json::String(STANDARD.encode(bytes)),
        Value::L(elements) => Json::Array(elements.iter().map(to_json).collect()),
        Value::M(map) => Json::Object(map.iter().map(|(name, value)| (name.clone(), to_json(value))).collect()),
        Value::Ss(words) => Json::Array(words.iter().map(|word| Json::String(word.clone())).collect()),
        Value::Ns(numbers) => Json::Array(numbers.iter().map(|number| to_json(&Value::N(*number))).collect()),
        Value::Bs(all) => Json::Array(all.iter().map(|bytes| to_json(&Value::B(bytes.clone()))).collect()),
    }
}

/// What a type takes, in words.
fn type_words(ty: &Type) -> String {
    match ty {
        Type::Date => "a day such as `2026-02-13`".to_owned(),
        Type::Time | Type::Now => "an instant such as `2026-02-13T10:30:45.123Z`".to_owned(),
        Type::Month => "a month such as `2026-02`".to_owned(),
        Type::Enum(words) => format!("one of {}", words.members.join(", ")),
        Type::Geo(_) => "a place, `{lat, lon}`".to_owned(),
        Type::Bool => "true or false".to_owned(),
        Type::Duration => "a duration such as `30d` or `2h30m`".to_owned(),
        Type::Int(limits) => format!("a whole number{}", range(limits)),
        Type::Number(limits) => format!("a number{}", range(limits)),
        Type::Text(_) => "text".to_owned(),
        Type::Seconds => "an instant in seconds since 1970, as a whole number".to_owned(),
        Type::Millis => "an instant in milliseconds since 1970, as a whole number".to_owned(),
        Type::Uuid => "a UUID such as `0190163d-8694-739b-aea5-966c26f8ad91`".to_owned(),
        Type::Ulid => "a ULID: 26 digits and capital letters".to_owned(),
        Type::Ksuid => "a KSUID: 27 digits and letters".to_owned(),
        other @ (Type::Bytes(_)
        | Type::Json
        | Type::Version
        | Type::Object(_)
        | Type::List(..)
        | Type::Set(..)
        | Type::Map(..)
        | Type::OrWords(..)
        | Type::Row(_)
        | Type::Group(..)
        | Type::Absent
        | Type::Unknown) => format!("of type {other}"),
    }
}

fn range(limits: &NumberLimits) -> String {
    if let Some(only) = &limits.only {
        let only: Vec<String> = only.iter().map(Number::to_string).collect();
        return format!(", one of {}", only.join(", "));
    }
    match (limits.min, limits.max) {
        (Some(min), Some(max)) => format!(" from {min} to {max}"),
        (Some(min), None) => format!(" of at least {min}"),
        (None, Some(max)) => format!(" of at most {max}"),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests;
