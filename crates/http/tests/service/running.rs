//! A service on a free port, in memory, with the sample data of the five systems.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use singlet_http::auth::{ApiKeys, FetchedKeys, JwksTiming, JwtKeys, JwtSettings, KeyRoute, LocalToken, Secret};
use singlet_http::{Clock, Limits, Proxies, Server, Service, Settings, Surfaces, System, SystemSettings, TlsFiles};
use singlet_model::Model;
use singlet_runtime::{Attributes, Engine, load, table};
use singlet_store::Store;
use singlet_store_embedded::EmbeddedStore;
use tokio::sync::oneshot;

use crate::client::{Reply, send};
use crate::documented::hold_to_document;

pub const SYSTEMS: [&str; 5] = ["booking", "country", "ecobid", "todo", "wardrobe"];

/// A service that ends with it.
pub struct Running {
    pub address: SocketAddr,
    pub secret: Secret,
    pub service: Arc<Service>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<bool>>,
}

/// The service that tests share which change nothing in it.
pub static SHARED: LazyLock<Running> = LazyLock::new(|| start(Options::default()));

/// How a service differs from the usual.
#[derive(Clone, Default)]
pub struct Options {
    pub limits: Limits,
    pub cors: Vec<String>,
    pub read_only: bool,
    pub jwks: Option<String>,
    /// Where the keys are, and how they are fetched.
    pub jwks_address: Option<(String, JwksTiming)>,
    /// Who vouches for that address, as PEM text.
    pub jwks_authorities: Option<Vec<u8>>,
    pub issuer: Option<String>,
    /// The keys are where that issuer says.
    pub discovered: Option<(JwksTiming, KeyRoute)>,
    /// Keep the rates of the models.
    pub rates: bool,
    pub tls: Option<TlsFiles>,
    pub surfaces: Surfaces,
    pub proxies: Proxies,
    /// Only these systems.
    pub only: Option<&'static [&'static str]>,
    /// A clock that stands, in epoch milliseconds.
    pub clock: Option<Arc<AtomicI64>>,
}

pub fn folder(system: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems").join(system)
}

/// The model of a system, or of these tests alone.
pub fn model(system: &str) -> Model {
    let text = match system {
        "notes" => include_str!("models/notes.yaml").to_owned(),
        "desks" => include_str!("models/desks.yaml").to_owned(),
        "shapes" => include_str!("models/shapes.yaml").to_owned(),
        "cognito" | "auth0" | "keycloak" | "strict" => crate::issuers::model_text(system),
        system => std::fs::read_to_string(folder(system).join("model.yaml")).unwrap(),
    };
    singlet_model::load_source(&singlet_model::Source::new(system, text))
        .model
        .unwrap()
}

pub fn sample(system: &str) -> String {
    std::fs::read_to_string(folder(system).join("sample.jsonl")).unwrap_or_default()
}

pub fn secret() -> Secret {
    Secret::new("a secret of the tests alone").unwrap()
}

pub async fn settings(model: &Model, sample: String, options: &Options) -> SystemSettings {
    SystemSettings {
        prefix: format!("/{}", model.name),
        jwt_keys: match (&options.jwks, &options.jwks_address) {
            (Some(text), _) => JwtKeys::from_jwks(text).unwrap(),
            (_, Some((address, timing))) => {
                let route = KeyRoute::default().vouched_by(options.jwks_authorities.clone());
                JwtKeys::Fetched(FetchedKeys::start(address, *timing, route).await.unwrap())
            }
            (None, None) => match (&options.discovered, &options.issuer) {
                (Some((timing, route)), Some(issuer)) => {
                    let keys = FetchedKeys::start_of_issuer(issuer, *timing, route.clone()).await;
                    JwtKeys::Fetched(keys.unwrap())
                }
                _ => JwtKeys::Secret(secret()),
            },
        },
        jwt: JwtSettings {
            issuer: options.issuer.clone(),
        },
        api_keys: ApiKeys::local_keys(&secret(), &model.name, &model.callers.roles),
        read_only: options.read_only,
        rate: if options.rates { None } else { Some(None) },
        is_proxied: options.proxies != Proxies::default(),
        sample: Some(sample),
    }
}

/// Opens a system in memory.
pub async fn system(name: &str, options: &Options) -> System {
    let model = model(name);
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory().unwrap());
    store.create_table(&table::table_spec(&model)).await.unwrap();
    let rows = sample(name);
    let settings = settings(&model, rows.clone(), options).await;
    let engine = Engine::open(Arc::new(model), store, Attributes::new(), secret().cursor_key(name));
    fill(&engine, &rows).await;
    System::new(Arc::new(engine), settings)
}

