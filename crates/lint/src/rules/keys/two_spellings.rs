use std::collections::{HashMap, HashSet};

use singlet_item::key::{Form, Part, Template};
use singlet_model::Span;
use singlet_model::expression::{BinaryOp, Expr, ExprKind, Literal};
use singlet_model::model::{Comparison, KeyTemplate, Read};
use singlet_model::types::{EntityId, Type};
use singlet_plan::access::AccessPath;

use crate::{Context, Findings, design_rule};

design_rule! {
    /// One value is spelled in two ways.
    ///
    /// `FULLDAY` in a key and `FULL_DAY` in an attribute, `STATUS#PENDING` and the state `pending`: to DynamoDB these are
    /// different strings. A query with one finds nothing of the other, and someone will use the wrong one. Two spellings
    /// differ only in case, `_`, `-` or spaces.
    ///
    /// ```yaml
    /// Slot: {enum: [MORNING, AFTERNOON, FULL_DAY]}
    /// key:
    ///   - {when: slot != "FULL_DAY", PK: "EVENT#{date}", SK: "{slot}"}
    ///   - {PK: "EVENT#{date}", SK: "FULLDAY"}
    /// ```
    ///
    /// Compared are values with values only: text of a key, in a template or in `using`, that fills the place where a template
    /// of the entity puts an attribute (or, after the same text, one of another entity); the members of enums that
    /// attributes of one name have; the literals with which one attribute is compared or set. The prefix `USER#` is no value.
    ///
    /// Way out: keep one spelling, that of the enum.
    "K017" "two-spellings" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let mut spellings = Spellings::default();
    members(context, &mut spellings);
    literals(context, &mut spellings);
    places(context, &mut spellings);
    spellings.report(findings);
}

/// Where values meet: an attribute of one entity, or the attributes of one name in all of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Slot<'a> {
    Attribute(EntityId, &'a str),
    Name(&'a str),
}

/// A value as it is written somewhere.
#[derive(Clone)]
struct Spelling<'a> {
    text: &'a str,
    span: Span,
    subject: String,
    /// What it is: "a member of `Slot`".
    role: String,
}

#[derive(Default)]
struct Spellings<'a> {
    order: Vec<(Slot<'a>, String)>,
    by_slot: HashMap<(Slot<'a>, String), Vec<Spelling<'a>>>,
}

impl<'a> Spellings<'a> {
    /// Keeps the first place of each spelling of a value.
    fn add(&mut self, slot: Slot<'a>, spelling: Spelling<'a>) {
        let key = (slot, folded(spelling.text));
        let known = self.by_slot.entry(key.clone()).or_insert_with(|| {
            self.order.push(key);
            Vec::new()
        });
        if known.iter().all(|known| known.text != spelling.text) {
            known.push(spelling);
        }
    }

    fn report(self, findings: &mut Findings<'_>) {
        let mut reported = HashSet::new();
        let all = self.order.iter().filter_map(|key| self.by_slot.get(key));
        for spellings in all {
            let [first, others @ ..] = spellings.as_slice() else {
                continue;
            };
            for other in others
                .iter()
                .filter(|other| reported.insert((first.text, other.text, other.subject.clone())))
            {
                let message = format!(
                    "`{}`, {}, and `{}`, {}, are two spellings of one value",
                    other.text, other.role, first.text, first.role
                );
                findings.push(
                    findings
                        .at(other.span, other.subject.clone(), message)
                        .note(first.span, format!("`{}` here", first.text))
                        .help(format!("keep one spelling, such as `{}`", first.text)),
                );
            }
        }
    }
}

/// The value without what spellings differ in.
fn folded(text: &str) -> String {
    text.chars()
        .filter(|char| !matches!(char, '_' | '-' | ' '))
        .flat_map(char::to_lowercase)
        .collect()
}

/// The members of the enums that attributes have, by the attribute and by its name.
fn members<'a>(context: &Context<'a>, spellings: &mut Spellings<'a>) {
    let entities = context.model.entities.iter().filter(|entity| entity.mirror.is_none());
    for entity in entities {
        for attribute in &entity.attributes {
            for member in attribute.ty.enum_members().unwrap_or_default() {
                let role = match &attribute.ty {
                    Type::Enum(words) if !words.name.is_empty() => format!("a member of `{}`", words.name),
                    _ => format!("a member of `{}.{}`", entity.name, attribute.name),
                };
                let spelling = Spelling {
                    text: member,
                    span: attribute.span,
                    subject: format!("{}.{}", entity.name, attribute.name),
                    role,
                };
                spellings.add(Slot::Attribute(entity.id, &attribute.name), spelling.clone());
                spellings.add(Slot::Name(&attribute.name), spelling);
            }
        }
    }
}

