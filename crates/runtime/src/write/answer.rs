//! The end of an attempt: everything is sent at once, and the answer is what rows become.

use std::collections::BTreeMap;
use std::sync::Arc;

use singlet_item::{Item, Value};
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::Return;
use singlet_model::types::Type;
use singlet_store::Consumed;

use super::attempt::Attempt;
use super::refuse::Denial;
use super::touched::{Doing, Touched, TouchedChange, WriteAction};
use super::{AttemptStop, Refused, Written, internal_mistake, send};
use crate::row;
use crate::scope::Attributes;

impl<'a> Attempt<'a> {
    /// Sends everything, and says what came of it.
    pub async fn finish(&mut self, more: Vec<WriteAction<'a>>) -> Result<Written, AttemptStop> {
        // Before the rows are sent: only the answered ones are asked for afterwards.
        if self.answers {
            self.mark_answered()?;
        }
        let blind = self.answered_blind();
        let blind_keys = blind.iter().map(|at| Ok(self.touched(*at)?.key.clone()));
        let blind_keys: Vec<Item> = blind_keys.collect::<Result<_, AttemptStop>>()?;
        if self.answers && self.answer_names_rows() {
            // Rows that only the answer names are read before anything is sent, so that they are insisted on too.
            if !blind.is_empty() {
                return Err(AttemptStop::ReadFirst(blind_keys));
            }
            self.answer().await?;
        }
        // Before anything is gathered, for it may end the attempt.
        self.store_lapses().await?;
        // Before the actions are gathered, which takes out of the rows what it needs.
        let answered = match &self.operation.record {
            Some(_) => Some(self.answered_row()?),
            None => None,
        };
        let mut actions = self.gathered(more)?;
        let several = actions.len() + usize::from(self.operation.record.is_some()) > 1;
        // A transaction gives no item back, so that a row which is to be answered has to be read and computed first.
        if several && !blind.is_empty() {
            return Err(AttemptStop::ReadFirst(blind_keys));
        }
        // One row and nothing else: the store gives it back as it became.
        if let [at] = blind.as_slice() {
            let sent = send::send_actions(self.operation, actions, true, &mut self.consumed);
            let item = Box::pin(sent).await?;
            let item = item.ok_or_else(|| internal_mistake("a row was changed and not given back"))?;
            // A row that ends with this change is answered all the same.
            let row =
                row::decode_even_expired(self.operation.model, self.touched(*at)?.entity, &item, self.scope(None))?;
            self.touched_mut(*at)?.after = Some(Arc::new(row));
            return self.answer().await;
        }
        let written = match self.answers {
            true => self.answer().await?,
            false => Written::default(),
        };
        if let (Some(record), Some(answered)) = (&self.operation.record, answered) {
            // The record is part of the same transaction: a request is recorded exactly where it was done.
            actions.push(record.action(self.operation, &written, &answered)?);
            actions.extend(self.operation.change.and_then(|change| change.unpark(self.operation)));
        }
        send::send_actions(self.operation, actions, false, &mut self.consumed).await?;
        Ok(written)
    }

