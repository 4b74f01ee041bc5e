//! What a step does to the attributes of a row.

use std::collections::BTreeMap;

use singlet_item::{Number, Value};

use crate::scope::Attributes;

/// The changes of one row's attributes. All of them see the row as it was.
#[derive(Clone, Debug, Default)]
pub(super) struct Edits<'a> {
    /// New values; none removes.
    pub set: BTreeMap<&'a str, Option<Value>>,
    /// Numbers to add.
    pub add: BTreeMap<&'a str, Number>,
    /// Other changes that need the old value.
    pub parts: Vec<(&'a str, PartEdit)>,
}

/// A change of part of an attribute.
#[derive(Clone, Debug)]
pub(super) enum PartEdit {
    /// Puts an element into a set.
    Insert(Value),
    /// Takes an element out of a set.
    Remove(Value),
    /// Puts an element at the end of a list.
    Append(Value),
    /// Sets an entry of a map; none removes it.
    SetEntry(String, Option<Value>),
    /// Adds a number to an entry of a map.
    AddEntry(String, Number),
}

impl<'a> Edits<'a> {
    /// Every attribute that may differ afterwards.
    pub fn touched(&self) -> impl Iterator<Item = &'a str> {
        let parts = self.parts.iter().map(|(name, _)| *name);
        self.set.keys().chain(self.add.keys()).copied().chain(parts)
    }

    /// Attributes whose new value follows from their old one.
    pub fn summed(&self) -> Vec<&'a str> {
        let parts = self.parts.iter().map(|(name, _)| name);
        self.add.keys().chain(parts).copied().collect()
    }

    /// Whether an attribute is set or removed, whatever it was.
    pub fn sets(&self, name: &str) -> bool {
        self.set.contains_key(name)
    }

    /// Whether edits of another step on the same row say otherwise of an attribute, or a sum leaves the range of numbers.
    pub fn clashes_with(&self, other: &Edits<'a>, always: &dyn Fn(&str) -> bool) -> bool {
        other.touched().any(|name| {
            let here = self.touched().any(|known| known == name);
            match (self.add.get(name), other.add.get(name)) {
                (Some(known), Some(number)) => known.checked_add(*number).is_err(),
                _ => here && !always(name),
            }
        })
    }

    /// Adds the edits of another step on the same row, which do not clash: disjoint ones join, sums add up.
    pub fn merge(&mut self, other: Edits<'a>) {
        if self.touched().next().is_none() {
            *self = other;
            return;
        }
        self.set.extend(other.set);
        for (name, number) in other.add {
            let known = self.add.entry(name).or_insert(Number::from(0));
            *known = known.checked_add(number).unwrap_or(*known);
        }
        self.parts.extend(other.parts);
    }

    /// The row as it becomes. None where a sum leaves the range of numbers.
    pub fn apply(&self, row: &mut Attributes) -> Option<()> {
        // All edits see the row as it was, so that their order makes no difference where they do not clash.
        for (name, number) in &self.add {
            let before = row.get(*name).and_then(Value::as_number).unwrap_or(Number::from(0));
            row.insert((*name).to_owned(), Value::N(before.checked_add(*number).ok()?));
        }
        for (name, edit) in &self.parts {
            let before = row.remove(*name);
            if let Some(after) = part(before, edit)? {
                row.insert((*name).to_owned(), after);
            }
        }
        for (name, value) in &self.set {
            match value {
                Some(value) => row.insert((*name).to_owned(), value.clone()),
                None => row.remove(*name),
            };
        }
        Some(())
    }
}

/// An attribute after a change of part of it; sets that become empty are absent, as DynamoDB has no empty set.
fn part(before: Option<Value>, edit: &PartEdit) -> Option<Option<Value>> {
    Some(match edit {
        PartEdit::Insert(element) => Some(inserted(before, element)?),
        PartEdit::Remove(element) => before.and_then(|set| without(set, element)),
        PartEdit::Append(element) => {
            let mut list = match before {
                Some(Value::L(list)) => list,
                _ => Vec::new(),
            };
            list.push(element.clone());
            Some(Value::L(list))
        }
        PartEdit::SetEntry(name, value) => {
            let mut map = map_of(before);
            match value {
                Some(value) => map.insert(name.clone(), value.clone()),
                None => map.remove(name),
            };
            Some(Value::M(map))
        }
        PartEdit::AddEntry(name, number) => {
            let mut map = map_of(before);
            let sum = map
                .get(name)
                .and_then(Value::as_number)
                .unwrap_or(Number::from(0))
                .checked_add(*number)
                .ok()?;
            map.insert(name.clone(), Value::N(sum));
            Some(Value::M(map))
        }
    })
}

fn map_of(value: Option<Value>) -> BTreeMap<String, Value> {
    match value {
        Some(Value::M(map)) => map,
        _ => BTreeMap::new(),
    }
}

fn inserted(before: Option<Value>, element: &Value) -> Option<Value> {
    Some(match (before, element) {
        (Some(Value::Ss(mut words)), Value::S(word)) => {
            words.insert(word.clone());
            Value::Ss(words)
        }
        (Some(Value::Ns(mut numbers)), Value::N(number)) => {
            numbers.insert(*number);
            Value::Ns(numbers)
        }
        (Some(Value::Bs(mut all)), Value::B(bytes)) => {
            all.insert(bytes.clone());
            Value::Bs(all)
        }
        (None, Value::S(word)) => Value::Ss([word.clone()].into()),
        (None, Value::N(number)) => Value::Ns([*number].into()),
        (None, Value::B(bytes)) => Value::Bs([bytes.clone()].into()),
        _ => return None,
    })
}

fn without(set: Value, element: &Value) -> Option<Value> {
    match (set, element) {
        (Value::Ss(mut words), Value::S(word)) => {
            words.remove(word);
            (!words.is_empty()).then_some(Value::Ss(words))
        }
        (Value::Ns(mut numbers), Value::N(number)) => {
            numbers.remove(number);
            (!numbers.is_empty()).then_some(Value::Ns(numbers))
        }
        (Value::Bs(mut all), Value::B(bytes)) => {
            all.remove(bytes);
            (!all.is_empty()).then_some(Value::Bs(all))
        }
        (other, _) => Some(other),
    }
}
