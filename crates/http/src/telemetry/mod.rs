//! What is told to a collector: a span for each request, and the figures of `/metrics`, by OTLP over HTTP.
//!
//! A request never waits for a collector: its span is put into a queue, and is dropped and counted where the queue is full. Without a collector
//! nothing is noted at all.

mod export;
mod figures;
mod wire;

pub use export::{TelemetryError, TelemetryRoute, export_telemetry};

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;

/// How many spans wait to be told; what comes beyond is dropped.
const SPANS_WAITING_MAX: usize = 4_096;

/// A request that was answered.
#[derive(Clone, Debug)]
pub(crate) struct RequestSpan {
    pub(crate) trace: u128,
    pub(crate) span: u64,
    /// The span of who asked.
    pub(crate) parent: Option<u64>,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) system: Option<String>,
    pub(crate) operation: Option<String>,
    pub(crate) status: u16,
    pub(crate) problem: Option<String>,
    pub(crate) request_id: String,
    pub(crate) read_halves: u64,
    pub(crate) write_units: u64,
    pub(crate) began_nanos: u64,
    pub(crate) ended_nanos: u64,
}

/// Where the spans of requests go.
#[derive(Clone, Debug)]
pub struct SpanSink {
    sender: mpsc::Sender<RequestSpan>,
    dropped: Arc<AtomicU64>,
}

/// Where they come from, for who tells them.
#[derive(Debug)]
pub struct SpanSource {
    receiver: mpsc::Receiver<RequestSpan>,
    dropped: Arc<AtomicU64>,
}

/// A queue of spans.
pub fn span_queue() -> (SpanSink, SpanSource) {
    let (sender, receiver) = mpsc::channel(SPANS_WAITING_MAX);
    let dropped = Arc::new(AtomicU64::new(0));
    let source = SpanSource {
        receiver,
        dropped: Arc::clone(&dropped),
    };
    (SpanSink { sender, dropped }, source)
}

impl SpanSink {
    /// Notes a span, unless too many wait.
    pub(crate) fn note_span(&self, span: RequestSpan) {
        if self.sender.try_send(span).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}
