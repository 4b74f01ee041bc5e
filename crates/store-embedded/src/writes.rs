//! Writes as they are asked for: checked here, done by the writer of the space.

use std::collections::BTreeSet;
use std::sync::Arc;

use singlet_item::Item;
use singlet_item::capacity::WriteMode;
use singlet_item::limits::{BATCH_BYTES_MAX, TRANSACTION_BYTES_MAX};
use singlet_store::well_formed::changed_paths;
use singlet_store::{
    BatchWrite, BatchWriteAnswer, BatchWriteRequest, Cancellation, Consumed, DeleteRequest, PutRequest, Result,
    StoreError, TransactWrite, TransactWriteRequest, UpdateRequest, UpdateReturn, WriteAnswer, render,
};

use crate::EmbeddedStore;
use crate::catalogue::Table;
use crate::check::check_values;
use crate::select::project_item;
use crate::stream::Moment;
use crate::tokens::Once;
use crate::words;
use crate::write::{Asked, Outcome, Refusal, Write, decode_kept};

impl EmbeddedStore {
    pub(crate) async fn put_item(&self, request: &PutRequest) -> Result<WriteAnswer> {
        let snapshot = self.snapshot();
        let table = self.catalogue().table(&snapshot, &request.table)?;
        let write = Write::put_allowed(table, request, &snapshot).map_err(Refusal::into_error)?;
        let (outcome, consumed) = self.write_one(write).await?;
        answer_old(request.return_old, &outcome, consumed)
    }

    pub(crate) async fn delete_item(&self, request: &DeleteRequest) -> Result<WriteAnswer> {
        check_values(&request.key)?;
        let snapshot = self.snapshot();
        let write = Write::delete_item(self.catalogue().table(&snapshot, &request.table)?, request, None)?;
        write.precheck_condition(&snapshot).map_err(Refusal::into_error)?;
        let (outcome, consumed) = self.write_one(write).await?;
        answer_old(request.return_old, &outcome, consumed)
    }

    /// `shared` is where the request lies for as long as it is needed, if it does.
    pub(crate) async fn update_item(&self, request: &UpdateRequest, shared: Option<Asked>) -> Result<WriteAnswer> {
        check_values(&request.key)?;
        let snapshot = self.snapshot();
        let write = Write::update_item(self.catalogue().table(&snapshot, &request.table)?, request, shared)?;
        // Only a refusal is certain: what holds here may fail when its turn comes.
        write.precheck_condition(&snapshot).map_err(Refusal::into_error)?;
        let (outcome, consumed) = self.write_one(write).await?;
        let part = |item: Option<Item>| {
            let paths: Vec<_> = changed_paths(&request.update).cloned().collect();
            item.map(|item| project_item(&item, &paths))
        };
        let attributes = match request.returns {
            UpdateReturn::Nothing => None,
            UpdateReturn::Old => decode_kept(outcome.old.as_ref())?,
            UpdateReturn::New => decode_kept(outcome.new.as_ref())?,
            UpdateReturn::UpdatedOld => part(decode_kept(outcome.old.as_ref())?),
            UpdateReturn::UpdatedNew => part(decode_kept(outcome.new.as_ref())?),
        };
        Ok(WriteAnswer {
            attributes: attributes.filter(|attributes| !attributes.is_empty()),
            consumed,
        })
    }

    async fn write_one(&self, write: Write) -> Result<(Outcome, Consumed)> {
        let weight = write.weight_bytes();
        self.commit(weight, move |catalogue, draft, now_millis| {
            // Asked in the draft: the table may have an index since the write was checked.
            let table = catalogue.table(draft, &write.table.spec.name)?;
            let write = write.renewed_for(table)?;
            let outcome = write.evaluate_write(draft).map_err(Refusal::into_error)?;
            let mut consumed = Consumed::default();
            let mut moment = Moment::new(now_millis);
            write.apply_write(draft, &outcome, WriteMode::Single, &mut moment, &mut consumed)?;
            Ok((outcome, consumed))
        })
        .await
    }

