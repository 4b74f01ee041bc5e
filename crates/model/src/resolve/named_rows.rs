//! Where a row may be named by its key inside an expression. A write reads such rows; nothing else does, and says so here.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::expression::{Expr, ExprKind};
use crate::model::{Entity, LetValue, NamedStep, Read, Return, Selection, Step, StepKind, Write};
use crate::rules;

const IN_ENTITY: &str =
    "repeat it with `copy: Entity(key).attribute, kept: …`, or compute it in the write that sets it";
const IN_READ: &str = "name the row first, `let: {x: Entity(key)}`, and write `x.…` here";
const IN_WHERE: &str = "name the row first, `let: {x: Entity(key)}`, and compare with `x.…`";
const IN_SHOWN: &str = "name the row with `let`, and show `x.…`";

/// Reports rows that are named where nobody reads them.
pub(super) fn check_named_rows(
    (entities, steps): (&[Entity], &[NamedStep]),
    (reads, writes): (&[Read], &[Write]),
    out: &mut Diagnostics,
) {
    let mut refuse = |expr: &Expr, help: &str| refuse_rows(expr, help, out);
    entities.iter().for_each(|entity| in_entity(entity, &mut refuse));
    reads.iter().for_each(|read| in_read(read, &mut refuse));
    for write in writes {
        for bound in &write.lets {
            in_found(&bound.value, &mut refuse);
        }
        let shown = write.requirements.iter().flat_map(|required| &required.refusal.shown);
        shown.for_each(|(_, value)| refuse(value, IN_SHOWN));
        in_steps(&write.steps, &mut refuse);
    }
    steps.iter().for_each(|named| in_steps(&named.steps, &mut refuse));
}

fn refuse_rows(expr: &Expr, help: &str, out: &mut Diagnostics) {
    expr.walk(&mut |part| {
        if matches!(part.kind, ExprKind::Entity { .. }) {
            let message = "a row that is named by its key is not read here";
            out.push(Diagnostic::new(&rules::ROW_NOT_READ, part.span, message).help(help));
        }
    });
}

fn in_entity(entity: &Entity, refuse: &mut dyn FnMut(&Expr, &str)) {
    // A mirror's attributes are its source's.
    if entity.mirror.is_some() {
        return;
    }
    let mut all: Vec<&Expr> = Vec::new();
    for attribute in &entity.attributes {
        all.extend(attribute.default.iter().chain(&attribute.is).chain(&attribute.always));
        if let Some(copy) = &attribute.copy {
            all.extend(&copy.found);
            copy.source.for_each_part(&mut |part| all.push(part));
        }
    }
    all.extend(entity.unique.iter().map(|guard| &guard.value));
    all.extend(&entity.expires);
    let choices = entity.index.iter().flat_map(|entry| entry.key_choices());
    all.extend(choices.chain(&entity.key).filter_map(|choice| choice.when.as_ref()));
    if let Some(states) = &entity.states {
        let held = states.holding.iter().flat_map(|(_, held)| held);
        all.extend(held.map(|(_, value)| value));
        all.extend(states.lapses.iter().map(|lapse| &lapse.at));
    }
    if let Some(excludes) = &entity.excludes {
        beside_rows(excludes, &mut all);
    }
    all.into_iter().for_each(|expr| refuse(expr, IN_ENTITY));
}

/// What stands in `excludes` beside the rows themselves: tests, and the parts of their keys.
fn beside_rows<'a>(excludes: &'a Expr, all: &mut Vec<&'a Expr>) {
    match &excludes.kind {
        ExprKind::List(rows) => rows.iter().for_each(|row| beside_rows(row, all)),
        ExprKind::Conditional(test, then, otherwise) => {
            all.push(test);
            beside_rows(then, all);
            beside_rows(otherwise, all);
        }
        _ => excludes.for_each_part(&mut |part| all.push(part)),
    }
}

pub(super) fn in_read(read: &Read, refuse: &mut dyn FnMut(&Expr, &str)) {
    for bound in &read.lets {
        match &bound.value {
            // The row itself is read; what its key is made of is not.
            LetValue::Value(expr) if matches!(expr.kind, ExprKind::Entity { .. }) => {
                expr.for_each_part(&mut |part| refuse(part, IN_READ));
            }
            LetValue::Value(expr) => refuse(expr, IN_READ),
            found => in_found(found, refuse),
        }
    }
    let lists = read.each.iter().map(|each| &each.list);
    let others = lists.chain(&read.at).chain(&read.reverse).chain([&read.allow]);
    others.for_each(|expr| refuse(expr, IN_READ));
    let with = read.with.iter().map(|part| &part.selection);
    for selection in read.selection.iter().chain(with) {
        in_selection(selection, refuse);
    }
    let allowed = read.with.iter().filter_map(|part| part.allow.as_ref());
    allowed.for_each(|expr| refuse(expr, IN_READ));
    match &read.returns {
        Return::Usual | Return::Nothing => {}
        Return::Value(expr) => refuse(expr, IN_READ),
        Return::Fields(fields) => fields.iter().for_each(|(_, expr)| refuse(expr, IN_READ)),
    }
}

fn in_found(value: &LetValue, refuse: &mut dyn FnMut(&Expr, &str)) {
    if let LetValue::Read(selection) = value {
        in_selection(selection, refuse);
    }
}

pub(super) fn in_selection(selection: &Selection, refuse: &mut dyn FnMut(&Expr, &str)) {
    selection.filter.iter().for_each(|filter| refuse(filter, IN_WHERE));
    selection.sums.iter().for_each(|(_, sum)| refuse(sum, IN_READ));
}

fn in_steps(steps: &[Step], refuse: &mut dyn FnMut(&Expr, &str)) {
    for step in steps {
        if let Some((_, list)) = &step.repeat {
            in_found(list, refuse);
        }
        let required = step.requirements.iter().map(|required| &required.refusal);
        let refusals = step.refusals.iter().map(|(_, refusal)| refusal);
        let shown = required.chain(refusals).flat_map(|refusal| &refusal.shown);
        shown.for_each(|(_, value)| refuse(value, IN_SHOWN));
        if let StepKind::Group(inner) = &step.kind {
            in_steps(inner, refuse);
        }
    }
}
