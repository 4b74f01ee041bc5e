//! DynamoDB's expressions as the trees of a store: one tokenizer, four grammars.
//!
//! [`condition`] reads conditions and filters, [`key_condition`] narrows such a tree to a range of keys, [`update`] and
//! [`projection`] read the other two. Messages are DynamoDB's own.

pub(crate) mod condition;
pub(crate) mod key_condition;
pub(crate) mod names;
mod path;
pub(crate) mod projection;
mod reserved;
mod token;
pub(crate) mod update;

#[cfg(test)]
mod tests;

pub(crate) use names::RequestPlaceholders;

use singlet_item::limits::{EXPRESSION_OPERATORS_MAX, EXPRESSION_SIZE_BYTES_MAX};
use singlet_store::well_formed::Malformed;

use crate::fault::Fault;
use token::Tokens;

/// How deep an expression may nest; it keeps the recursion off the end of the stack.
const EXPRESSION_DEPTH_MAX: usize = 100;

/// Reads one expression: what it says about itself comes before what its grammar says.
fn parse_whole<T>(
    parameter: &str,
    source: &str,
    placeholders: &RequestPlaceholders,
    grammar: impl FnOnce(&mut ExpressionParser<'_>) -> Result<T, Malformed>,
) -> Result<T, Fault> {
    let parsed = || {
        if source.is_empty() {
            return Err(Malformed::from("The expression can not be empty;"));
        }
        if source.len() > EXPRESSION_SIZE_BYTES_MAX {
            return Err(Malformed::from(format!(
                "Expression size has exceeded the maximum allowed size; expression size: {}",
                source.len()
            )));
        }
        let mut parser = ExpressionParser {
            tokens: Tokens::read(source)?,
            placeholders,
            operators: 0,
            depth: 0,
        };
        let tree = grammar(&mut parser)?;
        parser.tokens.expect_end()?;
        if parser.tokens.has_redundant_parentheses() {
            return Err(Malformed::from("The expression has redundant parentheses;"));
        }
        if parser.operators > EXPRESSION_OPERATORS_MAX {
            return Err(Malformed::from(format!(
                "The expression contains more operators than allowed; operator count: {}",
                parser.operators
            )));
        }
        Ok(tree)
    };
    parsed().map_err(|message| Fault::validation_fault(format!("Invalid {parameter}: {message}")))
}

/// An expression in the middle of being read.
struct ExpressionParser<'a> {
    tokens: Tokens<'a>,
    placeholders: &'a RequestPlaceholders,
    operators: usize,
    depth: usize,
}

impl ExpressionParser<'_> {
    /// Reads something that may hold itself.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T, Malformed>) -> Result<T, Malformed> {
        if self.depth == EXPRESSION_DEPTH_MAX {
            return Err(Malformed::from(format!(
                "The expression is nested more than {EXPRESSION_DEPTH_MAX} levels deep"
            )));
        }
        self.depth += 1;
        let read = inner(self);
        self.depth -= 1;
        read
    }
}

/// That an operand has a type that its operator does not take.
fn wrong_type(operator: &str, type_name: &str) -> Malformed {
    Malformed::from(format!(
        "Incorrect operand type for operator or function; operator or function: {operator}, operand type: {type_name}"
    ))
}

/// That a function was given too few operands or too many.
fn wrong_count(function: &str, count: usize) -> Malformed {
    Malformed::from(format!(
        "Incorrect number of operands for operator or function; operator or function: {function}, \
         number of operands: {count}"
    ))
}

/// That a function was given a value where it looks for an attribute.
fn no_path(function: &str) -> Malformed {
    Malformed::from(format!(
        "Operator or function requires a document path; operator or function: {function}"
    ))
}
