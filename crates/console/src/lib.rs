//! The console: what a service has, in a browser, for who runs it.
//!
//! It answers at `/console` of the service that it belongs to ([`singlet_http::AnswerConsole`]). Who may come in is decided in [`gate`]
//! and [`sessions`]; what is shown is made by [`views`] of what the other crates compute: findings, plans, rows, changes, costs. The page
//! itself stands in `web/`, and what is made of it in `dist/`.
//!
//! # Terms
//!
//! - A *link* lets one person in, once; a *session* is what they get for it. Both are gone with the process.
//! - A *view* is one page of the console, and the JSON behind it.
//! - A *dry run* is a write on a copy of the rows that it touches ([`dry_store`]): nothing is written, and what would be is known.
//!
//! # What it is not
//!
//! It edits nothing: rows change by the model's writes alone. It does not know more of a model than the command line does.

mod answer;
mod arguments;
mod assets;
mod dry_store;
mod gate;
mod noting_store;
mod routes;
mod sessions;
mod typed_json;
mod views;

use std::sync::{Arc, Weak};
use std::time::Instant;

use axum::response::Response;
use futures_util::future::BoxFuture;
use singlet_http::{AnswerConsole, ConsoleRequest, Service};
use tokio::sync::Semaphore;

use sessions::Sessions;
pub use sessions::{IDLE_TIME_MAX, LINK_TIME_MAX};
use views::DrawnModels;
use views::changes::Readers;

/// How many requests the console works on at once; others wait.
const REQUESTS_AT_ONCE_MAX: usize = 32;

/// Gives the text of a system's model: the name of its file, and what it says.
pub type ModelText = Box<dyn Fn(&str) -> Option<(String, Vec<u8>)> + Send + Sync>;

/// What a deployment decides for its console.
pub struct ConsoleSettings {
    /// Whether it has no writes.
    pub read_only: bool,
    /// Names under which it is reached, beside the addresses of the machine.
    pub hosts: Vec<String>,
    /// Says a new sign-in link to who sees the terminal. It gets what comes after the address.
    pub announce: Box<dyn Fn(&str) + Send + Sync>,
    /// The text of a system's model, as it is served: the name of its file, and what it says.
    pub model_text: ModelText,
    /// The clock of links and sessions.
    pub clock: Box<dyn Fn() -> Instant + Send + Sync>,
}

impl std::fmt::Debug for ConsoleSettings {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("ConsoleSettings")
            .field("read_only", &self.read_only)
            .field("hosts", &self.hosts)
            .finish_non_exhaustive()
    }
}

/// The console of a service.
#[derive(Debug)]
pub struct Console {
    service: Weak<Service>,
    settings: ConsoleSettings,
    sessions: Sessions,
    readers: Readers,
    drawings: DrawnModels,
    turns: Semaphore,
}

impl Console {
    /// The console of a service, which holds it in turn.
    pub fn new(service: &Arc<Service>, settings: ConsoleSettings) -> Arc<Self> {
        Arc::new(Console {
            service: Arc::downgrade(service),
            settings,
            sessions: Sessions::default(),
            readers: Readers::default(),
            drawings: DrawnModels::default(),
            turns: Semaphore::new(REQUESTS_AT_ONCE_MAX),
        })
    }

    /// A new sign-in link: what comes after the address of the service. None where the machine has no randomness.
    pub fn new_link(&self) -> Option<String> {
        let token = self.sessions.new_link((self.settings.clock)())?;
        Some(format!("{}#{token}", singlet_http::CONSOLE_PATH))
    }
}

impl AnswerConsole for Console {
    fn answer(self: Arc<Self>, request: ConsoleRequest) -> BoxFuture<'static, Response> {
        Box::pin(async move {
            let over_tls = request.over_tls;
            let mut response = routes::answer_request(&self, request).await;
            gate::add_headers(&mut response, over_tls);
            response
        })
    }
}
