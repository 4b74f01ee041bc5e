//! The store over DynamoDB's protocol: DynamoDB itself, or any endpoint that speaks it.
//!
//! Requests go through the one renderer of the store crate and are sent with the AWS SDK; nothing of the SDK is visible
//! outside this crate.
//!
//! # Retries
//!
//! The SDK sends a request again when it was throttled or got no answer, slowing down by what it sees (its adaptive
//! mode). A transaction is safe so, because it always carries a token (the SDK makes one up where the request has none),
//! and so is a batch, which has no conditions. A single write is sent once: done with its answer lost and sent again, an
//! update would add twice, and a condition would fail on what the write itself made. Whoever sends it knows what to do.
//! What still fails reaches the caller classified, and is not sent again here.
//!
//! # What it is not
//!
//! It follows no pages and resends no unprocessed items: that is the runtime's. Only creating and deleting a table
//! wait, within [`TABLE_WAIT_SECONDS_MAX`].

mod connect;
mod convert;
mod error;
mod reads;
mod schema;
mod shard_calls;
mod shards;
mod streams;
mod tables;
mod upkeep;
mod writes;

pub use connect::{Credentials, Settings};
pub use tables::TABLE_WAIT_SECONDS_MAX;

use async_trait::async_trait;
use singlet_store::{
    BatchGetAnswer, BatchGetRequest, BatchWriteAnswer, BatchWriteRequest, DeleteRequest, GetAnswer, GetRequest,
    PageAnswer, PutRequest, QueryRequest, Result, ScanRequest, Store, StreamPage, StreamRequest, TableChange,
    TableDescription, TableSpec, TableUpkeep, TransactGetAnswer, TransactGetRequest, TransactWriteRequest,
    UpdateRequest, WriteAnswer,
};
use std::fmt;
use std::sync::Arc;

/// A store at an endpoint that speaks DynamoDB's protocol.
#[derive(Clone)]
pub struct DynamoDbStore {
    client: aws_sdk_dynamodb::Client,
    /// Sends nothing twice.
    once: aws_sdk_dynamodb::Client,
    streams: aws_sdk_dynamodbstreams::Client,
    iterators: Arc<streams::Iterators>,
    place: String,
}

impl DynamoDbStore {
    /// A store with these settings. Nothing is sent yet, except to find out region and credentials.
    pub async fn connect(settings: &Settings) -> Result<Self> {
        connect::connect_client(settings).await
    }
}

impl fmt::Debug for DynamoDbStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DynamoDbStore").field(&self.place).finish()
    }
}

#[async_trait]
impl Store for DynamoDbStore {
    async fn get(&self, request: &GetRequest) -> Result<GetAnswer> {
        reads::get_item(&self.client, request).await
    }

    async fn batch_get(&self, request: &BatchGetRequest) -> Result<BatchGetAnswer> {
        reads::batch_get(&self.client, request).await
    }

    async fn query(&self, request: &QueryRequest) -> Result<PageAnswer> {
        reads::query_page(&self.client, request).await
    }

    async fn scan(&self, request: &ScanRequest) -> Result<PageAnswer> {
        reads::scan_page(&self.client, request).await
    }

    async fn transact_get(&self, request: &TransactGetRequest) -> Result<TransactGetAnswer> {
        reads::transact_get(&self.client, request).await
    }

    async fn put(&self, request: &PutRequest) -> Result<WriteAnswer> {
        writes::put_item(&self.once, request).await
    }

    async fn update(&self, request: &UpdateRequest) -> Result<WriteAnswer> {
        writes::update_item(&self.once, request).await
    }

    async fn delete(&self, request: &DeleteRequest) -> Result<WriteAnswer> {
        writes::delete_item(&self.once, request).await
    }

    async fn batch_write(&self, request: &BatchWriteRequest) -> Result<BatchWriteAnswer> {
        writes::batch_write(&self.client, request).await
    }

    async fn transact_write(&self, request: &TransactWriteRequest) -> Result<WriteAnswer> {
        writes::transact_write(&self.client, request).await
    }

    async fn create_table(&self, spec: &TableSpec) -> Result<()> {
        tables::create_table(&self.client, spec).await
    }

    async fn describe_table(&self, table: &str) -> Result<TableDescription> {
        tables::describe_table(&self.client, table).await
    }

    async fn describe_upkeep(&self, table: &str) -> Result<TableUpkeep> {
        upkeep::describe_upkeep(&self.client, table).await
    }

    async fn delete_table(&self, table: &str) -> Result<()> {
        tables::delete_table(&self.client, table).await
    }

    async fn list_tables(&self) -> Result<Vec<String>> {
        tables::list_tables(&self.client).await
    }

    async fn update_table(&self, table: &str, change: &TableChange) -> Result<()> {
        tables::update_table(&self.client, table, change).await
    }

    async fn update_ttl(&self, table: &str, attribute: Option<&str>) -> Result<()> {
        tables::update_ttl(&self.client, table, attribute).await
    }

    async fn read_stream(&self, request: &StreamRequest) -> Result<StreamPage> {
        let arn = tables::stream_arn(&self.client, &request.table).await?;
        let reading = streams::StreamReading {
            calls: &self.streams,
            iterators: &self.iterators,
            stream: &arn,
            now: streams::now_seconds(),
        };
        reading.read_page(request).await
    }
}
