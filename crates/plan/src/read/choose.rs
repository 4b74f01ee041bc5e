//! Every path is tried; the cheapest that answers is the plan.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use singlet_model::Model;
use singlet_model::expression::Expr;
use singlet_model::model::{Entity, IndexId, Read, Selection, SelectionKind, TallyId};
use singlet_model::types::EntityId;

use super::candidate::{self, Query, Wanted};
use super::expected::{self, Expected, RowsWanted};
use super::implied;
use super::neighbours::{self, Neighbours};
use super::search::{self, SearchPlan};
use super::strangers;
use super::taken_apart::{is_cheaper, split};
use super::thin;
use super::together::{self, Apart, Together};
use super::why::Why;
use crate::access;
use crate::bounds::Bounds;
use crate::cost::{self, RequestCost};
use crate::meaning::{self, Conjuncts};

/// How a read is answered: one plan for each combination of optional arguments.
#[derive(Debug)]
pub struct ReadPlan {
    /// The read's name.
    pub read: String,
    /// The combinations.
    pub combinations: Vec<Combination>,
}

/// A read with some of its optional arguments sent.
#[derive(Debug)]
pub struct Combination {
    /// The optional arguments that are sent.
    pub sent: Vec<String>,
    /// The plan of each selection.
    pub parts: Vec<PartPlan>,
    /// The selections that one query answers, as long as its first page reaches them.
    pub neighbours: Option<Neighbours>,
    /// Where the read says `together`: the transaction, or why there is none.
    pub together: Option<Result<Together, Apart>>,
    /// The requests for the first page, and what each costs.
    pub requests: Vec<RequestCost>,
    /// The requests for what the one query of neighbours does not reach, and for later pages.
    pub apart: Vec<RequestCost>,
}

/// The plan of a read's own selection, or of one that comes with it.
#[derive(Debug)]
pub struct PartPlan {
    /// The name under `with`; none for the read's own.
    pub name: Option<String>,
    /// The plan: one for all combinations of arguments that make no difference to it.
    pub plan: Arc<SelectionPlan>,
}

/// How one selection is answered.
#[derive(Clone, Debug)]
pub struct SelectionPlan {
    /// The queries, one for each alternative of the meaning; their rows are merged in order, each once. Empty where no path
    /// answers it.
    pub queries: Vec<Query>,
    /// Other queries that answer a lone alternative as well, with other cells: the cheaper cover is known with the request.
    pub covers: Vec<Query>,
    /// The other paths, and why each is not the plan.
    pub others: Vec<Lost>,
    /// The tally whose figures answer it: no rows are read.
    pub tally: Option<TallyId>,
    /// How its rows are found by their words.
    pub search: Option<SearchPlan>,
}

/// A path that is not the plan.
#[derive(Clone, Debug)]
pub struct Lost {
    /// Its name in messages.
    pub path: String,
    /// The entity whose rows lie on it: the one asked for, or a mirror.
    pub entity: EntityId,
    /// The index; the table, if there is none.
    pub index: Option<IndexId>,
    /// Which of that entity's choices of templates it is.
    pub choice: usize,
    /// Why.
    pub why: Why,
}

impl Lost {
    /// Whether it answers, and only another is the plan.
    pub fn answers(&self) -> bool {
        matches!(self.why, Why::Dearer(..) | Why::Pinned(..) | Why::Ranges)
    }
}

impl SelectionPlan {
    /// Whether every request that the model allows is answered: there are queries, and none makes more ranges than are asked for
    /// at once.
    pub fn is_answer(&self) -> bool {
        !self.is_unanswered() && self.excess().is_none()
    }

    /// Whether nothing answers it, whatever is asked for.
    pub fn is_unanswered(&self) -> bool {
        self.queries.is_empty() && self.tally.is_none() && self.search.is_none()
    }

    /// The half units and requests by which it is compared: what its queries are expected to take, each as often as it is sent.
    pub fn expected_cost(&self) -> (u64, u64) {
        let sum = |of: fn(&Query) -> u64| {
            let is_always = |query: &&Query| query.asked_share >= 1.0;
            let always = self
                .queries
                .iter()
                .filter(is_always)
                .map(of)
                .fold(0, u64::saturating_add);
            // Of those of which an argument says which is sent, the root of the mean of squares, as for one query that any of them may be.
            let squares = self.queries.iter().filter(|query| !is_always(query));
            let squares = squares.map(|query| query.asked_share * (of(query) as f64).powi(2));
            always.saturating_add(expected::whole(squares.sum::<f64>().sqrt()))
        };
        (
            sum(|query| query.expected.compared_half_units),
            sum(|query| query.expected.requests),
        )
    }

