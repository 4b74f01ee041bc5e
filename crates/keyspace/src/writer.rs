//! Group commit: works that wait at the same time are made durable by one write of the log.
//!
//! What a work changed is seen by the works after it in its group, and by nobody else until the log has it. Where the log cannot be
//! written, the layers that the group made are dropped as a whole: the works after one build on it, so that none of them can
//! be kept without the others.

use crate::disk::Disk;
use crate::draft::Draft;
use crate::layers::Layers;
use crate::limits::{GROUP_BYTES_MAX, LOG_BYTES_PER_MEMORY_BYTE};
use crate::log::Log;
use crate::shared::{Durable, Shared};
use crate::work::{Job, Ran};
use crate::{Error, Result};

/// The one who runs works, makes what they changed durable, and shows it.
#[derive(Default)]
pub(crate) struct SpaceWriter {
    /// In memory there is none.
    log: Option<Log>,
}

impl SpaceWriter {
    pub(crate) fn with_log(log: Log) -> Self {
        Self { log: Some(log) }
    }

    /// Runs works one after the other and answers them.
    pub(crate) fn run(&mut self, works: Vec<Job>, shared: &Shared) {
        let mut works = works.into_iter().peekable();
        while works.peek().is_some() {
            // Before each group and not once: the group before may be what stopped it.
            if let Some(stopped) = shared.stop_reason() {
                works.by_ref().for_each(|job| job.refuse_job(&stopped));
                return;
            }
            if let Some(paused) = self.paused(shared) {
                works.by_ref().for_each(|job| job.refuse_job(&paused));
                return;
            }
            self.run_group(&mut works, shared);
            self.freeze_if_due(shared);
        }
    }

    /// Runs as many works as are made durable together.
    ///
    /// **Invariant:** nobody is answered, and nothing is shown, before all that the group changed is durable. A work that
    /// was refused may have been so for what an earlier one of the group did, so it waits too.
    fn run_group(&mut self, works: &mut impl Iterator<Item = Job>, shared: &Shared) {
        let mut layers = (*shared.published_layers()).clone();
        let before = layers.number;
        let mut ran = Vec::new();
        for job in works {
            // Each on what those before it made, though nothing of that is shown yet.
            ran.push(self.run_one(job, &mut layers));
            if self
                .log
                .as_ref()
                .is_some_and(|log| log.frame_bytes() >= GROUP_BYTES_MAX)
            {
                break;
            }
        }
        let durable = self.make_durable(shared);
        // Otherwise all of it is dropped, also of works that changed nothing wrong: they built on one another.
        if layers.number > before && durable.is_ok() {
            // Before anybody is answered: who was answered and looks must see what was done.
            shared.publish_change(|shown| {
                shown.number = layers.number;
                shown.active = layers.active;
                shown.active_bytes = layers.active_bytes;
            });
        }
        // All with the same outcome, in order.
        for answer in ran {
            answer(durable.clone());
        }
    }

    fn run_one(&mut self, job: Job, layers: &mut Layers) -> Ran {
        let mut draft = Draft::new(layers);
        let (ran, keep) = job.run(&mut draft);
        if !keep {
            return ran;
        }
        let changes = match draft.into_changes() {
            Ok(changes) => changes,
            // It waits for the group as well: it may have been refused for what an earlier work of the group did.
            Err(error) => return Box::new(move |durable| ran(durable.and(Err(error)))),
        };
        if !changes.is_empty() {
            // Only where something changed: numbers have no gaps, and a frame has exactly the commits that it counts.
            layers.number += 1;
            if let Some(log) = &mut self.log {
                log.add_commit(layers.number, &changes);
            }
            for (key, value) in changes {
                layers.change_key(key, value);
            }
        }
        ran
    }

    /// Why nothing can be taken, where that is not found out by writing the log: the base cannot be written, or no new segment
    /// of the log can be begun, and memory is full.
    fn paused(&mut self, shared: &Shared) -> Option<Error> {
        let durable = shared.durable.as_ref()?;
        if let Some(paused) = shared.pauses().base.reason() {
            return Some(paused);
        }
        let paused = shared.pauses().log.reason()?;
        self.freeze_if_due(shared);
        let memory_bytes = durable.options.memory_bytes.saturating_mul(2);
        // As long as there is memory, writing the log is what finds out whether there is room again.
        (shared.published_layers().active_bytes >= memory_bytes).then_some(paused)
    }

