//! Models and rows, made up.
//!
//! Models are written as text, so that a case goes the whole way that a user's model goes.

mod answers;
mod arguments;
mod entity;
mod formulas;
mod joined;
mod keys;
mod kinds;
mod read;
mod tail;
pub mod writes;

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use singlet_item::Value;
use singlet_runtime::Attributes;

pub use arguments::GeneratedArg;
pub use kinds::{KINDS, PooledType, StoredShape};

/// How many reads a model has.
const READS: usize = 16;

/// A model, its entities and its reads.
#[derive(Debug)]
pub struct Generated {
    /// The file up to its reads.
    head: String,
    /// The kinds of rows.
    pub entities: Vec<GeneratedEntity>,
    /// The reads.
    pub reads: Vec<GeneratedRead>,
    /// Estimates, and findings that are accepted.
    tail: String,
    /// Values of the settings.
    pub settings: Attributes,
}

/// A kind of row.
#[derive(Debug)]
pub struct GeneratedEntity {
    /// Its name.
    pub name: String,
    /// Its attributes.
    pub attributes: Vec<GeneratedAttribute>,
    /// What the versions of a row share, where it has versions.
    identity: Option<Vec<String>>,
    /// What its primary key is made of.
    primary: Vec<DrawnKeyPart>,
    /// Whether one row can be named by the values of its key.
    has_one_key: bool,
    /// Whether no two rows share an id.
    unique: bool,
    /// The ways to its rows: what a read may be made for.
    paths: Vec<GeneratedPath>,
}

/// An attribute.
#[derive(Clone, Debug)]
pub struct GeneratedAttribute {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: &'static PooledType,
    /// Whether rows may lack it.
    pub optional: bool,
    /// The few values that its rows have in this model, so that they share some.
    pool: Vec<&'static str>,
    /// What is said of it beside its type: where it is stored, or what it is computed from.
    said: AttributeRemark,
}

/// What is said of an attribute beside its type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum AttributeRemark {
    #[default]
    Nothing,
    /// Stored under another name.
    Stored,
    /// Only in the key.
    KeyOnly,
    /// Another name of an attribute, or computed from some: no row is given it.
    Is(String),
}

impl GeneratedAttribute {
    fn new(rng: &mut Rng, name: impl Into<String>, kind: &'static PooledType, optional: bool) -> Self {
        let mut pool = kind.pool.to_vec();
        rng.shuffle(&mut pool);
        pool.truncate(2 + rng.usize(..4));
        GeneratedAttribute {
            name: name.into(),
            kind,
            optional,
            pool,
            said: AttributeRemark::Nothing,
        }
    }

    /// Its value in a row.
    fn of<'r>(&self, row: &'r Attributes) -> Option<&'r Value> {
        match self.name.split_once('.') {
            Some((object, field)) => row.get(object)?.as_map()?.get(field),
            None => row.get(&self.name),
        }
    }

    /// The attribute that a row has: an object for a path into one.
    fn root(&self) -> &str {
        self.name.split('.').next().unwrap_or_default()
    }

    /// Its declaration in a model.
    fn declared(&self) -> String {
        let ty = match (self.optional, self.kind.ty.split_once(' ')) {
            (false, _) => self.kind.ty.to_owned(),
            (true, Some((ty, limits))) => format!("{ty}? {limits}"),
            (true, None) => format!("{}?", self.kind.ty),
        };
        let own = match (self.kind.form.starts_with("enum"), self.optional) {
            (true, true) => format!("{}, optional: true", self.kind.form),
            (true, false) => self.kind.form.to_owned(),
            (false, _) if self.kind.form.is_empty() => format!("type: '{ty}'"),
            (false, _) => format!("type: '{ty}', {}", self.kind.form),
        };
        match &self.said {
            // What tells of a person is read and written like all else.
            AttributeRemark::Nothing if self.pool.len() == 3 && !self.name.contains('.') => {
                let words = ["true", "hashed", "omitted", "readable", "false"];
                let sum: usize = self.name.bytes().chain(ty.bytes()).map(usize::from).sum();
                let word = words.get(sum % words.len()).copied().unwrap_or("true");
                format!("{{{own}, personal: {word}}}")
            }
            AttributeRemark::Nothing if self.kind.form.is_empty() => format!("'{ty}'"),
            AttributeRemark::Nothing => format!("{{{own}}}"),
            AttributeRemark::Stored => format!("{{{own}, stored: \"{}#\"}}", self.name),
            AttributeRemark::KeyOnly => format!("{{{own}, stored: none}}"),
            AttributeRemark::Is(what) => format!("{{is: '{what}'}}"),
        }
    }

    /// Whether every row has it, under its own name.
    fn is_sure(&self) -> bool {
        !self.optional && !self.name.contains('.')
    }

    fn any(&self, rng: &mut Rng) -> Value {
        self.kind.value(rng.choice(&self.pool).copied().unwrap_or_default())
    }
}

/// A read.
#[derive(Debug)]
pub struct GeneratedRead {
    /// Its name.
    pub name: String,
    /// The entity that it reads.
    entity: String,
    /// Its text under `reads`.
    pub text: String,
    /// Its arguments.
    pub args: Vec<GeneratedArg>,
    /// Which optional arguments may be sent together; any, where nothing is said.
    together: Vec<Vec<String>>,
}

