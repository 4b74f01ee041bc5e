//! The table, its indexes, who calls, and what is estimated.

use super::Bounds;
use crate::source::Span;
use crate::types::Type;

/// Which index of a table: an index into [`Table::indexes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IndexId(pub u32);

/// The table.
#[derive(Debug)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub span: Span,
    /// The primary key: partition, then sort.
    pub key: Vec<KeyAttribute>,
    /// The character between the parts of keys.
    pub delimiter: char,
    /// The secondary indexes.
    pub indexes: Vec<Index>,
    /// The attribute that names the entity of a row.
    pub type_attribute: Option<String>,
    /// The attribute that holds the expiry.
    pub ttl: Option<String>,
    /// What the change stream carries, if there is one.
    pub stream: Option<String>,
    /// Who reads the stream.
    pub stream_readers: Vec<String>,
    /// How capacity is paid for.
    pub billing: Billing,
    /// Whether the table can be restored to an instant.
    pub recovery: bool,
    /// What a document says of it.
    pub claims: TableClaims,
    /// Where its fields stand, as far as they are said.
    pub spans: TableSpans,
}

impl Table {
    /// The indexes over the table's own keys: every item is in them, those too that the model itself keeps.
    pub fn indexes_of_all_items(&self) -> impl Iterator<Item = (IndexId, &Index)> {
        let is_key = |attribute: &KeyAttribute| self.key.iter().any(|own| own.name == attribute.name);
        let numbered = (0..).map(IndexId).zip(&self.indexes);
        numbered.filter(move |(_, index)| index.key().all(is_key))
    }
}

/// Where the fields of a table stand, as far as they are said.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableSpans {
    /// `type`.
    pub type_attribute: Option<Span>,
    /// `ttl`.
    pub ttl: Option<Span>,
    /// `stream`.
    pub stream: Option<Span>,
    /// `billing`.
    pub billing: Option<Span>,
    /// `recovery`.
    pub recovery: Option<Span>,
}

/// Units a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProvisionedUnits {
    /// Read units a second.
    pub read: u64,
    /// Write units a second.
    pub write: u64,
}

/// How capacity is paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Billing {
    /// By request.
    OnDemand,
    /// By units a second, of the table alone: an index has [its own](Index::units).
    Provisioned {
        /// Read units a second.
        read: u64,
        /// Write units a second.
        write: u64,
    },
}

/// What a document says of a table.
#[derive(Debug, Default)]
pub struct TableClaims {
    /// That the free units apply.
    pub free_tier: Option<Span>,
    /// Dollars for a million read units.
    pub read_price: Option<(String, Span)>,
    /// Dollars for a million write units.
    pub write_price: Option<(String, Span)>,
    /// Dollars a month.
    pub month_price: Option<(Bounds, Span)>,
    /// Read units a second, table and indexes together.
    pub read_units: Option<(Bounds, Span)>,
    /// Write units a second, table and indexes together.
    pub write_units: Option<(Bounds, Span)>,
    /// Gigabytes stored.
    pub storage_gb: Option<(Bounds, Span)>,
}

/// An attribute of a key.
#[derive(Clone, Debug)]
pub struct KeyAttribute {
    /// Its name.
    pub name: String,
    /// Its type, where the table says it; otherwise what the entities put there.
    pub declared: Option<KeyType>,
    /// Where it stands.
    pub span: Span,
}

/// The types that a key attribute can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyType {
    /// Text.
    String,
    /// A number.
    Number,
    /// Bytes.
    Bytes,
}

impl KeyType {
    /// The word of the language.
    pub fn word(self) -> &'static str {
        match self {
            KeyType::String => "string",
            KeyType::Number => "number",
            KeyType::Bytes => "bytes",
        }
    }

    /// The key type that holds values of a type.
    pub fn of(ty: &Type) -> Option<KeyType> {
        match ty {
            Type::Int(_) | Type::Number(_) | Type::Version | Type::Seconds | Type::Millis => Some(KeyType::Number),
            Type::Bytes(_) => Some(KeyType::Bytes),
            Type::OrWords(..) => Some(KeyType::String),
            other if other.is_textual() => Some(KeyType::String),
            _ => None,
        }
    }
}

