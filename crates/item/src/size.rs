//! Item sizes as DynamoDB counts them.

use crate::{Item, Number, Value};

/// The size of an item, as limits and capacity count it: every attribute's name and value.
///
/// ```
/// use singlet_item::{Item, Value, item_size_bytes};
///
/// let item = Item::from([("PK".to_owned(), Value::from("USER#1")), ("age".to_owned(), Value::from(42))]);
/// assert_eq!(item_size_bytes(&item), 2 + 6 + 3 + 2);
/// ```
pub fn item_size_bytes(item: &Item) -> usize {
    item.iter().map(|(name, value)| name.len() + value.size_bytes()).sum()
}

/// What a list or a map takes before its elements.
const CONTAINER_OVERHEAD_BYTES: usize = 3;
/// What each element of a list or a map takes beside its content.
const ELEMENT_OVERHEAD_BYTES: usize = 1;

impl Value {
    /// The size of the value alone, without the name of its attribute.
    pub fn size_bytes(&self) -> usize {
        match self {
            Self::S(text) => text.len(),
            Self::N(number) => number.size_bytes(),
            Self::B(bytes) => bytes.len(),
            Self::Bool(_) | Self::Null => 1,
            Self::L(elements) => container_size_bytes(elements.iter().map(Self::size_bytes)),
            Self::M(entries) => {
                container_size_bytes(entries.iter().map(|(name, value)| name.len() + value.size_bytes()))
            }
            Self::Ss(members) => members.iter().map(String::len).sum(),
            Self::Ns(members) => members.iter().map(|number| number.size_bytes()).sum(),
            Self::Bs(members) => members.iter().map(Vec::len).sum(),
        }
    }
}

impl Number {
    /// The size of the number: one byte, one for every two digits on each side of the point, and
    /// one for a negative sign. Zeros before the first and after the last digit take nothing.
    pub fn size_bytes(self) -> usize {
        let significant = usize::from(self.significant_digits());
        let fraction = usize::from(self.fraction_digits()).min(significant);
        let integer = significant - fraction;
        1 + integer.div_ceil(2) + fraction.div_ceil(2) + usize::from(self.is_negative())
    }
}

fn container_size_bytes(elements: impl Iterator<Item = usize>) -> usize {
    elements.fold(CONTAINER_OVERHEAD_BYTES, |total, element| {
        total + ELEMENT_OVERHEAD_BYTES + element
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn number_size(text: &str) -> usize {
        text.parse::<Number>().unwrap().size_bytes()
    }

    #[test]
    fn numbers_take_a_byte_for_two_digits() {
        let cases = [
            ("0", 1),
            ("1", 2),
            ("27", 2),
            ("-27", 3),
            ("123", 3),
            ("100", 2),
            ("1.5", 3),
            ("123.456", 5),
            ("100.5", 4),
            ("0.005", 2),
            ("1E125", 2),
            ("12345678901234567890123456789012345678", 20),
            ("-12345678901234567890123456789012345678", 21),
        ];
        for (text, size) in cases {
            assert_eq!(number_size(text), size, "{text}");
        }
    }

    #[test]
    fn scalars_are_their_bytes() {
        assert_eq!(Value::from("").size_bytes(), 0);
        assert_eq!(Value::from("né").size_bytes(), 3);
        assert_eq!(Value::B(vec![0; 5]).size_bytes(), 5);
        assert_eq!(Value::from(true).size_bytes(), 1);
        assert_eq!(Value::Null.size_bytes(), 1);
    }

    #[test]
    fn containers_take_three_bytes_and_one_for_each_element() {
        assert_eq!(Value::L(vec![]).size_bytes(), 3);
        assert_eq!(
            Value::L(vec![Value::from("ab"), Value::Null]).size_bytes(),
            3 + 1 + 2 + 1 + 1
        );
        let map = BTreeMap::from([("key".to_owned(), Value::from("v"))]);
        assert_eq!(Value::M(map.clone()).size_bytes(), 3 + 1 + 3 + 1);
        assert_eq!(Value::L(vec![Value::M(map)]).size_bytes(), 3 + 1 + 8);
    }

    #[test]
    fn sets_are_the_sum_of_their_members() {
        assert_eq!(
            Value::Ss(BTreeSet::from(["a".to_owned(), "bc".to_owned()])).size_bytes(),
            3
        );
        assert_eq!(
            Value::Ns(BTreeSet::from([Number::ONE, Number::from(100)])).size_bytes(),
            4
        );
        assert_eq!(Value::Bs(BTreeSet::from([vec![1, 2]])).size_bytes(), 2);
    }

    #[test]
    fn storage_adds_a_hundred_bytes() {
        let item = Item::from([("PK".to_owned(), Value::from("a"))]);
        assert_eq!(item_size_bytes(&item), 3);
    }
}
