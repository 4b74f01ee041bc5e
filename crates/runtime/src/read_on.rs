//! Reading to the end: the one way to take more of a selection than a page.

use singlet_plan::read::{OneRow, one_row};
use singlet_store::Consumed;

use crate::error::RuntimeError;
use crate::find::{Onward, Reading};
use crate::scope::Attributes;

/// A selection, page by page until there are no more rows.
pub(crate) struct SelectionWalk<'a> {
    reading: Reading<'a>,
    onward: Onward,
    rounds: usize,
    /// What it cost so far.
    pub consumed: Consumed,
}

/// Rows that no cursor goes on from: all that were asked for, or all that there are.
#[derive(Debug, Default)]
pub(crate) struct WholeRows {
    pub rows: Vec<Attributes>,
    pub consumed: Consumed,
}

impl<'a> SelectionWalk<'a> {
    /// From the beginning. `requests: ..n` ends pages, and there is none here to end.
    pub fn new(reading: Reading<'a>) -> Self {
        SelectionWalk {
            reading: Reading {
                requests_max: None,
                ..reading
            },
            onward: Onward::Start,
            rounds: 0,
            consumed: Consumed::default(),
        }
    }

    /// All of it: no range is left for later.
    pub fn whole(reading: Reading<'a>) -> Self {
        SelectionWalk::new(Reading {
            is_whole: true,
            ..reading
        })
    }

    /// Some of the next rows, perhaps none; nothing at the end.
    pub async fn next(&mut self, limit: usize) -> Result<Option<Vec<Attributes>>, RuntimeError> {
        // An empty page is not the end, so nothing but this is.
        if self.onward == Onward::End {
            return Ok(None);
        }
        // Over all pages: each of them is bounded by itself and would begin anew.
        if self.rounds >= self.reading.bounds().rounds_max {
            return Err(self.reading.reads_on_and_on());
        }
        let Reading { name, budget, .. } = self.reading;
        // Before a page, for it is what takes time; rows are counted after it, when it is known how many there were.
        budget.check_time(name, self.reading.bounds())?;
        let limit = limit.min(self.reading.bounds().rows_per_call);
        let found = self.reading.page(limit, &self.onward).await?;
        budget.check_rows(name, self.reading.bounds())?;
        self.consumed += found.consumed;
        self.rounds += found.rounds;
        // Only now: a page that failed is not gone past.
        self.onward = found.onward;
        Ok(Some(found.rows))
    }

    async fn gathered(mut self, most: usize) -> Result<WholeRows, RuntimeError> {
        let mut rows = Vec::new();
        while rows.len() < most
            && let Some(more) = self.next(most - rows.len()).await?
        {
            rows.extend(more);
        }
        Ok(WholeRows {
            rows,
            consumed: self.consumed,
        })
    }
}

/// The first rows: `most` of them, or all where there are fewer.
pub(crate) fn first_rows(reading: Reading<'_>, most: usize) -> impl Future<Output = Result<WholeRows, RuntimeError>> {
    SelectionWalk::new(reading).gathered(most)
}

/// All rows, if they are not more than can be held at once.
pub(crate) async fn all_rows(reading: Reading<'_>, most: usize) -> Result<WholeRows, RuntimeError> {
    // One more than may be, so that too many can be told from exactly as many.
    let found = SelectionWalk::whole(reading).gathered(most.saturating_add(1)).await?;
    match found.rows.len() <= most {
        true => Ok(found),
        false => Err(too_many(reading.name, most)),
    }
}

/// The one row of a selection, if there is one.
///
/// # Errors
///
/// [`RuntimeError::Several`] where there is a second one.
pub(crate) async fn only_row(reading: Reading<'_>) -> Result<(Option<Attributes>, Consumed), RuntimeError> {
    let found = first_rows(reading, rows_of_get(&reading)).await?;
    Ok((one_of_get(reading.name, found.rows)?, found.consumed))
}

/// How many rows a `get` looks for: a second one, unless the model keeps it from being there.
pub(crate) fn rows_of_get(reading: &Reading<'_>) -> usize {
    match one_row(reading.model, reading.selection, reading.plan) {
        OneRow::Kept => 1,
        OneRow::Generated | OneRow::Unproven => 2,
    }
}

/// The one row of a `get`; a second one is refused.
pub(crate) fn one_of_get(name: &str, rows: Vec<Attributes>) -> Result<Option<Attributes>, RuntimeError> {
    let mut rows = rows.into_iter();
    match (rows.next(), rows.next()) {
        // Never the first of them: which it is would depend on the order of keys.
        (_, Some(_)) => Err(RuntimeError::Several(name.to_owned())),
        (row, None) => Ok(row),
    }
}

/// What a request is refused with that has more rows than can be held.
pub(crate) fn too_many(name: &str, rows_max: usize) -> RuntimeError {
    RuntimeError::Request(format!("`{name}` would read more than {rows_max} rows"))
}
