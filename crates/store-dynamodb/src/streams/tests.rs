//! What DynamoDB's streams do and its local imitation does not: shards that split, roll and go, iterators that age, throttling,
//! listings that are late. Each test has a rule without which it fails; what others got wrong is named.

use super::fake::FakeStream;
use super::{Iterators, SHARD_PAGES_MAX, STREAM_PAGE_RECORDS_MAX, StreamReading};
use crate::shards::READ_SECONDS_MAX;
use singlet_store::{Result, StreamPage, StreamPosition, StreamRequest};

const NOW: i64 = 1_794_830_400;

/// A reader that may be started anew: then it has its position and nothing else.
struct Reader<'a> {
    stream: &'a FakeStream,
    iterators: Iterators,
    position: StreamPosition,
    limit: u32,
    now: i64,
}

impl<'a> Reader<'a> {
    fn at(stream: &'a FakeStream, position: StreamPosition) -> Self {
        Reader {
            stream,
            iterators: Iterators::default(),
            position,
            limit: STREAM_PAGE_RECORDS_MAX,
            now: NOW,
        }
    }

    fn from_start(stream: &'a FakeStream) -> Self {
        Reader::at(stream, StreamPosition::Start)
    }

    async fn read(&mut self) -> Result<StreamPage> {
        let request = StreamRequest {
            table: "t".to_owned(),
            position: self.position.clone(),
            limit: self.limit,
        };
        let reading = StreamReading {
            calls: self.stream,
            iterators: &self.iterators,
            stream: "arn",
            now: self.now,
        };
        let page = reading.read_page(&request).await?;
        self.position = page.next.clone();
        Ok(page)
    }

    /// The numbers of one page.
    async fn page(&mut self) -> Vec<u64> {
        self.read()
            .await
            .unwrap()
            .records
            .iter()
            .map(FakeStream::number)
            .collect()
    }

    /// The numbers of several pages.
    async fn pages(&mut self, count: usize) -> Vec<u64> {
        let mut all = Vec::new();
        for _ in 0..count {
            all.extend(self.page().await);
        }
        all
    }
}

/// A closed shard that is half read is not done (estuary #3418).
#[tokio::test]
async fn a_closed_shard_is_read_to_its_end() {
    let stream = FakeStream::with_shards(&[("a", None)]);
    (0..5).for_each(|_| stream.put("a"));
    stream.roll("a", &["b"]);
    stream.put("b");
    let mut reader = Reader::from_start(&stream);
    reader.limit = 2;
    assert_eq!(reader.page().await, [1, 2]);
    // It is closed; that says nothing of what was read.
    assert_eq!(reader.pages(6).await, [3, 4, 5, 6]);
}

/// A child is not read beside its parent (artie reader #422).
#[tokio::test]
async fn a_child_waits_for_its_parent() {
    let stream = FakeStream::with_shards(&[("a", None)]);
    (0..4).for_each(|_| stream.put("a"));
    stream.roll("a", &["b", "c"]);
    stream.put("c");
    stream.put("b");
    let mut reader = Reader::from_start(&stream);
    reader.limit = 3;
    assert_eq!(reader.page().await, [1, 2, 3]);
    let rest = reader.pages(5).await;
    assert_eq!(rest[0], 4);
    assert_eq!(rest.len(), 3, "{rest:?}");
    // Also where the listing has the child alone.
    let mut late = Reader::from_start(&stream);
    late.limit = 3;
    late.page().await;
    stream.hide("a");
    assert_eq!(late.page().await, [4]);
}

/// What was noted before the end of a shard stands, whatever the shard does meanwhile (fs2-aws #422).
#[tokio::test]
async fn a_position_before_the_end_of_a_shard_leads_to_its_end() {
    let stream = FakeStream::with_shards(&[("a", None)]);
    (0..3).for_each(|_| stream.put("a"));
    let mut reader = Reader::from_start(&stream);
    reader.limit = 2;
    reader.page().await;
    let noted = reader.position.clone();
    reader.pages(2).await;
    stream.roll("a", &["b"]);
    stream.put("b");
    assert_eq!(reader.pages(4).await, [4]);
    let mut again = Reader::at(&stream, noted);
    assert_eq!(again.pages(4).await, [3, 4]);
}

/// Nobody begins at the oldest change because an iterator or a process is gone (KCL #751).
#[tokio::test]
async fn reading_goes_on_at_its_place_when_iterators_age_and_processes_end() {
    let stream = FakeStream::with_shards(&[("a", None), ("b", None)]);
    let mut reader = Reader::from_start(&stream);
    let mut all = Vec::new();
    for turn in 0..6 {
        stream.put("a");
        stream.put("b");
        all.extend(reader.page().await);
        match turn % 2 {
            0 => stream.age_iterators(),
            _ => reader = Reader::at(&stream, reader.position),
        }
    }
    all.sort_unstable();
    assert_eq!(all, (1..=12).collect::<Vec<_>>());
}

