//! What must hold before the steps, of the caller, of rows that were read, and of rows that only get conditions.

use std::sync::Arc;

use singlet_item::{Item, Value};
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Entity, Refusal, StepKind};
use singlet_model::types::Type;
use singlet_plan::write::{Clause, DefaultRefusal, Place, Used};
use singlet_store::Condition;

use super::attempt::{Attempt, ORDER_ALLOW, ORDER_VERSION, not_found};
use super::refuse::{self, Denial, RefusalRule};
use super::touched::{ORDER_PIN, RowCheck, WriteAction, absent_now};
use super::{AttemptStop, Precondition, Refused, internal_mistake};
use crate::error::RuntimeError;
use crate::lower::{self, Lowered};

impl<'a> Attempt<'a> {
    pub async fn allow(&mut self, clause: &'a Clause) -> Result<(), AttemptStop> {
        match &clause.place {
            // The caller alone was looked at before any I/O.
            Place::Request => Ok(()),
            Place::Pushed(row) => {
                let at = self.named_row(row.as_deref())?;
                let rule = RefusalRule::of(self.touched(at)?.entity, None, DefaultRefusal::Absent);
                Box::pin(self.push(at, &clause.expr, ORDER_ALLOW, rule)).await
            }
            Place::Pinned => match self.holds(&clause.expr, None).await? {
                true => Ok(()),
                false => {
                    let entity = self.first_row(&clause.expr)?;
                    let refused = entity.map_or_else(|| Refused::new("not_found", 404), not_found);
                    Err(self.refused(ORDER_ALLOW, refused).await)
                }
            },
        }
    }

    /// The row into whose condition a clause goes. A clause that finds none must not be taken for one that holds.
    fn named_row(&self, name: Option<&str>) -> Result<usize, AttemptStop> {
        let at = name.and_then(|name| self.names.get(name)).copied();
        at.ok_or_else(|| internal_mistake("a clause is about a row that nobody named"))
    }

