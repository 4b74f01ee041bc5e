//! A folder that a service has open, as a store: every call is done by the service, through the folder's socket.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use singlet_store::{
    BatchGetAnswer, BatchGetRequest, BatchWriteAnswer, BatchWriteRequest, DeleteRequest, GetAnswer, GetRequest,
    PageAnswer, PutRequest, QueryRequest, Result, ScanRequest, Store, StoreError, StreamPage, StreamRequest,
    TableChange, TableDescription, TableSpec, TableUpkeep, TransactGetAnswer, TransactGetRequest, TransactWriteRequest,
    UpdateRequest, WriteAnswer,
};
use tokio::sync::Mutex;

use crate::operator::{OperatorLine, connect_operator};

/// A call of a store, as one process asks it of another.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StoreCall {
    Get(GetRequest),
    BatchGet(BatchGetRequest),
    Query(QueryRequest),
    Scan(ScanRequest),
    TransactGet(TransactGetRequest),
    Put(PutRequest),
    Update(UpdateRequest),
    Delete(DeleteRequest),
    BatchWrite(BatchWriteRequest),
    TransactWrite(TransactWriteRequest),
    CreateTable(TableSpec),
    DescribeTable(String),
    DescribeUpkeep(String),
    UpdateTable(String, TableChange),
    DeleteTable(String),
    ListTables,
    UpdateTtl(String, Option<String>),
    CheckWrites,
    ReadStream(StreamRequest),
}

impl StoreCall {
    /// Does it on a store.
    pub(crate) async fn done_on(&self, store: &dyn Store) -> Result<Json> {
        match self {
            StoreCall::Get(request) => told(store.get(request).await),
            StoreCall::BatchGet(request) => told(store.batch_get(request).await),
            StoreCall::Query(request) => told(store.query(request).await),
            StoreCall::Scan(request) => told(store.scan(request).await),
            StoreCall::TransactGet(request) => told(store.transact_get(request).await),
            StoreCall::Put(request) => told(store.put(request).await),
            StoreCall::Update(request) => told(store.update(request).await),
            StoreCall::Delete(request) => told(store.delete(request).await),
            StoreCall::BatchWrite(request) => told(store.batch_write(request).await),
            StoreCall::TransactWrite(request) => told(store.transact_write(request).await),
            StoreCall::CreateTable(spec) => told(store.create_table(spec).await),
            StoreCall::DescribeTable(table) => told(store.describe_table(table).await),
            StoreCall::DescribeUpkeep(table) => told(store.describe_upkeep(table).await),
            StoreCall::UpdateTable(table, change) => told(store.update_table(table, change).await),
            StoreCall::DeleteTable(table) => told(store.delete_table(table).await),
            StoreCall::ListTables => told(store.list_tables().await),
            StoreCall::UpdateTtl(table, attribute) => told(store.update_ttl(table, attribute.as_deref()).await),
            StoreCall::CheckWrites => told(store.check_writes().await),
            StoreCall::ReadStream(request) => told(store.read_stream(request).await),
        }
    }

    /// Whether it changes anything.
    pub(crate) fn is_write(&self) -> bool {
        match self {
            StoreCall::Get(_)
            | StoreCall::BatchGet(_)
            | StoreCall::Query(_)
            | StoreCall::Scan(_)
            | StoreCall::TransactGet(_)
            | StoreCall::DescribeTable(_)
            | StoreCall::DescribeUpkeep(_)
            | StoreCall::ListTables
            | StoreCall::CheckWrites
            | StoreCall::ReadStream(_) => false,
            StoreCall::Put(_)
            | StoreCall::Update(_)
            | StoreCall::Delete(_)
            | StoreCall::BatchWrite(_)
            | StoreCall::TransactWrite(_)
            | StoreCall::CreateTable(_)
            | StoreCall::UpdateTable(..)
            | StoreCall::DeleteTable(_)
            | StoreCall::UpdateTtl(..) => true,
        }
    }
}

fn told<T: Serialize>(answer: Result<T>) -> Result<Json> {
    serde_json::to_value(answer?).map_err(|error| StoreError::unavailable(error.to_string()))
}

/// The store of a folder that another process has open.
#[derive(Debug)]
pub(crate) struct ServedStore {
    folder: PathBuf,
    /// Connections that nobody asks anything right now.
    idle: Mutex<Vec<OperatorLine>>,
}

