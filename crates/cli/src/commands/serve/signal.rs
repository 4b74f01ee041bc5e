//! The end of a service, as the operating system asks for it.

use std::future::Future;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tokio::sync::oneshot;

/// Waits for the first signal to end. The second ends the process at once.
pub(crate) fn end_signal() -> Result<impl Future<Output = ()>, String> {
    let mut signals =
        Signals::new([SIGTERM, SIGINT]).map_err(|error| format!("signals cannot be waited for: {error}"))?;
    let (first, asked) = oneshot::channel();
    std::thread::spawn(move || {
        let mut first = Some(first);
        for _ in signals.forever() {
            match first.take() {
                Some(first) => {
                    tracing::info!("asked to end: finishing what has begun; ask again to end at once");
                    // A receiver that is gone is a service that has ended.
                    let _ = first.send(());
                }
                None => std::process::exit(130),
            }
        }
    });
    Ok(async move {
        let _ = asked.await;
    })
}
