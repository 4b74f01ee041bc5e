//! Writes that run after changes, over a stream as DynamoDB has them: the table is the embedded store's, and what its stream tells lies in
//! shards that split, roll, are trimmed and go, with iterators that age, throttling and listings that are late.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use singlet_changes::{CLOCKS_DIFFER_SECONDS, FollowError, TriggerFollower, Unobserved};
use singlet_model::Source;
use singlet_runtime::{Attributes, Caller, Engine, Value, WriteRequest, table};
use singlet_store::{
    Result, STREAM_PAGE_RECORDS_MAX, ScanRequest, Store, StoreLayer, StreamPage, StreamPosition, StreamRequest,
};
use singlet_store_embedded::EmbeddedStore;

use super::fake::FakeStream;
use super::{Iterators, StreamReading};
use crate::shards::READ_SECONDS_MAX;

/// In seconds since 1970.
const NOW: i64 = 1_794_830_400;
const HOUR: i64 = 3_600;

const MODEL: &str = r#"
singlet: 1
name: shop
table: {name: shop, key: {partition: PK, sort: SK}, type: kind, stream: both_images}
entities:
  Order:
    attributes: {id: string 1..8, n: int 0.. = 0}
    key: {PK: "ORDER#{id}", SK: "ORDER"}
  Tally:
    attributes: {what: string 1..8, n: int 0.. = 0}
    key: {PK: "TALLY", SK: "{what}"}
  Trace:
    attributes: {id: string 1..8, seen: list(int 0..)? ..999}
    key: {PK: "TRACE#{id}", SK: "TRACE"}
writes:
  order: {allow: true, do: [{create: Order, take: [id]}]}
  raise: {args: {id: string 1..8}, allow: true, do: [{update: Order(args.id), add: {n: 1}}]}
  count:
    after: {create: Order}
    do: [{upsert: 'Tally("orders")', add: {n: 1}}]
  trace:
    after: {update: Order.n}
    do: [{upsert: Trace(row.id), append: {seen: row.n}}]
"#;

/// The embedded store's tables, with a stream of shards.
#[derive(Clone)]
struct Sharded {
    table: EmbeddedStore,
    stream: Arc<FakeStream>,
    /// How far the stream of the table was put into shards.
    told: Arc<Mutex<StreamPosition>>,
    /// A process that begins anew has none.
    iterators: Arc<Iterators>,
    now: Arc<AtomicI64>,
}

impl std::fmt::Debug for Sharded {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Sharded")
    }
}

impl Sharded {
    async fn open(shards: &[&str]) -> Self {
        let shards: Vec<(&str, Option<&str>)> = shards.iter().map(|shard| (*shard, None)).collect();
        Sharded {
            table: EmbeddedStore::memory().unwrap(),
            stream: Arc::new(FakeStream::with_shards(&shards)),
            told: Arc::new(Mutex::new(StreamPosition::Start)),
            iterators: Arc::default(),
            now: Arc::new(AtomicI64::new(NOW)),
        }
    }

    /// Puts what happened into shards, as of now.
    async fn tell(&self) {
        loop {
            let request = StreamRequest {
                table: "shop".to_owned(),
                position: self.told.lock().unwrap().clone(),
                limit: STREAM_PAGE_RECORDS_MAX,
            };
            let page = self.table.read_stream(&request).await.unwrap();
            *self.told.lock().unwrap() = page.next;
            if page.records.is_empty() {
                return;
            }
            for mut record in page.records {
                record.at_seconds = self.now.load(Ordering::SeqCst);
                self.stream.put_told(record);
            }
        }
    }

    async fn pass(&self, seconds: i64) {
        self.tell().await;
        self.now.fetch_add(seconds, Ordering::SeqCst);
    }

    fn millis(&self) -> i64 {
        self.now.load(Ordering::SeqCst) * 1_000
    }

    /// A process of its own.
    fn engine(&self) -> Arc<Engine> {
        let loaded = singlet_model::load_source(&Source::new("model.yaml", MODEL));
        assert!(!loaded.diagnostics.has_errors(), "{:?}", loaded.diagnostics);
        let store = Sharded {
            iterators: Arc::default(),
            ..self.clone()
        };
        let model = Arc::new(loaded.model.unwrap());
        Arc::new(Engine::open(model, Arc::new(store), Attributes::new(), [7; 32]))
    }

    async fn follower(&self) -> TriggerFollower {
        let started = TriggerFollower::start(self.engine(), Arc::new(Unobserved), self.millis()).await;
        started.unwrap()
    }

