//! A first call of a model that nobody here has seen: a list that needs no argument, and somebody whom its `allow` admits.

use serde_json::{Map, Value as Json};
use singlet_item::Value;
use singlet_model::Model;
use singlet_model::evaluate::decide_condition;
use singlet_model::expression::{BinaryOp, Expr, ExprKind, Literal};
use singlet_model::model::{Read, SelectionKind};
use singlet_model::types::Type;
use singlet_runtime::{Attributes, Caller, Scope, Setting, put_claim};

/// The id of who calls, unless a model compares the id with something.
const SOMEBODY: &str = "me";

/// A read, and a caller who may ask for it.
pub struct FirstCall<'m> {
    /// Where it is asked for.
    pub path: &'m str,
    /// The claims of a token; of an API key its role.
    pub token: Map<String, Json>,
}

/// The first list that needs nothing but a caller, with one whom it admits as far as the caller decides it.
pub fn admitted_read(model: &Model) -> Option<FirstCall<'_>> {
    let plain = model.reads.iter().filter(|read| is_plain(read));
    plain
        .filter_map(|read| Some((read, read.http.as_ref().filter(|route| route.query.is_empty())?)))
        .find_map(|(read, route)| {
            let caller = candidates(model, &read.allow)
                .into_iter()
                .find(|caller| admits(model, &read.allow, caller))?;
            Some(FirstCall {
                path: &route.path,
                token: token(model, &caller),
            })
        })
}

fn is_plain(read: &Read) -> bool {
    let list = read
        .selection
        .as_ref()
        .is_some_and(|own| own.kind == SelectionKind::Find);
    list && read.args.iter().all(|arg| arg.optional)
}

/// Somebody of whom only an id is known, and somebody who says of itself what `allow` asks for.
fn candidates(model: &Model, allow: &Expr) -> Vec<Caller> {
    let plain = Caller::with_id(SOMEBODY);
    let mut fitting = plain.clone();
    allow.walk(&mut |part| {
        let ExprKind::Binary(op @ (BinaryOp::Eq | BinaryOp::In), left, right) = &part.kind else {
            return;
        };
        let asked = match (&left.kind, &right.kind, op) {
            (ExprKind::Caller(name), ExprKind::List(words), BinaryOp::In) => words.first().map(|word| (name, word)),
            (_, ExprKind::Caller(name), _) => Some((name, left.as_ref())),
            (ExprKind::Caller(name), _, BinaryOp::Eq) => Some((name, right.as_ref())),
            _ => None,
        };
        let Some((name, Some(Literal::Text(word)))) = asked.map(|(name, word)| (name, word.literal())) else {
            return;
        };
        let is_list = model
            .callers
            .claim(name)
            .is_some_and(|claim| matches!(claim.ty, Type::List(..)));
        let value = match is_list {
            true => Value::L(vec![Value::S(word.clone())]),
            false => Value::S(word.clone()),
        };
        fitting.claims.entry(name.clone()).or_insert(value);
    });
    let with_roles = model
        .callers
        .roles
        .iter()
        .map(|role| plain.clone().claim("role", role.clone()));
    let with_roles: Vec<Caller> = with_roles.collect();
    [plain.clone(), fitting].into_iter().chain(with_roles).collect()
}

/// Whether what `allow` says of the caller alone holds.
fn admits(model: &Model, allow: &Expr, caller: &Caller) -> bool {
    let setting = Setting::of(model, Attributes::new());
    let nothing = Attributes::new();
    let scope = Scope {
        setting: &setting,
        now: 0,
        args: &nothing,
        caller,
        attributes: None,
        row: None,
        bound: &nothing,
    };
    let of_caller = |part: &Expr| {
        let of_row = |part: &Expr| matches!(part.kind, ExprKind::Bound(_) | ExprKind::Entity { .. } | ExprKind::Row);
        part.attributes().is_empty() && !part.any(of_row)
    };
    let decided_by_caller = allow.conjuncts().into_iter().filter(|part| of_caller(part));
    decided_by_caller
        .into_iter()
        .all(|part| decide_condition(part, &scope) == Ok(Some(true)))
        && (model.callers.api_key_header.is_none() || caller.claims.contains_key("role"))
}

fn token(model: &Model, caller: &Caller) -> Map<String, Json> {
    let mut token = Map::new();
    for (name, value) in &caller.claims {
        match model.callers.claim(name) {
            Some(claim) => put_claim(claim, value, &mut token),
            None => {
                token.extend(value.as_str().map(|text| (name.clone(), Json::from(text))));
            }
        }
    }
    token
}
