//! One request to a system, from its path to its answer.
//!
//! **Invariant: the order of refusals.** Route, method, ticket, rate, the form of the query and which operation it chooses, credentials,
//! what `allow` says of the caller alone, the form of a body, arguments (those of path, query and body together, so that all mistakes
//! are told at once), the headers of a write, and last what the engine says. No argument is looked at before the caller is known and
//! may ask: who may not makes nobody read a body, and learns nothing of what is wrong with it.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use futures_util::future::BoxFuture;
use singlet_item::Value;
use singlet_model::model::Read;
use singlet_runtime::{Answer, Attributes, Caller, Memory, Request, RuntimeError, WriteRequest};
use singlet_store::Consumed;
use singlet_values::Members;
use tokio_util::task::TaskTracker;

use crate::admission::{self, Admission, RequestBytes};
use crate::begun::BegunWork;
use crate::body::UnreadBody;
use crate::clock::Clock;
use crate::etag;
use crate::input::Patched;
use crate::long_reads::LongReads;
use crate::metrics::OperationLabels;
use crate::problem::{FieldError, FieldErrors, Problem, RequestPlace};
use crate::query::{PageParameters, QueryParameters, TICKET, answers_pages};
use crate::rate::RateLeft;
use crate::refusals::{internal_problem, problem_of, problem_of_read};
use crate::routing::{FoundRoute, RouteEndpoint};
use crate::service::panic_text;
use crate::settings::Limits;
use crate::system::System;
use crate::ticket::{self, NEW_TICKET, TICKET_HEADER};
use crate::watch::{self, AnswerForm, Watchers, Watching};
use crate::{answer, body, input};

/// A request, its path without the system's prefix.
#[derive(Clone)]
pub struct Incoming<'r> {
    pub method: Method,
    pub path: &'r str,
    pub full_path: &'r str,
    pub query: &'r str,
    pub headers: HeaderMap,
    /// Who is counted where nobody has shown credentials.
    pub peer: Option<IpAddr>,
    /// Whether plans are shown where the request came in.
    pub explains: bool,
    /// Under which it is in the log.
    pub request_id: &'r str,
}

/// What the service has for every request.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    pub limits: &'a Limits,
    pub admission: &'a Arc<Admission>,
    pub long_reads: &'a LongReads,
    /// What is written to its end though the client has gone.
    pub tasks: &'a TaskTracker,
    pub clock: &'a Clock,
    pub watchers: &'a Watchers,
}

/// One request on its way.
pub(crate) struct RequestCall<'a> {
    system: &'a Arc<System>,
    service: Surroundings<'a>,
    /// The read or write that was asked for, as far as it is known.
    of: &'a mut OperationLabels,
    /// What it consumed.
    pub consumed: Consumed,
    /// What is left of the caller's rate.
    pub left: Option<RateLeft>,
}

impl<'a> RequestCall<'a> {
    pub fn new(system: &'a Arc<System>, service: Surroundings<'a>, of: &'a mut OperationLabels) -> Self {
        RequestCall {
            of,
            system,
            service,
            consumed: Consumed::default(),
            left: None,
        }
    }

    /// Answers. What is wrong with a request is said in the order of the language: credentials, what may be said of the caller
    /// alone, input, and the rest of the permission. Who may not ask at all makes nobody look at a body.
    pub async fn answer_call(
        &mut self,
        found: Option<FoundRoute<'_>>,
        incoming: &Incoming<'_>,
        body: UnreadBody,
    ) -> Result<Response, Problem> {
        let system = self.system;
        let Some(found) = found else {
            return Err(Problem::new(
                StatusCode::NOT_FOUND,
                "no_such_route",
                "there is nothing at this path",
            ));
        };
        if incoming.method == Method::OPTIONS {
            return Ok(options(&found.place.allow_header()));
        }
        let Some(endpoints) = found.place.method_endpoints(&incoming.method) else {
            let detail = format!("`{}` is not answered here", incoming.method);
            return Err(
                Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
                    .with_header(header::ALLOW, &found.place.allow_header()),
            );
        };
        if let [only] = endpoints {
            self.of.operation.clone_from(&only.name);
        }
        let redeemed = match self.redeemed(incoming, endpoints) {
            Ok(redeemed) => redeemed,
            Err(problem) => {
                // A ticket that is refused counts too, or tickets could be tried without an end.
                self.count(None, incoming.peer)?;
                return Err(problem);
            }
        };
        let incoming = redeemed.as_ref().unwrap_or(incoming);
        // From what the ticket held: a ticket admits nobody whom its credentials do not.
        let caller = system.authenticator.request_caller(&incoming.headers).await;
        // Counted before bad credentials are refused: whoever guesses them is slowed down by the rate of its address.
        self.count(caller.as_ref().ok(), incoming.peer)?;
        let query = QueryParameters::parse(incoming.query)?;
        let endpoint = query.choose_endpoint(endpoints)?;
        self.of.operation.clone_from(&endpoint.name);
        // Refused only now: what was counted and what the query chooses come before in the order.
        let caller = caller?;
        let admitted = system
            .engine
            .admits_caller(&endpoint.name, &caller, self.service.clock.now());
        admitted.map_err(|error| problem_of(self.system, &self.of.operation, error, incoming.request_id))?;
        match endpoint.is_write {
            true => self.write(endpoint, &found, &query, caller, (incoming, body)).await,
            false => self.read(endpoint, &found, &query, caller, incoming).await,
        }
    }

