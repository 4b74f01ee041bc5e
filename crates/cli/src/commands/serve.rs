//! `singlet serve`.

pub(crate) mod bridge;
pub(crate) mod bundled;
mod config;
mod console;
mod first_call;
mod give_back;
mod greeting;
pub(crate) mod log;
mod opening;
pub(crate) mod secret;
pub(crate) mod signal;
mod sources;
mod telemetry;
mod watch;

use std::future::Future;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use singlet_following::retention;
use singlet_http::auth::{ApiKey, ApiKeys, FetchedKeys, JwksTiming, JwtKeys, JwtSettings, KeyRoute, Secret};
use singlet_http::{Limits, Proxies, Server, Service, Settings, Surfaces, System, SystemSettings, TlsFiles};
use singlet_lake::LakePlace;
use singlet_model::Model;
use singlet_model::model::Rate;
use singlet_protocol::{Endpoint, Guard};
use singlet_runtime::{Engine, TableUse, Turns};
use singlet_store::Store;

use self::config::File;
use self::sources::Source;
use self::telemetry::Telemetry;
use super::dynamodb;
use crate::lakes::check_lakes;
use crate::model::fail_command;
use crate::place::{Place, Upkeep};
use crate::private_file::{self, Readers};
use crate::webhooks::WebhookDeployment;
use crate::words_place::{prepare_words_place, words_place};

/// Where the service keeps its data unless told otherwise.
pub(crate) const DATA_FOLDER: &str = "singlet-data";

