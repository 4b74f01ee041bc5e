//! All systems of a process, and what every answer has.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::handler::Handler as _;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header};
use axum::response::Response;
use futures_util::FutureExt;
use hyper::service::Service as HyperService;
use hyper_util::service::TowerToHyperService;
use singlet_store::{Consumed, Units};
use tokio_util::task::TaskTracker;
use tower_http::compression::predicate::{Predicate, SizeAbove};
use tower_http::compression::{Compression, CompressionBody, CompressionLayer};
use tower_http::cors::{AllowHeaders, AllowOrigin, Any, CorsLayer};

use crate::admission::Admission;
use crate::body::UnreadBody;
use crate::call::{DEBUG, Incoming, RequestCall, Surroundings};
use crate::clock::Clock;
use crate::connections::{Connected, Connections, counted_as};
use crate::console::{AnswerConsole, ConsoleRequest, is_of_console};
use crate::long_reads::LongReads;
use crate::metrics::{Metrics, OperationLabels};
use crate::problem::Problem;
use crate::refusals::internal_problem;
use crate::settings::Settings;
use crate::surfaces::Surfaces;
use crate::system::System;
use crate::telemetry::RequestSpan;
use crate::trace::{self, REQUEST_ID, TRACEPARENT, TraceContext};
use crate::watch::Watchers;
use crate::{assets, home, watch};

/// Answers shorter than this are not compressed.
const COMPRESSED_BYTES_MIN: u16 = 1024;

/// How long a store may take to say that it is there.
const READY_TIME_MAX: Duration = Duration::from_secs(2);

/// All systems of a process.
#[derive(Debug)]
pub struct Service {
    systems: RwLock<Vec<Arc<System>>>,
    settings: Settings,
    metrics: Metrics,
    admission: Arc<Admission>,
    long_reads: LongReads,
    closing: AtomicBool,
    tasks: TaskTracker,
    clock: Clock,
    watchers: Watchers,
    console: OnceLock<Arc<dyn AnswerConsole>>,
}

/// Where a request came from.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub address: SocketAddr,
    /// Among which the requests of clients behind proxies are counted.
    pub connections: Connections,
}

/// The service as one address shows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Front {
    pub surfaces: Surfaces,
    /// Whether it is reached by TLS.
    pub over_tls: bool,
    /// The address.
    pub address: Option<SocketAddr>,
    /// Whether the console is shown there.
    pub console: bool,
}

/// What a browser is told of every answer: nothing of it is a page to be framed, guessed at or led away from. Pages say what
/// they may load themselves.
const BROWSER_HEADERS: [(HeaderName, HeaderValue); 3] = [
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
];

/// What an answer that is no page may load, or be framed by: nothing.
const ANSWER_POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");

/// For a year, browsers that came by TLS come by nothing else.
const TLS_ONLY: HeaderValue = HeaderValue::from_static("max-age=31536000");

impl Service {
    /// A service of systems.
    pub fn new(systems: Vec<System>, settings: Settings) -> Arc<Self> {
        Service::with_clock(systems, settings, Clock::Machine)
    }

    /// A service of systems whose operations take the time from a clock.
    pub fn with_clock(systems: Vec<System>, settings: Settings, clock: Clock) -> Arc<Self> {
        let metrics = Metrics::default();
        Arc::new(Service {
            clock,
            admission: Admission::new(&settings.limits, metrics.held_bytes.clone()),
            systems: RwLock::new(systems.into_iter().map(Arc::new).collect()),
            settings,
            metrics,
            long_reads: LongReads::default(),
            closing: AtomicBool::new(false),
            tasks: TaskTracker::new(),
            watchers: Watchers::default(),
            console: OnceLock::new(),
        })
    }

    /// What the deployment decided.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Gives the service its console, once. Where it is shown is in the settings.
    pub fn set_console(&self, console: Arc<dyn AnswerConsole>) {
        let _ = self.console.set(console);
    }

    /// The instant, by the clock of its operations.
    pub fn now(&self) -> i64 {
        self.clock.now()
    }

    /// The figures of the service.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Puts a system in the place of the one of the same prefix. Requests that have begun end on the old one.
    pub fn replace_system(&self, system: System) {
        let mut systems = self.systems.write().unwrap_or_else(PoisonError::into_inner);
        let system = Arc::new(system);
        match systems.iter_mut().find(|known| known.prefix == system.prefix) {
            Some(known) => std::mem::replace(known, system).replaced.cancel(),
            None => systems.push(system),
        }
    }

    /// The systems as they are now.
    pub fn systems(&self) -> Vec<Arc<System>> {
        self.systems.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says that the service is about to end.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        self.tasks.close();
        self.watchers.end();
    }

