//! Errors as DynamoDB's protocol names them.

use super::{Cancellation, ErrorKind, StoreError};
use singlet_item::Item;

impl StoreError {
    /// Classifies an error by its code in DynamoDB's protocol, such as `ValidationException`, with or without a
    /// namespace before `#`. What a failed condition or a cancelled transaction carries besides is added by
    /// [`with_old_image`](Self::with_old_image) and [`with_cancellations`](Self::with_cancellations).
    pub fn from_protocol(code: &str, message: &str) -> Self {
        let code = code.rsplit('#').next().unwrap_or(code);
        Self::new(kind_of_code(code, message), message)
    }

    /// The same failed condition, with the item that it was evaluated on. Any other error stays as it is.
    #[must_use]
    pub fn with_old_image(mut self, image: Option<Item>) -> Self {
        if let ErrorKind::ConditionFailed { old } = &mut self.inner.kind {
            *old = image;
        }
        self
    }

    /// The same cancelled transaction, with a reason per action. Any other error stays as it is.
    #[must_use]
    pub fn with_cancellations(mut self, given: Vec<Cancellation>) -> Self {
        if let ErrorKind::Cancelled(reasons) = &mut self.inner.kind {
            *reasons = given;
        }
        self
    }
}

impl Cancellation {
    /// Classifies a reason by its code in DynamoDB's protocol, such as `ConditionalCheckFailed`.
    pub fn from_protocol(code: &str, message: &str, old: Option<Item>) -> Self {
        match code {
            "" | "None" => Self::Nothing,
            "ConditionalCheckFailed" => Self::ConditionFailed { old },
            "TransactionConflict" => Self::Conflict,
            "ProvisionedThroughputExceeded" | "ThrottlingError" => Self::Throttled,
            "ItemCollectionSizeLimitExceeded" => Self::TooLarge,
            _ if says_too_large(message) => Self::TooLarge,
            _ if message.is_empty() => Self::Invalid(code.to_owned()),
            _ => Self::Invalid(message.to_owned()),
        }
    }
}

fn kind_of_code(code: &str, message: &str) -> ErrorKind {
    match code {
        "ResourceNotFoundException" | "TableNotFoundException" | "IndexNotFoundException" => ErrorKind::NotFound,
        "ResourceInUseException" | "TableAlreadyExistsException" | "TableInUseException" => ErrorKind::InUse,
        "ConditionalCheckFailedException" => ErrorKind::ConditionFailed { old: None },
        "TransactionCanceledException" => ErrorKind::Cancelled(Vec::new()),
        "TransactionConflictException" | "TransactionInProgressException" | "ReplicatedWriteConflictException" => {
            ErrorKind::Conflict
        }
        "ProvisionedThroughputExceededException"
        | "ThrottlingException"
        | "Throttling"
        | "RequestLimitExceeded"
        | "LimitExceededException" => ErrorKind::Throttled,
        "ItemCollectionSizeLimitExceededException" | "RequestEntityTooLarge" => ErrorKind::TooLarge,
        "IdempotentParameterMismatchException" => ErrorKind::TokenReused,
        "TrimmedDataAccessException" | "ExpiredIteratorException" => ErrorKind::PositionLost,
        "AccessDeniedException"
        | "UnrecognizedClientException"
        | "MissingAuthenticationTokenException"
        | "MissingAuthenticationToken"
        | "IncompleteSignatureException"
        | "InvalidSignatureException"
        | "ExpiredTokenException" => ErrorKind::Denied,
        "ValidationException" if names_missing_index(message) => ErrorKind::NotFound,
        "ValidationException" | "SerializationException" if says_too_large(message) => ErrorKind::TooLarge,
        "ValidationException" | "SerializationException" | "UnknownOperationException" | "UnsupportedOperation" => {
            ErrorKind::BadRequest
        }
        _ => ErrorKind::Unavailable,
    }
}

/// The protocol has no code for what is too large: an item, a key and an expression are told apart from other wrong
/// requests by these words only.
fn says_too_large(message: &str) -> bool {
    const WORDS: [&str; 6] = [
        "exceeded the maximum allowed size",
        "exceeded the maximum size limit",
        "exceeded the size limit",
        "size has exceeded",
        "primary key values must be under",
        "Transaction request cannot include more than",
    ];
    WORDS.iter().any(|words| message.contains(words))
}

/// Nor has it one for an index that is not there.
fn names_missing_index(message: &str) -> bool {
    message.contains("The table does not have the specified index")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_classified_with_or_without_their_namespace() {
        let long = "com.amazonaws.dynamodb.v20120810#TransactionConflictException";
        assert!(StoreError::from_protocol(long, "").is_conflict());
        assert!(StoreError::from_protocol("ThrottlingException", "").is_throttled());
        assert!(StoreError::from_protocol("SomethingNew", "").is_unavailable());
        assert!(StoreError::from_protocol("UnrecognizedClientException", "").is_denied());
        assert!(StoreError::from_protocol("TrimmedDataAccessException", "").is_position_lost());
    }

    #[test]
    fn sizes_are_told_apart_by_their_words() {
        let error = StoreError::from_protocol(
            "ValidationException",
            "Item size to update has exceeded the maximum allowed size",
        );
        assert!(error.is_too_large() && !error.is_bad_request());
        assert!(StoreError::from_protocol("ValidationException", "Invalid expression").is_bad_request());
    }

    #[test]
    fn reasons_keep_the_old_image() {
        let old = Item::from([("a".to_owned(), 1_i64.into())]);
        let reasons = vec![
            Cancellation::from_protocol("None", "", None),
            Cancellation::from_protocol("ConditionalCheckFailed", "", Some(old.clone())),
        ];
        let error = StoreError::from_protocol("TransactionCanceledException", "").with_cancellations(reasons);
        assert_eq!(
            error.cancellations()[1],
            Cancellation::ConditionFailed { old: Some(old) }
        );
    }
}
