//! Rows taken apart into the leaves of their columns, as Parquet has them: values, and for each the levels that say how deep it is there
//! (definition) and at which list it goes on (repetition).
//!
//! **Invariant:** every column, field, element and value may be missing, a key of a map may not. So a step into a value raises the
//! definition by one, and a step into a list or map by one more.

use parquet::data_type::{ByteArray, FixedLenByteArray};

use crate::cell::{Cell, Column, ColumnType};
use crate::error::LakeError;

/// How many bytes a decimal has.
pub(crate) const DECIMAL_BYTES: usize = 16;

/// All values of one leaf.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Leaf {
    pub definitions: Vec<i16>,
    /// Empty where the leaf is in no list and no map: then each row has one place in it.
    pub repetitions: Vec<i16>,
    pub values: LeafValues,
    /// The definition with which a value is there.
    pub definition_max: i16,
    /// Whether it is in a list or a map.
    pub is_repeated: bool,
}

/// The values that are there, by their physical type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LeafValues {
    Bool(Vec<bool>),
    Int(Vec<i32>),
    Long(Vec<i64>),
    Bytes(Vec<ByteArray>),
    Decimal(Vec<FixedLenByteArray>),
}

/// Where a value stands.
#[derive(Clone, Copy)]
struct Levels {
    definition: i16,
    repetition: i16,
    /// How many lists and maps it is in.
    lists: i16,
}

impl Levels {
    fn inside(self) -> Self {
        Levels {
            definition: self.definition + 1,
            ..self
        }
    }

    /// Of an element of the list that this is: the first goes on where the list does.
    fn element(self, at: usize) -> Self {
        Levels {
            definition: self.definition + 2,
            repetition: if at == 0 { self.repetition } else { self.lists + 1 },
            lists: self.lists + 1,
        }
    }
}

const TOP: Levels = Levels {
    definition: 0,
    repetition: 0,
    lists: 0,
};

/// The leaves of some columns, without rows.
pub(crate) fn empty_leaves(columns: &[Column]) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    columns
        .iter()
        .for_each(|column| push_leaves(&column.ty, TOP, &mut leaves));
    leaves
}

/// Takes a row apart, behind those that are in the leaves of its columns. It has one cell for each column. Where it fails, the leaves are of no use any
/// more.
pub(crate) fn shred_row(columns: &[Column], row: Vec<Cell>, leaves: &mut [Leaf]) -> Result<(), LakeError> {
    shred_fields(columns, row, TOP, leaves, 0).map(drop)
}

fn push_leaves(ty: &ColumnType, levels: Levels, leaves: &mut Vec<Leaf>) {
    let inside = levels.inside();
    let values = match ty {
        ColumnType::Bool => LeafValues::Bool(Vec::new()),
        ColumnType::Int | ColumnType::Date => LeafValues::Int(Vec::new()),
        ColumnType::Long | ColumnType::Timestamp => LeafValues::Long(Vec::new()),
        ColumnType::Text | ColumnType::Binary => LeafValues::Bytes(Vec::new()),
        ColumnType::Decimal(_) => LeafValues::Decimal(Vec::new()),
        ColumnType::Struct(fields) => return fields.iter().for_each(|field| push_leaves(&field.ty, inside, leaves)),
        ColumnType::List(element) => return push_leaves(element, levels.element(0), leaves),
        ColumnType::Map(value) => {
            let entry = levels.element(0);
            leaves.push(Leaf::new(LeafValues::Bytes(Vec::new()), entry));
            return push_leaves(value, entry, leaves);
        }
    };
    leaves.push(Leaf::new(values, inside));
}

impl Leaf {
    fn new(values: LeafValues, there: Levels) -> Self {
        Leaf {
            definitions: Vec::new(),
            repetitions: Vec::new(),
            values,
            definition_max: there.definition,
            is_repeated: there.lists > 0,
        }
    }

