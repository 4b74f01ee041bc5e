//! What a model says of models before it: `was:` and `fill:`. Neither means anything to the model itself.

use std::collections::HashMap;

use super::Resolver;
use crate::diagnostic::Diagnostic;
use crate::expression;
use crate::model::{Entity, Was};
use crate::node::{Entry, Node};
use crate::rules;
use crate::source::Span;
use crate::text::Text;
use crate::types::Type;

/// The name that something had before.
pub(super) fn former_name(node: &Node) -> Option<Was> {
    let text = node.get("was")?.text()?;
    Some(Was {
        text: text.text.clone(),
        span: text.span,
    })
}

/// Names that were claimed by `was:`, each with the place where it was first.
#[derive(Default)]
struct Claimed<'n>(HashMap<&'n str, Span>);

impl Resolver<'_> {
    /// Checks every `was:`, and computes every `fill:`.
    pub(super) fn check_past(&mut self, root: &Node, entities: &mut [Entity]) {
        self.check_names_of_before(root.get("entities"), "entity");
        self.check_names_of_before(root.get("writes"), "write");
        for entry in root.get("types").map_or(&[][..], Node::entries) {
            self.check_members_of_before(&entry.value);
        }
        for entry in root.get("entities").map_or(&[][..], Node::entries) {
            self.check_names_of_before(entry.value.get("attributes"), "attribute");
            self.check_names_of_before(entry.value.get("unique"), "guard");
            for attribute in entry.value.get("attributes").map_or(&[][..], Node::entries) {
                self.check_attribute_past(&attribute.value);
            }
        }
        for entity in entities.iter_mut() {
            self.fills(entity);
        }
    }

    /// What is said of the past of something that has none.
    pub(super) fn check_no_past(&mut self, node: &Node, what: &str) {
        for word in ["was", "fill"] {
            // The members of an enum that is written in place have a past.
            let said = node.entry(word).filter(|entry| !entry.value.is_map());
            if let Some(entry) = said {
                let message = format!("{what} has no `{word}`");
                let rule = if word == "was" {
                    &rules::BAD_WAS
                } else {
                    &rules::BAD_FILL
                };
                let help = "it is said of an attribute of an entity";
                self.out.push(Diagnostic::new(rule, entry.key.span, message).help(help));
            }
        }
        if node.is_map() {
            self.check_members_of_before(node);
        }
    }

    /// A map of names, of which some had other names before.
    fn check_names_of_before(&mut self, node: Option<&Node>, what: &str) {
        let entries = node.map_or(&[][..], Node::entries);
        let mut claimed = Claimed::default();
        for entry in entries {
            if let Some(text) = entry.value.get("was").and_then(Node::text) {
                let is_there = entries.iter().find(|known| known.key.text == text.text);
                self.check_claim(text, is_there.map(|known| &known.key), what, &mut claimed);
            }
        }
    }

    fn check_members_of_before(&mut self, node: &Node) {
        let members: Vec<&Text> = match node.get("enum") {
            Some(words) => words.elements().iter().filter_map(Node::text).collect(),
            None => Vec::new(),
        };
        let mut claimed = Claimed::default();
        let said = node.get("was").filter(|was| was.is_map());
        for entry in said.map_or(&[][..], Node::entries) {
            if !members.iter().any(|member| member.text == entry.key.text) {
                let message = format!("the enum has no member `{}`", entry.key.text);
                let help = "the member as it is called now, then its name of before: `{done: finished}`";
                self.out
                    .push(Diagnostic::new(&rules::BAD_WAS, entry.key.span, message).help(help));
                continue;
            }
            let Some(text) = entry.value.text() else { continue };
            let is_there = members.iter().find(|member| member.text == text.text);
            self.check_claim(text, is_there.copied(), "member", &mut claimed);
        }
    }

    fn check_claim<'n>(&mut self, text: &'n Text, there: Option<&Text>, what: &str, claimed: &mut Claimed<'n>) {
        if let Some(there) = there {
            let message = format!("the {what} `{}` is still there, so that nothing else was it", text.text);
            let help = "remove the `was`, or the one that is there";
            self.out.push(
                Diagnostic::new(&rules::BAD_WAS, text.span, message)
                    .note(there.span, "here")
                    .help(help),
            );
        } else if let Some(first) = claimed.0.insert(&text.text, text.span) {
            let message = format!("the {what} `{}` cannot have become two", text.text);
            let help = "one of them was it; for the other, `fill:` says what it gets";
            self.out.push(
                Diagnostic::new(&rules::BAD_WAS, text.span, message)
                    .note(first, "first here")
                    .help(help),
            );
        }
    }

    fn check_attribute_past(&mut self, node: &Node) {
        let by_member = node.entry("was").filter(|was| was.value.is_map());
        if let Some(was) = by_member.filter(|_| node.get("enum").is_none()) {
            let message = "a map of members belongs to an `enum`, and there is none here";
            let help = "write the name that the attribute had, or the map beside the `enum` that has the members";
            self.out
                .push(Diagnostic::new(&rules::BAD_WAS, was.key.span, message).help(help));
        } else {
            self.check_members_of_before(node);
        }
    }

    /// Computes what rows of before get.
    fn fills(&mut self, entity: &mut Entity) {
        let Some(node) = self.entity_nodes.get(entity.name.as_str()).map(|entry| &entry.value) else {
            return;
        };
        for entry in node.get("attributes").map_or(&[][..], Node::entries) {
            let fill = self.fill(entity, entry);
            let at = entity.attributes.position_of(&entry.key.text);
            if let Some(attribute) = at.and_then(|at| entity.attributes.get_mut(at)) {
                attribute.fill = fill;
            }
        }
    }

    fn fill(&mut self, entity: &Entity, entry: &Entry) -> Option<expression::Expr> {
        let text = entry.value.get("fill")?.text()?;
        let attribute = entity.attribute(&entry.key.text)?;
        let mut refuse = |message: String, help: &str| {
            self.out
                .push(Diagnostic::new(&rules::BAD_FILL, text.span, message).help(help));
        };
        if attribute.is.is_some() || attribute.copy.is_some() {
            let message = format!("`{}` is computed, and fills itself", attribute.name);
            refuse(message, "remove the `fill`");
            return None;
        }
        if entity.history.is_some() && entity.is_key_attribute(&attribute.name) {
            let message = format!("`{}` tells versions apart, and none of before lacks it", attribute.name);
            refuse(message, "remove the `fill`");
            return None;
        }
        let expected = Some(&attribute.ty).filter(|ty| !matches!(ty, Type::Unknown));
        let scope = self.names.row_scope(entity.id);
        let expr = expression::check_expression(text, &scope, expected, self.out);
        if expr.is_invalid() || expr.ty.is_unknown() {
            return None;
        }
        let mut refuse = |message: String, help: &str| {
            self.out
                .push(Diagnostic::new(&rules::BAD_FILL, text.span, message).help(help));
        };
        if expr.mentions_attribute(&attribute.name) {
            let message = format!("rows of before have no `{}` to compute it from", attribute.name);
            refuse(message, "use other attributes of the row, or a constant");
            return None;
        }
        if !expr.is_of_row() {
            let message = "what fills rows of before is computed of the row alone, and gives the same each time";
            refuse(
                message.to_owned(),
                "use attributes of the row and constants: no clock, no new ids, no settings, no other rows",
            );
            return None;
        }
        if expr.optional && !attribute.optional {
            let message = format!("this may be absent, and `{}` is required", attribute.name);
            refuse(message, "say what there is then: `x == absent ? … : x`");
            return None;
        }
        Some(expr)
    }
}
