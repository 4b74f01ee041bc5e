//! `singlet token`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use singlet_http::auth::LocalToken;
use singlet_item::Value;
use singlet_model::Model;
use singlet_runtime::{Attributes, put_claim};
use singlet_values as values;

use super::serve::{DATA_FOLDER, bundled, secret};
use crate::model::{self, fail_command};
use crate::place::Place;
use crate::private_file::Readers;
use crate::request;
use crate::store::now_millis;

/// Make a signed token or an API key for a service on this machine.
///
/// `curl -H "Authorization: Bearer $(singlet token todo --as ada)" …`
#[derive(Args)]
pub(crate) struct Token {
    /// One of the five systems, or a model file.
    #[arg(value_name = "SYSTEM|MODEL")]
    system: String,
    /// Who calls: the caller's id.
    #[arg(long = "as", value_name = "ID")]
    caller: Option<String>,
    /// Another claim, by its name in the model: `role=admin`; a list takes commas: `groups=desk,night`. Of a system with API keys, the role
    /// of the key.
    #[arg(long = "claim", value_name = "NAME=VALUE")]
    claims: Vec<String>,
    /// How long it is good: `12h`, `30d`.
    #[arg(long, default_value = "12h", value_name = "DURATION")]
    expires: String,
    /// Who issues it.
    #[arg(long, env = "SINGLET_ISSUER")]
    issuer: Option<String>,
    /// The folder of the service's data, which holds its secret [default: that of `--store`, else singlet-data]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The store of the service, as `serve` has it: `embedded:DIR`.
    #[arg(long, env = "SINGLET_STORE", value_name = "STORE", conflicts_with = "data")]
    store: Option<String>,
    /// A file with the secret; `SINGLET_SECRET` holds the secret itself.
    #[arg(long, env = "SINGLET_SECRET_FILE", value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// Take the secret from a file that others can read.
    #[arg(long, env = "SINGLET_SECRET_FILES_SHARED")]
    secret_files_shared: bool,
}

impl Token {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        match self.token() {
            Ok(token) => super::print_text(&format!("{token}\n")),
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
        let folder = self.data_folder().map_err(|reason| fail_command(&reason))?;
        let secret = secret::find_secret(
            self.secret_file.as_deref(),
            given.as_deref(),
            folder.as_deref(),
            readers,
        )
        .map_err(|reason| fail_command(&reason))?;
        let Some(secret) = secret else {
            return Err(fail_command(&match folder {
                Some(folder) => format!(
                    "there is no secret in `{}`: run `singlet serve` here once, give the same `--store` as the service (`--store embedded:DIR`), or set `SINGLET_SECRET` or `--secret-file`",
                    folder.display()
                ),
                None => "a service without a folder keeps no secret: start it with `SINGLET_SECRET` or `--secret-file`, and give the same here".to_owned(),
            }));
        };
        let claims = request::parse_claims(&model.callers, &self.claims).map_err(|reason| fail_command(&reason))?;
        if model.callers.api_key_header.is_some() && model.callers.claims.is_empty() {
            let role = claims.get("role").and_then(Value::as_str).ok_or_else(|| {
                fail_command(&format!(
                    "an API key has a role: `--claim role={}`",
                    model.callers.roles.join("|")
                ))
            })?;
            if !model.callers.roles.iter().any(|known| known == role) {
                let known = model.callers.roles.join("`, `");
                return Err(fail_command(&format!(
                    "`{}` has no role `{role}`; there are `{known}`",
                    model.name
                )));
            }
            return Ok(secret.local_api_key(&model.name, role));
        }
        let token = LocalToken {
            audience: model.callers.audience.clone(),
            issuer: self.issuer.clone(),
            claims: self.named(&model, claims).map_err(|reason| fail_command(&reason))?,
            expires: self.end().map_err(|reason| fail_command(&reason))?,
        };
        token
            .sign_token(&secret)
            .map_err(|error| fail_command(&error.to_string()))
    }

    /// Where the service keeps its secret; nowhere, where it has no folder.
    fn data_folder(&self) -> Result<Option<PathBuf>, String> {
        match (&self.data, &self.store) {
            (Some(folder), _) => Ok(Some(folder.clone())),
            (None, Some(store)) => Ok(Place::parse(store, None, None)?.folder().map(Path::to_owned)),
            (None, None) => Ok(Some(PathBuf::from(DATA_FOLDER))),
        }
    }

    fn model(&self) -> Result<Model, ExitCode> {
        match bundled::bundled_system(&self.system) {
            Some(system) if !Path::new(&self.system).is_file() => {
                let source = singlet_model::Source::new(system.name, system.model);
                singlet_model::load_source(&source)
                    .model
                    .ok_or_else(|| fail_command("this is no model"))
            }
            _ => model::load_model(Path::new(&self.system)),
        }
    }

    /// The claims as a token has them.
    fn named(&self, model: &Model, claims: Attributes) -> Result<serde_json::Map<String, serde_json::Value>, String> {
        let mut claims = claims;
        match &self.caller {
            Some(id) => {
                claims.insert("id".to_owned(), Value::S(id.clone()));
            }
            None if model.callers.claim_named("id").is_some() => {
                return Err("a token says who calls: `--as ID`".to_owned());
            }
            None => {}
        }
        let mut token = serde_json::Map::new();
        for (name, value) in &claims {
            let claim = model
                .callers
                .claim_named(name)
                .ok_or_else(|| format!("`{}` knows no claim `{name}`", model.name))?;
            put_claim(claim, value, &mut token);
        }
        Ok(token)
    }

    fn end(&self) -> Result<i64, String> {
        let duration = values::parse_duration(&self.expires).filter(|duration| duration.months() == 0);
        let duration = duration.ok_or_else(|| format!("`{}` is no duration: write `12h` or `30d`", self.expires))?;
        Ok((now_millis() + duration.millis()) / 1000)
    }
}
