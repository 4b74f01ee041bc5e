//! What requests decide that the model leaves open: where the ends of ranges lie, how much of a text is sent, which word an argument is.

use singlet_model::Model;
use singlet_model::expression::{BinaryOp, Expr, ExprKind, FunctionId};

use super::candidate::Query;
use super::shares::{Rows, path_of, side_of_end};
use super::sort::End;
use crate::values::Values;

/// What a request may decide beyond what the model says of it.
#[derive(Debug, Default)]
pub(super) struct Chances {
    /// The part of the rows that one end of a range leaves, by the attribute that it is of; of others the usual.
    pub ends: Vec<(String, f64)>,
    /// Which word an argument is, where estimates say how the rows are spread over the words: that of the row that lies there, from 0 to 1,
    /// among all rows by their words. Without it every word counts alike.
    pub word: Option<f64>,
}

impl Chances {
    /// Whether all is as it usually is.
    pub(super) fn is_usual(&self) -> bool {
        self.ends.is_empty() && self.word.is_none()
    }
}

/// The attributes of which a meaning has ends of ranges or beginnings, in its order.
pub(super) fn ended_attributes(meaning: &[Expr]) -> Vec<String> {
    let mut ended: Vec<String> = Vec::new();
    for conjunct in meaning {
        let path = match &conjunct.kind {
            ExprKind::Call(FunctionId::StartsWith, operands) => {
                operands.first().and_then(path_of).map(|(path, _)| path)
            }
            _ => side_of_end(conjunct).map(|(path, _)| path),
        };
        ended.extend(path.filter(|path| !ended.contains(path)));
    }
    ended
}

/// The attributes of which a query has ends of ranges, in its key or its filter, that may lie anywhere.
pub(super) fn open_ends(model: &Model, query: &Query) -> Vec<String> {
    let source = model.entity(query.entity).map(|entity| model.source_of(entity));
    let rows = source.map(|source| Rows::of(model, source));
    let mut ended: Vec<String> = Vec::new();
    if let Some((sort, path)) = query.sort.as_ref().zip(query.ranged_path(model)) {
        let is_open = |end: &End, is_low: bool| {
            let op = if is_low { BinaryOp::Ge } else { BinaryOp::Le };
            let said = rows.as_ref().and_then(|rows| rows.share_beyond(op, &path, &end.value));
            said.is_none()
        };
        let low = sort.low.as_ref().is_some_and(|end| is_open(end, true));
        let high = sort.high.as_ref().is_some_and(|end| is_open(end, false));
        if low || high {
            ended.push(path);
        }
    }
    let begun = query.rest.iter().filter_map(|conjunct| match &conjunct.kind {
        ExprKind::Call(FunctionId::StartsWith, operands) => path_of(operands.first()?),
        _ => None,
    });
    for (path, _) in begun {
        if !ended.contains(&path) {
            ended.push(path);
        }
    }
    for conjunct in &query.rest {
        let Some((path, _)) = side_of_end(conjunct).filter(|(path, _)| !ended.contains(path)) else {
            continue;
        };
        let ExprKind::Binary(op, left, right) = &conjunct.kind else {
            continue;
        };
        let value = if path_of(left).is_some() { right } else { left };
        let said = rows.as_ref().and_then(|rows| rows.share_beyond(*op, &path, value));
        if said.is_none() {
            ended.push(path);
        }
    }
    ended
}

/// Whether a query asks for a word that only the request tells, of an attribute over whose words estimates spread the rows.
pub(super) fn open_words(model: &Model, query: &Query) -> bool {
    let Some(source) = model.entity(query.entity).map(|entity| model.source_of(entity)) else {
        return false;
    };
    let rows = Rows::of(model, source);
    let is_open = |path: &str, value: &Expr| value.as_literal().is_none() && rows.has_shares(path);
    let in_key = query.key_parts().any(|part| match &part.values {
        Values::One(value) => part.function.is_none() && is_open(&part.path, value),
        _ => false,
    });
    in_key
        || query.rest.iter().any(|conjunct| match &conjunct.kind {
            ExprKind::Binary(BinaryOp::Eq | BinaryOp::Ne, left, right) => match (path_of(left), path_of(right)) {
                (Some((path, None)), None) => is_open(&path, right),
                (None, Some((path, None))) => is_open(&path, left),
                _ => false,
            },
            _ => false,
        })
}

/// Whether a condition says something of the row. One of the request alone keeps all rows or none.
pub(super) fn is_of_row(conjunct: &Expr) -> bool {
    !conjunct.attributes().is_empty() || conjunct.any(|part| matches!(part.kind, ExprKind::Row))
}
