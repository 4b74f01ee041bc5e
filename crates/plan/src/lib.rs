//! From what a read or a write means to how DynamoDB answers it.
//!
//! So far: which ways there are to the rows of an entity ([`access`]), and which of them a meaning can take. Design rules
//! ask that; plans are built on it.
//!
//! # Terms
//!
//! - An *access path* is the table or one index, with the templates that one entity has there.
//! - A meaning *binds* a key part when it fixes its value before anything is read: by an equality, by a short list, or by
//!   a range of days or a circle that a bounded number of keys covers.
//!
//! No I/O, nothing asynchronous; a plan is an inert value.

pub mod access;
pub mod meaning;
pub mod read;
pub mod show;
pub mod values;
