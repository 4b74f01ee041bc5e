//! From keys back to values.

use super::split::split_text;
use crate::Value;
use crate::key::deciding::effort::Effort;
use crate::key::encoding::character_map::{Casing, CharacterMap};
use crate::key::encoding::form::Form;
use crate::key::encoding::resolved_form::Encoding;
use crate::key::languages::language::KeyLanguage;
use crate::key::languages::search::{SearchOutcome, Track, shortest_text};
use crate::key::template::{KeyType, Part, Template, Variable};
use std::fmt;

impl Template {
    /// The values in a key, by the names of their variables in order of appearance: the inverse of
    /// [`Template::encode_key`], exactly. Variables that stand only in forms that lose something, such as
    /// `lower(x)` or `day(x)`, are left out.
    ///
    /// A key that could have come from several values is an error, never a guess. That happens where
    /// variables of no fixed length are neighbours, or where raw ones contain what follows them.
    pub fn decode_key(&self, key: &Value) -> Result<Vec<(String, Value)>, DecodeError> {
        match (self.parts(), key) {
            ([Part::Variable(variable)], value) if variable.form == Form::Whole => {
                let fits = KeyType::of(value) == Some(self.key_type()) && variable.domain.contains(value);
                if fits {
                    Ok(vec![(variable.name.clone(), value.clone())])
                } else {
                    Err(self.mismatch(key))
                }
            }
            ([Part::Number(number)], Value::N(value)) if number == value => Ok(Vec::new()),
            (_, Value::S(text)) if self.key_type() == KeyType::S => self.decode_text(text, key),
            _ => Err(self.mismatch(key)),
        }
    }

    fn decode_text(&self, text: &str, key: &Value) -> Result<Vec<(String, Value)>, DecodeError> {
        if let Some(cut) = self.cut(text) {
            let pieces = cut.ok_or_else(|| self.mismatch(key))?;
            return self.values(&pieces).ok_or_else(|| self.mismatch(key));
        }
        // A repeated variable may rule out all but one of several ways to cut the text.
        let ways = split_text(&self.part_languages(), text, WAYS_MAX);
        // Where there are more ways than were looked at, another reading may be among them.
        let complete = ways.len() < WAYS_MAX;
        let mut readings: Vec<_> = ways.iter().filter_map(|pieces| self.values(pieces)).collect();
        readings.dedup();
        match readings.pop() {
            None if complete => Err(self.mismatch(key)),
            // One reading and no other: of two nobody can say which value was meant.
            Some(reading) if complete && readings.is_empty() => Ok(reading),
            _ => Err(DecodeError::Ambiguous {
                template: self.to_string(),
                key: text.to_owned(),
            }),
        }
    }

    /// Whether every part ends where its text alone says, so that a key has one reading at most.
    pub(crate) fn has_clear_borders(&self) -> bool {
        (0..self.parts().len()).all(|index| self.border(index).is_some())
    }

