//! What one request reads for several selections: a query for rows that lie side by side, or a transaction of gets. What the
//! page of a query does not reach is asked for as if there were no such query.

use std::collections::BTreeSet;

use singlet_item::{Item, Value};
use singlet_model::Model;
use singlet_model::evaluate::holds_condition;
use singlet_model::model::{Entity, Read, Selection};
use singlet_plan::cost::rows_asked;
use singlet_plan::read::{Combination, Together, after};
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
    items: Vec<Item>,
    ended: bool,
    descending: bool,
}

struct SharedPart<'a> {
    name: Option<&'a str>,
    entity: &'a Entity,
    wanted: SelectionShare,
    position_keys: Vec<&'a str>,
    /// Whether several items may have one key: those of an index.
    shares_keys: bool,
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
                wanted: SelectionShare::Keys(wanted),
                position_keys: Vec::new(),
                shares_keys: false,
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
            let answer = retry::retried_past_conflicts(engine.bounds(), || engine.store.transact_get(&request)).await?;
            self.consumed += &answer.consumed;
            items.extend(answer.items.into_iter().flatten());
        }
        Ok(SharedItems {
            model,
            parts,
            items,
            ended: true,
            descending: false,
        })
    }

    /// Reads what lies side by side, where the plan knows of it. A later page goes on in one list only, and reads that alone.
    async fn read_in_one_query(
        &mut self,
        combination: &'a Combination,
        cursor: Option<&Cursor>,
    ) -> Result<Option<SharedItems<'a>>, RuntimeError> {
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
            let (Some(range), None) = (ranges.next(), ranges.next()) else {
                return Ok(None);
            };
            let shared = partition.get_or_insert_with(|| range.keys.partition.clone());
            let [sort] = range.keys.sort.as_slice() else {
                return Ok(None);
            };
            if *shared != range.keys.partition || !range.except.is_empty() {
                return Ok(None);
            }
            let index = neighbour.query.index.and_then(|index| model.index(index));
            request.index = index.map(|index| index.name.clone());
            let strong = selection.consistent || self.read.consistent.is_some();
            request.consistent = strong && index.is_none();
            let wanted = self.rows_wanted(name, selection)? as u64;
            let query = &neighbour.query;
            let (share, spare) = (query.expected.kept_share, query.expected.spare_rows);
            let asked = rows_asked(self.bounds(), wanted, query.drops_rows(), share, spare);
            rows = rows.saturating_add(asked);
            let table_keys = model.table.key.iter().map(|key| key.name.as_str());
            let index_keys = index
                .into_iter()
                .flat_map(|index| index.key())
                .map(|key| key.name.as_str());
            parts.push(SharedPart {
                name,
                entity,
                wanted: SelectionShare::Range(sort.0.clone(), sort.1.clone()),
                position_keys: table_keys.chain(index_keys).collect(),
                shares_keys: index.is_some(),
            });
        }
        let Some((partition, sort)) = partition.zip(whole_range(&parts)) else {
            return Ok(None);
        };
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
        self.consumed += &page.consumed;
        Ok(Some(SharedItems {
            model,
            parts,
            items: page.items,
            ended: page.last_key.is_none(),
            descending: neighbours.descending,
        }))
    }
}

impl SharedItems<'_> {
    /// The first rows of a selection; none where the page does not say what they are.
    pub(super) fn rows_of(
        &self,
        name: Option<&str>,
        reading: &Reading<'_>,
        limit: usize,
    ) -> Result<Option<FoundRows>, RuntimeError> {
        let Some(part) = self.parts.iter().find(|part| part.name == name) else {
            return Ok(None);
        };
        if let SelectionShare::Keys(keys) = &part.wanted {
            return self.rows_of_keys(part, keys, reading, limit).map(Some);
        }
        let mut found = FoundRows::default();
        let mut last = None;
        let mut more = false;
        for item in self.items.iter().filter(|item| part.holds(item)) {
            if found.rows.len() == limit {
                more = true;
                break;
            }
            last = Some(item);
            if let Some(row) = self.meant_row(part, item, reading)? {
                found.rows.push(row);
            }
        }
        let passed = self.has_passed(part);
        if found.rows.len() < limit && !passed {
            return Ok(None);
        }
        if let Some(last) = last.filter(|_| more || !passed) {
            let names = part.position_keys.iter();
            let key: Item = names
                .filter_map(|name| Some(((*name).to_owned(), last.get(*name)?.clone())))
                .collect();
            found.onward = reading.after(key)?;
        }
        Ok(Some(found))
    }

    /// The rows of a selection that asked for keys, in its order.
    fn rows_of_keys(
        &self,
        part: &SharedPart<'_>,
        keys: &[Item],
        reading: &Reading<'_>,
        limit: usize,
    ) -> Result<FoundRows, RuntimeError> {
        let mut found = FoundRows::default();
        for key in keys {
            let item = self
                .items
                .iter()
                .find(|item| range_rows::table_key(self.model, item) == *key);
            if let Some(item) = item {
                found.rows.extend(self.meant_row(part, item, reading)?);
            }
        }
        reading.sort(part.entity, &mut found.rows)?;
        found.rows.truncate(limit);
        Ok(found)
    }

    fn meant_row(
        &self,
        part: &SharedPart<'_>,
        item: &Item,
        reading: &Reading<'_>,
    ) -> Result<Option<Attributes>, RuntimeError> {
        if !range_rows::is_row_of(self.model, part.entity, item) {
            return Ok(None);
        }
        let Some(row) = row::decode_live(self.model, part.entity, item, reading.scope)? else {
            return Ok(None);
        };
        let scope = reading.scope.with_row(&row);
        let meaning = reading.plan.queries.iter().flat_map(|query| &query.meaning);
        for condition in meaning.chain(reading.allow) {
            if !holds_condition(condition, &scope)? {
                return Ok(None);
            }
        }
        Ok(Some(row))
    }

    /// Whether the page goes beyond the last row that a selection could have.
    fn has_passed(&self, part: &SharedPart<'_>) -> bool {
        let SelectionShare::Range(attribute, range) = &part.wanted else {
            return self.ended;
        };
        let last = self
            .items
            .last()
            .and_then(|item| item.get(attribute))
            .and_then(Value::as_str);
        let Some(last) = last.filter(|_| !self.ended) else {
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
            _ => false,
        }
    }
}

impl SharedPart<'_> {
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