impl ServedStore {
    /// The store of a folder; nothing, where no process that answers has it open.
    ///
    /// # Errors
    ///
    /// Where who asks may not.
    pub(crate) async fn connect_served(folder: &Path) -> std::result::Result<Option<Self>, String> {
        let connected = connect_operator(folder).await?;
        Ok(connected.map(|line| ServedStore {
            folder: folder.to_owned(),
            idle: Mutex::new(vec![line]),
        }))
    }

    /// Asks for something. A line on which something failed is not used again: nobody knows what would come on it.
    async fn ask<T: DeserializeOwned>(&self, call: StoreCall) -> Result<T> {
        let idle = self.idle.lock().await.pop();
        let mut line = match idle {
            Some(line) => line,
            None => {
                let shown = self.folder.display();
                let gone = || StoreError::unavailable(format!("no service has `{shown}` open any more"));
                let connected = connect_operator(&self.folder).await.map_err(StoreError::unavailable)?;
                connected.ok_or_else(gone)?
            }
        };
        let answer = line.call_store(&self.folder, call).await;
        if !answer.as_ref().is_err_and(StoreError::is_unavailable) {
            self.idle.lock().await.push(line);
        }
        serde_json::from_value(answer?).map_err(|error| StoreError::unavailable(error.to_string()))
    }
}

#[async_trait]
impl Store for ServedStore {
    async fn get(&self, request: &GetRequest) -> Result<GetAnswer> {
        self.ask(StoreCall::Get(request.clone())).await
    }

    async fn batch_get(&self, request: &BatchGetRequest) -> Result<BatchGetAnswer> {
        self.ask(StoreCall::BatchGet(request.clone())).await
    }

    async fn query(&self, request: &QueryRequest) -> Result<PageAnswer> {
        self.ask(StoreCall::Query(request.clone())).await
    }

    async fn scan(&self, request: &ScanRequest) -> Result<PageAnswer> {
        self.ask(StoreCall::Scan(request.clone())).await
    }

    async fn transact_get(&self, request: &TransactGetRequest) -> Result<TransactGetAnswer> {
        self.ask(StoreCall::TransactGet(request.clone())).await
    }

    async fn put(&self, request: &PutRequest) -> Result<WriteAnswer> {
        self.ask(StoreCall::Put(request.clone())).await
    }

    async fn update(&self, request: &UpdateRequest) -> Result<WriteAnswer> {
        self.ask(StoreCall::Update(request.clone())).await
    }

    async fn delete(&self, request: &DeleteRequest) -> Result<WriteAnswer> {
        self.ask(StoreCall::Delete(request.clone())).await
    }

    async fn batch_write(&self, request: &BatchWriteRequest) -> Result<BatchWriteAnswer> {
        self.ask(StoreCall::BatchWrite(request.clone())).await
    }

    async fn transact_write(&self, request: &TransactWriteRequest) -> Result<WriteAnswer> {
        self.ask(StoreCall::TransactWrite(request.clone())).await
    }

    async fn create_table(&self, spec: &TableSpec) -> Result<()> {
        self.ask(StoreCall::CreateTable(spec.clone())).await
    }

    async fn describe_table(&self, table: &str) -> Result<TableDescription> {
        self.ask(StoreCall::DescribeTable(table.to_owned())).await
    }

    async fn describe_upkeep(&self, table: &str) -> Result<TableUpkeep> {
        self.ask(StoreCall::DescribeUpkeep(table.to_owned())).await
    }

    async fn update_table(&self, table: &str, change: &TableChange) -> Result<()> {
        self.ask(StoreCall::UpdateTable(table.to_owned(), change.clone())).await
    }

    async fn delete_table(&self, table: &str) -> Result<()> {
        self.ask(StoreCall::DeleteTable(table.to_owned())).await
    }

    async fn list_tables(&self) -> Result<Vec<String>> {
        self.ask(StoreCall::ListTables).await
    }

    async fn update_ttl(&self, table: &str, attribute: Option<&str>) -> Result<()> {
        let call = StoreCall::UpdateTtl(table.to_owned(), attribute.map(str::to_owned));
        self.ask(call).await
    }

    async fn check_writes(&self) -> Result<()> {
        self.ask(StoreCall::CheckWrites).await
    }

    async fn read_stream(&self, request: &StreamRequest) -> Result<StreamPage> {
        self.ask(StoreCall::ReadStream(request.clone())).await
    }
}
