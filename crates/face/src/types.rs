//! Types as they are stored, and whether every value of one is a value of another.

use serde::{Deserialize, Serialize};
use singlet_item::Number;
use singlet_model::types::{LengthLimits, NumberLimits, ObjectType, Type};

/// The type of a stored value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TypeFace {
    /// Text: length in characters, and a pattern.
    Text(Range, Option<String>),
    /// A number.
    Number(Numbers),
    /// A type of which nothing more need be said: `date`, `bool`, `ulid`.
    Simple(String),
    /// Bytes.
    Bytes(Range),
    /// One of some words.
    Enum(Vec<String>),
    /// Named fields: name, type, whether it may be missing.
    Object(Vec<(String, TypeFace, bool)>),
    /// A place with further fields.
    Place(Vec<(String, TypeFace, bool)>),
    /// A list, set or map, its elements, and how many.
    Many(String, Box<TypeFace>, Range),
    /// A value, or one of some words.
    OrWords(Box<TypeFace>, Vec<String>),
}

/// From, to.
pub type Range = (Option<u64>, Option<u64>);

/// The limits of a number, as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Numbers {
    /// Whether it is a whole number.
    pub whole: bool,
    /// At least.
    pub min: Option<String>,
    /// At most.
    pub max: Option<String>,
    /// Digits after the point.
    pub decimals: Option<u8>,
    /// The only values.
    pub only: Option<Vec<String>>,
}

/// In how far a type does not hold the values of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lack {
    /// It is narrower: some values are outside its limits.
    Limits,
    /// It is another kind of value.
    Kind,
}

impl TypeFace {
    /// The face of a type.
    pub fn of(ty: &Type) -> Self {
        let simple = |name: &str| TypeFace::Simple(name.to_owned());
        match ty {
            Type::Text(limits) => {
                TypeFace::Text(range(&limits.length), limits.pattern.as_ref().map(ToString::to_string))
            }
            Type::Int(limits) => TypeFace::Number(numbers(true, limits)),
            Type::Number(limits) => TypeFace::Number(numbers(false, limits)),
            Type::Bytes(limits) => TypeFace::Bytes(range(limits)),
            Type::Enum(words) => TypeFace::Enum(words.members.clone()),
            Type::Object(object) => TypeFace::Object(fields(object)),
            Type::Geo(Some(object)) => TypeFace::Place(fields(object)),
            Type::Geo(None) => TypeFace::Place(Vec::new()),
            Type::List(element, limits) => many("list", element, limits),
            Type::Set(element, limits) => many("set", element, limits),
            Type::Map(element, limits) => many("map", element, limits),
            Type::OrWords(value, words) => TypeFace::OrWords(Box::new(TypeFace::of(value)), words.to_vec()),
            Type::Time | Type::Now => simple("time"),
            Type::Bool
            | Type::Date
            | Type::Seconds
            | Type::Millis
            | Type::Duration
            | Type::Month
            | Type::Ulid
            | Type::Ksuid
            | Type::Uuid
            | Type::Json
            | Type::Version
            | Type::Row(_)
            | Type::Group(..)
            | Type::Absent
            | Type::Unknown => simple(&ty.to_string()),
        }
    }

    /// In how far `self` does not hold every value of `old`.
    pub fn lack_of(&self, old: &TypeFace) -> Option<Lack> {
        match (old, self) {
            (old, new) if old == new => None,
            (_, TypeFace::Simple(name)) if name == "json" => None,
            (TypeFace::Text(old, old_pattern), TypeFace::Text(new, pattern)) => {
                let fits = pattern.is_none() || pattern == old_pattern;
                limits(within(*old, *new) && fits)
            }
            // Dates, ids and words are texts of their own shapes.
            (TypeFace::Simple(name), TypeFace::Text(range, pattern)) if is_text(name) => {
                limits(*range == (None, None) && pattern.is_none())
            }
            (TypeFace::Enum(_), TypeFace::Text(range, pattern)) => limits(*range == (None, None) && pattern.is_none()),
            (TypeFace::Number(old), TypeFace::Number(new)) => numbers_lack(old, new),
            (TypeFace::Bytes(old), TypeFace::Bytes(new)) => limits(within(*old, *new)),
            (TypeFace::Enum(old), TypeFace::Enum(new)) => kind(old.iter().all(|word| new.contains(word))),
            (TypeFace::Object(old), TypeFace::Object(new)) | (TypeFace::Place(old), TypeFace::Place(new)) => {
                fields_lack(old, new)
            }
            (TypeFace::Many(what, old, old_range), TypeFace::Many(same, new, range)) if what == same => {
                worse(new.lack_of(old), limits(within(*old_range, *range)))
            }
            (TypeFace::OrWords(old, old_words), TypeFace::OrWords(new, words)) => {
                let known = old_words.iter().all(|word| words.contains(word));
                worse(new.lack_of(old), kind(known))
            }
            (old, TypeFace::OrWords(new, _)) => new.lack_of(old),
            _ => Some(Lack::Kind),
        }
    }