/// Serve models over HTTP; without a model, the five systems that come with the command.
///
/// Flags take precedence over environment variables, and those over the configuration file. In a folder, missing tables are
/// created; in DynamoDB they must exist, with the keys and indexes that the model needs.
#[derive(Args)]
pub(crate) struct Serve {
    /// The model files.
    models: Vec<PathBuf>,
    /// Where to listen [default: 127.0.0.1:8080]
    #[arg(long, env = "SINGLET_LISTEN", value_name = "ADDRESS")]
    listen: Option<String>,
    /// A second address, for operators, which shows everything: `/metrics`, `/docs`, `/` and `?explain` included. The service's own
    /// address then shows only what `--surfaces` names, and nothing by default.
    #[arg(long, env = "SINGLET_OPERATOR_LISTEN", value_name = "ADDRESS")]
    operator_listen: Option<String>,
    /// What to show besides the operations of the models: `home`, `docs`, `metrics`, `explain`, or `all` or `none`
    /// [default: all]
    #[arg(long, env = "SINGLET_SURFACES", value_name = "NAMES", value_delimiter = ',')]
    surfaces: Vec<String>,
    /// Show the console at `/console`: `full`, `read-only` for one without writes, or `off`. By default there is a console only where the
    /// service listens on this machine alone. Where `--surfaces` leaves out `home` or `docs`, there is none.
    #[arg(long, env = "SINGLET_CONSOLE", value_enum, value_name = "MODE", num_args = 0..=1, default_missing_value = "full", require_equals = false)]
    console: Option<console::Mode>,
    /// A host name by which the console can be reached, in addition to the machine's addresses: that of a proxy in front of it.
    #[arg(long, env = "SINGLET_CONSOLE_HOST", value_name = "HOST", value_delimiter = ',')]
    console_host: Vec<String>,
    /// A proxy in front of the service, an address or a network such as `10.0.0.0/8`: the client is then the one that its
    /// `Forwarded` or `X-Forwarded-For` names.
    #[arg(long, env = "SINGLET_PROXY", value_name = "NETWORK", value_delimiter = ',')]
    proxy: Vec<String>,
    /// `memory`, `embedded:DIR` or `dynamodb` [default: embedded:singlet-data]
    #[arg(long, env = "SINGLET_STORE", value_name = "STORE")]
    store: Option<String>,
    /// The endpoint, where it is not the region's own.
    #[arg(long, env = "SINGLET_ENDPOINT_URL", value_name = "URL")]
    endpoint_url: Option<String>,
    /// The region of DynamoDB.
    #[arg(long, env = "SINGLET_REGION")]
    region: Option<String>,
    /// Fill newly created tables from `sample.jsonl` next to the model.
    #[arg(long)]
    sample: bool,
    /// Take the tables over: check every existing row, and have the tables know only these models from then on.
    #[arg(long)]
    adopt: bool,
    /// Serve models even though design rules find errors in them. Callers will run into what they find.
    #[arg(long, env = "SINGLET_ACCEPT_ERRORS")]
    accept_errors: bool,
    /// Serve the one model at `/` rather than under its name.
    #[arg(long)]
    at_root: bool,
    /// Refuse every write.
    #[arg(long, env = "SINGLET_READ_ONLY")]
    read_only: bool,
    /// Do not run writes after changes or on a schedule: another process does, `singlet follow` or another service on the same table.
    #[arg(long, env = "SINGLET_NO_FOLLOW")]
    no_follow: bool,
    /// Write every change to a lake, one for each system, in this folder or `s3://BUCKET/PREFIX`. Not with `--no-follow`.
    #[arg(long, env = "SINGLET_LAKE", value_name = "PLACE")]
    lake: Option<LakePlace>,
    /// Keep the full-text index in this folder, which belongs to one process; next to the data unless given. With DynamoDB there is no
    /// full-text search without it.
    #[arg(long, value_name = "DIR", env = "SINGLET_SEARCH_INDEX")]
    search_index: Option<PathBuf>,
    /// The secrets that sign webhooks, a TOML file: `[system]` and `webhook = "whsec_…"`, or a list during a rotation.
    #[arg(long, env = "SINGLET_WEBHOOK_SECRETS", value_name = "FILE")]
    webhook_secrets: Option<PathBuf>,
    /// Also send webhooks to this machine and to private networks, and over `http://`: for tests and development.
    #[arg(long, env = "SINGLET_WEBHOOKS_ANYWHERE")]
    webhooks_anywhere: bool,
    /// Also serve the model that wrote the rows, while rows are made ready for both: it stays at `/NAME`, and the new one comes to
    /// `/NAME.next`. Only with data in a folder.
    #[arg(long, value_name = "OLD", conflicts_with_all = ["watch", "adopt", "at_root", "read_only", "dynamodb_writes", "sample"])]
    also: Option<PathBuf>,
    /// With `--also`: which model is left in the end. With `new` the old one is no longer served, with `old` the new one is given up.
    #[arg(long, value_enum, default_value_t = bridge::Toward::Both, requires = "also")]
    toward: bridge::Toward,
    /// Reload model files when they change; one that does not check clean is not loaded.
    #[arg(long)]
    watch: bool,
    /// A file with the secret that signs tokens and seals cursors; `SINGLET_SECRET` holds the secret itself.
    #[arg(long, env = "SINGLET_SECRET_FILE", value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// Accept a secret or a TLS key in a file that others can read, as mounted secrets often are.
    #[arg(long, env = "SINGLET_SECRET_FILES_SHARED")]
    secret_files_shared: bool,
    /// The public keys of the issuer of tokens, a JWKS file or its `https://` address; tokens signed by the secret are then
    /// refused.
    #[arg(long, env = "SINGLET_JWKS", value_name = "FILE|URL")]
    jwks: Option<String>,
    /// The certificate authorities for the `https://` address of `--jwks` or `--issuer`, a PEM file, in place of those that the
    /// machine trusts.
    #[arg(long, env = "SINGLET_JWKS_CA", value_name = "FILE")]
    jwks_ca: Option<PathBuf>,
    /// The issuer that tokens must name. If it is an `https://` address, its keys are found by OpenID Connect Discovery, unless
    /// `--jwks` says where they are.
    #[arg(long, env = "SINGLET_ISSUER", value_name = "ISSUER")]
    issuer: Option<String>,
    /// An origin whose pages may call the service; `*` for any.
    #[arg(long, env = "SINGLET_CORS", value_name = "ORIGIN", value_delimiter = ',')]
    cors: Vec<String>,
    /// Requests per caller, in place of what the models say: `100/min`, `off`.
    #[arg(long, env = "SINGLET_RATE")]
    rate: Option<String>,
    /// The certificate chain for TLS, a PEM file.
    #[arg(long, env = "SINGLET_TLS_CERTIFICATE", value_name = "FILE")]
    tls_certificate: Option<PathBuf>,
    /// The private key for TLS, a PEM file.
    #[arg(long, env = "SINGLET_TLS_KEY", value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// The largest request body.
    #[arg(long, env = "SINGLET_BODY_BYTES_MAX", value_name = "BYTES")]
    body_bytes_max: Option<usize>,
    /// How long an operation may take.
    #[arg(long, env = "SINGLET_OPERATION_SECONDS_MAX", value_name = "SECONDS")]
    operation_seconds_max: Option<u64>,
    /// How long to wait at shutdown for requests that have begun.
    #[arg(long, env = "SINGLET_SHUTDOWN_SECONDS_MAX", value_name = "SECONDS")]
    shutdown_seconds_max: Option<u64>,
    /// How many connections may be open at once.
    #[arg(long, env = "SINGLET_CONNECTIONS_MAX", value_name = "NUMBER")]
    connections_max: Option<NonZeroUsize>,
    /// How many connections one address may have; for a client behind a `--proxy`, how many requests at once.
    #[arg(long, env = "SINGLET_CONNECTIONS_PER_ADDRESS_MAX", value_name = "NUMBER")]
    connections_per_address_max: Option<NonZeroUsize>,
    /// How many requests run at once; any more are refused with 503.
    #[arg(long, env = "SINGLET_REQUESTS_MAX", value_name = "NUMBER")]
    requests_max: Option<NonZeroUsize>,
    /// How many bytes of bodies and answers all requests may hold together, beyond the first 16 KB of each; what does not fit is
    /// refused with 503.
    #[arg(long, env = "SINGLET_HELD_BYTES_MAX", value_name = "BYTES")]
    held_bytes_max: Option<NonZeroUsize>,
    /// How many store calls of reads that go through many rows run at once [default: half of the processors]
    #[arg(long, env = "SINGLET_LONG_CALLS_MAX", value_name = "NUMBER")]
    long_calls_max: Option<NonZeroUsize>,
    /// Also speak DynamoDB's protocol at this address, for SDKs and tools. Served tables are read-only there.
    #[arg(long, env = "SINGLET_DYNAMODB", value_name = "ADDRESS")]
    dynamodb: Option<String>,
    /// With `--dynamodb`: accept writes to served tables, bypassing everything that the models promise.
    #[arg(long, env = "SINGLET_DYNAMODB_WRITES")]
    dynamodb_writes: bool,
    /// With `--dynamodb`: accept calls from other machines. Signatures are not checked.
    #[arg(long, env = "SINGLET_DYNAMODB_REMOTE")]
    dynamodb_remote: bool,
    /// Send traces and metrics to an OpenTelemetry collector at this address, by OTLP over HTTP: `http://localhost:4318`.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT", value_name = "URL")]
    otlp: Option<String>,
    /// A value for a model's `settings`, `system.name=value`.
    #[arg(long = "set", value_name = "SYSTEM.NAME=VALUE")]
    set: Vec<String>,
    /// How requests are logged, to standard error.
    #[arg(long, env = "SINGLET_LOG", value_enum, default_value_t = log::LogFormat::Text)]
    log: log::LogFormat,
    /// What is logged: `info`, `warn`, `debug`, or a filter such as `singlet_http=debug`.
    #[arg(long, env = "SINGLET_LOG_LEVEL", default_value = "info", value_name = "LEVEL")]
    log_level: String,
    /// A configuration file in TOML.
    #[arg(long, env = "SINGLET_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
}