    /// Waits for what was begun and is not tied to a connection.
    pub(crate) async fn finish(&self) {
        self.tasks.wait().await;
    }

    /// What answers the requests of one address. There is one handler whatever the path, so no router stands in front of it.
    pub(crate) fn answering_front(
        self: &Arc<Self>,
        front: Front,
    ) -> impl HyperService<Request<Body>, Response = Response<CompressionBody<Body>>, Error = Infallible, Future: Send>
    + Clone
    + Send
    + 'static
    + use<> {
        let each = answer.with_state((Arc::clone(self), front));
        TowerToHyperService::new(Compression::new(each).gzip(true).compress_when(worth_compressing()))
    }

    /// The same for pages of other origins too, where the deployment names some.
    pub(crate) fn answering_origins(self: &Arc<Self>, front: Front) -> Option<Router> {
        let origins = self.settings.cors_origins.as_slice();
        let compression = CompressionLayer::new().gzip(true).compress_when(worth_compressing());
        (!origins.is_empty()).then(|| {
            let router = Router::new().fallback(answer).with_state((Arc::clone(self), front));
            router.layer(compression).layer(cors(origins))
        })
    }

    /// The system of a path, and the path within it.
    fn system_of<'p>(&self, path: &'p str) -> Option<(Arc<System>, &'p str)> {
        let systems = self.systems.read().unwrap_or_else(PoisonError::into_inner);
        let within = |system: &Arc<System>| {
            let rest = path.strip_prefix(system.prefix.as_str())?;
            let whole = rest.is_empty() || rest.starts_with('/');
            whole.then(|| (Arc::clone(system), rest))
        };
        systems.iter().find_map(within)
    }

    async fn ready(&self) -> Result<Response, Problem> {
        let unready = |detail: String| {
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", detail).with_header(header::RETRY_AFTER, "1")
        };
        if self.closing.load(Ordering::Relaxed) {
            return Err(unready("the service is about to end".to_owned()));
        }
        for system in self.systems() {
            let table = system.model().table.name.clone();
            let store = system.engine.store();
            let asked = async {
                store.describe_table(&table).await?;
                match system.read_only {
                    true => Ok(()),
                    false => store.check_writes().await,
                }
            };
            match tokio::time::timeout(READY_TIME_MAX, asked).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::warn!(system = system.name, %error, "not ready");
                    let reason = match error.told_publicly() {
                        Some(told) => format!("`{}` takes no writes: {told}", system.name),
                        None => format!("the store of `{}` does not answer", system.name),
                    };
                    return Err(unready(reason));
                }
                Err(_) => return Err(unready(format!("the store of `{}` does not answer", system.name))),
            }
        }
        Ok(assets::text_response("application/json", "{\"status\":\"ready\"}\n"))
    }
}

fn worth_compressing() -> impl Predicate {
    SizeAbove::new(COMPRESSED_BYTES_MIN).and(not_encoded)
}

/// Assets are stored compressed, and an event is sent when it happens.
fn not_encoded(_: StatusCode, _: axum::http::Version, headers: &HeaderMap, _: &axum::http::Extensions) -> bool {
    let is_events = headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|media| media == watch::EVENTS);
    !headers.contains_key(header::CONTENT_ENCODING) && !is_events
}

/// What was done for a request.
struct DoneRequest {
    result: Result<Response, Problem>,
    consumed: Consumed,
}

impl DoneRequest {
    fn without_cost(result: Result<Response, Problem>) -> Self {
        DoneRequest {
            result,
            consumed: Consumed::default(),
        }
    }
}

/// The status in log and metrics of a request whose client left before its answer; nobody receives it.
const CLIENT_LEFT: u16 = 499;

/// A request on its way. It is logged and counted once, however it ends: also where its client leaves and the request is
/// dropped.
struct Underway<'a> {
    service: &'a Service,
    started: Instant,
    /// The trace that it belongs to, where the client said one or a collector is told.
    trace: Option<TraceContext>,
    request_id: String,
    method: Method,
    path: String,
    of: OperationLabels,
    ended: bool,
}

impl<'a> Underway<'a> {
    fn begin(service: &'a Service, request: &Request<Body>) -> Self {
        service.metrics.in_flight.inc();
        let is_traced = service.settings.spans.is_some() || request.headers().contains_key(TRACEPARENT);
        Underway {
            service,
            started: Instant::now(),
            trace: is_traced.then(|| TraceContext::of(request.headers())),
            request_id: trace::request_id(request.headers()),
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            of: OperationLabels::default(),
            ended: false,
        }
    }

