//! Pass 4: the templates of primary keys and of index entries.

use singlet_item::key::{Delimiter, Template};

use super::key_forms;
use super::table::find_index;
use super::template_syntax::{self, SyntaxPiece, VariablePart};
use super::{Resolver, unknown_attribute};
use crate::catalog::Catalog;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::expression;
use crate::model::{
    Entity, Index, IndexEntry, IndexEntryKind, IndexId, KeyAttribute, KeyChoice, KeyPart, KeyTemplate, KeyType, Table,
};
use crate::node::{Entry, Node};
use crate::rules;
use crate::source::Span;
use crate::text::Text;
use crate::types::{EntityId, Type};

impl Resolver<'_> {
    /// Which variables a primary key is made of, from the text of its templates: expressions that name entities by their
    /// key are checked before the templates themselves.
    pub(super) fn declare_key_variables(&mut self) {
        let names: Vec<String> = self.names.catalog.entity_names().map(str::to_owned).collect();
        for name in names {
            let Some(node) = self.entity_nodes.get(name.as_str()).map(|entry| &entry.value) else {
                continue;
            };
            let history = node
                .get("history")
                .and_then(|history| history.get("at"))
                .and_then(Node::str);
            let Some(id) = self.names.catalog.entity(&name) else {
                continue;
            };
            let mut variables: Vec<String> = Vec::new();
            for key in &self.table.key {
                for root in roots(node.get("key"), &key.name) {
                    if Some(root.as_str()) != history && !variables.contains(&root) {
                        variables.push(root);
                    }
                }
            }
            if let Some(names) = self.names.catalog.names_mut(id) {
                names.key_variables = variables;
            }
        }
    }

    pub(super) fn keys(&mut self, entities: &mut [Entity]) {
        for entity in entities.iter_mut() {
            let Some(entry) = self.entity_nodes.get(entity.name.as_str()).copied() else {
                continue;
            };
            entity.key = self.primary_key(entity, entry);
            entity.index = self.index_entries(entity, entry.value.get("index"));
        }
    }

    fn primary_key(&mut self, entity: &Entity, entry: &Entry) -> Vec<KeyChoice> {
        let attributes = self.table.key.clone();
        let choices = match entry.value.get("key") {
            Some(node) => self.choices(entity, node, &attributes, entry.key.span),
            None => vec![(no_templates(entry.key.span), Vec::new())],
        };
        let complete = choices.into_iter();
        complete
            .map(|(choice, broken)| self.complete_primary(entity, choice, &broken, &attributes))
            .collect()
    }

    /// Adds what needs no template, and says what is missing or may be.
    fn complete_primary(
        &mut self,
        entity: &Entity,
        mut choice: KeyChoice,
        broken: &[String],
        attributes: &[KeyAttribute],
    ) -> KeyChoice {
        for attribute in attributes {
            if choice.attribute_template(&attribute.name).is_some() || broken.contains(&attribute.name) {
                continue;
            }
            match own_template(&self.names.catalog, entity, &attribute.name, self.table.delimiter) {
                Some(own) => choice.keys.push(own),
                None => {
                    let message = format!(
                        "`{}` has no template for the key attribute `{}`",
                        entity.name, attribute.name
                    );
                    let help = format!("add `{}: \"…\"` to its `key`", attribute.name);
                    self.out.push(
                        Diagnostic::new(&rules::INCOMPLETE_KEY, choice.span, message)
                            .help(help)
                            .about(&entity.name),
                    );
                }
            }
        }
        for part in choice.keys.iter().flat_map(|key| &key.parts) {
            // A mirror has a row where the parts of its key are there.
            if part.optional && entity.mirror.is_none() {
                let message = format!(
                    "`{}` may be absent, but is part of the primary key of `{}`",
                    part.path, entity.name
                );
                let help = "make the attribute required, or give it a default";
                self.out.push(
                    Diagnostic::new(&rules::INCOMPLETE_KEY, part.span, message)
                        .help(help)
                        .about(&entity.name),
                );
            }
        }
        choice
            .keys
            .sort_by_key(|key| attributes.iter().position(|attribute| attribute.name == key.attribute));
        choice
    }

    fn index_entries(&mut self, entity: &Entity, node: Option<&Node>) -> Vec<IndexEntry> {
        let mut entries = Vec::new();
        for entry in node.map_or(&[][..], Node::entries) {
            let Some(index) = find_index(&entry.key, &self.index_names, &self.table, self.out) else {
                continue;
            };
            if let Some(kind) = self.index_entry(entity, entry, index) {
                entries.push(IndexEntry {
                    index,
                    kind,
                    span: entry.key.span,
                });
            }
        }
        entries
    }

    fn index_entry(&mut self, entity: &Entity, entry: &Entry, index: IndexId) -> Option<IndexEntryKind> {
        let attributes: Vec<KeyAttribute> = self.table.indexes.get(index.0 as usize)?.key().cloned().collect();
        match entry.value.str() {
            Some("none") => Some(IndexEntryKind::None),
            Some(_) => {
                let empty = no_templates(entry.key.span);
                let own = self.complete_index(entity, empty, &[], &attributes, &entry.key.text);
                Some(IndexEntryKind::Own(Box::new(own)))
            }
            None => {
                let choices = self.choices(entity, &entry.value, &attributes, entry.key.span);
                let complete = choices
                    .into_iter()
                    .map(|(choice, broken)| self.complete_index(entity, choice, &broken, &attributes, &entry.key.text))
                    .collect();
                Some(IndexEntryKind::Templates(complete))
            }
        }
    }

    /// Key attributes of an index without a template are attributes of the entity, or of the primary key.
    fn complete_index(
        &mut self,
        entity: &Entity,
        mut choice: KeyChoice,
        broken: &[String],
        attributes: &[KeyAttribute],
        index: &str,
    ) -> KeyChoice {
        for attribute in attributes {
            if choice.attribute_template(&attribute.name).is_some() || broken.contains(&attribute.name) {
                continue;
            }
            let own = own_template(&self.names.catalog, entity, &attribute.name, self.table.delimiter);
            let primary = || {
                entity
                    .key
                    .first()?
                    .attribute_template(&attribute.name)
                    .map(copy_template)
            };
            match own.or_else(primary) {
                Some(template) => choice.keys.push(template),
                None => {
                    let message = format!(
                        "`{}` has no template for `{}` of index `{index}`",
                        entity.name, attribute.name
                    );
                    let help = format!(
                        "add `{}: \"…\"`: a row without it is never in the index",
                        attribute.name
                    );
                    let subject = format!("{}.{index}", entity.name);
                    self.out.push(
                        Diagnostic::new(&rules::INCOMPLETE_KEY, choice.span, message)
                            .help(help)
                            .about(subject),
                    );
                }
            }
        }
        choice
            .keys
            .sort_by_key(|key| attributes.iter().position(|attribute| attribute.name == key.attribute));
        choice
    }

    fn choices(
        &mut self,
        entity: &Entity,
        node: &Node,
        attributes: &[KeyAttribute],
        span: Span,
    ) -> Vec<(KeyChoice, Broken)> {
        match node {
            Node::List(elements, _) => elements
                .iter()
                .map(|element| self.choice(entity, element, attributes, element.span()))
                .collect(),
            _ => vec![self.choice(entity, node, attributes, span)],
        }
    }

    fn choice(&mut self, entity: &Entity, node: &Node, attributes: &[KeyAttribute], span: Span) -> (KeyChoice, Broken) {
        let when = node.get("when").and_then(Node::text).map(|text| {
            let scope = self.names.row_scope(entity.id);
            expression::check_condition(text, &scope, self.out)
        });
        let mut keys = Vec::new();
        let mut broken = Vec::new();
        for entry in node.entries().iter().filter(|entry| entry.key.text != "when") {
            // Without key attributes the table itself could not be read.
            if attributes.is_empty() {
                continue;
            }
            if !attributes.iter().any(|attribute| attribute.name == entry.key.text) {
                let known = attributes.iter().map(|attribute| attribute.name.as_str());
                let message = format!("`{}` is no key attribute here", entry.key.text);
                let diagnostic = Diagnostic::new(&rules::UNKNOWN_KEY_ATTRIBUTE, entry.key.span, message)
                    .did_you_mean(&entry.key.text, known.clone());
                broken.extend(crate::diagnostic::nearest_word(&entry.key.text, known.clone()).map(str::to_owned));
                let listed = crate::grammar::listed_words(&known.collect::<Vec<_>>());
                self.out.push(match diagnostic.help {
                    Some(_) => diagnostic,
                    None => diagnostic.help(format!("the key attributes are {listed}")),
                });
                continue;
            }
            let Some(text) = entry.value.text() else {
                broken.push(entry.key.text.clone());
                continue;
            };
            let catalog = &self.names.catalog;
            let mut lookup = |path: &Text, out: &mut Diagnostics| attribute_at(catalog, entity.id, path, out);
            let place = KeyPlace::of(&self.table, &entry.key.text);
            match key_template(place, text, &mut lookup, self.out) {
                Some(template) => keys.push(template),
                None => broken.push(entry.key.text.clone()),
            }
        }
        (KeyChoice { when, keys, span }, broken)
    }
}

