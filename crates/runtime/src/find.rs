//! The rows of a selection: ranges are read side by side, merged in order, and pages are filled.
//!
//! **Invariant: every row is on one page.** A page ends between two rows of the merge, and its positions say for every range how far
//! the merge has come in it, not how far the range was read. The merge takes no row while a range whose next row is unknown could
//! have an earlier one (`needs_page`). A range that is read without the keys of its rows cannot say where the merge is: it is
//! alone, and asked for no more rows than are wanted, so that nothing is left of it when the page ends. And a range whose place was
//! left out of a cursor is read anew, and passed over up to the last row that was given (`pass_over`).

mod branches;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream;
use singlet_item::{Item, Value};
use singlet_model::Model;
use singlet_model::evaluate::{holds_condition, row_order};
use singlet_model::expression::Expr;
use singlet_model::model::{Entity, Selection, SelectionKind};
use singlet_plan::Bounds;
use singlet_plan::cost::{ROWS_MORE_EACH_ROUND, rows_asked};
use singlet_plan::read::{SHARE_OF_A_CONDITION, SelectionPlan};
use singlet_store::{Consumed, PageAnswer, Store};

use self::branches::{Branch, OrderTypes, needs_page, positions, take};
use crate::budget::{PageStart, ReadBudget, Stretch};
use crate::by_key::batch_get;
use crate::cursor::{Passed, Positions};
use crate::error::RuntimeError;
use crate::keyed::{Keyed, KeyedRow};
use crate::range_rows::{RangeRows, WholeRowFetch, table_key};
use crate::scope::{Attributes, Scope};
use crate::searched::SearchIndex;
use crate::{retry, row};

/// What is read, on what, for whom.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// The read or write that asks, for messages.
    pub name: &'a str,
    /// The model.
    pub model: &'a Model,
    /// The store.
    pub store: &'a Arc<dyn Store>,
    /// The names of the request.
    pub scope: Scope<'a>,
    /// What is selected.
    pub selection: &'a Selection,
    /// How.
    pub plan: &'a SelectionPlan,
    /// What the caller may see of a row, beyond the meaning.
    pub allow: Option<&'a Expr>,
    /// Whether it reads strongly.
    pub consistent: bool,
    /// After how many requests a page is given short, where the read says. Where rows are ordered every range is looked at once in any
    /// case: a merge cannot begin before.
    pub requests_max: Option<usize>,
    /// Whether all rows are wanted, so that no range is left for later.
    pub is_whole: bool,
    /// What has the words of rows, where anything follows them.
    pub(crate) search: Option<&'a Arc<dyn SearchIndex>>,
    /// What the request may read.
    pub(crate) budget: &'a ReadBudget<'a>,
}

/// Where a selection goes on.
///
/// **Invariant: a short page is not the last one.** Rows that have expired, that a filter drops or that belong to another entity
/// leave pages short or empty anywhere; only [`Onward::End`] says that no row is left. Whoever wants more than one page takes
/// [`SelectionWalk`](crate::read_on::SelectionWalk), which reads until it is there.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Onward {
    /// From the beginning.
    Start,
    /// After what was read so far.
    At(Positions),
    /// Nowhere: there are no more rows.
    #[default]
    End,
}

/// Some rows, where the next ones begin, and what it cost.
#[derive(Debug, Default)]
pub struct FoundRows {
    /// The rows, in order.
    pub rows: Vec<Attributes>,
    /// Where the rows after them are.
    pub onward: Onward,
    /// How often the ranges were read on.
    pub rounds: usize,
    /// What was consumed.
    pub consumed: Consumed,
}

