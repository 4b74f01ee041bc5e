//! The words of a text, as `matching` finds them.
//!
//! **Invariant: one meaning of a word.** The index that answers a search, the look at the row as it is, what is marked in an answer and
//! whoever checks a search by going through all rows take words from here. Where this changes what any text comes to, [`WORDS_VERSION`]
//! is another, and indexes are made anew.
//!
//! A word is a run of letters, digits and the marks that stand on them. It is compared without letter case and without accents: `Żółw` is
//! `zolw`. In scripts that put no space between words each character is one.
//!
//! Where a language is named, a word is also found by its other forms. Its endings are taken off twice: as it is written, because they may have accents
//! themselves, and without accents, because others leave them out. Two words are one where any of these are the same.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use singlet_item::Value;

use crate::word_forms::Language;

/// Another number, other words.
pub const WORDS_VERSION: u32 = 1;

/// What of a word counts; what comes after is cut, in texts and in what is searched for.
pub(crate) const WORD_CHARS_MAX: usize = 64;

/// The most words that are searched for at once.
pub const QUERY_WORDS_MAX: usize = 32;

/// A word, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextWord {
    /// As it is compared.
    pub text: String,
    /// What it is without its endings; nothing where no language is named.
    pub forms: Vec<String>,
    /// Where it begins, in bytes.
    pub start: usize,
    /// Where it ends, in bytes.
    pub end: usize,
}

/// The words of a text, in their order, with their forms where a language is named.
pub fn words_of(text: &str, language: Option<Language>) -> Vec<TextWord> {
    let mut words = Vec::new();
    let mut begun: Option<usize> = None;
    let mut alone = false;
    let mut take = |start: usize, end: usize| {
        let written = text.get(start..end).unwrap_or_default();
        let folded = folded_word(written);
        if !folded.is_empty() {
            words.push(TextWord {
                forms: language.map_or_else(Vec::new, |language| forms_of(written, &folded, language)),
                text: folded,
                start,
                end,
            });
        }
    };
    for (at, c) in text.char_indices() {
        let is_part = is_combining_mark(c) && begun.is_some();
        if is_part {
            continue;
        }
        let is_letter = c.is_alphanumeric();
        let stands_alone = is_letter && stands_alone(c);
        if let Some(start) = begun.filter(|_| !is_letter || stands_alone || alone) {
            take(start, at);
            begun = None;
        }
        if is_letter && begun.is_none() {
            begun = Some(at);
            alone = stands_alone;
        }
    }
    if let Some(start) = begun {
        take(start, text.len());
    }
    words
}

/// Whether a character is a word by itself: of a script without spaces between words.
fn stands_alone(c: char) -> bool {
    matches!(u32::from(c),
        0x0E00..=0x0EFF            // Thai, Lao
        | 0x1000..=0x109F          // Myanmar
        | 0x1780..=0x17FF          // Khmer
        | 0x3040..=0x30FF          // Hiragana, Katakana
        | 0x31F0..=0x31FF
        | 0x3400..=0x4DBF          // Han
        | 0x4E00..=0x9FFF
        | 0xF900..=0xFAFF
        | 0xFF66..=0xFF9D
        | 0x20000..=0x3FFFF)
}

/// A word as it is compared: taken apart, in lower case, without accents, and not longer than counts.
fn folded_word(word: &str) -> String {
    let mut folded = String::with_capacity(word.len());
    let mut chars = 0;
    // Lower case may come apart again: `İ` is `i` and a dot.
    for c in word.nfkd().flat_map(char::to_lowercase).nfkd() {
        if is_accent(c) || !(c.is_alphanumeric() || is_combining_mark(c)) {
            continue;
        }
        match plain_letters(c) {
            Some(plain) => folded.push_str(plain),
            None => folded.push(c),
        }
        chars += 1;
        if chars >= WORD_CHARS_MAX {
            break;
        }
    }
    folded
}

/// What a word is without its endings: at least one text.
fn forms_of(written: &str, folded: &str, language: Language) -> Vec<String> {
    let lower = written.nfkc().flat_map(char::to_lowercase).nfc();
    let lower: String = lower.take(WORD_CHARS_MAX).collect();
    let as_written = folded_word(&language.stem_of(&lower));
    let without_accents = folded_word(&language.stem_of(folded));
    let mut forms: Vec<String> = Vec::new();
    for form in [as_written, without_accents] {
        if !form.is_empty() && !forms.contains(&form) {
            forms.push(form);
        }
    }
    if forms.is_empty() {
        forms.push(folded.to_owned());
    }
    forms
}