    /// In words.
    pub fn words(&self) -> String {
        let spanned = |name: &str, (min, max): &Range| match (min, max) {
            (None, None) => name.to_owned(),
            (min, max) => format!("{name} {}..{}", shown(*min), shown(*max)),
        };
        match self {
            TypeFace::Text(range, None) => spanned("string", range),
            TypeFace::Text(range, Some(pattern)) => format!("{} /{pattern}/", spanned("string", range)),
            TypeFace::Number(numbers) => numbers_words(numbers),
            TypeFace::Simple(name) => name.clone(),
            TypeFace::Bytes(range) => spanned("bytes", range),
            TypeFace::Enum(words) => format!("one of {}", words.join(", ")),
            TypeFace::Object(fields) => format!("object {{{}}}", fields_words(fields)),
            TypeFace::Place(fields) if fields.is_empty() => "geo".to_owned(),
            TypeFace::Place(fields) => format!("object {{{}}}", fields_words(fields)),
            TypeFace::Many(what, element, range) => spanned(&format!("{what}({})", element.words()), range),
            TypeFace::OrWords(value, words) => {
                let words: Vec<String> = words.iter().map(|word| format!(" | \"{word}\"")).collect();
                format!("{}{}", value.words(), words.concat())
            }
        }
    }
}

fn limits(fits: bool) -> Option<Lack> {
    (!fits).then_some(Lack::Limits)
}

fn kind(fits: bool) -> Option<Lack> {
    (!fits).then_some(Lack::Kind)
}

fn worse(one: Option<Lack>, other: Option<Lack>) -> Option<Lack> {
    one.max(other)
}

fn is_text(name: &str) -> bool {
    matches!(name, "date" | "time" | "month" | "ulid" | "ksuid" | "uuid")
}

fn shown(end: Option<u64>) -> String {
    end.map(|end| end.to_string()).unwrap_or_default()
}

fn range(limits: &LengthLimits) -> Range {
    (limits.min, limits.max)
}

/// Whether the first range lies in the second.
fn within((old_min, old_max): Range, (min, max): Range) -> bool {
    let above = min.is_none_or(|min| old_min.unwrap_or(0) >= min);
    let below = max.is_none_or(|max| old_max.is_some_and(|old| old <= max));
    above && below
}

fn numbers(whole: bool, limits: &NumberLimits) -> Numbers {
    let only = limits.only.as_ref();
    Numbers {
        whole,
        min: limits.min.map(|number| number.to_string()),
        max: limits.max.map(|number| number.to_string()),
        decimals: limits.decimals,
        only: only.map(|only| only.iter().map(Number::to_string).collect()),
    }
}

fn numbers_lack(old: &Numbers, new: &Numbers) -> Option<Lack> {
    let number = |text: &Option<String>| text.as_ref().and_then(|text| text.parse::<Number>().ok());
    let (old_min, old_max) = (number(&old.min), number(&old.max));
    let above = number(&new.min).is_none_or(|min| old_min.is_some_and(|old| old >= min));
    let below = number(&new.max).is_none_or(|max| old_max.is_some_and(|old| old <= max));
    let fine = match (old.whole, new.decimals) {
        (true, _) | (false, None) => true,
        (false, Some(decimals)) => old.decimals.is_some_and(|old| old <= decimals),
    };
    let listed = match (&old.only, &new.only) {
        (_, None) => true,
        (Some(old), Some(new)) => old.iter().all(|number| new.contains(number)),
        (None, Some(_)) => false,
    };
    worse(kind(old.whole || !new.whole), limits(above && below && fine && listed))
}

fn numbers_words(numbers: &Numbers) -> String {
    let name = if numbers.whole { "int" } else { "number" };
    let end = |text: &Option<String>| text.clone().unwrap_or_default();
    match (&numbers.only, &numbers.min, &numbers.max) {
        (Some(only), ..) => format!("{name} in {}", only.join(", ")),
        (None, None, None) => name.to_owned(),
        (None, min, max) => format!("{name} {}..{}", end(min), end(max)),
    }
}

fn many(what: &str, element: &Type, limits: &LengthLimits) -> TypeFace {
    TypeFace::Many(what.to_owned(), Box::new(TypeFace::of(element)), range(limits))
}

type Field = (String, TypeFace, bool);

fn fields(object: &ObjectType) -> Vec<Field> {
    let fields = object.fields.iter();
    let mut fields: Vec<Field> = fields
        .map(|field| (field.name.clone(), TypeFace::of(&field.ty), field.optional))
        .collect();
    // The order in which fields are written is no part of what is stored.
    fields.sort_by(|one, other| one.0.cmp(&other.0));
    fields
}

fn fields_lack(old: &[Field], new: &[Field]) -> Option<Lack> {
    let mut lack = None;
    for (name, ty, optional) in new {
        let known = old.iter().find(|(known, ..)| known == name);
        lack = worse(
            lack,
            match known {
                Some((_, old, was_optional)) => worse(ty.lack_of(old), kind(*optional || !was_optional)),
                None => kind(*optional),
            },
        );
    }
    let gone = old
        .iter()
        .any(|(name, ..)| !new.iter().any(|(known, ..)| known == name));
    worse(lack, kind(!gone))
}

fn fields_words(fields: &[Field]) -> String {
    let field = |(name, ty, optional): &Field| format!("{name}: {}{}", ty.words(), if *optional { "?" } else { "" });
    fields.iter().map(field).collect::<Vec<_>>().join(", ")
}
