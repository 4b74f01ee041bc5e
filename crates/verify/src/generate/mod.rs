//! Models and rows, made up.
//!
//! Models are written as text, so that a case goes the whole way that a user's model goes.

mod entity;
mod kinds;
mod read;

use fastrand::Rng;
use singlet_runtime::Attributes;

pub use kinds::{KINDS, Kind, Shape};

/// How many reads a model has.
const READS: usize = 12;

/// A model, its entities and its reads.
#[derive(Debug)]
pub struct Generated {
    /// The file up to its reads.
    head: String,
    /// The kinds of rows.
    pub entities: Vec<GeneratedEntity>,
    /// The reads.
    pub reads: Vec<GeneratedRead>,
}

/// A kind of row.
#[derive(Debug)]
pub struct GeneratedEntity {
    /// Its name.
    pub name: String,
    /// Its attributes.
    pub attributes: Vec<GeneratedAttribute>,
    /// The ways to its rows: what a read may be made for.
    paths: Vec<Path>,
}

/// An attribute.
#[derive(Clone, Debug)]
pub struct GeneratedAttribute {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: &'static Kind,
    /// Whether rows may lack it.
    pub optional: bool,
}

/// A read.
#[derive(Debug)]
pub struct GeneratedRead {
    /// Its name.
    pub name: String,
    /// Its text under `reads`.
    text: String,
    /// Its arguments.
    pub args: Vec<GeneratedArg>,
}

/// An argument.
#[derive(Debug)]
pub struct GeneratedArg {
    /// Its name.
    pub name: String,
    /// The kind whose pool it takes its values from.
    pub kind: &'static Kind,
    /// Whether it is a list of them.
    pub list: bool,
    /// Whether it may be left out.
    pub optional: bool,
    /// Whether it may go beyond the limits of the kind.
    pub wide: bool,
    /// The function whose results it stands for.
    function: &'static str,
}

/// The table or an index, with what its key is made of.
#[derive(Debug, Default)]
struct Path {
    partition: Vec<Part>,
    sort: Vec<Part>,
    /// The condition under which rows are there.
    when: Option<String>,
}

/// A part of a key: an attribute and the function around it.
#[derive(Clone, Debug)]
struct Part {
    attribute: GeneratedAttribute,
    function: &'static str,
}

/// Makes up a model.
pub fn model(rng: &mut Rng) -> Generated {
    let (mut head, entities) = entity::table(rng);
    head.push_str("reads:\n");
    let reads = (0..READS)
        .filter_map(|at| {
            let entity = rng.choice(&entities)?;
            read::read(rng, entity, at)
        })
        .collect();
    Generated { head, entities, reads }
}

impl Generated {
    /// The model file.
    pub fn text(&self) -> String {
        self.reads.iter().fold(self.head.clone(), |text, read| text + &read.text)
    }

    /// The model file with one read only.
    pub fn text_with(&self, read: &str) -> String {
        let kept = self.reads.iter().filter(|known| known.name == read);
        kept.fold(self.head.clone(), |text, read| text + &read.text)
    }

    /// Rows, each with the name of its entity. Some have the same key.
    pub fn rows(&self, rng: &mut Rng, count: usize) -> Vec<(String, Attributes)> {
        (0..count)
            .filter_map(|_| {
                let entity = rng.choice(&self.entities)?;
                Some((entity.name.clone(), entity.row(rng)))
            })
            .collect()
    }
}

impl GeneratedEntity {
    fn row(&self, rng: &mut Rng) -> Attributes {
        let mut row = Attributes::new();
        for attribute in &self.attributes {
            if !attribute.optional || rng.u8(..4) > 0 {
                row.insert(attribute.name.clone(), attribute.kind.any(rng, false));
            }
        }
        row
    }
}

impl GeneratedRead {
    /// Arguments from the pools; optional ones are left out at times.
    pub fn arguments(&self, rng: &mut Rng) -> Attributes {
        let mut args = Attributes::new();
        for arg in &self.args {
            if arg.optional && rng.bool() {
                continue;
            }
            args.insert(arg.name.clone(), arg.value(rng));
        }
        args
    }
}

impl GeneratedArg {
    fn value(&self, rng: &mut Rng) -> singlet_item::Value {
        if self.list {
            let count = rng.usize(..4);
            return singlet_item::Value::L((0..count).map(|_| self.kind.any(rng, self.wide)).collect());
        }
        applied(self.function, self.kind.any(rng, self.wide))
    }
}

/// What a function makes of a value.
fn applied(function: &str, value: singlet_item::Value) -> singlet_item::Value {
    use singlet_item::Value;
    let Value::S(text) = &value else { return value };
    let head = |chars: usize| Value::S(text.chars().take(chars).collect());
    match function {
        "lower" => Value::S(text.to_lowercase()),
        "upper" => Value::S(text.to_uppercase()),
        "day" => head(10),
        "month" => head(7),
        "year" => text.get(..4).and_then(|year| year.parse().ok()).map_or(Value::Null, Value::N),
        _ => value,
    }
}
