//! Pass 3: attributes with their defaults, computed values and copies.

use std::collections::{HashMap, HashSet};

use super::Resolver;
use super::table::{flag_field, word_field};
use super::types::{Declared, TypeTable};
use crate::catalog::AttributeName;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::expression::{self, Expr, ExprKind};
use crate::model::{Attribute, AttributeList, Copy, Entity, EntityClaims, Kept, Mirror, Role, Stored};
use crate::node::{Entry, Node};
use crate::rules;
use crate::types::{EntityId, Type};

impl Resolver<'_> {
    /// Every entity with its attributes; keys and promises are added by later passes.
    pub(super) fn entities(&mut self, types: &mut TypeTable) -> Vec<Entity> {
        let names: Vec<String> = self.names.catalog.entity_names().map(str::to_owned).collect();
        let mut entities = Vec::with_capacity(names.len());
        for (at, name) in names.iter().enumerate() {
            if let Some(entry) = self.entity_nodes.get(name.as_str()).copied() {
                entities.push(self.entity_of(EntityId(at as u32), entry, types));
            }
        }
        self.carry_attributes(&mut entities);
        entities
    }

    fn entity_of(&mut self, id: EntityId, entry: &Entry, types: &mut TypeTable) -> Entity {
        let node = &entry.value;
        if let Some(shares) = node.entry("shares") {
            let help = "give the entities key templates that cannot meet";
            self.not_yet(shares.key.span, "a key space that entities share", help);
        }
        let declared = node.get("attributes").map_or(&[][..], Node::entries);
        let attributes = declared
            .iter()
            .map(|attribute| self.attribute(&entry.key.text, attribute, types))
            .collect();
        Entity {
            id,
            name: entry.key.text.clone(),
            span: entry.key.span,
            attributes,
            key: Vec::new(),
            index: Vec::new(),
            unique: Vec::new(),
            states: None,
            expires: None,
            history: None,
            excludes: None,
            mirror: self.mirror(node),
            role: (word_field(node, "role").as_deref() == Some("idempotency")).then_some(Role::Idempotency),
            claims: EntityClaims::default(),
            was: super::past::former_name(node),
        }
    }

    fn mirror(&mut self, node: &Node) -> Option<Mirror> {
        let text = node.get("mirrors")?.text()?;
        let of = self.find_entity(text)?;
        Some(Mirror {
            of,
            all: node.get("carries").is_none_or(|carries| carries.str() == Some("all")),
            span: text.span,
        })
    }

    fn attribute(&mut self, entity: &str, entry: &Entry, types: &mut TypeTable) -> Attribute {
        let node = &entry.value;
        let declared = self.attribute_type(entity, &entry.key.text, types);
        let Declared {
            ty,
            optional,
            reference,
            ..
        } = declared.unwrap_or(Declared {
            ty: Type::Unknown,
            optional: false,
            default: None,
            reference: None,
        });
        Attribute {
            name: entry.key.text.clone(),
            span: entry.key.span,
            ty,
            optional,
            default: None,
            is: None,
            alias: None,
            always: None,
            fixed: flag_field(node, "fixed"),
            stored: match word_field(node, "stored") {
                None => Stored::Own,
                Some(name) if name == "none" => Stored::No,
                Some(name) => Stored::As(name),
            },
            copy: None,
            reference,
            personal: None,
            was: super::past::former_name(node),
            fill: None,
        }
    }

    /// Gives mirrors the attributes that they carry.
    fn carry_attributes(&self, entities: &mut [Entity]) {
        for at in 0..entities.len() {
            let Some(entity) = entities.get(at) else { continue };
            let Some(source) = entity
                .mirror
                .as_ref()
                .and_then(|mirror| entities.get(mirror.of.0 as usize))
            else {
                continue;
            };
            let carried: AttributeList = source
                .attributes
                .iter()
                .filter(|attribute| self.names.catalog.attribute(entity.id, &attribute.name).is_some())
                .map(|attribute| Attribute {
                    name: attribute.name.clone(),
                    span: entity.span,
                    ty: attribute.ty.clone(),
                    optional: attribute.optional,
                    default: None,
                    is: None,
                    alias: attribute.alias.clone(),
                    always: None,
                    fixed: attribute.fixed,
                    stored: attribute.stored.clone(),
                    copy: None,
                    reference: attribute.reference.clone(),
                    personal: None,
                    was: None,
                    fill: None,
                })
                .collect();
            if let Some(entity) = entities.get_mut(at)
                && entity.attributes.is_empty()
            {
                entity.attributes = carried;
            }
        }
    }

    /// Checks what attributes compute. A computed attribute without a type has its expression's; such attributes may
    /// build on one another, so each is tried after those that it names, and a circle is what remains.
    pub(super) fn infer_computed(&mut self, entities: &mut [Entity]) {
        for entity in entities.iter_mut() {
            self.infer_entity(entity);
        }
        self.carry_inferred(entities);
        for entity in entities.iter_mut() {
            self.check_computed(entity);
        }
    }

    fn infer_entity(&mut self, entity: &mut Entity) {
        let Some(node) = self.entity_nodes.get(entity.name.as_str()).map(|entry| &entry.value) else {
            return;
        };
        let Some(attributes) = node.get("attributes") else {
            return;
        };
        let waiting: Vec<&Entry> = attributes
            .entries()
            .iter()
            .filter(|entry| computed(entry).is_some() && entry.value.get("type").is_none())
            .collect();
        for entry in by_dependency(&waiting) {
            self.infer(entity, entry);
        }
    }

    /// Tries to find the type of one computed attribute, silently.
    fn infer(&mut self, entity: &mut Entity, entry: &Entry) {
        let Some(text) = computed(entry) else { return };
        let mut silent = Diagnostics::default();
        let scope = match entry.value.get("is") {
            Some(_) => self.names.attribute_scope(entity),
            None => self.names.copy_scope(entity),
        };
        let expr = expression::check_expression(text, &scope, None, &mut silent);
        if expr.ty.is_unknown() || !silent.is_empty() {
            return;
        }
        let ty = match expr.ty {
            Type::Now => Type::Time,
            other => other,
        };
        let at = entity.attributes.position_of(&entry.key.text);
        let Some(attribute) = at.and_then(|at| entity.attributes.get_mut(at)) else {
            return;
        };
        attribute.ty = ty.clone();
        attribute.optional = expr.optional;
        if let Some(names) = self.names.catalog.names_mut(entity.id) {
            names.set_attribute(AttributeName {
                name: entry.key.text.clone(),
                ty,
                optional: expr.optional,
            });
        }
    }

    /// What the sources of mirrors have learned, their mirrors learn.
    fn carry_inferred(&mut self, entities: &mut [Entity]) {
        for entity in entities.iter_mut() {
            let Some(mirror) = &entity.mirror else { continue };
            for attribute in &mut entity.attributes {
                let Some(known) = self.names.catalog.attribute(mirror.of, &attribute.name).cloned() else {
                    continue;
                };
                attribute.ty = known.ty.clone();
                attribute.optional = known.optional;
                if let Some(names) = self.names.catalog.names_mut(entity.id) {
                    names.set_attribute(known);
                }
            }
        }
    }

    fn check_computed(&mut self, entity: &mut Entity) {
        let Some(node) = self.entity_nodes.get(entity.name.as_str()).map(|entry| &entry.value) else {
            return;
        };
        for entry in node.get("attributes").map_or(&[][..], Node::entries) {
            self.check_attribute_name(entry);
            self.check_storable(entity, entry);
            let Some(at) = entity.attributes.position_of(&entry.key.text) else {
                continue;
            };
            let parts = self.computed_parts(entity, entry, at);
            if let Some(attribute) = entity.attributes.get_mut(at) {
                parts.put(attribute);
            }
        }
    }

    fn computed_parts(&mut self, entity: &Entity, entry: &Entry, at: usize) -> ComputedParts {
        let ty = entity
            .attributes
            .get(at)
            .map_or(Type::Unknown, |attribute| attribute.ty.clone());
        let node = &entry.value;
        let default_text = match node {
            Node::Scalar(text) => default_of(text),
            _ => node.get("type").and_then(Node::text).and_then(default_of),
        };
        let scope = self.names.attribute_scope(entity);
        let default = default_text.map(|text| expression::check_expression(&text, &scope, Some(&ty), self.out));
        let field = |name: &str| node.get(name).and_then(Node::text);
        let is = field("is").map(|text| {
            let expected = Some(&ty).filter(|ty| !ty.is_unknown());
            expression::check_expression(text, &scope, expected, self.out)
        });
        let always = field("always").map(|text| expression::check_expression(text, &scope, Some(&ty), self.out));
        let alias = is.as_ref().and_then(|expr| match &expr.kind {
            ExprKind::Attribute(name) => Some(name.clone()),
            _ => None,
        });
        let copy = node.entry("copy").and_then(|copy| self.copy(entity, entry, copy));
        let nothing = is.is_none() && copy.is_none() && always.is_none();
        if nothing
            && ty.is_unknown()
            && node.is_map()
            && !["type", "object", "enum", "copy", "is", "by"]
                .iter()
                .any(|field| node.get(field).is_some())
        {
            let message = format!("the attribute `{}` has no type", entry.key.text);
            let help = "add `type`, or `is` for a computed one";
            self.out
                .push(Diagnostic::new(&rules::MISSING_FIELD, entry.key.span, message).help(help));
        }
        ComputedParts {
            default,
            is,
            alias,
            always,
            copy,
        }
    }

    fn copy(&mut self, entity: &Entity, entry: &Entry, copy: &Entry) -> Option<Copy> {
        let text = copy.value.text()?;
        let scope = self.names.copy_scope(entity);
        let expr = expression::check_expression(text, &scope, None, self.out);
        let source = match &expr.kind {
            ExprKind::Field(row, attribute) => match (&row.kind, &row.ty) {
                (ExprKind::Entity { entity, .. }, _) => Some((row.as_ref().clone(), *entity, attribute.clone())),
                _ => None,
            },
            _ => None,
        };
        let Some((row, source, attribute)) = source else {
            if !expr.ty.is_unknown() {
                let message = "a copy names an entity with its key, and one attribute of it";
                self.out
                    .push(Diagnostic::new(&rules::BAD_COPY, text.span, message).help("such as `Item(ItemId).Name`"));
            }
            return None;
        };
        let node = &entry.value;
        let kept = match word_field(node, "kept").as_deref() {
            Some("transaction") => Kept::Transaction,
            Some("stream") => Kept::Stream,
            Some("frozen") => Kept::Frozen,
            _ => Kept::Unsaid,
        };
        let found = node.get("found").and_then(Node::text).map(|text| {
            let mut scope = self.names.attribute_scope(entity);
            scope.words.source = Some(Type::Row(source));
            expression::check_condition(text, &scope, self.out)
        });
        Some(Copy {
            source: row,
            entity: source,
            attribute,
            kept,
            found,
        })
    }

    /// Durations exist only while computing: DynamoDB could neither compare nor add to what would stand for one.
    fn check_storable(&mut self, entity: &Entity, entry: &Entry) {
        let attribute = entity.attribute(&entry.key.text);
        if attribute.is_some_and(|attribute| holds_duration(&attribute.ty)) {
            let message = format!("`{}` is a duration, which cannot be stored", entry.key.text);
            let help = "store a whole number, such as its minutes, and write `minutes(…)` of it";
            self.out
                .push(Diagnostic::new(&rules::BAD_TYPE, entry.key.span, message).help(help));
        }
    }

    /// Attribute names may have any character, since `row["State#Date"]` reaches them; but none that means something else.
    fn check_attribute_name(&mut self, entry: &Entry) {
        if super::is_reserved(&entry.key.text) {
            self.check_name(&entry.key, "an attribute");
        }
    }
}

