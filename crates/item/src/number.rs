//! DynamoDB's number: an exact decimal of at most 38 significant digits.

mod arithmetic;
mod text;

use std::cmp::Ordering;
use std::fmt;
use std::hash::Hash;

/// An exact decimal of at most 38 significant digits and a magnitude between `1E-130` and
/// `9.99…E+125`, or zero.
///
/// Equality, order and hash are by value: `1`, `1.0` and `10E-1` parse to the same number. It prints
/// as DynamoDB prints it, without an exponent and without superfluous zeros.
///
/// ```
/// use singlet_item::Number;
///
/// let price: Number = "19.90".parse()?;
/// let total = price.checked_mul(Number::from(3))?;
/// assert_eq!(total.to_string(), "59.7");
/// # Ok::<(), singlet_item::NumberError>(())
/// ```
// Aligned to eight bytes: values, of which every row has many, are a third smaller for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(Rust, packed(8))]
pub struct Number {
    /// The significant digits with their sign. It never ends in a zero digit, unless it is zero, so
    /// that equal numbers have equal fields.
    mantissa: i128,
    /// The power of ten by which the mantissa is multiplied; zero for zero.
    exponent: i16,
}

impl Number {
    /// Zero.
    pub const ZERO: Self = Self {
        mantissa: 0,
        exponent: 0,
    };
    /// One.
    pub const ONE: Self = Self {
        mantissa: 1,
        exponent: 0,
    };
    /// The most significant digits.
    pub(crate) const DIGITS_MAX: u8 = 38;

    /// Whether it is zero.
    pub fn is_zero(self) -> bool {
        self.mantissa == 0
    }

    /// Whether it is below zero.
    pub fn is_negative(self) -> bool {
        self.mantissa < 0
    }

    /// Whether it has no fraction.
    pub fn is_integer(self) -> bool {
        self.exponent >= 0
    }

    /// How many digits stand from the first to the last that is not zero; none for zero.
    pub fn significant_digits(self) -> u8 {
        digits_of(self.magnitude())
    }

    /// How many digits stand before the point, none for a number between minus one and one.
    pub fn integer_digits(self) -> u8 {
        let digits = i16::from(self.significant_digits()) + self.exponent;
        u8::try_from(digits.max(0)).unwrap_or(u8::MAX)
    }

    /// How many digits stand after the point.
    pub fn fraction_digits(self) -> u8 {
        u8::try_from((-self.exponent).max(0)).unwrap_or(u8::MAX)
    }

    /// The number as an integer of 64 bits, if it is one.
    pub fn to_i64(self) -> Option<i64> {
        let power = power_of_ten(u32::try_from(self.exponent).ok()?)?;
        let value = self.mantissa.checked_mul(i128::try_from(power).ok()?)?;
        i64::try_from(value).ok()
    }

    /// The nearest binary number: what its text is read as.
    pub fn to_f64(self) -> Option<f64> {
        // Digits and power are exact in a float here, so that one division or multiplication rounds once, as reading the text does.
        const EXACT_DIGITS_MAX: i128 = 1 << 53;
        const EXACT_POWERS: [f64; 23] = [
            1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
            1e19, 1e20, 1e21, 1e22,
        ];
        let (digits, exponent) = self.to_parts();
        let power = EXACT_POWERS.get(usize::from(exponent.unsigned_abs()));
        match power.filter(|_| (-EXACT_DIGITS_MAX..=EXACT_DIGITS_MAX).contains(&digits)) {
            Some(power) if exponent < 0 => Some(digits as f64 / power),
            Some(power) => Some(digits as f64 * power),
            None => self.to_string().parse().ok(),
        }
    }

    /// The number as an unsigned integer of 64 bits, if it is one.
    pub fn to_u64(self) -> Option<u64> {
        u64::try_from(self.scaled_magnitude(0)?)
            .ok()
            .filter(|_| !self.is_negative())
    }

    /// The magnitude times ten to the power of `decimals`, if that is an integer of at most 38 digits.
    pub(crate) fn scaled_magnitude(self, decimals: u8) -> Option<u128> {
        let shift = u32::try_from(self.exponent + i16::from(decimals)).ok()?;
        let scaled = self.magnitude().checked_mul(power_of_ten(shift)?)?;
        (digits_of(scaled) <= Self::DIGITS_MAX).then_some(scaled)
    }

