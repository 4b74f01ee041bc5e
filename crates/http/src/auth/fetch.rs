//! A small document from whoever issues tokens: by TLS, through the proxy that the deployment names, and bounded.

use std::fmt;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode, Uri, header};
use hyper::client::conn::http1;
use hyper::service::Service as _;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::SetupError;
use crate::trust::tls_connector;

/// The longest document, in bytes.
const DOCUMENT_BYTES_MAX: usize = 256 * 1024;

/// Why a document could not be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetchError {
    /// It is no address.
    NoAddress(String),
    /// Whoever is on the way could change what it says.
    Untrusted,
    /// The authorities that should vouch for it cannot.
    Authorities(SetupError),
    /// The proxy cannot be used.
    Proxy(String),
    /// There is no connection.
    Connection(String),
    /// There is nobody there who is vouched for.
    Tls(String),
    /// The answer came to no end.
    BrokenOff(String),
    /// Something else than the document was answered.
    Status(StatusCode),
    /// There is more than is read.
    TooLong,
    /// It is not text.
    NoText,
    /// It took too long.
    Time,
    /// It is not what it should be.
    Content(String),
    /// It is no set of keys that can be used.
    KeySet(SetupError),
}

impl fmt::Display for FetchError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FetchError::NoAddress(reason) => write!(out, "this is no address: {reason}"),
            FetchError::Untrusted => out.write_str("keys are fetched by `https://`, or by `http://` on this machine"),
            FetchError::Authorities(error) | FetchError::KeySet(error) => error.fmt(out),
            FetchError::Content(reason) => out.write_str(reason),
            FetchError::Proxy(reason) => write!(out, "the proxy gives no connection: {reason}"),
            FetchError::Connection(reason) => write!(out, "no connection: {reason}"),
            FetchError::Tls(reason) => write!(out, "no TLS: {reason}"),
            FetchError::BrokenOff(reason) => write!(out, "the answer broke off: {reason}"),
            FetchError::Status(status) => write!(out, "the answer is {status}"),
            FetchError::TooLong => write!(out, "the answer broke off, or has more than {DOCUMENT_BYTES_MAX} bytes"),
            FetchError::NoText => out.write_str("the answer is not text"),
            FetchError::Time => out.write_str("there was no answer in time"),
        }
    }
}

impl std::error::Error for FetchError {}

/// How documents of an issuer are reached.
#[derive(Clone, Default)]
pub struct KeyRoute {
    /// Who vouches for those who answer by TLS, certificates as PEM text; those whom the machine trusts where none are given.
    pub authorities: Option<Vec<u8>>,
    proxies: Option<std::sync::Arc<Matcher>>,
}

impl fmt::Debug for KeyRoute {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A proxy's address may hold a password.
        out.write_str("KeyRoute")
    }
}

impl KeyRoute {
    /// Through one proxy, except for what `without` lists as `NO_PROXY` does.
    #[must_use]
    pub fn through_proxy(mut self, proxy: &str, without: &str) -> Self {
        let matcher = Matcher::builder().https(proxy.to_owned()).no(without.to_owned());
        self.proxies = Some(std::sync::Arc::new(matcher.build()));
        self
    }

    /// Where others must vouch.
    #[must_use]
    pub fn vouched_by(mut self, authorities: Option<Vec<u8>>) -> Self {
        self.authorities = authorities;
        self
    }
}

/// Fetches documents.
pub(super) struct Fetcher {
    tls: Option<TlsConnector>,
    route: KeyRoute,
    time_max: Duration,
}

impl Fetcher {
    /// For documents at an address, and at others that it names.
    pub(super) fn new(address: &Uri, route: KeyRoute, time_max: Duration) -> Result<Self, FetchError> {
        let tls = match is_encrypted(address)? {
            true => Some(tls_connector(route.authorities.as_deref()).map_err(FetchError::Authorities)?),
            false => None,
        };
        Ok(Fetcher { tls, route, time_max })
    }

