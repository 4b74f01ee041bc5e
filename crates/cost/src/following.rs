//! What is done beside operations by whoever follows changes and clocks: looking for what is due, noting how far it is, keeping
//! timers, tallies and deliveries. The arithmetic is that of `docs/changes.md`, for one process that follows.

use std::collections::BTreeSet;

use singlet_model::Model;
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Entity, IndexEntry, Step, StepKind, Tally, Trigger, TriggerEvent, Webhook};
use singlet_plan::read::{SHARE_OF_A_CONDITION, share_of_condition, values_of_expression};
use singlet_plan::write::{Turn, changed_attributes, entered_states, step_is_followed, write_turns};

use crate::bill::STREAM_READS_PER_SECOND;
use crate::operations::{Growth, Operation, OperationKind, Part};
use crate::sizes::{entry_bytes, entry_share, present_share, row_bytes, write_blocks};
use crate::writes::loop_turns;

/// How often a lease is renewed, a second: it is read, and written.
const LEASES_PER_SECOND: f64 = 0.1;
/// How often it is looked for timers and deliveries that are due, a second.
const LOOKS_PER_SECOND: f64 = 1.0;
/// The minutes whose timers are looked at each time, strongly: this one, and those by which clocks may differ.
const TIMER_MINUTES: f64 = 3.0;
/// How often it is noted up to which minute timers were fired, a second.
const TIMER_NOTES_PER_SECOND: f64 = 1.0 / 60.0;
/// How often it is looked whether a tally is to be counted anew, a second.
const TALLY_LOOKS_PER_SECOND: f64 = 1.0 / 15.0;
/// A small row in a transaction.
const ROW_UNITS: f64 = 2.0;
/// A delivery and its record in a transaction, and its going once it was taken.
const DELIVERY_UNITS: f64 = 2.0 * ROW_UNITS + 1.0;
/// A timer that is set, and that goes.
const TIMER_UNITS: f64 = 2.0;

/// What follows the writes of a model, as often as they run.
pub(crate) fn following_operations(model: &Model, operations: &[Operation]) -> Vec<Operation> {
    let rates = Rates { model, operations };
    let mut all = Vec::new();
    all.extend(looking(model));
    if model.table.stream.is_some() {
        all.extend(positions(&rates));
        all.extend(timers(&rates));
        all.extend(stored_by_time(&rates));
        all.extend(model.tallies.iter().filter_map(|tally| kept_tally(&rates, tally)));
        all.extend(model.webhooks.iter().map(|webhook| deliveries(&rates, webhook)));
    }
    all
}

fn operation(name: String, happening: Happening, growth: Growth, parts: Vec<Part>) -> Operation {
    Operation {
        name,
        kind: OperationKind::Following,
        rate: happening.rate,
        peak: happening.peak,
        growth,
        top_share: None,
        parts,
    }
}

fn on_table(read: f64, write: f64) -> Part {
    Part {
        index: None,
        entity: None,
        read,
        write,
    }
}

/// What is asked for by the second, whether anything happens or not.
fn looking(model: &Model) -> Option<Operation> {
    let follows = model.followed_changes().next().is_some();
    let ticks = model.scheduled_writes().next().is_some();
    let leases = [follows, ticks, !model.tallies.is_empty(), !model.webhooks.is_empty()];
    let leases = leases.into_iter().filter(|is_held| *is_held).count() as f64 * LEASES_PER_SECOND;
    let timed = model.entities.iter().any(|entity| model.is_timed(entity));
    let timers = if timed { LOOKS_PER_SECOND * TIMER_MINUTES } else { 0.0 };
    let notes = if timed { TIMER_NOTES_PER_SECOND } else { 0.0 };
    let deliveries = model.webhooks.len() as f64 * LOOKS_PER_SECOND;
    let tallies = model.tallies.len() as f64 * TALLY_LOOKS_PER_SECOND;
    let part = on_table(leases + timers + notes + deliveries + tallies, leases + notes);
    let each_second = Happening {
        rate: Some(1.0),
        peak: 1.0,
    };
    let name = "(looking for what is due)".to_owned();
    (part.read > 0.0).then(|| operation(name, each_second, Growth::None, vec![part]))
}

