//! What the benchmarks share.

pub mod engines;
pub mod error;
pub mod generated;
pub mod load;
pub mod rounds;

/// As the command has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
