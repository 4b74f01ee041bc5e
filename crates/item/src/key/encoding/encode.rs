//! From values to keys.

use super::delimiter::Delimiter;
use super::form::Form;
use crate::Value;
use crate::key::languages::domain::Domain;
use crate::key::template::{Part, Template, Variable};
use std::borrow::Borrow;
use std::fmt;

/// Room for most keys.
const KEY_BYTES_USUAL: usize = 64;

impl Template {
    /// The key for the values that `lookup` gives by the names of variables. Without a value for
    /// every variable, or with a stored null, there is no key.
    pub fn encode_key<V: Borrow<Value>>(
        &self,
        lookup: impl Fn(&str) -> Option<V>,
    ) -> Result<Option<Value>, EncodeError> {
        if let [Part::Variable(variable)] = self.parts()
            && variable.form == Form::Whole
        {
            return present(lookup(&variable.name))
                .map(|value| variable.checked(value.borrow()))
                .transpose();
        }
        if let [Part::Number(number)] = self.parts() {
            return Ok(Some(Value::N(*number)));
        }
        Ok(self.encode_first(self.parts().len(), lookup)?.map(Value::S))
    }

    /// The text of the first `count` parts: the beginning of every key with these values.
    pub fn encode_first<V: Borrow<Value>>(
        &self,
        count: usize,
        lookup: impl Fn(&str) -> Option<V>,
    ) -> Result<Option<String>, EncodeError> {
        let mut parts = Vec::with_capacity(count);
        // Absence is looked for first, so that it does not depend on the order of parts whether an
        // item that lacks one value and has another that is wrong is refused.
        for part in self.parts().iter().take(count) {
            match part {
                Part::Variable(variable) => match present(lookup(&variable.name)) {
                    Some(value) => parts.push((part, Some(value))),
                    None => return Ok(None),
                },
                _ => parts.push((part, None)),
            }
        }
        let mut text = String::with_capacity(KEY_BYTES_USUAL);
        for (part, value) in parts {
            match (part, value) {
                (Part::Text(literal), _) => text.push_str(literal),
                (Part::Number(number), _) => text.push_str(&number.to_string()),
                (Part::Variable(variable), Some(value)) => {
                    variable.encode_onto(value.borrow(), self.delimiter(), &mut text)?;
                }
                (Part::Variable(_), None) | (Part::Anything, _) => {
                    return Err(EncodeError::Open(self.to_string()));
                }
            }
        }
        Ok(Some(text))
    }
}

impl Variable {
    /// The text of one value.
    pub fn encode_value(&self, value: &Value, delimiter: Delimiter) -> Result<String, EncodeError> {
        let mut text = String::new();
        self.encode_onto(value, delimiter, &mut text)?;
        Ok(text)
    }

    /// Appends the text of one value.
    pub fn encode_onto(&self, value: &Value, delimiter: Delimiter, text: &mut String) -> Result<(), EncodeError> {
        let mut encoded = |word: &str| self.resolved_encoding(delimiter).encode_onto(word, text);
        let done = match (&self.domain, value) {
            // Binary values have no text.
            (Domain::Binary { .. }, _) => None,
            // Text is its own word.
            // Checked as it is encoded: a value that the domain does not have could make the key of another row.
            (domain, Value::S(word)) if domain.is_text() => domain.contains_word(word).then(|| encoded(word)).flatten(),
            (domain, value) => domain.word(value).and_then(|word| encoded(&word)),
        };
        done.ok_or_else(|| self.refusal(value))
    }

    /// The text with which exactly the values that begin with `start` begin, for forms that keep
    /// beginnings.
    pub fn encode_start(&self, start: &str, delimiter: Delimiter) -> Option<String> {
        match self.form {
            Form::Escaped | Form::Ordered | Form::Raw | Form::Fixed | Form::Whole if self.domain.is_text() => {
                self.resolved_encoding(delimiter).encode_word(start)
            }
            _ => None,
        }
    }

    fn checked(&self, value: &Value) -> Result<Value, EncodeError> {
        if self.domain.contains(value) {
            Ok(value.clone())
        } else {
            Err(self.refusal(value))
        }
    }

    fn refusal(&self, value: &Value) -> EncodeError {
        let found = match value {
            Value::S(text) => format!("`{}`", text.chars().take(64).collect::<String>()),
            Value::N(number) => number.to_string(),
            Value::Bool(truth) => truth.to_string(),
            other => format!("a value of type {}", other.type_name()),
        };
        EncodeError::Value {
            variable: self.name.clone(),
            domain: self.domain.to_string(),
            found,
        }
    }
}

/// Why values have no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EncodeError {
    /// A value is outside the domain of its variable.
    Value {
        /// The variable.
        variable: String,
        /// What its value must be.
        domain: String,
        /// What it is.
        found: String,
    },
    /// The template, given as its text, leaves its end open.
    Open(String),
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value {
                variable,
                domain,
                found,
            } => write!(f, "`{variable}` must be {domain}, not {found}"),
            Self::Open(template) => write!(f, "`{template}` stands for many keys"),
        }
    }
}

