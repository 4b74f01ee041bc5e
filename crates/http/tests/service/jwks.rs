//! Public keys at an address: fetched, kept, and fetched again.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::get;
use serde_json::{Value as Json, json};
use singlet_http::auth::{FetchedKeys, JwksTiming, KeyRoute};
use singlet_http::{Limits, Server, TlsFiles};

use crate::callers::{refused, with_token};
use crate::client::{connect, send};
use crate::running::{Options, Running, now, start};
use crate::signing::{RsaKey, published_es256, sign_es256};

/// Who issues tokens: answers every request with what it is told to.
#[derive(Clone)]
struct Issuer {
    address: String,
    answer: Arc<Mutex<String>>,
    asked: Arc<AtomicUsize>,
    /// Whether connections stay open behind an answer.
    keeps_open: Arc<AtomicBool>,
}

impl Issuer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let issuer = Issuer {
            address: format!("http://{}/keys?v=1", listener.local_addr().unwrap()),
            answer: Arc::default(),
            asked: Arc::default(),
            keeps_open: Arc::default(),
        };
        let own = issuer.clone();
        std::thread::spawn(move || {
            let mut open = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut head = [0; 1024];
                let length = stream.read(&mut head).unwrap_or(0);
                assert!(head[..length].starts_with(b"GET /keys?v=1 HTTP/1.1\r\n"));
                own.asked.fetch_add(1, Ordering::SeqCst);
                let answer = own.answer.lock().unwrap().clone();
                let _ = stream.write_all(answer.as_bytes());
                if own.keeps_open.load(Ordering::SeqCst) {
                    open.push(stream);
                }
            }
        });
        issuer
    }

    fn says(&self, status: &str, body: &str) {
        let length = body.len();
        *self.answer.lock().unwrap() =
            format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
    }

    fn publishes(&self, keys: &[Json]) {
        self.says("200 OK", &json!({"keys": keys}).to_string());
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    fn serve(&self, timing: JwksTiming) -> Running {
        start(Options {
            jwks_address: Some((self.address.clone(), timing)),
            only: Some(&["todo"]),
            ..Options::default()
        })
    }
}

fn claims() -> Json {
    json!({"sub": "ada", "aud": "todo", "exp": now() + 60})
}

fn asks(running: &Running, token: &str) -> (u16, String) {
    with_token(running, "todo", "/api/v1/tasks?limit=1", token)
}

/// No token makes keys be fetched more often than that, and nothing else does.
fn only_on_demand(pause: Duration) -> JwksTiming {
    JwksTiming {
        pause_min: pause,
        refresh_every: Duration::from_secs(3600),
        ..JwksTiming::default()
    }
}

#[test]
fn a_new_key_is_taken_up_when_a_token_names_it() {
    let issuer = Issuer::start();
    let (old, new) = (RsaKey::numbered(1, "old"), RsaKey::numbered(2, "new"));
    issuer.publishes(&[old.published()]);
    let running = issuer.serve(only_on_demand(Duration::ZERO));
    assert_eq!((asks(&running, &old.sign(&claims())).0, issuer.asked()), (200, 1));
    // The key of the header must be the one that signed.
    let stranger = RsaKey::numbered(3, "old");
    assert_eq!(
        (asks(&running, &stranger.sign(&claims())), issuer.asked()),
        (refused(), 1)
    );
    issuer.publishes(&[json!({"kty": "what?"}), new.published(), published_es256("elliptic")]);
    assert_eq!(
        asks(&running, &old.sign(&claims())).0,
        200,
        "known until it is asked for again"
    );
    assert_eq!((asks(&running, &new.sign(&claims())).0, issuer.asked()), (200, 2));
    assert_eq!(asks(&running, &sign_es256(&claims(), "elliptic")).0, 200);
    assert_eq!(
        asks(&running, &old.sign(&claims())),
        refused(),
        "it is published no more"
    );
}

