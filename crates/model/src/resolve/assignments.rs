//! What a step writes: `set`, `add`, `remove`, `append`, `take`, `patch`, and whether a create is complete.

use super::taken;
use super::unknown_attribute;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::expression::{self, Expr, Scope};
use crate::model::{Assignment, Attribute, Entity, Kept, Step, Taken};
use crate::node::{Entry, Node};
use crate::rules;
use crate::source::Span;
use crate::text::{Text, with_article};
use crate::types::{EntityId, Type};

/// The row that a step writes.
pub(super) struct StepTarget<'a> {
    pub entity: &'a Entity,
    pub scope: &'a Scope<'a>,
    pub creates: bool,
    /// Whether it may make a new row: an upsert finds one or makes it.
    pub may_create: bool,
    /// Attributes that `allow` names.
    pub protected: &'a [(EntityId, String)],
}

/// Fills in what the step writes.
pub(super) fn fill_step(step: &mut Step, node: &Node, target: &StepTarget<'_>, out: &mut Diagnostics) {
    step.from = node
        .get("from")
        .map(|from| super::checked_value(from, target.scope, out));
    step.take = taken(node.get("take"), target, step.rekey, out);
    step.patch = taken(node.get("patch"), target, step.rekey, out);
    check_from(step, target, out);
    step.set = assigned(node.get("set"), target, step.rekey, ValueSource::Set, out);
    step.add = assigned(node.get("add"), target, step.rekey, ValueSource::Add, out);
    step.remove = assigned(node.get("remove"), target, step.rekey, ValueSource::Remove, out);
    step.append = assigned(node.get("append"), target, step.rekey, ValueSource::Append, out);
    if target.creates || target.may_create {
        check_complete(step, target, out);
    }
}

/// How a value comes to an attribute.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueSource {
    Set,
    Add,
    Remove,
    Append,
}

fn assigned(
    node: Option<&Node>,
    target: &StepTarget<'_>,
    rekey: bool,
    way: ValueSource,
    out: &mut Diagnostics,
) -> Vec<Assignment> {
    let entries = node.map_or(&[][..], Node::entries);
    entries
        .iter()
        .filter_map(|entry| assignment(entry, target, rekey, way, out))
        .collect()
}

fn assignment(
    entry: &Entry,
    target: &StepTarget<'_>,
    rekey: bool,
    way: ValueSource,
    out: &mut Diagnostics,
) -> Option<Assignment> {
    let (name, map_entry) = map_entry(&entry.key, target, out)?;
    let attribute = find(target, &name, out)?;
    check_writable(attribute, target, rekey, name.span, out);
    let text = entry.value.text()?;
    let wanted = match map_entry {
        Some(_) => attribute.ty.element_type().cloned().unwrap_or(Type::Unknown),
        None => attribute.ty.clone(),
    };
    let expected = expected(&wanted, way, attribute, name.span, out)?;
    let goal = expression::Target {
        name: &name.text,
        ty: &expected,
        optional: attribute.optional && way == ValueSource::Set,
    };
    let value = expression::check_value(text, target.scope, goal, out);
    Some(Assignment {
        attribute: name.text,
        entry: map_entry,
        value,
        span: entry.key.span,
    })
}

/// What the value of an assignment must be, for its way.
fn expected(ty: &Type, way: ValueSource, attribute: &Attribute, span: Span, out: &mut Diagnostics) -> Option<Type> {
    let (fits, wanted) = match (way, ty) {
        (ValueSource::Set, ty) => return Some(ty.clone()),
        (_, Type::Unknown) => return Some(Type::Unknown),
        (ValueSource::Add, Type::Int(_)) => return Some(Type::int()),
        (ValueSource::Add, Type::Number(_)) => return Some(Type::number()),
        (ValueSource::Add, Type::Duration) => return Some(Type::Duration),
        (ValueSource::Add | ValueSource::Remove, Type::Set(element, _)) => return Some(element.as_ref().clone()),
        (ValueSource::Append, Type::List(element, _)) => return Some(element.as_ref().clone()),
        (ValueSource::Add, _) => ("`add`", "numbers and sets"),
        (ValueSource::Remove, _) => ("`remove`", "sets"),
        (ValueSource::Append, _) => ("`append`", "lists"),
    };
    let message = format!(
        "{fits} is for {wanted}, and `{}` is {}",
        attribute.name,
        with_article(&attribute.ty.to_string())
    );
    out.push(Diagnostic::new(&rules::NOT_ASSIGNABLE, span, message).help("use `set`"));
    None
}

