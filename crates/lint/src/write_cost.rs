//! What a write costs in write units, for small items: every row of the table 1 (2 in a transaction), every index entry made
//! or removed 1, changed 1, moved to another key 2.

use std::collections::HashSet;

use singlet_item::capacity::{WriteMode, write_units};
use singlet_model::expression::ExprKind;
use singlet_model::model::{
    Entity, Guard, IdempotencyNeed, IndexEntry, Kept, KeyChoice, KeyPart, LetValue, MoveTo, Projection, Role,
    SelectionKind, Step, StepKind, Write,
};
use singlet_model::types::{EntityId, Type};

use crate::Context;
use crate::traffic::{Turn, turns};
use crate::transaction::excluded;

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
    /// The sum in words: `1 for `Task``, `0 to 1 in `GSI2``.
    pub terms: Vec<String>,
}

/// The arithmetic over one model.
pub struct WriteCosts<'a, 'c> {
    context: &'c Context<'a>,
    /// Entities whose attributes others copy, or which copy, within the same transaction.
    copied: HashSet<EntityId>,
    record: Option<&'a Entity>,
}

/// One row that a step writes, and its index entries.
struct Row<'a> {
    entity: &'a Entity,
    rows: Units,
    entries: Vec<(&'a str, Units)>,
}

impl<'a, 'c> WriteCosts<'a, 'c> {
    pub fn new(context: &'c Context<'a>) -> Self {
        let mut copied = HashSet::new();
        for entity in &context.model.entities {
            let copies = entity.attributes.iter().filter_map(|attribute| attribute.copy.as_ref());
            for copy in copies.filter(|copy| copy.kept == Kept::Transaction) {
                copied.extend([entity.id, copy.entity]);
            }
        }
        let record = context
            .model
            .entities
            .iter()
            .find(|entity| entity.role == Some(Role::Idempotency));
        WriteCosts {
            context,
            copied,
            record,
        }
    }

    /// What a write costs; nothing where it does more than this arithmetic knows: history, copies kept in the
    /// transaction, changed primary keys.
    pub fn of(&self, write: &'a Write) -> Option<WriteCost> {
        let turns = turns(self.context, write);
        let by_hand = turns.iter().any(|turn| turn.step.using.is_some());
        let mut steps = Vec::new();
        for turn in &turns {
            steps.push((*turn, self.rows(turn.step)?));
        }
        let record = if by_hand {
            (0, 0)
        } else {
            record_rows(write.idempotency.need)
        };
        let optional_record = !by_hand && write.idempotency.need == IdempotencyNeed::Optional;
        let mut cost = WriteCost {
            most: Some(0),
            ceiling: (!optional_record).then_some(0),
            ..WriteCost::default()
        };
        let checked = if by_hand || write.bulk {
            Vec::new()
        } else {
            checked(write)
        };
        let mut all = transaction_rows(&steps, record);
        all.0 += checked.len() as u64;
        all.1 = all.1.map(|most| most + checked.len() as u64);
        for (turn, rows) in &steps {
            let together = if write.bulk {
                transaction_rows(&[(*turn, rows_of(rows))], (0, 0))
            } else {
                all
            };
            self.add(&mut cost, turn, rows, factors(turn.step, together));
        }
        for name in &checked {
            cost.least += CHECK_UNITS;
            cost.most = cost.most.map(|most| most + CHECK_UNITS);
            cost.ceiling = None;
            cost.terms.push(format!("{CHECK_UNITS} for the check of `{name}`"));
        }
        self.add_record(&mut cost, record, all);
        Some(cost)
    }

