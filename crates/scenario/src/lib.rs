//! Scenarios: what a service must answer, written as tables and run over real HTTP.
//!
//! A file goes with a model. [`read`] makes a [`File`] of it and says what is wrong with it; [`run`] plays every scenario on a
//! service of its own, in memory, on a free port, with a clock that stands; [`coverage`] says which routes, statuses and
//! refusals of the model no scenario reaches.
//!
//! # Terms
//!
//! - A *scenario* is rows that are given, and steps in order.
//! - A *step* is one call by a caller and what must come back.
//! - A *name* is a value under a short word, given by the file or kept from an answer; `{word}` stands for it.
//! - A *target* is something of the model that a scenario can reach.
//!
//! # What it is not
//!
//! It knows no key and no plan, and looks into no table: what it sees is what a client sees. It reads no file and prints nothing.

mod client;
mod clocks;
mod compare;
pub mod coverage;
mod error;
mod file;
mod given;
mod names;
mod read;
pub mod rules;
mod run;
mod service;

pub use coverage::{Coverage, Target};
pub use error::ScenarioError;
pub use file::{File, Scenario, ScenarioStep};
pub use read::read_scenarios;
pub use run::{Outcome, Played, play_scenarios};
