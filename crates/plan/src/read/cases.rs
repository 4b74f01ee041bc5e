//! The meaning, taken apart by the values of attributes on which templates depend.
//!
//! An entity may have other templates for each state (`when: status == "open"`). A meaning that does not say the state, or names it
//! by a list, is answered by none of them alone; case by case each case has one.

use singlet_model::Model;
use singlet_model::expression::{BinaryOp, Expr, ExprKind, Literal};
use singlet_model::model::{Attribute, Entity};
use singlet_model::source::Span;
use singlet_model::types::Type;

use super::candidate::AskedWord;
use super::chances::is_of_row;
use super::implied;
use super::shares::share_of_condition;
use crate::access;
use crate::bounds::Bounds;
use crate::literals;

/// One case of a meaning.
#[derive(Clone, Debug)]
pub(super) struct MeaningCase {
    /// What its rows satisfy.
    pub conjuncts: Vec<Expr>,
    /// In how many requests it is asked for, as a part of all: an argument may say which case is meant.
    pub asked_share: f64,
    /// The word that the argument is then.
    pub asked_word: Option<AskedWord>,
}

/// The meaning by the values of each attribute with few values on which templates depend. The cases of one set together mean what the conjuncts
/// do: those that contradict them are left out.
pub(super) fn by_value(model: &Model, entity: &Entity, conjuncts: &[&Expr]) -> Vec<Vec<MeaningCase>> {
    let whole = MeaningCase {
        conjuncts: conjuncts.iter().map(|conjunct| (*conjunct).clone()).collect(),
        asked_share: 1.0,
        asked_word: None,
    };
    let told_apart = told_apart(model, entity, conjuncts);
    let by_attribute = told_apart.into_iter().filter_map(|attribute| {
        let values = few_values(attribute)?;
        // Of an attribute whose value is said there is nothing to be told apart.
        let is_said = |value: &Literal| {
            let is_value = is_value(attribute, value);
            let mut known = conjuncts.iter();
            known.any(|conjunct| literals::follows_from(&is_value, conjunct) == Some(true))
        };
        if values.iter().any(is_said) {
            return None;
        }
        let narrow = |value: &Literal| narrowed(model, entity, &whole, attribute, value);
        let cases: Vec<MeaningCase> = values.iter().filter_map(narrow).collect();
        let is_one_of_few = !cases.is_empty() && cases.len() <= Bounds::USUAL.alternatives_max;
        is_one_of_few.then_some(cases)
    });
    by_attribute.collect()
}

/// The attributes by whose values a meaning may be answered in several ways: those on which templates depend, and those of which an argument
/// says the word where estimates say how the rows are spread over the words, for a rare word is found otherwise than a frequent one.
fn told_apart<'a>(model: &'a Model, entity: &'a Entity, conjuncts: &[&Expr]) -> Vec<&'a Attribute> {
    let mut told = deciding(model, entity);
    let source = model.source_of(entity);
    let shares = model
        .estimate_of(&source.name)
        .map_or(&[][..], |estimate| &estimate.shares);
    for shares in shares {
        let name = shares.attribute.as_str();
        let is_sent = conjuncts.iter().any(|conjunct| is_word_of_request(conjunct, name));
        let is_known = told.iter().any(|attribute| attribute.name == name);
        if is_sent && !is_known && !implied::time_changes(source, name) {
            told.extend(source.attribute(name));
        }
    }
    told
}

/// Whether a condition says that an attribute is what the request has.
fn is_word_of_request(conjunct: &Expr, name: &str) -> bool {
    let ExprKind::Binary(BinaryOp::Eq, left, right) = &conjunct.kind else {
        return false;
    };
    let is_attribute = |expr: &Expr| matches!(&expr.kind, ExprKind::Attribute(own) if own == name);
    let is_sent = |expr: &Expr| expr.as_literal().is_none() && !is_of_row(expr);
    is_attribute(left) && is_sent(right) || is_attribute(right) && is_sent(left)
}

