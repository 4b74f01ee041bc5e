//! The types of attributes, arguments and expressions, limits included.

use std::fmt;
use std::sync::{Arc, LazyLock};

use singlet_item::Number;
use singlet_item::key::Pattern;
use singlet_item::limits::NESTING_LEVELS_MAX;

/// Which entity of a model: an index into [`crate::Model::entities`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntityId(pub u32);

/// A type. Optionality is not part of it: attributes, arguments and expressions carry that beside it.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// Text, within limits.
    Text(TextLimits),
    /// A whole number.
    Int(Arc<NumberLimits>),
    /// An exact decimal of up to 38 digits.
    Number(Arc<NumberLimits>),
    /// True or false.
    Bool,
    /// Bytes, with a length in bytes.
    Bytes(LengthLimits),
    /// A day, `2026-02-13`.
    Date,
    /// An instant as ISO text, milliseconds, UTC.
    Time,
    /// An instant as epoch seconds.
    Seconds,
    /// An instant as epoch milliseconds.
    Millis,
    /// The instant of the operation; comparable with, and assignable to, time, seconds and millis.
    Now,
    /// A span of time.
    Duration,
    /// A month, `2026-02`.
    Month,
    /// A time-ordered id of 26 characters.
    Ulid,
    /// A time-ordered id of 27 characters.
    Ksuid,
    /// A UUID.
    Uuid,
    /// A place: an object with `lat` and `lon`, and whatever else the object has.
    Geo(Option<Arc<ObjectType>>),
    /// Free-form.
    Json,
    /// An optimistic lock: a number that every write raises.
    Version,
    /// One of a list of words, whose order is their rank.
    Enum(Arc<EnumType>),
    /// Named fields.
    Object(Arc<ObjectType>),
    /// A list.
    List(Arc<Type>, LengthLimits),
    /// A set.
    Set(Arc<Type>, LengthLimits),
    /// A map from text to values of one type.
    Map(Arc<Type>, LengthLimits),
    /// A value, or one of a few words in its place.
    OrWords(Arc<Type>, Arc<[String]>),
    /// A row of an entity.
    Row(EntityId),
    /// What `group` gives: a key and its rows.
    Group(Arc<Type>, Arc<Type>),
    /// The value of `absent`.
    Absent,
    /// A path variable whose type its first use decides, or what follows from a mistake already reported.
    Unknown,
}

/// How many parts a type may have: itself, its elements, its fields, and theirs.
pub const TYPE_PARTS_MAX: usize = 2_000;

/// How many parts all types of a model may have together.
pub const MODEL_TYPE_PARTS_MAX: usize = 1_000_000;

/// How deep the values of a type nest: DynamoDB takes no more.
pub const TYPE_LEVELS_MAX: usize = NESTING_LEVELS_MAX;

/// Limits on text: length in characters, and a pattern that matches whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextLimits {
    /// Length in characters.
    pub length: LengthLimits,
    /// The pattern.
    pub pattern: Option<Pattern>,
}

/// Limits on a length: characters, elements, entries or bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LengthLimits {
    /// At least.
    pub min: Option<u64>,
    /// At most.
    pub max: Option<u64>,
}

/// Limits on a number, and the values it is confined to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NumberLimits {
    /// At least.
    pub min: Option<Number>,
    /// At most.
    pub max: Option<Number>,
    /// Digits after the point: those with which the limits are written.
    pub decimals: Option<u8>,
    /// The only values, where `in` lists them.
    pub only: Option<Arc<[Number]>>,
}

/// A list of words.
#[derive(Debug, PartialEq)]
pub struct EnumType {
    /// The name under `types`, or empty for one written in place.
    pub name: String,
    /// The words, by rank.
    pub members: Vec<String>,
    /// Members that had other names before, each with that name.
    pub were: Vec<(String, String)>,
}

/// Named fields.
#[derive(Debug, PartialEq)]
pub struct ObjectType {
    /// The name under `types`, or empty for one written in place.
    pub name: String,
    /// The fields, in the order written.
    pub fields: Vec<ObjectField>,
}

/// A field of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectField {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Whether it may be missing.
    pub optional: bool,
}

impl ObjectType {
    /// The field of that name.
    pub fn field_named(&self, name: &str) -> Option<&ObjectField> {
        self.fields.iter().find(|field| field.name == name)
    }
}

impl Type {
    /// The most elements of a list, a set or a map, where that is limited.
    pub fn length_max(&self) -> Option<u64> {
        match self {
            Type::List(_, limits) | Type::Set(_, limits) | Type::Map(_, limits) => limits.max,
            _ => None,
        }
    }

