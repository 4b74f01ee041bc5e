//! What a query is expected to read, from what the model says of its rows, so that ways to answer a read can be compared.
//!
//! Nothing rests on these figures but the choice between ways that answer alike. What nobody has said is taken from the
//! constants below; conditions are taken as independent of one another.

use singlet_item::ReadUnits;
use singlet_item::capacity::READ_UNIT_BYTES;
use singlet_item::limits::{BATCH_GET_ITEMS_MAX, PAGE_SIZE_BYTES_MAX};
use singlet_model::Model;
use singlet_model::model::LetValue;

use super::candidate::Query;
use super::chances::{Chances, ended_attributes, is_of_row, open_ends, open_words};
use super::shares::{Rows, elements_of};
use crate::bounds::Bounds;
use crate::cost::{ROWS_MORE_EACH_ROUND, rows_asked};

/// How many rows an entity has that has no estimate.
pub const ROWS_USUAL: f64 = 100_000.0;
/// The bytes of a row of which neither an estimate nor limits say them.
pub const ROW_BYTES_USUAL: f64 = 400.0;
/// How many rows share a value of which nothing is known: an owner's.
pub const ROWS_SHARING_USUAL: f64 = 1_000.0;
/// The elements of a list whose length nobody limits.
pub const LIST_ELEMENTS_USUAL: f64 = 10.0;
/// The days over which rows are spread.
pub const DAYS_USUAL: f64 = 365.0;
/// The days that a range of days has, where its ends do not tell.
pub const RANGE_DAYS_USUAL: f64 = 30.0;
/// The cells that cover a circle, and those over which rows are spread.
pub const CELLS_USUAL: (f64, f64) = (9.0, 1_000.0);
/// The part of the rows that lies before an end of a range, or after it.
pub const SHARE_OF_AN_END: f64 = 0.5;
/// The part of the rows that a condition keeps of which nothing is known.
pub const SHARE_OF_A_CONDITION: f64 = 0.5;
/// The part of the rows whose text begins as it is asked.
pub const SHARE_OF_A_BEGINNING: f64 = 0.05;

/// Parts of the rows that an end may leave, one as likely as another.
const SHARES_OF_AN_END: [f64; REQUESTS] = [0.05, 0.25, 0.5, 0.75, 0.95];
/// Those of a second attribute beside each of the first. Each occurs once, and the two move apart (they correlate by nothing), for five
/// reckonings where all pairs would be twenty-five: every candidate of every combination of optional arguments is reckoned so.
const SHARES_BESIDE: [f64; REQUESTS] = [0.25, 0.95, 0.5, 0.05, 0.75];
/// Where, among all rows by their words, the row is whose word is asked for.
const WORDS_BESIDE: [f64; REQUESTS] = [0.7, 0.1, 0.5, 0.9, 0.3];
/// How many requests a way is reckoned for that differ in what is sent.
const REQUESTS: usize = 5;
/// How far a way is never wanted to be from the cheapest for one of those requests: this many times, or this many half units more.
const FAR: (u64, u64) = (3, 6);

/// How many rows of an answer are wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RowsWanted {
    /// One, or as many as make a page.
    Page(u64),
    /// All of them: a count, or a list without a limit.
    All,
}

/// What a query is expected to take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// In half units, of reads that may be stale: what a query of one block costs is 1.
    pub half_units: u64,
    /// The same over several requests, which differ in where ends of ranges lie and which words are asked for: by this ways are compared.
    /// It is the root of the mean of squares, so that of two ways with one mean the one is cheaper that never takes far more.
    pub compared_half_units: u64,
    /// The half units of each of those requests: the same number is the same request for all ways to answer one meaning.
    pub half_units_by_request: [u64; REQUESTS],
    /// Those of them that gets of whole rows on the table take, behind an index that has only part of them.
    pub followed_half_units: u64,
    /// The requests.
    pub requests: u64,
    /// Rows that are read.
    pub rows_read: f64,
    /// Those of them that belong to the answer.
    pub rows_kept: f64,
    /// The part of the rows that the filter keeps, where estimates say it of each of its conditions.
    pub kept_share: Option<f64>,
    /// How many rows take a unit.
    pub spare_rows: u64,
    /// Rows of the answer in one of its ranges.
    pub kept_in_range: f64,
}

