//! What tables are, as the SDK says it.

use crate::error::from_build;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, CreateGlobalSecondaryIndexAction, DeleteGlobalSecondaryIndexAction,
    GlobalSecondaryIndex, GlobalSecondaryIndexUpdate, IndexStatus, KeySchemaElement, KeyType as SdkKeyType,
    LocalSecondaryIndex, Projection, ProjectionType, ProvisionedThroughput, ProvisionedThroughputDescription,
    ScalarAttributeType, StreamSpecification, StreamViewType, TableDescription as SdkTable, TableStatus as SdkStatus,
    TimeToLiveDescription, TimeToLiveStatus, UpdateGlobalSecondaryIndexAction,
};
use singlet_store::{
    Billing, IndexKind, IndexProjection, IndexSpec, IndexUnits, KeyAttribute, KeySchema, KeyType, Result, StoreError,
    StreamView, TableDescription, TableSpec, TableStatus,
};

pub(crate) fn index_definitions(spec: &TableSpec) -> Result<(Vec<GlobalSecondaryIndex>, Vec<LocalSecondaryIndex>)> {
    let (mut global, mut local) = (Vec::new(), Vec::new());
    for index in &spec.indexes {
        match index.kind {
            IndexKind::Global => global.push(
                GlobalSecondaryIndex::builder()
                    .index_name(&index.name)
                    .set_key_schema(Some(key_schema(&index.key)?))
                    .projection(projection(&index.projection))
                    .set_provisioned_throughput(provisioned_throughput(index.index_billing(spec.billing))?)
                    .build()
                    .map_err(from_build)?,
            ),
            IndexKind::Local => local.push(
                LocalSecondaryIndex::builder()
                    .index_name(&index.name)
                    .set_key_schema(Some(key_schema(&index.key)?))
                    .projection(projection(&index.projection))
                    .build()
                    .map_err(from_build)?,
            ),
        }
    }
    Ok((global, local))
}

pub(crate) fn key_schema(key: &KeySchema) -> Result<Vec<KeySchemaElement>> {
    let element = |attribute: &KeyAttribute, key_type| {
        let element = KeySchemaElement::builder()
            .attribute_name(&attribute.name)
            .key_type(key_type);
        element.build().map_err(from_build)
    };
    let partition = key
        .partition
        .iter()
        .map(|attribute| element(attribute, SdkKeyType::Hash));
    let sort = key.sort.iter().map(|attribute| element(attribute, SdkKeyType::Range));
    partition.chain(sort).collect()
}

pub(crate) fn attribute_definition(attribute: &KeyAttribute) -> Result<AttributeDefinition> {
    let attribute_type = match attribute.key_type {
        KeyType::String => ScalarAttributeType::S,
        KeyType::Number => ScalarAttributeType::N,
        KeyType::Binary => ScalarAttributeType::B,
    };
    let definition = AttributeDefinition::builder()
        .attribute_name(&attribute.name)
        .attribute_type(attribute_type);
    definition.build().map_err(from_build)
}

fn projection(projection: &IndexProjection) -> Projection {
    let (projection_type, names) = match projection {
        IndexProjection::All => (ProjectionType::All, None),
        IndexProjection::KeysOnly => (ProjectionType::KeysOnly, None),
        IndexProjection::Include(names) => (ProjectionType::Include, Some(names.clone())),
    };
    Projection::builder()
        .projection_type(projection_type)
        .set_non_key_attributes(names)
        .build()
}

pub(crate) fn billing_mode(billing: Billing) -> BillingMode {
    match billing {
        Billing::OnDemand => BillingMode::PayPerRequest,
        Billing::Provisioned { .. } => BillingMode::Provisioned,
    }
}

pub(crate) fn provisioned_throughput(billing: Billing) -> Result<Option<ProvisionedThroughput>> {
    match billing {
        Billing::OnDemand => Ok(None),
        Billing::Provisioned {
            read_units,
            write_units,
        } => {
            let throughput = ProvisionedThroughput::builder()
                .read_capacity_units(read_units.into())
                .write_capacity_units(write_units.into());
            throughput.build().map(Some).map_err(from_build)
        }
    }
}

/// A global index as it is added to a table.
pub(crate) fn added_index(index: &IndexSpec, billing: Billing) -> Result<GlobalSecondaryIndexUpdate> {
    let action = CreateGlobalSecondaryIndexAction::builder()
        .index_name(&index.name)
        .set_key_schema(Some(key_schema(&index.key)?))
        .projection(projection(&index.projection))
        .set_provisioned_throughput(provisioned_throughput(index.index_billing(billing))?)
        .build()
        .map_err(from_build)?;
    Ok(GlobalSecondaryIndexUpdate::builder().create(action).build())
}

