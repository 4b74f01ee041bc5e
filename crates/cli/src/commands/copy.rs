//! `singlet copy`: the table of a folder goes to DynamoDB.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use singlet_cost::{dollars_text, region_prices};
use singlet_face::Company;
use singlet_migrate::{CopyError, CopyOptions, CopyPlan, CopyStage, GATE_BEAT, GATE_STALE, TableCopier};
use singlet_runtime::{Engine, RuntimeError, TableUse};

use crate::place::Place;
use crate::progress::count_bar;
use crate::store::{given_pairs, now_millis, open_table, parse_settings};
use crate::table::counted_thing;
use crate::{exit, model};

/// The region whose prices are said where the store's own are not known.
const PRICED_REGION: &str = "us-east-1";

/// How long others are waited for: a service that has not read what its table says for so long lets nothing through.
const SETTLES_FOR: Duration = Duration::from_secs(GATE_STALE.as_secs() + GATE_BEAT.as_secs());

/// Carry a model's table from a folder to DynamoDB, item for item.
///
/// `singlet copy model.yaml --from embedded:data --to dynamodb --region eu-south-1`
///
/// It first shows what it would copy; `--yes` does it. The table must be there and empty: `singlet deploy` makes it. From then on nobody reads or
/// writes the folder's table: a service on it answers 503. Every item is copied as it is and compared, then the folder notes that its table has
/// moved and never opens it again. You may stop or kill it at any time: the same command carries on. Until it has moved, `--abort` opens the
/// folder's table again.
#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 the table has moved; 1 it can be copied and `--yes` was not given; 2 it could not be tried, or failed."
)]
pub(crate) struct Copy {
    /// The model of the table.
    model: PathBuf,
    /// Where the table is: `embedded:DIR`.
    #[arg(long, value_name = "STORE")]
    from: String,
    /// Where it goes: `dynamodb`.
    #[arg(long, value_name = "STORE")]
    to: String,
    /// An endpoint other than the region's own.
    #[arg(long, env = "SINGLET_ENDPOINT_URL", value_name = "URL")]
    endpoint_url: Option<String>,
    /// The region; taken from the environment unless given.
    #[arg(long, env = "SINGLET_REGION", value_name = "REGION")]
    region: Option<String>,
    /// Do it.
    #[arg(long)]
    yes: bool,
    /// Give up a copy that is under way: the folder's table opens again.
    #[arg(long, conflicts_with = "yes")]
    abort: bool,
    /// The write units a second that it may use; unlimited unless given.
    #[arg(long, value_name = "UNITS")]
    rate: Option<f64>,
    /// A value for one of the model's `settings`.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
}

/// Both ends, and the folder.
struct Ends {
    folder: PathBuf,
    source: Engine,
    /// Whether a service has the folder open.
    is_served: bool,
    target: Engine,
    place: Place,
}

