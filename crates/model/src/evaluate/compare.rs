//! Comparisons: equality as DynamoDB has it, order as the type has it.

use std::cmp::Ordering;

use singlet_item::Value;

use super::{EvaluateError, elements, time};
use crate::expression::BinaryOp;
use crate::types::Type;

/// Compares two values that are there.
pub(super) fn compare(
    op: BinaryOp,
    (a, a_ty): (&Value, &Type),
    (b, b_ty): (&Value, &Type),
) -> Result<bool, EvaluateError> {
    if op == BinaryOp::In {
        let element = b_ty.element().unwrap_or(b_ty);
        for candidate in elements(b.clone()) {
            if equal((a, a_ty), (&candidate, element))? {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    if matches!(op, BinaryOp::Eq | BinaryOp::Ne) {
        return Ok(equal((a, a_ty), (b, b_ty))? == (op == BinaryOp::Eq));
    }
    let order = order((a, a_ty), (b, b_ty))?;
    Ok(order.is_some_and(|order| match op {
        BinaryOp::Lt => order == Ordering::Less,
        BinaryOp::Le => order != Ordering::Greater,
        BinaryOp::Gt => order == Ordering::Greater,
        BinaryOp::Ge => order != Ordering::Less,
        _ => false,
    }))
}

fn equal((a, a_ty): (&Value, &Type), (b, b_ty): (&Value, &Type)) -> Result<bool, EvaluateError> {
    if is_word(a, a_ty) || is_word(b, b_ty) {
        return Ok(a == b);
    }
    let (a_ty, b_ty) = (time::without_words(a_ty), time::without_words(b_ty));
    if a_ty.is_instant() && b_ty.is_instant() {
        return Ok(time::millis_of(a, a_ty)? == time::millis_of(b, b_ty)?);
    }
    Ok(a == b)
}

/// The order of two values of one kind, `false` before `true`; none where a word stands in a value's place, or the kinds differ.
pub fn order((a, a_ty): (&Value, &Type), (b, b_ty): (&Value, &Type)) -> Result<Option<Ordering>, EvaluateError> {
    if is_word(a, a_ty) || is_word(b, b_ty) {
        return Ok(None);
    }
    let (a_ty, b_ty) = (time::without_words(a_ty), time::without_words(b_ty));
    if a_ty.is_instant() && b_ty.is_instant() {
        let (Some(a), Some(b)) = (time::millis_of(a, a_ty)?, time::millis_of(b, b_ty)?) else {
            return Ok(None);
        };
        return Ok(Some(a.cmp(&b)));
    }
    if let Some(members) = a_ty.members().or(b_ty.members()) {
        let rank = |value: &Value| {
            members
                .iter()
                .position(|member| Some(member.as_str()) == value.as_str())
        };
        return Ok(rank(a).zip(rank(b)).map(|(a, b)| a.cmp(&b)));
    }
    if let (Some(a), Some(b)) = (time::Duration::from_value(a), time::Duration::from_value(b)) {
        return Ok(Some(a.cmp(&b)));
    }
    Ok(match (a, b) {
        (Value::S(a), Value::S(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (Value::N(a), Value::N(b)) => Some(a.cmp(b)),
        (Value::B(a), Value::B(b)) => Some(a.cmp(b)),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        _ => None,
    })
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
    match ty {
        Type::OrWords(_, words) => value.as_str().is_some_and(|text| words.iter().any(|word| word == text)),
        _ => false,
    }
}
