//! How the parts of a key get their values before anything is read.

use singlet_model::expression::{BinaryOp, Expr, ExprKind, FunctionId};
use singlet_model::model::{Entity, KeyPart, PartFunction};
use singlet_model::types::Type;

use crate::bounds::Bounds;

/// The values of one key part.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// One value.
    One(Expr),
    /// One value, already in the form that the part's function makes: `month(date) == args.month`.
    Formed(Expr),
    /// Each element of a list.
    Each(Expr),
    /// Each day of a range, both ends included.
    Days {
        /// The first day.
        from: Expr,
        /// The last day.
        to: Expr,
        /// Whether the first day itself is left out.
        after: bool,
        /// Whether the last day itself is left out.
        before: bool,
    },
    /// The cells that cover a circle.
    Cells {
        /// Its centre.
        center: Expr,
        /// Its radius in kilometres.
        km: Expr,
        /// The length of the cells' geohashes.
        precision: u8,
    },
    /// Every value of a small type.
    All(Vec<String>),
}

impl Values {
    /// Whether there is exactly one.
    pub fn is_one(&self) -> bool {
        matches!(self, Values::One(_) | Values::Formed(_))
    }
}

/// A part's values, and which conjuncts they make true for every row that has one of them.
#[derive(Clone, Debug)]
pub struct Bound<'a> {
    /// The values.
    pub values: Values,
    /// The conjuncts that need no filter any more.
    pub settled: Vec<&'a Expr>,
}

/// The values that the conjuncts give a part; none where they leave it open.
pub fn bind<'a>(part: &KeyPart, entity: &Entity, conjuncts: &[&'a Expr]) -> Option<Bound<'a>> {
    equality(part, conjuncts)
        .or_else(|| computed(part, entity, conjuncts))
        .or_else(|| listed(part, conjuncts))
        .or_else(|| days(part, conjuncts))
        .or_else(|| cells(part, entity, conjuncts))
        .or_else(|| truth(part, conjuncts))
        .or_else(|| small(part))
}

/// Whether a part is the day, month or year of an instant: in a key that of UTC, which in another zone is not that of expressions.
pub fn is_day_of_instant(part: &KeyPart) -> bool {
    let of_calendar = matches!(
        part.function,
        Some(PartFunction::Day | PartFunction::Month | PartFunction::Year)
    );
    of_calendar && part.ty.is_instant()
}

/// `attribute == value`, or the part's own function of the attribute.
fn equality<'a>(part: &KeyPart, conjuncts: &[&'a Expr]) -> Option<Bound<'a>> {
    conjuncts.iter().find_map(|conjunct| {
        let ExprKind::Binary(BinaryOp::Eq, left, right) = &conjunct.kind else {
            return None;
        };
        [(left, right), (right, left)].into_iter().find_map(|(side, value)| {
            if !value.attributes().is_empty() || value.is_absent() {
                return None;
            }
            if is_attribute(side, part) {
                // Equality of the attribute is equality of the part only where the part keeps the whole value.
                let settled = if keeps_value(part) { vec![*conjunct] } else { Vec::new() };
                let values = Values::One(value.as_ref().clone());
                return Some(Bound { values, settled });
            }
            is_same_function(side, part).then(|| Bound {
                values: Values::Formed(value.as_ref().clone()),
                settled: vec![*conjunct],
            })
        })
    })
}

/// A computed attribute whose sources are all equal to something: `geohash` from a known `location`.
fn computed<'a>(part: &KeyPart, entity: &Entity, conjuncts: &[&'a Expr]) -> Option<Bound<'a>> {
    let alias = entity.attribute(part.root())?.alias.as_ref()?;
    let renamed = KeyPart {
        path: alias.clone(),
        ..part.clone()
    };
    equality(&renamed, conjuncts)
}

/// `attribute in [a, b]`.
fn listed<'a>(part: &KeyPart, conjuncts: &[&'a Expr]) -> Option<Bound<'a>> {
    conjuncts.iter().find_map(|conjunct| {
        let ExprKind::Binary(BinaryOp::In, left, right) = &conjunct.kind else {
            return None;
        };
        let binds = is_attribute(left, part) && right.attributes().is_empty();
        binds.then(|| Bound {
            values: Values::Each(right.as_ref().clone()),
            settled: if keeps_value(part) { vec![*conjunct] } else { Vec::new() },
        })
    })
}

/// `attribute` or `!attribute`, for a bool.
fn truth<'a>(part: &KeyPart, conjuncts: &[&'a Expr]) -> Option<Bound<'a>> {
    if part.ty != Type::Bool {
        return None;
    }
    conjuncts.iter().find_map(|conjunct| {
        let (inner, word) = match &conjunct.kind {
            ExprKind::Not(inner) => (inner.as_ref(), "false"),
            _ => (*conjunct, "true"),
        };
        is_attribute(inner, part).then(|| Bound {
            values: Values::All(vec![word.to_owned()]),
            settled: vec![*conjunct],
        })
    })
}

