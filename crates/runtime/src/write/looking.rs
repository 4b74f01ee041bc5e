//! Rows are read when an expression looks at them, and what it looked at is remembered: that must still be so when it is written.
//!
//! No list of what a write looks at has to be right for this. An expression that needs a row which nobody has read stops, the row is
//! read, and the expression is computed again; so nothing is ever computed from a row of which only the key is known.
//!
//! **Invariant: what was looked at is pinned.** Each look of the evaluation that gave the value is put into [`Touched::used`], from
//! which [`Touched::pins`] makes the conditions of the request. A way for an expression to see a row that does not pass through
//! [`Looking`] would decide by a value that somebody may have changed before the write arrives.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use singlet_item::Value;
use singlet_model::Model;
use singlet_model::evaluate::{
    Borrowed, Environment, EvaluateError, KeyValue, Look, convert_value, evaluate, evaluate_as, evaluate_bound,
    holds_condition,
};
use singlet_model::expression::{Expr, ExprKind, Word};
use singlet_model::types::{EntityId, Type};

use super::attempt::{Attempt, ORDER_MISSING_LAST, not_found};
use super::generate::Generating;
use super::touched::{Touched, TouchedChange};
use super::{AttemptStop, internal_mistake};
use crate::by_key::primary_key;
use crate::error::RuntimeError;
use crate::row;
use crate::scope::Attributes;

/// The most rows that one expression can make a write read: more than a transaction holds is none.
const ROWS_LOOKED_AT_MAX: usize = singlet_item::limits::TRANSACTION_ITEMS_MAX + 1;

/// The names of an operation, for an expression that may look at rows.
struct Looking<'s, 'a> {
    names: Generating<'s>,
    model: &'s Model,
    /// Which row a name stands for. What a bulk write bound when it began is not among them: its turns keep it as it was.
    rows_by_name: &'s BTreeMap<String, usize>,
    rows: &'s [Touched<'a>],
    /// Whether rows are seen as they become.
    becoming: bool,
    seen: RefCell<SeenRows>,
}

/// What an expression looked at.
#[derive(Default)]
struct SeenRows {
    looked: Vec<(usize, Option<String>)>,
    wanted: Option<WantedRow>,
}

/// A row that must be read before the expression has a value.
enum WantedRow {
    Touched(usize),
    Key(EntityId, Attributes),
}

impl Looking<'_, '_> {
    fn want(&self, wanted: WantedRow) -> EvaluateError {
        // The last one wanted is read: the evaluation is cut off there and begins again.
        self.seen.borrow_mut().wanted = Some(wanted);
        EvaluateError::NeedsStore
    }

    fn looked(&self, at: usize, look: Look<'_>) {
        let field = match look {
            // Whether a row that was read is there is pinned in any case.
            Look::Presence => return,
            Look::Field(name) => Some(name.to_owned()),
            Look::Whole => None,
        };
        self.seen.borrow_mut().looked.push((at, field));
    }

    /// The key variables of a row as its attributes hold them.
    fn key_of(&self, entity: EntityId, key: &[KeyValue<'_>]) -> Result<Attributes, EvaluateError> {
        let entity = self.model.entity(entity);
        let mut known = Attributes::new();
        for (name, value, ty) in key {
            let Some(value) = value.clone() else { continue };
            let attribute = entity.and_then(|entity| entity.attribute(name));
            let value = match attribute {
                Some(attribute) => convert_value(value, ty, &attribute.ty)?,
                None => value,
            };
            known.insert((*name).to_owned(), value);
        }
        Ok(known)
    }
}

impl Environment for Looking<'_, '_> {
    fn attribute(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.names.attribute(name)
    }

    fn row(&self) -> Option<Cow<'_, Value>> {
        self.names.row()
    }

    fn row_field(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.names.row_field(name)
    }

    fn arg(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.names.arg(name)
    }

