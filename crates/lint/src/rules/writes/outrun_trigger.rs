use std::collections::BTreeMap;

use singlet_model::model::{RUNS_PER_MINUTE_MAX, TRIGGER_ROWS_AT_ONCE, Trigger, TriggerEvent, Write};
use singlet_plan::write::following_writes;

use crate::context::grouped_thousands;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// By the estimates, changes come faster than what runs after them.
    ///
    /// One process follows the changes of a table. It runs the writes after changes of 16 rows side by side, those of one row one after the
    /// other; at 20 milliseconds each, as a transaction on DynamoDB usually takes, that is 800 a second, and what is more waits for ever
    /// longer. More than 100 runs of a write in a minute on one row are taken for a loop, and parked. Compared are the rates of the writes that may
    /// make the change, and for updates the share of the busiest row: `top_share` of the entity.
    ///
    /// ```yaml
    /// estimates:
    ///   Auction: {top_share: 0.1}
    ///   placeBid: 50/s                      # 5 a second on the busiest auction: 300 runs a minute
    /// ```
    ///
    /// It needs `estimates`: without a rate nothing is said, and of one row nothing without a share.
    ///
    /// Way out: do it in the write itself; run it after a rarer change (`enter` of a state, one attribute); or gather, by the clock
    /// (`every: 1min`).
    "W032" "outrun-trigger" Warning
}

/// How long a run usually takes on DynamoDB.
const RUN_MILLIS_USUAL: u64 = 20;

/// How many runs a second that makes.
const RUNS_PER_SECOND_USUAL: u64 = TRIGGER_ROWS_AT_ONCE as u64 * 1_000 / RUN_MILLIS_USUAL;

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let model = context.model;
    let mut rates: BTreeMap<&str, f64> = BTreeMap::new();
    for write in &model.writes {
        let rate = model.estimate_of(&write.name).and_then(|estimate| estimate.rate);
        let Some(rate) = rate else { continue };
        for (next, _) in following_writes(model, write) {
            *rates.entry(next.name.as_str()).or_default() += rate.per_second();
        }
    }
    for (write, trigger) in model.triggered_writes() {
        if let Some(rate) = rates.get(write.name.as_str()) {
            report(context, findings, write, trigger, *rate);
        }
    }
}

fn report(context: &Context<'_>, findings: &mut Findings<'_>, write: &Write, trigger: &Trigger, per_second: f64) {
    let model = context.model;
    let entity = model.catalog.name(trigger.entity);
    let share = model.estimate_of(entity).and_then(|estimate| estimate.top_share);
    // A row is created once.
    let share = share.filter(|_| !matches!(trigger.event, TriggerEvent::Create));
    let per_minute = share.map(|share| per_second * share * 60.0);
    let message = if per_second > RUNS_PER_SECOND_USUAL as f64 {
        format!(
            "`{}` runs after about {} changes a second, and one process runs about {}",
            write.name,
            grouped_thousands(per_second.round() as u64),
            grouped_thousands(RUNS_PER_SECOND_USUAL),
        )
    } else if let Some(runs) = per_minute.filter(|runs| *runs > f64::from(RUNS_PER_MINUTE_MAX)) {
        format!(
            "`{}` runs about {} times a minute after changes of the busiest `{entity}`, and more than {RUNS_PER_MINUTE_MAX} are taken for a loop",
            write.name,
            grouped_thousands(runs.round() as u64),
        )
    } else {
        return;
    };
    let help = "do it in the write itself, after a rarer change, or by the clock; the rates are those under `estimates`";
    findings.push(findings.at(trigger.span, &write.name, message).help(help));
}
