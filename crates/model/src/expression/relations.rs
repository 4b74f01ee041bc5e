//! Which types go together: to compare, to assign, to stand in for each other.

use std::sync::Arc;

use super::scope::is_plain_text;
use crate::types::{LengthLimits, ObjectType, Type};

/// Whether `==` between the two can ever hold. Limits do not matter.
pub(crate) fn is_comparable(left: &Type, right: &Type) -> bool {
    if matches!(left, Type::Row(_) | Type::Group(..)) || matches!(right, Type::Row(_) | Type::Group(..)) {
        return left.is_unknown() || right.is_unknown();
    }
    same_kind(left, right) || compares_to(left, right) || compares_to(right, left)
}

/// The comparisons between different types, one way round.
fn compares_to(left: &Type, right: &Type) -> bool {
    match (left, right) {
        (Type::Unknown | Type::Absent, _) => true,
        (Type::Now, other) => other.is_instant(),
        (Type::Text(_), Type::Ulid | Type::Ksuid | Type::Uuid | Type::Enum(_)) => true,
        (Type::OrWords(value, _), Type::OrWords(other, _)) => is_comparable(value, other),
        (Type::OrWords(value, _), other) => is_comparable(value, other),
        (Type::Json, other) => other.is_number() || matches!(other, Type::Bool | Type::Text(_)),
        (Type::List(a, _), Type::List(b, _))
        | (Type::Set(a, _), Type::Set(b, _) | Type::List(b, _))
        | (Type::Map(a, _), Type::Map(b, _)) => is_comparable(a, b),
        (Type::Geo(_), Type::Object(object)) => is_place(object),
        _ => false,
    }
}

/// Whether values of the type have an order.
pub(crate) fn is_orderable(ty: &Type) -> bool {
    match ty {
        Type::OrWords(value, _) => is_orderable(value),
        Type::Duration | Type::Bytes(_) | Type::Unknown => true,
        other => other.is_number() || other.is_instant() || other.is_textual(),
    }
}

/// Whether a value of `from` can be stored as `to`; whether it keeps the limits is known only when it is there.
pub(crate) fn is_assignable(from: &Type, to: &Type) -> bool {
    match (from, to) {
        (Type::Unknown | Type::Absent, _) | (_, Type::Unknown) => true,
        (Type::Int(_) | Type::Version, Type::Number(_)) => true,
        (Type::Number(_), Type::Int(_) | Type::Version) => false,
        (Type::Now, other) => other.is_instant(),
        (Type::Enum(_) | Type::Ulid | Type::Ksuid | Type::Uuid, Type::Text(_)) => true,
        (text, Type::Ulid | Type::Ksuid | Type::Uuid) if is_plain_text(text) => true,
        (from, Type::Json) => !matches!(from, Type::Row(_) | Type::Group(..)),
        (Type::OrWords(from, words), Type::OrWords(to, known)) => {
            is_assignable(from, to) && words.iter().all(|word| known.contains(word))
        }
        (from, Type::OrWords(value, _)) => is_assignable(from, value),
        (Type::List(a, _), Type::List(b, _) | Type::Set(b, _))
        | (Type::Set(a, _), Type::Set(b, _) | Type::List(b, _))
        | (Type::Map(a, _), Type::Map(b, _)) => is_assignable(a, b),
        (Type::Object(from), Type::Object(to)) => object_assignable(from, to),
        // `{"a": 1}` written in place is a map where one is wanted, and `{}` an empty one.
        (Type::Object(from), Type::Map(to, _)) if from.name.is_empty() => {
            let mut fields = from.fields.iter();
            fields.all(|field| !field.optional && is_assignable(&field.ty, to))
        }
        (Type::Object(from) | Type::Geo(Some(from)), Type::Geo(Some(to))) => object_assignable(from, to),
        (Type::Object(from), Type::Geo(None)) => is_place(from),
        _ => same_kind(from, to),
    }
}

fn object_assignable(from: &ObjectType, to: &ObjectType) -> bool {
    let known = from.fields.iter().all(|field| to.field_named(&field.name).is_some());
    known
        && to.fields.iter().all(|wanted| match from.field_named(&wanted.name) {
            Some(given) => is_assignable(&given.ty, &wanted.ty) && (wanted.optional || !given.optional),
            None => wanted.optional,
        })
}

fn is_place(object: &ObjectType) -> bool {
    let number = |name: &str| object.field_named(name).is_some_and(|field| field.ty.is_number());
    number("lat") && number("lon")
}