    /// The plan of what a tally answers.
    fn of_tally(tally: TallyId) -> Self {
        SelectionPlan {
            queries: Vec::new(),
            covers: Vec::new(),
            others: Vec::new(),
            tally: Some(tally),
            search: None,
        }
    }

    /// The plan of what is found by its words.
    fn of_search(search: SearchPlan) -> Self {
        SelectionPlan {
            queries: Vec::new(),
            covers: Vec::new(),
            others: Vec::new(),
            tally: None,
            search: Some(search),
        }
    }

    /// The degrees of latitude, north and south, up to which its circle is answered; of several covers that of the widest.
    pub fn latitude(&self) -> Option<f64> {
        let all = self.queries.iter().chain(&self.covers);
        all.filter_map(|query| query.reach.latitude).reduce(f64::max)
    }

    /// The query that makes most of the ranges, where a request may make more than are read at once. Of several covers of one
    /// circle the one that suffices is taken.
    pub fn excess(&self) -> Option<&Query> {
        let most = |query: &Query| query.reach.most.unwrap_or(u64::MAX);
        let all = self.queries.iter().map(most).fold(0_u64, u64::saturating_add);
        let suffices = self.covers.iter().any(|cover| !cover.reach.exceeds());
        let excess = all > Bounds::USUAL.ranges_max as u64 && !suffices;
        self.queries.iter().max_by_key(|query| most(query)).filter(|_| excess)
    }
}

/// Plans a read.
pub fn plan_read(model: &Model, read: &Read) -> ReadPlan {
    let combinations = meaning::argument_combinations(read);
    let mut known: HashMap<(usize, Vec<&str>), Option<Arc<SelectionPlan>>> = HashMap::new();
    let plan = |sent: &Vec<&str>| {
        let optional = |name: &str| {
            read.args
                .iter()
                .any(|arg| arg.name == name && arg.optional && arg.default.is_none())
        };
        let is_sent = |name: &str| !optional(name) || sent.contains(&name);
        let own = read
            .selection
            .iter()
            .map(|selection| (None, selection, Some(&read.allow)));
        let with = read
            .with
            .iter()
            .map(|part| (Some(part.name.clone()), &part.selection, part.allow.as_ref()));
        let parts: Vec<PartPlan> = own
            .chain(with)
            .enumerate()
            .filter_map(|(at, (name, selection, allow))| {
                let history = name.is_none().then_some(read);
                // Only the arguments that a part mentions: others make no difference to its plan.
                let mentioned = arguments_of(selection, allow, history);
                let sent_of_them = mentioned.into_iter().filter(|name| is_sent(name)).collect();
                let plan = known.entry((at, sent_of_them)).or_insert_with(|| {
                    let plan = plan_selection(model, selection, allow, history, &is_sent)?;
                    Some(Arc::new(plan))
                });
                let plan = plan.clone()?;
                Some(PartPlan { name, plan })
            })
            .collect();
        let neighbours = neighbours::find(model, read, &parts);
        let together = read.together.map(|_| together::find(read, &parts));
        Combination {
            sent: sent.iter().map(|name| (*name).to_owned()).collect(),
            requests: match &together {
                Some(Ok(together)) => cost::transaction_request(&parts, together),
                _ => cost::counted_requests(model, read, &parts, neighbours.as_ref()),
            },
            apart: match &neighbours {
                Some(_) => cost::counted_requests(model, read, &parts, None),
                None => Vec::new(),
            },
            parts,
            neighbours,
            together,
        }
    };
    ReadPlan {
        read: read.name.clone(),
        combinations: combinations.iter().map(plan).collect(),
    }
}

/// The arguments that a selection's plan may depend on.
fn arguments_of<'a>(selection: &'a Selection, allow: Option<&'a Expr>, read: Option<&'a Read>) -> Vec<&'a str> {
    let at = read.and_then(|read| read.at.as_ref());
    let all = selection.filter.iter().chain(allow).chain(at);
    all.flat_map(Expr::mentioned_arguments).collect()
}

