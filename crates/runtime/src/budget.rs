//! What one request may read: rows, time and bytes, and how it gives way to others.
//!
//! A read that turns out to be long is cut into calls, and each of them waits for its turn: only so many calls of long reads run
//! at once, one of each read after the other, so that short reads always find a thread. Between some rows it lets other
//! tasks run. Past its budget a page is given short, and what has no pages is refused.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use singlet_plan::Bounds;
use singlet_store::{Consumed, PageAnswer};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::error::RuntimeError;

/// Rows that are taken apart before other tasks may run: some tens of microseconds.
const ROWS_AT_A_STRETCH: usize = 64;

/// Bytes that half a unit of read capacity stands for at most.
const HALF_UNIT_BYTES: u64 = 4096;

/// How much of the memory of a process one request may have.
pub trait Memory: Send + Sync + fmt::Debug {
    /// Takes so many bytes in all for the rows of a request. Whether they are to be had.
    fn hold(&self, bytes: usize) -> bool;

    /// The read has looked at many rows and goes on: whoever runs it may do so elsewhere from now on.
    fn turns_long(&self) {}
}

/// Turns that the calls of long reads take. Engines of one process share them.
#[derive(Clone, Debug)]
pub struct Turns(Arc<Semaphore>);

impl Turns {
    /// So many calls of long reads at once.
    pub fn at_once(calls: NonZeroUsize) -> Self {
        // A semaphore panics beyond it.
        Turns(Arc::new(Semaphore::new(calls.get().min(Semaphore::MAX_PERMITS))))
    }

    /// As many as leave half of the processors to short reads, and at least one.
    pub fn of_this_machine() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Turns::at_once(NonZeroUsize::new(processors / 2).unwrap_or(NonZeroUsize::MIN))
    }
}

/// What one request has read so far, and what it may.
#[derive(Debug)]
pub(crate) struct ReadBudget<'t> {
    turns: &'t Turns,
    memory: Option<Arc<dyn Memory>>,
    /// When it was first asked for; what is answered at once never asks, and a clock takes time too.
    began: OnceLock<Instant>,
    rows: AtomicUsize,
    /// Whether it was said that the read is long.
    is_long: AtomicBool,
    /// Bytes of rows that were read and may still be there.
    bytes: AtomicUsize,
}

/// Where a page began in the budget of its request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageStart {
    rows: usize,
    began: Instant,
}

impl<'t> ReadBudget<'t> {
    pub(crate) fn new(turns: &'t Turns, memory: Option<Arc<dyn Memory>>) -> Self {
        ReadBudget {
            turns,
            memory,
            began: OnceLock::new(),
            rows: AtomicUsize::new(0),
            is_long: AtomicBool::new(false),
            bytes: AtomicUsize::new(0),
        }
    }

