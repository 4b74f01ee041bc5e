//! Sets of numbers: a range and a grid.

use crate::Number;
use std::fmt;

/// The numbers between two limits, both included, with at most so many digits after the point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NumberRange {
    /// The most digits after the point: none for integers. Nothing said, any.
    pub decimals: Option<u8>,
    /// The least number.
    pub min: Option<Number>,
    /// The largest number.
    pub max: Option<Number>,
}

impl NumberRange {
    /// The integers between two limits.
    pub fn integer_range(min: Option<i64>, max: Option<i64>) -> Self {
        Self {
            decimals: Some(0),
            min: min.map(Number::from),
            max: max.map(Number::from),
        }
    }

    /// Whether `number` is one of them.
    pub fn contains(&self, number: Number) -> bool {
        self.decimals
            .is_none_or(|decimals| number.fraction_digits() <= decimals)
            && self.min.is_none_or(|min| min <= number)
            && self.max.is_none_or(|max| number <= max)
    }

    /// The digits before and after the point to which every number can be padded: those of the
    /// upper limit and of the grid. Without them, or below zero, there is no such width.
    pub(crate) fn padded_digits(&self) -> Option<(u8, u8)> {
        let fraction = self.decimals?;
        let integer = self.max?.integer_digits().max(1);
        let fits = integer.checked_add(fraction)? <= Number::DIGITS_MAX;
        (fits && !self.min?.is_negative()).then_some((integer, fraction))
    }

    /// The least number on the grid.
    pub(crate) fn lowest(&self) -> Option<Number> {
        self.min
            .map(|min| self.decimals.map_or(min, |decimals| min.ceil(decimals)))
    }

    /// The largest number on the grid.
    pub(crate) fn highest(&self) -> Option<Number> {
        self.max
            .map(|max| self.decimals.map_or(max, |decimals| max.floor(decimals)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!((self.lowest(), self.highest()), (Some(lowest), Some(highest)) if lowest > highest)
    }

    pub(crate) fn meet(&self, other: &Self) -> Self {
        let tighter = |one: Option<u8>, two: Option<u8>| one.into_iter().chain(two).min();
        Self {
            decimals: tighter(self.decimals, other.decimals),
            min: self.min.max(other.min),
            max: self.max.into_iter().chain(other.max).min(),
        }
    }

    /// A number that reads well in an example.
    pub(crate) fn sample_number(&self) -> Option<Number> {
        [Some(Number::ONE), Some(Number::ZERO), self.lowest(), self.highest()]
            .into_iter()
            .flatten()
            .find(|number| self.contains(*number))
    }

    /// The numbers from the least one upward, at most `limit`, and whether these are all.
    pub(crate) fn lowest_numbers(&self, limit: usize) -> (Vec<Number>, bool) {
        let (Some(lowest), Some(highest), Some(decimals)) = (self.lowest(), self.highest(), self.decimals) else {
            return (self.sample_number().into_iter().collect(), false);
        };
        let mut numbers = Vec::new();
        let mut next = Some(lowest);
        while let Some(number) = next.filter(|number| *number <= highest) {
            if numbers.len() == limit {
                return (numbers, false);
            }
            numbers.push(number);
            next = number.next_number(decimals);
        }
        (numbers, next.is_some())
    }
}

impl fmt::Display for NumberRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.decimals {
            Some(0) => f.write_str("an integer")?,
            Some(decimals) => write!(f, "a number with at most {decimals} decimals")?,
            None => f.write_str("a number")?,
        }
        match (self.min, self.max) {
            (Some(min), Some(max)) => write!(f, " between {min} and {max}"),
            (Some(min), None) => write!(f, " of at least {min}"),
            (None, Some(max)) => write!(f, " of at most {max}"),
            (None, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(decimals: Option<u8>, min: &str, max: &str) -> NumberRange {
        NumberRange {
            decimals,
            min: min.parse().ok(),
            max: max.parse().ok(),
        }
    }

    #[test]
    fn limits_are_included_and_the_grid_binds() {
        let prices = range(Some(2), "0.01", "99.99");
        for (text, expected) in [
            ("0.01", true),
            ("99.99", true),
            ("0", false),
            ("100", false),
            ("1.234", false),
        ] {
            assert_eq!(prices.contains(text.parse().unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn padding_takes_the_digits_of_the_upper_limit() {
        assert_eq!(range(Some(2), "0.01", "99999.99").padded_digits(), Some((5, 2)));
        assert_eq!(range(Some(0), "0", "0").padded_digits(), Some((1, 0)));
        assert_eq!(range(Some(0), "-1", "9").padded_digits(), None);
        assert_eq!(range(Some(0), "0", "").padded_digits(), None);
        assert_eq!(range(None, "0", "9").padded_digits(), None);
        assert_eq!(range(Some(2), "0", "1E40").padded_digits(), None);
    }

    #[test]
    fn a_meet_may_be_empty_on_its_grid() {
        assert!(range(Some(0), "0.1", "0.9").is_empty());
        assert!(!range(Some(1), "0.1", "0.9").is_empty());
        let meet = range(Some(2), "0", "5").meet(&range(Some(0), "3", "9"));
        assert_eq!(meet, range(Some(0), "3", "5"));
    }

    #[test]
    fn small_ranges_are_listed_whole() {
        let (numbers, complete) = range(Some(1), "0.85", "1.1").lowest_numbers(10);
        let texts: Vec<String> = numbers.iter().map(Number::to_string).collect();
        assert_eq!((texts.join(" ").as_str(), complete), ("0.9 1 1.1", true));
        assert_eq!(range(Some(0), "0", "100").lowest_numbers(3).0.len(), 3);
        assert!(!range(Some(0), "0", "100").lowest_numbers(3).1);
    }
}
