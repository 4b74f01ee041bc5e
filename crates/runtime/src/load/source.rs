//! Rows of the table that a loaded row depends on: what its copies are taken from, and the version that is open.

use singlet_item::{Item, Value};
use singlet_model::expression::ExprKind;
use singlet_model::model::{Attribute, Copy, Entity, Kept};
use singlet_store::{Condition, GetRequest, KeyRange, Path, QueryRequest};

use super::fill::attribute_pointer;
use super::kept::key_values;
use super::misfit::{Misfit, MisfitKind};
use super::{LoadOptions, Loading};
use crate::by_key::primary_key;
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::scope::{Attributes, Scope};
use crate::write::key_in;
use crate::{range_rows, retry, row, values};

/// A condition on another item than those of the row.
pub(super) struct Pin {
    pub key: Item,
    pub condition: Condition,
}

/// Takes the copies of a row from their sources. A copy that the line states must say what its source says, unless it is a
/// snapshot on purpose: then the source may have changed, or be gone.
pub(super) async fn take_copies(
    loading: &Loading<'_>,
    entity: &Entity,
    row: &mut Attributes,
) -> Result<Result<Vec<Pin>, Misfit>, RuntimeError> {
    let mut pins = Vec::new();
    for attribute in &entity.attributes {
        let Some(copy) = &attribute.copy else { continue };
        let is_snapshot = matches!(copy.kept, Kept::Frozen | Kept::Unsaid);
        if is_snapshot && row.contains_key(&attribute.name) {
            continue;
        }
        // Who refers to no row has nothing to copy.
        if attribute.optional && !row.contains_key(&attribute.name) && refers_to_none(loading, copy, row)? {
            continue;
        }
        let Some((source, item)) = source_of_copy(loading, copy, row).await? else {
            // A source that goes leaves such copies behind.
            if copy.kept == Kept::Stream && row.contains_key(&attribute.name) {
                continue;
            }
            let name = loading.model().catalog.name(copy.entity);
            let reason = format!("there is no `{name}` to copy this from");
            return Ok(Err(
                Misfit::new(MisfitKind::Source, reason).at(attribute_pointer(&attribute.name))
            ));
        };
        let value = source.get(&copy.attribute);
        if let Some(stated) = row.get(&attribute.name).filter(|stated| Some(*stated) != value) {
            return Ok(Err(unlike_source(loading, attribute, copy, stated, value)));
        }
        row.extend(value.map(|value| (attribute.name.clone(), value.clone())));
        if !is_snapshot {
            pins.extend(pin(loading, copy, &item));
        }
    }
    Ok(Ok(pins))
}

fn unlike_source(
    loading: &Loading<'_>,
    attribute: &Attribute,
    copy: &Copy,
    stated: &Value,
    value: Option<&Value>,
) -> Misfit {
    let name = loading.model().catalog.name(copy.entity);
    let says = value.map_or_else(|| "absent".to_owned(), values::json_text::json_of);
    let stated = values::json_text::json_of(stated);
    let reason = format!(
        "this copies `{}` of `{name}`, which is {says}, not {stated}",
        copy.attribute
    );
    Misfit::new(MisfitKind::Source, reason).at(attribute_pointer(&attribute.name))
}

/// The source must still say the same when the row is written.
fn pin(loading: &Loading<'_>, copy: &Copy, item: &Item) -> Option<Pin> {
    let source = loading.model().entity(copy.entity)?;
    let attribute = source.attribute(&copy.attribute)?;
    let name = source.name_in_item(attribute)?;
    let path = Path::attribute(name);
    let key = key_in(loading.model(), item);
    if key.contains_key(name) {
        return None;
    }
    let condition = match item.get(name) {
        Some(value) => Condition::equal(path, value.clone()),
        None => Condition::not_exists(path),
    };
    Some(Pin { key, condition })
}

/// The row that a copy is taken from, as it is now.
pub(crate) async fn source_now(
    engine: &Engine,
    copy: &Copy,
    row: &Attributes,
    scope: Scope<'_>,
) -> Result<Option<Attributes>, RuntimeError> {
    let options = LoadOptions::at(scope.now);
    let loading = Loading {
        engine,
        scope,
        options: &options,
    };
    Ok(source_of_copy(&loading, copy, row).await?.map(|(row, _)| row))
}

