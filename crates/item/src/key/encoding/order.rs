//! Whether keys sort as the values in them do.

use super::character_map::CharacterMap;
use super::form::Form;
use super::resolved_form::Encoding;
use crate::key::languages::class::Class;
use crate::key::languages::language::LanguageCursor;
use crate::key::languages::source::WordSet;
use crate::key::template::{Part, Template, Variable};

/// How keys that are equal up to a variable sort by the values of that variable.
///
/// Strings are ordered by their bytes, numbers by value, the words of a set by their rank, `false`
/// before `true`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// A larger value has a larger key, whatever follows.
    Ascending,
    /// A larger value has a smaller key, whatever follows.
    Descending,
    /// A larger value has a larger key or the same text here: `month(date)` tells months apart, but
    /// not days.
    Coarse,
    /// Keys do not follow the values, or not always.
    Unordered,
}

impl Template {
    /// How keys that are equal in all parts before `index` sort by the value of the variable there.
    pub fn order_after(&self, index: usize) -> Order {
        match self.parts().get(index) {
            Some(Part::Variable(variable)) => self.order_of(variable, index),
            _ => Order::Unordered,
        }
    }

    fn order_of(&self, variable: &Variable, index: usize) -> Order {
        let source = WordSet::Domain(&variable.domain);
        if variable.form == Form::Whole && source.number_range().is_some() {
            return Order::Ascending;
        }
        let direction = |descending| {
            if descending {
                Order::Descending
            } else {
                Order::Ascending
            }
        };
        match variable.resolved_encoding(self.delimiter()).simplified_on(&source) {
            Encoding::Padded { descending, .. } | Encoding::Rank { descending, .. } => direction(descending),
            Encoding::Truncated { .. } => Order::Coarse,
            Encoding::Plain => Order::Unordered,
            Encoding::Map(map) if map.complement.is_some() => Order::Descending,
            Encoding::Map(map) if !map.is_injective() => Order::Unordered,
            Encoding::Map(map) => {
                let followers = self.followers(index);
                let sorts = match source.words() {
                    Some(words) => words_sort(&words, &map, &followers),
                    None => variable.has_one_length() || texts_sort(&source, &map, &followers),
                };
                if sorts { Order::Ascending } else { Order::Unordered }
            }
        }
    }

    /// What may come right after a part.
    fn followers(&self, index: usize) -> PartFollowers {
        let mut first = Class::empty();
        for part in self.parts().iter().skip(index + 1) {
            let language = part.part_language(self.delimiter());
            for edge in &language.automaton.node(0).edges {
                first.join(&edge.class);
            }
            if !language.may_end(LanguageCursor::START) {
                return PartFollowers { first, may_end: false };
            }
        }
        PartFollowers { first, may_end: true }
    }
}

/// The characters that may follow a part, and whether the key may end there.
struct PartFollowers {
    first: Class,
    may_end: bool,
}

impl Variable {
    fn has_one_length(&self) -> bool {
        let length = self.domain.word_language().length;
        self.domain.fixed_chars().is_some() || length.max == Some(length.min)
    }
}

/// Escaping keeps the order of strings, and so does no escaping. What is left is a string that
/// begins another: what follows it must sort before every way in which the longer one goes on.
fn texts_sort(source: &WordSet<'_>, map: &CharacterMap, followers: &PartFollowers) -> bool {
    let language = source.word_language();
    let alphabet = language.automaton.alphabet();
    let moved = map.moved_characters();
    let escapes = alphabet.meet(&moved);
    let beginnings = escapes.characters().filter_map(|character| {
        let text = map.encode_word(character.encode_utf8(&mut [0; 4]));
        text.chars().next()
    });
    let continuation = alphabet.without(&moved).first().into_iter().chain(beginnings).min();
    match (followers.first.last(), continuation) {
        // What ends must come before what goes on, as a shorter text comes before a longer one.
        (Some(follower), Some(continuation)) => follower < continuation,
        _ => true,
    }
}

