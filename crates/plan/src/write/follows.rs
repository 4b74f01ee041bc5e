//! Which writes run after what a write does, and who is told of it: as far as the model tells before anything happens.
//!
//! Nothing that can follow is left out. What a `when` decides is not looked into: a write that would run after no change of
//! another may be named all the same.

use std::collections::BTreeSet;

use singlet_model::Model;
use singlet_model::expression::ExprKind;
use singlet_model::model::{Entity, MoveTo, Step, StepKind, Trigger, TriggerEvent, Webhook, Write};
use singlet_model::types::{EntityId, Type};

use super::copies::copy_holders;

/// The writes that may run after what a write does, in the order of the model.
pub fn following_writes<'m>(model: &'m Model, write: &Write) -> Vec<(&'m Write, &'m Trigger)> {
    let mut done = Vec::new();
    collect(model, &write.steps, &mut done);
    let follows = |(_, trigger): &(&Write, &Trigger)| done.iter().any(|one| one.is_followed_by(model, trigger));
    model.triggered_writes().filter(follows).collect()
}

/// The webhooks that may tell of what a write does, in the order of the model.
pub fn following_webhooks<'m>(model: &'m Model, write: &Write) -> Vec<&'m Webhook> {
    let mut done = Vec::new();
    collect(model, &write.steps, &mut done);
    let follows = |webhook: &&Webhook| done.iter().any(|one| one.is_followed_by(model, &webhook.after));
    model.webhooks.iter().filter(follows).collect()
}

/// Whether a step may do to a row what is followed so.
pub fn step_is_followed(model: &Model, step: &Step, trigger: &Trigger) -> bool {
    let mut done = Vec::new();
    collect(model, std::slice::from_ref(step), &mut done);
    done.iter().any(|one| one.is_followed_by(model, trigger))
}

/// The attributes that a step may change in the row that it updates; none where it updates none.
pub fn changed_attributes(model: &Model, step: &Step) -> BTreeSet<String> {
    let entity = step.entity().and_then(|id| model.entity(id));
    match (&step.kind, entity) {
        (StepKind::Update(_) | StepKind::Upsert(_), Some(entity)) => changed(entity, step),
        _ => BTreeSet::new(),
    }
}

/// The states that a step may bring its row to; nothing where any may be.
pub fn entered_states(model: &Model, step: &Step) -> Option<Vec<String>> {
    let entity = step.entity().and_then(|id| model.entity(id));
    entity.map_or(Some(Vec::new()), |entity| entered(entity, step))
}

/// Writes that run after one another in a circle: each circle once, as the shortest way round from its first write.
pub fn trigger_cycles(model: &Model) -> Vec<Vec<&Write>> {
    let triggers: Vec<&Write> = model.triggered_writes().map(|(write, _)| write).collect();
    let number = |write: &Write| triggers.iter().position(|known| known.name == write.name);
    let next: Vec<Vec<usize>> = triggers
        .iter()
        .map(|write| {
            following_writes(model, write)
                .iter()
                .filter_map(|(next, _)| number(next))
                .collect()
        })
        .collect();
    let mut cycles: Vec<Vec<usize>> = Vec::new();
    for start in 0..triggers.len() {
        if let Some(cycle) = shortest_cycle(&next, start)
            && !cycles.iter().any(|known| known.contains(&start))
        {
            cycles.push(cycle);
        }
    }
    let named = |cycle: Vec<usize>| cycle.into_iter().filter_map(|at| triggers.get(at).copied()).collect();
    cycles.into_iter().map(named).collect()
}

/// The shortest way from a write back to itself.
fn shortest_cycle(next: &[Vec<usize>], start: usize) -> Option<Vec<usize>> {
    let mut ways: Vec<Vec<usize>> = vec![vec![start]];
    let mut seen = BTreeSet::new();
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in &ways {
            let last = way.last().and_then(|last| next.get(*last))?;
            if last.contains(&start) {
                return Some(way.clone());
            }
            for more in last.iter().filter(|more| seen.insert(**more)) {
                longer.push(way.iter().copied().chain([*more]).collect());
            }
        }
        ways = longer;
    }
    None
}

/// What a step may do to a row.
struct Done {
    entity: EntityId,
    creates: bool,
    deletes: bool,
    /// The attributes that may become others; none where the row is not updated.
    updates: Option<BTreeSet<String>>,
    /// The states that it may come to; nothing where they are not known.
    enters: Option<Vec<String>>,
}

