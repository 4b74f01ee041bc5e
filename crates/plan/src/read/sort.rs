//! What a meaning says about the sort key: the longest prefix that is bound, then at most one range.

use singlet_item::key::Order;
use singlet_model::expression::Expr;
use singlet_model::model::{Entity, KeyPart};
use singlet_model::types::Type;

use super::candidate::{self, PartValues, Wanted};
use super::implied;
use crate::access::AccessPath;
use crate::values::{self, CalendarUnit, Values};

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

impl SortBound {
    /// How many parts are asked for value by value.
    pub(super) fn fanned(&self) -> usize {
        let is_open = |part: &&PartValues| matches!(part.values, Values::All(_));
        self.prefix.iter().filter(is_open).count()
    }
}

/// An end of a range.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// The value.
    pub value: Expr,
    /// Whether the value itself is left out.
    pub excluded: bool,
    /// Which point of what the value stands for it is.
    pub point: EndPoint,
}

/// Which point of what a value stands for an end of a range is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndPoint {
    /// The value itself.
    Itself,
    /// Where the day, month or year that the value is begins, in the model's zone.
    StartOf(CalendarUnit),
    /// Where the one after it begins.
    AfterEndOf(CalendarUnit),
    /// Of a text: everything that begins with it, so that it is both ends.
    Beginning,
}

/// What of a meaning the sort key settles.
#[derive(Default)]
pub(super) struct Settled<'a> {
    /// By the parts that are bound.
    pub prefix: Vec<&'a Expr>,
    /// By the range after them.
    pub ends: Vec<&'a Expr>,
}

/// Binds as much of a path's sort key as the conjuncts say, and which conjuncts this settles. So many parts that they leave open are asked
/// for value by value, where they have few values, so that what stands behind them can be bound. No range is made of what is settled already.
pub(super) fn bind<'a>(
    path: &AccessPath<'_>,
    source: &Entity,
    wanted: &Wanted<'_>,
    (conjuncts, known): (&[&'a Expr], &[&'a Expr]),
    fanned_max: usize,
) -> (SortBound, Settled<'a>) {
    let is_open = |conjunct: &&&Expr| !known.iter().any(|known| std::ptr::eq(*known, **conjunct));
    let open: Vec<&'a Expr> = conjuncts.iter().filter(is_open).copied().collect();
    let mut settled = Settled::default();
    let mut bound = SortBound {
        prefix: Vec::new(),
        low: None,
        high: None,
        whole: false,
    };
    for key in path.sort_templates() {
        for part in &key.parts {
            let order = key.template.order_after(part.position);
            if !take(
                (part, order),
                (path, source, wanted),
                (conjuncts, &open, fanned_max),
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
    (conjuncts, open, fanned_max): (&[&'a Expr], &[&'a Expr], usize),
    settled: &mut Settled<'a>,
    bound: &mut SortBound,
) -> bool {
    let renamed = values::own_part(part, path.entity);
    let part = renamed.as_ref();
    let known = values::bind_part(part, path.entity, conjuncts, wanted.is_local());
    let said = known.filter(|known| match known.values {
        Values::All(_) => bound.fanned() < fanned_max,
        Values::Days(_) | Values::Cells { .. } => false,
        _ => !wanted.is_elsewhere(part, &known.values),
    });
    if let Some(known) = said {
        // What time changes is stored as it was: its key does not settle what it is now.
        if !implied::time_changes(source, part.root_attribute()) {
            settled.prefix.extend(known.settled);
        }
        bound.prefix.push(PartValues::of(part, known.values, source));
        return true;
    }
    // A state that lapses is stored as it was: its key says nothing about a range.
    if !candidate::lapses(part, source).is_empty() {
        return false;
    }
    let (mut low, mut high) = values::part_ends(part, open);
    // Keys that do not sort as their values have no range for them.
    if order != Order::Ascending {
        (low, high) = (None, None);
    }
    if low.is_none() && high.is_none() {
        // Whatever the order, keys of texts that begin alike lie side by side.
        low = values::part_beginning(part, open);
    }
    if low.is_some() || high.is_some() {
        // Words in a value's place lie among the keys of the range, and are not meant.
        let has_words = matches!(part.ty, Type::OrWords(..));
        let mut end = |end: Option<values::End<'a>>| {
            let values::End {
                value,
                excluded,
                point,
                conjunct,
            } = end?;
            if !has_words && !implied::time_changes(source, part.root_attribute()) {
                settled.ends.push(conjunct);
            }
            Some(End {
                value: value.clone(),
                excluded,
                point,
            })
        };
        bound.low = end(low);
        bound.high = end(high);
    }
    // After a range nothing more is bound: DynamoDB takes one, in the last attribute.
    false
}
