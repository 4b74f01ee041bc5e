//! From the untyped tree to the typed one: names, types, absence.

mod arithmetic;
mod calls;
mod each;
mod keys;
mod literals;
mod names;
mod operators;
mod unknown;

use std::ops::Range;
use std::sync::Arc;

use super::facts::PresenceFacts;
use super::parse::{ExpressionNode, FieldNode, NodeKind};
use super::relations::{is_assignable, unified_type};
use super::scope::{Absence, BoundName, OptionalArgs, Scope};
use super::tokens::quote_input;
use super::tree::{Expr, ExprKind, Literal};
use super::{Target, rules};
use crate::diagnostic::{Diagnostic, Diagnostics, Rule};
use crate::source::Span;
use crate::text::Text;
use crate::types::{LengthLimits, ObjectField, ObjectType, Type};

/// Checks one expression.
pub(super) struct Checker<'s, 'c> {
    text: &'s Text,
    scope: &'s Scope<'c>,
    out: &'s mut Diagnostics,
    /// The variables of the functions over lists that are open, the innermost last.
    variables: Vec<BoundName>,
    /// What the scope and the conditions passed so far prove.
    facts: PresenceFacts,
    /// What a bare name would be compared with or assigned to: for help with names that mean nothing.
    hint: Option<Type>,
    /// Whether `/` is allowed: directly within `round`.
    divides: bool,
}

impl<'s, 'c> Checker<'s, 'c> {
    pub fn new(text: &'s Text, scope: &'s Scope<'c>, out: &'s mut Diagnostics) -> Self {
        Checker {
            text,
            scope,
            out,
            variables: Vec::new(),
            facts: scope.facts.clone(),
            hint: None,
            divides: false,
        }
    }

    /// A whole expression of an expected type.
    pub fn check_whole(&mut self, node: &ExpressionNode, expected: Option<&Type>) -> Expr {
        self.hint = expected.cloned();
        let mut expr = self.node(node, self.is_left_out());
        if let Some(expected) = expected {
            self.assign(node, &mut expr, expected);
        }
        expr
    }

    /// A whole condition.
    pub(crate) fn whole_condition(&mut self, node: &ExpressionNode) -> Expr {
        self.condition(node, self.is_left_out())
    }

    /// A whole value for an attribute or an argument.
    pub(crate) fn whole_value(&mut self, node: &ExpressionNode, target: Target<'_>) -> Expr {
        self.hint = Some(target.ty.clone());
        let mut expr = self.node(node, false);
        self.assign(node, &mut expr, target.ty);
        if expr.optional && !target.optional {
            self.absent_into_required(node, &expr, target.name);
        }
        expr
    }

    fn absent_into_required(&mut self, node: &ExpressionNode, expr: &Expr, target: &str) {
        let (rule, help) = match (&expr.kind, expr.is_absent()) {
            (_, true) => (
                &rules::MAY_BE_ABSENT,
                format!("declare `{target}` with `?` to let it be removed"),
            ),
            (ExprKind::Arg(_), _) => (&rules::UNTESTED_ARGUMENT, self.test_first(expr)),
            _ => (&rules::MAY_BE_ABSENT, self.test_first(expr)),
        };
        let message = if expr.is_absent() {
            format!("`{target}` is required and cannot be `absent`")
        } else {
            format!("{} may be absent, and `{target}` is required", self.shown(node))
        };
        self.report(Diagnostic::new(rule, expr.span, message).help(help));
    }

    fn is_left_out(&self) -> bool {
        self.scope.optional_args == OptionalArgs::LeftOut
    }