    fn end(&mut self, status: u16, consumed: &Consumed, problem: Option<&str>) {
        self.ended = true;
        let took = self.started.elapsed();
        self.service.metrics.in_flight.dec();
        self.service
            .metrics
            .count_answer(&self.of, status, took, consumed, problem);
        self.note_span(status, took, consumed, problem);
        // The query may hold what is nobody's business; the path is enough to find a request again.
        tracing::info!(
            request_id = self.request_id,
            method = %self.method,
            path = self.path,
            status,
            // To the microsecond: more digits say nothing.
            milliseconds = (took.as_secs_f64() * 1e6).round() / 1e3,
            system = self.of.system,
            operation = self.of.operation,
            capacity = capacity_text(consumed.total_units()),
            problem,
            "request"
        );
    }
}

impl Underway<'_> {
    /// Has a collector told of it, where there is one and the trace is wanted.
    fn note_span(&self, status: u16, took: Duration, consumed: &Consumed, problem: Option<&str>) {
        let trace = self.trace.as_ref().filter(|trace| trace.is_sampled());
        let Some((sink, trace)) = self.service.settings.spans.as_ref().zip(trace) else {
            return;
        };
        let units = consumed.total_units();
        let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let took_nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let ended_nanos = trace::nanos_now();
        sink.note_span(RequestSpan {
            trace: trace.trace,
            span: trace.span,
            parent: trace.parent,
            method: self.method.to_string(),
            path: self.path.clone(),
            system: known(&self.of.system),
            operation: known(&self.of.operation),
            status,
            problem: problem.map(str::to_owned),
            request_id: self.request_id.clone(),
            read_halves: units.read.half_count(),
            write_units: units.write.get(),
            began_nanos: ended_nanos.saturating_sub(took_nanos),
            ended_nanos,
        });
    }
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.end(CLIENT_LEFT, &Consumed::default(), Some("client_left"));
        }
    }
}

fn capacity_text(units: Units) -> String {
    format!("read={} write={}", units.read, units.write.get())
}

async fn answer(State((service, front)): State<(Arc<Service>, Front)>, request: Request<Body>) -> Response {
    let mut underway = Underway::begin(&service, &request);
    let wants_capacity = request.headers().get(DEBUG).is_some_and(|value| value == "capacity");
    let request_id = underway.request_id.as_str();
    let done = caught(
        dispatch(&service, front, request, request_id, &mut underway.of),
        request_id,
    )
    .await;
    let problem = done.result.as_ref().err();
    if problem.is_some_and(|problem| problem.extra.is_misfit) {
        underway.service.metrics.met_misfit(&underway.of);
    }
    let problem = problem.map(|problem| problem.name.clone().into_owned());
    let mut response = match done.result {
        Ok(response) => response,
        Err(problem) => problem.into_response(&underway.path, request_id),
    };
    underway.end(response.status().as_u16(), &done.consumed, problem.as_deref());
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&underway.request_id) {
        headers.insert(REQUEST_ID, value);
    }
    if let Some(value) = underway.trace.as_ref().and_then(TraceContext::answer_header) {
        headers.insert(TRACEPARENT, value);
    }
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    headers.extend(BROWSER_HEADERS);
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(ANSWER_POLICY);
    if front.over_tls {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, TLS_ONLY);
    }
    if wants_capacity && let Ok(value) = HeaderValue::from_str(&capacity_text(done.consumed.total_units())) {
        headers.insert(HeaderName::from_static("singlet-capacity"), value);
    }
    response
}

/// A panic is a mistake of this service: its client gets an answer, its cause is in the log.
fn caught(work: impl Future<Output = DoneRequest>, request_id: &str) -> impl Future<Output = DoneRequest> {
    let panicked = move |reason: Box<dyn std::any::Any + Send>| {
        tracing::error!(
            request_id,
            reason = panic_text(reason.as_ref()),
            "a request made the service panic"
        );
        DoneRequest::without_cost(Err(internal_problem()))
    };
    let work = AssertUnwindSafe(work).catch_unwind();
    work.map(move |ended| ended.unwrap_or_else(panicked))
}

/// What a panic says.
pub(crate) fn panic_text(reason: &(dyn std::any::Any + Send)) -> Option<String> {
    let text = reason.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| reason.downcast_ref::<String>().cloned())
}

/// Whose request it is, and its place among those of the same client where it came through a proxy.
fn client_of(
    service: &Service,
    parts: &axum::http::request::Parts,
) -> Result<(Option<IpAddr>, Option<Connected>), Problem> {
    let Some(peer) = parts.extensions.get::<Peer>() else {
        return Ok((None, None));
    };
    let address = peer.address.ip();
    let client = service.settings.proxies.client_address(address, &parts.headers);
    let place = match client == address {
        true => None,
        false => Some(peer.connections.admit_peer(client).ok_or_else(too_many_at_once)?),
    };
    Ok((Some(counted_as(client)), place))
}

