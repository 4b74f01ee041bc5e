//! Writes that run after changes, and copies that an operator has mended.

use std::sync::Arc;
use std::time::{Duration, Instant};

use singlet_changes::{
    FollowError, Lease, TriggerFollower, TriggerObserver, entities_with_kept_copies, repair_as_asked,
};
use singlet_face::Company;
use singlet_runtime::Engine;

use crate::noticed::Noticed;
use crate::pace::{head_pause, lag_of, now_millis, pause_after};

/// How often it is looked what operators ask for of parked changes.
const ORDERS_PAUSE: Duration = Duration::from_secs(1);

/// How often it is looked for timers that are due.
const TIMERS_PAUSE: Duration = Duration::from_secs(1);

/// Runs what is to run after changes. Whatever is dropped half-way here is as if the process had ended there: it comes again.
pub(crate) async fn follow_for_ever(
    engine: &Arc<Engine>,
    noticed: &Arc<Noticed>,
    company: Company,
    lease: &mut Option<Lease>,
) {
    if engine.model().followed_changes().next().is_none() {
        return;
    }
    let mut failures = 0_u32;
    loop {
        let ended = follow_while_held(engine, noticed, company, lease, &mut failures).await;
        pause_after(ended, noticed, &mut failures).await;
    }
}

/// Mends copies where an operator asks for it. Only a folder has one process that must be asked; elsewhere the command does it itself.
pub(crate) async fn repair_for_ever(engine: &Arc<Engine>, noticed: &Arc<Noticed>, company: Company) {
    if company == Company::Shared || entities_with_kept_copies(engine.model()).next().is_none() {
        return;
    }
    let mut failures = 0_u32;
    loop {
        match repair_as_asked(engine, &now_millis).await {
            Ok(_) => {
                failures = 0;
                tokio::time::sleep(ORDERS_PAUSE).await;
            }
            Err(error) => pause_after(Err(error), noticed, &mut failures).await,
        }
    }
}

/// One who runs writes after changes. What is shared is DynamoDB, whose indexes may be behind.
pub async fn start_triggers(
    engine: &Arc<Engine>,
    observer: Arc<dyn TriggerObserver>,
    company: Company,
) -> Result<TriggerFollower, FollowError> {
    let follower = TriggerFollower::start(Arc::clone(engine), observer, now_millis()).await?;
    Ok(match company {
        Company::Shared => follower.with_late_indexes(),
        Company::Alone => follower,
    })
}

/// Follows for as long as this process has the lease; a folder has one process, and needs none.
async fn follow_while_held(
    engine: &Arc<Engine>,
    noticed: &Arc<Noticed>,
    company: Company,
    lease: &mut Option<Lease>,
    failures: &mut u32,
) -> Result<(), FollowError> {
    let observer: Arc<dyn TriggerObserver> = noticed.clone();
    let mut follower = start_triggers(engine, observer, company).await?;
    let shared = company == Company::Shared;
    let lease = lease.get_or_insert_with(|| follower.trigger_lease());
    follower.fire_due(now_millis()).await?;
    // Before a page: where no more changes can be parked, none is read until some of them are dealt with.
    follower.follow_orders(&now_millis).await?;
    let (mut looked, mut fired) = (Instant::now(), Instant::now());
    loop {
        if shared && !lease.hold_lease(now_millis()).await? {
            return Ok(());
        }
        let page = follower.follow_page(&now_millis).await?;
        if fired.elapsed() >= TIMERS_PAUSE {
            follower.fire_due(now_millis()).await?;
            fired = Instant::now();
        }
        *failures = 0;
        let parked = follower.parked_changes();
        if !parked.is_empty() && looked.elapsed() >= ORDERS_PAUSE {
            follower.follow_orders(&now_millis).await?;
            looked = Instant::now();
        }
        let lag = lag_of(page.newest_at);
        let left = parked.iter().filter(|parked| parked.next_try().is_none()).count();
        noticed.note_followed(lag, left, parked.len() - left);
        if page.records == 0 {
            tokio::time::sleep(head_pause(company)).await;
        }
    }
}