/// Key attributes whose templates were written and could not be read: they are not missing too.
type Broken = Vec<String>;

fn no_templates(span: Span) -> KeyChoice {
    KeyChoice {
        when: None,
        keys: Vec::new(),
        span,
    }
}

/// How a part's path is looked up: its type, and whether it may be absent.
pub(super) type Lookup<'a> = dyn FnMut(&Text, &mut Diagnostics) -> Option<(Type, bool)> + 'a;

/// The key attribute that a template fills.
#[derive(Clone, Copy)]
pub(super) struct KeyPlace<'a> {
    attribute: &'a str,
    delimiter: char,
    /// Whether the table declares it to be a number.
    is_number: bool,
}

impl<'a> KeyPlace<'a> {
    pub(super) fn of(table: &Table, attribute: &'a str) -> Self {
        let mut known = table.key.iter().chain(table.indexes.iter().flat_map(Index::key));
        KeyPlace {
            attribute,
            delimiter: table.delimiter,
            is_number: known.any(|key| key.name == attribute && key.declared == Some(KeyType::Number)),
        }
    }
}

/// Reads and types one template.
pub(super) fn key_template(
    place: KeyPlace<'_>,
    text: &Text,
    lookup: &mut Lookup<'_>,
    out: &mut Diagnostics,
) -> Option<KeyTemplate> {
    let KeyPlace {
        attribute,
        delimiter,
        is_number,
    } = place;
    if let Some(at) = text.text.find("${").filter(|_| delimiter != '$') {
        let message = "`$` would stand in the key as it is";
        let help = "a part is written `{name}`, without `$`";
        out.push(Diagnostic::new(&rules::BAD_TEMPLATE, text.span_of(at, at + 2), message).help(help));
        return None;
    }
    let pieces = match template_syntax::parse_template(text) {
        Ok(pieces) => pieces,
        Err(diagnostic) => {
            out.push(*diagnostic);
            return None;
        }
    };
    let alone = pieces.len() == 1;
    let mut parts = Vec::new();
    let mut template = Vec::new();
    for (position, piece) in pieces.into_iter().enumerate() {
        match piece {
            // A constant alone is of the key's own type.
            SyntaxPiece::Text(literal) if alone && is_number => match literal.parse() {
                Ok(number) => template.push(singlet_item::key::Part::Number(number)),
                Err(_) => {
                    let message = format!("the key attribute `{attribute}` is a number, and `{literal}` is none");
                    let help = "write a number in quotes, or one part: `\"{seq}\"`";
                    out.push(Diagnostic::new(&rules::BAD_TEMPLATE, text.span, message).help(help));
                    return None;
                }
            },
            SyntaxPiece::Text(literal) => template.push(singlet_item::key::Part::Text(literal)),
            SyntaxPiece::Part(part) => {
                let (ty, optional) = lookup(&part.path, out)?;
                let variable = key_forms::part_variable(&part, &ty, alone, out)?;
                template.push(singlet_item::key::Part::Variable(variable));
                parts.push(key_part(&part, ty, optional, position));
            }
        }
    }
    let template = match Template::new(template, delimiter_of(delimiter)) {
        Ok(template) => template,
        Err(error) => {
            out.push(Diagnostic::new(&rules::BAD_TEMPLATE, text.span, error.to_string()));
            return None;
        }
    };
    Some(KeyTemplate {
        attribute: attribute.to_owned(),
        text: text.text.clone(),
        span: text.span,
        template,
        parts,
    })
}

