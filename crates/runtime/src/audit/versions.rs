//! Versions of a row: looked for in their partition, since only the version itself says when it began.

use singlet_item::{Item, Value};
use singlet_model::Model;
use singlet_model::model::Entity;
use singlet_store::{Consumed, KeyRange, QueryRequest};

use super::auditor::Auditor;
use super::beside::{Others, Relations, has_guard, is_identity_guard};
use super::finding::{Finding, FindingKind};
use crate::error::RuntimeError;
use crate::scope::{Attributes, Scope};
use crate::write::{GUARD_CLOSED, identity_place, key_in};
use crate::{range_rows, retry, row};

/// The versions of one row.
#[derive(Default, PartialEq)]
struct Versions {
    /// Whether there is any.
    is_any: bool,
    /// Those that are not closed, tombstones included.
    open: Vec<Item>,
}

/// Whether an item is to be held against the versions of a row. A closed version is not that another follows.
pub(super) fn concerns_versions(model: &Model, item: &Item, relations: &Relations<'_>, others: &Others) -> bool {
    let is_there = |key: &Item| others.get(key).is_some_and(Option::is_some);
    match relations {
        Relations::Row(entity, row) => entity.history.is_some() && !row.next.as_ref().is_some_and(is_there),
        // The guard of an identity outlives versions that expire.
        Relations::Guard(Some(owner)) => {
            let is_identity = || is_identity_guard(model, owner, &key_in(model, item));
            owner.entity.history.is_some() && (owner.entity.expires.is_none() || !is_identity())
        }
        Relations::Guard(None) | Relations::Mirror(..) | Relations::Nothing => false,
    }
}

/// What is wrong between an item and the versions of its row; none where somebody wrote one meanwhile.
pub(super) async fn judge_versions(
    auditor: &Auditor<'_>,
    item: &Item,
    relations: &Relations<'_>,
    scope: Scope<'_>,
    consumed: &mut Consumed,
) -> Result<Option<Vec<Finding>>, RuntimeError> {
    let model = auditor.model();
    let key = key_in(model, item);
    let (entity, known) = match relations {
        Relations::Row(entity, row) => (*entity, &row.row),
        Relations::Guard(Some(owner)) => (owner.entity, &owner.known),
        Relations::Guard(None) | Relations::Mirror(..) | Relations::Nothing => return Ok(Some(Vec::new())),
    };
    let Ok(identity) = identity_place(model, entity, known) else {
        return Ok(Some(Vec::new()));
    };
    let Some(versions) = versions_of(auditor, entity, known, consumed).await? else {
        return Ok(Some(Vec::new()));
    };
    let findings = match relations {
        Relations::Row(..) => of_row(model, entity, item, &versions),
        _ => of_guard(model, relations, &key, &versions, scope),
    };
    // Every change of a row's versions changes one that is open, or the guard of their identity: where all are as they were,
    // and the versions too, it was so in between.
    let mut wanted = vec![key.clone(), identity.clone()];
    wanted.extend(versions.open.iter().map(|open| key_in(model, open)));
    wanted.sort();
    wanted.dedup();
    if findings.is_empty() {
        let is_ended = |identity: Option<&Item>| identity.is_some_and(|guard| guard.contains_key(GUARD_CLOSED));
        let lacks_current = versions.open.is_empty() && matches!(relations, Relations::Row(..));
        if !lacks_current || entity.expires.is_some() {
            return Ok(Some(findings));
        }
        let together = auditor.get_together(&wanted, consumed).await?;
        if is_ended(together.get(&identity).and_then(Option::as_ref)) {
            return Ok(Some(findings));
        }
        if Some(versions) != versions_of(auditor, entity, known, consumed).await? {
            return Ok(None);
        }
        let reason = "none of its versions is current, and nothing says that it ended";
        let finding = Finding::new(FindingKind::VersionWithoutCurrent, &key, reason).of(&entity.name);
        return Ok(Some(vec![finding.beside(&identity)]));
    }
    let together = auditor.get_together(&wanted, consumed).await?;
    let is_same = |known: &Item| together.get(&key_in(model, known)).and_then(Option::as_ref) == Some(known);
    let is_settled = is_same(item) && versions.open.iter().all(is_same);
    if !is_settled || Some(versions) != versions_of(auditor, entity, known, consumed).await? {
        return Ok(None);
    }
    Ok(Some(findings))
}

