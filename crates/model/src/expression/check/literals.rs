//! What text and numbers written out stand for, where they meet a type.

use super::Checker;
use crate::diagnostic::{Diagnostic, nearest_word};
use crate::evaluate::time;
use crate::expression::parse::{ExpressionNode, NodeKind};
use crate::expression::relations::unified_type;
use crate::expression::rules;
use crate::expression::tree::{Expr, ExprKind, Literal};
use crate::spelling::canonical_text;
use crate::types::{LengthLimits, NumberLimits, Type};
use singlet_item::Number;

impl Checker<'_, '_> {
    /// Lets literals take the type that they meet, also within a list and the branches of `? :`.
    pub(super) fn coerce(&mut self, node: &ExpressionNode, expr: &mut Expr, to: &Type) {
        match (&node.kind, &mut expr.kind) {
            (NodeKind::Conditional(_, then, otherwise), ExprKind::Conditional(_, a, b)) => {
                self.coerce(then, a, to);
                self.coerce(otherwise, b, to);
                expr.ty = unified_type(&a.ty, &b.ty).unwrap_or(Type::Unknown);
            }
            (NodeKind::List(nodes), ExprKind::List(elements)) => {
                if let Type::List(wanted, _) | Type::Set(wanted, _) = to {
                    self.coerce_elements(nodes, elements, wanted);
                    let all = elements
                        .iter()
                        .try_fold(Type::Unknown, |ty, expr| unified_type(&ty, &expr.ty));
                    expr.ty = Type::List(all.unwrap_or(Type::Unknown).into(), LengthLimits::default());
                }
            }
            (_, ExprKind::Literal(Literal::Text(text))) if matches!(expr.ty, Type::Text(_)) => {
                let text = text.clone();
                self.coerce_text(expr, &text, to);
            }
            (_, ExprKind::Literal(Literal::Number(_))) if matches!(to, Type::Number(_)) => {
                expr.ty = Type::number();
            }
            _ => {}
        }
    }

    fn coerce_elements(&mut self, nodes: &[ExpressionNode], elements: &mut [Expr], wanted: &Type) {
        for (node, element) in nodes.iter().zip(elements) {
            self.learn(element, wanted);
            self.coerce(node, element, wanted);
        }
    }

    fn coerce_text(&mut self, expr: &mut Expr, text: &str, to: &Type) {
        let expected = match to {
            Type::Enum(words) => return self.member(expr, text, &words.members, to),
            Type::OrWords(_, words) if words.iter().any(|word| word == text) => {
                expr.ty = to.clone();
                return;
            }
            Type::OrWords(value, words) if !matches!(**value, Type::Text(_)) => {
                return self.value_or_word(expr, text, value, words);
            }
            Type::Date => "a date, as in `\"2026-02-13\"`",
            Type::Month => "a month, as in `\"2026-02\"`",
            Type::Time => "a time, as in `\"2026-02-13T08:00:00Z\"`",
            Type::Ulid => "a ulid of 26 characters",
            Type::Ksuid => "a ksuid of 27 characters",
            Type::Uuid => "a uuid, as in `\"123e4567-e89b-12d3-a456-426614174000\"`",
            _ => return,
        };
        match canonical_text(text, to) {
            Some(text) => become_text(expr, text.into_owned(), to),
            None => self.invalid_literal(expr, text, expected),
        }
    }

    fn invalid_literal(&mut self, expr: &mut Expr, text: &str, form: &str) {
        let message = format!("`\"{text}\"` is not {form}");
        let mistake = Diagnostic::new(&rules::INVALID_LITERAL, expr.span, message);
        let relative = match text {
            "today" | "now" => Some(format!("write `{text}` without quotes")),
            "tomorrow" => Some("write `today + days(1)`".to_owned()),
            "yesterday" => Some("write `today - days(1)`".to_owned()),
            text if text.starts_with(['+', '-']) => Some("years have four digits and no sign".to_owned()),
            date if is_date(date) => Some("compare the day of the time: `day(…)`".to_owned()),
            _ => None,
        };
        self.report(match relative {
            Some(help) => mistake.help(help),
            None => mistake,
        });
        expr.ty = Type::Unknown;
    }

