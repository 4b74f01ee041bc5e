//! A write of one model with what the other one needs of it, sent until its outcome is known.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use singlet_item::Item;
use singlet_item::limits::TRANSACTION_ITEMS_MAX;
use singlet_runtime::{Bounds, batch_get, key_in};
use singlet_store::{
    Cancellation, Condition, Consumed, DeleteRequest, ErrorKind, Path, PutRequest, Result as StoreResult, Store,
    StoreError, TransactWrite, TransactWriteRequest,
};

use super::layer::key_of_action;
use super::twins::{Becoming, Found, Keeping, Side, Stamping, Twins, Withheld, epoch_of, has_no_twin};
use crate::step::as_read;

/// How often a write is made anew because somebody changed a row of it meanwhile.
const ATTEMPTS_MAX: usize = 16;

const SLEPT: &str = "rows were written at a later stage of the table's migration than this process knows";

/// That a process may not write what was written later than it knows of.
pub(crate) fn slept() -> StoreError {
    StoreError::unavailable(SLEPT).with_told(Some(SLEPT))
}

pub(crate) fn is_slept(error: &StoreError) -> bool {
    error.is_unavailable() && error.told_publicly() == Some(SLEPT)
}

/// What became of a write.
#[derive(Debug)]
pub(crate) enum Sent {
    /// It concerns nothing that the other model has otherwise: it can be sent as it is.
    Untouched,
    /// It was done.
    Done {
        consumed: Consumed,
        /// The item of the first action as it was, and as it is.
        before: Option<Item>,
        after: Option<Item>,
    },
}

/// A transaction that its sender can send again.
pub(crate) struct Tokened<'t> {
    pub token: &'t str,
    /// What was sent for this token, where nobody knows whether it arrived.
    pub known: Option<Arc<TransactWriteRequest>>,
    pub remember: &'t (dyn Fn(&Arc<TransactWriteRequest>) + Sync),
}

/// Writes for both models.
pub(crate) struct Writing<'w> {
    store: &'w Arc<dyn Store>,
    twins: &'w Twins,
    how: (Keeping, Stamping),
    clock: fn() -> i64,
}

/// What a write becomes.
#[derive(Debug, Default)]
struct Planned {
    /// The actions that were asked for, in their order, then the others.
    actions: Vec<TransactWrite>,
    before: Option<Item>,
    after: Option<Item>,
}

/// What a row that nobody writes becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// It was as it should be.
    Same,
    /// It was written.
    Written,
    /// Somebody else was changing it, or it is gone.
    Changed,
}

impl<'w> Writing<'w> {
    pub fn new(store: &'w Arc<dyn Store>, twins: &'w Twins, how: (Keeping, Stamping), clock: fn() -> i64) -> Self {
        Writing {
            store,
            twins,
            how,
            clock,
        }
    }

    /// Sends a write, until its own conditions decide. That something else of a row was changed by others is no refusal.
    pub async fn send(&self, actions: &[TransactWrite], tokened: Option<Tokened<'_>>) -> StoreResult<Sent> {
        let mut consumed = Consumed::default();
        let mut known = tokened.as_ref().and_then(|tokened| tokened.known.clone());
        for attempt in 0..ATTEMPTS_MAX {
            let (request, before, after) = match known.take() {
                Some(request) => (request, None, None),
                None => {
                    let mut found = Found::new();
                    let planned = match self.planned(actions, &mut found, &mut consumed).await {
                        // A refusal on what was read is only one if it is still so.
                        Err(error) if is_withheld(&error) && self.has_changed(&found, &mut consumed).await? => continue,
                        planned => planned?,
                    };
                    let Some(planned) = planned else {
                        return Ok(Sent::Untouched);
                    };
                    let token = tokened.as_ref().map(|tokened| match attempt {
                        0 => tokened.token.to_owned(),
                        // Other bytes need another token: with the first the store would take them for what it has done.
                        _ => next_token(tokened.token),
                    });
                    let request = Arc::new(TransactWriteRequest {
                        actions: planned.actions,
                        token,
                    });
                    (request, planned.before, planned.after)
                }
            };
            if let Some(tokened) = &tokened {
                // Before it is sent.
                (tokened.remember)(&request);
            }
            match self.call(&request).await {
                Ok(answered) => {
                    consumed += answered;
                    return Ok(Sent::Done {
                        consumed,
                        before,
                        after,
                    });
                }
                Err(error) => {
                    // What was asked for itself failed; a pin that failed is tried again on what is there now.
                    if let Some(refusal) = own_refusal(actions, error) {
                        return Err(refusal);
                    }
                }
            }
            tokio::task::yield_now().await;
        }
        Err(StoreError::new(
            ErrorKind::Conflict,
            "others are changing the same rows",
        ))
    }

