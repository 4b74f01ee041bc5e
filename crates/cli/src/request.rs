//! What a command asks for: which read or write, with which arguments, for whom.

use clap::Args;
use singlet_item::Value;
use singlet_model::Model;
use singlet_model::diagnostic::nearest_word;
use singlet_model::model::{Argument, Callers, Read, Write};
use singlet_runtime::{Attributes, Caller, claim_from_text, claim_type};
use singlet_values as values;
use singlet_values::Tree;

/// Who calls.
#[derive(Args)]
pub(crate) struct CallerArgs {
    /// Who calls: the caller's id. Nobody, unless given.
    #[arg(long = "as", value_name = "ID")]
    id: Option<String>,
    /// Another claim of the caller, by its name in the model: `role=admin`; a list takes commas: `groups=desk,night`.
    #[arg(long = "claim", value_name = "NAME=VALUE")]
    claims: Vec<String>,
}

impl CallerArgs {
    /// The caller that the flags say.
    pub(crate) fn parsed_caller(&self, model: &Model) -> Result<Caller, String> {
        let caller = match &self.id {
            Some(id) => Caller::with_id(id),
            None => Caller::anonymous(),
        };
        let claims = parse_claims(&model.callers, &self.claims)?;
        Ok(claims
            .into_iter()
            .fold(caller, |caller, (name, value)| caller.with_claim(name, value)))
    }
}

/// The read of that name.
pub(crate) fn read_named<'m>(model: &'m Model, name: &str) -> Result<&'m Read, String> {
    match named_operation(model, name)? {
        Operation::Read(read) => Ok(read),
        Operation::Write(_) => Err(format!("`{name}` is a write")),
    }
}

/// A read or a write.
#[derive(Clone, Copy)]
pub(crate) enum Operation<'m> {
    /// A read.
    Read(&'m Read),
    /// A write.
    Write(&'m Write),
}

/// The read or write of that name.
pub(crate) fn named_operation<'m>(model: &'m Model, name: &str) -> Result<Operation<'m>, String> {
    if let Some(read) = model.reads.iter().find(|read| read.name == name) {
        return Ok(Operation::Read(read));
    }
    if let Some(write) = model.writes.iter().find(|write| write.name == name) {
        return Ok(Operation::Write(write));
    }
    let reads = model.reads.iter().map(|read| read.name.as_str());
    let near = nearest_word(name, reads.chain(model.writes.iter().map(|write| write.name.as_str())));
    let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Err(format!("`{}` has no read or write `{name}`{hint}", model.name))
}

/// Arguments, each `name=value`, or `name:=JSON` for lists, maps and null.
pub(crate) fn parse_arguments(operation: &str, known: &[Argument], given: &[String]) -> Result<Attributes, String> {
    let mut args = Attributes::new();
    for pair in given {
        let (name, text) = pair
            .split_once('=')
            .ok_or_else(|| format!("`{pair}` is not `name=value`"))?;
        let (name, is_json) = match name.strip_suffix(':') {
            Some(name) => (name, true),
            None => (name, false),
        };
        let Some(arg) = known.iter().find(|arg| arg.name == name) else {
            let near = nearest_word(name, known.iter().map(|arg| arg.name.as_str()));
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(format!("`{operation}` has no argument `{name}`{hint}"));
        };
        let wrong = |invalid: values::Invalid| format!("`{name}`: {invalid}");
        let value = match is_json {
            false => values::from_text(text, &arg.ty).map_err(wrong)?,
            true => match Tree::parse(text).map_err(|error| format!("`{name}` is not JSON: {error}"))? {
                Tree::Null => Value::Null,
                tree => values::from_tree(&tree, &arg.ty).map_err(wrong)?,
            },
        };
        args.insert(name.to_owned(), value);
    }
    Ok(args)
}

/// Claims by the model's names, each `name=value`.
pub(crate) fn parse_claims(callers: &Callers, given: &[String]) -> Result<Attributes, String> {
    let mut claims = Attributes::new();
    for pair in given {
        let (name, text) = pair
            .split_once('=')
            .ok_or_else(|| format!("`{pair}` is not `name=value`"))?;
        let ty = claim_type(callers, name).map_err(|error| error.to_string())?;
        let value = claim_from_text(text, &ty).map_err(|invalid| format!("`{name}`: {invalid}"))?;
        claims.insert(name.to_owned(), value);
    }
    Ok(claims)
}