    fn member(&mut self, expr: &mut Expr, text: &str, members: &[String], to: &Type) {
        if !members.iter().any(|member| member == text) {
            let message = format!("`\"{text}\"` is not a member of `{}`", self.describe(to));
            let listed = format!("the members are {}", members.join(", "));
            let mistake = Diagnostic::new(&rules::NOT_A_MEMBER, expr.span, message);
            self.report(match nearest_word(text, members.iter().map(String::as_str)) {
                Some(near) => mistake
                    .help(format!("did you mean `\"{near}\"`? {listed}"))
                    .replace_with(format!("\"{near}\"")),
                None => mistake.help(listed),
            });
        }
        expr.ty = to.clone();
    }

    fn value_or_word(&mut self, expr: &mut Expr, text: &str, value: &Type, words: &[String]) {
        if !matches!(
            value,
            Type::Date | Type::Month | Type::Time | Type::Ulid | Type::Ksuid | Type::Uuid
        ) {
            return;
        }
        if let Some(text) = canonical_text(text, value) {
            return become_text(expr, text.into_owned(), value);
        }
        let words: Vec<String> = words.iter().map(|word| format!("`\"{word}\"`")).collect();
        let form = format!("a {value}, nor {}", words.join(", nor "));
        self.invalid_literal(expr, text, &form);
    }

    /// Literals that a type could never hold.
    pub(super) fn within_limits(&mut self, node: &ExpressionNode, expr: &Expr, to: &Type) {
        match (&node.kind, &expr.kind, to) {
            (NodeKind::Conditional(_, then, otherwise), ExprKind::Conditional(_, a, b), _) => {
                self.within_limits(then, a, to);
                self.within_limits(otherwise, b, to);
            }
            (_, ExprKind::Literal(Literal::Number(value)), Type::Int(limits) | Type::Number(limits))
                if !admits(limits, *value) =>
            {
                let message = format!("`{value}` is outside {}", number_range(limits));
                self.report(Diagnostic::new(&rules::OUTSIDE_LIMITS, expr.span, message));
            }
            (_, ExprKind::Literal(Literal::Text(text)), Type::Text(limits)) => {
                let length = text.chars().count() as u64;
                if !holds(limits.length, length) {
                    let range = length_range(limits.length);
                    let message = format!("text of {length} characters is outside {range}");
                    self.report(Diagnostic::new(&rules::OUTSIDE_LIMITS, expr.span, message));
                }
            }
            _ => {}
        }
    }

    /// The clock of `time(date, "08:00")`, also in the branches of `? :`.
    pub(super) fn clock(&mut self, node: &ExpressionNode, expr: &Expr) {
        match (&node.kind, &expr.kind) {
            (NodeKind::Conditional(_, then, otherwise), ExprKind::Conditional(_, a, b)) => {
                self.clock(then, a);
                self.clock(otherwise, b);
            }
            (_, ExprKind::Literal(Literal::Text(text))) if time::clock_time(text).is_none() => {
                let message = format!("`\"{text}\"` is not a time of day, as in `\"08:00\"`");
                self.report(Diagnostic::new(&rules::INVALID_LITERAL, expr.span, message));
            }
            _ => {}
        }
    }
}

fn admits(limits: &NumberLimits, value: Number) -> bool {
    limits.min.is_none_or(|min| value >= min)
        && limits.max.is_none_or(|max| value <= max)
        && limits.only.as_ref().is_none_or(|only| only.contains(&value))
}

fn number_range(limits: &NumberLimits) -> String {
    if let Some(only) = &limits.only {
        let values: Vec<String> = only.iter().map(Number::to_string).collect();
        return format!("`[{}]`", values.join(", "));
    }
    let end = |end: Option<Number>| end.map(|end| end.to_string()).unwrap_or_default();
    format!("`{}..{}`", end(limits.min), end(limits.max))
}

fn holds(limits: LengthLimits, length: u64) -> bool {
    limits.min.is_none_or(|min| length >= min) && limits.max.is_none_or(|max| length <= max)
}

fn length_range(limits: LengthLimits) -> String {
    let end = |end: Option<u64>| end.map(|end| end.to_string()).unwrap_or_default();
    format!("`{}..{}`", end(limits.min), end(limits.max))
}

/// The literal as a value of the type is spelled.
fn become_text(expr: &mut Expr, text: String, ty: &Type) {
    expr.kind = ExprKind::Literal(Literal::Text(text));
    expr.ty = ty.clone();
}

fn is_date(text: &str) -> bool {
    time::parse_day(text).is_ok()
}
