//! Requests that differ from another in one thing: an argument at an end of its limits or one past it, or another caller. For each
//! limit and each clause about callers there is a request in which it alone decides.

use std::sync::Arc;

use singlet_item::{Number, Value};
use singlet_model::model::Argument;
use singlet_model::types::{LengthLimits, NumberLimits, TextLimits, Type};
use singlet_runtime::{Attributes, Caller};

use super::hints::ValuedName;
use super::table::Judge;
use super::values::{ValueDraw, set_of};

/// The longest text that is made, in characters.
const TEXT_CHARS_MAX: u64 = 70_000;

/// The longest list that is made to be taken, and to be refused.
const ELEMENTS_MAX: u64 = 60;
const ELEMENTS_TOO_MANY_MAX: u64 = 2_000;

/// How deep objects are looked into.
const DEPTH_MAX: usize = 3;

/// Somebody of whom no row knows.
const STRANGER: &str = "nobody-here";

/// What is otherwise.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum EdgeCase {
    /// An argument, or a field of one.
    Argument(Vec<String>, LimitEnd),
    /// Nobody calls.
    Anonymous,
    /// The caller lacks a claim.
    Without(String),
    /// The caller has this word as a claim.
    Claims(String, Value),
}

/// An end of a type's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LimitEnd {
    AboveMost,
    Most,
    BelowLeast,
    /// None of the words or numbers that may be.
    NoneOfThem,
    Least,
}

/// Every edge of an operation, taken in turn.
#[derive(Debug)]
pub(super) struct Edges {
    all: Vec<EdgeCase>,
    next: usize,
}

impl Edges {
    /// Those of an operation with these arguments.
    pub fn of(judge: &Judge<'_>, args: &[Argument]) -> Self {
        let mut all = callers(judge);
        let mut ends = Vec::new();
        for arg in args {
            arguments(&mut vec![arg.name.clone()], &arg.ty, &mut ends);
        }
        // Mistakes are made at the upper ends most often.
        ends.sort_by_key(|edge| match edge {
            EdgeCase::Argument(_, end) => *end,
            _ => LimitEnd::AboveMost,
        });
        all.extend(ends);
        Edges { all, next: 0 }
    }

    /// The next one, and again from the first.
    pub fn next(&mut self) -> Option<&EdgeCase> {
        let at = self.next.checked_rem(self.all.len())?;
        self.next += 1;
        self.all.get(at)
    }

    /// Whether each was taken.
    pub(crate) fn were_all(&self) -> bool {
        self.next >= self.all.len()
    }
}

fn callers(judge: &Judge<'_>) -> Vec<EdgeCase> {
    let callers = &judge.model.callers;
    let mut all = vec![EdgeCase::Anonymous];
    let mut known = callers.claim_types();
    known.sort_by_key(|(name, _)| *name);
    for (name, ty) in known {
        let name = name.to_owned();
        let written = judge.hints.literal_values(&ValuedName::Claim(name.clone()));
        let mut words: Vec<String> = written.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        if name == "role" {
            words.extend(callers.roles.iter().cloned());
        }
        words.sort();
        words.dedup();
        let valued = |word: String| match &ty {
            Type::List(..) => Value::L(vec![Value::S(word)]),
            _ => Value::S(word),
        };
        for word in words {
            // A longer word that holds it is another.
            let longer = format!("x{word}-y");
            all.extend([word, longer].map(|word| EdgeCase::Claims(name.clone(), valued(word))));
        }
        match &ty {
            Type::Bool => {
                all.extend([true, false].map(|truth| EdgeCase::Claims(name.clone(), Value::Bool(truth))));
            }
            Type::List(..) => {
                all.push(EdgeCase::Claims(name.clone(), Value::L(Vec::new())));
                all.push(EdgeCase::Claims(name.clone(), valued(STRANGER.to_owned())));
            }
            ty if ty.is_textual() => all.push(EdgeCase::Claims(name.clone(), Value::from(STRANGER))),
            _ => {}
        }
        if name != "id" {
            all.push(EdgeCase::Without(name));
        }
    }
    all
}

fn arguments(path: &mut Vec<String>, ty: &Type, all: &mut Vec<EdgeCase>) {
    let mut push = |ends: &[(LimitEnd, bool)]| {
        let there = ends.iter().filter(|(_, there)| *there);
        all.extend(there.map(|(end, _)| EdgeCase::Argument(path.clone(), *end)));
    };
    let of_length = |length: &LengthLimits| {
        [
            (LimitEnd::BelowLeast, length.min.is_some_and(|least| least > 0)),
            (LimitEnd::Least, length.min.is_some()),
            (LimitEnd::Most, length.max.is_some()),
            (LimitEnd::AboveMost, length.max.is_some()),
        ]
    };
    match ty {
        Type::Text(TextLimits { length, pattern: None }) => push(&of_length(length)),
        Type::List(_, length) | Type::Set(_, length) => push(&of_length(length)),
        Type::Int(limits) | Type::Number(limits) => push(&[
            (LimitEnd::BelowLeast, limits.min.is_some()),
            (LimitEnd::Least, limits.min.is_some()),
            (LimitEnd::Most, limits.max.is_some()),
            (LimitEnd::AboveMost, limits.max.is_some()),
            (LimitEnd::NoneOfThem, limits.only.is_some()),
        ]),
        Type::Enum(_) => push(&[(LimitEnd::NoneOfThem, true)]),
        Type::Object(object) if path.len() < DEPTH_MAX => {
            for field in &object.fields {
                path.push(field.name.clone());
                arguments(path, &field.ty, all);
                path.pop();
            }
        }
        _ => {}
    }
}

