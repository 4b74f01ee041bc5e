//! How an attribute stands in a key.

use singlet_item::Value;
use singlet_item::key::{Delimiter, Domain, Form, TextDomain, Variable, lower_case, upper_case};
use singlet_model::types::Type;
use singlet_values::as_stored;

/// How an attribute stands in a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartForm {
    Plain,
    /// A number with leading zeros, so many digits.
    Padded(usize),
    /// The same, so that the largest comes first.
    PaddedDesc(usize),
    Raw,
    /// In lower case, and with delimiters as they are: an attribute of its own says that.
    RawLower,
    Lower,
    Upper,
    Day,
    Month,
    Year,
    /// Text that sorts as its values though more follows.
    Ordered,
    /// An instant or a date, so that the latest comes first.
    Desc,
    /// The place of a member in its enum.
    Rank,
}

/// The forms in the order in which they are preferred; those with widths come before them, and ranks are told otherwise.
pub(crate) const FORMS: [PartForm; 10] = [
    PartForm::Plain,
    PartForm::Lower,
    PartForm::Upper,
    PartForm::Day,
    PartForm::Month,
    PartForm::Year,
    PartForm::Ordered,
    PartForm::Desc,
    PartForm::Raw,
    PartForm::RawLower,
];

/// What holds delimiters as they are.
pub(crate) const RAW_FORMS: [PartForm; 2] = [PartForm::Raw, PartForm::RawLower];

impl PartForm {
    /// Whether a part of a key is what this form makes of a value.
    pub(crate) fn is_text_of(self, text: &str, value: &Value, delimiter: Delimiter) -> bool {
        match (value, self) {
            (Value::S(own), Self::Plain) => is_escaped(text, own, delimiter),
            (Value::S(own), Self::Raw) => text == own,
            (Value::S(own), Self::RawLower) => text == lower_case(own),
            (Value::S(own), Self::Lower) => is_escaped(text, &lower_case(own), delimiter),
            (Value::S(own), Self::Upper) => is_escaped(text, &upper_case(own), delimiter),
            (Value::S(own), Self::Day) => own.get(..10) == Some(text) && is_stored_as(value, &[Type::Time]),
            (Value::S(own), Self::Month) => {
                own.get(..7) == Some(text) && is_stored_as(value, &[Type::Date, Type::Time])
            }
            (Value::S(own), Self::Year) => {
                own.get(..4) == Some(text) && is_stored_as(value, &[Type::Date, Type::Time, Type::Month])
            }
            (Value::S(own), Self::Ordered) => text.len() >= own.len() && is_ordered(text, value, delimiter),
            (Value::S(own), Self::Desc) => {
                text.len() == own.len() && complemented(own) == text && is_stored_as(value, &[Type::Date, Type::Time])
            }
            (Value::N(own), Self::Plain) => text == own.to_string(),
            (Value::N(own), Self::Padded(width)) => {
                let whole = own.to_i64().filter(|whole| *whole >= 0);
                whole.is_some_and(|whole| format!("{whole:0width$}") == text)
            }
            (Value::N(own), Self::PaddedDesc(width)) => {
                let whole = own.to_i64().filter(|whole| *whole >= 0);
                whole.is_some_and(|whole| complemented(&format!("{whole:0width$}")) == text)
            }
            (Value::Bool(own), Self::Plain) => text == own.to_string(),
            _ => false,
        }
    }

    /// The part in a template.
    pub(crate) fn shown(self, name: &str) -> String {
        match self {
            Self::Plain | Self::Padded(_) => format!("{{{name}}}"),
            Self::PaddedDesc(_) | Self::Desc => format!("{{desc({name})}}"),
            Self::Raw => format!("{{raw({name})}}"),
            Self::RawLower => format!("{{raw({})}}", folded_name(name)),
            Self::Lower => format!("{{lower({name})}}"),
            Self::Upper => format!("{{upper({name})}}"),
            Self::Day => format!("{{day({name})}}"),
            Self::Month => format!("{{month({name})}}"),
            Self::Year => format!("{{year({name})}}"),
            Self::Ordered => format!("{{ordered({name})}}"),
            Self::Rank => format!("{{rank({name})}}"),
        }
    }
}

/// The attribute that is another one in lower case, and stands in keys alone.
pub(crate) fn folded_name(name: &str) -> String {
    format!("{name}_lower")
}

fn is_escaped(text: &str, own: &str, delimiter: Delimiter) -> bool {
    !own.is_empty() && (text == own || text.len() > own.len()) && delimiter.escaped_text(own) == text
}

fn is_ordered(text: &str, value: &Value, delimiter: Delimiter) -> bool {
    let part = Variable {
        name: String::new(),
        form: Form::Ordered,
        domain: Domain::Text(TextDomain::default()),
    };
    part.encode_value(value, delimiter).is_ok_and(|made| made == text)
}

/// With every digit as nine less itself.
fn complemented(text: &str) -> String {
    let other = |letter: char| letter.to_digit(10).and_then(|digit| char::from_digit(9 - digit, 10));
    text.chars().map(|letter| other(letter).unwrap_or(letter)).collect()
}

/// Whether a value is of a type that functions of instants take.
fn is_stored_as(value: &Value, types: &[Type]) -> bool {
    types
        .iter()
        .any(|ty| as_stored(value, ty).is_ok_and(|stored| *stored == *value))
}
