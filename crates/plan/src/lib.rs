//! From what a read or a write means to how DynamoDB answers it.
//!
//! Which ways there are to the rows of an entity ([`access`]), which of them a meaning can take ([`read`]), and whether a
//! condition written by hand says the same ([`by_hand`], [`trial`]). What one request may ask for stands in one table ([`bounds`]).
//!
//! # Terms
//!
//! - An *access path* is the table or one index, with the templates that one entity has there.
//! - A *fact* is what one conjunct of a meaning says of one attribute.
//! - A condition *by hand* is a read's `using`: templates over the request, to be compared with those of the stored keys.
//! - A meaning *binds* a key part when it fixes its value before anything is read: by an equality, by a short list, or by
//!   a range of days or a circle that a bounded number of keys covers.
//!
//! No I/O, nothing asynchronous; a plan is an inert value.

pub mod access;
pub mod alignment;
pub mod bounds;
pub mod by_hand;
pub mod cost;
pub mod example;
pub mod facts;
mod literals;
pub mod meaning;
pub mod plan_json;
pub mod read;
pub mod show;
pub mod size;
mod span;
pub mod trial;
pub mod values;
pub mod write;

pub use bounds::Bounds;
