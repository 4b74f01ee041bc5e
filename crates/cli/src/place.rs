//! Where the data is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use indicatif::ProgressBar;
use singlet_face::Company;
use singlet_following::retention;
use singlet_store::{Store, StoreError};
use singlet_store_dynamodb::{DynamoDbStore, Settings};
use singlet_store_embedded::EmbeddedStore;

use crate::operator::{self, Operator};
use crate::progress::count_bar;
use crate::served_store::ServedStore;
use crate::sweep::{self, Sweeping};

/// What goes on beside a store of this process while it is served.
#[derive(Debug)]
pub(crate) struct Upkeep {
    _operator: Option<Operator>,
    _sweeping: Sweeping,
    store: EmbeddedStore,
}

impl Upkeep {
    /// The store that is looked after.
    pub(crate) fn store(&self) -> &EmbeddedStore {
        &self.store
    }
}

/// Where the data is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Gone with the process.
    Memory,
    /// In a folder.
    Folder(PathBuf),
    /// In DynamoDB, or what speaks its protocol.
    DynamoDb {
        /// The endpoint, where it is not the region's own.
        endpoint_url: Option<String>,
        /// The region.
        region: Option<String>,
    },
}

impl Place {
    /// `memory`, `embedded:DIR` or `dynamodb`.
    pub(crate) fn parse(text: &str, endpoint_url: Option<String>, region: Option<String>) -> Result<Self, String> {
        let place = match text.split_once(':') {
            None if text == "memory" => Place::Memory,
            None if text == "dynamodb" => return Ok(Place::DynamoDb { endpoint_url, region }),
            Some(("embedded", folder)) if !folder.is_empty() => Place::Folder(PathBuf::from(folder)),
            _ => {
                return Err(format!(
                    "`{text}` is no store: write `memory`, `embedded:DIR` or `dynamodb`"
                ));
            }
        };
        let flags = [("--endpoint-url", &endpoint_url), ("--region", &region)];
        match flags.into_iter().find(|(_, value)| value.is_some()) {
            Some((flag, _)) => Err(format!("`{flag}` is for `--store dynamodb`, and the store is `{text}`")),
            None => Ok(place),
        }
    }