/// The request with that one thing otherwise; none where it cannot be made.
pub(super) fn with_edge(
    edge: &EdgeCase,
    args: &[Argument],
    (sent, caller): (&mut Attributes, &mut Caller),
    draw: &mut ValueDraw,
) -> Option<()> {
    match edge {
        EdgeCase::Argument(path, end) => {
            let (name, rest) = path.split_first()?;
            let ty = &args.iter().find(|arg| arg.name == *name)?.ty;
            let value = at_end(sent.get(name).cloned(), ty, rest, *end, draw)?;
            sent.insert(name.clone(), value);
        }
        EdgeCase::Anonymous => *caller = Caller::anonymous(),
        EdgeCase::Without(claim) => {
            caller.claims.remove(claim);
        }
        EdgeCase::Claims(claim, value) => {
            caller.claims.insert(claim.clone(), value.clone());
        }
    }
    Some(())
}

/// A value with its end, or with that of the field that a path leads to.
fn at_end(known: Option<Value>, ty: &Type, path: &[String], end: LimitEnd, draw: &mut ValueDraw) -> Option<Value> {
    if let (Some((name, rest)), Type::Object(object)) = (path.split_first(), ty) {
        let whole = known
            .filter(|value| value.as_map().is_some())
            .or_else(|| draw.fresh_value(ty))?;
        let mut fields = whole.as_map()?.clone();
        let field = object.fields.iter().find(|field| field.name == *name)?;
        let value = at_end(fields.get(name).cloned(), &field.ty, rest, end, draw)?;
        fields.insert(name.clone(), value);
        return Some(Value::M(fields));
    }
    match ty {
        Type::Text(limits) => {
            let text = known.as_ref().and_then(Value::as_str).unwrap_or("a").to_owned();
            Some(Value::S(text_of_length(&text, length_at(limits.length, end)?)?))
        }
        Type::Int(limits) | Type::Number(limits) => number_at(limits, matches!(ty, Type::Int(_)), end),
        Type::List(element, length) => {
            let wanted = length_at(*length, end).filter(|wanted| *wanted <= most_elements(end))?;
            let known = known.as_ref().and_then(Value::as_list).unwrap_or_default();
            let elements = (0..wanted).map(|at| {
                let again = known.get(usize::try_from(at).ok()?.checked_rem(known.len())?);
                again.cloned().or_else(|| draw.fresh_value(element))
            });
            // What is drawn where there was nothing to take again is drawn for each.
            let elements: Option<Vec<Value>> = match known.is_empty() {
                true => (0..wanted).map(|_| draw.fresh_value(element)).collect(),
                false => elements.collect(),
            };
            elements.map(Value::L)
        }
        Type::Set(element, length) => {
            let wanted = length_at(*length, end).filter(|wanted| *wanted <= most_elements(end))?;
            let first = draw.fresh_value(element)?;
            let elements = (0..wanted).map(|at| draw.nth_after(&first, element, at));
            set_of(elements.collect::<Option<Vec<Value>>>()?)
        }
        Type::Enum(_) => Some(Value::from("none-of-these")),
        _ => None,
    }
}

fn most_elements(end: LimitEnd) -> u64 {
    match end {
        LimitEnd::AboveMost => ELEMENTS_TOO_MANY_MAX,
        _ => ELEMENTS_MAX,
    }
}

fn length_at(length: LengthLimits, end: LimitEnd) -> Option<u64> {
    match end {
        LimitEnd::BelowLeast => length.min?.checked_sub(1),
        LimitEnd::Least => length.min,
        LimitEnd::Most => length.max,
        LimitEnd::AboveMost => length.max?.checked_add(1),
        LimitEnd::NoneOfThem => None,
    }
}

fn text_of_length(text: &str, length: u64) -> Option<String> {
    let length = usize::try_from(length).ok().filter(|_| length <= TEXT_CHARS_MAX)?;
    let more = std::iter::repeat('x');
    Some(text.chars().chain(more).take(length).collect())
}

fn number_at(limits: &Arc<NumberLimits>, whole: bool, end: LimitEnd) -> Option<Value> {
    let step = super::values::smallest_step(limits, whole)?;
    let number = match end {
        LimitEnd::BelowLeast => limits.min?.checked_sub(step).ok(),
        LimitEnd::Least => limits.min,
        LimitEnd::Most => limits.max,
        LimitEnd::AboveMost => limits.max?.checked_add(step).ok(),
        LimitEnd::NoneOfThem => {
            let most = limits.only.as_ref()?.iter().max()?;
            most.checked_add(Number::from(1)).ok()
        }
    };
    number.map(Value::N)
}
