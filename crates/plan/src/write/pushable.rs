//! Whether the store itself can decide a clause about one row.
#![deny(
    clippy::wildcard_enum_match_arm,
    reason = "a type or function that is forgotten must not compile"
)]

use singlet_model::Model;
use singlet_model::expression::{BinaryOp, Expr, ExprKind, FunctionId};
use singlet_model::model::{Entity, Stored};
use singlet_model::types::Type;

/// The same expression with the attributes of the row of that name standing bare.
pub(crate) fn about_row(expr: &Expr, row: &str) -> Expr {
    let again = |part: &Expr| Box::new(about_row(part, row));
    let kind = match &expr.kind {
        ExprKind::Field(of, field) if matches!(&of.kind, ExprKind::Bound(name) if name == row) => {
            ExprKind::Attribute(field.clone())
        }
        ExprKind::Field(of, field) => ExprKind::Field(again(of), field.clone()),
        ExprKind::Bound(name) if name == row => ExprKind::Row,
        ExprKind::Index(of, at) => ExprKind::Index(again(of), again(at)),
        ExprKind::Not(inner) => ExprKind::Not(again(inner)),
        ExprKind::Negate(inner) => ExprKind::Negate(again(inner)),
        ExprKind::Binary(op, left, right) => ExprKind::Binary(*op, again(left), again(right)),
        ExprKind::Conditional(test, then, otherwise) => {
            ExprKind::Conditional(again(test), again(then), again(otherwise))
        }
        ExprKind::List(parts) => ExprKind::List(parts.iter().map(|part| about_row(part, row)).collect()),
        ExprKind::Call(function, args) => {
            ExprKind::Call(*function, args.iter().map(|part| about_row(part, row)).collect())
        }
        ExprKind::Record(fields) => ExprKind::Record(
            fields
                .iter()
                .map(|(name, part)| (name.clone(), about_row(part, row)))
                .collect(),
        ),
        ExprKind::Each { op, list, var, body } => ExprKind::Each {
            op: *op,
            list: again(list),
            var: var.clone(),
            body: again(body),
        },
        ExprKind::Literal(_)
        | ExprKind::Attribute(_)
        | ExprKind::Row
        | ExprKind::Arg(_)
        | ExprKind::Caller(_)
        | ExprKind::Now
        | ExprKind::Today
        | ExprKind::Setting(_)
        | ExprKind::Bound(_)
        | ExprKind::Word(_)
        | ExprKind::Entity { .. }
        | ExprKind::Invalid => expr.kind.clone(),
    };
    Expr { kind, ..expr.clone() }
}

/// Whether DynamoDB can decide a condition on a row whose attributes stand bare in it.
pub(crate) fn is_pushable(model: &Model, entity: &Entity, expr: &Expr) -> bool {
    // A row as a whole is no operand, and another row must be read by somebody.
    if expr.any(|part| matches!(part.kind, ExprKind::Row | ExprKind::Entity { .. })) {
        return false;
    }
    // Decided by the request alone, so that there is nothing left for the store.
    if expr.attributes().is_empty() {
        return true;
    }
    match &expr.kind {
        ExprKind::Binary(BinaryOp::And | BinaryOp::Or, left, right) => {
            is_pushable(model, entity, left) && is_pushable(model, entity, right)
        }
        ExprKind::Not(inner) => is_pushable(model, entity, inner),
        ExprKind::Binary(BinaryOp::In, left, right) => {
            let element = right.ty.element_type();
            is_stored(model, entity, left)
                && right.attributes().is_empty()
                && element.is_none_or(|element| compares_as_stored(BinaryOp::Eq, &left.ty, element))
        }
        ExprKind::Binary(op, left, right) if op.is_comparison() => {
            let (attribute, other) = match (left.attributes().is_empty(), right.attributes().is_empty()) {
                (false, true) => (left, right),
                (true, false) => (right, left),
                _ => return false,
            };
            is_stored(model, entity, attribute)
                && (other.is_absent() || compares_as_stored(*op, &attribute.ty, &other.ty))
        }
        ExprKind::Call(FunctionId::Contains | FunctionId::StartsWith, args) => match args.as_slice() {
            [receiver, argument] => is_stored(model, entity, receiver) && argument.attributes().is_empty(),
            _ => false,
        },
        ExprKind::Attribute(_) => expr.ty == Type::Bool && is_stored(model, entity, expr),
        // A number, a list or a row is no condition; what else computes one of the row's attributes, the process does.
        ExprKind::Binary(..) | ExprKind::Call(..) | ExprKind::Conditional(..) | ExprKind::Each { .. } => false,
        ExprKind::Field(..) | ExprKind::Index(..) | ExprKind::Negate(_) | ExprKind::List(_) | ExprKind::Record(_) => {
            false
        }
        ExprKind::Literal(_) | ExprKind::Row | ExprKind::Arg(_) | ExprKind::Caller(_) | ExprKind::Now => false,
        ExprKind::Today | ExprKind::Setting(_) | ExprKind::Bound(_) | ExprKind::Word(_) => false,
        ExprKind::Entity { .. } | ExprKind::Invalid => false,
    }
}

/// Whether an attribute stands in the item as it is: under a name of its own, and unchanged by time.
fn is_stored(model: &Model, entity: &Entity, expr: &Expr) -> bool {
    let Some(path) = expr.path() else { return false };
    let root = path.split('.').next().unwrap_or_default();
    let Some(attribute) = entity.attribute(root) else {
        return false;
    };
    expr.attributes() == [root]
        && attribute.alias.is_none()
        && attribute.stored != Stored::No
        // What is stored may have lapsed: the store would decide on what was.
        && !changes_with_time(model, entity, root)
}

/// Whether the store can compare an attribute with a value of another type as the type means it: enums sort by rank, and a coarser
/// instant rounds. What is planned as the store's to decide is sent to it by this same answer.
pub fn compares_as_stored(op: BinaryOp, attribute: &Type, other: &Type) -> bool {
    let same = !other.is_instant();
    match attribute {
        Type::Time | Type::Millis => attribute == other || *other == Type::Now,
        Type::Seconds | Type::Now => attribute == other,
        // A word in a value's place has no order among values.
        Type::OrWords(..) => same && matches!(op, BinaryOp::Eq | BinaryOp::Ne),
        // Their text does not sort as they do.
        Type::Enum(_) | Type::Duration => same && !op.is_ordering(),
        Type::Text(_) | Type::Int(_) | Type::Number(_) | Type::Bool | Type::Bytes(_) | Type::Version => same,
        Type::Date | Type::Month | Type::Ulid | Type::Ksuid | Type::Uuid => same,
        Type::Geo(_) | Type::Json | Type::Object(_) | Type::List(..) | Type::Set(..) | Type::Map(..) => same,
        Type::Row(_) | Type::Group(..) | Type::Absent | Type::Unknown => same,
    }
}

/// Whether time changes an attribute: a state that lapses, or what holds only during one.
pub fn changes_with_time(model: &Model, entity: &Entity, name: &str) -> bool {
    let source = model.source_of(entity);
    source.states.as_ref().is_some_and(|states| {
        let held = states.holding.iter().flat_map(|(_, held)| held);
        !states.lapses.is_empty() && (states.of == name || held.into_iter().any(|(held, _)| held == name))
    })
}
