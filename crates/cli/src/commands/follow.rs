//! `singlet follow`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use singlet_runtime::TableUse;

use super::serve::{log, signal};
use crate::folder_changes::{FolderRead, Position};
use crate::following::follow_alone;
use crate::model::ErrorArgs;
use crate::operator::told_by_service;
use crate::place::Place;
use crate::store::StoreArgs;
use crate::table::counted;
use crate::{exit, model};

/// Run the writes of a model that run after changes or by the clock, keep its tallies, and serve nothing.
///
/// A service follows by itself, unless it was started with `--no-follow` or `--read-only`. Several processes may follow one table in
/// DynamoDB: one of them does, the others wait for it to end. Whatever is killed half-way goes on where it was, and no write runs
/// twice after one change, nor for one tick.
///
/// With `--once`, the exit code is 1 where changes are parked.
#[derive(Args)]
pub struct Follow {
    /// The model file.
    model: PathBuf,
    /// End with the ticks that are due and the last change, instead of waiting for others.
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    errors: ErrorArgs,
    #[command(flatten)]
    store: StoreArgs,
    /// How it is logged, to standard error.
    #[arg(long, env = "SINGLET_LOG", value_enum, default_value_t = log::Format::Text)]
    log: log::Format,
    /// What is logged: `info`, `warn`, `debug`.
    #[arg(long, env = "SINGLET_LOG_LEVEL", default_value = "info", value_name = "LEVEL")]
    log_level: String,
}

impl Follow {
    /// Runs the command.
    pub fn run(self) -> ExitCode {
        super::block_on(self.follow()).unwrap_or_else(|code| code)
    }

    async fn follow(self) -> Result<ExitCode, ExitCode> {
        log::start(self.log, &self.log_level).map_err(|reason| model::fail(&reason))?;
        let loaded = model::load_sound(&self.model, self.errors.accept_errors)?;
        if !loaded.has_runs() {
            let reason = format!(
                "no write of `{}` runs after a change or by the clock, and it has no tally",
                loaded.name
            );
            return Err(model::fail(&reason));
        }
        let place = self.store.place().map_err(|reason| model::fail(&reason))?;
        if place == Place::Memory {
            let reason = "a store in memory is gone with its process: say `--store embedded:DIR` or `dynamodb`";
            return Err(model::fail(reason));
        }
        if let Place::Folder(folder) = &place {
            let probe = FolderRead::Records {
                table: loaded.table.name.clone(),
                position: Position::Latest,
                limit: 1,
            };
            if told_by_service(folder, &probe).is_some() {
                let reason = format!("a service has `{}` open, and follows by itself", folder.display());
                return Err(model::fail(&reason));
            }
        }
        let opened = self.store.open(loaded, TableUse::Writing).await;
        let engine = Arc::new(opened.map_err(|reason| model::fail(&reason))?);
        let end = signal::end().map_err(|reason| model::fail(&reason))?;
        let parked = follow_alone(engine, place.company(), self.once, end).await;
        match parked.map_err(|error| model::fail(&error.to_string()))? {
            0 => Ok(ExitCode::from(exit::CLEAN)),
            parked => {
                super::print(&format!("{} parked\n", counted(parked, "change")));
                Ok(ExitCode::from(exit::FINDINGS))
            }
        }
    }
}