fn too_many_at_once() -> Problem {
    let detail = "this address has as many requests at once as it may";
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", detail).with_header(header::RETRY_AFTER, "1")
}

async fn dispatch(
    service: &Service,
    front: Front,
    request: Request<Body>,
    request_id: &str,
    of: &mut OperationLabels,
) -> DoneRequest {
    let surfaces = front.surfaces;
    let (parts, body) = request.into_parts();
    let body = UnreadBody::new(&parts.headers, body, &service.settings.limits);
    let path = parts.uri.path();
    let reads = parts.method == Method::GET || parts.method == Method::HEAD;
    let (client, _place) = match client_of(service, &parts) {
        Ok(known) => known,
        Err(problem) => return DoneRequest::without_cost(Err(problem)),
    };
    let shows_console = front.console && service.console.get().is_some();
    let own = match path {
        "/" if reads && surfaces.home => Some(Ok(home::home_page(&service.systems(), surfaces, shows_console))),
        "/health" if reads => Some(Ok(assets::text_response(
            "application/json",
            "{\"status\":\"alive\"}\n",
        ))),
        "/ready" if reads => Some(service.ready().await),
        "/metrics" if reads && surfaces.metrics => {
            let media = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            Some(Ok(assets::text_response(media, service.metrics.text())))
        }
        _ => None,
    };
    if let Some(result) = own {
        return DoneRequest::without_cost(result);
    }
    if let Some(console) = service.console.get().filter(|_| front.console && is_of_console(path)) {
        let peer = parts.extensions.get::<Peer>().map(|peer| peer.address);
        let request = ConsoleRequest {
            by_named_proxy: peer.is_some_and(|peer| service.settings.proxies.contain_address(peer.ip())),
            parts,
            body: body.taken(),
            peer,
            address: front.address,
            over_tls: front.over_tls,
            request_id: request_id.to_owned(),
        };
        return DoneRequest::without_cost(Ok(Arc::clone(console).answer(request).await));
    }
    let Some((system, rest)) = service.system_of(path) else {
        let missing = Problem::new(StatusCode::NOT_FOUND, "no_such_route", "there is nothing at this path");
        return DoneRequest::without_cost(Err(missing));
    };
    let found = system.routes.find_route(rest, &parts.method);
    let described = surfaces.docs && reads && found.is_none();
    if let Some(response) = described
        .then(|| assets::of_system(&system, rest, &parts.headers))
        .flatten()
    {
        return DoneRequest::without_cost(Ok(response));
    }
    let incoming = Incoming {
        full_path: path,
        path: rest,
        query: parts.uri.query().unwrap_or_default(),
        method: parts.method,
        headers: parts.headers,
        peer: client,
        explains: surfaces.explain,
        request_id,
    };
    of.system.clone_from(&system.name);
    let surroundings = Surroundings {
        limits: &service.settings.limits,
        admission: &service.admission,
        long_reads: &service.long_reads,
        tasks: &service.tasks,
        clock: &service.clock,
        watchers: &service.watchers,
    };
    let mut call = RequestCall::new(&system, surroundings, of);
    let mut result = call.answer_call(found, &incoming, body).await;
    if let Some((rate, left)) = system.rate.as_ref().zip(call.left) {
        match &mut result {
            Ok(response) => rate.rate_headers(left, response.headers_mut()),
            Err(problem) => {
                let mut headers = HeaderMap::new();
                rate.rate_headers(left, &mut headers);
                problem
                    .extra
                    .headers
                    .extend(headers.into_iter().filter_map(|(name, value)| Some((name?, value))));
            }
        }
    }
    DoneRequest {
        result,
        consumed: call.consumed,
    }
}

fn cors(origins: &[String]) -> CorsLayer {
    let exposed = [
        "etag",
        "link",
        "idempotent-replay",
        "location",
        "ratelimit",
        "ratelimit-policy",
        "retry-after",
        "singlet-capacity",
        "singlet-ticket",
        "x-request-id",
    ];
    let layer = CorsLayer::new()
        .allow_methods(Any)
        // A star would leave out `Authorization`.
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(exposed.map(HeaderName::from_static))
        .max_age(Duration::from_secs(600));
    if origins.iter().any(|origin| origin == "*") {
        return layer.allow_origin(Any);
    }
    let known: Vec<HeaderValue> = origins
        .iter()
        .filter_map(|origin| HeaderValue::from_str(origin).ok())
        .collect();
    layer.allow_origin(AllowOrigin::list(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_answered_and_tells_nothing() {
        let done = caught(async { panic!("a secret of {}", "ours") }, "7").await;
        let problem = done
            .result
            .err()
            .map(|problem| (problem.status.as_u16(), problem.detail));
        let detail = "something is wrong here; the log says what".to_owned();
        assert_eq!(problem, Some((500, detail)));
    }
}
