//! What a meaning says of attributes, one conjunct at a time.

use std::collections::HashMap;

use singlet_model::expression::{BinaryOp, Expr, ExprKind, FunctionId};
use singlet_model::model::Entity;

/// What a meaning says of the attributes of a row.
#[derive(Debug, Default)]
pub struct Facts<'a> {
    facts: Vec<Fact<'a>>,
    aliases: HashMap<&'a str, &'a str>,
}

/// What one conjunct says of one attribute.
#[derive(Debug)]
pub struct Fact<'a> {
    /// The attribute, under its own name where the meaning uses an alias.
    pub attribute: &'a str,
    /// The function of the attribute that is compared, where there is one.
    pub function: Option<FunctionId>,
    /// How it is related.
    pub relation: Relation<'a>,
}

/// How an attribute is related to what is known before anything is read.
#[derive(Debug)]
pub enum Relation<'a> {
    /// `attribute OP value`.
    Compared(BinaryOp, &'a Expr),
    /// One of several values: `in [a, b]`, or `attribute == a || attribute == b`.
    OneOf(Vec<&'a Expr>),
    /// `in args.list`.
    Within,
    /// A bare `attribute`, or `!attribute`.
    Is(bool),
    /// `near(attribute, place, km)`: the distance.
    Near(&'a Expr),
    /// Something else; whether it can hold only where the attribute is present.
    Other {
        /// Rows without the attribute are excluded.
        present: bool,
    },
}

impl<'a> Facts<'a> {
    /// What conditions that all hold say of rows of an entity.
    pub fn of(entity: &'a Entity, conditions: impl IntoIterator<Item = &'a Expr>) -> Self {
        let aliased = |attribute: &'a singlet_model::model::Attribute| {
            Some((attribute.name.as_str(), attribute.alias.as_deref()?))
        };
        let mut facts = Facts {
            facts: Vec::new(),
            aliases: entity.attributes.iter().filter_map(aliased).collect(),
        };
        for condition in conditions {
            condition
                .conjuncts()
                .into_iter()
                .for_each(|conjunct| facts.take(conjunct));
        }
        facts
    }

    /// An attribute's own name, where an alias is given.
    pub fn own_name<'s>(&'s self, name: &'s str) -> &'s str {
        self.aliases.get(name).copied().unwrap_or(name)
    }

    /// What is said of an attribute.
    pub fn facts_about<'s>(&'s self, attribute: &'s str) -> impl Iterator<Item = &'s Fact<'a>> {
        let attribute = self.own_name(attribute);
        self.facts.iter().filter(move |fact| fact.attribute == attribute)
    }

    /// Every fact.
    pub fn iter(&self) -> impl Iterator<Item = &Fact<'a>> {
        self.facts.iter()
    }

    /// Whether every row has the same value of an attribute, known before anything is read.
    pub fn fixes_attribute(&self, attribute: &str) -> bool {
        self.facts_about(attribute)
            .any(|fact| fact.function.is_none() && fact.is_one_value())
    }

    /// Whether no row without the attribute is meant.
    pub fn excludes_absent(&self, attribute: &str) -> bool {
        self.facts_about(attribute).any(Fact::excludes_absent)
    }

    fn take(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Binary(BinaryOp::In, left, right) if right.attributes().is_empty() => match &right.kind {
                ExprKind::List(values) => self.push(left, || Relation::OneOf(values.iter().collect())),
                _ => self.push(left, || Relation::Within),
            },
            ExprKind::Binary(BinaryOp::Or, ..) => self.take_choice(expr),
            ExprKind::Binary(op, left, right) if op.is_comparison() && *op != BinaryOp::In => {
                match (left.attributes().is_empty(), right.attributes().is_empty()) {
                    (false, true) => self.push(left, || Relation::Compared(*op, right)),
                    (true, false) => self.push(right, || Relation::Compared(op.swapped(), left)),
                    _ => self.push(expr, || Relation::Other { present: false }),
                }
            }
            ExprKind::Attribute(_) => self.push(expr, || Relation::Is(true)),
            ExprKind::Not(inner) if matches!(inner.kind, ExprKind::Attribute(_)) => {
                self.push(inner, || Relation::Is(false))
            }
            ExprKind::Call(FunctionId::Near, args) => match args.as_slice() {
                [place, at, km] if at.attributes().is_empty() => self.push(place, || Relation::Near(km)),
                _ => self.push(expr, || Relation::Other { present: true }),
            },
            ExprKind::Call(FunctionId::StartsWith | FunctionId::Contains, _) => {
                self.push(expr, || Relation::Other { present: true });
            }
            _ => self.push(expr, || Relation::Other { present: false }),
        }
    }

    /// A disjunction: of equalities of one attribute, or of anything.
    fn take_choice(&mut self, expr: &'a Expr) {
        let branches: Vec<Facts<'a>> = expr.disjuncts().into_iter().map(|branch| self.branch(branch)).collect();
        let equal = |facts: &Facts<'a>| match facts.facts.as_slice() {
            [
                Fact {
                    attribute,
                    function: None,
                    relation: Relation::Compared(BinaryOp::Eq, value),
                },
            ] => Some((*attribute, *value)),
            _ => None,
        };
        let equalities: Option<Vec<(&'a str, &'a Expr)>> = branches.iter().map(equal).collect();
        if let Some(equalities) = equalities
            && let Some((first, _)) = equalities.first().copied()
            && equalities.iter().all(|(attribute, _)| *attribute == first)
        {
            let relation = Relation::OneOf(equalities.into_iter().map(|(_, value)| value).collect());
            return self.facts.push(Fact {
                attribute: first,
                function: None,
                relation,
            });
        }
        for attribute in expr.attributes() {
            let present = branches.iter().all(|branch| branch.excludes_absent(attribute));
            self.note(attribute, None, Relation::Other { present });
        }
    }

    fn branch(&self, expr: &'a Expr) -> Facts<'a> {
        let mut facts = Facts {
            facts: Vec::new(),
            aliases: self.aliases.clone(),
        };
        expr.conjuncts().into_iter().for_each(|conjunct| facts.take(conjunct));
        facts
    }

    /// Notes a relation of an attribute or of one function of it; of anything else, only that it is mentioned.
    fn push(&mut self, subject: &'a Expr, relation: impl Fn() -> Relation<'a>) {
        match &subject.kind {
            ExprKind::Attribute(name) => self.note(name, None, relation()),
            ExprKind::Call(function, args)
                if matches!(args.first(), Some(arg) if is_attribute(arg)) && args.len() == 1 =>
            {
                let name = args.first().map(Expr::attributes).unwrap_or_default();
                name.into_iter()
                    .for_each(|name| self.note(name, Some(*function), relation()));
            }
            _ => {
                let present = match relation() {
                    Relation::Other { present } => present,
                    Relation::Compared(op, value) => op != BinaryOp::Ne && !value.is_absent(),
                    _ => true,
                };
                let names = subject.attributes().into_iter();
                names.for_each(|name| self.note(name, None, Relation::Other { present }));
            }
        }
    }

    fn note(&mut self, name: &'a str, function: Option<FunctionId>, relation: Relation<'a>) {
        let attribute = self.aliases.get(name).copied().unwrap_or(name);
        self.facts.push(Fact {
            attribute,
            function,
            relation,
        });
    }
}

impl Fact<'_> {
    /// Whether one value is left.
    pub(crate) fn is_one_value(&self) -> bool {
        match &self.relation {
            Relation::Compared(BinaryOp::Eq, value) => !value.is_absent(),
            Relation::OneOf(values) => values.len() == 1,
            Relation::Is(_) => true,
            _ => false,
        }
    }

    fn excludes_absent(&self) -> bool {
        match &self.relation {
            Relation::Compared(BinaryOp::Ne, value) => value.is_absent(),
            Relation::Compared(_, value) => !value.is_absent(),
            Relation::OneOf(values) => values.iter().all(|value| !value.is_absent()),
            Relation::Within | Relation::Near(_) => true,
            Relation::Is(truth) => *truth,
            Relation::Other { present } => *present,
        }
    }
}

fn is_attribute(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Attribute(_))
}
