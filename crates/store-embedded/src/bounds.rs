//! Which keys a query reads.

use singlet_item::{Item, Value};
use singlet_store::well_formed::value_shown;
use singlet_store::{KeyAttribute, KeyRange, KeySchema, KeyType, Result, SortRange, StoreError};

use crate::catalogue::{Index, Table};
use crate::check::is_empty;
use crate::entry;
use crate::layout::{self, Area, Span};
use crate::order::{after_prefix, put_key_prefix, put_key_value};
use crate::words;

/// The keys of a range of a table or an index.
pub(crate) fn query_span(table: &Table, index: Option<&Index>, range: &KeyRange) -> Result<Span> {
    let schema = place_schema(table, index);
    check_range(schema, range)?;
    let mut prefix = place_prefix(table, index);
    let partition = schema
        .partition
        .iter()
        .filter_map(|attribute| value_of(&range.partition, attribute));
    layout::put_partition(&mut prefix, partition);
    let Some((last, leading)) = range.sort.split_last() else {
        return Ok(Span::with_prefix(prefix));
    };
    for (_, range) in leading {
        if let SortRange::Equal(value) = range {
            // In the order of the schema, which `check_sort` has made sure of: the bytes of a key are compared from the left.
            put_key_value(&mut prefix, value);
        }
    }
    Ok(sort_span(prefix, &last.1))
}

/// What everything of a table or an index begins with.
pub(crate) fn place_prefix(table: &Table, index: Option<&Index>) -> Vec<u8> {
    match index {
        None => layout::of_table(Area::Items, table.number),
        Some(index) => layout::of_index(table.number, index.number),
    }
}

pub(crate) fn place_schema<'a>(table: &'a Table, index: Option<&'a Index>) -> &'a KeySchema {
    index.map_or(&table.spec.key, |index| &index.spec.key)
}

fn value_of<'r>(values: &'r [(String, Value)], attribute: &KeyAttribute) -> Option<&'r Value> {
    let found = values.iter().find(|(name, _)| *name == attribute.name);
    found.map(|(_, value)| value)
}

fn sort_span(prefix: Vec<u8>, range: &SortRange) -> Span {
    let whole = Span::with_prefix(prefix.clone());
    let at = |value: &Value| {
        let mut key = prefix.clone();
        put_key_value(&mut key, value);
        key
    };
    // A value of an index key is followed by the key of the item: above it is what comes after all that begin with it.
    let above = |value: &Value| after_prefix(at(value));
    match range {
        SortRange::Equal(value) => Span::with_prefix(at(value)),
        SortRange::Less(value) => Span {
            to: Some(at(value)),
            ..whole
        },
        SortRange::LessOrEqual(value) => Span {
            to: above(value),
            ..whole
        },
        SortRange::Greater(value) => Span {
            // Not the key itself: in an index the keys of items follow, all of which have this value.
            from: above(value).unwrap_or(whole.from),
            to: whole.to,
        },
        SortRange::GreaterOrEqual(value) => Span {
            from: at(value),
            to: whole.to,
        },
        SortRange::Between(low, high) => Span {
            from: at(low),
            to: above(high),
        },
        SortRange::BeginsWith(start) => {
            let mut key = prefix.clone();
            // Without the end of a text, which would make it an equality.
            put_key_prefix(&mut key, start);
            Span::with_prefix(key)
        }
    }
}

fn check_range(schema: &KeySchema, range: &KeyRange) -> Result<()> {
    let (given, defined) = (range.partition.len() + range.sort.len(), schema.attributes().count());
    if given > defined {
        return Err(words::invalid_request(format!(
            "The number of query conditions ({given}) exceeds the number of key attributes defined in the schema ({defined})"
        )));
    }
    check_partition(schema, range)?;
    check_sort(schema, range)?;
    for attribute in schema.attributes() {
        for value in values_of(range, &attribute.name) {
            if !attribute.key_type.takes_value(value) {
                return Err(words::invalid_values(
                    "Condition parameter type does not match schema type",
                ));
            }
            if is_empty(value) {
                return Err(words::empty_key(&attribute.name, value));
            }
        }
    }
    Ok(())
}

fn check_partition(schema: &KeySchema, range: &KeyRange) -> Result<()> {
    let given = |attribute: &&KeyAttribute| value_of(&range.partition, attribute).is_some();
    let missing: Vec<&str> = schema
        .partition
        .iter()
        .filter(|attribute| !given(attribute))
        .map(|attribute| attribute.name.as_str())
        .collect();
    match missing.as_slice() {
        [] => Ok(()),
        [only] if schema.partition.len() == 1 && schema.sort.len() <= 1 => Err(words::invalid_request(format!(
            "Query condition missed key schema element: {only}"
        ))),
        several => Err(words::invalid_request(format!(
            "HASH key attributes {} must have equality conditions specified in the query",
            several.join(", ")
        ))),
    }
}

