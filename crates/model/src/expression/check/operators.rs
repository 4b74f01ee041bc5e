//! Conditions: `&& || !`, comparisons, and the test for absence.

use singlet_item::Number;

use super::Checker;
use crate::diagnostic::Diagnostic;
use crate::expression::facts::PresenceFacts;
use crate::expression::parse::{ExpressionNode, NodeKind};
use crate::expression::relations::{is_comparable, is_orderable};
use crate::expression::rules;
use crate::expression::tree::{BinaryOp, Expr, ExprKind};
use crate::source::Span;
use crate::types::Type;

/// An operand as written and as checked so far.
type Operand<'a> = (&'a ExpressionNode, &'a mut Expr);

impl Checker<'_, '_> {
    pub(super) fn binary(
        &mut self,
        node: &ExpressionNode,
        op: BinaryOp,
        left: &ExpressionNode,
        right: &ExpressionNode,
        top: bool,
    ) -> Expr {
        match op {
            BinaryOp::And | BinaryOp::Or => self.logic(node, op, left, right, top),
            op if op.is_comparison() => self.comparison(node, op, left, right, top),
            _ => self.arithmetic(node, op, left, right),
        }
    }

    /// The right operand is only looked at where the left one leaves it open, so it may rely on that.
    fn logic(
        &mut self,
        node: &ExpressionNode,
        op: BinaryOp,
        left: &ExpressionNode,
        right: &ExpressionNode,
        top: bool,
    ) -> Expr {
        let top = top && op == BinaryOp::And;
        let left = self.condition(left, top);
        let mark = self.facts.mark();
        self.facts.extend(PresenceFacts::of(&left, op == BinaryOp::And));
        let right = self.condition(right, top);
        self.facts.back_to(mark);
        self.made(node, ExprKind::Binary(op, Box::new(left), Box::new(right)), Type::Bool)
    }

    pub(super) fn not(&mut self, node: &ExpressionNode, inner: &ExpressionNode) -> Expr {
        let inner_expr = self.condition(inner, false);
        let known = matches!(inner_expr.ty, Type::Bool | Type::Unknown);
        let ty = if known { Type::Bool } else { Type::Unknown };
        self.made(node, ExprKind::Not(Box::new(inner_expr)), ty)
    }

    /// An expression that must be true or false.
    pub(super) fn condition(&mut self, node: &ExpressionNode, top: bool) -> Expr {
        let mut expr = self.node(node, top);
        self.learn(&mut expr, &Type::Bool);
        if !matches!(expr.ty, Type::Bool | Type::Unknown) {
            self.not_a_condition(node, &expr);
        } else if expr.optional {
            self.absent_condition(node, &expr);
        }
        expr
    }

    fn not_a_condition(&mut self, node: &ExpressionNode, expr: &Expr) {
        let message = match expr.is_absent() {
            true => "`absent` is not a condition".to_owned(),
            false => {
                let ty = self.describe(&expr.ty);
                format!("{} has type `{ty}`, which is not a condition", self.shown(node))
            }
        };
        let source = self.source(node);
        let help = match expr.optional && !expr.is_absent() {
            true => format!("compare it: `{source} != absent` tests that it is there"),
            false if self.is_negated(node) => {
                "`!` takes the next value alone: write `!(a == b)` or `a != b`".to_owned()
            }
            false => "compare it with something: `a == b`".to_owned(),
        };
        self.report(Diagnostic::new(&rules::TYPE_MISMATCH, expr.span, message).help(help));
    }

    /// Whether a `!` stands directly before it.
    fn is_negated(&self, node: &ExpressionNode) -> bool {
        let before = self.text.text.get(..node.range.start).unwrap_or_default();
        before.trim_end().ends_with('!')
    }

    fn absent_condition(&mut self, node: &ExpressionNode, expr: &Expr) {
        if matches!(expr.kind, ExprKind::Arg(_)) {
            return self.untested_argument(node, expr);
        }
        let message = format!("{} may be absent, and is then neither true nor false", self.shown(node));
        let help = format!(
            "write `{} == true`, which is false where it is absent",
            self.source(node)
        );
        self.report(Diagnostic::new(&rules::MAY_BE_ABSENT, expr.span, message).help(help));
    }

