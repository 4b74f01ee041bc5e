//! Sets of characters.

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

/// A set of characters as sorted ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Class(ClassUnicode);

impl Class {
    pub(crate) fn empty() -> Self {
        Self(ClassUnicode::empty())
    }

    pub(crate) fn any() -> Self {
        Self::range('\0', char::MAX)
    }

    pub(crate) fn single(character: char) -> Self {
        Self::range(character, character)
    }

    pub(crate) fn range(first: char, last: char) -> Self {
        Self(ClassUnicode::new([ClassUnicodeRange::new(first, last)]))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.ranges().is_empty()
    }

    pub(crate) fn contains(&self, character: char) -> bool {
        let ranges = self.0.ranges();
        let after = ranges.partition_point(|range| range.start() <= character);
        after
            .checked_sub(1)
            .and_then(|index| ranges.get(index))
            .is_some_and(|range| character <= range.end())
    }

    /// How many characters it holds, surrogates of a range included.
    pub(crate) fn size(&self) -> usize {
        self.0.ranges().iter().map(ClassUnicodeRange::len).sum()
    }

    /// How many steps it takes to meet it with another: most classes have few ranges, those of all letters hundreds.
    pub(crate) fn meeting_steps(&self) -> usize {
        const RANGES_PER_STEP: usize = 8;
        1 + self.range_count() / RANGES_PER_STEP
    }

    pub(crate) fn range_count(&self) -> usize {
        self.0.ranges().len()
    }

    pub(crate) fn first(&self) -> Option<char> {
        self.0.ranges().first().map(ClassUnicodeRange::start)
    }

    pub(crate) fn last(&self) -> Option<char> {
        self.0.ranges().last().map(ClassUnicodeRange::end)
    }

    pub(crate) fn characters(&self) -> impl Iterator<Item = char> + '_ {
        self.0.ranges().iter().flat_map(|range| range.start()..=range.end())
    }

    pub(crate) fn insert(&mut self, character: char) {
        self.0.push(ClassUnicodeRange::new(character, character));
    }

    pub(crate) fn join(&mut self, other: &Self) {
        self.0.union(&other.0);
    }

    pub(crate) fn meet(&self, other: &Self) -> Self {
        // Most classes of a product are single characters, or equal: both spare a copy of ranges.
        match (self.only(), other.only()) {
            (Some(character), _) if other.contains(character) => return self.clone(),
            (_, Some(character)) if self.contains(character) => return other.clone(),
            (None, None) => {}
            _ => return Self::empty(),
        }
        let mut class = self.0.clone();
        class.intersect(&other.0);
        Self(class)
    }

    pub(crate) fn without(&self, other: &Self) -> Self {
        let mut class = self.0.clone();
        class.difference(&other.0);
        Self(class)
    }

    /// A member that reads well in an example: a letter or a digit where there is one.
    pub(crate) fn readable_character(&self) -> Option<char> {
        let preferred = "a1"
            .chars()
            .chain('b'..='z')
            .chain('0'..='9')
            .chain('A'..='Z')
            .chain('!'..='~');
        preferred
            .into_iter()
            .find(|character| self.contains(*character))
            .or_else(|| self.first())
    }

    fn only(&self) -> Option<char> {
        match self.0.ranges() {
            [range] if range.start() == range.end() => Some(range.start()),
            _ => None,
        }
    }
}

impl From<ClassUnicode> for Class {
    fn from(class: ClassUnicode) -> Self {
        Self(class)
    }
}

impl FromIterator<char> for Class {
    fn from_iter<I: IntoIterator<Item = char>>(characters: I) -> Self {
        let ranges = characters
            .into_iter()
            .map(|character| ClassUnicodeRange::new(character, character));
        Self(ClassUnicode::new(ranges))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn membership_respects_every_range() {
        let class: Class = "acdz".chars().collect();
        let members: String = ('a'..='z').filter(|character| class.contains(*character)).collect();
        assert_eq!(members, "acdz");
        assert!(!class.contains('\0') && !class.contains(char::MAX));
        assert!(Class::any().contains('\0') && Class::any().contains(char::MAX));
    }

    #[test]
    fn meet_and_without_split_a_class() {
        let letters = Class::range('a', 'f');
        let vowels: Class = "aeiou".chars().collect();
        assert_eq!(letters.meet(&vowels).characters().collect::<String>(), "ae");
        assert_eq!(letters.without(&vowels).characters().collect::<String>(), "bcdf");
        assert!(letters.meet(&Class::single('z')).is_empty());
        assert_eq!(Class::single('b').meet(&letters), Class::single('b'));
    }

    #[test]
    fn examples_prefer_letters_and_digits() {
        assert_eq!(Class::any().readable_character(), Some('a'));
        assert_eq!(Class::range('0', '9').readable_character(), Some('1'));
        assert_eq!(Class::range('À', 'Ö').readable_character(), Some('À'));
        assert_eq!(Class::empty().readable_character(), None);
    }
}