/// What all systems of a run share.
struct Deployment {
    place: Place,
    store: Arc<dyn Store>,
    /// Goes on for as long as it serves.
    upkeep: Option<Upkeep>,
    secret: Secret,
    jwt_keys: JwtKeys,
    jwt: JwtSettings,
    rate: Option<Option<Rate>>,
    is_proxied: bool,
    read_only: bool,
    adopt: bool,
    at_root: bool,
    api_keys: Vec<config::ApiKeyEntry>,
    settings: Vec<(String, String, String)>,
    /// What the long reads of all systems take.
    turns: Turns,
    /// Where others share a table, this process as they know it.
    members: opening::Members,
}

impl Serve {
    /// Runs the command.
    pub(crate) fn run(self: Box<Self>) -> ExitCode {
        super::block_on(async move { self.serve().await }).unwrap_or_else(|code| code)
    }

    async fn serve(mut self: Box<Self>) -> Result<ExitCode, ExitCode> {
        log::start_log(self.log, &self.log_level).map_err(|reason| fail_command(&reason))?;
        let mut file = match &self.config {
            Some(path) => File::read(path).map_err(|reason| fail_command(&reason))?,
            None => File::default(),
        };
        if self.models.is_empty() {
            self.models = file.models.take().unwrap_or_default();
        }
        let sources = Source::all(&self.models, self.sample, self.accept_errors);
        if self.at_root && sources.len() != 1 {
            return Err(fail_command("`--at-root` is for one model"));
        }
        // Before they are loaded: a change from here on is one that `--watch` sees.
        let seen = sources.iter().map(Source::bytes).collect();
        let models = sources
            .iter()
            .map(Source::load_first)
            .collect::<Result<Vec<Model>, ExitCode>>()?;
        let deployment = self
            .deployment(&mut file)
            .await
            .map_err(|reason| fail_command(&reason))?;
        let tls = self.tls(&file).map_err(|reason| fail_command(&reason))?;
        let listen = self
            .listen
            .clone()
            .or(file.listen.take())
            .unwrap_or_else(|| "127.0.0.1:8080".to_owned());
        let server = Server::bind(&listen, tls.as_ref())
            .await
            .map_err(|error| fail_command(&error.to_string()))?;
        let operators = match self.operator_listen.clone().or(file.operator_listen.take()) {
            Some(address) => Some(
                Server::bind(&address, tls.as_ref())
                    .await
                    .map_err(|error| fail_command(&error.to_string()))?,
            ),
            None => None,
        };
        self.dynamodb_writes |= file.dynamodb_writes.unwrap_or_default();
        let is_remote = self.dynamodb_remote || file.dynamodb_remote.unwrap_or_default();
        let dynamodb = match self.dynamodb.clone().or(file.dynamodb.take()) {
            Some(address) => Some(
                dynamodb::bind_endpoint(&address, is_remote, "--dynamodb-remote")
                    .await
                    .map_err(|reason| fail_command(&reason))?,
            ),
            None => None,
        };
        say_opening(&sources, &deployment.place);
        let mut systems = Vec::new();
        match &self.also {
            Some(old) => {
                let both = bridge::serve_both(&deployment, models, (old, self.accept_errors), self.toward).await;
                systems.extend(both?);
            }
            None => {
                for (source, model) in sources.iter().zip(models) {
                    let system = deployment.system(source, model, true).await;
                    systems.push(system.map_err(|reason| fail_command(&reason))?);
                }
            }
        }
        let settings = self
            .service_settings(&mut file, operators.is_some())
            .map_err(|reason| fail_command(&reason))?;
        let console = self.console_shown(
            &mut file,
            &settings,
            &systems,
            &[
                server.bound_address(),
                operators.as_ref().and_then(Server::bound_address),
            ],
        );
        let console = console.map_err(|reason| fail_command(&reason))?;
        let otlp = self.otlp.clone().filter(|url| !url.is_empty()).or(file.otlp.take());
        let telemetry = otlp.as_deref().map(Telemetry::new).transpose();
        let (telemetry, spans) = telemetry.map_err(|reason| fail_command(&reason))?.unzip();
        let settings = Settings {
            console: console.shown,
            spans,
            ..settings
        };
        // Before anybody is told that it serves: who is told may end it at once.
        let end = signal::end_signal().map_err(|reason| fail_command(&reason))?;
        let addresses = greeting::Addresses {
            own: server.bound_address(),
            operators: operators.as_ref().and_then(Server::bound_address),
            over_tls: tls.is_some(),
            surfaces: settings.surfaces,
        };
        let follows = !deployment.read_only && !self.no_follow && !file.no_follow.unwrap_or_default();
        let of_file = file.lake.take().map(|lake| lake.parse::<LakePlace>()).transpose();
        let lake = self
            .lake
            .clone()
            .or(of_file.map_err(|error| fail_command(&error.to_string()))?);
        if let Some(place) = &lake {
            let models = systems.iter().map(|system| system.engine.model());
            check_lakes(place, follows, models).map_err(|reason| fail_command(&reason))?;
        }
        let webhooks = self.webhooks(&mut file).map_err(|reason| fail_command(&reason))?;
        if follows {
            for system in &systems {
                webhooks
                    .webhook_client(&system.engine)
                    .map_err(|reason| fail_command(&reason))?;
            }
            // Before the first request: what is written before there is a follower has nothing run after it.
            for system in systems.iter().filter(|_| self.also.is_none()) {
                singlet_following::enter_table(&system.engine.follower())
                    .await
                    .map_err(|error| {
                        fail_command(&format!("the changes of `{}` cannot be followed: {error}", system.name))
                    })?;
            }
        }
        let search = words_place(&deployment.place, self.search_index.as_deref());
        let searches = |system: &singlet_http::System| !system.engine.model().searches.is_empty();
        if follows && (self.watch || systems.iter().any(searches)) {
            prepare_words_place(&search).map_err(|reason| fail_command(&reason))?;
        }
        let greeting = greeting::service_greeting(&addresses, &systems, &deployment).await;
        let service = Service::new(systems, settings);
        let telling = telemetry.map(|telemetry| telemetry.start(&service));
        let names = service.systems().iter().map(|system| system.name.clone()).collect();
        let names = match &self.also {
            Some(_) => bridge::names_of_new(names, self.toward),
            None => names,
        };
        let texts = console::model_texts(&sources, &names);
        let link = console::start_console(&console, &service, &addresses, texts);
        let _keeping = deployment
            .upkeep
            .as_ref()
            .map(|upkeep| retention::keep_what_is_needed(upkeep.store().clone(), Arc::clone(&service)));
        let company = deployment.place.company();
        let following = match follows {
            true => Some(
                singlet_following::follow_service(
                    Arc::clone(&service),
                    company,
                    webhooks.webhook_senders(),
                    lake,
                    search,
                )
                .await,
            ),
            false => None,
        };
        super::print_text(&format!("{greeting}{}", link.unwrap_or_default()));
        let (ending, ended) = tokio::sync::watch::channel(());
        let end = async move {
            end.await;
            drop(ending);
        };
        let for_operators = operators.map(|server| {
            let mut ended = ended.clone();
            server.run_for_operators(Arc::clone(&service), async move {
                let _ = ended.changed().await;
            })
        });
        let beside = dynamodb.map(|server| self.beside(server, &deployment, &service, ended));
        let serving = async {
            let (served, shown, spoken) = tokio::join!(
                server.run(Arc::clone(&service), end),
                until_its_end(for_operators),
                until_its_end(beside),
            );
            served && shown && spoken
        };
        tokio::spawn(give_back::now_and_then());
        let finished = match self.watch {
            false => serving.await,
            true => tokio::select! {
                finished = serving => finished,
                () = watch::follow_sources(&sources, seen, &deployment, &service) => true,
            },
        };
        if let Some(following) = following {
            following.end().await;
        }
        deployment.members.leave_all().await;
        if let Some(telling) = telling {
            telling.end().await;
        }
        match finished {
            true => tracing::info!("every request that had begun was answered"),
            false => tracing::warn!("requests were still running when the time for shutting down ran out"),
        }
        Ok(ExitCode::from(crate::exit::CLEAN))
    }

