//! Watching a read: its first page, and whatever makes it another one, as server-sent events.
//!
//! A change only says *read again*: what is sent is what the read answers to its caller then, compared with what was sent before. So
//! nobody sees a row that the read would not show, and whatever is missed in between is in the next comparison.

mod feed;
mod shared;
mod shown;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use futures_util::stream;
use singlet_changes::{Change, ChangeKind};
use singlet_item::Value;
use singlet_model::Model;
use singlet_model::model::Read;
use singlet_runtime::{Caller, Memory, Request, RuntimeError, Watched, WatchedRows, unwatchable};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(crate) use feed::Feed;
pub(crate) use shared::SharedReads;

use crate::admission::{Admission, overloaded_problem};
use crate::clock::Clock;
use crate::connections::{Connected, Connections};
use crate::problem::Problem;
use crate::system::System;
use feed::Subscription;
use shared::SharedRead;
use shown::ShownRows;

/// The least time between two readings for one watcher.
const READ_EVERY: Duration = Duration::from_millis(250);

/// How long after a change it is read once more: an index may have been behind.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// How often it is read again where time alone decides.
const TIMED_EVERY: Duration = Duration::from_secs(30);

/// How often something is sent, so that who has gone is noticed, and credentials are looked at again.
const SIGN_OF_LIFE_EVERY: Duration = Duration::from_secs(15);

/// How long it waits after a reading that failed.
const FAILED_PAUSE: Duration = Duration::from_secs(1);

/// How many watch at once.
const WATCHERS_MAX: usize = 2_000;

/// How many of them from one address: whoever it is, others have room.
const WATCHERS_PER_CLIENT_MAX: usize = 200;

/// How many instants of rows that are not shown are known at once; what they would bring is otherwise found within [`TIMED_EVERY`].
const INSTANTS_MAX: usize = 1_000;

/// The media type.
pub(crate) const EVENTS: &str = "text/event-stream";

/// Everybody who watches.
#[derive(Debug)]
pub(crate) struct Watchers {
    now: Arc<AtomicUsize>,
    by_client: Connections,
    ending: CancellationToken,
}

/// One place among them, until it is dropped.
struct WatcherSlot {
    now: Arc<AtomicUsize>,
    _of_client: Option<Connected>,
}

impl Default for Watchers {
    fn default() -> Self {
        Watchers {
            now: Arc::default(),
            by_client: Connections::new(WATCHERS_PER_CLIENT_MAX),
            ending: CancellationToken::new(),
        }
    }
}

impl Watchers {
    /// Ends everybody's watching.
    pub fn end(&self) {
        self.ending.cancel();
    }

    fn enter(&self, client: Option<IpAddr>) -> Result<WatcherSlot, Problem> {
        let of_client = client.map(|client| self.by_client.admit_peer(client).ok_or_else(too_many_watched));
        let of_client = of_client.transpose()?;
        // Counted before it is known whether there is room, and given back when the place is dropped.
        let before = self.now.fetch_add(1, Ordering::Relaxed);
        let place = WatcherSlot {
            now: Arc::clone(&self.now),
            _of_client: of_client,
        };
        match before < WATCHERS_MAX {
            true => Ok(place),
            false => Err(overloaded_problem(format!(
                "{WATCHERS_MAX} watch, and no more do at once"
            ))),
        }
    }
}

impl Drop for WatcherSlot {
    fn drop(&mut self) {
        self.now.fetch_sub(1, Ordering::Relaxed);
    }
}

fn too_many_watched() -> Problem {
    let detail = format!("this address watches {WATCHERS_PER_CLIENT_MAX} lists, and no more at once");
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", detail).with_header(header::RETRY_AFTER, "1")
}

/// What a request asks for.
pub(crate) enum AnswerForm {
    /// An answer.
    Answer,
    /// Events.
    Events,
}

/// Whether a request asks for events.
///
/// # Errors
///
/// Where it accepts nothing else, and the read has none.
pub(crate) fn answer_form(model: &Model, read: &Read, headers: &HeaderMap) -> Result<AnswerForm, Problem> {
    let media: Vec<&str> = accepted_media(headers).collect();
    if !accepts_events(headers) {
        return Ok(AnswerForm::Answer);
    }
    let Some(reason) = why_not(model, read) else {
        return Ok(AnswerForm::Events);
    };
    match media
        .iter()
        .any(|media| ["application/json", "application/*", "*/*"].contains(media))
    {
        true => Ok(AnswerForm::Answer),
        false => Err(Problem::new(StatusCode::NOT_ACCEPTABLE, "not_watchable", reason)),
    }
}

/// Whether a request accepts events, whether or not there are any.
pub(crate) fn accepts_events(headers: &HeaderMap) -> bool {
    accepted_media(headers).any(|media| media.eq_ignore_ascii_case(EVENTS))
}

/// The media types that a request accepts.
fn accepted_media(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let accepted = headers.get_all(header::ACCEPT).iter();
    let ranges = accepted
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    ranges.filter_map(|range| {
        let mut parts = range.split(';').map(str::trim);
        let media = parts.next()?;
        (!parts.any(is_refusal)).then_some(media)
    })
}

