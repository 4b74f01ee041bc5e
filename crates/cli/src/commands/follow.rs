//! `singlet follow`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use singlet_changes::{FollowError, PostWebhook};
use singlet_following::follow_alone;
use singlet_runtime::TableUse;

use super::serve::{log, signal};
use crate::model::ErrorArgs;
use crate::operator::connect_operator;
use crate::place::Place;
use crate::private_file::Readers;
use crate::store::StoreArgs;
use crate::table::counted_thing;
use crate::webhooks::WebhookDeployment;
use crate::{exit, model};

/// Run the writes that follow changes or a schedule, keep tallies and send webhooks, without serving.
///
/// A service follows by itself, unless it was started with `--no-follow` or `--read-only`. Several processes may follow one table in
/// DynamoDB: one of them does, the others wait for it to end. Whatever is killed half-way goes on where it was, and no write runs
/// twice after one change, nor for one tick.
///
/// With `--once`, the exit code is 1 where changes are parked.
#[derive(Args)]
pub(crate) struct Follow {
    /// The model file.
    model: PathBuf,
    /// End with the ticks that are due and the last change, instead of waiting for others.
    #[arg(long)]
    once: bool,
    /// The secrets that sign webhooks, a TOML file: `[system]` and `webhook = "whsec_…"`, or a list while they change.
    #[arg(long, env = "SINGLET_WEBHOOK_SECRETS", value_name = "FILE")]
    webhook_secrets: Option<PathBuf>,
    /// Send webhooks to this machine and to private networks too, and by `http://`: for tests and development.
    #[arg(long, env = "SINGLET_WEBHOOKS_ANYWHERE")]
    webhooks_anywhere: bool,
    /// Take the secrets from a file that others can read, as mounted secrets often are.
    #[arg(long, env = "SINGLET_SECRET_FILES_SHARED")]
    secret_files_shared: bool,
    #[command(flatten)]
    errors: ErrorArgs,
    #[command(flatten)]
    store: StoreArgs,
    /// How it is logged, to standard error.
    #[arg(long, env = "SINGLET_LOG", value_enum, default_value_t = log::LogFormat::Text)]
    log: log::LogFormat,
    /// What is logged: `info`, `warn`, `debug`.
    #[arg(long, env = "SINGLET_LOG_LEVEL", default_value = "info", value_name = "LEVEL")]
    log_level: String,
}

impl Follow {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        super::block_on(self.follow()).unwrap_or_else(|code| code)
    }

    async fn follow(self) -> Result<ExitCode, ExitCode> {
        log::start_log(self.log, &self.log_level).map_err(|reason| model::fail_command(&reason))?;
        let loaded = model::load_sound(&self.model, self.errors.accept_errors)?;
        if !loaded.has_runs() {
            let reason = format!("nothing of `{}` follows changes or a clock", loaded.name);
            return Err(model::fail_command(&reason));
        }
        let place = self
            .store
            .store_place()
            .map_err(|reason| model::fail_command(&reason))?;
        if place == Place::Memory {
            let reason = "a store in memory is gone with its process: say `--store embedded:DIR` or `dynamodb`";
            return Err(model::fail_command(reason));
        }
        if let Place::Folder(folder) = &place {
            let served = connect_operator(folder).await;
            if served.map_err(|reason| model::fail_command(&reason))?.is_some() {
                let reason = format!("a service has `{}` open, and follows by itself", folder.display());
                return Err(model::fail_command(&reason));
            }
        }
        let opened = self.store.open(loaded, TableUse::Writing).await;
        let engine = Arc::new(opened.map_err(|reason| model::fail_command(&reason))?);
        let held = engine.held_table().await;
        if let Some(held) = held.map_err(|error| model::fail_command(&error.to_string()))? {
            let code = model::fail_command(&FollowError::Held(held).to_string());
            eprintln!("help: `singlet changes MODEL release` releases it");
            return Err(code);
        }
        let readers = match self.secret_files_shared {
            true => Readers::Others,
            false => Readers::OwnerAlone,
        };
        let webhooks = WebhookDeployment::read(self.webhook_secrets.as_deref(), self.webhooks_anywhere, readers);
        let sent_by = webhooks.and_then(|webhooks| webhooks.webhook_client(&engine));
        let sent_by = sent_by.map_err(|reason| model::fail_command(&reason))?;
        let sent_by = sent_by.map(|client| client as Arc<dyn PostWebhook>);
        let end = signal::end_signal().map_err(|reason| model::fail_command(&reason))?;
        let parked = follow_alone(engine, place.company(), sent_by, self.once, end).await;
        match parked.map_err(|error| model::fail_command(&error.to_string()))? {
            0 => Ok(ExitCode::from(exit::CLEAN)),
            parked => {
                super::print_text(&format!("{} parked\n", counted_thing(parked, "change")));
                Ok(ExitCode::from(exit::FINDINGS))
            }
        }
    }
}
