//! A store as one of two models sees it: reads drop what is the other one's, writes keep what the other one needs.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use singlet_item::Item;
use singlet_store::{
    BatchWriteAnswer, BatchWriteRequest, Cancellation, Comparison, Condition, DeleteRequest, ErrorKind, PageAnswer,
    Path, PutRequest, QueryRequest, Result as StoreResult, ScanRequest, Select, Store, StoreError, StoreLayer,
    StreamPage, StreamRequest, TransactWrite, TransactWriteRequest, UpdateRequest, UpdateReturn, WriteAnswer,
};

use super::state::{BridgeState, Mode, RESTS};
use singlet_runtime::BRIDGED;

use super::twins::{Twins, epoch_of, epoch_value};
use super::write::{Sent, Tokened, Writing, is_slept, slept};

/// How many transactions are remembered whose outcome is not known.
const UNKNOWN_MAX: usize = 1_024;

/// The store of one model, while another one may run beside it.
#[derive(Debug)]
pub(crate) struct BridgeStore {
    store: Arc<dyn Store>,
    table: String,
    state: Arc<BridgeState>,
    clock: fn() -> i64,
    unknown: Mutex<UnknownOutcomes>,
}

/// Transactions by their tokens: who sends one again must send the same bytes, though rows may have changed since.
#[derive(Debug, Default)]
struct UnknownOutcomes {
    sent: BTreeMap<String, (Option<u64>, Arc<TransactWriteRequest>)>,
    order: VecDeque<String>,
}

impl UnknownOutcomes {
    fn remember(&mut self, token: &str, epoch: Option<u64>, request: &Arc<TransactWriteRequest>) {
        let sent = (epoch, Arc::clone(request));
        if self.sent.insert(token.to_owned(), sent).is_none() {
            self.order.push_back(token.to_owned());
        }
        // The oldest goes: its caller has long given up, or would have sent it again.
        if self.order.len() > UNKNOWN_MAX
            && let Some(first) = self.order.pop_front()
        {
            self.sent.remove(&first);
        }
    }

    fn forget(&mut self, token: &str) {
        if self.sent.remove(token).is_some() {
            self.order.retain(|known| known != token);
        }
    }
}

const NOT_KNOWN: &str =
    "whether it was written is not known: the table went on to another stage of its migration meanwhile";

pub(crate) fn shut(why: &'static str) -> StoreError {
    StoreError::unavailable(why).with_told(Some(why))
}

impl BridgeStore {
    pub fn new((store, table): (Arc<dyn Store>, &str), state: Arc<BridgeState>, clock: fn() -> i64) -> Self {
        BridgeStore {
            store,
            table: table.to_owned(),
            state,
            clock,
            unknown: Mutex::default(),
        }
    }

    /// The other model, where its rows must be told from this one's; nothing where this model serves no more.
    fn read_beside(mode: &Mode) -> StoreResult<Option<&Twins>> {
        match mode {
            Mode::Apart { beside: None, .. } => Ok(None),
            Mode::Apart {
                beside: Some(twins), ..
            }
            | Mode::Beside { twins, .. }
            // Without rows in other places there is nothing to drop from a page.
            | Mode::Resting(twins) => Ok(twins.moves_rows().then_some(&**twins)),
            Mode::Shut(why) => Err(shut(why)),
        }
    }

    /// One action as a transaction of its own: a call that is answered as the single one would be.
    async fn single(&self, mode: &Mode, action: TransactWrite) -> StoreResult<Sent> {
        // Before anything is read for the write: while rows rest nobody may change one.
        check_rest(mode, std::slice::from_ref(&action))?;
        let Some(writing) = self.writing(mode)? else {
            return Ok(Sent::Untouched);
        };
        let sent = writing.send(std::slice::from_ref(&action), None).await;
        sent.map_err(as_single)
    }

