//! Rows of files as the leaves of their columns, which are brought from file to file without rows being put together.
//!
//! A file whose columns are other than those of its table by now, because fields were added since, is read row by row instead: what it lacks is
//! not a matter of leaves alone.

use bytes::Bytes;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType, FixedLenByteArray};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use crate::cell::Column;
use crate::data_file::{FileRows, ROW_GROUP_ROWS_MAX, open_rows, schema_of};
use crate::error::LakeError;
use crate::shred::{Leaf, LeafValues, empty_leaves, shred_row};

/// Some rows of a file.
pub(crate) struct LeafGroup {
    pub rows: usize,
    /// The leaves of the table's columns.
    pub leaves: Vec<Leaf>,
}

impl LeafGroup {
    pub(crate) fn without_rows(columns: &[Column]) -> Self {
        LeafGroup {
            rows: 0,
            leaves: empty_leaves(columns),
        }
    }

    /// Puts rows of the same columns behind its own.
    pub(crate) fn append_group(&mut self, group: LeafGroup) -> Result<(), LakeError> {
        if self.rows == 0 {
            *self = group;
            return Ok(());
        }
        if group.leaves.len() != self.leaves.len() {
            return Err(LakeError::Shape);
        }
        self.rows += group.rows;
        for (mut leaf, to) in group.leaves.into_iter().zip(&mut self.leaves) {
            to.definitions.append(&mut leaf.definitions);
            to.repetitions.append(&mut leaf.repetitions);
            match (leaf.values, &mut to.values) {
                (LeafValues::Bool(mut values), LeafValues::Bool(to)) => to.append(&mut values),
                (LeafValues::Int(mut values), LeafValues::Int(to)) => to.append(&mut values),
                (LeafValues::Long(mut values), LeafValues::Long(to)) => to.append(&mut values),
                (LeafValues::Bytes(mut values), LeafValues::Bytes(to)) => to.append(&mut values),
                (LeafValues::Decimal(mut values), LeafValues::Decimal(to)) => to.append(&mut values),
                _ => return Err(LakeError::Shape),
            }
        }
        Ok(())
    }
}

/// The rows of a file in the columns of a table, as many at a time as a group of it has.
pub(crate) struct FileLeaves<'c> {
    columns: &'c [Column],
    source: Source<'c>,
}

enum Source<'c> {
    /// For each leaf of the columns the number of that of the file, where it has one.
    Groups(SerializedFileReader<Bytes>, Vec<Option<usize>>, usize),
    Rows(FileRows<'c>),
}

pub(crate) fn open_leaves(columns: &[Column], bytes: Bytes) -> ParquetResult<FileLeaves<'_>> {
    let file = SerializedFileReader::new(bytes.clone())?;
    let wanted = SchemaDescriptor::new(schema_of(columns)?);
    let source = match places_of(&wanted, file.metadata().file_metadata().schema_descr()) {
        Some(places) => Source::Groups(file, places, 0),
        None => Source::Rows(open_rows(columns, bytes)?),
    };
    Ok(FileLeaves { columns, source })
}

/// Where the leaves of a table stand in a file; none where a column that both have has other leaves.
fn places_of(wanted: &SchemaDescriptor, there: &SchemaDescriptor) -> Option<Vec<Option<usize>>> {
    let root = |leaf: &ColumnDescriptor| leaf.path().parts().first().cloned();
    let roots =
        |schema: &SchemaDescriptor| -> Vec<Option<String>> { schema.columns().iter().map(|leaf| root(leaf)).collect() };
    let (roots_wanted, roots_there) = (roots(wanted), roots(there));
    let mut places = Vec::with_capacity(wanted.num_columns());
    for (leaf, root) in wanted.columns().iter().zip(&roots_wanted) {
        let place = there.columns().iter().position(|known| is_same_leaf(known, leaf));
        if place.is_none() && roots_there.contains(root) {
            return None;
        }
        places.push(place);
    }
    let shared = roots_there.iter().filter(|root| roots_wanted.contains(root)).count();
    (shared == places.iter().flatten().count()).then_some(places)
}

