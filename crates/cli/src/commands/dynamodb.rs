//! `singlet dynamodb`.

use std::future::Future;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use singlet_http::{Limits, Server};
use singlet_protocol::{Endpoint, EndpointSettings};

use super::serve::{DATA_FOLDER, log, signal};
use crate::model::fail_command;
use crate::place::Place;

/// Speak DynamoDB's protocol on a store, so that SDKs, the AWS CLI and other tools work on local data.
///
/// Any credentials are taken, as long as there are some: no signature is checked.
#[derive(Args)]
pub(crate) struct Dynamodb {
    /// Where to listen.
    #[arg(
        long,
        default_value = "127.0.0.1:8000",
        env = "SINGLET_DYNAMODB",
        value_name = "ADDRESS"
    )]
    listen: String,
    /// `memory`, `embedded:DIR` or `dynamodb` [default: embedded:singlet-data]
    #[arg(long, env = "SINGLET_STORE", value_name = "STORE")]
    store: Option<String>,
    /// With `dynamodb`: an endpoint other than the region's own.
    #[arg(long, env = "SINGLET_ENDPOINT_URL", value_name = "URL")]
    endpoint_url: Option<String>,
    /// The region, of `--store dynamodb` and in ARNs.
    #[arg(long, env = "SINGLET_REGION", value_name = "REGION")]
    region: Option<String>,
    /// Take calls from other machines. Nobody's signature is checked.
    #[arg(long, env = "SINGLET_DYNAMODB_REMOTE")]
    allow_remote: bool,
    /// How failures are logged, to standard error.
    #[arg(long, env = "SINGLET_LOG", value_enum, default_value_t = log::LogFormat::Text)]
    log: log::LogFormat,
    /// What is logged: `info`, `warn`, `debug`, or a filter such as `singlet_protocol=debug`.
    #[arg(long, env = "SINGLET_LOG_LEVEL", default_value = "info", value_name = "LEVEL")]
    log_level: String,
}

impl Dynamodb {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        super::block_on(async move { self.listen().await }).unwrap_or_else(|code| code)
    }

    async fn listen(self) -> Result<ExitCode, ExitCode> {
        log::start_log(self.log, &self.log_level).map_err(|reason| fail_command(&reason))?;
        let text = self.store.unwrap_or_else(|| format!("embedded:{DATA_FOLDER}"));
        let usual = EndpointSettings::default();
        let settings = EndpointSettings {
            region: self.region.clone().unwrap_or(usual.region.clone()),
            ..usual
        };
        // A region is for ARNs as well, so that every store takes one.
        let region = self.region.filter(|_| text == "dynamodb");
        let place = Place::parse(&text, self.endpoint_url, region).map_err(|reason| fail_command(&reason))?;
        let server = bind_endpoint(&self.listen, self.allow_remote, "--allow-remote")
            .await
            .map_err(|reason| fail_command(&reason))?;
        let opened = place.open_to_serve().await;
        let (store, _upkeep) = opened.map_err(|reason| fail_command(&reason))?;
        let end = signal::end_signal().map_err(|reason| fail_command(&reason))?;
        super::print_text(&format!("{}data {}\n", endpoint_greeting(&server), place.shown()));
        match serve_endpoint(server, Endpoint::new(store, settings), end).await {
            true => tracing::info!("every call that had begun was answered"),
            false => tracing::warn!("calls were still running when the time for shutting down ran out"),
        }
        Ok(ExitCode::from(crate::exit::CLEAN))
    }
}

/// Listens, on this machine alone unless told otherwise.
pub(crate) async fn bind_endpoint(address: &str, is_remote: bool, flag: &str) -> Result<Server, String> {
    let server = Server::bind(address, None).await.map_err(|error| error.to_string())?;
    let is_local = server.bound_address().is_some_and(|address| address.ip().is_loopback());
    match is_local || is_remote {
        true => Ok(server),
        false => Err(format!(
            "`{address}` is reached from other machines, and DynamoDB's protocol is spoken here without checking who \
             asks: listen on `127.0.0.1`, or say `{flag}`"
        )),
    }
}

/// What is said when it is ready.
pub(crate) fn endpoint_greeting(server: &Server) -> String {
    let address = server
        .bound_address()
        .map(|address| address.to_string())
        .unwrap_or_default();
    format!("DynamoDB's protocol at http://{address}\n")
}

/// Answers until the end, then finishes what has begun.
pub(crate) fn serve_endpoint(
    server: Server,
    endpoint: Arc<Endpoint>,
    end: impl Future<Output = ()>,
) -> impl Future<Output = bool> {
    let limits = Limits {
        // SDKs keep connections for their next call.
        header_time_max: Duration::from_secs(60),
        ..Limits::default()
    };
    server.serve(endpoint.router(), limits, end, || {}, async {})
}
