//! Key templates: literal text and variables.

use super::encoding::delimiter::Delimiter;
use super::encoding::form::Form;
use super::encoding::resolved_form::Encoding;
use super::languages::domain::Domain;
use super::languages::language::KeyLanguage;
use super::languages::source::WordSet;
use crate::{Number, Value};
use std::collections::HashSet;
use std::fmt;

/// The text of one key attribute: literal text and variables, such as `STATUS#{status}#{task_id}`.
///
/// A template is checked when it is made, so that every value of a variable's domain has a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
    delimiter: Delimiter,
}

/// One part of a [`Template`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Literal text.
    Text(String),
    /// The value of a variable.
    Variable(Variable),
    /// A number that is the whole key, for key attributes of that type.
    Number(Number),
    /// Any text, delimiters included. It stands for what a prefix leaves open; such a template has
    /// no key of its own.
    Anything,
}

/// A variable of a [`Template`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The name, by which [`Template::encode_key`] asks for the value. The same name is the same value.
    pub name: String,
    /// How the value stands in the text.
    pub form: Form,
    /// Which values it may take.
    pub domain: Domain,
}

/// The type of a key attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyType {
    /// A string.
    S,
    /// A number.
    N,
    /// Bytes.
    B,
}

impl Template {
    /// A template of these parts. Adjacent literal texts are joined.
    pub fn new(parts: Vec<Part>, delimiter: Delimiter) -> Result<Self, TemplateError> {
        let parts = joined(parts);
        let alone = parts.len() == 1;
        for part in &parts {
            match part {
                Part::Variable(variable) => variable.check(alone)?,
                Part::Number(number) if !alone => {
                    return Err(TemplateError::NumberNotAlone(*number));
                }
                _ => {}
            }
        }
        Ok(Self { parts, delimiter })
    }

    /// A template of literal text alone.
    pub fn text(text: &str, delimiter: Delimiter) -> Self {
        Self {
            parts: joined(vec![Part::Text(text.to_owned())]),
            delimiter,
        }
    }

    /// The parts in order. No two literal texts are adjacent, and none is empty.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The delimiter that its escaped variables never contain.
    pub fn delimiter(&self) -> Delimiter {
        self.delimiter
    }

    /// The variables in order of appearance, repeated ones every time.
    pub fn variable_parts(&self) -> impl Iterator<Item = &Variable> {
        self.parts.iter().filter_map(|part| match part {
            Part::Variable(variable) => Some(variable),
            _ => None,
        })
    }

    /// The type of the key attribute.
    pub fn key_type(&self) -> KeyType {
        match self.parts.as_slice() {
            [Part::Number(_)] => KeyType::N,
            [Part::Variable(variable)] => variable.key_type(),
            _ => KeyType::S,
        }
    }

    /// The literal text before the first variable. Keys of two templates of which neither's leading
    /// text begins with the other's never collide.
    pub fn leading_text(&self) -> &str {
        match self.parts.first() {
            Some(Part::Text(text)) => text,
            _ => "",
        }
    }

    /// The literal text after the last variable.
    pub(crate) fn trailing_text(&self) -> &str {
        match self.parts.last() {
            Some(Part::Text(text)) => text,
            _ => "",
        }
    }

    /// What each part can be.
    pub(crate) fn part_languages(&self) -> Vec<KeyLanguage> {
        self.parts
            .iter()
            .map(|part| part.part_language(self.delimiter))
            .collect()
    }
}

impl Part {
    /// A variable of a domain in the form that a bare `{name}` has.
    pub fn bare_variable(name: &str, domain: Domain) -> Self {
        Self::Variable(Variable::new(name, Form::of(&domain), domain))
    }

    /// Literal text.
    pub fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    pub(crate) fn part_language(&self, delimiter: Delimiter) -> KeyLanguage {
        match self {
            Self::Text(text) => KeyLanguage::of_words([text.as_str()]),
            Self::Number(number) => KeyLanguage::of_words([number.to_string().as_str()]),
            Self::Variable(variable) => variable
                .resolved_encoding(delimiter)
                .language_or_any(&WordSet::Domain(&variable.domain)),
            Self::Anything => Domain::text(0, None).word_language(),
        }
    }
}