/// A range of days with both ends.
fn days<'a>(part: &KeyPart, conjuncts: &[&'a Expr]) -> Option<Bound<'a>> {
    if part.ty != Type::Date || part.function.is_some() {
        return None;
    }
    let (low, high) = ends(part, conjuncts);
    let ((from, after, first), (to, before, last)) = (low?, high?);
    Some(Bound {
        values: Values::Days {
            from: from.clone(),
            to: to.clone(),
            after,
            before,
        },
        settled: vec![first, last],
    })
}

/// An end of a range: its value, whether it is left out, and the conjunct.
pub type End<'a> = (&'a Expr, bool, &'a Expr);

/// The ends that the conjuncts set on a part's attribute.
pub fn ends<'a>(part: &KeyPart, conjuncts: &[&'a Expr]) -> (Option<End<'a>>, Option<End<'a>>) {
    let (mut low, mut high) = (None, None);
    for conjunct in conjuncts {
        let ExprKind::Binary(op, left, right) = &conjunct.kind else {
            continue;
        };
        let (op, value) = match (is_attribute(left, part), is_attribute(right, part)) {
            (true, false) => (*op, right.as_ref()),
            (false, true) => (op.swapped(), left.as_ref()),
            _ => continue,
        };
        if !value.attributes().is_empty() {
            continue;
        }
        match op {
            BinaryOp::Gt | BinaryOp::Ge if low.is_none() => low = Some((value, op == BinaryOp::Gt, *conjunct)),
            BinaryOp::Lt | BinaryOp::Le if high.is_none() => high = Some((value, op == BinaryOp::Lt, *conjunct)),
            _ => {}
        }
    }
    (low, high)
}

/// The cells of a circle around a place whose geohash the part is.
fn cells<'a>(part: &KeyPart, entity: &Entity, conjuncts: &[&'a Expr]) -> Option<Bound<'a>> {
    let (place, precision) = hashed_place(part, entity)?;
    conjuncts.iter().find_map(|conjunct| {
        let ExprKind::Call(FunctionId::Near, args) = &conjunct.kind else {
            return None;
        };
        let [at, center, km] = args.as_slice() else {
            return None;
        };
        let same = matches!(&at.kind, ExprKind::Attribute(name) if *name == place);
        same.then(|| Bound {
            values: Values::Cells {
                center: center.clone(),
                km: km.clone(),
                precision,
            },
            settled: Vec::new(),
        })
    })
}

fn hashed_place(part: &KeyPart, entity: &Entity) -> Option<(String, u8)> {
    if let Some(PartFunction::Geohash(precision)) = part.function {
        return Some((part.root().to_owned(), precision));
    }
    let computed = entity.attribute(part.root())?.is.as_ref()?;
    let ExprKind::Call(FunctionId::Geohash, args) = &computed.kind else {
        return None;
    };
    let [place, precision] = args.as_slice() else {
        return None;
    };
    let ExprKind::Attribute(name) = &place.kind else {
        return None;
    };
    let precision = match precision.literal()? {
        singlet_model::expression::Literal::Number(number) => number.to_u64()?,
        _ => return None,
    };
    Some((name.clone(), u8::try_from(precision).ok()?))
}

/// A part that is open but has few values is asked for value by value.
fn small<'a>(part: &KeyPart) -> Option<Bound<'a>> {
    small_words(part).map(|words| Bound {
        values: Values::All(words),
        settled: Vec::new(),
    })
}

/// Every value of a part's type, in order, where there are few.
pub(crate) fn small_words(part: &KeyPart) -> Option<Vec<String>> {
    let words = match &part.ty {
        Type::Enum(words) => words.members.clone(),
        Type::Bool => vec!["false".to_owned(), "true".to_owned()],
        Type::Int(limits) => {
            let count = part
                .ty
                .cardinality()
                .filter(|count| *count <= Bounds::USUAL.values_max as u64)?;
            let first = limits.min.and_then(|min| min.to_i64())?;
            (0..i64::try_from(count).ok()?)
                .map(|step| (first + step).to_string())
                .collect()
        }
        _ => return None,
    };
    (words.len() as u64 <= Bounds::USUAL.values_max as u64).then_some(words)
}

/// Whether the part holds the attribute's whole value, so that equal parts are equal attributes.
pub(crate) fn keeps_value(part: &KeyPart) -> bool {
    !matches!(
        part.function,
        Some(
            PartFunction::Lower
                | PartFunction::Upper
                | PartFunction::Day
                | PartFunction::Month
                | PartFunction::Year
                | PartFunction::Geohash(_)
        )
    )
}

fn is_attribute(expr: &Expr, part: &KeyPart) -> bool {
    expr.path().is_some_and(|path| path == part.path) && !expr.attributes().is_empty()
}

/// `lower(email)` against a part `{lower(email)}`.
fn is_same_function(expr: &Expr, part: &KeyPart) -> bool {
    let ExprKind::Call(function, args) = &expr.kind else {
        return false;
    };
    let same = matches!(
        (function, part.function),
        (FunctionId::Lower, Some(PartFunction::Lower))
            | (FunctionId::Upper, Some(PartFunction::Upper))
            | (FunctionId::Day, Some(PartFunction::Day))
            | (FunctionId::Month, Some(PartFunction::Month))
            | (FunctionId::Year, Some(PartFunction::Year))
    );
    let [arg] = args.as_slice() else {
        return false;
    };
    same && is_attribute(arg, part)
}
