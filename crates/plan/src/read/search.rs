//! How rows are found by their words: the index gives keys, the best match first, and the rows are read by them.

use std::collections::BTreeSet;

use singlet_model::Model;
use singlet_model::expression::{BinaryOp, Expr, ExprKind};
use singlet_model::model::{Entity, Selection};
use singlet_model::types::EntityId;

use super::plan_read;
use crate::meaning;

/// How rows are found by their words.
#[derive(Clone, Debug)]
pub struct SearchPlan {
    /// Whose rows.
    pub entity: EntityId,
    /// What must hold of each row, as it is when it is read.
    pub meaning: Vec<Expr>,
    /// What of it the index does not know.
    pub rest: Vec<Expr>,
    /// What the index knows of it: attributes, each with the value that it must have. Rows of others are passed over without being read.
    pub terms: Vec<(String, Expr)>,
}

pub(super) fn plan_search(
    model: &Model,
    selection: &Selection,
    allow: Option<&Expr>,
    sent: &dyn Fn(&str) -> bool,
) -> Option<SearchPlan> {
    let entity = meaning::entity_of(model, selection)?;
    let conjuncts = meaning::conjuncts(selection, allow, sent).into_iter();
    let conjuncts = conjuncts.map(|conjunct| meaning::as_planned(conjunct, entity, sent));
    let meaning: Vec<Expr> = conjuncts.collect();
    let rest = meaning.iter().filter(|part| term_of(entity, part).is_none());
    Some(SearchPlan {
        entity: entity.id,
        rest: rest.cloned().collect(),
        terms: meaning.iter().filter_map(|part| term_of(entity, part)).collect(),
        meaning,
    })
}

/// An attribute that must have one value, where the index can know it: not one that time alone changes.
fn term_of(entity: &Entity, part: &Expr) -> Option<(String, Expr)> {
    let ExprKind::Binary(BinaryOp::Eq, left, right) = &part.kind else {
        return None;
    };
    let sides = [(left, right), (right, left)];
    sides.into_iter().find_map(|(own, value)| {
        let ExprKind::Attribute(name) = &own.kind else {
            return None;
        };
        let attribute = entity.attribute(name)?;
        let is_told = attribute.alias.is_none() && !entity.is_changed_by_lapse(name);
        let is_known =
            value.attributes().is_empty() && !value.any(|part| part.kind == ExprKind::Row) && !value.is_absent();
        (is_told && is_known).then(|| (name.clone(), value.as_ref().clone()))
    })
}

/// The attributes of an entity whose values an index of its words has, for the reads that search it.
pub fn search_terms(model: &Model, entity: EntityId) -> BTreeSet<String> {
    let reads = model.reads.iter();
    let searching = reads.filter(|read| {
        let own = read.selection.as_ref();
        own.is_some_and(|own| own.matching.is_some() && own.entity() == Some(entity))
    });
    let plans: Vec<_> = searching.map(|read| plan_read(model, read)).collect();
    let parts = plans.iter().flat_map(|plan| &plan.combinations);
    let searches = parts.flat_map(|combination| &combination.parts);
    let terms = searches.filter_map(|part| part.plan.search.as_ref());
    terms
        .flat_map(|search| search.terms.iter().map(|(name, _)| name.clone()))
        .collect()
}
