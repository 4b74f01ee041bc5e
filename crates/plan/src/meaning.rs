//! What a selection means, as alternatives of conjuncts.

use singlet_model::Model;
use singlet_model::expression::{BinaryOp, Expr, ExprKind};
use singlet_model::model::{Entity, Read, Selection};

use crate::bounds::Bounds;

/// The conjuncts that a row must satisfy, for one alternative of the meaning.
pub type Conjuncts<'a> = Vec<&'a Expr>;

/// The alternatives of a selection's meaning: what `where` says, and what `allow` says about the row.
///
/// An alternative is split only where the conjuncts around the `||` cannot be read as one query; the planner decides that.
pub fn conjuncts<'a>(selection: &'a Selection, allow: Option<&'a Expr>, sent: &dyn Fn(&str) -> bool) -> Conjuncts<'a> {
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

/// One alternative of each combination of `||` among conjuncts; none where there are too many.
pub fn alternatives<'a>(conjuncts: &Conjuncts<'a>) -> Option<Vec<Conjuncts<'a>>> {
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

/// The optional arguments of a read, and which of them may be sent together.
pub fn combinations(read: &Read) -> Vec<Vec<&str>> {
    let optional: Vec<&str> = read
        .args
        .iter()
        .filter(|arg| arg.optional && arg.default.is_none())
        .map(|arg| arg.name.as_str())
        .collect();
    if !read.combinations.is_empty() {
        return read
            .combinations
            .iter()
            .map(|names| names.iter().map(String::as_str).collect())
            .collect();
    }
    let mut all: Vec<Vec<&str>> = vec![Vec::new()];
    for name in optional {
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