/// After each page of the stream that had changes, each follower notes how far it is; who keeps tallies in the transaction with the figures, where
/// any changed.
fn positions(rates: &Rates<'_>) -> Option<Operation> {
    let model = rates.model;
    let changes = rates.of(is_change);
    let tallied = rates.of(|step| {
        let counts = |tally: &Tally| step.entity() == Some(tally.entity);
        is_change(step) * f64::from(u8::from(model.tallies.iter().any(counts)))
    });
    let follows = model.followed_changes().next().is_some();
    let mut write = f64::from(u8::from(follows)) + f64::from(u8::from(!model.searches.is_empty()));
    if !model.tallies.is_empty() {
        let share = changes.rate.zip(tallied.rate).filter(|(all, _)| *all > 0.0);
        write += 1.0 + share.map_or(0.0, |(all, tallied)| tallied / all);
    }
    let growth = Growth::Slots(STREAM_READS_PER_SECOND);
    let name = "(positions in the stream)".to_owned();
    (write > 0.0).then(|| operation(name, changes, growth, vec![on_table(0.0, write)]))
}

/// A timer is set for each deadline, and goes at its instant, when the row is looked at.
fn timers(rates: &Rates<'_>) -> Option<Operation> {
    let model = rates.model;
    model.entities.iter().find(|entity| model.is_timed(entity))?;
    let set = rates.of(|step| {
        let entity = step.entity().and_then(|id| model.entity(id));
        let timed = entity.filter(|entity| model.is_timed(entity));
        timed.map_or(0.0, |entity| deadlines_set(model, entity, step))
    });
    let part = on_table(1.0, TIMER_UNITS);
    Some(operation("(timers)".to_owned(), set, Growth::Alike, vec![part]))
}