    /// The entity of the first row that an expression looks at.
    fn first_row(&self, expr: &Expr) -> Result<Option<&'a Entity>, AttemptStop> {
        let mut found: Option<Result<&'a Entity, AttemptStop>> = None;
        expr.walk(&mut |part| {
            if found.is_some() {
                return;
            }
            found = match &part.kind {
                ExprKind::Bound(name) => {
                    let at = self.names.get(name);
                    at.map(|at| self.touched(*at).map(|touched| touched.entity))
                }
                ExprKind::Entity { entity, .. } => Some(self.entity(*entity)),
                _ => None,
            };
        });
        found.transpose()
    }

    pub(crate) async fn require(
        &mut self,
        clause: &'a Clause,
        refusal: &'a Refusal,
        status: u16,
        order: u32,
    ) -> Result<(), AttemptStop> {
        match &clause.place {
            Place::Request | Place::Pinned => {
                if self.holds(&clause.expr, None).await? {
                    return Ok(());
                }
                let mut refused = Refused::new(refusal.name.clone(), status);
                refused.shown = refuse::shown_refusal(self.operation, &refusal.shown, &self.bound, None)?;
                Err(self.refused(order, refused).await)
            }
            Place::Pushed(row) => {
                let mut rule = RefusalRule::required(refusal, status);
                let at = self.named_row(row.as_deref())?;
                rule.row = row.clone();
                rule.entity = Some(self.touched(at)?.entity);
                Box::pin(self.push(at, &clause.expr, order, rule)).await
            }
        }
    }

    /// Puts a condition on a row that is not read.
    async fn push(
        &mut self,
        at: usize,
        expr: &'a Expr,
        order: u32,
        mut rule: RefusalRule<'a>,
    ) -> Result<(), AttemptStop> {
        if !rule.shown.is_empty() {
            rule.bound = self.bound.clone();
        }
        self.push_at(at, expr, order, rule).await
    }

    pub(crate) async fn push_at(
        &mut self,
        at: usize,
        expr: &'a Expr,
        order: u32,
        rule: RefusalRule<'a>,
    ) -> Result<(), AttemptStop> {
        self.look_through(expr).await?;
        let touched = self.touched(at)?;
        if touched.is_read() {
            // Read after all, because something else needed it.
            let mut used = Used::default();
            used.extend(expr);
            let row = touched.row().map(Arc::clone);
            let old = touched.item().cloned();
            self.note_used(at, used)?;
            // Of a row that is missing and must not be, that is said first; of another, nothing is there.
            if row.is_none()
                && let Some(stop) = Box::pin(self.said_before(order)).await
            {
                return Err(stop);
            }
            // A row that is not there has no attributes: the condition is decided on that as the store would.
            if self.holds(expr, Some(&row.unwrap_or_default())).await? {
                return Ok(());
            }
            let refused = rule.refused(self.operation, old.as_ref())?;
            return Err(self.refused(order, refused).await);
        }
        let lowered = lower::row_condition(self.operation.model, touched.entity, expr, self.scope(None))?;
        match lowered {
            Lowered::True => Ok(()),
            Lowered::False => {
                // It holds of no row, but a missing row speaks first.
                let key = touched.key.clone();
                let old = self.get(key).await?;
                let refused = rule.refused(self.operation, old.as_ref())?;
                Err(self.refused(order, refused).await)
            }
            // What the store cannot decide has to be read, and then all is evaluated anew.
            Lowered::No => Err(AttemptStop::ReadFirst(vec![touched.key.clone()])),
            Lowered::Filter(condition) => {
                self.touched_mut(at)?.checks.push(RowCheck {
                    order,
                    condition,
                    denial: Denial::Rule(Box::new(rule)),
                });
                Ok(())
            }
        }
    }

    /// A refusal that the process found; but what the store would have said first is said first.
    pub async fn refused(&mut self, order: u32, refused: Refused) -> AttemptStop {
        // Nothing is said: the step is passed over, and what came before it decides later.
        if self.skipping {
            return AttemptStop::Skipped;
        }
        // Few are refused: what asks the store for it is boxed, so that not every step has room for it and is moved with it.
        let before = Box::pin(self.said_before(order)).await;
        before.unwrap_or(AttemptStop::Refused(refused))
    }

    /// More than one row where one is expected; but that another is missing is said first.
    pub async fn several(&mut self, several: RuntimeError) -> AttemptStop {
        self.said_before(ORDER_ALLOW)
            .await
            .unwrap_or(AttemptStop::Failed(several))
    }

    /// What the store would have said before.
    async fn said_before(&mut self, order: u32) -> Option<AttemptStop> {
        let failed = match self.failing(|known| known < order).await {
            Ok(failed) => failed,
            Err(stop) => return Some(stop),
        };
        if failed.is_empty() {
            return None;
        }
        // It may fail only because a row has changed since it was read: then all is evaluated anew.
        match self.failing(|known| known == ORDER_PIN).await {
            Ok(changed) if changed.is_empty() => {}
            Ok(_) => return Some(AttemptStop::Again),
            Err(stop) => return Some(stop),
        }
        let failed = failed.iter();
        let failed = failed.flat_map(|(action, item)| refuse::failed_checks(&action.checks, item.as_ref()));
        Some(refuse::refusal_reason(self.operation, failed))
    }

    /// What the store would refuse of what was said so far, by the order of its checks.
    pub async fn failing(
        &mut self,
        wanted: impl Fn(u32) -> bool,
    ) -> Result<Vec<(WriteAction<'a>, Option<Item>)>, AttemptStop> {
        let mut actions = Vec::new();
        for (at, touched) in self.rows.iter().enumerate() {
            actions.extend(self.actions_of(at, touched.parts())?);
        }
        let mut failed = Vec::new();
        for mut action in actions {
            // Only those that come before: what comes after must not speak for it.
            action.checks.retain(|check| wanted(check.order));
            if action.checks.is_empty() {
                continue;
            }
            let item = self.get(action.key.clone()).await?;
            if action
                .checks
                .iter()
                .any(|check| !check.condition.holds_of(item.as_ref()))
            {
                failed.push((action, item));
            }
        }
        Ok(failed)
    }

    /// Where the store is asked whether what was said so far can be done, by the order of its checks, other than at the rows.
    pub(crate) fn places_beside_rows(&self, wanted: impl Fn(u32) -> bool) -> Result<Vec<Item>, AttemptStop> {
        let mut places = Vec::new();
        for (at, touched) in self.rows.iter().enumerate() {
            let asked = self.actions_of(at, touched.parts())?.into_iter();
            let asked = asked.filter(|action| action.checks.iter().any(|check| wanted(check.order)));
            places.extend(asked.map(|action| action.key));
        }
        places.retain(|place| self.rows.iter().all(|touched| touched.key != *place));
        Ok(places)
    }

    /// What the caller said of the row speaks before requirements.
    pub(crate) async fn check_version_read(&mut self) -> Result<(), AttemptStop> {
        let asked = self.operation.request.precondition != Precondition::Unsaid;
        match asked || self.operation.write.if_match_required {
            true => Box::pin(self.check_version_of_first(asked)).await,
            false => Ok(()),
        }
    }

    /// The version of the first row that changes, or that the caller did not name it.
    async fn check_version_of_first(&mut self, asked: bool) -> Result<(), AttemptStop> {
        let mut first = None;
        for step in self.operation.write.steps_on_versions() {
            let taken = match &step.when {
                Some(when) => self.holds(when, None).await?,
                None => true,
            };
            first = match &step.kind {
                StepKind::Update(target) | StepKind::Delete(target) | StepKind::Upsert(target) => Some(target),
                _ => None,
            }
            .filter(|_| taken);
            if first.is_some() {
                break;
            }
        }
        let says_of_row = matches!(
            self.operation.request.precondition,
            Precondition::Present | Precondition::Version(_)
        );
        // What is said of a row that changes is so of none where none does.
        if first.is_none() && says_of_row && self.operation.write.changes_rows_by_single_steps() {
            let differs = AttemptStop::Failed(RuntimeError::VersionMismatch);
            return Err(Box::pin(self.said_before(ORDER_VERSION)).await.unwrap_or(differs));
        }
        let at = match first.map(|target| &target.kind) {
            Some(ExprKind::Bound(name)) => self.names.get(name).copied(),
            Some(ExprKind::Entity { entity, key }) => {
                let entity = self.entity(*entity)?;
                let known = self.key_values(entity, key).await?;
                self.touch(entity, known)?
            }
            _ => None,
        };
        // A row that has no key is not there, and the step that changes it says so.
        let Some(at) = at else { return Ok(()) };
        if self.must_read(at)? || !asked {
            self.read(at).await?;
        }
        match asked {
            true => self.check_version(at).await,
            false if self.touched(at)?.row().is_some() => {
                let required = AttemptStop::Failed(RuntimeError::VersionRequired);
                Err(Box::pin(self.said_before(ORDER_VERSION)).await.unwrap_or(required))
            }
            // A row that is not there has no version to name. Whoever named it and needs it says so before what is required of it;
            // else what is missing is said by the step.
            false => Box::pin(self.said_before(ORDER_VERSION)).await.map_or(Ok(()), Err),
        }
    }

    /// Checks what the caller said of a row, now or in its condition. It is about the first row that changes, and no other.
    pub async fn check_version(&mut self, at: usize) -> Result<(), AttemptStop> {
        // Once: a version is about one row, though several steps may change it.
        if std::mem::replace(&mut self.version_checked, true) {
            return Ok(());
        }
        let (model, request) = (self.operation.model, self.operation.request);
        let touched = self.touched_mut(at)?;
        let attribute = touched
            .entity
            .attributes
            .iter()
            .find(|attribute| attribute.ty == Type::Version);
        let name = attribute.map(|attribute| super::touched::stored_name(&attribute.stored, &attribute.name));
        let wanted = match (&request.precondition, name) {
            (Precondition::Unsaid | Precondition::Present, _) => return Ok(()),
            (Precondition::Version(versions), Some(name)) => versions
                .iter()
                .map(|version| Condition::equal(name, Value::N(*version)))
                .reduce(Condition::or),
            // No version is the version of a row that has none.
            (Precondition::Absent | Precondition::Version(_), _) => None,
        };
        // A row that is not there has no other version: what is missing is said by who needs it.
        if touched.is_read() {
            // Missing is said by whoever needs the row, before a version is.
            let holds = touched.row().is_none() || wanted.is_some_and(|wanted| wanted.holds_of(touched.item()));
            if holds {
                return Ok(());
            }
            // Another row that is missing, and that nobody has read yet, speaks before.
            let differs = AttemptStop::Failed(RuntimeError::VersionMismatch);
            return Err(Box::pin(self.said_before(ORDER_VERSION)).await.unwrap_or(differs));
        }
        let gone = absent_now(model, touched.entity.expires.is_some(), request.now);
        touched.checks.push(RowCheck {
            order: ORDER_VERSION,
            condition: match wanted {
                Some(wanted) => gone.or(wanted),
                None => gone,
            },
            denial: Denial::Version,
        });
        Ok(())
    }
}