    fn add(&self, cost: &mut WriteCost, turn: &Turn<'_>, rows: &[Row<'_>], factor: Units) {
        let times = (times_least(turn), turn.most());
        for row in rows {
            let table = (row.rows.0 * factor.0, row.rows.1 * factor.1);
            let entries = row
                .entries
                .iter()
                .fold((0, 0), |all, (_, units)| (all.0 + units.0, all.1 + units.1));
            cost.least += (table.0 + entries.0) * times.0;
            let most = times.1.and_then(|times| (table.1 + entries.1).checked_mul(times));
            cost.most = cost.most.zip(most).map(|(all, more)| all + more);
            let large = most
                .zip(self.units_max(row.entity))
                .map(|(units, each)| units.saturating_mul(each));
            cost.ceiling = cost.ceiling.zip(large).map(|(all, more)| all + more);
            let each = if turn.repeated { " each" } else { "" };
            cost.terms
                .extend((table.1 > 0).then(|| format!("{} for `{}`{each}", span_of(table), row.entity.name)));
            let present = row.entries.iter().filter(|(_, units)| units.1 > 0);
            cost.terms
                .extend(present.map(|(index, units)| format!("{} in `{index}`{each}", span_of(*units))));
        }
    }

    fn add_record(&self, cost: &mut WriteCost, record: Units, together: (u64, Option<u64>)) {
        if record.1 == 0 {
            return;
        }
        let entries = self.record.map_or(0, |entity| entity.index.len() as u64);
        let most = record.1 * factor_of(together.1) + entries;
        cost.least += record.0 * factor_of(Some(together.0));
        cost.most = cost.most.map(|all| all + most);
        // A record holds the answer, whose size nothing limits.
        cost.ceiling = None;
        cost.terms.push(format!(
            "{} for the idempotency record",
            span_of((record.0 * factor_of(Some(together.0)), most))
        ));
    }

    fn units_max(&self, entity: &Entity) -> Option<u64> {
        let bound = self.context.size_bound(entity).filter(|bound| bound.complete)?;
        Some(write_units(None, usize::try_from(bound.bytes).ok(), WriteMode::Single).get())
    }

    /// The rows that a step writes: its own, its mirrors', its guards'.
    fn rows(&self, step: &'a Step) -> Option<Vec<Row<'a>>> {
        let model = self.context.model;
        let entity = model.entity(step.entity()?)?;
        let simple =
            entity.history.is_none() && entity.mirror.is_none() && !self.copied.contains(&entity.id) && !step.rekey;
        if !simple {
            return None;
        }
        if matches!(step.kind, StepKind::Present(_) | StepKind::Absent(_)) {
            let entries = Vec::new();
            return Some(vec![Row {
                entity,
                rows: (1, 1),
                entries,
            }]);
        }
        let change = Change::of(entity, step);
        let mut rows = vec![self.row(entity, &change, (1, 1))];
        for mirror in model.mirrors_of(entity.id) {
            let written = change.mirror_rows(mirror)?;
            rows.push(self.row(mirror, &change, written));
        }
        let guards = entity.unique.iter().map(|guard| change.guard_rows(guard));
        let guards = guards.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        if guards.1 > 0 {
            let entries = Vec::new();
            rows.push(Row {
                entity,
                rows: guards,
                entries,
            });
        }
        if let (Some(excludes), StepKind::Create(_)) = (&entity.excludes, &step.kind) {
            rows.push(Row {
                entity,
                rows: (1, excluded(excludes)),
                entries: Vec::new(),
            });
        }
        Some(rows)
    }

    fn row(&self, entity: &'a Entity, change: &Change<'a>, rows: Units) -> Row<'a> {
        let entries = entity.index.iter().filter_map(|entry| {
            let index = self.context.model.index(entry.index)?;
            let units = change.entry_units(entry, &index.projection);
            let certain = if rows.0 == 0 { 0 } else { units.0 };
            Some((index.name.as_str(), (certain, units.1)))
        });
        let entries = entries.collect();
        Row { entity, rows, entries }
    }
}

/// What a check of a small row costs: it stands in a transaction.
const CHECK_UNITS: u64 = 2;

