//! The text of keys: how values become keys and come back, how keys sort, and which keys can be equal.
//!
//! - A [`Template`] is a sequence of [`Part`]s. [`Template::encode`] and [`Template::decode`] go from values to keys and
//!   back, [`Template::order`] says whether keys sort as values do.
//! - A [`Variable`] has a [`Domain`], the values that it may take, and a [`Form`], how a value stands in the text. Where
//!   values contain the [`Delimiter`] it is escaped, so that no value can forge a part or an entity.
//! - [`collision`] decides whether the keys of two entities can be equal, [`ambiguity`] whether one entity's values can
//!   be read from its keys in two ways. Both are decided over the whole of all domains and show a [`Witness`].
//!
//! Inside, a value is known by its *word*, its canonical text, and a form is a function from words to key texts. The
//! words of a domain and the texts of a form are regular languages, so that templates are compared by intersecting
//! automata rather than by trying values.

mod ambiguity;
mod automaton;
mod bounds;
mod character_map;
mod class;
mod collision;
mod decode;
mod delimiter;
mod domain;
mod effort;
mod encode;
mod encoding;
mod equation;
mod form;
mod kept;
mod language;
mod number_range;
mod numerals;
mod order;
mod pattern;
mod search;
mod shapes;
mod solver;
mod source;
mod split;
mod system;
mod template;

pub use ambiguity::{ambiguity, ambiguity_within};
pub use character_map::{lower, upper};
pub use collision::{Verdict, Witness, collide, collision, collision_within};
pub use decode::DecodeError;
pub use delimiter::Delimiter;
pub use domain::{Domain, TextDomain};
pub use effort::Effort;
pub use encode::EncodeError;
pub use form::Form;
pub use kept::{is_kept_number, kept_number};
pub use number_range::NumberRange;
pub use order::Order;
pub use pattern::{PATTERN_BYTES_MAX, Pattern, PatternError};
pub use template::{KeyType, Part, Template, TemplateError, Variable};
