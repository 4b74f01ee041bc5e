//! Functions that look at each element of a list: `exists all map filter sum group`.

use std::sync::Arc;

use super::Checker;
use crate::diagnostic::Diagnostic;
use crate::expression::parse::{ExpressionNode, NodeKind};
use crate::expression::scope::BoundName;
use crate::expression::tree::{EachOp, Expr, ExprKind};
use crate::expression::{RESERVED_NAMES, rules};
use crate::types::{LengthLimits, Type};

impl Checker<'_, '_> {
    /// `nodes` are the list, the variable and the body.
    pub(super) fn each(&mut self, node: &ExpressionNode, op: EachOp, nodes: &[&ExpressionNode]) -> Expr {
        let [list, variable, body] = nodes else {
            return self.invalid(node);
        };
        let list_expr = self.node(list, false);
        let mut spreads = self.present(list, &list_expr);
        let Some(element) = self.element_of(list, &list_expr) else {
            return self.invalid(node);
        };
        let Some(var) = self.variable(variable) else {
            return self.invalid(node);
        };
        self.variables.push(BoundName {
            name: var.clone(),
            ty: element,
            optional: false,
        });
        let body_expr = self.body(op, body);
        spreads |= body_expr.optional;
        self.variables.pop();
        let ty = result(op, &list_expr.ty, &body_expr.ty);
        let kind = ExprKind::Each {
            op,
            list: Box::new(list_expr),
            var,
            body: Box::new(body_expr),
        };
        Expr {
            optional: spreads,
            ..self.made(node, kind, ty)
        }
    }

    fn element_of(&mut self, node: &ExpressionNode, list: &Expr) -> Option<Type> {
        match &list.ty {
            Type::Unknown => Some(Type::Unknown),
            Type::List(element, _) | Type::Set(element, _) => Some(element.as_ref().clone()),
            other => {
                let ty = self.describe(other);
                let message = format!("{} has type `{ty}`, which has no elements to look at", self.shown(node));
                let help = "a list or a set is expected";
                self.report(Diagnostic::new(&rules::TYPE_MISMATCH, list.span, message).help(help));
                None
            }
        }
    }

    /// A variable is a new name, so that nobody takes it for something else.
    fn variable(&mut self, node: &ExpressionNode) -> Option<String> {
        let NodeKind::Name(name) = &node.kind else {
            let message = format!("{} stands where the name of an element is expected", self.shown(node));
            let help = "write a new name first: `rows.exists(e, e.status == \"open\")`".to_owned();
            self.refuse(&rules::WRONG_ARGUMENTS, node, message, Some(help));
            return None;
        };
        let attribute = self
            .scope
            .attributes
            .is_some_and(|id| self.scope.catalog.attribute(id, name).is_some());
        let taken = match name.as_str() {
            name if RESERVED_NAMES.contains(&name) => "a reserved word",
            _ if attribute => "an attribute",
            name if self.bound(name).is_some() => "bound already",
            _ => return Some(name.clone()),
        };
        let message = format!("`{name}` is {taken} and cannot name an element");
        self.refuse(&rules::AMBIGUOUS, node, message, Some("choose another name".to_owned()));
        None
    }

    fn body(&mut self, op: EachOp, body: &ExpressionNode) -> Expr {
        if matches!(op, EachOp::Exists | EachOp::All | EachOp::Filter) {
            return self.condition(body, false);
        }
        let mut expr = self.node(body, false);
        expr.optional = self.present(body, &expr);
        if op == EachOp::Sum && !expr.ty.is_number() && !expr.ty.is_unknown() {
            self.mismatch(body, &expr, &Type::number());
        }
        expr
    }
}

fn result(op: EachOp, list: &Type, body: &Type) -> Type {
    // What is made of a list is no longer than the list: loops and transactions are bounded by it.
    let limits = LengthLimits {
        min: None,
        max: list.length_max(),
    };
    let list_of = |ty: Type| Type::List(Arc::new(ty), limits);
    match op {
        EachOp::Exists | EachOp::All => Type::Bool,
        EachOp::Map => list_of(body.clone()),
        EachOp::Filter => match list.element_type() {
            Some(element) => list_of(element.clone()),
            None => Type::Unknown,
        },
        EachOp::Sum => match body {
            Type::Int(_) | Type::Version => Type::int(),
            Type::Number(_) => Type::number(),
            _ => Type::Unknown,
        },
        EachOp::Group => {
            let row = list.element_type().cloned().unwrap_or(Type::Unknown);
            list_of(Type::Group(Arc::new(body.clone()), Arc::new(row)))
        }
    }
}
