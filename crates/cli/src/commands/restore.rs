//! `singlet restore`: a folder from a backup, or a table from what DynamoDB or `singlet dump` exported.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use singlet_face::Company;
use singlet_migrate::{
    CopyOptions, GATE_BEAT, GATE_STALE, RestoreError, RestoreOptions, RestorePlan, RestoreStage, TableRestorer,
    abort_restore,
};

use super::upkeep::copy_folder;
use crate::place::Place;
use crate::progress::count_bar;
use crate::store::{StoreArgs, now_millis};
use crate::table::counted_thing;
use crate::{exit, model};

/// How long others are waited for: a service that has not read what its table says for so long lets nothing through.
const SETTLES_FOR: Duration = Duration::from_secs(GATE_STALE.as_secs() + GATE_BEAT.as_secs());

/// Restore a backup into a folder that has no data, or a model's table from an export.
///
/// `singlet restore copy data` makes a folder of what `singlet backup` wrote.
///
/// `singlet restore FOLDER --model model.yaml --store embedded:data` makes a table of what `singlet dump --format dynamodb-export` or DynamoDB's
/// export to S3 (DynamoDB JSON, a full export) wrote, item for item. It first reads all files, holds them against their checksums, and shows
/// what it would restore; `--yes` does it. The table must be empty; in a folder it is made. You may stop or kill it at any time: the same
/// command carries on, and until it has come to its end nobody opens the table; until then `--abort` removes what was put. Nothing runs by itself on a restored table, and no webhook is
/// sent, until `singlet changes MODEL release`.
#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 it was restored, or given up; 1 the table can be restored and `--yes` was not given; 2 it could not be tried, or failed."
)]
pub(crate) struct Restore {
    /// The folder of the backup or of the export, which stays as it is.
    #[arg(value_name = "FROM")]
    from: PathBuf,
    /// The folder of the data: one without data. Not with `--model`.
    #[arg(required_unless_present = "model", conflicts_with = "model")]
    data: Option<PathBuf>,
    /// The model of the table that is restored from an export.
    #[arg(long)]
    model: Option<PathBuf>,
    /// Restore the table.
    #[arg(long, requires = "model")]
    yes: bool,
    /// Give up a restoring that is under way: what it has put is removed, and the table is empty again. The files are not read.
    #[arg(long, requires = "model", conflicts_with_all = ["yes", "rate"])]
    abort: bool,
    /// The write units a second that it may use; unlimited unless given.
    #[arg(long, value_name = "UNITS", requires = "model")]
    rate: Option<f64>,
    #[command(flatten)]
    store: StoreArgs,
}

impl Restore {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        match (&self.data, &self.model) {
            (Some(data), _) => copy_folder(&self.from, data),
            (None, Some(file)) => super::block_on(self.restore_table(file)).unwrap_or_else(|code| code),
            // The command line was refused.
            (None, None) => ExitCode::from(exit::USAGE),
        }
    }

    async fn restore_table(&self, file: &Path) -> Result<ExitCode, ExitCode> {
        let said = |reason: String| model::fail_command(&reason);
        if self.rate.is_some_and(|rate| !(rate.is_finite() && rate > 0.0)) {
            return Err(model::fail_command("`--rate` is a number of write units above zero"));
        }
        let place = self.store.store_place().map_err(said)?;
        if place == Place::Memory {
            return Err(model::fail_command(
                "a store in memory is gone with its process: say `--store embedded:DIR` or `dynamodb`",
            ));
        }
        let loaded = model::load_model(file)?;
        if let Some(folder) = place.folder().filter(|folder| self.abort && !folder.exists()) {
            return Err(model::fail_command(&format!(
                "there is no folder `{}`",
                folder.display()
            )));
        }
        // What is only looked at makes no folder.
        if let Some(folder) = place.folder().filter(|folder| !self.yes && !folder.exists()) {
            return self.plan_for_new(loaded, folder).await;
        }
        let (engine, company) = self.store.open_engine(loaded).await.map_err(said)?;
        let table = engine.model().table.name.clone();
        let bar = count_bar(0, "items");
        let tell = |stage, number| told(&bar, stage, number);
        let is_shared = company == Company::Shared;
        let options = RestoreOptions {
            rate: self.rate,
            makes_tables: place.makes_tables(),
            settles_for: if is_shared { SETTLES_FOR } else { Duration::ZERO },
            quiet_for: match place {
                Place::DynamoDb { .. } => CopyOptions::QUIET,
                Place::Memory | Place::Folder(_) => Duration::ZERO,
            },
            ..RestoreOptions::default()
        };
        let failed = |error: RestoreError| refused(&table, &place, &error);
        if self.abort {
            let done = abort_restore(&engine, options, &tell).await;
            bar.finish_and_clear();
            let done = done.map_err(failed)?;
            let items = counted_thing(usize::try_from(done.removed).unwrap_or(usize::MAX), "item");
            let text = format!(
                "table `{table}` {} is restored from `{}` no longer: {items} removed by this run\n",
                place.shown(),
                done.from
            );
            return Ok(super::print_text(&text));
        }
        let restorer = TableRestorer::new(&engine, &self.from, options, &now_millis, &tell).map_err(failed)?;
        if !self.yes {
            let plan = restorer.restore_plan().await;
            bar.finish_and_clear();
            return Ok(shown(&table, &self.from, &place.shown(), &plan.map_err(failed)?));
        }
        let restored = restorer.run().await;
        bar.finish_and_clear();
        let restored = restored.map_err(failed)?;
        let items = counted_thing(usize::try_from(restored.items).unwrap_or(usize::MAX), "item");
        let text = match restored.was_done {
            true => format!("table `{table}` was restored already: {items}\n"),
            false => format!(
                "table `{table}` is restored {}: {items}, {} put by this run\n",
                place.shown(),
                restored.put
            ),
        };
        super::print_text(&text);
        eprintln!("help: nothing runs by itself on it, and no webhook is sent, until `singlet changes MODEL release`");
        Ok(ExitCode::from(exit::CLEAN))
    }

    /// What would be restored to a folder that is not there.
    async fn plan_for_new(&self, loaded: singlet_model::Model, folder: &Path) -> Result<ExitCode, ExitCode> {
        let said = |reason: String| model::fail_command(&reason);
        let place = Place::Folder(folder.to_owned());
        let settings = crate::store::parse_settings(&loaded, &self.store.given_pairs().map_err(said)?).map_err(said)?;
        let store = Place::Memory.open().await.map_err(said)?;
        let engine = singlet_runtime::Engine::open(std::sync::Arc::new(loaded), store, settings, [0; 32]);
        let table = engine.model().table.name.clone();
        let failed = |error: RestoreError| refused(&table, &place, &error);
        let quiet = |_, _| {};
        let restorer = TableRestorer::new(&engine, &self.from, RestoreOptions::default(), &now_millis, &quiet);
        let plan = restorer.map_err(failed)?.restore_plan().await.map_err(failed)?;
        Ok(shown(&table, &self.from, &place.shown(), &plan))
    }
}

