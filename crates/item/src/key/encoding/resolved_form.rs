//! A form resolved for one domain: the function from words to key texts, and back.

use super::character_map::{Alphabet, Casing, CharacterMap};
use super::delimiter::Delimiter;
use super::form::Form;
use crate::Number;
use crate::key::deciding::effort::Effort;
use crate::key::languages::domain::Domain;
use crate::key::languages::language::{KeyLanguage, ValueLengths};
use crate::key::languages::numerals;
use crate::key::languages::source::WordSet;
use std::collections::HashSet;

/// The function from the words of values to their key texts. Two encodings are equal only if they
/// are the same function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Character by character.
    Map(CharacterMap),
    /// The first characters alone.
    Truncated { chars: usize },
    /// A number padded with zeros.
    Padded {
        integer_digits: u8,
        fraction_digits: u8,
        descending: bool,
    },
    /// A number as it prints, which is its word.
    Plain,
    /// The place of a word in a list.
    Rank { members: Vec<String>, descending: bool },
}

impl Encoding {
    pub(crate) fn of(form: &Form, domain: &Domain, delimiter: Delimiter) -> Self {
        match form {
            Form::Escaped => Self::Map(CharacterMap::escaped(delimiter)),
            Form::Ordered => Self::Map(CharacterMap::ordered(delimiter)),
            Form::Lower => Self::Map(CharacterMap::folded(Casing::Lower, delimiter)),
            Form::Upper => Self::Map(CharacterMap::folded(Casing::Upper, delimiter)),
            Form::Raw | Form::Fixed | Form::Bool => Self::Map(CharacterMap::IDENTITY),
            Form::Whole if matches!(domain, Domain::Number(_)) => Self::Plain,
            Form::Whole => Self::Map(CharacterMap::IDENTITY),
            Form::Padded {
                integer_digits,
                fraction_digits,
            } => Self::Padded {
                integer_digits: *integer_digits,
                fraction_digits: *fraction_digits,
                descending: false,
            },
            Form::Plain => Self::Plain,
            Form::Rank { members } => Self::Rank {
                members: members.clone(),
                descending: false,
            },
            Form::Day => Self::Truncated { chars: 10 },
            Form::Month => Self::Truncated { chars: 7 },
            Form::Year => Self::Truncated { chars: 4 },
            Form::Descending(inner) => Self::of(inner, domain, delimiter).reversed(domain),
        }
    }

    /// The encoding, or the identity where that is the same function on the words of `source`.
    pub(crate) fn simplified_on(self, source: &WordSet<'_>) -> Self {
        let Self::Map(map) = &self else {
            return self;
        };
        let unchanged = match source.words() {
            Some(words) => words.iter().all(|word| map.encode_word(word) == *word),
            None => source.word_language().is_fixed_by(map),
        };
        if unchanged {
            Self::Map(CharacterMap::IDENTITY)
        } else {
            self
        }
    }

    /// Whether different words always have different texts.
    pub(crate) fn is_injective(&self) -> bool {
        match self {
            Self::Map(map) => map.is_injective(),
            Self::Truncated { .. } => false,
            Self::Padded { .. } | Self::Plain | Self::Rank { .. } => true,
        }
    }

    /// The text of a word, unless the encoding has none for it.
    pub(crate) fn encode_word(&self, word: &str) -> Option<String> {
        match self {
            Self::Map(map) => Some(map.encode_word(word)),
            Self::Truncated { chars } => Some(word.chars().take(*chars).collect()),
            Self::Padded {
                integer_digits,
                fraction_digits,
                descending,
            } => {
                let text = pad(word.parse().ok()?, *integer_digits, *fraction_digits)?;
                Some(complement_if(*descending, text))
            }
            Self::Plain => Some(word.to_owned()),
            Self::Rank { members, descending } => {
                let rank = members.iter().position(|member| member == word)?;
                let width = rank_digits(members);
                Some(complement_if(*descending, format!("{rank:0width$}")))
            }
        }
    }

    /// Appends the text of a word, unless the encoding has none for it.
    pub(crate) fn encode_onto(&self, word: &str, text: &mut String) -> Option<()> {
        match self {
            Self::Map(map) => map.encode_onto(word, text),
            _ => text.push_str(&self.encode_word(word)?),
        }
        Some(())
    }

