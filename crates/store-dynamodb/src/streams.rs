//! The change stream: shards hidden behind one position.

use crate::convert::item_from_stream;
use crate::error::from_sdk;
use crate::shards::{Place, Progress, ShardProgress};
use aws_sdk_dynamodbstreams::Client;
use aws_sdk_dynamodbstreams::operation::get_records::GetRecordsOutput;
use aws_sdk_dynamodbstreams::types::{OperationType, Record, Shard, ShardIteratorType};
use singlet_store::{
    Result, STREAM_PAGE_RECORDS_MAX, StoreError, StreamEvent, StreamPage, StreamPosition, StreamRecord, StreamRequest,
};

/// The most pages of shards that are listed; a page has up to 100.
const SHARD_PAGES_MAX: usize = 100;
/// The most shards that one page of records is read from.
const SHARDS_READ_MAX: usize = 32;

pub(crate) async fn read(client: &Client, arn: &str, request: &StreamRequest) -> Result<StreamPage> {
    if request.limit == 0 || request.limit > STREAM_PAGE_RECORDS_MAX {
        return Err(StoreError::bad_request(format!(
            "a page of a stream has 1 to {STREAM_PAGE_RECORDS_MAX} records, not {}",
            request.limit
        )));
    }
    let shards = list_shards(client, arn).await?;
    let mut progress = match &request.position {
        StreamPosition::Start => Progress::default(),
        StreamPosition::After(text) => Progress::from_text(text)?,
        StreamPosition::Latest => {
            let progress = latest(client, arn, &shards).await?;
            return Ok(page(Vec::new(), &progress));
        }
    };
    progress.follow(&shards);
    let mut records = Vec::new();
    read_shards(client, arn, &mut progress, &mut records, request.limit as usize).await?;
    Ok(page(records, &progress))
}

fn page(records: Vec<StreamRecord>, progress: &Progress) -> StreamPage {
    StreamPage {
        records,
        next: StreamPosition::After(progress.to_text()),
    }
}

/// Reads shards in turn until the page is full. Those that were read go to the back, so that a busy shard does not
/// starve the others.
async fn read_shards(
    client: &Client,
    arn: &str,
    progress: &mut Progress,
    records: &mut Vec<StreamRecord>,
    limit: usize,
) -> Result<()> {
    let (ended, open): (Vec<_>, Vec<_>) = progress.shards.drain(..).partition(|shard| shard.place == Place::End);
    let mut read = Vec::new();
    let mut unread = open.into_iter();
    while records.len() < limit && read.len() < SHARDS_READ_MAX {
        let Some(shard) = unread.next() else { break };
        read.push(read_shard(client, arn, shard, records, limit - records.len()).await?);
    }
    progress.shards.extend(unread.chain(read).chain(ended));
    Ok(())
}

async fn read_shard(
    client: &Client,
    arn: &str,
    progress: ShardProgress,
    records: &mut Vec<StreamRecord>,
    limit: usize,
) -> Result<ShardProgress> {
    let answer = records_at(client, arn, &progress, limit).await?;
    let found: Vec<StreamRecord> = answer
        .records
        .into_iter()
        .flatten()
        .map(record)
        .collect::<Result<_>>()?;
    let (place, iterator) = match (answer.next_shard_iterator, found.last()) {
        (None, _) => (Place::End, None),
        (Some(_), Some(last)) => (Place::After(last.sequence.clone()), None),
        // Nothing was found here, but the endpoint has moved on within the shard.
        (Some(next), None) => (progress.place, Some(next)),
    };
    records.extend(found);
    Ok(ShardProgress {
        shard: progress.shard,
        place,
        iterator,
    })
}

/// Reads at the iterator that is kept, or, if there is none or the endpoint forgot it, at the place.
async fn records_at(client: &Client, arn: &str, progress: &ShardProgress, limit: usize) -> Result<GetRecordsOutput> {
    let limit = i32::try_from(limit).unwrap_or(i32::MAX);
    let read = async |iterator: String| client.get_records().shard_iterator(iterator).limit(limit).send().await;
    if let Some(iterator) = &progress.iterator {
        match read(iterator.clone()).await.map_err(from_sdk) {
            Err(error) if error.is_position_lost() && progress.place != Place::Latest => {}
            answer => return answer,
        }
    }
    let (kind, sequence) = match &progress.place {
        Place::After(sequence) => (ShardIteratorType::AfterSequenceNumber, Some(sequence.clone())),
        Place::Latest => (ShardIteratorType::Latest, None),
        Place::Start | Place::End => (ShardIteratorType::TrimHorizon, None),
    };
    let iterator = iterator(client, arn, &progress.shard, kind, sequence).await?;
    read(iterator).await.map_err(from_sdk)
}

async fn iterator(
    client: &Client,
    arn: &str,
    shard: &str,
    kind: ShardIteratorType,
    sequence: Option<String>,
) -> Result<String> {
    let answer = client
        .get_shard_iterator()
        .stream_arn(arn)
        .shard_id(shard)
        .shard_iterator_type(kind)
        .set_sequence_number(sequence)
        .send()
        .await
        .map_err(from_sdk)?;
    answer
        .shard_iterator
        .ok_or_else(|| StoreError::unavailable(format!("shard `{shard}` gave no iterator")))
}

/// Closed shards are at their end; open ones are read from their newest place on.
async fn latest(client: &Client, arn: &str, shards: &[Shard]) -> Result<Progress> {
    let mut progress = Progress::default();
    for shard in shards {
        let Some(id) = shard.shard_id() else { continue };
        let range = shard.sequence_number_range();
        let (place, iterator) = match range.and_then(|range| range.ending_sequence_number()) {
            Some(_) => (Place::End, None),
            None => (
                Place::Latest,
                Some(iterator(client, arn, id, ShardIteratorType::Latest, None).await?),
            ),
        };
        progress.shards.push(ShardProgress {
            shard: id.to_owned(),
            place,
            iterator,
        });
    }
    Ok(progress)
}

async fn list_shards(client: &Client, arn: &str) -> Result<Vec<Shard>> {
    let mut shards = Vec::new();
    let mut start = None;
    for _ in 0..SHARD_PAGES_MAX {
        let request = client
            .describe_stream()
            .stream_arn(arn)
            .set_exclusive_start_shard_id(start);
        let Some(description) = request.send().await.map_err(from_sdk)?.stream_description else {
            break;
        };
        shards.extend(description.shards.into_iter().flatten());
        start = description.last_evaluated_shard_id;
        if start.is_none() {
            break;
        }
    }
    Ok(shards)
}

fn record(record: Record) -> Result<StreamRecord> {
    let Some(change) = record.dynamodb else {
        return Err(StoreError::unavailable("a record of the stream says nothing"));
    };
    Ok(StreamRecord {
        event: match record.event_name {
            Some(OperationType::Insert) => StreamEvent::Insert,
            Some(OperationType::Modify) => StreamEvent::Modify,
            Some(OperationType::Remove) => StreamEvent::Remove,
            _ => return Err(StoreError::unavailable("a record of the stream is of an unknown kind")),
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
