//! `+ - * / %` on numbers, text, instants, days and durations.

use jiff::tz::TimeZone;
use singlet_item::{Number, NumberError, Value};

use super::EvaluateError;
use super::time::{self, Duration};
use crate::expression::BinaryOp;
use crate::types::Type;

/// The decimals to which a division that is not rounded by its place is exact enough.
const DIVISION_DECIMALS: u8 = 18;

/// Computes with two values that are there.
pub(super) fn binary(
    op: BinaryOp,
    (a, a_ty): (Value, &Type),
    (b, b_ty): (Value, &Type),
    zone: &TimeZone,
) -> Result<Value, EvaluateError> {
    if let (Value::S(a), Value::S(b), BinaryOp::Add) = (&a, &b, op) {
        return Ok(Value::S(format!("{a}{b}")));
    }
    if a_ty.is_instant() && b_ty.is_instant() && op == BinaryOp::Sub {
        let (from, to) = (time::millis_of(&b, b_ty)?, time::millis_of(&a, a_ty)?);
        let millis = to.zip(from).map_or(0, |(to, from)| to.saturating_sub(from));
        return Ok(Duration { months: 0, millis }.to_value());
    }
    match (Duration::from_value(&a), Duration::from_value(&b)) {
        (Some(a), Some(b)) => durations(op, a, b),
        (None, Some(duration)) => {
            let duration = if op == BinaryOp::Sub {
                duration.negated()
            } else {
                duration
            };
            time::shifted(&a, a_ty, duration, zone)
        }
        (Some(duration), None) => time::shifted(&b, b_ty, duration, zone),
        (None, None) => numbers(op, &a, &b).map(Value::N),
    }
}

fn durations(op: BinaryOp, a: Duration, b: Duration) -> Result<Value, EvaluateError> {
    let b = if op == BinaryOp::Sub { b.negated() } else { b };
    Ok(Duration {
        months: a.months.saturating_add(b.months),
        millis: a.millis.saturating_add(b.millis),
    }
    .to_value())
}

fn numbers(op: BinaryOp, a: &Value, b: &Value) -> Result<Number, EvaluateError> {
    let (Some(a), Some(b)) = (a.as_number(), b.as_number()) else {
        return Err(EvaluateError::Arithmetic(
            "these values cannot be computed with".to_owned(),
        ));
    };
    let failed = |error: NumberError| EvaluateError::Arithmetic(error.to_string());
    match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Sub => a.checked_sub(b),
        BinaryOp::Mul => a.checked_mul(b),
        BinaryOp::Rem => a.checked_rem(b),
        _ => a.div_rounded(b, DIVISION_DECIMALS),
    }
    .map_err(failed)
}
