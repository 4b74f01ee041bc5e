//! Entities: attributes, keys, and what an entity promises.

use singlet_item::key::Template;

use super::attribute_list::AttributeList;
use super::table::IndexId;
use crate::expression::Expr;
use crate::source::Span;
use crate::types::{EntityId, Type};

/// The name that something had before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Was {
    /// The name.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

/// A kind of row.
#[derive(Debug)]
pub struct Entity {
    /// Which it is.
    pub id: EntityId,
    /// Its name.
    pub name: String,
    /// Where its name stands.
    pub span: Span,
    /// Its attributes; for a mirror, those that it carries.
    pub attributes: AttributeList,
    /// Its primary key: one choice, or several by condition.
    pub key: Vec<KeyChoice>,
    /// What it says of each index that it names.
    pub index: Vec<IndexEntry>,
    /// Values that no two rows may share.
    pub unique: Vec<Guard>,
    /// Its states.
    pub states: Option<States>,
    /// When a row ends.
    pub expires: Option<Expr>,
    /// Its versions.
    pub history: Option<History>,
    /// Rows that must not exist beside one.
    pub excludes: Option<Expr>,
    /// The entity of which it is another row.
    pub mirror: Option<Mirror>,
    /// What the model itself uses it for.
    pub role: Option<Role>,
    /// What a document says of it.
    pub claims: EntityClaims,
    /// The name that it had before.
    pub was: Option<Was>,
}

impl Entity {
    /// The attribute of that name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.attribute_named(name)
    }

    /// Whether an attribute becomes another one when a state lapses: the state, and what holds only during it. Nothing that is computed is.
    pub fn is_changed_by_lapse(&self, name: &str) -> bool {
        let Some(states) = self.states.as_ref().filter(|states| !states.lapses.is_empty()) else {
            return false;
        };
        let held = states.held_until_lapse();
        states.of == name || held.into_iter().any(|held| held == name)
    }

    /// What it says of an index.
    pub fn index_entry(&self, index: IndexId) -> Option<&IndexEntry> {
        self.index.iter().find(|entry| entry.index == index)
    }

    /// Every template of its primary key.
    pub fn key_templates(&self) -> impl Iterator<Item = &KeyTemplate> {
        self.key.iter().flat_map(|choice| &choice.keys)
    }

    /// The key attribute from which an attribute is read back that is stored nowhere else: one of the primary key, or else one of
    /// an index, which the table has too. It is there for every row that has the attribute.
    pub fn key_that_holds(&self, name: &str) -> Option<&KeyTemplate> {
        let indexed = self.index.iter().map(IndexEntry::key_choices);
        std::iter::once(self.key.as_slice())
            .chain(indexed)
            .filter_map(|choices| match choices {
                [choice] if choice.when.is_none() => Some(&choice.keys),
                _ => None,
            })
            .flatten()
            .find(|key| key.gives_back(name) && key.optional_part_beside(name).is_none())
    }

    /// Under which name an item holds an attribute: its own, another, or that of a key in which it stands.
    pub fn name_in_item<'a>(&'a self, attribute: &'a Attribute) -> Option<&'a str> {
        let in_key = || self.key_that_holds(&attribute.name).map(|key| key.attribute.as_str());
        attribute.stored_name().or_else(in_key)
    }

    /// The attribute that items hold under a name.
    pub fn attribute_stored_as(&self, name: &str) -> Option<&Attribute> {
        let mut stored = self.attributes.iter().filter(|attribute| attribute.alias.is_none());
        stored.find(|attribute| attribute.stored_name() == Some(name))
    }

    /// The keys from which attributes are read back that are stored nowhere else.
    pub fn keys_to_read(&self) -> Vec<&KeyTemplate> {
        let key_only = self
            .attributes
            .iter()
            .filter(|attribute| attribute.stored == Stored::No);
        let mut keys: Vec<&KeyTemplate> = Vec::new();
        for key in key_only.filter_map(|attribute| self.key_that_holds(&attribute.name)) {
            if !keys.iter().any(|known| known.attribute == key.attribute) {
                keys.push(key);
            }
        }
        keys
    }

    /// Whether an attribute is part of the primary key.
    pub fn is_key_attribute(&self, name: &str) -> bool {
        self.key_templates()
            .flat_map(|key| &key.parts)
            .any(|part| part.root_attribute() == name)
    }

    /// Whether the primary key tells an attribute's value. One that folds it (`{lower(repo)}`) or has a part of it only
    /// (`{place.city}`) names the row, but says nothing of how the row spells it.
    pub fn key_tells(&self, name: &str) -> bool {
        self.key_templates().any(|key| key.gives_back(name))
    }
}

impl Attribute {
    /// The name under which an item has it, where it is stored by itself.
    pub fn stored_name(&self) -> Option<&str> {
        match &self.stored {
            Stored::Own => Some(&self.name),
            Stored::As(name) => Some(name),
            Stored::No => None,
        }
    }
}

