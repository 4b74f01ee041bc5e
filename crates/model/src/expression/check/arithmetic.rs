//! `+ - * / %` on numbers, text, days, instants and durations.

use std::sync::Arc;

use singlet_item::Number;

use super::Checker;
use crate::diagnostic::Diagnostic;
use crate::expression::functions::FunctionId;
use crate::expression::parse::ExpressionNode;
use crate::expression::rules;
use crate::expression::tree::{BinaryOp, Expr, ExprKind, Literal};
use crate::types::{NumberLimits, Type};

impl Checker<'_, '_> {
    pub(super) fn arithmetic(
        &mut self,
        node: &ExpressionNode,
        op: BinaryOp,
        left: &ExpressionNode,
        right: &ExpressionNode,
    ) -> Expr {
        let mut left_expr = self.node(left, false);
        let mut right_expr = self.node(right, false);
        let spreads = self.present(left, &left_expr) | self.present(right, &right_expr);
        if op == BinaryOp::Div && !self.divides {
            self.division(node);
        }
        let (left_ty, right_ty) = (left_expr.ty.clone(), right_expr.ty.clone());
        self.learn(&mut left_expr, &met(&right_ty));
        self.learn(&mut right_expr, &met(&left_ty));
        let ty = match result(op, &left_expr, &right_expr) {
            Some(Type::Date) if has_clock(&left_expr) || has_clock(&right_expr) => {
                self.hours_on_a_date(node, &left_expr, &right_expr);
                Type::Date
            }
            Some(ty) => ty,
            None => {
                self.no_arithmetic(node, op, (left, &left_expr), (right, &right_expr));
                Type::Unknown
            }
        };
        let kind = ExprKind::Binary(op, Box::new(left_expr), Box::new(right_expr));
        Expr {
            optional: spreads,
            ..self.made(node, kind, ty)
        }
    }

    pub(super) fn negate(&mut self, node: &ExpressionNode, inner: &ExpressionNode) -> Expr {
        let mut expr = self.node(inner, false);
        let spreads = self.present(inner, &expr);
        self.learn(&mut expr, &Type::number());
        let ty = match &expr.ty {
            Type::Int(_) | Type::Version => Type::int(),
            Type::Number(_) => Type::number(),
            Type::Duration => Type::Duration,
            Type::Unknown | Type::Absent => Type::Unknown,
            other => {
                let ty = self.describe(other);
                let message = format!("{} has type `{ty}`, which `-` cannot turn round", self.shown(inner));
                return self.refuse(&rules::ARITHMETIC, node, message, None);
            }
        };
        Expr {
            optional: spreads,
            ..self.made(node, ExprKind::Negate(Box::new(expr)), ty)
        }
    }

    fn division(&mut self, node: &ExpressionNode) {
        let message = "`/` stands outside `round`, and most quotients have no last digit".to_owned();
        let help = format!("write `round({}, 2)`", self.source(node));
        self.report(Diagnostic::new(&rules::DIVISION, self.span(&node.range), message).help(help));
    }

    fn hours_on_a_date(&mut self, node: &ExpressionNode, left: &Expr, right: &Expr) {
        let message = format!(
            "{} adds hours or minutes to a date, which has no clock",
            self.shown(node)
        );
        let date = if left.ty == Type::Date { left } else { right };
        let date = date.path().unwrap_or_else(|| "date".to_owned());
        let help = format!("use `days(…)` or `months(…)`, or start from `time({date}, \"08:00\")`");
        self.report(Diagnostic::new(&rules::ARITHMETIC, self.span(&node.range), message).help(help));
    }

    fn no_arithmetic(
        &mut self,
        node: &ExpressionNode,
        op: BinaryOp,
        left: (&ExpressionNode, &Expr),
        right: (&ExpressionNode, &Expr),
    ) {
        let message = format!(
            "`{}` does not go between {} of type `{}` and {} of type `{}`",
            op.symbol(),
            self.shown(left.0),
            self.describe(&left.1.ty),
            self.shown(right.0),
            self.describe(&right.1.ty)
        );
        let help = self
            .arithmetic_help(op, left, right)
            .or_else(|| self.arithmetic_help(op, right, left));
        let mistake = Diagnostic::new(&rules::ARITHMETIC, self.span(&node.range), message);
        self.report(match help {
            Some(help) => mistake.help(help),
            None => mistake,
        });
    }

