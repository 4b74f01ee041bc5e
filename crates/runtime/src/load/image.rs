//! Lines that say what an item was before somebody changed it, and what it became: `{"$image": {"before": …, "after": …}}`, each
//! in DynamoDB's JSON or null. The item is put back as it was where it still is what it became.

use serde::Deserialize;
use singlet_item::Item;
use singlet_store::{Condition, DeleteRequest, Path, PutRequest};

use super::Loading;
use super::as_is::TakenOutcome;
use super::misfit::{Misfit, MisfitKind};
use super::source::item_at;
use crate::error::RuntimeError;
use crate::retry;
use crate::write::key_in;

/// How such a line begins.
const BEGINNING: &str = "{\"$image\"";

/// What an item was, and what it became.
#[derive(Debug, Deserialize)]
pub(super) struct ItemImage {
    before: Option<Item>,
    after: Option<Item>,
}

#[derive(Deserialize)]
struct WrittenImageLine {
    #[serde(rename = "$image")]
    image: ItemImage,
}

/// The image of a line, where it is such a line.
pub(super) fn image_of_line(text: &str) -> Option<Result<ItemImage, Misfit>> {
    text.trim_start().starts_with(BEGINNING).then(|| {
        let read: Result<WrittenImageLine, _> = serde_json::from_str(text);
        read.map(|line| line.image)
            .map_err(|error| Misfit::new(MisfitKind::Line, format!("this is no image of an item: {error}")))
    })
}

/// Puts an item back as it was, unless somebody changed it since.
pub(super) async fn put_back(
    loading: &Loading<'_>,
    image: &ItemImage,
) -> Result<(TakenOutcome, Vec<Misfit>), RuntimeError> {
    let model = loading.model();
    let Some(known) = image.before.as_ref().or(image.after.as_ref()) else {
        return Ok((TakenOutcome::There, Vec::new()));
    };
    let key = key_in(model, known);
    let other = |item: &Item| key_in(model, item) != key;
    if key.len() < model.table.key.len() || [&image.before, &image.after].into_iter().flatten().any(other) {
        let misfit = Misfit::new(MisfitKind::NoKey, "the image has no key of this table, or two");
        return Ok((TakenOutcome::LeftOut, vec![misfit]));
    }
    let there = item_at(loading, key.clone()).await?;
    if there == image.before {
        return Ok((TakenOutcome::There, Vec::new()));
    }
    let changed = || {
        let misfit = Misfit::new(MisfitKind::SameKey, "the item was changed since, and stays as it is");
        (TakenOutcome::LeftOut, vec![misfit])
    };
    if there != image.after {
        return Ok(changed());
    }
    let partition = model.table.key.first().map(|key| key.name.as_str()).unwrap_or_default();
    let condition = match &there {
        None => Condition::not_exists(Path::attribute(partition)),
        Some(item) => {
            let values = item.iter();
            Condition::And(
                values
                    .map(|(name, value)| Condition::equal(Path::attribute(name), value.clone()))
                    .collect(),
            )
        }
    };
    let (store, bounds) = (loading.store(), loading.engine.bounds());
    let sent = match &image.before {
        Some(item) => {
            let request = PutRequest {
                table: model.table.name.clone(),
                item: item.clone(),
                condition: Some(condition),
                return_old: false,
            };
            retry::retried_past_conflicts(bounds, || store.put(&request)).await
        }
        None => {
            let request = DeleteRequest {
                table: model.table.name.clone(),
                key,
                condition: Some(condition),
                return_old: false,
            };
            retry::retried_past_conflicts(bounds, || store.delete(&request)).await
        }
    };
    match sent {
        Ok(_) => Ok((TakenOutcome::Written(1), Vec::new())),
        Err(error) if error.is_condition_failed() => Ok(changed()),
        Err(error) => Err(error.into()),
    }
}
