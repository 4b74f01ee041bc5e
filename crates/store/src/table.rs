//! What a table is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use singlet_item::Value;

use crate::{Result, StoreError};

/// What a table should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSpec {
    /// Its name, three to 255 characters.
    pub name: String,
    /// Its key: one partition attribute and at most one sort attribute.
    pub key: KeySchema,
    /// Its indexes.
    pub indexes: Vec<IndexSpec>,
    /// How it is paid.
    pub billing: Billing,
    /// The attribute whose time expires an item.
    pub ttl: Option<String>,
    /// What its stream carries, if it has one.
    pub stream: Option<StreamView>,
}

impl TableSpec {
    /// A table without indexes, TTL or stream, paid on demand.
    pub fn new(name: impl Into<String>, key: KeySchema) -> Self {
        Self {
            name: name.into(),
            key,
            indexes: Vec::new(),
            billing: Billing::OnDemand,
            ttl: None,
            stream: None,
        }
    }

    /// Every key attribute of the table and its indexes, once, in order of first use.
    pub fn key_attributes(&self) -> Vec<&KeyAttribute> {
        let mut found: Vec<&KeyAttribute> = Vec::new();
        let schemas = std::iter::once(&self.key).chain(self.indexes.iter().map(|index| &index.key));
        for attribute in schemas.flat_map(KeySchema::attributes) {
            if !found.contains(&attribute) {
                found.push(attribute);
            }
        }
        found
    }
}

/// The key of a table or an index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeySchema {
    /// The partition attributes: one, or up to four on a global index.
    pub partition: Vec<KeyAttribute>,
    /// The sort attributes: none, one, or up to four on a global index.
    pub sort: Vec<KeyAttribute>,
}

impl KeySchema {
    /// A key of one partition attribute.
    pub fn partition(name: impl Into<String>, key_type: KeyType) -> Self {
        Self {
            partition: vec![KeyAttribute::new(name, key_type)],
            sort: Vec::new(),
        }
    }

    /// With a further partition attribute.
    #[must_use]
    pub fn and_partition(mut self, name: impl Into<String>, key_type: KeyType) -> Self {
        self.partition.push(KeyAttribute::new(name, key_type));
        self
    }

    /// With a sort attribute, or a further one.
    #[must_use]
    pub fn sort(mut self, name: impl Into<String>, key_type: KeyType) -> Self {
        self.sort.push(KeyAttribute::new(name, key_type));
        self
    }

    /// All attributes, those of the partition first.
    pub fn attributes(&self) -> impl Iterator<Item = &KeyAttribute> {
        self.partition.iter().chain(&self.sort)
    }
}

/// One attribute of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyAttribute {
    /// Its name.
    pub name: String,
    /// Its type.
    pub key_type: KeyType,
}

impl KeyAttribute {
    /// An attribute of that name and type.
    pub fn new(name: impl Into<String>, key_type: KeyType) -> Self {
        Self {
            name: name.into(),
            key_type,
        }
    }
}

/// The type of a key attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum KeyType {
    /// A string, sorted by its UTF-8 bytes.
    String,
    /// A number, sorted by value.
    Number,
    /// Bytes, sorted unsigned.
    Binary,
}

impl KeyType {
    /// The letter by which DynamoDB names it.
    pub fn type_letter(self) -> &'static str {
        match self {
            KeyType::String => "S",
            KeyType::Number => "N",
            KeyType::Binary => "B",
        }
    }

    /// Whether a value can be a key of this type.
    pub fn takes_value(self, value: &Value) -> bool {
        matches!(
            (value, self),
            (Value::S(_), KeyType::String) | (Value::N(_), KeyType::Number) | (Value::B(_), KeyType::Binary)
        )
    }
}

/// An index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexSpec {
    /// Its name, three to 255 characters.
    pub name: String,
    /// Whether it has partitions of its own.
    pub kind: IndexKind,
    /// Its key.
    pub key: KeySchema,
    /// What it holds of an item besides the keys of table and index.
    pub projection: IndexProjection,
    /// The units a second of a global index on a provisioned table, where they are others than the table's.
    pub units: Option<IndexUnits>,
}

/// Provisioned units a second of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexUnits {
    /// Read units a second.
    pub read_units: u32,
    /// Write units a second.
    pub write_units: u32,
}

