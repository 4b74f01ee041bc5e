//! What is certain is mended: what follows from a row is made of it anew, and guards of nobody go.
//!
//! A mend is one transaction under the condition that every item which it changes, or from which it follows, is still as it
//! was seen. What was changed meanwhile is left as it is.

use singlet_item::Item;
use singlet_item::limits::TRANSACTION_ITEMS_MAX;
use singlet_model::Model;
use singlet_model::model::Entity;
use singlet_store::{
    Condition, DeleteRequest, Path, PutRequest, TransactWrite, TransactWriteRequest, Update, UpdateRequest,
};

use super::auditor::{Auditor, JudgedItem};
use super::beside::{Relations, differing_names, see_item};
use super::finding::{Finding, FindingGroup, FindingKind};
use super::own::derived_names;
use super::owner::Owner;
use crate::error::RuntimeError;
use crate::load::{GivenKind, is_known, kept_beside};
use crate::scope::Attributes;
use crate::write::key_in;
use crate::{retry, row};

/// What would be done about an item, and what would not.
#[derive(Clone, Debug, Default)]
pub struct MendPlan {
    /// What would be mended.
    pub mended: Vec<Finding>,
    /// What would not, and why.
    pub left: Vec<(Finding, &'static str)>,
    /// Each item that changes, before and after.
    pub changes: Vec<ItemChange>,
    actions: Vec<TransactWrite>,
}

/// An item before and after a mend.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemChange {
    /// As it was; none where it was not there.
    pub before: Option<Item>,
    /// As it will be; none where it goes.
    pub after: Option<Item>,
}

impl MendPlan {
    /// Whether anything would be done.
    pub fn changes_something(&self) -> bool {
        !self.changes.is_empty()
    }

    fn leave_all(findings: &[Finding], why: &'static str) -> Self {
        let why = |finding: &Finding| finding.kind.not_mended().unwrap_or(why);
        MendPlan {
            left: findings.iter().map(|finding| (finding.clone(), why(finding))).collect(),
            ..MendPlan::default()
        }
    }
}

