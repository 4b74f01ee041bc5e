//! What a key space takes at most.

/// Bytes of a key.
pub const KEY_BYTES_MAX: usize = 32 << 10;
/// Bytes of a value.
pub const VALUE_BYTES_MAX: usize = 16 << 20;
/// Bytes of all keys and values that one work changes.
pub const COMMIT_BYTES_MAX: usize = 128 << 20;
/// Works that are made durable together.
pub(crate) const GROUP_WORKS_MAX: usize = 1_024;
