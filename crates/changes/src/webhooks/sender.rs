//! The sender: takes deliveries that are due, and notes what the receiver said.
//!
//! **Invariant:** a delivery goes only after the receiver took it, an operator discarded it, or its time was over. Between the receiver's
//! answer and its going the process may end: then it is told again, under the same id.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use singlet_model::model::Webhook;
use singlet_runtime::Engine;

use super::deliveries::{Deliveries, WebhookOrder, WebhookState};
use super::delivery::Delivery;
use super::schedule::{asked_wait, wait_after};
use crate::followers::{FollowError, check_released};
use crate::lease::Lease;
use crate::triggers::followers_of;

/// The name of the lease of who sends.
const LEASE: &str = "webhooks";

/// How many deliveries of one webhook are on their way at once.
const POSTS_AT_ONCE: usize = 8;

/// The longest time for which a webhook is left alone because its receiver asked for it.
const PAUSE_MILLIS_MAX: i64 = 3_600_000;

/// One attempt to tell.
#[derive(Clone, Copy, Debug)]
pub struct WebhookPost<'a> {
    /// The webhook.
    pub webhook: &'a str,
    /// The address.
    pub address: &'a str,
    /// The `webhook-id`.
    pub id: &'a str,
    /// The instant of the attempt, in seconds since 1970.
    pub at_seconds: i64,
    /// The body.
    pub body: &'a str,
}

/// What became of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Posted {
    /// The receiver took it.
    Taken,
    /// The receiver says that it is gone for good.
    Gone,
    /// It did not: why, and its `Retry-After`.
    Failed {
        /// Why.
        reason: String,
        /// The header, as it was sent.
        retry_after: Option<String>,
    },
}

/// Who speaks to receivers.
#[async_trait]
pub trait PostWebhook: Send + Sync {
    /// Makes one attempt; it ends within a bound.
    async fn post(&self, post: &WebhookPost<'_>) -> Posted;
}

/// What became of a delivery for now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendEnd {
    /// It was made.
    Delivered,
    /// It is tried again.
    Later(String),
    /// It failed for good, and is kept for an operator.
    Failed(String),
    /// The address is gone: nothing is sent there any more.
    Gone,
}

/// What happens while webhooks are sent, for logs and figures.
pub trait WebhookObserver: Send + Sync {
    /// An attempt ended.
    fn sent(&self, _webhook: &str, _id: &str, _end: &SendEnd) {}
}

impl WebhookObserver for crate::triggers::Unobserved {}

/// One that sends what is due.
pub struct WebhookSender {
    engine: Arc<Engine>,
    deliveries: Deliveries,
    post: Arc<dyn PostWebhook>,
    observer: Arc<dyn WebhookObserver>,
    /// Until when receivers asked to be left alone, by webhook.
    paused: Mutex<BTreeMap<String, i64>>,
    /// Whether it was seen that nothing keeps the table from telling anybody.
    is_released: AtomicBool,
}

impl WebhookSender {
    /// Of a model on its store.
    pub fn new(engine: Arc<Engine>, post: Arc<dyn PostWebhook>, observer: Arc<dyn WebhookObserver>) -> Self {
        WebhookSender {
            deliveries: Deliveries::new(followers_of(&engine)),
            engine,
            post,
            observer,
            paused: Mutex::default(),
            is_released: AtomicBool::new(false),
        }
    }

    /// The lease of who sends, for a process that is not alone.
    pub fn sender_lease(engine: &Arc<Engine>) -> Lease {
        Lease::new(followers_of(engine), LEASE)
    }

    /// Does what operators asked for of a webhook, and sends what is due of it, a page; how many attempts that was. The clock is asked
    /// for each.
    ///
    /// # Errors
    ///
    /// Where the store fails, or the table is held; what was not noted is sent again.
    pub async fn send_due(&self, webhook: &Webhook, clock: &(dyn Fn() -> i64 + Sync)) -> Result<usize, FollowError> {
        if !self.is_released.load(Ordering::Acquire) {
            check_released(&self.engine).await?;
            self.is_released.store(true, Ordering::Release);
        }
        let store = self.engine.store().as_ref();
        let looked = self.deliveries.look(store, &webhook.name, clock()).await?;
        let address = self.engine.webhook_address(webhook)?;
        if !looked.state.is_known() || looked.state.address != address {
            self.deliveries.note_address(&webhook.name, address.as_deref()).await?;
        }
        if let Some(order) = looked.state.order {
            follow_order(&self.deliveries, &self.engine, webhook, (&looked.state, order), clock()).await?;
            return Ok(0);
        }
        let Some(address) = address.filter(|address| looked.state.gone.as_ref() != Some(address)) else {
            return Ok(0);
        };
        if self.is_paused(&webhook.name, clock()) {
            return Ok(0);
        }
        // Boxed, each by itself: a task that sends goes from thread to thread.
        let attempts = looked.deliveries.iter().map(|delivery| {
            let attempt = self.attempt(&webhook.name, &address, delivery, clock);
            Box::pin(attempt) as std::pin::Pin<Box<dyn Future<Output = Result<bool, FollowError>> + Send + '_>>
        });
        let attempts: Vec<_> = attempts.collect();
        let (mut running, mut made) = (stream::iter(attempts).buffer_unordered(POSTS_AT_ONCE), 0);
        while let Some(ended) = running.next().await {
            made += usize::from(ended?);
        }
        Ok(made)
    }