    /// Text without limits.
    pub fn text() -> Type {
        Type::Text(TextLimits::default())
    }

    /// A whole number without limits.
    pub fn int() -> Type {
        Type::Int(NumberLimits::none())
    }

    /// A number without limits.
    pub fn number() -> Type {
        Type::Number(NumberLimits::none())
    }

    /// Whether arithmetic is meant for it.
    pub fn is_number(&self) -> bool {
        matches!(self, Type::Int(_) | Type::Number(_) | Type::Version)
    }

    /// Whether it is an instant.
    pub fn is_instant(&self) -> bool {
        matches!(self, Type::Time | Type::Seconds | Type::Millis | Type::Now)
    }

    /// Whether values of it are text to DynamoDB and in JSON.
    pub fn is_textual(&self) -> bool {
        matches!(
            self,
            Type::Text(_)
                | Type::Date
                | Type::Time
                | Type::Month
                | Type::Ulid
                | Type::Ksuid
                | Type::Uuid
                | Type::Enum(_)
        )
    }

    /// Whether a mistake was already reported for it.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Type::Unknown)
    }

    /// The members, where the type is an enum.
    pub fn enum_members(&self) -> Option<&[String]> {
        match self {
            Type::Enum(words) => Some(&words.members),
            _ => None,
        }
    }

    /// The object's fields, where the type has named fields.
    pub fn object_type(&self) -> Option<&ObjectType> {
        match self {
            Type::Object(object) | Type::Geo(Some(object)) => Some(object),
            _ => None,
        }
    }

    /// The type of the elements, where the type is a collection.
    pub fn element_type(&self) -> Option<&Type> {
        match self {
            Type::List(element, _) | Type::Set(element, _) | Type::Map(element, _) => Some(element),
            _ => None,
        }
    }

    /// How many values there can be, where that is a small number known from the type.
    pub fn cardinality(&self) -> Option<u64> {
        match self {
            Type::Bool => Some(2),
            Type::Enum(words) => Some(words.members.len() as u64),
            Type::Int(limits) => limits.cardinality(),
            Type::Number(limits) => limits.only.as_ref().map(|only| only.len() as u64),
            _ => None,
        }
    }
}

impl NumberLimits {
    /// No limits. Types are cloned all the time, and most numbers share this.
    fn none() -> Arc<NumberLimits> {
        static NONE: LazyLock<Arc<NumberLimits>> = LazyLock::new(Arc::default);
        Arc::clone(&NONE)
    }

    /// How many whole numbers lie within the limits.
    fn cardinality(&self) -> Option<u64> {
        if let Some(only) = &self.only {
            return Some(only.len() as u64);
        }
        let span = self.max?.to_i64()?.checked_sub(self.min?.to_i64()?)?;
        u64::try_from(span).ok()?.checked_add(1)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Text(_) => out.write_str("string"),
            Type::Int(_) => out.write_str("int"),
            Type::Number(_) => out.write_str("number"),
            Type::Bool => out.write_str("bool"),
            Type::Bytes(_) => out.write_str("bytes"),
            Type::Date => out.write_str("date"),
            Type::Time | Type::Now => out.write_str("time"),
            Type::Seconds => out.write_str("seconds"),
            Type::Millis => out.write_str("millis"),
            Type::Duration => out.write_str("duration"),
            Type::Month => out.write_str("month"),
            Type::Ulid => out.write_str("ulid"),
            Type::Ksuid => out.write_str("ksuid"),
            Type::Uuid => out.write_str("uuid"),
            Type::Geo(_) => out.write_str("geo"),
            Type::Json => out.write_str("json"),
            Type::Version => out.write_str("version"),
            Type::Enum(words) if words.name.is_empty() => {
                write!(out, "enum({})", words.members.join(", "))
            }
            Type::Enum(words) => out.write_str(&words.name),
            Type::Object(object) if object.name.is_empty() => out.write_str("object"),
            Type::Object(object) => out.write_str(&object.name),
            Type::List(element, _) => write!(out, "list({element})"),
            Type::Set(element, _) => write!(out, "set({element})"),
            Type::Map(element, _) => write!(out, "map({element})"),
            Type::OrWords(value, words) => {
                write!(out, "{value}")?;
                words.iter().try_for_each(|word| write!(out, " | \"{word}\""))
            }
            Type::Row(_) => out.write_str("row"),
            Type::Group(..) => out.write_str("group"),
            Type::Absent => out.write_str("absent"),
            Type::Unknown => out.write_str("unknown"),
        }
    }
}