impl Copy {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        super::block_on(self.copy()).unwrap_or_else(|code| code)
    }

    async fn copy(self) -> Result<ExitCode, ExitCode> {
        if self.rate.is_some_and(|rate| !(rate.is_finite() && rate > 0.0)) {
            return Err(model::fail_command("`--rate` is a number of write units above zero"));
        }
        let ends = self.ends().await?;
        let table = ends.source.model().table.name.clone();
        let refused = |error: &CopyError| refused(&table, &ends, error);
        let bar = count_bar(item_count(&ends.source).await, "items");
        let tell = |stage, number| told(&bar, stage, number);
        let options = CopyOptions {
            rate: self.rate,
            source_settles_for: if ends.is_served { SETTLES_FOR } else { Duration::ZERO },
            target_settles_for: SETTLES_FOR,
            quiet_for: CopyOptions::QUIET,
            ..CopyOptions::default()
        };
        let shown = ends.place.shown();
        let copier = TableCopier::new(
            (&ends.source, &ends.target),
            named(&ends.place),
            options,
            &now_millis,
            &tell,
        );
        if self.abort {
            copier.abort_copy().await.map_err(|error| refused(&error))?;
            let left = format!("what was copied {shown} counts for nothing: delete that table before you copy again");
            return Ok(super::print_text(&format!("table `{table}` opens again\n{left}\n")));
        }
        match copier.copy_plan().await {
            Ok(plan) => {
                super::print_text(&plan_text(&table, &ends, &plan, (self.rate, self.yes)));
            }
            // It may have been killed before the target knew.
            Err(CopyError::Moved(_)) if self.yes => {}
            Err(error) => return Err(refused(&error)),
        }
        if !self.yes {
            return Ok(ExitCode::from(exit::FINDINGS));
        }
        let copied = copier.run().await;
        bar.finish_and_clear();
        let copied = copied.map_err(|error| refused(&error))?;
        if copied.was_done {
            return Ok(super::print_text(&format!("table `{table}` had moved already\n")));
        }
        let items = counted_thing(usize::try_from(copied.items).unwrap_or(usize::MAX), "item");
        let text = format!(
            "table `{table}` has moved: {items} are {shown} as they were here, {} put by this run\n",
            copied.put
        );
        super::print_text(&text);
        say_secret(&ends.folder);
        Ok(ExitCode::from(exit::CLEAN))
    }

    async fn ends(&self) -> Result<Ends, ExitCode> {
        let said = |reason: String| model::fail_command(&reason);
        let from = Place::parse(&self.from, None, None).map_err(said)?;
        let Some(folder) = from.folder().map(Path::to_owned) else {
            return Err(model::fail_command(
                "`--from` is a folder: `embedded:DIR`\nhelp: between tables of DynamoDB, AWS's backups and exports carry rows",
            ));
        };
        if self.to != "dynamodb" {
            return Err(model::fail_command(
                "`--to` is `dynamodb`\nhelp: `singlet backup` copies a folder to another one, while it is served",
            ));
        }
        if !folder.is_dir() {
            return Err(model::fail_command(&format!(
                "there is no folder `{}`",
                folder.display()
            )));
        }
        let place = Place::parse(&self.to, self.endpoint_url.clone(), self.region.clone()).map_err(said)?;
        let model = Arc::new(model::load_model(&self.model)?);
        let settings = parse_settings(&model, &given_pairs(&self.set).map_err(said)?).map_err(said)?;
        let (store, company) = from.open_in_company().await.map_err(said)?;
        let source = Engine::open(Arc::clone(&model), store, settings.clone(), [0; 32]);
        self.check_source(&from, company, &source).await?;
        let store = place.open().await.map_err(said)?;
        let target = Engine::open(model, store, settings, [0; 32]);
        Ok(Ends {
            folder,
            source,
            is_served: company == Company::Shared,
            target,
            place,
        })
    }

    /// A model that wrote the rows, or goes together with it, unless a copy is under way.
    async fn check_source(&self, from: &Place, company: Company, source: &Engine) -> Result<(), ExitCode> {
        let table = &source.model().table.name;
        let said = |reason: String| model::fail_command(&reason);
        let tables = source.store().list_tables().await;
        let tables = tables.map_err(|error| said(from.failed_here(&error)))?;
        if !tables.contains(table) {
            return Err(said(format!("there is no table `{table}` {}", from.shown())));
        }
        let control = source.table_control().await;
        let control = control.map_err(|error| said(format!("table `{table}`: {error}")))?;
        match control.is_some_and(|control| control.current_relocation().is_some()) {
            true => Ok(()),
            false => open_table(from, company, source, TableUse::Reading, false)
                .await
                .map(drop)
                .map_err(said),
        }
    }
}

/// A place, as it stands after *to*.
fn named(place: &Place) -> String {
    let shown = place.shown();
    let named = shown.strip_prefix("in ").or_else(|| shown.strip_prefix("at "));
    named.unwrap_or(&shown).to_owned()
}

async fn item_count(engine: &Engine) -> u64 {
    let described = engine.store().describe_table(&engine.model().table.name).await;
    described.map_or(0, |described| described.item_count)
}