impl Auditor<'_> {
    /// What would be done about an item with which something is wrong.
    pub fn mend_plan(&self, judged: &JudgedItem, now: i64) -> MendPlan {
        let findings = &judged.findings;
        let is_mendable = |finding: &Finding| finding.kind.not_mended().is_none();
        if !findings.iter().any(is_mendable) {
            return MendPlan::leave_all(findings, "");
        }
        let relations = see_item(self.model(), &judged.item, self.scope(now)).relations;
        let planned = match &relations {
            Relations::Row(entity, row) => self.mend_row(judged, entity, &row.row, now),
            Relations::Guard(Some(owner)) => self.mend_guard(judged, owner),
            Relations::Guard(None) | Relations::Mirror(..) | Relations::Nothing => Err("its row is not known"),
        };
        match planned {
            Ok(plan) if plan.actions.len() > TRANSACTION_ITEMS_MAX => {
                MendPlan::leave_all(findings, "it takes too many actions")
            }
            Ok(mut plan) => {
                for finding in findings {
                    match finding.kind.not_mended() {
                        Some(why) => plan.left.push((finding.clone(), why)),
                        None if plan.changes.is_empty() => plan.left.push((finding.clone(), "nothing would change")),
                        None => plan.mended.push(finding.clone()),
                    }
                }
                plan
            }
            Err(why) => MendPlan::leave_all(findings, why),
        }
    }

    /// Does what was planned; whether everything was still as it was seen.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn mend_findings(&self, plan: &MendPlan) -> Result<bool, RuntimeError> {
        let request = TransactWriteRequest {
            actions: plan.actions.clone(),
            token: None,
        };
        let store = self.engine.store();
        // Sent again after an answer was lost, its conditions fail on what it did itself: then the next look says so.
        match retry::retried_past_conflicts(self.engine.bounds(), || store.transact_write(&request)).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_condition_failed() || error.is_conflict() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn mend_row(
        &self,
        judged: &JudgedItem,
        entity: &Entity,
        row: &Attributes,
        now: i64,
    ) -> Result<MendPlan, &'static str> {
        let (model, scope) = (self.model(), self.scope(now));
        let item = &judged.item;
        let is_damaged = |finding: &Finding| {
            finding.kind.finding_group() == FindingGroup::Value
                || [FindingKind::KeyUnlike, FindingKind::KeyUnreadable].contains(&finding.kind)
        };
        if judged.findings.iter().any(is_damaged) {
            return Err("the row itself is damaged, and everything follows from it");
        }
        let mut plan = MendPlan::default();
        let target = self.with_copies(judged, entity, row, &mut plan)?;
        let key = key_in(model, item);
        let own = row::encode_own(model, entity, &target, scope).map_err(|_| "no item can be made of the row")?;
        if key_in(model, &own) != key {
            return Err("the row would lie under another key");
        }
        let names = differing(model, entity, item, &own);
        let was = kept_beside(model, entity, row, scope).map_err(|_| "what is beside the row cannot be made")?;
        let beside = kept_beside(model, entity, &target, scope).map_err(|_| "what is beside the row cannot be made")?;
        let keys = |all: &[crate::load::GivenItem]| -> Vec<Item> {
            all.iter().map(|other| key_in(model, &other.item)).collect()
        };
        if keys(&was) != keys(&beside) {
            return Err("its mirrors or guards would move");
        }
        let concerned = |kind: FindingKind, other: &Item| {
            let is_it = |finding: &&Finding| finding.kind == kind && finding.beside.as_ref() == Some(other);
            judged.findings.iter().any(|finding| is_it(&finding))
        };
        for other in &beside {
            let place = key_in(model, &other.item);
            let found = judged.others.get(&place).and_then(Option::as_ref);
            match (other.kind, found) {
                (_, None) => plan.put(model, other.item.clone()),
                (GivenKind::Mirror, Some(found)) => {
                    let mirror = model.entity_named(&other.name).ok_or("a mirror is not of this model")?;
                    if concerned(FindingKind::MirrorDisplaced, &place) {
                        continue;
                    }
                    let names = differing_names(model, mirror, found, &other.item);
                    plan.update((model, mirror), found, &other.item, &names);
                }
                (GivenKind::Unique, Some(found)) if concerned(FindingKind::GuardExpiry, &place) => {
                    let names: Vec<String> = model.table.ttl.iter().cloned().collect();
                    plan.update((model, entity), found, &other.item, &names);
                }
                (GivenKind::Unique | GivenKind::Identity, Some(_)) => {}
            }
        }
        match names.is_empty() {
            true => plan.check((model, entity), item),
            false => plan.update((model, entity), item, &own, &names),
        }
        Ok(plan)
    }

    /// The row with its copies as their sources say, which must still say so.
    fn with_copies(
        &self,
        judged: &JudgedItem,
        entity: &Entity,
        row: &Attributes,
        plan: &mut MendPlan,
    ) -> Result<Attributes, &'static str> {
        let model = self.model();
        let mut target = row.clone();
        for finding in &judged.findings {
            if ![FindingKind::CopyStale, FindingKind::CopyBehind].contains(&finding.kind) {
                continue;
            }
            let (Some(name), Some(source)) = (&finding.attribute, &finding.beside) else {
                continue;
            };
            let copy = entity.attribute(name).and_then(|attribute| attribute.copy.as_ref());
            let of = copy
                .and_then(|copy| model.entity(copy.entity))
                .ok_or("its source is not known")?;
            let source = judged.others.get(source).and_then(Option::as_ref);
            plan.check((model, of), source.ok_or("its source is not known")?);
            match &finding.should {
                Some(value) => target.insert(name.clone(), value.clone()),
                None => target.remove(name),
            };
        }
        // Copies of one source are checked once.
        let mut checked: Vec<TransactWrite> = Vec::new();
        for action in plan.actions.drain(..) {
            if !checked.contains(&action) {
                checked.push(action);
            }
        }
        plan.actions = checked;
        Ok(target)
    }

    fn mend_guard(&self, judged: &JudgedItem, owner: &Owner<'_>) -> Result<MendPlan, &'static str> {
        let model = self.model();
        if owner.entity.history.is_some() {
            return Err("its row has versions, of which one may be written at any time");
        }
        let mut plan = MendPlan::default();
        plan.delete((model, owner.entity), &judged.item);
        for key in &owner.keys {
            match judged.others.get(key).and_then(Option::as_ref) {
                Some(found) => plan.check((model, owner.entity), found),
                None => plan.check_absent(model, key),
            }
        }
        Ok(plan)
    }
}

