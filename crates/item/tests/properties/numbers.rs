//! Arithmetic against integers of 128 bits.

use super::cases;
use proptest::prelude::*;
use singlet_item::Number;

/// The digits after the point of the reference: a number is an integer of units `1E-6`.
const PLACES: u32 = 6;
const UNIT: i128 = 10i128.pow(PLACES);

fn number(units: i128, places: u32) -> Number {
    format!("{units}E-{places}").parse().unwrap()
}

fn half_away(numerator: i128, denominator: i128) -> i128 {
    let negative = (numerator < 0) != (denominator < 0);
    let (numerator, denominator) = (numerator.unsigned_abs(), denominator.unsigned_abs());
    let rounded = i128::try_from((2 * numerator + denominator) / (2 * denominator)).unwrap();
    if negative { -rounded } else { rounded }
}

fn units() -> impl Strategy<Value = i128> {
    let scale = prop::sample::select(vec![1, 10, 1000, UNIT, UNIT * 1000]);
    (-1_000_000i128..=1_000_000, scale).prop_map(|(count, scale)| count * scale)
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn sums_products_and_remainders_are_those_of_integers(a in units(), b in units()) {
        let (x, y) = (number(a, PLACES), number(b, PLACES));
        prop_assert_eq!(x.checked_add(y).unwrap(), number(a + b, PLACES));
        prop_assert_eq!(x.checked_sub(y).unwrap(), number(a - b, PLACES));
        prop_assert_eq!(x.checked_mul(y).unwrap(), number(a * b, 2 * PLACES));
        prop_assert_eq!(-x, number(-a, PLACES));
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
        if b != 0 {
            prop_assert_eq!(x.checked_rem(y).unwrap(), number(a % b, PLACES));
        }
    }

    #[test]
    fn quotients_are_rounded_half_away_from_zero(a in units(), b in units(), decimals in 0u8..=8) {
        prop_assume!(b != 0);
        let quotient = half_away(a * 10i128.pow(decimals.into()), b);
        let actual = number(a, PLACES).div_rounded(number(b, PLACES), decimals).unwrap();
        prop_assert_eq!(actual, number(quotient, decimals.into()));
    }

    #[test]
    fn rounding_is_that_of_integers(a in units(), decimals in 0u8..=6) {
        let step = 10i128.pow(PLACES - u32::from(decimals));
        let x = number(a, PLACES);
        prop_assert_eq!(x.round(decimals), number(half_away(a, step), decimals.into()));
        prop_assert_eq!(x.floor(decimals), number(a.div_euclid(step), decimals.into()));
        prop_assert_eq!(x.ceil(decimals), number(-(-a).div_euclid(step), decimals.into()));
    }

    #[test]
    fn printed_numbers_parse_to_themselves(
        digits in "[1-9][0-9]{0,37}",
        exponent in -130i32..=88,
        sign in "-?",
    ) {
        if let Ok(number) = format!("{sign}{digits}E{exponent}").parse::<Number>() {
            let printed = number.to_string();
            prop_assert!(!printed.contains('E') && !printed.starts_with("00"));
            prop_assert_eq!(printed.parse::<Number>().unwrap(), number);
        }
    }

    #[test]
    fn integers_agree_with_their_text(integer in any::<i64>()) {
        prop_assert_eq!(Number::from(integer).to_string(), integer.to_string());
        prop_assert_eq!(Number::from(integer).to_i64(), Some(integer));
    }
}
