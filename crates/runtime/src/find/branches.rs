//! The alternatives of a meaning, each with its ranges: opened at the beginning, or where a page has left them.

use std::hash::Hasher;

use singlet_item::Item;
use singlet_model::expression::Expr;
use singlet_model::model::Entity;
use singlet_model::types::Type;
use singlet_plan::read::Query;

use super::{Onward, Reading};
use crate::cursor::{Positions, RangePosition};
use crate::error::RuntimeError;
use crate::keys::{self, CollectionRange};
use crate::lower;
use crate::range_rows::RangeRows;
use crate::scope::Attributes;

/// One alternative of a meaning, with the ranges that answer it.
pub(super) struct Branch<'a> {
    pub query: &'a Query,
    pub entity: &'a Entity,
    pub residue: Vec<&'a Expr>,
    pub streams: Vec<RangeRows<'a>>,
    pub order: OrderTypes,
}

/// A query, and its ranges where they are known already.
type CountedQuery<'a> = (&'a Query, Option<Vec<CollectionRange>>);

/// The types of what rows are ordered by, in that order.
pub(super) type OrderTypes = Vec<Option<Type>>;

impl Branch<'_> {
    /// The ranges that are read side by side; where they follow one another, so many of those that have not ended, from the first on.
    pub fn read_now(&self, at_once: usize) -> std::ops::Range<usize> {
        let all = self.streams.len();
        // A merge needs the next row of each of them.
        if !self.query.in_sequence {
            return 0..all;
        }
        let first = self.streams.iter().position(|stream| !stream.is_done());
        first.map_or(0..0, |first| first..first.saturating_add(at_once).min(all))
    }
}

impl<'a> Reading<'a> {
    /// Where the rows after one are, where the selection has one range.
    ///
    /// # Errors
    ///
    /// Where an expression leaves its range.
    pub fn after(&self, key: Item) -> Result<Onward, RuntimeError> {
        let branches = self.open(None)?;
        let streams = branches.iter().flat_map(|branch| &branch.streams);
        Ok(Onward::At(Positions {
            ranges: identity(&branches),
            // One place for each range, in the order of `open`: positions are told by their number.
            each: streams
                .map(|stream| RangePosition::After(stream.own_part(key.clone())))
                .collect(),
            passed: None,
            searched: None,
        }))
    }

