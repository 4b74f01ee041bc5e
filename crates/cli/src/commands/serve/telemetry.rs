//! A collector that is told what the service does, as the environment of OpenTelemetry names it.

use std::sync::Arc;
use std::time::Duration;

use singlet_http::Service;
use singlet_http::telemetry::{SpanSink, SpanSource, TelemetryRoute, export_telemetry, span_queue};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How often figures are told, unless said.
const FIGURES_EVERY: Duration = Duration::from_secs(60);

/// The least time between two tellings of figures.
const FIGURES_EVERY_MIN: Duration = Duration::from_millis(100);

/// How long the last telling may take.
const LAST_TIME_MAX: Duration = Duration::from_secs(15);

/// A collector, and the queue of what it is told.
pub(super) struct Telemetry {
    route: TelemetryRoute,
    source: SpanSource,
}

/// What tells it, until the end.
pub(super) struct Telling {
    ending: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Telemetry {
    /// For a collector at an address, with what else the environment says.
    ///
    /// # Errors
    ///
    /// Where the address or what the environment says is not understood.
    pub(super) fn new(endpoint: &str) -> Result<(Self, SpanSink), String> {
        let said = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
        let pairs = |name: &str| -> Vec<String> {
            let text = said(name).unwrap_or_default();
            text.split(',')
                .map(str::trim)
                .filter(|pair| !pair.is_empty())
                .map(str::to_owned)
                .collect()
        };
        let mut resource = vec![
            ("service.name".to_owned(), "singlet".to_owned()),
            ("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ];
        for pair in pairs("OTEL_RESOURCE_ATTRIBUTES") {
            let (name, value) = pair
                .split_once('=')
                .ok_or_else(|| format!("`OTEL_RESOURCE_ATTRIBUTES`: `{pair}` is not `name=value`"))?;
            resource.retain(|(known, _)| known != name);
            resource.push((name.to_owned(), value.to_owned()));
        }
        if let Some(name) = said("OTEL_SERVICE_NAME") {
            resource.retain(|(known, _)| known != "service.name");
            resource.push(("service.name".to_owned(), name));
        }
        let every = match said("OTEL_METRIC_EXPORT_INTERVAL") {
            None => FIGURES_EVERY,
            Some(text) => {
                let millis = text
                    .parse()
                    .map_err(|_| format!("`OTEL_METRIC_EXPORT_INTERVAL`: `{text}` is not a number of milliseconds"))?;
                Duration::from_millis(millis).max(FIGURES_EVERY_MIN)
            }
        };
        let route = TelemetryRoute::new(endpoint, &pairs("OTEL_EXPORTER_OTLP_HEADERS"), resource, every);
        let route = route.map_err(|error| format!("`--otlp`: {error}"))?;
        let (sink, source) = span_queue();
        Ok((Telemetry { route, source }, sink))
    }

    /// Begins to tell it of a service.
    pub(super) fn start(self, service: &Arc<Service>) -> Telling {
        let (ending, ended) = oneshot::channel::<()>();
        let end = async move {
            let _ = ended.await;
        };
        let task = tokio::spawn(export_telemetry(self.route, Arc::clone(service), self.source, end));
        Telling { ending, task }
    }
}

impl Telling {
    /// Has the collector told what it was not told yet.
    pub(super) async fn end(self) {
        drop(self.ending);
        let _ = tokio::time::timeout(LAST_TIME_MAX, self.task).await;
    }
}
