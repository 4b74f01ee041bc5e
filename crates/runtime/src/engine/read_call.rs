//! One read on its way: from the plan for the arguments that were sent to the shape of the answer. What it is made of (names, rows that
//! come beside, counts, groups) has files of its own.

use std::collections::BTreeMap;

use singlet_item::Value;
use singlet_model::evaluate::evaluate;
use singlet_model::expression::Expr;
use singlet_model::model::{HIGHLIGHTS, Read, Return, Selection, SelectionKind};
use singlet_plan::Bounds;
use singlet_plan::read::{Combination, PartPlan, ReadPlan, SelectionPlan};
use singlet_store::Consumed;

use super::asked::CheckedRequest;
use super::prepared::AllowClauses;
use super::watched::Watched;
use super::{Answer, Engine, Request};
use crate::budget::ReadBudget;
use crate::cursor::{Cursor, CursorScope};
use crate::error::RuntimeError;
use crate::find::{FoundRows, Onward, Reading};
use crate::read_on::{WholeRows, all_rows, first_rows, one_of_get, only_row, rows_of_get};
use crate::scope::{Attributes, Scope};
use crate::searched::row_highlights;

/// One read on its way.
pub(super) struct ReadCall<'a> {
    pub(super) engine: &'a Engine,
    pub(super) read: &'a Read,
    pub(super) plan: &'a ReadPlan,
    pub(super) lets: &'a [Option<SelectionPlan>],
    pub(super) admission: &'a AllowClauses,
    pub(super) now: i64,
    pub(super) args: &'a Attributes,
    pub(super) request: &'a Request,
    pub(super) bound: Attributes,
    pub(super) budget: ReadBudget<'a>,
    pub(super) consumed: Consumed,
    pub(super) watched: Option<&'a Watched>,
    /// For who watches: when time is the next to change one of the rows.
    pub(super) next_instant: Option<i64>,
}

impl<'a> ReadCall<'a> {
    pub(super) fn new(
        engine: &'a Engine,
        asked: &'a CheckedRequest<'a>,
        request: &'a Request,
        budget: ReadBudget<'a>,
    ) -> Self {
        ReadCall {
            engine,
            read: &asked.planned.read,
            plan: &asked.planned.plan,
            lets: &asked.prepared.lets,
            admission: &asked.prepared.admission,
            now: asked.now,
            args: &asked.args,
            request,
            bound: Attributes::new(),
            budget,
            consumed: Consumed::default(),
            watched: None,
            next_instant: None,
        }
    }

