use std::collections::HashMap;

use singlet_model::Span;
use singlet_model::expression::{Expr, ExprKind, FunctionId};
use singlet_model::model::{Entity, KeyPart, LetValue, Selection, SelectionKind, StepKind};
use singlet_model::types::EntityId;
use singlet_plan::access::Bindings;

use crate::{Context, Findings, design_rule};

design_rule! {
    /// One row is asked for by a primary key that holds a random shard.
    ///
    /// `random(10)` in the partition key spreads writes, and only the row itself knows where it went. A get that does not
    /// know the shard asks all ten partitions for one row, on each call; an update that draws another random number misses
    /// the row nine times of ten. A hash of the id spreads just as well and can be computed again.
    ///
    /// ```yaml
    /// shard: int 0..9 = random(10)
    /// key: {PK: "ORDER#{shard}", SK: "{orderId}"}
    /// get: Order
    /// where: orderId == args.orderId
    /// ```
    ///
    /// Way out: `shard: int 0..9 = hash(orderId) % 10`; or make the shard part of what callers know.
    "K016" "random-shard-point-read" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let shards: HashMap<EntityId, &KeyPart> =
        context.model.entities.iter().filter_map(|entity| Some((entity.id, random_part(context, entity)?))).collect();
    if shards.is_empty() {
        return;
    }
    let find = |entity: EntityId| Some((context.model.entity(entity)?, *shards.get(&entity)?));
    for read in &context.model.reads {
        for selection in read.selections() {
            let own = read.selection.as_ref().is_some_and(|own| std::ptr::eq(own, selection));
            let bindings = if own { context.bindings(read, selection) } else { Bindings::of(selection) };
            get(findings, &read.name, (selection, &bindings), &find);
        }
        read.lets.iter().for_each(|name| bound(findings, &read.name, &name.value, &find));
    }
    for write in &context.model.writes {
        write.lets.iter().for_each(|name| bound(findings, &write.name, &name.value, &find));
    }
    for (write, step) in context.steps() {
        if let StepKind::Update(row) | StepKind::Delete(row) | StepKind::Upsert(row) | StepKind::Present(row) = &step.kind {
            drawn(findings, &write.name, row, &find);
        }
    }
}

type Find<'a, 'f> = dyn Fn(EntityId) -> Option<(&'a Entity, &'a KeyPart)> + 'f;

/// The part of a primary partition key that is random.
fn random_part<'a>(context: &Context<'a>, entity: &'a Entity) -> Option<&'a KeyPart> {
    let partition = entity.key.iter().filter_map(|choice| choice.keys.first());
    let mut parts = partition.flat_map(|key| &key.parts);
    parts.find(|part| {
        let attribute = context.attribute(entity, part);
        attribute.and_then(|attribute| attribute.default.as_ref()).is_some_and(is_random)
    })
}

fn is_random(expr: &Expr) -> bool {
    expr.any(|part| matches!(part.kind, ExprKind::Call(FunctionId::Random, _)))
}

/// A get that does not know the shard.
fn get(findings: &mut Findings<'_>, name: &str, (selection, bindings): (&Selection, &Bindings<'_>), find: &Find<'_, '_>) {
    let one = matches!(selection.kind, SelectionKind::Get { .. });
    let Some((entity, part)) = selection.entity().and_then(find).filter(|_| one) else { return };
    if !bindings.fixes(part.root()) {
        let values = part.ty.cardinality().map_or("all".to_owned(), |values| format!("each of {values}"));
        let message = format!("`{name}` asks {values} partitions for one `{}`: `{}` is random", entity.name, part.path);
        report(findings, name, (selection.span, message), part);
    }
}

fn bound(findings: &mut Findings<'_>, name: &str, value: &LetValue, find: &Find<'_, '_>) {
    match value {
        LetValue::Read(selection) => get(findings, name, (selection, &Bindings::of(selection)), find),
        LetValue::Value(expr) => drawn(findings, name, expr, find),
    }
}

/// A row named by a key in which the shard is drawn anew.
fn drawn(findings: &mut Findings<'_>, name: &str, row: &Expr, find: &Find<'_, '_>) {
    let ExprKind::Entity { entity, key } = &row.kind else { return };
    let Some((entity, part)) = find(*entity) else { return };
    let random = key.iter().any(|(attribute, value)| attribute == part.root() && is_random(value));
    if random {
        let message = format!("`{name}` draws a random `{}` to find a `{}` that has its own", part.path, entity.name);
        report(findings, name, (row.span, message), part);
    }
}

fn report(findings: &mut Findings<'_>, name: &str, (span, message): (Span, String), part: &KeyPart) {
    findings.push(
        findings
            .at(span, name, message)
            .note(part.span, "the random part of the partition key")
            .help(format!("compute it from the id: `{}: int 0..9 = hash(id) % 10`", part.root())),
    );
}