/// A read with its order turned round, and its plan; where it names no order, that of the key.
pub fn plan_reversed(model: &Model, read: &Read) -> (Read, ReadPlan) {
    let mut read = read.clone();
    let order = read.selection.iter_mut().flat_map(|selection| &mut selection.order);
    order.for_each(|order| order.descending = !order.descending);
    let mut plan = plan_read(model, &read);
    if read
        .selection
        .as_ref()
        .is_some_and(|selection| selection.order.is_empty())
    {
        let parts = plan
            .combinations
            .iter_mut()
            .flat_map(|combination| &mut combination.parts);
        let own = parts.filter(|part| part.name.is_none());
        let plans = own.map(|part| Arc::make_mut(&mut part.plan));
        let queries = plans.flat_map(|plan| plan.queries.iter_mut().chain(&mut plan.covers));
        queries.for_each(|query| query.descending = !query.descending);
    }
    (read, plan)
}

/// Plans one selection: a read's own, one that comes with it, or one of a `let`.
pub fn plan_selection(
    model: &Model,
    selection: &Selection,
    allow: Option<&Expr>,
    read: Option<&Read>,
    sent: &dyn Fn(&str) -> bool,
) -> Option<SelectionPlan> {
    if let Some(kept) = &selection.tally {
        return Some(SelectionPlan::of_tally(kept.tally));
    }
    if selection.matching.is_some() {
        let search = search::plan_search(model, selection, allow, sent)?;
        return Some(SelectionPlan::of_search(search));
    }
    let mut plan = plan_unmarked(model, selection, allow, read, sent)?;
    for query in plan.queries.iter_mut().chain(&mut plan.covers) {
        // After it is chosen, since it takes work to decide.
        query.is_mixed = strangers::is_mixed(model, query);
    }
    Some(plan)
}

fn plan_unmarked(
    model: &Model,
    selection: &Selection,
    allow: Option<&Expr>,
    read: Option<&Read>,
    sent: &dyn Fn(&str) -> bool,
) -> Option<SelectionPlan> {
    let entity = meaning::entity_of(model, selection)?;
    let implied = implied::history(model.source_of(entity), read);
    let conjuncts = meaning::meaning_conjuncts(selection, allow, sent)
        .into_iter()
        .chain(implied.iter());
    let own: Vec<Expr> = conjuncts
        .map(|conjunct| meaning::as_planned(conjunct, entity, sent))
        .collect();
    let conjuncts: Conjuncts<'_> = own.iter().collect();
    let order = meaning::order_by_own_names(&selection.order, entity);
    let wanted = Wanted {
        model,
        entity,
        order: &order,
        consistent: selection.consistent
            || read.is_some_and(|read| read.consistent.is_some() || read.together.is_some()),
        merged: false,
        rows: rows_wanted(selection, read),
        shown: thin::shown_attributes(selection, read),
        pinned: read.and_then(|read| read.pinned).map(|(index, _)| index),
    };
    let mut whole = choose(model, entity, &wanted, &conjuncts);
    // Taken apart it must answer every alternative.
    let split = split(model, entity, &wanted, &conjuncts).filter(SelectionPlan::is_answer);
    // Taken apart it may be cheaper; of equals the whole is simpler.
    let split = split.filter(|split| !whole.is_answer() || is_cheaper(split, &whole));
    if let Some(split) = split {
        return Some(split);
    }
    if whole.is_answer() {
        narrow_to_looked_at(&wanted, selection, read, &conjuncts, &mut whole);
        return Some(whole);
    }
    // Rows of a scan come in no order: one that asks for an order has no plan.
    let may_scan = read.is_some_and(|read| read.scan.is_some() && read.pinned.is_none()) && selection.order.is_empty();
    Some(match may_scan {
        true => SelectionPlan {
            queries: vec![Query::scan(&wanted, &conjuncts)],
            covers: Vec::new(),
            ..whole
        },
        // Without an answer for every request, what answers some is still the plan of a model that is run all the same.
        false => whole,
    })
}