    fn comparison(
        &mut self,
        node: &ExpressionNode,
        op: BinaryOp,
        left: &ExpressionNode,
        right: &ExpressionNode,
        top: bool,
    ) -> Expr {
        let mut left_expr = self.node(left, false);
        let mut right_expr = self.compared_with(&left_expr.ty, op, right);
        if left_expr.is_absent() || right_expr.is_absent() {
            self.absence_test(node, op, (left, &left_expr), (right, &right_expr));
        } else {
            self.tested(left, &left_expr, &right_expr, top);
            self.tested(right, &right_expr, &left_expr, top);
            if op == BinaryOp::In {
                self.membership((left, &mut left_expr), (right, &mut right_expr), self.span(&node.range));
            } else {
                self.meet(
                    op,
                    (left, &mut left_expr),
                    (right, &mut right_expr),
                    self.span(&node.range),
                );
            }
        }
        let kind = ExprKind::Binary(op, Box::new(left_expr), Box::new(right_expr));
        self.made(node, kind, Type::Bool)
    }

    /// The right operand, which helps with bare words of what it is compared with.
    fn compared_with(&mut self, ty: &Type, op: BinaryOp, right: &ExpressionNode) -> Expr {
        self.hint = Some(ty.clone());
        let expr = match &right.kind {
            NodeKind::List(elements) if op == BinaryOp::In => self.list(right, elements, true),
            _ => self.node(right, false),
        };
        self.hint = None;
        expr
    }

    fn absence_test(
        &mut self,
        node: &ExpressionNode,
        op: BinaryOp,
        left: (&ExpressionNode, &Expr),
        right: (&ExpressionNode, &Expr),
    ) {
        if !matches!(op, BinaryOp::Eq | BinaryOp::Ne) {
            let message = format!("`absent` does not go with `{}`", op.symbol());
            let help = "only `== absent` and `!= absent` test for it".to_owned();
            self.refuse(&rules::NO_ORDER, node, message, Some(help));
            return;
        }
        let (tested_node, tested) = if left.1.is_absent() { right } else { left };
        let proven = tested.path().is_some_and(|path| self.facts.is_present(&path));
        let may_be = tested.optional || proven || tested.ty.is_unknown();
        if may_be || matches!(tested.kind, ExprKind::Caller(_) | ExprKind::Entity { .. }) {
            return;
        }
        let message = format!("{} is never absent", self.shown(tested_node));
        let span = self.span(&node.range);
        let help = "leave the test out, or declare what may be absent with `?`";
        self.report(Diagnostic::new(&rules::NEVER_ABSENT, span, message).help(help));
    }

    /// An optional argument is compared at the top of a `where` only, with something of the row.
    pub(super) fn tested(&mut self, node: &ExpressionNode, expr: &Expr, other: &Expr, top: bool) {
        if !expr.optional || !matches!(expr.kind, ExprKind::Arg(_)) {
            return;
        }
        let of_row = other.any(|part| matches!(part.kind, ExprKind::Attribute(_)));
        if !(top && of_row) {
            self.untested_argument(node, expr);
        }
    }

    /// Two values that are compared; `span` is where to report that they cannot be.
    fn meet(&mut self, op: BinaryOp, (left, left_expr): Operand<'_>, (right, right_expr): Operand<'_>, span: Span) {
        self.learn(left_expr, &right_expr.ty);
        self.learn(right_expr, &left_expr.ty);
        self.coerce(left, left_expr, &right_expr.ty);
        self.coerce(right, right_expr, &left_expr.ty);
        if !is_comparable(&left_expr.ty, &right_expr.ty) {
            self.incomparable((left, left_expr), (right, right_expr), span);
        } else if op.is_ordering() {
            self.ordered(op, (left, left_expr), (right, right_expr), span);
        }
    }

    fn incomparable(
        &mut self,
        (left, left_expr): (&ExpressionNode, &Expr),
        (right, right_expr): (&ExpressionNode, &Expr),
        span: Span,
    ) {
        let message = format!(
            "{} has type `{}`, which does not compare with {} of type `{}`",
            self.shown(left),
            self.describe(&left_expr.ty),
            self.shown(right),
            self.describe(&right_expr.ty)
        );
        let help = literal_help(left, &right_expr.ty)
            .or_else(|| literal_help(right, &left_expr.ty))
            .or_else(|| self.comparison_help(left, &left_expr.ty, &right_expr.ty))
            .or_else(|| self.comparison_help(right, &right_expr.ty, &left_expr.ty));
        let mistake = Diagnostic::new(&rules::INCOMPARABLE, span, message);
        self.report(match help {
            Some(help) => mistake.help(help),
            None => mistake,
        });
    }

