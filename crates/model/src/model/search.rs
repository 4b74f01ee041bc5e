//! What is found by its words.

use crate::expression::Expr;
use crate::source::Span;
use crate::types::EntityId;
use crate::word_forms::Language;

/// The member of each row of an answer that holds what was found in it.
pub const HIGHLIGHTS: &str = "highlights";

/// An entity whose rows are found by their words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// The entity.
    pub entity: EntityId,
    /// Where its name stands.
    pub span: Span,
    /// The attributes whose words count, in the order written.
    pub attributes: Vec<String>,
    /// The language of whose words any form is found.
    pub language: Option<Language>,
}

/// What the rows of a selection must have in their words.
#[derive(Clone, Debug)]
pub struct Matching {
    /// The text whose words are searched for.
    pub text: Expr,
    /// The attributes whose words count.
    pub attributes: Vec<String>,
    /// The language of whose words any form is found.
    pub language: Option<Language>,
    /// The attributes that are shown with what was found in them.
    pub highlight: Vec<String>,
}
