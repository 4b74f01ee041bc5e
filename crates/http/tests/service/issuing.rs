//! An issuer of tokens on this machine, as OpenID Connect Discovery finds it; and a proxy on the way to it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::{StatusCode, header};
use axum::routing::get;
use serde_json::{Value as Json, json};
use singlet_http::{Limits, Server, TlsFiles};

/// What it answers with: the description and the keys; nothing where it is down.
#[derive(Clone, Default)]
pub struct Issuer {
    /// How it is called, and how its tokens must call it.
    pub name: String,
    said: Arc<Mutex<(Json, Json)>>,
    is_down: Arc<Mutex<bool>>,
    asked: Arc<AtomicUsize>,
}

impl Issuer {
    /// By TLS under a certificate for `localhost`, or in clear on this machine.
    pub fn start(path: &'static str, tls: Option<TlsFiles>) -> Self {
        let issuer = Issuer::default();
        let (ready, port) = std::sync::mpsc::channel();
        let own = issuer.clone();
        let scheme = if tls.is_some() { "https" } else { "http" };
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async move {
                let server = Server::bind("127.0.0.1:0", tls.as_ref()).await.unwrap();
                ready.send(server.bound_address().unwrap().port()).unwrap();
                let (described, keys) = (own.clone(), own);
                let at = format!("{}/.well-known/openid-configuration", path.trim_end_matches('/'));
                let router = Router::new()
                    .route(&at, get(move || async move { described.answer(|said| &said.0) }))
                    .route("/keys", get(move || async move { keys.answer(|said| &said.1) }));
                let never = std::future::pending();
                server.serve(router, Limits::default(), never, || {}, async {}).await
            })
        });
        let root = format!("{scheme}://localhost:{}", port.recv().unwrap());
        let issuer = Issuer {
            name: format!("{root}{path}"),
            ..issuer
        };
        issuer.describes(json!({"issuer": issuer.name, "jwks_uri": format!("{root}/keys")}));
        issuer
    }

    fn answer(
        &self,
        of: impl Fn(&(Json, Json)) -> &Json,
    ) -> (StatusCode, [(header::HeaderName, &'static str); 1], String) {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let status = match *self.is_down.lock().unwrap() {
            true => StatusCode::SERVICE_UNAVAILABLE,
            false => StatusCode::OK,
        };
        let text = of(&self.said.lock().unwrap()).to_string();
        (status, [(header::CONTENT_TYPE, "application/json")], text)
    }

    pub fn describes(&self, description: Json) {
        self.said.lock().unwrap().0 = description;
    }

    pub fn publishes(&self, keys: &[Json]) {
        self.said.lock().unwrap().1 = json!({"keys": keys});
    }

    pub fn is_down(&self, is_down: bool) {
        *self.is_down.lock().unwrap() = is_down;
    }

    /// How many documents were asked for.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// A proxy that tunnels for whoever has its credentials; where it is, and what it was asked for.
pub fn start_proxy(credentials: &'static str) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&asked);
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let seen = Arc::clone(&seen);
            std::thread::spawn(move || tunnel(client.unwrap(), credentials, &seen));
        }
    });
    (address, asked)
}

fn tunnel(mut client: TcpStream, credentials: &str, seen: &Mutex<Vec<String>>) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte).is_ok_and(|length| length == 1) {
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let first = head.lines().next().unwrap_or_default().to_owned();
    seen.lock().unwrap().push(first.clone());
    let is_known = head
        .to_ascii_lowercase()
        .contains(&format!("proxy-authorization: {}", credentials.to_ascii_lowercase()));
    if !is_known {
        let _ = client.write_all(b"HTTP/1.1 407 Who?\r\ncontent-length: 0\r\n\r\n");
        return;
    }
    let target = first.split(' ').nth(1).unwrap().replace("localhost", "127.0.0.1");
    let mut server = TcpStream::connect(target).unwrap();
    client.write_all(b"HTTP/1.1 200 Go on\r\n\r\n").unwrap();
    let (mut back_from, mut back_to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    let back = std::thread::spawn(move || {
        let _ = std::io::copy(&mut back_from, &mut back_to);
    });
    let _ = std::io::copy(&mut client, &mut server);
    let _ = server.shutdown(std::net::Shutdown::Write);
    let _ = back.join();
}