    /// DynamoDB's protocol beside the service, on the same store, until the service ends.
    fn beside(
        &self,
        server: Server,
        deployment: &Deployment,
        service: &Arc<Service>,
        mut ended: tokio::sync::watch::Receiver<()>,
    ) -> impl Future<Output = bool> + use<> {
        super::print_text(&dynamodb::endpoint_greeting(&server));
        let served = Arc::clone(service);
        // The systems are asked each time: a model that is taken up may have another table.
        let guard: Guard =
            Arc::new(move |table| served.systems().iter().any(|system| system.model().table.name == table));
        let settings = singlet_protocol::EndpointSettings {
            guard: (!self.dynamodb_writes).then_some(guard),
            guard_help: "it is served, and what its model promises would be passed by; write through the service, or \
                         start it with `--dynamodb-writes`"
                .to_owned(),
            ..singlet_protocol::EndpointSettings::default()
        };
        let endpoint = Endpoint::new(Arc::clone(&deployment.store), settings);
        dynamodb::serve_endpoint(server, endpoint, async move {
            // It never changes; it is gone at the end.
            let _ = ended.changed().await;
        })
    }

    /// What all systems share of a deployment's decisions.
    fn service_settings(&self, file: &mut File, has_operators: bool) -> Result<Settings, String> {
        let said = |flag: &[String], file: Option<Vec<String>>| match flag.is_empty() {
            true => file,
            false => Some(flag.to_vec()),
        };
        let surfaces = match said(&self.surfaces, file.surfaces.take()) {
            Some(names) => Surfaces::from_names(&names).map_err(|error| error.to_string())?,
            None if has_operators => Surfaces::NONE,
            None => Surfaces::ALL,
        };
        let proxies = said(&self.proxy, file.proxy.take()).unwrap_or_default();
        Ok(Settings {
            limits: self.limits(file),
            cors_origins: said(&self.cors, file.cors.take()).unwrap_or_default(),
            surfaces,
            proxies: Proxies::from_networks(&proxies).map_err(|error| error.to_string())?,
            ..Settings::default()
        })
    }

