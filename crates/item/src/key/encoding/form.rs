//! How a value stands in the text of a key.

use crate::key::languages::domain::Domain;
use std::fmt;

/// How a variable's value stands in the text of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// A string whose delimiters are escaped, so that it can never pass for two parts. As the last
    /// part it sorts exactly as the string does.
    Escaped,
    /// A string in which every character up to the escape is escaped too, so that it sorts as the
    /// string does even when the delimiter follows: `home#` before `home$20office#`.
    Ordered,
    /// A string as it is, delimiters included, as tables that already exist have it.
    Raw,
    /// A string of a type with one shape, as it is: a date, a time, an id, a geohash.
    Fixed,
    /// A string in lower case, then escaped. The value cannot be read back.
    Lower,
    /// A string in upper case, then escaped. The value cannot be read back.
    Upper,
    /// `false` or `true`.
    Bool,
    /// A number that is not negative, padded with zeros to so many digits on each side of the point.
    Padded {
        /// Digits before the point.
        integer_digits: u8,
        /// Digits after the point; without any there is no point.
        fraction_digits: u8,
    },
    /// A number as it prints. It gives equality, but no order.
    Plain,
    /// The place of a word among its fellows, from zero, padded to the width of the last.
    Rank {
        /// The words in order.
        members: Vec<String>,
    },
    /// The day of a date or a time. The value cannot be read back.
    Day,
    /// The month of a date or a time. The value cannot be read back.
    Month,
    /// The year of a month, a date or a time. The value cannot be read back.
    Year,
    /// The inner form, padded, rank or fixed, with every digit replaced by its complement, so that
    /// byte order is the reverse of the order of values.
    Descending(Box<Form>),
    /// The value itself as the whole key, unescaped and of its own type: a number stays a number.
    Whole,
}

impl Form {
    /// The form of a bare `{variable}` in a template of several parts: a number is padded where its
    /// range says to what width.
    pub fn of(domain: &Domain) -> Self {
        match domain {
            Domain::Text(_) | Domain::OneOf(_) | Domain::Either(_) => Self::Escaped,
            Domain::Bool => Self::Bool,
            Domain::Number(range) => match range.padded_digits() {
                Some((integer_digits, fraction_digits)) => Self::Padded {
                    integer_digits,
                    fraction_digits,
                },
                None => Self::Plain,
            },
            Domain::Binary { .. } => Self::Whole,
            Domain::Date
            | Domain::Time
            | Domain::Month
            | Domain::Year
            | Domain::Ulid
            | Domain::Ksuid
            | Domain::Uuid
            | Domain::Geohash { .. } => Self::Fixed,
        }
    }

    /// The rank of a word among the words of `domain`, if it is a set of words.
    pub fn rank_form(domain: &Domain) -> Option<Self> {
        match domain {
            Domain::OneOf(words) => Some(Self::Rank { members: words.clone() }),
            _ => None,
        }
    }

    /// This form in descending order.
    pub fn descending_form(self) -> Self {
        Self::Descending(Box::new(self))
    }

    /// Whether different values may have the same text, so that the value cannot be read back.
    pub fn is_lossy(&self) -> bool {
        matches!(self, Self::Lower | Self::Upper | Self::Day | Self::Month | Self::Year)
    }

    /// Whether every value of `domain` has this form.
    pub fn fits_domain(&self, domain: &Domain) -> bool {
        match self {
            Self::Escaped | Self::Ordered | Self::Raw | Self::Lower | Self::Upper => domain.is_text(),
            Self::Fixed => domain.fixed_chars().is_some(),
            Self::Bool => *domain == Domain::Bool,
            Self::Padded {
                integer_digits,
                fraction_digits,
            } => match domain {
                Domain::Number(range) => range.padded_digits().is_some_and(|(integer, fraction)| {
                    let width = u16::from(*integer_digits) + u16::from(*fraction_digits);
                    integer <= *integer_digits && fraction <= *fraction_digits && width <= 38
                }),
                _ => false,
            },
            Self::Plain => matches!(domain, Domain::Number(_)),
            Self::Rank { members } => matches!(domain, Domain::OneOf(words) if words == members),
            Self::Day | Self::Month => matches!(domain, Domain::Date | Domain::Time),
            Self::Year => matches!(domain, Domain::Date | Domain::Time | Domain::Month),
            Self::Descending(inner) => {
                matches!(**inner, Self::Padded { .. } | Self::Rank { .. } | Self::Fixed) && inner.fits_domain(domain)
            }
            Self::Whole => *domain != Domain::Bool,
        }
    }

