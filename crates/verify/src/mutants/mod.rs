//! Mistakes planted on purpose, so that [`crate::probe`] can be measured by how many of them it finds.
//!
//! An *operator* is one kind of mistake: an escape that is forgotten, a guard that is not kept, a page that begins one row too
//! late. A *site* is a place where it fits, and a *mutant* is the engine with the mistake planted at one site. Nothing is built
//! anew: a mistake changes the resolved model, the plans made of it, or what reaches the store. The judge keeps the model as it
//! is written.

mod expressions;
mod keys;
mod plans;
mod promises;
mod reads;
mod store;
mod writes;

pub(crate) use store::Mislaid;

use std::sync::Arc;

use singlet_model::Model;
use singlet_plan::read::ReadPlan;
use singlet_store::Store;

/// The sites of an operator, counted while a model is walked; the mistake is made at the one that is wanted.
#[derive(Debug, Default)]
struct Sites {
    wanted: Option<usize>,
    seen: Vec<String>,
}

impl Sites {
    /// Notes a site; says whether the mistake is to be made here.
    fn here(&mut self, place: impl Into<String>) -> bool {
        let here = self.wanted == Some(self.seen.len());
        self.seen.push(place.into());
        here
    }
}

/// One kind of mistake.
#[derive(Clone, Copy, Debug)]
pub struct MutationOperator {
    /// Its name: `forgotten-escape`.
    pub name: &'static str,
    way: MutationSite,
}

#[derive(Clone, Copy, Debug)]
enum MutationSite {
    /// The model of the engine is changed before anything is planned.
    Model(fn(&mut Model, &mut Sites)),
    /// The plans of reads are changed.
    Plan(fn(&mut ReadPlan, &mut Sites)),
    /// What the engine sends is changed on its way to the store.
    Store(fn(&Model) -> Vec<Mislaid>),
}

/// Every kind of mistake.
pub const OPERATORS: &[MutationOperator] = &[
    model("forgotten-escape", keys::forgotten_escape),
    model("swapped-parts", keys::swapped_parts),
    model("unpadded-number", keys::unpadded_number),
    model("ignored-condition-of-entry", keys::ignored_condition),
    model("forgotten-guard", promises::forgotten_guard),
    model("stale-copy", promises::stale_copy),
    model("ignored-expiry", promises::ignored_expiry),
    model("ignored-lapse", promises::ignored_lapse),
    model("forgotten-while", promises::forgotten_while),
    model("wrong-state", promises::wrong_state),
    model("open-move", promises::open_move),
    model("unraised-version", promises::unraised_version),
    model("forgotten-default", promises::forgotten_default),
    model("ignored-exclusion", promises::ignored_exclusion),
    model("missing-owner-check", reads::missing_owner_check),
    model("moved-bound", reads::moved_bound),
    model("dropped-conjunct", reads::dropped_conjunct),
    model("turned-comparison", reads::turned_comparison),
    model("turned-order", reads::turned_order),
    model("limit-off-by-one", reads::limit_off_by_one),
    model("rule-not-read", writes::rule_not_read),
    model("rule-turned", writes::rule_turned),
    model("argument-limit-off-by-one", writes::argument_limit_off_by_one),
    model("step-left-out", writes::step_left_out),
    model("value-not-set", writes::value_not_set),
    model("amount-off-by-one", writes::amount_off_by_one),
    model("condition-ignored", writes::condition_ignored),
    model("write-without-owner", writes::write_without_owner),
    plan("dropped-last-value", plans::dropped_last_value),
    plan("forgotten-filter", plans::forgotten_filter),
    plan("forgotten-range", plans::forgotten_range),
    store("index-key-not-written", store::index_key_not_written),
    store("mirror-not-written", store::mirror_not_written),
    store("page-off-by-one", store::page_off_by_one),
    store("guard-not-released", store::guard_not_released),
];

const fn model(name: &'static str, change: fn(&mut Model, &mut Sites)) -> MutationOperator {
    MutationOperator {
        name,
        way: MutationSite::Model(change),
    }
}

const fn plan(name: &'static str, change: fn(&mut ReadPlan, &mut Sites)) -> MutationOperator {
    MutationOperator {
        name,
        way: MutationSite::Plan(change),
    }
}

const fn store(name: &'static str, sites: fn(&Model) -> Vec<Mislaid>) -> MutationOperator {
    MutationOperator {
        name,
        way: MutationSite::Store(sites),
    }
}

/// One mistake at one place.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// The kind of mistake.
    pub operator: &'static str,
    /// Where: `Task.key.SK`, `overdueTasks`, `createTask do[1]`.
    pub place: String,
    way: MutationSite,
    site: usize,
}

impl Mutant {
    /// Plants the mistake in a model that is about to be opened, where it is one of the model.
    pub fn change_model(&self, model: &mut Model) {
        if let MutationSite::Model(change) = self.way {
            change(model, &mut self.sites());
        }
    }

    /// Plants the mistake in the plans of reads, which come in the model's order, where it is one of plans.
    pub fn change_plans(&self) -> impl FnMut(&mut ReadPlan) {
        let (way, mut sites) = (self.way, self.sites());
        move |plan| {
            if let MutationSite::Plan(change) = way {
                change(plan, &mut sites);
            }
        }
    }

    /// Plants the mistake in front of a store, where it is one of what is sent.
    pub fn change_store(&self, model: &Model, store: Arc<dyn Store>) -> Arc<dyn Store> {
        match self.way {
            MutationSite::Store(sites) => match sites(model).into_iter().nth(self.site) {
                Some(mislaid) => store::faulty_store(store, mislaid),
                None => store,
            },
            MutationSite::Model(_) | MutationSite::Plan(_) => store,
        }
    }

    fn sites(&self) -> Sites {
        Sites {
            wanted: Some(self.site),
            seen: Vec::new(),
        }
    }
}

/// Every mutant of a model: each operator at each of its sites. The model comes out as it was; its plans are given in its order.
pub fn all_mutants(model: &mut Model, plans: &mut [ReadPlan]) -> Vec<Mutant> {
    let mut all = Vec::new();
    for operator in OPERATORS {
        let mut sites = Sites::default();
        match operator.way {
            MutationSite::Model(change) => change(model, &mut sites),
            MutationSite::Plan(change) => plans.iter_mut().for_each(|plan| change(plan, &mut sites)),
            MutationSite::Store(list) => sites.seen = list(model).iter().map(ToString::to_string).collect(),
        }
        all.extend(sites.seen.into_iter().enumerate().map(|(site, place)| Mutant {
            operator: operator.name,
            place,
            way: operator.way,
            site,
        }));
    }
    all
}
