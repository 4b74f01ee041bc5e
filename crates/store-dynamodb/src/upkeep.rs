//! What DynamoDB keeps about a table besides: whether it can be recovered, and its tags.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::{PointInTimeRecoverySpecification, PointInTimeRecoveryStatus, Tag};
use singlet_store::{Result, StoreError, TableUpkeep};

use crate::error::{Detail, from_build, from_sdk};

/// What an endpoint says that does not know a request: DynamoDB Local has neither recovery nor tags.
const UNKNOWN_OPERATION: &str = "UnknownOperationException";

/// The most pages of tags that are read; a table has up to 50 tags.
const TAG_PAGES_MAX: usize = 20;

pub(crate) async fn describe_upkeep(client: &Client, table: &str) -> Result<TableUpkeep> {
    Ok(TableUpkeep {
        recovery: recovery(client, table).await?,
        tags: tags(client, table).await?,
    })
}

async fn recovery(client: &Client, table: &str) -> Result<Option<bool>> {
    let answer = client.describe_continuous_backups().table_name(table).send().await;
    let Some(answer) = known(answer)? else { return Ok(None) };
    let status = answer
        .continuous_backups_description
        .and_then(|described| described.point_in_time_recovery_description)
        .and_then(|described| described.point_in_time_recovery_status);
    Ok(Some(status == Some(PointInTimeRecoveryStatus::Enabled)))
}

async fn tags(client: &Client, table: &str) -> Result<BTreeMap<String, String>> {
    let answer = client.describe_table().table_name(table).send().await;
    let described = answer.map_err(from_sdk)?.table;
    let Some(arn) = described.and_then(|table| table.table_arn) else {
        return Ok(BTreeMap::new());
    };
    let (mut found, mut next) = (BTreeMap::new(), None);
    for _ in 0..TAG_PAGES_MAX {
        let request = client.list_tags_of_resource().resource_arn(&arn).set_next_token(next);
        let Some(page) = known(request.send().await)? else {
            break;
        };
        let page_tags = page.tags.unwrap_or_default().into_iter();
        found.extend(page_tags.map(|Tag { key, value, .. }| (key, value)));
        next = page.next_token;
        if next.is_none() {
            break;
        }
    }
    Ok(found)
}

/// Turns recovery on or off. Turned on again, it begins anew: what was before cannot be brought back.
pub(crate) async fn change_recovery(client: &Client, table: &str, is_on: bool) -> Result<()> {
    let specification = PointInTimeRecoverySpecification::builder()
        .point_in_time_recovery_enabled(is_on)
        .build()
        .map_err(from_build)?;
    let request = client
        .update_continuous_backups()
        .table_name(table)
        .point_in_time_recovery_specification(specification);
    let lacking = || StoreError::bad_request("the endpoint has no point-in-time recovery");
    known(request.send().await)?.map(drop).ok_or_else(lacking)
}

/// The answer to a request; none where the endpoint does not know it.
fn known<T, E>(answer: std::result::Result<T, SdkError<E>>) -> Result<Option<T>>
where
    E: Detail + ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.code() == Some(UNKNOWN_OPERATION) => Ok(None),
        Err(error) => Err(from_sdk(error)),
    }
}
