//! Exact arithmetic: a result is either the true one or an error, except where rounding is asked for.

use super::{Number, NumberError, digits_of, power_of_ten};
use std::ops::Neg;

impl Number {
    /// The sum.
    pub fn checked_add(self, other: Self) -> Result<Self, NumberError> {
        let (high, low) = if self.exponent >= other.exponent {
            (self, other)
        } else {
            (other, self)
        };
        if low.is_zero() || high.is_zero() {
            return Ok(if low.is_zero() { high } else { low });
        }
        let shift = u32::try_from(high.exponent - low.exponent).unwrap_or(u32::MAX);
        // The last digit of `low` is not zero, so a sum that leaves 128 bits cannot lose enough
        // digits to fit into 38 again.
        let shifted = power_of_ten(shift)
            .and_then(|power| high.magnitude().checked_mul(power))
            .ok_or(NumberError::TooManyDigits)?;
        let exponent = i32::from(low.exponent);
        if high.is_negative() == low.is_negative() {
            let sum = shifted.checked_add(low.magnitude()).ok_or(NumberError::TooManyDigits)?;
            return Self::normalised(high.is_negative(), sum, exponent);
        }
        let larger = if shifted >= low.magnitude() { high } else { low };
        Self::normalised(larger.is_negative(), shifted.abs_diff(low.magnitude()), exponent)
    }

    /// The difference.
    pub fn checked_sub(self, other: Self) -> Result<Self, NumberError> {
        self.checked_add(-other)
    }

    /// The product.
    pub fn checked_mul(self, other: Self) -> Result<Self, NumberError> {
        let (mut left, mut right) = (self.magnitude(), other.magnitude());
        let mut exponent = i32::from(self.exponent) + i32::from(other.exponent);
        if left == 0 || right == 0 {
            return Ok(Self::ZERO);
        }
        // Each pair of a two on one side and a five on the other is a trailing zero of the product.
        // Without them the product has none, so what overflows has too many digits.
        for (left_factor, right_factor) in [(2, 5), (5, 2)] {
            while left.is_multiple_of(left_factor) && right.is_multiple_of(right_factor) {
                left /= left_factor;
                right /= right_factor;
                exponent += 1;
            }
        }
        let product = left.checked_mul(right).ok_or(NumberError::TooManyDigits)?;
        Self::normalised(self.is_negative() != other.is_negative(), product, exponent)
    }

    /// The remainder of the division truncated toward zero; it has the sign of `self`.
    pub fn checked_rem(self, other: Self) -> Result<Self, NumberError> {
        if other.is_zero() {
            return Err(NumberError::DivisionByZero);
        }
        let shift = i32::from(self.exponent) - i32::from(other.exponent);
        let places = shift.unsigned_abs();
        let exponent = i32::from(self.exponent.min(other.exponent));
        let remainder = if shift >= 0 {
            remainder_of_shifted(self.magnitude(), places, other.magnitude())
        } else {
            match power_of_ten(places).and_then(|power| other.magnitude().checked_mul(power)) {
                Some(divisor) => self.magnitude() % divisor,
                None => self.magnitude(),
            }
        };
        Self::normalised(self.is_negative(), remainder, exponent)
    }

    /// The quotient, rounded half away from zero to `decimals` digits after the point.
    pub fn div_rounded(self, other: Self, decimals: u8) -> Result<Self, NumberError> {
        if other.is_zero() {
            return Err(NumberError::DivisionByZero);
        }
        let negative = self.is_negative() != other.is_negative();
        let divisor = other.magnitude();
        let places = i32::from(self.exponent) - i32::from(other.exponent) + i32::from(decimals);
        let mut quotient = self.magnitude() / divisor;
        let mut remainder = self.magnitude() % divisor;
        if places < 0 {
            // Cutting digits off cannot lose the rounding: a remainder only breaks a tie upward,
            // and away from zero a tie already goes there.
            let quotient = half_away(quotient, places.unsigned_abs());
            return Self::normalised(negative, quotient, -i32::from(decimals));
        }
        let mut written = 0;
        while written < places && remainder != 0 {
            let (digit, rest) = next_digit(remainder, divisor);
            quotient = quotient
                .checked_mul(10)
                .and_then(|shifted| shifted.checked_add(digit))
                .ok_or(NumberError::TooManyDigits)?;
            remainder = rest;
            written += 1;
        }
        if remainder >= divisor - remainder {
            quotient = quotient.checked_add(1).ok_or(NumberError::TooManyDigits)?;
        }
        Self::normalised(negative, quotient, places - written - i32::from(decimals))
    }

