//! Rows as a Parquet file, and back.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::file::writer::SerializedFileWriter;
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use parquet::schema::types::{SchemaDescriptor, Type as ParquetType, TypePtr};

use crate::cell::{Cell, Column, ColumnType};
use crate::error::LakeError;
use crate::leaves::LeafGroup;
use crate::shred::{DECIMAL_BYTES, Leaf, LeafValues, shred_row};

/// How many digits a decimal has.
pub(crate) const DECIMAL_DIGITS: u8 = 38;

/// The most rows of a row group: a reader holds one in memory.
pub(crate) const ROW_GROUP_ROWS_MAX: usize = 100_000;

/// Of about so many values of a column it is looked how many are others; of fewer a dictionary costs nothing.
const DICTIONARY_SAMPLE_VALUES: usize = 1_000;

/// Where so many are, in percent, a dictionary saves nothing. Of values that are there twice each, about 95 of 100 in a sample are others.
const DICTIONARY_OTHERS_PERCENT: usize = 98;

/// Rows as the bytes of a file. Each has one cell for each column.
pub(crate) fn file_of_rows(columns: &[Column], rows: Vec<Vec<Cell>>) -> Result<Vec<u8>, LakeError> {
    let mut file = RowsFile::begin(columns);
    for row in rows {
        file.push_row(row)?;
    }
    file.finish()
}

/// A file that is made row by row, or of rows of others as they lie there: no more rows than those of a group are held.
pub(crate) struct RowsFile<'c> {
    columns: &'c [Column],
    /// None before its first group.
    file: Option<SerializedFileWriter<Vec<u8>>>,
    held: LeafGroup,
    /// How many rows it has.
    pub rows: usize,
}

impl<'c> RowsFile<'c> {
    pub(crate) fn begin(columns: &'c [Column]) -> Self {
        RowsFile {
            columns,
            file: None,
            held: LeafGroup::without_rows(columns),
            rows: 0,
        }
    }

    pub(crate) fn push_row(&mut self, row: Vec<Cell>) -> Result<(), LakeError> {
        if self.held.rows >= ROW_GROUP_ROWS_MAX {
            self.write_held()?;
        }
        shred_row(self.columns, row, &mut self.held.leaves)?;
        self.held.rows += 1;
        self.rows += 1;
        Ok(())
    }

    /// Adds rows that are of the same columns.
    pub(crate) fn push_group(&mut self, group: LeafGroup) -> Result<(), LakeError> {
        if self.held.rows + group.rows > ROW_GROUP_ROWS_MAX {
            self.write_held()?;
        }
        self.rows += group.rows;
        self.held.append_group(group)
    }

    fn write_held(&mut self) -> Result<(), LakeError> {
        let held = std::mem::replace(&mut self.held, LeafGroup::without_rows(self.columns));
        if held.rows == 0 {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(begun_file(self.columns, &held.leaves)?),
        };
        write_group(file, held.leaves)
    }

    /// The bytes of the file.
    pub(crate) fn finish(mut self) -> Result<Vec<u8>, LakeError> {
        self.write_held()?;
        let file = match self.file {
            Some(file) => file,
            None => begun_file(self.columns, &self.held.leaves)?,
        };
        Ok(file.into_inner()?)
    }
}

/// A file without rows, as is best for some that come first.
fn begun_file(columns: &[Column], leaves: &[Leaf]) -> Result<SerializedFileWriter<Vec<u8>>, LakeError> {
    let schema = schema_of(columns)?;
    #[cfg(test)]
    let is_uncompressed = tests::IS_UNCOMPRESSED.load(std::sync::atomic::Ordering::Relaxed);
    #[cfg(not(test))]
    let is_uncompressed = false;
    let compression = match is_uncompressed {
        true => Compression::UNCOMPRESSED,
        false => Compression::SNAPPY,
    };
    let properties = properties_of(columns, leaves, &schema, compression);
    Ok(SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?)
}

fn properties_of(columns: &[Column], leaves: &[Leaf], schema: &TypePtr, compression: Compression) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_compression(compression)
        .set_created_by("singlet".to_owned());
    // The least and the largest of what tells of a person tell it too.
    let mut personal = Vec::new();
    personal_paths(columns, &mut Vec::new(), &mut personal);
    let schema = SchemaDescriptor::new(Arc::clone(schema));
    for (leaf, values) in schema.columns().iter().zip(leaves) {
        if personal.iter().any(|path| leaf.path().parts().starts_with(path)) {
            properties = properties.set_column_statistics_enabled(leaf.path().clone(), EnabledStatistics::None);
        }
        if have_all_another(&values.values) {
            properties = properties.set_column_dictionary_enabled(leaf.path().clone(), false);
        }
    }
    properties.build()
}