/// Each word must sort before the next, whatever follows either.
fn words_sort(words: &[String], map: &CharacterMap, followers: &PartFollowers) -> bool {
    let texts: Vec<String> = words.iter().map(|word| map.encode_word(word)).collect();
    texts.iter().zip(texts.iter().skip(1)).all(|(one, two)| {
        if let Some(rest) = two.strip_prefix(one.as_str()) {
            followers.first.last() < rest.chars().next()
        } else if let Some(rest) = one.strip_prefix(two.as_str()) {
            !followers.may_end && rest.chars().next() < followers.first.first()
        } else {
            one < two
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{Delimiter, Domain};

    fn order(form: Form, domain: Domain, rest: &[Part]) -> Order {
        let mut parts = vec![Part::Variable(Variable::new("x", form, domain))];
        parts.extend_from_slice(rest);
        Template::new(parts, Delimiter::default()).unwrap().order_after(0)
    }

    fn natural(domain: Domain, rest: &[Part]) -> Order {
        order(Form::of(&domain), domain, rest)
    }

    #[test]
    fn a_last_string_sorts_exactly() {
        assert_eq!(natural(Domain::text(0, None), &[]), Order::Ascending);
        assert_eq!(order(Form::Raw, Domain::text(0, None), &[]), Order::Ascending);
    }

    #[test]
    fn a_string_before_the_delimiter_sorts_only_without_low_characters() {
        let rest = [Part::text("#"), Part::bare_variable("id", Domain::Ulid)];
        assert_eq!(natural(Domain::text(0, None), &rest), Order::Unordered);
        assert_eq!(
            natural(Domain::from_pattern("[a-z ]+").unwrap(), &rest),
            Order::Unordered
        );
        assert_eq!(
            natural(Domain::from_pattern("[a-z]+").unwrap(), &rest),
            Order::Ascending
        );
        assert_eq!(
            natural(Domain::from_pattern("[#$a-z]+").unwrap(), &rest),
            Order::Ascending
        );
        assert_eq!(natural(Domain::text(3, Some(3)), &rest), Order::Ascending);
        assert_eq!(order(Form::Ordered, Domain::text(0, None), &rest), Order::Ascending);
        assert_eq!(
            order(Form::Ordered, Domain::text(0, None), &[Part::text("-")]),
            Order::Unordered
        );
        assert_eq!(
            order(Form::Raw, Domain::from_pattern("[#a]+").unwrap(), &rest),
            Order::Unordered
        );
    }

    #[test]
    fn a_neighbour_that_may_be_empty_lets_what_follows_it_through() {
        let rest = [
            Part::bare_variable("y", Domain::from_pattern("[a-c]*").unwrap()),
            Part::text("#"),
        ];
        assert_eq!(
            natural(Domain::from_pattern("[d-f]+").unwrap(), &rest),
            Order::Ascending
        );
        assert_eq!(
            natural(Domain::from_pattern("[b-f]+").unwrap(), &rest),
            Order::Unordered
        );
    }

    #[test]
    fn fixed_shapes_numbers_and_ranks_sort_wherever_they_stand() {
        let rest = [Part::text("#"), Part::Anything];
        for domain in [
            Domain::Date,
            Domain::Time,
            Domain::Ulid,
            Domain::Ksuid,
            Domain::Uuid,
            Domain::Bool,
        ] {
            assert_eq!(natural(domain.clone(), &rest), Order::Ascending, "{domain}");
        }
        assert_eq!(
            natural(Domain::integer_range(Some(0), Some(99)), &rest),
            Order::Ascending
        );
        assert_eq!(natural(Domain::integer_range(None, None), &rest), Order::Unordered);
        assert_eq!(
            order(Form::Whole, Domain::integer_range(None, None), &[]),
            Order::Ascending
        );
        assert_eq!(
            order(Form::Fixed.descending_form(), Domain::Date, &rest),
            Order::Descending
        );
        assert_eq!(order(Form::Month, Domain::Date, &rest), Order::Coarse);
        assert_eq!(order(Form::Lower, Domain::text(0, None), &[]), Order::Unordered);
    }

    #[test]
    fn words_sort_bare_where_they_stand_in_byte_order() {
        let rest = [Part::text("#"), Part::Anything];
        let priority = Domain::one_of(["urgent", "high", "low"]);
        assert_eq!(natural(priority.clone(), &rest), Order::Unordered);
        assert_eq!(
            order(Form::rank_form(&priority).unwrap(), priority, &rest),
            Order::Ascending
        );
        assert_eq!(
            natural(Domain::one_of(["high", "low", "urgent"]), &rest),
            Order::Ascending
        );
        assert_eq!(natural(Domain::one_of(["home", "home office"]), &[]), Order::Ascending);
        assert_eq!(
            natural(Domain::one_of(["home", "home office"]), &rest),
            Order::Unordered
        );
        assert_eq!(
            natural(Domain::one_of(["home office", "home"]), &rest),
            Order::Ascending
        );
        assert_eq!(natural(Domain::one_of(["home office", "home"]), &[]), Order::Unordered);
    }
}
