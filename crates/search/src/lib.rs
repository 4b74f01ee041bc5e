//! The words of a model's rows, in an index that follows the table's changes.
//!
//! Each process that answers searches has an index of its own, in a folder or in memory. It has no texts: only which words the rows with
//! which keys have, and what of them reads compare. Whoever searches reads the rows again.
//!
//! # Terms
//!
//! - A *word* is what [`singlet_model::words`] makes of a text.
//! - A *term* is an attribute with its value, by which a read tells its rows from those of others.
//! - The *mark* of an index says of which model and which place of the stream it is; it is committed with the words.
//!
//! # What it is not
//!
//! It decides nothing about a row, and keeps nothing that the table does not have: an index that is lost, or of another model, is made anew.

mod error;
mod follower;
mod lookup;
mod places;
mod served;
#[cfg(test)]
mod tests;
mod word_index;

pub use error::SearchError;
pub use follower::{SearchFollower, SearchStep};
pub use served::ServedIndex;
pub use word_index::IndexPlace;
