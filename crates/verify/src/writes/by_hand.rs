//! The calls that a document names for steps, made as it names them: the items that such a call writes, the attributes that it sets,
//! no condition where it has none, and one call after the other where they are not one transaction.
//!
//! Who may, what is named and what the write requires are decided before them, as they are meant. A condition that a call is said to
//! have is taken for the one that is meant, as far as one item can say it; a step without a call is done as it is meant.

use singlet_item::Item;
use singlet_item::limits::BATCH_WRITE_ITEMS_MAX;
use singlet_model::Model;
use singlet_model::model::{Entity, Step, StepKind, Stored, UsingCall, Write};
use singlet_model::types::EntityId;
use singlet_runtime::{Attributes, Scope, Setting, WriteRequest, load, row};
use singlet_store::{
    BatchWrite, BatchWriteRequest, DeleteRequest, PutRequest, SetOperand, SetValue, Store, StoreError, TransactWrite,
    TransactWriteRequest, Update, UpdateRequest,
};

use super::mends::Trace;
use super::oracle::{ExpectedOutcome, Maker, Oracle, OracleFrame};
use super::steps::OperationSteps;
use super::world;

/// How often what a batch left open is sent again.
const BATCH_TRIES_MAX: usize = 50;

/// A step's call, and the row that it is about.
#[derive(Clone, Debug)]
pub(super) struct StepCall<'a> {
    step: &'a Step,
    entity: EntityId,
    /// Which of the rows that the operation touches.
    at: usize,
    /// The row before, or its key alone.
    was: Attributes,
    was_there: bool,
    becomes: Option<Attributes>,
}

/// What the calls of a write come to.
#[derive(Debug)]
pub(super) struct DocumentedCalls {
    /// What is sent, in order.
    sent: Vec<SentTogether>,
    /// Whether a condition stopped it after that, and what it says.
    pub stopped: Option<ExpectedOutcome>,
}

/// Actions that are sent in one call, or in one batch.
#[derive(Debug)]
struct SentTogether {
    way: SendingWay,
    /// Each with the row that it is about.
    actions: Vec<(usize, TransactWrite)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SendingWay {
    Single,
    Batch,
    Transaction,
}

impl SendingWay {
    fn of_call(using: Option<&UsingCall>) -> Self {
        match using.map(|using| using.call.as_str()) {
            None | Some("TransactWriteItems") => SendingWay::Transaction,
            Some("BatchWriteItem") => SendingWay::Batch,
            Some(_) => SendingWay::Single,
        }
    }
}

/// Whether a document names a call for a step of a write, or of a step that it shares.
pub fn names_a_call(model: &Model, write: &Write) -> bool {
    all_steps(model, write).iter().any(|step| step.using.is_some())
}

/// Why the calls of a write cannot be made by hand.
pub(crate) fn why_not_by_hand(model: &Model, write: &Write) -> Option<String> {
    let named = all_steps(model, write).into_iter().filter(|step| step.using.is_some());
    let mut entities = named.filter_map(|step| model.entity(step.entity()?));
    let versioned = entities.find(|entity| entity.history.is_some())?;
    Some(format!("the versions of `{}` are the engine's own", versioned.name))
}

fn all_steps<'m>(model: &'m Model, write: &'m Write) -> Vec<&'m Step> {
    let mut all = write.all_steps();
    let mut at = 0;
    while let Some(step) = all.get(at) {
        at += 1;
        let StepKind::Call { step: name, .. } = &step.kind else {
            continue;
        };
        let named = model.steps.iter().find(|known| known.name == *name);
        let inner: Vec<&Step> = named.into_iter().flat_map(|named| flattened(&named.steps)).collect();
        all.extend(inner);
    }
    all
}

fn flattened(steps: &[Step]) -> Vec<&Step> {
    let mut all = Vec::new();
    for step in steps {
        all.push(step);
        if let StepKind::Group(inner) = &step.kind {
            all.extend(flattened(inner));
        }
    }
    all
}

impl<'a> OperationSteps<'a> {
    /// Whether a step is a call without a condition, which is refused by nothing.
    pub(super) fn is_unconditional(&self, step: &Step) -> bool {
        self.frame.by_hand && step.using.as_ref().is_some_and(|using| !using.condition)
    }

    /// Whether a step's call sees no item but its own: what rows promise beside one another it cannot keep.
    pub(super) fn looks_at_one_item(&self, step: &Step) -> bool {
        let alone = SendingWay::of_call(step.using.as_ref()) != SendingWay::Transaction;
        self.is_unconditional(step) || (self.frame.by_hand && alone)
    }

    /// What stands for a row that is not there, where a step is taken all the same.
    pub(super) fn stands_for_absent(&self, step: &Step, at: usize) -> Option<Attributes> {
        match self.is_unconditional(step) {
            true => self.key_of_touched(at),
            false => self.frame.lenient.then(Attributes::new),
        }
    }

    fn key_of_touched(&self, at: usize) -> Option<Attributes> {
        let touched = self.touched.get(at)?;
        let names = world::key_variables(self.frame.model, touched.entity).iter();
        let known = names.zip(&touched.identity);
        Some(
            known
                .filter_map(|(name, value)| Some((name.clone(), value.clone()?)))
                .collect(),
        )
    }

