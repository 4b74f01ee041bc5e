//! What a change costs more: two reports, operation by operation.

use serde::Serialize;

use crate::report::CostReport;

/// What costs more or less, by the month.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// Before, on demand, in all.
    pub before: f64,
    /// After.
    pub after: f64,
    /// Operations that both have and whose cost differs, the dearest change first.
    pub changed: Vec<Changed>,
    /// Operations that only the new one has, with their dollars.
    pub added: Vec<(String, f64)>,
    /// Operations that only the old one has.
    pub removed: Vec<(String, f64)>,
    /// What is kept and followed: storage, stream, recovery.
    pub beside: Changed,
}

/// What one thing costs before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Changed {
    /// Its name.
    pub name: String,
    /// Units of a run before: read, write.
    pub units_before: (f64, f64),
    /// Units of a run after.
    pub units_after: (f64, f64),
    /// Dollars before.
    pub before: f64,
    /// Dollars after.
    pub after: f64,
}

impl Comparison {
    /// By which share the whole costs more, without operations that are new or gone; nothing where it costs less.
    pub fn cost_increase(&self) -> f64 {
        let sum = |of: fn(&Changed) -> f64| self.changed.iter().map(of).sum::<f64>() + of(&self.beside);
        let more = sum(|changed| changed.after - changed.before);
        let gone: f64 = self.removed.iter().map(|(_, dollars)| dollars).sum();
        let before = self.before - gone;
        match (more > before * FIGURE_ROUNDING, before > 0.0) {
            (false, _) => 0.0,
            (true, true) => more / before,
            (true, false) => f64::INFINITY,
        }
    }
}

/// Compares two reports, at the estimates themselves.
pub fn compare_reports(old: &CostReport, new: &CostReport) -> Option<Comparison> {
    let (before, after) = (old.month_bill()?, new.month_bill()?);
    let mut changed = Vec::new();
    let mut added = Vec::new();
    for operation in &after.operations {
        let known = before.operations.iter().find(|known| known.name == operation.name);
        let Some(known) = known else {
            added.push((operation.name.clone(), operation.dollars));
            continue;
        };
        let is_changed = differ(known.dollars, operation.dollars)
            || differ(known.read_units, operation.read_units)
            || differ(known.write_units, operation.write_units);
        if is_changed {
            changed.push(Changed {
                name: operation.name.clone(),
                units_before: (known.read_units, known.write_units),
                units_after: (operation.read_units, operation.write_units),
                before: known.dollars,
                after: operation.dollars,
            });
        }
    }
    let is_gone = |name: &str| after.operations.iter().all(|operation| operation.name != name);
    let removed = before.operations.iter().filter(|operation| is_gone(&operation.name));
    let more = |changed: &Changed| changed.after - changed.before;
    changed.sort_by(|one, other| more(other).total_cmp(&more(one)));
    Some(Comparison {
        before: before.on_demand(),
        after: after.on_demand(),
        changed,
        added,
        removed: removed
            .map(|operation| (operation.name.clone(), operation.dollars))
            .collect(),
        beside: Changed {
            name: "storage, stream, recovery".to_owned(),
            units_before: (0.0, 0.0),
            units_after: (0.0, 0.0),
            before: before.storage + before.stream + before.recovery,
            after: after.storage + after.stream + after.recovery,
        },
    })
}

/// Whether two figures differ by more than a number loses when it is written and read again.
fn differ(one: f64, other: f64) -> bool {
    (one - other).abs() > one.abs().max(other.abs()) * FIGURE_ROUNDING
}

/// The part of a figure that is not told apart.
const FIGURE_ROUNDING: f64 = 1e-9;
