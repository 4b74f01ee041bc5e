//! How a report of a whole table is shown.

use clap::ValueEnum;

/// How a report of a whole table is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people.
    Text,
    /// One object; stable.
    Json,
}