    fn caller(&self, claim: &str) -> Option<Cow<'_, Value>> {
        self.names.caller(claim)
    }

    fn setting(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.names.setting(name)
    }

    fn bound(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.names.bound(name)
    }

    fn look_at(&self, name: &str, look: Look<'_>) -> Borrowed<'_> {
        if let Some(&at) = self.rows_by_name.get(name) {
            let touched = self.rows.get(at).ok_or(EvaluateError::NeedsStore)?;
            let by_key = match look {
                // A row that `let` names without `?` is there, or nothing is written: its condition says so.
                Look::Presence => true,
                Look::Field(field) => touched.known().contains_key(field),
                Look::Whole => false,
            };
            if !touched.is_read() && touched.after.is_none() && !by_key {
                return Err(self.want(WantedRow::Touched(at)));
            }
            self.looked(at, look);
        }
        self.names.look_at(name, look)
    }

    fn row_by_key(&self, entity: EntityId, key: &[KeyValue<'_>], look: Look<'_>) -> Borrowed<'_> {
        let known = self.key_of(entity, key)?;
        let described = self.model.entity(entity).ok_or(EvaluateError::NeedsStore)?;
        let missing = |look: Look<'_>| match look {
            Look::Presence => Ok(None),
            Look::Field(_) | Look::Whole => Err(EvaluateError::RowMissing(entity)),
        };
        let identity = match &described.history {
            Some(_) => super::guards::identity_guard(self.model, described, &known).map(Some),
            None => primary_key(described, &known),
        };
        // What no key can hold no row has.
        let Ok(Some(identity)) = identity else {
            return missing(look);
        };
        let touched = self.rows.iter().position(|touched| touched.key == identity);
        let Some((at, touched)) = touched.and_then(|at| Some((at, self.rows.get(at)?))) else {
            return Err(self.want(WantedRow::Key(entity, known)));
        };
        // For the answer it is gone by then.
        if self.becoming && touched.change == TouchedChange::Delete {
            return missing(look);
        }
        let becomes = touched.after.as_ref().filter(|_| self.becoming);
        if !touched.is_read() && becomes.is_none() {
            return Err(self.want(WantedRow::Touched(at)));
        }
        self.looked(at, look);
        match becomes.or(touched.row()) {
            Some(row) => Ok(look.within_row(row)),
            None => missing(look),
        }
    }

    fn word(&self, word: Word) -> Option<Cow<'_, Value>> {
        self.names.word(word)
    }

    fn now(&self) -> i64 {
        self.names.now()
    }

    fn zone(&self) -> &TimeZone {
        self.names.zone()
    }

    fn generate(&self, expr: &Expr, argument: Option<u64>) -> Option<Value> {
        self.names.generate(expr, argument)
    }
}

impl<'a> Attempt<'a> {
    /// A value that an expression of the write gives.
    pub async fn value(&mut self, expr: &Expr, own: Option<&Attributes>) -> Result<Option<Value>, AttemptStop> {
        self.looking(own, false, |names| evaluate(expr, names)).await
    }

    /// A value as an attribute of a type stores it.
    pub async fn value_as(
        &mut self,
        expr: &Expr,
        ty: &Type,
        own: Option<&Attributes>,
    ) -> Result<Option<Value>, AttemptStop> {
        self.looking(own, false, |names| evaluate_as(expr, ty, names)).await
    }

    /// What a name is bound to.
    pub async fn bound_value(&mut self, expr: &Expr) -> Result<Option<Value>, AttemptStop> {
        self.looking(None, false, |names| evaluate_bound(expr, names)).await
    }

    pub async fn holds(&mut self, expr: &Expr, own: Option<&Attributes>) -> Result<bool, AttemptStop> {
        self.looking(own, false, |names| holds_condition(expr, names)).await
    }

    /// A value of the answer, which sees rows as they become.
    pub async fn answered_value(&mut self, expr: &Expr) -> Result<Option<Value>, AttemptStop> {
        self.looking(None, true, |names| evaluate(expr, names)).await
    }

    /// Reads every row that an expression names, for one who takes the names as they are bound.
    pub async fn look_through(&mut self, expr: &Expr) -> Result<(), AttemptStop> {
        let mut parts: Vec<&Expr> = Vec::new();
        rows_looked_at(expr, &self.names, &mut parts);
        for part in parts {
            self.value(part, None).await?;
        }
        Ok(())
    }

