//! `singlet migrate`: the rows of a table become those of another model.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use singlet_cost::{dollars_text, region_prices};
use singlet_face::Company;
use singlet_migrate::{
    Bridge, BridgeGoal, BridgePlan, EntityCount, GATE_BEAT, GATE_STALE, MigrateError, MigrateOptions, MigrateProgress,
    MigrationPlan, Migrator, ProcessTimes,
};
use singlet_model::{Model, Source};
use singlet_runtime::{Engine, MigrationPhase, TableControl};

use super::serve::bridge::Toward;
use crate::exit;
use crate::model::{self, fail_command};
use crate::place::Place;
use crate::progress::count_bar;
use crate::report_format::ReportFormat;
use crate::store::{StoreArgs, given_pairs, now_millis, parse_settings};
use crate::table::counted_thing;

/// The region whose prices are said where the store's own are not known.
const PRICED_REGION: &str = "us-east-1";

/// How long others on the same data are waited for: a service that has not read what the table says for so long lets nothing through.
const SETTLES_FOR: Duration = Duration::from_secs(GATE_STALE.as_secs() + GATE_BEAT.as_secs());

/// Change the rows of a table to those of a model, while nothing else writes to it.
///
/// It first shows what it would do to the rows in the table; `--yes` does it. A row changes in place, or is put under its new key and deleted under its
/// old one in one transaction with its mirrors and guards, on condition that nobody changed it in between. You may stop or kill it at any time: the same
/// command carries on, on this machine or another, even twice at once. Until the last phase, `--abort` puts everything back. While it runs no model can
/// open the table, and afterwards only the new one can.
#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 done, or nothing to do; 1 there is something to do and `--yes` was not given, or some rows cannot become rows of the model; 2 it could not be tried."
)]
pub(crate) struct Migrate {
    /// The new model.
    model: PathBuf,
    /// The model that wrote the rows, if the table does not have its text.
    #[arg(long, value_name = "MODEL")]
    from: Option<PathBuf>,
    /// Do it. No other process may write to the table in the meantime.
    #[arg(long)]
    yes: bool,
    /// Undo a migration that is under way, or a bridge.
    #[arg(long, conflicts_with = "drop")]
    abort: bool,
    /// Say whether both models can run at once meanwhile. With `--yes`: in a folder, do all of it while nothing is served (`singlet serve
    /// --also` does it while both are); in DynamoDB, make rows ready while services of the old model run, and then of both.
    #[arg(long, conflicts_with = "drop")]
    bridge: bool,
    /// With `--bridge`: which model is left. `both` ends once both can serve, and is the usual where data is in DynamoDB; `new` once the
    /// new one alone is left.
    #[arg(
        long,
        value_enum,
        requires = "bridge",
        conflicts_with = "abort",
        value_name = "MODEL"
    )]
    toward: Option<Toward>,
    /// Remove what the model does not have: rows of entities that are gone, attributes, indexes. Otherwise they stay, and nothing reads them.
    #[arg(long)]
    drop: bool,
    /// The write units a second that it may use; unlimited unless given.
    #[arg(long, value_name = "UNITS")]
    rate: Option<f64>,
    /// The value of a setting in the old model, where it differs from the new one.
    #[arg(long, value_name = "NAME=VALUE")]
    set_old: Vec<String>,
    /// The format of the plan.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
    #[command(flatten)]
    store: StoreArgs,
}

