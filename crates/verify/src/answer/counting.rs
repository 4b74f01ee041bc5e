//! How many rows, in all or of each value of some attributes, with sums beside.

use std::collections::BTreeMap;

use singlet_item::{Number, Value};
use singlet_model::evaluate::{EvaluateError, evaluate};
use singlet_model::model::Selection;
use singlet_runtime::{Attributes, Scope};

/// What a count answers.
pub(super) fn count_answer(
    selection: &Selection,
    rows: &[Attributes],
    scope: Scope<'_>,
) -> Result<Value, EvaluateError> {
    grouped(selection, &selection.by, rows.iter().collect(), scope)
}

/// A row without a value for an attribute belongs to none of its groups.
fn grouped(
    selection: &Selection,
    by: &[String],
    rows: Vec<&Attributes>,
    scope: Scope<'_>,
) -> Result<Value, EvaluateError> {
    let Some((first, rest)) = by.split_first() else {
        return summed(selection, &rows, scope);
    };
    let mut groups: BTreeMap<String, Vec<&Attributes>> = BTreeMap::new();
    let whole = |row: &&Attributes| by.iter().all(|name| row.get(name).and_then(word).is_some());
    for row in rows.into_iter().filter(whole) {
        let group = row.get(first).and_then(word).unwrap_or_default();
        groups.entry(group).or_default().push(row);
    }
    let mut answer = BTreeMap::new();
    for (group, rows) in groups {
        answer.insert(group, grouped(selection, rest, rows, scope)?);
    }
    Ok(Value::M(answer))
}

fn summed(selection: &Selection, rows: &[&Attributes], scope: Scope<'_>) -> Result<Value, EvaluateError> {
    let count = Value::N(Number::from(i64::try_from(rows.len()).unwrap_or(i64::MAX)));
    if selection.sums.is_empty() {
        return Ok(count);
    }
    let mut answer = BTreeMap::from([("count".to_owned(), count)]);
    for (name, expr) in &selection.sums {
        let mut sum = Number::from(0);
        for row in rows {
            if let Some(Value::N(number)) = evaluate(expr, &scope.with_row(row))? {
                let added = sum.checked_add(number);
                sum = added.map_err(|error| EvaluateError::Arithmetic(error.to_string()))?;
            }
        }
        answer.insert(name.clone(), Value::N(sum));
    }
    Ok(Value::M(answer))
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::S(text) => Some(text.clone()),
        Value::N(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}
