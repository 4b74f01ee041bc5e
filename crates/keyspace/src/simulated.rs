//! A disk in memory that loses power, fills up and fails, for tests.
//!
//! It keeps what was synced apart from what was only written. [`Cuts`] goes through all that was done to it, and at any
//! point makes the disk that is left when the power goes: of what was not synced, each write is there, is not, or is torn
//! at the borders of sectors; a new length is there or not, and so is each change of an entry.

use crate::disk::{Disk, DiskFile, FileIdentity, SyncPoint};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const SECTOR_BYTES: usize = 512;

/// The disk. Clones are the same disk.
#[derive(Clone)]
pub struct SimulatedDisk {
    state: Arc<Mutex<DiskState>>,
    /// The process that uses it: a handle of one that has died does nothing any more.
    process: u64,
}

struct DiskState {
    now: DiskImage,
    /// What was durable in the beginning, and all that was done since.
    first: DiskImage,
    journal: Vec<DiskChange>,
    process: u64,
    /// How many changes the process may still make before it dies.
    changes_left: Option<u64>,
    left_out: Option<LeftOut>,
    fault: Option<DiskFault>,
}

/// A sync that is not done.
#[derive(Clone, Copy, Debug)]
pub struct LeftOut {
    /// Which one.
    pub point: SyncPoint,
    /// All of them, or every second: those that follow an even or an odd number of others.
    pub parity: Option<u64>,
}

/// Files by their number, and what they are called.
#[derive(Clone, Default)]
struct DiskImage {
    files: Vec<Vec<u8>>,
    entries: BTreeMap<String, usize>,
}

/// Something that was done to the disk.
#[derive(Clone)]
enum DiskChange {
    Created,
    Write {
        file: usize,
        offset: u64,
        bytes: Arc<[u8]>,
    },
    SetLen {
        file: usize,
        len: u64,
    },
    Sync {
        file: usize,
    },
    /// Names and the files that they stand for from then on, at once.
    Entries(Vec<(String, Option<usize>)>),
    SyncEntries,
    Mark(u64),
}

/// A failure of the disk, at one of the calls that it concerns.
#[derive(Clone, Copy, Debug)]
pub struct DiskFault {
    /// What fails.
    pub kind: DiskFaultKind,
    /// How many such calls are done before.
    pub after: u64,
}

/// What a disk fails to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFaultKind {
    /// From then on there is no room to write anything.
    Full,
    /// One write ends in the middle.
    ShortWrite,
    /// One read fails.
    Read,
    /// One sync fails.
    Sync,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum DiskCall {
    Read,
    Write,
    /// Gives room back, which a full disk does too.
    Shrink,
    Sync,
    /// Fails only where the process is dead.
    Other,
}

struct SimulatedFile {
    disk: SimulatedDisk,
    number: usize,
}

/// Numbers that look drawn, the same for the same seed.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// A number below `end`, which is at least 1.
    pub fn number_below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end.max(1)
    }

    fn one_in(&mut self, of: u64) -> bool {
        self.number_below(of) == 0
    }
}

impl Default for SimulatedDisk {
    fn default() -> Self {
        Self::with(DiskImage::default())
    }
}

impl SimulatedDisk {
    fn with(image: DiskImage) -> Self {
        let state = DiskState {
            now: image.clone(),
            first: image,
            journal: Vec::new(),
            process: 0,
            changes_left: None,
            left_out: None,
            fault: None,
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            process: 0,
        }
    }

    /// Does nothing where it is told to sync that.
    pub fn leave_out(&self, left_out: LeftOut) {
        self.lock().left_out = Some(left_out);
    }

    /// Notes that commit `number` was answered or shown by now.
    pub fn mark_commit(&self, number: u64) {
        self.lock().journal.push(DiskChange::Mark(number));
    }

    /// Fails as told, or no longer.
    pub fn set_fault(&self, fault: Option<DiskFault>) {
        self.lock().fault = fault;
    }