    fn arithmetic_help(
        &self,
        op: BinaryOp,
        one: (&ExpressionNode, &Expr),
        other: (&ExpressionNode, &Expr),
    ) -> Option<String> {
        let source = self.source(other.0);
        match (&one.1.ty, &other.1.ty) {
            (Type::Text(_), other) if op == BinaryOp::Add && !matches!(other, Type::Row(_)) => {
                Some(format!("write `string({source})`"))
            }
            (one, other) if (one.is_instant() || *one == Type::Date) && other.is_number() => Some(format!(
                "say what is counted: `days({source})`, `hours({source})` or `minutes({source})`"
            )),
            (Type::Date, other) if other.is_instant() => Some(format!("write `day({source})`")),
            (Type::List(..) | Type::Set(..), _) => {
                Some("`add` and `append` of a write change lists and sets".to_owned())
            }
            _ => None,
        }
    }
}

/// What a path variable is when it meets a type in arithmetic.
fn met(other: &Type) -> Type {
    match other {
        Type::Int(_) | Type::Version => Type::int(),
        Type::Number(_) => Type::number(),
        Type::Text(_) => Type::text(),
        _ => Type::Unknown,
    }
}

/// The type of a sum, a difference, a product, a quotient or a remainder; none where there is no such thing.
fn result(op: BinaryOp, left: &Expr, right: &Expr) -> Option<Type> {
    let (a, b) = (&left.ty, &right.ty);
    if matches!(a, Type::Unknown | Type::Absent) || matches!(b, Type::Unknown | Type::Absent) {
        return Some(Type::Unknown);
    }
    if a.is_number() && b.is_number() {
        return Some(of_numbers(op, left, right));
    }
    match (op, a, b) {
        (BinaryOp::Add, a, b) if is_text(a) && is_text(b) => Some(Type::text()),
        (BinaryOp::Add | BinaryOp::Sub, Type::Duration, Type::Duration) => Some(Type::Duration),
        (BinaryOp::Add | BinaryOp::Sub, moment, Type::Duration) if takes_duration(moment) => Some(moment.clone()),
        (BinaryOp::Add, Type::Duration, moment) if takes_duration(moment) => Some(moment.clone()),
        (BinaryOp::Sub, Type::Date, Type::Date) => Some(Type::Duration),
        (BinaryOp::Sub, a, b) if a.is_instant() && b.is_instant() => {
            (a == b || *a == Type::Now || *b == Type::Now).then_some(Type::Duration)
        }
        (BinaryOp::Mul, Type::Duration, Type::Int(_)) | (BinaryOp::Mul, Type::Int(_), Type::Duration) => {
            Some(Type::Duration)
        }
        _ => None,
    }
}

fn of_numbers(op: BinaryOp, left: &Expr, right: &Expr) -> Type {
    let whole = |ty: &Type| matches!(ty, Type::Int(_) | Type::Version);
    match op {
        BinaryOp::Div => Type::number(),
        BinaryOp::Rem => remainder(left, right).unwrap_or_else(|| both(whole, left, right)),
        _ => both(whole, left, right),
    }
}

fn both(whole: impl Fn(&Type) -> bool, left: &Expr, right: &Expr) -> Type {
    if whole(&left.ty) && whole(&right.ty) {
        Type::int()
    } else {
        Type::number()
    }
}

/// `hash(x) % 10` is one of ten, which lets a read fan out over all of them.
fn remainder(left: &Expr, right: &Expr) -> Option<Type> {
    let ExprKind::Call(FunctionId::Hash | FunctionId::Random, _) = &left.kind else {
        return None;
    };
    let Some(Literal::Number(modulus)) = right.as_literal() else {
        return None;
    };
    let last = modulus.to_i64().filter(|modulus| *modulus > 0)? - 1;
    Some(Type::Int(Arc::new(NumberLimits {
        min: Some(Number::from(0)),
        max: Some(Number::from(last)),
        ..NumberLimits::default()
    })))
}

fn is_text(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Text(_) | Type::Ulid | Type::Ksuid | Type::Uuid | Type::Enum(_)
    )
}

fn takes_duration(ty: &Type) -> bool {
    ty.is_instant() || *ty == Type::Date
}

/// Whether a duration is made of hours or minutes, as far as it is written here.
fn has_clock(expr: &Expr) -> bool {
    expr.ty == Type::Duration
        && expr.any(|part| matches!(&part.kind, ExprKind::Call(FunctionId::Hours | FunctionId::Minutes, _)))
}