    /// The turn of the next call, where the read is long by now.
    pub(crate) async fn next_turn(&self, bounds: &Bounds) -> Option<SemaphorePermit<'_>> {
        match self.say_if_long(bounds).await {
            true => self.turns.0.acquire().await.ok(),
            false => None,
        }
    }

    /// Says that the read is long as soon as it is, before the rows of its first long page are taken apart. Whether it is.
    pub(crate) async fn say_if_long(&self, bounds: &Bounds) -> bool {
        // A short read never waits: it would stand behind the long ones that it must not suffer from.
        if self.rows() < bounds.short_read_rows {
            return false;
        }
        if let Some(memory) = &self.memory
            // Said once: whoever runs this may move it elsewhere, and does so a single time.
            && !self.is_long.swap(true, Ordering::Relaxed)
        {
            memory.turns_long();
            // Whoever runs this is asked by this.
            tokio::task::yield_now().await;
        }
        true
    }

    /// Counts what a call has looked at, and holds what it has brought.
    ///
    /// # Errors
    ///
    /// Where there is no room for it.
    pub(crate) fn take_page(&self, page: &PageAnswer) -> Result<(), RuntimeError> {
        // What was looked at, and not what was kept: it is the work that is bounded.
        self.rows.fetch_add(page.scanned, Ordering::Relaxed);
        self.hold_brought(page.items.len(), page.scanned, &page.consumed)
    }

    /// Counts what was fetched by keys: its memory alone, for it is as many rows as were looked at where the keys come from.
    ///
    /// # Errors
    ///
    /// Where there is no room for it.
    pub(crate) fn take_fetched(&self, items: usize, consumed: &Consumed) -> Result<(), RuntimeError> {
        self.hold_brought(items, items, consumed)
    }

    fn hold_brought(&self, items: usize, scanned: usize, consumed: &Consumed) -> Result<(), RuntimeError> {
        let Some(memory) = &self.memory else { return Ok(()) };
        if items == 0 {
            return Ok(());
        }
        let bytes = brought_bytes(consumed, items, scanned);
        // All of the request, since the pages that came before are still there.
        let all = self.bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        match memory.hold(all) {
            true => Ok(()),
            false => Err(RuntimeError::NoRoom),
        }
    }

    /// Says that none of the rows so far is kept.
    pub(crate) fn keep_none(&self) {
        self.bytes.store(0, Ordering::Relaxed);
    }

    pub(crate) fn start_page(&self) -> PageStart {
        PageStart {
            rows: self.rows(),
            began: Instant::now(),
        }
    }

    /// Whether a page has read as much as one page may.
    pub(crate) fn is_page_spent(&self, start: PageStart, bounds: &Bounds) -> bool {
        // Rows and time, for either may be the scarce one: a store that is slow gives few rows in much time.
        self.rows() - start.rows >= bounds.rows_per_page || start.began.elapsed() >= millis(bounds.millis_per_page)
    }

    /// Refuses a read without pages that has looked at more rows than it may.
    ///
    /// # Errors
    ///
    /// Where it has.
    pub(crate) fn check_rows(&self, name: &str, bounds: &Bounds) -> Result<(), RuntimeError> {
        match self.rows() <= bounds.read_rows_max {
            true => Ok(()),
            false => Err(RuntimeError::TooManyRows {
                name: name.to_owned(),
                rows_max: bounds.read_rows_max,
            }),
        }
    }

    /// Refuses to read on without pages after more time than there is.
    ///
    /// # Errors
    ///
    /// Where it is over.
    pub(crate) fn check_time(&self, name: &str, bounds: &Bounds) -> Result<(), RuntimeError> {
        match self.began.get_or_init(Instant::now).elapsed() <= millis(bounds.read_millis_max) {
            true => Ok(()),
            false => Err(RuntimeError::TooSlow {
                name: name.to_owned(),
                millis_max: bounds.read_millis_max,
            }),
        }
    }

    fn rows(&self) -> usize {
        self.rows.load(Ordering::Relaxed)
    }
}

/// Lets other tasks run after every so many rows.
#[derive(Debug, Default)]
pub(crate) struct Stretch(usize);

impl Stretch {
    pub(crate) async fn row(&mut self) {
        self.0 += 1;
        if self.0 >= ROWS_AT_A_STRETCH {
            self.0 = 0;
            // Between rows that are taken apart, where no call waits: a thread that never gives way keeps short reads from
            // starting.
            tokio::task::yield_now().await;
        }
    }
}

fn millis(count: usize) -> Duration {
    Duration::from_millis(u64::try_from(count).unwrap_or(u64::MAX))
}

