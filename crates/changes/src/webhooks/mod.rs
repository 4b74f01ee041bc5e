//! Webhooks: what other systems are told after changes, at least once, in no order.
//!
//! Whoever follows changes writes a *delivery* into the table, once for each webhook and change: a row with the body that is told. A
//! *sender* takes those that are due, and each stays until the receiver has taken it: what is still to be told outlasts the stream,
//! and whoever is killed half-way tells it again under the same id.
//!
//! All rows of a webhook lie in one item collection: first its state, then what is due in the order of its instants, then what failed.

mod deliveries;
mod delivery;
mod schedule;
mod sender;

pub use deliveries::{Deliveries, WebhookOrder, WebhookState};
pub use delivery::Delivery;
pub use schedule::{ATTEMPTS_MAX, RETRY_AFTER_MAX_SECONDS};
pub use sender::{PostWebhook, Posted, SendEnd, WebhookObserver, WebhookPost, WebhookSender};
