//! What a write costs in write units, for small items: every row of the table 1 (2 in a transaction), every index entry made
//! or removed 1, changed 1, moved to another key 2.

use std::fmt;

use singlet_item::capacity::{WriteMode, write_units};
use singlet_model::Model;
use singlet_model::expression::ExprKind;
use singlet_model::model::{Entity, IdempotencyNeed, Role, Step, StepKind, Write};

use super::change::Change;
use super::named_rows::{self, LookedAt};
use super::parts::{PartKind, WrittenPart, parts_of, progress_parts};
use super::turns::{Loops, Turn, list_length, write_turns};
use super::written_rows::{EntryCost, Row, Rows};
use super::{RowPlan, StepPlan, WritePlan, plan_write};
use crate::size::{SizeBound, size_bounds};

/// From, to.
pub type Units = (u64, u64);

/// What a write costs.
#[derive(Debug, Default)]
pub struct WriteCost {
    /// At least, for small items.
    pub least: u64,
    /// At most, for small items; nothing where a list has no limit.
    pub most: Option<u64>,
    /// At most, for the largest items that limits allow; nothing where they allow any.
    pub ceiling: Option<u64>,
    /// The same two where rows that have expired and were not removed yet stand where new ones are put: their index entries are
    /// replaced.
    pub over_expired: (u64, Option<u64>),
    /// What may come before it, beyond the most: where something follows the changes of a row, a state of it that has lapsed is stored in a
    /// write of its own.
    pub lapsed: Option<u64>,
    /// The sum in words: `1 for `Task``, `0 to 1 in `GSI2``.
    pub terms: Vec<String>,
}

impl WriteCost {
    /// Adds units, which are others where an expired row is replaced.
    fn count(&mut self, (least, most): (u64, Option<u64>), over_expired: (u64, Option<u64>)) {
        let both = |all: Option<u64>, more: Option<u64>| all.zip(more).map(|(all, more)| all + more);
        self.least += least;
        self.most = both(self.most, most);
        self.over_expired = (
            self.over_expired.0 + over_expired.0,
            both(self.over_expired.1, over_expired.1),
        );
    }

    fn count_alike(&mut self, units: (u64, Option<u64>)) {
        self.count(units, units);
    }
}

/// What a write that runs by the clock costs in 30 days: its runs, and after each a note of how far it is; one more before it where it
/// is done in chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MonthCost {
    /// How often it runs, in tenths.
    pub tenth_runs: i64,
    /// Write units, at least, for small items.
    pub least: u64,
    /// At most; nothing where a list has no limit.
    pub most: Option<u64>,
}

impl MonthCost {
    /// Of a write, by what one run costs.
    pub fn of(write: &Write, cost: &WriteCost) -> Option<Self> {
        let tenth_runs = write.every?.tenths_a_month();
        let notes = if write.bulk { 2 } else { 1 };
        let runs = u64::try_from(tenth_runs).unwrap_or_default();
        let in_month = |units: u64| units.saturating_add(notes).saturating_mul(runs).div_ceil(10);
        Some(MonthCost {
            tenth_runs,
            least: in_month(cost.least),
            most: cost.most.map(in_month),
        })
    }
}

/// `30 runs in 30 days, 120 to 150 write units with their notes`.
impl fmt::Display for MonthCost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = match self.tenth_runs % 10 {
            0 => (self.tenth_runs / 10).to_string(),
            part => format!("{}.{part}", self.tenth_runs / 10),
        };
        let units = match self.most {
            Some(most) if most == self.least => most.to_string(),
            Some(most) => format!("{} to {most}", self.least),
            None => format!("{} or more", self.least),
        };
        write!(out, "{runs} runs in 30 days, {units} write units with their notes")
    }
}

/// What each write of a model costs in write units, in their order.
pub fn write_costs(model: &Model) -> Vec<WriteCost> {
    let costs = WriteCosts::new(model);
    model.writes.iter().map(|write| costs.of(write)).collect()
}

