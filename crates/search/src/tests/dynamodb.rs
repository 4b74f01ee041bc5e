//! Words of a table in DynamoDB, or whatever speaks as it does: its stream has shards, comes a little later, and may tell things again.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fastrand::Rng;
use singlet_runtime::{Attributes, Caller};
use singlet_store::Store;
use singlet_store_dynamodb::{DynamoDbStore, Settings};
use singlet_testing::{Endpoint, Foreign};

use super::support::{Bench, MODEL, caller, folder, text};
use crate::{IndexPlace, SearchFollower};

/// How long the stream may take to tell of a write.
const TOLD_MAX: Duration = Duration::from_secs(60);

/// How late the stream may be after a scan, in milliseconds: the endpoint is on this machine.
const LATE_MILLIS: i64 = 500;

/// How long a note is there that expires.
const SHORT_MILLIS: i64 = 5_000;

const WORDS: [&str; 6] = ["red", "green", "blue", "żółw", "turtle", "tree"];

fn drawn_row(random: &mut Rng) -> Attributes {
    let words = |random: &mut Rng, count: usize| {
        let words: Vec<&str> = (0..count).map(|_| WORDS[random.usize(0..WORDS.len())]).collect();
        text(&words.join(" "))
    };
    Attributes::from([
        ("title".to_owned(), words(random, 2)),
        ("body".to_owned(), words(random, 3)),
    ])
}

/// One write through the engine, drawn: a row that is new, changed or removed.
async fn write_something(bench: &mut Bench, random: &mut Rng, at: usize) {
    let owner = ["ada", "bob"][random.usize(0..2)];
    let now = bench.millis();
    let is_own = |of: &str, until: Option<i64>| of == owner && until.is_none_or(|until| until > now);
    let own = bench.notes.iter().filter(|((of, _), note)| is_own(of, note.until));
    let ids: Vec<String> = own.map(|((_, id), _)| id.clone()).collect();
    match (ids.get(random.usize(0..8)), random.u8(0..4)) {
        (Some(id), 0) => bench.remove(owner, id).await,
        (Some(id), 1) => bench.put(owner, id, drawn_row(random), None).await,
        _ => {
            let until = random.bool().then(|| bench.millis() + SHORT_MILLIS);
            bench.put(owner, &format!("n{at}"), drawn_row(random), until).await;
        }
    }
}

async fn sorted(bench: &Bench, read: &str, caller: &Caller, query: &str) -> Vec<(String, String)> {
    let mut found = bench.found(read, caller, query, 5).await;
    found.sort();
    found
}

/// How often words are found by who may see all.
fn count_all(bench: &Bench) -> usize {
    let all = caller("root", "admin");
    WORDS.iter().map(|word| bench.meant("seen", &all, word).len()).sum()
}

/// Follows until everybody finds what is there.
async fn follow_to_table(bench: &Bench, follower: &mut SearchFollower) {
    let begun = Instant::now();
    let now = || bench.millis();
    'behind: loop {
        follower.follow_page(&now).await.unwrap();
        for (read, caller) in [("mine", Caller::with_id("ada")), ("seen", caller("root", "admin"))] {
            for query in WORDS {
                if sorted(bench, read, &caller, query).await != bench.meant(read, &caller, query) {
                    assert!(begun.elapsed() < TOLD_MAX, "the index is behind");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue 'behind;
                }
            }
        }
        return;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes: DynamoDB Local removes expired rows when it likes"]
async fn words_of_a_table_in_dynamodb_are_found() {
    let Some(endpoint) = Endpoint::start().filter(|endpoint| endpoint.foreign != Foreign::Moto) else {
        return;
    };
    let settings = Settings {
        attempt_timeout: TOLD_MAX,
        operation_timeout: 2 * TOLD_MAX,
        ..Settings::local_endpoint(&endpoint.url)
    };
    let store: Arc<dyn Store> = Arc::new(DynamoDbStore::connect(&settings).await.unwrap());
    let mut bench = Bench::on(store, MODEL).await;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    bench.now.store(i64::try_from(now).unwrap(), Ordering::SeqCst);
    let folder = folder();
    let mut random = Rng::with_seed(9);
    for at in 0..10 {
        write_something(&mut bench, &mut random, at).await;
    }
    for round in 1..4 {
        // Each time as another process, which goes on with the index in the folder.
        let (model, source) = (Arc::clone(bench.engine.model()), bench.source());
        let mut follower = SearchFollower::new(IndexPlace::Folder(folder.clone()), model, source, LATE_MILLIS);
        bench.engine.search_by(follower.served_index());
        let first = follower.follow_page(&|| bench.millis()).await.unwrap();
        assert_eq!(first.is_snapshot, round == 1);
        for at in 0..10 {
            write_something(&mut bench, &mut random, round * 100 + at).await;
        }
        follow_to_table(&bench, &mut follower).await;
        // What has expired since lies in the table and in the index, and is not found.
        let before = count_all(&bench);
        bench.now.fetch_add(2 * SHORT_MILLIS, Ordering::SeqCst);
        follow_to_table(&bench, &mut follower).await;
        assert!(
            (1..before).contains(&count_all(&bench)),
            "{before} and {}",
            count_all(&bench)
        );
    }
    std::fs::remove_dir_all(folder).unwrap();
}