    /// What writes rows for both models, where two run.
    fn writing<'w>(&'w self, mode: &'w Mode) -> StoreResult<Option<Writing<'w>>> {
        match mode {
            Mode::Shut(why) => Err(shut(why)),
            Mode::Apart { .. } | Mode::Resting(_) => Ok(None),
            Mode::Beside {
                twins,
                keeping,
                stamping,
                ..
            } => Ok(Some(Writing::new(
                &self.store,
                twins,
                (*keeping, *stamping),
                self.clock,
            ))),
        }
    }

    async fn transaction(&self, mode: &Mode, request: &TransactWriteRequest) -> StoreResult<Sent> {
        check_rest(mode, &request.actions)?;
        let Some(writing) = self.writing(mode)? else {
            return Ok(Sent::Untouched);
        };
        let Some(token) = request.token.as_deref() else {
            return writing.send(&request.actions, None).await;
        };
        // The bytes that were sent are good for this epoch alone: later ones need something else of the row.
        let epoch = mode.epoch();
        let known = self.known_outcome(token, epoch)?;
        // Before it is sent: an answer that is lost finds here what was sent under the token.
        let remember = |sent: &Arc<TransactWriteRequest>| self.outcomes().remember(token, epoch, sent);
        let sent = writing
            .send(
                &request.actions,
                Some(Tokened {
                    token,
                    known,
                    remember: &remember,
                }),
            )
            .await;
        // Whose outcome is known need not be sent again.
        if !sent
            .as_ref()
            // As long as the outcome may be unknown, the same bytes must be sent again, under the same token.
            .is_err_and(|error| error.is_retryable() && !is_slept(error))
        {
            self.outcomes().forget(token);
        }
        sent
    }

    /// What was sent for a token, where nobody knows whether it arrived. What was sent at another stage is not sent again: it would
    /// be written as it was right then.
    fn known_outcome(&self, token: &str, epoch: Option<u64>) -> StoreResult<Option<Arc<TransactWriteRequest>>> {
        match self.outcomes().sent.get(token) {
            None => Ok(None),
            Some((at, request)) if *at == epoch => Ok(Some(Arc::clone(request))),
            // Made anew for another epoch it could be done twice, so that it is not sent.
            Some(_) => Err(shut(NOT_KNOWN)),
        }
    }

    fn outcomes(&self) -> std::sync::MutexGuard<'_, UnknownOutcomes> {
        self.unknown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// While rows rest, only what is none of them is written.
fn check_rest(mode: &Mode, actions: &[TransactWrite]) -> StoreResult<()> {
    let Mode::Resting(twins) = mode else { return Ok(()) };
    let is_row = |action: &TransactWrite| key_of_action(twins, action).is_some_and(|key| twins.concerns(&key));
    match actions.iter().any(is_row) {
        true => Err(shut(RESTS)),
        false => Ok(()),
    }
}

/// The error that a single call would have met.
fn as_single(error: StoreError) -> StoreError {
    let Some(first) = error.cancellations().first().cloned() else {
        return error;
    };
    match first {
        Cancellation::ConditionFailed { old } => StoreError::new(ErrorKind::ConditionFailed { old }, error.message()),
        Cancellation::TooLarge => StoreError::too_large(error.message()),
        Cancellation::Invalid(why) => StoreError::bad_request(why),
        _ if error.is_throttled() && !error.is_conflict() => StoreError::new(ErrorKind::Throttled, error.message()),
        _ if error.is_conflict() => StoreError::new(ErrorKind::Conflict, error.message()),
        _ => error,
    }
}

/// A page without what is the other model's; a count of what is left, where that was asked for.
fn own_page(mut page: PageAnswer, twins: &Twins, (select, added): (&Select, &[String])) -> PageAnswer {
    // Dropped after the page and not by a filter: its last key must stay where the store ended.
    page.items.retain(|item| !twins.is_others(item));
    page.count = page.items.len();
    match select {
        Select::Count => page.items.clear(),
        Select::Paths(_) => {
            for item in &mut page.items {
                added.iter().for_each(|name| drop(item.remove(name)));
            }
        }
        Select::All => {}
    }
    page
}

/// What has to be asked for, so that it can be told whose an item is; and the names that were not asked for.
fn telling_select(select: &Select, twins: &Twins) -> (Select, Vec<String>) {
    let table = &twins.model().table;
    let names = table.key.iter().map(|key| key.name.clone());
    let names: Vec<String> = names.chain(table.type_attribute.clone()).collect();
    let asked: Vec<Path> = match select {
        Select::All => return (Select::All, Vec::new()),
        Select::Paths(paths) => paths.iter().cloned().collect(),
        Select::Count => Vec::new(),
    };
    let is_asked = |name: &String| asked.iter().any(|path| path.name() == name);
    // What tells whose an item is has to be asked for, and is taken out again before anybody sees it.
    let added: Vec<String> = names.into_iter().filter(|name| !is_asked(name)).collect();
    let mut paths = asked;
    paths.extend(added.iter().map(Path::attribute));
    (Select::Paths(paths.into()), added)
}

#[async_trait]
impl StoreLayer for BridgeStore {
    fn beneath(&self) -> &dyn Store {
        &*self.store
    }

