//! Calls of functions and methods.

use std::sync::Arc;

use singlet_item::Number;

use super::Checker;
use crate::diagnostic::Diagnostic;
use crate::expression::functions::{CallForm, Function, FunctionId, Meaning, Param};
use crate::expression::parse::ExpressionNode;
use crate::expression::relations::{is_assignable, is_comparable, is_orderable, unified_type};
use crate::expression::rules;
use crate::expression::tokens::quote_input;
use crate::expression::tree::{Expr, ExprKind, Literal};
use crate::types::{LengthLimits, NumberLimits, ObjectField, ObjectType, TextLimits, Type};

impl Checker<'_, '_> {
    pub(super) fn call(
        &mut self,
        node: &ExpressionNode,
        name: &str,
        receiver: Option<&ExpressionNode>,
        args: &[ExpressionNode],
        top: bool,
    ) -> Expr {
        let values: Vec<&ExpressionNode> = receiver.into_iter().chain(args).collect();
        let Some(known) = Function::functions_named(name).next() else {
            return match (receiver, self.scope.catalog.entity(name)) {
                (None, Some(entity)) => self.key_by_position(node, entity, args),
                _ => self.unknown_function(node, name, &values),
            };
        };
        if (known.form == CallForm::Method) != receiver.is_some() {
            return self.wrong_form(node, known, &values);
        }
        let Some(function) = Function::functions_named(name).find(|function| function.takes_values(values.len()))
        else {
            return self.wrong_count(node, known, values.len());
        };
        if function.key_only && !self.scope.in_key {
            let message = format!("`{name}` stands only in key templates");
            let help = Some("compare the value as it is: enums compare by rank".to_owned());
            return self.refuse(&rules::KEY_FUNCTION, node, message, help);
        }
        match function.meaning {
            Meaning::Each(op) => self.each(node, op, &values),
            Meaning::Call(id) => self.values(node, function, id, &values, top),
        }
    }

    fn wrong_form(&mut self, node: &ExpressionNode, function: &Function, values: &[&ExpressionNode]) -> Expr {
        let sources: Vec<&str> = values.iter().map(|value| self.source(value)).collect();
        let name = function.name;
        let fits = function.takes_values(values.len());
        let (kind, instead) = match (function.form, sources.as_slice()) {
            (CallForm::Method, [receiver, rest @ ..]) if fits => {
                ("method", format!("{receiver}.{name}({})", rest.join(", ")))
            }
            (CallForm::Method, _) => ("method", function.signature.to_owned()),
            (CallForm::Function, all) => ("function", format!("{name}({})", all.join(", "))),
        };
        let message = format!("`{name}` is a {kind}");
        let help = format!("write {}", quote_input(&instead));
        self.refuse(&rules::CALL_FORM, node, message, Some(help))
    }

    fn wrong_count(&mut self, node: &ExpressionNode, known: &Function, count: usize) -> Expr {
        let method = usize::from(known.form == CallForm::Method);
        let mut counts: Vec<String> = Function::functions_named(known.name)
            .map(|function| function.params.len().saturating_sub(method).to_string())
            .collect();
        if known.params == [Param::Ordered] {
            counts = vec!["at least 1".to_owned()];
        }
        let found = count.saturating_sub(method);
        let values = if counts == ["1"] { "value" } else { "values" };
        let message = format!("`{}` takes {} {values}, not {found}", known.name, counts.join(" or "));
        let signatures: Vec<String> = Function::functions_named(known.name)
            .map(|function| format!("`{}`", function.signature))
            .collect();
        self.refuse(&rules::WRONG_ARGUMENTS, node, message, Some(signatures.join(" or ")))
    }

    fn values(
        &mut self,
        node: &ExpressionNode,
        function: &Function,
        id: FunctionId,
        nodes: &[&ExpressionNode],
        top: bool,
    ) -> Expr {
        let outer = std::mem::replace(&mut self.divides, id == FunctionId::Round);
        let mut exprs: Vec<Expr> = nodes.iter().map(|node| self.node(node, false)).collect();
        self.divides = outer;
        let mut spreads = false;
        if matches!(id, FunctionId::StartsWith | FunctionId::Contains) {
            self.predicate(nodes, &exprs, top);
        } else {
            for (node, expr) in nodes.iter().zip(&exprs) {
                spreads |= self.present(node, expr);
            }
        }
        match id {
            FunctionId::Contains => self.contains(nodes, &mut exprs),
            FunctionId::Min | FunctionId::Max => self.ordered_values(nodes, &mut exprs),
            _ => {
                for ((node, expr), param) in nodes.iter().zip(&mut exprs).zip(function.params) {
                    self.param(node, expr, *param, function);
                }
            }
        }
        let ty = result(id, &exprs);
        Expr {
            optional: spreads || may_be_of_nothing(id, &exprs),
            ..self.made(node, ExprKind::Call(id, exprs), ty)
        }
    }

