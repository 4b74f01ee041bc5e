//! How large an entry of an index is expected to be.

use singlet_item::key::Part;
use singlet_model::Model;
use singlet_model::model::{Entity, IndexId, KeyPart, KeyTemplate, PartFunction, Projection};
use singlet_model::types::Type;

use crate::size::value_bytes_max;

/// The part of a row's bytes that its keys take.
const KEYS_SHARE_OF_ROW: f64 = 0.25;

/// The bytes of a row of so many where it stands in an index, or on the table.
pub(crate) fn entry_bytes_expected(model: &Model, entity: &Entity, index: Option<IndexId>, whole: f64) -> f64 {
    let Some((index, projection)) = index.and_then(|index| Some((index, &model.index(index)?.projection))) else {
        return whole;
    };
    let carried = whole * carried_share(entity, projection);
    let by_types = entry_bytes_usual(model, entity, index, projection);
    by_types.map_or(carried, |by_types| carried.min(by_types))
}

/// The bytes of an entry of a thin index, from the types of what it carries; none where something of it may be of any length.
fn entry_bytes_usual(model: &Model, entity: &Entity, index: IndexId, projection: &Projection) -> Option<f64> {
    let names = match projection {
        Projection::All => return None,
        Projection::Keys => &[][..],
        Projection::Include(names) => names.as_slice(),
    };
    let part_bytes = |part: &KeyPart| match part.function {
        Some(PartFunction::Day) => Some(10.0),
        Some(PartFunction::Month) => Some(7.0),
        Some(PartFunction::Year) => Some(4.0),
        Some(PartFunction::Geohash(precision)) => Some(f64::from(precision)),
        _ => value_bytes_usual(&part.ty),
    };
    let key_bytes = |key: &KeyTemplate| {
        let texts = key.template.parts().iter().map(|part| match part {
            Part::Text(text) => text.len() as f64,
            _ => 0.0,
        });
        let values = key.parts.iter().map(part_bytes).sum::<Option<f64>>()?;
        Some(key.attribute.len() as f64 + texts.sum::<f64>() + values)
    };
    let own = entity
        .key
        .first()
        .into_iter()
        .chain(entity.index_entry(index)?.key_choices().first());
    let keys = own
        .flat_map(|choice| &choice.keys)
        .map(key_bytes)
        .sum::<Option<f64>>()?;
    let carried = names
        .iter()
        .map(|name| match model.table.type_attribute.as_ref() == Some(name) {
            true => Some((name.len() + entity.name.len()) as f64),
            false => {
                let attribute = entity.attribute(name)?;
                Some(name.len() as f64 + value_bytes_usual(&attribute.ty)?)
            }
        });
    Some(keys + carried.sum::<Option<f64>>()?)
}

/// The bytes of a usual value of a type: of text halfway between its limits; none where nothing limits it to what keys have.
fn value_bytes_usual(ty: &Type) -> Option<f64> {
    match ty {
        Type::Text(limits) => {
            let most = limits.length.max.filter(|most| *most <= KEY_TEXT_LENGTH_MAX)?;
            Some((limits.length.min.unwrap_or(0) + most) as f64 / 2.0)
        }
        Type::Enum(words) => {
            let all: usize = words.members.iter().map(String::len).sum();
            Some(all as f64 / words.members.len().max(1) as f64)
        }
        Type::Int(_) | Type::Number(_) | Type::Version => Some(NUMBER_BYTES_USUAL),
        ty => value_bytes_max(ty)
            .map(|most| most as f64)
            .filter(|most| *most <= KEY_TEXT_LENGTH_MAX as f64),
    }
}

/// The longest text of which the middle between its limits is taken for usual.
const KEY_TEXT_LENGTH_MAX: u64 = 100;
/// The bytes of a usual number.
const NUMBER_BYTES_USUAL: f64 = 4.0;

/// The part of a row's bytes that an index entry carries: its keys take about a quarter.
pub fn carried_share(entity: &Entity, projection: &Projection) -> f64 {
    match projection {
        Projection::All => 1.0,
        Projection::Keys => KEYS_SHARE_OF_ROW,
        Projection::Include(names) => {
            let all = entity.attributes.len().max(1) as f64;
            (KEYS_SHARE_OF_ROW + names.len() as f64 / all).min(1.0)
        }
    }
}
