//! What a deployment decides.

use std::time::Duration;

use crate::console::ConsoleShown;
use crate::proxies::Proxies;
use crate::surfaces::Surfaces;
use crate::telemetry::SpanSink;

/// What a deployment decides for all systems together.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The bounds of every request.
    pub limits: Limits,
    /// The origins whose pages may call; `*` for every one. None, unless said.
    pub cors_origins: Vec<String>,
    /// What the service's own address shows beside operations.
    pub surfaces: Surfaces,
    /// The proxies whose word about clients is taken.
    pub proxies: Proxies,
    /// Where the console is shown, if there is one.
    pub console: ConsoleShown,
    /// Where the spans of requests go, if a collector is told.
    pub spans: Option<SpanSink>,
}

/// The bounds of every request and connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest body.
    pub body_bytes_max: usize,
    /// How long a body may take to arrive.
    pub body_time_max: Duration,
    /// How long the headers of a request may take to arrive.
    pub header_time_max: Duration,
    /// How long an operation may take.
    pub operation_time_max: Duration,
    /// How long a peer may take to read an answer that is ready.
    pub answer_time_max: Duration,
    /// How many connections are served at once.
    pub connections_max: usize,
    /// How many of them one address may have; of IPv6, one network of 64 bits. Of a client behind a named proxy, which has no
    /// connection of its own, how many requests at once.
    pub connections_per_address_max: usize,
    /// How many requests are worked on at once; one more is refused.
    pub requests_max: usize,
    /// How many bytes of bodies and answers requests hold together, beyond the first 16 KB of each; what does not fit is refused.
    pub held_bytes_max: usize,
    /// How long requests that have begun are waited for at the end.
    pub shutdown_time_max: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            body_bytes_max: 1024 * 1024,
            body_time_max: Duration::from_secs(10),
            header_time_max: Duration::from_secs(10),
            operation_time_max: Duration::from_secs(30),
            answer_time_max: Duration::from_secs(30),
            connections_max: 4096,
            connections_per_address_max: 1024,
            requests_max: 1024,
            held_bytes_max: 32 * 1024 * 1024,
            shutdown_time_max: Duration::from_secs(30),
        }
    }
}
