//! Webhooks over real sockets: what is sent, and what receivers that are slow, huge, gone or somebody else come to.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use axum::Router;
use axum::routing::post;
use singlet_changes::{PostWebhook, Posted, WebhookPost};
use singlet_http::webhooks::{Reach, WebhookClient, WebhookSecrets};
use singlet_http::{Limits, Server, TlsFiles};

const SECRETS: [&str; 2] = [
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX",
];
const BODY: &str = r#"{"type":"paid","timestamp":"2026-11-17T09:30:00Z","data":{"order":"é"}}"#;
const AUTHORITY: &[u8] = include_bytes!("tls/authority.pem");

/// Longer than anything here takes, where time is not what is tested.
const LONG: Duration = Duration::from_secs(60);

fn client(reach: Reach, authorities: Option<&[u8]>) -> WebhookClient {
    let secrets = WebhookSecrets::new(&SECRETS).unwrap();
    let secrets = BTreeMap::from([("paid".to_owned(), secrets)]);
    WebhookClient::new(secrets, reach, authorities)
        .unwrap()
        .with_time_max(LONG)
}

async fn send(client: &WebhookClient, address: &str) -> Posted {
    let post = WebhookPost {
        webhook: "paid",
        address,
        id: "msg_0",
        at_seconds: 1_794_907_800,
        body: BODY,
    };
    client.post(&post).await
}

fn reason(posted: Posted) -> String {
    match posted {
        Posted::Failed { reason, .. } => reason,
        other => panic!("{other:?}"),
    }
}

/// A receiver that reads one request and does something with the connection; what it read.
fn receiver(answer: impl Fn(&mut TcpStream) + Send + 'static) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/hook?a=1", listener.local_addr().unwrap());
    let (read, came) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (mut text, mut part) = (String::new(), [0; 4096]);
            while !text.ends_with(BODY) {
                match stream.read(&mut part) {
                    Ok(0) | Err(_) => break,
                    Ok(length) => text.push_str(&String::from_utf8_lossy(&part[..length])),
                }
            }
            let _ = read.send(text);
            answer(&mut stream);
        }
    });
    (address, came)
}

fn saying(answer: &'static str) -> (String, Receiver<String>) {
    receiver(move |stream| {
        let _ = stream.write_all(answer.as_bytes());
    })
}

#[tokio::test]
async fn a_request_has_the_headers_of_the_standard_and_the_body_as_it_was_signed() {
    let (address, came) = saying("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n");
    assert_eq!(send(&client(Reach::Anywhere, None), &address).await, Posted::Taken);
    let came = came.recv().unwrap();
    let (head, body) = came.split_once("\r\n\r\n").unwrap();
    assert_eq!(body, BODY);
    assert!(head.starts_with("POST /hook?a=1 HTTP/1.1\r\n"), "{head}");
    let header = |name: &str| {
        let named = head.lines().filter_map(|line| line.split_once(": "));
        let mut named = named.filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let found = named
            .next()
            .unwrap_or_else(|| panic!("no {name} in {head}"))
            .1
            .to_owned();
        assert!(named.next().is_none(), "{name} twice");
        found
    };
    assert_eq!(header("webhook-id"), "msg_0");
    assert_eq!(header("webhook-timestamp"), "1794907800");
    assert_eq!(header("content-type"), "application/json");
    assert_eq!(header("content-length"), BODY.len().to_string());
    assert_eq!(format!("http://{}/hook?a=1", header("host")), address);
    // By python's hmac of `msg_0.1794907800.` and the body.
    assert_eq!(header("webhook-signature"), SIGNATURES);
}

const SIGNATURES: &str =
    "v1,X4Ul8Vpo+vwpG7vtzdEBxkwcLbf+u3YwVxHjrna/vMk= v1,bBXhusNvSmcIb0wrzPA4p+C0o1aJtsdaB9+RPRBMoOE=";

