//! Values of the language's types, from JSON and from text: arguments, sample data, settings.

mod checked;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;
use singlet_item::key::Pattern;
use singlet_item::{Number, Value};
use singlet_model::evaluate::{Duration, time};
use singlet_model::types::{LengthLimits, NumberLimits, ObjectType, TextLimits, Type};

pub use checked::checked;

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
    match (ty, json) {
        (Type::Json | Type::Unknown, json) => Ok(free(json)),
        (Type::Bool, Json::Bool(truth)) => Ok(Value::Bool(*truth)),
        (Type::Int(limits) | Type::Number(limits), Json::Number(number)) => {
            number_value(&number.to_string(), ty, limits)
        }
        (Type::Version | Type::Seconds | Type::Millis, Json::Number(number)) => {
            number_value(&number.to_string(), ty, &NumberLimits::default())
        }
        (Type::List(element, limits), Json::Array(elements)) => list(elements, element, limits).map(Value::L),
        (Type::Set(element, limits), Json::Array(elements)) => set(list(elements, element, limits)?),
        (Type::Map(element, limits), Json::Object(entries)) => map(entries, element, limits),
        (Type::Object(object) | Type::Geo(Some(object)), Json::Object(entries)) => fields(entries, object),
        (Type::Geo(None), Json::Object(entries)) => place(entries),
        (_, Json::String(text)) => from_text(text, ty),
        _ => Err(Invalid::new(format!("this must be {}", described(ty)))),
    }
}

/// A value of a type from text, as query parameters and the command line have it.
///
/// # Errors
///
/// Where it is not of the type or outside its limits.
pub fn from_text(text: &str, ty: &Type) -> Result<Value, Invalid> {
    let wrong = || Invalid::new(format!("`{text}` must be {}", described(ty)));
    match ty {
        Type::Text(limits) => checked_text(text, limits),
        Type::Enum(words) if words.members.iter().any(|member| member == text) => Ok(Value::S(text.to_owned())),
        Type::Date => time::parse_day(text)
            .map(|day| Value::S(day.to_string()))
            .map_err(|_| wrong()),
        Type::Month => {
            time::parse_day(&format!("{text}-01")).map_err(|_| wrong())?;
            Ok(Value::S(text.to_owned()))
        }
        Type::Time | Type::Now => {
            let millis = time::parse_iso(text).ok_or_else(wrong)?;
            time::iso(millis).map(Value::S).map_err(|_| wrong())
        }
        Type::Ulid | Type::Ksuid | Type::Uuid => {
            let value = Value::S(text.to_owned());
            let fits = singlet_model::key_domain(ty).is_some_and(|domain| domain.contains(&value));
            if fits { Ok(value) } else { Err(wrong()) }
        }
        Type::Int(limits) | Type::Number(limits) => number_value(text, ty, limits),
        Type::Version | Type::Seconds | Type::Millis => number_value(text, ty, &NumberLimits::default()),
        Type::Bool => match text {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            _ => Err(wrong()),
        },
        Type::Geo(_) => place_from_text(text).ok_or_else(wrong),
        Type::Duration => duration(text).map(Duration::to_value).ok_or_else(wrong),
        Type::OrWords(value, words) => match words.iter().any(|word| word == text) {
            true => Ok(Value::S(text.to_owned())),
            false => from_text(text, value),
        },
        Type::List(..) | Type::Set(..) | Type::Map(..) | Type::Object(_) | Type::Json => {
            let json: Json = serde_json::from_str(text).map_err(|_| wrong())?;
            from_json(&json, ty)
        }
        _ => Err(wrong()),
    }
}

