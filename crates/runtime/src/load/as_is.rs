//! Rows of another program, as they are: nothing is filled in, and what does not fit is counted.
//!
//! A row is taken wherever a key can be made of it and no other row has that key; nothing that is there is overwritten.

use std::collections::BTreeMap;

use futures_util::{StreamExt, stream};
use singlet_item::{Item, Value};
use singlet_model::model::Entity;
use singlet_model::types::Type;

use super::fill::{entity_and_fields, given_row, loadable_entity, value_of};
use super::image::{image_of_line, put_back};
use super::kept::{KeptItem, KeptKind, kept_items, oversize_of};
use super::lines::{Line, Lines, RowSource};
use super::misfit::{CountedMistake, LoadError, Misfit, MisfitKind};
use super::send::{Ended, LoadAction, Means, action_refusal, send_actions};
use super::source::item_at;
use super::{LoadOptions, LoadProgress, LoadScope, LoadedRows, Loading};
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::scope::Attributes;
use crate::values::{self, Members, Tree};

/// Loads rows as they are.
///
/// # Errors
///
/// Where the file or the store fails.
pub(super) async fn load_as_is(
    engine: &Engine,
    rows: &dyn RowSource,
    options: &LoadOptions,
    progress: &mut (dyn FnMut(LoadProgress) + Send),
) -> Result<LoadedRows, LoadError> {
    let names = LoadScope::new();
    let loading = Loading {
        engine,
        scope: names.scope(engine, options.now),
        options,
    };
    let mut loaded = LoadedRows::default();
    let mut counts: BTreeMap<MisfitKind, CountedMistake> = BTreeMap::new();
    let taking = Lines::open(rows)?.map(|line| take_line(&loading, line));
    let mut taking = stream::iter(taking).buffered(options.bounds.rows_at_once_max.max(1));
    while let Some(taken) = taking.next().await {
        let taken = taken?;
        match taken.ended {
            TakenOutcome::Written(items) => {
                loaded.rows += 1;
                loaded.items += items;
            }
            TakenOutcome::There => loaded.there += 1,
            TakenOutcome::LeftOut => loaded.left_out += 1,
        }
        for misfit in taken.misfits {
            count_misfit(&mut counts, misfit.in_line(taken.line), options.bounds.misfits_max);
        }
        progress(LoadProgress {
            writing: true,
            bytes: taken.bytes,
            rows: loaded.rows,
        });
    }
    loaded.misfits = counts.into_values().collect();
    Ok(loaded)
}

fn count_misfit(counts: &mut BTreeMap<MisfitKind, CountedMistake>, misfit: Misfit, shown_max: usize) {
    let counted = counts.entry(misfit.kind).or_insert_with(|| CountedMistake {
        kind: misfit.kind,
        count: 0,
        first: Vec::new(),
    });
    counted.count += 1;
    if counted.first.len() < shown_max {
        counted.first.push(misfit);
    }
}

struct TakenLine {
    line: u64,
    bytes: u64,
    ended: TakenOutcome,
    misfits: Vec<Misfit>,
}

pub(super) enum TakenOutcome {
    Written(u64),
    There,
    LeftOut,
}

async fn take_line(loading: &Loading<'_>, line: std::io::Result<Line>) -> Result<TakenLine, LoadError> {
    let line = line?;
    let (number, bytes) = (line.number, line.bytes);
    let ended = |ended, misfits| {
        Ok(TakenLine {
            line: number,
            bytes,
            ended,
            misfits,
        })
    };
    let text = match line.text {
        Ok(text) => text,
        Err(misfit) => return ended(TakenOutcome::LeftOut, vec![misfit]),
    };
    if let Some(image) = image_of_line(&text) {
        return match image {
            Err(misfit) => ended(TakenOutcome::LeftOut, vec![misfit]),
            Ok(image) => {
                let (taken, misfits) = put_back(loading, &image).await?;
                ended(taken, misfits)
            }
        };
    }
    let model = loading.model();
    let known = entity_and_fields(&text);
    let known = known.and_then(|(name, fields)| Ok((loadable_entity(model, &name)?, fields)));
    let (entity, fields) = match known {
        Ok(known) => known,
        Err(misfit) => return ended(TakenOutcome::LeftOut, vec![misfit]),
    };
    let mut misfits = given_row(model, &text, loading.scope).err().unwrap_or_default();
    let (row, others) = bare_row(loading, entity, &fields);
    let kept = match kept_items(model, entity, &row, loading.scope) {
        Ok(kept) => kept,
        Err(error) => {
            misfits.push(Misfit::new(MisfitKind::NoKey, error.to_string()).of(&entity.name));
            return ended(TakenOutcome::LeftOut, misfits);
        }
    };
    let kept = with_others(kept, &others);
    if let Some(misfit) = oversize_of(model, &kept) {
        misfits.push(misfit.of(&entity.name));
        return ended(TakenOutcome::LeftOut, misfits);
    }
    let taken = put_kept(loading, entity, kept, &mut misfits).await?;
    ended(taken, misfits)
}

