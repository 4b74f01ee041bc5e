//! Sockets: accepting, TLS, and an end that cuts nobody off.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::{BoxError, Router};
use futures_util::FutureExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as HyperService, service_fn};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::connections::{Connected, Connections};
use crate::idle_timer::IdleTimer;
use crate::paced::Paced;
use crate::proxies::Proxies;
use crate::service::{Front, Peer, Service};
use crate::settings::Limits;
use crate::setup_error::SetupError;
use crate::surfaces::Surfaces;

/// The longest head of a request, in bytes.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// How long a TLS handshake may take.
const HANDSHAKE_TIME_MAX: Duration = Duration::from_secs(10);

/// The pause after a socket could not be accepted, such as for want of file handles.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Certificate and key as PEM text.
#[derive(Clone)]
pub struct TlsFiles {
    /// The certificate chain.
    pub certificates: Vec<u8>,
    /// The private key.
    pub key: Vec<u8>,
}

impl std::fmt::Debug for TlsFiles {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("TlsFiles")
    }
}

/// The body of an answer.
trait AnswerBody: HttpBody<Data: Send, Error: Into<BoxError>> + Send + 'static {}

impl<B: HttpBody<Data: Send, Error: Into<BoxError>> + Send + 'static> AnswerBody for B {}

/// What answers requests, a copy of it on each connection.
trait AnswerRequests<B>:
    HyperService<Request<Body>, Response = Response<B>, Error = Infallible, Future: Send> + Clone + Send + 'static
{
}

impl<B, A> AnswerRequests<B> for A where
    A: HyperService<Request<Body>, Response = Response<B>, Error = Infallible, Future: Send> + Clone + Send + 'static
{
}