    /// Whether there is a console, and where.
    fn console_shown(
        &self,
        file: &mut File,
        settings: &Settings,
        systems: &[System],
        addresses: &[Option<std::net::SocketAddr>; 2],
    ) -> Result<console::Wanted, String> {
        let mode = self.console.or(file.console.take());
        let hosts = match self.console_host.is_empty() {
            true => file.console_host.take().unwrap_or_default(),
            false => self.console_host.clone(),
        };
        console::wanted_console(mode, hosts, settings.surfaces, systems, addresses)
    }

    /// What is said of webhooks.
    fn webhooks(&self, file: &mut File) -> Result<Arc<WebhookDeployment>, String> {
        let secrets = self.webhook_secrets.clone().or(file.webhook_secrets.take());
        let anywhere = self.webhooks_anywhere || file.webhooks_anywhere.unwrap_or_default();
        WebhookDeployment::read(secrets.as_deref(), anywhere, self.readers(file)).map(Arc::new)
    }

    /// Whether secrets are taken from files that others can read.
    fn readers(&self, file: &File) -> Readers {
        match self.secret_files_shared || file.secret_files_shared.unwrap_or_default() {
            true => Readers::Others,
            false => Readers::OwnerAlone,
        }
    }

    async fn deployment(&self, file: &mut File) -> Result<Deployment, String> {
        let store = self.store.clone().or(file.store.take());
        let store = store.unwrap_or_else(|| format!("embedded:{DATA_FOLDER}"));
        let endpoint_url = self.endpoint_url.clone().or(file.endpoint_url.take());
        let place = Place::parse(&store, endpoint_url, self.region.clone().or(file.region.take()))?;
        let given = std::env::var("SINGLET_SECRET").ok();
        let secret_file = self
            .secret_file
            .clone()
            .or(file.secret_file.take().filter(|_| given.is_none()));
        let readers = self.readers(file);
        let secret = match secret::find_secret(secret_file.as_deref(), given.as_deref(), place.folder(), readers)? {
            Some(secret) => secret,
            None if matches!(place, Place::DynamoDb { .. }) => {
                return Err("a service on DynamoDB needs a secret: set `SINGLET_SECRET` or `--secret-file`".to_owned());
            }
            None => secret::create_secret(place.folder())?,
        };
        let issuer = self.issuer.clone().or(file.issuer.take());
        let jwks = self.jwks.as_deref().or(file.jwks.as_deref());
        let authorities = self.jwks_ca.as_deref().or(file.jwks_ca.as_deref());
        let jwt_keys = match (jwks, &issuer) {
            (Some(place), _) => keys_at(place, authorities).await?,
            (None, Some(issuer)) if issuer.contains("://") => keys_of_issuer(issuer, authorities).await?,
            (None, _) => JwtKeys::Secret(secret.clone()),
        };
        let rate = self.rate.clone().or(file.rate.take());
        if let Some(folder) = place.folder() {
            private_file::warn_of_others(folder);
        }
        let (store, upkeep) = place.open_to_serve().await?;
        Ok(Deployment {
            members: opening::Members::default(),
            store,
            upkeep,
            place,
            secret,
            jwt_keys,
            jwt: JwtSettings { issuer },
            rate: rate.as_deref().map(config::parse_rate).transpose()?,
            is_proxied: !self.proxy.is_empty() || file.proxy.as_ref().is_some_and(|named| !named.is_empty()),
            read_only: self.read_only || file.read_only.unwrap_or_default(),
            adopt: self.adopt,
            at_root: self.at_root,
            api_keys: std::mem::take(&mut file.api_keys),
            settings: self.settings(file)?,
            turns: self
                .long_calls_max
                .or(file.long_calls_max)
                .map_or_else(Turns::of_this_machine, Turns::at_once),
        })
    }

