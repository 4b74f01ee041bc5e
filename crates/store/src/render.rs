//! Structured values as DynamoDB's expression strings. The only place that knows their grammar.
//!
//! Every name and every value becomes a placeholder (`#0`, `:0`), so that no name collides with a reserved word or
//! needs escaping; the same name or value is sent once. All expressions of one request share one [`Renderer`].

mod bounds;
mod condition;
mod key_range;
mod update;
mod whole;

pub use bounds::{check_batch_get, check_batch_write, check_transact_get, check_transact_write};
pub use whole::{GetExpressions, PageExpressions, WriteExpressions};

use crate::{Path, Result, Segment, StoreError};
use singlet_item::Value;
use singlet_item::limits::EXPRESSION_SIZE_BYTES_MAX;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Collects the placeholders of all expressions of one request.
#[derive(Debug, Default)]
pub struct Renderer {
    names: BTreeMap<String, String>,
    values: BTreeMap<Value, String>,
    operators: usize,
}

/// What the placeholders stand for: `#0` for a name, `:0` for a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placeholders {
    /// Names by placeholder.
    pub names: BTreeMap<String, String>,
    /// Values by placeholder.
    pub values: BTreeMap<String, Value>,
}

impl Renderer {
    /// A renderer that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The projection of these paths; none, if all are returned.
    pub fn projection_text(&mut self, paths: &[Path]) -> Result<Option<String>> {
        let rendered: Vec<String> = paths.iter().map(|path| self.path(path)).collect();
        if rendered.is_empty() {
            return Ok(None);
        }
        bounded("projection", rendered.join(", ")).map(Some)
    }

    /// What all placeholders stand for.
    pub fn finish(self) -> Placeholders {
        let inverted = |(name, placeholder)| (placeholder, name);
        Placeholders {
            names: self.names.into_iter().map(inverted).collect(),
            values: self
                .values
                .into_iter()
                .map(|(value, placeholder)| (placeholder, value))
                .collect(),
        }
    }

    fn name(&mut self, name: &str) -> String {
        if let Some(placeholder) = self.names.get(name) {
            return placeholder.clone();
        }
        let placeholder = format!("#{}", self.names.len());
        self.names.insert(name.to_owned(), placeholder.clone());
        placeholder
    }

    fn value(&mut self, value: &Value) -> String {
        if let Some(placeholder) = self.values.get(value) {
            return placeholder.clone();
        }
        let placeholder = format!(":{}", self.values.len());
        self.values.insert(value.clone(), placeholder.clone());
        placeholder
    }

    fn path(&mut self, path: &Path) -> String {
        let mut rendered = self.name(path.name());
        for segment in path.inner_segments() {
            match segment {
                Segment::Key(key) => {
                    rendered.push('.');
                    rendered.push_str(&self.name(key));
                }
                Segment::Index(index) => {
                    // Writing to a string cannot fail.
                    let _ = write!(rendered, "[{index}]");
                }
            }
        }
        rendered
    }

    fn operator(&mut self) {
        self.operators += 1;
    }
}

/// The expression, if it is not longer than DynamoDB takes.
fn bounded(what: &str, expression: String) -> Result<String> {
    let bytes = expression.len();
    if bytes > EXPRESSION_SIZE_BYTES_MAX {
        return Err(StoreError::too_large(format!(
            "the {what} is {bytes} bytes long as an expression, more than {EXPRESSION_SIZE_BYTES_MAX}"
        )));
    }
    Ok(expression)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_shared() {
        let mut renderer = Renderer::new();
        let paths = [
            Path::from("a.b"),
            Path::attribute("m").key("a.b").list_element(3),
            Path::from("m"),
        ];
        assert_eq!(renderer.projection_text(&paths).unwrap().unwrap(), "#0, #1.#0[3], #1");
        assert_eq!(renderer.value(&Value::from(1)), ":0");
        assert_eq!(renderer.value(&Value::from("1")), ":1");
        assert_eq!(renderer.value(&Value::from(1)), ":0");
        let placeholders = renderer.finish();
        assert_eq!(placeholders.names["#0"], "a.b");
        assert_eq!(placeholders.values[":1"], Value::from("1"));
    }

    #[test]
    fn no_projection_is_no_expression() {
        assert_eq!(Renderer::new().projection_text(&[]).unwrap(), None);
    }

    #[test]
    fn a_projection_beyond_four_kilobytes_is_too_large() {
        let paths: Vec<Path> = (0..1000).map(|n| Path::attribute(format!("attribute {n}"))).collect();
        assert!(Renderer::new().projection_text(&paths).unwrap_err().is_too_large());
    }
}
