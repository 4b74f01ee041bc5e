//! Which rows hold copies of a row, where their keys follow from it.

use singlet_model::Model;
use singlet_model::expression::{BinaryOp, Expr, ExprKind, Word};
use singlet_model::model::{Copy, Entity, Kept};

/// The rows that repeat attributes of an entity in the same transaction: the holder, its attribute, and the copy.
pub fn copy_holders<'m>(model: &'m Model, source: &Entity) -> Vec<(&'m Entity, &'m str, &'m Copy)> {
    let mut found = Vec::new();
    for holder in &model.entities {
        for attribute in &holder.attributes {
            if let Some(copy) = attribute.copy.as_deref()
                && copy.entity == source.id
                && copy.kept == Kept::Transaction
            {
                found.push((holder, attribute.name.as_str(), copy));
            }
        }
    }
    found
}

/// The variables of a holder's key, each with the attribute of the source that it equals; none where one follows from nothing.
pub fn holder_key<'m>(model: &'m Model, holder: &Entity, copy: &'m Copy) -> Option<Vec<(&'m str, &'m str)>> {
    let mut known: Vec<(&str, &str)> = Vec::new();
    let source = model.entity(copy.entity)?;
    let told = |variable: &str| source.key_tells(variable);
    if let ExprKind::Entity { key, .. } = &copy.source.kind {
        known.extend(key.iter().filter_map(|(variable, part)| match &part.kind {
            // A holder may spell what the source's key folds in another way than the source does.
            ExprKind::Attribute(name) if told(variable) => Some((name.as_str(), variable.as_str())),
            _ => None,
        }));
    }
    for conjunct in copy.found.iter().flat_map(|found| found.conjuncts()) {
        if let ExprKind::Binary(BinaryOp::Eq, left, right) = &conjunct.kind {
            known.extend(equal(left, right).or_else(|| equal(right, left)));
        }
    }
    let variables = &model.catalog.names(holder.id)?.key_variables;
    let follows = variables
        .iter()
        .map(|variable| known.iter().find(|(name, _)| name == variable).copied());
    follows.collect()
}

/// `attribute == source.other`.
fn equal<'m>(own: &'m Expr, other: &'m Expr) -> Option<(&'m str, &'m str)> {
    match (&own.kind, &other.kind) {
        (ExprKind::Attribute(own), ExprKind::Field(of, name)) if of.kind == ExprKind::Word(Word::Source) => {
            Some((own, name))
        }
        _ => None,
    }
}
