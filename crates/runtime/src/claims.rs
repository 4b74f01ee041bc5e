//! What a caller says of itself, as text and as JSON, under the model's names.
//!
//! **Invariant: a claim is there as the model types it, or not at all.** What a token says in another form is not mended into it: the
//! claim is then unknown, and no comparison with it holds. A mended one could say more than the issuer did.

use std::fmt;

use serde_json::Value as Json;
use singlet_item::Value;
use singlet_model::diagnostic::nearest_word;
use singlet_model::model::{CallerClaim, Callers, ClaimSpelling};
use singlet_model::types::Type;

use crate::values::{self, Invalid};

/// The most elements of a claim that is a list. A token is shorter than what this many would fill.
pub(crate) const CLAIM_ELEMENTS_MAX: usize = 4_096;

/// What a token says in a claim. Nothing where it says nothing, or something of another kind: a list of which one element is no text is
/// not a shorter list, and a text is not a list of one.
pub fn claim_from_json(claim: &CallerClaim, token: &serde_json::Map<String, Json>) -> Option<Value> {
    let (first, rest) = claim.path.split_first()?;
    let said = rest
        .iter()
        .try_fold(token.get(first)?, |json, step| json.as_object()?.get(step))?;
    let value = match (claim.spelling, said) {
        // Unknown and not cut: with a part of the list, `!(x in list)` would hold of what was cut off.
        (ClaimSpelling::Json, Json::Array(elements)) if elements.len() > CLAIM_ELEMENTS_MAX => return None,
        (ClaimSpelling::Json, said) => values::from_json(said, &claim.ty).ok()?,
        (ClaimSpelling::Words, Json::String(text)) => {
            let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
            listed(words.into_iter(), &claim.ty).ok()?
        }
        // A claim in another form is not read as if it had been meant.
        (ClaimSpelling::Words, _) => return None,
    };
    // Who has an empty id, or an empty role, has none.
    (value.as_str() != Some("")).then_some(value)
}

/// A claim as a token has it; what [`claim_from_json`] reads.
pub fn put_claim(claim: &CallerClaim, value: &Value, token: &mut serde_json::Map<String, Json>) {
    let said = match (claim.spelling, value) {
        (ClaimSpelling::Words, Value::L(words)) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            Json::from(words.join(" "))
        }
        (_, value) => values::to_json(value),
    };
    put_at(&claim.path, said, token);
}

fn put_at(path: &[String], said: Json, into: &mut serde_json::Map<String, Json>) {
    match path {
        [] => {}
        [last] => {
            into.insert(last.clone(), said);
        }
        [first, rest @ ..] => {
            let within = into
                .entry(first.clone())
                .or_insert_with(|| Json::Object(serde_json::Map::new()));
            if let Json::Object(within) = within {
                put_at(rest, said, within);
            }
        }
    }
}

/// A claim as it is written for a person to type: a list has commas between its elements, or is JSON.
///
/// # Errors
///
/// Where it is not what the type says.
pub fn claim_from_text(text: &str, ty: &Type) -> Result<Value, Invalid> {
    match ty {
        Type::List(..) if !text.trim_start().starts_with('[') => {
            listed(text.split(',').map(str::trim).filter(|word| !word.is_empty()), ty)
        }
        _ => values::from_text(text, ty),
    }
}

/// The type of a claim by the model's name.
///
/// # Errors
///
/// Where the model has no such claim.
pub fn claim_type(callers: &Callers, name: &str) -> Result<Type, UnknownClaim> {
    let known = callers.claim_types();
    if let Some((_, ty)) = known.iter().find(|(known, _)| *known == name) {
        return Ok(ty.clone());
    }
    Err(UnknownClaim {
        name: name.to_owned(),
        known: known.into_iter().map(|(name, _)| name.to_owned()).collect(),
    })
}

/// A claim that a model's callers do not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownClaim {
    /// The claim that was asked for.
    pub name: String,
    /// Those that there are.
    pub known: Vec<String>,
}

