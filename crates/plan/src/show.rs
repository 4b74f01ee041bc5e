//! Expressions as text, for plans that people read and for comparing meanings.

use singlet_item::key::Part;
use singlet_model::catalog::Catalog;
use singlet_model::expression::{CallForm, EachOp, Expr, ExprKind, Literal};
use singlet_model::model::KeyTemplate;

use crate::values::{DayEnd, DayRange};

/// An expression as it would be written, but for the names of entities. Two expressions with one text mean the same.
pub fn show_expression(expr: &Expr) -> String {
    Writer { catalog: None }.write(expr, 0)
}

/// An expression as it would be written, for people.
pub fn expression_in(catalog: &Catalog, expr: &Expr) -> String {
    let catalog = Some(catalog);
    Writer { catalog }.write(expr, 0)
}

/// Several conditions that must all hold.
pub fn show_conjunction(conditions: &[Expr]) -> String {
    const AND: u8 = 3;
    let writer = Writer { catalog: None };
    let texts: Vec<String> = conditions
        .iter()
        .map(|condition| writer.write(condition, AND + 1))
        .collect();
    texts.join(" && ")
}

/// A range of days in words: `each day from args.from to args.to`.
pub(crate) fn day_range(range: &DayRange) -> String {
    let ends = |ends: &[DayEnd]| {
        let texts: Vec<String> = ends.iter().map(|end| show_expression(&end.value)).collect();
        texts.join(" and ")
    };
    format!(
        "each {} {} to {}",
        range.unit.word(),
        ends(&range.from),
        ends(&range.to)
    )
}

/// How tightly an operator binds; what binds looser inside it stands in parentheses.
fn strength(expr: &Expr) -> u8 {
    use singlet_model::expression::BinaryOp as Op;
    match &expr.kind {
        ExprKind::Conditional(..) => 1,
        ExprKind::Binary(Op::Or, ..) => 2,
        ExprKind::Binary(Op::And, ..) => 3,
        ExprKind::Binary(op, ..) if op.is_comparison() => 4,
        ExprKind::Binary(Op::Add | Op::Sub, ..) => 5,
        ExprKind::Binary(..) => 6,
        ExprKind::Not(_) | ExprKind::Negate(_) => 7,
        _ => 8,
    }
}

/// Expressions as text; entities have names where a catalog is at hand.
struct Writer<'a> {
    catalog: Option<&'a Catalog>,
}

impl Writer<'_> {
    fn write(&self, expr: &Expr, around: u8) -> String {
        let own = strength(expr);
        let text = match &expr.kind {
            ExprKind::Literal(literal) => literal_text(literal),
            ExprKind::Attribute(name) | ExprKind::Bound(name) => name.clone(),
            ExprKind::Row => "row".to_owned(),
            ExprKind::Arg(name) => format!("args.{name}"),
            ExprKind::Caller(name) => format!("caller.{name}"),
            ExprKind::Setting(name) => format!("settings.{name}"),
            ExprKind::Now => "now".to_owned(),
            ExprKind::Today => "today".to_owned(),
            ExprKind::Word(word) => word.as_str().to_owned(),
            ExprKind::Field(of, name) => format!("{}.{name}", self.write(of, own)),
            ExprKind::Index(of, at) => format!("{}[{}]", self.write(of, own), self.write(at, 0)),
            ExprKind::Not(inner) => format!("!{}", self.write(inner, own)),
            ExprKind::Negate(inner) => format!("-{}", self.write(inner, own)),
            ExprKind::Binary(op, left, right) => {
                format!(
                    "{} {} {}",
                    self.write(left, own),
                    op.symbol(),
                    self.write(right, own + 1)
                )
            }
            ExprKind::Conditional(test, then, otherwise) => {
                format!(
                    "{} ? {} : {}",
                    self.write(test, own + 1),
                    self.write(then, own),
                    self.write(otherwise, own)
                )
            }
            ExprKind::List(elements) => format!("[{}]", self.joined(elements)),
            ExprKind::Record(fields) => {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(name, value)| format!("{name}: {}", self.write(value, 0)))
                    .collect();
                format!("{{{}}}", fields.join(", "))
            }
            ExprKind::Call(function, args) => {
                self.call(function.function().map(|known| known.form), function.name(), args)
            }
            ExprKind::Each { op, list, var, body } => self.each(*op, list, var, body),
            ExprKind::Entity { entity, key } => {
                let key: Vec<String> = key.iter().map(|(_, value)| self.write(value, 0)).collect();
                match self.catalog {
                    Some(catalog) => format!("{}({})", catalog.name(*entity), key.join(", ")),
                    None => format!("#{}({})", entity.0, key.join(", ")),
                }
            }
            ExprKind::Invalid => "?".to_owned(),
        };
        if own < around { format!("({text})") } else { text }
    }

    fn call(&self, form: Option<CallForm>, name: &str, args: &[Expr]) -> String {
        match (form, args.split_first()) {
            (Some(CallForm::Method), Some((receiver, rest))) => {
                format!("{}.{name}({})", self.write(receiver, 8), self.joined(rest))
            }
            _ => format!("{name}({})", self.joined(args)),
        }
    }

    fn each(&self, op: EachOp, list: &Expr, var: &str, body: &Expr) -> String {
        let (list, body) = (self.write(list, 8), self.write(body, 0));
        match op {
            EachOp::Exists => format!("{list}.exists({var}, {body})"),
            EachOp::All => format!("{list}.all({var}, {body})"),
            EachOp::Map => format!("{list}.map({var}, {body})"),
            EachOp::Filter => format!("{list}.filter({var}, {body})"),
            EachOp::Sum => format!("sum({list}, {var}, {body})"),
            EachOp::Group => format!("group({list}, {var}, {body})"),
        }
    }

    fn joined(&self, exprs: &[Expr]) -> String {
        let texts: Vec<String> = exprs.iter().map(|expr| self.write(expr, 0)).collect();
        texts.join(", ")
    }
}

fn literal_text(literal: &Literal) -> String {
    match literal {
        Literal::Bool(truth) => truth.to_string(),
        Literal::Number(number) => number.to_string(),
        Literal::Text(text) => format!("{text:?}"),
        Literal::Absent => "absent".to_owned(),
    }
}

/// The pieces of a template: its text, and the number of each variable part.
pub(crate) fn template_pieces(key: &KeyTemplate) -> Vec<Piece<'_>> {
    let mut number = 0;
    let parts = key.template.parts().iter();
    parts
        .map(|part| match part {
            Part::Text(text) => Piece::Text(text),
            _ => {
                number += 1;
                Piece::Part(number - 1)
            }
        })
        .collect()
}

/// A piece of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    Text(&'a str),
    Part(usize),
}