impl<'a> Reading<'a> {
    /// One page: at most `limit` rows, from `onward` on.
    ///
    /// # Errors
    ///
    /// Where the store fails for good, an expression leaves its range, or it would read on and on.
    pub async fn page(&self, limit: usize, onward: &Onward) -> Result<FoundRows, RuntimeError> {
        if let Some(search) = &self.plan.search {
            return Box::pin(self.searched_page(search, limit, onward)).await;
        }
        let positions = match onward {
            Onward::Start => None,
            Onward::At(positions) => Some(positions),
            Onward::End => return Ok(FoundRows::default()),
        };
        // A cursor was made by a page of ranges, so it goes on in ranges: a key that is got anew would answer its row on every
        // page.
        if positions.is_none() {
            match self.keyed()? {
                Keyed::Row(keyed) if limit > 0 => return self.got(&keyed).await,
                Keyed::Nothing => return Ok(FoundRows::default()),
                Keyed::Row(_) | Keyed::Several => {}
            }
        }
        let mut branches = self.open(positions)?;
        let passed = positions.and_then(|positions| positions.passed.as_ref());
        // Asked once: only where time may change the order do rows have to be looked at before they are compared.
        let lapsing = branches.iter().any(|branch| self.order_lapses(branch.entity));
        let mut found = FoundRows::default();
        let start = self.budget.start_page();
        let mut stretch = Stretch::default();
        let mut requests = 0;
        let mut last = 0;
        // Rows that have arrived are always taken, up to the limit, before the page may end: a range that is read without the
        // keys of its rows goes on after all that it has read, and a row that was left in its buffer would be on no page.
        while found.rows.len() < limit {
            // Before a row is taken, the next row of every range must be known: an unread range may have an earlier one.
            if needs_page(&branches, self.is_ordered()) {
                if self.may_end(&branches, start, found.rounds, requests) {
                    break;
                }
                // Rows that are dropped do not bring the page nearer to its limit, so nothing but this ends a page of which none
                // is kept.
                if found.rounds >= self.bounds().rounds_max {
                    return Err(self.reads_on_and_on());
                }
                let wanted = limit - found.rows.len();
                let (consumed, sent) = self.fill(&mut branches, wanted, found.rows.len()).await?;
                found.consumed += consumed;
                requests += sent;
                found.rounds += 1;
                // Before anything is taken: rows that an earlier page gave may be among those that have just arrived.
                if let Some(passed) = passed {
                    self.pass_over(&mut branches, passed)?;
                }
                // A page of which nothing was left says nothing about what comes first.
                continue;
            }
            if lapsing && self.drop_left_out(&mut branches)? {
                continue;
            }
            let Some((branch, stream)) = self.next(&branches)? else {
                break;
            };
            let Some(row) = take(&mut branches, branch, stream) else {
                break;
            };
            stretch.row().await;
            // A row that is not kept was taken all the same: the next page goes on after it.
            if self.keeps(&branches, branch, &row)? {
                // Counted over all branches, as positions are: `shorten_to` keeps the place of this range whatever its length.
                last = branches
                    .iter()
                    .take(branch)
                    .map(|branch| branch.streams.len())
                    .sum::<usize>()
                    + stream;
                found.rows.push(row);
            }
        }
        found.onward = self.onward(&branches, found.rows.last(), last);
        Ok(found)
    }