/// The arithmetic over one model.
pub struct WriteCosts<'a> {
    model: &'a Model,
    sizes: Vec<SizeBound<'a>>,
    record: Option<&'a Entity>,
}

impl<'a> WriteCosts<'a> {
    /// For a model, whose items have the sizes that their limits give.
    pub fn new(model: &'a Model) -> Self {
        let mut entities = model.entities.iter();
        WriteCosts {
            model,
            sizes: size_bounds(model),
            record: entities.find(|entity| entity.role == Some(Role::Idempotency)),
        }
    }

    /// What a write costs.
    pub fn of(&self, write: &'a Write) -> WriteCost {
        self.counted(write, &mut Vec::new())
    }

    /// The parts of what a write costs, each for small items.
    pub fn written_parts(&self, write: &'a Write) -> Vec<WrittenPart<'a>> {
        let mut parts = Vec::new();
        self.counted(write, &mut parts);
        parts
    }

    fn counted(&self, write: &'a Write, parts: &mut Vec<WrittenPart<'a>>) -> WriteCost {
        let turns = write_turns(self.model, write);
        let by_hand = turns.iter().any(|turn| turn.step.using.is_some());
        let rows = Rows::new(self.model, write);
        let steps: Vec<(Turn<'_>, Vec<Row<'_>>)> = turns.iter().map(|turn| (*turn, rows.of(turn.step))).collect();
        let record = match (by_hand, write.is_uncalled()) {
            (true, _) => (0, 0),
            // The record of the change, or of the tick.
            (false, true) => (1, 1),
            (false, false) => record_rows(write.idempotency.need),
        };
        let is_optional = write.idempotency.need == IdempotencyNeed::Optional && !write.is_uncalled();
        let optional_record = !by_hand && is_optional;
        let mut cost = WriteCost {
            most: Some(0),
            over_expired: (0, Some(0)),
            ceiling: (!optional_record).then_some(0),
            lapsed: turns.iter().map(|turn| self.lapsed(&rows, turn)).sum(),
            ..WriteCost::default()
        };
        let checked = if by_hand {
            Vec::new()
        } else {
            self.checked(write, &turns)
        };
        let mut all = transaction_rows(&steps, record);
        for rows in &checked {
            all.0 += rows.least;
            all.1 = all.1.zip(rows.most).and_then(|(all, most)| all.checked_add(most));
        }
        // A check stands in a transaction even alone, and a turn with its progress is one.
        let looks = |step: &Step| matches!(step.kind, StepKind::Present(_) | StepKind::Absent(_));
        let versions = |step: &Step| {
            let entity = step.entity().and_then(|id| self.model.entity(id));
            entity.is_some_and(|entity| entity.history.is_some())
        };
        if write.bulk || turns.iter().any(|turn| looks(turn.step) || versions(turn.step)) {
            all = (all.0.max(2), all.1.map(|most| most.max(2)));
        }
        // What changes nothing is a check, and a check alone is a transaction.
        if !by_hand && self.may_only_check(write) {
            all.1 = all.1.map(|most| most.max(2));
        }
        for (turn, rows) in &steps {
            self.add(&mut cost, turn, rows, factors(turn.step, all));
            parts.extend(parts_of(turn, rows, factors(turn.step, all)));
        }
        for rows in &checked {
            let most = rows.most.and_then(|most| most.checked_mul(CHECK_UNITS));
            cost.count_alike((rows.least * CHECK_UNITS, most));
            cost.ceiling = None;
            parts.push(WrittenPart {
                entity: None,
                kind: PartKind::Looked,
                index: None,
                units: (CHECK_UNITS, CHECK_UNITS),
                conditional: false,
                moves: false,
                loops: Loops::default(),
                times: (rows.least, rows.most),
            });
            let units = match most {
                Some(most) => span_of((rows.least * CHECK_UNITS, most)),
                None => format!("{CHECK_UNITS} each"),
            };
            cost.terms.push(format!("{units} for the check of `{}`", rows.name));
        }
        if write.bulk {
            add_progress(&mut cost, write);
            parts.extend(progress_parts(write));
        }
        self.add_record(&mut cost, write, record, all);
        parts.extend((record.1 > 0).then(|| WrittenPart {
            entity: self.record.filter(|_| !write.is_uncalled()),
            kind: PartKind::Record,
            index: None,
            units: (record.0 * factor_of(Some(all.0)), record.1 * factor_of(all.1)),
            conditional: false,
            moves: false,
            loops: Loops::default(),
            times: (1, Some(1)),
        }));
        cost
    }

    /// What it takes at most to store the states of a step's row that have lapsed, one after another.
    fn lapsed(&self, rows: &Rows<'a>, turn: &Turn<'a>) -> Option<u64> {
        let is_changed = matches!(
            turn.step.kind,
            StepKind::Update(_) | StepKind::Delete(_) | StepKind::Upsert(_)
        );
        let entity = turn.step.entity().and_then(|id| self.model.entity(id));
        let followed = entity.filter(|entity| self.model.is_followed(entity.id) && entity.history.is_none());
        let lapsing = followed.and_then(|entity| Some((entity, entity.states.as_ref()?)));
        let Some((entity, states)) = lapsing.filter(|_| is_changed) else {
            return Some(0);
        };
        let written = rows.lapse_of(entity, states);
        let count: u64 = written.iter().map(|row| row.rows.1).sum();
        let entries: u64 = written
            .iter()
            .flat_map(|row| &row.entries)
            .map(|entry| entry.units.1)
            .sum();
        let each = count * factor_of(Some(count)) + entries;
        turn.most_times()?
            .checked_mul(each)?
            .checked_mul(states.lapses.len() as u64)
    }

    fn add(&self, cost: &mut WriteCost, turn: &Turn<'_>, rows: &[Row<'_>], factor: Units) {
        let times = (times_least(turn), turn.most_times());
        for row in rows {
            let table = (row.rows.0 * factor.0, row.rows.1 * factor.1);
            let sum = |of: fn(&EntryCost<'_>) -> Units| {
                let entries = row.entries.iter().map(of);
                let (least, most) = entries.fold(table, |all, units| (all.0 + units.0, all.1 + units.1));
                (least * times.0, times.1.and_then(|times| most.checked_mul(times)))
            };
            let units = sum(|entry| entry.units);
            cost.count(units, sum(|entry| entry.over_expired));
            let large = units
                .1
                .zip(self.units_max(row.entity))
                .map(|(units, each)| units.saturating_mul(each));
            cost.ceiling = cost.ceiling.zip(large).map(|(all, more)| all + more);
            let each = if turn.repeated { " each" } else { "" };
            let what = if row.what.is_empty() {
                String::new()
            } else {
                format!("{} ", row.what)
            };
            cost.terms
                .extend((table.1 > 0).then(|| format!("{} for {what}`{}`{each}", span_of(table), row.entity.name)));
            let present = row.entries.iter().filter(|entry| entry.over_expired.1 > 0);
            cost.terms.extend(present.map(|entry| {
                let otherwise = (entry.over_expired != entry.units)
                    .then(|| format!(" ({} over an expired row)", span_of(entry.over_expired)));
                let otherwise = otherwise.unwrap_or_default();
                format!("{} in `{}`{each}{otherwise}", span_of(entry.units), entry.index)
            }));
        }
    }

