//! What requests cost, in read and write units.
//!
//! Sizes go in as bytes ([`item_size_bytes`]), units come out. Prices belong
//! elsewhere.

use crate::{Item, item_size_bytes};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul};

/// Read units, counted in halves so that eventually consistent reads are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ReadUnits {
    halves: u64,
}

impl ReadUnits {
    /// No units.
    pub const ZERO: Self = Self { halves: 0 };

    /// That many whole units.
    pub fn new(units: u64) -> Self {
        Self {
            halves: units.saturating_mul(2),
        }
    }

    /// That many halves of a unit.
    pub fn from_halves(halves: u64) -> Self {
        Self { halves }
    }

    /// The count of halves.
    pub fn half_count(self) -> u64 {
        self.halves
    }
}

impl fmt::Display for ReadUnits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = if self.halves.is_multiple_of(2) { "" } else { ".5" };
        f.pad_integral(true, "", &format!("{}{fraction}", self.halves / 2))
    }
}

/// Write units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WriteUnits {
    units: u64,
}

impl WriteUnits {
    /// No units.
    pub const ZERO: Self = Self { units: 0 };

    /// That many units.
    pub fn new(units: u64) -> Self {
        Self { units }
    }

    /// The count of units.
    pub fn get(self) -> u64 {
        self.units
    }
}

impl fmt::Display for WriteUnits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.units.fmt(f)
    }
}

macro_rules! units_add_up {
    ($units:ident, $field:ident) => {
        impl Add for $units {
            type Output = Self;

            fn add(self, other: Self) -> Self {
                Self {
                    $field: self.$field.saturating_add(other.$field),
                }
            }
        }

        impl AddAssign for $units {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl Mul<u64> for $units {
            type Output = Self;

            fn mul(self, times: u64) -> Self {
                Self {
                    $field: self.$field.saturating_mul(times),
                }
            }
        }

        impl Sum for $units {
            fn sum<I: Iterator<Item = Self>>(units: I) -> Self {
                units.fold(Self::ZERO, Add::add)
            }
        }
    };
}

units_add_up!(ReadUnits, halves);
units_add_up!(WriteUnits, units);

/// What a read promises, which decides its price. Reads of a global index are always eventual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Consistency {
    /// May miss the latest writes: half a unit.
    Eventual,
    /// Sees every write that was acknowledged before it: one unit.
    Strong,
    /// Part of a transaction: two units.
    Transactional,
}

/// How a write is sent, which decides its price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteMode {
    /// Alone, or in a batch.
    Single,
    /// In a transaction: twice the units on the table, though not on its indexes.
    Transaction,
}

/// What a get of one item costs, alone, in a batch or in a transaction; of a missing item, with no
/// bytes, the minimum.
pub fn get_units(item_bytes: usize, consistency: Consistency) -> ReadUnits {
    let blocks = blocks(item_bytes, READ_UNIT_BYTES);
    ReadUnits::from_halves(match consistency {
        Consistency::Eventual => blocks,
        Consistency::Strong => blocks.saturating_mul(2),
        Consistency::Transactional => blocks.saturating_mul(4),
    })
}

/// What a page of a query or a scan costs: the bytes of every item *evaluated*, before any filter
/// and projection, are summed and rounded once.
pub fn page_units(evaluated_bytes: impl IntoIterator<Item = usize>, consistency: Consistency) -> ReadUnits {
    get_units(evaluated_bytes.into_iter().sum(), consistency)
}

/// What a put, an update or a delete costs on the table: the larger of the item before and after,
/// where an absent side counts nothing. A write whose condition fails costs the same, with the
/// attempted item as `after`.
pub fn write_units(before_bytes: Option<usize>, after_bytes: Option<usize>, mode: WriteMode) -> WriteUnits {
    let bytes = before_bytes.max(after_bytes).unwrap_or(0);
    let factor = match mode {
        WriteMode::Single => 1,
        WriteMode::Transaction => 2,
    };
    WriteUnits::new(blocks(bytes, WRITE_UNIT_BYTES)) * factor
}

/// What a condition check in a transaction costs, over the item that it reads.
pub fn condition_check_units(item_bytes: Option<usize>) -> WriteUnits {
    write_units(item_bytes, None, WriteMode::Transaction)
}

/// What one write does to one index, on the entries as they are projected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexWrite {
    /// The item was not in the index, and is not.
    Absent,
    /// The entry stays as it is.
    Unchanged,
    /// The item enters the index.
    Added {
        /// The size of the new entry.
        after_bytes: usize,
    },
    /// The item leaves the index.
    Removed {
        /// The size of the old entry.
        before_bytes: usize,
    },
    /// The entry changes under the same key.
    Changed {
        /// The size of the old entry.
        before_bytes: usize,
        /// The size of the new entry.
        after_bytes: usize,
    },
    /// The entry moves to another key: it is deleted there and written here.
    Moved {
        /// The size of the old entry.
        before_bytes: usize,
        /// The size of the new entry.
        after_bytes: usize,
    },
}

