//! From a business operation to what must be read first, what the store checks, and what the process checks.
//!
//! Every clause has one place. What the *request* alone decides is checked before any I/O. What concerns one row is *pushed*
//! into that row's condition, so that it cannot race and nothing is read. All else is *pinned*: the row is read, the process
//! decides, and every attribute that it looked at is a condition of the write. A row is either read or not: one clause that
//! cannot be pushed makes all of its row's clauses pinned.

mod answered;
mod change;
mod copies;
mod cost;
mod exclusive;
mod follows;
mod named_rows;
mod needs;
mod parts;
mod possible;
mod pushable;
mod refusals;
mod requested;
mod show;
mod transaction;
mod turns;
mod uses;
mod written_rows;

pub use answered::{AnsweredSteps, answered_steps, only_counts};
pub use copies::{copy_holders, holder_key};
pub use cost::{MonthCost, Units, WriteCost, WriteCosts, span_of, write_costs};
pub use exclusive::are_exclusive;
pub use follows::{
    changed_attributes, entered_states, following_webhooks, following_writes, step_is_followed, trigger_cycles,
};
pub use needs::{Change, old_values_needed};
pub use parts::{PartKind, WrittenPart};
pub use possible::possible_refusals;
pub(crate) use pushable::{about_row, is_pushable};
pub use pushable::{changes_with_time, compares_as_stored};
pub use refusals::{DefaultRefusal, default_name, default_status, requirement_status, step_refusal};
pub use requested::{SentRequest, as_requested};
pub use show::{trigger_text, write_text};
pub use transaction::{TransactionBound, step_actions, transaction_actions, transaction_bound};
pub use turns::{Loops, Turn, write_turns};
pub use uses::Used;

use std::collections::BTreeMap;

use singlet_model::Model;
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{LetValue, Requirement, Selection, SelectionKind, Step, StepKind, Write};
use singlet_model::types::{EntityId, Type};

use crate::read::{SelectionPlan, plan_selection};

/// What a write becomes.
#[derive(Debug)]
pub struct WritePlan {
    /// The write's name.
    pub name: String,
    /// What is known of each row that `let` names.
    pub rows: BTreeMap<String, RowPlan>,
    /// What `allow` says, conjunct by conjunct.
    pub allow: Vec<Clause>,
    /// What each requirement says, conjunct by conjunct.
    pub requirements: Vec<Vec<Clause>>,
    /// The steps, in the order of the write's.
    pub steps: Vec<StepPlan>,
}

/// What is known of a row before a write runs.
#[derive(Debug, Default)]
pub struct RowPlan {
    /// Why it is read first; nothing, if it is not.
    pub read: Vec<String>,
    /// Why it is read all the same where a request sends what needs its old values.
    pub needed: Option<String>,
    /// What the write looks at in it.
    pub used: Used,
    /// How it is found, where its key is not known.
    pub found: Option<SelectionPlan>,
    /// How many rows the name stands for, where it is a list of found rows.
    pub rows_max: Option<u64>,
}

impl RowPlan {
    /// Whether the row is read before it is written.
    pub fn is_read(&self) -> bool {
        !self.read.is_empty()
    }
}

/// One conjunct of `allow` or of a requirement.
#[derive(Debug)]
pub struct Clause {
    /// What must hold; where it is pushed, the row's attributes stand bare.
    pub expr: Expr,
    /// Where it is decided.
    pub place: Place,
}

/// Where a clause is decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Before any I/O.
    Request,
    /// In the condition of the row of that name, or of the step's own row.
    Pushed(Option<String>),
    /// In the process, on rows whose values the write then insists on.
    Pinned,
}

/// What a step becomes.
#[derive(Debug, Default)]
pub struct StepPlan {
    /// What is known of the row that the step itself names by its key.
    pub own: RowPlan,
    /// What its requirements say.
    pub requirements: Vec<Vec<Clause>>,
    /// The steps inside: a group's, or those of the named step that is called.
    pub inner: Vec<StepPlan>,
    /// How the rows of its loop are found.
    pub rows: Option<SelectionPlan>,
}

/// Plans a write.
pub fn plan_write(model: &Model, write: &Write) -> WritePlan {
    let mut rows: BTreeMap<String, RowPlan> = BTreeMap::new();
    let mut entities: BTreeMap<String, EntityId> = BTreeMap::new();
    for bound in &write.lets {
        let (entity, found) = match &bound.value {
            LetValue::Value(expr) => match (&expr.kind, &expr.ty) {
                (ExprKind::Entity { entity, .. }, Type::Row(_)) => (*entity, None),
                _ => continue,
            },
            LetValue::Read(selection) => match (selection.kind, selection.entity()) {
                (SelectionKind::Get { .. } | SelectionKind::Find, Some(entity)) => {
                    (entity, plan_found(model, selection))
                }
                _ => continue,
            },
        };
        let mut row = RowPlan::default();
        if let LetValue::Read(selection) = &bound.value {
            row.read.push(match selection.kind {
                SelectionKind::Find => "they are found".to_owned(),
                _ => "its key is not known".to_owned(),
            });
            row.rows_max = selection.limit.filter(|_| selection.kind == SelectionKind::Find);
        }
        if bound.optional {
            row.read.push("it may be missing".to_owned());
        }
        row.found = found;
        rows.insert(bound.name.clone(), row);
        entities.insert(bound.name.clone(), entity);
    }
    uses::collect_uses(write, &mut rows);
    let mut clauses = Clauses {
        model,
        entities: &entities,
        rows: &mut rows,
    };
    // First which rows must be read, then what remains to be pushed.
    clauses.settle(&[&write.allow]);
    let conditions: Vec<&Expr> = write
        .requirements
        .iter()
        .map(|requirement| &requirement.condition)
        .collect();
    clauses.settle(&conditions);
    let allow = clauses.placed(&write.allow);
    let requirements = write
        .requirements
        .iter()
        .map(|requirement| clauses.placed(&requirement.condition))
        .collect();
    WritePlan {
        name: write.name.clone(),
        allow,
        requirements,
        steps: write.steps.iter().map(|step| plan_step(model, step)).collect(),
        rows,
    }
}

