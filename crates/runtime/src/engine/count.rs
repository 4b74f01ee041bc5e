//! How many rows there are: in all or by groups, with sums beside. All rows are counted; none is kept.

use std::collections::BTreeMap;

use singlet_item::{Number, Value};
use singlet_model::evaluate::{EvaluateError, evaluate};
use singlet_model::model::Selection;
use singlet_plan::read::SelectionPlan;

use super::read_call::ReadCall;
use super::tally::count_by_store;
use crate::budget::Stretch;
use crate::error::RuntimeError;
use crate::read_on::{SelectionWalk, too_many};
use crate::scope::{Attributes, Scope};
use crate::tallies::{GroupValues, TallyFigures};

/// The name of the number of rows, where sums stand beside it.
const COUNT: &str = "count";

impl<'a> ReadCall<'a> {
    pub(super) async fn count(
        &mut self,
        selection: &'a Selection,
        plan: &SelectionPlan,
        parent: Option<&Attributes>,
    ) -> Result<Value, RuntimeError> {
        if let Some(kept) = &selection.tally {
            return self.figures(selection, kept, parent).await;
        }
        // A count that stopped there would be a wrong number, so that more rows than this are refused.
        let most = self.bounds().counted_rows_max;
        if selection.by.is_empty() && selection.sums.is_empty() {
            let mut reading = self.reading(selection, plan, None);
            // The meaning of what comes beside a row may name that row.
            reading.scope.row = parent;
            if let Some((rows, consumed)) = count_by_store(&reading, most as u64).await? {
                self.consumed += &consumed;
                return match rows <= most as u64 {
                    true => Ok(Value::N(Number::from(rows))),
                    false => Err(too_many(&self.read.name, most)),
                };
            }
        }
        let mut counted = RowCount::default();
        let mut reading = self.reading(selection, plan, None);
        reading.scope.row = parent;
        let mut stretch = Stretch::default();
        let mut walk = SelectionWalk::whole(reading);
        while let Some(rows) = walk.next(usize::MAX).await? {
            // Nothing of these rows is kept, so that their memory is not held for the next.
            reading.budget.keep_none();
            for row in &rows {
                stretch.row().await;
                counted.add(selection, row, reading.scope)?;
            }
            if counted.rows > most as u64 {
                return Err(too_many(&self.read.name, most));
            }
        }
        let consumed = walk.consumed;
        self.consumed += consumed;
        Ok(counted.value(selection, selection.by.len()))
    }
}

/// What is known of the rows so far, and of each group of them.
#[derive(Default)]
pub(super) struct RowCount {
    rows: u64,
    sums: Vec<Number>,
    groups: BTreeMap<String, RowCount>,
}

impl RowCount {
    /// Counts a row, in the group that it belongs to: one within another where there are several attributes. A row without such
    /// an attribute belongs to no group.
    fn add(&mut self, selection: &Selection, row: &Attributes, scope: Scope<'_>) -> Result<(), RuntimeError> {
        self.rows += 1;
        let words = selection.by.iter().map(|name| row.get(name).and_then(word));
        // No group for what is absent: it would stand beside groups of real values under a name of its own.
        let Some(words) = words.collect::<Option<Vec<String>>>() else {
            return Ok(());
        };
        let mut group = self;
        for word in words {
            group = group.groups.entry(word).or_default();
        }
        if !selection.by.is_empty() {
            group.rows += 1;
        }
        group.sums.resize(selection.sums.len(), Number::ZERO);
        for (sum, (_, expr)) in group.sums.iter_mut().zip(&selection.sums) {
            let value = evaluate(expr, &scope.with_row(row))?;
            if let Some(Value::N(number)) = value {
                let added = sum.checked_add(number);
                *sum = added.map_err(|error| EvaluateError::Arithmetic(format!("a sum leaves its range: {error}")))?;
            }
        }
        Ok(())
    }

    /// Adds what is known of the rows of a group. As with rows, what has no value for a group belongs to none; and a group whose rows
    /// have all gone is none.
    pub(super) fn add_figures(&mut self, values: &GroupValues, figures: &TallyFigures) -> Result<(), RuntimeError> {
        let Some(rows) = u64::try_from(figures.count).ok().filter(|rows| *rows > 0) else {
            return Ok(());
        };
        let words = values.iter().map(|value| value.as_ref().and_then(word));
        let Some(words) = words.collect::<Option<Vec<String>>>() else {
            return Ok(());
        };
        let mut group = self;
        for word in words {
            group = group.groups.entry(word).or_default();
        }
        group.rows = group.rows.saturating_add(rows);
        group.sums.resize(figures.sums.len(), Number::ZERO);
        for (sum, more) in group.sums.iter_mut().zip(&figures.sums) {
            let added = sum.checked_add(*more);
            *sum = added.map_err(|error| EvaluateError::Arithmetic(format!("a sum leaves its range: {error}")))?;
        }
        Ok(())
    }

    pub(super) fn value(mut self, selection: &Selection, levels: usize) -> Value {
        if levels > 0 {
            let groups = self.groups.into_iter();
            let groups = groups.map(|(name, group)| (name, group.value(selection, levels - 1)));
            return Value::M(groups.collect());
        }
        let rows = Value::N(Number::from(self.rows));
        if selection.sums.is_empty() {
            return rows;
        }
        self.sums.resize(selection.sums.len(), Number::ZERO);
        let sums = selection.sums.iter().zip(self.sums);
        let sums = sums.map(|((name, _), sum)| (name.clone(), Value::N(sum)));
        Value::M([(COUNT.to_owned(), rows)].into_iter().chain(sums).collect())
    }
}

/// The name of a group.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::S(text) => Some(text.clone()),
        Value::N(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}
