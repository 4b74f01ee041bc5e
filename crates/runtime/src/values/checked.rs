//! Values that are already in the form that is stored, as programs that embed the engine send them: numbers stay exact.

use std::collections::BTreeMap;

use singlet_item::Value;
use singlet_model::evaluate::Duration;
use singlet_model::types::{LengthLimits, NumberLimits, ObjectType, Type};

use super::{Invalid, check_length, degrees, described, from_text, instant_limits, number_value, on_earth, set};

/// A value as it is stored, if it is one of the type: arguments of programs that embed the engine come like this.
///
/// # Errors
///
/// Where it is not of the type or outside its limits.
pub fn checked(value: &Value, ty: &Type) -> Result<Value, Invalid> {
    let wrong = || Err(Invalid::new(format!("this must be {}", described(ty))));
    match (value, ty) {
        (_, Type::Json | Type::Unknown) => Ok(value.clone()),
        (Value::S(text), Type::OrWords(_, words)) if words.contains(text) => Ok(value.clone()),
        (_, Type::OrWords(inner, _)) => checked(value, inner),
        (
            Value::S(text),
            Type::Int(_) | Type::Number(_) | Type::Version | Type::Seconds | Type::Millis | Type::Bool | Type::Geo(_),
        ) => Err(Invalid::new(format!("`{text}` must be {}", described(ty)))),
        (Value::S(_), Type::List(..) | Type::Set(..) | Type::Map(..) | Type::Object(_) | Type::Bytes(_)) => wrong(),
        (Value::S(text), _) => from_text(text, ty),
        (Value::N(number), Type::Int(limits) | Type::Number(limits)) => number_value(&number.to_string(), ty, limits),
        (Value::N(number), Type::Version) => number_value(&number.to_string(), ty, &NumberLimits::default()),
        (Value::N(number), Type::Seconds | Type::Millis) => number_value(&number.to_string(), ty, &instant_limits(ty)),
        (Value::Bool(_), Type::Bool) => Ok(value.clone()),
        (Value::M(_), Type::Duration) if Duration::from_value(value).is_some() => Ok(value.clone()),
        (Value::B(bytes), Type::Bytes(limits)) => {
            check_length(bytes.len() as u64, limits, "bytes")?;
            Ok(value.clone())
        }
        (Value::L(elements), Type::List(element, limits)) => checked_list(elements, element, limits).map(Value::L),
        (Value::L(elements), Type::Set(element, limits)) => set(checked_list(elements, element, limits)?),
        (Value::Ss(_) | Value::Ns(_) | Value::Bs(_), Type::Set(element, limits)) => {
            set(checked_list(&members(value), element, limits)?)
        }
        (Value::M(entries), Type::Map(element, limits)) => {
            check_length(entries.len() as u64, limits, "entries")?;
            let entries = entries.iter().map(|(name, value)| {
                let value = checked(value, element).map_err(|invalid| invalid.under(name))?;
                Ok((name.clone(), value))
            });
            entries.collect::<Result<_, _>>().map(Value::M)
        }
        (Value::M(entries), Type::Object(object)) => checked_fields(entries, object),
        (Value::M(entries), Type::Geo(Some(object))) => on_earth(checked_fields(entries, object)?),
        (Value::M(entries), Type::Geo(None)) => checked_place(entries),
        _ => wrong(),
    }
}

fn checked_list(elements: &[Value], element: &Type, limits: &LengthLimits) -> Result<Vec<Value>, Invalid> {
    check_length(elements.len() as u64, limits, "elements")?;
    let elements = elements.iter().enumerate();
    elements
        .map(|(at, value)| checked(value, element).map_err(|invalid| invalid.under(&at.to_string())))
        .collect()
}

fn checked_fields(entries: &BTreeMap<String, Value>, object: &ObjectType) -> Result<Value, Invalid> {
    if let Some(unknown) = entries.keys().find(|name| object.field(name).is_none()) {
        return Err(Invalid::new("there is no such field").under(unknown));
    }
    let mut map = BTreeMap::new();
    for field in &object.fields {
        match entries.get(&field.name).filter(|value| !value.is_null()) {
            Some(value) => {
                let value = checked(value, &field.ty).map_err(|invalid| invalid.under(&field.name))?;
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
    for (name, degrees) in degrees() {
        let value = entries
            .get(name)
            .ok_or_else(|| Invalid::new("this is missing").under(name))?;
        let value = checked(value, &degrees).map_err(|invalid| invalid.under(name))?;
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
