//! The type of an attribute, told from its values.

use std::collections::BTreeMap;
use std::sync::Arc;

use singlet_item::Value;
use singlet_model::types::{LengthLimits, NumberLimits, TextLimits, Type};
use singlet_values::as_stored;

/// Fewer values than this show no repeats.
const ENUM_VALUES_MIN: usize = 20;
/// The most members of an enum.
const ENUM_MEMBERS_MAX: usize = 8;
/// How often each member occurs at least.
const ENUM_REPEATS_MIN: usize = 5;
/// The longest member.
const ENUM_MEMBER_CHARACTERS_MAX: usize = 20;
/// What is part of the name of an attribute that tells of a person or a place: its words are values, not members.
const TELLING: [&str; 14] = [
    "name", "mail", "city", "address", "street", "phone", "user", "owner", "person", "author", "country", "title",
    "text", "note",
];

/// The type of an attribute, as a model writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TypeText {
    /// One word, such as `string` or `list(int)`.
    Plain(String),
    /// An enum of these members.
    Enum(Vec<String>),
}

impl TypeText {
    pub(crate) fn plain_type(text: &str) -> Self {
        TypeText::Plain(text.to_owned())
    }
}

/// The narrowest type that holds all values as they are. With `simple`, the one that DynamoDB's own types suggest.
pub(crate) fn type_of(values: &[&Value], simple: bool) -> TypeText {
    let narrow = narrow_types().into_iter().filter(|_| !simple);
    let found = narrow.chain(plain_types()).find(|(_, ty)| holds_all(values, ty));
    TypeText::plain_type(found.map_or("json", |(text, _)| text))
}

/// Whether all values are of a type whose text is one value, whatever characters it has.
pub(crate) fn is_one_value(values: &[&Value]) -> bool {
    narrow_types().iter().any(|(_, ty)| holds_all(values, ty))
}

fn holds_all(values: &[&Value], ty: &Type) -> bool {
    values
        .iter()
        .all(|value| as_stored(value, ty).is_ok_and(|stored| *stored == **value))
}

fn narrow_types() -> Vec<(&'static str, Type)> {
    vec![
        ("ulid", Type::Ulid),
        ("uuid", Type::Uuid),
        ("date", Type::Date),
        ("time", Type::Time),
        ("month", Type::Month),
    ]
}

fn plain_types() -> Vec<(&'static str, Type)> {
    let text = Type::Text(TextLimits::default());
    let int = Type::Int(Arc::new(NumberLimits::default()));
    let number = Type::Number(Arc::new(NumberLimits::default()));
    let of = |element: &Type, make: fn(Arc<Type>, LengthLimits) -> Type| {
        make(Arc::new(element.clone()), LengthLimits::default())
    };
    vec![
        ("list(string)", of(&text, Type::List)),
        ("list(int)", of(&int, Type::List)),
        ("list(number)", of(&number, Type::List)),
        ("set(string)", of(&text, Type::Set)),
        ("set(int)", of(&int, Type::Set)),
        ("set(number)", of(&number, Type::Set)),
        ("string", text),
        ("int", int),
        ("number", number),
        ("bool", Type::Bool),
        ("bytes", Type::Bytes(LengthLimits::default())),
    ]
}

/// Words that are few, short and often repeated, of an attribute that tells of nobody.
pub(crate) fn enum_members(name: &str, values: &[&Value]) -> Option<Vec<String>> {
    let name = name.to_lowercase();
    if values.len() < ENUM_VALUES_MIN || TELLING.iter().any(|telling| name.contains(telling)) {
        return None;
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for value in values {
        let word = value.as_str().filter(|word| is_word(word))?;
        *counts.entry(word).or_default() += 1;
        if counts.len() > ENUM_MEMBERS_MAX {
            return None;
        }
    }
    let repeats = counts.values().all(|count| *count >= ENUM_REPEATS_MIN);
    (repeats && counts.len() > 1).then(|| counts.into_keys().map(str::to_owned).collect())
}

fn is_word(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
    text.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && text.chars().all(is_letter)
        && text.len() <= ENUM_MEMBER_CHARACTERS_MAX
}
