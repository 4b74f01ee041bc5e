//! The closed loop: some connections, each of which sends its next request when the last is answered.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::operations::Case;
use crate::error::Outcome;

/// What a turn saw.
#[derive(Debug, Default)]
pub struct Turn {
    /// How long each answer took.
    pub times: Vec<Duration>,
    /// How many answers were not 2xx.
    pub errors: u64,
    /// How many answers came in a second.
    pub rate: f64,
}

/// A connection that is kept open.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
}

/// An answer.
#[derive(Debug)]
pub struct Answer<'a> {
    /// Its status.
    pub status: u16,
    /// Its body as it came.
    body: &'a [u8],
    end: End,
}

/// How the end of a body is told.
#[derive(Clone, Copy, Debug)]
enum End {
    Length(usize),
    /// By a chunk without bytes. JSON has no line ends but between chunks.
    Chunk,
}

impl Answer<'_> {
    /// Its body, whole.
    pub fn text(&self) -> Vec<u8> {
        let mut text = Vec::with_capacity(self.body.len());
        match self.end {
            End::Length(_) => text.extend_from_slice(self.body),
            End::Chunk => {
                let lines = self.body.split(|byte| *byte == b'\n').skip(1).step_by(2);
                lines.for_each(|line| text.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line)));
            }
        }
        text
    }
}

/// How long a loop goes on.
#[derive(Clone, Copy, Debug)]
pub enum Length {
    /// For some time.
    Time(Duration),
    /// For so many requests, over all connections.
    Requests(usize),
}

/// Sends the requests of a case in turn over some connections.
pub async fn turn(address: SocketAddr, case: &Arc<Case>, connections: usize, length: Length) -> Outcome<Turn> {
    let mut open = Vec::new();
    for _ in 0..connections {
        open.push(Connection::open(address).await?);
    }
    let started = Instant::now();
    let loops: Vec<_> = open
        .into_iter()
        .enumerate()
        .map(|(at, connection)| {
            let case = Arc::clone(case);
            // Connections begin apart, so that they do not all ask for the same.
            let first = at * case.requests.len() / connections;
            let goes_on = move |done: usize| match length {
                Length::Time(time) => started.elapsed() < time,
                Length::Requests(requests) => done < requests / connections,
            };
            tokio::spawn(async move { connection.repeat(&case, first, goes_on).await })
        })
        .collect();
    let mut all = Turn::default();
    for task in loops {
        let (times, errors) = task.await??;
        all.times.extend(times);
        all.errors += errors;
    }
    all.rate = all.times.len() as f64 / started.elapsed().as_secs_f64();
    Ok(all)
}

impl Connection {
    /// Connects.
    pub async fn open(address: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Connection {
            stream,
            received: Vec::with_capacity(64 * 1024),
        })
    }

    async fn repeat(
        mut self,
        case: &Case,
        first: usize,
        goes_on: impl Fn(usize) -> bool,
    ) -> std::io::Result<(Vec<Duration>, u64)> {
        let (mut times, mut errors) = (Vec::new(), 0);
        let mut requests = case.requests.iter().cycle().skip(first);
        while let Some(request) = requests.next().filter(|_| goes_on(times.len())) {
            let sent = Instant::now();
            let answer = self.send(request).await?;
            errors += u64::from(!(200..300).contains(&answer.status));
            times.push(sent.elapsed());
        }
        Ok((times, errors))
    }

    /// Sends a request, and waits for its answer.
    pub async fn send(&mut self, request: &[u8]) -> std::io::Result<Answer<'_>> {
        self.stream.write_all(request).await?;
        self.received.clear();
        loop {
            if self.stream.read_buf(&mut self.received).await? == 0 {
                return Err(std::io::Error::other("the connection was closed"));
            }
            let Some((status, body_at, end)) = head(&self.received) else {
                continue;
            };
            let is_whole = match end {
                End::Length(length) => self.received.len() >= body_at + length,
                End::Chunk => self.received.ends_with(b"\r\n0\r\n\r\n"),
            };
            if is_whole {
                let body = self.received.get(body_at..).unwrap_or_default();
                return Ok(Answer { status, body, end });
            }
        }
    }
}

/// The status, where the body begins and how it ends, once the head is there.
fn head(received: &[u8]) -> Option<(u16, usize, End)> {
    let end = received.windows(4).position(|window| window == b"\r\n\r\n")?;
    let text = std::str::from_utf8(received.get(..end)?).ok()?;
    let mut lines = text.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let body_end = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        match name.to_ascii_lowercase().as_str() {
            "content-length" => Some(End::Length(value.trim().parse().ok()?)),
            "transfer-encoding" => Some(End::Chunk),
            _ => None,
        }
    });
    Some((status, end + 4, body_end?))
}
