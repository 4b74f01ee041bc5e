//! The messages of OTLP, as Protocol Buffers write them: the few fields that are told, by their numbers.

use super::RequestSpan;
use super::figures::{Figure, FigureKind, FigurePoint};

/// What every message of this process says of itself.
pub(super) type Attributes = Vec<(String, String)>;

/// A message that is being written.
#[derive(Default)]
struct Wire {
    bytes: Vec<u8>,
}

impl Wire {
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    fn tag(&mut self, field: u64, kind: u64) {
        self.varint(field << 3 | kind);
    }

    fn number(&mut self, field: u64, number: u64) {
        self.tag(field, 0);
        self.varint(number);
    }

    fn fixed(&mut self, field: u64, number: u64) {
        self.tag(field, 1);
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    fn double(&mut self, field: u64, number: f64) {
        self.fixed(field, number.to_bits());
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.tag(field, 2);
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    fn text(&mut self, field: u64, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    fn message(&mut self, field: u64, write: impl FnOnce(&mut Wire)) {
        let mut inner = Wire::default();
        write(&mut inner);
        self.bytes(field, &inner.bytes);
    }

    /// An attribute that is a text.
    fn attribute(&mut self, field: u64, key: &str, value: &str) {
        self.message(field, |pair| {
            pair.text(1, key);
            pair.message(2, |any| any.text(1, value));
        });
    }

    /// An attribute that is a whole number.
    fn whole_attribute(&mut self, field: u64, key: &str, value: u64) {
        self.message(field, |pair| {
            pair.text(1, key);
            pair.message(2, |any| any.number(3, value));
        });
    }

    /// An attribute that is a number.
    fn number_attribute(&mut self, field: u64, key: &str, value: f64) {
        self.message(field, |pair| {
            pair.text(1, key);
            pair.message(2, |any| any.double(4, value));
        });
    }

    fn resource(&mut self, resource: &Attributes) {
        self.message(1, |message| {
            for (key, value) in resource {
                message.attribute(1, key, value);
            }
        });
    }

    fn scope(&mut self) {
        self.message(1, |scope| {
            scope.text(1, "singlet");
            scope.text(2, env!("CARGO_PKG_VERSION"));
        });
    }
}

/// `ExportTraceServiceRequest`.
pub(super) fn spans_message(resource: &Attributes, spans: &[RequestSpan]) -> Vec<u8> {
    let mut wire = Wire::default();
    wire.message(1, |of_resource| {
        of_resource.resource(resource);
        of_resource.message(2, |of_scope| {
            of_scope.scope();
            for span in spans {
                of_scope.message(2, |message| write_span(message, span));
            }
        });
    });
    wire.bytes
}

/// `SPAN_KIND_SERVER`.
const KIND_SERVER: u64 = 2;
/// `STATUS_CODE_ERROR`.
const STATUS_ERROR: u64 = 2;

fn write_span(wire: &mut Wire, span: &RequestSpan) {
    wire.bytes(1, &span.trace.to_be_bytes());
    wire.bytes(2, &span.span.to_be_bytes());
    if let Some(parent) = span.parent {
        wire.bytes(4, &parent.to_be_bytes());
    }
    let name = match (&span.system, &span.operation) {
        (Some(system), Some(operation)) => format!("{} {system}.{operation}", span.method),
        _ => span.method.clone(),
    };
    wire.text(5, &name);
    wire.number(6, KIND_SERVER);
    wire.fixed(7, span.began_nanos);
    wire.fixed(8, span.ended_nanos);
    wire.attribute(9, "http.request.method", &span.method);
    wire.attribute(9, "url.path", &span.path);
    wire.whole_attribute(9, "http.response.status_code", u64::from(span.status));
    wire.attribute(9, "singlet.request_id", &span.request_id);
    let texts = [
        ("singlet.system", &span.system),
        ("singlet.operation", &span.operation),
        ("error.type", &span.problem),
    ];
    for (key, value) in texts {
        if let Some(value) = value {
            wire.attribute(9, key, value);
        }
    }
    wire.number_attribute(9, "singlet.read_units", span.read_halves as f64 / 2.0);
    wire.whole_attribute(9, "singlet.write_units", span.write_units);
    if span.status >= 500 {
        wire.message(15, |status| status.number(3, STATUS_ERROR));
    }
}

/// `ExportMetricsServiceRequest`.
pub(super) fn figures_message(resource: &Attributes, figures: &[Figure], began_nanos: u64, now_nanos: u64) -> Vec<u8> {
    let mut wire = Wire::default();
    wire.message(1, |of_resource| {
        of_resource.resource(resource);
        of_resource.message(2, |of_scope| {
            of_scope.scope();
            for figure in figures {
                of_scope.message(2, |message| write_figure(message, figure, began_nanos, now_nanos));
            }
        });
    });
    wire.bytes
}

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u64 = 2;

fn write_figure(wire: &mut Wire, figure: &Figure, began_nanos: u64, now_nanos: u64) {
    wire.text(1, &figure.name);
    wire.text(2, &figure.help);
    let field = match figure.kind {
        FigureKind::Gauge => 5,
        FigureKind::Counter => 7,
        FigureKind::Histogram => 9,
    };
    wire.message(field, |data| {
        for point in &figure.points {
            data.message(1, |message| {
                message.fixed(2, began_nanos);
                message.fixed(3, now_nanos);
                write_point(message, figure.kind, point);
            });
        }
        match figure.kind {
            FigureKind::Gauge => {}
            FigureKind::Counter => {
                data.number(2, CUMULATIVE);
                data.number(3, 1);
            }
            FigureKind::Histogram => data.number(2, CUMULATIVE),
        }
    });
}

fn write_point(wire: &mut Wire, kind: FigureKind, point: &FigurePoint) {
    let attributes = match kind {
        FigureKind::Gauge | FigureKind::Counter => {
            wire.double(4, point.value);
            7
        }
        FigureKind::Histogram => {
            wire.fixed(4, point.count);
            wire.double(5, point.value);
            for count in point.bucket_counts() {
                wire.fixed(6, count);
            }
            for (bound, _) in point.buckets.iter().filter(|(bound, _)| bound.is_finite()) {
                wire.double(7, *bound);
            }
            9
        }
    };
    for (key, value) in &point.labels {
        wire.attribute(attributes, key, value);
    }
}