    /// Whether a page may be given short: enough was read, and what comes next fits into a cursor. Ranges that are behind must
    /// have caught up, for their places say nothing yet.
    fn may_end(&self, branches: &[Branch<'a>], start: PageStart, rounds: usize, requests: usize) -> bool {
        // Something is read in any case, or no page would ever go on.
        let spent = rounds > 0 && self.budget.is_page_spent(start, self.bounds());
        let enough =
            spent || rounds >= self.bounds().rounds_per_page || self.requests_max.is_some_and(|most| requests >= most);
        let mut streams = branches.iter().flat_map(|branch| &branch.streams);
        // All three: a range that is behind has no place of its own yet, and places that do not fit would be begun anew by every
        // page.
        enough && !streams.any(RangeRows::is_behind) && positions(branches).fit_bytes(self.bounds().cursor_bytes)
    }

    /// Where the rows after the last one are.
    fn onward(&self, branches: &[Branch<'a>], row: Option<&Attributes>, last: usize) -> Onward {
        let mut streams = branches.iter().flat_map(|branch| &branch.streams);
        // Only a range that has ended and whose buffer is empty is done. A short page says nothing of either.
        if streams.all(RangeRows::is_done) {
            return Onward::End;
        }
        let mut positions = positions(branches);
        if let Some(row) = row {
            // The order of the last row that was given, and not of one that was dropped after it: rows between the two are still
            // to come.
            let values = || {
                let order = self.selection.order.iter();
                order.map(|order| row::at_path(row, &order.path).cloned()).collect()
            };
            positions.shorten_to(self.bounds().cursor_bytes, last, values);
        }
        Onward::At(positions)
    }

    /// Drops rows that earlier pages have given, from ranges that were begun anew because their place did not fit.
    fn pass_over(&self, branches: &mut [Branch<'a>], passed: &Passed) -> Result<(), RuntimeError> {
        let mut at = 0;
        for branch in branches {
            for stream in &mut branch.streams {
                while let Some(arrived) = stream.peek_row().filter(|_| stream.is_behind()) {
                    let value = |at: usize| passed.order.get(at).and_then(Option::as_ref);
                    match self.compare_with(&branch.order, &arrived.row, value)? {
                        Ordering::Less => drop(stream.take_row()),
                        // Of rows in the same order those of the first range come first.
                        Ordering::Equal if at < passed.range => drop(stream.take_row()),
                        // From here on all rows are new. To go on comparing would be wrong: later rows of the same order would be
                        // dropped.
                        Ordering::Equal | Ordering::Greater => stream.catch_up(),
                    }
                }
                if stream.is_done() {
                    // An ended range can give nothing twice, and one that stayed behind would keep the page from ever ending.
                    stream.catch_up();
                }
                at += 1;
            }
        }
        Ok(())
    }

    /// What a request is refused with that would read on without an end.
    pub(crate) fn reads_on_and_on(&self) -> RuntimeError {
        let most = self.bounds().rounds_max;
        RuntimeError::Request(format!("`{}` would read on more than {most} times", self.name))
    }

    /// What one request may ask for.
    pub(crate) fn bounds(&self) -> &'a Bounds {
        &self.scope.setting.bounds
    }

    /// The one row that it names by its key, if it does.
    pub(crate) fn keyed(&self) -> Result<Keyed<'a>, RuntimeError> {
        Keyed::of(self.model, self.plan, self.scope, self.allow, self.consistent)
    }

    async fn got(&self, keyed: &KeyedRow<'_>) -> Result<FoundRows, RuntimeError> {
        let request = keyed.request();
        let mut answer = retry::with_retries(self.bounds(), || self.store.get(&request)).await?;
        Ok(FoundRows {
            rows: keyed.of_answer(&mut answer)?.into_iter().collect(),
            consumed: answer.consumed,
            ..FoundRows::default()
        })
    }

    /// Reads a page of each range whose next row is not known yet; says how many there were. So many rows were kept before.
    async fn fill(
        &self,
        branches: &mut [Branch<'a>],
        wanted: usize,
        kept: usize,
    ) -> Result<(Consumed, usize), RuntimeError> {
        let streams = branches.iter().flat_map(|branch| &branch.streams);
        let seen: usize = streams.map(RangeRows::rows_seen).sum();
        let left = wanted;
        let bounds = self.bounds();
        let wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
        // What a filter lets through is not known: a second page that is as small as the first would take many calls for few
        // rows.
        let least = u32::try_from(bounds.filtered_rows_min).unwrap_or(u32::MAX);
        let most = u32::try_from(bounds.rows_per_call).unwrap_or(u32::MAX);
        let one = matches!(self.selection.kind, SelectionKind::Get { .. });
        let mut calls = Vec::new();
        let mut consumed = Consumed::default();
        let mut together = 0;
        let mut at_once = self.ranges_at_once(branches, left, kept);
        for branch in branches.iter_mut() {
            // A filter drops rows that count toward the limit: a little more is read at once. One row is mostly the first.
            let filtered = branch.query.drops_rows();
            let (share, spare) = (branch.query.expected.kept_share, branch.query.expected.spare_rows);
            let first = rows_asked(bounds, u64::from(wanted), filtered && !one, share, spare);
            let first = u32::try_from(first).unwrap_or(u32::MAX);
            let needed = rows_needed(left, kept, seen, share);
            let entity = branch.entity;
            let whole = if branch.query.follow {
                self.selection.entity()
            } else {
                None
            };
            let follow = whole.and_then(|id| self.model.entity(id)).map(|entity| WholeRowFetch {
                entity,
                consistent: self.consistent,
                decided: &branch.query.decided_by_entries,
            });
            let now = branch.read_now(at_once);
            if !self.is_ordered() {
                at_once = at_once.saturating_sub(now.len());
            }
            let streams = branch.streams.get_mut(now).unwrap_or_default();
            // Several rows by their keys come together: each costs what it does alone.
            // Those that a batch has answered need no page any more, and are passed over by the loop below.
            if let [_, _, ..] = streams {
                let (cost, batches) = self.get_together(streams, entity, follow).await?;
                consumed += cost;
                together += batches;
            }
            for stream in streams.iter_mut().filter(|stream| stream.needs_page()) {
                // What was read did not suffice: the next page is larger, but not larger than what was kept so far tells.
                let limit = match stream.pages_read() {
                    // Exactly what is wanted: a row more would stay in the buffer of a range that cannot say where it was.
                    _ if stream.is_bare() => wanted,
                    0 => first,
                    pages => first.max(least).saturating_mul(1 << pages.min(6)).min(needed),
                };
                // Last, so that no guess about filters asks for more rows than one call may bring.
                let limit = limit.min(most);
                calls.push(stream.read_page(
                    self.store,
                    (self.model, entity),
                    follow,
                    limit,
                    (self.scope, self.budget),
                ));
            }
        }
        let sent = calls.len() + together;
        // Most reads have one range: it is waited for as it is.
        if sent == 1
            && let Some(call) = calls.pop()
        {
            return Ok((call.await?, sent));
        }
        // The order of answers does not matter, since each range keeps its own rows; that at most so many calls run does.
        let mut answers = stream::iter(calls).buffer_unordered(bounds.calls_at_once);
        while let Some(answer) = answers.next().await {
            consumed += answer?;
        }
        Ok((consumed, sent))
    }

    /// Whether an order is asked for: else the rows of a range may come after all of those before it.
    fn is_ordered(&self) -> bool {
        !self.selection.order.is_empty()
    }

    /// How many ranges that follow one another are read at once: as many as the rows that are wanted surely take, by what is expected of a
    /// range and what those before it had. Each that is not needed would have been read for nothing.
    fn ranges_at_once(&self, branches: &[Branch<'a>], wanted: usize, kept: usize) -> usize {
        if self.is_ordered() {
            // Where rows are ordered every range is read in any case, so this only counts those that follow one another.
            return 1;
        }
        if self.is_whole {
            return usize::MAX;
        }
        let streams = branches
            .iter()
            .flat_map(|branch| branch.streams.iter().map(move |stream| (branch, stream)));
        let ended = streams
            .clone()
            .filter(|(_, stream)| stream.is_done() && stream.pages_read() > 0)
            .count();
        let mut open = streams.filter(|(_, stream)| !stream.is_done());
        let expected = open
            .next()
            .map_or(1.0, |(branch, _)| branch.query.expected.kept_in_range);
        let in_one = (kept as f64 + expected) / (ended as f64 + 1.0);
        whole_ranges(wanted as f64 / in_one)
    }

    /// Gets the rows of ranges that have one key each by batches, where there are several of them; says how many batches.
    async fn get_together(
        &self,
        streams: &mut [RangeRows<'a>],
        entity: &Entity,
        follow: Option<WholeRowFetch<'_>>,
    ) -> Result<(Consumed, usize), RuntimeError> {
        let keys: BTreeSet<Item> = streams.iter().filter_map(RangeRows::key_to_get).cloned().collect();
        // Nothing is taken then: a single key is read as any range is, by the caller.
        if keys.len() < 2 {
            return Ok(Default::default());
        }
        let keys: Vec<Item> = keys.into_iter().collect();
        let bounds = self.bounds();
        let turn = self.budget.next_turn(bounds).await;
        let consistent = self.consistent;
        let (items, mut consumed) = batch_get(self.store, bounds, &self.model.table.name, &keys, consistent).await?;
        drop(turn);
        let whole = PageAnswer {
            items,
            consumed: consumed.clone(),
            ..PageAnswer::default()
        };
        // Counted here as one page; what is given to each range below costs nothing, or it would be counted twice.
        self.budget.take_page(&whole)?;
        let items = whole.items.into_iter();
        // A batch answers in no order, so each range finds its item by the key that it asked for.
        let items: BTreeMap<Item, Item> = items.map(|item| (table_key(self.model, &item), item)).collect();
        for stream in streams {
            let Some(key) = stream.key_to_get() else { continue };
            let page = PageAnswer {
                items: items.get(key).cloned().into_iter().collect(),
                ..PageAnswer::default()
            };
            let place = (self.model, entity);
            let (scope, budget) = (self.scope, self.budget);
            consumed += stream
                .arrive_page(self.store, place, follow, page, (scope, budget))
                .await?;
        }
        Ok((consumed, keys.len().div_ceil(bounds.batch_get_items.max(1))))
    }

    /// The range whose next row comes first in the order asked for.
    fn next(&self, branches: &[Branch<'a>]) -> Result<Option<(usize, usize)>, RuntimeError> {
        let mut best: Option<((usize, usize), &Attributes)> = None;
        for (b, branch) in branches.iter().enumerate() {
            for (s, stream) in branch.streams.iter().enumerate() {
                let Some(arrived) = stream.peek_row() else { continue };
                // Only an earlier row takes the place: of equal rows the first range's comes first, which `pass_over` relies on.
                let first = match best {
                    None => true,
                    Some((_, known)) => self.compare(&branch.order, &arrived.row, known)? == Ordering::Less,
                };
                if first {
                    best = Some(((b, s), &arrived.row));
                }
            }
        }
        Ok(best.map(|(at, _)| at))
    }

    /// Puts rows into the order of the selection; equal ones stay as they are.
    ///
    /// # Errors
    ///
    /// Where a value is not one of its type.
    pub fn sort(&self, entity: &Entity, rows: &mut [Attributes]) -> Result<(), RuntimeError> {
        let mut failed = None;
        let types = self.order_types(entity);
        // A comparator cannot fail, so an error is kept aside; calling the two equal only ends the sort in some order that nobody
        // sees.
        rows.sort_by(|a, b| {
            self.compare(&types, a, b).unwrap_or_else(|error| {
                failed = Some(error);
                Ordering::Equal
            })
        });
        failed.map_or(Ok(()), Err)
    }

    fn order_types(&self, entity: &Entity) -> OrderTypes {
        let order = self.selection.order.iter();
        let types = order.map(|order| self.model.type_at(entity, &order.path));
        types.map(|ty| ty.map(|(ty, _)| ty)).collect()
    }

    fn compare(&self, types: &OrderTypes, a: &Attributes, b: &Attributes) -> Result<Ordering, RuntimeError> {
        let order = &self.selection.order;
        self.compare_with(types, a, |at| row::at_path(b, &order.get(at)?.path))
    }

    /// Compares a row with values of what rows are ordered by, by their number.
    fn compare_with<'v>(
        &self,
        types: &OrderTypes,
        a: &Attributes,
        b: impl Fn(usize) -> Option<&'v Value>,
    ) -> Result<Ordering, RuntimeError> {
        for (at, (order, ty)) in self.selection.order.iter().zip(types).enumerate() {
            // Without a type nothing is known of how values of it are ordered, and the next one of the order decides.
            let Some(ty) = ty else { continue };
            let (a, b) = (row::at_path(a, &order.path), b(at));
            let compared = match (a, b) {
                (Some(a), Some(b)) => row_order(a, b, ty)?,
                // Absent values come first, and with `descending` last, here and wherever rows are sorted: a merge of two orders
                // loses rows.
                (None, Some(_)) => Ordering::Less,
                (Some(_), None) => Ordering::Greater,
                (None, None) => Ordering::Equal,
            };
            let compared = if order.descending { compared.reverse() } else { compared };
            if compared != Ordering::Equal {
                return Ok(compared);
            }
        }
        Ok(Ordering::Equal)
    }

    /// The row, if the meaning includes it: what the store could not check is checked here. A row that several alternatives
    /// include is given by the first of them.
    fn keeps(&self, branches: &[Branch<'a>], at: usize, row: &Attributes) -> Result<bool, RuntimeError> {
        let Some(branch) = branches.get(at) else {
            return Ok(false);
        };
        let scope = self.scope.with_row(row);
        // The residue before `allow`: an expression of `allow` is evaluated on rows that are meant, and not on others of the
        // table.
        for condition in &branch.residue {
            if !holds_condition(condition, &scope)? {
                return Ok(false);
            }
        }
        if let Some(allow) = self.allow
            && !holds_condition(allow, &scope)?
        {
            return Ok(false);
        }
        // Only earlier ones: of two alternatives that include a row, one must give it, and both would drop it if each asked the
        // other.
        for earlier in branches.iter().take(at) {
            if self.satisfies(earlier, row)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether time may take from a row, or change, what rows are ordered by.
    fn order_lapses(&self, entity: &Entity) -> bool {
        let states = self.model.source_of(entity).states.as_ref();
        let Some(states) = states.filter(|states| !states.lapses.is_empty()) else {
            return false;
        };
        self.selection.order.iter().any(|order| {
            let root = order.path.split('.').next().unwrap_or_default();
            let held = states.holding.iter().flat_map(|(_, held)| held);
            // The state itself lapses, and with it the attributes that only rows in some states have.
            root == states.of || held.into_iter().any(|(name, _)| name == root)
        })
    }

    /// Drops next rows that the meaning does not include. Those from which time took what they are ordered by would be compared
    /// wrongly, and hold up the rows behind them. Whether there were any.
    fn drop_left_out(&self, branches: &mut [Branch<'a>]) -> Result<bool, RuntimeError> {
        let mut left_out = Vec::new();
        for (b, branch) in branches.iter().enumerate() {
            for (s, stream) in branch.streams.iter().enumerate() {
                if let Some(arrived) = stream.peek_row()
                    && !self.keeps(branches, b, &arrived.row)?
                {
                    left_out.push((b, s));
                }
            }
        }
        // After the loop: taking one changes which row of its range is next, and only those that were judged may go.
        for (branch, stream) in &left_out {
            take(branches, *branch, *stream);
        }
        Ok(!left_out.is_empty())
    }

    /// Whether a row belongs to an alternative: its key lies in one of the alternative's ranges, and the rest holds.
    fn satisfies(&self, branch: &Branch<'a>, row: &Attributes) -> Result<bool, RuntimeError> {
        let scope = self.scope.with_row(row);
        for condition in &branch.query.meaning {
            if !holds_condition(condition, &scope)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// So many ranges and a part of one, without that part; one at least.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "casting from floating point saturates, and no figure is below zero"
)]
fn whole_ranges(ranges: f64) -> usize {
    (ranges as usize).max(1)
}

/// How many rows are read for those that are wanted, where so many of those that were seen were kept: a quarter more, for the next are not
/// the same. What was expected counts as one row that was kept, so that a few rows do not say too much; any number, where none was kept.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "casting from floating point saturates, and no figure is below zero"
)]
fn rows_needed(wanted: usize, kept: usize, seen: usize, expected_share: Option<f64>) -> u32 {
    let expected_share = expected_share
        .unwrap_or(SHARE_OF_A_CONDITION)
        .clamp(f64::MIN_POSITIVE, 1.0);
    let rows_for_one = (seen.max(kept) as f64 + 1.0 / expected_share) / (kept as f64 + 1.0);
    let rows = (wanted as f64 * rows_for_one * ROWS_MORE_EACH_ROUND).ceil() as u32;
    match kept {
        // None was kept so far, which says nothing about how many are needed; the other bounds on a call hold.
        0 => u32::MAX,
        _ => rows.max(u32::try_from(wanted).unwrap_or(u32::MAX)),
    }
}