/// The literals with which free text is compared, or to which it is set. Those of enums are checked by the language.
fn literals<'a>(context: &Context<'a>, spellings: &mut Spellings<'a>) {
    for (read, selection, entity) in context.read_selections() {
        let entity = context.model.source_of(entity).id;
        let conditions = selection.filter.iter().chain([&read.allow]);
        conditions.for_each(|expr| compared(expr, entity, &read.name, spellings));
    }
    for entity in context.model.entities.iter().filter(|entity| entity.mirror.is_none()) {
        let choices = entity
            .key
            .iter()
            .chain(entity.index.iter().flat_map(|entry| entry.key_choices()));
        let conditions = choices.filter_map(|choice| choice.when.as_ref());
        conditions.for_each(|expr| compared(expr, entity.id, &entity.name, spellings));
        for attribute in &entity.attributes {
            if let Some(expr) = &attribute.default {
                assigned(expr, (entity.id, &attribute.name), &entity.name, spellings);
            }
        }
    }
    for (write, step) in context.write_steps() {
        let Some(entity) = step.entity() else { continue };
        for set in &step.set {
            assigned(&set.value, (entity, &set.attribute), &write.name, spellings);
        }
    }
}

fn compared<'a>(expr: &'a Expr, entity: EntityId, subject: &str, spellings: &mut Spellings<'a>) {
    expr.walk(&mut |part: &'a Expr| {
        let ExprKind::Binary(BinaryOp::Eq | BinaryOp::Ne | BinaryOp::In, left, right) = &part.kind else {
            return;
        };
        for (side, other) in [(left, right), (right, left)] {
            if let ExprKind::Attribute(name) = &side.kind {
                assigned(other, (entity, name), subject, spellings);
            }
        }
    });
}

/// The texts that an expression gives, for an attribute of free text.
fn assigned<'a>(expr: &'a Expr, (entity, name): (EntityId, &'a str), subject: &str, spellings: &mut Spellings<'a>) {
    match &expr.kind {
        ExprKind::Literal(Literal::Text(text)) if matches!(expr.ty, Type::Text(_)) => spellings.add(
            Slot::Attribute(entity, name),
            Spelling {
                text,
                span: expr.span,
                subject: subject.to_owned(),
                role: format!("a value of `{name}` in `{subject}`"),
            },
        ),
        ExprKind::List(elements) => {
            elements
                .iter()
                .for_each(|element| assigned(element, (entity, name), subject, spellings));
        }
        ExprKind::Conditional(_, then, otherwise) => {
            assigned(then, (entity, name), subject, spellings);
            assigned(otherwise, (entity, name), subject, spellings);
        }
        _ => {}
    }
}

/// A place in a key attribute: what stands before it, and the entity, unless text right before it says what it is for.
type Place<'a> = (&'a str, String, Option<EntityId>);

/// Key text that stands where a template has an attribute.
fn places<'a>(context: &Context<'a>, spellings: &mut Spellings<'a>) {
    let mut attributes: HashMap<Place<'a>, (EntityId, &'a str)> = HashMap::new();
    for (path, key) in templates(context) {
        let entity = context.model.source_of(path.entity).id;
        for (before, segment) in segments(&key.template) {
            if let Segment::Attribute(name) = segment {
                attributes
                    .entry(place(&key.attribute, before, entity))
                    .or_insert((entity, name));
            }
        }
    }
    for (path, key) in templates(context) {
        let entity = context.model.source_of(path.entity).id;
        fill(
            &attributes,
            (key, entity),
            (context.path_subject(&path), "in the key"),
            spellings,
        );
    }
    for (read, key, entity) in conditions(context) {
        fill(
            &attributes,
            (key, entity),
            (read.name.clone(), "in a condition"),
            spellings,
        );
    }
}