impl Migrate {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        super::block_on(self.migrate()).unwrap_or_else(|code| code)
    }

    async fn migrate(self) -> Result<ExitCode, ExitCode> {
        let said = |reason: String| fail_command(&reason);
        if self.rate.is_some_and(|rate| !(rate.is_finite() && rate > 0.0)) {
            return Err(fail_command("`--rate` is a number of write units above zero"));
        }
        let place = self.store.store_place().map_err(said)?;
        if place == Place::Memory {
            return Err(fail_command(
                "there is nothing to migrate in memory: say `--store embedded:DIR` or `--store dynamodb`",
            ));
        }
        let loaded = model::load_model(&self.model)?;
        let (new, company) = self.store.open_in_company(loaded).await.map_err(said)?;
        let old = self.old_engine(&new).await?;
        let phase = new.migration_phase().await;
        if let (Ok(Some(phase)), false, false) = (&phase, self.bridge, self.abort)
            && phase.is_bridge()
        {
            let help = match place {
                Place::DynamoDb { .. } => {
                    "`--bridge --yes` goes on with it, `--bridge --toward new --yes` comes to its end, `--abort` gives it up"
                }
                _ => {
                    "`singlet serve NEW.yaml --also OLD.yaml` serves both models, `--bridge --yes` comes to its end with nothing served, `--abort` gives it up"
                }
            };
            let table = &new.model().table.name;
            let word = phase.word();
            return Err(fail_command(&format!(
                "table `{table}` is on a bridge, in the phase `{word}`\nhelp: {help}"
            )));
        }
        if self.bridge || self.abort && matches!(&phase, Ok(Some(phase)) if phase.is_bridge()) {
            return self.go_over_bridge((old, new), company, &place).await;
        }
        let (table, items) = (new.model().table.name.clone(), item_count(&new).await);
        let bar = count_bar(items, "items");
        let tell = |progress: MigrateProgress| told(&bar, progress, items);
        let options = MigrateOptions {
            drops: self.drop,
            rate: self.rate,
            settles_for: match company {
                Company::Shared => SETTLES_FOR,
                Company::Alone => Duration::ZERO,
            },
            ..MigrateOptions::default()
        };
        let migrator = Migrator::new((&old, &new), options, &now_millis, &tell);
        if self.abort {
            let aborted = migrator.abort_migration().await;
            bar.finish_and_clear();
            aborted.map_err(|error| refused(&table, &error))?;
            return Ok(super::print_text(&format!("table `{table}` is again as it was\n")));
        }
        let is_under_way = match new.migration_phase().await {
            Ok(phase) => phase.is_some(),
            Err(error) => return Err(fail_command(&format!("table `{table}`: {error}"))),
        };
        if is_under_way && !self.yes {
            let help = "`--yes` goes on, `--abort` makes everything as it was";
            return Err(fail_command(&format!(
                "table `{table}` is being migrated\nhelp: {help}"
            )));
        }
        if !is_under_way {
            let plan = migrator.migration_plan().await;
            bar.finish_and_clear();
            let plan = plan.map_err(|error| refused(&table, &error))?;
            self.show(&table, &plan, &place);
            if plan.misfits > 0 {
                eprintln!(
                    "help: nothing was changed; correct these rows with the old model, or say what becomes of them with `fill:`"
                );
                return Ok(ExitCode::from(exit::FINDINGS));
            }
            if !self.yes {
                let is_idle = plan.changes_nothing();
                return Ok(ExitCode::from(if is_idle { exit::CLEAN } else { exit::FINDINGS }));
            }
        }
        let ended = migrator.run().await;
        bar.finish_and_clear();
        let ended = ended.map_err(|error| refused(&table, &error))?;
        let units = ended.consumed.total_units();
        let text = match ended.was_done {
            true => format!("table `{table}` knows this model, and has nothing to change\n"),
            false => format!(
                "table `{table}` is migrated: {} and {} read units\n",
                counted_thing(usize::try_from(units.write.get()).unwrap_or(usize::MAX), "write unit"),
                units.read.half_count() as f64 / 2.0
            ),
        };
        match self.format {
            ReportFormat::Text => {
                super::print_text(&text);
            }
            ReportFormat::Json => eprint!("{text}"),
        }
        Ok(ExitCode::from(exit::CLEAN))
    }

    /// Both models at once: what it would take, or the end of it.
    async fn go_over_bridge(
        &self,
        (old, new): (Engine, Engine),
        company: Company,
        place: &Place,
    ) -> Result<ExitCode, ExitCode> {
        let table = new.model().table.name.clone();
        let is_led = matches!(place, Place::DynamoDb { .. });
        let goal = match (self.abort, self.toward) {
            (true, _) => BridgeGoal::OldAlone,
            (false, Some(toward)) => toward.bridge_goal(),
            (false, None) if is_led => BridgeGoal::Both,
            (false, None) => BridgeGoal::NewAlone,
        };
        let options = MigrateOptions {
            rate: self.rate,
            settles_for: if is_led { SETTLES_FOR } else { Duration::ZERO },
            ..MigrateOptions::default()
        };
        let bridge = match is_led {
            true => Bridge::lead(old, new, options, (ProcessTimes::default(), now_millis)).await,
            false => Bridge::open(old, new, options, now_millis).await,
        };
        let bridge = bridge.map_err(|error| bridge_refusal(&table, &error))?;
        let phase = bridge.phase().await.map_err(|error| bridge_refusal(&table, &error))?;
        if !self.yes && !self.abort {
            if phase.is_none() {
                let plan = bridge.plan().await.map_err(|error| bridge_refusal(&table, &error))?;
                if plan.misfits > 0 {
                    return Err(bridge_refusal(
                        &table,
                        &MigrateError::Unbridged(plan.misfits, plan.first_misfits),
                    ));
                }
                super::print_text(&bridge_text(&table, &plan, is_led));
            } else if let Some(phase) = phase {
                super::print_text(&format!(
                    "table `{table}` is on a bridge, in the phase `{}`\n",
                    phase.word()
                ));
            }
            return Ok(ExitCode::from(exit::FINDINGS));
        }
        if company == Company::Shared && !is_led {
            return Err(fail_command(&format!(
                "table `{table}`: others are at work on it, and a bridge is built by one process alone\nhelp: `singlet serve NEW.yaml --also OLD.yaml --toward new` \
                 does it while it serves, `--toward old` gives it up"
            )));
        }
        let consumed = bridge.reach(goal, &|_| {}).await;
        let units = consumed.map_err(|error| bridge_refusal(&table, &error))?.total_units();
        let so = match goal {
            BridgeGoal::OldAlone => "is again the old model's",
            BridgeGoal::NewAlone => "is the new model's",
            BridgeGoal::Both => "is both models'",
        };
        let units = counted_thing(usize::try_from(units.write.get()).unwrap_or(usize::MAX), "write unit");
        super::print_text(&format!("table `{table}` {so}: {units}\n"));
        if goal == BridgeGoal::Both && is_led {
            super::print_text(
                "`singlet serve NEW.yaml` serves the new one beside the old one; once nobody serves the old one, `--toward new` ends it\n",
            );
        }
        Ok(ExitCode::from(exit::CLEAN))
    }

    /// The model that wrote the rows, on the same store: from its file, or as the table has it.
    async fn old_engine(&self, new: &Engine) -> Result<Engine, ExitCode> {
        let table = &new.model().table.name;
        if let Some(path) = &self.from {
            return self.engine_beside(new, model::load_model(path)?);
        }
        let failed = |error: &dyn std::fmt::Display| fail_command(&format!("table `{table}`: {error}"));
        let mut known = new.known_models().await.map_err(|error| failed(&error))?;
        if self.drop {
            // What is to be dropped is another model's, though this one has joined it.
            let own = new.face_in_table().await.map_err(|error| failed(&error))?.face_hash();
            known.sort_by_key(|(hash, _)| *hash == own);
        }
        // A bridge that is under way says from which it leads.
        let control = new.table_control().await.map_err(|error| failed(&error))?;
        let source = control.as_ref().and_then(TableControl::current_migration);
        let source = source.and_then(|migration| migration.source.clone());
        known.sort_by_key(|(hash, _)| source.as_ref() != Some(hash));
        for (hash, text) in known {
            let loaded = singlet_model::load_source(&Source::new("the model in the table", text));
            let Some(model) = loaded.model.filter(|_| !loaded.diagnostics.has_errors()) else {
                continue;
            };
            let engine = self.engine_beside(new, model)?;
            let face = engine.face_in_table().await.map_err(|error| failed(&error))?;
            if face.face_hash() == hash {
                return Ok(engine);
            }
        }
        let help = match control {
            Some(_) => {
                "say which model wrote its rows: `--from OLD.yaml`, and `--set-old` where its settings are others"
            }
            None => "`singlet serve OLD.yaml --adopt` looks at every row, and has the table know the model if all fit",
        };
        Err(fail_command(&format!(
            "table `{table}` does not have the model that wrote its rows\nhelp: {help}"
        )))
    }

    fn engine_beside(&self, new: &Engine, model: Model) -> Result<Engine, ExitCode> {
        let said = |reason: String| fail_command(&reason);
        let is_known = |name: &str| model.settings.iter().any(|known| known.name == name);
        let given = self.store.given_pairs().map_err(said)?;
        let mut given: Vec<(String, String)> = given.into_iter().filter(|(name, _)| is_known(name)).collect();
        given.extend(given_pairs(&self.set_old).map_err(said)?);
        let settings = parse_settings(&model, &given).map_err(said)?;
        Ok(Engine::open(
            Arc::new(model),
            Arc::clone(new.store()),
            settings,
            [0; 32],
        ))
    }

    fn show(&self, table: &str, plan: &MigrationPlan, place: &Place) {
        let text = match self.format {
            ReportFormat::Text => plan_text(table, plan, place, (self.rate, self.yes)),
            ReportFormat::Json => format!("{}\n", serde_json::to_string_pretty(plan).unwrap_or_default()),
        };
        super::print_text(&text);
    }
}

