//! One attempt: resolved, looked at, connected, signed, sent, and the status read. Everything has a bound, and nothing of the
//! answer's body is.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use singlet_changes::{PostWebhook, Posted, WebhookPost};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::address::{AddressError, Reach, WebhookAddress};
use super::signature::WebhookSecrets;
use crate::SetupError;
use crate::trust::tls_connector;

/// How long an attempt takes at most; the standard recommends 15 to 30 seconds.
pub(crate) const POST_TIME_MAX: Duration = Duration::from_secs(20);

/// How long a connection to one machine may take to come about, TLS included: a name may mean several.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);

/// How many machines of one name are tried.
const MACHINES_MAX: usize = 4;

/// The longest head of an answer, in bytes.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// The longest `Retry-After` that is looked at, in bytes.
const RETRY_AFTER_BYTES_MAX: usize = 64;

/// Sends the webhooks of one system.
pub struct WebhookClient {
    secrets: BTreeMap<String, WebhookSecrets>,
    reach: Reach,
    tls: TlsConnector,
    time_max: Duration,
}

impl fmt::Debug for WebhookClient {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "webhooks with {} signed", self.secrets.len())
    }
}

/// Why an attempt failed.
#[derive(Debug)]
enum PostError {
    Secret,
    Address(AddressError),
    Unknown(std::io::Error),
    Connection(std::io::Error),
    Tls(std::io::Error),
    Http(hyper::Error),
    Request(axum::http::Error),
    Time,
}

impl fmt::Display for PostError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PostError::Secret => out.write_str("there is no secret to sign with"),
            PostError::Address(error) => error.fmt(out),
            PostError::Unknown(error) => write!(out, "the name is not known: {error}"),
            PostError::Connection(error) => write!(out, "no connection: {error}"),
            PostError::Tls(error) => write!(out, "no TLS: {error}"),
            PostError::Http(error) => write!(out, "the answer broke off: {error}"),
            PostError::Request(error) => write!(out, "it cannot be asked: {error}"),
            PostError::Time => out.write_str("there was no answer in time"),
        }
    }
}

/// What the receiver said.
struct ReceiverAnswer {
    status: StatusCode,
    retry_after: Option<String>,
}

impl WebhookClient {
    /// With the secrets of a system's webhooks. Who answers by TLS is vouched for by one of `authorities`, certificates as PEM text,
    /// or by one of those whom the machine trusts where none are given.
    ///
    /// # Errors
    ///
    /// Where an authority is none, or the machine trusts nobody.
    pub fn new(
        secrets: BTreeMap<String, WebhookSecrets>,
        reach: Reach,
        authorities: Option<&[u8]>,
    ) -> Result<Self, SetupError> {
        Ok(WebhookClient {
            secrets,
            reach,
            tls: tls_connector(authorities)?,
            time_max: POST_TIME_MAX,
        })
    }

    /// Gives each attempt another time.
    #[must_use]
    pub fn with_time_max(mut self, time_max: Duration) -> Self {
        self.time_max = time_max;
        self
    }

    async fn ask(&self, post: &WebhookPost<'_>) -> Result<ReceiverAnswer, PostError> {
        let secrets = self.secrets.get(post.webhook).ok_or(PostError::Secret)?;
        let address = WebhookAddress::parse(post.address, self.reach).map_err(PostError::Address)?;
        let request = Request::post(address.path())
            .header(header::HOST, address.host_authority())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::USER_AGENT, "singlet-webhooks")
            .header(header::CONNECTION, "close")
            .header("webhook-id", post.id)
            .header("webhook-timestamp", post.at_seconds)
            .header(
                "webhook-signature",
                secrets.signature_header(post.id, post.at_seconds, post.body),
            )
            .body(Body::from(post.body.to_owned()))
            .map_err(PostError::Request)?;
        let stream = self.connect(&address).await?;
        if !address.is_secure {
            return exchange(stream, request).await;
        }
        let name = ServerName::try_from(address.host().to_owned());
        let name = name.map_err(|_| PostError::Address(AddressError::Form))?;
        let shaken = tokio::time::timeout(CONNECT_TIME_MAX, self.tls.connect(name, stream)).await;
        let stream = shaken.map_err(|_| PostError::Time)?.map_err(PostError::Tls)?;
        exchange(stream, request).await
    }

    /// Connects to a machine that the name means and that may be called. The one that was looked at is the one that is called: a name that
    /// means another a moment later changes nothing.
    async fn connect(&self, address: &WebhookAddress) -> Result<TcpStream, PostError> {
        let found = tokio::net::lookup_host((address.host(), address.port())).await;
        let found: Vec<SocketAddr> = found.map_err(PostError::Unknown)?.collect();
        let mut last = PostError::Address(AddressError::Private);
        let taken = found.iter().filter(|machine| self.reach.takes(machine.ip()));
        for machine in taken.take(MACHINES_MAX) {
            match tokio::time::timeout(CONNECT_TIME_MAX, TcpStream::connect(machine)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => last = PostError::Connection(error),
                Err(_) => last = PostError::Time,
            }
        }
        Err(last)
    }
}

/// Sends a request, and reads the head of the answer. What the answer holds besides is not read: the connection ends with this.
async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Body>,
) -> Result<ReceiverAnswer, PostError> {
    let mut builder = http1::Builder::new();
    builder.max_buf_size(HEAD_BYTES_MAX);
    let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(PostError::Http)?;
    let (mut answer, mut connection) = (pin!(sender.send_request(request)), pin!(connection));
    let answer = tokio::select! {
        biased;
        answer = &mut answer => answer,
        // A receiver that answers and closes at once is done with both.
        _ = &mut connection => answer.await,
    };
    let answer = answer.map_err(PostError::Http)?;
    let retry_after = answer.headers().get(header::RETRY_AFTER);
    let retry_after = retry_after.and_then(|value| value.to_str().ok());
    Ok(ReceiverAnswer {
        status: answer.status(),
        retry_after: retry_after
            .filter(|text| text.len() <= RETRY_AFTER_BYTES_MAX)
            .map(str::to_owned),
    })
}

#[async_trait::async_trait]
impl PostWebhook for WebhookClient {
    async fn post(&self, post: &WebhookPost<'_>) -> Posted {
        let asked = tokio::time::timeout(self.time_max, self.ask(post)).await;
        let answered = asked.unwrap_or(Err(PostError::Time));
        let failed = |reason: String, retry_after: Option<String>| Posted::Failed { reason, retry_after };
        match answered {
            Err(error) => failed(error.to_string(), None),
            Ok(ReceiverAnswer { status, .. }) if status.is_success() => Posted::Taken,
            Ok(ReceiverAnswer { status, .. }) if status == StatusCode::GONE => Posted::Gone,
            Ok(ReceiverAnswer { status, .. }) if status.is_redirection() => {
                failed(format!("the answer is {status}, and redirects are not followed"), None)
            }
            Ok(ReceiverAnswer { status, retry_after }) => failed(format!("the answer is {status}"), retry_after),
        }
    }
}
