//! What rows must keep when steps are done with them: versions one after the other, unique values, places of mirrors, exclusions.

use singlet_item::Value;
use singlet_model::evaluate::time;
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Entity, History, Step};
use singlet_model::types::{EntityId, Type};
use singlet_plan::write::DefaultRefusal;
use singlet_runtime::{Attributes, Refused};

use super::change::Fate;
use super::oracle::ExpectedOutcome;
use super::steps::{OperationSteps, TouchedRow, same_item};
use super::world::{self, Row};

impl<'a> OperationSteps<'a> {
    /// A version with its instant: now, or just after the last.
    pub(super) fn dated(&self, entity: &Entity, at: usize, mut row: Attributes) -> Result<Attributes, ExpectedOutcome> {
        let Some(history) = &entity.history else { return Ok(row) };
        let touched = self.touched.get(at).ok_or(ExpectedOutcome::BadRequest)?;
        row.remove(&history.until);
        row.insert(history.at.clone(), self.next_instant(entity, history, touched)?);
        Ok(world::compute_row(entity, row, self.scope(None))?)
    }

    fn next_instant(&self, entity: &Entity, history: &History, touched: &TouchedRow) -> Result<Value, ExpectedOutcome> {
        let ty = entity.attribute(&history.at).map(|attribute| &attribute.ty);
        let ty = ty.ok_or(ExpectedOutcome::BadRequest)?;
        let mut instant = self.frame.request.now;
        let step = if *ty == Type::Seconds { 1_000 } else { 1 };
        for (_, version) in self.versions(touched) {
            for name in [&history.at, &history.until] {
                let known = version.get(name).map(|value| time::millis_of(value, ty)).transpose()?;
                instant = instant.max(known.flatten().map_or(i64::MIN, |known| known + step));
            }
        }
        Ok(time::instant_as(instant, ty)?)
    }

