//! Why a row of one model cannot be one of another.

use std::fmt;

use singlet_model::evaluate::EvaluateError;
use singlet_runtime::RuntimeError;

/// Why a row is not carried into another model.
#[derive(Debug)]
pub(crate) enum RowRefusal {
    /// The row cannot be read by its own model, or not be kept by the other one.
    Row(RuntimeError),
    /// An attribute of the other model cannot be computed.
    Fill(String, EvaluateError),
    /// A value is none of the other model, and nothing fills it.
    Misfit { attribute: String, misfit: String },
    /// The other model requires what the row does not have.
    Missing(String),
    /// An item of the row would be larger than the store takes; in words.
    Oversize(String),
    /// Two items of a row of this entity would have one key.
    SharedKey(String),
}

impl From<RuntimeError> for RowRefusal {
    fn from(error: RuntimeError) -> Self {
        RowRefusal::Row(error)
    }
}

impl fmt::Display for RowRefusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NO_FILL: &str = "no `fill:` says what rows of before get";
        match self {
            RowRefusal::Row(error) => write!(out, "{error}"),
            RowRefusal::Fill(attribute, error) => write!(out, "`{attribute}`: {error}"),
            RowRefusal::Misfit { attribute, misfit } => write!(out, "`{attribute}`: {misfit}, and {NO_FILL}"),
            RowRefusal::Missing(attribute) => {
                write!(out, "`{attribute}` is required, the row has none, and {NO_FILL}")
            }
            RowRefusal::Oversize(reason) => out.write_str(reason),
            RowRefusal::SharedKey(entity) => write!(out, "two items of a row of `{entity}` would have one key"),
        }
    }
}