    /// Cuts a text from left to right. Nothing if a border is unclear; inside, nothing if the text
    /// does not follow the template.
    fn cut<'t>(&self, text: &'t str) -> Option<Option<Vec<&'t str>>> {
        let mut rest = Some(text);
        let mut pieces = Vec::with_capacity(self.parts().len());
        for (index, part) in self.parts().iter().enumerate() {
            let border = self.border(index)?;
            let end = rest.and_then(|rest| match (part, border) {
                (Part::Text(literal), _) => rest.starts_with(literal).then_some(literal.len()),
                (_, Border::Chars(chars)) => end_of(rest, chars),
                (_, Border::Delimiter) => rest.find(self.delimiter().character()),
                (_, Border::End) => Some(rest.len()),
            });
            let cut = rest.zip(end).and_then(|(rest, end)| rest.split_at_checked(end));
            pieces.extend(cut.map(|(piece, _)| piece));
            rest = cut.map(|(_, rest)| rest);
        }
        Some(rest.filter(|rest| rest.is_empty()).map(|_| pieces))
    }

    /// Where a part ends, if its text alone says so.
    fn border(&self, index: usize) -> Option<Border> {
        let part = self.parts().get(index)?;
        let next = self.parts().get(index + 1);
        let fixed = match part {
            Part::Text(text) => Some(text.chars().count()),
            Part::Variable(variable) => variable
                .resolved_encoding(self.delimiter())
                .fixed_chars(&variable.domain),
            Part::Number(_) | Part::Anything => None,
        };
        match (fixed, part, next) {
            (Some(chars), ..) => Some(Border::Chars(chars)),
            (_, _, None) => Some(Border::End),
            (_, Part::Variable(variable), Some(Part::Text(next)))
                // Only where no value has the delimiter in it: then the first one is the border.
                if next.starts_with(self.delimiter().character()) && variable.escapes_delimiter() =>
            {
                Some(Border::Delimiter)
            }
            _ => None,
        }
    }

    /// The values of pieces of text, one for each part, if they are consistent.
    fn values(&self, pieces: &[&str]) -> Option<Vec<(String, Value)>> {
        let mut values: Vec<(String, Value)> = Vec::new();
        let mut lossy: Vec<LossyReading<'_>> = Vec::new();
        for (part, piece) in self.parts().iter().zip(pieces) {
            let Part::Variable(variable) = part else { continue };
            let encoding = variable.resolved_encoding(self.delimiter());
            if !encoding.is_injective() {
                lossy.push(LossyReading {
                    variable,
                    encoding,
                    piece,
                });
                continue;
            }
            let word = encoding
                .decode_word(piece)
                .filter(|word| variable.domain.contains_word(word))?;
            let value = variable.domain.value(&word)?;
            match values.iter().find(|(name, _)| *name == variable.name) {
                // A variable that stands twice has one value.
                Some((_, earlier)) if *earlier != value => return None,
                Some(_) => {}
                None => values.push((variable.name.clone(), value)),
            }
        }
        let consistent = lossy.iter().all(|reading| {
            let value = values.iter().find(|(name, _)| *name == reading.variable.name);
            match value.and_then(|(_, value)| reading.variable.domain.word(value)) {
                // A lossy part is no source of the value, but it must fit it.
                Some(word) => reading.agrees(&word),
                None => reading.has_word(&lossy),
            }
        });
        consistent.then_some(values)
    }

    fn mismatch(&self, key: &Value) -> DecodeError {
        let key = match key {
            Value::S(text) => format!("`{text}`"),
            Value::N(number) => number.to_string(),
            other => format!("a value of type {}", other.type_name()),
        };
        DecodeError::Mismatch {
            template: self.to_string(),
            key,
        }
    }
}

impl Variable {
    /// Whether its text never contains the delimiter, whatever its value.
    fn escapes_delimiter(&self) -> bool {
        matches!(
            self.form,
            Form::Escaped | Form::Ordered | Form::Lower | Form::Upper | Form::Bool
        )
    }
}

/// A piece of a key as the text of a variable in a form that loses something.
struct LossyReading<'a> {
    variable: &'a Variable,
    encoding: Encoding,
    piece: &'a str,
}

impl LossyReading<'_> {
    fn agrees(&self, word: &str) -> bool {
        self.variable.domain.contains_word(word) && self.encoding.encode_word(word).as_deref() == Some(self.piece)
    }

    /// Whether some word has this text, and those of the other readings of the same variable.
    fn has_word(&self, readings: &[Self]) -> bool {
        let own: Vec<&Self> = readings
            .iter()
            .filter(|other| other.variable.name == self.variable.name)
            .collect();
        // A text in folded case is usually the fold of itself.
        let likely = match &self.encoding {
            Encoding::Map(map) => CharacterMap {
                casing: Casing::Kept,
                ..*map
            }
            .decode_word(self.piece),
            _ => None,
        };
        if likely.is_some_and(|word| own.iter().all(|reading| reading.agrees(&word))) {
            return true;
        }
        let domains = own
            .iter()
            .map(|reading| Track::new(vec![reading.variable.domain.word_language()]));
        let texts = own
            .iter()
            .map(|reading| Track::encoded_track(vec![KeyLanguage::of_words([reading.piece])], &reading.encoding));
        matches!(
            shortest_text(&domains.chain(texts).collect::<Vec<_>>(), &Effort::of_one_decision()),
            SearchOutcome::Found(_)
        )
    }
}

/// Why a key has no values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The template does not make such a key.
    Mismatch {
        /// The template as text.
        template: String,
        /// The key as text.
        key: String,
    },
    /// Several values make this key.
    Ambiguous {
        /// The template as text.
        template: String,
        /// The key.
        key: String,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mismatch { template, key } => write!(f, "{key} is not a key of `{template}`"),
            Self::Ambiguous { template, key } => {
                write!(f, "`{key}` can be read as `{template}` in several ways")
            }
        }
    }
}

impl std::error::Error for DecodeError {}

/// Where a part ends.
#[derive(Clone, Copy)]
enum Border {
    /// After so many characters.
    Chars(usize),
    /// Before the next delimiter.
    Delimiter,
    /// At the end of the key.
    End,
}

