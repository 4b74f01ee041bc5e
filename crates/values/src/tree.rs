//! JSON with every digit of its numbers. `serde_json` takes it apart and leaves a number as it is written ([`RawValue`]): in a tree of
//! its own it is a double, and its switch for exact ones would change how every program that has this crate among its dependencies
//! reads its own types.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value as Json;
use serde_json::value::RawValue;
use singlet_item::limits::NESTING_LEVELS_MAX;

/// A JSON text, taken apart; it borrows of the text what stands there as it is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree<'t> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it is written.
    Number(Cow<'t, str>),
    /// A string.
    Text(Cow<'t, str>),
    /// A list.
    List(Vec<Tree<'t>>),
    /// An object, in the order in which it is written; no two members have one name.
    Object(Members<'t>),
}

/// The members of an object, in the order in which they are written.
pub type Members<'t> = Vec<(Cow<'t, str>, Tree<'t>)>;

/// Why a text is not JSON that is taken here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonError {
    /// Its bytes are no text.
    NoText,
    /// It is not JSON, with the place where it ends to be.
    Form(String),
    /// Lists and objects stand too deep in one another.
    TooDeep,
    /// An object has a name twice: which of the two is meant, nothing says.
    Twice(String),
}

impl fmt::Display for JsonError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JsonError::NoText => out.write_str("it is not UTF-8"),
            JsonError::Form(reason) => out.write_str(reason),
            JsonError::TooDeep => write!(out, "it is nested deeper than {NESTING_LEVELS_MAX} levels"),
            JsonError::Twice(name) => write!(out, "it has {} twice", Json::from(name.as_str())),
        }
    }
}

impl std::error::Error for JsonError {}

impl From<serde_json::Error> for JsonError {
    fn from(error: serde_json::Error) -> Self {
        JsonError::Form(error.to_string())
    }
}

impl<'t> Tree<'t> {
    /// Takes a text apart.
    ///
    /// # Errors
    ///
    /// Where it is not JSON, nested too deep, or an object has a name twice: which of the two is meant, nothing says.
    pub fn parse(text: &'t str) -> Result<Self, JsonError> {
        let is_closed = |first: &u8| matches!(first, b'{' | b'[');
        let read = match text
            .trim_ascii_start()
            .as_bytes()
            .first()
            .filter(|first| is_closed(first))
        {
            Some(_) => Tree::read(text, 0),
            // What has no end of its own is looked through before it is taken for a word or a number.
            None => serde_json::from_str::<&RawValue>(text)
                .map_err(JsonError::from)
                .and_then(|raw| Tree::read(raw.get(), 0)),
        };
        // One who leaves parts aside stops at the first place that is no JSON, however it was come upon.
        read.map_err(|error| match (&error, serde_json::from_str::<IgnoredAny>(text)) {
            (JsonError::Form(_), Err(first)) => first.into(),
            _ => error,
        })
    }

    /// Takes a value apart. Each level looks through what is within it once, and there are few of them: before anything within is
    /// taken apart, all of it is known to be well formed.
    fn read(text: &'t str, depth: usize) -> Result<Self, JsonError> {
        match text.trim_ascii_start().as_bytes().first() {
            Some(b'{' | b'[') if depth == NESTING_LEVELS_MAX => Err(JsonError::TooDeep),
            Some(b'{') => read_members(text, depth).map(Tree::Object),
            Some(b'[') => {
                let elements: Vec<&RawValue> = serde_json::from_str(text)?;
                let elements = elements.into_iter().map(|raw| Tree::read(raw.get(), depth + 1));
                elements.collect::<Result<_, _>>().map(Tree::List)
            }
            Some(b'"') => Ok(Tree::Text(serde_json::from_str::<JsonString<'_>>(text)?.0)),
            Some(b'n') => Ok(Tree::Null),
            Some(b't') => Ok(Tree::Bool(true)),
            Some(b'f') => Ok(Tree::Bool(false)),
            _ => Ok(Tree::Number(Cow::Borrowed(text))),
        }
    }

    /// The member of that name.
    pub fn get(&self, name: &str) -> Option<&Tree<'t>> {
        let Tree::Object(members) = self else { return None };
        members.iter().find(|(known, _)| known == name).map(|(_, tree)| tree)
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        *self == Tree::Null
    }
}

fn read_members(text: &str, depth: usize) -> Result<Members<'_>, JsonError> {
    let RawMembers(raw) = serde_json::from_str(text)?;
    let mut names = HashSet::with_capacity(raw.len());
    let mut members = Vec::with_capacity(raw.len());
    for (name, value) in raw {
        let tree = Tree::read(value.get(), depth + 1)?;
        if !names.insert(name.clone()) {
            return Err(JsonError::Twice(name.into_owned()));
        }
        members.push((name, tree));
    }
    Ok(members)
}

