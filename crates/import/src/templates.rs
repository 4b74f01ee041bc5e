//! Key templates, told from keys and the attributes beside them.

use std::collections::BTreeMap;

use singlet_item::Value;
use singlet_item::key::Delimiter;

/// The values of one name over all items of a kind; none where an item lacks it.
pub(crate) type Column<'a> = Vec<Option<&'a Value>>;

/// The columns of a kind.
pub(crate) type Columns<'a> = BTreeMap<String, Column<'a>>;

/// What share of the keys a part must be right for, in percent: a few damaged items hide no template.
const FITTING_PERCENT_MIN: usize = 90;
/// The longest label.
const LABEL_CHARACTERS_MAX: usize = 32;
/// The digits that a label may have, such as those of a version.
const LABEL_DIGITS_MAX: usize = 2;
/// What a prefix within a part ends with.
const PREFIX_ENDS: [char; 7] = ['_', '-', '.', ':', '=', '@', '/'];
/// Words that say nothing of a row.
pub(crate) const GENERIC: [&str; 15] = [
    "metadata", "meta", "profile", "info", "config", "settings", "details", "detail", "data", "latest", "summary",
    "header", "root", "item", "record",
];

/// How an attribute stands in a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartForm {
    Plain,
    /// A number with leading zeros, so many digits.
    Padded(usize),
    Raw,
    Lower,
    Upper,
    Day,
    Month,
    Year,
}

/// The forms in the order in which they are preferred.
const FORMS: [PartForm; 7] = [
    PartForm::Plain,
    PartForm::Lower,
    PartForm::Upper,
    PartForm::Day,
    PartForm::Month,
    PartForm::Year,
    PartForm::Raw,
];

/// One part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DraftPart {
    Text(String),
    Attribute(String, PartForm),
    /// What stands in the key alone, by item.
    Unknown(Vec<Option<String>>),
}

/// A kind's items, as far as templates are concerned.
pub(crate) struct KeySource<'c, 'a> {
    pub columns: &'c Columns<'a>,
    pub delimiter: Delimiter,
    /// Words that may be labels in any letter case: names of attributes, of the table, of the kind.
    pub words: &'c [String],
}

impl KeySource<'_, '_> {
    /// The template of a key attribute, from the texts that items have there.
    pub(crate) fn key_template(&self, keys: &[Option<&str>], allows_unknown: bool) -> Option<Vec<DraftPart>> {
        let delimiter = self.delimiter.character();
        let split = keys.iter().map(|key| key.map(|key| key.split(delimiter).collect()));
        let split: Vec<Option<Vec<&str>>> = split.collect();
        let counts = split.iter().flatten().map(Vec::len);
        let mut by_count: BTreeMap<usize, usize> = BTreeMap::new();
        counts.for_each(|count| *by_count.entry(count).or_default() += 1);
        let (usual, _) = by_count.iter().max_by_key(|(_, items)| **items)?;
        if by_count.len() > 1
            && let Some(parts) = self.with_raw_rest(keys, &split, *by_count.keys().next()?)
        {
            return Some(parts);
        }
        let mut parts = Vec::new();
        for at in 0..*usual {
            let tokens = split.iter().map(|tokens| {
                let tokens = tokens.as_ref().filter(|tokens| tokens.len() == *usual)?;
                tokens.get(at).copied()
            });
            let tokens: Vec<Option<&str>> = tokens.collect();
            if at > 0 {
                parts.push(DraftPart::Text(delimiter.to_string()));
            }
            parts.extend(self.token(&tokens, at, *usual, allows_unknown)?);
        }
        Some(joined(parts))
    }

    /// Parts of one width, and an attribute after them that holds delimiters as they are.
    fn with_raw_rest(
        &self,
        keys: &[Option<&str>],
        split: &[Option<Vec<&str>>],
        least: usize,
    ) -> Option<Vec<DraftPart>> {
        let delimiter = self.delimiter.character();
        for before in 0..least {
            let rests = keys.iter().map(|key| {
                let mut rest = (*key)?;
                for _ in 0..before {
                    rest = rest.split_once(delimiter)?.1;
                }
                Some(rest)
            });
            let rests: Vec<Option<&str>> = rests.collect();
            let Some((name, form)) = self.attribute(&rests, &[PartForm::Raw]) else {
                continue;
            };
            let mut parts = Vec::new();
            for at in 0..before {
                let tokens = split.iter().map(|tokens| tokens.as_ref()?.get(at).copied());
                parts.extend(self.token(&tokens.collect::<Vec<_>>(), at, least, false)?);
                parts.push(DraftPart::Text(delimiter.to_string()));
            }
            parts.push(DraftPart::Attribute(name, form));
            return Some(joined(parts));
        }
        None
    }