/// An attribute.
#[derive(Debug)]
pub struct Attribute {
    /// Its name in the model.
    pub name: String,
    /// Where its name stands.
    pub span: Span,
    /// Its type.
    pub ty: Type,
    /// Whether it may be absent.
    pub optional: bool,
    /// What a create puts there when nothing is given.
    pub default: Option<Expr>,
    /// What it is computed from.
    pub is: Option<Expr>,
    /// The attribute of which it is another name.
    pub alias: Option<String>,
    /// What every write sets.
    pub always: Option<Expr>,
    /// Whether it never changes after the create.
    pub fixed: bool,
    /// Under which name it is stored.
    pub stored: Stored,
    /// Whose value it repeats.
    pub copy: Option<Box<Copy>>,
    /// The entity and attribute whose type it was declared with.
    pub reference: Option<(EntityId, String)>,
    /// How it stands where rows are kept beside their table, if it tells of a person.
    pub personal: Option<Personal>,
    /// The name that it had before.
    pub was: Option<Was>,
    /// What rows get that were stored before it was there.
    pub fill: Option<Expr>,
}

/// How what tells of a person stands where rows are kept beside their table. The later is the stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Personal {
    /// As it is, until its row is gone.
    Readable,
    /// As what stands for it under the table's key, until its row is gone.
    Hashed,
    /// Not at all.
    Omitted,
}

impl Personal {
    /// As the model writes it.
    pub fn word(self) -> &'static str {
        match self {
            Personal::Readable => "readable",
            Personal::Hashed => "hashed",
            Personal::Omitted => "omitted",
        }
    }

    /// From the model's word.
    pub fn from_word(word: &str) -> Option<Self> {
        let all = [Personal::Readable, Personal::Hashed, Personal::Omitted];
        all.into_iter().find(|personal| personal.word() == word)
    }
}

/// Under which name an attribute is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    /// Its own.
    Own,
    /// Another.
    As(String),
    /// Not at all: it stands only in the key.
    No,
}

/// Whose value an attribute repeats.
#[derive(Debug)]
pub struct Copy {
    /// The row, as an entity with its key.
    pub source: Expr,
    /// The source's entity.
    pub entity: EntityId,
    /// The source's attribute.
    pub attribute: String,
    /// How it follows.
    pub kept: Kept,
    /// Which rows hold copies of a source.
    pub found: Option<Expr>,
}

/// How a copy follows its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// In the transaction that changes the source.
    Transaction,
    /// Through the change stream.
    Stream,
    /// Never, on purpose.
    Frozen,
    /// Nothing says: a document that copies and forgets.
    Unsaid,
}

/// The templates of a key, for the rows of which a condition is true.
#[derive(Debug)]
pub struct KeyChoice {
    /// The condition; always, if there is none.
    pub when: Option<Expr>,
    /// A template for each key attribute.
    pub keys: Vec<KeyTemplate>,
    /// Where it stands.
    pub span: Span,
}

impl KeyChoice {
    /// The template of a key attribute.
    pub fn attribute_template(&self, attribute: &str) -> Option<&KeyTemplate> {
        self.keys.iter().find(|key| key.attribute == attribute)
    }
}

/// The template of one key attribute.
#[derive(Clone, Debug)]
pub struct KeyTemplate {
    /// The key attribute that it fills.
    pub attribute: String,
    /// The template as written; the attribute's own name where it is the key.
    pub text: String,
    /// Where it stands.
    pub span: Span,
    /// What encodes and decodes it.
    pub template: Template,
    /// Its variable parts, in order.
    pub parts: Vec<KeyPart>,
}

impl KeyTemplate {
    /// Whether the value of an attribute can be read from the key again: it stands there whole, and in a form that loses nothing.
    pub fn gives_back(&self, name: &str) -> bool {
        self.parts.iter().any(|part| part.path == name && part.keeps_value())
    }

    /// A part without which the key is not there, though the attribute is.
    pub(crate) fn optional_part_beside(&self, name: &str) -> Option<&KeyPart> {
        self.parts
            .iter()
            .find(|part| part.optional && part.root_attribute() != name)
    }
}

/// A variable part of a template.
#[derive(Clone, Debug)]
pub struct KeyPart {
    /// The attribute, or a path into one.
    pub path: String,
    /// The function around it.
    pub function: Option<PartFunction>,
    /// Where it stands.
    pub span: Span,
    /// The type of the attribute.
    pub ty: Type,
    /// Whether the attribute may be absent.
    pub optional: bool,
    /// Its place among the parts of the template, text included.
    pub position: usize,
}

impl KeyPart {
    /// The attribute at the root of the path.
    pub fn root_attribute(&self) -> &str {
        self.path.split('.').next().unwrap_or(&self.path)
    }

