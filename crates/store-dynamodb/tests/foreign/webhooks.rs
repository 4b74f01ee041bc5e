//! Deliveries of webhooks in a table of a foreign endpoint: as in the embedded store.

use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use singlet_changes::{
    Deliveries, Followers, PostWebhook, Posted, TriggerFollower, Unobserved, WebhookOrder, WebhookPost, WebhookSender,
};
use singlet_model::Source;
use singlet_runtime::{Attributes, Caller, Engine, Value, WriteRequest, table};
use singlet_store::Store;

use crate::place;

const MODEL: &str = r#"
singlet: 1
name: hooks
table: {name: hooks, key: {partition: PK, sort: SK}, type: kind, ttl: ttl, stream: both_images}
settings: {seatsUrl: 'string = "https://seats.example/"'}
entities:
  Seat:
    attributes: {id: string 1..8}
    key: {PK: "SEAT#{id}", SK: "SEAT"}
writes:
  make: {allow: true, do: [{create: Seat, take: [id]}]}
webhooks:
  made: {after: {create: Seat}, to: settings.seatsUrl, send: {seat: row.id}}
"#;

/// A receiver that answers the same to everything.
struct Receiver {
    came: Mutex<Vec<(String, String)>>,
    answer: Mutex<Posted>,
}

#[async_trait]
impl PostWebhook for Receiver {
    async fn post(&self, post: &WebhookPost<'_>) -> Posted {
        self.came
            .lock()
            .unwrap()
            .push((post.id.to_owned(), post.body.to_owned()));
        self.answer.lock().unwrap().clone()
    }
}

#[tokio::test]
async fn deliveries_are_written_once_tried_on_schedule_and_kept_for_an_operator() {
    let store: Arc<dyn Store> = place::streamed_store().await;
    let loaded = singlet_model::load_source(&Source::new("model.yaml", MODEL));
    assert!(!loaded.diagnostics.has_errors(), "{:?}", loaded.diagnostics);
    let model = Arc::new(loaded.model.unwrap());
    store.create_table(&table::table_spec(&model)).await.unwrap();
    let engine = Arc::new(Engine::open(Arc::clone(&model), store, Attributes::new(), [7; 32]));
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let begun = i64::try_from(since.as_millis()).unwrap();
    let start = || TriggerFollower::start(Arc::clone(&engine), Arc::new(Unobserved), begun);
    let mut one = start().await.unwrap();
    let mut other = start().await.unwrap();
    for id in ["a", "b"] {
        let request = WriteRequest {
            args: Attributes::from([("id".to_owned(), Value::S(id.to_owned()))]),
            caller: Caller::with_id("ada"),
            now: begun,
            ..WriteRequest::default()
        };
        engine.write("make", &request).await.unwrap();
    }
    // Both believe to be the one who follows.
    while !one.is_at_head() {
        one.follow_page(&|| begun).await.unwrap();
    }
    while !other.is_at_head() {
        if other.follow_page(&|| begun).await.is_err() {
            break;
        }
    }
    let receiver = Arc::new(Receiver {
        came: Mutex::default(),
        answer: Mutex::new(Posted::Failed {
            reason: "500".to_owned(),
            retry_after: None,
        }),
    });
    let sender = WebhookSender::new(Arc::clone(&engine), receiver.clone(), Arc::new(Unobserved));
    let kept = Deliveries::new(Followers::new(Arc::clone(&model), Arc::new(Arc::clone(engine.store()))));
    let webhook = &model.webhooks[0];
    let mut now = begun;
    for attempts in 1..=10 {
        assert_eq!(sender.send_due(webhook, &|| now).await.unwrap(), 2);
        assert_eq!(sender.send_due(webhook, &|| now).await.unwrap(), 0, "it waits");
        let listed = kept.list_deliveries("made", 10).await.unwrap();
        assert!(
            listed.len() == 2 && listed.iter().all(|one| one.attempts == attempts),
            "{listed:?}"
        );
        assert_eq!(listed.iter().all(|one| one.due.is_none()), attempts == 10);
        now += 27 * 3_600_000;
    }
    *receiver.answer.lock().unwrap() = Posted::Gone;
    kept.order_webhook("made", WebhookOrder::Resume).await.unwrap();
    kept.follow_orders(&engine, webhook, now).await.unwrap();
    assert!(sender.send_due(webhook, &|| now).await.unwrap() > 0);
    assert!(kept.webhook_state("made").await.unwrap().gone.is_some());
    assert_eq!(sender.send_due(webhook, &|| now + 5_000).await.unwrap(), 0);

    *receiver.answer.lock().unwrap() = Posted::Taken;
    kept.order_webhook("made", WebhookOrder::Resume).await.unwrap();
    kept.follow_orders(&engine, webhook, now).await.unwrap();
    assert_eq!(sender.send_due(webhook, &|| now + 9_000).await.unwrap(), 2);
    assert_eq!(kept.list_deliveries("made", 10).await.unwrap(), []);
    let mut told = receiver.came.lock().unwrap().clone();
    told.sort_unstable();
    told.dedup();
    assert_eq!(told.len(), 2, "{told:?}");
}