    /// What would be sent where nothing is answered and nothing recorded, for one who sends it with other things.
    pub async fn unsent(&mut self) -> Result<Vec<WriteAction<'a>>, AttemptStop> {
        self.store_lapses().await?;
        self.gathered(Vec::new())
    }

    /// What is sent: what becomes of the rows, and what else there is.
    fn gathered(&mut self, more: Vec<WriteAction<'a>>) -> Result<Vec<WriteAction<'a>>, AttemptStop> {
        let mut actions = Vec::new();
        for at in 0..self.rows.len() {
            let touched = self.touched(at)?;
            let unfinished = touched.change == TouchedChange::Update && touched.is_read() && touched.after.is_none();
            // Its change was decided without what was read since; what would be sent is made of both.
            if unfinished && touched.entity.history.is_none() {
                return Err(internal_mistake("a row was read after its change was decided"));
            }
            let parts = self.touched_mut(at)?.take_parts();
            actions.append(&mut self.actions_of(at, parts)?);
        }
        // What somebody else broke meanwhile has the step passed over when all is evaluated anew.
        for WriteAction { key, checks, .. } in &mut actions {
            for check in checks
                .iter_mut()
                .filter(|check| self.not_passed_over.has_met(key, check))
            {
                // Not a refusal: with what has changed the step may be one to pass over.
                check.denial = Denial::Changed;
            }
        }
        actions.append(&mut self.passed_over);
        actions.extend(more);
        // After everything is there: DynamoDB refuses a transaction that names an item twice.
        unite(&mut actions)?;
        Ok(actions)
    }

    /// Whether the answer names rows by their keys.
    fn answer_names_rows(&self) -> bool {
        let names = |expr: &Expr| expr.any(|part| matches!(part.kind, ExprKind::Entity { .. }));
        match &self.operation.write.returns {
            Return::Usual | Return::Nothing => false,
            Return::Value(expr) => names(expr),
            Return::Fields(fields) => fields.iter().any(|(_, expr)| names(expr)),
        }
    }

    /// The rows that the answer shows.
    fn mark_answered(&mut self) -> Result<(), AttemptStop> {
        let returns = &self.operation.write.returns;
        let mut shown: Vec<usize> = Vec::new();
        match returns {
            Return::Usual => shown.extend(self.first.map(|first| first.at)),
            Return::Nothing => {}
            Return::Value(expr) => shown.extend(self.rows_in(expr)),
            Return::Fields(fields) => shown.extend(fields.iter().flat_map(|(_, expr)| self.rows_in(expr))),
        }
        for at in shown {
            self.touched_mut(at)?.answered = true;
        }
        Ok(())
    }

    pub fn rows_in(&self, expr: &Expr) -> Vec<usize> {
        let mut found = Vec::new();
        expr.walk(&mut |part| {
            if let ExprKind::Bound(name) = &part.kind {
                found.extend(self.names.get(name).copied());
            }
        });
        found
    }

    /// The rows that the answer shows though it is not known what they become.
    pub(crate) fn answered_blind(&self) -> Vec<usize> {
        let blind = |touched: &Touched<'a>| {
            // What it becomes is known to the store alone.
            touched.answered && touched.after.is_none() && touched.change == TouchedChange::Update
        };
        let rows = self.rows.iter().enumerate();
        rows.filter(|(_, touched)| blind(touched)).map(|(at, _)| at).collect()
    }

    /// The row that the answer is, with the attributes of its item.
    fn answered_row(&self) -> Result<Attributes, AttemptStop> {
        let Some(first) = self.first else {
            return Ok(Attributes::new());
        };
        let touched = self.touched(first.at)?;
        let row = touched.row_after();
        let row = row.ok_or_else(|| internal_mistake("what is answered is not there"))?;
        let mut row = Attributes::clone(row);
        // A record may be shaped by the keys of what was made.
        for (name, value) in &touched.key {
            row.entry(name.clone()).or_insert_with(|| value.clone());
        }
        Ok(row)
    }

    async fn answer(&mut self) -> Result<Written, AttemptStop> {
        // What is answered is what rows become.
        let after: Vec<(String, Value)> = self
            .names
            .iter()
            .filter_map(|(name, at)| {
                let after = self.rows.get(*at)?.after.as_ref()?;
                Some((name.clone(), row::as_value(after)))
            })
            .collect();
        self.bound.extend(after);
        let created = self.first.is_some_and(|first| first.created);
        let said = self.operation.write.http.as_ref().and_then(|route| route.status);
        let value = match &self.operation.write.returns {
            Return::Nothing => None,
            Return::Usual => match self.first {
                Some(first) => {
                    let touched = self.touched(first.at)?;
                    let row = touched.row_after();
                    let row = row.ok_or_else(|| internal_mistake("what is answered is not there"))?;
                    Some(row::as_value(row))
                }
                None => None,
            },
            Return::Value(expr) => self.answered_value(expr).await?,
            Return::Fields(fields) => {
                let mut map = BTreeMap::new();
                for (name, expr) in fields {
                    map.extend(self.answered_value(expr).await?.map(|value| (name.clone(), value)));
                }
                Some(Value::M(map))
            }
        };
        let status = said.unwrap_or(match (&value, created) {
            (None, _) => 204,
            (Some(_), true) => 201,
            (Some(_), false) => 200,
        });
        let first = self.first.map(|first| self.touched(first.at)).transpose()?;
        let version = first.and_then(|touched| {
            let attribute = touched
                .entity
                .attributes
                .iter()
                // Of the row that is answered: it is what the caller sends back as the version that was seen.
                .find(|attribute| attribute.ty == Type::Version)?;
            touched.after.as_ref()?.get(&attribute.name)?.as_number()
        });
        Ok(Written {
            status,
            value: value.filter(|_| status != 204),
            version,
            replayed: false,
            consumed: Consumed::default(),
        })
    }
}

/// No item may stand in a request twice: checks join what else is done with their item.
fn unite(actions: &mut Vec<WriteAction<'_>>) -> Result<(), AttemptStop> {
    let mut at = 0;
    while let Some((first, others)) = actions.get_mut(at..).and_then(<[WriteAction<'_>]>::split_first_mut) {
        let Some(other) = others.iter().position(|action| action.key == first.key) else {
            at += 1;
            continue;
        };
        let second = actions.remove(at + 1 + other);
        let first = actions.get_mut(at);
        let first = first.ok_or_else(|| internal_mistake("an action is gone"))?;
        match (&first.doing, &second.doing) {
            // A check says nothing of what is done, so that its conditions go with the other.
            (_, Doing::Check) => {}
            (Doing::Check, _) => first.doing = second.doing,
            // Two changes of one item in one transaction have no order, and DynamoDB refuses them.
            _ => return Err(AttemptStop::Refused(Refused::new("same_item", 409))),
        }
        // All of them, in order: each keeps its own place in the order of refusals.
        first.checks.extend(second.checks);
    }
    Ok(())
}
