//! The one request that an operation becomes, sent until its outcome is known.

use singlet_item::Item;
use singlet_store::{
    Cancellation, Condition, Consumed, DeleteRequest, ErrorKind, PutRequest, SetOperand, SetValue, StoreError,
    TransactWrite, TransactWriteRequest, Update, UpdateRequest, UpdateReturn, WriteAnswer,
};

use super::touched::{Action, Doing};
use super::{Operation, Stop, refuse};
use crate::error::RuntimeError;
use crate::retry;

/// The most actions in one transaction.
const ACTIONS_MAX: usize = 100;

/// Sends the actions of an operation: one call for one row, one transaction for several. Gives the changed item back where it is
/// asked for and one row is updated.
pub(super) async fn send(
    operation: &Operation<'_>,
    actions: &[Action<'_>],
    wants_new: bool,
    consumed: &mut Consumed,
) -> Result<Option<Item>, Stop> {
    if actions.len() > ACTIONS_MAX {
        let message = format!(
            "`{}` would change {} rows at once, of at most {ACTIONS_MAX}",
            operation.write.name,
            actions.len()
        );
        return Err(Stop::Failed(RuntimeError::Request(message)));
    }
    match actions {
        [] => Ok(None),
        [one] if !matches!(one.doing, Doing::Check) => single(operation, one, wants_new, consumed).await,
        many => transaction(operation, many, consumed).await.map(|()| None),
    }
}

fn condition_of(action: &Action<'_>) -> Option<Condition> {
    let mut all = action.checks.iter().map(|check| check.condition.clone());
    let first = all.next()?;
    Some(all.fold(first, Condition::and))
}

async fn transaction(operation: &Operation<'_>, actions: &[Action<'_>], consumed: &mut Consumed) -> Result<(), Stop> {
    let table = operation.model.table.name.clone();
    let request = TransactWriteRequest {
        actions: actions.iter().map(|action| transact(&table, action)).collect(),
        token: Some(token()?),
    };
    let mut attempt = 0;
    let mut unknown = false;
    loop {
        attempt += 1;
        let error = match operation.engine.store().transact_write(&request).await {
            Ok(answer) => {
                *consumed += &answer.consumed;
                return Ok(());
            }
            Err(error) => error,
        };
        unknown |= error.is_unavailable();
        // The token makes it safe to send the same bytes again when nobody knows whether they arrived. Then a conflict may
        // be with the first sending itself: evaluated anew, with new ids and another token, the operation could happen twice.
        let same_again = error.is_unavailable() || is_throttled(&error) || (unknown && error.is_conflict());
        if same_again && attempt < retry::ATTEMPTS_MAX {
            retry::pause(attempt).await;
            continue;
        }
        return Err(match error.kind() {
            _ if unknown && same_again && !error.is_unavailable() => Stop::Failed(unknown_outcome().into()),
            ErrorKind::Cancelled(reasons) => cancelled(operation, actions, reasons, &error),
            ErrorKind::Conflict => Stop::Again,
            _ => Stop::Failed(error.into()),
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

fn cancelled(operation: &Operation<'_>, actions: &[Action<'_>], reasons: &[Cancellation], error: &StoreError) -> Stop {
    let mut failed = Vec::new();
    let mut others = false;
    for (action, reason) in actions.iter().zip(reasons) {
        match reason {
            Cancellation::ConditionFailed { old } => failed.push((action, old.clone())),
            Cancellation::Nothing => {}
            Cancellation::Conflict | Cancellation::Throttled => others = true,
            _ => return Stop::Failed(RuntimeError::Store(error.clone())),
        }
    }
    match failed.is_empty() {
        true if others => Stop::Again,
        true => Stop::Failed(RuntimeError::Store(error.clone())),
        false => refuse::why(operation, &failed),
    }
}

fn transact(table: &str, action: &Action<'_>) -> TransactWrite {
    let condition = condition_of(action);
    let table = table.to_owned();
    match &action.doing {
        Doing::Put(item) => TransactWrite::Put(PutRequest {
            table,
            item: item.clone(),
            condition,
            return_old: false,
        }),
        Doing::Update(update) => TransactWrite::Update(UpdateRequest {
            table,
            key: action.key.clone(),
            update: update.clone(),
            condition,
            returns: UpdateReturn::Nothing,
        }),
        Doing::Delete => TransactWrite::Delete(DeleteRequest {
            table,
            key: action.key.clone(),
            condition,
            return_old: false,
        }),
        Doing::Check => TransactWrite::Check {
            table,
            key: action.key.clone(),
            condition: condition.unwrap_or(Condition::And(Vec::new())),
        },
    }
}

async fn single(
    operation: &Operation<'_>,
    action: &Action<'_>,
    wants_new: bool,
    consumed: &mut Consumed,
) -> Result<Option<Item>, Stop> {
    let table = operation.model.table.name.clone();
    let mut attempt = 0;
    let mut unknown = false;
    loop {
        attempt += 1;
        let error = match call(operation, &table, action, wants_new).await {
            Ok(answer) => {
                *consumed += &answer.consumed;
                return Ok(answer.attributes);
            }
            Err(error) => error,
        };
        let again = attempt < retry::ATTEMPTS_MAX;
        match error.kind() {
            ErrorKind::ConditionFailed { old } if unknown && is_done(action, old.as_ref()) => return Ok(old.clone()),
            // Refused, or done and changed by others since.
            ErrorKind::ConditionFailed { .. } if unknown => return Err(Stop::Failed(unknown_outcome().into())),
            ErrorKind::ConditionFailed { old } => {
                return Err(refuse::why(operation, &[(action, old.clone())]));
            }
            ErrorKind::Conflict if unknown && again => {}
            ErrorKind::Conflict if !unknown => return Err(Stop::Again),
            _ if error.is_throttled() && again => {}
            // What adds must not be sent twice when nobody knows whether it arrived.
            _ if error.is_unavailable() && again && !adds(action) => unknown = true,
            _ if unknown && !error.is_unavailable() => return Err(Stop::Failed(unknown_outcome().into())),
            _ => return Err(Stop::Failed(error.into())),
        }
        retry::pause(attempt).await;
    }
}

async fn call(
    operation: &Operation<'_>,
    table: &str,
    action: &Action<'_>,
    wants_new: bool,
) -> Result<WriteAnswer, StoreError> {
    let store = operation.engine.store();
    let condition = condition_of(action);
    let table = table.to_owned();
    match &action.doing {
        Doing::Put(item) => {
            let request = PutRequest {
                table,
                item: item.clone(),
                condition,
                return_old: false,
            };
            store.put(&request).await
        }
        Doing::Update(update) => {
            let returns = if wants_new {
                UpdateReturn::New
            } else {
                UpdateReturn::Nothing
            };
            let request = UpdateRequest {
                table,
                key: action.key.clone(),
                update: update.clone(),
                condition,
                returns,
            };
            store.update(&request).await
        }
        Doing::Delete | Doing::Check => {
            let request = DeleteRequest {
                table,
                key: action.key.clone(),
                condition,
                return_old: false,
            };
            store.delete(&request).await
        }
    }
}

fn unknown_outcome() -> StoreError {
    StoreError::unavailable("nobody knows whether the write was done")
}

fn adds(action: &Action<'_>) -> bool {
    match &action.doing {
        Doing::Update(update) => {
            let computes = |value: &SetValue| !matches!(value, SetValue::Operand(SetOperand::Value(_)));
            !update.add.is_empty() || update.set.iter().any(|(_, value)| computes(value))
        }
        _ => false,
    }
}

/// Whether an item is what the action makes of it: an earlier sending of it arrived.
fn is_done(action: &Action<'_>, old: Option<&Item>) -> bool {
    match (&action.doing, old) {
        (Doing::Put(item), Some(old)) => item == old,
        (Doing::Delete, None) => true,
        (Doing::Update(update), Some(old)) => is_updated(update, old),
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
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|_| RuntimeError::Stored("this machine has no source of random numbers".to_owned()))?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}
