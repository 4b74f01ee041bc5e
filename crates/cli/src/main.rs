//! The `singlet` command.

use std::process::ExitCode;

/// A service allocates much and briefly; the system's allocator takes a quarter of its time for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    keep_pages_small();
    singlet_cli::run_command()
}

/// Has the system give memory in pages of 4 KB, where it would give 2 MB at once. What is freed comes in pieces far smaller than that, so that
/// little could be given back, and the system puts small pages together again to large ones. Where it cannot be said, more memory is taken.
fn keep_pages_small() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}