    /// The plan for the arguments that were sent. What is wrong with the request is said before any row is looked for.
    pub(super) fn begin(&self) -> Result<&'a Combination, RuntimeError> {
        let combination = sent_combination(self.read, self.plan, self.args)?;
        // Before anything is read, so that who may not ask costs nothing and learns nothing from how long it takes.
        self.admit()?;
        Ok(combination)
    }

    /// The answer that is one row, or that it is missing.
    pub(super) fn answer_of(&self, selection: &Selection, row: Option<Attributes>) -> Result<Answer, RuntimeError> {
        match (row, selection.kind) {
            (Some(row), _) => self.returned(row).map(|value| self.shaped(value)),
            (None, SelectionKind::Get { optional: true }) => self.returned_of_nothing(),
            (None, _) => Err(RuntimeError::NotFound),
        }
    }

    /// What few reads ask for is boxed: a call has room for the largest of its parts, and is moved with it.
    pub(super) async fn answer(
        &mut self,
        cursor: Option<Cursor>,
        belongs: &CursorScope<'_>,
    ) -> Result<Answer, RuntimeError> {
        let combination = self.begin()?;
        for (bound, plan) in self.read.lets.iter().zip(self.lets) {
            self.bind(bound, plan.as_ref()).await?;
        }
        // After all of `let`, since it is about the rows that they have read.
        self.admit_by_rows()?;
        if let Some(Err(apart)) = &combination.together {
            let name = &self.read.name;
            let message = format!("`{name}` cannot be read in one transaction: {apart}");
            return Err(RuntimeError::Request(message));
        }
        let parts = combination.parts.as_slice();
        if let Some(each) = &self.read.each {
            let Some(part) = parts.first() else {
                return Ok(Answer::default());
            };
            return Box::pin(self.each(each, &part.plan)).await;
        }
        let own = parts.iter().find(|part| part.name.is_none()).map(|part| &part.plan);
        let (Some(selection), Some(plan)) = (&self.read.selection, own) else {
            let mut shared = self.read_shared(combination, cursor.as_ref()).await?;
            let groups = Box::pin(self.groups(parts, None, shared.as_mut(), cursor, belongs));
            let (value, next) = groups.await?;
            return Ok(Answer {
                next,
                ..self.shaped(value)
            });
        };
        match selection.kind {
            SelectionKind::Get { .. } => self.get((selection, plan), combination, cursor, belongs).await,
            SelectionKind::Find => self.find((selection, plan), parts, cursor, belongs).await,
            SelectionKind::Count => {
                let value = self.count(selection, plan, None).await?;
                Ok(self.shaped(value))
            }
        }
    }

    pub(super) fn shaped(&self, value: Value) -> Answer {
        Answer {
            value: Some(value),
            ..Answer::default()
        }
    }

    pub(super) fn bounds(&self) -> &'a Bounds {
        self.engine.bounds()
    }

    pub(super) fn scope(&self) -> Scope<'_> {
        Scope {
            setting: &self.engine.setting,
            now: self.now,
            args: self.args,
            caller: &self.request.caller,
            attributes: None,
            row: None,
            bound: &self.bound,
        }
    }

    pub(super) fn reading<'r>(
        &'r self,
        selection: &'r Selection,
        plan: &'r SelectionPlan,
        allow: Option<&'r Expr>,
    ) -> Reading<'r> {
        Reading {
            name: &self.read.name,
            model: &self.engine.model,
            store: &self.engine.store,
            scope: self.scope(),
            selection,
            plan,
            allow,
            // The read or the selection: that an index cannot be read strongly is seen to where its ranges are opened.
            consistent: selection.consistent || self.read.consistent.is_some(),
            requests_max: self.requests_max(),
            is_whole: false,
            search: self.engine.search.get(),
            budget: &self.budget,
        }
    }

    pub(super) async fn get(
        &mut self,
        (selection, plan): (&'a Selection, &'a SelectionPlan),
        combination: &'a Combination,
        cursor: Option<Cursor>,
        belongs: &CursorScope<'_>,
    ) -> Result<Answer, RuntimeError> {
        let allow = self.admission.to_a_row.as_ref();
        let mut shared = self.read_shared(combination, cursor.as_ref()).await?;
        let at_hand = match &mut shared {
            Some(shared) => {
                let reading = self.reading(selection, plan, allow);
                // Two, where nothing keeps a second row from being there: one would hide it.
                shared.take_rows(None, &reading, rows_of_get(&reading))?
            }
            None => None,
        };
        let row = match at_hand {
            Some(found) => one_of_get(&self.read.name, found.rows)?,
            None => self.one_row(selection, plan, allow).await?,
        };
        let row = match row {
            Some(row) if combination.parts.len() > 1 => row,
            row => return self.answer_of(selection, row),
        };
        // What `return` makes of the row it makes before anything else is read; the row itself is answered when nobody needs it any more.
        let made = match &self.read.returns {
            Return::Usual | Return::Nothing => None,
            Return::Value(_) | Return::Fields(_) => Some(self.returned_in(self.scope().with_row(&row), Some(&row))?),
        };
        let groups = Box::pin(self.groups(&combination.parts, Some(&row), shared.as_mut(), cursor, belongs));
        let (groups, next) = groups.await?;
        let mut value = made.unwrap_or(Value::M(row));
        if let (Value::M(map), Value::M(groups)) = (&mut value, groups) {
            map.extend(groups);
        }
        Ok(Answer {
            next,
            ..self.shaped(value)
        })
    }

    pub(super) async fn find(
        &mut self,
        (selection, plan): (&'a Selection, &'a SelectionPlan),
        parts: &'a [PartPlan],
        cursor: Option<Cursor>,
        belongs: &CursorScope<'_>,
    ) -> Result<Answer, RuntimeError> {
        let first = cursor.is_none();
        let reading = self.reading(selection, plan, self.admission.to_a_row.as_ref());
        let marked = selection
            .matching
            .as_ref()
            .filter(|matching| !matching.highlight.is_empty());
        let marked = match marked {
            Some(matching) => Some((matching, reading.word_query(matching)?)),
            None => None,
        };
        let (found, next) = match first && self.read.empty == Some(404) {
            // Only the first page: that a later one is empty is its end, and no missing row.
            true => self.page_with_rows(reading, belongs).await?,
            false => self.page(reading, cursor, belongs).await?,
        };
        self.consumed += found.consumed;
        // Before `return` and before what comes beside, for which the rows are consumed.
        if let Some(watched) = self.watched {
            // Of the rows as they are: `return` may leave out what says when they change.
            self.next_instant = watched.next_instant(self.engine, &found.rows, self.now);
        }
        let with = match parts.len() {
            0 | 1 => Vec::new(),
            _ => self.with_each_row(parts, &found.rows).await?,
        };
        let marks = marked.map(|(matching, query)| {
            let marks = found.rows.iter().map(|row| row_highlights(matching, &query, row));
            marks.collect::<Vec<Value>>()
        });
        let rows = found.rows.into_iter().map(|row| self.returned(row));
        let mut rows = rows.collect::<Result<Vec<Value>, RuntimeError>>()?;
        for (row, marks) in rows.iter_mut().zip(marks.into_iter().flatten()) {
            if let Value::M(row) = row {
                row.insert(HIGHLIGHTS.to_owned(), marks);
            }
        }
        for (row, groups) in rows.iter_mut().zip(with) {
            if let Value::M(row) = row {
                row.extend(groups);
            }
        }
        Ok(Answer {
            next,
            ..self.shaped(Value::L(rows))
        })
    }

    /// How many rows a page has.
    pub(super) fn page_rows(&self) -> Result<usize, RuntimeError> {
        let asked = self.request.limit.or(self.read.page.map(|page| page as usize));
        let most = self.bounds().page_rows_max;
        let page = asked.unwrap_or(self.bounds().page_rows_usual.min(most));
        // A page of no rows would give a cursor that never comes to an end.
        match (1..=most).contains(&page) {
            true => Ok(page),
            false => Err(RuntimeError::Request(format!("`limit` is from 1 to {most}"))),
        }
    }

    /// One page of a list, and the cursor of the next.
    pub(super) async fn page(
        &self,
        reading: Reading<'_>,
        cursor: Option<Cursor>,
        belongs: &CursorScope<'_>,
    ) -> Result<(FoundRows, Option<String>), RuntimeError> {
        let page = self.page_rows()?;
        let given = cursor.as_ref().map_or(0, |cursor| cursor.given);
        let left = reading
            .selection
            .limit
            // Over all pages: the limit is on the answer, and a page knows of the others by the cursor alone.
            .map_or(usize::MAX, |limit| limit.saturating_sub(given) as usize);
        let onward = cursor.map_or(Onward::Start, |cursor| Onward::At(cursor.positions));
        let mut found = reading.page(page.min(left), &onward).await?;
        let next = self.next(&mut found, given, left, belongs)?;
        Ok((found, next))
    }

    /// The first page of a list that must not be empty. That a page is empty says nothing; that it is the last one does.
    pub(super) async fn page_with_rows(
        &self,
        reading: Reading<'_>,
        belongs: &CursorScope<'_>,
    ) -> Result<(FoundRows, Option<String>), RuntimeError> {
        let left = reading.selection.limit.map_or(usize::MAX, |limit| limit as usize);
        let page = self.page_rows()?.min(left);
        let mut all = reading.page(page, &Onward::Start).await?;
        // An empty page says nothing: rows that have expired or that others have may leave it so.
        while all.rows.is_empty() && all.onward != Onward::End {
            if all.rounds >= self.bounds().rounds_max {
                return Err(reading.reads_on_and_on());
            }
            // Each page is bounded by itself, and there may be any number of them until a row is met.
            reading.budget.check_time(reading.name, reading.bounds())?;
            let more = reading.page(page, &all.onward).await?;
            reading.budget.check_rows(reading.name, reading.bounds())?;
            all.consumed += more.consumed;
            all.rounds += more.rounds;
            (all.rows, all.onward) = (more.rows, more.onward);
        }
        if all.rows.is_empty() {
            return Err(RuntimeError::NotFound);
        }
        let next = self.next(&mut all, 0, left, belongs)?;
        Ok((all, next))
    }

    /// The cursor of the next page, for which it takes the places where the ranges go on.
    pub(super) fn next(
        &self,
        found: &mut FoundRows,
        given: u64,
        left: usize,
        belongs: &CursorScope<'_>,
    ) -> Result<Option<String>, RuntimeError> {
        let Onward::At(positions) = std::mem::take(&mut found.onward) else {
            return Ok(None);
        };
        // The limit of the read is reached, though rows are left: a cursor here would give more than it says.
        if found.rows.len() >= left {
            return Ok(None);
        }
        let cursor = Cursor {
            now: self.now,
            positions,
            given: given + found.rows.len() as u64,
        };
        self.engine.sealer.seal_cursor(&cursor, belongs).map(Some)
    }

    /// The one row of a selection, if there is one.
    pub(super) async fn one_row(
        &mut self,
        selection: &Selection,
        plan: &SelectionPlan,
        allow: Option<&Expr>,
    ) -> Result<Option<Attributes>, RuntimeError> {
        let (row, consumed) = only_row(self.reading(selection, plan, allow)).await?;
        self.consumed += consumed;
        Ok(row)
    }

    /// The answer where a row that may be missing is: nothing, unless `return` makes something of that.
    pub(super) fn returned_of_nothing(&self) -> Result<Answer, RuntimeError> {
        match &self.read.returns {
            Return::Usual | Return::Nothing => Ok(Answer::default()),
            Return::Value(_) | Return::Fields(_) => Ok(self.shaped(self.returned_in(self.scope(), None)?)),
        }
    }

    /// The answer's shape for one row; for the rows of one element, which `rows` names, there is none.
    pub(super) fn returned(&self, row: Attributes) -> Result<Value, RuntimeError> {
        match &self.read.returns {
            Return::Usual | Return::Nothing => Ok(Value::M(row)),
            Return::Value(_) | Return::Fields(_) => self.returned_in(self.scope().with_row(&row), Some(&row)),
        }
    }

    /// What `return` gives in a scope.
    pub(super) fn returned_in(&self, scope: Scope<'_>, row: Option<&Attributes>) -> Result<Value, RuntimeError> {
        Ok(match &self.read.returns {
            Return::Usual | Return::Nothing => row.cloned().map_or(Value::Null, Value::M),
            Return::Value(expr) => evaluate(expr, &scope)?.unwrap_or(Value::Null),
            Return::Fields(fields) => {
                let mut map = BTreeMap::new();
                for (name, expr) in fields {
                    if let Some(value) = evaluate(expr, &scope)? {
                        map.insert(name.clone(), value);
                    }
                }
                Value::M(map)
            }
        })
    }
}