/// What is not read to its end is not forgotten: it is read though no listing has it, and where it is gone, that is said.
#[tokio::test]
async fn a_shard_that_is_gone_half_read_is_a_lost_position() {
    let stream = FakeStream::with_shards(&[("a", None)]);
    (0..3).for_each(|_| stream.put("a"));
    stream.roll("a", &["b"]);
    stream.put("b");
    let mut reader = Reader::from_start(&stream);
    reader.limit = 1;
    reader.page().await;
    stream.hide("a");
    assert_eq!(reader.page().await, [2]);
    stream.remove("a");
    let mut restarted = Reader::at(&stream, reader.position.clone());
    let error = restarted.read().await.unwrap_err();
    assert!(error.is_position_lost(), "{error}");
    reader.iterators = Iterators::default();
    assert!(reader.read().await.unwrap_err().is_position_lost());
}

#[tokio::test]
async fn a_shard_that_was_read_to_its_end_may_go() {
    let stream = FakeStream::with_shards(&[("a", None)]);
    stream.put("a");
    stream.roll("a", &["b"]);
    stream.put("b");
    let mut reader = Reader::from_start(&stream);
    assert_eq!(reader.pages(3).await, [1, 2]);
    stream.remove("a");
    for hour in 1..30 {
        reader.now = NOW + hour * 3_600;
        stream.put("b");
        assert_eq!(reader.page().await.len(), 1);
        let StreamPosition::After(text) = &reader.position else {
            panic!()
        };
        assert_eq!(text.contains("\na - end"), hour < 25, "{text}");
    }
}

/// The first listing lacks a shard that is still there: what comes after it waits.
#[tokio::test]
async fn a_parent_that_no_listing_has_is_asked_for() {
    let stream = FakeStream::with_shards(&[("a", None)]);
    (0..3).for_each(|_| stream.put("a"));
    stream.roll("a", &["b"]);
    stream.put("b");
    stream.hide("a");
    let mut reader = Reader::from_start(&stream);
    assert_eq!(reader.pages(4).await, [1, 2, 3, 4]);
    // Where it is gone, it went before anybody asked.
    stream.remove("a");
    let mut reader = Reader::from_start(&stream);
    assert_eq!(reader.pages(4).await, [4]);
}

#[tokio::test]
async fn changes_that_went_before_they_were_read_are_a_lost_position() {
    let stream = FakeStream::with_shards(&[("a", None)]);
    (0..4).for_each(|_| stream.put("a"));
    let mut reader = Reader::from_start(&stream);
    reader.limit = 1;
    reader.page().await;
    stream.trim("a", 3);
    reader.iterators = Iterators::default();
    assert!(reader.read().await.unwrap_err().is_position_lost());
    // From the start there is what is kept.
    assert_eq!(Reader::from_start(&stream).page().await, [4]);
}

#[tokio::test]
async fn a_position_counts_for_23_hours_and_for_its_stream() {
    let stream = FakeStream::with_shards(&[("a", None)]);
    stream.put("a");
    let mut reader = Reader::from_start(&stream);
    reader.page().await;
    let noted = reader.position.clone();
    reader.now = NOW + READ_SECONDS_MAX - 1;
    reader.read().await.unwrap();
    reader.position = noted.clone();
    reader.now = NOW + READ_SECONDS_MAX;
    assert!(reader.read().await.unwrap_err().is_position_lost());
    let StreamPosition::After(text) = noted else { panic!() };
    let mut other = Reader::at(&stream, StreamPosition::After(text.replace("arn", "another")));
    assert!(other.read().await.unwrap_err().is_position_lost());
}

/// A child that waits for 23 hours may have lost its first changes, though its parent was read all the time.
#[tokio::test]
async fn a_shard_that_waits_too_long_is_a_lost_position() {
    let stream = FakeStream::with_shards(&[("a", None)]);
    (0..100).for_each(|_| stream.put("a"));
    let mut reader = Reader::from_start(&stream);
    reader.limit = 1;
    reader.page().await;
    stream.roll("a", &["b"]);
    stream.put("b");
    for hour in 1..23 {
        reader.now = NOW + hour * 3_600;
        assert_eq!(reader.page().await.len(), 1, "{hour}");
    }
    reader.now = NOW + 23 * 3_600;
    assert!(reader.read().await.unwrap_err().is_position_lost());
}

#[tokio::test]
async fn now_is_the_start_of_every_open_shard() {
    let stream = FakeStream::with_shards(&[("a", None)]);
    stream.put("a");
    stream.roll("a", &["b", "c"]);
    stream.put("b");
    let mut reader = Reader::at(&stream, StreamPosition::Latest);
    assert_eq!(reader.page().await, [0; 0]);
    stream.put("c");
    let mut restarted = Reader::at(&stream, reader.position);
    let mut found = restarted.pages(2).await;
    found.sort_unstable();
    assert_eq!(found, [2, 3]);
}

