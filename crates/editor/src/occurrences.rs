//! Every place where a name of the model stands.
//!
//! The tree is walked along the grammar, so that a new word of the language needs nothing here unless it names something in a way of its
//! own. Names within expressions are told apart by what stands around them. Where that is not enough a place is left out: a rename checks
//! the model that it makes, and is refused then.

use std::collections::BTreeSet;

use singlet_model::grammar::{Record, Shape, words};
use singlet_model::node::{Entry, Node};
use singlet_model::text::Text;
use singlet_model::{Model, Span};

use crate::expressions::{NameChain, name_chains, template_parts};
use crate::meaning::{ENTITY_FIELDS, FieldMeaning, STEP_FIELDS, field_meaning, first_name};

/// What a name names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// An entity.
    Entity,
    /// An attribute, of the entity that declares it.
    Attribute(String),
    /// An argument of a read, a write or a named step.
    Argument(String),
    /// A read or a write.
    Operation,
    /// A named type.
    Type,
    /// A setting.
    Setting,
    /// An index.
    Index,
    /// A tally.
    Tally,
    /// A named step.
    Step,
    /// A claim of the caller.
    Claim,
    /// A name for a value or a row, within a read or a write.
    Local(String),
}

/// A place where a name stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameOccurrence {
    /// What it names.
    pub kind: NameKind,
    /// The name.
    pub name: String,
    /// Where it stands.
    pub span: Span,
    /// Whether it is defined there.
    pub is_definition: bool,
}

impl NameOccurrence {
    /// Whether both name the same.
    pub fn is_same_name(&self, other: &NameOccurrence) -> bool {
        self.kind == other.kind && self.name == other.name
    }
}

/// Every place of a tree where a name of its model stands.
pub(crate) fn occurrences_in(tree: &Node, model: &Model) -> Vec<NameOccurrence> {
    let names_of = |field: &str| -> BTreeSet<String> {
        let entries = tree.get(field).map(Node::entries).unwrap_or_default();
        entries.iter().map(|entry| entry.key.text.clone()).collect()
    };
    let mut walk = OccurrenceWalk {
        model,
        types: names_of("types"),
        steps: names_of("steps"),
        found: Vec::new(),
    };
    walk.record(tree, &words::MODEL, &NameScope::default());
    let mut found = walk.found;
    define_path_variables(&mut found);
    found
}

/// An argument that is declared nowhere is defined where the route first has it.
fn define_path_variables(found: &mut [NameOccurrence]) {
    for at in 0..found.len() {
        let Some(one) = found.get(at).cloned() else { continue };
        let is_argument = matches!(one.kind, NameKind::Argument(_));
        if is_argument
            && !found
                .iter()
                .any(|other| other.is_definition && other.is_same_name(&one))
        {
            let first = found
                .iter_mut()
                .filter(|other| other.is_same_name(&one))
                .min_by_key(|other| other.span);
            if let Some(first) = first {
                first.is_definition = true;
            }
        }
    }
}

/// What names mean at a place.
#[derive(Clone, Debug, Default)]
struct NameScope {
    /// The entity whose attributes stand bare.
    entity: Option<String>,
    /// The entity of `row`, where that is another.
    row: Option<String>,
    /// The read, write or named step.
    operation: Option<String>,
    /// Names for values and rows, with their entities.
    bound: Vec<(String, Option<String>)>,
    /// Attributes that are arguments too, with their entities.
    taken: Vec<(String, String)>,
}

struct OccurrenceWalk<'m> {
    model: &'m Model,
    types: BTreeSet<String>,
    steps: BTreeSet<String>,
    found: Vec<NameOccurrence>,
}

