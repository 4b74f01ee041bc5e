//! A table and a request for which a write is done, or all but done.
//!
//! What is drawn at random seldom meets all that a deep write asks of several rows. So rows are mended until the write goes through,
//! by what the oracle says stands in its way; then, now and then, one thing is changed again, so that one clause alone decides.

use singlet_item::Value;
use singlet_model::model::{Entity, Kept, Write};
use singlet_model::types::EntityId;
use singlet_runtime::{Attributes, WriteRequest};
use singlet_values as values;

use super::hints::Hints;
use super::request::{RequestDraw, entities_of_write};
use super::table::{Judge, ProbeTable, TableDraw};
use crate::writes::ExpectedOutcome;
use crate::writes::mends::{Mend, Trace, Which};
use crate::writes::oracle::Oracle;

/// How often something is mended.
const MENDS_MAX: usize = 24;

/// How many of a hundred that are done are mended on, so that more of their steps are taken.
const MORE_STEPS_PERCENT: u8 = 60;

/// How many requests are begun with.
const REQUESTS_MAX: usize = 8;

/// The number of an operation that is not done.
const NUMBER_OF_NONE: u64 = 1_000_000_000;

/// Mends a table that was drawn; what is returned would be done on it, or nearly.
pub(super) fn mended_request(draw: &mut TableDraw<'_>, write: &Write, hints: &Hints) -> Option<WriteRequest> {
    let about = entities_of_write(draw.judge.model, write);
    let before = draw.table.clone();
    for _ in 0..REQUESTS_MAX {
        let mut requests = RequestDraw::new(draw.judge, hints, draw.values.rng.fork(), draw.table.now);
        let request = requests.write(write, &about, &draw.table.rows);
        if let Some((request, touched)) = mend(draw, write, request) {
            if draw.values.percent_chance(35) {
                spoil(draw, &touched);
            }
            return Some(request);
        }
        draw.table = before.clone();
    }
    None
}

fn look(judge: &Judge<'_>, table: &ProbeTable, write: &Write, request: &WriteRequest) -> (ExpectedOutcome, Trace) {
    let trace = Trace::kept_trace();
    let mut oracle = Oracle::default();
    oracle.rows = table.rows.clone();
    let model = (&**judge.model, judge.setting);
    let meant = oracle.meant_traced(model, write, request, NUMBER_OF_NONE, &trace);
    (meant.outcome, trace)
}

fn mend(draw: &mut TableDraw<'_>, write: &Write, mut request: WriteRequest) -> Option<(WriteRequest, Vec<Which>)> {
    let mut done: Option<(ProbeTable, WriteRequest, Vec<Which>)> = None;
    for _ in 0..MENDS_MAX {
        let (outcome, trace) = look(draw.judge, &draw.table, write, &request);
        let mut mends = match outcome {
            ExpectedOutcome::Done { .. } => {
                done = Some((draw.table.clone(), request.clone(), trace.touched_rows()));
                // Steps that are not taken are tried too, one after the other.
                let skipped = trace.skipped_mends();
                if !draw.values.percent_chance(MORE_STEPS_PERCENT) {
                    break;
                }
                skipped
            }
            _ => trace.possible_mends(),
        };
        draw.values.rng.shuffle(&mut mends);
        if !mends
            .iter()
            .any(|mend| apply(draw, write, &mut request, mend).is_some())
        {
            break;
        }
    }
    let (table, request, touched) = done?;
    draw.table = table;
    Some((request, touched))
}

/// Changes one row that an operation looked at in one attribute, one that conditions look at.
fn spoil(draw: &mut TableDraw<'_>, touched: &[Which]) {
    let there: Vec<usize> = touched.iter().filter_map(|which| draw.position(which)).collect();
    let Some(at) = draw.values.rng.choice(there) else {
        return;
    };
    let Some((id, mut row)) = draw.table.rows.get(at).cloned() else {
        return;
    };
    let Some(entity) = draw.judge.model.entity(id).filter(|entity| entity.history.is_none()) else {
        return;
    };
    draw.change_something(entity, &mut row);
    if let Some(row) = draw.completed(entity, row) {
        draw.try_row(Some(at), id, Some(row));
    }
}