    /// Whether the fault that was set has not happened.
    pub fn awaits_fault(&self) -> bool {
        self.lock().fault.is_some_and(|fault| fault.after > 0)
    }

    /// The process that uses it dies after so many more changes.
    pub fn die_after(&self, changes: u64) {
        self.lock().changes_left = Some(changes);
    }

    /// The disk as the next process finds it: what was written is there, synced or not.
    pub fn next_process(&self) -> Self {
        let mut state = self.lock();
        state.process += 1;
        state.changes_left = None;
        Self {
            state: Arc::clone(&self.state),
            process: state.process,
        }
    }

    /// Another disk with the same files.
    pub fn copy_files(&self) -> Self {
        Self::with(self.lock().now.clone())
    }

    /// How much was done to it so far: the point at which the power goes if it goes now.
    pub fn power_point(&self) -> usize {
        self.lock().journal.len()
    }

    /// All points at which the power may go.
    pub fn power_cuts(&self) -> Cuts {
        let state = self.lock();
        Cuts {
            journal: state.journal.clone(),
            at: 0,
            durable: state.first.clone(),
            unsynced: Vec::new(),
            mark: 0,
        }
    }

    fn lock(&self) -> MutexGuard<'_, DiskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, for a call that is not to fail.
    fn call(&self, call: DiskCall) -> io::Result<MutexGuard<'_, DiskState>> {
        let mut state = self.lock();
        let changes = matches!(call, DiskCall::Write | DiskCall::Shrink | DiskCall::Sync);
        match &mut state.changes_left {
            Some(0) => state.process += u64::from(state.process == self.process),
            Some(left) if changes => *left -= 1,
            _ => {}
        }
        if state.process != self.process {
            return Err(io::Error::other("the process was killed"));
        }
        state.fail(call)?;
        Ok(state)
    }

    fn change_entries(
        &self,
        call: DiskCall,
        change: impl FnOnce(&mut DiskState) -> io::Result<Vec<(String, Option<usize>)>>,
    ) -> io::Result<()> {
        let mut state = self.call(call)?;
        let entries = change(&mut state)?;
        state.now.set_entries(&entries);
        state.journal.push(DiskChange::Entries(entries));
        Ok(())
    }
}

impl DiskState {
    fn fail(&mut self, call: DiskCall) -> io::Result<()> {
        let Some(fault) = &mut self.fault else { return Ok(()) };
        let concerned = match fault.kind {
            DiskFaultKind::Full => call == DiskCall::Write,
            DiskFaultKind::Read => call == DiskCall::Read,
            DiskFaultKind::Sync => call == DiskCall::Sync,
            DiskFaultKind::ShortWrite => false,
        };
        if !concerned {
            return Ok(());
        }
        if fault.after > 0 {
            fault.after -= 1;
            return Ok(());
        }
        if fault.kind == DiskFaultKind::Full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.fault = None;
        Err(io::Error::other("the disk failed"))
    }

    /// How many of `bytes` are written, by a write that may end in the middle.
    fn written(&mut self, bytes: usize) -> usize {
        match &mut self.fault {
            Some(fault) if fault.kind == DiskFaultKind::ShortWrite && fault.after > 0 => {
                fault.after -= 1;
                bytes
            }
            Some(fault) if fault.kind == DiskFaultKind::ShortWrite => {
                self.fault = None;
                bytes / 2
            }
            _ => bytes,
        }
    }

    fn leaves_out(&mut self, point: SyncPoint) -> bool {
        match &mut self.left_out {
            Some(left_out) if left_out.point == point => match &mut left_out.parity {
                Some(others) => {
                    *others += 1;
                    *others % 2 == 1
                }
                None => true,
            },
            _ => false,
        }
    }

