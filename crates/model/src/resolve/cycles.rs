//! Pass 5, at its end: no attribute follows from itself.

use std::collections::{BTreeMap, BTreeSet};

use super::Resolver;
use crate::diagnostic::Diagnostic;
use crate::expression::Expr;
use crate::model::Entity;
use crate::rules;

/// Which attributes each attribute follows from.
type Sources<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

impl Resolver<'_> {
    /// Reports each circle of attributes once: around it no value could ever be computed.
    pub(super) fn check_cycles(&mut self, entities: &[Entity]) {
        for entity in entities.iter().filter(|entity| entity.mirror.is_none()) {
            let sources = sources_of(entity);
            let mut known: BTreeSet<&str> = BTreeSet::new();
            for attribute in &entity.attributes {
                let Some(circle) = circle_from(&attribute.name, &sources) else {
                    continue;
                };
                if circle.iter().any(|name| known.contains(name)) {
                    continue;
                }
                known.extend(circle.iter().copied());
                let steps: Vec<String> = circle
                    .iter()
                    .chain(circle.first())
                    .map(|name| format!("`{name}`"))
                    .collect();
                let message = format!("`{}` follows from itself: {}", attribute.name, steps.join(" from "));
                let help = "let one of them be set by a write, or compute it from other attributes";
                self.out
                    .push(Diagnostic::new(&rules::CYCLE, attribute.span, message).help(help));
            }
        }
    }
}

fn sources_of(entity: &Entity) -> Sources<'_> {
    let mut sources = Sources::new();
    for attribute in &entity.attributes {
        let own = sources.entry(&attribute.name).or_default();
        let copied = attribute.copy.as_ref().map(|copy| &copy.source);
        let exprs = [
            attribute.is.as_ref(),
            attribute.default.as_ref(),
            attribute.always.as_ref(),
            copied,
        ];
        exprs
            .into_iter()
            .flatten()
            .for_each(|expr: &Expr| own.extend(expr.attributes()));
    }
    let held = entity.states.iter().flat_map(|states| &states.holding);
    for (name, expr) in held.flat_map(|(_, held)| held) {
        // On entering a state, a value may build on the one that was there before.
        let others = expr.attributes().into_iter().filter(|other| other != name);
        sources.entry(name).or_default().extend(others);
    }
    sources
}

/// The attributes by which one follows from itself, itself first.
fn circle_from<'a>(start: &'a str, sources: &Sources<'a>) -> Option<Vec<&'a str>> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut waiting: Vec<Vec<&'a str>> = vec![vec![start]];
    while let Some(path) = waiting.pop() {
        let last = path.last()?;
        for next in sources.get(last).into_iter().flatten() {
            if *next == start {
                return Some(path);
            }
            if seen.insert(next) {
                let mut longer = path.clone();
                longer.push(next);
                waiting.push(longer);
            }
        }
    }
    None
}
