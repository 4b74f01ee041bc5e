//! What writes become: rows, conditions, refusals, and what they cost.

use serde_json::{Value as Json, json};
use singlet_model::Model;
use singlet_model::model::{Step, StepKind, Write};
use singlet_plan::write::{
    MonthCost, Place, StepPlan, WriteCost, WritePlan, following_webhooks, following_writes, plan_write,
    possible_refusals, transaction_actions, trigger_text, write_costs, write_text,
};

use crate::table;

/// What a delivery takes where its body fits into a kilobyte: it and its record in a transaction, and its going.
const DELIVERY_UNITS_MIN: u32 = 5;

/// A line for each write.
pub fn table(model: &Model) -> String {
    let rows = model.writes.iter().zip(write_costs(model)).map(|(write, cost)| {
        let plan = plan_write(model, write);
        vec![
            write.name.clone(),
            call(model, write),
            read_first(model, write, &plan).join(", "),
            units(&cost),
        ]
    });
    let columns = ["write", "call", "reads first", "write units"];
    table::aligned(&columns, rows.collect())
}

/// The rows that a write reads before it decides: those that `let` names, and those of its steps.
fn read_first(model: &Model, write: &Write, plan: &WritePlan) -> Vec<String> {
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

fn call(model: &Model, write: &Write) -> String {
    match (write.bulk, transaction_actions(model, write)) {
        (true, _) => "in chunks".to_owned(),
        (false, 0 | 1) => "one item".to_owned(),
        (false, most) => format!("up to {most} items"),
    }
}

fn units(cost: &WriteCost) -> String {
    match cost.most {
        Some(most) if most == cost.least => most.to_string(),
        Some(most) => format!("{} to {most}", cost.least),
        None => format!("{} or more", cost.least),
    }
}

fn cost_of(model: &Model, write: &Write) -> WriteCost {
    let mut costs = model.writes.iter().zip(write_costs(model));
    costs
        .find(|(known, _)| known.name == write.name)
        .map_or_else(WriteCost::default, |(_, cost)| cost)
}

/// One write in full.
pub fn text(model: &Model, write: &Write) -> String {
    let mut text = write_text(model, write, &plan_write(model, write));
    let cost = cost_of(model, write);
    let units_text = format!("{}: {}", units(&cost), cost.terms.join(", "));
    text.push_str(&format!("  call     {}\n  units    {units_text}\n", call(model, write)));
    if let Some(month) = MonthCost::of(write, &cost) {
        text.push_str(&format!("  month    {month}\n"));
    }
    let refusals = possible_refusals(model, write);
    let refusals: Vec<String> = refusals
        .iter()
        .map(|(status, name)| format!("{name} {status}"))
        .collect();
    if !refusals.is_empty() {
        text.push_str(&format!("  refusals {}\n", refusals.join(", ")));
    }
    for (next, trigger) in following_writes(model, write) {
        let cost = units(&cost_of(model, next));
        let after = trigger_text(model, trigger);
        text.push_str(&format!("  then     {}, {cost} units, after {after}\n", next.name));
    }
    for webhook in following_webhooks(model, write) {
        let after = trigger_text(model, &webhook.after);
        let name = &webhook.name;
        text.push_str(&format!(
            "  tells    {name}, {DELIVERY_UNITS_MIN} or more units, after {after}\n"
        ));
    }
    text
}

/// `{name, bulk, items, readFirst, clauses, units, refusals, after, every, month, then, tells}`.
pub fn json(model: &Model, write: &Write) -> Json {
    let plan = plan_write(model, write);
    let allow = plan.allow.iter().filter(|_| !write.is_uncalled());
    let clauses = allow.chain(plan.requirements.iter().flatten()).map(|clause| {
        let place = match &clause.place {
            Place::Request => "request",
            Place::Pushed(_) => "condition",
            Place::Pinned => "pinned",
        };
        let text = singlet_plan::show::expression_in(&model.catalog, &clause.expr);
        json!({"holds": text, "place": place})
    });
    let cost = cost_of(model, write);
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
        "units": {
            "least": cost.least,
            "most": cost.most,
            "overExpired": {"least": cost.over_expired.0, "most": cost.over_expired.1},
            "of": cost.terms,
        },
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
pub fn all_json(model: &Model) -> Vec<Json> {
    model.writes.iter().map(|write| json(model, write)).collect()
}