/// Whether a type is a duration, or has one within.
pub(super) fn holds_duration(ty: &Type) -> bool {
    match ty {
        Type::Duration => true,
        Type::Object(object) | Type::Geo(Some(object)) => object.fields.iter().any(|field| holds_duration(&field.ty)),
        Type::List(element, _) | Type::Set(element, _) | Type::Map(element, _) | Type::OrWords(element, _) => {
            holds_duration(element)
        }
        Type::Group(key, row) => holds_duration(key) || holds_duration(row),
        Type::Text(_)
        | Type::Int(_)
        | Type::Number(_)
        | Type::Bool
        | Type::Bytes(_)
        | Type::Date
        | Type::Time
        | Type::Seconds
        | Type::Millis
        | Type::Now
        | Type::Month
        | Type::Ulid
        | Type::Ksuid
        | Type::Uuid
        | Type::Geo(None)
        | Type::Json
        | Type::Version
        | Type::Enum(_)
        | Type::Row(_)
        | Type::Absent
        | Type::Unknown => false,
    }
}

struct ComputedParts {
    default: Option<Expr>,
    is: Option<Expr>,
    alias: Option<String>,
    always: Option<Expr>,
    copy: Option<Copy>,
}

impl ComputedParts {
    fn put(self, attribute: &mut Attribute) {
        attribute.default = self.default;
        attribute.is = self.is;
        attribute.alias = self.alias;
        attribute.always = self.always;
        attribute.copy = self.copy.map(Box::new);
    }
}