    async fn query(&self, request: &QueryRequest) -> StoreResult<PageAnswer> {
        // Held to its end: who changes the mode counts on no page of before being read yet.
        let mode = self.state.held().await;
        let Some(twins) = Self::read_beside(&mode)? else {
            return self.store.query(request).await;
        };
        let (select, added) = telling_select(&request.select, twins);
        let asked = QueryRequest {
            select,
            ..request.clone()
        };
        let page = self.store.query(&asked).await?;
        Ok(own_page(page, twins, (&request.select, &added)))
    }

    async fn scan(&self, request: &ScanRequest) -> StoreResult<PageAnswer> {
        // Held to its end: who changes the mode counts on no page of before being read yet.
        let mode = self.state.held().await;
        let Some(twins) = Self::read_beside(&mode)? else {
            return self.store.scan(request).await;
        };
        let (select, added) = telling_select(&request.select, twins);
        let asked = ScanRequest {
            select,
            ..request.clone()
        };
        let page = self.store.scan(&asked).await?;
        Ok(own_page(page, twins, (&request.select, &added)))
    }

    async fn get(&self, request: &singlet_store::GetRequest) -> StoreResult<singlet_store::GetAnswer> {
        // To the end of the call, as all reads and writes: a change of the mode waits for them.
        let mode = self.state.held().await;
        Self::read_beside(&mode)?;
        self.store.get(request).await
    }

    async fn batch_get(&self, request: &singlet_store::BatchGetRequest) -> StoreResult<singlet_store::BatchGetAnswer> {
        let mode = self.state.held().await;
        Self::read_beside(&mode)?;
        self.store.batch_get(request).await
    }

    async fn transact_get(
        &self,
        request: &singlet_store::TransactGetRequest,
    ) -> StoreResult<singlet_store::TransactGetAnswer> {
        let mode = self.state.held().await;
        Self::read_beside(&mode)?;
        self.store.transact_get(request).await
    }

    /// Who keeps elsewhere what it makes of changes must not read them, either.
    async fn read_stream(&self, request: &StreamRequest) -> StoreResult<StreamPage> {
        let mode = self.state.held().await;
        Self::read_beside(&mode)?;
        self.store.read_stream(request).await
    }

    async fn put(&self, request: &PutRequest) -> StoreResult<WriteAnswer> {
        self.awake(|| self.put_now(request)).await
    }

    async fn update(&self, request: &UpdateRequest) -> StoreResult<WriteAnswer> {
        self.awake(|| self.update_now(request)).await
    }

    async fn delete(&self, request: &DeleteRequest) -> StoreResult<WriteAnswer> {
        self.awake(|| self.delete_now(request)).await
    }

