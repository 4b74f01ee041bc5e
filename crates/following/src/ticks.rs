//! Writes that run by the clock.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use singlet_changes::{FollowError, Lease, Ticker, TriggerObserver};
use singlet_face::Company;
use singlet_runtime::Engine;

use crate::noticed::Noticed;
use crate::pace::{LEASE_PAUSE, now_millis, pause_after};

/// How often the clock is looked at for ticks; it may jump.
const TICKS_PAUSE: Duration = Duration::from_secs(1);

/// Runs what is to run by the clocks of writes.
pub(crate) async fn tick_for_ever(
    engine: &Arc<Engine>,
    noticed: &Arc<Noticed>,
    company: Company,
    lease: &mut Option<Lease>,
) {
    if engine.model().scheduled_writes().next().is_none() {
        return;
    }
    let mut failures = 0_u32;
    loop {
        let ended = tick_while_held(engine, noticed, company, lease, &mut failures).await;
        pause_after(ended, noticed, &mut failures).await;
    }
}

/// Runs the ticks of all writes for as long as this process has the lease, which is renewed while they run.
async fn tick_while_held(
    engine: &Arc<Engine>,
    noticed: &Arc<Noticed>,
    company: Company,
    lease: &mut Option<Lease>,
    failures: &mut u32,
) -> Result<(), FollowError> {
    let lease = lease.get_or_insert_with(|| Ticker::tick_lease(engine));
    let shared = company == Company::Shared;
    if shared && !lease.hold_lease(now_millis()).await? {
        return Ok(());
    }
    let observer: Arc<dyn TriggerObserver> = noticed.clone();
    let mut tickers = Ticker::start_all(engine, &observer, now_millis()).await?;
    *failures = 0;
    let mut ticking = Box::pin(try_join_all(tickers.iter_mut().map(tick_write)));
    loop {
        tokio::select! {
            ended = &mut ticking => return ended.map(|_| ()),
            () = tokio::time::sleep(LEASE_PAUSE) => {
                if shared && !lease.hold_lease(now_millis()).await? {
                    return Ok(());
                }
            }
        }
    }
}

/// Runs the ticks of one write until the store fails.
async fn tick_write(ticker: &mut Ticker) -> Result<(), FollowError> {
    loop {
        ticker.run_due(now_millis()).await?;
        ticker.follow_orders().await?;
        tokio::time::sleep(TICKS_PAUSE).await;
    }
}