impl Expected {
    /// Nothing at all.
    pub(super) const NOTHING: Expected = Expected {
        half_units: 0,
        compared_half_units: 0,
        half_units_by_request: [0; REQUESTS],
        followed_half_units: 0,
        requests: 0,
        rows_read: 0.0,
        rows_kept: 0.0,
        kept_share: None,
        spare_rows: 0,
        kept_in_range: 0.0,
    };

    /// Whether it is far from what the cheapest way takes for one of the requests, by the least of each.
    pub(super) fn is_far_from(&self, least: &[u64; REQUESTS]) -> bool {
        let mut requests = self.half_units_by_request.iter().zip(least);
        requests.any(|(own, least)| *own > least.saturating_mul(FAR.0) && *own > least.saturating_add(FAR.1))
    }

    /// The least of each request.
    pub(super) fn least_by_request<'e>(all: impl Iterator<Item = &'e Expected>) -> [u64; REQUESTS] {
        let mut least = [u64::MAX; REQUESTS];
        for one in all {
            for (least, own) in least.iter_mut().zip(one.half_units_by_request) {
                *least = own.min(*least);
            }
        }
        least
    }

    /// In units.
    pub fn units(&self) -> ReadUnits {
        ReadUnits::from_halves(self.half_units)
    }

    /// The units by which ways are compared.
    pub(super) fn compared_units(&self) -> ReadUnits {
        ReadUnits::from_halves(self.compared_half_units)
    }
}

/// What a query is expected to read until it has the rows that are wanted. Ways are compared by what they take over requests that differ
/// in what the model leaves open: a way that reads little at a usual end may read all for one that leaves few rows.
pub(super) fn of_query(model: &Model, query: &Query, wanted: RowsWanted, consistent: bool) -> Expected {
    let usual = with_chances(model, query, wanted, consistent, &Chances::default());
    let ends = open_ends(model, query);
    let has_words = open_words(model, query);
    if ends.is_empty() && !has_words {
        return usual;
    }
    // In the order of the meaning, which all ways have: of more than two the others stay where ends usually lie.
    let ended = ended_attributes(&query.meaning);
    let mut half_units_by_request = [0; REQUESTS];
    let requests = half_units_by_request
        .iter_mut()
        .zip(SHARES_OF_AN_END)
        .zip(SHARES_BESIDE)
        .zip(WORDS_BESIDE);
    for (((half_units, share), beside), word) in requests {
        let shares = ended
            .iter()
            .zip([share, beside])
            .filter(|(path, _)| ends.contains(path));
        let chances = Chances {
            ends: shares.map(|(path, share)| (path.clone(), share)).collect(),
            word: has_words.then_some(word),
        };
        *half_units = with_chances(model, query, wanted, consistent, &chances).half_units;
    }
    let squares = half_units_by_request.iter().map(|halves| (*halves as f64).powi(2));
    Expected {
        compared_half_units: whole((squares.sum::<f64>() / REQUESTS as f64).sqrt()),
        half_units_by_request,
        ..usual
    }
}

