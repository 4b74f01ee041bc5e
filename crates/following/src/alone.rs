//! Following without serving.

use std::sync::Arc;

use singlet_changes::{FollowError, PostWebhook, Ticker, TriggerObserver, WebhookSender, forget_unneeded};
use singlet_face::Company;
use singlet_runtime::Engine;
use tokio::sync::watch;

use crate::noticed::Noticed;
use crate::pace::now_millis;
use crate::systems::{END_TIME_MAX, FollowedEngine, follow_system};
use crate::tallies::tally_once;
use crate::triggers::start_triggers;

/// Follows one system until it is asked to end, or, once, up to what there was when it began. Answers with how much is parked.
///
/// # Errors
///
/// Where the store fails, the table is held, or somebody else is further.
pub async fn follow_alone(
    engine: Arc<Engine>,
    company: Company,
    sent_by: Option<Arc<dyn PostWebhook>>,
    once: bool,
    end: impl Future<Output = ()>,
) -> Result<usize, FollowError> {
    let noticed = Arc::new(Noticed::new(&engine.model().name, None));
    if !once {
        let (ending, ended) = watch::channel(false);
        let followed = FollowedEngine {
            served: Arc::clone(&engine),
            engine,
            noticed,
            company,
            sent_by,
            lake: None,
            // Who only follows answers nobody.
            words: None,
        };
        let task = tokio::spawn(follow_system(followed, ended));
        end.await;
        let _ = ending.send(true);
        let _ = tokio::time::timeout(END_TIME_MAX, task).await;
        return Ok(0);
    }
    forget_unneeded(&engine).await?;
    let observer: Arc<dyn TriggerObserver> = noticed.clone();
    let mut tickers = Ticker::start_all(&engine, &observer, now_millis()).await?;
    for ticker in &mut tickers {
        // Once, without a lease: whoever asks for one round wants it to happen.
        ticker.run_due(now_millis()).await?;
    }
    let mut parked = tickers.iter().map(Ticker::parked_ticks).sum();
    if engine.model().followed_changes().next().is_some() {
        let mut follower = start_triggers(&engine, observer, company).await?;
        let begun = now_millis() / 1_000;
        // Before the stream is read, as its own changes are then read with it.
        follower.fire_due(now_millis()).await?;
        // Where others write all the time there is no head to come to.
        while !follower.is_at_head() && !follower.has_passed(begun + 1) {
            follower.follow_page(&now_millis).await?;
        }
        follower.follow_orders(&now_millis).await?;
        parked = follower.parked_changes().len();
    }
    if let Some(sent_by) = sent_by {
        let sender = WebhookSender::new(Arc::clone(&engine), sent_by, noticed);
        for webhook in &engine.model().webhooks {
            while sender.send_due(webhook, &now_millis).await? > 0 {}
        }
    }
    tally_once(&engine, company).await?;
    Ok(parked)
}
