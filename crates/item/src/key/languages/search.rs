//! The shortest text that several chains of languages have in common.

use super::class::Class;
use super::language::{KeyLanguage, LanguageCursor};
use crate::key::deciding::effort::Effort;
use crate::key::encoding::character_map::CharacterMap;
use crate::key::encoding::resolved_form::Encoding;
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

/// The answer to a question that a bounded search may have to leave open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SearchOutcome<T> {
    Found(T),
    /// There is none: everything was searched.
    Never,
    /// The bound of the search was reached first.
    Undecided,
}

/// A chain of languages, one after another, that the common text must match, or that what a function
/// makes of the common text must match.
#[derive(Clone, Debug)]
pub(crate) struct Track {
    chain: Vec<KeyLanguage>,
    map: CharacterMap,
    /// Only so many characters of the text concern the chain.
    chars: Option<usize>,
}

/// The shortest text that every track accepts.
pub(crate) fn shortest_text(tracks: &[Track], effort: &Effort) -> SearchOutcome<String> {
    ProductSearch::new(tracks, false, effort).run()
}

/// The shortest text that two chains of the same languages accept in two different ways: some
/// character belongs to one link of the first and to another link of the second.
pub(crate) fn shortest_divergent(tracks: &[Track; 2], effort: &Effort) -> SearchOutcome<String> {
    ProductSearch::new(tracks, true, effort).run()
}

/// How many states of the product a search visits before it gives up.
const SEARCH_STATES_MAX: usize = 60_000;

impl Track {
    pub(crate) fn new(chain: Vec<KeyLanguage>) -> Self {
        Self {
            chain,
            map: CharacterMap::IDENTITY,
            chars: None,
        }
    }

    /// A track of what an encoding by character makes of the common text. Other encodings leave it
    /// as it is.
    pub(crate) fn encoded_track(chain: Vec<KeyLanguage>, encoding: &Encoding) -> Self {
        let (map, chars) = match encoding {
            Encoding::Map(map) => (*map, None),
            Encoding::Truncated { chars } => (CharacterMap::IDENTITY, Some(*chars)),
            Encoding::Padded { .. } | Encoding::Plain | Encoding::Rank { .. } => (CharacterMap::IDENTITY, None),
        };
        Self { chain, map, chars }
    }

    fn language(&self, place: ChainPlace) -> Option<&KeyLanguage> {
        self.chain.get(place.link)
    }

    fn may_end(&self, place: ChainPlace) -> bool {
        self.reached(place).any(|place| place.link >= self.chain.len())
    }

    /// The place itself and the starts of later links, as far as the links between may end where
    /// they stand. Past the last link stands the end of the chain.
    fn reached(&self, place: ChainPlace) -> impl Iterator<Item = ChainPlace> + '_ {
        std::iter::successors(Some(place), move |place| {
            let ends = self.language(*place)?.may_end(place.cursor);
            ends.then_some(ChainPlace {
                link: place.link + 1,
                cursor: LanguageCursor::START,
                ..*place
            })
        })
    }

    /// The moves of the chain on its own text.
    fn steps(&self, place: ChainPlace) -> impl Iterator<Item = (&Class, ChainPlace)> {
        self.reached(place)
            .filter_map(|place| Some((place, self.language(place)?)))
            .flat_map(|(place, language)| {
                let edges = language.automaton.node(place.cursor.state).edges.iter();
                edges.filter_map(move |edge| {
                    let cursor = language.follow_edge(place.cursor, edge.target, edge.counted)?;
                    Some((&edge.class, ChainPlace { cursor, ..place }))
                })
            })
    }

    /// The moves of the chain on the common text.
    fn moves(&self, place: ChainPlace) -> Moves<'_> {
        if self.chars.is_some_and(|chars| place.read >= chars) {
            return vec![(Cow::Owned(Class::any()), place)];
        }
        let read = place.read + usize::from(self.chars.is_some());
        let steps = self
            .steps(place)
            .map(|(class, place)| (class, ChainPlace { read, ..place }));
        if self.map.is_identity() {
            return steps.map(|(class, place)| (Cow::Borrowed(class), place)).collect();
        }
        let moved = self.map.moved_characters();
        let mut moves: Vec<_> = steps
            .map(|(class, place)| (Cow::Owned(class.without(&moved)), place))
            .collect();
        for character in moved.characters() {
            let text = self.map.encode_word(character.encode_utf8(&mut [0; 4]));
            let places = text
                .chars()
                .fold(vec![place], |places, character| self.advance(&places, character));
            moves.extend(
                places
                    .into_iter()
                    .map(|place| (Cow::Owned(Class::single(character)), place)),
            );
        }
        moves
    }

    fn advance(&self, places: &[ChainPlace], character: char) -> Vec<ChainPlace> {
        let steps = places.iter().flat_map(|place| self.steps(*place));
        steps
            .filter(|(class, _)| class.contains(character))
            .map(|(_, place)| place)
            .collect()
    }

    /// The least count at which the current link may end.
    fn count_min(&self, place: ChainPlace) -> u32 {
        self.language(place).map_or(0, |language| language.length.min)
    }
}

