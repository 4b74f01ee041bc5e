//! What a meaning implies without saying: rows that end, versions that are not current, attributes that must be there.

use singlet_model::expression::{BinaryOp, Expr, ExprKind, Literal, PresenceFacts};
use singlet_model::model::{Entity, KeyChoice, Lapse, Read, States};
use singlet_model::source::Span;
use singlet_model::types::Type;

use crate::access::AccessPath;
use crate::literals;
use crate::show;

/// The conditions that history adds: the current, undeleted version, the one at an instant, or none for all versions.
pub(super) fn history(entity: &Entity, read: Option<&Read>) -> Vec<Expr> {
    let Some(history) = &entity.history else {
        return Vec::new();
    };
    if read.is_some_and(|read| read.all_versions) {
        return Vec::new();
    }
    let until = || attribute(&history.until, Type::Time, true);
    let open = binary(BinaryOp::Eq, until(), literal(Literal::Absent, Type::Absent));
    let mut conditions = match read.and_then(|read| read.at.as_ref()) {
        Some(at) => {
            let begun = binary(BinaryOp::Le, attribute(&history.at, Type::Time, false), at.clone());
            let later = binary(BinaryOp::Gt, until(), at.clone());
            vec![begun, binary(BinaryOp::Or, open, later)]
        }
        None => vec![open],
    };
    if let Some(tombstone) = &history.tombstone {
        let deleted = attribute(tombstone, Type::Bool, false);
        conditions.push(expr(ExprKind::Not(Box::new(deleted)), Type::Bool));
    }
    conditions
}

/// Whether time changes an attribute: a state that lapses, or what holds only during one. Its key stays as it was stored.
pub(super) fn time_changes(source: &Entity, name: &str) -> bool {
    source.states.as_ref().is_some_and(|states| {
        let held = states.holding.iter().flat_map(|(_, held)| held);
        !states.lapses.is_empty() && (states.of == name || held.into_iter().any(|(held, _)| held == name))
    })
}

/// Whether rows that the conjuncts mean may stand elsewhere than their key says: by a state that has lapsed, or by what was held
/// during it, unless those without it are not meant.
pub(super) fn moves_with_time(source: &Entity, name: &str, conjuncts: &[&Expr]) -> bool {
    let is_state = source.states.as_ref().is_some_and(|states| states.of == name);
    time_changes(source, name) && (is_state || !implies_present(name, conjuncts))
}

/// Whether every row that the conjuncts mean has the path's templates: their condition holds, and none of those before them,
/// for the first that holds is taken.
pub(super) fn implies_choice(path: &AccessPath<'_>, source: &Entity, conjuncts: &[&Expr]) -> bool {
    let mut earlier = path.choices_before().iter().filter_map(|choice| choice.when.as_ref());
    implies_when(path.choice, source, conjuncts) && earlier.all(|when| excludes(when, source, conjuncts))
}

fn implies_when(choice: &KeyChoice, source: &Entity, conjuncts: &[&Expr]) -> bool {
    let Some(when) = &choice.when else {
        return true;
    };
    when.conjuncts()
        .iter()
        // Implied now is not enough: the key was made when the row was stored, before a state lapsed.
        .all(|needed| implies(needed, conjuncts) && held_when_stored(needed, source, conjuncts))
}

/// The lapse alone for which rows that the conjuncts mean may lack a path's templates: they are stored in the state before it.
pub(super) fn lapse_in_the_way<'s>(choice: &KeyChoice, source: &'s Entity, conjuncts: &[&Expr]) -> Option<&'s Lapse> {
    let needed: Vec<&Expr> = choice.when.iter().flat_map(|when| when.conjuncts()).collect();
    let states = source.states.as_ref()?;
    let said = needed.iter().all(|needed| implies(needed, conjuncts));
    let lost = needed
        .iter()
        .find(|needed| !held_when_stored(needed, source, conjuncts))
        .filter(|_| said)?;
    let mut lapses = lapses_meant(states, conjuncts).into_iter();
    lapses.find(|lapse| holds_in_state(lost, states, &lapse.from) != Some(true))
}