    /// Whether a row that nobody writes can be one of both models. One that is written meanwhile is looked at again.
    pub async fn becomes(&self, item: &Item) -> StoreResult<Result<(), Withheld>> {
        let key = key_in(self.twins.model(), item);
        let (mut item, mut consumed) = (item.clone(), Consumed::default());
        for _ in 0..ATTEMPTS_MAX {
            let mut found = Found::new();
            let Err(withheld) = self.settling(&item, &mut found, &mut consumed).await? else {
                return Ok(Ok(()));
            };
            if !self.has_changed(&found, &mut consumed).await? {
                return Ok(Err(withheld));
            }
            match self.read_again(&key, &mut consumed).await? {
                Some(there) => item = there,
                None => return Ok(Ok(())),
            }
        }
        Ok(Ok(()))
    }

    /// What becomes of the items of a row that nobody writes; what was read of them is in `found`.
    async fn settling(
        &self,
        item: &Item,
        found: &mut Found,
        consumed: &mut Consumed,
    ) -> StoreResult<Result<Becoming, Withheld>> {
        let now = (self.clock)();
        let key = key_in(self.twins.model(), item);
        found.insert(key.clone(), Some(item.clone()));
        let acted = Becoming::from([(key, Some(item.clone()))]);
        let rows = [(Some(item), Some(item))];
        if let Err(withheld) = self.read_beside(&rows, found, now, consumed).await? {
            return Ok(Err(withheld));
        }
        Ok(self.twins.becoming(&rows, (&acted, found), self.how, now))
    }

    /// Has the other model find a row that nobody writes, or removes what only it needs.
    pub async fn settle(&self, item: &Item, consumed: &mut Consumed) -> StoreResult<Result<Settled, Withheld>> {
        let mut found = Found::new();
        let becoming = match self.settling(item, &mut found, consumed).await? {
            Ok(becoming) => becoming,
            Err(_) if self.has_changed(&found, consumed).await? => return Ok(Ok(Settled::Changed)),
            Err(withheld) => return Ok(Err(withheld)),
        };
        let there = |key: &Item| found.get(key).and_then(Option::as_ref);
        if becoming.iter().all(|(key, item)| there(key) == item.as_ref()) {
            return Ok(Ok(Settled::Same));
        }
        let changed = becoming
            .iter()
            .filter(|(key, item)| there(key).is_some() || item.is_some());
        let actions = changed.map(|(key, item)| self.action(key, item.as_ref(), &found, None));
        let request = TransactWriteRequest {
            actions: actions.collect(),
            token: None,
        };
        match self.call(&request).await {
            Ok(answered) => {
                *consumed += answered;
                Ok(Ok(Settled::Written))
            }
            Err(error) if error.is_condition_failed() || error.is_conflict() => Ok(Ok(Settled::Changed)),
            Err(error) => Err(error),
        }
    }

    /// An item as it is by now.
    pub async fn read_again(&self, key: &Item, consumed: &mut Consumed) -> StoreResult<Option<Item>> {
        let mut found = Found::new();
        self.read([key.clone()].into(), &mut found, consumed).await?;
        Ok(found.remove(key).flatten())
    }

