//! Reads, as the SDK takes and answers them.

use crate::convert::{
    Counts, SdkItem, item_from_sdk, item_to_sdk, items_from_sdk, placeholder_names, placeholder_values,
    reported_consumed,
};
use crate::error::{from_build, from_sdk};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    ConsumedCapacity, Get, KeysAndAttributes, ReturnConsumedCapacity, Select, TransactGetItem,
};
use singlet_store::render::{self, GetExpressions, PageExpressions};
use singlet_store::{
    BatchGetAnswer, BatchGetRequest, BatchGetTable, Direction, GetAnswer, GetRequest, PageAnswer, QueryRequest, Result,
    ScanRequest, TransactGet, TransactGetAnswer, TransactGetRequest,
};
use std::collections::HashMap;

/// Capacity is always asked for, per index.
pub(crate) const CAPACITY: ReturnConsumedCapacity = ReturnConsumedCapacity::Indexes;

pub(crate) async fn get_item(client: &Client, request: &GetRequest) -> Result<GetAnswer> {
    let expressions = GetExpressions::new(&request.projection)?;
    let answer = client
        .get_item()
        .table_name(&request.table)
        .set_key(Some(item_to_sdk(&request.key)))
        .consistent_read(request.consistent)
        .set_projection_expression(expressions.projection)
        .set_expression_attribute_names(placeholder_names(&expressions.placeholders))
        .return_consumed_capacity(CAPACITY)
        .send()
        .await
        .map_err(from_sdk)?;
    Ok(GetAnswer {
        item: answer.item.map(item_from_sdk).transpose()?,
        consumed: reported_consumed(Counts::Reads, answer.consumed_capacity),
    })
}

pub(crate) async fn batch_get(client: &Client, request: &BatchGetRequest) -> Result<BatchGetAnswer> {
    render::check_batch_get(request)?;
    let tables = request
        .tables
        .iter()
        .map(|table| Ok((table.table.clone(), keys(table)?)));
    let answer = client
        .batch_get_item()
        .set_request_items(Some(tables.collect::<Result<HashMap<_, _>>>()?))
        .return_consumed_capacity(CAPACITY)
        .send()
        .await
        .map_err(from_sdk)?;
    let mut unprocessed = Vec::new();
    for (name, left) in answer.unprocessed_keys.into_iter().flatten() {
        if let Some(table) = request.tables.iter().find(|table| table.table == name) {
            let keys = items_from_sdk(left.keys)?;
            unprocessed.push(BatchGetTable { keys, ..table.clone() });
        }
    }
    let items = answer.responses.into_iter().flatten();
    Ok(BatchGetAnswer {
        items: items
            .map(|(table, items)| Ok((table, items_from_sdk(items)?)))
            .collect::<Result<_>>()?,
        unprocessed,
        consumed: reported_consumed(Counts::Reads, answer.consumed_capacity.into_iter().flatten()),
    })
}

fn keys(table: &BatchGetTable) -> Result<KeysAndAttributes> {
    let expressions = GetExpressions::new(&table.projection)?;
    KeysAndAttributes::builder()
        .set_keys(Some(table.keys.iter().map(item_to_sdk).collect()))
        .set_projection_expression(expressions.projection)
        .set_expression_attribute_names(placeholder_names(&expressions.placeholders))
        .consistent_read(table.consistent)
        .build()
        .map_err(from_build)
}

pub(crate) async fn query_page(client: &Client, request: &QueryRequest) -> Result<PageAnswer> {
    let expressions = PageExpressions::query_expressions(request)?;
    let answer = client
        .query()
        .table_name(&request.table)
        .set_index_name(request.index.clone())
        .set_key_condition_expression(expressions.range)
        .set_filter_expression(expressions.filter)
        .set_projection_expression(expressions.projection)
        .set_expression_attribute_names(placeholder_names(&expressions.placeholders))
        .set_expression_attribute_values(placeholder_values(&expressions.placeholders))
        .scan_index_forward(request.direction == Direction::Ascending)
        .set_limit(limit(request.limit))
        .set_exclusive_start_key(request.start.as_ref().map(item_to_sdk))
        .set_select(expressions.count.then_some(Select::Count))
        .consistent_read(request.consistent)
        .return_consumed_capacity(CAPACITY)
        .send()
        .await
        .map_err(from_sdk)?;
    page(
        answer.items,
        answer.count,
        answer.scanned_count,
        answer.last_evaluated_key,
        answer.consumed_capacity,
    )
}

