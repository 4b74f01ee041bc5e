//! The least units for which the rows of an answer can be read at all.
//!
//! It shares no code with the planner, and looks at no key condition: whoever answers reads the rows that are meant, each from the table, from an index that has
//! it, or from a mirror. Rows of one partition come by one request, which reads what lies between the first and the last of them; rows of
//! several selections too, where they lie in one. A selection without rows takes a request, unless one for others would have shown them.

use std::collections::{BTreeMap, BTreeSet};

use singlet_item::{Item, item_size_bytes};
use singlet_model::Model;
use singlet_model::expression::Expr;
use singlet_model::model::{Entity, Projection, Read, SelectionKind, Stored};
use singlet_model::types::EntityId;
use singlet_runtime::load::entity_of_item;
use singlet_runtime::{Attributes, Bounds, RuntimeError, Scope, load};

use super::run::shown_attributes;
use super::ways::{Place, StoredRow, Table, read_blocks};
use crate::answer::{Selected, meant_read};
use crate::bench::{Bench, Case, bench_scope};
use crate::writes::dump;

/// Whose items are those that the engine keeps for itself.
const OF_NOBODY: EntityId = EntityId(u32::MAX);

/// What reading rows takes at least.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeastAnswer {
    /// In half units.
    pub half_units: u64,
    /// From where, in words.
    pub from: String,
}

/// What an answer takes at least; nothing where it is refused, or does not come from keys.
///
/// # Errors
///
/// Where the store fails, or a row has no key.
pub async fn least_answer(bench: &Bench, case: &Case) -> Result<Option<LeastAnswer>, RuntimeError> {
    let engine = bench.engine();
    let model = engine.model();
    let Some(read) = model.reads.iter().find(|read| read.name == case.read) else {
        return Ok(None);
    };
    let request = bench_scope(engine, case.now, &case.args, &case.caller);
    let meant = meant_read(model, read, bench.rows(), request).map_err(RuntimeError::from)?;
    let by_keys = read
        .selection
        .iter()
        .all(|own| own.tally.is_none() && own.matching.is_none());
    if meant.refusal.is_some() || !by_keys || read.together.is_some() {
        return Ok(None);
    }
    let items = dump::table_items(model, engine.store()).await?;
    let looked = Looked::of(model, items, request);
    let parts: Vec<Part> = meant
        .selected
        .iter()
        .map(|selected| looked.part(read, selected, case.page))
        .collect::<Result<_, _>>()?;
    Ok(looked.least(&parts))
}

/// A table with all its items.
struct Looked<'m> {
    model: &'m Model,
    table: Table<'m>,
    /// Where an item stands, by its primary key.
    places: BTreeMap<String, usize>,
    scope: Scope<'m>,
}

/// The rows of one selection.
struct Part {
    /// Each row, with the items that hold it: its own first, then its mirrors'.
    rows: Vec<Vec<usize>>,
    /// The attributes that are looked at or shown.
    needed: BTreeSet<String>,
    half_units_per_block: u64,
}

/// An entry that holds a row.
struct Told {
    at: usize,
    partition: String,
    bytes: usize,
    /// Whether it tells all that is needed.
    is_whole: bool,
}

impl<'m> Looked<'m> {
    fn of(model: &'m Model, items: Vec<Item>, scope: Scope<'m>) -> Self {
        let places = items
            .iter()
            .enumerate()
            .map(|(at, item)| (primary_key(model, item), at));
        let places = places.collect();
        let rows = items.into_iter().map(|item| StoredRow {
            entity: entity_of_item(model, &item).map_or(OF_NOBODY, |entity| entity.id),
            row: Attributes::new(),
            item,
        });
        Looked {
            model,
            table: Table::of(model, rows.collect()),
            places,
            scope,
        }
    }

    /// What one selection needs. Of a list that is the first page.
    fn part(&self, read: &Read, selected: &Selected, page: usize) -> Result<Part, RuntimeError> {
        let Some(entity) = selected.entity.and_then(|id| self.model.entity(id)) else {
            return Ok(Part {
                rows: Vec::new(),
                needed: BTreeSet::new(),
                half_units_per_block: 1,
            });
        };
        let selection = selected.selection.as_ref();
        let limit = selection
            .and_then(|own| own.limit)
            .map_or(usize::MAX, |limit| limit as usize);
        let most = match selection.map(|own| own.kind) {
            Some(SelectionKind::Count) => usize::MAX,
            Some(SelectionKind::Find) if selected.is_own == read.pages.is_none() && read.each.is_none() => {
                limit.min(page)
            }
            Some(SelectionKind::Find) => limit.min(Bounds::USUAL.beside_rows_max),
            Some(SelectionKind::Get { .. }) | None => 1,
        };
        let mut rows = Vec::new();
        for row in selected.rows.iter().take(most) {
            let own = load::items_of_row(self.model, entity, row, self.scope)?;
            let known = own
                .iter()
                .filter_map(|item| self.places.get(&primary_key(self.model, item)));
            rows.push(known.copied().collect());
        }
        let all = || {
            entity
                .attributes
                .iter()
                .map(|attribute| attribute.name.clone())
                .collect()
        };
        let mut needed: BTreeSet<String> = match selected.is_own {
            true => shown_attributes(read).unwrap_or_else(all),
            false => all(),
        };
        let conditions = selection
            .and_then(|own| own.filter.as_ref())
            .into_iter()
            .chain(&selected.allow);
        needed.extend(conditions.flat_map(Expr::attributes).map(str::to_owned));
        needed.retain(|name| entity.attribute(name).is_some());
        // Rows that `let` names decide who may, and are read strongly.
        let is_strong = read.consistent.is_some() || selection.is_none_or(|own| own.consistent);
        Ok(Part {
            rows,
            needed,
            half_units_per_block: if is_strong { 2 } else { 1 },
        })
    }

