//! Automata of the numbers of a range, as they are written.

use super::automaton::{Automaton, AutomatonEdge, AutomatonState, Interner};
use super::class::Class;
use super::number_range::NumberRange;
use crate::Number;
use std::cmp::Ordering;

/// The numbers of a range, none of them negative, padded to so many digits on each side of the point.
pub(crate) fn padded_numerals(range: &NumberRange, integer_digits: u8, fraction_digits: u8) -> Automaton {
    let width = usize::from(integer_digits) + usize::from(fraction_digits);
    let digits = |number: Option<Number>| {
        let scaled = number.and_then(|number| number.scaled_magnitude(fraction_digits))?;
        Some(format!("{scaled:0width$}").into_bytes())
    };
    let (Some(low), Some(high)) = (digits(range.lowest()), digits(range.highest())) else {
        return Automaton::of_words([]);
    };
    let shape = Padded {
        low,
        high,
        point: usize::from(integer_digits),
        grid: grid_digits(range, integer_digits),
    };
    explore(
        shape.start(),
        |place| shape.steps(place),
        |place| place.written == width,
    )
}

/// The numbers of a range as [`Number`] prints them.
pub(crate) fn plain_numerals(range: &NumberRange) -> Automaton {
    let positive = magnitudes(range.lowest(), range.highest());
    let negative = magnitudes(range.highest().map(|max| -max), range.lowest().map(|min| -min));
    let readers = [("", positive, true), ("-", negative, false)].map(|(sign, (low, high), zero)| {
        let reader = NumeralReader {
            low,
            high,
            decimals: range.decimals,
            zero,
        };
        let automaton = explore(
            NumeralState::Start,
            |place| reader.steps(place),
            |place| reader.may_end(place),
        );
        (sign, automaton)
    });
    let mut builder = super::automaton::Builder::new();
    let end = builder.add_state();
    for (sign, automaton) in readers {
        let from = builder.text(0, sign);
        let last = builder.add_automaton(from, &automaton);
        builder.add_jump(last, end);
    }
    builder.finish(end)
}

/// The automaton that a deterministic stepping function describes.
fn explore<P: Clone + Eq + std::hash::Hash>(
    start: P,
    steps: impl Fn(&P) -> Vec<(char, P)>,
    may_end: impl Fn(&P) -> bool,
) -> Automaton {
    let mut places = Interner::new(start);
    let mut nodes = Vec::new();
    while let Some(place) = places.get(nodes.len()) {
        let mut edges: Vec<AutomatonEdge> = Vec::new();
        for (character, next) in steps(&place) {
            let target = places.intern(next);
            match edges.iter_mut().find(|edge| edge.target == target) {
                Some(edge) => edge.class.insert(character),
                None => edges.push(AutomatonEdge {
                    class: Class::single(character),
                    counted: true,
                    target,
                }),
            }
        }
        nodes.push(AutomatonState {
            edges,
            accepting: may_end(&place),
        });
    }
    Automaton::trimmed_nodes(nodes)
}

/// How many digits of a padded number may be other than zero.
fn grid_digits(range: &NumberRange, integer_digits: u8) -> usize {
    range.decimals.map_or(usize::MAX, |decimals| {
        usize::from(integer_digits) + usize::from(decimals)
    })
}

/// Numbers of one width between two others of that width.
struct Padded {
    low: Vec<u8>,
    high: Vec<u8>,
    point: usize,
    grid: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct PaddedPlace {
    written: usize,
    pointed: bool,
    /// Whether all digits so far are those of the limit, so that the next one is bound by it.
    on_low: bool,
    on_high: bool,
}

impl Padded {
    fn start(&self) -> PaddedPlace {
        PaddedPlace {
            written: 0,
            pointed: self.point == self.low.len(),
            on_low: true,
            on_high: true,
        }
    }