    fn versions(&self, touched: &TouchedRow) -> impl Iterator<Item = &'a Row> {
        let (model, entity, identity) = (self.frame.model, touched.entity, touched.identity.clone());
        let rows = self.before.iter().filter(move |(known, _)| *known == entity);
        rows.filter(move |(_, row)| world::row_identity(model, entity, row) == identity)
    }

    /// Takes a row as it becomes, if it keeps what its entity promises.
    pub(super) fn become_row(
        &mut self,
        step: &'a Step,
        at: usize,
        fate: Fate,
        row: Attributes,
    ) -> Result<(), ExpectedOutcome> {
        let Some(touched) = self.touched.get_mut(at) else {
            return Ok(());
        };
        let known = touched.clone();
        touched.fate = fate;
        touched.becomes = Some(row.clone());
        let mut problems = match self.looks_at_one_item(step) {
            true => Vec::new(),
            false => self.broken(step, at, &row)?,
        };
        let broken_before = self.broken.clone();
        self.broken.retain(|(known, _)| *known != at);
        if !step.or_skip && !self.frame.write.bulk && !problems.is_empty() {
            self.broken.push((at, std::mem::take(&mut problems)));
        }
        if self.refuse_step(step, problems)? {
            self.touched
                .get_mut(at)
                .into_iter()
                .for_each(|touched| *touched = known.clone());
            // What an earlier step breaks it still does.
            self.broken = broken_before;
            return Ok(());
        }
        self.note_became(step, at, &row, fate == Fate::Created);
        Ok(())
    }

    /// What came of all steps: promises count by what rows are in the end.
    pub fn kept_promises(&self, done: Result<(), ExpectedOutcome>) -> Result<(), ExpectedOutcome> {
        let Some((_, problems)) = self.broken.first() else {
            return done;
        };
        let mut any = problems.clone();
        match done {
            Ok(()) => {}
            Err(ExpectedOutcome::Refused(later)) => any.extend(later),
            Err(other) => return Err(other),
        }
        Err(ExpectedOutcome::Refused(any))
    }

    /// The promises that a row breaks beside the others.
    fn broken(&self, step: &Step, at: usize, row: &Attributes) -> Result<Vec<Refused>, ExpectedOutcome> {
        let Some(touched) = self.touched.get(at) else {
            return Ok(Vec::new());
        };
        let model = self.frame.model;
        let entity = self.entity(touched.entity)?;
        let own = world::row_identity(model, entity.id, row);
        let mut problems = Vec::new();
        let mut others = Vec::new();
        for (id, other) in self.rows_after()? {
            let described = self.entity(id)?;
            let Some(other) = world::live_row(described, &other, self.scope(None))? else {
                continue;
            };
            if world::is_current(described, &other) {
                others.push((id, other));
            }
        }
        let same_entity = || others.iter().filter(|(id, _)| *id == entity.id).map(|(_, other)| other);
        if same_entity()
            .filter(|other| world::row_identity(model, entity.id, other) == own)
            .count()
            > 1
        {
            problems.push(self.default_refusal(step, entity, &DefaultRefusal::Exists, touched.was.as_ref())?);
        }
        let rest: Vec<&Attributes> = same_entity()
            .filter(|other| world::row_identity(model, entity.id, other) != own)
            .collect();
        for mirror in model.mirrors_of(entity.id) {
            let place = world::row_identity(model, mirror.id, row);
            let taken = rest
                .iter()
                .any(|other| world::row_identity(model, mirror.id, other) == place);
            if taken && place.iter().all(Option::is_some) {
                problems.push(self.default_refusal(
                    step,
                    entity,
                    &DefaultRefusal::Mirror(mirror.name.clone()),
                    touched.was.as_ref(),
                )?);
            }
        }
        for guard in &entity.unique {
            let value = self.value(&guard.value, Some(row))?;
            for other in rest.iter().filter(|_| value.is_some()) {
                if self.value(&guard.value, Some(other))? == value {
                    problems.push(self.default_refusal(
                        step,
                        entity,
                        &DefaultRefusal::Taken(guard.name.clone()),
                        touched.was.as_ref(),
                    )?);
                    self.note_in_the_way(entity.id, other);
                    break;
                }
            }
        }
        // A place that one step gives up and another takes is one item changed in two ways.
        let several = self.frame.write.all_steps().into_iter();
        let several = several.filter(|step| step.entity() == Some(entity.id)).count() > 1;
        if (several && !problems.is_empty()) || self.is_given_up(at, entity, row)? {
            problems.extend(match same_item() {
                ExpectedOutcome::Refused(any) => any,
                _ => Vec::new(),
            });
        }
        if let Some(excludes) = entity.excludes.as_ref().filter(|_| touched.fate == Fate::Created) {
            for (id, key) in self.named_rows(excludes, row)? {
                let named = world::row_identity(model, id, &key);
                if others
                    .iter()
                    .any(|(known, other)| *known == id && world::row_identity(model, id, other) == named)
                {
                    problems.push(self.default_refusal(step, entity, &DefaultRefusal::Excludes, None)?);
                    self.note_in_the_way(id, &key);
                }
            }
        }
        Ok(problems)
    }

    /// Whether a row takes a value or a mirror's place that another row gives up in the same operation.
    fn is_given_up(&self, at: usize, entity: &Entity, row: &Attributes) -> Result<bool, ExpectedOutcome> {
        let others = self
            .touched
            .iter()
            .enumerate()
            .filter(|(other, touched)| *other != at && touched.entity == entity.id && touched.fate != Fate::Looked);
        for was in others.filter_map(|(_, touched)| touched.was.as_ref()) {
            for guard in &entity.unique {
                let value = self.value(&guard.value, Some(row))?;
                if value.is_some() && self.value(&guard.value, Some(was))? == value {
                    return Ok(true);
                }
            }
            let mut mirrors = self.frame.model.mirrors_of(entity.id);
            let place = |mirror: &Entity, row: &Attributes| world::row_identity(self.frame.model, mirror.id, row);
            let is_place = |mirror: &Entity| place(mirror, row).iter().all(Option::is_some);
            if mirrors.any(|mirror| is_place(mirror) && place(mirror, row) == place(mirror, was)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn named_rows(&self, expr: &Expr, row: &Attributes) -> Result<Vec<(EntityId, Attributes)>, ExpectedOutcome> {
        Ok(match &expr.kind {
            ExprKind::Entity { entity, key } => vec![(*entity, self.key(*entity, key, Some(row))?)],
            ExprKind::List(parts) => {
                let mut all = Vec::new();
                for part in parts {
                    all.extend(self.named_rows(part, row)?);
                }
                all
            }
            ExprKind::Conditional(test, then, otherwise) => match self.holds_now(test, Some(row))? {
                true => self.named_rows(then, row)?,
                false => self.named_rows(otherwise, row)?,
            },
            _ => Vec::new(),
        })
    }

    /// All rows as they become.
    pub(super) fn rows_after(&self) -> Result<Vec<Row>, ExpectedOutcome> {
        let model = self.frame.model;
        let mut rows = Vec::new();
        for (id, row) in self.before {
            let entity = self.entity(*id)?;
            let own = world::row_identity(model, *id, row);
            let touched = self
                .touched
                .iter()
                .find(|touched| touched.entity == *id && touched.identity == own && touched.fate != Fate::Looked);
            match (touched, &entity.history) {
                (None, _) => rows.push((*id, row.clone())),
                (Some(_), None) => {}
                (Some(_), Some(history)) if row.contains_key(&history.until) => rows.push((*id, row.clone())),
                (Some(touched), Some(history)) => {
                    let mut closed = row.clone();
                    closed.insert(history.until.clone(), self.next_instant(entity, history, touched)?);
                    rows.push((*id, world::compute_row(entity, closed, self.scope(None))?));
                }
            }
        }
        for touched in &self.touched {
            let entity = self.entity(touched.entity)?;
            match (touched.fate, &entity.history) {
                (Fate::Created | Fate::Updated, _) => {
                    rows.extend(touched.becomes.clone().map(|row| (touched.entity, row)));
                }
                (Fate::Deleted, Some(history)) => rows.extend(self.tombstone(entity, history, touched)?),
                _ => {}
            }
        }
        Ok(rows)
    }

    fn tombstone(
        &self,
        entity: &Entity,
        history: &History,
        touched: &TouchedRow,
    ) -> Result<Option<Row>, ExpectedOutcome> {
        let (Some(tombstone), Some(was)) = (&history.tombstone, &touched.was) else {
            return Ok(None);
        };
        let mut row = was.clone();
        row.insert(tombstone.clone(), Value::Bool(true));
        row.remove(&history.until);
        row.insert(history.at.clone(), self.next_instant(entity, history, touched)?);
        Ok(Some((entity.id, world::compute_row(entity, row, self.scope(None))?)))
    }
}