async fn item_count(engine: &Engine) -> u64 {
    let described = engine.store().describe_table(&engine.model().table.name).await;
    described.map_or(0, |described| described.item_count)
}

fn told(bar: &indicatif::ProgressBar, progress: MigrateProgress, items: u64) {
    let is_over = bar.position() >= items;
    bar.set_message(match progress.phase {
        MigrationPhase::Look => "looking",
        MigrationPhase::Rows => "changing rows",
        MigrationPhase::Finish => "finishing",
        MigrationPhase::Abort => "going back",
        _ => "",
    });
    if is_over {
        bar.set_position(0);
    }
    bar.inc(progress.items);
}

/// Says why a bridge did not come to its end, and what can be done.
pub(crate) fn bridge_refusal(table: &str, error: &MigrateError) -> ExitCode {
    let help = match error {
        MigrateError::Another(migration) if !migration.phase.is_bridge() => None,
        MigrateError::Aborting => {
            Some("it is being given up: `--toward old`, or `singlet migrate NEW.yaml --abort`, comes to its end")
        }
        MigrateError::Blocked(..) | MigrateError::Unsound(..) => {
            Some("`--toward old`, or `singlet migrate NEW.yaml --abort`, gives the bridge up")
        }
        MigrateError::Failed(_) | MigrateError::Asleep => Some("the same command goes on from there"),
        MigrateError::Serving(_) => Some("once they are ended the same command goes on"),
        MigrateError::TooLate(_) => Some("the old model\'s rows are going already: `--toward new` comes to its end"),
        _ => return refused(table, error),
    };
    let code = fail_command(&format!("table `{table}`: {error}"));
    if let Some(help) = help {
        eprintln!("help: {help}");
    }
    code
}

