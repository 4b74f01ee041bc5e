//! What an update makes of an item.
//!
//! Every right side and every index of a list means the item as it was. So values are computed first, then written in the order of
//! their paths (what is past the end of a list is put at its end, in the order of the indexes), and what goes is taken out
//! last, from the end of each list.

use std::collections::BTreeMap;

use singlet_item::{Item, NumberError, Value};

use crate::{Path, Result, Segment, SetOperand, SetValue, StoreError, Update};

impl Update {
    /// The item after the update, which does not change its key. Refusals are in DynamoDB's own words.
    ///
    /// # Errors
    ///
    /// Where a path leads nowhere, or an operand has the wrong type or leaves its range.
    pub fn applied_to(&self, item: &Item) -> Result<Item> {
        apply(item, self)
    }
}

fn apply(old: &Item, update: &Update) -> Result<Item> {
    let mut writes: Vec<(&Path, Value)> = Vec::with_capacity(update.set.len() + update.add.len());
    let mut removals: Vec<&Path> = Vec::new();
    for (path, value) in &update.add {
        writes.push((path, sum(at(old, path), value)?));
    }
    for (path, value) in &update.delete {
        match difference(at(old, path), value)? {
            Some(left) => writes.push((path, left)),
            None if at(old, path).is_some() => removals.push(path),
            None => check_parent(old, path)?,
        }
    }
    for (path, value) in &update.set {
        writes.push((path, set_value(old, value)?));
    }
    writes.sort_by_key(|(path, _)| *path);
    for path in &update.remove {
        match at(old, path) {
            Some(_) => removals.push(path),
            // There is nothing to take out, but there must be something to take it out of.
            None => check_parent(old, path)?,
        }
    }
    let mut new = old.clone();
    for (path, value) in writes {
        write(&mut new, path, value)?;
    }
    removals.sort_unstable();
    for path in removals.into_iter().rev() {
        remove(&mut new, path)?;
    }
    Ok(new)
}

fn set_value(old: &Item, value: &SetValue) -> Result<Value> {
    let numbers = |left: &SetOperand, right: &SetOperand| match (set_operand(old, left)?, set_operand(old, right)?) {
        (Value::N(left), Value::N(right)) => Ok((left, right)),
        _ => Err(wrong_type()),
    };
    match value {
        SetValue::Operand(operand) => set_operand(old, operand),
        SetValue::Plus(left, right) => {
            let (left, right) = numbers(left, right)?;
            left.checked_add(right).map(Value::N).map_err(out_of_range)
        }
        SetValue::Minus(left, right) => {
            let (left, right) = numbers(left, right)?;
            left.checked_sub(right).map(Value::N).map_err(out_of_range)
        }
    }
}

fn set_operand(old: &Item, operand: &SetOperand) -> Result<Value> {
    match operand {
        SetOperand::Value(value) => Ok(value.clone()),
        SetOperand::Path(path) => at(old, path)
            .cloned()
            .ok_or_else(|| invalid("The provided expression refers to an attribute that does not exist in the item")),
        SetOperand::IfNotExists(path, default) => match at(old, path) {
            Some(value) => Ok(value.clone()),
            None => set_operand(old, default),
        },
        SetOperand::ListAppend(head, tail) => match (set_operand(old, head)?, set_operand(old, tail)?) {
            (Value::L(mut head), Value::L(tail)) => {
                head.extend(tail);
                Ok(Value::L(head))
            }
            _ => Err(wrong_type()),
        },
    }
}

/// What `ADD` makes of a value.
fn sum(old: Option<&Value>, added: &Value) -> Result<Value> {
    match (old, added) {
        (None, Value::N(_) | Value::Ss(_) | Value::Ns(_) | Value::Bs(_)) => Ok(added.clone()),
        (Some(Value::N(old)), Value::N(added)) => old.checked_add(*added).map(Value::N).map_err(out_of_range),
        (Some(Value::Ss(old)), Value::Ss(added)) => Ok(Value::Ss(old | added)),
        (Some(Value::Ns(old)), Value::Ns(added)) => Ok(Value::Ns(old | added)),
        (Some(Value::Bs(old)), Value::Bs(added)) => Ok(Value::Bs(old | added)),
        _ => Err(wrong_type()),
    }
}

