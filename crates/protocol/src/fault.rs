//! What is answered in place of an answer, as DynamoDB names and words it.

use serde_json::{Map, Value as Json, json};
use singlet_item::Item;
use singlet_store::{Cancellation, ErrorKind, StoreError};

use crate::value::item_json;

/// A refusal or a failure.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    kind: FaultKind,
    message: String,
    /// What the body has besides: the old item, the reasons of a cancelled transaction.
    more: Map<String, Json>,
}

/// DynamoDB's names of what is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultKind {
    Validation,
    Serialization,
    UnknownOperation,
    MissingAuthentication,
    AccessDenied,
    TooLargeBody,
    NotFound,
    InUse,
    LimitExceeded,
    ConditionFailed,
    Cancelled,
    Conflict,
    Throttled,
    TokenReused,
    Trimmed,
    DuplicateItem,
    Unavailable,
    Internal,
}

impl FaultKind {
    /// The `__type` of its body.
    fn type_name(self) -> &'static str {
        match self {
            Self::Validation => "com.amazon.coral.validate#ValidationException",
            Self::Serialization => "com.amazon.coral.service#SerializationException",
            Self::UnknownOperation => "com.amazon.coral.service#UnknownOperationException",
            Self::MissingAuthentication => "com.amazon.coral.service#MissingAuthenticationTokenException",
            Self::AccessDenied => "com.amazon.coral.service#AccessDeniedException",
            Self::TooLargeBody => "com.amazon.coral.service#RequestEntityTooLargeException",
            Self::NotFound => "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException",
            Self::InUse => "com.amazonaws.dynamodb.v20120810#ResourceInUseException",
            Self::LimitExceeded => "com.amazonaws.dynamodb.v20120810#LimitExceededException",
            Self::ConditionFailed => "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
            Self::Cancelled => "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
            Self::Conflict => "com.amazonaws.dynamodb.v20120810#TransactionConflictException",
            Self::Throttled => "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
            Self::TokenReused => "com.amazonaws.dynamodb.v20120810#IdempotentParameterMismatchException",
            Self::Trimmed => "com.amazonaws.dynamodb.v20120810#TrimmedDataAccessException",
            Self::DuplicateItem => "com.amazonaws.dynamodb.v20120810#DuplicateItemException",
            Self::Unavailable => "com.amazonaws.dynamodb.v20120810#ServiceUnavailable",
            Self::Internal => "com.amazonaws.dynamodb.v20120810#InternalServerError",
        }
    }

    /// Its name without the namespace.
    pub(crate) fn name(self) -> &'static str {
        let name = self.type_name();
        name.rsplit('#').next().unwrap_or(name)
    }
}

/// What a missing table, index or stream is answered with.
pub(crate) const NOT_FOUND: &str = "Requested resource not found";

