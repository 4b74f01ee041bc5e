//! What other systems are told.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use singlet_changes::{FollowError, Lease, PostWebhook, WebhookObserver, WebhookSender};
use singlet_face::Company;
use singlet_http::webhooks::{Reach, WebhookAddress};
use singlet_runtime::Engine;

use crate::noticed::Noticed;
use crate::pace::{LEASE_PAUSE, now_millis, pause_after};

/// How often it is looked for deliveries that are due, where there were none.
const DELIVERIES_PAUSE: Duration = Duration::from_secs(1);

/// Tells other systems what they are to be told.
pub(crate) async fn send_for_ever(
    engine: &Arc<Engine>,
    noticed: &Arc<Noticed>,
    company: Company,
    lease: &mut Option<Lease>,
    sent_by: Option<Arc<dyn PostWebhook>>,
) {
    let Some(sent_by) = sent_by else { return };
    let observer: Arc<dyn WebhookObserver> = noticed.clone();
    let sender = WebhookSender::new(Arc::clone(engine), sent_by, observer);
    let mut failures = 0_u32;
    loop {
        let ended = send_while_held(engine, &sender, company, lease, &mut failures).await;
        pause_after(ended, noticed, &mut failures).await;
    }
}

/// Sends what is due of all webhooks for as long as this process has the lease, which is renewed while receivers are waited for. A slow
/// receiver holds up its own webhook alone.
async fn send_while_held(
    engine: &Arc<Engine>,
    sender: &WebhookSender,
    company: Company,
    lease: &mut Option<Lease>,
    failures: &mut u32,
) -> Result<(), FollowError> {
    let lease = lease.get_or_insert_with(|| WebhookSender::sender_lease(engine));
    let shared = company == Company::Shared;
    if shared && !lease.hold_lease(now_millis()).await? {
        return Ok(());
    }
    *failures = 0;
    let one = |webhook| async move {
        loop {
            if sender.send_due(webhook, &now_millis).await? == 0 {
                tokio::time::sleep(DELIVERIES_PAUSE).await;
            }
        }
    };
    // Each webhook by itself: a receiver that takes its time holds up no other.
    let mut sending = Box::pin(try_join_all(engine.model().webhooks.iter().map(one)));
    loop {
        tokio::select! {
            ended = &mut sending => return ended.map(|_: Vec<()>| ()),
            () = tokio::time::sleep(LEASE_PAUSE) => {
                // While receivers are waited for, or the lease would end in the middle of a slow answer.
                if shared && !lease.hold_lease(now_millis()).await? {
                    return Ok(());
                }
            }
        }
    }
}

/// Says in the log which webhooks are sent, and where.
pub(crate) fn say_addresses(engine: &Engine) {
    let system = &engine.model().name;
    for webhook in &engine.model().webhooks {
        let name = &webhook.name;
        match engine.webhook_address(webhook) {
            // The path may be what keeps strangers away.
            Ok(Some(address)) => {
                let to = WebhookAddress::parse(&address, Reach::Anywhere);
                let to = to.map(|to| to.host_authority().to_owned()).unwrap_or_default();
                tracing::info!(system, webhook = name, to, "the webhook is on");
            }
            Ok(None) => tracing::info!(system, webhook = name, "the webhook has no address, so nothing is sent"),
            Err(error) => tracing::warn!(system, webhook = name, %error, "the webhook's address cannot be used"),
        }
    }
}
