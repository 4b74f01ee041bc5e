//! Batches of gets and of writes.

use serde_json::{Map, Value as Json, json};
use singlet_item::Item;
use singlet_item::limits::{BATCH_GET_ITEMS_MAX, BATCH_WRITE_ITEMS_MAX};
use singlet_store::{BatchGetRequest, BatchGetTable, BatchWrite, BatchWriteRequest, Consumed};

use crate::capacity::{self, CapacityMode, NamedUnits};
use crate::endpoint::Endpoint;
use crate::fault::Fault;
use crate::input::{CAPACITY_MODES, Constraints, Input, METRICS_MODES, check_name, check_unmixed, name_of_arn};
use crate::items::{read_item, read_projection};
use crate::{schema, value};

const DUPLICATES: &str = "Provided list of item keys contains duplicates";

fn check_shape(input: &Input<'_>) -> Result<(), Fault> {
    let mut constraints = Constraints::default();
    constraints.one_of(
        input.text("ReturnConsumedCapacity")?,
        "returnConsumedCapacity",
        &CAPACITY_MODES,
    );
    constraints.one_of(
        input.text("ReturnItemCollectionMetrics")?,
        "returnItemCollectionMetrics",
        &METRICS_MODES,
    );
    for name in input
        .object("RequestItems")?
        .into_iter()
        .flatten()
        .map(|(name, _)| name)
    {
        check_name(&mut constraints, name_of_arn(name).unwrap_or(name), "requestItems", 3);
    }
    constraints.finish()
}

fn request_items<'a>(input: &Input<'a>, call: &str) -> Result<&'a Map<String, Json>, Fault> {
    match input.object("RequestItems")?.filter(|tables| !tables.is_empty()) {
        Some(tables) => Ok(tables),
        None => Err(Fault::validation_fault(format!(
            "The requestItems parameter is required for {call}"
        ))),
    }
}

pub(crate) async fn batch_get_item(endpoint: &Endpoint, input: &Input<'_>) -> Result<Json, Fault> {
    let tables = request_items(input, "BatchGetItem")?;
    check_shape(input)?;
    let mode = CapacityMode::of(input)?;
    let request = BatchGetRequest {
        tables: tables
            .iter()
            .map(|(name, asked)| read_table(name, &Input::of(asked)?))
            .collect::<Result<_, Fault>>()?,
    };
    if request.tables.iter().map(|table| table.keys.len()).sum::<usize>() > BATCH_GET_ITEMS_MAX {
        return Err(Fault::validation_fault(
            "Too many items requested for the BatchGetItem call",
        ));
    }
    let mut described = Vec::new();
    for asked in &request.tables {
        let table = endpoint.table(&asked.table).await?;
        for key in &asked.keys {
            schema::check_key(&table.spec, key)?;
        }
        described.push(table);
    }
    let answer = endpoint.store.batch_get(&request).await?;
    let responses: Map<String, Json> = request
        .tables
        .iter()
        .map(|asked| {
            let items = answer.items.get(&asked.table).into_iter().flatten();
            (asked.table.clone(), items.map(value::item_json).collect())
        })
        .collect();
    let mut unprocessed = Map::new();
    for left in &answer.unprocessed {
        // What is left is asked for again as it was asked for, by a name or an ARN.
        let asked = tables
            .iter()
            .find(|(name, _)| name_of_arn(name).unwrap_or(name) == left.table);
        let mut again = asked.map_or_else(|| json!({}), |(_, asked)| asked.clone());
        if let Json::Object(again) = &mut again {
            again.insert("Keys".to_owned(), left.keys.iter().map(value::item_json).collect());
        }
        unprocessed.insert(left.table.clone(), again);
    }
    let mut json = json!({ "Responses": responses, "UnprocessedKeys": unprocessed });
    add_consumed(&mut json, mode, &described, &answer.consumed);
    Ok(json)
}

fn read_table(name: &str, asked: &Input<'_>) -> Result<BatchGetTable, Fault> {
    let keys = asked.list("Keys")?.unwrap_or_default();
    let mut constraints = Constraints::default();
    if keys.len() > BATCH_GET_ITEMS_MAX {
        constraints.add_words(format!(
            "Value at 'RequestItems.{name}.member.Keys' failed to satisfy constraint: Member must have length less \
             than or equal to {BATCH_GET_ITEMS_MAX}"
        ));
    }
    if keys.is_empty() {
        constraints.add_words(format!(
            "Value at 'RequestItems.{name}.member.Keys' failed to satisfy constraint: Member must have length greater \
             than or equal to 1"
        ));
    }
    constraints.finish()?;
    check_unmixed(asked, &["AttributesToGet"], &["ProjectionExpression"])?;
    let mut read: Vec<Item> = Vec::with_capacity(keys.len());
    for key in keys {
        let Json::Object(members) = key else {
            return Err(Fault::serialization_of(key, "Map"));
        };
        let key = value::item_of(members)?;
        if read.contains(&key) {
            return Err(Fault::validation_fault(DUPLICATES));
        }
        read.push(key);
    }
    Ok(BatchGetTable {
        table: name_of_arn(name).unwrap_or(name).to_owned(),
        keys: read,
        consistent: asked.flag("ConsistentRead")?.unwrap_or_default(),
        projection: read_projection(asked)?.into(),
    })
}