/// A secondary index.
#[derive(Debug)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub span: Span,
    /// The partition key's attributes; the table's own for a local index.
    pub partition: Vec<KeyAttribute>,
    /// The sort key's attributes.
    pub sort: Vec<KeyAttribute>,
    /// Whether it is local.
    pub local: bool,
    /// What entries carry.
    pub projection: Projection,
    /// The units a second that it is provisioned with, where the table's billing says.
    pub units: Option<ProvisionedUnits>,
    /// A document says that it makes a value unique.
    pub claims_unique: Option<Span>,
    /// A document says that older rows appear in it by themselves.
    pub claims_backfilled: Option<Span>,
}

impl Index {
    /// The attributes of its key, partition then sort.
    pub fn key(&self) -> impl Iterator<Item = &KeyAttribute> {
        self.partition.iter().chain(&self.sort)
    }
}

/// What an index's entries carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Projection {
    /// Every attribute.
    All,
    /// The keys.
    Keys,
    /// The keys and these.
    Include(Vec<String>),
}

/// How often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// How many.
    pub count: f64,
    /// In how many seconds.
    pub seconds: f64,
}

impl Rate {
    /// How many a second.
    pub fn per_second(self) -> f64 {
        self.count / self.seconds
    }
}

/// What is estimated of an entity, a read or a write.
#[derive(Debug)]
pub struct Estimate {
    /// The entity's, read's or write's name.
    pub subject: String,
    /// Where it stands.
    pub span: Span,
    /// How many rows.
    pub items: Option<u64>,
    /// How many rows share a value of an attribute.
    pub per: Vec<(String, u64)>,
    /// The usual size of a row.
    pub bytes: Option<u64>,
    /// The share of the rows that have each of some values of an attribute.
    pub shares: Vec<ValueShares>,
    /// The share of the traffic that the busiest key gets.
    pub top_share: Option<f64>,
    /// How often, on average.
    pub rate: Option<Rate>,
    /// How often at the busiest time.
    pub peak: Option<Rate>,
}

impl Estimate {
    /// The share of the rows in which an attribute has a value, where that is said: by itself, or as an equal part of what the
    /// values that are named leave to those that are not.
    pub fn share_of_value(&self, attribute: &str, value: &str, values: Option<&[String]>) -> Option<f64> {
        let shares = self.shares.iter().find(|shares| shares.attribute == attribute)?;
        let named = shares.values.iter().find(|(name, _)| name == value);
        if let Some((_, share)) = named {
            return Some(*share);
        }
        let left = (1.0 - shares.values.iter().map(|(_, share)| share).sum::<f64>()).max(0.0);
        let is_named = |value: &String| shares.values.iter().any(|(name, _)| name == value);
        let unnamed = values?.iter().filter(|value| !is_named(value)).count();
        Some(left / unnamed.max(1) as f64)
    }

    /// The share of the rows that lack an attribute, where that is said.
    pub fn share_absent(&self, attribute: &str) -> Option<f64> {
        let shares = self.shares.iter().find(|shares| shares.attribute == attribute)?;
        let absent = shares.values.iter().find(|(name, _)| name == ABSENT_VALUE);
        absent.map(|(_, share)| *share)
    }
}

/// The name under `shares` of rows that lack the attribute.
pub const ABSENT_VALUE: &str = "absent";

/// How the rows are spread over values of one attribute.
#[derive(Debug)]
pub struct ValueShares {
    /// The attribute.
    pub attribute: String,
    /// Values and the share of each; what is left is spread evenly over the others.
    pub values: Vec<(String, f64)>,
}

/// A finding that the team accepts.
#[derive(Debug)]
pub struct Accepted {
    /// The rule's name or code.
    pub rule: String,
    /// Where the rule's name stands.
    pub rule_span: Span,
    /// What the finding is about.
    pub at: String,
    /// The reason.
    pub why: String,
    /// Where the whole entry stands.
    pub span: Span,
}