/// Whether values are nearly all others, so that a dictionary of them is as large as they are: looked up in some that are spread over all.
fn have_all_another(values: &LeafValues) -> bool {
    match values {
        LeafValues::Bool(_) | LeafValues::Int(_) => false,
        LeafValues::Long(values) => differ(spread(values)),
        LeafValues::Bytes(values) => differ(spread(values).map(|value| value.data())),
        LeafValues::Decimal(values) => differ(spread(values).map(|value| value.data())),
    }
}

fn spread<T>(values: &[T]) -> impl ExactSizeIterator<Item = &T> {
    let step = (values.len() / DICTIONARY_SAMPLE_VALUES).max(1);
    values.iter().step_by(step)
}

fn differ<T: Eq + Hash>(values: impl ExactSizeIterator<Item = T>) -> bool {
    let count = values.len();
    let others: HashSet<T> = values.collect();
    count >= DICTIONARY_SAMPLE_VALUES && others.len() * 100 >= count * DICTIONARY_OTHERS_PERCENT
}

/// The paths of columns that tell of a person.
fn personal_paths(columns: &[Column], within: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    for column in columns {
        within.push(column.name.clone());
        match (&column.ty, column.personal) {
            (_, Some(_)) => found.push(within.clone()),
            (ColumnType::Struct(fields), None) => personal_paths(fields, within, found),
            _ => {}
        }
        within.pop();
    }
}

fn write_group(file: &mut SerializedFileWriter<Vec<u8>>, leaves: Vec<Leaf>) -> Result<(), LakeError> {
    let mut group = file.next_row_group()?;
    for leaf in leaves {
        let mut column = group.next_column()?.ok_or(LakeError::Shape)?;
        let definitions = Some(leaf.definitions.as_slice());
        let repetitions = leaf.is_repeated.then_some(leaf.repetitions.as_slice());
        match (column.untyped(), &leaf.values) {
            (ColumnWriter::BoolColumnWriter(to), LeafValues::Bool(values)) => {
                to.write_batch(values, definitions, repetitions)?
            }
            (ColumnWriter::Int32ColumnWriter(to), LeafValues::Int(values)) => {
                to.write_batch(values, definitions, repetitions)?
            }
            (ColumnWriter::Int64ColumnWriter(to), LeafValues::Long(values)) => {
                to.write_batch(values, definitions, repetitions)?
            }
            (ColumnWriter::ByteArrayColumnWriter(to), LeafValues::Bytes(values)) => {
                to.write_batch(values, definitions, repetitions)?
            }
            (ColumnWriter::FixedLenByteArrayColumnWriter(to), LeafValues::Decimal(values)) => {
                to.write_batch(values, definitions, repetitions)?
            }
            _ => return Err(LakeError::Shape),
        };
        column.close()?;
    }
    group.close()?;
    Ok(())
}

pub(crate) fn schema_of(columns: &[Column]) -> ParquetResult<TypePtr> {
    let fields = columns.iter().map(|column| parquet_type(&column.name, &column.ty));
    let fields = fields.collect::<ParquetResult<_>>()?;
    let schema = ParquetType::group_type_builder("row").with_fields(fields).build()?;
    Ok(Arc::new(schema))
}

fn parquet_type(name: &str, ty: &ColumnType) -> ParquetResult<TypePtr> {
    let scalar = |physical, logical| {
        ParquetType::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
    };
    let group = |fields, logical| {
        ParquetType::group_type_builder(name)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .with_fields(fields)
            .build()
    };
    let built = match ty {
        ColumnType::Bool => scalar(Physical::BOOLEAN, None).build(),
        ColumnType::Int => scalar(Physical::INT32, None).build(),
        ColumnType::Long => scalar(Physical::INT64, None).build(),
        ColumnType::Text => scalar(Physical::BYTE_ARRAY, Some(LogicalType::String)).build(),
        ColumnType::Binary => scalar(Physical::BYTE_ARRAY, None).build(),
        ColumnType::Date => scalar(Physical::INT32, Some(LogicalType::Date)).build(),
        ColumnType::Timestamp => {
            let logical = LogicalType::timestamp(true, TimeUnit::MICROS);
            scalar(Physical::INT64, Some(logical)).build()
        }
        ColumnType::Decimal(scale) => {
            let (scale, digits) = (i32::from(*scale), i32::from(DECIMAL_DIGITS));
            scalar(
                Physical::FIXED_LEN_BYTE_ARRAY,
                Some(LogicalType::decimal(scale, digits)),
            )
            .with_length(DECIMAL_BYTES as i32)
            .with_precision(digits)
            .with_scale(scale)
            .build()
        }
        ColumnType::Struct(fields) => {
            let fields = fields.iter().map(|field| parquet_type(&field.name, &field.ty));
            group(fields.collect::<ParquetResult<_>>()?, None)
        }
        ColumnType::List(element) => {
            let list = repeated("list", vec![parquet_type("element", element)?])?;
            group(vec![list], Some(LogicalType::List))
        }
        ColumnType::Map(value) => {
            let key = ParquetType::primitive_type_builder("key", Physical::BYTE_ARRAY)
                .with_repetition(Repetition::REQUIRED)
                .with_logical_type(Some(LogicalType::String))
                .build()?;
            let entries = repeated("key_value", vec![Arc::new(key), parquet_type("value", value)?])?;
            group(vec![entries], Some(LogicalType::Map))
        }
    };
    built.map(Arc::new)
}

