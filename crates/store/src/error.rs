//! What can go wrong, by what a caller can do about it.

mod protocol;

use serde::{Deserialize, Serialize};
use singlet_item::Item;
use std::fmt;

/// A request that was not done, or may not have been.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StoreError {
    // Boxed, because old images make errors larger than most answers.
    inner: Box<Inner>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Inner {
    kind: ErrorKind,
    message: String,
    /// Known where the store is; whoever hears of it from another process has the message.
    #[serde(skip)]
    told: Option<&'static str>,
}

/// The kinds of error. Match on the predicates of [`StoreError`] where one is enough.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The table, index or stream does not exist, or not yet.
    NotFound,
    /// The table exists already, or is busy with another change.
    InUse,
    /// The condition of a single write did not hold; nothing was written.
    ConditionFailed {
        /// The item that the condition was evaluated on, if there is one.
        old: Option<Item>,
    },
    /// A transaction did nothing, for these reasons: one per action, in order. Empty, if the engine gave none.
    Cancelled(Vec<Cancellation>),
    /// Another request was changing the same item; sending it again may succeed.
    Conflict,
    /// Too many requests; sending it again, later, may succeed.
    Throttled,
    /// The item, key, batch, transaction or expression is larger than its limit.
    TooLarge,
    /// The client token was used before, with another request.
    TokenReused,
    /// The position in a stream is no longer kept.
    PositionLost,
    /// The credentials are missing, wrong or do not suffice.
    Denied,
    /// The engine could not be reached, did not answer in time, or failed. A write may have been done or not.
    Unavailable,
    /// Another model that runs on the same rows cannot hold what would be written; nothing was.
    Withheld,
    /// The request is wrong and will always be.
    BadRequest,
}

/// Why one action cancelled its transaction, or that it did not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Cancellation {
    /// Not because of this action.
    Nothing,
    /// Its condition did not hold.
    ConditionFailed {
        /// The item that the condition was evaluated on, if there is one.
        old: Option<Item>,
    },
    /// Another request was changing its item.
    Conflict,
    /// Too many requests on its table or partition.
    Throttled,
    /// Its item would be larger than the limit.
    TooLarge,
    /// It is wrong and always will be, in the engine's words.
    Invalid(String),
}

