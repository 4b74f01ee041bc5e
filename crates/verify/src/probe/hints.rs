//! What the expressions of a model say of values that belong together: an argument and the attribute that it is compared with, a
//! claim and the words that it is held against.

use std::collections::{BTreeMap, BTreeSet};

use singlet_item::{Number, Value};
use singlet_model::Model;
use singlet_model::expression::{Expr, ExprKind, Literal};
use singlet_model::model::{Entity, Let, LetValue, MoveTo, Read, Return, Selection, Step, StepKind, Write};

/// Something that has values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ValuedName {
    /// An argument.
    Arg(String),
    /// A claim of the caller.
    Claim(String),
    /// An attribute, of whichever entity.
    Attribute(String),
}

/// What belongs together.
#[derive(Clone, Debug, Default)]
pub(super) struct Hints {
    attributes: BTreeMap<ValuedName, BTreeSet<String>>,
    literals: BTreeMap<ValuedName, Vec<Value>>,
}

impl Hints {
    /// Of a whole model: what attributes and claims are held against. Arguments of one name in two operations are two.
    pub fn of_model(model: &Model) -> Self {
        let mut hints = Hints::default();
        for entity in &model.entities {
            hints.see_entity(entity);
        }
        for read in &model.reads {
            hints.see_read(read);
        }
        for write in &model.writes {
            hints.see_write(model, write);
        }
        hints.attributes.retain(|name, _| !matches!(name, ValuedName::Arg(_)));
        hints.literals.retain(|name, _| !matches!(name, ValuedName::Arg(_)));
        hints
    }

    /// Of one read, arguments included.
    pub fn of_read(read: &Read) -> Self {
        let mut hints = Hints::default();
        hints.see_read(read);
        hints
    }

    /// Of one write, arguments included.
    pub fn of_write(model: &Model, write: &Write) -> Self {
        let mut hints = Hints::default();
        hints.see_write(model, write);
        hints
    }

    /// The attributes that something is compared with.
    pub fn attributes(&self, name: &ValuedName) -> impl Iterator<Item = &str> {
        self.attributes.get(name).into_iter().flatten().map(String::as_str)
    }

    /// Whether an attribute is held against anything.
    pub fn is_asked(&self, attribute: &str) -> bool {
        self.literals.contains_key(&ValuedName::Attribute(attribute.to_owned()))
    }

    /// The values written out that something is compared with.
    pub fn literal_values(&self, name: &ValuedName) -> &[Value] {
        self.literals.get(name).map_or(&[], Vec::as_slice)
    }

    fn see_entity(&mut self, entity: &Entity) {
        let attributes = entity.attributes.iter();
        for attribute in attributes.clone() {
            for expr in attribute.is.iter().chain(&attribute.default) {
                self.see(expr);
            }
            if let Some(copy) = &attribute.copy {
                self.see(&copy.source);
            }
        }
        let entries = entity.index.iter().flat_map(|entry| entry.key_choices());
        for choice in entity.key.iter().chain(entries) {
            choice.when.iter().for_each(|when| self.see(when));
        }
        let lapses = entity.states.iter().flat_map(|states| &states.lapses);
        let rest = entity.expires.iter().chain(&entity.excludes);
        let rest = rest.chain(lapses.map(|lapse| &lapse.at));
        rest.for_each(|expr| self.see(expr));
    }

    fn see_read(&mut self, read: &Read) {
        self.see(&read.allow);
        self.see_lets(&read.lets);
        read.each.iter().for_each(|each| self.see(&each.list));
        for selection in read.all_selections() {
            self.see_selection(selection);
        }
        read.at.iter().for_each(|at| self.see(at));
        if let Some(at) = &read.at {
            // The instant of a version is that of some version.
            let args = at
                .mentioned_arguments()
                .into_iter()
                .map(|arg| ValuedName::Arg(arg.to_owned()));
            for arg in args {
                self.attributes.entry(arg).or_default().insert(AT.to_owned());
            }
        }
        if let Some(filter) = read.using.as_ref().and_then(|using| using.filter.as_ref()) {
            self.see(filter);
        }
    }

    fn see_lets(&mut self, lets: &[Let]) {
        for bound in lets {
            self.see_value(&bound.value);
        }
    }

    fn see_value(&mut self, value: &LetValue) {
        match value {
            LetValue::Value(expr) => self.see(expr),
            LetValue::Read(selection) => self.see_selection(selection),
        }
    }

    fn see_selection(&mut self, selection: &Selection) {
        selection.filter.iter().for_each(|filter| self.see(filter));
    }

    fn see_write(&mut self, model: &Model, write: &Write) {
        self.see(&write.allow);
        self.see_lets(&write.lets);
        for requirement in &write.requirements {
            self.see(&requirement.condition);
        }
        for step in &write.steps {
            self.see_step(model, step);
        }
        if let Return::Value(expr) = &write.returns {
            self.see(expr);
        }
    }