fn shown(table: &str, from: &Path, place: &str, plan: &RestorePlan) -> ExitCode {
    let items = counted_thing(usize::try_from(plan.items).unwrap_or(usize::MAX), "item");
    let mut text = format!(
        "table `{table}` {place}, from `{}`\n  {items}, {:.1} MB, {} write units and what the indexes take\n",
        from.display(),
        plan.bytes as f64 / 1_000_000.0,
        plan.write_units
    );
    if plan.left_out > 0 {
        text.push_str(&format!(
            "  {} left out: how far followers were, and what was counted by that\n",
            plan.left_out
        ));
    }
    if !plan.knows_models {
        text.push_str(
            "  the files do not say which models wrote the items: `singlet serve MODEL --adopt` looks at every row\n",
        );
    }
    text.push_str("nothing was changed: `--yes` does it\n");
    super::print_text(&text);
    ExitCode::from(exit::FINDINGS)
}

fn told(bar: &indicatif::ProgressBar, stage: RestoreStage, number: u64) {
    let message = match stage {
        RestoreStage::Reading => "reading",
        RestoreStage::Settling => "waiting until everybody knows",
        RestoreStage::Putting => "restoring",
        RestoreStage::Verifying => "comparing",
        RestoreStage::Quiet => "waiting",
        RestoreStage::Removing => "removing",
    };
    if bar.message() != message {
        bar.set_message(message);
        bar.set_position(0);
    }
    match stage {
        RestoreStage::Quiet if number > 0 => eprintln!(
            "everything is there; waiting {} minutes, so that what follows changes tells restored items from new ones",
            number / 60
        ),
        RestoreStage::Quiet | RestoreStage::Settling => {}
        RestoreStage::Reading | RestoreStage::Putting | RestoreStage::Verifying | RestoreStage::Removing => {
            bar.inc(number);
        }
    }
}

/// Says why it did not come to its end, and what can be done.
fn refused(table: &str, place: &Place, error: &RestoreError) -> ExitCode {
    let shown = match error {
        // It has its place.
        RestoreError::Archive(_) | RestoreError::Item(..) | RestoreError::Repeated(_) => error.to_string(),
        RestoreError::Failed(singlet_runtime::RuntimeError::Store(error)) => {
            format!("table `{table}`: {}", place.failed_here(error))
        }
        error => format!("table `{table}`: {error}"),
    };
    let code = model::fail_command(&shown);
    let help = match error {
        RestoreError::Archive(_)
        | RestoreError::Item(..)
        | RestoreError::Repeated(_)
        | RestoreError::Several(_)
        | RestoreError::Shared(_) => return code,
        RestoreError::OtherTables(_) => "name the folder of one export, and its table may have had another name",
        RestoreError::OnTheWay(_) => "export it again once that has come to its end",
        RestoreError::NoTarget => "`singlet deploy MODEL --store dynamodb` makes it",
        RestoreError::OtherTarget(_) => "`singlet deploy MODEL` says what keeps it from what the model declares",
        RestoreError::NotEmpty => "restore to another folder, or to a table that `singlet deploy` makes anew",
        RestoreError::KnowsModel => "restore to another folder, or to a table that nobody has opened yet",
        RestoreError::Elsewhere(_) => "the command that began it goes on; `--abort` gives a restoring up",
        RestoreError::NothingToAbort => {
            "one that has come to its end stays: delete the table, or the folder, where it is not wanted"
        }
        RestoreError::NotStill => {
            "end what writes to it, then the same command goes on; where that does not help, `--abort` it and begin anew"
        }
        RestoreError::Overtaken | RestoreError::Failed(_) => {
            "the same command tries again, and goes on where it had begun"
        }
    };
    eprintln!("help: {help}");
    code
}