impl StoreError {
    /// An error of that kind. The message is one line in lower case, or the engine's own words.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            inner: Box::new(Inner {
                kind,
                message: message.into(),
                told: None,
            }),
        }
    }

    /// A request that is wrong and will always be.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::BadRequest, message)
    }

    /// A request that is larger than its limit.
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::TooLarge, message)
    }

    /// An engine that could not be reached or failed.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unavailable, message)
    }

    /// With words that name no place, machine or data: what may be told to anybody.
    #[must_use]
    pub fn with_told(mut self, told: Option<&'static str>) -> Self {
        self.inner.told = told;
        self
    }

    /// What may be told to anybody of why it was not done, where that is known.
    pub fn told_publicly(&self) -> Option<&'static str> {
        self.inner.told
    }

    /// The kind.
    pub fn kind(&self) -> &ErrorKind {
        &self.inner.kind
    }

    /// What happened, without the kind.
    pub fn message(&self) -> &str {
        &self.inner.message
    }

    /// Whether a table, index or stream does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self.kind(), ErrorKind::NotFound)
    }

    /// Whether a table exists already or is busy.
    pub fn is_in_use(&self) -> bool {
        matches!(self.kind(), ErrorKind::InUse)
    }

    /// Whether a condition did not hold, of a single write or of any action of a transaction.
    pub fn is_condition_failed(&self) -> bool {
        matches!(self.kind(), ErrorKind::ConditionFailed { .. })
            || self.has_reason(|reason| matches!(reason, Cancellation::ConditionFailed { .. }))
    }

    /// Whether the only obstacle was another request at the same time. A transaction in which a condition failed too
    /// is no conflict: sent again, it would most likely fail again.
    pub fn is_conflict(&self) -> bool {
        matches!(self.kind(), ErrorKind::Conflict) || self.passes(|reason| matches!(reason, Cancellation::Conflict))
    }

    /// Whether the only obstacle was too many requests, or they and a conflict.
    pub fn is_throttled(&self) -> bool {
        matches!(self.kind(), ErrorKind::Throttled) || self.passes(|reason| matches!(reason, Cancellation::Throttled))
    }

    /// Whether something is larger than its limit.
    pub fn is_too_large(&self) -> bool {
        matches!(self.kind(), ErrorKind::TooLarge) || self.has_reason(|reason| matches!(reason, Cancellation::TooLarge))
    }

    /// Whether a client token was used before, with another request.
    pub fn is_token_reused(&self) -> bool {
        matches!(self.kind(), ErrorKind::TokenReused)
    }

    /// Whether a position in a stream is no longer kept.
    pub fn is_position_lost(&self) -> bool {
        matches!(self.kind(), ErrorKind::PositionLost)
    }

    /// Whether the credentials do not suffice.
    pub fn is_denied(&self) -> bool {
        matches!(self.kind(), ErrorKind::Denied)
    }

    /// Whether the engine could not be reached or failed, so that nobody knows whether a write was done.
    pub fn is_unavailable(&self) -> bool {
        matches!(self.kind(), ErrorKind::Unavailable)
    }

    /// Whether the request is wrong and will always be, as a whole or in one action of a transaction.
    pub fn is_bad_request(&self) -> bool {
        matches!(self.kind(), ErrorKind::BadRequest)
            || self.has_reason(|reason| matches!(reason, Cancellation::Invalid(_)))
    }

    /// Whether the same request, sent again, may succeed. A write that is not idempotent must not be sent again after
    /// [`is_unavailable`](Self::is_unavailable), which this includes.
    pub fn is_retryable(&self) -> bool {
        self.is_conflict() || self.is_throttled() || self.is_unavailable()
    }

    /// The item that the condition of a single write failed on, if there is one.
    pub fn old_image(&self) -> Option<&Item> {
        match self.kind() {
            ErrorKind::ConditionFailed { old } => old.as_ref(),
            _ => None,
        }
    }

    /// Why each action of a transaction cancelled it, in order; empty for any other error.
    pub fn cancellations(&self) -> &[Cancellation] {
        match self.kind() {
            ErrorKind::Cancelled(reasons) => reasons,
            _ => &[],
        }
    }

    fn has_reason(&self, wanted: impl Fn(&Cancellation) -> bool) -> bool {
        self.cancellations().iter().any(wanted)
    }

    /// Whether a transaction was cancelled by passing obstacles alone, the wanted one among them.
    fn passes(&self, wanted: impl Fn(&Cancellation) -> bool) -> bool {
        let passing = |reason: &Cancellation| {
            matches!(
                reason,
                Cancellation::Nothing | Cancellation::Conflict | Cancellation::Throttled
            )
        };
        self.cancellations().iter().all(passing) && self.has_reason(wanted)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind() {
            ErrorKind::NotFound => "not found",
            ErrorKind::InUse => "in use",
            ErrorKind::ConditionFailed { .. } => "condition failed",
            ErrorKind::Cancelled(_) => "transaction cancelled",
            ErrorKind::Conflict => "conflict",
            ErrorKind::Throttled => "throttled",
            ErrorKind::TooLarge => "too large",
            ErrorKind::TokenReused => "client token used before with another request",
            ErrorKind::PositionLost => "stream position no longer kept",
            ErrorKind::Denied => "denied",
            ErrorKind::Unavailable => "unavailable",
            ErrorKind::Withheld => "withheld",
            ErrorKind::BadRequest => "bad request",
        };
        f.write_str(kind)?;
        if !self.message().is_empty() {
            write!(f, ": {}", self.message())?;
        }
        for (position, reason) in self.cancellations().iter().enumerate() {
            if *reason != Cancellation::Nothing {
                write!(f, "; action {position}: {reason}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Cancellation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::ConditionFailed { .. } => f.write_str("condition failed"),
            Self::Conflict => f.write_str("conflict"),
            Self::Throttled => f.write_str("throttled"),
            Self::TooLarge => f.write_str("too large"),
            Self::Invalid(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for StoreError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn cancelled(reasons: Vec<Cancellation>) -> StoreError {
        StoreError::new(ErrorKind::Cancelled(reasons), "")
    }

    #[test]
    fn a_conflict_beside_a_failed_condition_is_no_conflict() {
        let failed = Cancellation::ConditionFailed { old: None };
        let both = cancelled(vec![Cancellation::Conflict, failed]);
        assert!(both.is_condition_failed());
        assert!(!both.is_conflict() && !both.is_retryable());
        let conflict = cancelled(vec![Cancellation::Nothing, Cancellation::Conflict]);
        assert!(conflict.is_conflict() && conflict.is_retryable() && !conflict.is_throttled());
    }

    #[test]
    fn an_error_prints_its_kind_and_the_actions_that_failed() {
        let error = cancelled(vec![
            Cancellation::Nothing,
            Cancellation::Invalid("no such path".to_owned()),
        ]);
        assert_eq!(error.to_string(), "transaction cancelled; action 1: no such path");
        assert_eq!(StoreError::bad_request("no key").to_string(), "bad request: no key");
    }

    #[test]
    fn an_error_is_no_larger_than_a_pointer() {
        assert_eq!(size_of::<StoreError>(), size_of::<usize>());
    }
}
