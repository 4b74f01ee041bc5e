//! The sets of texts that values and their forms are: automata, and what is asked of them.

pub(crate) mod automaton;
pub(crate) mod class;
pub(crate) mod domain;
pub(crate) mod language;
pub(crate) mod number_range;
pub(crate) mod numerals;
pub(crate) mod pattern;
pub(crate) mod search;
pub(crate) mod shapes;
pub(crate) mod source;
