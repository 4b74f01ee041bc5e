//! How many days can lie between two ends, as far as the model proves it.
//!
//! An end is taken apart into what it starts from and how far it lies from there: `args.from + days(args.n)` with `n: int 1..31`
//! lies 1 to 31 days after `args.from`. Two ends that start from the same are as far apart as that allows; of ends that start
//! from different arguments nothing is known.

use singlet_model::expression::{BinaryOp, Expr, ExprKind, FunctionId, Literal};
use singlet_model::types::Type;

use crate::show;
use crate::values::{CalendarUnit, DayEnd, DayRange};

/// Days in the longest month.
const MONTH_DAYS_MAX: i64 = 31;
/// Days in the shortest month.
const MONTH_DAYS_MIN: i64 = 28;
const YEAR_DAYS_MIN: u64 = 365;
const HOURS_PER_DAY: i64 = 24;
const MINUTES_PER_DAY: i64 = 24 * 60;

/// The most days, months or years that a range can have; none where nothing proves it.
pub(crate) fn units_most(range: &DayRange) -> Option<u64> {
    let pairs = range
        .from
        .iter()
        .flat_map(|from| range.to.iter().map(move |to| between_ends(from, to, range.local)));
    let days = pairs.flatten().min()?;
    let slack = range.from.iter().chain(&range.to).filter(|end| end.nearby).count() as u64;
    let units = match range.unit {
        CalendarUnit::Day => days,
        // Days in a row touch one month more than they fill, at either end.
        CalendarUnit::Month => days / MONTH_DAYS_MIN.unsigned_abs() + 2,
        CalendarUnit::Year => days / YEAR_DAYS_MIN + 2,
    };
    Some(units.saturating_add(slack))
}

/// The most days from one expression to another, both included.
pub(crate) fn days_most(from: &Expr, to: &Expr) -> Option<u64> {
    let end = |value: &Expr| DayEnd {
        value: value.clone(),
        excluded: false,
        before: false,
        nearby: false,
    };
    between_ends(&end(from), &end(to), true)
}

fn between_ends(from: &DayEnd, to: &DayEnd, local: bool) -> Option<u64> {
    // Years are numbers, with limits of their own.
    if let (Type::Int(_), Type::Int(_)) = (&from.value.ty, &to.value.ty) {
        let ((least, _), (_, most)) = (whole_numbers(&from.value)?, whole_numbers(&to.value)?);
        let years = most.checked_sub(least)?.checked_add(1)?;
        return Some(u64::try_from(years).unwrap_or(0).saturating_mul(YEAR_DAYS_MIN));
    }
    let (first, last) = (place(&from.value, local)?, place(&to.value, local)?);
    let last = match to.before && !local && begins_day(&to.value) {
        true => last.moved(-1, -1)?,
        false => last,
    };
    if first.start != last.start {
        return None;
    }
    let left_out = i64::from(from.excluded) + i64::from(to.excluded);
    let days = last
        .most
        .checked_sub(first.least)?
        .checked_add(1)?
        .checked_sub(left_out)?;
    Some(u64::try_from(days).unwrap_or(0))
}

/// Where an end lies: so many days, at least and at most, after what it starts from.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    /// The expression that it starts from; none for a day that is written out, which counts from the epoch.
    start: Option<String>,
    least: i64,
    most: i64,
}

impl Place {
    fn moved(self, least: i64, most: i64) -> Option<Self> {
        Some(Place {
            least: self.least.checked_add(least)?,
            most: self.most.checked_add(most)?,
            ..self
        })
    }
}

/// Whether an instant is the first of its day: `time(args.to, "00:00")`.
fn begins_day(expr: &Expr) -> bool {
    let ExprKind::Call(FunctionId::Time, args) = &expr.kind else {
        return false;
    };
    let clock = args.get(1).and_then(Expr::as_literal);
    matches!(clock, Some(Literal::Text(clock)) if clock == "00:00")
}

/// Where an expression lies; `local` where the model's zone is not UTC, whose days keys have.
fn place(expr: &Expr, local: bool) -> Option<Place> {
    // The day of an instant in the model's zone may be that before or after the one of UTC.
    let slack = i64::from(local);
    match &expr.kind {
        ExprKind::Literal(Literal::Text(text)) => written_day(text, &expr.ty, slack),
        ExprKind::Binary(BinaryOp::Add, left, right) => {
            let (of, (least, most)) = match (days_in(left), days_in(right)) {
                (None, Some(days)) => (left, days),
                (Some(days), None) => (right, days),
                _ => return None,
            };
            place(of, local)?.moved(least, most)
        }
        ExprKind::Binary(BinaryOp::Sub, left, right) => {
            let (least, most) = days_in(right)?;
            place(left, local)?.moved(most.checked_neg()?, least.checked_neg()?)
        }
        ExprKind::Call(FunctionId::Day | FunctionId::Time, args) => place(args.first()?, local)?.moved(-slack, slack),
        ExprKind::Call(FunctionId::Month, args) => place(args.first()?, local)?.moved(-MONTH_DAYS_MAX, slack),
        ExprKind::Today => started("now", -slack, slack),
        ExprKind::Now => started("now", 0, 0),
        _ => started(&show::show_expression(expr), 0, 0),
    }
}

