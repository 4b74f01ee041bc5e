//! Streams. A table's stream is one shard that stays open: a store gives its changes in one order.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value as Json, json};
use singlet_item::item_size_bytes;
use singlet_store::{
    STREAM_PAGE_RECORDS_MAX, StreamEvent, StreamPosition, StreamRecord, StreamRequest, StreamView, TableDescription,
};

use crate::describe::{key_schema, stream_label};
use crate::endpoint::Endpoint;
use crate::fault::{Fault, FaultKind};
use crate::input::{Constraints, Input, name_of_arn, table_name};
use crate::schema::invalid_values;
use crate::value::item_json;

/// The most streams of one page.
const PAGE_STREAMS_MAX: i64 = 100;
/// The most pages that are read to find a sequence number.
const SEARCH_PAGES_MAX: usize = 10_000;
/// The most bytes of one page of records; a single record may have more.
const PAGE_BYTES_MAX: usize = 1024 * 1024;
/// DynamoDB's sequence numbers have at least this many digits, and SDKs insist.
const SEQUENCE_DIGITS_MIN: usize = 21;

fn shard_id(table: &TableDescription) -> String {
    format!("shardId-{:020}-00000000", table.created_at_seconds.unwrap_or_default())
}

/// The table of a stream that is on.
async fn stream_of(endpoint: &Endpoint, arn: &str) -> Result<(TableDescription, StreamView), Fault> {
    let missing = || Fault::not_found(format!("Requested resource not found: Stream: {arn} not found"));
    let rest = name_of_arn(arn).ok_or_else(|| Fault::validation_fault("Invalid StreamArn"))?;
    let (table, label) = rest.split_once("/stream/").ok_or_else(missing)?;
    let table = endpoint
        .store
        .describe_table(table)
        .await
        .map_err(|error| match error.is_not_found() {
            true => missing(),
            false => error.into(),
        })?;
    match table.spec.stream {
        // A table that was made anew has another label: an iterator of the old one must not go on in it.
        Some(view) if stream_label(&table) == label => Ok((table, view)),
        _ => Err(missing()),
    }
}

fn required<'a>(input: &Input<'a>, name: &str, place: &str) -> Result<&'a str, Fault> {
    let value = input.text(name)?;
    let mut constraints = Constraints::default();
    constraints.not_null(value.is_some(), place);
    constraints.finish()?;
    Ok(value.unwrap_or_default())
}

pub(crate) async fn list_streams(endpoint: &Endpoint, input: &Input<'_>) -> Result<Json, Fault> {
    let limit = input.integer("Limit")?;
    let mut constraints = Constraints::default();
    constraints.at_least(limit, "limit", 1);
    constraints.finish()?;
    let limit = usize::try_from(limit.unwrap_or(PAGE_STREAMS_MAX).min(PAGE_STREAMS_MAX)).unwrap_or_default();
    let names = match input.has("TableName") {
        true => vec![table_name(input, 1)?],
        false => endpoint.store.list_tables().await?,
    };
    let start = input.text("ExclusiveStartStreamArn")?;
    let start_table = start.and_then(name_of_arn).and_then(|rest| rest.split('/').next());
    let mut streams: Vec<Json> = Vec::new();
    let mut last = None;
    for name in names {
        if start_table.is_some_and(|start| name.as_str() <= start) {
            continue;
        }
        let table = match endpoint.store.describe_table(&name).await {
            Ok(table) => table,
            Err(error) if error.is_not_found() => continue,
            Err(error) => return Err(error.into()),
        };
        if table.spec.stream.is_none() {
            continue;
        }
        if streams.len() == limit {
            let json = json!({ "Streams": streams, "LastEvaluatedStreamArn": last });
            return Ok(json);
        }
        let arn = endpoint.stream_arn(&table);
        streams.push(json!({ "StreamArn": arn, "TableName": name, "StreamLabel": stream_label(&table) }));
        last = Some(arn);
    }
    Ok(json!({ "Streams": streams }))
}

pub(crate) async fn describe_stream(endpoint: &Endpoint, input: &Input<'_>) -> Result<Json, Fault> {
    let arn = required(input, "StreamArn", "streamArn")?;
    let (table, view) = stream_of(endpoint, arn).await?;
    let id = shard_id(&table);
    let request = StreamRequest {
        table: table.spec.name.clone(),
        position: StreamPosition::Start,
        limit: 1,
    };
    let oldest = endpoint.store.read_stream(&request).await?;
    let first = oldest.records.first().map_or("0", |record| record.sequence.as_str());
    let shards = match input.text("ExclusiveStartShardId")? == Some(id.as_str()) {
        true => json!([]),
        false => json!([{
            "ShardId": id,
            "SequenceNumberRange": { "StartingSequenceNumber": sequence(first) },
        }]),
    };
    Ok(json!({ "StreamDescription": {
        "StreamArn": arn,
        "StreamLabel": stream_label(&table),
        "StreamStatus": "ENABLED",
        "StreamViewType": view.word(),
        "CreationRequestDateTime": table.created_at_seconds.unwrap_or_default(),
        "TableName": table.spec.name,
        "KeySchema": key_schema(&table.spec.key),
        "Shards": shards,
    } }))
}

