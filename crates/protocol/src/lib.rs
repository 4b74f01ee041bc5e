//! DynamoDB's JSON protocol on any [`Store`].
//!
//! An [`Endpoint`] takes the calls that an AWS SDK sends (`X-Amz-Target: DynamoDB_20120810.PutItem` with a JSON body)
//! and answers as DynamoDB does: the same answers, the same refusals, in its words and its order of them.
//!
//! # Terms
//!
//! - An *expression* is DynamoDB's text; it is parsed here, once, into the trees of `singlet-store`. A request of a
//!   store has no text in it, and the parameters of before expressions (`Expected`, `KeyConditions`) make the same trees.
//! - A *fault* is what is answered in place of an answer: DynamoDB's name of it, its words, its status.
//! - A *guarded* table belongs to somebody else, such as a service that keeps promises about it: it is read, not written.
//!
//! # What it is not
//!
//! It knows no engine and opens no socket: [`Endpoint::router`] is served by whoever has one. It checks no signature;
//! who may call is decided by where it listens. Regions, accounts, backups and streams to elsewhere are not there.

mod admission;
mod batches;
mod capacity;
mod create_table;
mod describe;
mod endpoint;
mod expression;
mod fault;
mod http;
mod input;
mod items;
mod legacy;
mod pages;
mod partiql;
mod schema;
mod streams;
mod tables;
mod tags;
mod transactions;
mod update_table;
mod value;

#[cfg(test)]
mod tests;

pub use admission::AdmissionBounds;
pub use endpoint::{Endpoint, EndpointSettings, Guard};