    fn comparison_help(&self, node: &ExpressionNode, ty: &Type, other: &Type) -> Option<String> {
        let source = self.source(node);
        Some(match (ty, other) {
            (Type::Row(_), _) => format!("compare one of its attributes: `{source}.…`"),
            (ty, Type::Date) if ty.is_instant() => format!("write `day({source})`"),
            (ty, Type::Month) if ty.is_instant() || *ty == Type::Date => {
                format!("write `month({source})`")
            }
            (ty, other) if ty.is_instant() && other.is_instant() => {
                "the two are stored in different forms: keep both as one type".to_owned()
            }
            (ty, Type::Duration) if ty.is_instant() => {
                format!("write `now - {source}` for how long ago")
            }
            (ty, other) if ty.is_instant() && other.is_number() => {
                "instants compare with instants: `now - days(30)`".to_owned()
            }
            (Type::List(..) | Type::Set(..), _) => format!("write `{source}.contains(…)`"),
            (Type::Bool, _) => "chain comparisons with `&&`: `a < b && b < c`".to_owned(),
            (Type::Text(_), Type::Date) => format!("write `date({source})`"),
            (ty, Type::Text(_)) if ty.is_number() => format!("write `string({source})`"),
            _ => return None,
        })
    }

    fn ordered(&mut self, op: BinaryOp, left: (&ExpressionNode, &Expr), right: (&ExpressionNode, &Expr), span: Span) {
        let sides = [left, right];
        if let Some((node, expr)) = sides.into_iter().find(|(_, expr)| !is_orderable(&expr.ty)) {
            let ty = self.describe(&expr.ty);
            let message = format!(
                "{} has type `{ty}`, which has no order for `{}`",
                self.shown(node),
                op.symbol()
            );
            let mistake = Diagnostic::new(&rules::NO_ORDER, expr.span, message);
            self.report(match expr.ty {
                Type::Bool => mistake.help("compare with `==`, and chain comparisons with `&&`"),
                _ => mistake.help("compare with `==`, or one of its fields"),
            });
            return;
        }
        if let (Type::Enum(words), Type::Text(_)) | (Type::Text(_), Type::Enum(words)) = (&left.1.ty, &right.1.ty) {
            let message = format!(
                "`{}` between text and an enum has no order: `{}` sorts by rank",
                op.symbol(),
                words.name
            );
            let help = format!("compare with a member: {}", words.members.join(", "));
            self.report(Diagnostic::new(&rules::NO_ORDER, span, message).help(help));
        }
    }

    /// `element in list`.
    fn membership(&mut self, (left, left_expr): Operand<'_>, (right, right_expr): Operand<'_>, span: Span) {
        if let (NodeKind::List(nodes), ExprKind::List(elements)) = (&right.kind, &mut right_expr.kind) {
            for (node, element) in nodes.iter().zip(elements) {
                let at = element.span;
                self.meet(BinaryOp::Eq, (left, left_expr), (node, element), at);
            }
            return;
        }
        match right_expr.ty.clone() {
            Type::Unknown => {}
            Type::List(element, _) | Type::Set(element, _) => {
                self.learn(left_expr, &element);
                self.coerce(left, left_expr, &element);
                if !is_comparable(&left_expr.ty, &element) {
                    self.incomparable((left, left_expr), (right, right_expr), span);
                }
            }
            ty => {
                let message = format!(
                    "{} has type `{}`, which `in` cannot look into",
                    self.shown(right),
                    self.describe(&ty)
                );
                // Text within text is no membership: `contains` would take `helpdesk` for `desk`.
                let help = match (ty, &right_expr.kind) {
                    (Type::Text(_), ExprKind::Caller(name)) => format!(
                        "it is one text, so compare it whole with `{} == {}`; where tokens have a list, say so under `claims`: `{name}: {{claim: {name}, type: list(string)}}`",
                        self.source(right),
                        self.source(left)
                    ),
                    (Type::Text(_), _) => format!(
                        "it is one text: compare it whole with `{} == {}`; `in` takes a list or a set",
                        self.source(right),
                        self.source(left)
                    ),
                    _ => "`in` takes a list or a set: `x in [a, b]`".to_owned(),
                };
                self.report(Diagnostic::new(&rules::TYPE_MISMATCH, span, message).help(help));
            }
        }
    }
}

/// Quotes that are missing or too many.
fn literal_help(node: &ExpressionNode, other: &Type) -> Option<String> {
    match (&node.kind, other) {
        (NodeKind::Number { value, .. }, Type::Text(_)) => Some(format!("write `\"{value}\"` for text")),
        (NodeKind::Text(text), other) if other.is_number() && text.parse::<Number>().is_ok() => {
            Some(format!("write `{text}` without quotes"))
        }
        (NodeKind::Text(text), Type::Bool) if matches!(text.as_str(), "true" | "false") => {
            Some(format!("write `{text}` without quotes"))
        }
        _ => None,
    }
}
