//! Changes of a table that is there: billing, stream, global indexes.

use serde_json::{Value as Json, json};
use singlet_store::{Billing, ErrorKind, IndexKind, IndexUnits, TableChange, TableDescription, TableSpec, TableStatus};

use crate::create_table::{
    Definitions, check_definition_shapes, check_index_shape, check_stream_shape, check_throughput, read_definitions,
    read_index, read_stream, read_units,
};
use crate::endpoint::Endpoint;
use crate::fault::{Fault, FaultKind};
use crate::input::{Constraints, Input};
use crate::schema::invalid_values;
use crate::tables::required_name;

pub(crate) async fn update_table(endpoint: &Endpoint, input: &Input<'_>) -> Result<Json, Fault> {
    let name = required_name(input)?;
    check_shape(input)?;
    endpoint.check_writable(&name)?;
    let table = endpoint
        .store
        .describe_table(&name)
        .await
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound => Fault::not_found(format!("Requested resource not found: Table: {name} not found")),
            _ => error.into(),
        })?;
    let changes = read_changes(input, &table)?;
    for change in &changes {
        let changed = endpoint.store.update_table(&name, change).await;
        endpoint.forget_table(&name);
        changed?;
    }
    let mut table = endpoint.store.describe_table(&name).await?;
    table.status = TableStatus::Updating;
    Ok(json!({ "TableDescription": endpoint.describe_table(&table) }))
}

fn check_shape(input: &Input<'_>) -> Result<(), Fault> {
    let mut constraints = Constraints::default();
    check_definition_shapes(input.list("AttributeDefinitions")?, &mut constraints)?;
    constraints.one_of(
        input.text("BillingMode")?,
        "billingMode",
        &["PROVISIONED", "PAY_PER_REQUEST"],
    );
    check_throughput(
        input.inner("ProvisionedThroughput")?,
        "provisionedThroughput",
        &mut constraints,
    )?;
    for (position, update) in input
        .list("GlobalSecondaryIndexUpdates")?
        .into_iter()
        .flatten()
        .enumerate()
    {
        let update = Input::of(update)?;
        let place = format!("globalSecondaryIndexUpdates.{}.member", position + 1);
        if let Some(create) = update.inner("Create")? {
            check_index_shape(&create, &format!("{place}.create"), &mut constraints)?;
        }
        for (action, word) in [("Delete", "delete"), ("Update", "update")] {
            if let Some(action) = update.inner(action)? {
                constraints.not_null(action.has("IndexName"), &format!("{place}.{word}.indexName"));
                let throughput = action.inner("ProvisionedThroughput")?;
                check_throughput(
                    throughput,
                    &format!("{place}.{word}.provisionedThroughput"),
                    &mut constraints,
                )?;
            }
        }
    }
    check_stream_shape(input.inner("StreamSpecification")?, &mut constraints)?;
    constraints.finish()
}

/// What is to be done, in an order in which each step can be: what goes before what comes.
fn read_changes(input: &Input<'_>, table: &TableDescription) -> Result<Vec<TableChange>, Fault> {
    let asked = [
        "ProvisionedThroughput",
        "BillingMode",
        "StreamSpecification",
        "GlobalSecondaryIndexUpdates",
    ];
    if !asked.into_iter().any(|name| input.has(name)) {
        return Err(Fault::validation_fault(
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or \
             SSESpecification or ReplicaUpdates is required",
        ));
    }
    let mut changes = Vec::new();
    if let Some(billing) = read_billing(input, table.spec.billing)? {
        changes.push(TableChange::Billing(billing));
    }
    if let Some(stream) = input.inner("StreamSpecification")? {
        let wanted = read_stream(&stream)?;
        match (table.spec.stream, wanted) {
            (Some(_), Some(_)) => {
                return Err(Fault::validation_fault(format!(
                    "Table already has an enabled stream: TableName: {}",
                    table.spec.name
                )));
            }
            (None, None) => {
                return Err(Fault::validation_fault(format!(
                    "Table already has a disabled stream: TableName: {}",
                    table.spec.name
                )));
            }
            _ => changes.push(TableChange::Stream(wanted)),
        }
    }
    changes.extend(read_index_changes(input, &table.spec)?);
    Ok(changes)
}

