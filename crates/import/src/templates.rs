//! Key templates, told from keys and the attributes beside them.

use std::collections::BTreeMap;

use singlet_item::Value;
use singlet_item::key::Delimiter;

use crate::attributes::enum_members;
use crate::part_forms::{FORMS, PartForm, RAW_FORMS};

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

/// One part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DraftPart {
    Text(String),
    Attribute(String, PartForm),
    /// An attribute by the place of its values among these members.
    Ranked(String, Vec<String>),
    /// What stands in the key alone, by item, and how.
    Unknown(Vec<Option<String>>, PartForm),
}

impl DraftPart {
    /// The attribute that it is made of.
    pub(crate) fn attribute(&self) -> Option<&String> {
        match self {
            Self::Attribute(name, _) | Self::Ranked(name, _) => Some(name),
            Self::Text(_) | Self::Unknown(..) => None,
        }
    }
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
        if by_count.len() > 1 {
            let all: usize = by_count.values().sum();
            // A few keys of another width are damaged, or another's: what the others show of themselves counts more.
            let is_mixed = by_count.values().all(|count| count * 100 < all * FITTING_PERCENT_MIN);
            let least = *by_count.keys().next()?;
            if let Some(parts) = self.with_raw_rest(keys, &split, least, allows_unknown && is_mixed) {
                return Some(parts);
            }
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
        let is_known = parts.iter().all(|part| !matches!(part, DraftPart::Unknown(..)));
        // What seems to be several parts may be one that holds delimiters.
        let raw = || self.with_raw_rest(keys, &split, *usual, false);
        Some((!is_known).then(raw).flatten().unwrap_or_else(|| joined(parts)))
    }

    /// Parts of one width, and after them one that holds delimiters as they are: an attribute, or else what stands in the key alone.
    fn with_raw_rest(
        &self,
        keys: &[Option<&str>],
        split: &[Option<Vec<&str>>],
        least: usize,
        allows_unknown: bool,
    ) -> Option<Vec<DraftPart>> {
        let attribute = (0..least).find_map(|before| self.raw_rest(keys, split, before, false));
        // What stands in the key alone has a label before it, or nothing tells it from another's.
        let unknown = || (1..least).find_map(|before| self.raw_rest(keys, split, before, true));
        attribute.or_else(|| allows_unknown.then(unknown)?)
    }

    fn raw_rest(
        &self,
        keys: &[Option<&str>],
        split: &[Option<Vec<&str>>],
        before: usize,
        is_unknown: bool,
    ) -> Option<Vec<DraftPart>> {
        let delimiter = self.delimiter.character();
        let rests = keys.iter().map(|key| {
            let mut rest = (*key)?;
            for _ in 0..before {
                rest = rest.split_once(delimiter)?.1;
            }
            Some(rest)
        });
        let rests: Vec<Option<&str>> = rests.collect();
        let last = match is_unknown {
            true => vec![DraftPart::Unknown(owned(&rests), PartForm::Raw)],
            false => self.after_prefix(&rests, &RAW_FORMS)?,
        };
        let mut parts = Vec::new();
        for at in 0..before {
            let tokens = split.iter().map(|tokens| tokens.as_ref()?.get(at).copied());
            parts.extend(self.token(&tokens.collect::<Vec<_>>(), at, before + 1, false)?);
            parts.push(DraftPart::Text(delimiter.to_string()));
        }
        parts.extend(last);
        Some(joined(parts))
    }

    /// An attribute, or one with a label before it in the same part.
    fn after_prefix(&self, texts: &[Option<&str>], forms: &[PartForm]) -> Option<Vec<DraftPart>> {
        if let Some((name, form)) = self.attribute(texts, forms) {
            return Some(vec![DraftPart::Attribute(name, form)]);
        }
        let prefix = common_prefix(texts);
        self.cuts(prefix).into_iter().find_map(|cut| {
            let (name, form) = self.attribute(&after(texts, cut), forms)?;
            let text = prefix.get(..cut)?.to_owned();
            Some(vec![DraftPart::Text(text), DraftPart::Attribute(name, form)])
        })
    }

