//! Items as they are, a call's worth at a time.

use std::collections::HashSet;
use std::sync::Arc;

use singlet_item::Item;
use singlet_plan::Bounds;
use singlet_store::{BatchWrite, BatchWriteRequest, ErrorKind, Store, StoreError};

use crate::error::RuntimeError;
use crate::retry;

/// Puts items over whatever is there, under no condition; what a call did not process is put again, later each time. Says how
/// many were put after each call.
///
/// # Errors
///
/// Where the store fails for good, or leaves items unprocessed again and again.
pub async fn put_all(
    store: &Arc<dyn Store>,
    table: &str,
    items: Vec<Item>,
    mut progress: impl FnMut(usize),
) -> Result<(), RuntimeError> {
    let items = each_once(items);
    let mut put = 0;
    for chunk in items.chunks(Bounds::USUAL.batch_write_items) {
        let one = |item: &Item| BatchWrite::Put {
            table: table.to_owned(),
            item: item.clone(),
        };
        put_batch(store, chunk.iter().map(one).collect()).await?;
        put += chunk.len();
        progress(put);
    }
    Ok(())
}

async fn put_batch(store: &Arc<dyn Store>, mut writes: Vec<BatchWrite>) -> Result<(), RuntimeError> {
    let mut attempt = 0;
    while !writes.is_empty() {
        if attempt as usize >= Bounds::USUAL.call_attempts_max {
            let left = "the store leaves items of a batch unprocessed";
            return Err(StoreError::new(ErrorKind::Throttled, left).into());
        }
        if attempt > 0 {
            retry::retry_pause(attempt).await;
        }
        let sent = writes.len();
        let request = BatchWriteRequest { writes };
        let answer = retry::with_retries(&Bounds::USUAL, || store.batch_write(&request)).await?;
        // A batch that takes something, though not all, is on its way; one that takes nothing is throttled.
        attempt = if answer.unprocessed.len() < sent {
            1
        } else {
            attempt + 1
        };
        writes = answer.unprocessed;
    }
    Ok(())
}

/// No item may stand in a call twice, and versions of one row share the guard of its identity: of equal items one is put.
fn each_once(items: Vec<Item>) -> Vec<Item> {
    let mut seen = HashSet::new();
    items.into_iter().filter(|item| seen.insert(item.clone())).collect()
}