    fn steps(&self, place: &PaddedPlace) -> Vec<(char, PaddedPlace)> {
        if place.written == self.point && !place.pointed {
            return vec![(
                '.',
                PaddedPlace {
                    pointed: true,
                    ..place.clone()
                },
            )];
        }
        let bound = |limit: &[u8]| limit.get(place.written).copied();
        let (Some(low), Some(high)) = (bound(&self.low), bound(&self.high)) else {
            return Vec::new();
        };
        let first = if place.on_low { low } else { b'0' };
        let last = if place.on_high { high } else { b'9' };
        let last = if place.written >= self.grid {
            last.min(b'0')
        } else {
            last
        };
        let next = |digit| PaddedPlace {
            written: place.written + 1,
            pointed: place.pointed,
            on_low: place.on_low && digit == low,
            on_high: place.on_high && digit == high,
        };
        (first..=last).map(|digit| (char::from(digit), next(digit))).collect()
    }
}

/// The magnitudes of the numbers between two limits that are not below zero.
fn magnitudes(low: Option<Number>, high: Option<Number>) -> (Option<Numeral>, Option<Numeral>) {
    let low = low.filter(|low| !low.is_negative() && !low.is_zero()).map(Numeral::new);
    (low, high.map(Numeral::new))
}

/// A limit as it is written.
struct Numeral {
    negative: bool,
    integer: Vec<u8>,
    fraction: Vec<u8>,
}

impl Numeral {
    fn new(number: Number) -> Self {
        let text = number.to_string();
        let unsigned = text.trim_start_matches('-');
        let (integer, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        Self {
            negative: number.is_negative(),
            integer: integer.into(),
            fraction: fraction.into(),
        }
    }
}

/// Reads magnitudes between two limits, digit by digit, in the only way that [`Number`] writes them.
struct NumeralReader {
    low: Option<Numeral>,
    high: Option<Numeral>,
    decimals: Option<u8>,
    zero: bool,
}

/// How the digits so far compare with those of each limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct DigitComparison {
    low: Ordering,
    high: Ordering,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum NumeralState {
    Start,
    /// After so many digits of an integer part that does not begin with zero, or after a lone zero.
    Integer {
        digits: usize,
        zero: bool,
        compared: DigitComparison,
    },
    /// After so many digits of the fraction, of which so many (and the integer part) are
    /// significant; `digits` rests at zero where nothing depends on it any more.
    Fraction {
        digits: usize,
        leading_zeros: usize,
        significant: usize,
        ends_in_zero: bool,
        compared: DigitComparison,
    },
}

const SIGNIFICANT_DIGITS_MAX: usize = Number::DIGITS_MAX as usize;
const INTEGER_DIGITS_MAX: usize = 126;
const LEADING_ZEROS_MAX: usize = 129;

impl NumeralReader {
    fn steps(&self, place: &NumeralState) -> Vec<(char, NumeralState)> {
        match place {
            NumeralState::Start => {
                let equal = DigitComparison {
                    low: Ordering::Equal,
                    high: Ordering::Equal,
                };
                digits(b'0')
                    .map(|digit| (char::from(digit), self.integer(0, digit, equal, digit == b'0')))
                    .collect()
            }
            NumeralState::Integer {
                digits: count,
                zero,
                compared,
            } => {
                let mut steps = Vec::new();
                if !zero && *count < INTEGER_DIGITS_MAX {
                    let last = if *count < SIGNIFICANT_DIGITS_MAX { b'9' } else { b'0' };
                    steps.extend(
                        (b'0'..=last).map(|digit| (char::from(digit), self.integer(*count, digit, *compared, false))),
                    );
                }
                if self.decimals != Some(0) && *count < SIGNIFICANT_DIGITS_MAX {
                    steps.push(('.', self.point(*count, *zero, *compared)));
                }
                steps
            }
            NumeralState::Fraction { .. } => digits(b'0')
                .filter_map(|digit| Some((char::from(digit), self.fraction(place, digit)?)))
                .collect(),
        }
    }

    fn may_end(&self, place: &NumeralState) -> bool {
        match place {
            NumeralState::Start => false,
            NumeralState::Integer { digits, zero, compared } => {
                let compared = self.integer_ended(*digits, *compared);
                (self.zero || !zero) && self.within(compared, 0)
            }
            NumeralState::Fraction {
                digits,
                ends_in_zero,
                compared,
                ..
            } => !ends_in_zero && self.within(*compared, *digits),
        }
    }

    fn integer(&self, count: usize, digit: u8, compared: DigitComparison, zero: bool) -> NumeralState {
        let compared = self.compare(
            compared,
            |limit| limit.integer.get(count).copied().unwrap_or(b'0'),
            digit,
        );
        NumeralState::Integer {
            digits: count + 1,
            zero,
            compared,
        }
    }

    fn point(&self, count: usize, zero: bool, compared: DigitComparison) -> NumeralState {
        let compared = self.integer_ended(count, compared);
        let significant = if zero { 0 } else { count };
        NumeralState::Fraction {
            digits: 0,
            leading_zeros: 0,
            significant,
            ends_in_zero: true,
            compared,
        }
    }

    fn fraction(&self, place: &NumeralState, digit: u8) -> Option<NumeralState> {
        let NumeralState::Fraction {
            digits,
            leading_zeros,
            significant,
            compared,
            ..
        } = *place
        else {
            return None;
        };
        let compared = self.compare(
            compared,
            |limit| limit.fraction.get(digits).copied().unwrap_or(b'0'),
            digit,
        );
        let leads = significant == 0 && digit == b'0';
        let leading_zeros = leading_zeros + usize::from(leads);
        let significant = significant + usize::from(!leads);
        let fits = self.decimals.is_none_or(|decimals| digits < usize::from(decimals))
            && significant <= SIGNIFICANT_DIGITS_MAX
            && leading_zeros <= LEADING_ZEROS_MAX;
        let settled = self.decimals.is_none()
            && [compared.low, compared.high]
                .into_iter()
                .all(|ordering| ordering != Ordering::Equal);
        fits.then_some(NumeralState::Fraction {
            digits: if settled { 0 } else { digits + 1 },
            // Once a significant digit stands, no more leading zeros can come.
            leading_zeros: if significant > 0 { 0 } else { leading_zeros },
            significant,
            ends_in_zero: digit == b'0',
            compared,
        })
    }