/// Where an answer is made of some attributes, those, what the order and the meaning name and what says when a row ends are all that is asked
/// for: where an argument lies outside of what a key can hold, the meaning is asked of the row. A state that lapses follows from other
/// attributes, and rows that are merged are told apart by their keys.
fn narrow_to_looked_at(
    wanted: &Wanted<'_>,
    selection: &Selection,
    read: Option<&Read>,
    conjuncts: &Conjuncts<'_>,
    plan: &mut SelectionPlan,
) {
    let (model, entity) = (wanted.model, wanted.entity);
    let ([query], [], Some(shown)) = (plan.queries.as_mut_slice(), &*plan.covers, &wanted.shown) else {
        return;
    };
    let source = model.source_of(entity);
    let lapses = source.states.as_ref().is_some_and(|states| !states.lapses.is_empty());
    let is_whole = query.entity == entity.id && query.layout.may_be_bare && !query.follow && !query.scan;
    // What is counted without groups is counted by the store.
    let is_looked_at = match selection.kind {
        SelectionKind::Count => !selection.by.is_empty() && query.reads_one_range() && query.takes_all(),
        SelectionKind::Find | SelectionKind::Get { .. } => true,
    };
    // A state that lapses is computed from attributes that nobody named.
    if lapses || !is_whole || !is_looked_at {
        return;
    }
    let first = |path: &str| path.split('.').next().unwrap_or_default().to_owned();
    let order = wanted.order.iter().map(|order| first(&order.path));
    let rules = read.map(|read| &read.allow).into_iter().chain(&source.expires);
    let named = conjuncts.iter().copied().chain(rules).flat_map(Expr::attributes);
    // What only the process looks at has to be read too: conditions, `allow`, the order and when a row ends.
    let mut looked_at: BTreeSet<String> = named.map(str::to_owned).chain(order).collect();
    looked_at.extend(shown.iter().cloned());
    let by_other_names = entity.attributes.iter().filter_map(|attribute| {
        let alias = attribute.alias.as_deref()?;
        looked_at.contains(attribute.name.as_str()).then(|| alias.to_owned())
    });
    let by_other_names: Vec<String> = by_other_names.collect();
    looked_at.extend(by_other_names);
    query.layout = std::mem::take(&mut query.layout).narrow(&looked_at);
}

/// How many rows of a selection are read at once: a page, what its limit says, or all.
fn rows_wanted(selection: &Selection, read: Option<&Read>) -> RowsWanted {
    let page = read.filter(|read| read.each.is_none()).map(|read| {
        let usual = Bounds::USUAL.page_rows_usual as u64;
        read.page.unwrap_or(usual)
    });
    match selection.kind {
        SelectionKind::Get { .. } => RowsWanted::Page(1),
        SelectionKind::Count => RowsWanted::All,
        SelectionKind::Find => match (selection.limit, page) {
            (Some(limit), Some(page)) => RowsWanted::Page(limit.min(page)),
            (Some(rows), None) | (None, Some(rows)) => RowsWanted::Page(rows),
            (None, None) => RowsWanted::All,
        },
    }
}

/// How the rows of an entity of which a condition is true are found.
pub fn plan_condition(model: &Model, entity: &Entity, condition: &Expr) -> SelectionPlan {
    let own = meaning::as_planned(condition, entity, &|_| true);
    let wanted = Wanted {
        model,
        entity,
        order: &[],
        consistent: false,
        merged: false,
        rows: RowsWanted::All,
        shown: None,
        pinned: None,
    };
    choose(model, entity, &wanted, &own.conjuncts())
}