pub(crate) async fn batch_write_item(endpoint: &Endpoint, input: &Input<'_>) -> Result<Json, Fault> {
    let tables = request_items(input, "BatchWriteItem")?;
    check_shape(input)?;
    check_counts(tables)?;
    let mode = CapacityMode::of(input)?;
    let with_metrics = input.text("ReturnItemCollectionMetrics")? == Some("SIZE");
    let mut writes = Vec::new();
    for (name, requests) in tables {
        let table = name_of_arn(name).unwrap_or(name);
        for request in list_of(requests)? {
            writes.push(read_write(table, &Input::of(request)?)?);
        }
    }
    if writes.len() > BATCH_WRITE_ITEMS_MAX {
        return Err(Fault::validation_fault(
            "Too many items requested for the BatchWriteItem call",
        ));
    }
    let request = BatchWriteRequest { writes };
    let mut described = Vec::new();
    for name in tables.keys() {
        let name = name_of_arn(name).unwrap_or(name);
        endpoint.check_writable(name)?;
        described.push(endpoint.table(name).await?);
    }
    let mut keys: Vec<(&str, Item)> = Vec::new();
    let mut metrics: Map<String, Json> = Map::new();
    for write in &request.writes {
        let (BatchWrite::Put { table, item } | BatchWrite::Delete { table, key: item }) = write;
        let Some(description) = described.iter().find(|known| known.spec.name == *table) else {
            continue;
        };
        match write {
            BatchWrite::Put { .. } => schema::check_item(&description.spec, item)?,
            BatchWrite::Delete { .. } => schema::check_key(&description.spec, item)?,
        }
        let names = description.spec.key.attributes();
        let key: Item = names
            .filter_map(|attribute| Some((attribute.name.clone(), item.get(&attribute.name)?.clone())))
            .collect();
        if keys.contains(&(table.as_str(), key.clone())) {
            return Err(Fault::validation_fault(DUPLICATES));
        }
        keys.push((table, key));
        if let Some(collection) = capacity::touched_collection(description, item).filter(|_| with_metrics) {
            let list = metrics.entry(table.clone()).or_insert_with(|| json!([]));
            if let Json::Array(list) = list {
                list.push(collection);
            }
        }
    }
    let answer = endpoint.store.batch_write(&request).await?;
    let mut json = json!({ "UnprocessedItems": unprocessed(&answer.unprocessed) });
    if let (Json::Object(json), false) = (&mut json, metrics.is_empty()) {
        json.insert("ItemCollectionMetrics".to_owned(), Json::Object(metrics));
    }
    add_consumed(&mut json, mode, &described, &answer.consumed);
    Ok(json)
}

fn list_of(requests: &Json) -> Result<&[Json], Fault> {
    match requests {
        Json::Array(requests) => Ok(requests),
        other => Err(Fault::serialization_of(other, "List")),
    }
}

fn check_counts(tables: &Map<String, Json>) -> Result<(), Fault> {
    let mut constraints = Constraints::default();
    for requests in tables.values() {
        let requests = list_of(requests)?;
        if requests.is_empty() || requests.len() > BATCH_WRITE_ITEMS_MAX {
            let shown: Vec<String> = tables
                .iter()
                .map(|(name, requests)| format!("{name}={requests}"))
                .collect();
            constraints.add_failure(
                Some(&format!("{{{}}}", shown.join(", "))),
                "requestItems",
                "Map value must satisfy constraint: [Member must have length less than or equal to 25, Member must \
                 have length greater than or equal to 1]",
            );
            break;
        }
    }
    constraints.finish()
}

fn read_write(table: &str, request: &Input<'_>) -> Result<BatchWrite, Fault> {
    match (request.inner("PutRequest")?, request.inner("DeleteRequest")?) {
        (Some(put), None) => Ok(BatchWrite::Put {
            table: table.to_owned(),
            item: read_item(&put, "Item")?,
        }),
        (None, Some(delete)) => Ok(BatchWrite::Delete {
            table: table.to_owned(),
            key: read_item(&delete, "Key")?,
        }),
        _ => Err(Fault::validation_fault(
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported \
             datatypes",
        )),
    }
}

fn unprocessed(writes: &[BatchWrite]) -> Map<String, Json> {
    let mut tables: Map<String, Json> = Map::new();
    for write in writes {
        let (table, request) = match write {
            BatchWrite::Put { table, item } => (table, json!({ "PutRequest": { "Item": value::item_json(item) } })),
            BatchWrite::Delete { table, key } => (table, json!({ "DeleteRequest": { "Key": value::item_json(key) } })),
        };
        if let Json::Array(list) = tables.entry(table.clone()).or_insert_with(|| json!([])) {
            list.push(request);
        }
    }
    tables
}

/// What each table consumed, where that was asked for.
fn add_consumed(
    json: &mut Json,
    mode: CapacityMode,
    described: &[std::sync::Arc<singlet_store::TableDescription>],
    consumed: &Consumed,
) {
    let all: Vec<Json> = described
        .iter()
        .filter_map(|table| capacity::of_table(mode, NamedUnits::Sum, table, consumed))
        .collect();
    if let (Json::Object(json), false) = (json, all.is_empty()) {
        json.insert("ConsumedCapacity".to_owned(), Json::Array(all));
    }
}