/// Where each move of a chain leads, and the characters that it takes.
type Moves<'a> = Vec<(Cow<'a, Class>, ChainPlace)>;

/// A place in a chain: which link, and where in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ChainPlace {
    link: usize,
    cursor: LanguageCursor,
    /// How many characters of the common text were read, where that matters.
    read: usize,
}

impl ChainPlace {
    const START: Self = Self {
        link: 0,
        cursor: LanguageCursor::START,
        read: 0,
    };

    /// The place without its count.
    fn shape(self) -> Self {
        Self {
            cursor: LanguageCursor {
                count: 0,
                ..self.cursor
            },
            ..self
        }
    }
}

/// A state of the product of all tracks, and how it was reached.
struct ProductVisit {
    places: Vec<ChainPlace>,
    diverged: bool,
    from: Option<(usize, char)>,
}

/// A breadth-first search of the product, so that the first text found is a shortest one.
struct ProductSearch<'a> {
    tracks: &'a [Track],
    divergent: bool,
    effort: &'a Effort,
    visits: Vec<ProductVisit>,
    queue: VecDeque<usize>,
    /// For every shape of a state, the counts with which it was reached.
    seen: HashMap<(Vec<ChainPlace>, bool), Vec<Vec<u32>>>,
}

impl<'a> ProductSearch<'a> {
    fn new(tracks: &'a [Track], divergent: bool, effort: &'a Effort) -> Self {
        Self {
            tracks,
            divergent,
            effort,
            visits: Vec::new(),
            queue: VecDeque::new(),
            seen: HashMap::new(),
        }
    }

    fn run(mut self) -> SearchOutcome<String> {
        self.visit(ProductVisit {
            places: vec![ChainPlace::START; self.tracks.len()],
            diverged: false,
            from: None,
        });
        while let Some(index) = self.queue.pop_front() {
            let Some(visit) = self.visits.get(index) else {
                break;
            };
            if self.is_goal(visit) {
                return SearchOutcome::Found(self.text(index));
            }
            let places = visit.places.clone();
            if self.visits.len() > SEARCH_STATES_MAX || !self.visit_successors(index, &places) {
                return SearchOutcome::Undecided;
            }
        }
        SearchOutcome::Never
    }

    fn is_goal(&self, visit: &ProductVisit) -> bool {
        let ended = self
            .tracks
            .iter()
            .zip(&visit.places)
            .all(|(track, place)| track.may_end(*place));
        ended && visit.diverged == self.divergent
    }

    fn has_diverged(&self, from: usize, places: &[ChainPlace]) -> bool {
        let before = self.visits.get(from).is_some_and(|visit| visit.diverged);
        let links_differ = |pair: &[ChainPlace]| matches!(pair, [one, two] if one.link != two.link);
        self.divergent && (before || places.windows(2).any(links_differ))
    }

    /// Visits every state that all tracks reach by one common character; false where that is more than can be done.
    fn visit_successors(&mut self, from: usize, places: &[ChainPlace]) -> bool {
        let tracks = self.tracks.iter().zip(places);
        let moves: Vec<Moves<'a>> = tracks.map(|(track, place)| track.moves(*place)).collect();
        if !self.effort.take_steps(moves.iter().map(Vec::len).sum()) {
            return false;
        }
        self.visit_joint(from, &moves, &Class::any(), &mut Vec::with_capacity(places.len()))
    }

