//! Who calls, as scenarios write it.

use std::collections::BTreeMap;

use singlet_model::node::Node;
use singlet_model::text::Text;
use singlet_model::types::Type;
use singlet_model::{Diagnostic, Span};
use singlet_runtime::{Value, claim_from_text, claim_type};
use singlet_values::{self as values, Invalid};

use super::ScenarioReader;
use crate::file::ScenarioCaller;
use crate::rules;

impl ScenarioReader<'_> {
    pub(super) fn caller(&mut self, node: &Node) -> ScenarioCaller {
        match node {
            Node::Scalar(text) => self.caller_named(text),
            Node::List(..) => {
                self.mistake(node.span(), "a caller is a name, `nobody`, or a map of claims");
                ScenarioCaller::Nobody
            }
            Node::Map(claims, _) => {
                let tokens = &self.model.callers.claims;
                let known: Vec<String> = match tokens.is_empty() {
                    true => vec!["role".to_owned()],
                    false => tokens.iter().map(|claim| claim.name.clone()).collect(),
                };
                self.words(
                    node,
                    &[&known.iter().map(String::as_str).collect::<Vec<_>>()],
                    "a caller",
                );
                let is_key = tokens.is_empty();
                let mut said = BTreeMap::new();
                for claim in claims.iter() {
                    let value = self.claim(&claim.key.text, &claim.value);
                    said.extend(value.map(|value| (claim.key.text.clone(), value)));
                }
                match said.get("role").and_then(Value::as_str).filter(|_| is_key) {
                    Some(role) => self.api_key(role.to_owned(), node.span()),
                    None => ScenarioCaller::Token(said),
                }
            }
        }
    }

    /// A claim as the model has it: one value, or a list of them.
    fn claim(&mut self, name: &str, node: &Node) -> Option<Value> {
        let ty = claim_type(&self.model.callers, name).ok()?;
        let value = match (&ty, node) {
            (Type::List(element, _), Node::List(nodes, _)) => {
                let texts = nodes.iter().map(|node| node.str().unwrap_or_default());
                let elements: Result<Vec<Value>, Invalid> =
                    texts.map(|text| values::from_text(text, element)).collect();
                elements.and_then(|elements| values::checked_value(&Value::L(elements), &ty))
            }
            (_, Node::Scalar(text)) => claim_from_text(&text.text, &ty),
            _ => {
                self.mistake(node.span(), &format!("the claim `{name}` is one value"));
                return None;
            }
        };
        match value {
            Ok(value) => Some(value),
            Err(invalid) => {
                self.mistake(node.span(), &format!("the claim `{name}`: {invalid}"));
                None
            }
        }
    }

    fn caller_named(&mut self, text: &Text) -> ScenarioCaller {
        if let Some(known) = self.callers.get(&text.text) {
            return known.clone();
        }
        if text.text == "nobody" {
            return ScenarioCaller::Nobody;
        }
        if self.model.callers.claims.is_empty() {
            return self.api_key(text.text.clone(), text.span);
        }
        ScenarioCaller::Token(BTreeMap::from([("id".to_owned(), Value::S(text.text.clone()))]))
    }

    fn api_key(&mut self, role: String, span: Span) -> ScenarioCaller {
        let roles = &self.model.callers.roles;
        if !roles.contains(&role) {
            let wrong = Diagnostic::new(&rules::MISTAKE, span, format!("the model has no role `{role}`"));
            self.out.push(wrong.help(format!("its roles are {}", roles.join(", "))));
        }
        ScenarioCaller::ApiKey(role)
    }
}
