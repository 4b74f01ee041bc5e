//! Writes, as the engine takes and answers them.

use crate::Cost;
use crate::convert::{Counts, EngineItem, consumed, item_from_engine, item_to_engine};
use crate::reads::{CAPACITY, item_from_json, names, values};
use dynoxide::actions::batch_write_item::{
    BatchWriteItemRequest, BatchWriteItemResponse, DeleteRequest as BatchDelete, PutRequest as BatchPut, WriteRequest,
};
use dynoxide::actions::delete_item::DeleteItemRequest;
use dynoxide::actions::put_item::PutItemRequest;
use dynoxide::actions::transact_write_items::{
    TransactConditionCheck, TransactDelete, TransactPut, TransactUpdate, TransactWriteItem, TransactWriteItemsRequest,
};
use dynoxide::actions::update_item::UpdateItemRequest;
use dynoxide::types::ConsumedCapacity;
use singlet_item::Item;
use singlet_store::render::{self, WriteExpressions};
use singlet_store::{
    BatchWrite, BatchWriteAnswer, BatchWriteRequest, Condition, DeleteRequest, PutRequest, Result, StoreError,
    TransactWrite, TransactWriteRequest, UpdateRequest, UpdateReturn, WriteAnswer,
};
use std::collections::HashMap;

/// A failed condition always brings the item that it failed on; it costs nothing more.
const OLD_IMAGE: &str = "ALL_OLD";
/// The largest transaction that runs without leaving the caller's thread, in actions.
const SMALL_TRANSACTION_ACTIONS_MAX: usize = 10;

pub(crate) fn put(request: &PutRequest) -> Result<PutItemRequest> {
    let expressions = WriteExpressions::condition_expressions(request.condition.as_ref())?;
    Ok(PutItemRequest {
        table_name: request.table.clone(),
        item: item_to_engine(&request.item),
        condition_expression: expressions.condition,
        expression_attribute_names: names(&expressions.placeholders),
        expression_attribute_values: values(&expressions.placeholders),
        return_values: request.return_old.then(|| OLD_IMAGE.to_owned()),
        return_values_on_condition_check_failure: Some(OLD_IMAGE.to_owned()),
        return_consumed_capacity: Some(CAPACITY.to_owned()),
        ..PutItemRequest::default()
    })
}

pub(crate) fn update(request: &UpdateRequest) -> Result<UpdateItemRequest> {
    let expressions = WriteExpressions::update_expressions(request)?;
    Ok(UpdateItemRequest {
        table_name: request.table.clone(),
        key: item_to_engine(&request.key),
        update_expression: expressions.update,
        condition_expression: expressions.condition,
        expression_attribute_names: names(&expressions.placeholders),
        expression_attribute_values: values(&expressions.placeholders),
        return_values: Some(returned(request.returns).to_owned()),
        return_values_on_condition_check_failure: Some(OLD_IMAGE.to_owned()),
        return_consumed_capacity: Some(CAPACITY.to_owned()),
        ..UpdateItemRequest::default()
    })
}

pub(crate) fn delete(request: &DeleteRequest) -> Result<DeleteItemRequest> {
    let expressions = WriteExpressions::condition_expressions(request.condition.as_ref())?;
    Ok(DeleteItemRequest {
        table_name: request.table.clone(),
        key: item_to_engine(&request.key),
        condition_expression: expressions.condition,
        expression_attribute_names: names(&expressions.placeholders),
        expression_attribute_values: values(&expressions.placeholders),
        return_values: request.return_old.then(|| OLD_IMAGE.to_owned()),
        return_values_on_condition_check_failure: Some(OLD_IMAGE.to_owned()),
        return_consumed_capacity: Some(CAPACITY.to_owned()),
        ..DeleteItemRequest::default()
    })
}

pub(crate) fn answer(
    attributes: Option<EngineItem>,
    capacity: impl IntoIterator<Item = ConsumedCapacity>,
) -> Result<WriteAnswer> {
    let attributes = attributes.map(item_from_engine).transpose()?;
    Ok(WriteAnswer {
        // The engine answers an empty map where there was no item; there is nothing in either.
        attributes: attributes.filter(|attributes| !attributes.is_empty()),
        consumed: consumed(Counts::Writes, capacity),
    })
}

pub(crate) fn batch_write(request: &BatchWriteRequest) -> Result<BatchWriteItemRequest> {
    render::check_batch_write(request)?;
    let mut request_items: HashMap<String, Vec<WriteRequest>> = HashMap::new();
    for write in &request.writes {
        let (table, write) = match write {
            BatchWrite::Put { table, item } => (table, put_of_batch(item)),
            BatchWrite::Delete { table, key } => (table, delete_of_batch(key)),
        };
        request_items.entry(table.clone()).or_default().push(write);
    }
    Ok(BatchWriteItemRequest {
        request_items,
        return_consumed_capacity: Some(CAPACITY.to_owned()),
        ..BatchWriteItemRequest::default()
    })
}

fn put_of_batch(item: &Item) -> WriteRequest {
    WriteRequest {
        put_request: Some(BatchPut {
            item: item_to_engine(item),
        }),
        delete_request: None,
    }
}