/// A string; borrowed where it has no escapes.
#[derive(Deserialize)]
struct JsonString<'t>(#[serde(borrow)] Cow<'t, str>);

/// The members of an object as they are written, those of one name too.
struct RawMembers<'t>(Vec<(Cow<'t, str>, &'t RawValue)>);

impl<'t> Deserialize<'t> for RawMembers<'t> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'t> Visitor<'t> for MembersVisitor {
            type Value = RawMembers<'t>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((JsonString(name), value)) = map.next_entry()? {
                    members.push((name, value));
                }
                Ok(RawMembers(members))
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}

impl<'t> From<&'t Json> for Tree<'t> {
    fn from(json: &'t Json) -> Self {
        match json {
            Json::Null => Tree::Null,
            Json::Bool(truth) => Tree::Bool(*truth),
            Json::Number(number) => Tree::Number(Cow::Owned(number.to_string())),
            Json::String(text) => Tree::Text(Cow::Borrowed(text)),
            Json::Array(elements) => Tree::List(elements.iter().map(Tree::from).collect()),
            Json::Object(members) => {
                let each = members
                    .iter()
                    .map(|(name, json)| (Cow::Borrowed(name.as_str()), Tree::from(json)));
                Tree::Object(each.collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_digit_and_every_escape_is_kept() {
        let text = r#" {"a" : 123456789012345678901234567890 , "b\"}": [ -0.10, 1E5,true,false , null ],"c":{},"d":[],
            "e":"\u00e9\\\""} "#;
        let number = |text: &'static str| Tree::Number(text.into());
        let word = |text: &'static str| Tree::Text(text.into());
        let list = vec![
            number("-0.10"),
            number("1E5"),
            Tree::Bool(true),
            Tree::Bool(false),
            Tree::Null,
        ];
        let wanted = [
            ("a", number("123456789012345678901234567890")),
            ("b\"}", Tree::List(list)),
            ("c", Tree::Object(Vec::new())),
            ("d", Tree::List(Vec::new())),
            ("e", word("é\\\"")),
        ];
        let wanted = wanted.map(|(name, tree)| (name.into(), tree));
        assert_eq!(Tree::parse(text), Ok(Tree::Object(wanted.into())));
        assert_eq!(Tree::parse("7"), Ok(number("7")));
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in [
            "",
            "{",
            "[1,]",
            "{\"a\" 1}",
            "01",
            "1.",
            "nul",
            "\"\\ud800\"",
            "[1] 2",
            "\"\n\"",
            "NaN",
        ] {
            assert!(Tree::parse(text).is_err(), "{text}");
        }
        for text in [r#"{"a":1,"a":1}"#, r#"[{"b":{"a":1,"c":2,"\u0061":3}}]"#] {
            let error = Tree::parse(text).map_err(|error| error.to_string());
            assert_eq!(error, Err(r#"it has "a" twice"#.to_owned()), "{text}");
        }
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(Tree::parse(&nested(NESTING_LEVELS_MAX)).is_ok());
        assert!(Tree::parse(&nested(NESTING_LEVELS_MAX + 1)).is_err());
        assert!(Tree::parse(&nested(100_000)).is_err());
    }

    #[test]
    fn what_is_no_json_is_told_as_one_who_looks_through_all_of_it_tells_it() {
        for text in [
            "",
            " ",
            "{",
            "[[[",
            "[1,]",
            "[1 2]",
            "{\"a\" 1}",
            "{\"a\":1,}",
            "{\"a\":[1,}",
            "{1:2}",
            "{\"a\":1}}",
            "{\"a\":{\"b\":[tru]}}",
            "[1e]",
            "tru",
            "\"a",
        ] {
            let first = serde_json::from_str::<IgnoredAny>(text).map_err(|error| error.to_string());
            let told = Tree::parse(text).map_err(|error| error.to_string());
            assert_eq!(told.err(), first.err(), "{text}");
        }
        // A string of half a character is found only where it is read.
        assert!(Tree::parse(r#"{"a":["\ud800"]}"#).is_err());
    }
}
