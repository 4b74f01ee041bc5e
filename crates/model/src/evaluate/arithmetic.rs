//! `+ - * / %` on numbers, text, instants, days and durations.
#![deny(
    clippy::wildcard_enum_match_arm,
    reason = "a type that is forgotten must not compile"
)]

use jiff::tz::TimeZone;
use singlet_item::{Number, NumberError, Value};

use super::EvaluateError;
use super::time::{self, Duration};
use crate::expression::BinaryOp;
use crate::types::Type;

/// The decimals to which a division that is not rounded by its place is exact enough.
const DIVISION_DECIMALS: u8 = 18;

/// What arithmetic makes of a value.
#[derive(Clone, Copy)]
enum ArithmeticOperand<'v> {
    Text(&'v str),
    Number(Number),
    Day(&'v str),
    Instant(&'v Value, &'v Type),
    Duration(Duration),
}

impl<'v> ArithmeticOperand<'v> {
    fn of(value: &'v Value, ty: &'v Type) -> Result<Self, EvaluateError> {
        let operand = match ty {
            Type::Text(_) | Type::Ulid | Type::Ksuid | Type::Uuid | Type::Enum(_) => {
                value.as_str().map(ArithmeticOperand::Text)
            }
            Type::Int(_) | Type::Number(_) | Type::Version => value.as_number().map(ArithmeticOperand::Number),
            Type::Date => value.as_str().map(ArithmeticOperand::Day),
            Type::Time | Type::Seconds | Type::Millis | Type::Now => Some(ArithmeticOperand::Instant(value, ty)),
            Type::Duration => Duration::from_value(value).map(ArithmeticOperand::Duration),
            Type::Bool
            | Type::Bytes(_)
            | Type::Month
            | Type::Geo(_)
            | Type::Json
            | Type::Object(_)
            | Type::List(..)
            | Type::Set(..)
            | Type::Map(..)
            | Type::OrWords(..)
            | Type::Row(_)
            | Type::Group(..)
            | Type::Absent
            | Type::Unknown => None,
        };
        operand.ok_or_else(|| EvaluateError::Unfit(format!("this value of type {ty} cannot be computed with")))
    }
}

/// Computes with two values that are there.
pub(super) fn compute_binary(
    op: BinaryOp,
    (a, a_ty): (&Value, &Type),
    (b, b_ty): (&Value, &Type),
    zone: &TimeZone,
) -> Result<Value, EvaluateError> {
    let (left, right) = (ArithmeticOperand::of(a, a_ty)?, ArithmeticOperand::of(b, b_ty)?);
    match (op, left, right) {
        (op, ArithmeticOperand::Number(a), ArithmeticOperand::Number(b)) => numbers(op, a, b).map(Value::N),
        (BinaryOp::Add, ArithmeticOperand::Text(a), ArithmeticOperand::Text(b)) => Ok(Value::S(format!("{a}{b}"))),
        (BinaryOp::Add, ArithmeticOperand::Duration(a), ArithmeticOperand::Duration(b)) => Ok(a.plus(b)?.to_value()),
        (BinaryOp::Sub, ArithmeticOperand::Duration(a), ArithmeticOperand::Duration(b)) => {
            Ok(a.plus(b.negated())?.to_value())
        }
        (BinaryOp::Add, ArithmeticOperand::Day(day), ArithmeticOperand::Duration(by))
        | (BinaryOp::Add, ArithmeticOperand::Duration(by), ArithmeticOperand::Day(day)) => time::shifted_day(day, by),
        (BinaryOp::Sub, ArithmeticOperand::Day(day), ArithmeticOperand::Duration(by)) => {
            time::shifted_day(day, by.negated())
        }
        (BinaryOp::Add, ArithmeticOperand::Instant(at, ty), ArithmeticOperand::Duration(by))
        | (BinaryOp::Add, ArithmeticOperand::Duration(by), ArithmeticOperand::Instant(at, ty)) => {
            time::shifted_instant(at, ty, by, zone)
        }
        (BinaryOp::Sub, ArithmeticOperand::Instant(at, ty), ArithmeticOperand::Duration(by)) => {
            time::shifted_instant(at, ty, by.negated(), zone)
        }
        (BinaryOp::Sub, ArithmeticOperand::Day(to), ArithmeticOperand::Day(from)) => {
            Ok(time::days_apart(from, to)?.to_value())
        }
        (BinaryOp::Sub, ArithmeticOperand::Instant(to, to_ty), ArithmeticOperand::Instant(from, from_ty)) => {
            Ok(apart((from, from_ty), (to, to_ty))?.to_value())
        }
        (BinaryOp::Mul, ArithmeticOperand::Duration(by), ArithmeticOperand::Number(count))
        | (BinaryOp::Mul, ArithmeticOperand::Number(count), ArithmeticOperand::Duration(by)) => {
            Ok(by.times(count)?.to_value())
        }
        (op, _, _) => Err(EvaluateError::Unfit(format!(
            "`{}` does not go between {a_ty} and {b_ty}",
            op.symbol()
        ))),
    }
}

/// The value turned round.
pub(super) fn negate_value(value: &Value, ty: &Type) -> Result<Value, EvaluateError> {
    match ArithmeticOperand::of(value, ty)? {
        ArithmeticOperand::Number(number) => Ok(Value::N(-number)),
        ArithmeticOperand::Duration(duration) => Ok(duration.negated().to_value()),
        ArithmeticOperand::Text(_) | ArithmeticOperand::Day(_) | ArithmeticOperand::Instant(..) => Err(
            EvaluateError::Unfit(format!("`-` does not turn a value of type {ty} round")),
        ),
    }
}

fn apart((from, from_ty): (&Value, &Type), (to, to_ty): (&Value, &Type)) -> Result<Duration, EvaluateError> {
    let (from, to) = (time::millis_of(from, from_ty)?, time::millis_of(to, to_ty)?);
    let no_instant = || EvaluateError::Unfit("this value is no instant".to_owned());
    let (from, to) = from.zip(to).ok_or_else(no_instant)?;
    Duration::new(0, to.saturating_sub(from))
}

fn numbers(op: BinaryOp, a: Number, b: Number) -> Result<Number, EvaluateError> {
    let failed = |error: NumberError| EvaluateError::Arithmetic(error.to_string());
    match op {
        BinaryOp::Add => a.checked_add(b).map_err(failed),
        BinaryOp::Sub => a.checked_sub(b).map_err(failed),
        BinaryOp::Mul => a.checked_mul(b).map_err(failed),
        BinaryOp::Rem => a.checked_rem(b).map_err(failed),
        BinaryOp::Div => a.div_rounded(b, DIVISION_DECIMALS).map_err(failed),
        BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Eq
        | BinaryOp::Ne
        | BinaryOp::Lt
        | BinaryOp::Le
        | BinaryOp::Gt
        | BinaryOp::Ge
        | BinaryOp::In => Err(EvaluateError::Unfit(format!("`{}` computes no number", op.symbol()))),
    }
}