    /// Whether what was read is otherwise by now. Items that were read one after the other may be of two moments, and contradict one another.
    async fn has_changed(&self, found: &Found, consumed: &mut Consumed) -> StoreResult<bool> {
        let mut again = Found::new();
        self.read(found.keys().cloned().collect(), &mut again, consumed).await?;
        // All that was read, for any of it may have decided.
        Ok(again != *found)
    }

    /// What a write becomes; none where it concerns nothing that the other model has otherwise.
    async fn planned(
        &self,
        actions: &[TransactWrite],
        found: &mut Found,
        consumed: &mut Consumed,
    ) -> StoreResult<Option<Planned>> {
        let twins = self.twins;
        let keys: Vec<Option<Item>> = actions.iter().map(|action| key_of_action(twins, action)).collect();
        // Nothing that the other model has: the request goes as it is.
        if !keys.iter().flatten().any(|key| twins.concerns(key)) {
            return Ok(None);
        }
        let now = (self.clock)();
        let checked = actions.iter().filter_map(|action| match action {
            TransactWrite::Check { table, key, .. } if table == twins.table() => Some(key.clone()),
            _ => None,
        });
        let wanted = keys.iter().flatten().cloned().chain(checked).collect();
        self.read(wanted, found, consumed).await?;
        // On what was read, as the store would; then all of it is pinned.
        check_conditions(twins, actions, found)?;
        let mut acted = Becoming::new();
        for (action, key) in actions.iter().zip(&keys) {
            let Some(key) = key else { continue };
            acted.insert(key.clone(), result_of(action, key, found)?);
        }
        let is_row = |item: Option<&Item>| item.is_some_and(|item| twins.entity_of(item).is_some());
        let read = found.clone();
        let rows: Vec<(Option<&Item>, Option<&Item>)> = acted
            .iter()
            .map(|(key, after)| (read.get(key).and_then(Option::as_ref), after.as_ref()))
            .filter(|(before, after)| is_row(*before) || is_row(*after))
            .collect();
        if rows.is_empty() {
            return Ok(self.pinned_absent(actions, &keys, (&acted, found)));
        }
        // A row that was written for a later phase must not be written for this one.
        self.check_epochs(&rows)?;
        self.read_beside(&rows, found, now, consumed)
            .await?
            .map_err(|why| withheld(&why))?;
        let becoming = twins.becoming(&rows, (&acted, found), self.how, now);
        let becoming = becoming.map_err(|why| withheld(&why))?;
        let mut planned = Planned {
            actions: actions.to_vec(),
            ..Planned::default()
        };
        if let Some(Some(first)) = keys.first() {
            planned.before = found.get(first).cloned().flatten();
            planned.after = becoming.get(first).or_else(|| acted.get(first)).cloned().flatten();
        }
        let own_keys: BTreeSet<Item> = rows
            .iter()
            .flat_map(|(before, after)| [before, after])
            .filter_map(|item| Some(key_in(twins.model(), (*item)?)))
            .collect();
        for (key, item) in &becoming {
            let is_same = found.get(key).and_then(Option::as_ref) == item.as_ref();
            let at = planned.actions.iter().position(|action| is_about(twins, action, key));
            match at.and_then(|at| planned.actions.get_mut(at)) {
                Some(TransactWrite::Check { .. }) if is_same => {}
                Some(action) => {
                    let condition = condition_of(action).cloned();
                    *action = self.action(key, item.as_ref(), found, condition);
                }
                // What is beside a row follows from it, and is not pinned where it stays.
                None if is_same && item.is_none() => {}
                None if is_same && !own_keys.contains(key) && !is_twin(twins, item.as_ref()) => {}
                None => planned.actions.push(self.action(key, item.as_ref(), found, None)),
            }
        }
        // Withheld and not split: the two models would differ until the other half came.
        match planned.actions.len() > TRANSACTION_ITEMS_MAX {
            true => Err(withheld(&Withheld(
                "with what the other model needs of it, it is more than a transaction holds".to_owned(),
            ))),
            false => Ok(Some(planned)),
        }
    }

