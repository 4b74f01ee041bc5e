//! Public keys at an address: fetched at the start, then now and then, and when a token names a key that is not known.

use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{Request, StatusCode, Uri, header};
use futures_util::TryFutureExt;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::jwt::{PublicKey, public_keys};
use crate::trust::tls_connector;

/// The longest set of keys, in bytes.
const JWKS_BYTES_MAX: usize = 256 * 1024;

/// How keys are fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JwksTiming {
    /// How long one attempt may take.
    pub fetch_time_max: Duration,
    /// How long nothing is fetched after an attempt, whatever tokens name.
    pub pause_min: Duration,
    /// How often keys are fetched though no token asks for it.
    pub refresh_every: Duration,
}

impl Default for JwksTiming {
    fn default() -> Self {
        JwksTiming {
            fetch_time_max: Duration::from_secs(5),
            pause_min: Duration::from_secs(10),
            refresh_every: Duration::from_secs(600),
        }
    }
}

/// The keys at an address. Those that are known stay where they cannot be fetched again.
pub struct FetchedKeys {
    address: Uri,
    timing: JwksTiming,
    tls: Option<TlsConnector>,
    keys: RwLock<Arc<Vec<PublicKey>>>,
    /// When keys were last asked for. Held while they are, so that one request asks for all.
    tried: tokio::sync::Mutex<Instant>,
}

impl std::fmt::Debug for FetchedKeys {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "keys at {}", self.address)
    }
}

impl FetchedKeys {
    /// Fetches the keys, and goes on to do so for as long as somebody holds them. Who answers by TLS is vouched for by one of
    /// `authorities`, certificates as PEM text, or by one of those whom the machine trusts where none are given.
    ///
    /// # Errors
    ///
    /// Where the address is none that can be trusted, or has no keys.
    pub async fn start(address: &str, timing: JwksTiming, authorities: Option<&[u8]>) -> Result<Arc<Self>, String> {
        let address: Uri = address
            .parse()
            .map_err(|error| format!("this is no address: {error}"))?;
        let tls = match (address.scheme_str(), address.host()) {
            (Some("https"), Some(_)) => Some(tls_connector(authorities)?),
            // Who can change an answer on its way could sign every token.
            (Some("http"), Some("localhost" | "127.0.0.1" | "[::1]")) => None,
            _ => return Err("keys are fetched by `https://`, or by `http://` on this machine".to_owned()),
        };
        let fetched = FetchedKeys {
            address,
            timing,
            tls,
            keys: RwLock::default(),
            tried: tokio::sync::Mutex::new(Instant::now()),
        };
        fetched.fetch().await?;
        let fetched = Arc::new(fetched);
        tokio::spawn(follow(Arc::downgrade(&fetched)));
        Ok(fetched)
    }

    /// The keys as they are known.
    pub(super) fn keys(&self) -> Arc<Vec<PublicKey>> {
        Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Fetches the keys again, unless that was done just now.
    pub(super) async fn refresh(&self) {
        let mut tried = self.tried.lock().await;
        if tried.elapsed() < self.timing.pause_min {
            return;
        }
        if let Err(reason) = self.fetch().await {
            tracing::warn!(address = %self.address, reason, "the keys that are known are kept");
        }
        *tried = Instant::now();
    }

    async fn fetch(&self) -> Result<(), String> {
        let asked = tokio::time::timeout(self.timing.fetch_time_max, self.ask()).await;
        let text = asked.map_err(|_| "there was no answer in time".to_owned())??;
        let keys = public_keys(&text)?;
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
        Ok(())
    }

    async fn ask(&self) -> Result<String, String> {
        let host = self.address.host().unwrap_or_default();
        let named = host.trim_start_matches('[').trim_end_matches(']');
        let port = self
            .address
            .port_u16()
            .unwrap_or(if self.tls.is_some() { 443 } else { 80 });
        let stream = TcpStream::connect((named, port))
            .map_err(|error| format!("no connection: {error}"))
            .await?;
        match &self.tls {
            None => self.ask_on(stream).await,
            Some(tls) => {
                let name = ServerName::try_from(named.to_owned()).map_err(|error| error.to_string())?;
                let stream = tls
                    .connect(name, stream)
                    .map_err(|error| format!("no TLS: {error}"))
                    .await?;
                self.ask_on(stream).await
            }
        }
    }

    async fn ask_on(&self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> Result<String, String> {
        let failed = |error: hyper::Error| format!("the answer broke off: {error}");
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
        tokio::spawn(connection);
        let path = self.address.path_and_query().map_or("/", |path| path.as_str());
        let host = self.address.authority().map_or("", |authority| authority.as_str());
        let request = Request::get(path)
            .header(header::HOST, host)
            .header(header::ACCEPT, "application/json")
            .body(Body::empty())
            .map_err(|error| error.to_string())?;
        let answer = sender.send_request(request).await.map_err(failed)?;
        if answer.status() != StatusCode::OK {
            return Err(format!("the answer is {}", answer.status()));
        }
        let bytes = axum::body::to_bytes(Body::new(answer.into_body()), JWKS_BYTES_MAX).await;
        let bytes = bytes.map_err(|_| format!("the answer broke off, or has more than {JWKS_BYTES_MAX} bytes"))?;
        String::from_utf8(bytes.into()).map_err(|_| "the answer is not text".to_owned())
    }
}

/// Fetches keys on a schedule, until nobody holds them any more.
async fn follow(keys: Weak<FetchedKeys>) {
    while let Some(every) = keys.upgrade().map(|keys| keys.timing.refresh_every) {
        tokio::time::sleep(every).await;
        if let Some(keys) = keys.upgrade() {
            keys.refresh().await;
        }
    }
}