/// The rows that a write names with `let` and does not change: they are checked in its transaction.
fn checked(write: &Write) -> Vec<&str> {
    let changed: Vec<&str> = write
        .all_steps()
        .into_iter()
        .filter_map(|step| match &step.kind {
            StepKind::Update(target) | StepKind::Delete(target) | StepKind::Upsert(target) => match &target.kind {
                ExprKind::Bound(name) => Some(name.as_str()),
                _ => None,
            },
            _ => None,
        })
        .collect();
    let rows = write.lets.iter().filter(|bound| match &bound.value {
        LetValue::Value(expr) => matches!(expr.kind, ExprKind::Entity { .. }),
        LetValue::Read(selection) => matches!(selection.kind, SelectionKind::Get { .. }),
    });
    let names = rows.map(|bound| bound.name.as_str());
    names.filter(|name| !changed.contains(name)).collect()
}

/// What a step does to a row, as far as it is certain.
struct Change<'a> {
    entity: &'a Entity,
    step: &'a Step,
    /// Attributes that it may change.
    touched: HashSet<&'a str>,
    /// Attributes that it changes for certain, whatever they were.
    changed: HashSet<&'a str>,
}

impl<'a> Change<'a> {
    fn of(entity: &'a Entity, step: &'a Step) -> Self {
        let mut change = Change {
            entity,
            step,
            touched: HashSet::new(),
            changed: HashSet::new(),
        };
        let set = step.set.iter().chain(&step.add).chain(&step.remove).chain(&step.append);
        change.touched.extend(set.map(|set| set.attribute.as_str()));
        change.touched.extend(
            step.take
                .iter()
                .chain(&step.patch)
                .map(|taken| taken.attribute.as_str()),
        );
        let always = entity
            .attributes
            .iter()
            .filter(|attribute| attribute.always.is_some() || attribute.ty == Type::Version);
        change.changed.extend(always.map(|attribute| attribute.name.as_str()));
        if let Some(states) = &entity.states {
            // The write after a state has lapsed stores the later one: it may move what it does not name, and a move from a
            // state that only lapsed to be there may leave the stored one as it is.
            let lapses = !states.lapses.is_empty() && !matches!(step.kind, StepKind::Create(_));
            if step.moves.is_some() || lapses {
                let held = states
                    .holding
                    .iter()
                    .flat_map(|(_, values)| values)
                    .map(|(name, _)| name.as_str());
                change.touched.extend(held.chain([states.of.as_str()]));
            }
            if let (Some(MoveTo::Named(..)), false) = (&step.moves, lapses) {
                change.changed.insert(states.of.as_str());
            }
        }
        change.touched.extend(change.changed.clone());
        let computed = entity.attributes.iter().filter(|attribute| {
            let sources = attribute.is.as_ref().map(|expr| expr.attributes()).unwrap_or_default();
            sources.iter().any(|source| change.touched.contains(source))
        });
        let computed: Vec<&str> = computed.map(|attribute| attribute.name.as_str()).collect();
        change.touched.extend(computed);
        change
    }

    fn is_update(&self) -> bool {
        matches!(self.step.kind, StepKind::Update(_))
    }

    fn is_upsert(&self) -> bool {
        matches!(self.step.kind, StepKind::Upsert(_))
    }

    /// The rows of a mirror; nothing where its key moves.
    fn mirror_rows(&self, mirror: &Entity) -> Option<Units> {
        let carried = |names: &HashSet<&str>| {
            mirror
                .attributes
                .iter()
                .any(|attribute| names.contains(attribute.name.as_str()))
        };
        let mut parts = mirror.key_templates().flat_map(|key| &key.parts);
        if self.is_update() || self.is_upsert() {
            let moves = parts.any(|part| self.touched.contains(part.root()));
            let certain = carried(&self.changed) && !self.is_upsert();
            return (!moves).then(|| {
                (
                    u64::from(certain),
                    u64::from(carried(&self.touched) || self.is_upsert()),
                )
            });
        }
        Some((u64::from(!parts.any(|part| part.optional)), 1))
    }

    fn guard_rows(&self, guard: &Guard) -> Units {
        if self.is_update() || self.is_upsert() {
            let touched = guard.value.attributes().iter().any(|name| self.touched.contains(name));
            return (0, if touched { 2 } else { 0 });
        }
        (u64::from(!guard.value.optional), 1)
    }