    /// A write that concerns no row as it was read: where nothing was, nothing may have come meanwhile. Deleted blindly, a row would leave
    /// its twin behind.
    fn pinned_absent(
        &self,
        actions: &[TransactWrite],
        keys: &[Option<Item>],
        (acted, found): (&Becoming, &Found),
    ) -> Option<Planned> {
        let mut planned = Planned {
            actions: actions.to_vec(),
            ..Planned::default()
        };
        let mut is_pinned = false;
        for (action, key) in planned.actions.iter_mut().zip(keys) {
            let Some(key) = key.as_ref().filter(|key| self.twins.concerns(key)) else {
                continue;
            };
            // A place that was empty has to be so still: a row that appears there would be one to keep twins of.
            if found.get(key).is_some_and(Option::is_none) {
                let condition = condition_of(action).cloned();
                let item = acted.get(key).and_then(Option::as_ref);
                *action = self.action(key, item, found, condition);
                is_pinned = true;
            }
        }
        if let Some(Some(first)) = keys.first() {
            planned.after = acted.get(first).cloned().flatten();
        }
        is_pinned.then_some(planned)
    }

    /// Whoever slept through a phase may not write what was written in it.
    fn check_epochs(&self, rows: &[(Option<&Item>, Option<&Item>)]) -> StoreResult<()> {
        let Stamping::Epoch(own) = self.how.1 else {
            return Ok(());
        };
        let mut later = rows.iter().filter_map(|(before, _)| epoch_of((*before)?));
        match later.any(|epoch| epoch > own) {
            true => Err(slept()),
            false => Ok(()),
        }
    }

    /// Reads what is beside rows, in either model.
    async fn read_beside(
        &self,
        rows: &[(Option<&Item>, Option<&Item>)],
        found: &mut Found,
        now: i64,
        consumed: &mut Consumed,
    ) -> StoreResult<Result<(), Withheld>> {
        let keeping = self.how.0;
        let mut twins = BTreeSet::new();
        for (item, at) in sides_of(rows) {
            match self.twins.twin_key(item, now) {
                Ok(key) => twins.extend(key),
                Err(_) if has_no_twin(item, at, keeping) => {}
                Err(withheld) => return Ok(Err(withheld)),
            }
        }
        self.read(twins, found, consumed).await?;
        let mut beside = BTreeSet::new();
        for (before, after) in rows {
            let twin = match before.map(|item| self.twins.twin_in(item, found, now)).transpose() {
                Ok(twin) => twin.flatten().cloned(),
                Err(_) if before.is_some_and(|item| has_no_twin(item, Side::Before, keeping)) => None,
                Err(withheld) => return Ok(Err(withheld)),
            };
            for (item, at) in sides_of(&[(*before, *after)]) {
                match self
                    .twins
                    .keys_beside(item, (twin.as_ref(), has_no_twin(item, at, keeping)), now)
                {
                    Ok(keys) => beside.extend(keys),
                    Err(withheld) => return Ok(Err(withheld)),
                }
            }
        }
        self.read(beside, found, consumed).await?;
        Ok(Ok(()))
    }

    /// Reads what was not read yet.
    async fn read(&self, keys: BTreeSet<Item>, found: &mut Found, consumed: &mut Consumed) -> StoreResult<()> {
        // Each item once, so that all is decided on one image of it.
        let wanted: Vec<Item> = keys.into_iter().filter(|key| !found.contains_key(key)).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let read = batch_get(self.store, &Bounds::USUAL, self.twins.table(), &wanted, true).await;
        let (items, units) = read.map_err(|error| match error {
            singlet_runtime::RuntimeError::Store(error) => error,
            other => StoreError::unavailable(other.to_string()),
        })?;
        *consumed += units;
        found.extend(wanted.into_iter().map(|key| (key, None)));
        found.extend(
            items
                .into_iter()
                .map(|item| (key_in(self.twins.model(), &item), Some(item))),
        );
        Ok(())
    }