/// A sequence number as long as DynamoDB's.
fn sequence(number: &str) -> String {
    format!("{number:0>SEQUENCE_DIGITS_MIN$}")
}

pub(crate) async fn shard_iterator(endpoint: &Endpoint, input: &Input<'_>) -> Result<Json, Fault> {
    const KINDS: [&str; 4] = ["AFTER_SEQUENCE_NUMBER", "LATEST", "AT_SEQUENCE_NUMBER", "TRIM_HORIZON"];
    let arn = required(input, "StreamArn", "streamArn")?;
    let shard = required(input, "ShardId", "shardId")?;
    let kind = required(input, "ShardIteratorType", "shardIteratorType")?;
    let mut constraints = Constraints::default();
    constraints.one_of(Some(kind), "shardIteratorType", &KINDS);
    constraints.finish()?;
    let wanted = input.text("SequenceNumber")?;
    let (table, _) = stream_of(endpoint, arn).await?;
    if shard != shard_id(&table) {
        return Err(Fault::not_found(format!(
            "Requested resource not found: Shard does not exist: {shard}"
        )));
    }
    let position = match (kind, wanted) {
        ("AT_SEQUENCE_NUMBER" | "AFTER_SEQUENCE_NUMBER", Some(wanted)) => {
            find(endpoint, &table, wanted, kind == "AFTER_SEQUENCE_NUMBER").await?
        }
        ("AT_SEQUENCE_NUMBER" | "AFTER_SEQUENCE_NUMBER", None) => {
            return Err(invalid_values("SequenceNumber cannot be null"));
        }
        (_, Some(_)) => {
            return Err(invalid_values(
                "SequenceNumber should not be passed for this iterator type",
            ));
        }
        ("LATEST", None) => {
            // What is latest is decided now, not when records are asked for.
            let request = StreamRequest {
                table: table.spec.name.clone(),
                position: StreamPosition::Latest,
                limit: 1,
            };
            endpoint.store.read_stream(&request).await?.next
        }
        _ => StreamPosition::Start,
    };
    Ok(json!({ "ShardIterator": written(arn, &position) }))
}

/// The position at a change or after it, found by reading: a store's positions are its own.
async fn find(
    endpoint: &Endpoint,
    table: &TableDescription,
    wanted: &str,
    is_after: bool,
) -> Result<StreamPosition, Fault> {
    let mut position = StreamPosition::Start;
    let wanted = sequence(wanted);
    for _ in 0..SEARCH_PAGES_MAX {
        let mut request = StreamRequest {
            table: table.spec.name.clone(),
            position: position.clone(),
            limit: STREAM_PAGE_RECORDS_MAX,
        };
        let page = endpoint.store.read_stream(&request).await?;
        let found = page
            .records
            .iter()
            .position(|record| sequence(&record.sequence) == wanted);
        match found {
            None if page.records.is_empty() && page.next == position => break,
            None => position = page.next,
            Some(before) => {
                let taken = u32::try_from(before + usize::from(is_after)).unwrap_or(STREAM_PAGE_RECORDS_MAX);
                if taken == 0 {
                    return Ok(position);
                }
                request.limit = taken;
                return Ok(endpoint.store.read_stream(&request).await?.next);
            }
        }
    }
    Err(Fault::new(
        FaultKind::Trimmed,
        "The operation attempted to read past the oldest stream record in a shard: the sequence number is not kept",
    ))
}

/// An iterator: the stream and the position in it, so that it outlives this process.
fn written(arn: &str, position: &StreamPosition) -> String {
    let position = match position {
        StreamPosition::Start => json!({}),
        StreamPosition::Latest => json!({ "latest": true }),
        StreamPosition::After(place) => json!({ "after": place }),
    };
    let inner = json!({ "stream": arn, "position": position }).to_string();
    format!("{arn}|1|{}", URL_SAFE_NO_PAD.encode(inner))
}

fn read(iterator: &str) -> Option<(String, StreamPosition)> {
    let encoded = iterator.rsplit('|').next()?;
    let inner: Json = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(encoded).ok()?).ok()?;
    let arn = inner.get("stream")?.as_str()?.to_owned();
    let position = inner.get("position")?;
    let position = match (position.get("after"), position.get("latest")) {
        (Some(after), _) => StreamPosition::After(after.as_str()?.to_owned()),
        (None, Some(_)) => StreamPosition::Latest,
        (None, None) => StreamPosition::Start,
    };
    Some((arn, position))
}

