//! Key conditions: a condition of a few shapes, as a range of keys.

use singlet_item::Value;
use singlet_store::well_formed::Malformed;
use singlet_store::{Comparison, Condition, KeyRange, KeySchema, KeyType, Operand, Path, SortRange};

use super::{ExpressionParser, RequestPlaceholders, parse_whole, wrong_type};
use crate::fault::Fault;

/// What a request says of one key attribute each.
pub(crate) type KeyConditions = Vec<(String, SortRange)>;

/// Reads a key condition.
pub(crate) fn read_key_condition(source: &str, placeholders: &RequestPlaceholders) -> Result<KeyConditions, Fault> {
    parse_whole("KeyConditionExpression", source, placeholders, |parser| {
        let condition = ExpressionParser::condition(parser)?;
        parser.tokens.expect_end()?;
        let mut found = Vec::new();
        collect(condition, &mut found)?;
        Ok(found)
    })
}

fn collect(condition: Condition, found: &mut KeyConditions) -> Result<(), Malformed> {
    let (path, range) = match condition {
        Condition::And(all) => {
            for part in all {
                collect(part, found)?;
            }
            return Ok(());
        }
        Condition::Or(_) => return Err(not_for_keys("OR")),
        Condition::Not(_) => return Err(not_for_keys("NOT")),
        Condition::In { .. } => return Err(not_for_keys("IN")),
        Condition::Contains(..) => return Err(not_for_keys("contains")),
        Condition::Exists(_) => return Err(not_for_keys("attribute_exists")),
        Condition::NotExists(_) => return Err(not_for_keys("attribute_not_exists")),
        Condition::HasType(..) => return Err(not_for_keys("attribute_type")),
        Condition::Compare {
            left,
            comparison,
            right,
        } => match (left, right) {
            (Operand::Path(path), Operand::Value(value)) => (path, compared(comparison, value)?),
            (Operand::Value(value), Operand::Path(path)) => (path, compared(mirrored(comparison), value)?),
            (left, right) => return Err(no_key_in([&left, &right])),
        },
        Condition::Between { operand, low, high } => match (operand, low, high) {
            (Operand::Path(path), Operand::Value(low), Operand::Value(high)) => (path, SortRange::Between(low, high)),
            (operand, low, high) => return Err(no_key_in([&operand, &low, &high])),
        },
        Condition::BeginsWith(whole, start) => match (whole, start) {
            (Operand::Path(path), Operand::Value(start)) => (path, SortRange::BeginsWith(start)),
            (whole, start) => return Err(no_key_in([&whole, &start])),
        },
    };
    let name = attribute(&path)?;
    if found.iter().any(|(known, _)| *known == name) {
        return Err(Malformed::from(
            "KeyConditionExpressions must only contain one condition per key",
        ));
    }
    found.push((name, range));
    Ok(())
}

fn attribute(path: &Path) -> Result<String, Malformed> {
    match path.inner_segments().is_empty() {
        true => Ok(path.name().to_owned()),
        false => Err(Malformed::from(
            "KeyConditionExpressions cannot have conditions on nested attributes",
        )),
    }
}

fn not_for_keys(operator: &str) -> Malformed {
    Malformed::from(format!("Invalid operator used in KeyConditionExpression: {operator}"))
}

fn no_key_in<'a>(operands: impl IntoIterator<Item = &'a Operand>) -> Malformed {
    let operands: Vec<&Operand> = operands.into_iter().collect();
    if operands.iter().any(|operand| matches!(operand, Operand::Size(_))) {
        return Malformed::from("KeyConditionExpressions cannot contain nested operations");
    }
    let paths = operands.iter().filter(|operand| matches!(operand, Operand::Path(_)));
    Malformed::from(match paths.count() {
        0 => "Invalid condition in KeyConditionExpression: No key attribute specified",
        _ => "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition",
    })
}

