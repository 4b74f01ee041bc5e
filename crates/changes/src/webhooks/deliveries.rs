//! The deliveries of a model's table, and the state of its webhooks.

use std::sync::Arc;

use singlet_item::{Item, Value};
use singlet_model::model::Webhook;
use singlet_runtime::{ChangedRow, Engine, RuntimeError, TriggerOutcome, change_record_put, keep_row_until};
use singlet_store::{
    Cancellation, Condition, DeleteRequest, ErrorKind, KeyRange, Path, PutRequest, QueryRequest, SortRange, Store,
    StoreError, TransactWrite, TransactWriteRequest,
};

use super::delivery::{DUE_SORT, Delivery, FAILED_SORT};
use crate::followers::{FollowError, Followers, number_of, number_value, turn_of, unreadable_progress};
use crate::source::Beside;

/// What the rows of a webhook are called in keys.
const KIND: &str = "webhook";

/// What the row with the names of all webhooks is called.
const NAMES_KIND: &str = "webhooks";
const NAMES: &str = "$names";

const ADDRESS: &str = "$address";
const GONE: &str = "$gone";
const GONE_AT: &str = "$gone_at";
const ORDER: &str = "$order";

/// How long a delivery is kept that is neither made nor discarded, where the table has a TTL.
const DELIVERY_KEPT_SECONDS: i64 = 30 * 86_400;

/// How many deliveries are looked at at once.
const DELIVERIES_PAGE: u32 = 64;

/// How often the state of a webhook is tried to be written, which operators write too.
const TRIES_MAX: usize = 16;

/// The state of a webhook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebhookState {
    /// Where it is sent, as whoever sends it last noted; none where it is off.
    pub address: Option<String>,
    /// The address that said that it is gone for good (410): nothing is sent there any more.
    pub gone: Option<String>,
    /// When it said so, in epoch milliseconds.
    pub gone_at: Option<i64>,
    /// What an operator asked for.
    pub order: Option<WebhookOrder>,
    turn: Option<u64>,
}

impl WebhookState {
    /// Whether anybody has ever sent it, or was asked to.
    pub fn is_known(&self) -> bool {
        self.turn.is_some()
    }
}

/// What an operator asks for of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookOrder {
    /// That it is sent again to an address that was gone, and what failed is tried from the beginning.
    Resume,
    /// That what failed is left out for good, and of a webhook that is not sent also what waits.
    Discard,
}

impl WebhookOrder {
    fn word(self) -> &'static str {
        match self {
            WebhookOrder::Resume => "resume",
            WebhookOrder::Discard => "discard",
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        [WebhookOrder::Resume, WebhookOrder::Discard]
            .into_iter()
            .find(|order| order.word() == word)
    }
}

/// A webhook's state and some of its deliveries.
pub(super) struct Looked {
    pub state: WebhookState,
    pub deliveries: Vec<Delivery>,
}

/// The deliveries of a model's table.
#[derive(Clone)]
pub struct Deliveries {
    followers: Followers,
}

impl Deliveries {
    /// Of a model's table.
    pub fn new(followers: Followers) -> Self {
        Deliveries { followers }
    }

    /// Writes what a webhook tells of a change, unless that was done before: the delivery and a record are one transaction. Nothing
    /// where nobody is to be told.
    pub(crate) async fn make_deliveries(
        &self,
        engine: &Engine,
        webhook: &Webhook,
        (change, at_seconds): (&ChangedRow, i64),
        parked: Option<&Item>,
        now: i64,
    ) -> Result<TriggerOutcome, RuntimeError> {
        // Asked first: what nobody is told needs no record.
        if engine.webhook_address(webhook)?.is_none() {
            return Ok(TriggerOutcome::NotMeant);
        }
        let delivery = Delivery::of_change(engine, webhook, change, at_seconds, now)?;
        let record = change_record_put(engine.model(), &webhook.name, &change.id, now)?;
        let mut actions = vec![
            // The record first: by its place in the answer it is known that this was done before.
            TransactWrite::Put(record),
            TransactWrite::Put(self.put_of(&webhook.name, &delivery)?),
        ];
        // The parked change goes in the same transaction, as with a write.
        actions.extend(parked.map(|key| TransactWrite::Delete(self.delete_of(key.clone(), false))));
        let request = TransactWriteRequest { actions, token: None };
        match engine.store().transact_write(&request).await {
            Ok(_) => Ok(TriggerOutcome::Done),
            Err(error) if is_first_refused(&error) => Ok(TriggerOutcome::DoneBefore),
            Err(error) => Err(error.into()),
        }
    }