impl Variable {
    /// A variable.
    pub fn new(name: &str, form: Form, domain: Domain) -> Self {
        Self {
            name: name.to_owned(),
            form,
            domain,
        }
    }

    pub(crate) fn resolved_encoding(&self, delimiter: Delimiter) -> Encoding {
        Encoding::of(&self.form, &self.domain, delimiter)
    }

    fn key_type(&self) -> KeyType {
        match (&self.form, &self.domain) {
            (Form::Whole, Domain::Number(_)) => KeyType::N,
            (Form::Whole, Domain::Binary { .. }) => KeyType::B,
            _ => KeyType::S,
        }
    }

    fn check(&self, alone: bool) -> Result<(), TemplateError> {
        if self.form == Form::Whole && !alone {
            return Err(TemplateError::NotAlone(self.name.clone()));
        }
        if let Some(problem) = problem_of(&self.domain) {
            return Err(TemplateError::Domain {
                variable: self.name.clone(),
                problem,
            });
        }
        if !self.form.fits_domain(&self.domain) {
            let (form, domain) = (self.form.to_string(), self.domain.to_string());
            return Err(TemplateError::Form {
                variable: self.name.clone(),
                form,
                domain,
            });
        }
        Ok(())
    }
}

impl KeyType {
    /// The type of a value, if a key may have it.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::S(_) => Some(Self::S),
            Value::N(_) => Some(Self::N),
            Value::B(_) => Some(Self::B),
            _ => None,
        }
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|part| match part {
            Part::Text(text) => f.write_str(text),
            Part::Number(number) => number.fmt(f),
            Part::Variable(variable) => variable.form.write(&variable.name, &variable.domain, f),
            Part::Anything => f.write_str("…"),
        })
    }
}

/// Why parts are not a [`Template`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateError {
    /// A variable that is the whole key has neighbours.
    NotAlone(String),
    /// A number that is the whole key has neighbours.
    NumberNotAlone(Number),
    /// A form cannot write the values of a domain.
    Form {
        /// The variable.
        variable: String,
        /// The form's name.
        form: String,
        /// What the domain asks of a value.
        domain: String,
    },
    /// A domain makes no sense.
    Domain {
        /// The variable.
        variable: String,
        /// What is wrong.
        problem: &'static str,
    },
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAlone(variable) => write!(f, "`{variable}` can be the whole key only if it stands alone"),
            Self::NumberNotAlone(number) => {
                write!(f, "{number} can be the whole key only if it stands alone")
            }
            Self::Form { variable, form, domain } => {
                write!(f, "the form {form} does not apply to `{variable}`, which is {domain}")
            }
            Self::Domain { variable, problem } => write!(f, "`{variable}` has {problem}"),
        }
    }
}

impl std::error::Error for TemplateError {}

fn joined(parts: Vec<Part>) -> Vec<Part> {
    let mut joined: Vec<Part> = Vec::with_capacity(parts.len());
    for part in parts {
        match (joined.last_mut(), part) {
            (_, Part::Text(text)) if text.is_empty() => {}
            (Some(Part::Text(before)), Part::Text(text)) => before.push_str(&text),
            (_, part) => joined.push(part),
        }
    }
    joined
}

