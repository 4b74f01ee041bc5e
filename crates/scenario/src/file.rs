//! A file of scenarios, read.

use std::collections::BTreeMap;

use singlet_model::Span;
use singlet_model::node::Node;
use singlet_model::text::Text;
use singlet_runtime::Value;

/// The scenarios of a model.
#[derive(Debug, Default)]
pub struct File {
    /// Names for values.
    pub(crate) names: Vec<(Text, Node)>,
    /// Rows with which every scenario begins.
    pub(crate) given: Vec<InitialRow>,
    /// What no scenario can reach.
    pub(crate) unreachable: Vec<Unreachable>,
    /// The scenarios, in the order written.
    pub scenarios: Vec<Scenario>,
}

/// Rows, and steps in order.
#[derive(Debug)]
pub struct Scenario {
    /// What it shows.
    pub name: Text,
    pub(crate) now: i64,
    pub(crate) given: Vec<InitialRow>,
    pub(crate) settings: Vec<(Text, Text)>,
    pub(crate) read_only: bool,
    /// The steps.
    pub steps: Vec<ScenarioStep>,
}

/// A row of the table before the first call.
#[derive(Debug)]
pub(crate) struct InitialRow {
    pub entity: Text,
    pub attributes: Node,
}

/// A call and what must come back.
#[derive(Debug)]
pub struct ScenarioStep {
    pub(crate) when: Text,
    pub(crate) by: ScenarioCaller,
    pub(crate) send: Option<Node>,
    pub(crate) bytes: Option<usize>,
    pub(crate) headers: Vec<(Text, Node)>,
    pub(crate) time: StepTime,
    pub(crate) times: usize,
    pub(crate) at_once: bool,
    pub(crate) then: Then,
    pub(crate) keep: Vec<(Text, Text)>,
}

/// When a call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepTime {
    /// A millisecond after the last one.
    Next,
    /// So many milliseconds after the last one.
    After(i64),
    /// Then.
    At(i64),
}

/// Who calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ScenarioCaller {
    /// Somebody without credentials.
    Nobody,
    /// Somebody with a token that says so, by the model's names.
    Token(BTreeMap<String, Value>),
    /// Somebody with an API key of that role.
    ApiKey(String),
}

/// What must come back.
#[derive(Debug, Default)]
pub(crate) struct Then {
    pub status: Option<(u16, Span)>,
    pub problem: Option<Text>,
    pub body: Option<Node>,
    pub rows: Option<Node>,
    /// What other systems are told after it.
    pub told: Option<Node>,
    pub headers: Vec<(Text, Node)>,
    pub read_max: Option<(f64, Span)>,
    pub write_max: Option<(f64, Span)>,
    /// How many of several calls answer with a status.
    pub each: Vec<(u16, usize, Span)>,
}

/// What no scenario can reach, and why.
#[derive(Debug)]
pub(crate) struct Unreachable {
    pub span: Span,
    pub status: Option<u16>,
    pub refusal: Option<String>,
    pub at: Option<String>,
}
