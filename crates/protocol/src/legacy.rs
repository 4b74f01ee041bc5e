//! The parameters of before expressions, as the same trees.

use serde_json::{Map, Value as Json};
use singlet_item::Value;
use singlet_store::{Comparison, Condition, Operand, Path, SetOperand, SetValue, SortRange, Update};

use crate::expression::key_condition::KeyConditions;
use crate::fault::Fault;
use crate::input::{Constraints, Input};
use crate::schema::invalid_values;
use crate::value::attribute_value;

/// DynamoDB's comparisons of before expressions.
const OPERATORS: [&str; 13] = [
    "IN",
    "NULL",
    "BETWEEN",
    "LT",
    "NOT_CONTAINS",
    "EQ",
    "GT",
    "NOT_NULL",
    "NE",
    "LE",
    "BEGINS_WITH",
    "GE",
    "CONTAINS",
];

/// `AttributesToGet`.
pub(crate) fn attributes_to_get(input: &Input<'_>) -> Result<Vec<Path>, Fault> {
    let Some(names) = input.list("AttributesToGet")? else {
        return Ok(Vec::new());
    };
    if names.is_empty() {
        let mut constraints = Constraints::default();
        constraints.add_failure(
            Some("[]"),
            "attributesToGet",
            "Member must have length greater than or equal to 1",
        );
        constraints.finish()?;
    }
    let mut paths: Vec<Path> = Vec::with_capacity(names.len());
    for name in names {
        let Json::String(name) = name else {
            return Err(Fault::serialization_of(name, "String"));
        };
        if paths.iter().any(|path| path.name() == name) {
            return Err(invalid_values(format!("Duplicate value in attribute name: {name}")));
        }
        paths.push(Path::attribute(name.clone()));
    }
    Ok(paths)
}

/// `Expected`, joined by `ConditionalOperator`.
pub(crate) fn expected_condition(input: &Input<'_>) -> Result<Option<Condition>, Fault> {
    let members = input.object("Expected")?;
    let mut conditions = Vec::new();
    for (name, member) in members.into_iter().flatten() {
        let member = Input::of(member)?;
        conditions.push(match member.text("ComparisonOperator")? {
            Some(_) => {
                if member.has("Exists") {
                    return Err(invalid_values(format!(
                        "Exists and ComparisonOperator cannot be used together for Attribute: {name}"
                    )));
                }
                compared("expected", name, &member)?
            }
            None => expected_value(name, &member)?,
        });
    }
    joined(input, conditions)
}

fn expected_value(name: &str, member: &Input<'_>) -> Result<Condition, Fault> {
    let path = Path::attribute(name);
    let value = member.get("Value").map(attribute_value).transpose()?;
    if member.has("AttributeValueList") {
        return Err(invalid_values(format!(
            "Value or AttributeValueList must be used with ComparisonOperator: null for Attribute: {name}"
        )));
    }
    match (member.flag("Exists")?, value) {
        (Some(false), None) => Ok(Condition::NotExists(path)),
        (Some(false), Some(_)) => Err(invalid_values(format!(
            "Value cannot be used when Exists is set to false for Attribute: {name}"
        ))),
        (None | Some(true), Some(value)) => Ok(Condition::equal(path, value)),
        (given, None) => Err(invalid_values(format!(
            "Value must be provided when Exists is {} for Attribute: {name}",
            given.map_or("null".to_owned(), |given| given.to_string())
        ))),
    }
}

/// `ScanFilter` or `QueryFilter`, joined by `ConditionalOperator`.
pub(crate) fn legacy_filter(input: &Input<'_>, parameter: &str) -> Result<Option<Condition>, Fault> {
    let mut conditions = Vec::new();
    let place = parameter.replacen(['S', 'Q'], if parameter.starts_with('S') { "s" } else { "q" }, 1);
    for (name, member) in input.object(parameter)?.into_iter().flatten() {
        conditions.push(compared(&place, name, &Input::of(member)?)?);
    }
    joined(input, conditions)
}