    /// Whether the part holds the attribute's whole value, so that equal parts are equal attributes.
    pub fn keeps_value(&self) -> bool {
        match self.function {
            None => true,
            Some(PartFunction::Rank | PartFunction::Desc | PartFunction::Ordered) => true,
            Some(PartFunction::Plain | PartFunction::Raw) => true,
            Some(PartFunction::Lower | PartFunction::Upper | PartFunction::Geohash(_)) => false,
            Some(PartFunction::Day | PartFunction::Month | PartFunction::Year) => false,
        }
    }
}

/// A function around a part of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartFunction {
    /// Lower case.
    Lower,
    /// Upper case.
    Upper,
    /// The day of an instant.
    Day,
    /// The month of a day or instant.
    Month,
    /// The year of a day or instant.
    Year,
    /// Descending order.
    Desc,
    /// An enum's rank.
    Rank,
    /// A string in exact order though more text follows.
    Ordered,
    /// A geohash of some precision.
    Geohash(u8),
    /// A number as it is: equality only.
    Plain,
    /// A string as it is: unescaped.
    Raw,
}

/// What an entity says of an index.
#[derive(Debug)]
pub struct IndexEntry {
    /// Which index.
    pub index: IndexId,
    /// What it says.
    pub kind: IndexEntryKind,
    /// Where the index's name stands.
    pub span: Span,
}

impl IndexEntry {
    /// The choices of templates; none for an entry without any.
    pub fn key_choices(&self) -> &[KeyChoice] {
        match &self.kind {
            IndexEntryKind::Own(choice) => std::slice::from_ref(choice.as_ref()),
            IndexEntryKind::Templates(choices) => choices,
            IndexEntryKind::None => &[],
        }
    }
}

/// What an entity says of an index.
#[derive(Debug)]
pub enum IndexEntryKind {
    /// The key attributes are plain attributes of the entity.
    Own(Box<KeyChoice>),
    /// The entity is never in it.
    None,
    /// Templates fill the key attributes.
    Templates(Vec<KeyChoice>),
}

/// A value that no two rows may share.
#[derive(Debug)]
pub struct Guard {
    /// Its name.
    pub name: String,
    /// The value.
    pub value: Expr,
    /// Where it stands.
    pub span: Span,
    /// The name that it had before.
    pub was: Option<Was>,
}

/// A state machine.
#[derive(Debug)]
pub struct States {
    /// The attribute.
    pub of: String,
    /// The state of a new row.
    pub start: String,
    /// The moves.
    pub moves: Vec<Move>,
    /// Attributes that hold while in a state: states, attribute, value.
    pub holding: Vec<Holding>,
    /// States that end by time.
    pub lapses: Vec<Lapse>,
    /// Where it stands.
    pub span: Span,
}

impl States {
    /// The attributes that hold only until a state lapses.
    pub fn held_until_lapse(&self) -> Vec<&str> {
        let ends = |during: &[String]| {
            let mut lapses = self.lapses.iter();
            lapses.any(|lapse| during.contains(&lapse.from) && !during.contains(&lapse.to))
        };
        let held = self.holding.iter().filter(|(during, _)| ends(during));
        held.flat_map(|(_, held)| held.iter().map(|(name, _)| name.as_str()))
            .collect()
    }
}

/// Some states, and the attributes that hold while in one of them.
pub type Holding = (Vec<String>, Vec<(String, Expr)>);

/// A move between states.
#[derive(Debug)]
pub struct Move {
    /// Its name.
    pub name: String,
    /// From which states.
    pub from: Vec<String>,
    /// To which state.
    pub to: String,
    /// Where it stands.
    pub span: Span,
}

/// A state that ends by time.
#[derive(Debug)]
pub struct Lapse {
    /// The state.
    pub from: String,
    /// The state after it.
    pub to: String,
    /// When.
    pub at: Expr,
    /// Where it stands.
    pub span: Span,
}

/// Write-once versions.
#[derive(Debug)]
pub struct History {
    /// The attribute that holds a version's instant.
    pub at: String,
    /// The attribute that holds the next version's instant.
    pub until: String,
    /// The attribute that marks a deletion.
    pub tombstone: Option<String>,
    /// Whether an update that changes nothing makes a version.
    pub again: bool,
}

/// Another row of an entity.
#[derive(Debug)]
pub struct Mirror {
    /// The entity.
    pub of: EntityId,
    /// Whether it carries every attribute.
    pub all: bool,
    /// Where `mirrors` stands.
    pub span: Span,
}

/// What the model itself uses an entity for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Records of requests, so that a retry is told from a new one.
    Idempotency,
}

/// What a document says of an entity.
#[derive(Debug, Default)]
pub struct EntityClaims {
    /// Attributes that it calls unique.
    pub unique: Vec<(String, Span)>,
    /// Entities that it says are read with this one in one query.
    pub together: Vec<(EntityId, Span)>,
    /// That updates are guarded by a version.
    pub versioned: Option<Span>,
    /// The condition under which it counts on the TTL.
    pub swept_by_ttl: Option<Expr>,
}
