//! What must hold before the steps, of the caller, of rows that were read, and of rows that only get conditions.

use std::collections::BTreeMap;

use singlet_item::{Item, Value};
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Entity, Refusal, StepKind};
use singlet_model::types::Type;
use singlet_plan::write::{Clause, Default as Why, Place, Used};
use singlet_store::Condition;

use super::attempt::{Attempt, ORDER_ALLOW, ORDER_VERSION, not_found};
use super::refuse::{self, Denial, Rule};
use super::touched::{Action, Check, absent_now};
use super::{Precondition, Refused, Stop};
use crate::error::RuntimeError;
use crate::lower::{self, Lowered};

impl<'a> Attempt<'a> {
    pub async fn allow(&mut self, clause: &'a Clause) -> Result<(), Stop> {
        match &clause.place {
            // The caller alone was looked at before any I/O.
            Place::Request => Ok(()),
            Place::Pushed(row) => {
                let entity = row.as_ref().and_then(|name| self.row_entity(name));
                let denial = entity.map(|entity| Rule::of(entity, None, &Why::Absent));
                self.push(row.as_deref(), &clause.expr, ORDER_ALLOW, denial).await
            }
            Place::Pinned => match self.holds(&clause.expr, None)? {
                true => Ok(()),
                false => {
                    let name = bound_row(&clause.expr, &self.names);
                    let entity = name.and_then(|name| self.row_entity(&name));
                    let refused = entity.map_or_else(|| Refused::new("not_found", 404), not_found);
                    Err(self.refused(ORDER_ALLOW, refused).await)
                }
            },
        }
    }

