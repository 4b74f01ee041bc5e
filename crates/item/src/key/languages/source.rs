//! The words that a variable may have while templates are compared: at first its domain, then what
//! other parts of the keys leave of it.

use super::class::Class;
use super::domain::Domain;
use super::language::{KeyLanguage, LanguageCursor};
use super::number_range::NumberRange;
use super::search::{self, SearchOutcome, Track};
use crate::key::deciding::effort::Effort;
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

/// A set of words.
#[derive(Clone, Debug)]
pub(crate) enum WordSet<'a> {
    Domain(&'a Domain),
    Words(Vec<String>),
    Numbers(NumberRange),
    Texts(KeyLanguage),
}

impl<'a> WordSet<'a> {
    pub(crate) fn contains(&self, word: &str) -> bool {
        match self {
            Self::Domain(domain) => domain.contains_word(word),
            Self::Words(words) => words.iter().any(|candidate| candidate == word),
            Self::Numbers(range) => word.parse().is_ok_and(|number| range.contains(number)),
            Self::Texts(language) => language.contains(word),
        }
    }

    /// What is in both.
    pub(crate) fn meet(&self, other: &Self, effort: &Effort) -> Self {
        match (self, other) {
            (Self::Domain(one), Self::Domain(two)) if one == two => self.clone(),
            (one, two) if one.is_listed() || two.is_listed() => one.common_words(two, effort),
            (one, two) => match (one.number_range(), two.number_range()) {
                (Some(one), Some(two)) => Self::Numbers(one.meet(&two)),
                _ => Self::Texts(one.word_language().meet(&two.word_language(), effort)),
            },
        }
    }

    /// The words, where they are a short list by nature.
    pub(crate) fn words(&self) -> Option<Vec<String>> {
        match self {
            Self::Words(words) | Self::Domain(Domain::OneOf(words)) => Some(words.clone()),
            Self::Domain(Domain::Bool) => Some(vec!["false".to_owned(), "true".to_owned()]),
            _ => None,
        }
    }

    /// The only word, where there is but one.
    pub(crate) fn only_word(&self) -> Option<&str> {
        match self {
            Self::Words(words) | Self::Domain(Domain::OneOf(words)) => match words.as_slice() {
                [word] => Some(word),
                _ => None,
            },
            _ => None,
        }
    }

    pub(crate) fn number_range(&self) -> Option<NumberRange> {
        match self {
            Self::Domain(Domain::Number(range)) | Self::Numbers(range) => Some(*range),
            _ => None,
        }
    }

    pub(crate) fn word_language(&self) -> KeyLanguage {
        match self {
            Self::Domain(domain) => domain.word_language(),
            Self::Words(words) => KeyLanguage::of_words(words.iter().map(String::as_str)),
            Self::Numbers(range) => Domain::Number(*range).word_language(),
            Self::Texts(language) => language.clone(),
        }
    }

    /// A word that reads well in an example, or failing that the shortest; none if there is none.
    pub(crate) fn sample_word(&self, effort: &Effort) -> SearchOutcome<String> {
        let nice = match self {
            Self::Domain(domain) => domain.sample_word(),
            Self::Words(words) => words.first().cloned(),
            Self::Numbers(range) => range.sample_number().map(|number| number.to_string()),
            Self::Texts(_) => None,
        };
        match nice.filter(|word| self.contains(word)) {
            Some(word) => SearchOutcome::Found(word),
            None => search::shortest_text(&[Track::new(vec![self.word_language()])], effort),
        }
    }

    /// Words, the shorter ones first, at most `limit`, and whether these are all. Of a class of many
    /// characters only those of `alphabet` are tried.
    pub(crate) fn enumerate_words(&self, limit: usize, alphabet: &Class, effort: &Effort) -> (Vec<String>, bool) {
        if let Some(words) = self.words() {
            let complete = words.len() <= limit;
            return (words.into_iter().take(limit).collect(), complete);
        }
        if let Some(range) = self.number_range() {
            let (numbers, complete) = range.lowest_numbers(limit);
            return (numbers.iter().map(ToString::to_string).collect(), complete);
        }
        enumerate_texts(&self.word_language(), limit, alphabet, effort)
    }

    fn common_words(&self, other: &Self, effort: &Effort) -> Self {
        let (listed, other) = match self.is_listed() {
            true => (self, other),
            false => (other, self),
        };
        let words = listed.words().unwrap_or_default();
        if !effort.take_steps(words.iter().map(|word| 1 + word.len()).sum()) {
            return Self::Words(Vec::new());
        }
        if let Some(others) = other.words() {
            let others: HashSet<String> = others.into_iter().collect();
            return Self::Words(words.into_iter().filter(|word| others.contains(word)).collect());
        }
        Self::Words(words.into_iter().filter(|word| other.contains(word)).collect())
    }

