//! What writes mean, and sequences of them that hold the engine against it.
//!
//! The [`oracle`] keeps every row as plain attributes and does one operation at a time, straight from the model: no items, no
//! conditions, no pins. A [`sequence`] does each operation twice and compares the outcome and every row; the [`dump`] encodes
//! every row anew and compares the items, index keys, guards and mirrors included. Ids and digits are made up on both sides:
//! the oracle's stand for the engine's from the first time they meet ([`unify`]). Where something runs after changes, that is done twice too,
//! until all is at rest ([`followed`]).

mod at_once;
mod by_hand;
mod capacity;
mod change;
pub mod draw;
mod draw_values;
pub mod dump;
mod followed;
mod follows;
pub(crate) mod mends;
pub(crate) mod oracle;
mod prepare;
mod promises;
mod request;
mod rows;
pub mod sequence;
mod steps;
mod tallied;
pub(crate) mod unify;
pub mod world;

pub use at_once::{AT_ONCE_MAX, AtOnce, names_its_rows};
pub use by_hand::names_a_call;
pub(crate) use by_hand::why_not_by_hand;
pub use capacity::{RangeWidths, WriteSpent};
pub use draw::Draw;
pub use followed::FollowedOp;
pub(crate) use followed::FollowedSequence;
pub use oracle::ExpectedOutcome;
pub use sequence::{Op, WriteSequence};
