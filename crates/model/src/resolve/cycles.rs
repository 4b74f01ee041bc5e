//! Pass 5, at its end: no attribute follows from itself.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::Resolver;
use crate::diagnostic::{DIAGNOSTICS_MAX, Diagnostic};
use crate::expression::Expr;
use crate::model::Entity;
use crate::rules;
use crate::types::EntityId;

/// Which attributes each attribute follows from.
type Sources<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

impl Resolver<'_> {
    /// Reports each circle of attributes once: around it no value could ever be computed.
    pub(super) fn check_cycles(&mut self, entities: &[Entity]) {
        for entity in entities.iter().filter(|entity| entity.mirror.is_none()) {
            let sources = sources_of(entity);
            let places: HashMap<&str, usize> = entity
                .attributes
                .iter()
                .enumerate()
                .map(|(at, attribute)| (attribute.name.as_str(), at))
                .collect();
            let place = |name: &str| places.get(name).copied().unwrap_or(usize::MAX);
            let mut circles = circles(&sources);
            // Each begins with the attribute of it that is written first.
            for circle in &mut circles {
                let first = (0..circle.len()).min_by_key(|at| circle.get(*at).map(|name| place(name)));
                circle.rotate_left(first.unwrap_or(0));
            }
            circles.sort_by_key(|circle| circle.first().map(|name| place(name)));
            for circle in circles {
                let Some(attribute) = circle.first().and_then(|name| entity.attributes.get(place(name))) else {
                    continue;
                };
                let shown = circle.iter().take(STEPS_SHOWN).chain(circle.first());
                let steps: Vec<String> = shown.map(|name| format!("`{name}`")).collect();
                let message = format!("`{}` follows from itself: {}", attribute.name, steps.join(" from "));
                let help = "let one of them be set by a write, or compute it from other attributes";
                self.out
                    .push(Diagnostic::new(&rules::CYCLE, attribute.span, message).help(help));
            }
        }
        self.check_copies(entities);
    }

    /// Reports each circle of copies once, by its first attribute: nothing could ever be copied around it.
    fn check_copies(&mut self, entities: &[Entity]) {
        let copied = |(entity, name): (EntityId, &str)| -> Option<(EntityId, &str)> {
            let entity = entities.iter().find(|known| known.id == entity)?;
            let copy = entity.attribute(name)?.copy.as_ref()?;
            let found = entities.iter().find(|known| known.id == copy.entity)?;
            Some((found.id, found.attribute(&copy.attribute)?.name.as_str()))
        };
        let mut seen: BTreeSet<(u32, &str)> = BTreeSet::new();
        for entity in entities {
            for attribute in entity.attributes.iter().filter(|attribute| attribute.copy.is_some()) {
                let start = (entity.id, attribute.name.as_str());
                if !seen.insert((start.0.0, start.1)) {
                    continue;
                }
                let mut path = vec![start];
                let mut next = copied(start);
                while let Some(at) = next.filter(|at| seen.insert((at.0.0, at.1))) {
                    path.push(at);
                    next = copied(at);
                }
                if next != Some(start) {
                    continue;
                }
                let name = |(entity, attribute): &(EntityId, &str)| {
                    format!("`{}.{attribute}`", self.names.catalog.name(*entity))
                };
                let steps: Vec<String> = path.iter().take(STEPS_SHOWN).chain(path.first()).map(name).collect();
                let message = format!("`{}` is copied from itself: {}", attribute.name, steps.join(" from "));
                let help = "let one of them be set by a write";
                self.out
                    .push(Diagnostic::new(&rules::CYCLE, attribute.span, message).help(help));
            }
        }
    }
}

/// How many attributes of a circle a message names.
const STEPS_SHOWN: usize = 12;

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

/// The circles, apart from one another; no more of them than are reported.
///
/// What follows from nothing that is left is left out, again and again. Then whatever is left follows from something that is
/// left, so that going from one to the next ends in a circle; that is taken out too. Each attribute is left out once.
fn circles<'a>(sources: &Sources<'a>) -> Vec<Vec<&'a str>> {
    let mut followers: HashMap<&str, Vec<&'a str>> = HashMap::new();
    let mut open: BTreeMap<&'a str, usize> = BTreeMap::new();
    for (name, from) in sources {
        let known = from.iter().filter(|source| sources.contains_key(*source));
        open.insert(name, known.clone().count());
        known.for_each(|source| followers.entry(source).or_default().push(name));
    }
    let mut ended: Vec<&'a str> = open
        .iter()
        .filter(|(_, left)| **left == 0)
        .map(|(name, _)| *name)
        .collect();
    let mut circles = Vec::new();
    loop {
        while let Some(name) = ended.pop() {
            if open.remove(name).is_none() {
                continue;
            }
            for follower in followers.get(name).into_iter().flatten() {
                if let Some(left) = open.get_mut(follower) {
                    *left = left.saturating_sub(1);
                    ended.extend((*left == 0).then_some(*follower));
                }
            }
        }
        let Some(start) = open.keys().next().copied().filter(|_| circles.len() < DIAGNOSTICS_MAX) else {
            return circles;
        };
        let circle = circle_before(start, sources, &open);
        ended.extend(circle.iter().copied());
        circles.push(circle);
    }
}

/// The circle that going from sources to sources ends in.
fn circle_before<'a>(start: &'a str, sources: &Sources<'a>, open: &BTreeMap<&'a str, usize>) -> Vec<&'a str> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut path = Vec::new();
    let mut next = Some(start);
    while let Some(name) = next {
        if let Some(begin) = places.insert(name, path.len()) {
            return path.split_off(begin);
        }
        path.push(name);
        let mut from = sources.get(name).into_iter().flatten();
        next = from.find(|source| open.contains_key(*source)).copied();
    }
    path
}
