//! How many rows there are, in all or by groups, with sums beside.

use std::collections::BTreeMap;

use singlet_item::{Number, Value};
use singlet_model::evaluate::{EvaluateError, evaluate};
use singlet_model::model::Selection;
use singlet_runtime::{Attributes, Scope};

/// How many rows, in all or by groups, with sums beside.
pub(super) fn counted_rows(
    selection: &Selection,
    rows: &[Attributes],
    scope: Scope<'_>,
) -> Result<Value, EvaluateError> {
    let all: Vec<&Attributes> = rows.iter().collect();
    counted_by(selection, &selection.by, &all, scope)
}

fn counted_by(
    selection: &Selection,
    by: &[String],
    rows: &[&Attributes],
    scope: Scope<'_>,
) -> Result<Value, EvaluateError> {
    let count = Value::N(Number::from(i64::try_from(rows.len()).unwrap_or(i64::MAX)));
    let Some((first, rest)) = by.split_first() else {
        if selection.sums.is_empty() {
            return Ok(count);
        }
        let mut map = Attributes::from([("count".to_owned(), count)]);
        for (name, expr) in &selection.sums {
            let mut sum = Number::ZERO;
            for row in rows {
                if let Some(Value::N(number)) = evaluate(expr, &scope.with_row(row))? {
                    let added = sum.checked_add(number);
                    sum = added.map_err(|error| EvaluateError::Arithmetic(error.to_string()))?;
                }
            }
            map.insert(name.clone(), Value::N(sum));
        }
        return Ok(Value::M(map));
    };
    let mut groups: BTreeMap<String, Vec<&Attributes>> = BTreeMap::new();
    for row in rows {
        // A row without one of the attributes is in no group.
        let whole = by.iter().all(|name| row.get(name).and_then(word).is_some());
        if let Some(word) = row.get(first).and_then(word).filter(|_| whole) {
            groups.entry(word).or_default().push(row);
        }
    }
    let mut map = Attributes::new();
    for (word, rows) in groups {
        map.insert(word, counted_by(selection, rest, &rows, scope)?);
    }
    Ok(Value::M(map))
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::S(text) => Some(text.clone()),
        Value::N(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}
