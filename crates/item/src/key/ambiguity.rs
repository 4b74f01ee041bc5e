//! Whether different values of one entity can have the same keys.

use super::collision::{Verdict, Witness, part_texts, verified};
use super::equation::{Equation, Piece, Side, System};
use super::search::{Outcome, Track, shortest_divergent};
use super::solver::{Words, alphabet, assign, components, counts};
use super::split::splits;
use super::template::Template;
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
pub fn ambiguity(templates: &[Template]) -> Verdict {
    if templates.iter().all(Template::has_clear_borders) {
        return Verdict::Never;
    }
    let (mut system, left, right) = System::new(templates, templates);
    if system.simplify().is_err() {
        return Verdict::Never;
    }
    let mut undecided = false;
    for component in components(system.equations()) {
        match divergent(&system, &component) {
            Outcome::Found((left_words, right_words)) => {
                let complete = |unknowns: &super::equation::Unknowns<'_>, words: Words| {
                    completed(&system, unknowns, words)
                };
                let Some((left_words, right_words)) = complete(&left, left_words).zip(complete(&right, right_words))
                else {
                    return Verdict::Undecided;
                };
                let (one, two) = ((templates, &left, &left_words), (templates, &right, &right_words));
                let differ = part_texts(one) != part_texts(two);
                return verified(one, two).filter(|_| differ).map_or(Verdict::Undecided, Verdict::Found);
            }
            Outcome::Never => {}
            Outcome::Undecided => undecided = true,
        }
    }
    if undecided { Verdict::Undecided } else { Verdict::Never }
}

/// Values that give one entity the same keys as others do, if [`ambiguity`] finds any.
pub fn ambiguous(templates: &[Template]) -> Option<Witness> {
    ambiguity(templates).witness()
}
