//! A disk that fills up, fails to read or to sync, or ends a write in the middle, at any call: writes stop with a clear
//! reason, reads go on, and nothing that was answered is lost.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test may stop, and says what it saw"
)]

mod common;

use common::{Model, commit, open_and_check, small};
use singlet_keyspace::simulated::{DiskFault, DiskFaultKind, SimulatedDisk};
use singlet_keyspace::{Error, Keyspace};
use std::sync::Arc;

/// Runs into the fault, and answers whether it happened, and at the opening already.
fn run_into(fault: DiskFault, model: &mut Model) -> (bool, bool) {
    let disk = SimulatedDisk::default();
    disk.set_fault(Some(fault));
    let mut answered = 0;
    let opened = Keyspace::open_on(Arc::new(disk.clone()), small());
    let at_opening = opened.is_err();
    if let Ok(space) = opened {
        let stopped = loop {
            match commit(&space) {
                Ok(number) => answered = number,
                Err(error) => break Some(error),
            }
            if answered == 40 && space.compact().is_err() {
                break None;
            }
            if answered == 80 {
                break None;
            }
        };
        let mut shown = space.snapshot();
        if let Some(stopped) = stopped {
            // What fails to be read may be a read of the work itself; else nothing is written any more.
            if stopped.is_paused() {
                assert_eq!(fault.kind, DiskFaultKind::Full, "{stopped}");
                assert_eq!(stopped.told_publicly(), Some("the disk is full"));
                model.check(&space.snapshot()).unwrap();
                disk.set_fault(None);
                answered = goes_on(&space);
                shown = space.snapshot();
            } else if fault.kind != DiskFaultKind::Read {
                assert!(stopped.is_stopped(), "{stopped}");
                let again = commit(&space).unwrap_err();
                assert!(
                    again.is_stopped() && again.to_string().contains("no more writes"),
                    "{again}"
                );
            }
        }
        assert!(shown.number() >= answered);
        if fault.kind != DiskFaultKind::Read {
            model.check(&shown).unwrap();
            model.check(&space.snapshot()).unwrap();
            answered = space.snapshot().number();
        }
    }
    let happened = !disk.awaits_fault();
    disk.set_fault(None);
    if let Err(error) = open_and_check(disk.next_process(), answered, model) {
        panic!("{fault:?}, after {answered} commits: {error}");
    }
    (happened, at_opening)
}

/// There is room again: writes are taken by themselves. The log and the base may each have met the full disk, and each goes on by itself.
fn goes_on(space: &Keyspace) -> u64 {
    for _ in 0..40 {
        until_taken(|| commit(space));
    }
    until_taken(|| space.compact());
    until_taken(|| commit(space))
}

fn until_taken<T>(write: impl Fn() -> Result<T, Error>) -> T {
    let began = std::time::Instant::now();
    loop {
        match write() {
            Ok(taken) => return taken,
            Err(error) => assert!(error.is_paused() && began.elapsed().as_secs() < 60, "{error}"),
        }
        std::thread::yield_now();
    }
}

fn at_every_call(kind: DiskFaultKind, step: u64) {
    let mut model = Model::default();
    let (mut after, mut later) = (0, 0);
    loop {
        let (happened, at_opening) = run_into(DiskFault { kind, after }, &mut model);
        if !happened {
            break;
        }
        later += u64::from(!at_opening);
        // The calls of the opening one by one, then some of the others.
        after += if at_opening { 1 } else { step };
    }
    assert!(later > 10, "only {later} faults after the opening");
}

#[test]
fn a_full_disk_stops_writes_until_there_is_room_and_loses_nothing() {
    at_every_call(DiskFaultKind::Full, 13);
}

#[test]
fn a_write_that_ends_in_the_middle_stops_writes_and_loses_nothing() {
    at_every_call(DiskFaultKind::ShortWrite, 11);
}

#[test]
fn a_sync_that_fails_stops_writes_and_loses_nothing() {
    at_every_call(DiskFaultKind::Sync, 7);
}

#[test]
fn a_read_that_fails_is_said_and_loses_nothing() {
    at_every_call(DiskFaultKind::Read, 5);
}

/// The commit that asks for it changes nothing, so it is the next segment of the log that finds no room.
#[test]
fn who_asks_for_all_to_be_written_hears_that_there_is_no_room() {
    let disk = SimulatedDisk::default();
    let space = Keyspace::open_on(Arc::new(disk.clone()), small()).unwrap();
    let answered = commit(&space).unwrap();
    disk.set_fault(Some(DiskFault {
        kind: DiskFaultKind::Full,
        after: 0,
    }));
    for refused in [space.checkpoint(), space.compact()] {
        let refused = refused.unwrap_err();
        assert!(refused.is_paused(), "{refused}");
    }
    disk.set_fault(None);
    assert!(goes_on(&space) > answered);
}