/// `counts[args.kind]`: the attribute, and which of its entries.
fn map_entry(key: &Text, target: &StepTarget<'_>, out: &mut Diagnostics) -> Option<(Text, Option<Expr>)> {
    let Some(open) = key.text.find('[') else {
        return Some((key.clone(), None));
    };
    // An attribute's own name may hold brackets.
    if target.entity.attribute(&key.text).is_some() {
        return Some((key.clone(), None));
    }
    if !key.text.ends_with(']') {
        let message = format!("`{}` is not closed", key.text);
        out.push(Diagnostic::new(&rules::NOT_ASSIGNABLE, key.span, message).help("add `]`"));
        return None;
    }
    let inner = key.part_text(open + 1, key.text.len() - 1).trimmed_text();
    let entry = expression::check_expression(&inner, target.scope, Some(&Type::text()), out);
    Some((key.part_text(0, open).trimmed_text(), Some(entry)))
}

fn find<'a>(target: &StepTarget<'a>, name: &Text, out: &mut Diagnostics) -> Option<&'a Attribute> {
    let found = target.entity.attribute(&name.text);
    if found.is_none() {
        out.push(unknown_attribute(
            target.scope.catalog,
            target.entity.id,
            &name.text,
            name.span,
        ));
    }
    found
}

/// Says why an attribute cannot be written, where it cannot.
fn check_writable(attribute: &Attribute, target: &StepTarget<'_>, rekey: bool, span: Span, out: &mut Diagnostics) {
    let entity = target.entity;
    let name = &attribute.name;
    let state = entity.states.as_ref().is_some_and(|states| states.of == *name);
    let versioned = entity.history.as_ref().is_some_and(|history| {
        history.at == *name || history.until == *name || history.tombstone.as_ref() == Some(name)
    });
    let (why, help) = if attribute.is.is_some() {
        ("is computed", "change what it is computed from".to_owned())
    } else if attribute.always.is_some() {
        ("is set by every write", "leave it out".to_owned())
    } else if attribute.ty == Type::Version {
        (
            "is raised by every write",
            "leave it out; callers send it as `If-Match`".to_owned(),
        )
    } else if attribute.copy.is_some() && !target.creates {
        ("is a copy and follows its source", "change the source".to_owned())
    } else if attribute.copy.is_some() {
        ("is a copy and is taken from its source", "leave it out".to_owned())
    } else if state {
        ("is a state", "change it with `move:`".to_owned())
    } else if versioned {
        ("belongs to the entity's history", "leave it out".to_owned())
    } else if attribute.fixed && !target.creates {
        ("is fixed", "set it when the row is created".to_owned())
    } else if entity.is_key_attribute(name) && !target.creates && !rekey {
        (
            "is part of the primary key",
            "say `rekey: true` to move the row, or create another".to_owned(),
        )
    } else if !target.creates && entity.excludes.as_ref().is_some_and(|excludes| names(excludes, name)) {
        // `excludes` is looked at when a row is created: a change would get round it.
        (
            "decides which rows this one excludes",
            "delete the row, and create another".to_owned(),
        )
    } else if !target.creates && entity.attributes.iter().any(|other| is_frozen_by(other, name)) {
        (
            "decides whose value a copy has",
            "set it when the row is created".to_owned(),
        )
    } else {
        return;
    };
    let message = format!("`{name}` of `{}` {why} and cannot be written", entity.name);
    out.push(Diagnostic::new(&rules::NOT_ASSIGNABLE, span, message).help(help));
}

fn names(expr: &Expr, attribute: &str) -> bool {
    expr.attributes().contains(&attribute)
}

/// Whether an attribute is a copy that never follows, or that only changes of its source have follow, of a row that another attribute names.
fn is_frozen_by(copied: &Attribute, name: &str) -> bool {
    let copy = copied.copy.as_ref();
    let copy = copy.filter(|copy| matches!(copy.kept, Kept::Frozen | Kept::Stream));
    copy.is_some_and(|copy| names(&copy.source, name))
}