impl Fault {
    pub(crate) fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            more: Map::new(),
        }
    }

    pub(crate) fn validation_fault(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Validation, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(FaultKind::NotFound, message)
    }

    pub(crate) fn serialization_fault(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Serialization, message)
    }

    /// That JSON of one type stands where another is read.
    pub(crate) fn serialization_of(found: &Json, wanted: &str) -> Self {
        Self::serialization_fault(match found {
            Json::Object(_) => "Start of structure or map found where not expected".to_owned(),
            Json::Array(_) => "Unrecognized collection type class java.util.ArrayList".to_owned(),
            Json::Null => format!("NULL_VALUE cannot be converted to {wanted}"),
            Json::Bool(true) => format!("TRUE_VALUE cannot be converted to {wanted}"),
            Json::Bool(false) => format!("FALSE_VALUE cannot be converted to {wanted}"),
            Json::Number(_) => format!("NUMBER_VALUE cannot be converted to {wanted}"),
            Json::String(_) => format!("STRING_VALUE cannot be converted to {wanted}"),
        })
    }

    /// A failed condition, with the item where it was asked for.
    pub(crate) fn condition_failed(old: Option<&Item>) -> Self {
        let mut fault = Self::new(FaultKind::ConditionFailed, CONDITION_FAILED);
        if let Some(old) = old {
            fault.more.insert("Item".to_owned(), item_json(old));
        }
        fault
    }

    /// A cancelled transaction: one reason an action, with the items of those actions that asked for theirs.
    pub(crate) fn transaction_cancelled(reasons: &[Cancellation], wants_old: impl Fn(usize) -> bool) -> Self {
        let reasons = reasons.iter().enumerate();
        Self::cancelled_by_reasons(reasons.map(|(position, reason)| reason_json(reason, wants_old(position))))
    }

    /// A cancelled transaction by reasons as the answer has them.
    pub(crate) fn cancelled_by_reasons(reasons: impl Iterator<Item = Json>) -> Self {
        let reasons: Vec<Json> = reasons.collect();
        let codes: Vec<&str> = reasons
            .iter()
            .filter_map(|reason| reason.get("Code")?.as_str())
            .collect();
        let message = format!(
            "Transaction cancelled, please refer cancellation reasons for specific reasons [{}]",
            codes.join(", ")
        );
        let mut fault = Self::new(FaultKind::Cancelled, message);
        fault
            .more
            .insert("CancellationReasons".to_owned(), Json::Array(reasons));
        fault
    }

    /// The fault with other words.
    pub(crate) fn in_other_words(mut self, words: impl FnOnce(&str) -> String) -> Self {
        if self.kind == FaultKind::Validation {
            self.message = words(&self.message);
        }
        self
    }

    pub(crate) fn kind(&self) -> FaultKind {
        self.kind
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The status of its answer.
    pub(crate) fn status(&self) -> u16 {
        match self.kind {
            FaultKind::Internal => 500,
            FaultKind::Unavailable => 503,
            FaultKind::TooLargeBody => 413,
            _ => 400,
        }
    }

    /// The body of its answer.
    pub(crate) fn fault_body(&self) -> Json {
        let mut body = Map::new();
        body.insert("__type".to_owned(), Json::from(self.kind.type_name()));
        let message = match self.kind {
            FaultKind::Cancelled | FaultKind::AccessDenied | FaultKind::Serialization => "Message",
            _ => "message",
        };
        body.insert(message.to_owned(), Json::from(self.message.clone()));
        body.extend(self.more.clone());
        Json::Object(body)
    }
}

const CONDITION_FAILED: &str = "The conditional request failed";

/// A reason as an answer has it.
pub(crate) fn reason_json(reason: &Cancellation, wants_old: bool) -> Json {
    let (code, message) = match reason {
        Cancellation::Nothing => return json!({ "Code": "None" }),
        Cancellation::ConditionFailed { .. } => ("ConditionalCheckFailed", CONDITION_FAILED),
        Cancellation::Conflict => ("TransactionConflict", "Transaction is ongoing for the item"),
        Cancellation::Throttled => (
            "ThrottlingError",
            "Throughput exceeds the current capacity for one or more global secondary indexes",
        ),
        Cancellation::TooLarge => (
            "ValidationError",
            "Item size to update has exceeded the maximum allowed size",
        ),
        Cancellation::Invalid(message) => ("ValidationError", message.as_str()),
        _ => ("InternalServerError", "Internal server error"),
    };
    let mut json = json!({ "Code": code, "Message": message });
    if let (Cancellation::ConditionFailed { old: Some(old) }, true, Json::Object(json)) = (reason, wants_old, &mut json)
    {
        json.insert("Item".to_owned(), item_json(old));
    }
    json
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        let kind = match error.kind() {
            ErrorKind::NotFound => return Self::not_found(NOT_FOUND),
            ErrorKind::ConditionFailed { .. } => return Self::condition_failed(None),
            ErrorKind::Cancelled(reasons) => return Self::transaction_cancelled(reasons, |_| false),
            ErrorKind::InUse => FaultKind::InUse,
            ErrorKind::Conflict => FaultKind::Conflict,
            ErrorKind::Throttled => FaultKind::Throttled,
            ErrorKind::TooLarge | ErrorKind::BadRequest => FaultKind::Validation,
            ErrorKind::TokenReused => FaultKind::TokenReused,
            ErrorKind::PositionLost => FaultKind::Trimmed,
            ErrorKind::Denied => FaultKind::AccessDenied,
            _ => FaultKind::Internal,
        };
        Self::new(kind, error.message())
    }
}
