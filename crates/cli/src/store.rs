//! Which store a command works on.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use indicatif::ProgressBar;
use singlet_model::Model;
use singlet_runtime::{Attributes, Caller, Engine, Scope, load, table};
use singlet_store::{Store, StoreError};
use singlet_store_dynamodb::{DynamoDbStore, Settings};
use singlet_store_embedded::EmbeddedStore;

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
        let store = self.store().await?;
        let spec = table::spec(&model);
        let tables = store.list_tables().await.map_err(|error| self.failed(&error))?;
        if !tables.contains(&spec.name) {
            store.create_table(&spec).await.map_err(|error| self.failed(&error))?;
        }
        Ok(Engine::open(Arc::new(model), store, Attributes::new(), cursor_key()))
    }

    async fn store(&self) -> Result<Arc<dyn Store>, String> {
        let flags = [("--endpoint-url", &self.endpoint_url), ("--region", &self.region)];
        if let Some((flag, _)) = flags
            .iter()
            .find(|(_, value)| value.is_some() && self.store != "dynamodb")
        {
            return Err(format!(
                "`{flag}` is for `--store dynamodb`, and the store is `{}`",
                self.store
            ));
        }
        match self.store.split_once(':') {
            None if self.store == "memory" => Ok(Arc::new(EmbeddedStore::memory().map_err(|error| error.to_string())?)),
            None if self.store == "dynamodb" => {
                let store = DynamoDbStore::connect(&self.settings()?).await;
                Ok(Arc::new(store.map_err(|error| self.failed(&error))?))
            }
            Some(("embedded", folder)) if !folder.is_empty() => {
                let folder = PathBuf::from(folder);
                let store = EmbeddedStore::open(&folder);
                Ok(Arc::new(store.map_err(|error| {
                    format!("`{}` cannot be opened: {error}", folder.display())
                })?))
            }
            _ => Err(format!(
                "`{}` is no store: write `memory`, `embedded:DIR` or `dynamodb`",
                self.store
            )),
        }
    }

    fn settings(&self) -> Result<Settings, String> {
        if let Some(url) = &self.endpoint_url
            && !(url.starts_with("http://") || url.starts_with("https://"))
        {
            return Err(format!(
                "`{url}` is no endpoint: write `http://HOST:PORT` or `https://HOST`"
            ));
        }
        let said = Settings {
            endpoint_url: self.endpoint_url.clone(),
            region: self.region.clone(),
            ..Settings::default()
        };
        let Some(url) = self
            .endpoint_url
            .as_ref()
            .filter(|url| is_local(url) && !has_credentials())
        else {
            return Ok(said);
        };
        let local = Settings::local(url);
        Ok(Settings {
            region: said.region.or(local.region.clone()),
            ..local
        })
    }

    /// What a store says, with the place where it was asked.
    fn failed(&self, error: &StoreError) -> String {
        match (&self.endpoint_url, self.store.as_str()) {
            (Some(url), _) => format!("`{url}`: {error}"),
            (None, "dynamodb") => format!("DynamoDB: {error}"),
            (None, _) => error.to_string(),
        }
    }

    /// Whether the data is gone with the process.
    pub fn is_memory(&self) -> bool {
        self.store == "memory"
    }
}

/// Whether an endpoint is on this machine, where engines take any credentials.
fn is_local(url: &str) -> bool {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|local| {
        let rest = host.strip_prefix(local);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
    })
}

/// Whether the environment says who asks.
fn has_credentials() -> bool {
    ["AWS_ACCESS_KEY_ID", "AWS_PROFILE"]
        .iter()
        .any(|name| std::env::var_os(name).is_some())
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
pub async fn load_rows(engine: &Engine, text: &str, bar: &ProgressBar) -> Result<(usize, usize), String> {
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
    bar.set_length(count as u64);
    let progress = |put: usize| bar.set_position(put as u64);
    load::put_all(engine.store(), &engine.model().table.name, items, progress)
        .await
        .map_err(|error| error.to_string())?;
    Ok((rows, count))
}
