//! Parameters and bodies as typed arguments. Every problem of a body is reported at once.

use serde_json::{Map, Value as Json};
use singlet_item::Value;
use singlet_model::diagnostic::nearest;
use singlet_model::model::Argument;
use singlet_model::types::{ObjectType, Type};
use singlet_runtime::{Attributes, values};

use crate::problem::{FieldError, Place};

/// How deep into a wrong value problems are looked for.
const NESTING_MAX: usize = 32;

/// An argument from a path or a query.
///
/// # Errors
///
/// What is wrong with it.
pub fn argument_from_text(text: &str, ty: &Type) -> Result<Value, String> {
    match ty {
        Type::Unknown => Ok(Value::S(text.to_owned())),
        ty => values::from_text(text, ty).map_err(|invalid| invalid.to_string()),
    }
}

/// The arguments of a path.
pub fn path_arguments(
    variables: &[(&str, String)],
    known: &[Argument],
    args: &mut Attributes,
    errors: &mut Vec<FieldError>,
) {
    for arg in known {
        let Some((_, text)) = variables.iter().find(|(name, _)| *name == arg.name) else {
            continue;
        };
        match argument_from_text(text, &arg.ty) {
            Ok(value) => drop(args.insert(arg.name.clone(), value)),
            Err(detail) => errors.push(FieldError::new(Place::Path(arg.name.clone()), detail)),
        }
    }
}

/// An argument that a patch made, and whether null clears it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patched {
    /// The argument.
    pub name: String,
    /// Whether the attribute may be absent.
    pub clearable: bool,
}

/// The arguments of a body.
pub fn body_arguments(
    body: &Map<String, Json>,
    known: &[Argument],
    patched: &[Patched],
    args: &mut Attributes,
    errors: &mut Vec<FieldError>,
) {
    for name in body.keys().filter(|name| known.iter().all(|arg| arg.name != **name)) {
        errors.push(no_such_field(
            &pointer("", name),
            name,
            known.iter().map(|arg| arg.name.as_str()),
        ));
    }
    for arg in known {
        let at = pointer("", &arg.name);
        let patch = patched.iter().find(|patched| patched.name == arg.name);
        match (body.get(&arg.name), patch) {
            (Some(Json::Null), Some(Patched { clearable: true, .. })) => {
                args.insert(arg.name.clone(), Value::Null);
            }
            (Some(Json::Null), Some(_)) => errors.push(FieldError::new(Place::Body(at), "this cannot be cleared")),
            // Null is what many clients send for what they leave out.
            (Some(Json::Null) | None, _) if arg.optional || arg.default.is_some() => {}
            (None, _) => errors.push(FieldError::new(Place::Body(at), "this is missing")),
            (Some(json), _) => match values::from_json(json, &arg.ty) {
                Ok(value) => drop(args.insert(arg.name.clone(), value)),
                Err(_) => problems(json, &arg.ty, &at, 0, errors),
            },
        }
    }
}

/// Everything that is wrong with a value that is not of its type.
fn problems(json: &Json, ty: &Type, at: &str, depth: usize, errors: &mut Vec<FieldError>) {
    let before = errors.len();
    if depth < NESTING_MAX {
        match (ty, json) {
            (Type::Object(object) | Type::Geo(Some(object)), Json::Object(entries)) => {
                fields(entries, object, at, depth, errors);
            }
            (Type::List(element, _) | Type::Set(element, _), Json::Array(elements)) => {
                for (position, json) in elements.iter().enumerate() {
                    problems(json, element, &pointer(at, &position.to_string()), depth + 1, errors);
                }
            }
            (Type::Map(element, _), Json::Object(entries)) => {
                for (name, json) in entries {
                    problems(json, element, &pointer(at, name), depth + 1, errors);
                }
            }
            _ => {}
        }
    }
    // What is wrong with the whole, such as its length, where no part of it is wrong.
    if errors.len() == before
        && let Err(invalid) = values::from_json(json, ty)
    {
        errors.push(FieldError::new(
            Place::Body(format!("{at}{}", invalid.pointer)),
            invalid.reason,
        ));
    }
}

fn fields(entries: &Map<String, Json>, object: &ObjectType, at: &str, depth: usize, errors: &mut Vec<FieldError>) {
    for name in entries.keys().filter(|name| object.field(name).is_none()) {
        let known = object.fields.iter().map(|field| field.name.as_str());
        errors.push(no_such_field(&pointer(at, name), name, known));
    }
    for field in &object.fields {
        let at = pointer(at, &field.name);
        match entries.get(&field.name).filter(|json| !json.is_null()) {
            Some(json) => problems(json, &field.ty, &at, depth + 1, errors),
            None if field.optional => {}
            None => errors.push(FieldError::new(Place::Body(at), "this is missing")),
        }
    }
}

fn no_such_field<'a>(at: &str, name: &str, known: impl Iterator<Item = &'a str>) -> FieldError {
    let hint = nearest(name, known)
        .map(|near| format!("; did you mean `{near}`?"))
        .unwrap_or_default();
    FieldError::new(Place::Body(at.to_owned()), format!("there is no such field{hint}"))
}

fn pointer(at: &str, step: &str) -> String {
    format!("{at}/{}", step.replace('~', "~0").replace('/', "~1"))
}
