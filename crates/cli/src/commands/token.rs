//! `singlet token`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use singlet_http::auth::LocalToken;
use singlet_model::Model;
use singlet_runtime::values;

use super::serve::{DATA_FOLDER, bundled, secret};
use crate::model::{self, fail};
use crate::private_file::Readers;
use crate::store::now;

/// A signed token, or an API key, for a service on this machine.
///
/// `curl -H "Authorization: Bearer $(singlet token todo --as ada)" …`
#[derive(Args)]
pub struct Token {
    /// One of the five systems, or a model file.
    #[arg(value_name = "SYSTEM|MODEL")]
    system: String,
    /// Who calls: the caller's id.
    #[arg(long = "as", value_name = "ID")]
    caller: Option<String>,
    /// Another claim by the model's name, `role=admin`; of a system with API keys, the role of the key.
    #[arg(long = "claim", value_name = "NAME=VALUE")]
    claims: Vec<String>,
    /// How long it is good: `12h`, `30d`.
    #[arg(long, default_value = "12h", value_name = "DURATION")]
    expires: String,
    /// Who issues it.
    #[arg(long, env = "SINGLET_ISSUER")]
    issuer: Option<String>,
    /// The folder of the service's data, which holds its secret.
    #[arg(long, default_value = DATA_FOLDER, value_name = "DIR")]
    data: PathBuf,
    /// A file with the secret; `SINGLET_SECRET` holds the secret itself.
    #[arg(long, env = "SINGLET_SECRET_FILE", value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// Take the secret from a file that others can read.
    #[arg(long, env = "SINGLET_SECRET_FILES_SHARED")]
    secret_files_shared: bool,
}

impl Token {
    /// Runs the command.
    pub fn run(self) -> ExitCode {
        match self.token() {
            Ok(token) => super::print(&format!("{token}\n")),
            Err(code) => code,
        }
    }

    fn token(&self) -> Result<String, ExitCode> {
        let model = self.model()?;
        let given = std::env::var("SINGLET_SECRET").ok();
        let readers = match self.secret_files_shared {
            true => Readers::Others,
            false => Readers::OwnerAlone,
        };
        let secret = secret::find(self.secret_file.as_deref(), given.as_deref(), Some(&self.data), readers)
            .map_err(|reason| fail(&reason))?;
        let Some(secret) = secret else {
            let folder = self.data.display();
            return Err(fail(&format!(
                "there is no secret in `{folder}`: run `singlet serve` here once, or set `SINGLET_SECRET` or `--secret-file`"
            )));
        };
        let claims = self.claims().map_err(|reason| fail(&reason))?;
        if model.callers.api_key_header.is_some() && model.callers.claims.is_empty() {
            let role = claims.get("role").ok_or_else(|| {
                fail(&format!(
                    "an API key has a role: `--claim role={}`",
                    model.callers.roles.join("|")
                ))
            })?;
            if !model.callers.roles.contains(role) {
                return Err(fail(&format!("`{}` has no role `{role}`", model.name)));
            }
            return Ok(secret.local_api_key(&model.name, role));
        }
        let token = LocalToken {
            audience: model.callers.audience.clone(),
            issuer: self.issuer.clone(),
            claims: self.named(&model, claims).map_err(|reason| fail(&reason))?,
            expires: self.end().map_err(|reason| fail(&reason))?,
        };
        token.sign(&secret).map_err(|reason| fail(&reason))
    }

    fn model(&self) -> Result<Model, ExitCode> {
        match bundled::named(&self.system) {
            Some(system) if !Path::new(&self.system).is_file() => {
                let source = singlet_model::Source::new(system.name, system.model);
                singlet_model::load(&source)
                    .model
                    .ok_or_else(|| fail("this is no model"))
            }
            _ => model::load(Path::new(&self.system)),
        }
    }

    fn claims(&self) -> Result<BTreeMap<String, String>, String> {
        let mut claims = BTreeMap::new();
        if let Some(id) = &self.caller {
            claims.insert("id".to_owned(), id.clone());
        }
        for pair in &self.claims {
            let (name, value) = pair
                .split_once('=')
                .ok_or_else(|| format!("`{pair}` is not `name=value`"))?;
            claims.insert(name.to_owned(), value.to_owned());
        }
        Ok(claims)
    }

    /// The claims under the token's own names.
    fn named(&self, model: &Model, claims: BTreeMap<String, String>) -> Result<BTreeMap<String, String>, String> {
        if self.caller.is_none() && model.callers.claims.iter().any(|(name, _)| name == "id") {
            return Err("a token says who calls: `--as ID`".to_owned());
        }
        let known = |name: &str| {
            let found = model.callers.claims.iter().find(|(known, _)| known == name);
            found
                .map(|(_, claim)| claim.clone())
                .ok_or_else(|| format!("`{}` knows no claim `{name}`", model.name))
        };
        claims
            .into_iter()
            .map(|(name, value)| Ok((known(&name)?, value)))
            .collect()
    }

    fn end(&self) -> Result<i64, String> {
        let duration = values::duration(&self.expires).filter(|duration| duration.months() == 0);
        let duration = duration.ok_or_else(|| format!("`{}` is no duration: write `12h` or `30d`", self.expires))?;
        Ok((now() + duration.millis()) / 1000)
    }
}