/// How many deadlines a step gives its row.
fn deadlines_set(model: &Model, entity: &Entity, step: &Step) -> f64 {
    let is_new = matches!(step.kind, StepKind::Create(_) | StepKind::Upsert(_));
    let changed = changed_attributes(model, step);
    let entered = entered_states(model, step);
    let is_followed = |event: fn(&TriggerEvent) -> bool| {
        let mut own = model.followed_changes().filter(|trigger| trigger.entity == entity.id);
        own.any(|trigger| event(&trigger.event))
    };
    let present = |expr: &Expr| {
        let names = expr.attributes().into_iter();
        names.map(|name| present_share(model, entity, name)).product::<f64>()
    };
    let touches = |expr: &Expr| expr.attributes().iter().any(|name| changed.contains(*name));
    let mut set = 0.0;
    for lapse in entity.states.iter().flat_map(|states| &states.lapses) {
        let begins = entity.states.as_ref().is_some_and(|states| states.start == lapse.from);
        let enters = entered.as_ref().is_none_or(|states| states.contains(&lapse.from));
        if is_new && begins || step.moves.is_some() && enters || step.moves.is_none() && touches(&lapse.at) {
            set += present(&lapse.at);
        }
    }
    if let Some(expires) = &entity.expires
        && is_followed(|event| matches!(event, TriggerEvent::Expire))
        && (is_new || touches(expires))
    {
        set += present(expires);
    }
    let reached: BTreeSet<&str> = model
        .followed_changes()
        .filter(|trigger| trigger.entity == entity.id)
        .filter_map(|trigger| match &trigger.event {
            TriggerEvent::Reach(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    let reached = reached.into_iter().filter(|name| is_new || changed.contains(*name));
    set + reached.map(|name| present_share(model, entity, name)).sum::<f64>()
}

/// Where a write runs after what time does, that is stored first: as often as the write runs.
fn stored_by_time(rates: &Rates<'_>) -> Option<Operation> {
    let model = rates.model;
    let is_stored = |trigger: &Trigger| model.is_timed_by(trigger) && !matches!(trigger.event, TriggerEvent::Reach(_));
    let mut parts = Vec::new();
    let mut all = Happening::default();
    for entity in &model.entities {
        let of_entity = model
            .triggered_writes()
            .filter(|(_, trigger)| trigger.entity == entity.id && is_stored(trigger));
        // Several writes after one lapse run after one change.
        let mut busiest: Option<(&Operation, &Trigger)> = None;
        for (write, trigger) in of_entity {
            let Some(own) = rates.operation(&write.name) else {
                continue;
            };
            if busiest.is_none_or(|(known, _)| known.rate.unwrap_or(0.0) < own.rate.unwrap_or(0.0)) {
                busiest = Some((own, trigger));
            }
        }
        if let Some((own, trigger)) = busiest {
            all.add(own, 1.0);
            parts.push((own.rate.unwrap_or(0.0), time_parts(model, entity, trigger)));
        }
    }
    if parts.is_empty() {
        return None;
    }
    // Of several entities, the mean by how often each is stored.
    let whole: f64 = parts.iter().map(|(rate, _)| rate).sum();
    let count = parts.len() as f64;
    let shares = parts.into_iter().flat_map(|(rate, own)| {
        let share = if whole > 0.0 { rate / whole } else { 1.0 / count };
        own.into_iter().map(move |part| Part {
            write: part.write * share,
            ..part
        })
    });
    let parts: Vec<Part> = shares.collect();
    Some(operation("(what time does)".to_owned(), all, Growth::Alike, parts))
}

/// The row as it is later, or its going, with its mirrors and entries. An expiry is written into the row before it goes.
fn time_parts(model: &Model, entity: &Entity, trigger: &Trigger) -> Vec<Part> {
    let expires = trigger.event == TriggerEvent::Expire;
    let mirrors: Vec<&Entity> = model.mirrors_of(entity.id).collect();
    let each = if mirrors.is_empty() { 1.0 } else { ROW_UNITS };
    let rows = std::iter::once(entity).chain(mirrors);
    let mut parts = Vec::new();
    for row in rows {
        let marked = if expires && row.id == entity.id { 1.0 } else { 0.0 };
        parts.push(Part {
            index: None,
            entity: Some(row.id),
            read: 0.0,
            write: (each + marked) * write_blocks(row_bytes(model, row)),
        });
        for entry in &row.index {
            let moves = if !expires && is_moved_by_lapse(entity, entry) {
                2.0
            } else {
                1.0
            };
            let blocks = write_blocks(entry_bytes(model, row, entry.index));
            parts.push(Part {
                index: Some(entry.index),
                entity: Some(row.id),
                read: 0.0,
                write: moves * blocks * entry_share(model, row, entry),
            });
        }
    }
    parts
}

/// Whether the entry of a row has another key when its state lapses.
fn is_moved_by_lapse(entity: &Entity, entry: &IndexEntry) -> bool {
    entry.key_choices().iter().any(|choice| {
        let parts = choice.keys.iter().flat_map(|key| &key.parts);
        let by_condition = choice.when.iter().flat_map(Expr::attributes);
        let mut names = parts.map(|part| part.root_attribute()).chain(by_condition);
        names.any(|name| entity.is_changed_by_lapse(name))
    })
}

/// Each page of changes writes the figures of every group that changed, in a transaction.
fn kept_tally(rates: &Rates<'_>, tally: &Tally) -> Option<Operation> {
    let model = rates.model;
    let entity = model.entity(tally.entity)?;
    let moved = rates.of(|step| match step.entity() == Some(tally.entity) {
        true => groups_moved(model, entity, tally, step),
        false => 0.0,
    });
    // What the clock makes of new rows is one group at a time.
    let by_clock = |expr: &Expr| {
        let mut names = expr.attributes().into_iter().filter_map(|name| entity.attribute(name));
        names.any(|attribute| attribute.default.as_ref().is_some_and(is_of_clock))
    };
    let groups = tally.by.iter().map(|group| match by_clock(&group.expr) {
        true => 1.0,
        false => values_of_expression(model, entity, &group.expr),
    });
    let groups: f64 = groups.product();
    let growth = Growth::Slots(STREAM_READS_PER_SECOND * groups);
    let name = format!("(tally {})", tally.name);
    Some(operation(name, moved, growth, vec![on_table(0.0, ROW_UNITS)]))
}

/// How many groups a step changes in a tally: that of a row which comes or goes, and two of one that moves.
fn groups_moved(model: &Model, entity: &Entity, tally: &Tally, step: &Step) -> f64 {
    let counted = tally
        .filter
        .as_ref()
        .map_or(1.0, |filter| share_of_condition(model, entity, filter));
    let changed = changed_attributes(model, step);
    let named = |expr: &Expr| -> Vec<String> {
        let names = expr.attributes().into_iter();
        names
            .filter(|name| changed.contains(*name))
            .map(str::to_owned)
            .collect()
    };
    let by = tally.by.iter().map(|group| &group.expr).chain(&tally.filter);
    let moved: Vec<String> = by.flat_map(named).collect();
    let summed: Vec<String> = tally.sums.iter().flat_map(|(_, sum)| named(sum)).collect();
    let (moves, sums) = (!moved.is_empty(), !summed.is_empty());
    // What a patch may change is changed half the time.
    let is_patched = |name: &String| step.patch.iter().any(|patched| patched.attribute == *name);
    let chance = match moved.iter().chain(&summed).all(is_patched) {
        true => SHARE_OF_A_CONDITION,
        false => 1.0,
    };
    match &step.kind {
        StepKind::Create(_) | StepKind::Delete(_) => counted,
        StepKind::Update(_) | StepKind::Upsert(_) if moves => 2.0 * chance * counted,
        StepKind::Update(_) | StepKind::Upsert(_) if sums => chance * counted,
        _ => 0.0,
    }
}

/// A delivery for each change that is told, taken at the first attempt.
fn deliveries(rates: &Rates<'_>, webhook: &Webhook) -> Operation {
    let model = rates.model;
    let told = if webhook.after.when.is_some() {
        SHARE_OF_A_CONDITION
    } else {
        1.0
    };
    let happening = rates.of(|step| match step_is_followed(model, step, &webhook.after) {
        true => told,
        false => 0.0,
    });
    let name = format!("(webhook {})", webhook.name);
    operation(name, happening, Growth::Alike, vec![on_table(0.0, DELIVERY_UNITS)])
}

/// Whether a step changes a row, as one or none.
fn is_change(step: &Step) -> f64 {
    match step.kind {
        StepKind::Create(_) | StepKind::Update(_) | StepKind::Upsert(_) | StepKind::Delete(_) => 1.0,
        StepKind::Present(_) | StepKind::Absent(_) | StepKind::Group(_) | StepKind::Call { .. } => 0.0,
    }
}

fn is_of_clock(expr: &Expr) -> bool {
    expr.any(|part| matches!(part.kind, ExprKind::Now | ExprKind::Today))
}

/// How often something happens.
#[derive(Clone, Copy, Default)]
struct Happening {
    /// A second, on average; none where nobody says how often any of what makes it runs.
    rate: Option<f64>,
    /// A second, at the busiest time.
    peak: f64,
}

impl Happening {
    fn add(&mut self, operation: &Operation, times: f64) {
        if let Some(rate) = operation.rate.filter(|_| times > 0.0) {
            self.rate = Some(self.rate.unwrap_or(0.0) + rate * times);
            self.peak += operation.peak * times;
        }
    }
}

/// How often writes run, and what that makes of their steps.
struct Rates<'a> {
    model: &'a Model,
    operations: &'a [Operation],
}

impl Rates<'_> {
    fn operation(&self, name: &str) -> Option<&Operation> {
        let mut writes = self
            .operations
            .iter()
            .filter(|operation| operation.kind == OperationKind::Write);
        writes.find(|operation| operation.name == name)
    }

    /// The steps of all writes, each as often as it is expected to run, times what it counts.
    fn of(&self, weight: impl Fn(&Step) -> f64) -> Happening {
        let mut all = Happening::default();
        for write in &self.model.writes {
            let Some(operation) = self.operation(&write.name) else {
                continue;
            };
            for turn in write_turns(self.model, write) {
                all.add(operation, weight(turn.step) * self.times(&turn));
            }
        }
        all
    }

    fn times(&self, turn: &Turn<'_>) -> f64 {
        let condition = if turn.conditional { SHARE_OF_A_CONDITION } else { 1.0 };
        condition * loop_turns(self.model, turn.loops)
    }
}