    /// System, name and value; flags last, so that they win.
    fn settings(&self, file: &File) -> Result<Vec<(String, String, String)>, String> {
        let mut all = Vec::new();
        for (system, values) in &file.settings {
            all.extend(
                values
                    .iter()
                    .map(|(name, value)| (system.clone(), name.clone(), value.clone())),
            );
        }
        for text in &self.set {
            let wrong = || format!("`{text}` is not `system.name=value`");
            let (path, value) = text.split_once('=').ok_or_else(wrong)?;
            let (system, name) = path.split_once('.').ok_or_else(wrong)?;
            all.push((system.to_owned(), name.to_owned(), value.to_owned()));
        }
        Ok(all)
    }

    fn limits(&self, file: &File) -> Limits {
        let usual = Limits::default();
        let seconds =
            |flag: Option<u64>, file: Option<u64>, usual: Duration| flag.or(file).map_or(usual, Duration::from_secs);
        Limits {
            body_bytes_max: self
                .body_bytes_max
                .or(file.body_bytes_max)
                .unwrap_or(usual.body_bytes_max),
            operation_time_max: seconds(
                self.operation_seconds_max,
                file.operation_seconds_max,
                usual.operation_time_max,
            ),
            shutdown_time_max: seconds(
                self.shutdown_seconds_max,
                file.shutdown_seconds_max,
                usual.shutdown_time_max,
            ),
            connections_max: self
                .connections_max
                .or(file.connections_max)
                .map_or(usual.connections_max, NonZeroUsize::get),
            connections_per_address_max: self
                .connections_per_address_max
                .or(file.connections_per_address_max)
                .map_or(usual.connections_per_address_max, NonZeroUsize::get),
            requests_max: self
                .requests_max
                .or(file.requests_max)
                .map_or(usual.requests_max, NonZeroUsize::get),
            held_bytes_max: self
                .held_bytes_max
                .or(file.held_bytes_max)
                .map_or(usual.held_bytes_max, NonZeroUsize::get),
            ..usual
        }
    }