fn repeated(name: &str, fields: Vec<TypePtr>) -> ParquetResult<TypePtr> {
    let group = ParquetType::group_type_builder(name).with_repetition(Repetition::REPEATED);
    group.with_fields(fields).build().map(Arc::new)
}

/// The rows of a file, in the columns of a table: what the file does not have is missing, as in one from before a column was added.
pub(crate) fn rows_of_file(columns: &[Column], bytes: Bytes) -> Result<Vec<Vec<Cell>>, ParquetError> {
    open_rows(columns, bytes)?.collect()
}

/// The same one after the other.
pub(crate) struct FileRows<'c> {
    columns: &'c [Column],
    rows: RowIter<'static>,
}

impl Iterator for FileRows<'_> {
    type Item = Result<Vec<Cell>, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.rows.next()?;
        Some(row.and_then(|row| cells_of_row(self.columns, row)))
    }
}

pub(crate) fn open_rows(columns: &[Column], bytes: Bytes) -> Result<FileRows<'_>, ParquetError> {
    let file = SerializedFileReader::new(bytes)?;
    let is_wanted = |field: &&TypePtr| columns.iter().any(|column| column.name == field.name());
    let schema = file.metadata().file_metadata().schema();
    let wanted: Vec<TypePtr> = schema.get_fields().iter().filter(is_wanted).cloned().collect();
    let wanted = match wanted.is_empty() {
        // What has none of the columns has as many rows all the same.
        true => None,
        false => Some(
            ParquetType::group_type_builder(schema.name())
                .with_fields(wanted)
                .build()?,
        ),
    };
    let rows = RowIter::from_file_into(Box::new(file)).project(wanted)?;
    Ok(FileRows { columns, rows })
}

fn cells_of_row(columns: &[Column], row: Row) -> Result<Vec<Cell>, ParquetError> {
    let mut fields = row.into_columns();
    let mut cells = Vec::with_capacity(columns.len());
    for (at, column) in columns.iter().enumerate() {
        // Columns nearly always stand in the table's order.
        let is_next = fields.get(at).is_some_and(|(name, _)| *name == column.name);
        let place = match is_next {
            true => Some(at),
            false => fields.iter().position(|(name, _)| *name == column.name),
        };
        let field = place.and_then(|place| fields.get_mut(place));
        let field = field.map_or(Field::Null, |(_, field)| std::mem::replace(field, Field::Null));
        cells.push(cell_of_field(&column.ty, field)?);
    }
    Ok(cells)
}

