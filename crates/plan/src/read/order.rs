//! Does a path give the order that a read asks for?

use singlet_item::key::Order as KeyOrder;
use singlet_model::model::{KeyPart, Order};

use super::sort::SortBound;
use super::why::Why;
use crate::access::AccessPath;
use crate::values;

/// Whether the rows come in the order asked for, and in which direction the query runs; or the attribute that no key gives.
///
/// What is `fixed` has one value in all rows; what is `bound` has one in each range, so that merging the ranges orders by it.
pub(super) fn kept(
    path: &AccessPath<'_>,
    sort: &SortBound,
    fixed: &dyn Fn(&str) -> bool,
    bound: &dyn Fn(&str) -> bool,
    order: &[Order],
) -> Result<Kept, Why> {
    let open = order.iter().filter(|order| !fixed(&order.path));
    let (merged, wanted): (Vec<&Order>, Vec<&Order>) = open.partition(|order| bound(&order.path));
    let mut kept = Kept {
        merged: !merged.is_empty(),
        ..Kept::default()
    };
    let Some(first) = wanted.first() else {
        return Ok(kept);
    };
    let mut given = given(path, sort);
    let is_of = |part: &KeyPart, order: &Order| values::own_part(part, path.entity).path == order.path;
    let mut direction: Option<bool> = None;
    for order in &wanted {
        // A part with few values that stands in the way is fanned out: each of its values is a query of its own.
        while let Some((part, _)) = given.first() {
            let in_the_way = !is_of(part, order) && is_small(part) && direction.is_none();
            if !in_the_way {
                break;
            }
            kept.fanned.push(Fanned {
                part: (*part).clone(),
                descending: false,
            });
            kept.merged = true;
            given.remove(0);
        }
        let Some((part, key_order)) = given.first().copied() else {
            return Err(Why::Order(order.path.clone()));
        };
        if !is_of(part, order) {
            return Err(Why::Order(order.path.clone()));
        }
        given.remove(0);
        let descends = match key_order {
            KeyOrder::Ascending => order.descending,
            KeyOrder::Descending => !order.descending,
            KeyOrder::Unordered | KeyOrder::Coarse if is_small(part) && direction.is_none() => {
                kept.fanned.push(Fanned {
                    part: part.clone(),
                    descending: order.descending,
                });
                continue;
            }
            KeyOrder::Unordered | KeyOrder::Coarse => return Err(Why::Order(order.path.clone())),
        };
        if *direction.get_or_insert(descends) != descends {
            return Err(Why::Order(order.path.clone()));
        }
    }
    kept.descending = direction.unwrap_or(first.descending);
    Ok(kept)
}

fn is_small(part: &KeyPart) -> bool {
    values::small_words(part).is_some()
}

/// How an order is kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    /// Whether the queries run backwards.
    pub descending: bool,
    /// Parts of the sort key that are asked for value by value, in order.
    pub fanned: Vec<Fanned>,
    /// Whether the rows of those values must be merged; else those of one value come after those of the last.
    pub merged: bool,
}

/// A part of which each value is asked for by itself. An order and its reverse then take the same way, so that a read that can be
/// turned round costs the same in both directions.
#[derive(Clone, Debug)]
pub(super) struct Fanned {
    pub part: KeyPart,
    /// Whether the last value comes first.
    pub descending: bool,
}

impl Kept {
    /// By merging what the queries give.
    pub fn merged() -> Self {
        Kept {
            merged: true,
            ..Kept::default()
        }
    }
}

/// The parts of the sort key that are not bound, and how keys sort by each.
fn given<'a>(path: &AccessPath<'a>, sort: &SortBound) -> Vec<(&'a KeyPart, KeyOrder)> {
    let parts = path.sort_templates().iter().flat_map(|key| {
        key.parts
            .iter()
            .map(move |part| (part, key.template.order_after(part.position)))
    });
    parts.skip(sort.prefix.len()).collect()
}
