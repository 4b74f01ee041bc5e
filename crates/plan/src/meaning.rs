//! What a selection means, as alternatives of conjuncts.

use singlet_model::Model;
use singlet_model::expression::{BinaryOp, Expr, ExprKind};
use singlet_model::model::{Entity, Order, Read, Selection};

use crate::bounds::Bounds;

/// The conjuncts that a row must satisfy, for one alternative of the meaning.
pub type Conjuncts<'a> = Vec<&'a Expr>;

/// The alternatives of a selection's meaning: what `where` says, and what `allow` says about the row.
///
/// An alternative is split only where the conjuncts around the `||` cannot be read as one query; the planner decides that.
pub fn meaning_conjuncts<'a>(
    selection: &'a Selection,
    allow: Option<&'a Expr>,
    sent: &dyn Fn(&str) -> bool,
) -> Conjuncts<'a> {
    let filter = selection.filter.iter().flat_map(|filter| filter.conjuncts());
    let allow = allow.into_iter().flat_map(|allow| allow.conjuncts());
    let of_row = allow.filter(|conjunct| !conjunct.attributes().is_empty());
    filter
        .filter(|conjunct| !is_left_out(conjunct, sent))
        .chain(of_row)
        .collect()
}

/// Whether a conjunct compares something of the row with an argument that was not sent. A test of the argument itself stays: it
/// says what is meant without it.
pub(crate) fn is_left_out(conjunct: &Expr, sent: &dyn Fn(&str) -> bool) -> bool {
    let unsent = |operand: &Expr| matches!(&operand.kind, ExprKind::Arg(name) if !sent(name));
    let compares = match &conjunct.kind {
        ExprKind::Binary(op, left, right) if op.is_comparison() => unsent(left) || unsent(right),
        ExprKind::Call(_, operands) => operands.iter().any(unsent),
        _ => false,
    };
    compares && !conjunct.attributes().is_empty()
}

/// The same condition as the planner reads it: every attribute under its own name, not under an alias, and of an argument that is
/// sent not that it may be missing, so that what is compared with it is known to be there.
pub(crate) fn as_planned(expr: &Expr, entity: &Entity, sent: &dyn Fn(&str) -> bool) -> Expr {
    let mut own = expr.clone();
    own.walk_mut(&mut |part| match &mut part.kind {
        ExprKind::Attribute(name) => {
            if let Some(alias) = entity.attribute(name).and_then(|attribute| attribute.alias.as_ref()) {
                name.clone_from(alias);
            }
        }
        ExprKind::Arg(name) if part.optional && sent(name) => part.optional = false,
        _ => {}
    });
    own
}

/// The same order with every attribute under its own name.
pub(crate) fn order_by_own_names(order: &[Order], entity: &Entity) -> Vec<Order> {
    let own = |order: &Order| {
        let root = order.path.split('.').next().unwrap_or_default();
        let alias = entity.attribute(root).and_then(|attribute| attribute.alias.as_ref());
        Order {
            path: alias.map_or_else(|| order.path.clone(), |own| order.path.replacen(root, own, 1)),
            ..order.clone()
        }
    };
    order.iter().map(own).collect()
}

/// One alternative of each combination of `||` among conjuncts; none where there are too many.
pub fn or_alternatives<'a>(conjuncts: &Conjuncts<'a>) -> Option<Vec<Conjuncts<'a>>> {
    let mut all: Vec<Conjuncts<'a>> = vec![Vec::new()];
    for conjunct in conjuncts {
        let branches = match &conjunct.kind {
            ExprKind::Binary(BinaryOp::Or, ..) => conjunct.disjuncts(),
            _ => vec![*conjunct],
        };
        if all.len() * branches.len() > Bounds::USUAL.alternatives_max {
            return None;
        }
        all = all
            .into_iter()
            .flat_map(|known| {
                branches.iter().map(move |branch| {
                    let mut next = known.clone();
                    next.extend(branch.conjuncts());
                    next
                })
            })
            .collect();
    }
    Some(all)
}

/// The arguments of a read that may be left out, and then are not there.
pub fn optional_arguments(read: &Read) -> impl Iterator<Item = &str> {
    let optional = read.args.iter().filter(|arg| arg.optional && arg.default.is_none());
    optional.map(|arg| arg.name.as_str())
}

/// How many combinations of its optional arguments a read must answer; none where that is no number any more.
pub fn combinations_count(read: &Read) -> Option<usize> {
    match read.combinations.as_slice() {
        [] => 1_usize.checked_shl(u32::try_from(optional_arguments(read).count()).ok()?),
        listed => Some(listed.len()),
    }
}

/// Which optional arguments of a read may be sent together, no more than the bounds allow.
pub fn argument_combinations(read: &Read) -> Vec<Vec<&str>> {
    if !read.combinations.is_empty() {
        return read
            .combinations
            .iter()
            .take(Bounds::USUAL.combinations_max)
            .map(|names| names.iter().map(String::as_str).collect())
            .collect();
    }
    let mut all: Vec<Vec<&str>> = vec![Vec::new()];
    for name in optional_arguments(read) {
        if all.len() * 2 > Bounds::USUAL.combinations_max {
            break;
        }
        let with: Vec<Vec<&str>> = all
            .iter()
            .map(|known| known.iter().copied().chain([name]).collect())
            .collect();
        all.extend(with);
    }
    all
}

/// The entity of a selection.
pub fn entity_of<'a>(model: &'a Model, selection: &Selection) -> Option<&'a Entity> {
    model.entity(selection.entity()?)
}