fn cell_of_field(ty: &ColumnType, field: Field) -> Result<Cell, ParquetError> {
    Ok(match (ty, field) {
        (_, Field::Null) => Cell::Null,
        (_, Field::Bool(truth)) => Cell::Bool(truth),
        (_, Field::Int(number) | Field::Date(number)) => Cell::Int(number),
        (_, Field::Long(number) | Field::TimestampMicros(number)) => Cell::Long(number),
        (_, Field::Str(text)) => Cell::text(text),
        (_, Field::Bytes(bytes)) => Cell::Bytes(bytes.data().to_vec()),
        (_, Field::Decimal(decimal)) => Cell::Bytes(decimal.data().to_vec()),
        (ColumnType::Struct(fields), Field::Group(row)) => Cell::Struct(cells_of_row(fields, row)?),
        (ColumnType::List(element), Field::ListInternal(list)) => {
            let cells = list
                .elements()
                .iter()
                .map(|field| cell_of_field(element, field.clone()));
            Cell::List(cells.collect::<Result<_, _>>()?)
        }
        (ColumnType::Map(value), Field::MapInternal(map)) => {
            let entry = |(key, field): &(Field, Field)| match key {
                Field::Str(key) => Ok((key.clone().into_bytes(), cell_of_field(value, field.clone())?)),
                _ => Err(ParquetError::General("a map has a key that is no text".to_owned())),
            };
            Cell::Map(map.entries().iter().map(entry).collect::<Result<_, _>>()?)
        }
        _ => {
            return Err(ParquetError::General(
                "a value does not have the type of its column".to_owned(),
            ));
        }
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Whether files are written as they are, so that what is in them is found by looking at their bytes. Either is right for any test.
    pub(crate) static IS_UNCOMPRESSED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

    fn list(element: ColumnType) -> ColumnType {
        ColumnType::List(Box::new(element))
    }

    pub(crate) fn every_type() -> Vec<Column> {
        let inner = ColumnType::Struct(vec![
            Column::of_lake("long", ColumnType::Long),
            Column::of_lake("texts", list(ColumnType::Text)),
        ]);
        let types = [
            ColumnType::Bool,
            ColumnType::Int,
            ColumnType::Long,
            ColumnType::Decimal(2),
            ColumnType::Text,
            ColumnType::Binary,
            ColumnType::Date,
            ColumnType::Timestamp,
            inner.clone(),
            list(list(ColumnType::Long)),
            ColumnType::Map(Box::new(inner.clone())),
            list(inner.clone()),
            ColumnType::Struct(vec![Column::of_lake("deep", ColumnType::Map(Box::new(list(inner))))]),
        ];
        let named = types.into_iter().enumerate();
        named
            .map(|(at, ty)| Column::of_lake(&format!("column{at}"), ty))
            .collect()
    }

    pub(crate) fn drawn_cell(ty: &ColumnType, random: &mut fastrand::Rng) -> Cell {
        if random.u8(0..4) == 0 {
            return Cell::Null;
        }
        let bytes = |random: &mut fastrand::Rng, count: usize| (0..count).map(|_| random.u8(..)).collect();
        let letters = |random: &mut fastrand::Rng| {
            (0..random.usize(0..4))
                .map(|_| random.char('a'..'é'))
                .collect::<String>()
        };
        match ty {
            ColumnType::Bool => Cell::Bool(random.bool()),
            ColumnType::Int | ColumnType::Date => Cell::Int(random.i32(..)),
            ColumnType::Long | ColumnType::Timestamp => Cell::Long(random.i64(..)),
            ColumnType::Decimal(_) => Cell::Bytes(bytes(random, DECIMAL_BYTES)),
            ColumnType::Text => Cell::text(letters(random)),
            ColumnType::Binary => {
                let count = random.usize(0..4);
                Cell::Bytes(bytes(random, count))
            }
            ColumnType::Struct(fields) => {
                Cell::Struct(fields.iter().map(|field| drawn_cell(&field.ty, random)).collect())
            }
            ColumnType::List(element) => {
                Cell::List((0..random.usize(0..4)).map(|_| drawn_cell(element, random)).collect())
            }
            ColumnType::Map(value) => {
                let entry = |at: usize| (format!("{at}").into_bytes(), drawn_cell(value, random));
                let count = fastrand::usize(0..4);
                Cell::Map((0..count).map(entry).collect())
            }
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let columns = every_type();
        let mut random = fastrand::Rng::with_seed(7);
        for rows in [0, 1, 2, 50, 500] {
            let row = |_| {
                columns
                    .iter()
                    .map(|column| drawn_cell(&column.ty, &mut random))
                    .collect()
            };
            let rows: Vec<Vec<Cell>> = (0..rows).map(row).collect();
            let bytes = file_of_rows(&columns, rows.clone()).unwrap();
            assert_eq!(rows_of_file(&columns, bytes.into()).unwrap(), rows);
        }
    }

    #[test]
    fn a_column_that_came_later_is_empty_in_files_of_before() {
        let before = vec![
            Column::of_lake("a", ColumnType::Long),
            Column::of_lake("b", ColumnType::Text),
        ];
        let rows = vec![vec![Cell::Long(1), Cell::text("x")], vec![Cell::Null, Cell::Null]];
        let bytes: Bytes = file_of_rows(&before, rows).unwrap().into();
        let now = vec![
            Column::of_lake("b", ColumnType::Text),
            Column::of_lake("c", list(ColumnType::Bool)),
            Column::of_lake("a", ColumnType::Long),
        ];
        let read = rows_of_file(&now, bytes).unwrap();
        assert_eq!(read[0], [Cell::text("x"), Cell::Null, Cell::Long(1)]);
        assert_eq!(read[1], [Cell::Null, Cell::Null, Cell::Null]);
    }
}