    /// Takes note of what a step makes of a row, where it is taken by hand.
    pub(super) fn note_call(&mut self, step: &'a Step, at: usize) {
        let Some(touched) = self.touched.get(at).filter(|_| self.frame.by_hand) else {
            return;
        };
        let becomes = match step.kind {
            StepKind::Delete(_) => None,
            _ => touched.becomes.clone(),
        };
        let (was_there, entity) = (touched.was.is_some(), touched.entity);
        let was = touched.was.clone().or_else(|| self.key_of_touched(at));
        self.calls_by_hand.push(StepCall {
            step,
            entity,
            at,
            was: was.unwrap_or_default(),
            was_there,
            becomes,
        });
    }
}

impl Oracle {
    /// The calls of an operation as its document names them, on a table that need not be named as the model's; nothing where they
    /// are not reached.
    pub(super) fn documented_calls(
        &self,
        (model, setting): (&Model, &Setting),
        write: &Write,
        request: &WriteRequest,
        (number, table): (u64, &str),
    ) -> Option<DocumentedCalls> {
        let (maker, trace) = (Maker::of_operation(number), Trace::default());
        let frame = OracleFrame {
            model,
            setting,
            write,
            request,
            maker: &maker,
            trace: &trace,
            lenient: false,
            by_hand: true,
            cause: None,
        };
        let args = super::request::filled_arguments(frame).ok()?;
        let mut operation = OperationSteps::new(frame, &self.rows, args);
        operation.prepare_operation().ok()?;
        let done = operation.take_steps(&write.steps);
        let done = operation.kept_promises(done);
        let mut sent: Vec<SentTogether> = Vec::new();
        for call in &operation.calls_by_hand {
            let way = SendingWay::of_call(call.step.using.as_ref());
            let known = sent
                .iter()
                .position(|known| known.way == way && way != SendingWay::Single);
            let at = known.unwrap_or(sent.len());
            if known.is_none() {
                let actions = Vec::new();
                sent.push(SentTogether { way, actions });
            }
            let actions = call.actions((model, table), operation.scope(None));
            if let Some(together) = sent.get_mut(at) {
                together.take(call.at, actions);
            }
        }
        if done.is_err() {
            let stopped_at = operation
                .stopped_at
                .map(|step| SendingWay::of_call(step.using.as_ref()));
            // A promise that is broken in the end is a transaction's.
            if stopped_at.unwrap_or(SendingWay::Transaction) == SendingWay::Transaction {
                let before = sent.iter().position(|known| known.way == SendingWay::Transaction);
                sent.truncate(before.unwrap_or(sent.len()));
            }
        }
        Some(DocumentedCalls {
            sent,
            stopped: done.err(),
        })
    }
}

impl SentTogether {
    /// Adds actions; of one that another step already wrote, the later has both changes.
    fn take(&mut self, row: usize, actions: Vec<TransactWrite>) {
        if self.way != SendingWay::Single {
            self.actions.retain(|(known, _)| *known != row);
        }
        self.actions.extend(actions.into_iter().map(|action| (row, action)));
    }
}

impl StepCall<'_> {
    /// What is sent for it; nothing where the row has no key.
    fn actions(&self, place: (&Model, &str), scope: Scope<'_>) -> Vec<TransactWrite> {
        self.try_actions(place, scope).unwrap_or_default()
    }

    fn try_actions(&self, (model, table): (&Model, &str), scope: Scope<'_>) -> Option<Vec<TransactWrite>> {
        let entity = model.entity(self.entity)?;
        let items = |row: &Attributes| load::items_of_row(model, entity, row, scope).ok();
        let using = self.step.using.as_ref();
        let named = using.map(|using| using.call.as_str());
        let whole = SendingWay::of_call(using) != SendingWay::Single;
        let own = row::encode_own(model, entity, self.becomes.as_ref().unwrap_or(&self.was), scope).ok()?;
        let put = |item: Item| {
            TransactWrite::Put(PutRequest {
                table: table.to_owned(),
                item,
                ..PutRequest::default()
            })
        };
        let is_put = match (&self.step.kind, named) {
            (_, Some("PutItem")) => true,
            (_, Some("UpdateItem" | "DeleteItem")) => false,
            (StepKind::Update(_), Some("BatchWriteItem")) => true,
            (StepKind::Update(_), _) => using.is_none_or(|using| using.set.is_empty()) && whole,
            (StepKind::Create(_) | StepKind::Upsert(_), _) => true,
            _ => false,
        };
        if is_put {
            let becomes = self.becomes.as_ref()?;
            let mut actions: Vec<TransactWrite> = match whole {
                true => items(becomes)?.into_iter().map(put).collect(),
                false => vec![put(own)],
            };
            if whole && self.was_there {
                actions.extend(self.items_gone((model, table), items(&self.was)?, &actions));
            }
            return Some(actions);
        }
        let deletes = named == Some("DeleteItem") || (self.becomes.is_none() && named != Some("UpdateItem"));
        if deletes {
            let gone = match whole && self.was_there {
                true => items(&self.was)?,
                false => vec![own],
            };
            return Some(gone.iter().map(|item| delete((model, table), item)).collect());
        }
        let before = match self.was_there {
            true => row::encode_own(model, entity, &self.was, scope).ok()?,
            false => Item::new(),
        };
        let update = changes(model, entity, using, &before, &own);
        (!update.is_empty() || !self.was_there).then(|| {
            vec![TransactWrite::Update(UpdateRequest {
                table: table.to_owned(),
                key: key_in(model, &own),
                update,
                ..UpdateRequest::default()
            })]
        })
    }