    fn add_record(&self, cost: &mut WriteCost, write: &Write, record: Units, together: (u64, Option<u64>)) {
        if record.1 == 0 {
            return;
        }
        let shaped = self.record.filter(|_| !write.is_uncalled());
        let entries = shaped.map_or(0, |entity| entity.index.len() as u64);
        let least = record.0 * factor_of(Some(together.0));
        let most = record.1 * factor_of(together.1) + entries;
        // A record counts for a day, and one that no longer does may stand in its place.
        cost.count((least, Some(most)), (least, Some(most + entries)));
        // A record holds the answer, whose size nothing limits.
        cost.ceiling = None;
        let otherwise = (entries > 0).then(|| format!(" ({} over an expired one)", span_of((least, most + entries))));
        cost.terms.push(format!(
            "{} for the {}{}",
            span_of((least, most)),
            match (write.is_uncalled(), &write.every) {
                (true, None) => "record of the change",
                (true, Some(_)) => "record of the tick",
                (false, _) => "idempotency record",
            },
            otherwise.unwrap_or_default()
        ));
    }

    /// Rows that are only looked at: each stands in the transaction as a check.
    fn checked(&self, write: &'a Write, turns: &[Turn<'a>]) -> Vec<LookedAt> {
        let mut found = named_rows::of_write(self.model, write);
        let known = found.clone();
        let mut seen: Vec<LookedAt> = Vec::new();
        for turn in turns {
            let (looked, element) = named_rows::of_step(write, turn.step, &known);
            seen.extend(looked.into_iter().map(|rows| {
                LookedAt {
                    most: rows
                        .most
                        .zip(turn.most_times())
                        .and_then(|(each, times)| each.checked_mul(times)),
                    ..rows
                }
            }));
            seen.extend(element.map(|rows| LookedAt {
                most: turn.most_times(),
                ..rows
            }));
        }
        found.extend(seen);
        found.extend(self.groups(write));
        found
    }

    /// Rows that groups and calls look at for all the steps inside them.
    fn groups(&self, write: &'a Write) -> Vec<LookedAt> {
        let mut found = Vec::new();
        let mut waiting: Vec<(&Step, Option<u64>)> = write.steps.iter().map(|step| (step, Some(1))).collect();
        while let Some((step, times)) = waiting.pop() {
            let each = step.repeat.as_ref().map_or(Some(1), |(_, list)| list_length(list).1);
            let times = times.zip(each).and_then(|(outer, inner)| outer.checked_mul(inner));
            let inner: &[Step] = match &step.kind {
                StepKind::Group(inner) => inner,
                StepKind::Call { step: name, .. } => {
                    let named = self.model.steps.iter().find(|named| named.name == *name);
                    named.map_or(&[][..], |named| &named.steps)
                }
                _ => continue,
            };
            let (looked, element) = named_rows::of_step(write, step, &[]);
            found.extend(
                looked
                    .into_iter()
                    .chain(element)
                    .map(|rows| LookedAt { most: times, ..rows }),
            );
            waiting.extend(inner.iter().map(|step| (step, times)));
        }
        found
    }

    /// Whether a step reads a row and may then find that nothing differs.
    fn may_only_check(&self, write: &Write) -> bool {
        let plan = plan_write(self.model, write);
        self.any_only_checks(&plan, &write.steps, &plan.steps)
    }

    fn any_only_checks(&self, plan: &WritePlan, steps: &[Step], plans: &[StepPlan]) -> bool {
        steps.iter().zip(plans).any(|(step, planned)| match &step.kind {
            StepKind::Group(inner) => self.any_only_checks(plan, inner, &planned.inner),
            StepKind::Call { step: name, .. } => {
                let named = self.model.steps.iter().find(|named| named.name == *name);
                named.is_some_and(|named| self.any_only_checks(plan, &named.steps, &planned.inner))
            }
            StepKind::Update(target) | StepKind::Upsert(target) => {
                let Some(entity) = step.entity().and_then(|id| self.model.entity(id)) else {
                    return false;
                };
                let named = match &target.kind {
                    ExprKind::Bound(name) => plan.rows.get(name).is_none_or(RowPlan::is_read),
                    _ => false,
                };
                // Parts of sets, lists and maps follow from what was there.
                let of_parts = |change: &singlet_model::model::Assignment| {
                    let attribute = entity.attribute(&change.attribute);
                    change.entry.is_some() || !attribute.is_some_and(|attribute| attribute.ty.is_number())
                };
                let parts = !step.remove.is_empty()
                    || !step.append.is_empty()
                    || step.add.iter().any(of_parts)
                    || step.set.iter().any(|set| set.entry.is_some());
                let read = named || parts || planned.own.is_read() || planned.own.needed.is_some();
                // A row for which a step is passed over is checked to be so still.
                step.or_skip || read && Change::of(entity, step).may_change_nothing()
            }
            StepKind::Create(_) | StepKind::Delete(_) => step.or_skip,
            StepKind::Present(_) | StepKind::Absent(_) => true,
        })
    }

    fn units_max(&self, entity: &Entity) -> Option<u64> {
        let bound = self.sizes.get(entity.id.0 as usize).filter(|bound| bound.complete)?;
        Some(write_units(None, usize::try_from(bound.bytes).ok(), WriteMode::Single).get())
    }
}

