//! Languages whose words are found in any form: `rents` by `rent`.
//!
//! Endings are taken off by the Snowball algorithm of the language. These are the work of others: where another version of them takes off
//! something else, [`crate::words::WORDS_VERSION`] must be another, so that indexes are made anew. The manifest names one version for that reason.

use std::fmt;

use frostem::{Algorithm, Stemmer};

/// The languages that a model may name, in the order of the reference.
pub(crate) const LANGUAGE_NAMES: &[&str] = &[
    "catalan",
    "czech",
    "danish",
    "dutch",
    "english",
    "finnish",
    "french",
    "german",
    "greek",
    "hungarian",
    "italian",
    "norwegian",
    "polish",
    "portuguese",
    "romanian",
    "russian",
    "spanish",
    "swedish",
    "turkish",
];

/// A language, of whose words the endings are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Language(Algorithm);

impl Language {
    /// The language of that name.
    pub fn language_named(name: &str) -> Option<Self> {
        // The algorithms go by other names, too, which a model does not know.
        let is_known = LANGUAGE_NAMES.contains(&name);
        is_known.then(|| Algorithm::from_name(name).ok().map(Language))?
    }

    /// A word in lower case without its endings.
    pub(crate) fn stem_of(self, word: &str) -> String {
        Stemmer::new(self.0).stem(word).into_owned()
    }
}

impl fmt::Display for Language {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0.name())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_language_that_can_be_named_is_there() {
        for name in LANGUAGE_NAMES {
            assert_eq!(Language::language_named(name).unwrap().to_string(), *name);
        }
        for other in ["en", "English", "porter", "klingon", ""] {
            assert_eq!(Language::language_named(other), None, "{other}");
        }
    }

    proptest! {
        /// Words of any letters, of a language or none, as texts that strangers send have them.
        #[test]
        fn no_word_is_too_strange(
            words in prop::collection::vec("[a-zà-žß'’ıа-яё\u{3b1}-\u{3ce}\u{301}\u{308}]{0,14}|\\PC{0,9}|[a-zé]{60,64}", 1..20)
        ) {
            for language in LANGUAGE_NAMES.iter().filter_map(|name| Language::language_named(name)) {
                for word in &words {
                    let stem = language.stem_of(word);
                    prop_assert!(stem.len() <= word.len() + 8, "{language} {word:?}: {stem:?}");
                }
            }
        }
    }
}