fn joined(input: &Input<'_>, mut conditions: Vec<Condition>) -> Result<Option<Condition>, Fault> {
    let operator = input.text("ConditionalOperator")?;
    match (operator, conditions.len()) {
        (Some(_), 0) => {
            return Err(Fault::validation_fault(
                "ConditionalOperator cannot be used without Filter or Expected",
            ));
        }
        (Some(_), 1) => {
            return Err(Fault::validation_fault(
                "ConditionalOperator can only be used when Filter or Expected has two or more elements",
            ));
        }
        _ => {}
    }
    Ok(match (conditions.len(), operator) {
        (0 | 1, _) => conditions.pop(),
        (_, Some("OR")) => Some(Condition::Or(conditions)),
        _ => Some(Condition::And(conditions)),
    })
}

/// One comparison of an attribute with the values that it lists.
fn compared(place: &str, name: &str, member: &Input<'_>) -> Result<Condition, Fault> {
    let (operator, values) = operator_and_values(place, name, member)?;
    let path = || Path::attribute(name);
    let simple = |comparison| Ok(Condition::compare(path(), comparison, first(&operator, &values)?));
    match operator.as_str() {
        "EQ" => simple(Comparison::Equal),
        "NE" => simple(Comparison::NotEqual),
        "LE" => simple(Comparison::LessOrEqual),
        "LT" => simple(Comparison::Less),
        "GE" => simple(Comparison::GreaterOrEqual),
        "GT" => simple(Comparison::Greater),
        "NOT_NULL" => Ok(Condition::Exists(path())),
        "NULL" => Ok(Condition::NotExists(path())),
        "CONTAINS" => Ok(Condition::contains(path(), first(&operator, &values)?)),
        // What is not there contains nothing, and is not what is looked for either.
        "NOT_CONTAINS" => {
            let contains = Condition::contains(path(), first(&operator, &values)?);
            Ok(Condition::Exists(path()).and(contains.negate()))
        }
        "BEGINS_WITH" => Ok(Condition::begins_with(path(), first(&operator, &values)?)),
        "IN" => Ok(Condition::In {
            operand: Operand::Path(path()),
            options: values.into_iter().map(Operand::Value).collect(),
        }),
        _ => {
            let (low, high) = both(&values)?;
            Ok(Condition::Between {
                operand: Operand::Path(path()),
                low: Operand::Value(low),
                high: Operand::Value(high),
            })
        }
    }
}

/// A comparison with its values: as many as it takes, of types that it takes.
fn operator_and_values(place: &str, name: &str, member: &Input<'_>) -> Result<(String, Vec<Value>), Fault> {
    let operator = member.text("ComparisonOperator")?;
    let mut constraints = Constraints::default();
    let place = format!("{place}.{name}.member.comparisonOperator");
    constraints.not_null(operator.is_some(), &place);
    constraints.one_of(operator, &place, &OPERATORS);
    constraints.finish()?;
    let operator = operator.unwrap_or_default();
    let listed = member.list("AttributeValueList")?.into_iter().flatten();
    let values: Vec<Value> = listed
        .chain(member.get("Value"))
        .map(attribute_value)
        .collect::<Result<_, _>>()?;
    let fits = match operator {
        "NULL" | "NOT_NULL" => values.is_empty(),
        "BETWEEN" => values.len() == 2,
        "IN" => !values.is_empty(),
        _ => values.len() == 1,
    };
    if !fits {
        return Err(invalid_values(format!(
            "Invalid number of argument(s) for the {operator} ComparisonOperator"
        )));
    }
    for value in &values {
        let scalar = matches!(value, Value::S(_) | Value::N(_) | Value::B(_));
        let taken = match operator {
            "LE" | "LT" | "GE" | "GT" | "BETWEEN" | "IN" => scalar,
            "BEGINS_WITH" => matches!(value, Value::S(_) | Value::B(_)),
            "CONTAINS" | "NOT_CONTAINS" => scalar || matches!(value, Value::Bool(_) | Value::Null),
            _ => true,
        };
        if !taken {
            return Err(invalid_values(format!(
                "ComparisonOperator {operator} is not valid for {} AttributeValue type",
                value.type_name()
            )));
        }
    }
    Ok((operator.to_owned(), values))
}