fn plan_found(model: &Model, selection: &Selection) -> Option<SelectionPlan> {
    plan_selection(model, selection, None, None, &|_| true)
}

/// Where the conjuncts about rows go.
struct Clauses<'a> {
    model: &'a Model,
    entities: &'a BTreeMap<String, EntityId>,
    rows: &'a mut BTreeMap<String, RowPlan>,
}

impl Clauses<'_> {
    /// Marks rows as read where a conjunct about them cannot be pushed.
    fn settle(&mut self, conditions: &[&Expr]) {
        for conjunct in conditions.iter().flat_map(|condition| condition.conjuncts()) {
            let about = uses::rows_in(conjunct, self.rows);
            if about.is_empty() || self.pushed(conjunct).is_some() {
                continue;
            }
            for name in about {
                if let Some(row) = self.rows.get_mut(&name) {
                    row.read.push(format!(
                        "the store cannot decide `{}`",
                        crate::show::show_expression(conjunct)
                    ));
                }
            }
        }
    }

    fn placed(&mut self, condition: &Expr) -> Vec<Clause> {
        let conjuncts = condition.conjuncts();
        let placed = conjuncts.into_iter().map(|conjunct| {
            if uses::rows_in(conjunct, self.rows).is_empty() {
                let alone = conjunct.is_of_request();
                return Clause {
                    expr: conjunct.clone(),
                    place: if alone { Place::Request } else { Place::Pinned },
                };
            }
            if let Some((name, expr)) = self.pushed(conjunct) {
                return Clause {
                    expr,
                    place: Place::Pushed(Some(name)),
                };
            }
            uses::note_uses(conjunct, self.rows);
            Clause {
                expr: conjunct.clone(),
                place: Place::Pinned,
            }
        });
        placed.collect()
    }

    /// The row into whose condition a conjunct can go, and the conjunct with the row's attributes bare.
    fn pushed(&self, conjunct: &Expr) -> Option<(String, Expr)> {
        let about = uses::rows_in(conjunct, self.rows);
        let [name] = about.as_slice() else { return None };
        if self.rows.get(name).is_none_or(RowPlan::is_read) {
            return None;
        }
        let entity = self.model.entity(*self.entities.get(name)?)?;
        let bare = about_row(conjunct, name);
        is_pushable(self.model, entity, &bare).then(|| (name.clone(), bare))
    }
}

/// Whether a clause of a step looks at the row that the step writes.
fn looks_at_own(clause: &Expr) -> bool {
    !clause.attributes().is_empty() || clause.any(|part| part.kind == ExprKind::Row)
}

fn plan_step(model: &Model, step: &Step) -> StepPlan {
    let mut plan = StepPlan {
        rows: step.repeat.as_ref().and_then(|(_, list)| match list {
            LetValue::Read(selection) => plan_found(model, selection),
            LetValue::Value(_) => None,
        }),
        ..StepPlan::default()
    };
    match &step.kind {
        StepKind::Group(inner) => plan.inner = inner.iter().map(|step| plan_step(model, step)).collect(),
        StepKind::Call { step: name, .. } => {
            let named = model.steps.iter().find(|named| named.name == *name);
            let inner = named.map_or(&[][..], |named| &named.steps);
            plan.inner = inner.iter().map(|step| plan_step(model, step)).collect();
        }
        _ => {}
    }
    let Some(entity) = step.entity().and_then(|id| model.entity(id)) else {
        return plan;
    };
    plan.own.used = uses::of_own_row(step);
    plan.own.needed = needs::of_step(model, entity, step);
    if !plan.own.used.is_empty() {
        plan.own.read.push("a new value follows from an old one".to_owned());
    }
    if matches!(step.kind, StepKind::Upsert(_)) {
        plan.own
            .read
            .push("whether it is there decides what is written".to_owned());
    }
    if entity.history.is_some() {
        plan.own.read.push("the next version follows the last".to_owned());
    }
    let cannot = |requirement: &Requirement| {
        let conjuncts = requirement.condition.conjuncts();
        conjuncts
            .into_iter()
            .find(|conjunct| looks_at_own(conjunct) && !is_pushable(model, entity, conjunct))
            .map(crate::show::show_expression)
    };
    let unpushable: Vec<String> = step.requirements.iter().filter_map(cannot).collect();
    plan.own.read.extend(
        unpushable
            .iter()
            .map(|text| format!("the store cannot decide `{text}`")),
    );
    for requirement in &step.requirements {
        let conjuncts = requirement.condition.conjuncts();
        let clauses = conjuncts.into_iter().map(|conjunct| {
            // Before a create there is no row, and a clause about other rows is decided in the process.
            let place = match (looks_at_own(conjunct), plan.own.is_read()) {
                (false, _) if conjunct.is_of_request() => Place::Request,
                (true, false) => Place::Pushed(None),
                _ => Place::Pinned,
            };
            Clause {
                expr: conjunct.clone(),
                place,
            }
        });
        plan.requirements.push(clauses.collect());
    }
    for clause in plan.requirements.iter().flatten() {
        if clause.place == Place::Pinned {
            plan.own.used.extend(&clause.expr);
        }
    }
    plan
}
