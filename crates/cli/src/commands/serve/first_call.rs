//! A first call of a model that nobody here has seen: a list that needs no argument, and somebody whom its `allow` admits.

use serde_json::{Map, Value as Json};
use singlet_item::Value;
use singlet_model::Model;

use singlet_model::evaluate::decide_condition;
use singlet_model::expression::{BinaryOp, Expr, ExprKind, Literal};
use singlet_model::model::{Read, SelectionKind};
use singlet_model::types::{EntityId, Type};
use singlet_runtime::load::entity_of_item;
use singlet_runtime::{Attributes, Caller, Engine, Scope, Setting, put_claim, row};
use singlet_store::ScanRequest;

use crate::store::now_millis;

/// The id of who calls, unless a model compares the id with something.
const SOMEBODY: &str = "me";

/// A read, and a caller who may ask for it.
pub(crate) struct FirstCall<'m> {
    /// Where it is asked for.
    pub path: &'m str,
    /// The claims of a token; of an API key its role.
    pub token: Map<String, Json>,
}

/// A row of the table, by its entity.
pub(crate) type KnownRow = (EntityId, Attributes);

/// How many items are looked at for somebody who has rows.
const LOOKED_AT_MAX: u32 = 200;

/// Rows of a system's table; none where there are none yet, or the store does not answer.
pub(crate) async fn first_rows(engine: &Engine) -> Vec<KnownRow> {
    let model = engine.model();
    let request = ScanRequest {
        table: model.table.name.clone(),
        limit: Some(LOOKED_AT_MAX),
        ..ScanRequest::default()
    };
    let Ok(page) = engine.store().scan(&request).await else {
        return Vec::new();
    };
    let rows = page.items.iter().filter_map(|item| {
        let entity = entity_of_item(model, item)?;
        Some((entity.id, row::decode_as_stored(entity, item).ok()?))
    });
    rows.collect()
}

/// The first list that needs nothing but a caller, with one whom it admits as far as the caller decides it: somebody who has rows, where
/// there are rows.
pub(crate) fn admitted_read<'m>(model: &'m Model, rows: &[KnownRow]) -> Option<FirstCall<'m>> {
    let plain = model.reads.iter().filter(|read| is_plain(read));
    plain
        .filter_map(|read| Some((read, read.http.as_ref().filter(|route| route.query.is_empty())?)))
        .find_map(|(read, route)| {
            let somebody = owner(model, read, rows);
            let caller = candidates(model, &read.allow, &somebody)
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

/// Who finds rows by a read that compares attributes with claims: the claims are those of most rows that fit all else it says.
fn owner(model: &Model, read: &Read, rows: &[KnownRow]) -> Caller {
    let nobody_in_particular = Caller::with_id(SOMEBODY);
    let Some(selection) = &read.selection else {
        return nobody_in_particular;
    };
    let conjuncts: Vec<&Expr> = selection.filter.iter().flat_map(Expr::conjuncts).collect();
    let compared: Vec<(&str, &str)> = conjuncts.iter().filter_map(|part| claim_compared(part)).collect();
    let own = rows.iter().filter(|(entity, _)| selection.entity() == Some(*entity));
    let owners = own.filter_map(|(_, row)| {
        let mut caller = Caller::with_id(SOMEBODY);
        for (attribute, claim) in &compared {
            let value = row.get(*attribute).filter(|value| value.as_str().is_some())?;
            caller = caller.with_claim(*claim, claim_value(model, claim, value.clone()));
        }
        Some((row, caller))
    });
    let owners: Vec<(&Attributes, Caller)> = owners.collect();
    let (setting, nothing) = (Setting::of(model, Attributes::new()), Attributes::new());
    let fits = |(row, caller): &&(&Attributes, Caller)| {
        let scope = Scope {
            setting: &setting,
            now: now_millis(),
            args: &nothing,
            caller,
            attributes: Some(row),
            row: None,
            bound: &nothing,
        };
        let mut parts = conjuncts.iter();
        parts.all(|part| decide_condition(part, &scope) == Ok(Some(true)))
    };
    let fitting: Vec<&Caller> = owners.iter().filter(fits).map(|(_, caller)| caller).collect();
    let rows_of = |caller: &&&Caller| fitting.iter().filter(|other| other.claims == caller.claims).count();
    // Of those who have as many, the first.
    let most = fitting.iter().rev().max_by_key(rows_of).copied();
    let owner = most.or_else(|| owners.first().map(|(_, caller)| caller));
    owner.cloned().unwrap_or(nobody_in_particular)
}

/// The attribute and the claim of `tenant == caller.tenant` and of `team in caller.teams`.
fn claim_compared(part: &Expr) -> Option<(&str, &str)> {
    let ExprKind::Binary(op @ (BinaryOp::Eq | BinaryOp::In), left, right) = &part.kind else {
        return None;
    };
    match (&left.kind, &right.kind, op) {
        (ExprKind::Attribute(attribute), ExprKind::Caller(claim), _)
        | (ExprKind::Caller(claim), ExprKind::Attribute(attribute), BinaryOp::Eq) => Some((attribute, claim)),
        _ => None,
    }
}

/// A value as the claim has it: in a list, where the claim is one.
fn claim_value(model: &Model, claim: &str, value: Value) -> Value {
    let claim = model.callers.claim_named(claim);
    match claim.is_some_and(|claim| matches!(claim.ty, Type::List(..))) {
        true => Value::L(vec![value]),
        false => value,
    }
}

/// Somebody, and the same who says of itself what `allow` asks for.
fn candidates(model: &Model, allow: &Expr, plain: &Caller) -> Vec<Caller> {
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
        let Some((name, Some(Literal::Text(word)))) = asked.map(|(name, word)| (name, word.as_literal())) else {
            return;
        };
        let value = claim_value(model, name, Value::S(word.clone()));
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
        match model.callers.claim_named(name) {
            Some(claim) => put_claim(claim, value, &mut token),
            None => {
                token.extend(value.as_str().map(|text| (name.clone(), Json::from(text))));
            }
        }
    }
    token
}