/// A mark that makes another letter of none: in Indic scripts and in kana marks are as good as letters, and stay.
fn is_accent(c: char) -> bool {
    matches!(u32::from(c), 0x0300..=0x036F | 0x1AB0..=0x1AFF | 0x1DC0..=0x1DFF | 0x20D0..=0x20FF | 0xFE20..=0xFE2F)
}

/// Letters that have no accent to take off, and that are typed without what tells them apart.
fn plain_letters(c: char) -> Option<&'static str> {
    Some(match c {
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'ø' => "o",
        'ł' => "l",
        'đ' | 'ð' => "d",
        'þ' => "th",
        'ħ' => "h",
        'ı' => "i",
        'ŧ' => "t",
        'ς' => "σ",
        _ => return None,
    })
}

/// A word that is searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedWord {
    /// As it is compared.
    pub text: String,
    /// Its forms; nothing where no language is named.
    pub forms: Vec<String>,
}

impl WantedWord {
    fn is_found_in(&self, word: &TextWord) -> bool {
        match self.forms.is_empty() {
            true => self.text == word.text,
            false => self.forms.iter().any(|form| word.forms.contains(form)),
        }
    }

    fn is_begun_in(&self, word: &TextWord) -> bool {
        word.text.starts_with(&self.text) || self.is_found_in(word)
    }
}

/// What is searched for: all of the words, in any order; the last one may be the beginning of one, while it is typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordQuery {
    /// Words, each once.
    pub words: Vec<WantedWord>,
    /// What a word must begin with, or be a form of.
    pub prefix: Option<WantedWord>,
    language: Option<Language>,
}

/// More words than are searched for at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyWords;

impl WordQuery {
    /// What a text searches for. Where anything comes after the last word, even a space, that word is whole.
    ///
    /// # Errors
    ///
    /// Where it has more than [`QUERY_WORDS_MAX`] words.
    pub fn parse(text: &str, language: Option<Language>) -> Result<Self, TooManyWords> {
        let mut found = words_of(text, language);
        if found.len() > QUERY_WORDS_MAX {
            return Err(TooManyWords);
        }
        let wanted = |word: TextWord| WantedWord {
            text: word.text,
            forms: word.forms,
        };
        let is_typed = found.last().is_some_and(|last| last.end == text.len());
        let prefix = if is_typed { found.pop().map(wanted) } else { None };
        let mut query = WordQuery {
            words: Vec::new(),
            prefix,
            language,
        };
        for word in found.into_iter().map(wanted) {
            let is_same = |known: &WantedWord| match word.forms.is_empty() {
                true => known.text == word.text,
                false => known.forms == word.forms,
            };
            if !query.words.iter().any(is_same) {
                query.words.push(word);
            }
        }
        Ok(query)
    }

    /// Whether nothing is searched for, and so nothing found.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.prefix.is_none()
    }

    /// Whether a word is one of those that are searched for.
    fn is_hit(&self, word: &TextWord) -> bool {
        self.words.iter().any(|wanted| wanted.is_found_in(word))
            || self.prefix.as_ref().is_some_and(|prefix| prefix.is_begun_in(word))
    }

    /// Whether texts together have all that is searched for.
    pub fn matches_texts<'t>(&self, texts: impl IntoIterator<Item = &'t str>) -> bool {
        if self.is_empty() {
            return false;
        }
        let all = texts.into_iter().flat_map(|text| words_of(text, self.language));
        let all: Vec<TextWord> = all.collect();
        let has = |wanted: &WantedWord| all.iter().any(|word| wanted.is_found_in(word));
        let begins = |prefix: &WantedWord| all.iter().any(|word| prefix.is_begun_in(word));
        self.words.iter().all(has) && self.prefix.iter().all(begins)
    }

    /// A text taken apart where words were found: pieces in turn not found and found, the first not, so that every second one is marked.
    /// Together they are the text.
    pub fn text_pieces<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let mut pieces = Vec::new();
        let mut at = 0;
        for word in words_of(text, self.language) {
            if self.is_hit(&word) {
                pieces.push(text.get(at..word.start).unwrap_or_default());
                pieces.push(text.get(word.start..word.end).unwrap_or_default());
                at = word.end;
            }
        }
        pieces.push(text.get(at..).unwrap_or_default());
        pieces
    }
}

