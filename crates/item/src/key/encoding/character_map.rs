//! Functions from values to key text that work character by character: case folding, complement,
//! escaping. Because they do, they carry a set of values over to the set of its key texts exactly.

use super::delimiter::Delimiter;
use crate::key::languages::class::Class;
use std::sync::LazyLock;

/// What becomes of each character of a value: its case is folded, then it is replaced by its
/// complement, then escaped. Each step may be the identity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CharacterMap {
    pub(crate) casing: Casing,
    pub(crate) complement: Option<Alphabet>,
    pub(crate) escaping: Escaping,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Casing {
    #[default]
    Kept,
    Lower,
    Upper,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Escaping {
    #[default]
    None,
    /// The delimiter and the escape itself are escaped.
    Delimiter(Delimiter),
    /// Every character up to the escape is escaped.
    Ordered(Delimiter),
}

/// An alphabet whose letters stand in byte order, so that replacing each by its complement reverses
/// the order of texts of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alphabet {
    Digits,
    Hexadecimal,
    Crockford,
    Base62,
    Geohash,
}

impl CharacterMap {
    pub(crate) const IDENTITY: Self = Self {
        casing: Casing::Kept,
        complement: None,
        escaping: Escaping::None,
    };

    pub(crate) fn escaped(delimiter: Delimiter) -> Self {
        Self {
            escaping: Escaping::Delimiter(delimiter),
            ..Self::IDENTITY
        }
    }

    pub(crate) fn ordered(delimiter: Delimiter) -> Self {
        Self {
            escaping: Escaping::Ordered(delimiter),
            ..Self::IDENTITY
        }
    }

    pub(crate) fn folded(casing: Casing, delimiter: Delimiter) -> Self {
        Self {
            casing,
            ..Self::escaped(delimiter)
        }
    }

    pub(crate) fn complemented(alphabet: Alphabet) -> Self {
        Self {
            complement: Some(alphabet),
            ..Self::IDENTITY
        }
    }

    pub(crate) fn is_identity(&self) -> bool {
        *self == Self::IDENTITY
    }

    /// Whether different values always have different texts.
    pub(crate) fn is_injective(&self) -> bool {
        self.casing == Casing::Kept
    }

    pub(crate) fn encode_word(&self, word: &str) -> String {
        let mut text = String::with_capacity(word.len());
        self.encode_onto(word, &mut text);
        text
    }

    pub(crate) fn encode_onto(&self, word: &str, text: &mut String) {
        match self.keeps(word) {
            true => text.push_str(word),
            false => word.chars().for_each(|character| self.push(character, text)),
        }
    }

    /// Whether the word is seen at a glance to stay as it is: most do.
    fn keeps(&self, word: &str) -> bool {
        self.casing == Casing::Kept
            && self.complement.is_none()
            && match self.escaping {
                Escaping::None => true,
                // Both are ASCII, so that no byte of another character is one of them.
                Escaping::Delimiter(delimiter) => {
                    !word.contains(delimiter.character()) && !word.contains(delimiter.escape())
                }
                Escaping::Ordered(_) => false,
            }
    }

    /// Appends what becomes of one character.
    pub(crate) fn push(&self, character: char, text: &mut String) {
        match self.casing {
            Casing::Kept => self.push_folded(character, text),
            Casing::Lower => character
                .to_lowercase()
                .for_each(|folded| self.push_folded(folded, text)),
            Casing::Upper => character
                .to_uppercase()
                .for_each(|folded| self.push_folded(folded, text)),
        }
    }

    /// The only word with this text, for an injective map.
    pub(crate) fn decode_word(&self, text: &str) -> Option<String> {
        let unescaped = match self.escaping {
            Escaping::None => text.to_owned(),
            Escaping::Delimiter(delimiter) | Escaping::Ordered(delimiter) => unescape(text, delimiter.escape())?,
        };
        let word = match self.complement {
            Some(alphabet) => unescaped
                .chars()
                .map(|character| alphabet.complement(character))
                .collect(),
            None => unescaped,
        };
        // Raw delimiters, escapes of ordinary characters and the like do not come back the same.
        // A key is read only in the spelling in which it is written: otherwise one row would have two keys.
        (self.encode_word(&word) == text).then_some(word)
    }

    /// The characters that do not become themselves.
    pub(crate) fn moved_characters(&self) -> Class {
        let mut moved = match self.casing {
            Casing::Kept => Class::empty(),
            Casing::Lower => NOT_LOWER.clone(),
            Casing::Upper => NOT_UPPER.clone(),
        };
        if let Some(alphabet) = self.complement {
            moved.join(&alphabet.letters().chars().collect());
        }
        match self.escaping {
            Escaping::None => {}
            Escaping::Delimiter(delimiter) => moved.join(&Class::range(delimiter.character(), delimiter.escape())),
            Escaping::Ordered(delimiter) => moved.join(&Class::range('\0', delimiter.escape())),
        }
        moved
    }

    fn push_folded(&self, character: char, text: &mut String) {
        let character = self
            .complement
            .map_or(character, |alphabet| alphabet.complement(character));
        match self.escaping {
            Escaping::Delimiter(delimiter) if character == delimiter.character() || character == delimiter.escape() => {
                push_escape(character, delimiter, text);
            }
            // Everything up to the escape, so that what is escaped sorts as it did.
            Escaping::Ordered(delimiter) if character <= delimiter.escape() => {
                push_escape(character, delimiter, text);
            }
            _ => text.push(character),
        }
    }
}