pub(crate) async fn scan_page(client: &Client, request: &ScanRequest) -> Result<PageAnswer> {
    let expressions = PageExpressions::scan_expressions(request)?;
    let answer = client
        .scan()
        .table_name(&request.table)
        .set_index_name(request.index.clone())
        .set_filter_expression(expressions.filter)
        .set_projection_expression(expressions.projection)
        .set_expression_attribute_names(placeholder_names(&expressions.placeholders))
        .set_expression_attribute_values(placeholder_values(&expressions.placeholders))
        .set_limit(limit(request.limit))
        .set_exclusive_start_key(request.start.as_ref().map(item_to_sdk))
        .set_select(expressions.count.then_some(Select::Count))
        .consistent_read(request.consistent)
        .set_segment(request.segment.and_then(|segment| i32::try_from(segment.index).ok()))
        .set_total_segments(request.segment.and_then(|segment| i32::try_from(segment.total).ok()))
        .return_consumed_capacity(CAPACITY)
        .send()
        .await
        .map_err(from_sdk)?;
    page(
        answer.items,
        answer.count,
        answer.scanned_count,
        answer.last_evaluated_key,
        answer.consumed_capacity,
    )
}

fn page(
    items: Option<Vec<SdkItem>>,
    count: i32,
    scanned: i32,
    last_key: Option<SdkItem>,
    capacity: Option<ConsumedCapacity>,
) -> Result<PageAnswer> {
    Ok(PageAnswer {
        items: items_from_sdk(items.unwrap_or_default())?,
        count: usize::try_from(count).unwrap_or(0),
        scanned: usize::try_from(scanned).unwrap_or(0),
        // An empty key is none: some endpoints answer it at the end.
        last_key: last_key.filter(|key| !key.is_empty()).map(item_from_sdk).transpose()?,
        consumed: reported_consumed(Counts::Reads, capacity),
    })
}

/// A limit beyond the protocol's integer is none.
fn limit(limit: Option<u32>) -> Option<i32> {
    limit.and_then(|limit| i32::try_from(limit).ok())
}

pub(crate) async fn transact_get(client: &Client, request: &TransactGetRequest) -> Result<TransactGetAnswer> {
    render::check_transact_get(request)?;
    let gets = request.gets.iter().map(transactional_get);
    let answer = client
        .transact_get_items()
        .set_transact_items(Some(gets.collect::<Result<Vec<_>>>()?))
        .return_consumed_capacity(CAPACITY)
        .send()
        .await
        .map_err(from_sdk)?;
    let items = answer.responses.into_iter().flatten();
    // The protocol answers an absent item as an empty one.
    let items = items.map(|response| {
        response
            .item
            .filter(|item| !item.is_empty())
            .map(item_from_sdk)
            .transpose()
    });
    Ok(TransactGetAnswer {
        items: items.collect::<Result<_>>()?,
        consumed: reported_consumed(Counts::Reads, answer.consumed_capacity.into_iter().flatten()),
    })
}

fn transactional_get(get: &TransactGet) -> Result<TransactGetItem> {
    let expressions = GetExpressions::new(&get.projection)?;
    let get = Get::builder()
        .table_name(&get.table)
        .set_key(Some(item_to_sdk(&get.key)))
        .set_projection_expression(expressions.projection)
        .set_expression_attribute_names(placeholder_names(&expressions.placeholders))
        .build()
        .map_err(from_build)?;
    Ok(TransactGetItem::builder().get(get).build())
}
