//! How the parts of a key get their values before anything is read.
#![deny(
    clippy::wildcard_enum_match_arm,
    reason = "a type or function that is forgotten must not compile"
)]

use std::borrow::Cow;

use singlet_model::expression::{BinaryOp, Expr, ExprKind, FunctionId, Literal};
use singlet_model::model::{Entity, KeyPart, PartFunction};
use singlet_model::types::Type;

use crate::bounds::Bounds;
use crate::literals;
use crate::read::EndPoint;

/// The values of one key part.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// One value.
    One(Expr),
    /// One value, already in the form that the part's function makes: `month(date) == args.month`.
    Formed(Expr),
    /// Each element of a list.
    Each(Expr),
    /// Each element of a list, already in the form that the part's function makes: `upper(code) in args.codes`.
    EachFormed(Expr),
    /// Each day, month or year of a range.
    Days(DayRange),
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

/// Days in a row, or the months or years that they lie in.
#[derive(Clone, Debug, PartialEq)]
pub struct DayRange {
    /// The lower ends: the latest of them begins the range.
    pub from: Vec<DayEnd>,
    /// The upper ends: the earliest of them ends it.
    pub to: Vec<DayEnd>,
    /// What of a day the key has.
    pub unit: CalendarUnit,
    /// Whether the model's zone is not UTC, so that an instant may lie on another day there than in a key.
    pub local: bool,
}

/// An end of a range of days: a day, a month, a year or an instant.
#[derive(Clone, Debug, PartialEq)]
pub struct DayEnd {
    /// The value.
    pub value: Expr,
    /// Whether the unit that the value lies in is left out.
    pub excluded: bool,
    /// Whether an instant is left out, so that a day which begins with it is not asked for.
    pub before: bool,
    /// Whether the unit before and after it are asked for too: the value is a day of the model's zone, and the key has days of UTC.
    pub nearby: bool,
}

/// What of a day a key has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalendarUnit {
    /// The day.
    Day,
    /// Its month.
    Month,
    /// Its year.
    Year,
}

impl CalendarUnit {
    /// What a part has of the calendar, if anything.
    fn of(part: &KeyPart) -> Option<Self> {
        match (part.function, &part.ty) {
            (None, Type::Date) | (Some(PartFunction::Day), _) => Some(CalendarUnit::Day),
            (None, Type::Month) | (Some(PartFunction::Month), _) => Some(CalendarUnit::Month),
            (Some(PartFunction::Year), _) => Some(CalendarUnit::Year),
            _ => None,
        }
    }

    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            CalendarUnit::Day => "day",
            CalendarUnit::Month => "month",
            CalendarUnit::Year => "year",
        }
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

/// The values that the conjuncts give a part; none where they leave it open. `local` where the model's zone is not UTC.
pub fn bind_part<'a>(part: &KeyPart, entity: &Entity, conjuncts: &[&'a Expr], local: bool) -> Option<Bound<'a>> {
    let renamed = own_part(part, entity);
    let part = renamed.as_ref();
    let shifted = local && is_day_of_instant(part);
    let mut bound = equality(part, conjuncts)
        .filter(|bound| !(shifted && matches!(bound.values, Values::Formed(_))))
        .or_else(|| listed(part, conjuncts))
        .or_else(|| days(part, conjuncts, local))
        .or_else(|| cells(part, entity, conjuncts))
        .or_else(|| truth(part, conjuncts))
        .or_else(|| small(part, conjuncts))?;
    settle_decided(part, conjuncts, &mut bound);
    Some(bound)
}