    fn tls(&self, file: &File) -> Result<Option<TlsFiles>, String> {
        let certificate = self.tls_certificate.as_ref().or(file.tls_certificate.as_ref());
        let key = self.tls_key.as_ref().or(file.tls_key.as_ref());
        let read = |path: &PathBuf| {
            std::fs::read(path).map_err(|error| format!("`{}` cannot be read: {error}", path.display()))
        };
        match (certificate, key) {
            (Some(certificate), Some(key)) => {
                let certificates = read(certificate)?;
                self.readers(file).check(key)?;
                Ok(Some(TlsFiles {
                    certificates,
                    key: read(key)?,
                }))
            }
            (None, None) => Ok(None),
            _ => Err("TLS needs both a certificate and a key".to_owned()),
        }
    }
}

/// Waits for what is served beside the service, where there is any.
async fn until_its_end(beside: Option<impl Future<Output = bool>>) -> bool {
    match beside {
        Some(beside) => beside.await,
        None => true,
    }
}

/// Says on a terminal what is being done: tables that are made are filled, which may take a while.
fn say_opening(sources: &[Source], place: &Place) {
    use std::io::IsTerminal;
    if std::io::stderr().is_terminal() {
        let systems = crate::table::counted_thing(sources.len(), "system");
        eprintln!("opening {systems}, data {} …", place.shown());
    }
}

/// The keys of a JWKS file, or those at an address.
async fn keys_at(place: &str, authorities: Option<&Path>) -> Result<JwtKeys, String> {
    let named = |reason: String| format!("`{place}`: {reason}");
    if place.contains("://") {
        let keys = FetchedKeys::start(place, JwksTiming::default(), key_route(authorities)?).await;
        return keys.map(JwtKeys::Fetched).map_err(|error| named(error.to_string()));
    }
    let text = std::fs::read_to_string(place).map_err(|error| named(format!("this cannot be read: {error}")))?;
    JwtKeys::from_jwks(&text).map_err(|error| named(error.to_string()))
}

