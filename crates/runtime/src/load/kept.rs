//! What a row is kept as, each item with what it stands for; and the rows that must not be beside it.

use singlet_item::limits::{ITEM_SIZE_BYTES_MAX, PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use singlet_item::{Item, Value, item_size_bytes};
use singlet_model::Model;
use singlet_model::evaluate::{evaluate_as, holds_condition};
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::Entity;

use super::misfit::{Misfit, MisfitKind};
use crate::by_key::primary_key;
use crate::error::RuntimeError;
use crate::row;
use crate::scope::{Attributes, Scope};
use crate::write::{GuardKind, guards_of_row, identity_place, key_in};

/// An item of a row.
#[derive(Clone, Debug)]
pub struct KeptItem {
    /// What it stands for.
    pub kind: KeptKind,
    /// Its primary key.
    pub key: Item,
    /// The item.
    pub item: Item,
}

/// What an item of a row stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptKind {
    /// The row itself.
    Own,
    /// A mirror, by its name.
    Mirror(String),
    /// A unique value, by its name.
    Unique(String),
    /// The identity that the versions of a row share.
    Identity,
}

/// Every item of a row, its own first: mirrors and guards follow.
///
/// # Errors
///
/// Where the row has no key, or an expression leaves the range of its type.
pub fn kept_items(
    model: &Model,
    entity: &Entity,
    row: &Attributes,
    scope: Scope<'_>,
) -> Result<Vec<KeptItem>, RuntimeError> {
    let kept = |kind, item: Item| KeptItem {
        kind,
        key: key_in(model, &item),
        item,
    };
    let mut all = vec![kept(KeptKind::Own, row::encode_own(model, entity, row, scope)?)];
    for (id, item) in row::encode_mirrors(model, entity, row, scope)? {
        all.push(kept(KeptKind::Mirror(model.catalog.name(id).to_owned()), item));
    }
    for (kind, item) in guards_of_row(model, entity, row, scope)? {
        let kind = match kind {
            GuardKind::Unique(name) => KeptKind::Unique(name),
            GuardKind::Identity => KeptKind::Identity,
        };
        all.push(kept(kind, item));
    }
    Ok(all)
}

/// An item that is beside a row, and what it is.
pub(crate) struct GivenItem {
    pub kind: GivenKind,
    /// The mirror's name, the guard's, or the entity's whose identity it is.
    pub name: String,
    pub item: Item,
}

/// What an item beside a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GivenKind {
    Mirror,
    Unique,
    Identity,
}

/// The mirrors and guards that are beside a row.
pub(crate) fn kept_beside(
    model: &Model,
    entity: &Entity,
    row: &Attributes,
    scope: Scope<'_>,
) -> Result<Vec<GivenItem>, RuntimeError> {
    let beside = kept_items(model, entity, row, scope)?.into_iter().filter_map(|one| {
        let (kind, name) = match one.kind {
            KeptKind::Own => return None,
            KeptKind::Mirror(name) => (GivenKind::Mirror, name),
            KeptKind::Unique(name) => (GivenKind::Unique, name),
            KeptKind::Identity => (GivenKind::Identity, entity.name.clone()),
        };
        let item = one.item;
        Some(GivenItem { kind, name, item })
    });
    Ok(beside.collect())
}

/// What of a row is larger than DynamoDB takes.
pub fn oversize_of(model: &Model, kept: &[KeptItem]) -> Option<Misfit> {
    for one in kept {
        let size = item_size_bytes(&one.item);
        if size > ITEM_SIZE_BYTES_MAX {
            let reason = format!("this takes {size} bytes, and an item holds {ITEM_SIZE_BYTES_MAX}");
            return Some(Misfit::new(MisfitKind::TooLarge, reason));
        }
        for (at, attribute) in model.table.key.iter().enumerate() {
            let most = if at == 0 {
                PARTITION_KEY_BYTES_MAX
            } else {
                SORT_KEY_BYTES_MAX
            };
            let length = match one.key.get(&attribute.name) {
                Some(Value::S(text)) => text.len(),
                Some(Value::B(bytes)) => bytes.len(),
                _ => 0,
            };
            if length > most {
                let reason = format!("`{}` takes {length} bytes, and this key holds {most}", attribute.name);
                return Some(Misfit::new(MisfitKind::TooLarge, reason));
            }
        }
    }
    None
}

/// The rows that must not be beside a row: the entity of each, and what is known of it.
pub(crate) fn excluded_rows<'m>(
    model: &'m Model,
    entity: &Entity,
    row: &Attributes,
    scope: Scope<'_>,
) -> Result<Vec<(&'m Entity, Attributes)>, RuntimeError> {
    let mut found = Vec::new();
    if let Some(excludes) = &entity.excludes {
        named_rows(model, excludes, scope.with_row(row), &mut found)?;
    }
    Ok(found)
}

fn named_rows<'m>(
    model: &'m Model,
    expr: &Expr,
    scope: Scope<'_>,
    found: &mut Vec<(&'m Entity, Attributes)>,
) -> Result<(), RuntimeError> {
    match &expr.kind {
        ExprKind::Entity { entity, key } => {
            let missing = || RuntimeError::Stored("an entity is not of this model".to_owned());
            let entity = model.entity(*entity).ok_or_else(missing)?;
            found.push((entity, key_values(entity, key, scope)?));
        }
        ExprKind::List(parts) => {
            for part in parts {
                named_rows(model, part, scope, found)?;
            }
        }
        ExprKind::Conditional(test, then, otherwise) => {
            let chosen = if holds_condition(test, &scope)? {
                then
            } else {
                otherwise
            };
            named_rows(model, chosen, scope, found)?;
        }
        _ => {
            let reason = "`excludes` names rows in a way that loading does not know";
            return Err(RuntimeError::Stored(reason.to_owned()));
        }
    }
    Ok(())
}

/// The values of a row's key variables.
pub(crate) fn key_values(
    entity: &Entity,
    key: &[(String, Expr)],
    scope: Scope<'_>,
) -> Result<Attributes, RuntimeError> {
    let mut known = Attributes::new();
    for (name, expr) in key {
        let ty = entity.attribute(name).map_or(&expr.ty, |attribute| &attribute.ty);
        known.extend(evaluate_as(expr, ty, &scope)?.map(|value| (name.clone(), value)));
    }
    Ok(known)
}

/// Where a row is, by what is known of it: its own key, or the guard of its identity where it has versions. None where a part
/// of its key is absent or cannot be one: then there is no such row.
pub(crate) fn place_of(model: &Model, entity: &Entity, known: &Attributes) -> Result<Option<Item>, RuntimeError> {
    if entity.history.is_some() {
        return identity_place(model, entity, known).map(Some);
    }
    match primary_key(entity, known) {
        Err(RuntimeError::Request(_)) => Ok(None),
        key => key,
    }
}
