//! What requests consumed, as the engine measured it.

use serde::{Deserialize, Serialize};
use singlet_item::{ReadUnits, WriteUnits};
use std::collections::BTreeMap;
use std::ops::AddAssign;

/// What a request consumed, by table. It adds up over requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consumed {
    /// What each table consumed.
    pub tables: BTreeMap<String, TableConsumed>,
}

/// What one table consumed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableConsumed {
    /// On the table itself.
    pub table: Units,
    /// On each index that was touched, global or local, by name.
    pub indexes: BTreeMap<String, Units>,
}

/// Read and write units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Units {
    /// Read units.
    pub read: ReadUnits,
    /// Write units.
    pub write: WriteUnits,
}

impl Consumed {
    /// The sum over all tables and indexes.
    pub fn total_units(&self) -> Units {
        let mut total = Units::default();
        for table in self.tables.values() {
            total += table.total_units();
        }
        total
    }

    /// What one table itself consumed; nothing, if it was not touched.
    pub fn table(&self, table: &str) -> Units {
        self.tables
            .get(table)
            .map(|consumed| consumed.table)
            .unwrap_or_default()
    }

    /// What one index consumed; nothing, if it was not touched.
    pub fn index_units(&self, table: &str, index: &str) -> Units {
        let consumed = self.tables.get(table);
        consumed
            .and_then(|consumed| consumed.indexes.get(index))
            .copied()
            .unwrap_or_default()
    }
}

impl TableConsumed {
    /// The sum over the table and its indexes.
    pub fn total_units(&self) -> Units {
        let mut total = self.table;
        for units in self.indexes.values() {
            total += *units;
        }
        total
    }
}

impl Units {
    /// Read units only.
    pub fn read(read: ReadUnits) -> Self {
        Self {
            read,
            write: WriteUnits::ZERO,
        }
    }

    /// Write units only.
    pub fn write(write: WriteUnits) -> Self {
        Self {
            read: ReadUnits::ZERO,
            write,
        }
    }

    /// From the numbers that DynamoDB's protocol reports: halves of a read unit and whole write units are exact in a
    /// float, so nothing is lost. What is no such number counts as none.
    pub fn from_reported(read: Option<f64>, write: Option<f64>) -> Self {
        Self {
            read: ReadUnits::from_halves(whole(read.unwrap_or(0.0) * 2.0)),
            write: WriteUnits::new(whole(write.unwrap_or(0.0))),
        }
    }
}

impl AddAssign for Units {
    fn add_assign(&mut self, other: Self) {
        self.read += other.read;
        self.write += other.write;
    }
}

impl AddAssign<&Consumed> for Consumed {
    fn add_assign(&mut self, other: &Consumed) {
        for (name, consumed) in &other.tables {
            let table = self.tables.entry(name.clone()).or_default();
            table.table += consumed.table;
            for (index, units) in &consumed.indexes {
                *table.indexes.entry(index.clone()).or_default() += *units;
            }
        }
    }
}

impl AddAssign for Consumed {
    /// Most sums have one part, which is then moved.
    fn add_assign(&mut self, other: Self) {
        match self.tables.is_empty() {
            true => *self = other,
            false => *self += &other,
        }
    }
}

/// A float as a whole number; casts saturate, so a negative number is zero.
fn whole(number: f64) -> u64 {
    number.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reported_units_are_exact() {
        let units = Units::from_reported(Some(12.5), Some(3.0));
        assert_eq!(units.read.half_count(), 25);
        assert_eq!(units.write.get(), 3);
        assert_eq!(Units::from_reported(None, Some(-1.0)), Units::default());
    }

    #[test]
    fn consumption_adds_up_per_table_and_index() {
        let one = Consumed {
            tables: BTreeMap::from([(
                "t".to_owned(),
                TableConsumed {
                    table: Units::write(WriteUnits::new(2)),
                    indexes: BTreeMap::from([("i".to_owned(), Units::write(WriteUnits::new(1)))]),
                },
            )]),
        };
        let mut sum = one.clone();
        sum += &one;
        assert_eq!(sum.table("t").write.get(), 4);
        assert_eq!(sum.index_units("t", "i").write.get(), 2);
        assert_eq!(sum.total_units().write.get(), 6);
        assert_eq!(sum.table("other"), Units::default());
    }
}
