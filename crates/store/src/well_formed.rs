//! What an expression may say, whatever the items are. A store that evaluates trees and a parser of DynamoDB's text refuse the same, in
//! DynamoDB's words.

use std::fmt;

use singlet_item::{Number, Value};

use crate::{Comparison, Condition, Operand, Path, Segment, SetOperand, SetValue, Update};

/// Why an expression can never be evaluated, without the name of its parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(String);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Malformed {}

impl From<String> for Malformed {
    fn from(reason: String) -> Self {
        Malformed(reason)
    }
}

impl From<&str> for Malformed {
    fn from(reason: &str) -> Self {
        Malformed(reason.to_owned())
    }
}

impl From<Malformed> for String {
    fn from(malformed: Malformed) -> Self {
        malformed.0
    }
}

type Checked = Result<(), Malformed>;

/// Refuses operands that the operator of a condition does not take. Conditions within it are not looked at.
pub fn check_operator(condition: &Condition) -> Checked {
    match condition {
        Condition::Compare {
            left,
            comparison,
            right,
        } => {
            let sign = sign(*comparison);
            check_first(sign, left, [right])?;
            match comparison {
                Comparison::Equal | Comparison::NotEqual => Ok(()),
                _ => [left, right]
                    .into_iter()
                    .try_for_each(|side| check_type(sign, side, has_order)),
            }
        }
        Condition::Between { operand, low, high } => check_between(operand, low, high),
        Condition::In { operand, options } => check_first("IN", operand, options),
        Condition::BeginsWith(whole, start) => {
            check_first("begins_with", whole, [start])?;
            let takes = |value: &Value| matches!(value, Value::S(_) | Value::B(_));
            [whole, start]
                .into_iter()
                .try_for_each(|side| check_type("begins_with", side, takes))
        }
        Condition::Contains(whole, part) => {
            check_first("contains", whole, [part])?;
            check_type("contains", whole, |value| {
                matches!(
                    value,
                    Value::S(_) | Value::L(_) | Value::Ss(_) | Value::Ns(_) | Value::Bs(_)
                )
            })
        }
        Condition::And(_)
        | Condition::Or(_)
        | Condition::Not(_)
        | Condition::Exists(_)
        | Condition::NotExists(_)
        | Condition::HasType(..) => Ok(()),
    }
}

/// Refuses operands that a sum or a difference does not take.
pub fn check_sum(sum: &SetValue) -> Checked {
    let (sign, sides) = match sum {
        SetValue::Operand(_) => return Ok(()),
        SetValue::Plus(left, right) => ("+", [left, right]),
        SetValue::Minus(left, right) => ("-", [left, right]),
    };
    for side in sides {
        check_given(sign, side, |value| matches!(value, Value::N(_)))?;
        if matches!(side, SetOperand::ListAppend(..)) {
            return Err(wrong_type(sign, "L"));
        }
    }
    Ok(())
}

/// Refuses operands that a function of an update does not take. Functions within it are not looked at.
pub fn check_function(function: &SetOperand) -> Checked {
    match function {
        SetOperand::ListAppend(head, tail) => [head, tail]
            .into_iter()
            .try_for_each(|side| check_given("list_append", side, |value| matches!(value, Value::L(_)))),
        SetOperand::Value(_) | SetOperand::Path(_) | SetOperand::IfNotExists(..) => Ok(()),
    }
}

/// Refuses a value that `ADD` does not take.
pub fn check_added(value: &Value) -> Checked {
    match value {
        Value::N(_) | Value::Ss(_) | Value::Ns(_) | Value::Bs(_) => Ok(()),
        other => Err(wrong_section("ADD", other)),
    }
}

/// Refuses a value that `DELETE` does not take.
pub fn check_deleted(value: &Value) -> Checked {
    match value {
        Value::Ss(_) | Value::Ns(_) | Value::Bs(_) => Ok(()),
        other => Err(wrong_section("DELETE", other)),
    }
}

/// Refuses paths of which one lies in another, or that take the same value for a map and for a list.
pub fn check_distinct<'a>(paths: impl Iterator<Item = &'a Path> + Clone) -> Checked {
    // Of attributes in order, as whoever asks for rows names them, each is another.
    if paths.clone().is_sorted_by(|one, next| one.name() < next.name()) {
        return Ok(());
    }
    let paths: Vec<&Path> = paths.collect();
    for (position, one) in paths.iter().enumerate() {
        for other in paths.iter().skip(position + 1) {
            if let Some(how) = clash(one, other) {
                return Err(Malformed(format!(
                    "Two document paths {how} with each other; must remove or rewrite one of these paths; \
                     path one: {}, path two: {}",
                    shown(one),
                    shown(other)
                )));
            }
        }
    }
    Ok(())
}

/// Every path that an update changes.
pub fn changed_paths(update: &Update) -> impl Iterator<Item = &Path> + Clone {
    let set = update.set.iter().map(|(path, _)| path);
    let sets = update.add.iter().chain(&update.delete).map(|(path, _)| path);
    set.chain(&update.remove).chain(sets)
}

