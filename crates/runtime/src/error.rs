//! What can go wrong while an operation runs.

use std::fmt;

use singlet_model::evaluate::EvaluateError;
use singlet_model::model::Entity;
use singlet_store::{ErrorKind, StoreError};

use crate::scope::Caller;
use crate::write::Refused;

/// The name of the refusal of what only one of two models that run side by side can hold.
pub const NOT_IN_BOTH_MODELS: &str = "not_in_both_models";

/// Why an operation did not end as asked.
#[derive(Debug)]
pub enum RuntimeError {
    /// The request is wrong: an argument is missing, unknown or not of its type.
    Request(String),
    /// The caller may not.
    Forbidden,
    /// The caller has shown no credentials where some are needed.
    Unauthenticated,
    /// There is no such row, or none that this caller may see.
    NotFound,
    /// More than one row fits where the model expects one: the name of the read or write.
    Several(String),
    /// A cursor was made for something else, or by somebody else.
    Cursor,
    /// A rule said no.
    Refused(Box<Refused>),
    /// Others stayed in the way for as often as the operation was tried.
    Conflict,
    /// The idempotency key was used before, with another request.
    IdempotencyKeyReused,
    /// The request was done before, by who has no id either: whose answer it was cannot be told.
    AlreadyDone,
    /// The row has another version than the one asked for.
    VersionMismatch,
    /// The operation changes a row only for callers who say which version of it they mean.
    VersionRequired,
    /// An expression left the range of its type.
    Evaluate(EvaluateError),
    /// What is stored is not what the model says.
    Stored(String),
    /// The answer does not fit the type that the program asked for.
    Typed(String),
    /// A mistake of ours: a state that cannot be, with what was expected. Nothing was written.
    Internal(String),
    /// An answer without pages would look at more rows than it may.
    TooManyRows {
        /// The read or write that asks.
        name: String,
        /// How many it may look at.
        rows_max: usize,
    },
    /// An answer without pages took longer to read than it may.
    TooSlow {
        /// The read or write that asks.
        name: String,
        /// How many milliseconds it may take.
        millis_max: usize,
    },
    /// The figures of a tally are not there yet, or are kept no longer.
    TallyNotKept {
        /// The tally.
        tally: String,
        /// Why it is kept no longer; none where it was never built.
        reason: Option<String>,
    },
    /// An index of words does not have all rows yet, or is behind what an earlier page was answered from.
    SearchBehind {
        /// Whether it has all rows of some instant.
        is_ready: bool,
    },
    /// Nothing follows changes into an index of words here.
    SearchNotFollowed,
    /// Rows do not fit into memory beside those of other requests.
    NoRoom,
    /// The store failed.
    Store(StoreError),
}

impl RuntimeError {
    /// What is said to a caller whom `allow` does not admit.
    pub(crate) fn not_admitted(caller: &Caller) -> Self {
        match caller.authenticated {
            true => RuntimeError::Forbidden,
            false => RuntimeError::Unauthenticated,
        }
    }

    pub(crate) fn stored_misfit(entity: &Entity, error: &dyn fmt::Display) -> Self {
        RuntimeError::Stored(format!(
            "an item of `{}` is not as the model has it: {error}",
            entity.name
        ))
    }

    pub(crate) fn key(entity: &Entity, error: &dyn fmt::Display) -> Self {
        RuntimeError::Request(format!("`{}` has no key for these values: {error}", entity.name))
    }

    pub(crate) fn no_key(entity: &Entity) -> Self {
        RuntimeError::Request(format!(
            "a value is missing from which the key of `{}` is made",
            entity.name
        ))
    }

    /// Whether the same request may succeed later.
    pub fn is_temporary(&self) -> bool {
        match self {
            RuntimeError::Store(error) => error.is_throttled() || error.is_unavailable() || error.is_conflict(),
            RuntimeError::Conflict
            | RuntimeError::TooSlow { .. }
            | RuntimeError::NoRoom
            | RuntimeError::SearchBehind { .. }
            | RuntimeError::TallyNotKept { reason: None, .. } => true,
            _ => false,
        }
    }
}

impl fmt::Display for RuntimeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuntimeError::Request(reason) | RuntimeError::Stored(reason) | RuntimeError::Typed(reason) => {
                out.write_str(reason)
            }
            RuntimeError::Internal(what) => write!(out, "a mistake of Singlet: {what}"),
            RuntimeError::Forbidden => out.write_str("the caller may not do this"),
            RuntimeError::Unauthenticated => out.write_str("credentials are needed"),
            RuntimeError::NotFound => out.write_str("there is no such row"),
            RuntimeError::Several(name) => write!(out, "more than one row fits where `{name}` expects one"),
            RuntimeError::Cursor => out.write_str("the cursor does not belong to this request"),
            RuntimeError::Refused(refused) => write!(out, "refused: {}", refused.name),
            RuntimeError::Conflict => out.write_str("others are changing the same rows; try again"),
            RuntimeError::IdempotencyKeyReused => {
                out.write_str("the idempotency key was used before, with another request")
            }
            RuntimeError::AlreadyDone => {
                out.write_str("this was done before; its answer is not given again to who is not known by an id")
            }
            RuntimeError::VersionMismatch => out.write_str("the row has another version"),
            RuntimeError::VersionRequired => out.write_str("the version of the row must be said"),
            RuntimeError::TooManyRows { name, rows_max } => {
                write!(out, "`{name}` would look at more than {rows_max} rows")
            }
            RuntimeError::TooSlow { name, millis_max } => {
                write!(out, "`{name}` took longer than {millis_max} milliseconds to read")
            }
            RuntimeError::TallyNotKept { tally, reason: None } => {
                write!(out, "the figures of `{tally}` have not been counted yet")
            }
            RuntimeError::TallyNotKept {
                tally,
                reason: Some(reason),
            } => write!(out, "the figures of `{tally}` are kept no longer: {reason}"),
            RuntimeError::SearchBehind { is_ready: false } => out.write_str("the words of all rows are not known yet"),
            RuntimeError::SearchBehind { is_ready: true } => {
                out.write_str("the words of rows are not yet known as far as for the page before")
            }
            RuntimeError::SearchNotFollowed => out.write_str("nothing follows the words of rows here"),
            RuntimeError::NoRoom => out.write_str("there is no room for so many rows beside those of other requests"),
            RuntimeError::Evaluate(error) => error.fmt(out),
            RuntimeError::Store(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for RuntimeError {}

impl From<EvaluateError> for RuntimeError {
    fn from(error: EvaluateError) -> Self {
        match error {
            // What the request sent left a range: it can send something else.
            EvaluateError::Arithmetic(_) | EvaluateError::Time(_) => RuntimeError::Evaluate(error),
            EvaluateError::NeedsStore | EvaluateError::RowMissing(_) | EvaluateError::Unfit(_) => {
                RuntimeError::Stored(error.to_string())
            }
        }
    }
}

impl From<StoreError> for RuntimeError {
    fn from(error: StoreError) -> Self {
        match error.kind() {
            // While two models run, a row must be one of both. Who asks for another is refused, as by a rule.
            ErrorKind::Withheld => RuntimeError::Refused(Box::new(Refused::new(NOT_IN_BOTH_MODELS, 409))),
            _ => RuntimeError::Store(error),
        }
    }
}
