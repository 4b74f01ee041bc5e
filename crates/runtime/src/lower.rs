//! What is left of a meaning after the key, as a filter that the store checks; and what only the process can check.
#![deny(
    clippy::wildcard_enum_match_arm,
    reason = "a type or function that is forgotten must not compile"
)]

use singlet_item::Value;
use singlet_item::limits::IN_OPERANDS_MAX;
use singlet_model::Model;
use singlet_model::evaluate::{decide_condition, evaluate_as, evaluate_bound};
use singlet_model::expression::{BinaryOp, Expr, ExprKind, FunctionId};
use singlet_model::model::{Entity, Projection, Stored};
use singlet_model::types::Type;
use singlet_plan::read::Query;
use singlet_plan::write::{changes_with_time, compares_as_stored};
use singlet_store::{Comparison, Condition, Operand, Path};

use crate::error::RuntimeError;
use crate::scope::Scope;

/// What the store checks, what the process checks, and whether anything can match at all.
#[derive(Debug, Default)]
pub(crate) struct Split<'a> {
    /// The filter of the query.
    pub filter: Option<Condition>,
    /// Conditions that DynamoDB cannot decide.
    pub residue: Vec<&'a Expr>,
    /// Whether a condition on the request alone is false.
    pub empty: bool,
    /// Whether rows that have expired may be among those that pass: what is queried does not tell.
    pub may_give_expired: bool,
}

/// Splits what is left of a query's meaning, and adds that expired rows are not there.
pub(crate) fn split_residue<'a>(model: &Model, query: &'a Query, scope: Scope<'_>) -> Result<Split<'a>, RuntimeError> {
    let Some(entity) = model.entity(query.entity) else {
        return Ok(Split::default());
    };
    let lowering = Lowering::new(model, entity, query, scope);
    let mut split = Split::default();
    let mut filters = Vec::new();
    for condition in &query.rest {
        match lowering.lower(condition, true)? {
            Lowered::True => {}
            // The whole query answers nothing then, but the rest is lowered still: it may fail, and must not do so by chance.
            Lowered::False => split.empty = true,
            Lowered::Filter(filter) => filters.push(filter),
            Lowered::No => split.residue.push(condition),
        }
    }
    // Not a matter of the meaning: no read may give a row that has expired, however it was asked for.
    let not_expired = lowering.not_expired();
    split.may_give_expired = not_expired.is_none() && lowering.expires();
    filters.extend(not_expired);
    split.filter = filters.into_iter().reduce(Condition::and);
    Ok(split)
}

/// A condition on a row whose attributes stand bare in it, for a write.
///
/// # Errors
///
/// Where a value of the request leaves its range.
pub fn row_condition(model: &Model, entity: &Entity, expr: &Expr, scope: Scope<'_>) -> Result<Lowered, RuntimeError> {
    let lowering = Lowering {
        model,
        entity,
        scope,
        keys: Vec::new(),
        projected: None,
    };
    lowering.lower(expr, true)
}

/// A condition for the store, or why there is none.
#[derive(Debug)]
pub enum Lowered {
    /// It holds whatever the row.
    True,
    /// It holds of no row.
    False,
    /// The store can decide it.
    Filter(Condition),
    /// The store cannot decide it.
    No,
}

/// A comparison, lowered; or what no row decides, because the caller lacks a claim.
enum LoweredComparison {
    Decided(Lowered),
    Unknown,
}

impl From<Lowered> for LoweredComparison {
    fn from(lowered: Lowered) -> Self {
        LoweredComparison::Decided(lowered)
    }
}

struct Lowering<'a> {
    model: &'a Model,
    entity: &'a Entity,
    scope: Scope<'a>,
    /// The key attributes of what is queried: a filter must not name them.
    keys: Vec<&'a str>,
    /// The only other attributes that the index has; every one, if there is none.
    projected: Option<Vec<&'a str>>,
}

