//! Parameters and bodies as typed arguments. Every problem of a body is reported at once.

use singlet_item::Value;
use singlet_item::limits::NESTING_LEVELS_MAX;
use singlet_model::diagnostic::nearest_word;
use singlet_model::model::Argument;
use singlet_model::types::{ObjectType, Type};
use singlet_runtime::Attributes;
use singlet_values as values;
use singlet_values::{Invalid, Members, Tree};

use crate::problem::{FieldError, FieldErrors, RequestPlace};

/// An argument from a path or a query.
///
/// # Errors
///
/// What is wrong with it.
pub(crate) fn argument_from_text(text: &str, ty: &Type) -> Result<Value, Invalid> {
    match ty {
        Type::Unknown => Ok(Value::S(text.to_owned())),
        ty => values::from_text(text, ty),
    }
}

/// The arguments of a path.
pub(crate) fn path_arguments(
    variables: &[(&str, String)],
    known: &[Argument],
    args: &mut Attributes,
    errors: &mut FieldErrors,
) {
    for arg in known {
        let Some((_, text)) = variables.iter().find(|(name, _)| *name == arg.name) else {
            continue;
        };
        match argument_from_text(text, &arg.ty) {
            Ok(value) => drop(args.insert(arg.name.clone(), value)),
            Err(invalid) => errors.push(FieldError::new(
                RequestPlace::Path(arg.name.clone()),
                invalid.to_string(),
            )),
        }
    }
}

/// An argument that a patch made, and whether null clears it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Patched {
    /// The argument.
    pub name: String,
    /// Whether the attribute may be absent.
    pub clearable: bool,
}

/// The arguments of a body.
pub(crate) fn body_arguments(
    body: &Members<'_>,
    known: &[Argument],
    patched: &[Patched],
    args: &mut Attributes,
    errors: &mut FieldErrors,
) {
    for (name, _) in body
        .iter()
        .filter(|(name, _)| known.iter().all(|arg| arg.name != *name))
    {
        let known = known.iter().map(|arg| arg.name.as_str());
        errors.push(no_such_field(&pointer("", name), name, known, errors.is_full()));
    }
    for arg in known {
        let at = pointer("", &arg.name);
        let patch = patched.iter().find(|patched| patched.name == arg.name);
        let sent = body.iter().find(|(name, _)| *name == arg.name).map(|(_, tree)| tree);
        match (sent, patch) {
            (Some(Tree::Null), Some(Patched { clearable: true, .. })) => {
                args.insert(arg.name.clone(), Value::Null);
            }
            (Some(Tree::Null), Some(_)) => {
                errors.push(FieldError::new(RequestPlace::Body(at), "this cannot be cleared"))
            }
            // Null is what many clients send for what they leave out.
            (Some(Tree::Null) | None, _) if arg.optional || arg.default.is_some() => {}
            (None, _) => errors.push(FieldError::new(RequestPlace::Body(at), "this is missing")),
            (Some(tree), _) => match values::from_tree(tree, &arg.ty) {
                Ok(value) => drop(args.insert(arg.name.clone(), value)),
                Err(_) => problems(tree, &arg.ty, &at, 0, errors),
            },
        }
    }
}

/// Everything that is wrong with a value that is not of its type.
fn problems(tree: &Tree<'_>, ty: &Type, at: &str, depth: usize, errors: &mut FieldErrors) {
    let before = errors.found_count();
    if depth < NESTING_LEVELS_MAX {
        match (ty, tree) {
            (Type::Object(object) | Type::Geo(Some(object)), Tree::Object(entries)) => {
                fields(entries, tree, object, at, depth, errors);
            }
            (Type::List(element, _) | Type::Set(element, _), Tree::List(elements)) => {
                for (position, tree) in elements.iter().enumerate() {
                    problems(tree, element, &pointer(at, &position.to_string()), depth + 1, errors);
                }
            }
            (Type::Map(element, _), Tree::Object(entries)) => {
                for (name, tree) in entries {
                    problems(tree, element, &pointer(at, name), depth + 1, errors);
                }
            }
            _ => {}
        }
    }
    // What is wrong with the whole, such as its length, where no part of it is wrong.
    if errors.found_count() == before
        && let Err(invalid) = values::from_tree(tree, ty)
    {
        errors.push(FieldError::new(
            RequestPlace::Body(format!("{at}{}", invalid.pointer)),
            invalid.reason,
        ));
    }
}

fn fields(
    entries: &Members<'_>,
    tree: &Tree<'_>,
    object: &ObjectType,
    at: &str,
    depth: usize,
    errors: &mut FieldErrors,
) {
    for (name, _) in entries.iter().filter(|(name, _)| object.field_named(name).is_none()) {
        let known = object.fields.iter().map(|field| field.name.as_str());
        errors.push(no_such_field(&pointer(at, name), name, known, errors.is_full()));
    }
    for field in &object.fields {
        let at = pointer(at, &field.name);
        match tree.get(&field.name).filter(|tree| !tree.is_null()) {
            Some(tree) => problems(tree, &field.ty, &at, depth + 1, errors),
            None if field.optional => {}
            None => errors.push(FieldError::new(RequestPlace::Body(at), "this is missing")),
        }
    }
}

/// A field that is not known; what may have been meant is looked for only where it is said.
fn no_such_field<'a>(at: &str, name: &str, known: impl Iterator<Item = &'a str>, only_counted: bool) -> FieldError {
    let near = if only_counted { None } else { nearest_word(name, known) };
    let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    FieldError::new(
        RequestPlace::Body(at.to_owned()),
        format!("there is no such field{hint}"),
    )
}

fn pointer(at: &str, step: &str) -> String {
    format!("{at}/{}", step.replace('~', "~0").replace('/', "~1"))
}