    fn least(&self, parts: &[Part]) -> Option<LeastAnswer> {
        let mut apart = LeastAnswer {
            half_units: 0,
            from: String::new(),
        };
        for part in parts {
            let ways = self
                .table
                .places
                .iter()
                .map(|place| self.read_place(place, std::slice::from_ref(part)));
            let least = ways.flatten().min_by_key(|way| way.half_units)?;
            apart.half_units += least.half_units;
            apart.from.push_str(&format!("{}; ", least.from));
        }
        let together = self
            .table
            .places
            .iter()
            .filter_map(|place| self.read_place(place, parts));
        together.chain([apart]).min_by_key(|way| way.half_units)
    }

    /// What it takes to read the rows of selections from one place; nothing where it does not have them all.
    fn read_place(&self, place: &Place<'_>, parts: &[Part]) -> Option<LeastAnswer> {
        let per_block = parts.iter().map(|part| part.half_units_per_block).max()?;
        if per_block > 1 && place.is_global {
            return None;
        }
        let mut spans: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        let mut rows = Vec::new();
        for part in parts {
            for row in &part.rows {
                let entries = self.entries_of(place, part, row);
                rows.push((row, (!entries.is_empty()).then_some(entries)?));
            }
        }
        // A row that lies in several partitions is read where another is read anyway.
        rows.sort_by_key(|(_, entries)| entries.len());
        let mut got = 0;
        for (row, entries) in rows {
            let is_read = |entry: &&Told| spans.contains_key(&entry.partition);
            let told = entries.iter().filter(|entry| entry.is_whole);
            let best = told.clone().find(is_read).or_else(|| told.clone().next());
            let entry = best.or(entries.first())?;
            let span = spans.entry(entry.partition.clone()).or_insert((entry.at, entry.at));
            *span = (span.0.min(entry.at), span.1.max(entry.at));
            let own = row.first().and_then(|own| self.table.rows.get(*own));
            if let Some(own) = own.filter(|_| !entry.is_whole) {
                got += per_block * read_blocks(item_size_bytes(&own.item));
            }
        }
        let empty = parts.iter().filter(|part| part.rows.is_empty()).count() as u64;
        let read = spans.values().map(|(first, last)| {
            let span = place.entries.get(*first..=*last).unwrap_or_default();
            per_block * read_blocks(span.iter().map(|entry| entry.bytes).sum())
        });
        let read: u64 = read.sum();
        // What was read for others may show that there is nothing.
        let alone = if spans.is_empty() { empty.min(1) } else { 0 };
        Some(LeastAnswer {
            half_units: read + got + per_block * alone,
            from: format!("{} in {} partitions", place.name, spans.len()),
        })
    }

    /// The entries of a row in a place, the smallest first.
    fn entries_of(&self, place: &Place<'_>, part: &Part, row: &[usize]) -> Vec<Told> {
        let entries = row.iter().filter_map(|item| {
            let at = place.entries.iter().position(|entry| entry.row == *item)?;
            let stored = self.table.rows.get(*item)?;
            let entity = entity_of_item(self.model, &stored.item)?;
            let entry = place.entries.get(at)?;
            Some(Told {
                at,
                partition: format!("{:?}", entry.partition),
                bytes: entry.bytes,
                is_whole: part.needed.iter().all(|name| self.tells(place, entity, name)),
            })
        });
        let mut entries: Vec<Told> = entries.collect();
        entries.sort_by_key(|entry| entry.bytes);
        entries
    }

    /// Whether the entries of an entity in a place hold an attribute.
    fn tells(&self, place: &Place<'_>, entity: &Entity, name: &str) -> bool {
        let Some(attribute) = entity.attribute(name) else {
            return false;
        };
        let in_entry = |stored: &str| {
            let keys = self.model.table.key.iter().map(|key| key.name.as_str());
            let mut keys = place.partition.iter().chain(&place.sort).copied().chain(keys);
            match place.projection {
                Projection::All => true,
                Projection::Keys => keys.any(|key| key == stored),
                Projection::Include(names) => keys.any(|key| key == stored) || names.iter().any(|own| own == stored),
            }
        };
        let by_key = || {
            let entries = entity.index.iter().flat_map(|entry| entry.key_choices());
            let mut keys = entity.key.iter().chain(entries).flat_map(|choice| &choice.keys);
            keys.any(|key| in_entry(&key.attribute) && key.gives_back(name))
        };
        match &attribute.stored {
            Stored::Own => in_entry(&attribute.name) || by_key(),
            Stored::As(stored) => in_entry(stored) || by_key(),
            Stored::No => by_key() || attribute.is.is_some(),
        }
    }
}

fn primary_key(model: &Model, item: &Item) -> String {
    let parts = model.table.key.iter().map(|key| format!("{:?}", item.get(&key.name)));
    parts.collect::<Vec<String>>().join(" ")
}
