//! What the grammar says of a place in the outline.

use singlet_model::grammar::{Field, Record, Shape, words};

/// The whole file.
static FILE: Shape = Shape::Record(&words::MODEL);

/// What may stand at a path of keys; an empty key is an element of a list.
pub(crate) fn shapes_at(path: &[&str]) -> Vec<&'static Shape> {
    let mut shapes = vec![&FILE];
    for key in path {
        shapes = shapes.iter().flat_map(|shape| inner_shapes(shape, key)).collect();
    }
    shapes.into_iter().flat_map(alternatives).collect()
}

/// The record at a path.
pub(crate) fn record_at(path: &[&str]) -> Option<&'static Record> {
    shapes_at(path).into_iter().find_map(|shape| match shape {
        Shape::Record(record) => Some(*record),
        _ => None,
    })
}

/// The record that a path ends in a field of, and the field. Elements of lists belong to the field of the list.
pub(crate) fn field_at(path: &[&str]) -> Option<(&'static Record, &'static Field)> {
    let path = path
        .iter()
        .rposition(|key| !key.is_empty())
        .and_then(|last| path.get(..=last))?;
    let (name, before) = path.split_last()?;
    let record = record_at(before)?;
    Some((record, record.field_named(name)?))
}

fn alternatives(shape: &'static Shape) -> Vec<&'static Shape> {
    match shape {
        Shape::Either(shapes) => shapes.iter().flat_map(alternatives).collect(),
        other => vec![other],
    }
}

fn inner_shapes(shape: &'static Shape, key: &str) -> Vec<&'static Shape> {
    let inner = |shape: &'static Shape| match (shape, key.is_empty()) {
        (Shape::List(inner), true) => Some(*inner),
        (Shape::Names(_, inner), false) => Some(*inner),
        (Shape::Record(record), false) => {
            let known = record.field_named(key).map(|field| &field.shape);
            known.or(record.others.map(|(_, shape)| shape))
        }
        _ => None,
    };
    alternatives(shape).into_iter().filter_map(inner).collect()
}
