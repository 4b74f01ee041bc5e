//! How rows are found by their words: the index gives keys, the best match first, and the rows are read by them.

use std::collections::BTreeSet;

use singlet_model::Model;
use singlet_model::expression::{BinaryOp, Expr, ExprKind, FunctionId};
use singlet_model::model::{Attribute, Entity, Selection};
use singlet_model::types::{EntityId, Type};

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
    /// The circles in which the index knows rows to lie. Rows elsewhere are passed over, too.
    pub circles: Vec<SearchCircle>,
}

/// A circle in which the place must lie that a row has.
#[derive(Clone, Debug)]
pub struct SearchCircle {
    /// The attribute that is the place.
    pub attribute: String,
    /// Around where.
    pub center: Expr,
    /// How far, in kilometres.
    pub km: Expr,
    /// All of it, as it is written.
    pub whole: Expr,
}

pub(super) fn plan_search(
    model: &Model,
    selection: &Selection,
    allow: Option<&Expr>,
    sent: &dyn Fn(&str) -> bool,
) -> Option<SearchPlan> {
    let entity = meaning::entity_of(model, selection)?;
    let conjuncts = meaning::meaning_conjuncts(selection, allow, sent).into_iter();
    let conjuncts = conjuncts.map(|conjunct| meaning::as_planned(conjunct, entity, sent));
    let meaning: Vec<Expr> = conjuncts.collect();
    let rest = meaning
        .iter()
        .filter(|part| term_of(entity, part).is_none() && circle_of(entity, part).is_none());
    Some(SearchPlan {
        entity: entity.id,
        rest: rest.cloned().collect(),
        terms: meaning.iter().filter_map(|part| term_of(entity, part)).collect(),
        circles: meaning.iter().filter_map(|part| circle_of(entity, part)).collect(),
        meaning,
    })
}

/// An attribute that must have one value, where the index can know it.
fn term_of(entity: &Entity, part: &Expr) -> Option<(String, Expr)> {
    let ExprKind::Binary(BinaryOp::Eq, left, right) = &part.kind else {
        return None;
    };
    let sides = [(left, right), (right, left)];
    sides.into_iter().find_map(|(own, value)| {
        let attribute = told_attribute(entity, own)?;
        is_known(value).then(|| (attribute.name.clone(), value.as_ref().clone()))
    })
}

/// A place that must lie in a circle, where the index can know it.
fn circle_of(entity: &Entity, part: &Expr) -> Option<SearchCircle> {
    let ExprKind::Call(FunctionId::Near, args) = &part.kind else {
        return None;
    };
    let [one, other, km] = args.as_slice() else { return None };
    [(one, other), (other, one)].into_iter().find_map(|(own, center)| {
        let attribute = told_attribute(entity, own)?;
        let is_circle = matches!(attribute.ty, Type::Geo(_)) && is_known(center) && is_known(km);
        is_circle.then(|| SearchCircle {
            attribute: attribute.name.clone(),
            center: center.clone(),
            km: km.clone(),
            whole: part.clone(),
        })
    })
}

/// The attribute that an operand is, where changes tell its value: not one that time alone changes.
fn told_attribute<'e>(entity: &'e Entity, operand: &Expr) -> Option<&'e Attribute> {
    let ExprKind::Attribute(name) = &operand.kind else {
        return None;
    };
    let attribute = entity.attribute(name)?;
    (attribute.alias.is_none() && !entity.is_changed_by_lapse(name)).then_some(attribute)
}

/// Whether a value is known before rows are read.
fn is_known(value: &Expr) -> bool {
    value.attributes().is_empty() && !value.any(|part| part.kind == ExprKind::Row) && !value.is_absent()
}

/// The attributes of an entity whose values an index of its words has, for the reads that search it.
pub fn search_terms(model: &Model, entity: EntityId) -> BTreeSet<String> {
    let names = |search: &SearchPlan| search.terms.iter().map(|(name, _)| name.clone()).collect();
    known_of_searches(model, entity, &names)
}

/// The attributes of an entity that are places, of which an index of its words has where they are, for the reads that search it.
pub fn search_places(model: &Model, entity: EntityId) -> BTreeSet<String> {
    let names = |search: &SearchPlan| search.circles.iter().map(|circle| circle.attribute.clone()).collect();
    known_of_searches(model, entity, &names)
}

fn known_of_searches(model: &Model, entity: EntityId, names: &dyn Fn(&SearchPlan) -> Vec<String>) -> BTreeSet<String> {
    let reads = model.reads.iter();
    let searching = reads.filter(|read| {
        let own = read.selection.as_ref();
        own.is_some_and(|own| own.matching.is_some() && own.entity() == Some(entity))
    });
    let plans: Vec<_> = searching.map(|read| plan_read(model, read)).collect();
    let parts = plans.iter().flat_map(|plan| &plan.combinations);
    let searches = parts.flat_map(|combination| &combination.parts);
    let searches = searches.filter_map(|part| part.plan.search.as_ref());
    searches.flat_map(names).collect()
}
