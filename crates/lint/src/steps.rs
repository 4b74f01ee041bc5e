//! Steps as rules look at them: groups opened, the conditions around each gathered, and rows told apart.

use std::collections::HashMap;

use singlet_model::Model;
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Assignment, Entity, LetValue, Step, StepKind, Taken, Write};
pub use singlet_plan::write::are_exclusive;

/// A step and where it stands.
pub struct Placed<'a> {
    /// The write or the named step that it belongs to.
    pub owner: &'a str,
    /// The write; none for a step of a named step.
    pub write: Option<&'a Write>,
    /// The step.
    pub step: &'a Step,
    /// Every `when` around it, its own included.
    pub when: Vec<&'a Expr>,
    /// The names of the elements of the loops around it, its own included, each with the loop that binds it.
    loops: Vec<(&'a str, u32)>,
}

impl Placed<'_> {
    /// Whether it is done once for each element of a list.
    pub(crate) fn is_repeated(&self) -> bool {
        !self.loops.is_empty()
    }
}

/// Every step of every write and of every named step, once, groups opened.
pub fn placed_steps(model: &Model) -> Vec<Placed<'_>> {
    let mut all = Vec::new();
    for write in &model.writes {
        all.extend(placed_in(write));
    }
    for named in &model.steps {
        open(&named.name, None, &named.steps, &[], &[], &mut all);
    }
    all
}

/// Every step of one write, groups opened, named steps left closed.
pub(crate) fn placed_in(write: &Write) -> Vec<Placed<'_>> {
    let mut all = Vec::new();
    open(&write.name, Some(write), &write.steps, &[], &[], &mut all);
    all
}