pub(crate) async fn stream_records(endpoint: &Endpoint, input: &Input<'_>) -> Result<Json, Fault> {
    let iterator = required(input, "ShardIterator", "shardIterator")?;
    let limit = input.integer("Limit")?;
    let mut constraints = Constraints::default();
    constraints.at_least(limit, "limit", 1);
    if let Some(limit) = limit.filter(|limit| *limit > i64::from(STREAM_PAGE_RECORDS_MAX)) {
        let words = format!("Member must have value less than or equal to {STREAM_PAGE_RECORDS_MAX}");
        constraints.add_failure(Some(&limit.to_string()), "limit", &words);
    }
    constraints.finish()?;
    let Some((arn, position)) = read(iterator) else {
        return Err(Fault::validation_fault("Invalid ShardIterator"));
    };
    let (table, view) = stream_of(endpoint, &arn).await?;
    let mut request = StreamRequest {
        table: table.spec.name.clone(),
        position,
        limit: limit
            .and_then(|limit| u32::try_from(limit).ok())
            .unwrap_or(STREAM_PAGE_RECORDS_MAX),
    };
    let mut page = endpoint.store.read_stream(&request).await?;
    let fitting = fitting(&page.records, PAGE_BYTES_MAX);
    if fitting < page.records.len() {
        // Where a page ends only the store knows, so it is asked for the shorter one.
        request.limit = u32::try_from(fitting).unwrap_or(1);
        page = endpoint.store.read_stream(&request).await?;
    }
    let records: Vec<Json> = page
        .records
        .iter()
        .map(|record| record_json(&endpoint.settings.region, view, record))
        .collect();
    Ok(json!({ "Records": records, "NextShardIterator": written(&arn, &page.next) }))
}

/// How many records one page holds, at least one.
fn fitting(records: &[StreamRecord], most: usize) -> usize {
    let mut bytes = 0;
    let taken = records.iter().take_while(|record| {
        let images = record.new.iter().chain(&record.old);
        bytes += item_size_bytes(&record.key) + images.map(item_size_bytes).sum::<usize>();
        bytes <= most
    });
    taken.count().max(1)
}

fn record_json(region: &str, view: StreamView, record: &StreamRecord) -> Json {
    let mut change = Map::new();
    change.insert("ApproximateCreationDateTime".to_owned(), json!(record.at_seconds));
    change.insert("Keys".to_owned(), item_json(&record.key));
    let mut bytes = item_size_bytes(&record.key);
    for (name, image) in [("NewImage", &record.new), ("OldImage", &record.old)] {
        if let Some(image) = image {
            bytes += item_size_bytes(image);
            change.insert(name.to_owned(), item_json(image));
        }
    }
    change.insert("SequenceNumber".to_owned(), json!(sequence(&record.sequence)));
    change.insert("SizeBytes".to_owned(), json!(bytes));
    change.insert("StreamViewType".to_owned(), json!(view.word()));
    let event = match record.event {
        StreamEvent::Insert => "INSERT",
        StreamEvent::Modify => "MODIFY",
        StreamEvent::Remove => "REMOVE",
    };
    let mut json = json!({
        "eventID": format!("{:0>32}", record.sequence),
        "eventName": event,
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": region,
        "dynamodb": change,
    });
    if let (Json::Object(json), true) = (&mut json, record.expired) {
        let identity = json!({ "PrincipalId": "dynamodb.amazonaws.com", "Type": "Service" });
        json.insert("userIdentity".to_owned(), identity);
    }
    json
}

#[cfg(test)]
mod tests {
    use super::*;
    use singlet_item::{Item, Value};

    #[test]
    fn a_page_ends_before_its_bytes_do_and_has_a_record() {
        let record = |bytes: usize| StreamRecord {
            sequence: String::new(),
            event: StreamEvent::Insert,
            key: Item::new(),
            old: None,
            // The name and its value.
            new: Some(Item::from([("a".to_owned(), Value::S("x".repeat(bytes - 1)))])),
            at_seconds: 0,
            expired: false,
        };
        assert_eq!(fitting(&[], 10), 1);
        assert_eq!(fitting(&[record(50)], 10), 1);
        assert_eq!(fitting(&[record(5), record(5), record(1)], 10), 2);
        assert_eq!(fitting(&[record(5), record(6)], 10), 1);
    }

    #[test]
    fn an_iterator_is_read_as_it_was_written() {
        for position in [
            StreamPosition::Start,
            StreamPosition::Latest,
            StreamPosition::After("a|b".to_owned()),
        ] {
            let iterator = written("arn", &position);
            assert_eq!(read(&iterator), Some(("arn".to_owned(), position)));
        }
        for wrong in ["", "|", "arn|1|", "arn|1|e30", "arn|1|%"] {
            assert_eq!(read(wrong), None);
        }
    }
}
