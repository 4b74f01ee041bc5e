//! Which clauses of a read a request decides: those that alone keep a row out, or in, and comparisons at their very end.
//!
//! Requests are drawn until they show a clause that was not shown yet. It follows from the model alone what its clauses are.

use std::collections::{BTreeMap, BTreeSet};

use singlet_model::Span;
use singlet_model::evaluate::{Environment, evaluate, holds_condition};
use singlet_model::expression::{BinaryOp, Expr, ExprKind};
use singlet_model::model::Selection;
use singlet_runtime::{Attributes, Request, Scope};

use super::meaning::AskedRead;
use super::reads::TriedRead;
use crate::writes::world::Row;

/// So many rows of a read are looked at for what comes with them.
const PARENTS_MAX: usize = 3;

/// How a clause decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ClauseVerdict {
    /// A row is meant, and would not be without it.
    Keeps,
    /// A row is not meant, for this alone.
    Drops,
    /// Both sides of a comparison are equal, and nothing else is in the way.
    Ends,
}

/// A clause that decides, with the optional arguments that were sent.
pub(super) type Decided = (Vec<String>, Span, ClauseVerdict);

/// How often clauses decided.
#[derive(Debug, Default)]
pub(super) struct ClauseCounts {
    seen: BTreeMap<Decided, usize>,
}

impl ClauseCounts {
    /// How rare the rarest is that a request would show; none where it shows nothing.
    pub fn rarest_clause(&self, decided: &BTreeSet<Decided>) -> Option<usize> {
        let counts = decided.iter().map(|clause| self.seen.get(clause).copied());
        counts.map(Option::unwrap_or_default).min()
    }

    /// Counts what a request shows.
    pub fn count(&mut self, decided: BTreeSet<Decided>) {
        for clause in decided {
            *self.seen.entry(clause).or_default() += 1;
        }
    }
}

/// What a request on some rows decides.
pub(super) fn decided_by(tried: TriedRead<'_>, request: &Request, rows: &[Row]) -> BTreeSet<Decided> {
    let (judge, read) = (tried.judge, tried.read);
    let mut asking = AskedRead::new(judge.model, judge.setting, read, request, rows);
    let mut found = BTreeSet::new();
    let mut spans = BTreeSet::new();
    if asking.prepare_scope().is_err() {
        return found;
    }
    let own = read.selection.as_ref();
    let mut parents = vec![None];
    if let Some(selection) = own {
        let meant = look(
            &asking,
            selection,
            asking.scope(),
            (Some(&read.allow), true),
            &mut spans,
        );
        parents = meant.into_iter().take(PARENTS_MAX).map(Some).collect();
    }
    for parent in parents {
        let mut bound = asking.bound.clone();
        bound.extend(
            parent
                .clone()
                .map(|row| ("row".to_owned(), singlet_item::Value::M(row))),
        );
        let scope = Scope {
            row: parent.as_ref(),
            bound: &bound,
            ..asking.scope()
        };
        for part in &read.with {
            look(
                &asking,
                &part.selection,
                scope,
                (part.allow.as_ref(), false),
                &mut spans,
            );
        }
    }
    let optional = read
        .args
        .iter()
        .filter(|arg| arg.optional && request.args.contains_key(&arg.name));
    let sent: Vec<String> = optional.map(|arg| arg.name.clone()).collect();
    found.extend(spans.into_iter().map(|(span, way)| (sent.clone(), span, way)));
    found
}

/// Looks at the rows of a selection; returns those that are meant.
fn look(
    asking: &AskedRead<'_>,
    selection: &Selection,
    scope: Scope<'_>,
    (allow, own): (Option<&Expr>, bool),
    found: &mut BTreeSet<(Span, ClauseVerdict)>,
) -> Vec<Attributes> {
    let filter = selection.filter.iter().flat_map(Expr::conjuncts);
    let filter = filter.filter(|clause| !asking.is_left_out(clause));
    let clauses: Vec<&Expr> = filter.chain(allow.into_iter().flat_map(Expr::conjuncts)).collect();
    let mut meant = Vec::new();
    for entity in selection.entities.iter().filter_map(|id| asking.model.entity(*id)) {
        for row in asking.seen_rows(entity, own).unwrap_or_default() {
            let scope = scope.with_row(&row);
            let failing: Vec<&&Expr> = clauses
                .iter()
                .filter(|clause| !holds_condition(clause, &scope).unwrap_or_default())
                .collect();
            match failing.as_slice() {
                [] => clauses.iter().for_each(|clause| note(clause, &scope, found)),
                [only] => note(only, &scope, found),
                _ => {}
            }
            if failing.is_empty() {
                meant.push(row);
            }
        }
    }
    meant
}

/// Takes note of what decides a condition, of which everything hangs.
fn note(expr: &Expr, scope: &dyn Environment, found: &mut BTreeSet<(Span, ClauseVerdict)>) {
    let is_so = |expr: &Expr| holds_condition(expr, scope).unwrap_or_default();
    match &expr.kind {
        ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), left, right) => {
            let open = *op == BinaryOp::And;
            if is_so(right) == open {
                note(left, scope, found);
            }
            if is_so(left) == open {
                note(right, scope, found);
            }
        }
        ExprKind::Not(inner) => note(inner, scope, found),
        kind => {
            let way = if is_so(expr) {
                ClauseVerdict::Keeps
            } else {
                ClauseVerdict::Drops
            };
            found.insert((expr.span, way));
            if let ExprKind::Binary(op, left, right) = kind
                && op.is_ordering()
                && let (Ok(Some(left)), Ok(Some(right))) = (evaluate(left, scope), evaluate(right, scope))
                && left == right
            {
                found.insert((expr.span, ClauseVerdict::Ends));
            }
        }
    }
}
