//! What a meaning says of the parts of a key, before anything is read.

use std::collections::BTreeSet;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use singlet_item::Value;
use singlet_model::evaluate::{evaluate_as, holds_condition};
use singlet_model::expression::{BinaryOp, Expr, ExprKind, FunctionId};
use singlet_model::model::{Entity, KeyPart, PartFunction};
use singlet_model::types::Type;
use singlet_runtime::{Attributes, Scope};

/// The most values that one part of a key is asked for.
pub(super) const VALUES_MAX: usize = 200;

/// What a part of a key is in a row, as text; none where the row has none.
pub(super) fn part_of_row(part: &KeyPart, row: &Attributes) -> Option<String> {
    let mut names = part.path.split('.');
    let first = row.get(names.next()?)?;
    let value = names.try_fold(first, |value, name| value.as_map()?.get(name))?;
    formed(part.function, value)
}

/// What a function of a key makes of a value, as text. The geohash of a place is none of what is listed here.
fn formed(function: Option<PartFunction>, value: &Value) -> Option<String> {
    let text = match value {
        Value::S(text) => text.clone(),
        Value::N(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        _ => return None,
    };
    let first = |count: usize| text.get(..count).map(str::to_owned);
    match function {
        Some(PartFunction::Lower) => Some(text.to_lowercase()),
        Some(PartFunction::Upper) => Some(text.to_uppercase()),
        Some(PartFunction::Day) => first(10),
        Some(PartFunction::Month) => first(7),
        Some(PartFunction::Year) => first(4),
        Some(PartFunction::Geohash(_)) => None,
        Some(
            PartFunction::Rank | PartFunction::Desc | PartFunction::Ordered | PartFunction::Plain | PartFunction::Raw,
        )
        | None => Some(text),
    }
}

/// The values that a part of a key can have in rows that are meant; none where they are not known before anything is read.
pub(super) fn known_values(part: &KeyPart, conjuncts: &[&Expr], scope: Scope<'_>) -> Option<BTreeSet<String>> {
    let mut known: Option<BTreeSet<String>> = finite_values(part, conjuncts, scope);
    let mut narrow = |values: BTreeSet<String>| {
        known = Some(match known.take() {
            Some(known) => known.intersection(&values).cloned().collect(),
            None => values,
        });
    };
    for conjunct in conjuncts {
        if let Some(values) = named_values(part, conjunct, scope) {
            narrow(values);
        }
    }
    if known.is_none() {
        known = days_between(part, conjuncts, scope);
    }
    known.filter(|values| values.len() <= VALUES_MAX)
}

/// The values that `==` or `in` names.
fn named_values(part: &KeyPart, conjunct: &Expr, scope: Scope<'_>) -> Option<BTreeSet<String>> {
    let ExprKind::Binary(op, left, right) = &conjunct.kind else {
        return None;
    };
    let sides = [(left, right), (right, left)];
    let usable = match op {
        BinaryOp::Eq => &sides[..],
        BinaryOp::In => &sides[..1],
        _ => return None,
    };
    usable.iter().find_map(|(side, other)| {
        let function = match subject(side, &part.path)? {
            Subject::Itself => part.function,
            // A key has the days of UTC, whatever the model's zone.
            Subject::Of(function) if is_of_calendar(function) && scope.setting.zone != TimeZone::UTC => return None,
            Subject::Of(function) if part.function == Some(function) => None,
            Subject::Of(_) => return None,
        };
        if other.is_absent() || !is_known(other) {
            return None;
        }
        // What cannot be computed is refused before anything is read.
        let value = evaluate_as(other, &other.ty, &scope).ok()?;
        let values: Vec<Value> = match (op, value) {
            (BinaryOp::In, Some(Value::L(values))) => values,
            (BinaryOp::In, Some(Value::Ss(values))) => values.into_iter().map(Value::S).collect(),
            (_, value) => value.into_iter().collect(),
        };
        let texts = values.iter().map(|value| formed(function, value));
        texts.collect()
    })
}

/// Every value of a type with few, without those of which the meaning is false whatever the rest of the row is.
fn finite_values(part: &KeyPart, conjuncts: &[&Expr], scope: Scope<'_>) -> Option<BTreeSet<String>> {
    let keeps = part.keeps_value() && !part.path.contains('.');
    let values = finite_domain(&part.ty).filter(|_| keeps)?;
    let may_be = |value: &&Value| may_hold(part.root_attribute(), Some(value), conjuncts, scope);
    let values = values.iter().filter(may_be);
    values.map(|value| formed(part.function, value)).collect()
}

/// The values of a type that has few.
pub(super) fn finite_domain(ty: &Type) -> Option<Vec<Value>> {
    match ty {
        Type::Enum(words) => Some(words.members.iter().cloned().map(Value::S).collect()),
        Type::Bool => Some(vec![Value::Bool(false), Value::Bool(true)]),
        Type::Int(limits) => {
            let (least, most) = (limits.min?.to_i64()?, limits.max?.to_i64()?);
            let few = usize::try_from(most.checked_sub(least)?).ok()? < VALUES_MAX;
            few.then(|| (least..=most).map(|number| Value::N(number.into())).collect())
        }
        _ => None,
    }
}

/// Whether conditions on one attribute alone leave it a value, or its absence.
pub(super) fn may_hold(name: &str, value: Option<&Value>, conjuncts: &[&Expr], scope: Scope<'_>) -> bool {
    let row: Attributes = value
        .map(|value| (name.to_owned(), value.clone()))
        .into_iter()
        .collect();
    let alone = conjuncts.iter().filter(|conjunct| conjunct.attributes() == [name]);
    alone
        .into_iter()
        .all(|conjunct| holds_condition(conjunct, &scope.with_row(&row)).unwrap_or(true))
}

/// Whether every row that is meant has what stands at a path.
pub(super) fn implies_present(path: &str, conjuncts: &[&Expr], scope: Scope<'_>) -> bool {
    let root = path.split('.').next().unwrap_or(path);
    !may_hold(root, None, conjuncts, scope)
}

/// Whether a condition holds of every row that is meant, by trying every value of the attributes that it is about.
pub(super) fn implies_condition(entity: &Entity, condition: &Expr, conjuncts: &[&Expr], scope: Scope<'_>) -> bool {
    let names = condition.attributes();
    let mut rows = vec![Attributes::new()];
    for name in &names {
        let Some(attribute) = entity.attribute(name) else {
            return false;
        };
        let mut values: Vec<Option<Value>> = match finite_domain(&attribute.ty) {
            Some(values) => values.into_iter().map(Some).collect(),
            // Of an attribute of which only presence is asked, one value is as good as another.
            None if tests_presence(condition, name) => vec![Some(Value::S(String::new()))],
            None => return conjuncts.iter().any(|conjunct| is_same(conjunct, condition)),
        };
        let is_open = finite_domain(&attribute.ty).is_none();
        if attribute.optional {
            values.push(None);
        }
        values.retain(|value| is_open && value.is_some() || may_hold(name, value.as_ref(), conjuncts, scope));
        rows = rows
            .iter()
            .flat_map(|row| {
                values.iter().map(|value| {
                    let mut row = row.clone();
                    row.extend(value.clone().map(|value| ((*name).to_owned(), value)));
                    row
                })
            })
            .take(VALUES_MAX)
            .collect();
    }
    let about = |conjunct: &&&Expr| {
        let mentioned = conjunct.attributes();
        !mentioned.is_empty() && mentioned.iter().all(|name| names.contains(name))
    };
    let is_meant = |row: &&Attributes| {
        let mut about = conjuncts.iter().filter(about);
        about.all(|conjunct| holds_condition(conjunct, &scope.with_row(row)).unwrap_or(true))
    };
    rows.len() < VALUES_MAX
        && rows
            .iter()
            .filter(is_meant)
            .all(|row| holds_condition(condition, &scope.with_row(row)).unwrap_or(false))
}

/// Two expressions that say the same in the same words.
fn is_same(one: &Expr, other: &Expr) -> bool {
    let bare = |expr: &Expr| {
        let mut expr = expr.clone();
        expr.walk_mut(&mut |part| {
            part.span = singlet_model::source::Span::default();
            part.optional = false;
        });
        expr
    };
    bare(one) == bare(other)
}

fn tests_presence(condition: &Expr, name: &str) -> bool {
    let mut only = true;
    condition.walk(&mut |part| {
        if let ExprKind::Binary(op, left, right) = &part.kind
            && op.is_comparison()
            && part.attributes() == [name]
        {
            only &= left.is_absent() || right.is_absent();
        }
    });
    only && condition.any(|part| part.is_absent())
}

/// Whether a condition is a range of keys, where the part is the last that is looked at: an end, a beginning, or the days of an instant.
pub(super) fn is_range(part: &KeyPart, conjunct: &Expr) -> bool {
    match &conjunct.kind {
        ExprKind::Binary(op, left, right) if op.is_ordering() || *op == BinaryOp::Eq => {
            let sides = [(left, right), (right, left)];
            sides.into_iter().any(|(side, other)| {
                let of_part = match subject(side, &part.path) {
                    Some(Subject::Itself) => op.is_ordering(),
                    Some(Subject::Of(function)) => {
                        let same = part.function == Some(function) && op.is_ordering();
                        same || part.keeps_value() && is_of_calendar(function)
                    }
                    None => false,
                };
                of_part && is_known(other) && !other.is_absent()
            })
        }
        ExprKind::Call(FunctionId::StartsWith, operands) => match operands.as_slice() {
            [text, start] => {
                let whole = matches!(subject(text, &part.path), Some(Subject::Itself)) && part.keeps_value();
                whole && is_known(start)
            }
            _ => false,
        },
        _ => false,
    }
}

fn is_of_calendar(function: PartFunction) -> bool {
    matches!(function, PartFunction::Day | PartFunction::Month | PartFunction::Year)
}

/// Each day, month or year between two ends that the meaning has.
fn days_between(part: &KeyPart, conjuncts: &[&Expr], scope: Scope<'_>) -> Option<BTreeSet<String>> {
    let width = match (part.function, &part.ty) {
        (None, Type::Date) | (Some(PartFunction::Day), _) => 10,
        (None, Type::Month) | (Some(PartFunction::Month), _) => 7,
        (Some(PartFunction::Year), _) => 4,
        _ => return None,
    };
    let (mut low, mut high): (Option<String>, Option<String>) = (None, None);
    for conjunct in conjuncts.iter().filter(|conjunct| is_range(part, conjunct)) {
        let ExprKind::Binary(op, left, right) = &conjunct.kind else {
            continue;
        };
        let (op, other) = match subject(left, &part.path).is_some() {
            true => (*op, right),
            false => (op.swapped(), left),
        };
        let ty = match &other.ty {
            Type::Now => &Type::Time,
            ty => ty,
        };
        let end = evaluate_as(other, ty, &scope).ok()??;
        let end = end.as_str()?.get(..10).map(str::to_owned)?;
        match op {
            BinaryOp::Gt | BinaryOp::Ge => low = low.max(Some(end)),
            _ => high = Some(high.map_or(end.clone(), |known| known.min(end))),
        }
    }
    let (mut day, last): (Date, Date) = (low?.parse().ok()?, high?.parse().ok()?);
    let mut found = BTreeSet::new();
    while day <= last && found.len() <= VALUES_MAX {
        found.extend(day.to_string().get(..width).map(str::to_owned));
        day = day.tomorrow().ok()?;
    }
    Some(found)
}

/// Whether an expression is known before a row is read.
fn is_known(expr: &Expr) -> bool {
    expr.attributes().is_empty() && !expr.any(|part| matches!(part.kind, ExprKind::Row))
}

/// What of an attribute an operand is.
enum Subject {
    Itself,
    Of(PartFunction),
}

fn subject(operand: &Expr, path: &str) -> Option<Subject> {
    let is_path = |expr: &Expr| !expr.attributes().is_empty() && expr.path().is_some_and(|own| own == path);
    if is_path(operand) {
        return Some(Subject::Itself);
    }
    let ExprKind::Call(function, operands) = &operand.kind else {
        return None;
    };
    let function = match function {
        FunctionId::Lower => PartFunction::Lower,
        FunctionId::Upper => PartFunction::Upper,
        FunctionId::Day => PartFunction::Day,
        FunctionId::Month => PartFunction::Month,
        FunctionId::Year => PartFunction::Year,
        _ => return None,
    };
    match operands.as_slice() {
        [one] if is_path(one) => Some(Subject::Of(function)),
        _ => None,
    }
}