fn is_same_leaf(one: &ColumnDescriptor, other: &ColumnDescriptor) -> bool {
    one.path() == other.path()
        && one.physical_type() == other.physical_type()
        && one.type_length() == other.type_length()
        && (one.max_def_level(), one.max_rep_level()) == (other.max_def_level(), other.max_rep_level())
}

impl Iterator for FileLeaves<'_> {
    type Item = Result<LeafGroup, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.source {
            Source::Groups(file, places, group) if *group < file.num_row_groups() => {
                *group += 1;
                Some(read_group(self.columns, file, places, *group - 1))
            }
            Source::Groups(..) => None,
            Source::Rows(rows) => {
                let group = shred_some(self.columns, rows);
                group.map(|group| (group.rows > 0).then_some(group)).transpose()
            }
        }
    }
}

fn read_group(
    columns: &[Column],
    file: &SerializedFileReader<Bytes>,
    places: &[Option<usize>],
    group: usize,
) -> ParquetResult<LeafGroup> {
    let group = file.get_row_group(group)?;
    let rows = usize::try_from(group.metadata().num_rows()).map_err(|_| damaged())?;
    let mut leaves = empty_leaves(columns);
    for (leaf, place) in leaves.iter_mut().zip(places) {
        match place {
            Some(place) => read_leaf(leaf, group.get_column_reader(*place)?, rows)?,
            None => (0..rows).for_each(|_| leaf.push_levels(0, 0)),
        }
    }
    Ok(LeafGroup { rows, leaves })
}

fn read_leaf(leaf: &mut Leaf, column: ColumnReader, rows: usize) -> ParquetResult<()> {
    let Leaf {
        definitions,
        repetitions,
        values,
        is_repeated,
        ..
    } = leaf;
    let repetitions = is_repeated.then_some(repetitions);
    let read = match (column, values) {
        (ColumnReader::BoolColumnReader(from), LeafValues::Bool(to)) => {
            read_values(from, (definitions, repetitions), to, rows)
        }
        (ColumnReader::Int32ColumnReader(from), LeafValues::Int(to)) => {
            read_values(from, (definitions, repetitions), to, rows)
        }
        (ColumnReader::Int64ColumnReader(from), LeafValues::Long(to)) => {
            read_values(from, (definitions, repetitions), to, rows)
        }
        (ColumnReader::ByteArrayColumnReader(from), LeafValues::Bytes(to)) => {
            read_values(from, (definitions, repetitions), to, rows)
        }
        (ColumnReader::FixedLenByteArrayColumnReader(from), LeafValues::Decimal(to)) => {
            read_values(from, (definitions, repetitions), to, rows)
        }
        _ => return Err(damaged()),
    };
    match read? == rows {
        true => Ok(()),
        false => Err(damaged()),
    }
}

/// How many rows were read.
fn read_values<T: DataType>(
    mut from: ColumnReaderImpl<T>,
    (definitions, repetitions): (&mut Vec<i16>, Option<&mut Vec<i16>>),
    values: &mut Vec<T::T>,
    rows: usize,
) -> ParquetResult<usize> {
    let (rows, _, _) = from.read_records(rows, Some(definitions), repetitions, values)?;
    Ok(rows)
}

/// Takes apart the next rows, not more than a group has.
fn shred_some(columns: &[Column], from: &mut FileRows<'_>) -> ParquetResult<LeafGroup> {
    let mut group = LeafGroup::without_rows(columns);
    for row in from.take(ROW_GROUP_ROWS_MAX) {
        shred_row(columns, row?, &mut group.leaves).map_err(|_| damaged())?;
        group.rows += 1;
    }
    Ok(group)
}

fn damaged() -> ParquetError {
    ParquetError::General("a column does not have a value for each row".to_owned())
}

/// A row that is brought to no place.
pub(crate) const NOWHERE: usize = usize::MAX;