    async fn write(&self, name: &str, id: &str) {
        let request = WriteRequest {
            args: Attributes::from([("id".to_owned(), Value::S(id.to_owned()))]),
            caller: Caller::with_id("ada"),
            now: self.millis(),
            ..WriteRequest::default()
        };
        self.engine().write(name, &request).await.unwrap();
        self.tell().await;
    }

    /// Follows to the head; whoever finds another further begins again.
    async fn rest(&self, mut follower: TriggerFollower) -> TriggerFollower {
        while !follower.is_at_head() {
            let now = self.millis();
            match follower.follow_page(&|| now).await {
                Ok(_) => {}
                Err(FollowError::Overtaken) => follower = self.follower().await,
                Err(error) => panic!("{error}"),
            }
        }
        follower
    }

    async fn items(&self, kind: &str) -> Vec<singlet_item::Item> {
        let request = ScanRequest {
            table: "shop".to_owned(),
            consistent: true,
            ..ScanRequest::default()
        };
        let all = self.table.scan(&request).await.unwrap().items;
        let own = all.into_iter().filter(|item| item["kind"] == Value::S(kind.to_owned()));
        own.collect()
    }

    /// How many orders were counted.
    async fn counted(&self) -> i64 {
        let tallies = self.items("Tally").await;
        let count = tallies.first().map(|tally| tally["n"].as_number().unwrap().to_i64());
        count.flatten().unwrap_or_default()
    }

    /// What was seen of an order, in the order in which it ran.
    async fn traced(&self, id: &str) -> Vec<i64> {
        let traces = self.items("Trace").await;
        let own = traces.iter().find(|trace| trace["id"] == Value::S(id.to_owned()));
        let seen = own.and_then(|trace| trace["seen"].as_list()).unwrap_or_default();
        seen.iter().filter_map(|seen| seen.as_number()?.to_i64()).collect()
    }
}

#[async_trait]
impl StoreLayer for Sharded {
    fn beneath(&self) -> &dyn Store {
        &self.table
    }

    async fn read_stream(&self, request: &StreamRequest) -> Result<StreamPage> {
        self.tell().await;
        let reading = StreamReading {
            calls: self.stream.as_ref(),
            iterators: &self.iterators,
            stream: "arn",
            now: self.now.load(Ordering::SeqCst),
        };
        reading.read_page(request).await
    }
}

/// A table whose stream has these shards, and nobody who follows.
async fn opened(shards: &[&str]) -> Sharded {
    let sharded = Sharded::open(shards).await;
    let spec = table::table_spec(sharded.engine().model());
    sharded.table.create_table(&spec).await.unwrap();
    sharded
}

/// Whatever the stream does, and however often who follows ends or is two, every effect is there once, those of a row in order.
#[tokio::test]
async fn every_effect_is_there_once_and_in_order_on_drawn_streams() {
    for seed in 0..30 {
        let mut random = fastrand::Rng::with_seed(seed);
        let sharded = opened(&["r", "s"]).await;
        sharded.stream.list_by(1 + random.usize(..3));
        let mut followers = [sharded.follower().await, sharded.follower().await];
        let mut raised = [0; 4];
        let mut orders = 0;
        for _ in 0..80 {
            let open = sharded.stream.open_shards();
            let shard = open[random.usize(..open.len())].clone();
            match random.u32(..16) {
                0..2 if orders < raised.len() => {
                    sharded.write("order", &format!("o{orders}")).await;
                    orders += 1;
                }
                2..7 if orders > 0 => {
                    let of = random.usize(..orders);
                    sharded.write("raise", &format!("o{of}")).await;
                    raised[of] += 1;
                }
                7 => sharded.stream.leave_gap(&shard),
                8 if open.len() < 6 => {
                    let children: Vec<String> = (0..=random.u32(..2)).map(|at| format!("{shard}{at}")).collect();
                    let children: Vec<&str> = children.iter().map(String::as_str).collect();
                    sharded.stream.roll(&shard, &children);
                }
                9 => sharded.stream.age_iterators(),
                10 => sharded.stream.throttle(&[shard.as_str()]),
                11 => sharded.stream.show_all(),
                12 => sharded.stream.hide(&shard),
                13 => sharded.pass(HOUR).await,
                _ => followers[random.usize(..2)] = sharded.follower().await,
            }
            let follower = &mut followers[random.usize(..2)];
            let now = sharded.millis();
            match follower.follow_page(&|| now).await {
                Ok(_) => {}
                Err(FollowError::Overtaken) => *follower = sharded.follower().await,
                Err(FollowError::Store(error)) if error.is_throttled() => {}
                Err(error) => panic!("seed {seed}: {error}"),
            }
            sharded.stream.throttle(&[]);
        }
        sharded.stream.show_all();
        let follower = sharded.rest(sharded.follower().await).await;
        assert_eq!(
            (follower.gap_count(), follower.parked_changes().len()),
            (0, 0),
            "seed {seed}"
        );
        assert_eq!(sharded.counted().await, i64::try_from(orders).unwrap(), "seed {seed}");
        for (of, raised) in raised.into_iter().enumerate() {
            let expected: Vec<i64> = (1..=raised).collect();
            assert_eq!(sharded.traced(&format!("o{of}")).await, expected, "seed {seed}");
        }
    }
}

