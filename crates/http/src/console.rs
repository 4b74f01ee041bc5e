//! The place of the console in the service: what answers at `/console`, and where that is shown.
//!
//! The console itself is another crate, which knows the service. Here is only what a request to it brings along.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::http::request::Parts;
use axum::response::Response;
use futures_util::future::BoxFuture;

use crate::surfaces::Surfaces;

/// Where the console is.
pub const CONSOLE_PATH: &str = "/console";

/// On which addresses the console is shown; nowhere unless said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConsoleShown {
    /// On none.
    #[default]
    Nowhere,
    /// On those that this machine alone can reach.
    Loopback,
    /// On all.
    Anywhere,
}

impl ConsoleShown {
    /// Whether an address shows it. It is mightier than the pages that describe the service: where those are not shown, it is
    /// not either.
    pub fn at(self, address: Option<SocketAddr>, surfaces: Surfaces) -> bool {
        let is_loopback = address.is_some_and(|address| address.ip().to_canonical().is_loopback());
        let by_address = match self {
            ConsoleShown::Nowhere => false,
            ConsoleShown::Loopback => is_loopback,
            ConsoleShown::Anywhere => true,
        };
        by_address && surfaces.home && surfaces.docs
    }
}

/// A request to the console.
#[derive(Debug)]
pub struct ConsoleRequest {
    /// Method, path and headers.
    pub parts: Parts,
    /// The body.
    pub body: Body,
    /// Who sent it: the client itself, or a proxy.
    pub peer: Option<SocketAddr>,
    /// Whether the peer is a proxy that the deployment names.
    pub by_named_proxy: bool,
    /// The address that it came to.
    pub address: Option<SocketAddr>,
    /// Whether it came by TLS.
    pub over_tls: bool,
    /// Under which it is in the log.
    pub request_id: String,
}

/// What answers at `/console`.
pub trait AnswerConsole: Send + Sync + std::fmt::Debug {
    /// Answers.
    fn answer(self: Arc<Self>, request: ConsoleRequest) -> BoxFuture<'static, Response>;
}

/// Whether a path is the console's.
pub(crate) fn is_of_console(path: &str) -> bool {
    path.strip_prefix(CONSOLE_PATH)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_shown_where_the_switch_and_the_address_let_it() {
        let at = |shown: ConsoleShown, address: &str, surfaces| shown.at(address.parse().ok(), surfaces);
        let docs_only = Surfaces {
            docs: true,
            ..Surfaces::NONE
        };
        for loopback in ["127.0.0.1:80", "127.9.9.9:80", "[::1]:80", "[::ffff:127.0.0.1]:80"] {
            assert!(at(ConsoleShown::Loopback, loopback, Surfaces::ALL), "{loopback}");
            assert!(at(ConsoleShown::Anywhere, loopback, Surfaces::ALL), "{loopback}");
            assert!(!at(ConsoleShown::Nowhere, loopback, Surfaces::ALL), "{loopback}");
            assert!(!at(ConsoleShown::Anywhere, loopback, docs_only), "{loopback}");
            assert!(!at(ConsoleShown::Anywhere, loopback, Surfaces::NONE), "{loopback}");
        }
        for public in ["0.0.0.0:80", "[::]:80", "192.0.2.7:80", "10.0.0.1:80"] {
            assert!(!at(ConsoleShown::Loopback, public, Surfaces::ALL), "{public}");
            assert!(at(ConsoleShown::Anywhere, public, Surfaces::ALL), "{public}");
        }
        assert!(!ConsoleShown::Loopback.at(None, Surfaces::ALL));
    }

    #[test]
    fn its_paths_are_its_own() {
        let of = ["/console", "/console/", "/console/api/session"].map(is_of_console);
        let not = ["/consoles", "/", "/todo/console", "/consol"].map(is_of_console);
        assert_eq!((of, not), ([true; 3], [false; 4]));
    }
}
