//! A stored value as JSON text, piece by piece: what is written is dropped, so that a large answer is never there twice.

use std::collections::btree_map;
use std::vec;

use singlet_item::{Item, Value};

use super::json_text;

/// A value on its way to text.
#[derive(Debug)]
pub struct JsonPieces {
    /// What is written next, before the levels go on.
    next: Option<Value>,
    /// The lists and objects that are open, the innermost last.
    open: Vec<Level>,
}

/// A list or an object of which some is still to be written.
#[derive(Debug)]
struct Level {
    rest: RestPieces,
    is_first: bool,
    /// Whether its end is written too.
    closes: bool,
}

#[derive(Debug)]
enum RestPieces {
    List(vec::IntoIter<Value>),
    Object(btree_map::IntoIter<String, Value>),
}

impl JsonPieces {
    /// The whole text of a value.
    pub fn of(value: Value) -> Self {
        JsonPieces {
            next: Some(value),
            open: Vec::new(),
        }
    }

    /// An object without its end, so that more members may follow.
    pub fn of_open_object(members: Item) -> Self {
        JsonPieces {
            next: None,
            open: vec![Level::new(RestPieces::Object(members.into_iter()), false)],
        }
    }

    /// Appends some more of the text: until there are so many bytes, or to its end. Whether that is reached.
    pub fn write_more(&mut self, out: &mut Vec<u8>, bytes_min: usize) -> bool {
        while out.len() < bytes_min {
            if let Some(value) = self.next.take() {
                self.begin(out, value);
                continue;
            }
            let Some(level) = self.open.last_mut() else { return true };
            self.next = level.step(out);
            if self.next.is_none() {
                self.open.pop();
            }
        }
        self.next.is_none() && self.open.is_empty()
    }

    /// Writes a value, or where it is a list or an object only how it begins.
    fn begin(&mut self, out: &mut Vec<u8>, value: Value) {
        let rest = match value {
            Value::L(elements) => RestPieces::List(elements.into_iter()),
            Value::M(members) => RestPieces::Object(members.into_iter()),
            leaf @ (Value::S(_)
            | Value::N(_)
            | Value::B(_)
            | Value::Bool(_)
            | Value::Null
            | Value::Ss(_)
            | Value::Ns(_)
            | Value::Bs(_)) => return json_text::write_value(out, &leaf),
        };
        let level = Level::new(rest, true);
        out.push(level.brackets().0);
        self.open.push(level);
    }
}

impl Level {
    fn new(rest: RestPieces, closes: bool) -> Self {
        Level {
            rest,
            is_first: true,
            closes,
        }
    }

    fn brackets(&self) -> (u8, u8) {
        match self.rest {
            RestPieces::List(_) => (b'[', b']'),
            RestPieces::Object(_) => (b'{', b'}'),
        }
    }

    /// Goes on to the next value, or writes the end.
    fn step(&mut self, out: &mut Vec<u8>) -> Option<Value> {
        let (name, value) = match &mut self.rest {
            RestPieces::List(elements) => (None, elements.next()),
            RestPieces::Object(members) => members
                .next()
                .map_or((None, None), |(name, value)| (Some(name), Some(value))),
        };
        if value.is_none() {
            if self.closes {
                out.push(self.brackets().1);
            }
            return None;
        }
        if !std::mem::take(&mut self.is_first) {
            out.push(b',');
        }
        if let Some(name) = name {
            json_text::write_string(out, &name);
            out.push(b':');
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn sample() -> Value {
        let inner = BTreeMap::from([
            ("a".to_owned(), Value::L(vec![])),
            ("b\"".to_owned(), Value::M(BTreeMap::new())),
            (
                "c".to_owned(),
                Value::L(vec![Value::Null, Value::from("é"), Value::L(vec![Value::from(7)])]),
            ),
        ]);
        Value::L(vec![Value::M(inner.clone()), Value::Bool(true), Value::M(inner)])
    }

    #[test]
    fn pieces_of_any_length_are_the_text() {
        for value in [sample(), Value::from("x"), Value::L(vec![]), Value::M(BTreeMap::new())] {
            let whole = json_text::json_of(&value);
            for bytes_min in [1, 2, 3, 7, whole.len(), whole.len() + 1] {
                let mut pieces = JsonPieces::of(value.clone());
                let mut text = Vec::new();
                loop {
                    let mut piece = Vec::new();
                    let ended = pieces.write_more(&mut piece, bytes_min);
                    assert!(ended || piece.len() >= bytes_min);
                    text.extend(piece);
                    if ended {
                        break;
                    }
                }
                assert_eq!(String::from_utf8(text).unwrap_or_default(), whole);
            }
        }
    }

    #[test]
    fn an_open_object_lacks_its_brackets() {
        let members = BTreeMap::from([("a".to_owned(), sample()), ("b".to_owned(), Value::from(1))]);
        let whole = json_text::json_of(&Value::M(members.clone()));
        let mut text = Vec::new();
        assert!(JsonPieces::of_open_object(members).write_more(&mut text, usize::MAX));
        assert_eq!(format!("{{{}}}", String::from_utf8(text).unwrap_or_default()), whole);
    }
}
