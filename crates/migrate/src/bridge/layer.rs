//! A store as one of two models sees it: reads drop what is the other one's, writes keep what the other one needs.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use singlet_item::Item;
use singlet_store::{
    BatchWriteAnswer, BatchWriteRequest, DeleteRequest, ErrorKind, PageAnswer, Path, PutRequest, QueryRequest,
    Result as StoreResult, ScanRequest, Select, Store, StoreError, StoreLayer, TransactWrite, TransactWriteRequest,
    UpdateRequest, UpdateReturn, WriteAnswer,
};

use super::state::{BridgeState, Mode};
use super::twins::Twins;
use super::write::{Sent, Tokened, Writing};

/// How many transactions are remembered whose outcome is not known.
const UNKNOWN_MAX: usize = 1_024;

/// The store of one model, while another one may run beside it.
#[derive(Debug)]
pub(crate) struct BridgeStore {
    store: Arc<dyn Store>,
    state: Arc<BridgeState>,
    clock: fn() -> i64,
    unknown: Mutex<UnknownOutcomes>,
}

/// Transactions by their tokens: who sends one again must send the same bytes, though rows may have changed since.
#[derive(Debug, Default)]
struct UnknownOutcomes {
    sent: BTreeMap<String, Arc<TransactWriteRequest>>,
    order: VecDeque<String>,
}

impl UnknownOutcomes {
    fn remember(&mut self, token: &str, request: &Arc<TransactWriteRequest>) {
        if self.sent.insert(token.to_owned(), Arc::clone(request)).is_none() {
            self.order.push_back(token.to_owned());
        }
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

fn shut(why: &'static str) -> StoreError {
    StoreError::unavailable(why).telling(Some(why))
}

impl BridgeStore {
    pub fn new(store: Arc<dyn Store>, state: Arc<BridgeState>, clock: fn() -> i64) -> Self {
        BridgeStore {
            store,
            state,
            clock,
            unknown: Mutex::default(),
        }
    }

    /// The other model, where its rows must be told from this one's; nothing where this model serves no more.
    async fn read_beside(&self) -> StoreResult<Option<Arc<Twins>>> {
        match &*self.state.held().await {
            Mode::Apart => Ok(None),
            Mode::Beside { twins, .. } => Ok(twins.moves_rows().then(|| Arc::clone(twins))),
            Mode::Shut(why) => Err(shut(why)),
        }
    }

    /// One action as a transaction of its own: a call that is answered as the single one would be.
    async fn single(&self, mode: &Mode, action: TransactWrite) -> StoreResult<Sent> {
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
            Mode::Apart => Ok(None),
            Mode::Beside {
                twins,
                keeping,
                stamping,
            } => Ok(Some(Writing::new(
                &self.store,
                twins,
                (*keeping, *stamping),
                self.clock,
            ))),
        }
    }

    async fn transaction(&self, mode: &Mode, request: &TransactWriteRequest) -> StoreResult<Sent> {
        let Some(writing) = self.writing(mode)? else {
            return Ok(Sent::Untouched);
        };
        let Some(token) = request.token.as_deref() else {
            return writing.send(&request.actions, None).await;
        };
        let known = self.outcomes().sent.get(token).cloned();
        let remember = |sent: &Arc<TransactWriteRequest>| self.outcomes().remember(token, sent);
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
        if !sent.as_ref().is_err_and(StoreError::is_retryable) {
            self.outcomes().forget(token);
        }
        sent
    }

    fn outcomes(&self) -> std::sync::MutexGuard<'_, UnknownOutcomes> {
        self.unknown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error that a single call would have met.
fn as_single(error: StoreError) -> StoreError {
    use singlet_store::Cancellation;
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
        let Some(twins) = self.read_beside().await? else {
            return self.store.query(request).await;
        };
        let (select, added) = telling_select(&request.select, &twins);
        let asked = QueryRequest {
            select,
            ..request.clone()
        };
        let page = self.store.query(&asked).await?;
        Ok(own_page(page, &twins, (&request.select, &added)))
    }

    async fn scan(&self, request: &ScanRequest) -> StoreResult<PageAnswer> {
        let Some(twins) = self.read_beside().await? else {
            return self.store.scan(request).await;
        };
        let (select, added) = telling_select(&request.select, &twins);
        let asked = ScanRequest {
            select,
            ..request.clone()
        };
        let page = self.store.scan(&asked).await?;
        Ok(own_page(page, &twins, (&request.select, &added)))
    }

    async fn get(&self, request: &singlet_store::GetRequest) -> StoreResult<singlet_store::GetAnswer> {
        self.read_beside().await?;
        self.store.get(request).await
    }

    async fn batch_get(&self, request: &singlet_store::BatchGetRequest) -> StoreResult<singlet_store::BatchGetAnswer> {
        self.read_beside().await?;
        self.store.batch_get(request).await
    }

    async fn transact_get(
        &self,
        request: &singlet_store::TransactGetRequest,
    ) -> StoreResult<singlet_store::TransactGetAnswer> {
        self.read_beside().await?;
        self.store.transact_get(request).await
    }

    async fn put(&self, request: &PutRequest) -> StoreResult<WriteAnswer> {
        let mode = self.state.held().await;
        match self.single(&mode, TransactWrite::Put(request.clone())).await? {
            Sent::Untouched => self.store.put(request).await,
            Sent::Done { consumed, before, .. } => Ok(WriteAnswer {
                attributes: before.filter(|_| request.return_old),
                consumed,
            }),
        }
    }

    async fn update(&self, request: &UpdateRequest) -> StoreResult<WriteAnswer> {
        if matches!(request.returns, UpdateReturn::UpdatedOld | UpdateReturn::UpdatedNew) {
            return Err(StoreError::bad_request(
                "while two models run, an update answers whole items",
            ));
        }
        let mode = self.state.held().await;
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

    async fn delete(&self, request: &DeleteRequest) -> StoreResult<WriteAnswer> {
        let mode = self.state.held().await;
        match self.single(&mode, TransactWrite::Delete(request.clone())).await? {
            Sent::Untouched => self.store.delete(request).await,
            Sent::Done { consumed, before, .. } => Ok(WriteAnswer {
                attributes: before.filter(|_| request.return_old),
                consumed,
            }),
        }
    }

    /// Nobody writes rows so who keeps them for two models.
    async fn batch_write(&self, request: &BatchWriteRequest) -> StoreResult<BatchWriteAnswer> {
        match &*self.state.held().await {
            Mode::Apart => self.store.batch_write(request).await,
            Mode::Beside { .. } => Err(StoreError::bad_request(
                "while two models run, rows are not written in batches",
            )),
            Mode::Shut(why) => Err(shut(why)),
        }
    }

    async fn transact_write(&self, request: &TransactWriteRequest) -> StoreResult<WriteAnswer> {
        let mode = self.state.held().await;
        match self.transaction(&mode, request).await? {
            Sent::Untouched => self.store.transact_write(request).await,
            Sent::Done { consumed, .. } => Ok(WriteAnswer {
                attributes: None,
                consumed,
            }),
        }
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
