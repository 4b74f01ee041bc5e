//! The arguments of a read.

use std::borrow::Cow;

use singlet_model::evaluate::evaluate;
use singlet_model::model::Read;

use crate::error::RuntimeError;
use crate::scope::{Attributes, Scope};
use crate::values;

/// What was sent, as it is stored, if it is what the read takes.
pub(super) fn checked_arguments<'g>(read: &Read, given: &'g Attributes) -> Result<Cow<'g, Attributes>, RuntimeError> {
    // Refused and not passed over: an argument that is misspelled would otherwise answer more than was asked for.
    if let Some(unknown) = given.keys().find(|name| read.argument_named(name).is_none()) {
        return Err(RuntimeError::Request(format!(
            "`{}` has no argument `{unknown}`",
            read.name
        )));
    }
    // Most of what is sent is spelled as it is stored.
    let mut args = Cow::Borrowed(given);
    for arg in &read.args {
        if let Some(sent) = given.get(&arg.name) {
            let value = values::as_stored(sent, &arg.ty)
                .map_err(|invalid| RuntimeError::Request(format!("the argument `{}` is wrong: {invalid}", arg.name)))?;
            if let Cow::Owned(value) = value {
                args.to_mut().insert(arg.name.clone(), value);
            }
        } else if !arg.optional && arg.default.is_none() {
            return Err(RuntimeError::Request(format!(
                "`{}` needs the argument `{}`",
                read.name, arg.name
            )));
        }
    }
    Ok(args)
}

/// The arguments of a read with the defaults of what was not sent. `scope` has the instant and the caller; it is the first page's, so that
/// all pages are of the same arguments.
pub(super) fn with_defaults<'a>(
    read: &Read,
    sent: Cow<'a, Attributes>,
    scope: Scope<'_>,
) -> Result<Cow<'a, Attributes>, RuntimeError> {
    let mut args = sent;
    for arg in &read.args {
        // Only what was not sent: null that was sent is a value of its own.
        if let (Some(default), false) = (&arg.default, args.contains_key(&arg.name))
            && let Some(value) = evaluate(default, &scope)?
        {
            args.to_mut().insert(arg.name.clone(), value);
        }
    }
    Ok(args)
}
