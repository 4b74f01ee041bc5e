//! Answers that are more than a list of rows: the groups of `with`, and one answer for each element.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use futures_util::{StreamExt, TryStreamExt};
use singlet_item::{Item, Value};
use singlet_model::evaluate::evaluate;
use singlet_model::model::{Each, Selection, SelectionKind};
use singlet_plan::read::{PartPlan, SelectionPlan};
use singlet_store::Consumed;

use super::Answer;
use super::read_call::{ReadCall, beside_rows};
use super::shared_request::SharedItems;
use crate::by_key::batch_get;
use crate::cursor::{Cursor, CursorScope};
use crate::error::RuntimeError;
use crate::find::{FoundRows, Reading};
use crate::keyed::Keyed;
use crate::range_rows::table_key;
use crate::read_on::{WholeRows, all_rows, first_rows, one_of_get, rows_of_get};
use crate::scope::Attributes;

impl<'a> ReadCall<'a> {
    /// After how many requests a page ends, where the read says `requests: ..5`.
    pub(super) fn requests_max(&self) -> Option<usize> {
        let (bounds, _) = self.read.requests.as_ref()?;
        let most = bounds.max.filter(|_| bounds.min.is_none())?;
        // A float saturates as it is cast.
        Some((most as usize).max(1))
    }

    /// How many rows of a selection an answer has at most.
    pub(super) fn rows_wanted(&self, name: Option<&str>, selection: &Selection) -> Result<usize, RuntimeError> {
        let limit = selection.limit.map(|limit| limit as usize);
        Ok(match selection.kind {
            SelectionKind::Get { .. } => 1,
            _ if name.is_some() && self.read.pages.as_deref() == name => {
                limit.unwrap_or(usize::MAX).min(self.page_rows()?)
            }
            _ => limit.unwrap_or(self.bounds().beside_rows_max),
        })
    }

    /// The groups of `with`, by name, and where the list that pages goes on.
    pub(super) async fn groups(
        &mut self,
        parts: &'a [PartPlan],
        parent: Option<&Attributes>,
        mut shared: Option<&mut SharedItems<'_>>,
        mut cursor: Option<Cursor>,
        belongs: &CursorScope<'_>,
    ) -> Result<(Value, Option<String>), RuntimeError> {
        let mut groups = BTreeMap::new();
        let mut next = None;
        let read = self.read;
        for part in &read.with {
            let Some(planned) = parts.iter().find(|known| known.name.as_ref() == Some(&part.name)) else {
                continue;
            };
            let (selection, plan) = (&part.selection, &planned.plan);
            if matches!(selection.kind, SelectionKind::Count) {
                groups.insert(part.name.clone(), self.count(selection, plan, parent).await?);
                // A count has no pages and no limit of rows, and nothing of it can be at hand.
                continue;
            }
            let mut reading = self.reading(selection, plan, part.allow.as_ref());
            reading.scope.row = parent;
            let one = matches!(selection.kind, SelectionKind::Get { .. });
            let most = match one {
                true => rows_of_get(&reading),
                false => self.rows_wanted(Some(&part.name), selection)?,
            };
            let at_hand = match &mut shared {
                Some(shared) => shared.take_rows(Some(&part.name), &reading, most)?,
                None => None,
            };
            let pages = read.pages.as_ref() == Some(&part.name);
            let found = match at_hand {
                Some(mut found) => {
                    if pages {
                        let left = selection.limit.map_or(usize::MAX, |limit| limit as usize);
                        // What was at hand is the first page, so that nothing was given before it.
                        next = self.next(&mut found, 0, left, belongs)?;
                    }
                    found
                }
                None if pages => {
                    // One list has the pages; the others are read anew with each of them.
                    let (found, more) = self.page(reading, cursor.take(), belongs).await?;
                    next = more;
                    found
                }
                None => {
                    let WholeRows { rows, consumed } = beside_rows(reading, most).await?;
                    FoundRows {
                        rows,
                        consumed,
                        ..FoundRows::default()
                    }
                }
            };
            self.consumed += found.consumed;
            let value = match one {
                true => one_of_get(&read.name, found.rows)?.map(Value::M),
                false => Some(Value::L(found.rows.into_iter().map(Value::M).collect())),
            };
            if let Some(value) = value {
                groups.insert(part.name.clone(), value);
            }
        }
        Ok((Value::M(groups), next))
    }

