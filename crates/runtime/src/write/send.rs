//! The one request that an operation becomes, sent until its outcome is known.

use std::sync::Arc;

use singlet_item::Item;
use singlet_store::{
    Cancellation, Condition, Consumed, DeleteRequest, ErrorKind, PutRequest, SetOperand, SetValue, StoreError,
    TransactWrite, TransactWriteRequest, Update, UpdateRequest, UpdateReturn, WriteAnswer,
};

use super::refuse::{Denial, FailedCheck};
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
    // Before anything is sent: in parts it would not be one operation.
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
    let several = actions.len() > 1;
    let actions = actions.into_iter().map(|action| requiring(action, several));
    // A check of nothing is no action, and DynamoDB refuses one.
    let actions = actions.filter(|action| !matches!(action.doing, Doing::Check) || !action.checks.is_empty());
    let mut requests = actions.map(|action| request_of(table, action, returns));
    let mut first = None;
    if !several && let Some((request, checks)) = requests.next() {
        first = match SingleWrite::of(request) {
            Ok(request) => return single(operation, &request, &checks, consumed).await,
            Err(check) => Some((*check, checks)),
        };
    }
    let (actions, checks): (Vec<TransactWrite>, Vec<SentChecks<'_>>) = first.into_iter().chain(requests).unzip();
    if actions.is_empty() {
        return Ok(None);
    }
    let request = Arc::new(TransactWriteRequest {
        actions,
        // One for all sendings of these bytes: by it the store knows them again.
        token: Some(token()?),
    });
    transaction(operation, &request, &checks, consumed).await.map(|()| None)
}

/// In a transaction a change that changes nothing only insists on what it requires of its row.
fn requiring(mut action: WriteAction<'_>, several: bool) -> WriteAction<'_> {
    if matches!(&action.doing, Doing::Update(update) if several && update.is_empty()) {
        action.doing = Doing::Check;
    }
    action
}

/// A request that is a call of its own.
enum SingleWrite {
    Put(PutRequest),
    Update(Arc<UpdateRequest>),
    Delete(DeleteRequest),
}

impl SingleWrite {
    /// That of an action; no call only checks, so that a check is given back: it is a transaction of its own.
    fn of(action: TransactWrite) -> Result<Self, Box<TransactWrite>> {
        Ok(match action {
            TransactWrite::Put(put) => SingleWrite::Put(put),
            TransactWrite::Update(update) => SingleWrite::Update(Arc::new(update)),
            TransactWrite::Delete(delete) => SingleWrite::Delete(delete),
            check @ TransactWrite::Check { .. } => return Err(Box::new(check)),
        })
    }

    fn condition(&self) -> Option<&Condition> {
        match self {
            SingleWrite::Put(put) => put.condition.as_ref(),
            SingleWrite::Update(update) => update.condition.as_ref(),
            SingleWrite::Delete(delete) => delete.condition.as_ref(),
        }
    }
}

/// The checks of an action whose conditions are in its request: each with how many of the conditions that are joined there are its own,
/// in that order.
struct SentChecks<'a>(Vec<(u32, Denial<'a>, usize)>);

impl<'a> SentChecks<'a> {
    /// The condition in which all checks are joined, and what is left of them.
    fn of(checks: Vec<RowCheck<'a>>) -> (Option<Condition>, Self) {
        let mut condition: Option<Condition> = None;
        let mut sent = Vec::with_capacity(checks.len());
        for check in checks {
            // What the first one joins already, others are joined to.
            let own = match &condition {
                // How many parts are this check's own, to find them again in the joined condition.
                None => joined(&check.condition).len(),
                Some(_) => 1,
            };
            sent.push((check.order, check.denial, own));
            condition = Some(match condition {
                None => check.condition,
                Some(known) => known.and(check.condition),
            });
        }
        (condition, SentChecks(sent))
    }

    /// The checks that do not hold of an item, or of none, by the condition in which they are joined.
    fn failed<'c>(
        &'c self,
        condition: Option<&'c Condition>,
        old: Option<&'c Item>,
    ) -> impl Iterator<Item = FailedCheck<'c, 'a>> {
        let mut left = condition.map(joined).unwrap_or_default();
        let failed = move |(order, denial, own): &'c (u32, Denial<'a>, usize)| {
            // In the order in which they were joined.
            let (own, others) = left.split_at_checked(*own).unwrap_or((left, &[]));
            left = others;
            let holds = own.iter().all(|condition| condition.holds_of(old));
            (!holds).then_some(FailedCheck {
                order: *order,
                denial,
                old,
            })
        };
        self.0.iter().filter_map(failed)
    }
}

