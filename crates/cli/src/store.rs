//! Which store a command works on.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use singlet_model::Model;
use singlet_runtime::{Attributes, Caller, Engine, Scope, load, table};
use singlet_store::Store;
use singlet_store_embedded::EmbeddedStore;

/// Where the data is.
#[derive(Args)]
pub struct StoreArgs {
    /// `memory`, or `embedded:DIR` for a folder that survives.
    #[arg(long, default_value = "memory", env = "SINGLET_STORE", value_name = "STORE")]
    store: String,
}

impl StoreArgs {
    /// Opens a model on the store; a table that is not there yet is created.
    pub async fn open(&self, model: Model) -> Result<Engine, String> {
        let store: Arc<dyn Store> = match self.store.split_once(':') {
            None if self.store == "memory" => Arc::new(EmbeddedStore::memory().map_err(|error| error.to_string())?),
            Some(("embedded", folder)) if !folder.is_empty() => {
                let folder = PathBuf::from(folder);
                Arc::new(
                    EmbeddedStore::open(&folder)
                        .map_err(|error| format!("`{}` cannot be opened: {error}", folder.display()))?,
                )
            }
            _ => {
                return Err(format!(
                    "`{}` is no store: write `memory` or `embedded:DIR`",
                    self.store
                ));
            }
        };
        let spec = table::spec(&model);
        let tables = store.list_tables().await.map_err(|error| error.to_string())?;
        if !tables.contains(&spec.name) {
            store.create_table(&spec).await.map_err(|error| error.to_string())?;
        }
        Ok(Engine::open(Arc::new(model), store, Attributes::new(), cursor_key()))
    }

    /// Whether the data is gone with the process.
    pub fn is_memory(&self) -> bool {
        self.store == "memory"
    }
}

/// Cursors of the command line are for this machine's next call only; a service brings a key of its own.
fn cursor_key() -> [u8; 32] {
    *b"singlet command line cursor key.."
        .first_chunk::<32>()
        .unwrap_or(&[0; 32])
}

/// The instant, in epoch milliseconds.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Loads lines of `{"Entity": {…}}` into an engine's table; says how many rows and items there were.
pub async fn load_rows(engine: &Engine, text: &str, progress: impl FnMut(usize)) -> Result<(usize, usize), String> {
    let nothing = Attributes::new();
    let nobody = Caller::anonymous();
    let scope = Scope {
        setting: engine.setting(),
        now: now(),
        args: &nothing,
        caller: &nobody,
        attributes: None,
        row: None,
        bound: &nothing,
    };
    let mut items = Vec::new();
    let mut rows = 0;
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        items.extend(load::items(engine.model(), line, scope).map_err(|error| format!("line {}: {error}", at + 1))?);
        rows += 1;
    }
    let count = items.len();
    load::put_all(engine.store(), &engine.model().table.name, items, progress)
        .await
        .map_err(|error| error.to_string())?;
    Ok((rows, count))
}