fn apply(draw: &mut TableDraw<'_>, write: &Write, request: &mut WriteRequest, mend: &Mend) -> Option<()> {
    match mend {
        Mend::Add(id, known) => {
            let entity = draw.judge.model.entity(*id)?;
            add(draw, entity, known)
        }
        Mend::Remove(which) => {
            let at = draw.position(which)?;
            draw.try_row(Some(at), which.0, None)
        }
        Mend::Set(which, name, value) => change(draw, which, name, &mut |_, entity, row| {
            let ty = &entity.attribute(name)?.ty;
            match value {
                Some(value) => row.insert(name.clone(), values::checked_value(value, ty).ok()?),
                None => row.remove(name),
            };
            Some(())
        }),
        Mend::Other(which, name) => change(draw, which, name, &mut |draw, entity, row| {
            draw.change_attribute(entity, entity.attribute(name)?, row);
            Some(())
        }),
        Mend::Argument(name, value) => {
            let arg = write.args.iter().find(|arg| arg.name == *name)?;
            request
                .args
                .insert(name.clone(), values::checked_value(value, &arg.ty).ok()?);
            Some(())
        }
        Mend::Claim(name, value) => {
            value.as_str()?;
            let known = request.caller.claims.get_mut(name)?;
            *known = value.clone();
            Some(())
        }
    }
}

type Change<'c> = dyn FnMut(&mut TableDraw<'_>, &Entity, &mut Attributes) -> Option<()> + 'c;

fn change(draw: &mut TableDraw<'_>, which: &Which, name: &str, edit: &mut Change<'_>) -> Option<()> {
    let at = draw.position(which)?;
    let (id, mut row) = draw.table.rows.get(at).cloned()?;
    let entity = draw.judge.model.entity(id)?;
    let attribute = entity.attribute(name)?;
    if attribute.is.is_some() || attribute.copy.is_some() {
        return None;
    }
    let state_of = entity.states.as_ref().is_some_and(|states| states.of == name);
    edit(draw, entity, &mut row)?;
    if state_of {
        let state = row.get(name).and_then(Value::as_str)?.to_owned();
        draw.put_in_state(entity, &mut row, &state);
    }
    let row = draw.completed(entity, row)?;
    draw.try_row(Some(at), id, Some(row))
}

/// A new row with values that are known.
fn add(draw: &mut TableDraw<'_>, entity: &Entity, known: &Attributes) -> Option<()> {
    // The row that is read is that of its source.
    let source = draw.judge.model.source_of(entity);
    let mut row = draw.row(source)?;
    for (name, value) in known {
        let attribute = source.attribute(name)?;
        row.insert(name.clone(), values::checked_value(value, &attribute.ty).ok()?);
    }
    if let Some(states) = &source.states
        && let Some(state) = row.get(&states.of).and_then(Value::as_str).map(str::to_owned)
    {
        draw.put_in_state(source, &mut row, &state);
    }
    let row = draw.completed(source, row)?;
    match &source.history {
        Some(history) => {
            let before = draw.table.rows.len();
            draw.add_versions(source, history, row);
            (draw.table.rows.len() > before).then_some(())
        }
        None => draw.try_row(None, source.id, Some(row)),
    }
}

impl TableDraw<'_> {
    /// Puts a row in the place of another, beside all, or takes one away, where the table is still one that the model allows.
    fn try_row(&mut self, at: Option<usize>, id: EntityId, row: Option<Attributes>) -> Option<()> {
        let mut table = self.table.clone();
        match (at, row) {
            (Some(at), Some(row)) => *table.rows.get_mut(at)? = (id, row),
            (Some(at), None) => {
                table.rows.remove(at);
            }
            (None, Some(row)) => table.rows.push((id, row)),
            (None, None) => return None,
        }
        if self.breaks_copy(at, id, &table) || !self.judge.allows_table(&table) {
            return None;
        }
        self.table = table;
        Some(())
    }

    /// Whether a row that others repeat would no longer be as they have it.
    fn breaks_copy(&self, at: Option<usize>, id: EntityId, changed: &ProbeTable) -> bool {
        let Some((_, before)) = at.and_then(|at| self.table.rows.get(at)) else {
            return false;
        };
        let is_gone = changed.rows.len() < self.table.rows.len();
        let after = at.and_then(|at| changed.rows.get(at)).filter(|_| !is_gone);
        let attributes = self.judge.model.entities.iter().flat_map(|entity| &entity.attributes);
        let copies = attributes.filter_map(|attribute| attribute.copy.as_ref());
        let mut followed = copies.filter(|copy| copy.entity == id && copy.kept == Kept::Transaction);
        followed.any(|copy| after.map(|(_, row)| row.get(&copy.attribute)) != Some(before.get(&copy.attribute)))
    }
}