/// Whether a condition holds of every row that the conjuncts mean: one of them says it, or something narrower.
fn implies(needed: &Expr, conjuncts: &[&Expr]) -> bool {
    if let ExprKind::Binary(BinaryOp::Or, ..) = &needed.kind {
        let branches = needed.disjuncts();
        let whole = |branch: &Expr| branch.conjuncts().iter().all(|part| implies(part, conjuncts));
        if branches.into_iter().any(whole) {
            return true;
        }
    }
    let text = show::show_expression(needed);
    let says = |conjunct: &&Expr| {
        // By its text or by what follows from it; anything else is not implied, however true it may be.
        show::show_expression(conjunct) == text || literals::follows_from(needed, conjunct) == Some(true)
    };
    tested_for_presence(needed).is_some_and(|path| implies_present(&path, conjuncts)) || conjuncts.iter().any(says)
}

/// The path of `path != absent`.
fn tested_for_presence(condition: &Expr) -> Option<String> {
    match &condition.kind {
        ExprKind::Binary(BinaryOp::Ne, left, right) if right.is_absent() => left.path(),
        ExprKind::Binary(BinaryOp::Ne, left, right) if left.is_absent() => right.path(),
        _ => None,
    }
}

/// Whether a condition that holds of the rows that the conjuncts mean, as they are seen, held when they were stored: it is about
/// nothing that time changes, or about the state alone, and holds of all that lapse to one that is meant.
fn held_when_stored(condition: &Expr, source: &Entity, conjuncts: &[&Expr]) -> bool {
    let was = |states: &States, lapse: &Lapse| holds_in_state(condition, states, &lapse.from) == Some(true);
    was_so_when_stored(condition, source, conjuncts, was)
}

/// Whether what is known of a condition now was so when the rows were stored, whichever lapses there were.
fn was_so_when_stored(
    condition: &Expr,
    source: &Entity,
    conjuncts: &[&Expr],
    was: impl Fn(&States, &Lapse) -> bool,
) -> bool {
    let names = condition.attributes();
    if !names.iter().any(|name| time_changes(source, name)) {
        return true;
    }
    let states = source.states.as_ref().filter(|states| names == [states.of.as_str()]);
    states.is_some_and(|states| {
        lapses_meant(states, conjuncts)
            .into_iter()
            .all(|lapse| was(states, lapse))
    })
}

/// The lapses by which a row may be in a state that the conjuncts mean, one after another.
fn lapses_meant<'s>(states: &'s States, conjuncts: &[&Expr]) -> Vec<&'s Lapse> {
    let is_meant = |state: &str| {
        let mut said = conjuncts.iter().map(|conjunct| holds_in_state(conjunct, states, state));
        said.all(|truth| truth != Some(false))
    };
    let mut found: Vec<&Lapse> = states.lapses.iter().filter(|lapse| is_meant(&lapse.to)).collect();
    // A state that lapses to one of these was another before, at times.
    let mut at = 0;
    while let Some(known) = found.get(at).copied() {
        let before = states.lapses.iter().filter(|lapse| lapse.to == known.from);
        let new: Vec<&Lapse> = before
            .filter(|lapse| !found.iter().any(|known| std::ptr::eq(*known, *lapse)))
            .collect();
        found.extend(new);
        at += 1;
    }
    found
}

/// Whether a condition on the state holds in one of them, where it is over words that are written out.
fn holds_in_state(condition: &Expr, states: &States, state: &str) -> Option<bool> {
    match &condition.kind {
        ExprKind::Not(inner) => holds_in_state(inner, states, state).map(|truth| !truth),
        ExprKind::Binary(BinaryOp::And, left, right) => {
            Some(holds_in_state(left, states, state)? && holds_in_state(right, states, state)?)
        }
        ExprKind::Binary(BinaryOp::Or, left, right) => {
            Some(holds_in_state(left, states, state)? || holds_in_state(right, states, state)?)
        }
        _ => {
            let of = attribute(&states.of, Type::Unknown, false);
            let word = literal(Literal::Text(state.to_owned()), Type::Unknown);
            literals::follows_from(condition, &binary(BinaryOp::Eq, of, word))
        }
    }
}

