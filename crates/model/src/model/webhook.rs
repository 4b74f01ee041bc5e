//! Webhooks: what other systems are told after changes.

use super::write::Trigger;
use crate::expression::Expr;
use crate::source::Span;

/// The largest body of a delivery, in bytes: what Standard Webhooks recommends to stay under.
pub const WEBHOOK_BODY_BYTES_MAX: usize = 20_000;

/// What another system is told after a change.
#[derive(Debug)]
pub struct Webhook {
    /// Its name, which is the `type` of what is told.
    pub name: String,
    /// Where its name stands.
    pub span: Span,
    /// The change; its `args` are what is told.
    pub after: Trigger,
    /// The address, of settings alone; absent where nobody is told.
    pub to: Expr,
}

impl Webhook {
    /// What is told, by name.
    pub fn sent_values(&self) -> &[(String, Expr)] {
        &self.after.args
    }
}