    /// The nearest number with at most `decimals` digits after the point, halves away from zero.
    pub fn round(self, decimals: u8) -> Self {
        let (kept, cut) = self.split_fraction(decimals);
        let half = power_of_ten(u32::from(self.cut_digits(decimals))).map(|power| power / 2);
        self.with_last_place(kept, decimals, half.is_some_and(|half| cut > 0 && cut >= half))
    }

    /// The largest number with at most `decimals` digits after the point that is not above this one.
    pub fn floor(self, decimals: u8) -> Self {
        let (kept, cut) = self.split_fraction(decimals);
        self.with_last_place(kept, decimals, cut > 0 && self.is_negative())
    }

    /// The least number with at most `decimals` digits after the point that is not below this one.
    pub fn ceil(self, decimals: u8) -> Self {
        let (kept, cut) = self.split_fraction(decimals);
        self.with_last_place(kept, decimals, cut > 0 && !self.is_negative())
    }

    /// The next larger number with at most `decimals` digits after the point, if it has few enough.
    pub(crate) fn next_number(self, decimals: u8) -> Option<Self> {
        let unit = Self::normalised(false, 1, -i32::from(decimals)).ok()?;
        self.floor(decimals).checked_add(unit).ok()
    }

    /// The magnitude without the digits past `decimals`, in units of that place, and those digits.
    fn split_fraction(self, decimals: u8) -> (u128, u128) {
        match power_of_ten(u32::from(self.cut_digits(decimals))) {
            Some(power) => (self.magnitude() / power, self.magnitude() % power),
            None => (0, self.magnitude()),
        }
    }

    fn cut_digits(self, decimals: u8) -> u8 {
        self.fraction_digits().saturating_sub(decimals)
    }

    /// The number of `kept` units of the place `decimals`, one more if `up`. A number that has no
    /// digit past that place is itself.
    fn with_last_place(self, kept: u128, decimals: u8, up: bool) -> Self {
        if self.cut_digits(decimals) == 0 {
            return self;
        }
        let units = kept + u128::from(up);
        // A digit was cut, so what is left has at most 38, and its place is inside the range.
        Self::normalised(self.is_negative(), units, -i32::from(decimals)).unwrap_or(self)
    }
}

impl Neg for Number {
    type Output = Self;

    fn neg(self) -> Self {
        Self {
            mantissa: -self.mantissa,
            ..self
        }
    }
}

/// The next decimal digit of `remainder / divisor` and what remains. Ten times the remainder may
/// leave 128 bits, so it is reached by addition.
fn next_digit(remainder: u128, divisor: u128) -> (u128, u128) {
    let mut digit = 0;
    let mut sum = 0;
    for _ in 0..10 {
        sum += remainder;
        if sum >= divisor {
            sum -= divisor;
            digit += 1;
        }
    }
    (digit, sum)
}

/// `magnitude × 10^places` modulo `divisor`.
fn remainder_of_shifted(magnitude: u128, places: u32, divisor: u128) -> u128 {
    (0..places).fold(magnitude % divisor, |remainder, _| next_digit(remainder, divisor).1)
}

