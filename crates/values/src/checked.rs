//! Values that are already in the form that is stored, as programs that embed the engine send them: numbers stay exact.

use std::borrow::Cow;
use std::collections::BTreeMap;

use singlet_item::{Number, Value};
use singlet_model::evaluate::Duration;
use singlet_model::spelling::canonical_text;
use singlet_model::types::{LengthLimits, NumberLimits, ObjectType, Type};

use super::{
    Invalid, check_length, check_text, from_text, instant_limits, number_fits, number_value, on_earth, place_degrees,
    set, type_words,
};

/// A value as it is stored, if it is one of the type: arguments of programs that embed the engine come like this.
///
/// # Errors
///
/// Where it is not of the type or outside its limits.
pub fn checked_value(value: &Value, ty: &Type) -> Result<Value, Invalid> {
    as_stored(value, ty).map(Cow::into_owned)
}

/// A value as it is stored, if it is one of the type; borrowed where it is spelled so already, as most are.
///
/// # Errors
///
/// As [`checked_value`].
pub fn as_stored<'v>(value: &'v Value, ty: &Type) -> Result<Cow<'v, Value>, Invalid> {
    let wrong = || Err(Invalid::new(format!("this must be {}", type_words(ty))));
    let same = || Ok(Cow::Borrowed(value));
    let number = |number: Number, limits: &NumberLimits| match number_fits(number, ty, limits) {
        true => same(),
        false => number_value(&number.to_string(), ty, limits).map(Cow::Owned),
    };
    match (value, ty) {
        (_, Type::Json | Type::Unknown) => same(),
        (Value::S(text), Type::OrWords(_, words)) if words.contains(text) => same(),
        (_, Type::OrWords(inner, _)) => as_stored(value, inner),
        (
            Value::S(text),
            Type::Int(_) | Type::Number(_) | Type::Version | Type::Seconds | Type::Millis | Type::Bool | Type::Geo(_),
        ) => Err(Invalid::new(format!("`{text}` must be {}", type_words(ty)))),
        (Value::S(_), Type::List(..) | Type::Set(..) | Type::Map(..) | Type::Object(_) | Type::Bytes(_)) => wrong(),
        (Value::S(text), Type::Text(limits)) => check_text(text, limits).and_then(|()| same()),
        (Value::S(text), Type::Enum(words)) if words.members.contains(text) => same(),
        (Value::S(text), _) => match canonical_text(text, ty) {
            Some(Cow::Borrowed(_)) => same(),
            _ => from_text(text, ty).map(Cow::Owned),
        },
        (Value::N(given), Type::Int(limits) | Type::Number(limits)) => number(*given, limits),
        (Value::N(given), Type::Version) => number(*given, &NumberLimits::default()),
        (Value::N(given), Type::Seconds | Type::Millis) => number(*given, &instant_limits(ty)),
        (Value::Bool(_), Type::Bool) => same(),
        (Value::M(_), Type::Duration) if Duration::from_value(value).is_some() => same(),
        (Value::B(bytes), Type::Bytes(limits)) => {
            check_length(bytes.len() as u64, limits, "bytes")?;
            same()
        }
        (Value::L(elements), Type::List(element, limits)) => {
            checked_list(elements, element, limits).map(|list| Cow::Owned(Value::L(list)))
        }
        (Value::L(elements), Type::Set(element, limits)) => {
            set(checked_list(elements, element, limits)?).map(Cow::Owned)
        }
        (Value::Ss(_) | Value::Ns(_) | Value::Bs(_), Type::Set(element, limits)) => {
            set(checked_list(&members(value), element, limits)?).map(Cow::Owned)
        }
        (Value::M(entries), Type::Map(element, limits)) => {
            check_length(entries.len() as u64, limits, "entries")?;
            let entries = entries.iter().map(|(name, value)| {
                let value = checked_value(value, element).map_err(|invalid| invalid.under(name))?;
                Ok((name.clone(), value))
            });
            entries.collect::<Result<_, _>>().map(|map| Cow::Owned(Value::M(map)))
        }
        (Value::M(entries), Type::Object(object)) => checked_fields(entries, object).map(Cow::Owned),
        (Value::M(entries), Type::Geo(Some(object))) => on_earth(checked_fields(entries, object)?).map(Cow::Owned),
        (Value::M(entries), Type::Geo(None)) => checked_place(entries).map(Cow::Owned),
        _ => wrong(),
    }
}

fn checked_list(elements: &[Value], element: &Type, limits: &LengthLimits) -> Result<Vec<Value>, Invalid> {
    check_length(elements.len() as u64, limits, "elements")?;
    let elements = elements.iter().enumerate();
    elements
        .map(|(at, value)| checked_value(value, element).map_err(|invalid| invalid.under(&at.to_string())))
        .collect()
}

fn checked_fields(entries: &BTreeMap<String, Value>, object: &ObjectType) -> Result<Value, Invalid> {
    if let Some(unknown) = entries.keys().find(|name| object.field_named(name).is_none()) {
        return Err(Invalid::new("there is no such field").under(unknown));
    }
    let mut map = BTreeMap::new();
    for field in &object.fields {
        match entries.get(&field.name).filter(|value| !value.is_null()) {
            Some(value) => {
                let value = checked_value(value, &field.ty).map_err(|invalid| invalid.under(&field.name))?;
                map.insert(field.name.clone(), value);
            }
            None if field.optional => {}
            None => return Err(Invalid::new("this is missing").under(&field.name)),
        }
    }
    Ok(Value::M(map))
}

fn checked_place(entries: &BTreeMap<String, Value>) -> Result<Value, Invalid> {
    let mut map = BTreeMap::new();
    for (name, degrees) in place_degrees() {
        let value = entries
            .get(name)
            .ok_or_else(|| Invalid::new("this is missing").under(name))?;
        let value = checked_value(value, &degrees).map_err(|invalid| invalid.under(name))?;
        map.insert(name.to_owned(), value);
    }
    Ok(Value::M(map))
}

/// The members of a set as values.
fn members(set: &Value) -> Vec<Value> {
    match set {
        Value::Ss(words) => words.iter().cloned().map(Value::S).collect(),
        Value::Ns(numbers) => numbers.iter().copied().map(Value::N).collect(),
        Value::Bs(all) => all.iter().cloned().map(Value::B).collect(),
        Value::S(_) | Value::N(_) | Value::B(_) | Value::Bool(_) | Value::Null | Value::L(_) | Value::M(_) => {
            Vec::new()
        }
    }
}
