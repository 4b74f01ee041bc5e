//! Whether a meaning has one row at most, by what the model keeps apart.

use singlet_model::Model;
use singlet_model::expression::{BinaryOp, Expr, ExprKind, FunctionId};
use singlet_model::model::{Entity, LetValue, Read, Selection, SelectionKind};

use super::candidate::Query;
use super::choose::{SelectionPlan, plan_read, plan_selection};
use crate::cost::selection_of;
use crate::facts::{Facts, Relation};

/// What says that a `get` means one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OneRow {
    /// The primary key, the identity of versions, or a value that `unique` guards; or an order, whose first row is meant.
    Kept,
    /// An id that every create makes anew.
    Generated,
    /// Nothing: two rows may fit.
    Unproven,
}

/// What says that a selection of one row has no second.
pub fn one_row(model: &Model, selection: &Selection, plan: &SelectionPlan) -> OneRow {
    match plan.queries.as_slice() {
        // With an order the first is meant, so that a second one is no mistake.
        _ if !selection.order.is_empty() => OneRow::Kept,
        [query] if query.names_one_item() => OneRow::Kept,
        [query] => of_query(model, query),
        _ => OneRow::Unproven,
    }
}

/// Whether a `get` of a read, under `let` and `with` too, may meet a second row.
pub fn may_find_several(model: &Model, read: &Read) -> bool {
    let is_get = |selection: &Selection| matches!(selection.kind, SelectionKind::Get { .. });
    let unproven = |selection: &Selection, plan: &SelectionPlan| {
        is_get(selection) && one_row(model, selection, plan) == OneRow::Unproven
    };
    let lets = read.lets.iter().any(|bound| match &bound.value {
        LetValue::Read(selection) => {
            plan_selection(model, selection, None, None, &|_| true).is_some_and(|plan| unproven(selection, &plan))
        }
        LetValue::Value(_) => false,
    });
    let gets = read.all_selections().any(is_get);
    lets || gets
        && plan_read(model, read).combinations.iter().any(|combination| {
            combination
                .parts
                .iter()
                .any(|part| selection_of(read, part).is_some_and(|selection| unproven(selection, &part.plan)))
        })
}

fn of_query(model: &Model, query: &Query) -> OneRow {
    let Some(entity) = model.entity(query.entity) else {
        return OneRow::Unproven;
    };
    // A mirror has one row for each of its source's.
    let source = model.source_of(entity);
    let facts = Facts::of(source, &query.meaning);
    let variables = model
        .catalog
        .names(source.id)
        .map_or(&[][..], |names| &names.key_variables);
    // Each of several templates may have a row with these values; which one it is follows from its condition.
    let conditions = source.key.iter().filter_map(|choice| choice.when.as_ref());
    let chosen = conditions
        .flat_map(Expr::attributes)
        .all(|name| facts.fixes_attribute(name));
    let parts = source
        .key
        .iter()
        .flat_map(|choice| &choice.keys)
        .flat_map(|key| &key.parts);
    let each_fixed = source.key.len() == 1
        || parts
            .into_iter()
            .all(|part| facts.fixes_attribute(part.root_attribute()));
    let identified =
        !variables.is_empty() && variables.iter().all(|name| facts.fixes_attribute(name)) && chosen && each_fixed;
    let unique = source.unique.iter().any(|guard| fixes_value(&facts, &guard.value));
    // A row has many versions under one identity.
    if (identified || unique) && is_one_version(source, &query.meaning) {
        return OneRow::Kept;
    }
    let mut attributes = source.attributes.iter().map(|attribute| attribute.name.as_str());
    // Nobody has two that are equal, though nothing keeps somebody from storing them.
    match attributes.any(|name| is_generated(source, name) && facts.fixes_attribute(name)) {
        true => OneRow::Generated,
        false => OneRow::Unproven,
    }
}

/// Whether every row that is meant has the same value of a guarded expression.
fn fixes_value(facts: &Facts<'_>, value: &Expr) -> bool {
    let names = value.attributes();
    let by_function = match &value.kind {
        ExprKind::Call(function, args) => match args.as_slice() {
            [
                Expr {
                    kind: ExprKind::Attribute(name),
                    ..
                },
            ] => facts.facts_about(name).any(|fact| {
                fact.function == Some(*function)
                    && matches!(fact.relation, Relation::Compared(BinaryOp::Eq, value) if !value.is_absent())
            }),
            _ => false,
        },
        _ => false,
    };
    by_function || !names.is_empty() && names.iter().all(|name| facts.fixes_attribute(name))
}

/// Of rows with versions, whether the meaning includes one version: the open one, or the one at an instant.
fn is_one_version(entity: &Entity, meaning: &[Expr]) -> bool {
    let Some(history) = &entity.history else { return true };
    let says = |expr: &Expr, name: &String| expr.attributes().contains(&name.as_str());
    let open = |expr: &Expr| match &expr.kind {
        ExprKind::Binary(BinaryOp::Eq, left, right) => says(left, &history.until) && right.is_absent(),
        _ => false,
    };
    let at = |expr: &Expr| match &expr.kind {
        ExprKind::Binary(BinaryOp::Or, left, _) => open(left),
        _ => false,
    };
    meaning.iter().any(open) || meaning.iter().any(at) && meaning.iter().any(|expr| says(expr, &history.at))
}

/// Whether a create makes the attribute anew.
fn is_generated(entity: &Entity, name: &str) -> bool {
    let default = entity.attribute(name).and_then(|attribute| attribute.default.as_ref());
    default.is_some_and(|default| {
        matches!(
            &default.kind,
            ExprKind::Call(FunctionId::Ulid | FunctionId::Ksuid | FunctionId::Uuid, _)
        )
    })
}
