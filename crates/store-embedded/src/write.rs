//! One write: checked where it is asked, done by the writer.
//!
//! Most of a write needs no lock: its checks, its bytes, its index entries. What the item is now is looked at in the draft of the
//! commit, and everything that follows from the change is put there: the item, its entries, its expiry, the totals and the
//! change for the stream. So they agree in every state that anybody sees.

use std::sync::Arc;

use singlet_item::capacity::{IndexWrite, WriteMode, write_units};
use singlet_item::{Item, WriteUnits};
use singlet_keyspace::Draft;
use singlet_store::{
    BatchWrite, Cancellation, Condition, Consumed, DeleteRequest, ErrorKind, PutRequest, Result, StoreError,
    TransactWrite, TransactWriteRequest, Units, Update, UpdateRequest,
};

use crate::catalogue::Table;
use crate::check::{check_key, check_put, check_updated};
use crate::codec::{RawItem, encode_item};
use crate::entry::{self, Entry};
use crate::layout::{self, Area};
use crate::select::condition_holds;
use crate::stream::{self, Moment};
use crate::totals;
use crate::update;
use crate::view::{View, from_space};
use crate::{expiry, expression, words};

/// A write that fits its table.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) table: Arc<Table>,
    pub(crate) key: Vec<u8>,
    asked: Asked,
    change: Change,
    /// Where the size of its item collection is kept, if that is bounded.
    collection: Option<Vec<u8>>,
}

#[derive(Clone, Debug)]
enum Change {
    Put {
        item: Arc<[u8]>,
        entries: Vec<Option<Entry>>,
    },
    Update,
    Delete,
    Check,
}

/// What a write still needs of its request while it waits: copies, or the request itself where that is shared.
#[allow(
    clippy::large_enum_variant,
    reason = "the copies in a box of their own would be one more allocation for each"
)]
#[derive(Clone, Debug)]
pub(crate) enum Asked {
    /// Copies of what its kind of write needs.
    Own {
        key: Option<Item>,
        update: Option<Update>,
        condition: Option<Condition>,
    },
    Update(Arc<UpdateRequest>),
    /// The action of a transaction with that number.
    Action(Arc<TransactWriteRequest>, usize),
}

impl Asked {
    fn condition(&self) -> Option<&Condition> {
        match self {
            Self::Own { condition, .. } => condition.as_ref(),
            Self::Update(request) => request.condition.as_ref(),
            Self::Action(request, at) => match request.actions.get(*at)? {
                TransactWrite::Put(put) => put.condition.as_ref(),
                TransactWrite::Update(update) => update.condition.as_ref(),
                TransactWrite::Delete(delete) => delete.condition.as_ref(),
                TransactWrite::Check { condition, .. } => Some(condition),
            },
        }
    }

    /// The key of an item that is not given whole.
    fn key(&self) -> Option<&Item> {
        match self {
            Self::Own { key, .. } => key.as_ref(),
            Self::Update(request) => Some(&request.key),
            Self::Action(request, at) => match request.actions.get(*at)? {
                TransactWrite::Put(_) => None,
                TransactWrite::Update(UpdateRequest { key, .. })
                | TransactWrite::Delete(DeleteRequest { key, .. })
                | TransactWrite::Check { key, .. } => Some(key),
            },
        }
    }

    fn update(&self) -> Option<&Update> {
        match self {
            Self::Own { update, .. } => update.as_ref(),
            Self::Update(request) => Some(&request.update),
            Self::Action(request, at) => match request.actions.get(*at)? {
                TransactWrite::Update(update) => Some(&update.update),
                TransactWrite::Put(_) | TransactWrite::Delete(_) | TransactWrite::Check { .. } => None,
            },
        }
    }

    /// Copies of a condition, and of the key that it is about where no item is given.
    fn copied(key: Option<&Item>, condition: Option<&Condition>) -> Self {
        Self::Own {
            key: key.cloned(),
            update: None,
            condition: condition.cloned(),
        }
    }
}

/// A write that cannot be without its request.
fn not_asked() -> StoreError {
    StoreError::unavailable("a write has lost its request")
}

/// What a write is about to do.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) old: Option<Arc<[u8]>>,
    pub(crate) new: Option<Arc<[u8]>>,
}

/// Why a write is not done.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Its condition does not hold of this item.
    Condition(Option<Arc<[u8]>>),
    /// It cannot be done.
    Error(StoreError),
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Error(error)
    }
}

impl Refusal {
    pub(crate) fn into_error(self) -> StoreError {
        match self {
            Self::Error(error) => error,
            Self::Condition(old) => match decode_kept(old.as_ref()) {
                Ok(old) => words::condition_failed(old),
                Err(error) => error,
            },
        }
    }

