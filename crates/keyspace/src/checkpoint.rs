//! Checkpoints: changes that were frozen in memory are written to the base, and their log is removed.

use crate::answer::Answer;
use crate::base::{self, Base};
use crate::disk;
use crate::log;
use crate::range::{Direction, Range, Source};
use crate::shared::{Durable, Shared};
use crate::{Error, Result};
use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// What the thread that writes to the base is to do.
#[derive(Default)]
pub(crate) struct Checkpoints {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Something is frozen and not yet in the base.
    frozen: bool,
    /// The writer is to freeze what is in memory, however little it is.
    all_wanted: bool,
    compactions: VecDeque<Arc<Answer<Result<()>>>>,
    end: bool,
}

enum Task {
    Write,
    Compact(Arc<Answer<Result<()>>>),
}

impl Checkpoints {
    /// Says that something was frozen.
    pub(crate) fn begin(&self) {
        self.change(|state| {
            state.frozen = true;
            state.all_wanted = false;
        });
    }

    pub(crate) fn want_all(&self) {
        self.change(|state| state.all_wanted = true);
    }

    pub(crate) fn is_all_wanted(&self) -> bool {
        self.lock().all_wanted
    }

    pub(crate) fn nothing_left(&self) {
        if self.is_all_wanted() {
            self.change(|state| state.all_wanted = false);
        }
    }

    pub(crate) fn want_compaction(&self, answer: Arc<Answer<Result<()>>>) {
        self.change(|state| state.compactions.push_back(answer));
    }

    /// No more is to be done than what was asked for already.
    pub(crate) fn end(&self) {
        self.change(|state| state.end = true);
    }

    pub(crate) fn wake_all(&self) {
        self.change(|_| ());
    }

    /// Waits until nothing is frozen. Answers whether that is so, or the space stopped.
    pub(crate) fn wait_until_idle(&self, shared: &Shared) -> bool {
        self.wait_while(shared, |state| state.frozen)
    }

    /// Waits until all is written that was wanted.
    pub(crate) fn wait_until_written(&self, shared: &Shared) -> bool {
        self.wait_while(shared, |state| state.frozen || state.all_wanted)
    }

    fn wait_while(&self, shared: &Shared, waiting: impl Fn(&State) -> bool) -> bool {
        let state = self.lock();
        let waits = |state: &mut State| waiting(state) && shared.stopped().is_none();
        drop(
            self.changed
                .wait_while(state, waits)
                .unwrap_or_else(PoisonError::into_inner),
        );
        shared.stopped().is_none()
    }

    fn next(&self) -> Option<Task> {
        let idle = |state: &mut State| !state.frozen && state.compactions.is_empty() && !state.end;
        let state = self.changed.wait_while(self.lock(), idle);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        if state.frozen {
            return Some(Task::Write);
        }
        state.compactions.pop_front().map(Task::Compact)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the thread of the checkpoints does, until it is told to end.
pub(crate) fn run(shared: &Shared, durable: &Durable) {
    while let Some(task) = durable.checkpoints.next() {
        match task {
            Task::Write => {
                if let Err(error) = write_frozen(shared, durable) {
                    shared.stop(error);
                }
                durable.checkpoints.change(|state| state.frozen = false);
            }
            Task::Compact(answer) => answer.give(compact(shared, durable)),
        }
    }
}

/// Writes what is frozen to the base and shows the base instead.
fn write_frozen(shared: &Shared, durable: &Durable) -> Result<()> {
    let shown = shared.published();
    let (Some(frozen), Some(base)) = (&shown.frozen, &shown.base) else {
        return Ok(());
    };
    let written = Arc::new(base.write(frozen)?);
    let number = written.number;
    shared.publish(|shown| {
        shown.frozen = None;
        shown.base = Some(written);
    });
    // What cannot be removed now is removed later, or at the next opening.
    if remove_segments(durable, number).is_ok() {
        durable.log_bytes.removed_all_but_current();
    }
    Ok(())
}

/// Removes the segments all of whose commits are in a base of commit `number`.
fn remove_segments(durable: &Durable, number: u64) -> std::io::Result<()> {
    let segments = log::segments(&durable.disk.names()?);
    for (first, next) in segments.iter().zip(segments.iter().skip(1)) {
        if *next <= number + 1 {
            durable.disk.remove(&log::segment_name(*first))?;
        }
    }
    Ok(())
}

/// Writes the rows of the base to a new file, which takes its place.
fn compact(shared: &Shared, durable: &Durable) -> Result<()> {
    if let Some(stopped) = shared.stopped() {
        return Err(stopped);
    }
    let shown = shared.published();
    let Some(base) = &shown.base else { return Ok(()) };
    let disk = &*durable.disk;
    let generation = base.generation() + 1;
    let all = base.range((Bound::Unbounded, Bound::Unbounded))?;
    let rows = Range::new(Direction::Forward, [Source::Base(all)]);
    let created = Base::create(disk, generation, rows, base.number)
        .and_then(|()| Base::open(disk, generation, durable.options.cache_bytes));
    let written = match created {
        Ok(written) => Arc::new(written),
        Err(error) => return Err(undo_compaction(shared, durable, generation, error)),
    };
    shared.publish(|shown| shown.base = Some(written));
    disk.remove(&base::base_name(base.generation()))
        .map_err(|error| Error::io(&disk.name(), "cannot remove the base of before", &error))
}

/// A copy that was not finished is removed, and nothing has changed. One that has its name already may be the one that
/// the next opening takes, so nothing may be written to the other any more.
fn undo_compaction(shared: &Shared, durable: &Durable, generation: u64, error: Error) -> Error {
    let name = base::base_name(generation);
    let named = durable.disk.names().map_or(true, |names| names.contains(&name));
    if named {
        shared.stop(error.clone());
        return error;
    }
    let _ = durable.disk.remove(&disk::unfinished(&name));
    error
}
