//! Comparisons: equality as DynamoDB has it, order as the type has it.
#![deny(
    clippy::wildcard_enum_match_arm,
    reason = "a type that is forgotten must not compile"
)]

use std::cmp::Ordering;

use singlet_item::Value;

use super::convert::set_of;
use super::{EvaluateError, elements, time};
use crate::expression::BinaryOp;
use crate::types::Type;

/// How values of a type compare.
enum Comparing<'t> {
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

impl<'t> Comparing<'t> {
    fn of(ty: &'t Type) -> Self {
        match ty {
            Type::Time | Type::Seconds | Type::Millis | Type::Now => Comparing::Instant,
            Type::Duration => Comparing::Duration,
            Type::Enum(words) => Comparing::Rank(&words.members),
            Type::Set(..) => Comparing::Set,
            Type::OrWords(inner, _) => Comparing::of(inner),
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
            | Type::Unknown => Comparing::Stored,
        }
    }
}

/// Compares two values that are there.
pub(super) fn compare(
    op: BinaryOp,
    (a, a_ty): (&Value, &Type),
    (b, b_ty): (&Value, &Type),
) -> Result<bool, EvaluateError> {
    let ordered = || order((a, a_ty), (b, b_ty));
    match op {
        BinaryOp::Eq => equal((a, a_ty), (b, b_ty)),
        BinaryOp::Ne => Ok(!equal((a, a_ty), (b, b_ty))?),
        BinaryOp::Lt => Ok(ordered()?.is_some_and(Ordering::is_lt)),
        BinaryOp::Le => Ok(ordered()?.is_some_and(Ordering::is_le)),
        BinaryOp::Gt => Ok(ordered()?.is_some_and(Ordering::is_gt)),
        BinaryOp::Ge => Ok(ordered()?.is_some_and(Ordering::is_ge)),
        BinaryOp::In => {
            let element = b_ty.element().unwrap_or(b_ty);
            for candidate in elements(b.clone()) {
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
    if is_word(a, a_ty) || is_word(b, b_ty) {
        return Ok(a == b);
    }
    match (Comparing::of(a_ty), Comparing::of(b_ty)) {
        (Comparing::Instant, Comparing::Instant) => Ok(time::millis_of(a, a_ty)? == time::millis_of(b, b_ty)?),
        (Comparing::Duration, Comparing::Duration) => {
            Ok(time::Duration::from_value(a) == time::Duration::from_value(b))
        }
        (Comparing::Set, _) | (_, Comparing::Set) => Ok(set_of(elements(a.clone())) == set_of(elements(b.clone()))),
        _ => Ok(a == b),
    }
}

/// The order of two values of one kind, `false` before `true`; none where a word stands in a value's place, or the kinds differ.
pub fn order((a, a_ty): (&Value, &Type), (b, b_ty): (&Value, &Type)) -> Result<Option<Ordering>, EvaluateError> {
    if is_word(a, a_ty) || is_word(b, b_ty) {
        return Ok(None);
    }
    match (Comparing::of(a_ty), Comparing::of(b_ty)) {
        (Comparing::Instant, Comparing::Instant) => {
            let both = time::millis_of(a, a_ty)?.zip(time::millis_of(b, b_ty)?);
            Ok(both.map(|(a, b)| a.cmp(&b)))
        }
        (Comparing::Duration, Comparing::Duration) => {
            let both = time::Duration::from_value(a).zip(time::Duration::from_value(b));
            Ok(both.map(|(a, b)| a.cmp(&b)))
        }
        (Comparing::Rank(members), _) | (_, Comparing::Rank(members)) => {
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

/// The order of two values as DynamoDB has it.
fn stored_order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
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
    let by_type = order((a, ty), (b, ty))?;
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