    /// The same as a reason for which a transaction does nothing. What no request can mend fails the transaction.
    pub(crate) fn into_reason(self) -> Result<Cancellation> {
        match self {
            Self::Condition(old) => Ok(Cancellation::ConditionFailed {
                old: decode_kept(old.as_ref())?,
            }),
            Self::Error(error) => match error.kind() {
                ErrorKind::TooLarge => Ok(Cancellation::TooLarge),
                ErrorKind::BadRequest => Ok(Cancellation::Invalid(error.message().to_owned())),
                _ => Err(error),
            },
        }
    }
}

pub(crate) fn decode_kept(item: Option<&Arc<[u8]>>) -> Result<Option<Item>> {
    item.map(|bytes| RawItem::new(bytes)?.decode_item()).transpose()
}

impl Write {
    fn put(table: Arc<Table>, request: &PutRequest, shared: Option<Asked>) -> Result<Self> {
        Self::put_item(table, &request.item, request.condition.as_ref(), shared)
    }

    /// [`Write::put`] of what its condition allows in what everybody sees; else nothing is made of it.
    pub(crate) fn put_allowed(
        table: Arc<Table>,
        request: &PutRequest,
        view: &impl View,
    ) -> std::result::Result<Self, Refusal> {
        check_form(request.condition.as_ref())?;
        check_put(&table, &request.item)?;
        // In what everybody sees, without waiting; in the draft it is looked at once more, for others come before.
        check_condition(request.condition.as_ref(), view, || table.item_key(&request.item))?;
        let change = put_change(&table, encode_item(&request.item).into())?;
        let asked = Asked::copied(None, request.condition.as_ref());
        Ok(Self::new(table, &request.item, asked, change))
    }

    fn put_item(table: Arc<Table>, item: &Item, condition: Option<&Condition>, shared: Option<Asked>) -> Result<Self> {
        check_form(condition)?;
        check_put(&table, item)?;
        let change = put_change(&table, encode_item(item).into())?;
        let asked = shared.unwrap_or_else(|| Asked::copied(None, condition));
        Ok(Self::new(table, item, asked, change))
    }

    pub(crate) fn update_item(table: Arc<Table>, request: &UpdateRequest, shared: Option<Asked>) -> Result<Self> {
        expression::check_update(&request.update)?;
        check_form(request.condition.as_ref())?;
        update::check_keys_kept(&table.spec.key, &request.update)?;
        check_key(&table, &request.key)?;
        let asked = shared.unwrap_or_else(|| Asked::Own {
            key: Some(request.key.clone()),
            update: Some(request.update.clone()),
            condition: request.condition.clone(),
        });
        Ok(Self::new(table, &request.key, asked, Change::Update))
    }

    pub(crate) fn delete_item(table: Arc<Table>, request: &DeleteRequest, shared: Option<Asked>) -> Result<Self> {
        Self::delete_key(table, &request.key, request.condition.as_ref(), shared)
    }

    fn delete_key(table: Arc<Table>, key: &Item, condition: Option<&Condition>, shared: Option<Asked>) -> Result<Self> {
        check_form(condition)?;
        check_key(&table, key)?;
        let asked = shared.unwrap_or_else(|| Asked::copied(Some(key), condition));
        Ok(Self::new(table, key, asked, Change::Delete))
    }

    pub(crate) fn batched_write(table: Arc<Table>, write: &BatchWrite) -> Result<Self> {
        match write {
            BatchWrite::Put { item, .. } => Self::put_item(table, item, None, None),
            BatchWrite::Delete { key, .. } => Self::delete_key(table, key, None, None),
        }
    }

    pub(crate) fn transact_action(table: Arc<Table>, action: &TransactWrite, shared: Option<Asked>) -> Result<Self> {
        match action {
            TransactWrite::Put(put) => Self::put(table, put, shared),
            TransactWrite::Update(update) => Self::update_item(table, update, shared),
            TransactWrite::Delete(delete) => Self::delete_item(table, delete, shared),
            TransactWrite::Check { key, condition, .. } => {
                check_form(Some(condition))?;
                check_key(&table, key)?;
                let asked = shared.unwrap_or_else(|| Asked::copied(Some(key), Some(condition)));
                Ok(Self::new(table, key, asked, Change::Check))
            }
        }
    }

    fn new(table: Arc<Table>, key: &Item, asked: Asked, change: Change) -> Self {
        let collection = table.has_local_index().then(|| {
            let mut collection = layout::of_table(Area::Collections, table.number);
            let values = table
                .partition_key()
                .iter()
                .filter_map(|attribute| key.get(&attribute.name));
            layout::put_partition(&mut collection, values);
            collection
        });
        Self {
            key: table.item_key(key),
            table,
            asked,
            change,
            collection,
        }
    }