impl IndexWrite {
    /// What happens to an index whose key attributes are `key` when an item changes, given what the
    /// index projects of it before and after. An entry that lacks a key attribute is not in the index.
    pub fn between_items(before: Option<&Item>, after: Option<&Item>, key: &[&str]) -> Self {
        let entry = |item: Option<&Item>| {
            item.filter(|item| key.iter().all(|name| item.contains_key(*name)))
                .cloned()
        };
        match (entry(before), entry(after)) {
            (None, None) => Self::Absent,
            (None, Some(after)) => Self::Added {
                after_bytes: item_size_bytes(&after),
            },
            (Some(before), None) => Self::Removed {
                before_bytes: item_size_bytes(&before),
            },
            (Some(before), Some(after)) if before == after => Self::Unchanged,
            (Some(before), Some(after)) => {
                let (before_bytes, after_bytes) = (item_size_bytes(&before), item_size_bytes(&after));
                if key.iter().all(|name| before.get(*name) == after.get(*name)) {
                    Self::Changed {
                        before_bytes,
                        after_bytes,
                    }
                } else {
                    Self::Moved {
                        before_bytes,
                        after_bytes,
                    }
                }
            }
        }
    }

    /// What it costs. A transaction does not double it.
    pub fn write_units(self) -> WriteUnits {
        let units = |bytes| WriteUnits::new(blocks(bytes, WRITE_UNIT_BYTES));
        match self {
            Self::Absent | Self::Unchanged => WriteUnits::ZERO,
            Self::Added { after_bytes } => units(after_bytes),
            Self::Removed { before_bytes } => units(before_bytes),
            Self::Changed {
                before_bytes,
                after_bytes,
            } => units(before_bytes.max(after_bytes)),
            Self::Moved {
                before_bytes,
                after_bytes,
            } => units(before_bytes) + units(after_bytes),
        }
    }
}

/// The bytes that one unit reads.
pub const READ_UNIT_BYTES: usize = 4096;
/// The bytes that one unit writes.
pub const WRITE_UNIT_BYTES: usize = 1024;

/// How many blocks of a unit `bytes` fill; even nothing fills one.
fn blocks(bytes: usize, unit_bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(unit_bytes).max(1)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    #[test]
    fn a_get_rounds_up_to_four_kilobytes() {
        let halves = |bytes| {
            [Consistency::Eventual, Consistency::Strong, Consistency::Transactional]
                .map(|consistency| get_units(bytes, consistency).half_count())
        };
        assert_eq!(halves(0), [1, 2, 4]);
        assert_eq!(halves(4096), [1, 2, 4]);
        assert_eq!(halves(4097), [2, 4, 8]);
    }

    #[test]
    fn a_page_rounds_once_over_all_it_evaluates() {
        let small_items = std::iter::repeat_n(100, 41);
        assert_eq!(page_units(small_items, Consistency::Eventual).to_string(), "1");
        assert_eq!(page_units([100; 40], Consistency::Eventual).to_string(), "0.5");
        assert_eq!(page_units([], Consistency::Strong), ReadUnits::new(1));
    }

    #[test]
    fn a_write_costs_the_larger_side() {
        let single = |before, after| write_units(before, after, WriteMode::Single).get();
        assert_eq!(single(None, Some(10)), 1);
        assert_eq!(single(Some(2048), Some(10)), 2);
        assert_eq!(single(Some(10), Some(1025)), 2);
        assert_eq!(single(Some(5000), None), 5);
        assert_eq!(single(None, None), 1);
        assert_eq!(write_units(None, Some(1025), WriteMode::Transaction).get(), 4);
        assert_eq!(condition_check_units(None).get(), 2);
    }

    #[test]
    fn index_writes_follow_the_table() {
        let entry = |key: &str, size: usize| {
            Item::from([
                ("k".to_owned(), Value::from(key)),
                ("v".to_owned(), Value::from("x".repeat(size).as_str())),
            ])
        };
        let keyless = Item::from([("v".to_owned(), Value::from("x"))]);
        let (small, large, moved) = (entry("a", 10), entry("a", 2000), entry("b", 2000));
        let units = |before, after| IndexWrite::between_items(before, after, &["k"]).write_units().get();
        assert_eq!(units(None, None), 0);
        assert_eq!(units(Some(&keyless), None), 0);
        assert_eq!(units(Some(&keyless), Some(&large)), 2);
        assert_eq!(units(Some(&large), Some(&keyless)), 2);
        assert_eq!(units(Some(&large), Some(&large)), 0);
        assert_eq!(units(Some(&large), Some(&small)), 2);
        assert_eq!(units(Some(&small), Some(&moved)), 3);
    }

    #[test]
    fn units_add_and_print() {
        let total: ReadUnits = [ReadUnits::from_halves(1), ReadUnits::new(2)].into_iter().sum();
        assert_eq!(total.to_string(), "2.5");
        assert_eq!((WriteUnits::new(2) * 3 + WriteUnits::new(1)).to_string(), "7");
    }
}
