//! What one request reads for several selections: a query for rows that lie side by side, or a transaction of gets. What the
//! page of a query does not reach is asked for as if there were no such query.

use std::collections::BTreeSet;

use singlet_item::{Item, Value};
use singlet_model::Model;
use singlet_model::evaluate::holds_condition;
use singlet_model::expression::Expr;
use singlet_model::model::{Entity, Read, Selection};
use singlet_plan::cost::rows_asked;
use singlet_plan::read::{Combination, Layout, Together, after};
use singlet_store::{Direction, KeyRange, QueryRequest, SortRange, TransactGet, TransactGetRequest};

use super::read_call::ReadCall;
use crate::cursor::Cursor;
use crate::error::RuntimeError;
use crate::find::{FoundRows, Reading};
use crate::keys;
use crate::scope::Attributes;
use crate::{range_rows, retry, row};

/// The items of one request, and which of them each selection asked for.
pub(super) struct SharedItems<'a> {
    model: &'a Model,
    parts: Vec<SharedPart<'a>>,
    /// None where the row of one was taken.
    items: Vec<Option<Item>>,
    ended: bool,
    descending: bool,
    /// Where the page ends that is not the last.
    last: Option<String>,
}

struct SharedPart<'a> {
    name: Option<&'a str>,
    entity: &'a Entity,
    layout: &'a Layout,
    wanted: SelectionShare,
    /// What the items that were asked for may lack to be meant.
    conditions: &'a [Expr],
    position_keys: Vec<&'a str>,
    /// Whether several items may have one key: those of an index.
    shares_keys: bool,
    /// Whether its rows were taken.
    is_taken: bool,
}

/// Which of the items a selection asked for.
enum SelectionShare {
    /// Those in a range of the attribute that sorts them.
    Range(String, SortRange),
    /// Those with these keys.
    Keys(Vec<Item>),
}

