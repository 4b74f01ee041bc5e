//! Why a condition by hand is not tried at all.

use std::fmt;

/// What keeps a read from being tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Untried {
    /// The zone of the model is not in the table of zones here.
    Zone(String),
    /// Nothing says how an entity stands in the table or the index.
    NoPlace { entity: String, place: String },
    /// An argument is of a type of which no value is tried.
    Argument(String),
    /// No combination of arguments sends all that the condition names.
    NoCombination,
}

impl fmt::Display for Untried {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Untried::Zone(zone) => write!(out, "the zone `{zone}` is not known here"),
            Untried::NoPlace { entity, place } => write!(out, "nothing says how `{entity}` stands in {place}"),
            Untried::Argument(name) => write!(out, "`args.{name}` is of a type of which no value is tried"),
            Untried::NoCombination => out.write_str("no combination of arguments sends all that the condition names"),
        }
    }
}
