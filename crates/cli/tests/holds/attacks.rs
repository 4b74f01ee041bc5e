//! Clients that mean harm, or are broken. Each says how many requests it made and what came back.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{Client, request};
use crate::figures::Seen;

/// Bytes that a refusal has at most.
const REFUSAL_BYTES_MAX: usize = 64 * 1024;

/// How long one step of a slow client takes.
const STEP: Duration = Duration::from_millis(100);

/// Whom to attack, and as whom.
#[derive(Clone, Debug)]
pub struct Target {
    pub address: SocketAddr,
    pub credentials: String,
}

impl Target {
    fn get(&self) -> Vec<u8> {
        request("GET", "/todo/api/v1/tasks?limit=1", &[&self.credentials], b"")
    }

    fn create(&self, body: &[u8]) -> Vec<u8> {
        request("POST", "/todo/api/v1/tasks", &[&self.credentials], body)
    }

    /// A head that announces so many bytes.
    fn announced(&self, bytes: usize) -> String {
        format!(
            "POST /todo/api/v1/tasks HTTP/1.1\r\nhost: x\r\n{}\r\ncontent-type: application/json\r\ncontent-length: {bytes}\r\n\r\n",
            self.credentials
        )
    }

    async fn connect(&self) -> Option<TcpStream> {
        TcpStream::connect(self.address).await.ok()
    }
}

/// Connects and says nothing, until the service ends it.
pub async fn silent(target: &Target) {
    if let Some(mut stream) = target.connect().await {
        let _ = stream.read(&mut [0; 1]).await;
    }
}

/// A head or a body that comes a byte at a time, until the service has had enough.
pub async fn slow(target: &Target, is_body: bool) {
    let Some(mut stream) = target.connect().await else {
        return;
    };
    let head = match is_body {
        true => target.announced(1_000_000),
        false => "GET /todo/api/v1/tasks HTTP/1.1\r\nhost: x\r\nx-slow: ".to_owned(),
    };
    let (mut reading, mut writing) = stream.split();
    let sending = async {
        let mut sent = writing.write_all(head.as_bytes()).await;
        while sent.is_ok() {
            tokio::time::sleep(STEP).await;
            sent = writing.write_all(b"x").await;
        }
    };
    tokio::select! {
        () = sending => {}
        _ = async { let mut all = Vec::new(); reading.read_to_end(&mut all).await } => {}
    }
}

/// Asks much at once and never reads what it is answered, until the service ends it.
pub async fn deaf(target: &Target) {
    let Some(mut stream) = target.connect().await else {
        return;
    };
    let asking = request("GET", "/todo/openapi.json", &[], b"").repeat(500);
    // It ends when the service has gone, or has not read for long.
    let _ = tokio::time::timeout(Duration::from_secs(40), async {
        while stream.write_all(&asking).await.is_ok() {}
    })
    .await;
}

/// Ends its side after a request, or amid one.
pub async fn half_closed(target: &Target, seen: &mut Seen) {
    for request in [
        target.get(),
        target.get()[..30].to_vec(),
        target.announced(100).into_bytes(),
    ] {
        let Some(mut stream) = target.connect().await else {
            continue;
        };
        let _ = stream.write_all(&request).await;
        let _ = stream.shutdown().await;
        let mut answer = Vec::new();
        let _ = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut answer)).await;
        count_raw(&answer, seen);
    }
}

/// Leaves before it is answered.
pub async fn leaving(target: &Target, seen: &mut Seen) {
    for request in [
        target.create(br#"{"title": "left"}"#),
        target.announced(500).into_bytes(),
        target.get(),
    ] {
        if let Some(mut stream) = target.connect().await {
            let _ = stream.write_all(&request).await;
            seen.times.push(Duration::ZERO);
        }
    }
}

/// Many requests in one piece: as many answers, in their order.
pub async fn pipelined(target: &Target, seen: &mut Seen) {
    let mut client = Client::new(target.address);
    let several = [
        target.get(),
        target.create(br#"{"title": "one of several"}"#),
        request("GET", "/none", &[], b""),
    ];
    let all = several.concat().repeat(10);
    let Ok(stream) = client.connect().await else { return };
    if stream.write_all(&all).await.is_err() {
        return;
    }
    for at in 0..30 {
        let answer = client.next_answer().await;
        let expected = [200, 201, 404][at % 3];
        let status = answer.as_ref().map_or(0, |answer| answer.status);
        assert!(status == expected || status == 503, "{status} where {expected} was due");
        seen.take(&answer, Duration::ZERO);
    }
}

/// More than is taken: of a body, in chunks, of a head, of a path.
pub async fn oversize(target: &Target, seen: &mut Seen) {
    let credentials = &target.credentials;
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000)).repeat(20);
    let long = "a".repeat(100_000);
    let many: String = (0..500).map(|at| format!("x-{at}: y\r\n")).collect();
    let all = [
        format!("{}{}", target.announced(2_000_000), "x".repeat(100_000)),
        format!(
            "POST /todo/api/v1/tasks HTTP/1.1\r\nhost: x\r\n{credentials}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n{chunk}0\r\n\r\n"
        ),
        format!("GET /{long} HTTP/1.1\r\nhost: x\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nhost: x\r\nx-long: {long}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nhost: x\r\n{many}\r\n"),
        format!(
            "GET /todo/api/v1/tasks?{} HTTP/1.1\r\nhost: x\r\n{credentials}\r\n\r\n",
            "x=1&".repeat(5_000)
        ),
        "GET / HTTP/9.9\r\n\r\n\0\0".to_owned(),
    ];
    for text in all {
        let Some(mut stream) = target.connect().await else {
            continue;
        };
        let (mut reading, mut writing) = stream.split();
        let mut answer = Vec::new();
        let both = async {
            // A service that has answered before it read all may close early.
            let _ = writing.write_all(text.as_bytes()).await;
            let _ = writing.shutdown().await;
            let _ = reading.read_to_end(&mut answer).await;
        };
        let _ = tokio::time::timeout(Duration::from_secs(20), both).await;
        count_raw(&answer, seen);
    }
}

/// Bodies in which as much as possible is wrong: what is said of it is short.
pub async fn wrong(target: &Target, seen: &mut Seen) {
    let unknown: Vec<String> = (0..60_000).map(|at| format!("\"x{at}\":1")).collect();
    let bodies = [
        format!("{{{}}}", unknown.join(",")),
        format!("{{\"{}\":1,\"title\":7}}", "\\u0001".repeat(100_000)),
        "[".repeat(500_000),
        format!("{{\"title\": \"{}\"}}", "x".repeat(1_000_000)),
    ];
    let mut client = Client::new(target.address);
    for body in bodies {
        let answer = client.send(&target.create(body.as_bytes())).await;
        if let Ok(answer) = &answer {
            assert!(
                answer.body.len() <= REFUSAL_BYTES_MAX,
                "{} bytes of refusal",
                answer.body.len()
            );
            assert!([400, 413, 503].contains(&answer.status), "{}", answer.status);
        }
        seen.take(&answer, Duration::ZERO);
    }
}

/// Counts an answer that may have been cut off.
fn count_raw(answer: &[u8], seen: &mut Seen) {
    seen.times.push(Duration::ZERO);
    let status = answer.strip_prefix(b"HTTP/1.1 ").and_then(|rest| rest.get(..3));
    if let Some(status) = status.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok()) {
        *seen.statuses.entry(status).or_default() += 1;
    }
}
