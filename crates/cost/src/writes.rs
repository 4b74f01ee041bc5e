//! What a write is expected to consume: the rows that it reads first, and those that it writes with their index entries.

use std::collections::BTreeSet;

use singlet_model::Model;
use singlet_model::expression::ExprKind;
use singlet_model::model::{IndexId, LetValue, Return, Step, StepKind, Write};
use singlet_plan::read::{SHARE_OF_A_CONDITION, SelectionPlan, elements_expected};
use singlet_plan::write::{Loops, PartKind, StepPlan, WriteCosts, WrittenPart, answered_steps, plan_write};

use crate::operations::{Part, add_part};
use crate::reads::{found_parts, query_parts, strong_get};
use crate::sizes::{entry_bytes, entry_share, row_bytes, write_blocks};

/// How deep groups and named steps are followed.
const STEP_DEPTH_MAX: usize = 16;

/// What one run of a write consumes, by place and entity.
pub(crate) fn write_parts<'a>(model: &'a Model, costs: &WriteCosts<'a>, write: &'a Write) -> Vec<Part> {
    let mut parts = Vec::new();
    let written = costs.written_parts(write);
    // One row alone comes back with its change; a transaction gives none back.
    let rows = written.iter().filter(|part| part.index.is_none());
    let is_alone = rows.clone().count() == 1 && rows.clone().all(|part| part.loops.loop_lists().next().is_none());
    for part in read_first(model, write, is_alone) {
        add_part(&mut parts, part);
    }
    for written in written {
        add_part(&mut parts, expected_part(model, &written));
    }
    if write.every.is_some() {
        // How far the clock came is noted after each run, and before one in chunks too.
        let notes = if write.bulk { 2.0 } else { 1.0 };
        add_part(
            &mut parts,
            Part {
                index: None,
                entity: None,
                read: 0.0,
                write: notes,
            },
        );
    }
    parts
}

fn expected_part(model: &Model, written: &WrittenPart<'_>) -> Part {
    let index = written.index.and_then(|name| index_named(model, name));
    let each = expected_units(model, written, index);
    let blocks = match (written.kind, written.entity, index) {
        (PartKind::Guards | PartKind::Looked | PartKind::Progress, ..) | (_, None, _) => 1.0,
        (_, Some(entity), Some(index)) => write_blocks(entry_bytes(model, entity, index)),
        (_, Some(entity), None) => write_blocks(row_bytes(model, entity)),
    };
    Part {
        index,
        entity: written
            .entity
            .filter(|_| written.kind == PartKind::Row)
            .map(|entity| entity.id),
        read: 0.0,
        write: each * blocks * times(model, written),
    }
}

/// The middle of what is possible, or the most where a row changes its state; an entry that may be there counts as often as rows have one.
fn expected_units(model: &Model, written: &WrittenPart<'_>, index: Option<IndexId>) -> f64 {
    // A step that moves a row to another state changes what hangs on it; what others change is open.
    let middle = match written.moves {
        true => written.units.1 as f64,
        false => (written.units.0 + written.units.1) as f64 / 2.0,
    };
    let entry = written.entity.zip(index).and_then(|(entity, index)| {
        let entry = entity.index_entry(index)?;
        Some(entry_share(model, entity, entry))
    });
    match (written.units, entry) {
        ((0, 1), Some(share)) if share < 1.0 => share,
        _ => middle,
    }
}

fn times(model: &Model, written: &WrittenPart<'_>) -> f64 {
    let condition = if written.conditional { SHARE_OF_A_CONDITION } else { 1.0 };
    let mut loops = written.loops.loop_lists().peekable();
    if loops.peek().is_some() {
        return condition * loop_turns(model, written.loops);
    }
    let least = written.times.0 as f64;
    match (written.kind, written.times.1) {
        (PartKind::Looked, Some(most)) => condition * (least + most as f64) / 2.0,
        (PartKind::Looked, None) => condition * least.max(1.0),
        (PartKind::Progress, _) => condition * least,
        _ => condition,
    }
}

/// How many turns loops in one another are expected to have.
pub(crate) fn loop_turns(model: &Model, loops: Loops<'_>) -> f64 {
    loops.loop_lists().map(|list| elements_expected(model, list)).product()
}

fn index_named(model: &Model, name: &str) -> Option<IndexId> {
    let at = model.table.indexes.iter().position(|index| index.name == name)?;
    Some(IndexId(u32::try_from(at).ok()?))
}

