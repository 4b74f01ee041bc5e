//! Telling other systems by HTTP, as Standard Webhooks 1.0 has it: signed, bounded, and only where it is meant to go.

mod address;
mod client;
mod signature;

pub use address::{AddressError, Reach, WebhookAddress};
pub use client::WebhookClient;
pub use signature::{SECRET_BYTES, SecretError, WebhookSecrets};
