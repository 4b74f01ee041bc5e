//! `singlet deploy`: a table becomes what a model declares.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use singlet_migrate::{DeployError, DeployOptions, DeployPlan, Deployer};

use crate::exit;
use crate::model::{self, fail_command};
use crate::place::Place;
use crate::store::{StoreArgs, now_millis};
use crate::table::counted_thing;

/// Bring a table to what a model declares: indexes, expiry, stream, recovery, billing.
///
/// It first shows what it would do; `--yes` does it, one step after the other, and waits for each. A table that is missing is made. No row is changed:
/// `singlet migrate` does that, and makes the indexes that changed rows need. An index, a stream or recovery that the model does not have stays unless you
/// say otherwise. A table that belongs to a CloudFormation stack is left alone: the plan says what to change there. You may stop or kill it at any time: the
/// same command carries on.
#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 done, or nothing to do; 1 there is something to do that was not done; 2 it could not be tried, or failed."
)]
pub struct Deploy {
    /// The model.
    model: PathBuf,
    /// Do it.
    #[arg(long)]
    yes: bool,
    /// An index that may be removed: one that the model does not have, or one that must be made anew.
    #[arg(long, value_name = "NAME")]
    drop_index: Vec<String>,
    /// Let a stream that carries something else end, and another one begin. Whoever follows changes begins anew.
    #[arg(long)]
    replace_stream: bool,
    /// The format of the plan.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// One object; stable.
    Json,
}

impl Deploy {
    /// Runs the command.
    pub fn run(self) -> ExitCode {
        super::block_on(self.deploy()).unwrap_or_else(|code| code)
    }

    async fn deploy(self) -> Result<ExitCode, ExitCode> {
        let said = |reason: String| fail_command(&reason);
        let place = self.store.store_place().map_err(said)?;
        if place == Place::Memory {
            return Err(fail_command(
                "there is no table to deploy in memory: say `--store embedded:DIR` or `--store dynamodb`",
            ));
        }
        let loaded = model::load_model(&self.model)?;
        let options = DeployOptions {
            drop_indexes: self.drop_index.clone(),
            replaces_stream: self.replace_stream,
        };
        // Opening would make the folder, and a plan makes nothing.
        if place.folder().is_some_and(|folder| !folder.is_dir()) && !self.yes {
            let plan = DeployPlan::of_missing(&loaded);
            self.show(&plan);
            return Ok(ExitCode::from(exit::FINDINGS));
        }
        let (engine, company) = self.store.open_engine(loaded).await.map_err(said)?;
        let table = engine.model().table.name.clone();
        let deployer = Deployer::new((&engine, company), options, &now_millis);
        let failed = |error: DeployError| refused(&place, &table, &error);
        let plan = deployer.deploy_plan().await.map_err(failed)?;
        self.show(&plan);
        if plan.is_done() {
            return Ok(ExitCode::from(exit::CLEAN));
        }
        if !self.yes || plan.stack.is_some() || !plan.hindrances.is_empty() {
            return Ok(ExitCode::from(exit::FINDINGS));
        }
        let done = deployer.run(&|step| eprintln!("{step} …")).await.map_err(failed)?;
        let text = format!(
            "table `{table}` is as the model declares it, after {}\n",
            counted_thing(done, "step")
        );
        match self.format {
            Format::Text => {
                super::print_text(&text);
            }
            Format::Json => eprint!("{text}"),
        }
        Ok(ExitCode::from(exit::CLEAN))
    }

    fn show(&self, plan: &DeployPlan) {
        let text = match self.format {
            Format::Text => plan_text(plan, self.yes),
            Format::Json => format!("{}\n", serde_json::to_string_pretty(plan).unwrap_or_default()),
        };
        super::print_text(&text);
    }
}

/// Says why it did not come to its end, and what can be done.
fn refused(place: &Place, table: &str, error: &DeployError) -> ExitCode {
    let code = match error {
        DeployError::Failed(singlet_runtime::RuntimeError::Store(error)) => {
            fail_command(&format!("table `{table}`: {}", place.failed_here(error)))
        }
        error => fail_command(&format!("table `{table}`: {error}")),
    };
    let help = match error {
        DeployError::Migrating(_) => {
            "`singlet migrate MODEL --yes` with the model that it is migrated to goes on, `--abort` makes everything as it was"
        }
        DeployError::Relocated(_) => "`singlet copy` goes on with it, or gives it up with `--abort`",
        DeployError::Managed(_) => "change it in the template of that stack",
        DeployError::Hindered(_) => "without `--yes` the plan says what can be done",
        DeployError::NotStill | DeployError::Failed(_) => "the same command goes on from there",
    };
    eprintln!("help: {help}");
    code
}

fn plan_text(plan: &DeployPlan, is_meant: bool) -> String {
    let mut text = match &plan.stack {
        Some(stack) => format!("table `{}`, of the CloudFormation stack `{stack}`\n", plan.table),
        None => format!("table `{}`\n", plan.table),
    };
    for step in &plan.steps {
        let _ = writeln!(text, "  {step}");
    }
    for why in &plan.hindrances {
        let _ = writeln!(text, "  not done: {why}");
    }
    for left in &plan.left {
        let _ = writeln!(text, "  left alone: {left}");
    }
    let end = match (&plan.stack, plan.is_done(), is_meant) {
        (_, true, _) => "it is as the model declares it",
        (Some(_), ..) => "nothing was changed: say so in the template of that stack, which changes one index at a time",
        (None, _, _) if !plan.hindrances.is_empty() => "nothing was changed",
        (None, _, false) => "nothing was changed: `--yes` does it",
        (None, _, true) => return text,
    };
    text.push_str(end);
    text.push('\n');
    text
}