    pub(crate) fn push_levels(&mut self, definition: i16, repetition: i16) {
        self.definitions.push(definition);
        if self.is_repeated {
            self.repetitions.push(repetition);
        }
    }
}

/// Shreds the fields of a struct into the leaves from a number on; the number after them.
fn shred_fields(
    fields: &[Column],
    cells: Vec<Cell>,
    levels: Levels,
    leaves: &mut [Leaf],
    mut at: usize,
) -> Result<usize, LakeError> {
    let mut cells = cells.into_iter();
    for field in fields {
        // A row of before may have fewer fields: a new one is at the end.
        let cell = cells.next().unwrap_or(Cell::Null);
        at = shred_cell(&field.ty, cell, levels, leaves, at)?;
    }
    Ok(at)
}

fn shred_cell(ty: &ColumnType, cell: Cell, levels: Levels, leaves: &mut [Leaf], at: usize) -> Result<usize, LakeError> {
    match (ty, cell) {
        (_, Cell::Null) => Ok(shred_nothing(ty, levels, leaves, at)),
        (ColumnType::Struct(fields), Cell::Struct(cells)) => shred_fields(fields, cells, levels.inside(), leaves, at),
        // An empty list has a level of its own: it is there and has no element.
        (ColumnType::List(element), Cell::List(cells)) if !cells.is_empty() => {
            let mut end = at;
            for (place, cell) in cells.into_iter().enumerate() {
                end = shred_cell(element, cell, levels.element(place), leaves, at)?;
            }
            Ok(end)
        }
        (ColumnType::Map(value), Cell::Map(entries)) if !entries.is_empty() => {
            let mut end = at;
            for (place, (key, cell)) in entries.into_iter().enumerate() {
                let levels = levels.element(place);
                push_value(leaves, at, Cell::Bytes(key), levels)?;
                end = shred_cell(value, cell, levels, leaves, at + 1)?;
            }
            Ok(end)
        }
        (ColumnType::List(_), Cell::List(_)) | (ColumnType::Map(_), Cell::Map(_)) => {
            Ok(shred_nothing(ty, levels.inside(), leaves, at))
        }
        (_, cell) => {
            push_value(leaves, at, cell, levels.inside())?;
            Ok(at + 1)
        }
    }
}

/// Notes in every leaf under a type that there is no value, and how far it is there.
fn shred_nothing(ty: &ColumnType, levels: Levels, leaves: &mut [Leaf], at: usize) -> usize {
    match ty {
        ColumnType::Struct(fields) => fields
            .iter()
            .fold(at, |at, field| shred_nothing(&field.ty, levels, leaves, at)),
        ColumnType::List(element) => shred_nothing(element, levels, leaves, at),
        ColumnType::Map(value) => {
            let at = shred_nothing(&ColumnType::Text, levels, leaves, at);
            shred_nothing(value, levels, leaves, at)
        }
        _ => {
            if let Some(leaf) = leaves.get_mut(at) {
                leaf.push_levels(levels.definition, levels.repetition);
            }
            at + 1
        }
    }
}

fn push_value(leaves: &mut [Leaf], at: usize, cell: Cell, levels: Levels) -> Result<(), LakeError> {
    let leaf = leaves.get_mut(at).ok_or(LakeError::Shape)?;
    leaf.push_levels(levels.definition, levels.repetition);
    match (&mut leaf.values, cell) {
        (LeafValues::Bool(values), Cell::Bool(value)) => values.push(value),
        (LeafValues::Int(values), Cell::Int(value)) => values.push(value),
        (LeafValues::Long(values), Cell::Long(value)) => values.push(value),
        (LeafValues::Bytes(values), Cell::Bytes(value)) => values.push(value.into()),
        (LeafValues::Decimal(values), Cell::Bytes(value)) if value.len() == DECIMAL_BYTES => {
            values.push(ByteArray::from(value).into());
        }
        _ => return Err(LakeError::Shape),
    }
    Ok(())
}
