use std::collections::{BTreeMap, BTreeSet};

use singlet_model::model::{StepKind, Write};
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::LetValue;
use singlet_model::types::EntityId;

use crate::steps::placed_in;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// Many writes change one row that everybody shares.
    ///
    /// One item takes at most 1,000 write units a second, and half of that in transactions. Worse, two transactions on one item
    /// at the same moment do not wait: one of them is cancelled and tried again. A row of totals that every write raises
    /// makes all of them wait for one another.
    ///
    /// ```yaml
    /// - update: Totals()                   # key: {PK: "TOTALS", SK: "ALL"}
    ///   add: {orders: 1}
    /// ```
    ///
    /// Way out: count per owner, or in shards that a read adds up; or derive the totals from the change stream.
    "W016" "contended-item" Hint
}

/// How many writes on one row are usual.
const WRITES_ON_ONE_ROW_USUAL: usize = 3;

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let mut writers: BTreeMap<(EntityId, String), BTreeSet<&str>> = BTreeMap::new();
    for write in &context.model.writes {
        for placed in placed_in(write) {
            let (StepKind::Update(target) | StepKind::Upsert(target)) = &placed.step.kind else {
                continue;
            };
            if let Some(row) = shared_row(write, target) {
                writers.entry(row).or_default().insert(&write.name);
            }
        }
    }
    for ((id, row), writers) in writers {
        let Some(entity) = context.model.entity(id).filter(|_| writers.len() > WRITES_ON_ONE_ROW_USUAL) else {
            continue;
        };
        let message = format!("{} writes update the one row `{}({row})` that everybody shares", writers.len(), entity.name);
        let help = "count per owner or in shards, or derive it from the change stream";
        findings.push(findings.at(entity.span, &entity.name, message).help(help));
    }
}

/// The row of a target whose key is the same in every request.
fn shared_row(write: &Write, target: &Expr) -> Option<(EntityId, String)> {
    let bound = |name: &str| write.lets.iter().find(|bound| bound.name == name).map(|bound| &bound.value);
    let target = match &target.kind {
        ExprKind::Bound(name) => match bound(name)? {
            LetValue::Value(row) => row,
            LetValue::Read(_) => return None,
        },
        _ => target,
    };
    let ExprKind::Entity { entity, key } = &target.kind else { return None };
    let constants: Option<Vec<String>> = key
        .iter()
        .map(|(_, value)| value.as_literal().map(|literal| format!("{literal:?}")))
        .collect();
    Some((*entity, constants?.join(", ")))
}
