use std::collections::HashMap;

use singlet_model::Span;
use singlet_model::expression::{Expr, ExprKind, FunctionId};
use singlet_model::model::{Entity, KeyPart, LetValue, SelectionKind, StepKind};
use singlet_model::types::EntityId;
use singlet_plan::read::PartValues;
use singlet_plan::values::Values;

use crate::context::Asked;
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
    /// Way out: `shard: {is: hash(orderId) % 10}`; or make the shard part of what callers know.
    "K016" "random-shard-point-read" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let shards = Shards::of(context);
    if shards.parts.is_empty() {
        return;
    }
    for asked in context.asked_rows() {
        shards.get(findings, &asked);
    }
    let reads = context.model.reads.iter().map(|read| (&read.name, &read.lets));
    let writes = context.model.writes.iter().map(|write| (&write.name, &write.lets));
    for (name, value) in reads
        .chain(writes)
        .flat_map(|(name, lets)| lets.iter().map(move |row| (name, &row.value)))
    {
        if let LetValue::Value(expr) = value {
            shards.drawn(findings, name, expr);
        }
    }
    for (write, step) in context.write_steps() {
        if let StepKind::Update(row) | StepKind::Delete(row) | StepKind::Upsert(row) | StepKind::Present(row) =
            &step.kind
        {
            shards.drawn(findings, &write.name, row);
        }
    }
}

/// The entities with a random part in their primary partition key.
struct Shards<'a, 'c> {
    context: &'c Context<'a>,
    parts: HashMap<EntityId, &'a KeyPart>,
}

impl<'a, 'c> Shards<'a, 'c> {
    fn of(context: &'c Context<'a>) -> Self {
        let entities = context.model.entities.iter();
        let parts = entities.filter_map(|entity| Some((entity.id, random_part(context, entity)?)));
        Shards {
            context,
            parts: parts.collect(),
        }
    }

    fn find(&self, entity: EntityId) -> Option<(&'a Entity, &'a KeyPart)> {
        Some((self.context.model.entity(entity)?, *self.parts.get(&entity)?))
    }

    /// A get whose plan asks for every value of the shard, since no index or mirror finds the row without it.
    fn get(&self, findings: &mut Findings<'_>, asked: &Asked<'a>) {
        let (name, selection) = (asked.name, asked.selection);
        if !matches!(selection.kind, SelectionKind::Get { .. }) {
            return;
        }
        let Some((entity, part)) = self.find(asked.entity.id) else {
            return;
        };
        let open = |asked: &PartValues| asked.path == part.path && matches!(asked.values, Values::All(_));
        let answers = self.context.answers_of(asked);
        let mut queries = answers.iter().flat_map(|answer| &answer.plan.queries);
        if !queries.any(|query| query.partition.iter().any(open)) {
            return;
        }
        let values = part.ty.cardinality();
        let values = values.map_or("all".to_owned(), |values| format!("each of {values}"));
        let message = format!(
            "`{name}` asks {values} partitions for one `{}`: `{}` is random",
            entity.name, part.path
        );
        report(findings, name, (selection.span, message), (entity, part));
    }

    /// A row named by a key in which the shard is drawn anew.
    fn drawn(&self, findings: &mut Findings<'_>, name: &str, row: &Expr) {
        let ExprKind::Entity { entity, key } = &row.kind else {
            return;
        };
        let Some((entity, part)) = self.find(*entity) else {
            return;
        };
        let random = key
            .iter()
            .any(|(attribute, value)| attribute == part.root_attribute() && is_random(value));
        if random {
            let message = format!(
                "`{name}` draws a random `{}` to find a `{}` that has its own",
                part.path, entity.name
            );
            report(findings, name, (row.span, message), (entity, part));
        }
    }
}

/// The part of a primary partition key that is random.
fn random_part<'a>(context: &Context<'a>, entity: &'a Entity) -> Option<&'a KeyPart> {
    let partition = entity.key.iter().filter_map(|choice| choice.keys.first());
    let mut parts = partition.flat_map(|key| &key.parts);
    parts.find(|part| {
        let attribute = context.attribute(entity, part);
        attribute
            .and_then(|attribute| attribute.default.as_ref())
            .is_some_and(is_random)
    })
}

fn is_random(expr: &Expr) -> bool {
    expr.any(|part| matches!(part.kind, ExprKind::Call(FunctionId::Random, _)))
}

fn report(findings: &mut Findings<'_>, name: &str, (span, message): (Span, String), (entity, part): (&Entity, &KeyPart)) {
    let mut others = entity.key_templates().flat_map(|key| &key.parts);
    let id = others.find(|other| other.root_attribute() != part.root_attribute());
    let help = match (id, part.ty.cardinality()) {
        (Some(id), Some(values)) => format!(
            "compute it from what callers know: `{}: {{is: hash({}) % {values}}}`",
            part.root_attribute(),
            id.root_attribute()
        ),
        _ => "compute it from what callers know, such as the id".to_owned(),
    };
    findings.push(
        findings
            .at(span, name, message)
            .note(part.span, "the random part of the partition key")
            .help(help),
    );
}
