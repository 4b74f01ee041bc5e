//! How long the keys of a template can be.

use super::character_map::CharacterMap;
use super::form::Form;
use super::resolved_form::Encoding;
use crate::key::languages::automaton::{Automaton, State};
use crate::key::languages::class::Class;
use crate::key::languages::domain::Domain;
use crate::key::languages::language::{KeyLanguage, ValueLengths};
use crate::key::languages::source::WordSet;
use crate::key::template::{KeyType, Part, Template, Variable};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

impl Template {
    /// A bound on the length of its keys, as tight as limits on length and patterns allow; nothing
    /// if they have none. Of a number key, the bound of numbers.
    pub fn max_bytes(&self) -> Option<usize> {
        match self.key_type() {
            KeyType::N => Some(NUMBER_BYTES_MAX),
            KeyType::S | KeyType::B => self.parts().iter().map(|part| part.max_bytes(self)).sum(),
        }
    }

    /// The least length of its keys.
    pub fn min_bytes(&self) -> usize {
        match self.key_type() {
            KeyType::N => 1,
            KeyType::S | KeyType::B => self.parts().iter().map(|part| part.min_bytes(self)).sum(),
        }
    }

    /// Whether some key is empty, which DynamoDB refuses.
    pub fn can_be_empty(&self) -> bool {
        // The first text settles it, so most templates are not measured.
        self.key_type() != KeyType::N && self.parts().iter().all(|part| part.min_bytes(self) == 0)
    }
}

/// The most bytes that DynamoDB takes for a number.
const NUMBER_BYTES_MAX: usize = 22;

impl Part {
    fn max_bytes(&self, template: &Template) -> Option<usize> {
        match self {
            Self::Text(text) => Some(text.len()),
            Self::Number(number) => Some(number.size_bytes()),
            Self::Variable(variable) => {
                if let Some((_, max)) = variable.known_bytes(template) {
                    return Some(max);
                }
                let (language, weights) = variable.weighed(template);
                let by_length = language.length.max.and_then(|max| {
                    usize::try_from(max)
                        .ok()?
                        .checked_mul(weights.max(language.automaton.alphabet()))
                });
                let by_path = longest_path(&language.automaton, |class| weights.max(class));
                // The smaller of two bounds, each of which holds by itself.
                by_length.into_iter().chain(by_path).min()
            }
            Self::Anything => None,
        }
    }

    fn min_bytes(&self, template: &Template) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Number(number) => number.size_bytes(),
            Self::Variable(variable) => {
                if let Some((min, _)) = variable.known_bytes(template) {
                    return min;
                }
                let (language, weights) = variable.weighed(template);
                let least = usize::try_from(language.length.min).unwrap_or(usize::MAX);
                let by_length = least.saturating_mul(weights.min(language.automaton.alphabet()));
                by_length.max(shortest_path(&language.automaton, |class| weights.min(class)))
            }
            Self::Anything => 0,
        }
    }
}

impl Variable {
    /// The least and the most bytes of the shapes that most keys are made of, which need no automaton: words that are
    /// written character by character, and types of one width.
    fn known_bytes(&self, template: &Template) -> Option<(usize, usize)> {
        match (&self.form, &self.domain) {
            (Form::Fixed, domain) => domain.fixed_chars().map(|chars| (chars, chars)),
            (_, Domain::OneOf(words)) => {
                let Encoding::Map(map) = self.resolved_encoding(template.delimiter()) else {
                    return None;
                };
                let bytes = words.iter().map(|word| map.encode_word(word).len());
                Some((bytes.clone().min()?, bytes.max()?))
            }
            _ => None,
        }
    }

    /// A language that counts the characters of values, and how many bytes of text each makes.
    fn weighed(&self, template: &Template) -> (KeyLanguage, Weights) {
        let source = WordSet::Domain(&self.domain);
        match (self.resolved_encoding(template.delimiter()), &self.domain) {
            (_, Domain::Binary { min_bytes, max_bytes }) => {
                let length = ValueLengths {
                    min: *min_bytes,
                    max: *max_bytes,
                };
                (
                    KeyLanguage::new(Automaton::repeated_class(Class::single('b')), length),
                    Weights(CharacterMap::IDENTITY),
                )
            }
            (Encoding::Map(map), _) => (source.word_language(), Weights(map)),
            (encoding, _) => (encoding.language_or_any(&source), Weights(CharacterMap::IDENTITY)),
        }
    }
}

/// How many bytes a map makes of the characters of a class.
struct Weights(CharacterMap);

impl Weights {
    fn max(&self, class: &Class) -> usize {
        let moved = self.0.moved_characters();
        let kept = class.without(&moved).last().map_or(0, char::len_utf8);
        class
            .meet(&moved)
            .characters()
            .map(|character| self.bytes(character))
            .fold(kept, usize::max)
    }

    fn min(&self, class: &Class) -> usize {
        let moved = self.0.moved_characters();
        let kept = class.without(&moved).first().map(char::len_utf8);
        let moved = class.meet(&moved);
        kept.into_iter()
            .chain(moved.characters().map(|character| self.bytes(character)))
            .min()
            .unwrap_or(0)
    }

