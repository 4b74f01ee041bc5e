//! What of an item is looked at and returned.

use std::collections::BTreeMap;
use std::sync::Arc;

use singlet_item::{Item, Value, first_bytes};
use singlet_store::{Condition, Operand, Path, Paths, Result, Segment};

use crate::codec::{RawItem, WantedTest};

/// A condition with the attributes that it looks at, so that nothing else of an item is read for it.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    condition: Condition,
    names: Vec<String>,
}

impl Filter {
    pub(crate) fn new(condition: &Condition) -> Self {
        Self {
            names: looked_at(condition).into_iter().map(str::to_owned).collect(),
            condition: condition.clone(),
        }
    }

    /// The attributes that it looks at.
    pub(crate) fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    pub(crate) fn holds_of(&self, item: RawItem<'_>) -> Result<bool> {
        Ok(self
            .condition
            // Only what the condition looks at, so that a large item costs no more than its few attributes.
            .holds_of(Some(&item.decode_only(with_first(self.names()))?)))
    }
}

/// Whether a condition holds of an item, or of none.
pub(crate) fn condition_holds(condition: &Condition, item: Option<&Arc<[u8]>>) -> Result<bool> {
    let Some(bytes) = item else {
        return Ok(condition.holds_of(None));
    };
    let looked_at = RawItem::new(bytes)?.decode_only(with_first(looked_at(condition).into_iter()))?;
    Ok(condition.holds_of(Some(&looked_at)))
}

/// The attributes that a condition looks at, sorted.
fn looked_at(condition: &Condition) -> Vec<&str> {
    let mut names = Vec::new();
    condition_names(condition, &mut names);
    // `decode_only` goes through an item once, and asks for names in their order.
    names.sort_unstable();
    names.dedup();
    names
}

fn condition_names<'c>(condition: &'c Condition, names: &mut Vec<&'c str>) {
    match condition {
        Condition::And(parts) | Condition::Or(parts) => parts.iter().for_each(|part| condition_names(part, names)),
        Condition::Not(inner) => condition_names(inner, names),
        Condition::Compare { left, right, .. } => operand_names([left, right], names),
        Condition::Between { operand, low, high } => operand_names([operand, low, high], names),
        Condition::In { operand, options } => operand_names(std::iter::once(operand).chain(options), names),
        Condition::Exists(path) | Condition::NotExists(path) | Condition::HasType(path, _) => names.push(path.name()),
        Condition::BeginsWith(whole, part) | Condition::Contains(whole, part) => operand_names([whole, part], names),
    }
}

fn operand_names<'c>(operands: impl IntoIterator<Item = &'c Operand>, names: &mut Vec<&'c str>) {
    for operand in operands {
        match operand {
            Operand::Path(path) | Operand::Size(path) => names.push(path.name()),
            Operand::Value(_) => {}
        }
    }
}

/// The paths that are returned of an item, by the names of their attributes, as items have them.
#[derive(Clone, Debug)]
pub(crate) struct Projection(Paths);

/// Names with their first bytes, by which most are told apart.
pub(crate) fn with_first<'n>(
    names: impl ExactSizeIterator<Item = &'n str>,
) -> impl ExactSizeIterator<Item = (&'n str, u64)> {
    names.map(|name| (name, first_bytes(name.as_bytes())))
}

impl Projection {
    /// That of these paths; none, if all is returned.
    pub(crate) fn new(paths: &Paths) -> Option<Self> {
        if paths.is_empty() {
            return None;
        }
        if paths.are_ordered() {
            return Some(Self(Paths::clone(paths)));
        }
        let mut sorted = paths.to_vec();
        sorted.sort_unstable();
        Some(Self(sorted.into()))
    }

    /// The attributes that are looked at, in their order; one may come several times.
    pub(crate) fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(Path::name)
    }

    pub(crate) fn of(&self, item: RawItem<'_>) -> Result<Item> {
        let found = item.decode_only(self.0.names_with_first_bytes())?;
        Ok(match self.0.are_flat() {
            true => found,
            false => project_item(&found, &self.0),
        })
    }
}

