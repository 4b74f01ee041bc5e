//! What an operation does to one row.

use std::collections::{BTreeMap, BTreeSet};

use singlet_item::{Number, Value};
use singlet_runtime::Attributes;

/// What becomes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Looked,
    Created,
    Updated,
    Deleted,
}

/// The changes of one row's attributes, each seeing the row as it was.
#[derive(Clone, Debug, Default)]
pub(super) struct OracleEdits {
    /// New values; none removes.
    pub set: BTreeMap<String, Option<Value>>,
    /// Numbers to add.
    pub add: BTreeMap<String, Number>,
    /// Changes of part of an attribute, in order.
    pub parts: Vec<(String, PartChange)>,
}

/// A change of part of an attribute.
#[derive(Clone, Debug)]
pub(super) enum PartChange {
    Insert(Value),
    Remove(Value),
    Append(Value),
    Entry(String, Option<Value>),
    AddEntry(String, Number),
}

impl OracleEdits {
    pub fn names(&self) -> BTreeSet<&str> {
        let whole = self.set.keys().chain(self.add.keys());
        whole
            .chain(self.parts.iter().map(|(name, _)| name))
            .map(String::as_str)
            .collect()
    }

    /// Whether both change an attribute in ways that cannot both be.
    pub fn clashes_with(&self, other: &OracleEdits) -> bool {
        let both_add = |name: &str| self.add.contains_key(name) && other.add.contains_key(name);
        self.names().intersection(&other.names()).any(|name| !both_add(name))
    }

    /// Adds what another step changes. None where a sum leaves the range of numbers.
    pub fn join_edits(&mut self, other: OracleEdits) -> Option<()> {
        self.set.extend(other.set);
        self.parts.extend(other.parts);
        for (name, number) in other.add {
            let known = self.add.get(&name).copied().unwrap_or(Number::from(0));
            self.add.insert(name, known.checked_add(number).ok()?);
        }
        Some(())
    }

    /// The row as it becomes. None where a sum leaves the range of numbers.
    pub fn applied_to(&self, row: &Attributes) -> Option<Attributes> {
        let mut row = row.clone();
        for (name, number) in &self.add {
            let sum = sum(row.get(name), *number)?;
            row.insert(name.clone(), sum);
        }
        for (name, part) in &self.parts {
            match changed(row.remove(name), part)? {
                Some(value) => row.insert(name.clone(), value),
                None => None,
            };
        }
        for (name, value) in &self.set {
            match value {
                Some(value) => row.insert(name.clone(), value.clone()),
                None => row.remove(name),
            };
        }
        Some(row)
    }
}

/// What is absent counts as zero.
fn sum(before: Option<&Value>, number: Number) -> Option<Value> {
    let before = before.and_then(Value::as_number).unwrap_or(Number::from(0));
    before.checked_add(number).ok().map(Value::N)
}

/// An attribute after a change of part of it. A set without elements is absent.
fn changed(before: Option<Value>, part: &PartChange) -> Option<Option<Value>> {
    Some(match (part, before) {
        (PartChange::Insert(Value::S(word)), Some(Value::Ss(mut words))) => {
            words.insert(word.clone());
            Some(Value::Ss(words))
        }
        (PartChange::Insert(Value::S(word)), None) => Some(Value::Ss(BTreeSet::from([word.clone()]))),
        (PartChange::Insert(Value::N(number)), Some(Value::Ns(mut numbers))) => {
            numbers.insert(*number);
            Some(Value::Ns(numbers))
        }
        (PartChange::Insert(Value::N(number)), None) => Some(Value::Ns(BTreeSet::from([*number]))),
        (PartChange::Insert(_), _) => return None,
        (PartChange::Remove(Value::S(word)), Some(Value::Ss(mut words))) => {
            words.remove(word);
            Some(Value::Ss(words)).filter(|set| *set != Value::Ss(BTreeSet::new()))
        }
        (PartChange::Remove(Value::N(number)), Some(Value::Ns(mut numbers))) => {
            numbers.remove(number);
            Some(Value::Ns(numbers)).filter(|set| *set != Value::Ns(BTreeSet::new()))
        }
        (PartChange::Remove(_), before) => before,
        (PartChange::Append(element), before) => {
            let mut list = before.as_ref().and_then(Value::as_list).unwrap_or_default().to_vec();
            list.push(element.clone());
            Some(Value::L(list))
        }
        (PartChange::Entry(name, value), before) => {
            let mut map = before.as_ref().and_then(Value::as_map).cloned().unwrap_or_default();
            match value {
                Some(value) => map.insert(name.clone(), value.clone()),
                None => map.remove(name),
            };
            Some(Value::M(map))
        }
        (PartChange::AddEntry(name, number), before) => {
            let mut map = before.as_ref().and_then(Value::as_map).cloned().unwrap_or_default();
            let sum = sum(map.get(name), *number)?;
            map.insert(name.clone(), sum);
            Some(Value::M(map))
        }
    })
}
