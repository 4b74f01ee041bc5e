//! Whether different values of one entity can have the same keys.

use super::collision::{Verdict, part_texts, steps_to_begin, verified_witness};
use super::effort::Effort;
use super::equation::{Equation, KeyPiece, Side};
use super::solver::{Words, assign_words, equation_groups, trial_alphabet, unknown_counts};
use super::system::{EquationSystem, Unknowns};
use crate::key::decoding::split::split_text;
use crate::key::languages::class::Class;
use crate::key::languages::search::{SearchOutcome, Track, shortest_divergent};
use crate::key::template::Template;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

/// Whether two different assignments of values to an entity's variables can give it the same keys,
/// because a border between parts can be read in two places: neighbours without a delimiter between,
/// or raw values that contain one.
///
/// Assignments are different if the text of some part is. So what a form loses on purpose is no
/// ambiguity: two times of one day under `day(time)`, two spellings under `lower(name)`.
///
/// The answer is exact unless a variable with such a neighbour occurs elsewhere too; then values are
/// tried, and [`Verdict::Undecided`] says that none was found among too many.
pub fn decide_ambiguity(templates: &[Template]) -> Verdict {
    ambiguity_by(templates, &Effort::of_one_decision())
}

/// [`decide_ambiguity`], with the steps that are left of an effort that several decisions share.
pub fn ambiguity_within(templates: &[Template], effort: &Effort) -> Verdict {
    effort.decide_within(|effort| ambiguity_by(templates, effort))
}

fn ambiguity_by(templates: &[Template], effort: &Effort) -> Verdict {
    if templates.iter().all(Template::has_clear_borders) {
        return Verdict::Never;
    }
    if !effort.take_steps(2 * steps_to_begin(templates)) {
        return Verdict::Undecided;
    }
    let (mut system, left, right) = EquationSystem::new(templates, templates, effort);
    if system.simplify_equations().is_err() {
        // Work that was cut short proves nothing.
        return Verdict::never_unless_cut(effort);
    }
    let mut undecided = false;
    for component in equation_groups(system.equations()) {
        match divergent(&system, &component) {
            SearchOutcome::Found((one, two)) => {
                let words = completed(&system, &left, one).zip(completed(&system, &right, two));
                let witness = words.and_then(|(one, two)| {
                    let (one, two) = ((templates, &left, &one), (templates, &right, &two));
                    // Found is only what really makes the same keys: a wrong witness would refuse a model that is right.
                    verified_witness(one, two).filter(|_| part_texts(one) != part_texts(two))
                });
                return witness.map_or(Verdict::Undecided, Verdict::Found);
            }
            SearchOutcome::Never => {}
            SearchOutcome::Undecided => undecided = true,
        }
    }
    if undecided {
        Verdict::Undecided
    } else {
        Verdict::never_unless_cut(effort)
    }
}

/// Two solutions of the equations between an entity and itself that cut some key differently.
fn divergent(system: &EquationSystem<'_>, equations: &[Equation<'_>]) -> SearchOutcome<(Words, Words)> {
    if let [equation] = equations
        && unknown_counts(equations).values().all(|count| *count == 1)
        && equation.left.len() == equation.right.len()
    {
        let (left, right) = (
            system.chain_languages(&equation.left),
            system.chain_languages(&equation.right),
        );
        let tracks = [Track::new(left.clone()), Track::new(right)];
        return shortest_divergent(&tracks, system.effort).and_then(|text| {
            let cuts = split_text(&left, &text, 2);
            let [one, two] = cuts.as_slice() else { return None };
            let (mut left_words, mut right_words) = (Words::new(), Words::new());
            assign_words(system, &equation.left, one, &mut left_words)?;
            assign_words(system, &equation.right, two, &mut right_words)?;
            Some((left_words, right_words))
        });
    }
    divergent_by_trying(system, equations)
}

/// How many words are tried for each unknown.
const WORDS_PER_UNKNOWN_MAX: usize = 64;
/// How many combinations of words are tried.
const COMBINATIONS_MAX: usize = 5000;