    /// `startsWith` and `contains` compare: absent values make them false, optional arguments follow the rule of comparisons.
    fn predicate(&mut self, nodes: &[&ExpressionNode], exprs: &[Expr], top: bool) {
        if let ([left, right], [left_expr, right_expr]) = (nodes, exprs) {
            self.tested(left, left_expr, right_expr, top);
            self.tested(right, right_expr, left_expr, top);
            for (node, expr) in [(left, left_expr), (right, right_expr)] {
                if expr.is_absent() {
                    self.present(node, expr);
                }
            }
        }
    }

    fn contains(&mut self, nodes: &[&ExpressionNode], exprs: &mut [Expr]) {
        let ([holder, sought], [holder_expr, sought_expr]) = (nodes, exprs) else {
            return;
        };
        match holder_expr.ty.clone() {
            Type::Unknown => {}
            Type::List(element, _) | Type::Set(element, _) => {
                self.learn(sought_expr, &element);
                self.coerce(sought, sought_expr, &element);
                if !is_comparable(&sought_expr.ty, &element) {
                    self.mismatch(sought, sought_expr, &element);
                }
            }
            Type::Text(_) => {
                self.learn(sought_expr, &Type::text());
                if !is_assignable(&sought_expr.ty, &Type::text()) {
                    self.mismatch(sought, sought_expr, &Type::text());
                }
            }
            ty => {
                let ty = self.describe(&ty);
                let message = format!(
                    "{} has type `{ty}`, which `contains` cannot look into",
                    self.shown(holder)
                );
                let help = "`contains` is for text, lists and sets";
                self.report(Diagnostic::new(&rules::TYPE_MISMATCH, holder_expr.span, message).help(help));
            }
        }
    }

    /// `min` and `max` take values of one type, or one list of them.
    fn ordered_values(&mut self, nodes: &[&ExpressionNode], exprs: &mut [Expr]) {
        let mut ty = Type::Unknown;
        for (node, expr) in nodes.iter().zip(exprs) {
            self.learn(expr, &ty);
            self.coerce(node, expr, &ty);
            let one = expr.ty.element_type().unwrap_or(&expr.ty).clone();
            match unified_type(&ty, &one) {
                Some(both) if is_orderable(&both) => ty = both,
                Some(other) => self.no_order(node, &other, expr),
                None => self.mismatch(node, expr, &ty),
            }
        }
    }

    fn no_order(&mut self, node: &ExpressionNode, ty: &Type, expr: &Expr) {
        let message = format!(
            "{} has type `{}`, which has no order",
            self.shown(node),
            self.describe(ty)
        );
        self.report(Diagnostic::new(&rules::NO_ORDER, expr.span, message));
    }

    fn param(&mut self, node: &ExpressionNode, expr: &mut Expr, param: Param, function: &Function) {
        if let Some(ty) = learned(param) {
            self.learn(expr, &ty);
            self.coerce(node, expr, &ty);
        }
        match param {
            Param::Decimals => self.between(node, expr, 0, 18, function),
            Param::Digits => self.between(node, expr, 1, 38, function),
            Param::Precision => self.between(node, expr, 1, 12, function),
            Param::Clock => self.clock(node, expr),
            _ => {}
        }
        if !matches!(expr.ty, Type::Unknown | Type::Absent) && !accepts(param, &expr.ty) {
            self.wrong_type(node, expr, param, function);
        }
    }

    fn wrong_type(&mut self, node: &ExpressionNode, expr: &Expr, param: Param, function: &Function) {
        let message = format!(
            "{} has type `{}`, which `{}` does not take",
            self.shown(node),
            self.describe(&expr.ty),
            function.name
        );
        let help = match learned(param).and_then(|wanted| self.conversion(node, &expr.ty, &wanted)) {
            Some(help) => help,
            None if function.name == "day" && expr.ty == Type::Date => "it is a date already".to_owned(),
            None => format!("it is written `{}`", function.signature),
        };
        self.report(Diagnostic::new(&rules::TYPE_MISMATCH, expr.span, message).help(help));
    }

