//! The words of searches.

use super::super::Shape::Words;
use super::super::{Record, optional, required};
use super::{NAMES, record};
use crate::word_forms::LANGUAGE_NAMES;

/// An entity that is found by its words.
pub(super) static SEARCHED: Record = record(
    "searched entity",
    "The attributes of an entity whose words are found, and in which forms.",
    &[
        required("attributes", NAMES, "The attributes that have the words."),
        optional(
            "language",
            Words(LANGUAGE_NAMES),
            "The language of the texts: words are found in any of their forms.",
        ),
    ],
);