    /// The same for the table as it is now, where that changed since it was checked.
    pub(crate) fn renewed_for(self, table: Arc<Table>) -> Result<Self> {
        // The table is shared as long as it is as it was: entries that were made for it fit.
        if Arc::ptr_eq(&table, &self.table) {
            return Ok(self);
        }
        match &self.change {
            Change::Put { item, .. } => {
                let decoded = RawItem::new(item)?.decode_item()?;
                check_put(&table, &decoded)?;
                let change = put_change(&table, Arc::clone(item))?;
                Ok(Self::new(table, &decoded, self.asked, change))
            }
            Change::Update | Change::Delete | Change::Check => {
                let key = self.asked.key().ok_or_else(not_asked)?.clone();
                check_key(&table, &key)?;
                Ok(Self::new(table, &key, self.asked, self.change))
            }
        }
    }

    /// How many bytes it holds while it waits.
    pub(crate) fn weight_bytes(&self) -> usize {
        let held = match &self.change {
            Change::Put { item, entries } => {
                let entries = entries.iter().flatten();
                item.len() + entries.map(|entry| entry.key.len() + entry.bytes.len()).sum::<usize>()
            }
            Change::Update => self.asked.update().map_or(0, |update| {
                let values = update
                    .add
                    .iter()
                    .chain(&update.delete)
                    .map(|(_, value)| value.size_bytes());
                values.sum::<usize>() + set_bytes(update)
            }),
            Change::Delete | Change::Check => 0,
        };
        self.key.len() + held
    }

    /// How large it is as a part of a transaction.
    pub(crate) fn request_bytes(&self) -> usize {
        match &self.change {
            Change::Put { item, .. } => item.len(),
            _ => self.weight_bytes(),
        }
    }

    /// Refuses it where its condition does not hold in what everybody sees: nobody has to wait for that.
    pub(crate) fn precheck_condition(&self, view: &impl View) -> std::result::Result<(), Refusal> {
        check_condition(self.asked.condition(), view, || &self.key)
    }

    /// What it would do.
    pub(crate) fn evaluate_write(&self, view: &impl View) -> std::result::Result<Outcome, Refusal> {
        // In the draft, behind all works before it: this is the item that the condition is about.
        let old = view.value(&self.key)?.map(singlet_keyspace::Bytes::into_shared);
        if let Some(condition) = self.asked.condition()
            && !condition_holds(condition, old.as_ref())?
        {
            return Err(Refusal::Condition(old));
        }
        let new = match &self.change {
            Change::Put { item, .. } => Some(Arc::clone(item)),
            Change::Delete => None,
            // It changes nothing, so that nothing follows from it.
            Change::Check => old.clone(),
            Change::Update => {
                let (key, update) = self.asked.key().zip(self.asked.update()).ok_or_else(not_asked)?;
                // An update makes the item where there is none, from its key.
                let before = decode_kept(old.as_ref())?.unwrap_or_else(|| key.clone());
                let after = update.applied_to(&before)?;
                check_updated(&self.table, &before, &after)?;
                Some(encode_item(&after).into())
            }
        };
        Ok(Outcome { old, new })
    }

    /// Does it. What it consumes is added up.
    pub(crate) fn apply_write(
        self,
        draft: &mut Draft<'_>,
        outcome: &Outcome,
        mode: WriteMode,
        moment: &mut Moment,
        consumed: &mut Consumed,
    ) -> Result<()> {
        let (old, new) = (outcome.old.as_ref(), outcome.new.as_ref());
        let sizes = (size_bytes(old)?, size_bytes(new)?);
        let table = consumed.tables.entry(self.table.spec.name.clone()).or_default();
        table.table += Units::write(write_units(sizes.0, sizes.1, mode));
        // Charged all the same, as DynamoDB does, but no change is told.
        if old == new {
            return Ok(());
        }
        let prepared = match self.change {
            Change::Put { entries, .. } => Some(entries),
            _ => None,
        };
        let change = ItemChange {
            table: &self.table,
            key: &self.key,
            collection: self.collection.as_deref(),
            old,
            new,
            sizes,
        };
        for (index, units) in change.apply_change(draft, prepared, moment, false)? {
            *table.indexes.entry(index).or_default() += Units::write(units);
        }
        Ok(())
    }
}

fn put_change(table: &Table, item: Arc<[u8]>) -> Result<Change> {
    let entries = table.indexes.iter().map(|index| Entry::of(table, index, &item));
    Ok(Change::Put {
        entries: entries.collect::<Result<_>>()?,
        item,
    })
}