fn key_part(part: &VariablePart, ty: Type, optional: bool, position: usize) -> KeyPart {
    KeyPart {
        path: part.path.text.clone(),
        function: part.function,
        span: part.whole.span,
        ty,
        optional,
        position,
    }
}

/// The template of a key attribute that is a plain attribute of the entity.
fn own_template(catalog: &Catalog, entity: &Entity, name: &str, delimiter: char) -> Option<KeyTemplate> {
    let attribute = entity.attributes.iter().find(|attribute| match &attribute.stored {
        crate::model::Stored::Own => attribute.name == name,
        crate::model::Stored::As(stored) => stored == name,
        crate::model::Stored::No => false,
    })?;
    let known = catalog.attribute(entity.id, &attribute.name)?;
    let variable = key_forms::attribute_variable(&attribute.name, &known.ty)?;
    Some(KeyTemplate {
        attribute: name.to_owned(),
        text: format!("{{{}}}", attribute.name),
        span: attribute.span,
        template: Template::new(
            vec![singlet_item::key::Part::Variable(variable)],
            delimiter_of(delimiter),
        )
        .ok()?,
        parts: vec![KeyPart {
            path: attribute.name.clone(),
            function: None,
            span: attribute.span,
            ty: known.ty.clone(),
            optional: known.optional,
            position: 0,
        }],
    })
}

