//! The file of before: SQLite, opened to read.
//!
//! `_tables` has what DynamoDB says of each table as JSON, each table's rows are in a table of its name, `item_json` as DynamoDB JSON,
//! and `_stream_records` has all changes.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, Row};
use serde_json::Value as Json;
use singlet_item::Item;
use singlet_store::{
    Billing, IndexKind, IndexProjection, IndexSpec, KeyAttribute, KeySchema, KeyType, Result, StoreError, StreamEvent,
    StreamRecord, StreamView, TableSpec,
};

/// What a removed table's file says of it.
const REMOVING: &str = "removing";

pub(super) struct Source {
    connection: Connection,
}

fn failed(error: impl std::fmt::Display) -> StoreError {
    StoreError::unavailable(format!("cannot take over `{}`: {error}", super::OLD_FILE))
}

impl Source {
    pub(super) fn open(file: &Path) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(file, flags).map_err(failed)?;
        Ok(Self { connection })
    }

    /// All tables, but those that were on their way in or out when a process was killed.
    pub(super) fn tables(&self, unfinished: &[(String, String)]) -> Result<Vec<TableSpec>> {
        let mut statement = self
            .connection
            .prepare("SELECT * FROM _tables ORDER BY table_name")
            .map_err(failed)?;
        let mut rows = statement.query([]).map_err(failed)?;
        let mut tables = Vec::new();
        while let Some(row) = rows.next().map_err(failed)? {
            let mut spec = table_spec(row)?;
            let begun = unfinished.iter().find(|(table, _)| *table == spec.name);
            if let Some((_, what)) = begun {
                if what == REMOVING || self.count(&spec.name).unwrap_or(0) == 0 {
                    continue;
                }
                // It was whole when its rows came; only what they expire by may be missing.
                if let (None, Some(attribute)) = (&spec.ttl, what.strip_prefix("expires ")) {
                    spec.ttl = Some(attribute.to_owned());
                }
            }
            tables.push(spec);
        }
        Ok(tables)
    }

    pub(super) fn count(&self, table: &str) -> Result<u64> {
        let question = format!("SELECT COUNT(*) FROM {}", quoted(table));
        let count: i64 = self
            .connection
            .query_row(&question, [], |row| row.get(0))
            .map_err(failed)?;
        u64::try_from(count).map_err(failed)
    }

    /// All rows of a table, some at a time.
    pub(super) fn each(&self, table: &str, rows_max: usize, take: &mut dyn FnMut(&[Item]) -> Result<()>) -> Result<()> {
        let question = format!("SELECT item_json FROM {}", quoted(table));
        let mut statement = self.connection.prepare(&question).map_err(failed)?;
        let mut rows = statement.query([]).map_err(failed)?;
        let mut items = Vec::with_capacity(rows_max);
        while let Some(row) = rows.next().map_err(failed)? {
            let text: String = row.get(0).map_err(failed)?;
            items.push(item(&text)?);
            if items.len() >= rows_max {
                take(&items)?;
                items.clear();
            }
        }
        match items.is_empty() {
            true => Ok(()),
            false => take(&items),
        }
    }

    /// The changes of a table since a time, in their order, some at a time.
    pub(super) fn each_change(
        &self,
        table: &str,
        since_seconds: i64,
        changes_max: usize,
        take: &mut dyn FnMut(&[StreamRecord]) -> Result<()>,
    ) -> Result<()> {
        let question = "SELECT event_name, keys_json, old_image, new_image, created_at, user_identity FROM _stream_records \
                        WHERE table_name = ?1 AND created_at >= ?2 ORDER BY CAST(sequence_number AS INTEGER)";
        let mut statement = self.connection.prepare(question).map_err(failed)?;
        let mut rows = statement.query((table, since_seconds)).map_err(failed)?;
        let mut changes = Vec::new();
        while let Some(row) = rows.next().map_err(failed)? {
            changes.extend(change(row)?);
            if changes.len() >= changes_max {
                take(&changes)?;
                changes.clear();
            }
        }
        match changes.is_empty() {
            true => Ok(()),
            false => take(&changes),
        }
    }
}

fn change(row: &Row<'_>) -> Result<Option<StreamRecord>> {
    let text = |at: usize| row.get::<_, Option<String>>(at).map_err(failed);
    let image = |at: usize| text(at)?.as_deref().map(item).transpose();
    let event = match text(0)?.as_deref() {
        Some("INSERT") => StreamEvent::Insert,
        Some("MODIFY") => StreamEvent::Modify,
        Some("REMOVE") => StreamEvent::Remove,
        other => return Err(failed(format!("the unknown change `{}`", other.unwrap_or_default()))),
    };
    let (old, new) = (image(2)?, image(3)?);
    // What changed nothing was told by the engine of before, and is told by nobody else.
    if old.is_some() && old == new {
        return Ok(None);
    }
    Ok(Some(StreamRecord {
        // It gets a number of its own.
        sequence: String::new(),
        event,
        key: image(1)?.ok_or_else(|| failed("a change without a key"))?,
        old,
        new,
        at_seconds: row.get(4).map_err(failed)?,
        expired: text(5)?.is_some(),
    }))
}

