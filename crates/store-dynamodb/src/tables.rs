//! Tables: their life, and waiting for it.

use crate::error::from_sdk;
use crate::{schema, upkeep};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{IndexStatus, TableDescription as SdkTable, TimeToLiveSpecification};
use singlet_store::{ErrorKind, Result, StoreError, TableChange, TableDescription, TableSpec, TableStatus, TtlChange};
use std::time::{Duration, Instant};

/// How long creating or deleting a table is waited for.
pub const TABLE_WAIT_SECONDS_MAX: u64 = 300;
/// The first pause between two looks at a table; each next one is twice as long.
const TABLE_PAUSE_MILLISECONDS_MIN: u64 = 20;
/// The longest pause between two looks at a table.
const TABLE_PAUSE_MILLISECONDS_MAX: u64 = 2_000;
/// The most pages of table names that are read; a page has up to 100.
const TABLE_PAGES_MAX: usize = 1000;

pub(crate) async fn create_table(client: &Client, spec: &TableSpec) -> Result<()> {
    let (global, local) = schema::index_definitions(spec)?;
    let attributes = spec
        .key_attributes()
        .into_iter()
        .map(schema::attribute_definition)
        .collect::<Result<Vec<_>>>()?;
    client
        .create_table()
        .table_name(&spec.name)
        .set_key_schema(Some(schema::key_schema(&spec.key)?))
        .set_attribute_definitions(Some(attributes))
        .set_global_secondary_indexes((!global.is_empty()).then_some(global))
        .set_local_secondary_indexes((!local.is_empty()).then_some(local))
        .billing_mode(schema::billing_mode(spec.billing))
        .set_provisioned_throughput(schema::provisioned_throughput(spec.billing)?)
        .set_stream_specification(spec.stream.map(schema::stream_specification).transpose()?)
        .send()
        .await
        .map_err(from_sdk)?;
    wait(client, &spec.name, |status| status == Some(TableStatus::Active)).await?;
    match &spec.ttl {
        Some(attribute) => update_ttl(client, &spec.name, Some(attribute)).await,
        None => Ok(()),
    }
}

pub(crate) async fn describe_table(client: &Client, table: &str) -> Result<TableDescription> {
    let answer = client
        .describe_table()
        .table_name(table)
        .send()
        .await
        .map_err(from_sdk)?;
    let ttl = client
        .describe_time_to_live()
        .table_name(table)
        .send()
        .await
        .map_err(from_sdk)?;
    let unknown = || StoreError::unavailable(format!("the endpoint says nothing about table `{table}`"));
    schema::table_description(answer.table.ok_or_else(unknown)?, ttl.time_to_live_description)
}

pub(crate) async fn delete_table(client: &Client, table: &str) -> Result<()> {
    client.delete_table().table_name(table).send().await.map_err(from_sdk)?;
    wait(client, table, |status| status.is_none()).await
}

pub(crate) async fn list_tables(client: &Client) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let mut start = None;
    for _ in 0..TABLE_PAGES_MAX {
        let page = client
            .list_tables()
            .set_exclusive_start_table_name(start)
            .send()
            .await
            .map_err(from_sdk)?;
        names.extend(page.table_names.into_iter().flatten());
        start = page.last_evaluated_table_name;
        if start.is_none() {
            break;
        }
    }
    names.sort_unstable();
    Ok(names)
}

pub(crate) async fn update_ttl(client: &Client, table: &str, attribute: Option<&str>) -> Result<()> {
    let current = describe_table(client, table).await?.spec.ttl;
    let Some(change) = TtlChange::between(table, current.as_deref(), attribute)? else {
        return Ok(());
    };
    let (attribute, enabled) = match change {
        TtlChange::On(attribute) => (attribute, true),
        TtlChange::Off(attribute) => (attribute, false),
    };
    let specification = TimeToLiveSpecification::builder()
        .attribute_name(attribute)
        .enabled(enabled)
        .build()
        .map_err(crate::error::from_build)?;
    let request = client
        .update_time_to_live()
        .table_name(table)
        .time_to_live_specification(specification);
    request.send().await.map_err(from_sdk).map(drop)
}