/// Refuses what a condition does not allow of the item under a key.
fn check_condition<K: AsRef<[u8]>>(
    condition: Option<&Condition>,
    view: &impl View,
    key: impl FnOnce() -> K,
) -> std::result::Result<(), Refusal> {
    let Some(condition) = condition else {
        return Ok(());
    };
    let old = view.value(key().as_ref())?.map(singlet_keyspace::Bytes::into_shared);
    match condition_holds(condition, old.as_ref())? {
        true => Ok(()),
        false => Err(Refusal::Condition(old)),
    }
}

/// Refuses a condition that is none.
fn check_form(condition: Option<&Condition>) -> Result<()> {
    condition.map_or(Ok(()), |condition| {
        expression::check_condition("ConditionExpression", condition)
    })
}

fn set_bytes(update: &Update) -> usize {
    use singlet_store::{SetOperand, SetValue};
    fn bytes(operand: &SetOperand) -> usize {
        match operand {
            SetOperand::Value(value) => value.size_bytes(),
            SetOperand::Path(_) => 0,
            SetOperand::IfNotExists(_, default) => bytes(default),
            SetOperand::ListAppend(head, tail) => bytes(head) + bytes(tail),
        }
    }
    let values = update.set.iter().map(|(_, value)| match value {
        SetValue::Operand(operand) => bytes(operand),
        SetValue::Plus(left, right) | SetValue::Minus(left, right) => bytes(left) + bytes(right),
    });
    values.sum()
}

fn size_bytes(item: Option<&Arc<[u8]>>) -> Result<Option<usize>> {
    item.map(|bytes| Ok(RawItem::new(bytes)?.size_bytes())).transpose()
}

/// An item that changes, with everything that follows from it.
pub(crate) struct ItemChange<'a> {
    pub(crate) table: &'a Table,
    pub(crate) key: &'a [u8],
    pub(crate) collection: Option<&'a [u8]>,
    pub(crate) old: Option<&'a Arc<[u8]>>,
    pub(crate) new: Option<&'a Arc<[u8]>>,
    /// The sizes of both, as DynamoDB counts them.
    pub(crate) sizes: (Option<usize>, Option<usize>),
}

impl ItemChange<'_> {
    /// Puts it all into the draft. Gives what each index consumed that was touched.
    pub(crate) fn apply_change(
        &self,
        draft: &mut Draft<'_>,
        prepared: Option<Vec<Option<Entry>>>,
        moment: &mut Moment,
        is_expiry: bool,
    ) -> Result<Vec<(String, WriteUnits)>> {
        // All that follows from an item in one place, so that none can be forgotten by one kind of write.
        match self.new {
            Some(bytes) => draft.put_row(self.key, Arc::clone(bytes)),
            None => draft.delete_row(self.key),
        }
        .map_err(from_space)?;
        let (units, local_bytes) = self.apply_indexes(draft, prepared)?;
        expiry::replace_expiry(draft, self.table, self.key, self.old, self.new)?;
        let stream_bytes = stream::record_change(draft, self.table, self.old, self.new, moment, is_expiry)?;
        totals::count_change(draft, self.table, self.sizes, stream_bytes)?;
        if let Some(collection) = self.collection {
            let bytes = totals::signed_size(self.sizes.1) - totals::signed_size(self.sizes.0) + local_bytes;
            totals::change_collection(draft, collection, bytes)?;
        }
        Ok(units)
    }

    /// The second is by how much the entries of local indexes grew.
    fn apply_indexes(
        &self,
        draft: &mut Draft<'_>,
        prepared: Option<Vec<Option<Entry>>>,
    ) -> Result<(Vec<(String, WriteUnits)>, i64)> {
        let mut prepared = prepared.map(Vec::into_iter);
        let (mut units, mut local_bytes) = (Vec::new(), 0);
        for index in &self.table.indexes {
            let entry = |bytes: Option<&Arc<[u8]>>| bytes.map(|bytes| Entry::of(self.table, index, bytes)).transpose();
            let before = entry(self.old)?.flatten();
            let after = match &mut prepared {
                // In the order of the table's indexes, for which they were made.
                Some(prepared) => prepared.next().flatten(),
                None => entry(self.new)?.flatten(),
            };
            if index.is_local() {
                let size = |entry: &Option<Entry>| totals::signed_size(entry.as_ref().map(|entry| entry.size_bytes));
                local_bytes += size(&after) - size(&before);
            }
            let write: IndexWrite = entry::replace_entry(draft, before, after)?;
            let consumed = write.write_units();
            if consumed != WriteUnits::ZERO {
                units.push((index.spec.name.clone(), consumed));
            }
        }
        Ok((units, local_bytes))
    }
}