fn problem_of(domain: &Domain) -> Option<&'static str> {
    match domain {
        Domain::OneOf(words) if words.is_empty() => Some("no words to choose from"),
        Domain::OneOf(words) => {
            let distinct: HashSet<&String> = words.iter().collect();
            (distinct.len() < words.len()).then_some("a word twice")
        }
        Domain::Geohash { precision } => (!(1..=12).contains(precision)).then_some("a precision that is not 1 to 12"),
        Domain::Number(range) => range.is_empty().then_some("a range without a number"),
        Domain::Text(text) => text
            .max_chars
            .is_some_and(|max| max < text.min_chars)
            .then_some("a range of lengths without a length"),
        Domain::Binary { min_bytes, max_bytes } => max_bytes
            .is_some_and(|max| max < *min_bytes)
            .then_some("a range of lengths without a length"),
        Domain::Either(domains) if domains.is_empty() => Some("no alternatives to choose from"),
        Domain::Either(domains) => {
            let simple = |domain: &Domain| matches!(domain, Domain::OneOf(_)) || domain.fixed_chars().is_some();
            let all_simple = domains.iter().all(simple);
            (!all_simple).then_some("alternatives other than words, dates, times, ids and geohashes")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(parts: Vec<Part>) -> Template {
        Template::new(parts, Delimiter::default()).unwrap()
    }

    #[test]
    fn a_template_prints_as_it_is_written() {
        let status = Domain::one_of(["open", "done"]);
        let parts = vec![
            Part::text("A#"),
            Part::Variable(Variable::new("status", Form::rank_form(&status).unwrap(), status)),
            Part::text("#"),
            Part::Variable(Variable::new("at", Form::Fixed.descending_form(), Domain::Time)),
            Part::text("#"),
            Part::bare_variable("n", Domain::integer_range(Some(0), None)),
            Part::text("#"),
            Part::Variable(Variable::new("m", Form::Plain, Domain::integer_range(Some(0), Some(9)))),
            Part::text("#"),
            Part::Variable(Variable::new("name", Form::Ordered, Domain::text(1, None))),
        ];
        let text = "A#{rank(status)}#{desc(at)}#{n}#{plain(m)}#{ordered(name)}";
        assert_eq!(template(parts).to_string(), text);
    }

    #[test]
    fn adjacent_texts_are_joined() {
        let joined = template(vec![Part::text("A"), Part::text(""), Part::text("#"), Part::Anything]);
        assert_eq!(joined.parts(), [Part::text("A#"), Part::Anything]);
        assert_eq!((joined.leading_text(), joined.trailing_text()), ("A#", ""));
    }

    #[test]
    fn a_key_takes_the_type_of_the_one_part_that_it_is() {
        let whole = |domain| template(vec![Part::Variable(Variable::new("x", Form::Whole, domain))]).key_type();
        assert_eq!(whole(Domain::integer_range(None, None)), KeyType::N);
        assert_eq!(whole(Domain::text(1, None)), KeyType::S);
        assert_eq!(
            whole(Domain::Binary {
                min_bytes: 1,
                max_bytes: None
            }),
            KeyType::B
        );
        assert_eq!(template(vec![Part::Number(Number::ONE)]).key_type(), KeyType::N);
        assert_eq!(
            template(vec![Part::bare_variable("n", Domain::integer_range(None, None))]).key_type(),
            KeyType::S
        );
    }

    #[test]
    fn what_cannot_be_written_is_refused() {
        let refused = |parts| Template::new(parts, Delimiter::default()).unwrap_err().to_string();
        let variable = |form, domain| Part::Variable(Variable::new("x", form, domain));
        let cases = [
            (
                vec![Part::text("A#"), variable(Form::Whole, Domain::Date)],
                "`x` can be the whole key only if it stands alone",
            ),
            (
                vec![variable(Form::Day, Domain::Ulid)],
                "the form day does not apply to `x`, which is a ULID",
            ),
            (
                vec![Part::bare_variable("x", Domain::one_of(["a", "a"]))],
                "`x` has a word twice",
            ),
            (
                vec![Part::bare_variable("x", Domain::one_of([]))],
                "`x` has no words to choose from",
            ),
            (
                vec![Part::bare_variable("x", Domain::integer_range(Some(3), Some(2)))],
                "`x` has a range without a number",
            ),
            (
                vec![Part::text("a"), Part::Number(Number::ONE)],
                "1 can be the whole key only if it stands alone",
            ),
        ];
        for (parts, message) in cases {
            assert_eq!(refused(parts), message);
        }
    }
}