#[test]
fn keys_that_are_known_stay_while_no_others_can_be_had() {
    let issuer = Issuer::start();
    let key = RsaKey::numbered(1, "one");
    issuer.publishes(&[key.published()]);
    let running = issuer.serve(only_on_demand(Duration::ZERO));
    let unknown = RsaKey::numbered(2, "two").sign(&claims());
    let long = format!("{{\"keys\": [], \"x\": \"{}\"}}", "x".repeat(300_000));
    for (status, body) in [
        ("500 Oops", "{}"),
        ("200 OK", "nonsense"),
        ("200 OK", "{\"keys\": []}"),
        ("302 Found", ""),
        ("200 OK", long.as_str()),
    ] {
        issuer.says(status, body);
        assert_eq!(asks(&running, &unknown), refused(), "{status}");
        assert_eq!(asks(&running, &key.sign(&claims())).0, 200, "{status}");
    }
    assert_eq!(issuer.asked(), 6);
}

#[test]
fn tokens_of_unknown_keys_do_not_make_the_service_ask_and_ask() {
    let issuer = Issuer::start();
    let key = RsaKey::numbered(1, "one");
    issuer.publishes(&[key.published()]);
    let running = issuer.serve(only_on_demand(Duration::from_secs(60)));
    let unknown = RsaKey::numbered(2, "two").sign(&claims());
    for _ in 0..20 {
        assert_eq!(asks(&running, &unknown), refused());
    }
    assert_eq!(issuer.asked(), 1);
}

