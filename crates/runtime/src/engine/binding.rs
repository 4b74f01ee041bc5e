//! What comes before the rows: who may, and the names of `let`.

use singlet_item::Value;
use singlet_model::evaluate::{evaluate, evaluate_bound, holds_condition};
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Let, LetValue, Selection, SelectionKind};
use singlet_model::types::EntityId;
use singlet_plan::read::SelectionPlan;
use singlet_store::GetRequest;

use super::read_call::{ReadCall, beside_rows};
use crate::by_key::primary_key;
use crate::error::RuntimeError;
use crate::scope::Attributes;
use crate::{range_rows, retry, row};

impl<'a> ReadCall<'a> {
    /// Checks what `allow` says of the caller alone, before anything is read.
    pub(super) fn admit(&self) -> Result<(), RuntimeError> {
        for condition in &self.admission.of_the_caller {
            if !holds_condition(condition, &self.scope())? {
                return Err(RuntimeError::not_admitted(&self.request.caller));
            }
        }
        Ok(())
    }

    /// Checks what `allow` says of rows that `let` read; a refusal looks as if they were not there.
    pub(super) fn admit_by_rows(&self) -> Result<(), RuntimeError> {
        for condition in &self.admission.of_bound_rows {
            if !holds_condition(condition, &self.scope())? {
                // Not a refusal: that the row is there must not be told to who may not see it.
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
            LetValue::Read(selection) => {
                let name = &self.read.name;
                let plan = plan.ok_or_else(|| RuntimeError::Request(format!("no key answers a `let` of `{name}`")))?;
                match selection.kind {
                    SelectionKind::Find => Some(self.named_list(selection, plan).await?),
                    SelectionKind::Get { .. } | SelectionKind::Count => {
                        self.one_row(selection, plan, None).await?.map(Value::M)
                    }
                }
            }
        };
        match value {
            Some(value) => {
                self.bound.insert(bound.name.clone(), value);
                Ok(())
            }
            // Only with `?`: anything that is read with a name that has no value would be read of somebody else, or of all.
            None if bound.optional => Ok(()),
            None => Err(RuntimeError::NotFound),
        }
    }

    /// Rows that a name of `let` stands for: to their limit, or all.
    async fn named_list(&mut self, selection: &'a Selection, plan: &'a SelectionPlan) -> Result<Value, RuntimeError> {
        let most = selection
            .limit
            .map_or(self.bounds().beside_rows_max, |limit| limit as usize);
        let found = beside_rows(self.reading(selection, plan, None), most).await?;
        self.consumed += found.consumed;
        Ok(Value::L(found.rows.into_iter().map(Value::M).collect()))
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
        // A value that no key of the entity can have is the key of no row.
        let Ok(Some(key)) = primary_key(entity, &parts) else {
            return Ok(None);
        };
        let request = GetRequest {
            table: engine.model.table.name.clone(),
            key,
            // Who may is decided by it, so that it must not be a row as it was.
            consistent: true,
            projection: Default::default(),
        };
        let answer = retry::with_retries(engine.bounds(), || engine.store.get(&request)).await?;
        self.consumed += answer.consumed;
        let item = answer
            .item
            // The key may be held by a row of another entity, which has other attributes under the same names.
            .filter(|item| range_rows::is_row_of(&engine.model, entity, item));
        let row = item
            .map(|item| row::decode_live(&engine.model, entity, &item, self.scope()))
            .transpose()?;
        Ok(row.flatten().map(Value::M))
    }
}