fn told(bar: &indicatif::ProgressBar, stage: CopyStage, number: u64) {
    let before = bar.message();
    let message = match stage {
        CopyStage::Settling => "waiting until everybody knows",
        CopyStage::Copying => "copying",
        CopyStage::Verifying => "comparing",
        CopyStage::Quiet => "waiting",
    };
    if before != message {
        bar.set_message(message);
        bar.set_position(0);
    }
    match stage {
        CopyStage::Quiet => eprintln!(
            "everything is there; waiting {} minutes, so that what follows changes tells copied items from new ones",
            number / 60
        ),
        CopyStage::Settling => {}
        CopyStage::Copying | CopyStage::Verifying => bar.inc(number),
    }
}

/// Says why it did not come to its end, and what can be done.
fn refused(table: &str, ends: &Ends, error: &CopyError) -> ExitCode {
    let shown = match error {
        CopyError::Failed(RuntimeError::Store(error)) => format!("{error} (copying to {})", named(&ends.place)),
        error => error.to_string(),
    };
    let code = model::fail_command(&format!("table `{table}`: {shown}"));
    let help = match error {
        CopyError::Unknown => "`singlet serve MODEL` on the folder has its table know the model",
        CopyError::Migrating(_) => "`singlet migrate MODEL --yes` ends the migration",
        CopyError::Behind(_) => {
            "let them catch up while nothing is served: `singlet follow MODEL --once`, `singlet lake MODEL`; `singlet changes MODEL forget NAME` gives one up"
        }
        CopyError::NoTarget => "`singlet deploy MODEL --store dynamodb` makes it",
        CopyError::OtherTable(_) => {
            "`singlet deploy MODEL --store dynamodb` says what keeps it from what the model declares"
        }
        CopyError::NotEmpty | CopyError::Unfinished => {
            "nothing was copied over it: delete that table, and make it anew with `singlet deploy MODEL --store dynamodb`"
        }
        CopyError::Elsewhere(relocation) if relocation.phase.is_restoring() => {
            "`singlet restore` with the same options comes to the end of that"
        }
        CopyError::Elsewhere(_) => {
            "copy it there, or open the folder's table again with `--abort` while it has not moved"
        }
        CopyError::Moved(_) => "serve it from there",
        CopyError::NotStill => {
            "end what writes to them (`singlet dynamodb` asks no table whether it may), then the same command goes on"
        }
        CopyError::Overtaken | CopyError::Failed(_) => {
            "the same command tries again, and goes on where it had begun; `--abort` gives it up"
        }
        CopyError::Shared(_) | CopyError::NothingToAbort | CopyError::LostTarget => return code,
    };
    eprintln!("help: {help}");
    code
}

fn plan_text(table: &str, ends: &Ends, plan: &CopyPlan, (rate, is_meant): (Option<f64>, bool)) -> String {
    let items = counted_thing(usize::try_from(plan.items).unwrap_or(usize::MAX), "item");
    let mut text = format!(
        "table `{table}`, from {} to {}\n  {items}, {:.1} MB\n",
        ends.folder.display(),
        named(&ends.place),
        plan.bytes as f64 / 1_000_000.0
    );
    if plan.left_behind > 0 {
        text.push_str(&format!(
            "  {} left behind: how far followers are, and what was counted by that\n",
            plan.left_behind
        ));
    }
    text.push_str(&format!(
        "  {} write units, and what the indexes take",
        plan.write_units
    ));
    if let Ok(prices) = region_prices(PRICED_REGION) {
        let price = plan.write_units as f64 * prices.on_demand.write_million / 1_000_000.0;
        text.push_str(&format!(
            ": {} where requests are paid, by the prices of {} of {}",
            dollars_text(price),
            prices.region,
            prices.as_of
        ));
    }
    text.push('\n');
    if let Some(rate) = rate {
        let seconds = (plan.write_units as f64 / rate).ceil();
        text.push_str(&format!("  {seconds} seconds at {rate} write units a second\n"));
    }
    if !is_meant {
        text.push_str("nothing was changed: `--yes` does it, and the folder's table is closed from then on\n");
    }
    text
}

/// Cursors and tokens of before hold where the service keeps its secret.
fn say_secret(folder: &Path) {
    let secret = folder.join("secret");
    if secret.is_file() {
        eprintln!(
            "help: serve it with `--secret-file {}`, or what is in it as `SINGLET_SECRET`: then cursors and tokens of before are good",
            secret.display()
        );
    }
}