/// The texts of a value: text itself, and text in lists and sets.
pub fn texts_of(value: &Value) -> Vec<&str> {
    match value {
        Value::S(text) => vec![text],
        Value::Ss(texts) => texts.iter().map(String::as_str).collect(),
        Value::L(values) => values.iter().flat_map(texts_of).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        words_of(text, None).into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn words_are_without_case_and_accents() {
        assert_eq!(words("Żółw, JĘZYK; straße Ærø"), ["zolw", "jezyk", "strasse", "aero"]);
        assert_eq!(words("e\u{301}te\u{301}"), ["ete"]);
        assert_eq!(words("İstanbul ΣΊΣΥΦΟΣ σίσυφος"), ["istanbul", "σισυφοσ", "σισυφοσ"]);
        assert_eq!(words("ﬁne ２４"), ["fine", "24"]);
        assert_eq!(words("don't e-mail_it"), ["don", "t", "e", "mail", "it"]);
    }

    #[test]
    fn scripts_without_spaces_are_read_by_character() {
        assert_eq!(words("買牛乳 today"), ["買", "牛", "乳", "today"]);
        assert_eq!(words("a買b"), ["a", "買", "b"]);
        // A mark of kana is no accent, and belongs to its character.
        assert_eq!(words("がか").len(), 2);
        assert_ne!(words("が"), words("か"));
    }

    #[test]
    fn what_has_no_letters_has_no_words() {
        for text in ["", " ", "…!?", "\u{301}", "🙂🙂"] {
            assert!(words(text).is_empty(), "{text:?}");
            assert!(WordQuery::parse(text, None).unwrap().is_empty());
            assert!(!WordQuery::parse(text, None).unwrap().matches_texts(["anything", text]));
        }
    }

    #[test]
    fn long_words_count_by_their_beginning() {
        let long = "x".repeat(WORD_CHARS_MAX + 9);
        assert_eq!(words(&long), ["x".repeat(WORD_CHARS_MAX)]);
        let other = format!("{}y ", "x".repeat(WORD_CHARS_MAX));
        assert!(WordQuery::parse(&other, None).unwrap().matches_texts([long.as_str()]));
    }

    #[test]
    fn all_words_in_any_order_and_the_last_while_typed() {
        let found = |query: &str, texts: &[&str]| {
            WordQuery::parse(query, None)
                .unwrap()
                .matches_texts(texts.iter().copied())
        };
        assert!(found("MILK bu", &["Buy bread", "and milk"]));
        assert!(!found("milk bu ", &["Buy bread", "and milk"]));
        assert!(found("milk buy ", &["Buy bread", "and milk"]));
        assert!(!found("mil bread", &["Buy bread", "and milk"]));
        assert_eq!(WordQuery::parse(&"a ".repeat(33), None), Err(TooManyWords));
        assert!(WordQuery::parse(&"a ".repeat(32), None).is_ok());
    }

    #[test]
    fn pieces_are_the_text() {
        let query = WordQuery::parse("zolw mil", None).unwrap();
        assert_eq!(
            query.text_pieces("<b>Żółw</b> & milk"),
            ["<b>", "Żółw", "</b> & ", "milk", ""]
        );
        assert_eq!(query.text_pieces(""), [""]);
        assert_eq!(query.text_pieces("none"), ["none"]);
    }

    #[test]
    fn a_word_is_found_in_any_form_where_a_language_is_named() {
        let is_found = |language: &str, query: &str, text: &str| {
            let language = Language::language_named(language);
            WordQuery::parse(query, language).unwrap().matches_texts([text])
        };
        for query in ["rents ", "renting", "Rented ", "rent", "re"] {
            assert!(is_found("english", query, "Pay the rent"), "{query}");
            assert!(is_found("english", query, "He rents a boat"), "{query}");
        }
        assert!(!is_found("", "rents ", "Pay the rent"));
        assert!(!is_found("english", "re ", "Pay the rent"));
        assert!(!is_found("english", "parents ", "Pay the rent"));
        // Accents make no difference to forms either, on either side.
        for query in ["Häuser ", "hauser ", "HAUS", "häus "] {
            assert!(is_found("german", query, "ein altes Haus"), "{query}");
            assert!(is_found("german", query, "alte Häuser"), "{query}");
            assert!(is_found("german", query, "alte Hauser"), "{query}");
        }
        for (query, text) in [
            ("mangée ", "manger"),
            ("nations ", "la nation"),
            ("élève ", "des eleves"),
        ] {
            assert!(is_found("french", query, text), "{query} {text}");
        }
        assert!(is_found("polish", "rowerem ", "Rowery"));
        assert!(is_found("russian", "книгами ", "Новая книга"));
    }

    #[test]
    fn forms_are_marked_as_words_are() {
        let query = WordQuery::parse("painting houses ", Language::language_named("english")).unwrap();
        let pieces = query.text_pieces("Paint the HOUSE, paintings too");
        assert_eq!(pieces, ["", "Paint", " the ", "HOUSE", ", ", "paintings", " too"]);
        assert_eq!(
            WordQuery::parse("rent rents renting ", Language::language_named("english"))
                .unwrap()
                .words
                .len(),
            1
        );
    }
}
