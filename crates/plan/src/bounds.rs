//! Every bound that a request can reach, as a value: what is planned and checked counts on the usual ones, an engine is opened
//! with them or with others, and tests open it with small ones.
//!
//! **Invariant: no answer depends on a bound being large.** A *step* only cuts work into pieces: with any value from 1 on the same
//! rows come, in the same order. A *limit* refuses what goes beyond it; what it does not refuse is answered as without it.

use singlet_item::limits::{BATCH_GET_ITEMS_MAX, BATCH_WRITE_ITEMS_MAX, PAGE_ROWS_MAX, TRANSACTION_ITEMS_MAX};
use singlet_model::counts::COMBINATIONS_MAX;

/// What reaching a bound means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundKind {
    /// The work goes on in another piece.
    Step,
    /// The request is refused, or the model is.
    Limit,
}

/// One line of the table of bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundLine {
    /// The field of [`Bounds`].
    pub name: &'static str,
    /// What reaching it means.
    pub kind: BoundKind,
    /// What it bounds, in a sentence.
    pub meaning: &'static str,
    /// Its value.
    pub value: usize,
}

macro_rules! bounds {
    ($($name:ident: $kind:ident = $usual:expr, $meaning:literal;)*) => {
        /// The bounds of an engine. None is below 1.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Bounds {
            $(#[doc = $meaning] pub $name: usize,)*
        }

        impl Bounds {
            /// What holds unless something else is said.
            pub const USUAL: Bounds = Bounds { $($name: $usual,)* };

            /// The table, one line for each bound.
            pub fn bound_lines(&self) -> Vec<BoundLine> {
                vec![$(BoundLine {
                    name: stringify!($name),
                    kind: BoundKind::$kind,
                    meaning: $meaning,
                    value: self.$name,
                },)*]
            }

            /// Other steps, drawn by `draw` from a name and a usual value; limits stay as they are.
            #[must_use]
            pub fn with_steps(mut self, mut draw: impl FnMut(&'static str, usize) -> usize) -> Self {
                $(if BoundKind::$kind == BoundKind::Step {
                    self.$name = draw(stringify!($name), self.$name).max(1);
                })*
                self
            }
        }
    };
}

bounds! {
    rows_per_call: Step = 1_000,
        "Rows that one call asks of the store.";
    filtered_rows_min: Step = 20,
        "The fewest rows that a call asks for where a filter may drop some.";
    rounds_per_page: Step = 64,
        "How often all ranges are read on for one page of rows; then the page is given short, and its cursor goes on.";
    rows_per_page: Step = 10_000,
        "Rows that are looked at for one page; then the page is given short, and its cursor goes on.";
    millis_per_page: Step = 10_000,
        "Milliseconds after which a page is given short, and its cursor goes on.";
    short_read_rows: Step = 1_000,
        "Rows after which a read is a long one: each further call of it waits for its turn among those of other long reads.";
    calls_at_once: Step = 16,
        "Calls of one request that are under way at the same time.";
    batch_get_items: Step = BATCH_GET_ITEMS_MAX,
        "Items that one call gets by their keys.";
    batch_write_items: Step = BATCH_WRITE_ITEMS_MAX,
        "Items that one call puts while rows are loaded.";
    bulk_rows_per_page: Step = 25,
        "Rows that a `bulk` write looks up before it takes their turns.";
    bulk_turns_at_once: Step = 10,
        "Turns of a `bulk` write that share a transaction, where they are about different rows.";
    versions_per_call: Step = 10,
        "Items that one call reads while the last version of a row is looked for.";
    cursor_bytes: Step = 16_384,
        "Bytes that a cursor keeps for the places of its ranges; a range whose place does not fit is read from its beginning again.";
    page_rows_usual: Limit = 20,
        "Rows in a page, where neither the caller nor the read says.";
    page_rows_max: Limit = PAGE_ROWS_MAX,
        "Rows in a page.";
    ranges_max: Limit = 200,
        "Ranges of item collections that one selection reads: the days, ids, cells and branches that its meaning fans out to.";
    values_max: Limit = 100,
        "Values of a small domain that a read may leave open in a key.";
    alternatives_max: Limit = 16,
        "Branches of `||` in a meaning.";
    combinations_max: Limit = COMBINATIONS_MAX,
        "Combinations of optional arguments that a read has a plan for.";
    beside_rows_max: Limit = 10_000,
        "Rows of a list under `with` that has no `limit`.";
    element_rows_max: Limit = 10_000,
        "Rows of one element of `each`.";
    counted_rows_max: Limit = 1_000_000,
        "Rows that one `count` counts.";
    read_rows_max: Limit = 1_000_000,
        "Rows that are looked at for an answer that has no cursor: a `count`, a `get`, a list beside a row, a loop.";
    read_millis_max: Limit = 25_000,
        "Milliseconds that are read for an answer that has no cursor.";
    rounds_max: Limit = 4_096,
        "How often all ranges are read on for an answer that has no cursor: a `get`, a list beside a row, a loop.";
    transaction_items_max: Limit = TRANSACTION_ITEMS_MAX,
        "Items that one transaction writes or checks.";
    all_rows_max: Limit = 100_000,
        "Rows that a program which embeds the engine takes at once.";
    call_attempts_max: Limit = 6,
        "How often a call that the store throttled or did not take is made.";
    write_attempts_max: Limit = 24,
        "How often a write is evaluated anew because others changed what it had read.";
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds::USUAL
    }
}
