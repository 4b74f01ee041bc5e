//! Mistakes in what reads mean.

use singlet_model::Model;
use singlet_model::expression::{BinaryOp, Expr};
use singlet_model::model::Read;

use super::Sites;
use super::expressions::{drop_conjunct, for_each_comparison, is_of_caller};

/// The reads that are tried: what is found by words is held against going through all rows elsewhere, and `verify` says so.
fn tried_reads(model: &mut Model) -> impl Iterator<Item = &mut Read> {
    let is_search = |read: &Read| read.all_selections().any(|selection| selection.matching.is_some());
    model.reads.iter_mut().filter(move |read| !is_search(read))
}

/// Every meaning of a read: its own and those of the lists beside it.
fn for_each_meaning(model: &mut Model, f: &mut dyn FnMut(&str, &mut Expr)) {
    for Read {
        name, selection, with, ..
    } in tried_reads(model)
    {
        if let Some(filter) = selection.as_mut().and_then(|selection| selection.filter.as_mut()) {
            f(name, filter);
        }
        for part in with {
            if let Some(filter) = &mut part.selection.filter {
                f(&format!("{name}.{}", part.name), filter);
            }
        }
    }
}

/// Rows of other callers are shown too.
pub(super) fn missing_owner_check(model: &mut Model, sites: &mut Sites) {
    for read in tried_reads(model) {
        drop_conjunct(&mut read.allow, &format!("{} allow", read.name), sites, &is_of_caller);
    }
}

/// `<` for `<=`, `>=` for `>`: the last day is dropped, or one too many comes.
pub(super) fn moved_bound(model: &mut Model, sites: &mut Sites) {
    for_each_meaning(model, &mut |name, filter| {
        for_each_comparison(filter, &mut |op, shown| {
            let moved = match op {
                BinaryOp::Lt => BinaryOp::Le,
                BinaryOp::Le => BinaryOp::Lt,
                BinaryOp::Gt => BinaryOp::Ge,
                BinaryOp::Ge => BinaryOp::Gt,
                _ => return,
            };
            if sites.here(format!("{name}: {shown}")) {
                *op = moved;
            }
        });
    });
}

/// A conjunct of a meaning that no key needs is left out.
pub(super) fn dropped_conjunct(model: &mut Model, sites: &mut Sites) {
    for_each_meaning(model, &mut |name, filter| {
        let fits = |conjunct: &Expr| {
            !matches!(
                &conjunct.kind,
                singlet_model::expression::ExprKind::Binary(BinaryOp::Eq, ..)
            )
        };
        drop_conjunct(filter, name, sites, &fits);
    });
}

/// `<` for `>`, `!=` for `==`.
pub(super) fn turned_comparison(model: &mut Model, sites: &mut Sites) {
    for_each_meaning(model, &mut |name, filter| {
        for_each_comparison(filter, &mut |op, shown| {
            let turned = match op {
                BinaryOp::Ne => BinaryOp::Eq,
                BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => op.swapped(),
                _ => return,
            };
            if sites.here(format!("{name}: {shown}")) {
                *op = turned;
            }
        });
    });
}

/// Rows come the other way round.
pub(super) fn turned_order(model: &mut Model, sites: &mut Sites) {
    for read in &mut model.reads {
        let Some(selection) = read.selection.as_mut().filter(|selection| !selection.order.is_empty()) else {
            continue;
        };
        if sites.here(read.name.clone()) {
            for order in &mut selection.order {
                order.descending = !order.descending;
            }
        }
    }
}

/// One row too many, or too few, where a read says how many.
pub(super) fn limit_off_by_one(model: &mut Model, sites: &mut Sites) {
    for Read {
        name, selection, with, ..
    } in &mut model.reads
    {
        let beside = with.iter_mut().map(|part| &mut part.selection);
        for limit in selection
            .iter_mut()
            .chain(beside)
            .filter_map(|selection| selection.limit.as_mut())
        {
            // Longer lists than a drawn table has rows are the same with one row more.
            if *limit > 100 {
                continue;
            }
            if sites.here(format!("{name}: {limit}")) {
                *limit += 1;
            }
        }
    }
}
