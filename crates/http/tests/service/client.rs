//! A client that sends exactly the bytes it is given.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value as Json;

/// What came back.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Json {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The name of the problem.
    pub fn problem(&self) -> String {
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json"),
            "{}",
            self.text()
        );
        let problem = self.json();
        assert_eq!(problem["status"], self.status);
        assert!(problem["request_id"].as_str() == self.header("x-request-id"));
        let uri = problem["type"].as_str().unwrap().to_owned();
        uri.rsplit(':').next().unwrap().to_owned()
    }
}

/// A request with headers and a body.
pub fn send(to: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() {
        text.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    text.push_str("\r\n");
    let mut stream = connect(to);
    // A server that has answered before it read all may close early.
    let _ = stream.write_all(&[text.as_bytes(), body].concat());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let whole = if method == "HEAD" {
        parse_head(&answer)
    } else {
        parse(&answer)
    };
    whole.unwrap_or_else(|| panic!("no answer: {}", String::from_utf8_lossy(&answer)))
}

/// Bytes as they are.
pub fn raw(to: SocketAddr, bytes: &[u8]) -> Reply {
    let mut stream = connect(to);
    // A server that has answered before it read all may close early.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    parse(&answer).unwrap_or_else(|| panic!("no answer: {}", String::from_utf8_lossy(&answer)))
}

pub fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

/// One answer of a connection that stays open.
pub fn next_answer(stream: &mut TcpStream) -> Reply {
    let mut bytes = Vec::new();
    loop {
        if let Some(reply) = parse(&bytes) {
            return reply;
        }
        let mut some = [0; 65536];
        let read = stream.read(&mut some).unwrap();
        assert!(read > 0, "no answer: {}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&some[..read]);
    }
}

/// Status and headers.
fn parse_head(bytes: &[u8]) -> Option<Reply> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        .collect();
    Some(Reply {
        status,
        headers,
        body: bytes[end + 4..].to_vec(),
    })
}

/// A whole answer, if it is one.
pub fn parse(bytes: &[u8]) -> Option<Reply> {
    let mut reply = parse_head(bytes)?;
    if reply.header("transfer-encoding") == Some("chunked") {
        reply.body = unchunked(&reply.body)?;
    }
    let length: Option<usize> = reply.header("content-length").and_then(|text| text.parse().ok());
    match length {
        Some(length) if reply.body.len() < length => None,
        _ => Some(reply),
    }
}

fn unchunked(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let end = bytes.windows(2).position(|window| window == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).ok()?, 16).ok()?;
        bytes = &bytes[end + 2..];
        if size == 0 {
            return Some(whole);
        }
        whole.extend_from_slice(bytes.get(..size)?);
        bytes = bytes.get(size + 2..)?;
    }
}
