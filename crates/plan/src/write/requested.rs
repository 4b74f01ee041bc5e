//! A write as one request has it: which attributes it sends, which steps run, how long its lists are. What it costs then is a narrower range
//! than that of the operation, and as certain: only what rows decide is left open.

use std::collections::BTreeMap;

use singlet_item::Value;
use singlet_model::evaluate::{Environment, evaluate, holds_condition};
use singlet_model::expression::Expr;
use singlet_model::model::{IdempotencyNeed, LetValue, Step, StepKind, Write};
use singlet_model::types::{LengthLimits, Type};

/// What a request sends.
pub struct SentRequest<'a> {
    /// The names that its expressions see.
    pub names: &'a dyn Environment,
    /// The arguments, with defaults filled in. Null stands where `patch` clears an attribute.
    pub args: &'a BTreeMap<String, Value>,
    /// Whether an idempotency key comes with it.
    pub has_key: bool,
}

/// The write that does what an operation does for one request. What the request does not decide stays as it is.
pub fn as_requested(write: &Write, request: &SentRequest<'_>) -> Write {
    let mut write = write.clone();
    write.idempotency.need = match write.idempotency.need {
        IdempotencyNeed::Optional if request.has_key => IdempotencyNeed::Required,
        IdempotencyNeed::Optional if write.idempotency.key.is_none() => IdempotencyNeed::None,
        need => need,
    };
    write.steps = request.steps(std::mem::take(&mut write.steps));
    write
}

impl SentRequest<'_> {
    /// The steps that may run.
    fn steps(&self, steps: Vec<Step>) -> Vec<Step> {
        steps.into_iter().filter_map(|step| self.step(step)).collect()
    }

    /// A step as the request has it; nothing where it does not run.
    fn step(&self, mut step: Step) -> Option<Step> {
        if let Some(when) = step.when.take() {
            match self.holds(&when) {
                Some(true) => {}
                Some(false) => return None,
                None => step.when = Some(when),
            }
        }
        if let Some((_, LetValue::Value(list))) = &mut step.repeat {
            let elements = self.elements(list);
            if elements == Some(0) {
                return None;
            }
            if let Some(count) = elements {
                fix_length(list, count);
            }
        }
        if let StepKind::Group(inner) = &mut step.kind {
            *inner = self.steps(std::mem::take(inner));
        }
        self.fix_changes(&mut step);
        Some(step)
    }

    /// Leaves the attributes that are sent. An update to which one of `take` is not sent takes it away, so that it stays.
    fn fix_changes(&self, step: &mut Step) {
        let is_create = matches!(step.kind, StepKind::Create(_));
        step.patch.retain(|taken| self.args.contains_key(&taken.attribute));
        if step.from.is_none() && is_create {
            let is_sent = |name: &str| self.args.get(name).is_some_and(|value| !value.is_null());
            step.take.retain(|taken| is_sent(&taken.attribute));
            step.take.iter_mut().for_each(|taken| taken.required = true);
        }
        let is_absent = |value: &Expr| matches!(self.value(value), Some(None));
        if is_create {
            step.set.retain(|set| set.entry.is_some() || !is_absent(&set.value));
        }
        for set in &mut step.set {
            if matches!(self.value(&set.value), Some(Some(_))) {
                set.value.optional = false;
            }
        }
    }

    /// The value of an expression that the request alone decides.
    fn value(&self, expr: &Expr) -> Option<Option<Value>> {
        if !expr.is_of_request() {
            return None;
        }
        // What cannot be computed here, such as a generated id, is left open.
        evaluate(expr, self.names).ok()
    }

    fn holds(&self, condition: &Expr) -> Option<bool> {
        if !condition.is_of_request() {
            return None;
        }
        holds_condition(condition, self.names).ok()
    }

    /// How many elements a list has that the request alone decides.
    fn elements(&self, list: &Expr) -> Option<u64> {
        let value = self.value(list)?;
        let count = match &value {
            None | Some(Value::Null) => 0,
            Some(value) => value.as_list()?.len(),
        };
        u64::try_from(count).ok()
    }
}

/// Says of a list how many elements it has.
fn fix_length(list: &mut Expr, count: u64) {
    let exactly = LengthLimits {
        min: Some(count),
        max: Some(count),
    };
    if let Type::List(_, limits) | Type::Set(_, limits) = &mut list.ty {
        *limits = exactly;
    }
}