    /// The variable `name` as a part of template text: `{rank(status)}`.
    pub(crate) fn write(&self, name: &str, domain: &Domain, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.function(domain) {
            Some(function) => write!(f, "{{{function}({name})}}"),
            None => write!(f, "{{{name}}}"),
        }
    }

    /// The function that says this form in a template, if a bare variable would not mean it.
    fn function(&self, domain: &Domain) -> Option<&'static str> {
        match self {
            Self::Ordered => Some("ordered"),
            Self::Raw => Some("raw"),
            Self::Lower => Some("lower"),
            Self::Upper => Some("upper"),
            Self::Plain if Self::of(domain) != Self::Plain => Some("plain"),
            Self::Rank { .. } => Some("rank"),
            Self::Day => Some("day"),
            Self::Month => Some("month"),
            Self::Year => Some("year"),
            Self::Descending(_) => Some("desc"),
            Self::Escaped | Self::Fixed | Self::Bool | Self::Padded { .. } | Self::Plain | Self::Whole => None,
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Escaped => "escaped",
            Self::Ordered => "ordered",
            Self::Raw => "raw",
            Self::Fixed => "fixed",
            Self::Lower => "lower",
            Self::Upper => "upper",
            Self::Bool => "bool",
            Self::Padded { .. } => "padded",
            Self::Plain => "plain",
            Self::Rank { .. } => "rank",
            Self::Day => "day",
            Self::Month => "month",
            Self::Year => "year",
            Self::Descending(_) => "desc",
            Self::Whole => "whole",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::NumberRange;

    #[test]
    fn a_bare_variable_takes_the_form_of_its_domain() {
        assert_eq!(Form::of(&Domain::text(1, Some(200))), Form::Escaped);
        assert_eq!(Form::of(&Domain::Ulid), Form::Fixed);
        assert_eq!(Form::of(&Domain::Bool), Form::Bool);
        let padded = Form::Padded {
            integer_digits: 6,
            fraction_digits: 0,
        };
        assert_eq!(Form::of(&Domain::integer_range(Some(1), Some(999_999))), padded);
        assert_eq!(Form::of(&Domain::integer_range(Some(0), None)), Form::Plain);
        assert_eq!(Form::of(&Domain::integer_range(Some(-1), Some(5))), Form::Plain);
    }

    #[test]
    fn a_form_fits_the_domains_that_it_can_write() {
        let status = Domain::one_of(["open", "done"]);
        assert!(Form::rank_form(&status).unwrap().fits_domain(&status));
        assert!(
            !Form::rank_form(&status)
                .unwrap()
                .fits_domain(&Domain::one_of(["done", "open"]))
        );
        assert!(Form::Month.fits_domain(&Domain::Time) && !Form::Month.fits_domain(&Domain::text(0, None)));
        assert!(Form::Fixed.descending_form().fits_domain(&Domain::Date));
        assert!(!Form::Escaped.descending_form().fits_domain(&Domain::Date));
        assert!(
            !Form::Fixed
                .descending_form()
                .descending_form()
                .fits_domain(&Domain::Date)
        );
        let narrow = Form::Padded {
            integer_digits: 2,
            fraction_digits: 0,
        };
        assert!(!narrow.fits_domain(&Domain::integer_range(Some(0), Some(100))));
        assert!(!narrow.fits_domain(&Domain::Number(NumberRange::default())));
    }
}
