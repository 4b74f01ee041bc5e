//! Writes, as the SDK takes and answers them.

use crate::convert::{
    Counts, SdkItem, item_from_sdk, item_to_sdk, placeholder_names, placeholder_values, reported_consumed,
};
use crate::error::{from_build, from_sdk};
use crate::reads::CAPACITY;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    ConditionCheck, ConsumedCapacity, Delete, DeleteRequest as BatchDelete, Put, PutRequest as BatchPut, ReturnValue,
    ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update as SdkUpdate, WriteRequest,
};
use singlet_item::Item;
use singlet_store::render::{self, WriteExpressions};
use singlet_store::{
    BatchWrite, BatchWriteAnswer, BatchWriteRequest, Condition, DeleteRequest, PutRequest, Result, StoreError,
    TransactWrite, TransactWriteRequest, UpdateRequest, UpdateReturn, WriteAnswer,
};
use std::collections::HashMap;

/// A failed condition always brings the item that it failed on; it costs nothing more.
const OLD_IMAGE: ReturnValuesOnConditionCheckFailure = ReturnValuesOnConditionCheckFailure::AllOld;

pub(crate) async fn put_item(client: &Client, request: &PutRequest) -> Result<WriteAnswer> {
    let expressions = WriteExpressions::condition_expressions(request.condition.as_ref())?;
    let answer = client
        .put_item()
        .table_name(&request.table)
        .set_item(Some(item_to_sdk(&request.item)))
        .set_condition_expression(expressions.condition)
        .set_expression_attribute_names(placeholder_names(&expressions.placeholders))
        .set_expression_attribute_values(placeholder_values(&expressions.placeholders))
        .set_return_values(request.return_old.then_some(ReturnValue::AllOld))
        // The item that it failed on: by it is told which condition failed, and why.
        .return_values_on_condition_check_failure(OLD_IMAGE)
        .return_consumed_capacity(CAPACITY)
        .send()
        .await
        .map_err(from_sdk)?;
    written(answer.attributes, answer.consumed_capacity)
}

pub(crate) async fn update_item(client: &Client, request: &UpdateRequest) -> Result<WriteAnswer> {
    let expressions = WriteExpressions::update_expressions(request)?;
    let answer = client
        .update_item()
        .table_name(&request.table)
        .set_key(Some(item_to_sdk(&request.key)))
        .set_update_expression(expressions.update)
        .set_condition_expression(expressions.condition)
        .set_expression_attribute_names(placeholder_names(&expressions.placeholders))
        .set_expression_attribute_values(placeholder_values(&expressions.placeholders))
        .return_values(returned(request.returns))
        .return_values_on_condition_check_failure(OLD_IMAGE)
        .return_consumed_capacity(CAPACITY)
        .send()
        .await
        .map_err(from_sdk)?;
    written(answer.attributes, answer.consumed_capacity)
}

pub(crate) async fn delete_item(client: &Client, request: &DeleteRequest) -> Result<WriteAnswer> {
    let expressions = WriteExpressions::condition_expressions(request.condition.as_ref())?;
    let answer = client
        .delete_item()
        .table_name(&request.table)
        .set_key(Some(item_to_sdk(&request.key)))
        .set_condition_expression(expressions.condition)
        .set_expression_attribute_names(placeholder_names(&expressions.placeholders))
        .set_expression_attribute_values(placeholder_values(&expressions.placeholders))
        .set_return_values(request.return_old.then_some(ReturnValue::AllOld))
        .return_values_on_condition_check_failure(OLD_IMAGE)
        .return_consumed_capacity(CAPACITY)
        .send()
        .await
        .map_err(from_sdk)?;
    written(answer.attributes, answer.consumed_capacity)
}

fn written(attributes: Option<SdkItem>, capacity: impl IntoIterator<Item = ConsumedCapacity>) -> Result<WriteAnswer> {
    Ok(WriteAnswer {
        attributes: attributes
            .filter(|attributes| !attributes.is_empty())
            .map(item_from_sdk)
            .transpose()?,
        consumed: reported_consumed(Counts::Writes, capacity),
    })
}

pub(crate) async fn batch_write(client: &Client, request: &BatchWriteRequest) -> Result<BatchWriteAnswer> {
    render::check_batch_write(request)?;
    let mut tables: HashMap<String, Vec<WriteRequest>> = HashMap::new();
    for write in &request.writes {
        let (table, write) = batch_entry(write)?;
        tables.entry(table).or_default().push(write);
    }
    let answer = client
        .batch_write_item()
        .set_request_items(Some(tables))
        .return_consumed_capacity(CAPACITY)
        .send()
        .await
        .map_err(from_sdk)?;
    let mut unprocessed = Vec::new();
    for (table, writes) in answer.unprocessed_items.into_iter().flatten() {
        for write in writes {
            unprocessed.push(unprocessed_write(&table, write)?);
        }
    }
    Ok(BatchWriteAnswer {
        unprocessed,
        consumed: reported_consumed(Counts::Writes, answer.consumed_capacity.into_iter().flatten()),
    })
}

