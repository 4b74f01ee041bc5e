//! The calls of a stream, sent with the SDK.

use async_trait::async_trait;
use aws_sdk_dynamodbstreams::Client;
use aws_sdk_dynamodbstreams::types::{OperationType, Record, ShardIteratorType};
use singlet_store::{Result, StoreError, StreamEvent, StreamRecord};

use crate::convert::item_from_stream;
use crate::error::from_sdk;
use crate::shards::{Shard, ShardPlace};
use crate::streams::ShardCalls;

#[async_trait]
impl ShardCalls for Client {
    async fn list_shards(&self, stream: &str, after: Option<String>) -> Result<(Vec<Shard>, Option<String>)> {
        let request = self
            .describe_stream()
            .stream_arn(stream)
            .set_exclusive_start_shard_id(after);
        let answer = request.send().await.map_err(from_sdk)?;
        let description = answer.stream_description;
        let description =
            description.ok_or_else(|| StoreError::unavailable("the endpoint does not describe the stream"))?;
        let shards = description.shards.unwrap_or_default().into_iter();
        let shards = shards.filter_map(|shard| {
            let range = shard.sequence_number_range;
            Some(Shard {
                id: shard.shard_id?,
                parent: shard.parent_shard_id,
                is_closed: range.is_some_and(|range| range.ending_sequence_number.is_some()),
            })
        });
        Ok((shards.collect(), description.last_evaluated_shard_id))
    }

    async fn open_iterator(&self, stream: &str, shard: &str, place: &ShardPlace) -> Result<String> {
        let (kind, sequence) = match place {
            ShardPlace::After(sequence) => (ShardIteratorType::AfterSequenceNumber, Some(sequence.clone())),
            // From the oldest that is kept, also for a shard that has just opened: `Latest` would skip what is in it.
            ShardPlace::Perhaps | ShardPlace::Start | ShardPlace::End => (ShardIteratorType::TrimHorizon, None),
        };
        let request = self
            .get_shard_iterator()
            .stream_arn(stream)
            .shard_id(shard)
            .shard_iterator_type(kind)
            .set_sequence_number(sequence);
        let answer = request.send().await.map_err(from_sdk)?;
        answer
            .shard_iterator
            .ok_or_else(|| StoreError::unavailable(format!("shard `{shard}` gave no iterator")))
    }

    async fn read_iterator(&self, iterator: &str, limit: usize) -> Result<(Vec<StreamRecord>, Option<String>)> {
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let request = self.get_records().shard_iterator(iterator).limit(limit);
        let answer = request.send().await.map_err(from_sdk)?;
        let records = answer.records.into_iter().flatten().map(record);
        Ok((records.collect::<Result<_>>()?, answer.next_shard_iterator))
    }
}

fn record(record: Record) -> Result<StreamRecord> {
    let Some(change) = record.dynamodb else {
        return Err(StoreError::unavailable("a record of the stream says nothing"));
    };
    let images = (change.old_image.is_some(), change.new_image.is_some());
    Ok(StreamRecord {
        event: match (record.event_name, images) {
            (Some(OperationType::Insert), _) => StreamEvent::Insert,
            (Some(OperationType::Modify), _) => StreamEvent::Modify,
            (Some(OperationType::Remove), _) => StreamEvent::Remove,
            // DynamoDB Local tells what has expired as `UNKNOWN_TO_SDK_VERSION`: what an item was and is says what happened to it.
            (_, (false, true)) => StreamEvent::Insert,
            (_, (true, true)) => StreamEvent::Modify,
            (_, (true, false)) => StreamEvent::Remove,
            (_, (false, false)) => return Err(StoreError::unavailable("a record of the stream is of an unknown kind")),
        },
        key: item_from_stream(change.keys.unwrap_or_default())?,
        old: change.old_image.map(item_from_stream).transpose()?,
        new: change.new_image.map(item_from_stream).transpose()?,
        sequence: change.sequence_number.unwrap_or_default(),
        at_seconds: change.approximate_creation_date_time.map_or(0, |time| time.secs()),
        // Only the service itself is named, and it deletes only what has expired.
        expired: record.user_identity.is_some(),
    })
}