/// The same for one of the requests.
fn with_chances(model: &Model, query: &Query, wanted: RowsWanted, consistent: bool, chances: &Chances) -> Expected {
    let Some(entity) = model.entity(query.entity) else {
        return Expected {
            half_units: u64::MAX,
            compared_half_units: u64::MAX,
            half_units_by_request: [u64::MAX; REQUESTS],
            requests: u64::MAX,
            rows_read: f64::MAX,
            ..Expected::NOTHING
        };
    };
    let rows = Rows::with(model, model.source_of(entity), chances);
    let (ranges, in_ranges) = match query.scan {
        true => (
            1.0,
            model
                .entities
                .iter()
                .map(|entity| Rows::of(model, entity).count())
                .sum(),
        ),
        false => rows.in_ranges(query, entity),
    };
    let kept_share = rows.share_of_all(&query.rest);
    // A page is never expected to keep nothing: then all of the range would be read for it.
    let kept_share = kept_share.clamp(1.0 / in_ranges.max(1.0), 1.0);
    let mut filter = query.rest.iter().filter(|conjunct| is_of_row(conjunct));
    let said_share = filter.all(|conjunct| rows.tells_share(conjunct)).then_some(kept_share);
    let in_one = in_ranges / ranges;
    // Where a request keeps fewer rows than is usual, what the first page does not suffice for is asked for with some more.
    let margin = if chances.is_usual() { 1.0 } else { ROWS_MORE_EACH_ROUND };
    let row_bytes = rows.entry_bytes(query, entity).max(1.0);
    let blocks_a_unit = if consistent { 1.0 } else { 2.0 };
    let got_blocks = (rows.bytes() / READ_UNIT_BYTES as f64).ceil().max(1.0);
    let spare_rows = match query.follow {
        true => blocks_a_unit / got_blocks,
        false => blocks_a_unit * READ_UNIT_BYTES as f64 / row_bytes,
    };
    let spare_rows = whole(spare_rows.floor());
    let read_in_one = match wanted {
        RowsWanted::All => in_one,
        RowsWanted::Page(_) if query.is_get() => 1.0,
        RowsWanted::Page(page) => {
            let first = rows_asked(&Bounds::USUAL, page, query.drops_rows(), said_share, spare_rows) as f64;
            // What is kept of so many rows varies: the root of the mean of squares of how many it takes.
            let needed = page as f64 / kept_share * (1.0 + (1.0 - kept_share) / page.max(1) as f64).sqrt();
            in_one.min(first + (needed - first).max(0.0) * margin)
        }
    };
    let kept_in_range = in_one * kept_share;
    let asked = match wanted {
        // One range after the other, until there are enough.
        RowsWanted::Page(page) if query.in_sequence => (page as f64 / kept_in_range.max(f64::MIN_POSITIVE))
            .ceil()
            .clamp(1.0, ranges.max(1.0)),
        RowsWanted::Page(_) | RowsWanted::All => ranges,
    };
    let bytes = read_in_one * row_bytes;
    let per_block = if consistent { 2.0 } else { 1.0 };
    let pages = (bytes / PAGE_SIZE_BYTES_MAX as f64).ceil().max(1.0);
    let mut half_units = asked * per_block * (bytes / READ_UNIT_BYTES as f64).ceil().max(1.0);
    let mut requests = asked * pages;
    let rows_read = asked * read_in_one;
    let mut followed = 0.0;
    if query.follow {
        let rows_got = rows_read * rows.share_of_all(&query.decided_by_entries);
        followed = rows_got * per_block * got_blocks;
        half_units += followed;
        requests += (rows_got / BATCH_GET_ITEMS_MAX as f64).ceil();
    }
    Expected {
        half_units: whole(half_units),
        compared_half_units: whole(half_units),
        half_units_by_request: [whole(half_units); REQUESTS],
        followed_half_units: whole(followed),
        requests: whole(requests),
        rows_read,
        rows_kept: rows_read * kept_share,
        kept_share: said_share,
        spare_rows,
        kept_in_range,
    }
}

/// A figure as a whole number; what is past all numbers is the largest.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "casting from floating point saturates, and no figure is below zero"
)]
pub(super) fn whole(figure: f64) -> u64 {
    figure.round() as u64
}

/// How many turns a loop over a list, or over found rows, is expected to have.
pub fn elements_expected(model: &Model, list: &LetValue) -> f64 {
    match list {
        LetValue::Value(expr) => elements_of(expr),
        LetValue::Read(selection) => {
            let plan = super::plan_selection(model, selection, None, None, &|_| true);
            let queries = plan.iter().flat_map(|plan| &plan.queries);
            queries.map(|query| query.asked_share * query.expected.rows_kept).sum()
        }
    }
}