fn batch_entry(write: &BatchWrite) -> Result<(String, WriteRequest)> {
    let entry = WriteRequest::builder();
    Ok(match write {
        BatchWrite::Put { table, item } => {
            let put = BatchPut::builder()
                .set_item(Some(item_to_sdk(item)))
                .build()
                .map_err(from_build)?;
            (table.clone(), entry.put_request(put).build())
        }
        BatchWrite::Delete { table, key } => {
            let delete = BatchDelete::builder()
                .set_key(Some(item_to_sdk(key)))
                .build()
                .map_err(from_build)?;
            (table.clone(), entry.delete_request(delete).build())
        }
    })
}

fn unprocessed_write(table: &str, write: WriteRequest) -> Result<BatchWrite> {
    let table = table.to_owned();
    match (write.put_request, write.delete_request) {
        (Some(put), _) => Ok(BatchWrite::Put {
            table,
            item: item_from_sdk(put.item)?,
        }),
        (None, Some(delete)) => Ok(BatchWrite::Delete {
            table,
            key: item_from_sdk(delete.key)?,
        }),
        (None, None) => Err(StoreError::unavailable("the endpoint left out what is no write")),
    }
}

pub(crate) async fn transact_write(client: &Client, request: &TransactWriteRequest) -> Result<WriteAnswer> {
    render::check_transact_write(request)?;
    let actions = request.actions.iter().map(action).collect::<Result<Vec<_>>>()?;
    let answer = client
        .transact_write_items()
        .set_transact_items(Some(actions))
        // By it DynamoDB knows the request again when it is sent twice.
        .set_client_request_token(request.token.clone())
        .return_consumed_capacity(CAPACITY)
        .send()
        .await
        .map_err(from_sdk)?;
    written(None, answer.consumed_capacity.into_iter().flatten())
}

fn action(action: &TransactWrite) -> Result<TransactWriteItem> {
    let item = TransactWriteItem::builder();
    Ok(match action {
        TransactWrite::Put(put) => item.put(transact_put(put)?),
        TransactWrite::Update(update) => item.update(transact_update(update)?),
        TransactWrite::Delete(delete) => item.delete(transact_delete(delete)?),
        TransactWrite::Check { table, key, condition } => item.condition_check(check(table, key, condition)?),
    }
    .build())
}

fn transact_put(put: &PutRequest) -> Result<Put> {
    let expressions = WriteExpressions::condition_expressions(put.condition.as_ref())?;
    Put::builder()
        .table_name(&put.table)
        .set_item(Some(item_to_sdk(&put.item)))
        .set_condition_expression(expressions.condition)
        .set_expression_attribute_names(placeholder_names(&expressions.placeholders))
        .set_expression_attribute_values(placeholder_values(&expressions.placeholders))
        .return_values_on_condition_check_failure(OLD_IMAGE)
        .build()
        .map_err(from_build)
}

fn transact_update(update: &UpdateRequest) -> Result<SdkUpdate> {
    let expressions = WriteExpressions::transact_update(update)?;
    SdkUpdate::builder()
        .table_name(&update.table)
        .set_key(Some(item_to_sdk(&update.key)))
        .set_update_expression(expressions.update)
        .set_condition_expression(expressions.condition)
        .set_expression_attribute_names(placeholder_names(&expressions.placeholders))
        .set_expression_attribute_values(placeholder_values(&expressions.placeholders))
        .return_values_on_condition_check_failure(OLD_IMAGE)
        .build()
        .map_err(from_build)
}

fn transact_delete(delete: &DeleteRequest) -> Result<Delete> {
    let expressions = WriteExpressions::condition_expressions(delete.condition.as_ref())?;
    Delete::builder()
        .table_name(&delete.table)
        .set_key(Some(item_to_sdk(&delete.key)))
        .set_condition_expression(expressions.condition)
        .set_expression_attribute_names(placeholder_names(&expressions.placeholders))
        .set_expression_attribute_values(placeholder_values(&expressions.placeholders))
        .return_values_on_condition_check_failure(OLD_IMAGE)
        .build()
        .map_err(from_build)
}

fn check(table: &str, key: &Item, condition: &Condition) -> Result<ConditionCheck> {
    let expressions = WriteExpressions::condition_expressions(Some(condition))?;
    ConditionCheck::builder()
        .table_name(table)
        .set_key(Some(item_to_sdk(key)))
        .set_condition_expression(expressions.condition)
        .set_expression_attribute_names(placeholder_names(&expressions.placeholders))
        .set_expression_attribute_values(placeholder_values(&expressions.placeholders))
        .return_values_on_condition_check_failure(OLD_IMAGE)
        .build()
        .map_err(from_build)
}

fn returned(returns: UpdateReturn) -> ReturnValue {
    match returns {
        UpdateReturn::Nothing => ReturnValue::None,
        UpdateReturn::Old => ReturnValue::AllOld,
        UpdateReturn::New => ReturnValue::AllNew,
        UpdateReturn::UpdatedOld => ReturnValue::UpdatedOld,
        UpdateReturn::UpdatedNew => ReturnValue::UpdatedNew,
    }
}