/// Brings rows to places: each row to the one that its number has in `places`, in the order in which they are. What is [`NOWHERE`] goes.
pub(crate) fn bring_rows(from: LeafGroup, places: &[usize], to: &mut [LeafGroup]) -> Result<(), LakeError> {
    for place in places {
        if let Some(to) = to.get_mut(*place) {
            to.rows += 1;
        }
    }
    for (number, leaf) in from.leaves.into_iter().enumerate() {
        let to = to.iter_mut().map(|group| group.leaves.get_mut(number));
        let mut to: Vec<&mut Leaf> = to.collect::<Option<_>>().ok_or(LakeError::Shape)?;
        let mut value_places = Vec::with_capacity(leaf.definitions.len());
        let mut row = 0;
        for (at, definition) in leaf.definitions.iter().enumerate() {
            let repetition = leaf.repetitions.get(at).copied().unwrap_or_default();
            row += usize::from(repetition == 0);
            // Rows are counted from one here: each begins with a repetition of zero.
            let place = places.get(row.wrapping_sub(1)).copied().ok_or(LakeError::Shape)?;
            if let Some(to) = to.get_mut(place) {
                to.push_levels(*definition, repetition);
            }
            if *definition == leaf.definition_max {
                value_places.push(place);
            }
        }
        if row != places.len() {
            return Err(LakeError::Shape);
        }
        let moved = match leaf.values {
            LeafValues::Bool(values) => bring_values(values, &value_places, &mut to),
            LeafValues::Int(values) => bring_values(values, &value_places, &mut to),
            LeafValues::Long(values) => bring_values(values, &value_places, &mut to),
            LeafValues::Bytes(values) => bring_values(values, &value_places, &mut to),
            LeafValues::Decimal(values) => bring_values(values, &value_places, &mut to),
        };
        moved.ok_or(LakeError::Shape)?;
    }
    Ok(())
}

/// Nothing where the leaves are not of one kind, or have another number of values.
fn bring_values<T: LeafValue>(values: Vec<T>, places: &[usize], to: &mut [&mut Leaf]) -> Option<()> {
    if values.len() != places.len() {
        return None;
    }
    let to = to.iter_mut().map(|leaf| T::all_of(&mut leaf.values));
    let mut to: Vec<&mut Vec<T>> = to.collect::<Option<_>>()?;
    for (value, place) in values.into_iter().zip(places) {
        if let Some(to) = to.get_mut(*place) {
            to.push(value);
        }
    }
    Some(())
}

/// What leaves have values of.
trait LeafValue: Sized {
    /// The values of a leaf, where they are of this kind.
    fn all_of(values: &mut LeafValues) -> Option<&mut Vec<Self>>;
}

impl LeafValue for bool {
    fn all_of(values: &mut LeafValues) -> Option<&mut Vec<Self>> {
        match values {
            LeafValues::Bool(values) => Some(values),
            _ => None,
        }
    }
}

impl LeafValue for i32 {
    fn all_of(values: &mut LeafValues) -> Option<&mut Vec<Self>> {
        match values {
            LeafValues::Int(values) => Some(values),
            _ => None,
        }
    }
}

impl LeafValue for i64 {
    fn all_of(values: &mut LeafValues) -> Option<&mut Vec<Self>> {
        match values {
            LeafValues::Long(values) => Some(values),
            _ => None,
        }
    }
}

impl LeafValue for ByteArray {
    fn all_of(values: &mut LeafValues) -> Option<&mut Vec<Self>> {
        match values {
            LeafValues::Bytes(values) => Some(values),
            _ => None,
        }
    }
}