/// The expression that gives an attribute its value and its type.
/// Computed attributes, each after those that it names, so that each is tried once. In a circle one comes too early, and has no type.
fn by_dependency<'n>(waiting: &[&'n Entry]) -> Vec<&'n Entry> {
    let by_name: HashMap<&str, &'n Entry> = waiting.iter().map(|entry| (entry.key.text.as_str(), *entry)).collect();
    let mut begun: HashSet<&str> = HashSet::new();
    let mut ordered = Vec::with_capacity(waiting.len());
    for first in waiting {
        let mut open: Vec<(&'n Entry, std::vec::IntoIter<&'n Entry>)> = Vec::new();
        if begun.insert(&first.key.text) {
            open.push((first, named_in(first, &by_name)));
        }
        while let Some((entry, names)) = open.last_mut() {
            match names.next() {
                Some(other) if begun.insert(&other.key.text) => open.push((other, named_in(other, &by_name))),
                Some(_) => {}
                None => {
                    ordered.push(*entry);
                    open.pop();
                }
            }
        }
    }
    ordered
}

/// The computed attributes that the text of one may name: as words, or in quotes.
fn named_in<'n>(entry: &'n Entry, by_name: &HashMap<&str, &'n Entry>) -> std::vec::IntoIter<&'n Entry> {
    let text = computed(entry).map_or("", |text| text.text.as_str());
    let words = text.split(|char: char| !char.is_alphanumeric() && char != '_');
    let quoted = text.split(['"', '\'']);
    let found: Vec<&'n Entry> = words
        .chain(quoted)
        .filter_map(|word| by_name.get(word).copied())
        .collect();
    found.into_iter()
}

fn computed(entry: &Entry) -> Option<&crate::text::Text> {
    let node = &entry.value;
    node.get("is").or_else(|| node.get("copy"))?.text()
}

fn default_of(text: &crate::text::Text) -> Option<crate::text::Text> {
    if !text.text.contains('=') {
        return None;
    }
    super::type_syntax::parse_default(text)
}
