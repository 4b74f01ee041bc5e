//! The `singlet` command.

use std::process::ExitCode;

/// A service allocates much and briefly; the system's allocator takes a quarter of its time for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    singlet_cli::run_command()
}