fn clash(one: &Path, other: &Path) -> Option<&'static str> {
    if one.name() != other.name() {
        return None;
    }
    for (left, right) in one.inner_segments().iter().zip(other.inner_segments()) {
        match (left, right) {
            (left, right) if left == right => {}
            (Segment::Key(_), Segment::Index(_)) | (Segment::Index(_), Segment::Key(_)) => return Some("conflict"),
            _ => return None,
        }
    }
    Some("overlap")
}

/// Refuses an operand that is the same path as another: such a comparison says nothing.
fn check_first<'a>(operator: &str, first: &Operand, others: impl IntoIterator<Item = &'a Operand>) -> Checked {
    let Operand::Path(path) = first else {
        return Ok(());
    };
    match others.into_iter().any(|other| other == first) {
        true => Err(Malformed(format!(
            "The first operand must be distinct from the remaining operands for this operator or function; \
             operator: {operator}, first operand: {}",
            shown(path)
        ))),
        false => Ok(()),
    }
}

/// Refuses a given value that the operator does not take; what stands at a path is seen when it is there.
fn check_type(operator: &str, operand: &Operand, takes: impl Fn(&Value) -> bool) -> Checked {
    match operand {
        Operand::Value(value) if !takes(value) => Err(wrong_type(operator, value.type_name())),
        Operand::Size(_) if !takes(&Value::N(Number::default())) => Err(wrong_type(operator, "N")),
        _ => Ok(()),
    }
}

fn check_given(operator: &str, operand: &SetOperand, takes: impl Fn(&Value) -> bool) -> Checked {
    match operand {
        SetOperand::Value(value) if !takes(value) => Err(wrong_type(operator, value.type_name())),
        SetOperand::IfNotExists(_, default) => check_given(operator, default, takes),
        _ => Ok(()),
    }
}

fn check_between(operand: &Operand, low: &Operand, high: &Operand) -> Checked {
    check_first("BETWEEN", operand, [low, high])?;
    for end in [operand, low, high] {
        check_type("BETWEEN", end, has_order)?;
    }
    let (Operand::Value(least), Operand::Value(most)) = (low, high) else {
        return Ok(());
    };
    let needed = if least.type_name() != most.type_name() {
        "same data type for lower and upper bounds"
    } else if least > most {
        "upper bound to be greater than or equal to lower bound"
    } else {
        return Ok(());
    };
    Err(Malformed(format!(
        "The BETWEEN operator requires {needed}; lower bound operand: AttributeValue: {}, \
         upper bound operand: AttributeValue: {}",
        value_shown(least),
        value_shown(most)
    )))
}

fn has_order(value: &Value) -> bool {
    matches!(value, Value::S(_) | Value::N(_) | Value::B(_))
}

fn sign(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "=",
        Comparison::NotEqual => "<>",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
    }
}

fn wrong_type(operator: &str, type_name: &str) -> Malformed {
    Malformed(format!(
        "Incorrect operand type for operator or function; operator or function: {operator}, operand type: {type_name}"
    ))
}

fn wrong_section(section: &str, value: &Value) -> Malformed {
    let type_name = match value {
        Value::S(_) => "STRING",
        Value::N(_) => "NUMBER",
        Value::B(_) => "BINARY",
        Value::Bool(_) => "BOOLEAN",
        Value::Null => "NULL",
        Value::L(_) => "LIST",
        Value::M(_) => "MAP",
        Value::Ss(_) => "STRING_SET",
        Value::Ns(_) => "NUMBER_SET",
        Value::Bs(_) => "BINARY_SET",
    };
    Malformed(format!(
        "Incorrect operand type for operator or function; operator: {section}, operand type: {type_name}, \
         typeSet: ALLOWED_FOR_{section}_OPERAND"
    ))
}

/// A value as DynamoDB shows it in a message, such as `{S:text}`.
pub fn value_shown(value: &Value) -> String {
    match value {
        Value::S(text) => format!("{{S:{text}}}"),
        Value::N(number) => format!("{{N:{number}}}"),
        other => format!("{{{}:…}}", other.type_name()),
    }
}

/// A path as DynamoDB shows it in a refusal.
fn shown(path: &Path) -> String {
    let mut parts = vec![path.name().to_owned()];
    parts.extend(path.inner_segments().iter().map(|segment| match segment {
        Segment::Key(name) => name.clone(),
        Segment::Index(index) => format!("[{index}]"),
    }));
    format!("[{}]", parts.join(", "))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn paths_overlap_or_conflict_or_neither() {
        let a = || Path::attribute("a");
        let check = |one: Path, other: Path| check_distinct([&one, &other].into_iter());
        let words = |one: Path, other: Path| check(one, other).unwrap_err().to_string();
        assert!(check(a(), Path::attribute("b")).is_ok());
        assert!(check(a().key("x"), a().key("y")).is_ok());
        assert!(check(a().list_element(0), a().list_element(1)).is_ok());
        assert!(words(a(), a().key("x")).ends_with("path one: [a], path two: [a, x]"));
        assert!(words(a(), a()).contains("overlap"));
        assert!(words(a().key("x"), a().list_element(1)).contains("paths conflict with"));
    }
}