impl std::error::Error for EncodeError {}

/// A stored null reads as absent.
fn present<V: Borrow<Value>>(value: Option<V>) -> Option<V> {
    value.filter(|value| !value.borrow().is_null())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Number;

    fn template(parts: Vec<Part>) -> Template {
        Template::new(parts, Delimiter::default()).unwrap()
    }

    fn tasks_by_status() -> Template {
        template(vec![
            Part::text("STATUS#"),
            Part::bare_variable("status", Domain::one_of(["open", "done"])),
            Part::text("#"),
            Part::bare_variable("title", Domain::text(1, Some(20))),
        ])
    }

    fn lookup<'a>(values: &'a [(&'a str, Value)]) -> impl Fn(&str) -> Option<Value> + 'a {
        |name| {
            values
                .iter()
                .find(|(candidate, _)| *candidate == name)
                .map(|(_, value)| value.clone())
        }
    }

    #[test]
    fn ordinary_values_keep_the_documented_shape() {
        let values = [("status", Value::from("open")), ("title", Value::from("home office"))];
        let key = tasks_by_status().encode_key(lookup(&values)).unwrap();
        assert_eq!(key, Some(Value::from("STATUS#open#home office")));
    }

    #[test]
    fn a_value_cannot_forge_a_part() {
        let values = [("status", Value::from("open")), ("title", Value::from("a#b$"))];
        let key = tasks_by_status().encode_key(lookup(&values)).unwrap();
        assert_eq!(key, Some(Value::from("STATUS#open#a$23b$24")));
    }

    #[test]
    fn without_a_value_there_is_no_key() {
        assert_eq!(tasks_by_status().encode_key(|_| None::<Value>), Ok(None));
        let values = [("status", Value::from("lost")), ("title", Value::Null)];
        assert_eq!(tasks_by_status().encode_key(lookup(&values)), Ok(None));
    }

    #[test]
    fn a_value_outside_its_domain_is_refused_by_name() {
        let values = [("status", Value::from("lost")), ("title", Value::from("a"))];
        let error = tasks_by_status().encode_key(lookup(&values)).unwrap_err();
        assert_eq!(error.to_string(), "`status` must be one of `open`, `done`, not `lost`");
        let values = [("status", Value::from("open")), ("title", Value::from(5))];
        let error = tasks_by_status().encode_key(lookup(&values)).unwrap_err();
        assert_eq!(error.to_string(), "`title` must be text of 1 to 20 characters, not 5");
    }

    #[test]
    fn a_whole_key_keeps_its_type() {
        let whole = |domain| template(vec![Part::Variable(Variable::new("x", Form::Whole, domain))]);
        let number = whole(Domain::integer_range(None, None));
        assert_eq!(number.encode_key(|_| Some(Value::from(-5))), Ok(Some(Value::from(-5))));
        assert!(number.encode_key(|_| Some(Value::from("5"))).is_err());
        let binary = whole(Domain::Binary {
            min_bytes: 1,
            max_bytes: Some(2),
        });
        assert_eq!(
            binary.encode_key(|_| Some(Value::B(vec![0]))),
            Ok(Some(Value::B(vec![0])))
        );
        assert!(binary.encode_key(|_| Some(Value::B(vec![]))).is_err());
        assert_eq!(
            whole(Domain::text(0, None)).encode_key(|_| Some(Value::from("a#b"))),
            Ok(Some(Value::from("a#b")))
        );
        let constant = template(vec![Part::Number(Number::ZERO)]);
        assert_eq!(constant.encode_key(|_| None::<Value>), Ok(Some(Value::from(0))));
    }

    #[test]
    fn the_first_parts_are_a_prefix() {
        let values = [("status", Value::from("open"))];
        assert_eq!(
            tasks_by_status().encode_first(3, lookup(&values)),
            Ok(Some("STATUS#open#".to_owned()))
        );
        assert_eq!(tasks_by_status().encode_first(4, lookup(&values)), Ok(None));
        let open = template(vec![Part::text("STATUS#"), Part::Anything]);
        assert_eq!(
            open.encode_key(|_| None::<Value>).unwrap_err().to_string(),
            "`STATUS#…` stands for many keys"
        );
    }

    #[test]
    fn beginnings_of_values_are_beginnings_of_texts() {
        let delimiter = Delimiter::default();
        let title = Variable::new("title", Form::Escaped, Domain::text(5, Some(9)));
        assert_eq!(title.encode_start("a#", delimiter).unwrap(), "a$23");
        let number = Variable::new("n", Form::Plain, Domain::integer_range(None, None));
        assert_eq!(number.encode_start("1", delimiter), None);
        let folded = Variable::new("n", Form::Lower, Domain::text(0, None));
        assert_eq!(folded.encode_start("A", delimiter), None);
    }
}
