//! Checkpoints: changes that were frozen in memory are written to the base, and their log is removed.

use crate::answer::Promise;
use crate::base::{self, Base};
use crate::disk;
use crate::layers::{Frozen, Known, row_bytes};
use crate::limits::CHECKPOINT_PARTS;
use crate::log;
use crate::range::{Direction, LayerRows, Range};
use crate::shared::{Durable, Shared};
use crate::{Error, Result};
use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a writer waits after a group at most, for a checkpoint to get on.
const PAUSE_MAX: Duration = Duration::from_millis(50);

/// What the thread that writes to the base is to do.
#[derive(Default)]
pub(crate) struct Checkpoints {
    state: Mutex<CheckpointState>,
    changed: Condvar,
}

#[derive(Default)]
struct CheckpointState {
    /// Something is frozen and not yet in the base.
    frozen: bool,
    /// Who waits for the writer to freeze what is in memory, however little it is.
    wanting: Vec<Promise<(), Error>>,
    /// Who waits for what is frozen to be in the base.
    awaiting: Vec<Promise<(), Error>>,
    /// What is frozen could not be written to the base, for want of room.
    lacks_room: bool,
    compactions: VecDeque<Promise<(), Error>>,
    end: bool,
    /// When the one that is under way began, and how long the last one took.
    began: Option<Instant>,
    last_took: Duration,
    /// Nobody does anything of this any more.
    over: bool,
}

enum CheckpointTask {
    Write,
    WriteAnew,
    Compact(Promise<(), Error>),
}

impl Checkpoints {
    /// Says that something was frozen.
    pub(crate) fn begin(&self) {
        self.change(|state| {
            state.frozen = true;
            // Who wants all to be written waits for this one: what is frozen is all that there was.
            state.awaiting.append(&mut state.wanting);
            state.began = Some(Instant::now());
        });
    }

    fn lack_room(&self, reason: &Error) {
        let waiting = self.change(|state| {
            state.lacks_room = true;
            state.take_waiting()
        });
        refuse(waiting, reason);
    }

    fn finish(&self) {
        let done = self.change(|state| {
            state.frozen = false;
            state.lacks_room = false;
            state.last_took = state.began.take().map_or(Duration::ZERO, |began| began.elapsed());
            std::mem::take(&mut state.awaiting)
        });
        keep(done);
    }

    /// How long the writer is to wait after a group, where `filled` is the share of its memory that it has used.
    ///
    /// Without it a writer that comes faster than the base takes its changes would fill its memory and then stand still until
    /// the end of the checkpoint. Half of the memory is for bursts; the other half is to last as long as the last
    /// checkpoint took.
    pub(crate) fn writer_pause(&self, filled: f64) -> Duration {
        let state = self.lock();
        let Some(began) = state.began else {
            return Duration::ZERO;
        };
        let beyond_half = (2.0 * filled - 1.0).clamp(0.0, 1.0);
        let due = state.last_took.mul_f64(beyond_half);
        due.saturating_sub(began.elapsed()).min(PAUSE_MAX)
    }

    /// Asks for all that is in memory to be written. The writer looks at it after its next works.
    pub(crate) fn want_all(&self, promise: Promise<(), Error>) {
        self.change(|state| {
            // Where nobody writes any more the promise is dropped, which answers it.
            if !state.over {
                state.wanting.push(promise);
            }
        });
    }

    pub(crate) fn is_all_wanted(&self) -> bool {
        !self.lock().wanting.is_empty()
    }

    /// Says that nothing is in memory but what is frozen, if anything is.
    pub(crate) fn nothing_left(&self) {
        let mut state = self.lock();
        let wanting = std::mem::take(&mut state.wanting);
        if state.frozen {
            // Something is still being written, and was in memory when they asked.
            state.awaiting.extend(wanting);
            return;
        }
        // Whoever is answered may come back at once.
        drop(state);
        keep(wanting);
    }

    /// Answers everybody who waits for something to be written that it cannot be.
    pub(crate) fn refuse_all(&self, reason: &Error) {
        refuse(self.change(CheckpointState::take_waiting), reason);
    }

    /// Asks for a compaction. Where nobody does it any more, the promise is dropped, which answers it.
    pub(crate) fn want_compaction(&self, promise: Promise<(), Error>) {
        self.change(|state| {
            if !state.over {
                state.compactions.push_back(promise);
            }
        });
    }

    /// Whoever did all this does it no more.
    pub(crate) fn give_up(&self) {
        self.change(|state| {
            state.over = true;
            // Dropping the promises answers them.
            // After `over` is set, or one that comes now would wait for ever.
            drop(state.take_waiting());
        });
    }

    /// No more is to be done than what was asked for already.
    pub(crate) fn end(&self) {
        self.change(|state| state.end = true);
    }

