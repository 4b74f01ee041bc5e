//! What is wrong with the fields and parameters of a request: all of it counted, the first of it said.

use serde_json::{Value as Json, json};

/// How many are said.
const SHOWN_MAX: usize = 100;

/// How long what is said may be in all, as JSON. A refusal must not be much longer than what caused it.
const SHOWN_BYTES_MAX: usize = 32 * 1024;

/// The longest name, pointer or reason.
const TEXT_CHARS_MAX: usize = 300;

/// A field of the body or a parameter that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// Where.
    pub place: RequestPlace,
    /// What.
    pub detail: String,
}

/// Where in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestPlace {
    /// A JSON pointer into the body.
    Body(String),
    /// A parameter of the query.
    Query(String),
    /// A part of the path.
    Path(String),
    /// A header.
    Header(String),
}

/// What is wrong with a request, bounded however much it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldErrors {
    shown: Vec<FieldError>,
    shown_bytes: usize,
    found: usize,
}

impl FieldError {
    /// What is wrong at a place.
    pub fn new(place: RequestPlace, detail: impl Into<String>) -> Self {
        FieldError {
            place,
            detail: detail.into(),
        }
    }

    /// Where and what, as one sentence.
    pub(crate) fn in_words(&self) -> String {
        let name = match &self.place {
            RequestPlace::Body(pointer) => pointer.trim_start_matches('/'),
            RequestPlace::Query(name) | RequestPlace::Path(name) | RequestPlace::Header(name) => name,
        };
        match name.is_empty() {
            true => self.detail.clone(),
            false => format!("`{name}`: {}", self.detail),
        }
    }

    fn json(&self) -> Json {
        let detail = shorten_text(&self.detail, TEXT_CHARS_MAX);
        match &self.place {
            RequestPlace::Body(pointer) => {
                json!({"pointer": format!("#{}", shorten_text(pointer, TEXT_CHARS_MAX)), "detail": detail})
            }
            RequestPlace::Query(name) => {
                json!({"in": "query", "parameter": shorten_text(name, TEXT_CHARS_MAX), "detail": detail})
            }
            RequestPlace::Path(name) => {
                json!({"in": "path", "parameter": shorten_text(name, TEXT_CHARS_MAX), "detail": detail})
            }
            RequestPlace::Header(name) => {
                json!({"in": "header", "parameter": shorten_text(name, TEXT_CHARS_MAX), "detail": detail})
            }
        }
    }
}

impl FieldErrors {
    /// Only this.
    pub fn only_error(error: FieldError) -> Self {
        let mut errors = FieldErrors::default();
        errors.push(error);
        errors
    }

    /// One more; it is said where there is still room.
    pub fn push(&mut self, error: FieldError) {
        self.found += 1;
        if self.is_full() {
            return;
        }
        self.shown_bytes += error.json().to_string().len();
        // The one that no longer fits ends the list, so that what is said is the beginning of what was found.
        if self.is_full() {
            return;
        }
        self.shown.push(error);
    }

    /// Whether a further one is only counted: nothing needs to be made of it that takes long.
    pub fn is_full(&self) -> bool {
        self.shown.len() >= SHOWN_MAX || self.shown_bytes > SHOWN_BYTES_MAX
    }

    /// How many there are, said or not.
    pub fn found_count(&self) -> usize {
        self.found
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.found == 0
    }

    /// Those that are said.
    pub fn shown(&self) -> &[FieldError] {
        &self.shown
    }

    /// Those that are said, as members of a problem document.
    pub(crate) fn json(&self) -> Json {
        self.shown.iter().map(FieldError::json).collect()
    }
}

impl FromIterator<FieldError> for FieldErrors {
    fn from_iter<I: IntoIterator<Item = FieldError>>(errors: I) -> Self {
        let mut all = FieldErrors::default();
        errors.into_iter().for_each(|error| all.push(error));
        all
    }
}

/// The beginning of a text that is too long to be said.
pub(crate) fn shorten_text(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(name: &str) -> FieldError {
        FieldError::new(RequestPlace::Query(name.to_owned()), "there is no such parameter")
    }

    #[test]
    fn all_are_counted_and_the_first_are_said() {
        for (sent, said) in [(1, 1), (99, 99), (100, 100), (101, 100), (90_000, 100)] {
            let errors: FieldErrors = (0..sent).map(|at| error(&at.to_string())).collect();
            assert_eq!((errors.found_count(), errors.shown().len()), (sent, said));
            assert_eq!(errors.shown()[0], error("0"));
        }
    }

    #[test]
    fn what_is_said_stays_short_whatever_was_sent() {
        // Each of these letters takes six bytes as JSON.
        let long = "\u{1}".repeat(100_000);
        let errors: FieldErrors = (0..1000).map(|_| error(&long)).collect();
        assert_eq!(errors.found_count(), 1000);
        assert!(errors.shown().len() > 10, "{}", errors.shown().len());
        assert!(errors.json().to_string().len() < SHOWN_BYTES_MAX + 1024);
    }
}