/// The keys of an issuer, found by OpenID Connect Discovery.
async fn keys_of_issuer(issuer: &str, authorities: Option<&Path>) -> Result<JwtKeys, String> {
    let keys = FetchedKeys::start_of_issuer(issuer, JwksTiming::default(), key_route(authorities)?).await;
    keys.map(JwtKeys::Fetched).map_err(|error| {
        format!("the keys of the issuer `{issuer}` are not to be had: {error}; `--jwks` names a file or an address that has them")
    })
}

/// How keys are fetched: through the proxy of the environment, from whom the authorities vouch for.
fn key_route(authorities: Option<&Path>) -> Result<KeyRoute, String> {
    let unread = |path: &Path, error| format!("`{}` cannot be read: {error}", path.display());
    let authorities = authorities.map(|path| std::fs::read(path).map_err(|error| unread(path, error)));
    let route = KeyRoute::default().vouched_by(authorities.transpose()?);
    let said = |names: [&str; 2]| {
        let values = names.into_iter().filter_map(|name| std::env::var(name).ok());
        values.into_iter().find(|value| !value.is_empty())
    };
    let proxy = said(["HTTPS_PROXY", "https_proxy"]).or_else(|| said(["ALL_PROXY", "all_proxy"]));
    let without = said(["NO_PROXY", "no_proxy"]).unwrap_or_default();
    Ok(match proxy {
        Some(proxy) => route.through_proxy(&proxy, &without),
        None => route,
    })
}

impl Deployment {
    /// Opens a model and makes a system of it; the first of a process may make indexes that it adds.
    async fn system(&self, source: &Source, model: Model, is_first: bool) -> Result<System, String> {
        let own = self.settings.iter().filter(|(system, ..)| *system == model.name);
        let given: Vec<(String, String)> = own.map(|(_, name, value)| (name.clone(), value.clone())).collect();
        let settings = crate::store::parse_settings(&model, &given)?;
        let prefix = if self.at_root {
            String::new()
        } else {
            format!("/{}", model.name)
        };
        let sample = source.sample_rows()?;
        let wanted = opening::Wanted {
            used_for: match (self.adopt, self.read_only) {
                (true, _) => TableUse::Adopting,
                (false, true) => TableUse::Reading,
                (false, false) => TableUse::Writing,
            },
            makes_indexes: is_first,
            sample: sample.as_deref().filter(|_| source.fills_tables()),
            members: &self.members,
        };
        let engine = opening::open_engine(&self.place, &self.store, model, settings, &self.secret, wanted).await?;
        self.system_of(engine, prefix, sample)
    }

    /// An engine as a system under a path.
    fn system_of(&self, engine: Engine, prefix: String, sample: Option<String>) -> Result<System, String> {
        let api_keys = self.api_keys_of(engine.model())?;
        Ok(System::new(
            Arc::new(engine.taking_turns(self.turns.clone())),
            SystemSettings {
                prefix,
                jwt_keys: self.jwt_keys.clone(),
                jwt: self.jwt.clone(),
                api_keys,
                read_only: self.read_only,
                rate: self.rate,
                is_proxied: self.is_proxied,
                sample,
            },
        ))
    }

    /// The keys of the configuration; local ones where there are none.
    fn api_keys_of(&self, model: &Model) -> Result<ApiKeys, String> {
        let mut keys = ApiKeys::default();
        let mut known = false;
        for entry in self.api_keys.iter().filter(|entry| entry.system == model.name) {
            if !model.callers.roles.contains(&entry.role) {
                return Err(format!("`{}` has no role `{}` for an API key", model.name, entry.role));
            }
            let of = ApiKey {
                id: entry.id.clone(),
                role: entry.role.clone(),
            };
            keys.add_hash(&entry.sha256, of).map_err(|error| error.to_string())?;
            known = true;
        }
        Ok(if known {
            keys
        } else {
            ApiKeys::local_keys(&self.secret, &model.name, &model.callers.roles)
        })
    }

    /// Whether local API keys are taken for a model.
    fn takes_local_keys(&self, model: &Model) -> bool {
        self.api_keys.iter().all(|entry| entry.system != model.name)
    }
}
