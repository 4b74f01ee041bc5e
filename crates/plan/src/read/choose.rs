//! Every path is tried; the cheapest that answers is the plan.

use singlet_model::Model;
use singlet_model::expression::Expr;
use singlet_model::model::{Entity, Read, Selection};

use super::candidate::{self, Query, Wanted, Why};
use super::implied;
use super::neighbours::{self, Neighbours};
use super::together::{self, Apart, Together};
use crate::access;
use crate::cost::{self, RequestCost};
use crate::meaning;

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
    /// The plan.
    pub plan: SelectionPlan,
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
    pub others: Vec<(String, Why)>,
}

/// Plans a read.
pub fn plan_read(model: &Model, read: &Read) -> ReadPlan {
    let combinations = meaning::combinations(read);
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
            .filter_map(|(name, selection, allow)| {
                let history = name.is_none().then_some(read);
                let plan = plan_selection(model, selection, allow, history, &is_sent)?;
                Some(PartPlan { name, plan })
            })
            .collect();
        let neighbours = neighbours::find(model, read, &parts);
        let together = read.together.map(|_| together::find(read, &parts));
        Combination {
            sent: sent.iter().map(|name| (*name).to_owned()).collect(),
            requests: match &together {
                Some(Ok(together)) => cost::transaction(&parts, together),
                _ => cost::requests(model, read, &parts, neighbours.as_ref()),
            },
            apart: match &neighbours {
                Some(_) => cost::requests(model, read, &parts, None),
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

/// Plans one selection: a read's own, one that comes with it, or one of a `let`.
pub fn plan_selection(
    model: &Model,
    selection: &Selection,
    allow: Option<&Expr>,
    read: Option<&Read>,
    sent: &dyn Fn(&str) -> bool,
) -> Option<SelectionPlan> {
    let entity = meaning::entity_of(model, selection)?;
    let implied = implied::history(model.source_of(entity), read);
    let mut conjuncts = meaning::conjuncts(selection, allow, sent);
    conjuncts.extend(implied.iter());
    let wanted = Wanted {
        model,
        entity,
        order: &selection.order,
        consistent: selection.consistent
            || read.is_some_and(|read| read.consistent.is_some() || read.together.is_some()),
        merged: false,
    };
    let whole = choose(model, entity, &wanted, &conjuncts);
    if !whole.queries.is_empty() {
        return Some(whole);
    }
    let mut plan = by_alternatives(model, entity, &wanted, &conjuncts).unwrap_or(whole);
    // Rows of a scan come in no order: one that asks for an order has no plan.
    let may_scan = read.is_some_and(|read| read.scan.is_some()) && selection.order.is_empty();
    if plan.queries.is_empty() && may_scan {
        plan.queries.push(Query::scan(model, entity, &conjuncts));
    }
    Some(plan)
}

/// Where no path answers the meaning as it stands, each alternative of its `||` may have one.
fn by_alternatives(model: &Model, entity: &Entity, wanted: &Wanted<'_>, conjuncts: &[&Expr]) -> Option<SelectionPlan> {
    let alternatives = meaning::alternatives(&conjuncts.to_vec())?;
    if alternatives.len() < 2 {
        return None;
    }
    let mut merged = SelectionPlan {
        queries: Vec::new(),
        covers: Vec::new(),
        others: Vec::new(),
    };
    let wanted = Wanted {
        merged: true,
        ..*wanted
    };
    for alternative in &alternatives {
        let mut plan = choose(model, entity, &wanted, alternative);
        merged.queries.push(plan.queries.pop()?);
        merged.others = plan.others;
    }
    Some(merged)
}

fn choose(model: &Model, entity: &Entity, wanted: &Wanted<'_>, conjuncts: &[&Expr]) -> SelectionPlan {
    let mut answers: Vec<(String, Query)> = Vec::new();
    let mut others = Vec::new();
    for path in access::paths(model, entity) {
        let name = match path.entity.id == entity.id {
            true => path.name(),
            false => format!("{} of `{}`", path.name(), path.entity.name),
        };
        match candidate::attempt(&path, wanted, conjuncts) {
            Ok(query) => answers.push((name, query)),
            Err(why) => others.push((name, why)),
        }
    }
    answers.sort_by_key(|(_, query)| query.cost());
    let mut answers = answers.into_iter();
    let Some((_, best)) = answers.next() else {
        return SelectionPlan {
            queries: Vec::new(),
            covers: Vec::new(),
            others,
        };
    };
    let mut covers = Vec::new();
    for (name, query) in answers {
        if query.cost() == best.cost() && has_cells(&query) && has_cells(&best) {
            covers.push(query);
        } else {
            others.push((name, Why::Dearer));
        }
    }
    SelectionPlan {
        queries: vec![best],
        covers,
        others,
    }
}

fn has_cells(query: &Query) -> bool {
    query
        .partition
        .iter()
        .any(|part| matches!(part.values, crate::values::Values::Cells { .. }))
}