    /// Waits until nothing is frozen, or fails where nothing more is written.
    pub(crate) fn wait_until_idle(&self, shared: &Shared) -> Result<()> {
        let mut state = self.lock();
        loop {
            let paused = || shared.pauses().base.reason();
            if let Some(reason) = shared.stop_reason().or_else(paused) {
                // Looked at anew after each wait: what is frozen stays so while there is no room, and the writer must not wait
                // for that.
                return Err(reason);
            }
            if !state.frozen {
                return Ok(());
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn next(&self, room_pause: Duration) -> Option<CheckpointTask> {
        let idle = |state: &mut CheckpointState| !state.frozen && state.compactions.is_empty() && !state.end;
        let state = self.changed.wait_while(self.lock(), idle);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        if state.lacks_room && !state.end {
            // Somebody makes room, or not: nobody tells.
            let waited = self
                .changed
                .wait_timeout_while(state, room_pause, |state| !state.end)
                .unwrap_or_else(PoisonError::into_inner);
            state = waited.0;
            // The engine of the old file writes nothing any more after a write that failed, however much room there is.
            return (!state.end).then_some(CheckpointTask::WriteAnew);
        }
        if state.frozen {
            return (!state.lacks_room).then_some(CheckpointTask::Write);
        }
        state.compactions.pop_front().map(CheckpointTask::Compact)
    }

    fn change<T>(&self, change: impl FnOnce(&mut CheckpointState) -> T) -> T {
        let changed = change(&mut self.lock());
        self.changed.notify_all();
        changed
    }

    fn lock(&self) -> MutexGuard<'_, CheckpointState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CheckpointState {
    fn take_waiting(&mut self) -> Vec<Promise<(), Error>> {
        let mut waiting = std::mem::take(&mut self.wanting);
        waiting.append(&mut self.awaiting);
        waiting.extend(self.compactions.drain(..));
        waiting
    }
}

fn keep(promises: Vec<Promise<(), Error>>) {
    promises.into_iter().for_each(|promise| promise.keep(Ok(())));
}

fn refuse(promises: Vec<Promise<(), Error>>, reason: &Error) {
    promises
        .into_iter()
        .for_each(|promise| promise.keep(Err(reason.clone())));
}

/// What the thread of the checkpoints does, until it is told to end.
pub(crate) fn run_checkpoints(shared: &Shared, durable: &Durable) {
    while let Some(task) = durable.checkpoints.next(durable.options.room_pause) {
        match task {
            CheckpointTask::Write => wrote(shared, durable, write_frozen(shared, durable)),
            CheckpointTask::WriteAnew => wrote(shared, durable, write_anew(shared, durable)),
            CheckpointTask::Compact(promise) => promise.keep(compact(shared, durable)),
        }
    }
}

/// Goes on after what was frozen was written, or was not. Without room it stays frozen, in memory and in the log, and no more is
/// taken until it is written.
fn wrote(shared: &Shared, durable: &Durable, written: Result<()>) {
    match written {
        Err(error) if error.is_paused() => {
            shared.pauses().base.set(error.clone());
            // After the pause is set, so that a writer who wakes finds the reason.
            durable.checkpoints.lack_room(&error);
        }
        Err(error) => {
            shared.stop_writes(error);
            // Also after a failure: the writer waits for nobody, and finds that writes have stopped.
            durable.checkpoints.finish();
        }
        Ok(()) => {
            // Before the writer may freeze again, which `finish` lets it.
            shared.pauses().base.clear();
            durable.checkpoints.finish();
        }
    }
}

/// Writes what is frozen to the base, part by part, and shows the base instead.
///
/// The engine uses the pages that a transaction replaces again only two transactions later, so what one transaction touches is what
/// the file is larger than its rows. Parts touch little each.
///
/// **Invariant:** a base that holds some parts has the number of before, and shows nothing wrong: the layer over it decides for
/// every key of every part, and an opening reads all of them again from the log.
fn write_frozen(shared: &Shared, durable: &Durable) -> Result<()> {
    // It does not change any more, so that no lock is held while it is written.
    let Some(frozen) = shared.published_layers().frozen.clone() else {
        return Ok(());
    };
    let part_bytes = durable.options.memory_bytes / CHECKPOINT_PARTS;
    let mut changes = frozen.changes.iter().peekable();
    loop {
        // Nothing else of what is shown is held: it would keep the pages that this part replaces.
        let Some(base) = shared.published_layers().base.clone() else {
            return Ok(());
        };
        let part = take_part(&mut changes, part_bytes);
        let is_last = changes.peek().is_none();
        // Only with the last part: a base with the new number and a part of the changes would have the log skip the rest.
        let number = if is_last { frozen.number } else { base.number };
        let written = Arc::new(base.write(part, number)?);
        // Before it is exchanged: a base that is held keeps its pages from being used again.
        drop(base);
        // The base and the end of the layer over it at once: between the two, a reader would miss what was written.
        shared.publish_change(|shown| {
            shown.base = Some(written);
            if is_last {
                shown.frozen = None;
            }
        });
        if is_last {
            break;
        }
    }
    // What cannot be removed now is removed later, or at the next opening.
    // After the base is durable and shown, for until then the log is all that keeps these commits.
    if remove_segments(durable, frozen.number).is_ok() {
        durable.log_bytes.removed_all_but_current();
    }
    Ok(())
}

/// The next changes that are written together: as many as fit in `bytes_max`, and one at least.
fn take_part<'f>(
    changes: &mut std::iter::Peekable<impl Iterator<Item = (&'f Arc<[u8]>, &'f Known)>>,
    bytes_max: usize,
) -> Vec<(&'f Arc<[u8]>, &'f Known)> {
    let mut part = Vec::new();
    let mut bytes = 0_usize;
    // One at least, however large: a part of none would go round for ever.
    while let Some((key, value)) = changes.next_if(|_| part.is_empty() || bytes < bytes_max) {
        bytes += row_bytes(key.len(), value);
        part.push((key, value));
    }
    part
}

/// Removes the segments all of whose commits are in a base of commit `number`.
fn remove_segments(durable: &Durable, number: u64) -> std::io::Result<()> {
    let segments = log::log_segments(&durable.disk.names()?);
    for (first, next) in segments.iter().zip(segments.iter().skip(1)) {
        // By where the next one begins: the last segment is being written to and stays.
        if *next <= number + 1 {
            durable.disk.remove(&log::segment_name(*first))?;
        }
    }
    Ok(())
}

/// Writes what is frozen and the rows of the base to a new file, which takes its place: the engine of the old one has seen a write
/// fail, and writes nothing any more.
fn write_anew(shared: &Shared, durable: &Durable) -> Result<()> {
    let frozen = shared.published_layers().frozen.clone();
    // With what is frozen merged in, since it may be there in parts and the layer decides in any case.
    replace_base(shared, durable, frozen.as_ref())?;
    let number = shared.published_layers().base.as_ref().map_or(0, |base| base.number);
    // What cannot be removed now is removed later, or at the next opening.
    if remove_segments(durable, number).is_ok() {
        durable.log_bytes.removed_all_but_current();
    }
    Ok(())
}

/// Writes the rows of the base to a new file, which takes its place.
fn compact(shared: &Shared, durable: &Durable) -> Result<()> {
    if let Some(stopped) = shared.stop_reason() {
        return Err(stopped);
    }
    // A base that cannot be written anew for want of room would only take more of it.
    if let Some(paused) = shared.pauses().base.reason() {
        return Err(paused);
    }
    replace_base(shared, durable, None)
}

fn replace_base(shared: &Shared, durable: &Durable, frozen: Option<&Arc<Frozen>>) -> Result<()> {
    let shown = shared.published_layers();
    let Some(base) = &shown.base else { return Ok(()) };
    let disk = &*durable.disk;
    // The highest is what an opening takes, so that a copy without its name changes nothing.
    let generation = base.generation() + 1;
    let bounds = (Bound::Unbounded, Bound::Unbounded);
    let above = frozen.map(|frozen| LayerRows::Memory(frozen.changes.range::<_, [u8]>(bounds)));
    let all = LayerRows::Base(base.range_rows(bounds)?);
    let rows = Range::new(Direction::Forward, above.into_iter().chain([all]));
    let number = frozen.map_or(base.number, |frozen| frozen.number);
    let created = Base::create_base(disk, generation, rows, number)
        .and_then(|()| Base::open(disk, generation, durable.options.cache_bytes, shared.stopped_bases()));
    let written = match created {
        Ok(written) => Arc::new(written),
        Err(error) => return Err(undo_compaction(shared, durable, generation, error)),
    };
    // Before the old file goes: from here on nobody begins to read it.
    shared.publish_change(|shown| {
        shown.base = Some(written);
        if frozen.is_some() {
            shown.frozen = None;
        }
    });
    // Snapshots that hold it read on, because the file is open.
    disk.remove(&base::base_name(base.generation()))
        .map_err(|error| Error::io(&disk.name(), "cannot remove the base of before", &error))
}

/// A copy that was not finished is removed, and nothing has changed. One that has its name already may be the one that
/// the next opening takes, so nothing may be written to the other any more.
fn undo_compaction(shared: &Shared, durable: &Durable, generation: u64, error: Error) -> Error {
    let name = base::base_name(generation);
    let named = durable.disk.names().map_or(true, |names| names.contains(&name));
    if named {
        shared.stop_writes(error.clone());
        return error;
    }
    // Otherwise it would be in the way of the next attempt, which makes a file of that name.
    let _ = durable.disk.remove(&disk::unfinished_name(&name));
    error
}