    /// `top` says that the node is a top-level conjunct of a `where`, which is left out with its optional argument.
    fn node(&mut self, node: &ExpressionNode, top: bool) -> Expr {
        if !matches!(
            node.kind,
            NodeKind::Name(_) | NodeKind::List(_) | NodeKind::Conditional(..)
        ) {
            self.hint = None;
        }
        match &node.kind {
            NodeKind::Bool(value) => self.constant(node, Literal::Bool(*value), Type::Bool),
            NodeKind::Number { value, whole } => {
                let ty = if *whole { Type::int() } else { Type::number() };
                self.constant(node, Literal::Number(*value), ty)
            }
            NodeKind::Text(text) => self.constant(node, Literal::Text(text.clone()), Type::text()),
            NodeKind::Null => self.foreign_absence(node, "null"),
            NodeKind::Name(name) => self.name(node, name),
            NodeKind::Field(of, name) => self.field(node, of, name),
            NodeKind::Index(of, at) => self.index(node, of, at),
            NodeKind::Not(inner) => self.not(node, inner),
            NodeKind::Negate(inner) => self.negate(node, inner),
            NodeKind::Binary(op, left, right) => self.binary(node, *op, left, right, top),
            NodeKind::Conditional(test, then, otherwise) => self.conditional(node, test, then, otherwise),
            NodeKind::List(elements) => self.list(node, elements, false),
            NodeKind::Record(fields) => self.record(node, fields),
            NodeKind::Call { name, receiver, args } => self.call(node, name, receiver.as_deref(), args, top),
            NodeKind::Key { entity, fields } => self.key_by_name(node, entity, fields),
        }
    }

    fn conditional(
        &mut self,
        node: &ExpressionNode,
        test: &ExpressionNode,
        then: &ExpressionNode,
        otherwise: &ExpressionNode,
    ) -> Expr {
        let hint = self.hint.take();
        let test = self.condition(test, false);
        let mut then_expr = self.given(&test, true, then, hint.clone());
        let mut otherwise_expr = self.given(&test, false, otherwise, hint);
        self.coerce(then, &mut then_expr, &otherwise_expr.ty);
        self.coerce(otherwise, &mut otherwise_expr, &then_expr.ty);
        let ty = unified_type(&then_expr.ty, &otherwise_expr.ty).unwrap_or_else(|| {
            self.branches_disagree(then, &then_expr.ty, otherwise, &otherwise_expr.ty);
            Type::Unknown
        });
        let optional = then_expr.optional || otherwise_expr.optional;
        let kind = ExprKind::Conditional(Box::new(test), Box::new(then_expr), Box::new(otherwise_expr));
        Expr {
            optional,
            ..self.made(node, kind, ty)
        }
    }

    /// A branch, with what the test proves in it.
    fn given(&mut self, test: &Expr, truth: bool, branch: &ExpressionNode, hint: Option<Type>) -> Expr {
        let mark = self.facts.mark();
        self.facts.extend(PresenceFacts::of(test, truth));
        self.hint = hint;
        let expr = self.node(branch, false);
        self.hint = None;
        self.facts.back_to(mark);
        expr
    }

    fn branches_disagree(&mut self, one: &ExpressionNode, one_ty: &Type, other: &ExpressionNode, other_ty: &Type) {
        let (one_name, other_name) = (self.describe(one_ty), self.describe(other_ty));
        let message = match one_name == other_name {
            false => format!(
                "{} has type `{one_name}` and {} has type `{other_name}`",
                self.shown(one),
                self.shown(other)
            ),
            true => format!(
                "{} and {} are two types that are both called `{one_name}`",
                self.shown(one),
                self.shown(other)
            ),
        };
        let help = match (one_ty.object_type(), other_ty.object_type()) {
            (Some(one), Some(other)) => format!(
                "both results need one type, and these have the fields {} and {}",
                field_names(one),
                field_names(other)
            ),
            _ => "both results need one type".to_owned(),
        };
        let span = self.span(&other.range);
        self.report(Diagnostic::new(&rules::BRANCHES, span, message).help(help));
    }

    /// A list. Within `in`, an element that may be absent simply never matches.
    fn list(&mut self, node: &ExpressionNode, elements: &[ExpressionNode], absent_allowed: bool) -> Expr {
        let hint = self.hint.take();
        let mut exprs = Vec::with_capacity(elements.len());
        for element in elements {
            self.hint = hint.clone();
            let expr = self.node(element, false);
            if !absent_allowed || matches!(expr.kind, ExprKind::Arg(_)) {
                self.present(element, &expr);
            }
            exprs.push(expr);
        }
        self.hint = None;
        let element = self.element_type(elements, &mut exprs);
        let limits = LengthLimits {
            min: None,
            max: Some(exprs.len() as u64),
        };
        let ty = Type::List(Arc::new(element), limits);
        self.made(node, ExprKind::List(exprs), ty)
    }

