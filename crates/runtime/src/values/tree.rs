//! JSON with every digit of its numbers. `serde_json` holds them as doubles; its switch for exact ones would change how every
//! program that has this crate among its dependencies reads its own types.

use serde::de::IgnoredAny;
use serde_json::Value as Json;

/// How deep lists and objects may stand in one another: DynamoDB keeps no more.
pub const NESTING_MAX: usize = 32;

/// A JSON text, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it is written.
    Number(String),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Tree>),
    /// An object, in the order in which it is written; no two members have one name.
    Object(Vec<(String, Tree)>),
}

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

impl std::fmt::Display for JsonError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            JsonError::NoText => out.write_str("it is not UTF-8"),
            JsonError::Form(reason) => out.write_str(reason),
            JsonError::TooDeep => write!(out, "it is nested deeper than {NESTING_MAX} levels"),
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

impl Tree {
    /// Takes a text apart.
    ///
    /// # Errors
    ///
    /// Where it is not JSON, nested too deep, or an object has a name twice: which of the two is meant, nothing says.
    pub fn parse(text: &str) -> Result<Self, JsonError> {
        // What is left to the reader below is known to be well formed.
        serde_json::from_str::<IgnoredAny>(text)?;
        JsonReader { rest: text.as_bytes() }.value(0)
    }

    /// The member of that name.
    pub fn get(&self, name: &str) -> Option<&Tree> {
        let Tree::Object(members) = self else { return None };
        members.iter().find(|(known, _)| known == name).map(|(_, tree)| tree)
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        *self == Tree::Null
    }
}

impl From<&Json> for Tree {
    fn from(json: &Json) -> Self {
        match json {
            Json::Null => Tree::Null,
            Json::Bool(truth) => Tree::Bool(*truth),
            Json::Number(number) => Tree::Number(number.to_string()),
            Json::String(text) => Tree::Text(text.clone()),
            Json::Array(elements) => Tree::List(elements.iter().map(Tree::from).collect()),
            Json::Object(members) => {
                let each = members.iter().map(|(name, json)| (name.clone(), Tree::from(json)));
                Tree::Object(each.collect())
            }
        }
    }
}

/// What is left of a text that is JSON.
struct JsonReader<'a> {
    rest: &'a [u8],
}

impl<'a> JsonReader<'a> {
    fn value(&mut self, depth: usize) -> Result<Tree, JsonError> {
        match self.next_byte() {
            Some(b'{' | b'[') if depth == NESTING_MAX => Err(JsonError::TooDeep),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => self.text().map(Tree::Text),
            _ => Ok(self.word()),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Tree, JsonError> {
        self.skip(1);
        let mut members: Vec<(String, Tree)> = Vec::new();
        let mut names = std::collections::HashSet::new();
        while let Some(byte) = self.next_byte().filter(|byte| *byte != b'}') {
            if byte == b',' {
                self.skip(1);
                continue;
            }
            let name = self.text()?;
            self.next_byte();
            self.skip(1);
            let tree = self.value(depth + 1)?;
            if !names.insert(name.clone()) {
                return Err(JsonError::Twice(name));
            }
            members.push((name, tree));
        }
        self.skip(1);
        Ok(Tree::Object(members))
    }

    fn list(&mut self, depth: usize) -> Result<Tree, JsonError> {
        self.skip(1);
        let mut elements = Vec::new();
        while let Some(byte) = self.next_byte().filter(|byte| *byte != b']') {
            match byte {
                b',' => self.skip(1),
                _ => elements.push(self.value(depth + 1)?),
            }
        }
        self.skip(1);
        Ok(Tree::List(elements))
    }

    /// A string, which begins here.
    fn text(&mut self) -> Result<String, JsonError> {
        self.next_byte();
        let mut escaped = true;
        let end = self.rest.iter().position(|byte| {
            let ends = *byte == b'"' && !escaped;
            escaped = *byte == b'\\' && !escaped;
            ends
        });
        let token = self.take(end.map_or(self.rest.len(), |end| end + 1));
        Ok(serde_json::from_slice(token)?)
    }

    fn word(&mut self) -> Tree {
        let ends = |byte: &u8| b",]} \t\r\n".contains(byte);
        let length = self.rest.iter().position(ends).unwrap_or(self.rest.len());
        match self.take(length) {
            b"null" => Tree::Null,
            b"true" => Tree::Bool(true),
            b"false" => Tree::Bool(false),
            number => Tree::Number(String::from_utf8_lossy(number).into_owned()),
        }
    }

    /// The next byte that is no space.
    fn next_byte(&mut self) -> Option<u8> {
        let space = |byte: &u8| b" \t\r\n".contains(byte);
        let spaces = self.rest.iter().take_while(|byte| space(byte)).count();
        self.skip(spaces);
        self.rest.first().copied()
    }

    fn skip(&mut self, count: usize) {
        self.take(count);
    }

    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(count.min(self.rest.len()));
        self.rest = rest;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_digit_and_every_escape_is_kept() {
        let text = r#" {"a" : 123456789012345678901234567890 , "b\"}": [ -0.10, 1E5,true,false , null ],"c":{},"d":[],
            "e":"\u00e9\\\""} "#;
        let number = |text: &str| Tree::Number(text.to_owned());
        let word = |text: &str| Tree::Text(text.to_owned());
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
        let wanted = wanted.map(|(name, tree)| (name.to_owned(), tree));
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
        assert!(Tree::parse(&nested(NESTING_MAX)).is_ok());
        assert!(Tree::parse(&nested(NESTING_MAX + 1)).is_err());
        assert!(Tree::parse(&nested(100_000)).is_err());
    }
}
