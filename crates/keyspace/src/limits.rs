//! What a key space takes at most.

/// Bytes of a key.
pub(crate) const KEY_BYTES_MAX: usize = 32 << 10;
/// Bytes of a value.
pub(crate) const VALUE_BYTES_MAX: usize = 16 << 20;
/// Bytes of all keys and values that one work changes.
pub(crate) const COMMIT_BYTES_MAX: usize = 128 << 20;
/// Works that are made durable together.
pub(crate) const GROUP_WORKS_MAX: usize = 1_024;
/// Bytes of changes after which a group takes no further work. The last one may go beyond by a commit.
pub(crate) const GROUP_BYTES_MAX: usize = 16 << 20;
/// Bytes that are kept between two frames of the log to write the next one in.
pub(crate) const FRAME_BUFFER_BYTES_MAX: usize = 1 << 20;
/// Bytes that a row in memory takes beside its key and value, about.
pub(crate) const ROW_OVERHEAD_BYTES: usize = 128;
/// Bytes of a segment of the log for each byte of changes in memory, at most.
pub(crate) const LOG_BYTES_PER_MEMORY_BYTE: u64 = 2;
/// Parts in which the changes in memory are written to the base, about: see `checkpoint::write_frozen`.
pub(crate) const CHECKPOINT_PARTS: usize = 8;
/// Bytes of a base that are cached while all of it is written.
pub(crate) const COPY_CACHE_BYTES: usize = 8 << 20;
/// Bytes that a full disk must have room for before writes are taken again.
pub(crate) const ROOM_PROBE_BYTES: usize = 64 << 10;
/// Bytes of the base that the system may hold back before they are sent to the disk.
pub(crate) const HELD_BACK_BYTES_MAX: u64 = 2 << 20;
