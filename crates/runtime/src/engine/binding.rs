//! What comes before the rows: who may, and the names of `let`.

use singlet_item::Value;
use singlet_model::evaluate::{evaluate, evaluate_bound, holds};
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Let, LetValue};
use singlet_model::types::EntityId;
use singlet_plan::read::SelectionPlan;
use singlet_store::GetRequest;

use super::Call;
use crate::by_key::primary_key;
use crate::error::RuntimeError;
use crate::scope::Attributes;
use crate::{retry, row, stream};

impl<'a> Call<'a> {
    /// Checks what `allow` says of the caller alone, before anything is read.
    pub(super) fn admit(&self) -> Result<(), RuntimeError> {
        for condition in &self.admission.of_the_caller {
            if !holds(condition, &self.scope())? {
                return Err(match self.request.caller.authenticated {
                    true => RuntimeError::Forbidden,
                    false => RuntimeError::Unauthenticated,
                });
            }
        }
        Ok(())
    }

    /// Checks what `allow` says of rows that `let` read; a refusal looks as if they were not there.
    pub(super) fn admit_by_rows(&self) -> Result<(), RuntimeError> {
        for condition in &self.admission.of_bound_rows {
            if !holds(condition, &self.scope())? {
                return Err(RuntimeError::NotFound);
            }
        }
        Ok(())
    }

    /// Gives a name of `let` its value.
    pub(super) async fn bind(&mut self, bound: &'a Let, plan: Option<&'a SelectionPlan>) -> Result<(), RuntimeError> {
        let value = match &bound.value {
            LetValue::Value(expr) => match &expr.kind {
                ExprKind::Entity { entity, key } => self.row_by_key(*entity, key).await?,
                _ => evaluate_bound(expr, &self.scope())?,
            },
            LetValue::Read(selection) => match plan {
                Some(plan) => self.one_row(selection, plan, None).await?.map(Value::M),
                None => None,
            },
        };
        match value {
            Some(value) => {
                self.bound.insert(bound.name.clone(), value);
                Ok(())
            }
            None if bound.optional => Ok(()),
            None => Err(RuntimeError::NotFound),
        }
    }

    async fn row_by_key(&mut self, entity: EntityId, key: &[(String, Expr)]) -> Result<Option<Value>, RuntimeError> {
        let engine = self.engine;
        let Some(entity) = engine.model.entity(entity) else {
            return Ok(None);
        };
        let mut parts = Attributes::new();
        for (name, expr) in key {
            if let Some(value) = evaluate(expr, &self.scope())? {
                parts.insert(name.clone(), value);
            }
        }
        let Some(key) = primary_key(entity, &parts)? else {
            return Ok(None);
        };
        let request = GetRequest {
            table: engine.model.table.name.clone(),
            key,
            consistent: true,
            projection: Vec::new(),
        };
        let answer = retry::retried(engine.bounds(), || engine.store.get(&request)).await?;
        self.consumed += answer.consumed;
        let item = answer.item.filter(|item| stream::is_of(&engine.model, entity, item));
        let row = item
            .map(|item| row::decode(&engine.model, entity, &item, self.scope()))
            .transpose()?;
        Ok(row.flatten().map(Value::M))
    }
}
