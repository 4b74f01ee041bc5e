//! A load on the service, beside the least that could answer the same and what a team would otherwise write.
//!
//! Every *side* answers the same requests with the same JSON from a copy of the same data on disk, in a process of its own:
//!
//! - *bare*: axum handlers that make the calls of the engine that the service makes, and nothing else;
//! - *service*: the service with the models of todo and ecobid;
//! - *before*: the service on the engine of before;
//! - *node*: Express and ElectroDB, on the engine's own HTTP server.
//!
//! A *case* is a mix of *operations* (get, list or create of one system), sent over some connections in a closed loop: each
//! connection sends its next request when the last is answered.

pub mod bare;
pub mod client;
pub mod data;
pub mod node;
pub mod operations;
pub mod process;
pub mod report;
pub mod same;
pub mod service;