    fn token(&self, tokens: &[Option<&str>], at: usize, of: usize, allows_unknown: bool) -> Option<Vec<DraftPart>> {
        let same = usual_text(tokens);
        let is_first_label = |text: &&str| at == 0 && self.is_label(text, of == 1) || text.is_empty();
        if let Some(text) = same.filter(is_first_label) {
            return Some(vec![DraftPart::Text(text.to_owned())]);
        }
        if let Some((name, form)) = self.attribute(tokens, &FORMS) {
            return Some(vec![DraftPart::Attribute(name, form)]);
        }
        if let Some(text) = same.filter(|text| self.is_label(text, true)) {
            return Some(vec![DraftPart::Text(text.to_owned())]);
        }
        let prefix = common_prefix(tokens);
        let ends = prefix
            .char_indices()
            .rev()
            .filter(|(_, letter)| PREFIX_ENDS.contains(letter));
        let cuts: Vec<usize> = ends.map(|(end, letter)| end + letter.len_utf8()).collect();
        let cuts = cuts
            .into_iter()
            .filter(|cut| prefix.get(..*cut).is_some_and(|text| self.is_prefix(text)));
        let cuts: Vec<usize> = cuts.collect();
        let after = |cut: usize| {
            tokens
                .iter()
                .map(|token| token.and_then(|token| token.get(cut..)))
                .collect::<Vec<_>>()
        };
        for cut in &cuts {
            if let Some((name, form)) = self.attribute(&after(*cut), &FORMS) {
                let text = prefix.get(..*cut)?.to_owned();
                return Some(vec![DraftPart::Text(text), DraftPart::Attribute(name, form)]);
            }
        }
        if !allows_unknown {
            return None;
        }
        let cut = cuts.first().copied().unwrap_or(0);
        let values = after(cut).into_iter().map(|value| {
            let value = value?;
            Some(self.delimiter.unescaped_text(value).unwrap_or_else(|| value.to_owned()))
        });
        let text = DraftPart::Text(prefix.get(..cut)?.to_owned());
        Some(vec![text, DraftPart::Unknown(values.collect())])
    }

    /// The attribute, and its form, that most texts are.
    fn attribute(&self, texts: &[Option<&str>], forms: &[PartForm]) -> Option<(String, PartForm)> {
        let present = texts.iter().flatten().count();
        let width = texts.iter().flatten().map(|text| text.len()).max().unwrap_or(0);
        let padded = [PartForm::Padded(width)];
        let is_padded = width > 1 && texts.iter().flatten().all(|text| text.len() == width);
        let forms = padded.iter().filter(|_| is_padded).chain(forms);
        let mut best: Option<(usize, String, PartForm)> = None;
        for form in forms {
            for (name, column) in self.columns.iter().filter(|(name, _)| is_identifier(name)) {
                let fitting = self.fitting(texts, column, *form, present);
                if fitting > best.as_ref().map_or(0, |(most, ..)| *most) {
                    best = Some((fitting, name.clone(), *form));
                }
            }
        }
        let (_, name, form) = best?;
        Some((name, form))
    }

    /// How many texts an attribute is; none where they are too few.
    fn fitting(&self, texts: &[Option<&str>], column: &Column<'_>, form: PartForm, present: usize) -> usize {
        let missing_max = present - (present * FITTING_PERCENT_MIN).div_ceil(100);
        let mut missing = 0;
        for (text, value) in texts.iter().zip(column) {
            let Some(text) = text else { continue };
            let is_same = value.is_some_and(|value| self.is_text_of(text, value, form));
            missing += usize::from(!is_same);
            if missing > missing_max {
                return 0;
            }
        }
        present - missing
    }