fn read_billing(input: &Input<'_>, current: Billing) -> Result<Option<Billing>, Fault> {
    let throughput = input.inner("ProvisionedThroughput")?;
    let wanted = match (input.text("BillingMode")?, throughput) {
        (None, None) => return Ok(None),
        (Some("PAY_PER_REQUEST"), Some(_)) => {
            return Err(invalid_values(
                "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
            ));
        }
        (Some("PAY_PER_REQUEST"), None) => Billing::OnDemand,
        (Some(_), None) => {
            return Err(invalid_values(
                "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
            ));
        }
        (None, Some(_)) if current == Billing::OnDemand => {
            return Err(invalid_values(
                "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
            ));
        }
        (_, Some(throughput)) => read_units(&throughput)?,
    };
    match (current, wanted) {
        (Billing::OnDemand, Billing::OnDemand) => Ok(None),
        (
            Billing::Provisioned {
                read_units,
                write_units,
            },
            same,
        ) if same == current => Err(Fault::validation_fault(format!(
            "The provisioned throughput for the table will not change. The requested value equals the current value. \
             Current ReadCapacityUnits provisioned for the table: {read_units}. Requested ReadCapacityUnits: \
             {read_units}. Current WriteCapacityUnits provisioned for the table: {write_units}. Requested \
             WriteCapacityUnits: {write_units}. Refer to the Amazon DynamoDB Developer Guide for current limits and \
             how to request higher limits."
        ))),
        (_, wanted) => Ok(Some(wanted)),
    }
}

fn read_index_changes(input: &Input<'_>, spec: &TableSpec) -> Result<Vec<TableChange>, Fault> {
    let mut definitions: Definitions = spec.key_attributes().into_iter().cloned().collect();
    for given in read_definitions(input)? {
        match definitions.iter().find(|known| known.name == given.name) {
            Some(known) if *known != given => {
                return Err(invalid_values(format!(
                    "Conflicting attribute definition for attribute: {}",
                    given.name
                )));
            }
            Some(_) => {}
            None => definitions.push(given),
        }
    }
    let mut changes = Vec::new();
    for update in input.list("GlobalSecondaryIndexUpdates")?.into_iter().flatten() {
        let update = Input::of(update)?;
        match (
            update.inner("Create")?,
            update.inner("Delete")?,
            update.inner("Update")?,
        ) {
            (Some(create), None, None) => {
                let index = read_index(&create, IndexKind::Global, &definitions, spec)?;
                changes.push(TableChange::AddIndex(index));
            }
            (None, Some(delete), None) => {
                let name = delete.text("IndexName")?.unwrap_or_default();
                let is_there = |kind, known: &str| kind == IndexKind::Global && known == name;
                if !spec.indexes.iter().any(|index| is_there(index.kind, &index.name)) {
                    return Err(Fault::not_found("Requested resource not found"));
                }
                changes.push(TableChange::RemoveIndex(name.to_owned()));
            }
            (None, None, Some(update)) => changes.push(read_index_units(&update, spec)?),
            _ => {
                return Err(invalid_values(
                    "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, \
                     GlobalSecondaryIndexUpdate.Delete must not be null",
                ));
            }
        }
    }
    let built = changes
        .iter()
        .filter(|change| matches!(change, TableChange::AddIndex(_) | TableChange::RemoveIndex(_)));
    if built.count() > 1 {
        return Err(Fault::new(
            FaultKind::LimitExceeded,
            "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
        ));
    }
    Ok(changes)
}

/// The units that a global index of a provisioned table is to have.
fn read_index_units(update: &Input<'_>, spec: &TableSpec) -> Result<TableChange, Fault> {
    let name = update.text("IndexName")?.unwrap_or_default();
    let mut known = spec.indexes.iter();
    if !known.any(|index| index.kind == IndexKind::Global && index.name == name) {
        return Err(Fault::not_found("Requested resource not found"));
    }
    let throughput = update.inner("ProvisionedThroughput")?;
    let units = throughput.map(|throughput| read_units(&throughput)).transpose()?;
    match (spec.billing, units) {
        (
            Billing::Provisioned { .. },
            Some(Billing::Provisioned {
                read_units,
                write_units,
            }),
        ) => Ok(TableChange::IndexUnits(
            name.to_owned(),
            IndexUnits {
                read_units,
                write_units,
            },
        )),
        (Billing::OnDemand, Some(_)) => Err(invalid_values(
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
        )),
        _ => Err(invalid_values(
            "ProvisionedThroughput must be specified for an index that is updated",
        )),
    }
}