/// What else is said of an attribute alone, and is true of each value that it is asked for, is settled too.
fn settle_decided<'a>(part: &KeyPart, conjuncts: &[&'a Expr], bound: &mut Bound<'a>) {
    let values: Vec<&Literal> = match &bound.values {
        Values::One(value) => value.as_literal().into_iter().collect(),
        Values::Each(list) => {
            let elements = if let ExprKind::List(elements) = &list.kind {
                elements.as_slice()
            } else {
                &[]
            };
            let all: Option<Vec<&Literal>> = elements.iter().map(Expr::as_literal).collect();
            all.unwrap_or_default()
        }
        Values::Formed(_) | Values::EachFormed(_) | Values::Days(_) | Values::Cells { .. } | Values::All(_) => {
            Vec::new()
        }
    };
    // Instants and days may be written in several ways.
    let is_plain = matches!(
        part.ty,
        Type::Enum(_) | Type::Bool | Type::Int(_) | Type::Number(_) | Type::Text(_)
    );
    if values.is_empty() || !part.keeps_value() || !is_plain {
        return;
    }
    let is_decided = |conjunct: &&&'a Expr| {
        let is_true = |value: &&Literal| literals::decide_literally(&with_literal(conjunct, part, value)) == Some(true);
        conjunct.attributes() == [part.path.as_str()] && values.iter().all(is_true)
    };
    let decided: Vec<&'a Expr> = conjuncts.iter().filter(is_decided).copied().collect();
    for conjunct in decided {
        if !bound.settled.iter().any(|known| std::ptr::eq(*known, conjunct)) {
            bound.settled.push(conjunct);
        }
    }
}

/// Whether a part is the day, month or year of an instant: in a key that of UTC, which in another zone is not that of expressions.
pub(crate) fn is_day_of_instant(part: &KeyPart) -> bool {
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
                let settled = if part.keeps_value() {
                    vec![*conjunct]
                } else {
                    Vec::new()
                };
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

/// The part as one of the attribute itself, where it names an alias: meanings are planned with the attribute's own name.
pub(crate) fn own_part<'p>(part: &'p KeyPart, entity: &Entity) -> Cow<'p, KeyPart> {
    let alias = entity
        .attribute(part.root_attribute())
        .and_then(|attribute| attribute.alias.as_ref());
    match alias {
        Some(own) => Cow::Owned(KeyPart {
            path: part.path.replacen(part.root_attribute(), own, 1),
            ..part.clone()
        }),
        None => Cow::Borrowed(part),
    }
}

/// `attribute in [a, b]`, or the part's own function of the attribute.
fn listed<'a>(part: &KeyPart, conjuncts: &[&'a Expr]) -> Option<Bound<'a>> {
    conjuncts.iter().find_map(|conjunct| {
        let ExprKind::Binary(BinaryOp::In, left, right) = &conjunct.kind else {
            return None;
        };
        if !right.attributes().is_empty() {
            return None;
        }
        let list = right.as_ref().clone();
        if is_same_function(left, part) {
            return Some(Bound {
                values: Values::EachFormed(list),
                settled: vec![*conjunct],
            });
        }
        is_attribute(left, part).then(|| Bound {
            values: Values::Each(list),
            settled: if part.keeps_value() {
                vec![*conjunct]
            } else {
                Vec::new()
            },
        })
    })
}

/// `attribute` or `!attribute`, for a bool.
fn truth<'a>(part: &KeyPart, conjuncts: &[&'a Expr]) -> Option<Bound<'a>> {
    if part.ty != Type::Bool {
        return None;
    }
    conjuncts.iter().find_map(|conjunct| {
        let (inner, truth): (&Expr, bool) = match &conjunct.kind {
            ExprKind::Not(inner) => Some((inner.as_ref(), false)),
            ExprKind::Attribute(_) | ExprKind::Field(..) | ExprKind::Index(..) => Some((*conjunct, true)),
            ExprKind::Literal(_)
            | ExprKind::Row
            | ExprKind::Arg(_)
            | ExprKind::Caller(_)
            | ExprKind::Now
            | ExprKind::Today
            | ExprKind::Setting(_)
            | ExprKind::Bound(_)
            | ExprKind::Word(_)
            | ExprKind::Negate(_)
            | ExprKind::Binary(..)
            | ExprKind::Conditional(..)
            | ExprKind::List(_)
            | ExprKind::Record(_)
            | ExprKind::Call(..)
            | ExprKind::Each { .. }
            | ExprKind::Entity { .. }
            | ExprKind::Invalid => None,
        }?;
        is_attribute(inner, part).then(|| Bound {
            values: Values::One(Expr {
                kind: ExprKind::Literal(Literal::Bool(truth)),
                ty: Type::Bool,
                optional: false,
                span: conjunct.span,
            }),
            settled: vec![*conjunct],
        })
    })
}