    /// The states are visited as they are met: only those that are new are kept, not every way to one.
    fn visit_joint(&mut self, from: usize, moves: &[Moves<'a>], class: &Class, places: &mut Vec<ChainPlace>) -> bool {
        let Some((next, rest)) = moves.split_first() else {
            if let Some(character) = class.readable_character() {
                let diverged = self.has_diverged(from, places);
                self.visit(ProductVisit {
                    places: places.clone(),
                    diverged,
                    from: Some((from, character)),
                });
            }
            return true;
        };
        for (moved, place) in next {
            if !self.effort.take_steps(moved.meeting_steps()) {
                return false;
            }
            let class = class.meet(moved);
            if class.is_empty() {
                continue;
            }
            places.push(*place);
            let done = self.visit_joint(from, rest, &class, places);
            places.pop();
            if !done {
                return false;
            }
        }
        true
    }

    /// Queues a state, unless one that can do at least as much was reached before it.
    fn visit(&mut self, visit: ProductVisit) {
        let shape = visit.places.iter().map(|place| place.shape()).collect();
        let counts: Vec<u32> = visit.places.iter().map(|place| place.cursor.count).collect();
        let mins: Vec<u32> = self
            .tracks
            .iter()
            .zip(&visit.places)
            .map(|(track, place)| track.count_min(*place))
            .collect();
        let reached = self.seen.entry((shape, visit.diverged)).or_default();
        // Two counts past the lower limit differ only in what is left up to the upper one: the
        // smaller count can be continued by everything that the larger one can.
        let dominates = |earlier: &Vec<u32>| {
            let pairs = earlier.iter().zip(&counts).zip(&mins);
            pairs
                .into_iter()
                .all(|((earlier, count), min)| earlier == count || min <= earlier && earlier <= count)
        };
        if reached.iter().any(dominates) {
            return;
        }
        reached.push(counts);
        self.visits.push(visit);
        self.queue.push_back(self.visits.len() - 1);
    }

    fn text(&self, index: usize) -> String {
        let mut characters = Vec::new();
        let mut from = self.visits.get(index).and_then(|visit| visit.from);
        while let Some((index, character)) = from {
            characters.push(character);
            from = self.visits.get(index).and_then(|visit| visit.from);
        }
        characters.iter().rev().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::encoding::delimiter::Delimiter;
    use crate::key::languages::domain::Domain;
    use crate::key::languages::language::ValueLengths;

    fn words(words: &[&str]) -> KeyLanguage {
        KeyLanguage::of_words(words.iter().copied())
    }

    fn text(min: u32, max: Option<u32>) -> KeyLanguage {
        KeyLanguage::any(ValueLengths { min, max })
    }

    fn found(tracks: &[Track]) -> Option<String> {
        match shortest_text(tracks, &Effort::of_one_decision()) {
            SearchOutcome::Found(text) => Some(text),
            SearchOutcome::Never => None,
            SearchOutcome::Undecided => panic!("the search gave up"),
        }
    }

    #[test]
    fn chains_meet_across_their_links() {
        let left = Track::new(vec![words(&["a", "ab"]), words(&["c", "bc"])]);
        let right = Track::new(vec![words(&["abb", "abbc"]), words(&["c", ""])]);
        assert_eq!(found(&[left, right]).unwrap(), "abbc");
        let disjoint = [
            Track::new(vec![words(&["a"]), text(0, None)]),
            Track::new(vec![words(&["b"])]),
        ];
        assert_eq!(found(&disjoint), None);
    }

    #[test]
    fn long_limits_cost_no_states() {
        let side = |last| Track::new(vec![text(1, Some(1000)), text(1, Some(1000)), words(&[last])]);
        assert_eq!(found(&[side("x"), side("y")]), None);
        assert_eq!(found(&[side("x"), side("x")]).unwrap(), "aax");
    }

    #[test]
    fn limits_on_length_are_exact() {
        let exactly = |count| Track::new(vec![text(count, Some(count))]);
        assert_eq!(found(&[exactly(3), exactly(3)]).unwrap(), "aaa");
        assert_eq!(found(&[exactly(3), exactly(4)]), None);
        let sum = Track::new(vec![text(2, Some(3)), text(0, Some(2))]);
        assert_eq!(found(&[sum.clone(), exactly(5)]).unwrap(), "aaaaa");
        assert_eq!(found(&[sum, exactly(6)]), None);
    }

    #[test]
    fn a_mapped_track_reads_what_the_map_makes() {
        let map = CharacterMap::escaped(Delimiter::default());
        let escaped = Track::encoded_track(vec![words(&["a$23$24b"])], &Encoding::Map(map));
        assert_eq!(found(&[Track::new(vec![text(0, None)]), escaped]).unwrap(), "a#$b");
    }

    #[test]
    fn a_truncated_track_reads_the_beginning() {
        let month = Track::encoded_track(vec![words(&["2024-02"])], &Encoding::Truncated { chars: 7 });
        let date = Track::new(vec![Domain::Date.word_language()]);
        assert!(found(&[date, month]).unwrap().starts_with("2024-02-"));
    }

    #[test]
    fn divergence_is_another_border_between_links() {
        let clear = Track::new(vec![text(1, None), words(&["#"]), words(&["x"])]);
        assert_eq!(
            shortest_divergent(&[clear.clone(), clear], &Effort::of_one_decision()),
            SearchOutcome::Never
        );
        let adjacent = Track::new(vec![text(1, None), text(1, None)]);
        assert_eq!(
            shortest_divergent(&[adjacent.clone(), adjacent], &Effort::of_one_decision()),
            SearchOutcome::Found("aaa".to_owned())
        );
    }
}