/// Writes the keys of many combinations of words and looks for the same keys from other parts.
fn divergent_by_trying(system: &EquationSystem<'_>, equations: &[Equation<'_>]) -> SearchOutcome<(Words, Words)> {
    let own = unknowns_of(equations.iter().map(|equation| &equation.left));
    let copies = unknowns_of(equations.iter().map(|equation| &equation.right));
    // An unknown of both sides is known from elsewhere in the keys, so both readings share its word.
    let pinned: Vec<usize> = own.intersection(&copies).copied().collect();
    let (combinations, complete) = combinations(system, &own, &trial_alphabet(system, equations));
    let mut seen: HashMap<Vec<String>, (&Words, Vec<String>)> = HashMap::new();
    for words in &combinations {
        let texts = equations.iter().map(|equation| side_texts(&equation.left, words));
        let Some(texts) = texts.collect::<Option<Vec<_>>>() else {
            continue;
        };
        let pins = pinned.iter().filter_map(|unknown| words.get(unknown).cloned());
        let reading = texts.iter().map(|texts| texts.concat()).chain(pins).collect();
        match seen.entry(reading) {
            Entry::Occupied(earlier) if earlier.get().1 != texts.concat() => {
                return SearchOutcome::Found((earlier.get().0.clone(), copied(equations, words)));
            }
            Entry::Occupied(_) => {}
            Entry::Vacant(slot) => {
                slot.insert((words, texts.concat()));
            }
        }
    }
    // Only where every word was tried.
    if complete {
        SearchOutcome::Never
    } else {
        SearchOutcome::Undecided
    }
}

/// Combinations of words for unknowns, and whether these are all.
fn combinations(system: &EquationSystem<'_>, unknowns: &BTreeSet<usize>, alphabet: &Class) -> (Vec<Words>, bool) {
    let mut complete = true;
    let mut combinations = vec![Words::new()];
    for unknown in unknowns {
        // Each combination is copied once for every unknown.
        if !system
            .effort
            .take_steps(COMBINATIONS_MAX.min(combinations.len()) * combinations.first().map_or(1, Words::len).max(1))
        {
            return (combinations, false);
        }
        let (words, whole) =
            system
                .word_source(*unknown)
                .enumerate_words(WORDS_PER_UNKNOWN_MAX, alphabet, system.effort);
        complete &= whole && combinations.len().saturating_mul(words.len()) <= COMBINATIONS_MAX;
        let longer = combinations.iter().flat_map(|combination| {
            words.iter().map(|word| {
                let mut longer = combination.clone();
                longer.insert(*unknown, word.clone());
                longer
            })
        });
        combinations = longer.take(COMBINATIONS_MAX).collect();
    }
    (combinations, complete)
}

fn unknowns_of<'e, 'a: 'e>(sides: impl Iterator<Item = &'e Side<'a>>) -> BTreeSet<usize> {
    let unknowns = sides.flatten().filter_map(|piece| match piece {
        KeyPiece::Text(_) => None,
        KeyPiece::Unknown(occurrence) => Some(occurrence.unknown),
    });
    unknowns.collect()
}

fn side_texts(side: &Side<'_>, words: &Words) -> Option<Vec<String>> {
    let text = |piece: &KeyPiece<'_>| match piece {
        KeyPiece::Text(text) => Some(text.clone()),
        KeyPiece::Unknown(occurrence) => occurrence.encoding.encode_word(words.get(&occurrence.unknown)?),
    };
    side.iter().map(text).collect()
}

