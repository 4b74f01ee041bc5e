//! A lake of a table in DynamoDB, or whatever speaks as it does: its stream has shards, comes a little later, and may tell things again.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use singlet_store::Store;
use singlet_store_dynamodb::{DynamoDbStore, Settings};
use singlet_testing::{Endpoint, Foreign};

use super::kills::write_something;
use super::support::{Folder, MODEL, Shop, assert_alike, current_rows};
use crate::{LakeFiles, LakeFollower};

/// How long the stream may take to tell of a write.
const TOLD_MAX: Duration = Duration::from_secs(60);

/// How late the stream may be after a scan, in milliseconds: the endpoint is on this machine.
const LATE_MILLIS: i64 = 500;

/// Follows until the lake has what the table has.
async fn follow_to_table(shop: &Shop, follower: &mut LakeFollower, files: &dyn LakeFiles) {
    let begun = Instant::now();
    loop {
        shop.follow(follower).await.unwrap();
        let mut is_same = true;
        for entity in ["Task", "Note"] {
            is_same &= current_rows(files, entity) == shop.scanned(entity, files).await;
        }
        if is_same {
            return;
        }
        assert!(begun.elapsed() < TOLD_MAX, "the lake is behind");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lake_of_a_table_in_dynamodb_is_its_table() {
    let Some(endpoint) = Endpoint::start().filter(|endpoint| endpoint.foreign != Foreign::Moto) else {
        return;
    };
    let settings = Settings {
        attempt_timeout: TOLD_MAX,
        operation_timeout: 2 * TOLD_MAX,
        ..Settings::local_endpoint(&endpoint.url)
    };
    let store: Arc<dyn Store> = Arc::new(DynamoDbStore::connect(&settings).await.unwrap());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let shop = Shop::open_on(store, MODEL, i64::try_from(now).unwrap()).await;
    let folder = Folder::new();
    let files = folder.files();
    let follower = || LakeFollower::new(files.clone(), Arc::clone(&shop.model), shop.source(), LATE_MILLIS);
    // It begins with an empty table, so that every change must be found.
    shop.follow(&mut follower()).await.unwrap();
    let mut random = fastrand::Rng::with_seed(21);
    for _ in 0..4 {
        let mut follower = follower();
        for _ in 0..2 {
            for _ in 0..12 {
                write_something(&shop, &mut random).await;
            }
            follow_to_table(&shop, &mut follower, files.as_ref()).await;
        }
    }
    for entity in ["Task", "Note"] {
        assert_alike(&shop, files.as_ref(), entity).await;
    }
}
