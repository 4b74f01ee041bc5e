use std::collections::HashSet;

use singlet_item::Number;
use singlet_model::expression::{BinaryOp, Expr, ExprKind};
use singlet_model::model::{Attribute, Entity};
use singlet_model::types::{EntityId, NumberLimits, Type};

use super::ttl_not_seconds::is_stored_as;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A second attribute looks like a TTL, and a table has one.
    ///
    /// DynamoDB watches one attribute of a table. A row whose expiry stands in another is never removed, and nothing says so.
    ///
    /// ```yaml
    /// table: {ttl: expiration_timestamp}
    /// ttl: {is: completed_at + days(90)}
    /// ```
    ///
    /// An attribute looks like a TTL if its name has `ttl`, `expir` or `time_to_live` in it, it is a number or an instant, and
    /// it is only ever written: computed as an instant plus a time, or a number that can be epoch seconds. A deadline that
    /// something uses (`expires:`, `lapse:`, `history:`, a `where`, an `order`, a `require`, a `when`, another attribute) is none.
    ///
    /// Way out: write the expiry to the table's TTL attribute, best by `expires:`; or name what is no expiry otherwise.
    "E002" "two-ttl-attributes" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let Some(ttl) = &context.model.table.ttl else { return };
    let used = used(context);
    for entity in context.model.entities.iter().filter(|entity| entity.mirror.is_none()) {
        for attribute in &entity.attributes {
            let read = used.contains(&(entity.id, attribute.name.as_str()));
            if read || is_stored_as(attribute, ttl) || !looks_like_ttl(attribute) {
                continue;
            }
            let message = format!(
                "`{}.{}` looks like a TTL, and the table's is `{ttl}`",
                entity.name, attribute.name
            );
            let mut finding = findings.at(attribute.span, format!("{}.{}", entity.name, attribute.name), message);
            if let Some(span) = context.model.table.spans.ttl {
                finding = finding.note(span, "the only attribute that DynamoDB watches");
            }
            findings.push(finding.help("say `expires:` instead, which writes the table's TTL attribute"));
        }
    }
}

fn looks_like_ttl(attribute: &Attribute) -> bool {
    let name = attribute.name.to_lowercase();
    let named = ["ttl", "expir", "time_to_live", "timetolive"]
        .iter()
        .any(|word| name.contains(word));
    let values = [&attribute.default, &attribute.is, &attribute.always];
    let later = values.into_iter().flatten().any(|expr| expr.any(is_later));
    match attribute.ty {
        Type::Int(ref limits) | Type::Number(ref limits) => named && may_be_epoch(limits) && !is_span(&name),
        Type::Seconds | Type::Millis | Type::Time => named && later,
        _ => false,
    }
}

/// Whether a number is large enough for epoch seconds: the month of a card's expiry is not.
fn may_be_epoch(limits: &NumberLimits) -> bool {
    let large = |max: Number| max.to_i64().is_none_or(|max| max >= EPOCH_SECONDS_LEAST);
    limits.only.is_none() && limits.max.is_none_or(large)
}

/// The year 2001 in epoch seconds.
const EPOCH_SECONDS_LEAST: i64 = 1_000_000_000;

/// Whether a name speaks of a length of time, such as `expireAfterDays`.
fn is_span(name: &str) -> bool {
    ["second", "minute", "hour", "day", "month", "year", "after", "count"]
        .iter()
        .any(|unit| name.contains(unit))
}

/// An instant plus a time.
fn is_later(expr: &Expr) -> bool {
    let ExprKind::Binary(BinaryOp::Add, left, right) = &expr.kind else {
        return false;
    };
    [left, right].into_iter().any(|side| side.ty.is_instant())
}

/// The attributes that something uses: a deadline is looked at.
fn used<'a>(context: &Context<'a>) -> HashSet<(EntityId, &'a str)> {
    let mut used = HashSet::new();
    for (read, selection, entity) in context.read_selections() {
        let id = context.model.source_of(entity).id;
        let expressions = selection.filter.iter().chain([&read.allow]);
        used.extend(expressions.flat_map(Expr::attributes).map(|name| (id, name)));
        used.extend(selection.order.iter().map(|order| (id, order.path.as_str())));
    }
    for entity in &context.model.entities {
        let id = context.model.source_of(entity).id;
        used.extend(own_uses(entity).into_iter().map(|name| (id, name)));
    }
    for (write, step) in context.write_steps() {
        let requirements = write
            .requirements
            .iter()
            .chain(&step.requirements)
            .map(|must| &must.condition);
        let expressions = requirements.chain(&step.when).chain([&write.allow]);
        expressions.for_each(|expr| fields(context, expr, &mut used));
        let own = step.requirements.iter().flat_map(|must| must.condition.attributes());
        used.extend(
            step.entity()
                .into_iter()
                .flat_map(|id| own.clone().map(move |name| (id, name))),
        );
    }
    used
}

/// What an entity itself uses: its keys, states, expiry, history, and what its attributes are computed from.
fn own_uses(entity: &Entity) -> Vec<&str> {
    let choices = entity
        .key
        .iter()
        .chain(entity.index.iter().flat_map(|entry| entry.key_choices()));
    let keys = choices
        .clone()
        .flat_map(|choice| &choice.keys)
        .flat_map(|key| &key.parts)
        .map(|part| part.root_attribute());
    let conditions = choices.filter_map(|choice| choice.when.as_ref());
    let lapses = entity
        .states
        .iter()
        .flat_map(|states| states.lapses.iter().map(|lapse| &lapse.at));
    let computed = entity.attributes.iter().filter_map(|attribute| attribute.is.as_ref());
    let claims = entity.claims.swept_by_ttl.iter();
    let expressions = conditions
        .chain(lapses)
        .chain(computed)
        .chain(entity.expires.iter())
        .chain(claims);
    let history = entity
        .history
        .iter()
        .flat_map(|history| [history.at.as_str(), history.until.as_str()]);
    keys.chain(expressions.flat_map(Expr::attributes))
        .chain(history)
        .collect()
}

/// Fields of rows, such as `hold.expiresAt`.
fn fields<'a>(context: &Context<'a>, expr: &'a Expr, used: &mut HashSet<(EntityId, &'a str)>) {
    expr.walk(&mut |part: &'a Expr| {
        if let ExprKind::Field(of, name) = &part.kind
            && let Type::Row(entity) = of.ty
            && let Some(entity) = context.model.entity(entity)
        {
            used.insert((context.model.source_of(entity).id, name.as_str()));
        }
    });
}
