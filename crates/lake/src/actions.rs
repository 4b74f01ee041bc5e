//! What the log of a Delta table says, as its protocol has it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value as Json};

use crate::cell::{Cell, Column, ColumnType};

/// One entry of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Action {
    Protocol(Protocol),
    MetaData(MetaData),
    Txn(Txn),
    Add(AddFile),
    Remove(RemoveFile),
    CommitInfo(Json),
}

/// What a reader and a writer must be able to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Protocol {
    pub min_reader_version: i32,
    pub min_writer_version: i32,
}

/// What the table is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MetaData {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub format: Format,
    pub schema_string: String,
    pub partition_columns: Vec<String>,
    #[serde(default)]
    pub configuration: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_time: Option<i64>,
}

/// How data files are written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Format {
    pub provider: String,
    #[serde(default)]
    pub options: BTreeMap<String, String>,
}

/// How far a writer is, in its own count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Txn {
    pub app_id: String,
    pub version: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<i64>,
}

/// A file whose rows are in the table from now on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AddFile {
    pub path: String,
    #[serde(default)]
    pub partition_values: BTreeMap<String, String>,
    pub size: i64,
    pub modification_time: i64,
    pub data_change: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stats: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<BTreeMap<String, String>>,
}

/// A file whose rows are no longer in the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RemoveFile {
    pub path: String,
    #[serde(default)]
    pub deletion_timestamp: i64,
    pub data_change: bool,
    #[serde(default)]
    pub extended_file_metadata: bool,
    #[serde(default)]
    pub partition_values: BTreeMap<String, String>,
    #[serde(default)]
    pub size: i64,
}

/// The names of the entries that the lake reads; others have no bearing on which rows there are.
const KNOWN: [&str; 6] = ["protocol", "metaData", "txn", "add", "remove", "commitInfo"];

impl Action {
    /// From the JSON of one entry; nothing where the lake has no use for it.
    pub(crate) fn from_json(json: Json) -> Result<Option<Action>, serde_json::Error> {
        let is_known = |object: &Map<String, Json>| object.keys().any(|name| KNOWN.contains(&name.as_str()));
        match json.as_object().is_some_and(is_known) {
            true => serde_json::from_value(json).map(Some),
            false => Ok(None),
        }
    }
}

impl AddFile {
    /// The value of a tag.
    pub(crate) fn tag_value(&self, name: &str) -> Option<&str> {
        self.tags.as_ref()?.get(name).map(String::as_str)
    }

    /// How many rows it has.
    pub(crate) fn rows(&self) -> Option<u64> {
        let stats: Json = serde_json::from_str(self.stats.as_deref()?).ok()?;
        stats.get("numRecords")?.as_u64()
    }
}

/// The columns of a checkpoint: the entries of a log that still count, one a row.
pub(crate) fn checkpoint_columns() -> Vec<Column> {
    use ColumnType::{Bool, Int, Long, Text};
    let column = Column::of_lake;
    let texts = || ColumnType::Map(Box::new(Text));
    let format = vec![column("provider", Text), column("options", texts())];
    let entries = [
        (
            "txn",
            vec![
                column("appId", Text),
                column("version", Long),
                column("lastUpdated", Long),
            ],
        ),
        (
            "add",
            vec![
                column("path", Text),
                column("partitionValues", texts()),
                column("size", Long),
                column("modificationTime", Long),
                column("dataChange", Bool),
                column("stats", Text),
                column("tags", texts()),
            ],
        ),
        (
            "remove",
            vec![
                column("path", Text),
                column("deletionTimestamp", Long),
                column("dataChange", Bool),
                column("extendedFileMetadata", Bool),
                column("partitionValues", texts()),
                column("size", Long),
            ],
        ),
        (
            "metaData",
            vec![
                column("id", Text),
                column("name", Text),
                column("format", ColumnType::Struct(format)),
                column("schemaString", Text),
                column("partitionColumns", ColumnType::List(Box::new(Text))),
                column("configuration", texts()),
                column("createdTime", Long),
            ],
        ),
        (
            "protocol",
            vec![column("minReaderVersion", Int), column("minWriterVersion", Int)],
        ),
    ];
    let entries = entries.into_iter();
    entries
        .map(|(name, fields)| column(name, ColumnType::Struct(fields)))
        .collect()
}

/// JSON in a column.
pub(crate) fn cell_of_json(ty: &ColumnType, json: &Json) -> Cell {
    match (ty, json) {
        (ColumnType::Bool, Json::Bool(truth)) => Cell::Bool(*truth),
        (ColumnType::Int, Json::Number(number)) => {
            let number = number.as_i64().and_then(|number| i32::try_from(number).ok());
            number.map_or(Cell::Null, Cell::Int)
        }
        (ColumnType::Long, Json::Number(number)) => number.as_i64().map_or(Cell::Null, Cell::Long),
        (ColumnType::Text, Json::String(text)) => Cell::text(text.as_str()),
        (ColumnType::Struct(fields), Json::Object(object)) => {
            let cell = |field: &Column| {
                object
                    .get(&field.name)
                    .map_or(Cell::Null, |json| cell_of_json(&field.ty, json))
            };
            Cell::Struct(fields.iter().map(cell).collect())
        }
        (ColumnType::List(element), Json::Array(values)) => {
            Cell::List(values.iter().map(|json| cell_of_json(element, json)).collect())
        }
        (ColumnType::Map(value), Json::Object(object)) => {
            let entry = |(key, json): (&String, &Json)| (key.clone().into_bytes(), cell_of_json(value, json));
            Cell::Map(object.iter().map(entry).collect())
        }
        _ => Cell::Null,
    }
}

/// A column as JSON; what is not there is left out of its object.
pub(crate) fn json_of_cell(ty: &ColumnType, cell: &Cell) -> Json {
    match (ty, cell) {
        (_, Cell::Bool(truth)) => Json::Bool(*truth),
        (_, Cell::Int(number)) => Json::Number(Number::from(*number)),
        (_, Cell::Long(number)) => Json::Number(Number::from(*number)),
        (_, Cell::Bytes(bytes)) => Json::String(String::from_utf8_lossy(bytes).into_owned()),
        (ColumnType::Struct(fields), Cell::Struct(cells)) => {
            let there = fields.iter().zip(cells).filter(|(_, cell)| **cell != Cell::Null);
            let there = there.map(|(field, cell)| (field.name.clone(), json_of_cell(&field.ty, cell)));
            Json::Object(there.collect())
        }
        (ColumnType::List(element), Cell::List(cells)) => {
            Json::Array(cells.iter().map(|cell| json_of_cell(element, cell)).collect())
        }
        (ColumnType::Map(value), Cell::Map(entries)) => {
            let entry = |(key, cell): &(Vec<u8>, Cell)| {
                let key = String::from_utf8_lossy(key).into_owned();
                (key, json_of_cell(value, cell))
            };
            Json::Object(entries.iter().map(entry).collect())
        }
        _ => Json::Null,
    }
}