/// Who leaves before the keys are there has had them asked for all the same, and nobody else has within the pause.
#[test]
fn clients_that_leave_do_not_make_the_service_ask_and_ask() {
    const CLIENTS: usize = 6;
    let issuer = Issuer::start();
    let key = RsaKey::numbered(1, "one");
    issuer.publishes(&[key.published()]);
    let running = issuer.serve(JwksTiming {
        fetch_time_max: Duration::from_secs(60),
        ..only_on_demand(Duration::ZERO)
    });
    // The answer begins and does not end.
    issuer.keeps_open.store(true, Ordering::SeqCst);
    *issuer.answer.lock().unwrap() = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{".to_owned();
    let unknown = RsaKey::numbered(2, "two").sign(&claims());
    let asking = format!("GET /todo/api/v1/tasks HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {unknown}\r\n\r\n");
    for _ in 0..CLIENTS {
        let mut stream = connect(running.address);
        stream.write_all(asking.as_bytes()).unwrap();
        // The request for the figures is under way itself.
        wait_until(|| issuer.asked() >= 2 && requests_under_way(&running) == 2);
        // Time enough to ask once more.
        std::thread::sleep(Duration::from_millis(100));
        drop(stream);
        wait_until(|| requests_under_way(&running) == 1);
    }
    assert_eq!(issuer.asked(), 2);
    assert_eq!(asks(&running, &key.sign(&claims())).0, 200);
}

fn wait_until(is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn requests_under_way(running: &Running) -> usize {
    let figures = send(running.address, "GET", "/metrics", &[], b"").text();
    let mut figures = figures.lines();
    let figure = figures.find_map(|line| line.strip_prefix("singlet_requests_in_flight"));
    figure.unwrap().trim().parse().unwrap()
}

#[test]
fn keys_are_fetched_on_a_schedule_too() {
    let issuer = Issuer::start();
    let key = RsaKey::numbered(1, "one");
    issuer.publishes(&[key.published()]);
    let running = issuer.serve(JwksTiming {
        pause_min: Duration::ZERO,
        refresh_every: Duration::from_millis(50),
        ..JwksTiming::default()
    });
    assert_eq!(asks(&running, &key.sign(&claims())).0, 200);
    issuer.publishes(&[published_es256("other")]);
    let started = Instant::now();
    while asks(&running, &key.sign(&claims())).0 == 200 {
        assert!(
            started.elapsed() < Duration::from_secs(20),
            "the key that was withdrawn is still taken"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[tokio::test]
async fn an_address_that_cannot_be_trusted_or_has_no_keys_is_refused_at_the_start() {
    let start = async |address: &str| {
        let timing = JwksTiming {
            fetch_time_max: Duration::from_millis(300),
            ..JwksTiming::default()
        };
        FetchedKeys::start(address, timing, KeyRoute::default())
            .await
            .err()
            .map(|error| error.to_string())
            .unwrap_or_else(|| panic!("`{address}` was taken"))
    };
    assert!(start("http://login.example/keys").await.contains("`https://`"));
    assert!(start("ftp://127.0.0.1/keys").await.contains("`https://`"));
    let issuer = Issuer::start();
    issuer.says("404 Not Found", "");
    assert_eq!(start(&issuer.address).await, "the answer is 404 Not Found");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", silent.local_addr().unwrap());
    assert_eq!(start(&address).await, "there was no answer in time");
    drop(silent);
    assert!(start(&address).await.starts_with("no connection"));
}

const AUTHORITY: &[u8] = include_bytes!("tls/authority.pem");
const STRANGER: &[u8] = include_bytes!("tls/certificate.pem");

/// Who publishes a key by TLS, under a certificate and its private key.
fn encrypted(certificates: &[u8], key: &[u8]) -> String {
    let files = TlsFiles {
        certificates: certificates.to_vec(),
        key: key.to_vec(),
    };
    let (ready, port) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(async move {
            let server = Server::bind("127.0.0.1:0", Some(&files)).await.unwrap();
            ready.send(server.bound_address().unwrap().port()).unwrap();
            let keys = json!({"keys": [published_es256("one")]}).to_string();
            let router = Router::new().route("/keys", get(move || async move { keys }));
            let never = std::future::pending();
            server.serve(router, Limits::default(), never, || {}, async {}).await
        })
    });
    format!("https://localhost:{}/keys", port.recv().unwrap())
}

fn issuer() -> String {
    encrypted(include_bytes!("tls/issuer.pem"), include_bytes!("tls/issuer-key.pem"))
}

#[test]
fn keys_come_by_tls_from_whom_an_authority_vouches_for() {
    let running = start(Options {
        jwks_address: Some((issuer(), JwksTiming::default())),
        jwks_authorities: Some(AUTHORITY.to_vec()),
        only: Some(&["todo"]),
        ..Options::default()
    });
    assert_eq!(asks(&running, &sign_es256(&claims(), "one")).0, 200);
    assert_eq!(asks(&running, &RsaKey::numbered(1, "one").sign(&claims())), refused());
}

#[tokio::test]
async fn keys_of_whom_nobody_vouches_for_are_not_taken() {
    let refused = async |address: &str, authorities: Option<&[u8]>| {
        let route = KeyRoute::default().vouched_by(authorities.map(<[u8]>::to_vec));
        let started = FetchedKeys::start(address, JwksTiming::default(), route).await;
        started
            .err()
            .map(|error| error.to_string())
            .unwrap_or_else(|| panic!("`{address}` was taken"))
    };
    let issuer = issuer();
    // Another authority, the machine's own, and none that can be read.
    assert!(refused(&issuer, Some(STRANGER)).await.starts_with("no TLS"));
    let own = refused(&issuer, None).await;
    assert!(
        own.starts_with("no TLS") || own.contains("no certificates to trust"),
        "{own}"
    );
    let nothing = refused(&issuer, Some(b"")).await;
    assert_eq!(nothing, "the file of authorities has no certificate");
    // The right authority, for another name.
    let elsewhere = encrypted(
        include_bytes!("tls/elsewhere.pem"),
        include_bytes!("tls/elsewhere-key.pem"),
    );
    assert!(refused(&elsewhere, Some(AUTHORITY)).await.starts_with("no TLS"));
    // Who speaks no TLS where it is expected.
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("https://localhost:{}/keys", plain.local_addr().unwrap().port());
    std::thread::spawn(move || plain.accept().unwrap().0.write_all(b"HTTP/1.1 400 What?\r\n\r\n"));
    assert!(refused(&address, Some(AUTHORITY)).await.starts_with("no TLS"));
}
