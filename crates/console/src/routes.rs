//! Which request asks for what.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};
use singlet_http::{ConsoleRequest, Service, System};

use crate::answer::{ConsoleError, json_response};
use crate::{Console, assets, gate, views};

/// The longest body.
const BODY_BYTES_MAX: usize = 2 * 1024 * 1024;

/// How long a body may take to arrive.
const BODY_TIME_MAX: Duration = Duration::from_secs(10);

/// What a view has for a request.
pub(crate) struct Asking<'a> {
    pub console: &'a Arc<Console>,
    pub service: Arc<Service>,
    pub system: Arc<System>,
    /// Who asks: the number of their session.
    pub operator: u64,
    pub request_id: String,
    body: Vec<u8>,
}

impl Asking<'_> {
    /// What was sent.
    pub fn sent_body<T: DeserializeOwned>(&self) -> Result<T, ConsoleError> {
        serde_json::from_slice(&self.body).map_err(|error| ConsoleError::invalid_request(format!("the body: {error}")))
    }

    /// Notes what an operator does.
    pub fn log_action(&self, action: &str, operation: &str) {
        tracing::info!(
            request_id = self.request_id,
            operator = self.operator,
            system = self.system.name,
            action,
            operation,
            "console"
        );
    }

    /// Whether nothing is written from here.
    pub(crate) fn is_read_only(&self) -> bool {
        self.console.settings.read_only || self.system.read_only
    }

    /// What is said where something would be written and must not be.
    pub fn check_writes(&self) -> Result<(), ConsoleError> {
        match self.is_read_only() {
            true => Err(ConsoleError::new(
                StatusCode::FORBIDDEN,
                "read_only",
                "this console only reads",
            )),
            false => Ok(()),
        }
    }
}

/// Answers a request.
pub(crate) async fn answer_request(console: &Arc<Console>, request: ConsoleRequest) -> Response {
    if let Err(turned) = gate::check_gate(&request, &console.settings.hosts) {
        let (name, detail) = turned.told_as();
        tracing::warn!(
            request_id = request.request_id,
            reason = name,
            "the console was refused"
        );
        return ConsoleError::new(StatusCode::FORBIDDEN, name, detail).into_response();
    }
    let path = request.parts.uri.path().to_owned();
    let outcome = match path.strip_prefix("/console/api/") {
        Some(asked) => api(console, asked, request).await,
        None if request.parts.method != Method::GET => Err(method_not_allowed()),
        None => assets::console_asset(&path, &request.parts.headers).ok_or_else(nothing_here),
    };
    outcome.unwrap_or_else(ConsoleError::into_response)
}

fn nothing_here() -> ConsoleError {
    ConsoleError::not_there("there is nothing at this path")
}

fn method_not_allowed() -> ConsoleError {
    ConsoleError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "this is asked in another way",
    )
}