    fn compare(&self, compared: DigitComparison, digit_of: impl Fn(&Numeral) -> u8, digit: u8) -> DigitComparison {
        let against = |limit: &Option<Numeral>, so_far: Ordering, missing: Ordering| {
            limit
                .as_ref()
                .map_or(missing, |limit| so_far.then_with(|| digit.cmp(&digit_of(limit))))
        };
        DigitComparison {
            low: against(&self.low, compared.low, Ordering::Greater),
            high: against(&self.high, compared.high, Ordering::Less),
        }
    }

    /// A longer integer part is larger, whatever its digits.
    fn integer_ended(&self, count: usize, compared: DigitComparison) -> DigitComparison {
        let against = |limit: &Option<Numeral>, so_far: Ordering| {
            limit
                .as_ref()
                .map_or(so_far, |limit| count.cmp(&limit.integer.len()).then(so_far))
        };
        DigitComparison {
            low: against(&self.low, compared.low),
            high: against(&self.high, compared.high),
        }
    }

    /// Whether a number that ends after so many digits of its fraction is within the limits.
    fn within(&self, compared: DigitComparison, digits: usize) -> bool {
        let rest = |limit: &Option<Numeral>| limit.as_ref().is_some_and(|limit| limit.fraction.len() > digits);
        let above_low = compared.low == Ordering::Greater || compared.low == Ordering::Equal && !rest(&self.low);
        let below_high = compared.high != Ordering::Greater && !self.high.as_ref().is_some_and(|high| high.negative);
        above_low && below_high
    }
}

fn digits(first: u8) -> std::ops::RangeInclusive<u8> {
    first..=b'9'
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::languages::language::{KeyLanguage, ValueLengths};

    fn range(decimals: Option<u8>, min: &str, max: &str) -> NumberRange {
        NumberRange {
            decimals,
            min: min.parse().ok(),
            max: max.parse().ok(),
        }
    }

    fn hundredths(from: i64, to: i64) -> impl Iterator<Item = Number> {
        (from..=to).map(|units| Number::from(units).checked_mul("0.01".parse().unwrap()).unwrap())
    }

    #[test]
    fn plain_numbers_are_those_of_the_range() {
        let ranges = [
            range(None, "", ""),
            range(Some(0), "-3", "12"),
            range(Some(1), "-1.25", "1.25"),
            range(Some(2), "0.01", "10"),
            range(Some(2), "-10.5", "-0.25"),
            range(None, "0.5", ""),
            range(None, "", "-0.5"),
            range(Some(2), "0", "0"),
            range(Some(0), "7", "3"),
        ];
        for range in ranges {
            let language = KeyLanguage::new(plain_numerals(&range), ValueLengths::ANY);
            for number in hundredths(-1300, 1300) {
                let expected = range.contains(number);
                assert_eq!(language.contains(&number.to_string()), expected, "{number} in {range}");
            }
            for text in ["", "-", "-0", "00", "01", "1.", ".5", "1.0", "0.50", "+1", "1e1"] {
                assert!(!language.contains(text), "{text} in {range}");
            }
        }
    }

    #[test]
    fn plain_numbers_reach_the_ends_of_what_dynamodb_holds() {
        let language = KeyLanguage::new(plain_numerals(&NumberRange::default()), ValueLengths::ANY);
        let accepted = [
            "1E125",
            "-9.9999999999999999999999999999999999999E125",
            "1E-130",
            "-1.5E-130",
            "12345678901234567890123456789012345678",
            "0.12345678901234567890123456789012345678",
        ];
        for text in accepted {
            assert!(
                language.contains(&text.parse::<Number>().unwrap().to_string()),
                "{text}"
            );
        }
        let refused = [
            "1".repeat(39),
            format!("1{}", "0".repeat(126)),
            format!("0.{}1", "0".repeat(130)),
            format!("1.{}", "1".repeat(38)),
        ];
        for text in refused {
            assert!(!language.contains(&text), "{text}");
        }
    }

    #[test]
    fn padded_numbers_are_those_of_the_range() {
        let ranges = [
            range(Some(0), "3", "120"),
            range(Some(1), "0.5", "12.5"),
            range(Some(2), "0", "9.99"),
        ];
        for range in ranges {
            let language = KeyLanguage::new(padded_numerals(&range, 3, 2), ValueLengths::ANY);
            for number in hundredths(0, 13_000) {
                let units = number.scaled_magnitude(2).unwrap();
                let text = format!("{:03}.{:02}", units / 100, units % 100);
                assert_eq!(language.contains(&text), range.contains(number), "{text} in {range}");
            }
        }
        let integers = KeyLanguage::new(padded_numerals(&range(Some(0), "0", "25"), 2, 0), ValueLengths::ANY);
        assert!(integers.contains("07") && integers.contains("25") && !integers.contains("26"));
        assert!(!integers.contains("7") && !integers.contains("07."));
    }
}