    /// One type for all elements; literals take that of the others.
    fn element_type(&mut self, elements: &[ExpressionNode], exprs: &mut [Expr]) -> Type {
        let particular = exprs.iter().find(|expr| expr.as_literal().is_none());
        let mut ty = particular.map_or(Type::Unknown, |expr| expr.ty.clone());
        for (element, expr) in elements.iter().zip(exprs) {
            self.coerce(element, expr, &ty);
            match unified_type(&ty, &expr.ty) {
                Some(both) => ty = both,
                None => {
                    let first = elements.first().unwrap_or(element);
                    self.branches_disagree(first, &ty, element, &expr.ty);
                    return Type::Unknown;
                }
            }
        }
        ty
    }

    fn record(&mut self, node: &ExpressionNode, fields: &[FieldNode]) -> Expr {
        let mut parts = Vec::with_capacity(fields.len());
        let mut types = Vec::with_capacity(fields.len());
        for field in fields {
            let expr = self.node(&field.value, false);
            types.push(ObjectField {
                name: field.field.clone(),
                ty: expr.ty.clone(),
                optional: expr.optional,
            });
            parts.push((field.field.clone(), expr));
        }
        let object = ObjectType {
            name: String::new(),
            fields: types,
        };
        self.made(node, ExprKind::Record(parts), Type::Object(Arc::new(object)))
    }

    /// Makes a value of `to` out of an expression, or reports why it is none.
    fn assign(&mut self, node: &ExpressionNode, expr: &mut Expr, to: &Type) {
        self.learn(expr, to);
        self.coerce(node, expr, to);
        if !is_assignable(&expr.ty, to) {
            self.mismatch(node, expr, to);
            return;
        }
        self.within_limits(node, expr, to);
    }

    fn mismatch(&mut self, node: &ExpressionNode, expr: &Expr, to: &Type) {
        let message = format!(
            "{} has type `{}` where `{}` is expected",
            self.shown(node),
            self.describe(&expr.ty),
            self.describe(to)
        );
        let mistake = Diagnostic::new(&rules::TYPE_MISMATCH, expr.span, message);
        if let (NodeKind::Name(name), Type::Enum(words)) = (&node.kind, to)
            && words.members.contains(name)
        {
            let help = format!("write `\"{name}\"` for the member: without quotes it is another value of that name");
            return self.report(mistake.help(help).replace_with(format!("\"{name}\"")));
        }
        let help = self.conversion(node, &expr.ty, to);
        let usual = || format!("give a value of type `{}`, or change the type", self.describe(to));
        let help = help.unwrap_or_else(usual);
        self.report(mistake.help(help));
    }

    /// How a value of one type becomes one of another.
    fn conversion(&self, node: &ExpressionNode, from: &Type, to: &Type) -> Option<String> {
        let source = self.source(node);
        Some(match (from, to) {
            (Type::Row(_), _) => format!("name one of its attributes: `{source}.…`"),
            (from, Type::Date) if from.is_instant() => format!("write `day({source})`"),
            (Type::Date, to) if to.is_instant() => format!("write `time({source}, \"00:00\")`"),
            (from, Type::Month) if from.is_instant() || *from == Type::Date => {
                format!("write `month({source})`")
            }
            (Type::Number(_), Type::Int(_)) if matches!(node.kind, NodeKind::Number { .. }) => {
                "write a whole number".to_owned()
            }
            (Type::Number(_), Type::Int(_)) => format!("write `round({source}, 0)`"),
            (from, Type::Text(_)) if from.is_number() || from.is_instant() => {
                format!("write `string({source})`")
            }
            (Type::Date | Type::Month | Type::Bool, Type::Text(_)) => {
                format!("write `string({source})`")
            }
            (Type::Text(_), Type::Enum(words)) => {
                format!("the members are {}", words.members.join(", "))
            }
            (_, Type::Bool) => "compare it with something".to_owned(),
            (Type::Text(_), to) if to.is_number() && matches!(node.kind, NodeKind::Text(_)) => {
                "write a number, without quotes".to_owned()
            }
            _ => return None,
        })
    }