    /// The significant digits with their sign, and the power of ten by which they are multiplied: how a store keeps it.
    pub fn to_parts(self) -> (i128, i16) {
        (self.mantissa, self.exponent)
    }

    /// The number of these digits and that power of ten.
    pub fn from_parts(digits: i128, power: i16) -> Result<Self, NumberError> {
        Self::normalised(digits < 0, digits.unsigned_abs(), i32::from(power))
    }

    fn magnitude(self) -> u128 {
        self.mantissa.unsigned_abs()
    }

    /// The number `±magnitude × 10^exponent` in its only representation.
    fn normalised(negative: bool, magnitude: u128, exponent: i32) -> Result<Self, NumberError> {
        let (mut magnitude, mut exponent) = (magnitude, exponent);
        if magnitude == 0 {
            return Ok(Self::ZERO);
        }
        while magnitude.is_multiple_of(10) {
            magnitude /= 10;
            exponent += 1;
        }
        let digits = digits_of(magnitude);
        if digits > Self::DIGITS_MAX {
            return Err(NumberError::TooManyDigits);
        }
        match exponent + i32::from(digits) - 1 {
            126.. => return Err(NumberError::TooLarge),
            ..=-131 => return Err(NumberError::TooSmall),
            _ => {}
        }
        let mantissa = i128::try_from(magnitude).map_err(|_| NumberError::TooManyDigits)?;
        let exponent = i16::try_from(exponent).map_err(|_| NumberError::TooLarge)?;
        Ok(Self {
            mantissa: if negative { -mantissa } else { mantissa },
            exponent,
        })
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match self.mantissa.signum().cmp(&other.mantissa.signum()) {
            Ordering::Equal if self.is_negative() => cmp_magnitudes(*other, *self),
            Ordering::Equal => cmp_magnitudes(*self, *other),
            unequal => unequal,
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

macro_rules! from_integer {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Number {
            fn from(integer: $integer) -> Self {
                // At most twenty digits: neither the digits nor the range can be exceeded.
                let magnitude = i128::from(integer).unsigned_abs();
                Self::normalised(i128::from(integer) < 0, magnitude, 0).unwrap_or_default()
            }
        }
    )*};
}

from_integer!(u8, u32, u64, i32, i64);

/// Why a text or a result is not a [`Number`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NumberError {
    /// The text is not a decimal number.
    Malformed(String),
    /// The value has more than 38 significant digits.
    TooManyDigits,
    /// The magnitude is above `9.99…E+125`.
    TooLarge,
    /// The magnitude is below `1E-130`, yet not zero.
    TooSmall,
    /// The divisor is zero.
    DivisionByZero,
}

impl fmt::Display for NumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(text) => write!(f, "`{text}` is not a number"),
            Self::TooManyDigits => f.write_str("a number has at most 38 significant digits"),
            Self::TooLarge => f.write_str("the magnitude of a number is below 1E+126"),
            Self::TooSmall => f.write_str("the magnitude of a number other than zero is at least 1E-130"),
            Self::DivisionByZero => f.write_str("division by zero"),
        }
    }
}

impl std::error::Error for NumberError {}

/// Compares magnitudes: first by the place of the leading digit, then digit by digit.
fn cmp_magnitudes(left: Number, right: Number) -> Ordering {
    let digits = |number: Number| i16::from(number.significant_digits());
    let place = |number: Number| number.exponent + digits(number);
    let width = digits(left).max(digits(right));
    let aligned = |number: Number| {
        let shift = u32::try_from(width - digits(number)).unwrap_or(0);
        number.magnitude().saturating_mul(power_of_ten(shift).unwrap_or(1))
    };
    place(left)
        .cmp(&place(right))
        .then_with(|| aligned(left).cmp(&aligned(right)))
}

fn digits_of(magnitude: u128) -> u8 {
    magnitude
        .checked_ilog10()
        .map_or(0, |log| u8::try_from(log).unwrap_or(u8::MAX) + 1)
}

