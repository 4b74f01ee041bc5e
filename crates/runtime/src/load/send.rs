//! One row to the table, under the conditions of a create.

use singlet_item::{Item, Value};
use singlet_model::model::Entity;
use singlet_store::{
    Cancellation, Condition, ErrorKind, Path, PutRequest, StoreError, TransactWrite, TransactWriteRequest, Update,
    UpdateRequest,
};

use super::kept::{KeptItem, KeptKind, excluded_rows, kept_items, oversize_of, place_of};
use super::misfit::{Misfit, MisfitKind};
use super::source::{Pin, item_at, open_version, take_copies};
use super::survey::is_last_version;
use super::{GivenRow, Loading};
use crate::error::RuntimeError;
use crate::scope::Attributes;
use crate::write::{GUARD_OWNER, absent_now, key_in};
use crate::{range_rows, retry, row};

/// How often a row is made anew because what it depends on changed meanwhile.
const ATTEMPTS_MAX: u32 = 8;

/// The attribute that says what wrote an item in place of a write, where something follows: nothing runs after it. A later write
/// leaves it as it is, so that only an item in which it is new was written so.
pub const BY: &str = "$by";

/// What became of a row.
pub(super) enum SentRow {
    /// It is there, as so many items.
    Written(u64),
    /// It was there before.
    There,
    /// The table refuses it.
    Refused(Misfit),
}

/// Writes a row, its mirrors and its guards, unless it is there already.
pub(super) async fn send_row(loading: &Loading<'_>, given: &GivenRow<'_>) -> Result<SentRow, RuntimeError> {
    let (model, entity) = (loading.model(), given.entity);
    for attempt in 1..=ATTEMPTS_MAX {
        let mut row = given.row.clone();
        let pins = match take_copies(loading, entity, &mut row).await? {
            Ok(pins) => pins,
            Err(misfit) => return Ok(SentRow::Refused(misfit)),
        };
        let row = row::complete_row(entity, row, loading.scope)?;
        let kept = kept_items(model, entity, &row, loading.scope)?;
        if let Some(misfit) = oversize_of(model, &kept) {
            return Ok(SentRow::Refused(misfit));
        }
        if let Some(misfit) = second_last_version(loading, entity, &row, &kept).await? {
            return Ok(SentRow::Refused(misfit));
        }
        let mut actions: Vec<LoadAction> = kept.iter().map(|one| LoadAction::keep(loading, entity, one)).collect();
        actions.extend(excluding(loading, entity, &row)?);
        actions.extend(pins.into_iter().map(|pin| LoadAction::pin(loading, pin)));
        match send_actions(loading, &actions).await? {
            Ended::Done => return Ok(SentRow::Written(kept.len() as u64)),
            Ended::Failed(failed) => match look_at(loading, given, &actions, failed).await? {
                Some(sent) => return Ok(sent),
                None => retry::retry_pause(attempt).await,
            },
        }
    }
    Err(RuntimeError::Conflict)
}

/// One action, and what it means that its condition fails.
pub(super) struct LoadAction {
    write: TransactWrite,
    key: Item,
    means: Means,
}

#[derive(Clone, PartialEq, Eq)]
pub(super) enum Means {
    Kept(KeptKind),
    /// A row is there that must not be, of this entity.
    Excluded(String),
    /// What was read has changed.
    Changed,
}

impl LoadAction {
    /// Puts an item where there is none, or where one has expired; versions of one row share the guard of their identity.
    pub(super) fn keep(loading: &Loading<'_>, entity: &Entity, one: &KeptItem) -> Self {
        let model = loading.model();
        let table = model.table.name.clone();
        let absent = absent_now(model, entity.expires.is_some(), loading.options.now);
        let mut item = one.item.clone();
        if one.kind == KeptKind::Own && model.is_followed(entity.id) {
            item.insert(BY.to_owned(), Value::S(format!("load {}", loading.options.now)));
        }
        let write = match one.kind {
            KeptKind::Identity => TransactWrite::Update(share_identity(table, one)),
            _ => TransactWrite::Put(PutRequest {
                table,
                item,
                condition: Some(absent),
                return_old: false,
            }),
        };
        LoadAction {
            write,
            key: one.key.clone(),
            means: Means::Kept(one.kind.clone()),
        }
    }

    fn pin(loading: &Loading<'_>, pin: Pin) -> Self {
        LoadAction {
            write: TransactWrite::Check {
                table: loading.model().table.name.clone(),
                key: pin.key.clone(),
                condition: pin.condition,
            },
            key: pin.key,
            means: Means::Changed,
        }
    }
}

/// What the guard of an identity says beside its owner stays: it may remember when the last version was closed.
fn share_identity(table: String, one: &KeptItem) -> UpdateRequest {
    let mut update = Update::new();
    for (name, value) in one.item.iter().filter(|(name, _)| !one.key.contains_key(*name)) {
        update = update.set(Path::attribute(name.as_str()), value.clone());
    }
    let owner = one.item.get(GUARD_OWNER).cloned().unwrap_or(Value::Null);
    let mine = Condition::equal(Path::attribute(GUARD_OWNER), owner);
    UpdateRequest {
        table,
        key: one.key.clone(),
        update,
        condition: Some(Condition::not_exists(Path::attribute(GUARD_OWNER)).or(mine)),
        ..UpdateRequest::default()
    }
}