impl OccurrenceWalk<'_> {
    fn record(&mut self, node: &Node, record: &'static Record, scope: &NameScope) {
        let scope = self.scope_within(node, record, scope);
        for entry in node.entries() {
            match (record.field_named(&entry.key.text), record.others) {
                (Some(field), _) => self.node(&entry.value, &field.shape, (record.name, field.name), &scope),
                (None, Some((_, shape))) => {
                    self.other_key(record.name, entry, &scope);
                    let mut inner = scope.clone();
                    if record.name == words::STEP.name {
                        inner.operation = Some(entry.key.text.clone());
                        self.step_arguments(entry, &inner, &scope);
                    } else {
                        self.node(&entry.value, shape, (record.name, ""), &inner);
                    }
                }
                (None, None) => {}
            }
        }
    }

    /// The name of a step that a step calls, or of an element.
    fn other_key(&mut self, record: &str, entry: &Entry, scope: &NameScope) {
        if record == "each" {
            let operation = scope.operation.clone().unwrap_or_default();
            self.add(NameKind::Local(operation), &entry.key, true);
        }
        if record == words::STEP.name && self.steps.contains(&entry.key.text) {
            self.add(NameKind::Step, &entry.key, false);
        }
    }

    /// The arguments of a named step: their names are its own, their values those of the place.
    fn step_arguments(&mut self, entry: &Entry, called: &NameScope, scope: &NameScope) {
        for argument in entry.value.entries() {
            let step = called.operation.clone().unwrap_or_default();
            self.add(NameKind::Argument(step), &argument.key, false);
            if let Some(text) = argument.value.text() {
                self.expression(text, scope);
            }
        }
    }

    fn scope_within(&self, node: &Node, record: &Record, scope: &NameScope) -> NameScope {
        let mut inner = scope.clone();
        match record.name {
            "read" | "let" | "tally" | "step" => {
                if let Some(entity) = self.entity_of_map(node, scope) {
                    inner.entity = Some(entity);
                }
            }
            "with" => {
                inner.row = scope.entity.clone();
                inner.entity = self.entity_of_map(node, scope).or(inner.entity);
            }
            "write" | "webhook" => {
                inner.entity = None;
                let after = node.get("after").map(Node::entries).unwrap_or_default();
                let events = ["create", "update", "delete", "enter", "expire", "reach"];
                let event = after.iter().find(|entry| events.contains(&entry.key.text.as_str()));
                inner.row = event
                    .and_then(|entry| entry.value.str())
                    .map(|text| first_name(text).to_owned());
            }
            _ => {}
        }
        inner
    }

    /// The entity whose rows a map reads or writes.
    fn entity_of_map(&self, node: &Node, scope: &NameScope) -> Option<String> {
        let entry = node
            .entries()
            .iter()
            .find(|entry| ENTITY_FIELDS.contains(&entry.key.text.as_str()))?;
        let text = entry.value.str().or_else(|| entry.value.elements().first()?.str())?;
        self.entity_of_text(text, &scope.bound)
    }

    fn entity_of_text(&self, text: &str, bound: &[(String, Option<String>)]) -> Option<String> {
        let name = first_name(text);
        if self.model.entity_named(name).is_some() {
            return Some(name.to_owned());
        }
        let known = bound.iter().rev().find(|(known, _)| known == name);
        known.and_then(|(_, entity)| entity.clone())
    }

    fn node(&mut self, node: &Node, shape: &'static Shape, place: (&'static str, &'static str), scope: &NameScope) {
        match (node, fitting(node, shape)) {
            (_, Some(Shape::Record(record))) => self.record(node, record, scope),
            (_, Some(Shape::Names(what, inner))) => self.names(node, what, inner, place, scope),
            (_, Some(Shape::List(inner))) => {
                for element in node.elements() {
                    self.node(element, inner, place, scope);
                }
            }
            (Node::Scalar(text), Some(shape)) => self.scalar(text, shape, place, scope),
            _ => {}
        }
    }

    fn names(
        &mut self,
        node: &Node,
        what: &str,
        inner: &'static Shape,
        place: (&'static str, &'static str),
        scope: &NameScope,
    ) {
        for entry in node.entries() {
            let name = entry.key.text.clone();
            let mut scope = scope.clone();
            match (what, place) {
                ("entity", ("model", "entities")) => {
                    self.add(NameKind::Entity, &entry.key, true);
                    scope.entity = Some(name);
                }
                ("entity", _) => {
                    self.add(NameKind::Entity, &entry.key, false);
                    scope.entity = Some(name);
                }
                ("attribute", ("entity", "attributes")) => {
                    let owner = scope.entity.clone().unwrap_or_default();
                    self.add(NameKind::Attribute(owner), &entry.key, true);
                }
                ("attribute", _) => self.attribute_part(&entry.key, 0, first_name(&name), &scope),
                ("argument", ("after", _)) => {
                    let operation = scope.operation.clone().unwrap_or_default();
                    self.add(NameKind::Argument(operation), &entry.key, false);
                }
                ("argument", _) => {
                    let operation = scope.operation.clone().unwrap_or_default();
                    self.add(NameKind::Argument(operation), &entry.key, true);
                }
                ("read" | "write", _) => {
                    self.add(NameKind::Operation, &entry.key, true);
                    scope = self.scope_of_operation(name, &entry.value);
                }
                ("step", _) => {
                    self.add(NameKind::Step, &entry.key, true);
                    scope = self.scope_of_operation(name, &entry.value);
                }
                ("index", ("table", "indexes")) => self.add(NameKind::Index, &entry.key, true),
                ("index", _) => self.add(NameKind::Index, &entry.key, false),
                ("type", _) => self.add(NameKind::Type, &entry.key, true),
                ("setting", _) => self.add(NameKind::Setting, &entry.key, true),
                ("tally", _) => self.add(NameKind::Tally, &entry.key, true),
                ("claim", _) => self.add(NameKind::Claim, &entry.key, true),
                ("name", _) => {
                    let operation = scope.operation.clone().unwrap_or_default();
                    self.add(NameKind::Local(operation), &entry.key, true);
                }
                ("estimate", _) => {
                    self.subject(&entry.key);
                    scope.entity = self.model.entity_named(&name).map(|entity| entity.name.clone());
                }
                _ => {}
            }
            self.node(&entry.value, inner, place, &scope);
        }
    }

    fn scope_of_operation(&self, name: String, node: &Node) -> NameScope {
        let mut scope = NameScope {
            operation: Some(name),
            ..NameScope::default()
        };
        self.collect_bound(node, &mut scope.bound);
        self.collect_taken(node, &scope.bound, &mut scope.taken);
        scope
    }

    /// The names that `let`, `for`, `as` and `each` bind, wherever they stand in an operation.
    fn collect_bound(&self, node: &Node, bound: &mut Vec<(String, Option<String>)>) {
        for entry in node.entries() {
            match entry.key.text.as_str() {
                "let" | "for" => {
                    for one in entry.value.entries() {
                        let entity = match &one.value {
                            Node::Scalar(text) => self.entity_of_text(&text.text, bound),
                            map => self.entity_of_map(map, &NameScope::default()),
                        };
                        bound.push((one.key.text.clone(), entity));
                    }
                }
                "each" => bound.extend(
                    (entry.value.entries().iter())
                        .filter(|one| one.key.text != "at_most")
                        .map(|one| (one.key.text.clone(), None)),
                ),
                "as" => {
                    let scope = NameScope {
                        bound: bound.clone(),
                        ..NameScope::default()
                    };
                    let entity = self.entity_of_map(node, &scope);
                    bound.extend(entry.value.str().map(|name| (name.to_owned(), entity)));
                }
                _ => {}
            }
            self.collect_bound(&entry.value, bound);
        }
        for element in node.elements() {
            self.collect_bound(element, bound);
        }
    }

    /// The attributes that `take` and `patch` make arguments.
    fn collect_taken(&self, node: &Node, bound: &[(String, Option<String>)], taken: &mut Vec<(String, String)>) {
        let scope = NameScope {
            bound: bound.to_vec(),
            ..NameScope::default()
        };
        let is_step = node
            .entries()
            .iter()
            .any(|entry| STEP_FIELDS.contains(&entry.key.text.as_str()));
        if let Some(entity) = self.entity_of_map(node, &scope).filter(|_| is_step) {
            let lists = ["take", "patch"].into_iter().filter_map(|field| node.get(field));
            let names = lists.flat_map(Node::elements).filter_map(Node::str);
            taken.extend(names.map(|name| (first_name(name).to_owned(), entity.clone())));
        }
        for inner in node.entries().iter().map(|entry| &entry.value).chain(node.elements()) {
            self.collect_taken(inner, bound, taken);
        }
    }

    fn scalar(&mut self, text: &Text, shape: &Shape, place: (&str, &str), scope: &NameScope) {
        match shape {
            Shape::Expr => self.expression(text, scope),
            Shape::Template => {
                for (start, part) in template_parts(&text.text) {
                    self.part(text, start, part, scope);
                }
            }
            Shape::Type => self.type_names(text, scope),
            _ => self.word(text, place, scope),
        }
    }

    /// A word or a text of a field that says by itself what it names.
    fn word(&mut self, text: &Text, (record, field): (&str, &str), scope: &NameScope) {
        if (record, field) == (words::STEP.name, "as") {
            let operation = scope.operation.clone().unwrap_or_default();
            self.add(NameKind::Local(operation), text, true);
        }
        let Some(meaning) = field_meaning(record, field) else {
            return;
        };
        let whole = text.text.as_str();
        match meaning {
            FieldMeaning::Entity | FieldMeaning::EntityPath => {
                for chain in name_chains(whole).into_iter().take(1) {
                    self.chain(text, 0, &chain, &NameScope::default());
                }
            }
            FieldMeaning::Attributes => {
                for chain in name_chains(whole) {
                    if let Some((name, start, _)) = chain.names.first() {
                        self.attribute_part(text, *start, name, scope);
                    }
                }
            }
            FieldMeaning::Index => self.add(NameKind::Index, text, false),
            FieldMeaning::Tally => self.add(NameKind::Tally, text, false),
            FieldMeaning::Arguments => {
                let operation = scope.operation.clone().unwrap_or_default();
                self.add(NameKind::Argument(operation), text, false);
            }
            FieldMeaning::Route => self.route(text, scope),
            FieldMeaning::Requirement => self.requirement(text, scope),
            FieldMeaning::Lapse => {
                if let Some(at) = whole.find(" at ") {
                    self.part(text, at + 4, whole.get(at + 4..).unwrap_or_default(), scope);
                }
            }
            FieldMeaning::Subject => self.subject(text),
            FieldMeaning::Move | FieldMeaning::Rule => {}
        }
    }

    /// `EXPRESSION else NAME(shown = value)`.
    fn requirement(&mut self, text: &Text, scope: &NameScope) {
        let whole = text.text.as_str();
        let condition = whole.find(" else ").unwrap_or(whole.len());
        self.part(text, 0, whole.get(..condition).unwrap_or_default(), scope);
        let Some(open) = whole.get(condition..).and_then(|rest| rest.find('(')) else {
            return;
        };
        let mut start = condition + open + 1;
        for shown in whole.get(start..).unwrap_or_default().split(',') {
            if let Some(equals) = shown.find('=') {
                self.part(
                    text,
                    start + equals + 1,
                    shown.get(equals + 1..).unwrap_or_default(),
                    scope,
                );
            }
            start += shown.len() + 1;
        }
    }

    /// `GET /path/{argument}?argument&name={argument}&fixed=text`.
    fn route(&mut self, text: &Text, scope: &NameScope) {
        let operation = scope.operation.clone().unwrap_or_default();
        let whole = text.text.as_str();
        for (start, name) in template_parts(whole) {
            self.add_part(NameKind::Argument(operation.clone()), text, start, name, false);
        }
        let Some(question) = whole.find('?') else {
            return;
        };
        let mut start = question + 1;
        let query = whole.get(start..).unwrap_or_default();
        let query = query.split(' ').next().unwrap_or_default();
        for parameter in query.split('&') {
            if !parameter.contains('=') {
                self.add_part(NameKind::Argument(operation.clone()), text, start, parameter, false);
            }
            start += parameter.len() + 1;
        }
    }

    /// What a finding or an estimate is about.
    fn subject(&mut self, text: &Text) {
        let chains = name_chains(&text.text);
        let Some(names) = chains.first().map(|chain| &chain.names) else {
            return;
        };
        let Some((first, start, _)) = names.first() else { return };
        let (is_entity, operations) = (self.model.entity_named(first).is_some(), self.operations());
        if is_entity {
            self.add_part(NameKind::Entity, text, *start, first, false);
        } else if operations.contains(&first.as_str()) {
            self.add_part(NameKind::Operation, text, *start, first, false);
        }
        if let Some((second, start, _)) = names.get(1) {
            let scope = NameScope {
                entity: Some(first.clone()),
                ..NameScope::default()
            };
            match self.model.table.indexes.iter().any(|index| index.name == *second) {
                true => self.add_part(NameKind::Index, text, *start, second, false),
                false => self.attribute_part(text, *start, second, &scope),
            }
        }
    }

    fn operations(&self) -> Vec<&str> {
        let reads = self.model.reads.iter().map(|read| read.name.as_str());
        reads
            .chain(self.model.writes.iter().map(|write| write.name.as_str()))
            .collect()
    }

    /// The names in a type: `User.user_id`, `Status? = pending`. What stands in slashes is a pattern.
    fn type_names(&mut self, text: &Text, scope: &NameScope) {
        let whole = text.text.as_str();
        let pattern = whole.find('/').zip(whole.rfind('/'));
        let after_pattern = pattern.map_or(0, |(_, end)| end + 1);
        let equals = whole
            .get(after_pattern..)
            .and_then(|rest| rest.find('='))
            .map(|at| after_pattern + at);
        let end = pattern.map(|(start, _)| start).or(equals).unwrap_or(whole.len());
        for chain in name_chains(whole.get(..end).unwrap_or_default()) {
            let Some((first, start, _)) = chain.names.first() else {
                continue;
            };
            if chain.names.len() > 1 && self.model.entity_named(first).is_some() {
                self.chain(text, 0, &chain, &NameScope::default());
            } else if self.types.contains(first) {
                self.add_part(NameKind::Type, text, *start, first, false);
            }
        }
        if let Some(equals) = equals {
            self.part(text, equals + 1, whole.get(equals + 1..).unwrap_or_default(), scope);
        }
    }

    fn expression(&mut self, text: &Text, scope: &NameScope) {
        let whole = text.text.clone();
        self.part(text, 0, &whole, scope);
    }

    /// The names in a part of a text that is an expression.
    fn part(&mut self, text: &Text, start: usize, part: &str, scope: &NameScope) {
        for chain in name_chains(part) {
            self.chain(text, start, &chain, scope);
        }
    }

    fn chain(&mut self, text: &Text, base: usize, chain: &NameChain, scope: &NameScope) {
        let Some((first, first_start, _)) = chain.names.first() else {
            return;
        };
        let is_function = chain.is_called && chain.names.len() == 1;
        let of_entity = |entity: &str| NameScope {
            entity: Some(entity.to_owned()),
            ..NameScope::default()
        };
        if let Some(call) = &chain.of_call {
            if self.model.entity_named(call).is_some() && !is_function {
                self.attribute_part(text, base + first_start, first, &of_entity(call));
            }
            return;
        }
        let second = chain
            .names
            .get(1)
            .filter(|_| !(chain.is_called && chain.names.len() == 2));
        let second = second.map(|(name, start, _)| (name.as_str(), base + start));
        let operation = scope.operation.clone().unwrap_or_default();
        let bound = scope.bound.iter().rev().find(|(name, _)| name == first);
        match (first.as_str(), second) {
            ("args", Some((name, start))) => match scope.taken.iter().find(|(taken, _)| taken == name) {
                Some((_, entity)) => self.attribute_part(text, start, name, &of_entity(entity)),
                None => self.add_part(NameKind::Argument(operation), text, start, name, false),
            },
            ("caller", Some((name, start))) if name != "authenticated" => {
                self.add_part(NameKind::Claim, text, start, name, false);
            }
            ("settings", Some((name, start))) => self.add_part(NameKind::Setting, text, start, name, false),
            ("row" | "before", Some((name, start))) => {
                if let Some(entity) = scope.row.as_ref().or(scope.entity.as_ref()) {
                    self.attribute_part(text, start, name, &of_entity(entity));
                }
            }
            _ if bound.is_some() => {
                self.add_part(NameKind::Local(operation), text, base + first_start, first, false);
                let entity = bound.and_then(|(_, entity)| entity.as_ref());
                if let (Some(entity), Some((name, start))) = (entity, second) {
                    self.attribute_part(text, start, name, &of_entity(entity));
                }
            }
            _ if self.model.entity_named(first).is_some() => {
                self.add_part(NameKind::Entity, text, base + first_start, first, false);
                if let Some((name, start)) = second {
                    self.attribute_part(text, start, name, &of_entity(first));
                }
            }
            _ if !is_function => self.attribute_part(text, base + first_start, first, scope),
            _ => {}
        }
    }

    /// An attribute of the entity in scope, where it has one of that name.
    fn attribute_part(&mut self, text: &Text, start: usize, name: &str, scope: &NameScope) {
        let Some(entity) = scope.entity.as_ref().and_then(|entity| self.model.entity_named(entity)) else {
            return;
        };
        // A mirror has the attributes of its source.
        let source = self.model.source_of(entity);
        let owner = [source, entity].into_iter().find(|one| one.attribute(name).is_some());
        if let Some(owner) = owner {
            self.add_part(NameKind::Attribute(owner.name.clone()), text, start, name, false);
        }
    }

    fn add(&mut self, kind: NameKind, text: &Text, is_definition: bool) {
        self.add_part(kind, text, 0, &text.text, is_definition);
    }

    fn add_part(&mut self, kind: NameKind, text: &Text, start: usize, name: &str, is_definition: bool) {
        if name.is_empty() {
            return;
        }
        self.found.push(NameOccurrence {
            kind,
            name: name.to_owned(),
            span: text.span_of(start, start + name.len()),
            is_definition,
        });
    }
}

/// The shape of several that a node has.
fn fitting(node: &Node, shape: &'static Shape) -> Option<&'static Shape> {
    let Shape::Either(shapes) = shape else {
        return Some(shape);
    };
    shapes.iter().find_map(|shape| {
        let shape = fitting(node, shape)?;
        let fits = match (node, shape) {
            (Node::Scalar(text), Shape::Words(known)) => known.contains(&text.text.as_str()),
            (Node::Scalar(_), Shape::List(_) | Shape::Names(..) | Shape::Record(_)) => false,
            (Node::Scalar(_), _) | (Node::List(..), Shape::List(_)) => true,
            (Node::Map(..), Shape::Names(..) | Shape::Record(_)) => true,
            _ => false,
        };
        fits.then_some(shape)
    })
}