fn power_of_ten(exponent: u32) -> Option<u128> {
    10u128.checked_pow(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        text.parse().unwrap()
    }

    #[test]
    fn as_a_float_it_is_what_its_text_is_read_as() {
        let near_bounds = [
            "9007199254740991",
            "9007199254740992",
            "9007199254740993",
            "1E22",
            "1E23",
            "1E-22",
            "1E-23",
        ];
        let places = [
            "0",
            "52.2297",
            "-21.0122",
            "0.1",
            "0.3",
            "-180",
            "89.99999999999999",
            "5",
            "0.043",
        ];
        let wide = [
            "12345678901234567890123456789012345678",
            "1.7976931348623157E+125",
            "9E-130",
        ];
        for text in near_bounds.into_iter().chain(places).chain(wide) {
            for text in [text.to_owned(), format!("-{}", text.trim_start_matches('-'))] {
                let read: f64 = number(&text).to_string().parse().unwrap();
                assert_eq!(number(&text).to_f64().map(f64::to_bits), Some(read.to_bits()), "{text}");
            }
        }
        for digits in (0..20_000).map(|step: i64| step * 7_919 - 79_190_000) {
            let text = format!("{digits}E-5");
            let read: f64 = number(&text).to_string().parse().unwrap();
            assert_eq!(number(&text).to_f64(), Some(read), "{text}");
        }
    }

    #[test]
    fn equal_values_are_equal_and_hash_alike() {
        use std::collections::HashSet;
        let spellings = ["1", "1.0", "10E-1", "0.01e2", "+1", "001"];
        let distinct: HashSet<Number> = spellings.iter().map(|text| number(text)).collect();
        assert_eq!(distinct, HashSet::from([Number::ONE]));
    }

    #[test]
    fn order_is_by_value_across_signs_and_exponents() {
        let ascending = [
            "-1E125",
            "-10",
            "-9.99",
            "-1",
            "-1E-130",
            "0",
            "1E-130",
            "0.5",
            "0.51",
            "1",
            "9",
            "10",
            "99999999999999999999999999999999999999",
            "1E+38",
            "1E125",
        ];
        for pair in ascending.windows(2) {
            assert!(number(pair[0]) < number(pair[1]), "{} < {}", pair[0], pair[1]);
        }
    }

    #[test]
    fn digits_are_counted_around_the_point() {
        let counts = |text| {
            let number = number(text);
            (
                number.significant_digits(),
                number.integer_digits(),
                number.fraction_digits(),
            )
        };
        assert_eq!(counts("0"), (0, 0, 0));
        assert_eq!(counts("100"), (1, 3, 0));
        assert_eq!(counts("-12.345"), (5, 2, 3));
        assert_eq!(counts("0.005"), (1, 0, 3));
    }

    #[test]
    fn parts_come_back_and_have_the_same_bounds() {
        for text in [
            "0",
            "1",
            "-1.5",
            "1E-130",
            "-9.9999999999999999999999999999999999999E+125",
            "1200",
        ] {
            let (digits, power) = number(text).to_parts();
            assert_eq!(Number::from_parts(digits, power), Ok(number(text)));
        }
        assert_eq!(Number::from_parts(120, 0), Ok(number("120")));
        assert_eq!(Number::from_parts(i128::MIN, 0), Err(NumberError::TooManyDigits));
        assert_eq!(Number::from_parts(1, 126), Err(NumberError::TooLarge));
        assert_eq!(Number::from_parts(1, -131), Err(NumberError::TooSmall));
    }

    #[test]
    fn integers_of_64_bits_come_back() {
        for integer in [0, 1, -1, 10, 1_000_000, i64::MAX, i64::MIN] {
            assert_eq!(Number::from(integer).to_i64(), Some(integer));
        }
        assert_eq!(number("9223372036854775808").to_i64(), None);
        assert_eq!(number("1.5").to_i64(), None);
        assert_eq!(number("1E100").to_i64(), None);
        assert_eq!(Number::from(u64::MAX).to_u64(), Some(u64::MAX));
        assert_eq!(number("-1").to_u64(), None);
    }
}