    /// What makes an item what it becomes, under the condition that it is as it was read.
    fn action(&self, key: &Item, item: Option<&Item>, found: &Found, condition: Option<Condition>) -> TransactWrite {
        let table = self.twins.table().to_owned();
        let there = found.get(key).and_then(Option::as_ref);
        // Whole, as it was read: what was computed from it is put as a whole.
        let pin = match there {
            Some(there) => as_read(there, item.unwrap_or(&Item::new())),
            None => Condition::And(
                key.keys()
                    .take(1)
                    .map(|name| Condition::not_exists(Path::attribute(name)))
                    .collect(),
            ),
        };
        let condition = match condition {
            Some(condition) => condition.and(pin),
            None => pin,
        };
        match item {
            Some(item) if Some(item) == there => TransactWrite::Check {
                table,
                key: key.clone(),
                condition,
            },
            Some(item) => TransactWrite::Put(PutRequest {
                table,
                item: item.clone(),
                condition: Some(condition),
                return_old: false,
            }),
            None => TransactWrite::Delete(DeleteRequest {
                table,
                key: key.clone(),
                condition: Some(condition),
                return_old: false,
            }),
        }
    }

    /// Sends a request: one action without a token as a call of its own.
    async fn call(&self, request: &TransactWriteRequest) -> StoreResult<Consumed> {
        let answer = match (request.actions.as_slice(), &request.token) {
            ([TransactWrite::Put(put)], None) => self.store.put(put).await,
            ([TransactWrite::Delete(delete)], None) => self.store.delete(delete).await,
            _ => self.store.transact_write(request).await,
        };
        match answer {
            Ok(answer) => Ok(answer.consumed),
            Err(error) => Err(match error.kind() {
                ErrorKind::ConditionFailed { old } => StoreError::new(
                    // One form for both ways to send, so that it is told in one place whose condition failed.
                    ErrorKind::Cancelled(vec![Cancellation::ConditionFailed { old: old.clone() }]),
                    error.message(),
                ),
                _ => error,
            }),
        }
    }
}

/// The items of rows, as they were and as they become.
fn sides_of<'i>(rows: &[(Option<&'i Item>, Option<&'i Item>)]) -> Vec<(&'i Item, Side)> {
    let sides = rows
        .iter()
        .flat_map(|(before, after)| [(*before, Side::Before), (*after, Side::After)]);
    sides.filter_map(|(item, at)| Some((item?, at))).collect()
}

fn is_twin(twins: &Twins, item: Option<&Item>) -> bool {
    item.is_some_and(|item| twins.is_row_of_other(item))
}

fn is_withheld(error: &StoreError) -> bool {
    matches!(error.kind(), ErrorKind::Withheld)
}

pub(crate) fn withheld(why: &Withheld) -> StoreError {
    StoreError::new(ErrorKind::Withheld, why.to_string())
}

/// A token for the same operation, made anew: of what was sent under the first one it is known that it was not done.
fn next_token(token: &str) -> String {
    static SENT: AtomicU64 = AtomicU64::new(0);
    let begin: String = token.chars().take(24).collect();
    format!("{begin}{:012x}", SENT.fetch_add(1, Ordering::Relaxed))
}

fn condition_of(action: &TransactWrite) -> Option<&Condition> {
    match action {
        TransactWrite::Put(put) => put.condition.as_ref(),
        TransactWrite::Update(update) => update.condition.as_ref(),
        TransactWrite::Delete(delete) => delete.condition.as_ref(),
        TransactWrite::Check { condition, .. } => Some(condition),
    }
}