/// The words of the unknowns on the left, given to their copies on the right.
fn copied(equations: &[Equation<'_>], words: &Words) -> Words {
    let mut copies = Words::new();
    for (one, two) in equations
        .iter()
        .flat_map(|equation| equation.left.iter().zip(&equation.right))
    {
        if let (KeyPiece::Unknown(one), KeyPiece::Unknown(two)) = (one, two)
            && let Some(word) = words.get(&one.unknown)
        {
            copies.insert(two.unknown, word.clone());
        }
    }
    copies
}

/// A word for every unknown of an entity: those given, and elsewhere the same for both readings.
fn completed(system: &EquationSystem<'_>, unknowns: &Unknowns<'_>, words: Words) -> Option<Words> {
    let all = unknowns.by_part.iter().flatten().flatten();
    let word = |unknown: &usize| {
        let root = system.root_of(*unknown);
        let word = match words.get(&root) {
            Some(word) => word.clone(),
            None => match system.word_source(root).sample_word(system.effort) {
                SearchOutcome::Found(word) => word,
                SearchOutcome::Never | SearchOutcome::Undecided => return None,
            },
        };
        Some((*unknown, word))
    };
    all.map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{Delimiter, Domain, Form, Part, Variable};

    fn template(parts: Vec<Part>) -> Template {
        Template::new(parts, Delimiter::default()).unwrap()
    }

    fn ambiguous(templates: &[Template]) -> Option<crate::key::Witness> {
        decide_ambiguity(templates).witness()
    }

    fn some(name: &str) -> Part {
        Part::bare_variable(name, Domain::text(1, Some(50)))
    }

    fn raw(name: &str) -> Part {
        Part::Variable(Variable::new(name, Form::Raw, Domain::text(1, None)))
    }

    #[test]
    fn delimited_parts_are_clear() {
        let key = template(vec![Part::text("A#"), some("a"), Part::text("#"), some("b")]);
        assert_eq!(decide_ambiguity(&[key]), Verdict::Never);
        let key = template(vec![Part::bare_variable("d", Domain::Date), some("a")]);
        assert_eq!(decide_ambiguity(&[key]), Verdict::Never);
    }

    #[test]
    fn neighbours_without_a_delimiter_are_ambiguous() {
        let witness = ambiguous(&[template(vec![some("a"), some("b")])]).unwrap();
        assert_eq!(witness.keys, ["aaa"]);
        assert_ne!(witness.left, witness.right);
        let witness = ambiguous(&[template(vec![some("a"), Part::text("-"), some("b")])]).unwrap();
        assert_eq!(witness.keys[0].matches('-').count(), 2);
    }

    #[test]
    fn raw_values_with_a_delimiter_are_ambiguous() {
        let witness = ambiguous(&[template(vec![raw("a"), Part::text("#"), raw("b")])]).unwrap();
        assert_eq!(witness.keys[0].matches('#').count(), 2);
        let clear = template(vec![raw("a"), Part::text("#"), some("b")]);
        assert_eq!(decide_ambiguity(&[clear]), Verdict::Never);
    }

    #[test]
    fn neighbours_of_different_characters_are_clear() {
        let letters = Part::bare_variable("a", Domain::from_pattern("[a-z]+").unwrap());
        let digits = Part::bare_variable("b", Domain::from_pattern("[0-9]+").unwrap());
        assert_eq!(decide_ambiguity(&[template(vec![letters, digits])]), Verdict::Never);
    }

    #[test]
    fn a_value_known_from_another_attribute_settles_a_border() {
        let both = template(vec![some("a"), some("b")]);
        assert_eq!(
            decide_ambiguity(&[both.clone(), template(vec![some("a")])]),
            Verdict::Never
        );
        let witness = ambiguous(&[both, template(vec![some("c")])]).unwrap();
        assert_eq!(
            witness.left.iter().find(|(name, _)| name == "c"),
            witness.right.iter().find(|(name, _)| name == "c")
        );
    }

    #[test]
    fn what_a_form_loses_on_purpose_is_no_ambiguity() {
        let day = Part::Variable(Variable::new("t", Form::Day, Domain::Time));
        let lower = |name| Part::Variable(Variable::new(name, Form::Lower, Domain::text(1, None)));
        assert_eq!(
            decide_ambiguity(&[template(vec![day, Part::text("#"), lower("x")])]),
            Verdict::Never
        );
        assert!(ambiguous(&[template(vec![lower("x"), lower("y")])]).is_some());
    }

    #[test]
    fn repeated_variables_are_tried() {
        let word = |name| Part::bare_variable(name, Domain::from_pattern("[ab]{1,2}").unwrap());
        let crossed = template(vec![word("a"), word("b"), Part::text("#"), word("b"), word("a")]);
        let plain = template(vec![word("a"), word("b"), Part::text("#"), word("a"), word("b")]);
        assert!(ambiguous(&[plain]).is_some());
        let witness = ambiguous(&[crossed]).unwrap();
        assert_ne!(witness.left, witness.right);
    }
}