impl<'a> Lowering<'a> {
    fn new(model: &'a Model, entity: &'a Entity, query: &Query, scope: Scope<'a>) -> Self {
        let index = query.index.and_then(|index| model.index(index));
        let table_keys = || model.table.key.iter().map(|key| key.name.as_str());
        let projected = match index.map(|index| &index.projection) {
            None | Some(Projection::All) => None,
            Some(Projection::Keys) => Some(table_keys().collect()),
            Some(Projection::Include(names)) => Some(table_keys().chain(names.iter().map(String::as_str)).collect()),
        };
        let keys = match index {
            Some(index) => index.key().map(|key| key.name.as_str()).collect(),
            None => table_keys().collect(),
        };
        Lowering {
            model,
            entity,
            scope,
            keys,
            projected,
        }
    }

    /// What the store must check for an expression to be certainly true, or certainly false. What hangs on a claim that the
    /// caller does not have is neither: `!` is not the negation of a condition but the wish for the other truth.
    fn lower(&self, expr: &Expr, wanted: bool) -> Result<Lowered, RuntimeError> {
        if expr.attributes().is_empty() {
            return Ok(match decide_condition(expr, &self.scope)? == Some(wanted) {
                true => Lowered::True,
                false => Lowered::False,
            });
        }
        let lowered = match &expr.kind {
            ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), left, right) => {
                // De Morgan: wanting `and` to be false takes one of its sides, and wanting `or` to be false takes both.
                let both = (*op == BinaryOp::And) == wanted;
                return Ok(join(self.lower(left, wanted)?, self.lower(right, wanted)?, both));
            }
            // The other truth is wanted of what is inside; negating its condition would make true what is not known.
            ExprKind::Not(inner) => return self.lower(inner, !wanted),
            ExprKind::Binary(op, left, right) if op.is_comparison() => self.comparison(*op, left, right)?,
            ExprKind::Call(FunctionId::Contains | FunctionId::StartsWith, args) => self.text_test(expr, args)?,
            ExprKind::Attribute(_) if expr.ty == Type::Bool => match self.path(expr) {
                Some(path) => LoweredComparison::Decided(Lowered::Filter(Condition::equal(path, Value::Bool(true)))),
                None => LoweredComparison::Decided(Lowered::No),
            },
            ExprKind::Attribute(_) | ExprKind::Field(..) | ExprKind::Index(..) => {
                LoweredComparison::Decided(Lowered::No)
            }
            ExprKind::Binary(..) | ExprKind::Call(..) | ExprKind::Conditional(..) => {
                LoweredComparison::Decided(Lowered::No)
            }
            ExprKind::Negate(_) | ExprKind::List(_) | ExprKind::Record(_) => LoweredComparison::Decided(Lowered::No),
            ExprKind::Each { .. } | ExprKind::Entity { .. } | ExprKind::Row => LoweredComparison::Decided(Lowered::No),
            ExprKind::Literal(_) | ExprKind::Arg(_) | ExprKind::Caller(_) => LoweredComparison::Decided(Lowered::No),
            ExprKind::Now | ExprKind::Today | ExprKind::Setting(_) => LoweredComparison::Decided(Lowered::No),
            ExprKind::Bound(_) | ExprKind::Word(_) | ExprKind::Invalid => LoweredComparison::Decided(Lowered::No),
        };
        Ok(match (lowered, wanted) {
            // Neither truth holds of what is not known, so that it is false whichever is wanted.
            (LoweredComparison::Unknown, _) => Lowered::False,
            (LoweredComparison::Decided(lowered), true) => lowered,
            (LoweredComparison::Decided(lowered), false) => negated(lowered),
        })
    }

    /// The value of the request's side of a comparison; unknown where it hangs on a claim that the caller does not have.
    fn request_value(&self, expr: &Expr, ty: &Type) -> Result<Option<Value>, RuntimeError> {
        let value = evaluate_as(expr, ty, &self.scope)?;
        // A condition may have taken one way because a claim is missing, so that its value is asked a second time.
        let certain = value.is_some() && !matches!(expr.kind, ExprKind::Conditional(..));
        Ok(
            match certain || evaluate_bound(expr, &self.scope)? != Some(Value::Null) {
                true => value,
                false => Some(Value::Null),
            },
        )
    }

    fn comparison(&self, op: BinaryOp, left: &Expr, right: &Expr) -> Result<LoweredComparison, RuntimeError> {
        if op == BinaryOp::In {
            return self.in_list(left, right);
        }
        let (op, side, other) = match (self.path(left), self.path(right)) {
            (Some(path), None) => (op, (path, left), right),
            (None, Some(path)) => (op.swapped(), (path, right), left),
            _ => return Ok(Lowered::No.into()),
        };
        let (path, attribute) = side;
        if other.is_absent() {
            // Nothing but `==` and `!=` tests for absence.
            let test = match op == BinaryOp::Ne {
                true => Condition::exists(path),
                false => Condition::not_exists(path),
            };
            return Ok(Lowered::Filter(test).into());
        }
        // Values are compared by the store as they stand there, and some types do not stand there in their order.
        if !other.attributes().is_empty() || !compares_as_stored(op, &attribute.ty, &other.ty) {
            return Ok(Lowered::No.into());
        }
        let value = match self.request_value(other, &attribute.ty)? {
            Some(Value::Null) => return Ok(LoweredComparison::Unknown),
            Some(value) => value,
            None if op == BinaryOp::Ne => return Ok(Lowered::True.into()),
            None => return Ok(Lowered::False.into()),
        };
        let comparison = match op {
            BinaryOp::Eq => Comparison::Equal,
            BinaryOp::Lt => Comparison::Less,
            BinaryOp::Le => Comparison::LessOrEqual,
            BinaryOp::Gt => Comparison::Greater,
            BinaryOp::Ge => Comparison::GreaterOrEqual,
            // `!=` is true of an absent attribute; engines differ in what `<>` says there.
            BinaryOp::Ne => {
                let differs = Condition::compare(path.clone(), Comparison::NotEqual, value);
                return Ok(Lowered::Filter(Condition::not_exists(path).or(differs)).into());
            }
            BinaryOp::In | BinaryOp::And | BinaryOp::Or => return Ok(Lowered::No.into()),
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => {
                return Ok(Lowered::No.into());
            }
        };
        Ok(Lowered::Filter(Condition::compare(path, comparison, value)).into())
    }

    fn in_list(&self, left: &Expr, right: &Expr) -> Result<LoweredComparison, RuntimeError> {
        // An element that a row decides cannot be an operand that is bound once.
        let Some(path) = self.path(left).filter(|_| right.attributes().is_empty()) else {
            return Ok(Lowered::No.into());
        };
        if right
            .ty
            .element_type()
            .is_some_and(|element| !compares_as_stored(BinaryOp::Eq, &left.ty, element))
        {
            return Ok(Lowered::No.into());
        }
        // An element that is not known may be the one that is looked for: that is decided element by element.
        if let ExprKind::List(elements) = &right.kind {
            for element in elements {
                if evaluate_bound(element, &self.scope)? == Some(Value::Null) {
                    return Ok(Lowered::No.into());
                }
            }
        }
        let values = match evaluate_bound(right, &self.scope)? {
            Some(Value::Null) => return Ok(LoweredComparison::Unknown),
            Some(Value::L(values)) => values,
            Some(Value::Ss(words)) => words.into_iter().map(Value::S).collect(),
            _ => return Ok(Lowered::No.into()),
        };
        // DynamoDB takes no empty list, and nothing is in one.
        if values.is_empty() {
            return Ok(Lowered::False.into());
        }
        // DynamoDB refuses more; the process has no such limit.
        if values.len() > IN_OPERANDS_MAX {
            return Ok(Lowered::No.into());
        }
        let test = Condition::In {
            operand: Operand::Path(path),
            options: values.into_iter().map(Operand::Value).collect(),
        };
        Ok(Lowered::Filter(test).into())
    }

    fn text_test(&self, expr: &Expr, args: &[Expr]) -> Result<LoweredComparison, RuntimeError> {
        let [receiver, argument] = args else {
            return Ok(Lowered::No.into());
        };
        let Some(path) = self.path(receiver).filter(|_| argument.attributes().is_empty()) else {
            return Ok(Lowered::No.into());
        };
        let value = match evaluate_bound(argument, &self.scope)? {
            Some(Value::Null) => return Ok(LoweredComparison::Unknown),
            Some(value) => value,
            // Nothing contains or begins with what is absent.
            None => return Ok(Lowered::False.into()),
        };
        // Every text contains the empty text; DynamoDB takes no empty operand here.
        if value.as_str() == Some("") {
            return Ok(Lowered::Filter(Condition::exists(path)).into());
        }
        let begins = matches!(expr.kind, ExprKind::Call(FunctionId::StartsWith, _));
        let test = match begins {
            true => Condition::begins_with(path, value),
            false => Condition::contains(path, value),
        };
        Ok(Lowered::Filter(test).into())
    }

    /// Where an attribute is stored, if a filter may name it: it is no key of what is queried, and time does not change it.
    fn path(&self, expr: &Expr) -> Option<Path> {
        let text = expr.path()?;
        let mut names = text.split('.');
        let root = names.next()?;
        let attribute = self.entity.attribute(root)?;
        // What is stored may have lapsed by now: the store would compare what the row no longer has.
        if expr.attributes() != [root] || changes_with_time(self.model, self.entity, root) || attribute.alias.is_some()
        {
            return None;
        }
        let stored = match &attribute.stored {
            Stored::Own => root,
            Stored::As(name) => name,
            // A computed attribute is nowhere in the item.
            Stored::No => return None,
        };
        if self
            .projected
            .as_ref()
            .is_some_and(|projected| !projected.contains(&stored))
        {
            return None;
        }
        let path = names.fold(Path::attribute(stored), |path, name| path.key(name));
        // DynamoDB refuses a filter that names a key of what is queried.
        (!self.keys.contains(&stored)).then_some(path)
    }

    fn expires(&self) -> bool {
        self.model.table.ttl.is_some() && self.model.source_of(self.entity).expires.is_some()
    }

    /// Expired rows are absent to every read, whether or not the engine has removed them. An index that does not carry the expiry cannot be
    /// asked about it, and DynamoDB refuses to be: the rows behind its entries say it.
    fn not_expired(&self) -> Option<Condition> {
        let ttl = self.model.table.ttl.as_ref().filter(|_| self.expires())?;
        let projected = self.projected.as_ref();
        if projected.is_some_and(|projected| !projected.contains(&ttl.as_str())) || self.keys.contains(&ttl.as_str()) {
            return None;
        }
        // Rounded down: a row has ended when the second that it names begins, here and in the process alike.
        let now = singlet_item::Number::from(self.scope.now.div_euclid(1_000));
        let later = Condition::compare(Path::attribute(ttl), Comparison::Greater, Value::N(now));
        Some(Condition::not_exists(Path::attribute(ttl)).or(later))
    }
}

/// The other truth of what the store decides.
fn negated(lowered: Lowered) -> Lowered {
    match lowered {
        Lowered::True => Lowered::False,
        Lowered::False => Lowered::True,
        Lowered::Filter(filter) => Lowered::Filter(filter.negate()),
        // What the store cannot decide it cannot decide the other way round either.
        Lowered::No => Lowered::No,
    }
}

fn join(left: Lowered, right: Lowered, and: bool) -> Lowered {
    match (left, right) {
        (Lowered::False, _) | (_, Lowered::False) if and => Lowered::False,
        (Lowered::True, _) | (_, Lowered::True) if !and => Lowered::True,
        (Lowered::True, other) | (other, Lowered::True) if and => other,
        (Lowered::False, other) | (other, Lowered::False) if !and => other,
        (Lowered::Filter(left), Lowered::Filter(right)) => {
            Lowered::Filter(if and { left.and(right) } else { left.or(right) })
        }
        // Half of it would be another condition: of an `or` it loses rows, and an `and` of which the other truth is wanted is an `or`.
        _ => Lowered::No,
    }
}
