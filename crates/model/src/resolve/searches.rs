//! What is found by its words, and the reads that search.

use super::Resolver;
use super::promises::spanned_names;
use super::table::flag_field;
use crate::diagnostic::Diagnostic;
use crate::expression::{self, Args, Scope};
use crate::model::{Entity, HIGHLIGHTS, Matching, Read, Return, Search, Selection, SelectionKind};
use crate::node::{Entry, Node};
use crate::rules;
use crate::source::Span;
use crate::types::{EntityId, Type};
use crate::word_forms::Language;

/// What says nothing beside `matching`, and why.
const BESIDE_MATCHING: [(&str, &str); 7] = [
    ("order", "rows come by how well they match"),
    ("reverse", "rows come by how well they match"),
    ("each", "a search is answered once"),
    ("scan", "the words lie in an index of their own"),
    ("using", "the words lie in an index of their own"),
    ("consistent", "the words of a row follow its write a little later"),
    ("together", "the words of a row follow its write a little later"),
];

impl Resolver<'_> {
    pub(super) fn searches(&mut self, node: Option<&Node>, entities: &[Entity]) -> Vec<Search> {
        let entries = node.map_or(&[][..], Node::entries);
        let searches = entries.iter().filter_map(|entry| self.search(entry, entities));
        searches.collect()
    }

    fn search(&mut self, entry: &Entry, entities: &[Entity]) -> Option<Search> {
        let id = self.find_entity(&entry.key)?;
        let entity = super::entity_of(entities, id)?;
        self.check_searched(entity, entry.key.span)?;
        let mut attributes: Vec<String> = Vec::new();
        let named = entry.value.get("attributes").unwrap_or(&entry.value);
        let names = spanned_names(Some(named));
        if names.is_empty() {
            let message = format!("`{}` is found by no words: no attribute is named", entity.name);
            self.bad_search(
                entry.key.span,
                message,
                "name attributes that hold text: `Task: [title, description]`",
            );
        }
        for (name, span) in names {
            let Some(attribute) = entity.attribute(&name) else {
                let unknown = super::unknown_attribute(&self.names.catalog, id, &name, span);
                self.out.push(unknown);
                continue;
            };
            if let Some(source) = &attribute.alias {
                let message = format!("`{name}` is another name for `{source}`, and stored nowhere");
                self.bad_search(span, message, &format!("name `{source}`"));
            } else if !attribute.ty.is_unknown() && !has_words(&attribute.ty) {
                let what = crate::text::with_article(&self.names.catalog.describe_type(&attribute.ty));
                let message = format!("`{name}` is {what}, and has no words to be found by");
                self.bad_search(
                    span,
                    message,
                    "name attributes that hold text, or lists and sets of text",
                );
            } else if attributes.contains(&name) {
                let message = format!("`{name}` is named twice");
                self.bad_search(span, message, "keep one");
            } else {
                attributes.push(name);
            }
        }
        Some(Search {
            entity: id,
            span: entry.key.span,
            attributes,
            language: named_language(&entry.value),
        })
    }

    fn check_searched(&mut self, entity: &Entity, span: Span) -> Option<()> {
        self.check_stream(true, span);
        if entity.mirror.is_some() || entity.role.is_some() {
            let message = format!(
                "rows of `{}` are no changes of their own, and cannot be found by words",
                entity.name
            );
            self.bad_search(span, message, "name the entity that they are kept with");
            return None;
        }
        if entity.history.is_some() {
            let what = format!("a search of `{}`, whose rows have versions,", entity.name);
            self.not_yet(span, &what, "find them by their keys");
            return None;
        }
        if entity.key.len() > 1 {
            let what = format!("a search of `{}`, whose key depends on the row,", entity.name);
            self.not_yet(span, &what, "find them by their keys");
            return None;
        }
        Some(())
    }

    /// A selection with what its rows must have in their words, where the read says `matching`.
    pub(super) fn with_matching(
        &mut self,
        selection: Option<Selection>,
        node: &Node,
        args: &Args,
        bound: &[expression::BoundName],
    ) -> Option<Selection> {
        let Some(entry) = node.entry("matching") else {
            if let Some(highlight) = node.entry("highlight") {
                let message = "`highlight` has no effect here: it belongs to `matching`";
                let finding = Diagnostic::new(&rules::NO_MEANING, highlight.key.span, message);
                self.out.push(finding.help("remove it"));
            }
            return selection;
        };
        let mut selection = selection?;
        if selection.kind != SelectionKind::Find {
            let message = "only `find` can search: what matches comes in pages, the best first".to_owned();
            self.bad_search(entry.key.span, message, "say `find`, or leave `matching` out");
            return Some(selection);
        }
        for (field, why) in BESIDE_MATCHING {
            if let Some(other) = node.entry(field) {
                let message = format!("`{field}` cannot stand beside `matching`: {why}");
                self.bad_search(other.key.span, message, "remove it");
            }
        }
        let scope = Scope {
            args: Some(args),
            bound: bound.to_vec(),
            ..self.names.scope()
        };
        let text = entry.value.text()?;
        let any_text = Type::Text(crate::types::TextLimits::default());
        let text = expression::check_expression(text, &scope, Some(&any_text), self.out);
        if text.optional {
            let message = "what is searched for may be absent".to_owned();
            let help = "make the argument required; the rows without a search are another read";
            self.bad_search(text.span, message, help);
        }
        let id = selection.entity()?;
        let search = self.search_list.iter().find(|search| search.entity == id).cloned();
        let Some(search) = search else {
            let entity = self.names.catalog.name(id).to_owned();
            let message = format!("`{entity}` is not found by words");
            let help = format!("say by which, at the top of the model: `search: {{{entity}: […]}}`");
            self.bad_search(entry.key.span, message, &help);
            return Some(selection);
        };
        selection.matching = Some(Box::new(Matching {
            text,
            highlight: self.highlighted(node, id, &search),
            attributes: search.attributes,
            language: search.language,
        }));
        Some(selection)
    }

    fn highlighted(&mut self, node: &Node, entity: EntityId, search: &Search) -> Vec<String> {
        let Some(value) = node.get("highlight") else {
            return Vec::new();
        };
        if value.text().is_some() {
            return match flag_field(node, "highlight") {
                true => search.attributes.clone(),
                false => Vec::new(),
            };
        }
        let mut names = Vec::new();
        for (name, span) in spanned_names(Some(value)) {
            match search.attributes.contains(&name) {
                true => names.push(name),
                false => {
                    let entity = self.names.catalog.name(entity).to_owned();
                    let message = format!("`{entity}` is not found by words of `{name}`");
                    let known =
                        crate::grammar::listed_words(&search.attributes.iter().map(String::as_str).collect::<Vec<_>>());
                    self.bad_search(span, message, &format!("its words are those of {known}"));
                }
            }
        }
        names
    }

    /// What is shown of a row is what `return` shows: marks in its text must not show more.
    pub(super) fn check_highlights(&mut self, read: &Read, node: &Node, entities: &[Entity]) {
        let matching = read.selection.as_ref().and_then(|own| own.matching.as_ref());
        let (Some(matching), Some(entry)) = (matching, node.entry("highlight")) else {
            return;
        };
        if matching.highlight.is_empty() {
            return;
        }
        let says_all = entry.value.text().is_some();
        match &read.returns {
            Return::Usual => {}
            Return::Fields(_) if !says_all => {}
            Return::Fields(_) => {
                let message = "`highlight: true` shows text that `return` may leave out".to_owned();
                self.bad_search(
                    entry.key.span,
                    message,
                    "name the attributes to be marked: `highlight: [title]`",
                );
            }
            Return::Value(_) | Return::Nothing => {
                let message = "what was found has no place beside a value".to_owned();
                self.bad_search(
                    entry.key.span,
                    message,
                    "say `return` by fields, or leave `highlight` out",
                );
            }
        }
        let entity = read.selection.as_ref().and_then(Selection::entity);
        let entity = entity.and_then(|id| super::entity_of(entities, id));
        let is_taken = match &read.returns {
            Return::Fields(fields) => fields.iter().any(|(name, _)| name == HIGHLIGHTS),
            _ => entity.is_some_and(|entity| entity.attribute(HIGHLIGHTS).is_some()),
        };
        if is_taken || read.with.iter().any(|part| part.name == HIGHLIGHTS) {
            let message = format!("the answer has `{HIGHLIGHTS}` twice: what was found, and something of that name");
            let finding = Diagnostic::new(&rules::AMBIGUOUS_NAME, entry.key.span, message);
            self.out.push(finding.help("give the other another name"));
        }
    }

    fn bad_search(&mut self, span: Span, message: String, help: &str) {
        self.out
            .push(Diagnostic::new(&rules::BAD_SEARCH, span, message).help(help));
    }
}

/// The language that a searched entity names; one that is not known has been reported by the shape.
fn named_language(node: &Node) -> Option<Language> {
    let name = node.get("language")?.text()?;
    Language::language_named(&name.text)
}

/// Whether values of a type have words.
fn has_words(ty: &Type) -> bool {
    match ty {
        Type::Text(_) | Type::Enum(_) => true,
        Type::List(element, _) | Type::Set(element, _) => matches!(**element, Type::Text(_) | Type::Enum(_)),
        _ => false,
    }
}
