//! Looks at items of a table, some at a time.
//!
//! Items of a page are read at one moment and those that concern them at another, so that between them anything may have
//! been written. What seems wrong between two items is therefore read again in one transaction, until what was read tells
//! itself which items it takes; only then it is a finding.

use std::collections::BTreeSet;
use std::time::Duration;

use singlet_item::Item;
use singlet_item::limits::TRANSACTION_ITEMS_MAX;
use singlet_model::Model;
use singlet_store::{Consumed, GetRequest, TransactGet, TransactGetRequest};

use super::beside::{Kind, Others, Relations, Seen, judge_relations, kind_of, see_item};
use super::finding::Finding;
use super::versions;
use crate::by_key::batch_get;
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::retry;
use crate::scope::{Attributes, Caller, Scope};
use crate::write::key_in;

/// How often an item is read again because it was changed while it was looked at.
const READ_AGAIN_MAX: usize = 12;

/// How often a follower is waited for, and how long each time: a copy that follows through the stream may be on its way.
const FOLLOWER_WAITS_MAX: usize = 8;
const FOLLOWER_WAIT: Duration = Duration::from_millis(250);

/// Looks at the items of a model's table.
#[derive(Debug)]
pub struct Auditor<'e> {
    pub(super) engine: &'e Engine,
    nothing: Attributes,
    nobody: Caller,
    /// Whether copies that follow through the stream are looked at.
    follows: bool,
}

/// An item with which something is wrong, as it was together with those that concern it.
#[derive(Clone, Debug)]
pub struct JudgedItem {
    /// The item.
    pub item: Item,
    /// The items that concern it, by their keys.
    pub others: Others,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

/// What came of looking at some items.
#[derive(Clone, Debug, Default)]
pub struct PageAudit {
    /// Items that were looked at.
    pub items: u64,
    /// Rows of entities among them.
    pub rows: u64,
    /// Items that changed as often as they were read, so that nothing can be said of them.
    pub unsettled: u64,
    /// Those with which something is wrong.
    pub judged: Vec<JudgedItem>,
    /// What it consumed, beyond the page itself.
    pub consumed: Consumed,
}

/// Items of one moment.
enum Settled {
    /// It is gone.
    Gone,
    /// It was changed each time.
    Changing,
    /// It is so.
    So(JudgedItem),
}

impl<'e> Auditor<'e> {
    /// Of a model's table. How the table has unique values in the keys of guards is learned, unless it is known.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn new(engine: &'e Engine) -> Result<Self, RuntimeError> {
        engine.learn_guard_form().await?;
        Ok(Auditor {
            engine,
            nothing: Attributes::new(),
            nobody: Caller::anonymous(),
            follows: true,
        })
    }

    /// The same where nobody follows the stream: copies that would follow are left alone.
    #[must_use]
    pub fn without_followers(mut self) -> Self {
        self.follows = false;
        self
    }