    /// The folder of the data.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match self {
            Place::Folder(folder) => Some(folder),
            _ => None,
        }
    }

    /// In words.
    pub(crate) fn shown(&self) -> String {
        match self {
            Place::Memory => "in memory, gone at the end".to_owned(),
            Place::Folder(folder) => format!("in {}", folder.display()),
            Place::DynamoDb { endpoint_url, region } => match (endpoint_url, region) {
                (Some(url), _) => format!("at {url}"),
                (None, Some(region)) => format!("in DynamoDB, {region}"),
                (None, None) => "in DynamoDB".to_owned(),
            },
        }
    }

    /// Opens the store.
    pub(crate) async fn open(&self) -> Result<Arc<dyn Store>, String> {
        Ok(self.open_in_company().await?.0)
    }

    /// Opens the store, and says whether others are at work on the data. A folder that a service has open is worked on by asking it.
    pub(crate) async fn open_in_company(&self) -> Result<(Arc<dyn Store>, Company), String> {
        if let Place::Folder(folder) = self
            && let Some(served) = ServedStore::connect_served(folder).await?
        {
            return Ok((Arc::new(served), Company::Shared));
        }
        Ok((self.open_itself().await?, self.company()))
    }

    async fn open_itself(&self) -> Result<Arc<dyn Store>, String> {
        Ok(match self {
            Place::Memory => Arc::new(EmbeddedStore::memory().map_err(|error| error.to_string())?),
            Place::Folder(folder) => Arc::new(open_folder(folder)?),
            Place::DynamoDb { endpoint_url, region } => {
                let settings = settings(endpoint_url.as_ref(), region.as_ref())?;
                let store = DynamoDbStore::connect(&settings).await;
                Arc::new(store.map_err(|error| self.failed_here(&error))?)
            }
        })
    }

    /// Opens the store for a process that serves it: expired rows are removed and operators are answered for as long as what
    /// comes with it is held. DynamoDB does the one by itself and has others for the other.
    pub(crate) async fn open_to_serve(&self) -> Result<(Arc<dyn Store>, Option<Upkeep>), String> {
        let (store, folder) = match self {
            Place::Memory => (EmbeddedStore::memory().map_err(|error| error.to_string())?, None),
            Place::Folder(folder) => (open_folder(folder)?, Some(folder)),
            Place::DynamoDb { .. } => return Ok((self.open_itself().await?, None)),
        };
        let operator = folder.and_then(|folder| {
            let operator = operator::listen_for_operators(folder, store.clone());
            // Without one, commands wait for the end of this process.
            let operator =
                operator.inspect_err(|error| tracing::warn!(%error, "cannot answer commands through the folder"));
            operator.ok()
        });
        let upkeep = Upkeep {
            _operator: operator,
            _sweeping: sweep::start_sweep(store.clone()),
            store: store.clone(),
        };
        Ok((Arc::new(store), Some(upkeep)))
    }

    /// What a store says, with the place where it was asked.
    pub(crate) fn failed_here(&self, error: &StoreError) -> String {
        match self {
            Place::DynamoDb {
                endpoint_url: Some(url),
                ..
            } => format!("`{url}`: {error}"),
            Place::DynamoDb { .. } => format!("DynamoDB: {error}"),
            Place::Memory | Place::Folder(_) => error.to_string(),
        }
    }

    /// Whether others may be at work on the data that this process opens: a folder has one process.
    pub(crate) fn company(&self) -> Company {
        match self {
            Place::Memory | Place::Folder(_) => Company::Alone,
            Place::DynamoDb { .. } => Company::Shared,
        }
    }

    /// Whether tables are made where they are missing: never in DynamoDB, where a table is somebody's decision.
    pub(crate) fn makes_tables(&self) -> bool {
        !matches!(self, Place::DynamoDb { .. })
    }
}

/// Opens the store in a folder, and shows how far a folder of before is taken over.
fn open_folder(folder: &Path) -> Result<EmbeddedStore, String> {
    let mut shown: Option<(String, ProgressBar)> = None;
    let opened = EmbeddedStore::open_with_progress(folder, &mut |progress| {
        if shown.as_ref().is_none_or(|(table, _)| *table != progress.table) {
            // Every row is copied, then compared.
            let bar = count_bar(progress.rows * 2, "rows of before");
            shown = Some((progress.table.clone(), bar));
        }
        if let Some((_, bar)) = &shown {
            bar.set_position(progress.copied_rows + progress.compared_rows);
        }
    });
    if let Some((_, bar)) = shown {
        bar.finish_and_clear();
    }
    let store = opened.map_err(|error| format!("`{}` cannot be opened: {error}", folder.display()))?;
    store.keep_changes(retention::for_anybody());
    Ok(store)
}

/// How DynamoDB is reached. Engines on this machine take any credentials, so none are looked for.
fn settings(endpoint_url: Option<&String>, region: Option<&String>) -> Result<Settings, String> {
    if let Some(url) = endpoint_url
        && !(url.starts_with("http://") || url.starts_with("https://"))
    {
        return Err(format!(
            "`{url}` is no endpoint: write `http://HOST:PORT` or `https://HOST`"
        ));
    }
    match endpoint_url.filter(|url| is_local(url) && !has_credentials()) {
        Some(url) => {
            let local = Settings::local_endpoint(url);
            Ok(Settings {
                region: region.cloned().or(local.region.clone()),
                ..local
            })
        }
        None => Ok(Settings {
            endpoint_url: endpoint_url.cloned(),
            region: region.cloned(),
            ..Settings::default()
        }),
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