/// What `DELETE` leaves of a set; nothing, if it was not there or all goes.
fn difference(old: Option<&Value>, taken: &Value) -> Result<Option<Value>> {
    let left = match (old, taken) {
        (None, _) => return Ok(None),
        (Some(Value::Ss(old)), Value::Ss(taken)) => Value::Ss(old - taken),
        (Some(Value::Ns(old)), Value::Ns(taken)) => Value::Ns(old - taken),
        (Some(Value::Bs(old)), Value::Bs(taken)) => Value::Bs(old - taken),
        _ => return Err(wrong_type()),
    };
    let is_empty = match &left {
        Value::Ss(members) => members.is_empty(),
        Value::Ns(members) => members.is_empty(),
        Value::Bs(members) => members.is_empty(),
        _ => false,
    };
    // No set is empty: with its last element the attribute goes.
    Ok((!is_empty).then_some(left))
}

fn at<'a>(item: &'a Item, path: &Path) -> Option<&'a Value> {
    let mut value = item.get(path.name())?;
    for segment in path.inner_segments() {
        value = match (segment, value) {
            (Segment::Key(name), Value::M(entries)) => entries.get(name)?,
            (Segment::Index(index), Value::L(elements)) => elements.get(*index)?,
            _ => return None,
        };
    }
    Some(value)
}

/// Refuses a path whose last step has nothing to start from.
fn check_parent(item: &Item, path: &Path) -> Result<()> {
    let Some((last, leading)) = path.inner_segments().split_last() else {
        return Ok(());
    };
    let mut value = item.get(path.name()).ok_or_else(wrong_path)?;
    for segment in leading {
        value = match (segment, value) {
            (Segment::Key(name), Value::M(entries)) => entries.get(name).ok_or_else(wrong_path)?,
            (Segment::Index(index), Value::L(elements)) => elements.get(*index).ok_or_else(wrong_path)?,
            _ => return Err(wrong_path()),
        };
    }
    match (last, value) {
        (Segment::Key(_), Value::M(_)) | (Segment::Index(_), Value::L(_)) => Ok(()),
        _ => Err(wrong_path()),
    }
}

/// Something that has entries or elements.
enum Container<'a> {
    Entries(&'a mut BTreeMap<String, Value>),
    Elements(&'a mut Vec<Value>),
}

/// What a path's last step starts from, and that step.
fn parent<'i, 'p>(item: &'i mut Item, path: &'p Path) -> Result<(Container<'i>, &'p Segment)> {
    let (last, leading) = path.inner_segments().split_last().ok_or_else(wrong_path)?;
    let mut value = item.get_mut(path.name()).ok_or_else(wrong_path)?;
    for segment in leading {
        value = match (segment, value) {
            (Segment::Key(name), Value::M(entries)) => entries.get_mut(name).ok_or_else(wrong_path)?,
            (Segment::Index(index), Value::L(elements)) => elements.get_mut(*index).ok_or_else(wrong_path)?,
            _ => return Err(wrong_path()),
        };
    }
    match value {
        Value::M(entries) => Ok((Container::Entries(entries), last)),
        Value::L(elements) => Ok((Container::Elements(elements), last)),
        _ => Err(wrong_path()),
    }
}

fn write(item: &mut Item, path: &Path, value: Value) -> Result<()> {
    if path.inner_segments().is_empty() {
        item.insert(path.name().to_owned(), value);
        return Ok(());
    }
    match parent(item, path)? {
        (Container::Entries(entries), Segment::Key(name)) => {
            entries.insert(name.clone(), value);
        }
        (Container::Elements(elements), Segment::Index(index)) => match elements.get_mut(*index) {
            Some(element) => *element = value,
            None => elements.push(value),
        },
        _ => return Err(wrong_path()),
    }
    Ok(())
}

fn remove(item: &mut Item, path: &Path) -> Result<()> {
    if path.inner_segments().is_empty() {
        item.remove(path.name());
        return Ok(());
    }
    match parent(item, path)? {
        (Container::Entries(entries), Segment::Key(name)) => {
            entries.remove(name);
        }
        (Container::Elements(elements), Segment::Index(index)) if *index < elements.len() => {
            elements.remove(*index);
        }
        _ => return Err(wrong_path()),
    }
    Ok(())
}

fn wrong_path() -> StoreError {
    invalid("The document path provided in the update expression is invalid for update")
}

fn wrong_type() -> StoreError {
    invalid("An operand in the update expression has an incorrect data type")
}

fn out_of_range(error: NumberError) -> StoreError {
    invalid(match error {
        NumberError::TooSmall => {
            "Number underflow. Attempting to store a number with magnitude smaller than supported range"
        }
        NumberError::TooManyDigits => "Attempting to store more than 38 significant digits in a Number",
        NumberError::TooLarge | NumberError::Malformed(_) | NumberError::DivisionByZero => {
            "Number overflow. Attempting to store a number with magnitude larger than supported range"
        }
    })
}

fn invalid(message: &str) -> StoreError {
    StoreError::from_protocol("ValidationException", message)
}
