//! The engine's errors as those of a store.

use crate::convert::item_from_engine;
use dynoxide::DynoxideError;
use singlet_store::{Cancellation, StoreError};

/// Classifies an error of the engine, which names its errors as DynamoDB's protocol does.
pub(crate) fn from_engine(error: DynoxideError) -> StoreError {
    let classified = StoreError::from_protocol(error.error_type(), &error.to_string());
    match error {
        // An image that cannot be read is left out: the failed condition is what matters.
        DynoxideError::ConditionalCheckFailedException(_, old) => {
            classified.with_old_image(old.and_then(|old| item_from_engine(old).ok()))
        }
        DynoxideError::TransactionCanceledException(_, reasons) => {
            let reasons = reasons.into_iter().map(|reason| {
                let old = reason.item.and_then(|old| item_from_engine(old).ok());
                Cancellation::from_protocol(&reason.code, reason.message.as_deref().unwrap_or_default(), old)
            });
            classified.with_cancellations(reasons.collect())
        }
        _ => classified,
    }
}
