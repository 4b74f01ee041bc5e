//! Pass 5: what an entity promises beyond its keys.

use super::Resolver;
use super::table::{flag_span, text_list, word_field};
use crate::diagnostic::{Diagnostic, Diagnostics, Fix};
use crate::expression::{self, Absence, Expr, Scope};
use crate::grammar::listed_words;
use crate::model::{Entity, EntityClaims, Guard, History, Holding, KeyPart, Lapse, Move, States};
use crate::node::{Entry, Node};
use crate::rules;
use crate::source::Span;
use crate::text::{Text, with_article};
use crate::types::{LengthLimits, Type};
use std::sync::Arc;

impl Resolver<'_> {
    pub(super) fn promises(&mut self, entities: &mut [Entity]) {
        for entity in entities.iter_mut() {
            let Some(entry) = self.entity_nodes.get(entity.name.as_str()).copied() else {
                continue;
            };
            self.check_mirror(entity, &entry.value);
            entity.unique = self.unique(entity, entry.value.get("unique"));
            entity.states = self.states(entity, entry.value.entry("states"));
            entity.expires = self.expires(entity, entry.value.get("expires"));
            entity.history = self.history(entity, entry.value.entry("history"));
            entity.excludes = self.excludes(entity, entry.value.get("excludes"));
            entity.claims = self.entity_claims(entity, entry.value.get("claim"));
        }
    }

    fn check_mirror(&mut self, entity: &Entity, node: &Node) {
        let Some(mirror) = &entity.mirror else {
            if let Some(carries) = node.entry("carries") {
                let message = format!("`{}` carries attributes but mirrors no entity", entity.name);
                self.out
                    .push(Diagnostic::new(&rules::BAD_MIRROR, carries.key.span, message).help("add `mirrors:`"));
            }
            return;
        };
        for field in [
            "attributes",
            "unique",
            "states",
            "expires",
            "history",
            "excludes",
            "role",
        ] {
            if let Some(entry) = node.entry(field) {
                let message = format!("the mirror `{}` has `{field}` of its own", entity.name);
                let help = format!(
                    "declare it on `{}`: a mirror follows",
                    self.names.catalog.name(mirror.of)
                );
                self.out
                    .push(Diagnostic::new(&rules::BAD_MIRROR, entry.key.span, message).help(help));
            }
        }
        let source = mirror.of;
        if source == entity.id {
            let message = format!("`{}` mirrors itself", entity.name);
            let help = "name the entity of which it is another row";
            self.out
                .push(Diagnostic::new(&rules::BAD_MIRROR, mirror.span, message).help(help));
            return;
        }
        if self
            .entity_nodes
            .get(self.names.catalog.name(source))
            .is_some_and(|entry| entry.value.get("mirrors").is_some())
        {
            let message = format!("`{}` mirrors a mirror", entity.name);
            self.out
                .push(Diagnostic::new(&rules::BAD_MIRROR, mirror.span, message).help("mirror the entity itself"));
        }
        let carried = node.get("carries").map_or(&[][..], Node::elements);
        for text in carried.iter().filter_map(Node::text) {
            self.find_attribute(source, text);
        }
    }

    fn unique(&mut self, entity: &Entity, node: Option<&Node>) -> Vec<Guard> {
        let mut guards = Vec::new();
        for entry in node.map_or(&[][..], Node::entries) {
            let value = entry.value.text().or_else(|| entry.value.get("is")?.text());
            let Some(text) = value else { continue };
            let scope = Scope {
                absence: Absence::Spreads,
                ..self.names.row_scope(entity.id)
            };
            let value = expression::check_expression(text, &scope, None, self.out);
            if !(value.ty.is_textual() || value.ty.is_number() || value.ty.is_unknown()) {
                let message = format!(
                    "{} cannot be guarded",
                    with_article(&self.names.catalog.describe_type(&value.ty))
                );
                self.out
                    .push(Diagnostic::new(&rules::BAD_UNIQUE, text.span, message).help("guard text or a number"));
            }
            guards.push(Guard {
                name: entry.key.text.clone(),
                value,
                span: entry.key.span,
                was: super::past::former_name(&entry.value),
            });
        }
        guards
    }

    fn expires(&mut self, entity: &Entity, node: Option<&Node>) -> Option<Expr> {
        let text = node?.text()?;
        let scope = self.names.row_scope(entity.id);
        let expr = expression::check_expression(text, &scope, None, self.out);
        if !expr.ty.is_instant() && !expr.ty.is_unknown() {
            let message = format!(
                "`expires` is an instant, not {}",
                with_article(&self.names.catalog.describe_type(&expr.ty))
            );
            self.out.push(
                Diagnostic::new(&rules::WRONG_SHAPE, text.span, message)
                    .help("such as `createdAt + days(30)`, of a time, seconds or millis attribute"),
            );
        }
        Some(expr)
    }

    fn excludes(&mut self, entity: &Entity, node: Option<&Node>) -> Option<Expr> {
        let text = node?.text()?;
        let scope = self.names.row_scope(entity.id);
        let expr = expression::check_expression(text, &scope, None, self.out);
        let fits = match &expr.ty {
            Type::Row(_) | Type::Unknown => true,
            Type::List(element, _) => matches!(**element, Type::Row(_) | Type::Unknown),
            _ => false,
        };
        if !fits {
            let message = "`excludes` lists rows";
            self.out.push(
                Diagnostic::new(&rules::WRONG_SHAPE, text.span, message).help("such as `[Event(date, \"FULL_DAY\")]`"),
            );
        }
        Some(expr)
    }

    fn history(&mut self, entity: &Entity, entry: Option<&Entry>) -> Option<History> {
        let entry = entry?;
        let node = &entry.value;
        let at = self.history_attribute(
            entity,
            node.get("at"),
            |ty, optional| *ty == Type::Time && !optional,
            "a `time` that is always there",
        )?;
        let until = self.history_attribute(
            entity,
            node.get("until"),
            |ty, optional| *ty == Type::Time && optional,
            "an optional `time`",
        )?;
        let tombstone = match node.get("tombstone") {
            Some(tombstone) => {
                Some(self.history_attribute(entity, Some(tombstone), |ty, _| *ty == Type::Bool, "a `bool`")?)
            }
            None => None,
        };
        if !entity.is_key_attribute(&at) {
            let message = format!("`{at}` is not in the primary key of `{}`", entity.name);
            let help = "each version is a row of its own: put its instant into the sort key";
            self.out
                .push(Diagnostic::new(&rules::BAD_HISTORY, entry.key.span, message).help(help));
        }
        // Versions are of one thing where the values of its key are equal, which a key that folds them does not tell.
        let folded = |name: &&str| *name != at && !entity.key_tells(name);
        let mut variables = entity
            .key_templates()
            .flat_map(|key| &key.parts)
            .map(KeyPart::root_attribute);
        if let Some(name) = variables.find(folded) {
            let message = format!(
                "the key of `{}` does not tell `{name}`, by which versions are told apart",
                entity.name
            );
            let help = "store what the key has of it as an attribute of its own, and put that into the key";
            self.out
                .push(Diagnostic::new(&rules::BAD_HISTORY, entry.key.span, message).help(help));
        }
        // What a row was called is remembered for ever, so that it has one first version: it could never be created again.
        if entity.expires.is_some() {
            let message = format!("`{}` has `history`, and its rows expire", entity.name);
            let help = "leave out `expires`, or `history`: versions are kept";
            self.out
                .push(Diagnostic::new(&rules::BAD_HISTORY, entry.key.span, message).help(help));
        }
        Some(History {
            at,
            until,
            tombstone,
            again: word_field(node, "same").as_deref() == Some("again"),
        })
    }

    fn history_attribute(
        &mut self,
        entity: &Entity,
        node: Option<&Node>,
        fits: fn(&Type, bool) -> bool,
        wanted: &str,
    ) -> Option<String> {
        let text = node?.text()?;
        let (ty, optional) = self.find_attribute(entity.id, text)?;
        if !fits(&ty, optional) && !ty.is_unknown() {
            let message = format!("`{}` is not {wanted}", text.text);
            let help = format!("declare it so under `attributes` of `{}`", entity.name);
            self.out
                .push(Diagnostic::new(&rules::BAD_HISTORY, text.span, message).help(help));
        }
        Some(text.text.clone())
    }

    fn states(&mut self, entity: &Entity, entry: Option<&Entry>) -> Option<States> {
        let entry = entry?;
        let node = &entry.value;
        let of = node.get("of")?.text()?;
        let (ty, optional) = self.find_attribute(entity.id, of)?;
        let Some(members) = ty.enum_members().map(<[String]>::to_vec) else {
            let message = format!(
                "`{}` is {}, and states are those of an enum",
                of.text,
                with_article(&ty.to_string())
            );
            self.out.push(
                Diagnostic::new(&rules::BAD_STATES, of.span, message)
                    .help("define the states as an enum under `types`"),
            );
            return None;
        };
        if optional {
            let message = format!("`{}` may be absent, and a row is always in a state", of.text);
            self.out
                .push(Diagnostic::new(&rules::BAD_STATES, of.span, message).help("remove the `?`"));
        }
        let states = KnownStates { members: &members };
        let start = node.get("start").and_then(Node::text)?;
        states.check(start, self.out);
        let moves = node.get("moves").map_or(&[][..], Node::entries);
        let moves = moves
            .iter()
            .filter_map(|entry| states.parse_move(entry, self.out))
            .collect();
        Some(States {
            of: of.text.clone(),
            start: start.text.clone(),
            moves,
            holding: self.holding(entity, node.get("while"), &states),
            lapses: self.lapses(entity, node.get("lapse"), &states),
            span: entry.key.span,
        })
    }

    fn holding(&mut self, entity: &Entity, node: Option<&Node>, states: &KnownStates<'_>) -> Vec<Holding> {
        let mut all = Vec::new();
        for entry in node.map_or(&[][..], Node::entries) {
            let holding = states.list(&entry.key, self.out);
            let mut values = Vec::new();
            for value in entry.value.entries() {
                let Some((ty, optional)) = self.find_attribute(entity.id, &value.key) else {
                    continue;
                };
                if !optional {
                    let message = format!(
                        "`{}` is cleared on leaving the state, but is not optional",
                        value.key.text
                    );
                    self.out.push(
                        Diagnostic::new(&rules::BAD_STATES, value.key.span, message)
                            .help("make its type optional with `?`"),
                    );
                }
                if let Some(text) = value.value.text() {
                    let scope = self.names.row_scope(entity.id);
                    let expr = expression::check_expression(text, &scope, Some(&ty), self.out);
                    values.push((value.key.text.clone(), expr));
                }
            }
            all.push((holding, values));
        }
        all
    }

    fn lapses(&mut self, entity: &Entity, node: Option<&Node>, states: &KnownStates<'_>) -> Vec<Lapse> {
        let mut all = Vec::new();
        for entry in node.map_or(&[][..], Node::entries) {
            let Some(text) = entry.value.text() else { continue };
            states.check(&entry.key, self.out);
            let Some(at) = text.text.find(" at ") else {
                let message = format!("`{}` does not say when the state ends", text.text);
                self.out.push(
                    Diagnostic::new(&rules::BAD_STATES, text.span, message).help("write `available at reservedUntil`"),
                );
                continue;
            };
            let to = text.part_text(0, at).trimmed_text();
            states.check(&to, self.out);
            let when = text.part_text(at + 4, text.text.len()).trimmed_text();
            let scope = self.names.row_scope(entity.id);
            let expr = expression::check_expression(&when, &scope, None, self.out);
            if !expr.ty.is_instant() && !expr.ty.is_unknown() {
                let message = format!(
                    "a state ends at an instant, not at {}",
                    with_article(&self.names.catalog.describe_type(&expr.ty))
                );
                self.out.push(Diagnostic::new(&rules::BAD_STATES, when.span, message));
            }
            all.push(Lapse {
                from: entry.key.text.clone(),
                to: to.text,
                at: expr,
                span: entry.key.span,
            });
        }
        all
    }

    fn entity_claims(&mut self, entity: &Entity, node: Option<&Node>) -> EntityClaims {
        let Some(node) = node else {
            return EntityClaims::default();
        };
        let texts = |field: &str| match node.get(field) {
            Some(Node::Scalar(text)) => vec![text.clone()],
            Some(list) => list
                .elements()
                .iter()
                .filter_map(|element| element.text().cloned())
                .collect(),
            None => Vec::new(),
        };
        let mut unique = Vec::new();
        for text in texts("unique") {
            if self.find_attribute(entity.id, &text).is_some() {
                unique.push((text.text, text.span));
            }
        }
        let mut together = Vec::new();
        for text in texts("together") {
            if let Some(other) = self.find_entity(&text) {
                together.push((other, text.span));
            }
        }
        let swept = node.get("swept_by_ttl").and_then(Node::text);
        let swept_by_ttl = swept.map(|text| {
            let scope = self.names.row_scope(entity.id);
            expression::check_condition(text, &scope, self.out)
        });
        EntityClaims {
            unique,
            together,
            versioned: flag_span(node, "versioned"),
            swept_by_ttl,
        }
    }
}

