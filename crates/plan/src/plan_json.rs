//! Plans as JSON. The shape is stable: fields are added, never renamed.

use serde_json::{Value as Json, json};
use singlet_item::ReadUnits;
use singlet_item::capacity::Consistency;
use singlet_model::Model;
use singlet_model::model::{Step, StepKind, Write};

use crate::cost::Sizes;
use crate::read::{Combination, PlanRow, ReadPlan, plan_rows};
use crate::write::{
    MonthCost, Place, StepPlan, WriteCost, WritePlan, following_webhooks, following_writes, plan_write,
    possible_refusals, transaction_actions, trigger_text, write_costs,
};

/// `{model, reads: [{name, combinations: [{sent, requests, not}]}]}`.
pub fn reads_json(model: &Model, plans: &[ReadPlan]) -> Json {
    let sizes = Sizes::of(model);
    let reads = plans.iter().map(|plan| {
        let rows = plan_rows(model, plan);
        let combinations = plan.combinations.iter().map(|combination| {
            let own = rows.iter().filter(|row| row.sent == combination.sent.as_slice());
            let requests: Vec<Json> = own.map(|row| request(row, &sizes)).collect();
            json!({"sent": combination.sent, "requests": requests, "not": others(combination)})
        });
        json!({"name": plan.read, "combinations": combinations.collect::<Vec<_>>()})
    });
    json!({"model": model.name, "reads": reads.collect::<Vec<_>>()})
}

fn request(row: &PlanRow<'_>, sizes: &Sizes<'_>) -> Json {
    let (least, most) = row.cost.requests_sent();
    let worked = row.cost.worked_cost(sizes);
    json!({
        "for": row.cost.parts,
        "call": row.cost.call.word(),
        "index": row.cost.index.map(|_| row.place.as_str()),
        "key": row.key,
        "descending": row.descending,
        "filter": Some(row.filter.as_str()).filter(|filter| !filter.is_empty()),
        "projection": Some(&row.projection).filter(|names| !names.is_empty()),
        "or": row.or,
        "consistency": match row.cost.consistency {
            Consistency::Eventual => "eventual",
            Consistency::Strong => "strong",
            Consistency::Transactional => "transactional",
        },
        "rows": row.cost.rows,
        "readsOn": row.cost.reads_on,
        "requests": {"least": least, "most": most},
        "capacity": {
            "formula": row.cost.formula_text(),
            "least": units(worked.least),
            "usual": worked.usual.map(units),
            "most": worked.most.map(units),
        },
    })
}

fn others(combination: &Combination) -> Vec<Json> {
    let parts = combination.parts.iter();
    parts
        .flat_map(|part| {
            let others = part.plan.others.iter();
            others.map(move |lost| json!({"for": part.name, "path": lost.path, "why": lost.why.to_string()}))
        })
        .collect()
}

fn units(units: ReadUnits) -> f64 {
    units.half_count() as f64 / 2.0
}

/// The rows that a write reads before it decides: those that `let` names, and those of its steps.
pub fn read_first(model: &Model, write: &Write, plan: &WritePlan) -> Vec<String> {
    let rows = plan.rows.iter().filter(|(_, row)| row.is_read());
    let mut found: Vec<String> = rows.map(|(name, _)| name.clone()).collect();
    let mut waiting: Vec<(&Step, &StepPlan)> = write.steps.iter().zip(&plan.steps).rev().collect();
    while let Some((step, planned)) = waiting.pop() {
        if let StepKind::Group(inner) = &step.kind {
            waiting.extend(inner.iter().zip(&planned.inner).rev());
        }
        let name = match &step.kind {
            StepKind::Update(target) | StepKind::Delete(target) | StepKind::Upsert(target) => match target.path() {
                Some(bound) => Some(bound),
                None => step
                    .entity()
                    .and_then(|id| model.entity(id))
                    .map(|entity| entity.name.clone()),
            },
            _ => None,
        };
        if planned.own.is_read() || planned.own.needed.is_some() {
            found.extend(name.filter(|name| !found.contains(name)));
        }
    }
    found
}

/// How many items it is, in words.
pub fn call_text(model: &Model, write: &Write) -> String {
    match (write.bulk, transaction_actions(model, write)) {
        (true, _) => "in chunks".to_owned(),
        (false, 0 | 1) => "one item".to_owned(),
        (false, most) => format!("up to {most} items"),
    }
}

/// Its write units, in words.
pub fn units_text(cost: &WriteCost) -> String {
    match cost.most {
        Some(most) if most == cost.least => most.to_string(),
        Some(most) => format!("{} to {most}", cost.least),
        None => format!("{} or more", cost.least),
    }
}

/// What a write costs.
pub fn cost_of_write(model: &Model, write: &Write) -> WriteCost {
    let mut costs = model.writes.iter().zip(write_costs(model));
    costs
        .find(|(known, _)| known.name == write.name)
        .map_or_else(WriteCost::default, |(_, cost)| cost)
}

/// `{least, most, overExpired, of}`.
pub fn units_json(cost: &WriteCost) -> Json {
    json!({
        "least": cost.least,
        "most": cost.most,
        "overExpired": {"least": cost.over_expired.0, "most": cost.over_expired.1},
        "of": cost.terms,
    })
}

/// `{name, bulk, items, readFirst, clauses, units, refusals, after, every, month, then, tells}`.
pub fn write_json(model: &Model, write: &Write) -> Json {
    let plan = plan_write(model, write);
    let allow = plan.allow.iter().filter(|_| !write.is_uncalled());
    let clauses = allow.chain(plan.requirements.iter().flatten()).map(|clause| {
        let place = match &clause.place {
            Place::Request => "request",
            Place::Pushed(_) => "condition",
            Place::Pinned => "pinned",
        };
        let text = crate::show::expression_in(&model.catalog, &clause.expr);
        json!({"holds": text, "place": place})
    });
    let cost = cost_of_write(model, write);
    let refusals = possible_refusals(model, write);
    let refusals = refusals
        .iter()
        .map(|(status, name)| json!({"name": name, "status": status}));
    json!({
        "name": write.name,
        "bulk": write.bulk,
        "items": transaction_actions(model, write),
        "readFirst": read_first(model, write, &plan),
        "clauses": clauses.collect::<Vec<_>>(),
        "units": units_json(&cost),
        "refusals": refusals.collect::<Vec<_>>(),
        "after": write.after.as_ref().map(|trigger| trigger_text(model, trigger)),
        "every": write.every.map(|schedule| schedule.to_string()),
        "month": MonthCost::of(write, &cost).map(|month| json!({
            "runs": f64::from(i32::try_from(month.tenth_runs).unwrap_or(i32::MAX)) / 10.0,
            "units": {"least": month.least, "most": month.most},
        })),
        "then": following_writes(model, write).iter().map(|(next, _)| &next.name).collect::<Vec<_>>(),
        "tells": following_webhooks(model, write).iter().map(|webhook| &webhook.name).collect::<Vec<_>>(),
    })
}

/// Every write.
pub fn writes_json(model: &Model) -> Vec<Json> {
    model.writes.iter().map(|write| write_json(model, write)).collect()
}