fn taken(node: Option<&Node>, target: &StepTarget<'_>, rekey: bool, out: &mut Diagnostics) -> Vec<Taken> {
    let mut all: Vec<Taken> = Vec::new();
    for text in taken::list_texts(node) {
        let (name, required) = taken::split_required(text);
        let Some(attribute) = find(target, &text.part_text(0, name.len()), out) else {
            continue;
        };
        if all.iter().any(|known| known.attribute == name) {
            let message = format!("`{name}` is taken twice");
            out.push(Diagnostic::new(&rules::NOT_ASSIGNABLE, text.span, message).help("remove one of the two"));
        }
        check_writable(attribute, target, rekey, text.span, out);
        check_protected(attribute, target, text.span, out);
        all.push(Taken {
            attribute: name.to_owned(),
            required,
            span: text.span,
        });
    }
    all
}

/// What decides access cannot come from a caller.
fn check_protected(attribute: &Attribute, target: &StepTarget<'_>, span: Span, out: &mut Diagnostics) {
    let named = target
        .protected
        .iter()
        .any(|(entity, name)| *entity == target.entity.id && *name == attribute.name);
    if named && !target.creates {
        let message = format!(
            "`{}` decides who may do this, and a caller must not send it",
            attribute.name
        );
        out.push(
            Diagnostic::new(&rules::NOT_ASSIGNABLE, span, message).help("set it from what is known, or leave it out"),
        );
    }
}

/// What `take` takes from an element, the element has.
fn check_from(step: &Step, target: &StepTarget<'_>, out: &mut Diagnostics) {
    let Some(from) = &step.from else { return };
    let fields = match &from.ty {
        Type::Object(object) => object,
        Type::Unknown | Type::Json | Type::Row(_) => return,
        other => {
            let message = format!(
                "`from` takes an element with fields, not {}",
                with_article(&target.scope.catalog.describe_type(other))
            );
            out.push(Diagnostic::new(&rules::WRONG_SHAPE, from.span, message));
            return;
        }
    };
    for taken in &step.take {
        if fields.field_named(&taken.attribute).is_none() {
            let message = format!("the element has no field `{}`", taken.attribute);
            let known = fields.fields.iter().map(|field| field.name.as_str());
            out.push(
                Diagnostic::new(&rules::UNKNOWN_ATTRIBUTE, taken.span, message).did_you_mean(&taken.attribute, known),
            );
        }
    }
}

fn check_complete(step: &Step, target: &StepTarget<'_>, out: &mut Diagnostics) {
    let entity = target.entity;
    // What an upsert adds to counts from nothing, and its key says the rest.
    let variables = target.scope.catalog.names(entity.id).map(|names| &names.key_variables);
    let by_key =
        |name: &str| target.may_create && variables.is_some_and(|names| names.iter().any(|known| known == name));
    let given = |name: &str| {
        let mut assigned = step.set.iter().chain(&step.add).chain(&step.append);
        by_key(name)
            || assigned.any(|assignment| assignment.attribute == name)
            || step.take.iter().any(|taken| taken.attribute == name)
    };
    let state = entity.states.as_ref().map(|states| states.of.as_str());
    let history = entity.history.as_ref();
    let missing: Vec<&str> = entity
        .attributes
        .iter()
        .filter(|attribute| {
            let name = attribute.name.as_str();
            let by_itself = attribute.optional
                || attribute.default.is_some()
                || attribute.is.is_some()
                || attribute.always.is_some()
                || attribute.copy.is_some()
                || attribute.ty == Type::Version
                || attribute.ty.is_unknown()
                || state == Some(name)
                || history.is_some_and(|history| history.at == name || history.tombstone.as_deref() == Some(name));
            !by_itself && !given(name)
        })
        .map(|attribute| attribute.name.as_str())
        .collect();
    if !missing.is_empty() {
        let message = format!(
            "creating `{}` leaves out {}",
            entity.name,
            crate::grammar::listed_words(&missing)
        );
        let help = "add it to `set` or `take`, give it a default, or make it optional";
        out.push(Diagnostic::new(&rules::INCOMPLETE_CREATE, step.span, message).help(help));
    }
}
