//! The rules that checking an expression can find, each with its page.

mod names;
mod types;
mod writing;

pub(crate) use names::*;
pub use types::*;
pub(crate) use writing::*;

use crate::diagnostic::Rule;

/// All rules about expressions, by code.
pub static RULES: &[&Rule] = &[
    &EMPTY,
    &TOO_LONG,
    &TOO_DEEP,
    &UNBALANCED,
    &TEXT_LITERAL,
    &UNEXPECTED,
    &FOREIGN_OPERATOR,
    &STRAY_CHARACTER,
    &NUMBER_LITERAL,
    &COMMENT,
    &RESERVED_WORD,
    &UNKNOWN_NAME,
    &UNKNOWN_FIELD,
    &UNKNOWN_ARGUMENT,
    &NOT_HERE,
    &UNKNOWN_FUNCTION,
    &WRONG_ARGUMENTS,
    &CALL_FORM,
    &TYPE_MISMATCH,
    &INCOMPARABLE,
    &NOT_A_MEMBER,
    &INVALID_LITERAL,
    &NO_ORDER,
    &MAY_BE_ABSENT,
    &UNTESTED_ARGUMENT,
    &NEVER_ABSENT,
    &FOREIGN_ABSENCE,
    &ARITHMETIC,
    &DIVISION,
    &POSITIONAL_KEY,
    &WRONG_KEY,
    &KEY_FUNCTION,
    &BRANCHES,
    &AMBIGUOUS,
    &OUTSIDE_LIMITS,
];
