//! Which rule said no: the conditions of a refused request, looked at again on the items that it was refused for.

use singlet_item::{Item, Value};
use singlet_model::evaluate::evaluate;
use singlet_model::expression::Expr;
use singlet_model::model::Refusal;
use singlet_plan::write::{DefaultRefusal, default_name, default_status};

use super::generate::Generating;
use super::touched::RowCheck;
use super::{AttemptStop, Refused, WriteOperation};
use crate::digest::hex_text;
use crate::row;
use crate::scope::Attributes;

/// What is said when a condition does not hold.
#[derive(Clone, Debug)]
pub(super) enum Denial<'a> {
    /// A rule's name.
    Rule(Box<RefusalRule<'a>>),
    /// The row has another version.
    Version,
    /// The record of the request is there.
    Recorded,
    /// What was read has changed: all is evaluated anew.
    Changed,
}

/// A name to be: most refusals never happen, so that it is made when it is said.
#[derive(Clone, Debug)]
enum RefusalName<'a> {
    /// The model says it.
    Given(&'a str),
    /// It follows from the entity and from why.
    Default(&'a str, DefaultRefusal),
}

/// A refusal to be, with what it needs to say more.
#[derive(Clone, Debug)]
pub(super) struct RefusalRule<'a> {
    name: RefusalName<'a>,
    pub status: u16,
    pub shown: &'a [(String, Expr)],
    /// The name under which the shown values know the row of the condition.
    pub row: Option<String>,
    pub entity: Option<&'a singlet_model::model::Entity>,
    /// The names that were bound when the rule was met.
    pub bound: Attributes,
}

impl<'a> RefusalRule<'a> {
    /// What the model calls it, or the default name.
    pub fn of(entity: &'a singlet_model::model::Entity, refusal: Option<&'a Refusal>, why: DefaultRefusal) -> Self {
        let shown: &[(String, Expr)] = refusal.map_or(&[], |refusal| &refusal.shown);
        RefusalRule {
            status: refusal
                .and_then(|refusal| refusal.status)
                .unwrap_or(default_status(&why)),
            name: match refusal {
                Some(refusal) => RefusalName::Given(&refusal.name),
                None => RefusalName::Default(&entity.name, why),
            },
            shown,
            row: None,
            entity: Some(entity),
            bound: Attributes::new(),
        }
    }

    /// A requirement's.
    pub fn required(refusal: &'a Refusal, status: u16) -> Self {
        RefusalRule {
            name: RefusalName::Given(&refusal.name),
            status,
            shown: &refusal.shown,
            row: None,
            entity: None,
            bound: Attributes::new(),
        }
    }

    /// What it is called.
    pub fn name(&self) -> String {
        match &self.name {
            RefusalName::Given(name) => (*name).to_owned(),
            RefusalName::Default(entity, why) => default_name(entity, why),
        }
    }

    /// The refusal, with the values that it shows.
    pub fn refused(&self, operation: &WriteOperation<'_>, old: Option<&Item>) -> Result<Refused, AttemptStop> {
        let mut bound = self.bound.clone();
        let mut own = Attributes::new();
        let nothing = Attributes::new();
        if let (Some(entity), Some(item)) = (self.entity, old) {
            let scope = operation.scope(&nothing);
            // A row whose time has come is not there, so that nothing of it is shown.
            own = row::decode_live(operation.model, entity, item, scope)?.unwrap_or_default();
            if let Some(name) = &self.row {
                bound.insert(name.clone(), row::as_value(&own));
            }
        }
        let mut refused = Refused::new(self.name(), self.status);
        for (name, expr) in self.shown {
            let mut scope = operation.scope(&bound);
            scope.attributes = Some(&own);
            if let Some(value) = evaluate(expr, &Generating(scope))? {
                refused.shown.insert(name.clone(), value);
            }
        }
        Ok(refused)
    }
}

/// A check that does not hold of an item, or of none.
#[derive(Clone, Copy)]
pub(super) struct FailedCheck<'c, 'a> {
    pub order: u32,
    pub denial: &'c Denial<'a>,
    pub old: Option<&'c Item>,
}

/// The checks of some that do not hold of an item, or of none.
pub(super) fn failed_checks<'c, 'a>(
    checks: &'c [RowCheck<'a>],
    old: Option<&'c Item>,
) -> impl Iterator<Item = FailedCheck<'c, 'a>> {
    let failed = checks.iter().filter(move |check| !check.condition.holds_of(old));
    failed.map(move |check| FailedCheck {
        order: check.order,
        denial: &check.denial,
        old,
    })
}

/// Why a request was refused, from the checks that do not hold of the items that came back.
pub(super) fn refusal_reason<'c, 'a: 'c>(
    operation: &WriteOperation<'_>,
    failed: impl IntoIterator<Item = FailedCheck<'c, 'a>>,
) -> AttemptStop {
    let mut first: Option<FailedCheck<'c, 'a>> = None;
    for check in failed {
        // Whatever else failed: what was decided on an old value must be decided again.
        if matches!(check.denial, Denial::Changed) {
            return AttemptStop::Again;
        }
        // Strictly, so that of equal ones the first that was checked speaks.
        if first.is_none_or(|known| check.order < known.order) {
            first = Some(check);
        }
    }
    match first {
        // By now every condition holds: somebody was faster, and gone again.
        None => AttemptStop::Again,
        Some(FailedCheck { denial, old, .. }) => match denial {
            Denial::Rule(rule) => match rule.refused(operation, old) {
                Ok(refused) => AttemptStop::Refused(refused),
                Err(stop) => stop,
            },
            Denial::Version => AttemptStop::Failed(crate::RuntimeError::VersionMismatch),
            Denial::Recorded => AttemptStop::Recorded,
            Denial::Changed => AttemptStop::Again,
        },
    }
}

/// A refusal that the process itself finds, with the values that it shows.
pub(super) fn shown_refusal(
    operation: &WriteOperation<'_>,
    shown: &[(String, Expr)],
    bound: &Attributes,
    own: Option<&Attributes>,
) -> Result<Attributes, AttemptStop> {
    let mut values = Attributes::new();
    for (name, expr) in shown {
        let mut scope = operation.scope(bound);
        scope.attributes = own;
        if let Some(value) = evaluate(expr, &Generating(scope))? {
            values.insert(name.clone(), value);
        }
    }
    Ok(values)
}

/// A value for people: text as it is, anything else as the item has it.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::S(text) => text.clone(),
        Value::N(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        Value::B(bytes) => hex_text(bytes),
        other => format!("{other:?}"),
    }
}
