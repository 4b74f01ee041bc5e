//! Tells spans and figures to a collector, by OTLP over HTTP in its binary form.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Request, Uri, header};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::figures::read_figures;
use super::wire::{figures_message, spans_message};
use super::{RequestSpan, SpanSource};
use crate::service::Service;
use crate::trace::nanos_now;
use crate::trust::tls_connector;

/// How many spans are told at once.
const SPANS_AT_ONCE_MAX: usize = 512;

/// How long spans are gathered.
const GATHER_TIME: Duration = Duration::from_secs(1);

/// How long a collector may take.
const TELL_TIME_MAX: Duration = Duration::from_secs(10);

/// Where a collector is, and what it is told of this process.
#[derive(Clone)]
pub struct TelemetryRoute {
    traces: Uri,
    metrics: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
    resource: Vec<(String, String)>,
    figures_every: Duration,
    tls: Option<TlsConnector>,
}

impl fmt::Debug for TelemetryRoute {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The headers may hold a key.
        write!(out, "TelemetryRoute({})", self.traces)
    }
}

/// Why a collector cannot be told anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TelemetryError {
    /// It has no address.
    Address(String),
    /// A header is none.
    Header(String),
    /// TLS cannot be spoken.
    Tls(String),
    /// It cannot be reached, or broke off.
    Connection(String),
    /// It did not take it.
    Status(u16),
    /// It took too long.
    Time,
}

impl fmt::Display for TelemetryError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TelemetryError::Address(address) => {
                write!(
                    out,
                    "`{address}` is no address of a collector: write `http://HOST:4318` or `https://HOST`"
                )
            }
            TelemetryError::Header(header) => write!(out, "`{header}` is no header: write `name=value`"),
            TelemetryError::Tls(reason) => write!(out, "no TLS: {reason}"),
            TelemetryError::Connection(reason) => write!(out, "no connection: {reason}"),
            TelemetryError::Status(status) => write!(out, "the collector answers {status}"),
            TelemetryError::Time => out.write_str("the collector does not answer in time"),
        }
    }
}

impl std::error::Error for TelemetryError {}

impl TelemetryRoute {
    /// To a collector at an address, which gets `/v1/traces` and `/v1/metrics` behind it. Headers and what is said of this process are
    /// `name=value`.
    ///
    /// # Errors
    ///
    /// Where the address or a header is none, or TLS cannot be spoken.
    pub fn new(
        endpoint: &str,
        headers: &[String],
        resource: Vec<(String, String)>,
        figures_every: Duration,
    ) -> Result<Self, TelemetryError> {
        let none = || TelemetryError::Address(endpoint.to_owned());
        let address = |path: &str| -> Result<Uri, TelemetryError> {
            let uri: Uri = format!("{}{path}", endpoint.trim_end_matches('/'))
                .parse()
                .map_err(|_| none())?;
            match (uri.scheme_str(), uri.host()) {
                (Some("http" | "https"), Some(_)) => Ok(uri),
                _ => Err(none()),
            }
        };
        let headers = headers.iter().map(|header| {
            let wrong = || TelemetryError::Header(header.clone());
            let (name, value) = header.split_once('=').ok_or_else(wrong)?;
            let name = name.trim().parse::<HeaderName>().map_err(|_| wrong())?;
            let value = percent_encoding::percent_decode_str(value.trim())
                .decode_utf8()
                .map_err(|_| wrong())?;
            Ok((name, HeaderValue::from_str(&value).map_err(|_| wrong())?))
        });
        let traces = address("/v1/traces")?;
        let tls = match traces.scheme_str() {
            Some("https") => Some(tls_connector(None).map_err(|error| TelemetryError::Tls(error.to_string()))?),
            _ => None,
        };
        Ok(TelemetryRoute {
            metrics: address("/v1/metrics")?,
            headers: headers.collect::<Result<_, _>>()?,
            traces,
            resource,
            figures_every,
            tls,
        })
    }

    async fn tell(&self, address: &Uri, message: Vec<u8>) -> Result<(), TelemetryError> {
        match tokio::time::timeout(TELL_TIME_MAX, self.post(address, message)).await {
            Ok(told) => told,
            Err(_) => Err(TelemetryError::Time),
        }
    }