    /// Nobody writes rows so who keeps them for two models, or shares them with who does.
    async fn batch_write(&self, request: &BatchWriteRequest) -> StoreResult<BatchWriteAnswer> {
        match &*self.state.held().await {
            Mode::Apart { epoch: None, .. } => self.store.batch_write(request).await,
            Mode::Apart { .. } | Mode::Beside { .. } | Mode::Resting(_) => Err(StoreError::bad_request(
                "while two models run, rows are not written in batches",
            )),
            Mode::Shut(why) => Err(shut(why)),
        }
    }

    async fn transact_write(&self, request: &TransactWriteRequest) -> StoreResult<WriteAnswer> {
        self.awake(|| self.transact_write_now(request)).await
    }
}

impl BridgeStore {
    /// Makes a call; once more, where it has met what was written later and the process has learned of that.
    async fn awake<F>(&self, call: impl Fn() -> F) -> StoreResult<WriteAnswer>
    where
        F: Future<Output = StoreResult<WriteAnswer>>,
    {
        match call().await {
            // Tried once more after the process has looked: the table is in a later phase than it knew.
            Err(error) if is_slept(&error) && self.state.catch_up().await => call().await,
            answer => answer,
        }
    }

    async fn put_now(&self, request: &PutRequest) -> StoreResult<WriteAnswer> {
        let mode = self.state.held().await;
        if let Some(epoch) = self.guarded_at(&mode, &request.table) {
            let guarded = PutRequest {
                condition: Some(not_later(request.condition.clone(), epoch)),
                ..request.clone()
            };
            let put = self.store.put(&guarded).await;
            return put.map_err(|error| as_slept(error, epoch));
        }
        match self.single(&mode, TransactWrite::Put(request.clone())).await? {
            Sent::Untouched => self.store.put(request).await,
            Sent::Done { consumed, before, .. } => Ok(WriteAnswer {
                attributes: before.filter(|_| request.return_old),
                consumed,
            }),
        }
    }

    async fn update_now(&self, request: &UpdateRequest) -> StoreResult<WriteAnswer> {
        let mode = self.state.held().await;
        if let Some(epoch) = self.guarded_at(&mode, &request.table) {
            let guarded = UpdateRequest {
                condition: Some(not_later(request.condition.clone(), epoch)),
                ..request.clone()
            };
            let updated = self.store.update(&guarded).await;
            return updated.map_err(|error| as_slept(error, epoch));
        }
        // A write that is made anew as a put has no parts that the store could tell.
        if matches!(request.returns, UpdateReturn::UpdatedOld | UpdateReturn::UpdatedNew) {
            return Err(StoreError::bad_request(
                "while two models run, an update answers whole items",
            ));
        }
        match self.single(&mode, TransactWrite::Update(request.clone())).await? {
            Sent::Untouched => self.store.update(request).await,
            Sent::Done {
                consumed,
                before,
                after,
            } => Ok(WriteAnswer {
                attributes: match request.returns {
                    UpdateReturn::Old => before,
                    UpdateReturn::New => after,
                    _ => None,
                },
                consumed,
            }),
        }
    }

    async fn delete_now(&self, request: &DeleteRequest) -> StoreResult<WriteAnswer> {
        let mode = self.state.held().await;
        if let Some(epoch) = self.guarded_at(&mode, &request.table) {
            let guarded = DeleteRequest {
                condition: Some(not_later(request.condition.clone(), epoch)),
                ..request.clone()
            };
            let deleted = self.store.delete(&guarded).await;
            return deleted.map_err(|error| as_slept(error, epoch));
        }
        match self.single(&mode, TransactWrite::Delete(request.clone())).await? {
            Sent::Untouched => self.store.delete(request).await,
            Sent::Done { consumed, before, .. } => Ok(WriteAnswer {
                attributes: before.filter(|_| request.return_old),
                consumed,
            }),
        }
    }