/// Changes a table, and waits until it and its indexes can be used.
pub(crate) async fn update_table(client: &Client, table: &str, change: &TableChange) -> Result<()> {
    if let TableChange::Recovery(is_on) = change {
        return upkeep::change_recovery(client, table, *is_on).await;
    }
    let request = client.update_table().table_name(table);
    let request = match change {
        TableChange::AddIndex(index) => {
            let spec = describe_table(client, table).await?.spec;
            let known = spec.key_attributes().into_iter();
            let new = index
                .key
                .attributes()
                .filter(|new| spec.key_attributes().iter().all(|key| key.name != new.name));
            let definitions = known
                .chain(new)
                .map(schema::attribute_definition)
                .collect::<Result<Vec<_>>>()?;
            request
                .set_attribute_definitions(Some(definitions))
                .global_secondary_index_updates(schema::added_index(index, spec.billing)?)
        }
        TableChange::RemoveIndex(name) => request.global_secondary_index_updates(schema::removed_index(name)?),
        TableChange::Billing(billing) => {
            let spec = describe_table(client, table).await?.spec;
            request
                .billing_mode(schema::billing_mode(*billing))
                .set_provisioned_throughput(schema::provisioned_throughput(*billing)?)
                .set_global_secondary_index_updates(schema::first_units(&spec, *billing)?)
        }
        TableChange::IndexUnits(index, units) => {
            request.global_secondary_index_updates(schema::changed_index(index, *units)?)
        }
        TableChange::Stream(Some(view)) => request.stream_specification(schema::stream_specification(*view)?),
        TableChange::Stream(None) => request.stream_specification(schema::no_stream()?),
        TableChange::Recovery(_) => request,
    };
    request.send().await.map_err(from_sdk)?;
    wait_until(client, table, |table| {
        let is_active = |status: Option<&IndexStatus>| status == Some(&IndexStatus::Active);
        table.is_some_and(|table| {
            let indexes = table.global_secondary_indexes().iter();
            table.table_status.as_ref().map(schema::table_status) == Some(TableStatus::Active)
                && indexes.map(|index| index.index_status.as_ref()).all(is_active)
        })
    })
    .await
}

/// The name of a table's stream.
pub(crate) async fn stream_arn(client: &Client, table: &str) -> Result<String> {
    let answer = client
        .describe_table()
        .table_name(table)
        .send()
        .await
        .map_err(from_sdk)?;
    let description = answer.table;
    let enabled = |table: &aws_sdk_dynamodb::types::TableDescription| {
        table
            .stream_specification
            .as_ref()
            .is_some_and(|stream| stream.stream_enabled)
    };
    let arn = description.filter(enabled).and_then(|table| table.latest_stream_arn);
    arn.ok_or_else(|| StoreError::new(ErrorKind::NotFound, format!("table `{table}` has no stream")))
}

/// Looks at a table until its status, or that it is not there, is as wanted.
async fn wait(client: &Client, table: &str, wanted: impl Fn(Option<TableStatus>) -> bool) -> Result<()> {
    let status = |table: &SdkTable| table.table_status.as_ref().map(schema::table_status);
    wait_until(client, table, |table| wanted(table.and_then(status))).await
}

/// Looks at a table until it, or that it is not there, is as wanted.
async fn wait_until(client: &Client, table: &str, wanted: impl Fn(Option<&SdkTable>) -> bool) -> Result<()> {
    let started = Instant::now();
    let mut pause_milliseconds = TABLE_PAUSE_MILLISECONDS_MIN;
    loop {
        let found = match client.describe_table().table_name(table).send().await.map_err(from_sdk) {
            Ok(answer) => answer.table,
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error),
        };
        if wanted(found.as_ref()) {
            return Ok(());
        }
        if started.elapsed() > Duration::from_secs(TABLE_WAIT_SECONDS_MAX) {
            return Err(StoreError::unavailable(format!(
                "table `{table}` was waited for more than {TABLE_WAIT_SECONDS_MAX} seconds"
            )));
        }
        tokio::time::sleep(Duration::from_millis(pause_milliseconds)).await;
        pause_milliseconds = (pause_milliseconds * 2).min(TABLE_PAUSE_MILLISECONDS_MAX);
    }
}
