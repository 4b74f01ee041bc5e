//! The rows of a file that was looked at, into the table.
//!
//! A copy is taken from its source in the table, so sources are written first: entities have ranks, and the file is read once for
//! each. Where an entity copies from itself, its rows are read as long as that brings another one into the table.

use std::collections::BTreeMap;

use futures_util::{StreamExt, stream};
use singlet_model::Model;
use singlet_model::types::EntityId;

use super::fill::{entity_and_fields, given_row};
use super::lines::{Line, Lines, RowSource};
use super::misfit::{LoadError, Misfit, MisfitKind};
use super::send::{SentRow, send_row};
use super::{LoadOptions, LoadProgress, LoadScope, LoadedRows, Loading};
use crate::engine::Engine;

/// Writes the rows.
///
/// # Errors
///
/// The line at which the table refused a row, or the file or the store fails.
pub(super) async fn write_rows(
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
    let ranks = Ranks::of(engine.model());
    let mut loaded = LoadedRows::default();
    for rank in 0..=ranks.last {
        let mut is_first = true;
        loop {
            let turn = write_rank(&loading, rows, (&ranks, rank), &mut loaded, progress).await?;
            // In later turns, rows that are there are those of the turns before.
            loaded.there += if is_first { turn.there } else { 0 };
            is_first = false;
            match turn.waiting {
                None => break,
                Some(_) if turn.written > 0 => {}
                Some(misfit) => return Err(refused(misfit, &loaded)),
            }
        }
    }
    Ok(loaded)
}

/// What one reading of the file for one rank did.
#[derive(Default)]
struct RankTurn {
    written: u64,
    there: u64,
    /// The first row whose source is not there yet.
    waiting: Option<Misfit>,
}

async fn write_rank(
    loading: &Loading<'_>,
    rows: &dyn RowSource,
    (ranks, rank): (&Ranks, u32),
    loaded: &mut LoadedRows,
    progress: &mut (dyn FnMut(LoadProgress) + Send),
) -> Result<RankTurn, LoadError> {
    let mut turn = RankTurn::default();
    let sending = Lines::open(rows)?.map(|line| write_line(loading, (ranks, rank), line));
    // In the order of the file: of several rows that are refused, the first is named.
    let mut sending = stream::iter(sending).buffered(loading.options.bounds.rows_at_once_max.max(1));
    while let Some(sent) = sending.next().await {
        let (line, bytes, sent) = sent?;
        match sent {
            None => {}
            Some(SentRow::Written(items)) => {
                turn.written += 1;
                loaded.rows += 1;
                loaded.items += items;
            }
            Some(SentRow::There) => turn.there += 1,
            Some(SentRow::Refused(misfit)) => {
                let misfit = misfit.in_line(line);
                let waits = misfit.kind == MisfitKind::Source && ranks.copies_itself(misfit.entity.as_deref());
                match waits {
                    true => turn.waiting = turn.waiting.or(Some(misfit)),
                    false => return Err(refused(misfit, loaded)),
                }
            }
        }
        progress(LoadProgress {
            writing: true,
            bytes,
            rows: loaded.rows,
        });
    }
    Ok(turn)
}

fn refused(misfit: Misfit, loaded: &LoadedRows) -> LoadError {
    LoadError::Table {
        misfit: Box::new(misfit),
        rows: loaded.rows,
    }
}

/// Writes the row of a line, if its turn has come; with its number and where it ends.
async fn write_line(
    loading: &Loading<'_>,
    (ranks, rank): (&Ranks, u32),
    line: std::io::Result<Line>,
) -> Result<(u64, u64, Option<SentRow>), LoadError> {
    let line = line?;
    let changed = |misfits: Vec<Misfit>| match misfits.into_iter().next() {
        Some(misfit) => LoadError::file(misfit.in_line(line.number)),
        None => LoadError::file(Misfit::new(MisfitKind::Line, "this is no row").in_line(line.number)),
    };
    let text = line.text.as_ref().map_err(|misfit| changed(vec![misfit.clone()]))?;
    if ranks.last > 0 {
        let (name, _) = entity_and_fields(text).map_err(|misfit| changed(vec![misfit]))?;
        if ranks.of_entity(&name) != rank {
            return Ok((line.number, line.bytes, None));
        }
    }
    let given = given_row(loading.model(), text, loading.scope).map_err(changed)?;
    let sent = match send_row(loading, &given).await? {
        SentRow::Refused(misfit) => SentRow::Refused(misfit.of(&given.entity.name)),
        sent => sent,
    };
    Ok((line.number, line.bytes, Some(sent)))
}

/// In which order entities are written: after those from which they copy.
struct Ranks {
    by_name: BTreeMap<String, (u32, bool)>,
    last: u32,
}

impl Ranks {
    fn of(model: &Model) -> Self {
        let sources = |id: EntityId| -> Vec<EntityId> {
            let attributes = model.entity(id).map_or(&[][..], |entity| &entity.attributes);
            let copies = attributes.iter().filter_map(|attribute| attribute.copy.as_ref());
            copies.map(|copy| copy.entity).collect()
        };
        let mut ranks: Vec<u32> = vec![0; model.entities.len()];
        // As many turns as there are entities give every rank, unless some copy from one another: those share the last.
        for _ in &model.entities {
            for entity in &model.entities {
                let before = sources(entity.id).into_iter().filter(|source| *source != entity.id);
                let least = before.filter_map(|source| ranks.get(source.0 as usize)).max();
                let least = least.map_or(0, |rank| rank + 1).min(model.entities.len() as u32);
                if let Some(rank) = ranks.get_mut(entity.id.0 as usize) {
                    *rank = least;
                }
            }
        }
        let by_name = model.entities.iter().zip(&ranks).map(|(entity, rank)| {
            let in_circle = sources(entity.id).contains(&entity.id) || *rank as usize == model.entities.len();
            (entity.name.clone(), (*rank, in_circle))
        });
        Ranks {
            by_name: by_name.collect(),
            last: ranks.iter().copied().max().unwrap_or(0),
        }
    }

    fn of_entity(&self, name: &str) -> u32 {
        self.by_name.get(name).map_or(0, |(rank, _)| *rank)
    }

    /// Whether rows of an entity copy from rows of the same turn.
    fn copies_itself(&self, name: Option<&str>) -> bool {
        let known = name.and_then(|name| self.by_name.get(name));
        known.is_some_and(|(_, in_circle)| *in_circle)
    }
}
