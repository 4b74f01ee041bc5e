use singlet_model::model::{Let, LetValue, Selection, SelectionKind, Step, StepKind, Write};
use singlet_model::types::{EntityId, Type};
use singlet_plan::write::plan_write;

use crate::context::steps_of;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A write decides by rows that it finds, and one may appear before it is done.
    ///
    /// The rows that `let` finds are read, and the write insists that each is still as it was. A row that was not there when the
    /// write looked has nothing to insist on: another request may create it, or change it so that it would have been found, in
    /// the moment between. `require: (!bookings.exists(b, …))` and `get: "Booking?"` then decide by what is no longer so.
    /// Rows found through an index can be a little older still.
    ///
    /// ```yaml
    /// let: {open: {find: Order, where: customer == args.customer, limit: 20}}
    /// require: [size(open) < 3 else too_many]
    /// ```
    ///
    /// It keeps silent where `let` reads a row with a `version` before it looks, and every write that makes or changes such rows
    /// changes a row of that kind too: whoever comes between raises the version, and the write is tried again.
    ///
    /// Way out: keep the count or the state on one row that all of them change (`add: {open: 1}` under the limit of the number);
    /// name the row by its key, whose absence can be insisted on; `unique:`, where one such row may be there; or read a versioned row first that the others change too. Where
    /// the moment does no harm, accept the finding with that reason.
    "W022" "rows-appear" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for write in &context.model.writes {
        for (at, bound) in write.lets.iter().enumerate() {
            let LetValue::Read(selection) = &bound.value else { continue };
            let Some(entity) = selection.entity().filter(|_| may_miss(selection)) else {
                continue;
            };
            let before = write.lets.get(..at).unwrap_or_default();
            if is_guarded(context, write, before, entity) {
                continue;
            }
            let name = &bound.name;
            let message = match selection.kind {
                SelectionKind::Get { .. } => {
                    format!("`{}` decides by whether `{name}` is there, and it may appear meanwhile", write.name)
                }
                _ => format!("`{}` decides by the rows of `{name}`, and more may appear meanwhile", write.name),
            };
            let of = context.model.entity(entity).map_or("", |entity| entity.name.as_str());
            let help = format!(
                "where one such row may be there, name it by its key or say `unique:` on `{of}`; else keep a count on a row that all of them change, \
                 or first read a row with a version that they change too"
            );
            findings.push(findings.at(bound.span, &write.name, message).help(help));
        }
    }
}

/// Whether what is not found decides too: a row that must be there is insisted on.
fn may_miss(selection: &Selection) -> bool {
    match selection.kind {
        SelectionKind::Find => true,
        SelectionKind::Get { optional } => optional,
        SelectionKind::Count => false,
    }
}

/// Whether a versioned row is read first that every write of such rows changes too.
fn is_guarded(context: &Context<'_>, write: &Write, before: &[Let], found: EntityId) -> bool {
    let plan = plan_write(context.model, write);
    before.iter().any(|bound| {
        let LetValue::Value(row) = &bound.value else { return false };
        let Type::Row(guard) = row.ty else { return false };
        let versioned = context.model.entity(guard).is_some_and(|entity| {
            let mut attributes = entity.attributes.iter();
            attributes.any(|attribute| attribute.ty == Type::Version)
        });
        let read = plan.rows.get(&bound.name).is_some_and(|row| row.is_read());
        versioned && read && all_change(context, found, guard)
    })
}

fn all_change(context: &Context<'_>, found: EntityId, guard: EntityId) -> bool {
    let changes = |step: &&Step, entity: EntityId| {
        let writes = !matches!(step.kind, StepKind::Present(_) | StepKind::Absent(_));
        writes && step.entity() == Some(entity)
    };
    context.model.writes.iter().all(|write| {
        let steps = steps_of(context.model, write);
        let touches = steps.iter().any(|step| changes(step, found));
        !touches || steps.iter().any(|step| changes(step, guard) && step.when.is_none() && step.repeat.is_none())
    })
}