fn first(operator: &str, values: &[Value]) -> Result<Value, Fault> {
    values.first().cloned().ok_or_else(|| {
        invalid_values(format!(
            "Invalid number of argument(s) for the {operator} ComparisonOperator"
        ))
    })
}

fn both(values: &[Value]) -> Result<(Value, Value), Fault> {
    match values {
        [low, high] if low.type_name() != high.type_name() => Err(invalid_values(
            "AttributeValues inside AttributeValueList must be of same type",
        )),
        [low, high] if low > high => Err(Fault::validation_fault(
            "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound",
        )),
        [low, high] => Ok((low.clone(), high.clone())),
        _ => Err(invalid_values(
            "Invalid number of argument(s) for the BETWEEN ComparisonOperator",
        )),
    }
}

/// `KeyConditions`.
pub(crate) fn key_conditions(members: &Map<String, Json>) -> Result<KeyConditions, Fault> {
    let mut found = KeyConditions::new();
    for (name, member) in members {
        let (operator, values) = operator_and_values("keyConditions", name, &Input::of(member)?)?;
        let value = || first(&operator, &values);
        let range = match operator.as_str() {
            "EQ" => SortRange::Equal(value()?),
            "LE" => SortRange::LessOrEqual(value()?),
            "LT" => SortRange::Less(value()?),
            "GE" => SortRange::GreaterOrEqual(value()?),
            "GT" => SortRange::Greater(value()?),
            "BEGINS_WITH" => SortRange::BeginsWith(value()?),
            "BETWEEN" => {
                let (low, high) = both(&values)?;
                SortRange::Between(low, high)
            }
            other => {
                return Err(Fault::validation_fault(format!(
                    "Attempted conditional constraint is not an indexable operation: {other}"
                )));
            }
        };
        found.push((name.clone(), range));
    }
    Ok(found)
}

/// `AttributeUpdates`.
pub(crate) fn attribute_updates(input: &Input<'_>) -> Result<Update, Fault> {
    let mut update = Update::new();
    for (name, member) in input.object("AttributeUpdates")?.into_iter().flatten() {
        let member = Input::of(member)?;
        let action = member.text("Action")?;
        let mut constraints = Constraints::default();
        let place = format!("attributeUpdates.{name}.member.action");
        constraints.one_of(action, &place, &["ADD", "PUT", "DELETE"]);
        constraints.finish()?;
        let value = member.get("Value").map(attribute_value).transpose()?;
        let path = Path::attribute(name.clone());
        match (action.unwrap_or("PUT"), value) {
            ("PUT", Some(value)) => update.set.push((path, SetValue::Operand(SetOperand::Value(value)))),
            ("DELETE", None) => update.remove.push(path),
            ("DELETE", Some(value @ (Value::Ss(_) | Value::Ns(_) | Value::Bs(_)))) => {
                update.delete.push((path, value));
            }
            ("ADD", Some(value @ (Value::N(_) | Value::Ss(_) | Value::Ns(_) | Value::Bs(_)))) => {
                update.add.push((path, value));
            }
            // A list is added at the end of the one that is there.
            ("ADD", Some(Value::L(elements))) => {
                let there = SetOperand::if_not_exists(path.clone(), Value::L(Vec::new()));
                let appended = SetOperand::list_append(there, Value::L(elements));
                update.set.push((path, SetValue::Operand(appended)));
            }
            (action, Some(value)) => {
                return Err(invalid_values(format!(
                    "Action: {action} is not supported for the type {}",
                    value.type_name()
                )));
            }
            (action, None) => {
                return Err(invalid_values(format!(
                    "Only DELETE action is allowed when no attribute value is specified: {action} for {name}"
                )));
            }
        }
    }
    Ok(update)
}
