//! Rows by their primary keys.

use std::sync::Arc;

use singlet_item::Item;
use singlet_model::model::Entity;
use singlet_plan::Bounds;
use singlet_store::{BatchGetRequest, BatchGetTable, Consumed, ErrorKind, Store, StoreError};

use crate::error::RuntimeError;
use crate::scope::Attributes;
use crate::{retry, row};

/// The primary key of a row; none where a part of it is absent.
pub fn primary_key(entity: &Entity, attributes: &Attributes) -> Result<Option<Item>, RuntimeError> {
    let mut key = Item::new();
    let Some(choice) = entity.key.first() else {
        return Ok(None);
    };
    for template in &choice.keys {
        let lookup = |path: &str| row::at_path(attributes, path);
        // A row that lacks a part of its key is not in the table, so it has no key, rather than one with a gap.
        match row::encode_key(entity, template, &lookup)? {
            Some(value) => key.insert(template.attribute.clone(), value),
            None => return Ok(None),
        };
    }
    Ok(Some(key))
}

/// Several items by key, past what one call holds, in no order; keys that were not processed are asked for again, later each
/// time.
///
/// # Errors
///
/// Where the store fails for good, or leaves keys unprocessed again and again.
pub async fn batch_get(
    store: &Arc<dyn Store>,
    bounds: &Bounds,
    table: &str,
    keys: &[Item],
    consistent: bool,
) -> Result<(Vec<Item>, Consumed), RuntimeError> {
    let mut items = Vec::new();
    let mut consumed = Consumed::default();
    // DynamoDB refuses a larger batch, and answers a smaller one in part.
    for chunk in keys.chunks(bounds.batch_get_items) {
        let mut waiting = vec![BatchGetTable {
            table: table.to_owned(),
            keys: chunk.to_vec(),
            consistent,
            projection: Default::default(),
        }];
        let mut attempt = 0;
        while !waiting.is_empty() {
            if attempt as usize >= bounds.call_attempts_max {
                let left = "the store leaves keys of a batch unprocessed";
                return Err(StoreError::new(ErrorKind::Throttled, left).into());
            }
            if attempt > 0 {
                retry::retry_pause(attempt).await;
            }
            let left = waiting.iter().map(|table| table.keys.len()).sum::<usize>();
            let request = BatchGetRequest { tables: waiting };
            let answer = retry::with_retries(bounds, || store.batch_get(&request)).await?;
            consumed += &answer.consumed;
            items.extend(answer.items.into_values().flatten());
            // No failure: the store says which keys it did not get to, and they are rows that may be there.
            waiting = answer.unprocessed;
            // A batch that gives something, though not all, is on its way; one that gives nothing is throttled.
            let more = waiting.iter().map(|table| table.keys.len()).sum::<usize>();
            // It ends all the same: each attempt that resets the count leaves fewer keys.
            attempt = if more < left { 1 } else { attempt + 1 };
        }
    }
    Ok((items, consumed))
}