/// A listening socket.
pub struct Server {
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    /// Whose connections have no bound of their own: each carries requests of many clients, and those are counted.
    proxies: Proxies,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_tuple("Server")
            .field(&self.listener.local_addr().ok())
            .finish()
    }
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    ///
    /// Where the address cannot be had, or certificate and key cannot be used.
    pub async fn bind(address: &str, tls: Option<&TlsFiles>) -> Result<Self, SetupError> {
        let tls = tls.map(acceptor).transpose()?;
        let listener = TcpListener::bind(address)
            .await
            .map_err(|error| SetupError::Listening {
                address: address.to_owned(),
                reason: error.to_string().to_lowercase(),
            })?;
        Ok(Server {
            listener,
            tls,
            proxies: Proxies::default(),
        })
    }

    /// Where it listens.
    pub fn bound_address(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }

    /// Serves until `end`, then finishes what has begun, within the bound of the settings. Says whether all of it ended.
    pub async fn run(mut self, service: Arc<Service>, end: impl Future<Output = ()>) -> bool {
        let front = self.front(&service, service.settings().surfaces);
        let closing = Arc::clone(&service);
        let finish = async { service.finish().await };
        self.serve_front(&service, front, end, move || closing.close(), finish)
            .await
    }

    /// Shows everything of a service to its operators, until `end`. The service itself ends elsewhere.
    pub async fn run_for_operators(mut self, service: Arc<Service>, end: impl Future<Output = ()>) -> bool {
        let front = self.front(&service, Surfaces::ALL);
        self.serve_front(&service, front, end, || {}, std::future::ready(()))
            .await
    }

    fn front(&mut self, service: &Arc<Service>, surfaces: Surfaces) -> Front {
        self.proxies = service.settings().proxies.clone();
        let over_tls = self.tls.is_some();
        let address = self.bound_address();
        Front {
            surfaces,
            over_tls,
            address,
            console: service.settings().console.at(address, surfaces),
        }
    }

    async fn serve_front(
        self,
        service: &Arc<Service>,
        front: Front,
        end: impl Future<Output = ()>,
        closing: impl FnOnce(),
        finish: impl Future<Output = ()>,
    ) -> bool {
        let limits = service.settings().limits;
        match service.answering_origins(front) {
            Some(router) => self.serve(router, limits, end, closing, finish).await,
            None => {
                let answering = service.answering_front(front);
                self.serve_by(answering, limits, end, closing, finish).await
            }
        }
    }

    /// Serves any router until `end`; then `closing` is told, and what has begun is waited for, `finish` included. Says
    /// whether all of it ended within the bound.
    pub async fn serve(
        self,
        router: Router,
        limits: Limits,
        end: impl Future<Output = ()>,
        closing: impl FnOnce(),
        finish: impl Future<Output = ()>,
    ) -> bool {
        self.serve_by(TowerToHyperService::new(router), limits, end, closing, finish)
            .await
    }

    async fn serve_by<A, B>(
        self,
        answering: A,
        limits: Limits,
        end: impl Future<Output = ()>,
        closing: impl FnOnce(),
        finish: impl Future<Output = ()>,
    ) -> bool
    where
        A: AnswerRequests<B>,
        B: AnswerBody,
    {
        let places = Arc::new(Semaphore::new(limits.connections_max));
        let connections = Connections::new(limits.connections_per_address_max);
        let graceful = GracefulShutdown::new();
        let mut end = std::pin::pin!(end);
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut end => break,
                accepted = accept(&self.listener, &places) => accepted,
            };
            let Some((stream, peer, place)) = accepted else {
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            };
            let Some(connected) = self.admit(&connections, peer) else {
                tracing::debug!(%peer, "an address has as many connections as it may");
                continue;
            };
            let peer = Peer {
                address: peer,
                connections: connections.clone(),
            };
            self.spawn(stream, peer, (place, connected), &answering, graceful.watcher(), limits);
        }
        closing();
        // Whoever is already connected has been promised an answer.
        while let Some(Some((stream, peer, place))) = accept(&self.listener, &places).now_or_never() {
            let Some(connected) = self.admit(&connections, peer) else {
                continue;
            };
            let peer = Peer {
                address: peer,
                connections: connections.clone(),
            };
            self.spawn(stream, peer, (place, connected), &answering, graceful.watcher(), limits);
        }
        drop(self.listener);
        let finished = async {
            graceful.shutdown().await;
            finish.await;
        };
        tokio::time::timeout(limits.shutdown_time_max, finished).await.is_ok()
    }

    /// A place for a connection among those of its address; the inner one is none for a proxy's.
    fn admit(&self, connections: &Connections, peer: SocketAddr) -> Option<Option<Connected>> {
        match self.proxies.contain_address(peer.ip()) {
            true => Some(None),
            false => connections.admit_peer(peer.ip()).map(Some),
        }
    }

    fn spawn<B: AnswerBody>(
        &self,
        stream: TcpStream,
        peer: Peer,
        places: (OwnedSemaphorePermit, Option<Connected>),
        answering: &impl AnswerRequests<B>,
        watcher: Watcher,
        limits: Limits,
    ) {
        let answering = answering.clone();
        let tls = self.tls.clone();
        tokio::spawn(async move {
            let _places = places;
            // An answer waits for nothing: it is written whole.
            let _ = stream.set_nodelay(true);
            match tls {
                None => connection(stream, peer, answering, watcher, limits).await,
                Some(tls) => {
                    let handshake = tokio::time::timeout(HANDSHAKE_TIME_MAX, tls.accept(stream)).await;
                    if let Ok(Ok(stream)) = handshake {
                        connection(stream, peer, answering, watcher, limits).await;
                    }
                }
            }
        });
    }
}

async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, peer)) => Some((stream, peer, place)),
        Err(error) => {
            tracing::warn!(%error, "a connection could not be accepted");
            None
        }
    }
}

async fn connection<S, B>(stream: S, peer: Peer, answering: impl AnswerRequests<B>, watcher: Watcher, limits: Limits)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    B: AnswerBody,
{
    let address = peer.address;
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(peer.clone());
        let answer = answering.call(request.map(Body::new));
        async move { Ok::<_, Infallible>(answer.await.unwrap_or_else(|never| match never {})) }
    });
    let connection = http1::Builder::new()
        .timer(IdleTimer::default())
        .header_read_timeout(limits.header_time_max)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(Paced::new(stream, limits.answer_time_max)), service);
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(peer = %address, %error, "a connection broke off");
    }
}

fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, SetupError> {
    let certificates: Result<Vec<CertificateDer<'static>>, _> =
        CertificateDer::pem_slice_iter(&files.certificates).collect();
    let certificates = certificates.map_err(|error| SetupError::Certificate(error.to_string()))?;
    if certificates.is_empty() {
        return Err(SetupError::NoCertificate);
    }
    let key = PrivateKeyDer::from_pem_slice(&files.key).map_err(|error| SetupError::PrivateKey(error.to_string()))?;
    // Said, not guessed: other crates of the process may bring other providers.
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| SetupError::Tls(error.to_string()))?
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .map_err(|error| SetupError::UnfitKey(error.to_string()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
