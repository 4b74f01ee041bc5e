//! What a write looks at in the rows that it names: only that has to stay as it was.

use std::collections::{BTreeMap, BTreeSet};

use singlet_model::expression::{EachOp, Expr, ExprKind, FunctionId};
use singlet_model::model::{LetValue, MoveTo, Return, Selection, Step, StepKind, Write};

use super::RowPlan;

/// The attributes of a row that a write looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// By name.
    pub attributes: BTreeSet<String>,
    /// The row as a whole.
    pub whole: bool,
}

impl Used {
    /// Whether nothing is looked at.
    pub fn is_empty(&self) -> bool {
        self.attributes.is_empty() && !self.whole
    }

    /// Adds the attributes that stand bare in an expression.
    pub fn extend(&mut self, expr: &Expr) {
        self.attributes.extend(expr.attributes().into_iter().map(str::to_owned));
        self.whole |= expr.any(|part| part.kind == ExprKind::Row);
    }
}

/// The names of rows that an expression looks at, each once.
pub(super) fn rows_in(expr: &Expr, rows: &BTreeMap<String, RowPlan>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    expr.walk(&mut |part| {
        if let ExprKind::Bound(name) = &part.kind
            && rows.contains_key(name)
            && !found.contains(name)
        {
            found.push(name.clone());
        }
    });
    found
}

/// Notes what an expression looks at in each row.
pub(super) fn note_uses(expr: &Expr, rows: &mut BTreeMap<String, RowPlan>) {
    visit(expr, &mut |name, field| {
        if let Some(row) = rows.get_mut(name) {
            match field {
                Some(field) => {
                    row.used.attributes.insert(field.to_owned());
                }
                None => row.used.whole = true,
            }
        }
    });
}

/// Calls `f` with each name that is looked at, and the field where only that is.
fn visit(expr: &Expr, f: &mut dyn FnMut(&str, Option<&str>)) {
    Visit {
        elements: Vec::new(),
        f,
    }
    .expression(expr);
}

struct Visit<'f> {
    /// Names of elements, each with the list of rows that it is an element of.
    elements: Vec<(String, String)>,
    f: &'f mut dyn FnMut(&str, Option<&str>),
}

impl Visit<'_> {
    fn name(&mut self, name: &str, field: Option<&str>) {
        let list = self.elements.iter().rev().find(|(element, _)| element == name);
        let name = list.map_or(name, |(_, list)| list).to_owned();
        (self.f)(&name, field);
    }

    fn expression(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Field(of, field) => match &of.kind {
                ExprKind::Bound(name) => self.name(name, Some(field)),
                _ => self.expression(of),
            },
            ExprKind::Index(of, at) => match (&of.kind, at.as_literal()) {
                (ExprKind::Bound(name), Some(singlet_model::expression::Literal::Text(field))) => {
                    self.name(name, Some(field));
                }
                _ => {
                    self.expression(of);
                    self.expression(at);
                }
            },
            ExprKind::Bound(name) => self.name(name, None),
            // `event != absent` asks only whether the row is there, which is pinned anyway.
            ExprKind::Binary(_, left, right) if right.is_absent() && matches!(left.kind, ExprKind::Bound(_)) => {}
            // So is how many rows were found.
            ExprKind::Call(FunctionId::Size, list) if matches!(list.as_slice(), [list] if elements_of(list).is_some()) =>
            {
                list.iter().for_each(|list| self.list(list));
            }
            ExprKind::Each { op, list, var, body } => match elements_of(list) {
                Some(rows) => {
                    self.list(list);
                    self.elements.push((var.clone(), rows.to_owned()));
                    self.expression(body);
                    self.elements.pop();
                    // The rows themselves go on to whoever asked.
                    if matches!(op, EachOp::Filter | EachOp::Group) {
                        self.name(rows, None);
                    }
                }
                None => self.parts(expr),
            },
            _ => self.parts(expr),
        }
    }

    /// What chooses among the rows of a list that somebody else looks at.
    fn list(&mut self, list: &Expr) {
        if let ExprKind::Each { list, var, body, .. } = &list.kind
            && let Some(rows) = elements_of(list)
        {
            self.list(list);
            self.elements.push((var.clone(), rows.to_owned()));
            self.expression(body);
            self.elements.pop();
        }
    }

    fn parts(&mut self, expr: &Expr) {
        let mut parts: Vec<&Expr> = Vec::new();
        expr.for_each_part(&mut |part| parts.push(part));
        for part in parts {
            self.expression(part);
        }
    }
}

/// The name whose elements a list has: the name itself, or some of its elements.
fn elements_of(list: &Expr) -> Option<&str> {
    match &list.kind {
        ExprKind::Bound(name) => Some(name),
        ExprKind::Each {
            op: EachOp::Filter,
            list,
            ..
        } => elements_of(list),
        _ => None,
    }
}