    pub(super) async fn each(&mut self, each: &Each, plan: &SelectionPlan) -> Result<Answer, RuntimeError> {
        let Some(selection) = &self.read.selection else {
            return Ok(Answer::default());
        };
        let too_many =
            || RuntimeError::Request(format!("`{}` answers at most {} at once", self.read.name, each.at_most));
        // A list that is longer than any may be is not made at all.
        let elements = match evaluate(&each.list, &self.scope()).map_err(|_| too_many())? {
            Some(Value::L(elements)) => elements,
            _ => Vec::new(),
        };
        // Before anything is read for one of them, because the bound is on what is asked of the store.
        if elements.len() as u64 > each.at_most {
            return Err(too_many());
        }
        let scopes: Vec<Attributes> = elements
            .into_iter()
            .map(|element| {
                let mut bound = self.bound.clone();
                bound.insert(each.name.clone(), element);
                bound
            })
            .collect();
        let mut readings = Vec::with_capacity(scopes.len());
        for bound in &scopes {
            let mut reading = self.reading(selection, plan, None);
            // Each element has names of its own: the reading is the same but for them.
            reading.scope.bound = bound;
            readings.push(reading);
        }
        let found = match rows_by_keys(&readings).await? {
            Some((found, consumed)) => {
                self.consumed += consumed;
                found
            }
            None => {
                let most = self.bounds().element_rows_max;
                // Not lazily: a stream that held the closure could not move between threads.
                let readings: Vec<_> = readings
                    .into_iter()
                    .map(|reading| element_rows(reading, most))
                    .collect();
                // In order, since answers belong to elements by their place.
                let readings = futures_util::stream::iter(readings).buffered(self.bounds().calls_at_once);
                readings.try_collect().await?
            }
        };
        let mut answers = Vec::new();
        for (bound, found) in scopes.into_iter().zip(found) {
            self.consumed += found.consumed;
            self.bound = bound;
            let rows = Value::L(found.rows.into_iter().map(Value::M).collect());
            self.bound.insert("rows".to_owned(), rows);
            answers.push(self.returned(Attributes::new())?);
        }
        Ok(self.shaped(Value::L(answers)))
    }
}

/// The rows of elements that each name one by its key, in one batch: each costs what it does alone. None where some may have several, or
/// there is one element.
async fn rows_by_keys(readings: &[Reading<'_>]) -> Result<Option<(Vec<WholeRows>, Consumed)>, RuntimeError> {
    let [first, _, ..] = readings else {
        return Ok(None);
    };
    // A search has no key: its rows come from an index.
    if first.plan.search.is_some() {
        return Ok(None);
    }
    let mut keyed = Vec::with_capacity(readings.len());
    for reading in readings {
        match reading.keyed()? {
            // All or none: mixed, the answers would have to be put back into the order of the elements.
            Keyed::Several => return Ok(None),
            Keyed::Nothing => keyed.push(None),
            Keyed::Row(row) => keyed.push(Some((row.key_item(), row))),
        }
    }
    // Each key once: DynamoDB refuses a batch that names one twice.
    let keys: BTreeSet<&Item> = keyed.iter().flatten().map(|(key, _)| key).collect();
    let keys: Vec<Item> = keys.into_iter().cloned().collect();
    let (model, consistent) = (first.model, first.consistent);
    let (items, consumed) = batch_get(first.store, first.bounds(), &model.table.name, &keys, consistent).await?;
    first.budget.take_fetched(items.len(), &consumed)?;
    let items: HashMap<Item, Item> = items.into_iter().map(|item| (table_key(model, &item), item)).collect();
    let rows = keyed.iter().map(|row| {
        let found = row.as_ref().and_then(|(key, row)| Some((row, items.get(key)?)));
        // Each element decides by its own meaning whether the row is one for it.
        let kept = found.map(|(row, item)| row.of_whole_item(item.clone())).transpose()?;
        Ok(WholeRows {
            rows: kept.flatten().into_iter().collect(),
            consumed: Consumed::default(),
        })
    });
    Ok(Some((rows.collect::<Result<_, RuntimeError>>()?, consumed)))
}

/// The rows of one element: to the limit of the selection, or all.
async fn element_rows(reading: Reading<'_>, most: usize) -> Result<WholeRows, RuntimeError> {
    match reading.selection.limit {
        Some(limit) => first_rows(reading, limit as usize).await,
        None => all_rows(reading, most).await,
    }
}
