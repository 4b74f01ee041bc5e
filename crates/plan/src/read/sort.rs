//! What a meaning says about the sort key: the longest prefix that is bound, then at most one range.

use singlet_item::key::Order;
use singlet_model::expression::Expr;
use singlet_model::model::{Entity, KeyPart};
use singlet_model::types::Type;

use super::candidate::{self, PartValues, Wanted};
use super::implied;
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

/// What of a meaning the sort key settles.
#[derive(Default)]
pub(super) struct Settled<'a> {
    /// By the parts that are bound.
    pub prefix: Vec<&'a Expr>,
    /// By the range after them.
    pub ends: Vec<&'a Expr>,
}

/// Binds as much of a path's sort key as the conjuncts say, and which conjuncts this settles.
pub(super) fn bind<'a>(
    path: &AccessPath<'_>,
    source: &Entity,
    wanted: &Wanted<'_>,
    conjuncts: &[&'a Expr],
) -> (SortBound, Settled<'a>) {
    let mut settled = Settled::default();
    let mut bound = SortBound {
        prefix: Vec::new(),
        low: None,
        high: None,
        whole: false,
    };
    for key in path.sort() {
        for part in &key.parts {
            let order = key.template.order(part.position);
            if !take(
                (part, order),
                (path, source, wanted),
                conjuncts,
                &mut settled,
                &mut bound,
            ) {
                return (bound, settled);
            }
        }
    }
    bound.whole = true;
    (bound, settled)
}

/// Takes one part; false where nothing after it can be bound.
fn take<'a>(
    (part, order): (&KeyPart, Order),
    (path, source, wanted): (&AccessPath<'_>, &Entity, &Wanted<'_>),
    conjuncts: &[&'a Expr],
    settled: &mut Settled<'a>,
    bound: &mut SortBound,
) -> bool {
    let renamed = values::own_part(part, path.entity);
    let part = renamed.as_ref();
    let known = values::bind(part, path.entity, conjuncts, wanted.is_local());
    let said = known.filter(|known| {
        let ranged = matches!(known.values, Values::All(_) | Values::Days(_) | Values::Cells { .. });
        !ranged && !wanted.is_elsewhere(part, &known.values)
    });
    if let Some(known) = said {
        if !implied::time_changes(source, part.root()) {
            settled.prefix.extend(known.settled);
        }
        bound.prefix.push(PartValues::of(part, known.values, source));
        return true;
    }
    // A state that lapses is stored as it was: its key says nothing about a range.
    if order == Order::Ascending && candidate::lapses(part, source).is_empty() {
        let (low, high) = values::ends(part, conjuncts);
        // Words in a value's place lie among the keys of the range, and are not meant.
        let has_words = matches!(part.ty, Type::OrWords(..));
        let mut end = |end: Option<values::End<'a>>| {
            let (value, excluded, conjunct) = end?;
            if !has_words && !implied::time_changes(source, part.root()) {
                settled.ends.push(conjunct);
            }
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