/// The plan for the optional arguments that were sent.
pub(super) fn sent_combination<'p>(
    read: &Read,
    plan: &'p ReadPlan,
    args: &Attributes,
) -> Result<&'p Combination, RuntimeError> {
    let optional: Vec<&str> = read
        .args
        .iter()
        .filter(|arg| arg.optional && arg.default.is_none() && args.contains_key(&arg.name))
        .map(|arg| arg.name.as_str())
        .collect();
    let known = plan.combinations.iter().find(|known| {
        // Exactly those that were sent: a plan for fewer would leave a condition out, and answer more than was asked for.
        known.sent.len() == optional.len() && known.sent.iter().all(|name| optional.contains(&name.as_str()))
    });
    known.ok_or_else(|| {
        let all = plan
            .combinations
            .iter()
            .map(|known| format!("[{}]", known.sent.join(", ")));
        let all: Vec<String> = all.collect();
        let read = &read.name;
        RuntimeError::Request(format!("`{read}` takes these arguments together: {}", all.join(" ")))
    })
}

/// The rows that come with a row: to their limit, or all. There is no cursor with which a cut list would go on.
pub(super) async fn beside_rows(reading: Reading<'_>, most: usize) -> Result<WholeRows, RuntimeError> {
    match (reading.selection.kind, reading.selection.limit) {
        // Before the limit: that there are two rows where one is meant has to be refused, and not cut.
        (SelectionKind::Get { .. }, _) => {
            let (row, consumed) = only_row(reading).await?;
            Ok(WholeRows {
                rows: row.into_iter().collect(),
                consumed,
            })
        }
        (_, None) => all_rows(reading, most).await,
        (_, Some(_)) => first_rows(reading, most).await,
    }
}