    fn bytes(&self, character: char) -> usize {
        self.0.encode_word(character.encode_utf8(&mut [0; 4])).len()
    }
}

/// The weight of the heaviest text, unless there is no bound: every state of an automaton leads to a
/// text, so any cycle makes longer and longer ones.
fn longest_path(automaton: &Automaton, weight: impl Fn(&Class) -> usize) -> Option<usize> {
    let mut entries = vec![0usize; automaton.nodes().len()];
    for edge in automaton.nodes().iter().flat_map(|node| &node.edges) {
        *entries.get_mut(edge.target)? += 1;
    }
    let mut heaviest = vec![0usize; entries.len()];
    let mut ready: Vec<State> = if entries.first() == Some(&0) {
        vec![0]
    } else {
        Vec::new()
    };
    let mut ordered = 0;
    while let Some(state) = ready.pop() {
        ordered += 1;
        let so_far = heaviest.get(state).copied()?;
        for edge in &automaton.node(state).edges {
            let reached = heaviest.get_mut(edge.target)?;
            *reached = (*reached).max(so_far + weight(&edge.class));
            let entries = entries.get_mut(edge.target)?;
            *entries -= 1;
            if *entries == 0 {
                ready.push(edge.target);
            }
        }
    }
    // A circle has no longest path.
    (ordered == heaviest.len()).then(|| heaviest.into_iter().max().unwrap_or(0))
}

/// The weight of the lightest text.
fn shortest_path(automaton: &Automaton, weight: impl Fn(&Class) -> usize) -> usize {
    let mut reached: HashSet<State> = HashSet::new();
    let mut pending = BinaryHeap::from([Reverse((0, 0))]);
    while let Some(Reverse((so_far, state))) = pending.pop() {
        let node = automaton.node(state);
        if node.accepting {
            return so_far;
        }
        if reached.insert(state) {
            let next = node
                .edges
                .iter()
                .map(|edge| Reverse((so_far + weight(&edge.class), edge.target)));
            pending.extend(next);
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{Delimiter, NumberRange};

    fn bounds(form: Form, domain: Domain) -> (usize, Option<usize>) {
        let parts = vec![Part::Variable(Variable::new("x", form, domain))];
        let template = Template::new(parts, Delimiter::default()).unwrap();
        (template.min_bytes(), template.max_bytes())
    }

    #[test]
    fn strings_take_up_to_four_bytes_for_a_character() {
        assert_eq!(bounds(Form::Escaped, Domain::text(2, Some(10))), (2, Some(40)));
        assert_eq!(bounds(Form::Raw, Domain::text(0, None)), (0, None));
        assert_eq!(bounds(Form::Upper, Domain::text(1, Some(10))), (1, Some(60)));
    }

    #[test]
    fn patterns_bound_the_characters_and_their_number() {
        assert_eq!(
            bounds(Form::Escaped, Domain::from_pattern("[A-Z]{2}").unwrap()),
            (2, Some(2))
        );
        assert_eq!(
            bounds(Form::Escaped, Domain::from_pattern("[a-z#]{2,3}").unwrap()),
            (2, Some(9))
        );
        assert_eq!(
            bounds(Form::Escaped, Domain::from_pattern("#|ab?").unwrap()),
            (1, Some(3))
        );
        assert_eq!(bounds(Form::Escaped, Domain::from_pattern("(ab)+").unwrap()), (2, None));
        assert_eq!(
            bounds(
                Form::Escaped,
                Domain::from_pattern(r"[^@]{1,64}@[a-z.]{1,189}").unwrap()
            ),
            (3, Some(446))
        );
    }

    #[test]
    fn fixed_shapes_are_their_length() {
        assert_eq!(bounds(Form::Fixed, Domain::Ulid), (26, Some(26)));
        assert_eq!(bounds(Form::Month, Domain::Time), (7, Some(7)));
        assert_eq!(
            bounds(
                Form::Padded {
                    integer_digits: 5,
                    fraction_digits: 2
                },
                Domain::integer_range(Some(0), Some(9))
            ),
            (8, Some(8))
        );
        assert_eq!(
            bounds(Form::Escaped, Domain::one_of(["a", "longer", "#"])),
            (1, Some(6))
        );
        assert_eq!(
            bounds(Form::Plain, Domain::integer_range(Some(-10), Some(5))),
            (1, Some(3))
        );
    }

    #[test]
    fn whole_keys_are_bounded_by_their_type() {
        assert_eq!(
            bounds(Form::Whole, Domain::Number(NumberRange::default())),
            (1, Some(22))
        );
        assert_eq!(
            bounds(
                Form::Whole,
                Domain::Binary {
                    min_bytes: 0,
                    max_bytes: Some(7)
                }
            ),
            (0, Some(7))
        );
    }

    #[test]
    fn only_variables_can_leave_a_key_empty() {
        let template = |parts| Template::new(parts, Delimiter::default()).unwrap();
        assert!(template(vec![Part::bare_variable("x", Domain::text(0, None))]).can_be_empty());
        assert!(!template(vec![Part::text("A#"), Part::bare_variable("x", Domain::text(0, None))]).can_be_empty());
        assert!(!template(vec![Part::bare_variable("x", Domain::text(1, None))]).can_be_empty());
    }
}