/// Bytes of the items that a call brought, at most: its cost tells what it looked at, and a filter may have kept some of that.
fn brought_bytes(consumed: &Consumed, items: usize, scanned: usize) -> usize {
    let looked_at = consumed.total_units().read.half_count().saturating_mul(HALF_UNIT_BYTES);
    // A page may have more items than were counted as looked at, and a part is never more than the whole.
    let part = looked_at.saturating_mul(items as u64) / (scanned.max(items).max(1) as u64);
    usize::try_from(part).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    fn looked_at(turns: &Turns, rows: usize) -> ReadBudget<'_> {
        let budget = ReadBudget::new(turns, None);
        let page = PageAnswer {
            scanned: rows,
            ..PageAnswer::default()
        };
        assert!(budget.take_page(&page).is_ok());
        budget
    }

    #[test]
    fn long_reads_take_turns_and_short_ones_do_not_wait() {
        for calls in [1, 2] {
            let turns = Turns::at_once(NonZeroUsize::new(calls).unwrap_or(NonZeroUsize::MIN));
            let bounds = Bounds {
                short_read_rows: 2,
                ..Bounds::USUAL
            };
            let (long, waiting, short) = (looked_at(&turns, 2), looked_at(&turns, 7), looked_at(&turns, 1));
            let mut taken: Vec<_> = (0..calls).map(|_| long.next_turn(&bounds).now_or_never()).collect();
            assert!(taken.iter().all(|turn| matches!(turn, Some(Some(_)))));
            let mut next = Box::pin(waiting.next_turn(&bounds));
            assert!(next.as_mut().now_or_never().is_none());
            assert!(matches!(short.next_turn(&bounds).now_or_never(), Some(None)));
            drop(taken.pop());
            assert!(matches!(next.now_or_never(), Some(Some(_))));
        }
    }

    #[test]
    fn time_that_is_over_is_said_with_its_bound() {
        let bounds = Bounds {
            read_millis_max: 50,
            millis_per_page: 50,
            ..Bounds::USUAL
        };
        let turns = Turns::of_this_machine();
        let mut budget = ReadBudget::new(&turns, None);
        let mut page = budget.start_page();
        assert!(budget.check_time("counts", &bounds).is_ok() && !budget.is_page_spent(page, &bounds));
        let earlier = Instant::now().checked_sub(Duration::from_millis(51));
        (budget.began, page.began) = (earlier.unwrap_or(page.began).into(), earlier.unwrap_or(page.began));
        assert!(budget.is_page_spent(page, &bounds));
        let error = budget.check_time("counts", &bounds).map_err(|error| error.to_string());
        assert_eq!(
            error,
            Err("`counts` took longer than 50 milliseconds to read".to_owned())
        );
    }

    /// A memory that has so many bytes.
    #[derive(Debug)]
    struct Little(usize);

    impl Memory for Little {
        fn hold(&self, bytes: usize) -> bool {
            bytes <= self.0
        }
    }

    #[test]
    fn rows_that_are_kept_are_held_and_those_that_are_not_make_room() {
        let turns = Turns::of_this_machine();
        let budget = ReadBudget::new(&turns, Some(Arc::new(Little(8_192))));
        let cost = singlet_store::TableConsumed {
            table: singlet_store::Units::read(singlet_item::ReadUnits::from_halves(2)),
            ..Default::default()
        };
        let page = |items: usize| PageAnswer {
            items: vec![singlet_item::Item::new(); items],
            scanned: 4,
            consumed: Consumed {
                tables: [("t".to_owned(), cost.clone())].into(),
            },
            ..PageAnswer::default()
        };
        assert!(budget.take_page(&page(4)).is_ok());
        // A filter left a quarter of what was looked at, and there is no room even for that.
        assert!(matches!(budget.take_page(&page(1)), Err(RuntimeError::NoRoom)));
        assert!(budget.take_page(&page(0)).is_ok());
        budget.keep_none();
        assert!(budget.take_page(&page(4)).is_ok());
        // What is fetched by keys takes room as what is read in ranges does.
        assert!(matches!(
            budget.take_fetched(1, &page(4).consumed),
            Err(RuntimeError::NoRoom)
        ));
        budget.keep_none();
        assert!(budget.take_fetched(4, &page(4).consumed).is_ok());
    }
}
