//! Expressions as text, for plans that people read and for comparing meanings.

use singlet_item::key::Part;
use singlet_model::expression::{EachOp, Expr, ExprKind, Form, Literal};
use singlet_model::model::KeyTemplate;

/// An expression as it would be written. Two expressions with one text mean the same.
pub fn expression(expr: &Expr) -> String {
    write(expr, 0)
}

/// Several conditions that must all hold.
pub fn conjunction(conditions: &[Expr]) -> String {
    const AND: u8 = 3;
    let texts: Vec<String> = conditions.iter().map(|condition| write(condition, AND + 1)).collect();
    texts.join(" && ")
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

fn write(expr: &Expr, around: u8) -> String {
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
        ExprKind::Field(of, name) => format!("{}.{name}", write(of, own)),
        ExprKind::Index(of, at) => format!("{}[{}]", write(of, own), write(at, 0)),
        ExprKind::Not(inner) => format!("!{}", write(inner, own)),
        ExprKind::Negate(inner) => format!("-{}", write(inner, own)),
        ExprKind::Binary(op, left, right) => {
            format!("{} {} {}", write(left, own), op.symbol(), write(right, own + 1))
        }
        ExprKind::Conditional(test, then, otherwise) => {
            format!(
                "{} ? {} : {}",
                write(test, own + 1),
                write(then, own),
                write(otherwise, own)
            )
        }
        ExprKind::List(elements) => format!("[{}]", joined(elements)),
        ExprKind::Record(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name}: {}", write(value, 0)))
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
        ExprKind::Call(function, args) => call(function.function().map(|known| known.form), function.name(), args),
        ExprKind::Each { op, list, var, body } => each(*op, list, var, body),
        ExprKind::Entity { entity, key } => {
            let key: Vec<String> = key.iter().map(|(_, value)| write(value, 0)).collect();
            format!("#{}({})", entity.0, key.join(", "))
        }
        ExprKind::Invalid => "?".to_owned(),
    };
    if own < around { format!("({text})") } else { text }
}

fn call(form: Option<Form>, name: &str, args: &[Expr]) -> String {
    match (form, args.split_first()) {
        (Some(Form::Method), Some((receiver, rest))) => format!("{}.{name}({})", write(receiver, 8), joined(rest)),
        _ => format!("{name}({})", joined(args)),
    }
}

fn each(op: EachOp, list: &Expr, var: &str, body: &Expr) -> String {
    let (list, body) = (write(list, 8), write(body, 0));
    match op {
        EachOp::Exists => format!("{list}.exists({var}, {body})"),
        EachOp::All => format!("{list}.all({var}, {body})"),
        EachOp::Map => format!("{list}.map({var}, {body})"),
        EachOp::Filter => format!("{list}.filter({var}, {body})"),
        EachOp::Sum => format!("sum({list}, {var}, {body})"),
        EachOp::Group => format!("group({list}, {var}, {body})"),
    }
}

fn joined(exprs: &[Expr]) -> String {
    let texts: Vec<String> = exprs.iter().map(|expr| write(expr, 0)).collect();
    texts.join(", ")
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
pub(crate) fn pieces(key: &KeyTemplate) -> Vec<Piece<'_>> {
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
