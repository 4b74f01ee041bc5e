//! Values that both sides made up: the oracle's stand for the engine's.

use std::collections::BTreeMap;

use singlet_item::Value;
use singlet_runtime::Attributes;

/// What the oracle made up, and what the engine has in its place.
#[derive(Clone, Debug, Default)]
pub struct Made {
    /// Not met yet.
    open: Vec<String>,
    /// The engine's value of each.
    pub known: BTreeMap<String, String>,
}

/// Made-up values of at least this length are also found within a text.
const WITHIN_TEXT_MIN: usize = 20;

impl Made {
    /// Of values that were made up in one operation.
    pub fn new(open: Vec<String>) -> Self {
        Made {
            open,
            known: BTreeMap::new(),
        }
    }

    /// Also of values that were made up in another.
    pub(crate) fn add_open(&mut self, open: Vec<String>) {
        self.open.extend(open);
    }

    /// A value with the engine's in place of the oracle's.
    pub fn put_engine_value(&self, value: &Value) -> Value {
        match value {
            Value::S(text) => Value::S(self.put_text(text)),
            Value::L(elements) => Value::L(elements.iter().map(|element| self.put_engine_value(element)).collect()),
            Value::M(map) => Value::M(self.put_row(map)),
            Value::Ss(words) => Value::Ss(words.iter().map(|word| self.put_text(word)).collect()),
            other => other.clone(),
        }
    }

    /// A row with the engine's values in place of the oracle's.
    pub fn put_row(&self, row: &Attributes) -> Attributes {
        row.iter()
            .map(|(name, value)| (name.clone(), self.put_engine_value(value)))
            .collect()
    }

    fn put_text(&self, text: &str) -> String {
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        let long = self.known.iter().filter(|(made, _)| made.len() >= WITHIN_TEXT_MIN);
        long.fold(text.to_owned(), |text, (made, known)| text.replace(made, known))
    }

    /// Whether two values are the same, once the oracle's made-up values stand for the engine's.
    pub fn same_values(&mut self, meant: &Value, got: &Value) -> bool {
        match (meant, got) {
            (Value::S(meant), Value::S(got)) => self.same_text(meant, got),
            (Value::L(meant), Value::L(got)) => {
                meant.len() == got.len() && meant.iter().zip(got).all(|(meant, got)| self.same_values(meant, got))
            }
            (Value::M(meant), Value::M(got)) => self.same_row(meant, got),
            (meant, got) => self.put_engine_value(meant) == *got,
        }
    }

    /// Whether two rows are the same, once the oracle's made-up values stand for the engine's.
    pub(crate) fn same_row(&mut self, meant: &Attributes, got: &Attributes) -> bool {
        meant.len() == got.len()
            && meant
                .iter()
                .zip(got)
                .all(|((name, meant), (other, got))| name == other && self.same_values(meant, got))
    }

    fn same_text(&mut self, meant: &str, got: &str) -> bool {
        if self.put_text(meant) == got {
            return true;
        }
        let Some((before, made, after)) = self.parted(meant) else {
            return false;
        };
        let (before, after) = (self.put_text(before), self.put_text(after));
        let Some(value) = got.strip_prefix(&before).and_then(|rest| rest.strip_suffix(&after)) else {
            return false;
        };
        let taken = self
            .known
            .values()
            .any(|known| known == value && known.len() >= WITHIN_TEXT_MIN);
        if value.len() != made.len() || taken {
            return false;
        }
        self.open.retain(|open| *open != made);
        self.known.insert(made, value.to_owned());
        true
    }

    /// A text around a value that was not met yet.
    fn parted<'t>(&self, text: &'t str) -> Option<(&'t str, String, &'t str)> {
        self.open.iter().find_map(|made| {
            let whole = text == made;
            let (before, after) = text
                .split_once(made.as_str())
                .filter(|_| whole || made.len() >= WITHIN_TEXT_MIN)?;
            Some((before, made.clone(), after))
        })
    }

    /// Whether rows are the same in some order. Those that differ are left on both sides.
    pub(crate) fn same_rows(
        &mut self,
        mut meant: Vec<Attributes>,
        mut got: Vec<Attributes>,
    ) -> Result<(), [Vec<Attributes>; 2]> {
        meant.retain(|row| match got.iter().position(|other| *other == self.put_row(row)) {
            Some(at) => {
                got.remove(at);
                false
            }
            None => true,
        });
        match self.paired(&meant, &got) {
            Some(made) if meant.len() == got.len() => {
                *self = made;
                Ok(())
            }
            _ => Err([meant, got]),
        }
    }

    fn paired(&self, meant: &[Attributes], got: &[Attributes]) -> Option<Made> {
        let Some((first, rest)) = meant.split_first() else {
            return Some(self.clone());
        };
        got.iter().enumerate().find_map(|(at, row)| {
            let mut made = self.clone();
            if !made.same_row(first, row) {
                return None;
            }
            let mut others = got.to_vec();
            others.remove(at);
            made.paired(rest, &others)
        })
    }
}
