//! `singlet lake`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};
use singlet_changes::CLOCKS_DIFFER_SECONDS;
use singlet_face::Company;
use singlet_following::{AWAY_PAUSE_MAX, HEAD_PAUSE_SHARED, say_step, stream_late_millis};
use singlet_lake::{Appended, LakeError, LakeFiles, LakeFollower, LakePlace, LakeReport, check_model};

use super::changes::{Opened, open_changes};
use super::serve::{log, signal};
use crate::store::{StoreArgs, now_millis};
use crate::table::counted_thing;
use crate::{exit, model};

const MILLIS_PER_HOUR: i64 = 60 * 60 * 1_000;

/// Write every change to a model's rows to a lake: two Delta tables for each entity, one of changes and one of current rows.
///
/// It starts with all rows, and resumes where the lake left off. Killed at any moment, it loses no change and writes none twice. While a
/// service has the folder open, the command asks the service. Without one, it ends with the last change.
///
/// The exit code is 1 where rows did not fit the model: they are in `_misfits`.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct IntoLake {
    #[command(subcommand)]
    command: Option<LakeCommand>,
    /// The model file.
    #[arg(required = true)]
    model: Option<PathBuf>,
    /// The folder of lakes, or `s3://BUCKET/PREFIX`; the model's own is in it under its name.
    #[arg(long, env = "SINGLET_LAKE", value_name = "PLACE", required = true)]
    to: Option<LakePlace>,
    /// End with the last change instead of waiting for others.
    #[arg(long)]
    once: bool,
    /// How long files stay that no table has any more, for who reads an older version.
    #[arg(long, value_name = "HOURS", default_value_t = 168, value_parser = clap::value_parser!(u32).range(1..))]
    keep: u32,
    /// With the last change, empty history at once of what told of persons whose rows are gone; else that is done once a day.
    #[arg(long)]
    erase: bool,
    #[command(flatten)]
    store: StoreArgs,
    /// How it is logged, to standard error.
    #[arg(long, env = "SINGLET_LOG", value_enum, default_value_t = log::LogFormat::Text)]
    log: log::LogFormat,
    /// What is logged: `info`, `warn`, `debug`.
    #[arg(long, env = "SINGLET_LOG_LEVEL", default_value = "info", value_name = "LEVEL")]
    log_level: String,
}

/// What else is done with lakes.
#[derive(Subcommand)]
enum LakeCommand {
    Report(LakeReporting),
}

/// Show what a lake has: rows by status and other words, by day and by city, sums, how long things take, what changes.
///
/// What is shown follows from the model. No engine is needed, and no table is asked.
#[derive(Args)]
struct LakeReporting {
    /// The model file.
    model: PathBuf,
    /// The folder of lakes, or `s3://BUCKET/PREFIX`; the model's own is in it under its name.
    #[arg(long, env = "SINGLET_LAKE", value_name = "PLACE")]
    from: LakePlace,
    /// The format of the output.
    #[arg(long, value_enum, default_value_t = ReportForm::Text)]
    format: ReportForm,
}

#[derive(Clone, Copy, ValueEnum)]
enum ReportForm {
    /// Bars in the terminal.
    Text,
    /// One drawing, for light and dark pages.
    Svg,
    /// For other programs.
    Json,
}

impl LakeReporting {
    async fn show(self) -> Result<ExitCode, ExitCode> {
        let loaded = model::load_model(&self.model)?;
        let place = self.from.of_system(&loaded.name);
        let files = place
            .open_files()
            .map_err(|error| model::fail_command(&error.to_string()))?;
        let report = tokio::task::spawn_blocking(move || LakeReport::read(files.as_ref(), &loaded, now_millis())).await;
        let report = report.map_err(|error| model::fail_command(&error.to_string()))?;
        let report = report.map_err(|error| model::fail_command(&format!("`{place}`: {error}")))?;
        Ok(super::print_text(&match self.format {
            ReportForm::Text => report.to_text(),
            ReportForm::Svg => report.to_svg(),
            ReportForm::Json => report.to_json(),
        }))
    }
}

impl IntoLake {
    /// Runs the command.
    pub(crate) fn run(mut self) -> ExitCode {
        match self.command.take() {
            Some(LakeCommand::Report(report)) => super::block_on(report.show()).unwrap_or_else(|code| code),
            None => super::block_on(self.follow()).unwrap_or_else(|code| code),
        }
    }

    async fn follow(self) -> Result<ExitCode, ExitCode> {
        log::start_log(self.log, &self.log_level).map_err(|reason| model::fail_command(&reason))?;
        let (Some(model), Some(to)) = (&self.model, &self.to) else {
            return Err(model::fail_command(
                "say a model, and with `--to` the place of its lake",
            ));
        };
        let loaded = model::load_model(model)?;
        check_model(&loaded).map_err(|error| model::fail_command(&error.to_string()))?;
        let opened = open_changes(&self.store, loaded)
            .await
            .map_err(|reason| model::fail_command(&reason))?;
        let place = to.of_system(&opened.model.name);
        let files = place
            .open_files()
            .map_err(|error| model::fail_command(&error.to_string()))?;
        let end = signal::end_signal().map_err(|reason| model::fail_command(&reason))?;
        let appended = self.bring(&opened, files, end).await;
        let appended = appended.map_err(|error| model::fail_command(&format!("`{place}`: {error}")))?;
        super::print_text(&format!(
            "{place}: {} brought, {} not fit\n",
            counted_thing(appended.changes, "row"),
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
        files: Arc<dyn LakeFiles>,
        end: impl Future<Output = ()>,
    ) -> Result<Appended, LakeError> {
        let (company, differ) = match opened.is_remote {
            true => (Company::Shared, CLOCKS_DIFFER_SECONDS),
            false => (Company::Alone, 0),
        };
        let (model, source) = (Arc::clone(&opened.model), Arc::clone(&opened.source));
        let lake = LakeFollower::new(files, model, source, stream_late_millis(company));
        let mut lake = lake.with_kept_millis(i64::from(self.keep).saturating_mul(MILLIS_PER_HOUR));
        if self.erase {
            lake = lake.with_erasure_at_once();
        }
        let is_once = self.once || opened.is_still;
        let begun = now_millis() / 1_000;
        let (mut all, mut failures) = (Appended::default(), 0_u32);
        let mut ended = std::pin::pin!(end);
        loop {
            let step = tokio::select! {
                () = &mut ended => break,
                step = lake.follow_page(&now_millis) => step,
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
        add(&mut all, lake.flush_waiting(now_millis()).await?);
        if is_once {
            lake.tidy(now_millis()).await?;
        }
        Ok(all)
    }
}

fn add(all: &mut Appended, some: Appended) {
    all.changes += some.changes;
    all.misfits += some.misfits;
}