/// Whether a condition was false of every row that the conjuncts mean when it was stored: one of them says the contrary of a part of it,
/// which time does not change, or which is false of all states too that lapse to one that is meant.
fn excludes(when: &Expr, source: &Entity, conjuncts: &[&Expr]) -> bool {
    when.conjuncts().into_iter().any(|part| {
        let is_said = || conjuncts.iter().any(|conjunct| is_contrary(part, conjunct));
        failed_when_stored(part, source, conjuncts) && is_said()
    })
}

/// Whether a condition that is false of the rows that the conjuncts mean, as they are seen, was false when they were stored.
fn failed_when_stored(condition: &Expr, source: &Entity, conjuncts: &[&Expr]) -> bool {
    let was = |states: &States, lapse: &Lapse| holds_in_state(condition, states, &lapse.from) == Some(false);
    was_so_when_stored(condition, source, conjuncts, was)
}

fn is_contrary(condition: &Expr, conjunct: &Expr) -> bool {
    if let ExprKind::Not(inner) = &conjunct.kind
        && show::show_expression(inner) == show::show_expression(condition)
    {
        return true;
    }
    let tests_absence = equality(condition).filter(|(_, value)| **value == Literal::Absent);
    let is_there = tests_absence.is_some_and(|(path, _)| implies_present(&path, &[conjunct]));
    is_there || literals::follows_from(condition, conjunct) == Some(false)
}

/// `attribute == literal`.
fn equality(expr: &Expr) -> Option<(String, &Literal)> {
    let ExprKind::Binary(BinaryOp::Eq, left, right) = &expr.kind else {
        return None;
    };
    let (path, literal) = left
        .path()
        .zip(right.as_literal())
        .or_else(|| right.path().zip(left.as_literal()))?;
    Some((path.to_string(), literal))
}

/// Whether every row of the path satisfies a conjunct: its own condition says it, or it says that a key part is there. What
/// time changes is checked on the row.
pub(super) fn settled_by(choice: &KeyChoice, source: &Entity, conjunct: &Expr) -> bool {
    if conjunct.attributes().iter().any(|name| time_changes(source, name)) {
        // A conjunct about a state that may have lapsed is decided on the row.
        return false;
    }
    let text = show::show_expression(conjunct);
    let by_condition = choice.when.as_ref().is_some_and(|when| {
        when.conjuncts()
            .iter()
            .any(|known| show::show_expression(known) == text)
    });
    let mut parts = choice.keys.iter().flat_map(|key| &key.parts);
    by_condition || parts.any(|part| text == format!("{} != absent", part.path))
}

/// Whether the conjuncts are about a path's key, or about nothing at all: then every row is meant. What is open to some callers
/// whatever the row (`caller.role == "admin" || owner == caller.id`) says nothing about rows.
pub(super) fn names_path(path: &AccessPath<'_>, conjuncts: &[&Expr]) -> bool {
    let of_rows = |conjunct: &&&Expr| {
        conjunct
            .disjuncts()
            .iter()
            .all(|branch| !branch.attributes().is_empty())
    };
    let mut of_rows = conjuncts.iter().filter(of_rows).peekable();
    let roots = || {
        path.choice
            .keys
            .iter()
            .flat_map(|key| &key.parts)
            .map(|part| part.root_attribute())
    };
    of_rows.peek().is_none()
        || path.choice.when.is_some()
        || of_rows.any(|conjunct| roots().any(|root| conjunct.mentions_attribute(root)))
}

/// Whether the conjuncts say that an attribute is there.
pub(super) fn implies_present(path: &str, conjuncts: &[&Expr]) -> bool {
    conjuncts
        .iter()
        .any(|conjunct| PresenceFacts::of(conjunct, true).is_present(path))
}

fn attribute(name: &str, ty: Type, optional: bool) -> Expr {
    Expr {
        optional,
        ..expr(ExprKind::Attribute(name.to_owned()), ty)
    }
}

fn literal(literal: Literal, ty: Type) -> Expr {
    expr(ExprKind::Literal(literal), ty)
}

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    expr(ExprKind::Binary(op, Box::new(left), Box::new(right)), Type::Bool)
}

fn expr(kind: ExprKind, ty: Type) -> Expr {
    Expr {
        kind,
        ty,
        optional: false,
        span: Span::default(),
    }
}