/// The cheapest path for a meaning as it stands, and why each other is not the plan.
pub(super) fn choose(model: &Model, entity: &Entity, wanted: &Wanted<'_>, conjuncts: &[&Expr]) -> SelectionPlan {
    let mut answers: Vec<(String, Query)> = Vec::new();
    let mut others = Vec::new();
    for path in access::access_paths(model, entity) {
        let name = match path.entity.id == entity.id {
            true => path.name(),
            false => format!("{} of `{}`", path.name(), path.entity.name),
        };
        match candidate::attempt(&path, wanted, conjuncts) {
            Ok(query) => answers.push((name, query)),
            Err(why) => others.push(Lost {
                path: name,
                entity: path.entity.id,
                index: path.index_in(model),
                choice: path.choice_at,
                why,
            }),
        }
    }
    // Within bounds first: a cheap query that is refused for some arguments answers less.
    let order = |query: &Query| (query.reach.exceeds(), query.cost());
    let is_allowed = |query: &Query| wanted.pinned.is_none_or(|pinned| query.index == Some(pinned));
    let allowed = (0..answers.len()).filter(|at| answers.get(*at).is_some_and(|(_, query)| is_allowed(query)));
    let allowed: Vec<(usize, &Query)> = allowed.filter_map(|at| Some((at, &answers.get(at)?.1))).collect();
    let best = allowed.iter().min_by_key(|(_, query)| order(query));
    let best = best.map(|best| never_far(*best, &allowed).unwrap_or(*best));
    let best = best.map(|best| match is_estimated(model, entity) {
        true => best.0,
        false => of_fewer_ranges(best, &allowed).unwrap_or(best).0,
    });
    let best = best.and_then(|at| Some((at, answers.get(at)?)));
    let best = best.map(|(at, (_, query))| (at, query.cost(), has_cells(query), query.expected));
    let mut queries = Vec::new();
    for (at, (path, query)) in answers.into_iter().enumerate() {
        let exceeds = query.reach.exceeds();
        // Which cover of a circle is cheapest is known with the request; one that is too fine for some circles suits others.
        let is_taken = best
            .as_ref()
            .is_some_and(|(best, cost, cells, _)| at == *best || *cells && has_cells(&query) && query.cost() == *cost)
            && is_allowed(&query);
        if is_taken {
            queries.push(query);
            continue;
        }
        let beside_best = || {
            let best = best.as_ref().map_or(query.expected, |(.., expected)| *expected);
            Box::new([query.expected, best])
        };
        let why = match exceeds {
            true => Why::Ranges,
            false if is_allowed(&query) => Why::Dearer(beside_best()),
            false => Why::Pinned(beside_best()),
        };
        others.push(Lost {
            path,
            entity: query.entity,
            index: query.index,
            choice: query.choice,
            why,
        });
    }
    let covers = queries.split_off(queries.len().min(1));
    SelectionPlan {
        queries,
        covers,
        others,
        tally: None,
        search: None,
    }
}

/// In place of a way that is far from the cheapest for some request, the cheapest of those that never are, where it is not much dearer.
fn never_far<'q>((_, best): (usize, &Query), allowed: &[(usize, &'q Query)]) -> Option<(usize, &'q Query)> {
    let least = Expected::least_by_request(allowed.iter().map(|(_, query)| &query.expected));
    if !best.expected.is_far_from(&least) {
        return None;
    }
    let most = best.expected.compared_half_units as f64 * NEVER_FAR_COST_MAX;
    let instead = allowed.iter().filter(|(_, query)| {
        let is_as_wide = query.reach.exceeds() && !best.reach.exceeds();
        query.expected.compared_half_units as f64 <= most && !query.expected.is_far_from(&least) && !is_as_wide
    });
    instead.min_by_key(|(_, query)| query.cost()).copied()
}

/// How many times what the cheapest way takes one may take that is never far from the cheapest.
const NEVER_FAR_COST_MAX: f64 = 2.0;

/// Whether it is known how many rows there are, and how many share a value.
fn is_estimated(model: &Model, entity: &Entity) -> bool {
    let said = model.estimate_of(&model.source_of(entity).name);
    said.is_some_and(|said| said.items.is_some() && !said.per.is_empty())
}

/// In place of a way that is a little cheaper by figures that nobody gave, one that asks for far fewer ranges: where the rows are fewer than
/// taken for granted, each range costs its least all the same.
fn of_fewer_ranges<'q>((_, best): (usize, &Query), allowed: &[(usize, &'q Query)]) -> Option<(usize, &'q Query)> {
    let ranges = |query: &Query| query.reach.most.unwrap_or(u64::MAX);
    let cost_max = best.expected.compared_half_units as f64 * FEWER_RANGES_COST_MAX;
    let instead = allowed.iter().filter(|(_, query)| {
        ranges(query) <= ranges(best) / FEWER_RANGES && query.expected.compared_half_units as f64 <= cost_max
    });
    instead.min_by_key(|(_, query)| query.cost()).copied()
}

/// How many times fewer ranges are far fewer, and how many times the units they may take.
const FEWER_RANGES: u64 = 4;
const FEWER_RANGES_COST_MAX: f64 = 1.25;

fn has_cells(query: &Query) -> bool {
    query
        .partition
        .iter()
        .any(|part| matches!(part.values, crate::values::Values::Cells { .. }))
}