    /// Makes what the works of a group changed durable. Where none changed anything, only what could be found wrong is looked
    /// at: who asks whether writes are possible hands in a work that changes nothing.
    fn make_durable(&mut self, shared: &Shared) -> Result<()> {
        let (Some(log), Some(durable)) = (&mut self.log, &shared.durable) else {
            return Ok(());
        };
        let disk = &*durable.disk;
        let is_paused = shared.pauses().log.reason().is_some();
        let written = disk
            // Before a byte is written: a log in a folder that is no longer ours is written for nobody.
            .check_still_ours()
            .map_err(|error| Error::out_of_sight(&error))
            .and_then(|()| log.check(disk))
            .and_then(|()| check_base(shared, disk))
            .and_then(|()| match log.frame_bytes() {
                0 if is_paused => log.append_nothing(disk),
                _ => log.append_frame(disk),
            });
        // Where a check failed, the frame was not written and must not go out with the next group.
        log.drop_frame();
        durable.log_bytes.set(log.bytes());
        match &written {
            // A group that was written is the proof that there is room.
            Ok(()) => shared.pauses().log.clear(),
            Err(error) if error.is_paused() => shared.pauses().log.set(error.clone()),
            Err(error) => shared.stop_writes(error.clone()),
        }
        written
    }

    /// Hands the changes in memory over to be written to the base, where they are enough for that.
    fn freeze_if_due(&mut self, shared: &Shared) {
        let (Some(log), Some(durable)) = (&mut self.log, &shared.durable) else {
            return;
        };
        if !is_due(log, durable, shared) {
            pause(durable, shared);
            return;
        }
        if let Err(reason) = freeze(log, durable, shared) {
            // Who waits for it hears so at once: nobody knows when there is room again.
            durable.checkpoints.refuse_all(&reason);
        }
    }

    /// Writes all that is in memory to the base, so that the next opening has nothing to read again.
    pub(crate) fn end(&mut self, shared: &Shared) {
        let (Some(log), Some(durable)) = (&mut self.log, &shared.durable) else {
            return;
        };
        // An empty layer would begin a segment and write a base for nothing.
        if !shared.published_layers().active.is_empty() {
            // What could not be written is in the log.
            let _ = freeze(log, durable, shared);
        }
    }
}

/// Begins another segment of the log and hands the changes in memory over, once those of before are in the base.
fn freeze(log: &mut Log, durable: &Durable, shared: &Shared) -> Result<()> {
    // One frozen layer at most: a second would take the place of one that is not in the base.
    durable.checkpoints.wait_until_idle(shared)?;
    let next = shared.published_layers().number + 1;
    match Log::create_segment(&*durable.disk, next) {
        // Only once the segment is durable: the old one goes on where a new one cannot be begun.
        Ok(created) => *log = created,
        Err(error) if error.is_paused() => {
            shared.pauses().log.set(error.clone());
            return Err(error);
        }
        Err(error) => {
            shared.stop_writes(error.clone());
            return Err(error);
        }
    }
    durable.log_bytes.begin_segment(log.bytes());
    // After the segment is there: what is frozen is in the old one, and what comes now in the new.
    shared.publish_change(Layers::freeze_changes);
    durable.checkpoints.begin();
    Ok(())
}

/// Fails where the file of the base is no longer the one that was opened.
fn check_base(shared: &Shared, disk: &dyn Disk) -> Result<()> {
    let shown = || shared.published_layers().base.clone();
    let mut base = shown();
    loop {
        let Some(looked_at) = base else { return Ok(()) };
        let checked = looked_at.check(disk);
        // Asked again after the check: only a base that is still shown can be judged.
        base = shown();
        // A compaction shows another one before it removes this one.
        let is_shown = base
            .as_ref()
            .is_some_and(|base| base.generation() == looked_at.generation());
        if checked.is_ok() || is_shown {
            return checked;
        }
    }
}

/// Whether the changes in memory are to be written to the base now. Where earlier ones still are, the writer waits for
/// them: so memory holds two layers at most, and writes come no faster than the base takes them in the long run.
fn is_due(log: &Log, durable: &Durable, shared: &Shared) -> bool {
    let shown = shared.published_layers();
    if shown.active.is_empty() {
        durable.checkpoints.nothing_left();
        return false;
    }
    let memory_bytes = durable.options.memory_bytes;
    // The log of rows that are written over and over grows without them.
    shown.active_bytes >= memory_bytes
        || log.bytes() >= (memory_bytes as u64).saturating_mul(LOG_BYTES_PER_MEMORY_BYTE)
        || durable.checkpoints.is_all_wanted()
}

fn pause(durable: &Durable, shared: &Shared) {
    let filled = shared.published_layers().active_bytes as f64 / durable.options.memory_bytes.max(1) as f64;
    let pause = durable.checkpoints.writer_pause(filled);
    if !pause.is_zero() {
        std::thread::sleep(pause);
    }
}
