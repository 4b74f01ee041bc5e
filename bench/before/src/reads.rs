//! Reads, as the engine takes and answers them.

use crate::Cost;
use crate::convert::{
    Counts, EngineItem, consumed, item_from_engine, item_to_engine, items_from_engine, parts_from_engine,
    value_to_engine,
};
use dynoxide::AttributeValue;
use dynoxide::actions::batch_get_item::{BatchGetItemRequest, BatchGetItemResponse, KeysAndAttributes};
use dynoxide::actions::get_item::{GetItemRequest, GetItemResponse};
use dynoxide::actions::query::{QueryRequest as EngineQuery, QueryResponse};
use dynoxide::actions::scan::{ScanRequest as EngineScan, ScanResponse};
use dynoxide::actions::transact_get_items::{
    TransactGet as EngineGet, TransactGetItem, TransactGetItemsRequest, TransactGetItemsResponse,
};
use singlet_item::Item;
use singlet_store::render::{self, GetExpressions, PageExpressions, Placeholders};
use singlet_store::{
    BatchGetAnswer, BatchGetRequest, Direction, GetAnswer, GetRequest, PageAnswer, QueryRequest, Result, ScanRequest,
    Select, StoreError, TransactGetAnswer, TransactGetRequest,
};
use std::collections::HashMap;

/// Capacity is always asked for, per index.
pub(crate) const CAPACITY: &str = "INDEXES";
/// The engine's word for a page of which only the count is asked.
const COUNT: &str = "COUNT";
/// The longest page that is read without leaving the caller's thread, in items.
const SMALL_QUERY_ITEMS_MAX: u32 = 25;

pub(crate) fn get(request: &GetRequest) -> Result<GetItemRequest> {
    let expressions = GetExpressions::new(&request.projection)?;
    Ok(GetItemRequest {
        table_name: request.table.clone(),
        key: item_to_engine(&request.key),
        consistent_read: Some(request.consistent),
        projection_expression: expressions.projection,
        expression_attribute_names: names(&expressions.placeholders),
        return_consumed_capacity: Some(CAPACITY.to_owned()),
        ..GetItemRequest::default()
    })
}

pub(crate) fn get_answer(answer: GetItemResponse) -> Result<GetAnswer> {
    Ok(GetAnswer {
        item: answer.item.map(item_from_engine).transpose()?,
        consumed: consumed(Counts::Reads, answer.consumed_capacity),
    })
}

pub(crate) fn batch_get(request: &BatchGetRequest) -> Result<BatchGetItemRequest> {
    render::check_batch_get(request)?;
    let mut request_items = HashMap::new();
    for table in &request.tables {
        let expressions = GetExpressions::new(&table.projection)?;
        let keys = KeysAndAttributes {
            keys: table.keys.iter().map(item_to_engine).collect(),
            projection_expression: expressions.projection,
            expression_attribute_names: names(&expressions.placeholders),
            consistent_read: Some(table.consistent),
            attributes_to_get: None,
        };
        request_items.insert(table.table.clone(), keys);
    }
    Ok(BatchGetItemRequest {
        request_items,
        return_consumed_capacity: Some(CAPACITY.to_owned()),
    })
}

pub(crate) fn batch_get_answer(request: &BatchGetRequest, answer: BatchGetItemResponse) -> Result<BatchGetAnswer> {
    let mut unprocessed = Vec::new();
    for (name, left) in &answer.unprocessed_keys {
        let Some(table) = request.tables.iter().find(|table| table.table == *name) else {
            continue;
        };
        let mut table = table.clone();
        table.keys = items_from_json(left.get("Keys"))?;
        unprocessed.push(table);
    }
    let items = answer
        .responses
        .into_iter()
        .map(|(table, items)| Ok((table, items_from_engine(items)?)));
    Ok(BatchGetAnswer {
        items: items.collect::<Result<_>>()?,
        unprocessed,
        consumed: consumed(Counts::Reads, answer.consumed_capacity.into_iter().flatten()),
    })
}