    pub fn row_entity(&self, name: &str) -> Option<&'a Entity> {
        let at = self.names.get(name)?;
        self.rows.get(*at).map(|touched| touched.entity)
    }

    pub async fn require(
        &mut self,
        clause: &'a Clause,
        refusal: &'a Refusal,
        status: u16,
        order: u32,
    ) -> Result<(), Stop> {
        match &clause.place {
            Place::Request | Place::Pinned => {
                if self.holds(&clause.expr, None)? {
                    return Ok(());
                }
                let mut refused = Refused::new(refusal.name.clone(), status);
                refused.shown = refuse::shown(self.operation, &refusal.shown, &self.bound, None)?;
                Err(self.refused(order, refused).await)
            }
            Place::Pushed(row) => {
                let mut rule = Rule::required(refusal, status);
                rule.row = row.clone();
                rule.entity = row.as_ref().and_then(|name| self.row_entity(name));
                self.push(row.as_deref(), &clause.expr, order, Some(rule)).await
            }
        }
    }

    /// Puts a condition on a row that is not read.
    pub async fn push(
        &mut self,
        row: Option<&str>,
        expr: &'a Expr,
        order: u32,
        rule: Option<Rule<'a>>,
    ) -> Result<(), Stop> {
        let at = row.and_then(|name| self.names.get(name)).copied();
        let (Some(at), Some(mut rule)) = (at, rule) else {
            return Ok(());
        };
        if !rule.shown.is_empty() {
            rule.bound = self.bound.clone();
        }
        self.push_at(at, expr, order, rule).await
    }

    pub async fn push_at(&mut self, at: usize, expr: &'a Expr, order: u32, rule: Rule<'a>) -> Result<(), Stop> {
        let Some(touched) = self.rows.get(at) else {
            return Ok(());
        };
        if let (true, Some(row)) = (touched.is_read(), touched.row()) {
            // Read after all, because something else needed it.
            if self.holds(expr, Some(row))? {
                let mut used = Used::default();
                used.extend(expr);
                self.note(at, &used);
                return Ok(());
            }
            let refused = rule.refused(self.operation, touched.item())?;
            return Err(self.refused(order, refused).await);
        }
        let lowered = lower::condition(self.operation.model, touched.entity, expr, self.scope(None))?;
        match lowered {
            Lowered::True => Ok(()),
            Lowered::False => {
                // It holds of no row, but a missing row speaks first.
                let key = touched.key.clone();
                let old = self.get(key).await?;
                let refused = rule.refused(self.operation, old.as_ref())?;
                Err(self.refused(order, refused).await)
            }
            Lowered::No => Err(Stop::ReadFirst(vec![touched.key.clone()])),
            Lowered::Filter(condition) => {
                if let Some(touched) = self.rows.get_mut(at) {
                    touched.checks.push(Check {
                        order,
                        condition,
                        denial: Denial::Rule(Box::new(rule)),
                    });
                }
                Ok(())
            }
        }
    }

    /// A refusal that the process found; but what the store would have said first is said first.
    pub async fn refused(&mut self, order: u32, refused: Refused) -> Stop {
        if self.skipping {
            return Stop::Skipped;
        }
        let failed = match self.failing(|known| known < order).await {
            Ok(failed) => failed,
            Err(stop) => return stop,
        };
        if failed.is_empty() {
            return Stop::Refused(refused);
        }
        let failed: Vec<_> = failed
            .iter()
            .map(|(action, item)| (action.checks.as_slice(), item.as_ref()))
            .collect();
        refuse::why(self.operation, &failed)
    }

    /// What the store would refuse of what was said so far, by the order of its checks.
    pub async fn failing(&mut self, wanted: impl Fn(u32) -> bool) -> Result<Vec<(Action<'a>, Option<Item>)>, Stop> {
        let mut actions = Vec::new();
        for (at, touched) in self.rows.iter().enumerate() {
            actions.extend(self.actions_of(at, touched.parts())?);
        }
        let mut failed = Vec::new();
        for mut action in actions {
            action.checks.retain(|check| wanted(check.order));
            if action.checks.is_empty() {
                continue;
            }
            let item = self.get(action.key.clone()).await?;
            if action.checks.iter().any(|check| !check.condition.holds(item.as_ref())) {
                failed.push((action, item));
            }
        }
        Ok(failed)
    }

    /// What the caller said of the row speaks before requirements.
    pub async fn check_version_read(&mut self) -> Result<(), Stop> {
        let asked = self.operation.request.precondition != Precondition::Unsaid;
        if !asked && !self.operation.write.if_match_required {
            return Ok(());
        }
        let mut first = None;
        for step in self.operation.write.steps_on_versions() {
            let taken = match &step.when {
                Some(when) => self.holds(when, None)?,
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
        let at = match first.map(|target| &target.kind) {
            Some(ExprKind::Bound(name)) => self.names.get(name).copied(),
            Some(ExprKind::Entity { entity, key }) => {
                let entity = self.entity(*entity)?;
                let known = self.key_values(entity, key)?;
                self.touch(entity, known)?
            }
            _ => None,
        };
        let Some(at) = at else { return Ok(()) };
        if self.must_read(at) || !asked {
            self.read(at).await?;
        }
        match asked {
            true => self.check_version(at).await,
            // A row that is not there has no version to name: what is missing is said by who needs it.
            false if self.rows.get(at).is_some_and(|touched| touched.row().is_some()) => {
                Err(Stop::Failed(RuntimeError::VersionRequired))
            }
            false => Ok(()),
        }
    }

    /// Checks what the caller said of a row, now or in its condition. It is about the first row that changes, and no other.
    pub async fn check_version(&mut self, at: usize) -> Result<(), Stop> {
        if std::mem::replace(&mut self.version_checked, true) {
            return Ok(());
        }
        let Some(touched) = self.rows.get_mut(at) else {
            return Ok(());
        };
        let attribute = touched
            .entity
            .attributes
            .iter()
            .find(|attribute| attribute.ty == Type::Version);
        let name = attribute.map(|attribute| super::touched::stored_name(&attribute.stored, &attribute.name));
        let wanted = match (&self.operation.request.precondition, name) {
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
            let holds = touched.row().is_none() || wanted.is_some_and(|wanted| wanted.holds(touched.item()));
            return match holds {
                true => Ok(()),
                false => Err(Stop::Failed(RuntimeError::VersionMismatch)),
            };
        }
        let gone = absent_now(
            self.operation.model,
            touched.entity.expires.is_some(),
            self.operation.request.now,
        );
        touched.checks.push(Check {
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

/// The first row that an expression looks at.
fn bound_row(expr: &Expr, names: &BTreeMap<String, usize>) -> Option<String> {
    let mut found = None;
    expr.walk(&mut |part| {
        if let ExprKind::Bound(name) = &part.kind
            && found.is_none()
            && names.contains_key(name)
        {
            found = Some(name.clone());
        }
    });
    found
}
