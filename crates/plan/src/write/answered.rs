//! Whose row a write answers with where it does not say.

use singlet_model::model::{LetValue, Step, StepKind, Write};
use singlet_model::types::Type;

/// The steps of which one makes the row that is answered.
#[derive(Debug, Default)]
pub struct AnsweredSteps<'a> {
    /// In the order in which they are asked: the first that is taken answers.
    pub steps: Vec<&'a Step>,
    /// Whether one of them is taken for certain.
    pub certain: bool,
}

/// The first of the write's own steps that makes or changes a row, though one that only adds to a row comes last: a counter that is
/// raised on the way is not what was asked for. Of a bulk write there is no one row.
pub fn answered_steps(write: &Write) -> AnsweredSteps<'_> {
    let mut answered = AnsweredSteps::default();
    if write.bulk {
        return answered;
    }
    let mut own = Vec::new();
    collect(&write.steps, true, &mut own);
    own.retain(|(step, _)| {
        matches!(
            step.kind,
            StepKind::Create(_) | StepKind::Update(_) | StepKind::Upsert(_)
        )
    });
    let (counts, others): (Vec<_>, Vec<_>) = own.into_iter().partition(|(step, _)| only_counts(step));
    for (step, certain) in others.into_iter().chain(counts) {
        if !answered.certain {
            answered.steps.push(step);
            answered.certain = certain;
        }
    }
    answered
}

/// Whether a step only adds to what a row has: to a counter, or to a set.
pub fn only_counts(step: &Step) -> bool {
    let changes = matches!(step.kind, StepKind::Update(_) | StepKind::Upsert(_));
    let else_nothing = step.set.is_empty()
        && step.take.is_empty()
        && step.patch.is_empty()
        && step.remove.is_empty()
        && step.append.is_empty()
        && step.moves.is_none();
    changes && !step.add.is_empty() && else_nothing
}

/// Every step with whether it is taken for certain, groups opened; what a named step does is not the write's own.
fn collect<'a>(steps: &'a [Step], certain: bool, found: &mut Vec<(&'a Step, bool)>) {
    for step in steps {
        let repeated = step.repeat.as_ref().is_none_or(|(_, list)| has_elements(list));
        let certain = certain && step.when.is_none() && !step.or_skip && repeated;
        match &step.kind {
            StepKind::Group(inner) => collect(inner, certain, found),
            _ => found.push((step, certain)),
        }
    }
}

fn has_elements(list: &LetValue) -> bool {
    match list {
        LetValue::Value(expr) => match &expr.ty {
            Type::List(_, limits) | Type::Set(_, limits) => limits.min.is_some_and(|min| min > 0),
            _ => false,
        },
        LetValue::Read(_) => false,
    }
}