impl Done {
    fn is_followed_by(&self, model: &Model, trigger: &Trigger) -> bool {
        let of = model.entity(trigger.entity);
        self.entity == trigger.entity
            && match &trigger.event {
                TriggerEvent::Create => self.creates,
                TriggerEvent::Delete => self.deletes,
                // Time does it, and no write.
                TriggerEvent::Expire => false,
                // Later, when the instant has come.
                TriggerEvent::Reach(name) => {
                    self.creates || self.updates.as_ref().is_some_and(|all| all.contains(name))
                }
                TriggerEvent::Update(None) => self.updates.is_some(),
                TriggerEvent::Update(Some(name)) => self.updates.as_ref().is_some_and(|all| all.contains(name)),
                TriggerEvent::Enter(state) => {
                    let start = of.and_then(|entity| entity.states.as_ref()).map(|states| &states.start);
                    let is_begun = self.creates && start == Some(state);
                    let is_moved = self.enters.as_ref().is_none_or(|states| states.contains(state));
                    is_begun || self.updates.is_some() && is_moved
                }
            }
    }
}

fn collect(model: &Model, steps: &[Step], done: &mut Vec<Done>) {
    for step in steps {
        match &step.kind {
            StepKind::Group(inner) => collect(model, inner, done),
            StepKind::Call { step: name, .. } => {
                let named = model.steps.iter().find(|named| named.name == *name);
                collect(model, named.map_or(&[][..], |named| &named.steps), done);
            }
            StepKind::Present(_) | StepKind::Absent(_) => {}
            StepKind::Create(_) | StepKind::Update(_) | StepKind::Delete(_) | StepKind::Upsert(_) => {
                if let Some(entity) = step.entity().and_then(|id| model.entity(id)) {
                    of_step(model, entity, step, done);
                }
            }
        }
    }
}

fn of_step(model: &Model, entity: &Entity, step: &Step, done: &mut Vec<Done>) {
    let updates = matches!(step.kind, StepKind::Update(_) | StepKind::Upsert(_)).then(|| changed(entity, step));
    // Rows that repeat what changes are updated with it.
    for (holder, name, copy) in copy_holders(model, entity) {
        if updates.as_ref().is_some_and(|all| all.contains(&copy.attribute)) {
            done.push(Done {
                entity: holder.id,
                creates: false,
                deletes: false,
                updates: Some(with_computed(holder, BTreeSet::from([name.to_owned()]))),
                enters: Some(Vec::new()),
            });
        }
    }
    done.push(Done {
        entity: entity.id,
        creates: matches!(step.kind, StepKind::Create(_) | StepKind::Upsert(_)),
        // A row that moves to another key ends at one and begins at another.
        deletes: matches!(step.kind, StepKind::Delete(_)) || step.rekey,
        enters: entered(entity, step),
        updates,
    });
    if step.rekey {
        done.push(Done {
            entity: entity.id,
            creates: true,
            deletes: false,
            updates: None,
            enters: Some(Vec::new()),
        });
    }
}

/// The attributes that an update may change: its own, what every write sets, what holds in states, and what follows from them.
fn changed(entity: &Entity, step: &Step) -> BTreeSet<String> {
    let assigned = step.set.iter().chain(&step.add).chain(&step.remove).chain(&step.append);
    let mut all: BTreeSet<String> = assigned.map(|assignment| assignment.attribute.clone()).collect();
    let taken = step.take.iter().chain(&step.patch);
    all.extend(taken.map(|taken| taken.attribute.clone()));
    let set_always =
        |attribute: &&singlet_model::model::Attribute| attribute.always.is_some() || attribute.ty == Type::Version;
    all.extend(
        entity
            .attributes
            .iter()
            .filter(set_always)
            .map(|attribute| attribute.name.clone()),
    );
    if let Some(states) = &entity.states
        && step.moves.is_some()
    {
        all.insert(states.of.clone());
        let held = states.holding.iter().flat_map(|(_, held)| held);
        all.extend(held.map(|(name, _)| name.clone()));
    }
    with_computed(entity, all)
}

/// The same with every attribute that is computed from one of them.
fn with_computed(entity: &Entity, mut all: BTreeSet<String>) -> BTreeSet<String> {
    for _ in &entity.attributes {
        let follows = entity.attributes.iter().filter(|attribute| {
            let sources = attribute.is.iter().flat_map(|is| is.attributes());
            attribute
                .alias
                .iter()
                .map(String::as_str)
                .chain(sources)
                .any(|name| all.contains(name))
        });
        let more: Vec<String> = follows.map(|attribute| attribute.name.clone()).collect();
        let known = all.len();
        all.extend(more);
        if all.len() == known {
            break;
        }
    }
    all
}

/// The states that a step may bring its row to; nothing where any may be.
fn entered(entity: &Entity, step: &Step) -> Option<Vec<String>> {
    let Some(states) = &entity.states else {
        return Some(Vec::new());
    };
    // What lapses is time's doing, whoever stores it.
    let mut to: Vec<String> = Vec::new();
    match &step.moves {
        None => {}
        Some(MoveTo::Named(name, _)) => {
            let moves = states.moves.iter().filter(|known| known.name == *name);
            to.extend(moves.map(|known| known.to.clone()));
        }
        Some(MoveTo::To(goal)) => match &goal.kind {
            ExprKind::Literal(singlet_model::expression::Literal::Text(state)) => to.push(state.clone()),
            _ => return None,
        },
    }
    Some(to)
}