/// A global index as it is taken away.
pub(crate) fn removed_index(name: &str) -> Result<GlobalSecondaryIndexUpdate> {
    let action = DeleteGlobalSecondaryIndexAction::builder().index_name(name).build();
    let action = action.map_err(from_build)?;
    Ok(GlobalSecondaryIndexUpdate::builder().delete(action).build())
}

/// That there is no stream any more.
pub(crate) fn no_stream() -> Result<StreamSpecification> {
    StreamSpecification::builder()
        .stream_enabled(false)
        .build()
        .map_err(from_build)
}

pub(crate) fn stream_specification(view: StreamView) -> Result<StreamSpecification> {
    let view = match view {
        StreamView::KeysOnly => StreamViewType::KeysOnly,
        StreamView::New => StreamViewType::NewImage,
        StreamView::Old => StreamViewType::OldImage,
        StreamView::Both => StreamViewType::NewAndOldImages,
    };
    StreamSpecification::builder()
        .stream_enabled(true)
        .stream_view_type(view)
        .build()
        .map_err(from_build)
}

pub(crate) fn table_description(table: SdkTable, ttl: Option<TimeToLiveDescription>) -> Result<TableDescription> {
    let definitions = table.attribute_definitions.clone().unwrap_or_default();
    let count = |number: Option<i64>| number.and_then(|number| u64::try_from(number).ok()).unwrap_or(0);
    Ok(TableDescription {
        status: described_status(&table),
        item_count: count(table.item_count),
        size_bytes: count(table.table_size_bytes),
        created_at_seconds: table.creation_date_time.map(|time| time.secs()),
        spec: TableSpec {
            key: described_key(table.key_schema(), &definitions)?,
            indexes: described_indexes(&table, &definitions)?,
            billing: described_billing(&table),
            ttl: ttl.and_then(described_ttl),
            stream: described_stream(table.stream_specification.as_ref()),
            name: table.table_name.unwrap_or_default(),
        },
    })
}

/// A table whose index is being built says that it is active.
fn described_status(table: &SdkTable) -> TableStatus {
    let is_settled = |status: &IndexStatus| *status == IndexStatus::Active;
    let indexes = table.global_secondary_indexes().iter();
    let mut indexes = indexes.filter_map(|index| index.index_status.as_ref());
    match table.table_status.as_ref().map_or(TableStatus::Unusable, table_status) {
        TableStatus::Active if !indexes.all(is_settled) => TableStatus::Updating,
        status => status,
    }
}

fn described_indexes(table: &SdkTable, definitions: &[AttributeDefinition]) -> Result<Vec<IndexSpec>> {
    let mut indexes = Vec::new();
    for index in table.global_secondary_indexes() {
        // DynamoDB Local forgets the types of an index's keys while it still lists the index that goes.
        let is_defined = |name: &str| definitions.iter().any(|known| known.attribute_name == name);
        let is_known = index.key_schema().iter().all(|key| is_defined(key.attribute_name()));
        if !is_known && index.index_status == Some(IndexStatus::Deleting) {
            continue;
        }
        indexes.push(IndexSpec {
            name: index.index_name.clone().unwrap_or_default(),
            kind: IndexKind::Global,
            key: described_key(index.key_schema(), definitions)?,
            projection: described_projection(index.projection.as_ref()),
            units: described_units(table, index.provisioned_throughput.as_ref()),
        });
    }
    for index in table.local_secondary_indexes() {
        indexes.push(IndexSpec {
            name: index.index_name.clone().unwrap_or_default(),
            kind: IndexKind::Local,
            key: described_key(index.key_schema(), definitions)?,
            projection: described_projection(index.projection.as_ref()),
            units: None,
        });
    }
    indexes.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    Ok(indexes)
}

fn described_key(elements: &[KeySchemaElement], definitions: &[AttributeDefinition]) -> Result<KeySchema> {
    let mut schema = KeySchema::default();
    for element in elements {
        let name = element.attribute_name();
        let definition = definitions.iter().find(|definition| definition.attribute_name == name);
        let key_type = match definition.map(|definition| &definition.attribute_type) {
            Some(ScalarAttributeType::S) => KeyType::String,
            Some(ScalarAttributeType::N) => KeyType::Number,
            Some(ScalarAttributeType::B) => KeyType::Binary,
            _ => {
                return Err(StoreError::unavailable(format!(
                    "the endpoint does not say the type of key `{name}`"
                )));
            }
        };
        let attribute = KeyAttribute::new(name, key_type);
        match element.key_type {
            SdkKeyType::Range => schema.sort.push(attribute),
            _ => schema.partition.push(attribute),
        }
    }
    Ok(schema)
}