    /// The ranges that the plan reads, each where an earlier page left it.
    pub(super) fn open(&self, positions: Option<&Positions>) -> Result<Vec<Branch<'a>>, RuntimeError> {
        let mut branches = Vec::new();
        let mut resumed = positions.iter().flat_map(|positions| &positions.each);
        for (query, counted) in self.queries()? {
            let Some(entity) = self.model.entity(query.entity) else {
                continue;
            };
            // Before the ranges: what a condition on the request alone denies needs none, and its keys may not even be
            // computable.
            let split = lower::split_residue(self.model, query, self.scope)?;
            let ranges = match counted {
                // No range, rather than ranges that are not read: a cursor of such a read has no places.
                _ if split.empty => Vec::new(),
                Some(ranges) => ranges,
                None => keys::query_ranges(self.model, query, self.scope)?,
            };
            // The whole rows may have changed since the thin ones were written; a get takes no filter.
            let exact = !query.follow && ranges.iter().all(|range| range.exact);
            let mut streams = Vec::with_capacity(ranges.len());
            for range in ranges {
                let mut stream = RangeRows::open(self.model, query, range, split.filter.clone());
                // An index cannot be read strongly; DynamoDB refuses a request that asks for it.
                stream.read_strongly(self.consistent && query.index.is_none());
                // Exactly one place is taken for each range, in the same order as they were written, also where the range is
                // done.
                match resumed.next() {
                    Some(RangePosition::After(key)) => stream.go_on_after(key),
                    Some(RangePosition::Done) => stream.end(),
                    Some(RangePosition::Behind) if self.is_ordered() => stream.fall_behind(),
                    // Where rows come in no order, nothing of a range was given while one before it had rows.
                    Some(RangePosition::Behind | RangePosition::Start) | None => {}
                }
                streams.push(stream);
            }
            // A get takes no filter, so what was lowered into one has to be checked here instead.
            let unfiltered = streams.iter().any(RangeRows::is_unfiltered);
            branches.push(Branch {
                query,
                entity,
                residue: match (exact, unfiltered) {
                    // A range that is not exact lets rows through that the key should have kept out: nothing of the meaning may
                    // be left to it.
                    (false, _) => query.meaning.iter().collect(),
                    (true, true) => query.rest.iter().collect(),
                    (true, false) => split.residue,
                },
                order: self.order_types(entity),
                streams,
            });
        }
        // Positions are told by the number of a range. Where a row that was read first has changed since, the same number is
        // another range, and going on there would leave rows out.
        if positions.is_some_and(|positions| positions.ranges != identity(&branches)) {
            return Err(RuntimeError::Cursor);
        }
        // Known only after all branches are opened: a range beside which another one is merged needs the keys of its rows.
        let alone = branches.iter().map(|branch| branch.streams.len()).sum::<usize>() == 1;
        for branch in &mut branches {
            for stream in &mut branch.streams {
                // What is checked here drops rows, so that more are read than are wanted.
                stream.select_query(branch.query, alone && branch.residue.is_empty());
            }
        }
        Ok(branches)
    }

    /// The queries of the plan; of several covers of one circle the one with the fewest cells, with the ranges that were counted.
    fn queries(&self) -> Result<Vec<CountedQuery<'a>>, RuntimeError> {
        let plan = self.plan;
        if plan.queries.is_empty() {
            return Err(RuntimeError::Request("no key answers this read".to_owned()));
        }
        if plan.covers.is_empty() {
            return Ok(plan.queries.iter().map(|query| (query, None)).collect());
        }
        let mut best: Option<(&Query, Vec<CollectionRange>)> = None;
        for query in plan.queries.iter().chain(&plan.covers) {
            // A cover with too many cells is no cover.
            let Ok(ranges) = keys::query_ranges(self.model, query, self.scope) else {
                continue;
            };
            // The first of equals: which cover is taken must not change between two pages of one read.
            if best.as_ref().is_none_or(|(_, known)| ranges.len() < known.len()) {
                best = Some((query, ranges));
            }
        }
        match best {
            Some((query, ranges)) => Ok(vec![(query, Some(ranges))]),
            None => Err(keys::too_near_a_pole(plan.latitude())),
        }
    }
}

/// Whether a range must be read on before the next row is known. Where rows come in no order, alternatives follow one another as ranges do.
pub(super) fn needs_page(branches: &[Branch<'_>], is_ordered: bool) -> bool {
    let mut open = branches
        .iter()
        // One, however many are read at once: whether a row can be taken depends on the first range that has not ended alone.
        .flat_map(|branch| branch.streams.get(branch.read_now(1)).unwrap_or_default());
    match is_ordered {
        true => open.any(RangeRows::needs_page),
        false => open.next().is_some_and(RangeRows::needs_page),
    }
}

pub(super) fn take(branches: &mut [Branch<'_>], branch: usize, stream: usize) -> Option<Attributes> {
    branches.get_mut(branch)?.streams.get_mut(stream)?.take_row()
}

/// Which ranges the branches read, in a number.
fn identity(branches: &[Branch<'_>]) -> u64 {
    let mut hasher = crate::digest::Fnv::default();
    // Ranges in the order of positions, each with its index and direction: the same keys the other way round are other places.
    let streams = branches.iter().flat_map(|branch| &branch.streams);
    streams.for_each(|stream| stream.identify_range(&mut hasher));
    hasher.finish()
}

/// Where each range goes on.
pub(super) fn positions(branches: &[Branch<'_>]) -> Positions {
    let streams = branches.iter().flat_map(|branch| &branch.streams);
    // Where the merge is, not how far the range was read: rows in a buffer are given by the next page.
    let place = |stream: &RangeRows<'_>| match stream.is_done() {
        true => RangePosition::Done,
        false => stream.row_position().map_or(RangePosition::Start, RangePosition::After),
    };
    Positions {
        ranges: identity(branches),
        each: streams.map(place).collect(),
        passed: None,
        searched: None,
    }
}
