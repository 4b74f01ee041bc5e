//! Guards and mirrors without a row.
//!
//! A row tells the keys of what is beside it, but what is beside a row does not tell the key of the row. So the keys that rows
//! claim and those that are there are gathered as numbers of 8 bytes; where one that is there is not claimed, the table is
//! read once more to name it.

use std::collections::BTreeSet;
use std::hash::{Hash as _, Hasher as _};

use singlet_item::Item;
use singlet_model::Model;

use super::{AuditDepth, AuditOptions, RowAudit, RowMisfitKind, each_page};
use crate::digest::Fnv;
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::load::{entity_of_item, is_of_singlet, kept_beside};
use crate::row;
use crate::scope::Scope;
use crate::write::{GUARD_OWNER, key_in};

/// What is beside a row, as far as its own item tells.
enum Kind {
    Guard,
    Mirror,
}

pub(super) struct Strays {
    is_wanted: bool,
    /// Into how many parts the keys are divided, and which is looked at.
    parts: u64,
    part: u64,
    claimed: Vec<u64>,
    there: Vec<u64>,
}

impl Strays {
    pub(super) async fn for_table(engine: &Engine, options: &AuditOptions) -> Result<Self, RuntimeError> {
        let is_wanted = options.depth == AuditDepth::Whole;
        let items = match is_wanted {
            true => {
                engine
                    .store()
                    .describe_table(&engine.model().table.name)
                    .await?
                    .item_count
            }
            false => 0,
        };
        Ok(Strays {
            is_wanted,
            parts: items.div_ceil(options.claims_max.max(1) as u64).max(1),
            part: 0,
            claimed: Vec::new(),
            there: Vec::new(),
        })
    }

    /// Notes what is beside some row.
    pub(super) fn add_item(&mut self, model: &Model, item: &Item) {
        if self.is_wanted && kind_of(model, item).is_some() {
            let number = number_of(&key_in(model, item));
            if number % self.parts == self.part {
                self.there.push(number);
            }
        }
    }

    /// Notes what a row says to be beside it.
    pub(super) fn add_claim(&mut self, model: &Model, item: &Item) {
        if self.is_wanted {
            let number = number_of(&key_in(model, item));
            if number % self.parts == self.part {
                self.claimed.push(number);
            }
        }
    }

    /// Names what nobody claims, part after part.
    pub(super) async fn name_all(
        mut self,
        engine: &Engine,
        options: &AuditOptions,
        scope: Scope<'_>,
        audit: &mut RowAudit,
    ) -> Result<(), RuntimeError> {
        if !self.is_wanted {
            return Ok(());
        }
        loop {
            let unclaimed = self.unclaimed();
            if !unclaimed.is_empty() {
                name_part(engine, options, &unclaimed, audit).await?;
            }
            self.part += 1;
            if self.part >= self.parts {
                return Ok(());
            }
            self.gather(engine, options, scope).await?;
        }
    }

    /// What is there and is not claimed.
    fn unclaimed(&mut self) -> BTreeSet<u64> {
        self.claimed.sort_unstable();
        let unclaimed = self.there.iter().copied();
        unclaimed
            .filter(|number| self.claimed.binary_search(number).is_err())
            .collect()
    }

    /// Reads the table once more for the part that comes next.
    async fn gather(&mut self, engine: &Engine, options: &AuditOptions, scope: Scope<'_>) -> Result<(), RuntimeError> {
        self.claimed.clear();
        self.there.clear();
        let model = engine.model();
        each_page(engine, async |items| {
            for item in items {
                if row::has_expired(model, &item, options.now) {
                    continue;
                }
                self.add_item(model, &item);
                let entity = entity_of_item(model, &item).filter(|_| !is_of_singlet(model, &item));
                let Some(entity) = entity.filter(|entity| entity.mirror.is_none() && entity.role.is_none()) else {
                    continue;
                };
                // A row that cannot be read was told of in the first reading.
                let claimed = row::stored(entity, &item).and_then(|row| kept_beside(model, entity, &row, scope));
                for other in claimed.unwrap_or_default() {
                    self.add_claim(model, &other.item);
                }
            }
            Ok(())
        })
        .await
    }
}

async fn name_part(
    engine: &Engine,
    options: &AuditOptions,
    unclaimed: &BTreeSet<u64>,
    audit: &mut RowAudit,
) -> Result<(), RuntimeError> {
    let model = engine.model();
    each_page(engine, async |items| {
        for item in items {
            if row::has_expired(model, &item, options.now) {
                continue;
            }
            let key = key_in(model, &item);
            let Some(kind) = kind_of(model, &item).filter(|_| unclaimed.contains(&number_of(&key))) else {
                continue;
            };
            match kind {
                Kind::Guard => {
                    let reason = "no row has what this guard keeps: the value cannot be used again".to_owned();
                    audit.add(RowMisfitKind::StrayGuard, None, key, reason);
                }
                Kind::Mirror => {
                    let reason = "there is no row of which this is the mirror".to_owned();
                    audit.add(RowMisfitKind::StrayMirror, entity_of_item(model, &item), key, reason);
                }
            }
        }
        Ok(())
    })
    .await
}

/// Whether an item is beside a row, and as what.
fn kind_of(model: &Model, item: &Item) -> Option<Kind> {
    if is_of_singlet(model, item) {
        let owner = item.get(GUARD_OWNER)?.as_str()?;
        // The guard of an identity outlives the versions that expire.
        return (!outlives_its_rows(model, owner)).then_some(Kind::Guard);
    }
    let entity = entity_of_item(model, item)?;
    entity.mirror.is_some().then_some(Kind::Mirror)
}

/// Whether a guard may be there without a row: of an entity whose versions expire.
fn outlives_its_rows(model: &Model, owner: &str) -> bool {
    let name = owner.split(model.table.delimiter).next();
    let entity = name.and_then(|name| model.entity_named(name));
    entity.is_some_and(|entity| entity.history.is_some() && entity.expires.is_some())
}

fn number_of(key: &Item) -> u64 {
    let mut hash = Fnv::default();
    key.hash(&mut hash);
    hash.finish()
}
