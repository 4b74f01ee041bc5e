//! Key ranges.

use super::{Renderer, bounded};
use crate::{KeyRange, Result, SortRange, StoreError};
use singlet_item::limits::INDEX_KEY_ATTRIBUTES_MAX;

impl Renderer {
    /// The key condition of a range.
    pub fn key_range(&mut self, range: &KeyRange) -> Result<String> {
        check(range)?;
        let mut clauses = Vec::with_capacity(range.partition.len() + range.sort.len());
        for (attribute, value) in &range.partition {
            clauses.push(format!("{} = {}", self.name(attribute), self.value(value)));
        }
        for (attribute, range) in &range.sort {
            clauses.push(self.sort_range(attribute, range));
        }
        bounded("key range", clauses.join(" AND "))
    }

    fn sort_range(&mut self, attribute: &str, range: &SortRange) -> String {
        let name = self.name(attribute);
        match range {
            SortRange::Equal(value) => format!("{name} = {}", self.value(value)),
            SortRange::Less(value) => format!("{name} < {}", self.value(value)),
            SortRange::LessOrEqual(value) => format!("{name} <= {}", self.value(value)),
            SortRange::Greater(value) => format!("{name} > {}", self.value(value)),
            SortRange::GreaterOrEqual(value) => format!("{name} >= {}", self.value(value)),
            SortRange::Between(low, high) => format!("{name} BETWEEN {} AND {}", self.value(low), self.value(high)),
            SortRange::BeginsWith(prefix) => format!("begins_with({name}, {})", self.value(prefix)),
        }
    }
}

fn check(range: &KeyRange) -> Result<()> {
    let counts = [range.partition.len(), range.sort.len()];
    if range.partition.is_empty() || counts.iter().any(|count| *count > INDEX_KEY_ATTRIBUTES_MAX) {
        return Err(StoreError::bad_request(format!(
            "a key range has {} partition and {} sort attributes; it takes 1 to {max} and up to {max}",
            range.partition.len(),
            range.sort.len(),
            max = INDEX_KEY_ATTRIBUTES_MAX
        )));
    }
    let leading = range.sort.split_last().map_or(&[][..], |(_, leading)| leading);
    match leading.iter().find(|(_, range)| !matches!(range, SortRange::Equal(_))) {
        Some((attribute, _)) => Err(StoreError::bad_request(format!(
            "the range of sort attribute `{attribute}` is followed by another; only the last may be no equality"
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(range: &KeyRange) -> Result<String> {
        Renderer::new().key_range(range)
    }

    #[test]
    fn every_range_has_its_form() {
        let form = |range| rendered(&KeyRange::partition("PK", "a").sort("SK", range)).unwrap();
        assert_eq!(rendered(&KeyRange::partition("PK", "a")).unwrap(), "#0 = :0");
        assert_eq!(form(SortRange::equal("b")), "#0 = :0 AND #1 = :1");
        assert_eq!(form(SortRange::less("b")), "#0 = :0 AND #1 < :1");
        assert_eq!(form(SortRange::less_or_equal("b")), "#0 = :0 AND #1 <= :1");
        assert_eq!(form(SortRange::greater("b")), "#0 = :0 AND #1 > :1");
        assert_eq!(form(SortRange::greater_or_equal("b")), "#0 = :0 AND #1 >= :1");
        assert_eq!(form(SortRange::between("b", "c")), "#0 = :0 AND #1 BETWEEN :1 AND :2");
        assert_eq!(form(SortRange::begins_with("b")), "#0 = :0 AND begins_with(#1, :1)");
    }

    #[test]
    fn several_attributes_are_joined_and_checked() {
        let range = KeyRange::partition("a", 1).and_partition("b", 2);
        let good = range
            .clone()
            .sort("c", SortRange::equal(3))
            .sort("d", SortRange::less(4));
        assert_eq!(rendered(&good).unwrap(), "#0 = :0 AND #1 = :1 AND #2 = :2 AND #3 < :3");
        let bad = range.sort("c", SortRange::less(3)).sort("d", SortRange::equal(4));
        assert!(rendered(&bad).unwrap_err().is_bad_request());
        let none = KeyRange {
            partition: vec![],
            sort: vec![],
        };
        assert!(rendered(&none).unwrap_err().is_bad_request());
    }
}