fn of_row(model: &Model, entity: &Entity, item: &Item, versions: &Versions) -> Vec<Finding> {
    let key = key_in(model, item);
    let is_open = versions.open.iter().any(|open| key_in(model, open) == key);
    let other = versions.open.iter().find(|open| key_in(model, open) != key);
    match other.filter(|_| is_open) {
        None => Vec::new(),
        Some(other) => {
            let reason = "another version of the same row is current, too";
            let finding = Finding::new(FindingKind::VersionTwiceOpen, &key, reason).of(&entity.name);
            vec![finding.beside(&key_in(model, other))]
        }
    }
}

fn of_guard(
    model: &Model,
    relations: &Relations<'_>,
    key: &Item,
    versions: &Versions,
    scope: Scope<'_>,
) -> Vec<Finding> {
    let Relations::Guard(Some(owner)) = relations else {
        return Vec::new();
    };
    let name = &owner.entity.name;
    let found = |kind, reason: String| vec![Finding::new(kind, key, reason).of(name)];
    if is_identity_guard(model, owner, key) {
        return match versions.is_any {
            true => Vec::new(),
            false => found(
                FindingKind::IdentityOrphan,
                format!("there is no version of the `{name}` whose identity it guards"),
            ),
        };
    }
    let has_it = |open: &Item| has_guard(model, owner.entity, open, key, scope);
    match (versions.open.is_empty(), versions.open.iter().any(has_it)) {
        (_, true) => Vec::new(),
        (true, false) => found(
            FindingKind::GuardOrphan,
            format!("there is no `{name}` whose guard it is: the value cannot be used again"),
        ),
        (false, false) => found(
            FindingKind::GuardOldValue,
            format!("its `{name}` has another value by now: this one cannot be used again"),
        ),
    }
}

/// The versions of a row; none where its partition cannot be told.
async fn versions_of(
    auditor: &Auditor<'_>,
    entity: &Entity,
    known: &Attributes,
    consumed: &mut Consumed,
) -> Result<Option<Versions>, RuntimeError> {
    let (model, engine) = (auditor.model(), auditor.engine);
    let (Some(history), Some(names)) = (&entity.history, model.catalog.names(entity.id)) else {
        return Ok(None);
    };
    let identity: Vec<(&String, &Value)> = names
        .key_variables
        .iter()
        .filter_map(|name| Some((name, known.get(name)?)))
        .collect();
    let partition = model.table.key.first().map(|key| key.name.as_str()).unwrap_or_default();
    let template = entity.key_templates().find(|key| key.attribute == partition);
    let lookup = |path: &str| row::at_path(known, path);
    let value = template.and_then(|template| row::encode_key(entity, template, &lookup).ok()?);
    let Some(value) = value else { return Ok(None) };
    let mut request = QueryRequest::new(model.table.name.clone(), KeyRange::partition(partition, value));
    request.consistent = true;
    let mut versions = Versions::default();
    loop {
        let page = retry::with_retries(engine.bounds(), || engine.store().query(&request)).await?;
        *consumed += page.consumed;
        for item in page.items {
            if !range_rows::is_row_of(model, entity, &item) {
                continue;
            }
            // One that cannot be read is told of by itself.
            let Ok(row) = row::decode_as_stored(entity, &item) else {
                continue;
            };
            let is_same = identity.iter().all(|(name, value)| row.get(*name) == Some(*value));
            if !is_same || !row.contains_key(&history.at) {
                continue;
            }
            versions.is_any = true;
            if !row.contains_key(&history.until) {
                versions.open.push(item);
            }
        }
        // Only a page without a last key is the end of the partition.
        request.start = page.last_key;
        if request.start.is_none() {
            return Ok(Some(versions));
        }
    }
}