/// Whether a parameter of a media range says that it is not acceptable: a quality of zero.
fn is_refusal(parameter: &str) -> bool {
    let quality = parameter.strip_prefix("q=").or_else(|| parameter.strip_prefix("Q="));
    quality
        .and_then(|quality| quality.parse::<f32>().ok())
        .is_some_and(|quality| quality <= 0.0)
}

/// Why a read has no events; nothing where it has.
pub(crate) fn why_not(model: &Model, read: &Read) -> Option<&'static str> {
    let without_stream = model.table.stream.is_none();
    unwatchable(read).or_else(|| without_stream.then_some("the table has no stream that tells of changes"))
}

/// A read and who watches it.
pub(crate) struct Watching {
    pub system: Arc<System>,
    pub read: String,
    pub request: Request,
    /// From which address, where it is known.
    pub client: Option<IpAddr>,
    /// With the credentials, which are looked at again and again.
    pub headers: HeaderMap,
    pub admission: Arc<Admission>,
    pub clock: Clock,
    pub time_max: Duration,
}

/// The response that goes on for as long as somebody listens.
///
/// # Errors
///
/// Where the first reading fails, or too many watch.
pub(crate) async fn respond_events(
    watching: Watching,
    watchers: &Watchers,
    problem: impl Fn(RuntimeError) -> Problem,
) -> Result<Response, Problem> {
    let place = watchers.enter(watching.client)?;
    let engine = &watching.system.engine;
    let watched = engine.watched(&watching.read, &watching.request).map_err(&problem)?;
    let Some(watched) = watched else {
        let detail = "only a list of rows of one entity can be watched";
        return Err(Problem::new(StatusCode::NOT_ACCEPTABLE, "not_watchable", detail));
    };
    // Before the first reading: what changes after it is heard.
    let woken = Instant::now();
    let heard = watching.system.feed.subscribe(engine).await;
    let heard = heard.map_err(|error| problem(RuntimeError::Store(error)))?;
    let shared = watched.share_key.as_ref();
    let shared = shared.map(|key| watching.system.shared_reads.of_key(key));
    let read = watching.read_rows(&watched, shared.as_deref(), woken).await;
    let read = read.map_err(&problem)?;
    let shown = watching.shown(&read.rows);
    let returned = watching.headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let first = match returned == Some(shown.id().as_str()) {
        // Who comes back to what it holds is told nothing.
        true => sign_of_life(),
        false => shown.page(),
    };
    let mut watcher = Watcher {
        watched,
        shared,
        heard,
        shown,
        read_at: Instant::now(),
        again_at: None,
        instants: BTreeSet::new(),
        ending: watchers.ending.clone(),
        _place: place,
        watching,
    };
    watcher.again_at = watcher.next_reading(&read);
    let events = stream::unfold((Some(first), watcher), |(first, mut watcher)| async move {
        let text = match first {
            Some(first) => first,
            None => watcher.next_text().await?,
        };
        Some((Ok::<_, std::convert::Infallible>(Bytes::from(text)), (None, watcher)))
    });
    let mut response = Response::new(Body::from_stream(events));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(EVENTS));
    // A proxy that gathers answers would keep events back.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

impl Watching {
    /// What the read answers since an instant. Where that is the same for everybody, one of those who wait for it reads; whether
    /// this caller may ask is looked at each time.
    async fn read_rows(
        &self,
        watched: &Watched,
        shared: Option<&SharedRead>,
        woken: Instant,
    ) -> Result<Arc<WatchedRows>, RuntimeError> {
        let Some(shared) = shared else {
            return self.read_alone(watched).await.map(Arc::new);
        };
        let engine = &self.system.engine;
        // Each by itself: what is shared is the rows, and never the right to see them.
        engine.admits_caller(&self.read, &self.request.caller, self.clock.now())?;
        shared.read_since(woken, || self.read_alone(watched)).await
    }

    async fn read_alone(&self, watched: &Watched) -> Result<WatchedRows, RuntimeError> {
        // For as long as it reads, and not for as long as it watches.
        let _place = self.admission.enter_request().map_err(|_| RuntimeError::NoRoom)?;
        let memory = Arc::new(self.admission.hold_bytes()) as Arc<dyn Memory>;
        let engine = &self.system.engine;
        let request = Request {
            now: self.clock.now(),
            ..self.request.clone()
        };
        let reading = engine.read_watched(watched, &request, Some(memory));
        let answered = tokio::time::timeout(self.time_max, reading).await;
        answered.map_err(|_| RuntimeError::NoRoom)?
    }

    fn shown(&self, rows: &[Value]) -> ShownRows {
        let model = self.system.model();
        let read = model.reads.iter().find(|read| read.name == self.read);
        let entity = read.and_then(|read| model.entity(read.selection.as_ref()?.entity()?));
        let attributes = entity
            .iter()
            .flat_map(|entity| entity.attributes.iter().map(move |one| (entity, one)));
        let key = attributes.filter(|(entity, one)| entity.is_key_attribute(&one.name));
        let key: Vec<String> = key.map(|(_, one)| one.name.clone()).collect();
        ShownRows::of(rows, &key)
    }

