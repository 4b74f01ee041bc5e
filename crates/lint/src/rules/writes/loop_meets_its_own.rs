use singlet_model::Model;
use singlet_model::expression::{BinaryOp, Expr, ExprKind, Literal};
use singlet_model::model::{Entity, KeyChoice, LetValue, MoveTo, Selection, Step, StepKind, Write};
use singlet_model::types::{EntityId, Type};
use singlet_plan::read::Query;
use singlet_plan::write::{StepPlan, plan_write};

use crate::steps::{step_assignments, step_taken};
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A loop of a bulk write may find the rows that it makes or moves itself.
    ///
    /// The rows of such a loop are found page by page, since there may be any number of them, and each page is read after the turns
    /// of the one before it. A turn that creates a row of the kind that is looked for, or that changes what the rows are ordered by
    /// on the way on which they are found, puts a row where the loop has not been yet: it has a turn again, and a loop that
    /// creates may never end.
    ///
    /// ```yaml
    /// bulk: true
    /// do:
    ///   - for: {t: {find: Task, where: list == args.list}}
    ///     create: Task
    ///     set: {list: args.list, title: t.title}
    /// ```
    ///
    /// It keeps silent where the row, as the turn leaves it, is not looked for any more: `where: status == "open"` and a turn that
    /// sets another status; `list == args.from` and a create with `list: args.to`, where the write requires
    /// `args.from != args.to`.
    ///
    /// Way out: look for something that a turn takes away from its rows (`copiedAt == absent`), or find the rows by a key that no
    /// turn changes.
    "W026" "loop-meets-its-own" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let model = context.model;
    for write in model.writes.iter().filter(|write| write.bulk) {
        let plan = plan_write(model, write);
        for (step, planned) in write.steps.iter().zip(&plan.steps) {
            let Some((name, LetValue::Read(selection))) = &step.repeat else {
                continue;
            };
            let Some(entity) = selection.entity().and_then(|id| model.entity(id)) else {
                continue;
            };
            let looping = Loop { model, write, selection, source: model.source_of(entity).id };
            let Some((turn, how)) = looping.meets_again(step, planned) else { continue };
            let message = format!("the loop over `{name}` in `{}` {how}, and may find such a row again", write.name);
            let help = "look for something that each turn takes away from its rows, or that no turn changes";
            findings.push(findings.at(turn.span, &write.name, message).help(help));
        }
    }
}

/// A loop over rows, page by page.
struct Loop<'a> {
    model: &'a Model,
    write: &'a Write,
    selection: &'a Selection,
    /// The entity whose rows are found; of a mirror, its source.
    source: EntityId,
}

/// A step of a turn, and whether its names are those of the write.
type Taken<'a> = (&'a Step, bool);