    async fn looking<T>(
        &mut self,
        own: Option<&Attributes>,
        becoming: bool,
        compute: impl Fn(&dyn Environment) -> Result<T, EvaluateError>,
    ) -> Result<T, AttemptStop> {
        // Each round reads one row more, so that this ends.
        for _ in 0..=ROWS_LOOKED_AT_MAX {
            let (computed, seen) = {
                let names = Looking {
                    names: Generating(self.scope(own)),
                    model: self.operation.model,
                    rows_by_name: &self.names,
                    rows: &self.rows,
                    becoming,
                    seen: RefCell::default(),
                };
                let computed = compute(&names);
                (computed, names.seen.into_inner())
            };
            match (computed, seen.wanted) {
                (Ok(value), _) => {
                    // Only the looks of the run that came to its end: the others were cut off, and decided nothing.
                    self.remember(seen.looked)?;
                    return Ok(value);
                }
                (Err(EvaluateError::NeedsStore), Some(WantedRow::Touched(at))) => Box::pin(self.read_named(at)).await?,
                (Err(EvaluateError::NeedsStore), Some(WantedRow::Key(entity, known))) => {
                    let entity = self.entity(entity)?;
                    let at = self.touch(entity, known)?;
                    let at = at.ok_or_else(|| internal_mistake("a row with a key cannot be read"))?;
                    Box::pin(self.read(at)).await?;
                }
                // Said in its place in the order, as a missing row of `let` is.
                (Err(EvaluateError::RowMissing(entity)), _) => {
                    let refused = not_found(self.entity(entity)?);
                    return Err(self.refused(ORDER_MISSING_LAST, refused).await);
                }
                (Err(error), _) => return Err(error.into()),
            }
        }
        let message = format!(
            "`{}` looks at more than {ROWS_LOOKED_AT_MAX} rows",
            self.operation.write.name
        );
        Err(AttemptStop::Failed(RuntimeError::Request(message)))
    }

    fn remember(&mut self, looked: Vec<(usize, Option<String>)>) -> Result<(), AttemptStop> {
        for (at, field) in looked {
            let used = &mut self.touched_mut(at)?.used;
            match field {
                Some(field) => {
                    used.attributes.insert(field);
                }
                None => used.whole = true,
            }
        }
        Ok(())
    }

    /// Reads a row that a name stands for, of which only the key was known so far.
    async fn read_named(&mut self, at: usize) -> Result<(), AttemptStop> {
        self.read(at).await?;
        let touched = self.touched(at)?;
        // Only a row that `let` names without `?` is bound before it is read.
        let named = self.names.iter().filter(|(_, named)| **named == at);
        let order = named.map(|(name, _)| self.order_if_missing(name)).min();
        match order.filter(|_| touched.row().is_none()) {
            Some(order) => Err(self.refused(order, not_found(touched.entity)).await),
            None => Ok(()),
        }
    }

    /// Names show the row that was read, where so far they showed its key alone.
    pub fn bind_names_of(&mut self, at: usize) -> Result<(), AttemptStop> {
        let Some(row) = self.touched(at)?.row().map(|row| row::as_value(row)) else {
            return Ok(());
        };
        let names = self.names.iter().filter(|(_, named)| **named == at);
        self.bound.extend(names.map(|(name, _)| (name.clone(), row.clone())));
        Ok(())
    }
}

/// The parts of an expression that look at rows which names stand for.
fn rows_looked_at<'e>(expr: &'e Expr, names: &BTreeMap<String, usize>, found: &mut Vec<&'e Expr>) {
    let is_row = |part: &Expr| matches!(&part.kind, ExprKind::Bound(name) if names.contains_key(name));
    match &expr.kind {
        ExprKind::Field(of, _) if is_row(of) => found.push(expr),
        _ if is_row(expr) => found.push(expr),
        _ => expr.for_each_part(&mut |part| rows_looked_at(part, names, found)),
    }
}