/// The attributes that decide which templates a row has, and that time does not change.
pub(super) fn deciding<'a>(model: &'a Model, entity: &'a Entity) -> Vec<&'a Attribute> {
    let source = model.source_of(entity);
    let paths = access::access_paths(model, entity);
    let conditions = paths.iter().filter_map(|path| path.choice.when.as_ref());
    let mut names: Vec<&str> = conditions.flat_map(Expr::attributes).collect();
    names.sort_unstable();
    names.dedup();
    let lasting = names.into_iter().filter(|name| !implied::time_changes(source, name));
    lasting.filter_map(|name| source.attribute(name)).collect()
}

/// Every value of an attribute, its absence included, where there are few.
fn few_values(attribute: &Attribute) -> Option<Vec<Literal>> {
    let mut values: Vec<Literal> = match &attribute.ty {
        Type::Enum(words) => words.members.iter().cloned().map(Literal::Text).collect(),
        Type::Bool => vec![Literal::Bool(false), Literal::Bool(true)],
        _ => return None,
    };
    if attribute.optional {
        values.push(Literal::Absent);
    }
    Some(values)
}

/// A case where an attribute has a value; none where it contradicts that.
fn narrowed(
    model: &Model,
    entity: &Entity,
    case: &MeaningCase,
    attribute: &Attribute,
    value: &Literal,
) -> Option<MeaningCase> {
    let mut narrow = Vec::with_capacity(case.conjuncts.len() + 1);
    let mut asked_share = case.asked_share;
    let mut asked_word = case.asked_word.clone();
    let is_value = is_value(attribute, value);
    for conjunct in &case.conjuncts {
        if *value == Literal::Absent {
            // A comparison with an absent attribute is not one with `absent`, which would test what it is compared with.
            if implied::implies_present(&attribute.name, &[conjunct]) {
                return None;
            }
            narrow.push(conjunct.clone());
            continue;
        }
        let known = with_value(conjunct, attribute, value);
        match literals::decide_literally(&known) {
            Some(true) => {}
            Some(false) => return None,
            None => {
                // Of one that the request alone decides now, as many requests mean the value as rows have it.
                let is_of_request = is_of_row(conjunct) && !is_of_row(&known);
                if is_of_request && matches!(known.kind, ExprKind::Binary(BinaryOp::Eq, ..)) {
                    asked_share *= share_of_condition(model, model.source_of(entity), &is_value);
                    asked_word = Some(AskedWord {
                        attribute: attribute.name.clone(),
                        word: value.clone(),
                    });
                }
                narrow.push(known);
            }
        }
    }
    narrow.push(is_value);
    Some(MeaningCase {
        conjuncts: narrow,
        asked_share,
        asked_word,
    })
}

/// `attribute == value`.
fn is_value(attribute: &Attribute, value: &Literal) -> Expr {
    let expr = |kind: ExprKind, ty: Type| Expr {
        kind,
        ty,
        optional: false,
        span: Span::default(),
    };
    let name = Expr {
        optional: attribute.optional,
        ..expr(ExprKind::Attribute(attribute.name.clone()), attribute.ty.clone())
    };
    let ty = match value {
        Literal::Absent => Type::Absent,
        _ => attribute.ty.clone(),
    };
    let value = expr(ExprKind::Literal(value.clone()), ty);
    expr(
        ExprKind::Binary(BinaryOp::Eq, Box::new(name), Box::new(value)),
        Type::Bool,
    )
}

/// The same expression with a value in the attribute's place.
fn with_value(expr: &Expr, attribute: &Attribute, value: &Literal) -> Expr {
    let again = |part: &Expr| Box::new(with_value(part, attribute, value));
    let kind = match &expr.kind {
        ExprKind::Attribute(name) if *name == attribute.name => {
            return Expr {
                kind: ExprKind::Literal(value.clone()),
                optional: false,
                ..expr.clone()
            };
        }
        ExprKind::Not(inner) => ExprKind::Not(again(inner)),
        ExprKind::Binary(op, left, right) => ExprKind::Binary(*op, again(left), again(right)),
        ExprKind::Conditional(test, then, otherwise) => {
            ExprKind::Conditional(again(test), again(then), again(otherwise))
        }
        // Elsewhere the attribute stays: that it has the value is said beside.
        other => other.clone(),
    };
    Expr { kind, ..expr.clone() }
}