    /// Whether its words are a list by nature.
    pub(crate) fn is_listed(&self) -> bool {
        matches!(self, Self::Words(_) | Self::Domain(Domain::OneOf(_) | Domain::Bool))
    }

    /// How many words there are, where they are a list by nature.
    pub(crate) fn listed_count(&self) -> Option<usize> {
        match self {
            Self::Words(words) | Self::Domain(Domain::OneOf(words)) => Some(words.len()),
            Self::Domain(Domain::Bool) => Some(2),
            _ => None,
        }
    }
}

/// A class of so many characters is small enough to try each of them.
const SMALL_CLASS_CHARACTERS: usize = 64;
/// How many beginnings of words are looked at for every word wanted.
const BEGINNINGS_PER_WORD: usize = 16;

fn enumerate_texts(language: &KeyLanguage, limit: usize, alphabet: &Class, effort: &Effort) -> (Vec<String>, bool) {
    let mut words = Vec::new();
    let mut complete = true;
    let mut queue = VecDeque::from([(String::new(), BTreeSet::from([LanguageCursor::START]))]);
    let mut beginnings = 0;
    while let Some((word, cursors)) = queue.pop_front() {
        beginnings += 1;
        if words.len() == limit || beginnings > limit.saturating_mul(BEGINNINGS_PER_WORD) {
            return (words, false);
        }
        if cursors.iter().any(|cursor| language.may_end(*cursor)) {
            words.push(word.clone());
        }
        let mut next: BTreeMap<char, BTreeSet<LanguageCursor>> = BTreeMap::new();
        for cursor in cursors {
            for edge in &language.automaton.node(cursor.state).edges {
                let Some(target) = language.follow_edge(cursor, edge.target, edge.counted) else {
                    continue;
                };
                if !effort.take_steps(edge.class.meeting_steps()) {
                    return (words, false);
                }
                let small = edge.class.size() <= SMALL_CLASS_CHARACTERS;
                complete &= small;
                let tried = if small {
                    edge.class.clone()
                } else {
                    edge.class.meet(alphabet)
                };
                for character in tried.characters() {
                    next.entry(character).or_default().insert(target);
                }
            }
        }
        queue.extend(
            next.into_iter()
                .map(|(character, cursors)| (format!("{word}{character}"), cursors)),
        );
    }
    (words, complete)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(domain: &Domain, limit: usize) -> (String, bool) {
        let (words, complete) =
            WordSet::Domain(domain).enumerate_words(limit, &"ab".chars().collect(), &Effort::of_one_decision());
        (words.join(" "), complete)
    }

    #[test]
    fn finite_sets_are_listed_whole() {
        assert_eq!(
            words(&Domain::from_pattern("[ab]{1,2}").unwrap(), 10),
            ("a b aa ab ba bb".to_owned(), true)
        );
        assert_eq!(words(&Domain::Bool, 10), ("false true".to_owned(), true));
        assert_eq!(
            words(&Domain::integer_range(Some(8), Some(11)), 10),
            ("8 9 10 11".to_owned(), true)
        );
    }

    #[test]
    fn what_is_cut_is_told() {
        assert_eq!(words(&Domain::text(1, Some(1)), 10), ("a b".to_owned(), false));
        assert!(!words(&Domain::from_pattern("a*").unwrap(), 5).1);
    }

    #[test]
    fn a_meet_keeps_what_both_have() {
        let (status, pattern) = (
            Domain::one_of(["open", "done", "x"]),
            Domain::from_pattern("[a-z]{2,}").unwrap(),
        );
        let effort = Effort::of_one_decision();
        let meet = WordSet::Domain(&status).meet(&WordSet::Domain(&pattern), &effort);
        assert_eq!(meet.words().unwrap(), ["open", "done"]);
        let (long, short) = (Domain::text(3, None), Domain::from_pattern("[b-d]{1,3}").unwrap());
        let meet = WordSet::Domain(&long).meet(&WordSet::Domain(&short), &effort);
        assert_eq!(meet.sample_word(&effort), SearchOutcome::Found("bbb".to_owned()));
        let meet = WordSet::Domain(&Domain::Date).meet(&WordSet::Domain(&Domain::Time), &effort);
        assert_eq!(meet.sample_word(&effort), SearchOutcome::Never);
    }
}