    /// A whole number, written out, within bounds: it decides the type of the result.
    fn between(&mut self, node: &ExpressionNode, expr: &Expr, least: i64, most: i64, function: &Function) {
        let value = literal_int(expr);
        if expr.ty.is_unknown() || value.is_some_and(|value| (least..=most).contains(&value)) {
            return;
        }
        let name = function.name;
        let message = format!(
            "`{name}` takes a whole number from {least} to {most} here, not {}",
            self.shown(node)
        );
        let help = format!("it is written `{}`", function.signature);
        self.report(Diagnostic::new(&rules::INVALID_LITERAL, expr.span, message).help(help));
    }
}

/// Whether `min` or `max` may look at lists without elements, of which there is no least and no greatest.
fn may_be_of_nothing(id: FunctionId, exprs: &[Expr]) -> bool {
    let may_be_empty = |expr: &Expr| match &expr.ty {
        Type::List(_, limits) => limits.min.unwrap_or(0) == 0 && !is_filled(expr),
        _ => false,
    };
    matches!(id, FunctionId::Min | FunctionId::Max) && exprs.iter().all(may_be_empty)
}

/// Whether it is a list with elements, written out.
fn is_filled(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::List(elements) if elements.iter().any(|element| !element.optional))
}

fn literal_int(expr: &Expr) -> Option<i64> {
    match expr.as_literal() {
        Some(Literal::Number(number)) => number.to_i64(),
        _ => None,
    }
}

/// What a path variable is when it stands there.
fn learned(param: Param) -> Option<Type> {
    Some(match param {
        Param::Text | Param::Clock => Type::text(),
        Param::Number => Type::number(),
        Param::Int | Param::Decimals | Param::Digits | Param::Precision => Type::int(),
        Param::Date => Type::Date,
        Param::Geo => Type::Geo(None),
        _ => return None,
    })
}

fn accepts(param: Param, ty: &Type) -> bool {
    match param {
        Param::Text => matches!(
            ty,
            Type::Text(_) | Type::Ulid | Type::Ksuid | Type::Uuid | Type::Enum(_)
        ),
        Param::Clock => matches!(ty, Type::Text(_)),
        Param::Number => ty.is_number(),
        Param::Int | Param::Decimals | Param::Digits | Param::Precision => {
            matches!(ty, Type::Int(_) | Type::Version)
        }
        Param::Date => *ty == Type::Date,
        Param::Instant => ty.is_instant(),
        Param::Moment => ty.is_instant() || *ty == Type::Date,
        Param::Geo => is_assignable(ty, &Type::Geo(None)),
        Param::Enum => matches!(ty, Type::Enum(_)),
        Param::List => matches!(ty, Type::List(..) | Type::Set(..)),
        Param::Lists => ty
            .element_type()
            .is_some_and(|inner| accepts(Param::List, inner) || inner.is_unknown()),
        Param::Sized => matches!(
            ty,
            Type::Text(_) | Type::Bytes(_) | Type::List(..) | Type::Set(..) | Type::Map(..)
        ),
        Param::Scalar => *ty == Type::Bool || (is_orderable(ty) && !matches!(ty, Type::Duration | Type::Bytes(_))),
        Param::Ordered | Param::Any | Param::Variable | Param::Body => true,
    }
}

