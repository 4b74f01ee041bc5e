//! The meaning taken apart: each alternative of its `||`, or each case of an attribute on which templates depend, by a query of its own.

use std::collections::BTreeSet;

use singlet_model::Model;
use singlet_model::expression::Expr;
use singlet_model::model::Entity;

use super::candidate::{AskedWord, Query, Wanted};
use super::cases;
use super::choose::{SelectionPlan, choose};
use crate::bounds::Bounds;
use crate::meaning::{self, Conjuncts};

/// Whether a meaning taken apart costs less than as a whole. Where an argument says which part is sent the figures of both are of another
/// making, and a tenth is no difference.
pub(super) fn is_cheaper(split: &SelectionPlan, whole: &SelectionPlan) -> bool {
    let (apart, together) = (split.expected_cost(), whole.expected_cost());
    let is_chosen = split.queries.iter().any(|query| query.asked_share < 1.0);
    let by_own_ways = || split.queries.iter().any(|query| !is_same_path(query, whole));
    apart < together && (!is_chosen || apart.0 as f64 <= together.0 as f64 * CHOSEN_PART_COST_MAX && by_own_ways())
}

/// Whether a part is asked for where the whole would be.
fn is_same_path(part: &Query, whole: &SelectionPlan) -> bool {
    let path = |query: &Query| (query.entity, query.index, query.choice);
    whole.queries.iter().all(|query| path(query) == path(part))
}

/// What parts of which an argument chooses one may cost, as a part of the whole.
const CHOSEN_PART_COST_MAX: f64 = 0.9;

/// The meaning taken apart: where no path answers it as it stands, or none as cheaply, each alternative of its `||` may have one, or each
/// case of an attribute on which templates depend.
pub(super) fn split(
    model: &Model,
    entity: &Entity,
    wanted: &Wanted<'_>,
    conjuncts: &Conjuncts<'_>,
) -> Option<SelectionPlan> {
    let alternatives = meaning::or_alternatives(conjuncts).and_then(|alternatives| {
        let parts = alternatives.into_iter().map(Part::always);
        let parts: Vec<Part<'_>> = parts.collect();
        by_parts(model, entity, wanted, &parts, CHEAPER_CASES_WITHIN_MAX)
    });
    let by_cases = by_cases(model, entity, wanted, conjuncts, 0);
    let answers = [alternatives, by_cases].into_iter().flatten();
    answers
        .filter(SelectionPlan::is_answer)
        .min_by_key(SelectionPlan::expected_cost)
}

/// Within how many attributes' cases those of another are tried because that may be cheaper.
const CHEAPER_CASES_WITHIN_MAX: usize = 1;
/// Within how many they are tried where there is no answer else: of more there are more cases than a plan has queries.
const CASES_WITHIN_MAX: usize = 4;

/// The cheapest set of cases, within those of so many attributes.
fn by_cases(
    model: &Model,
    entity: &Entity,
    wanted: &Wanted<'_>,
    conjuncts: &[&Expr],
    within: usize,
) -> Option<SelectionPlan> {
    let plans = cases::by_value(model, entity, conjuncts)
        .into_iter()
        .filter_map(|cases| {
            let mut parts = Vec::new();
            for case in &cases {
                let own = meaning::or_alternatives(&case.conjuncts.iter().collect())?.into_iter();
                parts.extend(own.map(|conjuncts| Part {
                    asked_share: case.asked_share,
                    asked_word: case.asked_word.as_ref(),
                    ..Part::always(conjuncts)
                }));
            }
            by_parts(model, entity, wanted, &parts, within)
        });
    plans.min_by_key(|plan| (!plan.is_answer(), plan.expected_cost()))
}

/// A part of a meaning.
struct Part<'c> {
    conjuncts: Conjuncts<'c>,
    /// In how many requests it is asked for.
    asked_share: f64,
    /// The word that an argument is then.
    asked_word: Option<&'c AskedWord>,
}

impl<'c> Part<'c> {
    fn always(conjuncts: Conjuncts<'c>) -> Self {
        Part {
            conjuncts,
            asked_share: 1.0,
            asked_word: None,
        }
    }
}

/// A query for each part of a meaning, merged in order; none where one has no query, or there are too many. A part may be taken apart itself
/// where that is cheaper.
fn by_parts(
    model: &Model,
    entity: &Entity,
    wanted: &Wanted<'_>,
    parts: &[Part<'_>],
    within: usize,
) -> Option<SelectionPlan> {
    if parts.len() > Bounds::USUAL.alternatives_max {
        return None;
    }
    // A row that several alternatives mean is given by the first of them, which is found out from the row, whichever query brought it: entries
    // of a thin index that tell all of their own alternative need not tell of the others.
    let named = parts.iter().flat_map(|part| &part.conjuncts);
    let named: BTreeSet<&str> = named.flat_map(|conjunct| conjunct.attributes()).collect();
    let merged = by_shown_parts(model, entity, wanted, parts, within, &named)?;
    if wanted.shown.is_none() || merged.queries.len() <= parts.len() {
        return Some(merged);
    }
    // Parts that were taken apart ask of a row what decides its templates, too.
    let deciding = cases::deciding(model, entity).into_iter();
    let named: BTreeSet<&str> = deciding.map(|attribute| attribute.name.as_str()).chain(named).collect();
    by_shown_parts(model, entity, wanted, parts, within, &named)
}

/// The same, where entries must tell some attributes beside those that are shown.
fn by_shown_parts(
    model: &Model,
    entity: &Entity,
    wanted: &Wanted<'_>,
    parts: &[Part<'_>],
    within: usize,
    named: &BTreeSet<&str>,
) -> Option<SelectionPlan> {
    let mut merged = SelectionPlan {
        queries: Vec::new(),
        covers: Vec::new(),
        others: Vec::new(),
        tally: None,
        search: None,
    };
    let shown = wanted.shown.as_ref().map(|shown| {
        let shown = shown.iter().map(String::as_str).chain(named.iter().copied());
        shown.map(str::to_owned).collect()
    });
    let wanted = Wanted {
        merged: wanted.merged || parts.len() > 1,
        shown,
        ..*wanted
    };
    for part in parts {
        let mut own = choose(model, entity, &wanted, &part.conjuncts);
        // Of several covers of a circle one is taken.
        own.covers.clear();
        let is_tried = within < CHEAPER_CASES_WITHIN_MAX || !own.is_answer() && within < CASES_WITHIN_MAX;
        let apart = is_tried
            .then(|| by_cases(model, entity, &wanted, &part.conjuncts, within + 1))
            .flatten();
        let apart = apart.filter(|apart| apart.is_answer() && (!own.is_answer() || is_cheaper(apart, &own)));
        let plan = apart.unwrap_or(own);
        let is_too_many = merged.queries.len() + plan.queries.len() > Bounds::USUAL.alternatives_max;
        if plan.queries.is_empty() || is_too_many {
            return None;
        }
        merged.queries.extend(plan.queries.into_iter().map(|mut query| {
            query.asked_share *= part.asked_share;
            query.asked_words.extend(part.asked_word.cloned());
            query
        }));
        merged.others = plan.others;
    }
    Some(merged)
}