/// Checks that no row is there that must not be beside this one.
fn excluding(loading: &Loading<'_>, entity: &Entity, row: &Attributes) -> Result<Vec<LoadAction>, RuntimeError> {
    let model = loading.model();
    let mut actions: Vec<LoadAction> = Vec::new();
    for (other, known) in excluded_rows(model, entity, row, loading.scope)? {
        let Some(key) = place_of(model, other, &known)? else {
            continue;
        };
        if actions.iter().any(|action| action.key == key) {
            continue;
        }
        actions.push(LoadAction {
            write: TransactWrite::Check {
                table: model.table.name.clone(),
                key: key.clone(),
                condition: absent_now(model, other.expires.is_some(), loading.options.now),
            },
            key,
            means: Means::Excluded(other.name.clone()),
        });
    }
    Ok(actions)
}

/// Of the versions of a row only one is open.
async fn second_last_version(
    loading: &Loading<'_>,
    entity: &Entity,
    row: &Attributes,
    kept: &[KeptItem],
) -> Result<Option<Misfit>, RuntimeError> {
    if !is_last_version(entity, row) {
        return Ok(None);
    }
    let own = kept.iter().find(|one| one.kind == KeptKind::Own).map(|one| &one.key);
    let open = open_version(loading, entity, row).await?;
    let other = open.filter(|item| Some(&key_in(loading.model(), item)) != own);
    Ok(other.map(|_| {
        Misfit::new(
            MisfitKind::SameKey,
            "the table has a version of this row that is not closed",
        )
    }))
}

/// How a request ended.
pub(super) enum Ended {
    Done,
    /// Conditions failed: the number of each action, and the item that it met.
    Failed(Vec<(usize, Option<Item>)>),
}

/// Sends actions as one request: a single put by itself, which costs half.
pub(super) async fn send_actions(loading: &Loading<'_>, actions: &[LoadAction]) -> Result<Ended, RuntimeError> {
    let store = loading.store();
    let outcome = match actions {
        [
            LoadAction {
                write: TransactWrite::Put(put),
                ..
            },
        ] => retry::retried_past_conflicts(loading.engine.bounds(), || store.put(put)).await,
        _ => {
            let request = TransactWriteRequest {
                actions: actions.iter().map(|action| action.write.clone()).collect(),
                token: None,
            };
            retry::retried_past_conflicts(loading.engine.bounds(), || store.transact_write(&request)).await
        }
    };
    match outcome {
        Ok(_) => Ok(Ended::Done),
        Err(error) if error.is_condition_failed() => Ok(Ended::Failed(failed_actions(&error))),
        Err(error) => Err(error.into()),
    }
}

fn failed_actions(error: &StoreError) -> Vec<(usize, Option<Item>)> {
    if let ErrorKind::ConditionFailed { old } = error.kind() {
        return vec![(0, old.clone())];
    }
    let reasons = error.cancellations().iter().enumerate();
    let failed = reasons.filter_map(|(at, reason)| match reason {
        Cancellation::ConditionFailed { old } => Some((at, old.clone())),
        _ => None,
    });
    failed.collect()
}

/// What it means that conditions failed; none where the row is to be made anew.
async fn look_at(
    loading: &Loading<'_>,
    given: &GivenRow<'_>,
    actions: &[LoadAction],
    failed: Vec<(usize, Option<Item>)>,
) -> Result<Option<SentRow>, RuntimeError> {
    let mut refused = None;
    for (at, old) in failed {
        let Some(action) = actions.get(at) else { continue };
        if action.means == Means::Kept(KeptKind::Own) {
            let there = match old {
                Some(item) => Some(item),
                None => item_at(loading, action.key.clone()).await?,
            };
            // Gone meanwhile: it may be written now.
            let Some(there) = there else { return Ok(None) };
            return Ok(Some(match is_given(loading, given, &there)? {
                true => SentRow::There,
                false => SentRow::Refused(same_key(loading, given.entity, &there)),
            }));
        }
        refused = refused.or(action_refusal(&action.means));
    }
    Ok(refused.map(SentRow::Refused))
}

/// Whether an item is the row of a line: it has every value that the line states.
fn is_given(loading: &Loading<'_>, given: &GivenRow<'_>, item: &Item) -> Result<bool, RuntimeError> {
    if !range_rows::is_row_of(loading.model(), given.entity, item) {
        return Ok(false);
    }
    let stored = row::decode_as_stored(given.entity, item)?;
    let same = |name: &String| stored.get(name) == given.row.get(name);
    Ok(given.stated.iter().all(same))
}

fn same_key(loading: &Loading<'_>, entity: &Entity, there: &Item) -> Misfit {
    let reason = match range_rows::is_row_of(loading.model(), entity, there) {
        true => "the table has another row with this key",
        false => "the table has a row of another kind with this key",
    };
    Misfit::new(MisfitKind::SameKey, reason)
}

/// What is said of an action whose condition failed.
pub(super) fn action_refusal(means: &Means) -> Option<Misfit> {
    Some(match means {
        Means::Kept(KeptKind::Own) => Misfit::new(MisfitKind::SameKey, "the table has another row with this key"),
        Means::Kept(KeptKind::Mirror(name)) => {
            let reason = format!("the table has another row where its `{name}` would be");
            Misfit::new(MisfitKind::SameKey, reason)
        }
        Means::Kept(KeptKind::Unique(name)) => {
            let reason = format!("the table has another row with this `{name}`, which is unique");
            Misfit::new(MisfitKind::Taken, reason)
        }
        Means::Kept(KeptKind::Identity) => Misfit::new(
            MisfitKind::SameKey,
            "the table has something else where the identity of this row is kept",
        ),
        Means::Excluded(name) => {
            let reason = format!("the table has a `{name}` that must not be beside it");
            Misfit::new(MisfitKind::Excluded, reason)
        }
        Means::Changed => return None,
    })
}

impl LoadAction {
    /// What it means that its condition fails.
    pub(super) fn means(&self) -> &Means {
        &self.means
    }
}
