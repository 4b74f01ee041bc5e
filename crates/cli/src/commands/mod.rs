//! The subcommands.

pub mod audit;
pub mod call;
pub mod capacity;
pub mod changes;
pub mod check;
pub mod client;
pub mod completions;
pub mod copy;
pub mod cost;
pub mod deploy;
pub mod diff;
mod diff_table;
pub mod docs;
pub mod doctor;
pub mod dump;
pub mod dynamodb;
pub mod explain;
pub mod export;
pub mod follow;
pub mod import;
pub mod init;
pub mod lake;
pub mod load;
pub mod lsp;
pub mod mcp;
pub mod migrate;
pub mod plan;
pub mod restore;
pub mod schema;
pub mod serve;
pub mod token;
pub mod upkeep;
pub mod verify;

use std::future::Future;
use std::io::Write;
use std::num::NonZeroUsize;
use std::process::ExitCode;

use crate::exit;

/// Writes to standard output. A reader that went away (`| head`) is no failure.
pub fn print_text(text: &str) -> ExitCode {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::from(exit::CLEAN),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::from(exit::CLEAN),
        Err(error) => {
            eprintln!("error: standard output cannot be written: {error}");
            ExitCode::from(exit::USAGE)
        }
    }
}

/// Threads for what may take long, such as a page of many rows, for each processor.
const BLOCKING_THREADS_PER_PROCESSOR: usize = 4;

/// Runs what waits for a store to its end.
pub fn block_on(work: impl Future<Output = Result<ExitCode, ExitCode>>) -> Result<ExitCode, ExitCode> {
    let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // Each holds memory of its own, and more than a few only get in each other's way.
        .max_blocking_threads(processors.saturating_mul(BLOCKING_THREADS_PER_PROCESSOR))
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(work),
        Err(error) => Err(crate::model::fail_command(&format!(
            "no worker thread can be started: {error}"
        ))),
    }
}