fn bridge_text(table: &str, plan: &BridgePlan, is_led: bool) -> String {
    let mut text = format!("table `{table}`, {} items: both models can run at once\n", plan.items);
    let _ = writeln!(
        text,
        "  {}, which are kept for both meanwhile",
        counted_thing(usize::try_from(plan.rows).unwrap_or(usize::MAX), "row")
    );
    for index in &plan.indexes {
        let _ = writeln!(text, "  make index `{index}`");
    }
    text.push_str(match is_led {
        true => "nothing was changed: `--yes` makes rows ready for both while services of the old model run; whoever else writes to the table, an earlier version of Singlet among them, must be ended first\n",
        false => "nothing was changed: `singlet serve NEW.yaml --also OLD.yaml` serves both, `--yes` does it with nothing served\n",
    });
    text
}

/// Says why it did not come to its end, and what can be done.
fn refused(table: &str, error: &MigrateError) -> ExitCode {
    let code = fail_command(&format!("table `{table}`: {error}"));
    let help = match error {
        MigrateError::Unknown => {
            Some("`singlet serve OLD.yaml --adopt` has the table know the model that wrote its rows")
        }
        MigrateError::NotFrom(_) => {
            Some("say which model wrote the rows: `--from OLD.yaml`, and `--set-old` where its settings are others")
        }
        MigrateError::Another(_) => {
            Some("the same model and options go on; `--abort` with that model makes everything as it was")
        }
        MigrateError::Behind(_) => Some(
            "stop what writes, and let them catch up with the old model: `singlet follow OLD.yaml --once`, `singlet lake OLD.yaml`; `singlet changes OLD.yaml forget \
             NAME` gives one up",
        ),
        MigrateError::Relocated(_) => Some("`singlet copy` goes on with it, or gives it up with `--abort`"),
        MigrateError::Aborting => Some("`--abort` comes to its end"),
        MigrateError::Blocked(..) | MigrateError::Unsound(..) => {
            Some("`--abort` makes everything as it was; the same command tries again")
        }
        MigrateError::Failed(_) | MigrateError::Asleep => {
            Some("the same command goes on from there; `--abort` makes everything as it was")
        }
        MigrateError::TooLate(_) => Some("`--yes` comes to its end"),
        MigrateError::Impossible(_) => {
            Some("take the rows along: `singlet dump OLD.yaml`, then `singlet load NEW.yaml` into another table")
        }
        MigrateError::NoBridge(_) => Some("`singlet migrate NEW.yaml` changes the rows while writes stop"),
        MigrateError::Misfits(_)
        | MigrateError::Unbridged(..)
        | MigrateError::NothingToAbort
        | MigrateError::Serving(_) => None,
    };
    if let Some(help) = help {
        eprintln!("help: {help}");
    }
    match error {
        MigrateError::Misfits(_) | MigrateError::Unbridged(..) | MigrateError::NoBridge(_) => {
            ExitCode::from(exit::FINDINGS)
        }
        _ => code,
    }
}