impl<'a> ReadCall<'a> {
    /// Reads at once what the plan says can be.
    pub(super) async fn read_shared(
        &mut self,
        combination: &'a Combination,
        cursor: Option<&Cursor>,
    ) -> Result<Option<SharedItems<'a>>, RuntimeError> {
        match &combination.together {
            Some(Ok(together)) => self.read_in_transaction(combination, together).await.map(Some),
            _ => self.read_in_one_query(combination, cursor).await,
        }
    }

    /// Reads all selections at one instant.
    async fn read_in_transaction(
        &mut self,
        combination: &'a Combination,
        together: &'a Together,
    ) -> Result<SharedItems<'a>, RuntimeError> {
        let engine = self.engine;
        let model = engine.model.as_ref();
        let mut parts = Vec::new();
        // Each item once: DynamoDB refuses a transaction that gets one twice.
        let mut once: BTreeSet<Item> = BTreeSet::new();
        for part in &together.parts {
            let Some(entity) = model.entity(part.query.entity) else {
                continue;
            };
            let ranges = keys::query_ranges(model, &part.query, self.scope())?;
            let wanted: Vec<Item> = ranges
                .iter()
                .filter_map(|range| range_rows::whole_key(model, &range.keys))
                .collect();
            once.extend(wanted.iter().cloned());
            let planned = combination.parts.get(part.part);
            parts.push(SharedPart {
                name: planned.and_then(|part| part.name.as_deref()),
                entity,
                layout: &part.query.layout,
                wanted: SelectionShare::Keys(wanted),
                conditions: &part.query.meaning,
                position_keys: Vec::new(),
                shares_keys: false,
                is_taken: false,
            });
        }
        let gets = once.into_iter().map(|key| TransactGet {
            table: model.table.name.clone(),
            key,
            projection: Default::default(),
        });
        let request = TransactGetRequest { gets: gets.collect() };
        let mut items = Vec::new();
        if !request.gets.is_empty() {
            // Somebody who writes one of the items is no reason to refuse a read.
            let answer = retry::retried_past_conflicts(engine.bounds(), || engine.store.transact_get(&request)).await?;
            self.budget.take_fetched(answer.items.len(), &answer.consumed)?;
            self.consumed += &answer.consumed;
            items.extend(answer.items.into_iter().filter(Option::is_some));
        }
        Ok(SharedItems {
            model,
            parts,
            items,
            ended: true,
            descending: false,
            last: None,
        })
    }

    /// Reads what lies side by side, where the plan knows of it. A later page goes on in one list only, and reads that alone.
    async fn read_in_one_query(
        &mut self,
        combination: &'a Combination,
        cursor: Option<&Cursor>,
    ) -> Result<Option<SharedItems<'a>>, RuntimeError> {
        // A later page goes on in one list, whose place means nothing in a range over all of them.
        let Some(neighbours) = combination.neighbours.as_ref().filter(|_| cursor.is_none()) else {
            return Ok(None);
        };
        let engine = self.engine;
        let model = engine.model.as_ref();
        let mut parts = Vec::new();
        let mut partition: Option<Vec<(String, Value)>> = None;
        let mut request = QueryRequest::new(model.table.name.clone(), KeyRange::partition("", ""));
        let mut rows = 0_u64;
        for neighbour in &neighbours.parts {
            let planned = combination.parts.get(neighbour.part);
            let name = planned.and_then(|part| part.name.as_deref());
            let (Some(selection), Some(entity)) =
                (selection_named(self.read, name), model.entity(neighbour.query.entity))
            else {
                return Ok(None);
            };
            let mut ranges = keys::query_ranges(model, &neighbour.query, self.scope())?.into_iter();
            // Exactly one range each, side by side under one partition: anything else is read by itself.
            let (Some(range), None) = (ranges.next(), ranges.next()) else {
                return Ok(None);
            };
            let shared = partition.get_or_insert_with(|| range.keys.partition.clone());
            let [sort] = range.keys.sort.as_slice() else {
                return Ok(None);
            };
            // Keys that are named as too much cannot be told once ranges are joined.
            if *shared != range.keys.partition || !range.except.is_empty() {
                return Ok(None);
            }
            let index = neighbour.query.index.and_then(|index| model.index(index));
            request.index = index.map(|index| index.name.clone());
            let strong = selection.consistent || self.read.consistent.is_some();
            // DynamoDB refuses a strong read of an index; the plan has said so already.
            request.consistent = strong && index.is_none();
            let wanted = self.rows_wanted(name, selection)? as u64;
            let query = &neighbour.query;
            let (share, spare) = (query.expected.kept_share, query.expected.spare_rows);
            let asked = rows_asked(self.bounds(), wanted, query.drops_rows(), share, spare);
            // One page has to hold what all of them want, in the order of keys, since it is read once.
            rows = rows.saturating_add(asked);
            let table_keys = model.table.key.iter().map(|key| key.name.as_str());
            let index_keys = index
                .into_iter()
                .flat_map(|index| index.key())
                .map(|key| key.name.as_str());
            parts.push(SharedPart {
                name,
                entity,
                layout: &query.layout,
                // What the key settles is not looked at once more, unless keys of other entities may look like it.
                conditions: match range.exact && !query.is_mixed {
                    true => &query.rest,
                    false => &query.meaning,
                },
                wanted: SelectionShare::Range(sort.0.clone(), sort.1.clone()),
                position_keys: table_keys.chain(index_keys).collect(),
                shares_keys: index.is_some(),
                is_taken: false,
            });
        }
        let Some((partition, sort)) = partition.zip(whole_range(&parts)) else {
            return Ok(None);
        };
        let attribute = sort.0.clone();
        request.range = KeyRange {
            partition,
            sort: vec![sort],
        };
        request.limit = u32::try_from(rows.min(self.bounds().rows_per_call as u64)).ok();
        if neighbours.descending {
            request.direction = Direction::Descending;
        }
        let page = retry::with_retries(engine.bounds(), || engine.store.query(&request)).await?;
        self.budget.take_page(&page)?;
        self.consumed += page.consumed;
        let ended = page.last_key.is_none();
        // Where the page is the last one nothing lies beyond it, whatever its last key is.
        let last = page.items.last().filter(|_| !ended);
        let last = last.and_then(|item| item.get(&attribute)?.as_str());
        Ok(Some(SharedItems {
            model,
            parts,
            last: last.map(str::to_owned),
            items: page.items.into_iter().map(Some).collect(),
            ended,
            descending: neighbours.descending,
        }))
    }
}

