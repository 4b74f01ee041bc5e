//! From a model file and a store to an engine, for programs that embed it.

use std::fmt;
use std::sync::Arc;

use singlet_face::Company;
use singlet_model::{Diagnostics, Severity, Source};
use singlet_store::Store;

use crate::control::{OpenError, TableOpening, TableUse};
use crate::engine::Engine;
use crate::load::LoadError;
use crate::scope::Attributes;
use crate::{cursor, load};

/// What a deployment brings to a model.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// The values of the model's `settings`.
    pub settings: Attributes,
    /// The key of cursors. Processes that share it take one another's.
    pub cursor_key: [u8; 32],
}

impl Default for Deployment {
    /// No settings, and a key that only this process has: its cursors end with it.
    fn default() -> Self {
        Deployment {
            settings: Attributes::new(),
            cursor_key: cursor::random_key(),
        }
    }
}

impl Engine {
    /// Reads a model file and opens it on a store.
    ///
    /// # Errors
    ///
    /// The errors in the file, each with its place.
    pub fn load_source(source: &Source, store: Arc<dyn Store>, deployment: Deployment) -> Result<Self, Unsound> {
        let loaded = singlet_model::load_source(source);
        let Some(model) = loaded.model.filter(|_| !loaded.diagnostics.has_errors()) else {
            return Err(Unsound::new(source, loaded.diagnostics));
        };
        Ok(Engine::open(
            Arc::new(model),
            store,
            deployment.settings,
            deployment.cursor_key,
        ))
    }

    /// Opens the model's table where nobody else is at work on it: makes it where it is missing, and has it know the model.
    ///
    /// # Errors
    ///
    /// Why the model cannot work on the table that is there.
    pub async fn create_table(&self) -> Result<(), OpenError> {
        let opening = TableOpening {
            makes_tables: true,
            company: Company::Alone,
            used_for: TableUse::Writing,
            now: jiff::Timestamp::now().as_millisecond(),
        };
        self.open_table(&opening).await.map(drop)
    }

    /// Loads rows, a line `{"Entity": {…}}` for each, as creates would make them; says how many were written. Rows that are
    /// there already are passed over.
    ///
    /// # Errors
    ///
    /// What is wrong with lines, before anything is written; the line at which the table refused a row; or the store fails.
    pub async fn load_lines(&self, text: &str) -> Result<u64, LoadError> {
        let now = jiff::Timestamp::now().as_millisecond();
        Ok(load::load_text(self, text, now).await?.rows)
    }
}

/// A model file with errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsound {
    /// The errors, a line each: place and message.
    pub errors: Vec<String>,
}

impl Unsound {
    fn new(source: &Source, diagnostics: Diagnostics) -> Self {
        let errors = diagnostics.into_sorted().into_iter();
        let errors = errors.filter(|finding| finding.rule.severity == Severity::Error);
        let errors = errors.map(|finding| {
            let place = source.position_at(finding.span.start);
            format!("{}:{}:{}: {}", source.name(), place.line, place.column, finding.message)
        });
        Unsound {
            errors: errors.collect(),
        }
    }
}

impl fmt::Display for Unsound {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.errors.join("\n"))
    }
}

impl std::error::Error for Unsound {}