    /// The document at an address.
    pub(super) async fn fetch(&self, address: &Uri) -> Result<String, FetchError> {
        // What was found by TLS must not lead to what is not.
        if !is_encrypted(address)? && self.tls.is_some() {
            return Err(FetchError::Untrusted);
        }
        match tokio::time::timeout(self.time_max, self.ask(address)).await {
            Ok(answer) => answer,
            Err(_) => Err(FetchError::Time),
        }
    }

    async fn ask(&self, address: &Uri) -> Result<String, FetchError> {
        let host = address.host().unwrap_or_default();
        let named = host.trim_start_matches('[').trim_end_matches(']');
        let Some(tls) = self.tls.as_ref().filter(|_| address.scheme_str() == Some("https")) else {
            // On this machine: no proxy stands between.
            let port = address.port_u16().unwrap_or(80);
            return ask_on(connected(named, port).await?, address).await;
        };
        let proxy = self.route.proxies.as_ref().and_then(|all| all.intercept(address));
        let stream = match proxy {
            None => connected(named, address.port_u16().unwrap_or(443)).await?,
            Some(proxy) => {
                if proxy.uri().scheme_str() != Some("http") {
                    let reason = "only proxies at `http://` addresses are spoken to";
                    return Err(FetchError::Proxy(reason.to_owned()));
                }
                let mut tunnel = Tunnel::new(proxy.uri().clone(), HttpConnector::new());
                if let Some(credentials) = proxy.basic_auth() {
                    tunnel = tunnel.with_auth(credentials.clone());
                }
                let opened = TowerToHyperService::new(tunnel).call(address.clone()).await;
                opened
                    .map_err(|error| FetchError::Proxy(error.to_string()))?
                    .into_inner()
            }
        };
        let name = ServerName::try_from(named.to_owned()).map_err(|error| FetchError::Tls(error.to_string()))?;
        let stream = tls.connect(name, stream).await;
        ask_on(stream.map_err(|error| FetchError::Tls(error.to_string()))?, address).await
    }
}

/// Whether an address is asked by TLS.
///
/// # Errors
///
/// Where it is asked in clear and not on this machine: who can change an answer on its way could sign every token.
fn is_encrypted(address: &Uri) -> Result<bool, FetchError> {
    match (address.scheme_str(), address.host()) {
        (Some("https"), Some(_)) => Ok(true),
        (Some("http"), Some("localhost" | "127.0.0.1" | "[::1]")) => Ok(false),
        _ => Err(FetchError::Untrusted),
    }
}

async fn connected(host: &str, port: u16) -> Result<TcpStream, FetchError> {
    let stream = TcpStream::connect((host, port)).await;
    stream.map_err(|error| FetchError::Connection(error.to_string()))
}

async fn ask_on(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    address: &Uri,
) -> Result<String, FetchError> {
    let failed = |error: hyper::Error| FetchError::BrokenOff(error.to_string());
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
    tokio::spawn(connection);
    let path = address.path_and_query().map_or("/", |path| path.as_str());
    let host = address.authority().map_or("", |authority| authority.as_str());
    let request = Request::get(path)
        .header(header::HOST, host)
        .header(header::ACCEPT, "application/json")
        .body(Body::empty())
        .map_err(|error| FetchError::NoAddress(error.to_string()))?;
    let answer = sender.send_request(request).await.map_err(failed)?;
    // Also no redirection: it would lead to an address that nobody has trusted.
    if answer.status() != StatusCode::OK {
        return Err(FetchError::Status(answer.status()));
    }
    // Bounded, whoever answers.
    let bytes = axum::body::to_bytes(Body::new(answer.into_body()), DOCUMENT_BYTES_MAX).await;
    let bytes = bytes.map_err(|_| FetchError::TooLong)?;
    String::from_utf8(bytes.into()).map_err(|_| FetchError::NoText)
}
