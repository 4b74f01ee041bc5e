//! Refusals in DynamoDB's own words: programs and tests of others read them.

use singlet_item::{Item, Value};
use singlet_store::{Cancellation, ErrorKind, StoreError};

/// A request that is wrong. Sizes are told apart by their words, as the protocol does.
pub(crate) fn invalid_request(message: impl AsRef<str>) -> StoreError {
    StoreError::from_protocol("ValidationException", message.as_ref())
}

pub(crate) fn invalid_values(message: impl AsRef<str>) -> StoreError {
    invalid_request(format!(
        "One or more parameter values were invalid: {}",
        message.as_ref()
    ))
}

pub(crate) fn no_table() -> StoreError {
    StoreError::new(ErrorKind::NotFound, "Requested resource not found")
}

pub(crate) fn no_such_table(name: &str) -> StoreError {
    StoreError::new(
        ErrorKind::NotFound,
        format!("Requested resource not found: Table: {name} not found"),
    )
}

pub(crate) fn no_stream(table: &str) -> StoreError {
    StoreError::new(
        ErrorKind::NotFound,
        format!("Requested resource not found: Stream of table: {table} not found"),
    )
}

pub(crate) fn no_index(index: &str) -> StoreError {
    invalid_request(format!("The table does not have the specified index: {index}"))
}

pub(crate) fn in_use(message: String) -> StoreError {
    StoreError::new(ErrorKind::InUse, message)
}

pub(crate) fn key_does_not_match() -> StoreError {
    invalid_request("The provided key element does not match the schema")
}

pub(crate) fn empty_key(name: &str, value: &Value) -> StoreError {
    invalid_request(format!(
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty {} value. Key: {name}",
        empty_kind(value)
    ))
}

pub(crate) fn empty_index_key(index: &str, name: &str, value: &Value) -> StoreError {
    invalid_request(format!(
        "One or more parameter values are not valid. A value specified for a secondary index key is not supported. \
         The AttributeValue for a key attribute cannot contain an empty {} value. IndexName: {index}, IndexKey: {name}",
        empty_kind(value)
    ))
}

pub(crate) fn updated_to_empty_index_key(value: &Value) -> StoreError {
    invalid_request(format!(
        "One or more parameter values are not valid. The update expression attempted to update a secondary index key to a value \
         that is not supported. The AttributeValue for a key attribute cannot contain an empty {} value.",
        empty_kind(value)
    ))
}

fn empty_kind(value: &Value) -> &'static str {
    match value {
        Value::B(_) => "binary",
        _ => "string",
    }
}

pub(crate) fn item_too_large() -> StoreError {
    invalid_request("Item size has exceeded the maximum allowed size")
}

pub(crate) fn updated_item_too_large() -> StoreError {
    invalid_request("Item size to update has exceeded the maximum allowed size")
}

pub(crate) fn collection_too_large() -> StoreError {
    StoreError::from_protocol("ItemCollectionSizeLimitExceededException", "Collection size exceeded.")
}

pub(crate) fn condition_failed(old: Option<Item>) -> StoreError {
    StoreError::new(ErrorKind::ConditionFailed { old }, "The conditional request failed")
}

/// A transaction that did nothing, with a reason per action.
pub(crate) fn cancelled_transaction(reasons: Vec<Cancellation>) -> StoreError {
    let codes: Vec<&str> = reasons.iter().map(code).collect();
    let message = format!(
        "Transaction cancelled, please refer cancellation reasons for specific reasons [{}]",
        codes.join(", ")
    );
    StoreError::new(ErrorKind::Cancelled(reasons), message)
}

/// DynamoDB's code of a reason.
fn code(reason: &Cancellation) -> &'static str {
    match reason {
        Cancellation::Nothing => "None",
        Cancellation::ConditionFailed { .. } => "ConditionalCheckFailed",
        Cancellation::Conflict => "TransactionConflict",
        Cancellation::Throttled => "ThrottlingError",
        _ => "ValidationError",
    }
}

pub(crate) fn transaction_too_large() -> StoreError {
    invalid_request("Transaction request cannot include more than 4 MB of data")
}

pub(crate) fn no_such_index(index: &str, table: &str) -> StoreError {
    StoreError::new(
        ErrorKind::NotFound,
        format!("Requested resource not found: Index: {index} of table: {table} not found"),
    )
}

/// Whether an error is that a key does not fit its table, or is too long. An empty one is refused before it is looked at.
pub(crate) fn is_of_key(error: &StoreError) -> bool {
    *error == key_does_not_match() || error.message().contains("has exceeded the")
}
