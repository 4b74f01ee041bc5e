//! Rows that are read at one instant: one transaction of gets by key.
//!
//! A transaction reads items by their whole keys, no more than 100, and all keys must be known before it is sent. So a read that
//! says `together` has one where each of its selections asks for keys that the request gives, or that are those of the read's
//! own row.

use singlet_model::model::{LetValue, Read, SelectionKind};
use singlet_model::types::Type;

use super::candidate::Query;
use super::choose::PartPlan;
use super::neighbours::{self, Neighbour};
use crate::bounds::Bounds;
use crate::cost::{self, selection_of};
use crate::values::Values;

/// The gets of one transaction.
#[derive(Clone, Debug)]
pub struct Together {
    /// The selections, each with its keys.
    pub parts: Vec<Neighbour>,
    /// How many items it reads at least and at most.
    pub items: (u64, u64),
}

/// Why a read cannot be one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Apart {
    /// The read itself is a list, whose pages are read one after the other.
    List,
    /// It answers for each of several elements.
    Each,
    /// One list goes on from page to page.
    Pages,
    /// A row that `let` names is read before.
    Let(String),
    /// Rows are counted, which takes a query.
    Counts(String),
    /// A selection asks for more than keys: a range, an index, or a key that only a row gives.
    NoKeys(String),
    /// There may be more items than a transaction holds; how many, where that is known.
    TooMany(Option<u64>),
}

impl std::fmt::Display for Apart {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let selection = |name: &str| match name {
            "" => "its own row".to_owned(),
            name => format!("`{name}`"),
        };
        match self {
            Apart::List => write!(out, "a list is read page by page"),
            Apart::Each => write!(out, "each element is read by itself"),
            Apart::Pages => write!(out, "the list that pages goes on later"),
            Apart::Let(name) => write!(out, "`{name}` is read before"),
            Apart::Counts(name) => write!(out, "counting {} takes a query", selection(name)),
            Apart::NoKeys(name) => write!(
                out,
                "{} is not asked for by whole keys that the request gives",
                selection(name)
            ),
            Apart::TooMany(Some(items)) => write!(out, "it may ask for {items} items"),
            Apart::TooMany(None) => write!(out, "nothing limits how many items it asks for"),
        }
    }
}

/// The transaction of a read.
pub(super) fn find(read: &Read, parts: &[PartPlan]) -> Result<Together, Apart> {
    if read.each.is_some() {
        return Err(Apart::Each);
    }
    if read.pages.is_some() {
        return Err(Apart::Pages);
    }
    if read
        .selection
        .as_ref()
        .is_some_and(|own| own.kind == SelectionKind::Find)
    {
        return Err(Apart::List);
    }
    if let Some(bound) = read.lets.iter().find(|bound| reads_a_row(&bound.value)) {
        return Err(Apart::Let(bound.name.clone()));
    }
    let known = parts
        .iter()
        .find(|part| part.name.is_none())
        .and_then(neighbours::lone_query);
    let mut all = Together {
        parts: Vec::new(),
        items: (0, 0),
    };
    for (at, part) in parts.iter().enumerate() {
        let name = part.name.clone().unwrap_or_default();
        if selection_of(read, part).is_some_and(|selection| selection.kind == SelectionKind::Count) {
            return Err(Apart::Counts(name));
        }
        // A transaction has gets and no queries.
        let query = neighbours::lone_query(part).filter(|query| asks_for_keys(query));
        let query = query.and_then(|query| neighbours::with_known_row(query, known));
        let query = query.ok_or(Apart::NoKeys(name))?;
        let (least, most) = cost::fan_out_items(&query);
        // Without a bound no request is sure to fit.
        let most = most.ok_or(Apart::TooMany(None))?;
        all.items = (all.items.0.saturating_add(least), all.items.1.saturating_add(most));
        all.parts.push(Neighbour { part: at, query });
    }
    match all.items.1 <= Bounds::USUAL.transaction_items_max as u64 {
        true => Ok(all),
        false => Err(Apart::TooMany(Some(all.items.1))),
    }
}

fn reads_a_row(value: &LetValue) -> bool {
    match value {
        LetValue::Read(_) => true,
        LetValue::Value(expr) => matches!(expr.ty, Type::Row(_)),
    }
}

/// Whether each range of a query is one item of the table.
fn asks_for_keys(query: &Query) -> bool {
    let mut parts = query
        .partition
        .iter()
        .chain(query.sort.iter().flat_map(|sort| &sort.prefix));
    query.index.is_none()
        && query.sort.as_ref().is_none_or(|sort| sort.whole)
        && !parts.any(|part| matches!(part.values, Values::Cells { .. }))
}
