//! A few made-up models on the foreign endpoint: the same cases that the embedded engine answers.

use std::sync::Arc;

use singlet_store::Store;
use singlet_verify::emptied::EmptiedStore;
use singlet_verify::run::reads::{ReadTally, read_cases};
use singlet_verify::run::writes::{WriteTally, write_cases};

use crate::place;

const SEED: u64 = 1;

/// How many models are run: every case is a request or several over the network.
const MODELS: u64 = 3;

#[tokio::test]
async fn made_up_models_do_what_they_mean() {
    let store = EmptiedStore::emptied_around(place::store().await);
    let shared = || -> Arc<dyn Store> { Arc::clone(&store) };
    let (mut reads, mut writes) = (ReadTally::default(), WriteTally::default());
    for model in 0..MODELS {
        // DynamoDB Local counts nothing for a page without items.
        reads.costs_differ = true;
        writes.costs_differ = true;
        if let Err(mismatch) = read_cases(SEED, model, &shared, &mut reads).await {
            panic!("seed {SEED}, model {model}: {mismatch}");
        }
        if let Err(what) = write_cases(SEED, model, &shared, &mut writes).await {
            panic!("seed {SEED}, model {model}: {what}");
        }
    }
    assert!(reads.with_rows > 50, "{reads:?}");
    assert!(writes.operations >= MODELS * 100, "{writes:?}");
}
