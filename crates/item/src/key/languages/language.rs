//! Sets of texts with limits on their length.

use super::automaton::{Automaton, State};
use crate::key::deciding::effort::Effort;
use crate::key::encoding::character_map::CharacterMap;
use std::sync::{Arc, LazyLock};

/// The texts of an automaton whose value has a length within limits. Lengths are counted beside the
/// automaton, not unrolled into it, so that a limit of a thousand costs no thousand states.
#[derive(Clone, Debug)]
pub(crate) struct KeyLanguage {
    pub(crate) automaton: Arc<Automaton>,
    pub(crate) length: ValueLengths,
}

/// Limits on the length of a value, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValueLengths {
    pub(crate) min: u32,
    pub(crate) max: Option<u32>,
}

/// A place in a language: a state, and how many characters of the value were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct LanguageCursor {
    pub(crate) state: State,
    pub(crate) count: u32,
}

static ANY: LazyLock<Arc<Automaton>> = LazyLock::new(|| Arc::new(Automaton::any()));

impl KeyLanguage {
    pub(crate) fn new(automaton: Automaton, length: ValueLengths) -> Self {
        Self {
            automaton: Arc::new(automaton),
            length,
        }
    }

    /// Every text of such a length.
    pub(crate) fn any(length: ValueLengths) -> Self {
        Self {
            automaton: Arc::clone(&ANY),
            length,
        }
    }

    /// These texts.
    pub(crate) fn of_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        Self::new(Automaton::of_words(words), ValueLengths::ANY)
    }

    pub(crate) fn image_under(&self, map: &CharacterMap, effort: &Effort) -> Self {
        if self.is_fixed_by(map) {
            return self.clone();
        }
        Self::new(self.automaton.image_under(map, effort), self.length)
    }

    /// Whether `map` leaves every text as it is.
    pub(crate) fn is_fixed_by(&self, map: &CharacterMap) -> bool {
        map.is_identity() || self.automaton.alphabet().meet(&map.moved_characters()).is_empty()
    }

    pub(crate) fn meet(&self, other: &Self, effort: &Effort) -> Self {
        let length = self.length.meet(other.length);
        let automaton = if Arc::ptr_eq(&self.automaton, &other.automaton) || Arc::ptr_eq(&other.automaton, &ANY) {
            Arc::clone(&self.automaton)
        } else if Arc::ptr_eq(&self.automaton, &ANY) {
            Arc::clone(&other.automaton)
        } else {
            Arc::new(self.automaton.meet_texts(&other.automaton, effort))
        };
        Self { automaton, length }
    }

    pub(crate) fn contains(&self, text: &str) -> bool {
        if Arc::ptr_eq(&self.automaton, &ANY) {
            return self.length.contains(text.chars().count());
        }
        let mut cursors = vec![LanguageCursor::START];
        let mut next = Vec::new();
        for character in text.chars() {
            self.advance_cursors(&cursors, character, &mut next);
            std::mem::swap(&mut cursors, &mut next);
        }
        cursors.iter().any(|cursor| self.may_end(*cursor))
    }

    /// Fills `next` with the places that `character` leads to.
    pub(crate) fn advance_cursors(&self, cursors: &[LanguageCursor], character: char, next: &mut Vec<LanguageCursor>) {
        next.clear();
        for cursor in cursors {
            for edge in &self.automaton.node(cursor.state).edges {
                if edge.class.contains(character) {
                    next.extend(self.follow_edge(*cursor, edge.target, edge.counted));
                }
            }
        }
        next.sort_unstable();
        next.dedup();
    }

    /// The place behind an edge, unless the value would become too long.
    pub(crate) fn follow_edge(&self, cursor: LanguageCursor, target: State, counted: bool) -> Option<LanguageCursor> {
        let count = if counted {
            self.length.tick(cursor.count)?
        } else {
            cursor.count
        };
        Some(LanguageCursor { state: target, count })
    }

    /// Whether a text may end here.
    pub(crate) fn may_end(&self, cursor: LanguageCursor) -> bool {
        self.automaton.node(cursor.state).accepting && cursor.count >= self.length.min
    }
}

impl LanguageCursor {
    pub(crate) const START: Self = Self { state: 0, count: 0 };
}

impl ValueLengths {
    pub(crate) const ANY: Self = Self { min: 0, max: None };

    pub(crate) fn contains(self, length: usize) -> bool {
        let bound = |limit: u32| usize::try_from(limit).unwrap_or(usize::MAX);
        length >= bound(self.min) && self.max.is_none_or(|max| length <= bound(max))
    }

    pub(crate) fn meet(self, other: Self) -> Self {
        let max = match (self.max, other.max) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        Self {
            min: self.min.max(other.min),
            max,
        }
    }

    /// The count after one more character, unless that is too many. Without an upper limit, counts
    /// past the lower one are all alike.
    fn tick(self, count: u32) -> Option<u32> {
        match self.max {
            Some(max) => Some(count + 1).filter(|count| *count <= max),
            None => Some(count.saturating_add(1).min(self.min)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::encoding::delimiter::Delimiter;

    #[test]
    fn lengths_count_characters_of_the_value_not_of_the_text() {
        let strings = KeyLanguage::any(ValueLengths { min: 1, max: Some(2) });
        let texts = strings.image_under(&CharacterMap::escaped(Delimiter::default()), &Effort::of_one_decision());
        assert!(strings.contains("éé") && !strings.contains("") && !strings.contains("aaa"));
        assert!(texts.contains("$23$24") && texts.contains("a") && !texts.contains("$23$24a"));
    }

    #[test]
    fn a_meet_narrows_texts_and_lengths() {
        let word = KeyLanguage::of_words(["a", "ab", "abc"]);
        let meet = KeyLanguage::any(ValueLengths { min: 2, max: Some(5) }).meet(&word, &Effort::of_one_decision());
        let accepted: Vec<&str> = ["a", "ab", "abc", "abcd"]
            .into_iter()
            .filter(|text| meet.contains(text))
            .collect();
        assert_eq!(accepted, ["ab", "abc"]);
    }
}
