//! Whether the rows of a table are those that a model would have written: values, keys, mirrors, guards, copies.
//!
//! One mechanism for all who ask: `--adopt` before a model takes a table over, `doctor` on a folder.

mod strays;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use singlet_item::{Item, Value};
use singlet_model::Model;
use singlet_model::expression::ExprKind;
use singlet_model::model::{Entity, Kept, Stored};
use singlet_store::ScanRequest;

use crate::by_key::batch_get;
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::load::{GivenItem, GivenKind, entity_of_item, is_of_singlet, kept_beside, source_now};
use crate::scope::{Attributes, Caller, Scope};
use crate::write::key_in;
use crate::{retry, row, values};

use strays::Strays;

/// How many rows of one kind of misfit are shown; all are counted.
const MISFITS_SHOWN_MAX: usize = 5;

/// How much is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditDepth {
    /// Every row, with its keys and what must be beside it.
    Rows,
    /// Also its copies, and what is there without a row: guards, mirrors, items of no entity.
    Whole,
}

/// How rows are audited.
#[derive(Clone, Copy, Debug)]
pub struct AuditOptions {
    /// The instant, in epoch milliseconds: what has expired by then is absent.
    pub now: i64,
    /// How much is looked at.
    pub depth: AuditDepth,
    /// How many guards and mirrors are held against their rows in one reading of the table, 16 bytes each. A table with more is
    /// read more often.
    pub claims_max: usize,
}

impl AuditOptions {
    /// As of an instant.
    pub fn at(now: i64, depth: AuditDepth) -> Self {
        AuditOptions {
            now,
            depth,
            claims_max: 8 * 1024 * 1024,
        }
    }
}

/// A row that a model would not have written so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowMisfit {
    /// What kind of misfit it is.
    pub kind: RowMisfitKind,
    /// Its entity, where it is one of the model's.
    pub entity: Option<String>,
    /// Its primary key, as JSON.
    pub key: String,
    /// What does not fit.
    pub reason: String,
}

impl fmt::Display for RowMisfit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.entity {
            Some(entity) => write!(out, "`{entity}` {}: {}", self.key, self.reason),
            None => write!(out, "{}: {}", self.key, self.reason),
        }
    }
}

/// The kinds of misfits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowMisfitKind {
    /// A value is missing, or not of its type.
    Value,
    /// A key, or what is computed, is not what follows from the row.
    Key,
    /// A mirror is missing or says something else.
    Mirror,
    /// A guard is missing or is another row's.
    Guard,
    /// A copy does not say what its source says.
    Copy,
    /// A mirror of no row.
    StrayMirror,
    /// A guard of no row: its value is taken for ever.
    StrayGuard,
    /// An item of no entity of the model.
    Unknown,
}

impl RowMisfitKind {
    /// Its name, which never changes.
    pub fn name(self) -> &'static str {
        match self {
            RowMisfitKind::Value => "row-value",
            RowMisfitKind::Key => "row-key",
            RowMisfitKind::Mirror => "row-mirror",
            RowMisfitKind::Guard => "row-guard",
            RowMisfitKind::Copy => "row-copy",
            RowMisfitKind::StrayMirror => "stray-mirror",
            RowMisfitKind::StrayGuard => "stray-guard",
            RowMisfitKind::Unknown => "unknown-item",
        }
    }
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct RowAudit {
    /// Rows that were looked at.
    pub rows: u64,
    /// How many misfits of each kind there are.
    pub counts: BTreeMap<RowMisfitKind, u64>,
    /// The first of each kind.
    pub first: Vec<RowMisfit>,
}

impl RowAudit {
    /// How many misfits there are.
    pub fn misfits(&self) -> u64 {
        self.counts.values().sum()
    }

    fn add(&mut self, kind: RowMisfitKind, entity: Option<&Entity>, key: Item, reason: String) {
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        if *count <= MISFITS_SHOWN_MAX as u64 {
            self.first.push(RowMisfit {
                kind,
                entity: entity.map(|entity| entity.name.clone()),
                key: values::json_text::of(&Value::M(key)),
                reason,
            });
        }
    }
}

/// A row with what must be beside it.
struct Beside<'m> {
    entity: &'m Entity,
    key: Item,
    other: GivenItem,
}

/// What is wrong with a row by itself.
type RowReason = (RowMisfitKind, String);