/// The conditions that one is made of.
fn joined(condition: &Condition) -> &[Condition] {
    match condition {
        Condition::And(all) => all,
        other => std::slice::from_ref(other),
    }
}

/// The condition of an action.
fn condition_of(action: &TransactWrite) -> Option<&Condition> {
    match action {
        TransactWrite::Put(put) => put.condition.as_ref(),
        TransactWrite::Update(update) => update.condition.as_ref(),
        TransactWrite::Delete(delete) => delete.condition.as_ref(),
        TransactWrite::Check { condition, .. } => Some(condition),
    }
}

/// The request of an action, and what says why it was refused.
fn request_of<'a>(table: &str, action: WriteAction<'a>, returns: UpdateReturn) -> (TransactWrite, SentChecks<'a>) {
    let WriteAction { key, doing, checks } = action;
    let (condition, checks) = SentChecks::of(checks);
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
    request: &Arc<TransactWriteRequest>,
    checks: &[SentChecks<'_>],
    consumed: &mut Consumed,
) -> Result<(), AttemptStop> {
    let mut attempt = 0;
    let mut unknown = false;
    loop {
        attempt += 1;
        let error = match operation.engine.store().transact_write_shared(request).await {
            Ok(answer) => {
                *consumed += answer.consumed;
                return Ok(());
            }
            Err(error) => error,
        };
        // It stays unknown: a later refusal may be about what the first sending did.
        unknown |= error.is_unavailable();
        // The token makes it safe to send the same bytes again when nobody knows whether they arrived. Then a conflict may
        // be with the first sending itself: evaluated anew, with new ids and another token, the operation could happen twice.
        let same_again = error.is_unavailable() || is_throttled(&error) || (unknown && error.is_conflict());
        if same_again && (attempt as usize) < operation.engine.bounds().call_attempts_max {
            retry::retry_pause(attempt).await;
            continue;
        }
        return Err(match error.kind() {
            // Tried as often as may be, and nobody knows: not evaluated anew, which could do it twice.
            _ if unknown && same_again && !error.is_unavailable() => AttemptStop::Failed(unknown_outcome().into()),
            ErrorKind::Cancelled(reasons) => cancelled(operation, (request, checks), reasons, &error),
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
                    // Only where nothing else is said: a condition that failed is an answer, whatever else was throttled.
                    .all(|reason| matches!(reason, Cancellation::Throttled | Cancellation::Nothing))
        }
        _ => false,
    };
    by_reason || error.is_throttled()
}

fn cancelled(
    operation: &WriteOperation<'_>,
    (request, checks): (&TransactWriteRequest, &[SentChecks<'_>]),
    reasons: &[Cancellation],
    error: &StoreError,
) -> AttemptStop {
    let mut failed = Vec::new();
    let mut others = false;
    for ((action, checks), reason) in request.actions.iter().zip(checks).zip(reasons) {
        match reason {
            Cancellation::ConditionFailed { old } => failed.push(checks.failed(condition_of(action), old.as_ref())),
            Cancellation::Nothing => {}
            Cancellation::Conflict | Cancellation::Throttled => others = true,
            _ => return failed_for_good(error.clone()),
        }
    }
    // A failed condition speaks before conflicts: it is about what is there.
    match failed.is_empty() {
        true if others => AttemptStop::Again,
        true => failed_for_good(error.clone()),
        false => refuse::refusal_reason(operation, failed.into_iter().flatten()),
    }
}

async fn single(
    operation: &WriteOperation<'_>,
    request: &SingleWrite,
    checks: &SentChecks<'_>,
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
            // The item is as this request makes it: the first sending arrived.
            ErrorKind::ConditionFailed { old } if unknown && is_done(request, old.as_ref()) => return Ok(old.clone()),
            // Refused, or done and changed by others since.
            ErrorKind::ConditionFailed { .. } if unknown => return Err(AttemptStop::Failed(unknown_outcome().into())),
            ErrorKind::ConditionFailed { old } => {
                let failed = checks.failed(request.condition(), old.as_ref());
                return Err(refuse::refusal_reason(operation, failed));
            }
            ErrorKind::Conflict if unknown && again => {}
            ErrorKind::Conflict if !unknown => return Err(AttemptStop::Again),
            _ if error.is_throttled() && again => {}
            // What adds must not be sent twice when nobody knows whether it arrived.
            _ if error.is_unavailable() && again && !adds(request) => unknown = true,
            // It was refused for good, but nobody knows of which sending.
            _ if unknown && !error.is_unavailable() => return Err(AttemptStop::Failed(unknown_outcome().into())),
            _ => return Err(failed_for_good(error)),
        }
        retry::retry_pause(attempt).await;
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
async fn call(operation: &WriteOperation<'_>, request: &SingleWrite) -> Result<WriteAnswer, StoreError> {
    let store = operation.engine.store();
    match request {
        SingleWrite::Put(put) => store.put(put).await,
        SingleWrite::Update(update) => store.update_shared(update).await,
        SingleWrite::Delete(delete) => store.delete(delete).await,
    }
}

fn unknown_outcome() -> StoreError {
    StoreError::unavailable("nobody knows whether the write was done")
}

fn adds(request: &SingleWrite) -> bool {
    match request {
        SingleWrite::Update(request) => {
            let update = &request.update;
            let computes = |value: &SetValue| !matches!(value, SetValue::Operand(SetOperand::Value(_)));
            !update.add.is_empty() || update.set.iter().any(|(_, value)| computes(value))
        }
        SingleWrite::Put(_) | SingleWrite::Delete(_) => false,
    }
}

/// Whether an item is what the request makes of it: an earlier sending of it arrived.
fn is_done(request: &SingleWrite, old: Option<&Item>) -> bool {
    match (request, old) {
        (SingleWrite::Put(put), Some(old)) => put.item == *old,
        // Nothing is there, which is what was wanted; whoever did it.
        (SingleWrite::Delete(_), None) => true,
        (SingleWrite::Update(request), Some(old)) => is_updated(&request.update, old),
        _ => false,
    }
}

fn is_updated(update: &Update, item: &Item) -> bool {
    let set = update.set.iter().all(|(path, value)| match value {
        SetValue::Operand(SetOperand::Value(value)) => item.get(path.name()) == Some(value),
        _ => false,
    });
    // An update that only removes says nothing by what is missing.
    set && !update.set.is_empty() && update.remove.iter().all(|path| !item.contains_key(path.name()))
}

/// A token by which the store knows a transaction that it has seen.
fn token() -> Result<String, RuntimeError> {
    let bytes = random_bytes()
        .ok_or_else(|| RuntimeError::Stored("this machine has no source of random numbers".to_owned()))?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<'a>(order: u32, condition: Condition) -> RowCheck<'a> {
        RowCheck {
            order,
            condition,
            denial: Denial::Version,
        }
    }

    fn equal(name: &str) -> Condition {
        Condition::equal(name, 1_i64)
    }

    /// The orders of the checks that do not hold of an item with these attributes, each 1.
    fn failed(checks: Vec<RowCheck<'_>>, names: &[&str]) -> Vec<u32> {
        let item: Item = names.iter().map(|name| ((*name).to_owned(), 1_i64.into())).collect();
        let expected: Vec<u32> = refuse::failed_checks(&checks, Some(&item))
            .map(|check| check.order)
            .collect();
        let (condition, sent) = SentChecks::of(checks);
        assert_eq!(
            condition
                .as_ref()
                .is_none_or(|condition| condition.holds_of(Some(&item))),
            expected.is_empty()
        );
        let failed: Vec<u32> = sent
            .failed(condition.as_ref(), Some(&item))
            .map(|check| check.order)
            .collect();
        assert_eq!(failed, expected);
        failed
    }

    #[test]
    fn checks_are_found_again_in_the_condition_that_joins_them() {
        let both = || equal("a").and(equal("b"));
        assert_eq!(failed(Vec::new(), &[]), Vec::<u32>::new());
        for (names, alone) in [(["a", "b"].as_slice(), vec![]), (&["a"], vec![7]), (&[], vec![7])] {
            assert_eq!(failed(vec![check(7, both())], names), alone);
        }
        // Conditions of several parts at each place.
        let all = || {
            vec![
                check(1, both()),
                check(2, equal("c")),
                check(3, equal("d").and(equal("e"))),
                check(4, equal("f").or(equal("g"))),
            ]
        };
        assert_eq!(failed(all(), &["a", "b", "c", "d", "e", "g"]), Vec::<u32>::new());
        assert_eq!(failed(all(), &["a", "c", "d", "f"]), vec![1, 3]);
        assert_eq!(failed(all(), &["a", "b", "d", "e"]), vec![2, 4]);
        assert_eq!(failed(all(), &[]), vec![1, 2, 3, 4]);
        let mut turned = all();
        turned.reverse();
        assert_eq!(failed(turned, &["b", "c", "e", "f"]), vec![3, 1]);
    }
}
