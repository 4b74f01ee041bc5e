//! The shape of a model file: every word that may stand in it, once.
//!
//! One table ([`words`]) drives three things: the check of a file's shape, the JSON Schema that editors use, and the
//! tables of the language reference. The resolver can therefore take what has the right shape and pass over the rest:
//! what is wrong with it has been said.

mod schema;
mod shape_check;
pub mod words;

pub use schema::json_schema;
pub use shape_check::check_shape;
pub(crate) use shape_check::{is_null, listed_words};

/// What may stand at a place.
#[derive(Debug)]
pub enum Shape {
    /// An expression, decoded as text whatever YAML would make of it.
    Expr,
    /// A key template: text and `{parts}`, always quoted.
    Template,
    /// A name.
    Name,
    /// Any text.
    Text,
    /// A whole number.
    Whole,
    /// `true` or `false`.
    Flag,
    /// One of a few words.
    Words(&'static [&'static str]),
    /// A type as attributes have it: `string? 1..200 = "x"`.
    Type,
    /// A list.
    List(&'static Shape),
    /// A map from names that the model chooses.
    Names(&'static str, &'static Shape),
    /// A map with known fields.
    Record(&'static Record),
    /// One of several, told apart by whether the node is a value, a list or a map.
    Either(&'static [Shape]),
}

/// A map with known fields.
#[derive(Debug)]
pub struct Record {
    /// What the record is called in messages, in the schema and in the reference.
    pub name: &'static str,
    /// One sentence for the reference.
    pub doc: &'static str,
    /// The fields, in the order of the reference.
    pub fields: &'static [Field],
    /// What other keys hold, where the model chooses names beside the fields.
    pub others: Option<(&'static str, &'static Shape)>,
}

/// A field of a record.
#[derive(Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub shape: Shape,
    /// Whether it must be there.
    pub required: bool,
    /// One sentence for the reference and for editors.
    pub doc: &'static str,
}

impl Record {
    /// The field of that name.
    pub fn field_named(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// A field that must be there.
const fn required(name: &'static str, shape: Shape, doc: &'static str) -> Field {
    Field {
        name,
        shape,
        required: true,
        doc,
    }
}

/// A field that may be left out.
const fn optional(name: &'static str, shape: Shape, doc: &'static str) -> Field {
    Field {
        name,
        shape,
        required: false,
        doc,
    }
}