/// What a check of a small row costs: it stands in a transaction.
const CHECK_UNITS: u64 = 2;

/// The row that says how far a bulk operation came: written when it begins, with every turn, and removed at the end.
fn add_progress(cost: &mut WriteCost, write: &Write) {
    let begins = (1, if write.lets.is_empty() { 1 } else { CHECK_UNITS });
    let turns = write.steps.iter().map(|step| match &step.repeat {
        Some((_, list)) => list_length(list).1,
        None => Some(1),
    });
    let once = write
        .steps
        .iter()
        .filter(|step| step.repeat.is_none() && step.when.is_none());
    let turns: Option<u64> = turns.sum();
    let least = begins.0 + 1 + 2 * once.count() as u64;
    let most = turns.and_then(|turns| turns.checked_mul(2)?.checked_add(begins.1 + 1));
    cost.count_alike((least, most));
    cost.ceiling = None;
    cost.terms.push(match most {
        Some(most) => format!("{} for the progress", span_of((least, most))),
        None => "2 for the progress and up to 2 more each turn".to_owned(),
    });
}

fn record_rows(need: IdempotencyNeed) -> Units {
    match need {
        IdempotencyNeed::Required => (1, 1),
        // Only where a caller sends a key: a figure without it is not wrong.
        IdempotencyNeed::Optional | IdempotencyNeed::None => (0, 0),
    }
}