    pub(super) fn model(&self) -> &'e Model {
        self.engine.model()
    }

    pub(super) fn scope(&self, now: i64) -> Scope<'_> {
        Scope {
            setting: self.engine.setting(),
            now,
            args: &self.nothing,
            caller: &self.nobody,
            attributes: None,
            row: None,
            bound: &self.nothing,
        }
    }

    /// Looks at some items of the table, as of an instant in epoch milliseconds.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn look_at(&self, items: Vec<Item>, now: i64) -> Result<PageAudit, RuntimeError> {
        let (model, scope) = (self.model(), self.scope(now));
        let mut page = PageAudit {
            items: items.len() as u64,
            ..PageAudit::default()
        };
        let mut others: Others = items
            .iter()
            .map(|item| (key_in(model, item), Some(item.clone())))
            .collect();
        let seen: Vec<(Item, Seen<'_>)> = items
            .into_iter()
            .map(|item| {
                let seen = see_item(model, &item, scope);
                (item, seen)
            })
            .collect();
        let wanted: BTreeSet<Item> = seen.iter().flat_map(|(_, seen)| seen.relations.keys(model)).collect();
        let wanted: Vec<Item> = wanted.into_iter().filter(|key| !others.contains_key(key)).collect();
        self.get_others(&wanted, &mut others, &mut page.consumed).await?;
        let mut suspects = Vec::new();
        for (item, seen) in seen {
            page.rows += u64::from(matches!(kind_of(model, &item), Kind::Row(_)));
            let mut between = judge_relations(model, &item, &seen.relations, &others, scope);
            between.retain(|finding| self.is_meant(finding));
            let is_suspect = match between.is_empty() {
                true => {
                    let judged = self
                        .judge_versions((&item, &others), &seen.relations, scope, &mut page.consumed)
                        .await?;
                    judged.is_none_or(|found| !found.is_empty())
                }
                false => true,
            };
            if is_suspect {
                suspects.push(key_in(model, &item));
                continue;
            }
            if !seen.findings.is_empty() {
                page.judged.push(JudgedItem {
                    item,
                    others: Others::new(),
                    findings: seen.findings,
                });
            }
        }
        self.settle_all(suspects, now, &mut page).await?;
        Ok(page)
    }

    /// Looks at an item once more; nothing, where it is gone, changes each time, or nothing is wrong any more.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn look_again(&self, item: &Item, now: i64) -> Result<Option<JudgedItem>, RuntimeError> {
        let mut consumed = Consumed::default();
        match self.settle(&key_in(self.model(), item), now, &mut consumed).await? {
            Settled::So(judged) if !judged.findings.is_empty() => Ok(Some(judged)),
            Settled::So(_) | Settled::Gone | Settled::Changing => Ok(None),
        }
    }

    /// Reads again what seemed wrong. What a follower may be about to put right is waited for.
    async fn settle_all(&self, mut suspects: Vec<Item>, now: i64, page: &mut PageAudit) -> Result<(), RuntimeError> {
        for wait in 0..=FOLLOWER_WAITS_MAX {
            let mut behind = Vec::new();
            for key in suspects {
                match self.settle(&key, now, &mut page.consumed).await? {
                    Settled::Gone => {}
                    Settled::Changing => page.unsettled += 1,
                    Settled::So(judged) if judged.findings.is_empty() => {}
                    Settled::So(judged) => {
                        let may_follow = judged.findings.iter().any(|finding| finding.kind.may_be_behind());
                        match may_follow && wait < FOLLOWER_WAITS_MAX {
                            true => behind.push(key),
                            false => page.judged.push(judged),
                        }
                    }
                }
            }
            if behind.is_empty() {
                return Ok(());
            }
            tokio::time::sleep(FOLLOWER_WAIT).await;
            suspects = behind;
        }
        Ok(())
    }

    async fn settle(&self, key: &Item, now: i64, consumed: &mut Consumed) -> Result<Settled, RuntimeError> {
        let (model, scope) = (self.model(), self.scope(now));
        let mut keys = vec![key.clone()];
        for attempt in 0..READ_AGAIN_MAX {
            if attempt > READ_AGAIN_MAX / 2 {
                retry::retry_pause(1).await;
            }
            let mut others = self.get_together(&keys, consumed).await?;
            let Some(item) = others.remove(key).flatten() else {
                return Ok(Settled::Gone);
            };
            let Seen {
                mut findings,
                relations,
            } = see_item(model, &item, scope);
            let wanted = relations.keys(model);
            let mut missing: Vec<Item> = wanted.iter().filter(|other| !keys.contains(other)).cloned().collect();
            // An item may concern itself.
            missing.retain(|other| other != key);
            if !missing.is_empty() {
                keys = std::iter::once(key.clone()).chain(wanted).collect();
                keys.dedup();
                if keys.len() > TRANSACTION_ITEMS_MAX {
                    return Ok(Settled::Changing);
                }
                continue;
            }
            others.insert(key.clone(), Some(item.clone()));
            findings.extend(judge_relations(model, &item, &relations, &others, scope));
            findings.retain(|finding| self.is_meant(finding));
            match self
                .judge_versions((&item, &others), &relations, scope, consumed)
                .await?
            {
                Some(found) => findings.extend(found),
                // Its versions changed meanwhile.
                None => continue,
            }
            others.remove(key);
            return Ok(Settled::So(JudgedItem { item, others, findings }));
        }
        Ok(Settled::Changing)
    }

    /// What is under some keys, at nearly one moment.
    async fn get_others(
        &self,
        keys: &[Item],
        others: &mut Others,
        consumed: &mut Consumed,
    ) -> Result<(), RuntimeError> {
        if keys.is_empty() {
            return Ok(());
        }
        let (model, engine) = (self.model(), self.engine);
        let (found, units) = batch_get(engine.store(), engine.bounds(), &model.table.name, keys, false).await?;
        *consumed += units;
        others.extend(keys.iter().map(|key| (key.clone(), None)));
        others.extend(found.into_iter().map(|item| (key_in(model, &item), Some(item))));
        Ok(())
    }

    /// What is under some keys, at one moment.
    pub(super) async fn get_together(&self, keys: &[Item], consumed: &mut Consumed) -> Result<Others, RuntimeError> {
        let table = &self.model().table.name;
        let (store, bounds) = (self.engine.store(), self.engine.bounds());
        if let [key] = keys {
            let request = GetRequest {
                table: table.clone(),
                key: key.clone(),
                consistent: true,
                projection: Default::default(),
            };
            let answer = retry::with_retries(bounds, || store.get(&request)).await?;
            *consumed += answer.consumed;
            return Ok(Others::from([(key.clone(), answer.item)]));
        }
        let gets = keys.iter().map(|key| TransactGet {
            table: table.clone(),
            key: key.clone(),
            projection: Default::default(),
        });
        let request = TransactGetRequest { gets: gets.collect() };
        let mut attempt = 1;
        let answer = loop {
            match retry::retried_past_conflicts(bounds, || store.transact_get(&request)).await {
                // Writers that never pause are waited for longer than by one who answers a caller.
                Err(error) if error.is_conflict() && attempt < READ_AGAIN_MAX => {
                    retry::retry_pause(u32::try_from(attempt).unwrap_or(u32::MAX)).await;
                    attempt += 1;
                }
                answer => break answer?,
            }
        };
        *consumed += answer.consumed;
        Ok(keys.iter().cloned().zip(answer.items).collect())
    }

    fn is_meant(&self, finding: &Finding) -> bool {
        self.follows || !finding.kind.may_be_behind()
    }

    async fn judge_versions(
        &self,
        (item, others): (&Item, &Others),
        relations: &Relations<'_>,
        scope: Scope<'_>,
        consumed: &mut Consumed,
    ) -> Result<Option<Vec<Finding>>, RuntimeError> {
        match versions::concerns_versions(self.model(), item, relations, others) {
            true => versions::judge_versions(self, item, relations, scope, consumed).await,
            false => Ok(Some(Vec::new())),
        }
    }
}
