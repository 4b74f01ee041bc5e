//! One model on one store, ready to be asked over HTTP.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Bytes;
use singlet_model::Model;
use singlet_model::model::{Rate, Write};
use singlet_runtime::Engine;
use tokio_util::sync::CancellationToken;

use crate::auth::{ApiKeys, Authenticator, JwtKeys, JwtSettings};
use crate::input::Patched;
use crate::location::Location;
use crate::openapi;
use crate::rate::RateLimit;
use crate::routing::Routes;
use crate::watch::{Feed, SharedReads};

/// What a deployment decides for one system.
#[derive(Clone, Debug)]
pub struct SystemSettings {
    /// Under which path it is served: empty, or `/name`.
    pub prefix: String,
    /// What signatures are verified with.
    pub jwt_keys: JwtKeys,
    /// What tokens must say.
    pub jwt: JwtSettings,
    /// The API keys.
    pub api_keys: ApiKeys,
    /// Whether writes are refused.
    pub read_only: bool,
    /// Requests per caller in place of what the model says; an inner `None` for no limit.
    pub rate: Option<Option<Rate>>,
    /// Whether requests come through proxies, so that clients are told by what these say.
    pub is_proxied: bool,
    /// Rows to take examples from, a line each: `{"Entity": {…}}`.
    pub sample: Option<String>,
}

/// One model on one store.
#[derive(Debug)]
pub struct System {
    /// The model's name.
    pub name: String,
    /// Under which path it is served.
    pub prefix: String,
    /// The model on its store.
    pub engine: Arc<Engine>,
    /// Its routes.
    pub routes: Routes,
    /// Whether writes are refused.
    pub read_only: bool,
    pub(crate) authenticator: Authenticator,
    pub(crate) rate: Option<RateLimit>,
    pub(crate) openapi: Bytes,
    /// The changes of its table, for who watches.
    pub(crate) feed: Feed,
    /// What watchers read together.
    pub(crate) shared_reads: SharedReads,
    /// Cancelled once another model is served in its place.
    pub(crate) replaced: CancellationToken,
    patched: HashMap<String, Vec<Patched>>,
    locations: HashMap<String, Location>,
}

impl System {
    /// Opens a system.
    pub fn new(engine: Arc<Engine>, settings: SystemSettings) -> Self {
        let model = Arc::clone(engine.model());
        let rate = settings.rate.unwrap_or(model.callers.rate);
        let routes = Routes::of(&model);
        let deployed = openapi::Deployed {
            prefix: &settings.prefix,
            sample: settings.sample.as_deref(),
            read_only: settings.read_only,
            is_rated: rate.is_some(),
            is_proxied: settings.is_proxied,
        };
        let document = openapi::openapi_document(&model, &routes, deployed);
        System {
            name: model.name.clone(),
            prefix: settings.prefix,
            routes,
            read_only: settings.read_only,
            authenticator: Authenticator::new(&model.callers, &settings.jwt_keys, &settings.jwt, settings.api_keys),
            rate: rate.and_then(RateLimit::new),
            feed: Feed::default(),
            shared_reads: SharedReads::default(),
            replaced: CancellationToken::new(),
            openapi: Bytes::from(format!("{document:#}\n")),
            patched: model
                .writes
                .iter()
                .map(|write| (write.name.clone(), patched_arguments(&model, write)))
                .collect(),
            locations: model
                .writes
                .iter()
                .filter_map(|write| Some((write.name.clone(), Location::of(&model, write)?)))
                .collect(),
            engine,
        }
    }

    /// The model.
    pub fn model(&self) -> &Arc<Model> {
        self.engine.model()
    }

    /// Where what a write makes can be read: the system's own path, and the path of the row in it.
    pub(crate) fn row_location(&self, write: &str) -> Option<(&str, &Location)> {
        Some((self.prefix.as_str(), self.locations.get(write)?))
    }

    /// The arguments of a write that a patch made.
    pub(crate) fn patched_members(&self, write: &str) -> &[Patched] {
        self.patched.get(write).map_or(&[], Vec::as_slice)
    }
}

/// The arguments of a write that a patch made.
pub(crate) fn patched_arguments(model: &Model, write: &Write) -> Vec<Patched> {
    let mut all = Vec::new();
    for step in write.all_steps() {
        let entity = step.entity().and_then(|entity| model.entity(entity));
        let Some(entity) = entity.map(|entity| model.source_of(entity)) else {
            continue;
        };
        for taken in &step.patch {
            let attribute = entity.attribute(&taken.attribute);
            all.push(Patched {
                name: taken.attribute.clone(),
                clearable: attribute.is_some_and(|attribute| attribute.optional) && !taken.required,
            });
        }
    }
    all
}