/// The rows that are read before anything is decided: each once, under whichever name. So is the row that is answered, where its change gives it not back.
fn read_first(model: &Model, write: &Write, is_alone: bool) -> Vec<Part> {
    let plan = plan_write(model, write);
    let is_answered = matches!(write.returns, Return::Usual) && !write.is_uncalled() && !is_alone;
    let answered = answered_steps(write).steps.into_iter().next();
    let mut reading = Reading {
        model,
        write,
        answered: answered.filter(|step| is_answered && matches!(step.kind, StepKind::Update(_))),
        read: BTreeSet::new(),
        parts: Vec::new(),
    };
    for bound in &write.lets {
        let Some(row) = plan.rows.get(&bound.name).filter(|row| row.is_read()) else {
            continue;
        };
        match &row.found {
            Some(found) => reading.found_row(found),
            None => reading.get_bound(&bound.name, 1.0),
        }
        reading.read.insert(bound.name.clone());
    }
    reading.steps(&write.steps, &plan.steps, (1.0, 0));
    reading.parts
}

struct Reading<'a> {
    model: &'a Model,
    write: &'a Write,
    /// The step whose row is answered, and read for that.
    answered: Option<&'a Step>,
    /// The names of rows that have been read.
    read: BTreeSet<String>,
    parts: Vec<Part>,
}

impl Reading<'_> {
    /// A row whose key is not known is found, strongly where the table can, and then got by its key.
    fn found_row(&mut self, found: &SelectionPlan) {
        for query in &found.queries {
            let of_table = if query.index.is_none() { 2.0 } else { 1.0 };
            self.parts.extend(
                query_parts(query, 1.0)
                    .into_iter()
                    .map(|part| times_over(part, of_table)),
            );
            let entity = self
                .model
                .entity(query.entity)
                .map(|entity| self.model.source_of(entity).id);
            if let Some(source) = entity.filter(|source| query.index.is_some() || *source != query.entity) {
                self.parts.push(strong_get(self.model, source));
            }
        }
    }

    fn steps(&mut self, steps: &[Step], plans: &[StepPlan], (times, depth): (f64, usize)) {
        if depth > STEP_DEPTH_MAX {
            return;
        }
        for (step, plan) in steps.iter().zip(plans) {
            if let Some(found) = &plan.rows {
                self.parts
                    .extend(found_parts(found).into_iter().map(|part| times_over(part, times)));
            }
            let loops = step
                .repeat
                .as_ref()
                .map_or(1.0, |(_, list)| elements_expected(self.model, list));
            let condition = if step.when.is_some() { SHARE_OF_A_CONDITION } else { 1.0 };
            let times = times * loops * condition;
            if let (Some((name, _)), Some(_)) = (&step.repeat, &plan.rows) {
                self.read.insert(name.clone());
            }
            let inner: &[Step] = match &step.kind {
                StepKind::Group(inner) => inner,
                StepKind::Call { step: name, .. } => {
                    let named = self.model.steps.iter().find(|named| named.name == *name);
                    named.map_or(&[][..], |named| &named.steps)
                }
                _ => &[],
            };
            self.steps(inner, &plan.inner, (times, depth + 1));
            let is_answered = self.answered.is_some_and(|answered| std::ptr::eq(answered, step));
            if plan.own.is_read() || plan.own.needed.is_some() || step.or_skip {
                self.own_row(step, times);
            } else if is_answered {
                self.own_row(step, 1.0);
            }
        }
    }

    /// The row that a step names: by a name that may have been read already, or by its key.
    fn own_row(&mut self, step: &Step, times: f64) {
        let target = match &step.kind {
            StepKind::Update(target) | StepKind::Delete(target) | StepKind::Upsert(target) => Some(target),
            _ => None,
        };
        let name = target.and_then(|target| match &target.kind {
            ExprKind::Bound(name) => Some(name),
            _ => None,
        });
        if let Some(name) = name {
            if self.read.insert(name.clone()) {
                self.get_bound(name, times);
            }
            return;
        }
        let entity = step.entity().and_then(|id| self.model.entity(id));
        if let Some(entity) = entity {
            self.parts.push(times_over(strong_get(self.model, entity.id), times));
        }
    }

    fn get_bound(&mut self, name: &str, times: f64) {
        let bound = self.write.lets.iter().find(|bound| bound.name == name);
        if let Some(LetValue::Value(expr)) = bound.map(|bound| &bound.value)
            && let ExprKind::Entity { entity, .. } = &expr.kind
        {
            self.parts.push(times_over(strong_get(self.model, *entity), times));
        }
    }
}

fn times_over(part: Part, times: f64) -> Part {
    Part {
        read: part.read * times,
        ..part
    }
}