impl LeafValue for FixedLenByteArray {
    fn all_of(values: &mut LeafValues) -> Option<&mut Vec<Self>> {
        match values {
            LeafValues::Decimal(values) => Some(values),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::{Cell, ColumnType};
    use crate::data_file::tests::{drawn_cell, every_type};
    use crate::data_file::{RowsFile, file_of_rows, rows_of_file};

    fn drawn_rows(columns: &[Column], count: usize, random: &mut fastrand::Rng) -> Vec<Vec<Cell>> {
        let row = |_| columns.iter().map(|column| drawn_cell(&column.ty, random)).collect();
        (0..count).map(row).collect()
    }

    fn group_of(columns: &[Column], bytes: Vec<u8>) -> LeafGroup {
        let mut all = LeafGroup::without_rows(columns);
        for group in open_leaves(columns, bytes.into()).unwrap() {
            all.append_group(group.unwrap()).unwrap();
        }
        all
    }

    fn rows_of(columns: &[Column], group: LeafGroup) -> Vec<Vec<Cell>> {
        let mut file = RowsFile::begin(columns);
        file.push_group(group).unwrap();
        rows_of_file(columns, file.finish().unwrap().into()).unwrap()
    }

    #[test]
    fn rows_are_brought_as_they_are() {
        let columns = every_type();
        let mut random = fastrand::Rng::with_seed(17);
        for count in [0, 1, 2, 50, 500] {
            let rows = drawn_rows(&columns, count, &mut random);
            let parts = random.usize(1..4);
            let places: Vec<usize> = (0..count).map(|_| random.usize(0..=parts)).collect();
            let places: Vec<usize> = places
                .iter()
                .map(|place| if *place == parts { NOWHERE } else { *place })
                .collect();
            let from = group_of(&columns, file_of_rows(&columns, rows.clone()).unwrap());
            assert_eq!(from.rows, count);
            let mut to: Vec<LeafGroup> = (0..parts).map(|_| LeafGroup::without_rows(&columns)).collect();
            bring_rows(from, &places, &mut to).unwrap();
            for (part, group) in to.into_iter().enumerate() {
                let meant = rows.iter().zip(&places).filter(|(_, place)| **place == part);
                let meant: Vec<Vec<Cell>> = meant.map(|(row, _)| row.clone()).collect();
                assert_eq!(rows_of(&columns, group), meant);
            }
        }
    }

    #[test]
    fn files_of_several_groups_are_put_behind_each_other() {
        let columns = every_type();
        let mut random = fastrand::Rng::with_seed(18);
        let (some, others) = (
            drawn_rows(&columns, 30, &mut random),
            drawn_rows(&columns, 7, &mut random),
        );
        let mut file = RowsFile::begin(&columns);
        for rows in [&some, &others, &some] {
            file.push_group(group_of(&columns, file_of_rows(&columns, rows.clone()).unwrap()))
                .unwrap();
        }
        assert_eq!(file.rows, 67);
        let all = [some.clone(), others, some].concat();
        assert_eq!(rows_of_file(&columns, file.finish().unwrap().into()).unwrap(), all);
    }

    /// Whether a file is read leaf by leaf, and its rows in the columns.
    fn read_in(columns: &[Column], bytes: Vec<u8>) -> (bool, Vec<Vec<Cell>>) {
        let opened = open_leaves(columns, bytes.clone().into()).unwrap();
        let by_leaves = matches!(opened.source, Source::Groups(..));
        (by_leaves, rows_of(columns, group_of(columns, bytes)))
    }

    #[test]
    fn files_of_before_have_what_they_have_in_the_columns_of_today() {
        let text = |name: &str| Column::of_lake(name, ColumnType::Text);
        let inside = |names: &[&str]| ColumnType::Struct(names.iter().map(|name| text(name)).collect());
        let before = vec![text("a"), Column::of_lake("in", inside(&["x"]))];
        let mut random = fastrand::Rng::with_seed(19);
        let rows = drawn_rows(&before, 40, &mut random);
        let bytes = file_of_rows(&before, rows.clone()).unwrap();
        assert_eq!(read_in(&before, bytes.clone()), (true, rows));
        let list = ColumnType::List(Box::new(ColumnType::Long));
        let columns_since = [
            // A new column, another order, and one that is not asked for.
            (
                true,
                vec![before[1].clone(), Column::of_lake("new", list), before[0].clone()],
            ),
            (true, vec![before[1].clone()]),
            // A new field: whether it is in a row that is there only the row tells.
            (
                false,
                vec![before[0].clone(), Column::of_lake("in", inside(&["x", "y"]))],
            ),
        ];
        for (is_by_leaves, columns) in columns_since {
            let (by_leaves, read) = read_in(&columns, bytes.clone());
            assert_eq!(by_leaves, is_by_leaves);
            assert_eq!(read, rows_of_file(&columns, bytes.clone().into()).unwrap());
        }
    }
}
