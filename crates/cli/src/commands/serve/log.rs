//! The log, to standard error.

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

/// How requests are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// A line for a person.
    Text,
    /// A JSON object a line.
    Json,
    /// Nothing.
    Off,
}

/// Starts the log.
pub(crate) fn start_log(format: LogFormat, level: &str) -> Result<(), String> {
    use std::io::IsTerminal;
    let filter = EnvFilter::try_new(level).map_err(|error| format!("`{level}` is no log level: {error}"))?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Off => {}
        // A second service in one process keeps the log of the first.
        LogFormat::Text => drop(
            log.with_ansi(std::io::stderr().is_terminal())
                .with_target(false)
                .try_init(),
        ),
        LogFormat::Json => drop(log.json().flatten_event(true).with_current_span(false).try_init()),
    }
    Ok(())
}
