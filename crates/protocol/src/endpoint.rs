//! The endpoint: one call after another, by its name.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value as Json};
use singlet_store::{Store, TableDescription};

use crate::admission::{AdmissionBounds, CallAdmission};
use crate::fault::{Fault, FaultKind};
use crate::input::Input;
use crate::tags::Tags;
use crate::{batches, items, pages, partiql, streams, tables, tags, transactions, update_table};

/// Says whether a table is somebody else's to write.
pub type Guard = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// What an endpoint is told.
#[derive(Clone)]
pub struct EndpointSettings {
    /// The region that its ARNs name.
    pub region: String,
    /// The tables that are read and not written.
    pub guard: Option<Guard>,
    /// What a caller can do about a write to a guarded table.
    pub guard_help: String,
    /// How much is worked on at once.
    pub bounds: AdmissionBounds,
}

impl Default for EndpointSettings {
    fn default() -> Self {
        Self {
            region: "us-east-1".to_owned(),
            guard: None,
            guard_help: String::new(),
            bounds: AdmissionBounds::default(),
        }
    }
}

impl fmt::Debug for EndpointSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("region", &self.region)
            .field("is_guarded", &self.guard.is_some())
            .finish_non_exhaustive()
    }
}

/// DynamoDB's calls on a store.
#[derive(Debug)]
pub struct Endpoint {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) settings: EndpointSettings,
    pub(crate) tags: Tags,
    pub(crate) admission: CallAdmission,
    known: Mutex<HashMap<String, RememberedTable>>,
}

/// A table as it was lately.
#[derive(Debug)]
struct RememberedTable {
    description: Arc<TableDescription>,
    seen: Instant,
}

/// How long a table's key and indexes are taken to be as they were: only another process changes them unseen.
const TABLE_KNOWN_TIME_MAX: Duration = Duration::from_secs(1);
/// The most tables that are kept in mind.
const TABLES_KNOWN_MAX: usize = 1000;

impl Endpoint {
    /// An endpoint on a store.
    pub fn new(store: Arc<dyn Store>, settings: EndpointSettings) -> Arc<Self> {
        Arc::new(Self {
            store,
            admission: CallAdmission::new(settings.bounds),
            settings,
            tags: Tags::default(),
            known: Mutex::default(),
        })
    }

    /// What a table is; its counts may be a second old.
    pub(crate) async fn table(&self, name: &str) -> Result<Arc<TableDescription>, Fault> {
        {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = known
                .get(name)
                .filter(|known| known.seen.elapsed() < TABLE_KNOWN_TIME_MAX)
            {
                return Ok(Arc::clone(&known.description));
            }
        }
        // Before it is asked for: the answer may be as old as that.
        let seen = Instant::now();
        let description = Arc::new(self.store.describe_table(name).await?);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= TABLES_KNOWN_MAX {
            known.clear();
        }
        let entry = RememberedTable {
            description: Arc::clone(&description),
            seen,
        };
        known.insert(name.to_owned(), entry);
        Ok(description)
    }

    /// Forgets a table, which is about to change or has changed.
    pub(crate) fn forget_table(&self, name: &str) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(name);
    }

    /// Refuses a write to a table that is guarded.
    pub(crate) fn check_writable(&self, table: &str) -> Result<(), Fault> {
        match &self.settings.guard {
            Some(guard) if guard(table) => Err(Fault::new(
                FaultKind::AccessDenied,
                format!("table `{table}` is read only here: {}", self.settings.guard_help),
            )),
            _ => Ok(()),
        }
    }

    /// Answers one call: `target` is the header `X-Amz-Target`.
    pub(crate) async fn answer_call(&self, target: &str, body: &Map<String, Json>) -> Result<Json, Fault> {
        let input = Input::new(body);
        let Some((service, call)) = target.split_once('.') else {
            return Err(unknown());
        };
        match (service, call) {
            ("DynamoDB_20120810", "PutItem") => items::put_item(self, &input).await,
            ("DynamoDB_20120810", "GetItem") => items::get_item(self, &input).await,
            ("DynamoDB_20120810", "UpdateItem") => items::update_item(self, &input).await,
            ("DynamoDB_20120810", "DeleteItem") => items::delete_item(self, &input).await,
            ("DynamoDB_20120810", "Query") => pages::query_page(self, &input).await,
            ("DynamoDB_20120810", "Scan") => pages::scan_page(self, &input).await,
            ("DynamoDB_20120810", "BatchGetItem") => batches::batch_get_item(self, &input).await,
            ("DynamoDB_20120810", "BatchWriteItem") => batches::batch_write_item(self, &input).await,
            ("DynamoDB_20120810", "TransactGetItems") => transactions::transact_get_items(self, &input).await,
            ("DynamoDB_20120810", "TransactWriteItems") => transactions::transact_write_items(self, &input).await,
            ("DynamoDB_20120810", "CreateTable") => tables::create_table(self, &input).await,
            ("DynamoDB_20120810", "DescribeTable") => tables::describe_table(self, &input).await,
            ("DynamoDB_20120810", "DeleteTable") => tables::delete_table(self, &input).await,
            ("DynamoDB_20120810", "ListTables") => tables::list_tables(self, &input).await,
            ("DynamoDB_20120810", "UpdateTable") => update_table::update_table(self, &input).await,
            ("DynamoDB_20120810", "UpdateTimeToLive") => tables::update_ttl(self, &input).await,
            ("DynamoDB_20120810", "DescribeTimeToLive") => tables::describe_ttl(self, &input).await,
            ("DynamoDB_20120810", "DescribeLimits") => Ok(tables::describe_limits()),
            ("DynamoDB_20120810", "DescribeEndpoints") => Ok(tables::describe_endpoints(self)),
            ("DynamoDB_20120810", "TagResource") => tags::tag_resource(self, &input).await,
            ("DynamoDB_20120810", "UntagResource") => tags::untag_resource(self, &input).await,
            ("DynamoDB_20120810", "ListTagsOfResource") => tags::list_tags(self, &input).await,
            ("DynamoDB_20120810", "ExecuteStatement") => partiql::execute_statement(self, &input).await,
            ("DynamoDB_20120810", "BatchExecuteStatement") => partiql::execute_batch(self, &input).await,
            ("DynamoDB_20120810", "ExecuteTransaction") => partiql::execute_transaction(self, &input).await,
            ("DynamoDBStreams_20120810", "ListStreams") => streams::list_streams(self, &input).await,
            ("DynamoDBStreams_20120810", "DescribeStream") => streams::describe_stream(self, &input).await,
            ("DynamoDBStreams_20120810", "GetShardIterator") => streams::shard_iterator(self, &input).await,
            ("DynamoDBStreams_20120810", "GetRecords") => streams::stream_records(self, &input).await,
            _ => Err(unknown()),
        }
    }
}

fn unknown() -> Fault {
    Fault::new(FaultKind::UnknownOperation, "")
}
