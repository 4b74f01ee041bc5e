//! Where a value that is new each time (`ulid()`, `random(10)`) may be made: where a write keeps it. A computed attribute follows its
//! sources and is computed again with every write, and a read has nothing in which to keep one.

use super::named_rows::{in_read, in_selection};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::expression::Expr;
use crate::model::{Entity, LetValue, NamedStep, Read, Step, StepKind, Write};
use crate::rules;

const IN_ENTITY: &str = "make it a default, such as `id: ulid = ulid()`, which a create sets once";
const IN_READ: &str = "take it as an argument, or let a write make and store it";

/// Reports new values that nothing keeps.
pub(super) fn check_new_values(
    (entities, steps): (&[Entity], &[NamedStep]),
    (reads, writes): (&[Read], &[Write]),
    out: &mut Diagnostics,
) {
    let mut refuse = |expr: &Expr, help: &str| {
        expr.walk(&mut |part| {
            if part.is_generated() {
                let message = "a value that is new each time is not kept here";
                out.push(Diagnostic::new(&rules::VALUE_NOT_KEPT, part.span, message).help(help));
            }
        });
    };
    for entity in entities.iter().filter(|entity| entity.mirror.is_none()) {
        in_entity(entity, &mut |expr| refuse(expr, IN_ENTITY));
    }
    for read in reads {
        in_read(read, &mut |expr, _| refuse(expr, IN_READ));
        let defaults = read.args.iter().filter_map(|arg| arg.default.as_ref());
        defaults.for_each(|expr| refuse(expr, IN_READ));
    }
    for write in writes {
        let found = write.lets.iter().map(|bound| &bound.value);
        found.for_each(|value| in_found(value, &mut refuse));
        in_steps(&write.steps, &mut refuse);
    }
    steps.iter().for_each(|named| in_steps(&named.steps, &mut refuse));
}

/// What follows from a row, each time that it is written.
fn in_entity(entity: &Entity, refuse: &mut dyn FnMut(&Expr)) {
    for attribute in &entity.attributes {
        attribute.is.iter().for_each(&mut *refuse);
        let found = attribute.copy.iter().filter_map(|copy| copy.found.as_ref());
        found.for_each(&mut *refuse);
    }
    entity.unique.iter().for_each(|guard| refuse(&guard.value));
    entity.expires.iter().for_each(&mut *refuse);
    entity.excludes.iter().for_each(&mut *refuse);
    let choices = entity.index.iter().flat_map(|entry| entry.key_choices());
    let whens = choices.chain(&entity.key).filter_map(|choice| choice.when.as_ref());
    whens.for_each(&mut *refuse);
    let lapses = entity.states.iter().flat_map(|states| &states.lapses);
    lapses.for_each(|lapse| refuse(&lapse.at));
}

fn in_found(value: &LetValue, refuse: &mut dyn FnMut(&Expr, &str)) {
    if let LetValue::Read(selection) = value {
        in_selection(selection, &mut |expr, _| refuse(expr, IN_READ));
    }
}

fn in_steps(steps: &[Step], refuse: &mut dyn FnMut(&Expr, &str)) {
    for step in steps {
        if let Some((_, list)) = &step.repeat {
            in_found(list, refuse);
        }
        if let StepKind::Group(inner) = &step.kind {
            in_steps(inner, refuse);
        }
    }
}
