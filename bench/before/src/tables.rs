//! Tables, as the engine takes and answers them.

use dynoxide::Database;
use dynoxide::actions::TableDescription as EngineTable;
use dynoxide::actions::create_table::{CreateTableRequest, StreamSpecification};
use dynoxide::actions::delete_table::DeleteTableRequest;
use dynoxide::actions::describe_table::DescribeTableRequest;
use dynoxide::actions::describe_time_to_live::{DescribeTimeToLiveRequest, TimeToLiveDescription};
use dynoxide::actions::list_tables::ListTablesRequest;
use dynoxide::actions::update_time_to_live::{TimeToLiveSpecification, UpdateTimeToLiveRequest};
use dynoxide::types::{
    AttributeDefinition, GlobalSecondaryIndex, KeySchemaElement, KeyType as EngineKeyType, LocalSecondaryIndex,
    Projection, ProjectionType, ProvisionedThroughput, ScalarAttributeType,
};
use singlet_store::{
    Billing, IndexKind, IndexProjection, IndexSpec, KeyAttribute, KeySchema, KeyType, Result, StoreError, StreamView,
    TableDescription, TableSpec, TableStatus, TtlChange,
};

/// The most pages of table names that are read; a page has up to 100.
const TABLE_PAGES_MAX: usize = 1000;

pub(crate) fn create(spec: &TableSpec) -> CreateTableRequest {
    let indexes = |kind| spec.indexes.iter().filter(move |index| index.kind == kind);
    let global: Vec<_> = indexes(IndexKind::Global)
        .map(|index| global_index(index, spec.billing))
        .collect();
    let local: Vec<_> = indexes(IndexKind::Local).map(local_index).collect();
    CreateTableRequest {
        table_name: spec.name.clone(),
        key_schema: key_schema(&spec.key),
        attribute_definitions: spec.key_attributes().into_iter().map(definition).collect(),
        global_secondary_indexes: (!global.is_empty()).then_some(global),
        local_secondary_indexes: (!local.is_empty()).then_some(local),
        billing_mode: Some(billing_mode(spec.billing).to_owned()),
        provisioned_throughput: throughput(spec.billing),
        stream_specification: spec.stream.map(|view| StreamSpecification {
            stream_enabled: true,
            stream_view_type: Some(stream_view_name(view).to_owned()),
        }),
        ..CreateTableRequest::default()
    }
}

pub(crate) fn describe(table: &str) -> DescribeTableRequest {
    DescribeTableRequest {
        table_name: table.to_owned(),
    }
}

pub(crate) fn describe_ttl(table: &str) -> DescribeTimeToLiveRequest {
    DescribeTimeToLiveRequest {
        table_name: table.to_owned(),
    }
}

pub(crate) fn delete(table: &str) -> DeleteTableRequest {
    DeleteTableRequest {
        table_name: table.to_owned(),
    }
}

pub(crate) fn update_ttl(table: &str, change: &TtlChange) -> UpdateTimeToLiveRequest {
    let (attribute, enabled) = match change {
        TtlChange::On(attribute) => (attribute, true),
        TtlChange::Off(attribute) => (attribute, false),
    };
    UpdateTimeToLiveRequest {
        table_name: table.to_owned(),
        time_to_live_specification: TimeToLiveSpecification {
            attribute_name: attribute.clone(),
            enabled,
        },
    }
}

pub(crate) fn list_all(database: &Database) -> dynoxide::Result<Vec<String>> {
    let mut names = Vec::new();
    let mut start = None;
    for _ in 0..TABLE_PAGES_MAX {
        let page = database.list_tables(ListTablesRequest {
            exclusive_start_table_name: start,
            limit: None,
        })?;
        names.extend(page.table_names);
        start = page.last_evaluated_table_name;
        if start.is_none() {
            break;
        }
    }
    names.sort_unstable();
    Ok(names)
}

pub(crate) fn description(table: EngineTable, ttl: TimeToLiveDescription) -> Result<TableDescription> {
    let definitions = table.attribute_definitions;
    let mut indexes = Vec::new();
    for index in table.global_secondary_indexes.into_iter().flatten() {
        indexes.push(IndexSpec {
            name: index.index_name,
            kind: IndexKind::Global,
            key: schema(&index.key_schema, &definitions)?,
            projection: projection(index.projection),
            units: None,
        });
    }
    for index in table.local_secondary_indexes.into_iter().flatten() {
        indexes.push(IndexSpec {
            name: index.index_name,
            kind: IndexKind::Local,
            key: schema(&index.key_schema, &definitions)?,
            projection: projection(index.projection),
            units: None,
        });
    }
    indexes.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    let on_demand = table
        .billing_mode_summary
        .is_some_and(|summary| summary.billing_mode == "PAY_PER_REQUEST");
    let billing = match table.provisioned_throughput {
        Some(units) if !on_demand => Billing::Provisioned {
            read_units: u32::try_from(units.read_capacity_units).unwrap_or(u32::MAX),
            write_units: u32::try_from(units.write_capacity_units).unwrap_or(u32::MAX),
        },
        _ => Billing::OnDemand,
    };
    let stream = table.stream_specification.filter(|stream| stream.stream_enabled);
    let expires = matches!(ttl.time_to_live_status.as_str(), "ENABLED" | "ENABLING");
    Ok(TableDescription {
        spec: TableSpec {
            name: table.table_name,
            key: schema(&table.key_schema, &definitions)?,
            indexes,
            billing,
            ttl: ttl.attribute_name.filter(|_| expires),
            stream: stream.and_then(|stream| stream_view(stream.stream_view_type.as_deref()?)),
        },
        status: status(&table.table_status),
        item_count: table
            .item_count
            .and_then(|count| u64::try_from(count).ok())
            .unwrap_or(0),
        size_bytes: table
            .table_size_bytes
            .and_then(|bytes| u64::try_from(bytes).ok())
            .unwrap_or(0),
        created_at_seconds: table.creation_date_time.map(|seconds| seconds as i64),
    })
}

