//! The one request that an operation becomes, sent until its outcome is known.

use singlet_item::Item;
use singlet_store::{
    Cancellation, Condition, Consumed, DeleteRequest, ErrorKind, PutRequest, SetOperand, SetValue, StoreError,
    TransactWrite, TransactWriteRequest, Update, UpdateRequest, UpdateReturn, WriteAnswer,
};

use super::touched::{Doing, RowCheck, WriteAction};
use super::{AttemptStop, WriteOperation, refuse};
use crate::error::RuntimeError;
use crate::random::random_bytes;
use crate::retry;

/// Sends the actions of an operation: one call for one row, one transaction for several. Gives the changed item back where it is
/// asked for and one row is updated.
pub(super) async fn send_actions(
    operation: &WriteOperation<'_>,
    actions: Vec<WriteAction<'_>>,
    wants_new: bool,
    consumed: &mut Consumed,
) -> Result<Option<Item>, AttemptStop> {
    let most = operation.engine.bounds().transaction_items_max;
    if actions.len() > most {
        let message = format!(
            "`{}` would change {} rows at once, of at most {most}",
            operation.write.name,
            actions.len()
        );
        return Err(AttemptStop::Failed(RuntimeError::Request(message)));
    }
    let table = &operation.model.table.name;
    let returns = match wants_new {
        true => UpdateReturn::New,
        false => UpdateReturn::Nothing,
    };
    let alone = actions.len() == 1
        && !matches!(
            actions.first(),
            Some(WriteAction {
                doing: Doing::Check,
                ..
            })
        );
    let several = actions.len() > 1;
    let actions = actions.into_iter().map(|action| requiring(action, several));
    let actions = actions.filter(|action| !matches!(action.doing, Doing::Check) || !action.checks.is_empty());
    let mut requests = actions.map(|action| request_of(table, action, returns));
    if alone && let Some((request, checks)) = requests.next() {
        return single(operation, &request, &checks, consumed).await;
    }
    let (actions, checks): (Vec<TransactWrite>, Vec<Vec<RowCheck<'_>>>) = requests.unzip();
    if actions.is_empty() {
        return Ok(None);
    }
    let request = TransactWriteRequest {
        actions,
        token: Some(token()?),
    };
    transaction(operation, &request, &checks, consumed).await.map(|()| None)
}

/// In a transaction a change that changes nothing only insists on what it requires of its row.
fn requiring(mut action: WriteAction<'_>, several: bool) -> WriteAction<'_> {
    if matches!(&action.doing, Doing::Update(update) if several && update.is_empty()) {
        action.doing = Doing::Check;
    }
    action
}

/// The request of an action, and what says why it was refused.
fn request_of<'a>(table: &str, action: WriteAction<'a>, returns: UpdateReturn) -> (TransactWrite, Vec<RowCheck<'a>>) {
    let WriteAction { key, doing, checks } = action;
    let mut all = checks.iter().map(|check| check.condition.clone());
    let first = all.next();
    let condition = first.map(|first| all.fold(first, Condition::and));
    let table = table.to_owned();
    let request = match doing {
        Doing::Put(item) => TransactWrite::Put(PutRequest {
            table,
            item,
            condition,
            return_old: false,
        }),
        Doing::Update(update) => TransactWrite::Update(UpdateRequest {
            table,
            key,
            update,
            condition,
            returns,
        }),
        Doing::Delete => TransactWrite::Delete(DeleteRequest {
            table,
            key,
            condition,
            return_old: false,
        }),
        Doing::Check => TransactWrite::Check {
            table,
            key,
            condition: condition.unwrap_or(Condition::And(Vec::new())),
        },
    };
    (request, checks)
}

async fn transaction(
    operation: &WriteOperation<'_>,
    request: &TransactWriteRequest,
    checks: &[Vec<RowCheck<'_>>],
    consumed: &mut Consumed,
) -> Result<(), AttemptStop> {
    let mut attempt = 0;
    let mut unknown = false;
    loop {
        attempt += 1;
        let error = match operation.engine.store().transact_write(request).await {
            Ok(answer) => {
                *consumed += answer.consumed;
                return Ok(());
            }
            Err(error) => error,
        };
        unknown |= error.is_unavailable();
        // The token makes it safe to send the same bytes again when nobody knows whether they arrived. Then a conflict may
        // be with the first sending itself: evaluated anew, with new ids and another token, the operation could happen twice.
        let same_again = error.is_unavailable() || is_throttled(&error) || (unknown && error.is_conflict());
        if same_again && (attempt as usize) < operation.engine.bounds().call_attempts_max {
            retry::pause(attempt).await;
            continue;
        }
        return Err(match error.kind() {
            _ if unknown && same_again && !error.is_unavailable() => AttemptStop::Failed(unknown_outcome().into()),
            ErrorKind::Cancelled(reasons) => cancelled(operation, checks, reasons, &error),
            ErrorKind::Conflict => AttemptStop::Again,
            _ => failed_for_good(error),
        });
    }
}

fn is_throttled(error: &StoreError) -> bool {
    let by_reason = match error.kind() {
        ErrorKind::Cancelled(reasons) => {
            reasons.iter().any(|reason| matches!(reason, Cancellation::Throttled))
                && reasons
                    .iter()
                    .all(|reason| matches!(reason, Cancellation::Throttled | Cancellation::Nothing))
        }
        _ => false,
    };
    by_reason || error.is_throttled()
}

fn cancelled(
    operation: &WriteOperation<'_>,
    checks: &[Vec<RowCheck<'_>>],
    reasons: &[Cancellation],
    error: &StoreError,
) -> AttemptStop {
    let mut failed = Vec::new();
    let mut others = false;
    for (checks, reason) in checks.iter().zip(reasons) {
        match reason {
            Cancellation::ConditionFailed { old } => failed.push((checks.as_slice(), old.as_ref())),
            Cancellation::Nothing => {}
            Cancellation::Conflict | Cancellation::Throttled => others = true,
            _ => return failed_for_good(error.clone()),
        }
    }
    match failed.is_empty() {
        true if others => AttemptStop::Again,
        true => failed_for_good(error.clone()),
        false => refuse::refusal_reason(operation, &failed),
    }
}

async fn single(
    operation: &WriteOperation<'_>,
    request: &TransactWrite,
    checks: &[RowCheck<'_>],
    consumed: &mut Consumed,
) -> Result<Option<Item>, AttemptStop> {
    let mut attempt = 0;
    let mut unknown = false;
    loop {
        attempt += 1;
        let error = match call(operation, request).await {
            Ok(answer) => {
                *consumed += answer.consumed;
                return Ok(answer.attributes);
            }
            Err(error) => error,
        };
        let again = (attempt as usize) < operation.engine.bounds().call_attempts_max;
        match error.kind() {
            ErrorKind::ConditionFailed { old } if unknown && is_done(request, old.as_ref()) => return Ok(old.clone()),
            // Refused, or done and changed by others since.
            ErrorKind::ConditionFailed { .. } if unknown => return Err(AttemptStop::Failed(unknown_outcome().into())),
            ErrorKind::ConditionFailed { old } => {
                return Err(refuse::refusal_reason(operation, &[(checks, old.as_ref())]));
            }
            ErrorKind::Conflict if unknown && again => {}
            ErrorKind::Conflict if !unknown => return Err(AttemptStop::Again),
            _ if error.is_throttled() && again => {}
            // What adds must not be sent twice when nobody knows whether it arrived.
            _ if error.is_unavailable() && again && !adds(request) => unknown = true,
            _ if unknown && !error.is_unavailable() => return Err(AttemptStop::Failed(unknown_outcome().into())),
            _ => return Err(failed_for_good(error)),
        }
        retry::pause(attempt).await;
    }
}

/// What the store will always refuse. Only a number that is added to can leave what numbers can be without anybody knowing before: the
/// caller has sent too much.
fn failed_for_good(error: StoreError) -> AttemptStop {
    let by_reason = match error.kind() {
        ErrorKind::Cancelled(reasons) => reasons.iter().any(|reason| match reason {
            Cancellation::Invalid(why) => is_about_numbers(why),
            _ => false,
        }),
        _ => false,
    };
    match by_reason || is_about_numbers(error.message()) {
        true => {
            let message = "a sum has more than 38 digits, or is larger than numbers can be".to_owned();
            AttemptStop::Failed(RuntimeError::Request(message))
        }
        false => AttemptStop::Failed(error.into()),
    }
}

/// Whether the store's words are those about a number that cannot be stored.
fn is_about_numbers(message: &str) -> bool {
    ["significant digits", "Number overflow", "Number underflow"]
        .iter()
        .any(|words| message.contains(words))
}

/// One action as a call of its own.
async fn call(operation: &WriteOperation<'_>, request: &TransactWrite) -> Result<WriteAnswer, StoreError> {
    let store = operation.engine.store();
    match request {
        TransactWrite::Put(put) => store.put(put).await,
        TransactWrite::Update(update) => store.update(update).await,
        TransactWrite::Delete(delete) => store.delete(delete).await,
        // No call only checks; it is a transaction of its own.
        TransactWrite::Check { .. } => Err(StoreError::bad_request("a check is no write")),
    }
}

fn unknown_outcome() -> StoreError {
    StoreError::unavailable("nobody knows whether the write was done")
}

fn adds(request: &TransactWrite) -> bool {
    match request {
        TransactWrite::Update(UpdateRequest { update, .. }) => {
            let computes = |value: &SetValue| !matches!(value, SetValue::Operand(SetOperand::Value(_)));
            !update.add.is_empty() || update.set.iter().any(|(_, value)| computes(value))
        }
        _ => false,
    }
}

/// Whether an item is what the request makes of it: an earlier sending of it arrived.
fn is_done(request: &TransactWrite, old: Option<&Item>) -> bool {
    match (request, old) {
        (TransactWrite::Put(put), Some(old)) => put.item == *old,
        (TransactWrite::Delete(_), None) => true,
        (TransactWrite::Update(request), Some(old)) => is_updated(&request.update, old),
        _ => false,
    }
}

fn is_updated(update: &Update, item: &Item) -> bool {
    let set = update.set.iter().all(|(path, value)| match value {
        SetValue::Operand(SetOperand::Value(value)) => item.get(path.name()) == Some(value),
        _ => false,
    });
    set && !update.set.is_empty() && update.remove.iter().all(|path| !item.contains_key(path.name()))
}

/// A token by which the store knows a transaction that it has seen.
fn token() -> Result<String, RuntimeError> {
    let bytes = random_bytes()
        .ok_or_else(|| RuntimeError::Stored("this machine has no source of random numbers".to_owned()))?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}
