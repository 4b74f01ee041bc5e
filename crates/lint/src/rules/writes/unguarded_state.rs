use std::collections::{BTreeMap, BTreeSet};

use singlet_model::Span;
use singlet_model::expression::{Expr, ExprKind, Literal};
use singlet_model::model::{Attribute, Entity, StepKind};
use singlet_model::types::{EntityId, Type};

use crate::steps::{Placed, placed_steps, step_taken};
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A state changes from anywhere to anywhere.
    ///
    /// Several writes put an enum attribute into one state or another, and none of them looks at the state that it was in. A
    /// cancelled order is completed, a refunded payment refunded again, whichever request comes last.
    ///
    /// ```yaml
    /// complete: {do: [{update: "Order(args.id)", set: {status: completed}}]}
    /// cancel: {do: [{update: "Order(args.id)", set: {status: cancelled}}]}
    /// ```
    ///
    /// Way out: say which moves there are (`states: {of: status, start: open, moves: {complete: open -> completed, …}}`) and
    /// `move: complete` in the writes. Each move is then a condition. An attribute that may really change from any value to any
    /// other is set by one write.
    "W014" "unguarded-state" Warning
}

/// Names that say of an enum that it is a state.
const STATE_WORDS: [&str; 4] = ["status", "state", "stage", "phase"];

#[derive(Default)]
struct Changes<'a> {
    writers: BTreeSet<&'a str>,
    literals: BTreeSet<&'a str>,
    from_request: bool,
    places: Vec<(&'a str, Span)>,
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for ((id, name), changes) in changes(context) {
        let Some(entity) = context.model.entity(id) else { continue };
        let Some(attribute) = entity.attribute(name).filter(|attribute| is_state(entity, attribute, &changes)) else {
            continue;
        };
        let message = format!(
            "{} writes change `{}.{name}` and none of them looks at the state before",
            changes.writers.len(),
            entity.name
        );
        let help = format!("define `states` of `{name}` on `{}`, and use `move:` in the writes", entity.name);
        let mut finding = findings.at(attribute.span, format!("{}.{name}", entity.name), message).help(help);
        for (writer, span) in changes.places.iter().take(3) {
            finding = finding.note(*span, format!("changed by `{writer}`"));
        }
        findings.push(finding);
    }
}

/// Two writes that name different states, or one that does beside one that takes any, where the name says what it is.
fn is_state(entity: &Entity, attribute: &Attribute, changes: &Changes<'_>) -> bool {
    let name = attribute.name.to_lowercase();
    let called_so = STATE_WORDS.iter().any(|word| name.ends_with(word));
    let several = changes.literals.len() >= 2 || (changes.from_request && !changes.literals.is_empty() && called_so);
    entity.states.is_none() && changes.writers.len() >= 2 && several
}

/// Unguarded changes of enum attributes, by attribute.
fn changes<'a>(context: &Context<'a>) -> BTreeMap<(EntityId, &'a str), Changes<'a>> {
    let mut all: BTreeMap<(EntityId, &str), Changes<'_>> = BTreeMap::new();
    for placed in placed_steps(context.model) {
        let step = placed.step;
        let (Some(id), StepKind::Update(_) | StepKind::Upsert(_)) = (step.entity(), &step.kind) else {
            continue;
        };
        let Some(entity) = context.model.entity(id) else { continue };
        let set = step.set.iter().map(|set| (set.attribute.as_str(), Some(&set.value), set.span));
        let sent = step_taken(step).map(|taken| (taken.attribute.as_str(), None, taken.span));
        for (name, value, span) in set.chain(sent) {
            let is_enum = entity.attribute(name).is_some_and(|attribute| matches!(attribute.ty, Type::Enum(_)));
            if !is_enum || is_tested(&placed, name) {
                continue;
            }
            let changes = all.entry((id, name)).or_default();
            match value.map(|value| &value.kind) {
                Some(ExprKind::Literal(Literal::Text(word))) => {
                    changes.literals.insert(word);
                }
                Some(ExprKind::Arg(_)) | None => changes.from_request = true,
                _ => continue,
            }
            changes.writers.insert(placed.owner);
            changes.places.push((placed.owner, span));
        }
    }
    all
}

/// Whether a condition around the step looks at the attribute of some row.
fn is_tested(placed: &Placed<'_>, name: &str) -> bool {
    let requirements = placed.write.map_or(&[][..], |write| &write.requirements);
    let required = requirements.iter().chain(&placed.step.requirements).map(|requirement| &requirement.condition);
    let allow = placed.write.map(|write| &write.allow);
    let mut conditions = required.chain(placed.when.iter().copied()).chain(allow);
    conditions.any(|condition: &Expr| {
        condition.any(|part| match &part.kind {
            ExprKind::Attribute(known) | ExprKind::Field(_, known) => known == name,
            _ => false,
        })
    })
}