    /// A path variable takes the type of what it meets.
    fn learn(&self, expr: &mut Expr, ty: &Type) {
        if let ExprKind::Arg(name) = &expr.kind
            && let Some(arg) = self.scope.args.and_then(|args| args.get(name))
        {
            arg.learn_type(ty);
            expr.ty = arg.known_type();
        }
    }

    /// Asks that a value be there to compute with. Whether the result may be absent all the same: where absence spreads.
    fn present(&mut self, node: &ExpressionNode, expr: &Expr) -> bool {
        if !expr.optional {
            return false;
        }
        if self.scope.absence == Absence::Spreads && !expr.is_absent() {
            return true;
        }
        if expr.is_absent() {
            let message = "`absent` is no value to compute with";
            let help = "`x == absent` and `x != absent` test for it";
            self.report(Diagnostic::new(&rules::MAY_BE_ABSENT, expr.span, message).help(help));
        } else if matches!(expr.kind, ExprKind::Arg(_)) {
            self.untested_argument(node, expr);
        } else {
            let message = format!("{} may be absent here", self.shown(node));
            let help = self.test_first(expr);
            self.report(Diagnostic::new(&rules::MAY_BE_ABSENT, expr.span, message).help(help));
        }
        false
    }

    fn untested_argument(&mut self, node: &ExpressionNode, expr: &Expr) {
        let source = self.source(node);
        let message = format!("the optional argument `{source}` is used without a test");
        let help = match self.is_left_out() {
            true => format!(
                "only a top-level `attribute OP {source}` is left out with it; else say what holds without it: \
                 `({source} == absent || …)` finds all, `{source} != absent && …` nothing"
            ),
            false => self.test_first(expr),
        };
        self.report(Diagnostic::new(&rules::UNTESTED_ARGUMENT, expr.span, message).help(help));
    }

    /// A test of the whole path, which proves each part of it.
    fn test_first(&self, expr: &Expr) -> String {
        match expr.path() {
            Some(path) => {
                format!("test it first: `{path} != absent && …`, or `{path} == absent ? … : …`")
            }
            None => "bind it with `let` and test it first".to_owned(),
        }
    }

    fn constant(&self, node: &ExpressionNode, literal: Literal, ty: Type) -> Expr {
        let optional = literal == Literal::Absent;
        Expr {
            optional,
            ..self.made(node, ExprKind::Literal(literal), ty)
        }
    }

    fn made(&self, node: &ExpressionNode, kind: ExprKind, ty: Type) -> Expr {
        Expr {
            kind,
            ty,
            optional: false,
            span: self.span(&node.range),
        }
    }

    /// Clears optionality where a condition proved the value.
    fn narrowed(&self, mut expr: Expr) -> Expr {
        if expr.optional && expr.path().is_some_and(|path| self.facts.is_present(&path)) {
            expr.optional = false;
        }
        expr
    }

    fn invalid(&self, node: &ExpressionNode) -> Expr {
        Expr::invalid_at(self.span(&node.range))
    }

    fn span(&self, range: &Range<usize>) -> Span {
        self.text.span_of(range.start, range.end)
    }

    /// The text of a node.
    fn source(&self, node: &ExpressionNode) -> &'s str {
        self.text.text.get(node.range.clone()).unwrap_or_default()
    }

    /// The text of a node as messages show it.
    fn shown(&self, node: &ExpressionNode) -> String {
        quote_input(self.source(node))
    }

    fn describe(&self, ty: &Type) -> String {
        self.scope.catalog.describe_type(ty)
    }

    fn report(&mut self, mistake: Diagnostic) {
        self.out.push(mistake);
    }

    /// Reports a mistake of a node, which then has no meaning.
    fn refuse(&mut self, rule: &'static Rule, node: &ExpressionNode, message: String, help: Option<String>) -> Expr {
        let mistake = Diagnostic::new(rule, self.span(&node.range), message);
        self.report(match help {
            Some(help) => mistake.help(help),
            None => mistake,
        });
        self.invalid(node)
    }
}

/// The fields of an object with their types, for messages.
fn field_names(object: &ObjectType) -> String {
    let fields = object.fields.iter().map(|field| {
        let optional = if field.optional { "?" } else { "" };
        format!("`{}: {}{optional}`", field.name, field.ty)
    });
    fields.collect::<Vec<_>>().join(", ")
}
