//! A value of one type in the form in which another type stores it.
#![deny(
    clippy::wildcard_enum_match_arm,
    reason = "a type that is forgotten must not compile"
)]

use std::borrow::Cow;
use std::collections::BTreeSet;

use singlet_item::{Number, Value};

use super::time::{self, without_words};
use super::{EvaluateError, list_elements};
use crate::types::Type;

/// An instant in the form of another instant type, the elements of a list as a set and the other way round; every other value, and
/// a word in a value's place, as it is.
///
/// # Errors
///
/// Where an instant is out of range.
pub fn convert_value(value: Value, from: &Type, to: &Type) -> Result<Value, EvaluateError> {
    // A word that stands in the place of a value is no instant, and stays as it is.
    let (from, to) = (without_words(from), without_words(to));
    if std::ptr::eq(from, to) || from == to {
        return Ok(value);
    }
    match to {
        Type::Time | Type::Seconds | Type::Millis | Type::Now if from.is_instant() => {
            match time::millis_of(&value, from)? {
                Some(millis) => time::instant_as(millis, to),
                None => Ok(value),
            }
        }
        Type::Set(element, _) if from.element_type().is_some() => Ok(set_of(listed(value, from, element)?)),
        Type::List(element, _) if from.element_type().is_some() => listed(value, from, element).map(Value::L),
        Type::Map(element, _) => by_name(value, |name| {
            let field = || Some(&from.object_type()?.field_named(name)?.ty);
            let given = from.element_type().or_else(field)?;
            Some((given, element.as_ref()))
        }),
        Type::Object(to) | Type::Geo(Some(to)) => {
            let given = from.object_type();
            by_name(value, |name| {
                Some((&given?.field_named(name)?.ty, &to.field_named(name)?.ty))
            })
        }
        Type::Text(_)
        | Type::Int(_)
        | Type::Number(_)
        | Type::Bool
        | Type::Bytes(_)
        | Type::Date
        | Type::Time
        | Type::Seconds
        | Type::Millis
        | Type::Now
        | Type::Duration
        | Type::Month
        | Type::Ulid
        | Type::Ksuid
        | Type::Uuid
        | Type::Geo(None)
        | Type::Json
        | Type::Version
        | Type::Enum(_)
        | Type::List(..)
        | Type::Set(..)
        | Type::OrWords(..)
        | Type::Row(_)
        | Type::Group(..)
        | Type::Absent
        | Type::Unknown => Ok(value),
    }
}

/// As [`convert_value`], of a value that may be borrowed, and stays so where it has that form.
pub(super) fn converted_borrowed<'v>(
    value: Cow<'v, Value>,
    from: &Type,
    to: &Type,
) -> Result<Cow<'v, Value>, EvaluateError> {
    match stays(&value, from, to) {
        true => Ok(value),
        false => convert_value(value.into_owned(), from, to).map(Cow::Owned),
    }
}

/// Whether a value is in the form of another type as it is.
fn stays(value: &Value, from: &Type, to: &Type) -> bool {
    let is_plain = matches!(value, Value::S(_) | Value::N(_) | Value::Bool(_) | Value::B(_));
    let (from, to) = (without_words(from), without_words(to));
    // Only instants change their form from type to type, and what has elements may have them inside.
    std::ptr::eq(from, to) || (is_plain && to.element_type().is_none() && !to.is_instant()) || from == to
}

/// The entries of a map, each in the form of its type.
fn by_name<'t>(value: Value, types: impl Fn(&str) -> Option<(&'t Type, &'t Type)>) -> Result<Value, EvaluateError> {
    let Value::M(entries) = value else { return Ok(value) };
    let entries = entries.into_iter().map(|(name, value)| match types(&name) {
        Some((from, to)) => Ok((name, convert_value(value, from, to)?)),
        None => Ok((name, value)),
    });
    entries.collect::<Result<_, _>>().map(Value::M)
}

/// The form in which a value of a type is shown: the instant of the operation as a time.
pub(super) fn shown_type(ty: &Type) -> Cow<'_, Type> {
    let now = |ty: &Type| ty == &Type::Now;
    if now(ty) {
        return Cow::Owned(Type::Time);
    }
    if let Type::List(element, limits) = ty
        && now(element)
    {
        return Cow::Owned(Type::List(Type::Time.into(), *limits));
    }
    if let Type::Object(object) = ty
        && object.fields.iter().any(|field| now(&field.ty))
    {
        let fields = object.fields.iter().map(|field| crate::types::ObjectField {
            ty: shown_type(&field.ty).into_owned(),
            ..field.clone()
        });
        return Cow::Owned(Type::Object(std::sync::Arc::new(crate::types::ObjectType {
            name: object.name.clone(),
            fields: fields.collect(),
        })));
    }
    Cow::Borrowed(ty)
}

/// The elements of a list or a set, each in the form of a type.
fn listed(value: Value, from: &Type, element: &Type) -> Result<Vec<Value>, EvaluateError> {
    let given = from.element_type().unwrap_or(element);
    list_elements(value)
        .into_iter()
        .map(|value| convert_value(value, given, element))
        .collect()
}

/// A set of these. One that DynamoDB cannot hold stays a list, which no set equals and no attribute takes.
pub(super) fn set_of(values: Vec<Value>) -> Value {
    let texts: Option<BTreeSet<String>> = values.iter().map(|value| value.as_str().map(str::to_owned)).collect();
    let numbers: Option<BTreeSet<Number>> = values.iter().map(Value::as_number).collect();
    let bytes: Option<BTreeSet<Vec<u8>>> = values
        .iter()
        .map(|value| value.as_bytes().map(<[u8]>::to_vec))
        .collect();
    match (texts, numbers, bytes) {
        // DynamoDB has no empty set.
        _ if values.is_empty() => Value::L(values),
        (Some(texts), _, _) => Value::Ss(texts),
        (_, Some(numbers), _) => Value::Ns(numbers),
        (_, _, Some(bytes)) => Value::Bs(bytes),
        (None, None, None) => Value::L(values),
    }
}