fn described_projection(projection: Option<&Projection>) -> IndexProjection {
    match projection.and_then(|projection| projection.projection_type.as_ref()) {
        Some(ProjectionType::KeysOnly) => IndexProjection::KeysOnly,
        Some(ProjectionType::Include) => IndexProjection::Include(
            projection
                .map(|projection| projection.non_key_attributes().to_vec())
                .unwrap_or_default(),
        ),
        _ => IndexProjection::All,
    }
}

fn described_billing(table: &SdkTable) -> Billing {
    let mode = table
        .billing_mode_summary
        .as_ref()
        .and_then(|summary| summary.billing_mode.as_ref());
    let units = |number: Option<i64>| number.and_then(|number| u32::try_from(number).ok()).unwrap_or(0);
    match &table.provisioned_throughput {
        Some(throughput) if mode != Some(&BillingMode::PayPerRequest) => Billing::Provisioned {
            read_units: units(throughput.read_capacity_units),
            write_units: units(throughput.write_capacity_units),
        },
        _ => Billing::OnDemand,
    }
}

/// The units of an index of a provisioned table, where they are not the table's.
fn described_units(table: &SdkTable, throughput: Option<&ProvisionedThroughputDescription>) -> Option<IndexUnits> {
    let units = |number: Option<i64>| number.and_then(|number| u32::try_from(number).ok());
    let table = described_billing(table);
    if table == Billing::OnDemand {
        return None;
    }
    let throughput = throughput?;
    let index = Billing::Provisioned {
        read_units: units(throughput.read_capacity_units)?,
        write_units: units(throughput.write_capacity_units)?,
    };
    IndexUnits::apart_from(table, index)
}

/// The units of an index that is there, as they are to be.
pub(crate) fn changed_index(name: &str, units: IndexUnits) -> Result<GlobalSecondaryIndexUpdate> {
    let billing = Billing::Provisioned {
        read_units: units.read_units,
        write_units: units.write_units,
    };
    let action = UpdateGlobalSecondaryIndexAction::builder()
        .index_name(name)
        .set_provisioned_throughput(provisioned_throughput(billing)?)
        .build();
    let action = action.map_err(from_build)?;
    Ok(GlobalSecondaryIndexUpdate::builder().update(action).build())
}

/// The units of indexes whose table was paid by request and is to have units: they get the table's, until they are given others.
pub(crate) fn first_units(live: &TableSpec, wanted: Billing) -> Result<Option<Vec<GlobalSecondaryIndexUpdate>>> {
    let Billing::Provisioned {
        read_units,
        write_units,
    } = wanted
    else {
        return Ok(None);
    };
    if live.billing != Billing::OnDemand {
        return Ok(None);
    }
    let units = IndexUnits {
        read_units,
        write_units,
    };
    let global = live.indexes.iter().filter(|index| index.kind == IndexKind::Global);
    let updates = global.map(|index| changed_index(&index.name, units));
    let updates = updates.collect::<Result<Vec<_>>>()?;
    Ok((!updates.is_empty()).then_some(updates))
}

fn described_ttl(ttl: TimeToLiveDescription) -> Option<String> {
    match ttl.time_to_live_status {
        Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling) => ttl.attribute_name,
        _ => None,
    }
}

fn described_stream(stream: Option<&StreamSpecification>) -> Option<StreamView> {
    match stream
        .filter(|stream| stream.stream_enabled)?
        .stream_view_type
        .as_ref()?
    {
        StreamViewType::KeysOnly => Some(StreamView::KeysOnly),
        StreamViewType::NewImage => Some(StreamView::New),
        StreamViewType::OldImage => Some(StreamView::Old),
        StreamViewType::NewAndOldImages => Some(StreamView::Both),
        _ => None,
    }
}

pub(crate) fn table_status(status: &SdkStatus) -> TableStatus {
    match status {
        SdkStatus::Creating => TableStatus::Creating,
        SdkStatus::Active => TableStatus::Active,
        SdkStatus::Updating => TableStatus::Updating,
        SdkStatus::Deleting => TableStatus::Deleting,
        _ => TableStatus::Unusable,
    }
}