    /// The only word with this text, for an injective encoding.
    pub(crate) fn decode_word(&self, text: &str) -> Option<String> {
        match self {
            Self::Map(map) if map.is_injective() => map.decode_word(text),
            Self::Map(_) | Self::Truncated { .. } => None,
            Self::Padded { descending, .. } => {
                let number: Number = complement_if(*descending, text.to_owned()).parse().ok()?;
                // Back again to the same text: `007` is no key that is written here.
                Some(number.to_string()).filter(|word| self.encode_word(word).as_deref() == Some(text))
            }
            Self::Plain => Some(text.to_owned()),
            Self::Rank { members, descending } => {
                let rank: usize = complement_if(*descending, text.to_owned()).parse().ok()?;
                members
                    .get(rank)
                    .filter(|word| self.encode_word(word).as_deref() == Some(text))
                    .cloned()
            }
        }
    }

    /// The texts of the words of `source`.
    pub(crate) fn encoded_language(&self, source: &WordSet<'_>, effort: &Effort) -> KeyLanguage {
        if let Some(words) = source.words() {
            if !effort.take_steps(words.iter().map(|word| 1 + word.len()).sum()) {
                return KeyLanguage::of_words([]);
            }
            let texts = self.texts(&words);
            return KeyLanguage::of_words(texts.iter().map(String::as_str));
        }
        match self {
            Self::Map(map) => source.word_language().image_under(map, effort),
            Self::Truncated { chars } => KeyLanguage::new(
                source.word_language().automaton.truncated_texts(*chars, effort),
                ValueLengths::ANY,
            ),
            Self::Padded {
                integer_digits,
                fraction_digits,
                descending,
            } => {
                let range = source.number_range().unwrap_or_default();
                let padded = numerals::padded_numerals(&range, *integer_digits, *fraction_digits);
                let map = if *descending {
                    DESCENDING_DIGITS
                } else {
                    CharacterMap::IDENTITY
                };
                KeyLanguage::new(padded, ValueLengths::ANY).image_under(&map, effort)
            }
            Self::Plain | Self::Rank { .. } => source.word_language(),
        }
    }

    /// The texts of the words of `source`, or every text where those are too much to work out.
    pub(crate) fn language_or_any(&self, source: &WordSet<'_>) -> KeyLanguage {
        let effort = Effort::of_one_decision();
        let language = self.encoded_language(source, &effort);
        if effort.has_given_up() {
            KeyLanguage::any(ValueLengths::ANY)
        } else {
            language
        }
    }

    /// The texts of some words, those that have one.
    fn texts(&self, words: &[String]) -> Vec<String> {
        match self {
            // Looking each word up would go through the members once for every word.
            Self::Rank { members, descending } => {
                let wanted: HashSet<&str> = words.iter().map(String::as_str).collect();
                let width = rank_digits(members);
                let ranked = members
                    .iter()
                    .enumerate()
                    .filter(|(_, member)| wanted.contains(member.as_str()));
                ranked
                    .map(|(rank, _)| complement_if(*descending, format!("{rank:0width$}")))
                    .collect()
            }
            _ => words.iter().filter_map(|word| self.encode_word(word)).collect(),
        }
    }

    /// The length that every text has, in characters, if there is only one.
    pub(crate) fn fixed_chars(&self, domain: &Domain) -> Option<usize> {
        match self {
            Self::Map(map) if map.is_identity() || map.complement.is_some() => domain.fixed_chars(),
            Self::Map(_) | Self::Plain => None,
            Self::Truncated { chars } => Some(*chars),
            Self::Padded {
                integer_digits,
                fraction_digits,
                ..
            } => {
                let point = usize::from(*fraction_digits > 0);
                Some(usize::from(*integer_digits) + usize::from(*fraction_digits) + point)
            }
            Self::Rank { members, .. } => Some(rank_digits(members)),
        }
    }

    /// This encoding with every digit replaced by its complement.
    fn reversed(self, domain: &Domain) -> Self {
        let alphabet = match domain {
            Domain::Ulid => Alphabet::Crockford,
            Domain::Ksuid => Alphabet::Base62,
            Domain::Uuid => Alphabet::Hexadecimal,
            Domain::Geohash { .. } => Alphabet::Geohash,
            Domain::Text(_)
            | Domain::OneOf(_)
            | Domain::Date
            | Domain::Time
            | Domain::Month
            | Domain::Year
            | Domain::Number(_)
            | Domain::Bool
            | Domain::Binary { .. }
            | Domain::Either(_) => Alphabet::Digits,
        };
        match self {
            Self::Map(_) => Self::Map(CharacterMap::complemented(alphabet)),
            Self::Padded {
                integer_digits,
                fraction_digits,
                descending,
            } => Self::Padded {
                integer_digits,
                fraction_digits,
                descending: !descending,
            },
            Self::Rank { members, descending } => Self::Rank {
                members,
                descending: !descending,
            },
            other => other,
        }
    }
}

