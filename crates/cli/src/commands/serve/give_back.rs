//! What a burst of requests leaves behind goes back to the system.

use std::time::Duration;

/// How often the allocator is reminded.
const PAUSE: Duration = Duration::from_secs(10);

/// Bytes of a block that the allocator takes from its large ones.
const BLOCK_BYTES: usize = 2 << 20;

/// Reminds the allocator now and then. It gives back what has been free for a second at the next large block that is freed, and after
/// a burst there may be none for hours.
pub(crate) async fn now_and_then() {
    loop {
        tokio::time::sleep(PAUSE).await;
        drop(std::hint::black_box(Vec::<u8>::with_capacity(BLOCK_BYTES)));
    }
}