/// What is returned of an item that somebody wants; none of another.
pub(crate) fn returned_of_wanted(
    projection: Option<&Projection>,
    item: RawItem<'_>,
    test: Option<WantedTest<'_>>,
) -> Result<Option<Item>> {
    match (projection, test) {
        (_, None) => returned_item(projection, item).map(Some),
        (Some(Projection(paths)), Some(test)) if paths.are_flat() => {
            item.decode_wanted(paths.names_with_first_bytes(), test)
        }
        (_, Some(test)) => match item.is_wanted(test)? {
            true => returned_item(projection, item).map(Some),
            false => Ok(None),
        },
    }
}

/// What is returned of an item: all, or what was asked for.
pub(crate) fn returned_item(projection: Option<&Projection>, item: RawItem<'_>) -> Result<Item> {
    match projection {
        None => item.decode_item(),
        Some(projection) => projection.of(item),
    }
}

/// What an item has at some paths, with the maps and lists that lead there.
pub(crate) fn project_item(item: &Item, paths: &[Path]) -> Item {
    let mut by_name: BTreeMap<&str, Vec<&[Segment]>> = BTreeMap::new();
    for path in paths {
        by_name.entry(path.name()).or_default().push(path.inner_segments());
    }
    by_name
        .into_iter()
        .filter_map(|(name, ways)| Some((name.to_owned(), project_value(item.get(name)?, &ways)?)))
        .collect()
}

fn project_value(value: &Value, ways: &[&[Segment]]) -> Option<Value> {
    // The whole value was asked for too, so that its parts are in it.
    if ways.iter().any(|way| way.is_empty()) {
        return Some(value.clone());
    }
    let mut by_first: BTreeMap<&Segment, Vec<&[Segment]>> = BTreeMap::new();
    for way in ways {
        let (first, rest) = way.split_first()?;
        by_first.entry(first).or_default().push(rest);
    }
    match value {
        Value::M(entries) => {
            let found: BTreeMap<String, Value> = by_first
                .into_iter()
                .filter_map(|(segment, ways)| match segment {
                    Segment::Key(name) => Some((name.clone(), project_value(entries.get(name)?, &ways)?)),
                    Segment::Index(_) => None,
                })
                .collect();
            (!found.is_empty()).then_some(Value::M(found))
        }
        Value::L(elements) => {
            // Indexes come in their order, as the segments do.
            let found: Vec<Value> = by_first
                .into_iter()
                .filter_map(|(segment, ways)| match segment {
                    Segment::Index(index) => project_value(elements.get(*index)?, &ways),
                    Segment::Key(_) => None,
                })
                .collect();
            (!found.is_empty()).then_some(Value::L(found))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_projection_keeps_the_way_to_what_it_names() {
        let inner = BTreeMap::from([("x".to_owned(), Value::from(1)), ("y".to_owned(), Value::from(2))]);
        let list = vec![Value::from("zero"), Value::from(inner), Value::from("two")];
        let item = Item::from([("l".to_owned(), Value::from(list)), ("s".to_owned(), Value::from("t"))]);
        let at = |index| Path::attribute("l").list_element(index);
        let one = |value: Value| Item::from([("l".to_owned(), vec![value].into())]);
        assert_eq!(project_item(&item, &[at(2)]), one("two".into()));
        let both = Item::from([("l".to_owned(), vec![Value::from("zero"), Value::from("two")].into())]);
        assert_eq!(project_item(&item, &[at(2), at(0)]), both);
        let x = BTreeMap::from([("x".to_owned(), Value::from(1))]);
        assert_eq!(project_item(&item, &[at(1).key("x"), at(1).key("none")]), one(x.into()));
        assert_eq!(
            project_item(&item, &[at(9), Path::attribute("s").key("x")]),
            Item::new()
        );
    }
}