/// Whether the two are one type but for limits.
pub fn same_kind(left: &Type, right: &Type) -> bool {
    match (left, right) {
        (Type::Enum(a), Type::Enum(b)) => a == b,
        (Type::Object(a), Type::Object(b)) => a == b,
        (Type::Row(a), Type::Row(b)) => a == b,
        (Type::List(a, _), Type::List(b, _))
        | (Type::Set(a, _), Type::Set(b, _))
        | (Type::Map(a, _), Type::Map(b, _)) => same_kind(a, b),
        (Type::OrWords(a, words), Type::OrWords(b, others)) => same_kind(a, b) && words == others,
        (Type::Group(a, b), Type::Group(c, d)) => same_kind(a, c) && same_kind(b, d),
        (a, b) if a.is_number() && b.is_number() => true,
        (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}

/// The one type that values of both have; limits stay where they are the same.
pub(crate) fn unified_type(left: &Type, right: &Type) -> Option<Type> {
    if left == right {
        return Some(left.clone());
    }
    Some(match (left, right) {
        (Type::Unknown | Type::Absent, other) | (other, Type::Unknown | Type::Absent) => other.clone(),
        (Type::Text(_), Type::Text(_)) => Type::text(),
        (Type::Int(_) | Type::Version, Type::Int(_) | Type::Version) => Type::int(),
        (a, b) if a.is_number() && b.is_number() => Type::number(),
        (Type::Now, other) | (other, Type::Now) if other.is_instant() => other.clone(),
        (Type::List(a, one), Type::List(b, other)) => Type::List(Arc::new(unified_type(a, b)?), either(*one, *other)),
        (Type::Set(a, one), Type::Set(b, other)) => Type::Set(Arc::new(unified_type(a, b)?), either(*one, *other)),
        (value, Type::OrWords(inner, _)) if is_assignable(value, inner) => right.clone(),
        (Type::OrWords(inner, _), value) if is_assignable(value, inner) => left.clone(),
        (a, b) if same_kind(a, b) => a.clone(),
        (a, b) if is_assignable(a, b) && matches!(b, Type::Text(_)) => Type::text(),
        (a, b) if is_assignable(b, a) && matches!(a, Type::Text(_)) => Type::text(),
        _ => return None,
    })
}

/// The limits of a list that is one of two: no longer than the longer.
fn either(one: LengthLimits, other: LengthLimits) -> LengthLimits {
    LengthLimits {
        min: None,
        max: one.max.zip(other.max).map(|(one, other)| one.max(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::TextLimits;

    fn limited() -> Type {
        Type::Text(TextLimits {
            length: LengthLimits {
                min: Some(1),
                max: Some(128),
            },
            pattern: None,
        })
    }

    #[test]
    fn instants_of_different_forms_do_not_compare() {
        assert!(is_comparable(&Type::Now, &Type::Seconds));
        assert!(is_comparable(&Type::Millis, &Type::Now));
        assert!(!is_comparable(&Type::Time, &Type::Seconds));
        assert!(!is_comparable(&Type::Time, &Type::Date));
        assert!(!is_comparable(&Type::Seconds, &Type::int()));
    }

    #[test]
    fn ids_compare_with_text_and_take_it_without_limits_only() {
        assert!(is_comparable(&Type::Ulid, &limited()));
        assert!(is_assignable(&Type::text(), &Type::Ulid));
        assert!(!is_assignable(&limited(), &Type::Ulid));
        assert!(is_assignable(&Type::Ulid, &limited()));
        assert!(!is_comparable(&Type::Ulid, &Type::Uuid));
    }

    #[test]
    fn whole_numbers_are_numbers_but_not_the_other_way_round() {
        assert!(is_assignable(&Type::int(), &Type::number()));
        assert!(!is_assignable(&Type::number(), &Type::int()));
        assert_eq!(unified_type(&Type::int(), &Type::number()), Some(Type::number()));
    }

    #[test]
    fn a_record_written_in_place_is_a_map_of_its_fields() {
        let record = |name: &str, ty: Type, optional: bool| {
            let field = crate::types::ObjectField {
                name: "a".to_owned(),
                ty,
                optional,
            };
            Type::Object(Arc::new(ObjectType {
                name: name.to_owned(),
                fields: vec![field],
            }))
        };
        let counts = Type::Map(Arc::new(Type::int()), LengthLimits::default());
        assert!(is_assignable(&record("", Type::int(), false), &counts));
        assert!(!is_assignable(&record("", Type::text(), false), &counts));
        assert!(!is_assignable(&record("", Type::int(), true), &counts));
        assert!(!is_assignable(&record("Line", Type::int(), false), &counts));
    }

    #[test]
    fn a_date_or_a_word_compares_with_dates() {
        let returned = Type::OrWords(Arc::new(Type::Date), Arc::from(["AVAILABLE".to_owned()]));
        assert!(is_comparable(&returned, &Type::Date));
        assert!(!is_comparable(&returned, &Type::Time));
        assert!(is_assignable(&Type::Date, &returned));
        assert!(!is_assignable(&returned, &Type::Date));
    }
}