/// What a step leaves an attribute as.
enum Left<'a> {
    Value(&'a Expr),
    Word(&'a str),
    Absent,
}

impl<'a> Loop<'a> {
    /// The step by which a row may come up again, and what it does.
    fn meets_again(&self, step: &'a Step, planned: &StepPlan) -> Option<(&'a Step, String)> {
        let queries = planned.rows.iter().flat_map(|rows| rows.queries.iter().chain(&rows.covers));
        let queries: Vec<&Query> = queries.collect();
        for (turn, own) in self.turns(step, true) {
            if turn.entity() != Some(self.source) || self.leaves_the_selection(turn, own) {
                continue;
            }
            let entity = self.model.entity(self.source)?;
            let makes = matches!(turn.kind, StepKind::Create(_) | StepKind::Upsert(_));
            if makes {
                return Some((turn, format!("makes rows of `{}`", entity.name)));
            }
            let changed = changed_by(entity, turn);
            let moved = queries.iter().find_map(|query| self.moved_on(query, &changed));
            if let Some(attribute) = moved.filter(|_| matches!(turn.kind, StepKind::Update(_))) {
                return Some((turn, format!("changes `{attribute}`, by which rows are found")));
            }
        }
        None
    }

    /// The steps of a turn, with those of named steps.
    fn turns(&self, step: &'a Step, own: bool) -> Vec<Taken<'a>> {
        let mut all = vec![(step, own)];
        match &step.kind {
            StepKind::Group(inner) => all.extend(inner.iter().flat_map(|step| self.turns(step, own))),
            StepKind::Call { step: name, .. } => {
                let named = self.model.steps.iter().filter(|known| known.name == *name);
                all.extend(named.flat_map(|named| &named.steps).flat_map(|step| self.turns(step, false)));
            }
            _ => {}
        }
        all
    }

    /// The attribute in the keys of a query's path that is among those that change.
    fn moved_on(&self, query: &Query, changed: &[String]) -> Option<String> {
        let entity = self.model.entity(query.entity)?;
        let choices: Vec<&KeyChoice> = match query.index {
            _ if query.scan => entity.key.iter().collect(),
            Some(id) => {
                let entries = entity.index.iter().filter(|entry| entry.index == id);
                entries.flat_map(|entry| entry.key_choices()).collect()
            }
            None => entity.key.iter().collect(),
        };
        let parts = choices.iter().flat_map(|choice| &choice.keys).flat_map(|key| &key.parts);
        let roots = parts.map(|part| part.root_attribute().to_owned());
        let conditions = choices.iter().filter_map(|choice| choice.when.as_ref());
        let named = conditions.flat_map(|when| when.attributes().into_iter().map(str::to_owned));
        roots.chain(named).find(|root| changed.contains(root))
    }

    /// Whether a row, as a step leaves it, is certainly not looked for.
    fn leaves_the_selection(&self, turn: &'a Step, own: bool) -> bool {
        let Some(entity) = self.model.entity(self.source) else {
            return false;
        };
        let clauses = self.selection.filter.iter().flat_map(|filter| filter.conjuncts());
        clauses.into_iter().any(|clause| self.excludes(clause, entity, turn, own))
    }

    fn excludes(&self, clause: &Expr, entity: &'a Entity, turn: &'a Step, own: bool) -> bool {
        let is_literal = |name: &str, truth: bool| {
            let left = left_by(entity, turn, name);
            matches!(left, Some(Left::Value(Expr { kind: ExprKind::Literal(Literal::Bool(known)), .. })) if *known == truth)
        };
        match &clause.kind {
            ExprKind::Attribute(name) => is_literal(name, false),
            ExprKind::Not(inner) => matches!(&inner.kind, ExprKind::Attribute(name) if is_literal(name, true)),
            ExprKind::Binary(op, one, other) => {
                let (name, value, op) = match (&one.kind, &other.kind) {
                    (ExprKind::Attribute(name), _) => (name, other, *op),
                    (_, ExprKind::Attribute(name)) if *op != BinaryOp::In => (name, one, *op),
                    _ => return false,
                };
                let left = left_by(entity, turn, name);
                left.is_some_and(|left| self.compares_falsely(op, &left, value, own))
            }
            _ => false,
        }
    }

    /// Whether what is left certainly does not compare so with a value.
    fn compares_falsely(&self, op: BinaryOp, left: &Left<'_>, value: &Expr, own: bool) -> bool {
        let is_absent = value.kind == ExprKind::Literal(Literal::Absent);
        let stays_absent = matches!(left, Left::Absent)
            || matches!(left, Left::Value(left) if left.kind == ExprKind::Literal(Literal::Absent));
        match op {
            BinaryOp::Eq if is_absent => match left {
                Left::Value(left) => !left.optional && !stays_absent,
                Left::Word(_) => true,
                Left::Absent => false,
            },
            BinaryOp::Ne if is_absent => stays_absent,
            BinaryOp::Eq => {
                (stays_absent && !value.optional) || is_other(left, value) || (own && self.is_required_other(left, value))
            }
            BinaryOp::Ne => own && is_the_same(left, value),
            BinaryOp::Lt | BinaryOp::Gt => stays_absent || (own && is_the_same(left, value)),
            BinaryOp::Le | BinaryOp::Ge => stays_absent,
            BinaryOp::In => match &value.kind {
                ExprKind::List(words) => !words.is_empty() && words.iter().all(|word| is_other(left, word)),
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether the write requires that two values differ.
    fn is_required_other(&self, left: &Left<'_>, value: &Expr) -> bool {
        let Left::Value(left) = left else { return false };
        let requirements = self.write.requirements.iter();
        let mut clauses = requirements.flat_map(|requirement| requirement.condition.conjuncts());
        clauses.any(|clause| match &clause.kind {
            ExprKind::Binary(BinaryOp::Ne, one, other) => {
                (is_same(one, left) && is_same(other, value)) || (is_same(one, value) && is_same(other, left))
            }
            _ => false,
        })
    }
}

/// What a step leaves an attribute as, where that is known.
fn left_by<'a>(entity: &'a Entity, step: &'a Step, name: &str) -> Option<Left<'a>> {
    let mut set = step.set.iter().filter(|set| set.attribute == name);
    if let Some(set) = set.next() {
        return set.entry.is_none().then_some(Left::Value(&set.value));
    }
    if step_taken(step).any(|taken| taken.attribute == name) || step_assignments(step).any(|set| set.attribute == name) {
        return None;
    }
    let states = entity.states.as_ref().filter(|states| states.of == name);
    if let (Some(states), Some(moves)) = (states, &step.moves) {
        return match moves {
            MoveTo::Named(wanted, _) => {
                let mut known = states.moves.iter().filter(|known| known.name == *wanted);
                known.next().map(|known| Left::Word(&known.to))
            }
            MoveTo::To(goal) => Some(Left::Value(goal)),
        };
    }
    if !matches!(step.kind, StepKind::Create(_)) {
        return None;
    }
    if let Some(states) = states {
        return Some(Left::Word(&states.start));
    }
    let attribute = entity.attribute(name)?;
    let held = entity.states.iter().flat_map(|states| &states.holding).flat_map(|(_, held)| held);
    let follows = attribute.is.is_some() || attribute.copy.is_some() || attribute.always.is_some() || attribute.alias.is_some();
    if follows || held.into_iter().any(|(held, _)| held == name) {
        return None;
    }
    match &attribute.default {
        Some(default) => Some(Left::Value(default)),
        None => attribute.optional.then_some(Left::Absent),
    }
}

/// Every attribute that an update may change.
fn changed_by(entity: &Entity, step: &Step) -> Vec<String> {
    let mut changed: Vec<String> = step_assignments(step).map(|set| set.attribute.clone()).collect();
    changed.extend(step_taken(step).map(|taken| taken.attribute.clone()));
    if let (Some(states), true) = (&entity.states, step.moves.is_some()) {
        changed.push(states.of.clone());
        let held = states.holding.iter().flat_map(|(_, held)| held);
        changed.extend(held.map(|(name, _)| name.clone()));
    }
    let always = entity.attributes.iter().filter(|attribute| attribute.always.is_some() || attribute.ty == Type::Version);
    changed.extend(always.map(|attribute| attribute.name.clone()));
    // What is computed may build on what is computed.
    for _ in &entity.attributes {
        for attribute in &entity.attributes {
            let Some(is) = attribute.is.as_ref().filter(|_| !changed.contains(&attribute.name)) else {
                continue;
            };
            if changed.iter().any(|name| is.mentions_attribute(name)) {
                changed.push(attribute.name.clone());
            }
        }
    }
    changed
}

/// Whether what is left is certainly another value: both are written out, and differ.
fn is_other(left: &Left<'_>, value: &Expr) -> bool {
    let ExprKind::Literal(value) = &value.kind else { return false };
    match left {
        Left::Value(left) => matches!(&left.kind, ExprKind::Literal(left) if left != value),
        Left::Word(word) => !matches!(value, Literal::Text(value) if value == word),
        Left::Absent => *value != Literal::Absent,
    }
}

fn is_the_same(left: &Left<'_>, value: &Expr) -> bool {
    match left {
        Left::Value(left) => is_same(left, value),
        Left::Word(word) => matches!(&value.kind, ExprKind::Literal(Literal::Text(value)) if value == word),
        Left::Absent => false,
    }
}

/// Whether two expressions are the same value of the request, wherever they stand.
fn is_same(one: &Expr, other: &Expr) -> bool {
    match (&one.kind, &other.kind) {
        (ExprKind::Field(one, name), ExprKind::Field(other, known)) => name == known && is_same(one, other),
        (ExprKind::Literal(one), ExprKind::Literal(other)) => one == other,
        (ExprKind::Arg(one), ExprKind::Arg(other))
        | (ExprKind::Caller(one), ExprKind::Caller(other))
        | (ExprKind::Setting(one), ExprKind::Setting(other)) => one == other,
        (ExprKind::Now, ExprKind::Now) | (ExprKind::Today, ExprKind::Today) => true,
        _ => false,
    }
}
