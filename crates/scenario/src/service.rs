//! A service of its own for each scenario: an empty table in memory, a free port, a clock that stands.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value as Json;
use singlet_changes::{
    ChangeSource, PostWebhook, Posted, TallyFollower, Ticker, TriggerFollower, TriggerObserver, Unobserved,
    WebhookPost, WebhookSender,
};
use singlet_http::auth::{ApiKeys, JwtKeys, JwtSettings, LocalToken, Secret};
use singlet_http::{Clock, Server, Service, Settings, System, SystemSettings};
use singlet_model::Model;
use singlet_runtime::{Attributes, Engine, put_claim, table};
use singlet_search::{IndexPlace, SearchFollower};
use singlet_store::Store;
use singlet_store_embedded::EmbeddedStore;
use singlet_values as values;
use tokio::task::JoinHandle;

use crate::error::ScenarioError;
use crate::file::ScenarioCaller;

/// Signs the tokens of scenarios; a service of scenarios lives for a moment and is reached from this machine alone.
const SECRET: &str = "the secret of scenarios";

/// How long a token is good, in seconds of the machine's clock.
const TOKEN_SECONDS: u64 = 3_600;

/// The most instants at which time does something while the clock is moved once.
const INSTANTS_PER_MOVE_MAX: usize = 1_000;

/// A receiver of webhooks that takes everything, and keeps it.
#[derive(Default)]
struct TakenWebhooks(Mutex<Vec<Json>>);

#[async_trait::async_trait]
impl PostWebhook for TakenWebhooks {
    async fn post(&self, post: &WebhookPost<'_>) -> Posted {
        let body = serde_json::from_str(post.body).unwrap_or_default();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(body);
        Posted::Taken
    }
}

/// A service that ends with it.
pub struct Running {
    pub address: SocketAddr,
    pub engine: Arc<Engine>,
    pub clock: Arc<AtomicI64>,
    /// What runs writes after changes, where the model has such writes and the service writes at all.
    follower: Option<TriggerFollower>,
    /// What webhooks tell, and to whom.
    told: (Arc<TakenWebhooks>, WebhookSender),
    /// What keeps tallies, where the model has any and the service writes at all.
    tallies: Option<TallyFollower>,
    /// What follows the words of rows, where the model has any found by them and the service writes at all.
    words: Option<SearchFollower>,
    /// What runs writes by the clock, once the clock stands somewhere.
    tickers: Option<Vec<Ticker>>,
    read_only: bool,
    secret: Secret,
    task: JoinHandle<bool>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Running {
    /// Starts a service on an empty table.
    pub async fn start(model: &Arc<Model>, settings: Attributes, read_only: bool) -> Result<Self, ScenarioError> {
        let secret = Secret::new(SECRET)?;
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory()?);
        let spec = table::table_spec(model);
        store.create_table(&spec).await?;
        let key = secret.cursor_key(&model.name);
        let engine = Arc::new(Engine::open(Arc::clone(model), store, settings, key));
        let system = System::new(
            Arc::clone(&engine),
            SystemSettings {
                prefix: String::new(),
                jwt_keys: JwtKeys::Secret(secret.clone()),
                jwt: JwtSettings::default(),
                api_keys: ApiKeys::local_keys(&secret, &model.name, &model.callers.roles),
                read_only,
                rate: None,
                is_proxied: false,
                sample: None,
            },
        );
        let follows = !read_only && model.followed_changes().next().is_some();
        let follower = match follows {
            true => Some(TriggerFollower::start(Arc::clone(&engine), Arc::new(Unobserved), 0).await?),
            false => None,
        };
        let taken = Arc::new(TakenWebhooks::default());
        let sender = WebhookSender::new(Arc::clone(&engine), taken.clone(), Arc::new(Unobserved));
        let tallies = match !read_only && !model.tallies.is_empty() {
            true => Some(TallyFollower::start(Arc::clone(&engine), 0, 0).await?),
            false => None,
        };
        let words = (!read_only && !model.searches.is_empty()).then(|| {
            let source: Arc<dyn ChangeSource> = Arc::new(Arc::clone(engine.store()));
            let words = SearchFollower::new(IndexPlace::Memory, Arc::clone(model), source, 0);
            engine.search_by(words.served_index());
            words
        });
        let clock = Arc::new(AtomicI64::new(0));
        let service = Service::with_clock(vec![system], Settings::default(), Clock::Held(Arc::clone(&clock)));
        let server = Server::bind("127.0.0.1:0", None).await?;
        let address = server.bound_address().ok_or(ScenarioError::NoAddress)?;
        let task = tokio::spawn(server.run(service, std::future::pending()));
        Ok(Running {
            address,
            engine,
            clock,
            follower,
            told: (taken, sender),
            tallies,
            words,
            tickers: None,
            read_only,
            secret,
            task,
        })
    }