/// How many ways to cut a text are looked at before it counts as ambiguous.
const WAYS_MAX: usize = 1000;

/// The offset behind the first `chars` characters.
fn end_of(text: &str, chars: usize) -> Option<usize> {
    let ends = text.char_indices().map(|(offset, _)| offset).chain([text.len()]);
    ends.into_iter().nth(chars)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{Delimiter, Domain};

    fn template(parts: Vec<Part>) -> Template {
        Template::new(parts, Delimiter::default()).unwrap()
    }

    fn decoded(template: &Template, key: &str) -> Result<String, DecodeError> {
        let values = template.decode_key(&Value::from(key))?;
        let shown = values.iter().map(|(name, value)| match value {
            Value::S(text) => format!("{name}={text}"),
            Value::N(number) => format!("{name}={number}"),
            other => format!("{name}={other:?}"),
        });
        Ok(shown.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn parts_come_back_from_their_places() {
        let template = template(vec![
            Part::text("A#"),
            Part::bare_variable("name", Domain::text(0, None)),
            Part::text("#"),
            Part::bare_variable("date", Domain::Date),
            Part::bare_variable("n", Domain::integer_range(Some(0), Some(99))),
            Part::text("#x"),
        ]);
        assert_eq!(
            decoded(&template, "A#a$23b#2026-02-1307#x").unwrap(),
            "name=a#b date=2026-02-13 n=7"
        );
        for key in [
            "A#a#b#2026-02-1307#x",
            "A#a#2026-02-3107#x",
            "A#a#2026-02-1307#",
            "B#",
            "A#a#2026-02-13é7#x",
        ] {
            let expected = format!("`{key}` is not a key of `A#{{name}}#{{date}}{{n}}#x`");
            assert_eq!(decoded(&template, key).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn neighbours_without_a_border_are_ambiguous() {
        let some = || Domain::text(1, None);
        let adjacent = template(vec![Part::bare_variable("a", some()), Part::bare_variable("b", some())]);
        assert_eq!(decoded(&adjacent, "xy").unwrap(), "a=x b=y");
        assert_eq!(
            decoded(&adjacent, "xyz").unwrap_err().to_string(),
            "`xyz` can be read as `{a}{b}` in several ways"
        );
        let raw = Part::Variable(Variable::new("a", Form::Raw, some()));
        let raw = template(vec![raw, Part::text("#"), Part::bare_variable("b", some())]);
        assert_eq!(decoded(&raw, "x#y#z").unwrap(), "a=x#y b=z");
    }

    #[test]
    fn a_repeated_variable_decides_between_readings() {
        let some = || Part::bare_variable("a", Domain::text(1, None));
        let twice = template(vec![some(), Part::text("-"), some()]);
        assert_eq!(decoded(&twice, "x-y-x-y").unwrap(), "a=x-y");
        assert!(decoded(&twice, "x-y").is_err());
    }

    #[test]
    fn forms_that_lose_something_are_checked_but_not_read() {
        let month = Part::Variable(Variable::new("date", Form::Month, Domain::Date));
        let alone = template(vec![Part::text("MONTH#"), month.clone()]);
        assert_eq!(decoded(&alone, "MONTH#2026-02").unwrap(), "");
        assert!(decoded(&alone, "MONTH#2026-13").is_err());
        let both = template(vec![month, Part::text("#"), Part::bare_variable("date", Domain::Date)]);
        assert_eq!(decoded(&both, "2026-02#2026-02-13").unwrap(), "date=2026-02-13");
        assert!(decoded(&both, "2026-03#2026-02-13").is_err());
        let lower = template(vec![Part::Variable(Variable::new(
            "x",
            Form::Lower,
            Domain::text(1, None),
        ))]);
        assert!(decoded(&lower, "abc").is_ok() && decoded(&lower, "aBc").is_err());
    }

    #[test]
    fn a_key_of_another_type_is_a_mismatch() {
        let number = template(vec![Part::Variable(Variable::new(
            "n",
            Form::Whole,
            Domain::integer_range(None, None),
        ))]);
        assert_eq!(
            number.decode_key(&Value::from(5)).unwrap(),
            [("n".to_owned(), Value::from(5))]
        );
        assert!(number.decode_key(&Value::from("5")).is_err());
        let text = template(vec![Part::bare_variable("n", Domain::integer_range(None, None))]);
        assert_eq!(
            text.decode_key(&Value::from("-5")).unwrap(),
            [("n".to_owned(), Value::from(-5))]
        );
        assert!(text.decode_key(&Value::from(5)).is_err());
    }
}
