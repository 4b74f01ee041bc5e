//! What was sent to a write, checked against its arguments.

use std::borrow::Cow;

use singlet_item::Value;
use singlet_model::evaluate::evaluate;
use singlet_model::model::{Argument, Step, StepKind, Write};

use super::WriteRequest;
use super::generate::Generating;
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::scope::{Attributes, Scope};
use crate::values;

/// The arguments, with defaults filled in. Null stays where `patch` clears an attribute.
pub(super) fn checked_inputs<'r>(
    engine: &Engine,
    write: &Write,
    request: &'r WriteRequest,
) -> Result<Cow<'r, Attributes>, RuntimeError> {
    let known = |name: &str| write.args.iter().find(|arg| arg.name == name);
    // Refused and not passed over: what is misspelled would not be written, and nobody would know.
    if let Some(unknown) = request.args.keys().find(|name| known(name).is_none()) {
        return Err(RuntimeError::Request(format!(
            "`{}` has no argument `{unknown}`",
            write.name
        )));
    }
    // Most of what is sent is spelled as it is stored.
    let mut args = Cow::Borrowed(&request.args);
    for arg in &write.args {
        match request.args.get(&arg.name) {
            // Null is a value here: it says that the attribute goes, where leaving it out says that it stays.
            Some(Value::Null) if clears(engine, write, arg) => {}
            sent @ (Some(Value::Null) | None) => match missing(engine, write, arg, request)? {
                Some(value) => drop(args.to_mut().insert(arg.name.clone(), value)),
                None if sent.is_some() => drop(args.to_mut().remove(&arg.name)),
                None => {}
            },
            Some(value) => {
                let value = values::as_stored(value, &arg.ty).map_err(|invalid| {
                    RuntimeError::Request(format!("the argument `{}` is wrong: {invalid}", arg.name))
                })?;
                if let Cow::Owned(value) = value {
                    args.to_mut().insert(arg.name.clone(), value);
                }
            }
        }
    }
    Ok(args)
}

fn missing(
    engine: &Engine,
    write: &Write,
    arg: &Argument,
    request: &WriteRequest,
) -> Result<Option<Value>, RuntimeError> {
    if request.args.contains_key(&arg.name) && !arg.optional {
        return Err(RuntimeError::Request(format!("`{}` cannot be null", arg.name)));
    }
    match (&arg.default, arg.optional) {
        (Some(default), _) => {
            let nothing = Attributes::new();
            let scope = Scope {
                setting: engine.setting(),
                now: request.now,
                args: &nothing,
                caller: &request.caller,
                attributes: None,
                row: None,
                bound: &nothing,
            };
            // A default may make up a value; it is made once for the request, and all attempts have the same.
            Ok(evaluate(default, &Generating(scope))?)
        }
        // Null for what must not be absent is a wish that cannot be met, and not one to pass over.
        (None, true) if request.args.contains_key(&arg.name) && is_patched(write, &arg.name) => {
            Err(RuntimeError::Request(format!("`{}` cannot be cleared", arg.name)))
        }
        (None, true) => Ok(None),
        (None, false) => Err(RuntimeError::Request(format!(
            "`{}` needs the argument `{}`",
            write.name, arg.name
        ))),
    }
}

fn is_patched(write: &Write, name: &str) -> bool {
    let mut patched = write.all_steps().into_iter().flat_map(|step| &step.patch);
    patched.any(|taken| taken.attribute == name)
}

/// Whether null clears: the attribute is patched and may be absent.
fn clears(engine: &Engine, write: &Write, arg: &Argument) -> bool {
    let optional = |step: &Step| {
        let entity = step.entity().and_then(|id| engine.model().entity(id));
        let attribute = entity.and_then(|entity| entity.attribute(&arg.name));
        attribute.is_some_and(|attribute| attribute.optional)
    };
    write.all_steps().into_iter().any(|step| {
        let patches = step.patch.iter().any(|taken| taken.attribute == arg.name);
        let taken = matches!(step.kind, StepKind::Create(_) | StepKind::Update(_))
            && step
                .take
                .iter()
                .any(|taken| taken.attribute == arg.name && !taken.required);
        (patches || taken) && optional(step)
    })
}