    /// The request with the credentials that its ticket holds, where it asks for events by one.
    fn redeemed<'r>(
        &self,
        incoming: &Incoming<'r>,
        endpoints: &[RouteEndpoint],
    ) -> Result<Option<Incoming<'r>>, Problem> {
        if incoming.method != Method::GET || !watch::accepts_events(&incoming.headers) {
            return Ok(None);
        }
        // What is wrong with a query is said later, to who may ask.
        let Ok(query) = QueryParameters::parse(incoming.query) else {
            return Ok(None);
        };
        let Some(sent) = query.sent_ticket(endpoints).filter(|sent| *sent != NEW_TICKET) else {
            return Ok(None);
        };
        let now = self.service.clock.now();
        let headers = ticket::redeem_ticket(self.system, incoming, &query, (sent, now))?;
        Ok(Some(Incoming {
            headers,
            ..incoming.clone()
        }))
    }

    fn count(&mut self, caller: Option<&Caller>, peer: Option<IpAddr>) -> Result<(), Problem> {
        let Some(rate) = &self.system.rate else { return Ok(()) };
        let id = caller
            .and_then(|caller| caller.claims.get("id"))
            .and_then(Value::as_str);
        let left = match (id, peer) {
            (Some(id), _) => rate.count(&format!("caller {id}")),
            (None, Some(peer)) => rate.count(&format!("peer {peer}")),
            (None, None) => rate.count("peer"),
        };
        self.left = Some(left);
        if left.admitted {
            Ok(())
        } else {
            Err(rate.rate_refusal(left))
        }
    }

    async fn read(
        &mut self,
        endpoint: &RouteEndpoint,
        found: &FoundRoute<'_>,
        query: &QueryParameters,
        caller: Caller,
        incoming: &Incoming<'_>,
    ) -> Result<Response, Problem> {
        let system = self.system;
        let model = system.model();
        let Some(read) = model.reads.get(endpoint.position) else {
            return Err(Problem::new(
                StatusCode::NOT_FOUND,
                "no_such_route",
                "there is nothing at this path",
            ));
        };
        let mut errors = FieldErrors::default();
        let PageParameters {
            limit,
            cursor,
            explain,
            ticket,
        } = query.page(
            endpoint,
            answers_pages(read),
            system.engine.bounds().page_rows_max,
            &mut errors,
        );
        let mut args = Attributes::new();
        input::path_arguments(&found.variables, &endpoint.path, &mut args, &mut errors);
        query.query_arguments(endpoint, &mut args, &mut errors);
        if explain && !incoming.explains {
            errors.push(FieldError::new(
                RequestPlace::Query("explain".to_owned()),
                "plans are not shown at this address",
            ));
        }
        let asks_ticket = ticket.as_deref() == Some(NEW_TICKET);
        if ticket.is_some()
            && let Some(detail) = self.ticket_error(read, asks_ticket, incoming)
        {
            errors.push(FieldError::new(RequestPlace::Query(TICKET.to_owned()), detail));
        }
        if !errors.is_empty() {
            return Err(Problem::invalid_input(errors));
        }
        let request = Request {
            args,
            caller,
            limit,
            cursor,
            now: self.service.clock.now(),
        };
        if explain {
            return Ok(answer::plan_response(
                model,
                &endpoint.name,
                system.engine.plan(&endpoint.name),
            ));
        }
        // Before a place is taken: who watches holds one only while it reads.
        if incoming.method == Method::GET
            && let AnswerForm::Events = watch::answer_form(model, read, &incoming.headers)?
        {
            // Boxed, for few are watched, and what it takes is moved with every request otherwise.
            return Box::pin(self.watch(endpoint, request, incoming)).await;
        }
        let place = self.service.admission.enter_request()?;
        // Held until the answer is sent, for it is made of these rows.
        let held = Arc::new(self.service.admission.hold_bytes());
        let outcome = match system.engine.read_at_once(&endpoint.name, &request) {
            Some(answered) => answered,
            None => self.read_waiting(endpoint, request, (place, &held), incoming).await?,
        };
        let mut given =
            outcome.map_err(|error| problem_of_read(system, &self.of.operation, error, incoming.request_id))?;
        self.consumed = std::mem::take(&mut given.consumed);
        // The next page needs no other ticket.
        let asked = asks_ticket.then(|| query.without_ticket());
        let asked = asked.as_ref().unwrap_or(query);
        let mut response = answer::read_response(model, read, given, (asked, incoming), held)?;
        if asks_ticket && let Some(ticket) = ticket::issue_ticket(system, incoming, query, self.service.clock.now()) {
            response.headers_mut().insert(TICKET_HEADER, ticket);
        }
        Ok(response)
    }

    /// What a read answers that may take a while: within its time, and elsewhere if it turns out to be long.
    async fn read_waiting(
        &self,
        endpoint: &RouteEndpoint,
        request: Request,
        (place, held): (admission::RequestSlot, &Arc<RequestBytes>),
        incoming: &Incoming<'_>,
    ) -> Result<Result<Answer, RuntimeError>, Problem> {
        let (engine, name) = (Arc::clone(&self.system.engine), endpoint.name.clone());
        let memory = Some(Arc::clone(held) as Arc<dyn Memory>);
        let reading: BoxFuture<'static, _> = Box::pin(async move {
            // Within the reading, so that a place is held for as long as it runs, wherever it runs.
            let _place = place;
            engine.read_within(&name, &request, memory).await
        });
        let reading = self.service.long_reads.run(reading, || held.is_long());
        let outcome = tokio::time::timeout(self.service.limits.operation_time_max, reading).await;
        outcome
            .map_err(|_| too_slow())?
            .map_err(|ended| panicked(ended, &self.of.operation, incoming.request_id))
    }

    /// What is wrong with a ticket, or with asking for one: there are tickets for what can be watched, and they are for watching.
    fn ticket_error(&self, read: &Read, asks_ticket: bool, incoming: &Incoming<'_>) -> Option<&'static str> {
        let is_watched = incoming.method == Method::GET && watch::accepts_events(&incoming.headers);
        match watch::why_not(self.system.model(), read) {
            Some(reason) => Some(reason),
            None if asks_ticket && is_watched => {
                Some("who watches needs the ticket itself; ask for one without events")
            }
            None if !asks_ticket && !is_watched => Some("a ticket is for `Accept: text/event-stream` alone"),
            None => None,
        }
    }

    async fn watch(
        &self,
        endpoint: &RouteEndpoint,
        request: Request,
        incoming: &Incoming<'_>,
    ) -> Result<Response, Problem> {
        if request.cursor.is_some() {
            let place = RequestPlace::Query("cursor".to_owned());
            let error = FieldError::new(place, "only the first page can be watched");
            return Err(Problem::invalid_input(FieldErrors::only_error(error)));
        }
        let watching = Watching {
            system: Arc::clone(self.system),
            read: endpoint.name.clone(),
            request,
            client: incoming.peer,
            headers: incoming.headers.clone(),
            admission: Arc::clone(self.service.admission),
            clock: self.service.clock.clone(),
            time_max: self.service.limits.operation_time_max,
        };
        let problem = |error| problem_of(self.system, &self.of.operation, error, incoming.request_id);
        watch::respond_events(watching, self.service.watchers, problem).await
    }

    async fn write(
        &mut self,
        endpoint: &RouteEndpoint,
        found: &FoundRoute<'_>,
        query: &QueryParameters,
        caller: Caller,
        (incoming, body): (&Incoming<'_>, UnreadBody),
    ) -> Result<Response, Problem> {
        let system = self.system;
        let Some(write) = system.model().writes.get(endpoint.position) else {
            return Err(Problem::new(
                StatusCode::NOT_FOUND,
                "no_such_route",
                "there is nothing at this path",
            ));
        };
        // After the caller is admitted, and before the body is read: nobody has to send what is not taken.
        if system.read_only {
            return Err(Problem::new(
                StatusCode::FORBIDDEN,
                "read_only",
                "this service only reads",
            ));
        }
        let held = Arc::new(self.service.admission.hold_bytes());
        let body = body::read_body(&incoming.headers, body, self.service.limits, &held).await?;
        let members = body.object_members()?;
        // After the body is there: a slow sender must not hold a place.
        let place = self.service.admission.enter_request()?;
        let patched = system.patched_members(&write.name);
        let args = write_arguments(endpoint, found, query, &members, patched)?;
        // Before the write: what was sent is in the arguments now, and is held for nothing.
        drop(members);
        drop(body);
        // After the arguments, in the order of refusals.
        let idempotency_key = etag::write_key(write, &incoming.headers)?;
        let precondition = etag::write_precondition(write, &incoming.headers)?;
        let request = WriteRequest {
            args,
            caller,
            now: self.service.clock.now(),
            idempotency_key,
            precondition,
        };
        // A client that goes away stops its request, not what was begun.
        let engine = Arc::clone(&system.engine);
        let name = write.name.clone();
        let writing = BegunWork::new(self.service.tasks, async move {
            // The work holds its own place and bytes: it goes on where the client leaves.
            let (_place, held) = (place, held);
            engine.write(&name, &request).await.map(|written| (written, held))
        });
        let outcome = tokio::time::timeout(self.service.limits.operation_time_max, writing).await;
        let (mut written, held) = outcome
            .map_err(|_| too_slow())?
            .map_err(|reason| panicked_with(panic_text(reason.as_ref()), &self.of.operation, incoming.request_id))?
            .map_err(|error| problem_of(self.system, &self.of.operation, error, incoming.request_id))?;
        self.consumed = std::mem::take(&mut written.consumed);
        Ok(answer::write_response(written, system.row_location(&write.name), held))
    }
}

/// The arguments of a write, from path, query and body; all that is wrong with them at once.
fn write_arguments(
    endpoint: &RouteEndpoint,
    found: &FoundRoute<'_>,
    query: &QueryParameters,
    members: &Members<'_>,
    patched: &[Patched],
) -> Result<Attributes, Problem> {
    let mut errors = FieldErrors::default();
    let mut args = Attributes::new();
    // With the same errors, so that all mistakes of a request are told at once.
    query.page(endpoint, false, 0, &mut errors);
    input::path_arguments(&found.variables, &endpoint.path, &mut args, &mut errors);
    query.query_arguments(endpoint, &mut args, &mut errors);
    input::body_arguments(members, &endpoint.body, patched, &mut args, &mut errors);
    match errors.is_empty() {
        true => Ok(args),
        false => Err(Problem::invalid_input(errors)),
    }
}

/// A write that ended without an outcome: its client gets an answer, its cause is in the log.
fn panicked(ended: tokio::task::JoinError, operation: &str, request_id: &str) -> Problem {
    let reason = match ended.try_into_panic() {
        Ok(reason) => panic_text(reason.as_ref()),
        Err(ended) => Some(ended.to_string()),
    };
    panicked_with(reason, operation, request_id)
}

fn panicked_with(reason: Option<String>, operation: &str, request_id: &str) -> Problem {
    tracing::error!(request_id, operation, reason, "a request made the service panic");
    internal_problem()
}

fn too_slow() -> Problem {
    let detail = "this took too long; whether it was done is not known";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "timed_out", detail).with_header(header::RETRY_AFTER, "1")
}

fn options(allow: &str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    if let Ok(value) = HeaderValue::from_str(allow) {
        response.headers_mut().insert(header::ALLOW, value);
    }
    response
}

/// The header with which a client asks what a request consumed.
pub(crate) const DEBUG: HeaderName = HeaderName::from_static("singlet-debug");

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    /// What was logged.
    #[derive(Clone, Default)]
    struct CallLog(Arc<Mutex<Vec<u8>>>);

    impl Write for CallLog {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_write_that_panics_is_logged_with_its_request() {
        let log = CallLog::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        let _until_the_end = tracing::subscriber::set_default(subscriber);
        let ended = tokio::spawn(async { panic!("a bug of {}", "ours") }).await.unwrap_err();
        let problem = panicked(ended, "createTask", "request-77");
        assert_eq!(problem.status.as_u16(), 500);
        assert!(!problem.detail.contains("a bug"), "{}", problem.detail);
        let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        for part in ["request-77", "createTask", "a bug of ours"] {
            assert!(text.contains(part), "{text}");
        }
    }
}
