//! The character that separates the parts of a key.

use super::character_map::CharacterMap;
use std::fmt;

/// The character between the parts of a key, one of ASCII's punctuation; `#` unless said otherwise.
///
/// Inside a value it is escaped, and so is the escape itself: the escape character and two
/// hexadecimal digits. The escape is the byte *after* the delimiter, so that escaping keeps the order
/// of strings: `#` and `$` become `$23` and `$24`, which sort between `"` and `%` as they did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Delimiter(u8);

impl Delimiter {
    /// The delimiter `character`, if it is ASCII punctuation.
    pub fn new(character: char) -> Option<Self> {
        u8::try_from(character).ok().filter(u8::is_ascii_punctuation).map(Self)
    }

    /// The delimiter itself.
    pub fn character(self) -> char {
        char::from(self.0)
    }

    /// The character that begins an escape.
    pub fn escape(self) -> char {
        // The next character, so that an escaped delimiter sorts right behind it.
        char::from(self.0 + 1)
    }

    /// A text in which neither delimiter nor escape stands for itself, so that it can be part of a key.
    pub fn escaped_text(self, text: &str) -> String {
        CharacterMap::escaped(self).encode_word(text)
    }

    /// The text that was escaped; none where nothing is escaped so.
    pub fn unescaped_text(self, text: &str) -> Option<String> {
        let mut bytes = text.bytes();
        let mut found = Vec::with_capacity(text.len());
        while let Some(byte) = bytes.next() {
            if byte == self.0 {
                return None;
            }
            if char::from(byte) != self.escape() {
                found.push(byte);
                continue;
            }
            let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
            let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
            found.push(u8::try_from(high * 16 + low).ok()?);
        }
        String::from_utf8(found).ok()
    }
}

impl Default for Delimiter {
    fn default() -> Self {
        Self(b'#')
    }
}

impl fmt::Display for Delimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.character().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_texts_do_not_run_into_one_another() {
        let joined = |parts: &[&str]| {
            parts
                .iter()
                .map(|part| Delimiter::default().escaped_text(part))
                .collect::<Vec<_>>()
                .join("#")
        };
        assert_eq!(joined(&["a#b", "c$"]), "a$23b#c$24");
        assert_ne!(joined(&["a#b", "c"]), joined(&["a", "b#c"]));
    }

    #[test]
    fn what_was_escaped_comes_back() {
        for delimiter in ['#', '|', '/'].into_iter().filter_map(Delimiter::new) {
            for text in ["", "a", "a#b", "$", "é|}#$24", "0/0", "%%"] {
                assert_eq!(
                    delimiter.unescaped_text(&delimiter.escaped_text(text)).as_deref(),
                    Some(text)
                );
            }
        }
        for text in ["a#b", "$", "$2", "$2x", "$ff"] {
            assert_eq!(Delimiter::default().unescaped_text(text), None, "{text}");
        }
    }

    #[test]
    fn only_ascii_punctuation_delimits() {
        assert_eq!(Delimiter::new('#'), Some(Delimiter::default()));
        assert_eq!(Delimiter::new('|').map(Delimiter::escape), Some('}'));
        for character in ['a', '0', ' ', '\n', 'é', '\0'] {
            assert_eq!(Delimiter::new(character), None);
        }
    }

    #[test]
    fn an_escape_that_is_a_letter_or_a_digit_is_told() {
        let odd: String = (' '..='~')
            .filter(|character| {
                Delimiter::new(*character).is_some_and(|delimiter| delimiter.escape().is_ascii_alphanumeric())
            })
            .collect();
        assert_eq!(odd, "/@`");
    }
}