async fn api(console: &Arc<Console>, asked: &str, request: ConsoleRequest) -> Result<Response, ConsoleError> {
    let ConsoleRequest {
        parts,
        body,
        address,
        request_id,
        ..
    } = request;
    let now = (console.settings.clock)();
    let cookie = gate::cookie_name(address);
    let service = console.service.upgrade().ok_or_else(nothing_here)?;
    match (asked, &parts.method) {
        ("session", &Method::POST) => {
            let body = body_of(&parts, body).await?;
            let sent: Json = serde_json::from_slice(&body).map_err(|_| not_a_link())?;
            let link = sent.get("link").and_then(Json::as_str).ok_or_else(not_a_link)?;
            let Some((token, operator)) = console.sessions.begin(link, now) else {
                tracing::warn!(request_id, "a sign-in link of the console was refused");
                return Err(not_a_link());
            };
            tracing::info!(request_id, operator, "signed in to the console");
            let mut response = json_response(&json!({"signedIn": true}));
            set_cookie(
                &mut response,
                &format!("{cookie}={token}; Path=/console; HttpOnly; SameSite=Strict"),
            );
            return Ok(response);
        }
        ("link", &Method::POST) => {
            body_of(&parts, body).await?;
            if !console.sessions.may_ask(now) {
                let detail = "a link was asked for a moment ago; look at the terminal";
                return Err(ConsoleError::new(StatusCode::TOO_MANY_REQUESTS, "too_soon", detail));
            }
            let link = console.new_link().ok_or_else(no_randomness)?;
            (console.settings.announce)(&link);
            tracing::info!(request_id, "a sign-in link of the console was asked for");
            return Ok(json_response(&json!({"announced": true})));
        }
        _ => {}
    }
    let token = gate::session_cookie(&parts.headers, &cookie);
    let operator = token
        .as_ref()
        .and_then(|token| console.sessions.session_number(token, now));
    let Some(operator) = operator else {
        let detail = "sign in with the link that the service printed in its terminal";
        return Err(ConsoleError::new(StatusCode::UNAUTHORIZED, "signed_out", detail));
    };
    if (asked, &parts.method) == ("session", &Method::DELETE) {
        if let Some(token) = &token {
            console.sessions.end(token, now);
        }
        tracing::info!(request_id, operator, "signed out of the console");
        let mut response = json_response(&json!({"signedIn": false}));
        set_cookie(
            &mut response,
            &format!("{cookie}=; Path=/console; HttpOnly; SameSite=Strict; Max-Age=0"),
        );
        return Ok(response);
    }
    if (asked, &parts.method) == ("session", &Method::GET) {
        return Ok(json_response(&views::session_view(console, &service)));
    }
    let (system, view) = asked.split_once('/').ok_or_else(nothing_here)?;
    let name = percent_decode_str(system).decode_utf8_lossy();
    let system = service.systems().into_iter().find(|known| known.name == name);
    let system = system.ok_or_else(|| ConsoleError::not_there(format!("there is no system `{name}`")))?;
    let body = match parts.method == Method::POST {
        true => body_of(&parts, body).await?,
        false => Vec::new(),
    };
    let asking = Asking {
        console,
        service,
        system,
        operator,
        request_id,
        body,
    };
    let time_max = asking.service.settings().limits.operation_time_max;
    let work = async {
        let _turn = console.turns.acquire().await;
        views::answer_view(&asking, &parts, view).await
    };
    match tokio::time::timeout(time_max, work).await {
        Ok(answer) => answer,
        Err(_) => Err(ConsoleError::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "too_slow",
            "this took longer than an operation may",
        )),
    }
}

fn not_a_link() -> ConsoleError {
    let detail = "this link was already used, is too old, or is no link at all; have a new one printed in the terminal";
    ConsoleError::new(StatusCode::UNAUTHORIZED, "not_a_link", detail)
}

fn no_randomness() -> ConsoleError {
    ConsoleError::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "no_randomness",
        "no link can be made here",
    )
}

fn set_cookie(response: &mut Response, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
}

/// What was sent, as JSON alone: a form of another page could send nothing of the kind.
async fn body_of(parts: &Parts, body: Body) -> Result<Vec<u8>, ConsoleError> {
    if !is_json(&parts.headers) {
        let detail = "a body is `application/json`";
        return Err(ConsoleError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "not_json",
            detail,
        ));
    }
    let read = tokio::time::timeout(BODY_TIME_MAX, to_bytes(body, BODY_BYTES_MAX)).await;
    match read {
        Ok(Ok(bytes)) => Ok(bytes.to_vec()),
        Ok(Err(_)) => Err(ConsoleError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            "the body is too long, or broke off",
        )),
        Err(_) => Err(ConsoleError::new(
            StatusCode::REQUEST_TIMEOUT,
            "too_slow",
            "the body took too long to arrive",
        )),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let media = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    media.is_some_and(|media| {
        let essence = media.split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case("application/json")
    })
}