/// The table or an index, with what its key is made of.
#[derive(Clone, Debug, Default)]
struct GeneratedPath {
    partition: Vec<DrawnKeyPart>,
    sort: Vec<DrawnKeyPart>,
    /// The condition under which rows are there.
    when: Option<String>,
    /// The index; the table, if there is none.
    index: Option<String>,
    /// The key attributes with their templates, where it has templates.
    templates: Vec<(String, String)>,
}

/// A part of a key: an attribute and the function around it.
#[derive(Clone, Debug)]
struct DrawnKeyPart {
    attribute: GeneratedAttribute,
    function: &'static str,
}

/// Makes up a model.
pub fn generate_model(rng: &mut Rng) -> Generated {
    let (mut head, entities) = entity::table_text(rng);
    let settings = tail::drawn_settings(rng);
    head.push_str(&settings.0);
    head.push_str("reads:\n");
    let reads: Vec<GeneratedRead> = (0..READS)
        .filter_map(|at| {
            let entity = rng.choice(&entities)?;
            read::drawn_read(rng, entity, at)
        })
        .collect();
    let tail = tail::drawn_estimates(rng, &entities, &reads) + &tail::accepted_findings(rng);
    Generated {
        head,
        entities,
        reads,
        tail,
        settings: settings.1,
    }
}

impl Generated {
    /// The model file.
    pub fn text(&self) -> String {
        let reads = self.reads.iter().map(|read| read.text.as_str());
        format!("{}{}{}", self.head, reads.collect::<String>(), self.tail)
    }

    /// The model without some reads: what is wrong with one leaves the others.
    #[must_use]
    pub fn without_reads(mut self, unwanted: impl Fn(&GeneratedRead) -> bool) -> Self {
        let dropped: Vec<String> = self
            .reads
            .iter()
            .filter(|read| unwanted(read))
            .map(|read| format!("  {}: ", read.name))
            .collect();
        self.reads.retain(|read| !unwanted(read));
        let is_of_dropped = |line: &&str| dropped.iter().any(|name| line.starts_with(name.as_str()));
        let kept = self.tail.lines().filter(|line| !is_of_dropped(line));
        self.tail = kept.map(|line| format!("{line}\n")).collect();
        self
    }

    /// The model file with one read only.
    pub fn text_with(&self, read: &GeneratedRead) -> String {
        format!("{}{}", self.head, read.text)
    }

    /// Rows, each with the name of its entity. Some have the same key.
    pub fn rows(&self, rng: &mut Rng, count: usize) -> Vec<(String, Attributes)> {
        let mut rows = Vec::new();
        for entity in &self.entities {
            let own = count / self.entities.len();
            let mut own: Vec<Attributes> = match &entity.identity {
                Some(identity) => entity.versions(rng, own, identity),
                None => (0..own).map(|_| entity.row(rng)).collect(),
            };
            if entity.unique {
                let mut known = BTreeSet::new();
                own.retain(|row| known.insert(format!("{:?}", row.get("id"))));
            }
            rows.extend(own.into_iter().map(|row| (entity.name.clone(), row)));
        }
        rows
    }
}

impl GeneratedEntity {
    fn row(&self, rng: &mut Rng) -> Attributes {
        let mut row = Attributes::new();
        let given = self
            .attributes
            .iter()
            .filter(|attribute| !matches!(attribute.said, AttributeRemark::Is(_)));
        for attribute in given {
            if let Some((object, field)) = attribute.name.split_once('.') {
                if !attribute.optional || rng.u8(..4) > 0 {
                    let fields = row
                        .entry(object.to_owned())
                        .or_insert_with(|| Value::M(BTreeMap::new()));
                    if let Value::M(fields) = fields {
                        fields.insert(field.to_owned(), attribute.any(rng));
                    }
                }
            } else if attribute.name == "id" {
                row.insert(attribute.name.clone(), Value::N(rng.i64(0..100_000).into()));
            } else if !attribute.optional || rng.u8(..4) > 0 {
                row.insert(attribute.name.clone(), attribute.any(rng));
            }
        }
        row
    }

    /// Things with their versions, each of which ends when the next begins.
    fn versions(&self, rng: &mut Rng, count: usize, identity: &[String]) -> Vec<Attributes> {
        let mut known: BTreeSet<String> = BTreeSet::new();
        let mut rows: Vec<Attributes> = Vec::new();
        for _ in 0..count {
            let first = self.row(rng);
            let shared = || identity.iter().map(|name| (name.clone(), first.get(name).cloned()));
            if !known.insert(format!("{:?}", shared().collect::<Vec<_>>())) {
                continue;
            }
            let instants = kinds::VERSION.pool.iter().filter(|_| rng.bool()).copied();
            let instants: Vec<&str> = instants.chain(["2027-01-01T00:00:00.000Z"]).collect();
            let more = rng.bool();
            let pairs = instants.iter().zip(instants.iter().skip(1).map(Some).chain([None]));
            let versions: Vec<_> = if more { pairs.collect() } else { pairs.take(1).collect() };
            for (at, until) in versions {
                let mut row = self.row(rng);
                row.extend(shared().filter_map(|(name, value)| Some((name, value?))));
                row.insert("at".to_owned(), kinds::VERSION.value(at));
                row.remove("until");
                row.extend(
                    until
                        .filter(|_| more)
                        .map(|until| ("until".to_owned(), kinds::VERSION.value(until))),
                );
                rows.push(row);
            }
        }
        rows
    }
}