/// The attributes that a line states, as they are; and what the entity does not have.
fn bare_row(loading: &Loading<'_>, entity: &Entity, fields: &Members<'_>) -> (Attributes, Item) {
    let (mut row, mut others) = (Attributes::new(), Item::new());
    for (name, tree) in fields.iter().filter(|(_, tree)| !tree.is_null()) {
        let attribute = entity.attribute(name);
        if attribute.is_some_and(|attribute| attribute.is.is_some() || attribute.alias.is_some()) {
            continue;
        }
        let typed = attribute.and_then(|attribute| value_of(tree, &attribute.ty, loading.scope).ok());
        let value = typed.map(|(value, _)| value).or_else(|| free_value(tree));
        match (attribute, value) {
            (Some(_), Some(value)) => drop(row.insert(name.to_string(), value)),
            (None, Some(value)) => drop(others.insert(name.to_string(), value)),
            (_, None) => {}
        }
    }
    (row, others)
}

fn free_value(tree: &Tree<'_>) -> Option<Value> {
    values::from_tree(tree, &Type::Json).ok()
}

/// What the entity does not have stays in the row's item, where nothing of the model's own has that name.
fn with_others(mut kept: Vec<KeptItem>, others: &Item) -> Vec<KeptItem> {
    for one in kept.iter_mut().filter(|one| one.kind == KeptKind::Own) {
        for (name, value) in others {
            one.item.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    kept
}

/// Puts a row; a unique value that another row has is that row's.
async fn put_kept(
    loading: &Loading<'_>,
    entity: &Entity,
    mut kept: Vec<KeptItem>,
    misfits: &mut Vec<Misfit>,
) -> Result<TakenOutcome, RuntimeError> {
    loop {
        let actions: Vec<LoadAction> = kept.iter().map(|one| LoadAction::keep(loading, entity, one)).collect();
        let failed = match send_actions(loading, &actions).await? {
            Ended::Done => return Ok(TakenOutcome::Written(kept.len() as u64)),
            Ended::Failed(failed) => failed,
        };
        let failed: Vec<usize> = failed.into_iter().map(|(at, _)| at).collect();
        let means = |at: &usize| actions.get(*at).map(LoadAction::means);
        let own = failed.iter().find(|at| means(at) == Some(&Means::Kept(KeptKind::Own)));
        if let Some(one) = own.and_then(|at| kept.get(*at)) {
            if item_at(loading, one.key.clone()).await?.as_ref() == Some(&one.item) {
                return Ok(TakenOutcome::There);
            }
            misfits.extend(action_refusal(&Means::Kept(KeptKind::Own)).map(|misfit| misfit.of(&entity.name)));
            return Ok(TakenOutcome::LeftOut);
        }
        misfits.extend(
            failed
                .iter()
                .filter_map(means)
                .filter_map(action_refusal)
                .map(|misfit| misfit.of(&entity.name)),
        );
        let before = kept.len();
        let mut at = 0;
        kept.retain(|_| {
            at += 1;
            !failed.contains(&(at - 1))
        });
        // Each turn has one item less, so that it ends.
        if kept.len() == before {
            return Ok(TakenOutcome::LeftOut);
        }
    }
}
