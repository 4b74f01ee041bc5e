//! What can be found in a file of scenarios, and by running it.

use singlet_model::Severity;
use singlet_model::diagnostic::Rule;

/// The file is not as scenarios are written.
pub(crate) static MISTAKE: Rule = Rule {
    code: "V001",
    name: "scenario-mistake",
    severity: Severity::Error,
    page: "A scenario is not written as scenarios are.",
};

/// The service answered something else.
pub(crate) static DIFFERENT: Rule = Rule {
    code: "V002",
    name: "other-answer",
    severity: Severity::Error,
    page: "The service answered something else than the scenario says.",
};

/// What is said to be out of reach is reached, or is not there.
pub(crate) static UNREACHABLE: Rule = Rule {
    code: "V003",
    name: "wrongly-unreachable",
    severity: Severity::Error,
    page: "What the file calls unreachable is reached, or is nothing of the model.",
};