    fn is_text_of(&self, text: &str, value: &Value, form: PartForm) -> bool {
        match (value, form) {
            (Value::S(own), PartForm::Plain) => self.is_escaped(text, own),
            (Value::S(own), PartForm::Raw) => text == own,
            (Value::S(own), PartForm::Lower) => self.is_escaped(text, &own.to_lowercase()),
            (Value::S(own), PartForm::Upper) => self.is_escaped(text, &own.to_uppercase()),
            (Value::S(own), PartForm::Day) => is_instant(own) && own.get(..10) == Some(text),
            (Value::S(own), PartForm::Month) => is_dated(own) && own.get(..7) == Some(text),
            (Value::S(own), PartForm::Year) => is_dated(own) && own.get(..4) == Some(text),
            (Value::N(own), PartForm::Plain) => text == own.to_string(),
            (Value::N(own), PartForm::Padded(width)) => {
                let whole = own.to_i64().filter(|whole| *whole >= 0);
                whole.is_some_and(|whole| format!("{whole:0width$}") == text)
            }
            (Value::Bool(own), PartForm::Plain) => text == own.to_string(),
            _ => false,
        }
    }

    fn is_escaped(&self, text: &str, own: &str) -> bool {
        !own.is_empty() && (text == own || text.len() > own.len()) && self.delimiter.escaped_text(own) == text
    }

    /// Whether a text is a word that labels keys, and no value of a row.
    fn is_label(&self, text: &str, stands_alone: bool) -> bool {
        let is_known = || {
            let plain = plain_word(text);
            self.words
                .iter()
                .any(|word| *word == plain || word.trim_end_matches("id") == plain)
        };
        is_upper_label(text)
            || is_generic(text)
            || !stands_alone && is_word_label(text) && is_known()
            || text.starts_with('$') && is_word_label(text)
    }

    /// Whether what begins a part is a label: its words are names.
    fn is_prefix(&self, text: &str) -> bool {
        let plain = plain_word(text);
        is_word_label(text)
            && (text.starts_with('$')
                || self.words.iter().any(|word| *word == plain || word.starts_with(&plain))
                || is_upper_label(text))
    }
}

/// Letters alone, in lower case.
pub(crate) fn plain_word(text: &str) -> String {
    let letters = text.chars().filter(char::is_ascii_alphabetic);
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

pub(crate) fn is_generic(text: &str) -> bool {
    GENERIC.contains(&plain_word(text).as_str()) && text.chars().all(|letter| letter.is_ascii_alphabetic())
}

/// A word in capitals, such as `TASK` or `V1`.
pub(crate) fn is_upper_label(text: &str) -> bool {
    is_word_label(text) && text.len() > 1 && !text.chars().any(|letter| letter.is_ascii_lowercase())
}

fn is_word_label(text: &str) -> bool {
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let is_plain = |letter: char| {
        letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '$' | '.' | ':' | '=' | '@' | '/')
    };
    text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '$' || letter == '_')
        && text.chars().all(is_plain)
        && text.chars().any(|letter| letter.is_ascii_alphabetic())
        && digits <= LABEL_DIGITS_MAX
        && text.len() <= LABEL_CHARACTERS_MAX
}

/// A name that a template can have.
pub(crate) fn is_identifier(name: &str) -> bool {
    name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

fn is_dated(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 10 && bytes.get(4) == Some(&b'-') && bytes.get(7) == Some(&b'-')
}

fn is_instant(text: &str) -> bool {
    is_dated(text) && text.as_bytes().get(10) == Some(&b'T')
}

/// The text that nearly all have.
fn usual_text<'t>(tokens: &[Option<&'t str>]) -> Option<&'t str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for token in tokens.iter().flatten() {
        *counts.entry(token).or_default() += 1;
    }
    let all: usize = counts.values().sum();
    let (text, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    (count * 100 >= all * FITTING_PERCENT_MIN).then_some(text)
}

fn common_prefix<'t>(tokens: &[Option<&'t str>]) -> &'t str {
    let mut all = tokens.iter().flatten();
    let Some(first) = all.next() else { return "" };
    let mut end = first.len();
    for token in all {
        let same = first.bytes().zip(token.bytes()).take_while(|(one, other)| one == other);
        end = end.min(same.count());
    }
    while !first.is_char_boundary(end) {
        end -= 1;
    }
    first.get(..end).unwrap_or_default()
}

/// With neighbouring texts as one.
fn joined(parts: Vec<DraftPart>) -> Vec<DraftPart> {
    let mut joined: Vec<DraftPart> = Vec::new();
    for part in parts {
        if let DraftPart::Text(text) = &part {
            if text.is_empty() {
                continue;
            }
            if let Some(DraftPart::Text(before)) = joined.last_mut() {
                before.push_str(text);
                continue;
            }
        }
        joined.push(part);
    }
    joined
}
