//! Solves the equations that simplification leaves.
//!
//! Equations that share no unknown are independent of one another, and so are the unknowns of one
//! equation in which each occurs once: there a search of the product of automata is exact. An unknown
//! that occurs in several equations, alone on its side of each, is searched for through all of them
//! at once, which is exact too. Anything else is solved by trying words for a repeated unknown:
//! exact if it has few words, and undecided if it has many and none fits.

use super::equation::{Equation, KeyPiece, Side, UnknownOccurrence};
use super::system::EquationSystem;
use crate::key::decoding::split::split_text;
use crate::key::encoding::resolved_form::Encoding;
use crate::key::languages::class::Class;
use crate::key::languages::language::KeyLanguage;
use crate::key::languages::search::{SearchOutcome, Track, shortest_text};
use std::collections::{BTreeMap, BTreeSet};

/// The word of each unknown.
pub(crate) type Words = BTreeMap<usize, String>;

/// Words that solve a system, for each of `wanted`.
pub(crate) fn solve_system(
    system: EquationSystem<'_>,
    wanted: impl IntoIterator<Item = usize>,
) -> SearchOutcome<Words> {
    solve_within(system, wanted, &mut Budget { tries: TRIES_MAX })
}

/// Groups of equations that share unknowns.
pub(crate) fn equation_groups<'a>(equations: &[Equation<'a>]) -> Vec<Vec<Equation<'a>>> {
    let mut components: Vec<(BTreeSet<usize>, Vec<Equation<'a>>)> = Vec::new();
    for equation in equations {
        let mut unknowns: BTreeSet<usize> = unknown_occurrences(equation)
            .map(|occurrence| occurrence.unknown)
            .collect();
        let mut members = vec![equation.clone()];
        // Whatever shares an unknown with it joins: only groups that share none are independent.
        components.retain_mut(|(others, equations)| {
            let apart = others.is_disjoint(&unknowns);
            if !apart {
                unknowns.append(others);
                members.append(equations);
            }
            apart
        });
        components.push((unknowns, members));
    }
    components.into_iter().map(|(_, equations)| equations).collect()
}

/// Every occurrence of an unknown in an equation.
pub(crate) fn unknown_occurrences<'e, 'a>(
    equation: &'e Equation<'a>,
) -> impl Iterator<Item = &'e UnknownOccurrence<'a>> {
    equation
        .left
        .iter()
        .chain(&equation.right)
        .filter_map(|piece| match piece {
            KeyPiece::Text(_) => None,
            KeyPiece::Unknown(occurrence) => Some(occurrence),
        })
}

/// How often each unknown occurs.
pub(crate) fn unknown_counts(equations: &[Equation<'_>]) -> BTreeMap<usize, usize> {
    let mut counts = BTreeMap::new();
    for occurrence in equations.iter().flat_map(unknown_occurrences) {
        *counts.entry(occurrence.unknown).or_default() += 1;
    }
    counts
}

/// Adds the words that cut a text into the pieces of one side.
pub(crate) fn assign_words(
    system: &EquationSystem<'_>,
    side: &Side<'_>,
    texts: &[&str],
    words: &mut Words,
) -> Option<()> {
    for (piece, text) in side.iter().zip(texts) {
        if let KeyPiece::Unknown(occurrence) = piece {
            words.insert(occurrence.unknown, word_of(system, occurrence, text)?);
        }
    }
    Some(())
}

/// The characters worth trying where any may stand: those of the literals, and a few others.
pub(crate) fn trial_alphabet(system: &EquationSystem<'_>, equations: &[Equation<'_>]) -> Class {
    let literals = equations
        .iter()
        .flat_map(|equation| equation.left.iter().chain(&equation.right));
    let literals = literals.filter_map(|piece| match piece {
        KeyPiece::Text(text) => Some(text.chars()),
        KeyPiece::Unknown(_) => None,
    });
    let delimiter = system
        .delimiter()
        .into_iter()
        .flat_map(|delimiter| [delimiter.character(), delimiter.escape()]);
    literals.flatten().chain(delimiter).chain("ab01".chars()).collect()
}

