//! Answers of tallies: the figures of groups, as they were kept.

use singlet_item::{Item, Value};
use singlet_model::evaluate::evaluate;
use singlet_model::model::{Selection, Tally, TallyUse};
use singlet_store::{Consumed, GetRequest, KeyRange, QueryRequest, SortRange};

use super::count::RowCount;
use super::read_call::ReadCall;
use crate::error::RuntimeError;
use crate::read_on::too_many;
use crate::retry;
use crate::scope::{Attributes, Scope};
use crate::tallies::{GroupValues, TallyHead, group_of_row, group_prefix, tally_head};

impl ReadCall<'_> {
    /// The figures that a tally has of a selection.
    pub(super) async fn figures(
        &mut self,
        selection: &Selection,
        kept: &TallyUse,
        parent: Option<&Attributes>,
    ) -> Result<Value, RuntimeError> {
        let model = &self.engine.model;
        let tally = model.tally(kept.tally);
        let tally = tally.ok_or_else(|| RuntimeError::Internal("a read names no tally".to_owned()))?;
        let mut counted = RowCount::default();
        let fixed = self.fixed_values(kept, parent)?;
        let head = tally_head(model, &tally.name)?;
        let key = self.key_of(&head);
        // Before the figures: those of another generation are being made, or are left over, and would be counted twice.
        let generation = self.live_generation(tally, &key).await?;
        // Nothing is equal to what is absent.
        // Checked after the head all the same: that a tally is not kept must be said whatever was asked.
        if fixed.iter().any(|(_, value)| value.is_none()) {
            return Ok(counted.value(selection, selection.by.len()));
        }
        let prefix = group_prefix(generation, &first_values(tally, &fixed));
        let range = key_range(&self.key_names(), &key, prefix);
        let Some(range) = range else {
            return Err(RuntimeError::Internal("a tally has no place in the table".to_owned()));
        };
        let mut request = QueryRequest::new(model.table.name.clone(), range);
        // A page may be empty and go on; only that it has no last key ends it.
        for _ in 0..self.bounds().rounds_max {
            self.budget.check_time(&self.read.name, self.bounds())?;
            let page = retry::with_retries(self.bounds(), || self.engine.store.query(&request)).await?;
            self.budget.take_page(&page)?;
            self.budget.check_rows(&self.read.name, self.bounds())?;
            self.consumed += &page.consumed;
            for item in &page.items {
                let Some((group, figures)) = group_of_row(item, tally.sums.len()) else {
                    continue;
                };
                // The prefix of the key has only the first of what is fixed, up to a gap.
                if !fixed.iter().all(|(at, value)| group.get(*at) == Some(value)) {
                    continue;
                }
                let told = group.into_iter().enumerate();
                let told = told.filter(|(at, _)| !fixed.iter().any(|(known, _)| known == at));
                let told: GroupValues = told.map(|(_, value)| value).collect();
                counted.add_figures(&told, &figures)?;
            }
            request.start = page.last_key;
            if request.start.is_none() {
                return Ok(counted.value(selection, selection.by.len()));
            }
        }
        Err(too_many(&self.read.name, self.bounds().counted_rows_max))
    }

    async fn live_generation(&mut self, tally: &Tally, key: &Item) -> Result<i64, RuntimeError> {
        let request = GetRequest {
            table: self.engine.model.table.name.clone(),
            key: key.clone(),
            consistent: false,
            projection: Default::default(),
        };
        let got = retry::with_retries(self.bounds(), || self.engine.store.get(&request)).await?;
        self.consumed += &Consumed::clone(&got.consumed);
        let head = got.item.as_ref().map(TallyHead::of_item).unwrap_or_default();
        head.live_for(tally).ok_or_else(|| RuntimeError::TallyNotKept {
            tally: tally.name.clone(),
            reason: head.broken,
        })
    }

    fn fixed_values(
        &self,
        kept: &TallyUse,
        parent: Option<&Attributes>,
    ) -> Result<Vec<(usize, Option<Value>)>, RuntimeError> {
        let scope = Scope {
            row: parent,
            ..self.scope()
        };
        let fixed = kept.fixed.iter();
        let values = fixed.map(|(at, value)| Ok((*at, evaluate(value, &scope)?)));
        values.collect()
    }

    fn key_names(&self) -> Vec<String> {
        let key = self.engine.model.table.key.iter();
        key.map(|key| key.name.clone()).collect()
    }

    fn key_of(&self, row: &Item) -> Item {
        let names = self.key_names().into_iter();
        names
            .filter_map(|name| Some((name.clone(), row.get(&name)?.clone())))
            .collect()
    }
}

/// The values of the groups that come first, as far as they are fixed without one that is left out.
fn first_values(tally: &Tally, fixed: &[(usize, Option<Value>)]) -> GroupValues {
    let value = |at: usize| fixed.iter().find(|(known, _)| *known == at);
    (0..tally.by.len())
        // Up to the first gap: what comes behind one is no prefix of the key.
        .map_while(|at| value(at).map(|(_, value)| value.clone()))
        .collect()
}

fn key_range(names: &[String], key: &Item, prefix: String) -> Option<KeyRange> {
    let [partition, sort] = names else { return None };
    let value = key.get(partition)?.clone();
    let range = KeyRange::partition(partition.clone(), value);
    Some(range.sort(sort.clone(), SortRange::begins_with(prefix)))
}