    pub(crate) async fn write_batch(&self, request: &BatchWriteRequest) -> Result<BatchWriteAnswer> {
        render::check_batch_write(request)?;
        let snapshot = self.snapshot();
        let mut writes = Vec::with_capacity(request.writes.len());
        let (mut seen, mut bytes) = (BTreeSet::new(), 0);
        for write in &request.writes {
            let (name, item) = match write {
                BatchWrite::Put { table, item } => (table, item),
                BatchWrite::Delete { table, key } => (table, key),
            };
            check_values(item)?;
            let table = self.catalogue().table(&snapshot, name)?;
            if !has_key(&table, item) {
                return Err(words::key_does_not_match());
            }
            let write = Write::batched_write(table, write)?;
            if !seen.insert(write.key.clone()) {
                return Err(words::invalid_request("Provided list of item keys contains duplicates"));
            }
            bytes += write.request_bytes();
            writes.push(write);
        }
        if bytes > BATCH_BYTES_MAX {
            return Err(StoreError::too_large("a batch of writes has more than 16 MB"));
        }
        // As the queue counts them, which bounds what waits in memory.
        let weight = writes.iter().map(Write::weight_bytes).sum();
        let consumed = self.commit(weight, move |catalogue, draft, now_millis| {
            let mut consumed = Consumed::default();
            let mut moment = Moment::new(now_millis);
            for write in writes {
                let table = catalogue.table(draft, &write.table.spec.name)?;
                let write = write.renewed_for(table)?;
                let outcome = write.evaluate_write(draft).map_err(Refusal::into_error)?;
                write.apply_write(draft, &outcome, WriteMode::Single, &mut moment, &mut consumed)?;
            }
            Ok(consumed)
        });
        Ok(BatchWriteAnswer {
            unprocessed: Vec::new(),
            consumed: consumed.await?,
        })
    }

    /// `shared` is where an action lies for as long as it is needed, if it does, by its number.
    pub(crate) async fn write_transaction(
        &self,
        request: &TransactWriteRequest,
        shared: &(dyn Fn(usize) -> Option<Asked> + Sync),
    ) -> Result<WriteAnswer> {
        render::check_transact_write(request)?;
        let writes = self.check_actions(request, shared)?;
        let once = Once::of(request);
        let oldest = Arc::clone(&self.inner.oldest_token);
        let weight = writes.iter().map(Write::weight_bytes).sum();
        let consumed = self.commit(weight, move |catalogue, draft, now_millis| {
            if let Some(once) = &once {
                if once.is_done(draft, now_millis)? {
                    // Done before. DynamoDB counts reads for having looked, here nothing was read.
                    return Ok(Consumed::default());
                }
                // Before the writes, in their commit: if one of them is refused, nothing of the draft is kept.
                once.mark_done(draft, &oldest, now_millis)?;
            }
            let mut renewed = Vec::with_capacity(writes.len());
            for write in writes {
                let table = catalogue.table(draft, &write.table.spec.name)?;
                renewed.push(write.renewed_for(table)?);
            }
            // All conditions before any change: within a transaction no action sees another.
            let outcomes = evaluate_all(&renewed, draft)?;
            let mut consumed = Consumed::default();
            let mut moment = Moment::new(now_millis);
            for (write, outcome) in renewed.into_iter().zip(&outcomes) {
                write.apply_write(draft, outcome, WriteMode::Transaction, &mut moment, &mut consumed)?;
            }
            Ok(consumed)
        });
        Ok(WriteAnswer {
            attributes: None,
            consumed: consumed.await?,
        })
    }

