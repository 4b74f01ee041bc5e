//! The columns of an entity: by the types of its attributes, never by values.
#![deny(
    clippy::wildcard_enum_match_arm,
    reason = "a type that is forgotten must not compile"
)]

use singlet_item::Number;
use singlet_model::model::{Attribute, Entity, Personal};
use singlet_model::types::{NumberLimits, ObjectType, Type};

use crate::cell::{Column, ColumnType};
use crate::data_file::DECIMAL_DIGITS;

/// Characters that Delta takes in no name of a column.
const REFUSED_CHARS: &[char] = &[' ', ',', ';', '{', '}', '(', ')', '\n', '\t', '='];

/// The columns of an entity's attributes, in the model's order. Another name of an attribute has none of its own.
pub(crate) fn entity_columns(entity: &Entity) -> Vec<Column> {
    let mut columns = Vec::new();
    for attribute in entity.attributes.iter().filter(|attribute| attribute.alias.is_none()) {
        if let Some(ty) = attribute_column(attribute) {
            push_column(&mut columns, &attribute.name, ty, attribute.personal);
        }
    }
    columns
}

/// The type of an attribute's column; none where it has no place in a lake.
pub(crate) fn attribute_column(attribute: &Attribute) -> Option<ColumnType> {
    match attribute.personal {
        None | Some(Personal::Readable) => Some(column_type(&attribute.ty)),
        Some(Personal::Hashed) => Some(ColumnType::Text),
        Some(Personal::Omitted) => None,
    }
}

/// Marks the columns of attributes as the model has them by now. One that holds what should not be readable any more is to be emptied.
pub(crate) fn mark_personal(columns: &mut [Column], entity: &Entity) {
    for column in columns {
        let attribute = column.attribute.as_ref().and_then(|name| entity.attribute(name));
        let Some(attribute) = attribute else { continue };
        column.personal = match (column.personal, attribute.personal) {
            (Some(Personal::Omitted), _) | (_, Some(Personal::Omitted)) => Some(Personal::Omitted),
            // What stands there is no value, and never becomes one.
            (Some(Personal::Hashed), _) => Some(Personal::Hashed),
            // What could be read is emptied, and hashes get a column of their own: in one column nobody could tell them apart.
            (None | Some(Personal::Readable), Some(Personal::Hashed)) => Some(Personal::Omitted),
            (None | Some(Personal::Readable), of_model) => of_model,
        };
    }
}

/// The type of a column that holds every value of a type.
pub(crate) fn column_type(ty: &Type) -> ColumnType {
    match ty {
        Type::Bool => ColumnType::Bool,
        Type::Int(limits) => int_column(limits),
        Type::Number(limits) => number_column(limits),
        Type::Version => ColumnType::Long,
        Type::Bytes(_) => ColumnType::Binary,
        Type::Date => ColumnType::Date,
        Type::Time | Type::Seconds | Type::Millis | Type::Now => ColumnType::Timestamp,
        Type::Object(object) | Type::Geo(Some(object)) => object_column(object),
        Type::Geo(None) => place_column(),
        Type::List(element, _) | Type::Set(element, _) => ColumnType::List(Box::new(column_type(element))),
        Type::Map(element, _) => ColumnType::Map(Box::new(column_type(element))),
        Type::Text(_)
        | Type::Enum(_)
        | Type::Ulid
        | Type::Ksuid
        | Type::Uuid
        | Type::Month
        | Type::Duration
        | Type::OrWords(..)
        | Type::Json
        | Type::Row(_)
        | Type::Group(..)
        | Type::Absent
        | Type::Unknown => ColumnType::Text,
    }
}

/// A whole number has 64 bits where its limits fit them; else 38 digits.
fn int_column(limits: &NumberLimits) -> ColumnType {
    let fits = |number: Option<Number>| number.is_some_and(|number| number.to_i64().is_some());
    let all_fit = |only: &[Number]| only.iter().all(|number| number.to_i64().is_some());
    let is_long = fits(limits.min) && fits(limits.max) || limits.only.as_deref().is_some_and(all_fit);
    match is_long {
        true => ColumnType::Long,
        false => ColumnType::Decimal(0),
    }
}

