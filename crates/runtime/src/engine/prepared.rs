//! What is made once for each read when a model is opened: nothing is planned while a request waits.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::hash::Hasher;

use singlet_face::{Face, shown_choices};
use singlet_model::Model;
use singlet_model::evaluate::holds_condition;
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{LetValue, Read};
use singlet_plan::read::{ReadPlan, SelectionPlan, plan_read, plan_reversed, plan_selection, plan_text};

use crate::digest::Fnv;
use crate::error::RuntimeError;
use crate::scope::Scope;

/// The reads of a model by name.
pub(super) fn prepared_reads(model: &Model) -> BTreeMap<String, Prepared> {
    let face = Face::of(model, &BTreeMap::new());
    let reads = model.reads.iter();
    reads
        .map(|read| (read.name.clone(), Prepared::new(model, &face, read)))
        .collect()
}

/// A read with its plans.
#[derive(Debug)]
pub(super) struct Prepared {
    /// As it is written.
    pub forward: Planned,
    /// With its order turned round, where a request may ask for that.
    pub reversed: Option<Planned>,
    /// How a selection of `let` is answered, in the order of the names; none for other values.
    pub lets: Vec<Option<SelectionPlan>>,
    /// Who may.
    pub admission: AllowClauses,
    /// All that a position depends on, in a number: a cursor belongs to it.
    pub version: u64,
}

/// What `allow` says, by when it can be asked.
#[derive(Debug, Default)]
pub(super) struct AllowClauses {
    /// Of the caller and the request alone: before anything is read.
    pub of_the_caller: Vec<Expr>,
    /// Of rows that `let` has read.
    pub of_bound_rows: Vec<Expr>,
    /// Of each row of the answer.
    pub to_a_row: Option<Expr>,
}

impl AllowClauses {
    fn of(allow: &Expr) -> Self {
        let mut admission = AllowClauses::default();
        for conjunct in allow.conjuncts() {
            // All of `allow` and not the conjunct: once one part needs a row, all is checked on it, whatever was checked before.
            if !conjunct.attributes().is_empty() {
                admission.to_a_row = Some(allow.clone());
            } else if conjunct.any(|part| matches!(part.kind, ExprKind::Bound(_))) {
                admission.of_bound_rows.push(conjunct.clone());
            } else {
                admission.of_the_caller.push(conjunct.clone());
            }
        }
        admission
    }
}

/// A read and its plan.
#[derive(Debug)]
pub(super) struct Planned {
    pub read: Read,
    pub plan: ReadPlan,
}

impl Prepared {
    fn new(model: &Model, face: &Face, read: &Read) -> Self {
        let forward = Planned {
            plan: plan_read(model, read),
            read: read.clone(),
        };
        let reversed = read.reverse.is_some().then(|| {
            let (read, plan) = plan_reversed(model, read);
            Planned { read, plan }
        });
        let mut version = Fnv::default();
        // Both directions: a cursor may be sent back with the other one, where its places mean nothing.
        for planned in [Some(&forward), reversed.as_ref()].into_iter().flatten() {
            version.write(version_of(model, face, planned).as_bytes());
        }
        Prepared {
            version: version.finish(),
            admission: AllowClauses::of(&read.allow),
            lets: lets(model, read),
            forward,
            reversed,
        }
    }
}

impl Prepared {
    /// The plan for the direction that the request asks for.
    pub(super) fn directed(&self, scope: Scope<'_>) -> Result<&Planned, RuntimeError> {
        let (Some(reverse), Some(reversed)) = (&self.forward.read.reverse, &self.reversed) else {
            return Ok(&self.forward);
        };
        Ok(match holds_condition(reverse, &scope)? {
            true => reversed,
            false => &self.forward,
        })
    }
}

fn lets(model: &Model, read: &Read) -> Vec<Option<SelectionPlan>> {
    let plan = |value: &LetValue| match value {
        LetValue::Read(selection) => plan_selection(model, selection, None, None, &|_| true),
        LetValue::Value(_) => None,
    };
    read.lets.iter().map(|bound| plan(&bound.value)).collect()
}

/// The plan in words, with what the plan does not say: the table, the orders, the limits, and how keys are encoded. A position in
/// rows of one key means nothing in those of another, though all the words are the same.
fn version_of(model: &Model, face: &Face, planned: &Planned) -> String {
    let mut text = plan_text(model, &planned.plan, false);
    let with = planned.read.with.iter().map(|part| &part.selection);
    for selection in planned.read.selection.iter().chain(with) {
        for order in &selection.order {
            let sign = if order.descending { "-" } else { "" };
            let _ = write!(text, " {sign}{}", order.path);
        }
        let _ = writeln!(text, " limit {:?}", selection.limit);
        let entity = selection.entity().and_then(|id| model.entity(id));
        if let Some(stored) = entity.and_then(|entity| face.entities.get(&entity.name)) {
            // Only the indexes that the plan names: a new one that nobody reads here must not take cursors away.
            let indexes = stored.indexes.iter().filter(|(name, _)| text.contains(name.as_str()));
            let indexes: Vec<String> = indexes.map(|(_, choices)| shown_choices(choices)).collect();
            let _ = writeln!(text, "{} {}", shown_choices(&stored.key), indexes.join(" "));
        }
    }
    let _ = writeln!(text, "{}", model.table.name);
    text
}