    /// Whether an attempt was made.
    async fn attempt(
        &self,
        webhook: &str,
        address: &str,
        delivery: &Delivery,
        clock: &(dyn Fn() -> i64 + Sync),
    ) -> Result<bool, FollowError> {
        // Another of the page may just have been told to wait.
        if self.is_paused(webhook, clock()) {
            return Ok(false);
        }
        let store = self.engine.store().as_ref();
        let post = WebhookPost {
            webhook,
            address,
            id: &delivery.id,
            at_seconds: clock().div_euclid(1_000),
            body: &delivery.body,
        };
        let end = match self.post.post(&post).await {
            Posted::Taken => {
                self.deliveries.remove(store, webhook, delivery).await?;
                SendEnd::Delivered
            }
            Posted::Gone => {
                self.deliveries.note_gone(webhook, address, clock()).await?;
                self.pause(webhook, clock(), PAUSE_AFTER_GONE_MILLIS);
                SendEnd::Gone
            }
            Posted::Failed { reason, retry_after } => {
                let now = clock();
                let asked = retry_after.and_then(|text| asked_wait(&text, now));
                if let Some(asked) = asked {
                    self.pause(webhook, now, asked.min(PAUSE_MILLIS_MAX));
                }
                let wait = wait_after(delivery.attempts.saturating_add(1), fastrand::f64());
                let due = wait.map(|wait| now.saturating_add(wait.max(asked.unwrap_or(0))));
                let next = delivery.failed(&reason, due);
                self.deliveries.move_on(store, webhook, delivery, &next).await?;
                match due {
                    Some(_) => SendEnd::Later(reason),
                    None => SendEnd::Failed(reason),
                }
            }
        };
        self.observer.sent(webhook, &delivery.id, &end);
        Ok(true)
    }

    fn is_paused(&self, webhook: &str, now: i64) -> bool {
        let paused = self.paused.lock().unwrap_or_else(PoisonError::into_inner);
        // A clock that was put back must not keep it paused for longer than was asked.
        let is_within = |until: &i64| now < *until && until - now <= PAUSE_MILLIS_MAX;
        paused.get(webhook).is_some_and(is_within)
    }

    fn pause(&self, webhook: &str, now: i64, millis: i64) {
        let mut paused = self.paused.lock().unwrap_or_else(PoisonError::into_inner);
        paused.insert(webhook.to_owned(), now.saturating_add(millis));
    }
}

/// How long nothing else of a page is sent to an address that is gone; then its state says so.
const PAUSE_AFTER_GONE_MILLIS: i64 = 1_000;

impl Deliveries {
    /// Does what an operator asked for of a webhook, for who has the store open and does not send.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn follow_orders(&self, engine: &Engine, webhook: &Webhook, now: i64) -> Result<(), FollowError> {
        while let state = self.webhook_state(&webhook.name).await?
            && let Some(order) = state.order
        {
            follow_order(self, engine, webhook, (&state, order), now).await?;
        }
        Ok(())
    }
}

/// A page of what was asked for; it is noted as done with the last.
async fn follow_order(
    deliveries: &Deliveries,
    engine: &Engine,
    webhook: &Webhook,
    (state, order): (&WebhookState, WebhookOrder),
    now: i64,
) -> Result<(), FollowError> {
    let (store, name) = (engine.store().as_ref(), webhook.name.as_str());
    let mut left = deliveries.look_at(store, name, true).await?.deliveries;
    let address = engine.webhook_address(webhook)?;
    let is_sent = address.is_some() && address != state.gone;
    if order == WebhookOrder::Discard && left.is_empty() && !is_sent {
        left = deliveries.look_at(store, name, false).await?.deliveries;
    }
    for delivery in &left {
        match order {
            WebhookOrder::Resume => {
                let again = delivery.begun_again(now);
                deliveries.move_on(store, name, delivery, &again).await?;
            }
            WebhookOrder::Discard => deliveries.remove(store, name, delivery).await?,
        }
    }
    match left.is_empty() {
        true => deliveries.note_done(name, order).await,
        false => Ok(()),
    }
}