impl Alphabet {
    fn letters(self) -> &'static str {
        match self {
            Self::Digits => "0123456789",
            Self::Hexadecimal => "0123456789abcdef",
            Self::Crockford => "0123456789ABCDEFGHJKMNPQRSTVWXYZ",
            Self::Base62 => "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
            Self::Geohash => "0123456789bcdefghjkmnpqrstuvwxyz",
        }
    }

    /// The letter as far from the end of the alphabet as this one is from its beginning; characters
    /// outside the alphabet, such as the dashes of a date, stay.
    fn complement(self, character: char) -> char {
        let letters = self.letters();
        let position = letters.chars().position(|letter| letter == character);
        position
            .and_then(|position| letters.chars().rev().nth(position))
            .unwrap_or(character)
    }
}

/// Lower case, character by character: unlike Rust's `str::to_lowercase`, a sigma does not depend on
/// where in the word it stands. Keys and the values compared with them must fold alike.
pub fn lower_case(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

/// Upper case, character by character.
pub fn upper_case(text: &str) -> String {
    text.chars().flat_map(char::to_uppercase).collect()
}

static NOT_LOWER: LazyLock<Class> = LazyLock::new(|| {
    Class::any()
        .characters()
        .filter(|c| !c.to_lowercase().eq([*c]))
        .collect()
});
static NOT_UPPER: LazyLock<Class> = LazyLock::new(|| {
    Class::any()
        .characters()
        .filter(|c| !c.to_uppercase().eq([*c]))
        .collect()
});

/// Only ASCII is ever escaped, so two hexadecimal digits are enough.
fn push_escape(character: char, delimiter: Delimiter, text: &mut String) {
    let code = u32::from(character);
    text.push(delimiter.escape());
    for digit in [code >> 4, code & 15] {
        text.extend(char::from_digit(digit, 16).map(|digit| digit.to_ascii_uppercase()));
    }
}

fn unescape(text: &str, escape: char) -> Option<String> {
    let mut word = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character == escape {
            let code = characters.next()?.to_digit(16)? << 4 | characters.next()?.to_digit(16)?;
            word.push(char::from(u8::try_from(code).ok()?));
        } else {
            word.push(character);
        }
    }
    Some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delimiter_and_its_escape_are_escaped() {
        let map = CharacterMap::escaped(Delimiter::default());
        assert_eq!(map.encode_word("a#b$c"), "a$23b$24c");
        assert_eq!(map.encode_word("home office"), "home office");
        let map = CharacterMap::escaped(Delimiter::new('|').unwrap());
        assert_eq!(map.encode_word("a|b}c#"), "a}7Cb}7Dc#");
    }

    #[test]
    fn ordered_text_escapes_every_lower_byte() {
        let map = CharacterMap::ordered(Delimiter::default());
        assert_eq!(map.encode_word("home office!"), "home$20office$21");
        assert_eq!(map.decode_word("home$20office$21").unwrap(), "home office!");
    }

    #[test]
    fn only_canonical_text_decodes() {
        let map = CharacterMap::escaped(Delimiter::default());
        for text in ["a#b", "a$", "a$2", "a$2g", "a$61", "a$2#", "$ff"] {
            assert_eq!(map.decode_word(text), None, "{text}");
        }
    }

    #[test]
    fn complements_reverse_an_alphabet() {
        let descending = CharacterMap::complemented(Alphabet::Digits);
        assert_eq!(descending.encode_word("2026-02-13"), "7973-97-86");
        assert_eq!(descending.decode_word("7973-97-86").unwrap(), "2026-02-13");
        for alphabet in [
            Alphabet::Digits,
            Alphabet::Hexadecimal,
            Alphabet::Crockford,
            Alphabet::Base62,
            Alphabet::Geohash,
        ] {
            assert!(alphabet.letters().is_ascii() && alphabet.letters().as_bytes().is_sorted());
        }
    }

    #[test]
    fn folding_is_by_character_and_idempotent() {
        assert_eq!(lower_case("ΑΣ"), "ασ");
        assert_eq!(upper_case("straße"), "STRASSE");
        for text in NOT_LOWER
            .characters()
            .map(|character| lower_case(&character.to_string()))
        {
            assert_eq!(lower_case(&text), text);
        }
        for text in NOT_UPPER
            .characters()
            .map(|character| upper_case(&character.to_string()))
        {
            assert_eq!(upper_case(&text), text);
        }
    }

    #[test]
    fn moved_characters_are_exactly_those_that_change() {
        let delimiter = Delimiter::default();
        let maps = [
            CharacterMap::escaped(delimiter),
            CharacterMap::ordered(delimiter),
            CharacterMap::folded(Casing::Lower, delimiter),
            CharacterMap::complemented(Alphabet::Hexadecimal),
        ];
        for map in maps {
            let moved = map.moved_characters();
            for character in ('\0'..='\u{3ff}').filter(|character| !moved.contains(*character)) {
                assert_eq!(map.encode_word(&character.to_string()), character.to_string());
            }
        }
    }
}
