//! The SDK's errors as those of a store.

use crate::convert::item_from_sdk;
use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_dynamodb::error::{BuildError, DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::batch_get_item::BatchGetItemError;
use aws_sdk_dynamodb::operation::batch_write_item::BatchWriteItemError;
use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::delete_table::DeleteTableError;
use aws_sdk_dynamodb::operation::describe_continuous_backups::DescribeContinuousBackupsError;
use aws_sdk_dynamodb::operation::describe_table::DescribeTableError;
use aws_sdk_dynamodb::operation::describe_time_to_live::DescribeTimeToLiveError;
use aws_sdk_dynamodb::operation::get_item::GetItemError;
use aws_sdk_dynamodb::operation::list_tables::ListTablesError;
use aws_sdk_dynamodb::operation::list_tags_of_resource::ListTagsOfResourceError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::query::QueryError;
use aws_sdk_dynamodb::operation::scan::ScanError;
use aws_sdk_dynamodb::operation::transact_get_items::TransactGetItemsError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_continuous_backups::UpdateContinuousBackupsError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::operation::update_table::UpdateTableError;
use aws_sdk_dynamodb::operation::update_time_to_live::UpdateTimeToLiveError;
use aws_sdk_dynamodb::types::CancellationReason;
use aws_sdk_dynamodbstreams::operation::describe_stream::DescribeStreamError;
use aws_sdk_dynamodbstreams::operation::get_records::GetRecordsError;
use aws_sdk_dynamodbstreams::operation::get_shard_iterator::GetShardIteratorError;
use singlet_store::{Cancellation, ErrorKind, StoreError};
use std::error::Error;

/// What DynamoDB Local says, as a failure of its own, of a request that stood in line behind others for too long. It did
/// nothing, and DynamoDB itself would have done it or called it a conflict.
const WAITED_FOR_A_LOCK: &str = "waiting for a lock";

/// What an operation's error carries besides its code.
pub(crate) trait Detail {
    /// Adds it to the classified error.
    fn add_to(self, classified: StoreError) -> StoreError;
}

/// Classifies an error of the SDK.
pub(crate) fn from_sdk<E>(error: SdkError<E>) -> StoreError
where
    E: Detail + ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    match error {
        SdkError::ServiceError(context) => {
            let operation = context.into_err();
            let code = operation.code().unwrap_or_default();
            // An answer that the SDK cannot read has neither a code nor a message.
            let message = match (operation.message(), code) {
                (Some(message), _) => message.to_owned(),
                (None, "") => causes(&operation),
                (None, code) => code.to_owned(),
            };
            // DynamoDB Local says it as an internal failure; it is a conflict, and may be tried again.
            let classified = match message.contains(WAITED_FOR_A_LOCK) {
                true => StoreError::new(ErrorKind::Conflict, message),
                false => StoreError::from_protocol(code, &message),
            };
            operation.add_to(classified)
        }
        SdkError::ConstructionFailure(_) => StoreError::bad_request(DisplayErrorContext(&error).to_string()),
        other if lacks_credentials(&other) => StoreError::new(
            ErrorKind::Denied,
            "no credentials were found, or they could not be loaded",
        ),
        other => StoreError::unavailable(causes(&other)),
    }
}

/// An error with what caused it, in the words of each.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

/// Classifies a request that lacks a part which the protocol demands.
pub(crate) fn from_build(error: BuildError) -> StoreError {
    StoreError::bad_request(error.to_string())
}

fn lacks_credentials(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.is::<CredentialsError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

macro_rules! no_detail {
    ($($error:ident),* $(,)?) => {
        $(impl Detail for $error {
            fn add_to(self, classified: StoreError) -> StoreError {
                classified
            }
        })*
    };
}

no_detail!(
    BatchGetItemError,
    BatchWriteItemError,
    CreateTableError,
    DeleteTableError,
    DescribeContinuousBackupsError,
    DescribeStreamError,
    DescribeTableError,
    DescribeTimeToLiveError,
    GetItemError,
    GetRecordsError,
    GetShardIteratorError,
    ListTablesError,
    ListTagsOfResourceError,
    QueryError,
    ScanError,
    UpdateContinuousBackupsError,
    UpdateTableError,
    UpdateTimeToLiveError,
);

macro_rules! old_image {
    ($($error:ident),*) => {
        $(impl Detail for $error {
            fn add_to(self, classified: StoreError) -> StoreError {
                match self {
                    // An image that cannot be read is left out: the failed condition is what matters.
                    Self::ConditionalCheckFailedException(failed) => {
                        classified.with_old_image(failed.item.and_then(|item| item_from_sdk(item).ok()))
                    }
                    _ => classified,
                }
            }
        })*
    };
}

old_image!(PutItemError, UpdateItemError, DeleteItemError);

macro_rules! reasons {
    ($($error:ident),*) => {
        $(impl Detail for $error {
            fn add_to(self, classified: StoreError) -> StoreError {
                match self {
                    Self::TransactionCanceledException(cancelled) => {
                        let reasons = cancelled.cancellation_reasons.into_iter().flatten();
                        classified.with_cancellations(reasons.map(cancellation).collect())
                    }
                    _ => classified,
                }
            }
        })*
    };
}

reasons!(TransactGetItemsError, TransactWriteItemsError);

fn cancellation(reason: CancellationReason) -> Cancellation {
    let old = reason.item.and_then(|item| item_from_sdk(item).ok());
    let (code, message) = (reason.code.unwrap_or_default(), reason.message.unwrap_or_default());
    Cancellation::from_protocol(&code, &message, old)
}
