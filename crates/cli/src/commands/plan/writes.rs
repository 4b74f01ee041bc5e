//! What writes become: rows, conditions, refusals, and what they cost.

use singlet_model::Model;
use singlet_model::model::Write;
use singlet_plan::plan_json::{call_text, cost_of_write, read_first, units_text};
use singlet_plan::write::{
    MonthCost, WriteCost, following_webhooks, following_writes, plan_write, possible_refusals, trigger_text,
    write_costs, write_text,
};

use crate::table;

/// What a delivery takes where its body fits into a kilobyte: it and its record in a transaction, and its going.
const DELIVERY_UNITS_MIN: u32 = 5;

/// A line for each write.
pub(crate) fn writes_table(model: &Model) -> String {
    let rows = model.writes.iter().zip(write_costs(model)).map(|(write, cost)| {
        let plan = plan_write(model, write);
        vec![
            write.name.clone(),
            call_text(model, write),
            read_first(model, write, &plan).join(", "),
            units_text(&cost),
        ]
    });
    let columns = ["write", "call", "reads first", "write units"];
    table::aligned_table(&columns, rows.collect())
}

/// What one request costs.
pub(crate) fn request_line(cost: &WriteCost) -> String {
    format!("  request  {}: {}\n", units_text(cost), cost.terms.join(", "))
}

/// One write in full.
pub(crate) fn write_in_full(model: &Model, write: &Write) -> String {
    let mut text = write_text(model, write, &plan_write(model, write));
    let cost = cost_of_write(model, write);
    let units = format!("{}: {}", units_text(&cost), cost.terms.join(", "));
    text.push_str(&format!("  call     {}\n  units    {units}\n", call_text(model, write)));
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
        let cost = units_text(&cost_of_write(model, next));
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
