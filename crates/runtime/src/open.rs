//! From a model file and a store to an engine, for programs that embed it.

use std::fmt;
use std::sync::Arc;

use singlet_model::{Diagnostics, Severity, Source};
use singlet_store::Store;

use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::scope::{Attributes, Caller, Scope};
use crate::{cursor, load, table};

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
    pub fn load(source: &Source, store: Arc<dyn Store>, deployment: Deployment) -> Result<Self, Unsound> {
        let loaded = singlet_model::load(source);
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

    /// Creates the model's table, unless there is one of its name.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn create_table(&self) -> Result<(), RuntimeError> {
        let spec = table::spec(self.model());
        if !self.store().list_tables().await?.contains(&spec.name) {
            self.store().create_table(&spec).await?;
        }
        Ok(())
    }

    /// Puts rows, a line `{"Entity": {…}}` for each, over whatever is there; says how many there were.
    ///
    /// # Errors
    ///
    /// What is wrong with a line, before anything is put; or the store fails.
    pub async fn put_lines(&self, text: &str) -> Result<usize, RuntimeError> {
        let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
        let scope = Scope {
            setting: self.setting(),
            now: jiff::Timestamp::now().as_millisecond(),
            args: &nothing,
            caller: &nobody,
            attributes: None,
            row: None,
            bound: &nothing,
        };
        let (mut items, mut rows) = (Vec::new(), 0);
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let of_line = load::items(self.model(), line, scope);
            items.extend(of_line.map_err(|error| RuntimeError::Request(format!("line {}: {error}", at + 1)))?);
            rows += 1;
        }
        load::put_all(self.store(), &self.model().table.name, items, |_| {}).await?;
        Ok(rows)
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
            let place = source.position(finding.span.start);
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