/// The names in which the item of a row differs from what it should be: what follows from it, and copies.
fn differing(model: &Model, entity: &Entity, item: &Item, own: &Item) -> Vec<String> {
    let derived = derived_names(model, entity);
    let copies = entity.attributes.iter().filter(|attribute| attribute.copy.is_some());
    let copies: Vec<&str> = copies.filter_map(|attribute| entity.name_in_item(attribute)).collect();
    let mut names: Vec<String> = item.keys().chain(own.keys()).cloned().collect();
    names.sort();
    names.dedup();
    names.retain(|name| {
        let is_meant = derived.contains(name.as_str()) || copies.contains(&name.as_str());
        is_meant && item.get(name) != own.get(name)
    });
    names
}

/// Every value of an item is as it was seen, and what else the model may put there is absent as it was.
fn as_seen(model: &Model, entity: &Entity, item: &Item) -> Condition {
    let there = item
        .iter()
        .map(|(name, value)| Condition::equal(Path::attribute(name), value.clone()));
    let keys = model.table.indexes.iter().flat_map(|index| index.key());
    let names = keys.map(|key| key.name.as_str()).chain(model.table.ttl.as_deref());
    let names = names.chain(entity.attributes.iter().map(|attribute| attribute.name.as_str()));
    let mut absent: Vec<&str> = names.filter(|name| !item.contains_key(*name)).collect();
    absent.retain(|name| is_known(model, entity, name));
    absent.sort_unstable();
    absent.dedup();
    let absent = absent
        .into_iter()
        .map(|name| Condition::not_exists(Path::attribute(name)));
    Condition::And(there.chain(absent).collect())
}

impl MendPlan {
    fn put(&mut self, model: &Model, item: Item) {
        let partition = model.table.key.first().map(|key| key.name.as_str()).unwrap_or_default();
        self.actions.push(TransactWrite::Put(PutRequest {
            table: model.table.name.clone(),
            item: item.clone(),
            condition: Some(Condition::not_exists(Path::attribute(partition))),
            return_old: false,
        }));
        self.changes.push(ItemChange {
            before: None,
            after: Some(item),
        });
    }

    fn update(&mut self, (model, entity): (&Model, &Entity), found: &Item, should: &Item, names: &[String]) {
        if names.is_empty() {
            return;
        }
        let (mut update, mut after) = (Update::new(), found.clone());
        for name in names {
            match should.get(name) {
                Some(value) => {
                    after.insert(name.clone(), value.clone());
                    update = update.set(Path::attribute(name), value.clone());
                }
                None => {
                    after.remove(name);
                    update = update.remove(Path::attribute(name));
                }
            }
        }
        self.actions.push(TransactWrite::Update(UpdateRequest {
            table: model.table.name.clone(),
            key: key_in(model, found),
            update,
            condition: Some(as_seen(model, entity, found)),
            returns: Default::default(),
        }));
        self.changes.push(ItemChange {
            before: Some(found.clone()),
            after: Some(after),
        });
    }

    fn delete(&mut self, (model, entity): (&Model, &Entity), found: &Item) {
        self.actions.push(TransactWrite::Delete(DeleteRequest {
            table: model.table.name.clone(),
            key: key_in(model, found),
            condition: Some(as_seen(model, entity, found)),
            return_old: false,
        }));
        self.changes.push(ItemChange {
            before: Some(found.clone()),
            after: None,
        });
    }

    fn check(&mut self, (model, entity): (&Model, &Entity), found: &Item) {
        self.actions.push(TransactWrite::Check {
            table: model.table.name.clone(),
            key: key_in(model, found),
            condition: as_seen(model, entity, found),
        });
    }

    fn check_absent(&mut self, model: &Model, key: &Item) {
        let partition = model.table.key.first().map(|key| key.name.as_str()).unwrap_or_default();
        self.actions.push(TransactWrite::Check {
            table: model.table.name.clone(),
            key: key.clone(),
            condition: Condition::not_exists(Path::attribute(partition)),
        });
    }
}