/// A range of days, months or years with both ends.
///
/// What is compared is the part itself (`day(at) <= args.to`), which the range then settles, or the attribute behind it
/// (`at < args.until`), whose day is the last that is asked for and whose rows are checked.
fn days<'a>(part: &KeyPart, conjuncts: &[&'a Expr], local: bool) -> Option<Bound<'a>> {
    let unit = CalendarUnit::of(part)?;
    let shifted = local && is_day_of_instant(part);
    let mut range = DayRange {
        from: Vec::new(),
        to: Vec::new(),
        unit,
        local,
    };
    let mut settled = Vec::new();
    let whole = part.function.is_none();
    for (op, value, conjunct, is_formed) in compared(part, conjuncts) {
        let exact = is_formed || whole;
        let end = |excluded: bool| DayEnd {
            value: value.clone(),
            excluded: excluded && exact && !shifted,
            before: op == BinaryOp::Lt && value.ty.is_instant(),
            nearby: is_formed && shifted,
        };
        match op {
            BinaryOp::Gt | BinaryOp::Ge => range.from.push(end(op == BinaryOp::Gt)),
            BinaryOp::Lt | BinaryOp::Le => range.to.push(end(op == BinaryOp::Lt)),
            // Only where the zone keeps an equality from being one key.
            BinaryOp::Eq if is_formed && shifted => {
                range.from.push(end(false));
                range.to.push(end(false));
            }
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::In | BinaryOp::And | BinaryOp::Or => continue,
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => continue,
        }
        if exact && !shifted {
            settled.push(conjunct);
        }
    }
    let closed = !range.from.is_empty() && !range.to.is_empty();
    closed.then_some(Bound {
        values: Values::Days(range),
        settled,
    })
}

/// What a part's attribute, or the part's own function of it, is compared with: the operator as if the attribute stood left, the
/// value, the conjunct, and whether it is the function.
fn compared<'a>(part: &KeyPart, conjuncts: &[&'a Expr]) -> impl Iterator<Item = (BinaryOp, &'a Expr, &'a Expr, bool)> {
    conjuncts.iter().filter_map(|conjunct| {
        let ExprKind::Binary(op, left, right) = &conjunct.kind else {
            return None;
        };
        let is_part = |side: &Expr| is_attribute(side, part) || is_same_function(side, part);
        let (op, side, value) = match (is_part(left), is_part(right)) {
            (true, false) => (*op, left, right.as_ref()),
            (false, true) => (op.swapped(), right, left.as_ref()),
            _ => return None,
        };
        let known = value.attributes().is_empty() && !value.is_absent();
        known.then(|| (op, value, *conjunct, is_same_function(side, part)))
    })
}

/// An end of a range that a conjunct sets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End<'a> {
    /// What the part is compared with.
    pub value: &'a Expr,
    /// Whether the end itself is left out.
    pub excluded: bool,
    /// Which point of the value it is.
    pub point: EndPoint,
    /// The conjunct.
    pub conjunct: &'a Expr,
}

