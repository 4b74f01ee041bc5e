//! One request over a socket of its own.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value as Json;

use crate::error::ScenarioError;

/// How long an answer may take.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(60);

/// The longest answer that is read, in bytes.
const ANSWER_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// A request.
#[derive(Clone, Debug)]
pub struct ClientRequest {
    pub method: String,
    /// The path with its query.
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<String>,
}

/// What came back.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The body, where it is JSON.
    pub fn json(&self) -> Option<Json> {
        serde_json::from_str(&self.body).ok()
    }

    /// The type of the problem: `urn:problem-type:todo:task_not_found`.
    pub(crate) fn problem_type(&self) -> Option<String> {
        self.header("content-type")
            .filter(|media| *media == "application/problem+json")?;
        Some(self.json()?.get("type")?.as_str()?.to_owned())
    }

    /// The name of the problem.
    pub fn problem(&self) -> Option<String> {
        let of = self.problem_type()?;
        of.rsplit(':').next().map(str::to_owned)
    }
}

/// Sends a request and reads its answer. It blocks.
pub fn send_request(to: SocketAddr, call: &ClientRequest) -> Result<Reply, ScenarioError> {
    let mut text = format!(
        "{} {} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n",
        call.method, call.target
    );
    for (name, value) in &call.headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if let Some(body) = &call.body {
        text.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    text.push_str("\r\n");
    let mut stream = TcpStream::connect(to)?;
    stream.set_read_timeout(Some(ANSWER_TIME_MAX))?;
    stream.write_all(text.as_bytes())?;
    // A service that has answered before it read all may close early; then its answer counts.
    let _ = stream.write_all(call.body.as_deref().unwrap_or_default().as_bytes());
    let mut answer = Vec::new();
    let read = stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer);
    parse(&answer).ok_or_else(|| match read {
        Err(error) => ScenarioError::Unreachable(error),
        Ok(_) => ScenarioError::NoAnswer,
    })
}

fn parse(bytes: &[u8]) -> Option<Reply> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(bytes.get(..end)?).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        .collect();
    let mut reply = Reply {
        status,
        headers,
        body: String::new(),
    };
    let body = bytes.get(end + 4..)?;
    let body = match reply.header("transfer-encoding") {
        Some("chunked") => unchunked(body)?,
        _ => body.to_vec(),
    };
    reply.body = String::from_utf8_lossy(&body).into_owned();
    Some(reply)
}

fn unchunked(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let end = bytes.windows(2).position(|window| window == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(bytes.get(..end)?).ok()?, 16).ok()?;
        bytes = bytes.get(end + 2..)?;
        if size == 0 {
            return Some(whole);
        }
        whole.extend_from_slice(bytes.get(..size)?);
        bytes = bytes.get(size + 2..)?;
    }
}