fn open<'a>(
    owner: &'a str,
    write: Option<&'a Write>,
    steps: &'a [Step],
    when: &[&'a Expr],
    loops: &[(&'a str, u32)],
    all: &mut Vec<Placed<'a>>,
) {
    for step in steps {
        let mut when = when.to_vec();
        when.extend(step.when.as_ref());
        let mut loops = loops.to_vec();
        loops.extend(step.repeat.as_ref().map(|(name, _)| (name.as_str(), step.span.start)));
        match &step.kind {
            StepKind::Group(inner) => open(owner, write, inner, &when, &loops, all),
            _ => all.push(Placed {
                owner,
                write,
                step,
                when,
                loops,
            }),
        }
    }
}

/// Every value that a step puts somewhere.
pub fn step_assignments(step: &Step) -> impl Iterator<Item = &Assignment> {
    step.set.iter().chain(&step.add).chain(&step.remove).chain(&step.append)
}

/// Every attribute that a step takes from the request.
pub fn step_taken(step: &Step) -> impl Iterator<Item = &Taken> {
    step.take.iter().chain(&step.patch)
}

/// Whether a step changes or makes a row.
pub(crate) fn writes_row(step: &Step) -> bool {
    !matches!(
        step.kind,
        StepKind::Present(_) | StepKind::Absent(_) | StepKind::Call { .. } | StepKind::Group(_)
    )
}

/// The variables of an entity's primary key whose value a create makes up, so that the same request twice makes two rows.
pub(crate) fn makes_up_key(model: &Model, step: &Step, entity: &Entity) -> bool {
    let variables = model
        .catalog
        .names(entity.id)
        .map_or(&[][..], |names| &names.key_variables);
    variables.iter().any(|variable| {
        if step.take.iter().any(|taken| taken.attribute == *variable) {
            return false;
        }
        let set = step.set.iter().find(|assignment| assignment.attribute == *variable);
        let value = set.map(|assignment| &assignment.value);
        let default = || entity.attribute(variable)?.default.as_ref();
        value
            .or_else(default)
            .is_some_and(|value| value.any(|part| part.is_generated() || part.kind == ExprKind::Now))
    })
}

/// The rows that the steps of one write are about, as names that are equal only where the rows are.
pub struct Rows<'a> {
    model: &'a Model,
    lets: HashMap<&'a str, &'a LetValue>,
    named: HashMap<&'a str, String>,
}

impl<'a> Rows<'a> {
    /// What a write binds before its steps; of a named step nothing is known.
    pub fn new(model: &'a Model, write: Option<&'a Write>) -> Self {
        let lets = write.map_or(&[][..], |write| &write.lets);
        Rows {
            model,
            lets: lets.iter().map(|bound| (bound.name.as_str(), &bound.value)).collect(),
            named: HashMap::new(),
        }
    }

    /// The row of a step, where it can be told; a name given with `as` stands for it from here on.
    pub fn row(&mut self, placed: &Placed<'a>) -> Option<String> {
        let row = match &placed.step.kind {
            StepKind::Create(_) => Some(
                self.created(placed)
                    .unwrap_or_else(|| format!("new {}", placed.step.span.start)),
            ),
            StepKind::Update(target) | StepKind::Delete(target) | StepKind::Upsert(target) => {
                self.value(target, placed)
            }
            StepKind::Present(target) | StepKind::Absent(target) => self.value(target, placed),
            StepKind::Call { .. } | StepKind::Group(_) => None,
        }?;
        if let Some(name) = &placed.step.named {
            self.named.insert(name, row.clone());
        }
        Some(row)
    }

    fn created(&self, placed: &Placed<'a>) -> Option<String> {
        let id = placed.step.entity()?;
        let step = placed.step;
        let mut parts = Vec::new();
        for variable in &self.model.catalog.names(id)?.key_variables {
            let set = step.set.iter().find(|assignment| assignment.attribute == *variable);
            let taken = step.from.is_none() && step.take.iter().any(|taken| taken.attribute == *variable);
            parts.push(match set {
                Some(assignment) => self.value(&assignment.value, placed)?,
                None if taken => format!("args.{variable}"),
                None => return None,
            });
        }
        Some(format!("{}({})", self.model.catalog.name(id), parts.join(", ")))
    }

    /// The same text for the same value; none where the value could differ from one place to another.
    fn value(&self, expr: &Expr, placed: &Placed<'a>) -> Option<String> {
        Some(match &expr.kind {
            ExprKind::Literal(literal) => format!("{literal:?}"),
            ExprKind::Bound(name) => self.bound(name, placed)?,
            ExprKind::Field(of, name) => match self.key_of(of, name, placed) {
                Some(value) => self.value(value, placed)?,
                None => format!("{}.{name}", self.value(of, placed)?),
            },
            ExprKind::Entity { entity, key } => {
                let parts: Option<Vec<String>> = key.iter().map(|(_, part)| self.value(part, placed)).collect();
                format!("{}({})", self.model.catalog.name(*entity), parts?.join(", "))
            }
            ExprKind::Call(function, args) if !expr.is_generated() => {
                let parts: Option<Vec<String>> = args.iter().map(|part| self.value(part, placed)).collect();
                format!("{}({})", function.name(), parts?.join(", "))
            }
            ExprKind::Binary(op, left, right) => {
                format!(
                    "({} {} {})",
                    self.value(left, placed)?,
                    op.symbol(),
                    self.value(right, placed)?
                )
            }
            ExprKind::Arg(_)
            | ExprKind::Caller(_)
            | ExprKind::Setting(_)
            | ExprKind::Now
            | ExprKind::Today
            | ExprKind::Word(_) => expr.path()?,
            _ => return None,
        })
    }

    fn bound(&self, name: &str, placed: &Placed<'a>) -> Option<String> {
        if let Some((_, binder)) = placed.loops.iter().rev().find(|(element, _)| *element == name) {
            return Some(format!("{name} of {binder}"));
        }
        if let Some(row) = self.named.get(name) {
            return Some(row.clone());
        }
        match self.lets.get(name) {
            Some(LetValue::Value(row)) if matches!(row.kind, ExprKind::Entity { .. }) => self.value(row, placed),
            _ => Some(name.to_owned()),
        }
    }

    /// `b.bookingId` of `b: Booking(args.id)` is `args.id`.
    fn key_of(&self, of: &Expr, name: &str, placed: &Placed<'a>) -> Option<&'a Expr> {
        let ExprKind::Bound(bound) = &of.kind else { return None };
        if placed.loops.iter().any(|(element, _)| element == bound) || self.named.contains_key(bound.as_str()) {
            return None;
        }
        let LetValue::Value(row) = self.lets.get(bound.as_str())? else {
            return None;
        };
        let ExprKind::Entity { key, .. } = &row.kind else {
            return None;
        };
        key.iter()
            .find(|(variable, _)| variable == name)
            .map(|(_, value)| value)
    }
}