fn global_index(index: &IndexSpec, billing: Billing) -> GlobalSecondaryIndex {
    GlobalSecondaryIndex {
        index_name: index.name.clone(),
        key_schema: key_schema(&index.key),
        projection: engine_projection(&index.projection),
        provisioned_throughput: throughput(billing),
    }
}

fn local_index(index: &IndexSpec) -> LocalSecondaryIndex {
    LocalSecondaryIndex {
        index_name: index.name.clone(),
        key_schema: key_schema(&index.key),
        projection: engine_projection(&index.projection),
    }
}

fn key_schema(key: &KeySchema) -> Vec<KeySchemaElement> {
    let element = |attribute: &KeyAttribute, key_type| KeySchemaElement {
        attribute_name: attribute.name.clone(),
        key_type,
    };
    let partition = key
        .partition
        .iter()
        .map(|attribute| element(attribute, EngineKeyType::HASH));
    let sort = key
        .sort
        .iter()
        .map(|attribute| element(attribute, EngineKeyType::RANGE));
    partition.chain(sort).collect()
}

fn definition(attribute: &KeyAttribute) -> AttributeDefinition {
    AttributeDefinition {
        attribute_name: attribute.name.clone(),
        attribute_type: match attribute.key_type {
            KeyType::String => ScalarAttributeType::S,
            KeyType::Number => ScalarAttributeType::N,
            KeyType::Binary => ScalarAttributeType::B,
        },
    }
}

fn schema(elements: &[KeySchemaElement], definitions: &[AttributeDefinition]) -> Result<KeySchema> {
    let mut schema = KeySchema::default();
    for element in elements {
        let name = &element.attribute_name;
        let Some(definition) = definitions.iter().find(|definition| definition.attribute_name == *name) else {
            return Err(StoreError::unavailable(format!(
                "the engine does not say the type of key `{name}`"
            )));
        };
        let attribute = KeyAttribute::new(
            name.clone(),
            match definition.attribute_type {
                ScalarAttributeType::S => KeyType::String,
                ScalarAttributeType::N => KeyType::Number,
                ScalarAttributeType::B => KeyType::Binary,
            },
        );
        match element.key_type {
            EngineKeyType::HASH => schema.partition.push(attribute),
            EngineKeyType::RANGE => schema.sort.push(attribute),
        }
    }
    Ok(schema)
}

fn engine_projection(projection: &IndexProjection) -> Projection {
    let (projection_type, non_key_attributes) = match projection {
        IndexProjection::All => (ProjectionType::ALL, None),
        IndexProjection::KeysOnly => (ProjectionType::KEYS_ONLY, None),
        IndexProjection::Include(names) => (ProjectionType::INCLUDE, Some(names.clone())),
    };
    Projection {
        projection_type: Some(projection_type),
        non_key_attributes,
    }
}

fn projection(projection: Projection) -> IndexProjection {
    match projection.projection_type {
        Some(ProjectionType::KEYS_ONLY) => IndexProjection::KeysOnly,
        Some(ProjectionType::INCLUDE) => IndexProjection::Include(projection.non_key_attributes.unwrap_or_default()),
        Some(ProjectionType::ALL) | None => IndexProjection::All,
    }
}

fn billing_mode(billing: Billing) -> &'static str {
    match billing {
        Billing::OnDemand => "PAY_PER_REQUEST",
        Billing::Provisioned { .. } => "PROVISIONED",
    }
}

fn throughput(billing: Billing) -> Option<ProvisionedThroughput> {
    match billing {
        Billing::OnDemand => None,
        Billing::Provisioned {
            read_units,
            write_units,
        } => Some(ProvisionedThroughput {
            read_capacity_units: Some(read_units.into()),
            write_capacity_units: Some(write_units.into()),
        }),
    }
}

fn stream_view_name(view: StreamView) -> &'static str {
    match view {
        StreamView::KeysOnly => "KEYS_ONLY",
        StreamView::New => "NEW_IMAGE",
        StreamView::Old => "OLD_IMAGE",
        StreamView::Both => "NEW_AND_OLD_IMAGES",
    }
}

fn stream_view(name: &str) -> Option<StreamView> {
    let views = [StreamView::KeysOnly, StreamView::New, StreamView::Old, StreamView::Both];
    views.into_iter().find(|view| stream_view_name(*view) == name)
}

fn status(name: &str) -> TableStatus {
    match name {
        "CREATING" => TableStatus::Creating,
        "ACTIVE" => TableStatus::Active,
        "UPDATING" => TableStatus::Updating,
        "DELETING" => TableStatus::Deleting,
        _ => TableStatus::Unusable,
    }
}