/// The states that an enum gives.
struct KnownStates<'a> {
    members: &'a [String],
}

impl KnownStates<'_> {
    fn check(&self, text: &Text, out: &mut Diagnostics) {
        if self.members.contains(&text.text) {
            return;
        }
        let message = format!("`{}` is no state", text.text);
        let known = self.members.iter().map(String::as_str);
        let mut diagnostic = Diagnostic::new(&rules::BAD_STATES, text.span, message).did_you_mean(&text.text, known);
        if diagnostic.help.is_none() {
            diagnostic = diagnostic.help(format!("the states are {}", listed_words(self.members)));
        }
        out.push(diagnostic);
    }

    /// `a | b`.
    fn list(&self, text: &Text, out: &mut Diagnostics) -> Vec<String> {
        let mut start = 0;
        let mut states = Vec::new();
        for piece in text.text.split('|') {
            let state = text.part_text(start, start + piece.len()).trimmed_text();
            start += piece.len() + 1;
            self.check(&state, out);
            states.push(state.text);
        }
        states
    }

    /// `a | b -> c`.
    fn parse_move(&self, entry: &Entry, out: &mut Diagnostics) -> Option<Move> {
        let text = entry.value.text()?;
        let Some(arrow) = text.text.find("->") else {
            let message = format!("the move `{}` does not say where it leads", entry.key.text);
            let help = match text.text.contains("=>") {
                true => "write `->`",
                false => "write `pending | active -> done`",
            };
            let mut diagnostic = Diagnostic::new(&rules::BAD_STATES, text.span, message).help(help);
            diagnostic.fix = text.text.find("=>").map(|at| Fix {
                span: text.span_of(at, at + 2),
                replacement: "->".to_owned(),
            });
            out.push(diagnostic);
            return None;
        };
        let to = text.part_text(arrow + 2, text.text.len()).trimmed_text();
        self.check(&to, out);
        Some(Move {
            name: entry.key.text.clone(),
            from: self.list(&text.part_text(0, arrow), out),
            to: to.text,
            span: entry.key.span,
        })
    }
}

/// A list of rows of an entity.
pub(super) fn rows_of(entity: crate::types::EntityId, max: Option<u64>) -> Type {
    Type::List(Arc::new(Type::Row(entity)), LengthLimits { min: None, max })
}

/// Names and where they stand.
pub(super) fn spanned_names(node: Option<&Node>) -> Vec<(String, Span)> {
    let elements = node.map_or(&[][..], Node::elements);
    let spanned = elements
        .iter()
        .filter_map(|element| element.text().map(|text| (text.text.clone(), text.span)));
    match node {
        Some(Node::Scalar(text)) => vec![(text.text.clone(), text.span)],
        _ if !elements.is_empty() => spanned.collect(),
        _ => text_list(node)
            .into_iter()
            .map(|name| (name, Span::default()))
            .collect(),
    }
}
