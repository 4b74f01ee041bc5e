//! What comes with each row of a list: rows by their keys in batches, anything else row by row.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use futures_util::{StreamExt, TryStreamExt};
use singlet_item::{Item, Value};
use singlet_model::evaluate::holds_condition;
use singlet_model::model::{SelectionKind, WithPart};
use singlet_plan::read::{PartPlan, Query, SelectionPlan};

use super::read_call::{ReadCall, beside_rows};
use crate::by_key::batch_get;
use crate::error::RuntimeError;
use crate::keys::OneKey;
use crate::scope::Attributes;
use crate::{keys, range_rows, row};

impl<'a> ReadCall<'a> {
    /// For each row of a list, the groups of `with` by name.
    pub(super) async fn with_each_row(
        &mut self,
        parts: &'a [PartPlan],
        rows: &[Attributes],
    ) -> Result<Vec<BTreeMap<String, Value>>, RuntimeError> {
        let mut all = vec![BTreeMap::new(); rows.len()];
        for part in &self.read.with {
            let Some(planned) = parts.iter().find(|known| known.name.as_ref() == Some(&part.name)) else {
                continue;
            };
            let values = match planned.plan.queries.as_slice() {
                [query] if query.is_get() && part.selection.kind != SelectionKind::Count => {
                    let got = self.rows_by_keys(part, query, rows).await?.into_iter();
                    // A list is one, though its meaning names a whole key.
                    match part.selection.kind {
                        SelectionKind::Find => got.map(|row| Some(Value::L(row.into_iter().collect()))).collect(),
                        SelectionKind::Get { .. } | SelectionKind::Count => got.collect(),
                    }
                }
                _ => self.rows_by_readings(part, &planned.plan, rows).await?,
            };
            for (groups, value) in all.iter_mut().zip(values) {
                groups.extend(value.map(|value| (part.name.clone(), value)));
            }
        }
        Ok(all)
    }

    /// One row for each by its key, in the order of the rows; a key that several have is asked for once.
    async fn rows_by_keys(
        &mut self,
        part: &WithPart,
        query: &Query,
        rows: &[Attributes],
    ) -> Result<Vec<Option<Value>>, RuntimeError> {
        let engine = self.engine;
        let model = engine.model.as_ref();
        let mut wanted: Vec<Option<Item>> = Vec::with_capacity(rows.len());
        let mut once: BTreeSet<Item> = BTreeSet::new();
        for row in rows {
            let mut scope = self.scope();
            scope.row = Some(row);
            let key = match keys::one_key(model, query, scope)? {
                OneKey::Key(key, _) => {
                    let key = key.into_iter().map(|(name, value)| (name.to_owned(), value));
                    Some(key.collect::<Item>())
                }
                OneKey::Nothing | OneKey::Several => None,
            };
            // A key that several rows have is read once, and found again by each of them.
            once.extend(key.clone());
            wanted.push(key);
        }
        let once: Vec<Item> = once.into_iter().collect();
        let consistent = part.selection.consistent || self.read.consistent.is_some();
        let (items, consumed) = batch_get(&engine.store, engine.bounds(), &model.table.name, &once, consistent).await?;
        self.budget.take_fetched(items.len(), &consumed)?;
        self.consumed += &consumed;
        let by_key: HashMap<Item, Item> = items
            .into_iter()
            .map(|item| (range_rows::table_key(model, &item), item))
            .collect();
        let found = rows.iter().zip(wanted).map(|(row, key)| {
            let item = key.and_then(|key| by_key.get(&key));
            item.map_or(Ok(None), |item| self.meant_row(part, query, item, row))
        });
        found.collect()
    }

    /// The row of an item, if the meaning includes it.
    fn meant_row(
        &self,
        part: &WithPart,
        query: &Query,
        item: &Item,
        parent: &Attributes,
    ) -> Result<Option<Value>, RuntimeError> {
        let model = self.engine.model.as_ref();
        let mut scope = self.scope();
        scope.row = Some(parent);
        let entity = model
            .entity(query.entity)
            // Two entities may share a key template, and the batch asks for keys alone.
            .filter(|entity| range_rows::is_row_of(model, entity, item));
        let Some(entity) = entity else { return Ok(None) };
        let Some(row) = row::decode_live(model, entity, item, scope)? else {
            return Ok(None);
        };
        // The whole meaning: a key may say too little of it, and is shared with rows for which more was said.
        for condition in query.meaning.iter().chain(&part.allow) {
            if !holds_condition(condition, &scope.with_row(&row))? {
                return Ok(None);
            }
        }
        Ok(Some(Value::M(row)))
    }

    /// One reading for each row, several at a time.
    async fn rows_by_readings(
        &mut self,
        part: &'a WithPart,
        plan: &SelectionPlan,
        rows: &[Attributes],
    ) -> Result<Vec<Option<Value>>, RuntimeError> {
        let selection = &part.selection;
        if selection.kind == SelectionKind::Count {
            let mut counts = Vec::with_capacity(rows.len());
            for row in rows {
                counts.push(Some(self.count(selection, plan, Some(row)).await?));
            }
            return Ok(counts);
        }
        let most = self.rows_wanted(Some(&part.name), selection)?;
        // Not lazily: a stream that held the closure could not move between threads.
        let mut readings = Vec::with_capacity(rows.len());
        for row in rows {
            let mut reading = self.reading(selection, plan, part.allow.as_ref());
            reading.scope.row = Some(row);
            readings.push(beside_rows(reading, most));
        }
        // In the order of the rows, to which they are put by their place.
        let readings = futures_util::stream::iter(readings).buffered(self.bounds().calls_at_once);
        let found: Vec<_> = readings.try_collect().await?;
        let mut values = Vec::with_capacity(found.len());
        for found in found {
            self.consumed += found.consumed;
            let mut rows = found.rows.into_iter().map(Value::M);
            values.push(match selection.kind {
                SelectionKind::Get { .. } => rows.next(),
                _ => Some(Value::L(rows.collect())),
            });
        }
        Ok(values)
    }
}