/// The two coordinates of a place, and what each may be.
fn degrees() -> [(&'static str, Type); 2] {
    [("lat", 90), ("lon", 180)].map(|(name, most)| {
        let limits = NumberLimits {
            min: Some(Number::from(-most)),
            max: Some(Number::from(most)),
            ..NumberLimits::default()
        };
        (name, Type::Number(limits.into()))
    })
}

fn checked_text(text: &str, limits: &TextLimits) -> Result<Value, Invalid> {
    let length = text.chars().count() as u64;
    check_length(length, &limits.length, "characters")?;
    if let Some(pattern) = &limits.pattern {
        let matches = Pattern::new(pattern).is_ok_and(|known| known.matches(text));
        if !matches {
            return Err(Invalid::new(format!("this must match `{pattern}`")));
        }
    }
    Ok(Value::S(text.to_owned()))
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
    let wrong = || Invalid::new(format!("`{text}` must be {}", described(ty)));
    let number: Number = text.parse().map_err(|_| wrong())?;
    let whole = matches!(ty, Type::Int(_) | Type::Version | Type::Seconds | Type::Millis);
    let fits = (!whole || number.is_integer())
        && limits.min.is_none_or(|min| min <= number)
        && limits.max.is_none_or(|max| number <= max)
        && limits
            .decimals
            .is_none_or(|decimals| number.fraction_digits() <= decimals)
        && limits.only.as_ref().is_none_or(|only| only.contains(&number));
    if fits { Ok(Value::N(number)) } else { Err(wrong()) }
}

fn list(elements: &[Json], element: &Type, limits: &LengthLimits) -> Result<Vec<Value>, Invalid> {
    check_length(elements.len() as u64, limits, "elements")?;
    let values = elements.iter().enumerate();
    values
        .map(|(at, json)| from_json(json, element).map_err(|invalid| invalid.under(&at.to_string())))
        .collect()
}

fn set(values: Vec<Value>) -> Result<Value, Invalid> {
    let count = values.len();
    let texts: BTreeSet<String> = values.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let numbers: BTreeSet<Number> = values.iter().filter_map(Value::as_number).collect();
    let bytes: BTreeSet<Vec<u8>> = values.iter().filter_map(Value::as_bytes).map(<[u8]>::to_vec).collect();
    match count {
        count if count == texts.len() => Ok(Value::Ss(texts)),
        count if count == numbers.len() => Ok(Value::Ns(numbers)),
        count if count == bytes.len() => Ok(Value::Bs(bytes)),
        _ => Err(Invalid::new("a set has each element once")),
    }
}

fn map(entries: &serde_json::Map<String, Json>, element: &Type, limits: &LengthLimits) -> Result<Value, Invalid> {
    check_length(entries.len() as u64, limits, "entries")?;
    let mut map = BTreeMap::new();
    for (name, json) in entries {
        let value = from_json(json, element).map_err(|invalid| invalid.under(name))?;
        map.insert(name.clone(), value);
    }
    Ok(Value::M(map))
}

fn fields(entries: &serde_json::Map<String, Json>, object: &ObjectType) -> Result<Value, Invalid> {
    if let Some(unknown) = entries.keys().find(|name| object.field(name).is_none()) {
        return Err(Invalid::new("there is no such field").under(unknown));
    }
    let mut map = BTreeMap::new();
    for field in &object.fields {
        match entries.get(&field.name).filter(|json| !json.is_null()) {
            Some(json) => {
                let value = from_json(json, &field.ty).map_err(|invalid| invalid.under(&field.name))?;
                map.insert(field.name.clone(), value);
            }
            None if field.optional => {}
            None => return Err(Invalid::new("this is missing").under(&field.name)),
        }
    }
    Ok(Value::M(map))
}

fn place(entries: &serde_json::Map<String, Json>) -> Result<Value, Invalid> {
    let mut map = BTreeMap::new();
    for (name, degrees) in degrees() {
        let json = entries
            .get(name)
            .ok_or_else(|| Invalid::new("this is missing").under(name))?;
        let value = from_json(json, &degrees).map_err(|invalid| invalid.under(name))?;
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
pub fn duration(text: &str) -> Option<Duration> {
    let mut total = Duration::default();
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
        let millis = match unit {
            "mo" => {
                total.months = total.months.checked_add(count)?;
                0
            }
            "d" => 86_400_000,
            "h" => 3_600_000,
            "m" => 60_000,
            "s" => 1_000,
            _ => return None,
        };
        total.millis = total.millis.checked_add(count.checked_mul(millis)?)?;
        rest = after;
    }
    Some(total)
}

/// JSON of any shape; numbers beyond what DynamoDB holds become text.
fn free(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => match number.to_string().parse() {
            Ok(number) => Value::N(number),
            Err(_) => Value::S(number.to_string()),
        },
        Json::String(text) => Value::S(text.clone()),
        Json::Array(elements) => Value::L(elements.iter().map(free).collect()),
        Json::Object(entries) => Value::M(entries.iter().map(|(name, json)| (name.clone(), free(json))).collect()),
    }
}

/// A value as JSON.
pub fn to_json(value: &Value) -> Json {
    match value {
        Value::S(text) => Json::String(text.clone()),
        Value::N(number) => serde_json::from_str(&number.to_string()).unwrap_or(Json::String(number.to_string())),
        Value::Bool(truth) => Json::Bool(*truth),
        Value::Null => Json::Null,
        Value::B(bytes) => Json::Array(bytes.iter().map(|byte| Json::from(*byte)).collect()),
        Value::L(elements) => Json::Array(elements.iter().map(to_json).collect()),
        Value::M(map) => Json::Object(map.iter().map(|(name, value)| (name.clone(), to_json(value))).collect()),
        Value::Ss(words) => Json::Array(words.iter().map(|word| Json::String(word.clone())).collect()),
        Value::Ns(numbers) => Json::Array(numbers.iter().map(|number| to_json(&Value::N(*number))).collect()),
        Value::Bs(all) => Json::Array(all.iter().map(|bytes| to_json(&Value::B(bytes.clone()))).collect()),
    }
}

/// What a type takes, in words.
fn described(ty: &Type) -> String {
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
        other => format!("of type {other}"),
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
