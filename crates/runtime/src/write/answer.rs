//! The end of an attempt: everything is sent at once, and the answer is what rows become.

use std::collections::BTreeMap;

use singlet_item::{Item, Value};
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::Return;
use singlet_model::types::Type;
use singlet_store::Consumed;

use super::attempt::Attempt;
use super::touched::{Action, Change, Touched};
use super::{Refused, Stop, Written, send};
use crate::row;
use crate::scope::Attributes;

impl<'a> Attempt<'a> {
    /// Sends everything, and says what came of it.
    pub async fn finish(&mut self, more: Vec<Action<'a>>) -> Result<Written, Stop> {
        self.mark_answered();
        let blind = self.answered_blind();
        let blind_keys = blind.iter().filter_map(|at| self.rows.get(*at));
        let blind_keys: Vec<Item> = blind_keys.map(|touched| touched.key.clone()).collect();
        let answered = self.operation.record.as_ref().map(|_| self.answered_row());
        let mut actions = Vec::new();
        for at in 0..self.rows.len() {
            if let Some(parts) = self.rows.get_mut(at).map(Touched::take_parts) {
                actions.append(&mut self.actions_of(at, parts)?);
            }
        }
        actions.append(&mut self.passed_over);
        actions.extend(more);
        unite(&mut actions)?;
        let several = actions.len() + usize::from(self.operation.record.is_some()) > 1;
        if several && !blind.is_empty() {
            return Err(Stop::ReadFirst(blind_keys));
        }
        if let [at] = blind.as_slice() {
            let item = send::send(self.operation, actions, true, &mut self.consumed).await?;
            if let (at, Some(item)) = (*at, item) {
                let entity = self.rows.get(at).map(|touched| touched.entity);
                let row = match entity {
                    // A row that ends with this change is answered all the same.
                    Some(entity) => Some(row::seen(self.operation.model, entity, &item, self.scope(None))?),
                    None => None,
                };
                if let Some(touched) = self.rows.get_mut(at) {
                    touched.after = row;
                }
            }
            return self.answer();
        }
        let written = self.answer()?;
        if let (Some(record), Some(answered)) = (&self.operation.record, answered) {
            actions.push(record.action(self.operation, &written, &answered)?);
        }
        send::send(self.operation, actions, false, &mut self.consumed).await?;
        Ok(written)
    }

    /// The rows that the answer shows.
    pub fn mark_answered(&mut self) {
        let returns = &self.operation.write.returns;
        let mut shown: Vec<usize> = Vec::new();
        match returns {
            Return::Usual => shown.extend(self.first.map(|(at, _)| at)),
            Return::Nothing => {}
            Return::Value(expr) => shown.extend(self.rows_in(expr)),
            Return::Fields(fields) => shown.extend(fields.iter().flat_map(|(_, expr)| self.rows_in(expr))),
        }
        if self.operation.write.bulk {
            shown.clear();
        }
        for at in shown {
            if let Some(touched) = self.rows.get_mut(at) {
                touched.answered = true;
            }
        }
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
    pub fn answered_blind(&self) -> Vec<usize> {
        let blind =
            |touched: &Touched<'a>| touched.answered && touched.after.is_none() && touched.change == Change::Update;
        let rows = self.rows.iter().enumerate();
        rows.filter(|(_, touched)| blind(touched)).map(|(at, _)| at).collect()
    }

    /// The row that the answer is, with the attributes of its item.
    pub fn answered_row(&self) -> Attributes {
        let Some(touched) = self.first.and_then(|(at, _)| self.rows.get(at)) else {
            return Attributes::new();
        };
        let mut row = touched
            .after
            .clone()
            .or_else(|| touched.row().cloned())
            .unwrap_or_default();
        for (name, value) in &touched.key {
            row.entry(name.clone()).or_insert_with(|| value.clone());
        }
        row
    }

    pub fn answer(&mut self) -> Result<Written, Stop> {
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
        let first = self.first.and_then(|(at, _)| self.rows.get(at));
        let created = self.first.is_some_and(|(_, created)| created);
        let said = self.operation.write.http.as_ref().and_then(|route| route.status);
        let value = match &self.operation.write.returns {
            Return::Nothing => None,
            Return::Usual => first.and_then(|touched| touched.after.as_ref().or(touched.row()).map(row::as_value)),
            Return::Value(expr) => self.value(expr, None)?,
            Return::Fields(fields) => {
                let mut map = BTreeMap::new();
                for (name, expr) in fields {
                    map.extend(self.value(expr, None)?.map(|value| (name.clone(), value)));
                }
                Some(Value::M(map))
            }
        };
        let status = said.unwrap_or(match (&value, created) {
            (None, _) => 204,
            (Some(_), true) => 201,
            (Some(_), false) => 200,
        });
        let version = first.and_then(|touched| {
            let attribute = touched
                .entity
                .attributes
                .iter()
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
fn unite(actions: &mut Vec<Action<'_>>) -> Result<(), Stop> {
    let mut at = 0;
    while let Some((first, others)) = actions.get_mut(at..).and_then(<[Action<'_>]>::split_first_mut) {
        let Some(other) = others.iter().position(|action| action.key == first.key) else {
            at += 1;
            continue;
        };
        let second = actions.remove(at + 1 + other);
        let Some(first) = actions.get_mut(at) else { break };
        use super::touched::Doing;
        match (&first.doing, &second.doing) {
            (_, Doing::Check) => {}
            (Doing::Check, _) => first.doing = second.doing,
            _ => return Err(Stop::Refused(Refused::new("same_item", 409))),
        }
        first.checks.extend(second.checks);
    }
    Ok(())
}
