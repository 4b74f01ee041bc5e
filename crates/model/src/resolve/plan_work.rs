//! How much there is to plan: every read is tried on every path to its rows, for every combination of its optional arguments.

use std::collections::HashMap;

use crate::counts::{COMBINATIONS_MAX, MODEL_TRIES_MAX, READ_TRIES_USUAL};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::expression::{BinaryOp, Expr, ExprKind};
use crate::model::{Entity, Read, Selection};
use crate::rules;
use crate::types::EntityId;

/// How many alternatives of `||` a meaning is taken apart into; one that has more is not.
const ALTERNATIVES_MAX: usize = 16;

/// How many conditions a try weighs as one: a plan keeps each of them.
const CONDITIONS_OF_A_TRY: usize = 4;

/// Says from which read on there is more to plan than is planned.
pub(super) fn check_plan_work(entities: &[Entity], reads: &[Read], out: &mut Diagnostics) {
    let paths = paths_of(entities);
    let mut before = 0_usize;
    for read in reads {
        let selections = read.all_selections().filter_map(|selection| {
            let paths = paths.get(&selection.entity()?).copied()?;
            Some(
                paths
                    .saturating_mul(alternatives(selection))
                    .saturating_mul(weight(selection)),
            )
        });
        let of_each: usize = selections.sum();
        let own = of_each.saturating_mul(combinations(read));
        let all = before.saturating_add(own.saturating_sub(READ_TRIES_USUAL));
        if before <= MODEL_TRIES_MAX && all > MODEL_TRIES_MAX {
            let message = format!(
                "with `{}` there are more than {MODEL_TRIES_MAX} ways to try for the reads of the model: it alone has {of_each} in \
                 each of {} combinations of its optional arguments",
                read.name,
                combinations(read)
            );
            let help = "list under `combinations` which arguments may be sent together, or make two models of this one";
            out.push(Diagnostic::new(&rules::TOO_MANY, read.span, message).help(help));
        }
        before = all;
    }
}

/// How many paths there are to the rows of each entity, those of its mirrors included.
fn paths_of(entities: &[Entity]) -> HashMap<EntityId, usize> {
    let own = |entity: &Entity| {
        let indexes = entity.index.iter().map(|entry| entry.key_choices().len());
        entity.key.len() + indexes.sum::<usize>()
    };
    let mut paths: HashMap<EntityId, usize> = entities.iter().map(|entity| (entity.id, own(entity))).collect();
    for entity in entities {
        if let Some(mirror) = &entity.mirror
            && let Some(of_source) = paths.get_mut(&mirror.of)
        {
            *of_source += own(entity);
        }
    }
    paths
}

/// How many times a selection is tried on each path: as it stands, and for each alternative.
fn alternatives(selection: &Selection) -> usize {
    let branches = |conjunct: &&Expr| match &conjunct.kind {
        ExprKind::Binary(BinaryOp::Or, ..) => conjunct.disjuncts().len(),
        _ => 1,
    };
    let conjuncts = selection.filter.iter().flat_map(Expr::conjuncts);
    let mut all = 1_usize;
    for conjunct in conjuncts {
        all = all.saturating_mul(branches(&conjunct));
        if all > ALTERNATIVES_MAX {
            return 1;
        }
    }
    1 + all
}

/// How many tries a try of a selection counts as.
fn weight(selection: &Selection) -> usize {
    let conditions: usize = selection.filter.iter().map(|filter| filter.conjuncts().len()).sum();
    conditions.div_ceil(CONDITIONS_OF_A_TRY).max(1)
}

/// How many combinations of optional arguments are planned.
fn combinations(read: &Read) -> usize {
    let optional = read.args.iter().filter(|arg| arg.optional && arg.default.is_none());
    let all = match read.combinations.len() {
        0 => 1_usize
            .checked_shl(u32::try_from(optional.count()).unwrap_or(u32::MAX))
            .unwrap_or(usize::MAX),
        listed => listed,
    };
    all.min(COMBINATIONS_MAX)
}