    /// What an index entry costs: made or removed 1, changed under its key 1, moved 2.
    fn entry_units(&self, entry: &IndexEntry, projection: &Projection) -> Units {
        let (least, most) = self.presence(entry.choices());
        if !self.is_update() && !self.is_upsert() {
            return (least, most);
        }
        let choices = entry.choices();
        let parts = || {
            choices
                .iter()
                .flat_map(|choice| &choice.keys)
                .flat_map(|key| &key.parts)
        };
        let conditions = || {
            choices
                .iter()
                .filter_map(|choice| choice.when.as_ref())
                .flat_map(|when| when.attributes())
        };
        let may_move = parts().any(|part| self.touched.contains(part.root()))
            || conditions().any(|name| self.touched.contains(name));
        let moves = parts().any(|part| self.changed.contains(part.root()) && part.function.is_none());
        let carries = |names: &HashSet<&str>| match projection {
            Projection::All => !names.is_empty(),
            Projection::Keys => false,
            Projection::Include(included) => included.iter().any(|name| names.contains(name.as_str())),
        };
        let certain = if moves { 2 } else { u64::from(carries(&self.changed)) };
        let possible = if may_move { 2 } else { u64::from(carries(&self.touched)) };
        let certain = if self.is_upsert() { certain.min(1) } else { certain };
        (least * certain, most * possible.max(u64::from(self.is_upsert())))
    }

    /// Whether the row is in an index: never, maybe, always.
    fn presence(&self, choices: &[KeyChoice]) -> Units {
        let parts = |choice: &'_ KeyChoice| {
            choice
                .keys
                .iter()
                .flat_map(|key| &key.parts)
                .cloned()
                .collect::<Vec<KeyPart>>()
        };
        let never = |choice: &KeyChoice| parts(choice).iter().any(|part| self.part_presence(part).1 == 0);
        let always = |choice: &KeyChoice| parts(choice).iter().all(|part| self.part_presence(part).0 == 1);
        let open = choices.iter().any(|choice| choice.when.is_none());
        if choices.iter().all(never) {
            return (0, 0);
        }
        (u64::from(open && choices.iter().all(always)), 1)
    }

    fn part_presence(&self, part: &KeyPart) -> Units {
        if !part.optional {
            return (1, 1);
        }
        let attribute = self.entity.attribute(part.root());
        let filled =
            attribute.is_some_and(|known| known.default.is_some() || known.is.is_some() || known.copy.is_some());
        let of_state = self
            .entity
            .states
            .iter()
            .flat_map(|states| &states.holding)
            .any(|(_, held)| {
                let mut names = held.iter().map(|(name, _)| name.as_str());
                names.any(|name| name == part.root())
            });
        if !matches!(self.step.kind, StepKind::Create(_)) || filled || of_state {
            return (0, 1);
        }
        let set = self.step.set.iter().find(|set| set.attribute == part.root());
        let taken = self.step.take.iter().find(|taken| taken.attribute == part.root());
        match (set, taken) {
            (Some(set), _) if set.value.is_absent() => (0, 0),
            (Some(set), _) => (u64::from(!set.value.optional && !part.path.contains('.')), 1),
            (None, Some(taken)) => (u64::from(taken.required), 1),
            (None, None) => (0, 0),
        }
    }
}

fn rows_of<'a>(rows: &[Row<'a>]) -> Vec<Row<'a>> {
    let copy = |row: &Row<'a>| Row {
        entity: row.entity,
        rows: row.rows,
        entries: Vec::new(),
    };
    rows.iter().map(copy).collect()
}

fn record_rows(need: IdempotencyNeed) -> Units {
    match need {
        IdempotencyNeed::Required => (1, 1),
        // Only where a caller sends a key: a figure without it is not wrong.
        IdempotencyNeed::Optional | IdempotencyNeed::None => (0, 0),
    }
}

/// A step in a loop is counted once at least: a claim is about a write that does something.
fn times_least(turn: &Turn<'_>) -> u64 {
    match (turn.conditional, turn.repeated) {
        (true, _) => 0,
        (false, true) => turn.least().max(1),
        (false, false) => turn.least(),
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
        let most = turn.most().and_then(|times| sum.1.checked_mul(times));
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