impl SharedItems<'_> {
    /// The first rows of a selection, which are taken out of the items; none where the page does not say what they are.
    pub(super) fn take_rows(
        &mut self,
        name: Option<&str>,
        reading: &Reading<'_>,
        limit: usize,
    ) -> Result<Option<FoundRows>, RuntimeError> {
        let Some(at) = self.parts.iter().position(|part| part.name == name) else {
            return Ok(None);
        };
        if let Some(part) = self.parts.get_mut(at) {
            // Before items are looked at: a selection that still counted as waiting would want its own items, so that each was
            // copied.
            part.is_taken = true;
        }
        let Some(part) = self.parts.get(at) else {
            return Ok(None);
        };
        match &part.wanted {
            SelectionShare::Keys(keys) => {
                let places = keys.iter().filter_map(|key| self.place_of(key));
                let places: Vec<usize> = places.collect();
                self.take_rows_of_keys(at, places, reading, limit).map(Some)
            }
            SelectionShare::Range(..) => {
                let items = self.items.iter().enumerate();
                let held = items.filter(|(_, item)| item.as_ref().is_some_and(|item| part.holds(item)));
                let places: Vec<usize> = held.map(|(place, _)| place).collect();
                self.take_rows_in_range(at, places, reading, limit)
            }
        }
    }

    fn take_rows_in_range(
        &mut self,
        at: usize,
        places: Vec<usize>,
        reading: &Reading<'_>,
        limit: usize,
    ) -> Result<Option<FoundRows>, RuntimeError> {
        // Rows beyond the page are not known, so that a selection whose range goes on behind it is not complete.
        let passed = self.parts.get(at).is_some_and(|part| self.has_passed(part));
        let may_go_on = !passed || places.len() > limit;
        let mut found = FoundRows::default();
        let mut last = None;
        let mut more = false;
        for place in places {
            // Looked at before the item is taken, so that the position stays before the first row that is not given.
            if found.rows.len() == limit {
                more = true;
                break;
            }
            if may_go_on {
                last = self.position_of(at, place);
            }
            found.rows.extend(self.take_row(at, place, reading)?);
        }
        // Fewer rows than wanted, and more may lie behind the page: the selection is read as if there were none.
        if found.rows.len() < limit && !passed {
            return Ok(None);
        }
        if let Some(last) = last.filter(|_| more || !passed) {
            found.onward = reading.after(last)?;
        }
        Ok(Some(found))
    }

    /// The rows of a selection that asked for keys, in its order.
    fn take_rows_of_keys(
        &mut self,
        at: usize,
        places: Vec<usize>,
        reading: &Reading<'_>,
        limit: usize,
    ) -> Result<FoundRows, RuntimeError> {
        let mut found = FoundRows::default();
        for place in places {
            found.rows.extend(self.take_row(at, place, reading)?);
        }
        if let Some(part) = self.parts.get(at) {
            // Gets have no order, and the answer has one.
            reading.sort(part.entity, &mut found.rows)?;
        }
        found.rows.truncate(limit);
        Ok(found)
    }

    fn place_of(&self, key: &Item) -> Option<usize> {
        let is_meant = |item: &Item| range_rows::table_key(self.model, item) == *key;
        let mut items = self.items.iter();
        items.position(|item| item.as_ref().is_some_and(is_meant))
    }

    /// Where a selection goes on after an item.
    fn position_of(&self, at: usize, place: usize) -> Option<Item> {
        let item = self.items.get(place)?.as_ref()?;
        let names = self.parts.get(at)?.position_keys.iter();
        let key = names.filter_map(|name| Some(((*name).to_owned(), item.get(*name)?.clone())));
        Some(key.collect())
    }

    /// The row of an item, if the selection means it.
    fn take_row(&mut self, at: usize, place: usize, reading: &Reading<'_>) -> Result<Option<Attributes>, RuntimeError> {
        let item = self.take_item(place);
        let (Some(item), Some(part)) = (item, self.parts.get(at)) else {
            return Ok(None);
        };
        // A range over several entities brings rows of all of them.
        if !range_rows::is_row_of(self.model, part.entity, &item) {
            return Ok(None);
        }
        let taken = row::take_live_with_key((self.model, part.entity), item, part.layout, reading.scope)?;
        let Some((row, _)) = taken else {
            return Ok(None);
        };
        let scope = reading.scope.with_row(&row);
        for condition in part.conditions.iter().chain(reading.allow) {
            if !holds_condition(condition, &scope)? {
                return Ok(None);
            }
        }
        Ok(Some(row))
    }

    /// An item for good, unless a selection whose rows were not taken yet wants it too.
    fn take_item(&mut self, place: usize) -> Option<Item> {
        let item = self.items.get_mut(place)?;
        let wanting = |item: &Item| {
            // Two selections may want one item; the last that does has it without a copy.
            let mut waiting = self.parts.iter().filter(|part| !part.is_taken);
            waiting.any(|part| part.wants(self.model, item))
        };
        match item.as_ref().is_some_and(wanting) {
            true => item.clone(),
            false => item.take(),
        }
    }

    /// Whether the page goes beyond the last row that a selection could have.
    fn has_passed(&self, part: &SharedPart<'_>) -> bool {
        let SelectionShare::Range(_, range) = &part.wanted else {
            return self.ended;
        };
        let Some(last) = self.last.as_deref() else {
            return self.ended;
        };
        match (range, self.descending) {
            // The next item of an index may have the same key.
            (SortRange::Equal(Value::S(key)), false) if part.shares_keys => last > key.as_str(),
            (SortRange::Equal(Value::S(key)), true) if part.shares_keys => last < key.as_str(),
            (SortRange::Equal(Value::S(key)), false) => last >= key.as_str(),
            (SortRange::Equal(Value::S(key)), true) => last <= key.as_str(),
            (SortRange::BeginsWith(Value::S(prefix)), false) => last > prefix.as_str() && !last.starts_with(prefix),
            (SortRange::BeginsWith(Value::S(prefix)), true) => last < prefix.as_str(),
            // Not passed, as far as is known: then it is read by itself, which is slower and right.
            _ => false,
        }
    }
}

