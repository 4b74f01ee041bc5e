//! Counts that every store refuses alike, before the engine sees them.

use crate::{BatchGetRequest, BatchWriteRequest, Result, StoreError, TransactGetRequest, TransactWriteRequest};
use singlet_item::limits::{BATCH_GET_ITEMS_MAX, BATCH_WRITE_ITEMS_MAX, TOKEN_CHARS_MAX, TRANSACTION_ITEMS_MAX};

/// Refuses a batch of gets without keys, with too many, or with a table twice.
pub fn check_batch_get(request: &BatchGetRequest) -> Result<()> {
    let keys = request.tables.iter().map(|table| table.keys.len()).sum();
    within("a batch of gets", keys, BATCH_GET_ITEMS_MAX)?;
    let mut tables: Vec<&str> = request.tables.iter().map(|table| table.table.as_str()).collect();
    tables.sort_unstable();
    match tables.windows(2).find(|pair| pair.first() == pair.last()) {
        Some(pair) => {
            let table = pair.first().copied().unwrap_or_default();
            Err(StoreError::bad_request(format!(
                "a batch of gets names table `{table}` twice"
            )))
        }
        None => Ok(()),
    }
}

/// Refuses a batch of writes without any, or with too many.
pub fn check_batch_write(request: &BatchWriteRequest) -> Result<()> {
    within("a batch of writes", request.writes.len(), BATCH_WRITE_ITEMS_MAX)
}

/// Refuses a transactional read without gets, or with too many.
pub fn check_transact_get(request: &TransactGetRequest) -> Result<()> {
    within("a transactional read", request.gets.len(), TRANSACTION_ITEMS_MAX)
}

/// Refuses a transaction without actions, or with too many, or with a token that DynamoDB would not take.
pub fn check_transact_write(request: &TransactWriteRequest) -> Result<()> {
    if let Some(token) = &request.token
        && !(1..=TOKEN_CHARS_MAX).contains(&token.chars().count())
    {
        return Err(StoreError::bad_request(format!(
            "a token has 1 to {TOKEN_CHARS_MAX} characters, not {}",
            token.chars().count()
        )));
    }
    within("a transaction", request.actions.len(), TRANSACTION_ITEMS_MAX)
}

fn within(what: &str, count: usize, most: usize) -> Result<()> {
    match count {
        0 => Err(StoreError::bad_request(format!("{what} is empty"))),
        count if count > most => Err(StoreError::too_large(format!(
            "{what} has {count} entries, more than {most}"
        ))),
        _ => Ok(()),
    }
}
