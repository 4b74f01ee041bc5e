//! Comparisons: equality as DynamoDB has it, order as the type has it.
#![deny(
    clippy::wildcard_enum_match_arm,
    reason = "a type that is forgotten must not compile"
)]

use std::borrow::Cow;
use std::cmp::Ordering;

use singlet_item::Value;
use singlet_item::key::Domain;

use super::convert::set_of;
use super::time::without_words;
use super::{EvaluateError, elements_of, list_elements, time};
use crate::expression::BinaryOp;
use crate::types::Type;

/// How values of a type compare.
enum ComparisonKind<'t> {
    /// As what is stored.
    Stored,
    /// As instants, whatever their form.
    Instant,
    /// By their length.
    Duration,
    /// By their place in a list.
    Rank(&'t [String]),
    /// Element by element, in no order.
    Set,
}

impl<'t> ComparisonKind<'t> {
    fn of(ty: &'t Type) -> Self {
        match ty {
            Type::Time | Type::Seconds | Type::Millis | Type::Now => ComparisonKind::Instant,
            Type::Duration => ComparisonKind::Duration,
            Type::Enum(words) => ComparisonKind::Rank(&words.members),
            Type::Set(..) => ComparisonKind::Set,
            Type::OrWords(inner, _) => ComparisonKind::of(inner),
            Type::Text(_)
            | Type::Int(_)
            | Type::Number(_)
            | Type::Bool
            | Type::Bytes(_)
            | Type::Date
            | Type::Month
            | Type::Ulid
            | Type::Ksuid
            | Type::Uuid
            | Type::Geo(_)
            | Type::Json
            | Type::Version
            | Type::Object(_)
            | Type::List(..)
            | Type::Map(..)
            | Type::Row(_)
            | Type::Group(..)
            | Type::Absent
            | Type::Unknown => ComparisonKind::Stored,
        }
    }
}

/// Compares two values that are there.
pub(super) fn compare_values(
    op: BinaryOp,
    (a, a_ty): (&Value, &Type),
    (b, b_ty): (&Value, &Type),
) -> Result<bool, EvaluateError> {
    let ordered = || order_values((a, a_ty), (b, b_ty));
    match op {
        BinaryOp::Eq => equal((a, a_ty), (b, b_ty)),
        BinaryOp::Ne => Ok(!equal((a, a_ty), (b, b_ty))?),
        BinaryOp::Lt => Ok(ordered()?.is_some_and(Ordering::is_lt)),
        BinaryOp::Le => Ok(ordered()?.is_some_and(Ordering::is_le)),
        BinaryOp::Gt => Ok(ordered()?.is_some_and(Ordering::is_gt)),
        BinaryOp::Ge => Ok(ordered()?.is_some_and(Ordering::is_ge)),
        BinaryOp::In => {
            let element = b_ty.element_type().unwrap_or(b_ty);
            for candidate in elements_of(Cow::Borrowed(b)) {
                if equal((a, a_ty), (&candidate, element))? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::Div
        | BinaryOp::Rem => Err(EvaluateError::Unfit(format!("`{}` does not compare", op.symbol()))),
    }
}

fn equal((a, a_ty): (&Value, &Type), (b, b_ty): (&Value, &Type)) -> Result<bool, EvaluateError> {
    // A word in a value's place is equal to itself alone, and has no order.
    if is_word(a, a_ty) || is_word(b, b_ty) {
        return Ok(a == b);
    }
    match (ComparisonKind::of(a_ty), ComparisonKind::of(b_ty)) {
        // Written in the one form texts are equal where instants are, which saves reading them.
        (ComparisonKind::Instant, ComparisonKind::Instant) => match spelled((a, a_ty)).zip(spelled((b, b_ty))) {
            Some((a, b)) => Ok(a == b),
            None => Ok(time::millis_of(a, a_ty)? == time::millis_of(b, b_ty)?),
        },
        (ComparisonKind::Duration, ComparisonKind::Duration) => {
            Ok(time::Duration::from_value(a) == time::Duration::from_value(b))
        }
        (ComparisonKind::Set, _) | (_, ComparisonKind::Set) => {
            Ok(set_of(list_elements(a.clone())) == set_of(list_elements(b.clone())))
        }
        _ => Ok(a == b),
    }
}

/// The order of two values of one kind, `false` before `true`; none where a word stands in a value's place, or the kinds differ.
pub fn order_values((a, a_ty): (&Value, &Type), (b, b_ty): (&Value, &Type)) -> Result<Option<Ordering>, EvaluateError> {
    if is_word(a, a_ty) || is_word(b, b_ty) {
        // A word has no place among the values: each comparison with it is false.
        return Ok(None);
    }
    match (ComparisonKind::of(a_ty), ComparisonKind::of(b_ty)) {
        (ComparisonKind::Instant, ComparisonKind::Instant) => {
            if let Some((a, b)) = spelled((a, a_ty)).zip(spelled((b, b_ty))) {
                return Ok(Some(a.cmp(b)));
            }
            let both = time::millis_of(a, a_ty)?.zip(time::millis_of(b, b_ty)?);
            Ok(both.map(|(a, b)| a.cmp(&b)))
        }
        (ComparisonKind::Duration, ComparisonKind::Duration) => {
            let both = time::Duration::from_value(a).zip(time::Duration::from_value(b));
            Ok(both.map(|(a, b)| a.cmp(&b)))
        }
        // In the order in which the model lists the words, which is not that of their texts.
        (ComparisonKind::Rank(members), _) | (_, ComparisonKind::Rank(members)) => {
            let rank = |value: &Value| {
                members
                    .iter()
                    .position(|member| Some(member.as_str()) == value.as_str())
            };
            Ok(rank(a).zip(rank(b)).map(|(a, b)| a.cmp(&b)))
        }
        _ => Ok(stored_order(a, b)),
    }
}

/// An instant as text in the one spelling that is stored: such texts stand in the order of their instants, and need not be read. The
/// last day that can be written is not all within the range of instants, so its year is left to who reads it.
fn spelled<'v>((value, ty): (&'v Value, &Type)) -> Option<&'v str> {
    let text = value.as_str().filter(|_| *without_words(ty) == Type::Time)?;
    // Beyond it a text of this form may be no instant.
    (text < "9999" && Domain::Time.contains_text(text)).then_some(text)
}

