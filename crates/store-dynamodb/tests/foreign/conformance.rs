//! The conformance suite on a foreign endpoint, and what is this store's own: an endpoint that is not there.

use crate::moto;
use singlet_store::conformance::{self, Difference};
use singlet_store::{GetRequest, Store};
use singlet_store_dynamodb::{DynamoDbStore, Settings};
use singlet_testing::{Endpoint, Foreign};
use std::sync::Arc;
use std::time::Duration;

/// What DynamoDB Local 3.3.1 does otherwise than DynamoDB.
const DYNAMODB_LOCAL: &[Difference] = &[
    Difference::WrongActionIsNotNamed,
    Difference::AbsentItemInABatchIsFree,
    Difference::EmptyPageIsFree,
    Difference::IndexScansCountWholeItems,
    Difference::ConditionCheckRoundsAsARead,
    Difference::DeletingNothingInATransactionCostsOne,
    Difference::TransactionDoublesIndexWrites,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_suite_passes_on_a_foreign_endpoint() {
    // An endpoint of its own: what other tests do to theirs shows in its streams and in its time.
    let Some(endpoint) = Endpoint::start() else {
        return;
    };
    let (differences, failing) = match endpoint.foreign {
        Foreign::Given => (&[][..], &[][..]),
        Foreign::DynamoDbLocal => (DYNAMODB_LOCAL, &[][..]),
        Foreign::Moto => (&[][..], moto::FAILING),
    };
    let settings = Settings {
        attempt_timeout: Duration::from_secs(120),
        operation_timeout: Duration::from_secs(300),
        ..Settings::local_endpoint(&endpoint.url)
    };
    let store: Arc<dyn Store> = Arc::new(DynamoDbStore::connect(&settings).await.unwrap());
    let report = conformance::run_suite(async || Arc::clone(&store), differences.iter().copied()).await;
    let unexpected: Vec<&str> = report
        .failed
        .iter()
        .map(|failure| failure.name)
        .filter(|name| !failing.contains(name))
        .collect();
    assert_eq!(unexpected, [""; 0], "{}", report.failures_text());
    assert!(report.passed > 60, "only {} cases passed", report.passed);
}

#[tokio::test]
async fn an_endpoint_that_is_not_there_is_unavailable() {
    let settings = Settings {
        attempts_max: 2,
        ..Settings::local_endpoint("http://127.0.0.1:1")
    };
    let store = DynamoDbStore::connect(&settings).await.unwrap();
    let request = GetRequest {
        table: "table".to_owned(),
        ..GetRequest::default()
    };
    let error = store.get(&request).await.unwrap_err();
    assert!(error.is_unavailable() && error.is_retryable(), "{error}");
}