const DESCENDING_DIGITS: CharacterMap = CharacterMap {
    complement: Some(Alphabet::Digits),
    ..CharacterMap::IDENTITY
};

fn pad(number: Number, integer_digits: u8, fraction_digits: u8) -> Option<String> {
    let width = usize::from(integer_digits) + usize::from(fraction_digits);
    let digits = format!("{:0width$}", number.scaled_magnitude(fraction_digits)?);
    // Padded digits of a negative number would sort the wrong way round.
    if number.is_negative() || digits.len() > width {
        return None;
    }
    let (integer, fraction) = digits.split_at_checked(usize::from(integer_digits))?;
    Some(if fraction.is_empty() {
        integer.to_owned()
    } else {
        format!("{integer}.{fraction}")
    })
}

fn complement_if(descending: bool, text: String) -> String {
    if descending {
        DESCENDING_DIGITS.encode_word(&text)
    } else {
        text
    }
}

fn rank_digits(members: &[String]) -> usize {
    members.len().saturating_sub(1).to_string().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoding(form: Form, domain: &Domain) -> Encoding {
        Encoding::of(&form, domain, Delimiter::default())
    }

    #[test]
    fn numbers_are_padded_on_both_sides_of_the_point() {
        let domain = Domain::integer_range(Some(0), Some(99999));
        let padded = encoding(
            Form::Padded {
                integer_digits: 5,
                fraction_digits: 2,
            },
            &domain,
        );
        assert_eq!(padded.encode_word("12.5").unwrap(), "00012.50");
        assert_eq!(padded.decode_word("00012.50").unwrap(), "12.5");
        for word in ["-1", "100000", "0.001"] {
            assert_eq!(padded.encode_word(word), None, "{word}");
        }
        for text in ["12.5", "00012.5", "0012.50", "00012,50", "-0012.50"] {
            assert_eq!(padded.decode_word(text), None, "{text}");
        }
    }

    #[test]
    fn ranks_have_the_width_of_the_last() {
        let words: Vec<String> = (0..11).map(|number| format!("w{number}")).collect();
        let domain = Domain::OneOf(words);
        let rank = encoding(Form::rank_form(&domain).unwrap(), &domain);
        assert_eq!(rank.encode_word("w3").unwrap(), "03");
        assert_eq!(rank.decode_word("10").unwrap(), "w10");
        assert_eq!(
            (rank.decode_word("3"), rank.decode_word("11"), rank.encode_word("other")),
            (None, None, None)
        );
        let descending = encoding(Form::rank_form(&domain).unwrap().descending_form(), &domain);
        assert_eq!(descending.encode_word("w3").unwrap(), "96");
        assert_eq!(descending.decode_word("96").unwrap(), "w3");
    }

    #[test]
    fn descending_texts_are_complements_in_their_own_alphabet() {
        let cases = [
            (Domain::Date, "2026-02-13", "7973-97-86"),
            (
                Domain::Uuid,
                "019c1a2b-3c4d-7e5f-8a9b-0c1d2e3f4a5b",
                "fe63e5d4-c3b2-81a0-7564-f3e2d1c0b5a4",
            ),
            (Domain::Geohash { precision: 5 }, "u4pru", "5vb85"),
        ];
        for (domain, word, text) in cases {
            let encoding = encoding(Form::Fixed.descending_form(), &domain);
            assert_eq!(encoding.encode_word(word).unwrap(), text);
            assert_eq!(encoding.decode_word(text).unwrap(), word);
        }
    }

    #[test]
    fn an_encoding_that_changes_nothing_is_the_identity() {
        let identity = Encoding::Map(CharacterMap::IDENTITY);
        let simplified = |form, domain: &Domain| encoding(form, domain).simplified_on(&WordSet::Domain(domain));
        assert_eq!(
            simplified(Form::Escaped, &Domain::from_pattern("[a-z]+").unwrap()),
            identity
        );
        assert_eq!(
            simplified(Form::Lower, &Domain::from_pattern("[a-z]+").unwrap()),
            identity
        );
        assert_ne!(
            simplified(Form::Lower, &Domain::from_pattern("[A-z]+").unwrap()),
            identity
        );
        assert_ne!(simplified(Form::Escaped, &Domain::text(0, None)), identity);
        assert_eq!(simplified(Form::Escaped, &Domain::Date), identity);
    }
}
