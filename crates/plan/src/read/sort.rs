//! What a meaning says about the sort key: the longest prefix that is bound, then at most one range.

use singlet_item::key::Order;
use singlet_model::expression::Expr;
use singlet_model::model::{Entity, KeyPart};

use super::candidate::PartValues;
use crate::access::AccessPath;
use crate::values::{self, Values};

/// The condition on a sort key.
#[derive(Clone, Debug, PartialEq)]
pub struct SortBound {
    /// The parts that are bound, in order.
    pub prefix: Vec<PartValues>,
    /// The lower end of the next part.
    pub low: Option<End>,
    /// The upper end of the next part.
    pub high: Option<End>,
    /// Whether every part is bound, so that the whole key is known.
    pub whole: bool,
}

/// An end of a range.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// The value.
    pub value: Expr,
    /// Whether the value itself is left out.
    pub excluded: bool,
}

/// Binds as much of a path's sort key as the conjuncts say, and adds the conjuncts that this settles.
pub(super) fn bind<'a>(
    path: &AccessPath<'_>,
    source: &Entity,
    conjuncts: &[&'a Expr],
    settled: &mut Vec<&'a Expr>,
) -> SortBound {
    let mut bound = SortBound {
        prefix: Vec::new(),
        low: None,
        high: None,
        whole: false,
    };
    for key in path.sort() {
        for part in &key.parts {
            let order = key.template.order(part.position);
            if !take((part, order), (path, source), conjuncts, settled, &mut bound) {
                return bound;
            }
        }
    }
    bound.whole = true;
    bound
}

/// Takes one part; false where nothing after it can be bound.
fn take<'a>(
    (part, order): (&KeyPart, Order),
    (path, source): (&AccessPath<'_>, &Entity),
    conjuncts: &[&'a Expr],
    settled: &mut Vec<&'a Expr>,
    bound: &mut SortBound,
) -> bool {
    let known = values::bind(part, path.entity, conjuncts);
    let said = known.filter(|known| {
        !matches!(
            known.values,
            Values::All(_) | Values::Days { .. } | Values::Cells { .. }
        )
    });
    if let Some(known) = said {
        let values = PartValues::of(part, known.values, source);
        if values.lapses.is_empty() {
            settled.extend(known.settled);
        }
        bound.prefix.push(values);
        return true;
    }
    if order == Order::Ascending {
        let (low, high) = values::ends(part, conjuncts);
        let mut end = |end: Option<values::End<'a>>| {
            let (value, excluded, conjunct) = end?;
            settled.push(conjunct);
            Some(End {
                value: value.clone(),
                excluded,
            })
        };
        bound.low = end(low);
        bound.high = end(high);
    }
    false
}