/// Looks at every row of a model's table. Expired ones are absent.
///
/// # Errors
///
/// Where the store fails.
pub async fn audit_rows(engine: &Engine, options: &AuditOptions) -> Result<RowAudit, RuntimeError> {
    let model = engine.model();
    let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
    let scope = Scope {
        setting: engine.setting(),
        now: options.now,
        args: &nothing,
        caller: &nobody,
        attributes: None,
        row: None,
        bound: &nothing,
    };
    let mut audit = RowAudit::default();
    let mut strays = Strays::for_table(engine, options).await?;
    each_page(engine, async |items| {
        let mut beside = Vec::new();
        for item in items {
            if row::has_expired(model, &item, options.now) {
                continue;
            }
            strays.add_item(model, &item);
            let Some(entity) = audited_entity(model, &item, options.depth, &mut audit) else {
                continue;
            };
            audit.rows += 1;
            let key = key_in(model, &item);
            match look_at_row((model, entity), &item, scope) {
                Ok((row, items)) => {
                    if options.depth == AuditDepth::Whole {
                        look_at_copies(engine, entity, (&key, &row), scope, &mut audit).await?;
                    }
                    let items = items.into_iter().inspect(|other| strays.add_claim(model, &other.item));
                    beside.extend(items.map(|other| Beside {
                        entity,
                        key: key.clone(),
                        other,
                    }));
                }
                Err((kind, reason)) => {
                    // What it claims is claimed, as far as that can be told.
                    let claimed = row::stored(entity, &item).and_then(|row| kept_beside(model, entity, &row, scope));
                    for other in claimed.unwrap_or_default() {
                        strays.add_claim(model, &other.item);
                    }
                    audit.add(kind, Some(entity), key, reason);
                }
            }
        }
        look_beside(engine, &mut audit, beside).await
    })
    .await?;
    strays.name_all(engine, options, scope, &mut audit).await?;
    Ok(audit)
}

/// Every item of the table, a page at a time.
async fn each_page(
    engine: &Engine,
    mut look: impl AsyncFnMut(Vec<Item>) -> Result<(), RuntimeError>,
) -> Result<(), RuntimeError> {
    let mut request = ScanRequest {
        table: engine.model().table.name.clone(),
        consistent: true,
        ..ScanRequest::default()
    };
    loop {
        let page = retry::retried(engine.bounds(), || engine.store().scan(&request)).await?;
        look(page.items).await?;
        // Only a page without a last key is the end of the table.
        request.start = page.last_key;
        if request.start.is_none() {
            return Ok(());
        }
    }
}

/// The entity of an item whose row is looked at: mirrors are with their sources, and records end by themselves.
fn audited_entity<'m>(model: &'m Model, item: &Item, depth: AuditDepth, audit: &mut RowAudit) -> Option<&'m Entity> {
    if is_of_singlet(model, item) {
        return None;
    }
    let entity = entity_of_item(model, item);
    if entity.is_none() && depth == AuditDepth::Whole {
        let reason = "this is a row of no entity of the model".to_owned();
        audit.add(RowMisfitKind::Unknown, None, key_in(model, item), reason);
    }
    entity.filter(|entity| entity.mirror.is_none() && entity.role.is_none())
}

/// What is wrong with a row by itself, or the row and the items that must be beside it.
fn look_at_row(
    (model, entity): (&Model, &Entity),
    item: &Item,
    scope: Scope<'_>,
) -> Result<(Attributes, Vec<GivenItem>), RowReason> {
    let wrong = |error: RuntimeError| (RowMisfitKind::Value, error.to_string());
    let row = row::stored(entity, item).map_err(|error| (RowMisfitKind::Key, error.to_string()))?;
    for attribute in entity.attributes.iter().filter(|attribute| attribute.alias.is_none()) {
        match row.get(&attribute.name) {
            Some(value) => {
                let checked = values::checked(value, &attribute.ty);
                let wrong = |invalid| (RowMisfitKind::Value, format!("`{}`: {invalid}", attribute.name));
                checked.map_err(wrong)?;
            }
            None if !attribute.optional => {
                return Err((RowMisfitKind::Value, format!("`{}` is missing", attribute.name)));
            }
            None => {}
        }
    }
    let own = row::encode_own(model, entity, &row, scope).map_err(wrong)?;
    let differs = known_names(model, entity)
        .into_iter()
        .find(|name| item.get(*name) != own.get(*name));
    if let Some(name) = differs {
        let shown = |item: &Item| {
            item.get(name)
                .map_or_else(|| "absent".to_owned(), values::json_text::of)
        };
        let reason = format!("`{name}` is {}, and would be {}", shown(item), shown(&own));
        return Err((RowMisfitKind::Key, reason));
    }
    let mut beside = kept_beside(model, entity, &row, scope).map_err(wrong)?;
    if let Some(ttl) = model.table.ttl.as_ref().filter(|_| ends_by_setting(entity)) {
        beside.iter_mut().for_each(|other| drop(other.item.remove(ttl)));
    }
    Ok((row, beside))
}

