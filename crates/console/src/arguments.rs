//! From what a form says to what an operation takes: arguments of their types, and who calls.

use std::collections::BTreeMap;

use serde::Deserialize;
use singlet_item::Value;
use singlet_model::model::{Argument, Callers};
use singlet_model::types::Type;
use singlet_runtime::{Attributes, Caller, claim_from_text, claim_type};
use singlet_values::{self as values, Tree};

use crate::answer::ConsoleError;

/// Who calls, as a form says it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallerAsked {
    /// Whether they have shown credentials.
    #[serde(default)]
    pub authenticated: bool,
    /// What is known of them.
    #[serde(default)]
    pub claims: BTreeMap<String, String>,
}

impl CallerAsked {
    /// The caller, with claims of the types that the model gives them. An id is taken though the model names none, as `call --as` does.
    pub fn asked_caller(&self, callers: &Callers) -> Result<Caller, ConsoleError> {
        let mut caller = Caller {
            authenticated: self.authenticated,
            ..Caller::default()
        };
        for (name, text) in self.claims.iter().filter(|(_, text)| !text.is_empty()) {
            let value = match claim_type(callers, name) {
                Ok(ty) => claim_from_text(text, &ty)
                    .map_err(|invalid| ConsoleError::invalid_request(format!("`{name}`: {invalid}")))?,
                Err(_) if name == "id" => Value::S(text.clone()),
                Err(unknown) => return Err(ConsoleError::invalid_request(unknown.to_string())),
            };
            caller = caller.with_claim(name, value);
        }
        Ok(caller)
    }
}

/// Whether a form has JSON for a type, and not a line of text.
pub(crate) fn is_json(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Json
            | Type::Unknown
            | Type::Object(_)
            | Type::List(..)
            | Type::Set(..)
            | Type::Map(..)
            | Type::Geo(_)
            | Type::Row(_)
            | Type::Group(..)
    )
}

/// The arguments of an operation, as texts or as JSON. What is not there is left out; `null` as JSON clears.
pub(crate) fn typed_arguments(
    operation: &str,
    known: &[Argument],
    texts: &BTreeMap<String, String>,
    jsons: &BTreeMap<String, String>,
) -> Result<Attributes, ConsoleError> {
    let mut args = Attributes::new();
    let texts = texts.iter().map(|given| (given, false));
    for ((name, text), said_json) in texts.chain(jsons.iter().map(|given| (given, true))) {
        let Some(argument) = known.iter().find(|argument| argument.name == *name) else {
            return Err(ConsoleError::invalid_request(format!(
                "`{operation}` has no argument `{name}`"
            )));
        };
        let wrong = |reason: String| ConsoleError::invalid_request(format!("`{name}`: {reason}"));
        let as_json = || {
            let tree = Tree::parse(text).map_err(|error| wrong(format!("this is not JSON: {error}")))?;
            match tree {
                Tree::Null => Ok(Value::Null),
                tree => values::from_tree(&tree, &argument.ty).map_err(|error| wrong(error.to_string())),
            }
        };
        let value = match said_json || is_json(&argument.ty) {
            true if said_json => as_json()?,
            // A place may be written as text too: `52.23,21.01`.
            true if matches!(argument.ty, Type::Geo(_) | Type::Unknown) && !text.trim_start().starts_with('{') => {
                values::from_text(text, &argument.ty).map_err(|error| wrong(error.to_string()))?
            }
            true => as_json()?,
            false => values::from_text(text, &argument.ty).map_err(|error| wrong(error.to_string()))?,
        };
        args.insert(name.clone(), value);
    }
    Ok(args)
}