fn started(start: &str, least: i64, most: i64) -> Option<Place> {
    Some(Place {
        start: Some(start.to_owned()),
        least,
        most,
    })
}

/// A day, month or instant that is written out, as days since the epoch; a month as any of its days.
fn written_day(text: &str, ty: &Type, local_days: i64) -> Option<Place> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let (year, month) = (number(0, 4)?, number(5, 7)?);
    let (day, slack) = match ty {
        Type::Month => (1, MONTH_DAYS_MAX),
        Type::Date => (number(8, 10)?, 0),
        _ => (number(8, 10)?, local_days),
    };
    let day = days_from_epoch(year, month, day);
    Some(Place {
        start: None,
        least: day - slack,
        most: day + slack,
    })
}

/// The days from the epoch to a day of the Gregorian calendar, counting years from March so that the leap day ends them.
fn days_from_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// How many days a duration moves a day or an instant, at least and at most.
fn days_in(expr: &Expr) -> Option<(i64, i64)> {
    match &expr.kind {
        ExprKind::Call(
            function @ (FunctionId::Days | FunctionId::Months | FunctionId::Hours | FunctionId::Minutes),
            args,
        ) => {
            let (least, most) = whole_numbers(args.first()?)?;
            match function {
                FunctionId::Months => {
                    let ends = [
                        least.checked_mul(MONTH_DAYS_MIN)?,
                        least.checked_mul(MONTH_DAYS_MAX)?,
                        most.checked_mul(MONTH_DAYS_MIN)?,
                        most.checked_mul(MONTH_DAYS_MAX)?,
                    ];
                    Some((ends.into_iter().min()?, ends.into_iter().max()?))
                }
                // A part of a day may reach into the next.
                FunctionId::Hours => Some((least.div_euclid(HOURS_PER_DAY) - 1, most.div_euclid(HOURS_PER_DAY) + 1)),
                FunctionId::Minutes => Some((
                    least.div_euclid(MINUTES_PER_DAY) - 1,
                    most.div_euclid(MINUTES_PER_DAY) + 1,
                )),
                _ => Some((least, most)),
            }
        }
        ExprKind::Binary(BinaryOp::Add, left, right) => {
            let ((a, b), (c, d)) = (days_in(left)?, days_in(right)?);
            Some((a.checked_add(c)?, b.checked_add(d)?))
        }
        _ => None,
    }
}

/// The least and the greatest whole number that an expression can be.
fn whole_numbers(expr: &Expr) -> Option<(i64, i64)> {
    match &expr.kind {
        ExprKind::Literal(Literal::Number(number)) => number.to_i64().map(|number| (number, number)),
        ExprKind::Negate(inner) => {
            let (least, most) = whole_numbers(inner)?;
            Some((most.checked_neg()?, least.checked_neg()?))
        }
        ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul), left, right) => {
            let (left, right) = (whole_numbers(left)?, whole_numbers(right)?);
            let of = |a: i64, b: i64| match op {
                BinaryOp::Add => a.checked_add(b),
                BinaryOp::Sub => a.checked_sub(b),
                _ => a.checked_mul(b),
            };
            let corners = [
                of(left.0, right.0),
                of(left.0, right.1),
                of(left.1, right.0),
                of(left.1, right.1),
            ];
            let corners: Option<Vec<i64>> = corners.into_iter().collect();
            let corners = corners?;
            Some((*corners.iter().min()?, *corners.iter().max()?))
        }
        ExprKind::Arg(_) | ExprKind::Field(..) | ExprKind::Bound(_) => match &expr.ty {
            Type::Int(limits) => match &limits.only {
                Some(only) => {
                    let numbers: Option<Vec<i64>> = only.iter().map(|number| number.to_i64()).collect();
                    let numbers = numbers?;
                    Some((*numbers.iter().min()?, *numbers.iter().max()?))
                }
                None => Some((limits.min?.to_i64()?, limits.max?.to_i64()?)),
            },
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_from_the_epoch() {
        for (day, number) in [
            ((1970, 1, 1), 0),
            ((1969, 12, 31), -1),
            ((2000, 2, 29), 11_016),
            ((2000, 3, 1), 11_017),
            ((2026, 11, 16), 20_773),
            ((1900, 3, 1), -25_508),
        ] {
            assert_eq!(days_from_epoch(day.0, day.1, day.2), number, "{day:?}");
        }
    }
}
