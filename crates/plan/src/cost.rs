//! What a plan costs: a formula for each request that it sends, over the sizes of the items that the request reads.
//!
//! A request costs one unit for each 4 KB that it reads, half where it may be stale, and never less than one block. A filter,
//! a projection and a count save nothing: what counts is what the key condition covers.

mod chosen;
mod count;
mod show;
mod worked;

pub use chosen::{least_in_all, most_in_all, sent_in_all};
pub(crate) use count::selection_of;
pub use count::{ROWS_MORE_EACH_ROUND, Times, counted_requests, rows_asked};
pub(crate) use count::{fan_out_items, transaction_request};
pub use worked::{Sizes, Worked};

use singlet_item::ReadUnits;
use singlet_item::capacity::{Consistency, get_units, page_units};
use singlet_item::limits::BATCH_GET_ITEMS_MAX;
use singlet_model::model::{IndexId, TallyId};
use singlet_model::types::EntityId;

use crate::read::AskedWord;

/// One kind of request of a plan, and what it costs.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestCost {
    /// What sends it.
    pub origin: Origin,
    /// For which selections: their names under `with` or `let`, empty for the read's own.
    pub parts: Vec<String>,
    /// What is called.
    pub call: Call,
    /// The index; the table, if there is none.
    pub index: Option<IndexId>,
    /// Whose rows it reads.
    pub entities: Vec<EntityId>,
    /// What it promises.
    pub consistency: Consistency,
    /// How often it is sent.
    pub times: Times,
    /// How many rows one request evaluates at most, where that is known.
    pub rows: Option<u64>,
    /// How many rows there are of all that it may read, where estimates say.
    pub rows_there: Option<u64>,
    /// Whether rows may be dropped after they were read, so that it reads on until the page is full.
    pub reads_on: bool,
    /// The words that arguments must be for it to be sent; empty where it is sent in any case.
    pub asked_words: Vec<AskedWord>,
}

/// What sends a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The name of a `let`.
    Let(String),
    /// A query of a part's plan.
    Query {
        /// Which part of the combination.
        part: usize,
        /// Which of its queries.
        query: usize,
    },
    /// The rows behind a query that gives only part of them.
    Rows {
        /// Which part of the combination.
        part: usize,
    },
    /// The one query for several parts.
    Neighbours,
    /// The one transaction for all parts.
    Together,
    /// The rows whose keys an index of words gave.
    Found {
        /// Which part of the combination.
        part: usize,
    },
    /// The row that says which figures of a tally count.
    TallyHead {
        /// The tally.
        tally: TallyId,
    },
    /// The figures of a tally.
    TallyFigures {
        /// The tally.
        tally: TallyId,
        /// Which groups are fixed, in words; empty where all are told.
        fixed: String,
    },
}

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// One item by its key.
    Get,
    /// Items by their keys, each rounded up on its own.
    BatchGet,
    /// Items by their keys at one instant, each rounded up on its own.
    TransactGet,
    /// A page of an item collection, rounded up once.
    Query,
    /// A page of the whole table, rounded up once.
    Scan,
}

impl RequestCost {
    /// How many requests are sent for one answer, before any reading on: at least, and at most where that is known. Of one that an argument
    /// chooses, where it is chosen.
    pub fn requests_sent(&self) -> (u64, Option<u64>) {
        let (least, most) = (self.times.least, self.times.most);
        match self.call {
            Call::BatchGet => (
                least.div_ceil(BATCH_GET_ITEMS_MAX as u64),
                most.map(|most| most.div_ceil(BATCH_GET_ITEMS_MAX as u64)),
            ),
            Call::TransactGet => (1, Some(1)),
            Call::Get | Call::Query | Call::Scan => (least, most),
        }
    }

    /// The same where it is known how many ranges or keys a request has, for how many elements of a list, of so many at most. Of ranges that
    /// are read one after the other one for each may suffice.
    pub fn with_ranges(&self, ranges: u64, (elements, elements_most): (u64, u64)) -> RequestCost {
        let least = match self.times.least_suffices {
            true => elements.min(ranges),
            false => ranges,
        };
        RequestCost {
            rows_there: self
                .rows_there
                .map(|rows| (rows / elements_most.max(1)).saturating_mul(elements)),
            times: Times {
                least,
                most: Some(ranges),
                ..self.times.clone()
            },
            ..self.clone()
        }
    }

    /// The same for a page of so many rows. How many are asked for where some may be dropped is another matter.
    pub fn for_rows(&self, wanted: u64) -> RequestCost {
        let is_page = matches!(self.call, Call::Query | Call::Scan) && !self.reads_on;
        RequestCost {
            rows: self.rows.map(|rows| if is_page { wanted } else { rows }),
            ..self.clone()
        }
    }

    /// What one request costs that reads items of these sizes; a missing item counts as one without bytes.
    pub fn request_units(&self, read_bytes: impl IntoIterator<Item = usize>) -> ReadUnits {
        match self.call {
            Call::Get | Call::Query | Call::Scan => page_units(read_bytes, self.consistency),
            Call::BatchGet | Call::TransactGet => read_bytes
                .into_iter()
                .map(|bytes| get_units(bytes, self.consistency))
                .sum(),
        }
    }
}