fn check_sort(schema: &KeySchema, range: &KeyRange) -> Result<()> {
    let given = |attribute: &KeyAttribute| range.sort.iter().find(|(name, _)| *name == attribute.name);
    let is_key = |name: &String| schema.attributes().any(|attribute| attribute.name == *name);
    let mut named = range
        .partition
        .iter()
        .map(|(name, _)| name)
        .chain(range.sort.iter().map(|(name, _)| name));
    if !named.all(is_key) {
        let missed = schema.sort.iter().find(|attribute| given(attribute).is_none());
        let missed = missed.map_or("", |attribute| attribute.name.as_str());
        return Err(words::invalid_request(format!(
            "Query condition missed key schema element: {missed}"
        )));
    }
    if let Some(last) = schema.sort.iter().rposition(|attribute| given(attribute).is_some()) {
        let leading = schema.sort.get(..last).unwrap_or_default();
        let missing: Vec<&str> = leading
            .iter()
            .filter(|attribute| !matches!(given(attribute), Some((_, SortRange::Equal(_)))))
            .map(|attribute| attribute.name.as_str())
            .collect();
        if !missing.is_empty() {
            let last = schema.sort.get(last).map_or("", |attribute| attribute.name.as_str());
            return Err(words::invalid_request(format!(
                "RANGE key attributes {} must have equality conditions specified in the query because a condition is present on \
                 key attribute {last}",
                missing.join(", ")
            )));
        }
    }
    // The span is made in the order given: that of the schema.
    let in_order = range
        .sort
        .iter()
        .zip(&schema.sort)
        .all(|((name, _), attribute)| *name == attribute.name);
    if !in_order {
        return Err(StoreError::bad_request(
            "the sort attributes of a key range are not in the order of the key",
        ));
    }
    range
        .sort
        .iter()
        .try_for_each(|(name, range)| check_operands(schema, name, range))
}

fn check_operands(schema: &KeySchema, name: &str, range: &SortRange) -> Result<()> {
    match range {
        SortRange::Between(low, high) if low.type_name() == high.type_name() && low > high => {
            Err(words::invalid_request(format!(
                "Invalid KeyConditionExpression: The BETWEEN operator requires upper bound to be greater than or equal to lower \
                 bound; lower bound operand: AttributeValue: {}, upper bound operand: AttributeValue: {}",
                value_shown(low),
                value_shown(high)
            )))
        }
        SortRange::BeginsWith(start) => {
            let key_type = schema.sort.iter().find(|attribute| attribute.name == name);
            let is_number = key_type.is_some_and(|attribute| attribute.key_type == KeyType::Number);
            if is_number || !matches!(start, Value::S(_) | Value::B(_)) {
                return Err(words::invalid_request(format!(
                    "Invalid KeyConditionExpression: Incorrect operand type for operator or function; operator or function: \
                     begins_with, operand type: {}",
                    start.type_name()
                )));
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn values_of<'r>(range: &'r KeyRange, name: &str) -> Vec<&'r Value> {
    let partition = range
        .partition
        .iter()
        .filter(|(named, _)| named == name)
        .map(|(_, value)| value);
    let sort = range
        .sort
        .iter()
        .filter(|(named, _)| named == name)
        .flat_map(|(_, range)| match range {
            SortRange::Equal(value)
            | SortRange::Less(value)
            | SortRange::LessOrEqual(value)
            | SortRange::Greater(value)
            | SortRange::GreaterOrEqual(value)
            | SortRange::BeginsWith(value) => vec![value],
            SortRange::Between(low, high) => vec![low, high],
        });
    partition.chain(sort).collect()
}

/// Where a page goes on, if that is a place of the table or the index.
pub(crate) fn start_position(table: &Table, index: Option<&Index>, start: &Item) -> Result<Vec<u8>> {
    let invalid = || words::invalid_request("The provided starting key is invalid");
    let mut names: Vec<&KeyAttribute> = table.spec.key.attributes().collect();
    for attribute in index.into_iter().flat_map(|index| index.spec.key.attributes()) {
        if !names.iter().any(|known| known.name == attribute.name) {
            names.push(attribute);
        }
    }
    // Exactly the keys: a start with one too few would stand before rows that were given.
    if start.len() != names.len() {
        return Err(invalid());
    }
    for attribute in names {
        let value = start
            .get(&attribute.name)
            .filter(|value| attribute.key_type.takes_value(value));
        let value = value.ok_or_else(invalid)?;
        if is_empty(value) {
            return Err(words::empty_key(&attribute.name, value));
        }
    }
    Ok(entry::entry_position(table, index, start))
}

/// Refuses a start that the range could not have given.
pub(crate) fn check_start(
    table: &Table,
    index: Option<&Index>,
    range: &KeyRange,
    span: &Span,
    position: &[u8],
) -> Result<()> {
    // A start beyond the range would read rows that were not asked for, or none at all.
    if span.contains(position) {
        return Ok(());
    }
    let schema = place_schema(table, index);
    let mut partition = place_prefix(table, index);
    let values = schema
        .partition
        .iter()
        .filter_map(|attribute| value_of(&range.partition, attribute));
    layout::put_partition(&mut partition, values);
    Err(words::invalid_request(if position.starts_with(&partition) {
        "The provided starting key does not match the range key predicate"
    } else if !range.sort.is_empty() {
        "The query can return at most one row and cannot be restarted"
    } else if schema.sort.is_empty() && index.is_none() {
        "The provided exclusive start key is invalid"
    } else {
        "The provided starting key is outside query boundaries based on provided conditions"
    }))
}
