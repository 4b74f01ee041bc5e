//! Why the two sides of a comparison are not the same, as far as it can be told.

use std::fmt;

use singlet_item::NumberError;
use singlet_model::evaluate::EvaluateError;
use singlet_runtime::RuntimeError;
use singlet_store::StoreError;

/// Why nobody can say that two sides are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerifyError {
    /// They differ: how.
    Differs(String),
    /// One of them could not be had, so that nothing is known of the other: why.
    Failed(String),
}

impl VerifyError {
    /// Whether both sides were had, and differ.
    pub fn is_difference(&self) -> bool {
        matches!(self, VerifyError::Differs(_))
    }

    /// That something which was needed failed, in words.
    pub(crate) fn failed(what: &str, error: impl fmt::Display) -> Self {
        VerifyError::Failed(format!("{what}: {error}"))
    }

    /// The same with more words: where it was, and what shows it.
    pub(crate) fn reworded(self, words: impl FnOnce(String) -> String) -> Self {
        match self {
            VerifyError::Differs(what) => VerifyError::Differs(words(what)),
            VerifyError::Failed(why) => VerifyError::Failed(words(why)),
        }
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VerifyError::Differs(text) | VerifyError::Failed(text) => out.write_str(text),
        }
    }
}

impl std::error::Error for VerifyError {}

macro_rules! failures {
    ($($error:ty),* $(,)?) => {
        $(impl From<$error> for VerifyError {
            fn from(error: $error) -> Self {
                VerifyError::Failed(error.to_string())
            }
        })*
    };
}

failures!(EvaluateError, NumberError, RuntimeError, StoreError, serde_json::Error);