    async fn transact_write_now(&self, request: &TransactWriteRequest) -> StoreResult<WriteAnswer> {
        let mode = self.state.held().await;
        if let Mode::Apart { epoch: Some(epoch), .. } = &*mode {
            return self.guarded_transaction(request, *epoch).await;
        }
        match self.transaction(&mode, request).await? {
            Sent::Untouched => self.store.transact_write(request).await,
            Sent::Done { consumed, .. } => Ok(WriteAnswer {
                attributes: None,
                consumed,
            }),
        }
    }

    /// The epoch that what this model alone writes must not be later than, where others share the table.
    fn guarded_at(&self, mode: &Mode, table: &str) -> Option<u64> {
        match mode {
            Mode::Apart { epoch, .. } => epoch.filter(|_| table == self.table),
            Mode::Beside { .. } | Mode::Resting(_) | Mode::Shut(_) => None,
        }
    }

    async fn guarded_transaction(&self, request: &TransactWriteRequest, epoch: u64) -> StoreResult<WriteAnswer> {
        let mut guarded = request.clone();
        for action in &mut guarded.actions {
            let (table, condition) = match action {
                TransactWrite::Put(put) => (&put.table, &mut put.condition),
                TransactWrite::Update(update) => (&update.table, &mut update.condition),
                TransactWrite::Delete(delete) => (&delete.table, &mut delete.condition),
                TransactWrite::Check { .. } => continue,
            };
            if *table == self.table {
                *condition = Some(not_later(condition.take(), epoch));
            }
        }
        let Some(token) = request.token.as_deref() else {
            let sent = self.store.transact_write(&guarded).await;
            return sent.map_err(|error| as_slept(error, epoch));
        };
        // A request of an earlier epoch must not be sent with another guard: it may have been done.
        self.known_outcome(token, Some(epoch))?;
        let guarded = Arc::new(guarded);
        self.outcomes().remember(token, Some(epoch), &guarded);
        let sent = self.store.transact_write(&guarded).await;
        if !sent.as_ref().is_err_and(StoreError::is_retryable) {
            self.outcomes().forget(token);
        }
        sent.map_err(|error| as_slept(error, epoch))
    }
}

/// A condition, and that the item was not written at a later stage than one of the process's own.
fn not_later(condition: Option<Condition>, epoch: u64) -> Condition {
    let stamp = Path::attribute(BRIDGED);
    let known = Condition::compare(stamp.clone(), Comparison::LessOrEqual, epoch_value(epoch));
    // A row without a stamp was not written for a later phase.
    let known = Condition::Or(vec![Condition::not_exists(stamp), known]);
    match condition {
        Some(condition) => condition.and(known),
        None => known,
    }
}

/// That a process slept, where that is why nothing was written; the error itself otherwise.
fn as_slept(error: StoreError, epoch: u64) -> StoreError {
    let is_later = |old: Option<&Item>| old.and_then(epoch_of).is_some_and(|stamp| stamp > epoch);
    let of_one =
        |reason: &Cancellation| matches!(reason, Cancellation::ConditionFailed { old } if is_later(old.as_ref()));
    // Told by the image and not by the condition, which may have failed for its own sake.
    match is_later(error.old_image()) || error.cancellations().iter().any(of_one) {
        true => slept(),
        false => error,
    }
}

/// The key of the item that an action is about, in a table.
pub(crate) fn key_of_action(twins: &Twins, action: &TransactWrite) -> Option<Item> {
    let (table, key) = match action {
        TransactWrite::Put(put) => (&put.table, singlet_runtime::key_in(twins.model(), &put.item)),
        TransactWrite::Update(update) => (&update.table, update.key.clone()),
        TransactWrite::Delete(delete) => (&delete.table, delete.key.clone()),
        TransactWrite::Check { .. } => return None,
    };
    (table == twins.table()).then_some(key)
}
