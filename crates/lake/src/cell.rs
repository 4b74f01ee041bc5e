//! What stands in a table, and the columns it stands in.

use singlet_model::model::Personal;

/// A column, or a field of one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    /// What it is called in the table.
    pub name: String,
    /// The model's name for it, where that made it; a column of the lake's own has none.
    pub attribute: Option<String>,
    /// How what tells of a person stands in it. One that is omitted has been emptied, and stays empty.
    pub personal: Option<Personal>,
    /// Its type.
    pub ty: ColumnType,
}

/// The types of columns. Numbers are exact: none is a floating point number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ColumnType {
    Bool,
    /// Thirty-two bits; only the log itself has such.
    Int,
    Long,
    /// Up to 38 digits, so many of them after the point.
    Decimal(u8),
    Text,
    Binary,
    Date,
    /// An instant, in microseconds of UTC.
    Timestamp,
    Struct(Vec<Column>),
    List(Box<ColumnType>),
    /// From text.
    Map(Box<ColumnType>),
}

/// A value in a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Null,
    Bool(bool),
    /// A number of 32 bits, or a date as days since 1970.
    Int(i32),
    /// A number of 64 bits, or an instant as microseconds since 1970.
    Long(i64),
    /// Text, bytes, or a decimal as 16 bytes, big-endian in two's complement.
    Bytes(Vec<u8>),
    /// One cell for each field.
    Struct(Vec<Cell>),
    List(Vec<Cell>),
    Map(Vec<(Vec<u8>, Cell)>),
}

impl Column {
    pub(crate) fn of_lake(name: &str, ty: ColumnType) -> Self {
        Column {
            name: name.to_owned(),
            attribute: None,
            personal: None,
            ty,
        }
    }
}

impl Cell {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Cell::Bytes(text.into().into_bytes())
    }

    pub(crate) fn optional_text(text: Option<String>) -> Self {
        text.map_or(Cell::Null, Cell::text)
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Cell::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }
}