/// How many words are tried for one unknown.
const WORDS_PER_UNKNOWN_MAX: usize = 256;
/// How many words are tried for all unknowns together, those inside one another included.
const TRIES_MAX: usize = 4096;

struct Budget {
    tries: usize,
}

fn solve_within(
    mut system: EquationSystem<'_>,
    wanted: impl IntoIterator<Item = usize>,
    budget: &mut Budget,
) -> SearchOutcome<Words> {
    if system.simplify_equations().is_err() {
        // A contradiction is final whatever else there is.
        return SearchOutcome::Never;
    }
    let mut words = Words::new();
    let mut undecided = false;
    for component in equation_groups(system.equations()) {
        match solve_component(&system, &component, budget) {
            SearchOutcome::Found(found) => words.extend(found),
            SearchOutcome::Never => return SearchOutcome::Never,
            // Goes on: another group may have no solution, and then there is none at all.
            SearchOutcome::Undecided => undecided = true,
        }
    }
    let mut answer = Words::new();
    for unknown in wanted {
        let root = system.root_of(unknown);
        let word = match words.get(&root) {
            Some(word) => SearchOutcome::Found(word.clone()),
            None => system.word_source(root).sample_word(system.effort),
        };
        match word {
            SearchOutcome::Found(word) => {
                words.insert(root, word.clone());
                answer.insert(unknown, word);
            }
            SearchOutcome::Never => return SearchOutcome::Never,
            SearchOutcome::Undecided => undecided = true,
        }
    }
    if undecided {
        SearchOutcome::Undecided
    } else {
        SearchOutcome::Found(answer)
    }
}

fn solve_component<'a>(
    system: &EquationSystem<'a>,
    equations: &[Equation<'a>],
    budget: &mut Budget,
) -> SearchOutcome<Words> {
    let counts = unknown_counts(equations);
    if let [equation] = equations
        && counts.values().all(|count| *count == 1)
    {
        return solve_single(system, equation);
    }
    match Hub::of(system, equations, &counts) {
        Some(hub) => hub.solve(),
        None => solve_by_trying(system, equations, &counts, budget),
    }
}

/// One equation in which every unknown occurs once: the two sides are independent of each other.
fn solve_single(system: &EquationSystem<'_>, equation: &Equation<'_>) -> SearchOutcome<Words> {
    let (left, right) = (
        system.chain_languages(&equation.left),
        system.chain_languages(&equation.right),
    );
    let nice = nice_text(system, &equation.left, &right).or_else(|| nice_text(system, &equation.right, &left));
    let text = match nice {
        Some(text) => SearchOutcome::Found(text),
        None => shortest_text(&[Track::new(left.clone()), Track::new(right.clone())], system.effort),
    };
    text.and_then(|text| {
        let mut words = Words::new();
        for (side, chain) in [(&equation.left, &left), (&equation.right, &right)] {
            let cut = split_text(chain, &text, 1).pop()?;
            assign_words(system, side, &cut, &mut words)?;
        }
        Some(words)
    })
}

/// A text of one side that reads well, if the side is one unknown and the other side can be it.
fn nice_text(system: &EquationSystem<'_>, side: &Side<'_>, other: &[KeyLanguage]) -> Option<String> {
    let (Some(KeyPiece::Unknown(occurrence)), 1) = (side.front(), side.len()) else {
        return None;
    };
    let SearchOutcome::Found(word) = system.word_source(occurrence.unknown).sample_word(system.effort) else {
        return None;
    };
    occurrence
        .encoding
        .encode_word(&word)
        .filter(|text| !split_text(other, text, 1).is_empty())
}

