//! Keys of the rows that are kept beside those of entities, where the partition key is a number.

use crate::Number;

/// The digits of a number.
const DIGITS: u32 = 38;

/// The number that stands for a place: negative, and with more decimals than any number has that a model limits. So no whole number
/// is one, nor one whose limits say its decimals or begin at zero.
pub fn kept_number(hash: u128) -> Option<Number> {
    let least = 10_u128.pow(DIGITS - 1);
    // All its digits are set, so that the number has this length whatever the hash is.
    let digits = least + hash % (9 * least);
    format!("-{digits}E-130").parse().ok()
}

/// Whether a number is one that stands for a place.
pub fn is_kept_number(number: &Number) -> bool {
    let zero = Number::from(0);
    let least: Option<Number> = format!("-1E{}", DIGITS as i32 - 130).parse().ok();
    *number < zero && least.is_some_and(|least| *number > least)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::{is_kept_number, kept_number};
    use crate::Number;

    #[test]
    fn every_hash_has_a_number_that_dynamodb_takes() {
        let all = [0, 1, 9 * 10_u128.pow(37) - 1, 9 * 10_u128.pow(37), u128::MAX];
        let numbers = all.map(|hash| kept_number(hash).unwrap().to_string());
        assert_eq!(numbers.first(), numbers.get(3));
        assert_ne!(numbers.first(), numbers.get(1));
        assert!(numbers.iter().all(|number| number.starts_with('-')), "{numbers:?}");
        assert!(all.iter().all(|hash| is_kept_number(&kept_number(*hash).unwrap())));
        for other in ["0", "-1", "1E-93", "-1E-92", "-0.000001"] {
            assert!(!is_kept_number(&other.parse::<Number>().unwrap()), "{other}");
        }
    }
}
