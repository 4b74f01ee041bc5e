//! The words of searches.

use super::super::Shape::Names;
use super::super::{Field, optional};
use super::NAMES;

/// What is found by its words.
pub(super) const SEARCH: Field = optional(
    "search",
    Names("entity", &NAMES),
    "Entities whose rows are found by words, each with the attributes that have them; a read says `matching`.",
);
