//! Who may, as far as a document can tell: credentials, and the problems of who has none or the wrong ones.

use serde_json::{Value as Json, json};
use singlet_model::Model;
use singlet_model::expression::{BinaryOp, Expr, ExprKind, Literal};
use singlet_model::model::{LetValue, Read, Return};

use super::problems::Problems;

/// The problems of callers.
pub(crate) fn caller_problems(model: &Model, allows: &[&Expr], problems: &mut Problems) {
    if has_callers(model) {
        problems.add_common(401, &["invalid_credentials"]);
    }
    if allows.iter().any(|allow| !is_open(allow)) {
        problems.add_common(401, &["unauthenticated"]);
    }
    if allows.iter().any(|allow| may_forbid(model, allow)) {
        problems.add_common(403, &["forbidden"]);
    }
}

/// Whether a caller who is known by no id may be answered.
pub(crate) fn admits_without_id(model: &Model, allow: &Expr) -> bool {
    let names_id = model.callers.claim_named("id").is_some();
    is_open(allow) || !(names_id || model.callers.api_key_header.is_some())
}

/// The credentials; none are needed where a caller without any may be answered.
pub(crate) fn needed_credentials(model: &Model, allows: &[&Expr]) -> Json {
    let mut all = Vec::new();
    if !model.callers.claims.is_empty() {
        all.push(json!({"bearer": []}));
    }
    if model.callers.api_key_header.is_some() {
        all.push(json!({"apiKey": []}));
    }
    if !all.is_empty() && allows.iter().any(|allow| is_open(allow)) {
        all.push(json!({}));
    }
    Json::Array(all)
}

/// Whether rows decide, so that one that a caller may not see is not there.
pub fn of_rows(allow: &Expr) -> bool {
    allow.conjuncts().into_iter().any(|conjunct| !is_of_caller(conjunct))
}

/// Whether a value of a read may leave its range.
pub fn may_overflow(read: &Read) -> bool {
    let computed = |expr: &Expr| {
        expr.any(|part| match &part.kind {
            ExprKind::Binary(op, ..) => matches!(
                op,
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem
            ),
            ExprKind::Negate(_) | ExprKind::Call(..) | ExprKind::Each { .. } => true,
            _ => false,
        })
    };
    let lets = read.lets.iter().filter_map(|bound| match &bound.value {
        LetValue::Value(expr) => Some(expr),
        LetValue::Read(selection) => selection.filter.as_ref(),
    });
    let returned: Vec<&Expr> = match &read.returns {
        Return::Value(expr) => vec![expr],
        Return::Fields(fields) => fields.iter().map(|(_, expr)| expr).collect(),
        Return::Usual | Return::Nothing => Vec::new(),
    };
    let selected = read
        .all_selections()
        .flat_map(|own| own.filter.iter().chain(own.sums.iter().map(|(_, sum)| sum)));
    let mut all = lets
        .chain(returned)
        .chain(selected)
        .chain([&read.allow])
        .chain(&read.at)
        .chain(read.each.iter().map(|each| &each.list));
    all.any(computed)
}

fn has_callers(model: &Model) -> bool {
    !model.callers.claims.is_empty() || model.callers.api_key_header.is_some()
}

/// Whether it may hold for a caller of whom nothing is known.
fn is_open(allow: &Expr) -> bool {
    match &allow.kind {
        ExprKind::Binary(BinaryOp::And, one, other) => is_open(one) && is_open(other),
        ExprKind::Binary(BinaryOp::Or, one, other) => is_open(one) || is_open(other),
        _ => !allow.any(|part| matches!(part.kind, ExprKind::Caller(_))),
    }
}

/// Whether the caller and the request alone decide it.
fn is_of_caller(conjunct: &Expr) -> bool {
    let of_row = |part: &Expr| matches!(part.kind, ExprKind::Bound(_) | ExprKind::Entity { .. } | ExprKind::Row);
    conjunct.attributes().is_empty() && !conjunct.any(of_row)
}

/// Whether a caller with good credentials may still be one who may not.
fn may_forbid(model: &Model, allow: &Expr) -> bool {
    let roles = model.callers.roles.iter().map(|role| Some(role.as_str()));
    // A token may say anything, or nothing, of a role; an API key has one of the model's.
    let of_keys = model.callers.api_key_header.is_some() && model.callers.claims.is_empty();
    let roles: Vec<Option<&str>> = if of_keys { roles.collect() } else { vec![None] };
    let conjuncts = allow.conjuncts();
    let mut decided = conjuncts.into_iter().filter(|conjunct| is_of_caller(conjunct));
    decided.any(|conjunct| roles.iter().any(|role| holds(conjunct, *role) != Some(true)))
}

/// Whether a condition holds for every caller with credentials and that role, if that can be told.
fn holds(expr: &Expr, role: Option<&str>) -> Option<bool> {
    match &expr.kind {
        ExprKind::Literal(Literal::Bool(truth)) => Some(*truth),
        ExprKind::Caller(claim) if claim == "authenticated" => Some(true),
        ExprKind::Binary(BinaryOp::And, one, other) => match (holds(one, role), holds(other, role)) {
            (Some(true), Some(true)) => Some(true),
            (Some(false), _) | (_, Some(false)) => Some(false),
            _ => None,
        },
        ExprKind::Binary(BinaryOp::Or, one, other) => match (holds(one, role), holds(other, role)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        },
        ExprKind::Binary(BinaryOp::Eq, one, other) => match (&one.kind, &other.kind) {
            (ExprKind::Caller(claim), ExprKind::Literal(Literal::Text(word)))
            | (ExprKind::Literal(Literal::Text(word)), ExprKind::Caller(claim))
                if claim == "role" =>
            {
                role.map(|role| role == word)
            }
            _ => None,
        },
        _ => None,
    }
}
