//! Expressions: the strings of a model that compute.
//!
//! An expression is CEL in its grammar and Singlet in its meaning: names, types and absence are checked against the place where it
//! stands. What comes out is a typed tree, [`Expr`], which everything
//! later works on: one meaning in the process and in DynamoDB.
//!
//! - A **scope** ([`Scope`]) says what names mean at one place: the row whose attributes stand bare, arguments, claims, names
//!   bound by `let` and `for`, and what the conditions around the place prove.
//! - A **fact** ([`PresenceFacts`]) is a value known to be present, because a condition tested it.
//! - A value is **optional** where it may be absent. A comparison with an absent value is false; computing with one needs a
//!   test first.
//!
//! Nothing is evaluated here, and nothing is printed: mistakes are collected as diagnostics, and checking goes on.

mod check;
mod facts;
mod functions;
mod parse;
mod relations;
pub mod rules;
mod scan;
mod scope;
mod syntax;
mod tokens;
mod tree;
mod words;

#[cfg(test)]
mod tests;

pub use facts::PresenceFacts;
pub use functions::{CallForm, FUNCTIONS, Function, FunctionId, Meaning, Param};
pub use relations::same_kind;
pub use rules::RULES;
pub use scope::{
    Absence, Arg, Args, BoundName, Claim, DeploymentSetting, OptionalArgs, RowWord, Scope, WordPresence, Words,
};
pub use tree::{BinaryOp, EachOp, Expr, ExprKind, Literal, Word};

use crate::diagnostic::Diagnostics;
use crate::text::Text;
use crate::types::Type;
use check::Checker;

/// The longest expression, in bytes.
pub const EXPRESSION_BYTES_MAX: usize = 4_096;

/// The most words and signs in one expression: what is left to right in the text is nested in the tree, so this bounds its depth.
pub const TOKENS_MAX: usize = 512;

/// How deep brackets nest, and how many `? :` an expression holds.
pub const NESTING_MAX: usize = 32;

/// Words that always mean the same and cannot be bound.
pub(crate) const RESERVED_NAMES: &[&str] = &[
    "args", "caller", "now", "today", "row", "rows", "source", "absent", "done",
];

/// Where a value goes: an attribute that is set, an argument of a step.
#[derive(Clone, Copy, Debug)]
pub struct Target<'t> {
    /// Its name, for messages.
    pub name: &'t str,
    /// Its type.
    pub ty: &'t Type,
    /// Whether it may be absent.
    pub optional: bool,
}

/// Checks an expression. With an expected type, literals take it and any other type is a mistake. Whether the value may be absent
/// is left to the place, which finds it in [`Expr::optional`].
pub fn check_expression(text: &Text, scope: &Scope<'_>, expected: Option<&Type>, out: &mut Diagnostics) -> Expr {
    run(text, scope, out, |checker, node| checker.check_whole(node, expected))
}

/// Checks a condition: a truth value that is never absent, as in `where`, `allow`, `when` and `require`.
pub fn check_condition(text: &Text, scope: &Scope<'_>, out: &mut Diagnostics) -> Expr {
    run(text, scope, out, |checker, node| checker.whole_condition(node))
}

/// Checks a value for an attribute or an argument. A bare word that is a member of its enum is that member; `absent` and values
/// that may be absent go into what is optional only.
pub fn check_value(text: &Text, scope: &Scope<'_>, target: Target<'_>, out: &mut Diagnostics) -> Expr {
    let word = text.text.trim();
    if is_word_of(word, target.ty) {
        return Expr {
            kind: ExprKind::Literal(Literal::Text(word.to_owned())),
            ty: target.ty.clone(),
            optional: false,
            span: text.trimmed_text().span,
        };
    }
    run(text, scope, out, |checker, node| checker.whole_value(node, target))
}

fn is_word_of(word: &str, ty: &Type) -> bool {
    match ty {
        Type::Enum(words) => words.members.iter().any(|member| member == word),
        Type::OrWords(value, words) => words.iter().any(|known| known == word) || is_word_of(word, value),
        _ => false,
    }
}

fn run(
    text: &Text,
    scope: &Scope<'_>,
    out: &mut Diagnostics,
    judge: impl FnOnce(&mut Checker<'_, '_>, &parse::ExpressionNode) -> Expr,
) -> Expr {
    match parse::parse_expression(text) {
        Ok(node) => judge(&mut Checker::new(text, scope, out), &node),
        Err(mistake) => {
            out.push(*mistake);
            Expr::invalid_at(text.span)
        }
    }
}
