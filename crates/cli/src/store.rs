//! Which store a command works on.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use indicatif::ProgressBar;
use singlet_model::Model;
use singlet_runtime::{Attributes, Caller, Engine, Scope, load, table};

use crate::place::Place;

/// Where the data is.
#[derive(Args)]
pub struct StoreArgs {
    /// `memory`, `embedded:DIR` for a folder that survives, or `dynamodb`.
    #[arg(long, default_value = "memory", env = "SINGLET_STORE", value_name = "STORE")]
    store: String,
    /// With `dynamodb`: another endpoint than the region's own.
    #[arg(long, env = "SINGLET_ENDPOINT_URL", value_name = "URL")]
    endpoint_url: Option<String>,
    /// With `dynamodb`: the region; what the environment says, unless given.
    #[arg(long, env = "SINGLET_REGION", value_name = "REGION")]
    region: Option<String>,
}

impl StoreArgs {
    /// Opens a model on the store; a table that is not there yet is created.
    pub async fn open(&self, model: Model) -> Result<Engine, String> {
        let place = Place::parse(&self.store, self.endpoint_url.clone(), self.region.clone())?;
        let store = place.open().await?;
        let spec = table::spec(&model);
        let tables = store.list_tables().await.map_err(|error| place.failed(&error))?;
        if !tables.contains(&spec.name) {
            store.create_table(&spec).await.map_err(|error| place.failed(&error))?;
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
pub async fn load_rows(engine: &Engine, text: &str, now: i64, bar: &ProgressBar) -> Result<(usize, usize), String> {
    let nothing = Attributes::new();
    let nobody = Caller::anonymous();
    let scope = Scope {
        setting: engine.setting(),
        now,
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
    bar.set_length(count as u64);
    let progress = |put: usize| bar.set_position(put as u64);
    load::put_all(engine.store(), &engine.model().table.name, items, progress)
        .await
        .map_err(|error| error.to_string())?;
    Ok((rows, count))
}
