//! Why scenarios cannot be played. What an answer should have been and is not is no error, but a difference.

use std::fmt;
use std::io;

use singlet_changes::FollowError;
use singlet_http::SetupError;
use singlet_runtime::RuntimeError;
use singlet_search::SearchError;
use singlet_store::StoreError;
use tokio::task::JoinError;

/// Why scenarios cannot be played.
#[derive(Debug)]
pub enum ScenarioError {
    /// No service can be set up.
    Setup(SetupError),
    /// The service has no address.
    NoAddress,
    /// The table cannot be had.
    Store(StoreError),
    /// The table cannot be looked at.
    Runtime(RuntimeError),
    /// What runs after changes cannot go on.
    Follow(FollowError),
    /// The words of rows cannot be followed.
    Search(SearchError),
    /// A write cannot run by the clock.
    StuckTick {
        /// The write.
        write: String,
    },
    /// A write cannot run after a change.
    StuckRun {
        /// The write.
        write: String,
        /// What changed.
        entity: String,
        /// Why it cannot run.
        reason: String,
    },
    /// The service cannot be asked.
    Unreachable(io::Error),
    /// The service ended a connection in place of an answer.
    NoAnswer,
    /// A request was given up.
    Broken(JoinError),
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        use ScenarioError as E;
        match self {
            E::Setup(error) => error.fmt(out),
            E::NoAddress => out.write_str("the service has no address"),
            E::Store(error) => error.fmt(out),
            E::Runtime(error) => error.fmt(out),
            E::Follow(error) => error.fmt(out),
            E::Search(error) => error.fmt(out),
            E::StuckTick { write } => write!(out, "`{write}` cannot run by the clock"),
            E::StuckRun { write, entity, reason } => {
                write!(out, "`{write}` cannot run after a change of `{entity}`: {reason}")
            }
            E::Unreachable(error) => write!(out, "the service cannot be asked: {error}"),
            E::NoAnswer => out.write_str("the service closed the connection without an answer"),
            E::Broken(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for ScenarioError {}

/// Each of these is one step's own failure, told in its words.
macro_rules! is_told_as {
    ($($of:ty => $variant:ident),*) => {
        $(impl From<$of> for ScenarioError {
            fn from(error: $of) -> Self {
                ScenarioError::$variant(error)
            }
        })*
    };
}

is_told_as!(
    SetupError => Setup,
    StoreError => Store,
    RuntimeError => Runtime,
    FollowError => Follow,
    SearchError => Search,
    io::Error => Unreachable,
    JoinError => Broken
);
