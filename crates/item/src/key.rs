//! The text of keys: how values become keys and come back, how keys sort, and which keys can be equal.
//!
//! - A [`Template`] is a sequence of [`Part`]s. [`Template::encode_key`] and [`Template::decode_key`] go from values to keys and
//!   back, [`Template::order_after`] says whether keys sort as values do.
//! - A [`Variable`] has a [`Domain`], the values that it may take, and a [`Form`], how a value stands in the text. Where
//!   values contain the [`Delimiter`] it is escaped, so that no value can forge a part or an entity.
//! - [`decide_collision`] decides whether the keys of two entities can be equal, [`decide_ambiguity`] whether one entity's values can
//!   be read from its keys in two ways. Both are decided over the whole of all domains and show a [`Witness`].
//!
//! Four folders: `encoding` from values to keys, `decoding` back, `languages` for the sets of texts that both speak of, and
//! `deciding` for collisions and ambiguities.
//!
//! Inside, a value is known by its *word*, its canonical text, and a form is a function from words to key texts. The
//! words of a domain and the texts of a form are regular languages, so that templates are compared by intersecting
//! automata rather than by trying values.

mod deciding;
mod decoding;
mod encoding;
mod languages;
mod template;

pub use deciding::ambiguity::{ambiguity_within, decide_ambiguity};
pub use deciding::collision::{Verdict, Witness, colliding_values, collision_within, decide_collision};
pub use deciding::effort::Effort;
pub use decoding::decode::DecodeError;
pub use encoding::character_map::{lower_case, upper_case};
pub use encoding::delimiter::Delimiter;
pub use encoding::encode::EncodeError;
pub use encoding::form::Form;
pub use encoding::kept::{is_kept_number, kept_number};
pub use encoding::order::Order;
pub use languages::domain::{Domain, TextDomain};
pub use languages::number_range::NumberRange;
pub use languages::pattern::{PATTERN_BYTES_MAX, Pattern, PatternError};
pub use template::{KeyType, Part, Template, TemplateError, Variable};