/// A listing may leave a shard out and have it again.
#[tokio::test]
async fn a_shard_that_comes_back_into_the_listing_is_not_read_twice() {
    let stream = FakeStream::with_shards(&[("a", None)]);
    stream.put("a");
    stream.roll("a", &["b"]);
    stream.put("b");
    stream.roll("b", &["c"]);
    let mut reader = Reader::from_start(&stream);
    assert_eq!(reader.pages(4).await, [1, 2]);
    stream.hide("a");
    stream.hide("b");
    assert_eq!(reader.page().await, [0; 0]);
    stream.show_all();
    stream.put("c");
    assert_eq!(reader.pages(4).await, [3]);
}

#[tokio::test]
async fn of_a_listing_that_has_no_end_nothing_is_concluded() {
    let shards: Vec<String> = (0..=SHARD_PAGES_MAX).map(|at| format!("s{at:03}")).collect();
    let named: Vec<(&str, Option<&str>)> = shards.iter().map(|name| (name.as_str(), None)).collect();
    let stream = FakeStream::with_shards(&named);
    stream.list_by(1);
    let error = Reader::from_start(&stream).read().await.unwrap_err();
    assert!(error.is_unavailable(), "{error}");
    stream.remove(&shards[0]);
    Reader::from_start(&stream).read().await.unwrap();
}

#[tokio::test]
async fn a_shard_that_is_throttled_holds_up_no_other_and_loses_nothing() {
    let stream = FakeStream::with_shards(&[("a", None), ("b", None)]);
    stream.put("a");
    stream.put("b");
    stream.throttle(&["a"]);
    let mut reader = Reader::from_start(&stream);
    assert_eq!(reader.page().await, [2]);
    stream.put("b");
    assert_eq!(reader.page().await, [3]);
    stream.throttle(&["a", "b"]);
    stream.put("b");
    assert_eq!(reader.page().await, [0; 0]);
    stream.throttle(&[]);
    assert_eq!(reader.pages(2).await.len(), 2);
    // Where there is one shard alone, that is said: whoever reads waits longer.
    let alone = FakeStream::with_shards(&[("a", None)]);
    alone.throttle(&["a"]);
    assert!(Reader::from_start(&alone).read().await.unwrap_err().is_throttled());
}

#[tokio::test]
async fn stretches_without_changes_are_passed() {
    let stream = FakeStream::with_shards(&[("a", None)]);
    (0..20).for_each(|_| stream.leave_gap("a"));
    stream.put("a");
    let mut reader = Reader::from_start(&stream);
    assert_eq!(reader.pages(17).await, [1]);
}

/// Drawn streams: every change once, those of a shard's line in order, however often the reader ends and whatever goes on meanwhile.
#[tokio::test]
async fn every_change_comes_once_and_in_order_on_drawn_streams() {
    for seed in 0..100 {
        let mut random = fastrand::Rng::with_seed(seed);
        let stream = FakeStream::with_shards(&[("r", None)]);
        stream.list_by(1 + random.usize(..3));
        let mut reader = Reader::from_start(&stream);
        reader.limit = 1 + random.u32(..4);
        let mut found = Vec::new();
        for _ in 0..120 {
            let open = stream.open_shards();
            let shard = open[random.usize(..open.len())].clone();
            match random.u32(..12) {
                0..5 => stream.put(&shard),
                5 => stream.leave_gap(&shard),
                6 if open.len() < 6 => {
                    let children: Vec<String> = (0..=random.u32(..2)).map(|at| format!("{shard}{at}")).collect();
                    stream.roll(&shard, &children.iter().map(String::as_str).collect::<Vec<_>>());
                }
                7 => stream.age_iterators(),
                8 => stream.throttle(&[shard.as_str()]),
                9 => stream.show_all(),
                10 => stream.hide(&shard),
                _ => reader.iterators = Iterators::default(),
            }
            match reader.read().await {
                Ok(page) => found.extend(page.records),
                Err(error) => assert!(error.is_throttled(), "seed {seed}: {error}"),
            }
            stream.throttle(&[]);
        }
        stream.show_all();
        for _ in 0..150 {
            found.extend(reader.read().await.unwrap().records);
        }
        let mut numbers: Vec<u64> = found.iter().map(FakeStream::number).collect();
        assert!(FakeStream::keeps_lines(&found), "seed {seed}: {found:?}");
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=stream.count()).collect::<Vec<_>>(), "seed {seed}");
    }
}

/// A shard takes five readings a second and each is paid for, and an account ten listings.
#[tokio::test]
async fn who_waits_for_changes_asks_once_each_time() {
    let stream = FakeStream::with_shards(&[("a", None), ("b", None)]);
    stream.put("a");
    let mut reader = Reader::from_start(&stream);
    reader.pages(3).await;
    stream.take_calls();
    for _ in 0..40 {
        assert!(reader.page().await.is_empty());
    }
    assert_eq!(stream.take_calls(), (0, 80));
    reader.now += 10;
    reader.pages(2).await;
    assert_eq!(stream.take_calls(), (1, 4));
    // What comes after a shard that has ended does not wait.
    stream.roll("b", &["c", "d"]);
    stream.put("c");
    assert_eq!(reader.pages(2).await, [2]);
}
