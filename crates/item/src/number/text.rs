//! Reading and printing numbers.

use super::{Number, NumberError};
use std::fmt;
use std::iter::repeat_n;
use std::str::FromStr;

impl FromStr for Number {
    type Err = NumberError;

    /// Reads a decimal: an optional sign, digits with an optional point, an optional exponent.
    fn from_str(text: &str) -> Result<Self, NumberError> {
        let malformed = || NumberError::Malformed(text.chars().take(64).collect());
        let (negative, unsigned) = match text.as_bytes().first() {
            Some(b'-') => (true, text.get(1..).unwrap_or_default()),
            Some(b'+') => (false, text.get(1..).unwrap_or_default()),
            _ => (false, text),
        };
        let (decimal, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((decimal, exponent)) => (decimal, parse_exponent(exponent).ok_or_else(malformed)?),
            None => (unsigned, 0),
        };
        let (integer, fraction) = decimal.split_once('.').unwrap_or((decimal, ""));
        let mut digits = integer.bytes().chain(fraction.bytes()).peekable();
        if digits.peek().is_none() || !digits.clone().all(|digit| digit.is_ascii_digit()) {
            return Err(malformed());
        }
        let (magnitude, trailing_zeros) = significand(digits)?;
        let places = |count: usize| i32::try_from(count).unwrap_or(EXPONENT_BOUND);
        let shift = exponent.saturating_add(places(trailing_zeros));
        Self::normalised(negative, magnitude, shift.saturating_sub(places(fraction.len())))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.magnitude().to_string();
        let zeros = |count: usize| repeat_n('0', count).collect::<String>();
        let places = usize::from(self.exponent.unsigned_abs());
        let text = if self.is_integer() {
            digits + &zeros(places)
        } else {
            let padded = zeros((places + 1).saturating_sub(digits.len())) + &digits;
            let (integer, fraction) = padded.split_at(padded.len() - places);
            format!("{integer}.{fraction}")
        };
        f.pad_integral(!self.is_negative(), "", &text)
    }
}

/// Any exponent past this bound is out of range whatever the digits; sums of a few stay in `i32`.
const EXPONENT_BOUND: i32 = 1 << 28;

fn parse_exponent(text: &str) -> Option<i32> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let magnitude = digits.parse().unwrap_or(EXPONENT_BOUND).min(EXPONENT_BOUND);
    Some(if negative { -magnitude } else { magnitude })
}

/// The digits without leading and trailing zeros as an integer, and how many trailing zeros were cut.
fn significand(digits: impl Iterator<Item = u8>) -> Result<(u128, usize), NumberError> {
    let mut magnitude = 0u128;
    let mut zeros = 0;
    for digit in digits.map(|digit| digit - b'0') {
        match digit {
            0 if magnitude == 0 => {}
            0 => zeros += 1,
            _ => {
                let shift = u32::try_from(zeros + 1).map_err(|_| NumberError::TooManyDigits)?;
                magnitude = super::power_of_ten(shift)
                    .and_then(|power| magnitude.checked_mul(power))
                    .and_then(|shifted| shifted.checked_add(u128::from(digit)))
                    .ok_or(NumberError::TooManyDigits)?;
                zeros = 0;
            }
        }
    }
    Ok((magnitude, zeros))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &str) -> String {
        text.parse::<Number>().unwrap().to_string()
    }

    #[test]
    fn every_accepted_spelling_prints_canonically() {
        let cases = [
            ("0", "0"),
            ("-0.00", "0"),
            ("0E999999999999", "0"),
            ("007.50", "7.5"),
            (".5", "0.5"),
            ("5.", "5"),
            ("-.25", "-0.25"),
            ("+12", "12"),
            ("1e3", "1000"),
            ("1E+3", "1000"),
            ("1.5E-3", "0.0015"),
            ("-120.0e-1", "-12"),
        ];
        for (text, expected) in cases {
            assert_eq!(printed(text), expected, "{text}");
        }
    }

    #[test]
    fn the_widest_numbers_keep_every_digit() {
        let digits = "12345678901234567890123456789012345678";
        assert_eq!(printed(digits), digits);
        assert_eq!(printed(&format!("0.{digits}")), format!("0.{digits}"));
        assert_eq!(printed("1E-130").len(), 132);
        assert_eq!(printed("9.9999999999999999999999999999999999999E+125").len(), 126);
        assert!(printed("1.5E-130").ends_with("15"));
    }

    #[test]
    fn what_is_out_of_range_says_why() {
        let error = |text: &str| text.parse::<Number>().unwrap_err();
        assert_eq!(
            error("123456789012345678901234567890123456789"),
            NumberError::TooManyDigits
        );
        assert_eq!(error("1E126"), NumberError::TooLarge);
        assert_eq!(error("1E99999999999"), NumberError::TooLarge);
        assert_eq!(error("1E-131"), NumberError::TooSmall);
        assert_eq!(error("-1E-99999999999"), NumberError::TooSmall);
    }

    #[test]
    fn what_is_no_number_is_quoted_back() {
        for text in [
            "", "-", "+-1", ".", "1e", "1e+", "e5", "0x10", "1_000", " 1", "1 ", "NaN", "1.2.3", "١",
        ] {
            assert!(
                matches!(text.parse::<Number>(), Err(NumberError::Malformed(_))),
                "{text}"
            );
        }
        assert_eq!(
            "1,5".parse::<Number>().unwrap_err().to_string(),
            "`1,5` is not a number"
        );
    }

    #[test]
    fn width_and_zero_flags_of_the_formatter_are_kept() {
        let number: Number = "-1.5".parse().unwrap();
        assert_eq!(format!("{number:>7}|{number:07}"), "   -1.5|-0001.5");
    }
}