fn compared(comparison: Comparison, value: Value) -> Result<SortRange, Malformed> {
    Ok(match comparison {
        Comparison::Equal => SortRange::Equal(value),
        Comparison::NotEqual => return Err(not_for_keys("<>")),
        Comparison::Less => SortRange::Less(value),
        Comparison::LessOrEqual => SortRange::LessOrEqual(value),
        Comparison::Greater => SortRange::Greater(value),
        Comparison::GreaterOrEqual => SortRange::GreaterOrEqual(value),
    })
}

fn mirrored(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Equal | Comparison::NotEqual => comparison,
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
    }
}

/// The range that conditions make of a key.
pub(crate) fn range_of(mut conditions: KeyConditions, key: &KeySchema) -> Result<KeyRange, Fault> {
    let mut range = KeyRange {
        partition: Vec::new(),
        sort: Vec::new(),
    };
    let most = key.partition.len() + key.sort.len().max(1);
    if conditions.len() > most {
        return Err(Fault::validation_fault(match most {
            2 => "Conditions can be of length 1 or 2 only".to_owned(),
            most => format!("Conditions can be of length 1 to {most} only"),
        }));
    }
    let mut take = |name: &str| {
        let position = conditions.iter().position(|(known, _)| known == name)?;
        Some(conditions.remove(position).1)
    };
    for attribute in &key.partition {
        match take(&attribute.name) {
            Some(SortRange::Equal(value)) => {
                check_type(&value, attribute.key_type)?;
                check_filled(&value, &attribute.name)?;
                range.partition.push((attribute.name.clone(), value));
            }
            Some(_) => return Err(Fault::validation_fault("Query key condition not supported")),
            None => return Err(missed(&attribute.name)),
        }
    }
    let mut is_open = true;
    for attribute in &key.sort {
        let Some(sort) = take(&attribute.name) else {
            is_open = false;
            continue;
        };
        if !is_open {
            let missing = key.sort.get(range.sort.len()).map_or("", |attribute| &attribute.name);
            return Err(missed(missing));
        }
        check_sort(&sort, attribute.key_type, &attribute.name)?;
        is_open = matches!(sort, SortRange::Equal(_));
        range.sort.push((attribute.name.clone(), sort));
    }
    match (conditions.is_empty(), key.sort.get(range.sort.len())) {
        (true, _) => Ok(range),
        (false, Some(attribute)) => Err(missed(&attribute.name)),
        (false, None) => Err(Fault::validation_fault("Query key condition not supported")),
    }
}

fn missed(attribute: &str) -> Fault {
    Fault::validation_fault(format!("Query condition missed key schema element: {attribute}"))
}

fn check_sort(sort: &SortRange, key_type: KeyType, name: &str) -> Result<(), Fault> {
    let values = match sort {
        SortRange::Between(low, high) => vec![low, high],
        SortRange::BeginsWith(start) => {
            if key_type == KeyType::Number {
                return Err(Fault::validation_fault(format!(
                    "Invalid KeyConditionExpression: {}",
                    wrong_type("begins_with", "N")
                )));
            }
            return check_type(start, key_type);
        }
        SortRange::Equal(value)
        | SortRange::Less(value)
        | SortRange::LessOrEqual(value)
        | SortRange::Greater(value)
        | SortRange::GreaterOrEqual(value) => vec![value],
    };
    for value in values {
        check_type(value, key_type)?;
        check_filled(value, name)?;
    }
    Ok(())
}

fn check_type(value: &Value, key_type: KeyType) -> Result<(), Fault> {
    match key_type.takes_value(value) {
        true => Ok(()),
        false => Err(Fault::validation_fault(
            "One or more parameter values were invalid: Condition parameter type does not match schema type",
        )),
    }
}

fn check_filled(value: &Value, name: &str) -> Result<(), Fault> {
    match crate::schema::empty_kind(value) {
        None => Ok(()),
        Some(kind) => Err(Fault::validation_fault(format!(
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an \
             empty {kind} value. Key: {name}"
        ))),
    }
}
