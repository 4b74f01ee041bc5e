//! A data model of NoSQL Workbench, version 3.0 of its JSON.

use std::fmt;

use serde_json::Value as Json;
use singlet_item::{Item, Value};
use singlet_store::{Billing, IndexKind, IndexProjection, IndexSpec, KeyAttribute, KeySchema, KeyType, TableSpec};

/// A table of a data model, with its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkbenchTable {
    /// The table.
    pub spec: TableSpec,
    /// Its sample rows.
    pub items: Vec<Item>,
}

/// Why a file is no data model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkbenchError {
    /// It is no JSON.
    NoJson(String),
    /// Something is missing or of another shape; where.
    Shape(String),
}

impl fmt::Display for WorkbenchError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WorkbenchError::NoJson(reason) => write!(out, "it is no JSON: {reason}"),
            WorkbenchError::Shape(place) => write!(out, "`{place}` is not as a data model of NoSQL Workbench has it"),
        }
    }
}

impl std::error::Error for WorkbenchError {}

/// The tables of a data model.
///
/// # Errors
///
/// Where the file is none.
pub fn read_workbench(text: &str) -> Result<Vec<WorkbenchTable>, WorkbenchError> {
    let file: Json = serde_json::from_str(text).map_err(|error| WorkbenchError::NoJson(error.to_string()))?;
    let tables = file.get("DataModel").and_then(Json::as_array);
    let tables = tables.ok_or_else(|| WorkbenchError::Shape("DataModel".to_owned()))?;
    let numbered = tables.iter().enumerate();
    numbered
        .map(|(at, table)| read_table(table, &format!("DataModel[{at}]")))
        .collect()
}

fn read_table(table: &Json, place: &str) -> Result<WorkbenchTable, WorkbenchError> {
    let wrong = |what: &str| WorkbenchError::Shape(format!("{place}.{what}"));
    let name = table
        .get("TableName")
        .and_then(Json::as_str)
        .ok_or_else(|| wrong("TableName"))?;
    let key = table
        .get("KeyAttributes")
        .and_then(key_schema)
        .ok_or_else(|| wrong("KeyAttributes"))?;
    let mut spec = TableSpec::new(name, key);
    for (field, kind) in [
        ("GlobalSecondaryIndexes", IndexKind::Global),
        ("LocalSecondaryIndexes", IndexKind::Local),
    ] {
        for index in table.get(field).and_then(Json::as_array).into_iter().flatten() {
            spec.indexes.push(index_spec(index, kind).ok_or_else(|| wrong(field))?);
        }
    }
    spec.billing = billing(table);
    let mut items = Vec::new();
    let facets = table.get("TableFacets").and_then(Json::as_array).into_iter().flatten();
    for holder in std::iter::once(table).chain(facets) {
        for row in holder.get("TableData").and_then(Json::as_array).into_iter().flatten() {
            let item: Item = serde_json::from_value::<std::collections::BTreeMap<String, Value>>(row.clone())
                .map_err(|_| wrong("TableData"))?;
            let is_whole = spec.key.attributes().all(|key| item.contains_key(&key.name));
            if is_whole && !items.contains(&item) {
                items.push(item);
            }
        }
    }
    Ok(WorkbenchTable { spec, items })
}

fn key_schema(keys: &Json) -> Option<KeySchema> {
    let side = |name: &str| keys.get(name).map(key_attribute);
    Some(KeySchema {
        partition: vec![side("PartitionKey")??],
        sort: match side("SortKey") {
            Some(sort) => vec![sort?],
            None => Vec::new(),
        },
    })
}

fn key_attribute(key: &Json) -> Option<KeyAttribute> {
    let name = key.get("AttributeName")?.as_str()?;
    let key_type = match key.get("AttributeType")?.as_str()? {
        "S" => KeyType::String,
        "N" => KeyType::Number,
        "B" => KeyType::Binary,
        _ => return None,
    };
    Some(KeyAttribute::new(name, key_type))
}

fn index_spec(index: &Json, kind: IndexKind) -> Option<IndexSpec> {
    let projection = index.get("Projection");
    let names = || {
        let names = projection?.get("NonKeyAttributes")?.as_array()?.iter();
        names
            .map(|name| name.as_str().map(str::to_owned))
            .collect::<Option<Vec<_>>>()
    };
    Some(IndexSpec {
        name: index.get("IndexName")?.as_str()?.to_owned(),
        kind,
        key: key_schema(index.get("KeyAttributes")?)?,
        projection: match projection.and_then(|projection| projection.get("ProjectionType")?.as_str()) {
            Some("KEYS_ONLY") => IndexProjection::KeysOnly,
            Some("INCLUDE") => IndexProjection::Include(names()?),
            _ => IndexProjection::All,
        },
        units: None,
    })
}

fn billing(table: &Json) -> Billing {
    let units = || {
        let settings = table.get("ProvisionedCapacitySettings")?.get("ProvisionedThroughput")?;
        let unit = |name: &str| u32::try_from(settings.get(name)?.as_u64()?).ok();
        Some((unit("ReadCapacityUnits")?, unit("WriteCapacityUnits")?))
    };
    match (table.get("BillingMode").and_then(Json::as_str), units()) {
        (Some("PROVISIONED"), Some((read_units, write_units))) => Billing::Provisioned {
            read_units,
            write_units,
        },
        _ => Billing::OnDemand,
    }
}