/// An unknown that stands alone on one side of several equations, whose other sides share nothing.
struct Hub<'s, 'a> {
    system: &'s EquationSystem<'a>,
    unknown: usize,
    /// How the unknown stands in each equation, the other side, and what that can be.
    spokes: Vec<(Encoding, Side<'a>, Vec<KeyLanguage>)>,
}

impl<'s, 'a> Hub<'s, 'a> {
    fn of(system: &'s EquationSystem<'a>, equations: &[Equation<'a>], counts: &BTreeMap<usize, usize>) -> Option<Self> {
        let mut repeated = counts
            .iter()
            .filter(|(_, count)| **count > 1)
            .map(|(unknown, _)| *unknown);
        let (Some(unknown), None) = (repeated.next(), repeated.next()) else {
            return None;
        };
        let alone = |side: &Side<'a>| match (side.front(), side.len()) {
            (Some(KeyPiece::Unknown(occurrence)), 1) if occurrence.unknown == unknown => {
                Some(occurrence.encoding.clone())
            }
            _ => None,
        };
        let mentions = |side: &Side<'a>| {
            side.iter()
                .any(|piece| matches!(piece, KeyPiece::Unknown(occurrence) if occurrence.unknown == unknown))
        };
        let spoke = |equation: &Equation<'a>| {
            let (encoding, other) = match (alone(&equation.left), alone(&equation.right)) {
                (Some(encoding), _) => (encoding, &equation.right),
                (_, Some(encoding)) => (encoding, &equation.left),
                _ => return None,
            };
            (!mentions(other)).then(|| (encoding, other.clone(), system.chain_languages(other)))
        };
        let spokes = equations.iter().map(spoke).collect::<Option<Vec<_>>>()?;
        let hub = Self {
            system,
            unknown,
            spokes,
        };
        (hub.one_encoding().is_some() || hub.is_by_character()).then_some(hub)
    }

    fn solve(&self) -> SearchOutcome<Words> {
        let source = self.system.word_source(self.unknown);
        if let SearchOutcome::Found(word) = source.sample_word(self.system.effort)
            && let Some(words) = self.words(&word)
        {
            return SearchOutcome::Found(words);
        }
        match self.one_encoding() {
            Some(encoding) => {
                let own = Track::new(vec![encoding.encoded_language(&source, self.system.effort)]);
                let others = self.spokes.iter().map(|(_, _, chain)| Track::new(chain.clone()));
                let tracks: Vec<Track> = [own].into_iter().chain(others).collect();
                shortest_text(&tracks, self.system.effort)
                    .and_then(|text| self.words(&preimage(self.system, self.unknown, encoding, &text)?))
            }
            None => {
                let own = Track::new(vec![source.word_language()]);
                let others = self
                    .spokes
                    .iter()
                    .map(|(encoding, _, chain)| Track::encoded_track(chain.clone(), encoding));
                let tracks: Vec<Track> = [own].into_iter().chain(others).collect();
                shortest_text(&tracks, self.system.effort).and_then(|word| self.words(&word))
            }
        }
    }

    /// The encoding of all occurrences, if they have but one.
    fn one_encoding(&self) -> Option<&Encoding> {
        let mut encodings = self.spokes.iter().map(|(encoding, ..)| encoding);
        let first = encodings.next()?;
        encodings.all(|encoding| encoding == first).then_some(first)
    }

    /// Whether every encoding works character by character, so that a search can follow the word and
    /// all its texts together.
    fn is_by_character(&self) -> bool {
        self.spokes
            .iter()
            .all(|(encoding, ..)| matches!(encoding, Encoding::Map(_) | Encoding::Truncated { .. }))
    }

    /// The words of all unknowns, given that of the hub, if it fits.
    fn words(&self, word: &str) -> Option<Words> {
        let mut words = Words::from([(self.unknown, word.to_owned())]);
        for (encoding, side, chain) in &self.spokes {
            let text = encoding.encode_word(word)?;
            let cut = split_text(chain, &text, 1).pop()?;
            assign_words(self.system, side, &cut, &mut words)?;
        }
        Some(words)
    }
}

