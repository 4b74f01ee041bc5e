//! What happens while changes are followed, into log and figures.

use std::sync::Arc;

use singlet_changes::{RunEnd, SendEnd, TriggerObserver, WebhookObserver};
use singlet_http::Service;
use singlet_runtime::RuntimeError;

use crate::pace::lag_of;

/// What happens while changes of a system are followed, into log and figures.
pub struct Noticed {
    pub(crate) system: String,
    service: Option<Arc<Service>>,
}

impl Noticed {
    /// Of a system; without a service there are no figures.
    pub fn new(system: &str, service: Option<Arc<Service>>) -> Self {
        Noticed {
            system: system.to_owned(),
            service,
        }
    }

    pub(crate) fn note_followed(&self, lag_seconds: i64, parked: usize, retried: usize) {
        if let Some(service) = &self.service {
            service
                .metrics()
                .set_followed(&self.system, lag_seconds, parked, retried);
        }
    }

    /// Says how far words are followed: the newest change that a page had.
    pub(crate) fn note_searched(&self, newest_at: Option<i64>) {
        if let Some(service) = &self.service {
            service.metrics().set_searched(&self.system, lag_of(newest_at));
        }
    }

    pub(crate) fn note_tallied(&self, lag_seconds: i64, groups: usize) {
        if let Some(service) = &self.service {
            service.metrics().set_tallied(&self.system, lag_seconds, groups);
        }
    }
}

impl TriggerObserver for Noticed {
    fn ran(&self, write: &str, change: &str, ended: &RunEnd) {
        let system = self.system.as_str();
        let outcome = match ended {
            RunEnd::Done => {
                tracing::info!(system, write, change, "ran a triggered write");
                "done"
            }
            RunEnd::DoneBefore => return,
            RunEnd::Refused(refused) => {
                tracing::info!(
                    system,
                    write,
                    change,
                    refused = refused.name,
                    "a triggered write was refused"
                );
                "refused"
            }
            RunEnd::Later(refused) => {
                let refused = refused.name.as_str();
                tracing::info!(
                    system,
                    write,
                    change,
                    refused,
                    "a triggered write was refused for now and will be tried again"
                );
                "later"
            }
            RunEnd::Parked(reason) => {
                tracing::warn!(system, write, change, "parked a triggered write: {reason}");
                "parked"
            }
        };
        if let Some(service) = &self.service {
            service.metrics().count_triggered(system, write, outcome);
        }
    }

    fn waits(&self, write: &str, error: &RuntimeError) {
        tracing::warn!(system = self.system, write, %error, "a triggered write waits and will be tried again");
    }

    fn unfired(&self, entity: &str, error: &RuntimeError) {
        tracing::warn!(system = self.system, entity, %error, "cannot store a row's lapse or expiry");
    }
}

impl WebhookObserver for Noticed {
    fn sent(&self, webhook: &str, id: &str, end: &SendEnd) {
        let system = self.system.as_str();
        let outcome = match end {
            SendEnd::Delivered => {
                tracing::info!(system, webhook, id, "delivered");
                "delivered"
            }
            SendEnd::Later(reason) => {
                tracing::warn!(system, webhook, id, reason, "not delivered, and tried again later");
                "later"
            }
            SendEnd::Failed(reason) => {
                tracing::error!(system, webhook, id, reason, "not delivered, and not tried again");
                "failed"
            }
            SendEnd::Gone => {
                tracing::error!(
                    system,
                    webhook,
                    id,
                    "the receiver answered 410 Gone: nothing more is sent there until the webhook is resumed"
                );
                "gone"
            }
        };
        if let Some(service) = &self.service {
            service.metrics().count_delivery(system, webhook, outcome);
        }
    }
}
