//! What the tests of several crates share: a process that dies at a call of its store, and somebody else's DynamoDB.
//!
//! No crate depends on this one but for its tests, and this one depends on nothing that it would make them build: what is about one crate
//! alone stays in the tests of that crate.

mod dying_store;
mod endpoint;

pub use dying_store::DyingStore;
pub use endpoint::{Endpoint, Foreign};
