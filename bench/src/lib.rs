//! What the benchmarks share.

pub mod error;
pub mod generated;
pub mod load;
pub mod rounds;