/// The ends that the conjuncts set on a part's attribute, or on the day, month or year of it. An equality of a day sets both.
pub(crate) fn part_ends<'a>(part: &KeyPart, conjuncts: &[&'a Expr]) -> (Option<End<'a>>, Option<End<'a>>) {
    let (mut low, mut high) = (None, None);
    for (op, value, conjunct, _) in compared(part, conjuncts).filter(|(.., is_formed)| !is_formed) {
        let end = |excluded: bool| End {
            value,
            excluded,
            point: EndPoint::Itself,
            conjunct,
        };
        match op {
            BinaryOp::Gt | BinaryOp::Ge => low = low.or(Some(end(op == BinaryOp::Gt))),
            BinaryOp::Lt | BinaryOp::Le => high = high.or(Some(end(op == BinaryOp::Lt))),
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::In | BinaryOp::And | BinaryOp::Or => {}
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => {}
        }
    }
    for (op, value, conjunct, unit) in compared_days(part, conjuncts) {
        let (start, after) = (EndPoint::StartOf(unit), EndPoint::AfterEndOf(unit));
        let end = |point: EndPoint, excluded: bool| {
            Some(End {
                value,
                excluded,
                point,
                conjunct,
            })
        };
        let (from, to) = match op {
            BinaryOp::Ge => (end(start, false), None),
            BinaryOp::Gt => (end(after, false), None),
            BinaryOp::Lt => (None, end(start, true)),
            BinaryOp::Le => (None, end(after, true)),
            BinaryOp::Eq if low.is_none() && high.is_none() => (end(start, false), end(after, true)),
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::In | BinaryOp::And | BinaryOp::Or => continue,
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => continue,
        };
        low = low.or(from);
        high = high.or(to);
    }
    (low, high)
}

/// What the day, month or year of a part's attribute is compared with, where the part has the whole instant or the whole day: the operator
/// as if the attribute stood left, the value, the conjunct and the unit.
fn compared_days<'a>(
    part: &KeyPart,
    conjuncts: &[&'a Expr],
) -> impl Iterator<Item = (BinaryOp, &'a Expr, &'a Expr, CalendarUnit)> {
    let whole = part.function.is_none() && (part.ty.is_instant() || part.ty == Type::Date);
    conjuncts.iter().filter(move |_| whole).filter_map(|conjunct| {
        let ExprKind::Binary(op, left, right) = &conjunct.kind else {
            return None;
        };
        let (op, unit, value) = match (unit_of(left, part), unit_of(right, part)) {
            (Some(unit), None) => (*op, unit, right.as_ref()),
            (None, Some(unit)) => (op.swapped(), unit, left.as_ref()),
            _ => return None,
        };
        let known = value.attributes().is_empty() && !value.is_absent();
        known.then_some((op, value, *conjunct, unit))
    })
}

/// The unit of the calendar that an operand is of a part's attribute.
fn unit_of(operand: &Expr, part: &KeyPart) -> Option<CalendarUnit> {
    let ExprKind::Call(function, args) = &operand.kind else {
        return None;
    };
    let is_own = matches!(args.as_slice(), [arg] if is_attribute(arg, part));
    let units = [
        (FunctionId::Day, CalendarUnit::Day),
        (FunctionId::Month, CalendarUnit::Month),
        (FunctionId::Year, CalendarUnit::Year),
    ];
    let unit = units.into_iter().find(|(known, _)| known == function);
    unit.filter(|_| is_own).map(|(_, unit)| unit)
}

/// The text that a part's attribute begins with, where keys have it character by character.
pub(crate) fn part_beginning<'a>(part: &KeyPart, conjuncts: &[&'a Expr]) -> Option<End<'a>> {
    let by_character = matches!(part.function, None | Some(PartFunction::Raw)) && matches!(part.ty, Type::Text(_));
    conjuncts.iter().filter(|_| by_character).find_map(|conjunct| {
        let ExprKind::Call(FunctionId::StartsWith, args) = &conjunct.kind else {
            return None;
        };
        let [text, value] = args.as_slice() else { return None };
        let known = value.attributes().is_empty() && !value.is_absent();
        (known && is_attribute(text, part)).then_some(End {
            value,
            excluded: false,
            point: EndPoint::Beginning,
            conjunct,
        })
    })
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
        return Some((part.root_attribute().to_owned(), precision));
    }
    let computed = entity.attribute(part.root_attribute())?.is.as_ref()?;
    let ExprKind::Call(FunctionId::Geohash, args) = &computed.kind else {
        return None;
    };
    let [place, precision] = args.as_slice() else {
        return None;
    };
    let ExprKind::Attribute(name) = &place.kind else {
        return None;
    };
    let singlet_model::expression::Literal::Number(precision) = precision.as_literal()? else {
        return None;
    };
    let precision = precision.to_u64()?;
    Some((name.clone(), u8::try_from(precision).ok()?))
}

