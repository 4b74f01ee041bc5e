//! Whether the rows of a table are those that a model would have written.

use std::collections::BTreeSet;

use singlet_item::{Item, Value};
use singlet_model::Model;
use singlet_model::expression::ExprKind;
use singlet_model::model::{Entity, Stored};
use singlet_store::ScanRequest;

use crate::by_key::batch_get;
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::load::{GivenItem, entity_of_item, is_of_singlet, kept_beside};
use crate::scope::{Attributes, Caller, Scope};
use crate::write::key_in;
use crate::{retry, row, values};

/// How many rows that do not fit are shown.
const MISFITS_SHOWN_MAX: usize = 5;

/// A row that a model would not have written so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowMisfit {
    /// Its entity.
    pub entity: String,
    /// Its primary key, as JSON.
    pub key: String,
    /// What does not fit.
    pub reason: String,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub(super) struct Fit {
    /// Rows that were looked at.
    pub rows: u64,
    /// Rows that do not fit.
    pub misfits: u64,
    /// The first of them.
    pub first: Vec<RowMisfit>,
}

/// Looks at every row. Rows of kinds that the model does not have are nobody's business here, and expired ones are absent.
pub(super) async fn rows_fit(engine: &Engine, now: i64) -> Result<Fit, RuntimeError> {
    let model = engine.model();
    let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
    let scope = Scope {
        setting: engine.setting(),
        now,
        args: &nothing,
        caller: &nobody,
        attributes: None,
        row: None,
        bound: &nothing,
    };
    let mut fit = Fit::default();
    let mut request = ScanRequest {
        table: model.table.name.clone(),
        consistent: true,
        ..ScanRequest::default()
    };
    loop {
        let page = retry::retried(engine.bounds(), || engine.store().scan(&request)).await?;
        let mut beside = Vec::new();
        for item in page.items {
            if is_of_singlet(model, &item) || row::has_expired(model, &item, now) {
                continue;
            }
            let Some(entity) = entity_of_item(model, &item) else {
                continue;
            };
            // Mirrors are looked at with their sources, and records end by themselves.
            if entity.mirror.is_some() || entity.role.is_some() {
                continue;
            }
            fit.rows += 1;
            match look_at_row((model, entity), &item, scope) {
                Ok(items) => beside.extend(items.into_iter().map(|other| (entity, key_in(model, &item), other))),
                Err(reason) => fit.add(model, entity, &item, reason),
            }
        }
        look_beside(engine, &mut fit, beside).await?;
        // Only a page without a last key is the end of the table.
        request.start = page.last_key;
        if request.start.is_none() {
            return Ok(fit);
        }
    }
}

impl Fit {
    fn add(&mut self, model: &Model, entity: &Entity, item: &Item, reason: String) {
        self.misfits += 1;
        if self.first.len() < MISFITS_SHOWN_MAX {
            let key = Value::M(key_in(model, item));
            self.first.push(RowMisfit {
                entity: entity.name.clone(),
                key: values::json_text::of(&key),
                reason,
            });
        }
    }
}

/// What is wrong with a row by itself, or the items that must be beside it.
fn look_at_row((model, entity): (&Model, &Entity), item: &Item, scope: Scope<'_>) -> Result<Vec<GivenItem>, String> {
    let row = row::stored(entity, item).map_err(|error| error.to_string())?;
    for attribute in entity.attributes.iter().filter(|attribute| attribute.alias.is_none()) {
        match row.get(&attribute.name) {
            Some(value) => {
                let checked = values::checked(value, &attribute.ty);
                checked.map_err(|invalid| format!("`{}`: {invalid}", attribute.name))?;
            }
            None if !attribute.optional => return Err(format!("`{}` is missing", attribute.name)),
            None => {}
        }
    }
    let own = row::encode_own(model, entity, &row, scope).map_err(|error| error.to_string())?;
    let differs = known_names(model, entity)
        .into_iter()
        .find(|name| item.get(*name) != own.get(*name));
    if let Some(name) = differs {
        let shown = |item: &Item| {
            item.get(name)
                .map_or_else(|| "absent".to_owned(), values::json_text::of)
        };
        return Err(format!("`{name}` is {}, and would be {}", shown(item), shown(&own)));
    }
    kept_beside(model, entity, &row, scope).map_err(|error| error.to_string())
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
    // A row ends as the setting said when it was written.
    let by_setting = entity.expires.as_ref();
    let by_setting = by_setting.is_some_and(|expr| expr.any(|part| matches!(part.kind, ExprKind::Setting(_))));
    names.extend(model.table.ttl.as_deref().filter(|_| !by_setting));
    names
}

/// Whether mirrors and guards are there.
async fn look_beside(
    engine: &Engine,
    fit: &mut Fit,
    beside: Vec<(&Entity, Item, GivenItem)>,
) -> Result<(), RuntimeError> {
    let model = engine.model();
    let keys: BTreeSet<Item> = beside.iter().map(|(_, _, other)| key_in(model, &other.item)).collect();
    let keys: Vec<Item> = keys.into_iter().collect();
    if keys.is_empty() {
        return Ok(());
    }
    let (items, _) = batch_get(engine.store(), engine.bounds(), &model.table.name, &keys, true).await?;
    let there: std::collections::BTreeMap<Item, Item> =
        items.into_iter().map(|item| (key_in(model, &item), item)).collect();
    for (entity, key, other) in beside {
        let found = there.get(&key_in(model, &other.item));
        let same = |found: &Item| other.item.iter().all(|(name, value)| found.get(name) == Some(value));
        if !found.is_some_and(same) {
            fit.add(
                model,
                entity,
                &key,
                format!("{} is not beside it as it should be", other.what),
            );
        }
    }
    Ok(())
}