    async fn post(&self, address: &Uri, message: Vec<u8>) -> Result<(), TelemetryError> {
        let host = address.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let usual = if self.tls.is_some() { 443 } else { 80 };
        let stream = TcpStream::connect((host, address.port_u16().unwrap_or(usual))).await;
        let stream = stream.map_err(|error| TelemetryError::Connection(error.to_string()))?;
        let Some(tls) = &self.tls else {
            return self.post_on(stream, address, message).await;
        };
        let name = ServerName::try_from(host.to_owned()).map_err(|error| TelemetryError::Tls(error.to_string()))?;
        let stream = tls.connect(name, stream).await;
        let stream = stream.map_err(|error| TelemetryError::Tls(error.to_string()))?;
        self.post_on(stream, address, message).await
    }

    async fn post_on(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        address: &Uri,
        message: Vec<u8>,
    ) -> Result<(), TelemetryError> {
        let failed = |error: hyper::Error| TelemetryError::Connection(error.to_string());
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
        tokio::spawn(connection);
        let mut request = Request::post(address.path())
            .header(
                header::HOST,
                address.authority().map_or("", |authority| authority.as_str()),
            )
            .header(header::CONTENT_TYPE, "application/x-protobuf")
            .body(Body::from(message))
            .map_err(|error| TelemetryError::Address(error.to_string()))?;
        request
            .headers_mut()
            .extend(self.headers.iter().cloned().map(|(name, value)| (Some(name), value)));
        let answer = sender.send_request(request).await.map_err(failed)?;
        match answer.status().is_success() {
            true => Ok(()),
            false => Err(TelemetryError::Status(answer.status().as_u16())),
        }
    }
}

/// Tells a collector of a service's requests and figures, until `end`; what is known then is told once more.
///
/// A collector that is away loses what it was not told: spans are not kept, and figures are cumulative.
pub async fn export_telemetry(
    route: TelemetryRoute,
    service: Arc<Service>,
    mut source: SpanSource,
    end: impl Future<Output = ()>,
) {
    let began_nanos = nanos_now();
    let mut end = std::pin::pin!(end);
    let mut failures = 0_u32;
    let mut next_figures = Instant::now() + route.figures_every;
    let mut spans: Vec<RequestSpan> = Vec::new();
    let mut is_ended = false;
    while !is_ended {
        let gathered = Instant::now() + GATHER_TIME;
        while spans.len() < SPANS_AT_ONCE_MAX && !is_ended {
            tokio::select! {
                () = &mut end => is_ended = true,
                () = tokio::time::sleep_until(gathered.min(next_figures)) => break,
                Some(span) = source.receiver.recv() => spans.push(span),
            }
        }
        if is_ended {
            source.receiver.close();
            while let Ok(span) = source.receiver.try_recv() {
                spans.push(span);
            }
        }
        for some in std::mem::take(&mut spans).chunks(SPANS_AT_ONCE_MAX) {
            let told = route.tell(&route.traces, spans_message(&route.resource, some)).await;
            note_failure(&mut failures, some.len(), told);
        }
        if is_ended || Instant::now() >= next_figures {
            next_figures = Instant::now() + route.figures_every;
            let figures = read_figures(&service.metrics().text());
            let message = figures_message(&route.resource, &figures, began_nanos, nanos_now());
            let told = route.tell(&route.metrics, message).await;
            note_failure(&mut failures, 0, told);
            let dropped = source.dropped.swap(0, Ordering::Relaxed);
            if dropped > 0 {
                tracing::warn!(
                    dropped,
                    "spans arrived faster than the collector takes them; some were dropped"
                );
            }
        }
    }
}

/// Says once that a collector is away, and once that it is back.
fn note_failure(failures: &mut u32, spans: usize, told: Result<(), TelemetryError>) {
    match told {
        Ok(()) if *failures > 0 => {
            tracing::info!("the collector is reachable again");
            *failures = 0;
        }
        Ok(()) => {}
        Err(error) => {
            if *failures == 0 {
                tracing::warn!(%error, spans, "could not reach the collector; these spans are lost");
            }
            *failures = failures.saturating_add(1);
        }
    }
}