/// A part that is open but has few values is asked for value by value, without those of which the meaning is false whatever is sent.
fn small<'a>(part: &KeyPart, conjuncts: &[&'a Expr]) -> Option<Bound<'a>> {
    let mut words = small_words(part)?;
    let mut settled = Vec::new();
    let about = conjuncts
        .iter()
        .filter(|conjunct| part.keeps_value() && conjunct.attributes() == [part.path.as_str()]);
    for conjunct in about {
        let truth = |word: &String| literals::decide_literally(&with_word(conjunct, part, word));
        if words.iter().all(|word| truth(word).is_some()) {
            words.retain(|word| truth(word) == Some(true));
            settled.push(*conjunct);
        }
    }
    Some(Bound {
        values: Values::All(words),
        settled,
    })
}

/// A condition with a value of a part's type in the attribute's place.
fn with_word(conjunct: &Expr, part: &KeyPart, word: &str) -> Expr {
    let literal = if part.ty == Type::Bool {
        Literal::Bool(word == "true")
    } else if part.ty.is_number() {
        let Ok(number) = word.parse() else {
            return conjunct.clone();
        };
        Literal::Number(number)
    } else {
        Literal::Text(word.to_owned())
    };
    with_literal(conjunct, part, &literal)
}

fn with_literal(conjunct: &Expr, part: &KeyPart, literal: &Literal) -> Expr {
    let mut conjunct = conjunct.clone();
    conjunct.walk_mut(&mut |inner| {
        if matches!(&inner.kind, ExprKind::Attribute(name) if *name == part.path) {
            inner.kind = ExprKind::Literal(literal.clone());
            inner.optional = false;
        }
    });
    conjunct
}

/// Every value of a part's type, in order, where there are few.
pub(crate) fn small_words(part: &KeyPart) -> Option<Vec<String>> {
    let words = match &part.ty {
        Type::Enum(words) => words.members.clone(),
        Type::Bool => vec!["false".to_owned(), "true".to_owned()],
        Type::Int(limits) if limits.only.is_some() => {
            let mut only: Vec<_> = limits.only.iter().flat_map(|only| only.iter().copied()).collect();
            only.sort();
            only.iter().map(ToString::to_string).collect()
        }
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
        Type::Text(_) | Type::Number(_) | Type::Bytes(_) | Type::Json => return None,
        Type::Date | Type::Time | Type::Seconds | Type::Millis | Type::Now | Type::Duration | Type::Month => {
            return None;
        }
        Type::Ulid | Type::Ksuid | Type::Uuid | Type::Version => return None,
        Type::Geo(_) | Type::Object(_) | Type::List(..) | Type::Set(..) | Type::Map(..) => return None,
        Type::OrWords(..) | Type::Row(_) | Type::Group(..) | Type::Absent | Type::Unknown => return None,
    };
    // A number as it prints may begin another, so that a range of the one would hold the other's rows.
    let begins_another = |word: &String| {
        words
            .iter()
            .any(|other| other != word && other.starts_with(word.as_str()))
    };
    if part.function == Some(PartFunction::Plain) && words.iter().any(begins_another) {
        return None;
    }
    (words.len() as u64 <= Bounds::USUAL.values_max as u64).then_some(words)
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