fn delete_of_batch(key: &Item) -> WriteRequest {
    WriteRequest {
        put_request: None,
        delete_request: Some(BatchDelete {
            key: item_to_engine(key),
        }),
    }
}

pub(crate) fn batch_write_answer(answer: BatchWriteItemResponse) -> Result<BatchWriteAnswer> {
    let mut unprocessed = Vec::new();
    for (table, writes) in &answer.unprocessed_items {
        for write in writes.as_array().into_iter().flatten() {
            unprocessed.push(unprocessed_write(table, write)?);
        }
    }
    Ok(BatchWriteAnswer {
        unprocessed,
        consumed: consumed(Counts::Writes, answer.consumed_capacity.into_iter().flatten()),
    })
}

/// The engine gives what it left out as JSON.
fn unprocessed_write(table: &str, write: &serde_json::Value) -> Result<BatchWrite> {
    let table = table.to_owned();
    if let Some(item) = write.pointer("/PutRequest/Item") {
        return Ok(BatchWrite::Put {
            table,
            item: item_from_json(item)?,
        });
    }
    match write.pointer("/DeleteRequest/Key") {
        Some(key) => Ok(BatchWrite::Delete {
            table,
            key: item_from_json(key)?,
        }),
        None => Err(StoreError::unavailable("the engine left out what is no write")),
    }
}

/// A short transaction is as cheap as a few writes.
pub(crate) fn transaction_cost(request: &TransactWriteRequest) -> Cost {
    if request.actions.len() <= SMALL_TRANSACTION_ACTIONS_MAX {
        Cost::Small
    } else {
        Cost::Large
    }
}

pub(crate) fn transact_write(request: &TransactWriteRequest) -> Result<TransactWriteItemsRequest> {
    render::check_transact_write(request)?;
    Ok(TransactWriteItemsRequest {
        transact_items: request.actions.iter().map(action).collect::<Result<_>>()?,
        // The token is the store's to know.
        return_consumed_capacity: Some(CAPACITY.to_owned()),
        ..TransactWriteItemsRequest::default()
    })
}

fn action(action: &TransactWrite) -> Result<TransactWriteItem> {
    let mut item = TransactWriteItem::default();
    match action {
        TransactWrite::Put(put) => item.put = Some(transact_put(put)?),
        TransactWrite::Update(update) => item.update = Some(transact_update(update)?),
        TransactWrite::Delete(delete) => item.delete = Some(transact_delete(delete)?),
        TransactWrite::Check { table, key, condition } => item.condition_check = Some(check(table, key, condition)?),
    }
    Ok(item)
}

fn transact_put(put: &PutRequest) -> Result<TransactPut> {
    let expressions = WriteExpressions::condition_expressions(put.condition.as_ref())?;
    Ok(TransactPut {
        table_name: put.table.clone(),
        item: item_to_engine(&put.item),
        condition_expression: expressions.condition,
        expression_attribute_names: names(&expressions.placeholders),
        expression_attribute_values: values(&expressions.placeholders),
        return_values_on_condition_check_failure: Some(OLD_IMAGE.to_owned()),
    })
}

fn transact_update(update: &UpdateRequest) -> Result<TransactUpdate> {
    let expressions = WriteExpressions::transact_update(update)?;
    Ok(TransactUpdate {
        table_name: update.table.clone(),
        key: item_to_engine(&update.key),
        update_expression: expressions.update.unwrap_or_default(),
        condition_expression: expressions.condition,
        expression_attribute_names: names(&expressions.placeholders),
        expression_attribute_values: values(&expressions.placeholders),
        return_values_on_condition_check_failure: Some(OLD_IMAGE.to_owned()),
    })
}

fn transact_delete(delete: &DeleteRequest) -> Result<TransactDelete> {
    let expressions = WriteExpressions::condition_expressions(delete.condition.as_ref())?;
    Ok(TransactDelete {
        table_name: delete.table.clone(),
        key: item_to_engine(&delete.key),
        condition_expression: expressions.condition,
        expression_attribute_names: names(&expressions.placeholders),
        expression_attribute_values: values(&expressions.placeholders),
        return_values_on_condition_check_failure: Some(OLD_IMAGE.to_owned()),
    })
}

fn check(table: &str, key: &Item, condition: &Condition) -> Result<TransactConditionCheck> {
    let expressions = WriteExpressions::condition_expressions(Some(condition))?;
    Ok(TransactConditionCheck {
        table_name: table.to_owned(),
        key: item_to_engine(key),
        condition_expression: expressions.condition.unwrap_or_default(),
        expression_attribute_names: names(&expressions.placeholders),
        expression_attribute_values: values(&expressions.placeholders),
        return_values_on_condition_check_failure: Some(OLD_IMAGE.to_owned()),
    })
}

fn returned(returns: UpdateReturn) -> &'static str {
    match returns {
        UpdateReturn::Nothing => "NONE",
        UpdateReturn::Old => "ALL_OLD",
        UpdateReturn::New => "ALL_NEW",
        UpdateReturn::UpdatedOld => "UPDATED_OLD",
        UpdateReturn::UpdatedNew => "UPDATED_NEW",
    }
}