/// `magnitude / 10^places`, halves upward.
fn half_away(magnitude: u128, places: u32) -> u128 {
    if places > u32::from(digits_of(magnitude)) {
        return 0;
    }
    match power_of_ten(places) {
        Some(power) => magnitude / power + u128::from(magnitude % power >= power / 2),
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        text.parse().unwrap()
    }

    #[test]
    fn sums_align_their_exponents() {
        let cases = [
            ("1", "2", "3"),
            ("0.1", "0.2", "0.3"),
            ("1E20", "-1E20", "0"),
            ("100", "0.01", "100.01"),
            ("-5", "3", "-2"),
            ("3", "-5", "-2"),
            (
                "99999999999999999999999999999999999999",
                "1",
                "100000000000000000000000000000000000000",
            ),
            (
                "150000000000000000000000000000000000000",
                "-50000000000000000000000000000000000001",
                "99999999999999999999999999999999999999",
            ),
        ];
        for (left, right, sum) in cases {
            assert_eq!(
                number(left).checked_add(number(right)),
                Ok(number(sum)),
                "{left} + {right}"
            );
        }
    }

    #[test]
    fn a_sum_of_more_digits_than_fit_is_an_error() {
        assert_eq!(
            number("1E30").checked_add(number("1E-10")),
            Err(NumberError::TooManyDigits)
        );
        assert_eq!(
            number("1E125").checked_sub(number("1E-130")),
            Err(NumberError::TooManyDigits)
        );
        let widest = number("9.9999999999999999999999999999999999999E125");
        assert_eq!(widest.checked_add(widest), Err(NumberError::TooManyDigits));
        assert_eq!(number("9E125").checked_add(number("1E125")), Err(NumberError::TooLarge));
    }

    #[test]
    fn a_product_may_lose_digits_only_as_trailing_zeros() {
        let power_of_two = number(&(1u128 << 125).to_string());
        let power_of_five = number(&5u128.pow(54).to_string());
        assert_eq!(
            power_of_two.checked_mul(power_of_five),
            number(&(1u128 << 71).to_string()).checked_mul(number("1E54"))
        );
        assert_eq!(power_of_two.checked_mul(power_of_two), Err(NumberError::TooManyDigits));
        assert_eq!(number("-1.5").checked_mul(number("0.2")), Ok(number("-0.3")));
        assert_eq!(number("1E100").checked_mul(number("1E26")), Err(NumberError::TooLarge));
        assert_eq!(
            number("1E-100").checked_mul(number("1E-31")),
            Err(NumberError::TooSmall)
        );
    }

    #[test]
    fn a_remainder_has_the_sign_of_the_dividend() {
        let cases = [
            ("7", "3", "1"),
            ("-7", "3", "-1"),
            ("7", "-3", "1"),
            ("5.5", "2", "1.5"),
            ("1E30", "7", "1"),
            ("3", "1E30", "3"),
            ("0.3", "0.1", "0"),
            ("12345678901234567890", "0.7", "0.3"),
        ];
        for (left, right, remainder) in cases {
            assert_eq!(
                number(left).checked_rem(number(right)),
                Ok(number(remainder)),
                "{left} % {right}"
            );
        }
        assert_eq!(Number::ONE.checked_rem(Number::ZERO), Err(NumberError::DivisionByZero));
    }

    #[test]
    fn quotients_round_half_away_from_zero() {
        let cases = [
            ("1", "3", 2, "0.33"),
            ("2", "3", 2, "0.67"),
            ("1", "8", 2, "0.13"),
            ("-1", "8", 2, "-0.13"),
            ("10", "4", 0, "3"),
            ("1E100", "1", 2, "1E100"),
            ("1", "1E100", 2, "0"),
            ("149", "1E2", 0, "1"),
            ("150", "1E2", 0, "2"),
            ("1499", "1E3", 0, "1"),
            ("45", "1E2", 0, "0"),
            ("5", "1E1", 0, "1"),
            ("5", "1E2", 0, "0"),
            ("99", "1E2", 0, "1"),
        ];
        for (left, right, decimals, quotient) in cases {
            let actual = number(left).div_rounded(number(right), decimals);
            assert_eq!(actual, Ok(number(quotient)), "{left} / {right}");
        }
        assert_eq!(
            Number::ONE.div_rounded(Number::ZERO, 2),
            Err(NumberError::DivisionByZero)
        );
        assert_eq!(
            Number::ONE.div_rounded(number("3"), 50),
            Err(NumberError::TooManyDigits)
        );
    }

    #[test]
    fn rounding_to_a_place() {
        let rounded = |text, decimals| {
            let number = number(text);
            [number.round(decimals), number.floor(decimals), number.ceil(decimals)].map(|number| number.to_string())
        };
        assert_eq!(rounded("2.5", 0), ["3", "2", "3"]);
        assert_eq!(rounded("-2.5", 0), ["-3", "-3", "-2"]);
        assert_eq!(rounded("2.449", 1), ["2.4", "2.4", "2.5"]);
        assert_eq!(rounded("0.05", 1), ["0.1", "0", "0.1"]);
        assert_eq!(rounded("1E-100", 2), ["0", "0", "0.01"]);
        assert_eq!(rounded("120", 2), ["120", "120", "120"]);
        assert_eq!(
            rounded("0.99999999999999999999999999999999999999", 2),
            ["1", "0.99", "1"]
        );
    }
}
