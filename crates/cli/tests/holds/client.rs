//! A client that keeps its connection, and says what came back in which time.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How long an answer may take before the client calls it lost.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(60);

/// What came back.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
    closes: bool,
}

pub struct Client {
    address: SocketAddr,
    stream: Option<TcpStream>,
    received: Vec<u8>,
}

/// A request as bytes.
pub fn request(method: &str, path: &str, headers: &[&str], body: &[u8]) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: x\r\n");
    for header in headers {
        text.push_str(header);
        text.push_str("\r\n");
    }
    if !body.is_empty() {
        text.push_str(&format!(
            "content-type: application/json\r\ncontent-length: {}\r\n",
            body.len()
        ));
    }
    text.push_str("\r\n");
    [text.as_bytes(), body].concat()
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        Client {
            address,
            stream: None,
            received: Vec::new(),
        }
    }

    /// Connects, unless it is connected.
    pub async fn connect(&mut self) -> std::io::Result<&mut TcpStream> {
        if self.stream.is_none() {
            self.received.clear();
            let stream = TcpStream::connect(self.address).await?;
            stream.set_nodelay(true)?;
            self.stream = Some(stream);
        }
        self.stream
            .as_mut()
            .ok_or_else(|| std::io::Error::other("not connected"))
    }

    /// Sends a request and waits for its answer.
    pub async fn send(&mut self, request: &[u8]) -> std::io::Result<Answer> {
        self.connect().await?;
        let answer = match &mut self.stream {
            Some(stream) => exchange(stream, &mut self.received, request).await,
            None => Err(std::io::Error::other("not connected")),
        };
        if answer.as_ref().map_or(true, |answer| answer.closes) {
            self.stream = None;
        }
        answer
    }

    /// The next answer of requests that were sent before.
    pub async fn next_answer(&mut self) -> std::io::Result<Answer> {
        self.connect().await?;
        let Some(stream) = &mut self.stream else {
            return Err(std::io::Error::other("not connected"));
        };
        let reading = read_answer(stream, &mut self.received);
        let answer = tokio::time::timeout(ANSWER_TIME_MAX, reading).await;
        answer.unwrap_or_else(|_| Err(std::io::Error::other("no answer in a minute")))
    }

    /// [`Client::send`] with the time that it took, the connection included.
    pub async fn timed(&mut self, request: &[u8]) -> (std::io::Result<Answer>, Duration) {
        let began = Instant::now();
        let answer = self.send(request).await;
        (answer, began.elapsed())
    }
}

/// A service that refuses a body may answer before all of it is sent: both go on side by side.
async fn exchange(stream: &mut TcpStream, received: &mut Vec<u8>, request: &[u8]) -> std::io::Result<Answer> {
    let (mut reading, mut writing) = stream.split();
    let both = async {
        let mut answering = std::pin::pin!(read_answer(&mut reading, received));
        let mut sending = std::pin::pin!(writing.write_all(request));
        let mut is_sent = false;
        let mut answer = loop {
            tokio::select! {
                answer = &mut answering => break answer?,
                _ = &mut sending, if !is_sent => is_sent = true,
            }
        };
        // What is answered early is still sent to its end, or the next request would begin amid it.
        if !is_sent && sending.await.is_err() {
            answer.closes = true;
        }
        Ok(answer)
    };
    let answer = tokio::time::timeout(ANSWER_TIME_MAX, both).await;
    answer.unwrap_or_else(|_| Err(std::io::Error::other("no answer in a minute")))
}

async fn read_answer<R>(stream: &mut R, received: &mut Vec<u8>) -> std::io::Result<Answer>
where
    R: tokio::io::AsyncRead + Unpin,
{
    loop {
        if let Some((answer, length)) = parse(received) {
            received.drain(..length);
            return Ok(answer);
        }
        if stream.read_buf(received).await? == 0 {
            return Err(std::io::Error::other("the connection was closed"));
        }
    }
}

/// The first answer, and how many bytes it has.
fn parse(bytes: &[u8]) -> Option<(Answer, usize)> {
    let head_end = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..head_end]).to_ascii_lowercase();
    let status: u16 = head.split(' ').nth(1)?.parse().ok()?;
    let value = |name: &str| {
        let line = head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map(|value| value.trim().to_owned())
    };
    let (body, end) = match (value("transfer-encoding").as_deref(), value("content-length")) {
        (Some("chunked"), _) => unchunked(bytes, head_end)?,
        (_, Some(length)) => {
            let end = head_end + length.parse::<usize>().ok()?;
            (bytes.get(head_end..end)?.to_vec(), end)
        }
        _ => (Vec::new(), head_end),
    };
    let closes = value("connection").as_deref() == Some("close");
    Some((Answer { status, body, closes }, end))
}

fn unchunked(bytes: &[u8], mut at: usize) -> Option<(Vec<u8>, usize)> {
    let mut whole = Vec::new();
    loop {
        let line = bytes.get(at..)?.windows(2).position(|window| window == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[at..at + line]).ok()?, 16).ok()?;
        at += line + 2;
        whole.extend_from_slice(bytes.get(at..at + size)?);
        at += size + 2;
        bytes.get(..at)?;
        if size == 0 {
            return Some((whole, at));
        }
    }
}
