//! Tables: made, described, listed, deleted; their expiry.

use serde_json::{Value as Json, json};
use singlet_store::{ErrorKind, TableStatus};

use crate::create_table;
use crate::endpoint::Endpoint;
use crate::fault::{Fault, FaultKind};
use crate::input::{Constraints, Input, check_name, table_name};
use crate::schema::invalid_values;

/// The name of the table that a call about tables names.
pub(crate) fn required_name(input: &Input<'_>) -> Result<String, Fault> {
    match input.has("TableName") {
        true => table_name(input, 3),
        false => Err(Fault::validation_fault(
            "The parameter 'TableName' is required but was not present in the request",
        )),
    }
}

fn not_found(table: &str) -> Fault {
    Fault::not_found(format!("Requested resource not found: Table: {table} not found"))
}

/// The same fault, which names the table where it is missing.
fn naming(table: &str, fault: Fault) -> Fault {
    match fault.kind() {
        FaultKind::NotFound => not_found(table),
        _ => fault,
    }
}

pub(crate) async fn create_table(endpoint: &Endpoint, input: &Input<'_>) -> Result<Json, Fault> {
    let name = required_name(input)?;
    let tags = crate::tags::read_tags(input)?;
    let spec = create_table::read_description(name, input)?;
    for (parameter, what) in [
        ("SSESpecification", "encryption is the disk's"),
        ("DeletionProtectionEnabled", "tables are not protected from deletion"),
    ] {
        let asks = match input.get(parameter) {
            Some(Json::Bool(asks)) => *asks,
            Some(Json::Object(members)) => members.get("Enabled") == Some(&Json::Bool(true)),
            _ => false,
        };
        if asks {
            return Err(invalid_values(format!("{parameter} is not supported here: {what}")));
        }
    }
    endpoint.check_writable(&spec.name)?;
    endpoint
        .store
        .create_table(&spec)
        .await
        .map_err(|error| match error.kind() {
            ErrorKind::InUse => Fault::new(FaultKind::InUse, format!("Table already exists: {}", spec.name)),
            _ => error.into(),
        })?;
    endpoint.forget_table(&spec.name);
    let arn = endpoint.table_arn(&spec.name);
    endpoint.tags.forget_tags(&arn);
    endpoint.tags.add_tags(&arn, tags);
    let mut table = endpoint.store.describe_table(&spec.name).await?;
    // DynamoDB answers before the table is made; whoever waits for it finds it active at the first look.
    table.status = TableStatus::Creating;
    Ok(json!({ "TableDescription": endpoint.describe_table(&table) }))
}

pub(crate) async fn describe_table(endpoint: &Endpoint, input: &Input<'_>) -> Result<Json, Fault> {
    let name = required_name(input)?;
    let table = endpoint.store.describe_table(&name).await;
    let table = table.map_err(|error| naming(&name, error.into()))?;
    Ok(json!({ "Table": endpoint.describe_table(&table) }))
}

pub(crate) async fn delete_table(endpoint: &Endpoint, input: &Input<'_>) -> Result<Json, Fault> {
    let name = required_name(input)?;
    endpoint.check_writable(&name)?;
    let failed = |error: singlet_store::StoreError| naming(&name, error.into());
    let mut table = endpoint.store.describe_table(&name).await.map_err(failed)?;
    endpoint.store.delete_table(&name).await.map_err(failed)?;
    endpoint.forget_table(&name);
    endpoint.tags.forget_tags(&endpoint.table_arn(&name));
    table.status = TableStatus::Deleting;
    Ok(json!({ "TableDescription": endpoint.describe_table(&table) }))
}

/// The most names of one page.
const PAGE_NAMES_MAX: i64 = 100;