/// The names whose values follow from the rest of the row.
fn known_names<'m>(model: &'m Model, entity: &'m Entity) -> BTreeSet<&'m str> {
    let keys = model
        .table
        .key
        .iter()
        .chain(model.table.indexes.iter().flat_map(|index| index.key()));
    let mut names: BTreeSet<&str> = keys.map(|key| key.name.as_str()).collect();
    let computed = entity
        .attributes
        .iter()
        .filter(|attribute| attribute.is.is_some() && attribute.alias.is_none());
    names.extend(computed.filter_map(|attribute| match &attribute.stored {
        Stored::Own => Some(attribute.name.as_str()),
        Stored::As(name) => Some(name.as_str()),
        Stored::No => None,
    }));
    names.extend(model.table.ttl.as_deref().filter(|_| !ends_by_setting(entity)));
    names
}

/// Whether a row ends as a setting says. It said so when the row was written, and may say something else by now.
fn ends_by_setting(entity: &Entity) -> bool {
    let expires = entity.expires.as_ref();
    expires.is_some_and(|expr| expr.any(|part| matches!(part.kind, ExprKind::Setting(_))))
}

/// Whether copies that are kept in the transaction that changes their source say what it says. One whose source is gone stays.
async fn look_at_copies(
    engine: &Engine,
    entity: &Entity,
    (key, row): (&Item, &Attributes),
    scope: Scope<'_>,
    audit: &mut RowAudit,
) -> Result<(), RuntimeError> {
    for attribute in &entity.attributes {
        let copy = attribute.copy.as_ref().filter(|copy| copy.kept == Kept::Transaction);
        let Some(copy) = copy else { continue };
        let Some(source) = source_now(engine, copy, row, scope).await? else {
            continue;
        };
        let (is, says) = (row.get(&attribute.name), source.get(&copy.attribute));
        if is != says {
            let shown = |value: Option<&Value>| value.map_or_else(|| "absent".to_owned(), values::json_text::of);
            let name = engine.model().catalog.name(copy.entity);
            let reason = format!(
                "`{}` is {}, and `{}` of its `{name}` is {}",
                attribute.name,
                shown(is),
                copy.attribute,
                shown(says)
            );
            audit.add(RowMisfitKind::Copy, Some(entity), key.clone(), reason);
        }
    }
    Ok(())
}

/// Whether mirrors and guards are there.
async fn look_beside(engine: &Engine, audit: &mut RowAudit, beside: Vec<Beside<'_>>) -> Result<(), RuntimeError> {
    let model = engine.model();
    let keys: BTreeSet<Item> = beside.iter().map(|one| key_in(model, &one.other.item)).collect();
    let keys: Vec<Item> = keys.into_iter().collect();
    if keys.is_empty() {
        return Ok(());
    }
    let (items, _) = batch_get(engine.store(), engine.bounds(), &model.table.name, &keys, true).await?;
    let there: BTreeMap<Item, Item> = items.into_iter().map(|item| (key_in(model, &item), item)).collect();
    for Beside { entity, key, other } in beside {
        let found = there.get(&key_in(model, &other.item));
        let same = |found: &Item| other.item.iter().all(|(name, value)| found.get(name) == Some(value));
        if !found.is_some_and(same) {
            let kind = match other.kind {
                GivenKind::Mirror => RowMisfitKind::Mirror,
                GivenKind::Guard => RowMisfitKind::Guard,
            };
            let reason = format!("{} is not beside it as it should be", other.what);
            audit.add(kind, Some(entity), key, reason);
        }
    }
    Ok(())
}
