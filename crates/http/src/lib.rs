//! Serves models over HTTP.
//!
//! A [`Service`] holds [`System`]s: a model on a store, with its routes, its callers and its limits. Routes come from the model
//! when a system is opened; what a request asks is decided in [`routing`] and [`query`], its arguments are made in [`input`], and
//! every refusal is a [`problem::Problem`]. [`Server`] owns sockets and their end.
//!
//! # Terms
//!
//! - A *place* is one path; an *endpoint* is one read or write at a place. Several reads may share a place and a method.
//! - A *problem* is what is said when a request is not done (RFC 9457).
//!
//! # What it is not
//!
//! It decides nothing about rows: who may see what is the runtime's. It reads no file, no environment, and prints nothing.

mod admission;
mod answer;
mod answer_text;
mod assets;
pub mod auth;
mod begun;
mod body;
mod call;
mod client;
mod clock;
mod connections;
mod console;
pub mod etag;
mod field_errors;
mod home;
mod idle_timer;
pub mod input;
mod location;
mod long_reads;
pub mod metrics;
pub mod openapi;
mod paced;
pub mod problem;
mod proxies;
pub mod query;
pub mod rate;
pub mod refusals;
pub mod routing;
mod server;
mod service;
mod settings;
mod setup_error;
mod surfaces;
mod system;
pub mod telemetry;
mod ticket;
mod trace;
mod trust;
mod watch;
pub mod webhooks;

pub use client::typescript_client;
pub use clock::Clock;
pub use console::{AnswerConsole, CONSOLE_PATH, ConsoleRequest, ConsoleShown};
pub use proxies::Proxies;
pub use server::{Server, TlsFiles};
pub use service::Service;
pub use settings::{Limits, Settings};
pub use setup_error::SetupError;
pub use surfaces::Surfaces;
pub use system::{System, SystemSettings};
