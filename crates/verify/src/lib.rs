//! Proves that plans answer what reads mean, and that writes do what they mean ([`writes`]).
//!
//! A model and its rows are made up at random ([`generate`]); a read is answered twice, by its plan on a store and by looking at
//! every row ([`oracle`]); and the two answers are compared ([`bench`]). `README.md` says how to run more cases, what is covered, and
//! what was found.
//!
//! # Terms
//!
//! - A *case* is one read with one set of arguments on one table.
//! - A *pool* is the short list of values from which rows and arguments both take theirs, so that they meet often: values that
//!   begin one another, values around the delimiter, and the ends of limits.
//! - A *mismatch* is a case whose two answers differ, with what is needed to see it again.
//!
//! The oracle knows no key, no index and no plan: only the evaluator of expressions.

pub mod answer;
pub mod bench;
mod changing;
mod choices;
pub(crate) mod clocked;
pub mod emptied;
mod error;
pub mod generate;
pub mod interleaved;
pub mod least;
pub(crate) mod metered;
pub mod mismatch;
pub mod mutants;
pub(crate) mod oracle;
mod predicted;
pub mod probe;
pub mod run;
pub mod shrink;
pub(crate) mod smallest;
pub mod writes;

pub use bench::{Bench, Case, Outcome};
pub use error::VerifyError;
pub use generate::Generated;
pub use mismatch::Mismatch;