/// What is lost is a gap, what is there runs, and nothing that ran runs again.
#[tokio::test]
async fn a_shard_that_is_gone_before_it_was_read_to_its_end_is_a_gap() {
    let sharded = opened(&["r"]).await;
    let follower = sharded.follower().await;
    sharded.write("order", "a").await;
    for _ in 0..3 {
        sharded.write("raise", "a").await;
    }
    drop(sharded.rest(follower).await);
    for _ in 0..2 {
        sharded.write("raise", "a").await;
    }
    sharded.stream.roll("r", &["r0"]);
    sharded.write("raise", "a").await;
    sharded.stream.remove("r");
    let follower = sharded.rest(sharded.follower().await).await;
    assert_eq!(follower.gap_count(), 1);
    // 4 and 5 were in the shard that is gone.
    assert_eq!(sharded.traced("a").await, [1, 2, 3, 6]);
    assert_eq!(sharded.counted().await, 1);
    // It is shown until somebody knows, and it is one gap.
    sharded.write("raise", "a").await;
    let follower = sharded.rest(sharded.follower().await).await;
    assert_eq!(follower.gap_count(), 1);
    assert_eq!(sharded.traced("a").await, [1, 2, 3, 6, 7]);
}

#[tokio::test]
async fn changes_that_were_trimmed_before_they_were_read_are_a_gap() {
    let sharded = opened(&["r"]).await;
    let follower = sharded.follower().await;
    sharded.write("order", "a").await;
    drop(sharded.rest(follower).await);
    for _ in 0..4 {
        sharded.write("raise", "a").await;
    }
    // All but the last two changes.
    sharded.stream.trim_to_last("r", 2);
    let follower = sharded.rest(sharded.follower().await).await;
    assert_eq!(follower.gap_count(), 1);
    assert_eq!(sharded.traced("a").await, [3, 4]);
    assert_eq!(sharded.counted().await, 1);
}

/// Nobody can know what went in the last hour: all that is kept comes again, and what ran of it does not run again.
#[tokio::test]
async fn who_comes_after_23_hours_has_a_gap_and_repeats_nothing() {
    let sharded = opened(&["r", "s"]).await;
    let follower = sharded.follower().await;
    sharded.write("order", "a").await;
    sharded.write("raise", "a").await;
    sharded.rest(follower).await;
    sharded.pass(READ_SECONDS_MAX - 1).await;
    sharded.write("raise", "a").await;
    let follower = sharded.rest(sharded.follower().await).await;
    assert_eq!(follower.gap_count(), 0);
    sharded.pass(READ_SECONDS_MAX).await;
    sharded.write("raise", "a").await;
    let follower = sharded.rest(sharded.follower().await).await;
    assert_eq!(follower.gap_count(), 1);
    assert_eq!(sharded.traced("a").await, [1, 2, 3]);
    assert_eq!(sharded.counted().await, 1);
}

/// "Now" is the start of every open shard, which has hours of what was before: that runs nothing.
#[tokio::test]
async fn what_happened_before_anybody_followed_runs_nothing() {
    let sharded = opened(&["r"]).await;
    sharded.write("order", "a").await;
    sharded.write("raise", "a").await;
    sharded.pass(3 * HOUR).await;
    sharded.write("raise", "a").await;
    sharded.stream.roll("r", &["r0", "r1"]);
    sharded.write("raise", "a").await;
    // By as much as clocks may differ, what was before is taken for what comes after.
    sharded.pass(CLOCKS_DIFFER_SECONDS + 1).await;
    sharded.write("order", "b").await;
    sharded.pass(1).await;
    sharded.write("raise", "a").await;
    sharded.pass(CLOCKS_DIFFER_SECONDS).await;
    drop(sharded.follower().await);
    sharded.write("raise", "a").await;
    // Who goes on later knows when it began.
    sharded.pass(HOUR).await;
    sharded.write("order", "c").await;
    sharded.rest(sharded.follower().await).await;
    assert_eq!(sharded.traced("a").await, [4, 5]);
    assert_eq!(sharded.counted().await, 1);
}
