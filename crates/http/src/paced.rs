//! A stream whose peer has to read: what it does not take within a time breaks the connection off.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// A stream with a bound for how long its peer may keep an answer waiting.
///
/// The time runs from the first write that the peer does not take until everything written has been taken: a peer that
/// takes a byte now and then wins nothing by it.
pub(crate) struct Paced<S> {
    stream: S,
    time_max: Duration,
    until: Option<Pin<Box<Sleep>>>,
}

impl<S> Paced<S> {
    pub(crate) fn new(stream: S, time_max: Duration) -> Self {
        Paced {
            stream,
            time_max,
            until: None,
        }
    }

    /// What a write came to, or that the peer has had its time.
    fn held<T>(&mut self, polled: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            return polled;
        }
        let until = Instant::now() + self.time_max;
        let sleep = self
            .until
            // Not renewed by each byte that is taken: a peer that reads one at a time would never be too slow.
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        match sleep.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the peer does not take its answer",
            ))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.held(polled, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.held(polled, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Only after everything was written is a stream flushed, so nothing waits for the peer any more.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        // All was taken, so that the next answer has its own time.
        if polled.is_ready() {
            self.until = None;
        }
        self.held(polled, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.held(polled, context)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]

    use super::*;
    use std::future::poll_fn;
    use std::io::Read;
    use std::net::TcpStream;
    use tokio::net::TcpListener;

    /// Writes and flushes more than sockets hold.
    async fn write_much<S: AsyncWrite + Unpin>(stream: &mut S) -> io::Result<()> {
        let bytes = vec![7; 16 * 1024 * 1024];
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let taken = poll_fn(|context| Pin::new(&mut *stream).poll_write(context, rest)).await?;
            rest = rest.get(taken..).unwrap_or_default();
        }
        poll_fn(|context| Pin::new(&mut *stream).poll_flush(context)).await
    }

    async fn connected(time_max: Duration) -> (Paced<tokio::net::TcpStream>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let theirs = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (ours, _) = listener.accept().await.unwrap();
        (Paced::new(ours, time_max), theirs)
    }

    #[tokio::test]
    async fn a_peer_that_takes_a_byte_now_and_then_is_cut() {
        let (mut paced, mut theirs) = connected(Duration::from_millis(300)).await;
        let reading = std::thread::spawn(move || {
            while theirs.read(&mut [0; 1]).is_ok_and(|bytes| bytes == 1) {
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        let began = Instant::now();
        let failed = write_much(&mut paced).await.unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::TimedOut);
        assert!(began.elapsed() >= Duration::from_millis(300));
        // What the system holds for the peer is not waited for.
        drop((paced, reading));
    }

    #[tokio::test]
    async fn a_peer_that_takes_everything_in_time_has_its_whole_time_again() {
        let (mut paced, mut theirs) = connected(Duration::from_secs(20)).await;
        let reading = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            let mut all = Vec::new();
            theirs.read_to_end(&mut all).map(|_| all.len()).unwrap()
        });
        for _ in 0..2 {
            write_much(&mut paced).await.unwrap();
            assert!(paced.until.is_none());
        }
        drop(paced);
        assert_eq!(reading.join().unwrap(), 32 * 1024 * 1024);
    }
}