    /// What of a transaction is wrong whatever the items are.
    fn check_actions(
        &self,
        request: &TransactWriteRequest,
        shared: &dyn Fn(usize) -> Option<Asked>,
    ) -> Result<Vec<Write>> {
        let snapshot = self.snapshot();
        let mut checked = Vec::with_capacity(request.actions.len());
        let (mut seen, mut bytes) = (BTreeSet::new(), 0);
        for (at, action) in request.actions.iter().enumerate() {
            let (name, item) = match action {
                TransactWrite::Put(put) => (&put.table, &put.item),
                TransactWrite::Update(update) if update.update.is_empty() => {
                    return Err(StoreError::bad_request("an update in a transaction changes nothing"));
                }
                TransactWrite::Update(update) => (&update.table, &update.key),
                TransactWrite::Delete(delete) => (&delete.table, &delete.key),
                TransactWrite::Check { table, key, .. } => (table, key),
            };
            check_values(item)?;
            let table = self.catalogue().table(&snapshot, name)?;
            match Write::transact_action(table, action, shared(at)) {
                Ok(write) => {
                    if !seen.insert(write.key.clone()) {
                        return Err(words::invalid_request(
                            "Transaction request cannot include multiple operations on one item",
                        ));
                    }
                    bytes += write.request_bytes();
                    checked.push(Ok(write));
                }
                // DynamoDB refuses these as a whole, and others as the fault of one action.
                Err(error) if is_of_request(&error) => return Err(error),
                Err(error) => checked.push(Err(Refusal::Error(error))),
            }
        }
        if checked.iter().any(std::result::Result::is_err) {
            // It is not done whatever the items are. What the other actions say of them is said as well.
            let evaluated = checked.into_iter().map(|write| write?.evaluate_write(&snapshot));
            return Err(words::cancelled_transaction(reasons(evaluated)?));
        }
        let writes: Vec<Write> = checked.into_iter().flatten().collect();
        if bytes > TRANSACTION_BYTES_MAX {
            return Err(words::transaction_too_large());
        }
        Ok(writes)
    }
}

fn is_of_request(error: &StoreError) -> bool {
    let message = error.message();
    // An expression that is too long, one that cannot be or has a value that cannot be, and keys without a value.
    message.starts_with("One or more parameter values are not valid.")
        || message.starts_with("Invalid UpdateExpression")
        || message.starts_with("Invalid ConditionExpression")
        || message.starts_with("ExpressionAttributeValues")
        || !message.starts_with(|first: char| first.is_uppercase())
}

/// What every action does; nothing, where one cannot.
fn evaluate_all(writes: &[Write], draft: &singlet_keyspace::Draft<'_>) -> Result<Vec<Outcome>> {
    let evaluated: Vec<_> = writes.iter().map(|write| write.evaluate_write(draft)).collect();
    match evaluated.iter().all(std::result::Result::is_ok) {
        true => Ok(evaluated.into_iter().flatten().collect()),
        false => Err(words::cancelled_transaction(reasons(evaluated)?)),
    }
}

/// Why a transaction does nothing: a reason for each of its actions, or that it is not the reason.
fn reasons(evaluated: impl IntoIterator<Item = std::result::Result<Outcome, Refusal>>) -> Result<Vec<Cancellation>> {
    let reason = |outcome: std::result::Result<Outcome, Refusal>| match outcome {
        Ok(_) => Ok(Cancellation::Nothing),
        Err(refusal) => refusal.into_reason(),
    };
    evaluated.into_iter().map(reason).collect()
}

fn has_key(table: &Table, item: &Item) -> bool {
    table.spec.key.attributes().all(|attribute| {
        let value = item.get(&attribute.name);
        value.is_some_and(|value| attribute.key_type.takes_value(value))
    })
}

fn answer_old(is_asked: bool, outcome: &Outcome, consumed: Consumed) -> Result<WriteAnswer> {
    let attributes = match is_asked {
        true => decode_kept(outcome.old.as_ref())?,
        false => None,
    };
    Ok(WriteAnswer { attributes, consumed })
}
