//! How much one transaction of a write can hold: rows that are written with all that follows them, rows that are only looked at, and
//! the record of the request. The bound is never below what a request can reach; where two steps may meet on one row it counts both.

use singlet_item::limits::ITEM_SIZE_BYTES_MAX;
use singlet_model::Model;
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{IdempotencyNeed, LetValue, Step, StepKind, Write};

use super::exclusive::are_exclusive;
use super::named_rows::{self, LookedAt};
use super::written_rows::{Row, Rows};
use crate::size::SizeBound;

/// How many conditional steps are looked through for one that excludes another.
const EXCLUSIVE_LOOKED_AT_MAX: usize = 16;

/// How deep groups and named steps are followed.
const STEP_DEPTH_MAX: usize = 16;

/// The bytes of a guard: a partition key of at most 1 KB twice, and its words.
const GUARD_BYTES_MAX: u64 = 4 * 1_024;

/// The most that a transaction can hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionBound {
    /// Items; `u64::MAX` where nothing limits them.
    pub items: u64,
    /// Bytes of these items, each as large as its limits allow.
    pub bytes: u64,
}

impl TransactionBound {
    fn of(items: u64, bytes_each: u64) -> Self {
        TransactionBound {
            items,
            bytes: items.saturating_mul(bytes_each),
        }
    }

    fn and(self, other: Self) -> Self {
        TransactionBound {
            items: self.items.saturating_add(other.items),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    fn or(self, other: Self) -> Self {
        TransactionBound {
            items: self.items.max(other.items),
            bytes: self.bytes.max(other.bytes),
        }
    }

    fn times(self, times: Option<u64>) -> Self {
        // More than a transaction holds is too much, however much more.
        let times = times.unwrap_or(u64::MAX);
        TransactionBound {
            items: self.items.saturating_mul(times),
            bytes: self.bytes.saturating_mul(times),
        }
    }
}

/// The most items that one transaction of a write can have; of a bulk write, its largest turn.
pub fn transaction_actions(model: &Model, write: &Write) -> u64 {
    Transaction {
        model,
        write,
        sizes: &[],
    }
    .bound()
    .items
}

/// The most that one transaction of a write can hold, with the sizes of the model's items.
pub fn transaction_bound(model: &Model, write: &Write, sizes: &[SizeBound<'_>]) -> TransactionBound {
    Transaction { model, write, sizes }.bound()
}

/// The most items of one turn of one step: its row, and all that follows it.
pub fn step_actions(model: &Model, write: &Write, step: &Step) -> u64 {
    let rows = Rows::new(model, write).of(step);
    rows.iter().fold(0, |all, row| all.saturating_add(row.rows.1))
}

struct Transaction<'a, 's> {
    model: &'a Model,
    write: &'a Write,
    sizes: &'s [SizeBound<'s>],
}

impl<'a> Transaction<'a, '_> {
    fn bound(&self) -> TransactionBound {
        let whole = TransactionBound::of(1, ITEM_SIZE_BYTES_MAX as u64);
        let record = match self.write.idempotency.need {
            IdempotencyNeed::None if !self.write.runs_by_itself() => TransactionBound::default(),
            IdempotencyNeed::None | IdempotencyNeed::Optional | IdempotencyNeed::Required => whole,
        };
        // A change or a tick that was parked is done with the removal of its row.
        let record = match self.write.runs_by_itself() {
            true => record.and(TransactionBound::of(1, 0)),
            false => record,
        };
        let looked = named_rows::of_write(self.model, self.write);
        let outside = looked
            .iter()
            .fold(TransactionBound::default(), |all, rows| all.and(self.looked_at(rows)));
        if !self.write.bulk {
            return outside.and(self.all(&self.write.steps, &looked, 0)).and(record);
        }
        // It begins with its rows, its progress and that there is no record; each turn moves the progress on.
        let begins = outside.and(whole).and(record);
        let turns = self.write.steps.iter().map(|step| self.once(step, &[], 0).and(whole));
        turns.fold(begins, TransactionBound::or)
    }

    /// Steps whose conditions exclude one another count as the largest of them.
    fn all(&self, steps: &'a [Step], known: &[LookedAt], depth: usize) -> TransactionBound {
        let mut total = TransactionBound::default();
        let mut alternatives: Vec<(Vec<&Expr>, TransactionBound)> = Vec::new();
        for step in steps {
            let count = self.repeated(step, known, depth);
            // A condition on the element of a loop is another one for each.
            let of_element = |when: &&Expr| {
                let element = step.repeat.as_ref().map(|(name, _)| name);
                when.any(|part| matches!(&part.kind, ExprKind::Bound(name) if Some(name) == element))
            };
            let Some(when) = step.when.as_ref().filter(|when| !of_element(when)) else {
                total = total.and(count);
                continue;
            };
            let recent = alternatives.iter_mut().rev().take(EXCLUSIVE_LOOKED_AT_MAX);
            // Each excludes each other one: two that exclude a third may still hold together, and then both are written.
            let mut fitting = recent.filter(|(whens, _)| whens.iter().all(|other| are_exclusive(&[other], &[when])));
            match fitting.next() {
                Some((whens, most)) => {
                    whens.push(when);
                    *most = count.or(*most);
                }
                None => alternatives.push((vec![when], count)),
            }
        }
        alternatives.iter().fold(total, |total, (_, most)| total.and(*most))
    }

    fn repeated(&self, step: &'a Step, known: &[LookedAt], depth: usize) -> TransactionBound {
        let once = self.once(step, known, depth);
        match &step.repeat {
            None => once,
            Some((_, LetValue::Value(list))) => once.times(list.ty.length_max()),
            Some((_, LetValue::Read(selection))) => once.times(selection.limit),
        }
    }

    /// One turn of a step.
    fn once(&self, step: &'a Step, known: &[LookedAt], depth: usize) -> TransactionBound {
        if depth > STEP_DEPTH_MAX {
            return TransactionBound::default().times(None);
        }
        let (looked, element) = named_rows::of_step(self.write, step, known);
        let mut beside = looked
            .iter()
            .fold(TransactionBound::default(), |all, rows| all.and(self.looked_at(rows)));
        if let Some(element) = element {
            let one = LookedAt {
                most: Some(1),
                ..element
            };
            beside = beside.and(self.looked_at(&one));
        }
        let done = match &step.kind {
            StepKind::Group(inner) => self.all(inner, known, depth + 1),
            StepKind::Call { step: name, .. } => {
                let named = self.model.steps.iter().find(|named| named.name == *name);
                named.map_or_else(TransactionBound::default, |named| {
                    self.all(&named.steps, &[], depth + 1)
                })
            }
            _ => {
                let rows = Rows::new(self.model, self.write).of(step);
                rows.iter()
                    .fold(TransactionBound::default(), |all, row| all.and(self.written(row)))
            }
        };
        beside.and(done)
    }

    fn written(&self, row: &Row<'_>) -> TransactionBound {
        let bytes = match row.is_guard() {
            true => GUARD_BYTES_MAX,
            false => self.bytes_of(row.entity.id.0),
        };
        TransactionBound::of(row.rows.1, bytes)
    }

    fn looked_at(&self, rows: &LookedAt) -> TransactionBound {
        TransactionBound::of(1, self.bytes_of(rows.entity.0)).times(rows.most)
    }

    fn bytes_of(&self, entity: u32) -> u64 {
        let bound = self.sizes.get(entity as usize).filter(|bound| bound.complete);
        let most = ITEM_SIZE_BYTES_MAX as u64;
        bound.map_or(most, |bound| bound.bytes.min(most))
    }
}