async fn fill(engine: &Engine, rows: &str) {
    load::load_text(engine, rows, now() * 1000).await.unwrap();
}

pub fn start(options: Options) -> Running {
    start_with(options.clone(), async move || {
        let mut systems = Vec::new();
        for name in options.only.unwrap_or(&SYSTEMS) {
            systems.push(system(name, &options).await);
        }
        systems
    })
}

/// A model of a test's own, without rows.
pub fn start_text(text: &'static str) -> Running {
    let options = Options::default();
    start_with(options.clone(), async move || {
        let model = singlet_model::load_source(&singlet_model::Source::new("own", text))
            .model
            .unwrap();
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory().unwrap());
        store.create_table(&table::table_spec(&model)).await.unwrap();
        let settings = settings(&model, String::new(), &options).await;
        let engine = Engine::open(Arc::new(model), store, Attributes::new(), [1; 32]);
        vec![System::new(Arc::new(engine), settings)]
    })
}

/// The five systems on one store, as it is: nothing is filled in.
pub fn start_on(store: EmbeddedStore) -> Running {
    let options = Options::default();
    start_with(options.clone(), async move || {
        let mut systems = Vec::new();
        for name in SYSTEMS {
            let model = model(name);
            let settings = settings(&model, String::new(), &options).await;
            let store: Arc<dyn Store> = Arc::new(store.clone());
            let engine = Engine::open(Arc::new(model), store, Attributes::new(), secret().cursor_key(name));
            engine.create_table().await.unwrap();
            systems.push(System::new(Arc::new(engine), settings));
        }
        systems
    })
}

fn start_with(options: Options, open: impl AsyncFnOnce() -> Vec<System> + Send + 'static) -> Running {
    let (end, ended) = oneshot::channel::<()>();
    let (ready, running) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async move {
            let systems = open().await;
            let server = Server::bind("127.0.0.1:0", options.tls.as_ref()).await.unwrap();
            let settings = Settings {
                limits: options.limits,
                cors_origins: options.cors.clone(),
                surfaces: options.surfaces,
                proxies: options.proxies.clone(),
                ..Settings::default()
            };
            let service = match options.clock {
                Some(clock) => Service::with_clock(systems, settings, Clock::Held(clock)),
                None => Service::new(systems, settings),
            };
            ready
                .send((server.bound_address().unwrap(), Arc::clone(&service)))
                .unwrap();
            let ended = async move { drop(ended.await) };
            server.run(service, ended).await
        })
    });
    let (address, service) = running.recv().unwrap();
    Running {
        address,
        secret: secret(),
        service,
        end: Some(end),
        thread: Some(thread),
    }
}

pub fn now() -> i64 {
    let since: Duration = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_secs()).unwrap()
}

/// Claims that are good for a minute.
pub fn token(audience: &str, claims: &[(&str, &str)]) -> LocalToken {
    let claims = claims
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).into()))
        .collect();
    LocalToken {
        audience: Some(audience.to_owned()),
        issuer: None,
        claims,
        expires: now() + 60,
    }
}

impl Running {
    /// The header with which somebody calls a system: an id, `id/role`, or the role of an API key.
    pub fn credentials(&self, system: &str, caller: &str) -> (&'static str, String) {
        if system == "country" {
            return ("x-api-key", self.secret.local_api_key(system, caller));
        }
        let claims = match caller.split_once('/') {
            Some((id, role)) => vec![("sub", id), ("role", role)],
            None => vec![("sub", caller)],
        };
        let token = token(system, &claims).sign_token(&self.secret).unwrap();
        ("authorization", format!("Bearer {token}"))
    }

    /// A call by somebody; nobody for `-`.
    pub fn call(
        &self,
        system: &str,
        caller: &str,
        method: &str,
        path: &str,
        more: &[(&str, &str)],
        body: &str,
    ) -> Reply {
        let credentials = self.credentials(system, caller);
        let mut headers = more.to_vec();
        if caller != "-" {
            headers.push((credentials.0, &credentials.1));
        }
        if !body.is_empty() && !more.iter().any(|(name, _)| *name == "content-type") {
            headers.push(("content-type", "application/json"));
        }
        let whole = format!("/{system}{path}");
        let reply = send(self.address, method, &whole, &headers, body.as_bytes());
        hold_to_document(system, method, path, &reply);
        reply
    }

    pub fn get(&self, system: &str, caller: &str, path: &str) -> Reply {
        self.call(system, caller, "GET", path, &[], "")
    }

    /// Asks it to end, as a signal does.
    pub fn ask_to_end(&mut self) {
        drop(self.end.take());
    }

    /// Waits for its end; whether every request was answered.
    pub fn wait(mut self) -> bool {
        self.ask_to_end();
        self.thread.take().unwrap().join().unwrap()
    }
}