/// The row that a copy is taken from, as it is now, and its item.
/// Whether a row leaves out what would name the source of a copy.
fn refers_to_none(loading: &Loading<'_>, copy: &Copy, row: &Attributes) -> Result<bool, RuntimeError> {
    let ExprKind::Entity { entity, key } = &copy.source.kind else {
        return Ok(false);
    };
    let Some(source) = loading.model().entity(*entity) else {
        return Ok(false);
    };
    Ok(key_values(source, key, loading.scope.with_row(row))?.len() < key.len())
}

async fn source_of_copy(
    loading: &Loading<'_>,
    copy: &Copy,
    row: &Attributes,
) -> Result<Option<(Attributes, Item)>, RuntimeError> {
    let ExprKind::Entity { entity, key } = &copy.source.kind else {
        return Err(RuntimeError::Stored("a copy does not name its source".to_owned()));
    };
    let missing = || RuntimeError::Stored("an entity is not of this model".to_owned());
    let source = loading.model().entity(*entity).ok_or_else(missing)?;
    let known = key_values(source, key, loading.scope.with_row(row))?;
    let item = match source.history {
        Some(_) => open_version(loading, source, &known).await?,
        None => stored_item(loading, source, &known).await?,
    };
    let Some(item) = item.filter(|item| range_rows::is_row_of(loading.model(), source, item)) else {
        return Ok(None);
    };
    let row = row::decode_live(loading.model(), source, &item, loading.scope)?;
    let row = row.filter(|row| !is_deleted(source, row));
    Ok(row.map(|row| (row, item)))
}

fn is_deleted(entity: &Entity, row: &Attributes) -> bool {
    let tombstone = entity.history.as_ref().and_then(|history| history.tombstone.as_ref());
    tombstone.and_then(|name| row.get(name)) == Some(&Value::Bool(true))
}

async fn stored_item(loading: &Loading<'_>, entity: &Entity, known: &Attributes) -> Result<Option<Item>, RuntimeError> {
    let key = match primary_key(entity, known) {
        // What no key can hold, no row has.
        Err(RuntimeError::Request(_)) | Ok(None) => return Ok(None),
        Err(error) => return Err(error),
        Ok(Some(key)) => key,
    };
    item_at(loading, key).await
}

/// The item under a key, strongly.
pub(super) async fn item_at(loading: &Loading<'_>, key: Item) -> Result<Option<Item>, RuntimeError> {
    let request = GetRequest {
        table: loading.model().table.name.clone(),
        key,
        consistent: true,
        projection: Default::default(),
    };
    Ok(
        retry::with_retries(loading.engine.bounds(), || loading.store().get(&request))
            .await?
            .item,
    )
}

/// The version that nothing followed yet, a tombstone included.
pub(super) async fn open_version(
    loading: &Loading<'_>,
    entity: &Entity,
    known: &Attributes,
) -> Result<Option<Item>, RuntimeError> {
    let model = loading.model();
    let Some(history) = &entity.history else {
        return Ok(None);
    };
    let variables = model
        .catalog
        .names(entity.id)
        .map_or(&[][..], |names| &names.key_variables);
    let identity: Vec<(&String, &Value)> = variables
        .iter()
        .filter_map(|name| Some((name, known.get(name)?)))
        .collect();
    let partition = model.table.key.first().map(|key| key.name.as_str()).unwrap_or_default();
    let template = entity.key_templates().find(|key| key.attribute == partition);
    let value = match template {
        Some(template) => row::encode_key(entity, template, &|path| row::at_path(known, path))?,
        None => None,
    };
    let value = value.ok_or_else(|| RuntimeError::no_key(entity))?;
    let mut request = QueryRequest::new(model.table.name.clone(), KeyRange::partition(partition, value));
    request.consistent = true;
    loop {
        let page = retry::with_retries(loading.engine.bounds(), || loading.store().query(&request)).await?;
        for item in page.items {
            if !range_rows::is_row_of(model, entity, &item) {
                continue;
            }
            let row = row::decode_as_stored(entity, &item)?;
            let same = identity.iter().all(|(name, value)| row.get(*name) == Some(*value));
            if same && row.contains_key(&history.at) && !row.contains_key(&history.until) {
                return Ok(Some(item));
            }
        }
        // Only a page without a last key is the end of the partition.
        request.start = page.last_key;
        if request.start.is_none() {
            return Ok(None);
        }
    }
}
