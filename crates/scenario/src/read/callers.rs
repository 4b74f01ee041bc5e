//! Who calls, as scenarios write it.

use std::collections::BTreeMap;

use singlet_model::node::Node;
use singlet_model::text::Text;
use singlet_model::{Diagnostic, Span};

use super::Reader;
use crate::file::Caller;
use crate::rules;

impl Reader<'_> {
    pub(super) fn caller(&mut self, node: &Node) -> Caller {
        match node {
            Node::Scalar(text) => self.caller_named(text),
            Node::List(..) => {
                self.mistake(node.span(), "a caller is a name, `nobody`, or a map of claims");
                Caller::Nobody
            }
            Node::Map(claims, _) => {
                let tokens = &self.model.callers.claims;
                let known: Vec<String> = match tokens.is_empty() {
                    true => vec!["role".to_owned()],
                    false => tokens.iter().map(|(name, _)| name.clone()).collect(),
                };
                self.words(
                    node,
                    &[&known.iter().map(String::as_str).collect::<Vec<_>>()],
                    "a caller",
                );
                let said = claims
                    .iter()
                    .filter_map(|claim| Some((claim.key.text.clone(), claim.value.str()?.to_owned())));
                let said: BTreeMap<String, String> = said.collect();
                match said.get("role").filter(|_| tokens.is_empty()) {
                    Some(role) => self.api_key(role.clone(), node.span()),
                    None => Caller::Token(said),
                }
            }
        }
    }

    fn caller_named(&mut self, text: &Text) -> Caller {
        if let Some(known) = self.callers.get(&text.text) {
            return known.clone();
        }
        if text.text == "nobody" {
            return Caller::Nobody;
        }
        if self.model.callers.claims.is_empty() {
            return self.api_key(text.text.clone(), text.span);
        }
        Caller::Token(BTreeMap::from([("id".to_owned(), text.text.clone())]))
    }

    fn api_key(&mut self, role: String, span: Span) -> Caller {
        let roles = &self.model.callers.roles;
        if !roles.contains(&role) {
            let wrong = Diagnostic::new(&rules::MISTAKE, span, format!("the model has no role `{role}`"));
            self.out.push(wrong.help(format!("its roles are {}", roles.join(", "))));
        }
        Caller::ApiKey(role)
    }
}
