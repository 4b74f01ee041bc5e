//! `singlet lake`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use singlet_changes::CLOCKS_DIFFER_SECONDS;
use singlet_face::Company;
use singlet_lake::{Appended, LakeError, LakeFollower, LocalFiles, check_model};

use super::changes::{Opened, open_changes};
use super::serve::{log, signal};
use crate::following::{AWAY_PAUSE_MAX, HEAD_PAUSE_SHARED, stream_late_millis};
use crate::lake_following::{lake_folder, say_step};
use crate::store::{StoreArgs, now};
use crate::table::counted;
use crate::{exit, model};

const MILLIS_PER_HOUR: i64 = 60 * 60 * 1_000;

/// Bring every change of a model's rows into a lake: two Delta tables for each entity, one of changes and one of what is.
///
/// It begins with all rows, and goes on where the lake is. Killed at any moment, it leaves no change out and has none twice. While a
/// service runs on a folder, it is the service that is asked. In a folder that no service has open it ends with the last change.
///
/// The exit code is 1 where rows did not fit the model: they are in `_misfits`.
#[derive(Args)]
pub struct IntoLake {
    /// The model file.
    model: PathBuf,
    /// The folder of lakes; the model's own is in it under its name.
    #[arg(long, env = "SINGLET_LAKE", value_name = "DIR")]
    to: PathBuf,
    /// End with the last change instead of waiting for others.
    #[arg(long)]
    once: bool,
    /// How long files stay that no table has any more, for who reads an older version.
    #[arg(long, value_name = "HOURS", default_value_t = 168, value_parser = clap::value_parser!(u32).range(1..))]
    keep: u32,
    #[command(flatten)]
    store: StoreArgs,
    /// How it is logged, to standard error.
    #[arg(long, env = "SINGLET_LOG", value_enum, default_value_t = log::Format::Text)]
    log: log::Format,
    /// What is logged: `info`, `warn`, `debug`.
    #[arg(long, env = "SINGLET_LOG_LEVEL", default_value = "info", value_name = "LEVEL")]
    log_level: String,
}

impl IntoLake {
    /// Runs the command.
    pub fn run(self) -> ExitCode {
        super::block_on(self.follow()).unwrap_or_else(|code| code)
    }

    async fn follow(self) -> Result<ExitCode, ExitCode> {
        log::start(self.log, &self.log_level).map_err(|reason| model::fail(&reason))?;
        let loaded = model::load(&self.model)?;
        check_model(&loaded).map_err(|error| model::fail(&error.to_string()))?;
        let opened = open_changes(&self.store, loaded)
            .await
            .map_err(|reason| model::fail(&reason))?;
        let folder = lake_folder(&self.to, &opened.model.name);
        let end = signal::end().map_err(|reason| model::fail(&reason))?;
        let appended = self
            .bring(&opened, Arc::new(LocalFiles::new(folder.clone())), end)
            .await;
        let appended = appended.map_err(|error| model::fail(&format!("`{}`: {error}", folder.display())))?;
        super::print(&format!(
            "{}: {} brought, {} not fit\n",
            folder.display(),
            counted(appended.changes, "row"),
            match appended.misfits {
                1 => "1 does".to_owned(),
                many => format!("{many} do"),
            }
        ));
        Ok(ExitCode::from(match appended.misfits {
            0 => exit::CLEAN,
            _ => exit::FINDINGS,
        }))
    }

    async fn bring(
        &self,
        opened: &Opened,
        files: Arc<LocalFiles>,
        end: impl Future<Output = ()>,
    ) -> Result<Appended, LakeError> {
        let (company, differ) = match opened.is_remote {
            true => (Company::Shared, CLOCKS_DIFFER_SECONDS),
            false => (Company::Alone, 0),
        };
        let (model, source) = (Arc::clone(&opened.model), Arc::clone(&opened.source));
        let lake = LakeFollower::new(files, model, source, stream_late_millis(company));
        let mut lake = lake.with_kept_millis(i64::from(self.keep).saturating_mul(MILLIS_PER_HOUR));
        let is_once = self.once || opened.is_still;
        let begun = now() / 1_000;
        let (mut all, mut failures) = (Appended::default(), 0_u32);
        let mut ended = std::pin::pin!(end);
        loop {
            let step = tokio::select! {
                () = &mut ended => break,
                step = lake.follow_page(&now) => step,
            };
            let pause = match step {
                Ok(step) => {
                    failures = 0;
                    say_step(&opened.model.name, &step);
                    add(&mut all, step.appended);
                    if is_once && (lake.is_at_head() || lake.has_passed(begun + differ)) {
                        break;
                    }
                    match step.records == 0 && !is_once {
                        true => HEAD_PAUSE_SHARED,
                        false => continue,
                    }
                }
                Err(error) if error.is_temporary() && opened.is_remote => {
                    if failures == 0 {
                        tracing::warn!(%error, "waiting");
                    }
                    failures = failures.saturating_add(1);
                    HEAD_PAUSE_SHARED
                        .saturating_mul(1 << failures.min(10))
                        .min(AWAY_PAUSE_MAX)
                }
                Err(error) => return Err(error),
            };
            tokio::select! {
                () = &mut ended => break,
                () = tokio::time::sleep(pause) => {}
            }
        }
        add(&mut all, lake.flush(now()).await?);
        if is_once {
            lake.tidy(now()).await?;
        }
        Ok(all)
    }
}

fn add(all: &mut Appended, some: Appended) {
    all.changes += some.changes;
    all.misfits += some.misfits;
}