fn item(text: &str) -> Result<Item> {
    serde_json::from_str(text).map_err(failed)
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn table_spec(row: &Row<'_>) -> Result<TableSpec> {
    let text = |column: &str| row.get::<_, Option<String>>(column).map_err(failed);
    let is_on = |column: &str| Ok::<_, StoreError>(row.get::<_, Option<i64>>(column).map_err(failed)? == Some(1));
    let json = |column: &str| -> Result<Json> {
        let text = text(column)?;
        text.map_or(Ok(Json::Null), |text| serde_json::from_str(&text).map_err(failed))
    };
    let name = text("table_name")?.ok_or_else(|| failed("a table without a name"))?;
    let wrong = || failed(format!("table `{name}` is not described as it should be"));
    let definitions = json("attribute_definitions")?;
    let schema = |elements: &Json| key_schema(elements, &definitions).ok_or_else(wrong);
    let mut spec = TableSpec::new(name.clone(), schema(&json("key_schema")?)?);
    for (column, kind) in [
        ("gsi_definitions", IndexKind::Global),
        ("lsi_definitions", IndexKind::Local),
    ] {
        for index in json(column)?.as_array().into_iter().flatten() {
            spec.indexes.push(IndexSpec {
                name: field(index, "IndexName")
                    .and_then(Json::as_str)
                    .ok_or_else(wrong)?
                    .to_owned(),
                kind,
                key: schema(field(index, "KeySchema").ok_or_else(wrong)?)?,
                projection: projection(index).ok_or_else(wrong)?,
                units: None,
            });
        }
    }
    if is_on("ttl_enabled")? {
        spec.ttl = text("ttl_attribute")?;
    }
    if is_on("stream_enabled")? {
        spec.stream = Some(stream_view(text("stream_view_type")?.as_deref()).ok_or_else(wrong)?);
    }
    let units = json("provisioned_throughput")?;
    if text("billing_mode")?.as_deref() != Some("PAY_PER_REQUEST") {
        let unit = |name: &str| {
            field(&units, name)
                .and_then(Json::as_u64)
                .and_then(|units| u32::try_from(units).ok())
        };
        if let (Some(read_units), Some(write_units)) = (unit("ReadCapacityUnits"), unit("WriteCapacityUnits")) {
            spec.billing = Billing::Provisioned {
                read_units,
                write_units,
            };
        }
    }
    Ok(spec)
}

fn field<'j>(json: &'j Json, name: &str) -> Option<&'j Json> {
    json.get(name).filter(|value| !value.is_null())
}

fn key_schema(elements: &Json, definitions: &Json) -> Option<KeySchema> {
    let mut schema = KeySchema::default();
    for element in elements.as_array()? {
        let name = field(element, "AttributeName")?.as_str()?;
        let definition = definitions
            .as_array()?
            .iter()
            .find(|definition| field(definition, "AttributeName").and_then(Json::as_str) == Some(name))?;
        let key_type = match field(definition, "AttributeType")?.as_str()? {
            "S" => KeyType::String,
            "N" => KeyType::Number,
            "B" => KeyType::Binary,
            _ => return None,
        };
        let attribute = KeyAttribute::new(name, key_type);
        match field(element, "KeyType")?.as_str()? {
            "HASH" => schema.partition.push(attribute),
            "RANGE" => schema.sort.push(attribute),
            _ => return None,
        }
    }
    Some(schema)
}

fn projection(index: &Json) -> Option<IndexProjection> {
    let projection = field(index, "Projection")?;
    Some(match field(projection, "ProjectionType").and_then(Json::as_str) {
        Some("KEYS_ONLY") => IndexProjection::KeysOnly,
        Some("INCLUDE") => {
            let names = field(projection, "NonKeyAttributes")?.as_array()?;
            let names = names.iter().map(|name| name.as_str().map(str::to_owned));
            IndexProjection::Include(names.collect::<Option<_>>()?)
        }
        Some("ALL") | None => IndexProjection::All,
        Some(_) => return None,
    })
}

fn stream_view(name: Option<&str>) -> Option<StreamView> {
    match name? {
        "KEYS_ONLY" => Some(StreamView::KeysOnly),
        "NEW_IMAGE" => Some(StreamView::New),
        "OLD_IMAGE" => Some(StreamView::Old),
        "NEW_AND_OLD_IMAGES" => Some(StreamView::Both),
        _ => None,
    }
}