/// A number of known decimals is a decimal, where it has no more digits than that; any other is text, with every digit.
fn number_column(limits: &NumberLimits) -> ColumnType {
    let (decimals, ends) = match limits.only.as_deref() {
        Some(only) => (only.iter().map(|number| number.fraction_digits()).max(), only.to_vec()),
        None => (limits.decimals, limits.min.into_iter().chain(limits.max).collect()),
    };
    let whole_digits = ends.iter().map(|number| number.integer_digits()).max();
    // Without both ends a number may have more digits than any decimal.
    let is_bounded = limits.only.is_some() || limits.min.is_some() && limits.max.is_some();
    match (decimals, whole_digits) {
        (Some(decimals), Some(whole)) if is_bounded && whole.saturating_add(decimals) <= DECIMAL_DIGITS => {
            ColumnType::Decimal(decimals)
        }
        _ => ColumnType::Text,
    }
}

fn object_column(object: &ObjectType) -> ColumnType {
    let mut columns = Vec::new();
    for field in &object.fields {
        push_column(&mut columns, &field.name, column_type(&field.ty), None);
    }
    // A struct without fields is none to most readers.
    match columns.is_empty() {
        true => ColumnType::Text,
        false => ColumnType::Struct(columns),
    }
}

/// A place without an object of its own: degrees have any number of decimals.
fn place_column() -> ColumnType {
    let mut columns = Vec::new();
    for name in ["lat", "lon"] {
        push_column(&mut columns, name, column_type(&Type::number()), None);
    }
    ColumnType::Struct(columns)
}

/// Adds a column for an attribute, under a name that no other has: to most readers two that differ by letter case are the same.
fn push_column(columns: &mut Vec<Column>, attribute: &str, ty: ColumnType, personal: Option<Personal>) {
    let base = attribute.replace(REFUSED_CHARS, "_");
    let is_taken = |name: &str, columns: &[Column]| {
        let lower = name.to_lowercase();
        columns.iter().any(|column| column.name.to_lowercase() == lower)
    };
    let mut name = base.clone();
    let mut number = 2_usize;
    while is_taken(&name, columns) {
        name = format!("{base}_{number}");
        number += 1;
    }
    columns.push(Column {
        name,
        attribute: Some(attribute.to_owned()),
        personal,
        ty,
    });
}

/// Brings columns that a model wants into those that a table has. What is there stays: a new attribute, or one whose type is another,
/// gets a new column.
pub(crate) fn merge_columns(there: &mut Vec<Column>, wanted: &[Column]) {
    for column in wanted {
        let known = place_of(there, column);
        match (known.and_then(|at| there.get_mut(at)), &column.attribute) {
            (Some(known), _) => merge_types(&mut known.ty, &column.ty),
            (None, Some(attribute)) => push_column(there, attribute, column.ty.clone(), column.personal),
            (None, None) => there.push(column.clone()),
        }
    }
}

fn merge_types(there: &mut ColumnType, wanted: &ColumnType) {
    match (there, wanted) {
        (ColumnType::Struct(there), ColumnType::Struct(wanted)) => merge_columns(there, wanted),
        (ColumnType::List(there), ColumnType::List(wanted)) => merge_types(there, wanted),
        (ColumnType::Map(there), ColumnType::Map(wanted)) => merge_types(there, wanted),
        _ => {}
    }
}

/// Where a wanted column stands among those that are there: under the same name of the model, with a type that can take its values. Where
/// several can, the newest.
pub(crate) fn place_of(there: &[Column], wanted: &Column) -> Option<usize> {
    let is_same = |column: &Column| match (&column.attribute, &wanted.attribute) {
        (Some(there), Some(wanted)) => there == wanted,
        (None, None) => column.name == wanted.name,
        _ => false,
    };
    there
        .iter()
        .rposition(|column| is_same(column) && is_same_form(column, wanted) && can_become(&column.ty, &wanted.ty))
}

/// Whether values stand alike in two columns: as they are, or as what stands for them. An emptied one takes none.
fn is_same_form(there: &Column, wanted: &Column) -> bool {
    let is_plain = |column: &Column| matches!(column.personal, None | Some(Personal::Readable));
    let is_hashed = |column: &Column| column.personal == Some(Personal::Hashed);
    is_plain(there) && is_plain(wanted) || is_hashed(there) && is_hashed(wanted)
}

/// Whether a type can take another's values once fields are added to it.
fn can_become(there: &ColumnType, wanted: &ColumnType) -> bool {
    match (there, wanted) {
        (ColumnType::Struct(_), ColumnType::Struct(_)) => true,
        (ColumnType::List(there), ColumnType::List(wanted)) | (ColumnType::Map(there), ColumnType::Map(wanted)) => {
            can_become(there, wanted)
        }
        _ => there == wanted,
    }
}