    fn find(&self, name: &str) -> io::Result<usize> {
        self.now
            .entries
            .get(name)
            .copied()
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl DiskImage {
    fn set_entries(&mut self, entries: &[(String, Option<usize>)]) {
        for (name, file) in entries {
            match file {
                Some(file) => self.entries.insert(name.clone(), *file),
                None => self.entries.remove(name),
            };
        }
    }

    fn write(&mut self, file: usize, offset: u64, bytes: &[u8]) {
        let Some(file) = self.files.get_mut(file) else { return };
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = offset.saturating_add(bytes.len());
        if file.len() < end {
            file.resize(end, 0);
        }
        if let Some(room) = file.get_mut(offset..end) {
            room.copy_from_slice(bytes);
        }
    }

    fn set_len(&mut self, file: usize, len: u64) {
        if let Some(file) = self.files.get_mut(file) {
            file.resize(usize::try_from(len).unwrap_or(usize::MAX), 0);
        }
    }
}

impl Disk for SimulatedDisk {
    fn name(&self) -> String {
        "a simulated disk".to_owned()
    }

    fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.call(DiskCall::Read)?.now.entries.keys().cloned().collect())
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let mut number = 0;
        self.change_entries(DiskCall::Write, |state| {
            if state.now.entries.contains_key(name) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            number = state.now.files.len();
            state.now.files.push(Vec::new());
            state.journal.push(DiskChange::Created);
            Ok(vec![(name.to_owned(), Some(number))])
        })?;
        let disk = self.clone();
        Ok(Arc::new(SimulatedFile { disk, number }))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let number = self.call(DiskCall::Read)?.find(name)?;
        let disk = self.clone();
        Ok(Arc::new(SimulatedFile { disk, number }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.change_entries(DiskCall::Write, |state| {
            let file = state.find(from)?;
            Ok(vec![(from.to_owned(), None), (to.to_owned(), Some(file))])
        })
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.change_entries(DiskCall::Shrink, |state| {
            state.find(name)?;
            Ok(vec![(name.to_owned(), None)])
        })
    }

    fn sync_entries(&self, point: SyncPoint) -> io::Result<()> {
        let mut state = self.call(DiskCall::Sync)?;
        if !state.leaves_out(point) {
            state.journal.push(DiskChange::SyncEntries);
        }
        Ok(())
    }

    fn check_still_ours(&self) -> io::Result<()> {
        self.call(DiskCall::Other).map(drop)
    }

    fn identity_of(&self, name: &str) -> io::Result<FileIdentity> {
        let number = self.call(DiskCall::Other)?.find(name)? as u64;
        Ok(FileIdentity { device: 0, number })
    }
}

impl DiskFile for SimulatedFile {
    fn len(&self) -> io::Result<u64> {
        let state = self.disk.call(DiskCall::Other)?;
        Ok(state.now.files.get(self.number).map_or(0, |file| file.len() as u64))
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let state = self.disk.call(DiskCall::Read)?;
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let bytes = state
            .now
            .files
            .get(self.number)
            .and_then(|file| file.get(offset..)?.get(..into.len()));
        into.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.disk.call(DiskCall::Write)?;
        let written = state.written(bytes.len());
        let (file, kept) = (self.number, bytes.get(..written).unwrap_or_default());
        state.now.write(file, offset, kept);
        let bytes_kept = kept.into();
        state.journal.push(DiskChange::Write {
            file,
            offset,
            bytes: bytes_kept,
        });
        if written == bytes.len() {
            Ok(())
        } else {
            Err(io::ErrorKind::WriteZero.into())
        }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let shrinks = len <= self.len()?;
        let mut state = self
            .disk
            .call(if shrinks { DiskCall::Shrink } else { DiskCall::Write })?;
        let file = self.number;
        state.now.set_len(file, len);
        state.journal.push(DiskChange::SetLen { file, len });
        Ok(())
    }

    fn identity(&self) -> io::Result<FileIdentity> {
        Ok(FileIdentity {
            device: 0,
            number: self.number as u64,
        })
    }

    fn sync(&self, point: SyncPoint) -> io::Result<()> {
        let mut state = self.disk.call(DiskCall::Sync)?;
        if !state.leaves_out(point) {
            state.journal.push(DiskChange::Sync { file: self.number });
        }
        Ok(())
    }
}

impl fmt::Debug for SimulatedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedFile")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

/// Goes through what was done to a disk, and cuts the power.
pub struct Cuts {
    journal: Vec<DiskChange>,
    at: usize,
    durable: DiskImage,
    unsynced: Vec<DiskChange>,
    mark: u64,
}

impl Cuts {
    /// How many points there are.
    pub fn point_count(&self) -> usize {
        self.journal.len()
    }

    /// The points at which a new length of a file is about to be synced: there are few of them, and much goes wrong there.
    pub fn points_with_new_length(&self) -> Vec<usize> {
        let mut new_length = std::collections::BTreeSet::new();
        let mut points = Vec::new();
        for (point, done) in self.journal.iter().enumerate() {
            match done {
                DiskChange::SetLen { file, .. } => drop(new_length.insert(*file)),
                DiskChange::Sync { file } if new_length.remove(file) => points.push(point),
                _ => {}
            }
        }
        points
    }

    /// The greatest mark that was set up to the point where it stands.
    pub fn greatest_mark(&self) -> u64 {
        self.mark
    }

    /// Goes on to a point.
    pub fn advance_to(&mut self, at: usize) {
        while self.at < at.min(self.journal.len()) {
            if let Some(done) = self.journal.get(self.at).cloned() {
                self.advance(done);
            }
            self.at += 1;
        }
    }

    fn advance(&mut self, done: DiskChange) {
        match done {
            DiskChange::Created => self.durable.files.push(Vec::new()),
            DiskChange::Mark(number) => self.mark = self.mark.max(number),
            DiskChange::Sync { file } => self.settle(|done| done.file() == Some(file)),
            DiskChange::SyncEntries => self.settle(|done| done.file().is_none()),
            done => self.unsynced.push(done),
        }
    }

    fn settle(&mut self, synced: impl Fn(&DiskChange) -> bool) {
        let (settled, left) = std::mem::take(&mut self.unsynced).into_iter().partition(synced);
        self.unsynced = left;
        let settled: Vec<DiskChange> = settled;
        for done in &settled {
            done.apply(&mut self.durable);
        }
    }

    /// What is left when the power goes here.
    pub fn cut_power(&self, random: &mut Random) -> SimulatedDisk {
        let mut image = self.durable.clone();
        let all = random.number_below(8);
        for done in &self.unsynced {
            let fate = match all {
                0 => 0,
                1 => 9,
                _ => random.number_below(10),
            };
            match fate {
                0..4 => {}
                4..7 => done.tear(&mut image, random),
                _ => done.apply(&mut image),
            }
        }
        SimulatedDisk::with(image)
    }
}

impl DiskChange {
    fn file(&self) -> Option<usize> {
        match self {
            Self::Write { file, .. } | Self::SetLen { file, .. } | Self::Sync { file } => Some(*file),
            _ => None,
        }
    }

    fn apply(&self, image: &mut DiskImage) {
        match self {
            Self::Write { file, offset, bytes } => image.write(*file, *offset, bytes),
            Self::SetLen { file, len } => image.set_len(*file, *len),
            Self::Entries(entries) => image.set_entries(entries),
            Self::Created | Self::Sync { .. } | Self::SyncEntries | Self::Mark(_) => {}
        }
    }

    /// Applies some sectors of a write; anything else happens or does not.
    fn tear(&self, image: &mut DiskImage, random: &mut Random) {
        let Self::Write { file, offset, bytes } = self else {
            if random.one_in(2) {
                self.apply(image);
            }
            return;
        };
        let mut at = *offset;
        let mut rest: &[u8] = bytes;
        while !rest.is_empty() {
            let sector_end = SECTOR_BYTES - usize::try_from(at % SECTOR_BYTES as u64).unwrap_or(0);
            let (sector, after) = rest.split_at(sector_end.min(rest.len()));
            if random.one_in(2) {
                image.write(*file, at, sector);
            }
            at += sector.len() as u64;
            rest = after;
        }
    }
}