    /// Who calls, by the same credentials, now.
    async fn is_still_known(&self) -> bool {
        let caller: Result<Caller, Problem> = self.system.authenticator.request_caller(&self.headers).await;
        caller.is_ok_and(|caller| caller == self.request.caller)
    }
}

/// Somebody who watches.
struct Watcher {
    watching: Watching,
    watched: Watched,
    /// Where others are answered the same.
    shared: Option<Arc<SharedRead>>,
    heard: Subscription,
    shown: ShownRows,
    read_at: Instant,
    /// When to read again though nothing is heard.
    again_at: Option<Instant>,
    /// When time changes rows that changes have told of: one that is not shown may be from then on.
    instants: BTreeSet<i64>,
    ending: CancellationToken,
    _place: WatcherSlot,
}

impl Watcher {
    /// The next text to send; nothing at the end.
    async fn next_text(&mut self) -> Option<String> {
        let alive_at = Instant::now() + SIGN_OF_LIFE_EVERY;
        loop {
            let (engine, watched) = (&self.watching.system.engine, &self.watched);
            let (instants, now) = (&mut self.instants, self.watching.clock.now());
            let again_at = self.again_at.unwrap_or_else(|| alive_at + SIGN_OF_LIFE_EVERY);
            let has_changed = tokio::select! {
                biased;
                () = self.ending.cancelled() => return None,
                // Another model may show it to others: who watches comes back and is judged by that one.
                () = self.watching.system.replaced.cancelled() => return None,
                more = self.heard.next_concerned(|change| {
                    let concerns = concerns(watched, engine, change);
                    if concerns && let Some(row) = &change.after {
                        instants.extend(watched.instants_of(engine, row, now));
                    }
                    concerns
                }) => match more {
                    true => true,
                    // Changes were missed: who comes back is given all anew.
                    false => return None,
                },
                () = tokio::time::sleep_until(again_at) => false,
                () = tokio::time::sleep_until(alive_at) => match self.watching.is_still_known().await {
                    true => return Some(sign_of_life()),
                    false => return None,
                },
            };
            let events = self.read_again(has_changed, Instant::now()).await?;
            if !events.is_empty() {
                return Some(events);
            }
        }
    }

    /// Reads again, and answers the events that lead there; nothing where the caller may not read any more.
    async fn read_again(&mut self, has_changed: bool, woken: Instant) -> Option<String> {
        tokio::time::sleep_until(self.read_at + READ_EVERY).await;
        // Before each reading: credentials may have ended, or been taken away.
        if !self.watching.is_still_known().await {
            return None;
        }
        let reading = self.watching.read_rows(&self.watched, self.shared.as_deref(), woken);
        let read = match reading.await {
            Ok(read) => read,
            // It may see the list no longer, which ends it as if it had never been.
            Err(RuntimeError::Unauthenticated | RuntimeError::Forbidden | RuntimeError::NotFound) => return None,
            Err(error) => {
                tracing::debug!(%error, read = self.watching.read, "a watched read failed, and is tried again");
                self.again_at = Some(Instant::now() + FAILED_PAUSE);
                return Some(String::new());
            }
        };
        self.read_at = Instant::now();
        self.again_at = self.next_reading(&read);
        if has_changed {
            let settled = self.read_at + SETTLED_AFTER;
            // Once more after a while: an index may not have had the change yet.
            self.again_at = Some(self.again_at.map_or(settled, |again| again.min(settled)));
        }
        let next = self.watching.shown(&read.rows);
        Some(self.shown.become_next(next))
    }

    /// When time is the next to change what is shown.
    fn next_reading(&mut self, read: &WatchedRows) -> Option<Instant> {
        if !self.watched.is_timed {
            return None;
        }
        self.instants.extend(read.next_instant);
        self.instants.retain(|instant| *instant > read.now);
        while self.instants.len() > INSTANTS_MAX {
            self.instants.pop_last();
        }
        let now = self.watching.clock.now();
        // One that came while it was read is due at once.
        let until = |instant: &i64| Duration::from_millis(u64::try_from(instant - now).unwrap_or(0));
        let until = self.instants.first().map_or(TIMED_EVERY, until);
        Some(Instant::now() + until.min(TIMED_EVERY))
    }
}

fn concerns(watched: &Watched, engine: &singlet_runtime::Engine, change: &Change) -> bool {
    let (before, after) = (change.before.as_ref(), change.after.as_ref());
    // What a stream does not carry is not known.
    let images = match change.kind {
        ChangeKind::Created => after.is_some(),
        ChangeKind::Updated => before.is_some() && after.is_some(),
        ChangeKind::Deleted | ChangeKind::Expired => before.is_some(),
    };
    watched.concerns(engine, &change.entity, images.then_some([before, after]))
}

/// A comment, which clients pass over.
fn sign_of_life() -> String {
    ":\n\n".to_owned()
}