    /// Items of the row before that it no longer has.
    fn items_gone(
        &self,
        (model, table): (&Model, &str),
        before: Vec<Item>,
        actions: &[TransactWrite],
    ) -> Vec<TransactWrite> {
        let stays = |item: &Item| {
            actions.iter().any(
                |action| matches!(action, TransactWrite::Put(put) if key_in(model, &put.item) == key_in(model, item)),
            )
        };
        let gone = before.iter().filter(|item| !stays(item));
        gone.map(|item| delete((model, table), item)).collect()
    }
}

fn delete((model, table): (&Model, &str), item: &Item) -> TransactWrite {
    TransactWrite::Delete(DeleteRequest {
        table: table.to_owned(),
        key: key_in(model, item),
        ..DeleteRequest::default()
    })
}

fn key_in(model: &Model, item: &Item) -> Item {
    let names = model.table.key.iter();
    names
        .filter_map(|key| Some((key.name.clone(), item.get(&key.name)?.clone())))
        .collect()
}

/// What an update sets: the attributes that are named, or, where none is, all that become otherwise.
fn changes(model: &Model, entity: &Entity, using: Option<&UsingCall>, before: &Item, own: &Item) -> Update {
    let is_key = |name: &String| model.table.key.iter().any(|key| key.name == *name);
    let is_type = |name: &String| model.table.type_attribute.as_ref() == Some(name);
    let stored = |name: &String| match entity.attribute(name).map(|attribute| &attribute.stored) {
        Some(Stored::As(other)) => other.clone(),
        _ => name.clone(),
    };
    let named = using.map(|using| using.set.as_slice()).unwrap_or_default();
    let names: Vec<String> = match named.is_empty() {
        false => named.iter().map(|(name, _)| stored(name)).collect(),
        true => {
            let all = before.keys().chain(own.keys()).cloned();
            let otherwise = all.filter(|name| before.get(name) != own.get(name) && !is_type(name));
            otherwise.collect()
        }
    };
    let mut update = Update::new();
    let mut once: Vec<&String> = Vec::new();
    for name in names.iter().filter(|name| !is_key(name)) {
        if once.contains(&name) {
            continue;
        }
        once.push(name);
        update = match own.get(name) {
            Some(value) => update.set(name.as_str(), SetValue::Operand(SetOperand::Value(value.clone()))),
            None => update.remove(name.as_str()),
        };
    }
    update
}

impl DocumentedCalls {
    /// Makes the calls.
    pub async fn send_calls(self, store: &dyn Store) -> Result<(), StoreError> {
        for together in self.sent {
            let actions: Vec<TransactWrite> = together.actions.into_iter().map(|(_, action)| action).collect();
            match together.way {
                SendingWay::Transaction if actions.is_empty() => {}
                SendingWay::Transaction => {
                    let request = TransactWriteRequest { actions, token: None };
                    store.transact_write(&request).await?;
                }
                SendingWay::Batch => send_batch(store, actions).await?,
                SendingWay::Single => {
                    for action in actions {
                        send_single(store, action).await?;
                    }
                }
            }
        }
        Ok(())
    }
}

async fn send_single(store: &dyn Store, action: TransactWrite) -> Result<(), StoreError> {
    match action {
        TransactWrite::Put(request) => store.put(&request).await.map(|_| ()),
        TransactWrite::Update(request) => store.update(&request).await.map(|_| ()),
        TransactWrite::Delete(request) => store.delete(&request).await.map(|_| ()),
        TransactWrite::Check { .. } => Ok(()),
    }
}

async fn send_batch(store: &dyn Store, actions: Vec<TransactWrite>) -> Result<(), StoreError> {
    let writes = actions.into_iter().filter_map(|action| match action {
        TransactWrite::Put(put) => Some(BatchWrite::Put {
            table: put.table,
            item: put.item,
        }),
        TransactWrite::Delete(delete) => Some(BatchWrite::Delete {
            table: delete.table,
            key: delete.key,
        }),
        TransactWrite::Update(_) | TransactWrite::Check { .. } => None,
    });
    let writes: Vec<BatchWrite> = writes.collect();
    for chunk in writes.chunks(BATCH_WRITE_ITEMS_MAX) {
        let mut writes = chunk.to_vec();
        for _ in 0..BATCH_TRIES_MAX {
            if writes.is_empty() {
                break;
            }
            writes = store.batch_write(&BatchWriteRequest { writes }).await?.unprocessed;
        }
    }
    Ok(())
}