pub(crate) async fn list_tables(endpoint: &Endpoint, input: &Input<'_>) -> Result<Json, Fault> {
    let start = input.text("ExclusiveStartTableName")?;
    let limit = input.integer("Limit")?;
    let mut constraints = Constraints::default();
    if let Some(start) = start {
        check_name(&mut constraints, start, "exclusiveStartTableName", 3);
    }
    constraints.at_least(limit, "limit", 1);
    if let Some(limit) = limit.filter(|limit| *limit > PAGE_NAMES_MAX) {
        let words = format!("Member must have value less than or equal to {PAGE_NAMES_MAX}");
        constraints.add_failure(Some(&limit.to_string()), "limit", &words);
    }
    constraints.finish()?;
    let limit = usize::try_from(limit.unwrap_or(PAGE_NAMES_MAX)).unwrap_or_default();
    let names = endpoint.store.list_tables().await?;
    let mut after = names
        .into_iter()
        .skip_while(|name| start.is_some_and(|start| name.as_str() <= start));
    let page: Vec<String> = after.by_ref().take(limit).collect();
    Ok(match (page.last(), after.next()) {
        (Some(last), Some(_)) => json!({ "LastEvaluatedTableName": last, "TableNames": page }),
        _ => json!({ "TableNames": page }),
    })
}

pub(crate) async fn update_ttl(endpoint: &Endpoint, input: &Input<'_>) -> Result<Json, Fault> {
    let name = table_name(input, 1)?;
    let specification = input.inner("TimeToLiveSpecification")?;
    let mut constraints = Constraints::default();
    constraints.not_null(specification.is_some(), "timeToLiveSpecification");
    let (mut attribute, mut enabled) = (None, None);
    if let Some(specification) = specification {
        attribute = specification.text("AttributeName")?;
        enabled = specification.flag("Enabled")?;
        constraints.not_null(attribute.is_some(), "timeToLiveSpecification.attributeName");
        constraints.not_null(enabled.is_some(), "timeToLiveSpecification.enabled");
        if attribute == Some("") {
            constraints.add_failure(
                attribute,
                "timeToLiveSpecification.attributeName",
                "Member must have length greater than or equal to 1",
            );
        }
    }
    constraints.finish()?;
    endpoint.check_writable(&name)?;
    let failed = |error: singlet_store::StoreError| naming(&name, error.into());
    let table = endpoint.store.describe_table(&name).await.map_err(failed)?;
    match (enabled, table.spec.ttl.as_deref()) {
        (Some(true), Some(_)) => return Err(Fault::validation_fault("TimeToLive is already enabled")),
        (Some(false), None) => return Err(Fault::validation_fault("TimeToLive is already disabled")),
        _ => {}
    }
    let wanted = attribute.filter(|_| enabled == Some(true));
    endpoint.store.update_ttl(&name, wanted).await.map_err(failed)?;
    endpoint.forget_table(&name);
    Ok(json!({ "TimeToLiveSpecification": { "Enabled": enabled, "AttributeName": attribute } }))
}

pub(crate) async fn describe_ttl(endpoint: &Endpoint, input: &Input<'_>) -> Result<Json, Fault> {
    let name = table_name(input, 1)?;
    let table = endpoint.store.describe_table(&name).await;
    let table = table.map_err(|error| naming(&name, error.into()))?;
    Ok(json!({ "TimeToLiveDescription": match table.spec.ttl {
        Some(attribute) => json!({ "TimeToLiveStatus": "ENABLED", "AttributeName": attribute }),
        None => json!({ "TimeToLiveStatus": "DISABLED" }),
    } }))
}

/// DynamoDB's usual quotas; nothing here holds anybody to them.
pub(crate) fn describe_limits() -> Json {
    json!({
        "AccountMaxReadCapacityUnits": 80_000,
        "AccountMaxWriteCapacityUnits": 80_000,
        "TableMaxReadCapacityUnits": 40_000,
        "TableMaxWriteCapacityUnits": 40_000,
    })
}

pub(crate) fn describe_endpoints(endpoint: &Endpoint) -> Json {
    let address = format!("dynamodb.{}.amazonaws.com", endpoint.settings.region);
    json!({ "Endpoints": [{ "Address": address, "CachePeriodInMinutes": 1440 }] })
}