/// A step in a loop is counted once at least: a claim is about a write that does something.
pub(super) fn times_least(turn: &Turn<'_>) -> u64 {
    match (turn.conditional, turn.repeated) {
        (true, _) => 0,
        (false, true) => turn.least_times().max(1),
        (false, false) => turn.least_times(),
    }
}

/// How many rows are written together.
fn transaction_rows(steps: &[(Turn<'_>, Vec<Row<'_>>)], record: Units) -> (u64, Option<u64>) {
    let mut all = (record.0, Some(record.1));
    for (turn, rows) in steps {
        let sum = rows
            .iter()
            .fold((0, 0), |all: Units, row| (all.0 + row.rows.0, all.1 + row.rows.1));
        all.0 += sum.0 * times_least(turn);
        let most = turn.most_times().and_then(|times| sum.1.checked_mul(times));
        all.1 = all.1.zip(most).map(|(all, more)| all + more);
    }
    all
}

/// A row costs twice in a transaction: as the document's call says, else where several rows are written together.
fn factors(step: &Step, together: (u64, Option<u64>)) -> Units {
    match step.using.as_ref().map(|using| using.call.as_str()) {
        Some("TransactWriteItems") => (2, 2),
        Some(_) => (1, 1),
        None => (factor_of(Some(together.0)), factor_of(together.1)),
    }
}

fn factor_of(rows: Option<u64>) -> u64 {
    if rows.is_some_and(|rows| rows < 2) { 1 } else { 2 }
}

/// `2`, or `0 to 1`.
pub fn span_of((least, most): Units) -> String {
    if least == most {
        least.to_string()
    } else {
        format!("{least} to {most}")
    }
}