fn plan_text(table: &str, plan: &MigrationPlan, place: &Place, (rate, is_meant): (Option<f64>, bool)) -> String {
    let mut text = format!("table `{table}`, {} items\n", plan.items);
    for (entity, count) in &plan.entities {
        let name = if entity == "$" {
            "what Singlet keeps for itself"
        } else {
            entity
        };
        let _ = writeln!(text, "  {name}: {}", entity_text(count));
    }
    for step in &plan.table {
        let _ = writeln!(text, "  {step}");
    }
    for misfit in &plan.first_misfits {
        let _ = writeln!(text, "  cannot become a row of the model: {misfit}");
    }
    if plan.misfits > plan.first_misfits.len() as u64 {
        let _ = writeln!(text, "  … {} in all", plan.misfits);
    }
    if plan.changes_nothing() {
        text.push_str("no row has to change, only the model that the table knows\n");
        return text;
    }
    let _ = write!(
        text,
        "{} write units to change rows, and {} to finish",
        plan.row_units, plan.finish_units
    );
    if let (Place::DynamoDb { .. }, Ok(prices)) = (place, region_prices(PRICED_REGION)) {
        let price = plan.write_units() as f64 * prices.on_demand.write_million / 1_000_000.0;
        let _ = write!(
            text,
            ": {} where requests are paid, by the prices of {} of {}",
            dollars_text(price),
            prices.region,
            prices.as_of
        );
    }
    text.push('\n');
    if let Some(rate) = rate {
        let seconds = (plan.write_units() as f64 / rate).ceil();
        let _ = writeln!(text, "{seconds} seconds at {rate} write units a second");
    }
    if !is_meant && plan.misfits == 0 {
        text.push_str("nothing was changed: `--yes` does it, once no other process writes to the table\n");
    }
    text
}

fn entity_text(count: &EntityCount) -> String {
    let mut parts = vec![match count.rows {
        1 => "1 row".to_owned(),
        rows => format!("{rows} rows"),
    }];
    let mut said = |count: u64, words: &str| {
        if count > 0 {
            parts.push(format!("{count} {words}"));
        }
    };
    said(count.changed, "to change in place");
    said(count.moved, "to move to another key");
    said(count.beside, "mirrors and guards to change");
    said(count.gone, "of entities that the model no longer has");
    parts.join(", ")
}