/// Tries words for an unknown that occurs several times, and solves what is left.
fn solve_by_trying<'a>(
    system: &EquationSystem<'a>,
    equations: &[Equation<'a>],
    counts: &BTreeMap<usize, usize>,
    budget: &mut Budget,
) -> SearchOutcome<Words> {
    let Some(hints) = equations
        .iter()
        .map(|equation| hints(system, equation))
        .collect::<Option<Vec<_>>>()
    else {
        return SearchOutcome::Never;
    };
    let Some(unknown) = most_promising(system, counts) else {
        return SearchOutcome::Undecided;
    };
    let source = system.word_source(unknown);
    let (tried, complete) =
        source.enumerate_words(WORDS_PER_UNKNOWN_MAX, &trial_alphabet(system, equations), system.effort);
    let mut hinted: Vec<String> = hints
        .into_iter()
        .flatten()
        .filter(|hint| hint.0 == unknown)
        .map(|hint| hint.1)
        .collect();
    hinted.retain(|word| !tried.contains(word) && source.contains(word));
    let mut undecided = !complete;
    for word in hinted.into_iter().chain(tried) {
        let Some(tries) = budget.tries.checked_sub(1) else {
            return SearchOutcome::Undecided;
        };
        budget.tries = tries;
        // What is known is copied for every word.
        if !system.effort.take_steps(1 + counts.len() + equations.len()) {
            return SearchOutcome::Undecided;
        }
        let branch = system.assuming_word(equations, unknown, &word);
        match solve_within(branch, counts.keys().copied(), budget) {
            SearchOutcome::Never => {}
            SearchOutcome::Undecided => undecided = true,
            found => return found,
        }
    }
    if undecided {
        SearchOutcome::Undecided
    } else {
        SearchOutcome::Never
    }
}

/// The words that solve an equation if repeated occurrences are taken for different unknowns. Only
/// more solves it then, so that without any the equation has no solution at all.
fn hints(system: &EquationSystem<'_>, equation: &Equation<'_>) -> Option<Vec<(usize, String)>> {
    let (left, right) = (
        system.chain_languages(&equation.left),
        system.chain_languages(&equation.right),
    );
    let text = match shortest_text(&[Track::new(left.clone()), Track::new(right.clone())], system.effort) {
        SearchOutcome::Never => return None,
        SearchOutcome::Undecided => return Some(Vec::new()),
        SearchOutcome::Found(text) => text,
    };
    let mut hints = Vec::new();
    for (side, chain) in [(&equation.left, left), (&equation.right, right)] {
        let cut = split_text(&chain, &text, 1).pop().unwrap_or_default();
        for (piece, text) in side.iter().zip(cut) {
            if let KeyPiece::Unknown(occurrence) = piece {
                hints.extend(word_of(system, occurrence, text).map(|word| (occurrence.unknown, word)));
            }
        }
    }
    Some(hints)
}

/// The repeated unknown with the fewest words, or else the one that occurs most often.
fn most_promising(system: &EquationSystem<'_>, counts: &BTreeMap<usize, usize>) -> Option<usize> {
    let repeated = counts.iter().filter(|(_, count)| **count > 1);
    repeated
        .max_by_key(|(unknown, count)| {
            let words = system.word_source(**unknown).listed_count().unwrap_or(usize::MAX);
            (std::cmp::Reverse(words), **count)
        })
        .map(|(unknown, _)| *unknown)
}

fn word_of(system: &EquationSystem<'_>, occurrence: &UnknownOccurrence<'_>, text: &str) -> Option<String> {
    preimage(system, occurrence.unknown, &occurrence.encoding, text)
}

/// A word with this text.
fn preimage(system: &EquationSystem<'_>, unknown: usize, encoding: &Encoding, text: &str) -> Option<String> {
    if encoding.is_injective() {
        return encoding.decode_word(text);
    }
    let source = system.word_source(unknown);
    if let SearchOutcome::Found(word) = source.sample_word(system.effort)
        && encoding.encode_word(&word).as_deref() == Some(text)
    {
        return Some(word);
    }
    let own = Track::new(vec![source.word_language()]);
    match shortest_text(
        &[own, Track::encoded_track(vec![KeyLanguage::of_words([text])], encoding)],
        system.effort,
    ) {
        SearchOutcome::Found(word) => Some(word),
        SearchOutcome::Never | SearchOutcome::Undecided => None,
    }
}

impl<T> SearchOutcome<T> {
    /// What `step` makes of what was found. That it makes nothing of it leaves the question open.
    pub(crate) fn and_then<U>(self, step: impl FnOnce(T) -> Option<U>) -> SearchOutcome<U> {
        match self {
            Self::Found(found) => step(found).map_or(SearchOutcome::Undecided, SearchOutcome::Found),
            Self::Never => SearchOutcome::Never,
            Self::Undecided => SearchOutcome::Undecided,
        }
    }
}
