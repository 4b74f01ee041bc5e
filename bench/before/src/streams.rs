//! The change stream. The engine has one shard per table, so a position is the number of the last change read.

use crate::convert::item_from_engine;
use dynoxide::Database;
use dynoxide::actions::describe_stream::DescribeStreamRequest;
use dynoxide::actions::get_records::{GetRecordsRequest, Record};
use dynoxide::actions::get_shard_iterator::GetShardIteratorRequest;
use dynoxide::streams::{shard_id, stream_arn};
use singlet_store::{
    Result, STREAM_PAGE_RECORDS_MAX, StoreError, StreamEvent, StreamPage, StreamPosition, StreamRecord, StreamRequest,
};

/// One reading of a stream.
pub(crate) struct Reading {
    table: String,
    position: StreamPosition,
    limit: usize,
}

/// What a reading found.
pub(crate) struct Found {
    records: Vec<Record>,
    /// The newest change there was, where only what comes after it was asked for.
    newest: Option<String>,
}

impl Reading {
    pub(crate) fn new(request: &StreamRequest) -> Result<Self> {
        if request.limit == 0 || request.limit > STREAM_PAGE_RECORDS_MAX {
            return Err(StoreError::bad_request(format!(
                "a page of a stream has 1 to {STREAM_PAGE_RECORDS_MAX} records, not {}",
                request.limit
            )));
        }
        Ok(Self {
            table: request.table.clone(),
            position: request.position.clone(),
            limit: request.limit as usize,
        })
    }

    pub(crate) fn records(self, database: &Database) -> dynoxide::Result<Found> {
        let (kind, sequence_number) = match self.position {
            StreamPosition::Start => ("TRIM_HORIZON", None),
            StreamPosition::After(sequence) => ("AFTER_SEQUENCE_NUMBER", Some(sequence)),
            StreamPosition::Latest => {
                let newest = newest(database, &self.table)?;
                return Ok(Found {
                    records: Vec::new(),
                    newest,
                });
            }
        };
        let iterator = database.get_shard_iterator(GetShardIteratorRequest {
            // The engine reads only the name of the table out of it.
            stream_arn: stream_arn(&self.table, ""),
            shard_id: shard_id(&self.table),
            shard_iterator_type: kind.to_owned(),
            sequence_number,
        })?;
        let page = database.get_records(GetRecordsRequest {
            shard_iterator: iterator.shard_iterator.unwrap_or_default(),
            limit: Some(self.limit),
        })?;
        Ok(Found {
            records: page.records,
            newest: None,
        })
    }
}

fn newest(database: &Database, table: &str) -> dynoxide::Result<Option<String>> {
    let description = database.describe_stream(DescribeStreamRequest {
        stream_arn: stream_arn(table, ""),
        ..DescribeStreamRequest::default()
    })?;
    let shard = description.stream_description.shards.into_iter().next();
    Ok(shard.and_then(|shard| shard.sequence_number_range.ending_sequence_number))
}

pub(crate) fn page(position: StreamPosition, found: Found) -> Result<StreamPage> {
    let mut records: Vec<StreamRecord> = found.records.into_iter().map(record).collect::<Result<_>>()?;
    let last = records.last().map(|record| record.sequence.clone()).or(found.newest);
    let next = match (last, position) {
        (Some(sequence), _) => StreamPosition::After(sequence),
        // The stream is empty: all that will ever be in it comes after now.
        (None, StreamPosition::Latest) => StreamPosition::Start,
        (None, position) => position,
    };
    // The engine tells of puts that change nothing. DynamoDB does not, and a listener must not act on them.
    records.retain(|record| record.old.is_none() || record.old != record.new);
    Ok(StreamPage {
        records,
        next,
        began_at_seconds: None,
    })
}

fn record(record: Record) -> Result<StreamRecord> {
    let change = record.dynamodb;
    Ok(StreamRecord {
        event: match record.event_name.as_str() {
            "INSERT" => StreamEvent::Insert,
            "MODIFY" => StreamEvent::Modify,
            "REMOVE" => StreamEvent::Remove,
            other => {
                return Err(StoreError::unavailable(format!(
                    "the engine reports the unknown change `{other}`"
                )));
            }
        },
        key: item_from_engine(change.keys)?,
        old: change.old_image.map(item_from_engine).transpose()?,
        new: change.new_image.map(item_from_engine).transpose()?,
        sequence: change.sequence_number,
        at_seconds: change.approximate_creation_date_time as i64,
        expired: record.user_identity.is_some(),
    })
}
