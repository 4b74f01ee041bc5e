//! A service with a console, on a free port, in memory.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value as Json, json};
use singlet_console::{Console, ConsoleSettings};
use singlet_http::auth::{ApiKeys, JwtKeys, JwtSettings, Secret};
use singlet_http::{AnswerConsole, ConsoleShown, Proxies, Server, Service, Settings, Surfaces, System, SystemSettings};
use singlet_runtime::{Attributes, Engine, load};
use singlet_store::Store;
use singlet_store_embedded::EmbeddedStore;

use crate::client::{Reply, send};

pub const SYSTEMS: [&str; 5] = ["booking", "country", "ecobid", "todo", "wardrobe"];

/// How a service differs from the usual.
pub struct Options {
    pub shown: ConsoleShown,
    pub surfaces: Surfaces,
    pub read_only: bool,
    pub proxies: Vec<&'static str>,
    pub hosts: Vec<&'static str>,
    pub listen: &'static str,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            shown: ConsoleShown::Loopback,
            surfaces: Surfaces::ALL,
            read_only: false,
            proxies: Vec::new(),
            hosts: Vec::new(),
            listen: "127.0.0.1:0",
        }
    }
}

/// A service with a console. It ends with the process.
pub struct Running {
    pub address: SocketAddr,
    pub console: Arc<Console>,
    pub service: Arc<Service>,
    /// Links that were said in the terminal.
    pub announced: Arc<Mutex<Vec<String>>>,
    clock: Arc<AtomicU64>,
}

/// A model on a store of its own, with rows.
pub fn system(name: &str, text: &str, rows: &str, now: i64) -> System {
    let model = singlet_model::load_source(&singlet_model::Source::new(name, text))
        .model
        .unwrap();
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory().unwrap());
    let engine = Engine::open(Arc::new(model), store, Attributes::new(), [7; 32]);
    let engine = Arc::new(engine);
    block_on(async {
        engine.create_table().await.unwrap();
        load::load_text(&engine, rows, now).await.unwrap();
    });
    system_on(engine)
}

/// A system of an engine.
pub fn system_on(engine: Arc<Engine>) -> System {
    let secret = Secret::new("a secret of the tests alone").unwrap();
    let settings = SystemSettings {
        prefix: format!("/{}", engine.model().name),
        api_keys: ApiKeys::local_keys(&secret, &engine.model().name, &engine.model().callers.roles),
        jwt_keys: JwtKeys::Secret(secret),
        jwt: JwtSettings { issuer: None },
        read_only: false,
        rate: Some(None),
        is_proxied: false,
        sample: None,
    };
    System::new(engine, settings)
}

pub fn text_of(system: &str, file: &str) -> String {
    let systems = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems");
    std::fs::read_to_string(systems.join(system).join(file)).unwrap()
}

/// One of the five, with its sample data.
pub fn known_system(name: &str) -> System {
    system(
        name,
        &text_of(name, "model.yaml"),
        &text_of(name, "sample.jsonl"),
        now(),
    )
}

pub fn now() -> i64 {
    let since: Duration = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

pub fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(work)
}

pub fn start(systems: Vec<System>, options: Options) -> Running {
    start_with(systems, options, Vec::new())
}

/// The texts of models are given where findings are looked at.
pub fn start_with(systems: Vec<System>, options: Options, texts: Vec<(String, String)>) -> Running {
    let (ready, running) = std::sync::mpsc::channel();
    let clock = Arc::new(AtomicU64::new(0));
    let announced = Arc::new(Mutex::new(Vec::new()));
    let (ticking, said) = (Arc::clone(&clock), Arc::clone(&announced));
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async move {
            let server = Server::bind(options.listen, None).await.unwrap();
            let settings = Settings {
                surfaces: options.surfaces,
                proxies: Proxies::from_networks(&options.proxies).unwrap(),
                console: options.shown,
                ..Settings::default()
            };
            let service = Service::new(systems, settings);
            let settings = ConsoleSettings {
                read_only: options.read_only,
                hosts: options.hosts.iter().map(|host| (*host).to_owned()).collect(),
                announce: Box::new(move |link| said.lock().unwrap().push(link.to_owned())),
                model_text: Box::new(move |system| {
                    let known = texts.iter().find(|(name, _)| name == system);
                    known.map(|(name, text)| (name.clone(), text.clone().into_bytes()))
                }),
                clock: Box::new(move || Instant::now() + Duration::from_secs(ticking.load(Ordering::Relaxed))),
            };
            let console = Console::new(&service, settings);
            service.set_console(Arc::clone(&console) as Arc<dyn AnswerConsole>);
            ready
                .send((server.bound_address().unwrap(), console, Arc::clone(&service)))
                .unwrap();
            server.run(service, std::future::pending()).await
        })
    });
    let (address, console, service) = running.recv().unwrap();
    Running {
        address,
        console,
        service,
        announced,
        clock,
    }
}

impl Running {
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.address.port())
    }

    pub fn local(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.address.port()))
    }

    /// Moves the clock of links and sessions.
    pub fn pass(&self, time: Duration) {
        self.clock.fetch_add(time.as_secs(), Ordering::Relaxed);
    }

    /// The token of a new link.
    pub fn link(&self) -> String {
        let link = self.console.new_link().unwrap();
        link.strip_prefix("/console#").unwrap().to_owned()
    }

    /// A request of the page itself, with the headers that a browser has.
    pub fn ask(&self, method: &str, path: &str, cookie: Option<&str>, body: &str) -> Reply {
        let (host, origin) = (self.host(), format!("http://{}", self.host()));
        let mut headers = vec![("host", host.as_str()), ("sec-fetch-site", "same-origin")];
        if method != "GET" {
            headers.extend([("origin", origin.as_str()), ("content-type", "application/json")]);
        }
        headers.extend(cookie.map(|cookie| ("cookie", cookie)));
        send(self.local(), method, path, &headers, body)
    }

    pub fn sign_in(&self) -> String {
        let body = json!({"link": self.link()}).to_string();
        let reply = self.ask("POST", "/console/api/session", None, &body);
        assert_eq!(reply.status, 200, "{}", reply.text());
        let cookie = reply.header("set-cookie").unwrap();
        cookie.split(';').next().unwrap().to_owned()
    }

    /// A view's JSON.
    pub fn get(&self, cookie: &str, path: &str) -> Json {
        let reply = self.ask("GET", &format!("/console/api/{path}"), Some(cookie), "");
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        reply.json()
    }

    pub fn post(&self, cookie: &str, path: &str, body: &Json) -> Json {
        let reply = self.ask("POST", &format!("/console/api/{path}"), Some(cookie), &body.to_string());
        assert_eq!(reply.status, 200, "{path} {body}: {}", reply.text());
        reply.json()
    }
}