fn place<'a>(attribute: &'a str, before: String, entity: EntityId) -> Place<'a> {
    let said = before
        .chars()
        .rev()
        .find(|char| !char.is_ascii_punctuation() || *char == '{');
    let own = matches!(said, None | Some('{')).then_some(entity);
    (attribute, before, own)
}

fn fill<'a>(
    attributes: &HashMap<Place<'a>, (EntityId, &'a str)>,
    (key, entity): (&'a KeyTemplate, EntityId),
    (subject, role): (String, &str),
    spellings: &mut Spellings<'a>,
) {
    for (before, segment) in segments(&key.template) {
        let Segment::Text(text) = segment else { continue };
        let Some((entity, name)) = attributes.get(&place(&key.attribute, before, entity)) else {
            continue;
        };
        let spelling = Spelling {
            text,
            span: key.span,
            subject: subject.clone(),
            role: format!("text {role} of `{subject}` in the place of `{name}`"),
        };
        spellings.add(Slot::Attribute(*entity, name), spelling);
    }
}

/// Every template of every entity; those of mirrors count for their source.
fn templates<'a>(context: &Context<'a>) -> impl Iterator<Item = (AccessPath<'a>, &'a KeyTemplate)> {
    context
        .own_paths()
        .flat_map(|path| path.choice.keys.iter().map(move |key| (path, key)))
}

/// The templates of conditions by hand, with the entity that is asked for.
fn conditions<'a>(context: &Context<'a>) -> impl Iterator<Item = (&'a Read, &'a KeyTemplate, EntityId)> {
    let model = context.model;
    model.reads.iter().flat_map(move |read| {
        let entity = read
            .all_selections()
            .next()
            .and_then(|selection| model.entity(selection.entity()?));
        let source = entity.map(|entity| model.source_of(entity).id);
        let keys = read.using.iter().flat_map(|using| &using.key);
        let templates = keys.flat_map(|key| match &key.comparison {
            Comparison::Between(from, to) => vec![from, to],
            Comparison::Equal(one)
            | Comparison::Less(one)
            | Comparison::LessOrEqual(one)
            | Comparison::Greater(one)
            | Comparison::GreaterOrEqual(one)
            | Comparison::BeginsWith(one) => vec![one],
        });
        templates.filter_map(move |template| Some((read, template, source?)))
    })
}

/// What stands between two delimiters.
enum Segment<'a> {
    /// Text alone.
    Text(&'a str),
    /// One string attribute alone, in its own letters or another case.
    Attribute(&'a str),
    /// Anything else.
    Other,
}

/// The segments of a template, each with all text before it; variables before it count as alike.
fn segments(template: &Template) -> Vec<(String, Segment<'_>)> {
    let delimiter = template.delimiter().character();
    let mut found: Vec<(String, Vec<Segment<'_>>)> = vec![(String::new(), Vec::new())];
    let mut before = String::new();
    for part in template.parts() {
        match part {
            Part::Text(text) => {
                for (at, piece) in text.split(delimiter).enumerate() {
                    if at > 0 {
                        before.push(delimiter);
                        found.push((before.clone(), Vec::new()));
                    }
                    push(&mut found, (!piece.is_empty()).then_some(Segment::Text(piece)));
                    before.push_str(piece);
                }
            }
            Part::Variable(variable) => {
                let spelled = matches!(
                    variable.form,
                    Form::Escaped | Form::Ordered | Form::Raw | Form::Lower | Form::Upper | Form::Whole
                );
                let segment = if spelled {
                    Segment::Attribute(&variable.name)
                } else {
                    Segment::Other
                };
                push(&mut found, Some(segment));
                before.push('{');
            }
            Part::Number(_) | Part::Anything => push(&mut found, Some(Segment::Other)),
        }
    }
    found
        .into_iter()
        .filter_map(|(before, mut parts)| Some((before, parts.pop().filter(|_| parts.is_empty())?)))
        .collect()
}

fn push<'a>(found: &mut [(String, Vec<Segment<'a>>)], segment: Option<Segment<'a>>) {
    if let Some((_, parts)) = found.last_mut() {
        parts.extend(segment);
    }
}
