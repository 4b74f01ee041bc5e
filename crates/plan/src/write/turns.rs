//! How often each step of a write happens.

use singlet_model::Model;
use singlet_model::model::{LetValue, Step, StepKind, Write};
use singlet_model::types::Type;

/// A step of a write, with how often it happens.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// The step.
    pub step: &'a Step,
    /// Whether it, or a group that it is in, has a condition.
    pub conditional: bool,
    /// Whether it, or a group that it is in, happens for each element of a list.
    pub repeated: bool,
    /// The loops that it is in, the outermost first.
    pub loops: Loops<'a>,
    times: (u64, Option<u64>),
}

/// The loops around a step, the outermost first; of more than two, the innermost are left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Loops<'a> {
    outer: Option<&'a LetValue>,
    inner: Option<&'a LetValue>,
}

impl<'a> Loops<'a> {
    /// What each loop is over.
    pub fn loop_lists(self) -> impl Iterator<Item = &'a LetValue> {
        self.outer.into_iter().chain(self.inner)
    }

    /// With a further loop inside.
    pub(super) fn and(self, list: Option<&'a LetValue>) -> Self {
        match self.outer {
            None => Loops {
                outer: list,
                inner: None,
            },
            Some(_) => Loops {
                inner: self.inner.or(list),
                ..self
            },
        }
    }
}

impl Turn<'_> {
    /// How often at least.
    pub fn least_times(&self) -> u64 {
        if self.conditional { 0 } else { self.times.0 }
    }

    /// How often at most, where the list has a limit.
    pub fn most_times(&self) -> Option<u64> {
        self.times.1
    }
}

/// How deep groups and named steps are followed.
const STEP_DEPTH_MAX: usize = 16;

/// Every step of a write, those of groups and of the named steps that it calls included, with how often each happens.
pub fn write_turns<'a>(model: &'a Model, write: &'a Write) -> Vec<Turn<'a>> {
    let mut found = Vec::new();
    let once = Frame {
        conditional: false,
        repeated: false,
        times: (1, Some(1)),
        loops: Loops::default(),
    };
    follow(model, &write.steps, once, 0, &mut found);
    found
}

#[derive(Clone, Copy)]
struct Frame<'a> {
    conditional: bool,
    repeated: bool,
    times: (u64, Option<u64>),
    loops: Loops<'a>,
}

fn follow<'a>(model: &'a Model, steps: &'a [Step], outer: Frame<'a>, depth: usize, found: &mut Vec<Turn<'a>>) {
    if depth > STEP_DEPTH_MAX {
        return;
    }
    for step in steps {
        let frame = inner_frame(step, outer);
        match &step.kind {
            StepKind::Group(inner) => follow(model, inner, frame, depth + 1, found),
            StepKind::Call { step: name, .. } => {
                let named = model.steps.iter().find(|named| named.name == *name);
                let inner = named.map_or(&[][..], |named| named.steps.as_slice());
                follow(model, inner, frame, depth + 1, found);
            }
            _ => found.push(Turn {
                step,
                conditional: frame.conditional,
                repeated: frame.repeated,
                loops: frame.loops,
                times: frame.times,
            }),
        }
    }
}

fn inner_frame<'a>(step: &'a Step, outer: Frame<'a>) -> Frame<'a> {
    let each = step.repeat.as_ref().map_or((1, Some(1)), |(_, list)| list_length(list));
    let most = outer
        .times
        .1
        .zip(each.1)
        // No number rather than a wrong one: what is not bounded must be refused where a bound is needed.
        .and_then(|(outer, inner)| outer.checked_mul(inner));
    Frame {
        conditional: outer.conditional || step.when.is_some(),
        repeated: outer.repeated || step.repeat.is_some(),
        times: (outer.times.0.saturating_mul(each.0), most),
        loops: outer.loops.and(step.repeat.as_ref().map(|(_, list)| list)),
    }
}

/// The least and the most elements of a list, where it has a limit.
pub(super) fn list_length(list: &LetValue) -> (u64, Option<u64>) {
    match list {
        LetValue::Value(expr) => match &expr.ty {
            Type::List(_, limits) | Type::Set(_, limits) => (limits.min.unwrap_or(0), limits.max),
            _ => (0, None),
        },
        LetValue::Read(selection) => (0, selection.limit),
    }
}