impl IndexSpec {
    /// How the index is paid on a table that is paid so: by its own units where it has any, else as the table is.
    pub fn index_billing(&self, table: Billing) -> Billing {
        match (table, self.units) {
            (Billing::Provisioned { .. }, Some(units)) => Billing::Provisioned {
                read_units: units.read_units,
                write_units: units.write_units,
            },
            (table, _) => table,
        }
    }
}

impl IndexUnits {
    /// Those of an index that is paid one way, where that is another way than its table's.
    pub fn apart_from(table: Billing, index: Billing) -> Option<Self> {
        match index {
            Billing::Provisioned {
                read_units,
                write_units,
            } if index != table => Some(IndexUnits {
                read_units,
                write_units,
            }),
            _ => None,
        }
    }
}

/// Whether an index has partitions of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum IndexKind {
    /// It has: any attributes are its key, and it is eventually consistent.
    Global,
    /// It shares the table's partition attribute and can be read consistently.
    Local,
}

/// What an index holds of an item besides the keys of table and index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IndexProjection {
    /// Everything.
    All,
    /// Nothing.
    KeysOnly,
    /// These attributes.
    Include(Vec<String>),
}

/// How a table is paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Billing {
    /// Per request.
    OnDemand,
    /// Per hour, for this many units a second on the table, and on each global index that has [none of its own](IndexSpec::units).
    Provisioned {
        /// Read units a second.
        read_units: u32,
        /// Write units a second.
        write_units: u32,
    },
}

/// What a stream carries of each change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StreamView {
    /// Only the key.
    KeysOnly,
    /// The item after.
    New,
    /// The item before.
    Old,
    /// The item before and after.
    Both,
}

impl StreamView {
    /// The word by which DynamoDB names it.
    pub fn word(self) -> &'static str {
        match self {
            StreamView::KeysOnly => "KEYS_ONLY",
            StreamView::New => "NEW_IMAGE",
            StreamView::Old => "OLD_IMAGE",
            StreamView::Both => "NEW_AND_OLD_IMAGES",
        }
    }
}

/// What a table is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableDescription {
    /// What could be asked for. Indexes are sorted by name.
    pub spec: TableSpec,
    /// Whether it can be used.
    pub status: TableStatus,
    /// How many items it has, as the engine last counted them.
    pub item_count: u64,
    /// How large it is, as the engine last measured it.
    pub size_bytes: u64,
    /// When it was made, in seconds since 1970, where the engine says so.
    pub created_at_seconds: Option<i64>,
}

/// What an engine keeps about a table besides what it is asked for when the table is made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableUpkeep {
    /// Whether it can be brought back as it was at any instant of the last weeks; none where the engine has no such thing.
    pub recovery: Option<bool>,
    /// Its tags, by name.
    pub tags: BTreeMap<String, String>,
}

/// One change of a table that is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TableChange {
    /// A global index is added, and filled from the items that are there.
    AddIndex(IndexSpec),
    /// The global index of this name goes.
    RemoveIndex(String),
    /// It is paid otherwise.
    Billing(Billing),
    /// The global index of this name has these units a second.
    IndexUnits(String, IndexUnits),
    /// Its stream begins to carry this, or ends.
    Stream(Option<StreamView>),
    /// It can be brought back as it was at any instant from now on, or no longer.
    Recovery(bool),
}

/// Whether a table can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TableStatus {
    /// Not yet.
    Creating,
    /// Yes.
    Active,
    /// Yes, while it changes.
    Updating,
    /// No longer.
    Deleting,
    /// No, for a reason that the engine knows.
    Unusable,
}

/// How the expiry of a table changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TtlChange {
    /// It starts, by this attribute.
    On(String),
    /// It stops; it was by this attribute.
    Off(String),
}

impl TtlChange {
    /// What leads from one attribute to another; none, if they are the same. DynamoDB takes one change an hour, so
    /// another attribute is refused rather than left half done.
    pub fn between(table: &str, current: Option<&str>, wanted: Option<&str>) -> Result<Option<Self>> {
        match (current, wanted) {
            (None, None) => Ok(None),
            (Some(current), Some(wanted)) if current == wanted => Ok(None),
            (None, Some(wanted)) => Ok(Some(Self::On(wanted.to_owned()))),
            (Some(current), None) => Ok(Some(Self::Off(current.to_owned()))),
            (Some(current), Some(wanted)) => Err(StoreError::bad_request(format!(
                "items of table `{table}` expire by `{current}`; turn that off before setting `{wanted}`"
            ))),
        }
    }
}