    /// Moves the clock on, and on the way does what time does: each thing at its instant, and what runs after it. Of ticks beyond so
    /// many, as where nobody was there, the last alone.
    pub async fn move_clock(&mut self, to: i64) -> Result<(), ScenarioError> {
        self.start_clocks().await?;
        self.follow_to_rest().await?;
        for _ in 0..INSTANTS_PER_MOVE_MAX {
            let Some(next) = self.next_instant().filter(|next| *next <= to) else {
                break;
            };
            self.pass(next).await?;
        }
        self.pass(to).await
    }

    /// Has the clock stand at an instant, and does what is due there.
    async fn pass(&mut self, now: i64) -> Result<(), ScenarioError> {
        self.clock.store(now, Ordering::SeqCst);
        if let Some(follower) = &mut self.follower {
            follower.fire_set(now).await?;
            // Boxed: the future of a scenario holds that of every call in it.
            Box::pin(follower.follow_orders(&|| now)).await?;
        }
        for ticker in self.tickers.iter_mut().flatten() {
            ticker.run_due(now).await?;
            if ticker.parked_ticks() > 0 {
                let write = ticker.write().to_owned();
                return Err(ScenarioError::StuckTick { write });
            }
        }
        self.follow_to_rest().await
    }

    async fn start_clocks(&mut self) -> Result<(), ScenarioError> {
        if self.tickers.is_none() && !self.read_only {
            let now = self.clock.load(Ordering::SeqCst);
            let observer: Arc<dyn TriggerObserver> = Arc::new(Unobserved);
            self.tickers = Some(Ticker::start_all(&self.engine, &observer, now).await?);
        }
        Ok(())
    }

    /// The next instant at which time does something.
    fn next_instant(&self) -> Option<i64> {
        let now = self.clock.load(Ordering::SeqCst);
        let ticks = self.tickers.iter().flatten().filter_map(Ticker::next_instant);
        let fired = self.follower.as_ref().and_then(TriggerFollower::next_instant);
        ticks.filter(|tick| *tick > now).chain(fired).min()
    }

    /// Waits until everything has run that is to run after changes, and all of it is counted; says what cannot.
    pub async fn follow_to_rest(&mut self) -> Result<(), ScenarioError> {
        self.run_to_rest().await?;
        let clock = Arc::clone(&self.clock);
        if let Some(words) = &mut self.words {
            let now = move || clock.load(Ordering::SeqCst);
            Box::pin(words.follow_to_head(&now)).await?;
        }
        let Some(tallies) = &mut self.tallies else {
            return Ok(());
        };
        let clock = Arc::clone(&self.clock);
        let now = move || clock.load(Ordering::SeqCst);
        loop {
            let page = tallies.follow_page(&now).await?;
            if page.records == 0 && !tallies.is_building() {
                return Ok(());
            }
        }
    }

    async fn run_to_rest(&mut self) -> Result<(), ScenarioError> {
        let Some(follower) = &mut self.follower else {
            return Ok(());
        };
        let clock = Arc::clone(&self.clock);
        let now = move || clock.load(Ordering::SeqCst);
        loop {
            let page = follower.follow_page(&now).await?;
            // This store has no empty page before its end.
            if page.records == 0 {
                break;
            }
        }
        // What was refused for now runs when the clock has moved.
        let all = follower.parked_changes();
        match all.iter().find(|parked| parked.next_try().is_none()) {
            Some(parked) => Err(ScenarioError::StuckRun {
                write: parked.write.clone(),
                entity: parked.entity.clone(),
                reason: parked.reason.clone(),
            }),
            None => Ok(()),
        }
    }

    /// What other systems were told since it was last asked, in the order of the webhooks of the model and of what happened.
    pub async fn take_told(&self) -> Result<Json, ScenarioError> {
        let (taken, sender) = &self.told;
        let now = || self.clock.load(Ordering::SeqCst);
        for webhook in &self.engine.model().webhooks {
            while sender.send_due(webhook, &now).await? > 0 {}
        }
        let taken = std::mem::take(&mut *taken.0.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(Json::Array(taken))
    }

    /// The header that shows who calls.
    pub fn caller_credentials(&self, caller: &ScenarioCaller) -> Result<Option<(String, String)>, ScenarioError> {
        let model = self.engine.model();
        match caller {
            ScenarioCaller::Nobody => Ok(None),
            ScenarioCaller::ApiKey(role) => {
                let header = model.callers.api_key_header.clone().unwrap_or_default();
                Ok(Some((header, self.secret.local_api_key(&model.name, role))))
            }
            ScenarioCaller::Token(said) => {
                let mut claims = serde_json::Map::new();
                for (name, value) in said {
                    match model.callers.claim_named(name) {
                        Some(claim) => put_claim(claim, value, &mut claims),
                        None => {
                            claims.insert(name.clone(), values::to_json(value));
                        }
                    }
                }
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let token = LocalToken {
                    audience: model.callers.audience.clone(),
                    issuer: None,
                    claims,
                    expires: i64::try_from(since.as_secs() + TOKEN_SECONDS).unwrap_or(i64::MAX),
                };
                let token = token.sign_token(&self.secret)?;
                Ok(Some(("authorization".to_owned(), format!("Bearer {token}"))))
            }
        }
    }
}