    fn see_step(&mut self, model: &Model, step: &Step) {
        step.when.iter().for_each(|when| self.see(when));
        if let Some((_, list)) = &step.repeat {
            self.see_value(list);
        }
        for requirement in &step.requirements {
            self.see(&requirement.condition);
        }
        self.see_move(model, step);
        for set in step.set.iter().chain(&step.add) {
            self.link_attribute(&set.attribute, &set.value);
        }
        match &step.kind {
            StepKind::Update(target)
            | StepKind::Delete(target)
            | StepKind::Upsert(target)
            | StepKind::Present(target)
            | StepKind::Absent(target) => self.see(target),
            StepKind::Group(inner) => inner.iter().for_each(|step| self.see_step(model, step)),
            StepKind::Call { step, args } => {
                args.iter().for_each(|(_, expr)| self.see(expr));
                let named = model.steps.iter().find(|known| known.name == *step);
                // Only what is called before it: a named step cannot call itself.
                named
                    .into_iter()
                    .flat_map(|named| &named.steps)
                    .for_each(|step| self.see_step(model, step));
            }
            StepKind::Create(_) => {}
        }
    }

    /// A move begins in certain states.
    fn see_move(&mut self, model: &Model, step: &Step) {
        let entity = step.entity().and_then(|id| model.entity(id));
        let (Some(MoveTo::Named(name, _)), Some(states)) =
            (&step.moves, entity.and_then(|entity| entity.states.as_ref()))
        else {
            return;
        };
        let from = states.moves.iter().filter(|known| known.name == *name);
        let from: Vec<Value> = from.flat_map(|known| &known.from).cloned().map(Value::S).collect();
        self.link(&[ValuedName::Attribute(states.of.clone())], &[], &from);
    }

    /// Takes note of everything that an expression compares.
    fn see(&mut self, expr: &Expr) {
        let mut pairs: Vec<(&Expr, &Expr)> = Vec::new();
        let mut keys: Vec<(&str, &Expr)> = Vec::new();
        expr.walk(&mut |part| match &part.kind {
            ExprKind::Binary(op, left, right) if op.is_comparison() => pairs.push((left, right)),
            ExprKind::Call(_, args) => {
                let rest = args.iter().skip(1);
                pairs.extend(
                    args.first()
                        .into_iter()
                        .flat_map(|first| rest.clone().map(move |other| (first, other))),
                );
            }
            ExprKind::Entity { key, .. } => keys.extend(key.iter().map(|(name, expr)| (name.as_str(), expr))),
            _ => {}
        });
        for (left, right) in pairs {
            self.link(&names(left), &names(right), &literals(right));
            self.link(&names(right), &names(left), &literals(left));
        }
        for (name, expr) in keys {
            self.link_attribute(name, expr);
        }
    }

    fn link_attribute(&mut self, attribute: &str, expr: &Expr) {
        let own = [ValuedName::Attribute(attribute.to_owned())];
        self.link(&own, &names(expr), &literals(expr));
        self.link(&names(expr), &own, &[]);
    }

    fn link(&mut self, from: &[ValuedName], to: &[ValuedName], values: &[Value]) {
        for name in from {
            for other in to {
                if let ValuedName::Attribute(attribute) = other {
                    self.attributes
                        .entry(name.clone())
                        .or_default()
                        .insert(attribute.clone());
                }
            }
            let known = self.literals.entry(name.clone()).or_default();
            for value in values {
                if !known.contains(value) {
                    known.push(value.clone());
                }
            }
        }
    }
}

/// Stands for the instant of a version, whatever its attribute is called.
pub(super) const AT: &str = "$at";

fn names(expr: &Expr) -> Vec<ValuedName> {
    let mut found = Vec::new();
    expr.walk(&mut |part| match &part.kind {
        ExprKind::Arg(name) => found.push(ValuedName::Arg(name.clone())),
        ExprKind::Caller(name) => found.push(ValuedName::Claim(name.clone())),
        ExprKind::Attribute(name) | ExprKind::Field(_, name) => found.push(ValuedName::Attribute(name.clone())),
        _ => {}
    });
    found
}

fn literals(expr: &Expr) -> Vec<Value> {
    let mut found = Vec::new();
    expr.walk(&mut |part| match part.as_literal() {
        Some(Literal::Text(text)) => found.push(Value::S(text.clone())),
        Some(Literal::Number(number)) => found.extend(around(*number)),
        _ => {}
    });
    found
}

/// A number with those beside it.
fn around(number: Number) -> Vec<Value> {
    let one = Number::from(1);
    let near = [number.checked_sub(one), Ok(number), number.checked_add(one)];
    near.into_iter().flatten().map(Value::N).collect()
}
