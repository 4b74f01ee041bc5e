//! What a plan says of cost, against what was consumed.

use std::collections::BTreeMap;

use singlet_item::ReadUnits;
use singlet_model::Model;
use singlet_plan::cost::{Call, RequestCost, Sizes, Worked, least_in_all, sent_in_all};
use singlet_plan::read::Combination;
use singlet_plan::read::ReadPlan;

use crate::metered::MeteredRequest;

/// What is wrong with what one page asked of the store, if anything is. Of a first page that is no longer than the plan's, what
/// it costs is known too.
pub(crate) fn page_difference(
    model: &Model,
    combination: &Combination,
    sent: &[MeteredRequest],
    worked: Option<Worked>,
) -> Option<String> {
    let known = || combination.requests.iter().chain(&combination.apart);
    for one in sent {
        if !known().any(|cost| is_of(model, combination, cost, one)) {
            return Some(format!(
                "the plan does not know of a {:?} of {} ({:?}): {}",
                one.call,
                one.index.as_deref().unwrap_or("the table"),
                one.consistency,
                one.shown
            ));
        }
    }
    let worked = worked?;
    let consumed: ReadUnits = sent.iter().map(|one| one.consumed).sum();
    let most = worked.most.filter(|_| combination.neighbours.is_none());
    // What the request settles, or no key can be, is not asked for.
    let sent_for = |cost: &RequestCost| sent.iter().filter(|one| is_of(model, combination, cost, one)).count() as u64;
    let least_sent = sent_in_all(&combination.requests).0;
    // Which of several alike was not sent cannot be told.
    let alike = |cost: &RequestCost, other: &RequestCost| {
        is_alike(cost.call, other.call) && (cost.index, cost.consistency) == (other.index, other.consistency)
    };
    let least_alike = |cost: &RequestCost| -> u64 {
        let alike = combination.requests.iter().filter(|other| alike(cost, other));
        least_in_all(&alike.cloned().collect::<Vec<RequestCost>>(), |other| {
            other.requests_sent().0
        })
    };
    // Of those that an argument chooses one suffices.
    let is_sent = |cost: &RequestCost| sent_for(cost) >= least_alike(cost);
    let each_sent = (combination.requests.iter()).all(|cost| match cost.asked_words.is_empty() {
        true => is_sent(cost),
        false => {
            let mut beside = combination.requests.iter();
            beside.any(|other| other.parts == cost.parts && !other.asked_words.is_empty() && is_sent(other))
        }
    });
    // Of keys that come together nobody can tell here how many were asked for: one that several parts name is got once, and those before a
    // cursor are not got again, so that the last one may come alone.
    let once = (sent.iter().map(|one| one.call))
        .chain(combination.requests.iter().map(|cost| cost.call))
        .any(|call| matches!(call, Call::BatchGet | Call::TransactGet));
    let all_sent = each_sent && sent.len() as u64 >= least_sent && !once;
    let than_said = |most_or_least: String| {
        let shown = sent.iter().map(|one| format!("{:?} {}", one.call, one.shown));
        let shown: Vec<String> = shown.collect();
        format!(
            "{consumed} read units were consumed, the plan says at {most_or_least}; sent: {}",
            shown.join("; ")
        )
    };
    match most.is_some_and(|most| consumed > most) {
        true => Some(than_said(format!("most {}", most?))),
        false if !all_sent || consumed >= worked.least => None,
        false => Some(than_said(format!("least {}", worked.least))),
    }
}

/// What each combination of each read's arguments costs.
pub(crate) fn worked_costs<'p>(model: &Model, plans: impl Iterator<Item = &'p ReadPlan>) -> WorkedCosts {
    let sizes = Sizes::of(model);
    let costs = plans.map(|plan| {
        let combinations = plan.combinations.iter();
        let worked = combinations.map(|known| (known.sent.clone(), Worked::sum_requests(&known.requests, &sizes)));
        (plan.read.clone(), worked.collect())
    });
    costs.collect()
}

/// By read, and by the optional arguments that are sent.
pub(crate) type WorkedCosts = BTreeMap<String, Vec<(Vec<String>, Worked)>>;

fn is_of(model: &Model, combination: &Combination, cost: &RequestCost, sent: &MeteredRequest) -> bool {
    let name = |index| model.index(index).map(|index| index.name.clone());
    // A circle has several covers, each on an index of its own: the request decides.
    let covers = combination.parts.iter().flat_map(|part| &part.plan.covers);
    let mut places = covers.map(|query| query.index).chain([cost.index]);
    let is_there = places.any(|place| place.and_then(name) == sent.index);
    is_there && sent.consistency == cost.consistency && is_alike(sent.call, cost.call)
}

/// A row by its whole key is got, alone or with others, or queried, as what is made of it needs: all cost the same.
fn is_alike(one: Call, other: Call) -> bool {
    let one_row = |call: Call| matches!(call, Call::Get | Call::BatchGet | Call::Query);
    one == other || (one_row(one) && one_row(other))
}
