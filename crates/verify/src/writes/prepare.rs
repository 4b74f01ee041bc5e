//! What comes before the steps: names, who may, the version, and what is required.

use singlet_item::Value;
use singlet_model::evaluate::evaluate_bound;
use singlet_model::expression::ExprKind;
use singlet_model::model::{Let, LetValue, SelectionKind};
use singlet_model::types::{EntityId, Type};
use singlet_plan::write::{DefaultRefusal, default_name};
use singlet_runtime::{Attributes, Refused};

use super::mends::wanted_equalities;
use super::oracle::ExpectedOutcome;
use super::request::{first_bound, version_of};
use super::steps::{OperationSteps, refused_step};

impl<'a> OperationSteps<'a> {
    /// Names, who may, the version, and what is required.
    pub fn prepare_operation(&mut self) -> Result<(), ExpectedOutcome> {
        let write = self.frame.write;
        for bound in &write.lets {
            match self.bind_let(bound) {
                Err(_) if self.frame.lenient => {}
                other => other?,
            }
        }
        if self.frame.lenient {
            return Ok(());
        }
        let asked = self.frame.cause.is_none();
        for clause in write.allow.conjuncts().into_iter().filter(|_| asked) {
            if !clause.is_of_request() && !self.holds_now(clause, None)? {
                self.note_obstacle(clause, None);
                let name = first_bound(clause, &|name| self.names.contains_key(name));
                let row = name.and_then(|name| self.touched.get(*self.names.get(name)?));
                return Err(match row {
                    Some(row) => self.not_found(row.entity)?,
                    None => refused_step(Refused {
                        name: "not_found".to_owned(),
                        status: 404,
                        shown: Attributes::new(),
                    }),
                });
            }
        }
        self.check_version()?;
        for requirement in &write.requirements {
            if !self.holds_now(&requirement.condition, None)? {
                self.note_obstacle(&requirement.condition, None);
                return Err(refused_step(self.require_clause(requirement, None)?));
            }
        }
        Ok(())
    }

    fn bind_let(&mut self, bound: &Let) -> Result<(), ExpectedOutcome> {
        let (entity, at) = match &bound.value {
            LetValue::Value(expr) => match &expr.kind {
                ExprKind::Entity { entity, key } => {
                    let key = self.key(*entity, key, None)?;
                    let at = self.touch_row(*entity, &key)?;
                    self.note_missing(*entity, at, key);
                    (*entity, at)
                }
                _ => {
                    let value = self.computed_value(evaluate_bound(expr, &self.making_scope(None)))?;
                    self.bound.extend(value.map(|value| (bound.name.clone(), value)));
                    return Ok(());
                }
            },
            LetValue::Read(selection) => {
                let Some(entity) = selection.entity() else {
                    return Ok(());
                };
                if selection.kind == SelectionKind::Find {
                    let rows = self.found_rows(selection)?.into_iter().map(Value::M).collect();
                    self.bound.insert(bound.name.clone(), Value::L(rows));
                    return Ok(());
                }
                let found = self.found_rows(selection)?;
                if selection.order.is_empty() && found.len() > 1 {
                    return Err(ExpectedOutcome::Several);
                }
                let found = found.into_iter().next();
                let at = found.map(|row| self.touch_row(entity, &row)).transpose()?.flatten();
                if let Some(filter) = selection.filter.as_ref().filter(|_| at.is_none()) {
                    self.note_missing(entity, at, wanted_equalities(filter, &self.making_scope(None)));
                }
                (entity, at)
            }
        };
        let row = at.and_then(|at| self.touched.get(at)?.was.clone());
        match (at, row) {
            (Some(at), Some(row)) => {
                self.bound.insert(bound.name.clone(), Value::M(row));
                self.names.insert(bound.name.clone(), at);
                Ok(())
            }
            _ if bound.optional => Ok(()),
            _ => Err(self.not_found(entity)?),
        }
    }

    fn not_found(&self, entity: EntityId) -> Result<ExpectedOutcome, ExpectedOutcome> {
        let entity = self.entity(entity)?;
        Ok(refused_step(Refused {
            name: default_name(&entity.name, &DefaultRefusal::Absent),
            status: 404,
            shown: Attributes::new(),
        }))
    }

    /// The version that the caller asked for is looked at before anything is required.
    fn check_version(&mut self) -> Result<(), ExpectedOutcome> {
        let is_said = version_of(self.frame.request).is_some();
        let is_needed = self.frame.write.if_match_required;
        if !is_said && !is_needed {
            return Ok(());
        }
        let Some(target) = self.first_changed(&self.frame.write.steps)? else {
            // Nothing changes that could be of the version that was asked for.
            return match is_said && self.frame.write.changes_rows_by_single_steps() && !self.frame.write.bulk {
                true => Err(ExpectedOutcome::VersionMismatch),
                false => Ok(()),
            };
        };
        let at = self.target_row(target)?;
        let is_there = at
            .and_then(|at| self.touched.get(at))
            .is_some_and(|touched| touched.was.is_some());
        match at {
            Some(at) if is_said => self.check_version_of(at),
            // A row that is not there has no version to name.
            _ if is_there => Err(ExpectedOutcome::VersionRequired),
            _ => Ok(()),
        }
    }

    /// It is that of the first row that changes; in bulk there is no such row.
    pub(crate) fn check_version_of(&mut self, at: usize) -> Result<(), ExpectedOutcome> {
        let wanted = version_of(self.frame.request).filter(|_| !self.frame.write.bulk);
        let (Some(wanted), false) = (wanted, self.version_checked) else {
            return Ok(());
        };
        self.version_checked = true;
        let Some(touched) = self.touched.get(at) else {
            return Ok(());
        };
        let entity = self.entity(touched.entity)?;
        let mut attributes = entity.attributes.iter();
        let attribute = attributes.find(|attribute| attribute.ty == Type::Version);
        match (attribute, &touched.was) {
            (Some(attribute), Some(row)) if row.get(&attribute.name) != Some(&Value::N(wanted)) => {
                Err(ExpectedOutcome::VersionMismatch)
            }
            // No version is the version of a row that has none.
            (None, Some(_)) => Err(ExpectedOutcome::VersionMismatch),
            _ => Ok(()),
        }
    }
}