impl fmt::Display for UnknownClaim {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the model's callers have no claim `{}`", self.name)?;
        match nearest_word(&self.name, self.known.iter().map(String::as_str)) {
            Some(near) => write!(out, "; did you mean `{near}`?"),
            None if self.known.is_empty() => out.write_str(", and no other"),
            None => write!(out, "; there are `{}`", self.known.join("`, `")),
        }
    }
}

impl std::error::Error for UnknownClaim {}

fn listed<'t>(words: impl Iterator<Item = &'t str>, ty: &Type) -> Result<Value, Invalid> {
    let element = ty.element_type().cloned().unwrap_or_else(Type::text);
    let elements: Result<Vec<Value>, Invalid> = words.map(|word| values::from_text(word, &element)).collect();
    values::checked_value(&Value::L(elements?), ty)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use singlet_model::types::LengthLimits;

    use super::*;

    fn list_claim(path: &[&str], spelling: ClaimSpelling) -> CallerClaim {
        CallerClaim {
            name: "groups".to_owned(),
            path: path.iter().map(|step| (*step).to_owned()).collect(),
            ty: Type::List(Type::text().into(), LengthLimits::default()),
            spelling,
        }
    }

    fn read(claim: &CallerClaim, token: Json) -> Option<Json> {
        let value = claim_from_json(claim, token.as_object().unwrap())?;
        Some(values::to_json(&value))
    }

    #[test]
    fn a_list_is_a_list_of_texts_or_nothing() {
        let claim = list_claim(&["groups"], ClaimSpelling::Json);
        assert_eq!(read(&claim, json!({"groups": ["a", "b"]})), Some(json!(["a", "b"])));
        assert_eq!(read(&claim, json!({"groups": []})), Some(json!([])));
        for wrong in [
            json!({}),
            json!({"groups": null}),
            json!({"groups": "desk"}),
            json!({"groups": "[\"desk\"]"}),
            json!({"groups": 1}),
            json!({"groups": true}),
            json!({"groups": {"desk": true}}),
            json!({"groups": ["desk", 1]}),
            json!({"groups": ["desk", null]}),
            json!({"groups": [["desk"]]}),
            json!({"Groups": ["desk"]}),
        ] {
            assert_eq!(read(&claim, wrong.clone()), None, "{wrong}");
        }
    }

    #[test]
    fn a_path_leads_through_objects_alone() {
        let claim = list_claim(&["realm_access", "roles"], ClaimSpelling::Json);
        let good = json!({"realm_access": {"roles": ["desk"]}});
        assert_eq!(read(&claim, good), Some(json!(["desk"])));
        for wrong in [
            json!({"realm_access.roles": ["desk"]}),
            json!({"realm_access": ["roles"]}),
            json!({"realm_access": "roles"}),
            json!({"roles": ["desk"]}),
            json!({"realm_access": {"roles": {"roles": ["desk"]}}}),
        ] {
            assert_eq!(read(&claim, wrong.clone()), None, "{wrong}");
        }
    }

    #[test]
    fn words_are_told_apart_by_spaces() {
        let claim = list_claim(&["scope"], ClaimSpelling::Words);
        assert_eq!(
            read(&claim, json!({"scope": " read  write:all "})),
            Some(json!(["read", "write:all"]))
        );
        assert_eq!(read(&claim, json!({"scope": ""})), Some(json!([])));
        assert_eq!(read(&claim, json!({"scope": ["read"]})), None);
    }

    #[test]
    fn what_is_put_into_a_token_is_read_from_it() {
        for (path, spelling) in [
            (&["groups"][..], ClaimSpelling::Json),
            (&["resource_access", "my.client", "roles"][..], ClaimSpelling::Json),
            (&["scope"][..], ClaimSpelling::Words),
        ] {
            let claim = list_claim(path, spelling);
            let value = claim_from_text("a, b", &claim.ty).unwrap();
            let mut token = serde_json::Map::new();
            put_claim(&claim, &value, &mut token);
            assert_eq!(claim_from_json(&claim, &token), Some(value));
        }
    }
}
