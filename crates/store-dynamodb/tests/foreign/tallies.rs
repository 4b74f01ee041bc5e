//! Tallies and copies that follow, over the stream of a foreign endpoint: as on the embedded store.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use singlet_changes::{ChangeSource, Followers};
use singlet_changes::{FollowError, TallyFollower, TriggerFollower, Unobserved, ask_for_figures};
use singlet_model::Source;
use singlet_runtime::{Attributes, Caller, Engine, Request, Value, WriteRequest, table};
use singlet_store::{ErrorKind, Store};
use singlet_values::json_text;

use crate::place;

const MODEL: &str = r#"
singlet: 1
name: tallied
table: {name: tallied, key: {partition: PK, sort: SK}, type: kind, ttl: ttl, stream: both_images}
entities:
  Book:
    attributes: {book: string 1..8, title: string 1..20}
    key: {PK: "BOOK#{book}", SK: "BOOK"}
  Note:
    attributes:
      book: Book.book
      id: string 1..8
      words: number = 0.5
      title: {copy: "Book(book).title", kept: stream}
    key: {PK: "BOOK#{book}", SK: "NOTE#{id}"}
tallies:
  byBook: {count: Note, by: [book, title], sum: {words: words}}
reads:
  figures: {tally: byBook, allow: true}
writes:
  add: {allow: true, do: [{create: Book, take: [book, title]}]}
  write: {allow: true, do: [{create: Note, take: [book, id]}]}
  rename: {args: {book: string 1..8}, allow: true, do: [{update: Book(args.book), take: [title]}]}
  drop: {args: {book: string 1..8, id: string 1..8}, allow: true, do: [{delete: "Note(args.book, args.id)"}]}
"#;

fn now_millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

async fn write(engine: &Engine, name: &str, args: &[(&str, &str)]) {
    let args = args
        .iter()
        .map(|(name, text)| ((*name).to_owned(), Value::S((*text).to_owned())));
    let request = WriteRequest {
        args: args.collect(),
        caller: Caller::with_id("ada"),
        now: now_millis(),
        ..WriteRequest::default()
    };
    engine.write(name, &request).await.unwrap();
}

async fn figures(engine: &Engine) -> String {
    let answer = engine.read("figures", &Request::default()).await.unwrap();
    json_text::json_of(&answer.value.unwrap())
}

/// Has copies follow and figures be counted, to the head; whoever finds another further begins again.
async fn rest(engine: &Arc<Engine>) {
    loop {
        let counted = async {
            let mut follower = TriggerFollower::start(Arc::clone(engine), Arc::new(Unobserved), now_millis()).await?;
            while !follower.is_at_head() {
                follower.follow_page(&now_millis).await?;
            }
            let mut tallies = TallyFollower::start(Arc::clone(engine), 200, now_millis()).await?;
            while !tallies.is_at_rest() {
                tallies.follow_page(&now_millis).await?;
            }
            Ok(())
        };
        match counted.await {
            Ok(()) => return,
            Err(FollowError::Overtaken) => {}
            Err(FollowError::Store(error)) if matches!(error.kind(), ErrorKind::Cancelled(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn figures_are_kept_and_copies_follow() {
    let store: Arc<dyn Store> = place::streamed_store().await;
    let loaded = singlet_model::load_source(&Source::new("model.yaml", MODEL));
    assert!(!loaded.diagnostics.has_errors(), "{:?}", loaded.diagnostics);
    let model = Arc::new(loaded.model.unwrap());
    store.create_table(&table::table_spec(&model)).await.unwrap();
    let engine = || {
        let (model, store) = (Arc::clone(&model), Arc::clone(&store));
        Arc::new(Engine::open(model, store, Attributes::new(), [7; 32]))
    };
    let writer = engine();
    // What is there before anybody follows.
    write(&writer, "add", &[("book", "a"), ("title", "one")]).await;
    for id in ["x", "y", "z"] {
        write(&writer, "write", &[("book", "a"), ("id", id)]).await;
    }
    let both = async {
        let (one, other) = (engine(), engine());
        tokio::join!(rest(&one), rest(&other))
    };
    tokio::time::timeout(Duration::from_secs(120), both).await.unwrap();
    assert_eq!(figures(&writer).await, r#"{"a":{"one":{"count":3,"words":1.5}}}"#);
    write(&writer, "drop", &[("book", "a"), ("id", "x")]).await;
    write(&writer, "rename", &[("book", "a"), ("title", "two")]).await;
    rest(&engine()).await;
    assert_eq!(figures(&writer).await, r#"{"a":{"two":{"count":2,"words":1}}}"#);
    let source: Arc<dyn ChangeSource> = Arc::new(Arc::clone(&store));
    let followers = Followers::new(Arc::clone(&model), source);
    ask_for_figures(&followers, "byBook").await.unwrap();
    write(&writer, "write", &[("book", "a"), ("id", "v")]).await;
    rest(&engine()).await;
    assert_eq!(figures(&writer).await, r#"{"a":{"two":{"count":3,"words":1.5}}}"#);
}