impl SharedPart<'_> {
    /// Whether it asked for an item.
    fn wants(&self, model: &Model, item: &Item) -> bool {
        match &self.wanted {
            SelectionShare::Range(..) => self.holds(item),
            SelectionShare::Keys(keys) => keys.contains(&range_rows::table_key(model, item)),
        }
    }

    fn holds(&self, item: &Item) -> bool {
        let SelectionShare::Range(attribute, range) = &self.wanted else {
            return false;
        };
        let key = item.get(attribute).and_then(Value::as_str);
        match (range, key) {
            (SortRange::Equal(Value::S(wanted)), Some(key)) => key == wanted,
            (SortRange::BeginsWith(Value::S(prefix)), Some(key)) => key.starts_with(prefix),
            _ => false,
        }
    }
}

fn selection_named<'r>(read: &'r Read, name: Option<&str>) -> Option<&'r Selection> {
    match name {
        None => read.selection.as_ref(),
        Some(_) => {
            let part = read.with.iter().find(|part| Some(part.name.as_str()) == name)?;
            Some(&part.selection)
        }
    }
}

/// From the first key that any selection asks for to the last.
fn whole_range(parts: &[SharedPart<'_>]) -> Option<(String, SortRange)> {
    let mut ends: Option<(String, String)> = None;
    let SelectionShare::Range(attribute, _) = &parts.first()?.wanted else {
        return None;
    };
    for part in parts {
        let (low, high) = match &part.wanted {
            SelectionShare::Range(name, SortRange::Equal(Value::S(key))) if name == attribute => {
                (key.clone(), key.clone())
            }
            SelectionShare::Range(name, SortRange::BeginsWith(Value::S(prefix))) if name == attribute => {
                (prefix.clone(), after(prefix))
            }
            _ => return None,
        };
        ends = Some(match ends {
            None => (low, high),
            Some((first, last)) => (first.min(low), last.max(high)),
        });
    }
    let (first, last) = ends?;
    Some((attribute.clone(), SortRange::between(first, last)))
}
