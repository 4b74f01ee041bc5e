//! Where the data is, and a model opened there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use singlet_http::auth::Secret;
use singlet_model::Model;
use singlet_runtime::{Attributes, Engine, table, values};
use singlet_store::Store;
use singlet_store_dynamodb::{DynamoDbStore, Settings};
use singlet_store_embedded::EmbeddedStore;

use super::tables;
use crate::store::load_rows;

/// Where the data is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
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
    pub fn parse(text: &str, endpoint_url: Option<String>, region: Option<String>) -> Result<Self, String> {
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
        match endpoint_url.or(region) {
            Some(_) => Err(format!(
                "`--endpoint-url` and `--region` are for `--store dynamodb`, not for `{text}`"
            )),
            None => Ok(place),
        }
    }

    /// The folder of the data.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Place::Folder(folder) => Some(folder),
            _ => None,
        }
    }

    /// In words.
    pub fn shown(&self) -> String {
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
    pub async fn open(&self) -> Result<Arc<dyn Store>, String> {
        Ok(match self {
            Place::Memory => Arc::new(EmbeddedStore::memory().map_err(|error| error.to_string())?),
            Place::Folder(folder) => Arc::new(
                EmbeddedStore::open(folder)
                    .map_err(|error| format!("`{}` cannot be opened: {error}", folder.display()))?,
            ),
            Place::DynamoDb { endpoint_url, region } => {
                let settings = Settings {
                    endpoint_url: endpoint_url.clone(),
                    region: region.clone(),
                    ..Settings::default()
                };
                Arc::new(
                    DynamoDbStore::connect(&settings)
                        .await
                        .map_err(|error| error.to_string())?,
                )
            }
        })
    }

    /// Whether tables are made where they are missing: never in DynamoDB, where a table is somebody's decision.
    fn makes_tables(&self) -> bool {
        !matches!(self, Place::DynamoDb { .. })
    }
}

/// Opens a model on a store. Its table must be as the model needs it; where it is missing it is made and, if there are
/// rows for it, filled.
pub async fn open(
    place: &Place,
    store: &Arc<dyn Store>,
    model: Model,
    settings: Attributes,
    secret: &Secret,
    sample: Option<&str>,
) -> Result<Engine, String> {
    let wanted = table::spec(&model);
    let name = model.name.clone();
    let table = wanted.name.clone();
    let failed = |error: singlet_store::StoreError| format!("table `{table}` of `{name}`: {error}");
    let tables = store.list_tables().await.map_err(failed)?;
    let missing = !tables.contains(&table);
    if missing && !place.makes_tables() {
        return Err(format!("there is no table `{table}`, which `{name}` needs"));
    }
    if missing {
        store.create_table(&wanted).await.map_err(failed)?;
    } else {
        let live = store.describe_table(&table).await.map_err(failed)?;
        let found = tables::differences(&wanted, &live.spec);
        if !found.is_empty() {
            return Err(format!(
                "table `{table}` is not as `{name}` needs it: {}",
                found.join("; ")
            ));
        }
    }
    let cursor_key = secret.cursor_key(&name);
    let engine = Engine::open(Arc::new(model), Arc::clone(store), settings, cursor_key);
    if let Some(rows) = sample.filter(|_| missing) {
        load_rows(&engine, rows, &crate::progress::none())
            .await
            .map_err(|reason| format!("the rows of `{name}`: {reason}"))?;
    }
    Ok(engine)
}

/// The values of a model's settings.
pub fn settings(model: &Model, given: &[(String, String)]) -> Result<Attributes, String> {
    let mut settings = Attributes::new();
    for (name, text) in given {
        let Some(known) = model.settings.iter().find(|known| known.name == *name) else {
            return Err(format!("`{}` has no setting `{name}`", model.name));
        };
        let value = values::from_text(text, &known.ty)
            .map_err(|wrong| format!("setting `{name}` of `{}`: {wrong}", model.name))?;
        settings.insert(name.clone(), value);
    }
    Ok(settings)
}