    /// Where a label within a part may end, the longest first.
    fn cuts(&self, prefix: &str) -> Vec<usize> {
        let ends = prefix
            .char_indices()
            .rev()
            .filter(|(_, letter)| PREFIX_ENDS.contains(letter));
        let cuts = ends.map(|(end, letter)| end + letter.len_utf8());
        cuts.filter(|cut| prefix.get(..*cut).is_some_and(|text| self.is_prefix(text)))
            .collect()
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
        if let Some(parts) = self.after_prefix(tokens, &FORMS) {
            return Some(parts);
        }
        if let Some(part) = self.ranked(tokens) {
            return Some(vec![part]);
        }
        if !allows_unknown {
            return None;
        }
        let prefix = common_prefix(tokens);
        let cut = self.cuts(prefix).first().copied().unwrap_or(0);
        let values = owned(&after(tokens, cut));
        let unescaped = values.iter().map(|value| {
            let value = value.as_ref()?;
            Some(self.delimiter.unescaped_text(value))
        });
        let unescaped: Vec<Option<Option<String>>> = unescaped.collect();
        // Whoever wrote what is no escape escapes nothing.
        let is_raw = unescaped.contains(&Some(None));
        let unknown = match is_raw {
            true => DraftPart::Unknown(values, PartForm::Raw),
            false => DraftPart::Unknown(unescaped.into_iter().map(Option::flatten).collect(), PartForm::Plain),
        };
        Some(vec![DraftPart::Text(prefix.get(..cut)?.to_owned()), unknown])
    }

    /// An attribute of few words, each of which always has the same number here, from 0 without a gap.
    fn ranked(&self, tokens: &[Option<&str>]) -> Option<DraftPart> {
        let columns = self.columns.iter().filter(|(name, _)| is_identifier(name));
        let mut found = columns.filter_map(|(name, column)| Some((name, ranks(tokens, name, column)?)));
        let (name, members) = found.next()?;
        // Of two that both could be it, none is proven.
        found.next().is_none().then(|| DraftPart::Ranked(name.clone(), members))
    }

    /// The attribute, and its form, that most texts are.
    fn attribute(&self, texts: &[Option<&str>], forms: &[PartForm]) -> Option<(String, PartForm)> {
        let present = texts.iter().flatten().count();
        let width = texts.iter().flatten().map(|text| text.len()).max().unwrap_or(0);
        let padded = [PartForm::Padded(width), PartForm::PaddedDesc(width)];
        let is_digits = |text: &&str| text.len() == width && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_padded = width > 1 && texts.iter().flatten().all(is_digits);
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
            let is_same = value.is_some_and(|value| form.is_text_of(text, value, self.delimiter));
            missing += usize::from(!is_same);
            if missing > missing_max {
                return 0;
            }
        }
        present - missing
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

/// What follows after so many bytes.
fn after<'t>(texts: &[Option<&'t str>], cut: usize) -> Vec<Option<&'t str>> {
    texts.iter().map(|text| text.and_then(|text| text.get(cut..))).collect()
}

fn owned(texts: &[Option<&str>]) -> Vec<Option<String>> {
    texts.iter().map(|text| text.map(str::to_owned)).collect()
}

/// The members of an attribute by the numbers that they have in keys.
fn ranks(tokens: &[Option<&str>], name: &str, column: &Column<'_>) -> Option<Vec<String>> {
    let mut words: BTreeMap<usize, &str> = BTreeMap::new();
    let mut values = Vec::new();
    for (token, value) in tokens.iter().zip(column) {
        values.extend(value);
        let Some(token) = token else { continue };
        let word = value.as_ref()?.as_str()?;
        let number: usize = token.parse().ok()?;
        if *words.entry(number).or_insert(word) != word {
            return None;
        }
    }
    let members: Vec<String> = words.values().map(|word| (*word).to_owned()).collect();
    let is_gapless = words.keys().copied().eq(0..members.len());
    let mut known = enum_members(name, &values)?;
    known.sort();
    let mut sorted = members.clone();
    sorted.sort();
    (is_gapless && known == sorted).then_some(members)
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