fn result(id: FunctionId, args: &[Expr]) -> Type {
    let first = args.first().map_or(&Type::Unknown, |expr| &expr.ty);
    match id {
        FunctionId::Lower => case_changed(first, LOWER_GROWTH_MAX),
        FunctionId::Upper => case_changed(first, UPPER_GROWTH_MAX),
        FunctionId::Trim => trimmed(first),
        FunctionId::Size => whole_from(0, None),
        FunctionId::StartsWith | FunctionId::Contains | FunctionId::Near => Type::Bool,
        FunctionId::Days | FunctionId::Hours | FunctionId::Minutes | FunctionId::Months => Type::Duration,
        FunctionId::DaysBetween => Type::List(Arc::new(Type::Date), LengthLimits::default()),
        FunctionId::Day | FunctionId::Date => Type::Date,
        FunctionId::Month => Type::Month,
        FunctionId::Year => Type::int(),
        FunctionId::Time => Type::Time,
        FunctionId::Round => rounded(args),
        FunctionId::Min | FunctionId::Max => extreme(args),
        FunctionId::Hash => whole_from(0, None),
        FunctionId::Random => whole_from(0, args.first().and_then(literal_int)),
        FunctionId::Numbered => numbered(first),
        FunctionId::Flat => flattened(first),
        FunctionId::Ulid => Type::Ulid,
        FunctionId::Ksuid => Type::Ksuid,
        FunctionId::Uuid => Type::Uuid,
        FunctionId::Digits => text_of(args.first().and_then(literal_int)),
        FunctionId::Geohash => text_of(args.get(1).and_then(literal_int)),
        FunctionId::Distance => Type::number(),
        FunctionId::Rank => whole_from(0, first.enum_members().and_then(|all| i64::try_from(all.len()).ok())),
        FunctionId::String | FunctionId::Desc | FunctionId::Ordered | FunctionId::Plain | FunctionId::Raw => {
            Type::text()
        }
    }
}

/// How many letters one letter can become in lower case, `İ`, and in upper case, `ΐ`.
const LOWER_GROWTH_MAX: u64 = 2;
const UPPER_GROWTH_MAX: u64 = 3;

/// A change of case may make text longer, never shorter; a pattern may no longer hold.
fn case_changed(ty: &Type, growth: u64) -> Type {
    match ty {
        Type::Text(limits) => Type::Text(TextLimits {
            length: LengthLimits {
                min: limits.length.min,
                max: limits.length.max.map(|max| max.saturating_mul(growth)),
            },
            pattern: None,
        }),
        _ => Type::text(),
    }
}

/// What is left may be nothing; a pattern may no longer hold.
fn trimmed(ty: &Type) -> Type {
    let max = match ty {
        Type::Text(limits) => limits.length.max,
        _ => None,
    };
    Type::Text(TextLimits {
        length: LengthLimits { min: None, max },
        pattern: None,
    })
}

fn text_of(length: Option<i64>) -> Type {
    let length = length.and_then(|length| u64::try_from(length).ok());
    Type::Text(TextLimits {
        length: LengthLimits {
            min: length,
            max: length,
        },
        pattern: None,
    })
}

/// Whole numbers from `min`, below `end`.
fn whole_from(min: i64, end: Option<i64>) -> Type {
    Type::Int(Arc::new(NumberLimits {
        min: Some(Number::from(min)),
        max: end.map(|end| Number::from(end.saturating_sub(1))),
        ..NumberLimits::default()
    }))
}

fn rounded(args: &[Expr]) -> Type {
    match args.get(1).and_then(literal_int) {
        Some(0) => Type::int(),
        decimals => Type::Number(Arc::new(NumberLimits {
            decimals: decimals.and_then(|decimals| u8::try_from(decimals).ok()),
            ..NumberLimits::default()
        })),
    }
}

fn extreme(args: &[Expr]) -> Type {
    let element = |expr: &Expr| expr.ty.element_type().unwrap_or(&expr.ty).clone();
    args.iter()
        .try_fold(Type::Unknown, |ty, expr| unified_type(&ty, &element(expr)))
        .unwrap_or(Type::Unknown)
}

fn flattened(lists: &Type) -> Type {
    let inner = lists.element_type();
    let Some(element) = inner.and_then(Type::element_type) else {
        return Type::Unknown;
    };
    let each = inner.and_then(Type::length_max);
    let max = lists
        .length_max()
        .zip(each)
        .map(|(lists, each)| lists.saturating_mul(each));
    Type::List(Arc::new(element.clone()), LengthLimits { min: None, max })
}

fn numbered(list: &Type) -> Type {
    let field = |name: &str, ty: Type| ObjectField {
        name: name.to_owned(),
        ty,
        optional: false,
    };
    let value = list.element_type().cloned().unwrap_or(Type::Unknown);
    let object = ObjectType {
        name: String::new(),
        fields: vec![field("number", whole_from(1, None)), field("value", value)],
    };
    let limits = LengthLimits {
        min: None,
        max: list.length_max(),
    };
    Type::List(Arc::new(Type::Object(Arc::new(object))), limits)
}