    /// The state of a webhook.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn webhook_state(&self, webhook: &str) -> Result<WebhookState, FollowError> {
        let row = self.row(webhook)?;
        let item = self.followers.get(&row).await?;
        item.as_ref().map_or_else(|| Ok(WebhookState::default()), state_in)
    }

    /// Some deliveries of a webhook that are still to be made or failed, from the earliest on.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn list_deliveries(&self, webhook: &str, limit: usize) -> Result<Vec<Delivery>, FollowError> {
        let table = &self.followers.model().table;
        let mut key = Some(self.followers.key_of(&self.row(webhook)?));
        let mut found = Vec::new();
        while let Some(from) = key.take().filter(|_| found.len() < limit) {
            let beside = Beside {
                table: table.name.clone(),
                partition: table.key.first().map(|key| key.name.clone()).unwrap_or_default(),
                key: from,
                after: true,
                limit: DELIVERIES_PAGE,
            };
            let page = self.followers.source().items_beside(&beside).await?;
            found.extend(page.items.iter().filter_map(Delivery::of_item));
            key = page.last_key;
        }
        found.truncate(limit);
        Ok(found)
    }

    /// Asks for something of a webhook; whoever sends does it.
    ///
    /// # Errors
    ///
    /// Where the store fails, or others write its state all the time.
    pub async fn order_webhook(&self, webhook: &str, order: WebhookOrder) -> Result<(), FollowError> {
        self.change_state(webhook, |state| state.order = Some(order)).await
    }

    /// Notes where it is sent, for who looks.
    pub(super) async fn note_address(&self, webhook: &str, address: Option<&str>) -> Result<(), FollowError> {
        self.change_state(webhook, |state| state.address = address.map(str::to_owned))
            .await
    }

    /// Notes that an address is gone for good.
    pub(super) async fn note_gone(&self, webhook: &str, address: &str, now: i64) -> Result<(), FollowError> {
        self.change_state(webhook, |state| {
            if state.gone.as_deref() != Some(address) {
                (state.gone, state.gone_at) = (Some(address.to_owned()), Some(now));
            }
        })
        .await
    }

    /// Notes that what an operator asked for was done.
    pub(super) async fn note_done(&self, webhook: &str, order: WebhookOrder) -> Result<(), FollowError> {
        self.change_state(webhook, |state| {
            if state.order == Some(order) {
                state.order = None;
            }
            if order == WebhookOrder::Resume {
                (state.gone, state.gone_at) = (None, None);
            }
        })
        .await
    }

    /// The state of a webhook and what is due by an instant, in one question.
    pub(super) async fn look(&self, store: &dyn Store, webhook: &str, now: i64) -> Result<Looked, FollowError> {
        let by_now = SortRange::less_or_equal(format!("{DUE_SORT}{now:015}~"));
        self.look_in(store, webhook, by_now).await
    }

    /// The same with what failed, or all that is still to be made.
    pub(super) async fn look_at(&self, store: &dyn Store, webhook: &str, failed: bool) -> Result<Looked, FollowError> {
        let begins = if failed { FAILED_SORT } else { DUE_SORT };
        self.look_in(store, webhook, SortRange::begins_with(begins)).await
    }

    async fn look_in(&self, store: &dyn Store, webhook: &str, range: SortRange) -> Result<Looked, FollowError> {
        let row = self.row(webhook)?;
        let table = &self.followers.model().table;
        let (Some(partition), Some(sort)) = (table.key.first(), table.key.get(1)) else {
            return Err(unreadable_progress());
        };
        let value = row.get(&partition.name).cloned().ok_or_else(unreadable_progress)?;
        let keys = KeyRange::partition(partition.name.clone(), value).sort(sort.name.clone(), range);
        let mut request = QueryRequest::new(table.name.clone(), keys);
        // A delivery that was removed must not be sent again by an old copy.
        request.consistent = true;
        request.limit = Some(DELIVERIES_PAGE);
        let page = store.query(&request).await?;
        let of_state = page
            .items
            .iter()
            .find(|item| item.get(&sort.name) == row.get(&sort.name));
        Ok(Looked {
            state: of_state.map_or_else(|| Ok(WebhookState::default()), state_in)?,
            deliveries: page.items.iter().filter_map(Delivery::of_item).collect(),
        })
    }

    /// Removes a delivery: it was made, or nobody wants it.
    pub(super) async fn remove(&self, store: &dyn Store, webhook: &str, of: &Delivery) -> Result<(), FollowError> {
        store.delete(&self.delete_of(self.key_of(webhook, of)?, false)).await?;
        Ok(())
    }

    /// Has a delivery be tried at another instant, or never. Where it is not there any more, somebody else was faster.
    pub(super) async fn move_on(
        &self,
        store: &dyn Store,
        webhook: &str,
        from: &Delivery,
        to: &Delivery,
    ) -> Result<(), FollowError> {
        // The same key: deleting and putting one item in a transaction is refused.
        if from.sort() == to.sort() {
            return Ok(());
        }
        let actions = vec![
            // On condition that it is still there: of two who send, one moves it on.
            TransactWrite::Delete(self.delete_of(self.key_of(webhook, from)?, true)),
            TransactWrite::Put(self.put_of(webhook, to)?),
        ];
        let request = TransactWriteRequest { actions, token: None };
        match store.transact_write(&request).await {
            Err(error) if is_first_refused(&error) => Ok(()),
            moved => Ok(moved.map(|_| ())?),
        }
    }

    /// Removes the rows of webhooks that the model no longer has: nobody would send them, nor see them. How many deliveries those were.
    pub(crate) async fn forget_others(&self, store: &dyn Store) -> Result<usize, FollowError> {
        let model = Arc::clone(self.followers.model());
        let mut names = self.followers.row(NAMES_KIND, &[])?;
        let there = self.followers.get(&names).await?;
        let known: Vec<&str> = match there.as_ref().and_then(|item| item.get(NAMES)) {
            Some(Value::L(known)) => known.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let own: Vec<&str> = model.webhooks.iter().map(|webhook| webhook.name.as_str()).collect();
        if known == own {
            return Ok(0);
        }
        let mut removed = 0;
        for webhook in known.iter().filter(|known| !own.contains(known)) {
            removed += self.remove_all(store, webhook).await?;
        }
        let turn = there.as_ref().map(turn_of).transpose()?;
        let own = own.into_iter().map(|name| Value::S(name.to_owned()));
        names.insert(NAMES.to_owned(), Value::L(own.collect()));
        // Where another process was faster, it has done the same; the next start looks again.
        self.followers.put_item(names, turn).await?;
        Ok(removed)
    }

    /// Removes all rows of a webhook, its state last: a process that ends on the way leaves what the next one finds.
    async fn remove_all(&self, store: &dyn Store, webhook: &str) -> Result<usize, FollowError> {
        let mut removed = 0;
        for failed in [false, true] {
            loop {
                let found = self.look_at(store, webhook, failed).await?.deliveries;
                if found.is_empty() {
                    break;
                }
                for delivery in &found {
                    self.remove(store, webhook, delivery).await?;
                }
                removed += found.len();
            }
        }
        let state = self.followers.key_of(&self.row(webhook)?);
        store.delete(&self.delete_of(state, false)).await?;
        Ok(removed)
    }

    async fn change_state(&self, webhook: &str, change: impl Fn(&mut WebhookState)) -> Result<(), FollowError> {
        for _ in 0..TRIES_MAX {
            let before = self.webhook_state(webhook).await?;
            let mut state = before.clone();
            change(&mut state);
            if state == before && before.is_known() {
                return Ok(());
            }
            let mut row = self.row(webhook)?;
            row.extend(state.address.map(|address| (ADDRESS.to_owned(), Value::S(address))));
            row.extend(state.gone.map(|address| (GONE.to_owned(), Value::S(address))));
            row.extend(state.gone_at.map(|at| (GONE_AT.to_owned(), number_value(at))));
            let order = state.order.map(|order| order.word().to_owned());
            row.extend(order.map(|word| (ORDER.to_owned(), Value::S(word))));
            if self.followers.put_item(row, before.turn).await?.is_some() {
                return Ok(());
            }
        }
        Err(FollowError::Overtaken)
    }

    /// The row of a webhook's state, empty.
    fn row(&self, webhook: &str) -> Result<Item, RuntimeError> {
        self.followers.row(KIND, &[webhook])
    }

    fn row_of(&self, webhook: &str, delivery: &Delivery) -> Result<Item, RuntimeError> {
        let mut row = self.row(webhook)?;
        let sort = self.followers.model().table.key.get(1);
        row.extend(sort.map(|sort| (sort.name.clone(), Value::S(delivery.sort()))));
        Ok(row)
    }

    fn key_of(&self, webhook: &str, delivery: &Delivery) -> Result<Item, RuntimeError> {
        Ok(self.followers.key_of(&self.row_of(webhook, delivery)?))
    }

    fn put_of(&self, webhook: &str, delivery: &Delivery) -> Result<PutRequest, RuntimeError> {
        let model = Arc::clone(self.followers.model());
        let mut item = self.row_of(webhook, delivery)?;
        delivery.put_into(&mut item);
        keep_row_until(
            &model,
            &mut item,
            delivery.made.div_euclid(1_000) + DELIVERY_KEPT_SECONDS,
        );
        Ok(PutRequest {
            table: model.table.name.clone(),
            item,
            condition: None,
            return_old: false,
        })
    }

    fn delete_of(&self, key: Item, must_be_there: bool) -> DeleteRequest {
        let table = &self.followers.model().table;
        let partition = table.key.first().filter(|_| must_be_there);
        DeleteRequest {
            table: table.name.clone(),
            key,
            condition: partition.map(|key| Condition::exists(Path::attribute(&key.name))),
            return_old: false,
        }
    }
}

fn state_in(item: &Item) -> Result<WebhookState, FollowError> {
    let text = |name: &str| item.get(name).and_then(Value::as_str);
    Ok(WebhookState {
        address: text(ADDRESS).map(str::to_owned),
        gone: text(GONE).map(str::to_owned),
        gone_at: number_of(item.get(GONE_AT)),
        order: text(ORDER).and_then(WebhookOrder::of_word),
        turn: Some(turn_of(item)?),
    })
}

/// Whether the first action's condition did not hold.
fn is_first_refused(error: &StoreError) -> bool {
    match error.kind() {
        ErrorKind::Cancelled(reasons) => matches!(reasons.first(), Some(Cancellation::ConditionFailed { .. })),
        _ => false,
    }
}