/// Notes every value that a write takes from a row, clauses left out: those rows are read.
pub(super) fn collect_uses(write: &Write, rows: &mut BTreeMap<String, RowPlan>) {
    // What the key itself says of a row is known without reading it.
    let mut keys: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for bound in &write.lets {
        if let LetValue::Value(Expr {
            kind: ExprKind::Entity { key, .. },
            ..
        }) = &bound.value
        {
            keys.insert(&bound.name, key.iter().map(|(name, _)| name.as_str()).collect());
        }
    }
    let mut take = |expr: &Expr, why: &str| {
        visit(expr, &mut |name, field| {
            let by_key = field.is_some_and(|field| keys.get(name).is_some_and(|known| known.contains(&field)));
            if by_key {
                return;
            }
            if let Some(row) = rows.get_mut(name) {
                let what = field.map_or_else(|| name.to_owned(), |field| format!("{name}.{field}"));
                row.read.push(format!("`{what}` {why}"));
                match field {
                    Some(field) => {
                        row.used.attributes.insert(field.to_owned());
                    }
                    None => row.used.whole = true,
                }
            }
        });
    };
    for bound in &write.lets {
        match &bound.value {
            LetValue::Value(expr) => take(expr, "says what another name stands for"),
            LetValue::Read(selection) => in_selection(selection, &mut |expr| take(expr, "decides what is found")),
        }
    }
    for requirement in &write.requirements {
        // A row that alone decides shows what its own condition was refused for; any other is read.
        let rows = |expr: &Expr| {
            let mut names: BTreeSet<String> = BTreeSet::new();
            visit(expr, &mut |name, _| {
                names.insert(name.to_owned());
            });
            names
        };
        let decided = rows(&requirement.condition);
        for (_, shown) in &requirement.refusal.shown {
            if decided.len() != 1 || !rows(shown).is_subset(&decided) {
                take(shown, "is shown");
            }
        }
    }
    for step in &write.steps {
        in_step(step, &mut take);
    }
    let changed = targets(&write.steps);
    match &write.returns {
        Return::Usual | Return::Nothing => {}
        Return::Value(expr) => answer(expr, &changed, &mut take),
        Return::Fields(fields) => fields.iter().for_each(|(_, expr)| answer(expr, &changed, &mut take)),
    }
    if let Some(key) = &write.idempotency.key {
        take(key, "tells a retry");
    }
}

/// What is answered: a row that a step changes is answered as it becomes, which the step takes care of.
fn answer(expr: &Expr, changed: &[&str], take: &mut dyn FnMut(&Expr, &str)) {
    match &expr.kind {
        ExprKind::Bound(name) if changed.contains(&name.as_str()) => {}
        _ => take(expr, "is answered"),
    }
}

/// The names of rows that steps change.
fn targets(steps: &[Step]) -> Vec<&str> {
    let mut found = Vec::new();
    for step in steps {
        match &step.kind {
            StepKind::Update(target) | StepKind::Upsert(target) => {
                if let ExprKind::Bound(name) = &target.kind {
                    found.push(name.as_str());
                }
            }
            StepKind::Group(inner) => found.extend(targets(inner)),
            _ => {}
        }
    }
    found
}

fn in_selection(selection: &Selection, f: &mut dyn FnMut(&Expr)) {
    selection.filter.iter().for_each(f);
}

fn in_step(step: &Step, take: &mut dyn FnMut(&Expr, &str)) {
    if let Some(when) = &step.when {
        take(when, "decides whether a step is done");
    }
    match &step.repeat {
        Some((_, LetValue::Value(list))) => take(list, "is what a step goes through"),
        Some((_, LetValue::Read(selection))) => {
            in_selection(selection, &mut |expr| take(expr, "decides what is found"))
        }
        None => {}
    }
    match &step.kind {
        StepKind::Update(target)
        | StepKind::Delete(target)
        | StepKind::Upsert(target)
        | StepKind::Present(target)
        | StepKind::Absent(target) => {
            if let ExprKind::Entity { key, .. } = &target.kind {
                key.iter()
                    .for_each(|(_, part)| take(part, "is part of another row's key"));
            }
        }
        StepKind::Call { args, .. } => args
            .iter()
            .for_each(|(_, value)| take(value, "is written to another row")),
        StepKind::Group(inner) => inner.iter().for_each(|step| in_step(step, take)),
        StepKind::Create(_) => {}
    }
    let assigned = step.set.iter().chain(&step.add).chain(&step.remove).chain(&step.append);
    for assignment in assigned {
        take(&assignment.value, "is written");
        if let Some(entry) = &assignment.entry {
            take(entry, "names what is written");
        }
    }
    if let Some(from) = &step.from {
        take(from, "is written");
    }
    if let Some(MoveTo::To(state)) = &step.moves {
        take(state, "is the state to move to");
    }
    for requirement in &step.requirements {
        take(&requirement.condition, "decides whether a step may be done");
    }
    let required = step.requirements.iter().map(|requirement| &requirement.refusal);
    for refusal in step.refusals.iter().map(|(_, refusal)| refusal).chain(required) {
        refusal.shown.iter().for_each(|(_, shown)| take(shown, "is shown"));
    }
}

/// What a step looks at in the row that it writes.
pub(super) fn of_own_row(step: &Step) -> Used {
    let mut used = Used::default();
    let assigned = step.set.iter().chain(&step.add).chain(&step.remove).chain(&step.append);
    for assignment in assigned {
        used.extend(&assignment.value);
        assignment.entry.iter().for_each(|entry| used.extend(entry));
    }
    step.from.iter().for_each(|from| used.extend(from));
    if let Some(MoveTo::To(state)) = &step.moves {
        used.extend(state);
    }
    used
}