fn copy_template(key: &KeyTemplate) -> KeyTemplate {
    KeyTemplate {
        attribute: key.attribute.clone(),
        text: key.text.clone(),
        span: key.span,
        template: key.template.clone(),
        parts: key.parts.clone(),
    }
}

/// The type at a path of attributes: a whole name first, since names may hold any character.
fn attribute_at(catalog: &Catalog, entity: EntityId, path: &Text, out: &mut Diagnostics) -> Option<(Type, bool)> {
    if let Some(attribute) = catalog.attribute(entity, &path.text) {
        return Some((attribute.ty.clone(), attribute.optional));
    }
    let mut names = path.text.split('.');
    let first = names.next().unwrap_or_default();
    let Some(attribute) = catalog.attribute(entity, first) else {
        out.push(unknown_attribute(catalog, entity, first, path.span));
        return None;
    };
    let (mut ty, mut optional) = (attribute.ty.clone(), attribute.optional);
    for name in names {
        let Some(field) = ty.object_type().and_then(|object| object.field_named(name)).cloned() else {
            let message = format!("`{first}` has no field `{name}`");
            out.push(Diagnostic::new(&rules::UNKNOWN_ATTRIBUTE, path.span, message));
            return None;
        };
        optional |= field.optional;
        ty = field.ty;
    }
    Some((ty, optional))
}

/// The attributes that the template of one key attribute names, from its text alone.
fn roots(key: Option<&Node>, attribute: &str) -> Vec<String> {
    let choice = match key {
        Some(Node::List(elements, _)) => elements.first(),
        other => other,
    };
    let Some(text) = choice.and_then(|choice| choice.get(attribute)).and_then(Node::text) else {
        return vec![attribute.to_owned()];
    };
    let pieces = template_syntax::parse_template(text).unwrap_or_default();
    pieces
        .into_iter()
        .filter_map(|piece| match piece {
            SyntaxPiece::Part(part) => part.path.text.split('.').next().map(str::to_owned),
            SyntaxPiece::Text(_) => None,
        })
        .collect()
}

/// Anything but one ASCII punctuation character was refused with the table.
fn delimiter_of(delimiter: char) -> Delimiter {
    Delimiter::new(delimiter).unwrap_or_default()
}