/// The order of two values as DynamoDB has it.
fn stored_order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        // As DynamoDB compares them.
        (Value::S(a), Value::S(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (Value::N(a), Value::N(b)) => Some(a.cmp(b)),
        (Value::B(a), Value::B(b)) => Some(a.cmp(b)),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

/// How two values of one attribute stand in an order of rows: as the type has it, and a word in a value's place by its text, as in
/// a key.
///
/// # Errors
///
/// Where an instant is out of range.
pub fn row_order(a: &Value, b: &Value, ty: &Type) -> Result<Ordering, EvaluateError> {
    let by_type = order_values((a, ty), (b, ty))?;
    Ok(by_type.unwrap_or_else(|| match (a.as_str(), b.as_str()) {
        (Some(a), Some(b)) => a.as_bytes().cmp(b.as_bytes()),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }))
}

/// Whether the value is one of the words of `date | "AVAILABLE"`: comparisons with dates exclude those.
fn is_word(value: &Value, ty: &Type) -> bool {
    let Type::OrWords(_, words) = ty else { return false };
    value.as_str().is_some_and(|text| words.iter().any(|word| word == text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts are compared as such where each is in the one spelling, and read as instants elsewhere: both say the same.
    #[test]
    fn instants_as_text_stand_as_their_instants_do() {
        let texts = [
            "0000-01-01T00:00:00.000Z",
            "2026-02-13T08:00:00.000Z",
            "2026-02-13T08:00:00.001Z",
            "2026-02-13T08:00:00Z",
            "2026-02-13T09:00:00.000+01:00",
            "2026-02-13T09:00:00.000Z",
            "2026-02-30T09:00:00.000Z",
            "9998-12-31T23:59:59.999Z",
            "9999-12-30T21:59:59.999Z",
            "9999-12-31T00:00:00.000Z",
            "soon",
        ];
        for a in texts {
            for b in texts {
                let (a, b) = (Value::S(a.to_owned()), Value::S(b.to_owned()));
                let read = |value: &Value| time::millis_of(value, &Type::Time).unwrap();
                let ordered = order_values((&a, &Type::Time), (&b, &Type::Time)).unwrap();
                assert_eq!(ordered, read(&a).zip(read(&b)).map(|(a, b)| a.cmp(&b)), "{a:?} {b:?}");
                let same = equal((&a, &Type::Time), (&b, &Type::Time)).unwrap();
                assert_eq!(same, read(&a) == read(&b), "{a:?} {b:?}");
            }
        }
        let (text, number) = (
            Value::S("2026-02-13T08:00:00.000Z".to_owned()),
            Value::from(1_770_969_600),
        );
        assert_eq!(
            order_values((&text, &Type::Time), (&number, &Type::Seconds)).unwrap(),
            Some(Ordering::Equal)
        );
        assert_eq!(
            order_values((&text, &Type::Seconds), (&text, &Type::Time)).unwrap(),
            None
        );
    }
}
