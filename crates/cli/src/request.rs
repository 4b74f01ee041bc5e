//! What a command asks of a read: which one, with which arguments, for whom.

use clap::Args;
use singlet_model::Model;
use singlet_model::diagnostic::nearest;
use singlet_model::model::Read;
use singlet_runtime::{Attributes, Caller, values};

/// Who calls.
#[derive(Args)]
pub struct CallerArgs {
    /// Who calls: the caller's id. Nobody, unless said.
    #[arg(long = "as", value_name = "ID")]
    id: Option<String>,
    /// Another claim of the caller, `name=value`.
    #[arg(long = "claim", value_name = "NAME=VALUE")]
    claims: Vec<String>,
}

impl CallerArgs {
    /// The caller that the flags say.
    pub fn caller(&self) -> Result<Caller, String> {
        caller(self.id.as_deref(), &self.claims)
    }
}

/// The read of that name.
pub fn read_named<'m>(model: &'m Model, name: &str) -> Result<&'m Read, String> {
    model.reads.iter().find(|read| read.name == name).ok_or_else(|| {
        let near = nearest(name, model.reads.iter().map(|read| read.name.as_str()));
        let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        format!("`{}` has no read `{name}`{hint}", model.name)
    })
}

/// Arguments, each `name=value`.
pub fn arguments(read: &Read, given: &[String]) -> Result<Attributes, String> {
    let mut args = Attributes::new();
    for pair in given {
        let (name, text) = pair
            .split_once('=')
            .ok_or_else(|| format!("`{pair}` is not `name=value`"))?;
        let Some(arg) = read.arg(name) else {
            let near = nearest(name, read.args.iter().map(|arg| arg.name.as_str()));
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(format!("`{}` has no argument `{name}`{hint}", read.name));
        };
        let value = values::from_text(text, &arg.ty).map_err(|invalid| format!("`{name}`: {invalid}"))?;
        args.insert(name.to_owned(), value);
    }
    Ok(args)
}

fn caller(id: Option<&str>, claims: &[String]) -> Result<Caller, String> {
    let mut caller = match id {
        Some(id) => Caller::with_id(id),
        None => Caller::anonymous(),
    };
    for pair in claims {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("`{pair}` is not `name=value`"))?;
        caller = caller.claim(name, value);
    }
    Ok(caller)
}