fn is_about(twins: &Twins, action: &TransactWrite, key: &Item) -> bool {
    match action {
        TransactWrite::Check { table, key: at, .. } => table == twins.table() && at == key,
        _ => key_of_action(twins, action).as_ref() == Some(key),
    }
}

/// What an action makes of its item; the item as it is, where it only checks.
fn result_of(action: &TransactWrite, key: &Item, found: &Found) -> StoreResult<Option<Item>> {
    Ok(match action {
        TransactWrite::Put(put) => Some(put.item.clone()),
        TransactWrite::Update(update) => {
            let there = found.get(key).cloned().flatten();
            Some(update.update.applied_to(&there.unwrap_or_else(|| key.clone()))?)
        }
        TransactWrite::Delete(_) => None,
        TransactWrite::Check { .. } => found.get(key).cloned().flatten(),
    })
}

/// What the conditions of a write say of the items as they were read: what fails now need not be sent.
fn check_conditions(twins: &Twins, actions: &[TransactWrite], found: &Found) -> StoreResult<()> {
    let reason = |action: &TransactWrite| {
        let key = match action {
            TransactWrite::Check { table, key, .. } if table == twins.table() => Some(key.clone()),
            action => key_of_action(twins, action),
        };
        let Some(item) = key.and_then(|key| found.get(&key)) else {
            return Cancellation::Nothing;
        };
        match condition_of(action).is_none_or(|condition| condition.holds_of(item.as_ref())) {
            true => Cancellation::Nothing,
            false => Cancellation::ConditionFailed { old: item.clone() },
        }
    };
    let reasons: Vec<Cancellation> = actions.iter().map(reason).collect();
    match reasons.iter().all(|reason| *reason == Cancellation::Nothing) {
        true => Ok(()),
        false => Err(StoreError::new(
            ErrorKind::Cancelled(reasons),
            "a condition does not hold",
        )),
    }
}

/// What the conditions of the write itself, or the store, had against it; none where only somebody else has changed a row meanwhile.
fn own_refusal(actions: &[TransactWrite], error: StoreError) -> Option<StoreError> {
    let ErrorKind::Cancelled(reasons) = error.kind() else {
        return Some(error);
    };
    if reasons.is_empty() {
        return Some(error);
    }
    let is_met = |action: Option<&TransactWrite>, old: Option<&Item>| {
        let condition = action.and_then(condition_of);
        action.is_none() || condition.is_none_or(|condition| condition.holds_of(old))
    };
    let mut own = Vec::with_capacity(actions.len());
    let (mut is_pinned, mut others) = (false, Vec::new());
    for (at, reason) in reasons.iter().enumerate() {
        let reason = match reason {
            // Its own condition holds of what is there, so that only the pin has failed.
            Cancellation::ConditionFailed { old } if is_met(actions.get(at), old.as_ref()) => {
                is_pinned = true;
                Cancellation::Nothing
            }
            reason => reason.clone(),
        };
        match at < actions.len() {
            true => own.push(reason),
            false => others.push(reason),
        }
    }
    // What the caller asked for speaks before anything that was added.
    if own
        .iter()
        .any(|reason| matches!(reason, Cancellation::ConditionFailed { .. }))
    {
        return Some(StoreError::new(ErrorKind::Cancelled(own), error.message()));
    }
    if is_pinned {
        return None;
    }
    // What became of an action beside the write is told of the whole.
    match others.into_iter().find(|reason| *reason != Cancellation::Nothing) {
        None => Some(StoreError::new(ErrorKind::Cancelled(own), error.message())),
        Some(Cancellation::Conflict) => Some(StoreError::new(ErrorKind::Conflict, error.message())),
        Some(Cancellation::Throttled) => Some(StoreError::new(ErrorKind::Throttled, error.message())),
        Some(Cancellation::TooLarge) => Some(StoreError::too_large(error.message())),
        Some(_) => Some(StoreError::bad_request(error.message())),
    }
}