/// The engine gives what it left out as JSON.
fn items_from_json(json: Option<&serde_json::Value>) -> Result<Vec<Item>> {
    let items = json
        .and_then(serde_json::Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    items.iter().map(item_from_json).collect()
}

pub(crate) fn item_from_json(json: &serde_json::Value) -> Result<Item> {
    let failed = |error| StoreError::unavailable(format!("the engine answers what is no item: {error}"));
    let item: EngineItem = serde::Deserialize::deserialize(json).map_err(failed)?;
    item_from_engine(item)
}

/// A short page is as cheap as a few gets.
pub(crate) fn query_cost(request: &QueryRequest) -> Cost {
    match request.limit {
        Some(limit) if limit <= SMALL_QUERY_ITEMS_MAX => Cost::Small,
        _ => Cost::Large,
    }
}

/// The attributes that a page is asked for, where it is asked for nothing within one. The engine would copy each item for that;
/// here they are picked when the items are converted.
fn whole_attributes(select: &Select) -> Option<Vec<&str>> {
    match select {
        Select::Paths(paths) if !paths.is_empty() => paths
            .iter()
            .map(|path| path.inner_segments().is_empty().then(|| path.name()))
            .collect(),
        _ => None,
    }
}

pub(crate) fn query(request: &QueryRequest) -> Result<EngineQuery> {
    let expressions = match whole_attributes(&request.select) {
        Some(_) => PageExpressions::query_whole(request)?,
        None => PageExpressions::query_expressions(request)?,
    };
    Ok(EngineQuery {
        table_name: request.table.clone(),
        index_name: request.index.clone(),
        key_condition_expression: expressions.range,
        filter_expression: expressions.filter,
        projection_expression: expressions.projection,
        expression_attribute_names: names(&expressions.placeholders),
        expression_attribute_values: values(&expressions.placeholders),
        scan_index_forward: request.direction == Direction::Ascending,
        limit: request.limit.map(|limit| limit as usize),
        exclusive_start_key: request.start.as_ref().map(item_to_engine),
        select: expressions.count.then(|| COUNT.to_owned()),
        consistent_read: Some(request.consistent),
        return_consumed_capacity: Some(CAPACITY.to_owned()),
        ..EngineQuery::default()
    })
}

pub(crate) fn query_answer(request: &QueryRequest, answer: QueryResponse) -> Result<PageAnswer> {
    let items = answer.items.unwrap_or_default();
    Ok(PageAnswer {
        items: match whole_attributes(&request.select) {
            Some(names) => parts_from_engine(items, &names)?,
            None => items_from_engine(items)?,
        },
        count: answer.count,
        scanned: answer.scanned_count,
        last_key: answer.last_evaluated_key.map(item_from_engine).transpose()?,
        consumed: consumed(Counts::Reads, answer.consumed_capacity),
    })
}

pub(crate) fn scan(request: &ScanRequest) -> Result<EngineScan> {
    let expressions = PageExpressions::scan_expressions(request)?;
    Ok(EngineScan {
        table_name: request.table.clone(),
        index_name: request.index.clone(),
        filter_expression: expressions.filter,
        projection_expression: expressions.projection,
        expression_attribute_names: names(&expressions.placeholders),
        expression_attribute_values: values(&expressions.placeholders),
        limit: request.limit.map(|limit| limit as usize),
        exclusive_start_key: request.start.as_ref().map(item_to_engine),
        select: expressions.count.then(|| COUNT.to_owned()),
        consistent_read: Some(request.consistent),
        segment: request.segment.map(|segment| segment.index),
        total_segments: request.segment.map(|segment| segment.total),
        return_consumed_capacity: Some(CAPACITY.to_owned()),
        ..EngineScan::default()
    })
}

pub(crate) fn scan_answer(answer: ScanResponse) -> Result<PageAnswer> {
    Ok(PageAnswer {
        items: items_from_engine(answer.items.unwrap_or_default())?,
        count: answer.count,
        scanned: answer.scanned_count,
        last_key: answer.last_evaluated_key.map(item_from_engine).transpose()?,
        consumed: consumed(Counts::Reads, answer.consumed_capacity),
    })
}

pub(crate) fn transact_get(request: &TransactGetRequest) -> Result<TransactGetItemsRequest> {
    render::check_transact_get(request)?;
    let gets = request.gets.iter().map(|get| {
        let expressions = GetExpressions::new(&get.projection)?;
        Ok(TransactGetItem {
            get: EngineGet {
                table_name: get.table.clone(),
                key: item_to_engine(&get.key),
                projection_expression: expressions.projection,
                expression_attribute_names: names(&expressions.placeholders),
            },
        })
    });
    Ok(TransactGetItemsRequest {
        transact_items: gets.collect::<Result<_>>()?,
        return_consumed_capacity: Some(CAPACITY.to_owned()),
    })
}

pub(crate) fn transact_get_answer(
    request: &TransactGetRequest,
    answer: TransactGetItemsResponse,
) -> Result<TransactGetAnswer> {
    let items = answer
        .responses
        .into_iter()
        .map(|response| response.item.map(item_from_engine).transpose());
    let mut items = items.collect::<Result<Vec<_>>>()?;
    for (get, item) in request.gets.iter().zip(&mut items) {
        // The engine adds the key to what is projected. DynamoDB does not.
        if let Some(item) = item.as_mut().filter(|_| !get.projection.is_empty()) {
            item.retain(|name, _| get.projection.iter().any(|path| path.name() == name));
        }
    }
    Ok(TransactGetAnswer {
        items,
        consumed: consumed(Counts::Reads, answer.consumed_capacity.into_iter().flatten()),
    })
}

pub(crate) fn names(placeholders: &Placeholders) -> Option<HashMap<String, String>> {
    let names = &placeholders.names;
    (!names.is_empty()).then(|| names.iter().map(|(name, text)| (name.clone(), text.clone())).collect())
}

pub(crate) fn values(placeholders: &Placeholders) -> Option<HashMap<String, AttributeValue>> {
    let values = &placeholders.values;
    (!values.is_empty()).then(|| {
        values
            .iter()
            .map(|(name, value)| (name.clone(), value_to_engine(value)))
            .collect()
    })
}