#[tokio::test]
async fn only_2xx_is_success_and_410_is_the_end() {
    let client = client(Reach::Anywhere, None);
    for (answer, expected) in [
        ("HTTP/1.1 200 OK\r\n\r\n", Posted::Taken),
        ("HTTP/1.1 204 No Content\r\n\r\n", Posted::Taken),
        ("HTTP/1.1 299 Fine\r\n\r\n", Posted::Taken),
        ("HTTP/1.1 410 Gone\r\nretry-after: 5\r\n\r\n", Posted::Gone),
    ] {
        assert_eq!(send(&client, &saying(answer).0).await, expected, "{answer}");
    }
    for (answer, said, asked) in [
        ("HTTP/1.1 500 Oh\r\n\r\n", "the answer is 500", None),
        ("HTTP/1.1 404 No\r\n\r\n", "the answer is 404", None),
        ("HTTP/1.1 300 Choose\r\n\r\n", "redirects are not followed", None),
        (
            "HTTP/1.1 503 Busy\r\nretry-after: 120\r\n\r\n",
            "the answer is 503",
            Some("120"),
        ),
        (
            "HTTP/1.1 429 Slow\r\nretry-after: Tue, 17 Nov 2026 10:00:00 GMT\r\n\r\n",
            "429",
            Some("Tue, 17 Nov 2026 10:00:00 GMT"),
        ),
    ] {
        let Posted::Failed { reason, retry_after } = send(&client, &saying(answer).0).await else {
            panic!("{answer}");
        };
        assert!(reason.contains(said), "{reason}");
        assert_eq!(retry_after.as_deref(), asked);
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let (other, came) = saying("HTTP/1.1 200 OK\r\n\r\n");
    let answer = format!("HTTP/1.1 307 Elsewhere\r\nlocation: {other}\r\n\r\n");
    let (address, _) = receiver(move |stream| {
        let _ = stream.write_all(answer.as_bytes());
    });
    let said = reason(send(&client(Reach::Anywhere, None), &address).await);
    assert!(said.contains("307") && said.contains("not followed"), "{said}");
    assert!(came.try_recv().is_err());
}

#[tokio::test]
async fn hostile_receivers_end_within_their_bounds() {
    let client = client(Reach::Anywhere, None);
    let (closes, _) = receiver(|_| {});
    assert!(reason(send(&client, &closes).await).starts_with("the answer broke off"));
    let (nonsense, _) = saying("SSH-2.0-OpenSSH_9.6\r\n");
    assert!(reason(send(&client, &nonsense).await).starts_with("the answer broke off"));
    // An endless body: the status is there, and the rest is nobody's business.
    let (endless, _) = receiver(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
        while stream.write_all(b"400\r\n").is_ok() && stream.write_all(&[b'x'; 1_026]).is_ok() {}
    });
    assert_eq!(send(&client, &endless).await, Posted::Taken);
    let (long_head, _) = receiver(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        while stream.write_all(b"x-more: and more\r\n").is_ok() {}
    });
    assert!(reason(send(&client, &long_head).await).starts_with("the answer broke off"));
    // It says nothing, or a byte now and then.
    let impatient = self::client(Reach::Anywhere, None).with_time_max(Duration::from_millis(300));
    let (silent, _) = receiver(|stream| {
        let _ = stream.read(&mut [0]);
    });
    assert_eq!(reason(send(&impatient, &silent).await), "there was no answer in time");
    let (drips, _) = receiver(|stream| {
        while stream.write_all(b"H").is_ok() {
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let said = reason(send(&impatient, &drips).await);
    assert!(
        said == "there was no answer in time" || said.starts_with("the answer broke off"),
        "{said}"
    );
    // Nobody is there.
    let gone = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", gone.local_addr().unwrap());
    drop(gone);
    assert!(reason(send(&client, &address).await).starts_with("no connection"));
}

#[tokio::test]
async fn this_machine_and_private_networks_are_not_called_by_number_or_by_name() {
    let (address, came) = saying("HTTP/1.1 200 OK\r\n\r\n");
    let port = address.split(':').nth(2).unwrap().split('/').next().unwrap().to_owned();
    let client = client(Reach::Public, None);
    for host in [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0.0.0.0",
        "169.254.169.254",
        "10.0.0.1",
    ] {
        let said = reason(send(&client, &format!("https://{host}:{port}/")).await);
        assert!(
            said == "webhooks are not sent to this machine or a private network"
                || said.starts_with("the name is not known"),
            "{host}: {said}"
        );
    }
    assert_eq!(reason(send(&client, &address).await), "webhooks are sent by `https://`");
    assert!(came.try_recv().is_err());
}

#[tokio::test]
async fn what_has_no_secret_is_not_sent() {
    let (address, came) = saying("HTTP/1.1 200 OK\r\n\r\n");
    let client = WebhookClient::new(BTreeMap::new(), Reach::Anywhere, None).unwrap();
    assert_eq!(reason(send(&client, &address).await), "there is no secret to sign with");
    assert!(came.try_recv().is_err());
}

/// A receiver by TLS, under a certificate and its private key.
fn encrypted(certificates: &[u8], key: &[u8]) -> u16 {
    let files = TlsFiles {
        certificates: certificates.to_vec(),
        key: key.to_vec(),
    };
    let (ready, port) = channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(async move {
            let server = Server::bind("127.0.0.1:0", Some(&files)).await.unwrap();
            ready.send(server.bound_address().unwrap().port()).unwrap();
            let router = Router::new().route("/hook", post(|| async {}));
            let never = std::future::pending();
            server.serve(router, Limits::default(), never, || {}, async {}).await
        })
    });
    port.recv().unwrap()
}

#[tokio::test]
async fn by_tls_the_receiver_is_who_an_authority_says() {
    let port = encrypted(include_bytes!("tls/issuer.pem"), include_bytes!("tls/issuer-key.pem"));
    let trusting = client(Reach::Anywhere, Some(AUTHORITY));
    assert_eq!(
        send(&trusting, &format!("https://localhost:{port}/hook")).await,
        Posted::Taken
    );
    // Another name, the machine's own authorities, a certificate for elsewhere, and no TLS at all.
    let other_name = send(&trusting, &format!("https://127.0.0.1:{port}/hook")).await;
    assert!(reason(other_name).starts_with("no TLS"));
    let strangers = client(Reach::Anywhere, None);
    let unknown = send(&strangers, &format!("https://localhost:{port}/hook")).await;
    assert!(reason(unknown).starts_with("no TLS"));
    let elsewhere = encrypted(
        include_bytes!("tls/elsewhere.pem"),
        include_bytes!("tls/elsewhere-key.pem"),
    );
    let elsewhere = send(&trusting, &format!("https://localhost:{elsewhere}/hook")).await;
    assert!(reason(elsewhere).starts_with("no TLS"));
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("https://localhost:{}/hook", plain.local_addr().unwrap().port());
    std::thread::spawn(move || plain.accept().unwrap().0.write_all(b"HTTP/1.1 200 OK\r\n\r\n"));
    assert!(reason(send(&trusting, &address).await).starts_with("no TLS"));
}
