//! Tallies that are kept, and built.

use std::sync::Arc;
use std::time::{Duration, Instant};

use singlet_changes::{FollowError, Lease, TallyFollower};
use singlet_face::Company;
use singlet_runtime::Engine;

use crate::noticed::Noticed;
use crate::pace::{HEAD_PAUSE_SHARED, head_pause, lag_of, now_millis, pause_after, stream_late_millis};

/// How often it is looked whether the figures of a tally are to be counted anew, where that costs nothing.
const FIGURES_PAUSE_ALONE: Duration = Duration::from_secs(1);

/// The same in DynamoDB.
const FIGURES_PAUSE_SHARED: Duration = Duration::from_secs(15);

/// Keeps the tallies of a model.
pub(crate) async fn tally_for_ever(
    engine: &Arc<Engine>,
    noticed: &Arc<Noticed>,
    company: Company,
    lease: &mut Option<Lease>,
) {
    if engine.model().tallies.is_empty() {
        return;
    }
    let mut failures = 0_u32;
    loop {
        let ended = tally_while_held(engine, noticed, company, lease, &mut failures).await;
        pause_after(ended, noticed, &mut failures).await;
    }
}

/// Keeps tallies for as long as this process has the lease.
async fn tally_while_held(
    engine: &Arc<Engine>,
    noticed: &Arc<Noticed>,
    company: Company,
    lease: &mut Option<Lease>,
    failures: &mut u32,
) -> Result<(), FollowError> {
    let shared = company == Company::Shared;
    let lease = lease.get_or_insert_with(|| TallyFollower::tally_lease(engine));
    if shared && !lease.hold_lease(now_millis()).await? {
        return Ok(());
    }
    // Only with the lease: building scans the whole table.
    let mut tallies = TallyFollower::start(Arc::clone(engine), stream_late_millis(company), now_millis()).await?;
    let mut looked = Instant::now();
    let look_pause = if shared {
        FIGURES_PAUSE_SHARED
    } else {
        FIGURES_PAUSE_ALONE
    };
    loop {
        // Before each page: it saves work, and a page without it is refused by the position alone.
        if shared && !lease.hold_lease(now_millis()).await? {
            return Ok(());
        }
        let page = tallies.follow_page(&now_millis).await?;
        *failures = 0;
        noticed.note_tallied(lag_of(page.newest_at), page.groups);
        if page.built > 0 {
            tracing::info!(
                system = noticed.system,
                tallies = page.built,
                "counted the tallies again"
            );
        }
        if looked.elapsed() >= look_pause {
            tallies.look_at_heads(now_millis()).await?;
            looked = Instant::now();
        }
        if page.records == 0 && (shared || !tallies.is_building()) {
            tokio::time::sleep(head_pause(company)).await;
        }
    }
}

/// Counts what there was when it began, and builds what is to be built.
///
/// # Errors
///
/// Where the store fails, or somebody else is further.
pub async fn tally_once(engine: &Arc<Engine>, company: Company) -> Result<(), FollowError> {
    if engine.model().tallies.is_empty() {
        return Ok(());
    }
    let mut tallies = TallyFollower::start(Arc::clone(engine), stream_late_millis(company), now_millis()).await?;
    let begun = now_millis() / 1_000;
    while !tallies.is_at_rest() && !tallies.has_passed(begun + 1) {
        let page = tallies.follow_page(&now_millis).await?;
        if page.records == 0 && company == Company::Shared {
            tokio::time::sleep(HEAD_PAUSE_SHARED).await;
        }
    }
    Ok(())
}
