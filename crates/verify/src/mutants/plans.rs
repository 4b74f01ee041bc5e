//! Mistakes in plans: the meaning is right, and what is asked of the store is not.

use std::sync::Arc;

use singlet_plan::read::{Query, ReadPlan};

use super::Sites;

fn for_each_query(plan: &mut ReadPlan, f: &mut dyn FnMut(String, &mut Query)) {
    let name = plan.read.clone();
    for combination in &mut plan.combinations {
        let sent = combination.sent.join(", ");
        for part in &mut combination.parts {
            let of = part.name.as_ref().map(|of| format!(".{of}")).unwrap_or_default();
            let plan = Arc::make_mut(&mut part.plan);
            for query in plan.queries.iter_mut().chain(&mut plan.covers) {
                f(format!("{name}{of} ({sent})"), query);
            }
        }
    }
}

/// An end that belongs to a range of keys is left out, or the other way round.
pub(super) fn dropped_last_value(plan: &mut ReadPlan, sites: &mut Sites) {
    for_each_query(plan, &mut |place, query| {
        let Some(sort) = &mut query.sort else { return };
        for (side, end) in [("low", &mut sort.low), ("high", &mut sort.high)] {
            if let Some(end) = end
                && sites.here(format!("{place} {side}"))
            {
                end.excluded = !end.excluded;
            }
        }
    });
}

/// What the key does not settle is not asked.
pub(super) fn forgotten_filter(plan: &mut ReadPlan, sites: &mut Sites) {
    for_each_query(plan, &mut |place, query| {
        if !query.rest.is_empty() && sites.here(place) {
            query.rest.clear();
            query.meaning.clear();
        }
    });
}

/// An end of a range of keys is forgotten, though the key was to settle it.
pub(super) fn forgotten_range(plan: &mut ReadPlan, sites: &mut Sites) {
    for_each_query(plan, &mut |place, query| {
        let Some(sort) = &mut query.sort else { return };
        for (side, end) in [("low", &mut sort.low), ("high", &mut sort.high)] {
            if end.is_some() && sites.here(format!("{place} {side}")) {
                *end = None;
            }
        }
    });
}
